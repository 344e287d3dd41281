"""Means of rows that may depend on one another: standard errors, intervals and adjusted p-values; bands, settings."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, check_seed, is_whole
from .._lib.typing import ByValue, Floats, Ints, ReadOnlyArrays
from .matrices import product
from .means import effective_number, t_quantile


class Interval(NamedTuple):
    """Lower and upper limit of a figure, NaN where it has none."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)
"""Of what no interval is known."""


class Metric(NamedTuple):
    """A metric with its standard error and confidence interval; NaN where there is none."""

    value: float = math.nan
    standard_error: float = math.nan
    interval: Interval = UNKNOWN


Metric.__getattr__ = ByValue.__getattr__  # type: ignore[attr-defined]  # other names are told ours


class Band(ReadOnlyArrays):
    """Limits of a curve of measured over reported probability, each point by itself."""

    reported: Floats
    low: Floats
    high: Floats


class Sampling(Frozen):
    """Confidence level and bootstrap settings."""

    confidence: float = 0.95
    resamples: int = 400
    seed: int = 0


def wilson(share: float, rows: float, reach: float) -> Interval:
    """Interval of a share of so many rows that reaches so many standard errors (Wilson 1927)."""
    z2 = reach * reach
    centre = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = math.sqrt(z2 * max(share * (1 - share), 0.0) / rows + (z2 / (2 * rows)) ** 2) / (1 + z2 / rows)
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0))


_FEWEST, _MOST = 40, 20_000
"""Samples: with fewer there is none beyond 95 % limits on either side; more need gigabytes."""


def alpha_of(confidence: float) -> float:
    """Return the probability of an error that a confidence level leaves: .05 for .95, where 1 - .95 is above it."""
    return round(1 - confidence, 12)


def checked_sampling(confidence: float, resamples: int, seed: int) -> Sampling:
    """Refuse a confidence that is none, and numbers of samples and seeds that are no whole numbers."""
    if not isinstance(confidence, float | np.floating) or not 0 < confidence < 1:
        raise InputError(f"confidence: expected a number between 0 and 1, such as 0.95, got {confidence!r}.")
    if not (is_whole(resamples, _FEWEST, _MOST) or is_whole(resamples, 0, 0)):
        raise InputError(f"resamples: expected 0, or a whole number from {_FEWEST} to {_MOST:,}, got {resamples!r}.")
    return Sampling(float(confidence), int(resamples), check_seed(seed))


_ROUNDING, _ROUNDING_32 = 2.0**-48, 2.0**-20
"""Rounding errors of double precision and of single, with room to spare."""

LEAST_WORTH = 2 - _ROUNDING_32
"""Independent units that a standard error takes."""


TIMES_LAG = (4, 2)
"""Stretches that are judged as clusters are so many lags long, as far as there are enough: what remains between
neighbouring ones is a small part of what is within them."""

FEWEST_STRETCHES = 20
"""Fewer clusters tell little of how rows depend on one another."""


class Dependence(Frozen):
    """Which rows may depend on one another: none, those of a cluster, or those up to ``lag`` places apart."""

    clusters: Ints | None = None
    """Number of each row's cluster, from 0; every number occurs."""
    lag: int = 0
    crossed: Ints | None = None
    """Number of each row's cluster the other way, likewise: rows that share either may depend on one another."""
    series: Ints | None = None
    """Series of each row, where only rows of one series are places apart, in their order; None: all rows are of one."""

    def at(self, rows: Ints) -> Dependence:
        """Say it of some rows alone."""
        clusters, crossed = (_renumbered(way, rows) for way in (self.clusters, self.crossed))
        return Dependence(clusters, self.lag, crossed, None if self.series is None else self.series[rows])

    def stretches(self, n_rows: int) -> Ints | None:
        """Cut rows in order into clusters several times as long as the lag; None where these are too few."""
        series = np.zeros(n_rows, np.int64) if self.series is None else self.series
        _, number, sizes = np.unique(series, return_inverse=True, return_counts=True)
        order = np.argsort(number, kind="stable")
        place = np.empty(n_rows, np.int64)
        place[order] = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        for times in TIMES_LAG:
            found, cluster = np.unique(number * n_rows + place // (times * self.lag), return_inverse=True)
            if len(found) >= FEWEST_STRETCHES:
                return np.asarray(cluster)
        return None

    @property
    def two_way(self) -> bool:
        """Whether rows are in clusters in two ways."""
        return self.crossed is not None

    @property
    def _ways(self) -> list[Ints]:
        """Clusters of rows, each way; none where rows are independent or a lag says which are not."""
        return [way for way in (self.clusters, self.crossed) if way is not None]

    @property
    def n_series(self) -> int | None:
        """Number of series; None where all rows are of one."""
        return None if self.series is None else np.unique(self.series).size

    def sizes(self, n_rows: int) -> tuple[int, ...]:
        """How many clusters there are, each way, or rows where there are none."""
        return tuple(int(way.max(initial=-1)) + 1 for way in self._ways) or (n_rows,)

    def independent_units(self, n_rows: int) -> int:
        """How many clusters there are, the fewer of two ways, or rows where there are none."""
        return min(self.sizes(n_rows))

    def independent(self, w: Floats) -> float:
        """Effective number of independent units.

        Kish's size of the clusters' weights, or the rows'; the smaller of two ways. With a lag it is divided by the
        mean of the squares of Bartlett's kernel that a row's neighbours sum to, so that it gives the equivalent degrees
        of freedom of Lazarus, Lewis, Stock and Watson (2018). A row at the end of its series has fewer neighbours.
        """
        ways = [np.bincount(way, w).astype(np.float64) for way in self._ways] or [w]
        squares = 1 + 2 * float(self.bartlett**2 @ self.pairs_apart(w.size)) / max(w.size, 1)
        return min(map(effective_number, ways)) / squares

    @property
    def bartlett(self) -> Floats:
        """Bartlett's kernel of rows 1, 2 ... up to ``lag`` places apart."""
        return 1 - np.arange(1, self.lag + 1) / (self.lag + 1)

    def pairs_apart(self, n_rows: int) -> Ints:
        """Count the pairs of rows of one series that are 1, 2 ... up to ``lag`` places apart."""
        sizes = np.array([n_rows]) if self.series is None else np.unique(self.series, return_counts=True)[1]
        return np.array([np.maximum(sizes - apart, 0).sum() for apart in range(1, self.lag + 1)], dtype=np.int64)


def _renumbered(clusters: Ints | None, rows: Ints) -> Ints | None:
    return None if clusters is None else np.unique(clusters[rows], return_inverse=True)[1]


class UncertainMean(NamedTuple):
    """A mean with its standard error, and what is known of that."""

    mean: float
    standard_error: float
    degrees: float
    """Degrees of freedom: the effective number of independent units minus 1."""
    carried_by: float
    """Effective number of rows or clusters behind the standard error; with few it is uncertain itself."""
    variances: tuple[float, ...] = ()
    """Quadratic forms of the rows of which the variance is the largest."""
    skewness: float = 0.0
    """Skewness of the mean, estimated from independent rows or from clusters; 0 with a lag or two ways."""

    @property
    def judged(self) -> bool:
        """Whether the standard error is known: not where all are the same, nor of fewer than two units."""
        return self.standard_error > 0 and self.degrees >= LEAST_WORTH - 1

    def half_width(self, confidence: float) -> float:
        """Distance from the mean to the ends of its interval, by Student's t; NaN where nothing tells."""
        return self.standard_error * float(t_quantile(confidence, self.degrees)) if self.judged else math.nan

    def interval(self, confidence: float) -> Interval:
        """Limits at that distance on either side."""
        half = self.half_width(confidence)
        return Interval(self.mean - half, self.mean + half)

    def p_value(self) -> float:
        """Probability, were the mean 0, of one at least as far from it; NaN where nothing tells."""
        from scipy.special import stdtr

        return 2 * float(stdtr(self.degrees, -abs(self.mean) / self.standard_error)) if self.judged else math.nan


def uncertain_mean(x: Floats, w: Floats, dependence: Dependence) -> UncertainMean:
    """Weighted mean of rows of positive weight, and its sandwich standard error.

    For independent rows of equal weight it is that of the t-test. Sums of clusters are such rows. Of clusters in two
    ways it is that of Cameron, Gelbach and Miller (2011), the variance one way plus that the other way minus that of
    rows that share both, but no smaller than either alone. With a lag it is that of the Diebold-Mariano test with the
    factor of Harvey, Leybourne and Newbold (1997): products of rows up to ``lag`` places apart in the same series are
    summed. This can be too small by chance, even negative; it is no smaller than with Bartlett's kernel.
    """
    weight, degrees = float(w.sum()), dependence.independent(w) - 1
    with np.errstate(invalid="ignore"):  # infinity less itself
        mean = float((w * x).sum()) / weight
    if not np.isfinite(x).all():
        return UncertainMean(mean, math.nan, degrees, math.nan)
    rows, least = w / weight * (x - mean), max(_ROUNDING, _ROUNDING_32 * abs(mean))
    if dependence.crossed is None or dependence.clusters is None:
        found = _sandwich(rows, dependence, least)
    else:
        both = np.unique(np.stack([dependence.clusters, dependence.crossed]), axis=1, return_inverse=True)[1].ravel()
        ways = dependence.clusters, dependence.crossed, both
        one, other, shared = (_sandwich(rows, Dependence(way), least) for way in ways)
        (a,), (b,), (c,) = (each.variances for each in (one, other, shared))
        found = _Sandwich((a, b, a + b - c), min(one.carried_by, other.carried_by))
    error = math.sqrt(max(*found.variances, 0.0)) if not math.isnan(found.variances[0]) else math.nan
    return UncertainMean(mean, error, degrees, found.carried_by, found.variances, found.skewness)


class _Sandwich(NamedTuple):
    variances: tuple[float, ...]
    carried_by: float
    skewness: float = 0.0


def _sandwich(rows: Floats, dependence: Dependence, least: float) -> _Sandwich:
    """Variances of a sum of centred rows; below the least size, all units are taken to be the same."""
    n, forms = dependence.independent_units(rows.size), 2 if dependence.lag else 1
    # Sorted, so that the names of clusters change no digit.
    u: Floats = (
        rows if dependence.clusters is None else np.sort(np.bincount(dependence.clusters, rows)).astype(np.float64)
    )
    if np.abs(u).sum() <= least:
        return _Sandwich((0.0 if n > 1 else math.nan,) * forms, math.inf)
    squares = u * u
    total = float(squares.sum())
    fourth = float(product(squares, squares))
    carried_by = total**2 / fourth if fourth else math.inf
    # (n - 1) / n without a lag, and for one unit that of Harvey, Leybourne and Newbold
    factor = 1 - (n + 2 * int(dependence.pairs_apart(n).sum())) / n**2
    if factor <= 0:
        return _Sandwich((math.nan,) * forms, carried_by)
    skewness = 0.0 if dependence.lag else float(((u / math.sqrt(total)) ** 3).sum())
    return _Sandwich(tuple((total + more) / factor for more in _lagged(u, dependence)), carried_by, skewness)


def _lagged(u: Floats, dependence: Dependence) -> tuple[float, ...]:
    """Sum the products of rows some places apart, both ways, and the same with Bartlett's kernel."""
    if not dependence.lag:
        return (0.0,)
    series = dependence.series
    if series is not None:
        order = np.argsort(series, kind="stable")
        u, series = u[order], series[order]
    products = np.zeros(dependence.lag)
    for lag in range(1, min(dependence.lag, u.size - 1) + 1):
        later, earlier = u[lag:], u[:-lag]
        if series is not None:
            later = np.where(series[lag:] == series[:-lag], later, 0.0)
        products[lag - 1] = later @ earlier
    return 2 * float(products.sum()), 2 * float(dependence.bartlett @ products)


def simultaneous(p: Floats, confidence: float) -> tuple[Floats, float]:
    """Return p-values of tests made together, adjusted, and the level at which their intervals hold together.

    By Bonferroni, which takes any dependence: an interval at that level excludes what is tested just where its adjusted
    p-value is below 1 - confidence. Holm's p-values reject a little more, but no intervals that hold together agree
    with them and still end away from 0. Pairs of the same forecasters are correlated; Tukey's range, which knows that,
    would shorten intervals by 2 to 3%. p-values that are NaN were no tests.

    Examples
    --------
    >>> adjusted, level = simultaneous(np.array([0.02, 0.5]), 0.95)
    >>> adjusted.tolist(), round(level, 3)
    ([0.04, 1.0], 0.975)
    """
    tests = max(int(np.count_nonzero(~np.isnan(p))), 1)
    return np.minimum(tests * p, 1.0), 1 - (1 - confidence) / tests


def holm(p: Floats) -> Floats:
    """p-values of tests made together, adjusted so that none true is rejected but by the level (Holm 1979).

    For tests that have no intervals beside them, which `simultaneous` adjusts. Those that are NaN were no tests.
    """
    adjusted = np.full(p.size, np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = (order.size - np.arange(order.size)) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


class UncertainRatio(NamedTuple):
    """A ratio of means, by the means it is made of."""

    top: UncertainMean
    bottom: UncertainMean
    apart: UncertainMean
    """Mean of the rows' differences."""
    equal: bool
    """Whether both are the same in every row."""

    @property
    def ratio(self) -> float:
        """The ratio itself; NaN where the bottom is 0."""
        return self.top.mean / self.bottom.mean if self.bottom.mean > 0 else math.nan

    @property
    def p_value(self) -> float:
        """p-value of the ratio being 1."""
        if self.equal:
            return 1.0
        return self.apart.p_value() if math.isfinite(self.ratio) else math.nan

    def interval(self, confidence: float) -> Interval:
        """Return the interval of Fieller (1954): ratios r for which the paired t-test does not reject that x is r b.

        It contains 1 just where that test of x - b does not reject. It is NaN where the rows say nothing, and where the
        mean of b is not significantly above 0, so that every large ratio is possible.
        """
        ratio, limits = self.ratio, []
        if self.equal:
            return Interval(1.0, 1.0) if ratio == 1 else UNKNOWN
        if not (self.apart.judged and math.isfinite(ratio)):
            return UNKNOWN
        t = float(t_quantile(confidence, self.apart.degrees)) ** 2
        top, bottom = self.top.mean, self.bottom.mean
        # The t-test does not reject where it does not with one of the variances.
        for of_x, of_b, of_both in zip(*(each.variances for each in self[:3]), strict=True):
            together = (of_x + of_b - of_both) / 2
            a, h, c = bottom**2 - t * of_b, top * bottom - t * together, top**2 - t * of_x
            if a <= 0:
                return UNKNOWN
            if (inside := h * h - a * c) >= 0:
                limits += [(h - math.sqrt(inside)) / a, (h + math.sqrt(inside)) / a]
        return Interval(max(min(limits), 0.0), max(limits)) if limits else UNKNOWN


def uncertain_ratio(x: Floats, b: Floats, w: Floats, dependence: Dependence) -> UncertainRatio:
    """Ratio of the weighted mean of x to that of b, which are 0 or more, row by row paired.

    Parameters
    ----------
    x, b : ndarray of shape (n,)
        Values of each row.
    w : ndarray of shape (n,)
        Positive weights.
    dependence : Dependence
        Which rows may depend on one another.
    """
    top, bottom, apart = (uncertain_mean(each, w, dependence) for each in (x, b, x - b))
    return UncertainRatio(top, bottom, apart, not (x - b).any())
