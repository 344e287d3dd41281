"""Members of ensembles, and samples of predictive distributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..._lib.errors import InputError
from ..._lib.formatting import number_of
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from .arrays import BLOCK, by_block, matrix, refuse_far, refuse_rows
from .partitions import Partition
from .predictive import Note


class Samples(Partition):
    """Draws from predictive distributions, or members of ensembles, the same number in each row.

    Parameters
    ----------
    members : array_like of shape (n, M), data frame with a column a member, or xarray.DataArray
        Numbers in the unit of the outcomes, in any order; of an xarray.DataArray the dimension ``member`` holds them.
        float32 stays float32.

    Raises
    ------
    InputError
        If there are fewer than 2 members, or one is missing, infinite or text.

    Notes
    -----
    If the outcome is exchangeable with the members, each of the M + 1 ranks has the same probability.

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
        made = self.subset(slice(None))
        made._set(names=tuple(names) if len(names) == self.members.shape[1] else None)
        return made

    @property
    def form(self) -> str:
        """What the distributions are known by."""
        return number_of(self.members.shape[1], "member")

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What was seen in the forecasts."""
        return (*self._alike(), *super().notes)

    def _alike(self) -> Iterator[Note]:
        """Name members that are copies of others, or their mean, which no draws are."""
        n, some = len(self), self.members[:BLOCK]
        varied = np.count_nonzero(np.diff(np.sort(some, axis=0), axis=0), axis=0) >= _TOLD
        first: dict[float, int] = {}
        for at in np.flatnonzero(varied).tolist():
            other = first.setdefault(float(some[:, at].sum()), at)
            if other != at and np.array_equal(self.members[:, other], self.members[:, at]):
                what = f"{self._name(other)} and {self._name(at)} are equal in all rows"
                yield n, f"members: {what}. Leave one of them out."
        near = _ROUNDED * float(some.std(axis=1).mean())
        for at in np.flatnonzero(varied & self._is_mean(some, slice(None), near)).tolist():
            if some.shape[1] > 2 and self._is_mean(self.members, slice(at, at + 1), near)[0]:
                yield n, f"members: {self._name(at)} is the mean of the others. Leave it out, since it is no draw."

    @staticmethod
    def _is_mean(members: AnyFloats, columns: slice, near: float) -> Bools:
        """Say of columns whether they are the mean of the others."""
        mean = members.mean(axis=1, dtype=np.float64)[:, None]  # of all, and so of the others
        return np.asarray(np.abs(members[:, columns] - mean).max(axis=0) < near)

    def _name(self, at: int) -> str:
        return f"column {at if self.names is None else repr(self.names[at])}"

    def subset(self, rows: Bools | Ints | slice) -> Samples:
        """Return some of the forecasts."""
        part = Samples.__new__(Samples)
        part._set(members=self.members[rows], names=self.names)
        return part

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

    @property
    def _bounds(self) -> AnyFloats:
        return self.members

    def _beside(self, y: Floats, censored: Mapping[str, Any]) -> Samples:
        """Count the outcome as a member, so that calibrated ranks are independent of level and spread.

        Of members without it they are not: where few members lie close together by chance, it is often outside.
        """
        one = np.column_stack([self.members, y.astype(self.members.dtype)])
        ends = [np.broadcast_to(censored.get(side, end), len(y))[:, None] for side, end in _NO_LIMITS.items()]
        return Samples(np.clip(one, *ends) if censored else one)


_TOLD = 10
"""Changes of value down a column, so that others are not equal by chance."""

_ROUNDED = 0.01
"""Share of the spread by which a mean may be rounded."""

_NO_LIMITS = {"below": -np.inf, "above": np.inf}
