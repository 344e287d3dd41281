"""What several pictures share: colours, and the marks of printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

GREEN, ORANGE, BROWN, GREY = "#009E73", "#E69F00", "#7a3b10", "#6e6e6e"
DIAGONAL: dict[str, Any] = {"color": GREY, "linewidth": 1, "linestyle": (0, (5, 3)), "zorder": 1}
ORDER_MARKS = (("v", "robustness"), ("o", "geometric_accuracy"), ("^", "decisiveness"))


def panels(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """Make a figure of so many inches, and its Axes row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).ravel().tolist()


def printed(ax: Axes, x: float | Sequence[float], y: float | Sequence[float], label: str = "printed") -> None:
    """Mark what the print says."""
    ax.plot(x, y, "x", color="black", markersize=9, markeredgewidth=1.8, linestyle="none", label=label, zorder=9)
