"""Predictions whose outcomes are not known: the classes they are of, and a stand-in for the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lib.arrays import Columns
from .._lib.errors import InputError, listed
from ..kernels.devices import Scale
from .forecasts import Forecasts
from .labels import Coded, Label
from .outcomes import positives, readings


def unobserved(columns: Columns, labels: Sequence[Label] | None, pos_label: Label | None = None) -> dict[str, Any]:
    """Give the arguments of `Forecasts` for rows without outcomes; each counts as one of the first class.

    Classes are the labels, or the names of several columns; those of one column are 0 and 1 where nothing is said.
    """
    n = columns.n_columns
    names = columns.names if n > 1 and columns.names is not None else range(max(n, 2))
    if labels is None and pos_label is not None and n == 1:
        names = (f"not {pos_label}", pos_label)
    classes: tuple[Label, ...] = tuple(names if labels is None else labels)
    if len(classes) != max(n, 2):
        raise InputError(f"labels (--labels): {len(classes)}, but there are {max(n, 2)} classes. Name each once.")
    if len(set(classes)) < len(classes):
        raise InputError("labels (--labels): some are the same. Give each class a name of its own.")
    return {"y_true": Coded([classes[0]], np.zeros(columns.n_rows, dtype=np.uint8)), "known_labels": classes}


def new_forecasts(read: Any, labels: Sequence[Label | None], scale: Scale, name: str = "y_prob") -> Forecasts:
    """Check probabilities as `Forecasts` does, and names of columns against the labels where these are known.

    ``read`` has the columns, as many as there are labels, or one for two.

    Parameters
    ----------
    read : Columns or DeviceColumns
        Probabilities.
    labels : sequence of label or None
        Classes in column order.
    scale : {"probability", "percent", "logits", "log-probs"}
        What the columns hold.
    name : str, default "y_prob"
        What errors call the probabilities.
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
