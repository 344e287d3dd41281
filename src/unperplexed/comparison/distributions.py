"""Compare predictive distributions of several forecasters: outcomes and forecasts in, a DistributionComparison out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from .._lib.dataclasses import replace
from .._lib.errors import InputError, listed
from .._lib.typing import Bools, Floats
from ..assessment.distributions import Scored, assessed
from ..calibration.distribution_rows import DistributionRows, RowMeans, check_alike, read_distributions
from ..calibration.undeclared import largest_of
from ..forecasts.distributions.distribution import Distribution
from ..forecasts.distributions.partitions import Quantiles
from ..forecasts.distributions.predictive import Predictive
from ..pairing.distribution_skill import CLIMATOLOGY, Against, reference_scores, skill_against
from ..scores.distributions.rules import DistributionScore, distribution_score_named, scores_that_apply
from ..statistics.intervals import Interval, checked_sampling, simultaneous
from .distribution_result import DistributionComparison
from .result import PairDifferences
from .samples import Tested, judged, row_differences

_LOG_SCORE = "log_score"

_ANY = Interval(-np.inf, np.inf)
"""Differences of scores have no bounds."""


def compared_distributions(
    y_true: Any,
    forecasts: Mapping[str, Predictive],
    *,
    reference: Any = None,
    metrics: Sequence[str] = (),
    confidence: float = 0.95,
    reading: Mapping[str, Any],
) -> DistributionComparison:
    """Compare predictive distributions; `compare` describes it."""
    checked_sampling(confidence, 0, 0)
    rows = _read(y_true, forecasts, reading)
    first = next(iter(rows.values()))
    rules, scores = _scored(rows, metrics)
    against = _against(first, rules[0], scores, reference)
    found = {name: assessed(each, Scored(scores[name], against), confidence) for name, each in rows.items()}
    ranked = sorted(found, key=lambda name: found[name].scores[rules[0].name].value)
    of = against.name if against.name in rows else ""
    pairs = [pair for pair in combinations(ranked, 2) if not of or of in pair]
    level = simultaneous(np.zeros(len(rows) - bool(of)), confidence)[1]
    by, means = rules[0].name, first.means
    return DistributionComparison(
        {name: found[name] for name in ranked},
        _differences(pairs, scores, means, confidence),
        first.rows.n,
        confidence,
        {name: skill_against(means, by, scores[name][by], against, level) for name in ranked},
        of,
        tuple(f"{name}: {note}" for name in ranked for note in found[name].notes),
    )


def _read(y_true: Any, forecasts: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, DistributionRows]:
    """Read the rows that all forecasters have, in the clusters of the largest dependence that is found in any."""
    if len(forecasts) < 2:
        raise InputError("forecasts: a comparison takes at least two forecasters.")
    check_alike(forecasts)
    there = _complete(forecasts, reading)
    rows = {name: read_distributions(y_true, each, reading, there) for name, each in forecasts.items()}
    search = largest_of([each.search for each in rows.values()])
    groups = next(each.groups for each in rows.values() if each.search is search)
    return {name: replace(each, groups=groups, search=search) for name, each in rows.items()}


def _complete(forecasts: Mapping[str, Predictive], reading: Mapping[str, Any]) -> Bools:
    """Say in which rows all forecasts are complete; others are left out only if that is asked for."""
    there = np.logical_and.reduce([each.complete for each in forecasts.values()])
    if reading.get("invalid") != "drop":
        for name, each in forecasts.items():
            if lost := int(np.count_nonzero(each.complete & ~there)):
                raise InputError(
                    f"forecasts: {lost:,} rows of {name!r} have no complete forecast of another forecaster."
                    ' invalid="drop" (--invalid drop) leaves these rows out for all.'
                )
    return np.asarray(there)


def _scored(
    rows: Mapping[str, DistributionRows], metrics: Sequence[str]
) -> tuple[list[DistributionScore], dict[str, dict[str, Floats]]]:
    """Score all rows by the rules that apply to all forms, and by those that are named."""
    alike = _alike({name: each.forecast for name, each in rows.items()})
    y = next(iter(rows.values())).y
    measures = {_measure(each) for each in alike.values()}
    unlike = (_LOG_SCORE,) if None in measures or len(measures) > 1 else ()
    first, *others = ({rule.name: rule for rule in scores_that_apply(each, y)} for each in alike.values())
    rules = {name: rule for name, rule in first.items() if name not in unlike and all(name in x for x in others)}
    rules |= {rule.name: rule for rule in map(distribution_score_named, metrics)}
    if not rules:
        forms = ", ".join(dict.fromkeys(each.form for each in alike.values()))
        raise InputError(f"forecasts: {forms} have no scores in common. Give Quantiles, Samples or Distribution.")
    found = {name: {of: rule.rows(y, each) for of, rule in rules.items()} for name, each in alike.items()}
    return [*rules.values()], found


def _alike(forecasts: Mapping[str, Predictive]) -> Mapping[str, Predictive]:
    """Take all forecasts by the levels of those that are quantiles, if there are any: only these scores are alike."""
    known = {name: each.levels for name, each in forecasts.items() if isinstance(each, Quantiles)}
    if not known:
        return forecasts
    (first, levels), *others = known.items()
    for name, own in others:
        if own.shape != levels.shape or not np.allclose(own, levels, atol=1e-9, rtol=0):
            raise InputError(
                f"forecasts: {first!r} has {len(levels)} levels, {name!r} {len(own)} that differ: scores by other"
                " levels do not compare. Give all the levels that both have."
            )
    return {
        name: each if name in known else Quantiles(levels, each.quantile(levels)) for name, each in forecasts.items()
    }


def _measure(forecast: Predictive) -> tuple[bool, bool] | None:
    """Say what densities are of, which compare within one kind; cells are each forecaster's own, and never do."""
    if not isinstance(forecast, Distribution):
        return None
    return forecast.discrete, "zero" in forecast.parameters


def _against(
    rows: DistributionRows, rule: DistributionScore, scores: Mapping[str, Mapping[str, Floats]], reference: Any
) -> Against:
    if isinstance(reference, str) and reference in scores:
        return Against(reference, scores[reference][rule.name])
    if isinstance(reference, str) and reference != CLIMATOLOGY:
        named = f"{listed([*scores])}; {CLIMATOLOGY!r} is the other reference that has a name"
        raise InputError(f"reference: {reference!r} is none of the forecasters {named}.")
    return reference_scores(rows, rule, reference)


def _differences(
    pairs: Sequence[tuple[str, str]], scores: Mapping[str, Mapping[str, Floats]], means: RowMeans, confidence: float
) -> tuple[PairDifferences, ...]:
    """Test the differences of pairs, by each rule together."""

    def tested(first: str, second: str, rule: str) -> Tested:
        each = row_differences(scores[first][rule], scores[second][rule])
        return Tested(means.uncertain(each), _ANY, not each.any())

    found = {pair: {rule: tested(*pair, rule) for rule in scores[pair[0]]} for pair in pairs}
    return tuple(PairDifferences(*pair, each) for pair, each in judged([found], confidence)[0].items())
