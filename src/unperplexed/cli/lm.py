"""Logs of language models at the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from .._lib.errors import InputError
from .._lib.serialize import result_json
from ..language_models.items import Answer, Item, Question, Remarks, Text
from ..language_models.reading import SUFFIXES, read_items
from .outputs import Outputs, sayer


def lm(arguments: argparse.Namespace) -> None:
    """Assess what is in the logs, or compare two models on the same texts."""
    a, files = arguments, arguments.files
    a.files = [*files, *a.compare]
    outputs = Outputs(a)
    if a.truth and not _is_file(a):
        found = _graded(a, files, Remarks())
    elif a.answer and not a.compare:
        _refuse_table(a)
        found = _epochs(a, files, Remarks())
    else:
        _refuse_table(a)
        found = _compared(a, files) if a.compare else _assessed(a, files, Remarks())
    outputs.write(found.to_json, found.__str__, outputs.page(found))


def _is_file(a: argparse.Namespace) -> bool:
    """Whether --truth names a file of right answers, and no column."""
    return len(a.truth) == 1 and a.truth[0].endswith(SUFFIXES)


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
    pairs = [each.partition("=") if "=" in each else (each, "=", each) for each in a.stated]
    confidences = {name: column for name, _, column in pairs}
    words = read_words(a.phrases) if a.phrases else None
    found = read_answers(
        files,
        a.truth,
        confidences,
        question=a.question,
        model=a.by,
        answer=a.answer,
        wrong=a.wrong,
        scale=a.scale,
        words=words,
        doubtful=a.invalid == "keep",
        separator={"\\t": "\t", "tab": "\t"}.get(a.separator, a.separator or ""),
        remarks=remarks,
        say=sayer(a),
    )
    return leaderboard(found, confidence=a.confidence, seed=a.seed, remarks=remarks)


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
    """Compare two models: on questions, which are kept, or on texts, of which a few numbers are."""
    from ..language_models.questions import compare_questions
    from ..language_models.text_comparison import compare_texts

    names, remarks = _names(files[0], a.compare[0]), (Remarks(), Remarks())
    logs = [_items(a, some, found) for some, found in zip((files, a.compare), remarks, strict=True)]
    first = next(logs[0], None)
    whole = chain([] if first is None else [first], logs[0])
    settings: dict[str, Any] = {"names": names, "common": a.common, "confidence": a.confidence, "remarks": remarks}
    if isinstance(first, Question):
        one, two = ([each for each in log if isinstance(each, Question)] for log in (whole, logs[1]))
        return compare_questions(one, two, outside=a.outside, missing=_missing(a), **settings)
    return compare_texts(whole, logs[1], **settings)


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
    from ..language_models.text_tally import TextTally

    kept: list[Question | Answer] = []
    tasks: set[str] = set()

    def texts() -> Iterator[Text]:
        for item in _items(a, files, remarks):
            if isinstance(item, Text):
                tasks.add(item.name.rpartition("/")[0])
                yield item
            else:
                kept.append(item)

    tally = TextTally.count(texts())
    questions = [each for each in kept if isinstance(each, Question)]
    answers = [each for each in kept if isinstance(each, Answer)]
    if len(tasks) > 1:
        remarks.add(
            "texts of {count} are counted together; assess the files one by one for figures of each", "task", len(tasks)
        )
    settings = {"confidence": a.confidence, "resamples": a.resamples, "seed": a.seed}
    found: dict[str, Any] = {}
    if tally.n_documents or not kept:
        found["texts"] = assess_texts(tally, confidence=a.confidence, remarks=remarks)
    if kept:
        from ..language_models.questions import assess_answers, assess_questions
    if questions:
        own = {"events": a.events, "outside": a.outside, "missing": _missing(a)}
        found["questions"] = assess_questions(questions, remarks=_once(found, remarks), **own, **settings)
    if answers:
        found["answers"] = assess_answers(answers, remarks=_once(found, remarks), **settings)
    return next(iter(found.values())) if len(found) == 1 else Kinds(found, a.report)


def _once(found: dict[str, Any], remarks: Remarks) -> Remarks:
    """Give the remarks to the first kind alone."""
    return type(remarks)() if found else remarks


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
