"""Samples of lm-evaluation-harness, as files (values as strings) or from Python (real types)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..items import Answer, Item, Question, Text, count_words, digest_of, utf8
from . import Form, Log, Record

PRINTED = "{count}: the log has Brier scores as printed arrays of a few digits; they are computed anew"
SCORED_TWICE = (
    "{count}: the run did not set add_bos_token, and the tokenizer has a beginning-of-sequence token. The model may"
    " have read this token twice, and its log-probability may be counted with the text; run again with"
    " add_bos_token=False"
)
OWN_AGGREGATION = (
    "the task aggregates {metric} by a function of its own; the {metric} here is the ordinary one, not that of the run"
)
LATER_FILTER = "{count} left out: the same document after another filter"
NO_GOLD = "{count} left out: the log does not contain which option is correct"
OWN_BYTES = "{count}: bytes are those that the task counted, which are not those of the scored text"
WINDOWS = "{count}: scored in windows of {length} tokens; compare only with models of the same context"


def _recognizes(record: Record) -> bool:
    return "doc_id" in record and "arguments" in record and "resps" in record


def _items(record: Record, place: str, log: Log) -> Iterator[Item]:
    arguments = _arguments(record["arguments"])
    responses: Sequence[Any] = record["filtered_resps"] if "filtered_resps" in record else record["resps"]
    task = _task(log)
    name = f"{task}/{record['doc_id']}" if task else str(record["doc_id"])
    if any(len(each) > 1 and isinstance(each[1], dict) for each in arguments):
        yield from _generated(record, name)
        return
    first = log.facts.setdefault("filter", record.get("filter"))
    if record.get("filter") != first:
        log.remarks.add(LATER_FILTER, "line")
        return
    if len(arguments) > 1 or "acc_norm" in record.get("metrics", ()):  # a question may have one option
        yield from _question(record, name, arguments, responses, log)
    elif isinstance(responses[0], list | tuple):
        log_prob, greedy = _scored(responses[0])
        continuation = arguments[0][1]
        yield Text(
            name,
            log_prob,
            None,
            len(utf8(continuation)),
            count_words(continuation.strip()),
            digest_of("\0".join(arguments[0])),
            greedy=greedy,
        )
    else:
        yield _rolling(record, name, arguments[0][0], float(responses[0]), log)


def _arguments(arguments: Any) -> list[Sequence[Any]]:
    """Give the requests as lists of arguments."""
    if isinstance(arguments, dict):
        return [list(each.values()) if isinstance(each, dict) else each for each in arguments.values()]
    return [each if isinstance(each, list | tuple) else [each] for each in arguments]


def _scored(response: Sequence[Any]) -> tuple[float, bool]:
    return float(response[0]), response[1] in (True, "True")


def _task(log: Log) -> str:
    """Read the task from the name of the file: samples_<task>_<date or stamp>.jsonl."""
    found = re.fullmatch(r"samples_(.+)_\d{4}-?\d\d-?\d\d(?!\d).*", log.path.name)
    return found[1] if found else ""


def run_facts(log: Log) -> Record:
    """Read what the run's results file, which has the same stamp, says of the run; nothing without such a file."""
    if "run" not in log.facts:
        stamp = re.search(r"\d{4}-\d\d-\d\dT[\d.:-]*\d", log.path.name)
        beside = [*log.path.parent.glob(f"*{stamp[0]}.json")] if stamp else []
        try:
            log.facts["run"] = json.loads(beside[0].read_bytes()) if beside else {}
        except (OSError, ValueError):
            log.facts["run"] = {}
    found: Record = log.facts["run"]
    return found


def _rolling(record: Record, name: str, text: str, log_prob: float, log: Log) -> Text:
    """Read the log-probability of a whole text, whose bytes are those that the host divides by."""
    pairs = [record[key] for key in ("bits_per_byte", "byte_perplexity") if isinstance(record.get(key), list | tuple)]
    n_bytes = int(pairs[0][1]) if pairs else len(utf8(text))
    if n_bytes != len(utf8(text)):
        log.remarks.add(OWN_BYTES)
    words = record.get("word_perplexity")
    run = run_facts(log)
    beginning, end = (run.get(f"tokenizer_{kind}_token") for kind in ("bos", "eos"))
    if beginning and beginning != end and "add_bos_token" not in str(run.get("config", {}).get("model_args")):
        log.remarks.add(SCORED_TWICE)
        log.remarks.beginning = True
    if run.get("max_length"):
        log.remarks.add(WINDOWS.replace("{length}", str(run["max_length"])))
        log.remarks.contexts.add(int(run["max_length"]))
    n_words = int(words[1]) if isinstance(words, list | tuple) else count_words(text)
    return Text(name, log_prob, None, n_bytes, n_words, digest_of(text))


def _question(
    record: Record, name: str, arguments: Sequence[Sequence[Any]], responses: Sequence[Any], log: Log
) -> Iterator[Question]:
    log_probs = np.array([_scored(each)[0] for each in responses])
    contexts, texts = [each[0] for each in arguments], [each[1] for each in arguments]
    unconditional, half = None, len(texts) // 2
    if len(texts) % 2 == 0 and texts[:half] == texts[half:] and not any(contexts[half:]):
        unconditional, log_probs, texts, contexts = log_probs[half:], log_probs[:half], texts[:half], contexts[:half]
    if len(set(texts)) == 1 < len(texts):  # several contexts: the target is then not which of them is correct
        log.remarks.add(NO_GOLD, "question")
        return
    config = run_facts(log).get("configs", {}).get(_task(log), {})
    delimiter = config.get("target_delimiter", " ")
    if all(each.startswith(delimiter) for each in texts):
        texts = [each[len(delimiter) :] for each in texts]
    if "aggregation" not in log.facts:
        log.facts["aggregation"] = True
        for each in config.get("metric_list", ()):
            if "def " in str(each.get("aggregation")) and each["metric"] in ("acc", "acc_norm", "brier_score"):
                log.remarks.add(OWN_AGGREGATION.replace("{metric}", each["metric"]))
    if isinstance(record.get("brier_score"), list | tuple) and isinstance(record["brier_score"][-1], str):
        log.remarks.add(PRINTED, "question")
    correct = _correct(record, texts, log_probs)
    if not correct:
        log.remarks.add(NO_GOLD, "question")
        return
    yield Question(name, tuple(texts), log_probs, correct, unconditional)


def _correct(record: Record, texts: Sequence[str], log_probs: Any) -> tuple[int, ...]:
    """Find the correct options: the target is an index, some indices, or the text of an option."""
    for name in ("brier_score", "likelihood"):  # these log the index
        value = record.get(name)
        if isinstance(value, list | tuple) and isinstance(value[0], int):
            return (value[0],)
    target = record["target"]
    by_text = tuple(at for at, each in enumerate(texts) if each.strip() == str(target).strip())
    by_index = _indices(target, len(texts))
    if by_index and by_text and by_index != by_text and "acc" in record:
        return by_index if (int(np.argmax(log_probs)) in by_index) == bool(record["acc"]) else by_text
    return by_index or by_text


_NUMBERS = re.compile(r"[\d\s,()\[\]]{1,10000}")
"""Numbers, or a list of them: Python is not to parse what else a log may hold."""


def _indices(target: Any, n: int) -> tuple[int, ...]:
    if isinstance(target, str):
        if not _NUMBERS.fullmatch(target):
            return ()
        try:
            target = ast.literal_eval(target)
        except (ValueError, SyntaxError):
            return ()
    some = target if isinstance(target, list | tuple) else [target]
    whole = all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each < n for each in some)
    return tuple(some) if whole else ()


def _generated(record: Record, name: str) -> Iterator[Answer]:
    """Read the grades of generated answers, one for each metric of a single number."""
    for metric in record.get("metrics", ()):
        value = record.get(metric)
        if isinstance(value, int | float):
            yield Answer(name, float(value), grader=f"{metric},{record.get('filter', 'none')}")


FORMS = (Form("lm-eval", "samples of lm-evaluation-harness", _recognizes, _items),)
