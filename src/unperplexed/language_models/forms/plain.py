"""The plain form: a JSON object or a row of a table a document, with ``doc``, ``text`` or ``bytes``, ``logprobs``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._lib.errors import InputError
from ..items import Text
from ..tokens import MISSING_BELOW, MISSING_VALUE
from . import Form, Log, Record


def _recognizes(record: Record) -> bool:
    return not {"doc", "bytes", "text"}.isdisjoint(record) and not isinstance(record.get("logprobs", {}), dict)


def _items(record: Record, place: str, log: Log) -> Iterator[Text]:
    name, text, size = record.get("doc"), record.get("text"), record.get("bytes")
    name = place if name is None else str(name)
    where = f"{log.path}, {place}: "
    if text is not None and not isinstance(text, str):
        raise InputError(f"{where}text: expected a string.")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        raise InputError(f"{where}bytes: expected a whole number of UTF-8 bytes, got {size!r}.")
    values = record["logprobs"]
    try:
        x = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}logprobs: expected a list of numbers.") from None
    if (np.isnan(x) | ((x < MISSING_BELOW) & (x > -np.inf))).any():
        log.remarks.add(MISSING_VALUE)
        return
    try:
        yield Text.of(name, text, x, n_bytes=size, words=record.get("words"), pieces=record.get("tokens"))
    except InputError as error:
        raise InputError(f"{where}{error}") from None


FORMS = (Form("plain", "documents with doc, bytes or text, and logprobs", _recognizes, _items, rank=9),)
