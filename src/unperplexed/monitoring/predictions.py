"""Predictions whose outcomes are not known yet, counted: what `drift` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._lib.arrays import as_columns
from .._lib.by_value import ByValue
from .._lib.lists import at_hand
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Label
from ..forecasts.unobserved import unobserved
from ..tally.tally import Tally


@dataclass(frozen=True)
class Predictions(ByValue):
    """Counts of predicted probabilities without outcomes, such as those of one day. Made by `Predictions.of`.

    They add up, so that parts of a day may be counted apart; a `History` of them keeps periods in a file.

    Examples
    --------
    >>> from unperplexed.results import History, Predictions
    >>> day = Predictions.of([0.8, 0.3]) + Predictions.of([0.6])
    >>> day.n_rows
    3
    >>> History.of({"2026-03-01": day}).outcomes
    False
    """

    tally: Tally
    """The counts, with outcomes that stand in for unknown ones."""

    @classmethod
    def of(cls, y_prob: Any, *, labels: Sequence[Label] | None = None, **reading: Any) -> Predictions:
        """Count predictions.

        Parameters
        ----------
        y_prob : array_like of shape (n,) or (n, C), or a data frame with one column a class
            Predicted probabilities: of the positive class, or of each class.
        labels : sequence, optional
            Class labels in the order of the columns; (negative, positive) for one column. By default the names of a
            frame's columns.
        **reading
            As in `Forecasts`: ``scale``, ``invalid``.

        Returns
        -------
        Predictions

        Raises
        ------
        InputError
            For values that are no probabilities, naming the rows.
        """
        return cls(Tally.count(predicted(y_prob, labels, **reading), parts=["classes"], diagnosed=0))

    @property
    def n_rows(self) -> int:
        """Number of predictions."""
        return self.tally.n_rows

    def __add__(self, other: Predictions) -> Predictions:
        """Count both together; refuses predictions of other classes."""
        return Predictions(self.tally + other.tally) if isinstance(other, Predictions) else NotImplemented


def predicted(y_prob: Any, labels: Sequence[Label] | None = None, **reading: Any) -> Forecasts:
    """Read predictions, with outcomes that stand in for unknown ones."""
    columns = as_columns(at_hand(y_prob), "y_prob")
    return Forecasts(y_prob=columns, **unobserved(columns, labels), **reading)
