"""Places for the names of curves: close to the curve, and clear of all that is drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from .chart import Chart, Line

_CHARACTER, _LINE = 0.021, 0.052
"""Width and height of a character, as shares of a square chart of some 350 pixels."""

_STEPS = 40


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
