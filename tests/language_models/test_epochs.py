"""Epochs of Inspect as repeated samples: their agreement beside stated and token confidences in the same answers."""

import json
import math

import numpy as np
import pytest

from unperplexed.cli import main
from unperplexed.language_models import answer_agreement


def sample(question, epoch, answer, right, said, log_prob):
    entries = [{"token": answer, "logprob": log_prob, "bytes": [*answer.encode()], "top_logprobs": []}]
    choice = {"message": {"content": answer}, "stop_reason": "stop", "logprobs": {"content": entries}}
    score = {"value": "C" if right else "I", "answer": answer, "metadata": {"confidence": said}}
    return {"id": question, "epoch": epoch, "output": {"choices": [choice]}, "scores": {"judge": score}}


@pytest.fixture
def log(tmp_path, rng):
    """60 questions in 4 epochs. Agreement and tokens say how hard a question is, the stated confidence does not."""
    samples = []
    for question in range(60):
        q = 1 / (1 + np.exp(-1 - 2 * rng.normal()))
        for epoch in range(1, 5):
            right = rng.random() < q
            answer = "right" if right else f"wrong {rng.integers(4)}"
            samples.append(sample(question, epoch, answer, bool(right), 0.9, math.log(q)))
    path = tmp_path / "run.json"
    run = {"version": 2, "status": "success", "eval": {"task": "quiz", "model": "mock/tiny"}, "plan": {}}
    path.write_text(json.dumps(run | {"samples": samples}))
    return path, samples


@pytest.mark.slow
def test_agreement_among_epochs_is_compared_with_other_confidences(log, capsys):
    path, samples = log
    command = ["lm", str(path), "--stated", "metadata.confidence", "--json", "-", "-q"]
    assert main([*command, "--answer", "answer"]) == 0
    found = json.loads(capsys.readouterr().out)
    entries = {each["confidence"]: each for each in found["entries"]}
    assert entries.keys() == {"stated", "tokens", "agreement"}
    assert {each["model"] for each in found["entries"]} == {"mock/tiny"}
    answers = [each["scores"]["judge"]["answer"] for each in samples]
    agreement = answer_agreement([each["id"] for each in samples], answers)
    assert entries["agreement"]["mean_confidence"] == pytest.approx(agreement.probability.mean())
    [[model, k, reliability, error]] = found["agreement"]
    assert (model, k) == ("mock/tiny", 4)
    assert (reliability, error) == pytest.approx((agreement.reliability, agreement.standard_error.mean()))
    assert entries["tokens"]["auc"] > 0.7 < entries["agreement"]["auc"]
    assert entries["stated"]["auc"] == 0.5
    pairs = {(each["first"], each["second"]) for each in found["differences"]}
    assert pairs == {("stated", "tokens"), ("stated", "agreement"), ("tokens", "agreement")}
    assert main([*command, "--answer", "output.choices"]) == 2
    assert "no answer at this place" in capsys.readouterr().err


def test_without_a_place_epochs_are_answers_and_the_log_says_how_to_compare_them(log, capsys):
    path, _ = log
    assert main(["lm", str(path), "--resamples", "0"]) == 0
    assert "--answer answer measures their agreement" in " ".join(capsys.readouterr().out.split())
