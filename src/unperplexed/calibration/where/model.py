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

    @classmethod
    def of(cls, s: Floats, y: Floats, weight: Floats | None = None, cluster: Ints | None = None) -> SearchedRows:
        """Scale the weights and number the clusters, if there are any."""
        w = np.ones(len(s)) if weight is None else weight * (weight.sum() / float(product(weight, weight)))
        number = None if cluster is None else np.unique(cluster, return_inverse=True)[1]
        return cls(s, y, w, number, weight is not None)

    def at(self, rows: Ints | Bools) -> SearchedRows:
        """Select rows."""
        cluster = None if self.cluster is None else self.cluster[rows]
        return SearchedRows.of(self.s[rows], self.y[rows], self.w[rows] if self.weighted else None, cluster)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters."""
        return None if self.cluster is None else int(self.cluster.max()) + 1

    def fitted(self, basis: Floats, common: int) -> Fit:
        """Fit coefficients of functions, one a row, of which so many have no prior."""
        names = [str(at) for at in range(len(basis))]
        sd = {name: math.inf if at < common else _WIDTH for at, name in enumerate(names)}
        return fitted_cells(Directions(Counts(self.s, self.w, self.w * self.y), names, directions=basis), Prior(sd))

    @property
    def error(self) -> float:
        """What a bias and a slope of these rows alone would gain, in nats a row."""
        fit = self.fitted(np.stack([np.ones_like(self.s), self.s]), 0)
        loss = float(product(self.w, np.logaddexp(0, self.s) - self.y * self.s))
        return (loss + fit.value - fit.penalty) / len(self.s)


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
        """Begin with the curve that all rows share: as many functions of the log-odds as rows and clusters bear."""
        values, entry = np.unique(rows.s, return_inverse=True)
        v = np.bincount(entry, rows.w) * expit(values) * expit(-values)
        found = orthonormal(columns(values, v), v)
        most = int(v.sum() / _INFORMATION_EACH)
        if rows.cluster is not None:
            most = min(most, int(rows.cluster.max()) // _CLUSTERS_EACH)
        curve = found[found.any(axis=1)][: max(2, most), entry]
        return cls(rows, curve, len(curve))

    def with_group(self, inside: Bools, slope: bool) -> Model:
        """Add a group's bias, and its slope, which turns about the group's mean log-odds."""
        group, s = inside.astype(np.float64), self.rows.s
        return replace(self, basis=np.vstack([self.basis, group, *([group * (s - s[inside].mean())] if slope else [])]))

    def with_other(self, at: int, inside: Bools) -> Model:
        """Replace the rows of a bias."""
        basis = self.basis.copy()
        basis[at] = inside
        return replace(self, basis=basis)

    @cached_property
    def fit(self) -> Fit:
        """The maximum of the penalized likelihood."""
        return self.rows.fitted(self.basis, self.common)

    @cached_property
    def log_odds(self) -> Floats:
        """Calibrated log-odds."""
        return np.asarray(self.rows.s + product(self.fit.theta, self.basis))

    @property
    def loss(self) -> float:
        """Minus the log-likelihood, with the prior's penalty, in nats."""
        return self.fit.penalty - self.fit.value

    def information_under(self, weight: Floats) -> Floats:
        """Return the products of the functions under weights of the rows."""
        return product(self.basis * weight, self.basis.T)

    @property
    def errors(self) -> Floats:
        """Standard errors of the coefficients; with weights those of independent rows, whatever they weigh."""
        found = self.fit.at_maximum.covariance
        if self.rows.weighted:
            p = expit(self.log_odds)
            found = found @ self.information_under(self.rows.w**2 * p * (1 - p)) @ found
        return np.sqrt(np.diag(found))
