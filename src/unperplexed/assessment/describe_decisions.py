"""A Decision as a document: from which probability on to act, what that costs, and the confusion matrix there."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._lib.formatting import confidence_interval, number_of, short_name, short_names
from ..forecasts.forecasts import Notes
from ..report.chart import Axis, Chart, Points, value_axis
from ..report.document import Action, Block, Code, Column, Document, Prose, Section, Table
from ..report.document import Notes as NotesBlock
from ..report.numbers import between, count, number
from ..tally.describe import notes_lines
from .decision_curve import DecisionCurve
from .decision_result import Decision, MeanCost


def decision_document(d: Decision, *, name: str = "", command: str = "") -> Document:
    """Describe decisions at a threshold."""
    headline, lead = _conclusion(d)
    costs, confusion, shares = costs_table(d), confusion_table(d), shares_table(d)
    called = short_name(name, 200)
    notes = [*notes_of(d.notes)]
    advised = _advised(d)
    code = d._code if advised else ""
    return Document(
        title=f"{called}: decisions" if name else "Decisions",
        facts=facts_of(called, d),
        headline=headline,
        lead=lead,
        calm=not advised,
        actions=[Action("What to do", _ADVICE, "Remedy")] if code else [],
        command=Code(code, "Commands or lines of Python that recalibrate and decide") if code else None,
        figure=costs_chart(d),
        first=Section("costs", "Costs", [costs, Prose(_best(d))], "Costs"),
        sections=[
            Section("decisions", "Decisions at the threshold", [confusion, shares], "Decisions"),
            how_section(_settings(d), d.warnings, notes, command),
        ],
        summary=[costs, Prose(_best(d)), confusion, shares],
        settings=_settings(d),
        warnings=[*d.warnings, *notes],
    )


_ADVICE = "Fit a recalibration map on held-out rows, apply it to new forecasts, and act by the new probabilities."


def _advised(d: Decision) -> bool:
    """Whether recalibration significantly lowers the cost."""
    return d.recalibrated is not None and d.miscalibration is not None and d.miscalibration.interval.low > 0


def decision_verdict(d: Decision) -> str:
    """Say from which probability on to act, what that costs, and what miscalibration adds."""
    headline, lead = _conclusion(d)
    return f"{headline}. {lead}"


def _conclusion(d: Decision) -> tuple[str, str]:
    positive = short_name(str(d.labels[1]))
    where = f"where the probability of {positive!r} is at least {d.threshold:.3g}"
    m = d.miscalibration
    words = (
        f"By the predicted probabilities the cost is {number(d.cost.value)} a row"
        f" ({number(d.cost_all.value)} for acting on all rows and"
        f" {number(d.cost_none.value)} for never acting)."
    )
    cheaper = min(("acting on all rows", d.cost_all), ("never acting", d.cost_none), key=lambda each: each[1].value)
    if cheaper[1].value <= d.cost.value:
        words += f" On these rows {cheaper[0]} costs no more."
    if m is None:
        return f"Act {where}", words
    limits = between(*m.interval)
    interval = f" ({confidence_interval(d.confidence)} {limits})" * bool(limits)
    if d.recalibrated is not None and m.interval.low > 0:
        costs = f"cost {number(d.recalibrated.value)} a row instead of {number(d.cost.value)}"
        first = f"Recalibrate, then act {where} ({costs})"
        return first, f"{words} Miscalibration costs {number(m.value)} of it{interval}."
    words += f" No evidence that recalibration would lower it: difference {number(m.value)}{interval}."
    return f"Act {where}", words


def _costs(d: Decision) -> list[tuple[str, MeanCost]]:
    """Costs by their names."""
    found = [("predicted probabilities", d.cost)]
    if d.recalibrated is not None and d.miscalibration is not None:
        found += [("recalibrated probabilities", d.recalibrated), ("loss due to miscalibration", d.miscalibration)]
    found += [("acting on all rows", d.cost_all), ("never acting", d.cost_none)]
    if d.best_cost_cross_fitted is not None:
        found.append(("threshold tuned on other folds", d.best_cost_cross_fitted))
    return found


def costs_table(d: Decision) -> Table:
    """Return the mean costs with their intervals."""
    costs = _costs(d)
    values = Column(
        "cost a row",
        [number(cost.value) for _, cost in costs],
        [between(*cost.interval) for _, cost in costs],
        meaning="Mean cost a row, in units of the costs. Smaller is better.",
    )
    return Table(
        "", [Column("decisions by", [name for name, _ in costs]), values], notes=confidence_interval(d.confidence)
    )


def confusion_table(d: Decision) -> Table:
    """Return the rows by decision and outcome."""
    negative, positive = short_names(map(str, d.labels))
    c = d.confusion
    return Table(
        "Decisions by the predicted probabilities.",
        [
            Column(f"at threshold {d.threshold:.4g}", [f"observed {positive!r}", f"observed {negative!r}"]),
            Column("acted on", [count(c.true_positives), count(c.false_positives)]),
            Column("not acted on", [count(c.false_negatives), count(c.true_negatives)]),
        ],
    )


def shares_table(d: Decision) -> Table:
    """Return sensitivity, specificity and the like."""
    shares = d.confusion.shares()
    values = [number(each.value) for each in shares.values()]
    limits = [between(*each.interval) for each in shares.values()]
    return Table("", [Column("", [*shares]), Column("share", values, limits)], notes=confidence_interval(d.confidence))


def costs_chart(d: Decision) -> Chart | None:
    """Draw the costs of the ways to decide with their intervals."""
    costs = [(name, cost) for name, cost in _costs(d) if name != "loss due to miscalibration"]
    values = np.array([cost.value for _, cost in costs])
    low, high = (np.array([getattr(cost.interval, end) for _, cost in costs]) for end in ("low", "high"))
    ends = np.concatenate([values, low[np.isfinite(low)], high[np.isfinite(high)]])
    at = np.arange(len(costs), 0, -1).astype(np.float64)
    spoken = ", ".join(f"{name} {number(cost.value)}" for name, cost in costs)
    return Chart(
        title="Mean cost a row",
        subtitle=f"Points with {confidence_interval(d.confidence)}",
        label=f"Mean cost a row: {spoken}",
        x=value_axis(float(ends.min()), float(ends.max()), "Cost a row. Smaller is better"),
        y=Axis(0.5, len(costs) + 0.5, list(zip(at.tolist(), [name for name, _ in costs], strict=True))),
        points=(Points(values, at, low, high),),
        shape="forest",
        percent=False,
    )


def _best(d: Decision) -> str:
    at = "never acting" if math.isinf(d.best_threshold) else f"threshold {d.best_threshold:.4g}"
    words = f"Best on these very rows (in-sample): {at}, cost {number(d.best_cost)} a row."
    if d.best_cost_cross_fitted is None or not d.optimism > 0:
        return words
    expected = number(d.best_cost_cross_fitted.value)
    return f"{words} This in-sample cost is optimistic by about {number(d.optimism)}; expect {expected}."


def _settings(d: Decision) -> str:
    costs = f"cost of a false positive {d.costs.false_positive:.6g}, of a false negative {d.costs.false_negative:.6g}"
    for name, cost in (("positive", d.costs.true_positive), ("negative", d.costs.true_negative)):
        costs += f", benefit of a true {name} {-cost:.6g}" if cost else ""
    return costs


def facts_of(called: str, d: Decision | DecisionCurve) -> str:
    """Say how many forecasts there are, what they are called, and how often the positive class occurred."""
    of = "" if d.n_clusters is None else f" in {number_of(d.n_clusters, 'cluster')}"
    rows = f"{number_of(d.n_rows, 'forecast')}{of}{' with weights' * d.weighted}"
    words = f"{rows}; observed frequency of {short_name(str(d.labels[1]))!r} {number(d.frequency)}"
    return f"{called} · {words}" if called else words


def notes_of(notes: dict[str, Notes]) -> Iterator[str]:
    """Say what was left out or changed of each forecaster's rows."""
    for name, each in notes.items():
        for line in notes_lines(each):
            yield f"{short_name(name)}: {line}" if len(notes) > 1 else line


def how_section(settings: str, warnings: tuple[str, ...], notes: list[str], command: str) -> Section:
    """Return the section of a page that says how its figures were computed."""
    blocks: list[Block] = [Prose(f"Settings: {settings}.", quiet=True)]
    blocks += [NotesBlock("Warnings", warnings)] if warnings else []
    blocks += [NotesBlock("Rows left out or changed", notes)] if notes else []
    blocks += [Code(command, "Make this report again")] if command else []
    return Section("how", "How this was computed", blocks, "Settings")
