"""Tables of graded answers: one row each, with grades, confidences, the question, the model and the answer itself."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from .._lib.formatting import short_name
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.group_keys import key_text, row_keys
from ..sources.columns import check_column
from ..sources.file_reading import named
from ..sources.readers import Options, Wanted
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

UNKNOWN_GRADE = "{count} left out: graded {grade}, which is neither right nor wrong; --wrong counts a grade as wrong"
TIED = "{count} left out: as many graders call the answer right as wrong"


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
    scale, words
        As in `stated_confidence`.
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
    table = _table([str(each) for each in ([files] if isinstance(files, str | Path) else files)], names, say)
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
    stated = {name: _confidences(table[column], scale, words, remarks) for name, column in confidences.items()}
    models = row_keys(table.select(model), table.height) if model else None
    model_names = [] if models is None else [key_text(key) for key in models.keys]
    return GradedAnswers(
        found,
        stated,
        _numbers(table, question) if question else np.arange(table.height),
        [""] * table.height if models is None else [model_names[at] for at in models.group.tolist()],
        table[answer].fill_null("").to_list() if answer else None,
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


def _table(files: Sequence[str], names: Sequence[str], say: Callable[[str], None]) -> pl.DataFrame:
    """Read the columns as texts; null for missing values."""
    parts = []
    for file in found_files(files):
        with named(file.name):
            source = open_source(file, None, Options(mentioned=names), say)
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


def _confidences(column: pl.Series, scale: float | None, words: Mapping[str, float] | None, remarks: Remarks) -> Floats:
    table: dict[str | None, float] = {None: math.nan}
    for text in column.drop_nulls().unique().to_list():
        table[text] = _confidence(text, scale, words)
    values = np.array([table[each] for each in column.to_list()], dtype=np.float64)
    unread = np.flatnonzero(np.isnan(values))
    if unread.size:
        example = short_name(repr(column[int(unread[0])] or ""), _SHOWN)
        where = f"could be read from the column {column.name!r}, for example from {example}"
        remarks.add(f"{{count}}: no confidence {where}", "answer", int(unread.size))
    return values


def _confidence(text: str, scale: float | None, words: Mapping[str, float] | None) -> float:
    try:
        value = float(text) / (scale or 1.0)
        return value if 0 <= value <= 1 else math.nan
    except ValueError:
        found = stated_confidence(text, scale=scale, words=words)
        return math.nan if found is None else found


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


_NUMBER = r"(?<![\w.,])(\d{1,15}(?:\.\d+)?|\.\d+)"  # longer numbers state no confidence, and overflow
_PERCENT = re.compile(_NUMBER + r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_RATIO = re.compile(_NUMBER + r"\s*(?:/|out of)\s*(\d{1,15})(?![\w/]|\.\d)", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:confidence|confident|probability|certainty|certain)\b[^\d.\n]{0,20}?" + _NUMBER + r"(?![\w%/]|\.\d)",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\s*" + _NUMBER + r"\s*\.?\s*")


def stated_confidence(
    text: str, *, scale: float | None = None, words: Mapping[str, float] | None = None
) -> float | None:
    """Read the confidence that a text states, as a probability.

    Parameters
    ----------
    text : str
        What the model wrote.
    scale : float, optional
        Highest value of a bare number, such as 10 or 100. Without it a bare number is read only if it is written with a
        decimal point and at most 1.
    words : mapping of str to float, optional
        Your own table of phrases and their probabilities. The longest phrase counts; numbers come before phrases.

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
    Read are percentages ("65%", "65 percent"), ratios ("7/10", "7 out of 10"), and bare numbers behind *confidence*,
    *confident*, *probability*, *certainty* or *certain*, or alone. The last one in the text counts. A number out of
    range is not read.

    Examples
    --------
    >>> from unperplexed.language_models import stated_confidence
    >>> [stated_confidence(each) for each in ("Paris. I am 65% sure.", "Confidence: 7/10", "0.8", "Confidence: 8")]
    [0.65, 0.7, 0.8, None]
    >>> stated_confidence("Confidence: 8", scale=10)
    0.8
    >>> stated_confidence("Fairly sure it is Paris.", words={"sure": 0.9, "fairly sure": 0.75})
    0.75
    """
    if scale is not None and not scale > 0:
        raise InputError(f"scale: expected the highest value of a stated confidence, such as 10 or 100, got {scale!r}.")
    table = {phrase.casefold(): float(p) for phrase, p in (words or {}).items()}
    for phrase, p in table.items():
        if not 0 <= p <= 1:
            raise InputError(f"words: {phrase!r} has {p:g}; expected a probability from 0 to 1.")
    plain = text.replace("*", "").replace("_", " ")
    found = [(each.start(1), float(each[1]) / 100) for each in _PERCENT.finditer(plain)]
    found += [(each.start(1), float(each[1]) / int(each[2])) for each in _RATIO.finditer(plain) if int(each[2])]
    whole = _ALONE.fullmatch(plain)
    bare = chain(_NAMED.finditer(plain), [whole] if whole else [])
    found += [(each.start(1), float(each[1]) / (scale or 1.0)) for each in bare if scale is not None or "." in each[1]]
    inside = [(at, p) for at, p in found if 0 <= p <= 1]
    if inside:
        return max(inside)[1]
    known = [phrase for phrase in table if re.search(rf"\b{re.escape(phrase)}\b", plain.casefold())]
    return table[max(known, key=len)] if known and not found else None
