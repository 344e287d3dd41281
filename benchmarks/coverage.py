"""How often 95 % intervals hold the truth, where the truth is known, and how often the calibration test is wrong.

    python benchmarks/coverage.py [--output FILE.csv] [--only WORD] [--runs R] [--samples S] [--jobs J]
    python benchmarks/coverage.py --test [--output FILE.csv] [--runs R] [--jobs J]
    python benchmarks/coverage.py --show FILE.csv

The forecasters are those of `coverage_designs.py`. Of each sample the intervals of slope, divergence probability,
measured means and curve are made, from as many draws a world as --samples says. Recorded are how often they hold the
truth, how often they lie above and below it, how often the printed figure lies on an end of its interval, how wide the
interval is on median, and how often a warning came. With --test, only how often the resampled calibration
test rejects calibrated forecasters, of 100, 1000 and 10,000 rows, as they are and counted in cells. The last runs are
results/coverage.csv and results/calibration_test.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from coverage_designs import CURVE, DESIGNS, MEASURED, population, sample
from unperplexed import assess, calibration_test

TEST_SIZES = (100, 1_000, 10_000)
FIGURES = (*MEASURED, "slope", "divergence_probability")


def study(task: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    """All samples of one size of one design."""
    index, n, runs, samples = task
    design, (_, _, truth, true_curve) = DESIGNS[index], population(index)
    view = "each-class" if design.classes == 2 and "all-classes" not in design.name else "all-classes"
    floor = "auto" if design.floor is None else design.floor
    names = [*FIGURES, *(f"curve at {at:g}" for at in CURVE)]
    true = np.array([*(truth[name] for name in FIGURES), *true_curve])
    ends, on_end = np.empty((runs, 2, true.size)), np.zeros((runs, true.size), dtype=bool)
    warned, errors = 0, 0.0
    for run in range(runs):
        tally = sample(index, n, np.random.default_rng([20261123, index, n, run]))
        assessment = assess(tally, view=view, floor=floor, resamples=samples, seed=run)
        u = assessment.uncertainty
        shown = assessment.metrics()
        for at, name in enumerate(FIGURES):
            ends[run, :, at] = u.intervals[name]
            on_end[run, at] = not u.intervals[name].low < shown[name] < u.intervals[name].high
        for side, limit in enumerate((u.curve.low, u.curve.high)):
            ends[run, side, len(FIGURES) :] = np.interp(CURVE, u.curve.reported, limit)
        warned += bool(u.warnings)
        errors += (1 - assessment.prediction_accuracy) * n
    print(f"{design.name}, floor {floor}, N = {n:,}", file=sys.stderr, flush=True)
    head = {"forecaster": design.name, "floor": str(floor), "n": n, "runs": runs, "errors": round(errors / runs, 1)}
    low, high = ends[:, 0], ends[:, 1]
    return [
        {
            **head,
            "warned": warned / runs,
            "figure": name,
            "covered": float(((low <= true) & (true <= high)).mean(axis=0)[at]),
            "too_high": float((low > true).mean(axis=0)[at]),
            "too_low": float((high < true).mean(axis=0)[at]),
            "on_end": float(on_end.mean(axis=0)[at]),
            "width": float(np.median(high - low, axis=0)[at]),
        }
        for at, name in enumerate(names)
    ]


def sizes(task: tuple[int, int, int]) -> list[dict[str, Any]]:
    """How often the resampled calibration test rejects a calibrated forecaster, at level 5 %."""
    index, n, runs = task
    rejected = {"rows": 0, "tally in cells": 0}
    for run in range(runs):
        tally = sample(index, n, np.random.default_rng([20261122, index, n, run, 1]))
        for source, each in zip(rejected, (tally, tally.in_cells()), strict=True):
            found = calibration_test(each, test="resampled", resamples=99, seed=run)
            rejected[source] += found.p_value <= 0.05
    name = DESIGNS[index].name
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
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--samples", type=int, default=100, help="draws a world")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.show:
        show(pl.read_csv(arguments.show, schema_overrides={"floor": pl.String}))
        return
    chosen = [i for i, each in enumerate(DESIGNS) if arguments.only in each.name]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        if arguments.test:
            calibrated = [i for i in chosen if DESIGNS[i].name in TESTED]
            parts = pool.map(sizes, [(i, n, arguments.runs) for i in calibrated for n in TEST_SIZES])
        else:
            tasks = [(i, n, arguments.runs, arguments.samples) for i in chosen for n in DESIGNS[i].sizes]
            parts = pool.map(study, tasks)
        records = []
        for part in parts:
            records += part
            if arguments.output:  # after each, so that a study that is stopped leaves what it found
                pl.DataFrame(records).write_csv(arguments.output)
    table = pl.DataFrame(records)
    if arguments.test:
        print(table.pivot("n", index=["forecaster", "source"], values="rejected"))
    else:
        show(table)


TESTED = [
    "2 classes, hard, calibrated",
    "2 classes, sharp, calibrated",
    "10 classes, hard, calibrated",
    "10 classes, easy, calibrated",
]

GROUPS = {
    "measured D, A, R": MEASURED,
    "slope": ("slope",),
    "divergence": ("divergence_probability",),
    "curve at .1, .3, .7, .9": tuple(f"curve at {at:g}" for at in CURVE),
}


def show(table: pl.DataFrame) -> None:
    """Print coverage in per cent: a row for each forecaster, floor and size."""
    print(f"| forecaster | floor | N | errors | {' | '.join(GROUPS)} | warned |")
    print("|---" * (len(GROUPS) + 5) + "|")
    for (name, floor, n), rows in table.group_by(["forecaster", "floor", "n"], maintain_order=True):
        covered = dict(zip(rows["figure"], rows["covered"], strict=True))
        cells = [" ".join(percent(covered[figure]) for figure in figures) for figures in GROUPS.values()]
        first = rows.row(0, named=True)
        print(
            f"| {name} | {floor} | {n:,} | {first['errors']:,.0f} | {' | '.join(cells)} | {percent(first['warned'])} |"
        )


def percent(share: float) -> str:
    """Give a share in whole per cent."""
    return "-" if math.isnan(share) else f"{100 * share:.0f}"


if __name__ == "__main__":
    main()
