"""Which engine counts files, and where; each module of this folder is one."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import iter_modules

from ..._lib.errors import InputError, check_choice

ENGINES = ("local", *sorted(module.name for module in iter_modules(__path__)))
"""That of this process, and the modules of this folder: each counts files, by a function `counted_files`."""


@dataclass(frozen=True)
class Engine:
    """What counts files, and where."""

    name: str = "local"
    scheduler: str | None = None
    """Address of a Dask scheduler; None for a client that there is, or else a cluster on this machine."""
    master: str | None = None
    """URL of a Spark master; None for a session that there is, or else one on this machine."""

    def __post_init__(self) -> None:
        """Refuse the address of another engine."""
        check_choice("engine (--engine)", self.name, ENGINES)
        for option, address, name in (("scheduler", self.scheduler, "dask"), ("master", self.master, "spark")):
            if address is not None and self.name != name:
                raise InputError(f"{option} is for engine={name!r}, not {self.name!r}.")
