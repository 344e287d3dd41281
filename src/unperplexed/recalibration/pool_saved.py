"""Saved pools, checked value by value when they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .._lib.errors import InputError
from ..statistics.intervals import Interval

FORMAT, VERSION = "unperplexed pool", 1
_KEYS = {"format", "version", "method", "weights", "order", "power", "beta", "labels", "floor", "n_rows", "held_out"}
_HELD_OUT = {"log_loss", "members", "best", "gain", "interval", "folds"}
_RECALIBRATED = {"recalibrated", "best_recalibrated", "gain_recalibrated", "interval_recalibrated"}
"""Values of ``held_out`` that earlier versions did not save."""


def pool_state(data: Any) -> dict[str, Any]:
    """Read the fields of a `Pool` from what its ``to_dict`` gave, and check all of it."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError(f'not a pool: it has no "format": "{FORMAT}".')
    if data.get("version") != VERSION:
        raise InputError(
            f"the pool has version {data.get('version')!r}; this version of unperplexed reads version {VERSION}. Fit it"
            " anew."
        )
    if set(data) != _KEYS:
        wrong = ", ".join(sorted(map(str, set(data) ^ _KEYS)))
        raise InputError(f"the pool has missing or unknown keys: {wrong}.")
    _require(data["method"] in ("linear", "logarithmic", "mean"), "method")
    weights = _named(data["weights"], "weights", 0.0, 1.0)
    _require(bool(weights) and abs(sum(weights.values()) - 1) < 1e-9, "weights")
    beta, labels, n_rows = data["beta"], data["labels"], data["n_rows"]
    _require(beta is None or (isinstance(beta, list) and len(beta) == 2), "beta")
    _require(isinstance(labels, list) and len(labels) > 1 and (beta is None or len(labels) == 2), "labels")
    _require(all(label is None or isinstance(label, bool | int | float | str) for label in labels), "labels")
    _require(isinstance(n_rows, int) and not isinstance(n_rows, bool) and n_rows >= 0, "n_rows")
    return {
        "method": data["method"],
        "weights": weights,
        "order": _number(data["order"], "order", -1e3, 1e3),
        "power": _number(data["power"], "power", 1e-9, 1e9),
        "beta": None if beta is None else (_number(beta[0], "beta", 1e-9, 1e9), _number(beta[1], "beta", 1e-9, 1e9)),
        "labels": tuple(labels),
        "floor": _number(data["floor"], "floor", 0.0, 1 / len(labels)),
        "n_rows": n_rows,
        "held_out": None if data["held_out"] is None else _held_out(data["held_out"], set(weights)),
    }


def _held_out(data: Any, names: set[str]) -> dict[str, Any]:
    _require(isinstance(data, Mapping) and set(data) in (_HELD_OUT, _HELD_OUT | _RECALIBRATED), "held_out")
    _require(_one_of(data["best"], names) and isinstance(data["folds"], int), "held_out")
    found = {
        "log_loss": _number(data["log_loss"], "held_out", 0.0, 1e6),
        "members": _losses(data["members"], names),
        "best": data["best"],
        "gain": _number(data["gain"], "held_out", -1e6, 1e6),
        "interval": _interval(data["interval"]),
        "folds": data["folds"],
    }
    if not data.get("recalibrated"):
        return found
    _require(_one_of(data["best_recalibrated"], names), "held_out")
    return found | {
        "recalibrated": _losses(data["recalibrated"], names),
        "best_recalibrated": data["best_recalibrated"],
        "gain_recalibrated": _number(data["gain_recalibrated"], "held_out", -1e6, 1e6),
        "interval_recalibrated": _interval(data["interval_recalibrated"]),
    }


def _one_of(name: Any, names: set[str]) -> bool:
    return isinstance(name, str) and name in names


def _losses(data: Any, names: set[str]) -> dict[str, float]:
    losses = _named(data, "held_out", 0.0, 1e6)
    _require(set(losses) == names, "held_out")
    return losses


def _interval(data: Any) -> Interval:
    _require(isinstance(data, list) and len(data) == 2, "held_out")
    low, high = (math.nan if end == "NaN" else _number(end, "held_out", -1e6, 1e6) for end in data)
    return Interval(low, high)


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise InputError(f"the pool is damaged: {what} cannot be right. Fit it anew.")


def _number(value: Any, what: str, low: float, high: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    _require(good, what)
    return float(value)


def _named(values: Any, what: str, low: float, high: float) -> dict[str, float]:
    _require(isinstance(values, Mapping) and all(isinstance(name, str) for name in values), what)
    return {name: _number(value, what, low, high) for name, value in values.items()}
