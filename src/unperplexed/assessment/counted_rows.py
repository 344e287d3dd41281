"""Rows of two classes for decisions, one by one or counted by a tally: lots of rows that are alike.

Beside them stand recalibrated probabilities: cross-fitted, by a fitted map, or as the user passes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, listed, rows_text
from .._lib.progress import steps
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from ..forecasts.forecasts import Notes
from ..forecasts.gathered import GatheredRows, gathered
from ..forecasts.labels import Label
from ..kernels.logarithms import log_odds
from ..recalibration.averaging import average
from ..recalibration.binary_rows import BinaryRows, DealtCounts, rows_of_columns, rows_of_kept
from ..recalibration.fitting import BINARY_METHODS
from ..recalibration.folded_rows import Kept
from ..statistics.intervals import Dependence, UncertainMean, uncertain_mean
from ..statistics.matrices import product
from ..statistics.threshold_cells import ThresholdCells, threshold_cells
from ..tally.binary import BinaryColumns
from ..tally.binary import BinaryRows as TallyRows
from ..tally.tables import Cells, PairTable, grid_of
from ..tally.tally import EXACT_LIMIT, FRACTION_BITS, Tally

FEWEST_UNITS = 10
"""Rows, or clusters, from which on figures are cross-fitted."""

_ROUNDING = 2.0**-40
"""Mean distance from their mean, relative to it or to 1, of values that differ by rounding alone."""


class CountedRows(Frozen, eq=False):
    """Lots of rows with the same outcome and probability: single rows, or what a tally counted.

    Rows in clusters are single.
    """

    p: AnyFloats
    """Probability of the positive class, in the precision in which thresholds are compared with it."""
    positive: Ints
    """Outcome, 0 or 1."""
    weight: Floats
    squared: Floats
    """Summed weights, and summed squared weights, of the rows of a lot."""
    clusters: Ints | None
    """Number of the cluster of each lot; None for independent rows."""
    n_rows: int
    """Number of rows of positive weight."""
    weighted: bool
    labels: tuple[Label | None, ...]
    notes: Notes
    ends: tuple[AnyFloats, AnyFloats] | None = None
    """Smallest and largest probability of each lot where a tally counted in cells, and ``p`` is a mean."""
    prices: Floats | None = None
    """(n, 4): costs of each single row by kind, in the order of `ThresholdCells`; None where all rows cost the same."""
    period: Ints | None = None
    """Number of the period of each single row, each of which has a capacity of its own; None for one."""

    @property
    def units(self) -> int:
        """Number of independent units: rows, or their clusters."""
        return self.n_rows if self.clusters is None else int(self.clusters.max()) + 1

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters; None for independent rows."""
        alone = self.prices is not None and self.units == self.n_rows
        return None if self.clusters is None or alone else self.units

    @property
    def frequency(self) -> float:
        """Observed frequency of the positive class."""
        return float(product(self.weight, self.positive) / self.weight.sum())

    def acts(self, threshold: float) -> Bools:
        """Lots that are acted on; the threshold is compared in the probabilities' precision."""
        return np.asarray(self.p >= self.p.dtype.type(threshold))

    def at(self, thresholds: Floats) -> ThresholdCells:
        """Count rows by action and outcome at ascending thresholds."""
        counted = None if self.clusters is not None else (self.squared, self.n_rows)
        return threshold_cells(self.p, self.positive, self.weight, thresholds, self.clusters, counted)

    def in_part(self, share: Floats) -> ThresholdCells:
        """Count single rows that are acted on with these probabilities, as at one threshold."""
        kinds, of_row = np.zeros((4, share.size)), np.arange(share.size)
        kinds[self.positive, of_row], kinds[2 + self.positive, of_row] = 1 - share, share
        kinds *= self.weight / self.weight.sum()
        units = kinds if self.clusters is None else np.stack([np.bincount(self.clusters, each) for each in kinds])
        moments = product(units, units.T)[None]
        return replace(self.at(np.array([0.5])), shares=kinds.sum(axis=1)[None], moments=moments)

    def with_probabilities(self, p: AnyFloats) -> CountedRows:
        """Return the same lots with other probabilities."""
        return replace(self, p=p, ends=None)

    def mean(self, x: Floats) -> UncertainMean:
        """Mean of one value a lot over the rows, and its sandwich standard error."""
        if self.clusters is not None:
            return uncertain_mean(x, self.weight, Dependence(self.clusters))
        whole, squares = float(self.weight.sum()), float(self.squared.sum())
        mean = float(product(self.weight, x)) / whole
        degrees = whole**2 / squares - 1
        variance = float(product(self.squared, (x - mean) ** 2)) / whole**2
        alike = float(product(self.weight, np.abs(x - mean))) / whole <= _ROUNDING * max(1.0, abs(mean))
        if alike or self.n_rows < 2:
            return UncertainMean(mean, 0.0 if self.n_rows > 1 else math.nan, degrees, math.inf)
        return UncertainMean(mean, math.sqrt(variance * self.n_rows / (self.n_rows - 1)), degrees, math.nan)

    def in_cell_of(self, thresholds: Floats) -> Floats:
        """Share of the rows of each outcome whose lot contains each threshold, (thresholds, 2): 0 for single rows."""
        found = np.zeros((thresholds.size, 2))
        if self.ends is not None:
            low, high = self.ends
            for place, t in enumerate(thresholds.astype(low.dtype)):
                here = (low < t) & (t <= high)
                found[place] = np.bincount(self.positive[here], self.weight[here], 2)
        return found / float(self.weight.sum())

    def in_folds(self, seed: int) -> FoldedLots | None:
        """Deal the rows into the folds of their recalibration; None for few.

        Independent rows of one probability and outcome are alike, and taken to weigh the same, so that the folds
        depend neither on the order of the rows nor on whether a tally has counted them. Clusters stay together.
        """
        if self.units < FEWEST_UNITS:
            return None
        if self.clusters is not None:
            s = log_odds(self.p[:, None], "probability")
            folded = rows_of_kept(Kept(s, self.positive, self.weight, self.clusters), None, seed)
            assert folded.dealt is not None
            return FoldedLots(self, folded.dealt.folds_of(s, self.positive), folded)
        values, place = np.unique(self.p, return_inverse=True)
        place = 2 * place.reshape(-1) + self.positive
        sums = (np.bincount(place, x, 2 * values.size) for x in (self.weight, self.squared))
        weight, squared = (each.astype(np.float64) for each in sums)
        folded = rows_of_columns(_columns(values, weight, squared), self.n_rows, None, seed)
        lots = np.flatnonzero(squared > 0)
        p, positive = values[lots // 2], lots % 2
        assert isinstance(folded.dealt, DealtCounts)
        shares = folded.dealt.shares(log_odds(p[:, None], "probability"), positive)
        fold, lot = np.nonzero(shares)
        share = shares[fold, lot]
        rows = replace(
            self,
            p=p[lot],
            positive=positive[lot],
            weight=share * weight[lots[lot]],
            squared=share * squared[lots[lot]],
            ends=None,
        )
        return FoldedLots(rows, fold, folded)


class FoldedLots(NamedTuple):
    """Lots of rows in folds."""

    lots: CountedRows
    fold: Ints
    rows: BinaryRows
    """The same as a recalibration has them."""

    def in_turn(self) -> Iterator[Bools]:
        """Yield which lots each fold holds out."""
        with steps(self.rows.folds, "choosing thresholds") as advance:
            for each in range(self.rows.folds):
                yield self.fold == each
                advance(1)


def _columns(values: AnyFloats, weight: Floats, squared: Floats) -> BinaryColumns:
    """Count by probability as a tally does, in cells where there are many."""
    tables = []
    for outcome in (0, 1):
        some = squared[outcome::2] > 0
        w, squares = weight[outcome::2][some], squared[outcome::2][some]
        tables.append(PairTable(values[some].astype(np.float64), w, w, squares))
    counts, grid = TallyRows(*tables), grid_of(FRACTION_BITS)
    many = sum(table.key.size for table in tables) > EXACT_LIMIT
    return BinaryColumns(counts.in_cells(grid) if many else counts, grid)


def rows_one_by_one(
    rows: GatheredRows, name: str, prices: Floats | None = None, period: Ints | None = None
) -> CountedRows:
    """Take the gathered rows of a forecaster as they are, with what is beside them."""
    p = rows.values[name][:, 1]
    alone = np.arange(rows.n_rows) if prices is not None else None  # so that no rows are taken as alike
    return CountedRows(
        p=_in_precision(p, _single(p)),
        positive=rows.truth,
        weight=rows.weights,
        squared=rows.weights**2,
        clusters=alone if rows.clusters is None else rows.clusters,
        n_rows=rows.n_rows,
        weighted=rows.weighted,
        labels=rows.labels,
        notes=rows.notes[name],
        prices=prices,
        period=period,
    )


def rows_of_tally(tally: Tally) -> CountedRows:
    """Take what a tally counted; refuse one that does not keep what decisions need."""
    if tally.n_classes > 2:
        raise InputError(
            f"a decision at a threshold needs two classes, and the tally has {tally.n_classes}. Count the probability"
            " of one class, and whether it occurred."
        )
    if not tally.weight > 0:
        raise InputError("the tally has no rows of positive weight.")
    if tally.binary is None:
        raise InputError("the tally does not keep the positive class apart, as those of earlier versions; count anew.")
    if tally.clustered:
        raise InputError(
            "the tally does not keep the decisions of each cluster of dependent rows; decide by the rows, or by the"
            " files that hold them."
        )
    tables = [table.only(table.happened > 0) for table in (tally.binary.negative, tally.binary.positive)]
    both = tables[0] + tables[1]
    if isinstance(both, Cells):
        means = both.centre_and_spread(tally.grid, np.arange(both.key.size))[0]
        lots = [np.searchsorted(both.key, table.key) for table in tables]
        columns = [np.concatenate([x[lot] for lot in lots]) for x in (means, both.low, both.high)]
    else:
        columns = [np.concatenate([table.values for table in tables])]
    single = _single(*columns[1:] or columns)
    p, *ends = (_in_precision(x, single) for x in columns)
    return CountedRows(
        p=p,
        positive=np.repeat([0, 1], [table.key.size for table in tables]),
        weight=np.concatenate([table.happened for table in tables]),
        squared=np.concatenate([table.squared for table in tables]),
        clusters=None,
        n_rows=tally.n_weighing,
        weighted=tally.weighted,
        labels=tally.labels,
        notes=tally.notes,
        ends=(ends[0], ends[1]) if ends else None,
    )


def _single(*values: AnyFloats) -> bool:
    """Whether probabilities came in single precision, in which thresholds are then compared, so that 0.7 is 0.7."""
    return all(bool((x.astype(np.float32) == x).all()) for x in values)


def _in_precision(p: AnyFloats, single: bool) -> AnyFloats:
    return p.astype(np.float32, copy=False) if single else p.astype(np.float64, copy=False)


RECALIBRATED = "recalibrated"


class Recalibrated(Frozen, eq=False):
    """Rows with their predicted probabilities, and with recalibrated ones."""

    rows: CountedRows
    p: Floats
    """Recalibrated probability of the positive class, of each lot of the rows."""


Reader = Callable[[Any], Floats]
"""Reads recalibrated probabilities of the positive class that a user passes for the same rows."""


def recalibrated_beside(
    given: Any, columns: Mapping[str, CountedRows], read: Reader | None = None, seed: int = 0
) -> tuple[dict[str, Recalibrated], tuple[str, ...]]:
    """Return recalibrated probabilities by forecaster, as far as there are any, and warnings.

    Parameters
    ----------
    given : object
        What `decide` and `decision_curve` take as ``recalibrated``.
    columns : mapping of str to CountedRows
        Rows with the probabilities of each forecaster.
    read : callable, optional
        Reads probabilities of the same rows; without it none may be passed.
    seed : int, default 0
        Random seed of the folds.

    Returns
    -------
    recalibrated : dict of str to Recalibrated
    warnings : tuple of str

    Raises
    ------
    InputError
        For a forecaster that there is not, a recalibrator of other classes, and probabilities of other rows.
    """
    if given is None or given is False:
        return {}, ()
    if given is True:
        found = {name: cross_fitted(rows, seed) for name, rows in columns.items()}
        return {name: each for name, each in found.items() if each is not None}, _warnings(found.values())
    if len(columns) == 1 and not isinstance(given, Mapping):
        given = {next(iter(columns)): given}
    if not isinstance(given, Mapping) or (unknown := [name for name in given if name not in columns]):
        named = "a mapping by the forecasters' names" if not isinstance(given, Mapping) else f"no {unknown[0]!r}"
        raise InputError(f"recalibrated: expected {named}; they are {', '.join(map(repr, columns))}.")
    return {name: _of_one(each, columns[name], read) for name, each in given.items()}, ()


def _of_one(given: Any, rows: CountedRows, read: Reader | None) -> Recalibrated:
    """Return probabilities by a fitted map, or those handed over for the same rows."""
    if hasattr(given, "transform"):
        _check_classes(getattr(given, "labels_", ()), rows.labels)
        p = given.transform(np.stack([1 - rows.p, rows.p], axis=1))[:, 1]
        return Recalibrated(rows, np.asarray(p, dtype=np.float64))
    if read is None:
        raise InputError("recalibrated: a tally has no rows to pass probabilities of; pass True, or a Recalibrator.")
    return Recalibrated(rows, read(given))


def _warnings(found: Iterable[Recalibrated | None]) -> tuple[str, ...]:
    if all(each is not None for each in found):
        return ()
    return (
        f"nothing was recalibrated: folds of fewer than {FEWEST_UNITS} independent units determine no map; pass"
        " recalibrated= with a Recalibrator fitted on other rows",
    )


def same_rows(y_true: Any, rows: GatheredRows, reading: Mapping[str, Any]) -> Reader:
    """Return what reads probabilities for the same rows, which were read with the options ``reading``."""

    def read(given: Any) -> Floats:
        # The forecasters' probabilities may be on another scale, and rescaled; these are probabilities.
        plain = {
            **reading,
            "scale": "probability",
            "invalid": "drop" if "drop" in reading.get("invalid", "") else "refuse",
        }
        found = gathered({RECALIBRATED: given}, y_true, plain, RECALIBRATED)
        at = np.searchsorted(found.index, rows.index)
        same = np.append(found.index, -1)[at] == rows.index
        if not same.all():
            raise InputError(
                f"recalibrated: no valid probability in {rows_text(rows.index[~same])}, where y_prob has one. Repair"
                " these rows, or leave them out of all arrays."
            )
        return np.asarray(found.values[RECALIBRATED][at, 1], dtype=np.float64)

    return read


def _check_classes(fitted: Iterable[Label | None], labels: Sequence[Label | None]) -> None:
    """Refuse a recalibrator of other classes, or of the same classes in another order."""
    if any(a != b for a, b in zip(fitted, labels, strict=False) if a is not None and b is not None):
        raise InputError(
            f"recalibrated: the recalibrator is of the classes {listed(list(fitted))} (negative, positive), the"
            f" forecasts are of {listed(list(labels))}. Fit it with the same pos_label or labels as here."
        )


def cross_fitted(rows: CountedRows, seed: int = 0) -> Recalibrated | None:
    """Recalibrate rows by the maps that were fitted to the other folds; None for too few rows."""
    with steps(3, "recalibrating") as advance:
        dealt = rows.in_folds(seed)
        if dealt is None:
            return None
        advance(1)
        held_out = average(dealt.rows, BINARY_METHODS).held_out
        advance(1)
        s = log_odds(dealt.lots.p[:, None], "probability")
        return Recalibrated(dealt.lots, held_out.in_folds(s, dealt.fold)[:, 1])
