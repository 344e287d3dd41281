"""compare(): reads forecasters' rows, pairs them, and makes a Comparison of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from .._lib.arrays import by_forecaster, check_indexes
from .._lib.dataclasses import replace
from .._lib.errors import InputError
from .._lib.formatting import rule_text
from .._lib.typing import Floats, Ints
from ..assessment.assess import assess_tally
from ..assessment.intervals import closed_intervals
from ..assessment.result import Assessment
from ..assessment.settings import AssessmentSettings
from ..calibration.diagnosis.binary_data import line_of_tally
from ..calibration.diagnosis.class_rows import RowBlock
from ..calibration.diagnosis.diagnose import diagnosis_of_rows
from ..calibration.diagnosis.words import not_made
from ..calibration.undeclared import undeclared_of
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import hashes_of_clusters
from ..forecasts.reading import (
    AUTO,
    SEARCHED,
    AssessedReading,
    PredictiveOptions,
    any_predictive,
    reads,
    refuse_beside_predictive,
)
from ..pairing.dependence import PairedOptions, PairedSettings, short_series
from ..pairing.rows import (
    Chosen,
    Chunk,
    Chunks,
    Pair,
    PairedRows,
    Pairing,
    ScoredRows,
    chosen_rows,
    pairing_of_arrays,
    parts_of,
    read_paired,
    tallies,
)
from ..pairing.skill import SkillSettings, reference_of, rows_by_group, skill_of, skill_rules
from ..report.result import frames_as_input
from ..scores.rules import LOG_LOSS, score_reach
from ..statistics.intervals import FEWEST_STRETCHES, TIMES_LAG, Dependence, Interval
from ..statistics.means import DEFAULT_FLOOR, Floor, floor_for
from ..tally.tally import Tally
from .next_step import ChosenChunks, PairedForecasters, PythonLines
from .result import Comparison, Contributions, Difference, Forecaster, MeanScore, PairedComparison
from .samples import Sample, differences_of, few_rows, group_differences, judged, row_differences

if TYPE_CHECKING:
    from ..forecasts.distributions.predictive import Predictive
    from .distributions import DistributionComparison

_MOST_ROWS = 10
"""Rows named of those from which a difference comes."""

_ROUNDING = 2.0**-50
"""Relative rounding of a sum of differences."""
_LARGEST = 709.0
"""exp of more is no float."""


@overload
def compare(
    y_true: Any, forecasts: Mapping[str, Predictive], **options: Unpack[PredictiveOptions]
) -> DistributionComparison: ...
@overload
def compare(
    y_true: Any,
    forecasts: Any,
    *,
    ids: Any = None,
    reference: str | Mapping[str, Any] | None = None,
    **options: Unpack[PairedOptions],
) -> Comparison: ...
@frames_as_input
@reads(AssessedReading, SEARCHED)
def compare(
    y_true: Any,
    forecasts: Any,
    *,
    by: Any = None,
    ids: Any = None,
    lag: int | None = None,
    within: Any = None,
    reference: Any = None,
    metrics: Sequence[str] = (),
    floor: Floor = DEFAULT_FLOOR,
    confidence: float = 0.95,
    **reading: Unpack[AssessedReading],
) -> Any:
    """Compare forecasters on the same rows: who is better, and is it chance?

    Returns a `Comparison`. Print it, or read its ``verdict``, which names the
    better forecaster by log loss and Brier score. Smaller scores are better.
    Differences are paired: the scores of each row are compared with one
    another, so rows that are hard for all forecasters do not blur the result.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: class labels (ints, bools, strings) or one-hot rows.
    forecasts : mapping of str to array_like (n,) or (n, C), or a data frame
        Predicted probabilities by the forecaster's name: of the positive class,
        or of each class. A data frame has one column for each forecaster, with
        the probability of the positive class. Or `Quantiles`, `Samples` or
        `Distribution` of a number by name: these are compared by CRPS (WIS
        where all are quantiles) and log score, with ``reference`` (as in
        `skill`, or a forecaster's name: the others are then compared with it
        alone), ``metrics``, ``confidence`` and the reading as in `assess`.
        Beside quantiles, other forms are scored by their quantiles at the same
        levels.
    by : array_like (n,), mapping from name to such, or data frame, optional
        Groups of rows that are also compared by themselves, such as the lead
        time: ``groups`` of the result.
    ids : array_like of shape (n,), optional
        Names of the rows in ``contributions``.
    lag : int, optional
        Rows are in order, and those up to ``lag`` places apart may depend on
        one another. Not with ``clusters``.
    within : array_like (n,), mapping from name to such, or data frame, optional
        Places are counted within each series, such as that of a station, and
        rows of different series are independent.
    reference : str or mapping, optional
        Also give skill scores, as `skill` does: against "base-rate", a constant
        forecast of the observed frequencies, one of the forecasters, by name,
        or ``{"climatology": months}``, the observed frequencies among the rows
        with the same values.
    metrics : sequence of str, default ()
        Scoring rules to compare in addition to those of `SCORES`, by name, as
        in `score_named`.
    floor : float or "auto", default "auto"
        Floor of each forecaster's assessment ("auto" as in `assess`). The
        comparison has no floor, unless a forecaster assigned 0 to an observed
        outcome: the log loss, the penalized log loss and generalized surprisals
        are then compared at this floor for all forecasters, and the verdict
        names who assigned 0. With ``floor=0`` their differences are infinite
        instead.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1). The verdict counts
        p-values below 1 minus it.
    **reading
        How rows are read, the same for all forecasters, as in `assess`:
        ``sample_weight``, ``labels``, ``pos_label``, ``ignore_label``,
        ``scale``, ``invalid``, of which "drop" leaves out, for all forecasters,
        rows without an outcome and rows that are invalid for one, as
        ``assessment.notes`` report; and ``clusters``, rows that may depend on
        one another (those of a match, a document): standard errors are then
        computed from sums over clusters. A list of two columns, such as
        ``[station, date]``, says that rows that share either may depend on one
        another. By default, "auto", clusters are looked for, also in
        ``columns``, as in `assess`, in the errors of every forecaster: the
        largest dependence of any is used for all. None declines, and so does a
        lag.

    Returns
    -------
    Comparison
        Its ``verdict`` names the better forecaster and the scoring rules that
        show it. For predictive distributions, a `DistributionComparison`.

    Raises
    ------
    InputError
        For invalid input, with the forecaster, the rows (counted from 0) and
        the remedy.

    Notes
    -----
    With d the differences of two forecasters' scores in n rows, the mean of d
    is divided by its standard error and compared with Student's t with n - 1
    degrees of freedom: the paired t-test. With clusters, the standard error is
    cluster-robust; with clusters in two ways it is that of Cameron, Gelbach and
    Miller (2011), but no smaller than one way alone, with the fewer clusters
    minus 1 as degrees of freedom. With a lag it is the test of Diebold and
    Mariano (1995) with Bartlett's kernel and the small-sample factor of Harvey,
    Leybourne and Newbold (1997). With W the weights of rows, or their sums over
    clusters, the degrees of freedom are then ``sum(W)**2 / sum(W**2) - 1``,
    where a lag L divides the first term by the sum of the kernel's squares,
    ``(2 M**2 + 1) / (3 M)`` with M = L + 1 (Lazarus, Lewis, Stock and Watson
    2018). Below 1, and where the difference is the same in every row or
    cluster, there is no interval and no p-value. Intervals end where the scores
    do. p-values are adjusted, and intervals simultaneous, over the pairs of a
    score, and within groups over groups and pairs (Bonferroni): an interval
    excludes 0 just where the adjusted p-value is below 1 minus the confidence
    level. The ratio of geometric accuracies and its interval are exp of minus
    those of the log loss. Forecasters are ranked by log loss. The verdict
    compares by log loss and by Brier score, each with its adjusted p-values.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import compare
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0, 2, 2000)
    >>> rain = rng.random(2000) < 1 / (1 + np.exp(-truth))
    >>> new, old = 1 / (1 + np.exp(-truth)), 1 / (1 + np.exp(-2 * truth))
    >>> result = compare(rain, {"new": new, "old": old})
    >>> print(result.verdict)
    new beats old by log loss (p < 0.001) and Brier score (p < 0.001)
    >>> round(result.between("new", "old").accuracy_ratio, 2)
    1.06
    """
    if any_predictive(forecasts):
        from ..pairing.distribution_skill import DistributionSettings
        from .distributions import compared_distributions

        refuse_beside_predictive({"by": by, "ids": ids, "lag": lag, "within": within})
        return compared_distributions(y_true, forecasts, DistributionSettings(reading, reference, metrics, confidence))
    options, clusters, columns = undeclared_of(reading)
    searched = clusters is AUTO and lag is None
    clusters = None if clusters is AUTO else clusters
    check_indexes(y_true=y_true, forecasts=forecasts, clusters=clusters, columns=columns, ids=ids)
    forecasts = by_forecaster(y_true, forecasts)
    _check_names(forecasts)
    against = reference_of(reference)
    name, climatology = (None, None) if against is None else (against.name, against.climatology)
    dependent = clusters is not None, within is not None
    settings = ComparisonSettings(metrics, floor, confidence, lag, *dependent, searched, name)
    if settings.skill is not None:
        settings.skill.check_names([*forecasts])
    parts = parts_of(forecasts, y_true, options)
    pairing = pairing_of_arrays(parts, clusters, within, by, climatology, ids, columns)
    read = options if pairing.crossed is not None else reading
    return compared(lambda: parts, lambda _: pairing, settings).advising(PythonLines.reading(read))


class ComparisonSettings(PairedSettings):
    """Arguments of `compare` that say how paired rows are compared."""

    reference: str | None = None
    """Name of the reference, if skill scores are asked for."""

    @property
    def skill(self) -> SkillSettings | None:
        """How skill is scored, if it is asked for."""
        if self.reference is None:
            return None
        alike = self.floor, self.confidence, self.lag, self.clustered, self.within, self.searched
        return SkillSettings(skill_rules(self.scores), *alike, self.reference)

    def assessment(self, tally: Tally) -> Assessment:
        """Assess one forecaster. Samples are of independent rows, so that there are none if these are not."""
        asked = AssessmentSettings(floor=self.floor, confidence=self.confidence, asked=self.scores)
        return assess_tally(tally, replace(asked, resamples=0) if self.clustered or self.lag else asked)


def _check_names(forecasts: Mapping[str, Any]) -> None:
    """Refuse fewer than two forecasters, and names that are none."""
    if not isinstance(forecasts, Mapping):
        raise InputError(
            f"forecasts: expected a mapping of names to probabilities, got {type(forecasts).__name__}, such as"
            " {'ours': y_prob, 'theirs': other}, or a data frame with a named column for each."
        )
    if any(not isinstance(name, str) or not name for name in forecasts):
        raise InputError(f"forecasts: a forecaster's name is a text, got {[*forecasts]!r:.80}.")
    if len(forecasts) < 2:
        raise InputError("forecasts: a comparison takes at least two forecasters.")


def compared(parts: Chunks, pair: Pair, settings: ComparisonSettings) -> Comparison:
    """Read the forecasters' rows once, and again where rows have to be left out for all; then compare."""
    read = read_paired(parts, pair, settings.rules, settings.floor, searched=settings.searched)
    rows, at, pairing, notes, _ = read
    settings = replace(settings, clustered=pairing.declared)
    found = None if settings.skill is None else skill_of(read, settings.skill)
    clusters = None if pairing.clusters is None or pairing.crossed is not None else pairing.clusters[at]
    chosen = {name: chosen_rows(each, clusters) for name, each in rows.items()}
    shards = ["shards"] if clusters is not None or any(each.tally.weighted for each in rows.values()) else []
    again = {name: chosen[name] for name, each in rows.items() if shards or at.size < each.tally.n_rows}
    for name, tally in tallies(parts(), again, settings.rules, shards).items() if again else ():
        rows[name] = replace(rows[name], tally=replace(tally, notes=notes[name]))
    if settings.lag and (stretches := pairing.dependence(at, settings.lag).stretches(at.size)) is not None:
        hashes = hashes_of_clusters(stretches).view(np.int64)
        chosen = {name: chosen_rows(each, hashes) for name, each in rows.items()}
    chunks = {name: partial(_chosen_chunks, parts, name, each) for name, each in chosen.items()}
    return replace(_comparison(read, settings, chunks), skill=found)


def _chosen_chunks(parts: Chunks, name: str, chosen: Chosen) -> Iterator[Chunk]:
    """Read the paired rows of a forecaster again."""
    return (chosen(part) for part in parts() if part.name == name)


def _comparison(paired: PairedRows, settings: ComparisonSettings, chunks: Mapping[str, ChosenChunks]) -> Comparison:
    """Compare paired rows."""
    assessments = {name: settings.assessment(each.tally) for name, each in paired.rows.items()}
    (rows, at, pairing, _, found), scored_floor = paired.weighing(settings.floor)
    first = next(iter(rows.values()))
    dependence = pairing.dependence(at, settings.lag)
    reach = {rule.name: Interval(*score_reach(rule, len(first.labels), scored_floor)) for rule in settings.rules}
    reason, independent = _without_verdict(dependence, at.size), not dependence.lag and dependence.clusters is None
    assessments = {
        name: replace(_diagnosed(each, reason, independent, chunks[name]), dependence=found)
        for name, each in assessments.items()
    }
    sample = Sample(first.weights, dependence, settings.confidence, reach)
    sample.check()
    forecasters = {name: _forecaster(assessments[name], each, sample, scored_floor) for name, each in rows.items()}
    forecasters = dict(sorted(forecasters.items(), key=lambda item: item[1].scores[LOG_LOSS].mean))
    ranked = [*forecasters]
    pairs = list(combinations(ranked, 2))
    again = PairedForecasters(
        rows={name: rows[name] for name in ranked},
        assessments=assessments,
        weights=sample.weights,
        dependence=sample.dependence,
        confidence=settings.confidence,
        chunks=chunks,
        floor=scored_floor,
    )
    [differences] = judged([differences_of(pairs, rows, sample)], settings.confidence)
    if found.taken:
        as_independent = replace(sample, dependence=Dependence())
        [alone] = judged([differences_of(pairs, rows, as_independent)], settings.confidence)
        found = found.tested(*(each[pairs[0]][LOG_LOSS].adjusted_p_value for each in (differences, alone)))
    return Comparison(
        forecasters=forecasters,
        pairs=tuple(_pair(names, each, rows, at, pairing, sample) for names, each in differences.items()),
        n_rows=paired.at.size,
        n_classes=len(first.labels),
        labels=first.labels,
        weighted=first.tally.weighted,
        independent_rows=dependence.independent(sample.weights),
        n_clusters=None if dependence.clusters is None else dependence.sizes(at.size)[0],
        n_crossed_clusters=dependence.sizes(at.size)[1] if dependence.two_way else None,
        lag=settings.lag,
        n_series=dependence.n_series,
        floor=float(floor_for(settings.floor, len(first.labels))),
        scored_floor=scored_floor,
        confidence=settings.confidence,
        warnings=(*short_series(dependence), *_infinite_rows(rows, at, pairing), *few_rows(sample, differences)),
        by=() if pairing.by is None else pairing.by.names,
        groups=group_differences([*rows_by_group(pairing.by, at)], pairs, rows, sample),
        dependence=found,
        _paired=again,
    )


_TWO_WAYS = "it needs rows that are independent, or clusters of them; name clusters one way instead of two"


def _without_verdict(dependence: Dependence, n_rows: int) -> str:
    """Say why forecasters of rows that depend on one another in such a way have no verdict; "" where they have one."""
    if dependence.two_way:
        return _TWO_WAYS
    if not dependence.lag or dependence.stretches(n_rows) is not None:
        return ""
    rows = FEWEST_STRETCHES * TIMES_LAG[-1] * dependence.lag
    return (
        f"with a lag of {dependence.lag:,} it takes {rows:,} rows in order, {FEWEST_STRETCHES} stretches that hardly"
        " depend on one another; compare more rows, or name clusters instead of the lag"
    )


def _diagnosed(assessment: Assessment, reason: str, independent: bool, chunks: ChosenChunks) -> Assessment:
    """Let a forecaster be diagnosed, and mended, by its paired rows, unless there is a reason for no verdict."""
    labels = assessment.labels
    if reason:
        line = line_of_tally(assessment.source.tally).without_errors() if len(labels) == 2 else None
        return assessment.diagnosed_by(lambda: replace(not_made(reason, assessment.n_rows, labels), line=line))

    def read() -> Iterator[Forecasts]:
        return (chunk.forecasts for chunk in chunks())

    if independent and len(labels) == 2 and assessment.source.tally.tells_log_odds(read):
        return assessment.with_rows(read)

    def rows() -> Iterator[RowBlock]:
        for chunk in chunks():
            for block in chunk.forecasts.blocks():
                some = block.weighing
                cluster, numbers = chunk.forecasts.clusters(some.index), chunk.positions(some)
                yield RowBlock(some.probabilities, some.truth, some.weights, cluster, numbers, some.given)

    return assessment.diagnosed_by(lambda: diagnosis_of_rows(rows, labels), read)


def _forecaster(assessment: Assessment, rows: ScoredRows, sample: Sample, scored_floor: float) -> Forecaster:
    """Give the scores with the intervals of the assessment, but for what its counts do not tell."""
    tally, by = assessment.source.tally, sample.dependence
    known = {} if scored_floor or by.lag or by.two_way else closed_intervals(assessment.source)
    scores = {}
    for rule, values in rows.scores.items():
        found, interval = sample.mean(values, rule)
        error = tally.score_standard_error(rule) if rule in known else found.standard_error
        scores[rule] = MeanScore(found.mean, error, known.get(rule, interval))
    log_loss = scores[LOG_LOSS]
    accuracies = Interval(_accuracy(log_loss.interval.high), _accuracy(log_loss.interval.low))
    return Forecaster(assessment, _accuracy(log_loss.mean), accuracies, scores, rows.zero_rows)


def _accuracy(log_loss: float) -> float:
    """Geometric accuracy, or the ratio of two from a difference."""
    return math.inf if -log_loss > _LARGEST else math.exp(-log_loss)


def _pair(
    names: tuple[str, str],
    differences: dict[str, Difference],
    rows: Mapping[str, ScoredRows],
    at: Ints,
    pairing: Pairing,
    sample: Sample,
) -> PairedComparison:
    first, second = (rows[name] for name in names)
    parts = sample.weights * row_differences(first.scores[LOG_LOSS], second.scores[LOG_LOSS])
    largest = _largest(np.abs(parts))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = parts[largest] / parts.sum()
    log_loss = differences[LOG_LOSS]
    return PairedComparison(
        first=names[0],
        second=names[1],
        differences=differences,
        accuracy_ratio=_accuracy(log_loss.difference),
        accuracy_ratio_interval=Interval(_accuracy(log_loss.interval.high), _accuracy(log_loss.interval.low)),
        turning_rows=_turning_rows(parts),
        contributions=Contributions(
            row=next(iter(rows.values())).position[largest],
            id=() if pairing.ids is None else tuple(pairing.ids(at[largest])),
            outcome=tuple(first.labels[code] for code in first.truth[largest]),
            first=first.correct[largest],
            second=second.correct[largest],
            share=share,
        ),
    )


def _largest(sizes: Floats) -> Ints:
    """Places of the largest of the sizes above 0, in falling order; of equal ones the first."""
    sizes = np.nan_to_num(sizes, nan=0.0, posinf=np.inf)
    least = np.partition(sizes, -_MOST_ROWS)[-_MOST_ROWS] if sizes.size > _MOST_ROWS else 0.0
    some = np.flatnonzero((sizes >= least) & (sizes > 0))
    return some[np.argsort(-sizes[some], kind="stable")[:_MOST_ROWS]]


def _turning_rows(parts: Floats) -> int:
    """How many rows, those most in favour first, it takes away to bring a sum of parts to 0."""
    total = float(parts.sum())
    if total == 0 or not math.isfinite(total):
        return 0
    favourable = np.sort(parts[parts > 0] if total > 0 else -parts[parts < 0])[::-1]
    return int(np.searchsorted(np.cumsum(favourable), abs(total) * (1 - _ROUNDING))) + 1


def _infinite_rows(rows: Mapping[str, ScoredRows], at: Ints, pairing: Pairing) -> Iterable[str]:
    for rule in next(iter(rows.values())).scores:
        for name, each in rows.items():
            infinite = np.flatnonzero(np.isinf(each.scores[rule]))
            if infinite.size:
                yield (
                    f"the {rule_text(rule)} of {name} is infinite in {pairing.named(at[infinite])}: differences"
                    " from it are infinite or undefined"
                )
