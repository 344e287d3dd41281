"""Key figures of an assessment, each with its interval and a reference, and the settings behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from .._lib.formatting import capital, confidence_interval, number_of, p_value_text, percent, rule_text, short_names
from .._lib.typing import Floats
from ..assessment.result import Assessment
from ..calibration.dependence_search import looked_at_words
from ..report.document import LONGEST_NAME, Block, Column, Metric, Prose, Table
from ..report.numbers import MINUS, MISSING, between, count, estimate, number, rounded, share, share_estimate
from ..report.tables import curve_estimates, noted
from ..scores.rules import is_printed, score_named
from ..statistics.intervals import Interval
from . import assessment_words as words
from .assessment_charts import Event
from .profile import FEW
from .tally import notes_lines

KEY_SCORES = ("log_loss", "brier_score")


def key_metrics(event: Event) -> Iterator[Metric]:
    """Five familiar metrics, each with its interval, its value after the remedy and a reference."""
    a, two = event.assessment, event.two
    constant = a.reference_scores
    what = "base rate" if two else "uniform"
    if not two:
        reference = f"{what} {share(constant['accuracy'])}" if a.n_classes > 2 else ""
        yield _accuracy(a, reference)
    log_loss = brier_score = ece = slope_after = ""
    if (after := a.advised) is not None:
        log_loss, brier_score = number(after.log_loss), number(after.brier_score)
        ece, slope_after = number(after.ece), number(after.slope)
    yield _score(a, "log_loss", "Log loss", log_loss, f"{what} {number(constant['log_loss'])}")
    name = "Brier score (both classes)" if a.n_classes == 2 else "Brier score"
    yield _score(a, "brier_score", name, brier_score, f"{what} {number(constant['brier_score'])}")
    if a.auc is not None:
        shown, limits = number(a.auc.value), between(*a.auc.interval)
        same = "" if after is None else "same"  # the maps of two classes keep the order
        yield Metric(words.TITLES["auc"], words.MEANING["auc"], shown, limits, same, "by chance 0.5", "larger")
    chance = "" if math.isnan(a.ece_by_chance) else f"by chance {number(a.ece_by_chance)}"
    of_top = "" if two else ", of the most probable class"
    limits, meaning = between(*a.ece.interval), f"{words.MEANING['ece']}{of_top}."
    yield Metric(words.TITLES["ece"], meaning, number(a.ece.value), limits, ece, chance, "smaller")
    slope, meaning = a.slope, f"{words.MEANING['calibration slope']}{of_top}. {words.MEANING['slope sides']}"
    name = words.TITLES["slope"] + ("" if two else ", top class")
    limits = between(*slope.interval)
    yield Metric(name, meaning, number(slope.value), limits, slope_after, "1 is best", best="1")


def means_of_event(event: Event) -> Iterator[Metric]:
    """What the key metrics of two classes lack: intercept, accuracy, mean prediction and observed frequency."""
    a = event.assessment
    if not event.two:
        return
    intercept = a.intercept
    if not math.isnan(intercept.value):
        shown, limits = rounded(intercept.value), between(*intercept.interval)
        yield Metric(words.TITLES["intercept"], words.MEANING["intercept"], shown, limits, "", "0 is best", best="0")
    yield _accuracy(a, f"base rate {share(a.reference_scores['accuracy'])}")
    if a.bias is not None and not words.evidence_is_of_all_rows(event):  # which has both
        yield Metric(f"Mean prediction of {event.name}", "", share(a.bias.mean_reported))
        yield Metric("Observed frequency", "", share(a.bias.frequency), words.frequency_interval(a))


def further_scores(a: Assessment) -> Iterator[Metric]:
    """Yield the scores that were asked for by name, as far as they are shown."""
    for name, value in a.scores.items():
        score = score_named(name)
        if name in KEY_SCORES or not is_printed(name, a.source.asked):
            continue
        shown, limits = estimate(value, a.intervals[name], most=4)
        title = capital(rule_text(name))
        yield Metric(title, capital(f"{score.note}."), shown, limits, better=score.better)


def _accuracy(a: Assessment, reference: str) -> Metric:
    value, limits = share_estimate(a.prediction_accuracy, a.intervals["prediction_accuracy"])
    after = "" if a.advised is None else share(a.advised.accuracy)
    return Metric(words.TITLES["accuracy"], words.MEANING["accuracy"], value, limits, after, reference, "larger")


def papers_metrics(a: Assessment) -> Iterator[str]:
    """Give the slope of the averages and the divergence probability, each with its interval."""
    for name, title in (
        ("averages_slope", "Slope of the averages"),
        ("divergence_probability", "divergence probability"),
    ):
        value, interval = words.metric_and_interval(a, name)
        about = [f"{words.level_of(a)} {interval}"] if interval else []
        none = "1 is best" if value != MISSING else "none in this view"
        about += [words.slope_note(a) if name == "averages_slope" else none]
        yield f"{title} {value} ({'; '.join(about)})"


def _score(a: Assessment, rule: str, name: str, after: str, reference: str) -> Metric:
    value, interval = a.scores.get(rule, math.nan), a.intervals.get(rule, Interval(math.nan, math.nan))
    if math.isinf(value):
        rows = "rows" if a.weighted else number_of(round(a.zero_given), "row")
        reference = f"{rows} assigned 0"
    shown, limits = estimate(value, interval, most=4)
    return Metric(name, words.MEANING[rule], "∞" if math.isinf(value) else shown, limits, after, reference, "smaller")


def papers_scores(a: Assessment) -> Iterator[Metric]:
    """Yield the other scores, the slope of the averages with its angle, and the divergence probability."""
    for name, value in a.scores.items():
        if name not in KEY_SCORES:
            score = score_named(name)
            meaning, limits = capital(f"{score.note}."), between(*a.intervals[name])
            title = capital(name.replace("_", " ").replace("brier", "Brier"))
            yield Metric(title, meaning, number(value), limits, better=score.better)
    for name, title, best in (
        ("averages_slope", "Slope of the averages", "1"),
        ("orientation", "Angle of that slope", "45"),
        ("divergence_probability", "Divergence probability", "1"),
    ):
        shown, limits = words.metric_and_interval(a, name)
        if shown != MISSING:
            yield Metric(title, MEANINGS.get(name, ""), shown, limits, "", f"{best} is best", best=best)


def settings_of(a: Assessment) -> Iterator[tuple[str, str]]:
    """Name what the assessment was made from, and how."""
    u, d = a.uncertainty, a.diagnosis
    yield "forecasts", f"{a.n_rows:,} of {a.n_classes:,} classes"
    yield "weights", f"effective sample size {a.effective_rows:,.6g}" if a.weighted else "none"
    yield "clusters", words.dependence_text(a) if a.clustered else "none"
    yield "dependence", looked_at_words(a.dependence)
    yield "calibration curve", f"{a.estimator}{words.settings_text(a)}"
    yield "view", a.view
    if d.made and not math.isnan(d.p_value):
        yield "test of miscalibration", "; ".join([f"{p_value_text(d.p_value)}, by {d.by}", *words.named_by(d)])
    floor = f"{a.floor:g}{'' if a.limit == 'floor' else ', and the same below 1'}"
    yield "floor", f"{floor}, used by the averages only; verdict and scores have no floor"
    yield "outcomes predicted with probability 0", f"{a.zero_given:,.6g}"
    yield "left out, dropped, rescaled", "; ".join(notes_lines(a.notes)) or "none"
    yield "counted", "by value" if a.exact else f"in cells of relative width 2^-{a.fraction_bits}"
    yield ("intervals", f"{percent(u.confidence)}, {u.resamples:,} bootstrap replicates, seed {u.seed}")
    yield "version", a.version


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
"""Bins that the table has, those with the largest contribution."""


def paired(a: Floats, b: Floats) -> Iterable[tuple[float, float]]:
    """Give two columns as pairs."""
    return zip(a.tolist(), b.tolist(), strict=True)


def each_as(column: Floats, form: Callable[[float], str]) -> list[str]:
    """Give each value of a column in a form."""
    return [form(value) for value in np.asarray(column, dtype=np.float64).tolist()]


def averages_table(a: Assessment) -> Table:
    """Return the three averages, as predicted, as calibrated and after an advised remedy."""
    ratios = [
        getattr(a.reported, name) / getattr(a.measured, name) if getattr(a.measured, name) > 0 else math.nan
        for name in words.MEANS
    ]
    orders = {"decisiveness": "order 1", "geometric_accuracy": "order 0", "robustness": f"order {MINUS}2/3"}
    names = [capital(name.replace("_", " ")) for name in words.MEANS]
    advised = a.advised if a.view != "top-label" else None
    after = [] if advised is None else [Column(_AFTER, [number(getattr(advised, name)) for name in words.MEANS])]
    return Table.of(
        f"Probabilities below {a.floor:g} are raised to it{_ceiling(a)}."
        if a.floor
        else "No floor: one outcome predicted with probability 0 makes two of the averages 0.",
        Column("average", names, list(orders.values()), meanings=[MEANINGS[name] for name in words.MEANS]),
        noted("predicted", (words.mean_and_interval(a, "reported", name) for name in words.MEANS)),
        noted("calibrated", (words.mean_and_interval(a, "measured", name) for name in words.MEANS)),
        *after,
        Column("ratio", [number(ratio) for ratio in ratios]),
        notes=confidence_interval(a.uncertainty.confidence),
    )


_AFTER = "after remedy"


def _ceiling(a: Assessment) -> str:
    return "" if a.limit == "floor" else f", those above {1 - a.floor:g} lowered to it"


def averages_blocks(a: Assessment) -> list[Block]:
    """Return the three averages for a terminal, their slope, and the divergence probability beside the cost."""
    more = " ".join(filter(None, [f"{'; '.join(papers_metrics(a))}.", words.two_costs(a)]))
    return [_short_averages_table(a), Prose(more)]


def _short_averages_table(a: Assessment) -> Table:
    """Leave out ratios and values after the remedy, for which a terminal has no room."""
    whole = averages_table(a)
    names, *others = whole.columns
    rest = [column for column in others if column.heading not in ("ratio", _AFTER)]
    raised = f"In all three, unlike in the log loss, probabilities below {a.floor:g} are raised to it{_ceiling(a)}."
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
        columns.insert(0, Column("class", short_names((str(b.label[at]) for at in largest.tolist()), LONGEST_NAME)))
    return Table(caption, columns, sortable=True, folded=True)


def profile_table(a: Assessment) -> Table:
    """Return the risk profile at all orders."""
    profile, measured = a.profile, a.measured_profile
    averages = [
        curve_estimates("predicted", profile.values, *profile.interval(a.uncertainty.confidence)),
        curve_estimates("calibrated", measured.values, measured.low, measured.high),
    ]
    level = confidence_interval(a.uncertainty.confidence)
    return Table.of(
        f"The profile at {profile.orders.size} orders. {FEW if profile.few_rows.any() else ''}".strip(),
        Column("order", [number(x, 2) if math.isfinite(x) else number(x) for x in profile.orders.tolist()]),
        *averages,
        folded=True,
        notes=level if any(note for each in averages for note in each.notes) else "",
    )


def floors_table(a: Assessment) -> Table:
    """Return the averages at other floors."""
    rows = a.floor_sensitivity
    return Table.of(
        "The averages at other floors",
        Column("floor", [f"{floor:g}" for floor in rows]),
        *(Column(name.replace("_", " "), [number(getattr(x, name)) for x in rows.values()]) for name in words.MEANS),
        folded=True,
    )
