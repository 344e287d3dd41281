"""Time to load, merge and assess 365 daily tallies of ten million rows each: ``python benchmarks/year_of_tallies.py``.

Processor seconds of one core, after imports. Three days are drawn, and repeated under the dates of a year.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from unperplexed import Tally, assess

DAYS, ROWS = 365, 10**7


def drawn(rng: np.random.Generator, rows: int, bits: int) -> Tally:
    """Count a day of calibrated forecasts."""
    p = 1 / (1 + np.exp(-rng.normal(-1, 1.5, rows)))
    return Tally.of(rng.random(rows) < p, p, fraction_bits=bits)


def main(rows: int = ROWS) -> None:
    """Print a line for each width of the cells."""
    rng = np.random.default_rng(0)
    for bits in (9, 7):
        three = [drawn(rng, rows, bits) for _ in range(3)]
        with tempfile.TemporaryDirectory() as folder:
            for at in range(DAYS):
                day = (date(2026, 1, 1) + timedelta(at)).isoformat()
                three[at % 3].tagged(period=day).save(Path(folder) / f"{day}.tally")
            paths = sorted(Path(folder).iterdir())
            _ = assess(Tally.load(paths[0])).verdict  # what it loads is not counted
            before = time.process_time()
            year = Tally.merged(map(Tally.load, paths))
            merged = time.process_time()
            _ = assess(year).verdict
            kb = paths[0].stat().st_size / 1000
        print(
            f"fraction_bits={bits}: {kb:,.0f} kB a day; loaded and merged in {merged - before:.2f} s, assessed in"
            f" {time.process_time() - merged:.2f} s: {year.n_rows:,} rows"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
