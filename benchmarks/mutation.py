"""How many planted faults the tests notice.

    python benchmarks/mutation.py [--mutants 60] [--seed 0] [--modules MODULE ...] [--slow]
                                  [--own] [--out benchmarks/results/mutation.csv] [--resume]

A mutant is a module in which one operator, comparison or number is another. Mutants are drawn at random, as many of
each module. The import of the module puts a mutant in, in a process forked from one that has loaded the libraries. The
fast tests of the module run first, one file after the other, then the fast tests of what uses it, until one fails. So
most faults cost a second or two. Nothing is planted where a module's own tests fail without a fault. With `--own` a
fault that only the tests of what uses the module would notice counts as not noticed.

Sizes of work are not changed: what is assigned to a name that ends in ``_AT_ONCE``, and how something compares with it.
They say how much is done in one go, or from where another way to the same result is the faster one.

Some mutants are the same function: `SAME` lists those that are known, and why. They are drawn, and count among those
that nobody notices. `--resume` goes on where the file of an earlier run ends, or repeats what survived in it.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib
import os
import random
import resource
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
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]

_TALLY = ("tally/test_tally.py", "tally/test_limits.py", "tally/test_serialization.py")
_BINARY = "calibration/diagnosis/test_binary_diagnosis.py"
_CLASSES = ("tally/test_class_sums.py", "calibration/diagnosis/test_multiclass.py")
_DIAGNOSED = ("calibration/diagnosis", "assessment")
_CURVES = ("kernels/test_isotonic.py", "calibration/test_estimators.py")
_OF_CURVES = ("calibration", "recalibration", "assessment")


def _of(name: str) -> str:
    return f"calibration/diagnosis/test_{name}.py"


MODULES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "statistics/means.py": (("statistics/test_means.py", "statistics", "scores"), ("tally", "assessment", "theory")),
    "scores/rules.py": (("scores",), ("tally", "integrations/test_torchmetrics.py")),
    "tally/tables.py": (_TALLY, ("tally", "calibration", "assessment")),
    "kernels/curves.py": (_CURVES, _OF_CURVES),
    "theory/coupled.py": (("theory/test_coupled.py",), ("theory", "scores")),
    "forecasts/labels.py": (
        ("forecasts/test_labels.py", "forecasts", "tally/test_columns.py"),
        ("tally", "sources/test_files.py", "assessment"),
    ),
    "calibration/clustered_test.py": (("calibration/test_clustered_test.py",), ("calibration", "assessment")),
    "tally/counter.py": (
        (*_TALLY, "tally/test_columns.py", "tally/test_counter.py", "tally/test_class_sums.py", "tally/test_shards.py"),
        ("tally", "calibration", "assessment"),
    ),
    "tally/serialization.py": (
        (*reversed(_TALLY), "tally/test_shards.py", "tally/test_surprises.py"),
        ("tally", "sources"),
    ),
    "calibration/diagnosis/binary_data.py": ((_of("binary_data"), _BINARY), _DIAGNOSED),
    "calibration/diagnosis/gate.py": ((_of("gate"), _BINARY), _DIAGNOSED),
    "calibration/diagnosis/choice.py": ((_of("binary_search"), _of("class_search")), _DIAGNOSED),
    "calibration/diagnosis/binary.py": ((_of("binary_search"), _BINARY), _DIAGNOSED),
    "calibration/diagnosis/class_scores.py": ((_of("class_scores"), _of("class_search"), *_CLASSES), _DIAGNOSED),
    "calibration/diagnosis/class_search.py": ((_of("class_search"), *_CLASSES), _DIAGNOSED),
    "calibration/diagnosis/class_tests.py": ((_of("class_tests"), *_CLASSES), _DIAGNOSED),
}
"""Each with its own tests, and those of what uses it."""

OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.USub: ast.UAdd, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
"""What becomes what."""

SAME = {
    (
        "tally/tables.py",
        "np.minimum(p, 1 - p) > 0.001  ->  np.minimum(p, 1 - p) >= 0.001",
        "",
    ): "rounded to 12 decimals, 0.001 is itself",
    ("statistics/means.py", "np.abs(r) >= 1e-06  ->  np.abs(r) > 1e-06", ""): "at the threshold both ways are exact",
    ("statistics/means.py", "0.01  ->  1.01", "_NEAR_ZERO, _WIDE"): "the more exact of two ways is taken more often",
    ("statistics/means.py", "100.0  ->  101.0", "_NEAR_ZERO, _WIDE"): "the more exact of two ways is taken less often",
    (
        "statistics/means.py",
        "10000000000.0  ->  10000000001.0",
        "",
    ): "there Student's t differs from the normal by 1e-10 of itself",
    (
        "statistics/means.py",
        "np.abs(orders) < NO_ORDER  ->  np.abs(orders) <= NO_ORDER",
        "",
    ): "of order 1e-20 and 0 alike",
    ("tally/counter.py", "0  ->  1", "add(0, part)"): "the number of the only thread",
    ("calibration/diagnosis/class_scores.py", "2  ->  3", "size /= 2"): "how fast a step shrinks, not where steps end",
    ("kernels/curves.py", "loss - new  ->  loss + new", ""): "steps that gain nothing go on, and change nothing",
    ("kernels/curves.py", "1e-13 * loss  ->  1e-13 / loss", ""): "how little a step may gain or lose: a tolerance",
    ("kernels/curves.py", "size.min() < 1e-12  ->  size.min() <= 1e-12", ""): "sizes are powers of 1/2",
    ("kernels/curves.py", "change <= _SAFE  ->  change < _SAFE", ""): "at the threshold both ways lead to the maximum",
    ("kernels/curves.py", "change < _SAME  ->  change <= _SAME", ""): "at the threshold both are the maximum",
    ("kernels/curves.py", "100  ->  101", "range(100)"): "more steps than any curve needs",
    ("kernels/curves.py", "slope < -spread  ->  slope <= -spread", ""): "equal where both are 0, and all lines level",
    ("kernels/curves.py", "1  ->  2", "np.clip(isotonic_means(found, total), 0, 1)"): "it cuts rounding alone",
    (
        "kernels/curves.py",
        "frequency[1:] > frequency[:-1] * (1 + 1e-14)  ->  frequency[1:] >= frequency[:-1] * (1 + 1e-14)",
        "",
    ): "a tolerance; equal frequencies are below it either way",
    ("theory/coupled.py", "np.abs(z) < _LINEAR  ->  np.abs(z) <= _LINEAR", ""): "at the threshold both ways are exact",
    ("kernels/curves.py", "2.0  ->  3.0", "2.0 * sample"): "frequencies are at most 1",
    ("calibration/clustered_test.py", "spread < rounding  ->  spread <= rounding", ""): "equal where both are 0 alone",
    (
        "calibration/clustered_test.py",
        "np.abs(mean) < rounding  ->  np.abs(mean) <= rounding",
        "",
    ): "equal where both are 0 alone, and then the mean stays 0",
    (
        "calibration/diagnosis/binary_data.py",
        "1  ->  2",
        "np.full(n, -1)",
    ): "any negative number says that there is none",
    (
        "calibration/diagnosis/class_tests.py",
        "len(scale) > len(sums)  ->  len(scale) >= len(sums)",
        "",
    ): "the squares of both products have the same sum",
    (
        "calibration/diagnosis/class_search.py",
        "shape[0, 0] > 1e-06  ->  shape[0, 0] >= 1e-06",
        "",
    ): "a bound on what is next to nothing",
    (
        "calibration/diagnosis/binary.py",
        "sides >= _BOTH_SIDES * v.sum()  ->  sides > _BOTH_SIDES * v.sum()",
        "",
    ): "equal sums of rounded numbers; where both are 0, no error is apart",
    (
        "calibration/diagnosis/class_search.py",
        "1e-09 * float(np.trace(known)) / len(known)  ->  1e-09 * float(np.trace(known)) * len(known)",
        "",
    ): "a ridge far below the shares of 9e-4 that are told apart",
    (
        "kernels/curves.py",
        "new > loss + slack  ->  new >= loss + slack",
        "",
    ): "a tolerance; where both are 0 no step changes anything",
    (
        "calibration/diagnosis/class_tests.py",
        "abs(s.squared_weight - s.weight) <= 1e-09 * s.weight  ->  abs(s.squared_weight - s.weight) < 1e-09 * s.weight",
        "",
    ): "equal weights differ by less",
}
"""Mutants that are the same function, by module ("" for any), change and a part of the line; and why."""


class Mutant(NamedTuple):
    """One fault: where it is, the text of the module with it, and why it is none where that is known."""

    module: str
    line: int
    change: str
    source: str
    same: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it in a file."""
        return self.module, str(self.line), self.change


def mutants(module: str) -> Iterator[Mutant]:
    """Yield each mutant of a module; annotations and texts stay."""
    source = (ROOT / "src/unperplexed" / module).read_text()
    for at in range(len(list(_places(ast.parse(source))))):
        tree = ast.parse(source)
        node = list(_places(tree))[at]
        before = ast.unparse(node)
        _change(node)
        if (after := ast.unparse(node)) == before:  # 1 more than 1e300
            continue
        change = f"{before}  ->  {after}"
        line = source.splitlines()[node.lineno - 1]
        same = [why for (of, what, part), why in SAME.items() if of in ("", module) and what == change and part in line]
        yield Mutant(module, node.lineno, change, ast.unparse(tree), "".join(same[:1]))


def _places(tree: ast.AST) -> Iterator[ast.expr]:
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or (isinstance(child, ast.Assign) and _of_work(child.targets)):
                continue
            yield from _places(child)
            if isinstance(child, ast.Compare) and _of_work([child.left, *child.comparators]):
                continue
            if (isinstance(child, ast.BinOp | ast.BoolOp | ast.UnaryOp) and type(child.op) in OPERATORS) or (
                isinstance(child, ast.Compare) and type(child.ops[0]) in OPERATORS
            ) or (isinstance(child, ast.Constant) and type(child.value) in (int, float)):  # fmt: skip
                yield child


def _of_work(nodes: Sequence[ast.expr]) -> bool:
    """Whether a size of work is among them."""
    each = [part for node in nodes for part in (node.elts if isinstance(node, ast.Tuple) else [node])]
    return any(isinstance(node, ast.Name) and node.id.endswith("_AT_ONCE") for node in each)


def _change(node: ast.expr) -> None:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        node.value += 1
    elif isinstance(node, ast.Compare):
        node.ops[0] = OPERATORS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.UnaryOp):
        node.op = OPERATORS[type(node.op)]()


LIBRARIES = ("numpy", "scipy.stats", "scipy.optimize", "scipy.special", "mpmath", "hypothesis", "pytest")
"""Loaded once: what starts no threads, which a fork would lose."""

LONGEST = 300
"""Processor seconds, and a tenth of the seconds on the clock: other programs may be running."""


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
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
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
    end = time.monotonic() + 10 * LONGEST
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


def noticed(mutant: Mutant, slow: bool, alone: bool) -> tuple[str, str]:
    """Return which tests noticed the fault, and the first of them."""
    if mutant.same:
        return "", f"the same function: {mutant.same}"
    own, users = MODULES[mutant.module]
    for name, tests in (*(("own", [path]) for path in own), *([] if alone else [("users'", users)])):
        if by := failing(mutant, tests):
            return name, by
    if slow and (by := failing(mutant, own, slow=True)):
        return "slow", by
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
    parser.add_argument("--mutants", type=int, default=60, help="how many (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--modules", nargs="+", choices=MODULES, default=list(MODULES), metavar="MODULE")
    parser.add_argument("--own", action="store_true", help="run no tests but the module's own")
    parser.add_argument("--slow", action="store_true", help="then run a module's slow tests too")
    parser.add_argument("--resume", action="store_true", help="run only what the file does not have as noticed")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/mutation.csv")
    options = parser.parse_args()
    out = options.out.resolve()
    os.chdir(ROOT)
    for name in LIBRARIES:
        importlib.import_module(name)
    for path in dict.fromkeys(path for module in options.modules for path in MODULES[module][0]):
        if by := failing(None, [path]):
            sys.exit(f"without a fault fails {by}")
    before = {}
    if options.resume and out.exists():
        with out.open(newline="") as file:
            rows = list(csv.reader(file))[1:]
            before = {(module, line, change): (tests, by) for module, line, change, tests, by in rows if tests}
    count, number = Counter[str](), 0
    with out.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["module", "line", "change", "tests", "noticed by"])
        for mutant in drawn(options.mutants, options.seed, options.modules):
            tests, by = before.get(mutant.key) or noticed(mutant, options.slow, options.own)
            count[tests or ("same" if by else "survived")] += 1
            number += 1
            table.writerow([mutant.module, mutant.line, mutant.change, tests, by])
            file.flush()
            print(mutant.module, mutant.line, mutant.change, by or "SURVIVED", sep=" | ", file=sys.stderr, flush=True)
    killed = number - count["survived"] - count["same"]
    print(
        f"seed {options.seed}: {killed} of {number} were noticed ({killed / max(number, 1):.1%}), {count['own']} by the"
        f" module's own tests; {count['same']} of the others are the same function"
        f" ({killed / max(number - count['same'], 1):.1%} without these)"
    )


if __name__ == "__main__":
    main()
