"""The measured risk profile beside the reported one, and the divergence between them as a function of the order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._lib.formatting import number_of
from .._lib.typing import Floats, ReadOnlyArrays
from ..calibration.world_samples import Logs
from ..calibration.worlds import hull
from ..statistics.means import means_of_points
from .intervals import Draws, draw
from .risk_profile import MeasuredProfile, RiskProfile
from .source import Source


@dataclass(frozen=True)
class DivergenceProfile(ReadOnlyArrays):
    """Logarithm of the reported over the measured generalized mean, v(r), for many orders. 0 is best.

    At order 0 it is the logarithm of the divergence probability. Above 0 at high orders and below 0 at low ones is
    overconfidence; the reverse is underconfidence (Nelson 2017, section 4).
    """

    orders: Floats
    values: Floats
    low: Floats
    high: Floats
    """Confidence limits at each order by itself."""

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<DivergenceProfile at {number_of(self.orders.size, 'order')}>"


def profiles_of(source: Source, reported: RiskProfile) -> tuple[MeasuredProfile, DivergenceProfile]:
    """Give both profiles, at the orders of the reported one."""
    orders = reported.orders
    none = np.full(orders.size, np.nan)
    if source.measured is None:
        return MeasuredProfile(orders, none, none, none), DivergenceProfile(orders, none, none, none)
    values = means_of_points(*source.measured, orders)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.stack([values, reported.values / values]))
    limits = np.full((4, orders.size), np.nan)
    if source.samples:
        draws, _ = draw(source, orders)
        limits = _limits(draws, logs)
        limits[:, ~np.isfinite(orders)] = np.nan
    low, high = np.exp(limits[0]), np.minimum(np.exp(limits[1]), 1.0)
    return MeasuredProfile(orders, values, low, high), DivergenceProfile(orders, logs[1], *limits[2:])


def _limits(draws: Draws, logs: Floats) -> Floats:
    """Lower and upper limits of the logarithms of measured means, then of reported over measured ones."""
    pairs = []
    for at, figures in enumerate((_measured, _divergence)):
        with np.errstate(invalid="ignore"):
            off = [world.deviation(figures) for world in draws.worlds]
            low, high = hull(logs[at], off, draws.reach, _growth(draws, at == 1))
        none = ~np.isfinite(logs[at]) | ~np.isfinite(high)
        pairs += [np.where(none, np.nan, low), np.where(none, np.nan, high)]
    return np.array(pairs)


def _growth(draws: Draws, divergence: bool) -> Floats:
    if draws.influences is None:
        return np.ones(1)
    reported, measured, _ = draws.influences
    return draws.growth(*((x - y if divergence else y) for x, y in zip(reported, measured, strict=True)))


def _measured(logs: Logs) -> Floats:
    return logs.measured


def _divergence(logs: Logs) -> Floats:
    return logs.reported - logs.measured
