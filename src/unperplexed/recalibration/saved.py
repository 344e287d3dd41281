"""Saved recalibration maps: small readable JSON, checked value by value when it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from .._lib.serialize import plain_values
from ..forecasts.group_keys import Key
from ..maps.saved import binary_map_of, class_map_of, class_map_of_version_1, number, require, whole
from ..maps.two import SMALLEST
from .averaging import LEAST_WEIGHT
from .files import Form
from .fitting import GroupGain, GroupMaps, HeldOutGroup
from .gain import Baseline, Gain
from .state import LEAST_PREVALENCE, Candidate, Facts, State

ONE = Form("unperplexed recalibration map", "a recalibration map", "the recalibration map has", versions=(1, 2))

GROUPS = Form("unperplexed recalibration maps of groups", "maps of groups", "the maps of groups have", "them")

FOUND = Form("unperplexed recalibration of groups found", "corrections of groups", "the corrections have", "them")

DISTRIBUTIONS = Form(
    "unperplexed recalibration map of distributions",
    "a map of predictive distributions",
    "the map of distributions has",
)


def state_dict(state: State, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give a state as plain values."""
    facts = state.facts
    return {
        **ONE.head,
        "labels": list(facts.labels),
        "rows": facts.n_rows,
        "sampled": facts.sampled,
        "observed": list(facts.observed),
        "floor": facts.zero,
        "raised_to": state.raised_to,
        "settings": dict(settings),
        "candidates": plain_values(state.candidates),
        "maps": [each.to_dict() for each in state.maps.values()],
        "gain": gain_dict(state.gain),
        "baseline": plain_values(state.baseline),
        "prevalence": state.prevalence,
    }


def gain_dict(gain: Gain | None) -> dict[str, Any] | None:
    """Give a gain as plain values."""
    if gain is None:
        return None
    return {
        "log_loss": gain.before,
        "recalibrated": gain.after,
        "gain": gain.value,
        "interval": list(gain.interval),
        "rows": gain.n_rows,
        "clusters": gain.n_clusters,
    }


def state_of(data: Any) -> tuple[State, dict[str, Any]]:
    """Read what `state_dict` gave, and check all of it."""
    for form, name in ((GROUPS, "GroupRecalibrator"), (FOUND, "FoundGroupRecalibrator")):
        if isinstance(data, Mapping) and data.get("format") == form.format:
            raise InputError(
                f"these are {form.a}, which need each row's group: apply them with recalibrate --apply, or with {name}."
            )
    ONE.check(data, state_dict(_NONE, {}), _LATER)
    facts, candidates = _facts(data), _candidates(data["candidates"])
    maps = _maps(data["maps"], candidates, facts, data["version"])
    settings = data["settings"]
    require(isinstance(settings, Mapping), "settings")
    gain, baseline = saved_gain(data["gain"]), _baseline(data.get("baseline"))
    require(baseline is None or gain is not None, "baseline")
    raised_to, prevalence = _raised_to(data, facts), data.get("prevalence")
    if prevalence is not None:
        require(len(facts.labels) == 2 and 1e-100 < facts.observed[1] < 1, "prevalence")
        prevalence = number(prevalence, "prevalence", LEAST_PREVALENCE, 1 - LEAST_PREVALENCE)
    return State(facts, candidates, maps, gain, baseline, raised_to=raised_to, prevalence=prevalence), dict(settings)


def _raised_to(data: Mapping[str, Any], facts: Facts) -> float:
    """Return what maps of version 1 raise small probabilities to: all of a file the same."""
    if data["version"] > 1:
        return number(data.get("raised_to", 0.0), "raised_to", 0, _HIGHEST_FLOOR)
    if len(facts.labels) == 2:
        return facts.zero
    first = data["maps"][0]
    return math.exp(number(first.get("base", first)["log_floor"], "log_floor", -700, 0))


_LATER = {"baseline", "raised_to", "prevalence"}
"""Keys that maps of earlier versions lack."""


_HIGHEST_FLOOR = 0.005
"""Floor of a map that was fitted to a single row."""

_NONE = State(Facts((), 0, (), 0.0), (), {}, None)


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
    floor = number(data["floor"], "floor", SMALLEST if two else 0.0, _HIGHEST_FLOOR if two else 0.0)
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


def _maps(data: Any, candidates: tuple[Candidate, ...], facts: Facts, version: int) -> dict[str, Any]:
    require(isinstance(data, list), "maps")
    maps: dict[str, Any] = {}
    for each in data:
        require(isinstance(each, Mapping) and isinstance(each.get("name"), str), "maps")
        if len(facts.labels) == 2:
            maps[each["name"]] = binary_map_of(each, facts.zero)
        else:
            now = each if version > 1 else class_map_of_version_1(each)
            maps[each["name"]] = class_map_of(now, len(facts.labels))
    weighing = {each.name for each in candidates if each.weight >= LEAST_WEIGHT}
    require(len(maps) == len(data) and set(maps) == weighing, "maps, which differ from the candidates that weigh,")
    return maps


def saved_gain(data: Any) -> Gain | None:
    """Read what `gain_dict` gave."""
    if data is None:
        return None
    keys = {"log_loss", "recalibrated", "gain", "interval", "rows"}
    require(isinstance(data, Mapping) and set(data) - {"clusters"} == keys, "gain")
    before, after, gain = (number(data[name], "gain") for name in ("log_loss", "recalibrated", "gain"))
    clusters = data.get("clusters")  # which maps of earlier versions lack
    n_clusters = None if clusters is None else whole(clusters, "gain")
    require(n_clusters is None or n_clusters > 1, "gain")
    return Gain(before, after, gain, _interval(data, "gain"), whole(data["rows"], "gain"), n_clusters)


def _baseline(data: Any) -> Baseline | None:
    if data is None:
        return None
    require(isinstance(data, Mapping) and set(data) == {"log_loss", "interval", "zeros", "zeros_as"}, "baseline")
    loss, zeros_as = number(data["log_loss"], "baseline", 0), number(data["zeros_as"], "baseline", 0, 1)
    return Baseline(loss, _interval(data, "baseline"), whole(data["zeros"], "baseline"), zeros_as)


def _interval(data: Mapping[str, Any], what: str) -> tuple[float, float]:
    interval = data["interval"]
    require(isinstance(interval, list) and len(interval) == 2, what)
    low, high = (number(each, what) for each in interval)
    require(low <= high, what)
    return low, high


_KEYS = {"by", "settings", "map", "groups", "gain"}
_OF_GROUP = {"key", "rows", "log_loss", "log_loss_of_one_map", "map"}


class Saved(Frozen):
    """Fitted maps of groups."""

    by: tuple[str, ...]
    """Names of the columns that make the groups."""
    maps: GroupMaps
    compared: GroupGain | None
    """None for too few rows or clusters; then no group has a map."""


def groups_dict(saved: Saved, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give fitted maps of groups as plain values."""
    own, compared = saved.maps.own, saved.compared
    groups = {} if compared is None else compared.groups
    return {
        **GROUPS.head,
        "by": list(saved.by),
        "settings": dict(settings),
        "map": state_dict(saved.maps.shared, _of_fit(settings)),
        "groups": [
            {
                "key": list(key),
                "rows": each.n_rows,
                "log_loss": each.own,
                "log_loss_of_one_map": each.shared,
                "map": state_dict(own[key], _of_fit(settings)) if key in own else None,
            }
            for key, each in groups.items()
        ],
        "gain": gain_dict(None if compared is None else compared.gain),
    }


def _of_fit(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"method": "auto", "single": False, **settings}


def groups_of(data: Any) -> tuple[Saved, dict[str, Any]]:
    """Read what `groups_dict` gave, and check all of it."""
    GROUPS.check(data, _KEYS)
    by, settings = data["by"], data["settings"]
    require(isinstance(by, list) and bool(by) and all(isinstance(name, str) for name in by), "by")
    require(len(set(by)) == len(by), "by")
    require(isinstance(settings, Mapping) and set(settings) == {"folds", "seed"}, "settings")
    shared, _ = state_of(data["map"])
    gain, listed = saved_gain(data["gain"]), data["groups"]
    require(isinstance(listed, list), "groups")
    require(bool(listed) == (gain is not None), "groups")
    groups: dict[Key, HeldOutGroup] = {}
    own: dict[Key, State] = {}
    for each in listed:
        require(isinstance(each, Mapping) and set(each) == _OF_GROUP, "groups")
        key = _key(each["key"], len(by))
        require(key not in groups, "groups, of which one occurs twice,")
        losses = (number(each[name], "log_loss of a group", 0) for name in ("log_loss_of_one_map", "log_loss"))
        groups[key] = HeldOutGroup(whole(each["rows"], "rows of a group"), *losses)
        if each["map"] is not None:
            own[key], _ = state_of(each["map"])
            require(own[key].facts.labels == shared.facts.labels, "the classes of a group")
    require(not own or (gain is not None and gain.significant), "groups, which have maps without a gain,")
    return Saved(tuple(by), GroupMaps(shared, own), None if gain is None else GroupGain(gain, groups)), dict(settings)


def _key(data: Any, columns: int) -> Key:
    require(isinstance(data, list) and len(data) == columns, "key")
    require(all(each is None or isinstance(each, bool | int | float | str) for each in data), "key")
    return tuple(data)
