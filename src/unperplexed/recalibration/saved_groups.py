"""Saved maps of groups: JSON that holds the one map and each group's, checked value by value when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._lib.errors import InputError
from ..forecasts.group_keys import Key
from ..maps.saved import number, require, whole
from .group_rows import GroupGain, GroupMaps, HeldOutGroup
from .saved import GROUPS_FORMAT, gain_dict, gain_of, state_dict, state_of
from .state import State

VERSION = 1

_KEYS = {"format", "version", "by", "settings", "map", "groups", "gain"}
_OF_GROUP = {"key", "rows", "log_loss", "log_loss_of_one_map", "map"}


@dataclass(frozen=True)
class Saved:
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
        "format": GROUPS_FORMAT,
        "version": VERSION,
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
    if not isinstance(data, Mapping) or data.get("format") != GROUPS_FORMAT:
        raise InputError(f'not maps of groups: it has no "format": "{GROUPS_FORMAT}".')
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise InputError(
            f"the maps of groups have version {data.get('version')!r}; this version of unperplexed reads version"
            f" {VERSION}. Fit them anew."
        )
    if set(data) != _KEYS:
        raise InputError(f"the maps of groups have missing or unknown keys: {', '.join(sorted(set(data) ^ _KEYS))}.")
    by, settings = data["by"], data["settings"]
    require(isinstance(by, list) and bool(by) and all(isinstance(name, str) for name in by), "by")
    require(len(set(by)) == len(by), "by")
    require(isinstance(settings, Mapping) and set(settings) == {"folds", "seed"}, "settings")
    shared, _ = state_of(data["map"])
    gain, listed = gain_of(data["gain"]), data["groups"]
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
