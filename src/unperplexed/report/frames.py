"""Tables of results as frames of the package that the input came from: pandas for pandas, polars for all else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .._lib.arrays import library
from .result import Result

if TYPE_CHECKING:
    import polars as pl

_P = ParamSpec("_P")
_R = TypeVar("_R")

PANDAS = "pandas"
_DEEPEST = 5
"""Results inside of a result are found so many levels down."""


def frames_as_input(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let the results of a function give frames of the package that its first frame or column came from."""

    @wraps(function)
    def made(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        found = function(*args, **kwargs)
        if next(_packages([*args, *kwargs.values()]), "") == PANDAS:
            _mark(found, _DEEPEST)
        return found

    return made


def frame_like_input(result: Result, frame: pl.DataFrame) -> Any:
    """Give a frame of the package that the input of a result came from."""
    if result.frames_of != PANDAS:
        return frame
    import pandas as pd

    return pd.DataFrame(frame.to_dict(as_series=False), columns=frame.columns)


def _packages(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping):
            yield from _packages(value.values())
        elif (name := library(value)) in (PANDAS, "polars"):
            yield name


def _mark(value: Any, levels: int) -> None:
    if isinstance(value, Result):
        object.__setattr__(value, "frames_of", PANDAS)
    if not levels:
        return
    inside: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, tuple | list):
        inside = value
    elif is_dataclass(value):
        inside = [*getattr(value, "__dict__", {}).values()]
    for each in inside:
        _mark(each, levels - 1)
