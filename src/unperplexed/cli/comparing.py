"""Comparisons with recalibrated forecasts: by saved maps, or by those of a fit to the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import printable
from .._lib.typing import Floats
from ..comparison.result import Comparison
from ..forecasts.forecasts import Block, Forecasts
from ..pairing.rows import Chunk, Chunks, Pair, Pairing
from ..recalibration.gain import Gain
from ..recalibration.recalibrator import Recalibrator
from ..scores.rules import LOG_LOSS
from ..statistics.intervals import Interval
from ..statistics.means import DEFAULT_FLOOR
from .input import values_by_name

Result = TypeVar("Result")


def recalibrating(
    texts: Sequence[str], say: Callable[[str], None], how: Callable[[Chunks, Pair], Result]
) -> Callable[[Chunks, Pair], Result]:
    """Return how to compare with some forecasters recalibrated, as the texts of ``--apply`` name them."""
    named = values_by_name("--apply", texts, "NAME=MAP, each forecaster's name once")
    maps = {name: Path(path) for name, path in named.items()}
    if not maps:
        return how
    from .classes import recalibrated_by

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


MOST_PROBABILITIES = 20_000_000
"""The comparison keeps so many probabilities in memory."""

BEFORE, AFTER = "raw", "recalibrated"


def before_and_after(chunks: Callable[[], Iterable[Forecasts]], how: Recalibrator) -> Comparison:
    """Compare forecasts with themselves, recalibrated by the maps that the fit of each fold's other rows gave.

    Parameters
    ----------
    chunks : callable
        Reads the forecasts.
    how : Recalibrator
        The recalibrator that was fitted to them.

    Returns
    -------
    Comparison
        Log losses and the interval of their difference are those of the gain: zeros count as they do there.
    """
    from ..comparison.compare import ComparisonSettings, compared

    parts = [*_weighing(chunks(), len(how.labels_))]
    hashes = [part.hashes(part.index) for part in parts]
    groups = None if hashes[0] is None else np.concatenate([each.view(np.int64) for each in hashes if each is not None])
    parts = [part.in_clusters(None) for part in parts]  # which the pairing knows
    recalibrated = _recalibrated(parts, how)
    starts = np.cumsum([0, *(part.index.max(initial=-1) - part.first_row + 1 for part in parts)]).tolist()
    named = ((BEFORE, parts), (AFTER, recalibrated))
    read = [Chunk(name, part, at) for name, some in named for part, at in zip(some, starts, strict=False)]
    position = np.concatenate([part.index - part.first_row + at for part, at in zip(parts, starts, strict=False)])
    pairing = Pairing(dict.fromkeys((BEFORE, AFTER), position), groups)
    floor = how.baseline.zeros_as if how.baseline is not None and how.baseline.zeros else DEFAULT_FLOOR
    settings = ComparisonSettings(floor=floor, clustered=groups is not None)
    found = compared(lambda: read, lambda _: pairing, settings)
    found = replace(found, _paired=None)  # the next step is the recalibration that this compares
    return found if how.gain_ is None else _by_gain(found, how.gain_)


def _weighing(chunks: Iterable[Forecasts], n_classes: int) -> Iterator[Forecasts]:
    """Read the rows of positive weight."""
    held = 0
    for forecasts in chunks:
        blocks = [block.weighing for block in forecasts.blocks()]
        held += sum(map(len, blocks)) * n_classes
        if held > MOST_PROBABILITIES:
            raise InputError(
                f"--report compares up to {MOST_PROBABILITIES:,} probabilities. Leave it out, or name fewer files."
            )
        yield forecasts.chosen(np.concatenate([block.index for block in blocks]) - forecasts.first_row)


def _recalibrated(parts: Iterable[Forecasts], how: Recalibrator) -> list[Forecasts]:
    assert how.held_out is not None  # the fit is to as many probabilities
    (q, _), done = how.held_out.recalibrated(block for part in parts for block in part.blocks()), 0

    def next_of(block: Block) -> Floats:
        nonlocal done
        done += len(block)
        return q[done - len(block) : done]

    return [part.with_probabilities(next_of) for part in parts]


def _by_gain(found: Comparison, gain: Gain) -> Comparison:
    """Take the interval and the p-value of the gain, which are those of a fit to all rows, for the log loss."""
    [pair] = found.pairs
    low, high = gain.interval if pair.first == BEFORE else (-gain.interval[1], -gain.interval[0])
    known: dict[str, Any] = {"interval": Interval(low, high), "p_value": gain.p_value}
    by_gain = replace(pair.differences[LOG_LOSS], **known, adjusted_p_value=gain.p_value)
    ratios = Interval(float(np.exp(-high)), float(np.exp(-low)))
    pair = replace(pair, differences=pair.differences | {LOG_LOSS: by_gain}, accuracy_ratio_interval=ratios)
    return replace(found, pairs=(pair,))
