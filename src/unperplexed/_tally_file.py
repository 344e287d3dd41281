"""A tally as bytes: what is written, and what is checked before any of it is believed.

    8 bytes   magic
    4 bytes   version of the format
    4 bytes   length of the header
    8 bytes   length of the whole
    32 bytes  SHA-256 of everything else
    header    JSON: settings, single figures, and the list of sections
    sections  one after the other, each compressed with zlib: the labels as JSON, all others columns of numbers

Integers are little-endian. Nothing in it is ever executed. The same tally gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ._parts import Coarse, ShardRows, Shards, ShardScores
from ._sums import ExactSum
from ._tables import Cells, Keyed, Table
from ._version import __version__
from .errors import InputError
from .forecasts import Notes

MAGIC = b"\x89UPT\r\n\x1a\n"
"""Not text, and spoiled by whatever changes line ends."""

VERSION = 1

_PREFIX = struct.Struct("<8sIIQ32s")
_CHUNK = 1 << 20
_TYPES = {"<f8": np.dtype("<f8"), "<i8": np.dtype("<i8")}


def tally_bytes(state: Mapping[str, Any]) -> bytes:
    """Give the fields of a tally as bytes."""
    columns = dict(_columns(state))
    bodies = {"labels": json.dumps(state["labels"], ensure_ascii=False).encode("utf-8", "surrogatepass")}
    bodies |= {
        name: np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes() for name, column in columns.items()
    }
    stored = {name: zlib.compress(body, 1) for name, body in bodies.items()}
    header = {
        "written_by": f"unperplexed {__version__}",
        **{name: state[name] for name in _PLAIN},
        "notes": asdict(state["notes"]),
        "sources": dict(state["sources"]),
        "parts": [part for part in ("classes", "shards") if state[part] is not None],
        "top_tables": list(state["top_tables"]),
        "scores": {name: [[str(s.units), repr(s.rest)] for s in sums] for name, sums in state["score_sums"].items()},
        "sections": [
            {
                "name": name,
                "type": columns[name].dtype.newbyteorder("<").str if name in columns else "json",
                "length": len(bodies[name]),
                "stored": len(content),
            }
            for name, content in stored.items()
        ],
    }
    head = json.dumps(header, ensure_ascii=True).encode()
    body = b"".join([head, *stored.values()])
    length = _PREFIX.size + len(body)
    digest = hashlib.sha256(_PREFIX.pack(MAGIC, VERSION, len(head), length, bytes(32)) + body).digest()
    return _PREFIX.pack(MAGIC, VERSION, len(head), length, digest) + body


_PLAIN = ("exact_limit", "fraction_bits", "n_rows", "n_classes", "weighted", "weight", "weight_squared", "exact")


def _columns(state: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Columns of all tables by the name of their section."""
    yield from _named("pairs", state["pairs_table"])
    for ties, table in state["top_tables"].items():
        yield from _named(f"top/{ties}", table)
    if state["classes"] is not None:
        yield from _named("classes", state["classes"])
    if state["shards"] is not None:
        yield from _named("shards/rows", state["shards"].rows)
        yield from _named("shards/pairs", state["shards"].pairs)
        for name, sums in state["shards"].scores.items():
            yield from _named(f"shards/scores/{name}", sums)


def _named(name: str, table: Keyed) -> Iterator[tuple[str, NDArray[Any]]]:
    return ((f"{name}/{f.name}", getattr(table, f.name)) for f in fields(table))


def tally_state(data: bytes | BinaryIO) -> dict[str, Any]:
    """Read the fields of a tally, in little memory until all of it has been checked."""
    stream = io.BytesIO(data) if isinstance(data, bytes | bytearray | memoryview) else data
    header_length = _checked_header_length(stream)
    try:
        return _state(_Sections(stream, header_length))
    except (KeyError, TypeError, ValueError, zlib.error, RecursionError) as error:
        raise InputError(f"its parts do not fit together ({type(error).__name__}: {error}). Make it anew.") from None


def _checked_header_length(stream: BinaryIO) -> int:
    """Check magic, length, checksum and version, in this order, so that the reason given is the right one."""
    prefix = stream.read(_PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC[: len(prefix)] or not prefix:
        raise InputError("not a tally: it does not begin as one.")
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
    while chunk := stream.read(_CHUNK):
        found.update(chunk)
    if found.digest() != digest:
        raise InputError("damaged: its content does not match its checksum. Copy or make it anew.")
    if version != VERSION:
        raise InputError(f"of version {version} of the format; unperplexed {__version__} reads version {VERSION}.")
    return int(header_length)


@dataclass
class _Sections:
    """Sections by name, each read when asked for."""

    stream: BinaryIO
    header_length: int

    def __post_init__(self) -> None:
        self.stream.seek(_PREFIX.size)
        self.header = json.loads(self.stream.read(self.header_length))
        at = _PREFIX.size + self.header_length
        self.places: dict[str, tuple[int, dict[str, Any]]] = {}
        for section in self.header["sections"]:
            self.places[section["name"]] = at, section
            at += section["stored"]

    def read(self, name: str) -> bytes:
        at, section = self.places[name]
        self.stream.seek(at)
        unpacker = zlib.decompressobj()
        body = unpacker.decompress(self.stream.read(section["stored"]), section["length"] or 1)
        if len(body) != section["length"] or not unpacker.eof:
            raise ValueError(f"section {name!r} is not of its length")
        return body

    def table(self, kind: type[Keyed], name: str, most: int) -> Any:
        """Read a table whose keys lie below ``most``."""
        columns = []
        for f in fields(kind):
            section = f"{name}/{f.name}"
            columns.append(np.frombuffer(self.read(section), dtype=_TYPES[self.places[section][1]["type"]]).copy())
        key = columns[0]
        if any(column.size != key.size for column in columns):
            raise ValueError(f"columns of {name!r} differ in length")
        if key.size and not (key[0] >= 0 and key[-1] <= most and (np.diff(key) > 0).all()):
            raise ValueError(f"keys of {name!r} are out of order or out of range")
        counts = [column for f, column in zip(fields(kind), columns, strict=True) if f.name in ("total", "happened")]
        if any(not (np.isfinite(column).all() and (column >= 0).all()) for column in counts):
            raise ValueError(f"counts of {name!r} are no counts")
        return kind(*columns)


def _state(sections: _Sections) -> dict[str, Any]:
    header = sections.header
    state = {name: header[name] for name in _PLAIN}
    labels = tuple(json.loads(sections.read("labels").decode("utf-8", "surrogatepass")))
    if len(labels) != state["n_classes"]:
        raise ValueError(f"{len(labels)} labels for {state['n_classes']} classes")
    kind, most = (Table, 1) if state["exact"] else (Cells, (1 << (8 + state["fraction_bits"])) * 2)
    n_classes, parts = state["n_classes"], header["parts"]
    return state | {
        "labels": labels,
        "notes": Notes(**header["notes"]),
        "sources": header["sources"],
        "score_sums": {
            name: tuple(ExactSum(int(units), float(rest)) for units, rest in sums)
            for name, sums in header["scores"].items()
        },
        "pairs_table": sections.table(kind, "pairs", most),
        "top_tables": {ties: sections.table(kind, f"top/{ties}", most) for ties in header["top_tables"]},
        "classes": sections.table(Coarse, "classes", n_classes * 256) if "classes" in parts else None,
        "shards": _shards(sections) if "shards" in parts else None,
    }


def _shards(sections: _Sections) -> Shards:
    scores = {name: sections.table(ShardScores, f"shards/scores/{name}", 1000) for name in sections.header["scores"]}
    rows = sections.table(ShardRows, "shards/rows", 1000)
    return Shards(rows, scores, sections.table(Coarse, "shards/pairs", 1000 * 256))
