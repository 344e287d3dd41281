"""Whole outputs beside stored ones: what a document, a chart or any result holds, as lines.

Where an output is meant to change, tests that run with ``UNPERPLEXED_WRITE=1`` in the environment write what is stored
anew; the difference is for reading.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from printed import differs
from unperplexed import __version__

_EACH = 9
"""Values of a column or an array that are written one by one; of more sums are."""

_LINE = 400
"""Characters of an object that is written in one line."""

_DEFINITION = 60
"""Characters of a definition, which is the same everywhere."""

_NUMBER = re.compile(r"[-−+]?\d+(?:[.,]\d+)*(?:e[-+−]\d+)?")


def stored(path: Path, text: str) -> None:
    """Compare an output with the stored one: words and whole numbers exactly, others as `printed.differs` does."""
    if os.environ.get("UNPERPLEXED_WRITE"):
        path.write_text(text, "utf-8")
    expected = path.read_text("utf-8")
    for got, wanted in zip(text.splitlines(), expected.splitlines(), strict=False):
        assert not differs(got, wanted), f"{path.name}:\n{got}\nis not\n{wanted}"
        assert _decimals(got) == _decimals(wanted), f"{path.name}: other decimals:\n{got}\nis not\n{wanted}"
    assert len(text.splitlines()) == len(expected.splitlines()), path.name


def _decimals(line: str) -> list[str]:
    """Places behind the points of numbers as documents show them, which have four or fewer."""
    return re.findall(r"(?<=\d)[.]\d{1,4}(?!\d)", re.sub(r"\d(?=[.])|(?<=[.\d])\d", "0", line))


def written(value: object) -> str:
    """Write a document, a chart, a result or any part of one, without the fields that are as by default."""
    return "\n".join(_lines("", value, ""))


def _lines(name: str, value: Any, indent: str) -> Iterator[str]:
    short = _short(name, value)
    if (short is not None and len(short) <= _LINE) or _plain(value):
        yield f"{indent}{name}{': ' if name else ''}{short}"
    elif is_dataclass(value):
        yield f"{indent}{name}{': ' if name else ''}{type(value).__name__}"
        for key, each in _kept(value):
            yield from _lines(key, each, f"{indent} ")
    else:
        if name:
            yield f"{indent}{name}:"
        for key, each in value.items() if isinstance(value, dict) else (("", each) for each in value):
            yield from _lines(str(key), each, f"{indent} ")


def _kept(value: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        found = getattr(value, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        empty = isinstance(found, Sequence) and not len(found)
        if (
            field.repr
            and not empty
            and not (type(found) is type(default) and not isinstance(found, np.ndarray) and found == default)
        ):
            yield field.name, found


def _plain(value: Any) -> bool:
    if isinstance(value, np.ndarray | str):
        return True
    if isinstance(value, Sequence):
        return all(map(_plain, value))
    return not is_dataclass(value) and not isinstance(value, dict)


def _short(name: str, value: Any) -> str | None:
    """Write a value in one line; None where this takes more."""
    if is_dataclass(value):
        parts = [(key, _short(key, each)) for key, each in _kept(value)]
        long = any(each is None for _, each in parts)
        return None if long else f"{type(value).__name__}({', '.join(f'{key}={each}' for key, each in parts)})"
    if not _plain(value):
        return None
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, float | np.floating):
        return f"{float(value):.5g}" if abs(value) > 1e-12 else "0.0"
    if isinstance(value, str):
        shown = value.replace(__version__, "VERSION")
        return f"{shown[:_DEFINITION]}, {len(shown)} characters" if "meaning" in name and shown else shown
    if isinstance(value, Sequence):
        return _sequence(value, [_short(name, each) or "" for each in value])
    return f"{value}"


def _sequence(of: Sequence[Any], values: list[str]) -> str:
    """Write all of a few values, and of pairs of words; of many numbers and names their ends and sums."""
    if all(isinstance(each, tuple) and set(map(type, each)) == {float} for each in of) and len(of) > _EACH:
        return _array(np.array(of))
    if len(values) <= _EACH or not all(isinstance(each, str) for each in of):
        return f"[{' | '.join(values)}]"
    numbers = [_number(found) for each in values for found in _NUMBER.findall(each)]
    characters = sum(len(_NUMBER.sub("#", each)) for each in values)
    ends = " | ".join([*values[:2], "...", values[-1]])
    return f"[{ends}] {len(values)} of {characters} characters, sum {sum(numbers):.5e}"


def _number(text: str) -> float:
    digits = text.replace("−", "-").replace(",", "")
    return float(digits) if digits.count(".") < 2 else 0.0


def _array(x: np.ndarray) -> str:
    if x.size <= _EACH or x.dtype.kind not in "fiu":
        return f"[{' '.join(_short('', each) or '' for each in x.ravel().tolist())}]"
    there = np.where(np.isfinite(x), x, 0.0).ravel()
    sums = there.sum(), there @ np.arange(x.size) / x.size, (there**2).sum()
    return f"{x.size} numbers, {np.isfinite(x).sum()} finite, sums {' '.join(f'{each:.5e}' for each in sums)}"


def drawn(figure: Any) -> str:
    """Write what matplotlib draws on a figure: texts, lines, areas and their styles, part by part."""
    size = f"figure {_short('', [*map(float, figure.get_size_inches())])}"
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
