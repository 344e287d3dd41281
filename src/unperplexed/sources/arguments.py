"""What a caller says of columns, rows and engines, in the words of the readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack, get_args

from .._lib.errors import InputError, check_choice, refuse_unknown
from ..forecasts.reading import Reading
from .files import FileReading, Selection

EngineName = Literal["local", "dask", "spark"]


@dataclass(frozen=True)
class Engine:
    """What counts files, and where."""

    name: EngineName = "local"
    scheduler: str | None = None
    """Address of a Dask scheduler; None for a client that there is, or else a cluster on this machine."""
    master: str | None = None
    """URL of a Spark master; None for a session that there is, or else one on this machine."""

    def __post_init__(self) -> None:
        """Refuse the address of another engine."""
        check_choice("engine (--engine)", self.name, get_args(EngineName))
        for said, address, name in (("scheduler", self.scheduler, "dask"), ("master", self.master, "spark")):
            if address is not None and self.name != name:
                raise InputError(f"{said} (--{said}) is for engine={name!r} (--engine {name}), not {self.name!r}.")


def described(
    *,
    truth: str | Sequence[str] = (),
    prob: str | Sequence[str] = (),
    pairs: Sequence[tuple[str, str]] = (),
    weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    **reading: Unpack[Reading],
) -> tuple[Selection, FileReading]:
    """Put into words of the readers what a caller says of columns and rows."""
    refuse_unknown(
        "tally_files", reading, [*Reading.__annotations__, "truth", "prob", "pairs", "weight", "groups", "by"]
    )
    if bool(pairs) == bool(truth and prob) or bool(truth) != bool(prob):
        raise InputError("truth and prob: name the columns of both, or pairs of (probability, outcome) columns.")
    paired = [f"{p}={t}" for p, t in pairs]
    selection = Selection(names(truth), names(prob), paired, weight, names(groups or ()), names(by))
    labels, pos_label, ignore_label = (reading.get(name) for name in _LABELS)
    return selection, FileReading(
        None if labels is None else names(labels),
        None if pos_label is None else str(pos_label),
        None if ignore_label is None else names(ignore_label),
        options={name: bool(reading.get(name)) for name in Reading.__annotations__ if name not in _LABELS},
    )


_LABELS = ("labels", "pos_label", "ignore_label")


def names(value: Any) -> list[str]:
    """Give one name or several as texts."""
    several = hasattr(value, "__iter__") and not isinstance(value, str)
    return [str(each) for each in (value if several else [value])]
