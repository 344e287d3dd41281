"""Pictures of risk profiles on matplotlib Axes. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from ..report.axes import GREY, SIZES, axes_or_new
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST
from .risk_profile import MeasuredProfile, RiskProfile

# Mark shape, name and order of the three means, from the smallest to the largest.
MEANS = (("v", "robustness", ROBUST), ("o", "geometric_accuracy", GEOMETRIC), ("^", "decisiveness", DECISIVE))


def plot_profile(
    profile: RiskProfile,
    ax: Axes | None = None,
    *,
    label: str | None = None,
    measured: MeasuredProfile | None = None,
) -> Axes:
    """Draw a risk profile with its 95 % band and the three named means on it.

    Parameters
    ----------
    profile : RiskProfile
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure.
    label : str, optional
        Name in the legend, for several profiles on one Axes.
    measured : MeasuredProfile, optional
        The measured profile of the same forecasts, drawn as a dashed line with its band.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, SIZES["profile"])
    if measured is not None and np.isfinite(measured.values).any():
        ax.plot(measured.orders, measured.values, "--", color=GREY, label="measured", zorder=3)
        ax.fill_between(measured.orders, measured.low, measured.high, color=GREY, alpha=0.2, linewidth=0, zorder=1)
    if profile.values.max() - profile.values.min() > 0.02:  # else the names would lie on one another
        for _, name, place in named_means(profile):
            text = name.replace("_", " ")
            ax.annotate(text, place, xytext=(6, -10), textcoords="offset points", fontsize="small")
    return plot_profiles({label or f"floor {profile.floor:g}": profile}, ax)


def plot_profiles(profiles: Mapping[str, RiskProfile], ax: Axes | None = None) -> Axes:
    """Draw risk profiles by name on the same Axes; of the named means the marks alone.

    Parameters
    ----------
    profiles : mapping from str to RiskProfile
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, SIZES["profile"])
    for name, profile in profiles.items():
        draw_profile(ax, profile, name)
    finish_profiles(ax, list(profiles.values()))
    ax.legend(loc="lower right", fontsize="small")
    return ax


def draw_profile(ax: Axes, profile: RiskProfile, label: str) -> None:
    """Draw a profile with its named means; orders that few rows decide are dotted."""
    shown = np.where(profile.few_rows, np.nan, profile.values)
    (line,) = ax.plot(profile.orders, shown, label=label, zorder=3)
    colour = line.get_color()
    if profile.few_rows.any():
        ax.plot(profile.orders, np.where(profile.few_rows, profile.values, np.nan), ":", color=colour, zorder=3)
    ax.fill_between(profile.orders, *profile.interval(), color=colour, alpha=0.2, linewidth=0, zorder=2)
    for marker, _, place in named_means(profile):
        ax.plot(*place, marker=marker, color=colour, markeredgecolor="white", markersize=9, zorder=4)


def named_means(profile: RiskProfile) -> Iterator[tuple[str, str, tuple[float, float]]]:
    """Mark, name and place of each of the three means that the profile's orders reach."""
    for marker, name, order in MEANS:
        if profile.orders.min() <= order <= profile.orders.max():
            yield marker, name, (order, float(np.interp(order, profile.orders, profile.values)))


def finish_profiles(ax: Axes, profiles: Sequence[RiskProfile]) -> None:
    """Name the axes, and what is dotted."""
    if any(profile.few_rows.any() for profile in profiles):
        ax.plot([], [], ":", color=GREY, label="carried by few rows")
    ax.set(xlabel="order of the mean (risk-averse to risk-seeking)", ylabel="generalized mean", ylim=(0, 1.02))
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
