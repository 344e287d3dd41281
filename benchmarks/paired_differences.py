"""Whether intervals of paired differences cover, and tests keep their level, where the truth is known.

    python benchmarks/paired_differences.py [--runs R]

Three tables in Markdown, those of docs/evidence/studies.md; a minute on one core. Each figure is a share
of R samples (4000).

- Rows independent: how often 95 % intervals hold the true difference of two forecasters. The population is 100,000
  rows whose true probabilities are softmax(s z) of normal z; forecasters report softmax(t s z + noise). A sample draws
  rows with replacement, and what happens in each, so that the true difference is a sum over the population.
- Rows one after another: how often the test with a lag rejects at .05, where differences follow an autoregression of
  order 1 and have mean 0.
- Rows in groups of ten: the same, where half of the variance is the group's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from unperplexed import Forecasts
from unperplexed.scores import score_named
from unperplexed.statistics.intervals import Dependence, uncertain_mean

Array = NDArray[np.float64]

POPULATION = 100_000


def softmax(z: Array) -> Array:
    """Probabilities of rows of logits."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def losses(z: Array) -> dict[str, Array]:
    """Score of each row of a population, forecast by its logits, for each class; the log loss without a floor."""
    p = softmax(z)
    labels = range(p.shape[1])
    brier = score_named("brier_score").rows
    by_class = [Forecasts(np.full(len(p), label), p, labels=labels).per_row(brier)[0] for label in labels]
    log_loss = np.logaddexp.reduce(z, axis=1, keepdims=True) - z  # finite where p underflows
    return {"log loss": log_loss, "Brier score": np.stack(by_class, axis=1)}


CASES = {
    "2 classes, hard": (2, 1.0, 0.3),
    "10 classes, hard": (10, 2.0, 0.5),
    "10 classes, 99 % accurate": (10, 110.0, 4.0),
}
"""Classes, scale of the logits, and the noise of the second forecaster."""


def coverage(runs: int, sizes: tuple[int, ...] = (30, 100, 500, 5000)) -> None:
    """Print how often intervals of differences hold the true one."""
    print(f"| forecasters | score |{''.join(f' N = {n:,} |' for n in sizes)}\n|---|---|{'---|' * len(sizes)}")
    for at, (name, (classes, scale, noise)) in enumerate(CASES.items()):
        rng = np.random.default_rng([20261121, at])
        z = scale * rng.normal(size=(POPULATION, classes))
        truth = softmax(z)
        a, b = map(losses, (1.3 * z, z + noise * rng.normal(size=z.shape)))
        for score in a:
            d = a[score] - b[score]
            expected = float((truth * d).sum(axis=1).mean())
            shares = [f"{100 * covered(truth, d, expected, n, runs, rng):.1f}%" for n in sizes]
            print(f"| {name} | {score} | {' | '.join(shares)} |")


def covered(truth: Array, d: Array, expected: float, n: int, runs: int, rng: np.random.Generator) -> float:
    """Share of samples whose interval holds the expected difference."""
    up_to, held = truth.cumsum(axis=1), 0
    for _ in range(runs):
        rows = rng.integers(len(truth), size=n)
        y = np.minimum((up_to[rows] < rng.uniform(size=(n, 1))).sum(axis=1), truth.shape[1] - 1)
        found = uncertain_mean(d[rows, y], np.ones(n), Dependence())
        held += abs(found.mean - expected) <= found.half_width(0.95)
    return held / runs


def rejected(draw: Callable[[], Array], dependence: Dependence, runs: int) -> str:
    """Share of samples of mean 0 in which the test rejects at .05."""
    samples = (draw() for _ in range(runs))
    return f"{100 * np.mean([uncertain_mean(x, np.ones(x.size), dependence).p_value() < 0.05 for x in samples]):.1f} %"


def autoregression(rng: np.random.Generator, n: int, rho: float) -> Array:
    """Successive values, each rho times the one before plus noise, from a start long ago."""
    noise = rng.normal(size=n)
    noise[0] /= math.sqrt(1 - rho * rho)
    return lfilter([1], [1, -rho], noise)


def levels_with_a_lag(runs: int, lags: tuple[int, ...] = (0, 2, 5, 10, 20)) -> None:
    """Print how often the test with a lag rejects."""
    print(f"\n| rho | N |{''.join(f' lag {lag} |' for lag in lags)} lag 1.3 √N |\n|---|---|{'---|' * (len(lags) + 1)}")
    for rho in (0.0, 0.5, 0.8):
        for n in (100, 400, 1600):
            rng = np.random.default_rng([20261121, int(10 * rho), n])
            shares = [
                rejected(lambda n=n, rho=rho, rng=rng: autoregression(rng, n, rho), Dependence(lag=lag), runs)
                for lag in (*lags, round(1.3 * math.sqrt(n)))
            ]
            print(f"| {rho} | {n:,} | {' | '.join(shares)} |")


def levels_with_groups(runs: int) -> None:
    """Print how often the test with and without groups rejects."""
    print("\n| groups of ten rows | as rows | as groups |\n|---|---|---|")
    for number in (5, 11, 30, 100):
        rng, groups = np.random.default_rng([20261121, number]), np.repeat(np.arange(number), 10)

        def draw(rng: np.random.Generator = rng, groups: NDArray[np.int64] = groups) -> Array:
            return rng.normal(size=groups[-1] + 1)[groups] + rng.normal(size=groups.size)

        shares = [rejected(draw, dependence, runs) for dependence in (Dependence(), Dependence(groups))]
        print(f"| {number} | {' | '.join(shares)} |")


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    runs = parser.parse_args().runs
    coverage(runs)
    levels_with_a_lag(runs)
    levels_with_groups(runs)


if __name__ == "__main__":
    main()
