"""Tables of graded answers: one row each, with grades, confidences, the question, the model and the answer itself."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from .._lib.formatting import short_name
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.group_keys import key_text, row_keys
from ..recalibration.recalibrator import Recalibrator
from ..sources.columns import check_column
from ..sources.file_reading import FileReading, named
from ..sources.readers import Wanted
from ..sources.readers.formats import found_files, open_source
from .items import Answer, Remarks

GRADES = {
    **dict.fromkeys(("correct", "right", "true", "yes", "pass", "passed", "c"), 1.0),
    **dict.fromkeys(("incorrect", "wrong", "false", "no", "fail", "failed", "i", "n"), 0.0),
    **dict.fromkeys(("partial", "partially correct", "p"), 0.5),
}
"""Words of grades, in any case; numbers from 0 to 1 are grades as they are."""

_SHOWN = 30
"""Characters of a cell that a remark shows."""
_LISTED = 10
"""Rows that a remark shows."""

UNKNOWN_GRADE = "{count} left out: graded {grade}, which is neither right nor wrong; --wrong counts a grade as wrong"
SCALE = "numbers without a unit in the column {column!r} were divided by {own:g}, as the column shows"
DOUBTFUL = "{{count}} in the column {column!r}: a doubtful confidence, {done} ({shown}; rows counted from 0)"
TIED = "{count} left out: as many graders call the answer right as wrong"


class Judged(NamedTuple):
    """Answers that are right or wrong and have a confidence."""

    chosen: Bools
    """Which of all answers these are."""
    right: Ints
    confidence: Floats
    question: Ints
    """Number of the question of each, from 0."""

    @classmethod
    def of(cls, grade: Floats, confidence: Floats, question: Ints) -> Judged:
        """Choose them."""
        chosen = np.isin(grade, (0, 1)) & ~np.isnan(confidence)
        number = np.unique(question[chosen], return_inverse=True)[1].reshape(-1)
        return cls(chosen, grade[chosen].astype(np.int64), confidence[chosen], number)

    @property
    def clusters(self) -> Ints | None:
        """The questions, unless each has one answer."""
        return self.question if self.question.max(initial=-1) + 1 < self.question.size else None

    def recalibrator(self, seed: int) -> Recalibrator:
        """Fit the map that recalibrates the confidence, answers to a question in one fold."""
        return Recalibrator(seed=seed).fit(self.right, self.confidence, clusters=self.clusters)


class GradedAnswers(Frozen, eq=False):
    """Columns of graded answers."""

    grades: dict[str, Floats]
    """By grader: 1 is right and 0 wrong, NaN not graded."""
    confidences: dict[str, Floats]
    """By name: the probability that the answer is right, NaN where there is none."""
    question: Ints
    """Number of the question of each answer."""
    model: list[str]
    """Name of the model that gave each answer; "" without models."""
    answer: list[str] | None = None
    by: str = "model"
    """What models are called: the column that names them, if its values are numbers."""

    def recalibrator(self, confidence: str, model: str = "", seed: int = 0) -> Recalibrator:
        """Fit the map that recalibrates a confidence in a model's answers, those to a question in one fold."""
        own = np.array(self.model) == model
        return Judged.of(self.grade[own], self.confidences[confidence][own], self.question[own]).recalibrator(seed)

    @property
    def grade(self) -> Floats:
        """Grade of the majority: 1 or 0 by most graders, 0.5 where as many call it right as wrong; NaN without any."""
        if len(self.grades) == 1:
            return next(iter(self.grades.values()))
        table = np.stack([*self.grades.values()])
        known = ~np.isnan(table)
        with np.errstate(invalid="ignore"):
            mean = np.where(known, table, 0.0).sum(0) / known.sum(0)
        return np.where(np.isnan(mean), np.nan, np.where(mean > 0.5, 1.0, np.where(mean < 0.5, 0.0, 0.5)))


def read_answers(
    files: str | Path | Sequence[str | Path],
    grades: Sequence[str],
    confidences: Mapping[str, str] | None = None,
    *,
    question: Sequence[str] = (),
    model: Sequence[str] = (),
    answer: str | None = None,
    wrong: Sequence[str] = (),
    scale: float | None = None,
    words: Mapping[str, float] | None = None,
    doubtful: bool = False,
    separator: str | None = None,
    remarks: Remarks | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> GradedAnswers:
    """Read a table of graded answers: CSV, Parquet or any other format of ``unperplexed assess``.

    Parameters
    ----------
    files : file or sequence of files
        Tables with one row for each answer.
    grades : sequence of str
        Columns of grades, one for each grader: words such as Correct and Wrong, or numbers from 0 to 1.
    confidences : mapping of str to str, optional
        Columns of confidences by their names: probabilities, or texts that `stated_confidence` reads.
    question, model : sequence of str
        Columns whose values name the question, and the model. Without ``question`` answers are independent.
    answer : str, optional
        Column of the answers themselves.
    wrong : sequence of str
        Further grades that count as wrong, such as Unparseable.
    scale, words, doubtful
        As in `stated_confidence`. Without ``scale`` the numbers of a whole column show it, which a remark says.
    separator : str, optional
        Separator of the fields of a text file, such as ``" "``; by default a comma, or a tab in ``.tsv``.
    remarks : Remarks, optional
        Takes up what was left out.
    say : callable, optional
        Takes sentences about the files.

    Returns
    -------
    GradedAnswers

    Raises
    ------
    InputError
        For files and columns that cannot be read, and where no grade is known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unperplexed.language_models import read_answers
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "graded.csv"
    >>> size = path.write_text("grade,stated\\nCorrect,90%\\nWrong,I am 60% sure\\nUnparseable,\\n")
    >>> found = read_answers(path, ["grade"], {"stated": "stated"})
    >>> found.grades["grade"], found.confidences["stated"]
    (array([ 1.,  0., nan]), array([0.9, 0.6, nan]))
    """
    remarks = Remarks() if remarks is None else remarks
    confidences = dict(confidences or {})
    names = [*grades, *confidences.values(), *question, *model, *([answer] if answer else [])]
    table = _table([str(each) for each in ([files] if isinstance(files, str | Path) else files)], names, separator, say)
    if not table.height:
        raise InputError("answers: no rows.")
    zero = {each.strip().casefold() for each in wrong}
    found = {name: _grades(table[name], zero, remarks) for name in grades}
    if all(np.isnan(each).all() for each in found.values()):
        seen = ", ".join(map(repr, table[grades[0]].drop_nulls().unique().sort().to_list()[:5]))
        raise InputError(
            f"{grades[0]}: no grade is known; its values are {seen}. Known are {', '.join(GRADES)} and numbers from 0"
            " to 1; with --wrong others count as wrong."
        )
    phrases = _checked(scale, words)
    stated = {
        name: _confidences(table[column], scale, phrases, doubtful, remarks) for name, column in confidences.items()
    }
    models = row_keys(table.select(model), table.height) if model else None
    model_names = [] if models is None else [key_text(key) for key in models.keys]
    return GradedAnswers(
        found,
        stated,
        _numbers(table, question) if question else np.arange(table.height),
        [""] * table.height if models is None else [model_names[at] for at in models.group.tolist()],
        table[answer].fill_null("").to_list() if answer else None,
        model[0] if len(model) == 1 and table[model[0]].cast(pl.Float64, strict=False).is_not_null().all() else "model",
    )


def epoch_answers(answers: Iterable[Answer]) -> GradedAnswers:
    """Make a table of the answers in a log, a row for each sample of a question, graded by one or several scorers."""
    rows: dict[tuple[str, str, int], list[Answer]] = {}
    for each in answers:
        rows.setdefault((each.model, each.name, each.epoch), []).append(each)
    first = [some[0] for some in rows.values()]
    graders = sorted({each.grader for some in rows.values() for each in some})
    grades = {name: np.full(len(rows), np.nan) for name in graders}
    for at, some in enumerate(rows.values()):
        for each in some:
            grades[each.grader][at] = each.grade
    kinds = {
        "stated": np.array([_known(each.confidence for each in some) for some in rows.values()]),
        "tokens": np.array([_known(each.per_token for each in some) for some in rows.values()]),
    }
    return GradedAnswers(
        grades,
        {name: each for name, each in kinds.items() if not np.isnan(each).all()},
        np.unique([each.name for each in first], return_inverse=True)[1].reshape(-1),
        [each.model for each in first],
        [each.text for each in first],
    )


def _known(values: Iterable[float | None]) -> float:
    return next((each for each in values if each is not None), math.nan)


def _table(files: list[str], names: list[str], separator: str | None, say: Callable[[str], None]) -> pl.DataFrame:
    """Read the columns as texts; null for missing values."""
    parts = []
    for file in found_files(files):
        with named(file.name):
            source = open_source(file, None, FileReading(separator=separator).written(names), say)
            for name in names:
                check_column(name, source)
            for batch in source.batches(Wanted(raw=names)):
                columns = {name: pl.Series(name, batch.raw[name]).cast(pl.String) for name in dict.fromkeys(names)}
                parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def _numbers(table: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """Number questions in the order of their texts, by which folds are drawn; an empty cell is a value of its own."""
    keys = table.select(pl.concat_str(pl.col(columns).fill_null("\1"), separator="\0")).to_series()
    return np.unique(keys.to_numpy().astype(str), return_inverse=True)[1].reshape(-1)


def _grades(column: pl.Series, wrong: set[str], remarks: Remarks) -> Floats:
    counted = column.value_counts(sort=True)
    table: dict[str | None, float] = {}
    for text, n in counted.rows():
        table[text] = _grade(text, wrong)
        if math.isnan(table[text]):
            grade = "nothing" if text is None else repr(short_name(text, _SHOWN))
            remarks.add(UNKNOWN_GRADE.replace("{grade}", grade), "answer", n)
    return np.array([table[each] for each in column.to_list()], dtype=np.float64)


def _grade(text: str | None, wrong: set[str]) -> float:
    word = (text or "").strip().casefold()
    if word in wrong:
        return 0.0
    if word in GRADES:
        return GRADES[word]
    try:
        value = float(word)
    except ValueError:
        return math.nan
    return value if 0 <= value <= 1 else math.nan


def _confidences(
    column: pl.Series, scale: float | None, table: Mapping[str, float], doubtful: bool, remarks: Remarks
) -> Floats:
    """Read a column of confidences, whose scale is recognised by all of its numbers."""
    cells = column.to_list()
    found = {text: _stated(text) for text in column.drop_nulls().unique().to_list()}
    own = scale or _common_scale(map(found.get, cells))
    if own and own > 1 and not scale:
        remarks.add(SCALE.format(column=column.name, own=own))
    read = {text: _probability(text, each, own, table, doubtful) for text, each in found.items()}
    values = np.array([read.get(text, math.nan) for text in cells], dtype=np.float64)
    unclear = np.array([each is not None and not each.clear for each in map(found.get, cells)], dtype=np.bool_)
    listed = np.flatnonzero(unclear & (np.isnan(values) != doubtful))
    if listed.size:
        shown = "; ".join(f"row {at}: {short_name(cells[at], _SHOWN)!r}" for at in listed[:_LISTED].tolist())
        done = "which was read" if doubtful else "left out; --invalid keep reads it"
        remarks.add(DOUBTFUL.format(column=column.name, done=done, shown=shown), "answer", listed.size)
    unread = np.flatnonzero(np.isnan(values) & ~unclear)
    if unread.size:
        example = short_name(repr(column[int(unread[0])] or ""), _SHOWN)
        hint = "" if own else "; --scale names the highest number without a unit (5 of 1 to 5), --words what each means"
        where = f"could be read from the column {column.name!r}, for example from {example}{hint}"
        remarks.add(f"{{count}}: no confidence {where}", "answer", int(unread.size))
    return values


def read_words(path: str | Path) -> dict[str, float]:
    """Read a user's table of phrases and their probabilities: a JSON object."""
    try:
        found = json.loads(Path(path).read_bytes())
        return {str(phrase): float(p) for phrase, p in found.items()}
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}.") from None
    except (ValueError, TypeError, AttributeError):
        raise InputError(f'{path}: expected a JSON object of phrases, such as {{"fairly sure": 0.75}}.') from None


def decided(grade: Floats, remarks: Remarks, graders: int) -> Bools:
    """Answers that are right or wrong; counts those that graders are split over."""
    split = int((grade == 0.5).sum())
    if split and graders > 1:
        remarks.add(TIED, "answer", split)
    return np.asarray((grade == 0) | (grade == 1))


def grader_agreement(grades: Mapping[str, Floats]) -> list[tuple[str, str, float, float, int]]:
    """Return for each two graders the share of equal grades, Cohen's kappa, and the answers that both graded."""
    found = []
    for (one, x), (two, y) in combinations(grades.items(), 2):
        both = ~(np.isnan(x) | np.isnan(y))
        if not both.any():
            continue
        one_right, two_right = x[both] > 0.5, y[both] > 0.5
        same, of_one, of_two = (float(each.mean()) for each in (one_right == two_right, one_right, two_right))
        chance = of_one * of_two + (1 - of_one) * (1 - of_two)
        found.append((one, two, same, (same - chance) / (1 - chance) if chance < 1 else math.nan, int(both.sum())))
    return found


_N = r"(\d{1,15}(?:\.\d+)?|\.\d+)"  # longer numbers state no confidence, and overflow
_VALUE = re.compile(
    rf"(?<![\w.,/–-]){_N}(?:\s*%?\s*(?:-|–|\bto\b)\s*{_N})?\s*(%|percent\b|per cent\b|(?:/|out of)\s*(\d{{1,15}}))?"
    r"(?![\w/%]|[.,]\d)"
)
_SCALE = re.compile(
    r"(?:\bscale (?:of|from)|\bfrom|[(\[](?:on a scale (?:of|from))?)\s*[01]\s*(?:-|–|to)\s*"
    r"(100|10|7|5|1)\s*%?\s*[)\]]?"
)
_STOP = re.compile(r"(?<!\bconf)[.!?;](?=\s|$)|(?<!:)(?<!: )\n")
"""Where a statement ends."""

_WRITTEN = (
    (re.compile(r"[*`\"<>|{}_]"), " "),
    (re.compile("’"), "'"),
    (re.compile(r"\b(?:50\s*/\s*50|fifty-fifty)\b"), "50%"),
    (re.compile(rf"\bbetween\s+{_N}(\s*%?)\s+and\s"), r"\1\2 to "),
    (re.compile(rf"(?:(%)\s*)?(?:\+\s?/?\s?-|±)\s*{_N}(?(1)\s*%?)"), r"\1 "),
)
"""Markup and spellings, and how they are read."""

_HEDGES = r"about|around|roughly|approximately|maybe|perhaps|say|only|just|probably|be|an?|the|at|of|i'd|i would|put"
_HEDGE = rf"\W*(?:(?:{_HEDGES})\b[\s~≈]*)*"
_ALONE = re.compile(rf"(?:\W|\b(?:{_HEDGES}|i think)\b)*")
_NOUN = r"(?<!consumer |business |investor )(?<!public )(?<!self-)\b(?:confidence|conf|(?:un)?certainty|credence)\b"
_SURE = "confident|certain|sure|confidence|certainty|credence"
_STATISTICS = r"(?!\s*(?:intervals?|index|bands?|bounds?|limits?|regions?|thresholds?)\b)"
_TRUST = r"(?! in (?!(?:my|being|this|that|it)\b|(?:the )?(?:answer|response|result|solution|option|choice|predict)))"
_CHANCE = r"\b(?:probability|prob|chances?|likelihood|likely|odds|p\((?:correct|true)\))"
_JOINED = r"(?:[:=(,–—-]|->|\b(?:is|of|at|as|(?:would |to )?be)\b)"
_AFTER = re.compile(rf"{_HEDGE}(?:{_SURE}|unsure|conf|guess)\b(?! level){_STATISTICS}")
_LABEL = re.compile(
    rf"{_NOUN}{_STATISTICS}{_TRUST}(?:[^?]{{0,90}}?{_JOINED})?{_HEDGE}$|(?:^|,)\W*{_CHANCE}\s*[:=]\s*[~≈]?$"
)
_WORDS = re.compile(r"conf|certain|sure|creden|guess|prob|chance|likel|odds|\bp\(|\bi\b")
"""What stands beside every number that states something, so that others cost little."""
_ENDS = re.compile(r"\s*(?:$|[^\w\s]|\w+\s*:)")
_BEFORE = re.compile(
    r"\b(?:confident|certain|(?<=\w )(?:un)?sure)(?: (?:about|in|of) (?:it|th\w+)(?: \w+)?)?\s*"
    rf"(?:[:=(,–—-]|\bat\b){_HEDGE}$"
    r"|\bi(?:'d| would| will)? (?:give|put|rate|assign) (?:(?:it|this|that|my \w+|the answer) )?(?:an? |at )?$"
    r"|\bi(?:'m| am) $"
)
_LIKELY_BEFORE, _LIKELY_AFTER = re.compile(rf"{_CHANCE}[^\d]*$"), re.compile(rf"\s*{_CHANCE}")
_NOT = r"(?:\bnot|n't) (?:\w+ )?"
_WRONG = r"\b(?:wrong|incorrect|mistaken)\b(?! (?:to|for)\b)"
_RIGHT = r"\b(?:right|correct(?:ness|ly)?|true)\b"
_OUTCOME = re.compile(
    rf"({_NOT})?(?:({_WRONG}|\b(?:error|confused)\b)|{_RIGHT})"
    rf"|\bthe answer is\b(?! not\b| (?:\w+ )?{_WRONG})|\bi believe\b"
)
_IS_WRONG = (
    r"(?:(?: that)? (?:i|it|this|that|(?:my|the|this|that) (?:answer|response|guess|choice))(?:'[ms]| am| is| was)"
    rf"|(?: of| in)? being)(?: (?!not\b)\w+)?(?: {_WRONG}| ?{_NOT}{_RIGHT})"
)
_UNSURE_AFTER = re.compile(rf"\W*(?:\w+ )?un(?:sure|certain)|\s*{_WRONG}|\s*\w+{_IS_WRONG}")
_UNSURE_BEFORE = re.compile(rf"\buncertainty\b[^,]*$|\b(?:{_SURE}){_IS_WRONG}[^,]*$")
_OTHERS = re.compile(r"\b(?:he|she|they|you|who|was|were|are|people|experts|respondents|doctors) (?:[\w']+ ){0,3}$")
_DENIED = re.compile(r"(?:\b(?:not|cannot|nobody|never|hard)\b|n't\b)[^,:(–—]*$")
_DENIED_AFTER = re.compile(rf"\s*{_NOT}(?:{_SURE})\b")
_SUPPOSED = re.compile(r"\b(?:would mean|must|need|if(?! i had)|am i)\b")
_BOUND = re.compile(
    r"(?:\b(?:more|less|fewer|greater) than|\b(?:over|under|above|below|at least|at most|up to)|[<>≥≤])\s*$"
)
_FINAL = re.compile(r"\b(?:final|overall|now|revised|updated)\b")


class _Number(NamedTuple):
    """A number in a text that may state a confidence."""

    value: float
    """As it is written; the middle of a range."""
    top: float
    """Highest value that it may have; NaN where the text does not say so."""
    doubt: bool = False
    """Whether it is the probability of being wrong."""
    clear: bool = True
    final: bool = False
    fraction: bool = False
    """Whether it is up to 1 and written with a decimal point."""

    def probability(self, scale: float | None) -> float:
        """Give it as a probability; NaN where its scale is unknown, or where it is out of range.

        On a larger scale a number such as 0.9 is not read either, since it may be a probability.
        """
        top = self.top
        if math.isnan(top) and scale and not (scale > 1 and 0 < self.value < 1):
            top = scale
        p = self.value / top if top > 0 else math.nan
        return (1 - p if self.doubt else p) if 0 <= p <= 1 else math.nan


def _numbers_in(text: str) -> Iterator[_Number]:
    """Find the numbers of a text that have a unit, and those beside a word of confidence."""
    plain = text.casefold()
    for pattern, instead in _WRITTEN:
        plain = pattern.sub(instead, plain)
    scale = _SCALE.search(plain)
    plain = _SCALE.sub(" ", plain)
    stops = [0, *(each.end() for each in _STOP.finditer(plain)), len(plain)]
    words = [each.start() for each in _WORDS.finditer(plain)]
    for each in _VALUE.finditer(plain):
        first, last = stops[bisect_right(stops, each.start()) - 1], stops[bisect_left(stops, each.end())]
        before = plain[max(first, each.start() - _REACH) : each.start()]
        after = plain[each.end() : min(last, each.end() + _REACH)]
        low, high, unit, of = each.groups()
        value = float(low) if high is None else (float(low) + float(high)) / 2
        top = float(of) if of else 100.0 if unit else float(scale[1]) if scale else math.nan
        fraction = value <= 1 and "." in low
        near = bisect_left(words, each.start() - _REACH) < bisect_left(words, each.end() + _REACH)
        said = _beside(before, after, bool(unit), fraction) if near else ""
        said = "alone" if _is_alone(plain, each) else said
        if unit or said:
            clear = bool(said) and not _BOUND.search(before)
            top = 1.0 if said == "chance" and not unit else top
            yield _Number(value, top, _is_doubt(said, before, after), clear, bool(_FINAL.search(before)), fraction)


def _is_alone(plain: str, number: re.Match[str]) -> bool:
    """Whether a text has no other words than "about", "I'd say" and their like."""
    if len(plain) > 3 * _REACH:
        return False
    rest = plain[: number.start()], plain[number.end() :]
    return all(_ALONE.fullmatch(each) for each in rest)


def _beside(before: str, after: str, unit: bool, fraction: bool) -> str:
    """Say beside which words a number stands: a confidence, a chance of being right or wrong, or "" for none."""
    whole = before + after
    denied = _DENIED.search(before) or _DENIED_AFTER.match(after)
    if denied or _SUPPOSED.search(whole) or after.rstrip().endswith("?"):
        return ""
    known, others = unit or fraction, _OTHERS.search(before)
    spoken = _AFTER.match(after) and not others and not before.endswith(" at ")
    labelled = _LABEL.search(before if known else re.split(r"\d", before)[-1]) and (known or _ENDS.match(after))
    if (known and spoken) or ((labelled or (known and _BEFORE.search(before))) and not after.startswith(" of ")):
        return "confidence"
    near = _LIKELY_BEFORE.search(before) or (not others and _LIKELY_AFTER.match(after))
    return "chance" if known and near and _OUTCOME.search(whole) else ""


def _is_doubt(said: str, before: str, after: str) -> bool:
    """Whether a number is the probability of being wrong."""
    if said == "confidence" and not _LIKELY_AFTER.match(after):
        return bool(_UNSURE_AFTER.match(after) or _UNSURE_BEFORE.search(before))
    if said not in ("chance", "confidence"):
        return False
    outcomes = [*_OUTCOME.finditer(after), *reversed([*_OUTCOME.finditer(before)])]
    return any((each[1] is None) != (each[2] is None) for each in outcomes[:1])


def _stated(text: str) -> _Number | None:
    """Find the number that states the confidence; unclear where several differ, or none stands beside its word."""
    try:
        return _Number(float(text), math.nan, fraction="." in text and 0 <= float(text) <= 1)
    except ValueError:
        numbers = [*_numbers_in(text)]
    clear = [each for each in numbers if each.clear]
    if not clear:
        return numbers[-1] if numbers else None
    alike = len({each[:3] for each in clear}) == 1 or clear[-1].final
    return clear[-1]._replace(clear=alike)


def _common_scale(numbers: Iterable[_Number | None]) -> float | None:
    """Recognise the highest value of numbers without a unit; None where it is not clear.

    It is 1 if most of them are between 0 and 1, or none is above 1 (a single one if it is written as 1.0); else 100 if
    others are percentages, else by the largest of them.
    """
    clear = [each for each in numbers if each and each.clear]
    bare = [each for each in clear if math.isnan(each.top) and 0 <= each.value <= 100]
    most, fractions = max((each.value for each in bare), default=0.0), sum(0 < each.value < 1 for each in bare)
    written = len(bare) > 1 or any(each.fraction for each in bare)
    if 2 * fractions > len(bare) or most == 0 or (most <= 1 and written):
        return 1.0
    if most > 10 or (most > 1 and any(each.top == 100 for each in clear)):
        return 100.0
    return 10.0 if most > 5 and len(bare) >= _FEWEST_OF_TEN else None


_REACH = 200
"""Characters before and after a number that are read with it."""
_FEWEST_OF_TEN = 10
"""Numbers up to 10 from which on a scale of ten is recognised."""


def stated_confidence(
    text: str, *, scale: float | None = None, words: Mapping[str, float] | None = None, doubtful: bool = False
) -> float | None:
    """Read the confidence that a text states, as a probability.

    Parameters
    ----------
    text : str
        What the model wrote.
    scale : float, optional
        Highest value of a bare number, such as 10 or 100, of which 0.9 is then not read. Without it a bare number is
        read as a probability if it is below 1, or 1.0, and as a percentage if it is above 10.
    words : mapping of str to float, optional
        Your own table of phrases and their probabilities. The longest phrase counts; numbers come before phrases.
    doubtful : bool, default False
        Also read the last percentage or ratio of a text in which no number stands beside a word of confidence, or in
        which several confidences differ.

    Returns
    -------
    float or None
        From 0 to 1; None where nothing is read, so that it can be counted.

    Raises
    ------
    InputError
        For a scale that is not positive, and a probability of a phrase outside [0, 1].

    Notes
    -----
    Percentages ("65%", "65 percent"), ratios ("7/10", "7 out of 10") and bare numbers are read if they stand alone or
    beside a word of confidence, such as *confidence*, *sure* or *certain*, or beside a *chance* or *probability* of
    being right or wrong. The probability of being wrong is subtracted from 1, and a range is its middle. A number out
    of range is not read, nor one that is denied ("not 100% sure") or somebody else's ("experts are 95% certain").

    Examples
    --------
    >>> from unperplexed.language_models import stated_confidence
    >>> [stated_confidence(each) for each in ("Paris. I am 65% sure.", "Confidence: 7/10", "0.8", "Confidence: 8")]
    [0.65, 0.7, 0.8, None]
    >>> [stated_confidence(each) for each in ("A 20% chance that I'm wrong.", "90-95% sure", "The answer is 42%.")]
    [0.8, 0.925, None]
    >>> stated_confidence("Confidence: 8", scale=10)
    0.8
    >>> stated_confidence("Fairly sure it is Paris.", words={"sure": 0.9, "fairly sure": 0.75})
    0.75
    """
    table = _checked(scale, words)
    number = _stated(text)
    p = _probability(text, number, scale or _common_scale([number]), table, doubtful)
    return None if math.isnan(p) else p


def _checked(scale: float | None, words: Mapping[str, float] | None) -> dict[str, float]:
    """Check a scale and give the table of phrases."""
    if scale is not None and not scale > 0:
        raise InputError(f"scale: expected the highest value of a stated confidence, such as 10 or 100, got {scale!r}.")
    table = {phrase.casefold(): float(p) for phrase, p in (words or {}).items()}
    for phrase, p in table.items():
        if not 0 <= p <= 1:
            raise InputError(f"words: {phrase!r} has {p:g}; expected a probability from 0 to 1.")
    return table


def _probability(
    text: str, number: _Number | None, scale: float | None, table: Mapping[str, float], doubtful: bool
) -> float:
    """Give the probability of a number, or of the longest phrase of a text without a clear one; NaN for none."""
    if number is not None and number.clear:
        bare = f"{number.value:g}" if math.isnan(number.top) else ""
        return table[bare] if bare in table else number.probability(scale)
    known = [phrase for phrase in table if re.search(rf"\b{re.escape(phrase)}\b", text.casefold())]
    if known:
        return table[max(known, key=len)]
    return number.probability(scale) if number is not None and doubtful else math.nan
