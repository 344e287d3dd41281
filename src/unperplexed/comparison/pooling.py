"""The rows of several forecasters in files side by side, for a pool: all their probabilities, paired."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Floats
from ..forecasts.forecasts import Notes
from ..forecasts.gathered import GatheredRows
from ..pairing.rows import Chunks, Pair, ScoredRows, check_same, paired
from ..tally.tally import Tally


def paired_rows(parts: Chunks, pair: Pair) -> GatheredRows:
    """Read every forecaster's rows once, with all log-probabilities, and pair them.

    Rows of weight 0, and rows that are not valid for every forecaster, are left out.
    """
    read: dict[str, _Reader] = {}
    for name, run in groupby(parts(), key=lambda part: part.name):
        reader = read.setdefault(name, _Reader())
        for part in run:
            reader.add(part)
    found = {name: reader.rows(name) for name, reader in read.items()}
    pairing = pair(found)
    at, rows = paired(found, pairing)
    check_same(rows, at, pairing)
    first = next(iter(rows))
    some = rows[first].weights > 0
    if not some.any():
        raise InputError("no rows of positive weight that are valid for every forecaster.")
    labels = rows[first].labels
    log_p: dict[str, AnyFloats] = {}
    for name, each in rows.items():
        order = [each.labels.index(label) for label in labels]
        place = np.searchsorted(found[name].position, each.position[some])
        log_p[name] = read[name].log_probabilities()[place][:, order]
    clusters = None if pairing.clusters is None else np.unique(pairing.clusters[at][some], return_inverse=True)[1]
    left_out = {name: found[name].position.size - at.size for name in rows}
    return GatheredRows(
        labels=labels,
        index=rows[first].position[some],
        truth=rows[first].truth[some].astype(np.int64),
        weights=rows[first].weights[some],
        weighted=any(reader.weighted for reader in read.values()),
        clusters=None if clusters is None else clusters.reshape(-1),
        values=log_p,
        one_column=read[first].one_column,
        notes={
            name: reader.notes + Notes(dropped={"no valid counterpart": left_out[name]} if left_out[name] else {})
            for name, reader in read.items()
        },
    )


class _Reader:
    """The rows of one forecaster, gathered part by part."""

    def __init__(self) -> None:
        self._columns: list[tuple[Any, ...]] = []
        self._labels: tuple[Any, ...] = ()
        self.notes, self.weighted, self.one_column = Notes(), False, False

    def add(self, part: Any) -> None:
        self._labels, self.one_column = part.forecasts.labels, part.forecasts.one_column
        for block in part.forecasts.blocks():
            self.notes, self.weighted = self.notes + block.notes, self.weighted or block.weights is not None
            w = np.ones(len(block)) if block.weights is None else block.weights
            self._columns.append((part.positions(block), block.truth, w, block.rows.correct, block.log_probabilities))

    def rows(self, name: str) -> ScoredRows:
        """Give the rows without their probabilities."""
        if not self._columns:
            raise InputError(f"{name}: no rows to pool.")
        position, truth, w, correct, _ = (np.concatenate(column) for column in zip(*self._columns, strict=True))
        return ScoredRows(self._labels, position, truth, w, correct, {}, {}, Tally())

    def log_probabilities(self) -> Floats:
        """Give the log-probabilities of these rows, (n, C)."""
        return np.concatenate([columns[-1] for columns in self._columns])
