"""Changes of mean scores from earlier forecasts: paired on the same rows, or of two samples."""

from __future__ import annotations

import math

from .._lib.errors import InputError
from ..assessment.flat import NamedMetric
from ..assessment.result import Assessment
from ..statistics.intervals import Interval
from ..statistics.many_looks import PRIOR_CLUSTERS, PRIOR_ROWS, Spread
from ..statistics.means import t_quantile
from ..tally.tags import refuse_as_earlier
from .result import Comparison, Difference

PREFIX = "change."
"""Begins the names of changes: "change.log_loss" is that of the log loss, now minus before."""


def changes_of_samples(now: Assessment, before: Assessment) -> dict[str, NamedMetric]:
    """Give the change of each mean score between two independent samples, with Welch's confidence interval.

    Parameters
    ----------
    now, before : Assessment
        Assessments of different rows; the interval has the confidence level of ``now``.

    Returns
    -------
    dict of str to NamedMetric
        By ``"change.log_loss"`` and so on: now minus before.

    Raises
    ------
    InputError
        For other classes; for tallies whose tags say that the data differ, or that a period and model are in both.

    Examples
    --------
    >>> from unperplexed import assess
    >>> from unperplexed.comparison.changes import changes_of_samples
    >>> before, now = assess([1, 0] * 50, [0.8, 0.2] * 50), assess([1, 0] * 50, [0.7, 0.4] * 50)
    >>> round(changes_of_samples(now, before)["change.log_loss"].value, 3)
    0.211
    """
    if now.labels != before.labels:
        raise InputError(
            f"earlier (--earlier): its classes are {list(before.labels)}, not {list(now.labels)}; a change"
            " of scores is between forecasts of the same classes."
        )
    refuse_as_earlier(now.source.tally.tags, before.source.tally.tags)
    found = {}
    confidence = now.source.sampling.confidence
    for name in now.scores.keys() & before.scores.keys():
        parts = [(each.score_standard_errors[name], each.independent_rows - 1) for each in (now, before)]
        variance = math.fsum(error**2 for error, _ in parts)
        value = now.scores[name] - before.scores[name]
        if not 0 < variance < math.inf or min(freedom for _, freedom in parts) <= 0 or not math.isfinite(value):
            found[f"{PREFIX}{name}"] = NamedMetric(value)
            continue
        freedom = variance**2 / math.fsum(error**4 / freedom for error, freedom in parts)
        error = math.sqrt(variance)
        half = error * float(t_quantile(confidence, freedom))
        rows = now.effective_rows * parts[0][0] ** 2 / variance  # so many as precise as the change
        spread = Spread(error, freedom, rows, PRIOR_ROWS)
        found[f"{PREFIX}{name}"] = NamedMetric(value, Interval(value - half, value + half), spread=spread)
    return {name: found[name] for name in sorted(found)}


def changes_of_pairs(compared: Comparison, now: str) -> dict[str, NamedMetric]:
    """Give the change of each mean score between two forecasters of the same rows, with its paired interval.

    Parameters
    ----------
    compared : Comparison
        From `compare`, of two forecasters: the earlier one and the one whose change is asked for.
    now : str
        The name of the latter.

    Returns
    -------
    dict of str to NamedMetric
        By ``"change.log_loss"`` and so on: now minus before.

    Raises
    ------
    InputError
        For more or fewer than two forecasters, or a name that neither has.

    Examples
    --------
    >>> from unperplexed import compare
    >>> from unperplexed.comparison.changes import changes_of_pairs
    >>> forecasts = {"before": [0.8, 0.2] * 50, "now": [0.7, 0.4] * 50}
    >>> found = changes_of_pairs(compare([1, 0] * 50, forecasts), "now")
    >>> round(found["change.log_loss"].value, 3)
    0.211
    """
    names = list(compared.forecasters)
    if len(names) != 2 or now not in names:
        raise InputError(f"compared: expected two forecasters, one of them {now!r}, got {', '.join(names)}.")
    [pair] = compared.pairs
    pair = pair if pair.first == now else pair.mirrored()
    units, prior = compared.independent_rows, PRIOR_ROWS if compared.n_clusters is None else PRIOR_CLUSTERS

    def metric(each: Difference) -> NamedMetric:
        judged = each.standard_error > 0 and not math.isnan(each.interval.low)
        spread = Spread(each.standard_error, units - 1, units, prior, each.skewness) if judged else None
        return NamedMetric(each.difference, each.interval, spread=spread)

    return {f"{PREFIX}{name}": metric(each) for name, each in pair.differences.items()}
