"""Dependence that nobody declared: columns, or the order, of rows that err alike.

Forecasts are first recalibrated, with a bias, a slope and four shapes, so that no error of all forecasts, nor one that
is a function of the probability, looks like dependence. If the outcomes are then independent, the products of the
residuals of two rows have mean 0 and a known variance. For each column they are summed over all pairs of rows that have
the same value: as they are, and times the log-odds, which shows rows whose predictions mirror each other.

Pairs of rows are never formed. If E, V are the sums in a group of residuals and of their variances, the sum over its
pairs is (E^2 - sum of squares) / 2, so that a column takes a few sums over rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from .._lib.arrays import distinct
from .._lib.dataclasses import Frozen
from .._lib.elementary import expit
from .._lib.typing import AnyFloats, Bools, ByValue, Floats, Ints
from ..kernels.curves import isotonic_means
from ..maps.cells import NO_PRIOR, Cells, Counts, fitted_cells
from ..maps.fit import Prior
from ..statistics.matrices import product
from ..statistics.tails import chi2_sf, skewed_sf
from .diagnosis.class_rows import CERTAIN, MOST_SURPRISING
from .diagnosis.gate import CELLS, information_time, orthonormal

LEVEL = 0.01
"""Of all columns, the order among them, together: how often one is flagged though rows are independent."""

SEEN, TAKEN = 1.25, 1.5
"""Design effects from which dependence is said, and from which its clusters give the verdict."""

CORRELATED = 0.05
"""Least correlation with which clusters give the verdict. Biases by group of standard deviation b leave one of about
b^2 / 4 at most, so that this is a b of 0.5: smaller ones are errors to be named, not clusters."""

FEWEST, FEWEST_EFFECTIVE = 10, 6.0
"""Clusters, and clusters of equal size that would tell as much, with fewer of which no covariance is known."""

_LEAST_INFORMATION = 5.0
"""Variance of a group's sum of residuals, in events, below which it is not nearly normal: the group is left out."""

FEWEST_VALUES = 3
"""A column of two values may be a copy of the outcome."""

_IDENTIFIER, _CROSSED = 0.98, 0.7
"""Share of the rows in values of a column, and of crossed columns, above which they tell rows apart, not groups."""

_FEWEST_RUNS = 10
"""Outcomes that change no more often are sorted by outcome: their order says nothing else."""

_FIRST, _LONGER, _FEWEST_BLOCKS = 2, 4, 20
"""Rows of the shortest blocks, the factor between lengths, and the fewest blocks. Blocks that give the verdict are
longer than those found by the same factor, so that what remains between neighbouring blocks is little."""

_NAMED_FIRST = 0.5
"""A column with this part of the design effect of blocks is preferred to them, as it says why rows err alike."""

_REFINEMENTS, _CAPTURED, _LEFT_COARSE = 2, 0.6, 2.5
"""Columns to be crossed at most; the part of the dependence that must remain within the crossed groups; and how
significant, in standard deviations, what they leave to pairs of different ones may be."""

_LEFT = 4.0
"""Standard deviations from which a column shows dependence that the clusters do not hold."""

_FEWEST_IN_ORDER, _BESIDE_TREND = 15, 0.1
"""Values of which fewer may rise or fall by chance, and the part of the dependence that a trend leaves if it explains
it: nothing was left in 3% of 1,000 samples of ten clusters in no order, in 0.4% of fifteen, in none of twenty."""

_SEARCHED, _SAMPLED = 500_000, 64
"""Rows of which more are sampled, and how many are then, times the square root of their number. Dependence that gives
the verdict, of whatever clusters, is then at least 7 standard deviations from independent rows."""

_SHAPES, _FEWEST_EVENTS = (2, 3, 4, 5), 20.0
"""Degrees of the Legendre polynomials, which are fitted if the information of the rows is that of so many events."""

_SAME = 1e-6
"""Standard deviation of log-odds up to which all are the same."""


class Dependence(ByValue):
    """Rows that err alike though nobody declared it: which columns tell them, and whether they give the verdict."""

    columns: tuple[str, ...]
    """Whose values, crossed, are the clusters; empty where blocks of rows in order are."""
    block: int | None
    """Rows of a block, where the order decides."""
    taken: bool
    """Whether the clusters give the verdict; else the dependence is a warning."""
    n_clusters: int
    effective_clusters: float
    """Clusters of equal information that would tell as much."""
    design_effect: float
    """Factor by which the dependence inflates the variance of a sum of residuals, in the direction that shows it."""
    correlation: float
    """Of the residuals of two rows of a cluster; of the order, that of neighbouring rows."""
    also: tuple[str, ...]
    """Other columns that show dependence which the clusters do not hold."""
    looked_at: tuple[str, ...]
    """Columns that were tried."""
    order: bool
    """Whether the order was tried."""
    sampled: float
    """Share of the rows that was searched."""
    n_rows: int
    """Rows of equal weight that would tell as much if they were independent."""


class DifferingGroups(ByValue):
    """Groups that are too few to be clusters, and whose biases differ by more than chance."""

    column: str
    n_groups: int
    p_value: float
    """Adjusted for the columns and events that were searched (Bonferroni)."""


class Sample(NamedTuple):
    """Rows that are a sample: stretches of successive rows, spread over all of them."""

    stretch: Ints
    """Which stretch each row is in; the rows of one are next to each other."""
    share: float
    """Which share of all rows is in the sample."""

    def at(self, some: Ints | Bools | slice) -> Sample:
        """Select rows."""
        return self._replace(stretch=self.stretch[some]) if self.stretch.size else self


ALL_ROWS = Sample(np.zeros(0, dtype=np.int64), 1.0)


def share_searched(rows: int) -> float:
    """Return which share of so many rows is searched."""
    return 1.0 if rows <= _SEARCHED else _SAMPLED / math.sqrt(rows)


def find_dependence(
    happened: np.ndarray,
    log_odds: Floats,
    weight: Floats | None,
    columns: Mapping[str, Ints],
    *,
    order: bool = True,
    sample: Sample = ALL_ROWS,
    events: int = 1,
) -> Dependence | None:
    """Search columns, and the order of the rows, for rows that err alike.

    Parameters
    ----------
    happened : array of shape (n,)
        Whether the event occurred.
    log_odds : array of shape (n,)
        Of the event. Rows that are certain, whether they are right or wrong, stay out.
    weight : array of shape (n,), optional
        Residuals count as often, and their variances as the squares: with exponential weights of rows or of groups, p
        of independent rows is below .05 in 3.4% to 4.0% of 4,800 tests, and below .001 in .04% to .08%.
    columns : mapping of str to array of int, shape (n,)
        Columns by name; equal numbers for equal values, in any order. A missing value is a value.
    order : bool, default True
        Whether rows are in an order that may say something.
    sample : Sample
        How the rows were sampled, where they are not all.
    events : int, default 1
        How many events of these rows are searched, which share the level.

    Returns
    -------
    Dependence or None
        None where no column is flagged, or none that has enough clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.dependence import find_dependence
    >>> rng = np.random.default_rng(0)
    >>> question = np.arange(1000) % 100
    >>> log_odds = rng.normal(size=1000)
    >>> answer = rng.random(100)[question] < 1 / (1 + np.exp(-log_odds))
    >>> found = find_dependence(answer, log_odds, None, {"question": question, "day": np.arange(1000) // 50})
    >>> found.columns, found.taken, found.n_clusters
    (('question',), True, 100)
    """

    def found_in(rows: Ints | slice) -> Dependence | None:
        w = None if weight is None else weight[rows]
        residuals = _residuals(happened[rows], log_odds[rows], w)
        if residuals is None:
            return None
        some = {name: code[rows][residuals.kept] for name, code in columns.items()}
        return _Search(residuals, some, order, sample.at(rows).at(residuals.kept), events).found()

    found = found_in(slice(None))
    expected = _without_few_surprises(happened, log_odds) if found is not None else None
    return None if expected is not None and found_in(expected) is None else found


def differing_groups(
    happened: np.ndarray, log_odds: Floats, weight: Floats | None, columns: Mapping[str, Ints], *, events: int = 1
) -> DifferingGroups | None:
    """Search columns whose groups are too few to be clusters for biases that differ, were the rows independent.

    Beside the map that all rows have in common, the squared sums of the groups' residuals, relative to their variances,
    add up to chi-squared. Parameters are those of `find_dependence`; None where no groups differ. In 25 designs of 300
    and 2,000 rows with five columns, calibrated or with errors that all groups share, groups that do not differ were
    found in 0 to 1.7% of 1,000 samples each.
    """
    residuals = _residuals(happened, log_odds, weight)
    if residuals is None:
        return None
    tested = []
    for name, code in columns.items():
        pairs = _Pairs(_Groups.of(code[residuals.kept], ALL_ROWS), residuals.directions[0])
        if _tells(pairs.groups) and not pairs.enough:
            tested.append((_differ(pairs), pairs.groups.n, name))
    p_value, n, column = min(tested, default=(1.0, 0, ""))
    adjusted = events * len(tested) * p_value
    return DifferingGroups(column, n, adjusted) if tested and adjusted < LEVEL else None


def _differ(pairs: _Pairs) -> float:
    """P-value of the hypothesis that groups have the same bias."""
    sums, v = (pairs.groups.summed(x) for x in (pairs.scores.score, pairs.scores.variance))
    known = v >= _LEAST_INFORMATION
    sums, v = sums[known], v[known]
    between = float((sums**2 / v).sum() - sums.sum() ** 2 / v.sum()) if v.size > 1 else 0.0
    return chi2_sf(max(v.size - 1, 1), between)


def _without_few_surprises(happened: np.ndarray, log_odds: Floats) -> Ints | None:
    """Return the others if few rows are surprising, one of which would look like dependence of its neighbours."""
    surprising = np.where(happened, -log_odds, log_odds) > math.log(max(log_odds.size, 2))
    few = 0 < np.count_nonzero(surprising) <= MOST_SURPRISING
    return np.flatnonzero(~surprising) if few else None


def order_tells(happened: np.ndarray) -> bool:
    """Whether the order of rows may say anything: not where they are sorted by outcome."""
    return 1 + int(np.count_nonzero(np.diff(happened))) > _FEWEST_RUNS


_EXPECTED, _DIFFERENT = 10.0, 0.1
"""Predictions of several rows whose outcomes are expected to differ, and the share of these that do among copies at
most: of healthy forecasts, rounded ones and leaves of trees with biases of their own too, it was 0.18 at least."""


def copied_rows(happened: np.ndarray, log_odds: Floats, truth: Ints, prediction: Ints) -> int:
    """Count rows that have prediction and outcome in common with another; 0 where that is chance.

    Parameters
    ----------
    happened : array of shape (n,)
        Whether an event occurred.
    log_odds : array of shape (n,)
        Of the event.
    truth : array of int, shape (n,)
        Class of each row.
    prediction : array of int, shape (n,)
        Equal numbers for equal predictions.
    """
    number, n = _numbered(prediction) if prediction.size else (prediction, 0)
    residuals = None if n == prediction.size else _residuals(happened, log_odds, None)
    if residuals is None:
        return 0
    truth, number = truth[residuals.kept], number[residuals.kept]
    q = residuals.happened - residuals.directions[0].score
    size, total = (np.bincount(number, x, n) for x in (None, q))
    mean = np.clip(total / np.maximum(size, 1), 0, 1)
    expected = float((1 - mean**size - (1 - mean) ** size)[size > 1].sum())
    order = np.lexsort((truth, number))
    changes = (np.diff(truth[order]) != 0) & (np.diff(number[order]) == 0)
    differ = np.bincount(number[order][1:][changes], minlength=n) > 0
    if expected < _EXPECTED or np.count_nonzero(differ) > _DIFFERENT * expected:
        return 0
    return round(float(size[(size > 1) & ~differ].sum()))


def largest(found: Iterable[Dependence | None]) -> Dependence | None:
    """Return what is used for all of several forecasters: the largest dependence of any, those that are taken first."""
    return max(filter(None, found), key=lambda each: (each.taken, each.design_effect), default=None)


def events_of_classes(truth: Ints, p: AnyFloats) -> tuple[tuple[np.ndarray, Floats], tuple[np.ndarray, Floats]]:
    """Return two events of more than two classes, each as outcomes and log-odds: each is searched, `largest` decides.

    One is that the most probable class is observed. Where rows that share an outcome have different most probable
    classes, they do not share this event, so that it hides the dependence. The other is that a class of the upper half
    is observed: rows with the same outcome share it, and so do most rows of neighbouring classes, where these are in an
    order. Calibrated forecasts of 200 outcomes, each predicted ten times by the posterior of a signal of its own, were
    taken in 0 of 100 samples by the first alone, and in all by both (benchmarks/dependence.py).

    Parameters
    ----------
    truth : array of int, shape (n,)
        Number of the observed class.
    p : array of shape (n, C)
    """
    half, top, others = p.shape[1] // 2, p.argmax(axis=1), p.copy()
    highest = np.arange(top.size), top
    others[highest] = 0
    least, low, high = (np.sum(x, axis=1, dtype=np.float64) for x in (others, p[:, :half], p[:, half:]))
    with np.errstate(divide="ignore"):
        likely, upper = np.log(p[highest].astype(np.float64)) - np.log(least), np.log(high) - np.log(low)
    return (top == truth, likely), (truth >= half, upper)


class _Scores(NamedTuple):
    """What is summed over groups: residuals in one direction, and the moments that independent rows give them."""

    score: Floats
    variance: Floats
    third: Floats
    total: float
    """Sum of the variances."""
    squares: Floats
    """Of the variances."""

    @classmethod
    def of(cls, score: Floats, variance: Floats, third: Floats) -> _Scores:
        return cls(score, variance, third, float(variance.sum()), variance * variance)


class _Residuals(NamedTuple):
    """Rows that are not certain, recalibrated."""

    n: int
    """Rows, those among them that are certain."""
    kept: Ints | slice
    happened: np.ndarray
    directions: Sequence[_Scores]
    """Residuals as they are, and times the standardised log-odds if these differ."""


def _residuals(happened: np.ndarray, log_odds: Floats, weight: Floats | None) -> _Residuals | None:
    """Recalibrate rows; None where all are certain, or nearly so."""
    n = len(log_odds)
    if weight is not None and not np.sum(weight) > 0:
        return None
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64) * (n / np.sum(weight))
    known = (np.abs(log_odds) <= math.log(max(n, 1) / CERTAIN)) & (w > 0)
    if not known.any():
        return None
    kept = slice(None) if known.all() else np.flatnonzero(known)
    s, y, w = log_odds[kept], np.asarray(happened[kept], dtype=np.float64), w[kept]
    cell, counts = _in_cells(s, y, w)
    q = expit(_recalibrated(counts))[cell]
    v = w * w * q * (1 - q)
    if not v.sum() > 0:
        return None
    x = s - np.average(s, weights=v)
    spread = math.sqrt(np.average(x * x, weights=v))
    score, third = w * (y - q), w * v * (1 - 2 * q)
    directions = [_Scores.of(score, v, third)]
    if spread > _SAME:
        x /= spread
        directions.append(_Scores.of(x * score, x * x * v, x * x * x * third))
    return _Residuals(n, kept, y, directions)


def _in_cells(s: Floats, y: Floats, w: Floats) -> tuple[Ints, Counts]:
    """Return the cell of each row, and what is fitted."""
    cell, count = _numbered(np.rint(s * CELLS).astype(np.int64))
    total, positive, moment = (np.bincount(cell, x, count).astype(np.float64) for x in (w, w * y, w * s))
    return cell, Counts(moment / total, total, positive)


def _recalibrated(counts: Counts) -> Floats:
    """Return log-odds after a fit of a bias, a slope and, where rows bear it, four shapes."""
    line = fitted_cells(Cells(counts, ["bias", "slope"]), NO_PRIOR).theta
    t: Floats = counts.s + line[0] + line[1] * counts.s
    v = counts.total * expit(t) * expit(-t)
    if not v.sum() > _FEWEST_EVENTS:
        return t
    place = 2 * information_time(counts.s, v) - 1
    shapes = [legendre.Legendre.basis(degree)(place) for degree in _SHAPES]
    basis = orthonormal(np.stack([np.ones_like(t), counts.s, *shapes]), v)
    basis = basis[basis.any(axis=1)]
    if len(t) <= len(basis):
        return t
    names = [str(at) for at in range(len(basis))]
    fit = fitted_cells(Cells(counts, names, directions=basis), Prior(dict.fromkeys(names, math.inf)))
    return np.asarray(counts.s + fit.theta @ basis)


def _numbered(code: Ints) -> tuple[Ints, int]:
    """Number the distinct values from 0, in their order, and count them."""
    low, high = int(code.min()), int(code.max())
    if high - low > 4 * code.size:  # then it is sooner to sort them
        values, number = np.unique(code, return_inverse=True)
        return number, len(values)
    occurs = np.zeros(high - low + 1, dtype=bool)
    occurs[code - low] = True
    rank = np.cumsum(occurs) - 1
    return rank[code - low], int(rank[-1]) + 1


class _Groups(Frozen, eq=False):
    """Groups of rows, and what pairs of rows in a group have in common.

    Of pairs of rows that are so near as those of a stretch, a sample has its share; of others the square of it.
    """

    number: Ints
    """Group of each row."""
    n: int
    sample: Sample

    @classmethod
    def of(cls, code: Ints, sample: Sample) -> _Groups:
        """Number the groups."""
        return cls(*_numbered(code), sample)

    def crossed(self, other: _Groups) -> _Groups:
        """Put rows together that are so in both."""
        return self.of(self.number * other.n + other.number, self.sample)

    @cached_property
    def _in_stretches(self) -> _Groups:
        """The same groups, taken apart by stretches."""
        return _Groups.of(self.sample.stretch * self.n + self.number, self.sample)

    def summed(self, x: Floats) -> Floats:
        """Sum in each group."""
        return np.bincount(self.number, x, self.n).astype(np.float64)

    def pairs(self, x: Floats) -> float:
        """Sum over pairs of rows of a group of the products."""
        return (_squares(self.summed(x)) - _squares(x)) / 2

    def squares_of_all(self, x: Floats) -> float:
        """Sum of the squares of the sums in groups of all rows, relative to the number of rows: as many as these."""
        squares = _squares(self.summed(x))
        if self.sample.share == 1:
            return squares
        near = _squares(self._in_stretches.summed(x))
        return near + (squares - near) / self.sample.share

    def pairs_of_all(self, x: Floats) -> float:
        """Sum over pairs of rows of a group of all rows, likewise."""
        return (self.squares_of_all(x) - _squares(x)) / 2

    def apart(self, most: float) -> bool:
        """Whether there are more values, relative to the rows, so that they tell rows apart, not groups."""
        rows = self.number.size
        if self.sample.share == 1 or self.n <= most * rows:
            return self.n > most * rows
        near = self._in_stretches.n
        return rows - near + (near - self.n) / self.sample.share < (1 - most) * rows


class _Pairs(Frozen, eq=False):
    """What pairs of rows of a group have in common, in one direction."""

    groups: _Groups
    scores: _Scores

    @cached_property
    def excess(self) -> float:
        """Sum over pairs of the products of their residuals: fitting a level took a degree of freedom from them."""
        groups, scores = self.groups, self.scores
        return groups.pairs_of_all(scores.score) + groups.pairs_of_all(scores.variance) / scores.total

    @property
    def design_effect(self) -> float:
        return 1 + 2 * self.excess / self.scores.total

    @cached_property
    def beside_trend(self) -> float:
        """The design effect that is left if residuals rise or fall along the values, and hardly vary otherwise.

        Then the column follows from the outcome, such as a final score, or tells what forecasts should have known.
        """
        if self.groups.n < _FEWEST_IN_ORDER:
            return self.design_effect
        sums, v = (self.groups.summed(x) for x in (self.scores.score, self.scores.variance))
        v = np.maximum(v, np.finfo(float).tiny)
        trends = (sign * isotonic_means(sign * sums / v, v) for sign in (1, -1))
        removed = _squares(sums) - min(_squares(sums - v * trend) for trend in trends)
        left = self.design_effect - removed / (self.groups.sample.share * self.scores.total)
        return left if left < 1 + _BESIDE_TREND * (self.design_effect - 1) else self.design_effect

    @cached_property
    def p_value(self) -> float:
        """Of independent rows, by the gamma distribution with the first three moments of the sum over those seen."""
        groups, c = self.groups, self.scores.variance
        within = groups.pairs(c)
        if within <= 0:
            return 1.0
        z = (groups.pairs(self.scores.score) + within / self.scores.total) / math.sqrt(within)
        if z <= 0:
            return 1.0
        sums, squares = groups.summed(c), self.scores.squares
        threes = float((sums * (sums * sums - 3 * groups.summed(squares))).sum() + 2 * product(squares, c))
        third = max(threes + groups.pairs(self.scores.third), 0.0)
        return float(skewed_sf(np.array([z]), np.array([third / within**1.5]))[0])

    @property
    def correlation(self) -> float:
        """Mean correlation of the residuals of two rows."""
        pairs = self.groups.pairs_of_all(np.sqrt(self.scores.variance))
        return self.excess / pairs if pairs > 0 else 0.0

    @cached_property
    def effective(self) -> float:
        """Groups of equal information that would tell as much."""
        groups, information = self.groups, self.scores.variance
        total = float(groups.summed(information).sum())
        return total**2 / groups.squares_of_all(information) / groups.sample.share

    @property
    def enough(self) -> bool:
        """Whether the groups are enough to be clusters."""
        return self.groups.n >= FEWEST and self.effective >= FEWEST_EFFECTIVE

    def beyond(self, other: _Groups) -> tuple[float, float]:
        """Return the excess of pairs of the same group, but of different other ones, and in standard deviations.

        Its variance is estimated from the squares of sums over the crossed groups.
        """
        fine = self.groups.crossed(other)
        group = np.zeros(fine.n, dtype=np.int64)
        group[fine.number] = self.groups.number
        coarse = _Groups(group, self.groups.n, ALL_ROWS)
        sums, score = fine.summed(self.scores.score), self.scores.score
        variance = coarse.pairs(sums**2)
        z = coarse.pairs(sums) / math.sqrt(variance) if variance > 0 else 0.0
        return self.groups.pairs_of_all(score) - fine.pairs_of_all(score), z


def _squares(x: Floats) -> float:
    """Sum of squares."""
    return float(product(x, x))


Key = str | int
"""A column, or the length of blocks."""


class _Search:
    """The search of one forecaster's rows."""

    def __init__(
        self, residuals: _Residuals, columns: Mapping[str, Ints], order: bool, sample: Sample, events: int
    ) -> None:
        self.of, self.sample, self.events = residuals, sample, events
        groups: dict[Key, _Groups] = {name: _Groups.of(code, sample) for name, code in columns.items()}
        self.groups = {name: each for name, each in groups.items() if _tells(each)}
        self.named, self.trends = tuple(map(str, self.groups)), set[str]()
        self.order = order and order_tells(residuals.happened)
        if self.order:
            stretches = 1 if sample.share == 1 else len(distinct(sample.stretch))  # no block is longer than one
            fewest = max(_FEWEST_BLOCKS, stretches)
            self.groups |= {rows: self._blocks(rows) for rows in _lengths(residuals.happened.size, fewest)}
        self.tests = {name: self._tests(each) for name, each in self.groups.items()}

    def _tests(self, groups: _Groups) -> tuple[_Pairs, ...]:
        return tuple(_Pairs(groups, scores) for scores in self.of.directions)

    def _blocks(self, rows: int) -> _Groups:
        """Put so many successive rows together, of a sample in each stretch."""
        at = np.arange(self.of.happened.size)
        if self.sample.share < 1:
            starts = np.flatnonzero(np.diff(self.sample.stretch, prepend=-1))
            at -= np.repeat(starts, np.diff(starts, append=at.size))
        number = np.cumsum(at % rows == 0) - 1
        return _Groups(number, int(number[-1]) + 1, self.sample)

    def found(self) -> Dependence | None:
        """Return the clusters."""
        flagged = self._flagged()
        if not flagged:
            return None
        top = _strongest(flagged)
        names: tuple[str, ...] = ()
        if isinstance(top, int):
            pairs = flagged[top]
            correlation = max(each.correlation for each in self.tests[_FIRST])
            block = min(_LONGER * top, max(_FIRST, round(self.of.n / self.sample.share) // _FEWEST_BLOCKS))
            judged = self._blocks(block)
        else:
            names, pairs = self._crossed(top, flagged[top])
            correlation, block, judged = pairs.correlation, None, pairs.groups
        return Dependence(
            columns=names,
            block=block,
            taken=pairs.design_effect >= TAKEN and correlation >= CORRELATED,
            n_clusters=judged.n,
            effective_clusters=self._tests(judged)[0].effective,
            design_effect=pairs.design_effect,
            correlation=correlation,
            also=tuple(
                name
                for name, each in flagged.items()
                if isinstance(name, str) and name not in names and _left(each, pairs.groups)
            ),
            looked_at=self.named,
            order=self.order,
            sampled=self.sample.share,
            n_rows=round(self.of.n / self.sample.share),
        )

    def _flagged(self) -> dict[Key, _Pairs]:
        """Return the columns that are flagged and have enough clusters, each in the direction that shows it better."""
        level = LEVEL / max(2 * self.events * len(self.tests), 1)

        def shown(each: _Pairs) -> bool:
            return each.p_value < level and each.design_effect >= SEEN

        flagged = {}
        for key, tests in self.tests.items():
            seen = [each for each in tests if shown(each)]
            if not seen or not tests[0].enough:
                continue
            if isinstance(key, str) and tests[0] in seen and tests[0].beside_trend < SEEN:
                self.trends.add(key)
            else:
                flagged[key] = max(seen, key=lambda each: each.design_effect)
        return flagged

    def _crossed(self, top: str, flagged: _Pairs) -> tuple[tuple[str, ...], _Pairs]:
        """Cross a column with others, as long as the dependence is within the finer groups."""
        at = next(k for k, each in enumerate(self.tests[top]) if each is flagged)
        names: tuple[str, ...] = (top,)
        pairs = flagged
        for _ in range(_REFINEMENTS):
            finer: dict[str, tuple[_Pairs, ...]] = {}
            for name in (each for each in self.named if each not in names and each not in self.trends):
                tests = self._tests(pairs.groups.crossed(self.groups[name]))
                if self._explains(flagged, pairs, tests[at]):
                    finer[name] = tests
            if not finer:
                break
            # Of columns that give the same clusters the first: sums in another order differ in their last digits.
            best = max(finer, key=lambda name: round(finer[name][0].effective, 6))
            names, pairs = (*names, best), finer[best][at]
        return names, pairs

    def _explains(self, coarsest: _Pairs, coarse: _Pairs, fine: _Pairs) -> bool:
        """Whether crossed groups are finer, and hold what dependence there is within the coarser ones."""
        if fine.groups.n == coarse.groups.n or fine.groups.apart(_CROSSED):
            return False
        return fine.excess >= _CAPTURED * coarsest.excess and coarsest.beyond(fine.groups)[1] < _LEFT_COARSE


def _tells(groups: _Groups) -> bool:
    """Whether a column's values may be groups: it is neither a copy of the outcome nor an identifier."""
    return groups.n >= FEWEST_VALUES and not groups.apart(_IDENTIFIER)


def _strongest(flagged: Mapping[Key, _Pairs]) -> Key:
    """Return the column with the largest design effect, or blocks where none comes near to them."""

    def effect(key: Key) -> float:
        return flagged[key].design_effect if isinstance(key, int) else flagged[key].beside_trend

    top = max(flagged, key=effect)
    if isinstance(top, int):
        named = [key for key in flagged if isinstance(key, str) and effect(key) >= _NAMED_FIRST * effect(top)]
        return max(named, key=effect, default=top)
    return top


def _left(pairs: _Pairs, clusters: _Groups) -> bool:
    """Whether a column shows dependence between rows of different clusters."""
    excess, z = pairs.beyond(clusters)
    return z > _LEFT and 1 + 2 * excess / pairs.scores.total > SEEN


def _lengths(rows: int, fewest: int) -> list[int]:
    """Lengths of blocks of consecutive rows, so that there are so many or more."""
    found = [_FIRST]
    while rows // (found[-1] * _LONGER) >= fewest:
        found.append(found[-1] * _LONGER)
    return found if rows // _FIRST >= fewest else []
