"""Which paired rows may depend on one another: what a user names, read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, check_whole
from .._lib.formatting import number_of
from .._lib.typing import Ints
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch, independent_words
from ..forecasts.group_keys import cluster_columns, cluster_numbers, cluster_ways, hashes_of_clusters
from ..forecasts.reading import SearchedReading
from ..scores.rules import Score, scores_kept
from ..statistics.intervals import Dependence, checked_sampling
from ..statistics.means import DEFAULT_FLOOR, Floor, check_floor


class Dependent(TypedDict, total=False):
    """Numbers of each row's cluster, of its cluster the other way, and of its series.

    That of a cluster is its hash, as a tally takes it, unless rows are in clusters in two ways.
    """

    clusters: Ints | None
    crossed: Ints | None
    series: Ints | None


def dependent_rows(n_rows: int, clusters: Any, within: Any) -> Dependent:
    """Read from arrays which rows share all of a cluster's values, or either of two, and within which rows are near."""
    found: Dependent = {"series": None if within is None else cluster_numbers(within, n_rows, "within")}
    ways = cluster_ways(clusters, n_rows)
    if len(ways) > 2:
        raise InputError(
            f"clusters (--clusters): one column or two, such as station and date, not {len(ways)}. Columns whose values"
            " together make a cluster are one: a mapping or a data frame (--clusters A,B)."
        )
    if len(ways) == 1:
        cluster_columns(ways[0], n_rows)
        return found | {"clusters": hashes_of_clusters(ways[0]).view(np.int64)}
    if ways:
        one, other = (cluster_numbers(way, n_rows) for way in ways)
        found |= {"clusters": one, "crossed": other}
    return found


class PairedOptions(SearchedReading, total=False):
    """What `compare` and `skill` take of class probabilities besides these and outcomes; `compare` describes them."""

    by: Any
    lag: int | None
    within: Any
    metrics: Sequence[str]
    floor: Floor
    confidence: float


class PairedSettings(Frozen):
    """How paired rows are scored, and what is known of their dependence."""

    scores: Sequence[str] = ()
    """Names of rules in addition to those that are always taken."""
    floor: Floor = DEFAULT_FLOOR
    confidence: float = 0.95
    lag: int | None = None
    clustered: bool = False
    within: bool = False
    """Whether a lag is counted within series."""
    searched: bool = False
    """Whether dependence is looked for: nothing is said of it."""

    def __post_init__(self) -> None:
        """Refuse what nothing can be computed with, before any row is read."""
        _check_lag(self.lag, self.clustered, self.within)
        check_floor(self.floor)
        checked_sampling(self.confidence, 0, 0)
        _ = self.rules

    @property
    def rules(self) -> tuple[Score, ...]:
        """The rules to score by."""
        return scores_kept(self.scores)


def _check_lag(lag: Any, clustered: bool, within: bool) -> None:
    """Refuse what leaves it open which rows depend on one another."""
    if lag is None:
        if within:
            raise InputError("within: rows of a series are places apart; name how many with a lag (--lag 14:station).")
        return
    check_whole("lag", lag, 0)
    if clustered:
        raise InputError(
            "lag and clusters (--lag, --clusters): rows depend on those before and after them, or on those of"
            " their cluster; leave one out. For a lag within each station or region name these with within (--lag"
            " L:COLUMN)."
        )


def short_series(dependence: Dependence) -> Iterator[str]:
    """Warn where no series is longer than the lag: its column may be that of the time."""
    if dependence.series is None or not dependence.lag:
        return
    longest = int(np.unique(dependence.series, return_counts=True)[1].max(initial=0))
    if longest <= dependence.lag:
        yield (
            f"none of the {dependence.n_series:,} series has more rows than the lag of {dependence.lag}: the longest"
            f" has {longest:,}. A lag counts rows, and the column behind it (--lag L:COLUMN, within) names the series,"
            " such as a station, not the time; for rows of a day that depend on one another take clusters (--clusters)"
        )


def dependent_text(
    clusters: int | None,
    crossed: int | None,
    lag: int | None,
    series: int | None,
    search: DependenceSearch = OF_A_TALLY,
) -> str:
    """State which rows may depend on one another.

    Parameters
    ----------
    clusters, crossed : int or None
        Number of clusters, and of those the other way; None without any.
    lag : int or None
        How many places apart rows may depend on one another.
    series : int or None
        Number of series within which places are counted; None where all rows are in one order.
    search : DependenceSearch
        What was found where nobody said it.

    Returns
    -------
    str
    """
    if clusters is not None:
        other = f", {crossed:,} the other way" if crossed is not None else ""
        return f"{number_of(clusters, 'cluster')} of dependent rows{other}"
    if not lag:
        return independent_words(search)
    each = f" in each of {series:,} series" if series is not None else ""
    return f"rows dependent up to {lag} apart{each}"
