"""Forecasts of tokens as rows: a class axis behind a batch and a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._lib.arrays import library
from .._lib.errors import InputError


def as_rows(y_true: Any, y_prob: Any, sample_weight: Any, clusters: Any) -> tuple[Any, Any, Any, Any]:
    """Lay tokens end to end: probabilities of shape (n, t, C) with outcomes of shape (n, t); others stay as they are.

    Groups of shape (n,), one for each sequence, are repeated for its tokens.
    """
    shape = tuple(getattr(y_prob, "shape", ()))
    if library(y_prob) == "xarray":
        _refuse_grid(y_true, y_prob)
    if len(shape) != 3:
        return y_true, y_prob, sample_weight, clusters
    outcomes = np.shape(y_true)
    if outcomes != shape[:2]:
        if outcomes == (shape[0], shape[2]):
            raise InputError(
                f"y_prob: of shape {shape} with outcomes of shape {outcomes}: classes are the second axis. They must be"
                " the last one: pass y_prob.swapaxes(1, 2)."
            )
        raise InputError(
            f"y_prob: forecasts of shape {shape} need outcomes of shape {shape[:2]}, one for each token; got"
            f" {outcomes}."
        )
    y_prob = y_prob.to_numpy() if library(y_prob) == "xarray" else y_prob
    if sample_weight is not None and np.shape(sample_weight) == shape[:2]:
        sample_weight = _flat(sample_weight)
    if clusters is not None and np.shape(clusters) == shape[:1]:
        clusters = np.repeat(np.asarray(clusters), shape[1])
    elif clusters is not None and np.shape(clusters) == shape[:2]:
        clusters = _flat(clusters)
    return _flat(y_true), y_prob.reshape(-1, shape[2]), sample_weight, clusters


def _flat(array: Any) -> Any:
    return array.reshape(-1) if hasattr(array, "reshape") else np.asarray(array).reshape(-1)


def _refuse_grid(y_true: Any, y_prob: Any) -> None:
    """Refuse probabilities on a grid, such as of times and stations, which look like rows and classes."""
    if y_prob.ndim < 2 or library(y_true) != "xarray" or tuple(y_true.dims) != tuple(y_prob.dims):
        return
    names = ", ".join(map(repr, y_prob.dims))
    raise InputError(
        f"y_prob: an xarray of dimensions {names}, each value the probability of an event. Stack them into rows,"
        f" outcomes alike: y_prob = y_prob.stack(row=({names})). Coordinates are then columns to group by:"
        f" by={{{y_prob.dims[-1]!r}: y_prob[{y_prob.dims[-1]!r}].values}}."
    )
