"""The frozen Assessment, and the tables in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from .._lib.dataclasses import field, fields, replace
from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of
from .._lib.serialize import plain_values
from .._version import __version__
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch
from ..calibration.diagnosis.diagnose import Chunks, rows_of
from ..calibration.diagnosis.result import Diagnosis
from ..calibration.diagnosis.words import not_made
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..report.result import JsonResult, frame_like_input, picture
from ..statistics.intervals import LEAST_WORTH, Interval, Metric
from ..statistics.means import Averages, Limit
from ..tally.surprises import SurpriseTable
from ..tally.tally import CLASS_PARTS, View
from .bins import BinTable, Curve, Histogram, Observed, observed_between
from .classes import Bias, ClassAverage, ClassTable, ClassTables, ConfusionTable, PredictedTable, confusion_table
from .intervals import Uncertainty, profile_of_tally, profiles_of, uncertainty
from .remedy import AfterRemedy, Commands, PythonLine, Remedy, UntriedRemedy, remedy_of, untried_remedy
from .risk_profile import DivergenceProfile, MeasuredProfile, RiskProfile, checked_orders
from .settings import Source

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..pairing.skill_result import Skill
    from .familiar import FamiliarMetrics, PrecisionRecall
    from .groups_found import Groups
    from .risk_coverage import RiskCoverage
    from .validation import Validation


AxesOrder = Literal["reported", "nelson"]
Frame = Literal["metrics", "bins", "profile", "floors", "classes", "predicted", "confusions", "surprises"]


class Assessment(JsonResult):
    """How good reported probabilities are, and what is wrong with them. Made by `assess`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    reported: Averages
    """Means of the probabilities assigned to the outcomes. Larger is better."""
    measured: Averages
    """The same means of how often events given such probabilities happened; NaN in the top-label view."""
    prediction_accuracy: float
    """Share of rows whose top class happened, a k-way tie counting 1/k. Larger is better."""
    averages_slope: float
    """(measured D - R) / (reported D - R): 1 is best. No verdict: a bias moves it off 1, and so does the floor."""
    orientation: float
    """Angle of the D-R line in degrees, whose tangent is 1 / averages_slope: 45 is best."""
    divergence_probability: float
    """Reported / measured geometric accuracy, exp of minus a divergence. Larger is better; 1 is best."""
    scores: dict[str, float]
    """Means of the scoring rules, unfloored. Smaller is better, but for the spherical score."""
    score_standard_errors: dict[str, float]
    """Standard errors of those means, by the delta method for independent rows; NaN where the mean is infinite."""
    bins: BinTable
    curve: Curve
    """Measured against reported probability, as a line."""
    distribution: Histogram
    """How the correct-class probabilities, unfloored, are spread over [0, 1]."""
    floor_sensitivity: dict[float, Averages]
    """The reported means at other floors."""
    n_rows: int
    n_classes: int
    labels: tuple[Label | None, ...]
    weighted: bool
    effective_rows: float
    """(sum w)^2 / sum w^2; the number of rows where all weights are equal."""
    independent_rows: float
    """The same; for dependent rows the effective number of clusters."""
    clustered: bool
    """Whether the rows have clusters."""
    zero_given: float
    """Weight of the rows whose outcome was assigned probability 0."""
    notes: Notes
    """What was left out or rescaled on the way in."""
    floor: float
    limit: Limit
    view: View
    estimator: str
    """Name of the estimator of the measured probability."""
    estimator_settings: dict[str, float]
    """Settings of the estimator, asked for or found by its own rule: bins, neighbors, bandwidth, prior,
    share_of_isotonic."""
    exact: bool
    """Whether every distinct probability was counted by itself, not in cells."""
    exact_limit: int
    fraction_bits: int
    bias: Bias | None = None
    """With two classes the mean prediction of the positive one, and its observed frequency."""
    surprises: SurpriseTable | None = None
    """The twenty rows whose outcomes were assigned the lowest probabilities. None for a tally without the
    part "surprises"."""
    skill: Skill | None = None
    """Skill scores against a reference, where one was named."""
    groups_found: Groups | None = None
    """Groups of rows in which they are wrong, where these were searched."""
    dependence: DependenceSearch = OF_A_TALLY
    """Whether rows that nobody declared dependent err alike: what was looked at, and what was found."""
    version: str = __version__
    _source: Source | None = field(default=None, repr=False)

    @property
    def source(self) -> Source:
        """What it was read from."""
        assert self._source is not None
        return self._source

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """Confidence intervals, bands and warnings. Computed when first asked for, in a second."""
        return uncertainty(self.source, self.metrics())

    def __getstate__(self) -> dict[str, Any]:
        """Diagnose before the rows are left behind."""
        try:
            diagnosis = self.diagnosis
        except InputError as error:  # the rows cannot be read any more
            diagnosis = not_made(str(error).rstrip("."), self.n_rows, self.labels)
        remedy, untried = (self.remedy, self.untried_remedy) if diagnosis.made else (None, None)
        remedies = {"remedy": remedy, "untried_remedy": untried}
        return {**vars(self), "diagnosis": diagnosis, **remedies, "_class_tables": self._class_tables}

    def diagnosed_by(self, diagnose: Callable[[], Diagnosis], chunks: Chunks | None = None) -> Assessment:
        """Return the same assessment with another way to its diagnosis, which is made when asked for.

        ``chunks`` reads the rows, which a remedy is fitted to.
        """
        return replace(self, _source=replace(self.source, diagnose=diagnose, chunks=chunks))

    def with_rows(self, chunks: Chunks) -> Assessment:
        """Return the same assessment with a way to its rows, which a remedy is fitted to."""
        return replace(self, _source=replace(self.source, chunks=chunks))

    def advising(self, commands: Commands | PythonLine) -> Assessment:
        """Return the same assessment, whose remedy names these commands, or this line of Python."""
        return replace(self, _source=replace(self.source, commands=commands))

    @cached_property
    def _class_tables(self) -> ClassTables:
        return self.source.class_tables()

    @property
    def classes(self) -> ClassTable | None:
        """In the each-class view: each class by itself, the worst first. Made when first asked for, as the next two."""
        return self._class_tables.classes

    @property
    def class_average(self) -> ClassAverage | None:
        """In the each-class view: plain means over the classes, each counting once."""
        return self._class_tables.class_average

    @property
    def predicted(self) -> PredictedTable | None:
        """In the each-class view: the rows that predicted each class. None for a tally without "predictions"."""
        return self._class_tables.predicted

    def with_classes(self, by_class: Callable[[], Assessment]) -> Assessment:
        """Return the same assessment with a way to that of each class, which is made when asked for."""
        return replace(self, _source=replace(self.source, by_class=by_class))

    @cached_property
    def by_class(self) -> Assessment | None:
        """The assessment in the each-class view, for tables of the classes; None where rows are not in memory."""
        if self.view == "each-class":
            return self
        return None if self.source.by_class is None else self.source.by_class()

    @cached_property
    def confusions(self) -> ConfusionTable | None:
        """The confused classes that cost most, in nats, with more than two classes; made when first asked for.

        None for a tally, and where the rows are not at hand any more.
        """
        chunks = self.source.chunks
        return None if chunks is None or self.n_classes <= 2 else confusion_table(chunks(), self.floor)

    @cached_property
    def profile(self) -> RiskProfile:
        """Generalized means of the probabilities assigned to the outcomes, by order. Made when first asked for."""
        return self.risk_profile(self.source.orders)

    def risk_profile(self, orders: ArrayLike | None = None) -> RiskProfile:
        """Generalized means of the probabilities assigned to the outcomes, at these orders. Larger is better.

        Parameters
        ----------
        orders : array_like, optional
            121 orders from -3 to 3 by default.

        Returns
        -------
        RiskProfile
        """
        headline = self.source.headline
        return profile_of_tally(self.source.tally, checked_orders(orders), headline.floor, headline.limit)

    @cached_property
    def _profiles(self) -> tuple[MeasuredProfile, DivergenceProfile]:
        return profiles_of(self.source, self.profile)

    @property
    def measured_profile(self) -> MeasuredProfile:
        """Generalized means of the measured probabilities, with confidence limits, at the orders of ``profile``.

        Made when first asked for. NaN in the top-label view.
        """
        return self._profiles[0]

    @property
    def divergence_profile(self) -> DivergenceProfile:
        """Logarithm of the reported over the measured profile, with confidence limits. 0 is best."""
        return self._profiles[1]

    @property
    def geometric_accuracy_standard_error(self) -> float:
        """Standard error of the predicted geometric accuracy, by the delta method; NaN for under two effective rows."""
        _, error, _ = self.source.headline.standard_errors.tolist()
        return error if self.independent_rows >= LEAST_WORTH else math.nan

    @property
    def intervals(self) -> dict[str, Interval]:
        """Lower and upper limit of each metric, by the names of `metrics`; NaN where there is none."""
        return self.uncertainty.intervals

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What is wrong with the forecasts, decided without floor, bins or seed; made when first asked for."""
        return self.source.diagnosis()

    @cached_property
    def one_outcome(self) -> bool:
        """Whether all rows are known to have the same outcome, so that no skill nor recalibration can be judged."""
        if self.bias is not None:
            return self.bias.frequency in (0, 1)
        chunks = self.source.chunks
        if chunks is None or not self.diagnosis.findings:
            return False
        first = None
        for block in rows_of(chunks)():
            first = block.truth[0] if first is None and block.truth.size else first
            if (block.truth != first).any():
                return False
        return True

    @cached_property
    def remedy(self) -> Remedy | None:
        """Recalibration with the gain it is expected to bring; made when first asked for.

        None under 100 rows or 10 clusters, where nothing was found, where a few rows carry all the evidence, where all
        rows have the same outcome, for forecasts that point away from the outcomes, and with more than two classes
        without rows at hand or with over 1,000,000 probabilities.
        """
        if self.one_outcome:
            return None
        source = self.source
        return remedy_of(self.diagnosis, source.tally, source.chunks, source.commands, self.floor, self.limit)

    @cached_property
    def untried_remedy(self) -> UntriedRemedy | None:
        """Recalibration that mends what was found, and takes too long to be tried unasked.

        Made with over 1,000,000 probabilities of more than two classes, or over 100,000 rows in clusters; else None.
        """
        if self.one_outcome:
            return None
        return untried_remedy(self.diagnosis, self.source.tally, self.source.chunks, self.source.commands)

    @property
    def advised(self) -> AfterRemedy | None:
        """Metrics after the remedy (cross-fitted), where the remedy is advised: its gain is significant."""
        return self.remedy.after if self.remedy is not None and self.remedy.significant else None

    @property
    def cost(self) -> float:
        """What the errors found cost, in nats a row (`Diagnosis.cost`). Smaller is better; NaN without a diagnosis."""
        return self.diagnosis.cost if self.diagnosis.made else math.nan

    @property
    def verdict(self) -> str:
        """The diagnosis in one sentence: what is wrong, costliest first, or that there is no evidence of it."""
        return self.diagnosis.verdict

    def observed(self, low: float, high: float) -> Observed:
        """Observed frequency of the classes predicted with a probability from low to high, with a confidence interval.

        Parameters
        ----------
        low, high : float
            Limits, included. With two classes in the each-class view: of the positive class.

        Returns
        -------
        Observed
        """
        return observed_between(self.source.tally, low, high, self.view, self.source.sampling.confidence)

    @cached_property
    def risk_coverage(self) -> RiskCoverage | None:
        """Share of wrong top classes among the most confident forecasts, and its mean over all shares (AURC).

        Smaller is better. None for weighted rows; of rows in clusters it has no intervals.
        """
        from .risk_coverage import of_top_classes

        return of_top_classes(self.source.tally, self.source.sampling.confidence)

    @property
    def auc(self) -> Metric | None:
        """Area under the ROC curve, two classes only. Larger is better; 0.5 is a random ranking."""
        return self._familiar.auc

    @property
    def average_precision(self) -> Metric | None:
        """Average precision (area under the precision-recall curve), two classes only. Larger is better."""
        return self._familiar.average_precision

    @cached_property
    def precision_recall(self) -> PrecisionRecall | None:
        """The precision-recall curve with its intervals, two classes only."""
        from .familiar import precision_recall

        return precision_recall(self.source.tally, self.source.sampling.confidence)

    @property
    def slope(self) -> Metric:
        """Calibration slope: of the logistic regression of the outcome on the predicted log-odds. 1 is best.

        With more than two classes slope, intercept and ECE are those of the most probable class. All are made when
        first asked for.
        """
        return self._familiar.slope

    @property
    def intercept(self) -> Metric:
        """Calibration intercept: that of this regression with the slope fixed at 1. 0 is best."""
        return self._familiar.intercept

    @property
    def ece(self) -> Metric:
        """Expected calibration error in 15 groups of equal size. Smaller is better."""
        return self._familiar.ece

    @property
    def ece_by_chance(self) -> float:
        """Its expected value for calibrated predictions of as many rows; NaN where chance is not known."""
        return self._familiar.ece_by_chance

    @property
    def reference_scores(self) -> dict[str, float]:
        """Log loss, Brier score and accuracy of a forecast of the base rate; of a uniform one for more classes."""
        return self._familiar.reference_scores

    @property
    def certain_rows(self) -> float:
        """Weight of the rows predicted as exactly 0 or 1, which slope and intercept leave out."""
        return self._familiar.certain_rows

    @cached_property
    def _familiar(self) -> FamiliarMetrics:
        from .familiar import familiar_metrics

        # Of two classes the line is that of the verdict, and of clusters that of the rows, where they are at hand.
        line = self.diagnosis.line if self.n_classes == 2 or self.clustered else None
        return familiar_metrics(self.source.tally, self.source.sampling.confidence, line)

    @cached_property
    def validation(self) -> Validation:
        """What medicine reports of a validated risk score, two classes only: O/E, ICI, scaled Brier, in a paragraph."""
        from .validation import validation_of

        return validation_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Give everything but the surprises, which go by row numbers, as plain values under the attributes' names."""
        plain: dict[str, Any] = plain_values(self)
        del plain["surprises"]
        plain |= plain_values(self._class_tables._asdict())
        plain["verdict"], plain["cost"] = self.verdict, self.cost
        plain["diagnosis"] = self.diagnosis.to_dict()
        plain["remedy"] = None if self.remedy is None else self.remedy.to_dict()
        plain |= plain_values(self._familiar)
        plain["uncertainty"] = self.uncertainty.to_dict()
        plain["profile"] = plain_values(self.profile)
        plain["measured_profile"] = plain_values(self.measured_profile)
        plain["divergence_profile"] = plain_values(self.divergence_profile)
        plain["floor_sensitivity"] = [
            {"floor": floor, **plain_values(means)} for floor, means in self.floor_sensitivity.items()
        ]
        return plain

    def to_flat(self) -> dict[str, float | None]:
        """Give every metric one level deep, with the ends of its confidence interval.

        Returns
        -------
        dict of str to float or None
            ``log_loss``, ``log_loss.lower``, ``log_loss.upper`` and so on; ``miscalibrated``, ``biased``,
            ``overconfident`` and the other words of the verdict are 1 or 0. ``bias`` is the mean prediction minus the
            observed frequency. None stands for a metric that does not
            exist here, such as the AUC of three classes, or that is not finite.

        Examples
        --------
        >>> from unperplexed import assess
        >>> found = assess([1, 0, 1, 1], [0.8, 0.3, 0.6, 0.9]).to_flat()
        >>> found["rows"], round(found["log_loss"], 3), found["log_loss.lower"] < found["log_loss"]
        (4.0, 0.299, True)
        """
        from .flat import flat_metrics

        return flat_metrics(self)

    def frame(self, what: Frame = "metrics") -> Any:
        """Give a table as a data frame: a pandas one where forecasts came as pandas, else a polars one.

        Parameters
        ----------
        what : str, default "metrics"
            "metrics": one row of headline metrics. "bins", "profile", "floors": one row a bin, an order or a floor.
            "surprises": the rows whose outcomes were assigned the lowest probabilities. "classes", "predicted": in the
            each-class view one row a class or a predicted class. "confusions": for rows of more than two classes one
            row for each pair of a predicted and another observed class.

        Returns
        -------
        polars.DataFrame or pandas.DataFrame

        Raises
        ------
        InputError
            For another name, or a table that this assessment does not have.
        """
        check_choice("what", what, get_args(Frame))
        return frame_like_input(self, self._table(what))

    def _table(self, what: Frame) -> pl.DataFrame:
        import polars as pl

        if what in ("bins", "classes", "predicted", "confusions", "surprises"):
            return _frame(what, getattr(self, what))
        if what == "profile":
            found = self.profile
            columns: dict[str, Any] = {"order": found.orders, "value": found.values}
            columns["standard_error"] = found.standard_errors
            columns |= {"few_rows": found.few_rows, **dict(zip(("lower", "upper"), found.interval(), strict=True))}
            for name, beside in (("measured", self.measured_profile), ("divergence", self.divergence_profile)):
                columns |= {name: beside.values, f"{name}_lower": beside.low, f"{name}_upper": beside.high}
            return pl.DataFrame(columns)
        if what == "floors":
            return pl.DataFrame(self.to_dict()["floor_sensitivity"])
        return pl.DataFrame([self.metrics()])

    def metrics(self) -> dict[str, float]:
        """Headline metrics by name, in the order of the printed table."""
        return {
            **{f"reported_{f.name}": getattr(self.reported, f.name) for f in fields(Averages)},
            **{f"measured_{f.name}": getattr(self.measured, f.name) for f in fields(Averages)},
            "prediction_accuracy": self.prediction_accuracy,
            "averages_slope": self.averages_slope,
            "orientation": self.orientation,
            "divergence_probability": self.divergence_probability,
            **self.scores,
        }

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["reliability", "averages", "bars"] | None = None,
        axes: AxesOrder = "reported",
        name: str | None = None,
        **keywords: Any,
    ) -> Axes:
        """Draw the reliability diagram (calibration plot), or one of the papers' diagrams with the three averages.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default. A strip of the Axes is used for the histogram. A reliability
            diagram on Axes that have one already adds its curve, points and a line in the legend.
        kind : {"reliability", "averages", "bars"}, optional
            "reliability": the diagram of the report, that is, the event's own curve with its band, groups of rows with
            confidence intervals, and the predictions by outcome. The event is the positive one of two classes, or that
            the most probable class is observed. "averages": bins as bubbles, with decisiveness, geometric accuracy and
            robustness. "bars": measured probabilities as bars as wide as their bins, with the averages and their slope
            (the figure of the classifier-metrics paper). Default: "reliability" for two classes with the reported
            probability on x, else "averages".
        axes : {"reported", "nelson"}, default "reported"
            Reported probability on x, as calibration plots have it, or on y, as [N17] has it ("averages" alone).
        name : str, optional
            Name of the forecaster, at its curve or in the legend; "reliability" alone.
        **keywords
            Properties of the curve, as matplotlib's ``Axes.plot`` takes them, such as ``color`` and ``linestyle``;
            "reliability" alone.

        Returns
        -------
        matplotlib.axes.Axes
            The main Axes; ``.figure`` saves it.

        Raises
        ------
        InputError
            For an unknown kind or axes, and for options that the kind does not take.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from unperplexed import assess
        >>> result = assess([0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.8], resamples=0)
        >>> ax = result.plot(Figure().subplots(), name="model", color="black")
        >>> ax.get_ylabel()
        "Observed frequency of '1'"
        """
        return picture(self, ax, kind, axes=axes, name=name, **keywords)

    def __repr__(self) -> str:
        """Name it in one line."""
        of = f"{number_of(self.n_rows, 'forecast')} of {self.n_classes:,} classes"
        return f"<Assessment of {of}: geometric accuracy {self.reported.geometric_accuracy:.3f}>"


_TAKES = {
    "surprises": "takes a tally with parts=['surprises'] (--parts surprises), or rows to assess.",
    "confusions": "takes rows of more than two classes to assess, not a tally.",
}
"""What a table is made from, by name, and tables of classes otherwise."""
_EACH_CLASS = f"is a table of the each-class view; assess with view='each-class', a tally with parts={[*CLASS_PARTS]}."


def _frame(
    name: str, table: BinTable | ClassTable | PredictedTable | ConfusionTable | SurpriseTable | None
) -> pl.DataFrame:
    import polars as pl

    if table is None:
        raise InputError(f"what: {name!r} {_TAKES.get(name, _EACH_CLASS)}")
    columns = {f.name: getattr(table, f.name) for f in fields(table)}
    texts = {key: values for key, values in columns.items() if isinstance(values, tuple)}
    for key, values in texts.items():
        columns[key] = pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    first = {"label": columns.pop("label")} if texts.get("label") else {}
    return pl.DataFrame(first | {key: column for key, column in columns.items() if key not in texts or len(column)})
