"""Logs of language models at the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from .._lib.serialize import result_json
from ..language_models.items import Answer, Item, Question, Remarks, Text
from ..language_models.reading import KEYS, SUFFIXES, read_items
from .outputs import Outputs, sayer


def lm(arguments: argparse.Namespace) -> None:
    """Assess what is in the logs, or compare two models on the same texts."""
    a, files = arguments, arguments.files
    a.files = [*files, *a.compare]
    outputs = Outputs(a)
    if a.truth and not (len(a.truth) == 1 and a.truth[0].endswith((*SUFFIXES, *KEYS))):  # columns, no file of answers
        found = _graded(a, files, Remarks())
    elif a.answer and not a.compare:
        _refuse_table(a)
        found = _epochs(a, files, Remarks())
    else:
        _refuse_table(a)
        found = _compared(a, files) if a.compare else _assessed(a, files, Remarks())
    outputs.write(found.to_json, found.__str__, outputs.page(found))


def _refuse_table(a: argparse.Namespace) -> None:
    """Refuse options of tables without grades, and several places in logs."""
    for name in ("question", "by", "wrong", "separator", *(["answer"] if a.compare else [])):
        if getattr(a, name):
            raise InputError(f"--{name}: is for tables of graded answers; name the column of grades with --truth.")
    if len(a.stated) > 1:
        raise InputError("--stated: logs have one place of a stated confidence; tables have several, with --truth.")


def _graded(a: argparse.Namespace, files: Sequence[str], remarks: Remarks) -> Any:
    """Rank the models of a table of graded answers, and judge their confidences."""
    from ..language_models.graded import read_answers, read_words
    from ..language_models.ranking import leaderboard

    if a.compare:
        raise InputError("--compare: compares logs; a table of graded answers has its models in --by.")
    confidences = {name: column or name for name, _, column in (each.partition("=") for each in a.stated)}
    read = {"question": a.question, "model": a.by, "answer": a.answer, "wrong": a.wrong, "scale": a.scale}
    read |= {"words": read_words(a.phrases) if a.phrases else None, "doubtful": a.invalid == "keep"}
    read["separator"] = {"\\t": "\t", "tab": "\t"}.get(a.separator, a.separator)
    found = read_answers(files, a.truth, confidences, **read, remarks=remarks, say=sayer(a))
    board = leaderboard(found, confidence=a.confidence, seed=a.seed, remarks=remarks)
    first, more = board.entries[0], "".join(f", {name}={value!r}" for name, value in read.items() if value)
    code = (
        "from unperplexed.language_models import read_answers\n"
        f"answers = read_answers({[*files]!r}, {[*a.truth]!r}, {confidences!r}{more})\n"
        f"fitted = answers.recalibrator({first.confidence!r}, {first.model!r})"
    )
    return replace(board, code=code if first.confidence in confidences else "")


def _epochs(a: argparse.Namespace, files: Sequence[str], remarks: Remarks) -> Any:
    """Judge the confidences in answers that a log has several samples of, their agreement among them."""
    from ..language_models.graded import epoch_answers
    from ..language_models.ranking import leaderboard

    answers = [each for each in _items(a, files, remarks) if isinstance(each, Answer)]
    if not any(each.text for each in answers):
        raise InputError(
            f"--answer {a.answer}: no answer at this place; it is for logs of Inspect, such as answer or"
            " output.completion. For tables name the column of grades with --truth."
        )
    return leaderboard(epoch_answers(answers), confidence=a.confidence, seed=a.seed, remarks=remarks)


def _items(a: argparse.Namespace, files: Sequence[str], remarks: Remarks) -> Iterator[Item]:
    places = {"stated": (a.stated or [""])[0], "answer": a.answer or "", "truth": (a.truth or [None])[0]}
    return read_items(files, form=a.format, scale=a.scale, remarks=remarks, say=sayer(a), **places)


def _compared(a: argparse.Namespace, files: Sequence[str]) -> Any:
    """Compare two models: on texts, of which a few numbers are kept, on questions and by answers, which are kept."""
    from ..language_models.questions import compare_questions
    from ..language_models.text_comparison import compare_texts

    names, remarks = _names(files[0], a.compare[0]), (Remarks(), Remarks())
    logs = [_split(_items(a, some, found)) for some, found in zip((files, a.compare), remarks, strict=True)]
    settings: dict[str, Any] = {"names": names, "common": a.common, "confidence": a.confidence, "remarks": remarks}
    found: dict[str, Any] = {}
    (texts, others), (more_texts, more_others) = logs
    if texts or more_texts or not (others or more_others):
        found["texts"] = compare_texts(texts or [], more_texts or [], **settings)
    for kind, of in (("questions", Question), ("answers", Answer)):
        one, two = ([each for each in some if isinstance(each, of)] for some in (others, more_others))
        if bool(one) != bool(two):
            counts = f"{names[0]} has {len(one):,} and {names[1]} {len(two):,}"
            raise InputError(f"{kind}: {counts}. Name logs that have {kind} of both models, or of neither.")
        if one:
            settings["remarks"] = (Remarks(), Remarks()) if found else remarks
            found[kind] = compare_questions(one, two, outside=a.outside, missing=_missing(a), **settings)
    return _alone(a, found)


def _split(items: Iterator[Item]) -> tuple[Iterator[Text] | None, list[Any]]:
    """Give the texts, None without any, and a list that has the questions and answers once the texts are read."""
    others: list[Any] = []

    def texts() -> Iterator[Text]:
        for item in items:
            if isinstance(item, Text):
                yield item
            else:
                others.append(item)

    rest = texts()
    first = next(rest, None)
    return None if first is None else chain([first], rest), others


def _alone(a: argparse.Namespace, found: dict[str, Any]) -> Any:
    """Give the only kind that the logs have, or all."""
    return next(iter(found.values())) if len(found) == 1 else Kinds(found, a.report)


def _missing(a: argparse.Namespace) -> Any:
    return {"drop": "leave-out", "keep": "refuse"}.get(a.invalid, a.invalid)


_STAMP = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]*\d")
"""What lm-evaluation-harness puts behind the names of a run's files."""


_PATH = re.compile(r"^\.?__(?=.)")
"""What it makes of ./ or / before the name of a model, which is then that of a folder."""


def _names(first: str, second: str) -> tuple[str, str]:
    """Name two models by their files, or by the first folder in which their paths differ."""
    one, two = (Path(_STAMP.sub("", each)) for each in (first, second))
    if one.stem != two.stem:
        return one.stem, two.stem
    for a, b in zip(reversed(one.absolute().parts), reversed(two.absolute().parts), strict=False):
        if a != b:
            return _PATH.sub("", a), _PATH.sub("", b)
    return "first", "second"


def _assessed(a: argparse.Namespace, files: Sequence[str], remarks: Remarks) -> Any:
    """Assess texts as they are read; questions and answers, of which logs have few, are kept."""
    from ..language_models.text_comparison import assess_texts

    texts, others = _split(_items(a, files, remarks))
    found: dict[str, Any] = {}
    if texts or not others:
        found["texts"] = assess_texts(texts or [], confidence=a.confidence, remarks=remarks)
    questions = [each for each in others if isinstance(each, Question)]
    answers = [each for each in others if isinstance(each, Answer)]
    settings = {"confidence": a.confidence, "resamples": a.resamples, "seed": a.seed}
    if others:
        from ..language_models.questions import assess_answers, assess_questions
    if questions:
        own = {"events": a.events, "outside": a.outside, "missing": _missing(a)}
        found["questions"] = assess_questions(questions, remarks=Remarks() if found else remarks, **own, **settings)
    if answers:
        found["answers"] = assess_answers(answers, remarks=Remarks() if found else remarks, **settings)
    return _alone(a, found)


class Kinds:
    """What logs of several kinds hold, one kind after another."""

    def __init__(self, found: dict[str, Any], report: Path | None) -> None:
        if report is not None:
            raise InputError(
                f"--report: the logs hold {' and '.join(found)}; a report has one kind, from its own files."
            )
        self._found = found

    def __str__(self) -> str:
        """Give each kind as text."""
        return "\n\n".join(f"{kind.upper()}\n\n{each}" for kind, each in self._found.items())

    def to_json(self) -> str:
        """Give a dictionary by kind."""
        return result_json({kind: each.to_dict() for kind, each in self._found.items()})
