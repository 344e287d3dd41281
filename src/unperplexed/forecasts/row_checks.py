"""Whether rows are distributions: what is wrong with which, and how they are renormalized.

Rows with NaN, or that are no distribution, are found here. `Forecasts.blocks` (in `forecasts`) refuses them by their
numbers, or with ``invalid="drop"`` leaves them out and counts them in `Notes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._lib.arrays import library
from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from ..kernels.devices import DeviceRows
from ..kernels.rows import SUM_TOLERANCE, CellTotals, Rows, row_primitives
from ..kernels.softmax import LogitRows

ROUNDING = 1e-6
"""Row sums closer to 1 than this are the rounding of float32, not worth a word."""


Matrix: TypeAlias = AnyFloats | DeviceRows | LogitRows
"""Probabilities by row and class, where the source has them."""


def primitives(p: Matrix, truth: Ints, weights: Floats | None = None, into: CellTotals | None = None) -> Rows:
    """Primitives of rows, computed where they are.

    Parameters
    ----------
    p : ndarray of shape (n, C), DeviceRows or LogitRows
        Probabilities.
    truth : ndarray of shape (n,)
        Number of the observed class of each row, from 0.
    weights : ndarray of shape (n,), optional
        Positive weights; None if all are 1.
    into : CellTotals, optional
        Cells that the probabilities are counted into.
    """
    if isinstance(p, DeviceRows):
        return p.primitives(truth, weights, into)
    return row_primitives(p, truth, weights, into)


def problems_of_rows(rows: Rows, negative: Bools) -> dict[str, Bools]:
    """Rows that are no distribution, by the first reason that holds (in one column, 1 - p < 0 is p > 1)."""
    if rows.usual.all():
        return {}
    valid = (rows.lowest >= 0) & (rows.highest <= 1)
    nan = np.isnan(rows.total) & ~(np.isinf(rows.lowest) | np.isinf(rows.highest))
    infinite = ~np.isfinite(rows.lowest) | ~np.isfinite(rows.highest)
    reasons = {
        "NaN": nan,
        "infinite": infinite & ~nan,
        "negative": ~nan & ~infinite & negative,
        "above 1": ~nan & ~infinite & ~negative & (rows.highest > 1),
        "sum not 1": valid & ~rows.usual,
    }
    return {reason: mask for reason, mask in reasons.items() if mask.any()}


def renormalized(p: Matrix, rows: Rows) -> tuple[Matrix, int, float, Floats | None]:
    """Divide the rows that can be by their sum; say how many were off and by how much, and what each was divided by."""
    able = (rows.lowest >= 0) & (rows.total > 0) & np.isfinite(rows.total)
    deviation = np.where(able, np.abs(rows.total - 1), 0.0)
    if not (deviation > 0).any():
        return p, 0, 0.0, None
    by = np.where(able, rows.total, 1.0)
    if isinstance(p, DeviceRows):
        p = p.divided(by, able)
    else:
        p = np.asarray(p)
        p = p / by.astype(p.dtype)[:, None]
        np.minimum(p, 1, out=p, where=able[:, None])
    off = deviation > ROUNDING
    return p, int(off.sum()), float(deviation[off].max(initial=0.0)), by


_HIGHEST_PERCENT = 100 + 1e-5
"""Percentages in single precision may be so large by rounding."""


def is_rounding(lowest: float, highest: float) -> bool:
    """Whether numbers lie in [0, 1] but for the rounding of sums in single precision."""
    return lowest >= -SUM_TOLERANCE and highest <= 1 + SUM_TOLERANCE


class Option(NamedTuple):
    """An option that reads rows as they are meant: its name, value and flag; shown as ``name=value (--flag)``."""

    name: str
    value: str
    flag: str

    def __str__(self) -> str:
        """Show it, for Python and the command line."""
        return f"{self.name}={self.value} ({self.flag})"


DROP = Option("invalid", '"drop"', "--invalid drop")
RESCALE = Option("invalid", '"rescale"', "--invalid rescale")


def scale_option(scale: str) -> Option:
    """Return the option that names a scale."""
    return Option("scale", f'"{scale}"', f"--scale {scale}")


def scale_hint(lowest: float, highest: float, binary: bool) -> tuple[str, Option | None]:
    """Say what numbers outside [0, 1] look like, and the option that reads them so; the user decides."""
    if is_rounding(lowest, highest):
        if binary or lowest < 0:
            return "That looks like rounding: clip to 0 and 1.", None
        return f"That looks like rounding: {RESCALE} divides each row by its sum.", RESCALE
    if lowest >= 0 and 2 < highest <= _HIGHEST_PERCENT:
        what, option = "percentages", scale_option("percent")
    elif highest <= 0:
        what, option = "log-probabilities", scale_option("log-probs")
    elif lowest < -1 or highest > 2:
        what, option = "logits", scale_option("logits")
    else:
        return "", None
    return f"These look like {what}: {option} reads them so.", option


def wrong_values(reason: str, x: AnyFloats) -> Bools:
    """Values that make a row invalid for this reason; none where only their sum does."""
    tests: dict[str, Callable[[AnyFloats], Bools]] = {
        "NaN": np.isnan,
        "infinite": np.isinf,
        "negative": lambda x: x < 0,
        "above 1": lambda x: x > 1,
    }
    return tests[reason](x) if reason in tests else np.zeros(x.shape, dtype=bool)


def as_rows(y_true: Any, y_prob: Any, sample_weight: Any, clusters: Any) -> tuple[Any, Any, Any, Any]:
    """Lay tokens end to end: probabilities of shape (n, t, C) with outcomes of shape (n, t); others stay as they are.

    Groups of shape (n,), one for each sequence, are repeated for its tokens.

    Parameters
    ----------
    y_true : array_like of shape (n,), (n, C) or (n, t)
        Outcomes.
    y_prob : array_like of shape (n,), (n, C) or (n, t, C)
        Predicted probabilities.
    sample_weight : array_like of shape (n,) or (n, t), or None
        Weights.
    clusters : array_like of shape (n,) or (n, t), or None
        Clusters.

    Raises
    ------
    InputError
        For shapes that do not go together, and for xarrays whose dimensions are no rows and classes.
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
