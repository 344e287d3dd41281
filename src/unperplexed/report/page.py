"""The report: an Assessment, a Breakdown or a Comparison as one HTML file that needs nothing else, no network either.

What is said comes as text and is escaped by the template; what is drawn comes as JSON. The policy in the page's head
lets nothing run but the two scripts that are there, by their hashes, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lib.formatting import (
    at_floor_text,
    confidence_interval,
    number_of,
    percent,
    printable,
    rounded_percent,
    rule_text,
    short_name,
)
from .._version import __version__
from ..scores.registry import SCORES, score_named
from .breakdown import ORDERS, key_text
from .charts import (
    Chart,
    calibration_chart,
    draws_curves,
    profile_chart,
    ratio_chart,
)
from .comparison_text import (
    calibration_verdict,
    dependence_text,
    log_loss_text,
    zero_forecasters,
)
from .text import (
    MEANS,
    confidence_text,
    counted,
    estimate,
    figure,
    header,
    mean_and_interval,
    notes_lines,
    remarks,
    said,
    settings_text,
    single_figures,
)

if TYPE_CHECKING:
    from ..assessment.breakdown import Breakdown
    from ..assessment.classes import ClassTable, PredictedTable
    from ..assessment.result import Assessment
    from ..comparison.result import Comparison, PairedComparison
    from ..statistics.intervals import Interval
    from ..tally.surprises import SurpriseTable

MEANINGS = {
    "decisiveness": "Arithmetic mean of the probabilities given to what happened: moved most by what is said with"
    " confidence. Larger is better. Measured: the same mean of how often events given such probabilities happened.",
    "geometric_accuracy": "Geometric mean of the probabilities assigned to the observed classes: exp of minus the log"
    " loss at this floor. A uniform forecast of C classes has 1/C. Larger is better.",
    "robustness": "Mean of order -2/3 of the probabilities given to what happened: moved most by the smallest of them."
    " Larger is better.",
    "prediction accuracy": "Share of forecasts whose most probable class happened; a k-way tie counts 1/k.",
    "slope": "(measured decisiveness - robustness) / (reported decisiveness - robustness). 1 is best. It is no verdict:"
    " it moves with the floor, and a bias alone moves it off 1.",
    "divergence probability": "Reported / measured geometric accuracy: the part of it that is not lost to"
    " miscalibration. 1 is best.",
}
"""What each headline figure says, on hover or tap."""


@dataclass(frozen=True)
class Cell:
    """What a table's cell says, and the number by which it is sorted."""

    text: str
    value: str = ""
    meaning: str = ""
    """Shown on hover or tap."""
    words: bool = False


@dataclass(frozen=True)
class Table:
    """A table. The first cell of a row names it."""

    id: int
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sortable: bool = False
    search: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the page: words, a chart, tables."""

    title: str
    tables: Sequence[Table] = ()
    text: str = ""
    chart: int | None = None
    label: str = ""
    square: bool = False
    wide: bool = False


_MOST_ROWS, _LONG = 1000, 100
"""Rows of a table, and of one in which names are shorter, so that the page stays small whatever they are."""


def _brief(name: str) -> str:
    """Give a name in sixty characters, and in fewer where these take many bytes."""
    brief = short_name(name, 60)
    size = len(escape(brief).encode())
    return brief if size <= 120 else short_name(name, 60 * 120 // size)


class Page:
    """Collects sections, and numbers their charts and tables."""

    def __init__(self) -> None:
        """Begin with none."""
        self.sections: list[Section] = []
        self.charts: list[Chart] = []
        self._tables = 0

    def add(self, title: str, *tables: Table, chart: Chart | None = None, **more: Any) -> None:
        """Add a section."""
        at, label = None, ""
        if chart is not None:
            at, label = len(self.charts), chart["label"]
            self.charts.append({"data": chart["data"], "layout": chart["layout"]})
        self.sections.append(Section(title, tables, chart=at, label=label, **more))

    def table(
        self, caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], whole: str = "", **more: Any
    ) -> Table:
        """Make a table of the first thousand rows; what is no `Cell` is shown as it is.

        ``whole`` says where all rows are; in long tables names are shorter.
        """
        self._tables += 1
        cells = [[cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row] for row in rows]
        if len(cells) > _MOST_ROWS:
            caption += f" The first {_MOST_ROWS:,} of {len(cells):,}; all are in {whole}."
        if len(cells) > _LONG:
            cells = [[replace(cell, text=_brief(cell.text)) for cell in row] for row in cells[:_MOST_ROWS]]
        return Table(self._tables, caption, heads, cells[:_MOST_ROWS], **more)

    def html(self, **context: Any) -> str:
        """Give the whole file."""
        from jinja2 import Environment
        from markupsafe import Markup

        assets = files("unperplexed.report") / "assets"
        template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
            (assets / "page.html").read_text("utf-8")
        )
        style, script = ((assets / name).read_text("utf-8") for name in ("page.css", "page.js"))
        charts = json.dumps(self.charts, allow_nan=False, separators=(",", ":"))
        for sign in "<>&":  # so that nothing in it ends the element
            charts = charts.replace(sign, f"\\u{ord(sign):04x}")
        return template.render(
            **context,
            sections=self.sections,
            style=Markup(style),
            script=Markup(script),
            plotly=Markup(_plotly()),
            charts=Markup(charts),
            policy=_policy(_plotly(), script),
            version=__version__,
        )


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("\r\n", "\n")


def _policy(*scripts: str) -> str:
    """Let these scripts run and nothing else; Plotly writes its own styles."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )


def breakdown_page(b: Breakdown, *, name: str = "", command: str = "") -> str:
    """Give the report of all rows, with a table of their groups."""
    return assessment_page(b.whole, b, name=name, command=command)


def assessment_page(a: Assessment, groups: Breakdown | None = None, *, name: str = "", command: str = "") -> str:
    """Give the report of an assessment, and of the groups of its rows where there are any.

    ``name`` is what the forecasts are called, and ``command`` what makes the page again, where they are known.
    """
    page = Page()
    page.add("The figures", _headline(page, a), wide=True)
    if groups is not None:
        page.add(f"Groups by {', '.join(map(printable, groups.by))}", _groups(page, groups), wide=True)
    page.add(
        "Reported and measured",
        _bins(page, a),
        chart=calibration_chart(a),
        text=f"{_SEEN[draws_curves(a)]} below the diagonal, events happened less often than was said.",
        square=True,
    )
    page.add(
        "Risk profile",
        _profile(page, a),
        _floors(page, a),
        chart=profile_chart({f"floor {a.floor:g}": a.profile}, measured=a.measured_profile),
        text="Low orders are moved by the worst forecasts, high ones by the best. The dashed line is the measured"
        " profile: the same mean of the calibrated probabilities.",
    )
    if a.surprises is not None:
        page.add("The most surprising forecasts", _surprises(page, a.surprises))
    page.add("Scores", _scores(page, a))
    if a.classes is not None and a.n_classes > 2:  # with two classes the one curve shows both
        page.add("Classes", _classes(page, a.classes), wide=True)
    if a.predicted is not None and a.n_classes > 2:
        page.add("Predicted classes", _predicted(page, a.predicted), wide=True)
    page.add("For reproduction", _settings(page, a, command))
    accuracy = figure(a.reported.geometric_accuracy)
    short = a.diagnosis.headline if a.diagnosis.made else f"Geometric accuracy {accuracy}"
    first, *others = said(a)
    return page.html(
        title=_titled(name, f"{short}: {counted(a.n_rows, a.n_classes, a.labels)}"),
        kind="Assessment of probabilistic forecasts",
        verdict={
            "short": short,
            "plain": plain_verdict(a),
            "long": first,
            "others": others,
        },
        warnings=remarks(a),
        facts=_titled(name, "; ".join(header(a)) + "."),
    )


_SEEN = {True: "Where the line lies", False: "Where bubbles lie"}


def _titled(name: str, text: str) -> str:
    return f"{_label(name)}: {text}" if name else text


def _groups(page: Page, b: Breakdown) -> Table:
    heads = ["group", "rows", "reported", "standard error", "measured", "slope", "verdict", "cost in nats", "right"]
    if b.shrinkage is not None:
        heads += ["shrunken", "from", "to", "own share"]
    rows = []
    for group in b.groups:
        a, s = group.assessment, group.shrunken
        first = _numbers(
            (a.n_rows, a.reported.geometric_accuracy, group.standard_error, a.measured.geometric_accuracy), (0,)
        )
        slope, cost, right = _numbers((a.slope, group.cost, a.prediction_accuracy))
        shrunken = [] if s is None else _numbers((s.geometric_accuracy, s.low, s.high, s.own_share))
        name = Cell(_label(key_text(group.key)))
        rows.append([name, *first, slope, _words(a.diagnosis.headline), cost, right, *shrunken])
    caption = f"{ORDERS[b.sort].capitalize()}. Reported and measured are geometric accuracies."
    return page.table(caption, heads, rows, "frame() and --json", sortable=True, search=len(rows) > _SEARCHED)


_RANGES = ((0.85, 0.95), (0.75, 0.85), (0.65, 0.75), (0.55, 0.65), (0.95, 0.995), (0.995, 1.0), (0.45, 0.55))
"""Of probabilities by which the verdict is told: the first in which there are so many pairs."""

_FEWEST_PAIRS = 20


def plain_verdict(a: Assessment) -> str:
    """Say how often the outcome was observed where it was assigned some probability."""
    if a.view == "each-class" and a.n_classes > 2:
        return ""
    for limits in _RANGES:
        found = a.observed(*limits)
        if found.total >= _FEWEST_PAIRS:
            one = found.highest - found.lowest < _ONE_VALUE
            given = f"probability {100 * found.mean_reported:.3g}%"
            if not one:
                given = f"{100 * limits[0]:g}% to {100 * limits[1]:g}% (mean {100 * found.mean_reported:.3g}%)"
            low, high = found.interval
            between = "" if math.isnan(low) else f" (95% CI {100 * low:.0f}% to {100 * high:.0f}%)"
            what = "the most probable class" if a.view == "top-label" else "a class"
            if a.n_classes == 2 and a.view == "each-class":
                what = f"'{_class_label(a.labels[1], 1)}'"
            share = f"{100 * found.happened:.0f}%{between}"
            times = f"{found.total:,.6g}"
            return f"Where {what} was assigned {given}, it was observed in {share} of {times} forecasts."
    return ""


_ONE_VALUE = 1e-9


def _headline(page: Page, a: Assessment) -> Table:
    between = confidence_text(a)
    rows: list[list[object]] = []
    for name in MEANS:
        cells = [_between(cell) for kind in ("reported", "measured") for cell in mean_and_interval(a, kind, name)]
        rows.append([Cell(name.replace("_", " "), meaning=MEANINGS[name]), *cells])
    for name, value, interval, meaning in single_figures(a):
        rule = SCORES.get(name.replace(" ", "_"))
        said = MEANINGS.get(name) or (f"{rule.note}; {rule.better} is better" if rule else meaning)
        rows.append([Cell(name, meaning=said), value, _between(interval), "", ""])
    heads = ["", "reported", between, "measured", between]
    return page.table("Tap or point at a name for what it means.", heads, rows)


def _bins(page: Page, a: Assessment) -> Table:
    b = a.bins
    heads = ["lowest", "highest", "mean reported", "measured", "happened", "of", "contribution"]
    columns = [b.lowest, b.highest, b.mean_reported, b.measured, b.happened, b.total, b.contribution]
    largest = np.sort(np.argsort(-np.abs(np.nan_to_num(b.contribution)), kind="stable")[:_MOST_BINS])
    rows = [_numbers(row, counts=(4, 5)) for row in np.stack(columns, axis=1)[largest].tolist()]
    if b.label:
        heads = ["class", *heads]
        rows = [[Cell(_label(b.label[at])), *row] for at, row in zip(largest.tolist(), rows, strict=True)]
    caption = f"The bins ({len(b):,})"
    if len(rows) < len(b):
        caption = f"The {len(rows):,} bins of the largest contribution, of {len(b):,}"
    return page.table(caption, heads, rows, sortable=True, folded=True)


_MOST_BINS = 300


def _profile(page: Page, a: Assessment) -> Table:
    low, high = a.profile.interval()
    columns = (a.profile.orders, a.profile.values, low, high, a.profile.few_rows)
    rows = [
        [Cell(f"{order:.4g}", f"{order:.4g}"), *_numbers((value, below, above)), _words("few rows" if few else "")]
        for order, value, below, above, few in zip(*(column.tolist() for column in columns), strict=True)
    ]
    heads = ["order", "mean", "95 % from", "to", ""]
    return page.table(f"The profile at {len(rows)} orders", heads, rows, folded=True)


def _floors(page: Page, a: Assessment) -> Table:
    rows = [
        [f"{floor:g}", *_numbers((means.robustness, means.geometric_accuracy, means.decisiveness))]
        for floor, means in a.floor_sensitivity.items()
    ]
    heads = ["floor", "robustness", "geometric accuracy", "decisiveness"]
    return page.table("What the reported means owe to the floor", heads, rows)


def _surprises(page: Page, s: SurpriseTable) -> Table:
    several = len(set(s.source)) > 1
    rows = []
    for at in range(len(s)):
        row, part = s.row[at], _share(s.share[at])
        given, highest = _numbers((s.probability[at], s.highest[at]))
        where = [Cell(_label(s.source[at]), words=True)] if several else []
        happened, predicted = (
            _words("?" if label is None else _label(label)) for label in (s.happened[at], s.predicted[at])
        )
        rows.append([Cell(f"{row:,}", f"{row}"), *where, happened, given, predicted, highest, part])
    heads = [
        "row, from 0",
        *["source"] * several,
        "what happened",
        "given",
        "most probable",
        "given to it",
        "% of log loss",
    ]
    told = f"The {number_of(len(s), 'row')} in which what happened had been given least"
    together = s.share.sum()
    if math.isfinite(together):
        told += f": {rounded_percent(together)} of the log loss at the floor"
    return page.table(f"{told}.", heads, rows, sortable=True)


_UNBROKEN = "\u00a0"
"""A space at which no line ends."""


def _share(share: float) -> Cell:
    return Cell(f"{100 * share:.3g}", f"{share:.5g}") if math.isfinite(share) else Cell("-")


def _classes(page: Page, c: ClassTable) -> Table:
    heads = [
        "class",
        "rows",
        "said",
        "happened",
        "gap",
        "p of the gap",
        "reported",
        "measured",
        "slope",
        "divergence",
        "cost in nats",
        "error",
    ]
    columns = [
        c.happened, c.mean_reported, c.frequency, c.gap, c.gap_p_value, c.reported_geometric_accuracy,
        c.measured_geometric_accuracy, c.slope, c.divergence_probability, c.miscalibration, c.calibration_error,
    ]  # fmt: skip
    caption = "Each class, the most miscalibrated first. Reported and measured are geometric accuracies."
    return page.table(caption, heads, _named(c, columns), _whole("classes"), sortable=True, search=len(c) > _SEARCHED)


def _predicted(page: Page, p: PredictedTable) -> Table:
    heads = ["class", "rows", "share", "said", "right", "gap", "error"]
    columns = [p.predicted, p.share, p.mean_confidence, p.right, p.gap, p.calibration_error]
    caption = "The forecasts that predicted each class, the largest part in all gaps first."
    return page.table(caption, heads, _named(p, columns), _whole("predicted"), sortable=True, search=len(p) > _SEARCHED)


def _whole(frame: str) -> str:
    return f'frame("{frame}") and --json'


_SEARCHED = 12
"""Longer tables can be searched."""


def _named(table: ClassTable | PredictedTable, columns: Sequence[Any]) -> Iterator[list[Cell]]:
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    for label, index, row in zip(table.label, table.index.tolist(), numbers, strict=True):
        yield [Cell(f"column {index}" if label is None else _label(label)), *_numbers(row, counts=(0,))]


def _class_label(label: object, index: int) -> str:
    return f"column {index}" if label is None else short_name(str(label))


def _label(label: object) -> str:
    return short_name(str(label), _LONGEST)


_LONGEST = 200


def _words(text: str) -> Cell:
    return Cell(text, words=True)


def _numbers(values: Iterable[float], counts: Sequence[int] = ()) -> list[Cell]:
    return [
        Cell(f"{value:,.7g}" if at in counts else figure(value), f"{value:.5g}" if math.isfinite(value) else "")
        for at, value in enumerate(values)
    ]


def _scores(page: Page, a: Assessment) -> Table:
    rows = []
    for name, value in a.scores.items():
        score = score_named(name)
        error = a.score_standard_errors[name]
        rows.append([name.replace("_", " "), *_numbers((value, error)), _words(score.better), _words(score.note)])
    return page.table("Means of the scoring rules, unfloored", ["", "mean", "standard error", "better", ""], rows)


def _settings(page: Page, a: Assessment, command: str) -> Table:
    u = a.uncertainty
    said = {
        **_command(command),
        "forecasts": f"{a.n_rows:,}",
        "classes": f"{a.n_classes:,}",
        "weights": f"as good as {a.effective_rows:,.6g} rows of equal weight" if a.weighted else "none",
        "groups": f"worth {a.independent_rows:,.6g} independent ones" if a.grouped else "none",
        "given 0 though it happened": f"{a.zero_given:,.6g}",
        "left out, dropped, rescaled": "; ".join(notes_lines(a.notes)) or "none",
        "floor": f"{a.floor:g}{'' if a.limit == 'floor' else ', and the same below 1'}",
        "measured by": f"{a.estimator}{settings_text(a)}",
        "view": a.view,
        "counted": "by value" if a.exact else f"in cells of relative width 2^-{a.fraction_bits}",
        "confidence": percent(u.confidence),
        "samples": f"{u.resamples:,}",
        "seed": f"{u.seed}",
        "version": a.version,
    }
    return page.table("Data and settings", ["", ""], [[name, _words(text)] for name, text in said.items()])


def _command(command: str) -> dict[str, str]:
    return {"command": printable(command)} if command else {}


def comparison_page(c: Comparison, *, name: str = "", command: str = "") -> str:
    """Give the report of a comparison; ``name`` and ``command`` as in `assessment_page`."""
    page = Page()
    page.add("The forecasters", _forecasters(page, c), wide=True)
    profiles = {name: each.assessment.profile for name, each in c.forecasters.items()}
    page.add(
        "Risk profiles",
        chart=profile_chart(profiles, bands=c.assessed_for_sure),
        text=f"Generalized means {at_floor_text(c.floor)}. The worst forecasts dominate at low orders, the best at high"
        " orders.",
    )
    page.add(
        "Ratios of geometric accuracies",
        chart=ratio_chart(c),
        text=f"Geometric accuracies {at_floor_text(c.scored_floor)}. A ratio above 1 is in favour of the first.",
    )
    page.add("Paired differences", _differences(page, c), wide=True)
    for pair in c.pairs[:_MOST_PAIRS]:
        if len(pair.contributions):
            title = f"Largest contributions to {_label(pair.first)} minus {_label(pair.second)}, log loss"
            page.add(title, _behind(page, pair))
    notes = [
        f"{_label(rival)}: {line}"
        for rival, each in c.forecasters.items()
        for line in notes_lines(each.assessment.notes)
    ]
    page.add("For reproduction", _comparison_settings(page, c, notes, command), wide=True)
    best = next(iter(c.forecasters))
    return page.html(
        title=_titled(name, f"{len(c.forecasters)} forecasters, {_label(best)} first by log loss"),
        kind="Comparison of probabilistic forecasts",
        verdict={
            "short": printable(c.verdict),
            "plain": "",
            "others": [],
            "long": f"Log loss {log_loss_text(c)}. {_significance(c)}",
        },
        warnings=c.warnings,
        facts=_titled(name, f"{len(c.forecasters)} forecasters, {counted(c.n_rows, c.n_classes, c.labels)} each."),
    )


_MOST_PAIRS = 10


def _significance(c: Comparison) -> str:
    """Explain the p-values of the verdict."""
    pairs = f", Holm-adjusted for {len(c.pairs):,} pairs" if len(c.pairs) > 1 else ""
    return f"p-values of paired differences{pairs}, {dependence_text(c)}; significant below {1 - c.confidence:.3g}."


def _estimate(value: float, interval: Interval) -> tuple[Cell, str]:
    text, between = estimate(value, interval)
    return replace(_numbers((value,))[0], text=text), _between(between)


def _between(interval: str) -> str:
    """Give an interval, of one line or of two."""
    return interval.replace(" ", _UNBROKEN, 1)


def _forecasters(page: Page, c: Comparison) -> Table:
    between = confidence_interval(c.confidence)
    zeros = bool(zero_forecasters(c))
    heads = ["", "geometric accuracy", between, "log loss", "Brier score", "prediction accuracy", "slope"]
    heads += ["rows assigned 0"] * zeros + ["verdict"]
    rows = []
    for name, each in c.forecasters.items():
        a = each.assessment
        loss, brier = (each.scores[rule].mean for rule in ("log_loss", "brier_score"))
        accuracy = _estimate(each.geometric_accuracy, each.geometric_accuracy_interval)
        others = _numbers((loss, brier, a.prediction_accuracy, a.slope))
        assigned = _numbers((each.zero_rows,), counts=(0,)) if zeros else []
        verdict = calibration_verdict(a)
        rows.append([Cell(_label(name)), *accuracy, *others, *assigned, _words(verdict)])
    caption = (
        f"Ordered by log loss. Log loss and geometric accuracy {at_floor_text(c.scored_floor)}, slope"
        f" {at_floor_text(c.floor)}. Larger accuracies are better; smaller log loss and Brier score are better."
    )
    if zeros:
        caption += " Rows assigned 0: rows whose observed class the forecaster assigned probability 0."
    return page.table(caption, heads, rows, _whole("forecasters"), sortable=True, search=len(rows) > _SEARCHED)


def _differences(page: Page, c: Comparison) -> Table:
    rows = []
    for pair in c.pairs:
        names = f"{_label(pair.first)} minus {_label(pair.second)}"
        for rule, d in pair.differences.items():
            numbers = _numbers((d.standard_error, d.p_value, d.adjusted_p_value))
            score = rule_text(rule)
            rows.append([Cell(names), _words(score), *_estimate(d.difference, d.interval), *numbers])
    interval = confidence_interval(c.confidence)
    heads = ["forecasters", "score", "difference", interval, "standard error", "p", "adjusted p"]
    caption = (
        f"Differences of mean scores, paired by row. Log losses {at_floor_text(c.scored_floor)}. Adjusted p-values are"
        " those of Holm over all pairs."
    )
    return page.table(caption, heads, rows, _whole("differences"), sortable=True, search=len(rows) > _SEARCHED)


def _behind(page: Page, pair: PairedComparison) -> Table:
    c = pair.contributions
    heads = ["id" if c.id else "row, from 0", "outcome", "first forecaster's probability"]
    heads += ["second forecaster's probability", "share of the difference"]
    rows = [
        [
            Cell(_label(c.id[at]), "") if c.id else Cell(f"{c.row[at]:,}", f"{c.row[at]}"),
            _words(_label(c.outcome[at])),
            *_numbers((c.first[at], c.second[at], c.share[at])),
        ]
        for at in range(len(c))
    ]
    caption = "The largest contribution first. A share below 0 is a difference in the other direction."
    return page.table(caption, heads, rows, sortable=True)


def _comparison_settings(page: Page, c: Comparison, notes: Sequence[str], command: str) -> Table:
    a = next(iter(c.forecasters.values())).assessment
    said = {
        **_command(command),
        "forecasts": f"{c.n_rows:,} of each",
        "classes": f"{c.n_classes:,}",
        "weights": "yes" if c.weighted else "none",
        "groups": "none" if c.n_groups is None else number_of(c.n_groups, "group"),
        "dependent rows": f"up to {c.lag} apart" if c.lag else "none",
        "floor": f"{c.floor:g}",
        "log loss and geometric accuracy": log_loss_text(c),
        "measured by": a.estimator,
        "view": a.view,
        "confidence": percent(c.confidence),
        "samples": f"{a.uncertainty.resamples:,}" if c.assessed_for_sure else "none",
        "seed": f"{c.seed}",
        "left out, dropped, rescaled": "; ".join(notes) or "none",
        "version": c.version,
    }
    return page.table("Data and settings", ["", ""], [[name, _words(text)] for name, text in said.items()])
