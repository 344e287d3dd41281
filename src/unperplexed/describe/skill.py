"""Skill scores as words, as text for a terminal and as a document."""

from __future__ import annotations

import math

from .._lib.errors import InputError
from .._lib.formatting import (
    at_floor_text,
    capital,
    confidence_interval,
    p_value_cell,
    p_values,
    rule_text,
    short_name,
    short_names,
)
from ..calibration.dependence_search import dependence_words
from ..forecasts.group_keys import key_text
from ..pairing.dependence import dependent_text
from ..pairing.distribution_skill import ScoreSkill
from ..pairing.skill_result import GroupSkill, Skill, SkillScore, adjusts_groups, conclusion_about, infinite, level_of
from ..report.chart import Chart, Role
from ..report.charts import CUT, Row, forest
from ..report.document import LONGEST_NAME, Block, Column, Document, Prose, Section, Table
from ..report.numbers import amount, count, number, share
from ..report.result import Naming, document, drawn_as
from ..report.tables import aside, ci, estimates, how
from ..scores.distributions.rules import distribution_score_named
from ..scores.rules import LOG_LOSS, rule_at_floor
from .distributions import worth_text
from .tally import ROWS_CHANGED, counted, notes_by_name

MOST_DRAWN = 30
"""Lines that a chart has at most."""


def _lead(s: Skill) -> str:
    """Give the skill scores, and what one is."""
    several, parts = len(s.whole.scores) > 1, []
    for name in s.whole.scores:
        _, size, where = conclusion_about(s, name)
        text = "; ".join(filter(None, [size, where]))
        if text:
            parts.append(f"{short_name(name)}: {text}." if several else f"{capital(text)}.")
    parts += filter(None, [dependence_words(s.dependence, "skill in log loss")])
    parts.append(
        "A skill score is 1 minus the mean score divided by that of the reference: 1 is perfect, 0 as good as the"
        " reference. p-values and intervals are adjusted for the number of groups and forecasters."
    )
    return " ".join(parts)


def _names(s: Skill) -> list[tuple[str, GroupSkill, str]]:
    """Each line of the table: what it is called, its group and the forecaster."""
    several = len(s.whole.scores) > 1
    return [
        (f"{where}: {short_name(name)}" if several else where, group, name)
        for group in (s.whole, *s.groups)
        for where in ["all rows" if not group.key else short_name(key_text(group.key, s.by))]
        for name in group.scores
    ]


def _settings(s: Skill) -> str:
    rows = dependent_text(s.n_clusters, s.n_crossed_clusters, s.lag, s.n_series, s.dependence)
    floor = f", log loss {at_floor_text(s.scored_floor)}" if s.scored_floor else ""
    return f"compared with {s.reference}, paired by row, {rows}{floor}"


@document.register(Skill)
def skill_document(s: Skill, naming: Naming, *, brief: bool) -> Document:
    """Describe skill scores."""
    rules = [*next(iter(s.whole.scores.values()))]
    tables = [skill_table(s, rule) for rule in rules]
    notes = notes_by_name(s.notes)
    headline = "; ".join([*infinite(s), *(conclusion_about(s, each)[0] for each in s.whole.scores)])
    return Document(
        title=naming.titled(f"skill against {s.reference}"),
        facts=naming.facts(counted(s.n_rows, s.n_classes, s.labels)),
        headline=capital(headline),  # a name stands in quotes
        lead=_lead(s),
        calm=not any(s.significant(each[LOG_LOSS]) for each in s.whole.scores.values()),
        figure=skill_chart(s),
        first=Section("skill", "Skill scores", tables, "Skill"),
        sections=[how(f"Settings: {_settings(s)}.", {"Warnings": s.warnings, ROWS_CHANGED: notes}, naming.command)],
        summary=tables,
        settings=_settings(s),
        warnings=[*s.warnings, *notes],
    )


@document.register(ScoreSkill)
def score_skill_document(s: ScoreSkill, naming: Naming, *, brief: bool) -> Document:
    """Describe the skill of predictive distributions."""
    title, limits = distribution_score_named(s.score).title, ci(confidence_interval(s.confidence), s.value.interval)
    known = ["1 is perfect, 0 no better.", *s.notes]
    scores = f"{title} {amount(s.forecast_score)} / {amount(s.reference_score)} of {s.reference}"
    return Document(
        title=naming.titled(s.verdict),
        facts=naming.facts(f"{s.n_rows:,} forecasts"),
        headline=s.verdict,
        lead=f"Skill {number(s.value.value)}{aside(limits)}: 1 − {scores}. {' '.join(known)}",
        calm=not s.p_value < 1 - s.confidence,
        settings=f"{worth_text(s.degrees)}; confidence {s.confidence:g}",
    )


def skill_blocks(s: Skill) -> list[Block]:
    """Give the skill scores as a part of another result: by every rule, or group by group."""
    rules = [*next(iter(s.whole.scores.values()))]
    tables: list[Block] = [skill_table(s, rule) for rule in rules] if s.groups else [_rules_table(s, rules)]
    return [*tables, *(Prose(f"Warning: {line}.", quiet=True) for line in s.warnings)]


def _rules_table(s: Skill, rules: list[str]) -> Table:
    found = [(name, rule, s.whole.scores[name][rule]) for name in s.whole.scores for rule in rules]
    several = len(s.whole.scores) > 1
    return Table.of(
        f"Skill against {s.reference}: 1 is perfect, 0 as good as the reference.",
        *([Column("forecaster", short_names((name for name, *_ in found), LONGEST_NAME))] if several else []),
        Column("score", [rule_at_floor(rule, s.scored_floor) for _, rule, _ in found]),
        *_estimates([each for *_, each in found], p_values(len(s.whole.scores))),
        notes=level_of(s),
    )


def _estimates(found: list[SkillScore], p_value: str) -> list[Column]:
    meaning = "1 minus the ratio of the two scores. Larger is better."
    return [
        estimates("skill score", ((each.skill, each.interval) for each in found), meaning=meaning),
        Column(p_value, [p_value_cell(each.adjusted_p_value) for each in found]),
        Column("mean score", [number(each.score) for each in found], detail=True),
        Column("reference's score", [number(each.reference_score) for each in found], detail=True),
    ]


def skill_table(s: Skill, rule: str) -> Table:
    """Return the skill scores by a rule, all rows first."""
    lines = [(text, group, group.scores[name][rule]) for text, group, name in _names(s)]
    p_value = p_values(len(s.whole.scores)) + ", of groups adjusted" * adjusts_groups(s)
    return Table.of(
        f"Skill against {s.reference} by {rule_at_floor(rule, s.scored_floor)}.",
        Column("group", [text for text, _, _ in lines]),
        Column("rows", [count(group.n_rows) for _, group, _ in lines]),
        *_estimates([each for *_, each in lines], p_value),
        Column("share of the total score", [share(each.share) for *_, each in lines]),
        sortable=True,
        notes=level_of(s, groups=True),
    )


def _known_chart(s: Skill, *, rule: str) -> Chart:
    chart = skill_chart(s, rule)
    if chart is None:
        raise InputError(f"rule: no skill score by {rule_text(rule)} is defined; choose another rule.")
    return chart


def skill_chart(s: Skill, rule: str = LOG_LOSS) -> Chart | None:
    """Draw the skill score of each group with its interval; None where none is defined."""
    lines = [line for line in _names(s) if math.isfinite(line[1].scores[line[2]][rule].skill)][:MOST_DRAWN]
    if not lines:
        return None
    names = [_line_name(s, group, text) for text, group, _ in lines]
    rows = []
    for (_, group, forecaster), name, short in zip(lines, names, short_names(names, 28), strict=True):
        each = group.scores[forecaster][rule]
        text = f"{name}: {number(each.skill)}{aside(ci('CI', each.interval))}"
        rows.append(Row(short, each.skill, each.interval, text, _role(s, each, forecaster)))
    by = rule_at_floor(rule, s.scored_floor)
    cut = f";{CUT}: goes on below −1" * any(min(each.value, each.interval[0]) < _LEAST for each in rows)
    grey = "; grey: not significant, p-values adjusted" if any(each.role == "other" for each in rows) else ""
    return forest(
        rows,
        title=_title(s, rule),
        subtitle=f"Skill score by {by}, with {level_of(s, groups=True)}; dashed: {s.reference}{grey}{cut}",
        label="Skill score by group",
        axis="Skill score. Larger is better",
        at=0.0,
        within=[0.0],
        least=_LEAST,
    )


_LEAST = -1.0
"""The chart ends there, where a score is twice the reference's: one group far below would press all others together."""


_COLOURS: tuple[Role, ...] = ("first", "second", "third", "fourth", "fifth", "sixth")


def _role(s: Skill, each: SkillScore, name: str) -> Role:
    """Colour several forecasters apart; for one alone grey what is not significant."""
    names = [*s.whole.scores]
    if len(names) == 1:
        return "observed" if s.significant(each) else "other"
    return _COLOURS[min(names.index(name), len(_COLOURS) - 1)]


def _line_name(s: Skill, group: GroupSkill, text: str) -> str:
    """Name a line; a number alone says nothing without its column."""
    bare = len(group.key) == 1 and text == str(group.key[0]) and isinstance(group.key[0], int | float)
    return f"{s.by[0]} {text}" if bare else text


def _title(s: Skill, rule: str) -> str:
    """State in how many groups the forecaster, if there is one alone, differs from the reference."""
    if not s.groups or len(s.whole.scores) > 1:
        return f"Skill score by {rule_at_floor(rule, s.scored_floor)} against {s.reference}"
    [name] = s.whole.scores
    found = [group.scores[name][rule] for group in s.groups]
    better, worse = (sum(s.significant(each) and sign * each.skill > 0 for each in found) for sign in (1, -1))
    who = "Better" if name in _UNNAMED else f"{short_name(name)} is better"
    where = f"all {len(found):,}" if better == len(found) > 1 else f"{better:,} of {len(found):,}"
    also = f", worse in {worse:,}" if worse else ""
    return f"{who} than {s.reference} in {where} groups by {', '.join(s.by)}{also}"


drawn_as(Skill, _known_chart, skill_chart)

_UNNAMED = ("forecast", "forecasts")
"""Names of a forecaster to whom the user gave none."""
