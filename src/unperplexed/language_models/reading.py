"""Logs read: files as records, and records as items by the form of each file, which is recognised or named."""

from __future__ import annotations

import io
import json
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._lib.dataclasses import replace
from .._lib.errors import InputError, listed
from ..report.numbers import share as percent
from ..sources.readers.formats import files_in, matching
from ..sources.readers.text_streams import COMPRESSIONS, Stream, opened_text
from .forms import Form, Log, Record, RightAnswers, forms
from .items import Item, Remarks, Text

try:
    from msgspec.json import decode
except ImportError:  # there is none for this Python
    decode = json.loads


def read_items(
    files: str | Path | Sequence[str | Path],
    *,
    form: str | None = None,
    stated: str = "",
    scale: float | None = None,
    answer: str = "",
    truth: str | Path | None = None,
    remarks: Remarks | None = None,
    say: Callable[[str], None] | None = None,
) -> Iterator[Item]:
    """Read the texts, questions and answers of logs of language models, one after another.

    Parameters
    ----------
    files : str, Path or sequence of these
        Logs: JSON or JSON Lines, also compressed with gzip, bzip2, xz or Zstandard, Parquet, Inspect's ``.eval``, or
        folders of these.
    form : str, optional
        Form of the logs: ``"plain"``, ``"lm-eval"``, ``"inspect"``, ``"openai"``, ``"llama.cpp"``, ``"sglang"``,
        ``"tgi"``, ``"lighteval"`` or ``"helm"``; by default it is recognised.
    stated : str, default ""
        Place of the stated confidence within a score or sample of Inspect, such as ``"metadata.confidence"`` or
        ``"output.completion"``. Texts are read by `stated_confidence`.
    scale : float, optional
        Highest value of a stated confidence, such as 10 or 100.
    answer : str, default ""
        Place of the answer itself within a score or sample of Inspect, such as ``"answer"`` or ``"output.completion"``,
        for the agreement among epochs.
    truth : str or Path, optional
        Right answers to multiple-choice questions that an API answered, as JSON, such as ``{"question-1": "B"}`` by
        ``custom_id``, or records, or rows of a CSV file, with ``custom_id``, ``answer`` and, unless all have the same,
        ``options``. The logs are in OpenAI's form, with ``top_logprobs``; each answer is then a question.
    remarks : Remarks, optional
        Takes up what is found in the logs: what was left out, and traps.
    say : callable, optional
        Takes sentences about the files, such as the form of each.

    Returns
    -------
    iterator of Text, Question or Answer

    Raises
    ------
    InputError
        For a file that cannot be read, or whose form is not known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unperplexed.language_models import read_items
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "texts.jsonl"
    >>> size = path.write_text('{"doc": "a", "text": "Hello", "logprobs": [-1.5, -0.25]}')
    >>> [(each.name, each.n_bytes, each.tokens) for each in read_items(path)]
    [('a', 5, 2)]
    """
    if form is not None and form not in forms():
        raise InputError(f"form {form!r}: known are {', '.join(forms())}.")
    remarks = Remarks() if remarks is None else remarks
    say = say or (lambda _: None)
    paths = log_files([str(each) for each in ([files] if isinstance(files, str | Path) else files)], say)
    right = None if truth is None else right_answers(Path(truth), remarks)
    for path, file in zip(paths, _below_all(paths), strict=True):
        log = Log(path, remarks, stated, scale, answer, right)
        chosen = forms()[form] if form else None
        for place, record in records(path):
            if chosen is None:
                chosen = _recognized(record, path)
                say(f"{path} read as {chosen.name}: {chosen.what}")
            if right is not None and chosen.name != "openai":
                raise InputError(
                    f"{path}: right answers in a file are for answers in OpenAI's form, not {chosen.name}."
                )
            where = f"line {place}" if len(paths) == 1 else f"{path.name}, line {place}"
            try:
                for item in chosen.items(record, where, log):
                    yield replace(item, file=file) if isinstance(item, Text) and "/" not in item.name else item
            except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(
                    f"{path}, record {place}: not in the form {chosen.name} ({chosen.what}): {type(error).__name__}"
                    f" {error}. Name another with form (--format)."
                ) from None

    if right is not None:
        _check_answered(right, str(truth), remarks)


def _below_all(paths: Sequence[Path]) -> list[str]:
    """Name files by their path below the folder that holds all, without the suffix: alike for two models."""
    folder = os.path.commonpath([each.absolute().parent for each in paths])
    names = [each.absolute().relative_to(folder).as_posix() for each in paths]
    return [next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name) for name in names]


def right_answers(path: Path, remarks: Remarks) -> RightAnswers:
    """Read the right answers of questions by name, and their options: by default the right answers of all."""
    entries: list[tuple[str, Any]] = []
    for _, record in _rows_of_key(path, remarks) if path.suffix in KEYS else records(path):
        entries += [(str(record["custom_id"]), record)] if "custom_id" in record else record.items()
    named = {name: each if isinstance(each, dict) else {"answer": each} for name, each in entries}
    if not named or len(named) < len(entries):
        raise InputError(f"{path}: expected right answers, each name once.")
    right = {name: "" if each.get("answer") is None else str(each["answer"]).strip() for name, each in named.items()}
    shared = tuple(sorted({*right.values()} - {""}))
    options = {name: _options(each.get("options") or shared) for name, each in named.items()}
    for name, own in options.items():
        if len(set(own)) < max(len(own), 2):
            given = named[name].get("options") or own
            raise InputError(
                f'{path}: {name!r:.60}: expected two or more different options, as a list or letters ("ABCD"),'
                f" got {given!r:.80}."
            )
        if right[name] not in own:
            raise InputError(f"{path}: {name!r:.60}: the right answer {right[name]!r:.40} is not one of {own!r:.80}.")
    if shared in options.values():
        remarks.add(f"the options are {', '.join(shared)}, the right answers of {path.name}, whose records name none")
    return RightAnswers(options, right)


def _rows_of_key(path: Path, remarks: Remarks) -> Iterator[tuple[int, Record]]:
    """Yield the rows of a table of right answers, with their names as in JSON; of two columns by their order."""
    import polars as pl

    try:
        table = pl.read_csv(path, separator=KEYS[path.suffix], infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a table of right answers: {str(error).splitlines()[0]}.") from None
    named = {"custom_id", "answer"} <= {*table.columns}
    if not named and table.width != 2:
        raise InputError(
            f"{path}: expected columns custom_id and answer, between commas, and options where they differ; it has"
            f" {listed(table.columns)}. Rename them, or keep the names of questions and the right answers alone."
        )
    if not named:
        name, answer = table.columns
        remarks.add(f"{path.name}: the column {name!r} names the questions, {answer!r} holds the right answers")
        table.columns = ["custom_id", "answer"]
    yield from enumerate(table.iter_rows(named=True), 1)


def _options(given: Any) -> tuple[str, ...]:
    """Give the options of a list or of a word of letters; none of anything else."""
    listed = isinstance(given, list | tuple) or (isinstance(given, str) and given.isalpha())
    return tuple(map(str, given)) if listed else ()


def _check_answered(truth: RightAnswers, name: str, remarks: Remarks) -> None:
    """Refuse answers of which none has a name of the right answers; count these without one, and what is outside."""
    without = [each for each in truth.right if each not in truth.outside]
    if len(without) == len(truth.right):
        raise InputError(f"{name}: no answer has the custom_id of a right answer, such as {without[0]!r:.60}.")
    if without:
        remarks.add(f"{{count}} of {name} without an answer in the logs", "right answer", len(without))
    outside = [each for each in truth.outside.values() if not np.isnan(each)]
    if outside and np.mean(outside) >= _NEGLIGIBLE:
        text = f"on average {percent(float(np.mean(outside)))} of the probability of {{count}} lies outside the options"
        remarks.add(text, "question", len(outside))


_NEGLIGIBLE = 1e-4
"""Probability outside the options that is not worth a remark."""


def _recognized(record: Record, path: Path) -> Form:
    for each in forms().values():
        if each.recognizes(record):
            return each
    keys = ", ".join(list(record)[:8])
    raise InputError(
        f"{path}: no known form of a log; its first record has the keys {keys}. Known forms: {', '.join(forms())}; see"
        " the page on language models for the plain one, with doc, text and logprobs."
    )


_TEXT = (".jsonl", ".json", ".ndjson")
_PACKED = tuple(each.suffix for each in COMPRESSIONS)
SUFFIXES = (*_TEXT, *(text + packed for text in _TEXT for packed in _PACKED), ".parquet", ".eval")
"""What is taken from a folder."""

KEYS = {".csv": ",", ".tsv": "\t"}
"""Separators of tables of right answers, by suffix."""

HELM = "per_instance_stats.json"
"""The file of a run of HELM that is read; those beside it are not."""

_ZSTANDARD = 93
"""Number of the compression in zip files."""
_BUFFER = 1 << 20
"""Bytes that are unpacked at once."""
_HEADER = 30
"""Bytes before the name of a member of a zip file; the last four are the lengths of name and extra field."""
_LONGEST = 1 << 26
"""Bytes that a line, or a document, may unpack to, where the file itself is no larger."""
_MOST_VALUES = 1 << 22
"""Values in it, each of which takes more memory than text."""

_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError, ValueError)


def log_files(names: Sequence[str], say: Any) -> list[Path]:
    """Find the files; of a folder those of logs, in hidden folders too, such as lm-evaluation-harness makes."""
    found: list[Path] = []
    for path in map(Path, matching(names)):
        if not path.is_dir():
            found.append(path)
            continue
        inside = [each for each in files_in(path, hidden=True) if each.name.endswith(SUFFIXES)]
        inside = [each for each in inside if not each.name.startswith("results")]
        of_helm = {each.parent for each in inside if each.name == HELM}
        inside = [each for each in inside if each.name == HELM or each.parent not in of_helm]
        hidden = [each for each in inside if any(part.startswith(".") for part in each.relative_to(path).parts[:-1])]
        if hidden:
            folder = hidden[0].parent
            say(f"{path}: {len(hidden)} files lie in a hidden folder such as {folder.name}, which a pattern misses")
        if not inside:
            known = f"{', '.join(_TEXT)} (also with {', '.join(_PACKED)}), .parquet, .eval"
            raise InputError(f"{path}: no logs in this folder; known suffixes: {known}.")
        found += inside
    return found


def records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the records of a file with the line, or place, that each has, counted from 1."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}.") from None
    if not start:
        raise InputError(f"{path}: the file is empty.")
    if start == b"PAR1":
        yield from enumerate(_parquet(path), 1)
    elif start[:2] == b"PK":
        yield from enumerate(_inspect_zip(path), 1)
    else:
        yield from _json(path)


def _json(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield one record a line, or those of a whole document."""
    lines = _lines(path)
    first = next(lines, b"")
    try:
        one_a_line = isinstance(_value(first), dict)
    except (ValueError, RecursionError):
        one_a_line = False
    if one_a_line:
        for line, data in enumerate(chain([first], lines), 1):
            if data.strip():
                yield line, _record(path, f"line {line}", data)
        return
    document = bytearray(first)
    for data in lines:
        document += data
        _check_length(path, "a JSON document", len(document))
    _check_values(path, "a JSON document", document)
    whole = _parsed(path, "", document)
    for at, each in enumerate(whole if isinstance(whole, list) else [whole], 1):
        if not isinstance(each, dict):
            raise InputError(f"{path}: entry {at} is no JSON object.")
        yield at, each


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, however it is compressed."""
    longest = _longest(path)
    try:
        with opened_text(path) as (text, raw):
            stream = raw if text is raw else io.BufferedReader(_Unpacked(text), _BUFFER)
            while line := stream.readline(longest + 1):
                _check_length(path, "a line", len(line))
                _check_values(path, "a line", line)
                yield line
    except InputError as error:
        raise (error if str(error).startswith(str(path)) else InputError(f"{path}: {error}")) from None


def _longest(path: Path) -> int:
    """Bytes that anything in a file may unpack to."""
    return max(_LONGEST, path.stat().st_size)


def _check_length(path: Path, what: str, n_bytes: int) -> None:
    if n_bytes > _LONGEST and n_bytes > _longest(path):
        raise InputError(f"{path}: {what} unpacks to more than {_LONGEST >> 20} MB. {_UNPACK}")


def _check_values(path: Path, what: str, data: bytes | bytearray) -> None:
    if len(data) > _MOST_VALUES and data.count(b",") > max(_MOST_VALUES, path.stat().st_size):
        raise InputError(f"{path}: {what} unpacks to more than {_MOST_VALUES:,} values. {_UNPACK}")


_UNPACK = "Write one record a line (JSON Lines), or unpack the file."


class _Unpacked(io.RawIOBase):
    """A compressed stream as one that has lines."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _record(path: Path, place: str, data: bytes) -> Record:
    found = _parsed(path, place, data)
    if not isinstance(found, dict):
        raise InputError(f"{path}, {place}: expected a JSON object.")
    return found


def _parsed(path: Path, place: str, data: bytes | bytearray) -> Any:
    where = f"{path}, {place}" if place else str(path)
    try:
        return _value(data)
    except RecursionError:
        raise InputError(f"{where}: the JSON is nested too deeply to be read.") from None
    except ValueError as error:
        known = "" if place else " Logs are JSON, JSON Lines, Parquet or .eval; tables are for unperplexed assess."
        raise InputError(f"{where}: no valid JSON: {error}.{known}") from None


def _value(data: bytes | bytearray) -> Any:
    """Parse JSON in a quarter of the time that Python takes, which reads what it alone knows (NaN) and names errors."""
    try:
        return decode(data)
    except (ValueError, RecursionError):
        return json.loads(data)


def _parquet(path: Path) -> Iterator[Record]:
    """Yield the rows of a table; a list of numbers is an array."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        batches = pq.ParquetFile(path).iter_batches(1024)
        for batch in batches:
            columns = {}
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
                numbers = is_list and pa.types.is_floating(column.type.value_type) and not column.null_count
                columns[name] = _arrays(column) if numbers else column.to_pylist()
            for row in range(batch.num_rows):
                yield {name: values[row] for name, values in columns.items()}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {str(error).strip().rstrip('.')}.") from None


def _arrays(column: Any) -> list[Any]:
    """Cut the numbers of a column of lists into views, one a row."""
    values = column.values.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    ends = column.offsets.to_numpy()
    return [values[ends[at] : ends[at + 1]] for at in range(len(column))]


def _inspect_zip(path: Path) -> Iterator[Record]:
    """Yield the samples of an Inspect log one by one, each as a log of one sample."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise InputError(f"{path}: a zip file without header.json is no log of Inspect.")
            header = _record(path, "header.json", _member(path, archive, "header.json"))
            for name in sorted(each for each in names if each.startswith("samples/")):
                yield header | {"samples": [_record(path, name, _member(path, archive, name))]}
    except InputError:
        raise
    except _DAMAGE as error:
        raise InputError(f"{path}: a damaged zip file: {error}.") from None


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a member; Zstandard, which Inspect writes, is unknown to `zipfile` before Python 3.14."""
    info = archive.getinfo(name)
    _check_length(path, name, info.file_size)  # no more is unpacked
    data = archive.read(info) if info.compress_type != _ZSTANDARD else _zstandard(path, info)
    _check_values(path, name, data)
    return data


def _zstandard(path: Path, info: zipfile.ZipInfo) -> bytes:
    import pyarrow as pa

    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        lengths = struct.unpack("<26x2H", stream.read(_HEADER))
        stream.seek(sum(lengths), io.SEEK_CUR)
        data = stream.read(info.compress_size)
    try:
        return bytes(pa.Codec("zstd").decompress(data, decompressed_size=info.file_size, asbytes=True))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: {info.filename} in it cannot be decompressed: {error}.") from None
