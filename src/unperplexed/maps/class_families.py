"""Recalibration of more than two classes: fits of the maps of all families, none of which reverses classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import check_choice
from .._lib.typing import AnyFloats, Floats, Ints
from ..kernels.curves import isotonic_blocks
from ..statistics.matrices import product
from .classes import BLOCK_VALUES, CURVES, ClassMap, inside
from .fit import ESTIMATED, Likelihood, Prior, fitted
from .parameters import LAPSE, MANY_CLASSES
from .rows import WIDE, Chunk, Coefficients, Rows, chunks_of, curvature, pulled
from .two import zero_of


class IsotonicMap(Frozen, eq=False):
    """A fitted non-decreasing curve for each class, on the probabilities of another map."""

    base: ClassMap
    """The map whose probabilities the curves take."""
    knots: tuple[tuple[Floats, Floats], ...]
    """For each class the ends of its blocks, and the curve there; in between it is linear."""
    name: str = "isotonic"

    def probabilities(self, log_p: Floats) -> Floats:
        """Return calibrated probabilities (n, C) for predicted log-probabilities (n, C)."""
        q = self.base.probabilities(log_p)
        for at, (x, y) in enumerate(self.knots):
            q[:, at] = BASE_SHARE * q[:, at] + (1 - BASE_SHARE) * np.interp(q[:, at], x, y)
        q /= q.sum(axis=1, keepdims=True)
        return np.asarray(inside(q))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the map beneath and the number of blocks of each class."""
        return self.base.parameters() | {"blocks": [np.unique(y).size for _, y in self.knots]}

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON."""
        knots = [{"x": x.tolist(), "y": y.tolist()} for x, y in self.knots]
        return {"name": self.name, "base": self.base.to_dict(), "knots": knots}


MapOfClasses = ClassMap | IsotonicMap

Known = dict[str, Floats]
"""Fisher information a row of fits to similar rows, by family."""

MOST_CLASSES = 30
"""Up to so many classes every map is cheap."""

_PRIOR = Prior(
    {"slope": 2.0, "rest": 1.0, "tail": 1.0, "biases": ESTIMATED, "slopes": ESTIMATED, "matrix": ESTIMATED, LAPSE: 32.0}
)
"""Standard deviations by parameter; that of the log-odds of a lapse only bounds it."""

_STARTS = {
    "temperature": "identity",
    "bias": "identity",
    "logistic": "temperature",
    "temperature-lapse": "temperature",
    "logistic-lapse": "logistic",
    "vector": "logistic-lapse",
    "tail": "logistic-lapse",
}
"""The map that each is fitted from: the nearest among the simpler ones."""

_FEWEST_ROWS_OF_CLASS = 25
"""Rows a class from which maps with slopes or curves of many classes are tried."""


def supported(name: str, n: int, C: int) -> bool:
    """Whether rows suffice for a map to be tried unasked.

    With 5 to 20 rows a class the average of CIFAR-100's networks with slopes and curves of the classes was .0007 nats
    better than without in one of six sizes and alike in five, and these maps take most of the time.
    """
    if name == "matrix":
        return C <= MOST_CLASSES and n >= C * (C + 1)
    return name not in ("vector", "isotonic") or C <= MOST_CLASSES or n >= _FEWEST_ROWS_OF_CLASS * C


def fitted_classes(
    names: Sequence[str],
    log_p: Floats,
    truth: Ints,
    weights: Floats | None = None,
    known: Known | None = None,
    zero: float | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> dict[str, MapOfClasses]:
    """Fit recalibration maps for more than two classes by penalized maximum likelihood.

    The distance of the shared slope from 1 has a normal prior of standard deviation 2, curves that all classes share
    one of 1; variances of biases, slopes and matrices are estimated.

    Parameters
    ----------
    names : sequence of str
        Some of the families `MANY_CLASSES`.
    log_p : array of shape (n, C)
        Predicted log-probabilities in nats, as they came; minus infinity for a probability of 0.
    truth : array of shape (n,)
        Column of the observed class of each row.
    weights : array of shape (n,), optional
        Non-negative weights; a weight of 2 is the row twice.
    known : dict, optional
        Fisher information of fits to similar rows, such as all rows for a fold, with which fits are faster; it takes up
        that of these fits.
    zero : float, optional
        Probability that an exact zero counts as; by default as `two.zero_of` says.
    advance : callable, optional
        Told 1 after each map, to show how far the fit is.

    Returns
    -------
    dict
        The fitted maps by name, in the order of ``names``.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.maps.class_families import fitted_classes
    >>> rng = np.random.default_rng(0)
    >>> scores = 2 * rng.normal(size=(3000, 3))
    >>> truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    >>> overconfident = np.log(np.exp(2 * scores) / np.exp(2 * scores).sum(axis=1, keepdims=True))
    >>> round(fitted_classes(["temperature"], overconfident, truth)["temperature"].parameters()["temperature"], 1)
    2.0
    """
    for name in names:
        check_choice("method", name, MANY_CLASSES)
    weights = np.ones(truth.size) if weights is None else weights
    if zero is None:
        zero = zero_of(log_p, log_p.shape[1], max(float(weights.sum()), 1.0))
    fitting = _Fitting(log_p, truth, weights, {} if known is None else known, zero)
    found = {}
    for name in names:
        found[name] = fitting.fitted(name)
        advance(1)
    return found


class _Fitting:
    """Maps fitted so far: what others start from is fitted once."""

    def __init__(self, log_p: Floats, truth: Ints, weights: Floats, known: Known, zero: float) -> None:
        self.known, self.whole, self.zero = known, float(weights.sum()), zero
        self.n, self.classes = log_p.shape
        finite = np.where(np.isneginf(log_p), math.log(self.zero), log_p)
        self.chunks = chunks_of(finite.astype(np.float32) if self.classes > MOST_CLASSES else finite, truth, weights)
        self.largest = float(-finite.min(initial=0.0))
        self.found: dict[str, MapOfClasses] = {"identity": ClassMap("identity", zero=self.zero)}

    def fitted(self, name: str) -> MapOfClasses:
        if name not in self.found:
            self.found[name] = self._fit(name)
        return self.found[name]

    def _fit(self, name: str) -> MapOfClasses:
        if name == "isotonic":
            return fit_isotonic(self.chunks, self._plain("tail"))
        if name == "matrix" and not supported(name, self.n, self.classes):
            return replace(self._plain("vector"), name="matrix")
        if name == "matrix":
            of = Matrix(self.chunks, self._plain("tail"))
            return of.with_matrix(self._climbed(name, of, of.start))
        rows = Rows(self.chunks, self.classes, MANY_CLASSES[name].parameters, self.n, rising=True)
        start = rows.theta_of(self._plain(_STARTS[name]))
        found = rows.map_of(self._climbed(name, rows, start), name, self.zero)
        return self._made_increasing(found) if name in ("tail", "vector") else found

    def _climbed(self, name: str, of: Likelihood, start: Floats) -> Floats:
        known = self.known.get(name)
        fit = fitted(of, _PRIOR, start, None if known is None else known * self.whole)
        self.known.setdefault(name, fit.used / self.whole)
        return fit.theta

    def _plain(self, name: str) -> ClassMap:
        found = self.fitted(name)
        assert isinstance(found, ClassMap)
        return found

    def _made_increasing(self, found: ClassMap) -> ClassMap:
        """Return the map if it is increasing, else the first one that is, on the way to logistic-lapse."""
        simple = self._plain("logistic-lapse")
        on_the_way = (found.towards(simple, float(part)) for part in np.linspace(0, 1, 20, endpoint=False))
        return next((each for each in on_the_way if self._increases(each)), replace(simple, name=found.name))

    def _increases(self, found: ClassMap) -> bool:
        """Whether a map is increasing at all log-odds, among these those of the rows."""
        return found.increasing() and ("tail" not in found.shared or float(found.turn()) >= self.largest)


class Matrix(Coefficients):
    """Likelihood of the biases, of the slopes of the classes, and of what the others add; see `fit.Likelihood`.

    Parameters
    ----------
    chunks : sequence of Chunk
    base : ClassMap
        What else the map has. Its biases and slopes are where the fit starts.
    """

    def __init__(self, chunks: Sequence[Chunk], base: ClassMap) -> None:
        C = chunks[0].log_p.shape[1]
        super().__init__(C, WIDE)
        self.chunks, self.base = chunks, base
        self.places["matrix"] = slice(2 * C, C * (C + 1))
        # Where the coefficients of a class stand in theta: its bias, then what each log-probability adds to its slope.
        self.at = np.empty((C, C + 1), dtype=np.int64)
        self.at[:, 0] = np.arange(C)
        self.at[:, 1:][np.eye(C, dtype=bool)] = np.arange(C, 2 * C)
        self.at[:, 1:][~np.eye(C, dtype=bool)] = np.arange(2 * C, C * (C + 1))
        self.first, self.second = np.triu_indices(C)
        self.left, self.right = np.triu_indices(C + 1)

    @property
    def start(self) -> Floats:
        """Coefficients of the map around which the matrix is."""
        return np.append(self.theta_of(self.base), np.zeros(self.classes * (self.classes - 1)))

    def with_matrix(self, theta: Floats) -> ClassMap:
        """Return the map with these coefficients."""
        matrix = theta[self.at[:, 1:]]
        np.fill_diagonal(matrix, 0.0)
        biases, slopes = (theta[self.places[name]].copy() for name in ("biases", "slopes"))
        return replace(self.base, name="matrix", biases=biases, slopes=slopes, matrix=matrix)

    def _scored(self, fitted: ClassMap) -> Iterator[tuple[Chunk, AnyFloats, AnyFloats]]:
        """Yield rows that stay in the cache, 1 and their log-probabilities, and their scores."""
        for chunk in self.chunks:
            curves = {name: chunk.curve(name) for name in CURVES if name in fitted.shared}
            x = np.concatenate([np.ones((chunk.truth.size, 1)), chunk.log_p], axis=1)
            yield chunk, x, fitted.scores(chunk.log_p, curves)

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        fitted, value, gradient = self.with_matrix(theta), 0.0, np.zeros(theta.size)
        for chunk, x, t in self._scored(fitted):
            height, f, pull, share, _ = pulled(chunk, t, fitted.lapse)
            value += height
            rest = -share[:, None] * f
            rest[np.arange(chunk.truth.size), chunk.truth] += pull
            gradient[self.at] += product(rest.T, x)
        return value, gradient

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information."""
        fitted, sums = self.with_matrix(theta), np.zeros((self.first.size, self.left.size))
        step = max(1, BLOCK_VALUES // self.classes**2)
        for chunk, x, t in self._scored(fitted):
            for low in range(0, chunk.truth.size, step):
                here = slice(low, low + step)
                pairs = self._pairs(t[here], chunk.weights[here], fitted.lapse)
                sums += product(pairs.T, x[here][:, self.left] * x[here][:, self.right])
        C = self.classes
        both = np.empty((C, C, C + 1, C + 1))
        pairs = np.empty((self.first.size, C + 1, C + 1))
        pairs[:, self.left, self.right] = pairs[:, self.right, self.left] = sums
        both[self.first, self.second] = both[self.second, self.first] = pairs
        found, at = np.empty((theta.size, theta.size)), self.at.ravel()
        found[np.ix_(at, at)] = both.transpose(0, 2, 1, 3).reshape(theta.size, theta.size)
        return found

    def _pairs(self, t: AnyFloats, weights: Floats, lapse: float) -> Floats:
        """Return the Fisher information of each row by the scores of each pair of classes."""
        first, second = self.first, self.second
        q, _, s, h = curvature(t.astype(np.float64, copy=False), weights, lapse)
        found = -h[:, first] * q[:, second] - q[:, first] * h[:, second]
        found[:, first == second] += s
        return found


BASE_SHARE = 0.5
"""Share of the map beneath in the mixture."""


def fit_isotonic(chunks: Sequence[Chunk], base: ClassMap) -> IsotonicMap:
    """Fit one curve for each class to the probabilities of a fitted map."""
    q = np.concatenate([base.probabilities(chunk.log_p) for chunk in chunks])
    truth, weights = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("truth", "weights"))
    knots = (_curve(q[:, at], (truth == at) * weights, weights) for at in range(q.shape[1]))
    return IsotonicMap(base, tuple(knots))


def _curve(q: Floats, observed: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Pool adjacent violators: return the first and last place of each block, and its frequency at both."""
    x, where = np.unique(q, return_inverse=True)
    total = np.bincount(where, weights).astype(np.float64)
    x, total, positive = x[total > 0], total[total > 0], np.bincount(where, observed)[total > 0]
    block = isotonic_blocks(positive / total, total)
    first = np.flatnonzero(np.diff(block, prepend=-1))
    last = np.append(first[1:], x.size) - 1
    frequency = np.clip(np.maximum.accumulate(np.bincount(block, positive) / np.bincount(block, total)), 0.0, 1.0)
    ends = np.stack([x[first], x[last]], axis=1).ravel()
    keep = np.append(True, ends[1:] > ends[:-1])
    return ends[keep], np.repeat(frequency, 2)[keep]
