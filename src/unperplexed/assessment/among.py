"""Columns among which groups are searched: read, and what is to be said of those that tell too little or too much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError
from .._lib.formatting import number_of, three_digits
from .._lib.typing import Floats, Ints
from ..calibration.where.conditions import Column, columns_of_values
from ..calibration.where.rules import LEAST_ROWS, LEAST_SHARE
from ..forecasts.forecasts import Forecasts, Notes
from ..forecasts.group_keys import columns_of
from ..forecasts.labels import Label, label_array
from ..recalibration.group_rows import GroupRows
from ..tally.tally import common_labels

MOST_COLUMNS = 60
"""More make millions of rules, of which a group has to stand out."""

_TELLS = 0.99
"""AUC of a column alone from which on it looks like another form of the outcome."""


class RowsAmong(NamedTuple):
    """Rows of positive weight, and their columns."""

    rows: GroupRows
    columns: dict[str, NDArray[Any]]
    notes: Notes


def gathered_among(stream: Iterable[tuple[Forecasts, Any]]) -> RowsAmong:
    """Read rows, part by part with the columns among which groups are searched."""
    labels: tuple[Label | None, ...] | None = None
    notes, found = Notes(), list[tuple[Any, ...]]()
    columns: dict[str, list[NDArray[Any]]] = {}
    for forecasts, among in stream:
        labels = common_labels(labels or forecasts.labels, forecasts.labels)
        given = checked_columns(among, forecasts.n_rows)
        for block in forecasts.blocks():
            notes, some = notes + block.notes, block.weighing
            places = np.searchsorted(forecasts.index, some.index)
            clusters = forecasts.clusters(some.index)
            found.append((some.log_probabilities, some.truth.astype(np.int64), some.weights, clusters))
            for name, values in given.items():
                columns.setdefault(name, []).append(values[places])
    if labels is None or not sum(len(part[1]) for part in found):
        raise InputError("y_true: no rows of positive weight to search.")
    log_p, truth, weight, cluster = (None if parts[0] is None else np.concatenate(parts) for parts in zip(*found))
    cluster = None if cluster is None else np.unique(cluster, return_inverse=True)[1].reshape(-1)
    rows = GroupRows(labels, (), ((),), np.zeros(len(truth), np.int64), log_p, truth, weight, cluster)
    return RowsAmong(rows, {name: np.concatenate(parts) for name, parts in columns.items()}, notes)


def checked_columns(among: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return columns as arrays, by name: each has a value for every row."""
    columns = {name: label_array(values) for name, values in columns_of(among, "among").items()}
    for name, values in columns.items():
        if values.shape != (n_rows,):
            raise InputError(
                f"among: column {name!r} has shape {values.shape}, and there are {number_of(n_rows, 'row')}; it needs"
                " one value a row."
            )
    if len(columns) > MOST_COLUMNS:
        raise InputError(
            f"among: {len(columns)} columns; at most {MOST_COLUMNS} are searched, as a group has to stand out among"
            " all rules. Choose those by which you could act."
        )
    return columns


def searched_columns(columns: Mapping[str, NDArray[Any]], truth: Ints) -> tuple[list[Column], list[str]]:
    """Bin columns, and say what is to be known of them.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
    truth : array of int, shape (n,)
        Class of each row.

    Raises
    ------
    InputError
        For a column that holds the outcomes.
    """
    made, said = list[Column](), list[str]()
    for name, values in columns.items():
        first, *parts = columns_of_values(name, values)
        if (remark := _useless(first)) is None:
            made += [first, *parts]
            remark = _telling(first, truth)
        said += [f"column {name!r} {remark}"] if remark else []
    return made, said


def _useless(column: Column) -> str | None:
    """Say why no rule asks for a column; None if one may."""
    counts = np.bincount(column.codes, minlength=column.size)
    missing, least = int(counts[-1]), max(LEAST_ROWS, LEAST_SHARE * column.codes.size)
    if missing == column.codes.size:
        return "is missing in all rows, so that no rule asks for it"
    if np.count_nonzero(counts) == 1:
        return "has the same value in nearly all rows, so that no rule asks for it"
    if column.categories is not None and counts[:-2].max(initial=0) < least and missing < least:
        different = len(column.categories) - ("" in column.categories)
        return (
            f"holds {different:,} different texts, none of them in {three_digits(LEAST_SHARE)} of the rows, so that no"
            " rule asks for it. Make groups of them, such as by a word that they hold"
        )
    return None


def _telling(column: Column, truth: Ints) -> str:
    """Warn of numbers that may be identifiers, and of a column that orders the outcomes alone; refuse a copy."""
    classes = int(truth.max()) + 1
    known = np.unique(column.values[column.values == column.values], return_inverse=True)
    kept = truth[column.values == column.values]
    counts = np.bincount(known[1] * classes + kept, minlength=len(known[0]) * classes).reshape(-1, classes)
    there = counts > 0
    if (
        len(known[0]) <= classes
        and (there.sum(axis=1) == 1).all()
        and (there.sum(axis=0) <= 1).all()
        and len(counts) > 1
    ):
        raise InputError(f"among: column {column.name!r} holds the outcomes. Leave it out.")
    many = column.categories is not None and len(counts) * LEAST_ROWS > len(kept)
    if not many and max(_aucs(counts, ordered=column.categories is None)) > _TELLS:
        return (
            "alone orders the outcomes (AUC above 0.99). It may be known only afterwards, and then a group that it"
            " describes is of no use"
        )
    whole = column.categories is None and not column.date and (known[0] == np.floor(known[0])).all()
    if whole and len(counts) == len(kept) > LEAST_ROWS:
        return "has another number in each row, as identifiers have; a rule can only ask for ranges of them"
    return ""


def _aucs(counts: NDArray[Any], *, ordered: bool) -> Iterator[float]:
    """Yield the AUC of each class, by the values of a column in their order, or in the best one."""
    for positive in counts.T:
        negative = counts.sum(axis=1) - positive
        if not (positive.any() and negative.any()):
            yield 0.5
            continue
        order = np.arange(len(counts)) if ordered else np.argsort(positive / counts.sum(axis=1), kind="stable")
        p, n = positive[order].astype(np.float64), negative[order].astype(np.float64)
        below: Floats = np.cumsum(n) - n / 2
        auc = float(p @ below) / float(p.sum() * n.sum())
        yield max(auc, 1 - auc)
