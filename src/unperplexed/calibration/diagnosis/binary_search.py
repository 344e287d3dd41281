"""Every candidate set of errors of two classes, fitted, and what each error adds to the others."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from ..._lib.elementary import expit, log_expit
from ..._lib.typing import Floats
from ...maps.cells import NO_PRIOR, Cells, fitted_cells, map_of
from ...maps.directions import TWO, columns
from ...maps.fit import Fit, Prior
from ...maps.parameters import LAPSE
from ...maps.two import BinaryMap
from .gate import Gate, orthonormal
from .kinds import KINDS
from .scored import Scored, in_cells

PARAMETERS = {kind.error: kind.parameter for kind in KINDS.values() if kind.two is not None}
"""The parameter of a map that mends each error."""

NOISE = "noise"

_BOUNDS = dict.fromkeys(TWO, 5.0) | {LAPSE: 15.0}
"""Standard deviations of the priors of what rows may not determine: a line beside a lapse, of which one in five has its
maximum at infinity for 100 rows, and errors that separate the outcomes. All others are fitted by maximum likelihood."""

_SURCHARGE = 2.0
"""Cost of an error that is not plain, on top."""

_BOTH_SIDES = 0.05
"""Least share of the information on either side of even odds, for an asymmetry to be a candidate."""

_ROUNDING = 1e-5
"""Rounding error of a likelihood ratio, found by iterations."""


class Fitted(NamedTuple):
    """A set of errors with its map."""

    map: BinaryMap
    fit: Fit
    ratio: float
    """Likelihood ratio against the predictions as they are, divided by the design effect. Where the errors separate the
    outcomes it is that of the limit, in which they explain all."""
    cost: float
    """What the errors cost."""
    held: float
    """By how much priors hold the ratio back where the outcomes are separated."""

    @property
    def worth(self) -> float:
        """The ratio that is reached, less what the errors cost."""
        return self.ratio - self.held - self.cost


class Search:
    """Fits every candidate set of errors."""

    def __init__(self, rows: Scored, tested: Gate, most: int) -> None:
        """Fit all sets of at most so many errors."""
        self.counted = in_cells(rows)
        c = self.counted
        v = c.total * expit(c.s) * expit(-c.s)
        base = float(c.positive @ log_expit(c.s) + (c.total - c.positive) @ log_expit(-c.s))
        bounds = Prior(_BOUNDS, tested.design_effect)
        cost = math.log(max(4 * rows.information / tested.design_effect, math.exp(3.84)))
        sides = min(float(v[c.s > 0].sum()), float(v[c.s < 0].sum()))
        names = [x for x in PARAMETERS if x != "asymmetry" or sides >= _BOTH_SIDES * v.sum()]
        self.fits: dict[tuple[str, ...], Fitted] = {}
        for size in range(1, most + 1):
            for names_here in itertools.combinations(names, size):
                plain = [x for x in names_here if x != NOISE]
                if {NOISE, "tail"} <= set(names_here) or not apart(plain, c.s, v):
                    continue
                of = Cells(c, [PARAMETERS[x] for x in names_here])
                found = fitted_cells(of, bounds if NOISE in names_here else NO_PRIOR)
                if NOISE not in names_here and found.separated:
                    found = fitted_cells(of, bounds)
                ratio = max(0.0, 2 * (found.value - base) / tested.design_effect)
                costs = sum(cost + (0 if KINDS[x].plain else _SURCHARGE) for x in names_here)
                held = -2 * found.value / tested.design_effect if found.separated else 0.0
                self.fits[names_here] = Fitted(map_of(found), found, ratio + held, costs, held)

    def best(self, sizes: range) -> tuple[str, ...]:
        """Return the set worth most, of so many errors; of equal ones the plainest."""
        some = [names for names in self.fits if len(names) in sizes]
        most = max(self.fits[names].worth for names in some)
        # Errors that mean the same here, such as all of a constant forecast or where there are no events, differ by
        # rounding and by their priors: the plainest is named.
        return next(names for names in some if self.fits[names].ratio - self.fits[names].cost >= most - _ROUNDING)

    def ratio(self, names: tuple[str, ...]) -> float:
        """Return the likelihood ratio of a set of errors; 0 for none."""
        return self.fits[names].ratio if names else 0.0


def apart(names: list[str], s: Floats, v: Floats) -> bool:
    """Whether the directions of errors are different at these log-odds."""
    directions = columns([PARAMETERS[name] for name in names], s)
    return all(column is not None for column in orthonormal(list(directions), v))


def costliest_first(search: Search, best: tuple[str, ...]) -> tuple[str, ...]:
    """Order errors so that each adds the most to those before it."""
    order: tuple[str, ...] = ()
    while len(order) < len(best):
        left = [x for x in best if x not in order]
        order += (max(left, key=lambda x: search.ratio(in_order((*order, x)))),)
    return order


def in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return errors in the order of their names."""
    return tuple(x for x in PARAMETERS if x in names)


def gains(search: Search, order: tuple[str, ...], scale: float) -> list[float]:
    """Return the gain of each error after those before it, in nats a row, as cross-validation would show it."""
    gains, before = [], 0.0
    for k in range(1, len(order) + 1):
        together = max(before, (search.ratio(in_order(order[:k])) - 2 * k) * scale)
        gains.append(together - before)
        before = together
    return gains
