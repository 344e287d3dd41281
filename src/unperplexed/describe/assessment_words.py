"""Sentences of an assessment: evidence, cost and remedy, and what the key figures mean."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._lib.elementary import expit, logit
from .._lib.formatting import confidence_interval, number_of, p_value_text, printable, short_name
from ..assessment.flat import cost_interval, frequency_limits
from ..assessment.remedy import Commands, PythonLine
from ..assessment.result import Assessment
from ..assessment.settings import AssessmentSettings
from ..calibration.dependence_search import OF_ROW, dependence_words, independent_words
from ..calibration.diagnosis.class_rows import CERTAIN
from ..calibration.diagnosis.kinds import KINDS
from ..calibration.diagnosis.result import ROWS, Diagnosis
from ..calibration.diagnosis.words import terms
from ..calibration.estimators import DEFAULT
from ..forecasts.group_keys import N_SHARDS
from ..forecasts.reading import DEFAULTS
from ..report.document import Python
from ..report.numbers import between, estimate, expected, figure, number, share, told_apart
from ..report.tables import aside, ci
from ..scores.rules import SCORES
from ..statistics.means import DEFAULT_FLOOR, floor_for
from .assessment_charts import Event, class_text
from .tally import class_name

_RANGES = ((0.85, 0.95), (0.75, 0.85), (0.65, 0.75), (0.55, 0.65), (0.95, 0.995), (0.995, 1.0), (0.45, 0.55))
"""Ranges of probabilities that the evidence quotes: the first in which there are so many pairs."""

_FEWEST_PAIRS = 20
"""Forecasts in a range from which on their observed frequency is quoted."""

_ONE_VALUE = 1e-9
"""Probabilities in a narrower range are one value."""

_CONFIDENT = (0.99, 0.95, 0.9)
"""Probabilities above which predictions are counted that went wrong: the first with clearly too many."""

TITLES = {
    "accuracy": "Accuracy",
    "auc": "AUC",
    "ece": "Calibration error (ECE)",
    "slope": "Calibration slope",
    "intercept": "Calibration intercept",
}
"""What documents call the key metrics that are no scoring rules."""

MEANING = {
    "accuracy": "Share of rows whose most probable class is the observed one. Larger is better. It ignores the"
    " probabilities themselves; if it is low, find better predictors.",
    "log_loss": "Minus the mean logarithm of the probability assigned to the outcome, in nats. Smaller is better. If it"
    " is high, read the findings: the part due to miscalibration can be recovered without a new model.",
    "brier_score": "Mean squared distance between probabilities and outcome, summed over the classes. Smaller is"
    " better. It changes less than the log loss when a confident prediction is wrong.",
    "auc": "Probability that a random event is ranked above a random non-event. Larger is better. Recalibration does"
    " not change the ranking; if it is low, find better predictors. DeLong interval.",
    "ece": "Expected calibration error: mean absolute difference between prediction and observed frequency in 15 groups"
    " of equal size. Smaller is better. It is above 0 by chance, so compare it with its expected value for calibrated"
    " predictions",
    "calibration slope": "Slope of the logistic regression of the outcome on the predicted log-odds",
    "intercept": "Calibration in the large: what is to be added to the predicted log-odds so that mean prediction and"
    " observed frequency are equal. 0 is best; below 0 the model overpredicts, above 0 it underpredicts.",
    "slope sides": "1 is best; below 1 the predictions are {}, above 1 {}.".format(*KINDS["confidence"].names),
}
"""What the key figures mean, with what to do about a bad one."""


def evidence_is_of_all_rows(event: Event) -> bool:
    """Whether the evidence is the mean prediction and the observed frequency of all rows.

    It is for a bias, named or not, and where nothing was found: any range of probabilities would look like evidence.
    """
    d = event.assessment.diagnosis
    return event.two and ("bias" in d.errors or (d.made and not d.findings) or _off_on_average(event.assessment))


def _off_on_average(a: Assessment) -> bool:
    """Whether predictions are too high or too low on the whole (p < 0.001), which not only a bias causes."""
    off = a.intercept
    return abs(off.value) > _SURE * off.standard_error


_SURE = 3.3
"""Standard errors of a p-value of 0.001."""


def evidence(a: Assessment) -> str:
    """Say how often the outcome is observed where it is assigned some probability; "" where no range has 20 rows."""
    for limits in _RANGES:
        found = a.observed(*limits)
        if found.total >= _FEWEST_PAIRS:
            one = found.highest - found.lowest < _ONE_VALUE
            assigned = f"probability {100 * found.mean_reported:.3g}%"
            if not one:
                assigned = f"{100 * limits[0]:g}% to {100 * limits[1]:g}% (mean {100 * found.mean_reported:.3g}%)"
            low, high = found.interval
            level = "" if math.isnan(low) else f" ({level_of(a)} {100 * low:.0f}% to {100 * high:.0f}%)"
            what = "the most probable class" if a.view == "top-label" else "a class"
            if a.n_classes == 2 and a.view == "each-class":
                label = a.labels[1]
                what = "column 1" if label is None else f"'{short_name(printable(str(label)))}'"
            of = f"forecasts of weight {found.total:,.4g}" if a.weighted else f"{found.total:,.0f} forecasts"
            return (
                f"Where {what} was assigned {assigned}, it was observed in {100 * found.happened:.0f}%{level} of {of}."
            )
    return ""


def level_of(a: Assessment) -> str:
    """Name the intervals of the figures; those of a diagnosis are at 95%, as its tests."""
    return confidence_interval(a.uncertainty.confidence)


def frequency_interval(a: Assessment) -> str:
    """Wilson's interval of the observed frequency; "" for weighted and dependent rows."""
    return "" if a.bias is None else between(*frequency_limits(a), share)


def means(a: Assessment) -> str:
    """Give mean prediction and observed frequency of the positive class."""
    assert a.bias is not None
    limits = aside(ci(level_of(a), frequency_limits(a), share))
    return (
        f"The mean predicted probability of {class_text(a, 1)} is {share(a.bias.mean_reported)}. The"
        f" observed frequency is {share(a.bias.frequency)}{limits}."
    )


def alone(a: Assessment) -> str:
    """Explain an interval that excludes the best value of a metric where the test finds no error."""
    p_value = a.diagnosis.p_value
    metrics = (("slope", a.slope, 1), ("intercept", a.intercept, 0))
    off = [(name, best) for name, metric, best in metrics if metric.interval.low > best or metric.interval.high < best]
    if not off or math.isnan(p_value) or a.diagnosis.negligible >= 0:
        return ""
    named = " and ".join(f"calibration {name} excludes {best}" for name, best in off)
    alone = a.n_classes == 2 and math.isnan(a.diagnosis.detectable.slope)
    what = "with so few events, considers the level alone" if alone else "considers several errors at once"
    return (
        f"By itself the {level_of(a)} of the {named}. The test{',' * alone} {what}{',' * alone} and is not"
        f" significant ({p_value_text(p_value)})."
    )


def unnamed_cost(a: Assessment) -> str:
    """Say why recalibration gains more than the named errors cost, where their intervals say so; else ""."""
    if a.remedy is None:
        return ""
    least = a.remedy.gain.interval[0]
    if not (least > a.cost and least > cost_interval(a).high):  # the limit of the cost takes SciPy
        return ""
    return f"Recalibration gains more, {number(a.remedy.gain.value)} nats, as errors that have no name here cost too."


def against_reference(event: Event) -> str:
    """Compare the log loss with that of a constant forecast, where that is the better one."""
    a = event.assessment
    loss, reference = a.scores.get("log_loss", math.nan), a.reference_scores["log_loss"]
    if not loss > reference:
        return ""
    what = "constant forecast of the base rate" if event.two else "uniform forecast"
    return f"A {what} has a smaller log loss ({' against '.join(told_apart(reference, loss))})."


def wrong_predictions(event: Event) -> str:
    """Count predictions that went wrong beside how many were expected; "" where these are not too many.

    For a bias they are those on its side of 50%, else the confident ones.
    """
    a = event.assessment
    if a.weighted:
        return ""
    if event.two and a.bias is not None and "bias" in a.diagnosis.errors and (text := _on_a_side(event)):
        return text
    p, happened, total = a.source.tally.pairs("top-label")
    for level in _CONFIDENT:
        here = p > level
        n, chance = float(total[here].sum()), float((total * (1 - p))[here].sum())
        wrong = n - float(happened[here].sum())
        if n >= _FEWEST_PAIRS and wrong > chance + 2 * math.sqrt(chance) + 2:
            return f"{wrong:,.0f} of {n:,.0f} predictions above {100 * level:g}% are wrong; {_expected(chance)}."
    return ""


def _on_a_side(event: Event) -> str:
    """Count the events among the predictions above 50% for a bias upwards, below for one downwards."""
    a = event.assessment
    assert a.bias is not None
    over, (p, happened, total) = a.bias.mean_reported > a.bias.frequency, event.pairs
    here = p > 0.5 if over else p < 0.5
    n, seen, chance = (float(x[here].sum()) for x in (total, happened, p * total))
    spread = math.sqrt(max(float((p * (1 - p) * total)[here].sum()), 0.0))
    if n < _FEWEST_PAIRS or (chance - seen if over else seen - chance) <= 2 * spread + 2:
        return ""
    side = "above" if over else "below"
    occurred = f"{event.name} was observed in {seen:,.0f} ({share(seen / n)}) of the {n:,.0f} rows predicted {side} 50%"
    return f"{occurred}; {_expected(chance)}."


def _expected(count: float) -> str:
    shown = expected(count)
    return f"{shown} {'was' if shown == 'about 1' else 'were'} expected"


def two_costs(a: Assessment) -> str:
    """Join the cost, that of the named errors, and the divergence probability, that of the curve; "" without either."""
    cost, divergence = a.diagnosis.cost, a.divergence_probability
    if not (a.diagnosis.made and cost > 0 and math.isfinite(divergence)):
        return ""
    pooled = ", pooled over the classes" if a.view == "all-classes" and a.n_classes > 2 else ""
    at = f", at the floor {a.floor:g}" if a.floor else ""
    return (
        f"The cost of the named errors is a factor of {number(math.exp(-cost))} (exp of minus the cost). The divergence"
        f" probability, {number(divergence)}, compares with the calibration curve instead{pooled}{at}."
    )


MEANS = ("decisiveness", "geometric_accuracy", "robustness")
"""Names of the three averages."""


def mean_and_interval(a: Assessment, kind: str, name: str) -> tuple[str, str]:
    """Give a mean, reported or measured, and its interval."""
    return estimate(getattr(getattr(a, kind), name), a.intervals[f"{kind}_{name}"], most=4)


def metric_and_interval(a: Assessment, name: str) -> tuple[str, str]:
    """Give a metric, such as the slope of the averages, and its interval."""
    return estimate(getattr(a, name), a.intervals[name], most=4)


def remarks(a: Assessment) -> Iterator[str]:
    """Say what to think of before one relies on the figures."""
    yield from a.uncertainty.warnings
    if a.uncertainty.debiased:
        without = ", ".join(f"{name.replace('_', ' ')} {figure(x)}" for name, x in a.uncertainty.debiased.items())
        yield f"the estimator {a.estimator} is biased on such data; without the estimated bias: {without}"
    if a.n_classes == 2 and a.intervals["prediction_accuracy"][1] < _GUESSING:
        name, right = class_name(a.labels[1], 1), figure(a.prediction_accuracy)
        yield f"the more probable outcome was observed in {right} of the rows only: is '{name}' the positive label?"
    if a.n_classes > 2 and a.class_average is not None and a.effective_rows < _FEW_ROWS * a.class_average.n_classes:
        yield "few rows a class: their curves follow chance, and the slope comes out too large"
    if a.n_classes > 2 and a.floor * a.n_classes >= 1:
        yield f"the floor is not below 1/{a.n_classes:,}, what a uniform forecast assigns: choose a lower one"


_GUESSING = 0.5


_FEW_ROWS = 300
"""For each class, on average; with a hundred, slopes have been seen to come out a fifth too large."""


_SETTINGS = {
    "bins": "{:,.0f} bins",
    "neighbors": "{:,.0f} neighbors",
    "bandwidth": "bandwidth {:.3g}",
    "prior": "prior {:g}",
    "share_of_isotonic": "{:.0%} isotonic",
    "line_intercept": "intercept {:.3g}",
    "line_slope": "slope {:.3g}",
}


def named_by(d: Diagnosis) -> Iterator[str]:
    """Say how many rows name the errors, where these are a sample."""
    if d.n_named_by:
        yield f"errors named and priced by {d.n_named_by:,} rows chosen at random"


def settings_text(a: Assessment) -> str:
    """Give the settings of the estimator, each after a comma."""
    return "".join(
        f", {_SETTINGS.get(name, name + ' {:g}').format(value)}" for name, value in a.estimator_settings.items()
    )


def rows_text(a: Assessment) -> Iterator[str]:
    """List the rows that were certain and wrong, or that carry the evidence, with what they assigned to the outcome."""
    findings = [f for f in a.diagnosis.findings if KINDS[f.error].rows_that]
    if not findings or a.surprises is None:
        return
    s, count = a.surprises, sum(round(f.parameter) for f in findings)
    assigned = dict(zip(s.row.tolist(), s.probability.tolist(), strict=True)) if len(set(s.source)) == 1 else {}
    rows = sorted((row for finding in findings for row in finding.rows), key=lambda row: assigned.get(row, 1.0))
    shown = [f"{row:,} (assigned {assigned[row]:.2g})" if row in assigned else f"{row:,}" for row in rows]
    if not shown and a.n_classes == 2:  # counts have no row numbers, but the most surprising rows are these
        several = len(set(s.source)) > 1
        if findings[0].error == "certainty":  # weighted counts are fewer than rows
            count = max(count, int((s.probability < CERTAIN / a.n_rows).sum()))
        shown = [
            f"{int(row):,}{f' of {printable(source)}' if several else ''} (assigned {p:.2g})"
            for row, source, p in list(zip(s.row, s.source, s.probability, strict=True))[:count]
        ]
    if shown:
        more = count - len(shown[:_MOST_LISTED])
        listed = f"{', '.join(shown[:_MOST_LISTED])}{f' and {more:,} more' if more > 0 else ''}"
        yield f"Rows that {KINDS[findings[0].error].rows_that}, the worst first, counted from 0: {listed}."


_MOST_LISTED = 8


def terms_of(a: Assessment) -> list[str]:
    """Name what to look up about the findings, also where these predictions may carry no information."""
    found, auc = terms(a.diagnosis), a.auc if a.diagnosis.findings else None
    chance = auc is not None and auc.interval.low <= 0.5 <= auc.interval.high
    return [*found, *(["uninformative"] if chance and "uninformative" not in found else [])]


def slope_note(a: Assessment) -> str:
    """Say what the slope of the averages is compared with, or why there is none."""
    if math.isnan(a.averages_slope):
        return "none in this view" if a.view == "top-label" else "reported means are all equal"
    if a.measured.spread == 0:
        return "measured means are all equal"
    if a.zero_given and not a.floor:
        return f"0 assigned to {a.zero_given:,.4g} observed"
    errors = {finding.error for finding in a.diagnosis.findings}
    return "1 is best; a bias moves it too" if "bias" in errors and "confidence" not in errors else "1 is best"


def clusters_text(a: Assessment) -> str:
    """Count the clusters; a tally, from which groups (``--by``) are read, has fewer where some share a shard."""
    d = a.diagnosis
    if d.n_clusters is None:
        return "clusters"
    if d.by == ROWS:
        return number_of(d.n_clusters, "cluster")
    return f"at least {number_of(d.n_clusters, 'cluster')} (a tally tells at most {N_SHARDS:,} clusters apart)"


def dependence_text(a: Assessment) -> str:
    """Say whether rows depend on one another or differ in weight, and give the effective number of clusters or rows.

    Clusters that share a shard count as one in it.
    """
    if a.clustered and a.diagnosis.by == ROWS and a.diagnosis.n_clusters is None and a.diagnosis.made:
        return "independent rows, as each is a cluster of its own"
    if a.clustered:
        shards, d = a.source.tally.shards, a.diagnosis
        alone = shards is not None and d.by == ROWS and d.n_clusters == shards.rows.key.size
        why = f" ({OF_ROW})" if a.dependence.reason == OF_ROW else ""
        return f"{clusters_text(a)}{why}, effective number {'' if alone else 'at least '}{a.independent_rows:,.4g}"
    if a.weighted:
        return f"weighted, effective sample size {a.effective_rows:,.4g}"
    return independent_words(a.dependence)


def dependence_sentence(a: Assessment) -> str:
    """Say which rows err alike though nobody declared it; "" where none do."""
    return dependence_words(a.dependence.tested(a.diagnosis.p_value, a.diagnosis.independent_p_value))


_POINTS, _SLOPE = 0.05, 0.2
"""Errors for which the rows that show them are counted: a bias of 5 points, a calibration slope off by 0.2."""

_CLEARLY = 1.1
"""How much larger than these the errors are that the rows show, else there is no need for more rows."""


def bias_in_points(event: Event) -> float:
    """Return the smallest bias that the rows show, as a change of the mean prediction; NaN for more classes."""
    bias = event.assessment.diagnosis.detectable.bias
    if not event.two or not math.isfinite(bias):
        return math.nan
    p, _, total = event.pairs
    with np.errstate(divide="ignore"):
        s = logit(p)
    changes = [abs(float((expit(s + way * bias) - p) @ total / total.sum())) for way in (-1, 1)]
    return max(changes)


def rows_needed(event: Event) -> Iterator[str]:
    """Say how many rows show a smaller bias, and a slope closer to 1, with the same power; the error falls as 1/√n."""
    a = event.assessment
    if a.clustered or a.weighted:
        return
    slope = a.diagnosis.detectable.slope
    for what, error, wanted in (
        (f"a bias of {100 * _POINTS:g} points", bias_in_points(event), _POINTS),
        (f"a calibration slope of {1 - _SLOPE:g}", slope if event.two else math.nan, _SLOPE),
    ):
        if math.isfinite(error) and error > _CLEARLY * wanted:
            yield f"{what} about {_rounded(a.n_rows * (error / wanted) ** 2):,} rows"


def _rounded(rows: float) -> int:
    """Round to two digits."""
    return int(round(rows, 1 - math.floor(math.log10(rows))))


def assess_call(a: Assessment) -> Python:
    """Give the import and the call, with the options that differ from their defaults."""
    commands = a.source.commands
    reading = commands.arguments() if isinstance(commands, PythonLine) else ""
    options = [f", {option}" for option in _options(a) if not reading or option not in _READ]
    return Python(
        "from unperplexed import assess\n\n"
        f"assess(y_true, y_prob{reading}{''.join(options)}).diagnosis.verdict"
    )  # fmt: skip


_WEIGHTS, _CLUSTERS = "sample_weight=sample_weight", "clusters=clusters"
_READ = (_WEIGHTS, _CLUSTERS)
"""Options that the reading of rows in memory names already, if it names any."""


def _options(a: Assessment) -> Iterator[str]:
    source, default, two = a.source, AssessmentSettings(), a.n_classes == 2
    further = [name for name in a.scores if name not in SCORES]
    by_command = not isinstance(source.commands, PythonLine)
    scale = source.commands.scale if isinstance(source.commands, Commands) else DEFAULTS["scale"]  # else it is read
    different = {
        _WEIGHTS: a.weighted,
        _CLUSTERS: a.clustered,
        f"pos_label={a.labels[1] if two else None!r}": by_command and two and a.labels[1] not in _POSITIVE,
        f"scale={scale!r}": scale != DEFAULTS["scale"],
        f"floor={a.floor:g}": a.limit == "floor" and a.floor != floor_for(DEFAULT_FLOOR, a.n_classes),
        f"floor=({a.floor:g}, {1 - a.floor:g})": a.limit == "both",
        f"measured={str(source.estimator)!r}": str(source.estimator) != str(DEFAULT),
        f"view={a.view!r}": a.view != ("each-class" if two else "all-classes"),
        f"metrics={further!r}": bool(further),
    }
    sampled = {name: getattr(source.sampling, name) for name in ("confidence", "resamples", "seed")}
    different |= {f"{name}={value}": value != getattr(default, name) for name, value in sampled.items()}
    return (option for option, differs in different.items() if differs)


_POSITIVE = (None, 1, True, "1", "True", "true")
"""Labels that need no name: of no label at all, or of the positive one of 0 and 1."""
