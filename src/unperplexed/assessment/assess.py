"""assess(): forecasts or a tally in, a frozen Assessment out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of
from .._lib.output import Reported
from .._lib.serialize import json_text, plain_values
from .._lib.typing import Floats, Ints, ReadOnlyArrays
from .._version import __version__
from ..calibration.clustered_test import independent_rows
from ..calibration.diagnosis.diagnose import diagnosis_of_rows, diagnosis_of_tally, rows_of
from ..calibration.diagnosis.result import Diagnosis
from ..calibration.diagnosis.words import not_made
from ..calibration.estimators import Estimate, Estimator
from ..forecasts.forecasts import Forecasts, Notes
from ..forecasts.labels import Label
from ..forecasts.reading import RowReading
from ..statistics.averages import HEADLINE_ORDERS, Averages, averages, divergence_probability, orientation, slope
from ..statistics.intervals import Interval, Sampling, wilson
from ..statistics.means import (
    DEFAULT_FLOOR,
    Floor,
    Limit,
    apply_limit,
    floor_for,
    means_of_runs,
    t_quantile,
)
from ..statistics.standard_errors import LEAST_WORTH
from ..tally.class_tables import EachGroup
from ..tally.surprises import SurpriseTable, surprise_table
from ..tally.tables import Pairs, Points
from ..tally.tally import (
    CLASS_PARTS,
    EXACT_LIMIT,
    FRACTION_BITS,
    Tally,
    View,
)
from ..tally.views import refuse_rows
from .classes import (
    Bias,
    ClassAverage,
    ClassTable,
    Measure,
    PredictedTable,
    bias_of,
    class_average,
    class_of_entries,
    class_table,
    measured_each,
    predicted_table,
)
from .intervals import of_groups
from .measured_profile import DivergenceProfile, MeasuredProfile, profiles_of
from .risk_profile import RiskProfile, profile_of_points, sensitivity_of_points
from .settings import AssessmentSettings, Auto
from .uncertainty import Uncertainty, uncertainty

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

_INTERVALS = 50

AxesOrder = Literal["reported", "nelson"]
Frame = Literal["figures", "bins", "profile", "floors", "classes", "predicted", "surprises"]


@dataclass(frozen=True, eq=False)
class BinTable(ReadOnlyArrays):
    """Reported against measured probability, bin by bin, in increasing order ([N17] eqs. 15 and 16).

    One array entry a bin. The three reported means are over the correct-class probabilities in the bin, NaN where
    nothing in it happened.
    """

    lowest: Floats
    highest: Floats
    """Smallest and largest reported probability in the bin."""
    mean_reported: Floats
    """Arithmetic mean of all the bin's reported probabilities."""
    decisiveness: Floats
    geometric_accuracy: Floats
    robustness: Floats
    measured: Floats
    """Measured probability: how often what the bin speaks of happened."""
    happened: Floats
    total: Floats
    """Weight of the bin's pairs that happened, and of all its pairs."""
    contribution: Floats
    """Share of what happened in the bin times ln(geometric accuracy); the bins' sum is that of the whole.

    In the top-label view, of what happened among the top classes.
    """
    label: tuple[Label | None, ...] = ()
    """In the each-class view of more than two classes the class of each bin, which go by class and then by probability.

    With two classes the bins are those of the positive class; only ``contribution`` is of both.
    """

    def __len__(self) -> int:
        """Count the bins."""
        return self.measured.size

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<BinTable of {number_of(len(self), 'bin')}>"


@dataclass(frozen=True, eq=False)
class Curve(ReadOnlyArrays):
    """Measured probability as estimated, for up to some 500 of the reported ones."""

    reported: Floats
    measured: Floats
    label: tuple[Label | None, ...] = ()
    """In the each-class view of more than two classes the class of each point; their curves follow one another.

    With two classes the curve is that of the positive class, of which the other's is the mirror image.
    """

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Curve through {number_of(self.measured.size, 'point')}>"


@dataclass(frozen=True, eq=False)
class Histogram(ReadOnlyArrays):
    """Shares of the total weight between edges, each interval holding its lower edge, the last one both."""

    edges: Floats
    share: Floats


class Observed(NamedTuple):
    """How often what was given some probabilities happened."""

    total: float
    """Weight of the pairs that were given one of them."""
    lowest: float
    highest: float
    mean_reported: float
    """Of what was given."""
    happened: float
    """Share of the pairs that happened."""
    interval: Interval
    """Of that share, by itself (Wilson 1927); NaN of rows with weights or in groups."""


@dataclass(frozen=True)
class _Source:
    """What an assessment was read from, for what is found out only when asked for."""

    tally: Tally
    headline: RiskProfile
    estimator: Estimator
    sampling: Sampling
    diagnose: Callable[[], Diagnosis] | None = None
    """Diagnoses the rows, where the counts do not suffice."""
    measured: tuple[Floats, Floats] | None = None
    """Measured probabilities of what happened, floored, and their weights; None in the top-label view."""

    def diagnosis(self) -> Diagnosis:
        """Find out what is wrong."""
        return diagnosis_of_tally(self.tally) if self.diagnose is None else self.diagnose()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows behind when it is pickled or copied: what they tell is told before."""
        return {**vars(self), "diagnose": None}

    def observed(self, low: float, high: float, view: View) -> Observed:
        """Find out how often the outcome was observed where it was assigned some probability."""
        tally = self.tally
        pairs = tally.pairs("all-classes" if view == "each-class" else view)
        if view == "each-class" and tally.positive is not None:
            pairs = tally.positive.pairs()
        reported, happened, total = (x[(low <= pairs.reported) & (pairs.reported <= high)] for x in pairs)
        weight, nan = float(total.sum()), math.nan
        if not weight:
            return Observed(0.0, nan, nan, nan, nan, Interval(nan, nan))
        share = float(happened.sum()) / weight
        sure = not tally.weighted and not tally.grouped
        interval = (
            wilson(share, weight, float(t_quantile(self.sampling.confidence, math.inf))) if sure else Interval(nan, nan)
        )
        mean = float((reported * total).sum()) / weight
        return Observed(weight, float(reported[0]), float(reported[-1]), mean, share, interval)

    def uncertainty(self, figures: dict[str, float], view: View) -> Uncertainty:
        """Find out how sure the figures are."""
        return uncertainty(self.tally, figures, self.headline, self.estimator, view, self.sampling)

    def profiles(self, profile: RiskProfile, view: View) -> tuple[MeasuredProfile, DivergenceProfile]:
        """Measure the profile at the orders of the reported one."""
        reported, limits = (profile.orders, profile.values), (profile.floor, profile.limit)
        return profiles_of(self.tally, reported, self.measured, self.estimator, view, *limits, self.sampling)


@dataclass(frozen=True, eq=False)
class Assessment(Reported):
    """How good reported probabilities are, and what is wrong with them. Made by `assess`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    reported: Averages
    """Means of the probabilities given to what happened. Larger is better."""
    measured: Averages
    """The same means of how often events given such probabilities happened; NaN in the top-label view."""
    prediction_accuracy: float
    """Share of rows whose top class happened, a k-way tie counting 1/k. Larger is better."""
    slope: float
    """(measured D - R) / (reported D - R): 1 is best. No verdict: a bias moves it off 1, and so does the floor."""
    orientation: float
    """Angle of the D-R line in degrees, whose tangent is 1 / slope: 45 is best."""
    divergence_probability: float
    """Reported / measured geometric accuracy, exp of minus a divergence. Larger is better; 1 is best."""
    scores: dict[str, float]
    """Means of the scoring rules, unfloored. Smaller is better, but for the spherical score."""
    score_standard_errors: dict[str, float]
    """Of those means, by the delta method for independent rows; NaN where the mean is infinite."""
    profile: RiskProfile
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
    """The same, or of rows in groups how many groups of equal weight they are worth."""
    grouped: bool
    """Whether it was said which rows depend on one another."""
    zero_given: float
    """Weight of the rows in which what happened had been given exactly 0."""
    notes: Notes
    """What was left out or rescaled on the way in."""
    floor: float
    limit: Limit
    view: View
    estimator: str
    """Name of the estimator of the measured probability."""
    estimator_settings: dict[str, float]
    """What the estimator was told, or found by its own rule: bins, neighbors, bandwidth, prior, share_of_isotonic."""
    exact: bool
    """Whether every distinct probability was counted by itself, not in cells."""
    exact_limit: int
    fraction_bits: int
    classes: ClassTable | None = None
    """In the each-class view: each class by itself, the worst first."""
    class_average: ClassAverage | None = None
    """In the each-class view: plain means over the classes, each counting once."""
    predicted: PredictedTable | None = None
    """In the each-class view: the rows that predicted each class. None for a tally without the part "predictions"."""
    bias: Bias | None = None
    """With two classes the mean prediction of the positive one, and its observed frequency."""
    surprises: SurpriseTable | None = None
    """The twenty rows in which what happened had been given least. None for a tally without the part "surprises"."""
    version: str = __version__
    _source: _Source | None = field(default=None, repr=False)

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """How sure the figures are: intervals, bands and warnings. Made when first asked for, in a second."""
        assert self._source is not None
        return self._source.uncertainty(self.figures(), self.view)

    def __getstate__(self) -> dict[str, Any]:
        """Diagnose before the rows are left behind."""
        try:
            diagnosis = self.diagnosis
        except InputError as error:  # the rows cannot be read any more
            diagnosis = not_made(str(error).rstrip("."), self.n_rows, self.labels)
        return {**vars(self), "diagnosis": diagnosis}

    def diagnosed_by(self, diagnose: Callable[[], Diagnosis]) -> Assessment:
        """Return the same assessment with another way to its diagnosis, which is made when asked for."""
        assert self._source is not None
        return replace(self, _source=replace(self._source, diagnose=diagnose))

    @cached_property
    def _profiles(self) -> tuple[MeasuredProfile, DivergenceProfile]:
        assert self._source is not None
        return self._source.profiles(self.profile, self.view)

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
        """Of the reported one, by the delta method; NaN if the rows are worth fewer than two independent ones."""
        assert self._source is not None
        _, error, _ = self._source.headline.standard_errors.tolist()
        return error if self._source.tally.independent_rows >= LEAST_WORTH else math.nan

    @property
    def intervals(self) -> dict[str, Interval]:
        """Lower and upper limit of each figure, by the names of `figures`; NaN where there is none."""
        return self.uncertainty.intervals

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What is wrong with the forecasts, decided without floor, bins or seed; made when first asked for."""
        assert self._source is not None
        return self._source.diagnosis()

    @property
    def verdict(self) -> str:
        """The diagnosis in one sentence: what is wrong, costliest first, or that there is no evidence of it."""
        return self.diagnosis.verdict

    def observed(self, low: float, high: float) -> Observed:
        """How often what was given a probability from low to high happened, with an interval of its own.

        Parameters
        ----------
        low, high : float
            Limits, included. With two classes in the each-class view: of the positive class.

        Returns
        -------
        Observed
        """
        assert self._source is not None
        return self._source.observed(low, high, self.view)

    def to_dict(self) -> dict[str, Any]:
        """Give everything but the surprises, which go by row numbers, as plain values under the attributes' names."""
        plain: dict[str, Any] = plain_values(replace(self, _source=None))
        del plain["_source"], plain["surprises"]
        plain["verdict"] = self.verdict
        plain["diagnosis"] = self.diagnosis.to_dict()
        plain["uncertainty"] = plain_values(self.uncertainty)
        plain["measured_profile"] = plain_values(self.measured_profile)
        plain["divergence_profile"] = plain_values(self.divergence_profile)
        plain["floor_sensitivity"] = [
            {"floor": floor, **plain_values(means)} for floor, means in self.floor_sensitivity.items()
        ]
        return plain

    def to_json(self, indent: int | None = 2) -> str:
        """Give `to_dict` as JSON; non-finite figures are the strings "NaN", "Infinity" and "-Infinity"."""
        return json_text(self.to_dict(), indent)

    def frame(self, what: Frame = "figures") -> pl.DataFrame:
        """Give a table as a polars DataFrame (``.to_pandas()`` where that is wanted).

        Parameters
        ----------
        what : {"figures", "bins", "profile", "floors", "surprises", "classes", "predicted"}, default "figures"
            One row of headline figures, one row a bin, one row an order, one row a floor, or the rows in which what
            happened had been given least; in the each-class view also one row a class, and one row a predicted class.

        Returns
        -------
        polars.DataFrame

        Raises
        ------
        InputError
            For another name, or a table that this assessment does not have.
        """
        import polars as pl

        check_choice("what", what, get_args(Frame))
        if what in ("bins", "classes", "predicted", "surprises"):
            return _frame(what, getattr(self, what))
        if what == "profile":
            low, high = self.profile.interval()
            names = ("orders", "values", "standard_errors", "few_rows")
            columns = {
                name.removesuffix("s") if name != "few_rows" else name: getattr(self.profile, name) for name in names
            }
            columns |= {"lower": low, "upper": high}
            for name, found in (("measured", self.measured_profile), ("divergence", self.divergence_profile)):
                columns |= {name: found.values, f"{name}_lower": found.low, f"{name}_upper": found.high}
            return pl.DataFrame(columns)
        if what == "floors":
            return pl.DataFrame(self.to_dict()["floor_sensitivity"])
        return pl.DataFrame([self.figures()])

    def figures(self) -> dict[str, float]:
        """Headline figures by name, in the order of the printed table."""
        return {
            **{f"reported_{f.name}": getattr(self.reported, f.name) for f in fields(Averages)},
            **{f"measured_{f.name}": getattr(self.measured, f.name) for f in fields(Averages)},
            "prediction_accuracy": self.prediction_accuracy,
            "slope": self.slope,
            "orientation": self.orientation,
            "divergence_probability": self.divergence_probability,
            **self.scores,
        }

    def plot(self, ax: Axes | None = None, *, axes: AxesOrder = "reported") -> Axes:
        """Draw measured against reported probability, with the distribution of what was reported beside it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. A strip is cut off the Axes for the distribution.
        axes : {"reported", "nelson"}, default "reported"
            Reported probability on x, as calibration plots have it, or on y, as [N17] has it.

        Returns
        -------
        matplotlib.axes.Axes
            The main Axes; ``.figure`` saves it.
        """
        from ..report.plots import plot_assessment

        return plot_assessment(self, ax, axes)

    def _page(self, name: str, command: str) -> str:
        from ..report.page import assessment_page

        return assessment_page(self, name=name, command=command)

    def __repr__(self) -> str:
        """Name it in one line."""
        of = f"{number_of(self.n_rows, 'forecast')} of {self.n_classes:,} classes"
        return f"<Assessment of {of}: geometric accuracy {self.reported.geometric_accuracy:.3f}>"

    def __str__(self) -> str:
        """Give the assessment as text for a terminal."""
        from ..report.text import assessment_text

        return assessment_text(self)

    def _repr_html_(self) -> str:
        from ..report.notebook import assessment_card

        return assessment_card(self)


def _frame(name: str, table: BinTable | ClassTable | PredictedTable | SurpriseTable | None) -> pl.DataFrame:
    import polars as pl

    if table is None and name == "surprises":
        raise InputError(
            "what: 'surprises' takes a tally with parts=['surprises'] (--parts surprises), or rows to assess."
        )
    if table is None:
        raise InputError(
            f"what: {name!r} is a table of the each-class view; assess with view='each-class', a tally with"
            f" parts={[*CLASS_PARTS]}."
        )
    columns = {f.name: getattr(table, f.name) for f in fields(table)}
    texts = {key: values for key, values in columns.items() if isinstance(values, tuple)}
    for key, values in texts.items():
        columns[key] = pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    first = {"label": columns.pop("label")} if texts.get("label") else {}
    return pl.DataFrame(first | {key: column for key, column in columns.items() if key not in texts or len(column)})


def assess(
    y_true: Any,
    y_prob: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    floor: Floor = DEFAULT_FLOOR,
    limit: Limit = "floor",
    measured: str | Estimator = "shrunk-isotonic",
    view: View | Auto = "auto",
    orders: ArrayLike | None = None,
    scores: Sequence[str] = (),
    ignore_label: Label | Sequence[Label] | None = None,
    renormalize: bool = False,
    drop_invalid: bool = False,
    percent: bool = False,
    from_logits: bool = False,
    from_log_probs: bool = False,
    groups: Any = None,
    confidence: float = 0.95,
    resamples: int = 400,
    seed: int = 0,
    exact_limit: int = EXACT_LIMIT,
    fraction_bits: int = FRACTION_BITS,
    n_jobs: int | None = None,
) -> Assessment:
    """Assess reported probabilities against what happened: how good they are and what is wrong with them.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        What happened: class labels (ints, bools, strings) or one-hot rows. Or a `Tally`, which already holds
        forecasts and outcomes; then the arguments that concern the reading of rows are not accepted.
    y_prob : array_like of shape (n,) or (n, C), or a data frame
        Reported probabilities: of the positive class, or of each class.
    sample_weight : array_like of shape (n,), optional
        Non-negative importance weights: weight 2 is the row twice, but to an estimator of the measured probability that
        asks how many rows there are; it counts what they are worth in rows of equal weight.
    labels : sequence, optional
        Class labels in the order of the probability columns; (negative, positive) for one column.
    pos_label : label, optional
        The label whose probability a single column gives. 0/1, -1/1 and true/false need none.
    floor : float or "auto", default "auto"
        Probabilities below it are raised to it before averaging; "auto" is 0.01 / C for C classes, which for two is
        the 0.005 of [CM].
    limit : {"floor", "both"}, default "floor"
        ``"both"`` also lowers those above ``1 - floor``, as [N17] does.
    measured : str or Estimator, default "shrunk-isotonic"
        Estimator of the measured probability: a key of `ESTIMATORS`, or one of them with settings, as in
        ``ESTIMATORS["equal-width"](bins=20)`` or ``"equal-width:bins=20"``.
    view : {"auto", "all-classes", "top-label", "each-class"}, default "auto"
        Which pairs are measured: those of all classes together, of each row's most probable class, or of each class
        by itself, which adds ``classes``, ``class_average`` and ``predicted``. "auto" is each-class for two classes,
        which have one curve, that of the positive class, and all-classes for more. The top-label view has a curve, but
        no measured means, slope or divergence. A tally of more than two classes needs the part "classes" for the
        each-class view, and "predictions" for ``predicted``.
    orders : array_like, optional
        Orders of the risk profile; 121 from -3 to 3 by default.
    scores : sequence of str, default ()
        Scoring rules to compute beside those of `SCORES`, by names that `score_named` knows.
    ignore_label : label or sequence of labels, optional
        Rows with such an outcome are left out, and reported.
    renormalize : bool, default False
        Divide each row by its sum, and report it.
    drop_invalid : bool, default False
        Leave out rows without an outcome or with invalid probabilities, and report them.
    percent, from_logits, from_log_probs : bool, default False
        What y_prob holds instead of probabilities. Never guessed.
    groups : array_like of shape (n,) or (n, k), mapping from name to such, or data frame, optional
        What rows belong together (the match, the document): rows of a group, which have the same values in all
        columns, may depend on one another, and intervals take only different groups to be independent.
    confidence : float, default 0.95
        Of the intervals.
    resamples : int, default 400
        How many samples the intervals of what is measured, the bands and the calibration test are made from; 0 for
        none of these. They are drawn when first asked for.
    seed : int, default 0
        Of the random numbers that draw them.
    exact_limit, fraction_bits, n_jobs : int, optional
        As in `Tally.of`.

    Returns
    -------
    Assessment

    Raises
    ------
    InputError
        For input that cannot be assessed as it stands, naming rows (counted from 0), column and remedy.

    Notes
    -----
    Reported means are generalized means of order 1, 0 and -2/3 of the probabilities given to what happened;
    measured means are the same of the estimated frequencies. Sources: Nelson 2017 [N17]; the
    classifier-metrics-at-scale paper [CM].

    Examples
    --------
    >>> from unperplexed import assess
    >>> result = assess([1, 1, 0, 1], [0.9, 0.6, 0.3, 0.5])
    >>> round(result.reported.geometric_accuracy, 4)
    0.6593
    >>> result.prediction_accuracy
    0.875
    """
    settings = AssessmentSettings(floor, limit, measured, view, orders, confidence, resamples, seed)
    reading: RowReading = {
        "sample_weight": sample_weight,
        "labels": labels,
        "pos_label": pos_label,
        "ignore_label": ignore_label,
        "renormalize": renormalize,
        "drop_invalid": drop_invalid,
        "percent": percent,
        "from_logits": from_logits,
        "from_log_probs": from_log_probs,
        "groups": groups,
    }
    counting: dict[str, Any] = {
        "scores": scores,
        "exact_limit": exact_limit,
        "fraction_bits": fraction_bits,
        "n_jobs": n_jobs,
    }
    if isinstance(y_true, Tally):
        refuse_rows({"y_prob": y_prob, **reading, **counting})
        return assess_tally(y_true, settings)
    if y_prob is None:
        raise InputError("y_prob: missing; assess takes outcomes and probabilities, or a Tally.")
    forecasts = Forecasts(y_true, y_prob, **reading)
    tally = Tally.count(forecasts, parts=parts_for(view, groups, sample_weight), diagnosed=False, **counting)
    result = assess_tally(tally, settings)
    if tally.n_classes == 2 and not tally.grouped:
        return result
    return result.diagnosed_by(partial(_diagnosed, forecasts, tally))


def _diagnosed(forecasts: Forecasts, tally: Tally) -> Diagnosis:
    """Diagnose rows in memory, which are still those that were assessed."""
    p, w = forecasts.correct_class_probabilities()
    points = tally.points()
    before, now = (np.average(each, weights=weight) for each, weight in ((points.p, points.weight), (p, w)))
    if not math.isclose(before, now, rel_tol=1e-6):
        raise InputError("y_prob: the array was changed after it was assessed. Pass a copy, or ask for .verdict first.")
    return diagnosis_of_rows(rows_of(lambda: [forecasts]), forecasts.labels)


def parts_for(view: str | None, groups: Any, weights: Any) -> list[str]:
    """Parts of a tally that an assessment is made from, given its view and what rows have, None being nothing."""
    shards = ["shards"] if groups is not None or weights is not None else []
    return [*(CLASS_PARTS if view == "each-class" else ()), *shards, "surprises"]


def assess_tally(tally: Tally, settings: AssessmentSettings) -> Assessment:
    """Assess what a tally has counted.

    Raises
    ------
    InputError
        For a tally without weight, and for a view that it does not know.
    """
    view, limit = _view_of(tally, settings.view), settings.limit
    _check_assessable(tally, view)
    floor = floor_for(settings.floor, tally.n_classes)
    # Counted in rows of equal weight, so that what an estimator makes of their number depends on the weights' ratios.
    rows = independent_rows(tally, view)

    def measure(pairs: Pairs) -> Estimate:
        return settings.estimator.measure(pairs.reported, pairs.happened * rows, pairs.total * rows, floor=floor)

    points = tally.points()

    def profile(orders: Floats) -> RiskProfile:
        alone = profile_of_points(points.p, points.weight, points.weight_squared, orders, floor, limit)
        return of_groups(alone, tally)

    headline = profile(HEADLINE_ORDERS)
    reported = Averages(*headline.values.tolist())
    labels: tuple[Label | None, ...] = ()
    two = tally.n_classes == 2
    if view == "each-class":
        each, labels = tally.each_class(), tally.labels
    else:
        pairs = tally.pairs(view)
        shown = points if view == "all-classes" else tally.points(view)
        each = EachGroup(pairs, shown, np.array([0, pairs.total.size]))
    estimate = measured_each(each, measure, mirrored=two and bool(labels))
    found, occurred = Averages(math.nan, math.nan, math.nan), None
    if view != "top-label":
        seen = each.pairs.happened > 0
        occurred = apply_limit(estimate.measured[seen], floor, limit), each.pairs.happened[seen]
        found = averages(*occurred)
    return Assessment(
        reported=reported,
        measured=found,
        prediction_accuracy=tally.prediction_accuracy,
        slope=slope(reported, found),
        orientation=orientation(reported, found),
        divergence_probability=divergence_probability(reported, found),
        scores={name: tally.score(name) for name in tally.scores},
        score_standard_errors={name: tally.score_standard_error(name) for name in tally.scores},
        profile=profile(settings.profile_orders),
        bins=_bin_table(each, estimate, apply_limit(each.points.p, floor, limit), labels),
        curve=_curve(*(_second_of(each, estimate) if two and labels else (each, estimate, labels))),
        distribution=_distribution(points),
        floor_sensitivity=sensitivity_of_points(points.p, points.weight),
        n_rows=tally.n_rows,
        n_classes=tally.n_classes,
        labels=tally.labels,
        weighted=tally.weighted,
        effective_rows=tally.effective_rows,
        independent_rows=tally.independent_rows,
        grouped=tally.grouped,
        zero_given=float(points.weight[points.p == 0].sum()),
        notes=tally.notes,
        floor=float(floor),
        limit=limit,
        view=view,
        estimator=settings.estimator.name,
        estimator_settings=dict(estimate.settings),
        exact=tally.exact,
        exact_limit=tally.exact_limit,
        fraction_bits=tally.fraction_bits,
        bias=bias_of(tally),
        surprises=_surprises(tally, reported, floor, limit),
        **(_by_class(tally, each, estimate, measure, floor, limit) if labels else {}),
        _source=_Source(tally, headline, settings.estimator, settings.sampling, measured=occurred),
    )


def _view_of(tally: Tally, view: View | Auto) -> View:
    """Return the view that is meant: by default each class for two classes, if the tally knows them, else all."""
    if view != "auto":
        return view
    return "each-class" if tally.n_classes == 2 and tally.knows_classes else "all-classes"


def _second_of(each: EachGroup, estimate: Estimate) -> tuple[EachGroup, Estimate, tuple[Label | None, ...]]:
    """Return the second of two classes alone."""
    size = int(each.first[1])
    pairs = Pairs(*(column[size:] for column in each.pairs))
    alone = Estimate(estimate.measured[size:], estimate.bin[size:], estimate.settings)
    return EachGroup(pairs, each.points, np.array([0, pairs.total.size])), alone, ()


def _check_assessable(tally: Tally, view: View) -> None:
    if not tally.weight > 0:
        if tally.n_rows:
            raise InputError("the total weight is 0; nothing is left to assess.")
        left_out = sum(tally.notes.dropped.values()) + tally.notes.ignored
        raise InputError(
            "no rows to assess" + (f": all {left_out:,} were left out as invalid or ignored." if left_out else ".")
        )
    if view == "each-class" and not tally.knows_classes:
        raise InputError(
            "view: 'each-class' is made from the part 'classes', which this tally was counted without; count it with"
            f" parts={[*CLASS_PARTS]} (--parts {' '.join(CLASS_PARTS)})."
        )


def _by_class(
    tally: Tally, each: EachGroup, estimate: Estimate, measure: Measure, floor: float, limit: Limit
) -> dict[str, Any]:
    """Tables of the each-class view."""
    independent = not tally.weighted and not tally.grouped
    table = class_table(each, estimate, tally.labels, tally.weight, floor, limit, independent)
    found: dict[str, Any] = {"classes": table, "class_average": class_average(table)}
    if tally.predictions is not None or tally.binary is not None:
        tops = tally.each_class("predictions")
        found["predicted"] = predicted_table(tops, measured_each(tops, measure), tally.labels, tally.weight)
    return found


def _surprises(tally: Tally, reported: Averages, floor: float, limit: Limit) -> SurpriseTable | None:
    if tally.surprises is None:
        return None
    p, weight = (np.array([getattr(row, name) for row in tally.surprises]) for name in ("probability", "weight"))
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = weight * np.log(apply_limit(p, floor, limit)) / (tally.weight * np.log(reported.geometric_accuracy))
    return surprise_table(tally.surprises, tally.labels, losses)


def _distribution(points: Points) -> Histogram:
    edges = np.arange(_INTERVALS + 1) / _INTERVALS
    interval = np.minimum(np.searchsorted(edges, points.p, side="right") - 1, _INTERVALS - 1)
    weight = np.bincount(interval, points.weight, minlength=_INTERVALS)
    return Histogram(edges, weight / weight.sum())


def _curve(each: EachGroup, estimate: Estimate, labels: tuple[Label | None, ...]) -> Curve:
    """Thin an estimate out to what a picture can show, each class's by itself."""
    runs = [np.arange(*ends) for ends in zip(each.first[:-1], each.first[1:], strict=True)]
    most = max(500 // len(runs), 10)
    for at, run in enumerate(runs):
        if run.size > most:
            reported = each.pairs.reported[run]
            runs[at] = run[np.unique(np.searchsorted(reported, np.linspace(0, reported[-1], most)))]
    shown = np.concatenate(runs)
    label = tuple(label for label, run in zip(labels, runs, strict=False) for _ in run)
    return Curve(each.pairs.reported[shown], estimate.measured[shown], label)


def _bin_table(each: EachGroup, estimate: Estimate, p: Floats, labels: tuple[Label | None, ...]) -> BinTable:
    """Bins of an estimate: p are the floored values that happened."""
    pairs, points = each.pairs, each.points
    first: Ints = np.flatnonzero(np.diff(estimate.bin, prepend=-1))
    last = np.append(first[1:], estimate.bin.size) - 1
    happened = np.add.reduceat(pairs.happened, first)
    total = np.add.reduceat(pairs.total, first)
    means = np.full((3, first.size), np.nan)
    bin_of_point = estimate.bin[points.entry]
    starts = np.flatnonzero(np.diff(bin_of_point, prepend=-1))
    means[:, bin_of_point[starts]] = means_of_runs(p, points.weight, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        contribution = np.where(happened > 0, happened / happened.sum() * np.log(means[1]), 0.0)
    table = BinTable(
        lowest=pairs.reported[first],
        highest=pairs.reported[last],
        mean_reported=np.add.reduceat(pairs.reported * pairs.total, first) / total,
        decisiveness=means[0],
        geometric_accuracy=means[1],
        robustness=means[2],
        measured=happened / total,
        happened=happened,
        total=total,
        contribution=contribution,
        label=tuple(labels[at] for at in class_of_entries(each)[first]) if labels else (),
    )
    return _bins_of_two(table) if len(labels) == 2 else table


def _bins_of_two(table: BinTable) -> BinTable:
    """Return the bins of the second of two classes, with the contributions of both; the first's mirror them."""
    half = len(table) // 2
    columns = {f.name: getattr(table, f.name)[half:] for f in fields(BinTable) if f.name != "label"}
    columns["contribution"] = columns["contribution"] + table.contribution[:half][::-1]
    return BinTable(**columns)
