"""What pictures share: sizes, colours, marks, new axes, names from outside, and how they are written.

Colours are those of Okabe and Ito, distinguished by the colour-blind; the marks in vermillion and, as long as there is
one kind of bubble, the bubbles in blue are distinct in greyscale too. No setting of matplotlib is changed.
"""

from __future__ import annotations

import io
import textwrap
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text

from .._lib.errors import InputError
from .._lib.formatting import capital, short_name
from .chart import Style

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


def type_size(size: float) -> float:
    """Size of type, in points, of what has this size where the size of matplotlib's type (``font.size``) is 10."""
    return size * float(rcParams["font.size"]) / 10


def picture_bytes(found: Any, path: Path, style: Style, suited: tuple[float, float] | None) -> bytes:
    """Draw a result on a figure of the size asked for, or suited, in the form of a file: the same bytes each time."""
    of = type(found).plot
    takes, axes = signature(of).parameters, {"axes": style.axes} if style.axes != "reported" else {}
    if not axes.keys() <= takes.keys():
        raise InputError("axes=nelson: is for all rows of an assessment of class probabilities; leave it out.")
    whole, size = "figure" in takes, style.size or suited
    size = size or SIZES[style.axes if "axes" in takes else "profile"]
    stream, form = io.BytesIO(), path.suffix.lower()[1:]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with rc_context({"svg.hashsalt": "unperplexed", "font.size": style.font_size}):
        figure = Figure(figsize=size, layout="constrained" if whole else "tight")
        of(found, figure if whole else figure.subplots(), **axes)
        _name_outcome(figure, getattr(found, "whole", found), style)
        if style.title:
            _write_title(figure, style.title)
        if style.colours == "grey":
            _make_grey(figure)
        # A size that was asked for is that of the file.
        figure.savefig(stream, format=form, dpi=150, bbox_inches=None if style.size else "tight", metadata=undated)
    return stream.getvalue()


def _name_outcome(figure: Figure, found: Any, style: Style) -> None:
    """Write what the outcome is called in place of the label of the positive class; its column for labels like 1."""
    labels: Any = getattr(found, "labels", ())
    outcome = style.outcome or (style.column if str(labels[-1:]) in ("(1,)", "(1.0,)", "(True,)", "('1',)") else "")
    if not outcome or len(labels) != 2:
        return
    label = f"'{short_name(str(labels[1]))}'"
    for text in figure.findobj(Text):
        named = text.get_text().replace(label, drawable(outcome))
        text.set_text(capital(named) if text.get_text().startswith(label) else named)


def _write_title(figure: Figure, title: str) -> None:
    """Write a title in place of what the Axes have, or above all."""
    size = type_size(10.8)
    lines = "\n".join(textwrap.wrap(drawable(title, 300), int(figure.get_figwidth() * 72 / size * 1.42)))
    texts = [(ax, text) for ax in figure.axes for text in ax.get_children() if isinstance(text, Text)]
    titles = [text for ax, text in texts if text.get_text() and text.get_text() == ax.get_title("left")]
    if len(titles) == 1 and not titles[0].get_text().endswith("\n"):  # as those of small charts do
        titles[0].set_text(lines)
    else:
        figure.suptitle(lines, x=0.02, ha="left", fontsize=size, fontweight="bold")


def _make_grey(figure: Figure) -> None:
    """Give all that is drawn the grey of its colour's lightness: of red, green and blue as in ITU-R BT.601."""
    for artist in figure.findobj():
        for what in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
            colours = to_rgba_array(getattr(artist, f"get_{what}", lambda: "none")())
            if len(colours):
                colours[:, :3] = (colours[:, :3] @ [0.299, 0.587, 0.114])[:, None]
                getattr(artist, f"set_{what}")(colours if len(colours) > 1 else tuple(colours[0]))
