"""Predictive distributions of families, and of objects of other packages: whatever has cdf, ppf and logpdf.

Distributions whose normal scores were moved by a map: what a remedy makes of those of families and objects.
"""

from __future__ import annotations

import sys
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..._lib.arrays import as_array, at_hand, library, numbers
from ..._lib.errors import InputError
from ..._lib.typing import Bools, Floats, Ints
from ...statistics.normal_scores import cell_moments, information_between, normal_scores, probability_between
from .arrays import closed, refuse_rows, vector
from .families import law_of
from .partitions import beyond_merged
from .predictive import Information, Limits, Predictive

_COUNTS, _FINE = 2000, np.arange(-6, 6.01, 0.02)
"""Of more likely counts those at these normal scores bound the cells: they are as good as a density."""

_NEGLIGIBLE = 1e-9
"""Counts in tails of this probability are not told apart."""

_TOGETHER = 256
"""Distributions whose counts are walked through together."""

_MANY, _STEPS = 2_048, 1_024
"""Where there are more different distributions of counts, their information is computed for parameters rounded to so
many steps between powers of two, which changes it by some 1e-4."""


_NAMES = {
    "cdf": ("cdf",),
    "sf": ("sf", "ccdf"),
    "ppf": ("ppf", "icdf"),
    "logpdf": ("logpmf", "logpdf", "log_prob", "log_pdf"),
}
"""What the functions of a law are called in SciPy's two interfaces, PyTorch, NumPyro, NGBoost and skpro."""

_HALVINGS = 200
"""After so many halvings an interval is one number, whatever it was."""


class Distribution(Predictive):
    """Distributions of a family, or of an object of another package, one a row.

    Parameters
    ----------
    family : str or object
        "normal" (mean, sd), "t" (df, location, scale), "lognormal" (log_mean,
        log_sd), "gamma" (shape, scale; shape, rate; or mean, sd), "poisson"
        (mean), "negative-binomial" (mean, size; or size, probability) or
        "coupled-gaussian" (mean, scale, coupling). Or an object with cdf, ppf
        and logpdf: frozen distributions of SciPy with parameters of shape (n,),
        of PyTorch, NumPyro, NGBoost.
    **parameters : array_like of shape (n,), or a number
        By the names above. ``zero`` is the probability of an atom at 0 beside
        the family.

    Raises
    ------
    InputError
        If a family or parameter is unknown, a parameter is out of range, or
        shapes differ.

    Notes
    -----
    The coupled Gaussian [RP] is Student's t of 1/coupling degrees of freedom
    where the coupling is above 0.

    Examples
    --------
    >>> import unperplexed as up
    >>> forecast = up.Distribution("normal", mean=[20.0, 24.0], sd=[1.5, 3.0])
    >>> forecast
    <Distribution: 2 forecasts by normal distributions>
    >>> forecast.cdf([20.0, 27.0]).round(3)
    array([0.5  , 0.841])
    """

    family: str | None
    """Name of the family; None for an object."""
    parameters: MappingProxyType[str, Floats]
    """Parameters as given, each of shape (n,)."""
    _law: Any
    _rounded: bool
    """Whether information is computed for rounded parameters however few distributions there are."""

    def __init__(self, family: Any, **parameters: Any) -> None:
        named = isinstance(family, str)
        if parameters and not named:
            raise InputError(f"{next(iter(parameters))}: parameters belong to families by name, not to objects.")
        given = _same_length(parameters) if named else {}
        law = law_of(family, given) if named else adapted(family)
        self._set(family=family if named else None, parameters=MappingProxyType(given), _law=law, _rounded=False)

    def __len__(self) -> int:
        """Count the forecasts."""
        return len(self._law)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the forecasts were made from, as functions of a family are not."""
        return partial(Distribution, self.family or self._law, **self.parameters), ()

    @property
    def form(self) -> str:
        """What the distributions are known by."""
        atom = " with an atom at 0" if self.has_atom else ""
        return f"{self.family or ('count' if self.discrete else 'continuous')} distributions{atom}"

    @property
    def discrete(self) -> bool:
        """Whether only whole numbers are possible."""
        return bool(self._law.discrete)

    @property
    def has_atom(self) -> bool:
        """Whether 0 has a probability of its own."""
        return bool(self._law.has_atom)

    @property
    def canonical(self) -> tuple[Floats, ...]:
        """Parameters in which the family's functions are written; without the atom's."""
        known: tuple[Floats, ...] = self._law.parameters
        return known[:-1] if "zero" in self.parameters else known

    def cdf(self, x: Any) -> Floats:
        """Return the probability up to x, which broadcasts against shape (n,)."""
        return np.asarray(self._law.cdf(np.asarray(x, dtype=np.float64)))

    def sf(self, x: Any) -> Floats:
        """Return the probability of more than x, exact in the upper tail."""
        return np.asarray(self._law.sf(np.asarray(x, dtype=np.float64)))

    def ppf(self, q: Any) -> Floats:
        """Return quantiles at probabilities q, which broadcast against shape (n,)."""
        return np.asarray(self._law.ppf(np.asarray(q, dtype=np.float64)))

    def logpdf(self, x: Any) -> Floats:
        """Return the log density at x; the log probability of counts, and of an atom."""
        return np.asarray(self._law.logpdf(np.asarray(x, dtype=np.float64)))

    def subset(self, rows: Bools | Ints | slice) -> Distribution:
        """Return some of the forecasts."""
        parameters = MappingProxyType({name: each[rows] for name, each in self.parameters.items()})
        return self._with(parameters=parameters, _law=self._law.subset(rows))

    def row_by_row(self) -> Distribution:
        """Return the same forecasts, of which each tells as much as it does among any others."""
        return self._with(_rounded=True)

    def quantile(self, shares: Any) -> Floats:
        """Return quantiles at shares of shape (k,), as an array of shape (n, k)."""
        each = [np.broadcast_to(self.ppf(share), len(self)) for share in np.asarray(shares, dtype=np.float64)]
        return np.stack(each, axis=1)

    def _possible(self, y: Floats) -> Bools:
        return np.asarray(self.logpdf(y) > -np.inf)

    def outcomes(self, y: Any, *, missing: bool = False) -> Floats:
        """Read and check the outcomes of the forecasts: of those of counts, whole numbers."""
        values = super().outcomes(y, missing=missing)
        if self.discrete:
            remedy = "Counts are whole numbers; give a family of densities for other outcomes."
            refuse_rows(values > np.floor(values), "y_true", f"no count, though the forecasts are {self.form},", remedy)
        return values

    def scores_at(self, y: Floats) -> tuple[Floats, Floats]:
        """Return normal scores of F(y-) and F(y)."""
        high = normal_scores(self.cdf(y), self.sf(y))
        if self.discrete:
            return normal_scores(self.cdf(y - 1), self.sf(y - 1)), high
        if self.has_atom:
            return np.where(y == 0, normal_scores(*self._law.below_zero()), high), high
        return high, high

    def _information(self, low: Floats, high: Floats, limits: Limits | None) -> Information:
        n = len(self)
        if self.discrete:
            return _of_counts(self._law, n, limits, self._rounded)
        merged = []
        if self.has_atom:
            atom = self.scores_at(np.zeros(n))
            merged.append(atom if limits is None else _without(atom, limits))
        if limits is not None:
            merged += [(np.full(n, -np.inf), limits[0]), (limits[1], np.full(n, np.inf))]
        if not merged:
            return np.eye(4)[None], np.zeros(n, dtype=np.int64)
        return np.eye(4) - sum(_lost(*each) for each in merged), np.arange(n)


def _same_length(parameters: dict[str, Any]) -> dict[str, Floats]:
    """Read parameters, numbers as those of all rows."""
    if not parameters:
        raise InputError("Distribution: no parameters; for example Distribution('normal', mean=mean, sd=sd).")
    arrays = {name: numbers(as_array(at_hand(each)), name) for name, each in parameters.items()}
    lengths = {name: each.size for name, each in arrays.items() if each.ndim}
    if not lengths:
        raise InputError("Distribution: all parameters are single numbers; give one of them as an array of shape (n,).")
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise InputError(f"Distribution: parameters of different lengths, {each}.")
    n = next(iter(lengths.values()))
    full = {name: each if each.ndim else np.full(n, each) for name, each in arrays.items()}
    return {name: closed(vector(each, name, "number", n)) for name, each in full.items()}


def _without(cell: tuple[Floats, Floats], limits: Limits) -> tuple[Floats, Floats]:
    """Leave of a cell what is between the limits."""
    low, high = np.maximum(cell[0], limits[0]), np.minimum(cell[1], limits[1])
    return low, np.maximum(low, high)


def _lost(low: Floats, high: Floats) -> Floats:
    """Return the information that is lost where all outcomes between two normal scores are one."""
    cells, back = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    return (probability_between(*cells.T)[:, None, None] * cell_moments(*cells.T).covariance)[back.ravel()]


def _rounded(x: Floats) -> Floats:
    """Round numbers; probabilities near 1 by what is left."""
    if (near := (x > 0.5) & (x < 1)).any():
        return np.where(near, 1 - _rounded(1 - np.where(near, x, 1)), _rounded(np.where(near, 0, x)))
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * _STEPS) / _STEPS, exponent)


def _different(law: Any, n: int, limits: Limits | None) -> tuple[Floats, Ints, Ints]:
    keys = np.stack([*law.parameters, *(limits or ())], axis=1) if law.parameters else np.arange(n)[:, None]
    return np.unique(keys, axis=0, return_index=True, return_inverse=True)


def _of_counts(law: Any, n: int, limits: Limits | None, rounded: bool) -> Information:
    """Return the information of counts, computed once for rows of the same parameters and limits."""
    unique, first, back = _different(law, n, limits)
    if law.parameters and (rounded or len(unique) > _MANY):
        law = law.having(*(_rounded(each) for each in law.parameters))
        unique, first, back = _different(law, n, limits)
    information = np.empty((len(first), 4, 4))
    part = law.subset(first)
    start, stop = np.floor(part.ppf(_NEGLIGIBLE)), np.ceil(part.ppf(1 - _NEGLIGIBLE))
    ends = None if limits is None else tuple(each[first] for each in limits)
    order = np.argsort(stop - start)
    for at in range(0, len(order), _TOGETHER):
        rows = order[at : at + _TOGETHER]
        some, widest = part.subset(rows), float((stop - start)[rows].max())
        counts = start[rows] + np.arange(int(widest))[:, None] if widest <= _COUNTS else some.ppf(ndtr(_FINE)[:, None])
        inner = np.where(counts < stop[rows], normal_scores(some.cdf(counts), some.sf(counts)), np.inf)
        edges = np.concatenate([np.full((1, len(rows)), -np.inf), inner, np.full((1, len(rows)), np.inf)]).T
        if ends is not None:
            edges = beyond_merged(edges, ends[0][rows, None], ends[1][rows, None])
        information[rows] = information_between(edges)
    return information, back.ravel()


class Adapted:
    """Distributions of an object, one a row."""

    parameters: tuple[Floats, ...] = ()
    has_atom = False

    def __init__(self, of: Any, n: int, discrete: bool, rows: Ints | None = None) -> None:
        """Take the object, its number of rows, and the rows that are meant."""
        self._of, self._n, self.discrete, self._whole = of, n, discrete, rows is None
        self._rows = np.arange(n) if rows is None else rows

    def __len__(self) -> int:
        """Count the rows that are meant."""
        return len(self._rows)

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
        return Adapted(self._of, self._n, self.discrete, self._rows[rows])

    def _call(self, name: str, x: Any) -> Floats:
        """Call a function of the object at numbers for the rows that are meant, which broadcast against them."""
        x, rows = np.asarray(x, dtype=np.float64), self._rows
        wanted = np.broadcast_to(x, np.broadcast_shapes(x.shape, rows.shape)).reshape(-1, len(rows))
        found = np.stack([self._at(name, each, rows) for each in wanted])
        return found.reshape(*x.shape[:-1], len(rows)) if x.ndim > 1 else found[0]

    def _at(self, name: str, x: Floats, rows: Ints) -> Floats:
        """Call at one number a row; each object has all of its rows, of which some may be meant several times."""
        method = _method(self._of, name)
        if self._whole:
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
            expected = "a name or an object with cdf, ppf and logpdf"
            raise InputError(f"family: expected {expected}, got {type(of).__name__} without {name}{also}.")
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


class Mended(Adapted):
    """Distributions and the maps of their normal scores, one a row."""

    def __init__(self, of: Distribution, curve: Any) -> None:
        """Take both; the maps have scores, inverse, gains and subset, as `PitCurve` has."""
        super().__init__(of, len(of), of.discrete)
        self._curve, self.has_atom = curve, of.has_atom

    def cdf(self, x: Any) -> Floats:
        """Return the probability up to x."""
        return np.asarray(ndtr(self._mended(x)))

    def sf(self, x: Any) -> Floats:
        """Return the probability of more than x, exact in the upper tail."""
        return np.asarray(ndtr(-self._mended(x)))

    def ppf(self, q: Any) -> Floats:
        """Return quantiles."""
        return np.asarray(self._of.ppf(ndtr(self._curve.inverse(ndtri(q)))))

    def logpdf(self, x: Any) -> Floats:
        """Return the log density; the log probability of counts, and of an atom."""
        before = self._of.logpdf(x)
        return np.asarray(before + np.where(np.isfinite(before), self._curve.gains(*self._of.scores_at(x)), 0.0))

    def subset(self, rows: Bools | Ints) -> Mended:
        """Return some of the rows."""
        return Mended(self._of.subset(rows), self._curve.subset(rows))

    def _mended(self, x: Any) -> Floats:
        return np.asarray(self._curve.scores(normal_scores(self._of.cdf(x), self._of.sf(x))))

    def below_zero(self) -> tuple[Floats, Floats]:
        """Return the probability of less than 0, and its complement."""
        mended = self._curve.scores(self._of.scores_at(np.zeros(len(self)))[0])
        return ndtr(mended), ndtr(-mended)
