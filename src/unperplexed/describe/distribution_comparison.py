"""A comparison of predictive distributions as a document: who is better, by how much, and what each one's error is."""

from __future__ import annotations

import math

from .._lib.errors import check_choice
from .._lib.formatting import confidence_interval, short_name, short_names
from ..assessment.distribution_result import DistributionAssessment
from ..calibration.dependence_search import dependence_words
from ..comparison.distributions import DistributionComparison
from ..comparison.result import Difference
from ..report.chart import Chart
from ..report.charts import Row, forest
from ..report.document import LONGEST_NAME, Column, Document, Section, Table, inside, listed
from ..report.numbers import amount, between, level_text, number
from ..report.result import Naming, document, drawn_as
from ..report.tables import estimates, how, noted
from .comparison import costs
from .comparison_tables import p_value_column, pair_name
from .diagnosis import short_verdict
from .distributions import settings, two_decimals, worth_text

_FEW = 20
"""Fewer degrees of freedom get a warning."""

_DRAWS = "The fair CRPS takes members as draws. If some were recalibrated, compare by --metric plain_crps."

_SHORT = 10
"""Pairs that a short form shows of each score."""


@document.register(DistributionComparison)
def distribution_comparison_document(c: DistributionComparison, naming: Naming, *, brief: bool) -> Document:
    """Describe a comparison of predictive distributions."""
    headline, *lead = c.clauses()
    first = next(iter(c.forecasters.values()))
    forms = listed([*dict.fromkeys(each.form for each in c.forecasters.values())])
    counted = f"{len(c.forecasters)} forecasters, the same {c.n_rows:,} forecasts of each by {forms}"
    tables = [scores_table(c), calibration_table(c)]
    differences = [differences_table(c, score) for score in c.scores]
    degrees = next(iter(c.pairs[0].differences.values())).carried_by - 1
    said = settings(first, f"for differences {(worth := worth_text(degrees))}")
    few = f"The differences are {worth}: intervals and p-values are approximate."
    fair = any(c.title(each).startswith("Fair") for each in c.scores)
    warnings = [*[few] * (degrees < _FEW), *[_DRAWS] * fair, *c.notes]
    what = f"comparisons with {short_name(c.reference)}" if c.reference else f"pairs, of skill for {len(c.skill)}"
    said += f"; p-values and intervals adjusted for {len(c.pairs):,} {what}" * (len(c.pairs) > 1)
    title = f"{len(c.forecasters)} forecasters, {next(iter(c.forecasters))} first by {inside(c.title(c.scores[0]))}"
    forecasters = Section("forecasters", "Forecasters", tables, "Forecasters")
    return Document(
        title=naming.titled(title),
        facts=(": " if brief else " · ").join(filter(None, [naming.called, counted])),
        headline=headline,
        lead=" ".join([*(f"{each}." for each in lead), *filter(None, [dependence_words(first.dependence)])]),
        calm=not any(c.significant(each) for pair in c.pairs for each in pair.differences.values()),
        actions=[*costs({name: each.diagnosis for name, each in c.forecasters.items()}, "at least {} nats a forecast")],
        figure=None if brief else differences_chart(c),
        first=Section("differences", "Which is better? Paired differences", differences, "Differences"),
        sections=[forecasters, how(f"Settings: {said}.", {"Notes": warnings}, naming.command)],
        summary=[*tables, *differences],
        settings=said,
        more=f"{naming.continued}; assess of each forecaster: histogram, quantiles, coverage",
        warnings=warnings,
    )


def _names(c: DistributionComparison) -> Column:
    return Column("forecaster", short_names(c.forecasters, LONGEST_NAME))


def scores_table(c: DistributionComparison) -> Table:
    """Return the mean scores of the forecasters, and their skill, the best first."""
    found = [*c.forecasters.values()]
    skill = [*c.skill.values()]
    return Table.of(
        f"Each by itself: mean scores, smaller is better; skill by {inside(c.title(c.scores[0]))} against"
        f" {skill[0].reference}, 1 is perfect, 0 no better.",
        _names(c),
        *(Column(c.title(score), [amount(each.scores[score].value) for each in found]) for score in c.scores),
        estimates("skill", ((each.value.value, each.value.interval) for each in skill), two_decimals),
        notes=confidence_interval(c.confidence, len(skill) - bool(c.reference)),
    )


def calibration_table(c: DistributionComparison) -> Table:
    """Return how many outcomes the intervals of each forecaster held, and what is wrong with it."""
    found = [*c.forecasters.values()]
    errors = (each.diagnosis for each in found)
    wrong = [each.in_brief if each.findings else short_verdict(each) for each in errors]
    usual = [name for _, name in sorted({(each.expected, each.name) for a in found for each in a.usual_intervals})]
    held = [(name.removesuffix(" intervals"), [_held(each, name) for each in found]) for name in usual]
    return Table.of(
        "Calibration. Too low by so many predicted spreads (0 is best); intervals are to be so many times as wide (1 is"
        " best).",
        _names(c),
        *(Column(f"held by {name}", shares) for name, shares in held),
        Column("too low by", [two_decimals(each.bias.value) for each in found]),
        Column("width factor", [two_decimals(each.width.value) for each in found]),
        Column("miscalibration", wrong, words=True),
    )


def _held(a: DistributionAssessment, name: str) -> str:
    return next((level_text(round(each.held.value, 3)) for each in a.coverage if each.name == name), "")


def differences_table(c: DistributionComparison, score: str) -> Table:
    """Return the paired differences by a score, the pair of the first two first."""
    found = [pair.differences[score] for pair in c.pairs]
    return Table.of(
        f"Paired differences in {inside(c.title(score))}, left − right: below 0 the left one is better.",
        Column("", [*map(pair_name, c.pairs)]),
        noted("difference", map(_shown, found)),
        p_value_column(found, len(found)),
        brief=_SHORT,
        notes=confidence_interval(c.confidence, len(found)),
    )


def _shown(each: Difference) -> tuple[str, str]:
    """Give a difference and its limits to so many decimals as their distance tells."""
    width = each.interval.high - each.interval.low
    decimals = max(0, 2 - math.floor(math.log10(width))) if 0 < width < math.inf else 3
    return number(each.difference, decimals), between(*each.interval, lambda x: number(x, decimals))


def differences_chart(c: DistributionComparison, score: str | None = None) -> Chart:
    """Make a forest of the paired differences by a score."""
    score = c.scores[0] if score is None else score
    check_choice("score", score, c.scores)
    title, rows = inside(c.title(score)), []
    for pair in c.pairs:
        name, each = pair_name(pair), pair.differences[score]
        rows.append(Row(name, each.difference, each.interval, f"{name}: {_shown(each)[0]}"))
    return forest(
        rows,
        title=f"Paired differences in {title}",
        subtitle=f"Points with {confidence_interval(c.confidence, len(c.pairs))}; below 0 the first one is better",
        label=f"Paired differences in {title}",
        axis=f"Difference in {title}",
        at=0.0,
        within=(0.0,),
    )


drawn_as(DistributionComparison, differences_chart, differences_chart)
