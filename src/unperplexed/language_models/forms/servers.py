"""Answers of llama.cpp, SGLang and text-generation-inference in their own shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..items import Text
from ..tokens import Token, text_of_tokens, token
from . import Form, Log, Record
from .openai import GENERATED, NONE_LOGGED

AFTER_SAMPLING = "{count} left out: probabilities after sampling (post_sampling_probs) are not those of the model"


def _yielded(name: str, tokens: Sequence[Token], text: str | None, log: Log, generated: bool = True) -> Iterator[Text]:
    if not tokens:
        log.remarks.add(NONE_LOGGED)
        return
    if generated:
        log.remarks.add(GENERATED)
    found = text_of_tokens(name, tokens, text, log.remarks)
    if found is not None:
        yield found


def _llama_cpp(record: Record, place: str, log: Log) -> Iterator[Text]:
    entries = record["completion_probabilities"]
    if any("prob" in each and "logprob" not in each for each in entries):
        log.remarks.add(AFTER_SAMPLING)
        return
    tokens = [token(each.get("token"), each.get("logprob"), each.get("bytes")) for each in entries]
    yield from _yielded(place, tokens, record.get("content"), log)


def _triples(entries: Sequence[Sequence[Any]]) -> list[Token]:
    return [token(each[2] if len(each) > 2 else None, each[0]) for each in entries]


def _sglang(record: Record, place: str, log: Log) -> Iterator[Text]:
    meta = record["meta_info"]
    prompt, output = (_triples(meta.get(f"{side}_token_logprobs") or ()) for side in ("input", "output"))
    if prompt:
        yield from _yielded(place, prompt, None, log, generated=False)
    if output or not prompt:
        yield from _yielded(f"{place}/output" if prompt else place, output, record.get("text"), log)


def _tgi(record: Record, place: str, log: Log) -> Iterator[Text]:
    entries = record["details"].get("tokens") or ()
    tokens = [token(each.get("text"), each.get("logprob")) for each in entries if not each.get("special")]
    yield from _yielded(place, tokens, record.get("generated_text"), log)


FORMS = (
    Form("llama.cpp", "answers of llama.cpp", lambda record: "completion_probabilities" in record, _llama_cpp),
    Form("sglang", "answers of SGLang", lambda record: isinstance(record.get("meta_info"), dict), _sglang),
    Form("tgi", "answers of text-generation-inference", lambda record: isinstance(record.get("details"), dict), _tgi),
)
