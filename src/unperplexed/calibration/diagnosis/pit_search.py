"""The search for the errors of predictive distributions: which set of them explains the outcomes best for its cost.

Rows of predictive distributions as tests and fits read them: scores, weights, and cells of like rows.

The gate of predictive distributions: one test whether they are calibrated, in closed form.

If they are, the covariance of the normal scores' directions is known, whatever is known of each outcome: so the sums of
these, of the first times the predicted level and of the second times the logarithm of the predicted spread are, made
uncorrelated, standard normal up to their skewness, which is known too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Legendre
from scipy.special import ndtr, ndtri, stdtr

from ..._lib.dataclasses import Frozen, field, replace
from ..._lib.typing import Bools, Floats, Ints
from ...forecasts.distributions.pit_rows import PitRows
from ...maps.fit import Prior, fitted
from ...maps.pit import PRIOR, PitCells, PitGains, PitMap
from ...statistics.intervals import UncertainMean
from ...statistics.matrices import definite, product
from ...statistics.normal_scores import cell_means, numbered, third_cumulants
from ...statistics.tails import chi2_sf, weighted_chi2_sf
from .choice import LEAST, Candidate, Errors, cost, sets_of, unit_cost
from .class_tails import hall
from .gate import Gate
from .kinds import KINDS
from .row_groups import Groups, RowGroups, Windows, shortest

_FARTHEST = 37.0
"""Normal score beyond which the probability is 0 to the last digit."""

_ROUNDING = 1e-9
"""Standard deviation, relative to the mean's size, that is a rounding error."""

_LEAST_SPREAD = 1e-3
"""Standard deviation of the logarithm of the predicted spread below which nothing follows it."""

_ONE_BY_ONE = 4096
"""So many rows are fitted one by one; more are in cells of like rows."""

_PER_SCORE, _PER_DEVIATION = 32, 4
"""Cells for a unit of the normal score, and for a standard deviation of predicted level or spread."""


class PitScored(Frozen, eq=False):
    """Rows with their scores under calibration."""

    rows: PitRows
    total: Floats
    """Weight of each row, with mean 1; of equal rows that were counted together their sum."""
    squared: Floats
    cubed: Floats
    """Sums of squared weights, and of cubed ones."""
    means: Floats
    """Of shape (4, n): means of the four directions, given what is known of the outcomes."""

    @staticmethod
    def of(rows: PitRows) -> PitScored:
        """Take the scores of rows."""
        count = np.ones(rows.n) if rows.count is None else rows.count
        weight = np.ones(rows.n) if rows.weight is None else rows.weight
        weight = weight * (count.sum() / product(count, weight))
        ends = (np.where(rows.point, np.clip(z, -_FARTHEST, _FARTHEST), z) for z in (rows.low, rows.high))
        rows = replace(rows, **dict(zip(("low", "high"), ends, strict=True)))
        means = (cell_means(rows.low, rows.high) if rows.means is None else rows.means).T
        return PitScored(rows, count * weight, count * weight**2, count * weight**3, means)

    def only(self, here: Bools) -> PitScored:
        """Return some of the rows."""
        by_row = self.total, self.squared, self.cubed, self.means
        return PitScored(self.rows.subset(here), *(each[..., here] for each in by_row))

    @cached_property
    def n(self) -> float:
        """Number of rows."""
        return float(self.total.sum())

    @property
    def design_effect(self) -> float:
        """Factor by which unequal weights inflate the variance."""
        return float(self.squared.sum()) / self.n

    @cached_property
    def factors(self) -> Floats:
        """Of shape (3, n): 1, predicted level and logarithm of the predicted spread, both in standard deviations."""
        return np.stack([np.ones(len(self.total)), *(self._standard(x)[0] for x in self._predicted)])

    @cached_property
    def varying(self) -> tuple[int, ...]:
        """Which of the factors vary, or are 1."""
        return (0, *(at for at, x in enumerate(self._predicted, 1) if self._standard(x)[1]))

    @property
    def _predicted(self) -> tuple[Floats | None, Floats | None]:
        return self.rows.level, self.rows.log_spread

    def _standard(self, x: Floats | None) -> tuple[Floats, float]:
        """Return values in standard deviations from their mean, and this deviation: both 0 where they do not vary."""
        if x is None:
            return np.zeros(len(self.total)), 0.0
        largest = max(float(np.abs(x).max()), 1.0)
        mean = float(product(self.total, x / largest)) / self.n
        apart = x / largest - mean
        deviation = math.sqrt(float(product(self.total, apart**2)) / self.n)
        varies = deviation > _ROUNDING * (1 / largest + abs(mean))
        return apart / deviation if varies else np.zeros(len(x)), deviation * largest * varies

    @cached_property
    def information(self) -> Floats:
        """Of shape (3, 3, 4, 4): covariance of the directions' sums, multiplied by each two of the factors."""
        of, patterns = self.rows.pattern, len(self.rows.information)
        sums = [np.bincount(of, self.squared * a * b, patterns) for a in self.factors for b in self.factors]
        return product(np.array(sums), self.rows.information.reshape(patterns, -1)).reshape(3, 3, 4, 4)

    @cached_property
    def cells(self) -> PitCells:
        """What is fitted: the rows, or cells of like rows where they are many."""
        _, level, log_spread = self.factors
        spread = self._standard(self.rows.log_spread)[1]
        log_spread = log_spread * (spread if spread > _LEAST_SPREAD else 0.0)
        rows = PitCells(self.rows.low, self.rows.high, level, log_spread, self.total)
        if self.at is None:
            return rows
        total = self.in_cells(self.total)
        low, high, level, log_spread = (self.in_cells(self.total * x) / total for x in rows[:4])
        return PitCells(low, high, level, log_spread, total)

    def in_cells(self, x: Floats) -> Floats:
        """Sum over the rows of each cell; an end that is infinite is so in all of them."""
        return x if self.at is None else np.bincount(self.at, x).astype(np.float64)

    @cached_property
    def at(self) -> Ints | None:
        """Cell of each row; None where each is one."""
        if len(self.total) <= _ONE_BY_ONE:
            return None
        rows, point = self.rows, self.rows.point
        low, high = (np.where(point, np.round(_PER_SCORE * z) / _PER_SCORE, z) for z in (rows.low, rows.high))
        return numbered(low, high, *(np.round(_PER_DEVIATION * x) for x in self.factors[1:]))[0]


PARAMETERS = tuple(kind.error for kind in KINDS.values() if kind.distributions)
"""Errors, each of which has a parameter of its own name in the map."""

MOST_ERRORS = 3
"""Errors at most that are named together."""

_DEPENDENT = 4.0
"""With dependent rows the cost of an error is that of so many independent ones for each degree of freedom."""

WIDEST = 3.0
"""Standard error, in spreads or as a logarithm, from which on the outcomes do not bound a size."""

_SHAPES = 6
"""Polynomials by which what the errors leave over is tested."""


class Sampled(NamedTuple):
    """What other samples would show of a map."""

    covariance: Floats
    """Of its parameters."""
    overfit: float
    """Log-likelihood in nats that the fit owes to chance, twice."""


class PitSearch(Frozen, eq=False):
    """Fits sets of errors. Log-likelihood ratios are divided by a design effect, the same for all."""

    rows: PitScored
    effect: float
    """Design effect of the gate."""
    groups: RowGroups | None = None
    most: int = MOST_ERRORS
    prior: Prior = PRIOR
    found: dict[Errors, Candidate[PitMap]] = field(default_factory=dict, init=False)
    """Every set that was fitted."""

    def __post_init__(self) -> None:
        """Fit all sets of a few errors."""
        for errors in sets_of(self.names, self.most):
            if errors:
                self.fit(errors)

    @cached_property
    def names(self) -> list[str]:
        """Errors that these forecasts may have."""
        cells = self.rows.cells
        constant = {"level": not cells.level.any(), "follow": not cells.log_spread.any()}
        return [name for name in PARAMETERS if not constant.get(name)]

    @cached_property
    def _unit(self) -> float:
        """Cost of a plain error."""
        n = self.rows.n / self.rows.design_effect if self.groups is None else _DEPENDENT * self.groups.degrees
        return unit_cost(n / 2)

    def fit(self, errors: Errors) -> Candidate[PitMap]:
        """Fit a set, from the best one that has an error less."""
        if errors not in self.found:
            of, start = PitGains(self.rows.cells, errors), np.zeros(len(errors))
            fewer = [x for x in self.found if len(x) == len(errors) - 1 and {*x} < {*errors}]
            if fewer:
                known = self.found[max(fewer, key=lambda x: self.found[x].ratio)].mapping.coefficients
                start = np.array([known.get(name, 0.0) for name in errors])
            fit = fitted(of, self.prior, start)
            ratio = max(0.0, 2 * (fit.value - fit.penalty) / self.effect)
            costs = sum(cost(name, self._unit) for name in errors)
            self.found[errors] = Candidate(errors, fit, of.map_of(fit.theta), ratio, 0.0, costs, len(errors))
        return self.found[errors]

    def best(self) -> Errors:
        """Return the set worth most; where none pays for itself, the best single error if it is significant."""
        best = max(self.found, key=lambda errors: self.found[errors].worth)
        if self.found[best].worth > 0:
            return best
        best = max(((name,) for name in self.names), key=lambda errors: self.found[errors].ratio)
        return best if self.found[best].ratio > LEAST else ()

    def joined(self, *some: Errors) -> Errors:
        """Return the errors of several sets as one, fitted with all that are part of it."""
        whole = tuple(name for name in self.names if any(name in errors for errors in some))
        for size in range(1, len(whole) + 1):
            for errors in itertools.combinations(whole, size):
                self.found[errors] = replace(self.fit(errors), parameters=self.sampled(errors).overfit / self.effect)
        return whole

    def sampled(self, errors: Errors) -> Sampled:
        """Return covariance and overfit of a set: with dependent rows by the sandwich."""
        fit, of = self.found[errors].fit, PitGains(self.rows.cells, errors)
        back = np.linalg.inv(np.linalg.cholesky(definite(of.curvature(fit.theta) + np.diag(fit.precision))))
        of_weights = self.rows.design_effect
        if self.groups is None:
            return Sampled(of_weights * back.T @ back, of_weights * len(errors))
        pull = fit.precision * fit.theta / self.rows.n
        each = product(back, of.each(fit.theta)[1] - pull[:, None])
        between = self.groups.between(each, self.rows.total, self.rows.squared, self.rows.at)
        values, vectors = np.linalg.eigh(of_weights * np.eye(len(errors)) + between)
        values = np.maximum(values, of_weights)
        return Sampled(back.T @ (vectors * values) @ vectors.T @ back, float(values.sum()))

    def estimates(self, errors: Errors) -> dict[str, UncertainMean]:
        """Return the parameters of a set with their uncertainty; it is not known where the outcomes do not bound them.

        Few groups understate the variance, the more so the more parameters are fitted to them: it counts G / (G - k)
        times, by Student's t. The logarithm of a spread about a fitted middle is too small, by half the variance of the
        middle and its own: so much is added.
        """
        found = dict(zip(errors, self.found[errors].fit.theta.tolist(), strict=True))
        variances = np.diag(self.sampled(errors).covariance)
        degrees = math.inf
        if self.groups is not None:
            degrees = self.groups.degrees - 1
            few = degrees + 1 - len(errors)
            variances = variances * ((degrees + 1) / few if few > 0 else math.inf)
        of, known = dict(zip(errors, variances.tolist(), strict=True)), bool((variances < WIDEST**2).all())
        if "spread" in found and self.groups is not None:
            found["spread"] += of.get("bias", 0.0) / 2 + of["spread"]
        deviations = {name: math.sqrt(of[name]) if known else math.nan for name in errors}
        return {name: UncertainMean(x, deviations[name], degrees, degrees + 1) for name, x in found.items()}

    def rest(self, errors: Errors) -> tuple[float, float]:
        """Test what a set leaves over in the mended distributions: statistic and p-value."""
        fit, cells = self.found[errors].fit, self.rows.cells
        found = self.found[errors].mapping
        ends = (ndtr(found.scores(z, cells.level, cells.log_spread)) for z in (cells.low, cells.high))
        shapes, scores = _shape_means(*ends), PitGains(cells, errors).each(fit.theta)[1]
        weighted = scores * cells.total
        shapes = shapes - product(product(shapes, weighted.T) @ np.linalg.pinv(product(weighted, scores.T)), scores)
        sums, own = product(shapes, cells.total), product(shapes * self.rows.in_cells(self.rows.squared), shapes.T)
        statistic = float(sums @ np.linalg.pinv(own) @ sums) * self.rows.design_effect / self.effect
        return statistic, chi2_sf(_SHAPES, statistic)

    def carried_by(self, rows: Sequence[int]) -> bool:
        """Whether no single error is significant without some rows, each of which is its own cell.

        What they gain under an error that is fitted with them bounds from above what it loses without them.
        """
        left = self.rows.total.copy()
        left[list(rows)] = 0
        return not any(self._significant((name,), left, refit) for refit in (False, True) for name in self.names)

    def _significant(self, errors: Errors, total: Floats, refit: bool) -> bool:
        of = PitGains(self.rows.cells._replace(total=self.rows.in_cells(total)), errors)
        theta = self.found[errors].fit.theta
        fit = fitted(of, self.prior, theta) if refit else None
        value = of.ascent(theta)[0] - self.found[errors].fit.penalty if fit is None else fit.value - fit.penalty
        return 2 * value / self.effect >= LEAST


@cache
def _shapes() -> list[tuple[Legendre, Legendre]]:
    """Legendre polynomials between 0 and 1, with their integrals."""
    shapes = [Legendre.basis(degree, domain=[0, 1]) for degree in range(1, _SHAPES + 1)]
    return [(shape, shape.integ()) for shape in shapes]


def _shape_means(low: Floats, high: Floats) -> Floats:
    """Return the means of the polynomials in cells of probabilities, one a row."""
    point = low == high
    width = np.where(point, 1.0, np.maximum(high - low, 1e-300))
    return np.stack([np.where(point, shape(low), (whole(high) - whole(low)) / width) for shape, whole in _shapes()])


_FACTORS = np.array([0, 0, 0, 0, 1, 2])
"""What the components are multiplied by: 1, the predicted level, the logarithm of the predicted spread."""
_DIRECTIONS = np.array([0, 1, 2, 3, 0, 1])
_WEIGHTS = np.array([1, 1, 0.5, 0.5, 0.5, 0.5])
"""Weights of shift, scale, skew, tail, and of the two that rise with level and spread, in W."""

_GROUPS_EACH = 3
"""There is one component for so many degrees of freedom."""


def pit_gate(rows: PitScored, groups: Groups | None = None) -> Gate:
    """Test whether predictive distributions are calibrated.

    Where windows overlap all rows are tested, and the shortest horizon alone: there evidence is densest (Bonferroni).
    """
    tested = _tested(rows, None if groups is None else RowGroups.of(groups))
    if not isinstance(groups, Windows):
        return tested
    return tested._replace(p_value=min(1.0, 2 * min(tested.p_value, shortest_gate(rows, groups).p_value)))


def shortest_gate(rows: PitScored, windows: Windows) -> Gate:
    """Test the shortest horizon alone, by the times at which forecasts were issued."""
    here, issued = shortest(windows)
    return _tested(rows.only(here), RowGroups.of(issued))


def _tested(rows: PitScored, groups: RowGroups | None) -> Gate:
    known = [k for k, factor in enumerate(_FACTORS) if factor in rows.varying]
    kept = known[: max(1, int(groups.degrees // _GROUPS_EACH))] if groups else known
    factors, directions, weights = _FACTORS[kept], _DIRECTIONS[kept], _WEIGHTS[kept]
    each = rows.factors[factors] * rows.means[directions]
    information = definite(rows.information[factors[:, None], factors, directions[:, None], directions])
    back = np.linalg.inv(np.linalg.cholesky(information))
    z, effect = back @ product(each, rows.total), 1.0
    if groups is None:
        z = hall(z, _skewness(rows, directions, np.diag(information)) * (factors == 0))
    else:
        between = back @ groups.between(each, rows.total, rows.squared) @ back.T
        values, vectors = np.linalg.eigh(np.eye(len(kept)) + between)
        effect = max(1.0, float(values.mean()))
        covariance: Floats = (vectors * np.maximum(values, groups.least)) @ vectors.T
        z = _normal(np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), z)), groups.degrees - 1)
    statistic = float(weights @ z**2)
    p_value = weighted_chi2_sf(statistic, weights)
    return Gate(statistic, p_value, effect * rows.design_effect, rows.n / rows.design_effect, len(kept))


def _skewness(rows: PitScored, directions: Ints, information: Floats) -> Floats:
    """Return the skewness of the sums: of an outcome that is known by its cell, a direction has a smaller one."""
    share = information / rows.squared.sum()
    weights = float(rows.cubed.sum() / rows.squared.sum() ** 1.5)
    return np.asarray(third_cumulants()[directions] * share**1.5 * weights)


def _normal(t: Floats, degrees: float) -> Floats:
    """Return the standard normal values of the same probability as those of Student's t."""
    return np.asarray(-np.sign(t) * ndtri(np.maximum(stdtr(max(degrees, 1.0), -np.abs(t)), 1e-300)))
