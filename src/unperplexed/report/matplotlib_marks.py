"""What matplotlib draws of every chart: colours, axes, lines of reference, titles, and texts as they are."""

from __future__ import annotations

import textwrap
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from .._lib.formatting import short_name
from .chart import Chart

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


def drawable(name: str) -> str:
    """Give a name from outside as matplotlib draws it as it is: a dollar begins no formula, and "_" hides nothing."""
    shown = short_name(name, 60).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def escaped(text: str) -> str:
    """Give a text in which a dollar begins no formula."""
    return text.replace("$", r"\$")


def side(ax: Axes) -> float:
    """Side of the square, in inches, that Axes have room for beside title and histogram, before any layout."""
    width, height = np.asarray(ax.get_position(original=True).size) * ax.figure.bbox.size / ax.figure.dpi
    return float(min(width, height / 1.35))


def style_axes(ax: Axes, chart: Chart, size: float, grid: Literal["x", "both"] = "both") -> None:
    """Draw axes with their ticks, labels and grid."""
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
    """Write the finding above the Axes and, smaller below it, what is drawn: over so many inches, or more."""
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
