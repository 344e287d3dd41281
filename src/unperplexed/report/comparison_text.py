"""A Comparison as text that fits a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..scores import SCORES
from .text import VERDICT_WORDS, class_name, counted, figure, notes_lines, printable, short_name
from .text import rows as rows_in_words

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
        rows = f"{c.n_groups:,} groups of dependent rows"
    elif c.lag:
        rows = f"rows dependent up to {c.lag} apart"
    yield f"floor {c.floor:g}; paired differences with {_percent(c)} intervals; {rows}{', weighted' * c.weighted}"
    yield from textwrap.wrap(printable(f"in log loss, {c.verdict}"), 80, subsequent_indent="  ")


def _percent(c: Comparison) -> str:
    return f"{100 * c.confidence:.10g} %"


def _table(c: Comparison) -> Iterator[str]:
    shown = list(c.forecasters.items())[:_MOST_FORECASTERS]
    yield f"{'':20}{'geometric':>10}{'':>16}{'log':>7}{'brier':>6}{'predict.':>9}"
    yield f"{'':20}{'accuracy':>10}{_percent(c) + ' interval':>16}{'loss':>7}{'score':>6}{'accuracy':>9}{'slope':>6}"
    for name, each in shown:
        a, (loss, brier) = each.assessment, [figure(each.scores[rule].mean) for rule in (_LOG_LOSS, "brier_score")]
        accuracy = f"{figure(each.geometric_accuracy):>10}{_interval(each.geometric_accuracy_interval):>16}"
        verdict = "" if a.verdict is None else VERDICT_WORDS[a.verdict]
        yield (
            f"{short_name(name, 20):20}{accuracy}{loss:>7}{brier:>6}{figure(a.prediction_accuracy):>9}"
            f"{_slope(a.slope):>6} {verdict}"
        ).rstrip()
    yield from _more(len(c.forecasters) - _MOST_FORECASTERS)
    yield "(larger accuracies are better; a slope below 1: the side of overconfidence)"
    if any(each.assessment.verdict is not None for _, each in shown):
        yield "(over-, underconfident, or off: miscalibrated otherwise; said where it shows)"


def _slope(slope: float) -> str:
    return "-" if math.isnan(slope) else f"{slope:.2f}"


def _differences(c: Comparison) -> Iterator[str]:
    """Give a block for each pair: the ratio of geometric accuracies, and by how much the first's scores differ."""
    several = len(c.pairs) > 1
    yield f"{'':25}{'difference':>11}{_percent(c) + ' interval':>20}{'p':>9}" + f"{'adjusted':>10}" * several
    for pair in c.pairs[:_MOST_PAIRS]:
        yield f"{short_name(pair.first)} less {short_name(pair.second)}"
        log_loss = pair.differences[_LOG_LOSS]
        ratio = figure(pair.accuracy_ratio), _interval(pair.accuracy_ratio_interval)
        yield _line("geometric accuracy, ratio", *ratio, log_loss, several)
        for rule, d in pair.differences.items():
            if rule not in SCORES or SCORES[rule].headline:
                yield _line(rule.replace("_", " "), figure(d.difference), _interval(d.interval), d, several)
    yield from _more(len(c.pairs) - _MOST_PAIRS)


def _line(label: str, value: str, interval: str, test: Difference, several: bool) -> str:
    adjusted = f"{_p_value(test.adjusted_p_value):>10}" * several
    return f"  {label:25}{value:>9}{interval:>20}{_p_value(test.p_value):>9}{adjusted}"


def _p_value(p: float) -> str:
    return "-" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _rows(pair: PairedComparison, n_rows: int) -> Iterator[str]:
    c = pair.contributions
    if not len(c):
        yield f"{short_name(pair.first)} and {short_name(pair.second)} have the same log loss in every row"
        return
    yield f"rows behind {short_name(pair.first)} less {short_name(pair.second)}, log loss"
    yield f"  {'id' if c.id else 'row':28}{'what happened':16}{'1st said':>9}{'2nd said':>10}{'share':>10}"
    for at in range(min(len(c), _MOST_ROWS)):
        name = printable(str(c.id[at])) if c.id else f"{c.row[at]:,}"
        said = f"{_probability(c.first[at]):>9}{_probability(c.second[at]):>10}"
        yield f"  {short_name(name, 27):28}{class_name(c.outcome[at], -1):16}{said}{_share(c.share[at]):>10}"
    if pair.turning_rows:
        said = f"without the {rows_in_words(pair.turning_rows)} most in its favour, of {n_rows:,}"
        yield from textwrap.wrap(f"{said}, {short_name(pair.first)} is not ahead", 80)


def _probability(p: float) -> str:
    return f"{p:g}" if p in (0, 1) else figure(p)


def _share(share: float) -> str:
    return f"{100 * share:.1f} %" if abs(share) < 10 else f"{100 * share:.0f} %"


def _interval(interval: Interval) -> str:
    return "-" if math.isnan(interval.low) else f"{figure(interval.low)} to {figure(interval.high)}"


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"... and {number:,} more: --json"


def _remarks(c: Comparison) -> Iterator[str]:
    for warning in c.warnings:
        yield f"({warning})"
    for name, each in c.forecasters.items():
        for line in notes_lines(each.assessment.notes):
            yield f"{short_name(name)}: {line}"
