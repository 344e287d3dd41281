"""Diagnosis of forecasts of more than two classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..._lib.typing import Floats, Ints
from ...forecasts.labels import Label
from ...statistics.intervals import holm
from ...statistics.tails import normal_cdf, normal_quantile, poisson_sf
from ...tally.class_sums import MOST_CLASSES, ClassSums
from ...tally.counter import RowSample
from .choice import LEVEL, POWER, as_good, odds_off
from .class_rows import (
    MOST_SURPRISING,
    Certain,
    Chunk,
    MostSurprising,
    PreparedRows,
    RandomRows,
    RowCounts,
    Rows,
    count,
)
from .class_scores import Likelihoods, RowLikelihoods, SumLikelihoods
from .class_search import Search, named, rest
from .class_statistics import ClassStatistics, SummedStatistics, statistics_of_sums, surprising_levels
from .class_tests import ClassGate, gate
from .gate import FEWEST_CLUSTERS
from .kind import ClassMeans
from .kinds import certainty, shape
from .kinds import rows as few_rows
from .kinds.bias import biased_between, biased_classes
from .permutations import OutcomeSums, Permutation, permutation_of_rows, permutation_of_sums
from .result import COUNTS, ROWS, Advice, Detectable, Diagnosis, Finding
from .words import REST_LEVEL, in_words, named_rightly, not_made, practically_calibrated, too_few

_SEEN = 0.05
"""Rows whose outcomes vary less than this in all can show nothing."""

_UNTESTED = ClassGate(1.0, 1.0, 1.0, 1.0, math.nan, 1.0, np.ones(0))
"""Of rows that can show nothing."""

_SLOPES = (0.05, 5)
"""Slopes that sums at the forecasts as they are still tell: beyond, they say little of where errors end."""

_MOST_VALUES = 2**23
"""Probabilities by which errors are named at most, some 8,000 rows of 1,000 classes: more take minutes."""

_QUANTILE_80 = 0.84
"""Standard normal quantile of 80%, the power at which errors are called detectable."""


def diagnose_classes(
    rows: Rows, labels: tuple[Label | None, ...], permuted: bool = True, counts: RowCounts | None = None
) -> Diagnosis:
    """Find what is wrong with forecasts of several classes, and say so; nothing in it is random.

    Parameters
    ----------
    rows : callable
        Each call reads all rows from the beginning, in blocks of any size. All rows are counted, and then read once,
        or again where columns were permuted; errors of large data are named and priced by some of the rows, which are
        kept in memory.
    labels : tuple
        Labels of the classes in the order of the columns; None for a class without a label.
    permuted : bool, default True
        Whether to look for columns that were permuted: other errors are those of the columns named rightly.
    counts : RowCounts, optional
        Of the same rows, where they are known; by default they are counted.
    """
    counts = count(rows) if counts is None else counts
    if not counts.rows:
        return not_made("there are no rows", 0, labels)
    if counts.classes > MOST_CLASSES:
        return not_made(f"it takes at most {MOST_CLASSES:,} classes", counts.rows, labels)
    clusters = None if counts.clusters is None else len(counts.clusters)
    size = counts.classes
    with np.errstate(under="ignore"):
        summed, surprising, outcomes = SummedStatistics(size), MostSurprising(counts), OutcomeSums.none(size)
        values = counts.rows * counts.classes
        sampled = RandomRows(_MOST_VALUES / values) if values > _MOST_VALUES else None
        every = [outcomes.read] * permuted + ([] if sampled is None else [sampled.read])
        prepared = PreparedRows(rows, counts, [summed.read, surprising.read], every)
        statistics = summed.total()
        return _diagnosed(
            Diagnosis((), n_rows=counts.rows, n_classes=len(labels), by=ROWS, n_clusters=clusters),
            _Read(statistics, prepared.certain, labels),
            _without_rows(surprising, statistics),
            lambda: _evidence_of(sampled, prepared, statistics),
            partial(permutation_of_rows, prepared, outcomes, labels) if permuted else lambda _: None,
            lambda columns: diagnose_classes(
                lambda: (block.reordered(columns) for block in rows()), labels, False, counts
            ),
        )


@np.errstate(divide="ignore", invalid="ignore")  # sums of a spoiled file may be those of no rows
def diagnose_class_sums(
    sums: ClassSums,
    sample: RowSample | None,
    observed: tuple[Floats, Floats],
    labels: tuple[Label | None, ...],
    *,
    clustered: bool = False,
) -> Diagnosis:
    """Find what the sums over the rows tell: no lapse beside other errors, and nothing of what the findings leave.

    Parameters
    ----------
    sums : ClassSums
        Sums over all rows.
    sample : RowSample or None
        A few of the rows, or all.
    observed : tuple of arrays
        Probabilities of the observed classes, but for those that were certain not to occur, and their weights.
    clustered : bool
        Whether only rows of different shards are independent.
    labels
        As in `diagnose_classes`.
    """
    with np.errstate(under="ignore"):
        statistics, certain = statistics_of_sums(sums, clustered=clustered)
        clusters = int((sums["shard_rows"] > 0).sum()) if clustered else None
        return _diagnosed(
            Diagnosis(
                (),
                n_rows=statistics.rows,
                n_classes=len(labels),
                by=COUNTS,
                n_clusters=clusters,
                any_order=sums.by_outcome,
            ),
            _Read(statistics, certain, labels, observed),
            _without_levels(sums, observed, statistics, clustered),
            lambda: _Evidence(SumLikelihoods(statistics, sample, observed), statistics),
            partial(permutation_of_sums, sums, labels),
        )


class _Evidence(NamedTuple):
    """What errors are named by."""

    likelihoods: Likelihoods
    statistics: ClassStatistics
    prepared: PreparedRows | None = None
    """Rows, where they are at hand."""


def _evidence_of(sampled: RandomRows | None, prepared: PreparedRows, statistics: ClassStatistics) -> _Evidence:
    """Take all rows, or a sample of many."""
    if sampled is not None:
        summed = SummedStatistics(prepared.counts.classes)
        prepared = PreparedRows(sampled, count(sampled), [summed.read])
        statistics = summed.total()
    return _Evidence(RowLikelihoods(prepared, statistics), statistics, prepared)


class _Read(NamedTuple):
    """What was read of the rows."""

    statistics: ClassStatistics
    certain: Certain
    labels: tuple[Label | None, ...]
    observed: tuple[Floats, Floats] | None = None
    """Probabilities of what was observed with their weights, where only sums were read."""


def _tested(about: Diagnosis, statistics: ClassStatistics) -> tuple[Diagnosis, ClassGate]:
    """Test rows, and find what they would detect; those that can show nothing are not tested."""
    if not float(statistics.information.sum()) > _SEEN:
        return about, _UNTESTED
    opened, clustered = gate(statistics), statistics.clusters is not None
    alone = gate(replace(statistics, clusters=None)).p_value if clustered else math.nan
    return replace(
        about,
        p_value=opened.p_value,
        independent_p_value=alone,
        statistic=opened.statistic,
        detectable=_detectable(statistics, opened),
    ), opened


def _diagnosed(
    about: Diagnosis,
    read: _Read,
    without: Iterable[_Without],
    evidence: Callable[[], _Evidence],
    permutation: Callable[[float], Permutation | None],
    again: Callable[[Ints], Diagnosis] | None = None,
) -> Diagnosis:
    """Test, name, and test what the names leave where rows are at hand."""
    statistics, certain, labels, observed = read
    clusters = about.n_clusters
    if clusters is not None and clusters < FEWEST_CLUSTERS:
        return not_made(too_few(clusters), about.n_rows, labels)
    findings = _certainty(certain, clusters is not None)
    about, opened = _tested(about, statistics)
    if not (findings or opened.p_value < LEVEL):
        return in_words(about, findings)
    moved = permutation(opened.effect)
    if moved is not None:
        return named_rightly(about, moved, labels, None if again is None else again(np.array(moved.columns)))
    if not opened.p_value < LEVEL:
        return in_words(about, findings)
    for left, probabilities, rows in without:
        if not gate(left, LEVEL).p_value < LEVEL:
            said, count = few_rows.said(probabilities), float(len(probabilities))
            return in_words(about, (*findings, Finding("rows", *said, count, p_value=opened.p_value, rows=rows)))
    likelihoods, seen, prepared = evidence()
    means = _means(read, opened, prepared)
    if seen is not statistics and prepared is not None:
        about, opened = replace(about, n_named_by=prepared.counts.rows), replace(gate(seen), p_value=opened.p_value)
    search = Search(likelihoods, seen, opened, LEVEL)
    beside = tuple(finding.error for finding in findings)
    more, best, power = named(search, means, about.n_named_by or about.n_rows, prepared, beside)
    largest = search.found[best] if best else search.widest
    rest_ratio, rest_p_value = math.nan, math.nan
    if best and prepared is not None:
        rest_ratio, rest_p_value = rest(prepared, seen, largest, opened.effect)
    seen_ratio = largest.ratio + (rest_ratio if rest_p_value < REST_LEVEL else 0.0)
    off = odds_off(seen_ratio, largest.parameters, float(seen.information.sum()) / (2 * opened.effect))
    if off is not None and (best or prepared is not None):
        return practically_calibrated(about, findings, more, off)
    if best:
        gain = sum(finding.cost for finding in more)
        if observed is not None and _beyond_counts(more, gain, observed):
            return in_words(about, (*findings, _far_off(read, opened)))
        about = replace(about, alternatives=as_good(search.found, best), cost=gain, rest_p_value=rest_p_value)
    if power:
        about = replace(about, power=power.slope, lapse=power.lapse)
    return in_words(about, (*findings, *more), mostly_rest=rest_ratio > largest.ratio)


def _beyond_counts(findings: Sequence[Finding], gain: float, observed: tuple[Floats, Floats]) -> bool:
    """Whether errors are so large that sums at the forecasts as they are say little of where they end."""
    p, weight = observed
    log_loss = float(weight @ -np.log(np.maximum(p, 1e-300))) / float(weight.sum())
    slopes = [1 + finding.parameter for finding in findings if finding.error == "confidence"]
    return not gain < 0.5 * log_loss or any(not _SLOPES[0] < slope < _SLOPES[1] for slope in slopes)


def _far_off(read: _Read, opened: ClassGate) -> Finding:
    """The finding where errors are too large for counts: the classes whose means are the furthest off, and no value."""
    s = read.statistics
    z = np.abs(s.observed - s.predicted) / np.sqrt(np.maximum(np.diag(s.covariance), 1e-9))
    order = np.argsort(-z, kind="stable")
    classes = order[z[order] > max(float(z.max()) / 2, 4.0)][:1].tolist()
    too_large = "; the errors are too large to be told apart or priced from counts"
    if not classes:
        return Finding("shape", shape.KIND.clause(more=too_large), _UNCOUNTED, p_value=opened.p_value)
    clause = biased_between(f"{biased_classes(_means(read, opened), classes).words}{too_large}")
    return Finding("bias", clause, _UNCOUNTED, p_value=opened.p_value, label=read.labels[classes[0]])


_UNCOUNTED = Advice("Diagnose the rows, or the files that hold them.")


_Without = tuple[ClassStatistics, Sequence[float], tuple[int, ...]]
"""Statistics without the most surprising outcomes, the probabilities that these had, and the numbers of their rows."""


def _without_levels(
    sums: ClassSums, observed: tuple[Floats, Floats], s: ClassStatistics, clustered: bool
) -> Iterator[_Without]:
    """Leave out one to three outcomes of the least probability; rows of unequal weight and one probability are one."""
    p, weight = observed
    few = np.argsort(p, kind="stable")[:MOST_SURPRISING]
    times = np.clip(weight[few], 1, MOST_SURPRISING).astype(np.int64) if s.equal_weights else 1
    least = np.repeat(p[few], times).tolist()
    for level, drop in surprising_levels(sums):
        yield statistics_of_sums(sums, level, clustered)[0], least[:drop], ()


def _certainty(certain: Certain, clustered: bool) -> tuple[Finding, ...]:
    """Outcomes that the forecasts held for certain not to occur; rows of a cluster may err together."""
    wrong = certain.wrong
    if not wrong:
        return ()
    p_value = poisson_sf(0 if clustered else wrong - 1, certain.expected) if certain.expected > 0 else 0.0
    said = certainty.said(wrong, certain.expected)
    return (Finding("certainty", *said, float(wrong), p_value=p_value, rows=certain.named),)


def _means(read: _Read, opened: ClassGate, prepared: PreparedRows | None = None) -> ClassMeans:
    """Return mean predictions and observed frequencies over all rows, and which differ (Holm 1979).

    The variance of their difference is the larger of what the predictions promise and what rows show; without rows
    it is that of the outcomes, which is larger still.
    """
    s, certain = read.statistics, read.certain
    predicted, observed = s.predicted + certain.predicted, s.observed + certain.observed
    n = float(observed.sum())
    if prepared is None:
        squares = observed * (1 - observed / n)
    else:
        squared = sum(_squared_residuals(chunk) for chunk in prepared.everything())
        squares = squared * (n / prepared.counts.rows) - (observed - predicted) ** 2 / n
    variance = np.maximum(s.information, squares) * np.maximum(opened.class_effect, 1.0)
    z = (observed - predicted) / np.sqrt(np.maximum(variance, 1e-9))
    p_values = np.array([2 * normal_cdf(-abs(each)) for each in z.tolist()])
    return ClassMeans(read.labels, predicted / predicted.sum(), observed / n, holm(p_values) < LEVEL)


def _squared_residuals(chunk: Chunk) -> Floats:
    w, p = chunk.weights, np.asarray(chunk.p, dtype=np.float64)
    return w @ p**2 + np.bincount(chunk.truth, w * (1 - 2 * chunk.pick(p)), p.shape[1])


def _detectable(statistics: ClassStatistics, opened: ClassGate) -> Detectable:
    """Bias of a class of median information, and calibration slope, that the gate finds with 80% power."""
    used = statistics.information[statistics.information > 0] / opened.effect
    single = -normal_quantile(LEVEL / (6 * len(used))) + _QUANTILE_80
    slope = float(statistics.shape_information[0, 0]) / opened.effect
    seen = POWER / math.sqrt(slope) if slope > 0 else math.nan
    return Detectable(single / math.sqrt(float(np.median(used))), seen)


def _without_rows(surprising: MostSurprising, statistics: ClassStatistics) -> Iterator[_Without]:
    """Leave out one to three surprising outcomes."""
    rows = [row for *_, row in surprising.found]
    for drop in range(1, len(rows) + 1):
        few = Chunk.joined(rows[:drop])
        named = tuple(few.named[few.named >= 0].tolist())
        yield statistics - ClassStatistics.of(few), few.pick(few.p).tolist(), named
