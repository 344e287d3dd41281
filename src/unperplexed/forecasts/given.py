"""Rows as they came, of which logarithms are made where they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._lib.typing import AnyFloats, Bools, Floats, Ints
from ..kernels.devices import DeviceRows, Scale
from ..kernels.logarithms import log_odds, log_probabilities


@dataclass(frozen=True, slots=True)
class Given:
    """Rows of a source, in whatever form it has them."""

    values: AnyFloats | DeviceRows
    scale: Scale
    at: Ints | None = None
    """Which of these rows are meant; None for all."""
    sums: Floats | None = None
    """What each of them was divided by."""

    def __getitem__(self, keep: slice | Ints | Bools) -> Given:
        """Select rows, without a copy of their values."""
        places = np.arange(len(self.values)) if self.at is None else self.at
        return replace(self, at=places[keep], sums=None if self.sums is None else self.sums[keep])

    def _of(self, logarithms: Callable[[AnyFloats, Scale], Floats]) -> Floats:
        some = self.values if self.at is None else self.values[self.at]
        return logarithms(some.given if isinstance(some, DeviceRows) else some, self.scale)

    @property
    def log_probabilities(self) -> Floats:
        """(rows, classes)."""
        found = self._of(log_probabilities)
        return found if self.sums is None else found - np.log(self.sums)[:, None]

    @property
    def log_odds(self) -> Floats:
        """Of the second of two classes: no sum that both are divided by changes them."""
        return self._of(log_odds)
