"""How often a calibrated group is said to carry the cost of miscalibration, among several calibrated groups.

    python benchmarks/cost_shares.py [--runs R]

A table in Markdown, that of docs/evidence/studies.md; ten minutes on one core. Each figure is the share of
runs in which `Breakdown.cost_shares` names any group: of R runs (200) with 30 groups, and of twice as many with
fewer. Forecasts are softmax(scale z) of normal z, and outcomes are drawn from them.
"""

from __future__ import annotations

import argparse

import numpy as np

from unperplexed import assess_by

CASES = (
    (5, 100, 2, 1.0),
    (5, 1000, 2, 1.0),
    (30, 100, 2, 1.0),
    (30, 300, 2, 1.0),
    (10, 300, 2, 3.0),
    (5, 300, 4, 1.0),
)
"""Groups, rows of each, classes and scale."""


def named(groups: int, rows: int, classes: int, scale: float, runs: int) -> float:
    """Share of runs in which a calibrated group is named."""
    rng, by, found = np.random.default_rng([27, groups, rows, classes]), np.arange(groups * rows) % groups, 0
    for _ in range(runs):
        e = np.exp(scale * rng.normal(size=(by.size, classes)))
        p = e / e.sum(axis=1, keepdims=True)
        y = np.minimum((p.cumsum(axis=1) < rng.uniform(size=(by.size, 1))).sum(axis=1), classes - 1)
        shares = assess_by(y, p, by=by, labels=range(classes), resamples=0).cost_shares
        found += any(each.significant for each in shares.values())
    return found / runs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    print("| groups | rows of each | classes | scale | a group is named |\n|---|---|---|---|---|")
    for groups, rows, classes, scale in CASES:
        share = named(groups, rows, classes, scale, runs * (2 if groups < 30 else 1))
        print(f"| {groups} | {rows:,} | {classes} | {scale:g} | {share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
