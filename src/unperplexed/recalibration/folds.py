"""Random folds of counts, of rows and of clusters: never stratified by outcome, and the same in any order of rows.

Held-out class frequencies of stratified folds mirror those of the fit, so that chance frequencies look like biases.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError, check_whole
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.gathered import GatheredRows

FEW_ROWS, _FOLDS_OF_FEW, FOLDS_OF_MANY = 1000, 20, 5
"""Rows of two classes up to which there are many folds; how many, and how many otherwise."""


def number_of_folds(asked: int | None, n_rows: int) -> int:
    """Return the number that the user asked for, or by default 20 folds for up to 1,000 rows of two classes, else 5.

    Maps that are fitted to 19 of 20 parts of few rows lose less on the rows held out than those fitted to 4 of 5. So
    their weights are closer to those that the maps fitted to all rows deserve.
    """
    return asked or (_FOLDS_OF_FEW if n_rows <= FEW_ROWS else FOLDS_OF_MANY)


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


def held_out(rows: GatheredRows, folds: int, seed: int) -> Iterator[Bools]:
    """Yield which rows each fold holds out. Clusters stay together.

    Raises InputError for fewer than two folds, and for fewer rows, or clusters, than folds.
    """
    check_whole("folds", folds, 2)
    units = rows.n_rows if rows.clusters is None else int(rows.clusters.max()) + 1
    if units < folds:
        what = "rows" if rows.clusters is None else "clusters"
        raise InputError(f"folds: {folds} folds need as many {what}, and there are {units}.")
    if rows.clusters is None:
        fold = folds_of_places(rows.n_rows, folds, seed)
    else:
        logs = np.concatenate([*rows.values.values()], axis=1)
        fold = folds_of_clusters(rows.clusters, contents_of_rows(logs, rows.truth, rows.weights), folds, seed)
    for each in range(folds):
        yield fold == each


Hashes = NDArray[np.uint64]
"""One whole number a row."""


def folds_of_clusters(cluster: Ints, contents: Hashes, folds: int, seed: int) -> Ints:
    """Return the fold of each row, all rows of a cluster in one.

    Clusters are dealt by what their rows hold, so that neither their names nor the order of the rows matters.

    Parameters
    ----------
    cluster : array of int, shape (n,)
        Number of each row's cluster.
    contents : array of uint64, shape (n,)
        Hash of each row, as `contents_of_rows` gives it.
    folds : int
        Number of folds.
    seed : int
        Random seed.
    """
    distinct, number = np.unique(cluster, return_inverse=True)
    number, sums = number.reshape(-1), np.zeros(distinct.size, dtype=np.uint64)
    np.add.at(sums, number, contents)  # modulo 2**64, which is the same in any order
    dealt = np.empty(distinct.size, dtype=np.int64)
    dealt[np.argsort(sums, kind="stable")] = folds_of_places(distinct.size, folds, seed)
    return dealt[number]


def contents_of_rows(logs: Floats, truth: Ints, weight: Floats) -> Hashes:
    """Hash rows by their log-probabilities or log-odds, (n, k), outcome and weight.

    Logarithms count to nine decimals: last digits depend on the form they came in.
    """
    rounded = np.rint(np.clip(logs, -FARTHEST, FARTHEST) * DECIMALS).astype(np.int64)
    exact = np.ascontiguousarray(weight, dtype=np.float64).view(np.int64)
    key = hashed(np.column_stack([rounded, truth, exact]).view(np.uint64))
    key = (key ^ (key >> np.uint64(32))) * _ODD  # not linear in the columns: sums over other rows are others
    return np.asarray(key ^ (key >> np.uint64(29)))


DECIMALS = 1e9
"""Logarithms count to nine decimals: last digits depend on the form they came in."""

FARTHEST = 1e9
"""Logarithms beyond are not told apart: nine decimals more, and they are no whole numbers of 64 bits."""

_ODD = np.uint64(0xD6E8FEB86659FD93)
"""Factor of a hash that mixes bits well."""


def hashed(bits: Hashes) -> Hashes:
    """Hash rows of whole numbers."""
    n, columns = bits.shape
    factors: Hashes = np.random.default_rng(0).integers(1 << 62, size=(columns,)).astype(np.uint64)
    key = np.zeros(n, dtype=np.uint64)
    for at in range(columns):
        column = bits[:, at]
        key += (column ^ (column >> np.uint64(29))) * (2 * factors[at] + 1)
    return key
