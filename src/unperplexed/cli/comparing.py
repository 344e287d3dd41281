"""Forecasters of a comparison, recalibrated by saved maps before they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .._lib.errors import InputError
from .._lib.formatting import printable
from ..pairing.rows import Chunk, Chunks, Pair

if TYPE_CHECKING:
    from ..forecasts.forecasts import Forecasts

Result = TypeVar("Result")


def maps_of(texts: Sequence[str]) -> dict[str, Path]:
    """Read NAME=PATH, each name once."""
    maps: dict[str, Path] = {}
    for text in texts:
        name, _, path = text.partition("=")
        if not name or not path or name in maps:
            raise InputError(f"--apply {text}: expected NAME=MAP, each forecaster's name once.")
        maps[name] = Path(path)
    return maps


def recalibrating(
    texts: Sequence[str], say: Callable[[str], None], how: Callable[[Chunks, Pair], Result]
) -> Callable[[Chunks, Pair], Result]:
    """Return how to compare with some forecasters recalibrated, as the texts of ``--apply`` name them."""
    maps = maps_of(texts)
    if not maps:
        return how
    from .recalibrate import recalibrated_by

    changes = {name: _naming(name, path, recalibrated_by(path)) for name, path in maps.items()}
    for name, path in maps.items():
        say(
            f"{printable(name)}: recalibrated by {printable(str(path))}; if the map was fitted to these rows, they"
            " look better calibrated than new rows will"
        )

    def changed(parts: Chunks) -> Iterator[Chunk]:
        seen: dict[str, None] = {}
        for part in parts():
            seen[part.name] = None
            change = changes.get(part.name)
            yield part if change is None else part._replace(forecasts=change(part.forecasts))
        if unknown := [name for name in changes if name not in seen]:
            raise InputError(
                f"--apply {unknown[0]}={maps[unknown[0]]}: no forecaster of that name; they are"
                f" {', '.join(map(repr, seen))}."
            )

    return lambda parts, pair: how(lambda: changed(parts), pair)


def _naming(name: str, path: Path, change: Callable[[Forecasts], Forecasts] | None) -> Callable[[Forecasts], Forecasts]:
    """Let errors of a map name the forecaster."""
    assert change is not None

    def changed(forecasts: Forecasts) -> Forecasts:
        try:
            return change(forecasts)
        except InputError as error:
            raise InputError(f"--apply {name}={path}: {error}") from None

    return changed
