"""How long a thousand samples of all figures take, at 50,000 rows and at ten times as many.

    OMP_NUM_THREADS=1 python benchmarks/resampling.py [--resamples N]

Of two and of ten classes, from tallies without and with shards: the best of five, in seconds of one core, and as a
ratio to 50,000 rows. That ratio should be 1: once rows are tallied, their number does not matter.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from coverage import FORECASTERS
from unperplexed import Tally, assess


def seconds(tally: Tally, resamples: int) -> float:
    """Best time of five in which intervals, bands and test of an assessment were made."""
    best = np.inf
    for _ in range(5):
        assessment = assess(tally, resamples=resamples)
        start = time.process_time()
        assessment.uncertainty  # noqa: B018
        best = min(best, time.process_time() - start)
    return float(best)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=1000)
    arguments = parser.parse_args()
    print("| classes | parts | 50,000 rows | 500,000 rows | ratio |\n|---|---|---|---|---|")
    for forecaster in (each for each in FORECASTERS if not each.easy and each.sharpness == 1.5):
        for parts in ([], ["shards"]):
            times = []
            for n in (50_000, 500_000):
                rng = np.random.default_rng(n)
                p, q = forecaster.rows(n, rng)
                y = np.minimum((q.cumsum(axis=1) <= rng.random((n, 1))).sum(axis=1), forecaster.classes - 1)
                tally = Tally.of(y, p, labels=range(forecaster.classes), parts=parts)
                times.append(seconds(tally, arguments.resamples))
            kept = ", ".join(parts) or "none"
            print(
                f"| {forecaster.classes} | {kept} | {times[0]:.2f} s | {times[1]:.2f} s | {times[1] / times[0]:.2f} |"
            )


if __name__ == "__main__":
    main()
