"""Runs of HELM, as its version 0.5.16 writes per-instance statistics, against its own formulas."""

import json
import math

import pytest

from unperplexed.cli import main
from unperplexed.language_models import Remarks, assess_answers, assess_texts, read_items


def stat(name, value):
    """What HELM writes of a metric with one value."""
    own = {"name": name, "split": "test"}
    return {"name": own, "count": 1, "sum": value, "sum_squared": value**2, "min": value, "max": value, "mean": value}


def instance(name, metrics, **more):
    return {"instance_id": name, "train_trial_index": 0, "stats": [stat(*each) for each in metrics.items()], **more}


@pytest.fixture
def run(tmp_path):
    """A run's folder, whose other files are not read."""

    def made(instances):
        folder = tmp_path / "mmlu:subject=law,model=tiny"
        folder.mkdir()
        for name in ("run_spec", "scenario", "scenario_state", "stats"):
            (folder / f"{name}.json").write_text('{"request_states": []}')
        (folder / "per_instance_stats.json").write_text(json.dumps(instances, indent=2))
        return folder

    return made


def test_grades_have_the_probability_of_the_answer_as_confidence(run, capsys):
    values = [(1.0, 0.9), (0.0, 0.6), (0.0, 0.7), (1.0, 0.8)]
    instances = [
        instance(f"id{k}", {"exact_match": y, "quasi_exact_match": 1.0, "max_prob": p, "logprob": math.log(p)})
        for k, (y, p) in enumerate(values)
    ]
    typos = {"name": "typos", "robustness": True}
    folder = run([*instances, instance("id0", {"exact_match": 0.0, "max_prob": 0.5}, perturbation=typos)])
    remarks = Remarks()
    answers = [*read_items(folder, remarks=remarks)]
    metrics = assess_answers(answers, resamples=0).metrics
    assert metrics["mean grade (exact_match)"].value == 0.5
    assert metrics["mean grade (quasi_exact_match)"].value == 1.0
    assert metrics["brier_score"].value == pytest.approx((0.01 + 0.36 + 0.49 + 0.04) / 4)
    assert remarks.sentences() == ("1 answer left out: a perturbed copy of the input",)
    assert main(["lm", str(folder), "--resamples", "0"]) == 0
    assert "read as helm" in capsys.readouterr().err


def test_language_modelling_has_bits_per_byte(run):
    sums = [(-40.0, 12, 50), (-31.5, 9, 33)]
    names = ("logprob", "num_perplexity_tokens", "num_bytes")
    folder = run([instance(f"id{k}", dict(zip(names, each, strict=True))) for k, each in enumerate(sums)])
    found = assess_texts(folder)
    assert found.bits_per_byte == pytest.approx(71.5 / 83 / math.log(2))
    assert found.perplexity == pytest.approx(math.exp(71.5 / 21))


def test_log_probabilities_of_zero_are_none(run):
    metrics = {"exact_match": 1.0, "max_prob": 1.0, "logprob": 0.0, "num_perplexity_tokens": 1, "num_bytes": 2}
    remarks = Remarks()
    [answer] = read_items(run([instance("id0", metrics)]), remarks=remarks)
    assert (answer.grade, answer.confidence) == (1.0, None)
    assert "log-probabilities are 0" in remarks.sentences()[0]
