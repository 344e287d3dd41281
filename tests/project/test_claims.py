"""The list of claims: each measurement that a page states has a backing on that page, and what is named exists."""

import ast
import re
import runpy
import shlex
from functools import cache
from pathlib import Path

import pytest

from pages import DOCS

ROOT = DOCS.parent
CLAIMS = runpy.run_path(str(DOCS / "claims.py"))
LISTED = CLAIMS["listed"]()
COMMANDS = [line for line in LISTED if line.kind == "command"]

EXACT = (
    "-m papers",
    *(
        f"benchmarks/{name}.py"
        for name in ("accuracy", "agreement", "fuzz", "host_figures", "instructions", "references")
    ),
    *(f"benchmarks/{name}.py" for name in ("next_tokens", "speed", "threads", "year_of_tallies")),
    "unperplexed ",
    "tests/",
    "--cov",
)
"""Commands whose numbers are no estimates from samples, times of one run, or printed with their interval."""


def test_the_list_is_of_these_pages():
    """If not, run python docs/claims.py, and read what it found or name the backing."""
    made = CLAIMS["claims"](LISTED)
    assert [line for line in made if not line.kind] == []
    assert made == LISTED
    assert {line.kind for line in made} == set(CLAIMS["KINDS"])


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: f"{line.page}: {line.claim[:40]}")
def test_an_estimate_has_its_error(line):
    assert line.error or any(each in line.backing for each in EXACT)


@cache
def options(script: str) -> set[str]:
    """Those that a script names, and its other words."""
    tree = ast.parse((ROOT / script).read_text("utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.mark.parametrize("command", sorted({line.backing for line in COMMANDS}))
def test_a_command_can_be_typed(command):
    words = shlex.split(re.sub(r"^\$ |\\ ", "", command))
    scripts = [word for word in words if word.endswith(".py")]
    for script in scripts:
        assert (ROOT / script).is_file(), script
        if "pytest" not in words:
            assert {word for word in words if word.startswith("--")} <= options(script)
    if "unperplexed" in words:
        parser = runpy.run_path(str(DOCS / "cli_tables.py"))["parsers"]()[words[1]]
        assert {word for word in words if word.startswith("--")} <= {*parser._option_string_actions}
    assert (
        scripts
        or words[0] in ("unperplexed", "pytest")
        or (words == ["python", "-m", "papers"] and (ROOT / "papers").is_dir())
    )


def page(folder: Path, text: str):
    path = folder / "page.md"
    path.write_text(text, "utf-8")
    return CLAIMS["Page"](path)


SHOWN = "```text\nAUC   0.792   0.751 to 0.834\nwrong 9.54%\n```\n"


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("The AUC is 0.79 (95% CI 0.751 to 0.834).", "output"),
        ("It is 79%.", "output"),
        ("It is wrong in 9.5%.", "output"),
        ("The AUC is 0.78.", ""),
        ("It is wrong in 10%.", ""),
        ("The slope is 0.8.", ""),
        ("It takes 12 seconds.", ""),
    ],
)
def test_measurements_are_looked_for_in_outputs(tmp_path, sentence, kind):
    made = page(tmp_path, f"# Title 0.5\n\nSee `--floor 0.1` and [this](2.5.md).\n{sentence}\n\n{SHOWN}")
    [(claim, text)] = made.statements.items()
    assert (claim, made.found(text)[0]) == (sentence, kind)


def test_tabs_are_read_as_the_rest_of_the_page(tmp_path):
    tab = f":::{{tab-item}} Shell\n:sync: shell\n\nThe AUC is 0.79.\n\n{SHOWN}:::\n"
    table = ":::{csv-table}\n:header-rows: 1\nAUC 0.1\n:::\n"
    tabs = f"::::{{tab-set}}\n{tab}{tab.replace('AUC', 'slope')}::::\n"
    made = page(tmp_path, f"{tabs}\nIt is 0.792.\n\n{table}\n{tabs}")
    assert [made.found(text)[0] for text in made.statements.values()] == ["output"] * 3


@pytest.mark.parametrize(
    ("kind", "backing", "stands"),
    [
        ("output", "AUC 0.792 0.751 to 0.834", True),
        ("output", "AUC 0.8", False),
        ("command", "python benchmarks/x.py", True),
        ("command", "python benchmarks/y.py", False),
        ("", "", False),
    ],
)
def test_a_backing_must_stand_on_the_page(tmp_path, kind, backing, stands):
    made = page(tmp_path, f"Run `python\nbenchmarks/x.py` for 0.79.\n\n{SHOWN}")
    assert made.backs(CLAIMS["Claim"]("page", "0.79", kind, backing, "")) == stands
    assert not made.backs(CLAIMS["Claim"]("page", "0.79", "command", "python benchmarks/x.py", "standard error 0.1"))
