"""Text files, plain or gzipped, as chunks of whole records."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..._lib.errors import InputError

CHUNK_BYTES = 1 << 23
"""Bytes of text read at a time."""

_LONGEST_RECORD = 8
"""A record may be this many chunks long; a quote that nothing closes would take in the rest of the file."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Chunk:
    """Successive whole records of a text file."""

    data: bytes
    line: int
    """Number of its first line, counted from 1."""
    position: int
    """Bytes of the file, as it lies on disk, that lie behind."""
    last: bool


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file; give its text and the file as it lies on disk."""
    with path.open("rb") as raw:
        zipped = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        if not zipped:
            yield raw, raw
            return
        with gzip.GzipFile(fileobj=raw) as text:
            try:
                yield text, raw  # type: ignore[misc]
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InputError(f"not a readable gzip file, perhaps truncated: {error}.") from None


def chunks(path: Path, cut: Callable[[bytes], int]) -> Iterator[Chunk]:
    """Read a file in chunks that end where ``cut`` finds the end of the last whole record (0: nowhere)."""
    with _opened(path) as (text, raw):
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
            if not following:
                return
            block = block[end:] + following


def head(path: Path, n_bytes: int) -> bytes:
    """Give the first bytes of a file's text, without a byte-order mark."""
    with _opened(path) as (text, _):
        return text.read(n_bytes).removeprefix(_BYTE_ORDER_MARK)


def check_utf8(data: bytes, line: int) -> None:
    """Refuse text that is not UTF-8, by line."""
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    step = 1 << 20  # the text of a whole chunk could take four times its bytes
    for start in range(0, len(data), step):
        piece = data[start : start + step]
        try:
            decoder.decode(piece, final=start + step >= len(data))
        except UnicodeDecodeError as error:
            kept = len(error.object) - len(piece)  # bytes of a character that the last piece broke off
            line += data.count(b"\n", 0, max(0, start - kept + error.start))
            raise not_utf8(line) from None


def not_utf8(line: int) -> InputError:
    """Return the error of a line that is not UTF-8."""
    return InputError(f"line {line} is not UTF-8. Save the file as UTF-8 (with iconv, or an editor).")
