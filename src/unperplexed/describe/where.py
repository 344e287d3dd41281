"""Groups of rows in which forecasts are wrong, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._lib.formatting import capital, number_of, p_value_cell, p_value_text, printable
from ..assessment.groups_found import Groups
from ..calibration.dependence_search import dependence_words
from ..calibration.where.chance import SAMPLES
from ..calibration.where.naming import FoundGroup
from ..pairing.dependence import dependent_text
from ..report.document import Action, Block, Column, Document, Prose, Section, Table
from ..report.numbers import count, number, share, signed
from ..report.result import Naming, document
from ..report.tables import estimates, how
from .tally import ROWS_CHANGED, class_name, counted, notes_lines

_EFFECT = "An effect is to be added to log-odds, or to the slope. Its interval is valid for all rules at once."

_REMEDY = (
    "Give the model these columns. Or correct new rows: `where` with -o groups.json (`.recalibrator()` in Python), then"
    " `recalibrate --apply groups.json`."
)

_LIMITS = (
    "This does not show why. A column in a rule need not be the cause, and another rule with nearly the same rows may"
    " describe the group as well. Rows that trained the model hide its errors, so use held-out rows."
)


@document.register(Groups)
def groups_document(g: Groups, naming: Naming, *, brief: bool) -> Document:
    """Describe the groups."""
    notes, rows = [*notes_lines(g.notes)], dependent_text(g.n_clusters, None, None, None, g.dependence)
    tables = _tables(g, brief)
    settings = f"{SAMPLES} samples from the common curve, seed {g.seed}; {rows}"
    more = how(f"Settings: {settings}.", {"Warnings": g.warnings, ROWS_CHANGED: notes}, naming.command)
    return Document(
        title=naming.titled("where forecasts are wrong"),
        facts=naming.facts(counted(g.n_rows, len(g.labels), g.labels)),
        headline=_headline(g),
        lead=f"{dependence_words(g.dependence)} {_detectable(g)}".strip(),
        calm=not g,
        actions=[*_actions(g)],
        first=Section("groups", "Groups", tables, "Groups") if g else None,
        sections=[] if brief else [more],
        summary=tables,
        settings=settings,
        warnings=[*g.warnings, *notes],
    )


def found_blocks(g: Groups, brief: bool) -> list[Block]:
    """Give the groups in a sentence and a table, for an assessment."""
    advice = [each.text for each in _actions(g) if each.label != "All"]
    said = [f"{_headline(g)}.", *advice, _detectable(g), *(f"{capital(each)}." for each in g.warnings)]
    return [Prose(" ".join(filter(None, said))), *_tables(g, brief)]


def _tables(g: Groups, brief: bool) -> list[Block]:
    return [_table(g, brief), Prose(_beneath(g))] if g else []


def _detectable(g: Groups) -> str:
    bias = number(g.detectable_bias, 2)
    return "" if g else f"A bias of {bias} in log-odds in a tenth of the rows would be found in 80% of such samples."


def _headline(g: Groups) -> str:
    n = len(g.items)
    if not n:
        searched = f"{number_of(len(g.columns), 'column')}, {g.rules_searched:,} rules"
        return f"No group shown ({number_of(g.n_rows, 'row')}, {searched}, {p_value_text(g.p_value)})"
    return f"Wrong in {number_of(n, 'group')} of rows, beyond the error that all rows share ({p_value_text(g.p_value)})"


def _actions(g: Groups) -> Iterator[Action]:
    if g.gain is not None:
        mapped = ", beside a recalibration of all rows" if g.miscalibrated else ""
        yield Action("Cost", f"Correcting the groups{mapped}: {g.gain.of('log loss')}.", "Cost")
    if g:
        yield Action("Remedy", _REMEDY, "Remedy")
        yield Action("Limits", _LIMITS, "Limits")
    if g.miscalibrated:
        whole = f"All rows together are miscalibrated ({p_value_text(g.p_value_all)}), which is no error of groups."
        yield Action("All rows", f"{whole} See `unperplexed assess`, and `recalibrate` to mend it.", "All")


def _name(g: Groups, item: FoundGroup) -> str:
    of_class = "" if len(g.labels) == 2 or item.label is None else f"{class_name(item.label, 0)}: "
    return f"{of_class}{printable(item.rule)}{': slope' if item.error == 'confidence' else ''}"


def _table(g: Groups, brief: bool) -> Table:
    whole = [("all rows", g.n_rows, g.mean_predicted, g.observed)] if g.observed == g.observed else []
    means = [(_name(g, item), item.rows, item.mean_predicted, item.observed) for item in g.items]
    names, rows, predicted, observed = zip(*whole, *means, strict=True)

    none = [""] * len(whole)

    def of_groups(heading: str, values: Sequence[str], detail: bool = False) -> Column:
        return Column(heading, [*none, *values], detail=detail)

    mapped = of_groups("after common curve", [share(item.mean_recalibrated) for item in g.items])
    effect = estimates("", [(i.effect, i.effect_interval) for i in g.items], lambda value: number(value, 2))
    return Table.of(
        "Groups of rows" if brief else f"Groups of rows. {_EFFECT}",
        Column("group", names),
        Column("rows", [*map(count, rows)]),
        Column("mean predicted", [*map(share, predicted)]),
        *([mapped] if g.miscalibrated else []),
        Column("observed frequency", [*map(share, observed)]),
        Column("effect", [*none, *effect.values], [*none, *effect.notes], detail=True),
        of_groups("shrunken effect", [signed(item.effect_shrunken, 2) for item in g.items], detail=True),
        of_groups("cost in nats", [f"{item.cost:.4f}" for item in g.items]),
        of_groups("adjusted p-value", [p_value_cell(item.p_adjusted) for item in g.items]),
    )


def _beneath(g: Groups) -> str:
    return (
        "Groups may overlap. Their costs add up in this order, and are of the rows searched, but the gain above is of"
        f" rows held out. p-values are adjusted for all {g.rules_searched:,} rules of one or two conditions on"
        f" {number_of(len(g.columns), 'column')}."
    )
