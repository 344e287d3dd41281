"""Files of text as streams of UTF-8, however they are compressed and encoded."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ..._lib.dataclasses import Frozen
from ..._lib.errors import InputError

UTF8 = ("utf-8", "utf8", "utf-8-sig")
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Stream(Protocol):
    """What text is read from; it gives no bytes only at its end."""

    def read(self, n: int, /) -> bytes:
        """Read about so many bytes."""


class Compression(Frozen):
    """A compression of text files."""

    name: str
    suffix: str
    magic: re.Pattern[bytes]
    open: Callable[[BinaryIO], AbstractContextManager[Any]]


def _zstd(raw: BinaryIO) -> AbstractContextManager[Any]:
    import pyarrow

    stream: AbstractContextManager[Any] = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, "r"), "zstd")
    return stream


class _Streams(io.RawIOBase):
    """Compressed streams one behind another. In Python's modules a later one that is damaged ends them silently."""

    def __init__(self, raw: BinaryIO, new: Callable[[], Any]) -> None:
        self._raw, self._new, self._stream = raw, new, new()

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack what comes next; nothing at the end only."""
        found = b""
        while not found and (data := self._packed()) is not None:
            found = self._stream.decompress(data, len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def _packed(self) -> bytes | None:
        """Give what is to be unpacked next; None at the end. Zeros between streams fill up blocks."""
        if not self._stream.eof:
            data = self._raw.read(_PACKED) if self._stream.needs_input else b""
            if self._stream.needs_input and not data:
                raise EOFError("it ends within its last stream")
            return data
        data = self._stream.unused_data.lstrip(b"\0")
        while not data and (more := self._raw.read(_PACKED)):
            data = more.lstrip(b"\0")
        self._stream = self._new() if data else self._stream
        return data or None


_PACKED = 1 << 16
"""Bytes read at a time."""


def _streams(new: Callable[[], Any]) -> Callable[[BinaryIO], AbstractContextManager[Any]]:
    return lambda raw: io.BufferedReader(_Streams(raw, new), _PACKED)


COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), lambda raw: gzip.GzipFile(fileobj=raw)),
    Compression("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), _streams(bz2.BZ2Decompressor)),
    Compression("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), _streams(lzma.LZMADecompressor)),
    Compression("Zstandard", ".zst", re.compile(rb"\x28\xb5\x2f\xfd"), _zstd),
)
"""Compressions that are recognised by a file's first bytes."""


@contextmanager
def opened_text(path: Path, encoding: str = "utf-8") -> Iterator[tuple[Stream, BinaryIO]]:
    """Open a file; give its text as UTF-8, and the file as it lies on disk."""
    with path.open("rb") as raw:
        start = raw.read(16)
        raw.seek(0)
        found = next((each for each in COMPRESSIONS if each.magic.match(start)), None)
        if found is None:
            yield _utf8(raw, encoding), raw
            return
        try:
            with found.open(raw) as text:
                yield _utf8(text, encoding), raw
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            raise InputError(f"not a readable {found.name} file, perhaps truncated: {error}.") from None


def _utf8(text: Any, encoding: str) -> Stream:
    stream: Stream = text if encoding.lower().replace("_", "-") in UTF8 else _Recoded(text, encoding)
    return stream


class _Recoded:
    """Text of another encoding as UTF-8."""

    def __init__(self, text: BinaryIO, encoding: str) -> None:
        self._text, self._encoding, self._line = text, encoding, 1
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def read(self, n: int, /) -> bytes:
        """Read about so many bytes."""
        while True:
            data = self._text.read(n)
            try:
                found = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line = self._line + error.object[: error.start].decode(self._encoding, "ignore").count("\n")
                raise InputError(f"line {line} is not {self._encoding}. {_OTHER_ENCODING}") from None
            if found or not data:
                self._line += found.count("\n")
                return found.encode("utf-8", "replace")


_OTHER_ENCODING = "Name another encoding with encoding= (--encoding), or save the file as UTF-8."


def checked_encoding(encoding: str) -> str:
    """Refuse a text encoding that Python does not know."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(b"")
        if codecs.lookup(encoding)._is_text_encoding:
            return encoding
    except (LookupError, TypeError):
        pass
    raise InputError(
        f"encoding (--encoding): {encoding!r} is not known. Name one such as utf-8, cp1252 (Windows), latin-1 or"
        " utf-16."
    )


def refuse_utf16(start: bytes) -> None:
    """Refuse text that begins as UTF-16 does, and name it."""
    marked = start.startswith(_UTF16_MARKS)
    if marked or b"\0" in start[:2]:
        name = "utf-16" if marked else "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
        raise InputError(f"is text in UTF-16, which is read with encoding={name!r} (--encoding {name}).")


def check_utf8(data: bytes, line: int) -> None:
    """Refuse text that is not UTF-8, by line."""
    if line == 1:
        refuse_utf16(data)
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
            raise not_utf8(line, data) from None


def not_utf8(line: int, data: bytes) -> InputError:
    """Return the error of a line that is not UTF-8: it names the encoding that text of the kind mostly has."""
    try:
        data.decode("cp1252")
        name = "cp1252"
    except UnicodeDecodeError:
        name = "latin-1"
    return InputError(
        f"line {line} is not UTF-8. Text from Windows in western Europe and America is read with encoding={name!r}"
        f" (--encoding {name}). Otherwise name its encoding, or save the file as UTF-8."
    )


CHUNK_BYTES = 1 << 23
"""Bytes of text read at a time."""

_LONGEST_RECORD = 8
"""A record may be this many chunks long; a quote that nothing closes would take in the rest of the file."""

_MOST_VALUES = 1 << 22
"""Values of a record that is longer than a chunk: in memory each takes more than its text."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Chunk(Frozen):
    """Successive whole records of a text file."""

    data: bytes
    line: int
    """Number of its first line, counted from 1."""
    position: int
    """Bytes of the file, as it lies on disk, that lie behind."""
    last: bool


def chunks(
    path: Path, cut: Callable[[bytes], int], encoding: str = "utf-8", n_bytes: int | None = None
) -> Iterator[Chunk]:
    """Read a file in chunks that end where ``cut`` finds the end of the last whole record (0: nowhere).

    They have so many bytes, at most `CHUNK_BYTES`.
    """
    with opened_text(path, encoding) as (text, raw):
        block = text.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
        line = 1
        while True:
            block += text.read(min(n_bytes or CHUNK_BYTES, CHUNK_BYTES))
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


def head(path: Path, n_bytes: int | None, encoding: str = "utf-8") -> bytes:
    """Give the first bytes of a file's text, None for a chunk's, without a byte-order mark."""
    with opened_text(path, encoding) as (text, _):
        return text.read(n_bytes or CHUNK_BYTES).removeprefix(_BYTE_ORDER_MARK)
