"""Predictions whose outcomes are not known: the classes they are of, and a stand-in for the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lib.arrays import Columns
from .._lib.errors import InputError
from .labels import Coded, Label


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
