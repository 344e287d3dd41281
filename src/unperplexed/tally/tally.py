"""Tally: a small mergeable count of (reported probability, did it happen) pairs. Everything is read from it."""

from __future__ import annotations

import math
from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

import numpy as np

from .._lib.errors import InputError, check_choice, refuse_unknown
from .._lib.formatting import number_of
from .._lib.output import check_output
from .._lib.output_files import write_whole
from .._lib.serialize import plain_values
from .._lib.typing import Ints
from ..forecasts.forecasts import Forecasts, Notes
from ..forecasts.labels import Label, plain
from ..forecasts.reading import RowReading
from ..kernels.exact_sum import ExactSum
from ..kernels.rows import Grid
from ..scores.registry import score_named, scores_kept
from ..statistics.means import weighted_sum
from .binary import BinaryColumns, BinaryRows
from .class_sums import DIAGNOSED_UNASKED, ClassSums
from .class_tables import (
    EachGroup,
    Grouped,
    added_groups,
    each_group,
    only_group,
)
from .counter import (
    NO_SUMS,
    Counter,
    ScoreSums,
    added,
    counters_of,
    jobs_of,
)
from .limits import refuse_too_many
from .row_sample import RowSample
from .serialization import tally_bytes, tally_state
from .shards import MAY_MISS, PARTS, Shards
from .surprises import Surprise, least
from .tables import (
    MOMENTS,
    Cells,
    Pairs,
    Points,
    Table,
    freeze,
    grid_of,
    points_of,
    pooled,
    same_value,
    without_last_digits,
)

if TYPE_CHECKING:
    import polars as pl

View = Literal["all-classes", "top-label", "each-class"]
VIEWS: tuple[View, ...] = get_args(View)
PooledView = Literal["all-classes", "top-label"]
ClassPart = Literal["classes", "predictions"]
CLASS_PARTS: tuple[ClassPart, ...] = get_args(ClassPart)
"""What the each-class view is made from."""


class Counting(TypedDict, total=False):
    """Options of counting, which `Tally.of` describes."""

    scores: Sequence[str]
    parts: Sequence[str]
    exact_limit: int
    fraction_bits: int
    n_jobs: int | None


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
    n_weighing: int = 0
    """Those of them whose weight is not 0."""
    n_classes: int = 0
    labels: tuple[Label | None, ...] = ()
    weighted: bool = False
    one_column: bool = False
    """Whether all rows gave the probability of the positive class alone, so that their counts tell their scores."""
    weight: float = 0.0
    """Sum of the weights."""
    weight_squared: float = 0.0
    exact: bool = True
    pairs_table: Table = field(default_factory=Table.empty, repr=False)
    top_tables: Mapping[int, Table] = field(default_factory=dict, repr=False)
    """Top-label pairs by the number of classes that tie for the top; a tied row's pair is split among them."""
    score_sums: Mapping[str, ScoreSums] = field(default_factory=dict, repr=False)
    """For each score x the sums of w x, w^2 x and w^2 x^2; of one column over rows of which counts do not tell it."""
    notes: Notes = field(default_factory=Notes)
    row_sample: RowSample | None = field(default=None, repr=False)
    """Of more than two classes some rows, or all while they are few, in coarse cells."""
    binary: BinaryRows | None = field(default=None, repr=False)
    """With two classes the rows by their outcome; None if a file of a version of the format before 6 is in it."""
    classes: Grouped | None = field(default=None, repr=False)
    """The part of that name: counts of the pairs of each class."""
    predictions: Grouped | None = field(default=None, repr=False)
    """The part of that name: counts of the top-label pairs of the rows that predicted each class."""
    shards: Shards | None = field(default=None, repr=False)
    """The part of that name: sums and coarse counts of a thousand random parts of the rows."""
    surprises: tuple[Surprise, ...] | None = field(default=None, repr=False)
    """The part of that name: the twenty rows in which what happened had been given least.

    It may be missing in one of two tallies that add up; then it is not in the sum.
    """
    diagnosis: ClassSums | None = field(default=None, repr=False)
    """The part of that name: sums from which forecasts of more than two classes are diagnosed.

    It is in the sum of two tallies where it is in both.
    """
    sources: Mapping[str, int] = field(default_factory=dict)
    """Rows by the name of their source, where it has one: the first hundred by name, and "..." for all others."""

    def __post_init__(self) -> None:
        """Let no one change what was counted."""
        freeze({name: value for name, value in vars(self).items() if name != "surprises"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled or copied."""
        vars(self).update(state)
        self.__post_init__()

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        scores: Sequence[str] = (),
        parts: Sequence[str] = (),
        source: str = "",
        first_row: int = 0,
        exact_limit: int = EXACT_LIMIT,
        fraction_bits: int = FRACTION_BITS,
        n_jobs: int | None = None,
        **reading: Unpack[RowReading],
    ) -> Tally:
        """Count a data set or a part of one.

        Parameters
        ----------
        y_true : array_like of shape (n,) or (n, C)
            What happened: labels or one-hot rows.
        y_prob : array_like of shape (n,) or (n, C)
            Reported probabilities of the positive class, or of each class.
        scores : sequence of str, default ()
            Scoring rules to keep beside those of `SCORES`, by names that `score_named` knows.
        parts : sequence of {"classes", "predictions", "shards", "surprises", "diagnosis"}, default ()
            What else to keep: counts of each class, of each predicted class, or of a thousand shards of the rows; the
            twenty rows in which what happened had been given least; sums from which forecasts of more than two classes
            are diagnosed. The last is kept unasked for 3 to 20 classes.
        source : str, optional
            Name of where the rows come from.
        first_row : int, default 0
            Number of the first row among all of its source, for a part of a larger input: errors, shards and
            surprises go by it.
        exact_limit : int, default 65536
            How many distinct probabilities are counted exactly before cells take over; and so in the parts by class.
        fraction_bits : int, default 9
            Cells have relative width 2**-fraction_bits, from 3 to 20. Only tallies of like settings add up.
        n_jobs : int, optional
            How many threads count; -1 for one a processor. The tally is the same, with weights but for last digits.
        **reading
            How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``, ``pos_label``, ``ignore_label``,
            ``renormalize``, ``drop_invalid``, ``percent``, ``from_logits``, ``from_log_probs``, ``groups``. A part
            never infers the class set from the labels that happen to be in it. Shards go by ``groups`` where these are
            given, and otherwise by source and row number.

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
        refuse_unknown("Tally.of", reading, RowReading.__annotations__)
        forecasts = Forecasts(y_true, y_prob, whole=False, source=source, first_row=first_row, **reading)
        return cls.count(
            forecasts,
            scores=scores,
            parts=parts,
            exact_limit=exact_limit,
            fraction_bits=fraction_bits,
            n_jobs=n_jobs,
        )

    @classmethod
    def count(
        cls,
        forecasts: Forecasts | Iterable[Forecasts],
        *,
        scores: Sequence[str] = (),
        parts: Sequence[str] = (),
        exact_limit: int = EXACT_LIMIT,
        fraction_bits: int = FRACTION_BITS,
        n_jobs: int | None = None,
        diagnosed: int = DIAGNOSED_UNASKED,
    ) -> Tally:
        """Count checked forecasts, or a stream of parts of them: the sum of the parts' tallies, but faster.

        Parts of a stream are made with ``Forecasts(..., whole=False)``, so that none infers the class set from what
        happens to be in it. A stream of nothing gives the tally that adds nothing. Settings are those of `of`; of a
        stream each thread takes every so-manyth part. The part "diagnosis" is kept unasked of three
        classes and up to ``diagnosed`` of them.

        Examples
        --------
        >>> from unperplexed import Forecasts, Tally
        >>> days = [([1, 0], [0.8, 0.3]), ([1], [0.6])]
        >>> Tally.count(Forecasts(y, p, whole=False) for y, p in days).n_rows
        3
        """
        if isinstance(parts, str) or any(part not in PARTS for part in parts):
            raise InputError(f"parts: expected a list of some of {', '.join(map(repr, PARTS))}, got {parts!r}.")
        exact_limit, fraction_bits = _checked_limits(exact_limit, fraction_bits)
        jobs, kept = jobs_of(n_jobs), scores_kept(scores)
        stream = iter(forecasts.split(jobs) if isinstance(forecasts, Forecasts) else forecasts)
        first = next(stream, None)
        if first is None:
            return cls(exact_limit, fraction_bits)
        labels = first.labels

        def seen() -> Iterator[Forecasts]:
            nonlocal labels
            for part in chain([first], stream):
                labels = common_labels(labels, part.labels)
                yield part

        def new(part: Forecasts) -> Counter:
            return Counter(part.n_classes, part.one_column, exact_limit, fraction_bits, kept, parts, diagnosed)

        counters = counters_of(seen(), jobs, new)
        return sum((cls._counted(counter, labels) for counter in counters), cls(exact_limit, fraction_bits))

    @classmethod
    def _counted(cls, counter: Counter, labels: tuple[Label | None, ...]) -> Tally:
        """Make a tally of what was counted."""
        exact_limit, fraction_bits = counter.exact_limit, counter.grid.fraction_bits
        pairs, top = counter.tables()
        tally = cls(
            exact_limit=exact_limit,
            fraction_bits=fraction_bits,
            n_rows=counter.n_rows,
            n_weighing=counter.n_weighing,
            n_classes=len(labels),
            labels=labels,
            weighted=counter.weighted,
            one_column=counter.one_column,
            weight=counter.weight,
            weight_squared=counter.weight_squared,
            exact=not isinstance(pairs, Cells),
            pairs_table=pairs,
            top_tables=top,
            score_sums=counter.score_sums,
            notes=counter.notes,
            row_sample=counter.row_sample.sample,
            binary=None if counter.binary is None else counter.binary.rows(),
            classes=None if counter.classes is None else counter.classes.table(),
            predictions=None if counter.predictions is None else counter.predictions.table(),
            shards=None if counter.shards is None else counter.shards.shards(),
            surprises=None if counter.surprises is None else counter.surprises.rows,
            diagnosis=None if counter.diagnosis is None else counter.diagnosis.sums(),
            sources=_first_sources(counter.sources),
        )
        for pairs, top, binary in [] if counter.columns is None else counter.columns.tables():
            tally = tally + cls(
                exact_limit,
                fraction_bits,
                n_classes=len(labels),
                labels=labels,
                one_column=True,
                exact=not isinstance(pairs, Cells),
                pairs_table=pairs,
                top_tables=top,
                score_sums=dict.fromkeys(tally.score_sums, NO_SUMS),
                surprises=None if counter.surprises is None else (),
                binary=binary,
            )
        return tally

    def to_bytes(self) -> bytes:
        """Give the tally as bytes: the same for the same tally, checksummed, with nothing in it that could run."""
        return tally_bytes({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """Read what `to_bytes` gave; truncated, changed or other bytes are refused with the reason."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InputError(f"from_bytes: expected bytes, got {type(data).__name__}.")
        return cls(**tally_state(data))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tally to a file, whole or not at all."""
        write_whole(check_output(Path(path)), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tally:
        """Read a file that `save` wrote; a truncated, changed or other file is refused with the reason."""
        try:
            with Path(path).open("rb") as stream:
                return cls(**tally_state(stream))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except OSError as error:
            reason = (error.strerror or str(error)).rstrip(".")
            raise InputError(f"{path}: cannot be read: {reason}. A tally is read from a regular file.") from None

    def __add__(self, other: Tally) -> Tally:
        """Tally of both data sets; refuses tallies of different classes or settings."""
        if not isinstance(other, Tally):
            return NotImplemented
        if not other.n_classes:
            return self
        if not self.n_classes:
            return other
        self._check_alike(other)
        notes = self.notes + other.notes
        refuse_too_many(self.n_rows + other.n_rows, self.n_classes, notes.ignored + sum(notes.dropped.values()))
        exact = self.exact and other.exact
        a, b = (self, other) if exact else (self.in_cells(), other.in_cells())
        none = (Table if exact else Cells).empty()
        alike = a.one_column == b.one_column
        my_sums, their_sums = (a.score_sums, b.score_sums) if alike else (a._sums, b._sums)
        merged = replace(
            a,
            n_rows=a.n_rows + b.n_rows,
            n_weighing=a.n_weighing + b.n_weighing,
            labels=common_labels(a.labels, b.labels),
            weighted=a.weighted or b.weighted,
            weight=a.weight + b.weight,
            weight_squared=a.weight_squared + b.weight_squared,
            pairs_table=a.pairs_table + b.pairs_table,
            top_tables={
                ties: a.top_tables.get(ties, none) + b.top_tables.get(ties, none)
                for ties in sorted(a.top_tables.keys() | b.top_tables.keys())
            },
            one_column=a.one_column and b.one_column,
            score_sums={name: added(sums, their_sums[name]) for name, sums in my_sums.items()},
            notes=notes,
            row_sample=None if a.row_sample is None or b.row_sample is None else a.row_sample + b.row_sample,
            binary=None if a.binary is None or b.binary is None else a.binary + b.binary,
            classes=self._added(a.classes, b.classes),
            predictions=self._added(a.predictions, b.predictions),
            shards=None if a.shards is None or b.shards is None else a.shards + b.shards,
            surprises=None if a.surprises is None or b.surprises is None else least([*a.surprises, *b.surprises]),
            diagnosis=None if a.diagnosis is None or b.diagnosis is None else a.diagnosis + b.diagnosis,
            sources=_first_sources(a.sources, b.sources),
        )
        return merged.in_cells() if merged.pairs_table.key.size > merged.exact_limit else merged

    def _added(self, a: Grouped | None, b: Grouped | None) -> Grouped | None:
        return None if a is None or b is None else added_groups(a, b, self.exact_limit)

    def __radd__(self, other: object) -> Tally:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    def _check_alike(self, other: Tally) -> None:
        for name in ("exact_limit", "fraction_bits", "parts", "scores"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if name == "parts":  # some are of the sum where both have them
                mine, theirs = (tuple(part for part in parts if part not in MAY_MISS) for parts in (mine, theirs))
            if mine != theirs:
                shown = [", ".join(v) or "none" if isinstance(v, tuple) else v for v in (mine, theirs)]
                raise InputError(f"tallies of different {name} do not add up: {shown[0]} and {shown[1]}.")

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
        points, found = self._told(), dict(self.score_sums)
        for block in Forecasts(np.ones(points.p.size, dtype=np.int8), points.p, labels=(0, 1)).blocks():
            w, w2 = points.weight[block.index], points.weight_squared[block.index]
            for name, before in found.items():
                x = score_named(name).rows(block)
                sums = weighted_sum(w, x), weighted_sum(w2, x), weighted_sum(w2, x * x)
                first, second, third = (ExactSum(rest=total) for total in sums)
                found[name] = added(before, (first, second, third))
        return found

    def _told(self) -> Points:
        """Probabilities of what happened of which counts tell the score: 1/2 as far as it was tied."""
        points = self.points()
        here, tied = ~self.grid.untold(points.p), self.top_tables.get(2, Table.empty())
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

    def in_cells(self) -> Tally:
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
        # What is less than the rounding of the squares is no variance.
        rows = self.effective_rows
        if not rows > 1 + 1e-9:
            return math.nan
        error = math.sqrt(variance * rows / (rows - 1)) / self.weight if variance > 2.0**-50 * squares[2] else 0.0
        if self.shards is None or not self.shards.grouped:
            return error
        return float(np.maximum(error, self.shards.standard_error(self.shards.scores[name].sums)))

    @property
    def grouped(self) -> bool:
        """Whether it was said which rows belong together; then only those of different groups are independent."""
        return self.shards is not None and self.shards.grouped

    @property
    def effective_rows(self) -> float:
        """How many rows of equal weight these are worth: (sum w)^2 / sum w^2."""
        return self.weight**2 / self.weight_squared if self.weight else 0.0

    @property
    def uneven(self) -> bool:
        """Whether rows have different weights, other than 0."""
        return self.weighted and self.effective_rows < self.n_weighing * (1 - 1e-9)

    @property
    def independent_rows(self) -> float:
        """How many independent rows these are worth: `effective_rows`, or how many shards of groups of equal weight."""
        if self.shards is not None and self.shards.grouped:
            return self.shards.independent
        return self.effective_rows

    def pairs(self, view: PooledView = "all-classes") -> Pairs:
        """Pairs of a view by reported probability: of cells, the mean of what happened there, or the middle.

        Of two classes, values that only the rounding of 1 - p tells apart, such as 0.1 and 1 - 0.9, are one.
        """
        table = self._table(view)
        if not isinstance(table, Cells):
            return pooled(table, self._groups(table))
        reported = self.grid.centres(table.key)
        some = np.flatnonzero(table.happened > 0)
        reported[some] = table.centre_and_spread(self.grid, some)[0]
        return Pairs(without_last_digits(reported), table.happened, table.total)

    @cached_property
    def positive(self) -> BinaryColumns | None:
        """With two classes the rows by the probability of the positive one; None where ``binary`` is."""
        return None if self.binary is None else BinaryColumns(self.binary, self.grid)

    def positive_pairs(self) -> Pairs | None:
        """Return the pairs of the positive one of two classes by probability; None where ``binary`` is."""
        return None if self.positive is None else self.positive.pairs()

    def _groups(self, table: Table) -> Ints:
        return same_value(table.values, self.n_classes == 2)

    def _table(self, view: PooledView) -> Table:
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
        return sum(shared, (Table if self.exact else Cells).empty())

    def points(self, view: PooledView = "all-classes") -> Points:
        """Values that happened as weighted points, by entry of the view's pairs.

        Those of all classes are the correct-class probabilities. Exact tallies give the values themselves. A cell
        gives two points that have its mean, variance and total weight and lie between its smallest and largest
        value, so that any mean of them is right to third order.
        """
        table = self._table(view)
        points = points_of(table, self.grid)
        return points if isinstance(table, Cells) else points._replace(entry=self._groups(table)[points.entry])

    def each_class(self, part: ClassPart = "classes") -> EachGroup:
        """Pairs of all classes, one class after the other, and the values that happened. Needs the part.

        Where the part is not exact, pairs are in coarse cells, at most 256 a class of relative width 1/8 in
        min(p, 1 - p): the probability reported in a cell is the mean of all that is in it.

        Parameters
        ----------
        part : {"classes", "predictions"}, default "classes"
            "classes": for class j the probability given to it in each row, and whether it happened. "predictions":
            the highest probability of each row whose most probable class is j, and whether it happened, a k-way tie
            counting 1/k for each of the tied.

        Returns
        -------
        EachGroup
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
        return each_group(self._part(part), self.n_classes, self.n_classes == 2)

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

    def _one_class(self, label: Label, part: ClassPart) -> tuple[EachGroup, slice]:
        if label is None or plain(label) not in self.labels:
            raise InputError(f"label: {label!r} is not one of the classes.")
        at = self.labels.index(plain(label))
        if self.n_classes == 2:
            each = self.each_class(part)
        else:
            each = each_group(only_group(self._part(part), at), self.n_classes, False)
        return each, slice(int(each.first[at]), int(each.first[at + 1]))

    def _part(self, name: ClassPart) -> Grouped:
        check_choice("part", name, CLASS_PARTS)
        table: Grouped | None = getattr(self, name)
        if table is None:
            raise InputError(f"this tally was made without the part {name!r}; count it with parts=[{name!r}].")
        return table

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Tally of {number_of(self.n_rows, 'forecast')} of {self.n_classes:,} classes>"

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
        }
        return found | ({"classes": self.by_class().to_dicts()} if self.classes is not None else {})

    def by_class(self) -> pl.DataFrame:
        """How often each class happened, and how often it was said to: one row a class. Needs the part "classes".

        Columns: label; happened, the weight of the rows in which it happened; frequency, its share of all; and
        mean_reported, the mean probability that the class was given, which of calibrated forecasts is about as large.
        """
        import polars as pl

        table = self._part("classes")
        sums = table.total * table.mean()
        happened, reported = (np.bincount(table.group, x, self.n_classes) for x in (table.happened, sums))
        with np.errstate(invalid="ignore"):
            shares = {"frequency": happened / self.weight, "mean_reported": reported / self.weight}
        return pl.DataFrame({"label": [*map(str, self.labels)], "happened": happened, **shares})


_MOST_SOURCES, _OTHERS = 100, "..."


def common_labels(a: tuple[Label | None, ...], b: tuple[Label | None, ...]) -> tuple[Label | None, ...]:
    """Labels of both parts, each of which may not know all of them."""
    if len(a) != len(b):
        raise InputError(f"tallies of different classes do not add up: {len(a)} classes and {len(b)}.")
    for x, y in zip(a, b, strict=True):
        if x is not None and y is not None and x != y:
            raise InputError(f"tallies of different classes do not add up: {x!r} and {y!r} stand for the same column.")
    # True is 1, but prints otherwise: of the two the number stands, whichever part comes first.
    return tuple(y if x is None or (isinstance(x, bool) and y is not None) else x for x, y in zip(a, b, strict=True))


_FEWEST_BITS = 3
"""Cells of fewer are wider than those in which shards and rows are kept."""


def _checked_limits(exact_limit: int, fraction_bits: int) -> tuple[int, int]:
    numbers = (exact_limit, fraction_bits)
    whole = all(isinstance(number, int | np.integer) and not isinstance(number, bool) for number in numbers)
    if not whole or not 0 <= exact_limit < 1 << 40 or not _FEWEST_BITS <= fraction_bits <= 20:
        raise InputError(
            "exact_limit must be a whole number from 0 to 2^40, and fraction_bits one from 3 to 20, got"
            f" {exact_limit!r} and {fraction_bits!r}."
        )
    return int(exact_limit), int(fraction_bits)


def _first_sources(*counts: Mapping[str, int]) -> dict[str, int]:
    """Rows by source: of many sources the first by name, so that it does not matter in which order tallies meet."""
    rows = Counts[str]()
    for each in counts:
        rows.update(each)
    others = rows.pop(_OTHERS, 0)
    names = sorted(rows)
    others += sum(rows[name] for name in names[_MOST_SOURCES:])
    return {name: rows[name] for name in names[:_MOST_SOURCES]} | ({_OTHERS: others} if others else {})
