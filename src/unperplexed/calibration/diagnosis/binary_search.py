"""Every candidate set of errors of two classes, fitted."""

from __future__ import annotations

from ..._lib.elementary import expit, log_expit
from ..._lib.typing import Floats
from ...maps.cells import NO_PRIOR, Cells, fitted_cells, map_of
from ...maps.directions import columns
from ...maps.fit import Prior
from ...maps.parameters import LAPSE
from ...maps.two import BinaryMap
from .choice import BOUNDS, LEAST, Candidate, Errors, cost, sets_of, unit_cost
from .gate import Gate, orthonormal
from .kinds import KINDS
from .scored import Scored, in_cells

PARAMETERS = {kind.error: kind.parameter for kind in KINDS.values() if kind.two is not None}
"""The parameter of a map that mends each error."""

_BOTH_SIDES = 0.05
"""Least share of the information on either side of even odds, for an asymmetry to be a candidate."""

_ROUNDING = 1e-5
"""Rounding error of a likelihood ratio, found by iterations."""


class Search:
    """Fits every candidate set of errors."""

    def __init__(self, rows: Scored, tested: Gate, most: int) -> None:
        """Fit all sets of at most so many errors.

        A line beside a lapse has a prior, of which one in five has its maximum at infinity for 100 rows, and so have
        errors that separate the outcomes. All others are fitted by maximum likelihood.
        """
        self.counted, self.effect = in_cells(rows), tested.design_effect
        c, effect = self.counted, self.effect
        v = c.total * expit(c.s) * expit(-c.s)
        base = float(c.positive @ log_expit(c.s) + (c.total - c.positive) @ log_expit(-c.s))
        bounds, unit = Prior(BOUNDS, effect), unit_cost(2 * rows.information / effect)
        sides = min(float(v[c.s > 0].sum()), float(v[c.s < 0].sum()))
        names = [x for x in PARAMETERS if x != "asymmetry" or sides >= _BOTH_SIDES * v.sum()]
        self.found: dict[Errors, Candidate[BinaryMap]] = {}
        for errors in sets_of(names, most):
            parameters = [PARAMETERS[each] for each in errors]
            if not errors or not _apart(parameters, c.s, v):
                continue
            of = Cells(c, parameters)
            fit = fitted_cells(of, bounds if LAPSE in parameters else NO_PRIOR)
            if LAPSE not in parameters and fit.separated:
                fit = fitted_cells(of, bounds)
            ratio = max(0.0, 2 * (fit.value - base) / effect)
            held = -2 * fit.value / effect if fit.separated else 0.0
            costs = sum(cost(each, unit) for each in errors)
            self.found[errors] = Candidate(errors, fit, map_of(fit), ratio + held, held, costs, len(errors))

    def best(self) -> Errors:
        """Return the set worth most; where none pays for itself the best error alone, and none without evidence."""
        if not self.found:
            return ()
        best = self._plainest(list(self.found))
        if self.found[best].worth > 0:
            return best
        best = self._plainest([errors for errors in self.found if len(errors) == 1])
        return best if self.found[best].ratio >= LEAST else ()

    def _plainest(self, some: list[Errors]) -> Errors:
        """Return the set worth most; of equal ones the plainest.

        Errors that mean the same here, such as all of a constant forecast or where there are no events, differ by
        rounding and by their priors.
        """
        most = max(self.found[errors].worth for errors in some)
        return next(x for x in some if self.found[x].ratio - self.found[x].cost >= most - _ROUNDING)


def _apart(parameters: list[str], s: Floats, v: Floats) -> bool:
    """Whether the directions of parameters, but for a lapse, are different at these log-odds."""
    directions = columns([name for name in parameters if name != LAPSE], s)
    return bool(orthonormal(directions, v).any(axis=1).all())
