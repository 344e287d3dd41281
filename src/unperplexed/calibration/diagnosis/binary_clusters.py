"""Dependence between rows of two classes, in the directions of errors: each has a design effect of its own.

Clusters inflate the variance of a bias otherwise than that of a slope. So parameters have the standard errors of the
sandwich J^-1 M J^-1, J being the information and M the covariance of the scores over clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats
from ...maps.directions import columns
from ...maps.two import BinaryMap
from ...statistics.means import t_quantile
from .clusters import (
    ClusterSums,
    cluster_covariance,
    cluster_shares,
    degrees_of_freedom,
)
from .scored import Scored

_RIDGE = 1e-9


@dataclass(frozen=True)
class DependentScores:
    """Scores of some directions, one a row of ``model``, were probabilities those of a map."""

    model: Floats
    """Their covariance, were rows independent."""
    sums: Floats
    own: Floats
    """Sums of products over clusters, one a row, and over single rows."""
    shares: Floats

    @staticmethod
    def of(rows: Scored, clusters: ClusterSums, directions: Floats, q: Floats) -> DependentScores:
        """Take scores in directions, one a row, at probabilities."""
        v = q * (1 - q)
        return DependentScores(
            (directions * (rows.squared * v)) @ directions.T,
            clusters.scores(directions) + clusters.totals(directions * (expit(rows.s) - q)),
            (directions * rows.own_squares(q)) @ directions.T,
            cluster_shares(clusters.totals(v[None])[:, 0]),
        )

    def covariance(self, at: list[int]) -> Floats:
        """Covariance of some of the scores; the variance of single rows is that of the model."""
        model = self.model[np.ix_(at, at)]
        root = np.linalg.cholesky(model + _RIDGE * np.diag(np.diag(model)))
        back = np.linalg.inv(root)
        inner = cluster_covariance(self.sums[:, at] @ back.T, back @ self.own[np.ix_(at, at)] @ back.T, self.shares)
        return np.asarray(root @ inner @ root.T)


def effects_alone(rows: Scored, clusters: ClusterSums) -> tuple[float, float]:
    """By how much dependence inflates the variance of a bias, and of confidence, each fitted alone."""
    directions = columns(("bias", "slope"), rows.s)
    scores = DependentScores.of(rows, clusters, directions, expit(rows.s))
    informed = directions**2 @ (rows.total * rows.variance)
    bias, confidence = (
        max(float(scores.covariance([at])[0, 0] / informed[at]), rows.design_effect) if informed[at] > 0 else 1.0
        for at in (0, 1)
    )
    return bias, confidence


class Uncertain(NamedTuple):
    """How sure a parameter is."""

    standard_error: float
    reach: float
    """Half-width of a 95% interval, in standard errors."""
    freedom: float = math.nan
    """Degrees of freedom, where the standard error is estimated from clusters."""

    def p_value(self, value: float) -> float:
        """Return that of a value of 0; NaN where the standard error is not estimated from clusters."""
        if math.isnan(self.freedom):
            return math.nan
        from scipy.special import stdtr

        return float(2 * stdtr(self.freedom, -abs(value) / self.standard_error))


def uncertain(rows: Scored, clusters: ClusterSums, found: BinaryMap) -> dict[str, Uncertain]:
    """Give standard errors of the coefficients of a map, by a sandwich, and quantiles of Student's distribution."""
    q, t = found.probabilities(rows.s, level=False), found.log_odds(rows.s, level=False)
    v = np.maximum(q * (1 - q), 1e-100)
    directions = columns(found.coefficients, rows.s) * ((1 - found.lapse) * expit(t) * expit(-t) / v)
    scores = DependentScores.of(rows, clusters, directions, q)
    inverse = np.linalg.inv((directions * (rows.total * v)) @ directions.T)
    robust, model = (inverse @ x @ inverse for x in (scores.covariance(list(range(len(directions)))), scores.model))
    errors = {}
    for at, name in enumerate(found.coefficients):
        variance = max(float(robust[at, at]), float(model[at, at]))
        freedom = degrees_of_freedom(scores.shares, variance / float(model[at, at]))
        errors[name] = Uncertain(math.sqrt(variance), float(t_quantile(0.95, freedom)), freedom)
    return errors
