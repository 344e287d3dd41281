"""Rows with their groups: fitted by one map and by maps of groups, which are compared on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._lib.dataclasses import dataclass, replace
from .._lib.errors import InputError
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key, in_order, row_keys
from ..forecasts.labels import Label
from ..statistics.intervals import Dependence, uncertain_mean
from ..tally.tally import common_labels
from .fitting import FitSettings, state_of_forecasts
from .folds import contents_of_rows, folds_of_clusters
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS, Gain, gain_of
from .state import State

FEWEST_ROWS_OF_GROUP = 20
"""A group with fewer rows has no map of its own."""

FOLDS = 5
"""Parts of the rows that are held out in turn to compare the maps of groups with one map."""


@dataclass(frozen=True)
class GroupRows:
    """Rows of positive weight, in the order of their groups."""

    labels: tuple[Label | None, ...]
    by: tuple[str, ...]
    """Names of the columns that make the groups."""
    keys: tuple[Key, ...]
    group: Ints
    """Number of each row's key."""
    log_p: Floats
    """(n, C) log-probabilities as they came."""
    truth: Ints
    weight: Floats | None
    cluster: Ints | None

    @property
    def weights(self) -> Floats:
        """Weight of each row, 1 without weights."""
        return np.ones(self.truth.size) if self.weight is None else self.weight

    def some(self, rows: Any) -> GroupRows:
        """Give some of the rows."""
        weight, cluster = (None if x is None else x[rows] for x in (self.weight, self.cluster))
        return replace(
            self, group=self.group[rows], log_p=self.log_p[rows], truth=self.truth[rows], weight=weight, cluster=cluster
        )

    def of(self, key: Key) -> GroupRows:
        """Give the rows of a group; of the key () all."""
        return self.some(self.group == self.keys.index(key)) if key else self

    def forecasts(self) -> Forecasts:
        """Give the rows as forecasts of classes that are numbered."""
        classes = tuple(range(len(self.labels)))
        return self._forecasts(self.truth, known_labels=classes)

    def named_forecasts(self) -> Forecasts:
        """Give the rows as forecasts of classes by their labels, all of which are known."""
        return self._forecasts([self.labels[at] for at in self.truth.tolist()], labels=self.labels)

    def _forecasts(self, truth: Any, **labels: Any) -> Forecasts:
        known: dict[str, Any] = {"sample_weight": self.weight, "clusters": self.cluster, **labels}
        return Forecasts(truth, self.log_p, scale="log-probs", **known)

    def state(self, settings: FitSettings) -> State:
        """Fit maps to the rows, of whatever group."""
        found = state_of_forecasts(self.forecasts(), settings)
        return replace(found, facts=replace(found.facts, labels=self.labels))


def gathered_groups(stream: Iterable[tuple[Forecasts, Any]]) -> GroupRows:
    """Read rows, part by part with the columns that make their groups."""
    names: tuple[str, ...] = ()
    labels: tuple[Label | None, ...] | None = None
    found: dict[Key, list[tuple[Floats, Ints, Floats | None, Ints | None]]] = {}
    for forecasts, by in stream:
        keys = row_keys(by, forecasts.n_rows)
        names, labels = keys.names, common_labels(labels or forecasts.labels, forecasts.labels)
        for key, places in keys.groups():
            part = forecasts[places]
            for block in part.blocks():
                if some := block.weighing:
                    row = some.log_probabilities, some.truth.astype(np.int64), some.weights, part.clusters(some.index)
                    found.setdefault(key, []).append(row)
    if labels is None or not found:
        raise InputError("y_true: no rows of positive weight to fit to.")
    keys_of_rows = tuple(in_order(list(found)))
    log_p, truth, weight, cluster = zip(*(part for key in keys_of_rows for part in found[key]), strict=True)
    return GroupRows(
        labels,
        names,
        keys_of_rows,
        np.repeat(np.arange(len(found)), [sum(part[1].size for part in found[key]) for key in keys_of_rows]),
        np.concatenate(log_p),
        np.concatenate(truth),
        None if weight[0] is None else np.concatenate(weight),
        None if cluster[0] is None else np.concatenate(cluster),
    )


@dataclass(frozen=True)
class GroupMaps:
    """One map for all rows, and maps of groups that change what it gives."""

    shared: State
    own: Mapping[Key, State]

    @classmethod
    def of(cls, rows: GroupRows, settings: FitSettings) -> GroupMaps:
        """Fit the one map, and to what it gives of each group a map in which the identity, no change, has its weight.

        So a group has a map of its own as far as its rows need one; with few rows it follows the one map.
        """
        shared = rows.state(settings)
        recalibrated = replace(rows, log_p=np.log(shared.of_log_probabilities(rows.log_p)))
        own = {}
        for at, key in enumerate(rows.keys):
            of_group = recalibrated.some(rows.group == at)
            one_cluster = of_group.cluster is not None and np.unique(of_group.cluster).size < 2
            if of_group.truth.size >= FEWEST_ROWS_OF_GROUP and not one_cluster:
                own[key] = of_group.state(settings)
        return cls(shared, own)

    def changed(self, key: Key, q: Floats) -> Floats:
        """Give what the map of a group makes of what the one map gives."""
        return self.own[key].of_log_probabilities(np.log(q)) if key in self.own else q


@dataclass(frozen=True)
class HeldOutGroup:
    """Mean log losses of a group on held-out rows, in nats. Smaller is better."""

    n_rows: int
    shared: float
    """By the one map."""
    own: float
    """By the map of the group."""


@dataclass(frozen=True)
class GroupGain:
    """Maps of groups compared with one map for all, on held-out rows."""

    gain: Gain
    """Its log loss before is that by the one map."""
    groups: Mapping[Key, HeldOutGroup]


def gain_over_one_map(rows: GroupRows, fitted: GroupMaps, settings: FitSettings) -> GroupGain | None:
    """Fit all maps without each fold and compare them on it; None for too few rows or clusters."""

    def losses_of(out: Bools) -> Floats:
        return _losses(rows.some(out), GroupMaps.of(rows.some(~out), settings))

    found = cross_fitted(rows, settings.seed, losses_of, _losses(rows, fitted))
    if found is None:
        return None
    gain, losses = found
    w, groups = rows.weights, {}
    for at, key in enumerate(rows.keys):
        some = rows.group == at
        means = losses[:, some] @ w[some] / w[some].sum()
        groups[key] = HeldOutGroup(int(some.sum()), *map(float, means))
    return GroupGain(gain, groups)


def cross_fitted(
    rows: GroupRows, seed: int, losses_of: Callable[[Bools], Floats], in_sample: Floats
) -> tuple[Gain, Floats] | None:
    """Compare two ways to recalibrate, each fitted without a fold, on it; None for too few rows or clusters.

    Parameters
    ----------
    rows : GroupRows
    seed : int
        Random seed of the folds.
    losses_of : callable
        From the rows that are held out to their losses by both ways, (2, number of rows), fitted to the others.
    in_sample : array of shape (2, n)
        Losses by both ways fitted to all rows.

    Returns
    -------
    tuple of Gain and array of shape (2, n)
        The second way's gain over the first, and the losses on held-out rows.
    """
    cluster = None if rows.cluster is None else np.unique(rows.cluster, return_inverse=True)[1].reshape(-1)
    clusters, n, w = None if cluster is None else int(cluster.max()) + 1, rows.truth.size, rows.weights
    if n < FEWEST_ROWS or (clusters is not None and clusters < FEWEST_CLUSTERS):
        return None
    contents = contents_of_rows(rows.log_p, rows.truth, w)
    fold = folds_of_clusters(np.arange(n) if cluster is None else cluster, contents, FOLDS, seed)
    losses = np.empty((2, n))
    for held_out in range(FOLDS):
        losses[:, fold == held_out] = losses_of(fold == held_out)
    found = uncertain_mean(losses[0] - losses[1], w, Dependence(cluster))
    gained, before = float(w @ (in_sample[0] - in_sample[1]) / w.sum()), float(w @ losses[0] / w.sum())
    return gain_of(before, found.mean, found.standard_error, gained, n, clusters), losses


def _losses(rows: GroupRows, maps: GroupMaps) -> Floats:
    """Return the log loss of each row by the one map, and by the map of its group."""
    q, each = maps.shared.of_log_probabilities(rows.log_p), np.arange(rows.truth.size)
    own = q.copy()
    for at, key in enumerate(rows.keys):
        some = rows.group == at
        own[some] = maps.changed(key, q[some])
    return -np.log(np.stack([q[each, rows.truth], own[each, rows.truth]]))
