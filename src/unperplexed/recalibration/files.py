"""Fits in JSON files: how they are written and read, and what is checked of any of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from .._lib.errors import InputError
from .._lib.json_files import made_of_file
from .._lib.output_files import check_output, write_whole
from .._lib.serialize import json_text
from ..report.result import Result


class Form(NamedTuple):
    """A kind of file, in words of its errors."""

    format: str
    a: str
    """Such as "a pool"."""
    has: str
    """Such as "the pool has"."""
    it: str = "it"
    versions: tuple[int, ...] = (1,)
    """Those that are read; the last one is written."""

    @property
    def head(self) -> dict[str, Any]:
        """What a file begins with."""
        return {"format": self.format, "version": self.versions[-1]}

    def check(self, data: Any, keys: Collection[str], later: Collection[str] = ()) -> None:
        """Refuse what has another format, version or other keys; files of earlier versions lack ``later`` ones."""
        if not isinstance(data, Mapping) or data.get("format") != self.format:
            raise InputError(f'not {self.a}: it has no "format": "{self.format}".')
        version = data.get("version")
        if type(version) is not int or version not in self.versions:
            known = f"version{'s' * (len(self.versions) > 1)} {' to '.join(map(str, self.versions))}"
            raise InputError(
                f"{self.has} version {version!r}; this version of unperplexed reads {known}. Fit {self.it} anew."
            )
        if wrong := {*data, *later} ^ {*self.head, *keys}:
            raise InputError(f"{self.has} missing or unknown keys: {', '.join(sorted(map(str, wrong)))}.")


class SavedFit(ABC):
    """A fit that is saved as JSON."""

    saved_as: ClassVar[str]
    """What errors call the file."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Give the fit as plain values: what `save` writes."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Any) -> Self:
        """Make a fit of what `to_dict` gave; anything else is refused with the reason."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit as JSON, whole or not at all."""
        write_whole(check_output(Path(path)), (json_text(self.to_dict()) + "\n").encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a file that `save` wrote; a truncated, changed or other file is refused with the reason."""
        return made_of_file(path, cls.saved_as, cls.from_dict)


_State = TypeVar("_State")


class Fitted(SavedFit, Result, Generic[_State]):
    """A recalibrator, fitted or not yet."""

    saved_as = "recalibration map"
    _state: _State | None = None

    @property
    def fitted(self) -> bool:
        """Whether there is a map."""
        return self._state is not None

    @property
    def state(self) -> _State:
        """The fitted maps, and the facts of the data."""
        if self._state is None:
            raise InputError("the recalibrator is not fitted; call fit first, or load one.")
        return self._state

    def __str__(self) -> str:
        """Give the conclusion, the maps with their weights or the groups, and the gain."""
        return self.to_text() if self.fitted else repr(self)
