"""Tally: a small mergeable count of (reported probability, did it happen) pairs. Everything is read from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._kernels import Grid
from ._tables import (
    DenseCells,
    Pairs,
    Points,
    Table,
    distinct_values,
    grid_of,
    pooled,
    same_probability,
    without_last_digits,
)
from ._typing import Floats, Ints
from .errors import InputError
from .forecasts import Block, Forecasts, Notes
from .labels import Label
from .means import weighted_sum
from .scores import SCORES

View = Literal["all-classes", "top-label"]
VIEWS: tuple[View, ...] = ("all-classes", "top-label")

EXACT_LIMIT = 1 << 16
FRACTION_BITS = 9


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of (reported probability, did it happen) pairs: all that an assessment needs, in little space.

    Tallies add up: ``a + b`` is the tally of both data sets, in any order and any split, and ``Tally()`` adds
    nothing. With at most ``exact_limit`` distinct probabilities the counts are exact; beyond, they are kept in
    cells of relative width 2**-fraction_bits. Which of the two depends on the data alone, not on the split. The
    size does not grow with the number of rows.

    Make one with `Tally.of`, assess it with ``assess(tally)``.

    Examples
    --------
    >>> from unperplexed import Tally, assess
    >>> parts = [Tally.of([1, 0], [0.8, 0.3]), Tally.of([1], [0.6])]
    >>> whole = sum(parts, Tally())
    >>> whole.n_rows
    3
    >>> round(assess(whole).reported.decisiveness, 12)
    0.7
    """

    exact_limit: int = EXACT_LIMIT
    fraction_bits: int = FRACTION_BITS
    n_rows: int = 0
    """Rows counted, those of weight 0 among them; rows left out are in ``notes``."""
    n_classes: int = 0
    labels: tuple[Label | None, ...] = ()
    weighted: bool = False
    weight: float = 0.0
    """Sum of the weights."""
    weight_squared: float = 0.0
    exact: bool = True
    pairs_table: Table = field(default_factory=lambda: Table.empty(np.float64), repr=False)
    top_tables: Mapping[int, Table] = field(default_factory=dict, repr=False)
    """Top-label pairs by the number of classes that tie for the top; a tied row's pair is split among them."""
    score_sums: Mapping[str, Floats] = field(default_factory=dict, repr=False)
    """For each score x the sums of w x, w^2 x and w^2 x^2."""
    notes: Notes = field(default_factory=Notes)

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: ArrayLike | None = None,
        labels: Sequence[Label] | None = None,
        pos_label: Label | None = None,
        ignore_label: Label | Sequence[Label] | None = None,
        renormalize: bool = False,
        drop_invalid: bool = False,
        percent: bool = False,
        from_logits: bool = False,
        from_log_probs: bool = False,
        exact_limit: int = EXACT_LIMIT,
        fraction_bits: int = FRACTION_BITS,
    ) -> Tally:
        """Count a data set or a part of one.

        Parameters
        ----------
        y_true : array_like of shape (n,) or (n, C)
            What happened: labels or one-hot rows.
        y_prob : array_like of shape (n,) or (n, C)
            Reported probabilities of the positive class, or of each class.
        sample_weight : array_like of shape (n,), optional
            Non-negative importance weights.
        labels, pos_label : optional
            As in `Forecasts`. A part never infers the class set from the labels that happen to be in it.
        ignore_label, renormalize, drop_invalid, percent, from_logits, from_log_probs : optional
            As in `Forecasts`.
        exact_limit : int, default 65536
            How many distinct probabilities are counted exactly before cells take over.
        fraction_bits : int, default 9
            Cells have relative width 2**-fraction_bits, from 1 to 20. Only tallies of like settings add up.

        Returns
        -------
        Tally

        Raises
        ------
        InputError
            As `Forecasts`.

        Examples
        --------
        >>> from unperplexed import Tally
        >>> Tally.of([2, 0], [[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]).prediction_accuracy
        1.0
        """
        forecasts = Forecasts(
            y_true,
            y_prob,
            sample_weight=sample_weight,
            labels=labels,
            pos_label=pos_label,
            ignore_label=ignore_label,
            renormalize=renormalize,
            drop_invalid=drop_invalid,
            percent=percent,
            from_logits=from_logits,
            from_log_probs=from_log_probs,
            whole=False,
        )
        return cls.count(forecasts, exact_limit=exact_limit, fraction_bits=fraction_bits)

    @classmethod
    def count(
        cls, forecasts: Forecasts, *, exact_limit: int = EXACT_LIMIT, fraction_bits: int = FRACTION_BITS
    ) -> Tally:
        """Count checked forecasts."""
        whole_numbers = all(isinstance(number, int | np.integer) for number in (exact_limit, fraction_bits))
        if not whole_numbers or exact_limit < 0 or not 1 <= fraction_bits <= 20:
            raise InputError(
                "exact_limit must be a whole number, 0 or more, and fraction_bits one from 1 to 20, got"
                f" {exact_limit!r} and {fraction_bits!r}."
            )
        counter = _Counter(exact_limit, fraction_bits)
        for block in forecasts.blocks():
            counter.add(block)
        return counter.tally(forecasts)

    def __add__(self, other: Tally) -> Tally:
        """Tally of both data sets; refuses tallies of different classes or settings."""
        if not isinstance(other, Tally):
            return NotImplemented
        if not other.n_classes:
            return self
        if not self.n_classes:
            return other
        self._check_alike(other)
        exact = self.exact and other.exact
        a, b = (self, other) if exact else (self.in_cells(), other.in_cells())
        none = Table.empty(np.float64 if exact else np.int64)
        merged = replace(
            a,
            n_rows=a.n_rows + b.n_rows,
            labels=tuple(x if x is not None else y for x, y in zip(a.labels, b.labels, strict=True)),
            weighted=a.weighted or b.weighted,
            weight=a.weight + b.weight,
            weight_squared=a.weight_squared + b.weight_squared,
            pairs_table=a.pairs_table + b.pairs_table,
            top_tables={
                ties: a.top_tables.get(ties, none) + b.top_tables.get(ties, none)
                for ties in sorted(a.top_tables.keys() | b.top_tables.keys())
            },
            score_sums={name: a.score_sums[name] + b.score_sums[name] for name in a.score_sums},
            notes=a.notes + b.notes,
        )
        return merged.in_cells() if merged.pairs_table.key.size > merged.exact_limit else merged

    def __radd__(self, other: object) -> Tally:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    def _check_alike(self, other: Tally) -> None:
        for name in ("n_classes", "exact_limit", "fraction_bits"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise InputError(f"tallies of different {name} do not add up: {mine} and {theirs}.")
        for x, y in zip(self.labels, other.labels, strict=True):
            if x is not None and y is not None and x != y:
                raise InputError(
                    f"tallies of different classes do not add up: {x!r} and {y!r} stand for the same column."
                )

    @property
    def grid(self) -> Grid:
        """The cells of this tally."""
        return grid_of(self.fraction_bits)

    def in_cells(self) -> Tally:
        """Give the same tally counted in cells, whatever its number of distinct values."""
        if not self.exact:
            return self
        return replace(
            self,
            exact=False,
            pairs_table=self.pairs_table.in_cells(self.grid),
            top_tables={ties: table.in_cells(self.grid) for ties, table in self.top_tables.items()},
        )

    @property
    def prediction_accuracy(self) -> float:
        """Share of rows whose top class happened, a k-way tie counting 1/k. Larger is better."""
        hits = sum(float(table.happened.sum()) / ties for ties, table in self.top_tables.items())
        return hits / self.weight if self.weight else math.nan

    def score(self, name: str) -> float:
        """Mean of a scoring rule of `SCORES`, unfloored."""
        return float(self.score_sums[name][0]) / self.weight if self.weight else math.nan

    def pairs(self, view: View = "all-classes") -> Pairs:
        """Pairs of a view by reported probability: of cells, the mean of what happened there, or the middle.

        Of two classes, values that only the rounding of 1 - p tells apart, such as 0.1 and 1 - 0.9, are one.
        """
        table = self._table(view)
        if self.exact:
            return pooled(table, self._groups(table))
        reported = self.grid.centres(table.key)
        some = table.happened > 0
        reported[some] = np.clip(table.first[some] / table.happened[some], table.low[some], table.high[some])
        return Pairs(without_last_digits(reported), table.happened, table.total)

    def _groups(self, table: Table) -> Ints:
        return same_probability(table.key) if self.n_classes == 2 else np.arange(table.key.size)

    def _table(self, view: View) -> Table:
        if view == "all-classes":
            return self.pairs_table
        if view != "top-label":
            raise InputError(f"view: expected one of {', '.join(VIEWS)}, got {view!r}.")
        shared = [
            replace(
                table,
                happened=table.happened / ties,
                squared=table.squared / ties**2,
                first=table.first / ties,
                second=table.second / ties,
            )
            for ties, table in self.top_tables.items()
        ]
        return sum(shared, Table.empty(np.float64 if self.exact else np.int64))

    def points(self, view: View = "all-classes") -> Points:
        """Values that happened as weighted points, by entry of the view's pairs.

        Those of all classes are the correct-class probabilities. Exact tallies give the values themselves. A cell
        gives two points that have its mean, variance and total weight and lie between its smallest and largest
        value, so that any mean of them is right to third order.
        """
        table = self._table(view)
        entry = np.flatnonzero(table.happened > 0)
        w, w2 = table.happened[entry], table.squared[entry]
        if self.exact:
            return Points(table.key[entry], w, w2, self._groups(table)[entry])
        low, high = table.low[entry], table.high[entry]
        mean = np.clip(table.first[entry] / w, low, high)
        sd = np.sqrt(np.clip(table.second[entry] / w - mean * mean, 0, (mean - low) * (high - mean)))
        apart = sd > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            # Points mean - sd*t and mean + sd/t with weights 1 : t^2; t = 1 unless an end of the range is nearer.
            t = np.where(apart, np.clip(1.0, sd / (high - mean), (mean - low) / sd), 1.0)
        left, right = np.clip(mean - sd * t, low, high), np.clip(mean + sd / t, low, high)
        share = 1 / (1 + t * t)
        return Points(
            np.stack([left, right], axis=1).ravel(),
            np.stack([w * share, w * (1 - share)], axis=1).ravel(),
            np.stack([w2 * share, w2 * (1 - share)], axis=1).ravel(),
            np.repeat(entry, 2),
        )


class _Counter:
    """Fills a tally block by block: exact tables first, dense cells once there are too many distinct values."""

    def __init__(self, exact_limit: int, fraction_bits: int) -> None:
        self.exact_limit, self.fraction_bits, self.grid = exact_limit, fraction_bits, grid_of(fraction_bits)
        self.pairs: Table | DenseCells = Table.empty(np.float64)
        self.top: dict[int, Table | DenseCells] = {}
        self.n_rows = 0
        self.weighted = False
        self.weight = self.weight_squared = 0.0
        self.score_sums = {name: np.zeros(3) for name in SCORES}
        self.notes = Notes()

    def add(self, block: Block) -> None:
        self.notes += block.notes
        self.n_rows += len(block.truth)
        self.weighted = self.weighted or block.weights is not None
        if block.weights is not None and not block.weights.all():  # a row of weight 0 is as if absent
            block = block[block.weights > 0]
        p, rows, weights = block.probabilities, block.rows, block.weights
        w = np.ones(len(p)) if weights is None else weights
        if not len(p):
            return
        self.weight += float(w.sum())
        self.weight_squared += weighted_sum(w, w)
        for name, score in SCORES.items():
            x = score.rows(block)
            self.score_sums[name] += [weighted_sum(w, x), weighted_sum(w * w, x), weighted_sum(w * w, x * x)]
        self._count_pairs(p, rows.correct, w, weights is None)
        for ties in np.flatnonzero(np.bincount(rows.ties)).tolist():
            here = rows.ties == ties
            self._count_top(ties, rows.highest[here], rows.hit[here] > 0, w[here])

    def _count_pairs(self, p: NDArray[Any], correct: Floats, w: Floats, unweighted: bool) -> None:
        if isinstance(self.pairs, Table):
            values, counts = distinct_values(p, None if unweighted else w)
            if values.size <= self.exact_limit:
                self.pairs += Table.of(values, counts, correct + 0.0, w)
                if self.pairs.key.size <= self.exact_limit:
                    return
                self._to_cells()
                return
            self._to_cells()
        assert isinstance(self.pairs, DenseCells)
        self.grid.count(p, self.pairs.total, None if unweighted else w)
        self.pairs.add_happened(correct, w)

    def _count_top(self, ties: int, highest: Floats, hit: NDArray[np.bool_], w: Floats) -> None:
        cells = self.top.get(ties)
        if isinstance(cells, DenseCells):
            np.add.at(cells.total, self.grid.codes(highest), w)
            cells.add_happened(highest[hit], w[hit])
            return
        found = Table.of(highest + 0.0, w, highest[hit] + 0.0, w[hit])
        if isinstance(self.pairs, DenseCells):
            found = found.in_cells(self.grid)
        self.top[ties] = found if cells is None else cells + found

    def _to_cells(self) -> None:
        assert isinstance(self.pairs, Table)
        self.pairs = DenseCells(self.grid, self.pairs.in_cells(self.grid))
        # Room for every cell where most rows are, those with one top class; ties come in many sizes and few rows.
        tables = {ties: table.in_cells(self.grid) for ties, table in self.top.items() if isinstance(table, Table)}
        self.top = {**tables, 1: DenseCells(self.grid, tables.get(1))}

    def tally(self, forecasts: Forecasts) -> Tally:
        return Tally(
            exact_limit=self.exact_limit,
            fraction_bits=self.fraction_bits,
            n_rows=self.n_rows,
            n_classes=forecasts.n_classes,
            labels=forecasts.labels,
            weighted=self.weighted,
            weight=self.weight,
            weight_squared=self.weight_squared,
            exact=isinstance(self.pairs, Table),
            pairs_table=self.pairs if isinstance(self.pairs, Table) else self.pairs.table(),
            top_tables={
                ties: table
                for ties, cells in sorted(self.top.items())
                if (table := cells if isinstance(cells, Table) else cells.table()).key.size
            },
            score_sums=self.score_sums,
            notes=self.notes,
        )
