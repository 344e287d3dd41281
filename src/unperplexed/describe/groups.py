"""A breakdown as a document: that of all rows, with a table of the groups and a chart of their accuracies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, get_args

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, check_choice
from .._lib.formatting import confidence_interval, number_of, p_value_cell, printable, rule_text, short_name
from ..assessment.breakdown import REMEDIED, Breakdown, CostShare, GroupRemedy, PlotKind
from ..assessment.group_figures import MOST_DIAGNOSED, GroupAssessment
from ..assessment.remedy import Commands, PythonLine
from ..calibration.diagnosis.kinds import KINDS
from ..calibration.diagnosis.result import Diagnosis, Finding
from ..forecasts.group_keys import ALL_ROWS, Key, Value, in_order, key_text, key_texts
from ..report.chart import Cells, Chart, chart_size
from ..report.charts import Row, forest, heat_map
from ..report.document import (
    LONGEST_NAME,
    Block,
    Code,
    Column,
    Document,
    Lazily,
    Prose,
    Section,
    SmallCharts,
    Table,
    lookup,
)
from ..report.numbers import between, count, number, share, small
from ..report.result import Figure, Naming, document, picture_size, pictures
from ..report.tables import aside, ci, estimates
from ..scores.rules import is_printed
from ..sources.row_filter import condition_of
from .assessment import assessment_document
from .assessment_charts import MOST_CURVES, Event, reliability_chart, small_chart
from .assessment_metrics import KEY_SCORES
from .assessment_words import terms_of
from .diagnosis import short_verdict
from .skill import skill_blocks
from .tally import notes_lines


@document.register(Breakdown)
def breakdown_document(b: Breakdown, naming: Naming, *, brief: bool) -> Document:
    """Describe all rows, and their groups."""
    groups, commands = _miscalibrated(b), b.whole.source.commands
    how = " (recalibrate --by; GroupRecalibrator in Python)" if commands.of_groups(b.by) else ""
    one_map = f"Fit a map for each group{how}: one map for all rows would fit noise."
    keys = [group.key for group in b.groups]
    remedies = remedy_blocks(b.remedies, b.by, keys, commands, b.whole.n_rows) if len(b) <= REMEDIED else ()
    whole = assessment_document(b.whole, naming, brief=brief, groups=groups, group_map=one_map)
    terms, grid = ["groups"] if groups else [], two_way(b)
    skill = [] if b.skill is None else skill_blocks(b.skill)
    drivers = [Prose(b.drivers)] if b.drivers else []
    about: list[Block] = [*_between_groups(b), *drivers, *_detected(b), *remedies]
    if brief:
        warnings = [*(b.whole.uncertainty.warnings if b.shrinkage is None else ()), *notes_lines(b.whole.notes)]
        return replace(
            whole,
            metrics=(),
            summary=[groups_table(b), *two_way_blocks(grid), *about, *skill],
            settings="",
            further=lookup([*terms_of(b.whole), *terms]),
            more=f"{naming.continued}: a chart and all figures of the groups, and of all rows",
            warnings=warnings,
        )
    from ..report.explanations import folded

    title = f"Groups by {', '.join(map(printable, b.by))}"
    sections = [Section("by", title, [groups_table(b), *about, *folded(terms)], "Groups")]
    if b.skill is not None:
        sections.append(Section("by-skill", f"Skill against {b.skill.reference}, by group", skill, "Skill"))
    if grid is not None:
        blocks: list[Block] = [two_way_chart(grid), replace(two_way_table(grid), folded=True)]
        sections.append(Section("by-two-way", f"Findings by {' and '.join(grid.names)}", blocks, "Two-way table"))
    if len(b) > 1:
        curves = [
            small_chart(group.assessment, name, told(b, group, _HEADLINE))
            for group, name in zip(b.groups[:MOST_CURVES], _names(b.groups[:MOST_CURVES], b.by), strict=True)
        ]
        more = f": the first {len(curves)} of {len(b):,} groups" if len(b) > len(curves) else ""
        sections += [
            Section("by-accuracy", "Accuracy by group", [groups_chart(b)], width=6),
            Section("by-findings", "Findings by group", [findings_chart(b)], width=6),
            Section("by-curves", f"Reliability diagram of each group{more}", [SmallCharts(curves)], "Curves"),
        ]
    return replace(whole, sections=[*sections, *whole.sections])


def groups_table(b: Breakdown) -> Table:
    """Return all rows, and the groups, with their figures."""
    of, shrunk, costs = [b.total, *b.groups], b.shrinkage is not None, b.cost_shares

    def each(heading: str, value: Callable[[GroupAssessment], str], **more: Any) -> Column:
        return Column(heading, Lazily(of, value), **more)

    def of_cost(heading: str, value: Callable[[CostShare], str], all_rows: str = "", **more: Any) -> Column:
        return each(heading, lambda group: value(costs[group.key]) if group.key in costs else all_rows, **more)

    names = [ALL_ROWS, *_names(b.groups, b.by, LONGEST_NAME)], ["few rows" if group.small else "" for group in of]
    diagnosed = [
        each("cost in nats", lambda group: small(group.cost), meaning="What the errors found cost, nats a row."
             " Smaller is better."),
        of_cost("share of all cost", lambda found: share(found.share), meaning="Cost times rows, of the total over all"
                " groups."),
        of_cost("share of all rows", lambda found: share(found.row_share), "100%", detail=True),
        of_cost("adjusted p-value", lambda found: p_value_cell(found.adjusted_p_value), detail=True,
                meaning="Of the group's test of miscalibration, Holm-adjusted for the number of groups."),
    ]  # fmt: skip

    meaning = "Where the adjusted p-value is below 0.05."
    verdict = each("miscalibration", partial(told, b), words=True, detail=shrunk, meaning=meaning)
    columns = [
        Column(", ".join(map(printable, b.by)), *names),
        each("rows", lambda group: count(group.n_rows)),
        each("predicted geometric accuracy", lambda group: number(group.geometric_accuracy)),
        each("standard error", lambda group: small(group.standard_error), detail=True),
        each("calibrated geometric accuracy", lambda x: number(x.assessment.measured.geometric_accuracy), detail=True),
        *(diagnosed if b.diagnosed else ()),
        each("slope of the averages", lambda x: number(x.assessment.averages_slope), detail=True, meaning="1 is best."),
        *(each(rule_text(name), _score(name)) for name in _further_scores(b)),
        each("accuracy", lambda group: share(group.prediction_accuracy), detail=shrunk),
        *([verdict] if b.diagnosed else ()),
    ]
    if b.shrinkage is not None:
        shrunken = [group.shrunken for group in of]
        columns[3:3] = [
            Column(
                "shrunken",
                ["" if s is None else number(s.geometric_accuracy) for s in shrunken],
                ["" if s is None else between(s.low, s.high) for s in shrunken],
                meaning="The own share of the predicted geometric accuracy, the rest that of the centre of all groups.",
            ),
            Column("own share", ["" if s is None else f"{s.own_share:.0%}" for s in shrunken]),
        ]
    level = confidence_interval(0.95 if b.shrinkage is None else b.shrinkage.confidence)
    return Table(_caption(b), columns, sortable=True, notes=level)


def doubtful(b: Breakdown, group: GroupAssessment) -> bool:
    """Whether the findings of a group are not significant among those of all groups, so that none is shown."""
    tested = b.cost_shares.get(group.key)
    return bool(tested and group.diagnosis.findings and not tested.significant)


def told(b: Breakdown, group: GroupAssessment, words: Callable[[Diagnosis], str] = short_verdict) -> str:
    """Say what is wrong with a group, or that it is not significant among all groups."""
    return "not significant" if doubtful(b, group) else words(group.diagnosis)


def _further_scores(b: Breakdown) -> list[str]:
    """Return the scores that were asked for by name."""
    asked = b.whole.source.asked
    names = [name for name in b.whole.scores if name not in KEY_SCORES and is_printed(name, asked)]
    return [*names, *(name for name in KEY_SCORES if name in asked)]


def _score(name: str) -> Callable[[GroupAssessment], str]:
    return lambda group: number(group.assessment.scores[name])


_HEADLINE = attrgetter("headline")

ORDERS = {
    "geometric_accuracy": "the lowest predicted geometric accuracy first",
    "cost": "the highest cost of miscalibration first",
    "prediction_accuracy": "the lowest accuracy first",
    "rows": "the most rows first",
    "group": "in order",
}
_MOST_EMPTY = 3


def _caption(b: Breakdown) -> str:
    """Count the groups, and state their order and what a small one is."""
    order = ORDERS[b.sort]
    if b.shrinkage is not None and not b.small_last:
        order = order.replace("predicted", "shrunken")
    few = any(group.small for group in b.groups)
    if b.small_last and few:
        order += ", small ones last"
    sentences = [f"{number_of(len(b), 'group')} by {', '.join(map(printable, b.by))}, {order}."]
    if b.empty:
        named = ", ".join(short_name(key_text(key)) for key in b.empty[:_MOST_EMPTY])
        left_out = f"{number_of(len(b.empty), 'group')} without rows to assess"
        sentences.append(f"{left_out}, left out: {named}{', ...' if len(b.empty) > _MOST_EMPTY else ''}.")
    if few or b.total.small:
        sentences.append(
            "Few rows: the most probable class was right in fewer than 100 rows of the group, or wrong in fewer than"
            " 100. Do not rely on the calibration of such a group."
        )
    if not b.diagnosed:
        sentences.append(
            f"No group is diagnosed by itself, as there are more than {MOST_DIAGNOSED:,}: choose one (--where) or group"
            " by what has fewer values."
        )
    return " ".join([*sentences, "All groups are in frame() and --json."])


def _between_groups(b: Breakdown) -> list[Block]:
    """State by how much shrunken groups differ."""
    if b.shrinkage is None:
        return []
    centre, spread = number(b.shrinkage.centre), math.exp(b.shrinkage.between)
    words = f"Shrunken: the own share of the predicted geometric accuracy, the rest {centre}, the centre of all groups."
    if spread > 1:
        factor = f"{spread:.{2 if spread > 1.1 else 3}f}"
        return [Prose(f"{words} The groups differ by a factor of {factor} (standard deviation) more than by chance.")]
    return [Prose(f"{words} The groups differ by no more than chance.")]


def _detected(b: Breakdown) -> list[Block]:
    """Say how well the top probability tells groups of rows apart, such as those of another distribution."""
    found = sorted(b.detection.items(), key=lambda each: -each[1].value) if b.whole.n_classes > 2 else []
    level = confidence_interval(b.whole.source.sampling.confidence)
    if len(found) > 2:
        said = (
            "AUROC by which a low top probability tells the rows of a group from all others (out-of-distribution"
            " detection). Larger is better; 0.5 is chance."
        )
        name = Column(", ".join(map(printable, b.by)), key_texts([key for key, _ in found], LONGEST_NAME, b.by))
        return [Table.of(said, name, estimates("AUROC", ((m.value, m.interval) for _, m in found)), notes=level)]
    return [
        Prose(
            f"The top probability tells {key_text(key)} from the other group with an AUROC of"
            f" {number(metric.value)}{aside(ci(level, metric.interval))}: in so many pairs of rows, one of each group,"
            f" it is smaller for {key_text(key)}. 0.5 is chance."
        )
        for key, metric in found[: len(found) - 1]
    ]


def _names(groups: Sequence[GroupAssessment], by: Sequence[str], most: int = 28) -> list[str]:
    return key_texts((group.key for group in groups), most, by)


def _miscalibrated(b: Breakdown) -> str:
    """Count the groups that are miscalibrated, corrected for the number of groups, with a verb; "" for none."""
    found = sum(each.significant for each in b.cost_shares.values())
    by = ", ".join(map(printable, b.by))
    return f"{found:,} of {number_of(len(b), 'group')} by {by} {'is' if found == 1 else 'are'}" if found else ""


def groups_chart(b: Breakdown) -> Chart:
    """Geometric accuracy of each group with a 95% confidence interval, the first groups on top."""
    shown = b.groups[:MOST_DRAWN]
    rows = []
    for name, group in zip(_names(shown, b.by), shown, strict=True):
        value, half = group.geometric_accuracy, _REACH * group.standard_error
        interval = (value - half, value + half)
        known = f"{number(value)} in {count(group.n_rows)} rows{aside(ci('95% CI', interval))}"
        rows.append(Row(name, value, interval, f"{name}: {known}"))
    more = f"; the first {len(shown)} of {len(b):,} groups" if len(b) > len(shown) else ""
    return forest(
        rows,
        title="Geometric accuracy of each group",
        subtitle=f"Points with 95% CI; the dashed line is all rows{more}",
        label="Geometric accuracy by group",
        axis="Geometric accuracy. Larger is better",
        at=b.whole.reported.geometric_accuracy,
    )


_REACH = 1.96
"""Standard errors to either end of a 95% confidence interval."""


@picture_size.register(Breakdown)
def size(b: Breakdown) -> tuple[float, float]:
    """Width and height, in inches, that suit what `Breakdown.plot` draws unasked: at most 12 diagrams."""
    from ..report.matplotlib_chart import multiples_size

    grid = two_way(b)
    return multiples_size(max(1, min(len(b), 12))) if grid is None else chart_size(two_way_chart(grid))


@pictures.register(Breakdown)
def draw_groups(b: Breakdown, figure: Figure | None, most: int, kind: str) -> Figure:
    """Draw the reliability diagrams or the findings of the first groups, as `Breakdown.plot` describes it.

    Parameters
    ----------
    b : Breakdown
        What is drawn.
    figure : matplotlib Figure or None
        Where to draw; None for a new pyplot figure of the size needed.
    most : int
        Number of diagrams to draw at most, from 1.
    kind : str
        One of `PlotKind`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        For another kind, fewer diagrams than one, or a two-way picture of groups that are not by two columns.
    """
    from ..report.matplotlib_chart import draw_multiples
    from ..report.matplotlib_draw import draw_alone

    check_choice("kind", kind, get_args(PlotKind))
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"most: expected a whole number of groups from 1, got {most!r}.")
    grid = two_way(b)
    if kind == "two-way" and grid is None:
        raise InputError(
            "kind: a two-way picture is of groups by two columns with at least two values each, at most"
            f" {MOST_DOWN} and {MOST_ACROSS}; here by {', '.join(b.by)}. Use kind='findings'."
        )
    if grid is not None and kind in ("auto", "two-way"):
        return draw_alone(two_way_chart(grid), figure)
    if kind == "findings":
        return draw_alone(findings_chart(b), figure)
    shown = []
    for group, name in zip(b.groups[:most], _names(b.groups[:most], b.by), strict=True):
        a = group.assessment
        chart = reliability_chart(Event(a), after_remedy=False)
        shown.append((name, f"{count(a.n_rows)} rows: {told(b, group, _HEADLINE)}", chart))
    left_out = f"The first {most} of {len(b):,} groups, {ORDERS[b.sort]}" if len(b) > most else ""
    return draw_multiples(shown, left_out, figure)


def remedy_blocks(
    found: dict[Key, GroupRemedy], by: Sequence[str], keys: Sequence[Key], commands: Commands | PythonLine, n_rows: int
) -> Iterator[Block]:
    """Say which groups recalibration would help, the largest gain first, and how.

    Parameters
    ----------
    found : dict from Key to GroupRemedy
        Remedies by group, of those groups that have one.
    by : sequence of str
        Columns that the groups are by.
    keys : sequence of Key
        All groups.
    commands : Commands or PythonLine
        How the forecasts were read, for the commands.
    n_rows : int
        Number of all rows, in whichever group.

    Yields
    ------
    Block
    """
    n_groups = len(keys)
    helped = sorted((each for each in found.values() if each.significant), key=lambda each: -each.remedy.gain.value)
    if helped:
        yield Table.of(
            "Groups that a recalibration map of their own would help. Log losses are cross-fitted. p-values are"
            f" Bonferroni-adjusted for {number_of(n_groups, 'group')}.",
            Column("group", [_name(each.key) for each in helped]),
            Column("log loss", [number(each.remedy.gain.before) for each in helped]),
            Column("recalibrated", [number(each.remedy.gain.after) for each in helped]),
            Column("adjusted p-value", [p_value_cell(each.adjusted_p_value) for each in helped]),
            Column("map", [each.remedy.map for each in helped], words=True),
        )
        first = helped[0].key
        if code := commands.of_rows(condition_of(by, first, keys)):
            yield Prose(f"For one group, here {_name(first)}. The rows of other groups are left as they are.")
            yield Code(code, "Commands or line of Python that recalibrates one group")
        else:
            yield Prose("Fit a map to the rows of one group: recalibrate --where CONDITION.")
        if n_groups > 1 and (code := commands.of_groups(by)):
            gained = sum(each.remedy.gain.value * each.remedy.gain.n_rows for each in helped)
            yield Prose(
                f"For all groups at once. The maps of the groups above reduce the log loss of all rows by"
                f" {gained / n_rows:.2g} nats (cross-fitted). The fit compares maps of groups with one map, and keeps"
                " the one map unless they gain significantly."
            )
            yield Code(code, "Commands or line of Python that recalibrates each group")


def _name(key: Key) -> str:
    return short_name(key_text(key))


MOST_DRAWN = 30
"""Groups that the chart shows."""

LEAST = 0.15
"""Strength of a finding whose cost is not known, or small."""


_OVER, _UNDER = KINDS["confidence"].names
SCALE = (f"overpredicted, {_OVER}, other", f"underpredicted, {_UNDER}")
"""What the two colours stand for, the darkest at either end."""


def findings_chart(b: Breakdown) -> Chart:
    """Make a heat map of the first groups' findings: the costlier an error in a group, the darker its cell."""
    groups = b.groups[:MOST_DRAWN]
    sure = [(row, group) for row, group in enumerate(groups) if not doubtful(b, group)]
    found = [(row, each) for row, group in sure for each in group.diagnosis.findings]
    seen = {finding.error for _, finding in found}
    kinds = [kind for kind in KINDS.values() if (kind.plain and kind.two) or kind.error in seen]
    errors = [kind.error for kind in kinds]
    cells: dict[tuple[int, int], list[Finding]] = {}
    for row, finding in found:
        cells.setdefault((row, errors.index(finding.error)), []).append(finding)
    costs = np.array([sum(one.cost for one in each if math.isfinite(one.cost)) for each in cells.values()])
    most = float(costs.max(initial=0)) or 1.0
    strength = np.array([sign_of(each) for each in cells.values()]) * np.maximum(costs / most, LEAST)
    places = np.array([*cells], dtype=np.float64).reshape(-1, 2)
    names = _names(groups, b.by)
    texts = [f"{names[row]}: {', '.join(f.words for f in each)}" for (row, _), each in cells.items()]
    miscalibrated = len({row for row, _ in found})
    shown = [number(cost) if cost > 0 else "found" for cost in costs.tolist()]
    scale = SCALE if found else ()
    more = f"; the first {len(groups)} of {len(b):,} groups" if len(b) > len(groups) else ""
    tested = "Holm-adjusted for the number of groups" if b.diagnosed else "each group tested at 5%"
    return heat_map(
        Cells(places[:, 1], len(groups) - places[:, 0], strength, shown, texts, scale),
        [f"{name} ({count(group.n_rows)})" for name, group in zip(names, groups, strict=True)],
        [kind.heading or kind.error for kind in kinds],
        title=f"Evidence of miscalibration in {miscalibrated:,} of {len(groups):,} groups",
        subtitle=f"Cost of each finding in nats a row; blank: no evidence, {tested}. Number of rows in brackets{more}",
        label=f"Findings by group. {'; '.join(texts) if texts else 'No evidence of miscalibration in any group'}.",
        axis="Finding",
    )


def sign_of(findings: Sequence[Finding]) -> float:
    """Give 1 where probabilities are too low or too close to one another, and -1 for all else."""
    low = len(findings) == 1 and KINDS[findings[0].error].low_above and findings[0].parameter > 0
    return 1.0 if low else -1.0


MOST_ACROSS, MOST_DOWN = 12, 40
"""Columns and rows of a heat map; with more values either way there is none."""

_MOST_IN_TEXT = 8


class TwoWay(Frozen):
    """The groups of a breakdown by two columns, by row and column of a table."""

    breakdown: Breakdown
    down: int
    """Which of the two columns the rows are of."""
    rows: Sequence[Value]
    columns: Sequence[Value]
    cells: dict[tuple[Value, Value], GroupAssessment]

    @property
    def names(self) -> tuple[str, str]:
        """Names of the columns that rows and columns are of."""
        by = self.breakdown.by
        return printable(by[self.down]), printable(by[1 - self.down])

    def found(self, group: GroupAssessment) -> bool:
        """Whether there is evidence of miscalibration in a group after correction for the number of groups."""
        return self.breakdown.cost_shares[group.key].significant


def two_way(b: Breakdown) -> TwoWay | None:
    """Arrange groups by two columns, the one with fewer values across if the other has too many; None for others."""
    if len(b.by) != 2 or not b.groups:
        return None
    values = [[value for (value,) in in_order([*{(group.key[at],) for group in b.groups}])] for at in (0, 1)]
    down = 0 if len(values[1]) <= MOST_ACROSS else 1
    if min(map(len, values)) < 2 or len(values[1 - down]) > MOST_ACROSS or len(values[down]) > MOST_DOWN:
        return None
    cells = {(group.key[down], group.key[1 - down]): group for group in b.groups}
    return TwoWay(b, down, values[down], values[1 - down], cells)


def two_way_table(t: TwoWay) -> Table:
    """Return the cost in each cell, with a mark where there is evidence of miscalibration."""

    def cell(row: Value, column: Value) -> str:
        group = t.cells.get((row, column))
        if group is None:
            return ""
        return small(group.cost) + "*" * t.found(group)

    down, across = t.names
    return Table.of(
        f"Cost of miscalibration in nats by {down} (rows) and {across} (columns). *: evidence of miscalibration,"
        f" Holm-adjusted for {number_of(len(t.breakdown), 'group')}.",
        Column(down, _value_names(t.rows, down)),
        *(
            Column(name, [cell(row, column) for row in t.rows])
            for name, column in zip(_value_names(t.columns, across), t.columns, strict=True)
        ),
    )


def two_way_blocks(t: TwoWay | None) -> list[Table]:
    """Give the table where it has room in a text."""
    return [] if t is None or len(t.columns) > _MOST_IN_TEXT else [two_way_table(t)]


def two_way_chart(t: TwoWay) -> Chart:
    """Make a heat map: the more miscalibration costs in a cell, the darker; a dot where there is no evidence of it."""
    down, across = t.names
    places, strength, shown, texts = [], [], [], []
    most = max((group.cost for group in t.cells.values() if t.found(group)), default=0.0)
    for (row, column), group in t.cells.items():
        a, found = group.assessment, t.found(group)
        depth = max(min(group.cost / most, 1.0), LEAST) if found and most > 0 else 0.0
        places.append((t.columns.index(column), len(t.rows) - t.rows.index(row)))
        strength.append(depth * sign_of(a.diagnosis.findings))
        shown.append(number(group.cost, 2) if found and len(t.columns) <= _MOST_IN_TEXT else "" if found else "·")
        words = short_verdict(a.diagnosis) if found else "no evidence of miscalibration"
        cost = f", cost {number(group.cost)} nats" if math.isfinite(group.cost) else ""
        texts.append(f"{key_text(group.key, t.names)}: {words}{cost}, {count(a.n_rows)} rows")
    at = np.array(places, dtype=np.float64)
    some = sum(map(t.found, t.cells.values()))
    return heat_map(
        Cells(at[:, 0], at[:, 1], np.array(strength), shown, texts, scale=SCALE if some else ()),
        _value_names(t.rows, down),
        _value_names(t.columns, across),
        title=f"Evidence of miscalibration in {some:,} of {number_of(len(t.cells), 'group')}",
        subtitle=f"Cost in nats a row by {down} and {across}; dot: no evidence, Holm-adjusted for the number of groups",
        label=f"Cost of miscalibration by {down} and {across}. {'; '.join(texts)}",
        axis=across,
    )


def _value_names(values: Sequence[Value], column: str) -> list[str]:
    return key_texts(((value,) for value in values), 20, (column,))
