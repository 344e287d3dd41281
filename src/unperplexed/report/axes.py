"""What pictures share: sizes, colours, marks, new axes, and names from outside.

Colours are those of Okabe and Ito, distinguished by the colour-blind; the marks in vermillion and, as long as there is
one kind of bubble, the bubbles in blue are distinct in greyscale too. No setting of matplotlib is changed.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from .._lib.errors import InputError
from .._lib.formatting import short_name

SIZES = {"reported": (5.6, 6.4), "nelson": (6.8, 5.6), "profile": (6.4, 4.4)}
"""Widths and heights, in inches, that suit the pictures: of an assessment by its axes, and of the others."""

COLOURS = (
    ("#56B4E9", "#00507d"),
    ("#E69F00", "#7a5300"),
    ("#009E73", "#00513b"),
    ("#CC79A7", "#76305a"),
    ("#F0E442", "#837a00"),
    ("#aaaaaa", "#444444"),
)
"""Colours of bubbles and their edges; the first for all bins, or each for a class where there are no more."""

MARKS = "#B33F00"

GREY = "#6e6e6e"


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the Axes that were given, which are checked, or without any those of a new figure of a size in inches."""
    if isinstance(ax, Axes):
        return ax
    if ax is not None:
        raise InputError(f"ax: expected matplotlib Axes, got {type(ax).__name__}; save with .plot().figure.savefig.")
    import matplotlib.pyplot as plt  # only a new figure needs a display

    return plt.subplots(figsize=size, layout="tight")[1]


def figure_or_new(
    figure: Figure | None, size: tuple[float, float], layout: Literal["constrained", "tight"] = "constrained"
) -> Figure:
    """Return the figure that was given, which is checked, or without any a new one of a size in inches."""
    if isinstance(figure, Figure):
        return figure
    if figure is not None:
        raise InputError(f"figure: expected a matplotlib Figure, got {type(figure).__name__}.")
    import matplotlib.pyplot as plt  # only a new figure needs a display

    return plt.figure(figsize=size, layout=layout)


def drawable(name: str, most: int = 60) -> str:
    """Give a name from outside as matplotlib draws it as it is: a dollar begins no formula, and "_" hides nothing."""
    shown = short_name(name, most).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def draw_legend(above: Axes, ax: Axes, title: str) -> None:
    """Draw the legend of Axes on others above them, which have nothing else."""
    above.set_axis_off()
    size = FontProperties(size="small").get_size_in_points() * np.clip(side(ax, 1.5) / _FULL_SIDE, _SMALLEST, 1)
    above.legend(
        *ax.get_legend_handles_labels(),
        title=title,
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(-0.02, 0),
        ncols=2,
        fontsize=size,
        title_fontsize=size,
        frameon=False,
        columnspacing=1,
    )


def side(ax: Axes, height: float) -> float:
    """Side of the square, in inches, that Axes have room for, before any layout, where all takes so many sides up."""
    across, up = np.asarray(ax.get_position(original=True).size) * ax.figure.bbox.size / ax.figure.dpi
    return float(min(across, up / height))


_FULL_SIDE, _SMALLEST = 2.9, 0.6
"""From here on the legend fits in full size; letters get no smaller than can be read, wherever they then reach."""
