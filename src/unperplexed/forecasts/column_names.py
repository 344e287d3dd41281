"""Labels read off the names of probability columns: whole, at a pattern's ``*``, or without what all of them share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from shlex import quote
from typing import Any

from .._lib.errors import listed
from .labels import Label, plain

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
