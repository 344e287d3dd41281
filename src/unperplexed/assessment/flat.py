"""Every metric of an `Assessment` by a short name, flat: what dashboards and experiment trackers read.

An assessment is not typed here, since it offers its metrics itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from .._lib.dataclasses import replace
from ..calibration.diagnosis.kinds import KINDS
from ..calibration.diagnosis.result import Diagnosis, Finding
from ..statistics.intervals import UNKNOWN, Interval, wilson
from ..statistics.many_looks import Spread
from ..statistics.means import t_quantile
from .familiar import counts_of


def _word(name: str) -> str:
    return name.replace(" ", "-")


AWAY = "pointing-away"
"""The word of a slope below 0, which is no overconfidence."""

_NAMED = (_word(name) for kind in KINDS.values() if kind.required for name in kind.names)
WORDS = tuple(dict.fromkeys([*_NAMED, AWAY]))
"""Words of the verdict."""

NUMBER_WORDS = (
    *("too-low", "too-high", *map(_word, KINDS["certainty"].names)),
    *(_word(name) for error, kind in KINDS.items() if kind.distributions and error != "bias" for name in kind.names),
    *map(_word, KINDS["shape"].names),
)
"""Words of the verdict on predictive distributions of a number."""

ANY = KINDS["shape"].names[0]
"""The one that stands for any error, named or not."""


WORST_GROUP = "worst_group_cost"
"""The largest cost of a group that was found; 0 where none was."""


class NamedMetric(NamedTuple):
    """A metric with its confidence interval; one that is counted has no chance in it."""

    value: float
    interval: Interval = UNKNOWN
    counted: bool = False
    spread: Spread | None = None
    """For the change of a mean score: what a test at many looks needs."""
    tested: bool = False
    """Whether it is of groups that a test found, and is compared as it is."""


NamedMetrics = dict[str, Callable[[], NamedMetric]]
"""Metrics by name, each computed when it is asked for."""


def flat_metrics(assessment: Any, changes: Mapping[str, NamedMetric] | None = None) -> dict[str, float | None]:
    """Give all metrics of an assessment, as `Assessment.to_flat` does, and changes by name."""
    flat: dict[str, float | None] = {}
    for name, made in named_metrics(assessment, changes).items():
        each = made()
        flat[name] = _finite(each.value)
        if not each.counted:
            flat |= {f"{name}.lower": _finite(each.interval.low), f"{name}.upper": _finite(each.interval.high)}
    if assessment.diagnosis.made:
        found = verdict_words(assessment.diagnosis)
        flat |= {word: float(word in found) for word in words_of(assessment)}
    return flat


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def words_of(a: Any) -> tuple[str, ...]:
    """Give the words of the verdict that an assessment may have."""
    return NUMBER_WORDS if hasattr(a, "coverage") else WORDS


def named_metrics(a: Any, changes: Mapping[str, NamedMetric] | None) -> NamedMetrics:
    """Name the metrics of an assessment that there are, and changes beside them."""
    own = (_of_numbers if hasattr(a, "coverage") else _of_classes)(a)
    return {**own, **{name: partial(NamedMetric, *each) for name, each in (changes or {}).items()}}


def _of_numbers(a: Any) -> NamedMetrics:
    """Name those of predictive distributions of a number."""
    known = {f"coverage_{100 * each.expected:.3g}": each.held for each in a.coverage}
    if a.coverage and not a.coverage[-1].of_level:
        known["coverage_all_members"] = known.popitem()[1]
    known |= {**a.scores, "bias": a.bias, "width": a.width} | ({} if a.skill is None else {"skill": a.skill.value})
    if "weighted_interval_score" in known:
        known["wis"] = known["weighted_interval_score"]
    low, high = a.cost_interval
    return {
        "rows": partial(NamedMetric, float(a.n_rows), counted=True),
        "effective_rows": partial(NamedMetric, a.effective_rows, counted=True),
        **{name: partial(NamedMetric, each.value, each.interval) for name, each in known.items()},
        "cost": partial(NamedMetric, a.cost, a.cost_interval),
        "divergence_probability": partial(
            NamedMetric, a.divergence_probability, Interval(math.exp(-high), math.exp(-low))
        ),
    }


def _of_classes(a: Any) -> NamedMetrics:

    def own(value: float, name: str) -> Callable[[], NamedMetric]:
        return lambda: NamedMetric(value, a.intervals.get(name, UNKNOWN))

    def metric(name: str) -> Callable[[], NamedMetric]:
        return lambda: NamedMetric(getattr(a, name).value, getattr(a, name).interval)

    metrics = ("auc", "average_precision", "slope", "intercept", "ece") if a.n_classes == 2 else ("slope", "ece")
    bias = {} if a.bias is None else {"bias": lambda: _bias(a)}
    averages = ("geometric_accuracy", "decisiveness", "robustness")
    skills = {} if a.skill is None else next(iter(a.skill.whole.scores.values()))
    costs = None if a.groups_found is None else [0.0, *(each.cost for each in a.groups_found.items)]
    return {
        "rows": lambda: NamedMetric(float(a.n_rows), counted=True),
        "effective_rows": lambda: NamedMetric(a.effective_rows, counted=True),
        **{name: own(value, name) for name, value in a.scores.items()},
        **{name: metric(name) for name in metrics},
        **bias,
        "cost": lambda: NamedMetric(a.cost, cost_interval(a)),
        "accuracy": own(a.prediction_accuracy, "prediction_accuracy"),
        **{name: own(getattr(a.reported, name), f"reported_{name}") for name in averages},
        "averages_slope": own(a.averages_slope, "averages_slope"),
        "divergence_probability": own(a.divergence_probability, "divergence_probability"),
        **{
            "skill" if rule == "log_loss" else f"{rule}_skill": partial(NamedMetric, each.skill, each.interval)
            for rule, each in skills.items()
        },
        **({} if costs is None else {WORST_GROUP: partial(NamedMetric, max(costs), tested=True)}),
    }


def frequency_limits(a: Any) -> Interval:
    """Wilson's interval of the observed frequency of the positive class; NaN for weighted and dependent rows."""
    if a.weighted or a.clustered:
        return UNKNOWN
    return wilson(a.bias.frequency, a.n_rows, float(t_quantile(a.source.sampling.confidence, math.inf)))


def cost_interval(a: Any, finding: Finding | None = None) -> Interval:
    """Confidence interval of the cost of all findings, or of one, in nats a row; the one that a result has, if any.

    Twice the cost of n rows is a likelihood ratio, noncentral chi-squared with a degree of freedom for each finding
    (Kent and Hainsworth 1995); of dependent rows n is the number of independent ones. What no finding names has that
    of the test of miscalibration, with one.
    """
    from scipy.special import chdtri, chndtrinc

    d, of_numbers = a.diagnosis, hasattr(a, "coverage")
    if of_numbers and (finding is None or len(d.findings) == 1):
        return Interval(*a.cost_interval)
    rows = 2 * (a.effective_rows if of_numbers else a.independent_rows)
    freedom, cost = (max(len(d.findings), 1), a.cost) if finding is None else (1, finding.cost)
    ratio = rows * cost if cost > 0 else chdtri(1, d.p_value)
    reach = (1 - (a if of_numbers else a.source.sampling).confidence) / 2
    low, high = (float(chndtrinc(ratio, freedom, share)) / rows for share in (1 - reach, reach))
    return Interval(low if finding or cost else 0.0, high)


def costly(a: Any, least: float) -> Diagnosis:
    """Leave out of the verdict what is not shown to cost so many nats a row; what has no cost stays."""
    d = a.diagnosis
    kept = [x for x in d.findings if x.error in _WITHOUT_COST or cost_interval(a, x).low >= least]
    found: Diagnosis = replace(d, findings=tuple(kept)) if least else d
    return found


_WITHOUT_COST = ("certainty", "rows", "permuted")
"""Errors that are no matter of size."""


def _bias(a: Any) -> NamedMetric:
    """Mean prediction minus observed frequency; of weighted rows and of clusters by the influence of each."""
    if a.weighted or a.clustered:
        counts, gap = counts_of(a.source.tally), a.bias.gap
        off = (counts.p - 1 - gap) / a.source.tally.weight, (counts.p - gap) / a.source.tally.weight
        return NamedMetric(gap, counts.metric(gap, *off, a.source.sampling.confidence).interval)
    low, high = frequency_limits(a)
    return NamedMetric(a.bias.gap, Interval(a.bias.mean_reported - high, a.bias.mean_reported - low))


def verdict_words(d: Diagnosis) -> frozenset[str]:
    """Name the errors that a diagnosis found, in words of either list; none where nothing was found."""
    named = {_named(each) for each in d.findings} - {""}
    return frozenset({ANY} | named if d.findings else named)


def _named(finding: Finding) -> str:
    """Name an error; "" for one that requirements do not know."""
    kind, word = KINDS[finding.error], _word(finding.clause.name)
    if word in NUMBER_WORDS or not kind.required:
        return word if word in NUMBER_WORDS else ""
    return AWAY if finding.clause.term == "pointing" else _word(kind.name(finding.parameter))
