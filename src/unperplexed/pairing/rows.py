"""Forecasters row by row: the probability of each outcome, its scores, and the rows that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import as_array
from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, listed, rows_text
from .._lib.formatting import number_of
from .._lib.typing import Floats, Ints
from ..calibration.dependence_search import DECLARED, DECLINED, DependenceSearch
from ..calibration.undeclared import (
    Event,
    SearchedRows,
    checked_codes,
    clusters_of,
    events_of,
    joined_events,
    largest_of,
)
from ..calibration.undeclared import searched as search
from ..forecasts.forecasts import Block, Forecasts, Notes
from ..forecasts.group_keys import RowKeys, columns_of, row_keys
from ..forecasts.labels import Label, plain
from ..scores.rules import Score, scores_at_floor
from ..statistics.intervals import Dependence
from ..statistics.means import Floor, floor_for
from ..tally.tally import Tally
from .dependence import dependent_rows


class Chunk(NamedTuple):
    """Successive rows of one forecaster."""

    name: str
    forecasts: Forecasts
    first: int = 0
    """Number of the first of them among all of the forecaster's rows."""

    def positions(self, rows: Block | Forecasts) -> Ints:
        """Numbers of some of its rows among all of the forecaster's."""
        return rows.index + (self.first - self.forecasts.first_row)

    def only(self, rows: Ints) -> Chunk:
        """The same as if it had only rows of these numbers."""
        some = np.isin(self.positions(self.forecasts), rows)
        return self._replace(forecasts=self.forecasts[np.flatnonzero(some)])


def parts_of(forecasts: Mapping[str, Any], y_true: Any, reading: Mapping[str, Any]) -> list[Chunk]:
    """Forecasters given as arrays, each in one part."""
    return [
        Chunk(name, Forecasts(y_true, y_prob, names=("y_true", name, "sample_weight"), **reading))
        for name, y_prob in forecasts.items()
    ]


class ScoredRows(Frozen):
    """The valid rows of one forecaster, in the order of the input, and the tally of them."""

    labels: tuple[Label | None, ...]
    position: Ints
    """Number of each row among all as given, from 0."""
    truth: NDArray[np.signedinteger[Any]]
    weights: Floats
    correct: Floats
    """Probability assigned to the observed class."""
    scores: Mapping[str, Floats]
    """By the rule's name, without a floor: surprisals are infinite where ``correct`` is 0."""
    at_floor: Mapping[str, Floats]
    """Surprisals at the floor; empty if that is 0."""
    tally: Tally
    events: Sequence[Event] = ()
    """Of which dependence is looked for, if it is."""

    @property
    def searched(self) -> SearchedRows:
        """The rows that dependence is looked for in."""
        return SearchedRows(self.events, self.weights, self.truth, self.position)

    @property
    def zero_rows(self) -> int:
        """Number of rows whose observed class was assigned 0, where the log loss has no finite value."""
        return int(np.count_nonzero(self.correct == 0))

    def floored(self) -> ScoredRows:
        """Take surprisals at the floor instead."""
        return replace(self, scores={**self.scores, **self.at_floor})

    def at(self, rows: Ints) -> ScoredRows:
        """Select rows, without copying if those are all; the tally stays as it is."""
        if np.array_equal(rows, np.arange(self.position.size)):
            return self
        return replace(
            self,
            position=self.position[rows],
            truth=self.truth[rows],
            weights=self.weights[rows],
            correct=self.correct[rows],
            scores={name: values[rows] for name, values in self.scores.items()},
            at_floor={name: values[rows] for name, values in self.at_floor.items()},
            events=[(happened[rows], s[rows]) for happened, s in self.events],
        )


class _Scorer:
    """Gathers rows part by part."""

    def __init__(self, rules: Sequence[Score], floor: Floor, searched: bool) -> None:
        self._rules, self._floor, self._searched = rules, floor, searched
        self._events: list[tuple[Event, ...]] = []
        self._floored = [rule for rule in rules if rule.surprisal and floor != 0]  # have another value at the floor
        self._columns: list[tuple[NDArray[Any], ...]] = []
        self._labels: tuple[Label | None, ...] = ()
        self._tally = Tally()

    def add(self, parts: Iterable[Chunk]) -> None:
        others = [rule.name for rule in self._rules]
        self._tally = self._tally + Tally.count(self._seen(parts), metrics=others, diagnosed=0)

    def _seen(self, parts: Iterable[Chunk]) -> Iterator[Forecasts]:
        """Score rows on their way into the tally."""
        for part in parts:
            self._labels = part.forecasts.labels
            for block in part.forecasts.blocks():
                self._columns.append(self._scored(block, part.positions(block)))
                self._events += [events_of(block)] if self._searched else []
            yield part.forecasts

    def _scored(self, block: Block, position: Ints) -> tuple[NDArray[Any], ...]:
        w = np.ones(len(block)) if block.weights is None else block.weights
        scores = [rule.rows(block) for rule in self._rules]
        floor = floor_for(self._floor, block.rows.n_classes)
        at_floor = [scores_at_floor(rule, block, floor) for rule in self._floored]
        return position, block.truth, w, block.rows.correct, *scores, *at_floor

    def rows(self, name: str) -> ScoredRows:
        if not self._columns:
            raise InputError(f"{name}: no rows to compare.")
        position, truth, w, correct, *scores = (np.concatenate(column) for column in zip(*self._columns, strict=True))
        named = {rule.name: values for rule, values in zip(self._rules, scores, strict=False)}
        at_floor = {rule.name: values for rule, values in zip(self._floored, scores[len(named) :], strict=True)}
        return ScoredRows(
            self._labels, position, truth, w, correct, named, at_floor, self._tally, joined_events(self._events)
        )


def scored(
    parts: Iterable[Chunk], rules: Sequence[Score], floor: Floor, searched: bool = False
) -> dict[str, ScoredRows]:
    """Read every forecaster's rows once."""
    scorers: dict[str, _Scorer] = {}
    for name, run in groupby(parts, key=lambda part: part.name):
        scorers.setdefault(name, _Scorer(rules, floor, searched)).add(run)
    return {name: scorer.rows(name) for name, scorer in scorers.items()}


Chosen = Callable[[Chunk], Chunk]
"""Selects rows of a chunk of a forecaster."""


def chosen_rows(rows: ScoredRows, clusters: Ints | None = None) -> Chosen:
    """Select the forecaster's rows, with the hashes of their clusters."""
    order = np.argsort(rows.position)
    known = rows.position[order]

    def chosen(part: Chunk) -> Chunk:
        kept = part.only(known)
        if clusters is None:
            return kept
        of_rows = clusters[order[np.searchsorted(known, part.positions(kept.forecasts))]]
        return kept._replace(forecasts=kept.forecasts.in_clusters(of_rows))

    return chosen


def tallies(
    parts: Iterable[Chunk], kept: Mapping[str, Chosen], rules: Sequence[Score], kinds: Sequence[str]
) -> dict[str, Tally]:
    """Count forecasters again, and of each only some rows.

    Parameters
    ----------
    parts : iterable of Chunk
        Rows of all forecasters.
    kept : mapping of str to callable
        Selects the rows of each forecaster that is counted.
    rules : sequence of Score
        Scoring rules to count.
    kinds : sequence of str
        Further parts of the tallies.

    Returns
    -------
    dict of str to Tally
        By the forecaster's name.
    """
    names = [rule.name for rule in rules]
    found: dict[str, Tally] = {}
    for name, run in groupby((part for part in parts if part.name in kept), key=lambda part: part.name):
        forecasts = (kept[name](part).forecasts for part in run)
        tally = Tally.count(forecasts, metrics=names, parts=kinds, diagnosed=0)
        found[name] = found[name] + tally if name in found else tally
    return found


class Pairing(Frozen):
    """Which rows of the forecasters belong together, and what is known of them."""

    positions: Mapping[str, Ints]
    """Numbers of each forecaster's rows, in one order for all."""
    clusters: Ints | None = None
    """Number of the cluster that each of them is in."""
    crossed: Ints | None = None
    """Number of the cluster the other way; rows that share either may depend on one another."""
    series: Ints | None = None
    """Series of each of them, within which rows are in order and depend on those up to a lag apart."""
    ids: Callable[[Ints], list[Label]] | None = None
    """Gives the ids of some of them."""
    by: RowKeys | None = None
    """The groups that are looked at by themselves."""
    climatology: RowKeys | None = None
    """The groups of which a climatology predicts the observed frequencies."""
    chosen: bool = False
    """Whether only rows that the user chose are in it."""
    columns: Mapping[str, Ints] = field(default_factory=dict)
    """Codes of further columns, in which dependence is looked for."""
    ordered: bool = True
    """Whether the order of the rows may say something of it."""

    @property
    def declared(self) -> bool:
        """Whether it is said which rows may depend on one another."""
        return self.clusters is not None or self.crossed is not None

    def dependence(self, at: Ints, lag: int | None) -> Dependence:
        """Say which of some rows may depend on one another."""
        return Dependence(self.clusters, lag or 0, self.crossed, self.series).at(at)

    def named(self, at: Ints) -> str:
        """Name some of them for an error message."""
        if self.ids is None:
            return rows_text(next(iter(self.positions.values()))[at])
        more = ", ..." if at.size > 8 else ""
        return f"{number_of(at.size, 'id')} ({listed(self.ids(at[:8]))}{more})"


def pairing_of_arrays(
    parts: Sequence[Chunk], clusters: Any, within: Any, by: Any, climatology: Any, ids: Any = None, columns: Any = None
) -> Pairing:
    """Pair forecasters given as arrays, row by row.

    Parameters
    ----------
    parts : sequence of Chunk
        All rows of each forecaster.
    clusters, within, by, climatology : array_like of shape (n,), mapping from name to such, data frame or None
        What is known of each row: its cluster, series, group, and group of a climatology.
    ids : array_like of shape (n,), optional
        Names of the rows.
    columns : mapping from name to array_like of shape (n,), or data frame, optional
        What else is known of each row: dependence is looked for in it.
    """
    n = parts[0].forecasts.n_rows
    groups = {} if by is None else columns_of(by)
    return Pairing(
        {part.name: np.arange(n) for part in parts},
        ids=_named_by(ids, n),
        by=None if by is None else row_keys(by, n),
        climatology=None if climatology is None else row_keys(climatology, n),
        columns={name: codes for name, codes in checked_codes(columns, n).items() if name not in groups},
        **dependent_rows(n, clusters, within),
    )


def _named_by(ids: Any, n: int) -> Callable[[Ints], list[Label]] | None:
    """What rows are called."""
    if ids is None:
        return None
    array = as_array(ids)
    if array.shape != (n,):
        raise InputError(f"ids: expected one for each of the {n:,} rows, got shape {array.shape}.")
    return lambda rows: [plain(value) for value in array[rows]]


Chunks = Callable[[], Iterable[Chunk]]
"""Reads the rows of all forecasters, each time from the beginning."""

Pair = Callable[[Mapping[str, ScoredRows]], Pairing]
"""Finds the rows that belong together among those that have been read."""


class PairedRows(NamedTuple):
    """Rows that are valid for all forecasters, and forecasts of the same outcomes."""

    rows: dict[str, ScoredRows]
    """Rows of each forecaster in the pairing's order; the tallies are of all valid rows, paired or not."""
    at: Ints
    """Their places in the pairing."""
    pairing: Pairing
    notes: dict[str, Notes]
    """What was left out of each forecaster's rows on the way in, and for want of a counterpart."""
    dependence: DependenceSearch
    """What was found of dependence that nobody declared."""

    def weighing(self, floor: Floor) -> tuple[PairedRows, float]:
        """Keep rows of positive weight, with surprisals at the floor where an observed class was assigned 0.

        A row of weight 0 is as if absent. The second is the floor, or 0 where none is needed.
        """
        first = next(iter(self.rows.values()))
        some = np.flatnonzero(first.weights > 0)
        if not some.size:
            raise InputError("no row has a weight above 0.")
        rows = {name: each.at(some) for name, each in self.rows.items()}
        floor = float(floor_for(floor, len(first.labels))) if any(each.zero_rows for each in rows.values()) else 0.0
        if floor:
            rows = {name: each.floored() for name, each in rows.items()}
        return self._replace(rows=rows, at=self.at[some]), floor


def read_paired(
    parts: Chunks, pair: Pair, rules: Sequence[Score], floor: Floor, least: int = 2, *, searched: bool = False
) -> PairedRows:
    """Read every forecaster's rows once and pair them.

    Parameters
    ----------
    parts : callable
        Reads the rows of all forecasters.
    pair : callable
        Finds the rows that belong together among those that have been read.
    rules : sequence of Score
        Scoring rules of the rows.
    floor : float or "auto"
        Floor of surprisals where an observed class was assigned 0.
    least : int, default 2
        Fewest forecasters.
    searched : bool, default False
        Whether dependence is looked for, since nothing is said of it.

    Returns
    -------
    PairedRows

    Raises
    ------
    InputError
        For too few forecasters, no common rows, and rows of other outcomes, classes or weights.
    """
    found = scored(parts(), rules, floor, searched)
    if len(found) < least:
        raise InputError(
            f"a comparison takes at least two forecasters, here is {', '.join(map(repr, found)) or 'none'}."
        )
    pairing = pair(found)
    at, rows = paired(found, pairing)
    if not at.size:
        raise InputError("no rows to compare: of each at least one forecast is missing or invalid.")
    check_same(rows, at, pairing)
    notes = {name: each.tally.notes for name, each in found.items()}
    for name, each in found.items():
        left_out = each.position.size - at.size
        reason = "not chosen, or no valid counterpart" if pairing.chosen else "no valid counterpart"
        notes[name] += Notes(dropped={reason: left_out} if left_out else {})
    dependence = DependenceSearch(reason=DECLARED if pairing.declared else DECLINED)
    if searched and not pairing.declared:
        pairing, dependence = _searched(rows, at, pairing)
    return PairedRows(rows, at, pairing, notes, dependence)


def _searched(rows: Mapping[str, ScoredRows], at: Ints, pairing: Pairing) -> tuple[Pairing, DependenceSearch]:
    """Look for dependence in the errors of every forecaster; what is largest of any is used for all."""
    columns = {name: codes[at] for name, codes in pairing.columns.items()}
    groups = {} if pairing.by is None else {", ".join(pairing.by.names): pairing.by.group[at]}
    found = largest_of([search(each.searched, columns, groups, order=pairing.ordered) for each in rows.values()])
    if not found.taken:
        return pairing, found
    assert found.found is not None
    clusters = clusters_of(found.found, pairing.columns, next(iter(pairing.positions.values())).size)
    return replace(pairing, clusters=clusters), found


def paired(found: Mapping[str, ScoredRows], pairing: Pairing) -> tuple[Ints, dict[str, ScoredRows]]:
    """Keep the rows that are valid for all: their places in the pairing, and the rows of each forecaster there."""
    places = {name: np.searchsorted(rows.position, pairing.positions[name]) for name, rows in found.items()}
    valid = np.logical_and.reduce(
        [np.append(rows.position, -1)[places[name]] == pairing.positions[name] for name, rows in found.items()]
    )
    kept = {name: rows.at(places[name][valid]) for name, rows in found.items()}
    return np.flatnonzero(valid), kept


def check_same(rows: Mapping[str, ScoredRows], at: Ints, pairing: Pairing) -> None:
    """Refuse rows that are paired but are not forecasts of the same outcome, with the same classes and weight."""
    first, *others = rows
    for name in others:
        labels = rows[name].labels, rows[first].labels
        if len(labels[0]) != len(labels[1]) or set(labels[0]) != set(labels[1]):
            raise InputError(
                f"{name}: its classes are {listed(labels[0])}, those of {first} {listed(labels[1])}. If they are the"
                " same, name them with labels (--labels)."
            )
        if labels[0] != labels[1] and "ranked_probability_score" in rows[name].scores:
            raise InputError(
                f"{name}: its classes come in another order than those of {first}, on which ranked_probability_score"
                " depends. Put the columns in the same order."
            )
        codes = np.array([labels[1].index(label) for label in labels[0]])[rows[name].truth]
        other = np.flatnonzero(codes != rows[first].truth)
        if other.size:
            seen = [rows[each].labels[rows[each].truth[other[0]]] for each in (first, name)]
            raise InputError(
                f"{name}: another outcome than for {first} in {pairing.named(at[other])}, for example {seen[1]!r} and"
                f" {seen[0]!r}. Only forecasts of the same outcomes can be compared."
            )
        other = np.flatnonzero(rows[name].weights != rows[first].weights)
        if other.size:
            raise InputError(f"{name}: another weight than for {first} in {pairing.named(at[other])}.")
