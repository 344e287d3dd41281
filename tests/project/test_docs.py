"""Pages of reference name all there is, and nothing else."""

import csv
import inspect
import re
import runpy
import sys
from importlib.metadata import PackageNotFoundError

import pytest

import unperplexed
from pages import DOCS, pages, text_of
from unperplexed import assess, results
from unperplexed._lib.public_names import listed
from unperplexed.calibration.estimators import ESTIMATORS
from unperplexed.comparison.sequential import SequentialSettings
from unperplexed.sources.engines import ENGINES
from unperplexed.sources.readers.formats import formats
from unperplexed.tally.counter import jobs_of
from unperplexed.tally.tally import EXACT_LIMIT, FRACTION_BITS

TABLES = runpy.run_path(str(DOCS / "cli_tables.py"))
PAGE = TABLES["with_tables"](text_of("cli"))


def options(command):
    return {
        option: action
        for action in TABLES["parsers"]()[command]._actions
        for option in action.option_strings
        if option not in {"--help", "-h", "--help-all"}
    }


def rows_of(option):
    """Rows of the tables of options that begin with this one."""
    return [line for line in PAGE.splitlines() if re.match(rf"\| (`[^`]*`, )?`{option}[ `]", line)]


def test_the_page_has_places_for_its_tables():
    assert text_of("cli") != PAGE
    assert "<!-- table" not in PAGE


@pytest.mark.parametrize("command", TABLES["parsers"]())
def test_every_command_and_every_option_is_there(command):
    assert f"\n| `{command}` | " in PAGE
    for option, action in options(command).items():
        rows = rows_of(option)
        assert rows
        assert all(f"{choice}" in " ".join(rows) for choice in action.choices or ()), option


def test_rows_that_are_known():
    """Literally, since the tables are made from what they are held against."""
    assert "| `-q`, `--quiet` | all commands: print nothing but errors, and JSON if asked for |" in PAGE
    assert "| `--costs fp=COST fn=COST ...` | `decide`: cost of a false positive and a false negative" in PAGE
    jobs = "number of threads that count; -1: one for each processor, -2: one less (default: 1); not for distributions"
    assert f"| `--jobs N` | `assess`, `check`, `monitor`, `tally`: {jobs} |" in PAGE
    assert "| `--folds K` | `pool`: number of cross-validation folds (default: 5) |" in PAGE
    assert "For `recalibrate`, unless the row names other commands." in PAGE
    assert "For all commands but `plan`, `lm`, `explain`, `demo`" in PAGE
    assert "| `--engine NAME[:ADDRESS]` | `assess`, `tally`: count in this process (local)" in PAGE


def test_no_other_option_is_named():
    known = {option for command in TABLES["parsers"]() for option in options(command)}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text_of("cli")))
    assert named - {"--help", "--help-all", "--version", "--completion"} <= known


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--format", formats()),
        ("--measured", ESTIMATORS),
        ("--jobs", [jobs_of(None)]),
        ("--anytime", [SequentialSettings.score]),
        ("--cells", [f"{EXACT_LIMIT}:{FRACTION_BITS}"]),
        ("--engine", ENGINES),
    ],
)
def test_the_help_has_values_that_the_parser_does_not_know(option, values):
    """Since what knows them would load NumPy."""
    [*rows] = rows_of(option)
    assert rows
    assert all(any(str(value) in row for row in rows) for value in values)


def test_the_page_of_output_has_every_key_of_an_assessment():
    keys = set(assess([1, 0, 1, 1], [0.9, 0.2, 0.6, 0.7], resamples=40).to_dict())
    with (DOCS / "reference" / "keys.csv").open(encoding="utf-8", newline="") as table:
        named = [key for line in csv.DictReader(table) for key in re.findall(r"`(\w+)`", line["key"])]
    assert len(named) == len(keys)
    assert {*named} == keys
    assert ":file: keys.csv" in text_of("cli")


def documented():
    """Yield the full name of each object that a page documents."""
    for path in pages():
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


def test_helpers_of_results_are_not_documented():
    """What is left out is there; a name that is gone has no place in the list."""
    helpers = runpy.run_path(str(DOCS / "api_summaries.py"))["HELPERS"]
    classes = [each for name in listed("unperplexed.results") if inspect.isclass(each := getattr(results, name))]
    members = {name for each in [*classes, unperplexed.Recalibrator] for name in dir(each)}
    members |= {name for each in classes for name in getattr(each, "__annotations__", ())}
    assert helpers - members == set()
    assert {"advising", "with_rows", "one_outcome"} <= helpers
    assert 'connect("autodoc-skip-member", api_summaries.skip)' in (DOCS / "conf.py").read_text("utf-8")


def test_pages_that_are_not_run_are_named(monkeypatch):
    pytest.importorskip("sybil", reason="pages are run with it")

    def version(package):
        if package == "mlflow":
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr("importlib.metadata.version", version)
    found = runpy.run_path(str(DOCS.parent / "conftest.py"))
    [line] = found["pytest_report_header"]()
    assert line.endswith("not installed: docs/do/share.md (mlflow)")
    text = text_of("share")
    [(begin, end, _)] = found["lacking"](text)
    assert "import mlflow" in text[begin:end]
    assert "import mlflow" not in text[:begin] + text[end:]
    assert "import wandb" not in text[begin:end]
    text = "# A\n% needs: mlflow\n:::{csv-table}\n:file: a.csv\n:::\n>>> import mlflow\n"
    [(_, end, _)] = found["lacking"](text + "# B\n")
    assert text[:end].endswith("import mlflow\n")
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1")
    assert runpy.run_path(str(DOCS.parent / "conftest.py"))["pytest_report_header"]() == []
