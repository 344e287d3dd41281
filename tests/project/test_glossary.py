"""The glossary has every term that an assessment shows, and every page links it."""

import csv
import re
import runpy

import numpy as np
import pytest

from helpers import averages_text
from pages import DOCS, pages, text_of
from unperplexed import assess
from unperplexed.calibration.diagnosis.kinds import KINDS
from unperplexed.scores.rules import SCORES

GLOSSARY = text_of("glossary")
ROWS = [
    [cell.strip() for cell in line[1:-1].split("|")]
    for table in re.findall(r"^\| term \|.*\n\|---.*\n((?:\|.*\n)+)", GLOSSARY, re.MULTILINE)
    for line in table.splitlines()
]
TERMS = {part.strip().casefold() for row in ROWS for part in re.split(r"[,()]", row[0]) if part.strip()}
PAGES = [path.relative_to(DOCS).with_suffix("").as_posix() for path in pages()]
PREFIX = re.compile("^(reported|measured)_")
HEADLINE = {name for name, rule in SCORES.items() if rule.headline}
"""Rules that the printed assessment shows; the others are explained in the page of scores."""


def assessed():
    y = np.random.default_rng(0).integers(0, 2, 200)
    return assess(y, np.full(200, 0.4), resamples=0)


def test_every_headline_figure_is_a_term():
    names = {PREFIX.sub("", name) for name in assessed().metrics()} - {*SCORES} | HEADLINE
    names = {name.replace("_", " ") for name in names}
    assert {"geometric accuracy", "averages slope", "log loss"} <= names
    assert names - TERMS == set()


def test_every_line_of_the_printed_table_is_a_term():
    lines = printed_lines()
    assert len(lines) >= 8
    shown = {part.strip().casefold() for line in lines for part in re.split("[()]", line) if part.strip()}
    shown -= {"both classes"}  # what the Brier score is, no term of its own
    assert shown - TERMS == set()


def printed_lines():
    """Of the assessment, and of the averages that are shown if asked for."""
    found = assessed()
    averages = re.findall("Decisiveness|Geometric accuracy|Robustness", averages_text(found).split(" predicted ")[-1])
    return [*re.findall(r"^([a-zA-Z][a-zA-Z ()]*?) {2,}[-−\d]", str(found), re.MULTILINE), *averages]


def test_if_it_is_bad_has_a_heading_for_every_metric_and_finding():
    headings = re.findall("^### (.*)", text_of("if-it-is-bad"), re.MULTILINE)
    metrics = {line.replace(" (both classes)", "") for line in printed_lines()} - {"Accuracy"}
    metrics = {name for name in metrics if not name.startswith(("Mean", "Observed"))}
    assert len(metrics) > 6
    assert metrics - {*headings} == set()
    about = " ".join(headings).casefold()
    findings = ["overpredicts", "biased between classes", *(name for kind in KINDS.values() for name in kind.names)]
    assert [each for each in findings if not all(word in about for word in each.split())] == []


@pytest.mark.parametrize("name", SCORES)
def test_a_score_has_the_direction_of_its_rule(name):
    """In its line of the page of scores, and in the glossary, which has those that are headlines."""
    better = "larger" if SCORES[name].larger_is_better else "smaller"
    with (DOCS / "reference" / "rules.csv").open(encoding="utf-8", newline="") as table:
        assert [line["better"] for line in csv.DictReader(table) if line["rule"] == f"`{name}`"] == [better]
    assert ":file: rules.csv" in text_of("scores")
    rows = [row for row in ROWS if row[0].casefold() == name.replace("_", " ")]
    assert len(rows) == 1 or not (rows or name in HEADLINE)
    assert all(row[2] == better for row in rows)


def test_rows_are_whole_sentences_and_no_term_is_there_twice():
    assert all(len(row) == 3 and row[1].endswith(".") for row in ROWS)
    terms = [row[0] for row in ROWS]
    assert len(terms) == len(set(terms)) > 40


@pytest.mark.parametrize("page", PAGES)
def test_every_page_links_the_glossary(page):
    with_foot = runpy.run_path(str(DOCS / "footer.py"))["with_foot"]
    text = with_foot(page, (DOCS / f"{page}.md").read_text("utf-8"))
    [target, *_] = re.findall(r"\(([./a-z-]*glossary\.md)", text) or [None]
    assert (
        page == "reference/glossary"
        or (DOCS / page).parent.joinpath(target).resolve() == DOCS / "reference" / "glossary.md"
    )


def test_the_documentation_adds_the_foot():
    assert 'connect("source-read", footer.add)' in (DOCS / "conf.py").read_text("utf-8")
    assert "<reference/glossary>\n" in (DOCS / "index.md").read_text("utf-8")
