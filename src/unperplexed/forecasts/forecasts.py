"""Forecasts: labels, probabilities and weights that have been checked. All input is checked here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._lib.arrays import Columns, Unreadable, as_columns, at_hand, check_indexes
from .._lib.dataclasses import dataclass, field, replace
from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Bools, ByValue, Codes, Floats, Ints
from ..kernels.devices import DeviceColumns, DeviceRows, Scale, device_columns
from ..kernels.logarithms import log_odds, log_probabilities
from ..kernels.rows import BLOCK_ELEMENTS, BLOCK_ROWS, COUNTED_ELEMENTS, LOGIT_ELEMENTS, CellTotals, Rows
from ..kernels.softmax import logit_rows
from ..statistics.means import checked_weights
from .group_keys import cluster_ways, hashes_of_clusters, shard_of, shards_of_rows
from .labels import Label
from .outcomes import IGNORED, MISSING, LabelSettings, label_list, read_outcomes
from .problems import UNREADABLE, Matrix, Problems, Values, as_rows, primitives, renormalized, row_problems, with_text
from .reading import Invalid


class Notes(ByValue):
    """What was done to the rows on the way in. Notes of parts add up."""

    ignored: int = 0
    """Rows left out because their label was one to ignore."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Invalid rows left out, by reason."""
    rescaled: int = 0
    """Rows divided by their sum."""
    largest_deviation: float = 0.0
    """Largest distance from 1 among the sums of the rescaled rows."""

    def __add__(self, other: Notes) -> Notes:
        """Notes of both parts together."""
        reasons = sorted(self.dropped.keys() | other.dropped.keys())
        return Notes(
            self.ignored + other.ignored,
            {reason: self.dropped.get(reason, 0) + other.dropped.get(reason, 0) for reason in reasons},
            self.rescaled + other.rescaled,
            max(self.largest_deviation, other.largest_deviation),
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A run of checked rows, small enough to stay in cache."""

    reported: Matrix
    """(rows, classes), each row a distribution; where the source has them."""
    truth: Codes
    """Which class happened."""
    weights: Floats | None
    rows: Rows
    index: Ints
    """Numbers of the rows among all of their source, from 0."""
    given: Given
    """Rows as they came."""
    notes: Notes
    """Notes of the whole block, also where rows of it were selected."""
    counted: bool = False
    """Whether its probabilities were counted as they were read."""

    @property
    def probabilities(self) -> AnyFloats:
        """The same as NumPy has them."""
        return np.asarray(self.reported)

    @property
    def log_probabilities(self) -> Floats:
        """(rows, classes) in nats, of logits and log-probabilities as they came; -inf for an exact zero."""
        return self.given.log_probabilities

    @property
    def log_odds(self) -> Floats:
        """Log-odds of the second of two classes, likewise; -inf and inf for exact zeros."""
        return self.given.log_odds

    @property
    def weighing(self) -> Block:
        """The rows of positive weight."""
        return self if self.weights is None else self[self.weights > 0]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.truth)

    def __getitem__(self, keep: slice | Ints | Bools) -> Block:
        """Select rows."""
        weights = None if self.weights is None else self.weights[keep]
        rows = self.reported[keep], self.truth[keep], weights, self.rows[keep], self.index[keep], self.given[keep]
        return Block(*rows, self.notes, self.counted)

    def if_true(self, code: int) -> Block:
        """The same rows, with this class as the outcome of each."""
        correct = self.probabilities[:, code].astype(np.float64)
        rows = replace(self.rows, correct=correct, hit=(correct == self.rows.highest) / self.rows.ties)
        return replace(self, truth=np.full(len(self), code), rows=rows)


class Forecasts:
    """Predicted probabilities with their outcomes, from arrays, lists or data frames.

    Shapes, labels and weights are checked on construction. The probabilities,
    and whether each row has a label, are checked as they are read, a block at a
    time in the same pass as the counting, so that nothing the size of the input
    is made. Arrays are not copied where they can be read as they are: do not
    change them before all is counted.

    Parameters
    ----------
    y_true : array_like of shape (n,), (n, C) or (n, t)
        Outcomes: class labels (ints, bools, strings) or one-hot rows; for
        tokens one label each.
    y_prob : array_like of shape (n,), (n, C) or (n, t, C), or a data frame with one column a class
        Predicted probabilities: of the positive class, or of each class, of
        each of n sequences of t tokens. A column of lists holds one list a row.
        float16, 32 or 64; sums are float64. PyTorch tensors (bfloat16 too),
        CuPy and JAX arrays are read block by block where they are.
    sample_weight : array_like of shape (n,), optional
        Non-negative importance weights.
    labels : sequence, optional
        Class labels in the order of the probability columns; (negative,
        positive) for one column.
    pos_label : label, optional
        The label whose probability a single column gives. 0/1, -1/1 and
        true/false need none.
    ignore_label : label or sequence of labels, optional
        Rows with such an outcome are left out, and counted.
    scale : {"probability", "percent", "logits", "log-probs"}, default "probability"
        What y_prob holds. Never guessed.
    invalid : {"refuse", "drop", "rescale"} or several of them, default "refuse"
        "drop" leaves out rows without an outcome or with invalid probabilities;
        "rescale" divides each row by its sum. How many rows, and how far they
        were off, is reported.
    whole : bool, default True
        Whether this is all the data, so that the class set may be read off it
        where the labels are neither 0..C-1 nor the column names: as in
        scikit-learn, columns then go by sorted label.
    first_row : int, default 0
        Number of the first row among all of its source, for a part of a larger
        input. Errors and shards go by it.
    known_labels : tuple of label or None, optional
        The class set in column order where all of the data has settled it, None
        for a class that never occurs. Unlike ``labels`` it is not checked
        against the names of the columns.
    clusters : array_like of shape (n,) or (n, k), mapping from name to such, or data frame, optional
        Clusters of dependent rows (the match, the document), or an id of each
        row: numbers or texts, of one column or several. A tally's shards are
        made by it.
    source : str, optional
        Name of where the rows come from.
    names : tuple of str, default ("y_true", "y_prob", "sample_weight")
        What errors call the outcomes, the probabilities and the weights.

    Raises
    ------
    InputError
        For anything that cannot be assessed as it stands, naming rows (counted
        from 0), column and remedy.

    Examples
    --------
    >>> from unperplexed import Forecasts
    >>> forecasts = Forecasts(["rain", "dry", "rain"], [0.8, 0.1, 0.6], pos_label="rain")
    >>> forecasts.labels
    ('dry', 'rain')
    >>> forecasts.correct_class_probabilities()[0]
    array([0.8, 0.9, 0.6])
    """

    _at_star: Sequence[str] = ()
    """What * stood for in the name of each column, where a pattern found them."""

    def __init__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: ArrayLike | None = None,
        labels: Sequence[Label] | None = None,
        pos_label: Label | None = None,
        ignore_label: Label | Sequence[Label] | None = None,
        scale: Scale = "probability",
        invalid: Invalid | Sequence[Invalid] = "refuse",
        whole: bool = True,
        first_row: int = 0,
        known_labels: tuple[Label | None, ...] | None = None,
        clusters: Any = None,
        source: str = "",
        names: tuple[str, str, str] = ("y_true", "y_prob", "sample_weight"),
    ) -> None:
        check_choice("scale", scale, get_args(Scale))
        ways = [invalid] if isinstance(invalid, str) else list(invalid)
        for way in ways:
            check_choice("invalid", way, get_args(Invalid))
        check_indexes(y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
        y_true, y_prob, sample_weight, clusters = as_rows(at_hand(y_true), at_hand(y_prob), sample_weight, clusters)
        self._names, self.source = names, source
        self.first_row = first_row
        """Number of the first row among all of its source."""
        self._selected: Ints | None = None
        self._numbers: Ints | None = None
        self._whole: Forecasts | None = None
        self._columns = device_columns(y_prob, names[1]) or as_columns(y_prob, names[1], first_row)
        self.one_column = self._columns.n_columns == 1
        """Whether only the probability of the positive class is given."""
        self._scale, self._rescales, self._drops = scale, "rescale" in ways, "drop" in ways
        self.n_classes = max(2, self._columns.n_columns)
        columns = self.n_classes, self.one_column, self._columns.names
        given = label_list(labels), pos_label, ignore_label
        settings = LabelSettings(*columns, *given, whole, names[0], first_row, known_labels, self._at_star)
        try:
            outcomes = read_outcomes(y_true, settings)
        except InputError as error:
            raise with_text(error, names[1], self._columns, first_row) from None
        self.labels = outcomes.labels
        """Class labels in column order; None for one that neither data nor settings tell."""
        self.said = outcomes.said
        """What was read off the names of columns, and which classes never occur, in words; "" where neither is so."""
        self._codes, self._borrowed = outcomes.codes, outcomes.borrowed
        self.n_rows = self._columns.n_rows
        """Rows as given, left-out ones included."""
        if self._codes.size != self.n_rows:
            raise InputError(
                f"{names[0]} has {self._codes.size:,} rows, {names[1]} {self.n_rows:,}; each forecast needs its"
                " outcome."
            )
        self._weights = None
        if sample_weight is not None:
            checked = checked_weights(sample_weight, self.n_rows, names[2], first_row)
            self._weights = np.require(checked, requirements=["C", "A"])
            if self.n_rows and whole and not self._weights.sum() > 0:
                raise InputError(f"{names[2]}: the total weight is 0; nothing is left to assess.")
        if len(cluster_ways(clusters, self.n_rows)) not in (0, 1, self.n_rows):
            raise InputError(
                "clusters: rows that share either of two columns are for compare and skill; rows that share all: a"
                " mapping or a data frame of the columns."
            )
        self._clusters = None if clusters is None else hashes_of_clusters(clusters, first_row=first_row)
        if self._clusters is not None and self._clusters.size != self.n_rows:
            rows = number_of(self._clusters.size, "row")
            raise InputError(f"clusters has {rows}, {names[1]} {self.n_rows:,}; each row needs one.")

    def blocks(self, into: Callable[[], CellTotals | None] = lambda: None) -> Iterator[Block]:
        """Yield the rows as checked blocks; the first invalid row ends in an error that names all of them.

        Where cells are given for a block, its probabilities are counted into them as they are read.
        """
        start = 0
        while start < self.n_rows:
            cells = into()
            counted = LOGIT_ELEMENTS if self._scale == "logits" else COUNTED_ELEMENTS
            room = BLOCK_ELEMENTS if cells is None else counted
            if (there := self._there) is not None:
                room = there.block_elements(self._scale, cells is not None)
            step = min(max(1, room // self.n_classes), BLOCK_ROWS)
            block, _ = self._block(self._places(start, min(start + step, self.n_rows)), cells)
            if block.notes.dropped and not self._drops:
                raise self._problems(start, step) if self._whole is None else self._whole._problems(0, step)
            yield block
            start += step

    def __getitem__(self, rows: Ints) -> Forecasts:
        """Select rows by their places. They keep their numbers, and an error still names all invalid rows."""
        part = copy(self)
        part._selected = rows if self._selected is None else self._selected[rows]
        part._whole = self._whole or self
        part.n_rows = rows.size
        return part

    def chosen(self, rows: Ints) -> Forecasts:
        """Select rows by their places, as if there were no others: what is wrong with these is no error."""
        part = self[rows]
        part._whole = None
        return part

    def kept(self, rows: Ints) -> Forecasts:
        """Copy rows, whose numbers increase: what becomes of the arrays and of the other rows is nothing to them."""
        part, places = copy(self), rows if self._selected is None else self._selected[rows]
        part._columns, part._codes = self._columns[places], self._codes_at(places)
        part._weights = None if self._weights is None else self._weights[places]
        part._clusters = None if self._clusters is None else self._clusters[places]
        part._numbers, part._selected, part._whole = self.numbers_of(rows), None, None
        part.n_rows, part._borrowed = rows.size, False
        return part

    def in_clusters(self, hashes: Ints | None) -> Forecasts:
        """Return the same rows in these clusters of dependent rows, by the hashes of their groups, or in none."""
        part, clusters = copy(self), None
        if hashes is not None:
            clusters = np.zeros(self._columns.n_rows, dtype=np.uint64)
            clusters[self._places_of(self.index)] = hashes.view(np.uint64)
        part._clusters = clusters
        return part

    def with_probabilities(self, change: Callable[[Block], Floats]) -> Forecasts:
        """Return the same outcomes with other probabilities, (n, classes), which a function makes of checked rows.

        Rows that are left out as invalid stay invalid.
        """
        new = np.full((self._columns.n_rows, self.n_classes), np.nan)
        for block in self.blocks():
            if len(block):
                new[self._places_of(block.index)] = change(block)
        part = copy(self)
        names = None if self.one_column else self._columns.names
        part._columns, part.one_column = Columns((new,), names, self._unreadable), False
        part._scale, part._rescales = "probability", False
        return part

    def split(self, most: int) -> list[Forecasts]:
        """Cut into successive parts, at most so many and none much smaller than a block.

        What a device computes stays whole: one thread keeps it busy, and its memory holds one block's temporaries.
        """
        if self._there is not None:
            return [self]
        parts = max(1, min(most, self.n_rows * self.n_classes // BLOCK_ELEMENTS))
        ends = [self.n_rows * part // parts for part in range(parts + 1)]
        return [self._between(start, stop) for start, stop in pairwise(ends)] if parts > 1 else [self]

    def _between(self, start: int, stop: int) -> Forecasts:
        if self._selected is not None:
            return self[np.arange(start, stop)]
        part, rows = copy(self), slice(start, stop)
        part._columns, part._codes = self._columns[rows], self._codes[rows]
        part._weights = None if self._weights is None else self._weights[rows]
        part._clusters = None if self._clusters is None else self._clusters[rows]
        part.first_row, part._whole, part.n_rows = self.first_row + start, self._whole or self, stop - start
        return part

    def _codes_at(self, places: slice | Ints) -> Codes:
        codes = self._codes[places]
        if self._borrowed and codes.size and not (codes.min() >= 0 and codes.max() < self.n_classes):
            raise InputError(f"{self._names[0]}: the array was changed after it was checked. Pass a copy.")
        return codes

    def _places(self, start: int, stop: int) -> slice | Ints:
        """Where in the arrays rows start to stop are."""
        return slice(start, stop) if self._selected is None else self._selected[start:stop]

    @property
    def counts_tell(self) -> bool:
        """Whether counts tell the scores of rows whose two probabilities are complements, as in one column."""
        return self.one_column or (self.n_classes == 2 and self._as_counted)

    @property
    def plain_column(self) -> bool:
        """Whether one column, or the second of two, is given as it is counted, in rows of equal weight."""
        here = self.one_column or (self.n_classes == 2 and self._there is None)
        return here and self._weights is None and self._as_counted

    @property
    def _as_counted(self) -> bool:
        """Whether probabilities are given, which no sum divides."""
        return self._scale == "probability" and not self._rescales

    @property
    def logarithmic(self) -> bool:
        """Whether logits or log-probabilities are given: where these are large, their probabilities are 0 or 1."""
        return self._scale in ("logits", "log-probs")

    def runs(self, rows: int) -> Iterator[tuple[AnyFloats, Codes, int]]:
        """Yield so many rows at a time of one column, unchecked: values, outcomes, and their place.

        Of two columns rows that are no exact complements are NaN.
        Who reads them leaves to `blocks` what is not plainly a probability with an outcome, which is 0 or 1.
        """
        for start in range(0, self.n_rows, rows):
            places = self._places(start, min(start + rows, self.n_rows))
            codes = self._codes[places]
            if codes.dtype != np.int64:
                codes = self._codes_at(places).astype(np.int8, copy=False)
            p = self._columns.rows(places)
            p = p.reshape(-1) if self.one_column else np.where(complements(p), p[:, 1], np.nan)
            yield p, np.ascontiguousarray(codes), start

    def show(self, values: dict[str, Values], name: str = "") -> None:
        """Add the values as they came to those of a name, where a wrong scale would not be refused."""
        if self._scale == "percent" or self._drops:
            of, places = self._names[1], self._places(0, self.n_rows)
            text = np.zeros(self.n_rows, dtype=bool) if self._unreadable is None else self._unreadable[places].rows
            seen = values.setdefault(name or of, Values(of, self._scale, self.one_column, self._drops))
            seen.add(self._columns.rows(places).reshape(self.n_rows, self._columns.n_columns), text)

    @property
    def index(self) -> Ints:
        """Number of each row among all of its source."""
        return self.numbers_of(np.arange(self.n_rows))

    def numbers_of(self, places: Ints) -> Ints:
        """Numbers of rows at some places, among all of their source."""
        return self._numbered(places if self._selected is None else self._selected[places])

    def _numbered(self, places: Ints) -> Ints:
        """Numbers of rows at some places in the arrays."""
        return self.first_row + places if self._numbers is None else self._numbers[places]

    def _places_of(self, index: Ints) -> Ints:
        """Places in the arrays of rows of these numbers."""
        return index - self.first_row if self._numbers is None else np.searchsorted(self._numbers, index)

    @property
    def clustered(self) -> bool:
        """Whether the rows have clusters."""
        return self._clusters is not None

    def shards(self, index: Ints) -> Ints:
        """Shard of rows by their group, or else by source and row number."""
        hashes = self.hashes(index)
        return shards_of_rows(self.source, index) if hashes is None else shard_of(hashes)

    def clusters(self, index: Ints) -> Ints | None:
        """Number of the group of each row, the same in all parts of an input; None where no groups are known."""
        hashes = self.hashes(index)
        return None if hashes is None else (hashes >> np.uint64(1)).astype(np.int64)

    def hashes(self, index: Ints) -> NDArray[np.uint64] | None:
        """Hash of the group of each row, by which it goes into a shard; None where no groups are known."""
        return None if self._clusters is None else self._clusters[self._places_of(index)]

    def correct_class_probabilities(self) -> tuple[Floats, Floats | None]:
        """Probability assigned to the outcome of each row, and the weights (None if all are 1)."""
        return self.per_row(lambda block: block.rows.correct)

    def per_row(self, value: Callable[[Block], Floats]) -> tuple[Floats, Floats | None]:
        """One value of each row, computed block by block, and the weights (None if all are 1)."""
        kept = [(value(block), block.weights) for block in self.blocks()]
        values = np.concatenate([x for x, _ in kept] or [np.empty(0)])
        if self._weights is None:
            return values, None
        return values, np.concatenate([w for _, w in kept if w is not None] or [np.empty(0)])

    def _block(self, places: slice | Ints, into: CellTotals | None = None) -> tuple[Block, dict[str, Bools]]:
        codes = self._codes_at(places)
        weights = None if self._weights is None else self._weights[places]
        given = self._given(places)
        p = self._probabilities(given.values)
        ignored = missing = 0
        index = self._numbered(np.arange(places.start, places.stop) if isinstance(places, slice) else places)
        keep: slice | Bools = slice(None)
        if codes.min(initial=0) < 0:
            ignored, missing = (int(np.count_nonzero(codes == mark)) for mark in (IGNORED, MISSING))
            keep = codes >= 0
            p, given, codes, index = p[keep], given[keep], codes[keep], index[keep]
            weights = None if weights is None else weights[keep]
        rescaled, deviation = 0, 0.0
        with np.errstate(invalid="ignore"):  # NaN and infinity are refused right below
            if self._rescales:
                p, rescaled, deviation, sums = renormalized(p, primitives(p, codes))
                given = replace(given, sums=sums)
            rows = primitives(p, codes, weights, into)
        problems = row_problems(rows, np.asarray(p)[:, 1] < 0 if self.one_column else rows.lowest < 0)
        if "NaN" in problems and self._unreadable is not None:
            nan, text = problems.pop("NaN"), self._unreadable[places].rows[keep]
            found = {UNREADABLE: nan & text, "NaN": nan & ~text}
            problems = {reason: mask for reason, mask in found.items() if mask.any()} | problems
        dropped = {"no label": missing} if missing else {}
        dropped |= {reason: int(mask.sum()) for reason, mask in problems.items()}
        notes = Notes(ignored, dropped, rescaled, deviation)
        block = Block(p, codes, weights, rows, index, given, notes, into is not None)
        return block[~np.logical_or.reduce(list(problems.values()))] if problems else block, problems

    @property
    def _there(self) -> DeviceColumns | None:
        """Columns that are computed with where they are."""
        return self._columns if isinstance(self._columns, DeviceColumns) and self._columns.there else None

    def _given(self, places: slice | Ints) -> Given:
        """Rows as they are in the source."""
        there = self._there
        return Given(self._columns.rows(places) if there is None else there.block(places, self._scale), self._scale)

    def _probabilities(self, x: AnyFloats | DeviceRows) -> Matrix:
        """Rows as a matrix of probabilities, one column a class."""
        if isinstance(x, DeviceRows):
            return x
        x = x.reshape(-1) if self.one_column else x
        if self._scale == "logits":
            return _sigmoids(x) if self.one_column else logit_rows(x)
        rest, given = _OF_SCALE[self._scale]
        with np.errstate(over="ignore", invalid="ignore"):  # what is no probability is refused by its row
            return np.stack([rest(x), given(x)], axis=1) if self.one_column else given(x)

    def _problems(self, start: int, step: int) -> InputError:
        """Describe every invalid row from the block at start on, with what mends them all."""
        names = self._columns.names or (() if self.one_column else self.labels)
        problems = Problems(self._names[:2], names, self.one_column, self._rescales)
        for at in range(start, self.n_rows, step):
            places = self._places(at, min(at + step, self.n_rows))
            codes = self._codes_at(places)
            numbers = self.numbers_of(np.arange(at, at + codes.size))
            problems.see_missing(numbers[codes == MISSING])
            x, unreadable = self._columns.rows(places), self._unreadable
            p = self._probabilities(x)
            kept = codes >= 0
            for reason, mask in self._block(places)[1].items():
                wrong = np.flatnonzero(kept)[mask]
                if reason == UNREADABLE and unreadable is not None:
                    problems.see_text(numbers[wrong], unreadable[places][wrong])
                else:
                    problems.see_values(reason, numbers[wrong], x[wrong], np.asarray(p[wrong[:1]])[0])
            problems.see_range(x[np.isfinite(x)])
        return problems.error()

    @property
    def _unreadable(self) -> Unreadable | None:
        return getattr(self._columns, "unreadable", None)


def complements(p: AnyFloats) -> Bools:
    """Whether rows of two classes have the probability of the second and 1 minus it, to the last digit."""
    return np.asarray(p[:, 0] == 1 - p[:, 1])


_OF_SCALE: Mapping[str, tuple[Callable[[AnyFloats], AnyFloats], Callable[[AnyFloats], AnyFloats]]] = {
    "probability": (lambda x: 1 - x, lambda x: x),
    "percent": (lambda x: (100 - x) / 100, lambda x: x / 100),
    "log-probs": (lambda x: -np.expm1(x), np.exp),
}
"""Probabilities from values as they came: of the other class, and of the value's own."""


def _sigmoids(x: AnyFloats) -> AnyFloats:
    """Probabilities of both classes from logits, each of its own exponential: of 1 - sigmoid(x) digits are lost."""
    e = np.exp(-np.abs(x))  # not refused at -inf and inf: 0 and 1
    small, large = e / (1 + e), 1 / (1 + e)
    return np.stack([np.where(x > 0, small, large), np.where(x > 0, large, small)], axis=1)


@dataclass(frozen=True, slots=True)
class Given:
    """Rows of a source, in whatever form it has them."""

    values: AnyFloats | DeviceRows
    scale: Scale
    at: Ints | None = None
    """Which of these rows are meant; None for all."""
    sums: Floats | None = None
    """What each of them was divided by."""

    def __getitem__(self, keep: slice | Ints | Bools) -> Given:
        """Select rows, without a copy of their values."""
        places = np.arange(len(self.values)) if self.at is None else self.at
        return replace(self, at=places[keep], sums=None if self.sums is None else self.sums[keep])

    def _of(self, logarithms: Callable[[AnyFloats, Scale], Floats]) -> Floats:
        some = self.values if self.at is None else self.values[self.at]
        return logarithms(some.given if isinstance(some, DeviceRows) else some, self.scale)

    @property
    def log_probabilities(self) -> Floats:
        """(rows, classes)."""
        found = self._of(log_probabilities)
        return found if self.sums is None else found - np.log(self.sums)[:, None]

    @property
    def log_odds(self) -> Floats:
        """Of the second of two classes: no sum that both are divided by changes them."""
        return self._of(log_odds)
