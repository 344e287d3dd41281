"""Saved recalibration maps: small readable JSON, checked value by value when it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats
from .averaging import LEAST_WEIGHT
from .binary_fit import COLUMNS_OF, rises
from .binary_maps import COMPLEXITY, AdditiveMap, BinaryMap, CurveMap
from .binary_rows import largest_log_odds
from .class_fit import increasing
from .class_isotonic import IsotonicMap
from .class_linear import LinearMap
from .class_maps import LOWEST_FLOOR, ClassMap, class_map_from_dict
from .gain import Baseline, Gain
from .state import Candidate, Facts, State

FORMAT, VERSION = "unperplexed recalibration map", 1

MAP = "recalibration map"
"""What errors call the file."""

GROUPS_FORMAT = "unperplexed recalibration maps of groups"
"""Of maps of groups, in saved_groups."""


def state_dict(state: State, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give a state as plain values."""
    facts = state.facts
    return {
        "format": FORMAT,
        "version": VERSION,
        "labels": list(facts.labels),
        "rows": facts.n_rows,
        "sampled": facts.sampled,
        "observed": list(facts.observed),
        "floor": facts.floor,
        "settings": dict(settings),
        "candidates": [
            {"name": each.name, "weight": each.weight, "log_loss": each.log_loss, "parameters": each.complexity}
            for each in state.candidates
        ],
        "maps": [each.to_dict() for each in state.maps.values()],
        "gain": gain_dict(state.gain),
        "baseline": None if state.baseline is None else _baseline_dict(state.baseline),
    }


def gain_dict(gain: Gain | None) -> dict[str, Any] | None:
    """Give a gain as plain values."""
    if gain is None:
        return None
    return {
        "log_loss": gain.log_loss,
        "recalibrated": gain.recalibrated,
        "gain": gain.gain,
        "interval": list(gain.interval),
        "rows": gain.n_rows,
        "clusters": gain.n_clusters,
    }


def _baseline_dict(baseline: Baseline) -> dict[str, Any]:
    return {
        "log_loss": baseline.log_loss,
        "interval": list(baseline.interval),
        "zeros": baseline.zeros,
        "zeros_as": baseline.zeros_as,
    }


def state_of(data: Any) -> tuple[State, dict[str, Any]]:
    """Read what `state_dict` gave, and check all of it."""
    if isinstance(data, Mapping) and data.get("format") == GROUPS_FORMAT:
        raise InputError(
            "these are maps of groups, which need each row's group: apply them with recalibrate --apply, or with"
            " GroupRecalibrator."
        )
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError('not a recalibration map: it has no "format": "unperplexed recalibration map".')
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise InputError(
            f"the recalibration map has version {data.get('version')!r}; this version of unperplexed reads version"
            f" {VERSION}. Fit it anew."
        )
    expected = set(state_dict(_NONE, {}))
    if set(data) | _LATER != expected:
        wrong = sorted(map(str, (set(data) | _LATER) ^ expected))
        raise InputError(f"the recalibration map has missing or unknown keys: {', '.join(wrong)}.")
    facts, candidates = _facts(data), _candidates(data["candidates"])
    maps = _maps(data["maps"], candidates, facts)
    settings = data["settings"]
    require(isinstance(settings, Mapping), "settings")
    gain, baseline = gain_of(data["gain"]), _baseline(data.get("baseline"))
    require(baseline is None or gain is not None, "baseline")
    return State(facts, candidates, maps, gain, baseline), dict(settings)


_LATER = {"baseline"}
"""Keys that maps of earlier versions lack."""


_HIGHEST_FLOOR = 0.005
"""Floor of a map that was fitted to a single row."""

_HIGHEST_LAPSE = 0.99

_NONE = State(Facts((), 0, (), 0.0), (), {}, None)


def require(condition: bool, what: str) -> None:
    """Refuse a map of which something cannot be right."""
    if not condition:
        raise InputError(f"the recalibration map is damaged: {what} cannot be right. Fit it anew.")


def number(value: Any, what: str, low: float = -1e6, high: float = 1e6) -> float:
    """Return a finite number between limits."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not low <= value <= high:  # which NaN is not, nor a whole number beyond all floats
        shown = f"{value!r:.40}"
        raise InputError(f"the recalibration map is damaged: {what} is {shown}, not a number from {low:g} to {high:g}.")
    return float(value)


def whole(value: Any, what: str) -> int:
    """Return a whole number from 0."""
    require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53, what)
    return int(value)


def _facts(data: Mapping[str, Any]) -> Facts:
    labels, observed = data["labels"], data["observed"]
    require(isinstance(labels, list) and len(labels) > 1, "labels")
    require(all(label is None or isinstance(label, bool | int | float | str) for label in labels), "labels")
    named = [label for label in labels if label is not None]
    require(len(set(named)) == len(named), "labels")
    require(isinstance(observed, list) and len(observed) == len(labels), "observed")
    frequencies = tuple(number(each, "observed", 0, 1) for each in observed)
    require(abs(sum(frequencies) - 1) < 1e-6, "observed")
    rows = whole(data["rows"], "rows")
    require(rows > 0, "rows")
    two = len(labels) == 2
    floor = number(data["floor"], "floor", 1e-30 if two else 0.0, _HIGHEST_FLOOR if two else 0.0)
    return Facts(tuple(labels), rows, frequencies, floor, whole(data["sampled"], "sampled"))


def _candidates(data: Any) -> tuple[Candidate, ...]:
    require(isinstance(data, list) and 0 < len(data) < 100, "candidates")
    found = []
    for each in data:
        require(isinstance(each, Mapping) and set(each) == {"name", "weight", "log_loss", "parameters"}, "candidates")
        require(isinstance(each["name"], str), "candidates")
        weight, loss = number(each["weight"], "weight", 0, 1), number(each["log_loss"], "log_loss", 0)
        found.append(Candidate(each["name"], weight, loss, number(each["parameters"], "parameters", 0)))
    require(len({each.name for each in found}) == len(found), "candidates")
    require(abs(sum(each.weight for each in found) - 1) < 1e-6, "the sum of the weights")
    return tuple(found)


def _maps(data: Any, candidates: tuple[Candidate, ...], facts: Facts) -> dict[str, Any]:
    require(isinstance(data, list), "maps")
    maps: dict[str, Any] = {}
    for each in data:
        require(isinstance(each, Mapping) and isinstance(each.get("name"), str), "maps")
        if len(facts.labels) == 2:
            maps[each["name"]] = binary_map_of(each, largest_log_odds(facts.floor))
        else:
            maps[each["name"]] = class_map_of(each, len(facts.labels))
    weighing = {each.name for each in candidates if each.weight >= LEAST_WEIGHT}
    require(len(maps) == len(data) and set(maps) == weighing, "maps, which differ from the candidates that weigh,")
    return maps


def binary_map_of(data: Mapping[str, Any], largest: float) -> BinaryMap:
    """Read a map for two classes, and check that it has the parameters of its name and never falls."""
    name = data["name"]
    require(name in COMPLEXITY, f"the name {name!r:.40}, which is no map for two classes,")
    if "points" in data:
        require(set(data) == {"name", "points"} and isinstance(data["points"], list), f"map {name}")
        require(name not in (*COLUMNS_OF, "lapse"), f"map {name}, which has points,")
        points = data["points"]
        require(0 < len(points) <= 1 << 20 and all(isinstance(x, list) and len(x) == 2 for x in points), "points")
        s, t = (tuple(number(x[side], "points", -1000, 1000) for x in points) for side in (0, 1))
        require(all(b > a for a, b in pairwise(s)), f"map {name}: the order of its points")
        falls = any(b < a for a, b in pairwise(t))
        require(not falls, f"map {name}, which falls,")
        return CurveMap(name, s, t)
    coefficients = data.get("coefficients")
    require(set(data) == {"name", "coefficients", "lapse"} and isinstance(coefficients, Mapping), f"map {name}")
    assert isinstance(coefficients, Mapping)
    allowed = [COLUMNS_OF[name]] if name in COLUMNS_OF else []
    if name in ("beta", "tail", "lapse"):
        allowed.append(COLUMNS_OF["logistic"])
    columns = next((each for each in allowed if set(each) == set(coefficients)), None)
    require(columns is not None, f"map {name}, whose coefficients are those of another map,")
    assert columns is not None
    values = tuple(number(coefficients[each], f"map {name}") for each in columns)
    lapse = number(data["lapse"], "lapse", 0, _HIGHEST_LAPSE if name == "lapse" else 0)
    found = AdditiveMap(name, columns, values, lapse)
    require(rises(found, largest), f"map {name}, which falls,")
    return found


def class_map_of(data: Mapping[str, Any], n_classes: int) -> ClassMap:
    """Read a map for more than two classes, and check that it does not reverse and gives probabilities."""
    _check_numbers(data, f"map {data['name']:.40}")
    found = class_map_from_dict(data)
    require(found.to_dict() == data, f"map {found.name}")
    _check_linear(found.base if isinstance(found, IsotonicMap) else found, found.name, n_classes)
    if isinstance(found, IsotonicMap):
        require(len(found.knots) == n_classes, f"the number of classes of map {found.name}")
        require(all(_is_curve(x, y) for x, y in found.knots), f"map {found.name}, whose curves fall,")
    z = np.full((n_classes + 1, n_classes), -20.0)
    np.fill_diagonal(z, 0.0)
    with np.errstate(all="ignore"):
        try:
            q = found.probabilities(z)
        except (ValueError, IndexError):
            q = np.zeros(0)
    require(q.shape == z.shape, f"the number of classes of map {found.name}")
    require(bool(((q > 0) & (q < 1)).all() and np.allclose(q.sum(axis=1), 1, atol=1e-9)), f"map {found.name}")
    return found


def _check_linear(found: LinearMap, name: str, n_classes: int) -> None:
    """Refuse parameters that no fit returns: above all a shared slope, or curves, that reverse the order."""
    require(found.biases.shape == (n_classes,), f"the number of classes of map {name}")
    require(found.curves.shape == (2,), f"map {name}")
    require(math.log(LOWEST_FLOOR) - 1e-9 <= found.log_floor < 0, f"log_floor of map {name}")
    require(0 <= found.lapse < _HIGHEST_LAPSE, f"lapse of map {name}")
    with np.errstate(all="ignore"):
        require(increasing(found), f"map {name}, which falls,")


def _is_curve(x: Floats, y: Floats) -> bool:
    """Whether y is a non-decreasing function of x, both being probabilities."""
    if not (x.ndim == 1 and x.shape == y.shape and x.size):
        return False
    inside = min(x.min(), y.min()) >= 0 and max(x.max(), y.max()) <= 1
    return bool(inside and (np.diff(x) > 0).all() and (np.diff(y) >= -1e-12).all())


def _check_numbers(value: Any, what: str) -> None:
    """Refuse numbers in a map that are not finite, or beyond all use."""
    if isinstance(value, Mapping):
        for each in value.values():
            _check_numbers(each, what)
    elif isinstance(value, list):
        for each in value:
            _check_numbers(each, what)
    elif not (value is None or isinstance(value, str)):
        number(value, what)


def gain_of(data: Any) -> Gain | None:
    """Read what `gain_dict` gave."""
    if data is None:
        return None
    keys = {"log_loss", "recalibrated", "gain", "interval", "rows"}
    require(isinstance(data, Mapping) and set(data) - {"clusters"} == keys, "gain")
    interval = data["interval"]
    require(isinstance(interval, list) and len(interval) == 2, "gain")
    low, high = (number(each, "gain") for each in interval)
    before, after, gain = (number(data[name], "gain") for name in ("log_loss", "recalibrated", "gain"))
    require(low <= high, "gain")
    clusters = data.get("clusters")  # which maps of earlier versions lack
    n_clusters = None if clusters is None else whole(clusters, "gain")
    require(n_clusters is None or n_clusters > 1, "gain")
    return Gain(before, after, gain, (low, high), whole(data["rows"], "gain"), n_clusters)


def _baseline(data: Any) -> Baseline | None:
    if data is None:
        return None
    require(isinstance(data, Mapping) and set(data) == {"log_loss", "interval", "zeros", "zeros_as"}, "baseline")
    interval = data["interval"]
    require(isinstance(interval, list) and len(interval) == 2, "baseline")
    low, high = (number(each, "baseline") for each in interval)
    require(low <= high, "baseline")
    zeros = whole(data["zeros"], "baseline")
    return Baseline(
        number(data["log_loss"], "baseline", 0), (low, high), zeros, number(data["zeros_as"], "baseline", 0, 1)
    )
