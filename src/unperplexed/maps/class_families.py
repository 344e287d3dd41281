"""Recalibration of more than two classes: fits of the maps of all families, none of which reverses classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._lib.errors import check_choice
from .._lib.typing import Floats, Ints
from .classes import ClassMap
from .fit import ESTIMATED, Likelihood, Prior, fitted
from .isotonic import IsotonicMap, fit_isotonic
from .matrix import Matrix
from .parameters import LAPSE, MANY_CLASSES
from .rows import Rows, chunks_of
from .two import zero_of

MapOfClasses = ClassMap | IsotonicMap

Known = dict[str, Floats]
"""Fisher information a row of fits to similar rows, by family."""

MOST_CLASSES = 30
"""Up to so many classes every map is cheap."""

_PRIOR = Prior(
    {"slope": 2.0, "rest": 1.0, "tail": 1.0, "biases": ESTIMATED, "slopes": ESTIMATED, "matrix": ESTIMATED, LAPSE: 32.0}
)

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
        What a probability of 0 counts as, such as in the rows of which these are some; by default that of these rows.

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
    fitting = _Fitting(log_p, truth, weights, {} if known is None else known, zero)
    return {name: fitting.fitted(name) for name in names}


class _Fitting:
    """Maps fitted so far: what others start from is fitted once."""

    def __init__(self, log_p: Floats, truth: Ints, weights: Floats, known: Known, zero: float | None) -> None:
        self.known, self.whole = known, float(weights.sum())
        self.n, self.classes = log_p.shape
        self.zero = zero_of(log_p, self.classes, max(self.whole, 1.0)) if zero is None else zero
        finite = np.where(np.isneginf(log_p), math.log(self.zero), log_p)
        self.chunks = chunks_of(finite, truth, weights)
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
            return of.map_of(self._climbed(name, of, of.start))
        rows = Rows(self.chunks, self.classes, MANY_CLASSES[name].parameters, rising=True)
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
