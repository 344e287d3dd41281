"""Rows of predictive distributions that are searched for groups: the map that all share, shifts and widths beside it.

The score of a bias is the sum of the first direction of normal scores, that of a width the sum of the second less its
regression on the first: outcomes above the median, and outcomes far from it. Rows are mended by the map that all share
and by the shift or width of each group that was named before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ..._lib.dataclasses import dataclass
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from ...forecasts.distributions.pit_rows import PitRows
from ...maps.fit import Fit, fitted
from ...maps.pit import PRIOR, PitCells, PitGains, PitMap
from ...statistics.matrices import Factored, definite, product
from ...statistics.normal_scores import cell_means, numbered
from ..diagnosis.distributions import held_between
from .conditions import Column
from .rules import CLUSTERS_EACH, INFORMATION_EACH, Pair, RuleMoments, Scored, Scores

_COMMON = "bias", "spread", "skew", "tail"
"""Parameters of the map that all rows share, at most; of few rows, clusters or cells the first of them."""

_SHOWN = (0.5, 1.0), (0.1, 0.9)
"""Part of a forecast that shows a bias, and a width: above the median, and the central 80%."""

_ONE_BY_ONE, _PER_SCORE = 4096, 32
"""Rows that are fitted one by one; and cells of a unit of the normal score in which more rows are."""


class SearchedPit(NamedTuple):
    """Where outcomes fell in their predictive distributions."""

    rows: PitRows
    """None of them impossible."""
    w: Floats
    """Weights, scaled so that their sum is the number of rows of equal weight that tell as much."""
    cluster: Ints | None = None
    """Number of each row's cluster, from 0."""

    @classmethod
    def of(cls, rows: PitRows, cluster: Ints | None = None) -> SearchedPit:
        """Scale the weights and number the clusters, if there are any."""
        weight = np.ones(rows.n) if rows.weight is None else rows.weight
        number = None if cluster is None else np.unique(cluster, return_inverse=True)[1]
        return cls(rows, weight * (weight.sum() / float(product(weight, weight))), number)

    def at(self, rows: Ints | Bools) -> SearchedPit:
        """Select rows."""
        return SearchedPit.of(self.rows.subset(rows), None if self.cluster is None else self.cluster[rows])

    @property
    def model(self) -> PitModel:
        """The map that all rows share."""
        return PitModel(self)

    @property
    def error(self) -> float:
        """What a map of these rows alone would gain, in nats a row."""
        return -self.model.loss / len(self.w)

    @property
    def common(self) -> int:
        """How many parameters the map has that all rows share."""
        seen = np.unique(self.rows.pattern[:: max(1, len(self.w) // _ONE_BY_ONE)])
        known = int(np.linalg.matrix_rank(self.rows.information[seen].sum(axis=0), tol=1e-3))
        few = self.w.sum() / INFORMATION_EACH if self.cluster is None else (self.cluster.max() + 1) / CLUSTERS_EACH
        return min(known, max(2, int(min(few, len(_COMMON)))))


@dataclass(frozen=True, eq=False)
class PitModel:
    """The map that all rows share; or beside a model before it a group's shift, or width, with that map once more."""

    rows: SearchedPit
    before: PitModel | None = None
    inside: Floats | float = 0.0
    """1 in the group."""
    slope: bool = False
    """Whether the group differs by its width."""

    @cached_property
    def _given(self) -> PitCells:
        """Normal scores as the model before has mended them."""
        last = self.rows.rows if self.before is None else self.before.mended
        level, log_spread = (self.inside * np.full(len(self.rows.w), each) for each in (not self.slope, self.slope))
        return PitCells(last.low, last.high, level, log_spread, self.rows.w)

    @cached_property
    def _gains(self) -> PitGains:
        of_group = [] if self.before is None else ["follow" if self.slope else "level"]
        return PitGains(_alike(self._given), [*_COMMON[: self.rows.common], *of_group])

    @cached_property
    def _fit(self) -> Fit:
        return fitted(self._gains, PRIOR)

    @property
    def _map(self) -> PitMap:
        return self._gains.map_of(self._fit.theta)

    @property
    def _base(self) -> PitModel:
        return self if self.before is None else self.before._base

    @cached_property
    def mended(self) -> PitCells:
        """Normal scores after the fit."""
        cells = self._given
        low, high = (self._map.scores(z, cells.level, cells.log_spread) for z in (cells.low, cells.high))
        return cells._replace(low=low, high=high)

    @property
    def loss(self) -> float:
        """Minus the log-likelihood, with the prior's penalty, in nats: 0 as forecasts came."""
        return self._fit.penalty - self._fit.value + (0.0 if self.before is None else self.before.loss)

    @property
    def _groups(self) -> list[PitModel]:
        return [] if self.before is None else [*self.before._groups, self]

    def with_group(self, inside: Bools, slope: bool) -> PitModel:
        """Add a group's shift, or its width."""
        return PitModel(self.rows, self, inside.astype(np.float64), slope)

    def with_rows(self, group: int, inside: Bools) -> PitModel:
        """Change the rows of a group."""
        model = self._base
        for at, each in enumerate(self._groups):
            model = PitModel(self.rows, model, inside.astype(np.float64) if at == group else each.inside, each.slope)
        return model

    def scores(self, columns: Sequence[Column]) -> PitScores:
        """Score all rules against it."""
        return PitScores(columns, self)

    def effect(self, group: int) -> tuple[float, float]:
        """Return a group's shift in predicted spreads, or log of its width, with its error as independent rows have it.

        With weights the standard error is that of independent rows, whatever they weigh.
        """
        of, w = self._groups[group], self.rows.w
        fit, inside = of._fit.at_maximum, np.asarray(of.inside)
        wide = 1.0 if of.slope else math.exp(self._base._map.coefficients.get("spread", 0.0))
        weights = float(product(inside, w * w) / product(inside, w))
        return float(fit.theta[-1] * wide), float(np.sqrt(fit.covariance[-1, -1] * weights) * wide)

    def added(self, group: int, share: float) -> tuple[float, float, float]:
        """Return such a share of a group's shift, or of the log of its width."""
        of, effect = self._groups[group], self.effect(group)[0] * share
        return (0.0, effect, 0.0) if of.slope else (effect, 0.0, 0.0)

    def means(self, slope: int) -> tuple[Floats, Floats, Floats]:
        """Return the share above the median, or in central 80% intervals: as predicted, mended by this map, and seen.

        Of an outcome in a cell a part is seen there.
        """
        part, n = _SHOWN[slope], len(self.rows.w)
        low, high = ndtr(self._map.scores(ndtri(part)))
        return np.full(n, part[1] - part[0]), np.full(n, high - low), held_between(self.rows.rows, *part)


def _alike(cells: PitCells) -> PitCells:
    """Return the rows, or cells of like rows where they are many."""
    if len(cells.low) <= _ONE_BY_ONE:
        return cells
    point = cells.low == cells.high
    ends = (np.where(point, np.round(_PER_SCORE * z), z) for z in (cells.low, cells.high))
    at, total = numbered(*ends, cells.level, cells.log_spread)[0], cells.total
    low, high, level, log_spread = (np.bincount(at, total * x) / np.bincount(at, total) for x in cells[:4])
    return PitCells(low, high, level, log_spread, np.bincount(at, total).astype(np.float64))


class PitScores(Scores):
    """Scores of rules against a model of predictive distributions.

    Parameters
    ----------
    columns : sequence of Column
    model : PitModel
    """

    def __init__(self, columns: Sequence[Column], model: PitModel) -> None:
        rows, w, k = model.rows.rows, model.rows.w, model.rows.common
        self.columns, self.rows, self.weighted, self._at = columns, model.rows, rows.weight is not None, rows.pattern
        self.pairs = [(j, k) for k in range(len(columns)) for j in range(k)]
        h, of = cell_means(model.mended.low, model.mended.high), rows.information
        known = np.einsum("p,pjj->j", np.bincount(self._at, w, len(of)), of)
        ratio = np.sqrt(product(w, h**2) / np.maximum(known, 1e-300))  # mended cells tell about as much as they show
        self._known = of * np.multiply.outer(ratio, ratio)
        plain, squared = (
            np.tensordot(np.bincount(self._at, each, len(of)), self._known[:, :k, :k], 1) for each in (w, w * w)
        )
        self._back = Factored(definite(plain)).back
        self._cross = self._back @ squared @ self._back.T
        self._deviations = np.sqrt(np.einsum("pjj->pj", self._known))[self._at]
        self.information, self.variance = (each * self._known[self._at, 0, 0] for each in (w, w * w))
        order = np.argsort(model.mended.low + model.mended.high)
        self._pool = (h / np.maximum(self._deviations, 1e-300))[order].astype(np.float32)
        self.x, self._some = np.empty((k, 0)), slice(None)
        self.scored = self._projected((w[:, None] * h)[:, None], slice(None), 1.0)[:, 0]
        self.alike = self.scored.T, (w[:, None] * self._deviations[:, :2]).T

    @cached_property
    def _parts(self) -> Floats:
        w = self.rows.w
        one, two = (self._deviations[:, :2] * w[:, None]).T
        each = (w, w * w) if self.weighted else (w,)
        turned = (self._known[:, :2, : len(self.x)] @ self._back.T)[self._at]
        functions = (turned[:, of] * weight[:, None] for weight in each for of in (0, 1))
        both, (a, b) = w * w * self._known[self._at, 0, 1], self._pool[:, :2].T.astype(np.float64)
        cubes = [np.mean(a ** (3 - k) * b**k) * one ** (3 - k) * two**k for k in range(4)]
        plain = [np.ones_like(w), one**2, cubes[0], both, two**2, *cubes[1:]]
        return np.column_stack([*plain, *functions])

    def about(self, known: Mapping[Pair, RuleMoments], share: float) -> Iterator[Scored]:
        """Yield scores with about the moments that they have: those of the common map, which groups hardly change."""
        for pair, p in self.rule_sums(self.scored):
            bias, width = (each.times(share) for each in known[pair].kinds)
            of = RuleMoments((bias, width), known[pair].tilt)
            yield pair, of, of.scores(p[..., :1], p[..., 1:])

    def _projected(self, h: AnyFloats, rows: Ints | slice, share: float) -> AnyFloats:
        """Return the first two directions, (m, samples, 4), as a refit would leave them, given m of the rows."""
        k, total = len(self.x), h.sum(axis=0) / share
        moved = self._back.T @ (self._back @ total[:, :k].T)
        taken = np.moveaxis(self._known[:, :2, :k] @ moved, 1, 2).astype(h.dtype)
        return np.asarray(h[..., :2] - self.rows.w[rows, None, None].astype(h.dtype) * taken[self._at[rows]])

    def drawn(self, u: Floats, rows: Ints, share: float) -> AnyFloats:
        """Return values of outcomes drawn by uniform numbers, (m, samples), of m rows: of such a share of all.

        They are drawn from those of all rows, in order, each in its standard deviations.
        """
        deviations = (self.rows.w[rows, None] * self._deviations[rows]).astype(np.float32)
        h = self._pool[(u * len(self._pool)).astype(np.int32)] * deviations[:, None]
        return self.values(np.moveaxis(self._projected(h, rows, share), 2, 0), rows)

    def values(self, r: AnyFloats, rows: Ints) -> AnyFloats:
        """Return both directions beside one another, in single precision, which chance is known in."""
        return np.hstack([*r]).astype(np.float32)
