"""A risk profile as a document: means at some orders, with intervals and the three that have names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._lib.formatting import capital, confidence_interval
from ..assessment.risk_profile import MeasuredProfile, RiskProfile
from ..report.document import Column, Document, Table
from ..report.numbers import MINUS, estimate, number
from ..report.result import Axes, Naming, document, picture
from ..report.tables import noted
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST

_NAMES = {GEOMETRIC: "geometric accuracy", ROBUST: "robustness", DECISIVE: "decisiveness"}
_READ = "Low orders weigh the worst forecasts most, high orders the best. Larger is better."
FEW = "Means without an interval depend on rare rows, of which fewer than two are expected."
_SAME = 1e-9
"""Orders that differ by less are the same: the rest is rounding."""


@document.register(RiskProfile)
def profile_document(profile: RiskProfile, naming: Naming, *, brief: bool, orders: Sequence[float] = ()) -> Document:
    """Describe a risk profile at some of its orders.

    Parameters
    ----------
    profile : RiskProfile
        What is described.
    naming : Naming
        Not used: a profile names no forecasts.
    brief : bool
        Not used: a profile has no other form.
    orders : sequence of float, optional
        Orders that are shown; by default the whole and half ones, and that of robustness.

    Returns
    -------
    Document
    """
    shown = [at for at, order in enumerate(profile.orders.tolist()) if _wanted(order, orders)]
    shown = shown or list(range(profile.orders.size))
    low, high = profile.interval()
    found = [estimate(float(profile.values[at]), (float(low[at]), float(high[at])), most=4) for at in shown]
    at_order = {order: found[i][0] for i, at in enumerate(shown) for order in [_named(profile.orders[at])] if order}
    text = ", ".join(f"{name} {at_order[name]}" for name in _NAMES.values() if name in at_order)
    headline = capital(text) if text else f"Risk profile at {len(shown):,} orders"
    table = Table.of(
        "Generalized means of the probabilities assigned to the outcomes.",
        Column("order", [_order(float(profile.orders[at])) for at in shown]),
        noted("mean", found),
        Column("name", [_named(profile.orders[at]) for at in shown], words=True),
        brief=len(shown),
        notes=confidence_interval(0.95),
    )
    return Document(
        title="Risk profile",
        headline=headline,
        lead=f"{_READ} {FEW}" if profile.few_rows[shown].any() else _READ,
        calm=True,
        summary=[table],
        settings=f"floor {profile.floor:g}{'' if profile.limit == 'floor' else f' and ceiling {1 - profile.floor:g}'}",
    )


def _wanted(order: float, orders: Sequence[float]) -> bool:
    if orders:
        return any(math.isclose(order, each, abs_tol=_SAME) for each in orders)
    return abs(order * 2 - round(order * 2)) < _SAME if math.isfinite(order) and abs(order - ROBUST) > _SAME else True


def _named(order: float) -> str:
    return next((name for at, name in _NAMES.items() if abs(order - at) < _SAME), "")


def _order(order: float) -> str:
    if not math.isfinite(order):
        return number(order)
    if abs(order - ROBUST) < _SAME:
        return f"{MINUS}2/3"
    return f"{order:.4g}".replace("-", MINUS)


@picture.register(RiskProfile)
def _draw(profile: RiskProfile, ax: Axes | None, *, label: str | None, measured: MeasuredProfile | None) -> Axes:
    from .pictures import plot_profile

    return plot_profile(profile, ax, label=label, measured=measured)
