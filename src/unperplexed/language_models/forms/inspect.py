"""Logs of Inspect: grades and stated confidences of each sample and epoch, log-probabilities of what was generated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..items import UNREAD, Answer, Item, Text
from ..tokens import text_of_tokens
from . import Form, Log, Record
from .openai import GENERATED, tokens_of

UNFINISHED = "the log's status is {status}, not success: samples may be missing"
EPOCHS = (
    "{count} from later epochs: each epoch counts as an answer of its own; the log's own metrics take metadata, such as"
    " a confidence, from the first epoch alone. --answer answer measures their agreement"
)
FAILED = "{count} left out: the sample ended with an error"
NO_CONFIDENCE = "{count}: without a stated confidence at the place named"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def _recognizes(record: Record) -> bool:
    return isinstance(record.get("eval"), dict) and "samples" in record and "plan" in record


def _items(record: Record, place: str, log: Log) -> Iterator[Item]:
    if record.get("status") != "success" and not log.facts.get("status"):
        log.facts["status"] = True
        log.remarks.add(UNFINISHED.replace("{status}", str(record.get("status"))))
    for sample in record["samples"] or ():
        name, epoch = str(sample["id"]), int(sample.get("epoch", 1))
        if sample.get("error"):
            log.remarks.add(FAILED, "sample")
            continue
        if epoch > 1:
            log.remarks.add(EPOCHS, "answer")
        texts = [*_generated(f"{name}/{epoch}", sample, log)]
        per_token = None
        if len(texts) == 1 and texts[0].tokens:
            per_token = math.exp(min(texts[0].log_probability, 0.0) / texts[0].tokens)
        for scorer, score in (sample.get("scores") or {}).items():
            found = _answer(name, epoch, scorer, {**sample, **score}, log)
            yield replace(found, model=str(record["eval"].get("model", "")), per_token=per_token)
        yield from texts


def _generated(name: str, sample: Mapping[str, Any], log: Log) -> Iterator[Text]:
    for choice in (sample.get("output") or {}).get("choices") or ():
        tokens = tokens_of((choice.get("logprobs") or {}).get("content"))
        found = text_of_tokens(name, tokens, _content(choice["message"]["content"]), log.remarks) if tokens else None
        if found is not None:
            log.remarks.add(GENERATED)
            yield found


def _content(content: Any) -> str:
    return content if isinstance(content, str) else "".join(each.get("text", "") for each in content)


def _answer(name: str, epoch: int, scorer: str, score: Mapping[str, Any], log: Log) -> Answer:
    if score.get("reason") == "invalid_response_format":
        log.remarks.add(UNREAD, "answer")
    confidence = _stated(score, log) if log.stated else None
    if log.stated and confidence is None:
        log.remarks.add(NO_CONFIDENCE, "answer")
    found = _at(score, log.answer) if log.answer else None
    text = str(found) if isinstance(found, str | int | float) else ""
    return Answer(name, _grade(score.get("value")), confidence, scorer, epoch, text)


def _grade(value: Any) -> float:
    if isinstance(value, str):
        return _LETTERS.get(value, math.nan)
    return float(value) if isinstance(value, int | float) else math.nan


def _stated(score: Mapping[str, Any], log: Log) -> float | None:
    """Follow a path such as metadata.confidence, value.confidence, or output.completion, which is read as a text."""
    found = _at(score, log.stated)
    if isinstance(found, str):
        from ..graded import stated_confidence

        return stated_confidence(found, scale=log.scale)
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return float(found) / (log.scale or 1.0)


def _at(score: Mapping[str, Any], path: str) -> Any:
    found: Any = score
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


FORMS = (Form("inspect", "logs of Inspect", _recognizes, _items),)
