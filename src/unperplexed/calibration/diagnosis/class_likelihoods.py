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
from .kinds import KINDS

PARAMETERS = {kind.error: kind.of_each or kind.parameter for kind in KINDS.values() if kind.classes is not None}
"""The parameter of a map that mends each error."""

KNOWN = ("slope", "tail", "biases")
"""Parameters of which the statistics have the information, were the forecasts calibrated."""


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
    """Information on `KNOWN`."""
    together: Sequence[str]
    """Parameters that can be fitted together, and those that can be fitted only alone."""
    alone: Sequence[str]

    def of(self, parameters: Sequence[str], start: ClassMap) -> MapLikelihood:
        """Return the likelihood of maps with these parameters, near a map of fewer."""


class RowLikelihoods:
    """Likelihoods over rows."""

    def __init__(self, chunks: PreparedRows, statistics: ClassStatistics) -> None:
        self.chunks, self.classes, self.rows = chunks, len(statistics.observed), statistics.rows
        self.known = information_of(statistics)
        self.together: Sequence[str] = list(PARAMETERS.values())
        self.alone: Sequence[str] = ()

    def of(self, parameters: Sequence[str], start: ClassMap) -> Rows:
        """Return the likelihood of maps with these parameters."""
        del start
        return Rows(self.chunks, self.classes, parameters, self.rows)


def part_of(information: Floats, every: Sequence[str], parameters: Sequence[str], classes: int) -> Floats:
    """Return the part of the information on every parameter that concerns some of them.

    Parameters
    ----------
    information : array of shape (k, k)
        Fisher information on the coefficients of ``every``, in the order of `places_of`.
    every, parameters : sequence of str
        All parameters, and those that are wanted.
    classes : int
        Number of classes.
    """
    places = places_of(every, classes)
    at = np.r_[tuple(places[name] for name in places_of(parameters, classes))].astype(np.int64)
    return np.asarray(information[np.ix_(at, at)])
