"""How often 95 % intervals hold the truth, where the truth is known, and how often the calibration test is wrong.

    python benchmarks/coverage.py [--output FILE.csv] [--only WORD] [--runs R] [--samples S] [--jobs J]
    python benchmarks/coverage.py --test [--output FILE.csv] [--runs R] [--jobs J]
    python benchmarks/coverage.py --show FILE.csv

Forecasters of two and of ten classes, whose top class happens in about .8 and .5 (hard) or .99 (easy) of the rows,
calibrated, or with log-odds that are 1.5 or .7 times what they should be; samples of 500, 5000 and 50,000 rows. Of each
sample the intervals of all figures are made, of ten classes also with shards of the rows in the tally; of two they
change nothing. Then two classes in groups of 1 to 39 rows, 20 on average, with probabilities that are alike and
outcomes that go together. The whole takes about two hours on two cores. With --test, only how often the calibration
test rejects the calibrated forecasters, of 100, 1000 and 10,000 rows, as they are and counted in cells. The last
runs are results/coverage.csv (400 samples, of groups 300) and results/calibration_test.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from scenarios import softmax
from unperplexed import Assessment, Forecasts, Tally, assess, calibration_test

SIZES = (500, 5_000, 50_000)
TEST_SIZES = (100, 1_000, 10_000)
POPULATION = 200_000
CURVE = (0.1, 0.3, 0.7, 0.9)
"""Where the interval of the measured curve is looked at."""


@dataclass(frozen=True)
class Forecaster:
    """How many classes, how easy to tell, by what the log-odds are multiplied, and whether rows are in groups."""

    classes: int
    easy: bool
    sharpness: float
    grouped: bool = False

    @property
    def name(self) -> str:
        """What the tables call it."""
        kind = {1.0: "calibrated", 1.5: "too sharp", 0.7: "too flat"}[self.sharpness]
        return f"{self.classes} classes, {'easy' if self.easy else 'hard'}, {kind}{', in groups' * self.grouped}"

    def rows(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Reported and true probabilities of so many rows."""
        if self.easy:
            z = rng.normal(size=(n, self.classes))
            margin = rng.normal(10.0, 2.3, n) if self.classes > 2 else rng.normal(7.5, 2.2, n)
            z[np.arange(n), rng.integers(0, self.classes, n)] += margin
        else:
            z = rng.normal(0, 2.0 if self.classes > 2 else 1.5, (n, self.classes))
        return softmax(self.sharpness * z), softmax(z)


FORECASTERS = [
    *(Forecaster(*each) for each in product((2, 10), (False, True), (1.0, 1.5, 0.7))),
    *(Forecaster(2, *each, grouped=True) for each in product((False, True), (1.0, 1.5, 0.7))),
]


@lru_cache(maxsize=1)
def population(index: int) -> tuple[np.ndarray, np.ndarray, Assessment]:
    """Rows of a forecaster, and the truth about them: every class of each row happens with its true weight."""
    forecaster = FORECASTERS[index]
    p, q = forecaster.rows(POPULATION, np.random.default_rng([20261122, index]))
    if forecaster.grouped:  # so that neighbours are alike
        order = np.argsort(p[:, 1])
        p, q = p[order], q[order]
    labels = range(forecaster.classes)

    def outcomes() -> Iterator[Forecasts]:
        for label in labels:
            for at in np.array_split(np.arange(POPULATION), 20):
                y = np.full(at.size, label)
                yield Forecasts(y, p[at], sample_weight=q[at, label], labels=labels, whole=False)

    return p, q, assess(Tally.count(outcomes()), measured="isotonic", resamples=0)


def sample(index: int, n: int, rng: np.random.Generator, parts: list[str]) -> Tally:
    """Draw rows, and what happens in each, and count them."""
    p, q, _ = population(index)
    at, level, group = rng.integers(0, POPULATION, n), rng.random((n, 1)), None
    if FORECASTERS[index].grouped:
        group = np.repeat(np.arange(n), rng.integers(1, 40, n))[:n]
        at = at[group] + rng.integers(-POPULATION // 20, POPULATION // 20, n)
        at = np.where(at < 0, -1 - at, np.minimum(at, 2 * POPULATION - 1 - at))  # as likely to be any row as before
        level = level[group]
    up_to = np.cumsum(q[at], axis=1)
    y = np.minimum((up_to <= level * up_to[:, -1:]).sum(axis=1), q.shape[1] - 1)
    return Tally.of(y, p[at], labels=range(q.shape[1]), parts=parts, groups=group)


def study(task: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    """All samples of one size of one forecaster."""
    index, n, runs, samples = task
    truth = population(index)[2]
    true_curve = np.interp(CURVE, truth.curve.reported, truth.curve.measured)
    records = []
    forecaster = FORECASTERS[index]
    for parts in ("shards",) if forecaster.grouped else ("",) if forecaster.classes == 2 else ("", "shards"):
        hits: list[dict[str, tuple[bool, bool]]] = []
        warned, rejected, errors = 0, 0, 0.0
        for run in range(runs):
            rng = np.random.default_rng([20261122, index, n, run])
            assessment = assess(sample(index, n, rng, [parts] if parts else []), resamples=samples, seed=run)
            u = assessment.uncertainty
            true = truth.figures()
            found = {name: (low <= true[name], true[name] <= high) for name, (low, high) in u.intervals.items()}
            band = u.curve
            for at, value in zip(CURVE, true_curve, strict=True):
                low, high = (np.interp(at, band.reported, limit) for limit in (band.low, band.high))
                found[f"curve at {at:g}"] = (bool(low <= value), bool(value <= high))
            hits.append(found)
            warned += bool(u.warnings)
            rejected += u.calibration_test.p_value <= 0.05
            errors += (1 - assessment.prediction_accuracy) * n
        head = {"forecaster": forecaster.name, "n": n, "parts": parts or "none", "runs": runs}
        head |= {"errors": round(errors / runs, 1), "warned": warned / runs, "rejected": rejected / runs}
        for figure in hits[0]:
            both = np.array([each[figure] for each in hits])
            below, above = 1 - both.mean(axis=0)
            covered = float(both.all(axis=1).mean())
            records.append(
                {**head, "figure": figure, "covered": covered, "too_high": float(below), "too_low": float(above)}
            )
    print(f"{forecaster.name}, N = {n:,}", file=sys.stderr, flush=True)
    return records


def sizes(task: tuple[int, int, int]) -> list[dict[str, Any]]:
    """How often the calibration test rejects a calibrated forecaster, at level 5 %."""
    index, n, runs = task
    rejected = {"rows": 0, "tally in cells": 0}
    for run in range(runs):
        tally = sample(index, n, np.random.default_rng([20261122, index, n, run, 1]), [])
        for source, each in zip(rejected, (tally, tally.in_cells()), strict=True):
            rejected[source] += calibration_test(each, resamples=99, seed=run).p_value <= 0.05
    name = FORECASTERS[index].name
    print(f"{name}, N = {n:,}", file=sys.stderr, flush=True)
    return [
        {"forecaster": name, "n": n, "source": source, "runs": runs, "rejected": times / runs}
        for source, times in rejected.items()
    ]


def main() -> None:
    """Run the study, or show one that was run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--runs", type=int, default=400, help="of each size; half as many of more than 10,000 rows")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.show:
        show(pl.read_csv(arguments.show))
        return
    if arguments.test:
        calibrated = [i for i, each in enumerate(FORECASTERS) if each.sharpness == 1 and not each.grouped]
        with ProcessPoolExecutor(arguments.jobs) as pool:
            parts = pool.map(sizes, [(i, n, arguments.runs) for i in calibrated for n in TEST_SIZES])
            table = pl.DataFrame([record for part in parts for record in part])
        if arguments.output:
            table.write_csv(arguments.output)
        print(table.pivot("n", index=["forecaster", "source"], values="rejected"))
        return
    chosen = [i for i, each in enumerate(FORECASTERS) if arguments.only in each.name]
    tasks = [
        (i, n, arguments.runs if n <= 10_000 else arguments.runs // 2, arguments.samples)
        for n in sorted(arguments.sizes)[::-1]
        for i in chosen
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        records = [r for part in pool.map(study, tasks) for r in part]
    table = pl.DataFrame(records).sort("n", "forecaster", "parts", maintain_order=True)
    if arguments.output:
        table.write_csv(arguments.output)
    show(table)


GROUPS = {
    "reported D, A, R": ("reported_decisiveness", "reported_geometric_accuracy", "reported_robustness"),
    "measured D, A, R": ("measured_decisiveness", "measured_geometric_accuracy", "measured_robustness"),
    "slope": ("slope",),
    "divergence": ("divergence_probability",),
    "prediction accuracy": ("prediction_accuracy",),
    "log loss, Brier, spherical, penalized": (
        "log_loss",
        "brier_score",
        "spherical_score",
        "penalized_brier_score",
        "penalized_log_loss",
    ),
    "curve at .1, .3, .7, .9": tuple(f"curve at {at:g}" for at in CURVE),
}


def show(table: pl.DataFrame) -> None:
    """Print coverage in per cent: a row for each forecaster and size."""
    for parts in table["parts"].unique(maintain_order=True):
        print(f"\nparts of the tally: {parts}\n")
        print(f"| forecaster | N | errors | {' | '.join(GROUPS)} | warned | test rejects |")
        print("|---" * (len(GROUPS) + 5) + "|")
        for (n, name), rows in table.filter(parts=parts).group_by(["n", "forecaster"], maintain_order=True):
            covered = dict(zip(rows["figure"], rows["covered"], strict=True))
            cells = [" ".join(percent(covered[figure]) for figure in figures) for figures in GROUPS.values()]
            first = rows.row(0, named=True)
            ends = f"{percent(first['warned'])} | {100 * first['rejected']:.1f}"
            print(f"| {name} | {n:,} | {first['errors']:,.0f} | {' | '.join(cells)} | {ends} |")


def percent(share: float) -> str:
    """Give a share in whole per cent."""
    return "-" if math.isnan(share) else f"{100 * share:.0f}"


if __name__ == "__main__":
    main()
