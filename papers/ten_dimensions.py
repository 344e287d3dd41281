"""The simulation of [N17] Fig. 1 and [RP] Figs. 3 to 5: Gaussians learned from few samples, by several models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from unperplexed.statistics import coupling_from_order, generalized_mean
from unperplexed.theory import MultivariateCoupledGaussian

from .drawing import GREY, printed
from .exhibits import Line, Report

SEED, TRIALS, LEARNED, TESTED = 2017, 30, 25, 2000
"""Fixed before the first run. Samples are of each class."""

DIMENSIONS = (2, 4, 6, 8, 10)
UNDECIDED = "share outside both supports"
IN_DIMENSIONS = "in 2, 4, 6, 8, 10 dimensions"
NAMED = {"geometric accuracy": 0.0, "robustness": -2 / 3, "decisiveness": 1.0}
NAMED_ORDERS = tuple(NAMED.values())
ORDERS = np.unique([*np.linspace(-2, 2, 81).round(2), *NAMED_ORDERS])
MAIN = ("prediction accuracy", "geometric accuracy", "robustness")
"""Figures that the papers speak of."""

Print = Mapping[str, Mapping[int, str]]
"""What the print says, by figure and number of dimensions."""

SCANNED = (0, 0.02, 0.05, 0.1, 0.162, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8, 15, 30, 100, 1000)
"""Couplings that are tried, to see which is best."""

STEPS = TRIALS

OURS = (
    f"Ours are means over {TRIALS} trials (seed {SEED}), each with {LEARNED} training samples of each "
    f"class and {TESTED:,} test samples, a full covariance of each class and no floor. The paper "
    "states neither the number of trials nor the number of test samples. If the densities of both "
    "classes are 0, each class has probability 1/2, which counts as half a hit."
)


@dataclass(frozen=True)
class Model:
    """What is fitted to the samples, by the number of dimensions."""

    name: str
    coupling: Callable[[int], float]
    shrinkage: float | None = None
    """1 leaves the correlations out."""
    scale: Callable[[int], float] = lambda _: 1.0
    """Factor on the shape matrices."""
    orders: tuple[float, ...] = NAMED_ORDERS
    order: float | None = None
    """The order r whose couplings these are, where it is one."""
    shared: bool = False
    """Whether there are so many samples in all, not of each class, and one shape matrix for both."""

    def probabilities(self, known: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
        """Posterior probabilities of two classes, the first and the second half of what is known."""
        from unperplexed.theory import (
            CoupledDiscriminantAnalysis,  # needs scikit-learn, which other exhibits do without
        )

        d = new.shape[1]
        classes = np.repeat([0, 1], LEARNED)
        if self.shared:
            some = np.r_[: LEARNED // 2, LEARNED : LEARNED + (LEARNED + 1) // 2]
            known, classes = known[some], classes[some]
        analysis = CoupledDiscriminantAnalysis(
            coupling=self.coupling(d), shrinkage=self.shrinkage, pooled=self.shared, priors=[0.5, 0.5]
        ).fit(known, classes)
        if self.scale(d) == 1:
            return np.asarray(analysis.predict_proba(new))
        densities = (
            MultivariateCoupledGaussian(location, self.scale(d) * matrix, self.coupling(d)).pdf(new)
            for location, matrix in zip(analysis.locations_, analysis.shape_matrices_, strict=True)
        )
        each = np.stack(list(densities), axis=1)
        total = each.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(each, total, out=np.full(each.shape, 0.5), where=total > 0))


def fixed(coupling: float, orders: tuple[float, ...] = NAMED_ORDERS) -> Model:
    """One coupling, whatever the dimension."""
    return Model(f"κ = {coupling:g}", lambda _: coupling, orders=orders)


def of_order(r: float) -> Model:
    """The coupling that belongs to one order r, in each dimension."""
    return Model(f"r = {r:g}", lambda d: coupling_from_order(r, d=d), orders=tuple(ORDERS), order=r)


def as_printed(r: float) -> Model:
    """[RP] eq. 3.6 to the letter: r/(2 + r) before the squared distance, where r/(2 + d r) belongs to its exponent."""
    return Model(f"r = {r:g}, eq. 3.6", lambda d: coupling_from_order(r, d=d), scale=lambda d: (2 + r) / (2 + d * r))


def in_all(model: Model) -> Model:
    """The same from so many samples in all, with one shape matrix for both classes."""
    return replace(
        model, name=f"{model.name}, {LEARNED} samples in all, one covariance", orders=NAMED_ORDERS, shared=True
    )


GAUSSIAN, HEAVY, COMPACT = fixed(0.0, tuple(ORDERS)), fixed(0.162), fixed(-0.095)
HEAVY_ORDER, COMPACT_ORDER = of_order(-0.15), of_order(0.6)
PRINTED_SIGN = fixed(0.095)
DIAGONAL = Model("κ = 0, variances alone", lambda _: 0.0, shrinkage=1.0)
LITERAL = as_printed(-0.15), as_printed(0.6)
SHARED = {model.name: in_all(model) for model in (GAUSSIAN, HEAVY, HEAVY_ORDER, COMPACT_ORDER)}
"""Of models by their names."""


@dataclass(frozen=True)
class Found:
    """Of one model: trials by dimensions."""

    model: Model
    accuracy: NDArray[np.float64]
    profiles: NDArray[np.float64]
    """And by order."""
    undecided: NDArray[np.float64]
    """Share of test samples outside the supports of both classes, which are given 1/2 each."""

    def named(self, name: str) -> NDArray[np.float64]:
        """Trials by dimensions of a figure."""
        if name == UNDECIDED:
            return self.undecided
        if name == "prediction accuracy":
            return self.accuracy
        return self.profiles[:, :, self.model.orders.index(NAMED[name])]


def drawn(trial: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Samples to learn from and to test on, and the classes of these."""
    rng = np.random.default_rng([SEED, trial])
    known, new = (
        np.concatenate([rng.normal(mean, 1, (n, max(DIMENSIONS))) for mean in (0, 1)]) for n in (LEARNED, TESTED)
    )
    return known, new, np.repeat([0, 1], TESTED)


def _all(report: Report) -> dict[str, Found]:
    models = [fixed(coupling) for coupling in SCANNED]
    models += [GAUSSIAN, HEAVY, COMPACT, HEAVY_ORDER, COMPACT_ORDER, PRINTED_SIGN, DIAGONAL, *LITERAL, *SHARED.values()]
    shape = (TRIALS, len(DIMENSIONS))
    found = {m.name: Found(m, np.empty(shape), np.empty((*shape, len(m.orders))), np.empty(shape)) for m in models}
    for trial in range(TRIALS):
        known, new, truth = drawn(trial)
        for (j, d), each in product(enumerate(DIMENSIONS), found.values()):
            p = each.model.probabilities(known[:, :d], new[:, :d])
            correct = p[np.arange(truth.size), truth]
            each.undecided[trial, j] = np.mean(correct == 0.5)
            each.accuracy[trial, j] = np.mean((correct > 0.5) + 0.5 * (correct == 0.5))
            each.profiles[trial, j] = [generalized_mean(correct, order) for order in each.model.orders]
        report()
    return found


_found: dict[str, Found] = {}


def trials(model: Model, report: Report) -> Found:
    """What the trials give for a model; they run once in a process."""
    if not _found:
        _found.update(_all(report))
    return _found[model.name]


def mean_and_error(each: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean over the trials, and its standard error."""
    return each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))


def lines_of(found: Found, prefix: str, says: Print) -> list[Line]:
    """Every figure of a model with its standard error, and how far the trials scatter where the print has one."""
    lines = []
    for name in ("prediction accuracy", "geometric accuracy", "robustness", "decisiveness"):
        means, errors = mean_and_error(found.named(name))
        said = [says.get(name, {}).get(d, "") for d in DIMENSIONS]
        what = f"{prefix}{name} {IN_DIMENSIONS}"
        shown = said if any(said) else ""
        lines.append(Line(what, shown, means.tolist(), "simulation", errors.tolist(), digits=3))
        for which, each in (("smallest", found.named(name).min(axis=0)), ("largest", found.named(name).max(axis=0))):
            if any(said):
                lines.append(Line(f"{what}: the {which} of the trials", "", each.tolist(), "simulation", digits=3))
    return lines


def reading(found: Found, names: Sequence[str] = MAIN) -> list[Line]:
    """Another reading's figures."""
    return [
        Line(f"{found.model.name}: {name} {IN_DIMENSIONS}", "", means.tolist(), "simulation", errors.tolist(), digits=3)
        for name in names
        for means, errors in [mean_and_error(found.named(name))]
    ]


def draw_bars(ax: Axes, found: Found, says: Print) -> None:
    """Draw the share of correct classifications, and the means of what the true class was given."""
    at = np.arange(len(DIMENSIONS))
    right, low, middle, high = (
        mean_and_error(found.named(name))[0]
        for name in ("prediction accuracy", "robustness", "geometric accuracy", "decisiveness")
    )
    ax.bar(at, right, color="#d8b48a", width=0.6, label="correct classifications")
    label = "geometric mean, −2/3 to arithmetic"
    ax.errorbar(at, middle, [middle - low, high - middle], fmt="s", color=GREY, capsize=6, label=label)
    for name in ("prediction accuracy", "geometric accuracy", "robustness"):
        said = says.get(name, {})
        printed(ax, [DIMENSIONS.index(d) for d in said], [float(x) for x in said.values()], label="")
    printed(ax, [], [])
    ax.set(xticks=at, xticklabels=[f"{d}" for d in DIMENSIONS], xlabel="dimensions", ylabel="probability", ylim=(0, 1))
