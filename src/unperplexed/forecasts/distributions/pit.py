"""Probability integral transforms that somebody else computed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._lib.errors import InputError
from ..._lib.formatting import number_of
from ..._lib.typing import Bools, Floats
from ...statistics.normal_scores import cell_moments, normal_scores
from .arrays import refuse_rows, vector
from .predictive import Information, Limits, Predictive


class PIT(Predictive):
    """Probability integral transforms (PIT) of outcomes: all that is known of their forecasts.

    Parameters
    ----------
    low : array_like of shape (n,)
        F(y-), the predicted probability of less than the outcome.
    high : array_like of shape (n,), optional
        F(y), the predicted probability up to the outcome; by default equal to
        ``low``, as for densities.

    Raises
    ------
    InputError
        If they are no probabilities, or some of ``high`` are below ``low``.

    Notes
    -----
    An outcome with ``high`` 0 or ``low`` 1 is outside of all that its forecast
    holds possible. How much cells tell is estimated from those that outcomes
    fell in, as the others are not known.

    Examples
    --------
    >>> import unperplexed as up
    >>> up.PIT([0.2, 0.9])
    <PIT: 2 forecasts by PIT values>
    """

    low: Floats
    """Predicted probability of less than the outcome; of shape (n,)."""
    high: Floats
    """Predicted probability up to the outcome; of shape (n,)."""
    _by_row = ("low", "high")

    def __init__(self, low: Any, high: Any = None) -> None:
        low = _probabilities(low, "low", None)
        high = low if high is None else _probabilities(high, "high", len(low))
        remedy = "low is F(y-), high is F(y)." + (" They look swapped." if (high <= low).all() else "")
        refuse_rows(high < low, "high", "a probability below low", remedy)
        self._set(low=low, high=high)

    def __len__(self) -> int:
        """Count the forecasts."""
        return len(self.low)

    @property
    def form(self) -> str:
        """What the distributions are known by."""
        return "PIT values" if (self.low == self.high).all() else "PIT intervals"

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was seen in the forecasts."""
        wide = int(np.count_nonzero(self.low < self.high))
        said = f"the cells of {number_of(wide, 'forecast')} are known by the outcomes alone: information estimated."
        return (said,) * bool(wide)

    def quantile(self, shares: Any) -> Floats:
        """Refuse: PIT values do not tell the forecasts."""
        raise InputError("PIT values do not tell the forecasts' quantiles. Give the forecasts themselves.")

    def _possible(self, y: Floats) -> Bools:
        return (self.high > 0) & (self.low < 1)

    def outcomes(self, y: Any, *, missing: bool = False) -> Floats:
        """Read and check the outcomes, which may be left out."""
        return self.low if y is None else super().outcomes(y, missing=missing)

    def scores_at(self, y: Floats) -> tuple[Floats, Floats]:
        """Return normal scores of F(y-) and F(y)."""
        return normal_scores(self.low, 1 - self.low), normal_scores(self.high, 1 - self.high)

    def _limits(self, censored: Any) -> Limits:
        raise InputError("censored: not with PIT values; give the interval from F(limit) to 1 as low and high.")

    def _information(self, low: Floats, high: Floats, limits: Limits | None) -> Information:
        """Average what an outcome's cell leaves unknown (Louis) and the outer product of its score."""
        information, pattern = np.eye(4)[None], np.zeros(len(low), dtype=np.int64)
        wide = np.flatnonzero(low < high)
        if wide.size:
            cells, back = np.unique(np.stack([low[wide], high[wide]], axis=1), axis=0, return_inverse=True)
            mean, covariance = cell_moments(*cells.T)
            information = np.concatenate([information, (np.eye(4) - covariance + mean[:, :, None] * mean[:, None]) / 2])
            pattern[wide] = back.ravel() + 1
        return information, pattern

    def _location(self) -> tuple[None, None]:
        return None, None


def _probabilities(values: Any, name: str, n: int | None) -> Floats:
    p = vector(values, name, "probability", n)
    percent = " They look like percent; divide them by 100." if p.max(initial=0) > 1 and p.min(initial=0) >= 0 else ""
    refuse_rows((p < 0) | (p > 1), name, "no probability from 0 to 1", f"PIT values are probabilities.{percent}")
    return p
