"""Processor time of `unperplexed assess` with the search for dependence in 20 further columns, and without it.

    python benchmarks/dependence_cost.py [ROWS ...] [--runs R] [--out FILE.csv]

The columns are ids, dates, whole numbers, numbers with fractions, texts of few and many values and a constant; rows are
independent. Each file is assessed with and without ``--clusters none`` in turn, by processes of their own: the least
processor time and the least peak of memory are written. The last run is results/dependence_cost.csv.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

ASSESS = [sys.executable, "-m", "unperplexed", "assess"]
COLUMNS = ["--quiet", "--truth", "outcome", "--prob", "prob"]

FORMS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "CSV": lambda frame, path: frame.write_csv(path.with_suffix(".csv")),
    "Parquet": lambda frame, path: frame.write_parquet(path.with_suffix(".parquet")),
    "Parquet as pandas writes it": lambda frame, path: pq.write_table(frame.to_arrow(), path.with_suffix(".parquet")),
}


def table(n: int) -> pl.DataFrame:
    """Calibrated forecasts of independent rows, with columns that have nothing to do with them."""
    rng, row = np.random.default_rng(0), np.arange(n)
    p = rng.beta(2, 2, n)
    teams = np.array([f"team {k}" for k in range(30)])
    days = np.datetime64("2015-01-01") + (row * 3000 // n).astype("timedelta64[D]")
    return pl.DataFrame(
        {
            "prob": p.round(6),
            "outcome": (rng.random(n) < p).astype(int),
            "game": row // 10,
            "row": row,
            "home": teams[rng.integers(0, 30, n)],
            "away": teams[rng.integers(0, 30, n)],
            "date": np.datetime_as_string(days),
            "season": 2015 + row * 8 // n,
            "neutral": rng.integers(0, 2, n),
            "constant": np.zeros(n, np.int64),
            "first rating": rng.normal(1500, 100, n).round(3),
            "second rating": rng.normal(1500, 100, n).round(3),
            "spread": rng.normal(0, 5, n).round(2),
            "price": rng.random(n),
            "first score": rng.poisson(20, n),
            "second score": rng.poisson(20, n),
            "user": rng.integers(0, n // 20, n),
            "id": np.char.add("id-", rng.permutation(n).astype(str)),
            "country": np.array(["DE", "FR", "GB", "IT", "US"])[rng.integers(0, 5, n)],
            "comment": np.char.add("note ", rng.integers(0, n // 5, n).astype(str)),
            "flag": rng.random(n) < 0.3,
            "version": np.where(row < n // 2, "v1", "v2"),
        }
    )


def spent(command: list[str]) -> tuple[float, float]:
    """Processor seconds, and the peak of memory in MiB; what wait4 says of memory would include this process."""
    process, ended, peak = subprocess.Popen(command, stdout=subprocess.DEVNULL), 0, 0
    while not ended:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        peak = max([peak, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
        time.sleep(0.02)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
    if status:
        raise SystemExit(f"{command} failed")
    return used.ru_utime + used.ru_stime, peak / 1024


def measured(path: Path, runs: int) -> dict[str, str]:
    """Assess a file with and without the search."""
    command = [*ASSESS, str(path), *COLUMNS]
    pairs = [(spent(command), spent([*command, "--clusters", "none"])) for _ in range(runs)]
    (searched, memory), (alone, memory_alone) = (map(min, zip(*each, strict=True)) for each in zip(*pairs, strict=True))
    return {
        "searched_s": f"{searched:.2f}",
        "alone_s": f"{alone:.2f}",
        "ratio": f"{searched / alone:.2f}",
        "searched_mib": f"{memory:.0f}",
        "alone_mib": f"{memory_alone:.0f}",
    }


def main() -> None:
    """Measure files of so many rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int, nargs="*", default=[10**5, 10**6, 10**7])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for n in options.rows:
        frame = table(n)
        for form, write in FORMS.items():
            with tempfile.TemporaryDirectory() as folder:
                write(frame, Path(folder) / "forecasts")
                (path,) = Path(folder).iterdir()
                lines.append({"rows": str(n), "format": form, **measured(path, options.runs)})
                print(*lines[-1].values(), sep=" | ", flush=True)
    if options.out is not None:
        pl.DataFrame(lines).write_csv(options.out)


if __name__ == "__main__":
    main()
