"""A tally as bytes: what is written, and what is checked before any of it is believed.

    8 bytes   magic
    4 bytes   version of the format
    4 bytes   length of the header
    8 bytes   length of the whole
    32 bytes  SHA-256 of everything else
    header    JSON: settings, single figures, and the list of sections
    sections  one after the other: the labels as JSON, all others columns of numbers; compressed with zlib where that
              halves it, whole numbers in the fewest bytes, keys as steps from one to the next. What equals a column of
              its table is not repeated, nor is a table of top-label pairs that are the last of all pairs

Numbers are little-endian. Nothing in it is ever executed. The same tally gives the same bytes, by the same version of
this package and of zlib.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError, is_number, is_whole
from .._version import __version__
from ..forecasts.forecasts import Notes
from ..forecasts.group_keys import N_SHARDS
from ..forecasts.labels import Label
from ..kernels.exact_sum import ExactSum
from ..kernels.rows import COARSE_CELLS
from .binary import BinaryRows
from .class_sums import MOST_CLASSES, ClassSums, length
from .class_tables import ClassPairTable, Coarse
from .counter import ROOM, RowSample, ScoreSums
from .sections import (
    MOST_LABEL_BYTES,
    MOST_LABELS,
    MOST_PAIRS,
    MOST_WHOLE,
    ROUNDED,
    Sections,
    check_counts,
    check_values,
    check_weights,
    compact,
    packed,
    repeated,
    require,
    require_close,
)
from .shards import PARTS, ShardRows, Shards, ShardScores
from .surprises import MOST, Surprise, least
from .tables import Cells, PairTable, grid_of
from .tags import UNKNOWN, Tags

MAGIC = b"\x89UPT\r\n\x1a\n"
"""Not text, and spoiled by whatever changes line ends."""

VERSION = 10
"""Version 1 differs in the part "classes"; 1 and 2 do not say whether shards are groups and how many rows weigh
anything, and keep no rows; up to 3 scores are summed over the rows of one column too; up to 5
rows of two classes are not kept by their outcome; up to 6 there is no part "diagnosis"; up to 7 there are no tags, and
every section is compressed and as wide as its type; up to 8 keys are not written in steps, and all tables are; up to 9
the part "diagnosis" does not tell whether columns were permuted."""

DISTRIBUTIONS = 11
"""Version of the format of tallies of predictive distributions, which are `distributions`."""

PREDICTIONS = 12
"""Version of the format of predictions without outcomes: as the first, with outcomes that stand in for unknown ones."""

ALONE = "alone"
"""Key of what is read of such a file."""

Other = TypeVar("Other")

NO_TEXTS: Mapping[str, bytes] = {}

_PREFIX = struct.Struct("<8sIIQ32s")
_BYTES_AT_ONCE = 1 << 16
"""Bytes that are read at once for the checksum."""

_LARGEST_SUM = 1e300
"""Sums with weights are below this, so that none overflows when two are added."""


def tally_bytes(state: Mapping[str, Any], version: int = VERSION, *, limited: bool = True) -> bytes:
    """Give the fields of a tally as bytes; refuse more labels than a file may have, if that is ``limited``."""
    in_pairs = _ends_of_pairs(state)
    others = {ties: table for ties, table in state["top_tables"].items() if str(ties) not in in_pairs}
    columns = dict(_columns({**state, "top_tables": others}))
    bodies = {"labels": json.dumps(state["labels"], ensure_ascii=False).encode("utf-8", "surrogatepass")}
    if limited and len(bodies["labels"]) > MOST_LABEL_BYTES:
        raise InputError(
            f"labels of {len(bodies['labels']) >> 20} MB; a tally file holds at most {MOST_LABEL_BYTES >> 20} MB."
        )
    if limited and len(state["labels"]) > MOST_LABELS:
        raise InputError(f"{len(state['labels']):,} labels; a tally file holds at most {MOST_LABELS:,}.")
    header = {
        **{name: state[name] for name in _PLAIN},
        "notes": asdict(state["notes"]),
        "sources": dict(state["sources"]),
        "tags": asdict(state["tags"]),
        "parts": [part for part in PARTS if state[part] is not None],
        "exact_parts": [part for part in _BY_CLASS if isinstance(state[part], ClassPairTable)],
        "grouped": state["shards"] is not None and state["shards"].clustered,
        "clustered": state["diagnosis"] is not None and state["diagnosis"].clustered,
        "by_outcome": state["diagnosis"] is not None and state["diagnosis"].by_outcome,
        "row_sample": state["row_sample"] is not None,
        "surprises": state["surprises"],
        "binary": state["binary"] is not None,
        "top_tables": list(state["top_tables"]),
        "top_in_pairs": in_pairs,
        "scores": {name: sums_text(sums) for name, sums in state["score_sums"].items()},
    }
    return file_bytes(version, header, columns, bodies)


def sums_text(sums: Sequence[ExactSum]) -> list[list[str]]:
    """Give sums as texts, which `sums_of` reads."""
    return [[str(each.units), repr(each.rest)] for each in sums]


def file_bytes(
    version: int, header: Mapping[str, Any], columns: Mapping[str, NDArray[Any]], texts: Mapping[str, bytes] = NO_TEXTS
) -> bytes:
    """Give a header and columns as the bytes of a file."""
    bodies = dict(texts)
    same = repeated(columns)
    how: dict[str, dict[str, Any]] = {name: {"type": "json"} for name in texts}
    for name, column in columns.items():
        bodies[name], how[name] = (b"", {"same": same[name]}) if name in same else compact(column)
        how[name]["type"] = column.dtype.newbyteorder("<").str
    stored = {name: body if "from" in how[name] else packed(body) for name, body in bodies.items()}
    sections = [
        {"name": name, "length": len(bodies[name]), "stored": len(content), **how[name]}
        for name, content in stored.items()
    ]
    by = {"written_by": f"unperplexed {__version__}"}
    head = json.dumps({**by, **header, "sections": sections}, ensure_ascii=True).encode()
    body = b"".join([head, *stored.values()])
    length = _PREFIX.size + len(body)
    digest = hashlib.sha256(_PREFIX.pack(MAGIC, version, len(head), length, bytes(32)) + body).digest()
    return _PREFIX.pack(MAGIC, version, len(head), length, digest) + body


_BY_CLASS = ("classes", "predictions")

_SECTIONS = {
    "pairs": "pairs_table",
    "top": "top_tables",
    "binary": "binary",
    "rows": "row_sample",
    "classes": "classes",
    "predictions": "predictions",
    "diagnosis": "diagnosis",
    "shards": "shards",
}
"""Fields that are written in columns, by what the names of their sections begin with."""


def _columns(state: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Columns of all tables by the name of their section."""
    for section, field in _SECTIONS.items():
        yield from _named(section, state[field])


def _named(name: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Columns of a table, or of several, by name."""
    if isinstance(value, np.ndarray):
        yield name, value.ravel()
        return
    parts = vars(value) if is_dataclass(value) else value if isinstance(value, Mapping) else {}
    if isinstance(value, ClassPairTable):  # plain numbers, not complex ones
        others = {name: column for name, column in parts.items() if name != "key"}
        parts = {"group": value.key.real, "value": value.key.imag} | others
    for part, values in parts.items():
        yield from _named(f"{name}/{part}", values)


def _ends_of_pairs(state: Mapping[str, Any]) -> dict[str, int]:
    """Say which tables of top-label pairs are the last of all pairs, and how many: those above 1/2 of two classes."""
    pairs, tables = state["pairs_table"], state["top_tables"].items()
    return {str(ties): table.key.size for ties, table in tables if table.key.size and pairs.ends_with(table)}


def tally_state(data: bytes | BinaryIO, other: Callable[[Sections], Other]) -> dict[str, Any] | Other:
    """Read the fields of a tally, in little memory until all of it has been checked; ``other`` reads another kind."""
    stream = io.BytesIO(data) if isinstance(data, bytes | bytearray | memoryview) else data
    version, header_length = _checked_header(stream)
    try:
        sections = Sections(stream, _PREFIX.size, header_length, all_packed=version < 8)
        if version == DISTRIBUTIONS:
            return other(sections)
        if version < VERSION:
            _upgrade(sections.header, version)
        return _state(sections) | ({ALONE: True} if version == PREDICTIONS else {})
    except InputError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, zlib.error, RecursionError) as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "  # the former is of the checks
        raise InputError(f"its parts do not fit together ({kind}{error}). Make it anew.") from None


def _upgrade(header: dict[str, Any], version: int) -> None:
    """Make a header of an earlier version one of this, which it is but for the part that was counted otherwise."""
    header["by_outcome"] = False
    if version < 9:
        header["top_in_pairs"] = {}
    if version < 8:
        header["tags"] = {kind: list(UNKNOWN) for kind in ("names", "models", "periods")}
    if version < 6:
        header["binary"] = False
        if header["n_classes"] == 2 and "shards" in header["parts"]:
            raise InputError(
                f"of version {version} of the format, whose part 'shards' does not keep the two classes apart. Count it"
                " anew."
            )
    if version < 4:
        header["one_column"] = False  # scores were summed over all rows
    if version < 3:
        header["grouped"] = header["row_sample"] = False  # which were not kept
        header["n_weighing"] = header["n_rows"]
    if version < 2:
        if "classes" in header["parts"]:
            raise InputError(
                "of version 1 of the format, whose part 'classes' kept less than this version needs. Count it anew."
            )
        header["exact_parts"] = []


def of_distributions(path: str) -> bool:
    """Whether a file begins as a tally of predictive distributions does."""
    try:
        with Path(path).open("rb") as stream:
            begin = stream.read(len(MAGIC) + 4)
    except OSError:
        return False
    return begin == struct.pack("<8sI", MAGIC, DISTRIBUTIONS)


def _checked_header(stream: BinaryIO) -> tuple[int, int]:
    """Version and length of the header, once magic, length, checksum and version are checked.

    In this order, so that the reason given is the right one.
    """
    prefix = stream.read(_PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC[: len(prefix)] or not prefix:
        raise InputError("not a tally file; unperplexed tally makes one from forecasts.")
    start = stream.seek(0, io.SEEK_END)
    if len(prefix) < _PREFIX.size:
        raise InputError(f"truncated: {len(prefix)} bytes, less than the beginning of a tally.")
    _, version, header_length, length, digest = _PREFIX.unpack(prefix)
    if start < length:
        raise InputError(f"truncated: {start:,} bytes of {length:,}. Copy or make it anew.")
    if start > length:
        raise InputError(f"{start - length:,} bytes too long: {start:,} instead of {length:,}. Copy or make it anew.")
    found = hashlib.sha256(prefix[: -len(digest)] + bytes(len(digest)))
    stream.seek(_PREFIX.size)
    while chunk := stream.read(_BYTES_AT_ONCE):
        found.update(chunk)
    if found.digest() != digest:
        raise InputError("damaged: its content does not match its checksum. Copy or make it anew.")
    if not 1 <= version <= PREDICTIONS:
        raise InputError(f"of version {version} of the format; unperplexed {__version__} reads up to {PREDICTIONS}.")
    return int(version), int(header_length)


def _whole(value: Any, highest: int = MOST_WHOLE) -> int:
    require(is_whole(value, 0, highest), f"{value!r:.40} is no count")
    return int(value)


def _weight(value: Any) -> float:
    require(is_number(value, 0) and value < np.inf, f"{value!r:.40} is no weight")
    return float(value)


def _flag(value: Any) -> bool:
    require(isinstance(value, bool), f"{value!r:.40} is neither true nor false")
    return bool(value)


def _label(value: Any) -> Label | None:
    require(value is None or isinstance(value, bool | int | float | str), f"{value!r:.40} is no label")
    require(value == value, "a label is not a number")  # noqa: PLR0124
    return value  # type: ignore[no-any-return]


def _labels(text: bytes) -> tuple[Label | None, ...]:
    check_values(text, MOST_LABELS, "labels")
    return tuple(map(_label, json.loads(text.decode("utf-8", "surrogatepass"))))


def sums_of(texts: Any) -> ScoreSums:
    """Read the sums of a score from their texts."""
    require(len(texts) == 3, "a score has three sums")
    one, two, three = (_sum_of(*each) for each in texts)
    return one, two, three


def _sum_of(units: Any, rest: Any) -> ExactSum:
    require(isinstance(units, str) and isinstance(rest, str) and not np.isnan(float(rest)), "a score has no sum")
    return ExactSum(int(units), float(rest))


def _notes(notes: dict[str, Any]) -> Notes:
    dropped = {str(reason): _whole(count) for reason, count in notes["dropped"].items()}
    return Notes(_whole(notes["ignored"]), dropped, _whole(notes["rescaled"]), _weight(notes["largest_deviation"]))


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "exact_limit": partial(_whole, highest=(1 << 40) - 1),
    "fraction_bits": lambda bits: 3 + _whole(bits - 3, 17),
    "n_rows": partial(_whole, highest=MOST_PAIRS),
    "n_weighing": _whole,
    "n_classes": _whole,
    "weighted": _flag,
    "one_column": _flag,
    "weight": _weight,
    "weight_squared": _weight,
    "exact": _flag,
}
"""Fields that are written as they are, and what checks each."""


def _state(sections: Sections) -> dict[str, Any]:
    """Read all fields, each checked for its kind and range."""
    header = sections.header
    state = {name: checked(header[name]) for name, checked in _PLAIN.items()}
    _whole(state["n_weighing"], state["n_rows"])
    state |= {
        "notes": _notes(header["notes"]),
        "sources": {str(name): _whole(rows) for name, rows in header["sources"].items()},
        "tags": Tags.of_file(header["tags"]),
        "labels": _labels(sections.read("labels", MOST_LABEL_BYTES)),
    }
    n_classes, cells = state["n_classes"], grid_of(state["fraction_bits"]).size
    require(len(state["labels"]) == n_classes, f"{len(state['labels'])} labels for {n_classes} classes")
    kind, highest = (PairTable, 1) if state["exact"] else (Cells, cells - 1)
    room = min(state["n_rows"] * n_classes, state["exact_limit"] if state["exact"] else cells)
    scores = {name: sums_of(sums) for name, sums in header["scores"].items()}
    require(n_classes == 2 or not state["one_column"], "one column is of two classes")
    rows = _row_sample(sections, state["n_weighing"], n_classes) if _flag(header["row_sample"]) else None
    parts = header["parts"]
    require(isinstance(parts, list) and set(parts) <= set(PARTS), "parts are not known")
    exact = header["exact_parts"]
    require(isinstance(exact, list) and set(exact) <= {*_BY_CLASS} & set(parts), "exact parts are not known")
    pairs = sections.table(kind, "pairs", highest, room)
    found = {
        "score_sums": scores,
        "pairs_table": pairs,
        "top_tables": _top_tables(sections, pairs, n_classes, highest, room),
        "row_sample": rows,
        "binary": _binary(sections, state, kind, highest, room) if _flag(header["binary"]) else None,
        "shards": _shards(sections, list(scores), _flag(header["grouped"])) if "shards" in parts else None,
        "surprises": _surprises(header["surprises"], state) if "surprises" in parts else None,
        "diagnosis": _diagnosis(sections, state) if "diagnosis" in parts else None,
    }
    weight = state["weight"]
    check_weights(state)
    tops = found["top_tables"].values()
    for sum_, expected in (
        (pairs.total.sum(), weight * n_classes),
        (pairs.happened.sum(), weight),
        (pairs.squared.sum(), state["weight_squared"]),
        (sum(table.total.sum() for table in tops), weight),
    ):
        require_close(float(sum_), expected, "the counts do not add up to the weight")
    others = {ties: table for ties, table in found["top_tables"].items() if str(ties) not in header["top_in_pairs"]}
    tables = {"pairs": pairs} | {f"top/{ties}": table for ties, table in others.items()}
    for name, table in (tables | (vars(found["binary"]) if found["binary"] else {})).items():
        check_counts(name, table, grid_of(state["fraction_bits"]), state["weighted"], sections.whole)
    hits = sum(table.happened.sum() / ties for ties, table in found["top_tables"].items())
    sums = {"classes": (weight * n_classes, weight), "predictions": (weight, hits)}
    room = min(state["n_rows"] * n_classes, state["exact_limit"])
    by_class = {
        name: sections.by_class(name, n_classes, room, sums[name]) if name in parts else None for name in _BY_CLASS
    }
    return state | found | by_class


def _top_tables(sections: Sections, pairs: PairTable, n_classes: int, highest: int, room: int) -> dict[int, PairTable]:
    in_pairs, found = sections.header["top_in_pairs"], {}
    for ties in sections.header["top_tables"]:
        if str(_whole(ties, n_classes)) in in_pairs:
            size = _whole(in_pairs[str(ties)], pairs.key.size)
            found[ties] = pairs.only(slice(pairs.key.size - size, None))
        else:
            found[ties] = sections.table(type(pairs), f"top/{ties}", highest, room)
    return found


def _row_sample(sections: Sections, n_rows: int, n_classes: int) -> RowSample:
    room = ROOM // n_classes if 2 < n_classes <= ROOM else 0
    key, count = (sections.column(f"rows/{name}", room) for name in ("key", "count"))
    cells = sections.column("rows/cells", room * n_classes)
    kinds = (column.dtype.str for column in (key, count, cells))
    require(tuple(kinds) == ("<i8", "<f8", "|u1"), "rows are of another type")
    require(key.size == count.size and cells.size == key.size * n_classes, "columns of rows differ in length")
    require((np.diff(key) > 0).all() and (key >= 0).all() and (count >= 1).all(), "rows are out of order")
    total = float(count.sum())
    require(total <= n_rows and (total == n_rows or key.size == room), "there are other rows than were counted")
    return RowSample(key, count, cells.reshape(key.size, n_classes))


def _binary(sections: Sections, state: Mapping[str, Any], kind: type[PairTable], highest: int, room: int) -> BinaryRows:
    require(state["n_classes"] == 2, "rows are kept by their outcome for two classes")
    found = BinaryRows(*(sections.table(kind, f"binary/{name}", highest, room) for name in ("negative", "positive")))
    for column in ("total", "happened"):
        weight = sum(float(getattr(table, column).sum()) for table in (found.negative, found.positive))
        require_close(weight, state["weight"], "rows by outcome do not add up to the weight")
    return found


def _diagnosis(sections: Sections, state: Mapping[str, Any]) -> ClassSums:
    classes, *kept = state["n_classes"], *(_flag(sections.header[name]) for name in ("clustered", "by_outcome"))
    require(2 < classes <= MOST_CLASSES, "a diagnosis is kept of three classes or more")
    size = length(classes, *kept)
    high, low, rest = (sections.column(f"diagnosis/{name}", size) for name in ("high", "low", "rest"))
    require([x.dtype.str for x in (high, low, rest)] == ["<i8", "<i8", "<f8"], "sums are of another type")
    require(high.size == low.size == rest.size == size, "there are other sums than are kept")
    require((low >= 0).all() and (low < 1 << 32).all(), "half a sum is out of range")
    require((high > -MOST_WHOLE).all() and (high < MOST_WHOLE).all(), "a sum is out of range")
    require((np.abs(rest) < _LARGEST_SUM).all() and (state["weighted"] or not rest.any()), "a sum is no sum of rows")
    found = ClassSums(classes, high, low, rest, *kept)
    require(found["rows"][0] == state["n_weighing"], "the diagnosis is of other rows than were counted")
    require_close(float(found["observed"].sum()), state["weight"], "the diagnosis does not add up to the weight")
    positive = (*_COUNTS, *(("squares", "raised") if found.by_outcome else ()))
    require(all((found[name] >= 0).all() for name in positive), "a sum of the diagnosis is negative")
    return found


_COUNTS = ("observed", "predicted", "squared_predicted", "squared_weight", "cells", "cell_sums", "right", "wrong")


def _surprises(rows: list[Any], state: Mapping[str, Any]) -> tuple[Surprise, ...]:
    found, last = [], state["n_classes"] - 1
    for probability, source, row, happened, predicted, highest, weight in rows:
        require(isinstance(source, str), "a source is no text")
        require(0 <= _weight(probability) <= _weight(highest) <= 1, "a row's value is no probability")
        require(_weight(weight) > 0 and (state["weighted"] or weight == 1), "a surprising row has another weight")
        classes = _whole(happened, last), _whole(predicted, last)
        found.append(Surprise(float(probability), source, _whole(row), *classes, float(highest), float(weight)))
    require(sum(row.weight for row in found) <= state["weight"] * ROUNDED, "surprising rows weigh more than all")
    require(found == [*least(found)], "surprising rows are too many or out of order")
    require(len(found) == min(MOST, state["n_weighing"]), "there are other surprising rows than were counted")
    return tuple(found)


def _shards(sections: Sections, names: list[str], clustered: bool) -> Shards:
    last, cells = N_SHARDS - 1, N_SHARDS * COARSE_CELLS
    scores = {name: sections.table(ShardScores, f"shards/scores/{name}", last, N_SHARDS) for name in names}
    rows = sections.table(ShardRows, "shards/rows", last, N_SHARDS)
    return Shards(rows, sections.table(Coarse, "shards/pairs", cells - 1, cells), scores, clustered)
