"""How calibration may break, as factors of evidence: exact for independent rows, or with periods as the units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._lib.elementary import expit, log_expit
from .._lib.typing import Floats
from ..maps.pit import log_mass
from ..maps.two import columns
from ..statistics.matrices import product
from ..statistics.rank_evidence import log_evidence
from .event_counts import EventCounts
from .pit_counts import PitCounts

Counts = EventCounts | PitCounts

# The errors on which bets are: sizes from hardly seen to gross ones, in log-odds or as factors of them.
_BIASES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_SLOPES = (0.4, 0.55, 0.67, 0.8, 0.9, 1.1, 1.25, 1.5, 1.8, 2.5)
_BOTH = tuple(itertools.product((-1, -0.5, -0.2, 0.2, 0.5, 1), (0.67, 0.8, 1.25, 1.5)))
_TAILS = (0.05, 0.1, 0.2, 0.4)
_ASYMMETRIES = (0.1, 0.2, 0.4)
_LAPSES = (0.01, 0.03, 0.1, 0.3)
"""Shares of rows whose outcomes have even odds, whatever was predicted."""


def _signed(sizes: Sequence[float]) -> list[float]:
    return [sign * size for size in sizes for sign in (1, -1)]


def _shared(share: float, maps: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    return [(share / len(maps), *each) for each in maps]


_MAPS = np.array(
    [
        *_shared(0.30, [(a, 0, 0, 0, 0) for a in _signed(_BIASES)]),
        *_shared(0.30, [(0, slope - 1, 0, 0, 0) for slope in _SLOPES]),
        *_shared(0.20, [(a, slope - 1, 0, 0, 0) for a, slope in _BOTH]),
        *_shared(0.08, [(0, 0, 0, k, 0) for k in _signed(_TAILS)]),
        *_shared(0.07, [(0, 0, d, 0, 0) for d in _signed(_ASYMMETRIES)]),
        *_shared(0.05, [(0, 0, 0, 0, e) for e in _LAPSES]),
    ]
)
"""Weight, bias, slope less 1, asymmetry, tail and lapse of each map from predicted to calibrated log-odds."""

ROW_WEIGHTS: Floats = _MAPS[:, 0] / _MAPS[:, 0].sum()
"""Shares of the bet on the maps."""


# The same of predictive distributions: shifts in spreads, and factors of the width.
_WIDTHS = (1.1, 1.25, 1.5, 1.8, 2.5, 0.9, 0.8, 0.67, 0.55)
_SHIFTED = tuple(itertools.product((-1, -0.5, -0.2, 0.2, 0.5, 1), (0.8, 1.25, 1.5, 1.8)))

_PIT_MAPS = np.array(
    [
        *_shared(0.35, [(a, 1) for a in _signed(_BIASES)]),
        *_shared(0.35, [(0, width) for width in _WIDTHS]),
        *_shared(0.30, _SHIFTED),
    ]
)


def row_factors(counts: Counts) -> Floats:
    """Give the log-likelihood ratio of each map to the forecasts as they are, over one period.

    If the forecasts are calibrated and rows are independent, the mean of its exponential is at most 1.
    """
    if isinstance(counts, PitCounts):
        _, shift, width = _PIT_MAPS.T[:, :, None]
        ends = ((end - shift) / width for end in (counts.low, counts.high))
        return np.asarray((log_mass(*ends) - log_mass(counts.low, counts.high)) @ counts.total)
    if not counts.total.size:
        return np.zeros(len(_MAPS))
    s, lapse = counts.log_odds, _MAPS[:, 5:]
    t = s + product(_MAPS[:, 1:5], columns(("bias", "slope", "asymmetry", "tail"), s))
    negative = counts.total - counts.positive
    gained = np.zeros(len(_MAPS))
    for side, observed in ((1, counts.positive), (-1, negative)):
        with np.errstate(divide="ignore"):  # of maps without a lapse, for which the other formula is
            mapped = np.where(lapse > 0, np.log((1 - lapse) * expit(side * t) + lapse / 2), log_expit(side * t))
        gained += (mapped - log_expit(side * s)) @ observed
    return gained


_DIRECTIONS = np.array(
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [1, -1, 0, 0]], dtype=np.float64
)
"""In the parameters named below."""

_PARAMETERS = ("bias", "slope", "tail", "asymmetry")

PIT_DIRECTIONS = np.array([[1, 0], [0, 1], [1, 1], [1, -1]], dtype=np.float64)
_OF_PIT = (0.35, 0.35, 0.15, 0.15)
"""The same of predictive distributions, in shift and scale."""

_SIZES = _signed([2.0**-k for k in range(7)])
"""Sizes of errors of whole periods, in standard errors of one period."""
_OF_DIRECTIONS = (0.35, 0.35, 0.10, 0.05, 0.075, 0.075)
"""Shares of the bet on the directions."""

PERIOD_WEIGHTS: Floats = np.repeat(_OF_DIRECTIONS, len(_SIZES)) / len(_SIZES)
"""Shares of the bet on errors of whole periods, direction by direction."""
_PIT_PERIODS: Floats = np.repeat(_OF_PIT, len(_SIZES)) / len(_SIZES)

_TINY = 1e-300
"""Least variance, so that none is divided by 0."""

_FIRST = 20
"""Periods whose variances are not known from earlier ones."""


def scores(counts: Counts) -> tuple[Floats, Floats]:
    """Give the score of one period in some directions, and its covariance if rows are independent and calibrated."""
    if isinstance(counts, PitCounts):
        return counts.scores()
    s = counts.log_odds
    x = columns(_PARAMETERS, s)
    return x @ (counts.positive - counts.total * counts.p), (x * (counts.total * counts.p * (1 - counts.p))) @ x.T


def period_factors(series: Sequence[Counts]) -> Floats:
    """Give factors for periods whose rows share a shock, such as an election night; shape (periods, hypotheses).

    A period is one observation. Scores are in units of their standard deviation if rows were independent, averaged
    over the periods so far. For X symmetric about 0, exp(X - X**2/2) has a mean of at most 1 (de la Pena 1999); for X
    of mean 0 and variance at most v, exp(X - X**2/6 - v/3) has (Delyon 2009), with v estimated from earlier periods,
    which makes it approximate.
    """
    return standardised(*_in_directions(series))


def _in_directions(series: Sequence[Counts]) -> tuple[Floats, Floats]:
    """Give the scores of periods, and their variances if rows are independent and calibrated."""
    found = [scores(each) for each in series]
    some = PIT_DIRECTIONS if isinstance(series[0], PitCounts) else _DIRECTIONS
    z = np.array([each for each, _ in found]) @ some.T
    return z, np.array([np.einsum("di,ij,dj->d", some, each, some) for _, each in found])


def standardised(z: Floats, v: Floats) -> Floats:
    """Give factors by the scores of periods, and their variances if rows are independent and calibrated."""
    number = np.arange(1, len(z) + 1)[:, None]
    unit = np.sqrt(np.maximum(np.cumsum(v, axis=0) / number, _TINY))
    z, v = z / unit, v / unit**2
    earlier = np.vstack([np.zeros((1, z.shape[1])), np.cumsum(z**2, axis=0)[:-1]]) / np.maximum(number - 1, 1)
    wide = np.maximum(v, earlier) * (1 + 2 * np.sqrt(2 / np.maximum(number - 1, 1)))
    size = np.array(_SIZES)
    x, square, variance = z[:, :, None] * size, (z**2)[:, :, None] * size**2, wide[:, :, None] * size**2
    gained = np.where(number[:, :, None] <= _FIRST, x - square / 2, x - square / 6 - variance / 3)
    return np.asarray(gained.reshape(len(z), -1))


_GROSS = 8 * 2.0 ** (np.arange(4) / 4)
"""Errors in standard errors of one period, which the bets together win as much by as by any larger ones."""


def fewest_periods(log_limit: float, phases: int) -> int:
    """Say after how many periods of predictive distributions, as units, an alarm comes that all bets speak for.

    No constant error is seen sooner, however large it is: it gains about half a nat in each period of a phase.
    """
    shape = math.ceil(20 + 4 * log_limit), len(PIT_DIRECTIONS)
    each = (standardised(np.full(shape, size), np.ones(shape)) for size in _GROSS)
    return phases * min(int(np.argmax(log_evidence(factors, _PIT_PERIODS) >= log_limit)) for factors in each) + 1


_EFFECTS = _signed([1.5 * 2.0 ** (-k / 2) for k in range(16)])
"""Sizes of the same errors in log-odds, each smaller by a factor of the square root of 2."""

DATING_WEIGHTS: Floats = np.repeat(_OF_DIRECTIONS, len(_EFFECTS)) / len(_EFFECTS)
"""Prior probabilities of the same errors, by their size in log-odds, direction by direction."""


class Weights(NamedTuple):
    """Shares of the bets by rows, and by whole periods, and prior probabilities of what dates an error."""

    rows: Floats
    periods: Floats
    dating: Floats

    @classmethod
    def of(cls, counts: Counts) -> Weights:
        """Give those of what is counted."""
        if not isinstance(counts, PitCounts):
            return cls(ROW_WEIGHTS, PERIOD_WEIGHTS, DATING_WEIGHTS)
        return cls(_PIT_MAPS[:, 0], _PIT_PERIODS, np.repeat(_OF_PIT, len(_EFFECTS)) / len(_EFFECTS))


def dating_ratios(series: Sequence[Counts]) -> Floats:
    """Give log-likelihood ratios of errors of whole periods to calibration; shape (periods, hypotheses).

    They date an error that is known to be there, by its score, which is about normal. Its variance is as many times
    larger than that of independent rows as successive periods show (quasi-likelihood), so that all periods, before the
    error and since, count by the same measure.
    """
    z, v = _in_directions(series)
    size = np.array(_EFFECTS)
    found = z[:, :, None] * size - v[:, :, None] * size**2 / 2
    return np.asarray((found / _excess(z, v)[:, None]).reshape(len(z), -1))


def _excess(z: Floats, v: Floats) -> Floats:
    """Say how many times larger variances are than if rows were independent, at least 1: from successive periods."""
    there = np.minimum(v[1:], v[:-1]) > 0
    v = np.where(v > 0, v, 1.0)
    squares = np.where(there, np.diff(z / v, axis=0) ** 2 / (1 / v[1:] + 1 / v[:-1]), 0.0).sum(axis=0)
    return np.asarray(np.maximum(squares / np.maximum(there.sum(axis=0), 1), 1.0))


def spread(series: Sequence[Counts]) -> tuple[float, float]:
    """Say how many times larger the variances of bias and slope are than if rows were independent, at least 1."""
    bias, slope, *_ = _excess(*_in_directions(series)).tolist()
    return bias, slope
