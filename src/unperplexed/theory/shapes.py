"""Locations and shape matrices of classes, estimated from their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from .distributions.multivariate import MultivariateCoupledGaussian

_SINGULAR = 1e-10
"""Smallest eigenvalue of a correlation matrix that counts as positive: a column held in float32 that is the sum of
others leaves about 1e-14."""


@dataclass(frozen=True)
class FeatureRows:
    """Features, class numbers and positive weights."""

    x: Floats
    codes: Ints
    weights: Floats

    def of(self, which: Any) -> FeatureRows:
        """Some of the rows."""
        return FeatureRows(self.x[which], self.codes[which], self.weights[which])


@dataclass(frozen=True)
class ShapeEstimator:
    """How the locations and shape matrices of classes follow from their rows."""

    labels: list[Any]
    likelihood: bool
    pooled: bool
    shrinkage: float | str | None
    least_variances: Floats

    def estimate(self, rows: FeatureRows, coupling: float) -> tuple[Floats, Floats]:
        """Location of each class, and a shape matrix for each, or one for all if pooled.

        The coupling matters to the likelihood alone.
        """
        classes = [rows.of(rows.codes == k) for k in range(len(self.labels))]
        for label, members in zip(self.labels, classes, strict=True):
            if len(members.x) == 0:
                raise InputError(f"class {label!r}: has no rows.")
        if self.pooled:
            locations = np.array([moments(members)[0] for members in classes])
            deviations = rows.x - locations[rows.codes]
            scatter = scatter_matrix(deviations, rows.weights)
            return locations, self._shape_matrix(scatter, deviations, rows.weights, "the classes pooled")[None]
        each = [self._of_class(f"class {k!r}", m, coupling) for k, m in zip(self.labels, classes, strict=True)]
        return np.array([location for location, _ in each]), np.array([matrix for _, matrix in each])

    def _of_class(self, whose: str, rows: FeatureRows, coupling: float) -> tuple[Floats, Floats]:
        location, scatter = moments(rows)
        if not scatter.any():
            raise InputError(
                f"{whose}: its rows ({len(rows.x)}) are all the same; a shape matrix takes different ones. Set"
                " pooled=True."
            )
        deviations = rows.x - location
        if self.likelihood:
            location, scatter = most_likely(rows, coupling, whose)
        return location, self._shape_matrix(scatter, deviations, rows.weights, whose)

    def _shape_matrix(self, scatter: Floats, deviations: Floats, weights: Floats, whose: str) -> Floats:
        """A positive definite matrix, or an InputError that says whose it would have been and what helps."""
        variances = np.maximum(np.diag(scatter), self.least_variances)
        if not np.isfinite(variances).all():
            raise InputError(
                f"{whose}: the variance of feature {variances.argmax()} overflows. Give X in larger units."
            )
        if not variances.all():
            raise InputError(
                f"{whose}: feature {variances.argmin()} (counted from 0) is constant. Leave it out, or set"
                " variance_floor above 0."
            )
        scales = np.sqrt(variances)
        amount = ledoit_wolf(deviations, weights) if self.shrinkage == "auto" else float(self.shrinkage or 0)
        correlations = (1 - amount) * (scatter / np.outer(scales, scales))
        np.fill_diagonal(correlations, 1.0)
        if not np.linalg.eigvalsh(correlations)[0] > _SINGULAR:
            raise InputError(
                f"{whose}: the shape matrix is singular: {len(deviations)} rows of {len(scales)} features are too few,"
                " or a feature follows from others. Set shrinkage='auto' or above 0 (1 makes the matrix diagonal), or"
                " pooled=True, or leave features out."
            )
        return np.asarray(correlations * np.outer(scales, scales))


def most_likely(rows: FeatureRows, coupling: float, whose: str) -> tuple[Floats, Floats]:
    """Location and shape matrix of greatest likelihood at a coupling."""
    try:
        fit = MultivariateCoupledGaussian.fit(rows.x, sample_weight=rows.weights, fcoupling=coupling)
    except InputError as error:
        raise InputError(
            f"{whose}: the likelihood of its {len(rows.x)} rows of {rows.x.shape[1]} features has no maximum at"
            f" coupling {coupling:g}. Set a smaller coupling, or estimate='moments' and shrinkage='auto', or leave"
            " features out."
        ) from error
    return fit.distribution.loc, fit.distribution.shape_matrix


def ledoit_wolf(deviations: Floats, weights: Floats) -> float:
    """Ledoit and Wolf's amount of shrinkage of the correlations towards 0; weights count as repetitions."""
    n = weights.sum()
    scales = np.sqrt(weights @ deviations**2 / n)
    z = deviations / np.where(scales > 0, scales, 1.0)
    correlations = scatter_matrix(z, weights)
    squares = np.sum(correlations**2)
    off_diagonal = squares - np.sum(np.diag(correlations) ** 2)
    sampling_error = (weights @ np.sum(z**2, axis=1) ** 2 / n - squares) / n
    return float(np.clip(sampling_error / off_diagonal, 0, 1)) if off_diagonal > 0 else 0.0


def moments(rows: FeatureRows) -> tuple[Floats, Floats]:
    """Weighted mean and covariance (divided by the total weight) of the rows."""
    # Counted from the first row on, so that a constant feature has variance 0 to the last bit.
    from_first = rows.x - rows.x[0]
    mean = rows.weights @ from_first / rows.weights.sum()
    return rows.x[0] + mean, scatter_matrix(from_first - mean, rows.weights)


def scatter_matrix(deviations: Floats, weights: Floats) -> Floats:
    """Weighted mean of the outer products of the rows."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused with the feature's number
        return np.asarray((deviations.T * weights) @ deviations / weights.sum())
