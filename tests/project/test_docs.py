"""Pages of reference name all there is, and nothing else."""

import argparse
import inspect
import re
import sys
from pathlib import Path

import pytest

import unperplexed
from unperplexed._lib.public_names import listed
from unperplexed.calibration.estimators import ESTIMATORS
from unperplexed.cli.parser import _parser
from unperplexed.comparison.sequential import SequentialSettings
from unperplexed.sources.engines import ENGINES
from unperplexed.sources.readers.formats import formats
from unperplexed.statistics.means import DEFAULT_ORDERS
from unperplexed.tally.counter import jobs_of
from unperplexed.tally.tally import EXACT_LIMIT, FRACTION_BITS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "cli.md").read_text("utf-8")
[COMMANDS] = (action.choices for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
HIDDEN = {"--help", "-h"}


def options(command):
    return {
        option: action
        for action in COMMANDS[command]._actions
        for option in action.option_strings
        if option not in HIDDEN
    }


def table_rows(*heads):
    """Rows of the tables of docs/cli.md with these heads, as lists of cells."""
    for table in re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines())
        if [cell.strip("| ") for cell in head] == list(heads):
            yield from rows


def named(cell):
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", cell))


def commands_of(cell):
    """Commands that a cell of the column "for" lists, some only with an option."""
    listed = set(re.findall(r"`([a-z]+)", cell))
    return COMMANDS.keys() - listed if cell.startswith("all") else listed


def test_every_command_is_there():
    assert {re.match(r"`([a-z]+)", row[0])[1] for row in table_rows("command", "what it does")} == COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_there(command):
    missing = [option for option in options(command) if not re.search(rf"[` ]{option}\b", PAGE)]
    assert not missing


def test_no_other_option_is_there():
    known = {option for command in COMMANDS for option in options(command)} | {"--version", "--help", "--completion"}
    rows = [*table_rows("option", "meaning"), *table_rows("option", "for", "meaning")]
    assert len(rows) > 40
    assert {option for row in rows for option in named(row[0])} <= known
    ours = "\n".join(line for line in PAGE.splitlines() if not line.startswith("python "))
    assert named(ours) - {"-c", "-m"} <= known


def test_options_are_of_the_commands_that_the_page_says():
    rows = list(table_rows("option", "for", "meaning"))
    assert len(rows) > 20
    for option, commands, _ in rows:
        for name in named(option):
            assert {c for c in COMMANDS if name in options(c)} == commands_of(commands), name


STANDS_FOR = {
    "--jobs": jobs_of(None),
    "--orders": f"{DEFAULT_ORDERS.min():g} to {DEFAULT_ORDERS.max():g}",
    "--score": SequentialSettings.score,
    "--level": SequentialSettings.level,
    "--exact-limit": EXACT_LIMIT,
    "--fraction-bits": FRACTION_BITS,
}
"""What the parser has None for, since what knows it would load NumPy."""

SAID = (
    r"the default is (`[\w-]+`|−?[\d.,]*\d(?: to −?\d+)?|a comma)",
    r"(`[\w-]+`) \(default\)",
    r"\(default ([^\s;)]+)",
    r"(\d+) by default",
)


def rows_of_options():
    """Of each row in the tables of options: the names in it, and its text."""
    known = {option for command in COMMANDS for option in options(command)}
    for cells in [*table_rows("option", "meaning"), *table_rows("option", "for", "meaning")]:
        yield named(cells[0]) & known, cells


def test_choices_are_those_that_the_page_says():
    """In one of the rows of an option, which may mean something else in another table."""
    rows = {}
    for names, cells in rows_of_options():
        for name in names:
            rows.setdefault(name, []).append(cells)
    for name, found in rows.items():
        choices = {choice for c in COMMANDS if name in options(c) for choice in options(c)[name].choices or ()}
        for choice in choices - {*ENGINES}:
            assert any(f"`{choice}`" in " ".join(cells) or f" {choice}" in cells[0] for cells in found), (name, choice)


def test_engines_are_on_their_page():
    page = (DOCS / "engines.md").read_text("utf-8")
    assert all(f"`{name}`" in page or f"--engine {name}" in page for name in ENGINES)


def test_formats_are_in_the_help_and_on_the_page():
    helps = [options(command)["--format"].help for command in COMMANDS if "--format" in options(command)]
    [page] = [" ".join(cells) for names, cells in rows_of_options() if "--format" in names]
    assert len(helps) > 1
    for name in formats():
        assert all(re.search(rf"\b{name}\b", text) for text in helps), name
        assert f"`{name}`" in page, name


def test_estimators_are_in_the_help_and_on_their_page():
    page = re.findall(r"^\| `([a-z-]+)`[^|]*\| [^|0-9]+", (DOCS / "estimators.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(page) == sorted(ESTIMATORS)
    for command in ("assess", "demo"):
        action = options(command)["--measured"]
        default, _, others = (action.help % vars(action)).partition("(default: ")[2].partition("); others: ")
        assert [default, *others.split(", ")] == [*ESTIMATORS]


def test_defaults_are_those_that_the_page_says():
    """All of them, and no others."""
    stated = {}
    for names, cells in rows_of_options():
        found = [text.strip("`").replace("a comma", ",") for said in SAID for text in re.findall(said, cells[-1])]
        assert cells[-1].count("default") == len(found), cells
        for name in names if found else ():
            stated.setdefault(name, set()).update(
                text if text == "," else text.replace(",", "").replace("−", "-") for text in found
            )
    meant = {}
    for command in COMMANDS:
        for name, action in options(command).items():
            value = STANDS_FOR.get(name) if action.default is None else action.default
            if value is not None and value is not False and value != []:
                meant.setdefault(name, set()).add(f"{value:g}" if isinstance(value, float) else str(value))
    assert len(meant) > 15
    assert stated == meant


def documented():
    """Yield the full name of each object that a page documents."""
    for path in DOCS.glob("*.md"):
        module = ""
        for kind, name in re.findall(r"^\.\. ([\w:]+):: ([\w.]+)", path.read_text("utf-8"), re.MULTILINE):
            if kind == "currentmodule":
                module = name
            elif re.fullmatch(r"auto(class|function|data|exception|method)|py:data", kind):
                yield name if name.startswith("unperplexed.") else f"{module}.{name}"


def test_every_public_name_is_in_the_reference_under_its_home():
    subjects = [name for name in unperplexed.__all__ if inspect.ismodule(getattr(unperplexed, name))]
    public = {f"unperplexed.{name}" for name in listed("unperplexed") if name not in {*subjects, "__version__"}}
    for name in {*subjects} - {"integrations"}:
        home = f"unperplexed.{name}"
        public |= {
            f"{home}.{each}" for each in listed(home) if not inspect.ismodule(getattr(sys.modules[home], each, 0))
        }
    assert public <= {*documented()}
