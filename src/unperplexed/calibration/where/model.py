"""The error that all rows share, and the groups named so far: log-odds from which further groups are to differ."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._lib.dataclasses import dataclass, replace
from ..._lib.elementary import expit
from ..._lib.typing import Bools, Floats, Ints
from ...maps.cells import Counts, Directions, fitted_cells
from ...maps.fit import Fit, Prior
from ...statistics.products import product
from ..diagnosis.gate import columns, orthonormal

_WIDTH = math.sqrt(10)
"""Standard deviation of the prior of a group's bias or slope."""

_INFORMATION_EACH, _CLUSTERS_EACH = 10, 10
"""Information, and clusters, that each function of the common curve needs."""


class SearchedRows(NamedTuple):
    """Rows of one event, such as a class."""

    s: Floats
    """Finite log-odds of the event."""
    y: Floats
    """1 where it occurred."""
    w: Floats
    """Weights, scaled so that their sum is the number of rows of equal weight that tell as much."""
    cluster: Ints | None = None
    """Number of each row's cluster, from 0."""
    weighted: bool = False

    def at(self, rows: Ints | Bools) -> SearchedRows:
        """Select rows."""
        cluster = None if self.cluster is None else np.unique(self.cluster[rows], return_inverse=True)[1]
        return SearchedRows(self.s[rows], self.y[rows], self.w[rows], cluster, self.weighted)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters."""
        return None if self.cluster is None else int(self.cluster.max()) + 1

    def log_loss(self, t: Floats) -> float:
        """Return the weighted log loss of log-odds, in nats of all rows."""
        return float(product(self.w, np.logaddexp(0, t) - self.y * t))


@dataclass(frozen=True, eq=False)
class Model:
    """Logistic regression on a curve that all rows share, without a prior, and on groups, with one."""

    rows: SearchedRows
    basis: Floats
    """Functions of the log-odds, one a row, and then biases and slopes of groups."""
    common: int
    """How many are of the curve."""

    @classmethod
    def of(cls, rows: SearchedRows) -> Model:
        """Begin with the curve that all rows share."""
        curve = common_curve(rows)
        return cls(rows, curve, len(curve))

    def with_group(self, inside: Bools, slope: bool) -> Model:
        """Add a group's bias, or its bias and its slope."""
        return replace(self, basis=np.vstack([self.basis, *group_directions(inside, slope, self.rows.s)]))

    def with_other(self, at: int, inside: Bools) -> Model:
        """Replace the rows of a bias."""
        basis = self.basis.copy()
        basis[at] = inside
        return replace(self, basis=basis)

    @cached_property
    def fit(self) -> Fit:
        """The maximum of the penalized likelihood."""
        return _fitted(self.rows, self.basis, self.common)

    @cached_property
    def log_odds(self) -> Floats:
        """Calibrated log-odds."""
        return np.asarray(self.rows.s + product(self.fit.theta, self.basis))

    @cached_property
    def loss(self) -> float:
        """Minus the log-likelihood, with the prior's penalty, in nats."""
        return self.fit.penalty - self.fit.value

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the coefficients; with weights that of independent rows, whatever they weigh."""
        found = self.fit.at_maximum.covariance
        if not self.rows.weighted:
            return found
        p = expit(self.log_odds)
        return np.asarray(found @ product(self.basis * (self.rows.w**2 * p * (1 - p)), self.basis.T) @ found)


def group_directions(inside: Bools, slope: bool, s: Floats) -> list[Floats]:
    """Return what a group's bias, and its slope, multiply: the latter turns about the group's mean log-odds."""
    rows = inside.astype(np.float64)
    return [rows, rows * (s - s[inside].mean())] if slope else [rows]


def common_curve(rows: SearchedRows) -> Floats:
    """Return functions of the log-odds, orthonormal under their information: as many as rows and clusters bear."""
    values, entry = np.unique(rows.s, return_inverse=True)
    v = np.bincount(entry, rows.w) * expit(values) * expit(-values)
    found = orthonormal(columns(values, v), v)
    found = found[found.any(axis=1)]
    most = int(v.sum() / _INFORMATION_EACH)
    if rows.cluster is not None:
        most = min(most, int(rows.cluster.max()) // _CLUSTERS_EACH)
    return np.asarray(found[: max(2, most), entry])


def raw_error(rows: SearchedRows) -> float:
    """Return what a bias and a slope of these rows alone would gain, in nats a row."""
    fit = _fitted(rows, np.stack([np.ones_like(rows.s), rows.s]), 0)
    return (rows.log_loss(rows.s) + fit.value - fit.penalty) / len(rows.s)


def _fitted(rows: SearchedRows, basis: Floats, common: int) -> Fit:
    names = [str(at) for at in range(len(basis))]
    sd = {name: math.inf if at < common else _WIDTH for at, name in enumerate(names)}
    return fitted_cells(Directions(Counts(rows.s, rows.w, rows.w * rows.y), names, directions=basis), Prior(sd))
