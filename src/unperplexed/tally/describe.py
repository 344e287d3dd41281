"""What a tally holds, in words: forecasts and classes, rows left out, scores with their standard errors."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from .._lib.formatting import number_of, printable
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..report.numbers import figure
from ..scores.registry import score_named
from .tally import Tally


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


_REASONS = {"NaN": "no probability (empty or NaN)"}
"""Why rows are dropped, where the notes' own word is not plain."""


def tally_text(tally: Tally) -> str:
    """Say what a tally holds."""
    lines = [counted(tally.n_rows, tally.n_classes, tally.labels)]
    entries = tally.pairs_table.key.size
    if tally.exact:
        lines.append(f"exact: {entries:,} of at most {tally.exact_limit:,} distinct probabilities")
    else:
        lines.append(f"in cells of relative width 2^-{tally.fraction_bits}, {entries:,} of them occupied")
    if tally.weighted:
        lines.append(f"weighted: total weight {tally.weight:,.6g}")
    if tally.grouped:
        lines.append(f"rows in groups, worth {tally.independent_rows:,.4g} when independent and of equal size")
    lines += textwrap.wrap(f"scores: {', '.join(tally.scores) or 'none'}", 80, subsequent_indent="  ")
    lines.append(f"parts: {', '.join(tally.parts) or 'none'}")
    lines += [f"from {printable(name)}: {number_of(count, 'row')}" for name, count in tally.sources.items()]
    return "\n".join([*lines, *_notes(tally)])


def scores_text(tally: Tally) -> str:
    """Give every score with its standard error."""
    width = max(len(name) for name in tally.scores)
    first = counted(tally.n_rows, tally.n_classes, tally.labels)
    lines = [first, "", f"{'':{width}}{'mean':>8}{'st. error':>11}   better"]
    for name in tally.scores:
        score, value, error = score_named(name), tally.score(name), tally.score_standard_error(name)
        figures = f"{figure(value):>8}{figure(error):>11}"
        lines.append(f"{name.replace('_', ' '):{width}}{figures}   {score.better:9}{score.note}")
    return "\n".join([*lines, *_notes(tally)])


def _notes(tally: Tally) -> list[str]:
    found = list(notes_lines(tally.notes))
    return ["", *found] if found else []
