"""Names for the array types that signatures speak of, and dataclasses that equal their copies: `ByValue`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .dataclasses import Frozen
from .errors import called


class ByValue(Frozen):
    """A frozen dataclass that equals others of its class with equal values; NaN equals NaN, arrays compare by element.

    So a copy, also one from a pickle, equals the original. Fields with ``compare=False`` do not count.

    Examples
    --------
    >>> class Gap(ByValue):
    ...     width: float
    >>> Gap(float("nan")) == Gap(float("nan")), Gap(0.1) == Gap(0.2)
    (True, False)
    """

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            """Refuse attributes that there are not; other names with what they are called here."""
            of = type(self).__name__
            known = [] if name.startswith("_") else [*getattr(self, "__dict__", ()), *dir(type(self))]
            also = called(name, of, [*dict.fromkeys(each for each in known if not each.startswith("_"))])
            raise AttributeError(f"{of!r} object has no attribute {name!r}{also}")

    def __eq__(self, other: object) -> bool:
        """Whether all values are the same."""
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._values() == other._values()

    def __hash__(self) -> int:
        """Hash the values."""
        return hash(self._values())

    def _values(self) -> Any:
        """What is compared, in a form that can be hashed."""
        return tuple(_comparable(getattr(self, each.name)) for each in fields(self) if each.compare)


_NAN = object()


def _comparable(value: Any) -> Any:
    """Return the value in a form that can be hashed and equals itself."""
    if isinstance(value, float):
        return _NAN if math.isnan(value) else value
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.nan, value + 0.0)  # NaN and zero have several forms
        values = _comparable(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return value.shape, value.dtype.str, values
    if isinstance(value, Mapping):
        return frozenset((key, _comparable(each)) for key, each in value.items())
    if isinstance(value, tuple | list):
        return tuple(map(_comparable, value))
    return value


Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Codes: TypeAlias = NDArray[np.signedinteger[Any]]
AnyFloats: TypeAlias = NDArray[np.floating[Any]]


class ReadOnlyArrays(ByValue):
    """A frozen dataclass whose arrays cannot be written to either."""

    def __post_init__(self) -> None:
        """Close the arrays."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
