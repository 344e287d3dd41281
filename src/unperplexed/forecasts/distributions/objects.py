"""Distributions that are objects of other packages: whatever has cdf, ppf and logpdf, or is called so elsewhere."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..._lib.arrays import as_array, library
from ..._lib.errors import InputError
from ..._lib.typing import Bools, Floats, Ints

_NAMES = {
    "cdf": ("cdf",),
    "sf": ("sf", "ccdf"),
    "ppf": ("ppf", "icdf"),
    "logpdf": ("logpmf", "logpdf", "log_prob", "log_pdf"),
}
"""What the functions of a law are called in SciPy's two interfaces, PyTorch, NumPyro, NGBoost and skpro."""

_HALVINGS = 200
"""After so many halvings an interval is one number, whatever it was."""


class Adapted:
    """Distributions of an object, one a row."""

    parameters: tuple[Floats, ...] = ()

    def __init__(self, of: Any, n: int, discrete: bool, rows: Ints | None = None) -> None:
        """Take the object, its number of rows, and the rows that are meant."""
        self._of, self._n, self.discrete, self._rows = of, n, discrete, rows

    def __len__(self) -> int:
        """Count the rows that are meant."""
        return self._n if self._rows is None else len(self._rows)

    def cdf(self, x: Any) -> Floats:
        """Return the probability up to x."""
        try:
            return np.clip(self._call("cdf", x), 0, 1)
        except NotImplementedError:  # PyTorch's have the name, not always the function
            raise InputError(f"family: {type(self._of).__name__} does not tell its cdf; give samples of it.") from None

    def sf(self, x: Any) -> Floats:
        """Return the probability of more than x."""
        return np.clip(self._call("sf", x), 0, 1) if _method(self._of, "sf") else 1 - self.cdf(x)

    def ppf(self, q: Any) -> Floats:
        """Return quantiles, by halving intervals if the object has none."""
        try:
            return self._call("ppf", q) if _method(self._of, "ppf") else self._halved(q)
        except NotImplementedError:  # PyTorch's mixtures have the name only
            return self._halved(q)

    def logpdf(self, x: Any) -> Floats:
        """Return the log density, of counts the log probability."""
        return self._call("logpdf", x)

    def subset(self, rows: Bools | Ints) -> Adapted:
        """Return some of the rows."""
        known = np.arange(self._n) if self._rows is None else self._rows
        return Adapted(self._of, self._n, self.discrete, known[rows])

    def _call(self, name: str, x: Any) -> Floats:
        """Call a function of the object at numbers for the rows that are meant, which broadcast against them."""
        rows = np.arange(self._n) if self._rows is None else self._rows
        x = np.asarray(x, dtype=np.float64)
        wanted = np.broadcast_to(x, np.broadcast_shapes(x.shape, rows.shape)).reshape(-1, len(rows))
        found = np.stack([self._at(name, each, rows) for each in wanted])
        return found.reshape(*x.shape[:-1], len(rows)) if x.ndim > 1 else found[0]

    def _at(self, name: str, x: Floats, rows: Ints) -> Floats:
        """Call at one number a row; each object has all of its rows, of which some may be meant several times."""
        method = _method(self._of, name)
        if self._rows is None:
            return _called(method, self._of, x)
        found, left = np.empty(len(x)), np.arange(len(x))
        while left.size:
            first = left[np.unique(rows[left], return_index=True)[1]]
            everywhere = np.full(self._n, x[first[0]])
            everywhere[rows[first]] = x[first]
            found[first] = _called(method, self._of, everywhere)[rows[first]]
            left = np.setdiff1d(left, first)
        return found

    def _halved(self, q: Any) -> Floats:
        q = np.asarray(q, dtype=np.float64)
        q = np.broadcast_to(q, np.broadcast_shapes(q.shape, (len(self),)))
        low, high = -np.ones(q.shape), np.ones(q.shape)
        while (over := (self.cdf(low) >= q) & (low > -1e300)).any():
            low = np.where(over, low * 4, low)
        while (under := (self.cdf(high) < q) & (high < 1e300)).any():
            high = np.where(under, high * 4, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if ((middle <= low) | (middle >= high)).all():
                break
            below = self.cdf(middle) < q
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.ceil(low) if self.discrete else high


def adapted(of: Any) -> Adapted:
    """Take an object as distributions, or refuse it."""
    if isinstance(of, Adapted):
        return of
    for name in ("cdf", "logpdf"):
        if isinstance(of, type) or not _method(of, name):
            also = " (an object of the class, with parameters, not the class itself)" if isinstance(of, type) else ""
            raise InputError(
                f"family: expected a name or an object with cdf, ppf and logpdf, got {type(of).__name__} without"
                f" {name}{also}."
            )
    shape = getattr(of, "batch_shape", None)
    shape = np.shape(_called(_method(of, "cdf"), of, np.ones(()))) if shape is None else tuple(shape)
    if len(shape) != 1:
        raise InputError(f"family: expected an object of distributions of shape (n,), one a row, got shape {shape}.")
    return Adapted(of, shape[0], _discrete(of))


def _discrete(of: Any) -> bool:
    """Say whether an object's distributions are of whole numbers alone."""
    support = getattr(of, "support", None)
    told = getattr(of, "is_discrete", getattr(support, "is_discrete", None))
    if isinstance(told, bool):
        return told
    kinds = {each.__name__ for each in type(of).__mro__}
    return "DiscreteDistribution" in kinds or ("ContinuousDistribution" not in kinds and hasattr(of, "logpmf"))


def _method(of: Any, name: str) -> Any:
    return next((found for each in _NAMES[name] if callable(found := getattr(of, each, None))), None)


def _called(method: Any, of: Any, x: Floats) -> Floats:
    """Call with the numbers as the object's package has them, and give what comes back to NumPy."""
    given: Any = x
    if library(of) == "torch":
        given = sys.modules["torch"].tensor(x)
    with np.errstate(all="ignore"):
        return np.asarray(as_array(method(given)), dtype=np.float64)
