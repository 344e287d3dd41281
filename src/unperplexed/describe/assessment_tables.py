"""Tables of an assessment: findings, metrics, classes, groups by prediction, surprising forecasts, and all the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lib.formatting import capital, confidence_interval, p_value_cell, printable, short_name
from .._lib.typing import Floats, Ints
from ..assessment.classes import ClassTable, PredictedTable
from ..assessment.result import Assessment
from ..calibration.diagnosis.result import Diagnosis
from ..report.document import LONGEST_NAME, Block, Column, Section, Strip, Table
from ..report.numbers import MINUS, between, count, number, points, share
from ..report.tables import aside, ci, curve_estimates, estimates
from ..statistics.means import t_quantile
from .assessment_charts import Event
from .assessment_metrics import each_as, paired

_FEW = 100


def findings_table(d: Diagnosis, cost: str = "cost in log loss") -> Table:
    """Findings, the costliest first, with estimate, cost under this heading, p-value and remedy."""
    found = d.findings
    return Table.of(
        "Each cost is the further gain after the findings above it.",
        Column("finding", [capital(each.clause.short) for each in found]),
        Column("estimate", [each.clause.beside for each in found], words=True),
        Column(cost, [number(each.cost) for each in found]),
        Column("p-value", [p_value_cell(each.p_value) for each in found]),
        Column("remedy", [each.advice.text or "\u2013" for each in found], words=True),
    )


def short_findings_table(d: Diagnosis) -> Table:
    """Findings in two columns: what each is, and what it costs."""
    found = d.findings
    return Table.of(
        "",
        Column("findings, costliest first", [f"{capital(x.short)}: {x.beside}" for x in (f.clause for f in found)]),
        Column("cost (nats)", [number(each.cost) for each in found]),
    )


def detectable_table(d: Diagnosis, bias_in_points: float) -> Table | None:
    """Return the smallest errors that the rows would have shown; None where they show none."""
    bias, slope = d.detectable.bias, d.detectable.slope
    if not math.isfinite(bias):
        return None
    size = f"{number(bias, 2)} in log-odds"
    shown = size if math.isnan(bias_in_points) else f"{100 * bias_in_points:.2g} points ({size})"
    names, sizes = ["Bias"], [f"{shown}, either way"]
    if math.isfinite(slope):
        names += ["Overconfidence"] * (slope < 1) + ["Underconfidence"]
        if d.n_classes > 2:
            over, under = 1 / (1 - slope) if slope < 1 else math.inf, 1 / (1 + slope)
            sizes += [f"temperature above {number(over, 2)}"] * (slope < 1) + [f"temperature below {number(under, 2)}"]
        else:
            sizes += [f"calibration slope below {number(1 - slope, 2)}, with the level right"] * (slope < 1)
            sizes += [f"calibration slope above {number(1 + slope, 2)}, with the level right"]
    return Table(
        f"Smallest errors that {d.n_rows:,} rows with these predictions show with 80% power (test at 5%).",
        [Column("error", names), Column("shown from", sizes, words=True)],
    )


def precision_table(a: Assessment) -> Table | None:
    """Return precision at tenths of the recall, and average precision; None where there is none."""
    curve, average = a.precision_recall, a.average_precision
    if curve is None or average is None:
        return None
    level, by_chance = confidence_interval(a.source.sampling.confidence), number(curve.frequency)
    return Table.of(
        f"Average precision {number(average.value)}{aside(ci(level, average.interval))}; by chance {by_chance}.",
        Column("recall", [share(x) for x in curve.recall.tolist()]),
        curve_estimates("precision", curve.precision, curve.low, curve.high, share),
        Column("from probability", [number(x) for x in curve.threshold.tolist()]),
        Column("acted on", [share(x) for x in curve.acted_on.tolist()]),
        notes=level,
    )


def groups_table(event: Event) -> Table:
    """Return groups of about equal size by predicted probability."""
    groups, limits = event.groups, event.intervals
    known = not math.isnan(limits[0].low)
    observed = zip(groups.observed.tolist(), limits, strict=True)
    strips = [
        Strip(float(p), float(o), *((low, high) if known else (float(o), float(o))))
        for p, o, (low, high) in zip(groups.mean, groups.observed, limits, strict=True)
    ]
    ranges = [between(low, high, share) for low, high in paired(groups.lowest, groups.highest)]
    return Table.of(
        f"Groups of about equal size.{'' if known else ' Weighted or dependent rows have no interval here.'}",
        Column("predicted range", ranges),
        Column("rows", each_as(groups.total, count)),
        Column("mean predicted", each_as(groups.mean, share)),
        estimates("observed frequency", observed, share),
        Column("difference in points", each_as(groups.mean - groups.observed, points)),
        Column("", [""] * len(groups), strips=strips),
        sortable=True,
        notes=f"Wilson {confidence_interval(event.confidence)}" if known else "",
    )


def diagram_table(event: Event) -> Table:
    """Return the curve of the reliability diagram as numbers."""
    curve = event.curve
    at = [p for p in (0.001, 0.01, 0.05, *(k / 10 for k in range(1, 10)), 0.95, 0.99, 0.999)
          if curve.predicted[0] <= p <= curve.predicted[-1]]  # fmt: skip
    observed, low, high = (np.interp(at, curve.predicted, x) for x in (curve.observed, curve.low, curve.high))
    return Table.of(
        "The diagram as a table",
        Column("predicted", [share(p) for p in at]),
        curve_estimates("observed, by the curve", observed, low, high, share),
        folded=True,
        notes=confidence_interval(event.confidence) if np.isfinite(low).any() else "",
    )


def class_table(a: Assessment) -> Table | None:
    """Classes with support, accuracy, precision, recall, mean prediction and observed frequency."""
    each = a.by_class
    if each is None or each.predicted is None or each.classes is None:
        return _summed_classes(a)
    return _counted_classes(each, each.classes, each.predicted)


def _counted_classes(a: Assessment, c: ClassTable, predicted: PredictedTable) -> Table:
    order = np.argsort(predicted.index)[c.index]
    made, right, confidence = (x[order] for x in (predicted.predicted, predicted.right, predicted.mean_confidence))
    hits = np.where(made > 0, right * made, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = np.where(c.happened > 0, hits / c.happened, np.nan)
    reach = float(t_quantile(a.uncertainty.confidence, math.inf))
    gaps = [between(g - reach * e, g + reach * e, points) for g, e in paired(c.gap, c.gap_standard_error)]
    strips = _strips(c.mean_reported, c.frequency, reach * c.gap_standard_error) if len(c) <= _FEW else []
    columns = [
        Column("class", _labels(c.label, c.index)),
        Column("support", each_as(c.happened, count), meaning="Rows in which the class is observed."),
        Column("mean predicted", each_as(c.mean_reported, share)),
        Column("observed frequency", each_as(c.frequency, share)),
        Column("difference in points", each_as(c.gap, points), gaps, meaning="Mean predicted − observed. 0 is best."),
        *([Column("", [""] * len(c), strips=strips)] if strips else []),
        Column("p-value", each_as(c.gap_p_value, p_value_cell), meaning="If the forecasts are calibrated."),
        Column("precision", each_as(right, share), meaning="Share of its predictions that are correct."),
        Column("mean confidence", each_as(confidence, share), meaning="Mean probability of its predictions."),
        Column("recall", each_as(recall, share), meaning="Share of its rows that are predicted so."),
        Column("cost in nats", each_as(c.miscalibration, number), meaning="Gain in log loss by recalibration."),
    ]  # fmt: skip
    notes = confidence_interval(a.uncertainty.confidence) if any(gaps) else ""
    caption = (
        "All rows; the class with the largest cost first. p-values are of each class by itself, not adjusted for their"
        " number, and of calibrated forecasts; intervals are wider where rows vary more than such forecasts do."
    )
    return Table(caption, columns, sortable=True, notes=notes)


def more_of_classes(a: Assessment) -> Table:
    """Return averages, slope, divergence and calibration errors of each of several classes, in the each-class view."""
    c, predicted = a.classes, a.predicted
    assert c is not None
    columns = [
        Column("class", _labels(c.label, c.index)),
        Column("predicted geometric accuracy", each_as(c.reported_geometric_accuracy, number)),
        Column("calibrated geometric accuracy", each_as(c.measured_geometric_accuracy, number)),
        Column("slope of the averages", each_as(c.averages_slope, number), meaning="1 is best."),
        Column("divergence probability", each_as(c.divergence_probability, number)),
        Column(
            "calibration error", each_as(c.calibration_error, number), meaning="Mean distance of the curve. 0 is best."
        ),
    ]
    if predicted is not None:
        order = np.argsort(predicted.index)[c.index]
        columns += [
            Column("predictions", each_as(predicted.predicted[order], count)),
            Column("difference of confidence and precision, points", each_as(predicted.gap[order], points)),
            Column("calibration error of its predictions", each_as(predicted.calibration_error[order], number)),
        ]
    return Table("Averages and calibration errors of each class", columns, sortable=True, folded=True)


def confusions_table(a: Assessment) -> Table | None:
    """Return the confused classes that cost most; None where there are none, or the rows are not at hand."""
    c = a.confusions
    if c is None or not len(c):
        return None
    names = range(len(c))
    return Table.of(
        f"Confused classes, the costliest first. Loss: their part of the log loss at the floor {a.floor:g}, in nats.",
        Column("predicted", [short_name(str(c.predicted[at]), 40) for at in names], words=True),
        Column("observed", [short_name(str(c.observed[at]), 40) for at in names], words=True),
        Column("rows", each_as(c.weight, count)),
        Column("probability of the observed class", each_as(c.probability, number), meaning="Geometric mean."),
        Column("loss", each_as(c.loss, number)),
        Column("share of the log loss", each_as(c.share, share)),
        sortable=True,
        folded=len(c) > 20,
    )


def _summed_classes(a: Assessment) -> Table | None:
    """Classes from the sums that a diagnosis is made of, where classes were not counted one by one."""
    sums = a.source.tally.diagnosis
    if sums is None or a.n_classes <= 2:
        return None
    weight = a.source.tally.weight
    predicted, observed = sums["predicted"] / weight, sums["observed"] / weight
    gap = predicted - observed
    order = np.argsort(-np.abs(gap), kind="stable")
    exchangeable = not a.weighted and not a.clustered
    half = float(t_quantile(a.uncertainty.confidence, math.inf)) * np.sqrt(sums["information"]) / weight
    limits = [between(g - h, g + h, points) for g, h in paired(gap[order], half[order])] if exchangeable else []
    strips = _strips(predicted[order], observed[order], half[order] * exchangeable)
    return Table.of(
        "All rows; the largest difference first.",
        Column("class", _labels([a.labels[at] for at in order.tolist()], order)),
        Column("support", each_as(sums["observed"][order], count)),
        Column("mean predicted", each_as(predicted[order], share)),
        Column("observed frequency", each_as(observed[order], share)),
        Column("difference in points", each_as(gap[order], points), limits),
        Column("", [""] * order.size, strips=strips),
        sortable=True,
        notes=confidence_interval(a.uncertainty.confidence) if exchangeable else "",
    )


def _strips(predicted: Floats, observed: Floats, half: Floats) -> list[Strip]:
    """Place both on a line that reaches from the smallest to the largest of all."""
    half = np.nan_to_num(half)
    low = float(min(predicted.min(), (observed - half).min()))
    high = float(max(predicted.max(), (observed + half).max()))
    room = max(high - low, 1e-9)

    def place(x: Floats) -> list[float]:
        return [float(each) for each in np.clip((x - low) / room, 0, 1)]

    return [Strip(*x) for x in zip(*map(place, (predicted, observed, observed - half, observed + half)), strict=True)]


def _labels(labels: Sequence[object], index: Ints) -> list[str]:
    pairs = zip(labels, index.tolist(), strict=True)
    return [f"column {at}" if label is None else short_name(str(label), LONGEST_NAME) for label, at in pairs]


def surprises_table(a: Assessment) -> Table | None:
    """Rows whose outcome was assigned the lowest probability."""
    s = a.surprises
    if s is None or not len(s):
        return None
    total = float(s.share.sum())
    part = f"; together they make up {share(total)} of the log loss at the floor" if math.isfinite(total) else ""
    names = [("?" if label is None else short_name(str(label), LONGEST_NAME)) for label in (*s.predicted, *s.happened)]
    columns = [
        Column("row", [f"{row:,}" for row in s.row.tolist()], meaning="Number of the row, from 0."),
        Column("predicted", names[: len(s)], each_as(s.highest, _probability), words=True),
        Column("observed", names[len(s) :], words=True),
        Column("probability of the outcome", each_as(s.probability, _probability)),
        Column("share of the log loss", each_as(s.share, share)),
    ]
    if len(set(s.source)) > 1:
        columns.insert(1, Column("source", [printable(each) for each in s.source], words=True))
    caption = f"Rows whose outcome was assigned the lowest probability{part}."
    return Table(caption, columns, sortable=True, notes="probability")


def _probability(p: float) -> str:
    if 0.9995 <= p < 1:
        return "> 0.999"
    return number(p) if p >= 0.001 or p == 0 else f"{p:.1e}".replace("e-", f"e{MINUS}")


def groups_found(found: Any, *, brief: bool) -> list[Block]:
    """Give the groups in which forecasts are wrong, if they were searched."""
    if found is None:
        return []
    from .where import found_blocks

    return found_blocks(found, brief)


def groups_sections(found: Any) -> list[Section]:
    """Give the section of the groups in which forecasts are wrong, if they were searched."""
    blocks = groups_found(found, brief=False)
    return [Section("where", "Groups of rows in which they are wrong", blocks, "Where")] if blocks else []
