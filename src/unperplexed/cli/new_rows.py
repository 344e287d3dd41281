"""New forecasts in a file, checked batch by batch before a map or a pool changes them, and the form they come in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._lib.typing import AnyFloats, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Label
from ..kernels.devices import Scale
from ..sources.columns import Plan
from ..sources.file_reading import FileReading
from ..sources.readers import Batch
from ..sources.readers.numbers import refuse_text
from .classes import order_of_classes


class NewRows:
    """Checks successive rows of a forecaster as `Forecasts` does, and gives their columns in the order of the classes.

    ``what`` was fitted to the classes, as messages call it; ``name`` is what they call several columns.
    """

    def __init__(
        self,
        labels: Sequence[Label | None],
        plan: Plan,
        reading: FileReading,
        say: Callable[[str], None],
        what: str = "recalibration map",
        name: str = "probabilities",
    ) -> None:
        self._labels, self._plan, self._reading, self._say, self._what = labels, plan, reading, say, what
        self._name = plan.prob[0] if len(plan.prob) == 1 else name
        self._order: list[int] | None = None

    def checked(self, p: AnyFloats, first_row: int, places: Ints | None = None) -> Floats:
        """Give log-probabilities of every class; NaN for rows elsewhere, and where --invalid drop leaves rows out."""
        if self._order is None:
            self._order, said = order_of_classes(self._labels, p.shape[1], self._plan, self._reading, self._what)
            if said:
                self._say(said)
        ordered = np.ascontiguousarray(p[:, self._order])
        options: dict[str, Any] = dict(self._reading.options)
        forecasts = Forecasts(
            np.zeros(len(p), dtype=np.int8),
            ordered[:, 0] if p.shape[1] == 1 else ordered,
            known_labels=tuple(range(len(self._labels))),
            first_row=first_row,
            names=("", self._name, ""),
            **options,
        )
        found = np.full((len(p), len(self._labels)), np.nan)
        for block in (forecasts if places is None else forecasts.chosen(places)).blocks():
            found[block.index - first_row] = block.log_probabilities
        return found

    def refuse_text(self, batch: Batch) -> None:
        """Refuse text among the probabilities of a batch, which could not be written again, without --invalid drop."""
        if "drop" not in self._reading.options.get("invalid", ()):
            for columns in batch.probabilities:
                refuse_text(columns.unreadable, batch.first_row)

    def as_read(self, q: Floats, n_columns: int) -> Floats:
        """Give probabilities of every class in the columns and on the scale in which they were read."""
        ordered = q if n_columns == 1 else q[:, np.argsort(self._order or range(n_columns))]
        return on_scale(ordered, n_columns, self._reading.options["scale"])


def on_scale(q: Floats, n_columns: int, scale: Scale) -> Floats:
    """Give probabilities of every class as the file had them: percentages, log-probabilities, or logits.

    The logits of one column are log-odds; those of several are log-probabilities, whose softmax they are.
    """
    rows = q[:, 1:] if n_columns == 1 else q
    if scale == "percent":
        return 100 * rows
    if scale == "logits" and n_columns == 1:
        return np.log(rows) - np.log(q[:, :1])
    return rows if scale == "probability" else np.log(rows)


def unit_of(reading: FileReading, n_columns: int) -> str:
    """Name the scale of the new columns, where it is not that of probabilities."""
    one = n_columns == 1
    logs = {"logits": " in log-odds" if one else " in log-probabilities", "log-probs": " in log-probabilities"}
    return {"percent": " in percent", **logs}.get(reading.options["scale"], "")
