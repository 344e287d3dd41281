"""How many planted faults the tests notice.

    pip install coverage
    python -P benchmarks/mutation.py [--mutants 240] [--seed 0] [--folders FOLDER ...] [--own]
                                  [--out benchmarks/results/mutation.csv] [--resume]

A mutant is a module in which one operator, comparison or number is another. Mutants are drawn at random from all
folders of the package, in proportion to their lines. First the fast suite runs once and tells which tests reach which
line (ten minutes; `--reach FILE` keeps it). The import of a module then puts a mutant in, in a process forked from one
that has loaded the libraries, and the tests that reach its line run until one fails: those of the module's own folder
first, then those of what uses it. With `--own` a fault that only the latter would notice counts as not noticed. A test
that fails without the fault too is named as such.

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
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]

SOURCE = ROOT / "src/unperplexed"
OWN = {
    "describe": ("report", "assessment", "comparison", "monitoring", "recalibration", "language_models", "cli"),
    "results": ("project",),
}
"""Folders of tests of what has none of its own name; of other modules it is that of the same name."""

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
    ("assessment/intervals.py", "error > _ROUNDING  ->  error >= _ROUNDING", ""): "a tolerance",
    (
        "describe/assessment_words.py",
        "found.highest - found.lowest < _ONE_VALUE  ->  found.highest - found.lowest <= _ONE_VALUE",
        "",
    ): "a tolerance",
    (
        "comparison/sequential.py",
        "np.maximum(log_first, log_second) > log_limit  ->  np.maximum(log_first, log_second) >= log_limit",
        "",
    ): "evidence equals the limit by chance alone",
    (
        "maps/classes.py",
        "np.abs(s) < self.turn()  ->  np.abs(s) <= self.turn()",
        "",
    ): "one of a few log-odds that are looked at is the turn by chance alone",
    (
        "pairing/distribution_skill.py",
        "self.value.value > 0  ->  self.value.value >= 0",
        "",
    ): "a skill of 0 is not significant",
    ("calibration/diagnosis/pit_search.py", "1  ->  2", "reshape(patterns, -1)"): "any negative size is what is left",
    (
        "forecasts/distributions/distribution.py",
        "4  ->  5",
        ", high * 4, ",
    ): "how fast a bracket grows; halving ends alike",
    ("statistics/means.py", "1.0  ->  2.0", "np.where(some, b, 1.0) / 3"): "what it gives is not taken",
    (
        "integrations/next_tokens.py",
        "110.0  ->  111.0",
        "_LOWEST",
    ): "beside 1 exp of either is 0, in double precision too",
    ("integrations/next_tokens.py", "-1  ->  +1", "softmax(x, -1)"): "of a matrix the last axis is 1",
    ("monitoring/watch_predictions.py", "16  ->  17", "_START"): "where a search for the first of all begins",
    ("monitoring/monitored.py", "0  ->  1", "earliest: int = 0"): "it is always given",
    ("sources/readers/arrow.py", "0  ->  1", "file.seek(max(0,"): "a stream is longer than the mark at its end",
    ("report/matplotlib_draw.py", "4  ->  5", "zorder=4"): "above lines, and below texts, which are drawn later",
    (
        "comparison/sequential.py",
        "log_first[decided[0]] > log_limit  ->  log_first[decided[0]] >= log_limit",
        "",
    ): "evidence equals the limit by chance alone",
    ("_lib/progress.py", "1  ->  2", "max(1, threads - 1)"): "how many threads wait for the same work",
    ("_lib/progress.py", "threads - 1  ->  threads + 1", ""): "how many threads wait for the same work",
    ("_lib/json_files.py", "1  ->  2", "LARGEST_FILE + 1"): "bytes read of a file that is too large either way",
}
"""Mutants that are the same function, by module ("" for any), change and a part of the line; and why."""


class Mutant(NamedTuple):
    """One fault: where it is, its statement, the text of the module with it, and why it is none if known."""

    module: str
    line: int
    lines: range
    change: str
    source: str
    same: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it in a file."""
        return self.module, str(self.line), self.change


def _mutant(module: str, source: str, at: int) -> Iterator[Mutant]:
    """Yield the mutant at one of a module's places, if it is another text; annotations and texts stay."""
    tree = ast.parse(source)
    node = list(_places(tree))[at]
    before = ast.unparse(node)
    lines = _statement(tree, node)
    _change(node)
    if (after := ast.unparse(node)) != before:  # 1 more than 1e300 is the same
        change = f"{before}  ->  {after}"
        line = source.splitlines()[node.lineno - 1]
        same = [why for (of, what, part), why in SAME.items() if of in ("", module) and what == change and part in line]
        yield Mutant(module, node.lineno, lines, change, ast.unparse(tree), "".join(same[:1]))


def _statement(tree: ast.AST, node: ast.expr) -> range:
    """Lines of the smallest statement that has a node; of one with a body, those of the node."""
    around = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and _has(each, node)]
    if not around or hasattr(around[-1], "body"):
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return range(around[-1].lineno, (around[-1].end_lineno or around[-1].lineno) + 1)


def _has(statement: ast.stmt, node: ast.expr) -> bool:
    return statement.lineno <= node.lineno and (node.end_lineno or 0) <= (statement.end_lineno or 0)


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

_AT_A_TIME = 200
"""Tests that one process runs: most faults need few."""

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


def failing(mutant: Mutant | None, tests: Sequence[str]) -> str:
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
            words = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-m", "not slow"]
            code = pytest.main([*words, *tests], plugins=[first])
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


class _Contexts:
    """Tells coverage which test is running; cases of one function count as one test."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid.partition("[")[0])


def measure(path: Path) -> None:
    """Run the fast suite once, in a process of its own, and keep which tests reach which line."""
    child = os.fork()
    if not child:
        import pytest

        import coverage

        sys.path.insert(0, str(ROOT / "src"))
        measured = coverage.Coverage(data_file=str(path), source=[str(SOURCE)], config_file=False)
        measured.start()
        words = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-m", "not slow", "tests"]
        pytest.main(words, plugins=[_Contexts(measured)])
        measured.stop()
        measured.save()
        os._exit(0)
    os.waitpid(child, 0)


class Reach:
    """Which tests reach which line of a module."""

    def __init__(self, path: Path) -> None:
        import coverage

        self.data = coverage.CoverageData(str(path))
        self.data.read()
        self.wide = Counter[str]()
        """Lines that each test reaches, in all modules."""
        for file in self.data.measured_files():
            for tests in self.data.contexts_by_lineno(file).values():
                self.wide.update(filter(None, tests))

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests that reach a mutant's statement, those that reach least in all first."""
        reached = self.data.contexts_by_lineno(str(SOURCE / mutant.module))
        here = {test for line in mutant.lines for test in reached.get(line, ()) if test}
        here = here or {test for tests in reached.values() for test in tests if test}
        return sorted(here, key=lambda test: (self.wide[test], test))


def own(mutant: Mutant, tests: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part tests into those of the module's own folder, those of its own file first, and all others."""
    path = Path(mutant.module)
    folder = path.parts[0] if len(path.parts) > 1 else "project"
    mine = tuple(f"tests/{each}/" for each in OWN.get(folder, (folder,)))
    first = [test for test in tests if f"test_{path.stem}.py" in test]
    rest = [test for test in tests if test not in first]
    inside = [test for test in [*first, *rest] if test.startswith(mine)]
    return inside, [test for test in tests if not test.startswith(mine)]


def noticed(mutant: Mutant, reach: Reach, alone: bool) -> tuple[str, str]:
    """Return which tests noticed the fault, and the first of them."""
    if mutant.same:
        return "", f"the same function: {mutant.same}"
    mine, users = own(mutant, reach.tests(mutant))
    for name, tests in (("own", mine), *([] if alone else [("users'", users)])):
        for at in range(0, len(tests), _AT_A_TIME):
            some = tests[at : at + _AT_A_TIME]
            if by := failing(mutant, some):
                return ("broken before" if "::" in by and failing(None, [by]) else name), by
    return "", ""


def drawn(number: int, seed: int, folders: Sequence[str]) -> Iterator[Mutant]:
    """Yield mutants drawn at random from folders, as many of each as its share of all lines."""
    rng = random.Random(seed)
    files = {folder: sorted((SOURCE / folder).rglob("*.py")) for folder in folders}
    lines = {folder: sum(len(path.read_text().splitlines()) for path in paths) for folder, paths in files.items()}
    ends, total = 0, sum(lines.values())
    for folder, paths in files.items():
        begin, ends = ends, ends + lines[folder]
        wanted = round(number * ends / total) - round(number * begin / total)
        places = [
            (path.relative_to(SOURCE).as_posix(), at)
            for path in paths
            for at in range(len(list(_places(ast.parse(path.read_text())))))
        ]
        rng.shuffle(places)
        some = (each for module, at in places for each in _mutant(module, (SOURCE / module).read_text(), at))
        yield from islice(some, wanted)


def main() -> None:
    """Plant faults and write the table."""
    folders = sorted(path.name for path in SOURCE.iterdir() if any(path.glob("*.py")))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=240, help="how many (default: 240)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--folders", nargs="+", choices=folders, default=folders, metavar="FOLDER")
    parser.add_argument("--own", action="store_true", help="run no tests but those of the module's folder")
    parser.add_argument("--reach", type=Path, help="file of the tests that reach each line, made if it is not there")
    parser.add_argument("--resume", action="store_true", help="run only what the file does not have as noticed")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/mutation.csv")
    options = parser.parse_args()
    out = options.out.resolve()
    reach = (options.reach or Path(tempfile.mkdtemp()) / "reach").resolve()
    os.chdir(ROOT)
    for name in LIBRARIES:
        importlib.import_module(name)
    if not reach.exists():
        measure(reach)
    before = {}
    if options.resume and out.exists():
        with out.open(newline="") as file:
            rows = list(csv.reader(file))[1:]
            before = {(module, line, change): (tests, by) for module, line, change, tests, by in rows if tests}
    _plant(list(drawn(options.mutants, options.seed, options.folders)), Reach(reach), before, out, options.own)


def _plant(faults: list[Mutant], reach: Reach, before: dict[Any, tuple[str, str]], out: Path, alone: bool) -> None:
    """Run the tests of each fault, write what notices it, and print the shares."""
    count = dict[str, Counter[str]]()
    with out.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["module", "line", "change", "tests", "noticed by"])
        for mutant in faults:
            tests, by = before.get(mutant.key) or noticed(mutant, reach, alone)
            kind = tests or ("same" if by else "survived")
            count.setdefault(mutant.module.split("/")[0], Counter())[kind] += 1
            table.writerow([mutant.module, mutant.line, mutant.change, tests, by])
            file.flush()
            print(mutant.module, mutant.line, mutant.change, by or "SURVIVED", sep=" | ", file=sys.stderr, flush=True)
    for folder, kinds in (*count.items(), ("all", sum(count.values(), Counter[str]()))):
        number, killed = kinds.total(), kinds.total() - kinds["survived"] - kinds["same"]
        print(
            f"{folder}: {killed} of {number} were noticed ({killed / number:.1%}), {kinds['own']} by the folder's own"
            f" tests; {kinds['same']} of the others are the same function"
        )


if __name__ == "__main__":
    main()
