"""Decisions, decision curves and plans as documents: when to act and what that costs, and how many rows it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._lib.formatting import confidence_interval, number_of, short_name, short_names
from .._lib.typing import Bools, Floats
from ..assessment.counted_rows import RECALIBRATED
from ..assessment.decision_curve import MODEL, DecisionCurve, MeanCost, NetBenefit, Share
from ..assessment.decisions import Decision, conclusion
from ..assessment.plan import Plan
from ..report.chart import Chart, Line, Reference, Role, percent_axis, value_axis
from ..report.charts import Row, forest
from ..report.document import Action, Block, Code, Column, Document, Prose, Section, Table
from ..report.numbers import count, number, same_decimals, share
from ..report.result import Naming, document, drawn_as
from ..report.tables import curve_estimates, estimates, how
from .tally import ROWS_CHANGED, notes_by_name


@document.register(Decision)
def decision_document(d: Decision, naming: Naming, *, brief: bool) -> Document:
    """Describe decisions at a threshold."""
    headline, lead = conclusion(d)
    costs, confusion, shares = costs_table(d), confusion_table(d), shares_table(d)
    at_capacity = _at_capacity(d)
    notes = notes_by_name(d.notes, named=len(d.notes) > 1)
    advised = d.recalibrated is not None and d.miscalibration is not None and d.miscalibration.interval.low > 0
    code = d._code if advised else ""
    return Document(
        title=naming.titled("decisions"),
        facts=naming.facts(facts_of(d)),
        headline=headline,
        lead=lead,
        calm=not advised,
        actions=[Action("What to do", _ADVICE, "Remedy")] if code else [],
        command=Code(code, "Commands or lines of Python that recalibrate and decide") if code else None,
        figure=costs_chart(d),
        first=Section("costs", "Costs", [costs, Prose(_best(d))], "Costs"),
        sections=[
            Section("decisions", "Decisions at the threshold", [confusion, shares, *at_capacity], "Decisions"),
            how(f"Settings: {_settings(d)}.", {"Warnings": d.warnings, ROWS_CHANGED: notes}, naming.command),
        ],
        summary=[costs, Prose(_best(d)), confusion, shares, *at_capacity],
        settings=_settings(d),
        warnings=[*d.warnings, *notes],
    )


_ADVICE = "Fit a recalibration map on held-out rows, apply it to new forecasts, and act by the new probabilities."


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
    names, costs = zip(*_costs(d), strict=True)
    meaning = "Mean cost a row, in units of the costs. Smaller is better."
    values = estimates("cost a row", ((each.value, each.interval) for each in costs), meaning=meaning)
    return Table("", [Column("decisions by", names), values], notes=confidence_interval(d.confidence))


def confusion_table(d: Decision) -> Table:
    """Return the rows by decision and outcome."""
    negative, positive = short_names(map(str, d.labels))
    c, at = d.confusion, f"threshold {d.threshold:.4g}" if math.isnan(d.thresholds.low) else "each threshold"
    return Table.of(
        "Decisions by the predicted probabilities.",
        Column(f"at {at}", [f"observed {positive!r}", f"observed {negative!r}"]),
        Column("acted on", [count(c.true_positives), count(c.false_positives)]),
        Column("not acted on", [count(c.false_negatives), count(c.true_negatives)]),
    )


def shares_table(d: Decision) -> Table:
    """Return sensitivity, specificity and the like."""
    shares = d.confusion.shares()
    values = estimates("share", ((each.value, each.interval) for each in shares.values()))
    return Table("", [Column("", [*shares]), values], notes=confidence_interval(d.confidence))


def _at_capacity(d: Decision | DecisionCurve) -> list[Table]:
    """Make the table of precision and recall at a capacity, if there is one."""
    c = d.capacity
    if c is None:
        return []
    each = f" in each of {number_of(c.periods, 'period')} ({count(c.acted_on)} in all)" if c.periods else ""
    values: list[tuple[str, Share | MeanCost]] = [("precision", c.precision), ("recall", c.recall)]
    values += [("cost a row", c.cost)] if c.cost else []
    rows = f"{number_of(c.capacity, 'row')}{each}"
    caption = f"Capacity: up to {rows}, the most probable or costly first, down to {number(c.threshold)}."
    shown = estimates("value", ((x.value, x.interval) for _, x in values))
    return [Table.of(caption, Column("", [name for name, _ in values]), shown, notes=confidence_interval(d.confidence))]


def costs_chart(d: Decision) -> Chart:
    """Draw the costs of the ways to decide with their intervals."""
    costs = [(name, cost) for name, cost in _costs(d) if name != "loss due to miscalibration"]
    spoken = ", ".join(f"{name} {number(cost.value)}" for name, cost in costs)
    return forest(
        [Row(name, cost.value, cost.interval) for name, cost in costs],
        title="Mean cost a row",
        subtitle=f"Points with {confidence_interval(d.confidence)}",
        label=f"Mean cost a row: {spoken}",
        axis="Cost a row. Smaller is better",
    )


def _best(d: Decision) -> str:
    at = "never acting" if math.isinf(d.best_threshold) else f"threshold {d.best_threshold:.4g}"
    if math.isnan(d.best_threshold):
        return "Costs differ by row, so no threshold was tuned."
    words = f"Best on these very rows (in-sample): {at}, cost {number(d.best_cost)} a row."
    if d.best_cost_cross_fitted is None or not d.optimism > 0:
        return words
    expected = number(d.best_cost_cross_fitted.value)
    return f"{words} This in-sample cost is optimistic by about {number(d.optimism)}; expect {expected}."


def _settings(d: Decision) -> str:
    costs = f"cost of a false positive {d.costs.false_positive:.6g}, of a false negative {d.costs.false_negative:.6g}"
    for name, cost in (("positive", d.costs.true_positive), ("negative", d.costs.true_negative)):
        costs += f", benefit of a true {name} {-cost:.6g}" if cost else ""
    return costs + " (means: costs differ by row)" * (not math.isnan(d.thresholds.low))


def facts_of(d: Decision | DecisionCurve) -> str:
    """Say how many forecasts there are, and how often the positive class occurred."""
    of = "" if d.n_clusters is None else f" in {number_of(d.n_clusters, 'cluster')}"
    rows = f"{number_of(d.n_rows, 'forecast')}{of}{' with weights' * d.weighted}"
    return f"{rows}; observed frequency of {short_name(str(d.labels[1]))!r} {number(d.frequency)}"


_MOST_THRESHOLDS = 11
"""Thresholds that a short table has: where they are equally spaced, each tenth of their range."""
_MOST_MODELS = 4
_MEANING = (
    "Net benefit: share of true positives minus share of false positives times the odds of the threshold. Larger is"
    " better."
)
_AVOIDED = " Avoided: interventions avoided in 100 rows, compared with acting on all, at no loss in true positives."


@document.register(DecisionCurve)
def decision_curve_document(c: DecisionCurve, naming: Naming, *, brief: bool) -> Document:
    """Describe a decision curve."""
    first, *others = (useful_words(each, rule, c.thresholds) for each, rule in c.models.items())
    notes = notes_by_name(c.notes, named=len(c.notes) > 1)
    settings = f"{confidence_interval(c.confidence)} at each threshold by itself (pointwise)"
    meaning = Prose(_MEANING + _AVOIDED * (len(c.models) == 1))
    blocks: list[Block] = [*_at_capacity(c), benefits_table(c, every=False), meaning]
    return Document(
        title=naming.titled("decision curve"),
        facts=naming.facts(facts_of(c)),
        headline=first,
        lead=" ".join(f"{each}." for each in others),
        calm=any(rule.useful.any() for rule in c.models.values()),
        figure=benefits_chart(c),
        first=Section("benefit", "Net benefit", blocks, "Net benefit"),
        sections=[
            Section("all", "All thresholds", [benefits_table(c, every=True)], "All thresholds"),
            how(f"Settings: {settings}.", {"Warnings": c.warnings, ROWS_CHANGED: notes}, naming.command),
        ],
        summary=blocks,
        settings=settings,
        warnings=[*c.warnings, *notes],
    )


def useful_words(name: str, rule: NetBenefit, thresholds: Floats) -> str:
    """Say at which thresholds a model is significantly better than acting on all rows and on none."""
    who = {MODEL: "The model", RECALIBRATED: "The recalibrated model"}.get(name, repr(short_name(name)))
    if not rule.useful.any():
        return f"{who} is at no threshold significantly better than both acting on all rows and acting on none"
    at = f"threshold{'s' * (int(rule.useful.sum()) > 1)} {', '.join(_ranges(rule.useful, thresholds))}"
    return f"{who} is significantly better than acting on all rows and on none at {at}"


def _ranges(where: Bools, thresholds: Floats) -> Iterator[str]:
    """Name runs of neighbouring thresholds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
    for start, stop in edges.reshape(-1, 2).tolist():
        low, high = thresholds[start], thresholds[stop - 1]
        yield f"{low:.3g}" if low == high else same_decimals(f"{low:.3g}", f"{high:.3g}")


def benefits_table(c: DecisionCurve, every: bool) -> Table:
    """Return net benefits at all thresholds, or at some of them."""
    size = c.thresholds.size
    at = np.arange(size) if every else np.unique(np.linspace(0, size - 1, _MOST_THRESHOLDS).round().astype(int))
    models = list(c.models.items())[: None if every else _MOST_MODELS]
    one = len(models) == 1
    columns = [Column("threshold", [f"{t:.3g}" for t in c.thresholds[at]]), _benefits("all", c.all, at, False)]
    names = short_names((name for name, _ in models), 16)
    columns += [_benefits(name, rule, at, one or every) for name, (_, rule) in zip(names, models, strict=True)]
    if one:
        rule = models[0][1]
        columns.append(Column("avoided", [number(x, 1) for x in (100 * rule.avoided[at]).tolist()]))
        columns.append(Column("acted on", [share(x) for x in rule.acted_on[at].tolist()]))
    left_out = len(c.models) - len(models)
    caption = f"{number_of(left_out, 'forecaster')} more: frame()" if left_out else ""
    if every:
        caption = "Net benefit at all thresholds."
    notes = confidence_interval(c.confidence) if one or every else ""
    return Table(caption, columns, brief=_MOST_THRESHOLDS, folded=every, notes=notes)


def _benefits(heading: str, rule: NetBenefit, at: np.ndarray, limits: bool) -> Column:
    column = curve_estimates(heading, rule.net_benefit[at], rule.low[at], rule.high[at])
    return column if limits else replace(column, notes=())


_ROLES: tuple[Role, ...] = ("first", "second", "fourth", "fifth", "sixth", "other")
"""Roles of the models' curves; further ones look like the last."""
_MOST_BANDS = 3
"""More bands on one another cannot be told apart."""


def benefits_chart(c: DecisionCurve, *, standardized: bool = False) -> Chart:
    """Draw the net benefits over the thresholds, those of acting on all rows and on none as references.

    Standardized ones are divided by the observed frequency, so that perfect decisions have 1.
    """
    top, x, of = (1.0, c.thresholds, _STANDARDIZED) if standardized else (c.frequency, c.thresholds, _PLAIN)
    benefit, low, high = of
    lowest = min(float(np.nanmin(getattr(rule, benefit))) for rule in c.models.values())
    title = "Standardized net benefit" if standardized else "Net benefit"
    low_end = max(-0.5 * top, min(-0.1 * top, 1.1 * lowest))
    y = value_axis(low_end, top if top > 0 else 0.1, f"{title}. Larger is better")
    lowest_all = y.low * c.frequency if standardized else y.low
    bottom = min((c.frequency - lowest_all) / (1 - lowest_all), x[-1])  # where the line of all rows leaves the frame
    lines = []
    for at, (name, rule) in enumerate(zip(short_names(c.models), c.models.values(), strict=True)):
        ends = rule.band(getattr(rule, low), getattr(rule, high)) if at < _MOST_BANDS else (None, None)
        lines.append(Line(x, getattr(rule, benefit), _ROLES[min(at, len(_ROLES) - 1)], name, ends[0], ends[1], name))
    if x[0] <= bottom:
        until = np.append(x[x < bottom], bottom)
        drawn = np.append(getattr(c.all, benefit)[x < bottom], max(y.low, getattr(c.all, benefit)[-1]))
        lines.append(Line(until, drawn, "third", "all", label="acting on all rows"))
    axis = f"Threshold probability of '{short_name(str(c.labels[1]))}'"
    spoken = "; ".join(useful_words(name, rule, x) for name, rule in c.models.items())
    return Chart(
        title=title,
        subtitle=f"With {confidence_interval(c.confidence)} at each threshold; the dashed line is acting on none",
        label=f"{title} over thresholds. {spoken}",
        x=percent_axis(axis) if c.drawn == (0, 1) else value_axis(*c.drawn, axis, lambda t, _: f"{100 * t:.3g}%"),
        y=y,
        lines=lines,
        references=(Reference(c.drawn, (0.0, 0.0)),),
    )


_PLAIN = ("net_benefit", "low", "high")
_STANDARDIZED = ("standardized", "standardized_low", "standardized_high")

drawn_as(DecisionCurve, benefits_chart)


_FEWEST_OF_EACH = 10
"""Rows of either outcome, below which a test by the normal distribution has less power than planned."""


@document.register(Plan)
def plan_document(p: Plan, naming: Naming, *, brief: bool) -> Document:
    """Describe how many rows a study needs."""
    known = "all predictions alike" if p.auc is None else f"AUC {p.auc:.4g}"
    least = math.ceil(round(_FEWEST_OF_EACH * p.design_effect / min(p.rate, 1 - p.rate), 6))  # 1 - 0.9 is below 0.1
    few = f"fewer than {_FEWEST_OF_EACH} of an outcome, for which the formula is inexact: take at least {least:,} rows"
    questions, rows = Column("question", [*p.needs], words=True), Column("rows", [count(n) for n in p.needs.values()])
    return Document(
        title="Plan",
        headline=f"You need {number_of(p.rows, 'row')}, with about {p.rows * p.rate:,.0f} events among them",
        lead=f"Expected: frequency {p.rate:.4g}, {known}, calibrated predictions, design effect {p.design_effect:.4g}."
        " Intervals are 95% CI; errors are tested at the level of 5%.",
        calm=True,
        summary=[Table.of("", questions, rows, brief=len(p.needs))],
        warnings=[few] if p.rows < least else (),
    )
