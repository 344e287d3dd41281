"""Log odds of two coupled Gaussian classes along a line: where they turn, where they take a value, how much lies there.

Their slope is a cubic over positive polynomials, so they turn at most three times. The turns cut the line into
segments on which they rise, fall or stay; all that is exact about a model of two classes follows from these.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from .._lib.typing import Bools, Floats
from .coupled import log1p_ratio
from .distributions.gaussian import CoupledGaussian

REACH = 1e99
"""In scales: further out the square of a deviate would overflow."""

_VANISHING = 1e-90
"""Share of the largest coefficient of a polynomial below which a leading one is none."""

_LAST_STEP = 4e-16
"""Relative step of the search for a point after which it ends: two roundings."""

_SAME = 1e-12
"""Log odds that differ by less, absolutely or relatively, are one value: their rounding is of this size."""


class Segment(NamedTuple):
    """A stretch of the line on which log odds rise, fall or, where ``first == last``, stay."""

    start: float
    stop: float
    first: float
    last: float


class LogOdds:
    """Log odds of class 1 against class 0 at each point of a line, kept within -bound and bound.

    The classes are one `CoupledGaussian` with two entries; the prior is the log odds before a point is known.
    """

    def __init__(self, classes: CoupledGaussian, prior: float, bound: float = np.inf) -> None:
        """Cut the line into segments."""
        self.classes, self.prior, self.bound = classes, prior, bound
        self._loc, self._scale, self._k = (np.asarray(a) for a in (classes.loc, classes.scale, classes.coupling))
        self._centre, self._unit = float(self._loc.mean()), float(self._scale.min())
        self._reach = REACH * self._unit
        heights = classes.logpdf(self._loc)
        self._height = float(heights[1] - heights[0])
        # In u = (x - centre)/unit the slope is turning / (spread_0 spread_1).
        u = [Polynomial([(self._centre - loc) / self._unit, 1.0]) for loc in self._loc]
        s = self._scale / self._unit
        self._spread = [Polynomial([s[j] ** 2]) + self._k[j] * u[j] ** 2 for j in (0, 1)]
        self._turning = (1 + self._k[0]) * u[0] * self._spread[1] - (1 + self._k[1]) * u[1] * self._spread[0]
        self.segments = self._segments()

    def __call__(self, x: Floats) -> Floats:
        """Log odds at x; the prior's where both densities are 0."""
        return np.asarray(np.clip(self.unbounded(x), -self.bound, self.bound))

    def unbounded(self, x: Floats) -> Floats:
        """Log odds at x before they are kept within bounds."""
        x = np.clip(x, -self._reach, self._reach)
        k = self._k[0]
        if k == self._k[1] and k >= 0:
            # With equal couplings the squared deviates nearly cancel far out; their difference is a product.
            (m, n), (s, t), y = self._loc - self._centre, self._scale, x - self._centre
            a, b = (y - m) / s, (y - n) / t
            ratio = (y * (1 / s - 1 / t) + (n / t - m / s)) * (a + b) / (1 + k * b * b)
            return np.asarray(self.prior + self._height + (1 + k) / 2 * log1p_ratio(k, ratio))
        densities = self.classes.logpdf(x[..., None])
        with np.errstate(invalid="ignore"):
            odds = densities[..., 1] - densities[..., 0]
        return np.where(np.isneginf(densities).all(axis=-1), 0.0, odds) + self.prior

    def _slope(self, x: Floats) -> Floats:
        u = (np.clip(x, -self._reach, self._reach) - self._centre) / self._unit
        with np.errstate(divide="ignore"):
            return np.asarray(self._turning(u) / self._spread[0](u) / self._spread[1](u) / self._unit)

    # The line in segments

    def _segments(self) -> tuple[Segment, ...]:
        with np.errstate(divide="ignore"):
            half = np.where(self._k < 0, self._scale / np.sqrt(np.abs(self._k)), np.inf)
        half[half > self._reach] = np.inf
        edges = np.concatenate([self._loc - half, self._loc + half])
        low, high = float(edges[:2].max()), float(edges[2:].min())
        same = bool((self._loc[0] == self._loc[1]) & (self._scale[0] == self._scale[1]) & (self._k[0] == self._k[1]))
        turns = [] if same else [x for x in self._turns() if low < x < high]
        # At an edge itself, rounding decides on which side a density is 0; a few roundings further in nothing does.
        roundings = np.tile(4 * np.spacing(np.maximum(np.abs(self._loc), np.minimum(half, self._reach))), 2)
        inwards = {edge: by for edge, by in zip(edges.tolist(), roundings.tolist(), strict=True) if np.isfinite(edge)}
        found: list[Segment] = []
        for start, stop in pairwise(sorted({-np.inf, np.inf, *inwards, *turns})):
            a, b = start + inwards.get(start, 0.0), stop - inwards.get(stop, 0.0)
            if same or not low <= start < stop <= high:
                level = float(self(np.array(self._between(start, stop))))
                found.append(Segment(a, b, level, level))
            else:
                found += self._bounded(Segment(a, b, self._tends_to(start, a, edges), self._tends_to(stop, b, edges)))
        return tuple(found)

    def _turns(self) -> list[float]:
        """Where the log odds may turn; a cut elsewhere does no harm, so of complex roots the real part is taken."""
        coefficients = self._turning.coef
        kept = np.flatnonzero(np.abs(coefficients) > _VANISHING * np.abs(coefficients).max())
        roots = Polynomial(coefficients[: kept[-1] + 1]).roots() if kept.size else np.empty(0)
        x = self._centre + self._unit * np.real(roots)
        return [float(value) for value in x[np.abs(x) < self._reach]]

    def _between(self, start: float, stop: float) -> float:
        """Give a point inside a stretch that may have no ends."""
        if np.isfinite(start) and np.isfinite(stop):
            return start + (stop - start) / 2
        return start + self._unit if np.isfinite(start) else stop - self._unit if np.isfinite(stop) else self._centre

    def _tends_to(self, end: float, inside: float, edges: Floats) -> float:
        """Unbounded log odds towards an end of a segment: infinite where one density alone goes to 0."""
        at_edge = np.any((edges == end).reshape(2, 2), axis=0)
        if at_edge.sum() == 1:
            return np.inf if at_edge[0] else -np.inf
        return float(self.unbounded(np.array(inside)))

    def _bounded(self, whole: Segment) -> list[Segment]:
        """Cut a stretch on which the unbounded log odds rise or fall where they meet the bounds."""
        start, stop, first, last = whole
        values = np.clip([first, last], -self.bound, self.bound)
        if first == last:
            return [Segment(start, stop, values[0], values[1])]
        if self.bound == np.inf:
            return [whole]
        meets = np.sort(self.solve(whole, np.array([-self.bound, self.bound])))
        cut = [
            Segment(start, meets[0], values[0], values[0]),
            Segment(meets[0], meets[1], values[0], values[1]),
            Segment(meets[1], stop, values[1], values[1]),
        ]
        return [segment for segment in cut if segment.start < segment.stop]

    def solve(self, segment: Segment, levels: Floats) -> Floats:
        """Points of a rising or falling segment at which the log odds are the levels; its ends for levels beyond."""
        smallest, largest = sorted((segment.first, segment.last))
        x = np.where((levels <= smallest) == (segment.first < segment.last), segment.start, segment.stop)
        inside = (levels > smallest) & (levels < largest)
        x[inside] = self._solve_inside(segment, levels[inside])
        return np.asarray(x)

    def _solve_inside(self, segment: Segment, levels: Floats) -> Floats:
        # sinh of the unknown: from the centre to the reach is then a short way.
        ends = np.clip([segment.start, segment.stop], -self._reach, self._reach)
        t_low, t_high = np.arcsinh((ends - self._centre) / self._unit)
        rising = segment.first < segment.last
        t = np.full(levels.shape, (t_low + t_high) / 2)
        left = np.arange(levels.size)
        low, high, last = (np.full(levels.shape, v) for v in (t_low, t_high, t_high - t_low))
        while left.size:
            at = t[left]
            x = self._centre + self._unit * np.sinh(at)
            gap = self.unbounded(x) - levels[left]
            beyond = (gap > 0) == rising
            low, high = np.where(beyond, low, at), np.where(beyond, at, high)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = -gap / (self._slope(x) * self._unit * np.cosh(at))
            # Newton's step while it stays inside and at least halves; else bisection, so that there is an end.
            good = (at + step >= low) & (at + step <= high) & (np.abs(step) <= np.abs(last) / 2)
            last = np.where(good, step, (low + high) / 2 - at)
            t[left] = at + last
            going = np.abs(last) > _LAST_STEP * (1 + np.abs(at))
            left, low, high, last = left[going], low[going], high[going], last[going]
        return np.asarray(np.clip(self._centre + self._unit * np.sinh(t), segment.start, segment.stop))

    # What of another source lies where

    def share_above(self, levels: Floats, source: CoupledGaussian, ties: float = 0.5) -> Floats:
        """Probability, by each of the source's two classes, of log odds above each level; ties count as told."""
        total = np.zeros((*levels.shape, 2))
        for segment in self.segments:
            start, stop, first, last = segment
            if first == last:
                part = (levels < first) + ties * _same(levels, first) * 1.0
                total += part[..., None] * mass(source, np.array(start), np.array(stop))
            else:
                at = self.solve(segment, levels)
                a, b = (at, np.full_like(at, stop)) if first < last else (np.full_like(at, start), at)
                total += mass(source, a, b)
        return np.minimum(total, 1.0)  # which rounding in the sum may pass

    def log_density_at(self, levels: Floats, source: CoupledGaussian) -> tuple[Floats, Bools]:
        """Log densities of the log odds by each of the source's classes: how dense each level is among its draws.

        Where a level has mass of its own, the logarithms of these masses stand instead, and the second array is true.
        """
        total = np.full((*levels.shape, 2), -np.inf)
        for segment in self.segments:
            low, high = sorted((segment.first, segment.last))
            reached = (levels >= low) | _same(levels, low)
            reached &= (levels <= high) | _same(levels, high)
            if low < high and reached.any():
                x = self.solve(segment, levels[reached])
                x = np.clip(x, -self._reach, self._reach)
                # Next to a turn the slope is 0 and the density infinite; shares of it are still right.
                slope = np.maximum(np.abs(self._slope(x)), 1e-300)
                total[reached] = np.logaddexp(total[reached], source.logpdf(x[:, None]) - np.log(slope)[:, None])
        atoms, masses = self.atoms(source)
        has_mass = np.zeros(levels.shape, dtype=np.bool_)
        for level, share in zip(atoms, masses, strict=True):
            here = _same(levels, level)
            with np.errstate(divide="ignore"):
                total[here] = np.log(share)
            has_mass |= here
        return total, has_mass

    def atoms(self, source: CoupledGaussian) -> tuple[Floats, Floats]:
        """Levels with mass of their own, and that mass by each of the source's classes."""
        level_ones = [s for s in self.segments if s.first == s.last]
        levels = np.unique([s.first for s in level_ones])
        masses = np.array(
            [sum(mass(source, np.array(s.start), np.array(s.stop)) for s in level_ones if s.first == v) for v in levels]
        ).reshape(-1, 2)
        kept = masses.any(axis=1)
        return levels[kept], masses[kept]

    def kinks(self) -> Floats:
        """Points at which what depends on the log odds, or on them with their sign changed, may have a kink."""
        ends = np.array([(s.first, s.last) for s in self.segments]).ravel()
        levels = np.unique(np.concatenate([ends, -ends, [0.0]]))
        levels = levels[np.isfinite(levels)]
        solved = [self.solve(s, levels) for s in self.segments if s.first != s.last]
        points = np.concatenate([*solved, [s.start for s in self.segments[1:]]])
        return np.asarray(points[np.abs(points) < self._reach])


def _same(levels: Floats, level: float) -> Bools:
    return np.asarray(np.isclose(levels, level, rtol=_SAME, atol=_SAME))


def mass(source: CoupledGaussian, a: Floats, b: Floats) -> Floats:
    """P(a < X < b) by each of two classes, from the tail in which both ends lie where they share one."""
    a, b = a[..., None], b[..., None]
    upper = source.sf(a) - source.sf(b)
    return np.asarray(np.maximum(np.where(a > source.loc, upper, source.cdf(b) - source.cdf(a)), 0.0))
