"""How likely the outcomes are after the mending of some errors of more than two classes: read from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..._lib.typing import Floats
from ...maps.classes import ClassMap
from ...maps.fit import Likelihood
from ...maps.rows import Rows, places_of
from .class_rows import PreparedRows
from .class_statistics import ClassStatistics, information_of

PARAMETERS = {"confidence": "slope", "tail": "tail", "bias": "biases", "noise": "lapse"}
"""The parameter of a map that mends each error."""

SCALARS = ("confidence", "tail", "noise")
"""Errors of one parameter."""

ALL = tuple(PARAMETERS.values())


class MapLikelihood(Likelihood, Protocol):
    """A likelihood of maps."""

    def map_of(self, theta: Floats) -> ClassMap:
        """Return the map with these coefficients."""

    def theta_of(self, fitted: ClassMap) -> Floats:
        """Return the coefficients of a map; those that it lacks are 0."""


class Likelihoods(Protocol):
    """Likelihoods of maps with any parameters: over rows, or over what counts say of them."""

    classes: int
    known: Floats
    """Information on slope, tail and biases, were the forecasts calibrated."""
    alone: frozenset[str]
    """Errors that can be looked for only by themselves."""

    def of(self, parameters: Sequence[str], start: ClassMap) -> MapLikelihood:
        """Return the likelihood of maps with these parameters, near a map of fewer."""

    def score(self, fitted: ClassMap) -> Floats:
        """Return the slope of the log-likelihood by the bias of each class."""

    def information(self, fitted: ClassMap) -> Floats:
        """Return the Fisher information on slope, tail, the biases of all classes and the log-odds of the lapse."""


class RowLikelihoods:
    """Likelihoods over rows."""

    alone = frozenset[str]()

    def __init__(self, chunks: PreparedRows, statistics: ClassStatistics) -> None:
        self.chunks, self.classes = chunks, len(statistics.observed)
        self.known = information_of(statistics)

    def of(self, parameters: Sequence[str], start: ClassMap) -> Rows:
        """Return the likelihood of maps with these parameters."""
        del start
        return Rows(self.chunks, self.classes, parameters)

    def score(self, fitted: ClassMap) -> Floats:
        """Return the slope of the log-likelihood by the bias of each class."""
        lapse = ["lapse"] if fitted.lapse else []
        rows = Rows(self.chunks, self.classes, [*fitted.shared, "biases", *lapse])
        return np.asarray(rows.ascent(rows.theta_of(fitted))[1][rows.places["biases"]])

    def information(self, fitted: ClassMap) -> Floats:
        """Return the Fisher information on slope, tail, the biases of all classes and the log-odds of the lapse."""
        rows = Rows(self.chunks, self.classes, ALL)
        return rows.information(rows.theta_of(fitted))


def part_of(information: Floats, parameters: Sequence[str], classes: int) -> Floats:
    """Return the part of the information that concerns some parameters."""
    every, some = places_of(ALL, classes), places_of(parameters, classes)
    at = np.concatenate([np.arange(every[name].start, every[name].stop) for name in some] or [np.empty(0, np.int64)])
    return np.asarray(information[np.ix_(at, at)])
