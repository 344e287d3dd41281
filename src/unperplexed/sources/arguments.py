"""What a caller says of columns and rows, in the words of the readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from .._lib.errors import InputError, refuse_unknown
from ..forecasts.reading import Reading
from .columns import Selection
from .file_reading import FileReading
from .row_filter import RowFilter


def described(
    *,
    truth: str | Sequence[str] = (),
    prob: str | Sequence[str] = (),
    pairs: Sequence[tuple[str, str]] = (),
    weight: str | None = None,
    clusters: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    where: str = "",
    **reading: Unpack[Reading],
) -> tuple[Selection, FileReading]:
    """Put into words of the readers what a caller says of columns and rows."""
    refuse_unknown(
        "tally_files",
        reading,
        [*Reading.__annotations__, "truth", "prob", "pairs", "weight", "clusters", "by", "where"],
    )
    if bool(pairs) == bool(truth and prob) or bool(truth) != bool(prob):
        raise InputError("truth and prob: name the columns of both, or pairs of (probability, outcome) columns.")
    paired = [f"{p}={t}" for p, t in pairs]
    selection = Selection(
        names(truth), names(prob), paired, weight, names(clusters or ()), names(by), where=RowFilter(where)
    )
    labels, pos_label, ignore_label = (reading.get(name) for name in _LABELS)
    return selection, FileReading(
        None if labels is None else names(labels),
        None if pos_label is None else str(pos_label),
        None if ignore_label is None else names(ignore_label),
        options={"scale": reading.get("scale", "probability"), "invalid": reading.get("invalid", "refuse")},
    )


_LABELS = ("labels", "pos_label", "ignore_label")


def names(value: Any) -> list[str]:
    """Give one name or several as texts."""
    several = hasattr(value, "__iter__") and not isinstance(value, str)
    return [str(each) for each in (value if several else [value])]
