"""Charts of an assessment, as marks: the reliability diagram, each class's curve, and the risk profile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from .._lib.formatting import confidence_interval, number_of, short_name
from .._lib.typing import Floats, ReadOnlyArrays
from ..assessment.familiar import PrecisionRecall, ProbabilityGroups, probability_groups
from ..assessment.result import Assessment
from ..assessment.risk_profile import RiskProfile
from ..calibration.curve_band import rising_band
from ..calibration.estimators import Estimator, measured_of_samples
from ..calibration.resampling import positive_pairs
from ..kernels.rows import COARSE
from ..report.chart import Axis, Bars, Chart, Line, Mirror, Points, Reference, Role, percent_axis, percent_end, thinned
from ..report.charts import identity, unit_axis
from ..report.numbers import between, count, number, share
from ..statistics.intervals import Interval
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST, t_quantile
from ..tally.tables import Pairs
from ..tally.tally import Tally

MOST_CURVES = 20
"""Classes whose own curves are shown."""

_BARS = 25
"""Bars of the histogram below a reliability diagram."""

_NAMED = (ROBUST, GEOMETRIC, DECISIVE)


class Event(Frozen):
    """What the reliability diagram is about: the positive one of two classes, or whether the top class is observed."""

    assessment: Assessment

    @cached_property
    def tally(self) -> Tally:
        """Counts that the assessment was read from."""
        return self.assessment.source.tally

    @cached_property
    def two(self) -> bool:
        """Whether it is the positive one of two classes."""
        return self.tally.n_classes == 2 and positive_pairs(self.tally, "each-class") is not None

    @cached_property
    def pairs(self) -> Pairs:
        """Predicted probabilities of the event, with the weights of events and of all rows."""
        return (positive_pairs(self.tally, "each-class") if self.two else None) or self.tally.pairs("top-label")

    @property
    def name(self) -> str:
        """The event in a few words: "'rain'", "the most probable class"."""
        return class_text(self.assessment, 1) if self.two else "the most probable class"

    def rows(self, weight: float) -> str:
        """Give a weight as a number of rows, or of effective rows where weights differ."""
        scale = self.tally.weight / self.tally.weight_squared if self.tally.weighted else 1.0
        return f"{count(round(weight * scale))} {'effective ' * self.tally.uneven}rows"

    @cached_property
    def groups(self) -> ProbabilityGroups:
        """Rows in groups of about equal size: as many as leave each some 25 rows, from 5 to 15."""
        return probability_groups(self.pairs, int(np.clip(self.assessment.effective_rows // 25, 5, 15)))

    @cached_property
    def intervals(self) -> list[Interval]:
        """Wilson's interval of each group; NaN for rows with weights or in clusters."""
        if self.tally.weighted or self.tally.clustered:
            return [Interval(math.nan, math.nan)] * len(self.groups)
        return self.groups.intervals(float(t_quantile(self.confidence, math.inf)))

    @property
    def confidence(self) -> float:
        """Confidence level of intervals and bands."""
        return self.assessment.source.sampling.confidence

    @cached_property
    def curve(self) -> OwnCurve:
        """Calibration curve of the event with its band: the assessment's own where that shows the event."""
        a = self.assessment
        if self.two and a.view == "each-class":
            band = a.uncertainty.curve
            low, high = (np.interp(a.curve.reported, band.reported, x) for x in (band.low, band.high))
            curve = a.curve.measured  # of values, which the band has cells of
            return OwnCurve(a.curve.reported, curve, np.minimum(low, curve), np.maximum(high, curve))
        return curve_of(a, self.pairs)


def curve_of(a: Assessment, pairs: Pairs, band: bool = True) -> OwnCurve:
    """Curve of some pairs by the assessment's estimator; without a band for dependent rows and uneven weights."""
    tally = a.source.tally
    return own_curve(
        pairs,
        a.source.estimator,
        scale=tally.weight / tally.weight_squared,
        confidence=a.source.sampling.confidence if band and tally.exchangeable else None,
        floor=a.floor,
    )


def class_text(a: Assessment, index: int) -> str:
    """Quote a class's label, short; its column where no label is known."""
    label = a.labels[index]
    return f"column {index}" if label is None else f"'{short_name(str(label))}'"


def precision_chart(event: Event, curve: PrecisionRecall) -> Chart:
    """Draw precision over recall with its band, and the frequency of the event, which acting at random has."""
    average = event.assessment.average_precision
    title = f"Average precision {number(average.value) if average else ''}"
    return Chart(
        title=title,
        subtitle=f"{confidence_interval(event.confidence)[:-3]} band; the dashed line is acting at random",
        label=f"Precision over recall of {event.name}. {title}.",
        x=percent_axis(f"Recall: share of the rows with {event.name} that are acted on"),
        y=percent_axis("Precision. Larger is better"),
        lines=[Line(curve.recall, curve.precision, "observed", "Precision", curve.low, curve.high, label="Precision")],
        references=(Reference((0.0, 1.0), (curve.frequency, curve.frequency)),),
    )


def reliability_chart(event: Event, *, after_remedy: bool = True) -> Chart:
    """Make the reliability diagram: the event's own curve with its band, groups with intervals, and a histogram.

    With `after_remedy` it has the curve after a significant remedy too, which takes a cross-fitted recalibration.
    """
    curve, groups = event.curve, event.groups
    level = confidence_interval(event.confidence)
    of_groups = np.array(event.intervals)
    certain = bool(np.isfinite(of_groups).any())
    points = Points(groups.mean, groups.observed, *((of_groups[:, 0], of_groups[:, 1]) if certain else (None, None)))
    end = percent_end(event.pairs.reported, curve.observed, groups.observed, of_groups[:, 1])
    line = curve.line("observed", "Observed", label="Observed frequency", end=end)
    title = _finding(event)
    shown = " and ".join(["band"] * (line.low is not None) + ["intervals"] * certain)
    about = f"{number_of(len(groups), 'group')} of about {event.rows(float(groups.total.mean()))}"
    of = event.name
    return Chart(
        title=title,
        subtitle=f"{level[:-3]} {shown}; {about}" if shown else about,
        label=f"Reliability diagram of {of}. {title}. {_in_words(event, end)}",
        x=percent_axis(f"Predicted probability of {of}", end),
        y=percent_axis(
            f"Observed frequency of {of}" if event.two else "Share of rows whose top class is observed", end
        ),
        lines=(line, *(_after_remedy(event) if after_remedy else ())),
        points=(points,),
        references=(identity(end),),
        shape="square",
        mirror=_mirror(event, end),
    )


def _after_remedy(event: Event) -> list[Line]:
    """Give the curve where the predictions are after the remedy, which is fitted to the same rows; two classes only."""
    remedy = event.assessment.remedy
    if not event.two or remedy is None or not remedy.significant:
        return []
    after = remedy.recalibrator.transform(event.curve.predicted)
    x, y = thinned(np.asarray(after, dtype=np.float64), event.curve.observed)
    return [Line(x, y, "remedy", label="After the remedy")] if x.size > 1 else []


def _finding(event: Event) -> str:
    """State what the diagram shows, as far as it was tested."""
    d = event.assessment.diagnosis
    neutral = f"Observed frequency of {event.name} by predicted probability"
    if not d.made:
        return neutral
    if not d.findings:
        return "No evidence that the curve differs from the identity line"
    first, gap = d.findings[0], float(event.groups.total @ (event.groups.mean - event.groups.observed))
    if first.error == "bias" and event.two:
        return f"{event.name} occurs {'less' if gap > 0 else 'more'} often than predicted"
    if not event.two:
        if not _distinct(event):
            return neutral
        how = "less" if gap > 0 else "more"
        return f"The top class is observed {how} often than predicted"
    if first.error == "confidence":
        over = first.parameter < 0
        return (
            "High predictions are too high, low ones too low" if over else "Predictions are too close to the base rate"
        )
    return "The curve departs from the identity line"


_REACH = 1.96
"""Standard errors that a calibrated forecaster's mean is off by in 5% of all cases."""


def _distinct(event: Event) -> bool:
    """Whether mean prediction and observed frequency differ by more than 1.96 standard errors, were they calibrated."""
    share = event.groups.total / event.groups.total.sum()
    gap = abs(float(share @ (event.groups.mean - event.groups.observed)))
    return gap > _REACH * math.sqrt(float(share @ event.groups.variance) / event.tally.independent_rows)


def _in_words(event: Event, end: float) -> str:
    """Say where the curve runs, for those who do not see it."""
    curve = event.curve
    shown = [at for at in end * np.array([0.1, 0.3, 0.5, 0.7, 0.9]) if curve.predicted[0] <= at <= curve.predicted[-1]]
    found = [f"{share(float(np.interp(at, curve.predicted, curve.observed)))} at {share(at)}" for at in shown]
    return f"Observed frequency by the curve: {', '.join(found)}." if found else ""


def _mirror(event: Event, end: float) -> Mirror:
    p, happened, total = event.pairs
    edges = np.linspace(0, end, _BARS + 1)
    at = np.minimum((p / end * _BARS).astype(np.int64), _BARS - 1)
    up, down = (np.bincount(at, x, _BARS).astype(np.float64) for x in (happened, np.maximum(total - happened, 0)))
    events, others = float(up.sum()), float(down.sum())
    labels = (f"with {event.name}", "without") if event.two else ("correct", "wrong")
    return Mirror(
        edges,
        up / max(events, 1e-300),
        down / max(others, 1e-300),
        f"{event.rows(events)} {labels[0]}",
        f"{event.rows(others)} {labels[1]}",
    )


def class_charts(a: Assessment) -> list[Chart]:
    """Each class's own curve, the most miscalibrated classes first."""
    of_classes = a.by_class
    if of_classes is None or of_classes.classes is None:
        return []
    each = of_classes.source.tally.each_class()
    found = []
    for index in of_classes.classes.index[:MOST_CURVES].tolist():
        here = slice(int(each.first[index]), int(each.first[index + 1]))
        pairs = Pairs(*(column[here] for column in each.pairs))
        if not pairs.happened.any():
            continue
        curve = curve_of(a, pairs)
        name = class_text(a, index)
        found.append(_small(name.strip("'"), f"Reliability curve of {name}", curve.line(most=_SMALL)))
    return found


_SMALL = 40
"""Points of a curve of a small chart."""


def _small(title: str, label: str, line: Line, points: Sequence[Points] = ()) -> Chart:
    """Make a reliability diagram for a row of several."""
    return Chart(
        title=title,
        label=label,
        x=percent_axis(""),
        y=percent_axis(""),
        lines=(line,),
        points=points,
        references=(identity(label=""),),
        shape="small",
    )


def small_chart(a: Assessment, name: str, headline: str) -> Chart:
    """Make the reliability diagram of one of many assessments, with its headline and without bands."""
    event = Event(a)
    line, groups = curve_of(a, event.pairs, band=False).line(most=_SMALL), event.groups
    means = [share(np.average(each, weights=groups.total)) for each in (groups.mean, groups.observed)]
    label = (
        f"Reliability diagram of {name}, {count(a.n_rows)} rows: {headline}. Mean prediction of"
        f" {event.name} {means[0]}, observed {means[1]}"
    )
    return _small(name, label, line, (Points(groups.mean, groups.observed),))


def profile_chart(a: Assessment) -> Chart:
    """Risk profile: average of the probabilities assigned to the outcomes, by order, as predicted and calibrated."""
    measured = a.measured_profile
    lines = [profile_line(a.profile, a.source.sampling.confidence, "observed", "Predicted")]
    there = np.isfinite(measured.orders) & np.isfinite(measured.values)
    if there.any():
        orders, values = measured.orders[there], measured.values[there]
        lines.append(Line(orders, values, "calibrated", "Calibrated", label="Calibrated"))
    named = np.array(_NAMED)
    points = (Points(named, np.interp(named, lines[0].x, lines[0].y)),) if lines[0].x.size else ()
    return profiles_of(lines, "Risk profile: average probability assigned to the outcomes, from order", points)


def profile_line(profile: RiskProfile, confidence: float | None, role: Role, name: str) -> Line:
    """Make the curve of a risk profile.

    Parameters
    ----------
    profile : RiskProfile
        What is drawn, at its finite orders.
    confidence : float or None
        Confidence level of its band, in (0, 1); None for no band.
    role : Role
        What the curve stands for.
    name : str
        Its name, under the cursor and beside it.

    Returns
    -------
    Line
    """
    finite = np.isfinite(profile.orders)
    low, high = (None, None) if confidence is None else (x[finite] for x in profile.interval(confidence))
    return Line(profile.orders[finite], profile.values[finite], role, name, low, high, name)


def profiles_of(lines: Sequence[Line], label: str, points: Sequence[Points] = ()) -> Chart:
    """Make a chart of risk profiles, which begins to say to those who do not see it what it shows."""
    orders = lines[0].x
    ends = (float(orders.min()), float(orders.max())) if orders.size else (0.0, 1.0)
    spoken = "; ".join(f"{each.name} {number(float(each.y[0]))} to {number(float(each.y[-1]))}" for each in lines)
    return Chart(
        title="",
        label=f"{label} {ends[0]:g} to {ends[1]:g}. {spoken}.",
        x=_order_axis(*ends),
        y=unit_axis("Average probability assigned to the outcomes"),
        lines=lines,
        points=points,
    )


def _order_axis(low: float, high: float) -> Axis:
    """Make an axis of orders with a tick at whole ones."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    step = max(1, round((high - low) / 8))
    ticks = [(float(at), number(at, 0)) for at in range(math.ceil(low), math.floor(high) + 1, step)]
    return Axis(low, high, ticks, "Order of the average")


_MEANS = ("robustness", "geometric_accuracy", "decisiveness")


def bars_chart(a: Assessment) -> Chart:
    """Make the bars of the bins' measured probabilities, the identity line, and the averages with their line.

    Parameters
    ----------
    a : Assessment
        What is drawn, with the classes pooled or with one curve.

    Returns
    -------
    Chart

    Raises
    ------
    InputError
        For bins of each class, which lie over one another.
    """
    if a.bins.label:
        raise InputError("kind: 'bars' draws the bins of one curve; assess with view='all-classes'.")
    x, y = (np.array([getattr(means, name) for name in _MEANS]) for means in (a.reported, a.measured))
    there = bool(np.isfinite(y).all())
    names = [name.replace("_", " ").capitalize() for name in _MEANS]
    texts = [
        f"{name}: reported {number(p)}, measured {number(q)}"
        for name, p, q in zip(names, x.tolist(), y.tolist(), strict=True)
    ]
    slope = "" if math.isnan(a.averages_slope) else f"Slope {number(a.averages_slope, 2)}"
    interval = a.intervals["averages_slope"]
    limits = between(*interval, lambda value: number(value, 2))
    about = f"{number_of(len(a.bins), 'bin')} of {a.estimator}"
    return Chart(
        title=_title(a, slope, limits),
        subtitle=f"Bars are measured probabilities of {about}; R, G, D are robustness, geometric accuracy and"
        f" decisiveness of the probabilities assigned to the outcomes, at the floor {a.floor:.3g}",
        label=f"Measured by reported probability, {about}. {'; '.join(texts) if there else 'No averages in this view'}."
        f" {slope}".rstrip(),
        x=unit_axis("Reported probability"),
        y=unit_axis("Measured probability"),
        bars=(_bars(a),),
        lines=(Line(x[[0, 2]], y[[0, 2]], "second", label=slope),) if there else (),
        points=(Points(x, y, role="second", labels=("R", "G", "D"), texts=texts),) if there else (),
        references=(identity(),),
        shape="square",
    )


def _title(a: Assessment, slope: str, limits: str) -> str:
    """State slope and interval, which are what the picture is for."""
    if not slope:
        return "Measured by reported probability"
    return f"{slope} of the averages" + (f", {100 * a.uncertainty.confidence:.10g}% CI {limits}" if limits else "")


def _bars(a: Assessment) -> Bars:
    """Bars as wide as the bins, and no narrower than can be seen."""
    bins, least = a.bins, 0.004
    middle, half = (bins.highest + bins.lowest) / 2, np.maximum(bins.highest - bins.lowest, least) / 2
    left: Floats = np.clip(middle - half, 0, 1 - least)
    right = np.clip(middle + half, least, 1)
    texts = [
        f"Reported {number(low)} to {number(high)}: measured {number(height)}, {count(total)} pairs"
        for low, high, height, total in zip(bins.lowest, bins.highest, bins.measured, bins.total, strict=True)
    ]
    return Bars(left, right, bins.measured, texts)


class OwnCurve(ReadOnlyArrays):
    """Estimated frequency of the event at predicted probabilities, with a band; NaN limits where there is none."""

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats

    def line(
        self, role: Role = "observed", name: str = "", *, label: str = "", most: int = 90, end: float = 1.0
    ) -> Line:
        """Make the curve with its band, if there is one, at no more points than a picture shows.

        Parameters
        ----------
        role : Role, default "observed"
            What the curve stands for.
        name, label : str, default ""
            Its name under the cursor, and what is written beside it.
        most : int, default 90
            Number of points.
        end : float, default 1
            Where the axis ends, and the band.

        Returns
        -------
        Line
        """
        x, y, low, high = thinned(self.predicted, self.observed, self.low, np.minimum(self.high, end), most=most)
        if not np.isfinite(low).any():
            return Line(x, y, role, name, label=label)
        return Line(x, y, role, name, low, high, label)


def own_curve(
    pairs: Pairs,
    estimator: Estimator,
    *,
    scale: float = 1.0,
    confidence: float | None = 0.95,
    floor: float = 0.0,
) -> OwnCurve:
    """Estimate the calibration curve of pairs, in at most 256 cells, and a band for each point by itself.

    Parameters
    ----------
    pairs : Pairs
        Predicted probabilities in increasing order, weights of events and of all rows.
    estimator : Estimator
        Estimator of the measured (calibrated) probability.
    scale : float, default 1
        Number of rows of equal weight to a unit of weight.
    confidence : float, optional
        Confidence level of the band, in (0, 1); None for no band.
    floor : float, default 0
        Passed to the estimator.

    Returns
    -------
    OwnCurve
        Its band is that of curves that never fall (`rising_band`) and holds the estimate. It assumes independent rows.

    Examples
    --------
    >>> from unperplexed import ESTIMATORS, Tally
    >>> pairs = Tally.of([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]).positive_pairs()
    >>> own_curve(pairs, ESTIMATORS["isotonic"], confidence=None).observed.tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    cell = COARSE.places(pairs.reported)[0]
    cell = np.cumsum(np.diff(cell, prepend=cell[:1]) != 0)
    total, happened, forecast_sum = (
        np.bincount(cell, x).astype(np.float64) * scale
        for x in (pairs.total, pairs.happened, pairs.total * pairs.reported)
    )
    p = forecast_sum / total
    observed = measured_of_samples(estimator, p, happened[None], total[None], floor)[0]
    low, high = np.full((2, p.size), np.nan)
    if confidence is not None:
        low, high = rising_band(happened, total, float(t_quantile(confidence, math.inf)))
        low, high = np.fmin(low, observed), np.fmax(high, observed)
    return OwnCurve(p, observed, low, high)
