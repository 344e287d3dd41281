"""Whether rows are distributions: what is wrong with which, and how they are renormalized.

Rows with NaN, or that are no distribution, are found here. `Forecasts.blocks` (in `forecasts`) refuses them by their
numbers, or with ``invalid="drop"`` leaves them out and counts them in `Notes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._lib.typing import (
    AnyFloats,
    Bools,
    Floats,
    Ints,
)
from ..kernels.devices import (
    DeviceRows,
)
from ..kernels.rows import (
    SUM_TOLERANCE,
    CellTotals,
    Rows,
    row_primitives,
)
from ..kernels.softmax import LogitRows

ROUNDING = 1e-6
"""Row sums closer to 1 than this are the rounding of float32, not worth a word."""


def primitives(
    p: AnyFloats | DeviceRows | LogitRows, truth: Ints, weights: Floats | None = None, into: CellTotals | None = None
) -> Rows:
    """Primitives of rows, computed where they are."""
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


def renormalized(
    p: AnyFloats | DeviceRows | LogitRows, rows: Rows
) -> tuple[AnyFloats | DeviceRows | LogitRows, int, float, Floats | None]:
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
    if lowest >= 0 and 2 < highest <= 100 + 1e-5:
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
