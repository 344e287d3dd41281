"""Few rows, kept row by row: in which coarse cells their probabilities are.

Which pairs are of one row is lost where pairs are counted. While the rows are few it says more than the counts do: of
each only one class happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._kernels import COARSE
from ._typing import AnyFloats

ROOM = 1 << 16
"""So many pairs are kept; of more there are none."""

FewRows: TypeAlias = NDArray[np.uint8]
"""Cells of the pairs of each row, both in order, so that neither that of rows nor that of classes matters."""


class FewRowsCounter:
    """Keeps the rows of a tally while they are few. Of two classes either tells the other: there is nothing to keep."""

    def __init__(self, n_classes: int) -> None:
        self._found: list[FewRows] | None = [np.empty((0, n_classes), dtype=np.uint8)] if n_classes > 2 else None
        self._room = ROOM

    def add(self, p: AnyFloats) -> None:
        """Keep rows."""
        self._room -= p.size
        if self._found is None or self._room < 0:
            self._found = None
            return
        code, _ = COARSE.places(np.ascontiguousarray(p).reshape(-1))
        self._found.append(code.astype(np.uint8).reshape(p.shape))

    def rows(self) -> FewRows | None:
        """All rows; None if they were many."""
        return None if self._found is None else few_rows(self._found)


def few_rows(parts: Sequence[FewRows | None]) -> FewRows | None:
    """Put rows together; None if they are many, or some are not there."""
    found = [part for part in parts if part is not None]
    if len(found) < len(parts) or sum(part.size for part in found) > ROOM:
        return None
    rows = np.sort(np.concatenate(found), axis=1)
    return rows[np.lexsort(rows.T)]
