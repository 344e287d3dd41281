"""A Comparison as text that fits a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .._wording import number_of, percent, printable, short_name
from ..scores import SCORES
from .text import VERDICT_WORDS, class_name, counted, estimate, figure, notes_lines

if TYPE_CHECKING:
    from ..comparison import Comparison, Difference, PairedComparison
    from ..intervals import Interval

_MOST_FORECASTERS, _MOST_PAIRS, _MOST_ROWS = 20, 6, 5
_LOG_LOSS = "log_loss"


def comparison_text(comparison: Comparison) -> str:
    """Give the forecasters, best first, their differences, and the rows from which the first of these come."""
    c = comparison
    remarks = [line for remark in _remarks(c) for line in textwrap.wrap(remark, 80, subsequent_indent=" ")]
    lines = [*_header(c), "", *_table(c), "", *_differences(c), "", *_rows(c.pairs[0], c.n_rows)]
    return "\n".join(lines + (["", *remarks] if remarks else []))


def _header(c: Comparison) -> Iterator[str]:
    yield f"{len(c.forecasters)} forecasters, {counted(c.n_rows, c.n_classes, c.labels)} each"
    rows = "rows independent"
    if c.n_groups is not None:
        rows = f"{number_of(c.n_groups, 'group')} of dependent rows"
    elif c.lag:
        rows = f"rows dependent up to {c.lag} apart"
    intervals = f"paired differences with {percent(c.confidence)} intervals"
    how = f"floor {c.floor:g}; {intervals}; {rows}{', weighted' * c.weighted}"
    yield from textwrap.wrap(how, 80, subsequent_indent="  ")
    yield from textwrap.wrap(printable(f"in {_log_loss_name(c)}, {c.verdict}"), 80, subsequent_indent="  ")


def _log_loss_name(c: Comparison) -> str:
    return "log loss at the floor" if c.floor else "log loss"


def _table(c: Comparison) -> Iterator[str]:
    shown = list(c.forecasters.items())[:_MOST_FORECASTERS]
    interval = f"{percent(c.confidence)} interval"
    lines = [
        ["", "geometric", "", "log loss", "brier", "predict.", "", ""],
        ["", "accuracy", interval, "at floor" if c.floor else "", "score", "accuracy", "slope", ""],
    ]
    for name, each in shown:
        a, (loss, brier) = each.assessment, [figure(each.scores[rule].mean) for rule in (_LOG_LOSS, "brier_score")]
        accuracy = _estimate(each.geometric_accuracy, each.geometric_accuracy_interval)
        verdict = "" if a.verdict is None else VERDICT_WORDS[a.verdict]
        lines.append([name, *accuracy, loss, brier, figure(a.prediction_accuracy), _slope(a.slope), verdict])
    yield from _laid_out(lines, 20)
    yield from _more(len(c.forecasters) - _MOST_FORECASTERS)
    yield "(larger accuracies are better; a slope below 1: the side of overconfidence)"
    if not c.assessed_for_sure:
        yield "(no over or under beside it: that is told of independent rows of one weight)"
    elif any(each.assessment.verdict is not None for _, each in shown):
        yield f"(over-, underconfident, or off: miscalibrated otherwise; seed {c.seed})"


def _laid_out(lines: Sequence[Sequence[str]], most: int) -> Iterator[str]:
    """Align columns to the right, each as wide as it has to be; the first to the left, at most so wide."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    most = min(most, 80 - sum(1 + width for width in widths[1:]))
    for first, *others in lines:
        cells = (f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        yield " ".join([f"{short_name(first, most):{most}}", *cells]).rstrip()


def _slope(slope: float) -> str:
    return "-" if math.isnan(slope) else f"{slope:.2f}"


def _differences(c: Comparison) -> Iterator[str]:
    """Give a block for each pair: the ratio of geometric accuracies, and by how much the first's scores differ."""
    several = len(c.pairs) > 1
    lines = [["", "difference", f"{percent(c.confidence)} interval", "p", *["adjusted"] * several]]
    titles = {}
    for pair in c.pairs[:_MOST_PAIRS]:
        titles[len(lines)] = f"{short_name(pair.first)} less {short_name(pair.second)}"
        log_loss = pair.differences[_LOG_LOSS]
        ratio = _estimate(pair.accuracy_ratio, pair.accuracy_ratio_interval)
        lines.append(["  geometric accuracy, ratio", *ratio, *_p_values(log_loss, several)])
        for rule, d in pair.differences.items():
            if rule not in SCORES or SCORES[rule].headline:
                name = _log_loss_name(c) if rule == _LOG_LOSS else rule.replace("_", " ")
                lines.append([f"  {name}", *_estimate(d.difference, d.interval), *_p_values(d, several)])
    for at, line in enumerate(_laid_out(lines, 34)):
        if at in titles:
            yield titles[at]
        yield line
    yield from _more(len(c.pairs) - _MOST_PAIRS)


def _p_values(test: Difference, several: bool) -> list[str]:
    return [_p_value(p) for p in (test.p_value, test.adjusted_p_value)[: 1 + several]]


def _p_value(p: float) -> str:
    return "-" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _estimate(value: float, interval: Interval) -> tuple[str, str]:
    shown, between = estimate(value, interval)
    return shown, between or "-"


def _rows(pair: PairedComparison, n_rows: int) -> Iterator[str]:
    c, first, second = pair.contributions, short_name(pair.first), short_name(pair.second)
    if not len(c):
        same = all(each.equal for each in pair.differences.values())
        yield f"{first} and {second} {'score the same' if same else 'have the same log loss'} in every row"
        return
    yield f"rows behind {first} less {second}, log loss"
    yield f"  {'id' if c.id else 'row':28}{'what happened':16}{'1st said':>9}{'2nd said':>10}{'share':>10}"
    for at in range(min(len(c), _MOST_ROWS)):
        name = printable(str(c.id[at])) if c.id else f"{c.row[at]:,}"
        said = f"{_probability(c.first[at]):>9}{_probability(c.second[at]):>10}"
        yield f"  {short_name(name, 27):28}{class_name(c.outcome[at], -1):16}{said}{_share(c.share[at]):>10}"
    counting = "" if c.id else "rows are counted from 0; "
    yield f"({counting}share: of the whole difference; below 0: against it)"
    if 0 < pair.turning_rows < n_rows:
        said = f"without the {number_of(pair.turning_rows, 'row')} most in its favour, of {n_rows:,}"
        yield from textwrap.wrap(f"{said}, {first} is not ahead", 80)


def _probability(p: float) -> str:
    return f"{p:g}" if p in (0, 1) else figure(p)


def _share(share: float) -> str:
    if math.isnan(share):
        return "-"
    if abs(share) >= 10:  # of next to nothing
        return f"{'<-' if share < 0 else '>'}1000 %"
    return f"{100 * share:.1f} %"


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"... and {number:,} more: --json"


def _remarks(c: Comparison) -> Iterator[str]:
    for warning in c.warnings:
        yield f"({warning})"
    for name, each in c.forecasters.items():
        zero = each.assessment.zero_given
        if zero and c.floor:  # without a floor a warning tells it, since the log loss is infinite
            rows = f"rows of weight {zero:,.4g}" if c.weighted else number_of(round(zero), "row")
            yield f"{short_name(name)}: 0 given to what happened in {rows}"
        for line in notes_lines(each.assessment.notes):
            yield f"{short_name(name)}: {line}"
