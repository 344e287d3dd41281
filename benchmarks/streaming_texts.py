"""Counting log-probabilities of tokens in shards: time and memory.

    python benchmarks/streaming_texts.py [--tokens N] [--shards S]

Simulates N tokens (1e8) in S shards (10) of documents of uneven length. Each shard is a Parquet file that is written,
read as a log in the plain form and counted; its tally is added up. Prints the time to read and count, and the largest
resident memory after each shard, which does not grow.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unperplexed.language_models import TextTally, assess_texts, read_items


def write_shard(path: Path, tokens: int, seed: int) -> None:
    """Write documents with their log-probabilities, in single precision, as models give them."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(np.exp(rng.normal(6.5, 1.0, size=max(tokens // 1000, 1))).astype(int), 1)
    ends = np.minimum(np.append(0, np.cumsum(sizes)), tokens)
    ends = np.append(ends[ends < tokens], tokens)
    values = -rng.exponential(2.0, size=tokens).astype(np.float32)
    lists = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), pa.array(values))
    names = [f"{seed}/{at}" for at in range(len(lists))]
    table = pa.table({"doc": names, "bytes": (4 * np.diff(ends)).astype(np.int64), "logprobs": lists})
    pq.write_table(table, path, row_group_size=2000)


def main() -> None:
    """Count the shards one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=float, default=1e8)
    parser.add_argument("--shards", type=int, default=10)
    given = parser.parse_args()
    size = int(given.tokens) // given.shards
    whole, spent = TextTally(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shard.parquet"
        for shard in range(given.shards):
            write_shard(path, size, shard)
            start = time.perf_counter()
            whole = whole + TextTally.count(read_items(path))
            spent += time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{whole.total('token'):15,.0f} tokens  {spent:7.1f} s  peak memory {peak:6.0f} MiB", flush=True)
    rate = assess_texts(whole).rates["byte"]
    print(f"{rate.bits:.6f} bits per byte ({rate.bits_interval.low:.6f} to {rate.bits_interval.high:.6f})")


if __name__ == "__main__":
    main()
