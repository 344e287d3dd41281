"""How often the gate of the diagnosis rejects calibrated forecasts of more than two classes.

    python benchmarks/diagnosis_gate.py [--factor F] [--out FILE.csv]

What the gate needs of the forecasts does not depend on outcomes. So each line draws two sets of forecasts, and many sets
of outcomes for each of them. That allows more classes and rows than the whole diagnosis in diagnosis_classes.py. Rows
predicted as certain are left out, as the diagnosis does.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unperplexed.calibration.diagnosis.class_rows import PreparedRows, RowBlock, count
from unperplexed.calibration.diagnosis.class_statistics import ClassStatistics, statistics_of
from unperplexed.calibration.diagnosis.class_tests import gate

LEVEL = 0.05
SETS = 2
"""Sets of forecasts."""


class Case(NamedTuple):
    """One line of the result."""

    classes: int
    rows: int
    draws: int
    """Sets of outcomes for each set of forecasts."""


class Outcomes:
    """Draws outcomes for the same calibrated forecasts."""

    def __init__(self, rng: np.random.Generator, case: Case) -> None:
        """Draw the forecasts: softmax of normal logits."""
        z = 2 * rng.normal(size=(case.rows, case.classes)) + 0.5 * rng.normal(size=case.classes)
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        block = RowBlock(p, p.argmax(axis=1))  # with the top class as the outcome no row is certain and wrong
        rows = PreparedRows(lambda: iter([block]), count(lambda: iter([block])))
        self.known, self.chunks = statistics_of(rows), list(rows)
        below = [np.cumsum(chunk.p, axis=1, dtype=float) for chunk in self.chunks]
        self.below = [(each / each[:, -1:] + np.arange(len(each))[:, None]).ravel() for each in below]
        self.scores = [[f - (chunk.p * f).sum(axis=1)[:, None] for f in (chunk.log_p, chunk.tail())]
                       for chunk in self.chunks]  # fmt: skip

    def draw(self, rng: np.random.Generator) -> ClassStatistics:
        """Give the statistics of the rows with new outcomes."""
        classes = len(self.known.observed)
        observed, shape = np.zeros(classes), np.zeros(2)
        for below, scores in zip(self.below, self.scores, strict=True):
            row = np.arange(len(below) // classes)
            number = np.searchsorted(below, rng.random(len(row)) + row)
            truth = np.clip(number - row * classes, 0, classes - 1)
            observed += np.bincount(truth, minlength=classes)
            shape += [f[row, truth].sum() for f in scores]
        return replace(self.known, observed=observed, shape_score=shape)


def run(case: Case, seed: int) -> dict[str, Any]:
    """Count how often the gate rejects in a case, and its tests by themselves."""
    p_values = []
    for at in range(SETS):
        rng = np.random.default_rng([seed, at])
        outcomes = Outcomes(rng, case)
        found = [gate(outcomes.draw(rng)) for _ in range(case.draws)]
        p_values += [(each.p_value, each.spread, each.single, each.shape) for each in found]
    rejected = (np.array(p_values) < LEVEL).mean(axis=0)
    names = ("rejected", "by_spread_alone", "by_single_alone", "by_shape_alone")
    return {
        "classes": case.classes,
        "rows": case.rows,
        "samples": len(p_values),
        **{name: f"{share:.4f}" for name, share in zip(names, rejected, strict=True)},
        "standard_error": f"{np.sqrt(rejected[0] * (1 - rejected[0]) / len(p_values)):.4f}",
    }


def cases(factor: float) -> list[Case]:
    """All lines, with so many times the draws."""
    return [
        Case(classes, rows, max(1, round(draws * factor)))
        for classes, draws in ((3, 300), (10, 300), (100, 100), (1000, 50))
        for rows in (200, 1000, 10_000, 50_000)
        if rows * classes < 5e7
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/diagnosis_gate.csv"))
    parser.add_argument("--factor", type=float, default=1.0, help="so many times the default draws (default: 1)")
    options = parser.parse_args(arguments)
    lines = []
    for number, case in enumerate(cases(options.factor)):
        lines.append(run(case, number))
        print(*lines[-1].values(), sep=" | ", file=sys.stderr, flush=True)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
