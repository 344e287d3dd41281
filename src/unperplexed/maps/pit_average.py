"""An average of maps of normal scores: the linear pool of the predictive distributions that they make.

Each map gives a distribution function; the pool is their weighted mean, so that densities and probabilities of cells
are pooled in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, binom, logsumexp, ndtr

from .._lib.dataclasses import dataclass
from .._lib.typing import Bools, Floats, Ints
from ..statistics.normal_scores import normal_scores, numbered
from ..statistics.products import product
from .fit import Prior, fitted
from .pit import PitCells, PitGains, PitMap, log_mass

IDENTITY, BERNSTEIN = "identity", "bernstein"

FAMILIES: Mapping[str, tuple[str, ...]] = {
    IDENTITY: (),
    "shift": ("bias",),
    "scale": ("spread",),
    "shift+scale": ("bias", "spread"),
    "curved": ("bias", "spread", "skew", "tail"),
    "level+spread": ("bias", "level", "spread", "follow"),
    "all": ("bias", "level", "spread", "follow", "skew", "tail"),
}
"""Parameters of each family of maps but `BERNSTEIN`."""

RANKS: Mapping[str, int] = dict(zip((*FAMILIES, BERNSTEIN), (0, 1, 1, 2, 4, 4, 6, 6), strict=True))
"""What each family counts as, in parameters."""

PRIOR = Prior({"bias": 1.0, "spread": 1.0, "follow": 1.0, "level": 0.5, "skew": 0.5, "tail": 0.5})
"""Normal priors of the parameters, around 0."""

LOCATED = frozenset({"level", "follow"})
"""Parameters of maps that differ with the level or the spread of a forecast."""

DEGREE = 12
"""Number of beta distributions in the mixture of `BERNSTEIN`."""

_FARTHEST, _WIDEST = 37.0, 8.0
"""Normal scores beyond which probabilities are 0 to the last digit, and beyond which none is looked for."""

_CLOSE, _STEPS, _HALVED = 1e-11, 80, 8
"""How close an inverse comes, its steps at most, and after how many each third one halves the interval."""

_STILL, _TURNS = 1e-7, 500
"""Gain in nats of the last step of a mixture's fit, and its steps at most."""


@dataclass(frozen=True)
class Bernstein:
    """The mixture of the densities of Beta(k, 13 - k), k from 1 to 12: a density of PIT values.

    Its distribution function is a Bernstein polynomial (Petrone 1999).
    """

    weights: tuple[float, ...]

    @cached_property
    def _terms(self) -> tuple[Floats, Floats]:
        """Coefficients of the distribution function and of its complement, beside u^j (1 - u)^(12 - j)."""
        up_to = np.concatenate([[0.0], np.cumsum(self.weights)])
        beyond = np.concatenate([np.cumsum(self.weights[::-1])[::-1], [0.0]])
        each = binom(DEGREE, np.arange(DEGREE + 1))
        return up_to * each, beyond * each

    def parameters(self) -> dict[str, Any]:
        """Give the weights of the mixture."""
        return {"weights": list(self.weights)}

    def tails(self, z: Floats, level: Any, log_spread: Any) -> tuple[Floats, Floats]:
        """Return the mended probability up to normal scores, and of more: sums of positive terms, exact in both."""
        u, v = ndtr(z), ndtr(-z)
        powers = [np.ones_like(u)]
        for _ in range(DEGREE):
            powers.append(powers[-1] * v)
        below, above, (up_to, beyond) = np.zeros_like(u), np.zeros_like(u), self._terms
        for j in range(DEGREE, -1, -1):
            below = below * u + up_to[j] * powers[DEGREE - j]
            above = above * u + beyond[j] * powers[DEGREE - j]
        return below, above

    def gains(self, cells: PitCells) -> Floats:
        """Return the logarithms of the ratios of mended to predicted densities, or probabilities of cells."""
        return np.asarray(np.log(product(np.array(self.weights), beta_ratios(cells))))


AnyMap = PitMap | Bernstein
"""A map of normal scores, and of the distributions that have them."""


def beta_ratios(cells: PitCells) -> Floats:
    """Return how much more probable each beta distribution makes each cell than the uniform one does: (12, m)."""
    k = np.arange(1, DEGREE + 1)[:, None]
    point = cells.low == cells.high
    (u0, v0), (u1, v1) = ((ndtr(z), ndtr(-z)) for z in (cells.low, cells.high))
    density = DEGREE * binom(DEGREE - 1, k - 1) * u0 ** (k - 1) * v0 ** (DEGREE - k)
    above = cells.low > 0
    starts, ends = np.where(above, v1, u0), np.where(above, v0, u1)
    first, second = np.where(above, DEGREE + 1 - k, k), np.where(above, k, DEGREE + 1 - k)
    mass = betainc(first, second, ends) - betainc(first, second, starts)
    return np.asarray(np.where(point, density, mass / np.where(point, 1.0, np.exp(log_mass(cells.low, cells.high)))))


class PitFits:
    """Fits the families of maps to cells, some of which may have no weight."""

    def __init__(self, cells: PitCells) -> None:
        """Take the cells."""
        self._cells = cells
        number, first = numbered(cells.low, cells.high)
        self._number, self._ratios = number, beta_ratios(cells.only(first))
        self._starts: dict[str, Floats] = {}

    @cached_property
    def names(self) -> list[str]:
        """Families that these cells can tell apart."""
        constant = {"level": not self._cells.level.any(), "follow": not self._cells.log_spread.any()}
        some = [name for name, of in FAMILIES.items() if not any(constant.get(each) for each in of)]
        return [*some, BERNSTEIN]

    def fit(self, name: str, total: Floats) -> AnyMap:
        """Fit a family to cells of these weights; the first fit of a family is where the others begin."""
        if name == BERNSTEIN:
            return self._mixture(np.bincount(self._number, total, self._ratios.shape[1]).astype(np.float64))
        if name == IDENTITY:
            return PitMap({})
        of = PitGains(self._cells._replace(total=total), FAMILIES[name])
        theta = fitted(of, PRIOR, self._starts.get(name)).theta
        self._starts.setdefault(name, theta)
        return of.map_of(theta)

    def _mixture(self, total: Floats) -> Bernstein:
        """Fit by expectation and maximization, with the Dirichlet(2) prior."""
        weights, before, n = np.full(DEGREE, 1 / DEGREE), -math.inf, total.sum()
        for _ in range(_TURNS):
            density = product(weights, self._ratios)
            value = float(product(total, np.log(density))) + float(np.log(weights).sum())
            if value - before < _STILL:
                break
            before = value
            found = weights * product(self._ratios, total / density)
            weights = (found + 1) / (n + DEGREE)
        return Bernstein(tuple((weights / weights.sum()).tolist()))


@dataclass(frozen=True)
class PitAverage:
    """Maps with their shares in the pool, which sum to 1."""

    maps: Mapping[str, AnyMap]
    shares: Mapping[str, float]

    @property
    def located(self) -> bool:
        """Whether it differs with the level or the spread of a forecast."""
        return any(not LOCATED.isdisjoint(FAMILIES.get(name, ())) for name in self.maps)

    def gains(self, cells: PitCells) -> Floats:
        """Return the logarithms of the ratios of mended to predicted densities, or probabilities of cells."""
        each = np.stack([found.gains(cells) for found in self.maps.values()])
        return np.asarray(logsumexp(each, axis=0, b=np.array([*self.shares.values()])[:, None]))

    def tails(self, z: Floats, level: Any, log_spread: Any) -> tuple[Floats, Floats]:
        """Return the mended probability up to normal scores, and of more."""
        below: Any = 0.0
        above: Any = 0.0
        for name, found in self.maps.items():
            one, other = found.tails(z, level, log_spread)
            below, above = below + self.shares[name] * one, above + self.shares[name] * other
        return np.asarray(below), np.asarray(above)


class PitCurve(NamedTuple):
    """An average of maps at the level and spread of some forecasts: numbers that broadcast against theirs."""

    average: PitAverage
    level: Any
    log_spread: Any

    def subset(self, rows: Bools | Ints | slice) -> PitCurve:
        """Return the curves of some forecasts."""
        level, log_spread = (x if np.ndim(x) == 0 else x[rows] for x in self[1:])
        return PitCurve(self.average, level, log_spread)

    def by_column(self) -> PitCurve:
        """Return the same for normal scores with a row a forecast."""
        return PitCurve(self.average, *(x if np.ndim(x) == 0 else x[:, None] for x in self[1:]))

    def scores(self, z: Floats) -> Floats:
        """Return mended normal scores."""
        return normal_scores(*self.average.tails(np.asarray(z), self.level, self.log_spread))

    def gains(self, low: Floats, high: Floats) -> Floats:
        """Return what outcomes at or between normal scores gain, in nats."""
        point = low == high
        low, high = (np.where(point, np.clip(z, -_FARTHEST, _FARTHEST), z) for z in (low, high))
        cells = np.broadcast_arrays(low, high, self.level, self.log_spread, 1.0)
        flat = PitCells(*(each.ravel() for each in cells))
        return self.average.gains(flat).reshape(cells[0].shape)

    def inverse(self, scores: Floats) -> Floats:
        """Return the normal scores that are mended to these, from -8 to 8: by secants, in an interval that shrinks."""
        found, level, log_spread = np.broadcast_arrays(np.clip(scores, -_WIDEST, _WIDEST), self.level, self.log_spread)
        z = np.array(found, dtype=np.float64).ravel()
        left, wanted = np.arange(z.size), z.copy()
        curve = PitCurve(self.average, level.ravel(), log_spread.ravel())
        low, high = np.full(z.size, -_WIDEST), np.full(z.size, _WIDEST)
        off = curve.scores(z) - wanted
        last, before = z.copy(), off
        z = np.clip(z - off, low, high)
        for step in range(_STEPS):
            off = curve.subset(left).scores(z[left]) - wanted[left]
            low[left], high[left] = np.where(off <= 0, z[left], low[left]), np.where(off >= 0, z[left], high[left])
            with np.errstate(all="ignore"):
                new = z[left] - off * (z[left] - last[left]) / (off - before)
            inside = (new > low[left]) & (new < high[left])
            if step > _HALVED and step % 3 == 0:
                inside[:] = False
            new = np.where(inside, new, (low[left] + high[left]) / 2)
            more = (np.abs(off) > _CLOSE) & (high[left] - low[left] > _CLOSE)
            left, before, new = left[more], off[more], new[more]
            if not left.size:
                break
            last[left], z[left] = z[left], new
        return z.reshape(found.shape)
