"""Groups of rows in which forecasts are wrong, as a document, and their charts."""

from __future__ import annotations

from collections.abc import Iterator

from .._lib.formatting import number_of, p_value_cell, p_value_text, printable
from ..assessment.groups_found import Groups
from ..calibration.dependence_search import dependence_words
from ..calibration.where.naming import FoundGroup
from ..pairing.dependence import dependent_text
from ..recalibration.gain import Gain
from ..report.chart import Chart
from ..report.charts import Row, forest
from ..report.document import Action, Block, Column, Document, Prose, Section, Table
from ..report.numbers import amount, count, number, share, signed
from ..report.result import Naming, document
from ..report.tables import aside, ci, how
from .tally import ROWS_CHANGED, class_name, counted, notes_lines

_EFFECT = (
    "An effect says how far log-odds are to be raised, or the slope. Its interval is valid for all rules at once. The"
    " shrunken effect allows for having chosen the largest of many."
)

_WORDS = "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"


@document.register(Groups)
def groups_document(g: Groups, naming: Naming, *, brief: bool) -> Document:
    """Describe the groups."""
    notes = [*notes_lines(g.notes)]
    tables: list[Block] = [_table(g, brief), Prose(_beneath(g))] if g else []
    settings = _settings(g)
    charts = [] if brief or not g else [_chart(g)]
    return Document(
        title=naming.titled("where forecasts are wrong"),
        facts=naming.facts(counted(g.n_rows, len(g.labels), g.labels)),
        headline=_headline(g),
        lead=_lead(g),
        calm=not g,
        actions=[*_actions(g)],
        figure=charts[0] if charts else None,
        first=Section("groups", "Groups", tables, "Groups") if g else None,
        sections=[]
        if brief
        else [how(f"Settings: {settings}.", {"Warnings": g.warnings, ROWS_CHANGED: notes}, naming.command)],
        summary=tables,
        settings=settings,
        warnings=[*g.warnings, *notes],
    )


def _headline(g: Groups) -> str:
    if not g:
        searched = f"{number_of(len(g.columns), 'column')}, {g.rules_searched:,} rules"
        return f"No group shown ({number_of(g.n_rows, 'row')}, {searched}, {p_value_text(g.p_value)})"
    n = len(g.items)
    groups = f"{_WORDS[n - 1] if n <= len(_WORDS) else count(n)} group{'s' * (n > 1)}"
    return f"Wrong in {groups} of rows, beyond the error that all rows share ({p_value_text(g.p_value)})"


def _lead(g: Groups) -> str:
    common = dependence_words(g.dependence)
    if g:
        return common
    detectable = (
        f"A bias of {number(g.detectable_bias, 2)} in log-odds, in a tenth of the rows, would be found with a probability"
        " of 80%."
    )
    return f"{common} {detectable}".strip()


def _actions(g: Groups) -> Iterator[Action]:
    if g.gain is not None:
        yield Action("Cost", _gained(g, g.gain), "Cost")
    if g:
        yield Action(
            "Remedy",
            "Give the model these columns, or correct the groups: add the shrunken effect to the log-odds of their"
            " rows, then recalibrate all rows.",
            "Remedy",
        )
        yield Action(
            "Limits",
            "This does not show why. A column in a rule need not be the cause, and another rule with nearly the same rows may describe the"
            " group as well. Rows that trained the model hide its errors, so use held-out rows.",
            "Limits",
        )
    if g.miscalibrated:
        yield Action(
            "All rows",
            f"All rows together are miscalibrated ({p_value_text(g.p_value_all)}), which is no error of a group. See"
            " `unperplexed assess`, and `recalibrate` to mend it.",
            "All",
        )


def _gained(g: Groups, gain: Gain) -> str:
    """Say what correcting the groups gains on rows held out."""
    limits, (before, after) = aside(ci("95% CI", gain.interval), "cross-fitted"), gain.losses
    groups = "the group" if len(g.items) == 1 else "the groups"
    if gain.value <= 0:
        return f"On rows held out, correcting {groups} gains nothing: {amount(gain.value)} nats{limits}."
    mapped = " by a recalibration of all rows" if g.miscalibrated else ""
    return (
        f"Correcting {groups} lowers log loss by {amount(gain.value)} nats{limits}, from {before}{mapped} to {after}."
    )


def _name(g: Groups, item: FoundGroup) -> str:
    where = "" if len(g.labels) == 2 or item.label is None else f"{class_name(item.label, 0)}: "
    return f"{where}{printable(item.rule)}"


def _table(g: Groups, brief: bool) -> Table:
    one = g.observed == g.observed
    first = [("all rows", g.n_rows, g.mean_predicted, g.observed)] if one else []
    of_groups = [(_name(g, item), item.rows, item.mean_predicted, item.observed) for item in g.items]
    names, rows, predicted, observed = zip(*first, *of_groups, strict=True)
    none = [""] * len(first)
    mapped = [Column("after common curve", [*none, *(share(i.mean_recalibrated) for i in g.items)])]
    effects = [f"{_effect(i)} ({_limit(i.effect_interval[0])} to {_limit(i.effect_interval[1])})" for i in g.items]
    return Table.of(
        "Groups of rows" if brief else f"Groups of rows. {_EFFECT}",
        Column("group", names),
        Column("rows", [*map(count, rows)]),
        Column("mean predicted", [*map(share, predicted)]),
        *(mapped if g.miscalibrated else []),
        Column("observed frequency", [*map(share, observed)]),
        Column("effect (95% CI)", [*none, *effects], detail=True),
        Column("shrunken effect", [*none, *(signed(i.effect_shrunken, 2) for i in g.items)], detail=True),
        Column("cost in nats", [*none, *(f"{i.cost:.4f}" for i in g.items)]),
        Column("adjusted p-value", [*none, *(p_value_cell(i.p_adjusted) for i in g.items)]),
    )


def _effect(item: FoundGroup) -> str:
    return f"{'slope ' if item.error == 'confidence' else ''}{signed(item.effect, 2)}"


def _limit(value: float) -> str:
    return number(value, 2)


def _beneath(g: Groups) -> str:
    slopes = any(item.error == "confidence" for item in g.items)
    steeper = " Where the means agree, the slope is wrong: predictions of the group are too bold or too timid." * slopes
    return (
        "Groups may overlap. Their costs add up in this order, and are of the rows searched, but the gain above is of"
        f" rows held out. p-values are adjusted for all {g.rules_searched:,} rules of one or two conditions on"
        f" {number_of(len(g.columns), 'column')}.{steeper}"
    )


def _settings(g: Groups) -> str:
    rows = dependent_text(g.n_clusters, None, None, None, g.dependence)
    return f"{g.samples} samples from the common curve, seed {g.seed}; {rows}"


def _chart(g: Groups) -> Chart:
    """Draw the effects with their intervals."""
    rows = [
        Row(_name(g, item), item.effect, item.effect_interval, f"{_name(g, item)}: {_effect(item)}") for item in g.items
    ]
    return forest(
        rows,
        title=_headline(g),
        subtitle="effect in each group: log-odds, or the slope, that are to be added",
        label="Effect in each group, with intervals that are valid for all rules at once",
        axis="effect",
        at=0.0,
    )
