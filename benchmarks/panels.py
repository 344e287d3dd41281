"""Whether intervals of paired differences cover in panels: units at times, with dependence both ways or along time.

    python benchmarks/panels.py [--runs R]

A table in Markdown, that of docs/evidence/studies.md; two minutes on one core. Each figure is the share of
R samples (2000) whose 95 % interval holds the true difference, which is 0. A row's difference is the sum of an effect
of its unit, one of its time and one of its own, all skewed (exponential less its mean), in the shares that are named;
or along time an autoregression of normal values with the coefficient that is named, begun in its stationary state for
each unit.
"""

from __future__ import annotations

import argparse

import numpy as np

from unperplexed.statistics.intervals import Dependence, uncertain_mean


def effects(units: int, times: int, shares: tuple[float, float], rng: np.random.Generator) -> np.ndarray:
    """Differences of units at times: effects of both, and of each row alone."""
    own = 1 - sum(shares)
    a, b, e = (
        (rng.exponential(size=size) - 1) * np.sqrt(share)
        for size, share in (((units, 1), shares[0]), ((1, times), shares[1]), ((units, times), own))
    )
    return (a + b + e).ravel()


def autoregression(units: int, times: int, phi: float, rng: np.random.Generator) -> np.ndarray:
    """Differences that remember those before them, unit by unit."""
    x = rng.normal(size=(units, times))
    x[:, 0] /= np.sqrt(1 - phi**2)
    for t in range(1, times):
        x[:, t] += phi * x[:, t - 1]
    return x.ravel()


def coverage(samples, ways: dict[str, Dependence]) -> list[str]:
    """Share of samples whose interval holds 0, by what is taken to be dependent."""
    held = dict.fromkeys(ways, 0)
    runs = 0
    for x in samples:
        runs += 1
        for name, dependence in ways.items():
            found = uncertain_mean(x, np.ones(x.size), dependence)
            held[name] += abs(found.mean) <= found.half_width(0.95)
    return [f"{each / runs:.1%}" for each in held.values()]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(27)
    print("| units | times | shares of unit, time | rows independent | clusters of units | two ways |")
    print("|---|---|---|---|---|---|")
    for units, times, shares in (
        (10, 30, (0.2, 0.2)),
        (20, 50, (0.2, 0.2)),
        (50, 50, (0.2, 0.2)),
        (50, 200, (0.05, 0.3)),
        (50, 50, (0.0, 0.0)),
    ):
        unit, time = np.repeat(np.arange(units), times), np.tile(np.arange(times), units)
        ways = {"rows": Dependence(), "units": Dependence(unit), "both": Dependence(unit, crossed=time)}
        found = coverage((effects(units, times, shares, rng) for _ in range(runs)), ways)
        print(f"| {units} | {times} | {shares[0]:.0%}, {shares[1]:.0%} | {' | '.join(found)} |")
    print("\n| units | times | autocorrelation | rows independent | lag 10 in one order | lag 10 in each unit |")
    print("|---|---|---|---|---|---|")
    for units, times, phi in ((5, 200, 0.6), (20, 50, 0.6), (20, 200, 0.6), (100, 5, 0.6), (200, 1, 0.0)):
        time = np.tile(np.arange(times), units)
        order = np.argsort(time, kind="stable")  # as files have them: the units of a time together
        unit = np.repeat(np.arange(units), times)[order]
        ways = {"rows": Dependence(), "lag": Dependence(lag=10), "units": Dependence(lag=10, series=unit)}
        found = coverage((autoregression(units, times, phi, rng)[order] for _ in range(runs)), ways)
        print(f"| {units} | {times} | {phi:g} | {' | '.join(found)} |")


if __name__ == "__main__":
    main()
