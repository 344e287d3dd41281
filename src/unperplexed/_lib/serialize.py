"""Results as plain Python values and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def json_text(value: Any, indent: int | None = 2) -> str:
    """Give a result as JSON; non-finite figures are the strings "NaN", "Infinity" and "-Infinity"."""
    return json.dumps(_finite(plain_values(value)), indent=indent, ensure_ascii=False, allow_nan=False, default=str)


SCHEMA = 2
"""Version of the names in a result's JSON; saved maps, pools, histories and tallies have versions of their own."""


def result_json(value: dict[str, Any], indent: int | None = 2) -> str:
    """Give a result as JSON, under the schema that its names are of."""
    return json_text({"schema": SCHEMA, **value}, indent)


def plain_values(value: Any) -> Any:
    """Dataclasses, without their private fields, arrays and mappings as dictionaries, lists and numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain_values(getattr(value, f.name)) for f in fields(value) if not f.name.startswith("_")}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain_values(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [plain_values(each) for each in value]
    return value


def _finite(value: Any) -> Any:
    """Replace non-finite floats by their names: JSON has no other way to say them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value
