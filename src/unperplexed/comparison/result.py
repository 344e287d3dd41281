"""Two or more forecasters on the same rows, paired: a frozen Comparison. `compare` makes it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from .._lib.dataclasses import field, replace
from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of, short_name
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats, Ints
from .._version import __version__
from ..assessment.classes import Table
from ..assessment.result import Assessment
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch
from ..forecasts.group_keys import Key
from ..forecasts.labels import Label
from ..pairing.skill_result import Skill
from ..report.result import JsonResult, frame_like_input, picture
from ..scores.rules import score_named
from ..statistics.intervals import Interval
from .next_step import MapCommands, NextStep, PythonLines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .next_step import PairedForecasters

ComparisonFrame = Literal["forecasters", "differences", "groups", "rows"]


class MeanScore(ByValue):
    """Mean of a scoring rule over the rows."""

    mean: float
    standard_error: float
    interval: Interval


class Forecaster(ByValue):
    """One of the forecasters compared."""

    assessment: Assessment
    """Assessment of the rows compared. Its ``uncertainty`` and the limits of its measured profile assume independent
    rows of equal weight; `Comparison.to_dict` leaves them out where rows depend on one another or have weights."""
    geometric_accuracy: float
    """exp of minus the log loss in ``scores``, by which forecasters are ranked. Larger is better."""
    geometric_accuracy_interval: Interval
    scores: dict[str, MeanScore]
    """By the rule's name; surprisals, the log loss among them, at `Comparison.scored_floor`."""
    zero_rows: int
    """Number of rows in which the forecaster assigned probability 0 to the observed class."""


class Difference(ByValue):
    """By how much a mean score of one forecaster exceeds that of another on the same rows."""

    difference: float
    """The first minus the second; `Score` says which direction is better."""
    standard_error: float
    interval: Interval
    """Simultaneous for all pairs that are compared by this score: it excludes 0 just where the adjusted p-value is
    below 1 minus the confidence level."""
    p_value: float
    """Probability of a difference at least as far from 0 if the expected difference is 0 (two-sided)."""
    adjusted_p_value: float
    """The same, adjusted for all pairs that are compared by this score (Bonferroni)."""
    carried_by: float
    """Effective number of rows, or clusters, that determine the standard error. With fewer than 10, the interval and
    the p-value are approximate."""
    skewness: float
    """Estimated skewness of the difference in repeated samples; 0 with a lag or clusters in two ways, where it is not
    estimated."""

    @property
    def equal(self) -> bool:
        """Whether both score the same in every row."""
        return self.p_value == 1 and self.standard_error == 0

    def mirrored(self) -> Difference:
        """The second minus the first."""
        low, high = self.interval
        return replace(self, difference=-self.difference, interval=Interval(-high, -low), skewness=-self.skewness)


class Contributions(Table):
    """The rows from which most of a difference in log loss comes, the largest contribution first."""

    row: Ints
    """Number of the row, from 0: in files, among the rows of the forecaster given first."""
    id: tuple[Label | None, ...]
    """Names of the rows, where there are any."""
    outcome: tuple[Label | None, ...]
    first: Floats
    second: Floats
    """Probability that each forecaster assigned to the outcome."""
    share: Floats
    """Share of the difference; below 0 for rows with a difference in the other direction. The shares of all rows add up
    to 1."""


class PairDifferences(ByValue):
    """Two forecasters in all rows, or in those of one group."""

    first: str
    second: str
    differences: dict[str, Difference]
    """By the rule's name; p-values are adjusted, and intervals simultaneous, over all pairs, and over all groups."""


class PairedComparison(PairDifferences):
    """Two forecasters compared, `first` to `second`."""

    accuracy_ratio: float
    """Geometric accuracy of the first divided by that of the second: exp of minus the difference in log loss."""
    accuracy_ratio_interval: Interval
    turning_rows: int
    """The fewest rows without which the one with the smaller log loss would not be ahead; 0 for none ahead."""
    contributions: Contributions

    def mirrored(self) -> PairedComparison:
        """The second compared to the first."""
        c = self.contributions
        low, high = self.accuracy_ratio_interval
        return PairedComparison(
            self.second,
            self.first,
            {name: each.mirrored() for name, each in self.differences.items()},
            _inverse(self.accuracy_ratio),
            Interval(_inverse(high), _inverse(low)),
            self.turning_rows,
            replace(c, first=c.second, second=c.first),
        )


class GroupDifferences(ByValue):
    """Paired differences in the rows of one group."""

    key: Key
    """Value of each column of ``by``."""
    n_rows: int
    row_share: float
    """Share of the total weight of the rows."""
    pairs: tuple[PairDifferences, ...]
    """Every two forecasters, in the order of `Comparison.pairs`."""


class Comparison(JsonResult):
    """Two or more forecasters on the same rows. Made by `compare`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    forecasters: dict[str, Forecaster]
    """By name, the best first: the one of the largest geometric accuracy."""
    pairs: tuple[PairedComparison, ...]
    """Every two of them, the better one first; `between` finds one."""
    n_rows: int
    """Rows compared: those that are valid for all."""
    n_classes: int
    labels: tuple[Label | None, ...]
    weighted: bool
    independent_rows: float
    """Effective sample size, of rows that depend on one another the effective number of clusters; the degrees of
    freedom of intervals are one fewer."""
    n_clusters: int | None
    """Number of clusters of dependent rows; None without clusters."""
    n_crossed_clusters: int | None
    """Number of clusters the other way, where rows that share one of two columns may depend on one another."""
    lag: int | None
    """How many places apart rows may depend on one another; None for independent rows or clusters."""
    n_series: int | None
    """Number of series within which places are counted; None where all rows are in one order."""
    floor: float
    """Floor of each forecaster's ``assessment``, and of the comparison where that needs one."""
    scored_floor: float
    """Floor of the log loss, of the other surprisals and of the geometric accuracies that are compared: 0 where no
    forecaster assigned 0 to an observed outcome, else ``floor``."""
    confidence: float
    """Confidence level of an interval of one forecaster, and of those of all pairs, or groups, together."""
    warnings: tuple[str, ...]
    """Reasons why intervals and p-values are approximate or missing."""
    by: tuple[str, ...] = ()
    """Names of the columns that make ``groups``."""
    groups: tuple[GroupDifferences, ...] = ()
    """Differences in each group of rows, in natural order; empty without ``by``."""
    skill: Skill | None = None
    """Skill scores against a reference, for all rows and for each group, where one was named."""
    dependence: DependenceSearch = OF_A_TALLY
    """Whether rows that nobody declared dependent err alike: what was looked at, and what was found."""
    version: str = __version__
    _paired: PairedForecasters | None = field(default=None, repr=False, compare=False)
    _commands: MapCommands | PythonLines = field(default_factory=PythonLines, repr=False, compare=False)

    @cached_property
    def clauses(self) -> tuple[str, ...]:
        """Who is better, by log loss, Brier score or both, with adjusted p-values, and who assigned 0 to outcomes.

        p-values below 1 minus ``confidence`` are significant.
        """
        from .verdict import verdict_clauses

        return tuple(each.words for each in verdict_clauses(self))

    @property
    def verdict(self) -> str:
        """The clauses in one line."""
        return "; ".join(self.clauses)

    @cached_property
    def next_step(self) -> NextStep | None:
        """What would mend each forecaster, by how much, and who would then be first (cross-fitted).

        Made when first asked for. None where nothing was diagnosed, under 100 rows or 10 clusters, with a lag, with
        infinite log losses, for over five million rows (more than two classes: 1,000,000 probabilities), and where the
        rows cannot be read any more.
        """
        from .next_step import next_step

        found = None if self._paired is None else next_step(self._paired)
        if found is None:
            return None
        return replace(found, code=self._commands.text(found.mended))

    @property
    def scale(self) -> str:
        """What the forecasts are: "probability", "percent", "logits" or "log-probs"."""
        return self._commands.scale

    def advising(self, commands: MapCommands | PythonLines) -> Comparison:
        """Return the same comparison, whose next step has these commands."""
        return replace(self, _commands=commands)

    def __getstate__(self) -> dict[str, Any]:
        """Find the next step before the rows are left behind."""
        return {**vars(self), "next_step": self.next_step, "_paired": None}

    @property
    def assessed_for_sure(self) -> bool:
        """Whether the assessments have confidence intervals: those of independent rows without weights."""
        return self.n_clusters is None and not self.lag and not self.weighted

    def between(self, first: str, second: str) -> PairedComparison:
        """Return the comparison of two forecasters, the first with the second."""
        for pair in self.pairs:
            if {pair.first, pair.second} == {first, second}:
                return pair if pair.first == first else pair.mirrored()
        raise InputError(
            f"no such pair: {first!r}, {second!r}; compared were {', '.join(map(repr, self.forecasters))}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        plain_dict: dict[str, Any] = plain_values(self)
        plain_dict |= {"clauses": list(self.clauses), "verdict": self.verdict}
        plain_dict["next_step"] = None if self.next_step is None else self.next_step.to_dict()
        for name, forecaster in self.forecasters.items():
            assessment = forecaster.assessment.to_dict()
            if not self.assessed_for_sure:
                for sampled in ("uncertainty", "measured_profile", "divergence_profile"):
                    del assessment[sampled]
            plain_dict["forecasters"][name]["assessment"] = assessment
        return plain_dict

    def frame(self, what: ComparisonFrame = "forecasters") -> Any:
        """Give a table as a data frame: a pandas one where forecasts came as pandas, else a polars one.

        Parameters
        ----------
        what : {"forecasters", "differences", "groups", "rows"}, default "forecasters"
            One row a forecaster, one row for each pair and score, the same for each group of ``by``, or the rows from
            which differences come.

        Returns
        -------
        polars.DataFrame or pandas.DataFrame

        Raises
        ------
        InputError
            For another name.
        """
        check_choice("what", what, get_args(ComparisonFrame))
        tables = {
            "forecasters": self._forecaster_rows,
            "differences": lambda: self._difference_rows(self.pairs),
            "groups": self._group_rows,
            "rows": self._rows,
        }
        return frame_like_input(self, list(tables[what]()))

    def _forecaster_rows(self) -> Iterable[dict[str, Any]]:
        for name, each in self.forecasters.items():
            low, high = each.geometric_accuracy_interval
            accuracy = {"geometric_accuracy": each.geometric_accuracy, "lower": low, "upper": high}
            scores = {rule: score.mean for rule, score in each.scores.items()}  # at scored_floor, not as in figures()
            floors = {"scored_floor": self.scored_floor, "zero_rows": each.zero_rows}
            yield {"forecaster": name, **accuracy, **each.assessment.metrics(), **scores, **floors}

    def _group_rows(self) -> Iterable[dict[str, Any]]:
        for group in self.groups:
            key = dict(zip(self.by, group.key, strict=True))
            size = {"rows": group.n_rows, "row_share": group.row_share}
            yield from ({**key, **size, **row} for row in self._difference_rows(group.pairs))

    def _difference_rows(self, pairs: Iterable[PairDifferences]) -> Iterable[dict[str, Any]]:
        for pair in pairs:
            for score, each in pair.differences.items():
                figures = {**vars(each), "lower": each.interval.low, "upper": each.interval.high}
                del figures["interval"]
                floor = self.scored_floor if score_named(score).surprisal else None
                yield {"first": pair.first, "second": pair.second, "score": score, **figures, "floor": floor}

    def _rows(self) -> Iterable[dict[str, Any]]:
        for pair in self.pairs:
            c = pair.contributions
            for at in range(len(c)):
                name = {"id": str(c.id[at])} if c.id else {}
                yield {
                    "first": pair.first,
                    "second": pair.second,
                    "row": int(c.row[at]),
                    **name,
                    "outcome": str(c.outcome[at]),
                    "first_probability": float(c.first[at]),
                    "second_probability": float(c.second[at]),
                    "share": float(c.share[at]),
                }

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["differences", "ratios", "profiles", "reliability"] = "differences",
        score: str | None = None,
    ) -> Axes:
        """Draw the paired differences with their confidence intervals (a forest plot), or another chart of the report.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure of the size needed by default.
        kind : {"differences", "ratios", "profiles", "reliability"}, default "differences"
            "differences": the first 30 pairs by a score. "ratios": the pairs' ratios of geometric accuracies.
            "profiles" and "reliability": risk profiles and calibration curves of the first six forecasters.
        score : str, optional
            Name of a score of this comparison, for "differences" alone. Default: the log loss.

        Returns
        -------
        matplotlib.axes.Axes
            The Axes; ``.figure`` saves it.

        Raises
        ------
        InputError
            For an unknown kind or score, and for a score that the kind does not take.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from unperplexed import compare
        >>> result = compare([1, 0, 1], {"a": [0.8, 0.3, 0.7], "b": [0.6, 0.4, 0.6]})
        >>> result.plot(Figure().subplots(), score="brier_score").get_xlabel()
        'Difference in Brier score'
        """
        return picture(self, ax, kind, score)

    def __repr__(self) -> str:
        """Name it in one line."""
        on = f"{len(self.forecasters):,} forecasters on {number_of(self.n_rows, 'row')}"
        return f"<Comparison of {on}: {short_name(next(iter(self.forecasters)))} first by log loss>"


def _inverse(ratio: float) -> float:
    return 1 / ratio if ratio else math.inf
