"""What a caller says of columns and rows, in the words of the readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from .._lib.errors import InputError
from ..forecasts.reading import DEFAULTS, Reading
from ..tally.tally import EXACT_LIMIT, FRACTION_BITS, Counted
from .columns import Selection
from .file_reading import FileReading
from .row_filter import RowFilter


class Columns(Counted, Reading, total=False):
    """Options of counting a frame: what is counted, which columns hold what, and how they are read."""

    truth: str | Sequence[str]
    prob: str | Sequence[str]
    pairs: Sequence[tuple[str, str]]
    weight: str | None
    clusters: str | Sequence[str] | None
    where: str


class FileColumns(Columns, total=False):
    """Options of counting files: the same, and how they are written and who reads them."""

    format: str | None
    separator: str | None
    decimal_comma: bool
    encoding: str
    na: str | Sequence[str] | None
    sheet: str | None
    progress: bool
    engine: str


ASKED: dict[str, Any] = {**DEFAULTS, "truth": (), "prob": (), "pairs": (), "where": "", "metrics": (), "parts": ()}
ASKED |= {"exact_limit": EXACT_LIMIT, "fraction_bits": FRACTION_BITS}
ASKED |= {"decimal_comma": False, "encoding": "utf-8", "progress": False, "engine": "local"}
"""Of options that are None unless they are given, but for these."""


def described(asked: Mapping[str, Any], by: str | Sequence[str] = ()) -> tuple[Selection, FileReading]:
    """Put into words of the readers what a caller says of columns and rows."""

    def said(name: str) -> Any:
        return asked.get(name, ASKED.get(name))

    if bool(said("pairs")) == bool(said("truth") and said("prob")) or bool(said("truth")) != bool(said("prob")):
        raise InputError("truth and prob: name the columns of both, or pairs of (probability, outcome) columns.")
    paired = [f"{p}={t}" for p, t in said("pairs")]
    columns = names(said("truth")), names(said("prob")), paired, said("weight"), names(said("clusters") or ())
    written = {name: said(name) for name in ("format", "separator", "decimal_comma", "encoding", "sheet")}
    labels, na, pos_label, ignore_label = (said(name) for name in ("labels", "na", "pos_label", "ignore_label"))
    reading = FileReading(
        None if labels is None else names(labels),
        None if pos_label is None else str(pos_label),
        None if ignore_label is None else names(ignore_label),
        options={name: said(name) for name in ("scale", "invalid")},
        na=None if na is None else names(na),
        **written,
    )
    return Selection(*columns, names(by), where=RowFilter(said("where"))), reading


def counting_of(asked: Mapping[str, Any]) -> Counted:
    """Give the options of what is counted."""
    return cast("Counted", {name: asked[name] for name in Counted.__annotations__ if name in asked})


def names(value: Any) -> list[str]:
    """Give one name or several as texts."""
    several = hasattr(value, "__iter__") and not isinstance(value, str)
    return [str(each) for each in (value if several else [value])]
