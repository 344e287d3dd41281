"""The picture of the three averages, reported and measured, on matplotlib Axes. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.axes_grid1 import make_axes_locatable

from .._lib.errors import InputError
from .._lib.formatting import confidence_interval, number_of, percent, short_name, short_names
from .._lib.typing import Floats, Ints
from ..assessment.result import Assessment
from ..assessment.risk_profile import MeasuredProfile, RiskProfile
from ..report.axes import COLOURS, GREY, MARKS, SIZES, axes_or_new, draw_legend, drawable
from ..report.chart import thinned
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST

if TYPE_CHECKING:
    from ..assessment.decision_curve import DecisionCurve


_MOST_BUBBLES = 15
"""Largest number of bins of many classes in each tenth of the reported axis; more cannot be distinguished."""

_LARGE_BUBBLES = 40
"""So many have room to be large."""


def plot_assessment(assessment: Assessment, ax: Axes | None = None, axes: str = "reported") -> Axes:
    """Draw measured against reported probability and, beside it, the distribution of what was reported.

    Bubbles are the bins, their area the bin's part in the log of the geometric accuracy, and bars how far each
    reaches; in the each-class view the largest of all classes' bins, in the classes' colours where these are few.
    The three marks are decisiveness, geometric accuracy and robustness, each with its reported and measured
    value in the legend, joined by the slope line. In the each-class view of a few classes, small points are the
    geometric accuracies of the classes. With Nelson's axes the bubbles' area is the number of events, a class has all
    three marks (his Figure 3), and the geometric accuracy is projected on both axes and, on the line from the origin,
    to where the measured probability is 1: this is the divergence probability (his Figure 7).

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
    ax = axes_or_new(ax, SIZES[axes])
    swapped = axes == "nelson"
    of = f" of '{drawable(str(assessment.labels[1]), 24)}'" if _one_class(assessment) else ""
    names = (f"reported probability{of}", f"measured probability{of}")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (5, 3)), label="reported = measured", zorder=1)
    _draw_bins(ax, assessment, swapped)
    _draw_bands(ax, assessment, swapped)
    _draw_curves(ax, assessment, swapped)
    _draw_class_means(ax, assessment, swapped)
    if swapped:
        _draw_projections(ax, assessment)
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


def _xy(reported: Any, measured: Any, swapped: bool) -> tuple[Any, Any]:
    return (measured, reported) if swapped else (reported, measured)


def _draw_bins(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    bins = assessment.bins
    part = bins.happened if swapped else np.abs(bins.contribution)
    largest = part[np.isfinite(part)].max(initial=0.0)
    room = 700 * min(1.0, _LARGE_BUBBLES / min(part.size, 10 * _MOST_BUBBLES)) if bins.label else 700
    area = 14 + room * np.minimum(part / largest, 1.0) if largest else np.full(part.size, 14.0)
    reported = np.where(bins.happened > 0, bins.geometric_accuracy, bins.mean_reported)
    for name, (fill, edge), here in _kinds_of_bins(assessment, part, reported, "events" if swapped else "contribution"):
        spans = np.stack([np.stack([bins.lowest, bins.highest]), np.stack([bins.measured, bins.measured])])[..., here]
        alpha = 0.25 if bins.label and here.size > _LARGE_BUBBLES else 0.7
        ax.plot(*(spans[::-1] if swapped else spans), color=edge, linewidth=1.2, alpha=alpha, zorder=2)
        style: dict[str, Any] = {"color": fill, "edgecolor": edge, "linewidth": 0.8, "alpha": 0.6}
        ax.scatter(*_xy(reported[here], bins.measured[here], swapped), area[here], zorder=3, clip_on=False, **style)
        ax.plot([], [], "o", color=fill, markeredgecolor=edge, markersize=8, alpha=0.8, label=name)


def _kinds_of_bins(
    assessment: Assessment, part: Floats, reported: Floats, by: str
) -> Iterator[tuple[str, tuple[str, str], Ints]]:
    """Name in the legend, colours and bins of each kind: a few classes each by itself, else all of them."""
    bins, n = assessment.bins, len(assessment.bins)
    number = f"{number_of(n, 'bin')}, by {by}"
    if not bins.label:
        yield number, COLOURS[0], np.arange(n)
        return
    tenth = np.minimum((reported * 10).astype(np.int64), 9)
    order = np.lexsort((-part, tenth))
    largest = order[np.arange(n) - np.searchsorted(tenth[order], tenth[order]) < _MOST_BUBBLES]
    if assessment.n_classes > len(COLOURS):
        yield f"{largest.size} of {number}", COLOURS[0], largest
        return
    for label, colours in zip(assessment.labels, COLOURS, strict=False):
        yield (
            drawable(label, 20) if isinstance(label, str) else f"class {label}",
            colours,
            largest[[bins.label[at] == label for at in largest]],
        )


def _draw_bands(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    """Draw where a calibrated forecaster would be measured, and where the measured probability may lie."""
    u = assessment.uncertainty
    confidence = percent(u.confidence)
    for band, colour, label in (
        (u.consistent, GREY, f"calibrated, {confidence} band"),
        (u.curve, COLOURS[0][0], f"measured, {confidence} band"),
    ):
        if band is not None:
            fill = ax.fill_betweenx if swapped else ax.fill_between
            x, low, high = thinned(band.reported, band.low, band.high)
            fill(x, low, high, color=colour, alpha=0.25, linewidth=0, zorder=1, label=label)


def _draw_curves(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    """Draw the measured probability as estimated: one line, or one for each of a few classes."""
    curve, labels = assessment.curve, assessment.labels if assessment.curve.label else (None,)
    if len(labels) > len(COLOURS):
        return
    for label, (_, edge) in zip(labels, COLOURS, strict=False):
        here = [each == label for each in curve.label] if curve.label else slice(None)
        ax.plot(*_xy(curve.reported[here], curve.measured[here], swapped), color=edge, linewidth=1, alpha=0.8, zorder=2)


def _draw_class_means(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    """Draw the geometric accuracy of each of a few classes, with Nelson's axes all three averages, in its colour."""
    classes = assessment.classes
    if classes is None or len(classes) > len(COLOURS):
        return
    style: dict[str, Any] = _MARK | {"gid": "unperplexed-class", "markersize": 6, "clip_on": False, "zorder": 4}
    for marker, name, _ in MEANS if swapped else MEANS[1:2]:
        where = _xy(getattr(classes, f"reported_{name}"), getattr(classes, f"measured_{name}"), swapped)
        for at, x, y in zip(classes.index.tolist(), *(each.tolist() for each in where), strict=True):
            label = "_class" if at else f"{name.replace('_', ' ')} of each class"
            ax.plot([x], [y], marker, label=label, **style | {"color": COLOURS[at][1]})


_MARK: dict[str, Any] = {"color": MARKS, "markeredgecolor": "white", "markersize": 9, "linestyle": "none"}
"""Style of the mark of an average; its size is in points."""


def _draw_projections(ax: Axes, assessment: Assessment) -> None:
    """Draw source, model and divergence probability as lengths on the axes."""
    reported, measured = assessment.reported.geometric_accuracy, assessment.measured.geometric_accuracy
    ratio = assessment.divergence_probability
    if not 0 < ratio <= 1.02:
        return
    ax.plot([0, measured, measured], [reported, reported, 0], ":", color=MARKS, linewidth=1.2, zorder=2)
    ax.plot([0, 1], [0, ratio], color=MARKS, linewidth=0.8, alpha=0.7, zorder=2)
    label = f"divergence probability {ratio:.2f}"
    ax.plot(1, ratio, "D", color=MARKS, markersize=6, clip_on=False, label=label, linestyle="none", zorder=5)


def _draw_means(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    reported, measured = assessment.reported, assessment.measured
    if np.isnan(measured.decisiveness):  # the top-label view has none
        return
    ends = ([reported.robustness, reported.decisiveness], [measured.robustness, measured.decisiveness])
    low, high = assessment.intervals["averages_slope"]
    label = "slope -" if np.isnan(assessment.averages_slope) else f"slope {assessment.averages_slope:.2f}"
    label += "" if np.isnan(low) else f" ({low:.2f} to {high:.2f})"
    ax.plot(*_xy(*ends, swapped), color=MARKS, linewidth=1.8, label=label, zorder=4)
    for marker, name, _ in MEANS:
        x, y = getattr(reported, name), getattr(measured, name)
        label = f"{name.replace('_', ' ')} {x:.2f}, {y:.2f}"
        ax.plot(*_xy([x], [y], swapped), marker, label=label, zorder=5, **_MARK)


def _draw_beside(ax: Axes, assessment: Assessment, swapped: bool) -> None:
    """Legend above, and a histogram of the correct-class probabilities along the axis that shows what was reported."""
    edges, share = assessment.distribution.edges, assessment.distribution.share
    divider = make_axes_locatable(ax)
    # The legend has a place of its own above, cut off these Axes too, so that it neither covers nor overlaps anything.
    above = divider.append_axes("top", size="24%", pad=0.02)
    rows = number_of(assessment.n_rows, "forecast")
    draw_legend(above, ax, f"{rows}; floor {assessment.floor:.3g}; {assessment.estimator}, {assessment.view}")
    # The strip takes the label of the reported axis over, since it lies between the axis and its label.
    if swapped:
        strip = divider.append_axes("left", size="20%", pad=0.12, sharey=ax)
        strip.stairs(share, edges, orientation="horizontal", fill=True, color=GREY)
        strip.set(xlabel="share", xlim=(max(share) * 1.3, 0), ylabel=ax.get_ylabel())
        strip.xaxis.set_major_locator(MaxNLocator(1, prune="lower"))
        ax.set_ylabel("")
        ax.tick_params(labelleft=False)
    else:
        strip = divider.append_axes("bottom", size="20%", pad=0.12, sharex=ax)
        strip.stairs(share, edges, fill=True, color=GREY)
        strip.set(ylabel="share", ylim=(0, max(share) * 1.3), xlabel=ax.get_xlabel())
        strip.yaxis.set_major_locator(MaxNLocator(2))
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)
    strip.spines[["top", "right"]].set_visible(False)
    # In the room that is left beyond the longest bar.
    style = {"x": 0.02, "y": 0.5, "rotation": 90, "ha": "left", "va": "center"}
    style = style if swapped else {"x": 0.5, "y": 0.98, "ha": "center", "va": "top"}
    strip.text(s="of the events", transform=strip.transAxes, fontsize="x-small", **style)


# Mark shape, name and order of the three means, from the smallest to the largest.
MEANS = (("v", "robustness", ROBUST), ("o", "geometric_accuracy", GEOMETRIC), ("^", "decisiveness", DECISIVE))


def plot_profile(
    profile: RiskProfile, ax: Axes | None = None, *, label: str | None = None, measured: MeasuredProfile | None = None
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
    ax.set(xlabel="order of the mean (risk-averse to risk-seeking)", ylabel="generalized mean", ylim=(0, 1.02))
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.legend(loc="lower right", fontsize="small")
    return ax


def draw_profile(ax: Axes, profile: RiskProfile, label: str) -> None:
    """Draw a profile with its named means."""
    (line,) = ax.plot(profile.orders, profile.values, label=label, zorder=3)
    colour = line.get_color()
    ax.fill_between(profile.orders, *profile.interval(), color=colour, alpha=0.2, linewidth=0, zorder=2)
    for marker, _, place in named_means(profile):
        ax.plot(*place, marker=marker, color=colour, markeredgecolor="white", markersize=9, zorder=4)


def named_means(profile: RiskProfile) -> Iterator[tuple[str, str, tuple[float, float]]]:
    """Mark, name and place of each of the three means that the profile's orders reach."""
    for marker, name, order in MEANS:
        if profile.orders.min() <= order <= profile.orders.max():
            yield marker, name, (order, float(np.interp(order, profile.orders, profile.values)))


_COLOURS = ("#00507d", "#B33F00", "#00513b", "#76305a", "#7a5300", "#837a00")
_STYLES = ("-", "--", "-.", ":")
_MOST_BANDS = 3
"""Intervals that can be distinguished."""


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
    ax.plot(at, getattr(curve.all, mean), color=GREY, linewidth=1, label="acting on all rows")
    ax.axhline(0, color=GREY, linewidth=1, linestyle=(0, (5, 3)), label="acting on none")
    for number, (name, rule) in enumerate(zip(short_names(curve.models), curve.models.values(), strict=True)):
        colour, style = _COLOURS[number % len(_COLOURS)], _STYLES[number % len(_STYLES)]
        if number < _MOST_BANDS:
            band = rule.band(getattr(rule, low), getattr(rule, high))
            ax.fill_between(at, *band, color=colour, alpha=0.15, linewidth=0)
        label = name + (f", {confidence_interval(curve.confidence)}" if number < _MOST_BANDS else "")
        ax.plot(at, getattr(rule, mean), color=colour, linestyle=style, label=label, zorder=3)
    lowest = min(float(np.nanmin(getattr(rule, mean))) for rule in curve.models.values())
    ax.set(xlabel=f"threshold probability of '{short_name(str(curve.labels[1]))}'", xlim=curve.drawn)
    ax.set(ylabel="standardized net benefit" if standardized else "net benefit")
    ax.set_ylim(max(-0.5 * top, min(-0.1 * top, 1.1 * lowest)), 1.05 * top)
    ax.grid(color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.legend(loc="upper right", fontsize="small")
    return ax


_NET_BENEFIT = ("net_benefit", "low", "high")
