"""Maps of normal scores, which mend predictive distributions, and how well they fit: a likelihood for the fitter.

An outcome's normal score z becomes T(S((z - bias - level x) exp(-spread - follow s))), x being the predicted level in
standard deviations and s the centred logarithm of the predicted spread. S and T are the two halves of the sinh-arcsinh
transformation (Jones and Pewsey 2009), rescaled so that a skew and a tail are orthogonal to a shift and a scale.

An average of maps of normal scores: the linear pool of the predictive distributions that they make.

Each map gives a distribution function; the pool is their weighted mean, so that densities and probabilities of cells
are pooled in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, binom, log_ndtr, logsumexp, ndtr

from .._lib.dataclasses import Frozen
from .._lib.typing import Bools, Floats, Ints
from ..statistics.matrices import product
from ..statistics.normal_scores import normal_scores, numbered
from .fit import Prior, fitted

BOUNDS = {"bias": 50.0, "spread": 8.0, "skew": 5.0, "tail": 5.0, "level": 50.0, "follow": 8.0}
"""Largest size of each parameter; none is larger unless the outcomes leave it without bounds."""

PRIOR = Prior(dict.fromkeys(BOUNDS, math.inf) | {"skew": 0.5, "tail": 0.5})
"""Quantiles and members hide the far tails: without a prior their shape would have no bounds."""

_UNSKEWED, _UNMOVED = 0.9136485679444384, 1.5689529256534054
"""Normal scores of either sign that a pure skew, and a pure tail, leaves where they are."""

_NEVER = -1e6
"""Gain of an outcome that a map all but excludes, in nats."""

_STEP = 1e-4
"""Half the distance of two gradients whose difference tells the curvature."""


class PitCells(NamedTuple):
    """Outcomes between normal scores, or at one where both ends are equal."""

    low: Floats
    high: Floats
    level: Floats
    """Predicted level, in standard deviations from its mean."""
    log_spread: Floats
    """Logarithm of the predicted spread, from its mean."""
    total: Floats
    """Weight of the outcomes."""

    def only(self, here: Bools | Ints | slice) -> PitCells:
        """Return some of them."""
        return PitCells(*(each[here] for each in self))


class _Image(NamedTuple):
    """Where a map takes normal scores, and the logarithm of its slope, with derivatives by each parameter."""

    z: Floats
    by_parameter: Floats
    log_slope: Floats
    slope_by_parameter: Floats


class PitMap(Frozen):
    """A map of normal scores; a parameter that is missing is 0.

    Parameters
    ----------
    coefficients : mapping of str to float
        By the parameter: "bias", "spread", "skew", "tail", "level", "follow".

    Examples
    --------
    >>> from unperplexed.maps.pit import PitMap
    >>> PitMap({"bias": 0.5, "spread": 0.0}).scores([-1.0, 0.5]).tolist()
    [-1.5, 0.0]
    """

    coefficients: Mapping[str, float]

    def scores(self, z: ArrayLike, level: Floats | float = 0.0, log_spread: Floats | float = 0.0) -> Floats:
        """Return mended normal scores."""
        bias, spread, skew, tail, rising, follow = (self.coefficients.get(name, 0.0) for name in BOUNDS)
        z = np.asarray(z, dtype=np.float64)
        inside = np.isfinite(z)
        moved = (np.where(inside, z, 0.0) - bias - rising * level) * np.exp(-spread - follow * log_spread)
        if skew:
            moved = moved - math.tanh(skew) * (np.sqrt(1 + moved * moved) - math.hypot(1, _UNSKEWED))
        if tail:
            power = math.exp(-tail)
            size = _UNMOVED / math.sinh(power * math.asinh(_UNMOVED))
            moved = size * np.sinh(power * np.arcsinh(moved))
        return np.asarray(np.where(inside, moved, z))

    def parameters(self) -> dict[str, Any]:
        """Give the coefficients."""
        return dict(self.coefficients)

    def tails(self, z: Floats, level: Any, log_spread: Any) -> tuple[Floats, Floats]:
        """Return the mended probability up to normal scores, and of more."""
        mended = self.scores(z, level, log_spread)
        return ndtr(mended), ndtr(-mended)

    def gains(self, cells: PitCells) -> Floats:
        """Return the logarithms of the ratios of mended to predicted densities, or probabilities of cells."""
        if not self.coefficients:
            return np.zeros(cells.low.size)
        return PitGains(cells, [*self.coefficients]).each(np.array([*self.coefficients.values()]))[0]

    def image(self, z: Floats, level: Floats | float, log_spread: Floats | float) -> _Image:
        """Map finite normal scores.

        Derivatives are by the parameters of the map, one a row. Where t is the normal score after shift and scale, the
        skew makes y = t - tanh(e) (r - const) of it, r = sqrt(1 + t^2), and the tail const sinh(exp(-k) asinh(y)).
        """
        given = self.coefficients
        bias, spread, skew, tail, rising, follow = (given.get(name, 0.0) for name in BOUNDS)
        log_scale = -spread - follow * log_spread
        scale = np.exp(log_scale)
        t = (z - bias - rising * level) * scale
        y, slope, bend, of_skew, slope_of_skew = _skewed(t, skew) if "skew" in given else (t, 1.0, 0.0, 0.0, 0.0)
        z, steep, turn, of_tail, slope_of_tail = _stretched(y, tail) if "tail" in given else (y, 1.0, 0.0, 0.0, 0.0)
        by_t, log_by_t = steep * slope, bend + turn * slope
        moves = {"bias": -scale, "spread": -t, "level": -scale * level, "follow": -t * log_spread}
        moves = {name: move for name, move in moves.items() if name in given}
        itself = {"spread": -1.0, "follow": -log_spread}
        by = {name: by_t * move for name, move in moves.items()} | {"skew": steep * of_skew, "tail": of_tail}
        log_by = {name: log_by_t * move + itself.get(name, 0.0) for name, move in moves.items()}
        log_by |= {"skew": slope_of_skew + turn * of_skew, "tail": slope_of_tail}
        log_slope = np.log(slope) + np.log(steep) + log_scale
        stacked = (np.stack([np.broadcast_to(of[name], t.shape) for name in given]) for of in (by, log_by))
        return _Image(z, next(stacked), np.broadcast_to(log_slope, t.shape), next(stacked))


_Curved = tuple[Floats, Floats, Floats, Floats, Floats]
"""Value, slope, derivative of the logarithm of the slope; derivatives of value and of that logarithm by a parameter."""


def _skewed(t: Floats, skew: float) -> _Curved:
    r, shift = np.sqrt(1 + t * t), math.tanh(skew)
    slope, by = 1 - shift * t / r, shift**2 - 1
    away = r - math.hypot(1, _UNSKEWED)
    return t - shift * away, slope, -shift / (r**3 * slope), by * away, by * t / (r * slope)


def _stretched(y: Floats, tail: float) -> _Curved:
    power, fixed = math.exp(-tail), math.asinh(_UNMOVED)
    a, root = np.arcsinh(y), np.sqrt(1 + y * y)
    sinh, cosh = np.sinh(power * a), np.cosh(power * a)
    size, held = _UNMOVED / math.sinh(power * fixed), fixed / math.tanh(power * fixed)
    level = sinh / cosh
    slope, turn = size * power * cosh / root, power * level / root - y / root**2
    return size * sinh, slope, turn, -power * size * (a * cosh - held * sinh), -1 + power * (held - a * level)


class PitGains(Frozen, eq=False):
    """Log-likelihood of the parameters of a map over that of the forecasts as they are."""

    cells: PitCells
    names: Sequence[str]
    """Parameters."""

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Where each parameter is."""
        return {name: slice(at, at + 1) for at, name in enumerate(self.names)}

    @cached_property
    def _point(self) -> Bools:
        return np.asarray(self.cells.low == self.cells.high)

    @cached_property
    def _points(self) -> PitCells:
        return self.cells.only(self._point)

    @cached_property
    def _wide(self) -> PitCells:
        return self.cells.only(~self._point)

    @cached_property
    def _before(self) -> Floats:
        return log_mass(self._wide.low, self._wide.high)

    def map_of(self, theta: Floats) -> PitMap:
        """Return the map that has these coefficients."""
        return PitMap(dict(zip(self.names, theta.tolist(), strict=True)))

    def each(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the gain of each outcome in nats, and its derivatives by the parameters, one a row."""
        gains, scores = np.empty(len(self._point)), np.empty((len(self.names), len(self._point)))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for here, found in ((self._point, self._of_points), (~self._point, self._of_wide)):
                if here.any():
                    gains[here], scores[:, here] = found(self.map_of(theta))
        known = np.isfinite(gains) & np.isfinite(scores).all(axis=0)
        return np.where(known, gains, _NEVER), np.where(known, scores, 0.0)

    def _of_points(self, found: PitMap) -> tuple[Floats, Floats]:
        z = self._points.low
        image = found.image(z, self._points.level, self._points.log_spread)
        gains = image.log_slope + (z * z - image.z * image.z) / 2
        return gains, image.slope_by_parameter - image.z * image.by_parameter

    def _of_wide(self, found: PitMap) -> tuple[Floats, Floats]:
        cells, ends, moved = self._wide, [], []
        for end in (self._wide.low, self._wide.high):
            inside = np.isfinite(end)
            image = found.image(np.where(inside, end, 0.0), cells.level, cells.log_spread)
            ends.append(np.where(inside, image.z, end))
            moved.append(np.where(inside, image.by_parameter, 0.0))
        mass = log_mass(*ends)
        low, high = (np.exp(-end * end / 2 - mass) * by for end, by in zip(ends, moved, strict=True))
        return mass - self._before, (high - low) / math.sqrt(2 * math.pi)

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        gains, scores = self.each(theta)
        return float(product(gains, self.cells.total)), product(scores, self.cells.total)

    def information(self, theta: Floats) -> Floats:
        """Return the information as the products of the outcomes' derivatives tell it."""
        scores = self.each(theta)[1]
        return product(scores * self.cells.total, scores.T)

    def curvature(self, theta: Floats) -> Floats:
        """Return minus the second derivatives."""
        steps = _STEP * np.eye(len(theta))
        found = [(self.ascent(theta - step)[1] - self.ascent(theta + step)[1]) / (2 * _STEP) for step in steps]
        return (np.array(found) + np.array(found).T) / 2

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients moved to where they may be."""
        limits = np.array([BOUNDS[name] for name in self.names])
        return np.clip(theta, -limits, limits)

    def begun(self, theta: Floats) -> Floats | None:
        """Return None: there is no lapse."""
        return None


def log_mass(low: Floats, high: Floats) -> Floats:
    """Return the logarithm of the probability between two normal scores, as accurately in both tails."""
    above = low > 0
    low, high = np.where(above, -high, low), np.where(above, -low, high)
    mass = ndtr(high) - ndtr(low)
    tiny = mass < _TINY
    found = np.log(np.where(tiny, 1.0, mass))
    whole = log_ndtr(high[tiny])
    found[tiny] = whole + np.log1p(-np.exp(np.minimum(log_ndtr(low[tiny]) - whole, -1e-16)))
    return np.asarray(found)


_TINY = 1e-290
"""Probability below which its logarithm is taken from those of its ends."""


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

_AVERAGED = Prior({"bias": 1.0, "spread": 1.0, "follow": 1.0, "level": 0.5, "skew": 0.5, "tail": 0.5})
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


class Bernstein(Frozen):
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
        theta = fitted(of, _AVERAGED, self._starts.get(name)).theta
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


class PitAverage(Frozen):
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
        return self.average.gains(PitCells(*(each.ravel() for each in cells))).reshape(cells[0].shape)

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
