"""Charts of predictive distributions: where outcomes fell (PIT histogram), quantiles, intervals, and surprises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._lib.formatting import confidence_interval, short_name, short_names
from .._lib.typing import Floats
from ..assessment.distribution_result import DistributionAssessment, DistributionBreakdown, SurprisingForecasts
from ..forecasts.group_keys import key_texts
from ..report.chart import Axis, Bars, Chart, Line, Points, percent_axis, value_axis
from ..report.charts import Row, forest, identity
from ..report.numbers import amount, level_text, number, share

_PLACES = ((0.0, "0"), (0.1, "10%"), (0.25, "25%"), (0.5, "median"), (0.75, "75%"), (0.9, "90%"))
"""Ticks of places in a distribution."""

_MOST_TICKS = 6
_SHARES, _TIMES = (0.01, 0.02, 0.05, 0.1, 0.2), (0.5, 1, 2, 5, 10, 20, 50)
"""Steps between ticks of shares, and of shares for each expected one."""

_MOST_THRESHOLDS = 10
"""Thresholds that are named on an axis."""

_MOST_ROWS = 40
"""Groups that a chart shows."""


def pit_chart(a: DistributionAssessment) -> Chart:
    """Draw where the outcomes were in their forecast distributions, with a band of calibrated forecasts.

    Bars of unequal width are as high as their shares are for each share that is expected.
    """
    pit = a.pit
    unit = float(pit.expected.min()) if np.ptp(pit.expected) < 1e-9 else 1.0
    named = np.abs(pit.fitted - pit.expected).max() > 1e-9
    shown, low, high, fitted = (unit * each / pit.expected for each in (pit.share, pit.low, pit.high, pit.fitted))
    middles = (pit.edges[:-1] + pit.edges[1:]) / 2
    return Chart(
        title=a.headline,
        subtitle=f"{sides(a)}. Solid bars are outside of the band",
        label=f"PIT histogram. {a.verdict}. {sides(a)}",
        x=Axis(0.0, 1.0, _PLACES, "Where the outcome was in the forecast distribution"),
        y=_heights(float(max(shown.max(), fitted.max(), high.max())), unit),
        bars=[_bars(a, shown, ~pit.outside, solid=False), _bars(a, shown, pit.outside, solid=True)],
        lines=(
            _steps(pit.edges, np.full(shown.size, unit), low, high, f"calibrated, {100 * a.confidence:g}% band"),
            *([Line(middles, fitted, "first", "Fitted error", label="fitted error")] * bool(named)),
        ),
    )


def sides(a: DistributionAssessment) -> str:
    """Say how many outcomes were below, inside and above an interval."""
    q = a.quantiles
    low, high = (int(np.argmin(np.abs(q.level - at))) for at in (0.1, 0.9))
    below, above, inside = q.share[low], 1 - q.share[high], q.level[high] - q.level[low]
    return (
        f"{share(below)} below the {level_text(q.level[low])} quantile, {share(1 - below - above)} inside,"
        f" {share(above)} above the {level_text(q.level[high])} quantile"
        f" (expected {level_text(q.level[low])}, {level_text(inside)}, {level_text(1 - q.level[high])})"
    )


def _bars(a: DistributionAssessment, height: Floats, some: Floats, *, solid: bool) -> Bars:
    some = np.asarray(some, dtype=bool)
    left, right = a.pit.edges[:-1], a.pit.edges[1:]
    texts = [
        f"{level_text(x)} to {level_text(y)}: {share(found)}, expected {level_text(y - x)}"
        for x, y, found in zip(left[some], right[some], a.pit.share[some], strict=True)
    ]
    gap = 0.06 * (right - left)
    return Bars((left + gap)[some], (right - gap)[some], height[some], texts, solid)


def _steps(edges: Floats, y: Floats, low: Floats, high: Floats, label: str) -> Line:
    """Make a line with a band that keeps its height over each bar."""
    x = np.repeat(edges, 2)[1:-1]
    return Line(x, np.repeat(y, 2), "calibrated", "", np.repeat(low, 2), np.repeat(high, 2), label)


def _heights(top: float, unit: float) -> Axis:
    """Make the axis of the bars: of shares where all bars are as wide, else of shares for each expected one."""
    steps, label = (_SHARES, "Share of the outcomes") if unit < 1 else (_TIMES, "Outcomes for each expected one")
    step = next(each for each in steps if top <= _MOST_TICKS * each or each == steps[-1])
    places = [at * step for at in range(int(-(-top // step)) + 1)]
    ticks = [(at, f"{100 * at:g}%" if unit < 1 and at else f"{at:g}") for at in places]
    return Axis(0.0, places[-1], ticks, label, percent=unit < 1)


def reliability_chart(a: DistributionAssessment) -> Chart:
    """Draw the share of the outcomes at or below each predicted quantile."""
    q, title = a.quantiles, "Share of the outcomes at or below each quantile"
    line = Line(q.level, q.share, "observed", "Observed", q.low, q.high, "observed")
    x, read = percent_axis("Level of the quantile"), "below the identity line quantiles are too low"
    return _square(a, title, read, "Reliability of quantiles", x, "Outcomes at or below", line)


def coverage_chart(a: DistributionAssessment) -> Chart:
    """Draw how many outcomes central intervals held."""
    (expected, held, low, high, _), title = _covered(a), "Share of the outcomes inside central intervals"
    line = Line(expected, held, "observed", "Held", low, high, "held")
    x, read = percent_axis("Probability of the interval"), "below the identity line intervals are too narrow"
    return _square(a, title, read, "Coverage of intervals", x, "Outcomes inside", line)


def width_chart(a: DistributionAssessment) -> Chart:
    """Draw the probability of central intervals, and how many outcomes they held, over their mean width."""
    expected, held, low, high, width = _covered(a)
    shown = Line(width, held, "observed", "Held", low, high, "held")
    predicted = Line(width, expected, "calibrated", "Predicted", label="predicted")
    x = value_axis(0.0, float(width.max()), "Mean width, in the unit of the outcomes")
    read, label = "intervals that hold as many are better narrow", "Coverage of intervals over their mean width"
    chart = _square(a, "Coverage against mean width", read, label, x, "Outcomes inside", shown, predicted)
    return replace(chart, references=())


def _covered(a: DistributionAssessment) -> Floats:
    """Return the probabilities of the intervals, what they held, both limits of this, and their mean widths."""
    return np.array([(each.expected, each.held.value, *each.held.interval, each.mean_width) for each in a.coverage]).T


def _square(a: DistributionAssessment, title: str, read: str, label: str, x: Axis, y: str, *lines: Line) -> Chart:
    """Make a chart of shares, with a band and the identity line."""
    return Chart(
        title=title,
        subtitle=f"{confidence_interval(a.confidence)[:-3]} band; {read}",
        label=f"{label}. {a.verdict}",
        x=x,
        y=percent_axis(y),
        lines=lines,
        references=(identity(),),
        shape="square",
    )


def surprises_chart(s: SurprisingForecasts) -> Chart:
    """Draw the most surprising outcomes beside their 80% intervals, which are as wide for all of them."""
    wide = s.high > s.low
    unit = np.where(wide, s.high - s.low, 1.0)
    places = ((x - s.median) / unit for x in (s.outcome, s.low, s.high))
    rows = [
        Row(f"row {row:,}", float(at), (float(low), float(high)), f"row {row:,} (from 0): outcome {amount(y)}")
        for row, y, at, low, high, here in zip(s.row, s.outcome, *places, wide, strict=True)
        if here
    ]
    return forest(
        rows,
        title="The most surprising outcomes",
        subtitle="Rows counted from 0. Lines: predicted 80% intervals; points: outcomes; dashed: predicted median",
        label="Surprising outcomes beside their forecasts",
        axis="Distance from the predicted median, in widths of the 80% interval",
        at=0.0,
    )


def thresholds_chart(a: DistributionAssessment) -> Chart:
    """Draw mean exceedance probability and observed frequency by threshold of ordered classes."""
    found = a.thresholds
    at = np.arange(1, len(found) + 1, dtype=np.float64)
    predicted, observed = np.array([(each.mean_prediction, each.frequency) for each in found]).T
    limits = np.array([each.interval for each in found]) + predicted[:, None]
    ticks = [*zip(at.tolist(), short_names((str(each.label) for each in found), 10), strict=True)]
    texts = [
        f"{short_name(each.name)}: predicted {share(each.mean_prediction)}, observed {share(each.frequency)}"
        for each in found
    ]
    return Chart(
        title="Exceedance: mean prediction and observed frequency",
        subtitle=f"Points: observed, with {confidence_interval(a.confidence)} of observed − predicted; line: predicted",
        label=f"Exceedance by threshold. {'; '.join(texts)}",
        x=Axis(0.5, len(found) + 0.5, ticks[:: -(-len(found) // _MOST_THRESHOLDS)], "Outcome is this class or above"),
        y=percent_axis("Probability, frequency"),
        lines=(Line(at, predicted, "calibrated", "Predicted"),),
        points=(Points(at, observed, np.clip(limits[:, 0], 0, 1), np.clip(limits[:, 1], 0, 1), texts=texts),),
    )


def groups_chart(b: DistributionBreakdown) -> Chart:
    """Draw how many times as wide the intervals of each group should be."""
    widths = zip(key_texts(each.key for each in b.groups), (each.assessment.width for each in b.groups), strict=True)
    rows = [Row(name, width.value, width.interval, f"{name}: {number(width.value, 2)}") for name, width in widths]
    return forest(
        rows[:_MOST_ROWS],
        title="How many times as wide intervals should be",
        subtitle=f"{confidence_interval(b.whole.confidence)}; dashed: 1 is best",
        label="Width factor by group",
        axis="Width factor needed",
        at=1.0,
        within=(1.0,),
    )
