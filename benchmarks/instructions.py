"""How many instructions the kernel takes a value, counted by valgrind: the same each time, unlike times.

Each case runs twice in processes that load nothing but the kernel, once with more repetitions; the difference is the
kernel's. Against regressions: with ``--check`` more than a twentieth above what is written down here is an error.

    python benchmarks/instructions.py --check
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import re
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

FEW, MANY = 1, 5
BITS = 9
CELLS = 2 * ((0x3F000000 >> (23 - BITS)) + 1) + 2

EXPECTED = {
    "rows of 1000 classes, float32": 3.75,
    "rows of 1000 classes, float32, in cells": 10.24,
    "rows of 1000 classes, float64, in cells": 12.0,
    "rows of 10 classes, float32, in cells": 25.4,
    "softmax of 1000 classes": 9.67,
    "logits of 1000 classes, in cells": 21.7,
    "one column, in cells": 45.3,
    "one column of 101 values": 60.7,
    "pairs of 1000 classes, in coarse cells": 15.6,
    "sums of limbs": 5.35,
}
"""Instructions a value, built by GCC 12 and run with AVX2."""


def matrix(kind: str, rows: int, classes: int) -> memoryview:
    """Rows of a distribution, most of whose weight is in a few classes; the same ten times over."""
    rng = random.Random(0)
    values = array(kind)
    for _ in range(rows // 10):
        row = [2.0 ** rng.uniform(-14, 0) for _ in range(classes)]
        total = sum(row)
        values.extend(x / total for x in row)
    values *= 10
    return memoryview(values).cast("B").cast(kind, [rows, classes])


def rows_of(
    kind: str, rows: int, classes: int, counted: bool, logits: bool = False
) -> Callable[[Any], Callable[[], object]]:
    """Primitives of rows, and cells."""

    def make(kernel: Any) -> Callable[[], object]:
        p, truth = matrix(kind, rows, classes), array("q", (row % classes for row in range(rows)))
        out = memoryview(array("d", bytes(8 * 7 * rows))).cast("B").cast("d", [7, rows])
        total = array("d", bytes(8 * CELLS)) if counted else None
        return lambda: kernel.rows(p, truth, None, out, BITS, total, logits)

    return make


def softmax(kernel: Any) -> Callable[[], object]:
    """Logits."""
    x, out = matrix("f", 400, 1000), memoryview(array("d", bytes(8 * 400_000))).cast("B").cast("d", [400, 1000])
    return lambda: kernel.softmax(x, out)


def column_of(most: int) -> Callable[[Any], Callable[[], object]]:
    """Outcomes of one column, all of different probabilities or of a hundred."""

    def make(kernel: Any) -> Callable[[], object]:
        rng = random.Random(0)
        p = array("d", (rng.random() if most == 0 else round(rng.random(), 2) for _ in range(40_000)))
        truth = array("b", (rng.random() < x for x in p))
        odd, counter = memoryview(bytearray(len(p))).cast("?"), kernel.Column64(most, BITS)
        least = array("f", bytes(4 * -(-len(p) // (1 << 14))))
        counter.add(p, truth, odd, least)  # which makes room
        return lambda: counter.add(p, truth, odd, least)

    return make


def parts(kernel: Any) -> Callable[[], object]:
    """Pairs of each class in coarse cells."""
    p, group = matrix("f", 1600, 1000), array("q", range(1000))
    total, places = (array("d", bytes(8 * 256 * 1000)) for _ in range(2))
    return lambda: kernel.count_coarse(p, group, False, 1000, None, total, places)


def limbs(kernel: Any) -> Callable[[], object]:
    """Values of a score."""
    rng = random.Random(0)
    x = array("d", (rng.expovariate(1) for _ in range(40_000)))
    return lambda: kernel.limb_sums(x, 10, 3)


CASES: dict[str, tuple[int, Callable[[Any], Callable[[], object]]]] = {
    "rows of 1000 classes, float32": (400_000, rows_of("f", 400, 1000, counted=False)),
    "rows of 1000 classes, float32, in cells": (400_000, rows_of("f", 400, 1000, counted=True)),
    "rows of 1000 classes, float64, in cells": (400_000, rows_of("d", 400, 1000, counted=True)),
    "rows of 10 classes, float32, in cells": (400_000, rows_of("f", 40_000, 10, counted=True)),
    "softmax of 1000 classes": (400_000, softmax),
    "logits of 1000 classes, in cells": (400_000, rows_of("f", 400, 1000, counted=True, logits=True)),
    "one column, in cells": (40_000, column_of(0)),
    "one column of 101 values": (40_000, column_of(1 << 16)),
    "pairs of 1000 classes, in coarse cells": (1_600_000, parts),
    "sums of limbs": (40_000, limbs),
}


def kernel_at(path: str) -> ModuleType:
    """Load the kernel without the package, which would load NumPy."""
    spec = importlib.util.spec_from_file_location("unperplexed.kernels._kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def instructions(path: str) -> list[tuple[int, int]]:
    """Instructions up to the end of each case, run a few and many times, in processes that are alike until they run."""
    count = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    run = [sys.executable, "-s", "-P", "-S", __file__, "--kernel", path]
    done = subprocess.run([*count, *run], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "0"})
    found = [int(each.replace(",", "")) for each in re.findall(r"I\s+refs:\s+([\d,]+)", done.stderr)]
    assert len(found) == 3 * len(CASES) + 1, done.stderr
    return [*zip(found[:-1:3], found[1::3], strict=True)]


def run_in_children(path: str) -> None:
    """Make each case in a process, which two others continue: all that is counted but the runs is the same in both."""
    for _, make in CASES.values():
        if in_child():
            run = make(kernel_at(path))
            for times in (FEW, MANY):
                if in_child():
                    for _ in range(times):
                        run()
                    return
            return


def in_child() -> bool:
    """Continue in another process, and in this one when that has ended."""
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
    return not child


def main() -> None:
    """Print the table; with --check, fail where it is above what is expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--kernel", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.kernel:
        run_in_children(arguments.kernel)
        return
    package = importlib.util.find_spec("unperplexed")
    assert package is not None
    kernels = [
        path
        for folder in package.submodule_search_locations or []
        for path in (Path(folder) / "kernels").glob("_kernel*.so")
    ]
    if not kernels:
        sys.exit("instructions: the kernel was not built.")
    worse = []
    print("| case | instructions a value | expected |\n|---|---|---|")
    for (case, (values, _)), (less, more) in zip(CASES.items(), instructions(str(kernels[0])), strict=True):
        found = (more - less) / (MANY - FEW) / values
        print(f"| {case} | {found:.2f} | {EXPECTED[case]:.2f} |")
        if found > EXPECTED[case] * 1.05:
            worse.append(case)
    if arguments.check and worse:
        sys.exit(f"instructions: more than a twentieth above what is expected: {'; '.join(worse)}.")


if __name__ == "__main__":
    main()
