"""Files of forecasts and outcomes in, checked forecasts out."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ._readers import Column, Source, open_source
from .errors import InputError, listed
from .forecasts import Forecasts
from .labels import Label, plain

_MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

_TRUTH_NAMES = ("truth", "y_true", "y", "outcome", "label", "labels", "target", "ground_truth", "happened")
_PROB_NAMES = (
    "prob",
    "y_prob",
    "probability",
    "probs",
    "probabilities",
    "p",
    "predictions",
    "y_proba",
    "forecast",
)


@dataclass(frozen=True)
class Selection:
    """Which columns (of an NPZ file: arrays) hold what. Empty where the file may tell."""

    truth: Sequence[str] = ()
    """The outcome's column, or one-hot columns."""
    prob: Sequence[str] = ()
    """Probability columns, each plain or as label=column."""
    pairs: Sequence[str] = ()
    """Several binary forecasts a row, each as probability=outcome."""
    weight: str | None = None


@dataclass(frozen=True)
class Reading:
    """How rows are to be read: the options of `Forecasts`, with labels still as text."""

    labels: Sequence[str] | None = None
    pos_label: str | None = None
    ignore_label: Sequence[str] | None = None
    separator: str = ","
    options: dict[str, bool] = field(default_factory=dict)
    """renormalize, drop_invalid, percent, from_logits, from_log_probs."""


def read_forecasts(path: Path, selection: Selection, reading: Reading) -> tuple[list[Forecasts], list[str]]:
    """Read a file's forecasts; also give the sentences that say which columns were chosen unasked."""
    try:
        file = open_source(path, reading.separator)
        selection, said = _completed(selection, file)
        if selection.pairs:
            return _paired(file, selection, reading), said
        return [_forecasts(file, selection, reading)], said
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except MemoryError:
        raise InputError(f"{path}: does not fit in memory.") from None


def _completed(selection: Selection, file: Source) -> tuple[Selection, list[str]]:
    """Fill in columns that were not named where only one choice is possible, and say which."""
    if selection.pairs:
        if selection.truth or selection.prob:
            raise InputError("--pair names both columns; leave out --truth and --prob.")
        return selection, []
    truth, prob, said = list(selection.truth), list(selection.prob), []
    taken = {*truth, *(_split_label(text, file)[1] for text in prob), selection.weight}
    if not truth:
        truth = [_only_choice("truth", "outcome", file, taken, _TRUTH_NAMES, _may_be_truth)]
        said.append(f"outcomes from {truth[0]!r}")
    if not prob:
        prob = [_only_choice("prob", "probability", file, {*taken, *truth}, _PROB_NAMES, _may_be_prob)]
        said.append(f"probabilities from {prob[0]!r}")
    return Selection(truth, prob, (), selection.weight), said


def _may_be_truth(shape: tuple[int, ...], kind: str) -> bool:
    return len(shape) == 1 and kind in "iubUS"


def _may_be_prob(shape: tuple[int, ...], kind: str) -> bool:
    return len(shape) == 2 and kind == "f"


def _only_choice(
    option: str,
    what: str,
    file: Source,
    taken: set[str | None],
    usual: Sequence[str],
    possible: Callable[[tuple[int, ...], str], bool],
) -> str:
    """Name the one column that can be meant: by its array's shape in NPZ, by a usual name else."""
    if file.shapes:
        choices = [name for name, (shape, kind) in file.shapes.items() if name not in taken and possible(shape, kind)]
    else:
        choices = [name for name in file.names if name not in taken and name.lower() in usual]
    named = [name for name in choices if name.lower() in usual]
    if len(choices) == 1 or len(named) == 1:
        return (named or choices)[0]
    found = f"could be {', '.join(map(repr, choices))}" if choices else "none of them is plainly it"
    raise InputError(
        f"which column holds the {what}? Say so with --{option}; {found}. Columns: {listed(file.names, 20)}."
    )


def _check_column(name: str, file: Source) -> str:
    if name in file.names:
        return name
    lower = {other.lower(): other for other in file.names}
    near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, 3)]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"columns: {listed(file.names, 20)}."
    raise InputError(f"no column {name!r}; {hint}")


def _split_label(text: str, file: Source) -> tuple[str | None, str]:
    """Read "label=column", or a plain column; a column's own name may contain the sign."""
    if text in file.names or "=" not in text:
        return None, text
    for at, sign in enumerate(text):
        if sign == "=" and text[at + 1 :] in file.names:
            return text[:at], text[at + 1 :]
    label, _, column = text.partition("=")
    return label, column


def _forecasts(file: Source, selection: Selection, reading: Reading) -> Forecasts:
    labelled = [_split_label(text, file) for text in selection.prob]
    columns = [_check_column(column, file) for _, column in labelled]
    truth = [_check_column(name, file) for name in selection.truth]
    weights = [] if selection.weight is None else [_check_column(selection.weight, file)]
    for names in (columns, truth):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise InputError(f"column {twice[0]!r} is named twice.")
    both = set(truth) & set(columns)
    if both:
        raise InputError(f"column {min(both)!r} is named as outcome and as probability.")
    data = file.read(list(dict.fromkeys([*truth, *columns, *weights])))
    given = [label for label, _ in labelled if label is not None]
    if given and len(given) < len(columns):
        raise InputError("--prob: give each column a label (label=column), or none.")
    if given and reading.labels is not None:
        raise InputError("--labels: the labels are already named with --prob label=column.")
    y_true = _one_column(data, truth)
    texts = given or reading.labels
    pos_label = reading.pos_label
    if texts is not None and len(columns) == 1 and given:
        texts, pos_label = None, given[0] if pos_label is None else pos_label
    return _checked(
        y_true,
        _probabilities(data, columns),
        None if selection.weight is None else _numbers(data[selection.weight], selection.weight),
        texts,
        pos_label,
        reading,
        (
            ", ".join(truth[:3]) + (", ..." if len(truth) > 3 else ""),
            columns[0] if len(columns) == 1 else "probabilities",
            selection.weight or "",
        ),
    )


def _paired(file: Source, selection: Selection, reading: Reading) -> list[Forecasts]:
    """Read several binary forecasts a row."""
    pairs = []
    for text in selection.pairs:
        splits = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "="]
        if not splits:
            raise InputError(f"--pair {text}: expected PROBABILITY=OUTCOME, two column names.")
        known = [(prob, truth) for prob, truth in splits if prob in file.names and truth in file.names]
        prob, truth = known[0] if known else splits[0]
        pairs.append((_check_column(prob, file), _check_column(truth, file)))
    if len(set(pairs)) < len(pairs) or any(prob == truth for prob, truth in pairs):
        raise InputError("--pair: a pair is named twice, or a column as both probability and outcome.")
    weights = [] if selection.weight is None else [_check_column(selection.weight, file)]
    data = file.read(list(dict.fromkeys([*(name for pair in pairs for name in pair), *weights])))
    weight = None if selection.weight is None else _numbers(data[selection.weight], selection.weight)
    return [
        _checked(
            _outcome(data[truth]),
            _numbers(data[prob], prob),
            weight,
            reading.labels,
            reading.pos_label,
            reading,
            (truth, prob, selection.weight or ""),
        )
        for prob, truth in pairs
    ]


def _checked(
    y_true: Column | pl.DataFrame,
    y_prob: Any,
    weight: Column | None,
    labels: Sequence[str] | None,
    pos_label: str | None,
    reading: Reading,
    names: tuple[str, str, str],
) -> Forecasts:
    typed = [None if texts is None else _typed(texts, y_true, names[0]) for texts in (labels, reading.ignore_label)]
    return Forecasts(
        y_true,
        y_prob,
        sample_weight=weight,
        labels=typed[0],
        pos_label=None if pos_label is None else _typed([pos_label], y_true, names[0])[0],
        ignore_label=typed[1],
        names=names,
        **reading.options,  # type: ignore[arg-type]
    )


def _typed(texts: Sequence[str], column: Column | pl.DataFrame, name: str) -> list[Label]:
    """Labels given as text, as values of the kind the outcomes have."""
    if isinstance(column, pl.DataFrame):  # one-hot
        return list(texts)
    numeric = column.dtype.is_numeric() if isinstance(column, pl.Series) else column.dtype.kind in "iuf"
    boolean = column.dtype == pl.Boolean if isinstance(column, pl.Series) else column.dtype.kind == "b"
    if getattr(column, "ndim", 1) == 2 or not (numeric or boolean):
        return list(texts)
    words: dict[str, Label] = {"true": True, "false": False} if boolean else {}
    labels = []
    for text in texts:
        try:
            labels.append(words[text.lower()] if text.lower() in words else _as_number(text))
        except ValueError:
            kind = "true/false" if boolean else "numbers"
            raise InputError(f"label {text!r}: the outcomes in {name} are {kind}.") from None
    return labels


def _as_number(text: str) -> Label:
    try:
        return int(text)  # of any size, which floats would round
    except ValueError:
        number: Label = plain(float(text))
        return number


def _one_column(data: dict[str, Column], names: list[str]) -> Column | pl.DataFrame:
    """Give the outcome's column, or several as one-hot rows."""
    if len(names) == 1:
        return _outcome(data[names[0]])
    return pl.DataFrame([pl.Series(name, _numbers(data[name], name)) for name in names])


def _probabilities(data: dict[str, Column], names: list[str]) -> Any:
    columns = [_numbers(data[name], name) for name in names]
    if len(columns) == 1:
        return columns[0]
    lengths = {name: column.shape for name, column in zip(names, columns, strict=True)}
    if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
        raise InputError(f"--prob: arrays to be put side by side need one dimension and one length, got {lengths}.")
    return pl.DataFrame([pl.Series(n, c) for n, c in zip(names, columns, strict=True)])


def _outcome(column: Column) -> Column:
    """Outcomes of a column: numbers with the usual signs of a missing value among them are numbers."""
    if isinstance(column, np.ndarray):
        return column
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise InputError(f"column {column.name!r} holds {column.dtype}, not labels.")
    if column.dtype.is_temporal() or column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if column.dtype != pl.String:
        return column
    text, numbers = _parsed(column)
    return numbers if numbers.count() == text.count() > 0 else column


def _parsed(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Text of a column without the usual signs of a missing value, and its numbers where it has them."""
    text = column.str.strip_chars()
    text = text.set(text.is_in(_MISSING_TEXTS), None)
    return text, text.cast(pl.Float64, strict=False)


def _numbers(column: Column, name: str) -> Column:
    """Numbers of a column; text only where it is one of the usual signs of a missing value."""
    if isinstance(column, np.ndarray) or column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column
    if column.dtype == pl.Null:
        return column.cast(pl.Float64)
    if column.dtype != pl.String:
        raise InputError(f"column {name!r} holds {column.dtype}, not numbers.")
    text, numbers = _parsed(column)
    wrong = (numbers.is_null() & text.is_not_null()).arg_true()
    if len(wrong):
        raise InputError(
            f"column {name!r} is not a number at row {wrong[0]} (counted from 0): {column[int(wrong[0])]!r}. Numbers"
            " have a decimal point and no percent sign (for percentages, --percent)."
        )
    return numbers
