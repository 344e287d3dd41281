"""A chart: axes and marks, as numbers. It knows no result and no drawing library.

A new chart is a function among those that describe a result, such as `describe.assessment_charts`; what many charts
share is in `charts`. A new kind of mark is a class here, which `svg` and `matplotlib_draw` draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, check_choice
from .._lib.typing import Floats
from .numbers import number

Role = Literal["observed", "remedy", "first", "second", "third", "fourth", "fifth", "sixth", "other", "calibrated"]
"""What a mark stands for, which decides its colour, dash and weight."""


class Axis(Frozen):
    """An axis: its ends, its ticks with their texts, and what it shows."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]] = ()
    label: str = ""
    percent: bool = False
    """Whether values on it are shown as percentages."""

    def place(self, x: Floats | float) -> Floats:
        """Share of the axis at which values lie, from 0 to 1."""
        return np.asarray((np.asarray(x, dtype=np.float64) - self.low) / (self.high - self.low))


class Line(Frozen):
    """A curve. One with a name has a value under the cursor; a label is written beside it."""

    x: Floats
    y: Floats
    role: Role = "observed"
    name: str = ""
    low: Floats | None = None
    high: Floats | None = None
    """Confidence limits, drawn as a band."""
    label: str = ""


class Points(Frozen):
    """Points, with or without confidence limits."""

    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    role: Role = "observed"
    labels: Sequence[str] = ()
    """Words beside each point."""
    texts: Sequence[str] = ()
    """What is read off at each point, with its values."""
    hollow: bool = False
    """Whether they are rings, as what was predicted beside what was observed."""


class Bars(Frozen):
    """Bars that stand on 0, each from its left to its right end."""

    left: Floats
    right: Floats
    height: Floats
    texts: Sequence[str] = ()
    """What is read off at each bar, with its values."""
    solid: bool = False
    """Whether they stand out, as those outside a band."""


class Cells(Frozen):
    """Coloured cells, one wide and one high, each round a place of whole numbers, with a few words in it."""

    x: Floats
    y: Floats
    strength: Floats
    """From -1 to 1: the further from 0, the darker; above 0 in one colour and below in the other."""
    shown: Sequence[str]
    texts: Sequence[str] = ()
    """What is read off at each cell, with its values."""
    scale: Sequence[str] = ()
    """What strengths of -1 and of 1 stand for, written at the ends of a scale of colours; none without."""
    outline: tuple[float, float, float, float] | None = None
    """Left, right, lower and upper edge of a box round some of them."""


class Reference(Frozen):
    """A dashed line from one point to another, such as the identity line."""

    x: tuple[float, float]
    y: tuple[float, float]
    label: str = ""


class Mirror(Frozen):
    """A histogram below a chart: shares of events above a line and of all else below it, each of its own total."""

    edges: Floats
    up: Floats
    down: Floats
    up_label: str
    down_label: str


class Chart(Frozen):
    """A chart. Its title states what is seen, its label says it to those who do not see it."""

    title: str
    label: str
    x: Axis
    y: Axis
    lines: Sequence[Line] = ()
    points: Sequence[Points] = ()
    references: Sequence[Reference] = ()
    bars: Sequence[Bars] = ()
    cells: Cells | None = None
    subtitle: str = ""
    shape: Literal["square", "wide", "small", "forest"] = "wide"
    """A forest has a row for each tick of y, with its text; its points' limits run along x."""
    mirror: Mirror | None = None


class Style(Frozen):
    """How a picture is written: the keys of ``--style``, as `Result.save_plot` takes them."""

    title: str = ""
    outcome: str = ""
    column: str = ""
    """Column of the outcomes, which names the outcome where its label is 1 or true."""
    size: tuple[float, float] | None = None
    font_size: float = 10.0
    colours: Literal["screen", "grey"] = "screen"
    axes: Literal["reported", "nelson"] = "reported"

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        check_choice("colours", self.colours, ("screen", "grey"))
        check_choice("axes", self.axes, ("reported", "nelson"))
        inches = self.size or (6.0, 6.0)
        if len(inches) != 2 or not all(2 <= each <= 50 for each in inches):
            raise InputError("size: expected width and height from 2 to 50 inches, such as 8x5.")
        if not 4 <= self.font_size <= 40:
            raise InputError(f"font-size: expected 4 to 40 points, got {self.font_size:g}.")


_ROW = 0.3
"""Height of a row of a forest, in inches."""


def chart_size(chart: Chart) -> tuple[float, float]:
    """Width and height, in inches, that suit a chart."""
    if chart.shape == "forest":
        scale = 0.35 if chart.cells and chart.cells.scale else 0.0
        return 6.8, 1.5 + scale + _ROW * len(chart.y.ticks)
    return (5.2, 5.6) if chart.shape == "square" else (6.4, 4.4)


_ENDS = {0.01: 5, 0.02: 4, 0.03: 3, 0.05: 5, 0.1: 5, 0.15: 3, 0.2: 4, 0.3: 3, 0.4: 4, 0.5: 5}
"""Where an axis of small probabilities may end, with its number of steps."""


def percent_end(*values: Floats) -> float:
    """Find where an axis of probabilities that are all small ends; 1 for others. NaN does not count."""
    largest = max((float(np.nanmax(each)) for each in values if np.isfinite(each).any()), default=1.0)
    return next((end for end in _ENDS if largest <= end), 1.0)


def percent_axis(label: str, end: float = 1.0) -> Axis:
    """Make an axis of probabilities from 0, to 1 with ticks each 20% or to an end that `percent_end` has found."""
    steps = _ENDS.get(end, 5)
    ticks = [(end * at / steps, f"{100 * end * at / steps:.3g}%" if at else "0") for at in range(steps + 1)]
    return Axis(0.0, end, ticks, label, percent=True)


def value_axis(low: float, high: float, label: str, form: Callable[[float, int], str] = number) -> Axis:
    """Make an axis that holds two values, with ticks at round ones.

    Parameters
    ----------
    low, high : float
        The values. The axis ends at the ticks beyond them; where they are equal, it has some room on both sides.
    label : str
        What the axis shows.
    form : callable from (float, int) to str, default `number`
        Writes a tick with so many decimals.

    Returns
    -------
    Axis
    """
    if not high > low:
        low, high = low - max(0.1 * abs(low), 0.01), high + max(0.1 * abs(high), 0.01)
    room = high - low
    step = 10.0 ** math.floor(math.log10(room / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if room / (step * factor) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    ticks = [(at * step, form(at * step, decimals) if at else "0") for at in range(first, last + 1)]
    return Axis(first * step, last * step, ticks, label)


SCALE_STEPS = (-1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0)
"""Strengths that a scale of colours shows."""


def cell_opacity(strength: float) -> float:
    """Opacity of a cell's colour: text on the darkest one can still be read."""
    return 0.08 + 0.42 * min(abs(strength), 1.0) if strength else 0.0


def thinned(x: Floats, *columns: Floats, most: int = 90) -> list[Floats]:
    """Leave out points of a curve that lie closer together than a picture shows; both ends stay."""
    if x.size <= most:
        return [x, *columns]
    low, high = float(x[0]), float(x[-1])
    steps = np.floor((x - low) / max(high - low, 1e-300) * (most - 1)).astype(np.int64)
    kept = np.flatnonzero(np.diff(steps, prepend=-1))
    kept = np.unique(np.append(kept, x.size - 1))
    return [column[kept] for column in (x, *columns)]


_CHARACTER, _LINE = 0.021, 0.052
"""Width and height of a character, as shares of a square chart of some 350 pixels."""

_STEPS = 40
"""Places for a label that are tried in either direction."""


class Placed(NamedTuple):
    """A label with the place of its lower left corner, as shares of the chart."""

    text: str
    x: float
    y: float
    role: str


def placed_labels(chart: Chart) -> list[Placed]:
    """Place the labels of all lines and references, the first ones first; one that finds no room is near its line."""
    wide = 1.7 if chart.shape == "wide" else 1.0
    found: list[Placed] = []
    taken = _drawn(chart)
    for text, role, own in _labels(chart):
        width, height = _CHARACTER * len(text), _LINE * wide
        x, y = _best(taken, own, width, height)
        found.append(Placed(text, x, y, role))
        taken = np.concatenate([taken, _filled(x, y, width, height)])
    return found


def _labels(chart: Chart) -> list[tuple[str, str, Floats]]:
    lines = [(line.label, line.role, _polyline(chart, line)) for line in chart.lines if line.label]
    others = [(each.label, "id", _segment(chart, each.x, each.y)) for each in chart.references if each.label]
    points = [
        (text, each.role, np.array([[x, y]]))
        for each in chart.points
        for text, x, y in zip(each.labels, chart.x.place(each.x), chart.y.place(each.y), strict=False)
        if np.isfinite(x + y)
    ]
    return lines + points + others


def _polyline(chart: Chart, line: Line, y: Floats | None = None) -> Floats:
    """Points along a curve, close to one another, as shares of the chart."""
    x, height = chart.x.place(line.x), chart.y.place(line.y if y is None else y)
    there = np.isfinite(x) & np.isfinite(height)
    x, height = x[there], height[there]
    if x.size < 2:
        return np.stack([x, height], axis=1)
    length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(height)))])
    at = np.linspace(0, length[-1], 200)
    return np.stack([np.interp(at, length, x), np.interp(at, length, height)], axis=1)


def _segment(chart: Chart, x: tuple[float, float], y: tuple[float, float]) -> Floats:
    ends = chart.x.place(np.array(x)), chart.y.place(np.array(y))
    at = np.linspace(0, 1, 120)
    return np.stack([a + (b - a) * at for a, b in ends], axis=1)


def _drawn(chart: Chart) -> Floats:
    found = [_segment(chart, each.x, each.y) for each in chart.references]
    for line in chart.lines:
        found.append(_polyline(chart, line))
        found += [_polyline(chart, line, y) for y in (line.low, line.high) if y is not None]
    for bars in chart.bars:
        left, right, height = chart.x.place(bars.left), chart.x.place(bars.right), chart.y.place(bars.height)
        found += [np.stack([left + (right - left) * at, height], axis=1) for at in np.linspace(0, 1, 20)]
    for points in chart.points:
        x, y = chart.x.place(points.x), chart.y.place(points.y)
        found.append(np.stack([x, y], axis=1))
        if points.low is not None and points.high is not None:
            low, high = chart.y.place(points.low), chart.y.place(points.high)
            found += [np.stack([x, low + (high - low) * at], axis=1) for at in np.linspace(0, 1, 20)]
    return np.concatenate(found) if found else np.zeros((0, 2))


def _filled(x: float, y: float, width: float, height: float) -> Floats:
    """Points that fill a label."""
    across, up = np.meshgrid(np.linspace(x, x + width, 12), np.linspace(y, y + height, 4))
    return np.stack([across.ravel(), up.ravel()], axis=1)


def _best(taken: Floats, own: Floats, width: float, height: float) -> tuple[float, float]:
    """Lower left corner of the free place nearest to the label's own line; far from all else among equals."""
    xs = np.linspace(0.015, max(0.98 - width, 0.02), _STEPS)
    ys = np.linspace(0.02, 0.97 - height, _STEPS)
    left, low = (grid.ravel() for grid in np.meshgrid(xs, ys))
    margin = 0.018
    x, y = taken[:, 0], taken[:, 1]
    inside = (
        (x > left[:, None] - margin)
        & (x < left[:, None] + width + margin)
        & (y > low[:, None] - margin)
        & (y < low[:, None] + height + margin)
    )
    hits = inside.sum(axis=1)
    centre = np.stack([left + width / 2, low + height / 2], axis=1)
    away = np.abs(centre[:, None, :] - own[None]) - np.array([width / 2, height / 2])
    distance = np.hypot(*np.maximum(away, 0).transpose(2, 0, 1)).min(axis=1) if own.size else np.zeros(left.size)
    place = int(np.lexsort((np.round(distance, 3), hits))[0])
    return float(left[place]), float(low[place])
