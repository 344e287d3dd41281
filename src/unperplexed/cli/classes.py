"""Classes of a recalibration map and of the forecasts that it is applied to: matched by name, others refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Label
from ..forecasts.outcomes import positives, readings
from ..kernels.devices import Scale
from ..recalibration.recalibrator import Recalibrator
from ..sources.columns import Plan
from ..sources.file_reading import FileReading
from ..sources.readers import Batch
from ..sources.readers.numbers import refuse_text


def order_of_classes(
    labels: Sequence[Label | None], n_columns: int, plan: Plan, reading: FileReading, what: str = "recalibration map"
) -> tuple[list[int], str]:
    """Find the column of each class of a map, or of a pool (``what``).

    Labels named with the columns or with ``--labels`` decide, then the columns' own names. Without either the columns
    are taken in the order of the map's classes, and the sentence returned says so.
    """
    if n_columns == 1:
        _check_positive(labels, plan, reading, what)
        return [0], ""
    if n_columns != len(labels):
        raise InputError(
            f"{n_columns} probability columns, but the {what} is of {len(labels)} classes:"
            f" {_names(labels)}. Name the columns of these classes."
        )
    named = plan.labels or (None if reading.labels is None else tuple(reading.labels))
    if named is not None:
        texts, wanted = _spelled(named, labels)
        if set(texts) != set(wanted):
            raise InputError(_other(labels, named, what))
        return [texts.index(label) for label in wanted], ""
    for read in readings(plan.prob, plan.at_star):
        texts, wanted = _spelled(read, labels)
        if set(texts) == set(wanted):
            return [texts.index(label) for label in wanted], ""
        if set(texts) & set(wanted):
            raise InputError(_other(labels, plan.prob, what))
    if len(plan.prob) == 1:
        return list(range(n_columns)), ""
    return list(range(n_columns)), f"columns read in the order of the {_short(what)}'s classes: {_names(labels)}"


def refuse_other_classes(labels: Sequence[Label | None], others: Sequence[Label | None]) -> None:
    """Refuse forecasts of other classes than those of a map."""
    pairs = list(zip(labels, others, strict=False))
    same = len(labels) == len(others)
    if not same or any(a != b for a, b in pairs if a is not None and b is not None):
        raise InputError(
            f"the recalibration map is of the classes {_names(labels)} in this order, the forecasts are of"
            f" {_names(others)}. Fit a map to these forecasts, or name their classes with --labels."
        )


def _short(what: str) -> str:
    return what.rpartition(" ")[2]


def _check_positive(labels: Sequence[Label | None], plan: Plan, reading: FileReading, what: str) -> None:
    """Refuse one column of another class than the map's positive one."""
    if len(labels) != 2:
        raise InputError(f"one probability column, but the {what} is of {len(labels)} classes: {_names(labels)}.")
    positive = plan.pos_label if reading.pos_label is None else reading.pos_label
    named = list(reading.labels) if reading.labels is not None else [positive]
    known = [label for label in labels if label is not None]
    if named == [None] and positives(plan.prob, plan.at_star, known) == known[:1]:
        raise InputError(_other(labels, plan.prob, what))
    if named[-1] is not None and labels[1] is not None and not _same(named[-1], labels[1]):
        raise InputError(f"the {what} is of the probability of {labels[1]!r}, the column of that of {named[-1]!r}.")
    if len(named) == 2 and labels[0] is not None and not _same(named[0], labels[0]):
        raise InputError(_other(labels, [str(name) for name in named], what))


def _other(labels: Sequence[Label | None], named: Sequence[str], what: str) -> str:
    return (
        f"the {what} is of the classes {_names(labels)}, the columns of {listed(list(named))}. Fit a {_short(what)} to"
        " these forecasts, or name the class of each column (--prob label=COLUMN)."
    )


def _names(labels: Sequence[Label | None]) -> str:
    return listed(["(not known)" if label is None else label for label in labels])


def _spelled(named: Sequence[object], labels: Sequence[Label | None]) -> tuple[list[str], list[str]]:
    """Spell both as they are where that fits, so that '007' is not 7, and else true, false and numbers in one way."""
    exact = list(map(str, named)), list(map(str, labels))
    return exact if set(exact[0]) == set(exact[1]) else (list(map(_normal, exact[0])), list(map(_normal, exact[1])))


def _same(name: object, label: Label) -> bool:
    texts, wanted = _spelled([name], [label])
    return texts == wanted


def _normal(text: str) -> str:
    """Spell true and false, and whole numbers, in one way."""
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


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


_MOST_NAMED = 3
"""New columns that are named."""


def written_text(new: Sequence[str], reading: FileReading, n_columns: int, invalid: int) -> str:
    """Name the new columns with their scale, and say how many rows were left empty."""
    more = f" and {len(new) - _MOST_NAMED:,} more" if len(new) > _MOST_NAMED else ""
    left_out = f"; {number_of(invalid, 'row')} without valid probabilities left empty" if invalid else ""
    named = f"column{'s' * (len(new) > 1)} {', '.join(new[:_MOST_NAMED])}{more}"
    return f"{named}{unit_of(reading, n_columns)}{left_out}"


def recalibrated_by(path: Path) -> Callable[[Forecasts], Forecasts]:
    """Give what recalibrates forecasts by a saved map."""
    recalibrator = Recalibrator.load(path)

    def change(forecasts: Forecasts) -> Forecasts:
        refuse_other_classes(recalibrator.labels_, forecasts.labels)
        return forecasts.with_probabilities(recalibrator.state.of_block)

    return change
