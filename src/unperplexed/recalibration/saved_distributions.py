"""Saved maps of predictive distributions: small readable JSON, which is read back to the same or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._lib.serialize import plain_values
from ..maps.pit import BERNSTEIN, DEGREE, FAMILIES, IDENTITY, RANKS, AnyMap, Bernstein, PitAverage, PitMap
from ..maps.saved import number, require, whole
from .averaging import shares_of
from .distributions import LEAST, DistributionMap, Location
from .saved import DISTRIBUTIONS, gain_dict, gain_of
from .state import Candidate


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
        "fitted_to": list(found.fitted_to),
    }


_KEYS = {"form", "rows", "settings", "candidates", "maps", "location", "not_negative", "gain", "fitted_to"}


def distributions_of(data: Any) -> tuple[DistributionMap, dict[str, Any]]:
    """Read what `distributions_dict` gave: what would not be written as it was read is refused."""
    DISTRIBUTIONS.check(data, _KEYS, {"fitted_to"})
    try:
        found, settings = _read(data), dict(data["settings"])
        again = distributions_dict(found, settings)
    except (AttributeError, KeyError, TypeError, ValueError):
        again = {}
    wrong = next((name for name in data if again.get(name) != data[name]), "")
    require(not wrong, wrong if again else "something")
    require(set(settings) == {"folds", "seed"}, "settings")
    return found, settings


def _read(data: Mapping[str, Any]) -> DistributionMap:
    candidates = tuple(Candidate(**each) for each in data["candidates"])
    names, weights = [each.name for each in candidates], [number(each.weight, "weight", 0, 1) for each in candidates]
    require(IDENTITY in names and {*names} <= {*RANKS} and abs(sum(weights) - 1) < 1e-6, "candidates")
    shares = shares_of(names, np.array(weights), LEAST)
    maps = {each["name"]: _map(**each) for each in data["maps"]}
    require([*maps] == [*shares], "maps, which differ from the candidates that weigh,")
    average, place, rows = PitAverage(maps, shares), data["location"], int(data["rows"])
    parts: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in (place or {}).items()}
    location = None if place is None else Location(**parts)
    require(rows > 0 and (location is not None or not average.located), "location")
    gain, not_negative = gain_of(data["gain"]), bool(data["not_negative"])
    fitted_to = tuple(whole(each, "fitted_to") for each in data.get("fitted_to", ()))  # which earlier maps lack
    return DistributionMap(str(data["form"]), rows, average, candidates, location, not_negative, gain, fitted_to)


def _map(name: str, **parameters: Any) -> AnyMap:
    if name == BERNSTEIN:
        weights = tuple(number(each, name, 0, 1) for each in parameters["weights"])
        require(len(weights) == DEGREE, name)
        return Bernstein(weights)
    require({*parameters} == {*FAMILIES[name]}, f"map {name}")
    return PitMap({key: number(value, f"map {name}", -50, 50) for key, value in parameters.items()})
