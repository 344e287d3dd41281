"""Groups of rows in which forecasts are wrong, as a document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from .._lib.formatting import capital, number_of, p_value_cell, p_value_text, printable, short_names
from ..assessment.groups_found import Groups
from ..calibration.dependence_search import dependence_words
from ..calibration.where.chance import SAMPLES
from ..calibration.where.naming import FoundGroup, Residuals
from ..calibration.where.rules import LEAST_ROWS
from ..pairing.dependence import dependent_text
from ..report.chart import Cells, Chart, Points, chart_size, value_axis
from ..report.charts import Row, forest, heat_map
from ..report.document import Action, Block, Column, Document, Prose, Section, Table
from ..report.numbers import amount, count, number, points, share, signed
from ..report.result import Figure, Naming, document, picture_size, pictures
from ..report.tables import aside, ci, estimates, how
from .tally import ROWS_CHANGED, class_name, counted, notes_lines

_EFFECT = "An effect is to be added to log-odds, or to the slope. Its interval is valid for all rules at once."

_OF_NUMBERS = "Shares are of outcomes above the median, or in 80% intervals; effects shifts in spreads, or factors."

_TRAIN = "If the forecaster can be trained anew, let it use these columns."

_REMEDY = (
    f"{_TRAIN} Or correct new rows: `where` with -o groups.json (`.recalibrator()` in Python), then"
    " `recalibrate NEW.csv --apply groups.json -o CORRECTED.csv`, which also mends what is wrong in all rows."
)

_UNCERTAIN = f"{_TRAIN} That correcting the groups gains on rows held out is not shown, so no map corrects them."

_BY_THEMSELVES = (
    f"{_TRAIN} No map corrects groups of distributions together, so that its gain is not known; `recalibrate` with"
    " --where fits one to the rows of a single group."
)

_SHARED = ", perhaps by these groups. `recalibrate` alone would leave the groups wrong."

_NO_GROUPS = ", which is no error of groups. See `unperplexed assess`, and `recalibrate` to mend it."

_CONFIDENT = {
    "overconfident": "Overconfident: high predictions are too high and low ones too low. ",
    "underconfident": "Underconfident: high predictions are too low and low ones too high. ",
}

_COLUMNS_NAMED = 10
"""Columns that are named beneath the table."""

_LONGEST_RULE = 36
"""Letters of a rule beside the forest."""

_WIDTH = 8.4
"""Inches of the picture."""

_LIMITS = (
    "This does not show why. A column in a rule need not be the cause, and another rule with nearly the same rows may"
    " describe the group as well. Rows that trained the model hide its errors, so use held-out rows."
)


@document.register(Groups)
def groups_document(g: Groups, naming: Naming, *, brief: bool) -> Document:
    """Describe the groups."""
    facts = f"{g.n_rows:,} forecasts by {g.form}" if g.form else counted(g.n_rows, len(g.labels), g.labels)
    notes, rows = [*notes_lines(g.notes)], dependent_text(g.n_clusters, None, None, None, g.dependence)
    tables = _tables(g, brief)
    settings = f"chance by {SAMPLES} samples from the common curve and fitted tails, seed {g.seed}; {rows}"
    more = how(f"Settings: {settings}.", {"Warnings": g.warnings, ROWS_CHANGED: notes}, naming.command)
    alike = "" if g and g.dependence.differing else dependence_words(g.dependence)
    return Document(
        title=naming.titled("where forecasts are wrong"),
        facts=naming.facts(facts),
        headline=_headline(g),
        lead=f"{alike} {'' if g else _detectable(g)}".strip(),
        calm=not g,
        actions=[*_actions(g)],
        figure=None if brief or not g else groups_chart(g),
        first=Section("groups", "Groups", [*charts_of(g)[1:], *tables], "Groups") if g else None,
        sections=[] if brief else [more],
        summary=tables,
        settings=settings,
        warnings=[*g.warnings, *notes],
    )


def found_blocks(g: Groups, brief: bool) -> list[Block]:
    """Give the groups in a sentence and a table, for an assessment."""
    advice = [each.text for each in _actions(g) if each.label != "All"]
    said = [f"{_headline(g)}.", *advice, "" if g else _detectable(g), *(f"{capital(each)}." for each in g.warnings)]
    return [Prose(" ".join(filter(None, said))), *_tables(g, brief)]


def _tables(g: Groups, brief: bool) -> list[Block]:
    return [_table(g, brief), Prose(_beneath(g))] if g else []


def _detectable(g: Groups) -> str:
    bias = f"{number(g.detectable_bias, 2)} {'spreads' if g.form else 'in log-odds'}"
    if math.isnan(g.detectable_bias):
        return "No rule has rows enough: 20, 1% of all, and at most half of the information."
    return f"A bias of {bias} in a tenth of the rows would be found in 80% of such samples."


def _headline(g: Groups) -> str:
    n = len(g.items)
    if not n:
        searched = f"{number_of(len(g.columns), 'column')}, {number_of(g.rules_searched, 'rule')}"
        return f"No group shown ({number_of(g.n_rows, 'row')}, {searched}, {p_value_text(g.p_value)})"
    shared = ", beyond the error that all rows share" if g.miscalibrated else ""
    return f"Wrong in {number_of(n, 'group')} of rows{shared} ({p_value_text(g.p_value)})"


def _actions(g: Groups) -> Iterator[Action]:
    if g.gain is not None:
        mapped = " after a recalibration of all rows" if g.miscalibrated else ""
        yield Action("Gain", f"Correcting the groups{mapped}: {g.gain.of('log loss')}.", "Gain")
    if g:
        uncertain = g.gain is not None and not g.gain.significant
        yield Action("Remedy", _BY_THEMSELVES if g.form else _UNCERTAIN if uncertain else _REMEDY, "Remedy")
        yield Action("Limits", f"{_LIMITS} Groups that are not named may err too. {_detectable(g)}", "Limits")
    p = p_value_text(g.p_value_all)
    if g.miscalibrated:
        yield Action("All rows", f"All rows together are miscalibrated ({p}){_SHARED if g else _NO_GROUPS}", "All")
    elif g:
        yield Action("All rows", f"No error that all rows share is shown ({p}).", "All")


def _name(g: Groups, item: FoundGroup) -> str:
    of_class = "" if len(g.labels) == 2 or item.label is None else f"{class_name(item.label, 0)}: "
    return f"{of_class}{printable(item.rule)}"


def _error(g: Groups, item: FoundGroup) -> str:
    """Say what is wrong in a group: "too low", "overconfident", or of distributions "0.52 spreads too low"."""
    if item.error == "confidence":
        return "underconfident" if item.effect > 0 else "overconfident"
    if item.error == "bias":
        spreads = f"{number(abs(item.effect), 2)} spreads " if g.form else ""
        return f"{spreads}too {'low' if item.effect > 0 else 'high'}"
    factor, how_wide = (item.effect, "narrow") if item.effect > 1 else (1 / item.effect, "wide")
    return f"{number(factor, 2)} times too {how_wide}"


def _table(g: Groups, brief: bool) -> Table:
    whole = [("all rows", g.n_rows, g.mean_predicted, g.observed)] if g.observed == g.observed else []
    means = [(_name(g, item), item.rows, item.mean_predicted, item.observed) for item in g.items]
    names, rows, predicted, observed = zip(*whole, *means, strict=True)

    none = [""] * len(whole)

    def of_groups(heading: str, values: Sequence[str], detail: bool = False) -> Column:
        return Column(heading, [*none, *values], detail=detail)

    headings = ("predicted", "after common map", "observed") if g.form else _HEADINGS
    units = [amount(i.effect * g.median_spread) if i.error == "bias" else "" for i in g.items]
    errors = [of_groups("error", [_error(g, item) for item in g.items])]
    errors += [of_groups("in units", units, detail=True)] if g.form else []
    mapped = Column(
        headings[1],
        [*("" if g.form else share(g.observed) for _ in whole), *(share(i.mean_recalibrated) for i in g.items)],
    )
    raw, seen = Column(headings[0], [*map(share, predicted)]), Column(headings[2], [*map(share, observed)])
    effect = estimates("", [(i.effect, i.effect_interval) for i in g.items], lambda value: number(value, 2))
    return Table.of(
        "Groups of rows" if brief else f"Groups of rows. {_OF_NUMBERS if g.form else _EFFECT}",
        Column("group", names),
        Column("rows", [*map(count, rows)]),
        *errors,
        *([mapped, seen, raw] if g.miscalibrated else [raw, seen]),
        Column("effect", [*none, *effect.values], [*none, *effect.notes], detail=True),
        of_groups("shrunken effect", [signed(item.effect_shrunken, 2) for item in g.items], detail=True),
        of_groups("cost in nats", [f"{item.cost:.4f}" for item in g.items]),
        of_groups("adjusted p-value", [p_value_cell(item.p_adjusted) for item in g.items]),
    )


_HEADINGS = "mean predicted", "after common curve", "observed frequency"


def _beneath(g: Groups) -> str:
    cost = f"{sum(item.cost for item in g.items):.4f}"
    held = f", where the gain on rows held out is {g.gain.value:.2g}" if g.gain else ""
    common = (
        f"The common {'map' if g.form else 'curve'} is one recalibration of all rows, beside which groups are judged. "
    )
    errors = dict.fromkeys(_error(g, item) for item in g.items if item.error == "confidence")
    names = [*map(printable, g.columns[:_COLUMNS_NAMED]), *["..."] * (len(g.columns) > _COLUMNS_NAMED)]
    return (
        f"{''.join(_CONFIDENT[each] for each in errors)}{common if g.miscalibrated else ''}"
        "Groups may overlap. A cost is what correcting a group saves after those"
        f" above it, in nats a row of all: {cost} together on the rows searched{held}. p-values are adjusted for all"
        f" {number_of(g.rules_searched, 'rule')} of one or two conditions, by bias and"
        f" {'width' if g.form else 'slope'}, on {number_of(len(g.columns), 'column')} ({', '.join(names)})."
    )


def charts_of(g: Groups) -> list[Chart]:
    """Make the forest of groups and, where there are any, the map of residuals by the columns of the costliest."""
    return [groups_chart(g), *([] if g.residuals is None else [residuals_chart(g, g.residuals)])]


def groups_chart(g: Groups) -> Chart:
    """Make a forest: what was predicted and observed of all rows and of each group."""
    part = {"bias": ": above median", "width": ": in 80% intervals"} if g.form else {"confidence": ": slope"}
    known: list[tuple[str, int, Groups | FoundGroup]]
    known = [(f"{_name(g, i)}{part.get(i.error, '')}", i.rows, i) for i in g.items]
    if g.observed == g.observed:
        known = [(f"all rows{part.get('bias', '')}", g.n_rows, g), *known]
    if not known:
        raise InputError("no group of any class is found, so that there is nothing to draw.")
    rows, rings, names = [], [], short_names((name for name, *_ in known), _LONGEST_RULE)
    for name, (whole, n, of) in zip(names, known, strict=True):
        seen = f"observed {share(of.observed)}{aside(ci('95% CI', of.observed_interval, share))}"
        told = f"{whole}: {seen}, predicted {share(of.mean_predicted)}, {count(n)} rows"
        rows.append(Row(name, of.observed, of.observed_interval, told))
        rings.append(of.mean_predicted)
    more = "; an error of the slope shows in the table alone" if any(i.error == "confidence" for i in g.items) else ""
    chart = forest(
        rows,
        title=f"Predicted and observed {'share of outcomes' if g.form else 'frequency'}",
        subtitle=f"Ring: mean prediction. Dot: observed frequency, 95% CI, of groups valid for all rules at once{more}",
        label="Mean prediction and observed frequency of groups",
        axis="Probability",
        within=rings,
    )
    [dots] = chart.points
    axis = value_axis(chart.x.low, chart.x.high, chart.x.label, _percent)
    return replace(chart, x=axis, points=[Points(np.array(rings), dots.y, hollow=True), dots])


def _percent(value: float, decimals: int) -> str:
    return f"{100 * value:.{max(decimals - 2, 0)}f}%"


def residuals_chart(g: Groups, r: Residuals) -> Chart:
    """Make a heat map of residuals after the common curve; cells of too few rows for a rule have a dot."""
    n, means = np.array(r.rows), np.array(r.means)
    down, across = n.shape
    told = n >= LEAST_ROWS
    most = float(np.abs(means[told]).max(initial=0)) or 1.0
    columns, rows = (short_names(each, most) for each, most in zip(r.parts, (max(9, 90 // across), 28), strict=True))
    at = [*zip(*(each.tolist() for each in np.nonzero(n)), strict=True)]
    texts = [
        f"{columns[column]}, {rows[row]}: residual {points(r.means[row][column])} percentage points in"
        f" {number_of(r.rows[row][column], 'row')}"
        for row, column in at
    ]
    (left, right), (first, after) = r.group
    cells = Cells(
        np.array([column for _, column in at], dtype=np.float64),
        np.array([down - row for row, _ in at], dtype=np.float64),
        np.array([means[cell] / most if told[cell] else 0.0 for cell in at]),
        [points(float(means[cell])) if told[cell] else "·" for cell in at],
        texts,
        scale=("overpredicted", "underpredicted"),
        outline=(left - 0.48, right - 0.52, down + 0.55 - after, down + 0.45 - first),
    )
    of_class = "" if len(g.labels) == 2 or r.label is None else f" of class {class_name(r.label, 0)}"
    title = f"Residuals{of_class} by {' and '.join(map(printable, r.columns[::-1]))}"
    few = f". Dot: under {LEAST_ROWS} rows" if (n[~told] > 0).any() else ""
    what = "Outcomes above the median, observed" if g.form else "Observed"
    about = f"{what} less predicted, after the curve that all rows share, in percentage points"
    return heat_map(
        cells,
        rows,
        columns if across > 1 else [""],
        title=title,
        subtitle=f"{about}. Box: the costliest group with a bias{few}",
        label=f"{title}. {'; '.join(texts)}",
        axis=printable(r.columns[0]) if len(r.columns) > 1 else "All rows",
    )


@picture_size.register(Groups)
def size(g: Groups) -> tuple[float, float]:
    """Width and height, in inches, of the charts one below the other."""
    return _WIDTH, sum(chart_size(chart)[1] for chart in charts_of(g))


@pictures.register(Groups)
def draw_groups(g: Groups, figure: Figure | None) -> Figure:
    """Draw the charts one below the other, as `Groups.plot` describes it."""
    from ..report.axes import figure_or_new
    from ..report.matplotlib_draw import draw

    charts, figure = charts_of(g), figure_or_new(figure, size(g))
    heights = [chart_size(chart)[1] for chart in charts]
    parts = figure.subfigures(len(charts), 1, squeeze=False, height_ratios=heights).ravel()
    for chart, part in zip(charts, parts, strict=True):
        draw(chart, part.subplots())
    return figure
