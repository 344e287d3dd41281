"""Tallies of all kinds, and files of them with a right checksum and a wrong content."""

import json
import zlib
from dataclasses import fields, replace
from hashlib import sha256

import numpy as np

from helpers import softmax_forecasts
from unperplexed import Tally
from unperplexed.tally.serialization import _PREFIX, _columns

PARTS = ("classes", "predictions", "shards")


def tallies(rng):
    y, p = softmax_forecasts(rng, 400, 5)
    z, q = softmax_forecasts(rng, 400, 2)
    tenths = np.round(q[:, 1], 1)
    w = rng.exponential(size=400)
    return {
        "empty": Tally(),
        "no rows": Tally.of([], []),
        "exact": Tally.of(z, tenths),
        "cells": Tally.of(y, p, exact_limit=0),
        "weighted": Tally.of(y, p, sample_weight=w, parts=PARTS),
        "parts": Tally.of(y, p, exact_limit=9, parts=PARTS, source="a.csv"),
        "exact parts": Tally.of(z, tenths, parts=PARTS),
        "exact predictions, coarse classes": Tally.of(y, p.round(2), exact_limit=300, invalid="rescale", parts=PARTS),
        "infinite": Tally.of([1, 0], [0.0, 0.3], parts=PARTS),
        "labels": Tally.of(["é\n\u202e", "b"], [0.4, 0.3], labels=["b", "é\n\u202e"]),
        "surrogates": Tally.of(["\ud800", "b"], [0.4, 0.3], labels=["b", "\ud800"]),
        "label kinds": Tally.of([True, False], [0.4, 0.3]),
        "unknown label": Tally.of(["yes"], [0.4], pos_label="yes"),
        "notes": Tally.of([1, 2, 0, 1], [0.2, 0.3, np.nan, 0.5], ignore_label=2, invalid="drop"),
        "ties": Tally.of([0, 1, 2], [[0.4, 0.4, 0.2], [1 / 3] * 3, [0.5, 0.25, 0.25]]),
    }


def rewritten(content, change):
    """The same bytes with a changed header and a right checksum, as another program might write them."""
    magic, version, header_length, _, _ = _PREFIX.unpack(content[: _PREFIX.size])
    header = json.loads(content[_PREFIX.size : _PREFIX.size + header_length])
    body = content[_PREFIX.size + header_length :]
    header, body, version = change(header, body, version)
    head = json.dumps(header).encode() if not isinstance(header, bytes) else header
    length = _PREFIX.size + len(head) + len(body)
    digest = sha256(_PREFIX.pack(magic, version, len(head), length, bytes(32)) + head + body).digest()
    return _PREFIX.pack(magic, version, len(head), length, digest) + head + body


def older(content, change):
    """The same bytes as earlier versions wrote them: all columns as wide as their types, before version 8 no tags."""
    tally = Tally.from_bytes(content)
    columns = dict(_columns({f.name: getattr(tally, f.name) for f in fields(tally)}))
    labels = json.dumps(list(tally.labels), ensure_ascii=False).encode("utf-8", "surrogatepass")

    def wide(header, _, version):
        bodies = {"labels": labels} | {name: column.tobytes() for name, column in columns.items()}
        all_packed = change(header, b"", version)[2] < 8
        stored = {name: zlib.compress(body, 1) if all_packed else body for name, body in bodies.items()}
        types = {"labels": "json"} | {name: column.dtype.str for name, column in columns.items()}
        sections = [
            {"name": name, "type": types[name], "length": len(body), "stored": len(stored[name])}
            for name, body in bodies.items()
        ]
        header, body, version = change({**header, "sections": sections}, b"".join(stored.values()), version)
        later = ("top_in_pairs", "tags") if all_packed else ("top_in_pairs",)
        return {k: x for k, x in header.items() if k not in later}, body, version

    return rewritten(content, wide)


def with_column(name, change):
    """A tally whose column was changed before it was written, with a right checksum."""
    table, _, column = name.partition("/")

    def changed(tally):
        values = getattr(getattr(tally, table), column).copy()
        change(values)
        return replace(tally, **{table: replace(getattr(tally, table), **{column: values})})

    return changed


def put(at, value):
    def change(values):
        values[at] = value

    return change
