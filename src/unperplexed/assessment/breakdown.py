"""assess_by(): an assessment of each group of rows beside that of the whole.

Groups of rows: which the cost comes from and which a remedy would help, of so many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args, overload

import numpy as np

from .._lib.arrays import check_indexes
from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of, printable, short_name
from .._lib.serialize import plain_values
from .._lib.typing import ByValue
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch
from ..calibration.estimators import Estimator
from ..calibration.undeclared import read_rows
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key, Value, columns_of, key_text, row_keys
from ..forecasts.reading import SEARCHED, AssessedReading, PredictiveOptions, is_predictive, reads
from ..pairing.skill_result import Skill
from ..report.numbers import share
from ..report.result import JsonResult, frame_like_input, frames_alike, frames_as_input, pictures
from ..statistics.empirical_bayes import FEWEST_GROUPS, pooled_variance, shrunk
from ..statistics.intervals import Metric, holm, simultaneous
from ..statistics.means import DEFAULT_FLOOR, Floor, t_quantile
from ..tally.tallies import MOST_GROUPS, Tallies, key_of
from ..tally.tally import Tally, View, refuse_rows
from .assess import diagnosed_rows, parts_for
from .group_figures import (
    MOST_DIAGNOSED,
    AssessedGroups,
    CountedGroups,
    GroupAssessment,
    RowsOfGroups,
    ShrunkenAccuracy,
    counted_groups,
)
from .remedy import Remedy
from .result import Assessment
from .risk_coverage import detections
from .settings import AssessmentSettings, AssessOptions, Auto, skill_against

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..forecasts.distributions.predictive import Predictive
    from .distribution_result import DistributionBreakdown
    from .distributions import DistributionSort
    from .validation import Validation

REMEDIED = 50
"""Groups up to which text and JSON have remedies unasked: a fit takes a tenth of a second or more."""

LEVEL = 0.05
"""Largest adjusted p-value of what is significant among groups."""

_COMMON = 0.8
"""Groups of whose cost all rows together have less have different errors, which cancel."""
_NAMED = 3
"""Groups that the sentence names."""
_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_SPREAD = 1.5
"""Groups that carry less than so many times their share of the rows do not stand out."""
_MOST = 0.5
"""Share of the cost from which on the groups that stand out, each by itself, make it uneven."""


class GroupRemedy(Frozen):
    """Recalibration of one group of rows, and whether its gain is significant among those of all groups."""

    key: Key
    """Values of the group in the columns that were grouped by."""
    remedy: Remedy = field(repr=False)
    """As ``Assessment.remedy`` of the group; the interval of its gain is of the group alone."""
    interval: tuple[float, float]
    """Simultaneous 95% confidence interval of the gain, for all groups that were diagnosed (Bonferroni)."""
    adjusted_p_value: float
    """p-value of the gain, adjusted in the same way: it is below 0.05 just where the interval excludes 0 below."""

    @property
    def p_value(self) -> float:
        """p-value of the gain, cross-fitted (two-sided)."""
        return self.remedy.gain.p_value

    @property
    def significant(self) -> bool:
        """Whether the remedy is advised and its adjusted p-value below 0.05."""
        return self.remedy.significant and self.adjusted_p_value < LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Give map, gain, its simultaneous interval and its p-values as plain Python values."""
        return {
            "map": self.remedy.map,
            "gain": plain_values(self.remedy.gain),
            "interval": list(self.interval),
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "significant": self.significant,
        }


def group_remedies(groups: Sequence[GroupAssessment]) -> dict[Key, GroupRemedy]:
    """Find the remedies of groups; one that was diagnosed and has none counts as looked at, with a p-value of 1."""
    diagnosed = [group for group in groups if group.diagnosis.made]
    remedies = [group.assessment.remedy for group in diagnosed]
    p = np.array([1.0 if remedy is None else remedy.gain.p_value for remedy in remedies])
    adjusted, level = simultaneous(p, 1 - LEVEL)
    return {
        group.key: GroupRemedy(group.key, remedy, remedy.gain.interval_at(level), each)
        for group, remedy, each in zip(diagnosed, remedies, adjusted.tolist(), strict=True)
        if remedy is not None
    }


class CostShare(Frozen):
    """Part of the total cost of miscalibration that one group carries."""

    share: float
    """The group's cost times its rows' weight, divided by the sum over all groups; the shares add up to 1. NaN where
    there is no diagnosis, and where nothing costs anything."""
    row_share: float
    """The group's share of the weight of all rows: what ``share`` would be if all rows cost the same."""
    p_value: float
    """p-value of the group's test of miscalibration, certain rows included, with an allowance for few rows; NaN where
    no diagnosis could be made."""
    adjusted_p_value: float
    """Adjusted for the number of groups that were tested (Holm)."""

    @property
    def significant(self) -> bool:
        """Whether the group is miscalibrated beyond what the best of so many calibrated groups may seem to be."""
        return self.adjusted_p_value < LEVEL


def cost_shares(groups: Sequence[GroupAssessment]) -> dict[Key, CostShare]:
    """Share the total cost among the groups, and adjust the p-values of their tests."""
    weight = np.array([group.weight for group in groups], dtype=np.float64)
    cost = weight * np.array([group.cost for group in groups])
    total = float(np.nansum(cost))
    shares = cost / total if total > 0 else np.full(weight.size, math.nan)
    p = np.array([group.p_value for group in groups], dtype=np.float64)
    columns = shares, weight / weight.sum(), p, holm(p)
    return {
        group.key: CostShare(*map(float, values))
        for group, values in zip(groups, zip(*columns, strict=True), strict=True)
    }


def drivers_text(
    found: dict[Key, CostShare], whole: GroupAssessment, groups: Sequence[GroupAssessment], by: Sequence[str]
) -> str:
    """Say which groups the cost comes from, beyond chance, and what to do; "" where there is nothing to compare.

    Parameters
    ----------
    found : dict of tuple to CostShare
        Share of each group, by key.
    whole : GroupAssessment
        All rows.
    groups : sequence of GroupAssessment
        The groups.
    by : sequence of str
        Names of the columns that they are grouped by.
    """
    tested = sum(not math.isnan(each.p_value) for each in found.values())
    if len(found) < 2 or not tested:
        return ""
    all_of_them = number_of(tested, "group")
    named = sorted((key for key, each in found.items() if each.significant), key=lambda key: -found[key].share)
    if any(math.isnan(found[key].share) for key in named):  # errors that no map mends
        return ""
    adjusted = f"p-values Holm-adjusted for {all_of_them}"
    if not named:
        return f"No group drives the cost: in none is there evidence of miscalibration ({adjusted})."
    cost, rows = (sum(getattr(found[key], name) for key in named) for name in ("share", "row_share"))
    all_named, alone, columns = len(named) == tested, len(named) == 1, ", ".join(map(printable, by))
    if not cost > 0:
        unnamed = ", ".join(short_name(key_text(key, by)) for key in named[:_NAMED])
        return f"Miscalibrated, but by none of the named errors: {unnamed} ({adjusted})."
    first = [short_name(key_text(key, by)) + f" ({share(found[key].share)})" * (not alone) for key in named[:_NAMED]]
    listed = ", ".join(first) + (f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else "")
    many = _WORDS[len(named)] if len(named) < len(_WORDS) else f"{len(named):,}"
    carried = (
        f"All {all_of_them} by {columns} are miscalibrated; their shares of the groups' cost: {listed} ({adjusted})."
        if all_named
        else f"{many} of {all_of_them} by {columns} {'carries' if alone else 'carry'} {share(cost)} of the"
        f" groups' cost, with {share(rows)} of all rows: {listed} ({adjusted})."
    )
    total = float(np.nansum([group.weight * group.cost for group in groups]))
    out = sum(found[key].share for key in named if found[key].share >= _SPREAD * found[key].row_share)
    even = cost < _SPREAD * rows and out < _MOST * cost
    if even and total > 0 and whole.weight * whole.cost > _COMMON * total:
        return f"{carried} Their rows explain about as much: recalibrate all rows together first."
    if all_named:
        return f"{carried} Their errors differ: recalibrate each group by itself."
    one = "this group by itself" if alone else "these groups by themselves"
    return f"{carried} Recalibrate {one} first; in the others there is no such evidence."


PlotKind = Literal["auto", "reliability", "findings", "two-way"]

Sort = Literal["geometric_accuracy", "cost", "prediction_accuracy", "rows", "group"]


class Shrinkage(ByValue):
    """How far the geometric accuracies of groups are shrunk towards each other, on the log scale."""

    centre: float
    """Geometric accuracy towards which the groups are shrunk: that of the whole where they do not differ at all."""
    between: float
    """Standard deviation of the groups' true log accuracies, as estimated. 0 where chance explains all differences."""
    within: float
    """Standard deviation of the log score of single rows of a group."""
    confidence: float
    """Confidence level of the intervals."""


_DETECTED = 20
"""Groups that are told from all others."""

_SORTS: dict[Sort, Callable[[GroupAssessment], tuple[float, ...]]] = {
    "geometric_accuracy": lambda group: (
        (group.shrunken or group).geometric_accuracy,
        group.geometric_accuracy,  # shrunk, all are equal where groups do not differ
    ),
    "cost": lambda group: (-group.cost,),
    "prediction_accuracy": lambda group: (group.prediction_accuracy,),
    "rows": lambda group: (-group.n_rows,),
    "group": lambda _: (0.0,),
}
"""What is lowest for the group that comes first; what follows decides between equal ones."""


class Breakdown(JsonResult):
    """An assessment of each group of rows, the worst first, beside that of all rows. Made by `assess_by`.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.frame()``, ``.to_dict()`` or ``.to_json()``, or look
    at a group: ``breakdown["2022"]`` is its `Assessment`.
    """

    by: tuple[str, ...]
    """Names of the columns."""
    whole: Assessment
    """Assessment of all rows, whichever group they are in."""
    groups: tuple[GroupAssessment, ...]
    sort: Sort
    """What the groups are sorted by."""
    small_last: bool
    """Whether small groups stand behind all others, since chance alone sets them first or last."""
    empty: tuple[Key, ...]
    """Groups without a row to assess: all were left out, or have weight 0."""
    shrinkage: Shrinkage | None
    """How the groups were shrunk, where that was asked for."""
    skill: Skill | None = None
    """Skill scores of all rows and of each group against a reference, where one was named."""

    @property
    def total(self) -> GroupAssessment:
        """All rows as one group, whose key is ()."""
        a = self.whole
        total = GroupAssessment.of((), a.source.tally, a.floor, a.limit, AssessedGroups({(): a}))
        return frames_alike(total, self)

    @cached_property
    def remedies(self) -> dict[Key, GroupRemedy]:
        """Groups that recalibration may help, by key, with p-values and intervals for all groups together (Bonferroni).

        Made when first asked for. For more than two classes, and for clusters of dependent rows, they take the rows:
        arrays, or files at the command line; the counts of tallies do not suffice.
        """
        return group_remedies(self.groups)

    @cached_property
    def cost_shares(self) -> dict[Key, CostShare]:
        """Share of each group in the total cost of miscalibration, by key, and whether it is beyond chance (Holm).

        None is known where there are too many groups to diagnose each.
        """
        return cost_shares(self.groups) if self.diagnosed else {}

    @cached_property
    def detection(self) -> dict[Key, Metric]:
        """How well a low top probability tells the rows of each group from all others, by key: the AUROC.

        Such as rows of another distribution (out-of-distribution detection). Larger is better; 0.5 is chance. Empty
        with more than 20 groups.
        """
        if len(self) > _DETECTED:
            return {}
        tallies = [group.assessment.source.tally for group in self.groups]
        found = detections(tallies, self.whole.source.sampling.confidence)
        return dict(zip((group.key for group in self.groups), found, strict=True))

    @property
    def drivers(self) -> str:
        """Which groups the cost of miscalibration comes from, and what to do about it; "" where nothing tells."""
        return drivers_text(self.cost_shares, self.total, self.groups, self.by)

    @property
    def diagnosed(self) -> bool:
        """Whether each group is diagnosed: there are at most 1,000. Of more ``breakdown["group"]`` is, if asked for."""
        return len(self) <= MOST_DIAGNOSED

    @cached_property
    def validation(self) -> Validation:
        """``Assessment.validation`` of all rows, O/E, slope and intercept of each group, and their random effects."""
        from .validation import validated_clusters

        return validated_clusters(self)

    def with_whole(self, whole: Assessment) -> Breakdown:
        """Return the same with another assessment of all rows."""
        return replace(self, whole=whole)

    def __len__(self) -> int:
        """Count the groups."""
        return len(self.groups)

    def __getitem__(self, key: Any) -> Assessment:
        """Assessment of a group: by its value, or by a tuple with one for each column."""
        found = key_of(key)
        for group in self.groups:
            if group.key == found:
                return group.assessment
        raise KeyError(key)

    def frame(self) -> Any:
        """Give the groups as a data frame (pandas for pandas, else polars), one row a group in the order of ``groups``.

        Columns: those grouped by; how many rows there are, the verdict on them, their effective sample size,
        and whether they are few; the standard error of the reported geometric accuracy and, if asked for, its
        shrunken value; the cost of miscalibration, and the fields of `CostShare`; the metrics of
        ``Assessment.metrics()``, and standard errors of the scores. Of more than 1,000 groups it has only what is
        known of all: rows, accuracies and whether they are few; with clusters, standard errors are then NaN.
        """
        import polars as pl

        metrics = [self._metrics(group) for group in self.groups]
        named = [name if name not in metrics[0] else f"by_{name}" for name in self.by]
        keys = {name: _one_type([group.key[at] for group in self.groups]) for at, name in enumerate(named)}
        return frame_like_input(self, pl.DataFrame(keys).hstack(pl.DataFrame(metrics)))

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values; of each group what `frame` has, not its whole assessment."""
        remedies = self.remedies if len(self) <= REMEDIED else {}
        return {
            "by": list(self.by),
            "sort": self.sort,
            "whole": self.whole.to_dict(),
            "drivers": self.drivers,
            "detection": [
                {"key": self._named(key), **plain_values(each._asdict())} for key, each in self.detection.items()
            ],
            "groups": [{"key": self._named(group.key), **self._metrics(group)} for group in self.groups],
            "remedies": [{"key": self._named(key), **each.to_dict()} for key, each in remedies.items()],
            "empty": [self._named(key) for key in self.empty],
            "shrinkage": plain_values(self.shrinkage),
            "skill": plain_values(self.skill),
        }

    def _metrics(self, group: GroupAssessment) -> dict[str, Any]:
        """Give a group's metrics, its share of the cost behind the cost; of very many groups what is known of all."""
        if not self.diagnosed:
            return group.headline()
        found = plain_values(self.cost_shares[group.key])
        return group.metrics({"cost_share": found.pop("share"), **found})

    def _named(self, key: Key) -> dict[str, Value]:
        return dict(zip(self.by, key, strict=True))

    def plot(self, figure: Figure | None = None, *, kind: PlotKind = "auto", most: int = 12) -> Figure:
        """Draw the groups' reliability diagrams beside one another, or what was found in each.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Where to draw; a new figure of the size needed by default.
        kind : {"auto", "reliability", "findings", "two-way"}, default "auto"
            "reliability": a small diagram for each group, in the order of ``groups``. "findings": a heat map with a row
            for each of the first 30 groups and a column for each kind of error, in which darker cells cost more.
            "two-way": a heat map of groups by two columns, the first down and the second across. "auto": two-way
            where it can be drawn, else reliability.
        most : int, default 12
            Number of diagrams to draw at most; a line below states how many groups there are.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; each diagram has the group's name, number of rows and verdict above it.

        Raises
        ------
        InputError
            For an unknown kind, for `most` below 1, and for a breakdown without groups.
        """
        return pictures(self, figure, most, kind)

    def __repr__(self) -> str:
        """Name it in one line."""
        by = short_name(", ".join(self.by))
        return f"<Breakdown of {number_of(self.whole.n_rows, 'forecast')} into {number_of(len(self), 'group')} by {by}>"


@overload
def assess_by(
    y_true: Any,
    y_prob: Predictive,
    *,
    by: Any,
    sort: DistributionSort = "group",
    **options: Unpack[PredictiveOptions],
) -> DistributionBreakdown: ...
@overload
def assess_by(
    y_true: Any,
    y_prob: Any = None,
    *,
    by: Any = None,
    sort: Sort = "geometric_accuracy",
    shrink: bool = False,
    most_groups: int = MOST_GROUPS,
    **options: Unpack[AssessOptions],
) -> Breakdown: ...
@frames_as_input
@reads(AssessedReading, SEARCHED)
def assess_by(
    y_true: Any,
    y_prob: Any = None,
    *,
    by: Any = None,
    sort: Any = "geometric_accuracy",
    shrink: bool = False,
    most_groups: int = MOST_GROUPS,
    reference: Any = None,
    metrics: Sequence[str] = (),
    measured: str | Estimator = "shrunk-isotonic",
    view: View | Auto = "auto",
    floor: Floor = DEFAULT_FLOOR,
    confidence: float = 0.95,
    resamples: int = 400,
    seed: int = 0,
    **reading: Unpack[AssessedReading],
) -> Any:
    """Assess each group of rows, and all rows together: where is it worst?

    Returns a `Breakdown`: one `GroupAssessment` for each group, the worst
    first. Larger geometric accuracy and smaller cost are better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tallies
        Outcomes, as in `assess`. Or `Tallies`, which already contain forecasts
        and outcomes by group; then the arguments that concern the reading of
        rows are not accepted.
    y_prob : array_like of shape (n,) or (n, C), or a data frame
        Reported probabilities, or predictive distributions, as in `assess`.
    by : array_like of shape (n,), mapping from name to such, or data frame
        Which group each row is in: numbers, texts or dates, of one column or
        several. 3, 3.0, "3", "3.0" are the same group. Rows without a value,
        None, NaN or "", are a group of their own, None.
    sort : str, default "geometric_accuracy"
        Which groups come first: "geometric_accuracy" the lowest predicted
        geometric accuracy (as shrunk, with ``shrink``), "cost" the highest cost
        of miscalibration, "prediction_accuracy" the lowest accuracy, "rows" the
        most rows, "group" the first by name. With the first three, small groups
        stand behind all others, because chance makes the extremes there; by
        shrunken accuracies they need not. Predictive distributions are sorted
        by name by default; or by the most "rows", the highest "cost" or
        "score", the "coverage", "bias" or "width" that is farthest from the
        best, or the least "skill".
    shrink : bool, default False
        Also give geometric accuracies shrunk towards what all groups have in
        common, the more the fewer rows a group has. It takes at least four
        groups.
    most_groups : int, default 200,000
        More groups than this are refused.
    reference, metrics, measured, view, floor, confidence, resamples, seed
        As in `assess`.
    **reading
        How rows are read, as in `assess`; the classes are those of all rows
        together, and so are the clusters that are found where none are
        declared.

    Returns
    -------
    Breakdown
        For predictive distributions, a `DistributionBreakdown`, which ``shrink``
        does not concern.

    Raises
    ------
    InputError
        As `assess`; for columns of other lengths than the forecasts, for too
        many groups, and for groups that cannot be shrunk.

    Notes
    -----
    Rows are read in one pass. Of more than 1,000 groups none is diagnosed by
    itself, which takes a millisecond for each and thirty where something is
    wrong; ``breakdown["group"]`` makes the assessment of one. Groups are shrunk
    on the log scale by the credibility estimator of Bühlmann and Straub (1970),
    empirical Bayes with the between-group variance of DerSimonian and Laird
    (1986), with errors after Morris (1983). A group is marked as small after
    the rule that assessing calibration takes at least 100 events and 100
    non-events (Vergouwe et al. 2005).

    Examples
    --------
    >>> from unperplexed import assess_by
    >>> y, p = [1, 0, 1, 1] * 100, [0.8, 0.3, 0.6, 0.4] * 100
    >>> result = assess_by(y, p, by=["sun", "sun", "moon", "moon"] * 100)
    >>> print(result["moon"].verdict)
    Underpredicts '1' (mean prediction 50.0%, observed frequency 100.0%).
    >>> [group.key for group in result.groups]
    [('moon',), ('sun',)]
    >>> result["sun"].prediction_accuracy
    1.0
    """
    if is_predictive(y_prob):
        from ..pairing.distribution_skill import DistributionSettings
        from .distributions import assess_distributions_by

        asked = DistributionSettings(reading, reference, metrics, confidence)
        return assess_distributions_by(y_true, y_prob, by, "group" if sort == "geometric_accuracy" else sort, asked)
    settings = AssessmentSettings(floor, measured, view, None, confidence, resamples, seed, metrics)
    if isinstance(y_true, Tallies):
        refuse_rows({"y_prob": y_prob, "by": by, "reference": reference, "metrics": metrics, **reading})
        return broken_down(y_true, sort, shrink, settings)
    if isinstance(y_true, Tally) or y_prob is None or by is None:
        raise InputError("assess_by takes outcomes, probabilities and by=, what to group them by; or Tallies.")
    by = columns_of(by)
    check_indexes(**{"y_true": y_true, "y_prob": y_prob, **{f"by[{name!r}]": column for name, column in by.items()}})
    forecasts, known, dependence = read_rows(y_true, y_prob, reading, by)
    parts = parts_for(settings.view, known.get("clusters"), known.get("sample_weight"))
    counting = {"metrics": metrics, "parts": parts, "diagnosed": 0}
    tallies = Tallies.count([(forecasts, by)], most_groups=most_groups, **counting)
    by_rows = forecasts.n_classes > 2 or forecasts.clustered
    rows = _rows_by_group(forecasts, by) if by_rows else None
    skill = skill_against(reference, forecasts, settings, y_true, known, by, dependence)
    return replace(broken_down(tallies, sort, shrink, settings, dependence, rows), skill=skill)


def _rows_by_group(forecasts: Forecasts, by: Any) -> RowsOfGroups:
    places = dict(row_keys(by, forecasts.n_rows).groups())
    return RowsOfGroups(lambda key: forecasts[places[key]] if key else forecasts, diagnosed_rows)


def broken_down(
    tallies: Tallies,
    sort: Sort,
    shrink: bool,
    settings: AssessmentSettings,
    dependence: DependenceSearch = OF_A_TALLY,
    rows: RowsOfGroups | None = None,
) -> Breakdown:
    """Assess what tallies have counted, group by group.

    Parameters
    ----------
    tallies : Tallies
        Counts of each group.
    sort : str
        What the groups are sorted by, as in `assess_by`.
    shrink : bool
        Whether geometric accuracies are shrunk as well.
    settings : AssessmentSettings
        How each group is assessed.
    dependence : DependenceSearch, optional
        What was found of the dependence of all rows.
    rows : RowsOfGroups, optional
        Rows, where they are in memory.

    Returns
    -------
    Breakdown

    Raises
    ------
    InputError
        For a tally without weight, for groups that cannot be shrunk, and for too many to be sorted by cost.
    """
    check_choice("sort", sort, get_args(Sort))
    waiting = tallies.rows()
    counted = CountedGroups(tallies, settings, dependence, rows, waiting)
    whole, groups = counted.assessment(()), counted_groups(counted, waiting)
    seen = {group.key for group in groups}
    empty = tuple(key for key in tallies if key not in seen)
    if sort == "cost" and len(groups) > MOST_DIAGNOSED:
        raise InputError(
            f"sort (--sort): the cost is found for up to {MOST_DIAGNOSED:,} groups, here {len(groups):,}. Choose"
            " another order, or group by what has fewer values."
        )
    groups, shrinkage = _shrunken(groups, settings.confidence) if shrink else (groups, None)
    small_last = sort in ("cost", "prediction_accuracy") or (sort == "geometric_accuracy" and not shrink)

    def place(group: GroupAssessment) -> tuple[bool, bool, tuple[float, ...]]:
        value = _SORTS[sort](group)
        return math.isnan(value[0]), small_last and group.small, value

    groups.sort(key=place)  # stable: ties stay in the keys' order
    return Breakdown(tallies.by, whole, tuple(groups), sort, small_last, empty, shrinkage)


def with_shrinkage(b: Breakdown) -> Breakdown:
    """Give also accuracies shrunk towards all groups, in the order as it is; unchanged where too little is known.

    With clusters the errors of very many groups would take an assessment of each.
    """
    if not b.diagnosed and b.whole.source.tally.clustered:
        return b
    try:
        groups, shrinkage = _shrunken([*b.groups], b.whole.source.sampling.confidence)
    except InputError:
        return b
    return replace(b, groups=tuple(groups), shrinkage=shrinkage)


def _shrunken(groups: list[GroupAssessment], confidence: float) -> tuple[list[GroupAssessment], Shrinkage]:
    """Shrink log scores, whose means are those that chance scatters alike on both sides."""
    if len(groups) < FEWEST_GROUPS:
        raise InputError(
            f"shrink: takes at least {FEWEST_GROUPS} groups, here {len(groups)}; too few to say how much groups differ."
        )
    accuracy = np.array([group.geometric_accuracy for group in groups])
    if not accuracy.all():
        raise InputError("shrink: a group has a geometric accuracy of 0; give a floor above 0.")
    size = np.array([group.effective_rows for group in groups])
    error = np.array([group.standard_error for group in groups]) / accuracy
    within = pooled_variance(error, size)
    if math.isnan(within):
        raise InputError(
            "shrink: all groups are of one row each; how much the rows of a group differ is unknown. Use larger groups."
        )
    error = np.where(np.isnan(error), np.sqrt(within / size), error)  # where all rows depend on one another
    found = shrunk(np.log(accuracy), error, size, within)
    reach = t_quantile(confidence, np.inf) * found.standard_error
    low, high = (np.minimum(np.exp(found.mean + side * reach), 1.0) for side in (-1, 1))
    values = zip(np.exp(found.mean), low, high, found.own_share, strict=True)
    shrunken = [
        replace(group, shrunken=ShrunkenAccuracy(*map(float, value)))
        for group, value in zip(groups, values, strict=True)
    ]
    return shrunken, Shrinkage(math.exp(found.centre), math.sqrt(found.between), math.sqrt(within), confidence)


def _one_type(values: list[Value]) -> list[Value]:
    """Values of one column as a frame can hold them: all numbers, all booleans, or else texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) < 2 and all(not isinstance(value, int) or abs(value) < 1 << 63 for value in values):
        return values
    return [None if value is None else str(value) for value in values]
