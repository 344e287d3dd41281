"""Rows of predictive distributions that are searched for groups: the map that all share, shifts and widths beside it.

The score of a bias is the sum of the first direction of normal scores, that of a width the sum of the second less its
regression on the first: outcomes above the median, and outcomes far from it. Rows are mended by the map that all share
and by the shift or width of each group that was named before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from ..._lib.dataclasses import dataclass, replace
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from ...forecasts.distributions.pit_rows import PitRows
from ...maps.fit import Fit, fitted
from ...maps.pit import PRIOR, PitGains, PitMap
from ...statistics.matrices import Factored, definite, product
from ...statistics.normal_scores import cell_means
from ..diagnosis.distributions import held_between
from ..diagnosis.pit_search import PitScored
from .conditions import Column
from .rules import CLUSTERS_EACH, INFORMATION_EACH, Scores

_COMMON = "bias", "spread", "skew", "tail"
"""Parameters of the map that all rows share, at most; of few rows, clusters or cells the first of them."""

_SHOWN = (0.5, 1.0), (0.1, 0.9)
"""Part of a forecast that shows a bias, and a width: above the median, and the central 80%."""


@dataclass(frozen=True, eq=False)
class PitModel:
    """The map that all rows share; beside a model before it also the shift or the width of a group."""

    outcomes: PitRows
    """Where they fell in their forecasts; none is impossible."""
    cluster: Ints | None = None
    """Number of each row's cluster, from 0."""
    before: PitModel | None = None
    inside: Bools | None = None
    slope: bool = False
    """Whether the group differs by its width."""

    @property
    def model(self) -> PitModel:
        """The map that all rows share."""
        return self.rows

    @property
    def rows(self) -> PitModel:
        """What is searched: the first of the models."""
        return self._chain[0]

    @property
    def _chain(self) -> list[PitModel]:
        return [self] if self.before is None else [*self.before._chain, self]

    @cached_property
    def w(self) -> Floats:
        """Weights, scaled so that their sum is the number of rows of equal weight that tell as much."""
        return self._scored.total / self._scored.design_effect

    def at(self, rows: Ints | Bools) -> PitModel:
        """Select rows, which count as independent."""
        return PitModel(self.outcomes.subset(rows))

    @property
    def error(self) -> float:
        """What the map of these rows alone gains, in nats a row."""
        return -self.loss / self.outcomes.n

    @property
    def common(self) -> int:
        """How many parameters of the map all rows share."""
        known = int(np.linalg.matrix_rank(self.outcomes.information.mean(axis=0), tol=1e-4))
        few = self.w.sum() / INFORMATION_EACH if self.cluster is None else (self.cluster.max() + 1) / CLUSTERS_EACH
        return min(known, max(2, int(min(few, len(_COMMON)))))

    @cached_property
    def _scored(self) -> PitScored:
        """Rows as the model before has mended them, with the group in place of their level, or spread."""
        group = None if self.inside is None else self.inside.astype(np.float64)
        level, log_spread = (None, group) if self.slope else (group, None)
        last = self.outcomes if self.before is None else self.before.mended
        return PitScored.of(replace(last, level=level, log_spread=log_spread))

    @cached_property
    def _gains(self) -> PitGains:
        of_group = [] if self.before is None else ["follow" if self.slope else "level"]
        return PitGains(self._scored.cells, [*_COMMON[: self.rows.common], *of_group])

    @cached_property
    def _fit(self) -> Fit:
        return fitted(self._gains, PRIOR)

    @property
    def _map(self) -> PitMap:
        return self._gains.map_of(self._fit.theta)

    @cached_property
    def mended(self) -> PitRows:
        """Outcomes after the fit."""
        rows, (_, level, log_spread) = self._scored.rows, self._scored.factors
        low, high = (self._map.scores(z, level, log_spread * self._deviation) for z in (rows.low, rows.high))
        return replace(rows, low=low, high=high)

    @property
    def _deviation(self) -> float:
        """Standard deviation of being in the group, in which a shift is fitted."""
        share = 0.0 if self.inside is None else float(np.average(self.inside, weights=self.w))
        return math.sqrt(share * (1 - share))

    @property
    def loss(self) -> float:
        """Minus the log-likelihood, with the prior's penalty, in nats: 0 as forecasts came."""
        return self._fit.penalty - self._fit.value + (0.0 if self.before is None else self.before.loss)

    def with_group(self, inside: Bools, slope: bool) -> PitModel:
        """Add a group's shift, or its width."""
        return replace(self.rows, before=self, inside=inside, slope=slope)

    def with_rows(self, group: int, inside: Bools) -> PitModel:
        """Change the rows of a group."""
        model, *groups = self._chain
        for at, each in enumerate(groups):
            model = replace(each, before=model, inside=inside if at == group else each.inside)
        return model

    def scores(self, columns: Sequence[Column]) -> PitScores:
        """Score all rules against it."""
        return PitScores(columns, self)

    def effect(self, group: int) -> tuple[float, float, float, float]:
        """Return a group's shift in predicted spreads, log of its width, 0, and the error of what it has of them.

        With weights the standard error is that of independent rows, whatever they weigh.
        """
        base, of = self._chain[0], self._chain[group + 1]
        unit = 1.0 if of.slope else math.exp(base._map.coefficients.get("spread", 0.0)) / of._deviation
        effect, weights = float(of._fit.theta[-1]) * unit, self.w[of.inside]
        error = math.sqrt(of._fit.at_maximum.covariance[-1, -1] * float(product(weights, weights) / weights.sum()))
        return (0.0, effect, 0.0, error) if of.slope else (effect, 0.0, 0.0, error * unit)

    def means(self, slope: int) -> tuple[Floats, Floats, Floats]:
        """Return the share above the median, or in central 80% intervals: as predicted, mended by this map, and seen.

        Of an outcome in a cell a part is seen there.
        """
        part, n = _SHOWN[slope], self.outcomes.n
        low, high = ndtr(self._map.scores(ndtri(part)))
        return np.full(n, part[1] - part[0]), np.full(n, high - low), held_between(self.outcomes, *part)


class PitScores(Scores):
    """Scores of rules against a model of predictive distributions.

    Parameters
    ----------
    columns : sequence of Column
    model : PitModel
    """

    def __init__(self, columns: Sequence[Column], model: PitModel) -> None:
        rows, w, k = model.outcomes, model.rows.w, model.rows.common
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
        self.x, self.t, self._new, self._some = np.zeros((k, len(w))), np.zeros(len(w)), slice(k, None), slice(None)
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
