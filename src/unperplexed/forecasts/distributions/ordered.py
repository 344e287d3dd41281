"""Predicted probabilities of ordered classes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._lib.arrays import at_hand
from ..._lib.dataclasses import replace
from ..._lib.errors import InputError
from ..._lib.formatting import number_of
from ..._lib.typing import Bools, Floats
from ...kernels.devices import Scale
from ...statistics.normal_scores import information_between, normal_scores, probability_between
from ..forecasts import Forecasts
from ..labels import Coded, Label
from ..outcomes import LabelSettings, class_set, label_list, read_outcomes
from ..reading import Invalid
from .arrays import BLOCK, matrix, refuse_rows
from .pit_rows import PitRows, log_positive
from .predictive import Information, Limits, Predictive

_FEWEST_CLASSES = 3
"""Two classes are one event."""


class Ordered(Predictive):
    """Probabilities of classes that have an order: counts, bins of a quantity, grades.

    Parameters
    ----------
    probabilities : array_like of shape (n, K), data frame with a column a class, or xarray.DataArray
        Probabilities of at least three classes, the lowest first; of an
        xarray.DataArray the dimension ``class`` holds them.
    labels : sequence of str or number, optional
        Classes as outcomes name them, the lowest first; by default those that
        the columns of a frame are named after, else 0 ... K - 1.
    scale : {"probability", "percent", "logits", "log-probs"}, default "probability"
        What ``probabilities`` holds. Never guessed.
    invalid : {"refuse", "drop", "rescale"} or several of them, default "refuse"
        What is done with rows that are no distribution, as in `Forecasts`;
        those to drop are incomplete.

    Raises
    ------
    InputError
        If there are fewer than three classes, a row is no distribution, or
        labels do not fit.

    Notes
    -----
    An outcome's probability integral transform is known up to its class, from
    F(class below) to F(class). Its level is the expected class, counted from 0,
    and its spread the standard deviation of that number.

    Examples
    --------
    >>> import unperplexed as up
    >>> forecast = up.Ordered([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]], labels=["below", "near", "above"])
    >>> forecast
    <Ordered: 2 forecasts by probabilities of 3 ordered classes>
    >>> forecast.outcomes(["near", "below"])
    array([1., 0.])
    """

    probabilities: Floats
    """Probabilities as given, of shape (n, K)."""
    labels: tuple[Label, ...]
    """The classes, the lowest first."""
    _settings: LabelSettings
    _by_row = ("probabilities",)

    def __init__(
        self,
        probabilities: Any,
        labels: Any = None,
        *,
        scale: Scale = "probability",
        invalid: Invalid | list[Invalid] = "refuse",
    ) -> None:
        values, names = matrix(probabilities, "probabilities", "class", "class")
        n, k = values.shape
        if k < _FEWEST_CLASSES:
            remedy = "two are one event, which assess(y, p) assesses."
            raise InputError(f"probabilities: ordered classes are at least three, here {k}; {remedy}")
        settings = LabelSettings(k, False, names, label_list(labels), whole=False)
        known = tuple(class_set([], settings).labels if labels is not None else names or range(k))
        called = ("y_true", "probabilities", "sample_weight")
        first = Coded([known[0]], np.zeros(n, dtype=np.int8))
        read = Forecasts(first, values, known_labels=known, scale=scale, invalid=invalid, names=called)
        kept = np.full((n, k), np.nan)
        for block in read.blocks():
            kept[block.index] = block.probabilities
        self._set(probabilities=kept, labels=known, _settings=settings)

    def __len__(self) -> int:
        """Count the forecasts."""
        return len(self.probabilities)

    @property
    def form(self) -> str:
        """What the distributions are known by."""
        return f"probabilities of {len(self.labels)} ordered classes"

    @cached_property
    def complete(self) -> Bools:
        """Whether a row is a distribution; others are only there with ``invalid="drop"``."""
        return ~np.isnan(self.probabilities[:, 0])

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was seen in the forecasts."""
        missing = int(np.count_nonzero(~self.complete))
        return (f"{number_of(missing, 'forecast')} that are no distribution: left out.",) * bool(missing)

    def outcomes(self, y: Any, *, missing: bool = False) -> Floats:
        """Read and check the outcomes of the forecasts, labels or one-hot rows, as numbers of classes from 0."""
        self._refuse_forecasts(y)
        codes = read_outcomes(at_hand(y), self._settings).codes
        if len(codes) != len(self):
            raise InputError(f"y_true has {len(codes):,} rows, the forecasts {len(self):,}; each needs its outcome.")
        if not missing:
            refuse_rows(codes < 0, "y_true", "no label", "Leave these rows and their forecasts out.")
        return np.where(codes < 0, np.nan, codes)

    def named(self, y: Floats) -> Any:
        """Return the labels of numbers of classes."""
        return np.array(self.labels)[y.astype(np.int64)]

    def quantile(self, shares: Any) -> Floats:
        """Return at shares of shape (k,) the numbers of the classes in which F reaches them, of shape (n, k)."""
        up_to = self.probabilities.cumsum(axis=1)
        wanted = np.asarray(shares, dtype=np.float64) * up_to[:, -1:]
        return np.stack([(up_to < each[:, None]).sum(axis=1) for each in wanted.T], axis=1).astype(np.float64)

    def ends(self) -> Floats:
        """Return the normal scores of the upper ends of all classes but the highest, of shape (n, K - 1)."""
        return normal_scores(*_bounds(self.probabilities))[:, 1:-1]

    def with_ends(self, ends: Floats) -> Ordered:
        """Return forecasts of the same classes that end at other normal scores."""
        ends = np.pad(ends, ((0, 0), (1, 1)), constant_values=(-np.inf, np.inf))
        return self._with(probabilities=probability_between(ends[:, :-1], ends[:, 1:]))

    def exceedance(self) -> Floats:
        """Return the probabilities of each class but the lowest, or a higher one, of shape (n, K - 1)."""
        above = self.probabilities[:, ::-1].cumsum(axis=1)
        return np.asarray(above[:, -2::-1] / above[:, -1:])

    def spread(self) -> Floats:
        """Return the standard deviations of the numbers of the classes."""
        return np.sqrt(np.maximum(self._moment(2) - self._moment(1) ** 2, 0.0))

    def _moment(self, order: int) -> Floats:
        number = np.arange(len(self.labels)) ** order
        return np.asarray(self.probabilities @ number / self.probabilities.sum(axis=1))

    def _possible(self, y: Floats) -> Bools:
        return self.of_class(y) > 0

    def of_class(self, y: Floats) -> Floats:
        """Return the probabilities of classes by their numbers, one a row."""
        return np.asarray(self.probabilities[np.arange(len(self)), y.astype(np.int64)])

    def scores_at(self, y: Floats) -> tuple[Floats, Floats]:
        """Return normal scores of F(y-) and F(y)."""
        row, at = np.arange(len(self)), y.astype(np.int64)
        below, above = _bounds(self.probabilities)
        return normal_scores(below[row, at], above[row, at]), normal_scores(below[row, at + 1], above[row, at + 1])

    def _information(self, low: Floats, high: Floats, limits: Limits | None) -> Information:
        parts = (self.probabilities[at : at + BLOCK] for at in range(0, len(self), BLOCK))
        information = [information_between(normal_scores(*_bounds(part))) for part in parts]
        return np.concatenate(information), np.arange(len(self))

    def _limits(self, censored: Any) -> Limits:
        raise InputError("censored: not of ordered classes. Make all classes beyond the limit one.")

    def _location(self) -> tuple[Floats, Floats]:
        return self._moment(1), self.spread()

    def _scaled(self, rows: PitRows) -> PitRows:
        return replace(rows, log_spread=None if rows.log_spread is None else log_positive(rows.log_spread))


def _bounds(p: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities below the bounds of classes, and those above, of shape (n, K + 1)."""
    p = np.pad(p / p.sum(axis=1, keepdims=True), ((0, 0), (1, 1)))
    return p.cumsum(axis=1)[:, :-1], p[:, ::-1].cumsum(axis=1)[:, -2::-1]
