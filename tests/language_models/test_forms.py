"""Forms of logs: what is read, and what is left out or named because it makes figures wrong."""

import bz2
import gzip
import json
import lzma
import math
import re
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unperplexed import InputError
from unperplexed.cli import main
from unperplexed.language_models import (
    Answer,
    Question,
    Remarks,
    Text,
    assess_questions,
    assess_texts,
    read_items,
    reading,
)
from unperplexed.language_models.forms import forms
from unperplexed.language_models.items import count_words


def read(tmp_path, record, name="log.json", **options):
    path = tmp_path / name
    records = record if isinstance(record, list) else [record]
    path.write_text("\n".join(json.dumps(each) for each in records), "utf-8")
    remarks = Remarks()
    return [*read_items(path, remarks=remarks, **options)], " ".join(remarks.sentences())


def chat(entries, text, **more):
    content = [dict(zip(("token", "logprob", "bytes"), each, strict=False)) for each in entries]
    return {"choices": [{"message": {"content": text}, "logprobs": {"content": content}}], **more}


def legacy(tokens, values, text):
    return {"choices": [{"text": text, "logprobs": {"tokens": tokens, "token_logprobs": values}}]}


def test_the_plain_form_whatever_holds_it(tmp_path):
    rows = [
        {"doc": "a", "text": "né", "logprobs": [-1.0, -0.5], "tokens": ["n", "é"]},
        {"doc": "b", "bytes": 7, "logprobs": [-2.0]},
    ]
    lines = "\n".join(map(json.dumps, rows)).encode()
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=1))
    numbers = [
        {"doc": each["doc"], "bytes": size, "logprobs": each["logprobs"]}
        for each, size in zip(rows, (3, 7), strict=True)
    ]
    pl.DataFrame(numbers).write_parquet(tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.jsonl.gz", "a.json", "a.parquet"):
        found = [*read_items(tmp_path / name)]
        assert [(each.name, each.n_bytes, each.tokens) for each in found] == [("a", 3, 2), ("b", 7, 1)]
        assert assess_texts(found).rates["byte"].log_probability == pytest.approx(-0.35)
    assert len([*read_items([tmp_path / "a.jsonl", tmp_path / "a.parquet"])]) == 4


PLAIN_LINE = '{"doc": "a", "bytes": 1, "logprobs": [-1.0]}'

STRANGE = (
    '{"doc": 18446744073709551616, "bytes": 1, "logprobs": [-1e-400, -9007199254740993, -0.1000000000000000055511151]}',
    '{"doc": "a", "bytes": 100000000000000000000, "logprobs": [-1]}',
    '{"doc": "a", "bytes": 1, "logprobs": [NaN, -1], "logprobs": [-Infinity, -2]}',
    '{"doc": "a", "bytes": 1, "logprobs": [-1e400]}',
    '{"doc": "\\ud83d\\ude00", "text": "\\ud83d", "logprobs": [-1, null]}',
    '{"doc": "a", "text": "\\ud83d", "logprobs": [-1]}',
    '{"doc": "\udcff", "bytes": 1, "logprobs": [-1]}',
    '{"doc": "a", "bytes": 1, "logprobs": [-1, -01]}',
    '{"doc": ' + "[" * 1010 + "]" * 1010 + ', "bytes": 1, "logprobs": [-1]}',
    '{"doc": ' + "9" * 5000 + ', "bytes": 1, "logprobs": [-1]}',
)


@pytest.mark.parametrize("line", STRANGE)
def test_both_parsers_of_json_find_the_same_or_the_same_error(tmp_path, monkeypatch, line):
    path = tmp_path / "a.jsonl"
    path.write_bytes(f"{PLAIN_LINE}\n{line}".encode("utf-8", "surrogateescape"))
    found = []
    for parser in (reading.decode, json.loads):
        monkeypatch.setattr(reading, "decode", parser)
        try:
            found.append([(each.name, each.n_bytes, [*each.log_probs], each.digest) for each in read_items(path)])
        except InputError as error:
            found.append(str(error))
    assert found[0] == found[1]
    assert isinstance(found[0], list) or "line 2" in found[0]


@given(st.text(" \t\n\x1c\x1f\x85\u00a0\u2028\u200b\u3000ab", max_size=8))
def test_words_are_those_between_white_space(text):
    assert count_words(text) == len(re.split(r"\s+", text))


COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_logs(tmp_path, suffix):
    rows = [{"doc": f"d{k}", "text": "né", "logprobs": [-1.0 - k, -0.5]} for k in range(300)]
    texts = {"a.jsonl": "\n".join(map(json.dumps, rows)), "b.json": json.dumps(rows, indent=1)}
    for name, text in texts.items():
        packed = COMPRESS[suffix](text.encode())
        (tmp_path / (name + suffix)).write_bytes(packed)
        found = [*read_items(tmp_path / (name + suffix))]
        assert [(each.name, each.log_probability) for each in found] == [(f"d{k}", -1.5 - k) for k in range(300)]
    assert len([*read_items(tmp_path)]) == 600


@pytest.mark.slow
@pytest.mark.parametrize("suffix", COMPRESS)
def test_truncated_logs_are_refused(tmp_path, suffix):
    rng = np.random.default_rng(0)
    rows = [{"doc": f"d{k}", "bytes": 9, "logprobs": (-rng.random(50)).tolist()} for k in range(100)]
    for name, text in (("a.jsonl", "\n".join(map(json.dumps, rows))), ("b.json", json.dumps(rows))):
        path = tmp_path / (name + suffix)
        packed = COMPRESS[suffix](text.encode())
        path.write_bytes(packed[: len(packed) // 2])
        with pytest.raises(InputError, match=rf"{name}{suffix}: not a readable \w+ file, perhaps truncated"):
            [*read_items(path)]


def test_a_truncated_log_ends_the_command_with_its_name(tmp_path, capsys):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(f"{PLAIN_LINE}\n".encode() * 9)[:-9])
    assert main(["lm", str(path)]) != 0
    assert "a.jsonl.gz: not a readable gzip file, perhaps truncated" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[" * 200_000, f"{PLAIN_LINE}\n" + '{"a": ' * 200_000])
def test_deeply_nested_json_is_refused(tmp_path, text):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a\.jsonl(, line 2)?: the JSON is nested too deeply"):
        [*read_items(path, form="plain")]


HUGE = 10**400
SPOILED = {
    "a log-probability beyond all floats": legacy(["a", "b"], [-1.0, -HUGE], "ab"),
    "values beyond all floats": {"doc": "a", "text": "a", "logprobs": [-HUGE]},
    "bytes of no whole number": {"doc": "a", "bytes": 0.5, "logprobs": [-1.0]},
    "words without number": {"doc": "a", "text": "a", "words": "many", "logprobs": [-1.0]},
    "tokens that are no texts": {"doc": "a", "text": "a", "logprobs": [-1.0], "tokens": [7]},
    "a prompt without tokens": {"choices": [{"prompt_logprobs": [{}, {"7": {"logprob": 0.5}}]}]},
}


@pytest.mark.parametrize("case", SPOILED)
def test_spoiled_records_are_refused_or_left_out(tmp_path, case):
    found = []
    with suppress(InputError):
        found, _ = read(tmp_path, SPOILED[case])
    assert found == []


def test_a_number_in_place_of_bytes_takes_no_memory(tmp_path):
    """Python makes as many zero bytes of a number."""
    tracemalloc.start()
    [found], _ = read(tmp_path, chat([("a", -1.0, 1 << 28)], "a"))
    assert found.n_bytes == 1
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


def test_pieces_are_matched_in_time_that_grows_with_the_text(tmp_path):
    """A search that goes back for each replacement character would not end."""
    text = "a" * 3000
    found, said = read(tmp_path, chat([("\ufffda", -1.0)] * 1000 + [("\ufffdb", -1.0)], text))
    assert found == []
    assert "tokens do not join to the text" in said
    [found], _ = read(tmp_path, chat([("\ufffda", -1.0)] * 1000, text))
    assert found.n_bytes == 3000


def test_a_single_impossible_token_has_a_profile(tmp_path):
    [found], _ = read(tmp_path, chat([("a", -math.inf, [97])], "a"))
    assert math.isinf(assess_texts([found]).rates["byte"].bits)


@pytest.mark.parametrize(("n", "correct"), [(3, (0,)), (2, (2,)), (2, (-1,))])
def test_questions_hold_together(n, correct):
    with pytest.raises(InputError, match="question 'q'"):
        Question("q", ("a", "b"), np.full(n, -1.0), correct)


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".json", content)


@pytest.mark.parametrize("kind", ["line", "document", "member"])
@pytest.mark.slow
def test_small_logs_that_unpack_to_much(tmp_path, kind):
    blanks = b" " * (65 << 20)
    path = tmp_path / ("a.eval" if kind == "member" else "a.json.gz")
    if kind == "member":
        zipped(path, header="{}", samples__1=blanks)
    else:
        rows = b"[\n" + (blanks[: 1 << 20] + b"\n") * 66 if kind == "document" else blanks
        path.write_bytes(gzip.compress(rows, 1))
    assert path.stat().st_size < 2 << 20
    tracemalloc.start()
    with pytest.raises(InputError, match="unpacks to more than 64 MB"):
        [*read_items(path)]
    assert tracemalloc.get_traced_memory()[1] < 250 << 20
    tracemalloc.stop()


def test_damaged_archives_and_tables_are_named(tmp_path):
    path = tmp_path / "a.eval"
    zipped(path, header=json.dumps({"eval": {}}), samples__1=json.dumps({"id": 1}))
    pl.DataFrame({"doc": ["a"], "bytes": [3], "logprobs": [[-1.0]]}).write_parquet(tmp_path / "a.parquet")
    for name, reason in (("a.eval", "a damaged zip file"), ("a.parquet", "cannot be read as Parquet")):
        content = (tmp_path / name).read_bytes()
        damaged = tmp_path / f"damaged-{name}"
        for at in range(4, len(content), 29):
            damaged.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
            with suppress(InputError):
                [*read_items(damaged, form="plain" if name == "a.parquet" else "inspect")]
        damaged.write_bytes(content[: len(content) // 2])
        with pytest.raises(InputError, match=reason):
            [*read_items(damaged)]


def test_missing_log_probabilities_leave_the_document_out(tmp_path):
    for value in (None, -9999.0):
        plain = {"doc": "a", "text": "ab", "logprobs": [-1.0, value]}
        for record in (plain, chat([("a", -1.0, [97]), ("b", value, [98])], "ab")):
            found, said = read(tmp_path, record)
            assert found == []
            assert "1 document left out: a token has no log-probability" in said


def test_a_scored_beginning_is_left_out(tmp_path):
    [found], said = read(tmp_path, legacy(["<s>", "a", "b"], [-10.8, -1.0, -2.0], "ab"))
    assert (found.log_probability, found.tokens, found.n_bytes) == (-3.0, 2, 2)
    assert "the beginning-of-sequence token has a log-probability of its own" in said
    [found], said = read(tmp_path, legacy(["<s>", "a", "b"], [None, -1.0, -2.0], "ab"))
    assert (found.log_probability, found.tokens, found.n_bytes, said) == (-3.0, 2, 2, "")


def test_the_bytes_of_a_first_token_without_a_log_probability_are_not_counted(tmp_path):
    [found], said = read(tmp_path, legacy(["né", "b"], [None, -2.0], "néb"))
    assert (found.log_probability, found.tokens, found.n_bytes) == (-2.0, 1, 1)
    assert "its bytes are not counted either" in said


def test_a_scored_ending_has_no_bytes(tmp_path):
    [found], said = read(tmp_path, chat([("a", -1.0, [97]), ("<|im_end|>", -0.5, [])], "a"))
    assert (found.log_probability, found.tokens, found.n_bytes) == (-1.5, 2, 1)
    assert "it adds bits but no bytes" in said


def test_split_characters(tmp_path):
    whole = list("é".encode())
    pieces = [("\ufffd", -1.0, whole[:1]), ("\ufffd", -1.0, whole[1:])]
    [found], said = read(tmp_path, chat(pieces, "é"))
    assert found.n_bytes == 2
    assert "its true bytes were counted" in said
    replaced = [("\ufffd", -1.0, [239, 191, 189])] * 2
    [found], said = read(tmp_path, chat(replaced, "é"))
    assert found.n_bytes == 2
    assert "those of the replacement character U+FFFD" in said
    prompt = {"choices": [{"prompt_logprobs": [None, {"5": {"logprob": -1.0, "decoded_token": "\ufffd"}}]}]}
    [found], said = read(tmp_path, prompt)
    assert found.n_bytes is None
    assert "figures per byte are unknown" in said


def test_tokens_that_are_not_those_of_the_text_are_left_out(tmp_path):
    for raw in ([120], [288]):  # 288 is no byte
        found, said = read(tmp_path, chat([("x", -1.0, raw)], "a"))
        assert found == []
        assert "the tokens do not join to the text" in said


def test_the_token_of_a_prompt_is_found_by_its_id(tmp_path):
    tops = {"3": {"logprob": -0.1, "decoded_token": "no"}, "7": {"logprob": -2.0, "decoded_token": "so"}}
    [found], _ = read(tmp_path, {"choices": [{"prompt_logprobs": [None, tops], "prompt_token_ids": [1, 7]}]})
    assert (found.log_probability, found.n_bytes, found.pieces) == (-2.0, 2, ["so"])
    found, said = read(tmp_path, {"choices": [{"prompt_logprobs": [None, tops]}]})
    assert found == []
    assert "return_token_ids" in said


def test_failed_requests_of_a_batch_are_counted(tmp_path):
    good = {"custom_id": "b", "response": {"status_code": 200, "body": chat([("a", -1.0, [97])], "a")}, "error": None}
    bad = {"custom_id": "a", "response": None, "error": {"code": "batch_expired"}}
    [found], said = read(tmp_path, [bad, good])
    assert found.name == "b"
    assert "1 request left out: the request failed (batch_expired)" in said


def test_responses_and_refusals(tmp_path):
    part = {"type": "output_text", "text": "a", "logprobs": [{"token": "a", "logprob": -1.0, "bytes": [97]}]}
    [found], said = read(tmp_path, {"object": "response", "output": [{"content": [part]}]})
    assert found.n_bytes == 1
    found, said = read(tmp_path, chat([], "a"))
    assert found == []
    assert "without log-probabilities" in said


def rolling(**more):
    record = {
        "doc_id": 0,
        "arguments": {"gen_args_0": {"arg_0": " two  words"}},
        "resps": [["-8.0"]],
        "filtered_resps": ["-8.0"],
        "filter": "none",
        "target": "x",
        "metrics": ["bits_per_byte"],
    }
    return record | more


def test_rolling_texts_of_lm_evaluation_harness(tmp_path):
    [found], said = read(tmp_path, rolling())
    assert (found.n_bytes, found.words, said) == (11, 3, "")  # white space in front makes an empty word
    [found], said = read(tmp_path, rolling(bits_per_byte=[-8.0, 5], word_perplexity=[-8.0, 2]))
    assert (found.n_bytes, found.words) == (5, 2)
    assert "not those of the scored text" in said
    [found], said = read(tmp_path, [rolling(), rolling(filter="other")])
    assert "the same document after another filter" in said


def question(target, **more):
    options = [" Paris", " Rome", " Bern"]
    record = {
        "doc_id": 0,
        "arguments": [("Capital?", each) for each in options],
        "resps": [[(-1.0, False)], [(-2.0, False)], [(-3.0, False)]],
        "filtered_resps": [(-1.0, False), (-2.0, False), (-3.0, False)],
        "filter": "none",
        "target": target,
        "metrics": ["acc"],
    }
    return record | more


@pytest.mark.parametrize(
    ("target", "correct"),
    [("1", (1,)), (1, (1,)), ("Rome", (1,)), (" Rome", (1,)), ("[0, 2]", (0, 2)), ([0, 2], (0, 2))],
)
def test_correct_options(tmp_path, target, correct):
    [found], _ = read(tmp_path, question(target))
    assert found.correct == correct
    assert found.options == ("Paris", "Rome", "Bern")
    assert found.log_probs.tolist() == [-1.0, -2.0, -3.0]


def test_unknown_correct_options_are_left_out(tmp_path):
    found, said = read(tmp_path, question("Vienna"))
    assert found == []
    assert "does not contain which option is correct" in said
    contexts = [("A", " it"), ("B", " it"), ("C", " it")]
    found, said = read(tmp_path, question("1", arguments=contexts))
    assert found == []


def test_unconditional_log_probabilities_are_no_options(tmp_path):
    more = [("", each) for each in (" Paris", " Rome", " Bern")]
    record = question("0")
    record["arguments"] = [*record["arguments"], *more]
    record["filtered_resps"] = [*record["filtered_resps"], (-4.0, False), (-5.0, False), (-6.0, False)]
    [found], _ = read(tmp_path, record)
    assert len(found.options) == 3
    assert found.unconditional.tolist() == [-4.0, -5.0, -6.0]


def test_folders_are_searched_by_links_too_each_file_once(tmp_path):
    run, folder = tmp_path / "run", tmp_path / "folder"
    run.mkdir()
    folder.mkdir()
    (run / "samples_x_2026-01-01T00-00-00.jsonl").write_text(json.dumps(rolling()))
    (folder / "one").symlink_to(run)
    (folder / "two").symlink_to(run)
    (folder / "loop").symlink_to(folder)
    [found] = read_items(folder)
    assert found.name == "x/0"


def test_folders_are_searched_hidden_ones_too(tmp_path):
    run = tmp_path / "out" / ".__tiny"
    run.mkdir(parents=True)
    (run / "samples_x_2026-01-01T00-00-00.jsonl").write_text(json.dumps(rolling()))
    (run / "results_2026-01-01T00-00-00.json").write_text(
        json.dumps({"tokenizer_bos_token": ["<s>", "1"], "tokenizer_eos_token": ["</s>", "2"], "max_length": 64})
    )
    said, remarks = [], Remarks()
    [found] = read_items(tmp_path / "out", say=said.append, remarks=remarks)
    assert found.name == "x/0"
    assert "lie in a hidden folder such as .__tiny" in said[0]
    assert "add_bos_token" in " ".join(remarks.sentences())
    assert "windows of 64 tokens" in " ".join(remarks.sentences())


def inspect_log(**more):
    sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": "C", "metadata": {"p": 0.9}}}, "output": {}}
    return {"status": "success", "eval": {}, "plan": {}, "samples": [sample | more]}


def test_logs_of_inspect(tmp_path):
    [found], said = read(tmp_path, inspect_log(), stated="metadata.p")
    assert (found.grade, found.confidence, said) == (1.0, 0.9, "")
    [found], said = read(tmp_path, inspect_log(epoch=2), stated="metadata.q")
    assert "from the first epoch alone" in said
    assert "without a stated confidence" in said
    found, said = read(tmp_path, inspect_log(error={"message": "x"}))
    assert found == []
    [found], said = read(tmp_path, inspect_log() | {"status": "error"})
    assert "the log's status is error" in said
    with zipfile.ZipFile(tmp_path / "a.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        log = inspect_log()
        archive.writestr("samples/1_epoch_1.json", json.dumps(log.pop("samples")[0]))
        archive.writestr("header.json", json.dumps(log))
    [found] = read_items(tmp_path / "a.eval")
    assert found.grade == 1.0


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, "the file is empty"),
        (b'{"a": 1}', {}, "no known form of a log; its first record has the keys a"),
        (b'{"doc": "a", "logprobs": [-1]}\n{"doc"', {}, "line 2: no valid JSON"),
        (b'{"doc": "a", "logprobs": [-1]}\n[1]', {}, "line 2: expected a JSON object"),
        (b"[1]", {}, "entry 1 is no JSON object"),
        (b"a,b\n1,2", {}, "no valid JSON.*tables are for unperplexed assess"),
        (b"PK\x03\x04 broken", {}, "damaged zip file"),
        (b"PAR1 broken", {}, "cannot be read as Parquet"),
        (b'{"doc": "a", "logprobs": [0.5]}', {}, r"line 1: document 'a': token 0 .* log-probability 0.5"),
        (b'{"doc": "a", "logprobs": "x"}', {}, "expected a list of numbers"),
        (b'{"doc": "a", "bytes": "x", "logprobs": [-1]}', {}, "bytes: expected a whole number"),
        (b'{"doc": "a", "text": 1, "logprobs": [-1]}', {}, "text: expected a string"),
        (b'{"doc": "a", "logprobs": [-1]}', {"form": "lm-eval"}, "not in the form lm-eval"),
        (b'{"doc": "a", "logprobs": [-1]}', {"form": "other"}, "form 'other': known are"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, content, options, message):
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_items(tmp_path / "log", **options))


def test_missing_files_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        list(read_items(tmp_path / "none.json"))
    with pytest.raises(InputError, match="no logs in this folder"):
        list(read_items(tmp_path))


def test_forms_are_all_named_by_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["lm", "--help-all"])
    words = " ".join(capsys.readouterr().out.split())
    assert all(name in words for name in forms())


def test_texts_of_answers_to_nothing_are_none():
    assert math.isnan(assess_texts([Text("a", -1.0, tokens=2)]).bits_per_byte)
    assert np.isnan(assess_texts([Text("a", -1.0, n_bytes=2)]).perplexity)


def test_servers_in_their_own_shapes(tmp_path):
    pieces = [{"token": "n", "logprob": -1.0, "bytes": [110]}, {"token": "\ufffd", "logprob": -0.5, "bytes": [195]}]
    pieces.append({"token": "\ufffd", "logprob": -0.25, "bytes": [169]})
    for content in ({"content": "né"}, {}):  # without the text the bytes are those of the tokens
        [found], said = read(tmp_path, {"completion_probabilities": pieces, **content})
        assert (found.log_probability, found.n_bytes) == (-1.75, 3)
        assert "those of generated text" in said
    found, said = read(tmp_path, {"completion_probabilities": [{"token": "n", "prob": 0.5}], "content": "n"})
    assert found == []
    assert "1 document left out: probabilities after sampling (post_sampling_probs)" in said
    prompt = [[None, 1, "<s>"], [-2.0, 7, "so"]]
    meta = {"input_token_logprobs": prompt, "output_token_logprobs": [[-1.0, 8, " it"]]}
    one, two = read(tmp_path, {"text": " it", "meta_info": meta})[0]
    assert (one.log_probability, two.log_probability, two.name) == (-2.0, -1.0, f"{one.name}/output")
    [found], said = read(tmp_path, {"text": "", "meta_info": {"input_token_logprobs": prompt}})
    assert (found.pieces, said) == (["so"], "")  # the prompt is not generated
    [found], _ = read(tmp_path, {"text": " it", "meta_info": {"output_token_logprobs": [[-1.0, 8, " it"]]}})
    assert "output" not in found.name
    found, said = read(tmp_path, {"text": "", "meta_info": {}})
    assert found == []
    assert "1 document left out: without log-probabilities" in said
    tokens = [{"text": "a", "logprob": -9999.0}, {"text": "</s>", "logprob": 0.0, "special": True}]
    found, said = read(tmp_path, {"generated_text": "a", "details": {"tokens": tokens}})
    assert found == []
    assert "a token has no log-probability" in said


def test_tokens_that_are_no_text_or_another(tmp_path):
    assert read(tmp_path, legacy(["<s>"], [None], ""))[0] == []  # nothing follows the beginning
    pieces = [("\ufffd", -1.0), ("x", -1.0), ("\ufffd", -1.0)]
    found, said = read(tmp_path, chat(pieces, "éaé"))
    assert found == []
    assert "the tokens do not join to the text" in said


def test_details_of_lighteval(tmp_path):
    doc = {"task_name": "quiz", "id": "7", "choices": [" Bern", " Rome"], "gold_index": 1}
    response = {"logprobs": [-1.0, None], "unconditioned_logprobs": [-3.0, -4.0]}
    [found], said = read(tmp_path, {"doc": doc, "model_response": response})
    assert (found.name, found.options, found.correct, said) == ("quiz/7", ("Bern", "Rome"), (1,), "")
    assert found.log_probs == pytest.approx([-1.0, math.nan], nan_ok=True)
    assert found.unconditional.tolist() == [-3.0, -4.0]
    several = {"doc": doc | {"gold_index": [0, 1]}, "model_response": {"logprobs": [-1.0, -2.0]}}
    assert read(tmp_path, several)[0][0].correct == (0, 1)
    doc = {"task_name": "wiki", "id": "8", "query": "né", "choices": []}
    [text], said = read(tmp_path, {"doc": doc, "model_response": {"logprobs": [-5.0], "truncated_tokens_count": 3}})
    assert (text.name, text.log_probability, text.n_bytes) == ("wiki/8", -5.0, 3)
    assert said == "1 document: the text was cut to the length of the model"
    assert read(tmp_path, {"doc": doc, "model_response": {"text": ["an answer"]}})[0] == []


@pytest.mark.parametrize(("acc", "correct"), [(1.0, 0), (0.0, 1)])
def test_a_target_that_is_an_index_and_an_option_is_told_by_the_accuracy(tmp_path, acc, correct):
    """Options "1" and "0" with the target "1": the host counted the first option, of the higher probability, or not."""
    record = question("1", acc=acc)
    record["arguments"] = [["?", "1"], ["?", "0"], ["?", "2"]]  # without the space that delimits
    [found], _ = read(tmp_path, record)
    assert (found.options, found.correct) == (("1", "0", "2"), (correct,))


def test_generated_answers_have_the_grades_that_are_numbers(tmp_path):
    record = {
        "doc_id": 3,
        "arguments": [["Capital?", {"until": ["."]}]],
        "resps": [["Bern"]],
        "metrics": ["exact_match", "words"],
        "exact_match": 1.0,
        "words": "Bern",
    }
    [found], _ = read(tmp_path, record)
    assert (found.name, found.grade, found.grader) == ("3", 1.0, "exact_match,none")


def test_partial_grades_of_inspect_are_numbers(tmp_path):
    for value, grade in ((0.25, 0.25), ("P", 0.5), ({"a": 1}, math.nan)):
        [found], _ = read(tmp_path, inspect_log(scores={"s": {"value": value}}))
        assert found.grade == pytest.approx(grade, nan_ok=True)


def test_empty_lines_are_passed_and_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{PLAIN_LINE}\n\n{PLAIN_LINE}\n")
    assert len([*read_items(path)]) == 2
    path.write_text(f"{PLAIN_LINE}\n\n[1]\n")
    with pytest.raises(InputError, match="line 3: expected a JSON object"):
        [*read_items(path)]


def test_zips_that_are_no_logs_and_small_files_of_many_values_are_refused(tmp_path, monkeypatch):
    zipped(tmp_path / "a.eval", samples__1="{}")
    with pytest.raises(InputError, match=r"a\.eval: a zip file without header\.json is no log of Inspect"):
        [*read_items(tmp_path / "a.eval")]
    monkeypatch.setattr(reading, "_LONGEST", 1 << 20)
    monkeypatch.setattr(reading, "_MOST_VALUES", 1 << 10)
    packed = tmp_path / "a.json.gz"
    for content, most in ((b" " * (1 << 20) + b"{}", "1 MB"), (b"[" + b"1," * 2000 + b"1]", "1,024 values")):
        packed.write_bytes(gzip.compress(content))
        with pytest.raises(InputError, match=f"unpacks to more than {most}. Write one record a line"):
            [*read_items(packed)]


def test_texts_and_questions_hold_together():
    for make, message in (
        (lambda: Text("a", 0.5), "document 'a': log-probability 0.5; expected a natural logarithm"),
        (lambda: Text("a", math.nan), "document 'a': log-probability nan"),
        (lambda: Text.of("a", "ab", [-1.0], pieces=["a", "b"]), "document 'a': 2 tokens, but 1 log-probabilities"),
        (lambda: Question("q", ("a",), np.array([np.inf]), (0,)), "question 'q': a log-probability is infinite"),
        (lambda: Question("q", ("a",), np.zeros(1), (0,), np.array([-np.inf])), "a log-probability is infinite"),
    ):
        with pytest.raises(InputError, match=message):
            make()


def reply(name, tops, content=None, form="chat", **more):
    """Make a line of a batch: the answer to a question, with the most probable tokens of each place."""
    own = [max(each, key=each.get) for each in tops]
    places = [
        {
            "token": token,
            "logprob": math.log(each[token]),
            "top_logprobs": [{"token": top, "logprob": math.log(p)} for top, p in each.items()],
        }
        for token, each in zip(own, tops, strict=True)
    ]
    if form == "chat":
        body = {"choices": [{"message": {"content": "".join(own)}, "logprobs": {"content": places}}]}
    elif form == "responses":
        body = {"object": "response", "output": [{"content": [{"text": "".join(own), "logprobs": places}]}]}
    else:
        logged = [{top["token"]: top["logprob"] for top in each["top_logprobs"]} for each in places]
        columns = {"tokens": own, "token_logprobs": [each["logprob"] for each in places], "top_logprobs": logged}
        body = {"choices": [{"text": "".join(own), "logprobs": columns}]}
    return json.dumps({"custom_id": name, "response": {"status_code": 200, "body": body | more}, "error": None})


@pytest.mark.parametrize("form", ["chat", "responses", "completions"])
def test_answers_of_an_api_are_questions_with_the_right_options_in_a_file(tmp_path, form):
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps({"q1": "A", "q2": "C", "q3": "B"}))
    tops = {"A": 0.5, " A": 0.1, "B": 0.25, "C": 0.05, "The": 0.1}
    batch = tmp_path / "batch.jsonl"
    lines = [reply("q1", [tops], form=form), reply("q2", [{"Answer": 0.9}, {": ": 1.0}, tops], form=form)]
    batch.write_text("\n".join([*lines, reply("other", [tops], form=form)]))
    remarks = Remarks()
    found = [*read_items(batch, truth=gold, remarks=remarks)]
    assert [(each.name, each.options, each.correct) for each in found] == [
        ("q1", ("A", "B", "C"), (0,)),
        ("q2", ("A", "B", "C"), (2,)),
    ]
    for each in found:
        assert np.exp(each.log_probs) == pytest.approx([0.6, 0.25, 0.05])
    said = remarks.sentences()
    assert "the options are A, B, C, the right answers of gold.json, whose records name none" in said
    assert "1 answer left out: no right answer has its custom_id" in said
    assert f"1 right answer of {gold} without an answer in the logs" in said
    assert "on average 10.0% of the probability of 2 questions lies outside the options" in said
    batch.write_text(reply("q1", [{"A": 0.6, "B": 0.3, "C": 0.09999}], form=form))
    remarks = Remarks()
    assert len([*read_items(batch, truth=gold, remarks=remarks)]) == 1
    assert "outside" not in "".join(remarks.sentences())


@pytest.mark.parametrize("stamp", ["2026-01-01T00-00-00.5", "2026-01-01", "20260101"])
def test_the_task_is_read_from_the_name_of_a_file_with_any_date(tmp_path, stamp):
    for task in ("arc", "mmlu_law"):
        (tmp_path / f"samples_{task}_{stamp}.jsonl").write_text(json.dumps(rolling()))
    tasks = [each.name.split("/")[0] for each in read_items(tmp_path)]
    assert tasks == ["arc", "mmlu_law"]


def test_answers_without_choices_or_top_log_probabilities_do_not_refuse_the_others(tmp_path):
    gold, batch = tmp_path / "gold.json", tmp_path / "batch.jsonl"
    gold.write_text(json.dumps({name: {"answer": "A", "options": "AB"} for name in ("none", "null", "chat", "legacy")}))
    bodies = {
        "none": {"choices": []},
        "null": {"choices": None},
        "chat": {"choices": [{"logprobs": {"content": [{"token": "A", "logprob": -0.5, "top_logprobs": None}]}}]},
        "legacy": {"choices": [{"logprobs": {"tokens": ["A"], "token_logprobs": [-0.5], "top_logprobs": None}}]},
    }
    rows = [{"custom_id": name, "response": {"status_code": 200, "body": body}} for name, body in bodies.items()]
    batch.write_text("\n".join(map(json.dumps, rows)))
    remarks = Remarks()
    found = [*read_items(batch, truth=gold, remarks=remarks)]
    assert [(each.name, each.options, each.log_probs[0]) for each in found] == [
        ("chat", ("A", "B"), -0.5),
        ("legacy", ("A", "B"), -0.5),
    ]
    assert "2 answers left out: without choices or output" in remarks.sentences()
    remarks = Remarks()
    assert [each.name for each in read_items(batch, remarks=remarks)] == ["chat", "legacy"]
    assert "2 answers left out: without choices or output" in remarks.sentences()


def test_an_answer_that_names_no_option_or_several_is_left_out_and_counted(tmp_path):
    options = ["A", "B", "C", "D"]
    names = ("words", "two", "letter", "beyond", "unlisted")
    gold = tmp_path / "gold.jsonl"
    gold.write_text("\n".join(json.dumps({"custom_id": each, "answer": "B", "options": options}) for each in names))
    batch = tmp_path / "batch.jsonl"
    lines = [
        reply("words", [{"I": 0.9, "no": 0.1}, {" refuse": 1.0}]),
        reply("two", [{"A": 0.9, "B": 0.1}, {" good": 1.0}, {" B": 1.0}]),  # the article, and an option
        reply("letter", [{"B": 0.6, "A": 0.3, "C": 0.06, "D": 0.04}, {")": 1.0}, {" not": 1.0}, {" A": 1.0}]),
        reply("beyond", [{"Well": 0.7, "B": 0.2, "A": 0.1}]),
    ]
    batch.write_text("\n".join(lines))
    remarks = Remarks()
    found = {each.name: np.exp(each.log_probs) for each in read_items(batch, truth=gold, remarks=remarks)}
    assert set(found) == {"letter", "beyond"}
    assert found["letter"] == pytest.approx([0.3, 0.6, 0.06, 0.04])
    assert found["beyond"][:2] == pytest.approx([0.1, 0.2])
    assert np.isnan(found["beyond"][2:]).all()  # not among the most probable tokens: the user says what they are
    assert sum("2 answers left out: it names no option, or several" in each for each in remarks.sentences()) == 1
    with pytest.raises(InputError, match=r"option 2 .* has no log-probability.*--invalid zero"):
        assess_questions(read_items(batch, truth=gold))
    twice = json.loads(lines[2])
    twice["response"]["body"]["choices"] *= 2
    batch.write_text(json.dumps(twice))
    assert len([*read_items(batch, truth=gold, remarks=remarks)]) == 1
    assert any("1 question: the log-probabilities of the first choice" in each for each in remarks.sentences())
    batch.write_text("\n".join(lines[2:3] * 2))
    with pytest.raises(InputError, match="'letter' is answered twice"):
        [*read_items(batch, truth=gold)]


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ({"q9": "A", "q8": "B"}, "no answer has the custom_id of a right answer, such as 'q9'"),
        ([{"custom_id": "q1", "answer": "E", "options": ["A", "B"]}], "'q1': the right answer 'E' is not one of"),
        ([{"custom_id": "q1", "options": ["A", "B"]}], "'q1': the right answer '' is not one of"),
        ([{"custom_id": "q1", "answer": "A"}, {"custom_id": "q1", "answer": "B"}], "each name once"),
        ({"q1": "A"}, "'q1': expected two or more different options"),
        ({"q1": {"answer": "A", "options": 3}}, "'q1': expected two or more different options.* got 3"),
        ({"q1": {"answer": "A", "options": "A,B"}}, "'q1': expected two or more different options.* got 'A,B'"),
        ({"q1": {"answer": "A", "options": ["A", "A", "B"]}}, "'q1': expected two or more different options"),
        ([], "expected right answers"),
        ({"q1": "A", "q2": "B", "q3": None}, "'q3': the right answer '' is not one of"),
    ],
)
def test_right_answers_that_are_none_are_refused(tmp_path, gold, message):
    (tmp_path / "gold.json").write_text(json.dumps(gold))
    (tmp_path / "batch.jsonl").write_text(reply("q1", [{"A": 0.9, "B": 0.1}]))
    with pytest.raises(InputError, match=message):
        [*read_items(tmp_path / "batch.jsonl", truth=tmp_path / "gold.json")]


@pytest.mark.parametrize("names", [("custom_id", "answer"), ("item", "gold")])
def test_right_answers_in_a_csv_file_are_those_of_json(tmp_path, capsys, names):
    tops = {"A": 0.5, "B": 0.3, "C": 0.2}
    (tmp_path / "batch.jsonl").write_text("\n".join(reply(f"{at:03}", [tops]) for at in range(30)))
    key = {f"{at:03}": "ABC"[at % 3] for at in range(30)}
    (tmp_path / "key.json").write_text(json.dumps(key))
    (tmp_path / "key.csv").write_text("\n".join(map(",".join, [names, *key.items()])))
    found = []
    for name in ("key.csv", "key.json"):
        assert main(["lm", str(tmp_path / "batch.jsonl"), "--truth", str(tmp_path / name), "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    said, _ = (" ".join(each.pop("remarks")) for each in found)
    assert found[0] == found[1]
    assert ("the column 'item' names the questions, 'gold' holds" in said) == (names[0] == "item")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("q1,A\n", "expected right answers"),
        ("id;gold\nq1;A\n", "expected columns custom_id and answer.*it has 'id;gold'"),
        ("id,gold,more\nq1,A,1\n", "expected columns custom_id and answer.*it has 'id', 'gold', 'more'"),
        ("id,gold\nq1,A\nq2,\nq3,B\n", "'q2': the right answer '' is not one of"),
        ("id,gold\nq1,A,B\n", "cannot be read as a table of right answers"),
        ("", "cannot be read as a table of right answers"),
    ],
)
def test_csv_files_without_right_answers_are_refused(tmp_path, key, message):
    (tmp_path / "key.csv").write_text(key)
    (tmp_path / "batch.jsonl").write_text(reply("q1", [{"A": 0.9, "B": 0.1}]))
    with pytest.raises(InputError, match=message):
        [*read_items(tmp_path / "batch.jsonl", truth=tmp_path / "key.csv")]


def test_right_answers_are_for_answers_in_openai_form(tmp_path, capsys):
    (tmp_path / "gold.json").write_text(json.dumps({"q1": "A", "q2": "B"}))
    tops = {"A": 0.5, "B": 0.3, "-": 0.2}
    (tmp_path / "batch.jsonl").write_text("\n".join(reply(f"q{at}", [tops]) for at in (1, 2)))
    batch, gold = str(tmp_path / "batch.jsonl"), str(tmp_path / "gold.json")
    assert main(["lm", batch, "--truth", gold]) == 0
    assert "20.0% of the probability of 2 questions" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "plain.jsonl").write_text(json.dumps({"doc": "a", "text": "b", "logprobs": [-1.0]}))
    assert main(["lm", str(tmp_path / "plain.jsonl"), "--truth", gold]) == 2
    assert "are for answers in OpenAI's form, not plain" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["doc_id", "arguments", "resps"])
def test_records_of_lm_evaluation_harness_have_three_keys(key):
    record = {"doc_id": 1, "arguments": [], "resps": []}
    recognizes = forms()["lm-eval"].recognizes
    assert recognizes(record)
    del record[key]
    assert not recognizes(record)


def test_answers_of_one_completion_in_inspect_have_the_mean_of_its_tokens(tmp_path):
    """The geometric mean of their probabilities; of several completions it is not known which was graded."""
    tokens = [{"token": f"t{at}", "logprob": math.log(p), "bytes": None} for at, p in enumerate((0.5, 0.125))]
    choice = {"message": {"content": "t0t1"}, "logprobs": {"content": tokens}}
    for number, expected in ((1, 0.25), (2, None)):
        found, _ = read(tmp_path, inspect_log(output={"choices": [choice] * number}))
        [answer] = [each for each in found if isinstance(each, Answer)]
        assert answer.per_token == (expected if expected is None else pytest.approx(expected))
