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

from ..._lib.dataclasses import Frozen, replace
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from ...forecasts.distributions.pit_rows import PitRows
from ...maps.fit import Prior
from ...maps.pit import PRIOR, PitMap
from ...statistics.matrices import product
from ...statistics.normal_scores import cell_means
from ..diagnosis.choice import Candidate
from ..diagnosis.distributions import held_between
from ..diagnosis.pit_search import PitScored, PitSearch
from .conditions import Column
from .rules import CLUSTERS_EACH, INFORMATION_EACH, WIDTH, Scores

_COMMON = "bias", "spread", "skew", "tail"
"""Parameters of the map that all rows share, at most; of few rows, clusters or cells the first of them."""

_SHOWN = (0.5, 1.0), (0.1, 0.9)
"""Part of a forecast that shows a bias, and a width: above the median, and the central 80%."""


class PitModel(Frozen, eq=False):
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

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.outcomes.weight is not None

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
        return min(known, max(2, int(few)))

    @cached_property
    def _scored(self) -> PitScored:
        """Rows without shifts and widths of the groups before, with the group in place of their level, or spread."""
        group = None if self.inside is None else self.inside.astype(np.float64)
        level, log_spread = (None, group) if self.slope else (group, None)
        last = self.outcomes if self.before is None else self.before._freed
        return PitScored.of(replace(last, level=level, log_spread=log_spread))

    @cached_property
    def _found(self) -> Candidate[PitMap]:
        of_group = () if self.before is None else ("follow" if self.slope else "level",)
        prior = Prior({**PRIOR.sd, "level": WIDTH * self._deviation, "follow": WIDTH})
        return PitSearch(self._scored, 1.0, most=0, prior=prior).fit((*_COMMON[: self.rows.common], *of_group))

    def _mapped(self, found: PitMap) -> PitRows:
        rows, (_, level, log_spread) = self._scored.rows, self._scored.factors
        low, high = (found.scores(z, level, log_spread * self._deviation) for z in (rows.low, rows.high))
        return replace(rows, low=low, high=high)

    @cached_property
    def mended(self) -> PitRows:
        """Outcomes after the whole map."""
        return self._mapped(self._found.mapping)

    @cached_property
    def _group(self) -> PitMap:
        """What the map does to the group, and its bias, about which a width turns; nothing without a group."""
        own = () if self.before is None else ("bias", "level", "follow")
        return PitMap({name: value for name, value in self._found.mapping.coefficients.items() if name in own})

    @cached_property
    def _freed(self) -> PitRows:
        """Outcomes without the shifts and widths of groups."""
        return self._mapped(self._group)

    @cached_property
    def _gained(self) -> float:
        """What freeing the outcomes of this group gained, in nats."""
        return float(product(self._scored.cells.total, self._group.gains(self._scored.cells)))

    @property
    def _deviation(self) -> float:
        """Standard deviation of being in the group, in which a shift is fitted."""
        return float(np.sqrt(np.cov(self.inside, aweights=self.w, ddof=0))) if self.inside is not None else 0.0

    @property
    def loss(self) -> float:
        """Minus the log-likelihood, with the prior's penalty, in nats: 0 as forecasts came."""
        return -self._found.ratio / 2 - sum(each._gained for each in self._chain[:-1])

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
        of, weight = self._chain[group + 1], self.rows._scored.total
        unit = 1.0 if of.slope else 1 / of._deviation
        effect, weight = float(of._found.fit.theta[-1]) * unit, weight[of.inside]
        error = math.sqrt(of._found.fit.covariance[-1, -1] * float(product(weight, weight) / weight.sum())) * unit
        return (0.0, effect, 0.0, error) if of.slope else (effect, 0.0, 0.0, error)

    def means(self, slope: int) -> tuple[Floats, Floats, Floats]:
        """Return the share above the median, or in central 80% intervals: as predicted, mended by this map, and seen.

        Of an outcome in a cell a part is seen there.
        """
        part, n = _SHOWN[slope], self.outcomes.n
        low, high = ndtr(self._found.mapping.scores(ndtri(part)))
        return np.full(n, part[1] - part[0]), np.full(n, high - low), held_between(self.outcomes, *part)


class PitScores(Scores):
    """Scores of rules against a model of predictive distributions.

    Parameters
    ----------
    columns : sequence of Column
    model : PitModel
    """

    def __init__(self, columns: Sequence[Column], model: PitModel) -> None:
        rows, w = model.mended, model.rows.w
        self.columns, self.rows = columns, model.rows
        self.pairs = [(j, k) for k in range(len(columns)) for j in range(k)]
        h = cell_means(rows.low, rows.high)[:, :2]
        known = np.diagonal(rows.information, axis1=1, axis2=2)[rows.pattern, :2]
        known = known * (product(w, h**2) / np.maximum(product(w, known), 1e-300))  # as mended cells show
        self._known, self._deviations = w[:, None] * known, np.sqrt(known) * w[:, None]
        order = np.argsort(ndtr(rows.low) + ndtr(rows.high))
        self._pool = (h / np.maximum(np.sqrt(known), 1e-300))[order].astype(np.float32)
        self._total = np.maximum(self._known.sum(axis=0), 1e-300)
        self._cross = np.diag(product(w * w, known) / self._total)
        self.information, self.variance = self._known[:, 0], w * self._known[:, 0]
        self.basis, self._back, self._new = np.zeros((2, len(w))), np.eye(2), slice(2, None)
        self.t, self._some = np.zeros(len(w)), slice(None)
        self.scored = self._projected((w[:, None] * h)[:, None], slice(None), 1.0)[:, 0]
        self.alike = self.scored.T, self._deviations.T

    @cached_property
    def _parts(self) -> Floats:
        w, (one, two), (a, b) = self.rows.w, self._deviations.T, self._pool.T.astype(np.float64)
        cubes = [np.mean(a ** (3 - k) * b**k) * one ** (3 - k) * two**k for k in range(4)]
        plain = [np.ones_like(w), one**2, cubes[0], np.mean(a * b) * one * two, two**2, *cubes[1:]]
        f, g = (self._known / np.sqrt(self._total)).T
        each = [f, np.zeros_like(f), np.zeros_like(g), g]
        return np.column_stack([*plain, *each, *([w * x for x in each] if self.rows.weighted else [])])

    def _projected(self, h: AnyFloats, rows: Ints | slice, share: float) -> AnyFloats:
        """Return the first two directions, (m, samples, 2), as a refit would leave them, given m of the rows."""
        taken = (self._known / self._total)[rows, None].astype(h.dtype)
        return np.asarray(h - taken * (h.sum(axis=0) / share))

    def drawn(self, u: AnyFloats, rows: Ints, share: float) -> AnyFloats:
        """Return values of outcomes drawn by uniform numbers, (m, samples), of m rows: of such a share of all.

        They are drawn from those of all rows, in order, each in its standard deviations.
        """
        h = self._pool[(u * len(self._pool)).astype(np.int32)] * self._deviations[rows, None].astype(np.float32)
        return self.values(np.moveaxis(self._projected(h, rows, share), 2, 0), rows)

    def values(self, r: AnyFloats, rows: Ints) -> AnyFloats:
        """Return both directions beside one another, in single precision, which chance is known in."""
        return np.hstack([*r]).astype(np.float32)
