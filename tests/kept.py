"""Outputs beside those that are kept: what a document, a chart, a figure or any result holds, as lines.

What is kept is of a version whose laws, and values from outside, the other tests of the folder assert: it says that
nothing else has changed. Where an output is meant to change, tests that run with ``UNPERPLEXED_WRITE=1`` in the
environment write what is kept anew; the difference is for reading.
"""

import json
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unperplexed import __version__

_EACH = 5
"""Values of a column or an array that are written one by one; of more, sums are."""

_LINE = 600
"""Characters of an object that is written in one line."""

_BEGINS = 36
"""Characters that are kept of a line that is long; of the rest, a checksum of words and a sum of decimals are."""

_LONG = 80
"""Characters of a line that is long."""

_AGAIN = 16
"""Characters of a line of which only a checksum is kept where an output has it a second time."""

_DEPTH = 4
"""Spaces before parts of parts, at most."""

_SMALL = 1e-3
"""Decimals from here on count by their logarithms in the sums of a line, so that none hides beside large ones."""

_REL, _ZERO = 1.1e-4, 1e-9
"""What processors, kernels, and iterations that end a step earlier, may change of a decimal of five digits."""

_PLACES = 4
"""Places behind the point with which texts show numbers, which must be as many; what is written has more."""

_DECIMAL = re.compile(r"[-−+]?(?<![\w.])\d+\.\d+(?:e[-+]\d+)?")


def same_as_kept(path: Path, name: str, value: object) -> None:
    """Compare an output with what a file keeps of it: words and whole numbers exactly, decimals but for rounding."""
    whole = (value if isinstance(value, str) else written(value)).splitlines()
    lines = [*_cut(whole)]
    if os.environ.get("UNPERPLEXED_WRITE"):
        found = _kept_in(path) if path.exists() else {}
        text = json.dumps(dict(sorted((found | {name: lines}).items())), indent=0, ensure_ascii=False)
        path.write_text(text + "\n", "utf-8")
    expected = _kept_in(path)[name]
    rows = zip(lines, expected, whole, strict=False)
    off = [(shown, wanted) for got, wanted, shown in rows if not _alike(got, wanted)]
    assert not off, f"{name}: {off[0][0]}\nis not {off[0][1]}; {len(off)} lines differ"
    assert len(lines) == len(expected), f"{name}: {len(lines)} lines are not {len(expected)}"


def _kept_in(path: Path) -> dict[str, list[str]]:
    return json.loads(path.read_text("utf-8"))


def _cut(whole: list[str]) -> Iterator[str]:
    """Keep short lines, what tells of long ones, and checksums of those that are there before."""
    there = set()
    for each in whole:
        line = each.replace(__version__, "VERSION").rstrip()
        yield f"={_checksum(line)}" if line in there else line if len(line) <= _LONG else _summary(line)
        there |= {line} if len(line) >= _AGAIN else set()


def _summary(line: str) -> str:
    """Keep of a line how it begins, a checksum of its words and whole numbers, and sums of its decimals."""
    decimals = np.array([_value(each) for each in _DECIMAL.findall(line)])
    decimals = np.arcsinh(decimals / _SMALL) if decimals.size > _EACH else decimals
    return f"{line[:_BEGINS].rstrip('0123456789.,e-+−')}… {_checksum(line)} {_array(decimals)}"


def _checksum(line: str) -> str:
    return f"{zlib.crc32(_DECIMAL.sub(lambda found: _mask(found[0]), line).encode()):08x}"


def _mask(decimal: str) -> str:
    places = _places(decimal)
    return "#" * (places if places < _PLACES else _PLACES)


def _places(decimal: str) -> int:
    return len(decimal.partition("e")[0].partition(".")[2])


def _value(decimal: str) -> float:
    return float(decimal.replace("−", "-"))


def _alike(got: str, wanted: str) -> bool:
    if got == wanted:
        return True
    words = _DECIMAL.sub("#", got).split() == _DECIMAL.sub("#", wanted).split()
    return words and all(map(_close, _DECIMAL.findall(got), _DECIMAL.findall(wanted)))


def _close(got: str, wanted: str) -> bool:
    a, b = _value(got), _value(wanted)
    places = _places(got), _places(wanted)
    shown = 10.0 ** -max(places) if max(places) < _PLACES else 0.0
    same = places[0] == places[1] or max(places) >= _PLACES
    return same and math.isclose(a, b, rel_tol=_REL, abs_tol=max(1.01 * shown, _ZERO))


def written(value: object) -> str:
    """Write a document, a chart, a result or any part of one, without the fields that are empty by default."""
    return "\n".join(_lines("", value, ""))


def _lines(name: str, value: Any, indent: str) -> Iterator[str]:
    short = _short(value)
    if short is not None and (len(short) <= _LINE or not _objects(value)):
        yield f"{indent}{name}{': ' if name else ''}{short}"
        return
    if name or is_dataclass(value):
        yield f"{indent}{name}{': ' if name else ''}{type(value).__name__ if is_dataclass(value) else ''}".rstrip()
    for key, each in _parts(value):
        yield from _lines(key, each, f"{indent} "[:_DEPTH])


def _objects(value: Any) -> bool:
    """Whether any parts of a value have names."""
    named = is_dataclass(value) or isinstance(value, Mapping) or hasattr(value, "_asdict")
    return named or (isinstance(value, Sequence) and not isinstance(value, str) and any(map(_objects, value)))


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    """Parts of a result, a mapping or a sequence, and their names."""
    if is_dataclass(value):
        return _fields(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return ((str(key), each) for key, each in value.items() if not callable(each))
    return (("", each) for each in value)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        found = getattr(value, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        plain = not isinstance(found, np.ndarray | float) and type(found) is type(default)
        if not callable(found) and not (plain and not found and found == default):
            yield field.name, found


def _short(value: Any) -> str | None:
    """Write a value in one line; None where this takes more."""
    if is_dataclass(value) or isinstance(value, Mapping) or hasattr(value, "_asdict"):
        parts = [(key, _short(each)) for key, each in _parts(value)]
        long = any(each is None for _, each in parts) or sum(len(each or "") for _, each in parts) > _LINE
        return None if long else f"{type(value).__name__}({', '.join(f'{key}={each}' for key, each in parts)})"
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, float | np.floating):
        return _float(float(value))
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return _sequence(value)
    return f"{value}"


def _float(x: float) -> str:
    """Write five digits, whatever they are, or a whole number."""
    text = f"{x if abs(x) > _ZERO else 0.0:#.5g}"
    return f"{float(text):.0f}.0" if math.isfinite(x) and abs(x) < 1e6 and float(text).is_integer() else text


def _sequence(of: Sequence[Any]) -> str | None:
    """Write all of a few values; of many numbers sums, and of many words their ends and sums."""
    if len(of) > _EACH and all(isinstance(each, float | np.floating) for each in of):
        return _array(np.array(of))
    values = [_short(each) for each in of]
    if any(each is None for each in values):
        return None
    return f"[{' | '.join(map(str, values))}]"


def _array(x: np.ndarray) -> str:
    if x.size <= _EACH or x.dtype.kind not in "fiub":
        return f"[{' '.join(f'{_short(each)}' for each in x.ravel().tolist())}]"
    x = x.astype(np.float64).ravel()
    there = x[np.isfinite(x)]
    odd = np.sin(np.arange(there.size) + 1.0)
    finite = "" if there.size == x.size else f", {there.size} finite"
    return f"{x.size}{finite}: {_float(there.sum())} {_float(odd @ there)}"


def drawn(figure: Any) -> str:
    """Write what matplotlib draws on a figure: texts, lines, areas and their styles, part by part."""
    size = f"figure {_short([*map(float, figure.get_size_inches())])}"
    return "\n".join([size, *(f" {_artist(each)}" for each in figure.texts), *map(_axes, figure.axes)])


def _axes(ax: Any) -> str:
    about = {
        "x": (ax.get_xlabel(), ax.get_xlim(), [each.get_text() for each in ax.get_xticklabels()]),
        "y": (ax.get_ylabel(), ax.get_ylim(), [each.get_text() for each in ax.get_yticklabels()]),
        "aspect": str(ax.get_aspect()),
        "shown": ax.get_visible() and ax.axison,
    }
    others = (ax.patch, ax.xaxis, ax.yaxis, *ax.spines.values())
    marks = [each for each in ax.get_children() if each not in others and getattr(each, "get_text", lambda: "-")()]
    legend = ax.get_legend()
    texts = [] if legend is None else [legend.get_title(), *legend.get_texts()]
    return "\n".join([" axes", written(about), *(f"  {_artist(each)}" for each in (*marks, *texts))])


_LOOKS = [
    "text",
    "position",
    "color",
    "facecolor",
    "edgecolor",
    "linewidth",
    "linestyle",
    "marker",
    "markersize",
    "markerfacecolor",
    "alpha",
    "zorder",
    "fontsize",
    "fontweight",
    "ha",
    "rotation",
    "sizes",
    "offsets",
    "data",
    "xy",
    "width",
    "height",
    "label",
    "gid",
    "clip_on",
]
"""What is written of a mark, as far as it has it."""


def _artist(mark: Any) -> str:
    found = {each: getattr(mark, f"get_{each}")() for each in _LOOKS if hasattr(mark, f"get_{each}")}
    paths = getattr(mark, "get_paths", list)()
    if paths:
        found["paths"] = np.concatenate([each.vertices.ravel() for each in paths])
    if str(found.get("label")).startswith("_child"):  # which matplotlib numbers
        del found["label"]
    kind = type(mark).__name__.replace("FillBetweenPolyCollection", "PolyCollection")
    return f"{kind} " + " ".join(
        f"{name}={_look(each)}" for name, each in found.items() if not isinstance(each, str | None) or each
    )


def _look(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return repr(value)
    try:
        return _array(np.ma.filled(np.asarray(value, dtype=np.float64), np.nan))
    except (TypeError, ValueError):
        return (
            _array(np.concatenate([np.ravel(each) for each in value]))
            if isinstance(value, tuple)
            else type(value).__name__
        )
