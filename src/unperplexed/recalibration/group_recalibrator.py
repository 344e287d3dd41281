"""GroupRecalibrator: one recalibration map for all rows, and maps of groups where they are shown to gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from .._lib.errors import InputError
from .._lib.typing import Floats
from ..calibration.dependence_search import DependenceSearch
from ..calibration.undeclared import read_rows
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key, columns_of, row_keys
from ..forecasts.labels import Label
from ..forecasts.reading import SEARCHED, SearchedReading, reads
from ..kernels.devices import Scale
from .files import Fitted
from .fitting import checked_settings
from .gain import Gain
from .group_rows import GroupMaps, gain_over_one_map, gathered_groups
from .recalibrator import Recalibrator, in_shape_of
from .saved import Saved, groups_dict, groups_of

Chunks = Callable[[], Iterable[tuple[Forecasts, Any]]]
"""Reads all rows, in parts with the columns that make their groups."""


class GroupRecalibrator(Fitted[Saved]):
    """Recalibration with a map for every group of rows, as far as the groups are shown to need their own.

    One map is fitted to all rows (`Recalibrator`). To what it gives of each group another one is fitted, in whose
    average the identity, no further change, has its weight. Groups of few rows therefore follow the one map (partial
    pooling), groups of fewer than 20 rows and groups that the fit did not see have it alone. All maps of groups are
    compared with the one map on held-out rows. Unless their gain is significant they are dropped.

    Parameters
    ----------
    folds : int, optional
        Number of folds by which each map is chosen, as in `Recalibrator`.
    seed : int, default 0
        Random seed of the folds.

    Attributes
    ----------
    by_ : tuple of str
        Names of the columns that make the groups.
    labels_ : tuple
        Class labels in column order.
    shared_ : Recalibrator
        The one map.
    weights_ : dict of tuple to float
        Weight of the group's own maps, from 0 to 1, for each group that has a map; the rest is that of the one map.
    gain_ : Gain or None
        Decrease of the log loss by maps of groups instead of the one map, on held-out rows, with a 95% confidence
        interval; None for fewer than 100 rows, or fewer than 10 clusters. Five folds are held out in turn; in each the
        one map and all maps of groups are fitted anew.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.results import GroupRecalibrator
    >>> rng = np.random.default_rng(0)
    >>> station = rng.choice(["coast", "hills"], 2000)
    >>> truth = rng.normal(0, 2, 2000)
    >>> rain = rng.random(2000) < 1 / (1 + np.exp(-truth))
    >>> forecast = 1 / (1 + np.exp(-np.where(station == "hills", 3 * truth, truth)))
    >>> recalibrator = GroupRecalibrator().fit(rain, forecast, by=station)
    >>> recalibrator.gain_.significant
    True
    >>> recalibrator.transform([0.9, 0.9, 0.9], by=["coast", "hills", "valley"]).round(1)
    array([0.9, 0.7, 0.8])
    """

    by_: tuple[str, ...]
    labels_: tuple[Label | None, ...]
    shared_: Recalibrator
    weights_: dict[Key, float]
    gain_: Gain | None
    dependence_: DependenceSearch | None

    def __init__(self, *, folds: int | None = None, seed: int = 0) -> None:
        self.folds, self.seed = folds, seed

    @reads(SearchedReading, SEARCHED)
    def fit(self, y_true: Any, y_prob: Any, *, by: Any, **reading: Unpack[SearchedReading]) -> GroupRecalibrator:
        """Fit to forecasts, their outcomes and their groups.

        Parameters
        ----------
        y_true, y_prob
            As in `Recalibrator.fit`, but no tally.
        by : array_like of shape (n,), mapping from name to such, or data frame
            Which group each row is in, as in `assess_by`.
        **reading
            How rows are read, as in `Recalibrator.fit`; ``clusters`` names clusters of dependent rows.

        Returns
        -------
        GroupRecalibrator
            Itself, fitted.
        """
        forecasts, _, dependence = read_rows(y_true, y_prob, reading, without=columns_of(by))
        return self.fit_chunks(lambda: [(forecasts, by)], dependence)

    def fit_chunks(self, chunks: Chunks, dependence: DependenceSearch | None = None) -> GroupRecalibrator:
        """Fit to forecasts that are read in parts, each with the columns that make its groups. Rows stay in memory."""
        settings = checked_settings("auto", False, self.folds, self.seed)
        rows = gathered_groups(chunks())
        fitted = GroupMaps.of(rows, settings)
        compared = gain_over_one_map(rows, fitted, settings)
        if compared is None or not compared.gain.significant:
            fitted = GroupMaps(fitted.shared, {})
        return self._set(Saved(rows.by, fitted, compared), dependence)

    def _set(self, state: Saved, dependence: DependenceSearch | None = None) -> GroupRecalibrator:
        self._state, self.dependence_ = state, dependence
        self.by_, self.labels_ = state.by, state.maps.shared.facts.labels
        self.shared_ = Recalibrator(folds=self.folds, seed=self.seed).with_state(state.maps.shared)
        self.weights_ = {key: 1 - each.identity for key, each in state.maps.own.items()}
        self.gain_ = None if state.compared is None else state.compared.gain
        return self

    @property
    def one_map(self) -> bool:
        """Whether the one map serves all groups, since maps of their own are not shown to reduce the log loss."""
        return not self.state.maps.own

    def transform(self, y_prob: Any, *, by: Any, scale: Scale = "probability") -> Floats:
        """Return calibrated probabilities, none of them exactly 0 or 1.

        Parameters
        ----------
        y_prob, scale
            As in `Recalibrator.transform`.
        by : array_like of shape (n,), mapping from name to such, or data frame
            The group of each row, by the columns of the fit. Groups that the fit did not see have the one map.

        Returns
        -------
        array of the shape of y_prob
        """
        state = self.state
        q, n_columns = self.shared_.of_each_class(y_prob, scale)
        columns = columns_of(by)
        named = isinstance(by, Mapping) or hasattr(by, "columns") or hasattr(by, "column_names")
        if len(columns) != len(state.by) or (named and set(columns) != set(state.by)):
            raise InputError(f"by: expected the columns {', '.join(state.by)}, got {', '.join(columns)}.")
        ordered = {name: columns[name] for name in state.by} if set(columns) == set(state.by) else columns
        for key, rows in row_keys(ordered, len(q)).groups():
            q[rows] = state.maps.changed(key, q[rows])
        return in_shape_of(y_prob, q, n_columns)

    def to_dict(self) -> dict[str, Any]:
        """Give the fitted maps as plain values: what `save` writes."""
        return groups_dict(self.state, {"folds": self.folds, "seed": self.seed})

    @classmethod
    def from_dict(cls, data: Any) -> GroupRecalibrator:
        """Make a recalibrator of what `to_dict` gave; anything else is refused with the reason."""
        state, settings = groups_of(data)
        checked_settings("auto", False, settings["folds"], settings["seed"])
        return cls(**settings)._set(state)

    def __repr__(self) -> str:
        """Name it in one line."""
        fitted = "" if self._state is None else f"fitted: {len(self.weights_)} groups by {', '.join(self.by_)}"
        return f"GroupRecalibrator({fitted})"
