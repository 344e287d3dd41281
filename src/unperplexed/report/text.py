"""An Assessment as text that fits a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._lib.formatting import number_of, percent, printable
from ..calibration.diagnosis.describe import lines as verdict_lines
from ..scores.registry import SCORES, score_named
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST
from ..tally.tables import Cells

if TYPE_CHECKING:
    from .._lib.typing import Floats
    from ..assessment.classes import ClassTable, PredictedTable
    from ..assessment.result import Assessment
    from ..assessment.risk_profile import RiskProfile
    from ..calibration.decomposition import Decomposition
    from ..calibration.errors import CalibrationErrors
    from ..forecasts.forecasts import Notes
    from ..forecasts.labels import Label
    from ..tally.tally import Tally, View

MEANS = {
    "decisiveness": "arithmetic mean",
    "geometric_accuracy": "geometric mean",
    "robustness": "mean of order -2/3",
}


def assessment_text(assessment: Assessment) -> str:
    """Give the whole assessment, headline figures first."""
    a = assessment
    between = confidence_text(a)
    how = [part for line in header(a) for part in textwrap.wrap(line, 80, break_on_hyphens=False)]
    text = [*conclusion(a), "", *how, "", f"{'':20}{'reported':>9}{between:>17}{'measured':>11}{between:>17}"]
    for name in MEANS:
        cells = [cell for kind in ("reported", "measured") for cell in mean_and_interval(a, kind, name)]
        text.append("{:20}{:>9} {:>16}{:>11} {:>16}".format(name.replace("_", " "), *cells).rstrip())
    text.append("")
    for name, value, interval, meaning in single_figures(a):
        text.append(f"{name:22}{value:>7} {interval:>16}   {meaning}".rstrip())
    text.append("")
    for remark in remarks(a):
        text += textwrap.wrap(f"({remark})", 80, break_on_hyphens=False)
    if text[-1] == "":
        text.pop()
    for title, table in class_tables(a):
        text += ["", title]
        text += ["".join([f"{row[0]:17}", *(f"{cell:>9}" for cell in row[1:])]).rstrip() for row in table]
    return "\n".join([*text, *_notes(a)])


def conclusion(a: Assessment) -> list[str]:
    """Give what is wrong in lines of 80 columns; commands, which are indented, stay whole."""
    return [
        part
        for line in said(a)
        for part in ([line] if line.startswith("  ") else textwrap.wrap(line, 80, break_on_hyphens=False))
    ]


def confidence_text(a: Assessment) -> str:
    """Say what intervals these are."""
    return f"{percent(a.uncertainty.confidence)} interval"


def mean_and_interval(a: Assessment, kind: str, name: str) -> tuple[str, str]:
    """Give a mean, reported or measured, and its interval."""
    key = f"{kind}_{name}"
    value = a.uncertainty.corrected.get(key, getattr(getattr(a, kind), name))
    return estimate(value, a.intervals[key], most=4)


def estimate(value: float, interval: tuple[float, float], most: int = 9) -> tuple[str, str]:
    """Give a figure and its interval, if any, to three decimals, or to so many that rounding leaves it its width."""
    low, high = interval
    if math.isnan(low):
        return figure(value), ""
    width = high - low
    decimals = max(3, math.ceil(-math.log10(0.4 * width))) if 0 < width < math.inf else 3
    shown = (figure(x, min(decimals, most)) for x in (value, low, high))
    return next(shown), " to ".join(shown)


def said(a: Assessment) -> list[str]:
    """Say what is wrong, what it costs and what mends it, a sentence or two a line; the verdict comes first."""
    verdict = verdict_lines(a.diagnosis, a.scores.get("log_loss", math.nan))
    return [*verdict, *(a.remedy.lines() if a.remedy is not None else ()), *_rows_text(a), *bias_text(a)]


_MOST_LISTED = 8


def _rows_text(a: Assessment) -> Iterator[str]:
    """List the rows that were certain and wrong, or that carry the evidence, with what they assigned to the outcome."""
    findings = [f for f in a.diagnosis.findings if f.error in ("certainty", "rows")]
    if not findings or a.surprises is None:
        return
    s, count = a.surprises, sum(round(f.parameter) for f in findings)
    assigned = dict(zip(s.row.tolist(), s.probability.tolist(), strict=True)) if len(set(s.source)) == 1 else {}
    shown = [
        f"{row:,} (assigned {assigned[row]:.2g})" if row in assigned else f"{row:,}"
        for finding in findings
        for row in finding.rows
    ]
    if not shown and a.n_classes == 2:  # counts have no row numbers, but the most surprising rows are these
        several = len(set(s.source)) > 1
        shown = [
            f"{int(row):,}{f' of {printable(source)}' if several else ''} (assigned {p:.2g})"
            for row, source, p in list(zip(s.row, s.source, s.probability, strict=True))[:count]
        ]
    if shown:
        more = count - len(shown[:_MOST_LISTED])
        yield f"Rows, counted from 0: {', '.join(shown[:_MOST_LISTED])}{f' and {more:,} more' if more > 0 else ''}."


def remarks(a: Assessment) -> Iterator[str]:
    """Say what to think of before one relies on the figures."""
    yield from a.uncertainty.warnings
    if a.uncertainty.corrected:
        figures = a.figures()
        own = ", ".join(f"{name.replace('_', ' ')} {figure(figures[name])}" for name in a.uncertainty.corrected)
        yield f"shown corrected for the bias of {a.estimator}; uncorrected: {own}"
    if a.n_classes == 2 and a.intervals["prediction_accuracy"][1] < _GUESSING:
        share = figure(a.prediction_accuracy)
        name = class_name(a.labels[1], 1)
        yield f"the more probable outcome was observed in {share} of the rows only: is '{name}' the positive label?"
    if a.n_classes > 2 and a.class_average is not None and a.effective_rows < _FEW_ROWS * a.class_average.n_classes:
        yield "few rows a class: their curves follow chance, and the slope comes out too large"
    if a.n_classes > 2 and a.floor * a.n_classes >= 1:
        yield f"the floor is not below 1/{a.n_classes:,}, what a uniform forecast assigns: choose a lower one"


_GUESSING = 0.5


def bias_text(a: Assessment) -> Iterator[str]:
    """Give the mean prediction of the positive one of two classes, and its observed frequency."""
    if a.bias is not None and "bias" not in a.diagnosis.errors:
        name = class_name(a.bias.label, 1)
        mean, frequency = figure(a.bias.mean_reported), figure(a.bias.frequency)
        yield f"Mean prediction of '{name}' {mean}, observed frequency {frequency}."


_MOST_CLASSES = 10
_FEW_ROWS = 300
"""For each class, on average; with a hundred, slopes have been seen to come out a fifth too large."""


def class_tables(a: Assessment) -> Iterator[tuple[str, list[list[str]]]]:
    """Give titles and rows, heads first, of the tables of the each-class view: the worst classes of each."""
    if a.n_classes == 2:  # the one curve tells both
        return
    if a.classes is not None and a.class_average is not None:
        c, mean = a.classes, a.class_average
        columns = [c.mean_reported, c.frequency, c.reported_geometric_accuracy, c.measured_geometric_accuracy]
        means = (mean.reported.geometric_accuracy, mean.measured.geometric_accuracy, mean.slope)
        yield (
            "each class, the most miscalibrated first; geometric accuracies; cost in nats",
            [
                ["", "rows", "said", "happened", "reported", "measured", "slope", "cost"],
                *_class_rows(c, [_weights(c.happened), *map(_figures, [*columns, c.slope, c.miscalibration])]),
                [f"average ({mean.n_classes:,})", "", "", "", *map(figure, means)],
            ],
        )
    if a.predicted is not None:
        t = a.predicted
        columns = [t.mean_confidence, t.right, t.gap, t.calibration_error]
        yield (
            "rows that predicted each class, the largest part in all gaps first",
            [
                ["", "rows", "said", "right", "gap", "error"],
                *_class_rows(t, [_weights(t.predicted), *map(_figures, columns)]),
            ],
        )


def _class_rows(table: ClassTable | PredictedTable, columns: Sequence[list[str]]) -> list[list[str]]:
    """Label and columns of the first classes, and how many more there are."""
    names = [class_name(*named) for named in zip(table.label, table.index.tolist(), strict=True)]
    shown = [list(row) for row in zip(names, *columns, strict=False)]
    more = len(table) - len(shown)
    return shown + ([[f"... and {more:,} more: --json"]] if more else [])


def class_name(label: Label | None, index: int) -> str:
    """Give a class's label in one short line, or its column where no label is known."""
    name = f"column {index}" if label is None else printable(str(label))
    return name if len(name) <= 16 else name[:13] + "..."


def _figures(column: Floats) -> list[str]:
    return [figure(value) for value in column[:_MOST_CLASSES].tolist()]


def _weights(column: Floats) -> list[str]:
    """Give weights of rows, which are counts unless rows have weights or ties share them."""
    return [
        f"{value:,.0f}" if value < 1e7 and abs(value - round(value)) < 1e-6 else f"{value:,.4g}"
        for value in column[:_MOST_CLASSES].tolist()
    ]


def figure(value: float, decimals: int = 3) -> str:
    """Give a figure to three decimals, or as told, with more where they would all be zeros."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value) >= 1e5 or (decimals > 6 and abs(value) < 1e-3):
        return f"{value:.2e}"
    return f"{value:.{decimals}f}" if value == 0 or abs(value) >= 0.5 * 10**-decimals else f"{value:.2g}"


def single_figures(a: Assessment) -> Iterator[tuple[str, str, str, str]]:
    """Name, value, interval and meaning of each figure that is not a mean."""
    for name, value, meaning in _single_figures(a):
        shown = a.uncertainty.corrected.get(name, value)
        yield name.replace("_", " "), *estimate(shown, a.intervals[name], most=4), meaning


def _single_figures(a: Assessment) -> Iterator[tuple[str, float, str]]:
    yield "prediction_accuracy", a.prediction_accuracy, "share whose top class happened"
    yield "slope", a.slope, slope_meaning(a)
    yield "divergence_probability", a.divergence_probability, "-" if a.view == "top-label" else "1 is best"
    for name, value in a.scores.items():
        score = score_named(name)
        if name in SCORES and not score.headline:
            continue
        better = f"{score.better} is better"
        meaning = f"{score.note}; {better}"
        if math.isinf(value):
            meaning = f"0 given to {a.zero_given:,.4g} that happened"
        yield name, value, meaning if len(meaning) <= _MOST_WORDS else better


_MOST_WORDS = 80 - 49


def scores_text(tally: Tally) -> str:
    """Give every score with its standard error."""
    width = max(len(name) for name in tally.scores)
    first = counted(tally.n_rows, tally.n_classes, tally.labels)
    lines = [first, "", f"{'':{width}}{'mean':>8}{'st. error':>11}   better"]
    for name in tally.scores:
        score, value, error = score_named(name), tally.score(name), tally.score_standard_error(name)
        figures = f"{figure(value):>8}{figure(error):>11}"
        lines.append(f"{name.replace('_', ' '):{width}}{figures}   {score.better:9}{score.note}")
    return "\n".join([*lines, *_notes(tally)])


ERRORS = {
    "ece": ("ECE", "bins of equal width"),
    "ece_equal_population": ("ECE", "bins of equal population"),
    "rmsce": ("RMSCE", "root mean square over bins"),
    "mce": ("MCE", "the largest of a bin"),
    "smooth_ece": ("smooth ECE", "no bins"),
}


def calibration_text(
    tally: Tally, bins: int, errors: Mapping[View, CalibrationErrors], decompositions: Sequence[Decomposition]
) -> str:
    """Give the calibration errors of each view, and scores in their parts."""
    lines = [
        counted(tally.n_rows, tally.n_classes, tally.labels),
        "",
        f"calibration errors in {bins} bins; 0 is best",
        "",
    ]
    lines.append(f"{'':12}" + "".join(f"{view:>12}" for view in errors))
    for name, (shown, meaning) in ERRORS.items():
        figures = "".join(f"{_rounded(getattr(of_view, name)):>12}" for of_view in errors.values())
        lines.append(f"{shown:12}{figures}   {meaning}")
    if "each-class" in errors:
        lines.append("(of each class: the class-wise ECE, and the ACE)")
    else:
        lines.append("(each class: needs a tally with the part classes: tally --parts classes)")
    if isinstance(tally.classes, Cells):
        lines.append("(each class: from coarse cells, so that bins are made of these; --exact-limit allows more)")
    lines += ["", "score = miscalibration - discrimination + uncertainty", ""]
    lines.append(f"{'':13}{'score':>8}{'miscalibration':>16}{'discrimination':>16}{'uncertainty':>13}")
    for d in decompositions:
        parts = f"{_rounded(d.miscalibration):>16}{_rounded(d.discrimination):>16}{_rounded(d.uncertainty):>13}"
        lines.append(f"{d.rule.replace('_', ' '):13}{_rounded(d.score):>8}{parts}   {d.view}")
        if d.rule == "log_loss":
            f = d.factors
            factors = (
                f"{_rounded(f['divergence_probability']):>16}{_rounded(f['gain']):>16}{_rounded(f['reference']):>13}"
            )
            lines.append(f"{'exp of minus':13}{_rounded(f['geometric_accuracy']):>8}{factors}   factors")
    return "\n".join([*lines, *_notes(tally)])


def _rounded(value: float) -> str:
    """Give a figure of which less than 1e-9 is rounding."""
    return figure(0.0 if abs(value) < 1e-9 else value)


def slope_meaning(a: Assessment) -> str:
    """Say what the slope is compared with. It is no verdict: a bias alone moves it off 1."""
    if math.isnan(a.slope):
        return "none in this view" if a.view == "top-label" else "reported means are all equal"
    if a.measured.spread == 0:
        return "measured means are all equal"
    if a.zero_given and not a.floor:
        return f"0 assigned to {a.zero_given:,.4g} observed"
    return "1 is best"


def counted(n_rows: int, n_classes: int, labels: Sequence[Label | None]) -> str:
    """Count forecasts and classes, and name the classes if they are few."""
    classes = f"{n_classes:,} classes"
    if n_classes <= 4 and all(label is not None for label in labels):
        named = ", ".join(printable(str(label)) for label in labels)
        classes += f" ({named})" if 0 < len(named) <= 40 else ""
    return f"{number_of(n_rows, 'forecast')} of {classes}"


def header(a: Assessment) -> Iterator[str]:
    """Say what was assessed, and how."""
    yield counted(a.n_rows, a.n_classes, a.labels)
    limit = "" if a.limit == "floor" else f" and ceiling {1 - a.floor:g}"
    yield f"floor {a.floor:g}{limit}; measured: {a.estimator}{settings_text(a)}, {a.view}"
    if a.grouped:
        yield f"rows in groups, worth {a.independent_rows:,.4g} when independent and of equal size"
    elif a.weighted:
        yield f"weighted: as good as {a.effective_rows:,.4g} rows of equal weight"


_SETTINGS = {
    "bins": "{:,.0f} bins",
    "neighbors": "{:,.0f} neighbors",
    "bandwidth": "bandwidth {:.3g}",
    "prior": "prior {:g}",
    "share_of_isotonic": "{:.0%} isotonic",
    "calibration_intercept": "intercept {:.3g}",
    "calibration_slope": "slope {:.3g}",
}


def settings_text(a: Assessment) -> str:
    """Say what the estimator was told or found, each after a comma."""
    return "".join(
        f", {_SETTINGS.get(name, name + ' {:g}').format(value)}" for name, value in a.estimator_settings.items()
    )


def _notes(a: Assessment | Tally) -> Iterator[str]:
    text = list(notes_lines(a.notes))
    return iter(["", *text] if text else [])


def notes_lines(notes: Notes) -> Iterator[str]:
    """Say what was left out or rescaled."""
    if notes.ignored:
        yield f"{number_of(notes.ignored, 'row')} left out: outcome to be ignored"
    for reason, count in notes.dropped.items():
        yield f"{number_of(count, 'row')} dropped: {_REASONS.get(reason, reason)}"
    if notes.rescaled:
        off = f"off by up to {notes.largest_deviation:.3g}"
        yield f"{number_of(notes.rescaled, 'row')} rescaled to sum to 1, from sums {off}"


_REASONS = {"NaN": "no probability (empty or NaN)"}
"""Why rows are dropped, where the notes' own word is not plain."""


def profile_text(assessment: Assessment, orders: list[float]) -> str:
    """Give the risk profile at some orders, and the means at other floors."""
    profile = assessment.profile
    low, high = profile.interval()
    first, how, *others = header(assessment)
    lines = [first, how.partition(";")[0], *others, "", f"{'order':>8}{'mean':>9}{'95 % interval':>17}"]
    names = {DECISIVE: "decisiveness", GEOMETRIC: "geometric accuracy", ROBUST: "robustness"}
    for i, order in enumerate(profile.orders.tolist()):
        if not any(math.isclose(order, wanted, abs_tol=1e-9) for wanted in orders):
            continue
        value, between = estimate(float(profile.values[i]), (float(low[i]), float(high[i])), most=4)
        remark = next((name for at, name in names.items() if abs(order - at) < 1e-9), "")
        if profile.few_rows[i]:
            remark = f"{remark + '; ' if remark else ''}few rows"
        lines.append(f"{order:>8.4g}{value:>9}{between or '-':>17}   {remark}".rstrip())
    if profile.few_rows.any():
        lines.append("(few rows: fewer than twenty rows' worth decide the interval; it is too narrow)")
    if picture := profile_plot(profile):
        lines += ["", *picture]
    lines += ["", f"{'floor':>8}{'robustness':>13}{'geometric accuracy':>21}{'decisiveness':>15}"]
    for floor, means in assessment.floor_sensitivity.items():
        row = f"{figure(means.robustness):>13}{figure(means.geometric_accuracy):>21}{figure(means.decisiveness):>15}"
        lines.append(f"{floor:>8g}{row}")
    return "\n".join([*lines, *_notes(assessment)])


_COLUMNS, _STEPS, _FEWEST_ORDERS = 61, 8, 20


def profile_plot(profile: RiskProfile) -> list[str]:
    """Draw the profile over its finite orders in characters, with the first letters of the three named means."""
    finite = np.isfinite(profile.orders)
    orders, values = profile.orders[finite], profile.values[finite]
    if orders.size < _FEWEST_ORDERS or not (np.diff(orders) > 0).all():
        return []
    ends = orders[0], orders[-1]

    def row(order: float) -> int:
        return round(_STEPS * float(np.interp(order, orders, values)))

    picture = [[" "] * _COLUMNS for _ in range(_STEPS + 1)]
    for column, order in enumerate(np.linspace(*ends, _COLUMNS).tolist()):
        picture[row(order)][column] = "*"
    for name, order in (("D", DECISIVE), ("G", GEOMETRIC), ("R", ROBUST)):
        if ends[0] <= order <= ends[1]:
            picture[row(order)][round((_COLUMNS - 1) * (order - ends[0]) / (ends[1] - ends[0]))] = name
    lines = []
    for step in range(_STEPS, -1, -1):
        label = f"{step / _STEPS:.2f}" if step % 2 == 0 else ""
        lines.append(f"{label:>8} |{''.join(picture[step])}".rstrip())
    first, last = (f"{end:g}" for end in ends)
    lines.append(f"{'order':>8}  {first}{last:>{_COLUMNS - len(first)}}")
    return lines


def profile_orders(profile: RiskProfile) -> list[float]:
    """Give the orders worth a line each: whole and half ones, and that of robustness."""
    return [float(r) for r in profile.orders if abs(r * 2 - round(r * 2)) < 1e-9 or abs(r - ROBUST) < 1e-9]


def tally_text(tally: Tally) -> str:
    """Say what a tally holds."""
    lines = [counted(tally.n_rows, tally.n_classes, tally.labels)]
    entries = tally.pairs_table.key.size
    if tally.exact:
        lines.append(f"exact: {entries:,} of at most {tally.exact_limit:,} distinct probabilities")
    else:
        lines.append(f"in cells of relative width 2^-{tally.fraction_bits}, {entries:,} of them occupied")
    if tally.weighted:
        lines.append(f"weighted: total weight {tally.weight:,.6g}")
    if tally.grouped:
        lines.append(f"rows in groups, worth {tally.independent_rows:,.4g} when independent and of equal size")
    lines += textwrap.wrap(f"scores: {', '.join(tally.scores) or 'none'}", 80, subsequent_indent="  ")
    lines.append(f"parts: {', '.join(tally.parts) or 'none'}")
    lines += [f"from {printable(name)}: {number_of(count, 'row')}" for name, count in tally.sources.items()]
    return "\n".join([*lines, *_notes(tally)])
