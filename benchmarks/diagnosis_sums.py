"""Whether a tally of more than two classes gives the diagnosis that its rows give, on simulated forecasts.

The designs are those of diagnosis_classes.py. A line of the result counts how often the gate rejected by either, the
largest difference of their p-values, and how often both named the same errors. Run
`python benchmarks/diagnosis_sums.py --out FILE`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from diagnosis_classes import Case, simulate
from unperplexed import Tally, diagnose

ERRORS = [("none", 0.0), ("confidence", -0.2), ("confidence", -0.5), ("classes", 0.3), ("both", -0.2)]
ERRORS += [("few", 0.4), ("noise", 0.1), ("tail", -0.2)]


def run(case: Case, seed: int) -> dict[str, Any]:
    """Diagnose samples of a design by their rows and by their tallies."""
    rng = np.random.default_rng(seed)
    rejected, alike, found = [0, 0], 0, Counter[str]()
    apart, gains, slopes = [], [], []
    for _ in range(case.runs):
        p, y, weights, *_ = simulate(rng, case)
        labels = tuple(range(case.classes))
        rows = diagnose(y, p, sample_weight=weights, labels=labels)
        sums = diagnose(Tally.of(y, p, sample_weight=weights, labels=labels, parts=["diagnosis"]))
        for at, each in enumerate((rows, sums)):
            rejected[at] += each.p_value < 0.05
        apart.append(abs(rows.p_value - sums.p_value))
        if set(rows.errors) == set(sums.errors):
            alike += 1
            gains.append(abs(sums.cost - rows.cost) / max(rows.cost, 1e-3))
            slopes += [
                abs(one.parameter - other.parameter)
                for one in rows.findings
                for other in sums.findings
                if one.error == other.error == "confidence"
            ]
        else:
            found[f"{'+'.join(rows.errors) or 'nothing'} / {'+'.join(sums.errors) or 'nothing'}"] += 1
    return {
        "classes": case.classes,
        "rows": case.rows,
        "runs": case.runs,
        "error": case.error,
        "size": case.size,
        "sample": case.sample,
        "rejected_by_rows": rejected[0],
        "rejected_by_sums": rejected[1],
        "largest_difference_of_p": f"{max(apart):.1e}",
        "same_names": alike,
        "largest_difference_of_slope": f"{max(slopes, default=0.0):.3f}",
        "median_relative_difference_of_gain": f"{np.median(gains) if gains else np.nan:.3f}",
        "other_names_rows_and_sums": "; ".join(f"{name} {times}" for name, times in found.most_common()),
    }


def cases(factor: float) -> list[Case]:
    """List the designs of the study."""
    sizes = [(3, 1000, 100), (10, 2000, 100), (10, 10_000, 20), (100, 3000, 20)]
    found = [Case("sums", c, n, round(runs * factor), *error) for c, n, runs in sizes for error in ERRORS]
    found += [Case("sums", 10, 1000, round(500 * factor)), Case("sums", 10, 2000, round(60 * factor), sample="weights")]
    return [*found, Case("sums", 10, 2000, round(60 * factor), "confidence", -0.3, "weights")]


def main(arguments: list[str] | None = None) -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/diagnosis_sums.csv"))
    parser.add_argument("--factor", type=float, default=1.0, help="so many times the default runs (default: 1)")
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
