"""The error of invalid rows: every problem with its rows, and the options that mend them all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._lib.arrays import Unreadable
from .._lib.errors import InputError, listed, rows_text
from .._lib.typing import AnyFloats, Bools, Ints
from ..kernels.rows import SUM_TOLERANCE
from .labels import USUAL_MARKS
from .row_checks import DROP, RESCALE, Option, is_rounding, scale_hint, scale_option, wrong_values

UNREADABLE = "not a number"
"""Why rows with text among their probabilities are invalid."""

_MISSING = "no label"
_MARKS = Option("na", "[]", "--na")
_COMMA = Option("decimal_comma", "True", "--decimal-comma")
_PERCENT = scale_option("percent")
_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*%?\s*")


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
            Why they are invalid, as `problems_of_rows` says it.
        rows : ndarray of shape (n,)
            Numbers of the rows.
        values : ndarray of shape (n, columns)
            Their values as they came.
        first : ndarray of shape (C,)
            Probabilities of the first of them.
        """
        problem, wrong = self._problem(reason, rows), wrong_values(reason, values)
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
