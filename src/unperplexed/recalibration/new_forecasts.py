"""Forecasts of new rows, without outcomes, for what was fitted to known classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lib.errors import InputError, listed
from ..forecasts.column_names import positives, readings
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Coded, Label
from ..kernels.devices import Scale


def new_forecasts(read: Any, labels: Sequence[Label | None], scale: Scale, name: str = "y_prob") -> Forecasts:
    """Check probabilities as `Forecasts` does, and names of columns against the labels where these are known.

    ``read`` has the columns, as many as there are labels, or one for two.
    """
    check_names(read.names, labels, name)
    return Forecasts(
        Coded([0], np.zeros(read.n_rows, dtype=np.uint8)),
        read,
        known_labels=tuple(range(len(labels))),
        names=("y_true", name, "sample_weight"),
        scale=scale,
    )


def check_names(names: Sequence[Any] | None, labels: Sequence[Label | None], name: str) -> None:
    """Refuse columns that are named after other classes, or after these in another order.

    They are read as those of forecasts with outcomes are: whole, or without what all share (``p_rain``). A single
    column may have any name but that of the negative class.
    """
    if names is None or None in labels:
        return
    known: list[Any] = [*labels]
    if len(names) == 1:
        right = positives(names, (), known) != known[:1]
    else:
        right = tuple(known) in readings(names)
    if not right:
        raise InputError(
            f"{name}: the probability columns are named {listed(names)}, but the classes are {listed(labels)}. Put the"
            " columns in this order under these names, or pass them as an array in this order (.to_numpy())."
        )
