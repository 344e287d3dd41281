"""How fast logits on a CUDA device are counted, against how fast the card copies memory; as JSON.

    python benchmarks/device.py [--rounds 20]

For 1.28 million rows of 1000 classes and 8192 rows of 128,000, in float32 and bfloat16: bytes of logits over the time
of the kernel, as a share of what a copy moves in a second, which reads and writes each byte. Once with and once without
counting cells; rows of 128,000 classes are more than a processor holds and are read twice. Beside it the whole tally,
whose rows are added up on the host. Medians, in one process, of a card that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
import triton

from unperplexed import Tally, __version__
from unperplexed.kernels import triton as _triton
from unperplexed.kernels.rows import Grid
from unperplexed.tally.tally import FRACTION_BITS

SIZES = [(1_280_000, 1000), (8192, 128_000)]


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Median time of the device, after two rounds to warm up."""
    times = []
    for at in range(rounds + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        if at >= 2:
            times.append(start.elapsed_time(end))
    return statistics.median(times)


def measured(n: int, classes: int, dtype: torch.dtype, rounds: int) -> dict[str, object]:
    """Bandwidths of one size, in gigabytes a second, and their shares of the copy's."""
    generator = torch.Generator("cuda").manual_seed(0)
    x = torch.empty((n, classes), dtype=dtype, device="cuda").normal_(0, 3, generator=generator)
    y = torch.randint(classes, (n,), device="cuda", generator=generator)
    gigabytes = x.numel() * x.element_size() / 1e9
    target = torch.empty_like(x)
    copy = 2 * gigabytes / (milliseconds(partial(target.copy_, x), rounds) / 1e3)
    del target
    grid = Grid(FRACTION_BITS)
    counts = torch.zeros((_triton.COPIES, grid.size), dtype=torch.int32, device="cuda")
    runs: dict[str, Callable[[], object]] = {
        "rows": partial(_triton.launch, x, y),
        "rows and cells": partial(_triton.launch, x, y, None, counts, grid),
    }
    found = {name: gigabytes / (milliseconds(run, rounds) / 1e3) for name, run in runs.items()}
    Tally.of(y[:1000], x[:1000], scale="logits")
    torch.cuda.synchronize()
    start = time.perf_counter()
    Tally.of(y, x, scale="logits")
    seconds = time.perf_counter() - start
    return {
        "rows": n,
        "classes": classes,
        "dtype": str(dtype),
        "copy, GB/s": round(copy, 1),
        **{f"{name}, GB/s": round(speed, 1) for name, speed in found.items()},
        **{f"{name}, of the copy": round(speed / copy, 3) for name, speed in found.items()},
        "whole tally, s": round(seconds, 3),
        "whole tally, GB/s": round(gigabytes / seconds, 1),
    }


def main() -> None:
    """Measure all sizes and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="how often each is timed")
    rounds = parser.parse_args().rounds
    if not torch.cuda.is_available():
        parser.error("needs a CUDA device")
    versions = {"unperplexed": __version__, "torch": torch.__version__, "triton": triton.__version__}
    sizes = [(n, classes, dtype) for n, classes in SIZES for dtype in (torch.float32, torch.bfloat16)]
    found = [measured(*size, rounds) for size in sizes]
    print(json.dumps({"device": torch.cuda.get_device_name(), "versions": versions, "measured": found}, indent=2))


if __name__ == "__main__":
    main()
