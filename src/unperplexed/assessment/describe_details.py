"""Tables of an assessment that give everything: averages, scores, bins, and the profile at all orders and floors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .._lib.formatting import capital, confidence_interval, short_names
from .._lib.typing import Floats
from ..report.document import Column, Metric, Table
from ..report.numbers import MINUS, between, count, number
from .describe_words import MEANS, mean_and_interval
from .result import Assessment

MEANINGS = {
    "decisiveness": "Arithmetic mean of the probabilities assigned to the observed classes (order 1). Confident"
    " forecasts move it most. Larger is better.",
    "geometric_accuracy": "Geometric mean of the probabilities assigned to the observed classes (order 0): exp of minus"
    " the log loss at this floor. A uniform forecast of C classes has 1/C. Larger is better.",
    "robustness": "Mean of order \u22122/3 of the probabilities assigned to the observed classes. The smallest of them"
    " move it most. Larger is better.",
    "prediction_accuracy": "Share of rows whose most probable class is the observed one; a k-way tie counts 1/k."
    " Larger is better. It ignores the probabilities themselves.",
    "averages_slope": "(calibrated decisiveness \u2212 robustness) / (predicted decisiveness \u2212 robustness). 1 is"
    " best. It is no verdict: it moves with the floor, and a bias alone moves it off 1.",
    "divergence_probability": "Predicted / calibrated geometric accuracy: the part that is not lost to miscalibration."
    " 1 is best.",
}
"""What each metric is, on demand."""

MOST_BINS = 60


def paired(a: Floats, b: Floats) -> Iterable[tuple[float, float]]:
    """Give two columns as pairs."""
    return zip(a.tolist(), b.tolist(), strict=True)


def each_as(column: Floats, form: Callable[[float], str]) -> list[str]:
    """Give each value of a column in a form."""
    return [form(value) for value in np.asarray(column, dtype=np.float64).tolist()]


def averages_table(a: Assessment) -> Table:
    """Return the three averages, as predicted, as calibrated and after an advised remedy."""
    rows = [[mean_and_interval(a, kind, name) for name in MEANS] for kind in ("reported", "measured")]
    ratios = [
        getattr(a.reported, name) / getattr(a.measured, name) if getattr(a.measured, name) > 0 else math.nan
        for name in MEANS
    ]
    orders = {"decisiveness": "order 1", "geometric_accuracy": "order 0", "robustness": f"order {MINUS}2/3"}
    names = [capital(name.replace("_", " ")) for name in MEANS]
    after = []
    if a.advised is not None and a.view != "top-label":
        after.append(Column(_AFTER, [number(getattr(a.advised, name)) for name in MEANS]))
    return Table(
        f"Probabilities below {a.floor:g} are raised to it."
        if a.floor
        else "No floor: one outcome predicted with probability 0 makes two of the averages 0.",
        [
            Column("average", names, list(orders.values()), meanings=[MEANINGS[name] for name in MEANS]),
            *(
                Column(head, [value for value, _ in row], [limits for _, limits in row])
                for head, row in zip(("predicted", "calibrated"), rows, strict=True)
            ),
            *after,
            Column("ratio", [number(ratio) for ratio in ratios]),
        ],
        notes=confidence_interval(a.uncertainty.confidence),
    )


_AFTER = "after remedy"


def short_averages_table(a: Assessment) -> Table:
    """Return the three averages, without their ratios and their values after the remedy: a terminal has no room."""
    whole = averages_table(a)
    names, *others = whole.columns
    rest = [column for column in others if column.heading not in ("ratio", _AFTER)]
    raised = f"In all three, unlike in the log loss above, probabilities below {a.floor:g} are raised to it."
    return Table(
        "Averages of the probabilities assigned to the outcomes. Larger is better. Decisiveness (order 1) weighs the"
        " confident forecasts most, robustness (order \u22122/3) the worst ones; geometric accuracy (order 0) is exp of"
        f" minus the log loss. {raised if a.floor else whole.caption}",
        [Column("", names.values), *rest],
        notes=whole.notes,
    )


def scores_table(a: Assessment, metrics: Sequence[Metric]) -> Table:
    """Return metrics and scores with their intervals, values after the remedy and references."""
    columns = [
        Column("metric", [each.name for each in metrics], meanings=[each.meaning for each in metrics]),
        Column("value", [each.value for each in metrics], [each.interval for each in metrics]),
        Column("after remedy", [each.after or "\u2013" for each in metrics], detail=a.advised is None),
        Column("reference", [each.reference for each in metrics], words=True),
        Column("better", [each.better or each.best for each in metrics], words=True),
    ]
    return Table(
        "The verdict and these scores have no floor.",
        [column for column in columns if not column.detail],
        notes=confidence_interval(a.uncertainty.confidence),
    )


def bins_table(a: Assessment) -> Table:
    """Return the bins of the estimator, by contribution."""
    b = a.bins
    largest = np.sort(np.argsort(-np.abs(np.nan_to_num(b.contribution)), kind="stable")[:MOST_BINS])
    caption = f"The {len(b):,} bins of the curve"
    if largest.size < len(b):
        caption = f"The {largest.size} bins of the curve with the largest contribution, of {len(b):,}"
    columns = [
        Column("lowest", each_as(b.lowest[largest], number)),
        Column("highest", each_as(b.highest[largest], number)),
        Column("mean predicted", each_as(b.mean_reported[largest], number)),
        Column("calibrated", each_as(b.measured[largest], number)),
        Column("events", each_as(b.happened[largest], count)),
        Column("of", each_as(b.total[largest], count)),
        Column("contribution", each_as(b.contribution[largest], number)),
    ]
    if b.label:
        columns.insert(0, Column("class", short_names((str(b.label[at]) for at in largest.tolist()), 200)))
    return Table(caption, columns, sortable=True, folded=True)


def profile_table(a: Assessment) -> Table:
    """Return the risk profile at all orders."""
    profile, measured = a.profile, a.measured_profile
    low, high = profile.interval(a.uncertainty.confidence)
    limits = [between(*x) for x in paired(low, high)]
    few = ["few rows" if each else "" for each in profile.few_rows.tolist()]
    of_measured = [between(*x) for x in paired(measured.low, measured.high)]
    return Table(
        f"The profile at {profile.orders.size} orders",
        [
            Column("order", [number(x, 2) if math.isfinite(x) else number(x) for x in profile.orders.tolist()]),
            Column("predicted", each_as(profile.values, number), limits),
            Column("calibrated", each_as(measured.values, number), of_measured),
            Column("", few, words=True),
        ],
        folded=True,
        notes=confidence_interval(a.uncertainty.confidence) if any([*limits, *of_measured]) else "",
    )


def floors_table(a: Assessment) -> Table:
    """Return the averages at other floors."""
    rows = a.floor_sensitivity
    return Table(
        "The averages at other floors",
        [
            Column("floor", [f"{floor:g}" for floor in rows]),
            Column("decisiveness", [number(x.decisiveness) for x in rows.values()]),
            Column("geometric accuracy", [number(x.geometric_accuracy) for x in rows.values()]),
            Column("robustness", [number(x.robustness) for x in rows.values()]),
        ],
        folded=True,
    )
