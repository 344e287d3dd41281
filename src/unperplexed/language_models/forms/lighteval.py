"""Details of lighteval: a table with ``doc``, ``model_response`` and ``metric``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..items import Item, Question, Text, count_words, digest_of, utf8
from . import Form, Log, Record

TRUNCATED = "{count}: the text was cut to the length of the model"


def _recognizes(record: Record) -> bool:
    return isinstance(record.get("model_response"), dict) and isinstance(record.get("doc"), dict)


def _items(record: Record, place: str, log: Log) -> Iterator[Item]:
    doc, response = record["doc"], record["model_response"]
    name = f"{doc.get('task_name', '')}/{doc.get('id', place)}"
    if response.get("truncated_tokens_count"):
        log.remarks.add(TRUNCATED)
    log_probs = np.array([np.nan if each is None else each for each in response.get("logprobs") or ()], dtype=float)
    options = doc.get("choices") or ()
    if log_probs.size and log_probs.size == len(options) > 1:
        gold = doc["gold_index"]
        correct = tuple(gold) if isinstance(gold, list) else (int(gold),)
        unconditional = response.get("unconditioned_logprobs")
        yield Question(
            name,
            tuple(each.removeprefix(" ") for each in options),
            log_probs,
            correct,
            np.array(unconditional, dtype=float) if unconditional else None,
        )
    elif log_probs.size == 1:
        text = doc.get("original_query") or doc.get("query") or ""
        yield Text(name, float(log_probs[0]), None, len(utf8(text)), count_words(text), digest_of(text))


FORMS = (Form("lighteval", "details of lighteval", _recognizes, _items),)
