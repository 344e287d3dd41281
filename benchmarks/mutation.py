"""How many planted faults the fast tests notice.

    python benchmarks/mutation.py [--mutants 60] [--seed 0] [--out benchmarks/results/mutation.csv]

A mutant is a copy of the project in which one operator, comparison or number of a module is another. Mutants are drawn
at random, as many from each module. The fast tests that reach the module run, those of the module first, until one
fails. Another mutant is drawn for one that is the same function (`SAME`). One that survives is a threshold between
two ways to the same figures, or a test that is missing. The last whole run is results/mutation.csv; six that it drew
are listed in `SAME` since.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MODULES = {
    "statistics/means.py": ("statistics/test_means.py", "statistics", "assessment"),
    "scores/rules.py": ("scores", "tally", "integrations/test_torchmetrics.py"),
    "tally/tables.py": ("tally/test_tally.py", "tally", "assessment"),
    "calibration/estimators/curves.py": ("calibration/test_estimators.py", "calibration", "assessment"),
    "theory/coupled.py": ("theory/test_coupled.py", "theory", "scores"),
    "forecasts/labels.py": ("forecasts", "sources/test_files.py", "tally"),
    "calibration/clustered_test.py": ("calibration/test_clustered_test.py", "calibration", "assessment"),
}
"""Each with the tests that reach it, in the order in which they run."""

OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.USub: ast.UAdd, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
"""What becomes what."""

SAME = {
    ("tally/tables.py", "v < 0.5  ->  v <= 0.5", ""): "1/2 is its own complement, which the next condition leaves out",
    ("tally/tables.py", "1  ->  2", "prepend=-1"): "groups are numbered from 0, so that the first begins one",
    ("calibration/estimators/curves.py", "1.0  ->  2.0", "weight, 1.0"): "these weights are divided by their sum",
    ("calibration/estimators/curves.py", "2.0  ->  3.0", "2.0 * sample"): "frequencies are at most 1",
    (
        "calibration/estimators/curves.py",
        "gained <= 1e-13 * np.abs(loss)  ->  gained < 1e-13 * np.abs(loss)",
        "",
    ): "where both are 0, further steps change nothing",
    ("calibration/estimators/curves.py", "1  ->  2", "prepend=-1"): "blocks are numbered from 0",
    ("forecasts/labels.py", "1  ->  2", "_CLOSE = 1 << 17"): "how wide a range has a table, not what is looked up",
    ("forecasts/labels.py", "17  ->  18", "_CLOSE = 1 << 17"): "as before",
    ("forecasts/labels.py", "1  ->  2", "CHUNK = 1 << 20"): "how many outcomes are looked at in one go",
    ("forecasts/labels.py", "20  ->  21", "CHUNK = 1 << 20"): "as before",
    ("tally/tables.py", "-1  ->  +1", "prepend=-1"): "as before",
    ("calibration/estimators/curves.py", "-1  ->  +1", "prepend=-1"): "as before",
    ("calibration/clustered_test.py", "-1  ->  +1", "prepend=-1"): "as before",
    ("statistics/means.py", "0.01  ->  1.01", "_NEAR_ZERO, _WIDE"): "where the more exact of two ways is taken too",
    ("statistics/means.py", "100.0  ->  101.0", "_NEAR_ZERO, _WIDE"): "as before, less often",
    ("statistics/means.py", "1  ->  2", "_MATRIX = 1 << 15"): "how much is looked at in one go",
    ("statistics/means.py", "15  ->  16", "_MATRIX = 1 << 15"): "as before",
    ("calibration/clustered_test.py", "spread < rounding  ->  spread <= rounding", ""): "equal where both are 0 alone",
    ("calibration/clustered_test.py", "1000  ->  1001", "_AT_ONCE"): "how many samples are drawn in one go",
    ("calibration/clustered_test.py", "1  ->  2", "prepend=-1"): "neighbourhoods are numbered from 0",
    ("calibration/clustered_test.py", "1  ->  2", "ends.reshape(-1)"): "any negative length is the one that is left",
}
"""Mutants that are the same function, by module, change and a part of the line; and why."""


class Mutant(NamedTuple):
    """One fault: where it is, and the text of the module with it."""

    module: str
    line: int
    change: str
    source: str


def mutants(module: str) -> Iterator[Mutant]:
    """Yield each mutant of a module that is another function; annotations and texts stay."""
    source = (ROOT / "src/unperplexed" / module).read_text()
    for at in range(len(list(_places(ast.parse(source))))):
        tree = ast.parse(source)
        node = list(_places(tree))[at]
        before = ast.unparse(node)
        _change(node)
        change = f"{before}  ->  {ast.unparse(node)}"
        line = source.splitlines()[node.lineno - 1]
        if not any(each[:2] == (module, change) and each[2] in line for each in SAME):
            yield Mutant(module, node.lineno, change, ast.unparse(tree))


def _places(tree: ast.AST) -> Iterator[ast.expr]:
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            yield from _places(child)
            if (isinstance(child, ast.BinOp | ast.BoolOp | ast.UnaryOp) and type(child.op) in OPERATORS) or (
                isinstance(child, ast.Compare) and type(child.ops[0]) in OPERATORS
            ) or (isinstance(child, ast.Constant) and type(child.value) in (int, float)):  # fmt: skip
                yield child


def _change(node: ast.expr) -> None:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        node.value += 1
    elif isinstance(node, ast.Compare):
        node.ops[0] = OPERATORS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.UnaryOp):
        node.op = OPERATORS[type(node.op)]()


def noticed(mutant: Mutant, copy: Path) -> str:
    """Return what noticed the fault: a test, or nothing."""
    path = copy / "src/unperplexed" / mutant.module
    original = path.read_text()
    path.write_text(mutant.source)
    try:
        for tests in MODULES[mutant.module]:
            pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
            environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
            try:
                done = subprocess.run(
                    [*pytest, f"tests/{tests}"], cwd=copy, env=environment, capture_output=True, text=True,
                    timeout=900, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return "a test that did not end"
            if done.returncode:
                failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return failed[0].split(" - ")[0] if failed else "the import"
        return ""
    finally:
        path.write_text(original)


def main(arguments: list[str] | None = None) -> None:
    """Plant faults and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=60, help="how many (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/mutation.csv")
    options = parser.parse_args(arguments)
    rng, drawn = random.Random(options.seed), []
    for at, module in enumerate(MODULES):
        each = options.mutants // len(MODULES) + (at < options.mutants % len(MODULES))
        drawn += rng.sample(list(mutants(module)), each)
    with tempfile.TemporaryDirectory() as folder, options.out.open("w", newline="") as file:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"))
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["module", "line", "change", "noticed by"])
        survived = 0
        for mutant in drawn:
            by = noticed(mutant, copy)
            survived += not by
            table.writerow([mutant.module, mutant.line, mutant.change, by])
            file.flush()
            print(mutant.module, mutant.line, mutant.change, by or "SURVIVED", sep=" | ", file=sys.stderr, flush=True)
    print(f"{len(drawn) - survived} of {len(drawn)} were noticed")


if __name__ == "__main__":
    main()
