"""The valid rows of one or more forecasters side by side, for what needs all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import attrgetter
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Floats, Ints
from .forecasts import Block, Forecasts, Notes
from .labels import Label

Values = Callable[[Block], AnyFloats]
"""What is gathered of a block: (n, C)."""

PROBABILITIES: Values = attrgetter("probabilities")
LOG_PROBABILITIES: Values = attrgetter("log_probabilities")


class GatheredRows(Frozen, eq=False):
    """Rows of positive weight that are valid for every forecaster, in the order of the input."""

    labels: tuple[Label | None, ...]
    index: Ints
    """Number of each row among all of the input, from 0."""
    truth: Ints
    """Number of the observed class."""
    weights: Floats
    weighted: bool
    """Whether the rows have weights of their own."""
    clusters: Ints | None
    """Number of each row's cluster, from 0; None for independent rows."""
    values: dict[str, AnyFloats]
    """(n, C), by forecaster: probabilities in the precision of the source, or what was asked for of each block."""
    one_column: bool
    """Whether the first forecaster gave the probability of the positive class alone."""
    notes: dict[str, Notes]
    """What was left out or rescaled on the way in, by forecaster."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.truth.size

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    def only(self, index: Ints) -> GatheredRows:
        """Rows of these numbers, which are among its own."""
        if self.index.size == index.size:
            return self
        at = np.searchsorted(self.index, index)
        clusters = None if self.clusters is None else _numbered(self.clusters[at])
        values = {name: x[at] for name, x in self.values.items()}
        truth, weights = self.truth[at], self.weights[at]
        return replace(self, index=index, truth=truth, weights=weights, clusters=clusters, values=values)

    def forecasts(self, name: str) -> Forecasts:
        """Give the rows of a forecaster whose log-probabilities were gathered, as forecasts of numbered classes."""
        known: dict[str, Any] = {"sample_weight": self.weights if self.weighted else None, "clusters": self.clusters}
        classes = tuple(range(self.n_classes))
        return Forecasts(self.truth, self.values[name], scale="log-probs", known_labels=classes, **known)


def gathered(
    forecasters: Mapping[str, Any],
    y_true: Any,
    reading: Mapping[str, Any],
    name: str = "y_prob",
    of: Values = PROBABILITIES,
) -> GatheredRows:
    """Read the rows of several forecasters of the same outcomes; rows that are left out for one are so for all.

    Errors call a single forecaster ``name``. ``of`` says what is gathered.

    Parameters
    ----------
    forecasters : mapping from str to array_like of shape (n,) or (n, C)
        Predicted probabilities of each forecaster.
    y_true : array_like of shape (n,) or (n, C)
        Outcomes.
    reading : mapping
        Options of `Forecasts`, the same for all.
    name : str, default "y_prob"
        What errors call a single forecaster.
    of : callable, default `PROBABILITIES`
        Gives what is gathered of a block, (rows, C).

    Raises
    ------
    InputError
        As `Forecasts`; for forecasters of different classes, and where no rows are left.
    """
    if not forecasters:
        raise InputError(f"{name}: no forecaster.")
    names = [name] if len(forecasters) == 1 else [*forecasters]
    read = [
        Forecasts(y_true, y_prob, names=("y_true", shown, "sample_weight"), **reading)
        for shown, y_prob in zip(names, forecasters.values(), strict=True)
    ]
    first = read[0]
    for shown, each in zip(names, read, strict=True):
        if each.labels != first.labels:
            raise InputError(
                f"{shown}: its classes are {list(each.labels)!r}, those of {names[0]} {list(first.labels)!r}."
                " Give all forecasters the same classes in the same order, or say labels=."
            )
    found = [_rows([each], called, of) for called, each in zip(forecasters, read, strict=True)]
    common = reduce(np.intersect1d, (rows.index for rows in found))
    if not common.size:
        raise InputError("y_true: no rows of positive weight are left.")
    kept = [rows.only(common) for rows in found]
    values = {called: x for rows in kept for called, x in rows.values.items()}
    notes = {called: x for rows in kept for called, x in rows.notes.items()}
    return replace(kept[0], values=values, notes=notes)


def gathered_chunks(chunks: Iterable[Forecasts], name: str) -> GatheredRows:
    """Gather the rows of one forecaster from parts, as those of files; ``name`` is what the forecaster is called."""
    parts = [part for part in chunks if part.n_rows]
    if not parts:
        raise InputError("no rows to read.")
    rows = _rows(parts, name, PROBABILITIES)
    if not rows.n_rows:
        raise InputError("no rows of positive weight are left.")
    return rows


def _rows(parts: Sequence[Forecasts], name: str, of: Values) -> GatheredRows:
    """Rows of positive weight of one forecaster, and what was done to the others."""
    found: list[tuple[Any, ...]] = []
    first, notes, weighted = parts[0], Notes(), False
    for part in parts:
        for block in part.blocks():
            notes, weighted = notes + block.notes, weighted or block.weights is not None
            some = block.weighing
            weights = np.ones(len(some)) if some.weights is None else some.weights
            found.append((of(some), some.truth.astype(np.int64), weights, some.index, part.clusters(some.index)))
    none = np.empty((0, first.n_classes)), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64), None
    *columns, clusters = zip(*(found or [none]), strict=True)
    known = [each for each in clusters if each is not None]
    values, truth, w, index = map(np.concatenate, columns)
    number = _numbered(np.concatenate(known)) if known else None
    return GatheredRows(
        first.labels, index, truth, w, weighted, number, {name: values}, first.one_column, {name: notes}
    )


def _numbered(clusters: Ints) -> Ints:
    return np.unique(clusters, return_inverse=True)[1].reshape(-1)
