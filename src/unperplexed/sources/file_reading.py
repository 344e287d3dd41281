"""How the rows of a file, or of a part of a frame, are to be read, and what errors call it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._lib.dataclasses import Frozen, field
from .._lib.errors import InputError
from ..forecasts.labels import USUAL_MARKS
from .readers import Cells, Options, Source
from .readers.text_streams import checked_encoding


class FileReading(Frozen):
    """How rows are to be read: the options of `Forecasts`, with labels still as text."""

    labels: Sequence[str] | None = None
    pos_label: str | None = None
    ignore_label: Sequence[str] | None = None
    separator: str | None = None
    """None for that of the format: a comma, a tab, or a semicolon where numbers have decimal commas."""
    options: dict[str, Any] = field(default_factory=dict)
    """scale, invalid."""
    decimal_comma: bool = False
    format: str | None = None
    """The name of one of `formats()`; None to go by the file's name."""
    encoding: str = "utf-8"
    na: Sequence[str] | None = None
    """Marks of a missing value; none for the usual ones, None where nothing is said of them."""
    sheet: str | None = None
    whole: bool = True
    """Whether the class set may be read off the data: of a part of them it may not."""

    def __post_init__(self) -> None:
        """Refuse a separator that no reader knows."""
        if self.separator is not None and len(self.separator.encode()) != 1:
            raise InputError(f"separator (--separator): expected one character, or tab, got {self.separator!r}.")
        checked_encoding(self.encoding)

    @property
    def cells(self) -> Cells:
        """What is said of the text of cells."""
        missing = () if self.na is None else tuple(self.na) or USUAL_MARKS
        return Cells(missing, self.options.get("scale") == "percent")

    def written(self, mentioned: Sequence[str]) -> Options:
        """Say how files are written; the names are those of columns that were asked for."""
        return Options(self.separator or "", self.decimal_comma, mentioned, self.encoding, self.sheet)


class Partition(Frozen):
    """Rows that are read by themselves: a file, or a partition of a frame."""

    name: str
    """What errors call it."""
    source: Source
    origin: str = ""
    """What tallies call it, and the shards of rows without clusters go by."""
    kept: Any = None
    """The file, with which a copy of standard input would go."""


@contextmanager
def named(source: str, end: str = "") -> Iterator[None]:
    """Let errors begin with where they were found."""
    try:
        yield
    except InputError as error:
        raise error.reworded(f"{source}: {error}{end}") from None
    except MemoryError:
        raise InputError(f"{source}: does not fit in memory.") from None
