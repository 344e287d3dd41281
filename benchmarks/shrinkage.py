"""How much nearer to the truth shrunken accuracies of groups are, and how often their intervals hold it.

Forecasters of two classes report sigmoid(distortion * z) for z normal, and outcomes follow sigmoid(z); groups differ in
the spread of z, so in difficulty, and in distortion. The true log accuracy of a group is an integral. Also: how the
slope and the cost of calibrated forecasters scatter by the number of rows whose top class did not happen.

    python benchmarks/shrinkage.py
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unperplexed import assess
from unperplexed.statistics.empirical_bayes import pooled_variance, shrunk

FLOOR, SEED, RUNS = 0.005, 20_240_229, 300
GRID = np.linspace(-8, 8, 4001)
DENSITY = np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum()

GROUPS = {
    "alike": (1.5, 0.0, 1.0, 0.0),
    "nearly alike": (1.5, 0.15, 1.0, 0.0),
    "different": (1.5, 0.5, 1.5, 0.3),
    "different, accurate": (4.0, 0.3, 1.3, 0.2),
}
"""Median spread of z and standard deviation of its logarithm, and the same of the distortion."""

SIZES = [(8, 20, 2000), (50, 1, 300), (200, 1, 3000), (15, 3000, 20_000)]
"""How many groups, of how many rows at least and at most; sizes are spread evenly on the log scale."""


def scores(rng: np.random.Generator, n: int, spread: float, distortion: float) -> NDArray[np.float64]:
    """Log scores of a group's rows."""
    z = rng.normal(0, spread, n)
    happened = rng.uniform(size=n) < 1 / (1 + np.exp(-z))
    return np.maximum(-np.logaddexp(0, np.where(happened, -1, 1) * distortion * z), math.log(FLOOR))


def true_score(spread: float, distortion: float) -> float:
    """Expected log score."""
    z = GRID * spread
    sides = [np.maximum(-np.logaddexp(0, sign * distortion * z), math.log(FLOOR)) for sign in (-1, 1)]
    p = 1 / (1 + np.exp(-z))
    return float(DENSITY @ (p * sides[0] + (1 - p) * sides[1]))


def study(rng: np.random.Generator, kind: str, k: int, lowest: int, highest: int) -> tuple[float, float, float]:
    """Root mean squared error of shrunken means over that of the means, and the coverage of both 95 % intervals."""
    spread, spread_scatter, distortion, distortion_scatter = GROUPS[kind]
    before, after, own, covered = [], [], [], []
    for _ in range(RUNS):
        size = np.exp(rng.uniform(math.log(lowest), math.log(highest + 1), k)).astype(int)
        each = list(
            zip(
                spread * np.exp(spread_scatter * rng.normal(size=k)),
                distortion * np.exp(distortion_scatter * rng.normal(size=k)),
                strict=True,
            )
        )
        rows = [scores(rng, n, *shape) for n, shape in zip(size, each, strict=True)]
        truth = np.array([true_score(*shape) for shape in each])
        mean = np.array([x.mean() for x in rows])
        error = np.array([x.std(ddof=1) if x.size > 1 else np.nan for x in rows]) / np.sqrt(size)
        found = shrunk(mean, error, size.astype(np.float64), pooled_variance(error, size))
        before.append((mean - truth) ** 2)
        after.append((found.mean - truth) ** 2)
        known = size > 1  # a group of one row has no interval
        own.extend((np.abs(mean - truth) < 1.96 * error)[known])
        covered.extend((np.abs(found.mean - truth) < 1.96 * found.standard_error)[known])
    return math.sqrt(np.mean(after) / np.mean(before)), float(np.mean(own)), float(np.mean(covered))


def slopes(rng: np.random.Generator, spread: float, misses: int, runs: int = 200) -> tuple[float, float]:
    """Standard deviation of the slope, and mean cost, of calibrated forecasters with so many misses on average."""
    p = 1 / (1 + np.exp(GRID * spread))
    n = round(misses / float(DENSITY @ np.minimum(p, 1 - p)))
    found = []
    for _ in range(runs):
        p = 1 / (1 + np.exp(-rng.normal(0, spread, n)))
        result = assess((rng.uniform(size=n) < p).astype(int), p)
        found.append((result.slope, -math.log(result.divergence_probability)))
    slope, cost = np.array(found).T
    return float(np.nanstd(slope)), float(cost.mean())


def main() -> None:
    """Print both tables in Markdown."""
    rng = np.random.default_rng(SEED)
    print("| groups | how many, rows | error, shrunken / own | own intervals | shrunken intervals |")
    print("|---|---|---|---|---|")
    for kind in GROUPS:
        for sizes in SIZES:
            ratio, own, covered = study(rng, kind, *sizes)
            print(f"| {kind} | {sizes[0]}, {sizes[1]:,}–{sizes[2]:,} | {ratio:.2f} | {own:.0%} | {covered:.0%} |")
    print("\n| misses | slope, sd, 27 % / 11 % wrong | mean cost |\n|---|---|---|")
    for misses in (10, 30, 100, 300):
        (hard, cost), (easy, other) = slopes(rng, 1.5, misses), slopes(rng, 5.0, misses)
        print(f"| {misses} | {hard:.2f} / {easy:.2f} | {cost:.4f} / {other:.4f} |")


if __name__ == "__main__":
    main()
