"""Results of several kinds from the same logs, one after another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._lib.errors import InputError
from .._lib.serialize import result_json


class Kinds:
    """What logs of several kinds hold, one kind after another."""

    def __init__(self, found: dict[str, Any], report: Path | None) -> None:
        if report is not None:
            raise InputError(
                f"--report: the logs hold {' and '.join(found)}; a report has one kind, from its own files."
            )
        self._found = found

    def __str__(self) -> str:
        """Give each kind as text."""
        return "\n\n".join(f"{kind.upper()}\n\n{each}" for kind, each in self._found.items())

    def to_json(self) -> str:
        """Give a dictionary by kind."""
        return result_json({kind: each.to_dict() for kind, each in self._found.items()})
