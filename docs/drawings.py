"""Drawings of pages, from what the pages' own examples have computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unperplexed.describe.texts import position_chart
from unperplexed.language_models import TextAssessment
from unperplexed.report.matplotlib_draw import draw as draw_chart

BLUE, ORANGE, GREEN, PURPLE = "#0a5ea8", "#b4500a", "#00795c", "#8a3a78"
INK, GREY = "#2b3038", "#666e79"
_LINES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (PURPLE, ":"), (INK, (0, (8, 2))))


def _axes(x: str, y: str, width: float = 6.4, height: float = 3.6) -> Axes:
    ax = Figure(figsize=(width, height)).subplots()
    ax.set(xlabel=x, ylabel=y)
    ax.grid(color="#e3e5e8", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _identity(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")


def _curves(ax: Axes, x: Any, curves: Mapping[str, Any]) -> None:
    for (name, y), (colour, dash) in zip(curves.items(), _LINES, strict=False):
        ax.plot(x, y, color=colour, linestyle=dash, label=name)


def annotated(ax: Axes) -> Figure:
    """Add what each part of a reliability diagram is."""

    def note(words: str, to: tuple[float, float], at: tuple[float, float]) -> None:
        arrow = {"arrowstyle": "-", "color": ORANGE, "linewidth": 0.9, "shrinkB": 2}
        ax.annotate(words, to, at, color=ORANGE, fontsize=8.5, arrowprops=arrow, va="center", annotation_clip=False)

    note("identity line: a calibrated\nmodel lies on it, apart from chance", (0.62, 0.62), (0.13, 0.93))
    note("curve and 95% band:\nobserved frequency\ngiven the prediction", (0.79, 0.685), (0.72, 0.26))
    note("a group of rows\nwith its 95% CI", (0.235, 0.325), (0.03, 0.6))
    note("above the line on the left, below it\non the right: overconfident", (0.3, 0.38), (0.4, 0.08))
    return ax.figure


def weights_by_order(orders: Mapping[str, float]) -> Figure:
    """Draw the weight of a probability in the mean of each order, relative to a probability of 1."""
    ax = _axes("probability assigned to the outcome", "weight, relative to probability 1")
    p = np.geomspace(0.001, 1, 50)
    _curves(ax, p, {name: p**r for name, r in orders.items()})
    ax.set(xscale="log", yscale="log", xlim=(0.001, 1), ylim=(0.001, 150))
    ticks = {0.001: "0.001", 0.01: "0.01", 0.1: "0.1", 1: "1", 10: "10", 100: "100"}
    ax.set_xticks(list(ticks)[:4], list(ticks.values())[:4])
    ax.set_yticks(list(ticks), list(ticks.values()))
    for r, (colour, _) in zip(orders.values(), _LINES, strict=False):
        ax.plot(0.01, 0.01**r, "o", color=colour)
        ax.annotate(
            f"{0.01**r:.3g}", (0.01, 0.01**r), (6, 5 if r <= 0 else -13), textcoords="offset points", color=colour
        )
    ax.legend(frameon=False)
    return ax.figure


def curves_of_estimators(names: Sequence[str], assessed: Callable[[str], Any], truth: Callable[[Any], Any]) -> Figure:
    """Draw the measured probability by some estimators, beside the true one."""
    ax = _axes("predicted probability", "measured probability", 4.6, 4.2)
    _identity(ax)
    p = np.array([0, 1])
    ax.plot(p, truth(p), color=INK, linewidth=1, label="true frequency")
    for name, (colour, dash) in zip(names, _LINES[1::-1], strict=False):
        curve = assessed(name).curve
        ax.plot(curve.reported, curve.measured, color=colour, linestyle=dash, label=name)
    ax.legend(frameon=False, loc="upper left")
    return ax.figure


def two_by_two(forecasters: Mapping[str, Any], observed: Any, assess: Callable[..., Any]) -> Figure:
    """Draw the reliability curves of four forecasters of the same outcomes, under the names of their errors."""
    figure = Figure(figsize=(8, 8))
    panels = figure.subplots(2, 2, gridspec_kw={"hspace": 0.12, "wspace": 0.25}).flat
    for ax, (name, predicted) in zip(panels, forecasters.items(), strict=True):
        before = set(figure.axes)
        assess(observed, predicted, resamples=0).plot(ax)
        for histogram in set(figure.axes) - before:
            histogram.remove()
        for each in (*ax.texts, *ax.collections[:1]):  # words and the band
            each.set_visible(False)
        ax.set_title(name, loc="left", fontweight="bold", fontsize=11)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
        ax.tick_params(labelbottom=True)
        ax.set(xlabel="predicted probability", ylabel="observed frequency")
    return figure


def intervals(limits: Sequence[tuple[float, float]], truth: float) -> Figure:
    """Draw one interval a sample, those that miss the truth in another colour."""
    ax = _axes("geometric accuracy", "sample", 6.4, 4)
    ax.axvline(truth, color=INK, linewidth=1)
    for i, (low, high) in enumerate(limits, 1):
        missed = not low <= truth <= high
        ax.plot([low, high], [i, i], color=ORANGE if missed else BLUE, linewidth=2.2 if missed else 1.4)
    ax.annotate("truth", (truth, len(limits) + 1), (4, 0), textcoords="offset points")
    return ax.figure


def expected_scores(reports: Any, curves: Mapping[str, Any]) -> Figure:
    """Draw how much worse than the best each report is expected to score."""
    ax = _axes("reported probability of rain, which has 0.7", "expected score − its best value")
    excess = {name: np.subtract(y, np.min(y)) for name, y in curves.items()}
    _curves(ax, reports, excess)
    for y, (colour, _) in zip(excess.values(), _LINES, strict=False):
        ax.plot(reports[np.argmin(y)], 0, "o", color=colour, clip_on=False)
    ax.axvline(0.7, color=GREY, linewidth=1, linestyle="--")
    ax.set(xlim=(reports[0], reports[-1]), ylim=(0, 0.5))
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return ax.figure


def averages_by_order(average: Callable[[float], float], named: Mapping[str, float]) -> Figure:
    """Draw the average probability of a distribution by its order, with the orders that have names."""
    ax = _axes("order r of the entropy", "average probability")
    r = np.linspace(-6, 2, 161)
    ax.plot(r, [average(each) for each in r], color=BLUE)
    for name, order in named.items():
        ax.plot(order, average(order), "o", color=ORANGE)
        ax.annotate(name, (order, average(order)), (6, 4), textcoords="offset points", color=ORANGE)
    return ax.figure


def densities(distribution: Callable[[float], Any], couplings: Sequence[float]) -> Figure:
    """Draw the density of each coupling, with a mark at one scale from the centre."""
    ax = _axes("x, in scales from loc", "density")
    x = np.linspace(-4, 4, 321)
    _curves(ax, x, {f"coupling {each:.2g}".replace("-", "−"): distribution(each).pdf(x) for each in couplings})
    for each, (colour, _) in zip(couplings, _LINES, strict=False):
        ax.plot(1, distribution(each).pdf(1), "o", color=colour)
    ax.set(xlim=(-4, 4), ylim=(0, None))
    ax.legend(frameon=False)
    return ax.figure


def exact_curves(models: Mapping[str, Any]) -> Figure:
    """Draw the exact calibration curve of each model."""
    ax = _axes("reported probability", "measured probability", 4.6, 4.4)
    _identity(ax)
    p = np.linspace(0.01, 0.99, 99)
    _curves(ax, p, {name: model.measured(p) for name, model in models.items()})
    ax.legend(frameon=False)
    return ax.figure


def loss_by_position(texts: TextAssessment) -> Any:
    """Draw the chart of a report of texts: bits for each token by its position."""
    return draw_chart(position_chart(texts))
