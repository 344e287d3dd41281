"""Logs that evaluation tools wrote for two tiny models, beside the tools' own figures."""

import json
import math
import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import module_of
from pages import text_of
from unperplexed.cli import main
from unperplexed.language_models import (
    GradedAnswers,
    Question,
    Remarks,
    Text,
    assess_answers,
    assess_questions,
    assess_texts,
    compare_texts,
    leaderboard,
    read_items,
)
from unperplexed.statistics.intervals import Dependence, uncertain_mean

SAMPLES = Path(os.environ["UNPERPLEXED_DATA"]).parent / "language_models" / "samples"
ROOT = Path(__file__).parents[2]
ANSWERS = Path(os.environ["UNPERPLEXED_DATA"]) / "llm_mcqa" / "llm_mcqa_mmlu.parquet"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text("utf-8"))
RUNS = [
    (run, task, {name.partition(",")[0]: value for name, value in found.items() if "_stderr" not in name})
    for run, tasks in EXPECTED["lm_eval"].items()
    for task, found in tasks.items()
    if task not in ("up_gen", "upx_b", "upx_d")
]
API = sorted(path.name for path in (SAMPLES / "api_shapes").iterdir())


def samples(run, task):
    [path] = (SAMPLES / "lm_eval" / run).glob(f"samples_{task}_2*")
    return path


@pytest.mark.parametrize(("run", "task", "expected"), RUNS, ids=[f"{run}-{task}" for run, task, _ in RUNS])
def test_figures_are_those_of_lm_evaluation_harness(run, task, expected):
    items = [*read_items(samples(run, task))]
    if isinstance(items[0], Question):
        found = {name: each.value for name, each in assess_questions(items, resamples=0).metrics.items()}
    else:
        rates = assess_texts(items).rates
        found = {
            "bits_per_byte": rates["byte"].bits,
            "byte_perplexity": rates["byte"].perplexity,
            "word_perplexity": rates["word"].perplexity,
            "perplexity": rates["document"].perplexity,
        }
        greedy = assess_texts(items).greedy
        found |= {} if greedy is None else {"acc": greedy.value}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("run", "task"), [("plug_b", "upx_b"), ("plug_d", "upx_d")])
def test_tasks_with_functions_of_their_own_hold_the_same_questions(run, task):
    plain = assess_questions(read_items(samples("gpt2", "up_mc_plain")), resamples=0).metrics
    remarks = Remarks()
    own = assess_questions(read_items(samples(run, task), remarks=remarks), resamples=0).metrics
    assert ("aggregates brier_score by a function of its own" in " ".join(remarks.sentences())) == (task == "upx_b")
    assert {name: each.value for name, each in own.items()} == pytest.approx(
        {name: each.value for name, each in plain.items()}, rel=1e-6
    )


def test_generated_answers_are_graded_by_filter():
    metrics = assess_answers(read_items(samples("gpt2", "up_gen"))).metrics
    expected = {name: value for name, value in EXPECTED["lm_eval"]["gpt2"]["up_gen"].items() if "stderr" not in name}
    assert {name: metrics[f"mean grade ({name})"].value for name in expected} == expected


@pytest.mark.parametrize("name", API)
def test_servers_log_the_same_text(name):
    expected = EXPECTED["api_shapes"]
    found = assess_texts(SAMPLES / "api_shapes" / name)
    assert found.rates["token"].total == expected["n_scored_tokens"]
    assert found.rates["token"].log_probability == pytest.approx(-expected["nll_per_token"], rel=1e-12)
    assert found.perplexity == pytest.approx(expected["perplexity"], rel=1e-12)
    said = " ".join(found.remarks)
    if name.startswith(("sglang", "vllm")):  # no text, and bytes of split characters unknown
        assert math.isnan(found.bits_per_byte)
        assert "figures per byte are unknown" in said
    else:
        assert found.rates["byte"].total == expected["n_bytes"]
        assert found.bits_per_byte == pytest.approx(expected["bits_per_byte"], rel=1e-12)
        assert "tokens split a character" in said
    if "batch" in name:
        assert "failed (status 400)" in said
        assert "failed (batch_expired)" in said


@pytest.mark.parametrize("name", ["stated_1epoch.json", "stated_2epochs.eval", "mc.eval", "mc_1sample.json"])
def test_inspect(name):
    remarks = Remarks()
    items = [*read_items(SAMPLES / "inspect" / name, stated="metadata.confidence", remarks=remarks)]
    assert not any(isinstance(each, Text) for each in items)
    metrics = assess_answers(items, resamples=0).metrics
    expected = EXPECTED["inspect"].get(name, {"accuracy": 0.0})
    assert next(iter(metrics.values())).value == pytest.approx(expected["accuracy"], rel=1e-12)
    said = " ".join(remarks.sentences())
    if "upx_brier" in expected:
        assert metrics["brier_score"].value == pytest.approx(expected["upx_brier"], rel=1e-12)
    else:
        assert "the tokens do not join to the text" in said
        assert "no answer could be read" in said
    assert ("from the first epoch alone" in said) == ("2epochs" in name)


@pytest.mark.parametrize("name", ["stated_1epoch.json", "stated_2epochs.eval"])
def test_confidences_are_read_from_what_the_model_wrote(name):
    kept = [[*read_items(SAMPLES / "inspect" / name, stated="metadata.confidence")]]
    kept.append([*read_items(SAMPLES / "inspect" / name, stated="output.completion", scale=100)])
    assert kept[0] == kept[1]


def test_lighteval():
    found = assess_questions(read_items(SAMPLES / "lighteval" / "details_upmc_0.parquet"), resamples=0)
    assert found.metrics["acc"].value == EXPECTED["lighteval"]["details_upmc_0.parquet"]["acc"]


def test_runs_of_two_models_are_compared_on_the_same_texts():
    logs = {run: samples(run, "up_roll") for run in ("gpt2", "llama", "llama_nobos", "llama_len16")}
    bits = {run: EXPECTED["lm_eval"][run]["up_roll"]["bits_per_byte,none"] for run in logs}
    found = compare_texts(logs["gpt2"], logs["llama_nobos"])
    assert found.bits_per_byte == pytest.approx((bits["gpt2"], bits["llama_nobos"]), rel=1e-12)
    assert found.difference == pytest.approx(bits["gpt2"] - bits["llama_nobos"], rel=1e-12)
    # The same model, once with a scored beginning-of-sequence token, once with shorter windows.
    scored = " ".join(compare_texts(logs["llama"], logs["llama_nobos"]).remarks)
    assert scored.count("add_bos_token=False") == 1
    windows = " ".join(compare_texts(logs["llama"], logs["llama_len16"]).remarks)
    assert "windows of 64 tokens" in windows
    assert "windows of 16 tokens" in windows


def test_runs_of_two_models_are_compared_on_the_same_questions(capsys):
    logs = [str(samples(run, "up_mc_plain")) for run in ("gpt2", "llama")]
    assert main(["lm", logs[0], "--compare", logs[1], "--json", "-", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["names"] == ["gpt2", "llama"]
    for name in ("acc", "acc_norm", "acc_bytes", "brier_score"):
        own = [EXPECTED["lm_eval"][run]["up_mc_plain"][f"{name},none"] for run in ("gpt2", "llama")]
        assert [found["metrics"][name][side] for side in ("first", "second")] == pytest.approx(own, rel=1e-12)


def test_models_are_named_by_the_folders_that_the_tool_made_of_their_paths(capsys, tmp_path):
    logs = []
    for run, folder in (("gpt2", ".__tiny-gpt2"), ("llama_nobos", "__models__tiny-llama")):
        (tmp_path / folder).mkdir()
        logs.append(str(shutil.copy(samples(run, "up_roll"), tmp_path / folder / "samples_up_roll.jsonl")))
    assert main(["lm", logs[0], "--compare", logs[1], "--json", "-", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == ["tiny-gpt2", "models__tiny-llama"]


@pytest.mark.slow
def test_a_folder_of_a_run_holds_several_tasks(capsys, tmp_path):
    folder = str(SAMPLES / "lm_eval" / "gpt2")
    assert main(["lm", folder, "--resamples", "0", "--json", str(tmp_path / "all.json")]) == 0
    printed = capsys.readouterr().out
    for words, number in (("TEXTS", 1), ("QUESTIONS", 1), ("ANSWERS", 1), ("By task.", 1)):
        assert printed.count(words) == number
    found = json.loads((tmp_path / "all.json").read_text())
    for task, metrics in found["questions"]["tasks"].items():
        assert metrics["acc"]["value"] == pytest.approx(EXPECTED["lm_eval"]["gpt2"][task]["acc,none"])
    assert main(["lm", folder, "--resamples", "0", "--report", str(tmp_path / "a.html")]) == 2
    assert "a report has one kind" in capsys.readouterr().err


@pytest.mark.slow
def test_one_command_for_each_log_has_the_metrics_of_its_host(tmp_path, capsys):
    """The lines of the table in the documentation."""
    study = module_of(ROOT / "benchmarks" / "host_figures.py")
    logs = [*study.logs(SAMPLES)]
    assert len(logs) == 26
    compared = 0
    for path in logs:
        assert main(["lm", str(path), "--resamples", "0", "--report", str(tmp_path / "report.html")]) == 0
        assert " read as " in capsys.readouterr().err
        line = study.line(path)
        assert line.difference < 1e-12, line
        compared += len(line.metrics)
    assert compared == 83


@pytest.mark.slow
def test_no_map_of_confidences_that_rank_nothing_beats_the_base_rate():
    """Falcon-7b's: neither the leaderboard's maps nor one of ten groups in any order, fitted to other questions."""
    table = pl.read_parquet(ANSWERS).filter((pl.col("model") == "Falcon-7b") & (pl.col("grade") != "Unparseable"))
    y, p, question = (np.asarray(table[name]) for name in ("grade", "confidence_level", "row"))
    y = (y == "Correct").astype(float)
    [entry] = leaderboard(GradedAnswers({"grade": y}, {"stated": p}, question, [""] * y.size)).entries
    assert (entry.auc_interval.low < 0.5, entry.auc_interval.high < 0.51) == (True, True)
    assert entry.gain_interval.high < 1e-4
    assert "No evidence" in entry.finding
    gain = np.empty(y.size)
    for fold in range(5):
        held = question % 5 == fold
        mean, ends = y[~held].mean(), np.quantile(p[~held], np.arange(0.1, 0.95, 0.1))
        group = np.searchsorted(ends, p)
        right, n = (np.bincount(group[~held], weights, minlength=10) for weights in (y[~held], None))
        q = ((right + 20 * mean) / (n + 20))[group]
        gain[held] = np.log(np.where(y == 1, q / mean, (1 - q) / (1 - mean)))[held]
    found = uncertain_mean(gain, np.ones(y.size), Dependence(question))
    half = found.half_width(0.95)
    assert found.mean + half < 2e-4
    page = " ".join(text_of("language-model-confidence").split())
    low, high = entry.auc_interval
    assert f"AUC ({entry.auc:.3f}, 95% CI {low:.3f} to {high:.3f})" in page
