"""Pictures of an Assessment on matplotlib Axes. Nothing is computed here, and no setting of matplotlib is changed.

Colours are those of Okabe and Ito, told apart by the colour-blind; the marks in vermillion and, as long as there is one
kind of bubble, the bubbles in blue are told apart in greyscale too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.axes_grid1 import make_axes_locatable

from .._lib.errors import InputError
from .._lib.formatting import (
    at_floor_text,
    confidence_interval,
    number_of,
    percent,
    rule_text,
    short_name,
)
from .._lib.typing import Floats, Ints
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST

if TYPE_CHECKING:
    from ..assessment.measured_profile import MeasuredProfile
    from ..assessment.result import Assessment
    from ..assessment.risk_profile import RiskProfile
    from ..comparison.result import Comparison
    from ..comparison.sequential import SequentialComparison

SIZES = {"reported": (5.6, 6.4), "nelson": (6.8, 5.6), "profile": (6.4, 4.4)}
"""Widths and heights, in inches, that suit the pictures: of an assessment by its axes, and of the others."""

_COLOURS = (
    ("#56B4E9", "#00507d"),
    ("#E69F00", "#7a5300"),
    ("#009E73", "#00513b"),
    ("#CC79A7", "#76305a"),
    ("#F0E442", "#837a00"),
    ("#aaaaaa", "#444444"),
)
"""Of bubbles and their edges; the first for all bins, or each for a class where there are no more."""

_MOST_BUBBLES = 15
"""Of the bins of many classes in each tenth of the reported axis; more cannot be told apart."""
_LARGE_BUBBLES = 40
"""So many have room to be large."""

_MOST_PROFILES, _MOST_RATIOS = 8, 10
"""Lines that can be told apart, and intervals there is room for."""

_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
"""Behind text, so that lines do not run through it."""

_MARKS = "#B33F00"
_GREY = "#6e6e6e"

# Mark shape, name and order of the three means, from the smallest to the largest.
_MEANS = (("v", "robustness", ROBUST), ("o", "geometric_accuracy", GEOMETRIC), ("^", "decisiveness", DECISIVE))


def plot_assessment(assessment: Assessment, ax: Axes | None = None, axes: str = "reported") -> Axes:
    """Draw measured against reported probability and, beside it, the distribution of what was reported.

    Bubbles are the bins, their area the bin's part in the log of the geometric accuracy, and bars how far each
    reaches; in the each-class view the largest of all classes' bins, in the classes' colours where these are few.
    The three marks are decisiveness, geometric accuracy and robustness, each with its reported and measured
    value in the legend, joined by the slope line.

    Parameters
    ----------
    assessment : Assessment
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; a strip is cut off it for the distribution. By default a new pyplot figure.
    axes : {"reported", "nelson"}, default "reported"
        Which axis the reported probability goes on: x, or y as in [N17].

    Returns
    -------
    matplotlib.axes.Axes
        The main Axes.

    Raises
    ------
    InputError
        For other axes.
    """
    if axes not in ("reported", "nelson"):
        raise InputError(f"axes: expected 'reported' or 'nelson', got {axes!r}.")
    if not (ax is None or isinstance(ax, Axes)):
        raise InputError(f"ax: expected matplotlib Axes, got {type(ax).__name__}; save with .plot().figure.savefig.")
    if ax is None:
        ax = _new_axes(SIZES[axes])
    swapped = axes == "nelson"
    of = f" of '{_name(str(assessment.labels[1]), 24)}'" if _one_class(assessment) else ""
    names = (f"reported probability{of}", f"measured probability{of}")
    ax.plot([0, 1], [0, 1], color=_GREY, linewidth=1, linestyle=(0, (5, 3)), label="reported = measured", zorder=1)
    _draw_bins(ax, assessment, swapped)
    _draw_bands(ax, assessment, swapped)
    _draw_curves(ax, assessment, swapped)
    _draw_means(ax, assessment, swapped)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_ylabel(names[0] if swapped else names[1])
    ax.set_xlabel(names[1] if swapped else names[0])
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
    _draw_beside(ax, assessment, swapped)
    return ax


def _one_class(assessment: Assessment) -> bool:
    """Whether the curve is that of the positive one of two classes, whose label is known."""
    return assessment.n_classes == 2 and assessment.view == "each-class" and assessment.labels[1] is not None


def _new_axes(size: tuple[float, float]) -> Axes:
    import matplotlib.pyplot as plt  # only a new figure needs a display

    return plt.subplots(figsize=size, layout="tight")[1]


def _xy(reported: Any, measured: Any, swapped: bool) -> tuple[Any, Any]:
    return (measured, reported) if swapped else (reported, measured)


def _draw_bins(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    bins = assessment.bins
    part = np.abs(bins.contribution)
    largest = part[np.isfinite(part)].max(initial=0.0)
    room = 700 * min(1.0, _LARGE_BUBBLES / min(part.size, 10 * _MOST_BUBBLES)) if bins.label else 700
    area = 14 + room * np.minimum(part / largest, 1.0) if largest else np.full(part.size, 14.0)
    reported = np.where(bins.happened > 0, bins.geometric_accuracy, bins.mean_reported)
    for name, (fill, edge), here in _kinds_of_bins(assessment, part, reported):
        spans = np.stack([np.stack([bins.lowest, bins.highest]), np.stack([bins.measured, bins.measured])])[..., here]
        alpha = 0.25 if bins.label and here.size > _LARGE_BUBBLES else 0.7
        ax.plot(*(spans[::-1] if swapped else spans), color=edge, linewidth=1.2, alpha=alpha, zorder=2)
        ax.scatter(
            *_xy(reported[here], bins.measured[here], swapped),
            s=area[here],
            color=fill,
            edgecolor=edge,
            linewidth=0.8,
            alpha=0.6,
            zorder=3,
            clip_on=False,
        )
        ax.plot([], [], "o", color=fill, markeredgecolor=edge, markersize=8, alpha=0.8, label=name)


def _kinds_of_bins(
    assessment: Assessment, part: Floats, reported: Floats
) -> Iterator[tuple[str, tuple[str, str], Ints]]:
    """Name in the legend, colours and bins of each kind: a few classes each by itself, else all of them."""
    bins, n = assessment.bins, len(assessment.bins)
    number = f"{number_of(n, 'bin')}, by contribution"
    if not bins.label:
        yield number, _COLOURS[0], np.arange(n)
        return
    tenth = np.minimum((reported * 10).astype(np.int64), 9)
    order = np.lexsort((-part, tenth))
    largest = order[np.arange(n) - np.searchsorted(tenth[order], tenth[order]) < _MOST_BUBBLES]
    if assessment.n_classes > len(_COLOURS):
        yield f"{largest.size} of {number}", _COLOURS[0], largest
        return
    for label, colours in zip(assessment.labels, _COLOURS, strict=False):
        yield (
            _name(label, 20) if isinstance(label, str) else f"class {label}",
            colours,
            largest[[bins.label[at] == label for at in largest]],
        )


def _name(name: str, most: int = 32) -> str:
    """Give a name from outside as matplotlib draws it as it is: a dollar begins no formula, and "_" hides nothing."""
    shown = short_name(name, most).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def _draw_bands(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    """Draw where a calibrated forecaster would be measured, and where the measured probability may lie."""
    u = assessment.uncertainty
    confidence = percent(u.confidence)
    for band, colour, label in (
        (u.consistent, _GREY, f"calibrated, {confidence} band"),
        (u.curve, _COLOURS[0][0], f"measured, {confidence} band"),
    ):
        if band is not None:
            fill = ax.fill_betweenx if swapped else ax.fill_between
            fill(band.reported, band.low, band.high, color=colour, alpha=0.25, linewidth=0, zorder=1, label=label)


def _draw_curves(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    """Draw the measured probability as estimated: one line, or one for each of a few classes."""
    curve, labels = assessment.curve, assessment.labels if assessment.curve.label else (None,)
    if len(labels) > len(_COLOURS):
        return
    for label, (_, edge) in zip(labels, _COLOURS, strict=False):
        here = [each == label for each in curve.label] if curve.label else slice(None)
        ax.plot(*_xy(curve.reported[here], curve.measured[here], swapped), color=edge, linewidth=1, alpha=0.8, zorder=2)


def _draw_means(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    reported, measured = assessment.reported, assessment.measured
    if np.isnan(measured.decisiveness):  # the top-label view has none
        return
    ends = ([reported.robustness, reported.decisiveness], [measured.robustness, measured.decisiveness])
    low, high = assessment.intervals["slope"]
    label = "slope -" if np.isnan(assessment.slope) else f"slope {assessment.slope:.2f}"
    label += "" if np.isnan(low) else f" ({low:.2f} to {high:.2f})"
    ax.plot(*_xy(*ends, swapped), color=_MARKS, linewidth=1.8, label=label, zorder=4)
    for marker, name, _ in _MEANS:
        x, y = getattr(reported, name), getattr(measured, name)
        label = f"{name.replace('_', ' ')} {x:.2f}, {y:.2f}"
        ax.plot(
            *_xy([x], [y], swapped),
            marker=marker,
            markersize=9,
            linestyle="none",
            color=_MARKS,
            markeredgecolor="white",
            label=label,
            zorder=5,
        )


def _draw_beside(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    """Legend above, and a histogram of the correct-class probabilities along the axis that shows what was reported."""
    edges, share = assessment.distribution.edges, assessment.distribution.share
    divider = make_axes_locatable(ax)
    # The legend has a place of its own above, cut off these Axes too, so that it neither covers nor overlaps anything.
    above = divider.append_axes("top", size="24%", pad=0.02)
    rows = number_of(assessment.n_rows, "forecast")
    _draw_legend(above, ax, f"{rows}; floor {assessment.floor:g}; {assessment.estimator}, {assessment.view}")
    # The strip takes the label of the reported axis over, since it lies between the axis and its label.
    if swapped:
        strip = divider.append_axes("left", size="20%", pad=0.12, sharey=ax)
        strip.stairs(share, edges, orientation="horizontal", fill=True, color=_GREY)
        strip.set(xlabel="share", xlim=(max(share) * 1.3, 0), ylabel=ax.get_ylabel())
        strip.xaxis.set_major_locator(MaxNLocator(1, prune="lower"))
        ax.set_ylabel("")
        ax.tick_params(labelleft=False)
    else:
        strip = divider.append_axes("bottom", size="20%", pad=0.12, sharex=ax)
        strip.stairs(share, edges, fill=True, color=_GREY)
        strip.set(ylabel="share", ylim=(0, max(share) * 1.3), xlabel=ax.get_xlabel())
        strip.yaxis.set_major_locator(MaxNLocator(2))
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)
    strip.spines[["top", "right"]].set_visible(False)
    # In the room that is left beyond the longest bar.
    style = {"x": 0.02, "y": 0.5, "rotation": 90, "ha": "left", "va": "center"}
    style = style if swapped else {"x": 0.5, "y": 0.98, "ha": "center", "va": "top"}
    strip.text(s="of what happened", transform=strip.transAxes, fontsize="x-small", **style)


def _draw_legend(above: Axes, ax: Axes, title: str) -> None:
    """Draw the legend of Axes on others above them, which have nothing else."""
    above.set_axis_off()
    size = FontProperties(size="small").get_size_in_points() * np.clip(_side(ax) / _FULL_SIDE, _SMALLEST, 1)
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


def _side(ax: Axes) -> float:
    """Side of the square, in inches, that Axes have room for beside legend and strip, as they are before any layout."""
    inches = np.asarray(ax.get_position(original=True).size) * ax.figure.bbox.size / ax.figure.dpi
    return float(min(inches[0], inches[1] / 1.5))


_FULL_SIDE, _SMALLEST = 2.9, 0.6
"""From here on the legend fits in full size; letters get no smaller than can be read, wherever they then reach."""


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
    if ax is None:
        ax = _new_axes(SIZES["profile"])
    if measured is not None and np.isfinite(measured.values).any():
        ax.plot(measured.orders, measured.values, "--", color=_GREY, label="measured", zorder=3)
        ax.fill_between(measured.orders, measured.low, measured.high, color=_GREY, alpha=0.2, linewidth=0, zorder=1)
    if profile.values.max() - profile.values.min() > 0.02:  # else the names would lie on one another
        for _, name, place in _named_means(profile):
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
    if ax is None:
        ax = _new_axes(SIZES["profile"])
    for name, profile in profiles.items():
        _draw_profile(ax, profile, name)
    _finish_profiles(ax, list(profiles.values()))
    ax.legend(loc="lower right", fontsize="small")
    return ax


def _draw_profile(ax: Axes, profile: RiskProfile, label: str, band: bool = True) -> None:
    shown = np.where(profile.few_rows, np.nan, profile.values)
    (line,) = ax.plot(profile.orders, shown, label=label, zorder=3)
    colour = line.get_color()
    if profile.few_rows.any():
        ax.plot(profile.orders, np.where(profile.few_rows, profile.values, np.nan), ":", color=colour, zorder=3)
    if band:
        ax.fill_between(profile.orders, *profile.interval(), color=colour, alpha=0.2, linewidth=0, zorder=2)
    for marker, _, place in _named_means(profile):
        ax.plot(*place, marker=marker, color=colour, markeredgecolor="white", markersize=9, zorder=4)


def _named_means(profile: RiskProfile) -> Iterator[tuple[str, str, tuple[float, float]]]:
    """Mark, name and place of each of the three means that the profile's orders reach."""
    for marker, name, order in _MEANS:
        if profile.orders.min() <= order <= profile.orders.max():
            yield marker, name, (order, float(np.interp(order, profile.orders, profile.values)))


def _finish_profiles(ax: Axes, profiles: Sequence[RiskProfile]) -> None:
    if any(profile.few_rows.any() for profile in profiles):
        ax.plot([], [], ":", color=_GREY, label="carried by few rows")
    ax.set(xlabel="order of the mean (risk-averse to risk-seeking)", ylabel="generalized mean", ylim=(0, 1.02))
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)


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
        ax = _new_axes(comparison_size(comparison))
    shown = list(comparison.forecasters.items())[:_MOST_PROFILES]
    for name, each in shown:  # the bands of profiles are for independent rows
        _draw_profile(ax, each.assessment.profile, _name(name), band=comparison.assessed_for_sure)
    _finish_profiles(ax, [each.assessment.profile for _, each in shown])
    above, below = _strips(comparison)
    divider = make_axes_locatable(ax)
    title = number_of(comparison.n_rows, "forecast") + f" each; profiles {at_floor_text(comparison.floor)}"
    title += _of_all(len(shown), len(comparison.forecasters), "forecasters", "; the first ")
    _draw_legend(divider.append_axes("top", size=above, pad=0.02), ax, title)
    _draw_ratios(divider.append_axes("bottom", size=below, pad=0.6), comparison)
    return ax


def comparison_size(comparison: Comparison) -> tuple[float, float]:
    """Width and height, in inches, that suit the picture of a comparison."""
    return 6.4, 4.4 + sum(_strips(comparison))


def _strips(comparison: Comparison) -> tuple[float, float]:
    """Heights, in inches, of what is above and below the profiles."""
    lines = (min(len(comparison.forecasters), _MOST_PROFILES) + 2) // 2  # one more says what is dotted
    return 0.3 + 0.19 * lines, 0.4 + 0.25 * min(len(comparison.pairs), _MOST_RATIOS)


def _of_all(shown: int, there: int, what: str, before: str) -> str:
    return f"{before}{shown} of {there:,} {what}" if shown < there else ""


def _draw_ratios(ax: Axes, comparison: Comparison) -> None:
    """Draw ratios of geometric accuracies with their confidence intervals, that of the best two on top."""
    pairs = comparison.pairs[:_MOST_RATIOS]
    for at, pair in enumerate(pairs):
        ax.plot(pair.accuracy_ratio_interval, [at, at], color=_MARKS, linewidth=1.8)
        ax.plot(pair.accuracy_ratio, at, "o", color=_MARKS, markeredgecolor="white")
        text = f"{_name(pair.first)} to {_name(pair.second)}"
        ax.text(0.01, at - 0.4, text, transform=ax.get_yaxis_transform(), fontsize="x-small", va="center", bbox=_PAPER)
    ax.axvline(1, color=_GREY, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    label = f"ratio of geometric accuracies {at_floor_text(comparison.scored_floor)}"
    label += f", {confidence_interval(comparison.confidence)}"
    label += _of_all(len(pairs), len(comparison.pairs), "pairs", ", ")
    ax.set(yticks=[], ylim=(len(pairs) - 0.5, -0.75), xlabel=label)
    ax.spines[["top", "right", "left"]].set_visible(False)


_MOST_POINTS = 2000
"""Of a line over rows; more cannot be told apart."""


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
        ax = _new_axes(SIZES["profile"])
    c = comparison
    rows = np.unique(np.linspace(1, c.n_rows, _MOST_POINTS).astype(np.int64))
    sides = [(c.first, c.difference, c.low, c.high), (c.second, -c.difference, -c.high, -c.low)]
    (first, difference, below, above), (second, *_) = sides[::-1] if c.second_ahead else sides
    low, mean, high = (column[rows - 1] for column in (below, difference, above))
    name = f"{rule_text(c.score)}, {_name(first, 20)} minus {_name(second, 20)}"
    ax.plot(rows, mean, color=_COLOURS[0][1], label="mean so far", zorder=3)
    label = f"{percent(1 - c.level)} limits, at all rows together"
    ax.fill_between(rows, low, high, color=_COLOURS[0][0], alpha=0.4, linewidth=0, label=label, zorder=2)
    ax.axhline(0, color=_GREY, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    if c.decided_after is not None:
        verb = "is" if c.better_now == c.better else "was"
        label = f"decided after {c.decided_after:,}: {_name(str(c.better), 20)} {verb} better"
        at = difference[c.decided_after - 1]
        ax.plot(c.decided_after, at, "o", color=_MARKS, markeredgecolor="white", markersize=9, label=label, zorder=4)
    start = max(1, (c.decided_after or c.n_rows) // 10) - 1
    least, most = min(0.0, below[start:].min()), max(0.0, above[start:].max())
    room = 0.05 * (most - least)
    ax.set(xlabel="rows", ylabel=name, xlim=(0, c.n_rows), ylim=(least - room, most + room))
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.legend(loc="best", fontsize="small")
    return ax
