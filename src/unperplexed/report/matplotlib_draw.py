"""Any chart drawn by matplotlib, with the marks that the report shows. No setting of matplotlib is changed."""

from __future__ import annotations

import textwrap
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea
from matplotlib.patches import Rectangle
from matplotlib.transforms import blended_transform_factory

from .axes import axes_or_new, figure_or_new, type_size
from .chart import SCALE_STEPS, Bars, Cells, Chart, Line, Points, cell_opacity, chart_size, placed_labels

_ROLES: dict[str, int] = {
    "second": 1, "remedy": 1, "calibrated": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5, "other": 5,
}  # fmt: skip
"""Style of a mark by its role; the first style for all others."""

_LETTER = 0.065
"""Width of a letter of the name of a row, in inches."""


def draw(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw a chart: its bars, cells, curves with bands, points with limits, lines of reference, and its words.

    Parameters
    ----------
    chart : Chart
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure of a size that suits the chart.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        For an `ax` that is not matplotlib Axes.
    """
    ax = axes_or_new(ax, chart_size(chart))
    forest, size = chart.shape == "forest", type_size(9)
    style_axes(ax, chart, size, grid="x" if forest else "both")
    if chart.shape == "square":
        ax.set_aspect("equal")
    draw_references(ax, chart)
    for bars in chart.bars:
        _draw_bars(ax, bars)
    for line in chart.lines:
        _draw_line(ax, line)
    for points in chart.points:
        colour, limits = STYLES[_ROLES.get(points.role, 0)][0], {"linewidth": 1.4 if forest else 0.9}
        draw_points(ax, points, colour, limits, forest, label="_points", **(_RING if points.hollow else _POINT))
    if chart.cells is not None:
        ax.grid(visible=False)
        _draw_cells(ax, chart.cells)
        _draw_scale(ax, chart.cells)
    for label in placed_labels(chart):
        colour = GREY if label.role == "id" else STYLES[_ROLES.get(label.role, 0)][0]
        weight = "normal" if label.role == "id" else "bold"
        ax.text(
            label.x, label.y, escaped(label.text), transform=ax.transAxes, fontsize=size, color=colour, weight=weight,
            zorder=5, gid=OWN,
        )  # fmt: skip
    if forest:
        _write_rows(ax, chart)
    write_title(ax, chart, size, _width(ax, chart))
    return ax


def draw_alone(chart: Chart, figure: Figure | None = None) -> Figure:
    """Draw a chart on a figure that has nothing else; by default a new pyplot figure of a size that suits the chart.

    Raises `InputError` for a `figure` that is none of matplotlib's.
    """
    figure = figure_or_new(figure, chart_size(chart), "tight")
    draw(chart, figure.subplots())
    return figure


def _width(ax: Axes, chart: Chart) -> float:
    """Width, in inches, that Axes have beside the names of the rows of a forest, before any layout."""
    names = max((len(text) for _, text in chart.y.ticks), default=0) if chart.shape == "forest" else 0
    there = ax.get_position(original=True).width * ax.figure.bbox.width / ax.figure.dpi
    return float(max(there - type_size(_LETTER) * names, 0.5 * there))


def _draw_bars(ax: Axes, bars: Bars) -> None:
    colour = STYLES[0][0]
    ax.bar(
        bars.left, bars.height, bars.right - bars.left, align="edge", facecolor=(colour, 0.8 if bars.solid else 0.17),
        edgecolor=colour,
        linewidth=0.6, zorder=1,
    )  # fmt: skip


def draw_band(ax: Axes, line: Line, colour: Any, alpha: float = 0.17) -> None:
    """Draw the band of a curve, if it has one.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    line : Line
        The curve.
    colour : colour of matplotlib
        Colour of the band.
    alpha : float, default 0.17
        Its opacity, from 0 to 1.
    """
    if line.low is not None and line.high is not None:
        ax.fill_between(line.x, line.low, line.high, color=colour, alpha=alpha, linewidth=0, zorder=1)


def _draw_line(ax: Axes, line: Line) -> None:
    colour, dash, _ = STYLES[_ROLES.get(line.role, 0)]
    draw_band(ax, line, colour)
    ax.plot(line.x, line.y, color=colour, linestyle=dash, linewidth=2, zorder=3, gid=CURVE, label=escaped(line.name))


def draw_points(
    ax: Axes, points: Points, colour: Any, limits: dict[str, Any], across: bool = False, **style: Any
) -> None:
    """Draw points in some style, and their intervals across or up in the style of ``limits``."""
    if points.low is not None and points.high is not None:
        draw_limits, at = (ax.hlines, points.y) if across else (ax.vlines, points.x)
        draw_limits(at, points.low, points.high, color=colour, zorder=2, **limits)
    ax.plot(points.x, points.y, color=colour, linestyle="none", zorder=4, clip_on=False, **style)


_POINT: dict[str, Any] = {"marker": "o", "markersize": 7, "markeredgecolor": "white", "markeredgewidth": 0.8}
_RING: dict[str, Any] = {"marker": "o", "markersize": 10, "markerfacecolor": "white", "markeredgewidth": 1.4}


def _draw_cells(ax: Axes, cells: Cells) -> None:
    """Draw cells, the text of each in its middle."""
    colours = [(STYLES[0 if depth > 0 else 1][0], cell_opacity(depth)) for depth in cells.strength.tolist()]
    ax.bar(cells.x, np.full(cells.x.size, 0.9), 0.96, bottom=cells.y - 0.45, color=colours, zorder=1)
    for x, y, text in zip(cells.x.tolist(), cells.y.tolist(), cells.shown, strict=True):
        ax.text(x, y, escaped(text), fontsize=type_size(8.5), color=INK, ha="center", va="center", zorder=3)
    if cells.outline is not None:
        left, right, low, high = cells.outline
        box = Rectangle((left, low), right - left, high - low, fill=False, edgecolor=INK, linewidth=1.6, clip_on=False)
        ax.add_patch(box)


def _draw_scale(ax: Axes, cells: Cells) -> None:
    """Draw the scale of colours below the Axes' label, with what its ends stand for."""
    if not cells.scale:
        return
    wide, high = 11, 8
    boxes = DrawingArea(wide * len(SCALE_STEPS), high)
    for at, depth in enumerate(SCALE_STEPS):
        colour = (STYLES[0 if depth > 0 else 1][0], cell_opacity(depth))
        boxes.add_artist(Rectangle((wide * at, 0), wide, high, facecolor=colour))
    low, high_end = (TextArea(text, textprops={"fontsize": type_size(8), "color": GREY}) for text in cells.scale)
    row = HPacker(children=[low, boxes, high_end], align="center", pad=0, sep=6)
    scale = AnnotationBbox(
        row, (0.5, 0), (0, -48), xycoords="axes fraction", boxcoords="offset points", box_alignment=(0.5, 0.5),
        frameon=False, annotation_clip=False,
    )  # fmt: skip
    ax.add_artist(scale)


def _write_rows(ax: Axes, chart: Chart) -> None:
    """Write the names of rows in full size, ended at the Axes."""
    ax.set_yticks([])
    style: dict[str, Any] = {"fontsize": type_size(9), "color": INK, "ha": "right", "va": "center"}
    beside = blended_transform_factory(ax.transAxes, ax.transData)
    for at, text in chart.y.ticks:
        ax.annotate(escaped(text), (0, at), (-6, 0), beside, "offset points", **style)


STYLES: tuple[tuple[str, Any, str], ...] = (
    ("#0a5ea8", "-", "o"),
    ("#b4500a", "--", "s"),
    ("#00795c", "-.", "^"),
    ("#8a3a78", ":", "D"),
    ("#7a5300", (0, (8, 2)), "v"),
    ("#444444", (0, (1, 1)), "P"),
)
"""Colour, dash and marker of each curve on the same Axes; they begin anew after the last. Blue and vermillion are told
apart by the colour-blind, dashes and markers in greyscale."""

INK, GREY, GRID = "#2b3038", "#666e79", "#e3e5e8"
COLOUR = STYLES[0][0]
CURVE, OWN, IDENTITY = (f"unperplexed-{part}" for part in ("curve", "own", "identity"))


def escaped(text: str) -> str:
    """Give a text in which a dollar begins no formula."""
    return text.replace("$", r"\$")


def style_axes(ax: Axes, chart: Chart, size: float, grid: Literal["x", "both"] = "both") -> None:
    """Draw axes with their ticks, labels and grid.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    chart : Chart
        What has the axes.
    size : float
        Size of the type, in points.
    grid : {"x", "both"}, default "both"
        Axes whose ticks have grid lines.
    """
    scale_axes(ax, chart)
    ax.set_xlabel(escaped(chart.x.label), fontsize=1.1 * size)
    ax.set_ylabel(escaped(chart.y.label), fontsize=1.1 * size)
    ax.grid(axis=grid, color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelcolor=GREY, labelsize=size)


def scale_axes(ax: Axes, chart: Chart) -> None:
    """Give axes their ends and ticks."""
    ax.set(xlim=(chart.x.low, chart.x.high), ylim=(chart.y.low, chart.y.high))
    for axis, ticks in ((ax.xaxis, chart.x.ticks), (ax.yaxis, chart.y.ticks)):
        axis.set_ticks([at for at, _ in ticks], [escaped(text) for _, text in ticks])


def draw_references(ax: Axes, chart: Chart) -> None:
    """Draw the lines of reference, such as the identity line, in place of those that are there."""
    for line in [line for line in ax.lines if line.get_gid() == IDENTITY]:
        line.remove()
    for each in chart.references:
        ax.plot(each.x, each.y, color=GREY, linewidth=1, linestyle=(0, (5, 3)), zorder=1.5, gid=IDENTITY)


def write_title(ax: Axes, chart: Chart, size: float, width: float) -> None:
    """Write the finding above the Axes and, smaller below it, what is drawn.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to write.
    chart : Chart
        What has title and subtitle.
    size : float
        Size of the type, in points.
    width : float
        Inches that both may take; more where there is room on the right.
    """
    letters = max(width, _room(ax, width)) * 72 / size
    about = textwrap.wrap(escaped(chart.subtitle), max(20, int(letters * 1.8)))
    title = textwrap.wrap(escaped(chart.title), max(16, int(letters * 1.42)))
    ax.annotate(
        "\n".join(about), (0, 1), (0, 7), "axes fraction", "offset points", fontsize=size, color=GREY, va="bottom",
        gid=OWN,
    )  # fmt: skip
    pad = 11 + 1.25 * size * len(about)
    ax.set_title("\n".join(title), loc="left", fontsize=size * 1.2, fontweight="bold", pad=pad)


def _room(ax: Axes, width: float) -> float:
    """Inches from the left side of a drawing of this width, in the middle of its Axes, to the next Axes or the edge."""
    own = ax.get_position(original=True)
    others = (each.get_position(original=True) for each in ax.figure.axes if each is not ax)
    beside = [each.x0 for each in others if each.x0 >= own.x1 and each.y0 < own.y1 and each.y1 > own.y0]
    inches = (min(beside, default=1) - own.x0) * ax.figure.bbox.width / ax.figure.dpi
    margin = max(own.width * ax.figure.bbox.width / ax.figure.dpi - width, 0) / 2
    return float(inches - margin) * 0.97
