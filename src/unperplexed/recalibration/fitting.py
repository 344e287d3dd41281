"""From forecasts, a tally or parts of forecasts to a fitted state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from .._lib.dataclasses import dataclass, field, replace
from .._lib.errors import InputError, check_choice, check_seed, check_whole
from .._lib.typing import Floats
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Label
from ..maps.class_families import Known, MapOfClasses, fitted_classes, supported
from ..maps.parameters import MANY_CLASSES, TWO_CLASSES
from ..tally.tally import Tally, common_labels
from .averaging import average
from .binary_rows import BinaryRows, rows_in_clusters, rows_of_parts, rows_of_tally, zeros_of
from .folded_rows import FoldedRows, Kept, kept_rows
from .folds import FOLDS_OF_MANY
from .state import Facts, State

BINARY_METHODS, CLASS_METHODS = tuple(TWO_CLASSES), tuple(MANY_CLASSES)
"""Families of two classes, and of more."""

METHODS = ("auto", *dict.fromkeys((*BINARY_METHODS, *CLASS_METHODS)))
"""What `Recalibrator` takes as its method."""

Chunks = Callable[[], Iterable[Forecasts]]
"""Reads all rows, each time from the beginning."""

_MOST_FOLDS = 100


@dataclass(frozen=True)
class FitSettings:
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


@dataclass(frozen=True, kw_only=True)
class ClassRows(FoldedRows[MapOfClasses]):
    """Rows of more than two classes, one by one."""

    known: Known = field(default_factory=dict, repr=False, compare=False)
    """Fisher information of the maps fitted to all rows, by which those of the folds are fitted fast."""

    def fit(
        self, names: Sequence[str], without: int | None, starts: Mapping[str, MapOfClasses] | None
    ) -> dict[str, MapOfClasses]:
        """Fit maps to all rows, or to those outside a fold."""
        # Fits do not start from the maps of all rows: where one ends early, it would know of the rows held out.
        some = self.outside(without)
        log_p, truth, weight = self.predicted[some], self.truth[some], self.weight[some]
        return fitted_classes(names, log_p, truth, weight, self.known, self.zero)


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
