"""Whether two threads count faster than one, and how much of the work of one is done outside the compiled kernel.

The kernel lets other threads run. What is outside it holds Python's lock, but for large NumPy operations, so that its
share is the most that two threads must do one after the other. Run it on an idle machine:

    python benchmarks/threads.py
    python benchmarks/threads.py --case classes --scale 0.1
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from speed import binary, multiclass
from unperplexed import Forecasts, Tally

MODULES = ("kernels.rows", "kernels.softmax", "kernels.exact_sum", "tally.columns", "tally.class_sums")
"""Modules of the package that call the kernel."""


class Timed:
    """The kernel, or an object of it, that keeps how much time of the thread its functions take."""

    spent = 0.0

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        """Give a function that is timed, or what else it has."""
        found = getattr(self._whole, name)
        if not callable(found):
            return found

        def timed(*arguments: Any) -> Any:
            start = time.thread_time()
            result = found(*arguments)
            Timed.spent += time.thread_time() - start
            return Timed(result) if isinstance(found, type) else result

        return timed


def in_kernel(run: Callable[[], object]) -> float:
    """Share of the time of one thread in the kernel."""
    modules = [importlib.import_module(f"unperplexed.{name}") for name in MODULES]
    kernel: Any = modules[0]
    kernel = kernel._kernel
    for module in modules:
        module._kernel = Timed(kernel)  # type: ignore[attr-defined]
    start, Timed.spent = time.thread_time(), 0.0
    run()
    whole = time.thread_time() - start
    for module in modules:
        module._kernel = kernel  # type: ignore[attr-defined]
    return Timed.spent / whole


def timed(run: Callable[[], object]) -> float:
    """Seconds on the clock."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


CASES: dict[str, tuple[int, Callable[[int], tuple[np.ndarray, np.ndarray]]]] = {
    "classes": (600_000, lambda n: multiclass(n, 1000)),
    "ten": (10_000_000, lambda n: multiclass(n, 10)),
    "column": (10_000_000, binary),
}


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    print("| rows | one thread, ns a row | two threads, of one | outside the kernel, of one |\n|---|---|---|---|")
    for case in arguments.case:
        rows, make = CASES[case]
        y, p = make(int(rows * arguments.scale))
        classes = 2 if p.ndim == 1 else p.shape[1]

        def counted(jobs: int, y: np.ndarray = y, p: np.ndarray = p, classes: int = classes) -> object:
            return Tally.count(Forecasts(y, p, labels=range(classes), whole=False), n_jobs=jobs, diagnosed=0)

        counted(2)
        pairs = [(timed(lambda: counted(1)), timed(lambda: counted(2))) for _ in range(arguments.times)]
        one, two = (min(times) for times in zip(*pairs, strict=True))
        outside = 1 - in_kernel(lambda: counted(1))
        name = f"{len(y):,}" + (f" x {classes}" if p.ndim > 1 else " of one column")
        print(f"| {name} | {one / len(y) * 1e9:.1f} | {two / one:.2f} | {outside:.2f} |", flush=True)


if __name__ == "__main__":
    main()
