"""Scores of all rules of one and two conditions at once: sums over the rows of two-way tables of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from ...statistics.definite import Factored, definite
from ...statistics.products import product
from .conditions import Column
from .model import Model, SearchedRows

LEAST_ROWS, LEAST_SHARE, LEAST_INFORMATION, MOST_SHARE, LEAST_NEW = 20, 0.01, 5.0, 0.5, 0.1
"""What a rule needs: rows, their share of all, information, at most such a share of all information, and what is left
of its own information beside the functions that were fitted."""

_MOMENT_ROWS = 200_000
"""Rows of which the known variances are taken; of more rows a random sample."""

Pair = tuple[int, int]
"""Places of two columns."""


def pair_tables(a: Ints, b: Ints, sizes: tuple[int, int], values: AnyFloats) -> AnyFloats:
    """Sum values over the rows of each cell of a two-way table.

    Parameters
    ----------
    a, b : arrays of int, shape (n,)
        Bin of each row in two columns.
    sizes : tuple of int
        Number of bins of each.
    values : array of shape (n, m)

    Returns
    -------
    array of shape (size of a, size of b, m)
    """
    from scipy.sparse import csc_matrix

    n, m = values.shape
    cell = (a * sizes[1] + b).astype(np.int32)
    cells = csc_matrix((np.ones(n, values.dtype), cell, np.arange(n + 1)), shape=(sizes[0] * sizes[1], n)) @ values
    return np.asarray(cells).reshape(*sizes, m)


def rule_sums(a: Column, b: Column, rows: Ints | slice, values: AnyFloats) -> AnyFloats:
    """Sum values over the rows of every rule of two columns: (conditions of a, of b, m)."""
    table = pair_tables(a.codes[rows], b.codes[rows], (a.size, b.size), values)
    one = product(a.sets, table.reshape(a.size, -1)).reshape(len(a.sets), b.size, -1)
    return np.asarray(np.matmul(b.sets, one))


class Moments(NamedTuple):
    """Of scores of rules, of independent rows if only the model's errors are there."""

    variance: Floats
    third: Floats
    fine: Bools
    """Whether the rule has what it needs."""

    def times(self, factor: Floats | float) -> Moments:
        """Return those of a part of the rows, or of rows that depend."""
        return Moments(self.variance * factor, self.third * factor, self.fine)


class RuleMoments(NamedTuple):
    """Of the bias scores and of the slope scores of rules; these without their regression on the former."""

    bias: Moments
    slope: Moments
    tilt: Floats

    def slopes(self, bias: AnyFloats, raw: AnyFloats) -> AnyFloats:
        """Return slope scores, of sums of residuals and of those times the log-odds."""
        more = raw.ndim - self.tilt.ndim
        return raw - self.tilt.reshape(self.tilt.shape + (1,) * more) * bias


def root(score: AnyFloats, variance: AnyFloats, third: AnyFloats) -> Floats:
    """Return the signed root of the deviance of a scaled Poisson variable of this variance and third moment.

    With a = third / variance and u = a score / variance it is sign(score) sqrt(2 variance / a^2 h(u)), where
    h(u) = (1 + u) ln(1 + u) - u. It is about standard normal.
    """
    a = np.where(np.abs(third) < 1e-9 * variance, 1e-9, third / variance)
    u = np.maximum(a * score / variance, -1 + 1e-12)
    h = np.where(np.abs(u) < 1e-4, u * u / 2, (1 + u) * np.log1p(u) - u)
    return np.asarray(np.sign(score) * np.sqrt(2 * variance / a**2 * h))


class Scores:
    """Scores of rules against a model, with their known moments after projection on the model's functions.

    Parameters
    ----------
    columns : sequence of Column
    model : Model
    """

    def __init__(self, columns: Sequence[Column], model: Model) -> None:
        self.columns, self.model, self.rows, q = columns, model, model.rows, expit(model.log_odds)
        self.pairs: list[Pair] = [(j, k) for k in range(len(columns)) for j in range(k)]
        w = self.rows.w
        self.information, self.variance = w * q * (1 - q), w * w * q * (1 - q)
        self._third = w * self.variance * (1 - 2 * q)
        known = Factored(definite(product(model.basis * self.information, model.basis.T)))
        self.x = product(known.back, model.basis)
        self.t = self.rows.s - float(product(self.information, self.rows.s)) / float(self.information.sum())
        self.r = self.project(w * (self.rows.y - q)[None])[0]
        self._total = float(self.variance.sum())
        self.of = {pair: self._moments_of(pair) for pair in self.pairs}

    @property
    def n_rules(self) -> int:
        """Number of rules that have what they need; of one condition each is counted once."""
        two = sum(int(self.of[pair].bias.fine[1:, 1:].sum()) for pair in self.pairs)
        one = [self.of[j, k].bias.fine[1:, 0] for j, k in self.pairs if k == len(self.columns) - 1]
        one += [self.of[pair].bias.fine[0, 1:] for pair in self.pairs[-1:]]
        return two + sum(int(fine.sum()) for fine in one)

    @cached_property
    def _parts(self) -> AnyFloats:
        """What is summed over the rows of rules, (n, m)."""
        v, c, t, d = self.variance, self._third, self.t, self.information
        plain = [np.ones_like(v), v, c, v * t, v * t**2, c * t, c * t**2, c * t**3]
        each = (d, v) if self.rows.weighted else (d,)
        return np.stack([*plain, *(of * f * x for of in each for x in (1.0, t) for f in self.x)], axis=1)

    @cached_property
    def _cross(self) -> Floats:
        return product(self.x * self.variance, self.x.T)

    @cached_property
    def scored(self) -> AnyFloats:
        """Residuals, and these times the log-odds, (n, 2)."""
        return np.stack([self.r, self.r * self.t], axis=1)

    def _moments_of(self, pair: Pair) -> RuleMoments:
        rows, n = self._sampled, len(self.rows.s)
        share = 1.0 if isinstance(rows, slice) else len(rows) / n
        parts = self._parts if isinstance(rows, slice) else self._sampled_parts
        return self.moments(np.moveaxis(rule_sums(*self._of(pair), rows, parts), 2, 0) / share)

    @cached_property
    def _sampled(self) -> Ints | slice:
        n = len(self.rows.s)
        return slice(None) if n <= _MOMENT_ROWS else np.sort(np.random.default_rng(0).choice(n, _MOMENT_ROWS, False))

    @cached_property
    def _sampled_parts(self) -> AnyFloats:
        return self._parts[self._sampled]

    def _of(self, pair: Pair) -> tuple[Column, Column]:
        return self.columns[pair[0]], self.columns[pair[1]]

    def moments(self, p: AnyFloats) -> RuleMoments:
        """Return the moments of scores of rules, whose sums of parts are given along the first axis."""
        k, n = len(self.x), len(self.rows.s)
        v11, v12, v22 = self._left(p[1], p[3], p[4], p[8:].reshape(-1, k, *p.shape[1:]))
        new = v11 / np.maximum(p[1], 1e-300)
        fine = (p[0] >= max(LEAST_ROWS, LEAST_SHARE * n)) & (p[1] >= LEAST_INFORMATION)
        fine = fine & (p[1] <= MOST_SHARE * self._total) & (new > LEAST_NEW)
        v11 = np.where(fine, v11, 1.0)
        tilt = v12 / v11
        v22 = v22 - v12 * tilt
        third = p[7] - 3 * tilt * p[6] + 3 * tilt**2 * p[5] - tilt**3 * p[2]
        new2 = np.clip(v22 / np.maximum(p[4] - 2 * tilt * p[3] + tilt**2 * p[1], 1e-300), 0, 1)
        fine2 = fine & (new2 > LEAST_NEW) & (v22 > LEAST_INFORMATION)
        slope = Moments(np.where(fine2, v22, 1.0), third * new2 * (2 * new2 - 1), fine2)
        return RuleMoments(Moments(v11, p[2] * new * (2 * new - 1), fine), slope, tilt)

    def _left(self, v11: Floats, v12: Floats, v22: Floats, of: AnyFloats) -> tuple[Floats, Floats, Floats]:
        """Return variances and covariance of bias and slope scores after projection.

        With weights, rows count by them in the fit, and by their squares in variances.
        """
        f, g = of[:2]
        if not self.rows.weighted:
            return v11 - (f * f).sum(axis=0), v12 - (f * g).sum(axis=0), v22 - (g * g).sum(axis=0)
        f2, g2 = of[2:]
        mf, mg = (np.tensordot(self._cross, each, 1) for each in (f, g))
        a = v11 - 2 * (f * f2).sum(axis=0) + (f * mf).sum(axis=0)
        b = v12 - (f * g2).sum(axis=0) - (g * f2).sum(axis=0) + (f * mg).sum(axis=0)
        return a, b, v22 - 2 * (g * g2).sum(axis=0) + (g * mg).sum(axis=0)

    def project(self, r: AnyFloats, rows: Ints | slice = slice(None), scale: float = 1.0) -> AnyFloats:
        """Return residuals, (k, m), as a refit would leave them, given m of the rows, which are such a share of all."""
        x = self.x[:, rows]
        return np.asarray(r - product(product(r, x.T) / scale, x * self.information[rows]))

    def scores(self, pair: Pair, values: AnyFloats, rows: Ints | slice = slice(None)) -> tuple[AnyFloats, AnyFloats]:
        """Return bias and slope scores of all rules of two columns, given residuals and these times the log-odds."""
        p, k = rule_sums(*self._of(pair), rows, values), values.shape[1] // 2
        return p[..., :k], self.of[pair].slopes(p[..., :k], p[..., k:])

    def observed(self) -> Iterator[tuple[Pair, tuple[AnyFloats, AnyFloats]]]:
        """Give the scores of all rules by pair of columns."""
        for pair in self.pairs:
            bias, slope = self.scores(pair, self.scored)
            yield pair, (bias[..., 0], slope[..., 0])

    def sums_of(self, inside: Bools) -> AnyFloats:
        """Sum parts and scores over some rows."""
        return np.concatenate([self._parts[inside].sum(axis=0), self.scored[inside].sum(axis=0)])

    def sums_by(self, inside: Bools, code: Ints, size: int) -> AnyFloats:
        """Sum parts and scores over some rows by a code that they have: (size, m)."""
        values = np.hstack([self._parts[inside], self.scored[inside]])
        return pair_tables(code[inside], np.zeros(len(values), np.int64), (size, 1), values)[:, 0]

    def strengths(self, sums: AnyFloats, slope: bool) -> Floats:
        """Return |score| in standard errors of sets of rows, given their sums along the last axis."""
        p = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
        of, n = self.moments(p[:-2]), len(self.rows.s)
        with np.errstate(invalid="ignore", divide="ignore"):
            if slope:
                found = np.abs(of.slopes(p[-2], p[-1])) / np.sqrt(of.slope.variance)
            else:
                found = np.abs(p[-2]) / np.sqrt(of.bias.variance)
        large = (p[0] >= max(LEAST_ROWS, LEAST_SHARE * n)) & (p[1] >= LEAST_INFORMATION)
        return np.where(large & (of.slope if slope else of.bias).fine, found, 0.0)


def searched(s: Floats, y: Floats, w: Floats | None, cluster: Ints | None) -> SearchedRows:
    """Return rows to be searched, with weights scaled to the number of rows that tell as much."""
    n = len(s)
    weights = np.ones(n) if w is None else w * (w.sum() / float(product(w, w)))
    return SearchedRows(s, y, weights, cluster, w is not None)
