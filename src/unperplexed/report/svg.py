"""A chart as static SVG with words in HTML, so that lines and type keep their size at every width.

The drawing is a box of 0 to 1000 that is stretched to its place; widths of lines do not scale. Nothing in it runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from html import escape

import numpy as np

from .._lib.typing import Floats
from .chart import SCALE_STEPS, Axis, Bars, Cells, Chart, Line, Mirror, Points, cell_opacity, placed_labels

_BOX = 1000
_ROLES = {
    "first": "", "second": "c2", "third": "c1", "fourth": "c4", "fifth": "c1", "sixth": "c1", "other": "c1",
    "observed": "", "calibrated": "m", "remedy": "aft",
}  # fmt: skip


def figure(chart: Chart, *, main: bool = False, table: str = "") -> str:
    """Give a chart with its title, axes, histogram and, where there is one, its table."""
    caption = f"<b>{escape(chart.title)}</b>{escape(chart.subtitle)}" if chart.title else ""
    parts = [
        f"<figure{' class=main' if main else ''}{_room(chart)}>",
        f"<figcaption>{caption}</figcaption>" if caption else "",
        f'<div class="ylab">{escape(chart.y.label)}</div>' if chart.y.label and chart.shape != "small" else "",
        plot(chart),
        mirror(chart.mirror, chart.x) if chart.mirror else "",
        f'<div class="xlab">{escape(chart.x.label)}</div>' if chart.x.label and chart.shape != "small" else "",
        _scale(chart.cells) if chart.cells and chart.cells.scale else "",
        _switch(chart),
        table,
        "</figure>",
    ]
    return "".join(parts)


def _room(chart: Chart) -> str:
    """Leave as much room as the names of a forest's rows need, if there is so much."""
    if chart.shape != "forest":
        return ""
    return f' style="--names:{1 + 0.42 * max((len(text) for _, text in chart.y.ticks), default=0):.3g}rem"'


def _scale(cells: Cells) -> str:
    """Give the scale of colours, with what its ends stand for."""
    low, high = cells.scale
    steps = "".join(
        f'<i class="{"ho" if depth > 0 else "hn"}" style="opacity:{cell_opacity(depth):.2g}"></i>'
        for depth in SCALE_STEPS
    )
    return f'<div class="scale"><span>{escape(low)}</span><b>{steps}</b><span>{escape(high)}</span></div>'


def _switch(chart: Chart) -> str:
    """Give a box to tick where a curve is shown on demand."""
    if not any(line.role == "remedy" for line in chart.lines):
        return ""
    return (
        '<div class="opts"><label><input type="checkbox" class="showaft">Show the curve after the remedy, fitted to'
        " these rows</label></div>"
    )


def small(chart: Chart) -> str:
    """Give a chart without ticks, for a row of several."""
    return f"<figure><figcaption>{escape(chart.title)}</figcaption>{plot(chart)}</figure>"


def plot(chart: Chart) -> str:
    """Give the plot itself: what is drawn, ticks and labels; with the keyboard where values can be read off."""
    kind = {"square": "sq", "wide": "wide", "small": "", "forest": "forest"}[chart.shape] + " heat" * bool(chart.cells)
    data = _cursor_data(chart) if chart.shape != "small" else ""
    focus = f' tabindex="0" data-chart="{escape(data)}"' if data else ""
    style = f' style="height:{3 + 2 * len(chart.y.ticks)}em"' if chart.shape == "forest" else ""
    return (
        f'<div class="plot {kind}" role="img" aria-label="{escape(chart.label)}"{focus}{style}>'
        f"{_svg(_marks(chart))}{_words(chart)}</div>"
    )


def _svg(marks: str) -> str:
    return (
        f'<svg viewBox="0 0 {_BOX} {_BOX}" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{marks}</svg>"
    )


def _marks(chart: Chart) -> str:
    parts = [] if chart.shape == "small" or chart.cells else [_grid(chart)]
    parts += [_bars(chart, bars) for bars in chart.bars]
    parts += [_cells(chart, chart.cells)] if chart.cells else []
    parts += [_path("id", chart, np.array(each.x), np.array(each.y)) for each in chart.references]
    parts += [_band(chart, line) for line in chart.lines]
    for line in chart.lines:
        kind = "af aft" if line.role == "remedy" else f"cv {_ROLES[line.role]}".strip()
        parts.append(_path(kind, chart, line.x, line.y))
    parts += [_points(chart, points) for points in chart.points]
    return "".join(parts)


def _grid(chart: Chart) -> str:
    """Lines at the ticks, as one path."""
    across = "".join(f"M{_BOX * at:.0f} 0V{_BOX}" for at in chart.x.place(np.array([t for t, _ in chart.x.ticks])))
    up = "".join(f"M0 {_BOX * (1 - at):.0f}H{_BOX}" for at in chart.y.place(np.array([t for t, _ in chart.y.ticks])))
    return f'<path class="g" d="{across}{"" if chart.shape == "forest" else up}"/>'


def _path(kind: str, chart: Chart, x: Floats, y: Floats) -> str:
    steps = _steps(chart, x, y)
    return f'<path class="{kind}" d="M{steps}"/>' if steps else ""


def _steps(chart: Chart, x: Floats, y: Floats) -> str:
    """Points of a path; what is not finite is left out, what lies beyond the axes is at their ends."""
    across, up = chart.x.place(x), chart.y.place(y)
    there = np.isfinite(across) & np.isfinite(up)
    across, up = np.clip(across[there], 0, 1) * _BOX, (1 - np.clip(up[there], 0, 1)) * _BOX
    return "L".join(f"{a:.4g} {b:.4g}" for a, b in zip(across.tolist(), up.tolist(), strict=True))


def _band(chart: Chart, line: Line) -> str:
    if line.low is None or line.high is None:
        return ""
    there = np.isfinite(line.low) & np.isfinite(line.high)
    if not there.any():
        return ""
    x = np.concatenate([line.x[there], line.x[there][::-1]])
    y = np.concatenate([line.low[there], line.high[there][::-1]])
    return f'<path class="bd {_ROLES[line.role]}" d="M{_steps(chart, x, y)}Z"/>'


def _bars(chart: Chart, bars: Bars) -> str:
    """Bars as one path."""
    left, right = (np.clip(chart.x.place(x), 0, 1) * _BOX for x in (bars.left, bars.right))
    floor, top = ((1 - np.clip(chart.y.place(y), 0, 1)) * _BOX for y in (np.zeros(1), bars.height))
    path = "".join(
        f"M{a:.4g} {floor[0]:.4g}V{up:.4g}H{b:.4g}V{floor[0]:.4g}Z"
        for a, b, up in zip(left, right, top, strict=True)
        if np.isfinite(up)
    )
    return f'<path class="{"ba so" if bars.solid else "ba"}" d="{path}"/>' if path else ""


def _cells(chart: Chart, cells: Cells) -> str:
    """Cells as boxes with a small gap between them."""
    wide, high = _BOX / (chart.x.high - chart.x.low), _BOX / (chart.y.high - chart.y.low)
    across, up = chart.x.place(cells.x) * _BOX, (1 - chart.y.place(cells.y)) * _BOX
    boxes = "".join(
        f'<rect class="{"ho" if depth > 0 else "hn"}" x="{x - 0.48 * wide:.4g}" y="{y - 0.45 * high:.4g}"'
        f' width="{0.96 * wide:.4g}" height="{0.9 * high:.4g}" fill-opacity="{cell_opacity(depth):.2g}"/>'
        for x, y, depth in zip(across.tolist(), up.tolist(), cells.strength.tolist(), strict=True)
    )
    if cells.outline is None:
        return boxes
    left, right, low, high = cells.outline
    return boxes + _path("ol", chart, np.array([left, right, right, left, left]), np.array([low, low, high, high, low]))


def _points(chart: Chart, points: Points) -> str:
    """Points as strokes of no length, which stay round however the box is stretched, and their limits."""
    across, up = chart.x.place(points.x) * _BOX, (1 - np.clip(chart.y.place(points.y), 0, 1)) * _BOX
    role = _ROLES[points.role]
    there = np.isfinite(across) & np.isfinite(up)
    dots = "".join(f"M{x:.4g} {y:.4g}h0" for x, y in zip(across[there], up[there], strict=True))
    whiskers = ""
    if points.low is not None and points.high is not None:
        if chart.shape == "forest":
            low, high = (np.clip(chart.x.place(end), 0, 1) * _BOX for end in (points.low, points.high))
            ends = zip(low, high, [f"M{{0:.4g}} {y:.4g}H{{1:.4g}}" for y in up], strict=True)
        else:
            low, high = ((1 - np.clip(chart.y.place(end), 0, 1)) * _BOX for end in (points.low, points.high))
            ends = zip(low, high, [f"M{x:.4g} {{0:.4g}}V{{1:.4g}}" for x in across], strict=True)
        whiskers = "".join(step.format(a, b) for a, b, step in ends if np.isfinite(a) and np.isfinite(b))
    wick = f'<path class="wk {role}" d="{whiskers}"/>' if whiskers else ""
    if points.hollow:
        return f'{wick}<path class="pt ro {role}" d="{dots}"/><path class="pt in" d="{dots}"/>'
    return f'{wick}<path class="pt {role}" d="{dots}"/>' if dots else wick


def _words(chart: Chart) -> str:
    """Ticks and labels."""
    if chart.shape == "small":
        return ""
    parts = [] if chart.mirror else [_tick_x(chart.x)]
    for at, text in chart.y.ticks:
        parts.append(f'<i class="ty" style="bottom:{100 * float(chart.y.place(at)):.4g}%">{escape(text)}</i>')
    if chart.cells:
        for x, y, text in zip(
            chart.x.place(chart.cells.x), chart.y.place(chart.cells.y), chart.cells.shown, strict=True
        ):
            parts.append(f'<i class="tc" style="left:{100 * x:.4g}%;bottom:{100 * y:.4g}%">{escape(text)}</i>')
    for label in placed_labels(chart):
        kind = "" if label.role == "id" else " m aft" if label.role == "remedy" else f" {_ROLES[label.role] or 'cvl'}"
        parts.append(
            f'<span class="lb{kind}" style="left:{100 * label.x:.3g}%;bottom:{100 * label.y:.3g}%">'
            f"{escape(label.text)}</span>"
        )
    return "".join(parts)


def _tick_x(axis: Axis) -> str:
    return "".join(
        f'<i class="tx" style="left:{100 * float(axis.place(at)):.4g}%">{escape(text)}</i>' for at, text in axis.ticks
    )


def mirror(found: Mirror, axis: Axis) -> str:
    """Give the histogram below a chart: events up, all else down; each label is on the emptier side."""
    scale = 460 / max(float(found.up.max(initial=0)), float(found.down.max(initial=0)), 1e-300)
    left, right = (axis.place(edges) * _BOX for edges in (found.edges[:-1], found.edges[1:]))
    bars = []
    for kind, heights in (("ho", found.up), ("hn", found.down)):
        for a, b, height in zip(left.tolist(), right.tolist(), (heights * scale).tolist(), strict=True):
            if height >= 0.5:
                top = 500 - height if kind == "ho" else 500
                gap = 0.1 * (b - a)
                bars.append(
                    f'<rect class="{kind}" x="{a + gap:.4g}" width="{b - a - 2 * gap:.4g}" y="{top:.4g}"'
                    f' height="{height:.4g}"/>'
                )
    drawn = _svg(f'{"".join(bars)}<path class="ax" d="M0 500H{_BOX}"/>')
    labels = (
        f'<span class="lb ho" style="{_side(found.up)}:0;top:0">{escape(found.up_label)}</span>'
        f'<span class="lb hn" style="{_side(found.down)}:0;bottom:0">{escape(found.down_label)}</span>'
    )
    return f'<div class="plot hist" aria-hidden="true">{drawn}{labels}{_tick_x(axis)}</div>'


def _side(heights: Floats) -> str:
    half = heights.size // 2
    return "left" if heights[:half].max(initial=0) <= heights[half:].max(initial=0) else "right"


def _cursor_data(chart: Chart) -> str:
    """Values of the named lines, at the places of the first one, or else what is read off at each mark, as JSON."""
    lines = [line for line in chart.lines if line.name]
    if not lines:
        marks = list(_read_off(chart))
        return _json({"marks": marks}) if marks else ""
    x = lines[0].x[np.isfinite(lines[0].x) & np.isfinite(lines[0].y)]
    series = []
    for line in lines:
        columns = {"y": line.y, "lo": line.low, "hi": line.high}
        shown = {key: _rounded(np.interp(x, line.x, y)) for key, y in columns.items() if y is not None}
        series.append({"name": line.name, **shown})
    return _json(
        {
            "x": _rounded(x),
            "xr": [chart.x.low, chart.x.high],
            "yr": [chart.y.low, chart.y.high],
            "of": chart.x.label,
            "pc": chart.y.percent,
            "series": series,
        }
    )


def _json(data: dict[str, object]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _read_off(chart: Chart) -> Iterator[tuple[float, float, str]]:
    """Place, from the left and from below as shares of the chart, and text of each mark that has one."""
    places = [((bars.left + bars.right) / 2, bars.height, bars.texts) for bars in chart.bars]
    places += [(points.x, points.y, points.texts) for points in chart.points]
    places += [(chart.cells.x, chart.cells.y, chart.cells.texts)] if chart.cells else []
    for xs, ys, texts in places:
        for x, y, text in zip(chart.x.place(xs).tolist(), chart.y.place(ys).tolist(), texts, strict=False):
            if math.isfinite(x) and math.isfinite(y):
                yield round(min(max(x, 0.0), 1.0), 4), round(min(max(y, 0.0), 1.0), 4), text


def _rounded(x: Floats) -> list[float | None]:
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in x.tolist()]
