"""Do maps of groups help beyond one map for all, and how much harm do they do where groups do not differ?

    python -P benchmarks/recalibration_groups.py [--samples N] [--seed S] [--out FILE.csv]

Each sample draws a bias and a slope for each of ten groups (spreads 0: all alike), log-odds and outcomes. Fitted are
one map for all rows, `GroupRecalibrator`, and a map for each group by itself. A line of the result is the mean log loss
on fresh forecasts, minus that of the one map: negative is better. "kept" counts the samples in which the maps of groups
were kept, "covered" those whose reported 95% interval of the gain over the one map holds the gain of all these maps on
fresh forecasts, whether they were kept or not.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from unperplexed import Forecasts, Recalibrator
from unperplexed.recalibration.fitting import GroupMaps, checked_settings, gain_over_one_map, gathered_groups

Values = NDArray[np.float64]
GROUPS, FRESH, FOLDS = 10, 4000, 5


class Case(NamedTuple):
    """One line of the result."""

    rows: int
    """Of each group."""
    biases: float
    """Standard deviation of the groups' biases."""
    slopes: float
    """Standard deviation of the logarithms of their slopes."""


CASES = [Case(50, 0, 0), Case(200, 0, 0), Case(50, 0.5, 0.3), Case(200, 0.5, 0.3), Case(200, 0.2, 0.1)]


def loss(q: Values, true: Values) -> float:
    """Return the expected log loss of probabilities."""
    return -float((true * np.log(q) + (1 - true) * np.log1p(-q)).mean())


def one(case: Case, rng: np.random.Generator) -> tuple[float, float, bool, bool]:
    """Return the losses of maps of groups as kept, and of separate maps; whether they are kept; whether covered."""
    bias, slope = rng.normal(0.3, case.biases, GROUPS), 0.7 * np.exp(rng.normal(0, case.slopes, GROUPS))
    group = np.repeat(np.arange(GROUPS), case.rows)
    s = rng.normal(-0.5, 1.5, group.size)
    y = rng.random(group.size) < expit(bias[group] + slope[group] * s)
    settings = checked_settings("auto", False, FOLDS, 0)
    rows = gathered_groups([(Forecasts(y, expit(s)), group)])
    maps = GroupMaps.of(rows, settings)
    found = gain_over_one_map(rows, maps, settings)
    assert found is not None
    s_new = rng.normal(-0.5, 1.5, FRESH)
    shared = maps.shared.of_log_probabilities(log_expit(np.stack([-s_new, s_new], axis=1)))
    pooled, separate = [], []
    for k in range(GROUPS):
        true = expit(bias[k] + slope[k] * s_new)
        before = loss(shared[:, 1], true)
        pooled.append(loss(maps.changed((k,), shared)[:, 1], true) - before)
        alone = Recalibrator(folds=FOLDS).fit(y[group == k], expit(s[group == k]), labels=[False, True])
        separate.append(loss(alone.transform(expit(s_new)), true) - before)
    kept, (low, high) = found.gain.significant, found.gain.interval
    gain = -float(np.mean(pooled))
    return -gain if kept else 0.0, float(np.mean(separate)), kept, low <= gain <= high


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seed", type=int, default=2611)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/recalibration_groups.csv"))
    options = parser.parse_args()
    with options.out.open("w", newline="") as file:
        writer: Any = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [*Case._fields, "samples", "groups", "error_groups", "separate", "error_separate", "kept", "covered"]
        )
        for at, case in enumerate(CASES):
            rng = np.random.default_rng([options.seed, at])
            results = np.array([one(case, rng) for _ in range(options.samples)], dtype=float)
            error = results[:, :2].std(axis=0, ddof=1) / np.sqrt(options.samples)
            mean = results[:, :2].mean(axis=0)
            figures = [round(float(x), 5) for pair in zip(mean, error, strict=True) for x in pair]
            line = [*case, options.samples, *figures, *(int(x) for x in results[:, 2:].sum(axis=0))]
            writer.writerow(line)
            file.flush()
            print(*line, sep=" | ", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
