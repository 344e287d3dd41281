"""A DecisionCurve as a document: where each model is useful, its net benefit at some of the thresholds, the curves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._lib.formatting import confidence_interval, number_of, short_name, short_names
from .._lib.typing import Bools, Floats
from ..report.chart import Chart, Line, Reference, Role, percent_axis, value_axis
from ..report.document import Column, Document, Prose, Section, Table
from ..report.numbers import between, number, same_decimals, share
from .decision_curve import MODEL, DecisionCurve
from .describe_decisions import facts_of, how_section, notes_of
from .net_benefit import NetBenefit
from .recalibrated import RECALIBRATED

_MOST_THRESHOLDS = 11
_MOST_MODELS = 4
_MEANING = (
    "Net benefit: share of true positives minus share of false positives times the odds of the threshold. Larger is"
    " better. Avoided: interventions avoided in 100 rows, compared with acting on all, at no loss in true positives."
)


def decision_curve_document(c: DecisionCurve, *, name: str = "", command: str = "") -> Document:
    """Describe a decision curve."""
    first, *others = (useful_words(each, rule, c.thresholds) for each, rule in c.models.items())
    called, notes = short_name(name, 200), [*notes_of(c.notes)]
    settings = f"{confidence_interval(c.confidence)} at each threshold by itself (pointwise)"
    some = benefits_table(c, every=False)
    return Document(
        title=f"{called}: decision curve" if name else "Decision curve",
        facts=facts_of(called, c),
        headline=first,
        lead=" ".join(f"{each}." for each in others),
        calm=any(rule.useful.any() for rule in c.models.values()),
        figure=benefits_chart(c),
        first=Section("benefit", "Net benefit", [some, Prose(_MEANING)], "Net benefit"),
        sections=[
            Section("all", "All thresholds", [benefits_table(c, every=True)], "All thresholds"),
            how_section(settings, c.warnings, notes, command),
        ],
        summary=[some, Prose(_MEANING)],
        settings=settings,
        warnings=[*c.warnings, *notes],
    )


def useful_words(name: str, rule: NetBenefit, thresholds: Floats) -> str:
    """Say at which thresholds a model is significantly better than acting on all rows and on none."""
    who = {MODEL: "The model", RECALIBRATED: "The recalibrated model"}.get(name, repr(short_name(name)))
    if not rule.useful.any():
        return f"{who} is at no threshold significantly better than both acting on all rows and acting on none"
    ranges = ", ".join(_ranges(rule.useful, thresholds))
    return f"{who} is significantly better than acting on all rows and on none at thresholds {ranges}"


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
    notes = [between(*ends) for ends in zip(rule.low[at].tolist(), rule.high[at].tolist(), strict=True)]
    return Column(heading, [number(x) for x in rule.net_benefit[at].tolist()], notes if limits else ())


_ROLES: tuple[Role, ...] = ("first", "second")
"""Roles of the models' curves; further ones look like the last."""


def benefits_chart(c: DecisionCurve) -> Chart:
    """Draw the net benefits over the thresholds, those of acting on all rows and on none as references."""
    top, x = c.frequency, c.thresholds
    lowest = min(float(np.nanmin(rule.net_benefit)) for rule in c.models.values())
    floor = max(-0.5 * top, min(-0.1 * top, 1.1 * lowest))
    here = c.all.net_benefit >= floor
    lines = [
        Line(x, rule.net_benefit, _ROLES[min(at, 1)], name, rule.low, rule.high, label=name)
        for at, (name, rule) in enumerate(zip(short_names(c.models), c.models.values(), strict=True))
    ]
    if here.any():
        lines.append(Line(x[here], c.all.net_benefit[here], "third", "all", label="acting on all rows"))
    spoken = "; ".join(useful_words(name, rule, x) for name, rule in c.models.items())
    return Chart(
        title="Net benefit",
        subtitle=f"With {confidence_interval(c.confidence)} at each threshold; the dashed line is acting on none",
        label=f"Net benefit over thresholds. {spoken}",
        x=percent_axis(f"Threshold probability of '{short_name(str(c.labels[1]))}'"),
        y=value_axis(floor, top if top > 0 else 0.1, "Net benefit. Larger is better"),
        lines=lines,
        references=(Reference((0.0, 1.0), (0.0, 0.0)),),
        shape="wide",
        percent=False,
    )
