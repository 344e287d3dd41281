"""Which columns of a file hold predictive distributions of numbers, and what forecasts are made of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, field
from .._lib.errors import InputError, listed
from .._lib.typing import AnyFloats
from ..forecasts.distributions.distribution import Distribution
from ..forecasts.distributions.partitions import Quantiles, Samples
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.predictive import Predictive
from .columns import check_column
from .derived_columns import Derived, derived
from .readers import Source
from .row_filter import ALL_ROWS, RowFilter

ISSUED = ("reference_date", "origin_date", "forecast_date")
"""Columns of the date of issue, as hubs and their tools name them."""

TARGET_DATE = ("target_end_date", "target_date")
"""Columns of the date that is forecast."""

MODEL = ("model_id", "model")
"""Columns of the forecaster."""

_DIGITS = 12
"""Decimals of a level, so that the ends of an 80% interval are 0.1 and 0.9."""


class PredictiveSelection(Frozen):
    """Which columns hold what."""

    form: str
    """The option that names the forecasts: quantiles, samples, distribution, pit or hub."""
    words: Sequence[str] = ()
    """What it says: columns, each plain, as a pattern, or as KEY=COLUMN."""
    truth: str | None = None
    """The outcome's column; None for that of the target data of a hub."""
    target_data: str | None = None
    """The file that has the outcomes, if they are not beside the forecasts."""
    on: Sequence[str] = ()
    """Columns that identify a forecast of a long table; empty for all that hold neither levels nor values."""
    weight: str | None = None
    censored: Mapping[str, str] = field(default_factory=dict)
    """Columns of the limits above, or below, which outcomes are not observed."""
    clusters: Sequence[str] = ()
    keys: Sequence[str] = ()
    """Columns to be given along, also as COLUMN:HOW."""
    issued: str | None = None
    target_date: str | None = None
    where: RowFilter = ALL_ROWS
    ordered: bool = False
    """Whether categories of a hub are read, which have an order, instead of numbers."""

    @property
    def of_rows(self) -> list[str]:
        """Columns of numbers that each forecast has beside it."""
        here = None if self.target_data else self.truth
        return [name for name in (here, self.weight, *self.censored.values()) if name is not None]

    @property
    def mentioned(self) -> list[str]:
        """Columns, and patterns of them, that are named."""
        return [*self.words, *self.of_rows, *self.keys, *self.clusters]

    def beside(self, file: Source) -> list[str]:
        """Columns that are to be given along, as they are in the file."""
        made = [Derived(text) if text in file.names else derived(text) for text in (*self.keys, *self.clusters)]
        dates = [name for name in (self.issued, self.target_date) if name is not None]
        return [*dict.fromkeys([*(each.column for each in made), *dates])]


class Wide(NamedTuple):
    """Forecasts whose numbers stand side by side."""

    columns: Sequence[str]
    make: Callable[[AnyFloats], Predictive]
    said: str = ""
    """What is to be said of what was read off names."""
    levels: Sequence[float] = ()
    """Levels of quantiles, in the order of the numbers."""


class Long(NamedTuple):
    """Forecasts that have a line for each level, or member."""

    place: str
    """The column of levels, or of what tells members apart."""
    value: str


def form_of(selection: PredictiveSelection, file: Source) -> Wide | Long:
    """Find the columns of the forecasts in a file."""
    return _FORMS[selection.form](list(selection.words), file)


def _quantiles(words: list[str], file: Source) -> Wide | Long:
    if (long := _long("quantiles", words, file)) is not None:
        return long
    levels, columns, said = list[float](), list[str](), ""
    for word in words:
        left, sign, right = word.partition("=")
        if word in file.names or not sign:
            stars = _matched("quantiles", word, file)
            found = _levels_of(word, [*stars.values()])
            said = f"quantile levels read off the names of columns: {', '.join(f'{level:g}' for level in found)}"
            said += "; if these are members, name them with --samples" * (max(found) < 0.5 or min(found) > 0.5)
            named = [*stars]
        else:
            named = [check_column(name, file) for name in right.split(",")]
            found = _levels(word, left, len(named))
        levels, columns = levels + found, columns + named
    return Wide(columns, lambda values: Quantiles(levels, values), said, levels)


def _levels(word: str, text: str, columns: int) -> list[float]:
    """Read the levels of columns: one for each, those of the columns of one array, or of a central interval."""
    found = [*map(_number, text.split(","))]
    if any(map(math.isnan, found)):
        raise _refused("quantiles", word, "the level before = is no number")
    if not all(0 < level < 1 for level in found):
        raise _refused("quantiles", word, "levels lie between 0 and 1, such as 0.9")
    if len(found) == 1 and columns == 2:  # a central interval
        return [round((1 - found[0]) / 2, _DIGITS), round((1 + found[0]) / 2, _DIGITS)]
    if columns not in (1, len(found)):
        raise _refused("quantiles", word, f"{len(found)} levels, and {columns} columns")
    return found


def _levels_of(word: str, stars: list[str]) -> list[float]:
    """Read levels off what * stands for in names: all of them between 0 and 1, or per cent."""
    if re.search(r"[0-9.][*?]|[*?][0-9]", word):
        raise _refused("quantiles", word, "the level is all that * stands for; put digits beside it into it")
    found = [*map(_number, stars)]
    if any(map(math.isnan, found)):
        raise _refused("quantiles", word, f"{listed(stars, 5)} are no levels; name them, 0.1=COLUMN")
    if all(0 < level < 1 for level in found):
        return found
    if all(0 < level < 100 and not re.match(r"0\d\d", star) for level, star in zip(found, stars, strict=True)):
        return [round(level / 100, _DIGITS) for level in found]
    raise _refused("quantiles", word, f"{listed(stars, 5)} may be fractions or per cent; name levels, 0.025=COLUMN")


def _samples(words: list[str], file: Source) -> Wide | Long:
    if (long := _long("samples", words, file)) is not None:
        return long
    columns = [name for word in words for name in _matched("samples", word, file)]
    if again := next((name for name in columns if columns.count(name) > 1), None):
        raise _refused("samples", " ".join(words), f"column {again!r} is named twice; name each member once")
    said = f"members by the names of columns: {listed(columns)}" if columns != words else ""
    return Wide(columns, lambda values: Samples(values).called(columns), said)


def _distribution(words: list[str], file: Source) -> Wide:
    family, *pairs = words
    columns, fixed = dict[str, str](), dict[str, float]()
    for word in pairs:
        name, sign, value = word.partition("=")
        if not sign or not name or name in {*columns, *fixed}:
            raise _refused("distribution", " ".join(words), "expected FAMILY PARAMETER=COLUMN ..., each once")
        if value in file.names or math.isnan(_number(value)):
            columns[name] = check_column(value, file)
        else:
            fixed[name] = _number(value)

    def make(values: AnyFloats) -> Predictive:
        same = {name: np.full(len(values), value) for name, value in fixed.items()}
        return Distribution(family, **dict(zip(columns, values.T, strict=True)), **same)

    return Wide([*columns.values()], make)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _pit(words: list[str], file: Source) -> Wide:
    if len(words) > 2:
        raise _refused("pit", " ".join(words), "expected the columns of F just below the outcome and at it, or one")
    columns = [check_column(word, file) for word in words]
    return Wide(columns, lambda values: PIT(values[:, 0], values[:, -1]))


_FORMS: dict[str, Callable[[list[str], Source], Wide | Long]] = {
    "quantiles": _quantiles,
    "samples": _samples,
    "distribution": _distribution,
    "pit": _pit,
}


def _long(option: str, words: list[str], file: Source) -> Long | None:
    """Read PLACE=VALUE, the two columns of a long table."""
    place, sign, value = words[0].partition("=")
    if not sign or words[0] in file.names or not math.isnan(_number(place.partition(",")[0])):
        return None
    if words[1:]:
        raise _refused(option, " ".join(words), "a long table has one column of levels or members, and one of values")
    return Long(check_column(place, file), check_column(value, file))


def _matched(option: str, word: str, file: Source) -> dict[str, str]:
    """Find the columns that a word names, in the file's order, and what * and ? stand for in each."""
    if word in file.names or not set(word) & {"*", "?"}:
        return {check_column(word, file): word}
    pattern = re.compile(re.escape(word).replace(r"\*", "(.+)").replace(r"\?", "(.)"))
    found = {name: "".join(match.groups()) for name in file.names if (match := pattern.fullmatch(name))}
    if not found:
        raise _refused(option, word, f"no column matches; columns: {listed(file.names, 20)}")
    return found


def _refused(option: str, word: str, reason: str) -> InputError:
    return InputError(f"--{option} {word}: {reason}.")
