"""A reliability chart drawn by matplotlib: the same marks as in the report, several on the same Axes. No setting of
matplotlib is changed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from mpl_toolkits.axes_grid1 import make_axes_locatable

from .._lib.errors import InputError
from .._lib.typing import Floats
from . import matplotlib_draw as drawing
from .axes import axes_or_new, drawable, figure_or_new, side, type_size
from .chart import Chart, Mirror, placed_labels

_SIDES_UP = 1.35
"""Height of a diagram with title and histogram, in sides of its square."""

RELIABILITY_SIZE = (5.2, 6.4)
"""Width and height, in inches, that suit a reliability diagram."""

_STRIP, _UP = "unperplexed-mirror", "unperplexed-up"


def draw_reliability(chart: Chart, ax: Axes | None = None, *, name: str | None = None, **keywords: Any) -> Axes:
    """Draw a reliability chart; on Axes that have one or a legend already, add its curve and points.

    Parameters
    ----------
    chart : Chart
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure. A strip is cut off the Axes for the histogram.
    name : str, optional
        Name of the curve, at the curve or in the legend; by default that of the chart.
    **keywords
        Properties of the curve, as ``ax.plot`` takes them (``color``, ``linestyle``, ``linewidth`` ...). The colour is
        that of band and points too.

    Returns
    -------
    matplotlib.axes.Axes
        The main Axes.

    Raises
    ------
    InputError
        For an `ax` that is not matplotlib Axes.
    """
    ax = axes_or_new(ax, RELIABILITY_SIZE)
    earlier = sum(line.get_gid() == drawing.CURVE for line in ax.lines)
    overlaid = bool(earlier) or ax.get_legend() is not None  # such as that of scikit-learn's CalibrationDisplay
    shown = drawable(name) if name is not None else f"{chart.lines[0].label}{f' {earlier + 1}' if earlier else ''}"
    colour, dash, marker = drawing.STYLES[(earlier or overlaid) % len(drawing.STYLES)]
    style = {"color": colour, "linestyle": dash, "linewidth": 2, "label": shown} | _long_names(keywords)
    room = side(ax, _SIDES_UP)
    size = type_size(float(np.clip(room * 2.3, 7, 9.5)))
    if not overlaid:
        drawing.draw_references(ax, chart)
        drawing.style_axes(ax, chart, size)
        ax.set_aspect("equal")
    elif chart.x.high > ax.get_xlim()[1]:  # of a chart of smaller probabilities
        drawing.draw_references(ax, chart)
        drawing.scale_axes(ax, chart)
    [line, *_] = chart.lines
    drawing.draw_band(ax, line, style["color"], 0.1 if overlaid else 0.17)
    ax.plot(line.x, line.y, zorder=3, gid=drawing.CURVE, **style)
    for points in chart.points:
        own: dict[str, Any] = {"marker": marker, "markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.6}
        drawing.draw_points(ax, points, style["color"], {"linewidth": 0.9, "alpha": 0.8}, label="_groups", **own)
    if overlaid:
        _make_overlay(ax)
        return ax
    _write_labels(ax, chart, size, str(style["label"]), style["color"], own_name=name is not None)
    drawing.write_title(ax, chart, size, room)
    if chart.mirror:
        _draw_mirror(ax, chart.mirror, size, style["color"])
    return ax


def _long_names(keywords: dict[str, Any]) -> dict[str, Any]:
    """Give matplotlib's short names of keywords in full, so that they replace the chart's own."""
    full = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
    return {full.get(key, key): value for key, value in keywords.items()}


def _write_labels(ax: Axes, chart: Chart, size: float, shown: str, colour: Any, *, own_name: bool) -> None:
    """Write the names beside curve and identity line, clear of all that is drawn."""
    for label in placed_labels(chart):
        of_curve = label.role != "id"
        text = shown if of_curve and own_name else label.text
        style = {"color": colour, "weight": "bold"} if of_curve else {"color": drawing.GREY}
        ax.text(label.x, label.y, text, transform=ax.transAxes, fontsize=size, zorder=5, gid=drawing.OWN, **style)


def _draw_mirror(ax: Axes, mirror: Mirror, size: float, colour: Any) -> None:
    """Draw the histogram below: events up, all else down, each as shares of its own total."""
    strip = make_axes_locatable(ax).append_axes("bottom", size="22%", pad=0.1, sharex=ax)
    strip.set_gid(_STRIP)
    width = 0.8 * np.diff(mirror.edges)
    middle = (mirror.edges[1:] + mirror.edges[:-1]) / 2
    below = drawing.STYLES[1][0] if colour == drawing.STYLES[0][0] else drawing.GREY
    strip.bar(middle, mirror.up, width, color=colour)
    strip.bar(middle, -mirror.down, width, color=below)
    strip.axhline(0, color=drawing.GREY, linewidth=0.8)
    most = 1.15 * max(float(mirror.up.max(initial=0)), float(mirror.down.max(initial=0)), 1e-300)
    strip.set(ylim=(-most, most), yticks=[])
    strip.set_xlabel(ax.get_xlabel(), fontsize=1.1 * size)
    _write_count(strip, mirror.up, mirror.up_label, 0.99, size, colour).set_gid(_UP)
    _write_count(strip, mirror.down, mirror.down_label, 0.01, size, below)
    strip.spines[:].set_visible(False)
    strip.tick_params(length=0, labelcolor=drawing.GREY, labelsize=size)
    ax.set_xlabel("")
    ax.tick_params(labelbottom=False)


def _write_count(strip: Axes, heights: Floats, text: str, y: float, size: float, colour: Any) -> Any:
    """Write how many rows there are, on the emptier side."""
    half = heights.size // 2
    left = heights[:half].max(initial=0) <= heights[half:].max(initial=0)
    style: dict[str, Any] = {"ha": "left" if left else "right", "va": "top" if y > 0.5 else "bottom", "weight": "bold"}
    shown = drawing.escaped(text)
    return strip.text(0 if left else 1, y, shown, transform=strip.transAxes, fontsize=size, color=colour, **style)


def _make_overlay(ax: Axes) -> None:
    """Name the curves in a legend, and whose the histogram is; what is about the first curve alone goes."""
    own = [text for text in ax.texts if text.get_gid() == drawing.OWN]
    if own:
        ax.set_title("", loc="left")
        first = next(str(line.get_label()) for line in ax.lines if line.get_gid() == drawing.CURVE)
        for strip in ax.figure.axes:
            if strip.get_gid() == _STRIP and ax.get_shared_x_axes().joined(ax, strip):
                _make_grey(strip, first.strip())
    for text in own:
        text.remove()
    ax.legend(loc="upper left", fontsize="small", frameon=False)


def _make_grey(strip: Axes, first: str) -> None:
    """Give the histogram of the first of several curves that curve's name, and no curve's colour."""
    for bars, colour in zip(strip.containers, (drawing.INK, drawing.GREY), strict=True):
        for bar in bars:
            bar.set_facecolor(colour)
    for text in strip.texts:
        up = text.get_gid() == _UP
        text.set_color(drawing.INK if up else drawing.GREY)
        text.set_text(f"{first}: {text.get_text()}" if up else text.get_text())


_ACROSS = 4
_INCHES = 2.3
"""Diagrams in a row, and side of each in inches, where no size is asked for."""

_SMALLEST = 0.9
"""Side, in inches, of the smallest diagram that can be read: its two ticks and its points are apart."""

_BESIDE, _ABOVE, _AROUND, _LINE = 0.3, 0.62, 0.75, 0.18
"""Inches that text takes beside a diagram, above it (name and two lines), around all, and a line of the label below."""

_LETTERS = 18.0
"""Letters in an inch of the lines above a diagram; of the label beside all of them 0.8 times as many, less a margin."""


def multiples_size(n: int) -> tuple[float, float]:
    """Width and height, in inches, that suit so many charts beside one another."""
    across = min(n, _ACROSS)
    return max(_INCHES * across, 1.5 * _INCHES) + 0.4, (_INCHES + 0.25) * math.ceil(n / across) + 0.4


def _arranged(n: int, size: tuple[float, float]) -> tuple[int, float]:
    """Choose how many charts stand in a row of a figure, as large as they can be; the share of its height they leave.

    Parameters
    ----------
    n : int
        Number of charts.
    size : (float, float)
        Width and height of the figure in inches.

    Returns
    -------
    (int, float)

    Raises
    ------
    InputError
        For a figure in which charts would be too small to be read, with a size that suffices.
    """
    beside, above, around = (type_size(each) for each in (_BESIDE, _ABOVE, _AROUND))
    width, height = (inches - around for inches in size)
    sides = {k: min(width / k - beside, height / math.ceil(n / k) - above) for k in range(n, 0, -1)}
    across = max(sides, key=sides.__getitem__)
    if sides[across] >= _SMALLEST:
        return across, (height - math.ceil(n / across) * (sides[across] + above)) / size[1]
    row = min(n, _ACROSS)
    least = row * (_SMALLEST + beside) + around, math.ceil(n / row) * (_SMALLEST + above) + around
    enough = "x".join(f"{math.ceil(10 * inches) / 10:g}" for inches in least)
    raise InputError(
        f"size={size[0]:g}x{size[1]:g}: {n} diagrams cannot be read in it; take a larger one, such as {enough}, smaller"
        " type (font-size) or fewer groups."
    )


def draw_multiples(charts: Sequence[tuple[str, str, Chart]], more: str = "", figure: Figure | None = None) -> Figure:
    """Draw charts beside one another on axes of the same scale.

    Parameters
    ----------
    charts : sequence of (str, str, Chart)
        Title, line below the title, and marks of each.
    more : str, default ""
        Line below all charts, such as how many are left out.
    figure : matplotlib Figure, optional
        Where to draw; by default a new pyplot figure of the size needed.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        For a `figure` that is none of matplotlib's, or in which the charts cannot be read.
    """
    figure = figure_or_new(figure, multiples_size(len(charts)))
    width, height = figure.get_size_inches().tolist()
    across, left = _arranged(len(charts), (width, height))
    down = math.ceil(len(charts) / across)
    letters = int((width / type_size(1) - _AROUND) / across * _LETTERS)
    about = [textwrap.wrap(below, letters, max_lines=2, placeholder=" ...") for _, below, _ in charts]
    pad = type_size(9 * max(map(len, about)) - 3)
    axes = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    for ax, (title, _, chart), below in zip(axes, charts, about, strict=False):
        _draw_small(ax, chart)
        ax.set_title(f"{drawable(title, letters)}\n", loc="left", fontsize=type_size(9), fontweight="bold", pad=pad)
        text = drawing.escaped("\n".join(below))
        ax.text(0, 1.03, text, transform=ax.transAxes, fontsize=type_size(7), color=drawing.GREY, in_layout=False)
    for ax in axes[len(charts) :]:
        ax.set_visible(False)
    for ax in axes[max(0, len(charts) - across) : len(charts)]:
        ax.tick_params(labelbottom=True)
    first = charts[0][2]
    label = drawing.escaped(first.x.label) + (f"\n{more}" if more else "")
    figure.supxlabel(label, y=left + 0.01, fontsize=type_size(9))
    bottom, top = left + type_size(_LINE) * (2 if more else 1) / height, 1 - type_size(_ABOVE) / height
    upright = textwrap.fill(first.y.label, int((top - bottom) * height / type_size(1) * _LETTERS * 0.7))
    figure.supylabel(drawing.escaped(upright), y=(bottom + top) / 2, fontsize=type_size(9))
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):  # which keeps what the charts leave below them
        engine.set(rect=(0, bottom, 1, 1 - bottom))
    return figure


def draw_below(charts: Sequence[Chart], size: tuple[float, float], figure: Figure | None = None) -> Figure:
    """Draw charts of the same x axis one below the other; by default on a new pyplot figure of a size in inches.

    Raises `InputError` for a `figure` that is none of matplotlib's.
    """
    figure = figure_or_new(figure, size)
    axes = figure.subplots(len(charts), 1, squeeze=False).ravel()
    for ax, chart in zip(axes, charts, strict=True):
        drawing.draw(chart, ax)
    for ax in axes[:-1]:
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)
    return figure


def _draw_small(ax: Axes, chart: Chart) -> None:
    """Draw curve, band and points of one chart, with few ticks."""
    for reference in chart.references:
        ax.plot(reference.x, reference.y, color=drawing.GREY, linewidth=0.8, linestyle=(0, (5, 3)), zorder=1.5)
    for line in chart.lines:
        drawing.draw_band(ax, line, drawing.COLOUR)
        ax.plot(line.x, line.y, color=drawing.COLOUR, linewidth=1.6, zorder=3, gid=drawing.CURVE)
    for points in chart.points:
        limits = {"linewidth": 0.7, "alpha": 0.8}
        drawing.draw_points(ax, points, drawing.COLOUR, limits, marker="o", markersize=3)
    ticks = [(at, text) for at, text in chart.x.ticks if at in (chart.x.low, chart.x.high) or len(chart.x.ticks) < 4]
    ax.set(xlim=(chart.x.low, chart.x.high), ylim=(chart.y.low, chart.y.high), aspect="equal")
    ax.set_xticks(*zip(*ticks, strict=True))
    ax.set_yticks(*zip(*ticks, strict=True))
    ax.grid(color=drawing.GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[:].set_color(drawing.GRID)
    ax.tick_params(length=0, labelcolor=drawing.GREY, labelsize=type_size(8))
