"""Functions chosen by the type of what they are given, whose modules in `describe` are loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
_R = TypeVar("_R")

_HOME = f"{__package__.partition('.')[0]}.describe"


class ByType(Generic[_R]):
    """A function with an implementation for each type, which the type's module in `describe` registers."""

    def __init__(self, unknown: Callable[..., _R]) -> None:
        """Take what is done with types that none is registered for."""
        self._unknown = unknown
        self._known: dict[type, Callable[..., _R]] = {}

    def register(self, kind: type) -> Callable[[_F], _F]:
        """Name a function as that of a type, and of those derived from it."""

        def registered(function: _F) -> _F:
            self._known[kind] = function
            return function

        return registered

    def __call__(self, found: Any, *given: Any, **named: Any) -> _R:
        """Call the function of the type, once the module that registers it is loaded."""
        kinds = type(found).__mro__
        homes = import_module(_HOME).MODULES
        home = next((homes[each.__name__] for each in kinds if each.__name__ in homes), None)
        if home is not None:
            import_module(f"{_HOME}.{home}")
        chosen = next((self._known[each] for each in kinds if each in self._known), self._unknown)
        return chosen(found, *given, **named)
