"""A DecisionCurve, or a Decision, as text that fits a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .._lib.formatting import confidence_interval, number_of, short_name
from ..report.numbers import figure
from ..tally.describe import notes_lines

if TYPE_CHECKING:
    from .._lib.typing import Bools, Floats
    from ..forecasts.forecasts import Notes
    from ..forecasts.labels import Label
    from .decision_curve import DecisionCurve
    from .decision_result import Decision, MeanCost, Share
    from .net_benefit import NetBenefit

_WIDTH = 80
_MOST_THRESHOLDS = 11
_MOST_MODELS = 4


def decision_curve_text(curve: DecisionCurve) -> str:
    """Return where each model is useful, and a table of net benefits at some of the thresholds."""
    return "\n".join(_curve_lines(curve))


def _curve_lines(c: DecisionCurve) -> Iterator[str]:
    for name, rule in c.models.items():
        yield from _wrapped(useful_words(name, rule, c.thresholds))
    yield ""
    yield from _wrapped(_rows_words(c.n_rows, c.n_clusters, c.weighted, c.labels[1], c.frequency))
    yield ""
    yield from _curve_table(c)
    yield ""
    yield from _wrapped(
        "net benefit: share of true positives minus share of false positives times the odds of the threshold; larger is"
        " better. avoided: interventions avoided in 100 rows, compared with acting on all, at no loss in true"
        f" positives. {confidence_interval(c.confidence)} at each threshold by itself."
    )
    for warning in c.warnings:
        yield from _wrapped(f"warning: {warning}")
    yield from _notes(c.notes)


def useful_words(name: str, rule: NetBenefit, thresholds: Floats) -> str:
    """Say at which thresholds a model is significantly better than acting on all rows and on none."""
    who = _name(name)
    if not rule.useful.any():
        return f"{who}: at no threshold significantly better than both acting on all rows and acting on none."
    ranges = ", ".join(_ranges(rule.useful, thresholds))
    return f"{who}: significantly better than acting on all rows and on none at thresholds {ranges}."


def _ranges(where: Bools, thresholds: Floats) -> Iterator[str]:
    """Name runs of neighbouring thresholds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
    for start, stop in edges.reshape(-1, 2).tolist():
        low, high = thresholds[start], thresholds[stop - 1]
        yield f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _curve_table(c: DecisionCurve) -> Iterator[str]:
    models = list(c.models.items())[:_MOST_MODELS]
    one = len(models) == 1
    heads = ["threshold", "all", *(_name(name, 16) for name, _ in models)]
    if one:
        heads += [confidence_interval(c.confidence), "avoided", "acted on"]
    widths = [9, 9] + ([10, 19, 10, 10] if one else [17] * len(models))
    yield "".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))
    for at in np.unique(np.linspace(0, c.thresholds.size - 1, _MOST_THRESHOLDS).round().astype(int)).tolist():
        cells = [f"{c.thresholds[at]:.3g}", figure(float(c.all.net_benefit[at]))]
        cells += [figure(float(rule.net_benefit[at])) for _, rule in models]
        if one:
            rule = models[0][1]
            cells += [_interval(rule.low[at], rule.high[at]), f"{100 * rule.avoided[at]:.1f}"]
            cells.append(f"{100 * rule.acted_on[at]:.1f}%")
        yield "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    if len(c.models) > len(models):
        yield f"... and {number_of(len(c.models) - len(models), 'forecaster')} more: frame()"


def decision_text(decision: Decision) -> str:
    """Return the threshold, what decisions there cost, the confusion matrix, and what miscalibration costs."""
    return "\n".join(_decision_lines(decision))


def _decision_lines(d: Decision) -> Iterator[str]:
    yield from _wrapped(d.verdict)
    yield ""
    yield from _wrapped(_rows_words(d.n_rows, d.n_clusters, d.weighted, d.labels[1], d.frequency))
    costs = f"costs: false positive {d.costs.false_positive:.6g}, false negative {d.costs.false_negative:.6g}"
    for name, benefit in (("positive", d.costs.true_positive), ("negative", d.costs.true_negative)):
        costs += f", true {name} {benefit:.6g}" if benefit else ""
    yield from _wrapped(costs)
    yield ""
    yield f"{'':34}{'cost a row':>11}{confidence_interval(d.confidence):>22}"
    for words, cost in _costs(d):
        yield f"{words:34}{figure(cost.value):>11}{_interval(*cost.interval):>22}".rstrip()
    yield from _best(d)
    yield ""
    yield from _confusion(d)
    yield ""
    for words, share in d.confusion.shares().items():
        yield _share_line(words, share)
    for warning in d.warnings:
        yield from _wrapped(f"warning: {warning}")
    yield from _notes(d.notes)


def _costs(d: Decision) -> Iterator[tuple[str, MeanCost]]:
    yield "predicted probabilities", d.cost
    if d.recalibrated is not None and d.miscalibration is not None:
        yield "recalibrated probabilities", d.recalibrated
        yield "loss due to miscalibration", d.miscalibration
    yield "acting on all rows", d.cost_all
    yield "acting on none", d.cost_none
    if d.best_cost_cross_fitted is not None:
        yield "threshold tuned on other folds", d.best_cost_cross_fitted


def _best(d: Decision) -> Iterator[str]:
    at = "acting on none" if math.isinf(d.best_threshold) else f"threshold {d.best_threshold:.4g}"
    words = f"Best on these very rows (in-sample): {at}, cost {figure(d.best_cost)} a row"
    yield from _wrapped(f"{words}." if math.isnan(d.optimism) else f"{words}, too low by about {figure(d.optimism)}.")


def decision_verdict(d: Decision) -> str:
    """Say from which probability on to act, what that costs, and what miscalibration adds."""
    others = f"{figure(d.cost_all.value)} for acting on all rows and {figure(d.cost_none.value)} for acting on none"
    positive = _name(str(d.labels[1]))
    words = (
        f"Act where the probability of {positive!r} is at least {d.threshold:.3g}: cost {figure(d.cost.value)} a row"
    )
    words += f" ({others})."
    cheaper = min(("acting on all rows", d.cost_all), ("acting on none", d.cost_none), key=lambda each: each[1].value)
    if cheaper[1].value <= d.cost.value:
        words += f" On these rows {cheaper[0]} costs no more."
    m = d.miscalibration
    if m is None:
        return words
    interval = _interval(*m.interval)
    between = f" ({confidence_interval(d.confidence)} {interval})" * bool(interval)
    if m.interval.low > 0:
        return f"{words} Miscalibration costs {figure(m.value)} of it{between}: recalibrate first."
    return f"{words} No evidence that recalibration would lower it: difference {figure(m.value)}{between}."


def _confusion(d: Decision) -> Iterator[str]:
    negative, positive = (_name(str(label), 18) for label in d.labels)
    c = d.confusion
    yield f"{f'at threshold {d.threshold:.4g}':34}{'acted on':>12}{'not acted on':>14}"
    yield f"{f'observed {positive!r}':34}{c.true_positives:>12,.6g}{c.false_negatives:>14,.6g}"
    yield f"{f'observed {negative!r}':34}{c.false_positives:>12,.6g}{c.true_negatives:>14,.6g}"


def _share_line(words: str, share: Share) -> str:
    return f"{words:34}{figure(share.value):>11}{_interval(*share.interval):>22}".rstrip()


def _interval(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"{figure(float(low))} to {figure(float(high))}"


def _rows_words(n: int, clusters: int | None, weighted: bool, positive: Label | None, frequency: float) -> str:
    of = "" if clusters is None else f" in {number_of(clusters, 'cluster')}"
    weights = " with weights" * weighted
    return (
        f"{number_of(n, 'forecast')}{of}{weights}; observed frequency of {_name(str(positive))!r} {figure(frequency)}"
    )


def _notes(notes: dict[str, Notes]) -> Iterator[str]:
    for name, each in notes.items():
        for line in notes_lines(each):
            yield f"{_name(name)}: {line}" if len(notes) > 1 else line


def _name(name: str, most: int = 24) -> str:
    return short_name(name, most)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False)
