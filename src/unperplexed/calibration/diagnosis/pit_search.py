"""The search for the errors of predictive distributions: which set of them explains the outcomes best for its cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Legendre
from scipy.special import ndtr

from ..._lib.dataclasses import dataclass, field, replace
from ..._lib.typing import Floats
from ...maps.fit import fitted
from ...maps.pit import PRIOR, PitGains, PitMap
from ...statistics.definite import definite
from ...statistics.intervals import UncertainMean
from ...statistics.products import product
from ...statistics.tails import chi2_sf
from .choice import LEAST, Candidate, Errors, cost, sets_of, unit_cost
from .kinds import KINDS
from .pit_scored import PitScored
from .row_groups import RowGroups

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


@dataclass(frozen=True, eq=False)
class PitSearch:
    """Fits sets of errors. Log-likelihood ratios are divided by a design effect, the same for all."""

    rows: PitScored
    effect: float
    """Design effect of the gate."""
    groups: RowGroups | None = None
    most: int = MOST_ERRORS
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
            fit = fitted(of, PRIOR, start)
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
        values, variances = self.found[errors].fit.theta.tolist(), np.diag(self.sampled(errors).covariance)
        degrees = math.inf
        if self.groups is not None:
            degrees = self.groups.degrees - 1
            few = degrees + 1 - len(errors)
            variances = variances * ((degrees + 1) / few if few > 0 else math.inf)
        of = dict(zip(errors, variances.tolist(), strict=True))
        missing = 0.0 if self.groups is None else of.get("bias", 0.0) / 2 + of.get("spread", 0.0)
        known = bool((variances < WIDEST**2).all())
        return {
            name: UncertainMean(
                value + missing * (name == "spread"), math.sqrt(of[name]) if known else math.nan, degrees, degrees + 1
            )
            for name, value in zip(errors, values, strict=True)
        }

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
        fit = fitted(of, PRIOR, theta) if refit else None
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
