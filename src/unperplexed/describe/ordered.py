"""Calibration of ordered classes as a document: location and spread, each threshold, and the PIT histogram."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .._lib.formatting import confidence_interval, p_value_cell, p_values, short_name, short_names
from ..assessment.ordered import OrderedAssessment, Threshold, findings_of, headline_of, lead_of, n_miscalibrated
from ..calibration.dependence_search import dependence_words
from ..pairing.dependence import dependent_text
from ..report.chart import Axis, Bars, Chart, Line, Points, Reference, percent_axis
from ..report.charts import unit_axis
from ..report.document import LONGEST_NAME, Column, Document, Section, SmallCharts, Table
from ..report.numbers import share
from ..report.result import Naming, document, drawn_as
from ..report.tables import curve_estimates, estimates, how
from .assessment_charts import MOST_CURVES, small_chart
from .diagnosis import short_verdict
from .skill import skill_blocks
from .tally import ROWS_CHANGED, counted, notes_lines


@document.register(OrderedAssessment)
def ordered_document(o: OrderedAssessment, naming: Naming, *, brief: bool) -> Document:
    """Describe the calibration of ordered classes."""
    notes = [*notes_lines(o.notes)]
    rows = dependent_text(o.n_clusters, None, None, None, o.dependence)
    settings = f"{rows}{', weighted' * o.weighted}, confidence level {o.confidence:g}"
    skills = skill_blocks(o.skill)
    curves = [
        small_chart(each.assessment, name)
        for each, name in zip(o.thresholds, short_names((each.name for each in o.thresholds), 28), strict=True)
        if 0 < each.frequency < 1
    ][:MOST_CURVES]
    sections = [
        Section("pit", "Where outcomes fall in their forecasts", [pit_chart(o), pit_table(o)], "PIT histogram"),
        Section("skill", "Skill against the base rate", skills, "Skill"),
        how(f"Settings: {settings}.", {ROWS_CHANGED: notes}, naming.command),
    ]
    if curves:
        words = f"Reliability diagram of each threshold{'' if len(curves) == len(o.thresholds) else ': the first'}"
        sections.insert(1, Section("curves", words, [SmallCharts(curves)], "Curves"))
    return Document(
        title=naming.titled(headline_of(o)),
        facts=naming.facts(counted(o.n_rows, len(o.labels), o.labels)),
        headline=headline_of(o),
        lead=f"{lead_of(o)} {dependence_words(o.dependence)}".rstrip(),
        calm=not [*findings_of(o)] and not n_miscalibrated(o),
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
    meaning = "Of the test for any miscalibration, not of the excess alone; Holm-adjusted."
    return Table.of(
        "Each threshold as an event. Excess: observed frequency − mean prediction. p-values: of any miscalibration.",
        Column("outcome is", short_names((each.name for each in found), LONGEST_NAME)),
        Column("mean prediction", [share(each.mean_prediction) for each in found]),
        Column("observed frequency", [share(each.frequency) for each in found]),
        estimates("excess", ((each.excess, each.excess_interval) for each in found)),
        Column(p_values(len(found)), [p_value_cell(each.adjusted_p_value) for each in found], meaning=meaning),
        Column("miscalibration", [_found(o, each) for each in found], words=True, detail=True),
        sortable=True,
        notes=confidence_interval(o.confidence, len(found)),
    )


def _found(o: OrderedAssessment, each: Threshold) -> str:
    d = each.assessment.diagnosis
    return short_verdict(d) if o.found(each) or not d.findings else "none detected"


def pit_table(o: OrderedAssessment) -> Table:
    """Return the PIT histogram."""
    edges, h = o.pit.edges, o.pit
    return Table.of(
        f"PIT histogram: where outcomes fall in their forecasts. Calibrated: {share(1 / h.share.size)} in each bin.",
        Column("PIT", [f"{low:.1f} to {high:.1f}" for low, high in pairwise(edges.tolist())]),
        curve_estimates("share of outcomes", h.share, h.lower, h.upper, share),
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
        title=headline_of(o),
        subtitle=f"PIT histogram with {confidence_interval(o.confidence)}; dashed: calibrated forecasts",
        label=f"PIT histogram. {'; '.join(texts)}",
        x=unit_axis("Place of the outcome in its forecast (PIT)"),
        y=Axis(0.0, ticks[-1][0], ticks[:: max(1, len(ticks) // 6)], "Share of outcomes", percent=True),
        bars=(Bars(h.edges[:-1], h.edges[1:], h.share, texts),),
        points=(Points(middle, h.share, h.lower, h.upper, texts=texts),),
        references=(Reference((0.0, 1.0), (expected, expected)),),
    )


drawn_as(OrderedAssessment, pit_chart)

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
    )
