"""Predictive distributions of families, and of objects of other packages.

Distributions whose normal scores were moved by a map: what a remedy makes of those of families and objects.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..._lib.arrays import as_array, at_hand, numbers
from ..._lib.errors import InputError
from ..._lib.typing import Bools, Floats, Ints
from ...statistics.normal_scores import cell_moments, information_between, normal_scores, probability_between
from .arrays import closed, refuse_rows, vector
from .families import law_of
from .objects import Adapted, adapted
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


class Distribution(Predictive):
    """Distributions of a family, or of an object of another package, one a row.

    Parameters
    ----------
    family : str or object
        "normal" (mean, sd), "t" (df, location, scale), "lognormal" (log_mean, log_sd), "gamma" (shape, scale; shape,
        rate; or mean, sd), "poisson" (mean), "negative-binomial" (mean, size; or size, probability) or
        "coupled-gaussian" (mean, scale, coupling). Or an object with cdf, ppf and logpdf: frozen distributions of
        SciPy with parameters of shape (n,), of PyTorch, NumPyro, NGBoost.
    **parameters : array_like of shape (n,), or a number
        By the names above. ``zero`` is the probability of an atom at 0 beside the family.

    Raises
    ------
    InputError
        If a family or parameter is unknown, a parameter is out of range, or shapes differ.

    Notes
    -----
    The coupled Gaussian [RP] is Student's t of 1/coupling degrees of freedom where the coupling is above 0.

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
    _n: int
    _rounded = False
    """Whether information is computed for rounded parameters however few distributions there are."""

    def __init__(self, family: Any, **parameters: Any) -> None:
        if isinstance(family, str):
            given = _same_length(parameters)
            self._set(family=family, parameters=MappingProxyType(given), _law=law_of(family, given))
            self._set(_n=len(next(iter(given.values()))))
        else:
            if parameters:
                raise InputError(f"{next(iter(parameters))}: parameters belong to families by name, not to objects.")
            law = adapted(family)
            self._set(family=None, parameters=MappingProxyType({}), _law=law, _n=len(law))

    def __len__(self) -> int:
        """Count the forecasts."""
        return self._n

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the forecasts were made from, as functions of a family are not."""
        return _made, (self._law if self.family is None else self.family, dict(self.parameters))

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
        return hasattr(self._law, "below_zero")

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

    def subset(self, rows: Bools | Ints) -> Distribution:
        """Return some of the forecasts."""
        part = Distribution.__new__(Distribution)
        law = self._law.subset(rows)
        parameters = MappingProxyType({name: each[rows] for name, each in self.parameters.items()})
        n = len(np.arange(len(self))[rows])
        part._set(family=self.family, parameters=parameters, _law=law, _n=n, _rounded=self._rounded)
        return part

    def row_by_row(self) -> Distribution:
        """Return the same forecasts, of which each tells as much as it does among any others."""
        found = self.subset(np.arange(len(self)))
        found._set(_rounded=True)
        return found

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

    def scores_at(self, y: Any) -> tuple[Floats, Floats]:
        """Return normal scores of F(y-) and F(y), of numbers that broadcast against shape (n,)."""
        return self._scores(np.asarray(y, dtype=np.float64))

    def _scores(self, y: Floats) -> tuple[Floats, Floats]:
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
            atom = self._scores(np.zeros(n))
            merged.append(atom if limits is None else _without(atom, limits))
        if limits is not None:
            merged += [(np.full(n, -np.inf), limits[0]), (limits[1], np.full(n, np.inf))]
        if not merged:
            return np.eye(4)[None], np.zeros(n, dtype=np.int64)
        return np.eye(4) - sum(_lost(*each) for each in merged), np.arange(n)


def _made(family: Any, parameters: dict[str, Floats]) -> Distribution:
    return Distribution(family, **parameters)


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
    return {
        name: closed(vector(each if each.ndim else np.full(n, each), name, "number", n))
        for name, each in arrays.items()
    }


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


class Mended(Adapted):
    """Distributions and the maps of their normal scores, one a row."""

    def __init__(self, of: Distribution, curve: Any) -> None:
        """Take both; the maps have scores, inverse, gains and subset, as `PitCurve` has."""
        super().__init__(of, len(of), of.discrete)
        self._curve = curve

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
        return type(self)(self._of.subset(rows), self._curve.subset(rows))

    def _mended(self, x: Any) -> Floats:
        return np.asarray(self._curve.scores(normal_scores(self._of.cdf(x), self._of.sf(x))))


class MendedWithAtom(Mended):
    """Distributions in which 0 has a probability of its own."""

    def below_zero(self) -> tuple[Floats, Floats]:
        """Return the probability of less than 0, and its complement."""
        mended = self._curve.scores(self._of.scores_at(np.zeros(len(self)))[0])
        return ndtr(mended), ndtr(-mended)


def mended(of: Distribution, curve: Any) -> Distribution:
    """Return distributions whose normal scores are mended by a map."""
    return Distribution((MendedWithAtom if of.has_atom else Mended)(of, curve))
