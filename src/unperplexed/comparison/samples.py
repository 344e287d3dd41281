"""Rows as a sample: means and paired differences of their scores, and how far these can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Floats, Ints
from ..forecasts.group_keys import Key
from ..pairing.rows import ScoredRows
from ..scores.rules import BRIER_SCORE, LOG_LOSS
from ..statistics.intervals import LEAST_WORTH, Dependence, Interval, UncertainMean, simultaneous, uncertain_mean
from .result import Difference, GroupDifferences, PairDifferences

Pair = tuple[str, str]

_FEW, _FEW_CARRY = 30, 10
"""Fewer independent rows or clusters, or rows or clusters that carry a difference's variance, get a warning."""

_ROUNDING = 2.0**-50
"""Relative rounding of a score, within which two are the same."""
_DECIDE = (LOG_LOSS, BRIER_SCORE)
_NO_TEST = "no confidence interval or p-value can be computed"
_ROUGH = "intervals and p-values are approximate"


class Sample(Frozen):
    """What all means have in common: the rows' weights and how they depend on one another."""

    weights: Floats
    dependence: Dependence
    confidence: float
    reach: Mapping[str, Interval]
    """Smallest and largest score that a row could have, by the rule's name."""

    def check(self) -> None:
        """Refuse a lag that leaves nothing independent."""
        if self.dependence.lag and self.dependence.independent(np.ones_like(self.weights)) < LEAST_WORTH:
            raise InputError(
                f"lag (--lag): {self.dependence.lag} places for {self.weights.size:,} rows leave fewer than two"
                " independent ones; choose a smaller lag, at most a tenth of the rows."
            )

    def at(self, rows: Ints) -> Sample:
        """Give what some rows have in common."""
        return replace(self, weights=self.weights[rows], dependence=self.dependence.at(rows))

    def mean(self, x: Floats, rule: str) -> tuple[UncertainMean, Interval]:
        """Mean of the rows' scores by a rule, and its interval."""
        found = uncertain_mean(x, self.weights, self.dependence)
        return found, _interval(found, self.reach[rule], self.confidence)

    def difference(self, a: Floats, b: Floats, rule: str) -> Tested:
        """Mean of the rows' differences by a rule, which is tested."""
        x, (low, high) = row_differences(a, b), self.reach[rule]
        return Tested(uncertain_mean(x, self.weights, self.dependence), Interval(low - high, high - low), not x.any())


class Tested(NamedTuple):
    """A mean difference that is tested, before it is known beside how many others."""

    found: UncertainMean
    reach: Interval
    """The smallest and the largest that it could be."""
    equal: bool
    """Whether both score the same in every row: that is no estimate."""

    @property
    def p_value(self) -> float:
        """Its own p-value."""
        return 1.0 if self.equal else self.found.p_value()

    def judged(self, adjusted: float, confidence: float) -> Difference:
        """Return the difference with its adjusted p-value and its interval at a level."""
        found = self.found
        interval = Interval(0.0, 0.0) if self.equal else _interval(found, self.reach, confidence)
        error, carried_by = found.standard_error, found.carried_by
        return Difference(found.mean, error, interval, self.p_value, adjusted, carried_by, found.skewness)


def _interval(found: UncertainMean, reach: Interval, confidence: float) -> Interval:
    half = found.half_width(confidence)
    return Interval(*np.clip([found.mean - half, found.mean + half], *reach).tolist())


def row_differences(a: Floats, b: Floats) -> Floats:
    """What only rounding tells apart is no difference; NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        d = a - b
    d[np.abs(d) <= _ROUNDING * np.maximum(1.0, np.minimum(np.abs(a), np.abs(b)))] = 0.0
    return d


def differences_of(
    pairs: Sequence[Pair], rows: Mapping[str, ScoredRows], sample: Sample
) -> dict[Pair, dict[str, Tested]]:
    """Differences of scores by pair and rule, each for itself."""
    return {
        (a, b): {rule: sample.difference(x, rows[b].scores[rule], rule) for rule, x in rows[a].scores.items()}
        for a, b in pairs
    }


def judged(
    samples: Sequence[Mapping[Pair, Mapping[str, Tested]]], confidence: float
) -> list[dict[Pair, dict[str, Difference]]]:
    """Judge the differences of a rule together, over all pairs and samples: p-values and intervals are for all."""
    found: list[dict[Pair, dict[str, Difference]]] = [{pair: {} for pair in sample} for sample in samples]
    for rule in next(iter(samples[0].values())) if samples else ():
        p = np.array([each[rule].p_value for sample in samples for each in sample.values()])
        adjusted, level = simultaneous(p, confidence)
        values = iter(adjusted.tolist())
        for of_sample, sample in zip(found, samples, strict=True):
            for pair, each in sample.items():
                of_sample[pair][rule] = each[rule].judged(next(values), level)
    return found


def few_rows(sample: Sample, differences: Mapping[Pair, Mapping[str, Difference]]) -> Iterable[str]:
    """Warn where the rows, or those that decide, are too few for intervals and p-values."""
    dependence, rows = sample.dependence, sample.weights.size
    units, effective = dependence.independent_units(rows), dependence.independent(sample.weights)
    what = "rows" if dependence.clusters is None else "clusters"
    log_loss = {pair: each[LOG_LOSS] for pair, each in differences.items()}
    same = [pair for pair, each in log_loss.items() if each.difference and each.standard_error == 0]
    for a, b in same[:1] if effective >= LEAST_WORTH else []:
        yield f"the difference in log loss between {a} and {b} is the same in every {what[:-1]}; {_NO_TEST}"
    if units == rows and dependence.clusters is not None:
        yield "every cluster has one row: the same as without clusters"
    if units < 2:
        yield f"all rows are in one cluster; {_NO_TEST}" if what == "clusters" else f"there is only one row; {_NO_TEST}"
    elif effective < LEAST_WORTH:
        yield (
            f"most of the weight is in one of the {units:,} {what} (effective sample size {effective:.3g}); {_NO_TEST}"
        )
    elif effective < _FEW:
        lag = f" with a lag of {dependence.lag}" * bool(dependence.lag)
        yield f"few {what}: {units:,}{lag} (effective sample size {effective:.3g}); {_ROUGH}"
    else:
        few = [at for at, each in differences.items() if any(each[rule].carried_by < _FEW_CARRY for rule in _DECIDE)]
        for a, b in few[:1]:
            others = f", and in {number_of(len(few) - 1, 'other pair')}" * (len(few) > 1)
            yield f"few {what} decide between {a} and {b}{others}; {_ROUGH}"


def group_differences(
    groups: Sequence[tuple[Key, Ints]], pairs: Sequence[Pair], rows: Mapping[str, ScoredRows], sample: Sample
) -> tuple[GroupDifferences, ...]:
    """Compare within each group.

    Parameters
    ----------
    groups : sequence of (tuple, ndarray of int)
        Key of each group, and the places of its rows.
    pairs : sequence of (str, str)
        Forecasters that are compared.
    rows : mapping of str to ScoredRows
        Rows of each forecaster.
    sample : Sample
        What these have in common.
    """
    weights = sample.weights
    parts = [({name: each.at(at) for name, each in rows.items()}, sample.at(at)) for _, at in groups]
    differences = judged([differences_of(pairs, *part) for part in parts], sample.confidence)
    return tuple(
        GroupDifferences(
            key,
            at.size,
            float(weights[at].sum() / weights.sum()),
            tuple(PairDifferences(*pair, each) for pair, each in of_group.items()),
        )
        for (key, at), of_group in zip(groups, differences, strict=True)
    )
