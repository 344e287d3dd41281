"""What a tally holds, in words: forecasts and classes, rows left out, scores with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from .._lib.formatting import number_of, printable, rule_text, short_name
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..report.document import Column, Document, Settings, Table
from ..report.numbers import number
from ..report.result import Naming, document
from ..scores.rules import score_named
from ..tally.tally import Predictions, Tally


def counted(n_rows: int, n_classes: int, labels: Sequence[Label | None]) -> str:
    """Count forecasts and classes, and name the classes if they are few."""
    classes = f"{n_classes:,} classes"
    if n_classes <= 4 and all(label is not None for label in labels):
        named = ", ".join(printable(str(label)) for label in labels)
        classes += f" ({named})" if 0 < len(named) <= 40 else ""
    return f"{number_of(n_rows, 'forecast')} of {classes}"


def class_name(label: Label | None, index: int) -> str:
    """Give a class's label in one short line, or its column where no label is known."""
    name = f"column {index}" if label is None else printable(str(label))
    return name if len(name) <= 16 else name[:13] + "..."


def notes_lines(notes: Notes) -> Iterator[str]:
    """Say what was left out or rescaled."""
    if notes.ignored:
        yield f"{number_of(notes.ignored, 'row')} left out: outcome to be ignored"
    for reason, count in notes.dropped.items():
        yield f"{number_of(count, 'row')} dropped: {_REASONS.get(reason, reason)}"
    if notes.rescaled:
        off = f"off by up to {notes.largest_deviation:.3g}"
        yield f"{number_of(notes.rescaled, 'row')} rescaled to sum to 1, from sums {off}"


def notes_by_name(notes: Mapping[str, Notes], *, named: bool = True) -> list[str]:
    """Say what was left out or rescaled of each forecaster's rows, behind its name."""
    lines = ((name, line) for name, each in notes.items() for line in notes_lines(each))
    return [f"{short_name(name)}: {line}" if named else line for name, line in lines]


ROWS_CHANGED = "Rows left out or changed"
"""Title of what `notes_lines` says."""

_REASONS = {"NaN": "no probability (empty or NaN)"}
"""Why rows are dropped, where the notes' own word is not plain."""


@document.register(Tally)
def tally_document(tally: Tally, naming: Naming, *, brief: bool) -> Document:
    """Describe what a tally holds."""
    name = naming.called
    what = counted(tally.n_rows, tally.n_classes, tally.labels)
    return Document(
        title=": ".join(filter(None, [name, f"tally of {what}"])),
        facts=name,
        headline=f"Tally of {what}",
        calm=True,
        summary=[Settings(list(_held(tally)), "Contents")],
        warnings=list(notes_lines(tally.notes)),
    )


@document.register(Predictions)
def _predictions_document(found: Predictions, naming: Naming, *, brief: bool) -> Document:
    what = f"Predictions without outcomes: {counted(found.n_rows, found.tally.n_classes, found.tally.labels)}"
    held = [each for each in _held(found.tally) if each[0] not in ("scores", "parts")]
    return Document(what, naming.called, what, calm=True, summary=[Settings(held, "Contents")])


def _held(tally: Tally) -> Iterator[tuple[str, str]]:
    """Name what a tally holds, and where its rows come from."""
    yield from tally.tags.words().items()
    entries = tally.pairs_table.key.size
    if tally.exact:
        yield "counts", f"exact, {entries:,} of at most {tally.exact_limit:,} distinct probabilities"
    else:
        yield "counts", f"in cells of relative width 2^-{tally.fraction_bits}, {entries:,} of them occupied"
    if tally.weighted:
        yield "total weight", f"{tally.weight:,.6g}"
    if tally.clustered:
        yield "clusters", f"effective sample size at least {math.floor(tally.independent_rows):,}"
    yield "scores", ", ".join(tally.scores) or "none"
    yield "parts", ", ".join(tally.parts) or "none"
    for name, rows in tally.sources.items():
        yield f"from {name}", number_of(rows, "row")


def scores_table(tally: Tally) -> Table:
    """Return the mean of every score that a tally holds."""
    scores = [score_named(each) for each in tally.scores]
    return Table.of(
        "Means of the scoring rules, without a floor.",
        Column("score", [rule_text(each) for each in tally.scores]),
        Column("mean", [number(tally.score(each)) for each in tally.scores]),
        Column("standard error", [number(tally.score_standard_error(each)) for each in tally.scores]),
        Column("better", [each.better for each in scores], words=True),
        Column("meaning", [each.note for each in scores], words=True),
        brief=len(scores),
    )
