"""Rows with their groups: fitted by one map and by maps of groups, which are compared on held-out rows.

From forecasts, a tally or parts of forecasts to a fitted state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, check_choice, check_seed, check_whole
from .._lib.progress import at_once, steps, threads_for
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key, in_order, row_keys
from ..forecasts.labels import Label
from ..maps.class_families import Known, MapOfClasses, fitted_classes, supported
from ..maps.parameters import MANY_CLASSES, TWO_CLASSES
from ..statistics.intervals import Dependence, uncertain_mean
from ..tally.tally import Tally, common_labels
from .averaging import average
from .binary_rows import BinaryRows, rows_in_clusters, rows_of_parts, rows_of_tally, zeros_of
from .folded_rows import FoldedRows, Kept, kept_rows
from .folds import FOLDS_OF_MANY, contents_of_rows, folds_of_clusters
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS, Gain, gain_of
from .state import Facts, State

BINARY_METHODS, CLASS_METHODS = tuple(TWO_CLASSES), tuple(MANY_CLASSES)
"""Families of two classes, and of more."""

METHODS = ("auto", *dict.fromkeys((*BINARY_METHODS, *CLASS_METHODS)))
"""What `Recalibrator` takes as its method."""

Chunks = Callable[[], Iterable[Forecasts]]
"""Reads all rows, each time from the beginning."""

_MOST_FOLDS = 100


class FitSettings(Frozen):
    """How to fit."""

    method: str
    single: bool
    folds: int | None
    seed: int

    def names(self, known: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
        """Return the maps to try, and the one that is to have all the weight."""
        if self.method == "auto":
            return known, None
        if self.method not in known:
            classes = "two classes" if known is BINARY_METHODS else "more than two classes"
            raise InputError(
                f"method: {self.method!r} is no map for {classes}; expected 'auto' or one of"
                f" {', '.join(map(repr, known))}."
            )
        return (self.method,), self.method


def checked_settings(method: str, single: bool, folds: int | None, seed: int) -> FitSettings:
    """Check the arguments of `Recalibrator`.

    Parameters
    ----------
    method : str
    single : bool
    folds : int or None
    seed : int
        As in `Recalibrator`.

    Raises
    ------
    InputError
        For one that cannot be.
    """
    check_choice("method", method, METHODS)
    if not isinstance(single, bool | np.bool_):
        raise InputError(f"single: expected True or False, got {single!r}.")
    seed = check_seed(seed)
    if folds is not None and not 2 <= check_whole("folds", folds) <= _MOST_FOLDS:
        raise InputError(f"folds: expected a whole number from 2 to {_MOST_FOLDS}, got {folds!r}.")
    return FitSettings(method, bool(single), None if folds is None else int(folds), seed)


def state_of_forecasts(forecasts: Forecasts, settings: FitSettings) -> State:
    """Fit to forecasts."""
    return state_of_chunks(lambda: [forecasts], settings)


def state_of_chunks(chunks: Chunks, settings: FitSettings) -> State:
    """Fit to parts of forecasts."""
    first = next(iter(chunks()), None)
    clustered = first is not None and first.clustered
    if first is not None and first.n_classes > 2:
        return _state_of_classes(chunks, settings, clustered)
    if not clustered:
        tally = Tally.count(chunks(), parts=[], diagnosed=0)
        if tally.tells_log_odds(chunks):  # the same fit as to a tally of these forecasts
            found = state_of_tally(tally, settings)
            found = replace(found, facts=replace(found.facts, certain=0))
            return _with_zeros(found, chunks) if tally.uneven else found
    parts = _Labelled(chunks)
    rows = (rows_in_clusters if clustered else rows_of_parts)(parts, settings.folds, settings.seed)
    return _state_of_binary(parts.labels, rows, settings)


class _Labelled:
    """Chunks, whose labels are put together as they are read."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self.labels: tuple[Label | None, ...] = ()

    def __iter__(self) -> Iterator[Forecasts]:
        for forecasts in self._chunks():
            self.labels = common_labels(self.labels or forecasts.labels, forecasts.labels)
            yield forecasts


def state_of_tally(tally: Tally, settings: FitSettings) -> State:
    """Fit to what a tally counted."""
    if tally.n_classes > 2:
        raise InputError("a tally of more than two classes does not keep whole rows; fit on the rows or the files.")
    if tally.clustered:
        raise InputError(
            "the tally has clusters of dependent rows, which are to be held out together; fit on the rows, or on the"
            " files that hold them."
        )
    return _state_of_binary(tally.labels, rows_of_tally(tally, settings.folds, settings.seed), settings)


def _with_zeros(state: State, chunks: Chunks) -> State:
    """Count the rows whose observed class had probability 0, which the weights of a tally do not tell."""
    if state.baseline is None or not state.baseline.zeros:
        return state
    zeros = sum(zeros_of(block.weighing) for forecasts in chunks() for block in forecasts.blocks())
    return replace(state, baseline=replace(state.baseline, zeros=zeros))


def _state_of_binary(labels: tuple[Label | None, ...], rows: BinaryRows, settings: FitSettings) -> State:
    names, only = settings.names(BINARY_METHODS)
    facts = Facts(labels, rows.n_rows, rows.observed, rows.zero, certain=rows.certain)
    return State.of(facts, average(rows, names, settings.single, only))


def _state_of_classes(chunks: Chunks, settings: FitSettings, clustered: bool) -> State:
    names, only = settings.names(CLASS_METHODS)
    parts = _Labelled(chunks)
    rows = rows_of_chunks(parts, settings.folds or FOLDS_OF_MANY, settings.seed, clustered)  # whose maps cost more
    if only is None:
        names = tuple(name for name in names if supported(name, *rows.predicted.shape))
    facts = Facts(parts.labels, rows.n_rows, rows.observed, 0.0, rows.sampled)
    return State.of(facts, average(rows, names, settings.single, only))


MOST_VALUES = 20_000_000
"""Probabilities kept in memory; with more, a random sample of rows is."""


class ClassRows(FoldedRows[MapOfClasses], kw_only=True):
    """Rows of more than two classes, one by one."""

    known: Known = field(default_factory=dict, repr=False, compare=False)
    """Fisher information of the maps fitted to all rows, by which those of the folds are fitted fast."""

    def fits(self, names: Sequence[str]) -> list[dict[str, MapOfClasses]]:
        """Fit maps to all rows, and then to those outside each fold."""
        return self._fits(names, [None, *range(self.folds)])

    def refits(self, maps: Mapping[str, MapOfClasses]) -> dict[str, MapOfClasses]:
        """Fit the families of maps to all rows."""
        return self._fits([*maps], [None])[0]

    def _fits(self, names: Sequence[str], folds: Sequence[int | None]) -> list[dict[str, MapOfClasses]]:
        # Fits do not start from the maps of all rows: where one ends early, it would know of the rows held out.
        def fit(some: Ints) -> dict[str, MapOfClasses]:
            log_p, truth, weight = self.predicted[some], self.truth[some], self.weight[some]
            return fitted_classes(names, log_p, truth, weight, self.known, self.zero, advance)

        with steps(len(folds) * len(names), "fitting maps") as advance:
            return [fit(self.outside(fold)) for fold in folds]


def rows_of_chunks(
    parts: Iterable[Forecasts], folds: int, seed: int, clustered: bool, most: int = MOST_VALUES
) -> ClassRows:
    """Deal rows into folds, or where they are too many a random sample of them: those with the smallest numbers.

    Parameters
    ----------
    parts : iterable of Forecasts
        Of more than two classes.
    folds : int
        Number of folds.
    seed : int
        Random seed of the folds and of the sample.
    clustered : bool
        Whether the rows of a cluster stay together.
    most : int
        Probabilities that are kept.
    """
    rng = np.random.default_rng(seed)
    held: list[Kept] = []
    numbers: list[Floats] = []
    n, room = 0, 2
    for part in kept_rows(parts):
        n, room = n + part.n_rows, max(2, most // part.predicted.shape[1])
        held.append(part)
        numbers.append(rng.random(part.n_rows))
        if sum(each.n_rows for each in held) > room + room // 4:
            held, numbers = _smallest(held, numbers, room)
    if n > room:
        held, numbers = _smallest(held, numbers, room)
    return ClassRows.of(Kept.joined(held), n, folds, seed, clustered=clustered)


def _smallest(held: list[Kept], numbers: list[Floats], room: int) -> tuple[list[Kept], list[Floats]]:
    number = np.concatenate(numbers)
    some = np.sort(np.argsort(number, kind="stable")[:room])
    return [Kept.joined(held).at(some)], [number[some]]


FEWEST_ROWS_OF_GROUP = 20
"""A group with fewer rows has no map of its own."""

FOLDS = 5
"""Parts of the rows that are held out in turn to compare the maps of groups with one map."""

_LEAST_KEPT = 0.01
"""Weight of a map that is fitted again."""


class GroupRows(Frozen):
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
        at = np.arange(self.truth.size)[rows]
        weight, cluster = (None if x is None else x[at] for x in (self.weight, self.cluster))
        log_p = self.log_p.take(at, axis=0)
        return replace(self, group=self.group[at], log_p=log_p, truth=self.truth[at], weight=weight, cluster=cluster)

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

    def refitted(self, state: State) -> State:
        """Fit the maps of a state to these rows, which are like its own: those that have 1% of the weight keep it."""
        kept = {name: each for name, each in state.maps.items() if state.weights[name] >= _LEAST_KEPT}
        if state.two:
            return replace(state, maps=rows_of_parts([self.forecasts()], 2, 0).refits(kept))
        return replace(state, maps=rows_of_chunks([self.forecasts()], 2, 0, clustered=False).refits(kept))


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


class GroupMaps(Frozen):
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


class HeldOutGroup(Frozen):
    """Mean log losses of a group on held-out rows, in nats. Smaller is better."""

    n_rows: int
    shared: float
    """By the one map."""
    own: float
    """By the map of the group."""


class GroupGain(Frozen):
    """Maps of groups compared with one map for all, on held-out rows."""

    gain: Gain
    """Its log loss before is that by the one map."""
    groups: Mapping[Key, HeldOutGroup]


def gain_over_one_map(rows: GroupRows, fitted: GroupMaps, settings: FitSettings) -> GroupGain | None:
    """Fit all maps without each fold and compare them on it; None for too few rows or clusters."""

    def losses_of(out: Bools) -> Floats:
        return _losses(rows.some(out), GroupMaps.of(rows.some(~out), settings))

    found = cross_fitted(rows, settings.seed, losses_of, lambda: _losses(rows, fitted))
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
    rows: GroupRows, seed: int, losses_of: Callable[[Bools], Floats], in_sample: Callable[[], Floats]
) -> tuple[Gain, Floats] | None:
    """Compare two ways to recalibrate, each fitted without a fold, on it; None for too few rows or clusters.

    Parameters
    ----------
    rows : GroupRows
    seed : int
        Random seed of the folds.
    losses_of : callable
        From the rows that are held out to their losses by both ways, (2, number of rows), fitted to the others.
    in_sample : callable
        Gives the losses by both ways fitted to all rows, (2, n).

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
    losses, of_folds = np.empty((2, n)), at_once(lambda at: losses_of(fold == at), range(FOLDS), threads_for(n))
    losses[:, np.argsort(fold, kind="stable")] = np.concatenate(of_folds, axis=1)
    found = uncertain_mean(losses[0] - losses[1], w, Dependence(cluster))
    fitted = in_sample()
    gained, before = float(w @ (fitted[0] - fitted[1]) / w.sum()), float(w @ losses[0] / w.sum())
    return gain_of(before, found.mean, found.standard_error, gained, n, clusters), losses


def _losses(rows: GroupRows, maps: GroupMaps) -> Floats:
    """Return the log loss of each row by the one map, and by the map of its group."""
    q, each = maps.shared.of_log_probabilities(rows.log_p), np.arange(rows.truth.size)
    own = q.copy()
    for at, key in enumerate(rows.keys):
        some = rows.group == at
        own[some] = maps.changed(key, q[some])
    return -np.log(np.stack([q[each, rows.truth], own[each, rows.truth]]))
