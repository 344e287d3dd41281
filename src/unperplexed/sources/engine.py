"""Which engine counts files, and where."""

from __future__ import annotations

from dataclasses import dataclass

from .._lib.errors import InputError, check_choice
from .._lib.public_names import listed


def _engines() -> tuple[str, ...]:
    """Name the modules of this folder that public functions come from: each is an engine."""
    homes = {home for home, _ in listed("unperplexed").values() if home.startswith(".sources.")}
    names = sorted(home.removeprefix(".sources.") for home in homes)
    return "local", *(name for name in names if name != "local")


ENGINES = _engines()
"""The engine of this process, and the modules of the others by name."""


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
                raise InputError(f"{option} (--{option}) is for engine={name!r} (--engine {name}), not {self.name!r}.")
