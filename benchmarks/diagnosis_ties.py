"""Whether the diagnosis of two classes names more errors rightly if it prefers plainer names where several fit.

    python benchmarks/diagnosis_ties.py [--runs R]

Of the sets of errors whose worth is within a margin of the best, the plainest is taken: bias before confidence before
the others, and fewer before more. Printed is the percentage of samples that are rejected and named rightly.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from diagnosis import ERRORS, LEVEL, Case, Sample, draw
from unperplexed.calibration.diagnosis.binary import Search
from unperplexed.calibration.diagnosis.binary_data import data_of_rows
from unperplexed.calibration.diagnosis.gate import gate

MARGINS = (0.0, 0.5, 1.0, 2.0, 4.0)
STUDIED = ("bias and slope 0.4", "bias and slope 0.2", "tail -0.3", "noise 10%", "bias 0.2", "slope e^0.15",
           "asymmetry 0.4")  # fmt: skip
_LENGTH = {"bias": 0, "confidence": 1}


def plainness(names: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]]:
    """Order sets of errors, the plainest first."""
    return sum(_LENGTH.get(name, 2) for name in names), len(names), names


def named(case: Case, seed: int) -> np.ndarray:
    """Count the samples named rightly, for each margin."""
    rng, right = np.random.default_rng(seed), np.zeros(len(MARGINS))
    for _ in range(case.runs):
        data = data_of_rows([draw(rng, case)], (0, 1))
        assert data is not None
        rows = data.rows.only(np.abs(data.rows.s) <= math.log(100 * case.n))
        if (tested := gate(rows)).p_value >= LEVEL:
            continue
        search = Search(rows, tested, 3)
        best = search.best()
        for at, margin in enumerate(MARGINS):
            some = [x for x, each in search.found.items() if each.worth >= search.found[best].worth - margin]
            right[at] += set(min(some, key=plainness) if margin else best) == set(ERRORS[case.error])
    return right


def main(arguments: list[str] | None = None) -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="samples of each error (default: 20)")
    options = parser.parse_args(arguments)
    found = [named(Case("ties", "usual", error, Sample(), 1000, options.runs), 3) for error in STUDIED]
    print("margin", *MARGINS, sep=" | ")
    for error, right in zip((*STUDIED, "all"), (*found, np.mean(found, axis=0)), strict=True):
        print(error, *(f"{100 * x / options.runs:.0f}%" for x in right), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
