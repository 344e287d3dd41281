"""Rows recalibrated by maps that were fitted to the rows of other folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._lib.typing import AnyFloats, Floats, Ints
from .folds import folds_of_places
from .recalibrator import Recalibrator


def recalibrated_rows(
    p: AnyFloats,
    truth: Ints,
    weight: Floats | None,
    cluster: Ints | None,
    folds: int,
    make: Callable[[], Recalibrator],
) -> AnyFloats:
    """Recalibrate each row by a map fitted to the rows of other folds, the same in any order of the rows.

    Parameters
    ----------
    p : array of shape (n,) or (n, C)
        Probabilities of the positive class, or of each class.
    truth : array of shape (n,)
        Numbers of the observed classes.
    weight : array of shape (n,), optional
        Weights of the rows.
    cluster : array of shape (n,), optional
        Numbers of the clusters; rows of one are in one fold.
    folds : int
        How many parts are held out, one after another.
    make : callable
        Gives a recalibrator with its settings, not fitted; its seed deals the rows into the folds.

    Returns
    -------
    array of the shape of p
    """
    order = order_of_rows(p, truth, weight)
    cluster = None if cluster is None else clusters_in_order(cluster, order)
    n = truth.size if cluster is None else int(cluster.max()) + 1
    dealt = folds_of_places(n, folds, make().seed)
    fold = dealt[np.argsort(order)] if cluster is None else dealt[cluster]
    labels, q = list(range(p.shape[1] if p.ndim == 2 else 2)), np.empty(p.shape)
    for held_out in range(folds):
        out = fold == held_out
        known: dict[str, Any] = {"labels": labels}
        known |= {name: x[~out] for name, x in (("sample_weight", weight), ("groups", cluster)) if x is not None}
        q[out] = make().fit(truth[~out], p[~out], **known).transform(p[out])
    return q


def order_of_rows(p: AnyFloats, truth: Ints, weight: Floats | None) -> Ints:
    """Sort rows by what they hold, so that chance deals them alike in any order."""
    return np.lexsort([*([] if weight is None else [weight]), *np.atleast_2d(p.T), truth])


def clusters_in_order(cluster: Ints, order: Ints) -> Ints:
    """Number clusters by their first rows in an order, whatever they are called."""
    _, first, group = np.unique(cluster[order], return_index=True, return_inverse=True)
    number = np.empty(cluster.size, dtype=np.int64)
    number[order] = np.argsort(np.argsort(first))[group.reshape(-1)]
    return number
