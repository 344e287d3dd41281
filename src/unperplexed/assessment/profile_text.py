"""The risk profile as text, with a picture in characters."""

from __future__ import annotations

import math
import textwrap

import numpy as np

from ..report.numbers import estimate, figure
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST
from ..tally.describe import counted, notes_lines
from .describe_words import dependence_text
from .result import Assessment
from .risk_profile import RiskProfile


def profile_text(assessment: Assessment, orders: list[float]) -> str:
    """Give the risk profile at some orders, and the means at other floors."""
    profile = assessment.profile
    low, high = profile.interval()
    counts = counted(assessment.n_rows, assessment.n_classes, assessment.labels)
    lines = [
        *textwrap.wrap(f"{counts}, {dependence_text(assessment)}", 80),
        f"floor {assessment.floor:g}",
        "",
        f"{'order':>8}{'mean':>9}{'95 % interval':>17}",
    ]
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
    notes = list(notes_lines(assessment.notes))
    return "\n".join([*lines, *([""] if notes else []), *notes])


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
