"""Planted faults by the hundred: which of them the tests of the mutated module notice.

    python benchmarks/mutants.py [--mutants 220] [--seed 0] [--out benchmarks/results/mutants.csv]

The faults are those of mutation.py: one operator, comparison or number of a module is another. Here each is put in by
the import of the module, in a process forked from one that has loaded the libraries, and only the tests of the module
run: first the fast ones, and all of them where these notice nothing. So a fault costs seconds. A module whose tests
fail without a fault is refused. A survivor is written with an empty last column; --only runs those of a file again.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from mutation import ROOT, Mutant, mutants

_TALLY = ("tally/test_tally.py", "tally/test_limits.py", "tally/test_serialization.py")
_BINARY = ("calibration/diagnosis/test_binary_diagnosis.py",)
_CLASSES = ("calibration/diagnosis/test_multiclass.py",)
MODULES: dict[str, tuple[str, ...]] = {
    "statistics/means.py": ("statistics/test_means.py", "statistics/test_standard_errors.py", "scores/test_scores.py"),
    "tally/tables.py": _TALLY,
    "tally/counter.py": (
        "tally/test_counter.py",
        "tally/test_tally.py",
        "tally/test_class_sums.py",
        "tally/test_shards.py",
    ),
    "tally/serialization.py": (*_TALLY, "tally/test_shards.py", "tally/test_surprises.py", "tally/test_class_sums.py"),
    "tally/limits.py": _TALLY,
    "scores/rules.py": ("scores/test_scores.py",),
    "calibration/estimators/curves.py": ("calibration/test_estimators.py", "kernels/test_isotonic.py"),
    "calibration/clustered_test.py": ("calibration/test_clustered_test.py", "assessment/test_intervals.py"),
    "theory/coupled.py": ("theory/test_coupled.py",),
    "forecasts/labels.py": ("forecasts", "tally/test_columns.py"),
    "calibration/diagnosis/binary_data.py": _BINARY,
    "calibration/diagnosis/gate.py": _BINARY,
    "calibration/diagnosis/binary_search.py": _BINARY,
    "calibration/diagnosis/class_scores.py": _CLASSES,
    "calibration/diagnosis/class_search.py": _CLASSES,
    "calibration/diagnosis/class_tests.py": _CLASSES,
}
"""Each with its tests."""

LIBRARIES = ("numpy", "scipy.stats", "scipy.optimize", "scipy.special", "mpmath", "pytest")
"""Loaded once: what starts no threads, which a fork would lose."""

LONGEST = 300
"""Seconds."""


class _Fault(MetaPathFinder, Loader):
    """Gives one module with its fault; all others are found as always."""

    def __init__(self, mutant: Mutant) -> None:
        self.path = ROOT / "src/unperplexed" / mutant.module
        self.name = "unperplexed." + mutant.module.removesuffix(".py").replace("/", ".")
        self.source = mutant.source

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_loader(name, self, origin=str(self.path)) if name == self.name else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.path)
        exec(compile(self.source, str(self.path), "exec"), vars(module))


class _First:
    """Keeps the name of the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = f"the import, {report.nodeid}"


def failing(mutant: Mutant | None, tests: Sequence[str], slow: bool = False) -> str:
    """Return the first test that fails with a fault, or nothing."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.setsid()
        first, code = _First(), 1
        try:
            import pytest

            sys.path.insert(0, str(ROOT / "src"))
            if mutant is not None:
                sys.meta_path.insert(0, _Fault(mutant))
            # What pytest would rewrite, as any module called *_test is, it would load without the fault.
            words = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", *([] if slow else ["-m", "not slow"])]
            code = pytest.main([*words, *(f"tests/{each}" for each in tests)], plugins=[first])
        finally:
            os.write(write, (first.name or ("" if code == 0 else f"pytest ended with {code}")).encode())
            os._exit(0)
    os.close(write)
    return _answer(child, read)


def _answer(child: int, read: int) -> str:
    """What a child says, or that it did not end in time."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with os.fdopen(read) as said:
                return said.read() or ("" if status == 0 else f"ended by {os.waitstatus_to_exitcode(status)}")
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read)
    return "a test that did not end"


def noticed(mutant: Mutant, speeds: Sequence[str]) -> tuple[str, str]:
    """Return which tests noticed the fault, "fast" or "slow", and the first of them."""
    for speed in speeds:
        if by := failing(mutant, MODULES[mutant.module], slow=speed == "slow"):
            return speed, by
    return "", ""


def drawn(number: int, seed: int, modules: Sequence[str]) -> Iterator[Mutant]:
    """Yield mutants drawn at random, as many of each module as there are or as are asked for."""
    rng = random.Random(seed)
    for at, module in enumerate(modules):
        found = list(mutants(module))
        yield from rng.sample(found, min(len(found), number // len(modules) + (at < number % len(modules))))


def main() -> None:
    """Plant faults and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=220, help="how many (default: 220)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--modules", nargs="+", choices=MODULES, default=list(MODULES), metavar="MODULE")
    parser.add_argument("--fast", action="store_true", help="leave out the slow tests")
    parser.add_argument("--only", type=Path, metavar="CSV", help="run the survivors of this file again")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/mutants.csv")
    options = parser.parse_args()
    os.chdir(ROOT)
    for name in LIBRARIES:
        importlib.import_module(name)
    for module in options.modules:
        if by := failing(None, MODULES[module]):
            sys.exit(f"{module}: without a fault fails {by}")
    chosen = list(drawn(options.mutants, options.seed, options.modules))
    if options.only:
        with options.only.open(newline="") as file:
            left = {(row["module"], row["line"], row["change"]) for row in csv.DictReader(file) if not row["tests"]}
        chosen = [each for each in chosen if (each.module, str(each.line), each.change) in left]
    count = Counter[str]()
    with options.out.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["module", "line", "change", "tests", "noticed by"])
        for mutant in chosen:
            tests, by = noticed(mutant, ("fast",) if options.fast else ("fast", "slow"))
            count[tests] += 1
            table.writerow([mutant.module, mutant.line, mutant.change, tests, by])
            file.flush()
            print(mutant.module, mutant.line, mutant.change, by or "SURVIVED", sep=" | ", file=sys.stderr, flush=True)
    killed = count["fast"] + count["slow"]
    print(f"{killed} of {len(chosen)} were noticed ({killed / max(1, len(chosen)):.1%}), {count['fast']} by fast tests")


if __name__ == "__main__":
    main()
