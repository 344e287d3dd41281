"""Skill scores of forecasters against a reference, for all rows and for groups: a frozen Skill. `skill` makes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .._lib.errors import check_choice
from .._lib.formatting import confidence_interval, number_of, p_value_text, short_name
from .._lib.typing import ByValue
from .._version import __version__
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch
from ..forecasts.forecasts import Notes
from ..forecasts.group_keys import Key
from ..forecasts.labels import Label
from ..report.numbers import between, number
from ..report.result import Axes, JsonResult, frame_like_input, picture
from ..scores.rules import LOG_LOSS, rule_at_floor
from ..statistics.intervals import Interval


class SkillScore(ByValue):
    """Skill score of one forecaster by one scoring rule: 1 is perfect, 0 as good as the reference. Larger is better."""

    skill: float
    """1 minus the ratio of ``score`` to ``reference_score``; NaN where the reference's mean score is 0."""
    interval: Interval
    """Fieller's, of paired rows, and simultaneous for all groups and forecasters that are tested by this rule: it
    excludes 0 just where ``adjusted_p_value`` is below 1 minus the confidence level."""
    p_value: float
    """Probability of a difference from the reference at least as large if the expected difference is 0 (two-sided)."""
    adjusted_p_value: float
    """The same, adjusted for all groups and forecasters that are tested by this rule (Bonferroni)."""
    score: float
    """Mean score of the forecaster. Smaller is better."""
    reference_score: float
    """Mean score of the reference on the same rows."""
    share: float
    """Share of these rows in the forecaster's total score over all rows: which groups the cost comes from."""


class GroupSkill(ByValue):
    """Skill scores for the rows of one group, or for all rows."""

    key: Key
    """Value of each column of ``by``; empty for all rows."""
    n_rows: int
    row_share: float
    """Share of the total weight of the rows."""
    scores: dict[str, dict[str, SkillScore]]
    """By the forecaster's name and the rule's."""


class Skill(JsonResult):
    """Skill scores against a reference with paired confidence intervals. Made by `skill`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    reference: str
    """What forecasts are compared with, in words."""
    whole: GroupSkill
    """All rows."""
    by: tuple[str, ...]
    """Names of the columns that make the groups."""
    groups: tuple[GroupSkill, ...]
    """The groups in their natural order; empty without ``by``."""
    n_rows: int
    """Rows that are valid for all forecasters."""
    n_classes: int
    labels: tuple[Label | None, ...]
    weighted: bool
    n_clusters: int | None
    """Number of clusters of dependent rows; None without them."""
    n_crossed_clusters: int | None
    """Number of clusters the other way, where rows that share one of two columns may depend on one another."""
    lag: int | None
    """How many places apart rows may depend on one another, within each group of ``by``."""
    n_series: int | None
    """Number of series within which places are counted; None where all rows are in one order."""
    scored_floor: float
    """Floor of the log loss: 0 unless a forecaster assigned 0 to an observed outcome."""
    zero_rows: dict[str, int]
    """Number of rows whose observed class was assigned 0, by name: where there are any the log loss is infinite."""
    confidence: float
    """Confidence level of all intervals."""
    notes: dict[str, Notes]
    """What was left out or changed of each forecaster's rows, the reference's too, by name."""
    warnings: tuple[str, ...]
    """Reasons why skill scores are undefined, optimistic or without an interval."""
    dependence: DependenceSearch = OF_A_TALLY
    """Whether rows that nobody declared dependent err alike: what was looked at, and what was found."""
    version: str = __version__

    @property
    def verdict(self) -> str:
        """Whose log loss is infinite, which forecasters beat the reference, by how much, and in how many groups."""
        found = [conclusion_about(self, name) for name in self.whole.scores]
        return "; ".join(
            [
                *infinite(self),
                *(
                    conclusion + (f" ({size})" if size else "") + (f": {where}" if where else "")
                    for conclusion, size, where in found
                ),
            ]
        )

    def frame(self) -> Any:
        """Give a data frame with one row for each group, forecaster and rule, all rows first: pandas for pandas input.

        Returns
        -------
        polars.DataFrame or pandas.DataFrame
            A column for each of ``by`` (null for all rows), then ``rows``, ``row_share``, ``forecaster``, ``rule`` and
            the fields of `SkillScore`.
        """
        import polars as pl

        rows = [
            {
                **dict(zip(self.by, group.key or (None,) * len(self.by), strict=True)),
                "rows": group.n_rows,
                "row_share": group.row_share,
                "forecaster": name,
                "rule": rule,
                "skill": each.skill,
                "lower": each.interval.low,
                "upper": each.interval.high,
                **{figure: value for figure, value in vars(each).items() if figure not in ("skill", "interval")},
            }
            for group in (self.whole, *self.groups)
            for name, by_rule in group.scores.items()
            for rule, each in by_rule.items()
        ]
        return frame_like_input(self, pl.DataFrame(rows, infer_schema_length=None, strict=False))

    def plot(self, ax: Axes | None = None, *, rule: str = "log_loss") -> Axes:
        """Draw the skill score of all rows and of each group with its confidence interval (a forest plot).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure of the size needed by default.
        rule : str, default "log_loss"
            Name of a rule of this skill score.

        Returns
        -------
        matplotlib.axes.Axes
            The Axes; ``.figure`` saves it.

        Raises
        ------
        InputError
            For another rule, and where no skill score by the rule is defined.
        """
        check_choice("rule", rule, [*next(iter(self.whole.scores.values()))])
        return picture(self, ax, rule=rule)

    def significant(self, each: SkillScore) -> bool:
        """Whether a skill score is significantly different from 0, after adjustment."""
        return math.isfinite(each.skill) and each.adjusted_p_value < 1 - self.confidence

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Skill against {self.reference} in {number_of(self.n_rows, 'row')}>"


def infinite(s: Skill) -> Iterator[str]:
    """Say whose log loss is infinite, and why."""
    for name, rows in s.zero_rows.items():
        if rows:
            why = f"it assigned 0 to the observed class in {number_of(rows, 'row')}"
            yield f"{short_name(name)!r} has an infinite log loss ({why})"


def conclusion_about(s: Skill, name: str) -> tuple[str, str, str]:
    """Give the conclusion about a forecaster, its skill score by log loss, and in how many groups it is better."""
    each = s.whole.scores[name][LOG_LOSS]
    called = repr(short_name(name))  # names keep their case
    if not math.isfinite(each.skill):
        return f"the skill score of {called} against {s.reference} is undefined by log loss", "", ""
    limits = between(*each.interval)
    size = f"log loss skill score {number(each.skill)}"
    size += f", {level_of(s)} {limits}" if limits else ", without an interval"
    size += f", {p_value_text(each.adjusted_p_value)}" if math.isfinite(each.adjusted_p_value) else ""
    if not s.significant(each):
        conclusion = f"no evidence that {called} differs from {s.reference}"
    else:
        conclusion = f"{called} {'beats' if each.skill > 0 else 'is worse than'} {s.reference}"
    if s.scored_floor:
        conclusion += f" by {rule_at_floor(LOG_LOSS, s.scored_floor)}"
    if not s.groups:
        return conclusion, size, ""
    some = [group.scores[name][LOG_LOSS] for group in s.groups]
    better, worse = (sum(s.significant(g) and sign * g.skill > 0 for g in some) for sign in (1, -1))
    where = f"better in {better} and worse in {worse} of {number_of(len(some), 'group')}, adjusted for their number"
    return conclusion, size, where


def level_of(s: Skill, *, groups: bool = False) -> str:
    """Name the intervals; those of several forecasters, and of several groups, hold together."""
    level = confidence_interval(s.confidence, len(s.whole.scores))
    return f"{level}, of groups simultaneous" if groups and adjusts_groups(s) else level


def adjusts_groups(s: Skill) -> bool:
    """Whether groups are adjusted for their number, but all rows are not."""
    return len(s.groups) > 1 and len(s.whole.scores) == 1
