"""`unperplexed lm`: logs of one kind or several, epochs, and options of other kinds refused."""

import json

import pytest

from unperplexed import InputError
from unperplexed.cli import main
from unperplexed.cli.lm import Kinds


def inspect_log(path, texts):
    """Two questions in two epochs, with answers as they are in ``texts``."""
    samples = [
        {
            "id": at % 2,
            "epoch": 1 + at // 2,
            "output": {"choices": [{"message": {"content": text}, "stop_reason": "stop"}]},
            "scores": {"judge": {"value": "CI"[at % 2], "answer": text, "metadata": {"confidence": 0.8}}},
        }
        for at, text in enumerate(texts)
    ]
    run = {"version": 2, "status": "success", "eval": {"task": "quiz", "model": "mock/tiny"}, "plan": {}}
    path.write_text(json.dumps(run | {"samples": samples}))
    return str(path)


def test_agreement_of_epochs_is_a_confidence_where_the_log_has_answers(tmp_path, capsys):
    log = inspect_log(tmp_path / "run.json", ["a", "b", "a", "c"])
    assert main(["lm", log, "--answer", "answer", "--json", "-", "-q"]) == 0
    [entry] = [each for each in json.loads(capsys.readouterr().out)["entries"] if each["confidence"] == "agreement"]
    assert entry["mean_confidence"] == pytest.approx(0.5)  # both epochs agree on one question, none on the other
    assert main(["lm", log, "--answer", "scores.nothing"]) == 2
    assert "--answer scores.nothing: no answer at this place; it is for logs of Inspect" in capsys.readouterr().err


def test_options_of_tables_and_several_places_are_refused_for_logs(tmp_path, capsys):
    log = inspect_log(tmp_path / "run.json", ["a", "b", "a", "c"])
    for options, message in (
        (["--by", "model"], "--by: is for tables of graded answers; name the column of grades with --truth."),
        (["--stated", "metadata.confidence", "output.completion"], "--stated: logs have one place of a stated"),
    ):
        assert main(["lm", log, *options]) == 2
        assert message in capsys.readouterr().err


def test_two_runs_of_the_same_model_have_two_names(tmp_path, capsys):
    """lm-evaluation-harness names files by the time, which is no name of a model."""
    logs = [tmp_path / f"samples_2026-01-0{day}T10-00-00.jsonl" for day in (1, 2)]
    for log in logs:
        lines = [{"doc": f"d{at}", "text": f"ab{at}", "logprobs": [-1.0, -0.5 - at / 9]} for at in range(9)]
        log.write_text("\n".join(map(json.dumps, lines)))
    assert main(["lm", str(logs[0]), "--compare", str(logs[1]), "--json", "-", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == ["first", "second"]


def test_accuracy_of_a_log_of_questions_is_counted(tmp_path, capsys):
    """Two options as lm-evaluation-harness writes them; in every third question both are equal."""
    options, lines, right = ("Oslo", "Bern"), [], 0
    for at in range(12):
        scored = [(-1.0 - (at % 3 == k), False) for k in range(2)]
        right += int(scored[1] > scored[0]) == at % 2
        asked = {"doc_id": at, "target": at % 2, "arguments": [(f"Capital {at}?", f" {each}") for each in options]}
        lines.append({**asked, "resps": [[each] for each in scored], "filtered_resps": scored})
    log = tmp_path / "samples_quiz.jsonl"
    log.write_text("\n".join(map(json.dumps, lines)))
    assert main(["lm", str(log), "--resamples", "0", "--json", "-", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["what"], found["n_questions"]) == ("question", 12)
    assert found["metrics"]["acc"]["value"] == right / 12


def test_several_kinds_have_no_report_together(tmp_path):
    with pytest.raises(InputError, match="--report: the logs hold texts and questions; a report has one kind"):
        Kinds({"texts": None, "questions": None}, tmp_path / "r.html")
