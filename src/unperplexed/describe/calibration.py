"""Calibration errors, score decompositions, calibration tests and validations as documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from .._lib.formatting import confidence_interval, number_of, p_value_text, rule_text, short_name
from ..assessment.validation import POOLED, SPAN, Validation
from ..calibration.errors import CalibrationErrors, Decomposition
from ..calibration.null_samples import CalibrationTest
from ..forecasts.group_keys import key_texts
from ..report.document import Block, Column, Document, Prose, Table
from ..report.numbers import MINUS, between, count, number, rounded, share
from ..report.result import Naming, document
from ..report.tables import aside, ci, estimates
from ..statistics.intervals import Metric
from ..tally.tables import Cells
from ..tally.tally import Tally, View

_ERRORS = {
    "ece": "ECE, bins of equal width",
    "ece_equal_population": "ECE, bins of equal population",
    "rmsce": "RMSCE, root mean square",
    "mce": "MCE, the largest bin",
    "smooth_ece": "smooth ECE, without bins",
}
_PARTS = ("miscalibration", "discrimination", "uncertainty")
_FACTORS = ("geometric_accuracy", "divergence_probability", "gain", "reference")
_BY_CHANCE = (
    "Both are without a floor, and include overfitting: the curve is fitted to the same rows (in-sample), so that they"
    " are above 0 by chance. The cost is that of the named errors alone; the verdict of assess and calibration_test()"
    " test miscalibration."
)


def calibration_blocks(
    tally: Tally, bins: int, errors: Mapping[View, CalibrationErrors], decompositions: Sequence[Decomposition]
) -> list[Block]:
    """Describe the calibration errors of each view, and scores in their parts.

    Parameters
    ----------
    tally : Tally
        What all of them are computed from.
    bins : int
        Number of bins of the calibration errors.
    errors : mapping from str to CalibrationErrors
        Calibration errors by their views.
    decompositions : sequence of Decomposition
        Scores in their parts.

    Returns
    -------
    list of Block
    """
    costs = " and ".join(_cost(each) for each in reversed(decompositions))
    return [
        Prose(f"Miscalibration by the isotonic decomposition (CORP) is {costs}. {_BY_CHANCE}"),
        errors_table(errors, f"{bins} bins"),
        *map(Prose, _about_classes(tally, errors)),
        decomposition_table(decompositions),
        *(factors_table(each) for each in decompositions if each.rule == "log_loss"),
    ]


def _cost(d: Decomposition) -> str:
    """Say how much of a score is due to miscalibration."""
    parts = f"{rounded(d.miscalibration)} of {number(d.score)}"
    if not 0 < d.score < math.inf:
        return f"{parts} in {rule_text(d.rule)}"
    return f"{share(max(d.miscalibration, 0) / d.score)} of the {rule_text(d.rule)} ({parts})"


def errors_table(errors: Mapping[View, CalibrationErrors], bins: str) -> Table:
    """Return the calibration errors, a column for each view."""
    views = [Column(view, [rounded(getattr(of, name)) for name in _ERRORS]) for view, of in errors.items()]
    return Table(f"Calibration errors, {bins}. 0 is best.", [Column("error", [*_ERRORS.values()]), *views])


def _about_classes(tally: Tally, errors: Mapping[View, CalibrationErrors]) -> Iterator[str]:
    if "each-class" in errors:
        yield "For each class, the ECE is the class-wise ECE; with equal population it is the ACE."
    else:
        yield "The errors of each class need a tally with the part classes: tally --parts classes."
    if isinstance(tally.classes, Cells):
        yield "The errors of each class are from coarse cells, so bins are made of these; tally --cells allows more."


def decomposition_table(decompositions: Sequence[Decomposition]) -> Table:
    """Return scores in their parts, one a row."""
    return Table.of(
        f"Score = miscalibration {MINUS} discrimination + uncertainty. Smaller miscalibration and larger discrimination"
        " are better.",
        Column("score", [rule_text(d.rule) for d in decompositions]),
        Column("mean", [rounded(d.score) for d in decompositions]),
        *(Column(part, [rounded(getattr(d, part)) for d in decompositions]) for part in _PARTS),
        Column("view", [d.view for d in decompositions], words=True),
    )


def factors_table(d: Decomposition) -> Table:
    """Return the parts of a log loss as a probability and factors."""
    return Table.of(
        "The log loss as a probability, by the isotonic decomposition without a floor: geometric accuracy ="
        " reference \u00d7 gain \u00d7 divergence probability.",
        Column("", ["exp of minus the part"]),
        *(Column(name.replace("_", " "), [rounded(d.factors[name])]) for name in _FACTORS),
    )


@document.register(CalibrationErrors)
def errors_document(errors: CalibrationErrors, naming: Naming, *, brief: bool) -> Document:
    """Describe the calibration errors of one view."""
    values = [rounded(getattr(errors, name)) for name in _ERRORS]
    return Document(
        title="Calibration errors",
        headline=f"ECE {values[0]}, smooth ECE {values[-1]}",
        lead="Smaller is better. Calibration errors are above 0 by chance; calibration_test() tests miscalibration.",
        calm=True,
        summary=[Table("", [Column("error", [*_ERRORS.values()]), Column("value", values)])],
    )


@document.register(Decomposition)
def decomposition_document(d: Decomposition, naming: Naming, *, brief: bool) -> Document:
    """Describe the parts of a score."""
    return Document(
        title=f"Decomposition of the {rule_text(d.rule)}",
        headline=f"Miscalibration is {_cost(d)}",
        lead="The parts are measured on the same rows (in-sample), so miscalibration is above 0 by chance.",
        calm=True,
        summary=[decomposition_table([d]), *([factors_table(d)] if d.rule == "log_loss" else [])],
    )


@document.register(CalibrationTest)
def test_document(test: CalibrationTest, naming: Naming, *, brief: bool) -> Document:
    """Describe a test of calibration."""
    if math.isnan(test.p_value):
        headline = "No p-value: nothing could be tested"
    elif test.p_value < _LEVEL:
        headline = f"Evidence of miscalibration ({p_value_text(test.p_value)})"
    else:
        headline = f"No evidence of miscalibration ({p_value_text(test.p_value)})"
    return Document(
        title="Calibration test",
        headline=headline,
        lead="A small p-value is evidence of miscalibration; a large one is no evidence of calibration. diagnose()"
        " names the errors and what to do about them.",
        calm=not test.p_value < _LEVEL,
        settings=f"statistic {number(test.statistic)}, by {test.by}",
    )


_LEVEL = 0.05
"""Significance level of the test."""


@document.register(Validation)
def validation_document(v: Validation, naming: Naming, *, brief: bool) -> Document:
    """Describe what medicine reports of a validated risk score."""
    return Document(
        title="Validation",
        headline=f"O/E {number(v.oe.value)}, calibration slope {number(v.slope.value)}, ICI {number(v.ici.value)}",
        lead=tripod_text(v),
        calm=True,
        summary=validation_blocks(v)[1:],
    )


def validation_blocks(v: Validation) -> list[Block]:
    """Give a paragraph for a paper, and the tables of metrics, of clusters, and over clusters."""
    interval, found = confidence_interval(v.confidence), [getattr(v, name) for name in _METRICS]
    metrics = Table.of(
        "Validation of the predicted risks.",
        Column("metric", [*_METRICS.values()]),
        estimates("value", ((each.value, each.interval) for each in found)),
        brief=len(found),
        notes=interval,
    )
    return [Prose(tripod_text(v)), metrics, *(_over_clusters(v, interval) if v.by else [])]


_METRICS = {
    "oe": "O/E (1 is best)",
    "intercept": "calibration in the large (0 is best)",
    "slope": "calibration slope (1 is best)",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "auc": "c-statistic (AUC)",
    "brier": "Brier score",
    "scaled_brier": "scaled Brier score (IPA)",
}


def _over_clusters(v: Validation, interval: str) -> list[Table]:
    """Tables of the clusters, and of their means by random effects."""
    rows = [(f"{count(each.events)} of {each.n_rows:,}", each) for each in v.clusters]
    of = [Column("events", [events for events, _ in rows])]
    of += [
        estimates(_SHORT[name], ((m.value, m.interval) for m in (getattr(each, name) for _, each in rows)))
        for name in POOLED
    ]
    found = v.pooled.values()
    means = estimates("mean", ((each.mean, each.interval) for each in found))
    new = Column("prediction interval", [between(*each.prediction) or "–" for each in found])
    pooled = Table.of("Over the groups, by random effects (REML, Hartung-Knapp). The prediction interval is for a new"
                      " group.", Column("metric", [*_SHORT.values()]), means, new, notes=interval)  # fmt: skip
    named = Column("group", key_texts([each.key for each in v.clusters], by=v.by))
    return [Table.of(f"Each group by {', '.join(v.by)}.", named, *of, notes=interval), pooled]


_SHORT = dict(zip(POOLED, ("O/E", "slope", "in the large"), strict=True))


def tripod_text(v: Validation) -> str:
    """Say in a paragraph what a paper reports of a validation, as TRIPOD asks (Collins et al. 2015)."""
    level = confidence_interval(v.confidence)

    def of(name: str) -> str:
        found: Metric = getattr(v, name)
        return number(found.value) + aside(ci(level, found.interval))

    dependent = "" if v.n_clusters is None else f", worth {v.n_clusters:,.3g} independent clusters"
    return (
        f"The predicted risks of {short_name(v.label)!r} were validated in {v.n_rows:,} rows{dependent}, with"
        f" {count(v.events)} events ({share(v.frequency)}). The mean predicted risk was {share(v.mean_prediction)}. The"
        f" ratio of observed to expected events (O/E) was {of('oe')}, calibration in the large {of('intercept')} and"
        f" the calibration slope {of('slope')}. By local regression (loess, span {SPAN}) the integrated calibration"
        f" index (ICI) was {of('ici')}, E50 {of('e50')} and E90 {of('e90')}. The c-statistic was {of('auc')}, the"
        f" Brier score {of('brier')} and the scaled Brier score (index of prediction accuracy) {of('scaled_brier')}."
        f"{_pooled_text(v, level) if v.by else ''}"
    )


def _pooled_text(v: Validation, level: str) -> str:
    """Say what random effects give over clusters."""
    found = []
    for name in ("oe", "slope"):
        pooled, new = v.pooled[name], between(*v.pooled[name].prediction)
        limits = aside(ci(level, pooled.interval), f"prediction interval {new}" if new else "")
        found.append(f"{_SHORT[name]} {number(pooled.mean)}{limits} in {pooled.n_clusters}")
    groups = f"{number_of(len(v.clusters), 'group')} by {', '.join(v.by)}"
    return f" Means of {groups}, by random effects: {' and '.join(found)} of them."
