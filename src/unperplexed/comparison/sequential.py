"""Two forecasters compared while rows come in: limits and e-values that hold at every row, so that one may watch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

import numpy as np

from .._lib.arrays import by_forecaster, check_indexes
from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from .._lib.formatting import number_of, short_name
from .._lib.typing import Floats, Ints, ReadOnlyArrays
from .._version import __version__
from ..assessment.distribution_result import DistributionAssessment
from ..assessment.flat import NamedMetric
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..forecasts.reading import Reading, reads
from ..pairing.rows import Chunk, Chunks, Pair, PairedRows, Pairing, parts_of, read_paired
from ..report.result import DrawnResult, frame_like_input, frames_as_input
from ..scores.rules import Score, score_named, scores_by_outcome
from ..statistics.intervals import Interval, alpha_of, checked_sampling
from ..statistics.many_looks import PRIOR_CLUSTERS, PRIOR_ROWS, Spread, evidence
from ..statistics.means import DEFAULT_FLOOR, Floor, check_floor, floor_for, t_quantile
from ..tally.tags import refuse_as_earlier
from .result import Comparison, Difference


class SequentialComparison(ReadOnlyArrays, DrawnResult):
    """Which of two forecasters is better, after each row. Made by `compare_sequentially`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    first: str
    second: str
    score: str
    """Name of the scoring rule."""
    larger_is_better: bool
    """Whether larger scores are the better ones."""
    difference: Floats
    """Mean score of the first minus that of the second, over the rows up to each."""
    low: Floats
    high: Floats
    """Limits of the mean difference to be expected over the same rows. All hold together with that confidence."""
    e_first: Floats
    e_second: Floats
    """e-value for the first, or the second, being better on average. Larger says so more clearly; 1 says nothing."""
    decided_after: int | None
    """How many rows it took until 0 was outside the limits; None if it never was."""
    better: str | None
    """Who was better when it was decided."""
    n_rows: int
    n_classes: int
    labels: tuple[Label | None, ...]
    confidence: float
    """1 minus the largest probability of a false alarm, however long one watches."""
    floor: float | None
    """What probabilities were raised to in a surprisal such as the log loss; None for the other scores."""
    notes: dict[str, Notes]
    """What was left out or rescaled on the way in, by forecaster."""
    version: str = __version__

    @property
    def interval(self) -> Interval:
        """Limits of the mean difference to be expected, after all rows."""
        return Interval(float(self.low[-1]), float(self.high[-1]))

    @property
    def second_ahead(self) -> bool:
        """Whether the second has the better mean score over all rows."""
        difference = float(self.difference[-1])
        return difference != 0 and (difference < 0) == self.larger_is_better

    @property
    def better_now(self) -> str | None:
        """Who is better by the limits after all rows; None where 0 is within them."""
        low, high = self.interval
        if low <= 0 <= high:
            return None
        return self.first if (low > 0) == self.larger_is_better else self.second

    def frame(self) -> Any:
        """Give one row a row of the input (pandas for pandas, else polars): rows, difference, limits and e-values."""
        columns = ("difference", "low", "high", "e_first", "e_second")
        rows = {"rows": np.arange(1, self.n_rows + 1)}
        return frame_like_input(self, {**rows, **{name: getattr(self, name) for name in columns}})

    def __repr__(self) -> str:
        """Name it in one line."""
        names = f"{short_name(self.first)} and {short_name(self.second)}"
        return f"<SequentialComparison of {names} over {number_of(self.n_rows, 'row')}>"


@frames_as_input
@reads(Reading)
def compare_sequentially(
    y_true: Any,
    forecasts: Mapping[str, Any],
    *,
    metric: str = "brier_score",
    floor: Floor = DEFAULT_FLOOR,
    confidence: float = 0.95,
    **reading: Unpack[Reading],
) -> SequentialComparison:
    """Compare two forecasters while outcomes arrive, and stop when you like.

    Returns a `SequentialComparison`. Print it, or read ``better`` (None until
    it is decided) and ``decided_after``; smaller scores are better. A test for
    a fixed number of rows raises false alarms if you look again and again. Here
    the probability of ever calling the worse forecaster better is at most
    ``1 - confidence``, however often you look and whenever you stop. Nothing is
    assumed about the outcomes: they may depend on one another and change over
    time.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: class labels (ints, bools, strings) or one-hot rows.
    forecasts : mapping of str to array_like (n,) or (n, C), or a data frame
        Reported probabilities of exactly two forecasters, by name; of a data
        frame its two columns. Rows are in the order in which they came, and
        both forecasts of a row were made before its outcome was known.
    metric : str, default "brier_score"
        Name of the scoring rule, as in `score_named`.
    floor : float or "auto", default "auto"
        In the log loss, the penalized log loss and generalized surprisals,
        lower probabilities are clipped to it; "auto" as in `assess`. 0 is
        allowed if no class is ever assigned 0.
    confidence : float, default 0.95
        1 minus the largest probability of a false alarm, in (0, 1).
    **reading
        How rows are read, the same for both, as in `assess`: ``labels``,
        ``pos_label``, ``ignore_label``, ``scale``, ``invalid``, of which "drop"
        leaves out, for both, rows without an outcome and rows that are invalid
        for one, as ``notes`` report.

    Returns
    -------
    SequentialComparison
        After each row ``difference``, its limits ``low`` and ``high``, and the
        e-values ``e_first`` and ``e_second``; ``decided_after`` and ``better``;
        ``frame()`` and ``plot()``.

    Raises
    ------
    InputError
        For invalid input, with the forecaster, the rows (counted from 0) and
        the remedy; for a number of forecasters other than two; for a score that
        would be infinite for a class with probability 0.

    Notes
    -----
    With d the differences in score and m their means given all that was known
    before the row's outcome, both forecasts included, the limits are of the
    average of m over the rows so far. For rates b_k with weights w_k, ::

        W_t(s) = sum_k w_k prod_i (1 + b_k (d_i - c_ik)) exp(b_k (sum_i c_ik - s))

    is at s = m_1 + ... + m_t a wealth that starts at 1 and is expected never to
    grow. The lower limit is the s with W_t(s) = 2/(1 - confidence), divided by
    t; the upper one mirrors it; the e-values are W_t(0). The centre c_ik is the
    mean of the earlier differences, brought between the least and the greatest
    difference that the row's two forecasts allow, and low enough for the
    product to stay positive. The setting is that of Choe and Ramdas (2024), the
    bets are after Waudby-Smith and Ramdas (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import compare_sequentially
    >>> rng = np.random.default_rng(0)
    >>> new = rng.uniform(size=2000)
    >>> rain = rng.uniform(size=2000) < new
    >>> old = np.clip(1.5 * new - 0.25, 0, 1)
    >>> result = compare_sequentially(rain, {"old": old, "new": new})
    >>> print(result.to_text().splitlines()[0])
    new has the smaller Brier score (decided after 386 rows).
    >>> result.better, result.decided_after
    ('new', 386)
    """
    check_indexes(y_true=y_true, forecasts=forecasts)
    forecasts = by_forecaster(y_true, forecasts)
    names = {str(name) for name in forecasts} if isinstance(forecasts, Mapping) else set()
    if len(names) != 2:
        what = f"{len(names)} names" if names else type(forecasts).__name__
        raise InputError(
            f"forecasts: expected two forecasters as {{name: probabilities, name: probabilities}}, got {what}."
            f" {_TWO_BY_TWO}"
        )
    settings = SequentialSettings(metric, confidence, floor)
    parts = parts_of({str(name): y_prob for name, y_prob in forecasts.items()}, y_true, reading)
    in_order = Pairing({part.name: np.arange(part.forecasts.n_rows) for part in parts})
    return compared_sequentially(lambda: parts, lambda _: in_order, settings)


_TWO_BY_TWO = "Compare more of them two by two, each at a confidence of 1 minus 0.05 / number of pairs."


class SequentialSettings(Frozen):
    """How two forecasters are compared: the arguments of `compare_sequentially` that concern it."""

    score: str = "brier_score"
    confidence: float = 0.95
    floor: Floor = DEFAULT_FLOOR

    def __post_init__(self) -> None:
        """Refuse what no comparison can be made with, before any row is read."""
        check_floor(self.floor)
        score_named(self.score)
        checked_sampling(self.confidence, 0, 0)


def compared_sequentially(parts: Chunks, pair: Pair, settings: SequentialSettings) -> SequentialComparison:
    """Read the rows of two forecasters once to pair them and again to compare them."""
    score = score_named(settings.score)
    read = read_paired(parts, pair, [score], settings.floor)
    if len(read.rows) != 2:
        raise InputError(
            f"two forecasters are compared one row after another, here are {len(read.rows)}. {_TWO_BY_TWO}"
        )
    first, second = read.rows
    floor = floor_for(settings.floor, len(read.rows[first].labels))
    d, lowest, highest = _differences(parts(), read, score, floor)
    log_limit = math.log(2 / alpha_of(settings.confidence))
    log_above, low = evidence(d, lowest, highest, log_limit)
    log_below, minus_high = evidence(-d, -highest, -lowest, log_limit)
    log_first, log_second = (log_above, log_below) if score.larger_is_better else (log_below, log_above)
    decided = np.flatnonzero(np.maximum(log_first, log_second) > log_limit)[:1].tolist()
    with np.errstate(over="ignore"):  # infinite is what an e-value past all floats may be called
        e_first, e_second = np.exp(log_first), np.exp(log_second)
    return SequentialComparison(
        first=first,
        second=second,
        score=score.name,
        larger_is_better=score.larger_is_better,
        difference=np.cumsum(d) / np.arange(1, d.size + 1),
        low=low,
        high=-minus_high,
        e_first=e_first,
        e_second=e_second,
        decided_after=decided[0] + 1 if decided else None,
        better=(first if log_first[decided[0]] > log_limit else second) if decided else None,
        n_rows=d.size,
        n_classes=len(read.rows[first].labels),
        labels=read.rows[first].labels,
        confidence=float(settings.confidence),
        floor=float(floor) if score.surprisal else None,
        notes=read.notes,
    )


def _differences(parts: Iterable[Chunk], read: PairedRows, score: Score, floor: float) -> tuple[Floats, Floats, Floats]:
    """Score of the first minus that of the second, row by row, with its smallest and largest possible values."""
    (first, one), (second, _) = read.rows.items()
    columns = {name: [rows.labels.index(label) for label in one.labels] for name, rows in read.rows.items()}
    places = {name: _places(rows.position) for name, rows in read.rows.items()}
    by_class = np.zeros((read.at.size, len(one.labels)))
    with np.errstate(invalid="ignore"):  # the difference of two infinite scores is refused below
        for part in parts:
            for block in part.forecasts.blocks():
                at = places[part.name](part.positions(block))
                scores = scores_by_outcome(score, block[at >= 0], floor)[:, columns[part.name]]
                by_class[at[at >= 0]] += scores if part.name == first else -scores
    infinite = np.flatnonzero(~np.isfinite(by_class).all(axis=1))
    if infinite.size:
        remedy = "a floor above 0 (--floor)" if score.surprisal else "a score without infinity, such as 'brier_score'"
        raise InputError(
            f"score: {score.name} can become infinite where a class was assigned 0, as by {first!r} or {second!r} in"
            f" {read.pairing.named(read.at[infinite])}; take {remedy}."
        )
    happened = np.take_along_axis(by_class, one.truth[:, None], axis=1)[:, 0]
    return happened, by_class.min(axis=1), by_class.max(axis=1)


def _places(position: Ints) -> Callable[[Ints], Ints]:
    """Find at which place of the pairing rows of these numbers are; -1 for those that are not paired."""
    place = np.full(position.max() + 2, -1)
    place[position] = np.arange(position.size)
    return lambda rows: place[np.minimum(rows, place.size - 1)]


PREFIX = "change."
"""Begins the names of changes: "change.log_loss" is that of the log loss, now minus before."""


def changes_of_samples(now: Any, before: Any) -> dict[str, NamedMetric]:
    """Give the change of each mean score between two independent samples, with Welch's confidence interval.

    Parameters
    ----------
    now, before : Assessment or DistributionAssessment
        Assessments of different rows; the interval has the confidence level of ``now``.

    Returns
    -------
    dict of str to NamedMetric
        By ``"change.log_loss"`` and so on: now minus before.

    Raises
    ------
    InputError
        For other classes, or another form of predictive distributions; for tallies whose tags say that the data
        differ, or that a period and model are in both.

    Examples
    --------
    >>> from unperplexed import assess
    >>> from unperplexed.comparison.sequential import changes_of_samples
    >>> before, now = assess([1, 0] * 50, [0.8, 0.2] * 50), assess([1, 0] * 50, [0.7, 0.4] * 50)
    >>> round(changes_of_samples(now, before)["change.log_loss"].value, 3)
    0.211
    """
    confidence, found = _refuse_unlike(now, before), {}
    for name in now.scores.keys() & before.scores.keys():
        (mean, *first), (earlier, *second) = (_mean_score(each, name) for each in (now, before))
        parts, value = (first, second), mean - earlier
        variance = math.fsum(error**2 for error, _ in parts)
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


def _refuse_unlike(now: Any, before: Any) -> float:
    """Refuse earlier forecasts whose scores are of another kind; return the confidence level."""
    if isinstance(now, DistributionAssessment):
        if now.scores and now.form == getattr(before, "form", ""):
            return now.confidence
        alike = "a change of scores is between predictive distributions of the same form that have scores."
        raise InputError(f"earlier (--earlier): not by {now.form} as these; {alike}")
    if now.labels != (labels := getattr(before, "labels", ())):
        raise InputError(
            f"earlier (--earlier): its classes are {list(labels)}, not {list(now.labels)}; a change"
            " of scores is between forecasts of the same classes."
        )
    refuse_as_earlier(now.source.tally.tags, before.source.tally.tags)
    return float(now.source.sampling.confidence)


def _mean_score(a: Any, name: str) -> tuple[float, float, float]:
    """Give a mean score, its standard error and its degrees of freedom."""
    if isinstance(a, DistributionAssessment):
        return a.scores[name].value, a.scores[name].standard_error, math.nan if a.skill is None else a.skill.degrees
    return a.scores[name], a.score_standard_errors[name], a.independent_rows - 1


def changes_of_pairs(compared: Any, now: str) -> dict[str, NamedMetric]:
    """Give the change of each mean score between two forecasters of the same rows, with its paired interval.

    Parameters
    ----------
    compared : Comparison or DistributionComparison
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
    >>> from unperplexed.comparison.sequential import changes_of_pairs
    >>> forecasts = {"before": [0.8, 0.2] * 50, "now": [0.7, 0.4] * 50}
    >>> found = changes_of_pairs(compare([1, 0] * 50, forecasts), "now")
    >>> round(found["change.log_loss"].value, 3)
    0.211
    """
    names = list(compared.forecasters)
    if len(names) != 2 or now not in names:
        raise InputError(f"compared: expected two forecasters, one of them {now!r}, got {', '.join(names)}.")
    [other] = [name for name in names if name != now]
    pair = compared.between(now, other)
    if not isinstance(compared, Comparison):
        return {f"{PREFIX}{name}": NamedMetric(each.difference, each.interval) for name, each in pair.items()}
    units, prior = compared.independent_rows, PRIOR_ROWS if compared.n_clusters is None else PRIOR_CLUSTERS

    def metric(each: Difference) -> NamedMetric:
        judged = each.standard_error > 0 and not math.isnan(each.interval.low)
        spread = Spread(each.standard_error, units - 1, units, prior, each.skewness) if judged else None
        return NamedMetric(each.difference, each.interval, spread=spread)

    return {f"{PREFIX}{name}": metric(each) for name, each in pair.differences.items()}
