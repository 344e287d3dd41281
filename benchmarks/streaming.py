"""How long, and in how much memory, a Parquet file larger than the memory allowed is assessed.

For each layout a file of the given size is written with the writers' own defaults but for the row groups named below,
then read and assessed, each in a process of its own, in turn, several times:

    reading     all batches of the file's columns by pyarrow, and nothing done with them
    assessing   `unperplexed assess FILE --json ...`, from the shell

Reported are the ratio of the shortest times and the largest resident memory of each process. Times of one machine
drift; the ratio is the claim.

    python benchmarks/streaming.py --gigabytes 4 --folder . --json streaming.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

CLASSES = 1000
BATCH = 1 << 13

READ = """
import sys
import pyarrow.parquet as pq
file = pq.ParquetFile(sys.argv[1], pre_buffer=False, buffer_size=1 << 16)
for batch in file.iter_batches(batch_size=int(sys.argv[2])):
    pass
"""


def softmax_batches(rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Forecasts of a thousand classes, like a network's: sharp, sometimes wrong."""
    rng = np.random.default_rng(20260101)
    for start in range(0, rows, BATCH):
        n = min(BATCH, rows - start)
        z = rng.standard_normal((n, CLASSES), dtype=np.float32) * 2
        truth = rng.integers(0, CLASSES, n)
        z[np.arange(n), truth] += 8 + 3 * rng.standard_normal(n, dtype=np.float32)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        yield truth.astype(np.int32), z


def list_batches(size: int) -> Iterator[pa.RecordBatch]:
    """One column of lists."""
    for truth, p in softmax_batches(size // (4 * CLASSES)):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(p.reshape(-1)), CLASSES).cast(pa.list_(pa.float32()))
        yield pa.record_batch({"y": truth, "p": lists})


def wide_batches(size: int) -> Iterator[pa.RecordBatch]:
    """A column for each class."""
    for truth, p in softmax_batches(size // (4 * CLASSES)):
        yield pa.record_batch({"y": truth, **{f"p_{j}": pa.array(p[:, j].copy()) for j in range(CLASSES)}})


def binary_batches(size: int) -> Iterator[pa.RecordBatch]:
    """Yes or no, in float64."""
    rng = np.random.default_rng(20260102)
    for _ in range(size // (9 << 20)):
        p = rng.beta(0.5, 0.5, 1 << 20)
        yield pa.record_batch({"y": (rng.random(p.size) < p).astype(np.int8), "p": p})


LAYOUTS: dict[str, tuple[Callable[[int], Iterator[pa.RecordBatch]], list[str], int, int]] = {
    # batches, arguments, rows of a batch when reading, rows of a row group (None: the writer's own million)
    "list": (list_batches, ["--prob", "p"], 4096, 1 << 20),
    "wide": (wide_batches, ["--prob", *(f"p_{j}" for j in range(CLASSES))], 4096, BATCH),
    "binary": (binary_batches, ["--prob", "p"], 1 << 20, 1 << 20),
}


def write(path: Path, batches: Iterator[pa.RecordBatch], group: int, size: int) -> None:
    """Write row groups of so many rows, gathering batches only as far as the writer needs."""
    first = next(batches)
    with (
        pq.ParquetWriter(path, first.schema) as writer,
        tqdm(total=size, unit="B", unit_scale=True, desc="write") as bar,
    ):
        gathered = [first]
        for batch in batches:
            bar.update(batch.nbytes)
            gathered.append(batch)
            if sum(b.num_rows for b in gathered) >= group:
                writer.write_table(pa.Table.from_batches(gathered), row_group_size=group)
                gathered = []
        if gathered:
            writer.write_table(pa.Table.from_batches(gathered), row_group_size=group)


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds and largest resident MiB of a command.

    The system's own high-water mark is looked at until the end; what wait4 reports would include this process.
    """
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
        time.sleep(0.01)
    if process.returncode:
        raise SystemExit(f"{command[:4]} failed")
    return time.perf_counter() - start, peak / 1024


def measure(layout: str, size: int, folder: Path, repeats: int) -> dict[str, float | str]:
    """Write a file, read it and assess it in turn, and delete it."""
    batches, arguments, batch_rows, group = LAYOUTS[layout]
    path = folder / f"unperplexed-{layout}.parquet"
    try:
        write(path, batches(size), group, size)
        read = [sys.executable, "-c", READ, str(path), str(batch_rows)]
        assess = [sys.executable, "-m", "unperplexed", "assess", str(path), "--truth", "y", *arguments, "--json", "-"]
        runs = [(timed(read), timed(assess)) for _ in range(repeats)]
        return {
            "layout": layout,
            "file_bytes": path.stat().st_size,
            "rows": pq.ParquetFile(path).metadata.num_rows,
            "reading_s": min(r[0] for r, _ in runs),
            "assessing_s": min(a[0] for _, a in runs),
            "ratio": min(a[0] for _, a in runs) / min(r[0] for r, _ in runs),
            "reading_mib": max(r[1] for r, _ in runs),
            "assessing_mib": max(a[1] for _, a in runs),
        }
    finally:
        path.unlink(missing_ok=True)


def main() -> None:
    """Measure the layouts asked for, print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    size = int(arguments.gigabytes * 1e9)
    rows = [measure(layout, size, arguments.folder, arguments.repeats) for layout in arguments.layouts]
    for row in rows:
        print(
            " ".join(
                f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in row.items()
            )
        )
    if arguments.json:
        machine = {"cores": os.cpu_count(), "python": platform.python_version(), "pyarrow": pa.__version__}
        arguments.json.write_text(json.dumps({"machine": machine, "results": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
