"""Calibration of ordered classes as a document: location and spread, each threshold, and the PIT histogram."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from .._lib.formatting import (
    capital,
    confidence_interval,
    number_of,
    p_value_cell,
    p_value_text,
    p_values,
    short_name,
    short_names,
)
from ..calibration.diagnosis.describe import short_verdict
from ..pairing.dependence import dependent_text
from ..pairing.describe_skill import skill_blocks
from ..report.chart import Axis, Bars, Chart, Line, Points, Reference, percent_axis
from ..report.document import Block, Code, Column, Document, Notes, Prose, Section, SmallCharts, Table
from ..report.numbers import between, number, share
from ..report.result import Naming
from ..tally.describe import counted, notes_lines
from .describe_charts import MOST_CURVES, small_chart
from .ordered_result import OrderedAssessment, PitMoment


def ordered_verdict(o: OrderedAssessment) -> str:
    """Say what is wrong with location and spread, and at how many thresholds."""
    return f"{_headline(o)}. {_lead(o)}"


def _headline(o: OrderedAssessment) -> str:
    found = [*_findings(o)]
    if found:
        text = "; ".join(found)
        return capital(text)
    few = _miscalibrated(o)
    if few:
        return f"{few} of {number_of(len(o.thresholds), 'threshold')} {'is' if few == 1 else 'are'} miscalibrated"
    return f"No evidence of miscalibration (n = {o.n_rows:,})"


def _findings(o: OrderedAssessment) -> Iterator[str]:
    biased = o.significant(o.location.adjusted_p_value)
    if biased:
        yield f"outcomes are {'higher' if o.location.value > 0.5 else 'lower'} than predicted"
    if o.significant(o.spread.adjusted_p_value):
        if o.spread.value < 1:
            yield "forecasts are too wide: outcomes lie in their middle too often"
        elif biased:  # which moves outcomes into the tails as well
            yield "outcomes lie in the tails of the forecasts too often"
        else:
            yield "forecasts are too narrow: outcomes lie in their tails too often"


def _miscalibrated(o: OrderedAssessment) -> int:
    return sum(map(o.found, o.thresholds))


def _lead(o: OrderedAssessment) -> str:
    level = confidence_interval(o.confidence, together=2)
    few = _miscalibrated(o)
    return (
        f"Mean of the PIT: {_moment(o.location, level)} (calibrated: 0.5). Spread of the PIT:"
        f" {_moment(o.spread, level)} (calibrated: 1; larger: forecasts too narrow). Miscalibrated at {few} of"
        f" {number_of(len(o.thresholds), 'threshold')}, p-values Holm-adjusted for their number."
    )


def _moment(m: PitMoment, level: str) -> str:
    limits = between(*m.interval)
    in_brackets = [f"{level} {limits}"] if limits else []
    in_brackets += [p_value_text(m.adjusted_p_value)] if not math.isnan(m.adjusted_p_value) else []
    about = f" ({', '.join(in_brackets)})" if in_brackets else ""
    return f"{number(m.value)}{about}"


def ordered_document(o: OrderedAssessment, naming: Naming) -> Document:
    """Describe the calibration of ordered classes."""
    name = short_name(naming.name, 200)
    notes = [*notes_lines(o.notes)]
    rows = dependent_text(o.n_clusters, None, None, None)
    settings = f"{rows}{', weighted' * o.weighted}, confidence level {o.confidence:g}"
    how: list[Block] = [Prose(f"Settings: {settings}.", quiet=True)]
    how += [Notes("Rows left out or changed", notes)] if notes else []
    how += [Code(naming.command, "Make this report again")] if naming.command else []
    skills = skill_blocks(o.skill)
    curves = [
        small_chart(each.assessment, name)
        for each, name in zip(o.thresholds, short_names((each.name for each in o.thresholds), 28), strict=True)
        if 0 < each.frequency < 1
    ][:MOST_CURVES]
    sections = [
        Section("pit", "Where outcomes fall in their forecasts", [pit_chart(o), pit_table(o)], "PIT histogram"),
        Section("skill", "Skill against the base rate", skills, "Skill"),
        Section("how", "How this was computed", how, "Settings"),
    ]
    if curves:
        words = f"Reliability diagram of each threshold{'' if len(curves) == len(o.thresholds) else ': the first'}"
        sections.insert(1, Section("curves", words, [SmallCharts(curves)], "Curves"))
    return Document(
        title=f"{f'{name}: ' if name else ''}{_headline(o)}",
        facts=" · ".join(filter(None, [name, counted(o.n_rows, len(o.labels), o.labels)])),
        headline=_headline(o),
        lead=_lead(o),
        calm=not [*_findings(o)] and not _miscalibrated(o),
        figure=thresholds_chart(o),
        first=Section("thresholds", "Each threshold as an event", [thresholds_table(o)], "Thresholds"),
        sections=sections,
        summary=[thresholds_table(o), pit_table(o), *skills],
        settings=settings,
        warnings=notes,
    )


def thresholds_table(o: OrderedAssessment) -> Table:
    """Return each threshold with its mean prediction, observed frequency, and test."""
    found = o.thresholds
    return Table(
        "Each threshold as an event. Excess: observed frequency − mean prediction. p-values: of any miscalibration.",
        [
            Column("outcome is", short_names((each.name for each in found), 200)),
            Column("mean prediction", [share(each.mean_prediction) for each in found]),
            Column("observed frequency", [share(each.frequency) for each in found]),
            Column(
                "excess",
                [number(each.excess) for each in found],
                [between(*each.excess_interval) for each in found],
            ),
            Column(
                p_values(len(found)),
                [p_value_cell(each.adjusted_p_value) for each in found],
                meaning="Of the test for any miscalibration, not of the excess alone; Holm-adjusted.",
            ),
            Column(
                "miscalibration",
                [
                    short_verdict(each.assessment.diagnosis)
                    if o.found(each) or not each.assessment.diagnosis.findings
                    else "none detected"
                    for each in found
                ],
                words=True,
                detail=True,
            ),
        ],
        sortable=True,
        notes=confidence_interval(o.confidence, len(found)),
    )


def pit_table(o: OrderedAssessment) -> Table:
    """Return the PIT histogram."""
    edges, h = o.pit.edges, o.pit
    return Table(
        f"PIT histogram: where outcomes fall in their forecasts. Calibrated: {share(1 / h.share.size)} in each bin.",
        [
            Column("PIT", [f"{low:.1f} to {high:.1f}" for low, high in pairwise(edges.tolist())]),
            Column(
                "share of outcomes",
                [share(each) for each in h.share.tolist()],
                [between(*limits, share) for limits in zip(h.lower.tolist(), h.upper.tolist(), strict=True)],
            ),
        ],
        notes=confidence_interval(o.confidence),
    )


def pit_chart(o: OrderedAssessment) -> Chart:
    """Draw the PIT histogram with a confidence interval of each bin."""
    h = o.pit
    middle = (h.edges[:-1] + h.edges[1:]) / 2
    expected = 1 / h.share.size
    top = max(float(np.nanmax(np.append(h.upper, h.share))), 2 * expected)
    ticks = [(at / 20, f"{5 * at}%" if at else "0") for at in range(int(top * 20) + 2)]
    texts = [f"PIT {low:.1f} to {low + expected:.1f}: {share(y)}" for low, y in zip(h.edges[:-1], h.share, strict=True)]
    return Chart(
        title=_headline(o),
        subtitle=f"PIT histogram with {confidence_interval(o.confidence)}; dashed: calibrated forecasts",
        label=f"PIT histogram. {'; '.join(texts)}",
        x=Axis(0.0, 1.0, [(at / 5, f"{at / 5:g}") for at in range(6)], "Place of the outcome in its forecast (PIT)"),
        y=Axis(0.0, ticks[-1][0], ticks[:: max(1, len(ticks) // 6)], "Share of outcomes"),
        bars=(Bars(h.edges[:-1], h.edges[1:], h.share, texts),),
        points=(Points(middle, h.share, h.lower, h.upper, texts=texts),),
        references=(Reference((0.0, 1.0), (expected, expected)),),
        shape="wide",
    )


_MOST_TICKS = 10


def thresholds_chart(o: OrderedAssessment) -> Chart:
    """Draw mean exceedance probability and observed frequency by threshold."""
    found = o.thresholds
    at = np.arange(1, len(found) + 1, dtype=np.float64)
    predicted, observed = (
        np.array([getattr(each, name) for each in found]) for name in ("mean_prediction", "frequency")
    )
    limits = np.array([each.excess_interval for each in found]) + predicted[:, None]
    step = -(-len(found) // _MOST_TICKS)
    ticks = [*zip(at.tolist(), short_names((str(each.label) for each in found), 10), strict=True)][::step]
    texts = [
        f"{short_name(each.name)}: predicted {share(each.mean_prediction)}, observed {share(each.frequency)}"
        for each in found
    ]
    return Chart(
        title="Exceedance: mean prediction and observed frequency",
        subtitle=f"Points: observed, with {confidence_interval(o.confidence)} of observed − predicted; line: predicted",
        label=f"Exceedance by threshold. {'; '.join(texts)}",
        x=Axis(0.5, len(found) + 0.5, ticks, "Outcome is this class or above"),
        y=percent_axis("Probability, frequency"),
        lines=(Line(at, predicted, "calibrated", "Predicted"),),
        points=(Points(at, observed, np.clip(limits[:, 0], 0, 1), np.clip(limits[:, 1], 0, 1), texts=texts),),
        shape="wide",
    )
