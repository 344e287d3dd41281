"""Documents as text: nothing is cut, commands can be copied, and what comes from outside is printable."""

import re
import shlex
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from printed import unfolded
from unperplexed.report.document import (
    Action,
    Code,
    Column,
    Document,
    Metric,
    Notes,
    Prose,
    Python,
    Settings,
    Table,
    command_lines,
)
from unperplexed.report.terminal import text, width

WORDS = st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"]), min_size=1, max_size=30)
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    columns = [
        Column(draw(SENTENCES), draw(st.lists(SENTENCES, min_size=n, max_size=n)), words=draw(st.booleans()))
        for _ in range(draw(st.integers(1, 6)))
    ]
    return Table(draw(SENTENCES), columns)


@pytest.mark.slow
@given(tables(), st.integers(40, 80))
def test_a_table_fits_and_keeps_every_word(table, columns):
    shown = text(Document("", "", "Calibrated", "", summary=[table]), columns)
    assert max(map(len, shown.splitlines())) <= columns
    flat = re.sub(r"\s+", "", shown)
    for column in table.columns:
        for value in column.values:
            for word in value.split():
                assert word in flat


def test_a_wide_table_puts_columns_below_their_row():
    table = Table("", [Column("class", ["a"]), *(Column(f"number {at}", ["0.123456789"]) for at in range(8))])
    shown = text(Document("", "", "Calibrated", "", summary=[table]), 60)
    assert (
        "\n  number 4: 0.123456789; number 5: 0.123456789; number 6:\n    0.123456789; number 7: 0.123456789" in shown
    )


def test_notes_have_a_column_and_long_tables_an_end():
    n = 15
    column = Column("rate", ["10.0%"] * n, ["9.1% to 11.2%"] * n)
    table = Table("", [Column("group", [str(at) for at in range(n)]), column], brief=12, notes="90% CI")
    shown = text(Document("", "", "Calibrated", "", summary=[table]))
    assert re.search(r"^group +rate +90% CI$", shown, re.MULTILINE)
    assert shown.endswith("\n... and 3 more")


@given(st.lists(st.tuples(WORDS, SENTENCES), min_size=1, max_size=8))
def test_a_command_that_is_copied_is_the_command(options):
    words = ["unperplexed", "recalibrate", "file.csv"]
    words += [word for name, value in options for word in (f"--{name}", value)]
    shown = "\n".join(command_lines(shlex.join(words), 60))
    assert shlex.split(unfolded(shown)) == words


def test_python_keeps_its_line():
    line = Python(
        "recalibrated = Recalibrator().fit(y_true, y_prob, sample_weight=sample_weight).transform(new_y_prob)"
    )
    assert list(command_lines(line, 60, "  ")) == [f"  {line}"]


def test_conclusion_first_warnings_last():
    document = Document(
        "Rain",
        "365 forecasts",
        "Overconfident",
        "Observed in 70%.",
        actions=[Action("What it costs", "0.01 nats.", "Cost"), Action("What to do", "Recalibrate.", "Remedy")],
        command=Code("unperplexed recalibrate rain.csv -o map.json", "Command"),
        metrics=[Metric("Log loss", "", "0.5", "0.4 to 0.6", "0.45", "base rate 0.6", "smaller"),
                 Metric("Accuracy", "", "71%", "", "", "", "larger")],
        summary=[Prose("A paragraph."), Settings([("seed", "0")]), Notes("Notes", ["A note."])],
        remarks=["Row 3 carries the evidence."],
        settings="seed 0",
        more="--report PAGE.html",
        warnings=["few rows: collect more"],
    )  # fmt: skip
    assert text(document, 80) == (
        "Overconfident.\nObserved in 70%.\n\n"
        "Cost    0.01 nats.\nRemedy  Recalibrate.\n          unperplexed recalibrate rain.csv -o map.json\n\n"
        "Row 3 carries the evidence.\n\n365 forecasts\n\n"
        "                              after\n"
        "          value      95% CI  remedy  reference\n"
        "Log loss    0.5  0.4 to 0.6    0.45  base rate 0.6\n"
        "Accuracy    71%\n"
        "Smaller is better; for accuracy, larger.\n\n"
        "A paragraph.\n\nseed: 0\n\nA note.\n\n"
        "settings: seed 0\nmore: --report PAGE.html\nwarning: few rows: collect more."
    )


def test_names_from_outside_are_printable():
    table = Table("\x1b[2J", [Column("\x07", ["\x1b]0;x\x07"]), Column("\u202e", ["\x9b31m"])])
    shown = text(Document("", "\x1b", "\x1b", "\r", summary=[table]))
    assert shown.replace("\n", "").isprintable()


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def test_characters_of_two_columns_take_two():
    names = ["日本語の長い名前" * 4, "b", "한국"]
    table = Table("表" * 60, [Column("名前", names), Column("値", ["1.5", "22.5", "3.5"]), Column("rate", ["10%"] * 3)])
    for columns in (80, 60, 40):
        shown = text(Document("", "事実" * 30, "判定", "", summary=[table]), columns)
        lines = shown.splitlines()
        assert max(map(columns_of, lines)) <= columns
        flat = re.sub(r"\s", "", shown)
        assert all(each in flat for each in (*names, "表" * 60, "事実" * 30))
        assert len({columns_of(line) for line in lines if line.endswith("%")}) == 1


@pytest.mark.parametrize(("columns", "expected"), [("200", 80), ("60", 60), ("10", 40)])
def test_width_is_that_of_the_terminal(monkeypatch, columns, expected):
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == expected
