"""New forecasts of a file, recalibrated by a saved map batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._lib.typing import Floats, Ints
from ..forecasts.labels import Label
from ..sources.readers import Batch
from ..sources.rewriting import ForecastFile
from ..sources.row_filter import RowFilter
from .new_rows import NewRows

Map = Callable[[Floats, Batch, Ints], Floats]
"""Makes calibrated probabilities of log-probabilities of every class, (n, C), at some places of a batch."""


class RecalibratedRows:
    """Recalibrates the rows of a file that a condition chooses; others stay as they are, and are not checked."""

    def __init__(
        self,
        file: ForecastFile,
        labels: Sequence[Label | None],
        recalibrated: Map,
        where: RowFilter,
        say: Callable[[str], None],
    ) -> None:
        self._where, self._recalibrated = where, recalibrated
        self._rows = NewRows(labels, file.plan, file.reading, say)
        self.n_rows = 0
        """Rows so far that were to be recalibrated."""
        self.invalid = 0
        """Rows without valid probabilities so far, which --invalid drop leaves empty."""
        self.n_columns = len(file.plan.prob)
        """Columns of probabilities; those of a column of lists are counted once rows are read."""

    def __call__(self, batch: Batch) -> Floats:
        """Give the probabilities of a batch, (n, k), in the form in which they come."""
        self._rows.refuse_text(batch)
        raw = batch.probabilities[0].rows(slice(None))
        self.n_columns = raw.shape[1]
        places = self._where.places(batch.raw)
        q = self._rows.checked(raw, batch.first_row, places)
        valid = np.flatnonzero(~np.isnan(q[:, 0]))
        if valid.size:
            q[valid] = self._recalibrated(q[valid], batch, valid)
        wanted = batch.n_rows if places is None else places.size
        self.n_rows += wanted
        self.invalid += wanted - valid.size
        new = self._rows.as_read(q, self.n_columns)
        if places is None:
            return new
        kept = raw.astype(np.float64)
        kept[places] = new[places]
        return kept
