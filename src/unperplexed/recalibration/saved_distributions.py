"""Saved maps of predictive distributions: small readable JSON, checked value by value when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._lib.serialize import plain_values
from ..maps.pit import BOUNDS, PitMap
from ..maps.pit_average import BERNSTEIN, DEGREE, FAMILIES, IDENTITY, RANKS, AnyMap, Bernstein, PitAverage
from ..maps.saved import number, require, whole
from .averaging import shares_of
from .distributions import LEAST, DistributionCandidate, DistributionMap, Location
from .saved import DISTRIBUTIONS, gain_dict, gain_of

_LARGEST = 1e300


def distributions_dict(found: DistributionMap, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give a fitted map of predictive distributions as plain values."""
    return {
        **DISTRIBUTIONS.head,
        "form": found.form,
        "rows": found.n_rows,
        "settings": dict(settings),
        "candidates": plain_values(found.candidates),
        "maps": [{"name": name, **plain_values(each.parameters())} for name, each in found.average.maps.items()],
        "location": plain_values(found.location),
        "not_negative": found.not_negative,
        "gain": gain_dict(found.gain),
    }


_KEYS = {"form", "rows", "settings", "candidates", "maps", "location", "not_negative", "gain"}


def distributions_of(data: Any) -> tuple[DistributionMap, dict[str, Any]]:
    """Read what `distributions_dict` gave, and check all of it."""
    DISTRIBUTIONS.check(data, _KEYS)
    settings, form, not_negative = data["settings"], data["form"], data["not_negative"]
    require(isinstance(settings, Mapping) and set(settings) == {"folds", "seed"}, "settings")
    require(isinstance(form, str), "form")
    require(isinstance(not_negative, bool), "not_negative")
    candidates = _candidates(data["candidates"])
    weights = np.array([each.weight for each in candidates])
    shares = shares_of([each.name for each in candidates], weights, LEAST)
    maps = _maps(data["maps"])
    require([*maps] == [*shares], "maps, which differ from the candidates that weigh,")
    average, location = PitAverage(maps, shares), _location(data["location"])
    require(location is not None or not average.located, "location")
    rows, gain = whole(data["rows"], "rows"), gain_of(data["gain"])
    return DistributionMap(form, rows, average, candidates, location, not_negative, gain), dict(settings)


def _candidates(data: Any) -> tuple[DistributionCandidate, ...]:
    require(isinstance(data, list), "candidates")
    found = []
    for each in data:
        require(isinstance(each, Mapping) and set(each) == {"name", "weight", "gain"}, "candidates")
        require(each["name"] in RANKS, "candidates")
        weight, gain = number(each["weight"], "weight", 0, 1), number(each["gain"], "gain")
        found.append(DistributionCandidate(each["name"], weight, gain))
    names = [each.name for each in found]
    require(IDENTITY in names and len(set(names)) == len(names), "candidates")
    require(abs(sum(each.weight for each in found) - 1) < 1e-6, "the sum of the weights")
    return tuple(found)


def _maps(data: Any) -> dict[str, AnyMap]:
    require(isinstance(data, list) and all(isinstance(each, Mapping) for each in data), "maps")
    return {str(each.get("name")): _map(each) for each in data}


def _map(data: Mapping[str, Any]) -> AnyMap:
    name = data.get("name")
    what = f"map {name!r:.40}"
    if name == BERNSTEIN:
        weights = data.get("weights")
        require(set(data) == {"name", "weights"} and isinstance(weights, list) and len(weights) == DEGREE, what)
        checked = tuple(number(each, what, 0, 1) for each in weights or ())
        require(abs(sum(checked) - 1) < 1e-6, what)
        return Bernstein(checked)
    require(isinstance(name, str) and name in FAMILIES and set(data) == {"name", *FAMILIES[name]}, what)
    return PitMap({each: number(data[each], what, -BOUNDS[each], BOUNDS[each]) for each in FAMILIES[str(name)]})


def _location(data: Any) -> Location | None:
    if data is None:
        return None
    pairs = ("level", "log_spread", "low", "high")
    require(isinstance(data, Mapping) and set(data) == {"logged", "least", *pairs}, "location")
    require(isinstance(data["logged"], bool), "location")
    least = number(data["least"], "location", 0, _LARGEST)
    return Location(data["logged"], least=least, **{name: _pair(data[name]) for name in pairs})


def _pair(data: Any) -> tuple[float, float]:
    require(isinstance(data, list) and len(data) == 2, "location")
    first, second = (number(each, "location", -_LARGEST, _LARGEST) for each in data)
    return first, second
