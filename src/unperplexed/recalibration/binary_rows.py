"""Rows of two classes in folds: lots of rows that were counted by their log-odds, or rows in clusters one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._lib.elementary import log_expit
from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Block, Forecasts
from ..kernels.logarithms import log_odds
from ..maps.cells import Counts
from ..maps.families import MapOfTwo, fitted_two
from ..maps.two import finite, zero_of
from ..tally.binary import BinaryColumns
from ..tally.tally import Tally
from .binary_counts import BinaryCounter, BinaryCounts, rows_alike, without_last_digits
from .folded_rows import FoldedRows, Kept, check_number, kept_rows
from .folds import folds_of_counts, number_of_folds


@dataclass(frozen=True)
class DealtCounts:
    """Folds of rows that were counted: those of one value and outcome are alike, and lie in folds one after another."""

    s: Floats
    weight: Floats
    """(folds, 2, m): of negative and of positive outcomes."""
    zero: float

    def _kind(self, s: Floats, truth: Ints) -> Ints:
        """Return which of the weights of a fold are of rows with these log-odds and outcomes."""
        near = np.searchsorted((self.s[1:] + self.s[:-1]) / 2, without_last_digits(finite(s, self.zero)))
        return np.asarray(truth * self.s.size + near)

    def shares(self, s: Floats, truth: Ints) -> Floats:
        """Return the share of rows with these log-odds and outcomes in each fold: (folds, n)."""
        weight = self.weight.reshape(len(self.weight), -1)[:, self._kind(s, truth)]
        weight[0, weight.sum(axis=0) == 0] = 1.0  # of a row that was counted in a cell, the nearest may be another
        return np.asarray(weight / weight.sum(axis=0))

    def folds_of(self, predicted: Floats, truth: Ints) -> Ints:
        """Return the fold of each row, which may be of any order."""
        kind = self._kind(predicted, truth)
        order = np.argsort(kind, kind="stable")
        kind, sizes = kind[order], np.bincount(kind, minlength=2 * self.s.size)
        first = np.cumsum(sizes) - sizes
        place = (np.arange(kind.size) - first[kind] + 0.5) / sizes[kind]
        fold = np.zeros(kind.size, dtype=np.int64)
        whole = self.weight.sum(axis=0).reshape(-1)[kind]
        for end in np.cumsum(self.weight, axis=0)[:-1]:
            fold[order] += place * whole > end.reshape(-1)[kind]
        return fold


@dataclass(frozen=True, kw_only=True)
class BinaryRows(FoldedRows[MapOfTwo]):
    """Rows of two classes by their log-odds, all finite."""

    certain: int = 0
    """Number of rows of a tally with a probability of exactly 0 or 1, whose log-odds it does not know."""

    @property
    def largest(self) -> float:
        """Largest log-odds up to which maps never fall."""
        return max(float(finite(np.inf, self.zero)), float(np.abs(self.predicted).max()))

    @cached_property
    def _values(self) -> tuple[Floats, Ints]:
        """Distinct log-odds, and which of them each row has."""
        values, entry = np.unique(self.predicted, return_inverse=True)
        return values, entry.reshape(-1)

    def fit(
        self, names: Sequence[str], without: int | None, starts: Mapping[str, MapOfTwo] | None
    ) -> dict[str, MapOfTwo]:
        """Fit maps to all rows, or to those outside a fold."""
        values, entry = self._values
        some = self.outside(without)
        of_rows = (np.bincount(entry[some], w[some], values.size) for w in (self.weight, self.weight * self.truth))
        total, positive = (sums.astype(np.float64) for sums in of_rows)
        return fitted_two(names, Counts(values, total, positive), self.largest, self.zero, starts)


def rows_of_parts(parts: Iterable[Forecasts], folds: int | None, seed: int) -> BinaryRows:
    """Count rows by their log-odds, and deal the counts into folds: by default `number_of_folds`."""
    counter, n, zeros = BinaryCounter(), 0, 0
    for forecasts in parts:
        for block in forecasts.blocks():
            some = block.weighing
            counter.add(some.log_odds, some.truth, some.weights)
            n += len(some)
            zeros += zeros_of(some)
    return replace(rows_of_counts(counter.counts(), n, folds, seed), zeros=zeros)


def zeros_of(block: Block) -> int:
    """Count the rows whose observed class had probability 0; sums of weights do not tell how many they are."""
    return int(np.count_nonzero(block.log_odds == np.where(block.truth == 1, -np.inf, np.inf)))


def rows_of_tally(tally: Tally, folds: int | None, seed: int) -> BinaryRows:
    """Deal the counts of a tally into folds."""
    columns = tally.positive
    if columns is None:
        raise InputError("the tally does not keep the positive class apart, as those of earlier versions; count anew.")
    rows = rows_of_columns(columns, tally.n_weighing, folds, seed)
    certain = np.isin(columns.p, [0, 1])
    rows = replace(rows, certain=int(rows_alike(columns.total[certain], columns.squared[certain]).sum()))
    # Of two columns in single precision one may be 1 where the other is not 0.
    finite = "log_loss" in tally.scores and math.isfinite(tally.score("log_loss"))
    return replace(rows, zeros=0) if finite else rows


def rows_of_columns(columns: BinaryColumns, n_rows: int, folds: int | None, seed: int) -> BinaryRows:
    """Deal counts by the probability of the positive class into folds."""
    p, total, squared = columns.by_outcome
    some = total.sum(axis=0) > 0
    counts = BinaryCounts.of(log_odds(p[some, None], "probability"), total[:, some], squared[:, some])
    return rows_of_counts(counts, n_rows, folds, seed)


def rows_of_counts(counts: BinaryCounts, n_rows: int, folds: int | None, seed: int) -> BinaryRows:
    """Deal counts into folds: a lot has the rows of a fold with the same log-odds and outcome."""
    check_number(n_rows)
    zeros, zero = counts.zeros, zero_of(log_expit(-np.abs(counts.s)), 2, n_rows)
    counts = BinaryCounts.of(finite(counts.s, zero), counts.total, counts.squared)
    folds, rows = number_of_folds(folds, n_rows), counts.rows
    share = folds_of_counts(rows.reshape(-1), folds, seed).reshape(folds, *rows.shape) / np.maximum(rows, 1)
    scale = float(counts.total.sum() / counts.squared.sum())
    weight, squared = share * counts.total * scale, share * counts.squared * scale**2
    fold, truth, place = lots = np.nonzero(share)
    return BinaryRows(
        predicted=counts.s[place],
        truth=truth,
        weight=weight[lots],
        squared=squared[lots],
        first=np.searchsorted(fold, np.arange(folds + 1)),
        n_rows=n_rows,
        zero=zero,
        zeros=zeros,
        dealt=DealtCounts(counts.s, weight, zero),
    )


def rows_in_clusters(parts: Iterable[Forecasts], folds: int | None, seed: int) -> BinaryRows:
    """Deal clusters of rows into folds: by default `number_of_folds`, but no more than there are clusters."""
    return rows_of_kept(Kept.joined(kept_rows(parts)), folds, seed)


def rows_of_kept(kept: Kept, folds: int | None, seed: int) -> BinaryRows:
    """Deal the clusters of rows by their log-odds into folds."""
    rows = BinaryRows.of(kept, kept.n_rows, number_of_folds(folds, kept.n_rows), seed, clustered=True)
    return replace(rows, predicted=without_last_digits(finite(rows.predicted, rows.zero)))
