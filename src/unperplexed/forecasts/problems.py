"""Whether rows are distributions, and the error of those that are not: every problem with its rows, and its options.

Rows with NaN, or that are no distribution, are found here. `Forecasts.blocks` (in `forecasts`) refuses them by their
numbers, or with ``invalid="drop"`` leaves them out and counts them in `Notes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._lib.arrays import Unreadable, library
from .._lib.errors import InputError, listed, rows_text
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from ..kernels.devices import DeviceRows
from ..kernels.rows import SUM_TOLERANCE, CellTotals, Rows, row_primitives
from ..kernels.softmax import LogitRows
from .labels import USUAL_MARKS

ROUNDING = 1e-6
"""Row sums closer to 1 than this are the rounding of float32, not worth a word."""


Matrix: TypeAlias = AnyFloats | DeviceRows | LogitRows
"""Probabilities by row and class, where the source has them."""


def primitives(p: Matrix, truth: Ints, weights: Floats | None = None, into: CellTotals | None = None) -> Rows:
    """Primitives of rows, computed where they are.

    Parameters
    ----------
    p : ndarray of shape (n, C), DeviceRows or LogitRows
        Probabilities.
    truth : ndarray of shape (n,)
        Number of the observed class of each row, from 0.
    weights : ndarray of shape (n,), optional
        Positive weights; None if all are 1.
    into : CellTotals, optional
        Cells that the probabilities are counted into.
    """
    if isinstance(p, DeviceRows):
        return p.primitives(truth, weights, into)
    return row_primitives(p, truth, weights, into)


def row_problems(rows: Rows, negative: Bools) -> dict[str, Bools]:
    """Rows that are no distribution, by the first reason that holds (in one column, 1 - p < 0 is p > 1)."""
    if rows.usual.all():
        return {}
    valid = (rows.lowest >= 0) & (rows.highest <= 1)
    nan = np.isnan(rows.total) & ~(np.isinf(rows.lowest) | np.isinf(rows.highest))
    infinite = ~np.isfinite(rows.lowest) | ~np.isfinite(rows.highest)
    reasons = {
        "NaN": nan,
        "infinite": infinite & ~nan,
        "negative": ~nan & ~infinite & negative,
        "above 1": ~nan & ~infinite & ~negative & (rows.highest > 1),
        "sum not 1": valid & ~rows.usual,
    }
    return {reason: mask for reason, mask in reasons.items() if mask.any()}


def renormalized(p: Matrix, rows: Rows) -> tuple[Matrix, int, float, Floats | None]:
    """Divide the rows that can be by their sum; say how many were off and by how much, and what each was divided by."""
    able = (rows.lowest >= 0) & (rows.total > 0) & np.isfinite(rows.total)
    deviation = np.where(able, np.abs(rows.total - 1), 0.0)
    if not (deviation > 0).any():
        return p, 0, 0.0, None
    by = np.where(able, rows.total, 1.0)
    if isinstance(p, DeviceRows):
        p = p.divided(by, able)
    else:
        p = np.asarray(p)
        p = p / by.astype(p.dtype)[:, None]
        np.minimum(p, 1, out=p, where=able[:, None])
    off = deviation > ROUNDING
    return p, int(off.sum()), float(deviation[off].max(initial=0.0)), by


_HIGHEST_PERCENT = 100 + 1e-5
"""Percentages in single precision may be so large by rounding."""


def is_rounding(lowest: float, highest: float) -> bool:
    """Whether numbers lie in [0, 1] but for the rounding of sums in single precision."""
    return lowest >= -SUM_TOLERANCE and highest <= 1 + SUM_TOLERANCE


class Option(NamedTuple):
    """An option that reads rows as they are meant: its name, value and flag; shown as ``name=value (--flag)``."""

    name: str
    value: str
    flag: str

    def __str__(self) -> str:
        """Show it, for Python and the command line."""
        return f"{self.name}={self.value} ({self.flag})"


DROP = Option("invalid", '"drop"', "--invalid drop")
RESCALE = Option("invalid", '"rescale"', "--invalid rescale")


def scale_option(scale: str) -> Option:
    """Return the option that names a scale."""
    return Option("scale", f'"{scale}"', f"--scale {scale}")


def scale_hint(lowest: float, highest: float, binary: bool) -> tuple[str, Option | None]:
    """Say what numbers outside [0, 1] look like, and the option that reads them so; the user decides."""
    if is_rounding(lowest, highest):
        if binary or lowest < 0:
            return "That looks like rounding: clip to 0 and 1.", None
        return f"That looks like rounding: {RESCALE} divides each row by its sum.", RESCALE
    if lowest >= 0 and 2 < highest <= _HIGHEST_PERCENT:
        what, option = "percentages", scale_option("percent")
    elif highest <= 0:
        what, option = "log-probabilities", scale_option("log-probs")
    elif lowest < -1 or (lowest < 0 and highest > 2):
        what, option = "logits", scale_option("logits")
    else:
        return "", None
    return f"These look like {what}: {option} reads them so.", option


def wrong_values(reason: str, x: AnyFloats) -> Bools:
    """Values that make a row invalid for this reason; none where only their sum does."""
    tests: dict[str, Callable[[AnyFloats], Bools]] = {
        "NaN": np.isnan,
        "infinite": np.isinf,
        "negative": lambda x: x < 0,
        "above 1": lambda x: x > 1,
    }
    return tests[reason](x) if reason in tests else np.zeros(x.shape, dtype=bool)


def as_rows(y_true: Any, y_prob: Any, sample_weight: Any, clusters: Any) -> tuple[Any, Any, Any, Any]:
    """Lay tokens end to end: probabilities of shape (n, t, C) with outcomes of shape (n, t); others stay as they are.

    Groups of shape (n,), one for each sequence, are repeated for its tokens.

    Parameters
    ----------
    y_true : array_like of shape (n,), (n, C) or (n, t)
        Outcomes.
    y_prob : array_like of shape (n,), (n, C) or (n, t, C)
        Predicted probabilities.
    sample_weight : array_like of shape (n,) or (n, t), or None
        Weights.
    clusters : array_like of shape (n,) or (n, t), or None
        Clusters.

    Raises
    ------
    InputError
        For shapes that do not go together, and for xarrays whose dimensions are no rows and classes.
    """
    shape = tuple(getattr(y_prob, "shape", ()))
    if library(y_prob) == "xarray":
        _refuse_grid(y_true, y_prob)
    if len(shape) != 3:
        return y_true, y_prob, sample_weight, clusters
    outcomes = np.shape(y_true)
    if outcomes != shape[:2]:
        if outcomes == (shape[0], shape[2]):
            raise InputError(
                f"y_prob: of shape {shape} with outcomes of shape {outcomes}: classes are the second axis. They must be"
                " the last one: pass y_prob.swapaxes(1, 2)."
            )
        raise InputError(
            f"y_prob: forecasts of shape {shape} need outcomes of shape {shape[:2]}, one for each token; got"
            f" {outcomes}."
        )
    y_prob = y_prob.to_numpy() if library(y_prob) == "xarray" else y_prob
    if sample_weight is not None and np.shape(sample_weight) == shape[:2]:
        sample_weight = _flat(sample_weight)
    if clusters is not None and np.shape(clusters) == shape[:1]:
        clusters = np.repeat(np.asarray(clusters), shape[1])
    elif clusters is not None and np.shape(clusters) == shape[:2]:
        clusters = _flat(clusters)
    return _flat(y_true), y_prob.reshape(-1, shape[2]), sample_weight, clusters


def _flat(array: Any) -> Any:
    return array.reshape(-1) if hasattr(array, "reshape") else np.asarray(array).reshape(-1)


def _refuse_grid(y_true: Any, y_prob: Any) -> None:
    """Refuse probabilities on a grid, such as of times and stations, which look like rows and classes."""
    if y_prob.ndim < 2 or library(y_true) != "xarray" or tuple(y_true.dims) != tuple(y_prob.dims):
        return
    names = ", ".join(map(repr, y_prob.dims))
    raise InputError(
        f"y_prob: an xarray of dimensions {names}, each value the probability of an event. Stack them into rows,"
        f" outcomes alike: y_prob = y_prob.stack(row=({names})). Coordinates are then columns to group by:"
        f" by={{{y_prob.dims[-1]!r}: y_prob[{y_prob.dims[-1]!r}].values}}."
    )


OF_NUMBERS = "If these are members of an ensemble or quantiles: --samples, --quantiles (Samples, Quantiles)."
"""Where to go with predictive distributions of a number."""

UNREADABLE = "not a number"
"""Why rows with text among their probabilities are invalid."""

_MISSING = "no label"
_MARKS = Option("na", "[]", "--na")
_COMMA = Option("decimal_comma", "True", "--decimal-comma")
_PERCENT = scale_option("percent")
_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*%?\s*")


_RANGES = {"probability": (0, 1), "percent": (0, 100), "log-probs": (-np.inf, 0), "logits": (-np.inf, np.inf)}
"""Of values as they come."""

_ENOUGH = 50
"""Rows of which one has a percentage above 1, unless these are fractions or the event is rare."""


class Values:
    """Values as they came, which show whether they are on the scale that is named."""

    def __init__(self, name: str, scale: str, binary: bool, drops: bool) -> None:
        self._name, self._scale, self._binary, self._drops = name, scale, binary, drops
        self._n, self._wrong, self._texts, self._lowest, self._highest = 0, 0, 0, np.inf, -np.inf

    def add(self, x: AnyFloats, text: Bools) -> None:
        """Add rows, (n, columns), and whether each holds text."""
        least, most = _RANGES[self._scale]
        self._n += len(x)
        self._texts += int(np.count_nonzero(text))
        self._wrong += int(np.count_nonzero(((x < least) | (x > most)).any(axis=1) | text))
        self._lowest = float(np.fmin.reduce(x, axis=None, initial=self._lowest))
        self._highest = float(np.fmax.reduce(x, axis=None, initial=self._highest))

    @property
    def fractions(self) -> bool:
        """Whether percentages of one column look like fractions."""
        return self._scale == "percent" and self._binary and self._highest <= 1

    def check(self, say: Callable[[str], None]) -> None:
        """Refuse to drop most rows, as a wrong scale does; say of percentages that they look like fractions."""
        if self._drops and 2 * self._wrong > self._n:
            hint = scale_hint(self._lowest, self._highest, self._binary)[0] or "Name another column, or repair them."
            if 2 * self._texts > self._wrong:
                hint = "Most of these hold no number; without this option an error shows the first."
            raise InputError(f"{self._name}: {DROP.flag} would take {self._wrong:,} of {self._n:,} rows. {hint}")
        if self.fractions and self._n >= _ENOUGH:
            say(f"{self._name}: none of {self._n:,} percentages is above 1; fractions take no {_PERCENT.flag}")


def refuse_mixed(values: Mapping[str, Values]) -> None:
    """Refuse percentages of several forecasters of which some look like fractions."""
    small = [name for name, each in values.items() if each.fractions]
    if small and len(small) < len(values):
        others = listed([name for name in values if name not in small])
        raise InputError(
            f"{_PERCENT.flag}: no percentage of {listed(small)} is above 1, others are. Use one scale. If those are"
            f" fractions, divide the numbers of {others} by 100 in the file, and leave out {_PERCENT.flag}."
        )


class Hint(NamedTuple):
    """How invalid values may be read, and the options that do so."""

    sentence: str
    options: tuple[Option, ...] = ()


@dataclass
class _Problem:
    """One reason for which rows are invalid."""

    rows: list[int] = field(default_factory=list)
    """Their numbers."""
    columns: set[Any] = field(default_factory=set)
    """Names of the columns at fault, where they are known."""
    example: str = ""


class Problems:
    """What is wrong with rows: gathered block by block, and put into one message.

    Parameters
    ----------
    names : (str, str)
        What the outcomes and the probabilities are called.
    columns : sequence
        Names of the columns of probabilities, or none.
    binary : bool
        Whether they are one column.
    rescaled : bool
        Whether rows have been divided by their sums.
    """

    def __init__(self, names: Sequence[str], columns: Sequence[Any], binary: bool, rescaled: bool) -> None:
        self._names, self._columns, self._binary, self._rescaled = names, columns, binary, rescaled
        self._found: dict[str, _Problem] = {}
        self._texts: dict[str, None] = {}
        self._decimal_comma = False
        self._lowest, self._highest = np.inf, -np.inf
        self._sum = 1.0

    def see_missing(self, rows: Ints) -> None:
        """Add rows without an outcome."""
        if rows.size:
            self._problem(_MISSING, rows)

    def see_text(self, rows: Ints, unreadable: Unreadable) -> None:
        """Add rows with text that is no number."""
        problem = self._problem(UNREADABLE, rows)
        self._decimal_comma = unreadable.decimal_comma
        for name, column in unreadable.texts.items():
            texts = [text for text in column if text is not None]
            if texts:
                problem.columns.add(name)
                problem.example = problem.example or f"{texts[0]!r:.80}"
                self._texts |= dict.fromkeys(texts)

    def see_values(self, reason: str, rows: Ints, values: AnyFloats, first: AnyFloats) -> None:
        """Add rows with other invalid values, as they are read, and the probabilities of the first.

        Parameters
        ----------
        reason : str
            Why they are invalid, as `row_problems` says it.
        rows : ndarray of shape (n,)
            Numbers of the rows.
        values : ndarray of shape (n, columns)
            Their values as they came.
        first : ndarray of shape (C,)
            Probabilities of the first of them.
        """
        problem, wrong = self._problem(reason, rows), wrong_values(reason, values)
        with np.errstate(invalid="ignore"):
            self._sum = float(first.sum(dtype=np.float64))
        if self._columns:
            problem.columns |= {self._columns[int(at)] for at in np.flatnonzero(wrong.any(axis=0))}
        if not problem.example:
            problem.example = _example(reason, values[0], wrong[0], first)

    def see_range(self, values: AnyFloats) -> None:
        """Add finite values, which show on which scale they are."""
        if values.size:
            self._lowest = min(self._lowest, float(values.min()))
            self._highest = max(self._highest, float(values.max()))

    def _problem(self, reason: str, rows: Ints) -> _Problem:
        problem = self._found.setdefault(reason, _Problem())
        problem.rows.extend(rows.tolist())
        return problem

    def error(self) -> InputError:
        """Make one error of all problems."""
        found = InputError(self.message())
        found.missing_outcomes = _MISSING in self._found
        return found

    def message(self) -> str:
        """Name every problem, and what mends it."""
        missing = self._found.get(_MISSING)
        lines = [] if missing is None else [f"{self._names[0]}: no label in {rows_text(missing.rows)}."]
        of_values = [self._line(reason, each) for reason, each in self._found.items() if each is not missing]
        if of_values:
            lines.append(f"{self._names[1]}: " + " ".join(of_values))
        hints = [*self._hints()]
        lines += [hint.sentence for hint in hints if hint.sentence]
        options = sorted({option: None for hint in hints for option in hint.options}, key=lambda each: each == DROP)
        if options[1:] and len(self._found.keys() - {UNREADABLE}) + len(_kinds(self._texts)) > 1:
            lines.append(f"All of it takes {_together(options)}.")
        return " ".join(lines)

    def _line(self, reason: str, problem: _Problem) -> str:
        names = [name for name in self._columns if name in problem.columns]
        where = f", column{'s' * (len(names) > 1)} {listed(names)}" if names else ""
        return f"{reason} in {rows_text(problem.rows)}{where}, for example {problem.example}."

    def _hints(self) -> Iterable[Hint]:
        reasons, kinds = self._found.keys(), _kinds(self._texts)
        yield from text_hints([*self._texts], self._decimal_comma)
        outside = "negative" in reasons or "above 1" in reasons
        rounding = outside and is_rounding(self._lowest, self._highest)
        if outside:
            sentence, option = scale_hint(self._lowest, self._highest, self._binary)
            yield Hint(sentence, () if "%" in kinds else (option or DROP,))
        if "sum not 1" in reasons and self._rescaled:
            yield Hint("A sum of 0 is nothing to divide by.", (DROP,))
        elif "sum not 1" in reasons:
            rule = f"Rows must sum to 1 within {SUM_TOLERANCE:g}"
            yield Hint(f"{rule}; {RESCALE} divides them by their sum.", (RESCALE,))
        if len(self._columns) > 1 and abs(self._sum - 1) > 0.5 and abs(self._sum - 100) > 2:
            yield Hint(OF_NUMBERS)
        if reasons == {UNREADABLE} and "" not in kinds:
            return
        remediable = {"sum not 1", *(("negative", "above 1") if rounding else ())}
        begin = "Or leave" if not self._rescaled and reasons <= remediable else "Repair such rows, or leave"
        begin = "Repair them, or leave" if reasons == {_MISSING} else begin
        only = (DROP,) if reasons & {_MISSING, "NaN", "infinite"} else ()
        yield Hint(f"{begin} them out with {DROP}.", only)


def _example(reason: str, values: AnyFloats, wrong: Bools, probabilities: AnyFloats) -> str:
    """Show what is invalid in a row."""
    if reason == "sum not 1":
        return f"a sum of {float(probabilities.sum(dtype=np.float64)):.6g}"
    if not wrong.any():  # only after conversion from logits, logarithms or percent
        return f"a value of {float(values[0]):.6g}"
    return f"{float(values[wrong][0])!r}"


def _kinds(texts: Iterable[str]) -> set[str]:
    """Say which kinds of text there are: with a comma, with a percent sign, marks of a missing value, "" for others."""
    kinds = set()
    for text in texts:
        word = text.strip()
        found = {"," if _WITH_COMMA.fullmatch(text) else "", "%" if word.endswith("%") else ""} - {""}
        kinds |= found or {"-" if word in USUAL_MARKS else ""}
    return kinds


def _together(options: Sequence[Option]) -> str:
    """Show several options at once; ways of treating invalid rows are one option with several values."""
    ways = [each for each in options if each.name == DROP.name]
    others = [each for each in options if each.name != DROP.name]
    keywords, flags = [f"{each.name}={each.value}" for each in others], [each.flag for each in others]
    if ways:
        values = ", ".join(each.value for each in ways)
        keywords.append(f"{DROP.name}={f'[{values}]' if ways[1:] else values}")
        flags.append(" ".join([ways[0].flag, *(each.flag.removeprefix("--invalid ") for each in ways[1:])]))
    return f"{', '.join(keywords)} ({' '.join(flags)})"


def text_hints(texts: Sequence[str], decimal_comma: bool) -> list[Hint]:
    """Say how texts would have to be spelled, or read, to be numbers."""
    hints, kinds = [], _kinds(texts)
    if "," in kinds and not decimal_comma:
        hints.append(Hint(f"Numbers like 0,5 in a text file are read with {_COMMA}.", (_COMMA,)))
    if "%" in kinds:
        hints.append(Hint(f"Percentages are read with {_PERCENT}.", (_PERCENT,)))
    if "-" in kinds:
        marks = list(dict.fromkeys(text.strip() for text in texts if text.strip() in USUAL_MARKS))
        begin = f"{listed(marks)} mark missing values" if marks[1:] else f"{marks[0]!r} marks a missing value"
        hints.append(Hint(f"If {begin}: {_together([_MARKS, DROP])}.", (_MARKS, DROP)))
    if "" in kinds:
        mark = "comma, no mark between thousands" if decimal_comma else "point"
        hints.append(Hint(f"Numbers have a decimal {mark}." if not hints else "", (DROP,)))
    return hints


def with_text(error: InputError, name: str, columns: Any, first_row: int) -> InputError:
    """Add the text among probabilities to an error of their outcomes, so that both can be mended at once.

    Parameters
    ----------
    error : InputError
        The error of the outcomes.
    name : str
        What errors call the probabilities.
    columns : Columns or DeviceColumns
        The probabilities.
    first_row : int
        Number of the first row.
    """
    unreadable = getattr(columns, "unreadable", None)
    if unreadable is None:
        return error
    problems, rows = Problems(("", name), columns.names or (), columns.n_columns == 1, False), unreadable.rows
    problems.see_text(first_row + np.flatnonzero(rows), unreadable[rows])
    return error.reworded(f"{error} {problems.message()}")
