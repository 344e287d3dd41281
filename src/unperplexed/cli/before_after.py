"""Forecasts before and after recalibration, compared on rows that the maps were not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .._lib.errors import InputError
from ..comparison.compare import compare
from ..comparison.result import Comparison
from ..forecasts.forecasts import Forecasts
from ..recalibration.recalibrator import Recalibrator

MOST_PROBABILITIES = 20_000_000
"""The comparison keeps so many probabilities in memory."""

BEFORE, AFTER = "raw", "recalibrated"


def before_and_after(chunks: Callable[[], Iterable[Forecasts]], how: Recalibrator) -> Comparison:
    """Compare forecasts with themselves, recalibrated by the maps that the fit of each fold's other rows gave.

    Parameters
    ----------
    chunks : callable
        Reads the forecasts.
    how : Recalibrator
        The recalibrator that was fitted to them.

    Returns
    -------
    Comparison
    """
    p, truth, weight, cluster = _rows(chunks, len(how.labels_))
    assert how.held_out is not None  # the fit is to as many probabilities
    q = how.held_out.recalibrated(p, truth)
    labels = [f"column {at}" if label is None else label for at, label in enumerate(how.labels_)]
    outcomes = np.array(labels, dtype=object)[truth]
    found = compare({BEFORE: p, AFTER: q}, outcomes, labels=labels, sample_weight=weight, groups=cluster)
    return replace(found, _paired=None)  # the next step is the recalibration that this compares


def _rows(chunks: Callable[[], Iterable[Forecasts]], n_classes: int) -> tuple[Any, Any, Any, Any]:
    """Collect probabilities, outcomes, weights and clusters of all rows of positive weight."""
    parts: list[tuple[Any, Any, Any, Any]] = []
    held = 0
    for forecasts in chunks():
        for block in forecasts.blocks():
            held += len(block) * n_classes
            if held > MOST_PROBABILITIES:
                raise InputError(
                    f"--report compares up to {MOST_PROBABILITIES:,} probabilities. Leave it out, or name fewer files."
                )
            some = block if block.weights is None else block[block.weights > 0]
            parts.append(
                (some.probabilities.astype(np.float64), some.truth, some.weights, forecasts.clusters(some.index))
            )
    p, truth, weight, cluster = (
        None if any(each is None for each in column) else np.concatenate(column) for column in zip(*parts, strict=True)
    )
    assert truth is not None
    return p, truth.astype(np.int64), weight, cluster
