"""[CM]: metrics of classifiers. The outputs of the paper's networks are not public; other networks take their place."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.optimize import linprog

from unperplexed import assess, floor_sensitivity
from unperplexed.results import Assessment

from .drawing import GREEN, panels
from .exhibits import Exhibit, Line, Made, Report
from .page import published

TITLE = "[CM] Classifier metrics at scale"
SOURCE = (
    'C. A. George, E. A. Barrera and K. P. Nelson, "Applying the Decisiveness and Robustness Metrics to Convolutional '
    'Neural Networks", arXiv:2006.00058 (2020). It computes the three averages for two networks, AlexNet and DenseNet, '
    "on traffic signs and on ImageNet."
)

Classified = tuple[NDArray[np.integer], NDArray[np.floating]]
"""What happened, and reported probabilities."""

BINS, FLOOR, FLOORS = 20, 0.005, (0.05, 0.01, 0.005, 0.001, 0.0)

TABLE_1 = {
    "AlexNet, GTSRB": ("0.974", ("0.913", "0.913"), ("0.603", "0.679"), ("0.973", "0.962")),
    "DenseNet, GTSRB": ("0.948", ("0.831", "0.828"), ("0.437", "0.505"), ("0.939", "0.920")),
    "AlexNet, ImageNet": ("0.568", ("0.063", "0.185"), ("0.054", "0.054"), ("0.465", "0.444")),
    "DenseNet, ImageNet": ("0.687", ("0.148", "0.304"), ("0.085", "0.087"), ("0.607", "0.573")),
}
"""As printed: prediction accuracy; geometric accuracy, robustness and decisiveness, each reported and measured."""

TABLE_2 = {
    0.05: (".708", ".863", ".938"),
    0.01: (".509", ".832", ".938"),
    0.005: (".425", ".823", ".938"),
    0.001: (".255", ".808", ".938"),
    0.0: (".019", ".790", ".938"),
}
"""As printed for DenseNet on GTSRB, by floor: robustness, geometric accuracy and decisiveness."""

_ROUNDING = 0.0005


NETWORKS = {
    "DenseNet-BC, CIFAR-100": ("netcal_cifar/densenet-bc-100-cifar-100.npz", "ground_truth", "predictions"),
    "LeNet-5, CIFAR-100": ("netcal_cifar/lenet-5-cifar-100.npz", "ground_truth", "predictions"),
    "WideResNet-16-4, CIFAR-10": ("netcal_cifar/wideresnet-16-4-cifar-10.npz", "ground_truth", "predictions"),
    "VGG-16, CIFAR-10": ("vgg16_cifar10/vgg16_cifar10.npz", "labels", "probs"),
}
"""Networks whose outputs are public: the file of each, and its arrays of classes and of probabilities."""

SOURCES = {
    "netcal_cifar": "EFS-OpenSource/calibration-framework at 2a3db8d",
    "vgg16_cifar10": "p-lambda/verified_calibration at ee81c34",
}
"""Repositories on GitHub that publish these outputs, by folder."""

_FILES = os.environ.get("UNPERPLEXED_DATA", "")
"""The folder of these files; without it the figures of docs/evidence/papers.json stand."""


def _how(network: str) -> str:
    return f"other data: {SOURCES[NETWORKS[network][0].split('/')[0]]}"


@cache
def networks() -> Mapping[str, Classified]:
    """Read what the networks predicted for the test images of CIFAR-10 and CIFAR-100."""
    found = {}
    for name, (path, classes, probabilities) in NETWORKS.items():
        with np.load(Path(_FILES) / path) as arrays:
            found[name] = arrays[classes].reshape(-1).astype(np.int64), arrays[probabilities]
    return found


def assessed(y: NDArray[np.integer], p: NDArray[np.floating]) -> Assessment:
    """Assess as the paper does."""
    labels = range(p.shape[1])
    return assess(y, p, labels=labels, measured=f"equal-population:bins={BINS}", floor=FLOOR, resamples=0)


def metrics(_: Report) -> Made:
    """Fig. 1 and Table 1 of networks whose outputs are public."""
    if not _FILES:
        return published("cm-figure-1", _METRICS_REMARKS)
    figure, axes = panels(9.0, 8.8, 2, 2)
    lines = []
    for ax, (name, each) in zip(axes, networks().items(), strict=True):
        result, how = assessed(*each), _how(name)
        draw(ax, result)
        ax.set_title(f"{name}, slope {result.averages_slope:.2f}", loc="left", fontsize="medium")
        lines.append(Line(f"{name}: prediction accuracy", "", result.prediction_accuracy, how, digits=3))
        for mean in ("geometric_accuracy", "robustness", "decisiveness"):
            pair = [getattr(result.reported, mean), getattr(result.measured, mean)]
            lines.append(Line(f"{name}: {mean.replace('_', ' ')}, reported and measured", "", pair, how, digits=3))
        slopes = [
            result.averages_slope,
            assess(*each, labels=range(result.n_classes), floor=FLOOR, resamples=0).averages_slope,
        ]
        lines.append(Line(f"{name}: slope, by these bins and by our default estimator", "", slopes, how, digits=3))
    axes[0].legend(fontsize="x-small", loc="upper left")
    return Made(lines, figure, _METRICS_REMARKS)


_METRICS_REMARKS = [
    (
        "The predictions of the paper's own networks are not public. These are four other convolutional "
        "networks, tested on the 10,000 images of CIFAR-10 or CIFAR-100. The last column names the "
        "repository on GitHub that publishes their predictions. The next section has the printed values."
    ),
    (
        "The paper's finding holds for these networks too. Predicted and measured geometric accuracies "
        "differ by at most .006, and all four slopes are below 1, which means overconfidence."
    ),
    (
        "The last row of each network compares two slopes, one by the paper's bins and one by the "
        "package's default estimator, which has no bins. The lowest bins are wide. So they mix "
        "correct-class probabilities far above their mean with thousands of probabilities near 0, and "
        "understate the overconfidence of all networks but LeNet-5."
    ),
    (
        "The paper states neither the number of bins, nor how many equal values make a singularity, nor "
        f"the outer bins. We use {BINS} bins. One of them is the range from 0 to the floor of {FLOOR}, and "
        "a value with more than a bin's share of the rows has a bin of its own."
    ),
]


def draw(ax: Axes, result: Assessment) -> None:
    """Draw measured accuracy as bars of the bins' widths, the line of slope 1, the three means and their line."""
    bins = result.bins
    ax.bar(
        bins.lowest,
        bins.measured,
        np.maximum(bins.highest - bins.lowest, FLOOR),
        align="edge",
        color="#6f9fd8",
        edgecolor="#2b5c94",
        linewidth=0.6,
        label="measured in the bin",
    )
    ax.plot([0, 1], [0, 1], color=GREEN, linewidth=1.2, label="slope 1")
    names = ("robustness", "geometric_accuracy", "decisiveness")
    x, y = ([getattr(means, name) for name in names] for means in (result.reported, result.measured))
    ax.plot([x[0], x[2]], [y[0], y[2]], color="magenta", linewidth=1.4, label="their slope")
    ax.plot(x, y, "o", color="red", markeredgecolor="white", label="robustness, geometric accuracy, decisiveness")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="reported", ylabel="measured")


def print_alone(_: Report) -> Made:
    """Tables 1 and 2 as printed, and what follows from their figures."""
    names = ("geometric accuracy", "robustness", "decisiveness")
    lines = []
    for network, (right, *three) in TABLE_1.items():
        lines.append(Line(f"Table 1, {network}: prediction accuracy", right, "", PRINTED))
        lines += [
            Line(f"Table 1, {network}: {name}, reported and measured", pair, "", PRINTED)
            for name, pair in zip(names, three, strict=True)
        ]
        _geometric, robustness, decisiveness = three
        reported, measured = (float(decisiveness[at]) - float(robustness[at]) for at in (0, 1))
        lines.append(
            Line(
                f"Table 1, {network}: slope", "below 1", measured / reported, "eq. 3 of the print", digits=3, again=True
            )
        )
        for at, kind in enumerate(("reported", "measured")):
            for name, pair, order in zip(names, three, ORDERS, strict=True):
                others = {r: float(other[at]) for r, other in zip(ORDERS, three, strict=True) if r != order}
                what = f"Table 1, {network}: {kind} {name} that the other two {kind} means allow"
                lines.append(Line(what, [pair[at]] * 2, list(mean_within(order, others)), BOUND, digits=3, again=True))
    for floor, means in TABLE_2.items():
        what = f"Table 2, floor {floor:g}: robustness, geometric accuracy, decisiveness"
        lines.append(Line(what, means, "", PRINTED))
    least = least_rise()
    what = "Table 2: rise of decisiveness from floor .001 to .05, at least, by the other figures"
    lines.append(Line(what, "0.000", least, BOUND, digits=5, again=True))
    remarks = [
        (
            "The paper's statement on the slopes agrees with its numbers. It also finds little difference "
            "between reported and measured means, but prints geometric accuracies of .063 and .185, and of "
            ".148 and .304, on ImageNet."
        ),
        (
            "The reported means of both networks on ImageNet contradict one another, because no probabilities "
            "between the floor and 1 have all three. The reported geometric accuracies, .063 and .148, are "
            "the likelier misprints. Given the other means they must lie in .129 to .253 and .229 to .386, "
            "and the measured values do lie there."
        ),
        "The slopes use only robustness and decisiveness, so this does not affect them.",
    ]
    return Made(lines, None, remarks)


ORDERS = (0, -2 / 3, 1)
"""Of Table 1's geometric accuracy, robustness and decisiveness."""

PRINTED, BOUND = "as printed", "bound from printed figures"
_PROBABILITIES = np.unique(np.concatenate([np.geomspace(1e-8, 1, 2001), [floor for floor in FLOORS if floor]]))
"""By which distributions are searched for bounds: any distribution is near one on these."""


def mean_within(order: float, others: Mapping[float, float]) -> tuple[float, float]:
    """Least and greatest mean of this order of probabilities from the floor to 1, whose other means round to these."""
    p, rows, limits = _PROBABILITIES[_PROBABILITIES >= FLOOR], [], []
    for other, mean in others.items():
        least, most = sorted(_term(np.array([mean - _ROUNDING, mean + _ROUNDING]), other))
        rows += [_term(p, other), -_term(p, other)]
        limits += [most, -least]
    terms = _term(p, order)
    ends = [sign * linprog(sign * terms, np.stack(rows), limits, np.ones((1, p.size)), [1.0]).fun for sign in (-1, 1)]
    low, high = sorted(float(math.exp(end) if order == 0 else end ** (1 / order)) for end in ends)
    return low, high


def _term(p: NDArray[np.floating], order: float) -> NDArray[np.floating]:
    """What a mean of this order is a mean of."""
    return np.log(p) if order == 0 else p**order


def least_rise() -> float:
    """Least difference in decisiveness between the floors .05 and .001 that Table 2's other figures allow."""
    p, rows, limits = _PROBABILITIES, [], []
    for floor, (robustness, geometric, _decisiveness) in TABLE_2.items():
        for mean, order in ((float(robustness), -2 / 3), (float(geometric), 0)):
            least, most = sorted(_term(np.array([mean - _ROUNDING, mean + _ROUNDING]), order))
            term = _term(np.maximum(p, floor), order)
            rows += [term, -term]
            limits += [most, -least]
    rise = np.maximum(p, 0.05) - np.maximum(p, 0.001)
    return float(linprog(rise, np.stack(rows), limits, np.ones((1, p.size)), [1.0]).fun)


def floors(_: Report) -> Made:
    """Table 2 of networks whose outputs are public."""
    remarks = ["As in the paper, the floor changes robustness most and decisiveness least."]
    if not _FILES:
        return published("cm-table-2", remarks)
    lines = []
    for name, (y, p) in networks().items():
        for floor, means in floor_sensitivity(y, p, labels=range(p.shape[1]), floors=FLOORS).items():
            three = [means.robustness, means.geometric_accuracy, means.decisiveness]
            what = f"{name}, floor {floor:g}: robustness, geometric accuracy, decisiveness"
            lines.append(Line(what, "", three, _how(name), digits=3))
    return Made(lines, None, remarks)


EXHIBITS = [
    Exhibit(
        "cm-figure-1",
        "Figure 1 and Table 1: reported and measured accuracy",
        (
            "Bars show how often a class was observed in each bin of predicted probability. Most bins have the same "
            "number of correct-class probabilities. Red dots are the three means, and the magenta line shows their "
            "slope."
        ),
        metrics,
    ),
    Exhibit(
        "cm-table-1",
        "Tables 1 and 2 as printed",
        "First come the values that the paper prints for its networks, and then what these imply, such as slopes.",
        print_alone,
    ),
    Exhibit(
        "cm-table-2",
        "Table 2: the effect of the floor",
        "Four networks have these three predicted means at five floors.",
        floors,
    ),
]
