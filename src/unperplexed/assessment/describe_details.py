"""Tables of an assessment that give everything: averages, scores, bins, and the profile at all orders and floors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from .._lib.formatting import confidence_interval, short_name
from .._lib.typing import Floats
from ..report.document import Column, Table
from ..report.numbers import MINUS, between, count, number
from ..scores.registry import SCORES, score_named
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
    "slope": "(calibrated decisiveness \u2212 robustness) / (predicted decisiveness \u2212 robustness). 1 is best. It"
    " is no verdict: it moves with the floor, and a bias alone moves it off 1.",
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


def capital(text: str) -> str:
    """Begin with a capital letter."""
    return text[:1].upper() + text[1:]


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


def averages_after_remedy(a: Assessment) -> str:
    """Give the three averages after an advised remedy in a sentence; "" for none."""
    if a.advised is None or a.view == "top-label":
        return ""
    names = ", ".join(f"{name.replace('_', ' ')} {number(getattr(a.advised, name))}" for name in MEANS)
    return f"After the remedy (cross-fitted): {names}."


def short_averages_table(a: Assessment) -> Table:
    """Return the three averages without their ratios, and with their orders in the caption.

    A terminal has no room for their values after the remedy: `averages_after_remedy` gives these as a sentence.
    """
    whole = averages_table(a)
    names, *others = whole.columns
    return Table(
        f"Means of order 1, 0 and {MINUS}2/3 of the probabilities assigned to the outcomes. Larger is better. The first"
        " weighs the confident forecasts most, the last the worst ones; the second is exp of minus the log loss."
        f" {whole.caption}",
        [Column("", names.values), *(column for column in others if column.heading not in ("ratio", _AFTER))],
        notes=whole.notes,
    )


def scores_table(a: Assessment) -> Table:
    """All metrics and means of the scoring rules, with intervals and standard errors."""
    own = {"slope": a.slope, "divergence_probability": a.divergence_probability}
    own |= {"orientation": a.orientation} if not math.isnan(a.orientation) else {}
    values = {"prediction_accuracy": a.prediction_accuracy, **a.scores, **own}
    shown = {name: a.uncertainty.corrected.get(name, value) for name, value in values.items()}
    rows = [
        (name, value, a.intervals[name], a.score_standard_errors.get(name, math.nan)) for name, value in shown.items()
    ]
    return Table(
        "Scores have no floor.",
        [
            Column(
                "metric",
                [capital(name.replace("_", " ").replace("brier", "Brier")) for name, *_ in rows],
                meanings=[_score_meaning(name) for name, *_ in rows],
            ),
            Column("value", [number(value) for _, value, _, _ in rows], [between(*each) for _, _, each, _ in rows]),
            Column("standard error", [number(error) for *_, error in rows]),
            Column("better", [_better(name) for name, *_ in rows], words=True),
        ],
        notes=confidence_interval(a.uncertainty.confidence),
    )


def _score_meaning(name: str) -> str:
    if name in MEANINGS:
        return MEANINGS[name]
    return capital(f"{score_named(name).note}.") if name not in ("orientation",) else "Angle of the slope. 45 is best."


def _better(name: str) -> str:
    plain = {"prediction_accuracy": "larger", "slope": "1", "divergence_probability": "1", "orientation": "45"}
    return plain.get(name) or (SCORES[name] if name in SCORES else score_named(name)).better


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
        columns.insert(0, Column("class", [short_name(str(b.label[at]), 60) for at in largest.tolist()]))
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
