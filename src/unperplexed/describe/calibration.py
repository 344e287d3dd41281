"""Calibration errors, score decompositions, calibration tests and validations as documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from .._lib.formatting import capital, confidence_interval, number_of, p_value_text, rule_text, short_name, short_names
from ..assessment.validation import FEWEST_EVENTS, POOLED, SPAN, Validation
from ..calibration.errors import CalibrationErrors, Decomposition
from ..calibration.null_samples import CalibrationTest
from ..report.document import Block, Column, Document, Prose, Table, listed
from ..report.numbers import MINUS, count, number, rounded, share
from ..report.result import Naming, document
from ..report.tables import aside, ci, estimates
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
    found = ", ".join(f"{_SHORT[name]} {number(v.metrics[name].value)}" for name in POOLED)
    return Document("Validation", headline=capital(found), lead=tripod_text(v), calm=True, summary=tables_of(v))


def tables_of(v: Validation) -> list[Block]:
    """Give the metrics, and those of clusters with their means by random effects."""
    level, found = confidence_interval(v.confidence), [v.metrics[name] for name in _METRICS]
    values = estimates("value", ((each.value, each.interval) for each in found))
    metrics = Table.of("", Column("metric", [*_METRICS.values()]), values, brief=len(found), notes=level)
    if not v.by:
        return [metrics]

    def column(name: str) -> Column:
        known, pooled = [each[name] for each in v.clusters.values()], v.pooled[name]
        rows = [(pooled.mean, pooled.interval), (math.nan, pooled.prediction)]
        return estimates(_SHORT[name], [*rows, *((each.value, each.interval) for each in known)])

    names = Column("group", ["mean of all", "a new group", *short_names(v.clusters, 28)])
    caption = f"Groups by {', '.join(v.by)} below their mean by random effects and a prediction interval."
    return [metrics, Table.of(caption, names, *map(column, POOLED), notes=level)]


_METRICS = {
    "oe": "ratio of observed to expected events (O/E)",
    "intercept": "calibration in the large",
    "slope": "calibration slope",
    "ici": "integrated calibration index (ICI)",
    "e50": "median error of predictions (E50)",
    "e90": "90th percentile of this error (E90)",
    "auc": "c-statistic (AUC)",
    "brier": "Brier score",
    "scaled_brier": "scaled Brier score (IPA)",
}
_SHORT = dict(zip(POOLED, ("O/E", "slope", "in the large"), strict=True))


def tripod_text(v: Validation) -> str:
    """Say in a paragraph what a paper reports of a validation, as TRIPOD asks (Collins et al. 2015)."""
    level = confidence_interval(v.confidence)
    known = [(name, v.metrics[key].value, aside(ci(level, v.metrics[key].interval))) for key, name in _METRICS.items()]
    metrics = listed([f"the {name} {number(value)}{limits}" for name, value, limits in known], "and")
    dependent = "" if v.n_clusters is None else f", worth {v.n_clusters:,.3g} independent clusters"
    text = (
        f"The predicted risks of {short_name(v.label)!r} were validated in {v.n_rows:,} rows{dependent}, with"
        f" {count(v.events)} events ({share(v.bias.frequency)}); the mean predicted risk was"
        f" {share(v.bias.mean_reported)}. {capital(metrics.replace(' (O/E) ', ' (O/E) was ', 1))}. The ICI is by loess"
        f" with span {SPAN}."
    )
    groups = f"{number_of(len(v.clusters), 'group')} by {', '.join(v.by)}"
    if v.clusters and not any(each.standard_error > 0 for found in v.clusters.values() for each in found.values()):
        return f"{text} Nothing is pooled over {groups}: each is one cluster, of which no error is known (--clusters)."
    events = f" and {FEWEST_EVENTS} expected events a group"
    if v.n_clusters is not None:
        events += ", where a cluster of dependent rows counts as one row"
    for name, each in v.pooled.items():
        if math.isnan(each.mean):
            least = "two groups of which it is known" + events * (name == "oe")
            text += f" The {_METRICS[name]} is not pooled over {groups}: that takes {least}."
            continue
        limits = aside(ci(level, each.interval), ci("prediction interval", each.prediction))
        text += f" By random effects over {each.n_clusters} of {groups}, the mean of the {_METRICS[name]} was"
        text += f" {number(each.mean)}{limits}."
    return text
