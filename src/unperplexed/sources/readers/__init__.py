"""Files of named columns, read batch by batch in memory that does not grow with the file.

A reader is a function ``(path, options) -> Source``. It looks at the file's header only; `Source.batches` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from ..._lib.arrays import Columns, Unreadable
from ..._lib.dataclasses import Frozen, field
from ..._lib.errors import InputError
from ..._lib.typing import Ints

if TYPE_CHECKING:
    import polars as pl

Column: TypeAlias = "pl.Series | NDArray[Any]"

BATCH_VALUES = 1 << 20
"""Numbers in a batch of a binary format: 4 to 8 MB. More takes more memory and measured no faster."""

BATCH_ROWS = 1 << 18
"""Most rows in such a batch."""

Batches = Callable[[], Iterator["Batch"]]
"""What reads a file, or a stretch of it."""


class Options(Frozen):
    """What the user says about how a file is written."""

    separator: str = ""
    """Between the fields of a text file; "" for that of the format, which an opener is given."""
    decimal_comma: bool = False
    mentioned: Sequence[str] = ()
    """Names asked for as columns, which may be files beside an array file."""
    encoding: str = "utf-8"
    """Encoding of a text file."""
    sheet: str | None = None
    """Sheet of a spreadsheet."""


class Cells(Frozen):
    """What the user says about the text of cells, whatever the format."""

    missing: Sequence[str] = ()
    """Texts that mark a missing value, in outcomes too; more than those that always do so among numbers."""
    percent: bool = False
    """Whether numbers may end in a percent sign."""

    @property
    def missing_numbers(self) -> list[float]:
        """Marks of a missing value that are numbers, such as -999."""
        found = []
        for mark in self.missing:
            with suppress(ValueError):
                found.append(float(mark))
        return [number for number in found if not isnan(number)]


class Wanted(Frozen):
    """The columns to read, by what they hold."""

    probabilities: Sequence[Sequence[str]] = ()
    """Groups of columns; those of a group stand side by side, one for each class."""
    numbers: Sequence[str] = ()
    raw: Sequence[str] = ()
    """Columns to be given as they are: outcomes and groups."""
    cells: Cells = Cells()

    @property
    def names(self) -> list[str]:
        """Every column once, in the order asked for."""
        return list(dict.fromkeys([*self.raw, *self.numeric]))

    @property
    def numeric(self) -> list[str]:
        """Those that hold numbers, once each."""
        return list(dict.fromkeys([*chain.from_iterable(self.probabilities), *self.numbers]))


class Batch(Frozen):
    """Successive rows of the wanted columns."""

    probabilities: list[Columns]
    numbers: dict[str, Column]
    raw: dict[str, Column]
    first_row: int
    n_rows: int
    position: int
    """Bytes of the file that lie behind."""
    last: bool
    unreadable: Unreadable | None = None
    """Text in the columns of numbers that are no probabilities; theirs is with them."""
    stretch: Ints | None = None
    """Of a sample, which stretch of successive rows each row is in."""


class Source(Frozen):
    """A file whose columns are known and can be read by name."""

    names: list[str]
    batches: Callable[[Wanted], Iterator[Batch]]
    """At least one batch, of no rows if the file has none."""
    size: int
    """Bytes of the file."""
    inside: frozenset[str] = frozenset()
    """Names that are paths into columns."""
    folders: frozenset[str] = frozenset()
    """Names of columns that folders around the file name."""
    untyped: bool = False
    """Whether raw columns are text whose kind (number, boolean, word) only the whole column tells."""
    numbers: frozenset[str] = frozenset()
    """Columns of which it is known without reading them that they hold numbers, or true and false."""
    values: Callable[[str], Column | None] = lambda _: None
    """What values a column has, each once, where the file tells without being read through."""
    fractions: Callable[[], frozenset[str]] = frozenset
    """Columns of numbers with fractions, as far as the file tells without being read through."""
    shapes: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    """Shape and dtype kind of each array, where the file says (NPZ, NPY)."""
    stretches: Callable[[Wanted], Iterable[Batches]] | None = None
    """What reads successive stretches that can be read at the same time, if it has such: together they are the batches.

    It reads nothing by itself."""
    rows: int = 0
    """Number of its rows, of a text file nearly; 0 where that is not known before they are read."""
    sampled: Callable[[Wanted, float], Iterator[Batch]] | None = None
    """What reads such a share of the rows for less than all of them cost, as one batch: stretches from all over."""

    def streams(self, wanted: Wanted, share: float = 1.0) -> Iterable[Batches]:
        """Give what reads its stretches, or all of it; or a share of the rows, if it can."""
        if share < 1 and self.sampled is not None:
            return [partial(self.sampled, wanted, share)]
        return [partial(self.batches, wanted)] if self.stretches is None else self.stretches(wanted)


Opener = Callable[[Path, Options], Source]

ARRAYS = (".npz", ".npy", ".pt", ".pth")
"""Suffixes of files of arrays, of which one may be named as a column beside another."""


def array_files(names: Sequence[str]) -> dict[str, Path]:
    """Find the files of arrays among names of columns."""
    return {name: path for name in names if (path := Path(name)).suffix.lower() in ARRAYS and path.is_file()}


class Format(Frozen):
    """A file format. A module of this folder lists its formats in ``FORMATS``; its openers import heavy libraries."""

    name: str
    open: Opener
    suffixes: Sequence[str]
    magic: Sequence[bytes] = ()
    """How such files begin; text may have blanks before it."""
    text: bool = False
    """Whether it is text, which may be compressed, and of another encoding."""
    separator: str | None = None
    """What separates fields unless the user says otherwise; None where nothing does."""
    rank: int = 9
    """Place in messages: common formats come first."""


def batch_rows(values_per_row: int) -> int:
    """How many rows make a batch."""
    return max(1, min(BATCH_ROWS, BATCH_VALUES // max(1, values_per_row)))


def unreadable(kind: str, error: Exception) -> InputError:
    """Say why a file cannot be read."""
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"not a readable {kind} file, perhaps truncated or of another format: {reason}.")
