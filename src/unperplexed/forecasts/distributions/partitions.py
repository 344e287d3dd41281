"""Forms that know a distribution by shares below some numbers, the same for all rows: quantiles and members.

Members are those of ensembles, or samples of predictive distributions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..._lib.arrays import as_array, at_hand, numbers
from ..._lib.errors import InputError, listed
from ..._lib.formatting import number_of
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from ...statistics.normal_scores import information_between, information_of
from .arrays import BLOCK, by_block, matrix, questions, refuse_far, refuse_rows
from .pit_rows import PitRows
from .predictive import Information, Limits, Predictive

_TOLD = 10
"""Changes of value down a column, so that others are not equal by chance."""

_UNLIKE = 5.0
"""Times as far from the median of a row as members usually are: another quantity."""

_ROUNDED = 0.01
"""Share of the spread by which a mean may be rounded."""

_NO_LIMITS = {"below": -np.inf, "above": np.inf}

_FEW_LEVELS = 5
"""Fewer quantiles say little about skew and tails."""

_MANY_TIES = 0.2
"""Share of forecasts with equal quantiles above which it is noted."""


class Partition(Predictive):
    """Predictive distributions of which numbers are known that bound cells of the same probabilities in all rows."""

    @property
    def edges(self) -> Floats:
        """Shares that bound the cells, from 0 to 1, shape (k + 1,)."""
        raise NotImplementedError

    @property
    def numbers(self) -> AnyFloats:
        """Numbers that bound the cells, of shape (n, k - 1), in any order."""
        found: AnyFloats = getattr(self, self._by_row[0])
        return found

    def at(self, numbers: AnyFloats) -> Partition:
        """Return forecasts of other numbers with the same shares."""
        raise NotImplementedError

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was seen in the forecasts, and what it asks."""
        return (*super().notes, *questions(self.numbers, "forecasts"))

    def __len__(self) -> int:
        """Count the forecasts."""
        return len(self.numbers)

    def scores_at(self, y: Floats) -> tuple[Floats, Floats]:
        """Return normal scores of F(y-) and F(y)."""
        below, up_to = ranks(self.numbers, y)
        z = ndtri(self.edges)
        return z[below], z[up_to + 1]

    def _information(self, low: Floats, high: Floats, limits: Limits | None) -> Information:
        if limits is None:
            return information_of(self.edges)[None], np.zeros(len(self), dtype=np.int64)
        pairs, pattern = np.unique(np.stack(limits, axis=1), axis=0, return_inverse=True)
        return information_between(beyond_merged(ndtri(self.edges), pairs[:, :1], pairs[:, 1:])), pattern.ravel()


def beyond_merged(edges: Floats, below: Floats, above: Floats) -> Floats:
    """Move edges that are beyond limits to infinity, so that there is one cell beyond each."""
    return np.where(edges < below, -np.inf, np.where(edges > above, np.inf, edges))


def ranks(bounds: AnyFloats, y: Floats) -> tuple[Ints, Ints]:
    """Count in each row the numbers below an outcome, and those up to it; both in the numbers' own precision."""
    below, up_to = (np.empty(len(y), dtype=np.int64) for _ in range(2))
    outcomes = y.astype(bounds.dtype)[:, None]
    for at in range(0, len(y), BLOCK):
        rows = slice(at, at + BLOCK)
        below[rows] = np.count_nonzero(bounds[rows] < outcomes[rows], axis=1)
        up_to[rows] = np.count_nonzero(bounds[rows] <= outcomes[rows], axis=1)
    return below, up_to


class Samples(Partition):
    """Draws from predictive distributions, or members of ensembles, the same number in each row.

    Parameters
    ----------
    members : array_like of shape (n, M), data frame with a column a member, or xarray.DataArray
        Numbers in the unit of the outcomes, in any order; of an
        xarray.DataArray the dimension ``member`` holds them. float32 stays
        float32.

    Raises
    ------
    InputError
        If there are fewer than 2 members, or one is missing, infinite or text.

    Notes
    -----
    If the outcome is exchangeable with the members, each of the M + 1 ranks has
    the same probability.

    Examples
    --------
    >>> import unperplexed as up
    >>> forecast = up.Samples([[3.1, 2.0, 4.4], [0.3, 1.2, 0.9]])
    >>> forecast
    <Samples: 2 forecasts by 3 members>
    >>> forecast.median()
    array([3.1, 0.9])
    """

    members: AnyFloats
    """Members as they came, of shape (n, M)."""
    names: tuple[Any, ...] | None
    """Names of their columns, if they have any."""
    _by_row = ("members",)

    def __init__(self, members: Any) -> None:
        found, names = matrix(members, "members", "member", "member")
        if found.shape[1] < 2:
            raise InputError("members: expected at least 2 a forecast, one a column, got 1.")
        remedy = "Leave out these rows, or the members that are not there in all."
        refuse_rows(by_block(found, np.isnan), "members", "a missing member", remedy)
        refuse_far(found, "members", "member", remedy)
        self._set(members=found, names=names)

    def called(self, names: Sequence[str]) -> Samples:
        """Return the same forecasts with the names of the members' columns."""
        return self._with(names=tuple(names) if len(names) == self.members.shape[1] else None)

    @property
    def form(self) -> str:
        """What the distributions are known by."""
        return number_of(self.members.shape[1], "member")

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was seen in the forecasts."""
        return (*self._alike(), *super().notes)

    def _alike(self) -> Iterator[str]:
        """Name members that are copies of others, or their mean, which no draws are."""
        some = self.members[:BLOCK]
        varied = np.count_nonzero(np.diff(np.sort(some, axis=0), axis=0), axis=0) >= _TOLD
        first: dict[float, int] = {}
        for at in np.flatnonzero(varied).tolist():
            other = first.setdefault(float(some[:, at].sum()), at)
            if other != at and np.array_equal(self.members[:, other], self.members[:, at]):
                what = f"{self._name(other)} and {self._name(at)} are equal in all rows"
                yield f"members: {what}. Leave one of them out."
        away = np.median(np.abs(some - np.median(some, axis=1, keepdims=True)), axis=0)
        for at in np.flatnonzero(varied & (away > _UNLIKE * np.median(away))).tolist():
            where = f"{self._name(at)} lies more than {_UNLIKE:.0f} times as far from the median of its row as most"
            yield f"members: {where}. Leave it out if it is no member."
        near = _ROUNDED * float(some.std(axis=1, dtype=np.float64).mean())
        for at in np.flatnonzero(varied & self._is_mean(some, slice(None), near)).tolist():
            if some.shape[1] > 2 and self._is_mean(self.members, slice(at, at + 1), near)[0]:
                yield f"members: {self._name(at)} is the mean of the others. Leave it out, since it is no draw."

    @staticmethod
    def _is_mean(members: AnyFloats, columns: slice, near: float) -> Bools:
        """Say of columns whether they are the mean of the others."""
        mean = members.mean(axis=1, dtype=np.float64)[:, None]  # of all, and so of the others
        return np.asarray(np.abs(members[:, columns] - mean).max(axis=0) < near)

    def _name(self, at: int) -> str:
        return f"column {at if self.names is None else repr(self.names[at])}"

    def quantile(self, shares: Any) -> Floats:
        """Return quantiles at shares: the k-th of M ordered members at k/(M + 1), linear between, none beyond."""
        size = self.members.shape[1]
        place = np.clip(np.asarray(shares, dtype=np.float64) * (size + 1) - 1, 0, size - 1)
        left = np.minimum(place.astype(np.int64), size - 2)
        found = np.empty((len(self), len(place)))
        for at in range(0, len(self), BLOCK):
            ordered = np.sort(self.members[at : at + BLOCK], axis=1)
            found[at : at + BLOCK] = ordered[:, left] * (1 - place + left) + ordered[:, left + 1] * (place - left)
        return found

    @property
    def edges(self) -> Floats:
        """Shares that bound the ranks."""
        size = self.members.shape[1]
        return np.asarray(np.arange(size + 2) / (size + 1))

    def at(self, numbers: AnyFloats) -> Samples:
        """Return other members."""
        return Samples(numbers)

    def _beside(self, y: Floats, censored: Mapping[str, Any]) -> Samples:
        """Count the outcome as a member, so that calibrated ranks are independent of level and spread.

        Of members without it they are not: where few members lie close together by chance, it is often outside.
        """
        one = np.column_stack([self.members, y.astype(self.members.dtype)])
        ends = [np.broadcast_to(censored.get(side, end), len(y))[:, None] for side, end in _NO_LIMITS.items()]
        return Samples(np.clip(one, *ends) if censored else one)


class Quantiles(Partition):
    """Predicted quantiles of numbers, the same levels in each row.

    Parameters
    ----------
    levels : array_like of shape (k,), or None
        Probabilities of an outcome up to each quantile, in (0, 1). None takes
        them from the names of a frame's columns or the coordinate ``quantile``
        of an xarray.DataArray.
    values : array_like of shape (n, k), data frame with a column a level, or xarray.DataArray
        Quantiles, in the unit of the outcomes. float32 stays float32. A row
        with a missing one is incomplete.

    Raises
    ------
    InputError
        If levels are not different shares between 0 and 1, shapes differ, or a
        value is infinite or text.

    Notes
    -----
    An outcome's probability integral transform is known up to its cell, between
    the neighbouring levels.

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
    _by_row = ("values",)

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
    def notes(self) -> tuple[str, ...]:
        """What was seen in the forecasts."""
        missing = int(np.count_nonzero(~self.complete))
        tied = int(np.count_nonzero(by_block(self.values, lambda rows: rows[:, 1:] == rows[:, :-1])))
        each = (
            (self.crossed, crossing(self.crossed)),
            (missing, f"{number_of(missing, 'forecast')} without a quantile at each level: left out."),
            (len(self) if len(self.levels) < _FEW_LEVELS else 0, f"{self.form} say little about skew and tails."),
            (tied if tied > _MANY_TIES * len(self) else 0, f"{number_of(tied, 'forecast')} with equal quantiles."),
        )
        return tuple(said for n, said in each if n) + super().notes

    def subset(self, rows: Bools | Ints | slice) -> Quantiles:
        """Return some of the forecasts."""
        return self._with(values=self.values[rows], crossed=0)

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

    def at(self, numbers: AnyFloats) -> Quantiles:
        """Return other quantiles at the same levels."""
        return Quantiles(self.levels, numbers)


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
