"""Text files as chunks of whole records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..._lib.errors import InputError
from .text_streams import check_utf8, opened_text

CHUNK_BYTES = 1 << 23
"""Bytes of text read at a time."""

_LONGEST_RECORD = 8
"""A record may be this many chunks long; a quote that nothing closes would take in the rest of the file."""

_MOST_VALUES = 1 << 22
"""Values of a record that is longer than a chunk: in memory each takes more than its text."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Chunk:
    """Successive whole records of a text file."""

    data: bytes
    line: int
    """Number of its first line, counted from 1."""
    position: int
    """Bytes of the file, as it lies on disk, that lie behind."""
    last: bool


def chunks(path: Path, cut: Callable[[bytes], int], encoding: str = "utf-8") -> Iterator[Chunk]:
    """Read a file in chunks that end where ``cut`` finds the end of the last whole record (0: nowhere)."""
    with opened_text(path, encoding) as (text, raw):
        block = text.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
        line = 1
        while True:
            block += text.read(CHUNK_BYTES)
            following = text.read(1)
            end = cut(block) if following else len(block)
            if end or not following:
                data = block[:end]
                check_utf8(data, line)
                yield Chunk(data, line, raw.tell(), not following)
                line += data.count(b"\n")
            elif len(block) > _LONGEST_RECORD * CHUNK_BYTES:
                raise InputError(
                    f"line {line} begins a record of more than {len(block) >> 20} MB. In CSV a quote that is opened"
                    " there and never closed would do that (write a quote inside quotes twice); in JSON Lines each"
                    " object stands on a line of its own."
                )
            elif block.count(b",") > _MOST_VALUES:
                raise InputError(f"line {line} begins a record of more than {_MOST_VALUES:,} values.")
            if not following:
                return
            block = block[end:] + following


def head(path: Path, n_bytes: int, encoding: str = "utf-8") -> bytes:
    """Give the first bytes of a file's text, without a byte-order mark."""
    with opened_text(path, encoding) as (text, _):
        return text.read(n_bytes).removeprefix(_BYTE_ORDER_MARK)
