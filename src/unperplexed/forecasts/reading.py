"""Reading: the options by which rows are read, which all functions that take rows share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from .labels import Label


class Reading(TypedDict, total=False):
    """Options of `Forecasts`, which describes them: the same for all forecasters of the same rows."""

    labels: Sequence[Label] | None
    pos_label: Label | None
    ignore_label: Label | Sequence[Label] | None
    renormalize: bool
    drop_invalid: bool
    percent: bool
    from_logits: bool
    from_log_probs: bool


class RowReading(Reading, total=False):
    """The same, and what is known of each row besides."""

    sample_weight: ArrayLike | None
    groups: Any
