"""Time to load, merge and assess 365 daily tallies of ten million rows each: ``python benchmarks/year_of_tallies.py``.

In Python, processor seconds of one core, after imports. In a shell, how many seconds longer ``unperplexed assess``
takes for the year than for a day. Three days are drawn, and repeated under the dates of a year; so the year's chance is
that of three days, which seems much with so many rows, and the command fits a remedy that it does not fit for a day.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from unperplexed import Tally, assess

DAYS, ROWS, RUNS = 365, 10**7, 5


def drawn(rng: np.random.Generator, rows: int, bits: int) -> Tally:
    """Count a day of calibrated forecasts."""
    p = 1 / (1 + np.exp(-rng.normal(-1, 1.5, rows)))
    return Tally.of(rng.random(rows) < p, p, fraction_bits=bits)


def command(paths: Sequence[Path]) -> float:
    """Seconds of the command."""
    before = time.perf_counter()
    subprocess.run([sys.executable, "-m", "unperplexed", "assess", *paths], check=True, capture_output=True)
    return time.perf_counter() - before


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
            assessed = time.process_time()
            kb = paths[0].stat().st_size / 1000
            longer = np.array([(command(paths), command(paths[:1])) for _ in range(RUNS)]).min(axis=0)
        print(
            f"fraction_bits={bits}: {kb:,.0f} kB a day; loaded and merged in {merged - before:.2f} s, assessed in"
            f" {assessed - merged:.2f} s: {year.n_rows:,} rows; the command takes {longer[0] - longer[1]:.2f} s longer"
            " than for a day"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
