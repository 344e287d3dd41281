"""Hooks of evaluation tools for language models, in the tools themselves, on random models without downloads."""

import json
from types import SimpleNamespace

import evaluate
import numpy as np
import pytest
import torch
from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from lm_eval.api.registry import get_aggregation
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from unperplexed.cli import main
from unperplexed.integrations import evaluate_metric, lm_eval, trainer
from unperplexed.integrations.inspect_ai import stated
from unperplexed.language_models import answer_agreement, assess_answers, read_items

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_values_and_aggregations_of_lm_evaluation_harness():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    values = [
        lm_eval.process_results({"gold": gold}, [(ll, False) for ll in np.log(row) - 7])
        for gold, row in zip((0, 2), p, strict=True)
    ]
    assert [each["acc"] for each in values] == [1.0, 0.0]
    items = [each["up_log_loss"] for each in values]
    assert get_aggregation("up_log_loss")(items) == pytest.approx(-np.log([0.6, 0.3]).mean())
    assert 0 < get_aggregation("up_calibration_error")(items) < 1


def test_inspect_and_its_log(tmp_path):
    said = ["yes, 90% sure", "no, 60% sure", "blue, 75% sure"]
    outputs = [ModelOutput.from_content("mockllm/model", x) for x in said]
    for each in outputs:
        each.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    model = get_model("mockllm/model", custom_outputs=outputs)
    samples = [Sample(input=x, target=x) for x in ("yes", "maybe", "blue")]
    [log] = run(
        Task(dataset=samples, scorer=stated()),
        model=model,
        log_dir=str(tmp_path),
        display="none",
        max_connections=1,
        max_samples=1,
    )
    assert log.status == "success", log.error
    metrics = {name: each.value for name, each in log.results.scores[0].metrics.items()}
    assert metrics["accuracy"] == pytest.approx(2 / 3)
    brier = np.mean(np.square([0.1, 0.6, 0.25]))
    assert next(value for name, value in metrics.items() if "stated_brier" in name) == pytest.approx(brier)
    found = assess_answers(read_items(tmp_path, stated="metadata.confidence"), resamples=0)
    assert found.metrics["brier_score"].value == pytest.approx(brier)


def test_epochs_of_inspect_agree_as_their_answers_do(tmp_path, capsys):
    said = {
        "a": ["yes, 90% sure"] * 3 + ["no, 60% sure"],
        "b": ["blue, 75% sure"] * 4,
        "c": ["1, 50% sure", "2, 50% sure", "3, 50% sure", "4, 50% sure"],
    }
    left = {question: iter(each) for question, each in said.items()}

    def reply(messages, *_):
        found = ModelOutput.from_content("mockllm/model", next(left[messages[-1].text]))
        found.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return found

    samples = [Sample(id=each, input=each, target=t) for each, t in (("a", "yes"), ("b", "blue"), ("c", "2"))]
    model = get_model("mockllm/model", custom_outputs=reply)
    [log] = run(Task(dataset=samples, scorer=stated()), model=model, epochs=4, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    command = ["lm", str(tmp_path), "--answer", "output.completion", "--stated", "metadata.confidence"]
    assert main([*command, "--json", "-", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    entries = {each["confidence"]: each for each in found["entries"]}
    assert entries["agreement"]["n"] == entries["stated"]["n"] == 12
    expected = answer_agreement(["a"] * 4 + ["b"] * 4 + ["c"] * 4, [text for each in said.values() for text in each])
    assert entries["agreement"]["mean_confidence"] == pytest.approx(expected.probability.mean())
    assert entries["stated"]["mean_confidence"] == pytest.approx((2.7 + 0.6 + 3 + 2) / 12)


def test_the_trainer_gives_the_loss_of_all_tokens(tmp_path):
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=24, n_embd=16, n_layer=1, n_head=2)).eval()
    rows, losses = [], []
    for size in (12, 7, 5):
        ids = torch.randint(50, (size,)).tolist()
        rows.append({"input_ids": ids + [0] * (24 - size), "labels": ids + [-100] * (24 - size)})
        with torch.no_grad():
            x = torch.log_softmax(model(torch.tensor([rows[-1]["input_ids"]])).logits[0], -1)
        losses += [-float(x[at, token]) for at, token in enumerate(ids[1:])]
    settings = TrainingArguments(str(tmp_path), per_device_eval_batch_size=2, use_cpu=True, report_to=[])
    hooks = {"compute_metrics": trainer.compute_metrics, "preprocess_logits_for_metrics": trainer.token_log_probs}
    found = Trainer(model, settings, eval_dataset=rows, **hooks).evaluate()
    assert found["eval_tokens"] == len(losses) == 21
    assert found["eval_log_loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_labels_of_token_classification_that_are_minus_100_are_left_out():
    logits = torch.log(torch.tensor([[[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]]]))
    found = trainer.label_log_probs(logits, torch.tensor([[0, -100, 1]]))
    assert found.numpy() == pytest.approx(np.log([[0.5, np.nan, 0.9]]), nan_ok=True)
    padded = np.concatenate([found.numpy(), np.full((1, 1), -100.0)], axis=1)
    metrics = trainer.compute_metrics(SimpleNamespace(predictions=padded))
    assert metrics["tokens"] == 2
    assert metrics["log_loss"] == pytest.approx(-np.log([0.5, 0.9]).mean())


def test_evaluate_loads_the_script():
    found = evaluate.load(evaluate_metric.PATH).compute(predictions=[0.9, 0.2, 0.7], references=[1, 0, 0])
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.8, 0.3]).mean())
