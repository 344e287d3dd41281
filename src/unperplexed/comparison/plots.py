"""Pictures of comparisons on matplotlib Axes. Nothing is computed here."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from mpl_toolkits.axes_grid1 import make_axes_locatable

from .._lib.formatting import at_floor_text, confidence_interval, number_of, percent, rule_text
from ..assessment.profile_plots import MOST_PROFILES, draw_profile, finish_profiles
from ..report.axes import COLOURS, GREY, MARKS, PAPER, SIZES, draw_legend, drawn_name, new_axes
from .result import Comparison
from .sequential import SequentialComparison

_MOST_RATIOS = 10
"""Intervals that there is room for."""


def plot_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the risk profiles of forecasters, ordered by log loss, and below them the ratios of geometric accuracies.

    Risk profiles are at the floor of the assessments, ratios at that of the comparison; both are named. If there are
    too many forecasters or pairs to draw, the figure states how many are shown.

    Parameters
    ----------
    comparison : Comparison
        The comparison to draw: its first eight forecasters and its first ten pairs.
    ax : matplotlib Axes, optional
        Axes to draw on; strips of it are used for the legend and the ratios of geometric accuracies. Default: a new
        pyplot figure, as high as needed.

    Returns
    -------
    matplotlib.axes.Axes
        The main Axes, with the profiles.
    """
    if ax is None:
        ax = new_axes(comparison_size(comparison))
    shown = list(comparison.forecasters.items())[:MOST_PROFILES]
    for name, each in shown:  # the bands of profiles are for independent rows
        draw_profile(ax, each.assessment.profile, drawn_name(name), band=comparison.assessed_for_sure)
    finish_profiles(ax, [each.assessment.profile for _, each in shown])
    above, below = _strips(comparison)
    divider = make_axes_locatable(ax)
    title = number_of(comparison.n_rows, "forecast") + f" each; profiles {at_floor_text(comparison.floor)}"
    title += _of_all(len(shown), len(comparison.forecasters), "forecasters", "; the first ")
    draw_legend(divider.append_axes("top", size=above, pad=0.02), ax, title)
    _draw_ratios(divider.append_axes("bottom", size=below, pad=0.6), comparison)
    return ax


def comparison_size(comparison: Comparison) -> tuple[float, float]:
    """Width and height, in inches, that suit the picture of a comparison."""
    return 6.4, 4.4 + sum(_strips(comparison))


def _strips(comparison: Comparison) -> tuple[float, float]:
    """Heights, in inches, of what is above and below the profiles."""
    lines = (min(len(comparison.forecasters), MOST_PROFILES) + 2) // 2  # one more says what is dotted
    return 0.3 + 0.19 * lines, 0.4 + 0.25 * min(len(comparison.pairs), _MOST_RATIOS)


def _of_all(shown: int, there: int, what: str, before: str) -> str:
    return f"{before}{shown} of {there:,} {what}" if shown < there else ""


def _draw_ratios(ax: Axes, comparison: Comparison) -> None:
    """Draw ratios of geometric accuracies with their confidence intervals, that of the best two on top."""
    pairs = comparison.pairs[:_MOST_RATIOS]
    for at, pair in enumerate(pairs):
        ax.plot(pair.accuracy_ratio_interval, [at, at], color=MARKS, linewidth=1.8)
        ax.plot(pair.accuracy_ratio, at, "o", color=MARKS, markeredgecolor="white")
        text = f"{drawn_name(pair.first)} to {drawn_name(pair.second)}"
        ax.text(0.01, at - 0.4, text, transform=ax.get_yaxis_transform(), fontsize="x-small", va="center", bbox=PAPER)
    ax.axvline(1, color=GREY, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    label = f"ratio of geometric accuracies {at_floor_text(comparison.scored_floor)}"
    label += f", {confidence_interval(comparison.confidence)}"
    label += _of_all(len(pairs), len(comparison.pairs), "pairs", ", ")
    ax.set(yticks=[], ylim=(len(pairs) - 0.5, -0.75), xlabel=label)
    ax.spines[["top", "right", "left"]].set_visible(False)


_MOST_POINTS = 2000
"""Points of a line over rows; more cannot be distinguished."""


def plot_sequential(comparison: SequentialComparison, ax: Axes | None = None) -> Axes:
    """Draw the mean difference of two forecasters with its limits over the rows, and where it was decided.

    The difference is the score of the forecaster that is ahead over all rows minus that of the other. The first limits
    are wide, so the axis ends at the limits after a tenth of the rows, or of the rows until the decision.

    Parameters
    ----------
    comparison : SequentialComparison
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new pyplot figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if ax is None:
        ax = new_axes(SIZES["profile"])
    c = comparison
    rows = np.unique(np.linspace(1, c.n_rows, _MOST_POINTS).astype(np.int64))
    sides = [(c.first, c.difference, c.low, c.high), (c.second, -c.difference, -c.high, -c.low)]
    (first, difference, below, above), (second, *_) = sides[::-1] if c.second_ahead else sides
    low, mean, high = (column[rows - 1] for column in (below, difference, above))
    name = f"{rule_text(c.score)}, {drawn_name(first, 20)} minus {drawn_name(second, 20)}"
    ax.plot(rows, mean, color=COLOURS[0][1], label="mean so far", zorder=3)
    label = f"{percent(1 - c.level)} limits, at all rows together"
    ax.fill_between(rows, low, high, color=COLOURS[0][0], alpha=0.4, linewidth=0, label=label, zorder=2)
    ax.axhline(0, color=GREY, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    if c.decided_after is not None:
        verb = "is" if c.better_now == c.better else "was"
        label = f"decided after {c.decided_after:,}: {drawn_name(str(c.better), 20)} {verb} better"
        at = difference[c.decided_after - 1]
        ax.plot(c.decided_after, at, "o", color=MARKS, markeredgecolor="white", markersize=9, label=label, zorder=4)
    start = max(1, (c.decided_after or c.n_rows) // 10) - 1
    least, most = min(0.0, below[start:].min()), max(0.0, above[start:].max())
    room = 0.05 * (most - least)
    ax.set(xlabel="rows", ylabel=name, xlim=(0, c.n_rows), ylim=(least - room, most + room))
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.legend(loc="best", fontsize="small")
    return ax
