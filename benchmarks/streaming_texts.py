"""Counting log-probabilities of tokens in shards: time and memory.

    python benchmarks/streaming_texts.py [--tokens N] [--shards S] [--csv FILE]

Simulates N tokens (1e8) in S shards (10) of documents of uneven length, which differ in difficulty: the true figure is
0.7213 bits per byte. Another process writes each shard as a Parquet file. This one reads it as a log in the plain form
and counts it, and adds up the tallies. Prints after each shard the time to read and count, the resident memory and its
peak so far, and the size of the pickled tally, none of which grows with the number of tokens. At the end the figure
with its interval by documents, beside the one that takes tokens for independent.
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import pickle
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unperplexed.language_models import TextTally, assess_texts, read_items

MEAN, BYTES, SPREAD = 2.0, 4, 0.25
TRUTH = MEAN / BYTES / math.log(2)


def write_shard(path: Path, tokens: int, seed: int) -> None:
    """Write documents with their log-probabilities, in single precision, as models give them."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(np.exp(rng.normal(6.5, 1.0, size=max(tokens // 1000, 1))).astype(int), 1)
    ends = np.minimum(np.append(0, np.cumsum(sizes)), tokens)
    ends = np.append(ends[ends < tokens], tokens)
    hard = np.exp(SPREAD * rng.normal(size=ends.size - 1) - SPREAD**2 / 2)
    values = (-MEAN * rng.exponential(size=tokens) * np.repeat(hard, np.diff(ends))).astype(np.float32)
    lists = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), pa.array(values))
    names = [f"{seed}/{at}" for at in range(len(lists))]
    table = pa.table({"doc": names, "bytes": (BYTES * np.diff(ends)).astype(np.int64), "logprobs": lists})
    pq.write_table(table, path, row_group_size=2000)


def resident() -> float:
    """Memory of this process at present, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def main() -> None:
    """Count the shards one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=float, default=1e8)
    parser.add_argument("--shards", type=int, default=10)
    parser.add_argument("--csv", type=Path, help="write what is printed to this file too")
    given = parser.parse_args()
    size = int(given.tokens) // given.shards
    whole, spent, rows = TextTally(), 0.0, []
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shard.parquet"
        for shard in range(given.shards):
            writer = processes.Process(target=write_shard, args=(path, size, shard))
            writer.start()
            writer.join()
            start = time.process_time()
            whole = whole + TextTally.count(read_items(path))
            spent += time.process_time() - start
            rows.append(
                {
                    "tokens": round(whole.total("token")),
                    "documents": whole.n_documents,
                    "processor_seconds": round(spent, 1),
                    "resident_mib": round(resident()),
                    "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                    "tally_bytes": len(pickle.dumps(whole)),
                }
            )
            print("  ".join(f"{name} {value:,}" for name, value in rows[-1].items()), flush=True)
    rate = assess_texts(whole).rates["byte"]
    low, high = rate.bits_interval
    print(f"{rate.bits:.6f} bits per byte (95% CI {low:.6f} to {high:.6f}, documents as clusters); true {TRUTH:.6f}")
    variance = MEAN**2 * (2 * math.exp(SPREAD**2) - 1)
    half = 1.96 * math.sqrt(variance / whole.total("token")) / BYTES / math.log(2)
    print(f"an interval that takes tokens for independent has a half width of {half:.6f}, not {(high - low) / 2:.6f}")
    if given.csv:
        with given.csv.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
