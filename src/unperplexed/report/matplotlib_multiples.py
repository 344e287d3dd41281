"""Small reliability diagrams beside one another, drawn by matplotlib: one for each group."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._lib.errors import InputError
from .._lib.formatting import short_name
from .chart import Chart
from .matplotlib_marks import COLOUR, CURVE, GREY, GRID, drawable, escaped

_ACROSS = 4
_INCHES = 2.3


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
        For a `figure` that is none of matplotlib's.
    """
    across = min(len(charts), _ACROSS)
    down = math.ceil(len(charts) / across)
    if figure is None:
        import matplotlib.pyplot as plt  # only a new figure needs a display

        size = (max(_INCHES * across, 1.5 * _INCHES) + 0.4, (_INCHES + 0.25) * down + 0.4)
        figure = plt.figure(figsize=size, layout="constrained")
    if not isinstance(figure, Figure):
        raise InputError(f"figure: expected a matplotlib Figure, got {type(figure).__name__}.")
    axes = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    for ax, (title, below, chart) in zip(axes, charts, strict=False):
        _draw_small(ax, chart)
        ax.set_title(f"{drawable(title)}\n", loc="left", fontsize=9, fontweight="bold")
        ax.text(0, 1.03, escaped(short_name(below, 44)), transform=ax.transAxes, fontsize=7.5, color=GREY)
    for ax in axes[len(charts) :]:
        ax.set_visible(False)
    for ax in axes[max(0, len(charts) - across) : len(charts)]:
        ax.tick_params(labelbottom=True)
    first = charts[0][2]
    figure.supxlabel(escaped(first.x.label) + (f"\n{more}" if more else ""), fontsize=9)
    figure.supylabel(escaped(first.y.label), fontsize=9)
    return figure


def _draw_small(ax: Axes, chart: Chart) -> None:
    """Draw curve, band and points of one chart, with few ticks."""
    for reference in chart.references:
        ax.plot(reference.x, reference.y, color=GREY, linewidth=0.8, linestyle=(0, (5, 3)), zorder=1.5)
    for line in chart.lines:
        if line.low is not None and line.high is not None:
            ax.fill_between(line.x, line.low, line.high, color=COLOUR, alpha=0.17, linewidth=0, zorder=1)
        ax.plot(line.x, line.y, color=COLOUR, linewidth=1.6, zorder=3, gid=CURVE)
    for points in chart.points:
        if points.low is not None and points.high is not None:
            ax.vlines(points.x, points.low, points.high, color=COLOUR, linewidth=0.7, alpha=0.8, zorder=2)
        ax.plot(points.x, points.y, "o", color=COLOUR, markersize=3, zorder=4, clip_on=False)
    ticks = [(at, text) for at, text in chart.x.ticks if at in (chart.x.low, chart.x.high) or len(chart.x.ticks) < 4]
    ax.set(xlim=(chart.x.low, chart.x.high), ylim=(chart.y.low, chart.y.high), aspect="equal")
    ax.set_xticks(*zip(*ticks, strict=True))
    ax.set_yticks(*zip(*ticks, strict=True))
    ax.grid(color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[:].set_color(GRID)
    ax.tick_params(length=0, labelcolor=GREY, labelsize=8)
