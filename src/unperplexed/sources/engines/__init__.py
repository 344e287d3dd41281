"""Which engine counts files, and where; each module of this folder is one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from ..._lib.dataclasses import Frozen
from ..._lib.errors import InputError, check_choice

if TYPE_CHECKING:
    from ..files import Opener
    from ..readers.formats import File

ENGINES = ("local", *sorted(module.name for module in iter_modules(__path__)))
"""That of this process, and the modules of this folder: each works on files, by a function `running`."""


class Engine(Frozen):
    """What counts files, and where."""

    name: str = "local"
    address: str | None = None
    """Of a Dask scheduler or a Spark master; None for a client or session that there is, or one on this machine."""

    def __post_init__(self) -> None:
        """Refuse what is no engine, and an address of this process."""
        check_choice("engine (--engine)", self.name, ENGINES)
        if self.address is not None and self.name == "local":
            raise InputError(f"engine (--engine): 'local' has no address, got {self.address!r}.")

    def running(self, files: Sequence[File], openers: Sequence[Opener]) -> AbstractContextManager[Any]:
        """Give a `Run`, which works on files, each a task of its own."""
        try:
            module = import_module(f".{self.name}", __package__)
        except ImportError as error:
            raise InputError(str(error)) from None
        found: AbstractContextManager[Any] = module.running([file.name for file in files], openers, self.address)
        return found

    @classmethod
    def named(cls, text: str) -> Engine:
        """Read NAME, or NAME:ADDRESS."""
        name, _, address = text.partition(":")
        return cls(name, address or None)
