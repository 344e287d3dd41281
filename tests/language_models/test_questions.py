"""Options of questions and graded answers: metrics against formulas, missing options, and the command line."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from unperplexed import InputError, assess
from unperplexed.cli import main
from unperplexed.describe.questions import task_table
from unperplexed.language_models import (
    Answer,
    Question,
    Remarks,
    Text,
    assess_answers,
    assess_questions,
    assess_texts,
    compare_questions,
    option_probabilities,
    question_events,
)
from unperplexed.language_models.clustered_ratios import PairedMetric
from unperplexed.language_models.items import UNREAD
from unperplexed.statistics.intervals import Interval


def some_questions(rng, n=200, k=4):
    logits = rng.normal(size=(n, k))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = [int(rng.choice(k, p=row)) for row in p]
    log_probs = np.log(p) - rng.exponential(size=(n, 1))  # a part of the probability is on no option
    options = ("short", "longer one", "é", "four")[:k]
    return [Question(f"q{at}", options, x, (y,)) for at, (x, y) in enumerate(zip(log_probs, right, strict=True))]


def test_metrics_are_their_formulas(rng):
    questions = some_questions(rng)
    found = assess_questions(questions, resamples=0).metrics
    x = np.array([each.log_probs for each in questions])
    y = np.array([each.correct[0] for each in questions])
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    expected = {
        "acc": (x.argmax(axis=1) == y).mean(),
        "acc_norm": ((x / [5, 10, 1, 4]).argmax(axis=1) == y).mean(),
        "acc_bytes": ((x / [5, 10, 2, 4]).argmax(axis=1) == y).mean(),
        "brier_score": ((p - np.eye(4)[y]) ** 2).sum(axis=1).mean(),
        "probability_of_correct": p[np.arange(200), y].mean(),
    }
    assert {name: each.value for name, each in found.items()} == pytest.approx(expected)
    for each in found.values():
        assert 0 <= each.interval.low < each.value < each.interval.high
    assert [name for name, each in found.items() if not each.larger_is_better] == ["brier_score"]


@pytest.mark.slow
def test_the_assessment_is_that_of_the_forecasts(rng):
    questions = some_questions(rng)
    for which in ("each-option", "top-option"):
        events = question_events(questions, which)
        own = assess(events.happened.astype(int), events.probability, clusters=events.question)
        found = assess_questions(questions, events=which).assessment
        assert found.reported == own.reported
        assert found.verdict == own.verdict
        assert found.n_rows == (800 if which == "each-option" else 200)


def test_what_is_outside_the_options_is_an_explicit_choice():
    question = Question("q", ("A", "B"), np.log([0.6, 0.2]), (0,))
    assert option_probabilities(question) == pytest.approx([0.75, 0.25])
    assert option_probabilities(question, "none-of-these") == pytest.approx([0.6, 0.2])
    # The rest, 0.2, is an option that is never correct.
    brier = assess_questions([question] * 2, outside="none-of-these", resamples=0).metrics["brier_score"].value
    assert brier == pytest.approx(0.4**2 + 0.2**2 + 0.2**2)
    lengths = Question("q", ("A", "B"), np.array([-1e-3, -1e-3]), (0,))
    with pytest.raises(InputError, match=r"sum to 1.998.*--outside renormalize"):
        option_probabilities(lengths, "none-of-these")


def test_missing_options_are_an_explicit_choice():
    missing = Question("q", ("A", "B"), np.array([math.nan, math.log(0.2)]), (0,))
    whole = Question("r", ("A", "B"), np.log([0.5, 0.5]), (1,))
    with pytest.raises(InputError, match=r"question 'q': option 0 .* has no log-probability.*--invalid zero"):
        assess_questions([missing, whole])
    assert option_probabilities(missing, missing="zero").tolist() == [0.0, 1.0]
    assert option_probabilities(missing, missing="leave-out") is None
    remarks = Remarks()
    found = assess_questions([missing, whole], missing="leave-out", resamples=0, remarks=remarks)
    assert (found.n, found.remarks) == (1, ("1 question left out: an option without a log-probability",))
    assert assess_questions([missing, whole], missing="zero", resamples=0).n == 2
    nothing = Question("q", ("A", "B"), np.array([-math.inf, -math.inf]), (0,))
    with pytest.raises(InputError, match="all options have a probability of 0"):
        option_probabilities(nothing)
    for more in ({"outside": "x"}, {"missing": "x"}):
        with pytest.raises(InputError, match="expected one of"):
            option_probabilities(whole, **more)
    with pytest.raises(InputError, match="events: expected one of"):
        question_events([whole], "all")
    with pytest.raises(InputError, match="questions: none"):
        assess_questions([])


def test_answers_are_clustered_by_question():
    answers = [Answer(f"q{at % 10}", float(at % 3 == 0), 0.4, epoch=at // 10) for at in range(40)]
    found = assess_answers(answers, resamples=0)
    assert found.metrics["mean grade"].value == pytest.approx(14 / 40)
    assert found.assessment.n_rows == 40
    # The same answer four times is as one.
    once, often = ([Answer(f"q{at}", at % 2, 0.4) for at in range(10)] * times for times in (1, 4))
    first, second = (assess_answers(each, resamples=0).metrics["mean grade"] for each in (once, often))
    assert second.interval == pytest.approx(first.interval)


def test_few_questions_are_not_tested_and_unread_answers_lead():
    text = str(assess_questions([Question(f"q{at}", ("A", "B"), np.log([0.7, 0.3]), (0,)) for at in range(5)]))
    assert text.startswith("Not tested for miscalibration: 5 questions are too few.\n")
    assert "'option is correct'" in text
    assert "\nAccuracy" not in text
    remarks = Remarks()
    remarks.add(UNREAD, "answer", 3)
    answers = [Answer(f"q{at}", 0.0, grader="choice") for at in range(3)]
    text = str(assess_answers(answers, remarks=remarks))
    assert text.startswith("No answer could be read from the outputs: all 3 count as wrong.\n")
    assert str(assess_answers(answers)).startswith("The mean grade (choice) is 0.000 (95% CI 0.000 to ")


def test_partial_and_missing_grades():
    answers = [Answer("a", 1.0, 0.9), Answer("b", 0.5, 0.5), Answer("c", math.nan, 0.5), Answer("d", 0.0, 0.2)]
    found = assess_answers(answers, resamples=0)
    assert found.metrics["brier_score"].value == pytest.approx((0.01 + 0.0 + 0.04) / 3)
    assert found.assessment.n_rows == 2
    assert any("not graded" in each for each in found.remarks)
    assert any("neither right nor wrong" in each for each in found.remarks)
    with pytest.raises(InputError, match=r"stated confidence of 90; expected a probability"):
        assess_answers([Answer("a", 1.0, 90.0)])
    with pytest.raises(InputError, match="none with a grade"):
        assess_answers([Answer("a", math.nan)])


def test_two_models_are_compared_by_question(rng):
    questions = some_questions(rng)
    flat = [Question(q.name, q.options, 0.2 * q.log_probs, q.correct) for q in questions]
    found = compare_questions(questions, flat[::-1], names=("sharp", "flat"))
    for log, side in ((questions, "first"), (flat, "second")):
        own = assess_questions(log, resamples=0).metrics
        for name, each in own.items():
            assert getattr(found.metrics[name], side) == pytest.approx(each.value)
    x, z = (np.array([q.log_probs for q in log]) for log in (questions, flat))
    y = np.array([q.correct[0] for q in questions])
    losses = [-(v - np.log(np.exp(v).sum(axis=1, keepdims=True)))[np.arange(200), y] for v in (x, z)]
    paired = ttest_rel(*losses)
    own = found.metrics["log_loss"]
    assert own.difference == pytest.approx((losses[0] - losses[1]).mean())
    assert own.p_value == pytest.approx(paired.pvalue)
    assert own.interval == pytest.approx(paired.confidence_interval(0.95), rel=1e-9)
    assert found.verdict.startswith("sharp is better than flat by Brier score (difference −0.")
    assert found.verdict.endswith("no evidence that sharp and flat differ in accuracy")  # a temperature keeps the order
    assert "200 questions" in str(found)


def test_other_questions_are_refused_with_the_reason(rng):
    questions = some_questions(rng, 20)
    other = [Question(q.name, q.options, q.log_probs, (q.correct[0] ^ 1,)) for q in questions]
    with pytest.raises(InputError, match="the correct one differ in 20 questions, for example 'q0'"):
        compare_questions(questions, other)
    with pytest.raises(InputError, match=r"2 questions occur in one of the logs only.*--common"):
        compare_questions(questions[1:], questions[:-1])
    common = compare_questions(questions[1:], questions[:-1], common=True)
    assert (common.n_questions, common.left_out) == (18, 2)
    with pytest.raises(InputError, match="occurs twice"):
        compare_questions([*questions, questions[0]], questions)
    with pytest.raises(InputError, match="at least two"):
        compare_questions(questions[:1], questions[:1])
    with pytest.raises(InputError, match="names"):
        compare_questions(questions, questions, names=("a", "a"))


def test_metrics_that_some_questions_do_not_have_are_left_out_with_a_remark(rng):
    questions = some_questions(rng, 30)
    assert compare_questions(questions, questions).remarks == ()

    def compared(some, other=None):
        found = compare_questions([*some, *questions], [*(other or some), *questions])
        return set(compare_questions(questions, questions).metrics) - set(found.metrics), found.remarks

    several = Question("several", ("a", "b", "c"), np.log([0.5, 0.3, 0.2]), (0, 1))
    assert compared([several]) == ({"brier_score"}, ("Brier score left out: 1 question has several correct options",))
    twice = [several, replace(several, name="more")]
    assert compared(twice)[1] == ("Brier score left out: 2 questions have several correct options",)
    none = replace(several, name="none", correct=())
    assert compared([none])[1] == ("Brier score and log loss left out: 1 question has no correct option",)
    one = Question("impossible", ("a", "b"), np.array([0.0, -np.inf]), (1,))
    out, [remark] = compared([replace(one, log_probs=np.log([0.5, 0.5]))], [one])
    assert out == {"log_loss"}
    assert remark.startswith("log loss left out: second assigned the correct option of 1 question a probability of 0")
    out, [remark] = compared([replace(several, options=("a", "", "c"), correct=(0,))])
    assert out == {"acc_norm", "acc_bytes"}
    assert remark == "acc_norm and acc_bytes left out: 1 question has an empty option"
    assert compared([replace(several, correct=(0,), unconditional=np.zeros(3))])[1] == (
        "acc_mutual_info left out: 30 questions have no log-probabilities of the options without the question",
    )
    assert "left out: 1 question has several" in str(compare_questions([several, *questions], [several, *questions]))


def test_command_line(tmp_path, capsys, rng):
    def line(at, length, hard):
        values = (-hard * rng.exponential(size=length)).tolist()
        return json.dumps({"doc": f"d{at}", "text": f"{'w' * 3 * length} {at}", "logprobs": values})

    logs = {}
    for name, hard in (("small", 1.2), ("large", 1.0)):
        lines = [line(at, 5 + at % 40, hard) for at in range(60)]
        logs[name] = tmp_path / f"{name}.jsonl"
        logs[name].write_text("\n".join(lines))
    small, large = map(str, logs.values())
    assert main(["lm", small]) == 0
    printed = capsys.readouterr()
    assert "read as plain" in printed.err
    for words in ("bits per byte (95% CI", "per token", "geometric accuracy", "Loss by position", "60 documents"):
        assert words in printed.out
    assert main(["lm", small, "--compare", large, "--json", "-", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["names"] == ["small", "large"]
    assert found["verdict"].startswith("large needs")
    report = tmp_path / "report.html"
    assert main(["lm", small, "--compare", large, "--report", str(report), "--confidence", "0.9"]) == 0
    assert "90% CI" in capsys.readouterr().out
    assert "large needs" in report.read_text("utf-8")
    logs["large"].write_text("\n".join(logs["large"].read_text().splitlines()[:-1]))
    assert main(["lm", small, "--compare", large]) == 2
    assert "--common" in capsys.readouterr().err
    assert main(["lm", small, "--compare", large, "--common"]) == 0
    assert "1 document left out" in capsys.readouterr().out
    assert main(["lm", small, "--format", "x"]) == 2
    assert main(["lm", small, "--report", small]) == 2


@pytest.mark.parametrize("grade", [1e308, -1e101, float("inf")])
def test_grades_whose_squares_are_no_numbers_are_refused(grade):
    with pytest.raises(InputError, match="answer to 'b': a grade of .*; expected one up to 1e"):
        assess_answers([Answer("a", 1.0, 0.5), Answer("b", grade, 0.5)], resamples=0)


def test_tasks_have_metrics_of_their_own_and_enough_questions_are_tested(rng):
    questions = some_questions(rng, 40)
    named = [replace(each, name=f"{'law' if at % 2 else 'art'}/{at}") for at, each in enumerate(questions)]
    found = assess_questions(named, resamples=0)
    for task, some in (("art", questions[::2]), ("law", questions[1::2])):
        own = assess_questions(some, resamples=0).metrics
        assert found.tasks[task]["acc"] == own["acc"]
        assert found.tasks[task]["brier_score"].value == pytest.approx(own["brier_score"].value)
    table = task_table(found)
    assert [each.heading for each in table.columns] == ["task", "questions", "acc", "brier_score"]
    assert not str(found).startswith("Not tested")
    several = [replace(each, correct=(0, 1)) if each.name.startswith("art") else each for each in named]
    without = task_table(assess_questions(several, resamples=0))
    assert [each.heading for each in without.columns] == ["task", "questions", "acc"]  # art has no Brier score


def test_questions_without_all_log_probabilities_make_no_events():
    missing = Question("q", ("A", "B"), np.array([math.nan, math.log(0.2)]), (0,))
    whole = Question("r", ("A", "B"), np.log([0.5, 0.5]), (1,))
    events = question_events([missing, whole], missing="leave-out")
    assert (events.happened.tolist(), events.question.tolist()) == ([False, True], [0, 0])
    with pytest.raises(InputError, match="questions: none with a log-probability for each option"):
        question_events([missing], missing="leave-out")


def test_confidences_in_partial_grades_alone_have_a_brier_score_and_no_assessment():
    found = assess_answers([Answer("a", 0.5, 0.7), Answer("b", 0.5, 0.3)], resamples=0)
    assert found.metrics["brier_score"].value == pytest.approx(0.04)
    assert found.assessment is None


def test_a_model_that_is_better_by_all_metrics_leaves_none_undecided(rng):
    questions = some_questions(rng, 60)
    sharp = [replace(q, log_probs=np.where(np.arange(4) == q.correct[0], -0.05, -4.0)) for q in questions]
    found = compare_questions(sharp, questions, names=("sharp", "soft"))
    assert found.verdict.count("sharp is better than soft by ") == 3
    assert found.verdict.endswith("; no evidence that sharp and soft differ in calibration")


def top_gaps(questions):
    """Probability of the top option of each question, and whether it is correct, by hand."""
    p = np.array([option_probabilities(q) for q in questions])
    right = np.array([q.correct[0] for q in questions])
    return p.max(axis=1), (p.argmax(axis=1) == right).astype(float)


def test_overconfidence_in_points_leads_where_it_is_significant(rng):
    questions = [replace(q, log_probs=2.5 * q.log_probs) for q in some_questions(rng, 300)]
    p, right = top_gaps(questions)
    found = assess_questions(questions, resamples=0)
    test = ttest_rel(p, right)
    gap = found.overconfidence
    assert (gap.first, gap.second) == pytest.approx((p.mean(), right.mean()))
    assert gap.p_value == pytest.approx(test.pvalue)
    assert gap.interval == pytest.approx(test.confidence_interval(0.95), rel=1e-9)
    points = f"{100 * (p - right).mean():.1f}"
    shares = f"(mean confidence {100 * p.mean():.1f}%, {100 * right.mean():.1f}% right)"
    assert " ".join(str(found).split()).startswith(f"Overconfident by {points} points {shares}. ")
    assert found.to_dict()["overconfidence"]["difference"] == gap.difference
    calm = assess_questions(some_questions(rng, 300), resamples=0)
    assert "confident by" not in str(calm)
    assert "intercept       0.000" in str(calm)  # of all options it is 0 but for rounding
    off = PairedMetric(0.47, 0.55, -0.08, Interval(-0.15, -0.01), 0.0312, False)
    text = " ".join(str(replace(calm, overconfidence=off)).split())
    assert text.startswith("No evidence of miscalibration")
    assert "warning: Underconfident by 8.00 points (mean confidence 47.0%, 55.0% right), p = 0.031, by a t-test" in text
    answers = [Answer(f"q{at}", float(at % 2), 0.2) for at in range(80)]
    text = " ".join(str(assess_answers(answers, resamples=0)).split())
    assert text.startswith("Underconfident by 30.0 points (mean confidence 20.0%, 50.0% right). ")


def test_the_difference_in_calibration_is_tested_by_question(rng):
    questions = some_questions(rng, 200)
    sharp = [replace(q, log_probs=2 * q.log_probs) for q in questions]
    found = compare_questions(questions, sharp, names=("fit", "sharp"))
    (p, right), (q, other) = top_gaps(questions), top_gaps(sharp)
    middle = np.mean([p, q])
    tests = [
        ttest_rel(p - right, q - other).pvalue,
        ttest_rel((p - right) * (p - middle), (q - other) * (q - middle)).pvalue,
    ]
    assert found.calibration_p_value == pytest.approx(2 * min(tests))
    assert found.overconfidence.difference == pytest.approx((p - right - q + other).mean())
    assert "fit and sharp differ in calibration (mean confidence minus accuracy" in found.verdict
    alike = compare_questions(questions, [replace(q, log_probs=q.log_probs - 1) for q in questions])
    assert math.isnan(alike.calibration_p_value)  # the same probabilities
    assert "calibration" not in alike.verdict


def test_answers_are_compared_by_question(rng):
    first, second = (rng.random(size=(60, 2)) < share for share in (0.8, 0.5))
    logs = [
        [
            Answer(f"q{at}", float(grade), 0.7, "judge", epoch + 1)
            for at, row in enumerate(log)
            for epoch, grade in enumerate(row)
        ]
        for log in (first, second)
    ]
    found = compare_questions(*logs, names=("a", "b"))
    test = ttest_rel(first.mean(axis=1), second.mean(axis=1))
    own = found.metrics["mean grade (judge)"]
    assert own.difference == pytest.approx(first.mean() - second.mean())
    assert own.p_value == pytest.approx(test.pvalue)
    assert found.metrics["brier_score"].first == pytest.approx(((0.7 - first) ** 2).mean())
    assert "a is better than b by mean grade (judge)" in found.verdict
    assert "a and b differ in calibration" in found.verdict
    with pytest.raises(InputError, match=r"1 question occur.*'q0'"):
        compare_questions(logs[0][2:], logs[1])
    with pytest.raises(InputError, match="not both"):
        compare_questions(logs[0], some_questions(rng, 3))
    with pytest.raises(InputError, match="answers: none with a grade"):
        compare_questions([Answer("a", math.nan)], logs[1])
    ungraded = compare_questions([replace(each, confidence=None) for each in logs[0]], logs[1])
    assert (ungraded.overconfidence, "brier_score" in ungraded.metrics) == (None, False)
    part = [each if each.name not in ("q3", "q5") else replace(each, confidence=None) for each in logs[0]]
    some = compare_questions(part, logs[1], names=("a", "b"))
    kept = [[each for each in log if each.name not in ("q3", "q5")] for log in logs]
    of_kept = compare_questions(*kept, names=("a", "b"))
    assert some.metrics["brier_score"] == of_kept.metrics["brier_score"]
    assert some.metrics["mean grade (judge)"] == own
    assert (some.overconfidence, some.calibration_p_value) == (of_kept.overconfidence, of_kept.calibration_p_value)
    assert some.remarks == ("Brier score and calibration: 2 of 60 questions left out, of which a model has none",)


def test_calibration_is_compared_where_only_one_of_its_tests_has_a_p_value():
    right = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    said = [0.75, 0.25, 0.875, 0.5, 0.625, 0.5]
    first = [Answer(f"q{at}", own, p) for at, (own, p) in enumerate(zip(right, said, strict=True))]
    found = compare_questions(first, [replace(each, confidence=each.confidence + 0.125) for each in first])
    assert math.isnan(found.overconfidence.p_value)
    p, q = np.array(said), np.array(said) + 0.125
    growth = (p - right) * (p - np.mean([p, q])), (q - right) * (q - np.mean([p, q]))
    assert found.calibration_p_value == pytest.approx(min(2 * ttest_rel(*growth).pvalue, 1))


def plain(path, name, n=6):
    """Write texts of two tasks."""
    rng = np.random.default_rng(len(name))
    texts = [(f"{task}/{at}", f"text number {at}") for task in ("law", "art") for at in range(n)]
    lines = [{"doc": doc, "text": text, "logprobs": (-rng.exponential(size=5)).tolist()} for doc, text in texts]
    (path / name).write_text("\n".join(map(json.dumps, lines)))
    return lines


def test_texts_have_a_table_of_tasks(tmp_path, capsys):
    lines = plain(tmp_path, "texts.jsonl")
    found = assess_texts(tmp_path / "texts.jsonl")
    for task, rate in found.tasks.items():
        own = [each for each in lines if each["doc"].startswith(task)]
        bits = -sum(sum(each["logprobs"]) for each in own) / math.log(2)
        assert rate.bits == pytest.approx(bits / sum(len(each["text"]) for each in own))
    assert main(["lm", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "By task, bits per byte." in out
    assert out.index("\nlaw ") < out.index("\nart ")
    paths = [Text.of(f"folder {at}/page", "text", [-1.0]) for at in range(9)]
    assert assess_texts(paths).tasks == {}


def test_folders_of_several_kinds_are_compared_kind_by_kind_or_refused(tmp_path, capsys, rng):
    for model in ("one", "two"):
        (tmp_path / model).mkdir()
        plain(tmp_path / model, "texts.jsonl")
        lines = []
        for at, q in enumerate(some_questions(rng, 20)):
            answers = [[str(each), "False"] for each in q.log_probs]
            asked = {f"gen_args_{k}": {"arg_0": "?", "arg_1": f" {option}"} for k, option in enumerate("ABCD")}
            line = {"doc_id": at, "target": "1", "arguments": asked, "resps": [[each] for each in answers]}
            lines.append(json.dumps(line | {"filtered_resps": answers, "filter": "none", "metrics": ["acc"]}))
        (tmp_path / model / "quiz.jsonl").write_text("\n".join(lines))
    one, two = (str(tmp_path / model) for model in ("one", "two"))
    assert main(["lm", one, "--compare", two]) == 0
    out = capsys.readouterr().out
    assert "TEXTS\n" in out
    assert "12 documents" in out
    assert "QUESTIONS\n" in out
    assert "20 questions" in out
    (tmp_path / "two" / "quiz.jsonl").unlink()
    assert main(["lm", one, "--compare", two, "-q"]) == 2
    assert "questions: one has 20 and two 0. Name logs" in capsys.readouterr().err
