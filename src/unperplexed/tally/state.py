"""What a tally holds, and what is read from it: pairs, points, scores, and the effective sample size.

The sum of tallies: the same for any order and any split, so that many can be added up at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, get_args

import numpy as np

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, check_choice
from .._lib.serialize import plain_values
from .._lib.typing import Ints
from ..forecasts.forecasts import Forecasts, Notes
from ..forecasts.labels import Label, plain
from ..kernels.rows import Grid
from ..scores.rules import SCORES, score_named
from .binary import BinaryColumns, BinaryRows
from .class_sums import ClassSums
from .class_tables import ClassPairCounts, ClassPairs, added_classes, only_class, split_by_class
from .counter import NO_SUMS, RowSample, ScoreSums, added, weighted_sums
from .sections import refuse_too_many
from .shards import MAY_MISS, PARTS, Shards
from .surprises import Surprise, least
from .tables import (
    MOMENTS,
    Cells,
    Pairs,
    PairTable,
    Points,
    freeze,
    grid_of,
    points_of,
    pooled,
    same_value,
    without_last_digits,
)
from .tags import Tags

if TYPE_CHECKING:
    import polars as pl

View = Literal["all-classes", "top-label", "each-class"]
VIEWS: tuple[View, ...] = get_args(View)
PooledView = Literal["all-classes", "top-label"]
ClassPart = Literal["classes", "predictions"]
CLASS_PARTS: tuple[ClassPart, ...] = get_args(ClassPart)
"""What the each-class view is made from."""

EXACT_LIMIT = 1 << 16
"""Distinct probabilities that are counted exactly, unless another limit is set."""

FRACTION_BITS = 9
"""Cells have relative width 2**-9, unless another one is set."""

_LAST_DIGITS = 1e-9
"""Relative difference of effective sizes that rounding alone may make."""

_ROUNDING = 2.0**-50
"""Variances below this share of their squares are the rounding of these."""


class TallyState(Frozen, eq=False):
    """The counts of a `Tally`, and what is read from them."""

    exact_limit: int = EXACT_LIMIT
    fraction_bits: int = FRACTION_BITS
    n_rows: int = 0
    """Rows counted, those of weight 0 among them; rows left out are in ``notes``."""
    n_weighing: int = 0
    """Those of them whose weight is not 0."""
    n_classes: int = 0
    labels: tuple[Label | None, ...] = ()
    weighted: bool = False
    one_column: bool = False
    """Whether counts tell scores, as of one column: by the probability of the outcome and 1 minus it."""
    weight: float = 0.0
    """Sum of the weights."""
    weight_squared: float = 0.0
    exact: bool = True
    pairs_table: PairTable = field(default_factory=PairTable.empty, repr=False)
    top_tables: Mapping[int, PairTable] = field(default_factory=dict, repr=False)
    """Top-label pairs by the number of classes that tie for the top; a tied row's pair is split among them."""
    score_sums: Mapping[str, ScoreSums] = field(default_factory=dict, repr=False)
    """For each score x the sums of w x, w^2 x and w^2 x^2; where counts tell scores, less what they tell.

    A rule of `SCORES` that an older file does not have is in the sum of two tallies where it is in both.
    """
    notes: Notes = field(default_factory=Notes)
    row_sample: RowSample | None = field(default=None, repr=False)
    """With more than two classes some rows, or all while they are few, in coarse cells."""
    binary: BinaryRows | None = field(default=None, repr=False)
    """With two classes the rows by their outcome; None if a file of a version of the format before 6 is in it."""
    classes: ClassPairCounts | None = field(default=None, repr=False)
    """The part of that name: counts of the pairs of each class."""
    predictions: ClassPairCounts | None = field(default=None, repr=False)
    """The part of that name: counts of the top-label pairs of the rows that predicted each class."""
    shards: Shards | None = field(default=None, repr=False)
    """The part of that name: sums and coarse counts of a thousand random parts of the rows."""
    surprises: tuple[Surprise, ...] | None = field(default=None, repr=False)
    """The part of that name: the twenty rows whose outcomes were assigned the lowest probabilities.

    It may be missing in one of two tallies that add up; then it is not in the sum.
    """
    diagnosis: ClassSums | None = field(default=None, repr=False)
    """The part of that name: sums from which forecasts of more than two classes are diagnosed.

    It is in the sum of two tallies where it is in both.
    """
    sources: Mapping[str, int] = field(default_factory=dict)
    """Rows by the name of their source, where it has one: the first hundred by name, and "..." for all others."""
    tags: Tags = field(default_factory=Tags)
    """Data set, model and period, where `Tally.tagged` names them."""

    def __post_init__(self) -> None:
        """Let no one change what was counted."""
        freeze({name: value for name, value in vars(self).items() if name != "surprises"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled or copied."""
        vars(self).update(state)
        self.__post_init__()

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts that are kept."""
        return tuple(part for part in PARTS if getattr(self, part) is not None)

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores that are kept."""
        return tuple(self.score_sums)

    @cached_property
    def _sums(self) -> Mapping[str, ScoreSums]:
        """Sums of each score over all rows."""
        if not self.one_column:
            return self.score_sums
        points, found = self._from_counts(), dict(self.score_sums)
        for block in Forecasts(np.ones(points.p.size, dtype=np.int8), points.p, labels=(0, 1)).blocks():
            w, w2 = points.weight[block.index], points.weight_squared[block.index]
            for name, before in found.items():
                found[name] = added(before, weighted_sums(score_named(name).rows(block), w, w2))
        return found

    def _from_counts(self) -> Points:
        """Probabilities of the outcomes whose counts determine the score: 1/2 as far as it was tied."""
        points = self.points()
        here, tied = ~self.grid.undetermined(points.p), self.top_tables.get(2, PairTable.empty())
        p, w, w2, entry = (
            np.concatenate([column[here], ties])
            for column, ties in zip(
                points, (np.full(tied.key.size, 0.5), tied.happened, tied.squared, tied.key), strict=True
            )
        )
        return Points(p, w, w2, entry.astype(np.int64))

    @property
    def grid(self) -> Grid:
        """The cells of this tally."""
        return grid_of(self.fraction_bits)

    def in_cells(self) -> Self:
        """Give the same tally counted in cells, whatever its number of distinct values; its parts stay as they are."""
        if not self.exact:
            return self
        return replace(
            self,
            exact=False,
            pairs_table=self.pairs_table.in_cells(self.grid),
            top_tables={ties: table.in_cells(self.grid) for ties, table in self.top_tables.items()},
            binary=None if self.binary is None else self.binary.in_cells(self.grid),
        )

    @property
    def prediction_accuracy(self) -> float:
        """Share of rows whose top class happened, a k-way tie counting 1/k. Larger is better."""
        hits = sum(float(table.happened.sum()) / ties for ties, table in self.top_tables.items())
        return hits / self.weight if self.weight else math.nan

    def score(self, name: str) -> float:
        """Mean of a scoring rule that is kept, unfloored."""
        if self.weight and name not in self.score_sums:
            raise InputError(f"score: this tally does not keep {name!r}; it has {', '.join(self.scores)}.")
        return float(self._sums[name][0]) / self.weight if self.weight else math.nan

    def score_standard_error(self, name: str) -> float:
        """Standard error of that mean, by the delta method for weighted rows; NaN where the mean is infinite."""
        mean, squares = self.score(name), [float(total) for total in self._sums.get(name, NO_SUMS)]
        if not math.isfinite(mean):
            return math.nan
        variance = squares[2] - 2 * mean * squares[1] + mean * mean * self.weight_squared
        rows = self.effective_rows
        if not rows > 1 + _LAST_DIGITS:
            return math.nan
        error = math.sqrt(variance * rows / (rows - 1)) / self.weight if variance > _ROUNDING * squares[2] else 0.0
        if self.shards is None or not self.shards.clustered:
            return error
        return float(np.maximum(error, self.shards.standard_error(self.shards.scores[name].sums)))

    @property
    def clustered(self) -> bool:
        """Whether the rows have clusters; then only those of different groups are independent."""
        return self.shards is not None and self.shards.clustered

    @property
    def effective_rows(self) -> float:
        """Effective sample size of weighted rows: (sum w)^2 / sum w^2."""
        return self.weight**2 / self.weight_squared if self.weight else 0.0

    @property
    def uneven(self) -> bool:
        """Whether rows have different weights, other than 0."""
        return self.weighted and self.effective_rows < self.n_weighing * (1 - _LAST_DIGITS)

    @property
    def exchangeable(self) -> bool:
        """Whether rows are independent and count the same."""
        return not self.clustered and not self.uneven

    @property
    def independent_rows(self) -> float:
        """Effective sample size: `effective_rows`, or for dependent rows the effective number of shards of clusters."""
        if self.shards is not None and self.shards.clustered:
            return self.shards.independent
        return self.effective_rows

    def pairs(self, view: PooledView = "all-classes") -> Pairs:
        """Pairs of a view by reported probability: of cells, the mean of the events there, or the middle.

        With two classes, values that only the rounding of 1 - p tells apart, such as 0.1 and 1 - 0.9, are one.
        """
        table = self._table(view)
        if not isinstance(table, Cells):
            return pooled(table, self._groups(table))
        reported = self.grid.centres(table.key)
        some = np.flatnonzero(table.happened > 0)
        reported[some] = table.centre_and_spread(self.grid, some)[0]
        return Pairs(without_last_digits(reported), table.happened, table.total)

    def tells_log_odds(self, chunks: Callable[[], Iterable[Forecasts]]) -> bool:
        """Whether counts of two classes tell the log-odds of the forecasts that were counted, which ``chunks`` reads.

        Next to 1 a probability has lost the digits of its complement, which logits, log-probabilities and a column of
        the other class still have.
        """
        p = None if self.positive is None else self.positive.p
        if p is not None and p.size and p[0] > 0 and p[-1] < _NEXT_TO_ONE:
            return True
        given = next(iter(chunks()), None)
        return given is None or (given.one_column and not given.logarithmic)

    @cached_property
    def positive(self) -> BinaryColumns | None:
        """With two classes the rows by the probability of the positive one; None where ``binary`` is."""
        return None if self.binary is None else BinaryColumns(self.binary, self.grid)

    def positive_pairs(self) -> Pairs | None:
        """Return the pairs of the positive one of two classes by probability; None where ``binary`` is."""
        return None if self.positive is None else self.positive.pairs()

    def _groups(self, table: PairTable) -> Ints:
        return same_value(table.values, self.n_classes == 2)

    def _table(self, view: PooledView) -> PairTable:
        if view == "all-classes":
            return self.pairs_table
        check_choice("view", view, get_args(PooledView))
        shared = [
            replace(
                table,
                happened=table.happened / ties,
                squared=table.squared / ties**2,
                **{name: getattr(table, name) / ties for name in MOMENTS if isinstance(table, Cells)},
            )
            for ties, table in self.top_tables.items()
        ]
        return sum(shared, (PairTable if self.exact else Cells).empty())

    def points(self, view: PooledView = "all-classes") -> Points:
        """Values that happened as weighted points, by entry of the view's pairs.

        Those of all classes are the correct-class probabilities. Exact tallies give the values themselves. A cell
        gives two points that have its mean, variance and total weight and lie between its smallest and largest
        value, so that any mean of them is right to third order.
        """
        table = self._table(view)
        points = points_of(table, self.grid)
        return points if isinstance(table, Cells) else points._replace(entry=self._groups(table)[points.entry])

    def each_class(self, part: ClassPart = "classes") -> ClassPairs:
        """Pairs of all classes, one class after the other, and the values that happened. Needs the part.

        Where the part is not exact, pairs are in coarse cells, at most 256 a class of relative width 1/8 in
        min(p, 1 - p): the probability reported in a cell is the mean of all that is in it.

        Parameters
        ----------
        part : {"classes", "predictions"}, default "classes"
            "classes": for class j the probability assigned to it in each row, and whether it happened. "predictions":
            the highest probability of each row whose most probable class is j, and whether it happened, a k-way tie
            counting 1/k for each of the tied.

        Returns
        -------
        ClassPairs
            ``pairs``, ``points`` whose ``entry`` is that of the pairs, and ``first``: class j has the pairs from
            ``first[j]`` up to ``first[j + 1]``.

        Raises
        ------
        InputError
            For a tally that was made without the part.
        """
        check_choice("part", part, CLASS_PARTS)
        if self.positive is not None:
            return self.positive.each_class() if part == "classes" else self.positive.each_prediction()
        return split_by_class(self._part(part), self.n_classes, self.n_classes == 2)

    @property
    def knows_classes(self) -> bool:
        """Whether pairs are known class by class: with two classes, or by the part "classes"."""
        return self.binary is not None or self.classes is not None

    def class_pairs(self, label: Label, part: ClassPart = "classes") -> Pairs:
        """Pairs of one class, did it happen or not: those of `each_class` for it alone. Needs the part."""
        each, here = self._one_class(label, part)
        return Pairs(*(column[here] for column in each.pairs))

    def class_points(self, label: Label, part: ClassPart = "classes") -> Points:
        """Values of one class that happened as weighted points, by entry of its `class_pairs`. Needs the part."""
        each, here = self._one_class(label, part)
        entry = each.points.entry
        found = Points(*(column[(entry >= here.start) & (entry < here.stop)] for column in each.points))
        return found._replace(entry=found.entry - here.start)

    def _one_class(self, label: Label, part: ClassPart) -> tuple[ClassPairs, slice]:
        if label is None or plain(label) not in self.labels:
            raise InputError(f"label: {label!r} is not one of the classes.")
        at = self.labels.index(plain(label))
        if self.n_classes == 2:
            each = self.each_class(part)
        else:
            each = split_by_class(only_class(self._part(part), at), self.n_classes, False)
        return each, slice(int(each.first[at]), int(each.first[at + 1]))

    def _part(self, name: ClassPart) -> ClassPairCounts:
        check_choice("part", name, CLASS_PARTS)
        table: ClassPairCounts | None = getattr(self, name)
        if table is None:
            raise InputError(f"this tally was made without the part {name!r}; count it with parts=[{name!r}].")
        return table

    def summary(self) -> dict[str, Any]:
        """Give what the tally holds, but for the counts of pairs, as plain values."""
        found: dict[str, Any] = {
            "n_rows": self.n_rows,
            "n_classes": self.n_classes,
            "labels": list(self.labels),
            "weighted": self.weighted,
            "weight": self.weight,
            "weight_squared": self.weight_squared,
            "prediction_accuracy": self.prediction_accuracy,
            "scores": {
                name: {
                    "mean": self.score(name),
                    "standard_error": self.score_standard_error(name),
                    "larger_is_better": score_named(name).larger_is_better,
                    "proper": score_named(name).proper,
                }
                for name in self.scores
            },
            "exact": self.exact,
            "entries": self.pairs_table.key.size,
            "exact_limit": self.exact_limit,
            "fraction_bits": self.fraction_bits,
            "parts": list(self.parts),
            "notes": plain_values(self.notes),
            "sources": dict(self.sources),
            "tags": self.tags.summary(),
        }
        return found | ({"classes": self.by_class().to_dicts()} if self.classes is not None else {})

    def by_class(self) -> pl.DataFrame:
        """How often each class happened, and how often it was predicted: one row a class. Needs the part "classes".

        Columns: label; happened, the weight of the rows in which it happened; frequency, its share of all; and
        mean_reported, the mean probability assigned to the class, which is about as large for calibrated forecasts.
        """
        import polars as pl

        table = self._part("classes")
        sums = table.total * table.mean()
        happened, reported = (np.bincount(table.group, x, self.n_classes) for x in (table.happened, sums))
        with np.errstate(invalid="ignore"):
            shares = {"frequency": happened / self.weight, "mean_reported": reported / self.weight}
        return pl.DataFrame({"label": [*map(str, self.labels)], "happened": happened, **shares})


_NEXT_TO_ONE = 1 - 1e-6
"""Up to here the complement of a probability in double precision has ten digits."""


State = TypeVar("State", bound=TallyState)

_AT_ONCE, _ENTRIES = 8, 1 << 18
"""So many tallies are added up at a time, or fewer that have so many entries together."""


def batches(tallies: Iterable[State]) -> Iterator[list[State]]:
    """Give tallies, a few at a time."""
    batch, entries = list[State](), 0
    for tally in tallies:
        batch.append(tally)
        entries += _entries(tally)
        if len(batch) == _AT_ONCE or entries > _ENTRIES:
            yield batch
            batch, entries = [], 0
    if batch:
        yield batch


def _entries(tally: TallyState) -> int:
    """Count the numbers of a kind in a tally, about."""
    tables = (tally.pairs_table, tally.classes, tally.predictions)
    sums = 0 if tally.diagnosis is None else tally.diagnosis.high.size
    return sums + sum(table.key.size for table in tables if table is not None)


def summed(tallies: Sequence[State], mixed: bool) -> State:
    """Tally of several data sets; refuses other classes or settings and, unless mixed, tags that contradict."""
    counted = [tally for tally in tallies if tally.n_classes]
    if len(counted) < 2:
        return counted[0] if counted else tallies[0]
    for other in counted[1:]:
        _check_compatible(counted[0], other)
    tags = _tags(counted, mixed)
    notes = reduce(add, (tally.notes for tally in counted))
    n_rows = sum(tally.n_rows for tally in counted)
    refuse_too_many(n_rows, counted[0].n_classes, notes.ignored + sum(notes.dropped.values()))
    one_column = all(tally.one_column for tally in counted)
    exact = all(tally.exact for tally in counted)
    parts = counted if exact else [tally.in_cells() for tally in counted]
    scores = [tally.score_sums if tally.one_column == one_column else tally._sums for tally in parts]
    by_class = partial(reduce, partial(added_classes, exact_limit=parts[0].exact_limit))
    found = replace(
        parts[0],
        n_rows=n_rows,
        n_weighing=sum(tally.n_weighing for tally in parts),
        labels=reduce(common_labels, (tally.labels for tally in parts)),
        weighted=any(tally.weighted for tally in parts),
        weight=reduce(add, (tally.weight for tally in parts)),
        weight_squared=reduce(add, (tally.weight_squared for tally in parts)),
        pairs_table=PairTable.together([tally.pairs_table for tally in parts]),
        top_tables={
            ties: PairTable.together([tally.top_tables[ties] for tally in parts if ties in tally.top_tables])
            for ties in sorted({ties for tally in parts for ties in tally.top_tables})
        },
        one_column=one_column,
        score_sums={
            name: reduce(added, (sums[name] for sums in scores))
            for name in scores[0]
            if all(name in sums for sums in scores)
        },
        notes=notes,
        row_sample=_all(parts, "row_sample", partial(reduce, add)),
        binary=_all(parts, "binary", BinaryRows.together),
        classes=_all(parts, "classes", by_class),
        predictions=_all(parts, "predictions", by_class),
        shards=_all(parts, "shards", partial(reduce, add)),
        surprises=_all(parts, "surprises", lambda rows: least(chain.from_iterable(rows))),
        diagnosis=_all(parts, "diagnosis", partial(reduce, add)),
        sources=first_sources(*(tally.sources for tally in parts)),
        tags=tags,
    )
    return found.in_cells() if found.pairs_table.key.size > found.exact_limit else found


def _all(tallies: Sequence[TallyState], name: str, plus: Any) -> Any:
    """Add up what all tallies keep; None where one does not."""
    kept = [getattr(tally, name) for tally in tallies]
    return None if any(each is None for each in kept) else plus(kept)


def _tags(tallies: Sequence[TallyState], mixed: bool) -> Tags:
    """Tags of those with rows, which alone are of a model; of all where none has any."""
    some = [tally for tally in tallies if tally.n_rows]
    return reduce(lambda a, b: a.plus(b, mixed or not some), (tally.tags for tally in some or tallies))


def _check_compatible(one: TallyState, other: TallyState) -> None:
    for name in ("exact_limit", "fraction_bits", "parts", "scores"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if isinstance(mine, tuple):  # some are in the sum where both have them
            mine, theirs = (tuple(x for x in each if x not in (*MAY_MISS, *SCORES)) for each in (mine, theirs))
        if mine != theirs:
            shown = [", ".join(v) or "none" if isinstance(v, tuple) else v for v in (mine, theirs)]
            raise InputError(f"tallies of different {name} do not add up: {shown[0]} and {shown[1]}.")


class BySize(Generic[State]):
    """Adds up many tallies, those of like size first, so that each entry is merged a few times only."""

    def __init__(self, plus: Callable[[State, State], State]) -> None:
        self._plus = plus
        self._tallies: list[State] = []

    def add(self, tally: State) -> None:
        """Take another tally."""
        tallies = self._tallies
        tallies.append(tally)
        while len(tallies) > 1 and tallies[-2].pairs_table.key.size <= 2 * tallies[-1].pairs_table.key.size:
            tallies[-2:] = [self._plus(tallies[-2], tallies[-1])]

    def total(self, start: State) -> State:
        """Give the sum."""
        return reduce(self._plus, reversed(self._tallies), start)


_MOST_SOURCES, _OTHERS = 100, "..."


def common_labels(a: tuple[Label | None, ...], b: tuple[Label | None, ...]) -> tuple[Label | None, ...]:
    """Labels of both parts, each of which may not know all of them."""
    if a is b:
        return a
    if len(a) != len(b):
        raise InputError(f"tallies of different classes do not add up: {len(a)} classes and {len(b)}.")
    for column, (x, y) in enumerate(zip(a, b, strict=True), 1):
        if x is not None and y is not None and x != y:
            raise InputError(
                f"tallies of different classes do not add up: class {column} is {x!r} in one and {y!r} in another."
                " Count both anew with the same labels in the same order (--labels)."
            )
    # True is 1, but prints otherwise: of the two the number stands, whichever part comes first.
    return tuple(y if x is None or (isinstance(x, bool) and y is not None) else x for x, y in zip(a, b, strict=True))


def first_sources(*counts: Mapping[str, int]) -> dict[str, int]:
    """Rows by source: of many sources the first by name, so that it does not matter in which order tallies meet."""
    rows = Counter[str]()
    for each in counts:
        rows.update(each)
    others = rows.pop(_OTHERS, 0)
    names = sorted(rows)
    others += sum(rows[name] for name in names[_MOST_SOURCES:])
    return {name: rows[name] for name in names[:_MOST_SOURCES]} | ({_OTHERS: others} if others else {})
