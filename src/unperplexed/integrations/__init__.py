"""Where models are trained and selected: one module for each library, which is imported only when it is named."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    from importlib.resources import files

    known = sorted(each.name[:-3] for each in files(__name__).iterdir() if each.name.endswith(".py"))[1:]
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its modules are {', '.join(known)}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
