"""The standard library's dataclasses, of which frozen ones are made in a third of the time: `Frozen`.

The standard library compiles six methods of each frozen class. A command makes some 150 classes, so that loading took
longer than its work. Here only ``__init__`` is compiled; the other methods are the same functions in all classes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, dataclass_transform

__all__ = ["Frozen", "dataclass", "field", "fields", "is_dataclass", "replace"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """What frozen dataclasses derive from; those of ``eq=False`` equal themselves alone."""

    def __init_subclass__(cls, eq: bool = True, **options: Any) -> None:
        """Make the class a dataclass; of its bases those before this one may have methods of their own."""
        super().__init_subclass__()
        for name in ("__eq__", "__hash__"):
            if getattr(cls, name) in (getattr(object, name), getattr(Frozen, name)):
                setattr(cls, name, getattr(Frozen if eq else object, name))
        dataclass(cls, repr=False, eq=False, **options)

    def __setattr__(self, name: str, value: object) -> None:
        """Set a field once, which is when the instance is made."""
        if name in self.__dict__ or name not in self.__dataclass_fields__:  # type: ignore[attr-defined]
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        """Refuse to delete a field."""
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        """Write the fields by name."""
        said = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(said)})"

    def __eq__(self, other: object) -> bool:
        """Whether the fields are equal, of instances of one class."""
        return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        """Hash the fields."""
        return hash(_compared(self))


def _compared(instance: Any) -> tuple[object, ...]:
    """Values of the fields that are compared."""
    return tuple(getattr(instance, each.name) for each in fields(instance) if each.compare)
