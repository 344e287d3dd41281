"""A Comparison as text that fits a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .._lib.formatting import (
    at_floor_text,
    confidence_interval,
    number_of,
    p_value_text,
    printable,
    rule_text,
    short_name,
)
from ..calibration.diagnosis.describe import CODES, code
from ..report.numbers import estimate, figure
from ..report.terminal import code_lines
from ..scores.registry import SCORES
from ..tally.describe import class_name, counted, notes_lines

if TYPE_CHECKING:
    from ..assessment.result import Assessment
    from ..statistics.intervals import Interval
    from .result import (
        Comparison,
        Difference,
        Forecaster,
        PairedComparison,
    )

_MOST_FORECASTERS, _MOST_PAIRS, _MOST_ROWS = 20, 6, 5
_LOG_LOSS = "log_loss"


def comparison_text(comparison: Comparison) -> str:
    """Give the verdict, the forecasters by log loss, their differences, and the rows that contribute most."""
    c = comparison
    remarks = [line for remark in _remarks(c) for line in textwrap.wrap(remark, 80, subsequent_indent="  ")]
    verdict = textwrap.wrap(printable(c.verdict), 80)
    lines = [
        *verdict,
        "",
        *_next_step(c),
        *_table(c),
        "",
        *_differences(c),
        "",
        *_rows(c.pairs[0], c.n_rows),
        "",
        *_settings(c),
    ]
    return "\n".join([*lines, *remarks])


def _next_step(c: Comparison) -> Iterator[str]:
    """Say what would mend the forecasters, with the commands."""
    if c.next_step is None or not (c.next_step.mended or _miscalibrated(c)):
        return
    yield from textwrap.wrap(f"Next    {printable(c.next_step.words)}", 80, subsequent_indent=" " * 8)
    code = c.next_step.code
    if code.startswith("unperplexed "):
        yield from code_lines(code, 80, " " * 8)
    elif code:
        yield f"{' ' * 8}print(comparison.next_step.code) gives the lines of Python for it."
    yield ""


def _miscalibrated(c: Comparison) -> bool:
    return any(each.assessment.diagnosis.findings for each in c.forecasters.values())


def calibration_verdict(a: Assessment, short: bool = False) -> str:
    """Return what is wrong with a forecaster's own probabilities, in a word or two."""
    if not a.diagnosis.made:
        return ""
    return code(a.diagnosis) if short else a.diagnosis.headline


def dependence_text(c: Comparison) -> str:
    """Name the assumption about rows on which intervals and p-values rest."""
    if c.n_groups is not None:
        return f"{number_of(c.n_groups, 'group')} of dependent rows"
    return f"rows dependent up to {c.lag} apart" if c.lag else "independent rows"


def log_loss_text(c: Comparison) -> str:
    """Name the floor of the log loss and, where it has one, who assigned 0 to observed outcomes: "at the floor ..."."""
    zeros = [f"{short_name(name)} in {number_of(each.zero_rows, 'row')}" for name, each in zero_forecasters(c)]
    why = f" (probability 0 assigned to observed outcomes: {', '.join(zeros)})" if c.scored_floor else ""
    return f"{at_floor_text(c.scored_floor)}{why}"


def zero_forecasters(c: Comparison) -> list[tuple[str, Forecaster]]:
    """Forecasters who assigned 0 to observed outcomes."""
    return [(name, each) for name, each in c.forecasters.items() if each.zero_rows]


def _settings(c: Comparison) -> Iterator[str]:
    holm = f"; p-values in the verdict Holm-adjusted for {len(c.pairs):,} pairs" if len(c.pairs) > 1 else ""
    how = (
        f"settings: paired by row, {dependence_text(c)}{', weighted' * c.weighted}; log loss and geometric accuracy"
        f" {log_loss_text(c)}; slope and calibration {at_floor_text(c.floor)}{holm}"
    )
    yield from textwrap.wrap(printable(how), 80, subsequent_indent="  ")


def _shown(c: Comparison) -> list[Forecaster]:
    return list(c.forecasters.values())[:_MOST_FORECASTERS]


def _table(c: Comparison) -> Iterator[str]:
    counts = f"{len(c.forecasters)} forecasters, {counted(c.n_rows, c.n_classes, c.labels)} each"
    yield from textwrap.wrap(f"{counts}, ordered by log loss {at_floor_text(c.scored_floor)}", 80)
    yield ""
    lines = [
        ["", "geometric", "", "log", "Brier", "predict.", "", ""],
        ["", "accuracy", confidence_interval(c.confidence), "loss", "score", "accuracy", "slope", "verdict"],
    ]
    for name, each in zip(c.forecasters, _shown(c), strict=False):
        a, (loss, brier) = each.assessment, [figure(each.scores[rule].mean) for rule in (_LOG_LOSS, "brier_score")]
        accuracy = _estimate(each.geometric_accuracy, each.geometric_accuracy_interval)
        verdict = calibration_verdict(a, short=True)
        lines.append([name, *accuracy, loss, brier, figure(a.prediction_accuracy), _slope(a.slope), verdict])
    yield from _laid_out(lines, 20)
    yield from _more(len(c.forecasters) - _MOST_FORECASTERS)
    yield "(larger accuracies are better; smaller log loss and Brier score are better)"
    if any(each.assessment.diagnosis.made for each in _shown(c)):
        yield from textwrap.wrap(f"({CODES})", 80)
    else:
        yield from textwrap.wrap(f"({next(iter(_shown(c))).assessment.verdict})", 80)


def _laid_out(lines: Sequence[Sequence[str]], most: int) -> Iterator[str]:
    """Align columns to the right, each as wide as needed; the first column to the left, with a largest width."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    most = min(most, 80 - sum(1 + width for width in widths[1:]))
    for first, *others in lines:
        cells = (f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        yield " ".join([f"{short_name(first, most):{most}}", *cells]).rstrip()


def _slope(slope: float) -> str:
    return "-" if math.isnan(slope) else f"{slope:.2f}"


def _differences(c: Comparison) -> Iterator[str]:
    """Give a block for each pair: differences in scores, and the ratio of geometric accuracies."""
    several = len(c.pairs) > 1
    lines = [["paired differences", "", confidence_interval(c.confidence), "p", *["adjusted p"] * several]]
    titles = {}
    for pair in c.pairs[:_MOST_PAIRS]:
        titles[len(lines)] = f"{short_name(pair.first)} minus {short_name(pair.second)}"
        for rule, d in pair.differences.items():
            if rule not in SCORES or SCORES[rule].headline:
                lines.append([f"  {rule_text(rule)}", *_estimate(d.difference, d.interval), *_p_values(d, several)])
        ratio = _estimate(pair.accuracy_ratio, pair.accuracy_ratio_interval)
        lines.append(["  ratio of geometric accuracies", *ratio, *_p_values(pair.differences[_LOG_LOSS], several)])
    for at, line in enumerate(_laid_out(lines, 34)):
        if at in titles:
            yield titles[at]
        yield line
    yield from _more(len(c.pairs) - _MOST_PAIRS)


def _p_values(test: Difference, several: bool) -> list[str]:
    return [_p_value(p) for p in (test.p_value, test.adjusted_p_value)[: 1 + several]]


def _p_value(p: float) -> str:
    return "-" if math.isnan(p) else p_value_text(p).removeprefix("p ").removeprefix("= ").replace("< ", "<")


def _estimate(value: float, interval: Interval) -> tuple[str, str]:
    shown, between = estimate(value, interval)
    return shown, between or "-"


def _rows(pair: PairedComparison, n_rows: int) -> Iterator[str]:
    c, first, second = pair.contributions, short_name(pair.first), short_name(pair.second)
    if not len(c):
        same = all(each.equal for each in pair.differences.values())
        yield f"{first} and {second} {'score the same' if same else 'have the same log loss'} in every row"
        return
    yield from textwrap.wrap(f"largest contributions to {first} minus {second}, log loss", 80)
    yield f"  {'id' if c.id else 'row':28}{'outcome':16}{'1st prob.':>9}{'2nd prob.':>10}{'share':>10}"
    for at in range(min(len(c), _MOST_ROWS)):
        name = printable(str(c.id[at])) if c.id else f"{c.row[at]:,}"
        assigned = f"{_probability(c.first[at]):>9}{_probability(c.second[at]):>10}"
        yield f"  {short_name(name, 27):28}{class_name(c.outcome[at], -1):16}{assigned}{_share(c.share[at]):>10}"
    counting = "" if c.id else "rows are counted from 0; "
    yield from textwrap.wrap(f"({counting}share of the difference: below 0 in the other direction)", 80)
    if 0 < pair.turning_rows < n_rows:
        left_out = f"without the {number_of(pair.turning_rows, 'row')} most in its favour, of {n_rows:,}"
        yield from textwrap.wrap(f"{left_out}, {first} would not be ahead by log loss", 80)


def _probability(p: float) -> str:
    return f"{p:g}" if p in (0, 1) else figure(p)


def _share(share: float) -> str:
    if math.isnan(share):
        return "-"
    if abs(share) >= 10:  # of next to nothing
        return f"{'<-' if share < 0 else '>'}1000%"
    return f"{100 * share:.1f}%"


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"... and {number:,} more: --json"


def _remarks(c: Comparison) -> Iterator[str]:
    for warning in c.warnings:
        yield f"warning: {warning}"
    for name, each in c.forecasters.items():
        for line in notes_lines(each.assessment.notes):
            yield f"{short_name(name)}: {line}"
