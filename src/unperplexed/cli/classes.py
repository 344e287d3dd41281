"""Classes of a recalibration map and of the forecasts that it is applied to: matched by name, others refused."""

from __future__ import annotations

from collections.abc import Sequence

from .._lib.errors import InputError, listed
from ..forecasts.column_names import positives, readings
from ..forecasts.labels import Label
from ..sources.columns import Plan
from ..sources.file_reading import FileReading


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
