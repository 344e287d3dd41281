"""Predictive distributions of numbers, in any form: where outcomes fall in them, how high and how wide they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..._lib.arrays import floats
from ..._lib.dataclasses import Frozen
from ..._lib.errors import InputError, check_choice
from ..._lib.formatting import number_of
from ..._lib.typing import Bools, Floats, Ints
from ...statistics.means import checked_weights
from .arrays import closed, refuse_rows, vector
from .pit_rows import PitRows

NORMAL_QUARTILES = 1.349
"""Distance between the quartiles of a normal distribution, in standard deviations."""

Limits = tuple[Floats, Floats]
"""Normal scores of what is censored below and above; -inf and inf where nothing is."""

Information = tuple[Floats, Ints]
"""Information of patterns of cells, of shape (k, 4, 4), and which of them each row has."""


class Predictive:
    """Predictive distributions, one a row: the base of `Quantiles`, `Samples`, `Distribution`, `Ordered` and `PIT`.

    Arrays cannot be written to. They are not copied where they can be read as they are: do not change them.
    """

    _by_row: ClassVar[tuple[str, ...]]
    """Names of the fields that have a row for each forecast."""

    def _set(self, **fields: Any) -> None:
        kept = {name: closed(each) if isinstance(each, np.ndarray) else each for name, each in fields.items()}
        vars(self).update(kept)

    def _with(self, **changed: Any) -> Self:
        """Return forecasts with other fields, which are not checked."""
        made = type(self).__new__(type(self))
        made._set(**{name: getattr(self, name) for name in type(self).__annotations__} | changed)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a forecast."""
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields of a pickle or copy, whose arrays cannot be written to either."""
        self._set(**state)

    def __len__(self) -> int:
        """Count the forecasts."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Say how many forecasts there are, and of which form."""
        return f"<{type(self).__name__}: {number_of(len(self), 'forecast')} by {self.form}>"

    @property
    def form(self) -> str:
        """What the distributions are known by: "23 quantiles"."""
        raise NotImplementedError

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was seen in the forecasts, in sentences."""
        flat = int(np.count_nonzero(self.spread() == 0))
        said = f"{number_of(flat, 'forecast')} of spread 0: taken as the smallest of the others."
        return (said,) * (0 < flat < len(self))

    @property
    def edges(self) -> Floats | None:
        """Shares that bound the cells of all rows, from 0 to 1; None where rows have none, or their own."""
        return None

    @property
    def complete(self) -> Bools:
        """Whether nothing of a forecast is missing. Incomplete ones have to be left out: ``subset(complete)``."""
        return np.ones(len(self), dtype=bool)

    def subset(self, rows: Bools | Ints | slice) -> Self:
        """Return some of the forecasts."""
        return self._with(**{name: getattr(self, name)[rows] for name in self._by_row})

    def row_by_row(self) -> Self:
        """Return the same forecasts, of which each tells as much as it does among any others."""
        return self

    def quantile(self, shares: Any) -> Floats:
        """Return predicted quantiles at shares of shape (k,), as an array of shape (n, k)."""
        raise NotImplementedError

    @cached_property
    def _quartiles(self) -> Floats:
        return self.quantile([0.25, 0.5, 0.75])

    def median(self) -> Floats:
        """Return the predicted medians, an array of shape (n,)."""
        return self._quartiles[:, 1]

    def spread(self) -> Floats:
        """Return the distances between the quartiles, by 1.349: the standard deviations of normal distributions."""
        return np.asarray((self._quartiles[:, 2] - self._quartiles[:, 0]) / NORMAL_QUARTILES)

    def _possible(self, y: Floats) -> Bools:
        """Say of each outcome whether its forecast holds it possible."""
        return np.ones(len(y), dtype=bool)

    def pit_rows(self, y: Any, *, censored: Mapping[str, Any] | None = None, sample_weight: Any = None) -> PitRows:
        """Return where outcomes fall in the forecasts, as normal scores.

        Parameters
        ----------
        y : array_like of shape (n,)
            Outcomes.
        censored : mapping, optional
            ``{"above": limits}``: an outcome at its row's limit or above is only known to be there; likewise "below".
            Every row needs the limit that it would have had, infinite where there is none.
        sample_weight : array_like of shape (n,), optional
            Non-negative importance weights.

        Raises
        ------
        InputError
            If shapes differ, a number is missing, or forecasts are incomplete.
        """
        return self.rows_of(self.outcomes(y), censored, sample_weight)

    def rows_of(self, y: Floats, censored: Mapping[str, Any] | None, sample_weight: Any) -> PitRows:
        """Return the same of outcomes that were checked."""
        return self._scaled(self.unscaled_rows(y, censored, sample_weight))

    def unscaled_rows(self, y: Floats, censored: Mapping[str, Any] | None, sample_weight: Any) -> PitRows:
        """Return the same with levels and spreads as they are."""
        refuse_rows(~self.complete, self.form, "something missing", "Leave them out with subset(complete).")
        low, high = self.scores_at(y)
        impossible = ~self._possible(y) | (np.isinf(low) & (low == high))  # no double is so small a probability
        limits = None if not censored else self._limits(censored)
        if limits is not None:
            low, high, impossible = _merged(low, high, impossible, limits)
        information, pattern = self._information(low, high, limits)
        level, spread = self._beside(y, censored or {})._location()
        weight = None if sample_weight is None else checked_weights(sample_weight, len(y))
        return PitRows(low, high, information, pattern, impossible, level, spread, weight)

    def outcomes(self, y: Any, *, missing: bool = False) -> Floats:
        """Read and check the outcomes of the forecasts; where some may be missing, these are NaN."""
        self._refuse_forecasts(y)
        return vector(y, "y_true", "outcome", len(self), missing=missing)

    def named(self, y: Floats) -> Any:
        """Return outcomes as they are known by outside: numbers, or labels of classes."""
        return y

    @staticmethod
    def _refuse_forecasts(y: Any) -> None:
        if isinstance(y, Predictive):
            raise InputError("y_true: got forecasts. Outcomes come first, then forecasts.")

    def _scaled(self, rows: PitRows) -> PitRows:
        """Return rows with levels and spreads as they are judged."""
        return rows.scaled()

    def scores_at(self, y: Floats) -> tuple[Floats, Floats]:
        """Return normal scores of F(y-) and F(y)."""
        raise NotImplementedError

    def _information(self, low: Floats, high: Floats, limits: Limits | None) -> Information:
        """Return the information of each row's cells, of which those beyond limits are one.

        All forms know their cells but `PIT`, which estimates by those that outcomes fell in.
        """
        raise NotImplementedError

    def _limits(self, censored: Mapping[str, Any]) -> Limits:
        """Return the normal scores beyond which outcomes are censored."""
        if not isinstance(censored, Mapping):
            raise InputError('censored: expected {"above": limits} or {"below": limits}.')
        for side in censored:
            check_choice("censored", side, ("above", "below"))
        below = self._limit(censored.get("below"), "below", -np.inf)
        return below, self._limit(censored.get("above"), "above", np.inf)

    def _limit(self, limits: Any, side: str, never: float) -> Floats:
        scores = np.full(len(self), never)
        if limits is None:
            return scores
        limits = floats(limits, f"censored {side}")
        if limits.shape not in ((), scores.shape):
            expected = f"one limit a forecast, {len(self):,}, got shape {limits.shape}"
            raise InputError(f"censored {side}: expected {expected}.")
        limits = np.broadcast_to(limits, scores.shape)
        refuse_rows(np.isnan(limits), f"censored {side}", "no limit", f"Give {never:g} where there is none.")
        finite = np.flatnonzero(np.isfinite(limits))
        if finite.size:
            scores[finite] = self.subset(finite).scores_at(limits[finite])[0 if side == "above" else 1]
        return scores

    def _beside(self, y: Floats, censored: Mapping[str, Any]) -> Predictive:
        """Return the forecasts by whose level and spread outcomes are judged."""
        return self

    def _location(self) -> tuple[Floats | None, Floats | None]:
        """Return median and spread, which tell nothing of calibrated outcomes."""
        return self.median(), self.spread()


def _merged(low: Floats, high: Floats, impossible: Bools, limits: Limits) -> tuple[Floats, Floats, Bools]:
    """Widen cells that reach beyond a limit to all that is beyond it."""
    below, above = (high <= limits[0]) & (limits[0] > -np.inf), (low >= limits[1]) & (limits[1] < np.inf)
    low = np.where(below, -np.inf, np.where(above, limits[1], low))
    high = np.where(above, np.inf, np.where(below, limits[0], high))
    return low, high, impossible & ~below & ~above


class Observed(Frozen, eq=False):
    """Outcomes and forecasts of the rows of which both are known."""

    y: Floats
    forecast: Predictive
    weight: Any
    censored: Any
    """As `Predictive.pit_rows` takes them, of these rows."""
    kept: Ints
    """Numbers of the rows among all that were given."""
    missing: int
    """Number of rows without an outcome."""

    def only(self, rows: Ints) -> Observed:
        """Return some of the rows, in their order."""
        n, limits = len(self.y), self.censored
        if isinstance(limits, Mapping):
            limits = {side: of_rows(each, rows, n, f"censored {side}") for side, each in limits.items()}
        forecast = self.forecast if len(rows) == n else self.forecast.subset(rows)
        weight = of_rows(self.weight, rows, n, "sample_weight")
        return Observed(self.y[rows], forecast, weight, limits, self.kept[rows], self.missing)


def observed(y_true: Any, forecast: Predictive, reading: Mapping[str, Any], there: Bools | bool = True) -> Observed:
    """Check outcomes, and leave out incomplete forecasts and, if ``invalid`` is "drop", rows without an outcome.

    Of several forecasters, ``there`` are the rows in which all forecasts are complete.

    Raises
    ------
    InputError
        For outcomes, weights or limits that cannot be read.
    """
    invalid = reading.get("invalid", "refuse")
    check_choice("invalid", invalid, ("refuse", "drop"))
    y = forecast.outcomes(y_true, missing=invalid == "drop")
    known = ~np.isnan(y)
    beside = reading.get("sample_weight"), reading.get("censored")
    every = Observed(y, forecast, *beside, np.arange(len(y)), int(np.count_nonzero(~known)))
    return every.only(np.flatnonzero(known & forecast.complete & there))


def of_rows(values: Any, kept: Ints, n: int, name: str) -> Any:
    """Take the values of the rows that are kept, from one for each of all rows, or one for all together."""
    array = np.asarray(values)
    if array.ndim and len(array) != n:
        raise InputError(f"{name}: expected a value for each of {n:,} rows, got {len(array):,}.")
    return array[kept] if array.ndim else values
