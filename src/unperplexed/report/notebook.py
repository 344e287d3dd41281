"""An Assessment, or a Breakdown, as a small card in a notebook: plain HTML, every text escaped, nothing that runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from .text import (
    MEANS,
    class_tables,
    confidence_text,
    mean_and_interval,
    notes_lines,
    remarks,
    said,
    single_figures,
)

if TYPE_CHECKING:
    from ..assessment.breakdown import Breakdown
    from ..assessment.result import Assessment


def assessment_card(assessment: Assessment) -> str:
    """Give the headline figures as an HTML table."""
    a = assessment
    rows = [
        (
            name.replace("_", " "),
            *mean_and_interval(a, "reported", name),
            *mean_and_interval(a, "measured", name),
            meaning,
        )
        for name, meaning in MEANS.items()
    ] + [(name, value, interval, "", "", meaning) for name, value, interval, meaning in single_figures(a)]
    lines = [*said(a), *remarks(a), *notes_lines(a.notes)]
    notes = "".join(f"<br>{escape(line)}" for line in lines)
    between = f"<th>{confidence_text(a)}</th>"
    caption = f"{a.n_rows:,} forecasts of {a.n_classes:,} classes; floor {a.floor:g}; {a.estimator}, {a.view}"
    return (
        f"<table><caption>{escape(caption)}{notes}</caption>"
        f"<thead><tr><th></th><th>reported</th>{between}<th>measured</th>{between}<th></th></tr></thead>"
        f"<tbody>{_rows(rows)}</tbody></table>"
        + "".join(_class_table(title, table) for title, table in class_tables(a))
    )


def breakdown_card(breakdown: Breakdown) -> str:
    """Give the groups as the terminal shows them: all names are escaped."""
    return f"<pre>{escape(str(breakdown))}</pre>"


def _class_table(title: str, table: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th>{escape(head)}</th>" for head in table[0])
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{_rows(table[1:])}</tbody></table>"
    )


def _rows(rows: Iterable[Sequence[str]]) -> str:
    return "".join(
        "<tr>" + f"<th>{escape(name)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for name, *cells in rows
    )
