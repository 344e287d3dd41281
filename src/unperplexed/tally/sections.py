"""Sections of a tally's file, each read when asked for, once it is known to be no longer than it can be.

What the counts of a tally can be: limits, and how they must go together. What is not so was not counted.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError, is_whole
from .._lib.typing import Floats
from ..kernels.rows import COARSE_CELLS, HALF_BITS, Grid
from .class_tables import ClassPairCells, ClassPairCounts, ClassPairTable, paired
from .shards import ShardScores
from .tables import Cells, Keyed, PairTable

MOST_PAIRS = 1 << 53
"""Rows times classes of a tally: up to here every count is exact, and so the sum of tallies the same in any order."""

MOST_LABELS, MOST_LABEL_BYTES = 1_000_000, 1 << 26
"""Different labels of a file, and bytes of all of them together: they are held in memory."""

_TEXT_OR_COMMA = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|,', re.DOTALL)
"""A text ends with the JSON if nothing else ends it, so that none is read twice."""

_MOST_WEIGHT = 1e140
"""More than any 2^53 rows weigh, whose weights are at most 1e100."""

ROUNDED = 1 + 1e-9
"""A sum of parts may be so many times the whole by rounding."""

MOST_WHOLE = 1 << 62
"""Whole numbers in a file are below this: two of them add up within 64 bits."""

_LOOSE = 1e-6
"""Relative room for the last digits of sums with weights."""


def refuse_too_many(n_rows: int, n_classes: int, left_out: int) -> None:
    """Refuse counts that would no longer be exact."""
    if max(n_rows * max(1, n_classes), left_out) > MOST_PAIRS:
        raise InputError(
            f"{max(n_rows, left_out):,} rows of {n_classes:,} classes: a tally counts up to 2^53 (9.0e15) pairs, rows"
            " times classes, beyond which counts are not exact."
        )


def require(holds: bool | np.bool_, what: str) -> None:
    """Refuse a file that cannot be."""
    if not holds:
        raise ValueError(what)


def check_values(text: bytes, most: int, what: str) -> None:
    """Refuse JSON of more values than there can be before it is read: each takes more memory than its text."""
    if text.count(b",") < most:
        return
    commas = (1 for found in _TEXT_OR_COMMA.finditer(text) if text[found.start()] == ord(","))
    require(next(islice(commas, most, None), None) is None, f"{what} have more than {most:,} values")


def require_close(found: float, expected: float, what: str) -> None:
    """Refuse sums that differ by more than their last digits."""
    require(abs(found - expected) <= _LOOSE * expected, what)


def check_weights(state: Mapping[str, Any]) -> None:
    """Hold the sums of weights against the number of rows."""
    refuse_too_many(state["n_rows"], state["n_classes"], state["notes"].ignored)
    n, weight, squared = state["n_weighing"], state["weight"], state["weight_squared"]
    require((n > 0) == (weight > 0), "rows have no weight")
    if not state["weighted"]:
        require(weight == squared == state["n_rows"] == n, "the weight is not the number of rows")
    square = weight * weight
    possible = square <= n * squared * (1 + _LOOSE) and squared <= square * (1 + _LOOSE) and np.isfinite(square)
    require(possible, "squared weights do not go with weights")


def check_counts(name: str, table: PairTable, grid: Grid, weighted: bool, whole: Callable[[Floats], bool]) -> None:
    """Hold the columns of a table, none of them negative, against one another.

    Parameters
    ----------
    name : str
        What errors call the table.
    table : PairTable
        Counts by value or by cell.
    grid : Grid
        The cells.
    weighted : bool
        Whether rows have weights of their own; else all counts are whole numbers.
    whole : callable
        Whether all numbers of a column are whole.

    Raises
    ------
    ValueError
        For columns that no rows give.
    """
    happened, squared, some = table.happened, table.squared, table.happened > 0
    require((table.total > 0).all(), f"{name!r}: an entry counts nothing")
    if weighted:
        require(((squared > 0) == some).all(), f"{name!r}: squared weights where there are none")
        with np.errstate(over="ignore"):
            possible = (squared <= happened * happened * (1 + _LOOSE)) & (happened < _MOST_WEIGHT)
        require(possible.all(), f"{name!r}: squared weights do not go with weights")
    else:
        same = squared is happened or (squared == happened).all()
        require(same, f"{name!r}: squared weights of rows that all weigh 1")
        require(whole(happened) and (table.total is happened or whole(table.total)), f"{name!r}: parts of rows")
    if isinstance(table, Cells):
        _check_cells(name, table, grid, some)


def _check_cells(name: str, table: Cells, grid: Grid, some: Any) -> None:
    w, low, high, key, first = table.happened, table.low, table.high, table.key, table.first
    inside = (low <= high) & (grid.codes(low) == key) & (grid.codes(high) == key)
    if not some.all():
        empty = some | ((low == np.inf) & (high == -np.inf))
        require(empty.all(), f"{name!r}: a cell in which nothing happened has values")
        inside |= ~some
    require(inside.all(), f"{name!r}: values lie outside their cell")
    # Where nothing happened, this says that the sums of places and of their squares are 0. They are bounded by the
    # weight, which is bounded.
    last = ((1 << grid.shift) - 1) * (1 + _LOOSE)
    with np.errstate(over="ignore", invalid="ignore"):
        second = table.second_high * (1 << HALF_BITS) + table.second_low
        possible = (first <= w * last) & (first * first <= w * second * (1 + _LOOSE)) & (second <= first * last)
    require(possible.all(), f"{name!r}: places lie outside their cell")


_LONGEST_HEADER, _MOST_VALUES = 1 << 26, 1 << 17
"""Bytes and values of a header: far more than those of any tally, and soon read."""

_SMALL, _MOST_PACKED = 1 << 26, 100
"""No keys of a table longer than the first are packed by more than the second; zeros would be by a thousand."""


@dataclass
class Sections:
    """Sections by name, of a file whose first so many bytes come before its header."""

    stream: BinaryIO
    begin: int
    header_length: int
    all_packed: bool
    """Whether every section is compressed, as up to version 7 of the format."""
    _columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Those that were read."""
    _without_sign: set[int] = field(default_factory=set)
    """Which of them, by identity, are of whole numbers without a sign."""

    def __post_init__(self) -> None:
        """Read the header."""
        self._end = self.stream.seek(0, io.SEEK_END)
        self.stream.seek(self.begin)
        require(self.header_length <= _LONGEST_HEADER, f"a header of {self.header_length:,} bytes")
        header = self.stream.read(self.header_length)
        check_values(header, _MOST_VALUES, "headers")
        self.header = json.loads(header)
        at = self.begin + self.header_length
        self.places: dict[str, tuple[int, dict[str, Any]]] = {}
        for section in self.header["sections"]:
            self.places[section["name"]] = at, section
            at += section["stored"]

    def read(self, name: str, longest: int) -> bytes:
        """Unpack a section of at most so many bytes."""
        at, section = self.places[name]
        require(0 <= section["stored"] <= self._end - at, f"section {name!r} is longer than the file")
        require(0 <= section["length"] <= longest, f"section {name!r} is longer than can be")
        self.stream.seek(at)
        body = self.stream.read(section["stored"])
        if section["stored"] == section["length"] and not self.all_packed:
            require(len(body) == section["length"], f"section {name!r} is not of its length")
            return body
        unpacker = zlib.decompressobj()
        body = unpacker.decompress(body, section["length"] or 1)
        if len(body) != section["length"] or not unpacker.eof:
            raise ValueError(f"section {name!r} is not of its length")
        return body

    def by_class(self, name: str, n_classes: int, room: int, sums: tuple[float, float]) -> ClassPairCounts:
        """Read a part that counts by class, at most so many pairs, whose totals and happened have these sums.

        Parameters
        ----------
        name : str
            The part: "classes" or "predictions".
        n_classes : int
            Number of classes.
        room : int
            Entries that a table by value has at most.
        sums : (float, float)
            What the totals and the weights that happened add up to.

        Raises
        ------
        ValueError
            For a table that no rows give.
        """
        if name in self.header["exact_parts"]:
            table: ClassPairCounts = self.table(ClassPairTable, name, complex(n_classes - 1, 1), room)
        else:
            cells = n_classes * COARSE_CELLS
            table = self.table(ClassPairCells, name, cells - 1, cells)
        for sum_, expected in zip((table.total.sum(), table.happened.sum()), sums, strict=True):
            require_close(sum_, expected, f"{name!r} does not add up to the weight")
        return table

    def _keys(self, kind: type[Keyed], name: str, room: int) -> NDArray[Any]:
        """Read what the other columns are held against, of no more than the file may well hold."""
        last = f"{name}/{'value' if kind is ClassPairTable else 'key'}"
        room = min(room, max(_SMALL, _MOST_PACKED * self.places[last][1]["stored"]) // 8)
        value = self.column(last, room)
        if kind is not ClassPairTable:
            return value
        group = self.column(f"{name}/group", value.size)
        require((group == np.floor(group)).all(), f"a group of {name!r} is no whole number")
        require(((value >= 0) & (value <= 1)).all(), f"a value of {name!r} is no probability")
        return paired(group, value)

    def table(self, kind: type[Keyed], name: str, highest: complex, room: int) -> Any:
        """Read a table of at most so many keys, none of them higher.

        Parameters
        ----------
        kind : type
            Class of the table, a `Keyed`.
        name : str
            What the names of its sections begin with.
        highest : int or complex
            The highest key that there can be.
        room : int
            Number of keys that there can be.

        Raises
        ------
        ValueError
            For columns of other types, lengths or ranges, and for keys out of order.
        """
        key = self._keys(kind, name, room)
        in_range = not key.size or (key[0] >= 0 and key[-1] <= highest and (key[1:] > key[:-1]).all())
        require(in_range, f"keys of {name!r} are out of order or out of range")
        columns = {"key": key} | {f.name: self.column(f"{name}/{f.name}", key.size) for f in fields(kind)[1:]}
        require(all(column.size == key.size for column in columns.values()), f"columns of {name!r} differ in length")
        for column, values in columns.items():
            own = kind.key_type if column == "key" else np.float64
            require(values.dtype == own, f"{name}/{column} is of another type")
            require(self._possible(kind, column, values), f"{name}/{column} is out of range")
        if "happened" in columns and columns["happened"] is not columns["total"]:
            require((columns["happened"] <= columns["total"] * ROUNDED).all(), f"{name!r}: more than all happened")
        return kind(**columns)

    def _possible(self, kind: type[Keyed], column: str, values: NDArray[Any]) -> bool | np.bool_:
        """Whether all values of a column are what it can have; none is not a number."""
        if column in ("low", "high"):  # `check_counts` holds those of all classes against the bounds of their cells
            return kind is not ClassPairCells or np.all((values >= 0) & (values <= 1) | np.isinf(values))
        if kind is ShardScores and column != "key":  # of either sign, and infinite where a score is
            return not np.isnan(values).any()
        return self._unsigned(values) or np.all((values >= 0) & np.isfinite(values))

    def whole(self, values: Floats) -> bool:
        """Whether all numbers of a column are whole, as the type in which they are written may say."""
        return self._unsigned(values) or bool((values == np.floor(values)).all())

    def _unsigned(self, values: NDArray[Any]) -> bool:
        return id(values) in self._without_sign

    def column(self, name: str, room: int) -> NDArray[Any]:
        """Read a column of at most so many numbers; those that are the same are one array."""
        section = self.places[name][1]
        if "same" in section:
            same = self.places[section["same"]][1]
            of_table = section["same"].rpartition("/")[0] == name.rpartition("/")[0]
            like = "same" not in same and same["type"] == section["type"]
            require(of_table and like, f"section {name!r} repeats another")
            name = section["same"]
        if name not in self._columns:
            self._columns[name] = self._read_column(name, room)
        require(self._columns[name].size <= room, f"section {name!r} is longer than can be")
        return self._columns[name]

    def _read_column(self, name: str, room: int) -> NDArray[Any]:
        section = self.places[name][1]
        kind = TYPES[section["type"]]
        stored = STORED[section.get("as", section["type"])]
        values = np.frombuffer(self.read(name, stored.itemsize * room), dtype=stored)
        if "from" in section:
            # Steps of 1 would be packed by a thousand, and all other columns have as many numbers as a table has keys.
            require(kind == np.int64 and section["stored"] == section["length"], f"section {name!r} has no steps")
            return summed(values, section["from"])
        found = values.astype(kind, copy=False)
        if stored.kind == "u":
            self._without_sign.add(id(found))
        return found


TYPES = {name: np.dtype(name) for name in ("<f8", "<i8", "|u1")}
_NARROW = tuple(np.dtype(name) for name in ("|u1", "<u2", "<u4"))
STORED = TYPES | {kind.str: kind for kind in _NARROW}
"""Types of columns, and those of their numbers in a file."""


def repeated(columns: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Name the columns that equal an earlier one of their table, as the weights of rows that all weigh 1."""
    found: dict[str, str] = {}
    before: dict[tuple[str, str, bytes], str] = {}
    for name, column in columns.items():
        first = before.setdefault((name.rpartition("/")[0], column.dtype.str, column.tobytes()), name)
        if first != name and column.size:
            found[name] = first
    return found


def narrow(column: NDArray[Any]) -> np.dtype[Any]:
    """Give the narrowest type that holds a column: that of whole numbers where they are."""
    own = column.dtype.newbyteorder("<")
    if own.itemsize == 1 or not column.size or np.signbit(column).any() or not np.isfinite(column).all():
        return own
    if (column != np.floor(column)).any():
        return own
    return next((kind for kind in _NARROW if column.max() <= np.iinfo(kind).max), own)


def compact(column: NDArray[Any]) -> tuple[bytes, dict[str, Any]]:
    """Give a column in few bytes, and how they are to be read: their type, and whether they are steps from a number."""
    kind, how = narrow(column), dict[str, Any]()
    if column.dtype == np.int64 and column.size > 1 and (column[1:] >= column[:-1]).all():  # keys in order
        steps = np.diff(column, prepend=column[:1])
        if (of_steps := narrow(steps)).itemsize < kind.itemsize:
            kind, how, column = of_steps, {"from": int(column[0])}, steps
    if kind != column.dtype:
        how["as"] = kind.str
    return column.astype(kind).tobytes(), how


def summed(steps: NDArray[Any], start: Any) -> NDArray[np.int64]:
    """Give the column that is written in these steps."""
    require(is_whole(start, -MOST_WHOLE, MOST_WHOLE - 1), "steps begin nowhere")
    return np.cumsum(steps, dtype=np.int64) + int(start)


_PIECE, _EVERY = 1 << 10, 1 << 13
"""Pieces this long, at these intervals of a long section, show whether it is worth compressing."""


_LEFT = 0.7
"""Share of its bytes to which a sample must shrink, for all of its section to be compressed."""


def packed(body: bytes) -> bytes:
    """Compress a section, or leave it as it is where that saves less than half: then its length is what is stored.

    Tallies of 10^5 to 10^7 rows of two classes are a quarter to a third larger than if all were compressed, and read
    in less than half the time.
    """
    if len(body) > 2 * _EVERY:
        sample = b"".join(body[at : at + _PIECE] for at in range(0, len(body), _EVERY))
        if len(zlib.compress(sample, 1)) > _LEFT * len(sample):
            return body
    found = zlib.compress(body, 1)
    return found if 2 * len(found) < len(body) else body
