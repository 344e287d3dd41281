"""Rows that nobody declared dependent: where they may be so it is looked for, and the result says what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .._lib.arrays import check_indexes, distinct
from .._lib.elementary import expit
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.group_keys import ColumnCodes, columns_of, hashes_of_clusters
from ..forecasts.reading import AUTO
from ..statistics.matrices import product
from .dependence import (
    ALL_ROWS,
    FEWEST,
    FEWEST_VALUES,
    Dependence,
    Sample,
    copied_rows,
    differing_groups,
    events_of_classes,
    find_dependence,
    largest,
    order_tells,
    share_searched,
)
from .dependence_search import DECLARED, DECLINED, UNREAD, DependenceSearch
from .diagnosis.binary_data import p_values_in_clusters

Event = tuple[Bools, Floats]
"""Whether it occurred in each row, and its log-odds."""


def events_of(block: Block) -> tuple[Event, ...]:
    """Return the events of which dependence is looked for."""
    if block.rows.n_classes == 2:
        return ((block.truth == 1, block.log_odds),)
    return events_of_classes(block.truth.astype(np.int64), block.probabilities)


def joined_events(read: Iterable[tuple[Event, ...]]) -> list[Event]:
    """Put those of successive rows together."""
    return [
        (np.concatenate(y), np.concatenate(s)) for y, s in (zip(*of, strict=True) for of in zip(*read, strict=True))
    ]


class SearchedRows(NamedTuple):
    """Rows that dependence is looked for in."""

    events: Sequence[Event]
    weight: Floats
    truth: Ints
    """Class of each row; a column may be a copy of it."""
    number: Ints
    """Of each row among all."""
    sample: Sample = ALL_ROWS

    @classmethod
    def of(cls, block: Block) -> SearchedRows:
        """Take those of positive weight."""
        kept = block.weighing
        weight = np.ones(len(kept)) if kept.weights is None else np.asarray(kept.weights, dtype=np.float64)
        return cls(events_of(kept), weight, kept.truth.astype(np.int64), kept.index)

    @classmethod
    def joined(cls, parts: Sequence[SearchedRows]) -> SearchedRows:
        """Put those of successive parts together."""
        events, weight, truth, number, samples = zip(*parts, strict=True)
        sample = Sample(np.concatenate([each.stretch for each in samples]), samples[0].share)
        of_rows, classes, numbers = (np.concatenate(each) for each in (weight, truth, number))
        return cls(joined_events(events), of_rows, classes, numbers, sample)

    def at(self, some: Ints | Bools) -> SearchedRows:
        """Select rows."""
        events = [(happened[some], s[some]) for happened, s in self.events]
        return SearchedRows(events, self.weight[some], self.truth[some], self.number[some], self.sample.at(some))

    def sampled(self, share: float) -> tuple[Ints, SearchedRows]:
        """Select so many rows, in stretches of successive ones; give their places too."""
        part, place = np.divmod(np.arange(self.number.size), -(-self.number.size // _PARTS))
        length = math.ceil(share * self.number.size / _PARTS)
        start = np.random.default_rng(0).integers(0, place.max() + 2 - length, _PARTS)[part]
        some = np.flatnonzero((place >= start) & (place < start + length))
        return some, self.at(some)._replace(sample=Sample(part[some], share))

    @property
    def predictions(self) -> Ints:
        """Number equal predictions by the same number, as good as surely."""
        first, *others = [(s + 0.0).view(np.int64) for _, s in self.events]  # minus 0 is 0
        return sum((_ODD * each for each in others), first)

    def without_errors_of(self, group: Ints) -> SearchedRows:
        """Return rows whose log-odds have the biases and slopes of groups added: these errors are no dependence."""
        _, number = np.unique(group, return_inverse=True)
        errors = [_errors(*event, self.weight, number) for event in self.events]
        return self._replace(events=[(y, s + error) for (y, s), error in zip(self.events, errors, strict=True)])


_ODD = -7046029254386353131
"""Spreads numbers over all 64 bits (Steele 2014)."""

_PARTS = 64
"""Parts of the rows, of each of which a sample has a stretch at random: enough to hold groups from all over."""

_GROUP = 10
"""Rows that a group has on average, if its errors are taken out: of fewer they would be the residuals themselves."""

_STEPS = 3
"""Newton steps towards the bias and slope of a group; with the prior that is enough to take out what is wrong."""


def _errors(happened: Bools, s: Floats, weight: Floats, group: Ints) -> Floats:
    """Estimate what each row's group adds to the log-odds: a bias, and a slope less 1, both N(0, 1) beforehand."""
    x, n = np.where(np.isfinite(s), s, 0.0), int(group.max(initial=-1)) + 1
    bias, slope = np.zeros((2, n))
    for _ in range(_STEPS):
        p = expit(s + bias[group] + slope[group] * x)
        score, v = weight * (happened - p), weight * p * (1 - p)
        a, b, aa, ab, bb = (
            np.bincount(group, each, n).astype(np.float64) for each in (score, x * score, v, x * v, x * x * v)
        )
        a, b, aa, bb = a - bias, b - slope, aa + 1, bb + 1
        determinant = aa * bb - ab * ab
        bias, slope = bias + (bb * a - ab * b) / determinant, slope + (aa * b - ab * a) / determinant
    return np.asarray(bias[group] + slope[group] * x)


_STRETCHES = (7, 8, 9)
"""Numbers of stretches of rows, fewer than clusters take, whose errors are taken out one after another: wherever
calibration changed, it is near an end of one of them."""


def searched(
    rows: SearchedRows,
    columns: Mapping[str, Ints],
    groups: Mapping[str, Ints] | None = None,
    *,
    order: bool = True,
) -> DependenceSearch:
    """Look for dependence in columns, and in the order of the rows: of many rows in a sample, and then in all of them.

    Errors of groups, of a column that is no cluster as it has few values, or of a few stretches of rows, are no
    dependence. Where rows of the same group err alike, and nothing else speaks against independent rows, that is said.
    """
    groups, share = groups or {}, share_searched(rows.number.size)
    if share == 1:
        search = _counted(looked(rows, columns, groups, order=order), rows, {**columns, **groups})
        known = search.found is not None and search.found.taken
        if known or not order:  # without an order several rows forecast the same
            return search
        copies = copied_rows(*rows.events[0], rows.truth, rows.predictions)
        return replace(search, copies=copies, differing=None if copies else search.differing)
    some, sampled = rows.sampled(share)
    drawn = [{name: code[some] for name, code in each.items()} for each in (columns, groups)]
    return decided(looked(sampled, *drawn, order=order), rows, columns, groups)


def decided(
    first: DependenceSearch, rows: SearchedRows, columns: Mapping[str, Ints], groups: Mapping[str, Ints]
) -> DependenceSearch:
    """Look at all rows for the dependence that was found in a sample: in its columns, or in the order."""
    if first.found is None:
        return first
    named = {name: code for name, code in columns.items() if name in first.found.columns}
    again = looked(rows, named, groups, order=first.found.block is not None).found
    if again is not None:
        kept = {name: getattr(first.found, name) for name in ("also", "looked_at", "order", "sampled")}
        again = replace(again, **kept)
    return _counted(replace(first, found=again), rows, {**columns, **groups})


def looked(
    rows: SearchedRows, columns: Mapping[str, Ints], groups: Mapping[str, Ints], *, order: bool
) -> DependenceSearch:
    """Look for dependence in rows, all or a sample; the clusters that are found are still to be counted."""
    columns = {name: code for name, code in columns.items() if not _copies(code, rows.truth)}
    order = order and any(order_tells(happened) for happened, _ in rows.events)

    def found_in(columns: Mapping[str, Ints], without: Iterable[Ints], order: bool) -> Dependence | None:
        events = reduce(SearchedRows.without_errors_of, without, rows).events
        return largest(
            find_dependence(happened, s, rows.weight, columns, order=order, sample=rows.sample, events=len(events))
            for happened, s in events
        )

    large = [group for group in groups.values() if group.size >= _GROUP * len(distinct(group))]
    found = found_in(columns, large, order)
    few = [] if found is None else [x for x in columns.values() if FEWEST_VALUES <= len(distinct(x)) < FEWEST]
    stretches = [np.arange(rows.number.size) * n // rows.number.size for n in _STRETCHES]
    if found is not None and found.block is not None:  # calibration may have changed, or rows are sorted by group
        few += stretches
    if few and found_in(columns, [*large, *few], order) is None:
        found = None
    if found is None and groups and (alike := found_in(groups, [], order=False)) is not None:
        found = None if found_in(groups, stretches, order=False) is None else replace(alike, taken=False)
    events = [] if found is not None else reduce(SearchedRows.without_errors_of, large, rows).events
    differing = [differing_groups(*event, rows.weight, columns, events=len(events)) for event in events]
    most = min(filter(None, differing), key=lambda each: each.p_value, default=None)
    return DependenceSearch(tuple(columns), order, found, most)


def _counted(search: DependenceSearch, rows: SearchedRows, columns: Mapping[str, Ints]) -> DependenceSearch:
    """Count the clusters that were found, and where they are a warning alone test calibration by them."""
    found = search.found
    if found is None:
        return search
    _, cluster = np.unique(clusters_of(found, columns, rows.number.size), return_inverse=True)
    equal = float(rows.weight.sum()) ** 2 / float(product(rows.weight, rows.weight))
    found = replace(found, n_clusters=int(cluster.max()) + 1, n_rows=round(equal / rows.sample.share))
    p_values = math.nan, math.nan
    if len(rows.events) == 1:
        p_values = p_values_in_clusters(*rows.events[0], rows.weight, cluster)
    return replace(search, found=found, p_value=p_values[0], independent_p_value=p_values[1])


_HEAD = 1000
"""Rows by which most columns are seen to have more values than a copy of the outcome."""


_COPIED = 0.6
"""Share of the rows that are not of the most frequent class whose class a copy of the outcome tells, such as one that
was rounded otherwise."""


def _copies(code: Ints, truth: Ints) -> bool:
    """Whether a column of few values says which class was observed: its rows would err alike by themselves."""
    classes = int(truth.max(initial=0)) + 1
    most = max(classes, FEWEST - 1)  # as fewer than clusters take may be the outcome spelled more finely
    if len(distinct(code[:_HEAD])) > most:
        return False
    values, number = np.unique(code, return_inverse=True)
    if len(values) > most:
        return False
    counts = np.bincount(number * classes + truth, minlength=len(values) * classes).reshape(-1, classes)
    others = len(truth) - int(counts.sum(axis=0).max())
    return len(truth) - int(counts.max(axis=1).sum()) <= (1 - _COPIED) * others


def largest_of(of_each: Sequence[DependenceSearch]) -> DependenceSearch:
    """Return what is used for all of several forecasters."""
    best = largest(each.found for each in of_each)
    return next(each for each in of_each if each.found is best)


def clusters_of(found: Dependence, columns: Mapping[str, Ints], n_rows: int) -> Ints:
    """Number the clusters that were found: of rows with the same values of the columns, or of successive rows."""
    named = {name: columns[name] for name in found.columns}
    return hashes_of_clusters(named if found.block is None else np.arange(n_rows) // found.block).view(np.int64)


class ReadRows(NamedTuple):
    """Forecasts in memory, how they were read, and what was found of their dependence."""

    forecasts: Forecasts
    reading: dict[str, Any]
    """Options of `Forecasts`: those that were given, with clusters that were declared or found."""
    dependence: DependenceSearch


def read_rows(y_true: Any, y_prob: Any, reading: Mapping[str, Any], groups: Any = None, of: str = "by") -> ReadRows:
    """Read forecasts in the clusters that are declared, or in those that are found where nothing is said of them.

    Columns of groups, or of periods, make no clusters, and errors of their own are no dependence; that their rows err
    alike is said where nothing else is found. Errors call them what ``of`` says.
    """
    options, clusters, columns = undeclared_of(reading)
    for name in ("censored", "issued", "target_date"):
        if options.pop(name, None) is not None:
            raise InputError(f"{name}: is for predictive distributions, not for class probabilities. Leave it out.")
    if clusters is not AUTO:
        options |= {} if clusters is None else {"clusters": clusters}
        reason = DECLINED if clusters is None else DECLARED
        return ReadRows(Forecasts(y_true, y_prob, **options), options, DependenceSearch(reason=reason))
    check_indexes(y_true=y_true, y_prob=y_prob, columns=columns)
    forecasts = Forecasts(y_true, y_prob, **options)
    known = checked_codes(groups, forecasts.n_rows, of)
    codes = {name: code for name, code in checked_codes(columns, forecasts.n_rows).items() if name not in known}
    parts = [*map(SearchedRows.of, forecasts.blocks())]
    if not parts:  # which an assessment says better
        return ReadRows(forecasts, options, DependenceSearch(reason=UNREAD))
    rows = SearchedRows.joined(parts)
    kept = slice(None) if rows.number.size == forecasts.n_rows else rows.number  # without a copy of each column
    looked, some = ({name: code[kept] for name, code in each.items()} for each in (codes, known))
    found = searched(rows, looked, some)
    if found.found is not None and found.taken:
        clusters = clusters_of(found.found, codes, forecasts.n_rows)
        forecasts, options = forecasts.in_clusters(clusters), {**options, "clusters": clusters}
    return ReadRows(forecasts, options, found)


def undeclared_of(reading: Mapping[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    """Take apart how rows are read, their clusters or `AUTO`, and the columns that dependence is looked for in."""
    options = dict(reading)
    columns, clusters = options.pop("columns", None), options.pop("clusters", AUTO)
    if isinstance(clusters, str) and clusters == AUTO:
        return options, AUTO, columns
    if columns is not None:
        raise InputError("columns: dependence is looked for in them where no clusters are declared; leave one out.")
    return options, clusters, None


def checked_codes(columns: Any, n_rows: int, of: str = "columns") -> dict[str, Ints]:
    """Return the codes of columns, each with a value for every row."""
    named = {} if columns is None else columns_of(columns, of)
    read = ColumnCodes(named)
    read.add(named)
    codes = read.joined()
    for name, code in codes.items():
        if code.size != n_rows:
            rows = number_of(code.size, "row")
            raise InputError(f"{of}: column {name!r} has {rows}, the forecasts {n_rows:,}; each needs one.")
    return codes
