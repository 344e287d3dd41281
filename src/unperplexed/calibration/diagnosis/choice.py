"""A choice among sets of errors: what a set is worth, what each of its errors adds, and which others are as good.

The same for two classes and for more; which sets are tried is up to the search of each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from ..._lib.dataclasses import Frozen
from ...maps.classes import CURVES
from ...maps.fit import Fit
from ...maps.parameters import LAPSE
from ...maps.two import TWO
from ...statistics.tails import chi2_sf, squared_normal_isf
from .kinds import KINDS

Errors = tuple[str, ...]

LEVEL = 0.05
"""Significance level of the gate, and of the naming of single classes."""

POWER = 3.2
"""Standard errors that a test at 5% sees with 80% power, with the other errors fitted beside it."""

FAR = 5.0
"""Standard deviation, in log-odds, of a prior that only bounds what the rows do not determine."""

BOUNDS = dict.fromkeys((*TWO, *CURVES), FAR) | {LAPSE: 3 * FAR}
"""Standard deviations of such priors by parameter; the log-odds of a lapse reach farther."""

LEAST = squared_normal_isf(LEVEL)
"""What a likelihood ratio of one parameter is to exceed at least."""

_SURCHARGE = 2.0
"""Cost of an error that is not plain, on top."""

_AS_GOOD = 4.0
"""Sets of errors worth so much less than the best cannot be told apart from it."""

_Map = TypeVar("_Map")


class Candidate(Generic[_Map], Frozen, eq=False):
    """A set of errors with what speaks for it."""

    errors: Errors
    fit: Fit
    mapping: _Map
    """The map that mends them."""
    ratio: float
    """Likelihood ratio against the forecasts as they are, divided by the design effect. Where two classes are separated
    it is that of the limit, in which the errors explain all."""
    held: float
    """By how much priors hold the ratio back."""
    cost: float
    """What the errors cost."""
    parameters: float
    """How many parameters it has; biases that their prior draws to 0 count less."""

    @property
    def worth(self) -> float:
        """The ratio that is reached, less what the errors cost."""
        return self.ratio - self.held - self.cost

    @property
    def beyond_chance(self) -> float:
        """The ratio less what it owes to chance."""
        return self.ratio - 2 * self.parameters


Candidates = Mapping[Errors, Candidate[Any]]


def unit_cost(variance: float) -> float:
    """Return the cost of a plain error, given the variance of the outcomes, summed over rows and classes."""
    return math.log(max(2 * variance, math.exp(LEAST)))


def cost(error: str, unit: float) -> float:
    """Return what the likelihood ratio of an error of one parameter is to exceed."""
    return unit if KINDS[error].plain else unit + _SURCHARGE


_NIL = 0.02
"""Error in log-odds, in root mean square, below which forecasts are calibrated for practical purposes: half a point at
50%."""

_SURELY = 1.645
"""Standard errors of a bound that is kept with 95%."""


def odds_off(ratio: float, parameters: float, variance: float) -> float | None:
    """Return the root mean square of the errors in log-odds if it is surely small; None if it may matter.

    Parameters
    ----------
    ratio : float
        Likelihood ratio of all that was seen, divided by the design effect.
    parameters : float
        Number of parameters that it has.
    variance : float
        Sum of p (1 - p), divided by the design effect.
    """
    if not (math.sqrt(ratio) + _SURELY) / math.sqrt(variance) < _NIL:
        return None
    return math.sqrt(max(0.0, ratio - parameters) / variance)


def sets_of(errors: Iterable[str], most: int) -> Iterator[Errors]:
    """Yield all sets of at most so many errors, the small ones first; never of two that mean much the same."""
    names = list(errors)
    for some in itertools.chain.from_iterable(itertools.combinations(names, size) for size in range(most + 1)):
        if not any(KINDS[name].unlike in some for name in some):
            yield some


def gains(found: Candidates, best: Errors, unit: float) -> dict[str, float]:
    """Return the gain of each error after those before it, costliest first, as cross-validation would show it.

    ``unit`` is that of a likelihood ratio of 1, in nats a row. The gains add up to that of the whole set.
    """
    gains: dict[str, float] = {}
    left, before, whole = list(best), 0.0, max(0.0, found[best].beyond_chance)

    def reached(name: str) -> float:
        errors = tuple(each for each in best if each in gains or each == name)
        return found[errors].beyond_chance if errors in found else -math.inf

    while left:
        name = max(left, key=reached)
        now = whole if len(left) == 1 else min(max(reached(name), before), whole)
        gains[name] = (now - before) * unit
        left.remove(name)
        before = now
    return gains


def p_value(found: Candidates, best: Errors, name: str) -> float:
    """Return the p-value of the likelihood ratio of one error beside the others of a set."""
    whole, less = found[best], found.get(tuple(each for each in best if each != name))
    ratio = whole.ratio - (less.ratio if less else 0.0)
    parameters = whole.parameters - (less.parameters if less else 0.0) if name == "bias" else 1.0
    return chi2_sf(max(parameters, 1.0), max(ratio, 0.0))


def as_good(found: Candidates, best: Errors) -> tuple[Errors, ...]:
    """Return other sets of no more errors that are worth about as much as the best one, the best of them first."""
    least = found[best].worth - _AS_GOOD
    others = (errors for errors in found if errors and errors != best and len(errors) <= len(best))
    return tuple(sorted((x for x in others if found[x].worth > least), key=lambda x: -found[x].worth)[:3])
