"""Answers of servers that speak OpenAI's protocol: chat, Responses, completions, vLLM's prompts, lines of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._lib.errors import InputError
from ..items import Item, Question, Text
from ..tokens import MISSING_BELOW, Token, text_of_tokens, token
from . import Form, Log, Record

FAILED = "{count} left out: the request failed ({reason})"
NONE_LOGGED = "{count} left out: without log-probabilities; ask the server for them with logprobs"
PROMPT_BY_RANK = (
    "{count} left out: prompt_logprobs without prompt_token_ids do not say which token is the prompt's; ask vLLM for"
    " return_token_ids"
)
GENERATED = (
    "{count}: the log-probabilities are those of generated text, which the model chose itself; they say how confident"
    " it was and are not comparable between models"
)


def _recognizes(record: Record) -> bool:
    in_batch = "custom_id" in record and "response" in record
    return in_batch or isinstance(record.get("choices"), list) or record.get("object") == "response"


NO_TRUTH = "{count} left out: no right answer has its custom_id"
FIRST = "{count}: the log-probabilities of the first choice were taken, since the others are further samples"
NO_CHOICES = "{count} left out: without choices or output"
NO_OPTION = "{count} left out: it names no option, or several; ask for the letter alone, with top_logprobs"


def _items(record: Record, place: str, log: Log) -> Iterator[Item]:
    name = str(record.get("custom_id") or place)
    if "custom_id" in record:
        answer = record.get("response") or {}
        body = answer.get("body") or {}
        if record.get("error") or answer.get("status_code", 200) != 200 or not body:
            reason = (record.get("error") or {}).get("code") or f"status {answer.get('status_code')}"
            log.remarks.add(FAILED.replace("{reason}", str(reason)), "request")
            return
        record = body
    choices = _choices(record)
    if not choices:
        log.remarks.add(NO_CHOICES, "answer")
        return
    if log.truth is not None:
        yield from _question(name, choices, record, log)
        return
    for at, choice in enumerate(choices):
        own = f"{name}/{at}" if len(choices) > 1 else name
        yield from _choice(own, choice, choice.get("prompt_logprobs") or record.get("prompt_logprobs"), record, log)


def _choices(record: Record) -> list[Record]:
    """Give the choices of an answer; the parts of one of the Responses API as such."""
    if record.get("object") != "response":
        return record.get("choices") or []
    parts = [each for output in record.get("output") or () for each in output.get("content") or ()]
    return [{"logprobs": {"content": each.get("logprobs")}, "message": {"content": each.get("text")}} for each in parts]


def _question(name: str, choices: Sequence[Record], record: Record, log: Log) -> Iterator[Question]:
    """Read the probabilities of the options at the token that answers a question."""
    truth = log.truth
    if truth is None or name not in truth.right:
        log.remarks.add(NO_TRUTH, "answer")
        return
    if name in truth.outside:
        raise InputError(f"{log.path}: {name!r:.60} is answered twice. Name the logs of one model.")
    truth.outside[name] = np.nan
    parts = choices if record.get("object") == "response" else choices[:1]
    if len(parts) < len(choices):
        log.remarks.add(FIRST, "question")
    options = truth.options[name]
    entries = [(_plain(own), tops) for part in parts for own, tops in _tops(part)]
    at = _place(entries, options)
    if at is None:
        log.remarks.add(NO_OPTION, "answer")
        return
    tops = [(_plain(own), x) for own, x in entries[at][1].items() if x is not None and x > MISSING_BELOW]
    found = [[x for own, x in tops if own == option] for option in options]
    log_probs = np.array([np.logaddexp.reduce(each) if each else np.nan for each in found])
    truth.outside[name] = max(1 - float(np.nansum(np.exp(log_probs))), 0.0)
    yield Question(name, options, log_probs, (options.index(truth.right[name]),))


def _tops(choice: Record) -> list[tuple[str, dict[str, float]]]:
    """Give each generated token with the log-probabilities of the most probable ones there, and its own."""
    logged = choice.get("logprobs") or {}
    if "tokens" in logged:
        tops = logged.get("top_logprobs") or [None] * len(logged["tokens"])
        columns = (logged["tokens"], logged["token_logprobs"], tops)
        return [(own, {**(some or {}), own: x}) for own, x, some in zip(*columns, strict=True)]
    return [
        (each["token"], {top["token"]: top["logprob"] for top in (*(each.get("top_logprobs") or ()), each)})
        for each in logged.get("content") or ()
    ]


def _plain(piece: str) -> str:
    return piece.strip(" \n\t()[].:*\"'▁Ġ")


def _place(entries: Sequence[tuple[str, Mapping[str, float]]], options: Sequence[str]) -> int | None:
    """Find the token that answers: the only option in the text, or the first token if options are probable there."""
    places = [at for at, (own, _) in enumerate(entries) if own in options]
    named = {entries[at][0] for at in places}
    if len(named) == 1 or (places[:1] == [0] and not entries[1][0][:1].isalnum()):  # no word follows, as after "A"
        return places[0]
    probable = entries and any(_plain(token) in options for token in entries[0][1])
    return 0 if probable and not places else None


def _choice(name: str, choice: Record, prompt: Any, record: Record, log: Log) -> Iterator[Text]:
    logged = choice.get("logprobs") or {}
    if prompt:
        ids = choice.get("prompt_token_ids") or record.get("prompt_token_ids")
        if ids is None and any(isinstance(each, Mapping) and len(each) > 1 for each in prompt):
            log.remarks.add(PROMPT_BY_RANK)
        else:
            yield from _text(name, _prompt(prompt, ids), None, log)
    elif "tokens" in logged:
        columns = (logged["tokens"], logged["token_logprobs"])
        tokens = [token(piece, value) for piece, value in zip(*columns, strict=True)]
        yield from _text(name, tokens, choice.get("text"), log, bool(tokens) and tokens[0].log_prob is not None)
    else:
        message = choice.get("message") or {}
        key = "refusal" if logged.get("refusal") and not logged.get("content") else "content"
        yield from _text(name, tokens_of(logged.get(key)), message.get(key), log, generated=True)


def tokens_of(entries: Sequence[Mapping[str, Any]] | None) -> list[Token]:
    """Read tokens as OpenAI, Inspect and llama.cpp write them."""
    return [token(each.get("token"), each.get("logprob"), each.get("bytes")) for each in entries or ()]


def _prompt(prompt: Sequence[Mapping[str, Any] | None], ids: Sequence[int] | None) -> list[Token]:
    """Take the prompt's own token of each place, by its id: others may be as probable and come first."""
    found = []
    for at, tops in enumerate(prompt):
        if tops is None:
            continue
        key = next(iter(tops), "") if ids is None else str(ids[at])
        own = tops.get(key, {})
        found.append(token(own.get("decoded_token"), own.get("logprob")))
    return found


def _text(name: str, tokens: Sequence[Token], text: Any, log: Log, generated: bool = False) -> Iterator[Text]:
    if not tokens:
        log.remarks.add(NONE_LOGGED)
        return
    if generated:
        log.remarks.add(GENERATED)
    found = text_of_tokens(name, tokens, text if isinstance(text, str) else None, log.remarks)
    if found is not None:
        yield found


AFTER_SAMPLING = "{count} left out: probabilities after sampling (post_sampling_probs) are not those of the model"


def _llama_cpp(record: Record, place: str, log: Log) -> Iterator[Text]:
    entries = record["completion_probabilities"]
    if any("prob" in each and "logprob" not in each for each in entries):
        log.remarks.add(AFTER_SAMPLING)
        return
    yield from _text(place, tokens_of(entries), record.get("content"), log, generated=True)


def _sglang(record: Record, place: str, log: Log) -> Iterator[Text]:
    meta = record["meta_info"]
    prompt, output = (
        [token(each[2] if len(each) > 2 else None, each[0]) for each in meta.get(f"{side}_token_logprobs") or ()]
        for side in ("input", "output")
    )
    if prompt:
        yield from _text(place, prompt, None, log)
    if output or not prompt:
        yield from _text(f"{place}/output" if prompt else place, output, record.get("text"), log, generated=True)


def _tgi(record: Record, place: str, log: Log) -> Iterator[Text]:
    entries = record["details"].get("tokens") or ()
    tokens = [token(each.get("text"), each.get("logprob")) for each in entries if not each.get("special")]
    yield from _text(place, tokens, record.get("generated_text"), log, generated=True)


FORMS = (
    Form("openai", "answers in OpenAI's shape, of vLLM and others too", _recognizes, _items, rank=3),
    Form("llama.cpp", "answers of llama.cpp", lambda record: "completion_probabilities" in record, _llama_cpp),
    Form("sglang", "answers of SGLang", lambda record: isinstance(record.get("meta_info"), dict), _sglang),
    Form("tgi", "answers of text-generation-inference", lambda record: isinstance(record.get("details"), dict), _tgi),
)
