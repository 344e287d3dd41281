"""Reading: the options by which rows are read, which all functions that take rows share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import ArrayLike

from ..kernels.devices import Scale
from .labels import Label

Invalid = Literal["refuse", "drop", "rescale"]
"""What is done with invalid rows."""


class Reading(TypedDict, total=False):
    """Options of `Forecasts`, which describes them: the same for all forecasters of the same rows."""

    labels: Sequence[Label] | None
    pos_label: Label | None
    ignore_label: Label | Sequence[Label] | None
    scale: Scale
    invalid: Invalid | Sequence[Invalid]


class RowReading(Reading, total=False):
    """The same, and what is known of each row besides."""

    sample_weight: ArrayLike | None
    clusters: Any


DEFAULTS = {"scale": "probability", "invalid": "refuse"}
"""Of options that are None unless they are given, but for these."""
