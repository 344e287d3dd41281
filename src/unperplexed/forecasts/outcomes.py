"""Outcomes as codes of classes: which labels there are, which column is whose, and what is missing.

Labels read off the names of probability columns: whole, at a pattern's ``*``, or without what all of them share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import frame_names, library, numbers
from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, listed, rows_text
from .._lib.typing import Codes, Ints
from .labels import ROWS_AT_ONCE, USUAL_MARKS, Coded, Label, coded, distinct_labels, label_array, plain, smallest_type
from .problems import OF_NUMBERS

Labels = tuple[Label, ...]
"""Labels of all columns, in their order."""

_SEPARATORS = frozenset("_-.:/ ")
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"\s*[-+]?\d+\s*")
_WORDS = {"true": True, "false": False}
_TOLD = frozenset(("-1", "0", "1", "false", "true"))
"""Outcomes of which the positive one is known without a name."""
_NEGATIONS = frozenset(("no", "non", "not"))


_MOST_CUTS = 20
"""Boundaries, those next to the labels, at which names are cut on either side."""


def fitting(names: Sequence[Any], at_star: Sequence[str], present: Sequence[Label]) -> list[Labels]:
    """Give the different labels of several columns that hold every outcome.

    ``at_star`` is what ``*`` stood for in each name where a pattern found the columns.
    """
    wanted = set(present)
    fits = (next((read for read in each if wanted <= set(read)), None) for each in _spelled_parts(names, at_star))
    return [*dict.fromkeys(read for read in fits if read is not None)]


def readings(names: Sequence[Any], at_star: Sequence[str] = ()) -> list[Labels]:
    """Give all that the names of several columns, or of one, may mean."""
    return [*dict.fromkeys(read for each in _spelled_parts(names, at_star) for read in each)]


def nearest(names: Sequence[Any], at_star: Sequence[str], present: Sequence[Label]) -> Labels | None:
    """Give the labels that hold the most outcomes where none hold all; None if they hold none."""
    held = {read: len(set(read) & set(present)) for read in readings(names, at_star)}
    best = max(held, key=lambda read: held[read], default=None)
    return best if best is not None and held[best] else None


def positives(names: Sequence[Any], at_star: Sequence[str], outcomes: Sequence[Label]) -> list[Label]:
    """Give those of two outcomes of which one column speaks by its name: itself, or a part of it after a boundary.

    A number says nothing of 0 and 1, since ``p1`` may be the first of several forecasts, and a part says nothing behind
    a word that turns it round: ``p_not_rain``.
    """
    if len(names) != 1 or len(outcomes) != 2:
        return []
    text, told = str(names[0]), {str(each).lower() for each in outcomes} <= _TOLD
    behind = [text[at:] for at in sorted(_starts(text)) if not _turned(text[:at], outcomes)]
    parts = [part for part in (*at_star, *behind) if not told or part.lower() in _WORDS]
    found = (read[0] for part in (plain(names[0]), *parts) for read in _spelled((part,)))
    return [*dict.fromkeys(each for each in found if each in outcomes)]


def is_whole(labels: Sequence[Label | None], names: Sequence[Any]) -> bool:
    """Whether columns are named after their classes, with nothing beside."""
    return tuple(labels) in _spelled(tuple(map(plain, names)))


def differently_named(names: Sequence[Any], at_star: Sequence[str], present: Sequence[Label]) -> str:
    """Say what makes the names of several columns differ from the outcomes, if case or counting do; "" else."""
    outcomes = {each.casefold(): each for each in present if isinstance(each, str)}
    for read in readings(names, at_star):
        folded = {str(label).casefold(): label for label in read}
        if len(folded) == len(read) and len(outcomes) == len(present) and outcomes.keys() <= folded.keys():
            same = dict(zip((folded | outcomes).values(), names, strict=True))
            return f"the columns differ from the outcomes in case only; if they are the same: {_options(same)}"
        for begin, other in ((1, 0), (0, 1)):
            shifted = range(other, other + len(read))
            if read == tuple(range(begin, begin + len(read))) and other in present and set(present) <= set(shifted):
                named = dict(zip(shifted, names, strict=True))
                return f"columns count from {begin}, outcomes from {other}; if shifted: {_options(named)}"
    return ""


def _options(named: dict[Any, Any]) -> str:
    """Give the option that names the class of each column, and its argument."""
    return f"--prob {' '.join(quote(f'{label}={name}') for label, name in named.items())} (labels={[*named]!r})"


def said_of_column(positive: Label, name: Any) -> str:
    """Say which class one column speaks of, unless its name is the class."""
    return "" if is_whole((positive,), (name,)) else f"positive class by column name: {positive} = {name}"


def said_of_columns(labels: Sequence[Label | None], names: Sequence[Any]) -> str:
    """Say which class each column was read as, unless its name is the class."""
    if is_whole(labels, names):
        return ""
    pairs = [f"{label} = {name}" for label, name in zip(labels, names, strict=True)]
    return "classes by column name: " + ", ".join(pairs if len(pairs) <= _MOST else [*pairs[:3], "...", pairs[-1]])


_MOST = 6
"""So many columns are named; of more the first and the last."""


def said_of_absent(labels: Sequence[Label | None], present: Sequence[Label | None]) -> str:
    """Name classes that never occur."""
    absent: list[Any] = [label for label in labels if label not in set(present)]
    if len(absent) < 2:
        return f"class {absent[0]!r} never occurs" if absent else ""
    run = len(absent) > 2 and all(type(each) is int for each in absent) and absent[-1] - absent[0] == len(absent) - 1
    return f"classes {f'{absent[0]} to {absent[-1]}' if run else listed(absent)} never occur"


def _spelled_parts(names: Sequence[Any], at_star: Sequence[str]) -> Iterator[list[Labels]]:
    """Yield each part of the names as what it may be spelled for."""
    texts = [str(plain(name)) for name in names]
    cut = _cut(texts) if len(texts) > 1 else [(text[at:],) for text in texts for at in _starts(text)]
    yield from map(_spelled, dict.fromkeys([tuple(map(plain, names)), tuple(at_star), *cut]))


def _spelled(part: tuple[Any, ...]) -> list[Labels]:
    """Give texts as labels, if they can be: as they are, as numbers, and as true and false."""
    texts = [str(each) for each in part]
    found = [part]
    if all(map(_NUMBER.fullmatch, texts)):
        found.append(tuple(int(text) if _WHOLE_NUMBER.fullmatch(text) else plain(float(text)) for text in texts))
    if all(text.lower() in _WORDS for text in texts):
        found.append(tuple(_WORDS[text.lower()] for text in texts))
    return [read for read in found if read and "" not in read and len(set(read)) == len(read)]


def _cut(texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Cut off a beginning and an end that all share, at each boundary."""
    before, after = _shared(texts), _shared([text[::-1] for text in texts])
    starts = [at for at in sorted(set.intersection(*(_starts(text) for text in texts))) if at <= before]
    ends = [at for at in sorted(set.intersection(*(_ends(text) for text in texts))) if at <= after]
    for start in (0, *starts[-_MOST_CUTS:]):
        for end in (0, *ends[-_MOST_CUTS:]):
            if start + end < min(map(len, texts)):
                yield tuple(text[start : len(text) - end] for text in texts)


def _shared(texts: Sequence[str]) -> int:
    """Count the letters with which all begin."""
    lowest, highest = min(texts), max(texts)
    return next((at for at, (a, b) in enumerate(zip(lowest, highest, strict=False)) if a != b), len(lowest))


def _starts(text: str) -> set[int]:
    """Places at which a label may begin: behind a separator, a digit behind a letter, an upper case behind a lower."""
    return {at for at in range(1, len(text)) if text[at - 1] in _SEPARATORS or _turns(text, at)}


def _ends(text: str) -> set[int]:
    """Numbers of letters behind a label that may end there."""
    return {len(text) - at for at in range(1, len(text)) if text[at] in _SEPARATORS or _turns(text, at)}


def _turns(text: str, at: int) -> bool:
    before, behind = text[at - 1], text[at]
    return (before.isalpha() and behind.isdigit()) or (before.islower() and behind.isupper())


def _turned(beginning: str, outcomes: Sequence[Label]) -> bool:
    """Whether a beginning denies what follows, or is another outcome."""
    places = [0, *sorted(_starts(beginning)), len(beginning)]
    words = {beginning[a:b].strip("".join(_SEPARATORS)) for a, b in pairwise(places)}
    return bool({word.lower() for word in words} & _NEGATIONS or words & {str(each) for each in outcomes})


MISSING, IGNORED, UNKNOWN = -1, -2, -3


class Outcomes(Frozen):
    """Class index of each row, MISSING or IGNORED where there is none, and the labels in column order."""

    codes: Codes
    labels: tuple[Label | None, ...]
    """None where data and settings do not say (an empty part, a negative class not yet seen)."""
    borrowed: bool = False
    """Whether the codes are the caller's own array, which may change after it was checked."""
    said: str = ""
    """What is to be said of the labels."""


class ClassSet(Frozen):
    """The classes, in column order."""

    labels: tuple[Label | None, ...]
    said: str = ""
    """What was read off the names of columns, and which classes never occur, in words; "" where neither is so."""


class LabelSettings(Frozen):
    """How labels are to be read: the columns of probabilities, and the arguments of `assess` that concern labels."""

    n_classes: int
    binary: bool
    """Whether there is one column, of the positive class."""
    columns: tuple[Any, ...] | None
    """Names of the columns, where they have some."""
    labels: Sequence[Label] | None = None
    pos_label: Label | None = None
    ignore_label: Label | Sequence[Label] | None = None
    whole: bool = True
    """Whether the class set may be read off the data: a part of a stream may not."""
    name: str = "y_true"
    """What errors call the outcomes."""
    first_row: int = 0
    """What errors call the first row."""
    known: tuple[Label | None, ...] | None = None
    """The class set in column order, where it is settled."""
    at_star: Sequence[str] = ()
    """What * stood for in the name of each column, where a pattern found them."""


def read_outcomes(y_true: Any, settings: LabelSettings) -> Outcomes:
    """Read y_true as classes of the columns."""
    if library(y_true) == "polars" and str(getattr(y_true, "dtype", None)) == "String":
        y_true = coded(y_true)
    if isinstance(y_true, Coded):
        return _encoded(y_true.distinct(), settings)
    array = label_array(y_true)
    if array.ndim == 2:
        return _one_hot(array, frame_names(y_true), settings)
    if array.ndim != 1:
        raise InputError(f"{settings.name}: expected one label a row, or one-hot rows, got shape {array.shape}.")
    return _encoded(distinct_labels(array), settings)


def class_set(distinct: Sequence[Label | None], settings: LabelSettings) -> ClassSet:
    """Settle the classes, in column order, from the labels that occur."""
    if settings.labels is not None:
        _check_given_labels(settings)
    ignored = _ignored(settings)
    present = [v for v in distinct if v is not None and v not in ignored]
    return _binary_labels(present, settings) if settings.binary else _class_labels(present, settings)


def _ignored(settings: LabelSettings) -> set[Label | None]:
    """Labels whose rows are left out; None, which is among them where there are none, is no label of any row."""
    given: Any = settings.ignore_label
    several = hasattr(given, "__iter__") and not isinstance(given, str | bytes)
    return {plain(v) for v in (given if several else [given])}


def _encoded(found: Coded, settings: LabelSettings) -> Outcomes:
    """Give each row the number of its class."""
    inverse: NDArray[Any] = found.inverse
    classes = ClassSet(settings.known) if settings.known else class_set(found.labels, settings)
    labels = classes.labels
    ignored = _ignored(settings)
    index = {label: code for code, label in enumerate(labels) if label is not None}
    table = np.array(
        [MISSING if v is None else IGNORED if v in ignored else index.get(v, UNKNOWN) for v in found.labels] or [0],
        dtype=smallest_type(settings.n_classes),
    )
    unknown = [v for v, code in zip(found.labels, table, strict=False) if code == UNKNOWN]
    if unknown:
        raise InputError(_unknown_message(unknown, labels, found, settings))
    plain_integers = inverse.dtype.kind == "i" and inverse.dtype.isnative and inverse.flags.aligned
    if plain_integers and np.iinfo(inverse.dtype).max >= len(labels) and np.array_equal(table, np.arange(table.size)):
        return Outcomes(inverse, labels, True, classes.said)
    return Outcomes(table[inverse], labels, said=classes.said)


def label_list(labels: Any) -> list[Label] | None:
    """Labels as given in column order: a list, or anything that has an order; None for none."""
    if labels is None:
        return None
    if isinstance(labels, str | set | frozenset) or not hasattr(labels, "__iter__"):
        raise InputError(f"labels: expected a list of labels in column order, got {labels!r:.80}.")
    return list(labels)


def _check_given_labels(settings: LabelSettings) -> None:
    labels, n_classes, names = settings.labels or (), settings.n_classes, settings.columns or ()
    given = [plain(v) for v in labels]
    try:
        twice = [v for v, count in Counter(given).items() if count > 1]
    except TypeError:
        raise InputError(f"labels: expected numbers or texts, got {given!r:.80}.") from None
    if twice:
        raise InputError(f"labels: {twice[0]!r} is given twice.")
    if None in given:
        raise InputError(f"labels: {listed(list(labels))}: a missing value is no class.")
    if len(given) != n_classes:
        raise InputError(
            f"labels: {len(given)} labels for forecasts of {n_classes} classes; name one for each probability"
            " column, in column order" + (" (negative, positive)." if n_classes == 2 else ".")
        )
    if _against_names(given, names, settings.at_star):
        raise InputError(
            f"labels: {listed(given)}, but the probability columns are named {listed(names)}. Leave labels"
            " (--labels) out, or put them in the columns' order (negative, positive for one column)."
        )


def _against_names(given: list[Label], names: Sequence[Any], at_star: Sequence[str]) -> bool:
    """Whether the names of columns say the same labels in another order, or that of one column the negative one."""
    if len(names) == 1:
        return positives(names, at_star, given) == given[:1]
    same = [read for read in readings(names, at_star) if set(read) == set(given)]
    return bool(same) and tuple(given) not in same


def _one_hot(array: NDArray[Any], own_names: tuple[Any, ...] | None, settings: LabelSettings) -> Outcomes:
    n_classes, names = settings.n_classes, settings.columns
    if _all_fractional(array[:_LOOKED_AT]):
        raise _swapped(array[0].tolist(), settings)
    if settings.labels is not None:
        _check_given_labels(settings)
    if array.shape[1] != n_classes:
        raise InputError(
            f"{settings.name}: one-hot rows of {array.shape[1]} classes for forecasts of {n_classes} classes."
        )
    if settings.pos_label is not None or settings.ignore_label is not None:
        raise InputError(
            f"{settings.name}: one-hot rows already name the observed class; leave out pos_label, ignore_label."
        )
    if names is not None and own_names is not None and len(names) == 1 and names[0] in own_names:
        positive = names[0]  # one column, named after the class it speaks of
        names = (*(name for name in own_names if name != positive), positive)
    elif names is None or len(names) != n_classes:
        names = own_names
    elif own_names is not None and settings.labels is None:
        names, own_names = _common_names(names, own_names, settings.at_star)
    labels = tuple(plain(v) for v in (settings.labels or names or range(n_classes)))
    order = np.arange(n_classes)
    if own_names is not None and set(own_names) == set(labels):
        order = np.array([own_names.index(label) for label in labels])  # both are named: names, not places, decide
    codes = np.empty(array.shape[0], dtype=smallest_type(n_classes))
    for start in range(0, array.shape[0], max(1, ROWS_AT_ONCE // n_classes)):
        part = slice(start, start + max(1, ROWS_AT_ONCE // n_classes))
        codes[part] = _one_hot_codes(array[part][:, order], settings.first_row + start, settings.name)
    return Outcomes(codes, labels)


_LOOKED_AT = 100
"""Rows that tell forecasts from one-hot rows: in all of them there is a fraction."""


def _all_fractional(rows: NDArray[Any]) -> bool:
    if rows.dtype.kind != "f" or not rows.size:
        return False
    fractional = np.isfinite(rows) & (rows != np.floor(rows))
    return bool(fractional.any(axis=1).all())


def _common_names(
    names: tuple[Any, ...], own: tuple[Any, ...], at_star: Sequence[str]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Read the names of probability columns and of one-hot columns as the same labels, if they can be."""
    both = ((read, other) for read in readings(names, at_star) for other in readings(own) if set(read) == set(other))
    return next(both, (names, own))


def _one_hot_codes(rows: NDArray[Any], start: int, name: str) -> Ints:
    values = numbers(rows, name, start).astype(np.float64)
    missing = np.isnan(values).any(axis=1)
    valid = ((values == 0) | (values == 1)).all(axis=1) & (values.sum(axis=1) == 1)
    bad = np.flatnonzero(~valid & ~missing)
    if bad.size:
        raise InputError(
            f"{name}: {rows_text(start + bad)}: a one-hot row has exactly one 1 and 0 else, row {start + bad[0]} is"
            f" {values[bad[0]].tolist()[:10]}. Leave such rows out before, or repair them."
        )
    return np.where(missing, MISSING, values.argmax(axis=1))


def _binary_labels(present: list[Label], settings: LabelSettings) -> ClassSet:
    names = settings.columns or ()
    positive = None if settings.pos_label is None else plain(settings.pos_label)
    if settings.labels is not None:
        negative, last = (plain(v) for v in settings.labels)
        if positive is None or positive == last:
            return ClassSet((negative, last))
        if positive == negative:
            return ClassSet((last, negative))
        raise InputError(f"pos_label: {positive!r} is not one of the labels {negative!r}, {last!r}.")
    named = positives(names, settings.at_star, present)
    if positive is not None:
        if named and positive not in named:
            raise InputError(
                f"pos_label: {positive!r}, but the probability column is named after the class {named[0]!r}. Name the"
                " column's class as pos_label (--prob LABEL=COLUMN), or rename the column."
            )
        others = [v for v in present if v != positive]
        if others and positive not in present and settings.whole:
            raise InputError(
                f"pos_label: {positive!r} does not occur in {settings.name} (found: {listed(present)}). If it is merely"
                " absent, name both classes: labels=[negative, positive] (--labels)."
            )
        if len(others) > 1:
            out = (
                "One probability column has one negative class: leave the others out with ignore_label (--ignore-label)"
            )
            there = f"besides the positive label {positive!r} there are {listed(others)}"
            raise InputError(f"{settings.name}: {there}. {_twins(present) or out}.")
        return ClassSet(((others[0] if others else None), positive))
    if len(named) == 1:
        return ClassSet((next(v for v in present if v != named[0]), named[0]), said_of_column(named[0], names[0]))
    return ClassSet(_told_apart(present, settings))


def _swapped(values: Sequence[float], settings: LabelSettings) -> InputError:
    """Say that what came as outcomes are forecasts, by two of the values."""
    shown = ", ".join(f"{value:.4g}" for value in values[:2])
    return InputError(
        f"{settings.name}: {shown}, ... are probabilities or logits, not classes. Outcomes come first, then forecasts."
    )


_TEXT_PAIRS = [("0", "1"), ("false", "true"), ("False", "True"), ("FALSE", "TRUE")]


_TWO_WORDS = (("-1", "0", "false"), ("1", "true"))


def _told_apart(present: list[Label], settings: LabelSettings) -> tuple[Label | None, Label | None]:
    """Negative and positive label where the values themselves say so: 0/1, -1/1, true/false."""
    seen = set(present)
    low, high = (next((v for v in present if str(v).lower() in words), None) for words in _TWO_WORDS)
    told = len(seen) == (low is not None) + (high is not None)
    if told and (not settings.whole or len(seen) == 2):
        return low, high  # a part says no more than it holds; parts together say the rest
    if twins := _twins(present):
        raise InputError(f"{settings.name}: the labels are {listed(present)}. {twins}.")
    if settings.whole:
        first = present[0] if present else 0
        for pair in _TEXT_PAIRS if isinstance(first, str) else [(False, True) if isinstance(first, bool) else (0, 1)]:
            if seen <= set(pair):
                return pair
    numbers = [v for v in present if isinstance(v, bool | int | float)]
    if len(numbers) == len(present) and any(v in (0, 1) for v in numbers):
        return 0, 1  # so the others are no class, which is said with their rows
    if len(numbers) == len(present) > 2 and all(v % 1 for v in numbers):
        raise _swapped(numbers, settings)
    words = [quote(str(label)) for label in sorted(present, key=str)]
    named, both = "--prob LABEL=COLUMN", "--labels NEGATIVE POSITIVE"
    if len(words) == 2:
        named = " or ".join(f"--prob {word}=COLUMN" for word in words)
        both = " or ".join(f"--labels {' '.join(order)}" for order in (words, words[::-1]))
    raise InputError(
        f"{settings.name}: the positive class does not follow from the labels {listed(present)}. {_marks(present)}"
        f"Name the one that is predicted with pos_label ({named}), or both with labels=[negative, positive] ({both},"
        " also beside --forecaster)."
    )


def _marks(present: Sequence[Label]) -> str:
    """Say what to do where labels look like marks of a missing value."""
    marks = [label for label in present if isinstance(label, str) and label.strip() in USUAL_MARKS]
    if not marks:
        return ""
    return f"If {marks[0]!r} marks a missing outcome, add --na --invalid drop in the shell. "


def _class_labels(present: list[Label], settings: LabelSettings) -> ClassSet:
    n_classes = settings.n_classes
    if settings.pos_label is not None:
        raise InputError(
            f"pos_label: there are {n_classes} probability columns; name their classes with labels (--labels),"
            " or pass the positive class's column alone."
        )
    if settings.labels is not None:
        return ClassSet(tuple(plain(v) for v in settings.labels))
    if not present:
        return ClassSet((None,) * n_classes)
    if settings.columns is not None:
        return _named_classes(present, settings.columns, settings)
    if all(isinstance(v, bool | int) and 0 <= v < n_classes for v in present):
        return ClassSet(tuple(range(n_classes)))
    if settings.whole and len(present) == n_classes and len({isinstance(v, str) for v in present}) == 1:
        negative = [v for v in present if isinstance(v, int | float) and v < 0]
        if not negative and not _sorts_two_ways(present):
            return ClassSet(tuple(sorted(present)))  # scikit-learn's convention
    raise InputError(
        f"{settings.name}: the labels {listed(present)} do not say which of the {n_classes} probability columns is"
        f" which. Name the columns' classes in column order with labels (--labels).{_of_numbers(present, n_classes)}"
    )


def _of_numbers(present: Sequence[Label | None], n_classes: int) -> str:
    """Say what forecasts of a number take, if outcomes look like numbers rather than classes."""
    numbers = all(isinstance(label, int | float) and not isinstance(label, bool) for label in present)
    whole = all(isinstance(label, int) for label in present)
    return f" {OF_NUMBERS}" if numbers and (not whole or len(present) > 2 * n_classes) else ""


def _named_classes(present: list[Label], names: tuple[Any, ...], settings: LabelSettings) -> ClassSet:
    """Read the classes off the names of columns: there is one way in which these hold every outcome."""
    fits = fitting(names, settings.at_star, present)
    if len(fits) == 1:
        never = said_of_absent(fits[0], present) if settings.whole else ""
        return ClassSet(fits[0], "; ".join(filter(None, [said_of_columns(fits[0], names), never])))
    if fits:
        two = " or ".join(f"those of {listed(read, 3)}" for read in fits[:2])
        why = f"may be {two}, both of which hold every outcome"
    elif differ := differently_named(names, settings.at_star, present):
        raise InputError(f"{settings.name}: {differ}.")
    elif near := nearest(names, settings.at_star, present):
        return ClassSet(near)  # the other outcomes are no class, which is said with their rows
    else:
        why = f"are named {listed(names)}, which does not say which of them is whose"
    raise InputError(
        f"{settings.name}: the outcomes are {listed(present)}; the probability columns {why}. Name the class of each"
        f" column with --prob LABEL=COLUMN, or all in column order with labels (--labels)."
        f"{_of_numbers(present, len(names))}"
    )


def _twins(labels: Sequence[Any]) -> str:
    """Say which two labels differ by blanks only, and what to do; "" where none do."""
    texts = sorted((label for label in labels if isinstance(label, str)), key=lambda text: (text.strip(), text))
    pairs = ((one, other) for one, other in pairwise(texts) if one.strip() == other.strip())
    return next((f"{one!r} and {other!r} differ by blanks only: remove these in the data" for one, other in pairs), "")


def _sorts_two_ways(labels: Sequence[Any]) -> bool:
    """Whether these are texts that read as numbers, and come in another order as such: "10" and "2"."""
    try:
        return isinstance(labels[0], str) and sorted(labels) != sorted(labels, key=float)
    except ValueError:
        return False


def _unknown_message(
    unknown: Sequence[Any], labels: tuple[Label | None, ...], found: Coded, settings: LabelSettings
) -> str:
    """Name outcomes that are no class, or of which there is no column where columns are named."""
    first, known = unknown[0], [label for label in labels if label is not None]
    places = [found.labels.index(label) for label in unknown]
    each = [f"{np.count_nonzero(found.inverse == at):,} × {found.labels[at]!r}" for at in places[:5]]
    counted = ", ".join([*each, "..."] if unknown[5:] else each)
    rows = rows_text(settings.first_row + np.flatnonzero(np.isin(found.inverse, places)))
    never = said_of_absent(known, found.labels) if settings.whole and settings.known is None else ""
    named = settings.columns is not None and not settings.binary
    columns = named and settings.labels is None and settings.known is None
    what, of = ("no column for the outcomes", "columns") if columns else ("outcomes that are no class:", "classes")
    name = "the class of each column (--prob LABEL=COLUMN, or" if columns else "the classes with labels ("
    if settings.labels is not None and {*unknown} == {*range(len(known))}:
        return (
            f"{settings.name}: the outcomes are numbers, {listed(unknown)}, the labels {listed(known)}. Give the names"
            " as outcomes too, such as np.array(labels)[y], or leave the labels out."
        )
    if twins := _twins([*unknown, *known]):
        return f"{settings.name}: {what} {counted}, in {rows}. {twins}."
    return (
        f"{settings.name}: {what} {counted}, in {rows}; the {of} are {listed(known)}"
        f"{'; ' * bool(never)}{never}. Leave them out with ignore_label={first!r} (--ignore-label {first}), or name"
        f" {name}{' ' * columns}--labels).{_of_numbers(found.labels, len(known))}"
    )
