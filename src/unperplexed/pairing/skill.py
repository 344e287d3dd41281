"""skill(): forecasters against a reference on the same rows, for all rows and by group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import numpy as np

from .._lib.arrays import by_forecaster, check_indexes
from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of, rule_text
from .._lib.typing import Floats, Ints
from ..calibration.undeclared import undeclared_of
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key, RowKeys, in_order
from ..forecasts.reading import (
    AUTO,
    SEARCHED,
    AssessedReading,
    PredictiveOptions,
    any_predictive,
    is_predictive,
    reads,
    refuse_beside_predictive,
)
from ..report.result import frames_as_input
from ..scores.rules import BRIER_SCORE, LOG_LOSS, SCORES, Score, score_named, scores_by_outcome
from ..statistics.intervals import Dependence, Interval, UncertainRatio, simultaneous, uncertain_ratio
from ..statistics.matrices import product
from ..statistics.means import DEFAULT_FLOOR, Floor
from .dependence import PairedOptions, PairedSettings, short_series
from .rows import Chunks, Pair, PairedRows, Pairing, ScoredRows, pairing_of_arrays, parts_of, read_paired
from .skill_result import GroupSkill, Skill, SkillScore

if TYPE_CHECKING:
    from ..forecasts.distributions.predictive import Predictive
    from .distribution_skill import ScoreSkill

THE_REFERENCE, CLIMATOLOGY = "the reference", "climatology"
"""Names of probabilities that are measured against, and of the frequencies among rows of equal values."""

BASE_RATE = "base-rate"
REFERENCES = 'expected "base-rate", {"climatology": months}, or probabilities of every row (columns of files)'
"""What a reference can be besides a forecaster."""
"""Name of the reference that predicts the observed frequencies of the classes in all rows."""

_FEW = 30
"""Fewer rows or clusters than these get a warning."""


@overload
def skill(y_true: Any, forecasts: Predictive, **options: Unpack[PredictiveOptions]) -> ScoreSkill: ...
@overload
def skill(y_true: Any, forecasts: Any, *, reference: Any = BASE_RATE, **options: Unpack[PairedOptions]) -> Skill: ...
@frames_as_input
@reads(AssessedReading, SEARCHED)
def skill(
    y_true: Any,
    forecasts: Any,
    *,
    reference: Any = BASE_RATE,
    by: Any = None,
    lag: int | None = None,
    within: Any = None,
    metrics: Sequence[str] = (),
    floor: Floor = DEFAULT_FLOOR,
    confidence: float = 0.95,
    **reading: Unpack[AssessedReading],
) -> Any:
    """Skill scores of forecasts against a reference. Larger is better.

    Returns a `Skill`. Its ``verdict`` names the forecasters that beat the
    reference. A skill score is 1 - S/B, where S and B are the mean scores of
    the forecaster and of the reference on the same rows: 1 for perfect
    forecasts, 0 for forecasts as good as the reference, below 0 for worse ones.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: class labels or one-hot rows.
    forecasts : array_like (n,) or (n, C), mapping of such, or data frame
        Predicted probabilities of one forecaster, or by the forecaster's name,
        as in `compare`. Or `Quantiles`, `Samples` or `Distribution` of a
        number: then the skill is of the CRPS (WIS of quantiles), or the first
        of ``metrics``; the reference is the climatology of the outcomes,
        ``{"climatology": months}`` within groups,
        ``{"persistence": stations}``, the last outcome of each series up to
        ``issued``, or other forecasts of the same rows; ``confidence`` and the
        reading of `assess` are the other options.
    reference : "base-rate", str, mapping or array_like, default "base-rate"
        A constant forecast of the observed frequencies in all rows, the name of
        one of the forecasters, probabilities for the same rows, or
        ``{"climatology": months}``: the observed frequencies among the rows
        with the same values (an array_like of shape (n,), a mapping from name
        to such, or a data frame).
    by : array_like (n,), mapping from name to such, or data frame, optional
        Groups whose skill is also given, such as the lead time. The reference
        is the same as for all rows.
    lag : int, optional
        Rows are in order, and those up to ``lag`` places apart, within each
        group of ``by``, may depend on one another.
    within : array_like (n,), mapping from name to such, or data frame, optional
        Places are counted within each series, such as that of a station, and
        rows of different series are independent.
    metrics : sequence of str, default ()
        Rules in addition to log loss and Brier score, such as
        ``"ranked_probability_score"`` for ordered classes. They are proper,
        with a smaller score for a better forecast and 0 for a perfect one.
    floor : float or "auto", default "auto"
        Floor of the log loss where a forecaster assigned 0 to an observed
        outcome ("auto" as in `assess`); it is applied to all forecasters and
        the reference.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).
    **reading
        How rows are read, and ``clusters`` of rows that may depend on one
        another, or ``columns`` in which they are looked for, as in `compare`.

    Returns
    -------
    Skill
        Its ``verdict`` names the forecasters that beat the reference. Of
        predictive distributions a `ScoreSkill`.

    Raises
    ------
    InputError
        For invalid input, with the forecaster, the rows (counted from 0) and
        the remedy; for an unknown reference.

    Notes
    -----
    The interval is that of Fieller (1954) for the ratio of paired means; it
    agrees with the paired t-test of `compare`. Base rate and climatology are
    fitted to the rows that they are compared on, as in R's ``verification``.
    Their estimation does not change the interval to first order, because the
    observed frequencies minimize the mean score. In a climatology with few rows
    a group they are optimistic: a warning names the smallest group. Where base
    rates differ between groups, skill against one base rate for all rows
    includes the difference of the groups (Hamill and Juras 2006): name these
    groups in the climatology. p-values and intervals are adjusted (Bonferroni)
    for the forecasters and groups that are tested by a rule.

    Examples
    --------
    >>> from unperplexed import skill
    >>> y = [1, 0, 1, 1, 0, 0, 1, 0] * 10
    >>> p = [0.9, 0.2, 0.6, 0.8, 0.4, 0.1, 0.7, 0.3] * 10
    >>> result = skill(y, p)
    >>> print(result.verdict)
    'forecast' beats the base rate (log loss skill score 0.569, 95% CI 0.520 to 0.617, p < 0.001)
    >>> round(result.whole.scores["forecast"]["brier_score"].skill, 3)
    0.7
    >>> lead = [24, 24, 24, 24, 48, 48, 48, 48] * 10
    >>> [group.key for group in skill(y, p, by={"lead": lead}).groups]
    [(24,), (48,)]
    """
    if is_predictive(forecasts) or any_predictive(forecasts):
        from .distribution_skill import DistributionSettings, skill_of_distributions

        refuse_beside_predictive({"by": by, "lag": lag, "within": within})
        against = None if isinstance(reference, str) and reference == BASE_RATE else reference
        return skill_of_distributions(y_true, forecasts, DistributionSettings(reading, against, metrics, confidence))
    options, clusters, columns = undeclared_of(reading)
    searched = clusters is AUTO and lag is None
    clusters = None if clusters is AUTO else clusters
    check_indexes(y_true=y_true, forecasts=forecasts, clusters=clusters, columns=columns)
    named = by_forecaster(y_true, forecasts)
    if not isinstance(named, Mapping):
        named = {"forecast": named}
    against = reference_of(reference) or Reference()
    if against.forecast is not None:
        named = {**named, against.name: against.forecast}
    dependent = clusters is not None, within is not None
    settings = SkillSettings(metrics, floor, confidence, lag, *dependent, searched, against.name)
    settings.check_names([*named])
    parts = parts_of(named, y_true, options)
    pairing = pairing_of_arrays(parts, clusters, within, by, against.climatology, columns=columns)
    return skilled(lambda: parts, lambda _: pairing, settings)


class Reference(NamedTuple):
    """What skill is measured against."""

    name: str = BASE_RATE
    climatology: Any = None
    """Columns among whose equal values the observed frequencies are predicted."""
    forecast: Any = None
    """Probabilities that no forecaster of the others has."""


def reference_of(reference: Any) -> Reference | None:
    """Read what skill is measured against: a name, {"climatology": columns}, or probabilities; None for None."""
    if reference is None or isinstance(reference, str):
        return None if reference is None else Reference(reference)
    if isinstance(reference, Real):
        raise InputError(f"reference: {reference!r} is no forecast of each row; {REFERENCES}.")
    if not isinstance(reference, Mapping):
        return Reference(THE_REFERENCE, forecast=reference)
    if set(reference) != {CLIMATOLOGY}:
        raise InputError(f'reference: expected {{"{CLIMATOLOGY}": columns}}, got a mapping of {listed([*reference])}.')
    return Reference(climatology=reference[CLIMATOLOGY])


def skill_rules(scores: Sequence[str]) -> list[str]:
    """Name the rules, of those asked for, that a skill score can be of."""
    return [rule.name for rule in map(score_named, scores) if rule.proper and not rule.larger_is_better]


class SkillSettings(PairedSettings):
    """Arguments of `skill` that say how paired rows are scored."""

    reference: str = BASE_RATE

    def __post_init__(self) -> None:
        """Refuse also rules that no skill can be computed with."""
        super().__post_init__()
        for rule in self.rules:
            if rule.larger_is_better or not rule.proper:
                raise InputError(
                    f"metrics: a skill score is of a proper rule whose smaller values are better, not {rule.name}; such"
                    " are log_loss, brier_score and ranked_probability_score."
                )

    @property
    def rules(self) -> tuple[Score, ...]:
        """Log loss, Brier score and the rules named in addition."""
        if isinstance(self.scores, str):
            raise InputError(f"metrics: expected a list of names, got {self.scores!r}; one is [{self.scores!r}].")
        more = {rule.name: rule for rule in map(score_named, self.scores)}
        return tuple(({LOG_LOSS: SCORES[LOG_LOSS], BRIER_SCORE: SCORES[BRIER_SCORE]} | more).values())

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse a reference that is none of the forecasters, and a forecaster compared with itself only."""
        if self.reference == BASE_RATE:
            return
        if self.reference not in names:
            raise InputError(
                f"reference: {self.reference!r} is none of the forecasters {listed(names)}; {REFERENCES}. A column of"
                f" the file is one if named beside the others: {self.reference}={self.reference} (--forecaster)."
            )
        if len(names) < 2:
            raise InputError(f"reference: {self.reference!r} is the only forecaster; name another to compare with it.")


class _SkillRows(Frozen):
    """Scores of paired rows of positive weight, the reference's among them."""

    weights: Floats
    scores: Mapping[str, Mapping[str, Floats]]
    reference: Mapping[str, Floats]
    dependence: Dependence
    settings: SkillSettings

    def together(self, groups: Sequence[tuple[Key, Ints]]) -> tuple[GroupSkill, ...]:
        """Give the skill in each of some groups of rows; those by one rule are judged together."""
        found: list[dict[str, dict[str, SkillScore]]] = [{name: {} for name in self.scores} for _ in groups]
        for rule in (each.name for each in self.settings.rules):
            places = [(at, name) for at in range(len(groups)) for name in self.scores]
            ratios = [self._ratio(name, rule, groups[at][1]) for at, name in places]
            p, level = simultaneous(np.array([each.p_value for each in ratios]), self.settings.confidence)
            for (at, name), ratio, adjusted in zip(places, ratios, p.tolist(), strict=True):
                low, high = ratio.interval(level)
                found[at][name][rule] = SkillScore(
                    skill=1 - ratio.ratio,
                    interval=Interval(1 - high, 1 - low),
                    p_value=ratio.p_value,
                    adjusted_p_value=adjusted,
                    score=ratio.top.mean,
                    reference_score=ratio.bottom.mean,
                    share=self._share(self.scores[name][rule], groups[at][1]),
                )
        return tuple(
            GroupSkill(key, rows.size, float(self.weights[rows].sum() / self.weights.sum()), scores)
            for (key, rows), scores in zip(groups, found, strict=True)
        )

    def _ratio(self, name: str, rule: str, rows: Ints) -> UncertainRatio:
        x, b = self.scores[name][rule][rows], self.reference[rule][rows]
        return uncertain_ratio(x, b, self.weights[rows], self.dependence.at(rows))

    def _share(self, x: Floats, rows: Ints) -> float:
        total = float(product(self.weights, x))
        return float(product(self.weights[rows], x[rows])) / total if 0 < total < np.inf else math.nan


def skilled(parts: Chunks, pair: Pair, settings: SkillSettings) -> Skill:
    """Read the forecasters' rows once, pair them and score them against the reference."""
    read = read_paired(parts, pair, settings.rules, settings.floor, least=1, searched=settings.searched)
    return skill_of(read, settings)


def skill_of(paired: PairedRows, settings: SkillSettings) -> Skill:
    """Score forecasters' paired rows against the reference; their scores have the settings' rules among them."""
    settings.check_names([*paired.rows])
    (rows, at, pairing, notes, found), floor = paired.weighing(settings.floor)
    first, zero_rows = next(iter(rows.values())), {name: each.zero_rows for name, each in rows.items()}
    against: Mapping[str, Floats]
    if settings.reference == BASE_RATE:
        place = np.zeros(at.size, np.int64) if pairing.climatology is None else pairing.climatology.group[at]
        against = climatological_scores(first, np.unique(place, return_inverse=True)[1], settings.rules, floor)
    else:
        against = rows.pop(settings.reference).scores
    dependence = pairing.dependence(at, settings.lag)
    rules = {rule.name: rule for rule in settings.rules}
    own = {name: {rule: each.scores[rule] for rule in rules} for name, each in rows.items()}
    scored = _SkillRows(first.weights, own, against, dependence, settings)
    [whole] = scored.together([((), np.arange(at.size))])
    if found.taken:
        [alone] = replace(scored, dependence=Dependence()).together([((), np.arange(at.size))])
        first_scores = (next(iter(each.scores.values()))[LOG_LOSS] for each in (whole, alone))
        found = found.tested(*(each.adjusted_p_value for each in first_scores))
    places = [*rows_by_group(pairing.by, at)]
    groups = scored.together(places)
    return Skill(
        reference=_reference_text(settings, pairing),
        whole=whole,
        by=() if pairing.by is None else pairing.by.names,
        groups=groups,
        n_rows=at.size,
        n_classes=len(first.labels),
        labels=first.labels,
        weighted=first.tally.weighted,
        n_clusters=None if dependence.clusters is None else dependence.sizes(at.size)[0],
        n_crossed_clusters=dependence.sizes(at.size)[1] if dependence.two_way else None,
        n_series=dependence.n_series,
        lag=settings.lag,
        scored_floor=floor,
        zero_rows=zero_rows,
        confidence=settings.confidence,
        notes=notes,
        warnings=(
            *short_series(dependence),
            *_undefined([whole, *groups]),
            *_few_units(dependence, places, at.size),
            *_few(pairing, at),
        ),
        dependence=found,
    )


def climatological_scores(rows: ScoredRows, place: Ints, rules: Sequence[Score], floor: float) -> dict[str, Floats]:
    """Score each row by a forecast of the observed frequencies among the rows of the same place.

    Parameters
    ----------
    rows : ScoredRows
        Outcomes and weights of n rows.
    place : ndarray of int of shape (n,)
        Number of the group of each row, from 0.
    rules : sequence of Score
        Scoring rules.
    floor : float
        Floor of surprisals.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        Score of each row, by the rule's name.
    """
    classes, places = len(rows.labels), int(place.max()) + 1
    counts = np.bincount(place * classes + rows.truth, rows.weights, minlength=places * classes)
    counts = counts.reshape(places, classes)
    frequency = counts / counts.sum(axis=1, keepdims=True)
    forecasts = Forecasts(np.zeros(places, np.int64), frequency, labels=range(classes))
    found: dict[str, list[Floats]] = {rule.name: [] for rule in rules}
    for block in forecasts.blocks():
        for rule in rules:
            found[rule.name].append(scores_by_outcome(rule, block, floor))
    return {name: np.concatenate(values)[place, rows.truth] for name, values in found.items()}


def rows_by_group(by: RowKeys | None, at: Ints) -> Iterator[tuple[Key, Ints]]:
    """Give the groups that have some of the rows, in their order, and the places of their rows among these."""
    if by is None:
        return
    found = {key: rows for key, rows in replace(by, group=by.group[at]).groups() if rows.size}
    for key in in_order([*found]):
        yield key, found[key]


def _reference_text(settings: SkillSettings, pairing: Pairing) -> str:
    if pairing.climatology is not None:
        return f"the climatology by {', '.join(pairing.climatology.names)}"
    return "the base rate" if settings.reference == BASE_RATE else settings.reference


def _undefined(groups: Sequence[GroupSkill]) -> Iterator[str]:
    """Say where the reference is perfect, so that no skill is possible, and where it may be, so that any is."""
    name, by_rule = next(iter(groups[0].scores.items()))
    unlimited: dict[Key, None] = {}
    for rule in by_rule:
        found = [(group.key, group.scores[name][rule]) for group in groups]
        perfect = [key for key, each in found if each.reference_score == 0]
        if perfect:
            yield (
                f"the reference's {rule_text(rule)} is 0 in {_where(perfect)}, such as where only one class is"
                " observed: the skill score is undefined there"
            )
        some = [(key, each.interval.low) for key, each in found if math.isfinite(each.skill + each.p_value)]
        unlimited |= dict.fromkeys(key for key, low in some if math.isnan(low))
    if unlimited:
        yield (
            f"no interval of the skill in {_where([*unlimited])}: the reference's mean score rests on few rows and may"
            " be near 0 there, so that the skill may be as low as you like; the p-value holds. Join such groups"
        )


def _where(keys: Sequence[Key]) -> str:
    return "all rows" if keys[0] == () else number_of(len(keys), "group")


def _few_units(dependence: Dependence, groups: Sequence[tuple[Key, Ints]], n_rows: int) -> Iterator[str]:
    """Say in how many groups, or in all rows, intervals are approximate for want of independent rows."""
    what = "rows" if dependence.clusters is None else "clusters"
    places = [rows for _, rows in groups] or [np.arange(n_rows)]
    few = sum(dependence.at(rows).independent_units(rows.size) < _FEW for rows in places)
    if few:
        where = f" in {number_of(few, 'group')}" if groups else ""
        yield f"fewer than {_FEW} {what}{where}: intervals and p-values are approximate there"


def _few(pairing: Pairing, at: Ints) -> Iterator[str]:
    """Say where a climatology is fitted to few rows."""
    if pairing.climatology is None:
        return
    counts = np.bincount(pairing.climatology.group[at])
    counts = counts[counts > 0]
    if counts.min() < _FEW:
        yield (
            f"the climatology is fitted to the same rows, in the smallest of {number_of(counts.size, 'group')} to"
            f" {counts.min()}: the skill against it is too small there; name fewer groups"
        )
