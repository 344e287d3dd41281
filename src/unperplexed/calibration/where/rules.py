"""Scores of all rules of one and two conditions at once, against the error that all rows share and the groups named.

They are sums over the rows of two-way tables of columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._lib.dataclasses import Frozen, replace
from ..._lib.elementary import expit
from ..._lib.progress import at_once, threads_for
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from ...kernels.pair_tables import all_pair_tables, pair_tables, strongest
from ...maps.cells import Cells, Counts, fitted_cells
from ...maps.fit import Fit, Prior
from ...statistics.matrices import Factored, cross_products, definite, product
from ..diagnosis.gate import CELLS, columns, orthonormal
from .conditions import Column

LEAST_ROWS, LEAST_SHARE, LEAST_INFORMATION, MOST_SHARE, _LEAST_NEW = 20, 0.01, 5.0, 0.5, 0.1
"""What a rule needs: rows, their share of all, information, at most such a share of all information, and what is left
of its own information beside the functions that were fitted."""

_MOMENT_ROWS, _CELL_ROWS = 100_000, 20_000
"""Rows of which the known variances are taken, of more rows a random sample; and rows beyond which fits begin, or end,
with narrow cells of them."""

Pair = tuple[int, int]
"""Places of two columns."""


WIDTH = math.sqrt(10)
"""Standard deviation of the prior of a group's bias or slope."""

INFORMATION_EACH, CLUSTERS_EACH = 10, 10
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

    def fitted(self, basis: Floats, common: int) -> Fit:
        """Fit coefficients of functions, one a row, of which so many have no prior; of many rows first in cells."""
        start = None
        if len(self.s) > _CELL_ROWS:
            _, counts, means = self.in_cells(basis, basis[common:])
            start = fitted_functions(counts, means, common).theta
        return fitted_functions(Counts(self.s, self.w, self.w * self.y), basis, common, start)

    def in_cells(self, functions: Iterable[Floats], groups: Iterable[Floats] = ()) -> tuple[Ints, Counts, Floats]:
        """Sum over rows of about the same log-odds that are in the same groups, and take the means of functions.

        Return the cell of each row, too.
        """
        cell, _ = _numbered(np.round((self.s - self.s.min()) * CELLS).astype(np.int64))
        for group in groups:
            cell, _ = _numbered(2 * cell + (group != 0))
        total = np.bincount(cell, self.w).astype(np.float64)
        summed = (np.bincount(cell, self.w * each).astype(np.float64) for each in chain((self.s, self.y), functions))
        s, positive, *x = summed
        return cell, Counts(s / total, total, positive), np.stack(x) / total

    @property
    def model(self) -> Model:
        """The curve that all rows share."""
        return Model.of(self)

    @property
    def error(self) -> float:
        """What a bias and a slope of these rows alone would gain, in nats a row."""
        fit = self.fitted(np.stack([np.ones_like(self.s), self.s]), 0)
        loss = float(product(self.w, np.logaddexp(0, self.s) - self.y * self.s))
        return (loss + fit.value - fit.penalty) / len(self.s)


def _numbered(code: Ints) -> tuple[Ints, Ints]:
    """Number the codes that rows have: return each row's number, and the codes."""
    there = np.bincount(code) > 0
    return (np.cumsum(there) - 1)[code], np.flatnonzero(there)


def fitted_functions(counts: Counts, basis: Floats, common: int, start: Floats | None = None) -> Fit:
    """Fit coefficients of functions, one a row, of which so many have no prior."""
    names = [str(at) for at in range(len(basis))]
    prior = Prior({name: math.inf if at < common else WIDTH for at, name in enumerate(names)})
    found = fitted_cells(Cells(counts, names, directions=basis), prior, start)
    return replace(found, likelihood=Cells(counts, names, directions=basis))  # without what was computed at rows


class Model(Frozen, eq=False):
    """Logistic regression on a curve that all rows share, without a prior, and on groups, with one."""

    rows: SearchedRows
    basis: Floats
    """Functions of the log-odds, one a row, and then biases and slopes of groups: at each row, or in each cell."""
    common: int
    """How many are of the curve."""
    slopes: tuple[bool, ...] = ()
    """Whether each group has a slope."""
    cell: Ints | None = None
    """Cell of each row, in which log-odds are one and all rows are in the same groups; None without cells."""

    @classmethod
    def of(cls, rows: SearchedRows) -> Model:
        """Begin with the curve that all rows share: as many functions of the log-odds as rows and clusters bear."""
        values, entry = np.unique(rows.s, return_inverse=True)
        v = np.bincount(entry, rows.w) * expit(values) * expit(-values)
        found = orthonormal(columns(values, v), v)
        few = math.inf if rows.cluster is None else int(rows.cluster.max()) // CLUSTERS_EACH
        curve = found[found.any(axis=1)][: max(2, int(min(8, v.sum() / INFORMATION_EACH, few))), entry]
        return cls(rows, curve, len(curve))

    def at(self, rows: Ints | Bools) -> Model:
        """Return it for some of the rows, of many in narrow cells: the curve's functions stay."""
        of = self.rows.at(rows)
        if len(of.s) <= _CELL_ROWS:
            return Model(of, self.basis[:, rows], self.common)
        cell, counts, means = of.in_cells(each[rows] for each in self.basis)
        return Model(of._replace(s=counts.s[cell]), means, self.common, cell=cell)

    def summed(self, x: Floats) -> Floats:
        """Sum over the rows of each cell."""
        return x if self.cell is None else np.bincount(self.cell, x).astype(np.float64)

    def of_rows(self, x: Floats) -> Floats:
        """Give rows what their cells have, along the last axis."""
        return x if self.cell is None else x[..., self.cell]

    @cached_property
    def counts(self) -> Counts:
        """Weights at log-odds of rows or cells."""
        w, s, y = self.rows.w, self.rows.s, self.rows.y
        total = self.summed(w)
        return Counts(s if self.cell is None else self.summed(w * s) / total, total, self.summed(w * y))

    def _parted(self, inside: Bools) -> tuple[Model, Floats]:
        """Return it with cells that lie in a group or beside it, and whether they are in it."""
        if self.cell is None:
            return self, inside.astype(np.float64)
        cell, code = _numbered(2 * self.cell + inside)
        return replace(self, basis=self.basis[:, code >> 1], cell=cell), (code & 1).astype(np.float64)

    def with_group(self, inside: Bools, slope: bool) -> Model:
        """Add a group's bias, and its slope, which turns about the group's mean log-odds."""
        of, group = self._parted(inside)
        added = [group * (of.counts.s - self.rows.s[inside].mean())] if slope else []
        return replace(of, basis=np.vstack([of.basis, group, *added]), slopes=(*self.slopes, slope))

    def with_rows(self, group: int, inside: Bools) -> Model:
        """Change the rows of a group that has no slope."""
        of, values = self._parted(inside)
        basis = of.basis.copy()
        basis[self._place(group)] = values
        return replace(of, basis=basis)

    def scores(self, columns: Sequence[Column]) -> Scores:
        """Score all rules against it."""
        return Scores(columns, self)

    def _place(self, group: int) -> int:
        """Where the bias of a group is among the functions."""
        return self.common + group + sum(self.slopes[:group])

    def effect(self, group: int) -> tuple[float, float, float, float]:
        """Return a group's bias, slope and the log-odds about which it turns, with the standard error of the last."""
        place, theta, slope = self._place(group), self.fit.theta, self.slopes[group]
        about, error = self.rows.s[self.of_rows(self.basis[place] > 0)].mean(), self.errors[place + slope]
        return float(theta[place]), float(theta[place + slope]) * slope, float(about), float(error)

    def means(self, slope: int) -> tuple[Floats, Floats, Floats]:
        """Return predictions, those after the curve that all rows share, and whether the event occurred."""
        return expit(self.rows.s), expit(self.log_odds), self.rows.y

    @cached_property
    def fit(self) -> Fit:
        """The maximum of the penalized likelihood."""
        if self.cell is None:
            return self.rows.fitted(self.basis, self.common)
        return fitted_functions(self.counts, self.basis, self.common)

    @cached_property
    def log_odds(self) -> Floats:
        """Calibrated log-odds."""
        return np.asarray(self.rows.s + self.of_rows(product(self.fit.theta, self.basis)))

    @property
    def loss(self) -> float:
        """Minus the log-likelihood, with the prior's penalty, in nats."""
        return self.fit.penalty - self.fit.value

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of the coefficients; with weights those of independent rows, whatever they weigh."""
        found = self.fit.at_maximum.covariance
        if self.rows.weighted:
            p = expit(self.log_odds)
            found = found @ product(self.basis * self.summed(self.rows.w**2 * p * (1 - p)), self.basis.T) @ found
        return np.sqrt(np.diag(found))


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

    kinds: tuple[Moments, Moments]
    tilt: Floats

    def scores(self, bias: AnyFloats, raw: AnyFloats) -> tuple[AnyFloats, AnyFloats]:
        """Return both, of sums of residuals, (m, rules), and of those times the log-odds."""
        return bias, raw - self.tilt.astype(raw.dtype) * bias

    def packed(self, widths: tuple[Floats, Floats] | None) -> NDArray[np.float32]:
        """Return variances, third moments and what is fine, tilts and factors of variances: (9, rules)."""
        wide = widths or (np.ones_like(self.tilt),) * 2
        return np.stack([*self.kinds[0], *self.kinds[1], self.tilt, *wide], dtype=np.float32).reshape(9, -1)


def beside(known: AnyFloats, f: AnyFloats, g: AnyFloats, share: float) -> RuleMoments:
    """Return about those moments beside further functions, (rules, k), in a share of the rows, with dependence.

    Parameters
    ----------
    known : array of shape (9, ...)
        Packed.
    f, g : array of shape (k, ...)
        Sums of the information times each function, which are orthonormal, and of that times the log-odds.
    share : float
    """
    (v11, third, _), (v22, third2, _) = known[:3] * share, known[3:6] * share
    fine, fine2, old, wide, wide2 = known[[2, 5, 6, 7, 8]].astype(np.float64)
    new = v11 - (f * f).sum(axis=0)
    fine = (fine > 0) & (new > _LEAST_NEW * v11)
    new = np.where(fine, new, 1.0)
    v12 = old * v11 - (f * g).sum(axis=0)
    new2 = v22 + old**2 * v11 - (g * g).sum(axis=0) - v12**2 / new
    fine2 = (fine2 > 0) & fine & (new2 > _LEAST_NEW * v22)
    kinds = Moments(new, third, fine).times(wide), Moments(np.where(fine2, new2, 1.0), third2, fine2).times(wide2)
    return RuleMoments(kinds, v12 / new)


def root(score: AnyFloats, moments: Moments) -> Floats:
    """Return the signed root of the deviance of a scaled Poisson variable of this variance and third moment.

    With a = third / variance and u = a score / variance it is sign(score) sqrt(2 variance / a^2 h(u)), where
    h(u) = (1 + u) ln(1 + u) - u. It is about standard normal; 0 for a rule that lacks what it needs.
    """
    variance, third, fine = moments
    a = np.where(np.abs(third) < 1e-9 * variance, 1e-9, third / variance)
    u = np.maximum(a * score / variance, -1 + 1e-12)
    h = np.where(np.abs(u) < 1e-4, u * u / 2, (1 + u) * np.log1p(u) - u)
    return np.where(fine, np.sign(score) * np.sqrt(2 * variance / a**2 * h), 0.0)


class Scores:
    """Scores of rules against a model, with their known moments after projection on the model's functions.

    Parameters
    ----------
    columns : sequence of Column
    model : Model
    """

    rows: Any
    """What is scored."""
    cell: Ints | None = None
    """Cell of each row in which the functions have their values; None where they have one at each row."""

    def __init__(self, columns: Sequence[Column], model: Model) -> None:
        self.columns, self.rows, self.q = columns, model.rows, expit(model.log_odds)
        self.pairs: list[Pair] = [(j, k) for k in range(len(columns)) for j in range(k)]
        w, v, self.basis, self.cell = self.rows.w, self.q * (1 - self.q), model.basis, model.cell
        self.information = w * v
        self.variance = w * self.information if self.rows.weighted else self.information
        known = cross_products(model.basis, model.summed(self.information))
        self._back = Factored(definite(known)).back
        weighted = cross_products(model.basis, model.summed(self.variance)) if self.rows.weighted else known
        self._cross = self._back @ weighted @ self._back.T
        self.t = model.rows.s - float(product(self.information, model.rows.s)) / float(self.information.sum())
        r = w * (model.rows.y - self.q)
        taken = product(product(model.summed(r), model.basis.T) @ self._back.T @ self._back, model.basis)
        r -= model.of_rows(taken) * self.information
        self.scored = np.stack([r, r * self.t], axis=1)
        n, self._new = len(w), slice(model.common, None)
        sampled = n > _MOMENT_ROWS
        self._some = np.random.default_rng(0).choice(n, _MOMENT_ROWS, replace=False) if sampled else slice(None)

    @cached_property
    def alike(self) -> tuple[AnyFloats, AnyFloats]:
        """Residuals of rows, by kind, and their standard deviations: what rows of a cluster may share."""
        return self.scored[None, :, 0], np.sqrt(self.variance)[None]

    @cached_property
    def _parts(self) -> Floats:
        """What moments are sums of, (rows, parts); of a sample of many rows times what it stands for."""
        some = self._some
        v, t, w, q = self.variance[some], self.t[some], self.rows.w[some], self.q[some]
        x = product(self._back, self._functions(some))
        c, each = w * v * (1 - 2 * q), (self.information[some], v) if self.rows.weighted else (self.information[some],)
        plain = [np.ones_like(v), v, c, v * t, v * t * t, c * t, c * t * t, c * t * t * t]
        every = [*plain, *(of_rows * f for of in each for of_rows in (of, of * t) for f in x)]
        parts, scale = np.empty((len(v), len(every))), len(self.q) / len(v)
        for at, part in enumerate(every):
            np.multiply(part, scale, out=parts[:, at])
        return parts

    @cached_property
    def of(self) -> dict[Pair, RuleMoments]:
        """Moments of all rules of each pair of columns."""
        tables = [*self.tables(self._parts, self._some)]
        found = at_once(lambda each: self.moments(self._of_rules(*each)), tables, threads_for(len(self.variance)))
        return dict(zip(self.pairs, found, strict=True))

    def strongest(self, known: Mapping[Pair, NDArray[np.float32]], share: float) -> Iterator[tuple[Pair, Floats]]:
        """Give the largest |root| of each pair of columns by about the moments that rules have: (2, 2).

        By bias and slope, of rules of one and of two conditions, given the packed moments beside the common curve.
        """
        new = product(self._back[self._new], self.basis) * np.sqrt(np.diag(self._cross)[self._new, None])
        new = (new if self.cell is None else new[:, self.cell]) * self.information
        values = np.concatenate([self.scored, new.T, (new * self.t).T], axis=1, dtype=np.float32)

        def best(pairs: Iterable[tuple[Pair, Floats]]) -> list[tuple[Pair, Floats]]:
            return [(pair, self._strongest(pair, table, known[pair], share)) for pair, table in pairs]

        return chain.from_iterable(
            at_once(best, all_pair_tables(*self._coded(slice(None)), values), threads_for(len(values)))
        )

    def _strongest(self, pair: Pair, table: Floats, known: NDArray[np.float32], share: float) -> Floats:
        a, b = (self.columns[at].sets for at in pair)
        found = strongest(table, a, b, known, share, _LEAST_NEW)
        if found is not None:
            return found
        p = self._of_rules(pair, table)
        f, g = np.split(p[2:], 2)
        of = beside(known.reshape(9, len(a), len(b)), f, g, share)
        z = (np.abs(root(score, kind)) for score, kind in zip(of.scores(*p[:2]), of.kinds, strict=True))
        return np.array([[max(of[0].max(), of[:, 0].max()), of[1:, 1:].max(initial=0)] for of in z])

    def _rule_sums(self, values: AnyFloats, rows: Ints | slice) -> Iterator[tuple[Pair, AnyFloats]]:
        """Sum values over the rows of every rule: by pair of columns (values, conditions of one, of the other)."""
        for pair, table in self.tables(values, rows):
            yield pair, self._of_rules(pair, table)

    def _of_rules(self, pair: Pair, table: AnyFloats) -> AnyFloats:
        a, b = (self.columns[at].sets for at in pair)
        return np.asarray(a @ np.moveaxis(table, 2, 0) @ b.T)

    def tables(self, values: AnyFloats, rows: Ints | slice) -> Iterator[tuple[Pair, AnyFloats]]:
        """Sum values over the rows in every two bins of each pair of columns."""
        return zip(self.pairs, pair_tables(*self._coded(rows), self.pairs, values), strict=True)

    def _coded(self, rows: Ints | slice) -> tuple[list[NDArray[np.uint8]], list[int]]:
        """Give the bins of rows, by column, and how many bins each has."""
        return [column.codes[rows] for column in self.columns], [each.sets.shape[1] for each in self.columns]

    @property
    def n_rules(self) -> int:
        """Number of rules that have what they need; of one condition each is counted once."""
        fine = {pair: of.kinds[0].fine for pair, of in self.of.items()}
        one = [fine[0, k][0, 1:] for k in range(1, len(self.columns))] + [fine[0, 1][1:, 0]]
        return sum(int(each.sum()) for each in [*one, *(each[1:, 1:] for each in fine.values())])

    def moments(self, p: AnyFloats) -> RuleMoments:
        """Return the moments of scores of rules, whose sums of parts are given along the first axis."""
        v11, v12, v22 = self._left(p[1], p[3], p[4], p[8:].reshape(-1, len(self.basis), *p.shape[1:]))
        new = v11 / np.maximum(p[1], 1e-300)
        large = (p[0] >= max(LEAST_ROWS, LEAST_SHARE * len(self.variance))) & (p[1] >= LEAST_INFORMATION)
        fine = large & (p[1] <= MOST_SHARE * self.variance.sum() * (1 + 1e-9)) & (new > _LEAST_NEW)
        v11 = np.where(fine, v11, 1.0)
        tilt = v12 / v11
        v22 = v22 - v12 * tilt
        third = p[7] - 3 * tilt * p[6] + 3 * tilt**2 * p[5] - tilt**3 * p[2]
        new2 = np.clip(v22 / np.maximum(p[4] - 2 * tilt * p[3] + tilt**2 * p[1], 1e-300), 0, 1)
        fine2 = fine & (new2 > _LEAST_NEW) & (v22 > LEAST_INFORMATION)
        slope = Moments(np.where(fine2, v22, 1.0), third * new2 * (2 * new2 - 1), fine2)
        return RuleMoments((Moments(v11, p[2] * new * (2 * new - 1), fine), slope), tilt)

    def _left(self, v11: Floats, v12: Floats, v22: Floats, of: AnyFloats) -> tuple[Floats, Floats, Floats]:
        """Return variances and covariance of bias and slope scores after projection.

        With weights, rows count by them in the fit, and by their squares in variances.
        """
        f, g, mf, mg = *of[:2], *-of[:2]
        if self.rows.weighted:
            mf, mg = (
                np.tensordot(self._cross, each, 1) + 2 * squared for each, squared in zip((f, g), -of[2:], strict=True)
            )
        both = ((f * mg).sum(axis=0) + (g * mf).sum(axis=0)) / 2
        return v11 + (f * mf).sum(axis=0), v12 + both, v22 + (g * mg).sum(axis=0)

    def _functions(self, rows: Ints | slice) -> Floats:
        """Return the model's functions, one a row, at rows."""
        return self.basis[:, rows if self.cell is None else self.cell[rows]]

    def drawn(self, u: AnyFloats, rows: Ints, share: float) -> AnyFloats:
        """Return values of outcomes drawn by uniform numbers, (m, samples), of m rows: of such a share of all."""
        r, x = (self.rows.w[rows, None] * ((u < self.q[rows, None]) - self.q[rows, None])).T, self._functions(rows)
        r = r - product(product(r, x.T) / share @ self._back.T @ self._back, x) * self.information[rows]
        return self.values(r.T[None], rows)

    def values(self, r: AnyFloats, rows: Ints) -> AnyFloats:
        """Return residuals and these times the log-odds, in single precision, which chance is known in."""
        narrow = r[0].astype(np.float32)
        return np.ascontiguousarray(np.hstack([narrow, narrow * self.t[rows, None].astype(np.float32)]))

    def scores(
        self, values: AnyFloats, rows: Ints | slice = slice(None)
    ) -> Iterator[tuple[Pair, tuple[AnyFloats, AnyFloats]]]:
        """Yield bias and slope scores of all rules, given residuals, and then these times the log-odds, (n, m)."""
        k = values.shape[1] // 2
        for pair, p in self._rule_sums(values, rows):
            yield pair, self.of[pair].scores(p[:k], p[k:])

    def sums(self, code: NDArray[np.uint8], size: int) -> AnyFloats:
        """Sum parts and scores over rows by a code below a size, which others have: (size, m)."""
        known = (self._parts, code[self._some]), (self.scored, code)
        both = (pair_tables([by, np.zeros_like(by)], [size + 1, 1], [(0, 1)], values) for values, by in known)
        return np.hstack([table[:size, 0] for [table] in both])

    def strength(self, sums: AnyFloats, slope: bool) -> Floats:
        """Return |score| in standard errors of sets of rows, given such sums; 0 for one that is no rule."""
        p = np.moveaxis(sums, -1, 0)
        of = self.moments(p[:-2])
        moments, score = of.kinds[slope], of.scores(*p[-2:])[slope]
        return np.where(moments.fine, np.abs(score) / np.sqrt(np.maximum(moments.variance, 1e-300)), 0.0)
