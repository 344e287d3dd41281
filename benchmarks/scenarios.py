"""Forecasters whose true measured probability is known: what the study of the estimators runs on.

Written down before any estimator was run on it. Each scenario is a finite population of rows: reported probabilities
and the true probability of each class. A sample draws rows with replacement and, for each, what happens. So the truth
is that of the population, with no error of sampling: the measured probability of a value is the mean true probability
of all its pairs, in cells of relative width 2^-9.

What is recorded, for every scenario, floor, N and estimator:

- bias and root mean square error of measured decisiveness, geometric accuracy and robustness;
- bias and standard deviation of the slope, and of the logarithm of the divergence probability;
- how often the direction is right: the slope on the same side of 1 as the true one. A slope that is not defined is
  wrong. It is *decidable* if the true slope is further from 1 than two standard deviations of the estimate at that N.

The rule by which the default is chosen, in this order:

1. right about the direction in at least 95 % of the runs wherever it is decidable, in as many cases as possible;
2. the smallest median, over all cases, of the root mean square error of the slope;
3. of estimators that are near in both, the one with fewer choices in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unperplexed.theory import ClassParameters, TwoClassModel

Array = NDArray[np.float32]

FLOORS = (0.0, 1e-4, 0.005)
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)


def runs(n: int, classes: int) -> int:
    """How many samples of a size are drawn."""
    number = {100: 400, 1_000: 400, 10_000: 200, 100_000: 100, 1_000_000: 40}[n]
    return number if classes < 100 else max(number // 2, 20)


@dataclass(frozen=True)
class Scenario:
    """A forecaster: how many classes, how many rows its population has, and how these are made."""

    name: str
    group: str
    classes: int
    make: Callable[[np.random.Generator, int], tuple[Array, Array]]
    """(random generator, rows) -> reported and true probabilities, one row a forecast."""

    @property
    def rows(self) -> int:
        """Size of the population."""
        return {2: 1_000_000, 10: 500_000}.get(self.classes, 20_000 if self.classes == 1000 else 100_000)


def softmax(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of logits, row by row."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def single(*matrices: NDArray[np.float64]) -> tuple[Array, Array]:
    """Give both as networks do, in float32."""
    p, q = (x.astype(np.float32) for x in matrices)
    return p, q


def two_class(
    rng: np.random.Generator, rows: int, orange: ClassParameters, model: dict[str, float]
) -> tuple[Array, Array]:
    """The papers' two classes of coupled Gaussians; the forecaster's model of the second is wrong as given."""
    green = ClassParameters(0.0, 1.0, 0.5, 1.0)
    of_both = model.get("both_coupling", 0.5)
    believed = ClassParameters(
        model.get("mean", orange.mean),
        model.get("variance", orange.variance),
        model.get("coupling", of_both),
        model.get("amplitude", orange.amplitude),
    )
    world = TwoClassModel((green, orange), (ClassParameters(0.0, 1.0, of_both, 1.0), believed), limit=0.0)
    _, x, _ = world.sample(rows, rng)
    return single(world.posteriors(x, "model"), world.posteriors(x, "source"))


def network(
    rng: np.random.Generator,
    rows: int,
    classes: int,
    spread: float,
    temperature: float = 1.0,
    shift: float = 0.0,
    noise: float = 0.0,
) -> tuple[Array, Array]:
    """A network's softmax of normal logits: too sharp by the temperature, shifted by class, or of labels with noise."""
    by_class = shift * np.random.default_rng(12).normal(size=classes)
    p, q = np.empty((2, rows, classes), dtype=np.float32)
    for start in range(0, rows, step := max(10_000_000 // classes, 1)):
        z = spread * rng.normal(size=(min(step, rows - start), classes))
        p[start : start + step] = softmax(temperature * z + by_class)
        q[start : start + step] = (1 - noise) * softmax(z) + noise / classes
    return p, q


def rounded(rng: np.random.Generator, rows: int, sharpen: float) -> tuple[Array, Array]:
    """Say yes with a probability that is even over [0, 1], sharpened in log-odds, to one decimal."""
    q = rng.uniform(size=rows)
    p = np.round(1 / (1 + ((1 - q) / q) ** sharpen), 1)
    return single(np.stack([1 - p, p], axis=1).round(1), np.stack([1 - q, q], axis=1))


def certain(rng: np.random.Generator, rows: int, right: float, temperature: float) -> tuple[Array, Array]:
    """Say 1 in 70 % of the rows, which is right so often, and a network's softmax in the others."""
    p, q = network(rng, rows, 10, 10.0, temperature)
    sure = rng.uniform(size=rows) < 0.7
    said = np.eye(10, dtype=np.float32)[rng.integers(0, 10, rows)]
    p[sure] = said[sure]
    q[sure] = (said * right + (1 - said) * ((1 - right) / 9))[sure]
    return p, q


ORANGE = ClassParameters(2.0, 1.0, 0.5, 1.0)
RARE = ClassParameters(2.0, 1.0, 0.5, 0.05)

SCENARIOS = [
    Scenario("perfect", "two classes", 2, partial(two_class, orange=ORANGE, model={})),
    Scenario("mean 2 -> 1", "two classes", 2, partial(two_class, orange=ORANGE, model={"mean": 1.0})),
    Scenario("mean 2 -> 3", "two classes", 2, partial(two_class, orange=ORANGE, model={"mean": 3.0})),
    Scenario("variance 1 -> .5", "two classes", 2, partial(two_class, orange=ORANGE, model={"variance": 0.5})),
    Scenario("variance 1 -> 2", "two classes", 2, partial(two_class, orange=ORANGE, model={"variance": 2.0})),
    Scenario("coupling .5 -> 0, one", "two classes", 2, partial(two_class, orange=ORANGE, model={"coupling": 0.0})),
    Scenario(
        "coupling .5 -> 0, both", "two classes", 2, partial(two_class, orange=ORANGE, model={"both_coupling": 0.0})
    ),
    Scenario("amplitude 1 -> 3", "two classes", 2, partial(two_class, orange=ORANGE, model={"amplitude": 3.0})),
    Scenario("rare, perfect", "two classes", 2, partial(two_class, orange=RARE, model={})),
    Scenario("rare, amplitude x 3", "two classes", 2, partial(two_class, orange=RARE, model={"amplitude": 0.15})),
    Scenario("0.1 grid, as it is", "0.1 grid", 2, partial(rounded, sharpen=1.0)),
    Scenario("0.1 grid, too sharp", "0.1 grid", 2, partial(rounded, sharpen=1.6)),
    Scenario("0.1 grid, too flat", "0.1 grid", 2, partial(rounded, sharpen=0.6)),
    Scenario("10, perfect", "ten classes", 10, partial(network, classes=10, spread=6.0)),
    Scenario("10, temperature 1.6", "ten classes", 10, partial(network, classes=10, spread=6.0, temperature=1.6)),
    Scenario("10, temperature .7", "ten classes", 10, partial(network, classes=10, spread=6.0, temperature=0.7)),
    Scenario("10, shift", "ten classes", 10, partial(network, classes=10, spread=6.0, shift=2.0)),
    Scenario("10, label noise", "ten classes", 10, partial(network, classes=10, spread=6.0, noise=0.1)),
    Scenario("10 hard, perfect", "ten classes", 10, partial(network, classes=10, spread=1.5)),
    Scenario("10 hard, temp. 1.25", "ten classes", 10, partial(network, classes=10, spread=1.5, temperature=1.25)),
    Scenario("atom at 1, right", "atom at 1", 10, partial(certain, right=1.0, temperature=1.0)),
    Scenario("atom at 1, 99.5 %", "atom at 1", 10, partial(certain, right=0.995, temperature=1.0)),
    Scenario("atom at 1, too flat", "atom at 1", 10, partial(certain, right=1.0, temperature=0.6)),
    Scenario("1000, perfect", "thousand classes", 1000, partial(network, classes=1000, spread=4.0)),
    Scenario(
        "1000, temperature 1.3", "thousand classes", 1000, partial(network, classes=1000, spread=4.0, temperature=1.3)
    ),
    Scenario(
        "1000, temperature .8", "thousand classes", 1000, partial(network, classes=1000, spread=4.0, temperature=0.8)
    ),
    Scenario("1000, shift", "thousand classes", 1000, partial(network, classes=1000, spread=4.0, shift=1.0)),
    Scenario("1000, label noise", "thousand classes", 1000, partial(network, classes=1000, spread=4.0, noise=0.1)),
]
"""The scenarios; those called perfect or as it is have a true slope of 1, or nearly so, and no direction."""
