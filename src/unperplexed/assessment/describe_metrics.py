"""Key figures of an assessment, each with its interval and a reference, and the settings behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .._lib.formatting import capital, number_of, p_value_text, percent, rule_text
from ..report.document import Metric
from ..report.numbers import MISSING, between, estimate, number, share, share_estimate
from ..scores.registry import is_printed, score_named
from ..statistics.intervals import Interval
from ..tally.describe import notes_lines
from .describe_charts import Event
from .describe_details import MEANINGS
from .describe_words import (
    MEANING,
    dependence_text,
    evidence_is_of_all_rows,
    frequency_interval,
    level_of,
    metric_and_interval,
    settings_text,
    slope_note,
)
from .result import Assessment

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
        limits = between(*a.auc.interval)
        unchanged = "" if after is None else "same"  # the maps of two classes keep the order
        yield Metric("AUC", MEANING["auc"], number(a.auc.value), limits, unchanged, "by chance 0.5", "larger")
    chance = "" if math.isnan(a.ece_by_chance) else f"by chance {number(a.ece_by_chance)}"
    of_top = "" if two else ", of the most probable class"
    limits, meaning = between(*a.ece.interval), f"{MEANING['ece']}{of_top}."
    yield Metric("Calibration error (ECE)", meaning, number(a.ece.value), limits, ece, chance, "smaller")
    slope, meaning = a.slope, f"{MEANING['calibration slope']}{of_top}. {MEANING['slope sides']}"
    name = "Calibration slope" if two else "Calibration slope, top class"
    limits = between(*slope.interval)
    yield Metric(name, meaning, number(slope.value), limits, slope_after, "1 is best", best="1")


def means_of_event(event: Event) -> Iterator[Metric]:
    """What the key metrics of two classes lack: intercept, accuracy, mean prediction and observed frequency."""
    a = event.assessment
    if not event.two:
        return
    intercept = a.intercept
    if not math.isnan(intercept.value):
        shown, limits = number(intercept.value), between(*intercept.interval)
        yield Metric("Calibration intercept", MEANING["intercept"], shown, limits, "", "0 is best", best="0")
    yield _accuracy(a, f"base rate {share(a.reference_scores['accuracy'])}")
    if a.bias is not None and not evidence_is_of_all_rows(event):  # which has both
        yield Metric(f"Mean prediction of {event.name}", "", share(a.bias.mean_reported))
        yield Metric("Observed frequency", "", share(a.bias.frequency), frequency_interval(a))


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
    return Metric("Accuracy", MEANING["accuracy"], value, limits, after, reference, "larger")


def papers_metrics(a: Assessment) -> Iterator[str]:
    """Give the slope of the averages and the divergence probability, each with its interval."""
    for name, title in (
        ("averages_slope", "Slope of the averages"),
        ("divergence_probability", "divergence probability"),
    ):
        value, interval = metric_and_interval(a, name)
        about = [f"{level_of(a)} {interval}"] if interval else []
        none = "1 is best" if value != MISSING else "none in this view"
        about += [slope_note(a) if name == "averages_slope" else none]
        yield f"{title} {value} ({'; '.join(about)})"


def _score(a: Assessment, rule: str, name: str, after: str, reference: str) -> Metric:
    value, interval = a.scores.get(rule, math.nan), a.intervals.get(rule, Interval(math.nan, math.nan))
    if math.isinf(value):
        rows = "rows" if a.weighted else number_of(round(a.zero_given), "row")
        reference = f"{rows} assigned 0"
    shown, limits = estimate(value, interval, most=4)
    return Metric(name, MEANING[rule], "∞" if math.isinf(value) else shown, limits, after, reference, "smaller")


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
        shown, limits = metric_and_interval(a, name)
        if shown != MISSING:
            yield Metric(title, MEANINGS.get(name, ""), shown, limits, "", f"{best} is best", best=best)


def settings_of(a: Assessment) -> Iterator[tuple[str, str]]:
    """Name what the assessment was made from, and how."""
    u, d = a.uncertainty, a.diagnosis
    yield "forecasts", f"{a.n_rows:,} of {a.n_classes:,} classes"
    yield "weights", f"effective sample size {a.effective_rows:,.6g}" if a.weighted else "none"
    yield "clusters", dependence_text(a) if a.clustered else "none"
    yield "calibration curve", f"{a.estimator}{settings_text(a)}"
    yield "view", a.view
    if d.made and not math.isnan(d.p_value):
        yield "test of miscalibration", f"{p_value_text(d.p_value)}, by {d.by}"
    floor = f"{a.floor:g}{'' if a.limit == 'floor' else ', and the same below 1'}"
    yield "floor", f"{floor}, used by the averages only; verdict and scores have no floor"
    yield "outcomes predicted with probability 0", f"{a.zero_given:,.6g}"
    yield "left out, dropped, rescaled", "; ".join(notes_lines(a.notes)) or "none"
    yield "counted", "by value" if a.exact else f"in cells of relative width 2^-{a.fraction_bits}"
    yield (
        "intervals",
        f"{percent(u.confidence)}, {u.resamples:,} bootstrap replicates, seed {u.seed}",
    )
    yield "version", a.version
