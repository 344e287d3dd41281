"""Random folds of counts, of rows and of clusters: never stratified by outcome, and the same in any order of rows.

Held-out class frequencies of stratified folds mirror those of the fit, so that chance frequencies look like biases.
"""

from __future__ import annotations

import numpy as np

from .._lib.typing import Ints

FEW_ROWS, _FOLDS_OF_FEW, _FOLDS_OF_MANY = 1000, 20, 5


def number_of_folds(asked: int | None, n_rows: int) -> int:
    """Return the number that the user asked for, or by default 20 folds for up to 1,000 rows of two classes, else 5.

    Maps that are fitted to 19 of 20 parts of few rows lose less on the rows held out than those fitted to 4 of 5. So
    their weights are closer to those that the maps fitted to all rows deserve.
    """
    return asked or (_FOLDS_OF_FEW if n_rows <= FEW_ROWS else _FOLDS_OF_MANY)


def number_of_class_folds(asked: int | None) -> int:
    """Return the number that the user asked for, or 5 for more than two classes, whose maps cost more to fit."""
    return asked or _FOLDS_OF_MANY


_MOST_DRAWN = 10**9
"""Rows up to which folds of equal size are drawn without replacement; beyond, chance makes them equal enough."""


def folds_of_counts(counts: Ints, folds: int, seed: int) -> Ints:
    """Return (folds, m) counts: those of m kinds of like rows, dealt into folds at random."""
    rng, left = np.random.default_rng(seed), counts.astype(np.int64)
    if int(left.sum()) >= _MOST_DRAWN:
        return rng.multinomial(left, np.full(folds, 1 / folds)).T
    dealt = np.zeros((folds, left.size), dtype=np.int64)
    for fold in range(folds - 1):
        size = int(left.sum()) // (folds - fold)
        dealt[fold] = rng.multivariate_hypergeometric(left, size, method="marginals")
        left = left - dealt[fold]
    dealt[-1] = left
    return dealt


def folds_of_places(n: int, folds: int, seed: int) -> Ints:
    """Return the fold of each of n rows or clusters, in folds of equal size."""
    return np.random.default_rng(seed).permutation(n) % folds


def folds_of_clusters(cluster: Ints, folds: int, seed: int) -> Ints:
    """Return the fold of each row, all rows of a cluster in one."""
    distinct, number = np.unique(cluster, return_inverse=True)
    return folds_of_places(distinct.size, folds, seed)[number.reshape(-1)]
