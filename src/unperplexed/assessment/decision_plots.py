"""Pictures of decision curves on matplotlib Axes. Nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from .._lib.formatting import confidence_interval, short_name, short_names
from ..report.axes import SIZES, axes_or_new

if TYPE_CHECKING:
    from .decision_curve import DecisionCurve

_COLOURS = ("#00507d", "#B33F00", "#00513b", "#76305a", "#7a5300", "#837a00")
_STYLES = ("-", "--", "-.", ":")
_MOST_BANDS = 3
"""Intervals that can be distinguished."""
_GREY = "#6e6e6e"


def plot_decision_curve(curve: DecisionCurve, ax: Axes | None = None, *, standardized: bool = False) -> Axes:
    """Draw net benefit over the thresholds: each model with its pointwise interval, acting on all rows, and on none.

    Parameters
    ----------
    curve : DecisionCurve
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure.
    standardized : bool, default False
        Whether to divide by the observed frequency, so that perfect decisions have 1.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, SIZES["profile"])
    mean, low, high = ("standardized", "standardized_low", "standardized_high") if standardized else _NET_BENEFIT
    at, top = curve.thresholds, 1.0 if standardized else curve.frequency
    ax.plot(at, getattr(curve.all, mean), color=_GREY, linewidth=1, label="acting on all rows")
    ax.axhline(0, color=_GREY, linewidth=1, linestyle=(0, (5, 3)), label="acting on none")
    for number, (name, rule) in enumerate(zip(short_names(curve.models), curve.models.values(), strict=True)):
        colour, style = _COLOURS[number % len(_COLOURS)], _STYLES[number % len(_STYLES)]
        if number < _MOST_BANDS:
            ax.fill_between(at, getattr(rule, low), getattr(rule, high), color=colour, alpha=0.15, linewidth=0)
        label = name + (f", {confidence_interval(curve.confidence)}" if number < _MOST_BANDS else "")
        ax.plot(at, getattr(rule, mean), color=colour, linestyle=style, label=label, zorder=3)
    lowest = min(float(np.nanmin(getattr(rule, mean))) for rule in curve.models.values())
    ax.set(xlabel=f"threshold probability of '{short_name(str(curve.labels[1]))}'", xlim=(0, 1))
    ax.set(ylabel="standardized net benefit" if standardized else "net benefit")
    ax.set_ylim(max(-0.5 * top, min(-0.1 * top, 1.1 * lowest)), 1.05 * top)
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.legend(loc="upper right", fontsize="small")
    return ax


_NET_BENEFIT = ("net_benefit", "low", "high")
