"""What sums over the rows tell of the errors of more than two classes: likelihoods without the rows themselves.

How likely the outcomes are after the mending of some errors of more than two classes: read from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats
from ...kernels.rows import COARSE
from ...maps.classes import ClassMap
from ...maps.fit import Likelihood
from ...maps.parameters import LAPSE, LAPSES
from ...maps.rows import Coefficients, Rows, places_of
from ...maps.two import tail
from ...statistics.matrices import definite
from ...tally.class_sums import HALF
from ...tally.counter import RowSample
from .class_rows import PreparedRows
from .class_statistics import ClassStatistics, information_of
from .kinds import KINDS

PARAMETERS = {kind.error: kind.of_each or kind.parameter for kind in KINDS.values() if kind.classes is not None}
"""The parameter of a map that mends each error."""

KNOWN = ("slope", "tail", "biases")
"""Parameters of which the statistics have the information, were the forecasts calibrated."""


class MapLikelihood(Likelihood, Protocol):
    """A likelihood of maps."""

    def map_of(self, theta: Floats) -> ClassMap:
        """Return the map with these coefficients."""

    def theta_of(self, fitted: ClassMap) -> Floats:
        """Return the coefficients of a map; those that it lacks are 0."""


class Likelihoods(Protocol):
    """Likelihoods of maps with any parameters: over rows, or over what counts say of them."""

    classes: int
    known: Floats
    """Information on `KNOWN`."""
    together: Sequence[str]
    """Parameters that can be fitted together, and those that can be fitted only alone."""
    alone: Sequence[str]

    def of(self, parameters: Sequence[str], start: ClassMap) -> MapLikelihood:
        """Return the likelihood of maps with these parameters, near a map of fewer."""


class RowLikelihoods:
    """Likelihoods over rows."""

    def __init__(self, chunks: PreparedRows, statistics: ClassStatistics) -> None:
        self.chunks, self.classes, self.rows = chunks, len(statistics.observed), statistics.rows
        self.known = information_of(statistics)
        self.together: Sequence[str] = list(PARAMETERS.values())
        self.alone: Sequence[str] = ()

    def of(self, parameters: Sequence[str], start: ClassMap) -> Rows:
        """Return the likelihood of maps with these parameters."""
        del start
        return Rows(self.chunks, self.classes, parameters, self.rows)


def part_of(information: Floats, every: Sequence[str], parameters: Sequence[str], classes: int) -> Floats:
    """Return the part of the information on every parameter that concerns some of them.

    Parameters
    ----------
    information : array of shape (k, k)
        Fisher information on the coefficients of ``every``, in the order of `places_of`.
    every, parameters : sequence of str
        All parameters, and those that are wanted.
    classes : int
        Number of classes.
    """
    places = places_of(every, classes)
    at = np.r_[tuple(places[name] for name in places_of(parameters, classes))].astype(np.int64)
    return np.asarray(information[np.ix_(at, at)])


class SumLikelihoods:
    """Likelihoods by the scores, and by the information on each class bias at the forecasts as they are.

    The likelihood of slope and tail bends as that of the few rows that a tally keeps. That of a lapse alone depends on
    the probabilities of the observed classes only; beside other errors it is not known.
    """

    together: Sequence[str] = KNOWN
    alone: Sequence[str] = (LAPSE,)

    def __init__(self, statistics: ClassStatistics, sample: RowSample | None, observed: tuple[Floats, Floats]) -> None:
        """Take the statistics of the rows, some rows, and the probabilities of what was observed with their weights."""
        s = statistics
        self.classes, self.observed = len(s.observed), observed
        self.scores = np.concatenate([s.shape_score, s.observed - s.predicted])
        self.known = information_of(s)
        enough = sample is not None and sample.key.size > 0 and bool((np.diag(s.shape_information) > 1e-6).all())
        self._curve = Curvature(sample, s, self.known[:2, :2]) if enough and sample is not None else None

    def of(self, parameters: Sequence[str], start: ClassMap) -> MapLikelihood:
        """Return the likelihood of maps with these parameters; what it says of biases is that at the start."""
        return Lapse(self) if LAPSE in parameters else Sums(self, parameters, self.seen(start))

    def shape(self, shape: Floats) -> tuple[float, Floats, Floats]:
        """Log-likelihood of slope and tail, its gradient, and its Hessian with the other sign."""
        known = self.known[:2, :2]
        if self._curve is None:
            value, slope, bend = 0.5 * float(shape @ known @ shape), known @ shape, known
        else:
            value, slope, bend = self._curve(shape)
        return float(shape @ self.scores[:2]) - value, self.scores[:2] - slope, bend

    def seen(self, mapping: ClassMap) -> Seen:
        """What the sums tell of class biases beside this slope and tail.

        How far the mending of these moves the mean predictions of the classes is known only in its direction. The
        biases' score along it is taken away, as that of a parameter of its own with this prior.
        """
        shape = np.array([mapping.value("slope"), mapping.value("tail")])
        growth = 1.0 if self._curve is None else self._curve.growth(shape)
        score, across, known = self.scores[2:], self.known[2:, :2], growth * self.known[2:, 2:]
        across = max(1 + _MOVES * (growth - 1), _LEAST) * across
        loose, direction = _LOOSE * abs(growth - 1), self.known[2:, :2] @ shape
        if not loose * float(direction @ direction) > 0:
            return Seen(score, across, known)
        used = np.flatnonzero(shape)
        bend = definite(self.shape(shape)[2][np.ix_(used, used)])
        own = known - across[:, used] @ np.linalg.solve(bend, across[:, used].T)
        ridge = 1e-6 * float(np.trace(known)) / len(known) * np.eye(len(known))
        back = np.linalg.solve(definite(own + ridge), direction)
        share = 1 / (float(direction @ back) + loose**-2)
        along = share * float(back @ (score - across @ shape))
        return Seen(score - along * direction, across, known - share * np.outer(direction, direction))


class Sums(Coefficients):
    """Likelihood of slope, tail and biases; see `fit.Likelihood`."""

    def __init__(self, sums: SumLikelihoods, parameters: Sequence[str], seen: Seen) -> None:
        super().__init__(sums.classes, parameters)
        self._sums, self._seen, self._parameters = sums, seen, parameters
        self._shape = [at for at, name in enumerate(("slope", "tail")) if name in parameters]

    def _parts(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return slope and tail, and the biases."""
        shape, k = np.zeros(2), len(self._shape)
        shape[self._shape] = theta[:k]
        return shape, theta[k:] if "biases" in self.places else np.zeros(self.classes)

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients moved to where sums at the forecasts as they are say anything."""
        theta, k = theta.copy(), len(self._shape)
        theta[:k] = np.clip(theta[:k], -_FURTHEST, _FURTHEST)
        return theta

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood, less that of the forecasts as they are, and its gradient."""
        (shape, biases), seen = self._parts(theta), self._seen
        value, slope, _ = self._sums.shape(shape)
        left, own = seen.score - seen.across @ shape, seen.known @ biases
        gradient = [(slope - seen.across.T @ biases)[self._shape], *([left - own] if "biases" in self.places else [])]
        return value + float(biases @ left) - 0.5 * float(biases @ own), np.concatenate(gradient)

    def information(self, theta: Floats) -> Floats:
        """Return the second derivatives with the other sign."""
        seen, bend = self._seen, self._sums.shape(self._parts(theta)[0])[2]
        whole = np.block([[bend, seen.across.T], [seen.across, seen.known]])
        return part_of(whole, KNOWN, self._parameters, self.classes)


class Lapse(Coefficients):
    """Likelihood of a lapse alone; see `fit.Likelihood`."""

    def __init__(self, sums: SumLikelihoods) -> None:
        super().__init__(sums.classes, [LAPSE])
        p, self._weight = sums.observed
        self._more = 1 / (self.classes * p) - 1

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood, less that of the forecasts as they are, and its gradient."""
        e = float(expit(theta[0]))
        slope = e * (1 - e) * float(self._weight @ (self._more / (1 + e * self._more)))
        return float(self._weight @ np.log1p(e * self._more)), np.array([slope])

    def information(self, theta: Floats) -> Floats:
        """Return the sum of squared slopes."""
        e = float(expit(theta[0]))
        return np.array([[self._weight @ (e * (1 - e) * self._more / (1 + e * self._more)) ** 2]])

    def begun(self, theta: Floats) -> Floats | None:
        """Return the best lapse of a grid; None where by its score at 0 none helps."""
        if not float(self._weight @ self._more) > 0:
            return None
        return LAPSES[[int((self._weight @ np.log1p(np.outer(self._more, expit(LAPSES)))).argmax())]]


_FURTHEST = 5.0
"""Slope and tail at most; beside biases the likelihood may rise without end, as mean predictions are known poorly."""
_MOVES, _LOOSE, _LEAST = 1.9, 0.6, 0.1
"""Beside confidence and tail, mean predictions of classes move 1 + 1.9 (g - 1) times as far as by the first derivative,
give or take 0.6 (g - 1), in simulated forecasts; g is by how much the sum of p (1 - p) grows."""


class Seen(NamedTuple):
    """Scores of the class biases, their derivatives by confidence and tail, and the information on them."""

    score: Floats
    across: Floats
    known: Floats


_LOWEST = 2.0**-17 * 1.375
"""Where the lowest cell of the rows that are kept ends, which begins at 0."""
_FOR_ZERO = 1e-12
"""Stands for 0 in logarithms; it weighs nothing."""


class Curvature:
    """The sum over all rows of ln E exp(theta f), less its slope at 0; f are log-probability and the tail's direction.

    For each row it is the cumulant generating function, which the row's probabilities determine. A tally keeps these,
    in coarse cells, of some rows; they are stretched so that their second derivative at 0 is that of all rows.
    """

    def __init__(self, sample: RowSample, statistics: ClassStatistics, information: Floats) -> None:
        """Take rows in coarse cells, the statistics of all rows, and their information on confidence and tail."""
        p = _values(sample, _low(statistics))
        self._p, self._count = p, sample.count * (statistics.weight / sample.count.sum())
        self._f = np.stack([np.log(p), tail(np.log(p) - np.log(np.maximum(_others(p), _FOR_ZERO)))])
        self._f -= np.einsum("aij,ij->ai", self._f, p)[:, :, None]
        own = np.einsum("i,ij,aij,bij->ab", self._count, p, self._f, self._f)
        jitter = 1e-9 * np.diag(np.maximum(np.diag(own), 1e-300))
        self._stretch = np.linalg.solve(
            np.linalg.cholesky(definite(own + jitter)).T, np.linalg.cholesky(definite(information + jitter)).T
        )

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian."""
        at = self._stretch @ theta
        q, log_total = self._moved(at)
        value = float(self._count @ log_total)
        means = np.einsum("ij,aij->ai", q, self._f)
        square = np.einsum("i,ij,aij,bij->ab", self._count, q, self._f, self._f, optimize=True)
        hessian = square - (means * self._count) @ means.T
        return value, self._stretch.T @ (means @ self._count), self._stretch.T @ hessian @ self._stretch

    def growth(self, theta: Floats) -> float:
        """Sum of q (1 - q) of the mended probabilities, over that of the predicted ones."""
        q, _ = self._moved(self._stretch @ theta)
        now, before = (float(self._count @ (1 - np.einsum("ij,ij->i", x, x))) for x in (q, self._p))
        return now / before if before > 0 else 1.0

    def _moved(self, at: Floats) -> tuple[Floats, Floats]:
        moved = np.einsum("a,aij->ij", at, self._f)
        highest = moved.max(axis=1, keepdims=True)
        q = self._p * np.exp(moved - highest)
        total = q.sum(axis=1, keepdims=True)
        return q / total, (np.log(total) + highest)[:, 0]


def _low(statistics: ClassStatistics) -> Floats:
    """Probabilities in the lowest cell, in as many equal parts of all that are there."""
    count, total = (x[:, :HALF].sum(axis=0) for x in (statistics.cells, statistics.cell_sums))
    mean = total / np.maximum(count, 1)
    here = (count > 0) & (mean < _LOWEST) & (mean > 0)
    if not here.any():
        return np.full(1, _LOWEST / 3)
    at = np.searchsorted(np.cumsum(count[here]) / count[here].sum(), (np.arange(1024) + 0.5) / 1024)
    return np.asarray(mean[here][at])


def _values(sample: RowSample, low: Floats) -> Floats:
    """Probabilities of the rows, so that these sum to 1: the middles of their cells, and in the lowest any of its."""
    code = np.arange(256)
    middle, _ = COARSE.values(code, np.full(256, 2.0**15))
    middle[[0, 127, -2, -1]] = _FOR_ZERO, 0.5, 1 - low.mean(), 1 - _FOR_ZERO
    p = middle[sample.cells]
    some = sample.cells == 1
    turn = np.arange(np.count_nonzero(some)) * 0.6180339887498949 % 1  # evenly spread, whatever their number
    p[some] = low[(turn * low.size).astype(np.int64)]
    rest = _others(p)[np.arange(len(p)), p.argmax(axis=1)]
    sharp = np.flatnonzero(rest < 0.5)
    p[sharp, p.argmax(axis=1)[sharp]] = 1 - rest[sharp]
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _others(p: Floats) -> Floats:
    """1 - p, not rounded where p is near 1."""
    rest, at = 1 - p, (np.arange(len(p)), p.argmax(axis=1))
    others = p.copy()
    others[at] = 0
    rest[at] = others.sum(axis=1)
    return np.asarray(rest)
