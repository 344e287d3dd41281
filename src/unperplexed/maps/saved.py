"""Maps read from plain values, checked value by value: nothing in a file is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from .._lib.errors import InputError, is_number, is_whole
from .._lib.typing import Floats
from .class_families import IsotonicMap, MapOfClasses
from .classes import ARRAYS, ClassMap
from .families import CurveMap, MapOfTwo
from .parameters import LAPSE, MANY_CLASSES, TWO_CLASSES
from .two import BinaryMap, finite

_HIGHEST_LAPSE = 0.99
"""Largest lapse that a fit can give, rounded up."""


def require(condition: bool, what: str) -> None:
    """Refuse a map of which something cannot be right."""
    if not condition:
        raise InputError(f"the recalibration map is damaged: {what} cannot be right. Fit it anew.")


def number(value: Any, what: str, low: float = -1e6, high: float = 1e6) -> float:
    """Return a finite number between limits.

    Parameters
    ----------
    value : object
        As it was read.
    what : str
        What errors call it.
    low, high : float, default -1e6 and 1e6
        Limits, which it may reach.
    """
    if not is_number(value, low, high):  # which NaN is not, nor a whole number beyond all floats
        shown = f"{value!r:.40}"
        raise InputError(f"the recalibration map is damaged: {what} is {shown}, not a number from {low:g} to {high:g}.")
    return float(value)


def whole(value: Any, what: str) -> int:
    """Return a whole number from 0."""
    require(is_whole(value, 0, 2**53 - 1), what)
    return int(value)


def binary_map_of(data: Mapping[str, Any], zero: float) -> MapOfTwo:
    """Read a map of two classes, and check that it has the parameters of its name and never falls."""
    name = data["name"]
    require(name in TWO_CLASSES, f"the name {name!r:.40}, which is no map for two classes,")
    if "points" in data:
        require(set(data) == {"name", "points"} and isinstance(data["points"], list), f"map {name}")
        require("isotonic" in name, f"map {name}, which has points,")
        points = data["points"]
        require(0 < len(points) <= 1 << 20 and all(isinstance(x, list) and len(x) == 2 for x in points), "points")
        s, t = (tuple(number(x[side], "points", -end, end) for x in points) for side, end in ((0, 1e300), (1, 1000)))
        require(all(b > a for a, b in pairwise(s)), f"map {name}: the order of its points")
        falls = any(b < a for a, b in pairwise(t))
        require(not falls, f"map {name}, which falls,")
        return CurveMap(name, s, t)
    coefficients = data.get("coefficients")
    require(set(data) == {"name", "coefficients", "lapse"} and isinstance(coefficients, Mapping), f"map {name}")
    assert isinstance(coefficients, Mapping)
    families = [name, "logistic"] if name in ("beta", "tail", LAPSE) else [name]
    allowed = [{*TWO_CLASSES[each].parameters} - {LAPSE} for each in families if "isotonic" not in each]
    require(set(coefficients) in allowed, f"map {name}, whose coefficients are those of another map,")
    values = {each: number(value, f"map {name}") for each, value in coefficients.items()}
    found = BinaryMap(name, values, number(data["lapse"], LAPSE, 0, _HIGHEST_LAPSE if name == LAPSE else 0), zero)
    require(found.rises(float(finite(math.inf, zero))), f"map {name}, which falls,")
    return found


def class_map_of(data: Mapping[str, Any], n_classes: int) -> MapOfClasses:
    """Read a map of more than two classes, and check that it does not reverse and gives probabilities."""
    name = data["name"]
    if name != "isotonic":
        return _plain(data, n_classes)
    require(set(data) == {"name", "base", "knots"} and isinstance(data["base"], Mapping), f"map {name}")
    knots = data["knots"]
    require(isinstance(knots, list) and len(knots) == n_classes, f"the number of classes of map {name}")
    return IsotonicMap(_plain(data["base"], n_classes), tuple(_curve(each, name) for each in knots))


def _plain(data: Mapping[str, Any], n_classes: int) -> ClassMap:
    name = data.get("name")
    known = isinstance(name, str) and name in MANY_CLASSES and name != "isotonic"
    require(known, f"the name {name!r:.40}, which is no map for more than two classes,")
    parameters, what = MANY_CLASSES[str(name)].parameters, f"map {name}"
    shared = data.get("shared")
    require(set(data) == {"name", "shared", *ARRAYS, LAPSE, "zero"} and isinstance(shared, Mapping), what)
    assert isinstance(shared, Mapping)
    wide = {each: _array(data[each], 2 if each == "matrix" else 1, n_classes, what) for each in ARRAYS}
    # A map may lack some: where curves would reverse classes, or rows are too few for a matrix, it is a simpler one.
    given = {*shared} | {each for each in wide if wide[each] is not None}
    require(given <= {*parameters}, f"{what}, whose parameters are those of another map,")
    found = ClassMap(
        str(name),
        {each: number(value, what) for each, value in shared.items()},
        **wide,
        lapse=number(data[LAPSE], f"lapse of {what}", 0, _HIGHEST_LAPSE if LAPSE in parameters else 0),
        zero=number(data["zero"], f"zero of {what}", 1e-320, 0.01),
    )
    require(found.increasing(), f"{what}, which falls,")
    return found


def _array(value: Any, dimensions: int, n_classes: int, what: str) -> Floats | None:
    """Return finite numbers, of each class or of each pair."""
    if value is None:
        return None
    require(isinstance(value, list) and len(value) == n_classes, f"the number of classes of {what}")
    if dimensions == 2:
        return np.stack([_numbers(row, n_classes, what) for row in value])
    return _numbers(value, n_classes, what)


def _numbers(value: Any, size: int | None, what: str, low: float = -1e6, high: float = 1e6) -> Floats:
    require(isinstance(value, list) and (size is None or len(value) == size), f"the number of classes of {what}")
    return np.array([number(each, what, low, high) for each in value], dtype=np.float64)


def _curve(data: Any, name: str) -> tuple[Floats, Floats]:
    """Return the knots of a non-decreasing curve of probabilities."""
    require(isinstance(data, Mapping) and set(data) == {"x", "y"}, f"map {name}")
    x, y = (_numbers(data[each], None, f"map {name}", 0.0, 1.0) for each in ("x", "y"))
    rises = bool(x.size and x.size == y.size and (np.diff(x) > 0).all() and (np.diff(y) >= -1e-12).all())
    require(rises, f"map {name}, whose curves fall,")
    return x, y


def class_map_of_version_1(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a map that version 1 wrote, as they are now."""
    name, keys = data.get("name"), {"name", "log_floor", "slope", *ARRAYS, LAPSE, "curves"}
    if name == "isotonic":
        require(isinstance(data.get("base"), Mapping), "map isotonic")
        return {**data, "base": class_map_of_version_1(data["base"])}
    require(isinstance(name, str) and name in MANY_CLASSES and set(data) == keys, f"map {name!r:.40}")
    parameters = MANY_CLASSES[str(name)].parameters
    rest, tail = _numbers(data["curves"], 2, f"map {name}").tolist()
    shared = {"slope": number(data["slope"], "slope") - 1, "rest": rest, "tail": tail}
    return {
        "name": data["name"],
        "shared": {each: shared[each] for each in parameters if each in shared},
        **{each: data[each] if each in parameters else None for each in ARRAYS},
        LAPSE: data[LAPSE],
        "zero": float(np.exp(number(data["log_floor"], "log_floor", -700, 0))),
    }
