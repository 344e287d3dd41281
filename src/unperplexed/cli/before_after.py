"""Forecasts before and after recalibration, compared on rows that the maps were not fitted to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import number_of
from ..comparison.compare import compare
from ..comparison.result import Comparison
from ..forecasts.forecasts import Forecasts
from ..recalibration.recalibrated_rows import recalibrated_rows
from ..recalibration.recalibrator import Recalibrator

MOST_PROBABILITIES = 20_000_000
"""The comparison keeps so many probabilities in memory."""

FOLDS = 5
"""Folds of the comparison, unless the user asked for a number of folds."""

BEFORE, AFTER = "raw", "recalibrated"


def before_and_after(chunks: Callable[[], Iterable[Forecasts]], how: Recalibrator) -> Comparison:
    """Compare forecasts with themselves, recalibrated by maps that were fitted to the rows of other folds.

    Parameters
    ----------
    chunks : callable
        Reads the forecasts.
    how : Recalibrator
        The fitted recalibrator, whose settings are used in each fold.

    Returns
    -------
    Comparison
    """
    p, truth, weight, cluster = _rows(chunks, len(how.labels_))
    q = recalibrated_rows(
        p,
        truth,
        weight,
        cluster,
        how.folds or FOLDS,
        lambda: Recalibrator(how.method, single=how.single, folds=how.folds, seed=how.seed),
    )
    labels = [f"column {at}" if label is None else label for at, label in enumerate(how.labels_)]
    outcomes = np.array(labels, dtype=object)[truth]
    found = compare({BEFORE: p, AFTER: q}, outcomes, labels=labels, sample_weight=weight, groups=cluster)
    return replace(found, _paired=None)  # the next step is the recalibration that this compares


def refuse_few_clusters(chunks: Callable[[], Iterable[Forecasts]], folds: int | None) -> None:
    """Refuse rows in so few clusters that fewer than two are left outside a fold; call it before a fit."""
    fewest = next(k for k in count(3) if k - math.ceil(k / (folds or FOLDS)) >= 2)
    found: set[int] = set()
    for forecasts in chunks():
        for block in forecasts.blocks():
            some = block if block.weights is None else block[block.weights > 0]
            cluster = forecasts.clusters(some.index)
            if cluster is None:
                return
            found.update(np.unique(cluster).tolist())
            if len(found) >= fewest:
                return
    raise InputError(
        f"groups: {number_of(len(found), 'cluster')}, and --report needs at least {fewest}: each fold is recalibrated"
        " by a map fitted to the others. Leave out --report, or name rows of more clusters."
    )


def _rows(chunks: Callable[[], Iterable[Forecasts]], n_classes: int) -> tuple[Any, Any, Any, Any]:
    """Collect probabilities, outcomes, weights and clusters of all rows."""
    parts: list[tuple[Any, Any, Any, Any]] = []
    held = 0
    for forecasts in chunks():
        for block in forecasts.blocks():
            held += len(block) * n_classes
            if held > MOST_PROBABILITIES:
                raise InputError(
                    f"--report compares up to {MOST_PROBABILITIES:,} probabilities. Leave it out, or name fewer files."
                )
            parts.append(
                (block.probabilities.astype(np.float64), block.truth, block.weights, forecasts.clusters(block.index))
            )
    p, truth, weight, cluster = (
        None if any(each is None for each in column) else np.concatenate(column) for column in zip(*parts, strict=True)
    )
    assert truth is not None
    return p, truth.astype(np.int64), weight, cluster
