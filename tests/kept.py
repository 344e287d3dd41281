"""Figures beside those that are kept: all that a result or any part of one holds, as lines.

The figures kept are those of a version whose laws, and values from outside, the other tests of the folder assert: they
say that nothing else has changed. Where figures are meant to change, tests that run with ``UNPERPLEXED_WRITE=1`` in the
environment write them anew; the difference is for reading.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

_EACH = 6
"""Values of an array that are written one by one; of more sums are."""

_NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]\d+)?")

_REL, _ABS = 1e-4, 1e-9
"""What processors, and iterations that end a step earlier, may change."""


def same_as_kept(path: Path, name: str, value: object) -> None:
    """Compare figures with those that a file keeps under a name: words exactly, numbers but for rounding."""
    lines = list(_lines("", value))
    if os.environ.get("UNPERPLEXED_WRITE"):
        found = json.loads(path.read_text("utf-8")) if path.exists() else {}
        text = json.dumps(dict(sorted((found | {name: lines}).items())), indent=0, ensure_ascii=False)
        path.write_text(text + "\n", "utf-8")
    expected = json.loads(path.read_text("utf-8"))[name]
    off = [(got, wanted) for got, wanted in zip(lines, expected, strict=False) if not _alike(got, wanted)]
    assert not off, f"{name}: {off[0][0]}\nis not {off[0][1]}; {len(off)} lines differ"
    assert len(lines) == len(expected), name


def _alike(got: str, wanted: str) -> bool:
    if got == wanted:
        return True
    numbers = zip(_NUMBER.findall(got), _NUMBER.findall(wanted), strict=False)
    words = _NUMBER.sub("#", got) == _NUMBER.sub("#", wanted)
    return words and all(math.isclose(float(a), float(b), rel_tol=_REL, abs_tol=_ABS) for a, b in numbers)


def _lines(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, np.ndarray):
        yield f"{name}: {_array(value)}"
    elif is_dataclass(value):
        for field in fields(value):
            yield from _lines(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from _lines(name, value._asdict())
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _lines(f"{name}.{key}", each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(each, str | int | float | None) for each in value):
            yield f"{name}: [{', '.join(map(_plain, value))}]"
            return
        for at, each in enumerate(value):
            yield from _lines(f"{name}[{at}]", each)
    elif not callable(value):
        yield f"{name}: {_plain(value)}"


def _plain(value: Any) -> str:
    return f"{value:.6e}" if isinstance(value, float | np.floating) else str(value)


def _array(x: np.ndarray) -> str:
    if x.size <= _EACH or x.dtype.kind not in "fiub":
        values = [_plain(each) for each in x.ravel().tolist()]
        return f"{x.shape} {' '.join(values if len(values) <= 4 * _EACH else [*values[:_EACH], *values[-_EACH:]])}"
    x = x.astype(np.float64).ravel()
    there = x[np.isfinite(x)]
    odd = np.sin(np.arange(there.size) + 1.0)
    return f"{x.size}, {there.size} finite, {there.sum():.6e} {np.abs(there).max(initial=0):.6e} {odd @ there:.6e}"
