"""A risk-coverage curve as a document and a chart: what withholding the least confident answers leaves wrong."""

from __future__ import annotations

import numpy as np

from .._lib.formatting import confidence_interval
from ..assessment.risk_coverage import RiskCoverage
from ..report.chart import Chart, Line, Reference, percent_axis, percent_end
from ..report.document import Column, Document, Table
from ..report.numbers import count, number, share
from ..report.result import Naming, document, drawn_as
from ..report.tables import aside, ci, estimates


@document.register(RiskCoverage)
def risk_coverage_document(r: RiskCoverage, naming: Naming, *, brief: bool) -> Document:
    """Describe a risk-coverage curve."""
    half, level = r.points[4], confidence_interval(r.confidence)
    chance, best = number(r.area_by_chance), number(r.area_at_best)
    return Document(
        title="Risk-coverage curve",
        facts=naming.facts(f"{count(r.n)} forecasts"),
        headline=f"The area under the risk-coverage curve (AURC) is {number(r.area)}{aside(ci(level, r.interval))}",
        lead=f"Smaller is better. It would be {chance} if confidence said nothing, and {best} if each wrong forecast"
        " had a lower confidence than each right one. If you withhold the less confident half,"
        f" {share(half.risk)} of the rest are wrong instead of {share(r.area_by_chance)}.",
        calm=True,
        figure=risk_coverage_chart(r),
        summary=[risk_coverage_table(r)],
    )


def risk_coverage_table(r: RiskCoverage) -> Table:
    """Return the share of wrong top classes among the most confident forecasts, by the share that is kept."""
    return Table.of(
        f"Share of wrong forecasts among the most confident ones. Their mean (AURC) is {number(r.area)}.",
        Column("kept", [share(each.coverage) for each in r.points]),
        estimates("wrong", ((each.risk, each.interval) for each in r.points), share),
        Column("confidence from", [share(each.threshold) for each in r.points]),
        brief=len(r.points),
        notes=confidence_interval(r.confidence),
    )


def risk_coverage_chart(r: RiskCoverage) -> Chart:
    """Make the curve with its band, beside confidences that say nothing and those that part right from wrong."""
    of_points = zip(*((p.coverage, p.risk, *p.interval) for p in r.points), strict=True)
    x, y, low, high = (np.array(each) for each in of_points)
    right, chance = 1 - r.area_by_chance, r.area_by_chance
    at = np.linspace(max(right, x[0]), 1, 30)
    band = {"low": low, "high": high} if np.isfinite(low).any() else {}
    areas = f"{number(r.area)}; by chance {number(chance)}, at best {number(r.area_at_best)}"
    fewer = "fewer" if r.area < chance else "no fewer"
    return Chart(
        title=f"Withholding the least confident forecasts leaves {fewer} wrong ones",
        subtitle=f"Area under the curve (AURC) {areas}",
        label=f"Share of wrong forecasts by the share kept: {share(y[0])} of the most confident tenth, {share(y[4])} of"
        f" the half, {share(y[-1])} of all.",
        x=percent_axis("Share of forecasts kept, the most confident ones"),
        y=percent_axis("Share of these that are wrong", percent_end(y, high, np.array([1.05 * chance]))),
        lines=[
            Line(x, y, "observed", "Wrong", label="By confidence", **band),
            Line(at, 1 - right / at, "other", "At best", label="At best"),
        ],
        references=[Reference((0, 1), (chance, chance), "Confidence that says nothing")],
    )


drawn_as(RiskCoverage, risk_coverage_chart, risk_coverage_chart)
