"""A sequential comparison as a document: the decision, the difference over the rows, and the guarantee."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._lib.formatting import number_of, percent, rule_text, short_name, short_names
from ..comparison.sequential import SequentialComparison
from ..report.document import LONGEST_NAME, Column, Document, Python, Section, Table
from ..report.numbers import count, estimate, number
from ..report.result import Naming, document, drawn_as
from ..report.tables import curve_estimates, reproduce
from ..scores.rules import rule_at_floor
from ..statistics.intervals import Interval, alpha_of
from ..statistics.means import DEFAULT_FLOOR, floor_for
from .comparison_charts import sequential_chart, sides_of
from .tally import ROWS_CHANGED, counted, notes_by_name

_ENOUGH = 1e6
"""An e-value from which on its order of magnitude is enough."""


@document.register(SequentialComparison)
def sequential_document(c: SequentialComparison, naming: Naming, *, brief: bool) -> Document:
    """Describe a sequential comparison, in full or in brief."""
    what = f"{counted(c.n_rows, c.n_classes, c.labels)}, one after another"
    verdict = _verdict(c)
    return Document(
        title=f"{naming.called}: {verdict}" if naming.name else verdict,  # a name keeps its case
        facts=(": " if brief else " · ").join(filter(None, [naming.called, what])),
        headline=verdict,
        lead=f"{_lead(c)} The probability of ever deciding for the worse forecaster is at most {1 - c.confidence:.10g},"
        " however often you look and whenever you stop.",
        calm=c.better is None,
        figure=None if brief else sequential_chart(c),
        sections=() if brief else list(_sections(c, naming.command)),
        summary=[evidence_table(c)],
        settings="; ".join(f"{key}: {value}" for key, value in _settings(c)),
        more=f"{naming.continued}: the difference over the rows; frame() and --json: each row",
        warnings=notes_by_name(c.notes),
    )


def _sections(c: SequentialComparison, command: str) -> Iterator[Section]:
    yield Section("evidence", "Evidence for either forecaster", [evidence_table(c), course_table(c)], "Evidence")
    settings = [*_settings(c), ("version", c.version)]
    notes = {ROWS_CHANGED: notes_by_name(c.notes)}
    yield reproduce(command, sequential_call(c), settings, notes, halved=False)


def sequential_call(c: SequentialComparison) -> Python:
    """Give the import and the call of `compare_sequentially` with the options that differ from their defaults."""
    positive = c.labels[1] if c.n_classes == 2 else None
    default = f"{float(floor_for(DEFAULT_FLOOR, c.n_classes)):g}"
    options = {
        f"metric={c.score!r}": c.score != "brier_score",
        f"confidence={c.confidence:g}": c.confidence != 0.95,
        f"floor={c.floor:g}" if c.floor is not None else "": c.floor is not None and f"{c.floor:g}" != default,
        f"pos_label={positive!r}": positive not in (None, 1, "1"),
    }
    used = "".join(f", {option}" for option, differs in options.items() if differs)
    forecasts = f"{{{c.first!r}: p, {c.second!r}: q}}"
    return Python(f"from unperplexed import compare_sequentially\n\nprint(compare_sequentially(y, {forecasts}{used}))")


def _verdict(c: SequentialComparison) -> str:
    if c.better is None or c.decided_after is None:
        return "Not decided: the confidence sequence contained 0 after every row"
    better, now = short_name(c.better), c.better_now
    after = f"decided after {number_of(c.decided_after, 'row')}"
    score = f"the {'larger' if c.larger_is_better else 'smaller'} {rule_text(c.score)}"
    if now == c.better:
        return f"{better} has {score} ({after})"
    over_all = "there is no evidence of a difference" if now is None else f"{short_name(now)} has {score}"
    return f"{better} had {score} ({after}); over all rows {over_all}"


def _lead(c: SequentialComparison) -> str:
    """Give the mean difference of the scores over all rows."""
    first, second, difference, low, high = sides_of(c)
    value, limits = estimate(float(difference[-1]), Interval(float(low[-1]), float(high[-1])))
    direction = "Larger" if c.larger_is_better else "Smaller"
    return (
        f"Mean difference in {rule_text(c.score)}, {short_name(first)} − {short_name(second)}: {value}"
        f" ({_sequence(c)} {limits}). {direction} scores are better."
    )


def _sequence(c: SequentialComparison) -> str:
    """Name the limits: "95% confidence sequence"."""
    return f"{percent(c.confidence)} confidence sequence"


def evidence_table(c: SequentialComparison) -> Table:
    """Return the e-values after all rows."""
    first, second, *_ = sides_of(c)
    values = [(c.e_second if name == c.second else c.e_first)[-1] for name in (first, second)]
    return Table.of(
        "Evidence after all rows. An e-value is the evidence that a forecaster is better: if it is not, its e-value"
        f" ever exceeds N with probability 1/N at most. One above {number(2 / alpha_of(c.confidence), 0)} decides; 1 is"
        " no evidence.",
        Column("forecaster that is better", short_names((first, second), LONGEST_NAME)),
        Column("e-value", [_e_value(float(e)) for e in values]),
    )


def _e_value(e: float) -> str:
    return number(e) if e < 1000 else f"{e:,.0f}" if e < _ENOUGH else "∞" if np.isinf(e) else f"{e:.1e}"


_LOOKS = 12
"""Numbers of rows, equally spaced by their logarithms, after which a table shows the difference."""


def course_table(c: SequentialComparison) -> Table:
    """Return the difference, its confidence sequence and the e-values after some of the rows."""
    first, second, difference, low, high = sides_of(c)
    rows = {*np.unique(np.geomspace(1, c.n_rows, _LOOKS).round().astype(int)).tolist(), c.decided_after or 1}
    at = np.array(sorted(rows)) - 1
    e = {c.first: c.e_first, c.second: c.e_second}
    return Table.of(
        f"Mean difference of the {rule_text(c.score)}, {short_name(first)} − {short_name(second)}, with its"
        f" {_sequence(c)}, and e-values. All rows are in frame() and --json.",
        Column("after rows", [count(row) for row in (at + 1).tolist()]),
        curve_estimates("mean difference", difference[at], low[at], high[at]),
        *(
            Column(f"e-value for {short}", [_e_value(value) for value in e[name][at].tolist()])
            for name, short in zip((first, second), short_names((first, second)), strict=True)
        ),
    )


def _settings(c: SequentialComparison) -> list[tuple[str, str]]:
    return [("score", rule_at_floor(c.score, c.floor or 0.0)), ("confidence", f"{c.confidence:.10g}")]


drawn_as(SequentialComparison, sequential_chart)
