"""Tally: a small mergeable count of (reported probability, did it happen) pairs. Everything is read from it.

Below it are the three views as lists of pairs, from rows or a tally.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict, TypeGuard, Unpack, overload

from .._lib.arrays import as_columns, at_hand
from .._lib.dataclasses import fields
from .._lib.errors import InputError, check_choice, is_whole
from .._lib.formatting import number_of
from .._lib.output_files import check_output, write_whole
from .._lib.typing import ByValue
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Label
from ..forecasts.reading import DEFAULTS as READING
from ..forecasts.reading import RowReading, is_predictive, reads, some_of
from ..forecasts.unobserved import unobserved
from ..report.result import Result
from ..scores.rules import scores_kept
from .class_sums import DIAGNOSED_UNASKED
from .counter import NO_SUMS, BlockCounter, counters_of, digits_of_counts, jobs_of
from .serialization import ALONE, PREDICTIONS, tally_bytes, tally_state
from .shards import PARTS
from .state import (
    CLASS_PARTS,
    EXACT_LIMIT,
    FRACTION_BITS,
    VIEWS,
    BySize,
    TallyState,
    View,
    batches,
    common_labels,
    first_sources,
    summed,
)
from .tables import Cells, Pairs
from .tags import Tagged, Tags

if TYPE_CHECKING:
    from ..forecasts.distributions.predictive import Predictive
    from .distributions import DistributionTally
    from .sections import Sections

__all__ = ["CLASS_PARTS", "EXACT_LIMIT", "FRACTION_BITS", "VIEWS", "Tally", "View", "common_labels"]


class Counted(TypedDict, total=False):
    """Options of what is counted, which `Tally.of` describes."""

    metrics: Sequence[str]
    parts: Sequence[str]
    exact_limit: int
    fraction_bits: int


class Counting(Counted, total=False):
    """The same, and how many threads count."""

    n_jobs: int | None


class CountedRows(Counting, RowReading, total=False):
    """The same, and how rows are read."""

    censored: Mapping[str, Any] | None


DEFAULTS: dict[str, Any] = {
    **READING,
    "metrics": (),
    "parts": (),
    "exact_limit": EXACT_LIMIT,
    "fraction_bits": FRACTION_BITS,
}
"""Of options that are None unless they are given, but for these."""


class Tally(ByValue, TallyState, Tagged):
    """Counts of (reported probability, did it happen) pairs: all that an assessment needs, in little space.

    Tallies add up: ``a + b`` is the tally of both data sets, in any order and
    any split, and ``Tally()`` adds nothing. With at most ``exact_limit``
    distinct probabilities the counts are exact; beyond, they are kept in cells
    of relative width 2**-fraction_bits. Which of the two depends on the data
    alone, not on the split. The size does not grow with the number of rows.

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

    @overload
    @classmethod
    def of(cls, y_true: Any, y_prob: Predictive, **options: Unpack[CountedRows]) -> DistributionTally: ...
    @overload
    @classmethod
    def of(
        cls, y_true: Any, y_prob: Any, *, source: str = "", first_row: int = 0, **options: Unpack[CountedRows]
    ) -> Tally: ...
    @classmethod
    @reads(CountedRows, DEFAULTS)
    def of(
        cls, y_true: Any, y_prob: Any, *, source: str = "", first_row: int = 0, **options: Unpack[CountedRows]
    ) -> Any:
        """Count a data set or a part of one.

        Parameters
        ----------
        y_true : array_like of shape (n,) or (n, C)
            Outcomes: labels or one-hot rows.
        y_prob : array_like of shape (n,) or (n, C), or predictive distributions
            Predicted probabilities of the positive class, or of each class. Or
            `Quantiles`, `Samples`, `Distribution` or `PIT` of a number;
            ``metrics``, ``sample_weight``, ``censored`` and ``invalid`` are the
            options then.
        metrics : sequence of str, default ()
            Scoring rules to keep beside those of `SCORES`, by names that
            `score_named` knows.
        parts : sequence of {"classes", "predictions", "shards", "surprises", "diagnosis"}, default ()
            What else to keep: counts of each class, of each predicted class, or
            of a thousand shards of the rows; the twenty rows whose outcomes
            were assigned least; sums from which forecasts of more than two
            classes are diagnosed. The last is kept unasked for 3 to 20 classes.
        source : str, optional
            Name of where the rows come from.
        first_row : int, default 0
            Number of the first row among all of its source, for a part of a
            larger input: errors, shards and surprises go by it.
        exact_limit : int, default 65536
            How many distinct probabilities are counted exactly before cells
            take over; and so in the parts by class.
        fraction_bits : int, default 9
            Cells have relative width 2**-fraction_bits, from 3 to 20. Only
            tallies of like settings add up.
        n_jobs : int, optional
            How many threads count; -1 for one a processor. The tally is the
            same, with weights but for last digits.
        **options
            How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
            ``pos_label``, ``ignore_label``, ``scale``, ``invalid``,
            ``clusters``. A part never infers the class set from the labels that
            happen to be in it. Shards go by ``clusters`` where these are given,
            and otherwise by source and row number. ``censored`` is as in
            `assess`.

        Returns
        -------
        Tally
            Of predictive distributions a `DistributionTally`, whose rows count
            as independent.

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
        if is_predictive(y_prob):
            from .distributions import DistributionTally

            return DistributionTally.of(
                y_true, y_prob, {"source": source or None, "first_row": first_row or None, **options}
            )
        if options.get("censored") is not None:
            raise InputError("censored: is for predictive distributions of a number; classes have no limits.")
        reading = some_of(options, RowReading)
        forecasts = Forecasts(y_true, y_prob, whole=False, source=source, first_row=first_row, **reading)
        return cls.count(forecasts, **some_of(options, Counting))

    @staticmethod
    def from_counts(
        reported: Any,
        happened: Any,
        total: Any,
        *,
        labels: Sequence[Label] = (0, 1),
        exact_limit: int = EXACT_LIMIT,
        fraction_bits: int = FRACTION_BITS,
    ) -> Tally:
        """Count two classes from rows that are grouped by their prediction, such as by one query of a database.

        Parameters
        ----------
        reported : array_like of shape (k,)
            Predicted probabilities of the positive class; they may repeat.
        happened, total : array_like of shape (k,)
            How often the positive class was observed, and how many rows have
            the prediction: whole numbers.
        labels : sequence of two labels, default (0, 1)
            The negative class and the positive one.
        exact_limit, fraction_bits : optional
            As in `Tally.of`.

        Returns
        -------
        Tally
            That of the single rows, to the last byte.

        Raises
        ------
        InputError
            For counts that are not whole, negative, or above the total.

        Examples
        --------
        >>> from unperplexed import Tally
        >>> Tally.from_counts([0.2, 0.7], [10, 65], [50, 100]).n_rows
        150
        """
        found = Tally(exact_limit, fraction_bits)
        for outcome, p in digits_of_counts(reported, happened, total, labels):
            once = Tally.of(outcome, p, labels=list(labels), exact_limit=exact_limit, fraction_bits=fraction_bits)
            found = found + found + once  # sums are exact: twice a tally is that of each row twice
        return found

    @classmethod
    @reads(Counting, DEFAULTS)
    def count(
        cls,
        forecasts: Forecasts | Iterable[Forecasts],
        *,
        diagnosed: int = DIAGNOSED_UNASKED,
        **counting: Unpack[Counting],
    ) -> Tally:
        """Count checked forecasts, or a stream of parts of them: the sum of the parts' tallies, but faster.

        Parts of a stream are made with ``Forecasts(..., whole=False)``, so that
        none infers the class set from what happens to be in it. A stream of
        nothing gives the tally that adds nothing. Settings are those of `of`;
        of a stream each thread takes every so-manyth part. The part "diagnosis"
        is kept unasked of three classes and up to ``diagnosed`` of them.

        Examples
        --------
        >>> from unperplexed import Forecasts, Tally
        >>> days = [([1, 0], [0.8, 0.3]), ([1], [0.6])]
        >>> Tally.count(Forecasts(y, p, whole=False) for y, p in days).n_rows
        3
        """
        asked: dict[str, Any] = {**DEFAULTS, **counting}
        parts = asked["parts"]
        if isinstance(parts, str) or any(part not in PARTS for part in parts):
            raise InputError(f"parts: expected a list of some of {', '.join(map(repr, PARTS))}, got {parts!r}.")
        exact_limit, fraction_bits = _checked_limits(asked["exact_limit"], asked["fraction_bits"])
        jobs, kept = jobs_of(asked.get("n_jobs")), scores_kept(asked["metrics"])
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

        def new(part: Forecasts) -> BlockCounter:
            return BlockCounter(part.n_classes, part.counts_tell, exact_limit, fraction_bits, kept, parts, diagnosed)

        counters = counters_of(seen(), jobs, new)
        return sum((cls._counted(counter, labels) for counter in counters), cls(exact_limit, fraction_bits))

    @classmethod
    def _counted(cls, counter: BlockCounter, labels: tuple[Label | None, ...]) -> Tally:
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
            one_column=counter.counts_tell,
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
            sources=first_sources(counter.sources),
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
        return tally_bytes(self._state())

    def _state(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally | Predictions | DistributionTally:
        """Read what `to_bytes` gave; truncated, changed or other bytes are refused with the reason."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InputError(f"from_bytes: expected bytes, got {type(data).__name__}.")
        return cls._read(data)

    @classmethod
    def _read(cls, data: bytes | BinaryIO) -> Tally | Predictions | DistributionTally:
        found = tally_state(data, _of_distributions)
        if not isinstance(found, dict):
            return found
        return Predictions(cls(**found)) if found.pop(ALONE, False) else cls(**found)

    def _values(self) -> bytes:
        """Compare tallies as bytes; without weights these are the same however they were added up."""
        return tally_bytes(self._state(), limited=False)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tally | Predictions | DistributionTally:
        """Read a file that `save` wrote; a truncated, changed or other file is refused with the reason.

        A file of predictive distributions gives a `DistributionTally`, one
        without outcomes `Predictions`.
        """
        try:
            with Path(path).open("rb") as stream:
                return cls._read(stream)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except OSError as error:
            reason = (error.strerror or str(error)).rstrip(".")
            raise InputError(f"{path}: cannot be read: {reason}. A tally is read from a regular file.") from None

    @overload
    @classmethod
    def merged(cls, tallies: Iterable[Tally], *, mixed: bool = False) -> Tally: ...
    @overload
    @classmethod
    def merged(cls, tallies: Iterable[Any], *, mixed: bool = False) -> Any: ...
    @classmethod
    def merged(cls, tallies: Iterable[Any], *, mixed: bool = False) -> Any:
        """Add up tallies: their sum, but faster when there are many.

        Parameters
        ----------
        tallies : iterable of Tally, or of DistributionTally
            Of the same classes and settings, or of the same form of forecasts.
        mixed : bool, default False
            Add up even tallies of different data or models, or of periods that
            overlap. The sum has the tags of all.

        Returns
        -------
        Tally or DistributionTally

        Raises
        ------
        InputError
            For tallies of different classes or settings and, unless ``mixed``,
            for those whose `tagged` tags say that they do not belong together.

        Examples
        --------
        >>> from unperplexed import Tally
        >>> a, b = (Tally.of([1, 0], [0.8, 0.3]).tagged(model=model) for model in ("v6", "v7"))
        >>> a + b
        Traceback (most recent call last):
            ...
        unperplexed.InputError: tallies of different models do not add up: 'v6' and 'v7'. ...
        >>> Tally.merged([a, b], mixed=True).tags.models
        ('v6', 'v7')
        """
        tallies = iter(tallies)
        first = next(tallies, cls())
        if not isinstance(first, Tally):
            return reduce(lambda a, b: a.merged([a, b], mixed=mixed), tallies, first)
        found = BySize[Tally](lambda a, b: summed([a, b], mixed))
        for some in batches(_of_classes(chain([first], tallies))):
            found.add(summed(some, mixed))
        return found.total(cls())

    def __add__(self, other: Tally) -> Tally:
        """Tally of both data sets; refuses tallies of different classes or settings, or whose tags contradict."""
        return summed([self, other], False) if isinstance(other, Tally) else NotImplemented

    def __radd__(self, other: object) -> Tally:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Tally of {number_of(self.n_rows, 'forecast')} of {self.n_classes:,} classes>"


_UNLIKE = "predictions without outcomes and tallies of forecasts with outcomes do not add up."


class Predictions(ByValue, Result):
    """Counts of predicted probabilities without outcomes, such as those of one day. Made by `Predictions.of`.

    They add up, so that parts of a day may be counted apart; a `History` of them keeps periods in a file. A file of
    one period is what ``unperplexed tally`` writes of rows without outcomes, and `Tally.load` reads it.

    Examples
    --------
    >>> from unperplexed.results import History, Predictions
    >>> day = Predictions.of([0.8, 0.3]) + Predictions.of([0.6])
    >>> day.n_rows
    3
    >>> History.of({"2026-03-01": day}).outcomes
    False
    """

    tally: Tally
    """The counts, with outcomes that stand in for unknown ones."""

    @classmethod
    def of(cls, y_prob: Any, *, labels: Sequence[Label] | None = None, **reading: Any) -> Predictions:
        """Count predictions.

        Parameters
        ----------
        y_prob : array_like of shape (n,) or (n, C), or a data frame with one column a class
            Predicted probabilities: of the positive class, or of each class.
        labels : sequence, optional
            Class labels in the order of the columns; (negative, positive) for one column. By default the names of a
            frame's columns.
        **reading
            As in `Forecasts`: ``scale``, ``invalid``.

        Returns
        -------
        Predictions

        Raises
        ------
        InputError
            For values that are no probabilities, naming the rows.
        """
        return cls(Tally.count(predicted(y_prob, labels, **reading), parts=["classes"], diagnosed=0))

    @property
    def n_rows(self) -> int:
        """Number of predictions."""
        return self.tally.n_rows

    @property
    def tags(self) -> Tags:
        """Data set, model and period."""
        return self.tally.tags

    def tagged(self, **tags: Any) -> Predictions:
        """Give the same with tags, as `Tally.tagged`."""
        return Predictions(self.tally.tagged(**tags))

    def to_bytes(self) -> bytes:
        """Give them as the bytes of a file."""
        return tally_bytes(self.tally._state(), PREDICTIONS)

    def save(self, path: str | PathLike[str]) -> None:
        """Write them to a file, whole or not at all, which `Tally.load` reads."""
        write_whole(check_output(Path(path)), self.to_bytes())

    def summary(self) -> dict[str, Any]:
        """Give what they are, but for the counts, as plain values."""
        found = self.tally.summary()
        return {
            "outcomes": False,
            **{name: found[name] for name in ("n_rows", "n_classes", "labels", "sources", "tags")},
        }

    @classmethod
    def merged(cls, several: Iterable[Any], *, mixed: bool = False) -> Predictions:
        """Add up, as `Tally.merged` does."""
        several = list(several)
        if not all(isinstance(each, Predictions) for each in several):
            raise InputError(_UNLIKE)
        return cls(Tally.merged([each.tally for each in several], mixed=mixed))

    def __add__(self, other: Predictions) -> Predictions:
        """Count both together; refuses predictions of other classes."""
        return Predictions.merged([self, other]) if isinstance(other, Predictions | Tally) else NotImplemented

    __radd__ = __add__


def predicted(y_prob: Any, labels: Sequence[Label] | None = None, **reading: Any) -> Forecasts:
    """Read predictions, with outcomes that stand in for unknown ones."""
    columns = as_columns(at_hand(y_prob), "y_prob")
    return Forecasts(y_prob=columns, **unobserved(columns, labels), **reading)


def _of_distributions(sections: Sections) -> DistributionTally:
    from .distributions import tally_of

    return tally_of(sections)


def _of_classes(tallies: Iterable[Any]) -> Iterator[Tally]:
    """Yield tallies of classes, and refuse others."""
    for each in tallies:
        if not isinstance(each, Tally):
            kinds = "tallies of classes and of predictive distributions do not add up."
            raise InputError(_UNLIKE if isinstance(each, Predictions) else kinds)
        yield each


def counts_distributions(found: Any) -> TypeGuard[DistributionTally]:
    """Whether something is a tally of predictive distributions, whose class is loaded by whoever makes one."""
    home = sys.modules.get(f"{__package__}.distributions")
    return home is not None and isinstance(found, home.DistributionTally)


_FEWEST_BITS = 3
"""Cells of fewer are wider than those in which shards and rows are kept."""


def _checked_limits(exact_limit: int, fraction_bits: int) -> tuple[int, int]:
    if not (is_whole(exact_limit, 0, (1 << 40) - 1) and is_whole(fraction_bits, _FEWEST_BITS, 20)):
        raise InputError(
            "exact_limit must be a whole number from 0 to 2^40, and fraction_bits one from 3 to 20, got"
            f" {exact_limit!r} and {fraction_bits!r}."
        )
    return int(exact_limit), int(fraction_bits)


PAIR_VIEWS: tuple[View, ...] = ("top-label", "each-class", "all-classes")
"""In the order in which they are shown."""

_UNSAID = {"exact_limit": EXACT_LIMIT, "fraction_bits": FRACTION_BITS, **READING}

_EXACT_LIMIT = 1 << 21
"""Rows in memory are counted exactly while they can be: cells of one class are coarse, and bins are cut from them."""


def counted_for(
    views: Sequence[View | None],
    y_true: Any,
    y_prob: Any,
    reading: Mapping[str, Any],
    parts: Sequence[str] = (),
    exact_limit: int = _EXACT_LIMIT,
) -> Tally:
    """Count rows with what the views need, None being a default view, or take a tally as it is.

    Parameters
    ----------
    views : sequence of {"top-label", "each-class", "all-classes"} or None
        Views that will be read.
    y_true : array_like or Tally
        Outcomes, or what was counted.
    y_prob : array_like of shape (n,) or (n, C), or None
        Predicted probabilities; None for a tally.
    reading : mapping
        Options of `Forecasts`; none for a tally.
    parts : sequence of str, default ()
        Parts of the tally to keep besides, as in `Tally.of`.
    exact_limit : int, default 2**21
        As in `Tally.of`.

    Raises
    ------
    InputError
        For unknown views, options of rows beside a tally, and where no row has a positive weight.
    """
    for view in views:
        if view is not None:
            check_choice("view", view, PAIR_VIEWS)
    if isinstance(y_true, Tally):
        refuse_rows({"y_prob": y_prob, **reading})
        tally = y_true
    elif y_prob is None:
        raise InputError("y_prob: missing; expected outcomes and probabilities, or a Tally.")
    else:
        forecasts = Forecasts(y_true, y_prob, **reading)
        each = any(view_or(view, "all-classes", forecasts.n_classes) == "each-class" for view in views)
        tally = Tally.count(
            forecasts, parts=[*parts, *(["classes"] if each else [])], exact_limit=exact_limit, diagnosed=0
        )
    if not tally.weight > 0:
        raise InputError("no rows of positive weight.")
    return tally


def refuse_rows(given: Mapping[str, Any]) -> None:
    """Refuse, beside a tally, what is for the reading or counting of rows and is not left at its default."""
    for name, value in given.items():
        left_out = value is None or value is False or (isinstance(value, list | tuple) and not value)
        if not left_out and not (name in _UNSAID and value == _UNSAID[name]):
            raise InputError(f"{name}: a tally's rows are already counted; give it to Tally.of instead.")


def view_or(view: View | None, otherwise: View, n_classes: int) -> View:
    """Give the view that is meant: by default each class for two classes, for more the other one."""
    return view or ("each-class" if n_classes == 2 else otherwise)


def pairs_by_class(tally: Tally, view: View) -> list[Pairs]:
    """Pairs of a view: one group, or one for each class; of two classes those of the positive one, which say all."""
    if view != "each-class":
        return [tally.pairs(view)]
    if not tally.knows_classes:
        raise InputError(
            "view: this tally was made without the part 'classes', which the each-class view needs; count it again with"
            " parts=['classes'] (--parts classes)."
        )
    pairs, _, first = tally.each_class()
    groups = [Pairs(*(column[slice(*ends)] for column in pairs)) for ends in pairwise(first.tolist())]
    return groups if tally.n_classes > 2 else groups[1:]
