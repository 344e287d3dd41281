"""Maps of C classes: from predicted log-probabilities to calibrated probabilities.

With z the predicted log-probabilities, the calibrated probabilities are q = (1 - e) softmax(t) + e / C, where
t_c = (1 + slope) z_c + biases_c + slopes_c z_c + rest ln(1 - p_c) + tail h(s_c). Here s are the log-odds of each class,
h is `directions.tail`, and e is a lapse. A full matrix adds what the log-probabilities of the other classes contribute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, field, replace
from .._lib.elementary import of_rows
from .._lib.serialize import plain_values
from .._lib.typing import AnyFloats, Floats
from ..statistics.matrices import product
from .parameters import LAPSE, shown
from .two import LARGEST, SMALLEST, tail

BLOCK_VALUES = 1 << 17
"""Rows times classes that are worked on at a time, so that intermediate arrays stay in the cache."""

_FARTHEST = 700.0
"""Log-odds up to which maps are looked at; and the logarithm of a number that none reach."""


class ClassMap(Frozen, eq=False):
    """A map of C classes. Arrays and numbers may be tensors of PyTorch, where its module is named as ``xp``.

    Log-probabilities are taken as they came, of any size; only those of an exact 0 are replaced.

    Parameters
    ----------
    name : str
        The family, or "" for a map without one.
    shared : mapping of str to float
        What all classes share: ``slope``, ``tail`` and ``rest``, by name.
    biases, slopes : array of shape (C,), optional
        What is added to the log-odds of each class, and to the shared slope for each.
    matrix : array of shape (C, C), optional
        What the other classes' log-probabilities add, with a diagonal of 0.
    lapse : float
    zero : float
        Probability that an exact zero counts as.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.maps.classes import ClassMap
    >>> halved = ClassMap("temperature", {"slope": -0.5})
    >>> halved.parameters(), halved.probabilities(np.log([[16, 4, 1]])).round(3).tolist()
    ({'temperature': 2.0}, [[0.571, 0.286, 0.143]])
    """

    name: str = ""
    shared: Mapping[str, Any] = field(default_factory=dict)
    biases: Any = None
    slopes: Any = None
    matrix: Any = None
    lapse: Any = 0.0
    zero: float = SMALLEST

    @property
    def arrays(self) -> dict[str, Any]:
        """Parameters with a number for each class, or for each pair: None for one that it lacks."""
        return {name: getattr(self, name) for name in ARRAYS}

    @property
    def slope(self) -> Any:
        """Slope that all classes share: in a family of temperatures the inverse of the temperature."""
        return 1 + self.shared.get("slope", 0.0)

    def value(self, parameter: str) -> Any:
        """Return a parameter that all classes share; 0 for one that it lacks."""
        return self.lapse if parameter == LAPSE else self.shared.get(parameter, 0.0)

    def turn(self, xp: Any = np) -> Any:
        """Return the log-odds beyond which a tail that draws them in stays level, or it would reverse classes."""
        bend = self.shared["tail"]
        far = xp.where(bend < 0, self.slope / xp.where(bend < 0, -bend, 1.0), math.inf)
        return xp.expm1(xp.clip(far, 0.0, _FARTHEST))

    def scores(self, z: Any, curves: Mapping[str, Any] | None = None, xp: Any = np) -> Any:
        """Return unnormalized log-probabilities, before the lapse, of finite log-probabilities (n, C).

        ``curves`` are those of the rows where they are known: without a level beyond the turn.
        """
        rate = self.slope if self.slopes is None else self.slope + self.slopes
        if self.matrix is None:
            t = z * rate
        else:
            matrix = self.matrix.T + xp.diag(rate)
            t = product(z, matrix) if xp is np else z @ matrix
        if self.biases is not None:
            t += self.biases
        bent = [name for name in CURVES if name in self.shared]
        if bent and curves is None:
            rest = log_rest(z, xp)
            curves = {"rest": rest, "tail": _level_tail(z - rest, self.turn(xp), xp) if "tail" in bent else None}
        for name in bent:
            t += self.shared[name] * curves[name]  # type: ignore[index]
        return t

    def probabilities(self, log_p: Any, xp: Any = np) -> Any:
        """Return calibrated probabilities (n, C) for predicted log-probabilities (n, C)."""
        if xp is not np:
            return self._probabilities(log_p, xp)
        n, C = log_p.shape
        found, step = np.empty((n, C)), max(1, BLOCK_VALUES // C)
        for low in range(0, n, step):
            found[low : low + step] = self._probabilities(log_p[low : low + step], np)
        return found

    def _probabilities(self, log_p: Any, xp: Any) -> Any:
        z = xp.where(xp.isneginf(log_p), math.log(self.zero), log_p)
        return inside((1 - self.lapse) * softmax(self.scores(z, xp=xp), xp) + self.lapse / z.shape[-1], xp)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as users see them: those that change anything."""
        own = {**self.shared, **self.arrays, LAPSE: self.lapse}
        changing = {name: value for name, value in own.items() if value is not None and np.any(value)}
        if "slopes" in changing:
            changing["slopes"] = self.slopes + self.value("slope")
        return dict(plain_values(shown(changing)))

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain values for JSON."""
        return dict(plain_values(self))

    def increasing(self) -> bool:
        """Whether each class's probability rises with its predicted one while the others keep their proportions.

        With f the curve that all classes share, the scores of classes c and k part where f'(s_c) + f'(s_k) p_c /
        (1 - p_k) is positive at their log-odds s; this looks at all pairs with p_c + p_k of at most 1. With slopes of
        the classes, those of c and k part at all probabilities where both slopes are positive; so the smallest stands
        for all.
        """
        slope = self.slope + (0.0 if self.slopes is None or self.matrix is not None else float(self.slopes.min()))
        far = np.expm1(np.linspace(0.0, math.log1p(30.0), 51))
        s = np.concatenate([-far[:0:-1], far])
        p = 1 / (1 + np.exp(-s))
        rise = slope * (1 - p) - self.shared.get("rest", 0.0) * p
        if "tail" in self.shared:
            rise = rise + self.shared["tail"] * np.log1p(np.abs(s)) * (np.abs(s) < self.turn())
        apart = rise[:, None] + rise * p[:, None] / (1 - p)
        return slope > 0 and bool((apart[s[:, None] + s <= 1e-9] > 0).all())

    def towards(self, other: ClassMap, part: float) -> ClassMap:
        """Return the map whose parameters lie between its own and those of another."""

        def mean(first: Any, second: Any) -> Any:
            first, second = (0.0 if each is None else each for each in (first, second))
            return first + part * (second - first)

        shared = {name: mean(value, other.shared.get(name)) for name, value in self.shared.items()}
        biases, slopes = (
            None if own is None else mean(own, others)
            for own, others in ((self.biases, other.biases), (self.slopes, other.slopes))
        )
        return replace(self, shared=shared, biases=biases, slopes=slopes, lapse=mean(self.lapse, other.lapse))


ARRAYS = ("biases", "slopes", "matrix")

CURVES = ("rest", "tail")
"""Shared parameters that are curves of the log-odds of each class."""


def log_rest(z: Any, xp: Any = np) -> Any:
    """Return ln(1 - p) for p = exp(z); for the largest of each row from the others, so that it is exact near 1."""
    if xp is np:
        return _log_rest(np.asarray(z))
    most = z > _LOG_HALF  # at most one of a row
    others = xp.where(most, -math.inf, z)
    highest = xp.amax(others, axis=-1, keepdims=True)
    rest = highest + xp.log(xp.sum(xp.exp(others - highest), axis=-1, keepdims=True))
    return xp.where(most, rest, xp.log1p(-xp.exp(xp.where(most, -1.0, z))))


def _log_rest(z: AnyFloats) -> AnyFloats:
    """Do the same, and add up the others of those rows alone that have a class above 1/2."""
    found = np.log1p(-np.minimum(np.exp(z), 0.5))
    row, most = np.divmod(np.flatnonzero(z > _LOG_HALF), z.shape[-1])
    others = z.reshape(-1, z.shape[-1])[row]
    others[np.arange(row.size), most] = -math.inf
    highest = of_rows(np.maximum, others)
    rest = highest + np.log(of_rows(np.add, np.exp(others - highest)))
    found.reshape(-1, z.shape[-1])[row, most] = rest[:, 0]
    return np.asarray(found)


_LOG_HALF = math.log(0.5)


def class_tail(z: AnyFloats) -> AnyFloats:
    """Return the direction of tails at the log-odds of each class."""
    return np.asarray(tail(z - log_rest(z)))


def _level_tail(s: Any, turn: Any, xp: Any) -> Any:
    return tail(xp.clip(s, -turn, turn), xp)


def softmax(t: Any, xp: Any = np) -> Any:
    """Return exp(t), each row divided by its sum."""
    if xp is not np:
        return xp.softmax(t, -1)
    q: Floats = t - of_rows(np.maximum, t)
    np.exp(q, out=q)
    q /= of_rows(np.add, q)
    return q


def inside(q: Any, xp: Any = np) -> Any:
    """Keep probabilities strictly between 0 and 1 where rounding has reached an end."""
    return xp.clip(q, SMALLEST, LARGEST)
