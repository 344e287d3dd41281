"""Predicted quantiles."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..._lib.arrays import as_array, at_hand, numbers
from ..._lib.errors import InputError, listed
from ..._lib.formatting import number_of
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from .arrays import by_block, matrix, refuse_far
from .partitions import Partition
from .pit_rows import PitRows
from .predictive import Note

_FEW_LEVELS = 5
"""Fewer quantiles say little about skew and tails."""

_MANY_TIES = 0.2
"""Share of forecasts with equal quantiles above which it is noted."""


class Quantiles(Partition):
    """Predicted quantiles of numbers, the same levels in each row.

    Parameters
    ----------
    levels : array_like of shape (k,), or None
        Probabilities of an outcome up to each quantile, in (0, 1). None takes them from the names of a frame's columns
        or the coordinate ``quantile`` of an xarray.DataArray.
    values : array_like of shape (n, k), data frame with a column a level, or xarray.DataArray
        Quantiles, in the unit of the outcomes. float32 stays float32. A row with a missing one is incomplete.

    Raises
    ------
    InputError
        If levels are not different shares between 0 and 1, shapes differ, or a value is infinite or text.

    Notes
    -----
    An outcome's probability integral transform is known up to its cell, between the neighbouring levels.

    Examples
    --------
    >>> import unperplexed as up
    >>> forecast = up.Quantiles([0.1, 0.5, 0.9], [[2, 4, 7], [1, 5, 8]])
    >>> forecast
    <Quantiles: 2 forecasts by 3 quantiles>
    >>> forecast.median()
    array([4., 5.])
    """

    levels: Floats
    """Levels, increasing; of shape (k,)."""
    values: AnyFloats
    """Quantiles in the order of the levels, those that crossed sorted; of shape (n, k)."""
    crossed: int
    """Number of rows whose quantiles crossed."""

    def __init__(self, levels: Any, values: Any) -> None:
        found, names = matrix(values, "values", "level", "quantile")
        levels = _checked_levels(names if levels is None else levels, found.shape)
        order = np.argsort(levels)
        if (np.diff(order) < 0).any():
            levels, found = levels[order], found[:, order]
        refuse_far(found, "values", "quantile", "Leave out such levels.")
        crossed = by_block(found, lambda rows: rows[:, 1:] < rows[:, :-1])
        if crossed.any():
            found = np.array(found)
            found[crossed] = np.sort(found[crossed], axis=1)
        self._set(levels=levels, values=found, crossed=int(crossed.sum()))

    @property
    def form(self) -> str:
        """What the distributions are known by."""
        return number_of(len(self.levels), "quantile")

    @cached_property
    def complete(self) -> Bools:
        """Whether no quantile of a forecast is missing."""
        return ~by_block(self.values, np.isnan)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What was seen in the forecasts."""
        missing = int(np.count_nonzero(~self.complete))
        tied = int(np.count_nonzero(by_block(self.values, lambda rows: rows[:, 1:] == rows[:, :-1])))
        each = (
            (self.crossed, crossing(self.crossed)),
            (missing, f"{number_of(missing, 'forecast')} without a quantile at each level: left out."),
            (len(self) if len(self.levels) < _FEW_LEVELS else 0, f"{self.form} say little about skew and tails."),
            (tied if tied > _MANY_TIES * len(self) else 0, f"{number_of(tied, 'forecast')} with equal quantiles."),
        )
        return tuple(note for note in each if note[0]) + super().notes

    def subset(self, rows: Bools | Ints) -> Quantiles:
        """Return some of the forecasts."""
        part = Quantiles.__new__(Quantiles)
        part._set(levels=self.levels, values=self.values[rows], crossed=0)
        return part

    def quantile(self, shares: Any) -> Floats:
        """Return quantiles at shares, linear in the normal scores of the levels; beyond as between the last two."""
        z, wanted = ndtri(self.levels), ndtri(np.asarray(shares, dtype=np.float64))
        if len(z) == 1:
            return np.repeat(self.values.astype(np.float64), len(wanted), axis=1)
        right = np.clip(np.searchsorted(z, wanted), 1, len(z) - 1)
        share = (wanted - z[right - 1]) / (z[right] - z[right - 1])
        return np.asarray(self.values[:, right - 1] * (1 - share) + self.values[:, right] * share)

    @property
    def edges(self) -> Floats:
        """Shares that bound the cells."""
        return np.concatenate([[0.0], self.levels, [1.0]])

    def cell_ends(self, rows: PitRows) -> list[Floats]:
        """Return the quantiles below and above each outcome, which bound its cell; infinite ones outside of all."""
        z, last, found = ndtri(self.edges), len(self.levels) - 1, []
        for end in (rows.low, rows.high):
            at = np.clip(np.searchsorted(z, end) - 1, 0, last)
            found.append(np.where(np.isinf(end), end, self.values[np.arange(len(self)), at]))
        return found

    @property
    def _bounds(self) -> AnyFloats:
        return self.values


def _checked_levels(levels: Any, shape: tuple[int, ...]) -> Floats:
    if levels is None:
        raise InputError("levels: missing; give the probability of an outcome up to each quantile, such as 0.1.")
    given: Floats = numbers(as_array(at_hand(levels)), "levels").astype(np.float64)
    if given.ndim != 1:
        raise InputError(f"levels: expected shape (k,), got shape {given.shape}. Levels come first, then values.")
    said = listed(given.tolist())
    if not ((given > 0) & (given < 1)).all():
        percent = " They look like percent: divide them by 100." if given.max() > 1 and given.min() > 0 else ""
        raise InputError(f"levels: expected probabilities between 0 and 1, got {said}.{percent}")
    if len(np.unique(given)) < len(given):
        raise InputError(f"levels: some occur twice, {said}. Give each once.")
    if shape[1] != len(given):
        turned = " Rows are forecasts: give values.T." if shape[0] == len(given) else ""
        raise InputError(f"values: expected one column for each of {len(given)} levels, got shape {shape}.{turned}")
    return given


def crossing(forecasts: int) -> str:
    """Say in how many forecasts quantiles crossed."""
    return f"quantiles of {number_of(forecasts, 'forecast')} cross; they were sorted."
