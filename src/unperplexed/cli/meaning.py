"""What options mean to the library, where it has other names for it: read once, when the words have been parsed."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any

from .._lib.errors import InputError

COSTS = ("fp", "fn", "tp", "tn")
"""False and true positives and negatives."""

_PAIRED = ("compare", "skill")
_NONE = ["none"]


def settle(a: argparse.Namespace) -> None:
    """Read the options that are more than one argument of the library."""
    if hasattr(a, "clusters"):
        _read_clusters(a)
    if hasattr(a, "lag"):
        _read_lag(a)
    if hasattr(a, "forecaster"):
        _read_forecasters(a)
    if hasattr(a, "floor"):
        _read_floor(a)
    if hasattr(a, "engine"):
        a.engine, _, a.address = a.engine.partition(":")
    if hasattr(a, "style") and (a.style or a.plot):
        _read_style(a)
    if hasattr(a, "cells"):
        _read_cells(a)
    if hasattr(a, "tag"):
        a.tag = pairs("--tag", a.tag, ("name", "model", "period"))
    if hasattr(a, "capacity"):
        _read_capacity(a)
    if hasattr(a, "costs"):
        a.costs = {key: _number_or_column(value) for key, value in pairs("--costs", a.costs, COSTS).items()}


def pairs(flag: str, texts: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Read each KEY=VALUE, with a key of its own."""
    found: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or key not in known:
            raise InputError(f"{flag} {text}: expected KEY=VALUE; the keys are {', '.join(known)}.")
        if key in found:
            raise InputError(f"{flag} {key}: is given twice; leave one out.")
        found[key] = value
    return found


def as_number(flag: str, text: str) -> float:
    """Read a number that a flag has."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{flag}: expected a number, got {text!r}.") from None


def _number_or_column(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _read_clusters(a: argparse.Namespace) -> None:
    """Read A,B, values that rows of a cluster share together, or A B, either of which they share; or none."""
    a.ways, a.units = [], None
    if a.command == "monitor" and a.clusters in (_NONE, ["period"]):
        [a.units] = a.clusters
        a.clusters = []  # these words are no columns
        if "clusters" in a.given:
            a.given["units"] = a.given.pop("clusters")
    elif a.clusters != _NONE:
        a.ways = [text.split(",") for text in a.clusters]
    if a.ways[1:] and a.command not in _PAIRED:
        both = ",".join(a.clusters)
        raise InputError(
            f"--clusters {' '.join(a.clusters)}: rows that share either are for compare and skill. For rows that"
            f" share all name {both}, with commas."
        )
    a.cluster_columns = a.ways[0] if a.ways else []
    a.searched = not a.ways and a.clusters != _NONE and getattr(a, "lag", None) is None and a.units is None


def _read_forecasters(a: argparse.Namespace) -> None:
    """Read NAME=COLUMN for each forecaster, or the one column that names them."""
    named, columns = [each for each in a.forecaster if "=" in each], [each for each in a.forecaster if "=" not in each]
    if columns[1:] or (columns and named):
        raise InputError(
            f"--forecaster {' '.join(a.forecaster)}: expected NAME=COLUMN for each forecaster of one file, or one"
            " column that names the forecaster of each row."
        )
    a.forecast, a.forecaster = named, columns[0] if columns else None
    if a.command == "assess":
        if named:
            raise InputError(
                f"--forecaster {named[0]}: assess takes the column that names the forecaster of each row. Name the"
                " columns of one forecaster with --prob; for several take compare."
            )
        a.named, a.forecaster, a.by = a.forecaster, None, [*columns, *a.by]


def _read_lag(a: argparse.Namespace) -> None:
    """Read L, or L:COLUMN, places within the rows of each value of the columns."""
    number, _, columns = (a.lag or "").partition(":")
    a.within = [column for column in columns.split(",") if column]
    if a.lag is None:
        return
    try:
        a.lag = int(number)
    except ValueError:
        raise InputError(f"--lag {a.lag}: expected places, such as 14, or places within series, 14:station.") from None


def _read_floor(a: argparse.Namespace) -> None:
    """Read LOW, or LOW HIGH of which the second is as far from 1 as the first from 0."""
    low, *high = a.floor
    symmetric = isinstance(low, float) and len(high) == 1 and math.isclose(high[0], 1 - low)
    if high and not (symmetric and a.command == "assess"):
        given = " ".join(map(str, a.floor))
        raise InputError(f"--floor {given}: expected one number, or for assess also 1 minus it, such as 0.01 0.99.")
    a.floor = (low, *high) if high else low


def _read_style(a: argparse.Namespace) -> None:
    """Read KEY=VALUE, and from the reading what the outcome is called."""
    keys = [key for key in _STYLE if key != "axes" or a.command == "assess"]
    found: dict[str, Any] = {"outcome": a.outcome or "", "column": a.truth[0] if len(a.truth) == 1 else ""}
    found |= {key.replace("-", "_"): _STYLE[key](text) for key, text in pairs("--style", a.style, keys).items()}
    from ..report.chart import Style

    try:
        a.style = Style(**found)
    except InputError as error:
        raise InputError(f"--style {error}") from None


_STYLE: dict[str, Callable[[str], Any]] = {
    "title": str,
    "size": lambda text: tuple(as_number("--style size", each) for each in text.split("x")),
    "font-size": lambda text: as_number("--style font-size", text),
    "colours": str,
    "outcome": str,
    "axes": str,
}


def _read_capacity(a: argparse.Namespace) -> None:
    """Read K, or K:COLUMN, as many in each period."""
    number, _, a.period = (a.capacity or "").partition(":")
    if a.capacity is not None and not number.isdecimal():
        raise InputError(f"--capacity {a.capacity}: expected a number of rows, such as 100, or 100:day for each day.")
    a.capacity = int(number) if number else None


def _read_cells(a: argparse.Namespace) -> None:
    """Read EXACT, or EXACT:BITS."""
    a.exact_limit = a.fraction_bits = None
    if a.cells is None:
        return
    exact, _, bits = a.cells.partition(":")
    try:
        a.exact_limit, a.fraction_bits = int(exact), int(bits) if bits else None
    except ValueError:
        raise InputError(f"--cells {a.cells}: expected whole numbers, such as 65536:9.") from None
