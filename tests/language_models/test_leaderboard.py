"""Graded answers: agreement of samples, abstaining, several graders, and models beside one another."""

import json

import numpy as np
import pytest

from unperplexed import InputError
from unperplexed.assessment.risk_coverage import Ranked, risk_coverage
from unperplexed.cli import main
from unperplexed.language_models import Answer, GradedAnswers, Remarks, answer_agreement, leaderboard, read_answers
from unperplexed.language_models.graded import epoch_answers, grader_agreement
from unperplexed.language_models.ranking import beta_binomial


def test_the_area_is_the_expectation_over_the_orders_of_equal_confidences(rng):
    p = rng.random(200).round(1)
    wrong = (rng.random(200) > p).astype(float)
    orders = (np.lexsort((rng.random(200), -p)) for _ in range(400))
    areas = [(np.cumsum(wrong[order]) / np.arange(1, 201)).mean() for order in orders]
    assert risk_coverage(1 - wrong, p).area == pytest.approx(np.mean(areas), abs=4 * np.std(areas) / 20)


def test_the_error_of_the_area_is_that_of_the_jackknife(rng):
    p = rng.random(150).round(1)
    wrong = (rng.random(150) > p).astype(float)
    area, influence = Ranked.of(wrong, p).area_influence()
    without = [Ranked.of(np.delete(wrong, at), np.delete(p, at)).area_influence()[0] for at in range(150)]
    assert influence.sum() == pytest.approx(0, abs=1e-9)
    assert influence == pytest.approx(149 * (area - np.array(without)), abs=0.05)


def test_areas_lie_between_the_best_and_chance():
    right = [1, 1, 0, 1, 0]
    best = risk_coverage(right, [0.9, 0.8, 0.2, 0.7, 0.1])
    assert best.area == best.area_at_best == pytest.approx((1 / 4 + 2 / 5) / 5)
    assert risk_coverage(right, [0.5] * 5).area == pytest.approx(0.4)
    assert [each.risk for each in best.points] == pytest.approx([0] * 6 + [1 / 7, 0.25, 1 / 3, 0.4])


def test_agreement_is_unbiased_and_its_error_is_what_few_samples_leave(rng):
    a, b, k, n = 4.0, 2.0, 5, 4000
    q = rng.beta(a, b, n)
    same = rng.random((n, k)) < q[:, None]
    first = same[:, 0]
    others = same[:, 1:].sum(1)
    fitted = beta_binomial(others, np.full(n, k - 1))
    assert fitted == pytest.approx((a, b), rel=0.1)
    posterior = (others + fitted[0]) / (k - 1 + sum(fitted))
    error = np.sqrt(posterior * (1 - posterior) / (k + sum(fitted)))
    assert ((q - posterior) ** 2).mean() == pytest.approx((error**2).mean(), rel=0.1)
    assert first.mean() == pytest.approx(posterior.mean(), abs=0.02)


def test_agreement_counts_the_other_samples():
    found = answer_agreement(["a", "a", "a", "b"], ["x", "x", "", "x"])
    assert found.raw[:3].tolist() == [0.5, 0.5, 0]
    assert np.isnan(found.probability[3])
    assert found.samples.tolist() == [3, 3, 3, 1]
    assert (found.probability[0] > 0) & (found.probability[0] < 1)
    with pytest.raises(InputError, match="no question has two samples"):
        answer_agreement([1, 2], ["x", "x"])


def test_grades_and_confidences_are_read_by_their_rules(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(
        "q,g1,g2,said\n1,Correct,1,fairly sure\n2,wrong,1,8/10\n3,Unparseable,0,0.25\n4,TRUE,yes,65%\n5,C,1,nothing\n"
    )
    remarks = Remarks()
    words = {"fairly sure": 0.75}
    found = read_answers(path, ["g1", "g2"], {"said": "said"}, question=["q"], words=words, remarks=remarks)
    assert found.grades["g1"] == pytest.approx([1, 0, np.nan, 1, 1], nan_ok=True)
    assert found.grade.tolist() == [1, 0.5, 0, 1, 1]
    assert found.confidences["said"] == pytest.approx([0.75, 0.8, 0.25, 0.65, np.nan], nan_ok=True)
    said = " ".join(remarks.sentences())
    assert "1 answer left out: graded 'Unparseable'" in said
    assert "no confidence could be read from the column 'said', for example from 'nothing'" in said
    counted = read_answers(path, ["g1"], wrong=["unparseable"])
    assert counted.grades["g1"].tolist() == [1, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--truth", "said", "--stated", "said"], "no grade is known"),
        (["--truth", "absent"], "absent"),
        (["--truth", "g"], "no confidence; name a column with --stated"),
        (["--truth", "g", "--stated", "said", "--compare", "x"], "--compare: compares logs"),
        (["--question", "g"], "name the column of grades with --truth"),
    ],
)
def test_bad_input_is_refused(tmp_path, capsys, arguments, message):
    path = tmp_path / "answers.csv"
    path.write_text("g,said\nCorrect,maybe\nWrong,surely\n")
    assert main(["lm", str(path), *arguments]) == 2
    assert message in capsys.readouterr().err


def _by_length(path, rng, n=800):
    hard, length = rng.normal(size=n), rng.choice([64, 128, 1024], n)
    right = rng.random(n) < 1 / (1 + np.exp(1.3 * hard - 0.9))
    level = np.clip(np.round(4.2 - hard), 1, 5).astype(int)
    rows = [f"{r:d},{c},{k},{at // 4}" for at, (r, c, k) in enumerate(zip(right, level, length, strict=True))]
    path.write_text("\n".join(["grade,sure,length,q", *rows, ""]))


def test_numbers_that_answers_are_grouped_by_stand_in_their_order(tmp_path, capsys, rng):
    _by_length(tmp_path / "a.csv", rng)
    words = ["lm", str(tmp_path / "a.csv"), "--truth", "grade", "--stated", "sure", "--scale", "5", "--by", "length"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "800 answers, 3 lengths, confidences: sure" in text
    first = [line.split()[0] for line in text.splitlines() if line.startswith(("64 ", "128 ", "1024 "))]
    assert first[:3] == ["64", "128", "1024"]
    best = max(
        (line.split() for line in text.splitlines() if "%" in line and line.split()[0] in first), key=lambda x: x[2]
    )
    assert f"Most right answers: {best[0]}, {best[2]}" in text


def test_the_lines_that_fit_the_map_run_as_they_stand(tmp_path, capsys, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    _by_length(tmp_path / "a.csv", rng)
    words = ["lm", "a.csv", "--truth", "grade", "--stated", "sure", "--scale", "5", "--question", "q"]
    assert main([*words, "--json", "-"]) == 0
    board, variables = json.loads(capsys.readouterr().out), {}
    exec(board["code"], variables)
    assert variables["fitted"].gain_.after == pytest.approx(board["entries"][0]["recalibrated"])


def test_a_scale_that_is_not_recognised_is_to_be_named(tmp_path, capsys, rng):
    _by_length(tmp_path / "a.csv", rng)
    words = ["lm", str(tmp_path / "a.csv"), "--truth", "grade", "--stated", "sure"]
    assert main(words) == 2
    assert "--scale names the highest number without a unit (5 of 1 to 5), --words" in capsys.readouterr().err
    (tmp_path / "words.json").write_text('{"1": 0.1, "2": 0.3, "3": 0.5, "4": 0.7, "5": 0.9}')
    assert main([*words, "--words", str(tmp_path / "words.json"), "--json", "-"]) == 0
    mean = json.loads(capsys.readouterr().out)["entries"][0]["mean_confidence"]
    sure = np.array([float(line.split(",")[1]) for line in (tmp_path / "a.csv").read_text().split()[1:]])
    assert mean == pytest.approx(((2 * sure - 1) / 10).mean())


@pytest.mark.slow
def test_one_command_ranks_models_and_compares_their_confidences(tmp_path, capsys, rng):
    lines = ["question,model,answer,grade,stated,tokens"]
    for model, skill in (("small", 0.0), ("large", 1.5)):
        for question in range(150):
            q = 1 / (1 + np.exp(-skill - 1.5 * rng.normal()))
            for _ in range(4):
                right = rng.random() < q
                answer = "right" if right else f"wrong {rng.integers(3)}"
                lines.append(f"{question},{model},{answer},{'Correct' if right else 'Wrong'},0.9,{q:.6f}")
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines))
    command = ["lm", str(path), "--truth", "grade", "--stated", "said=stated", "tokens", "--question", "question"]
    command += ["--answer", "answer", "--by", "model", "--json", str(tmp_path / "a.json")]
    assert main([*command, "--report", str(tmp_path / "a.html")]) == 0
    printed = capsys.readouterr().out
    found = json.loads((tmp_path / "a.json").read_text())
    assert [each["model"] for each in found["entries"]] == ["large"] * 3 + ["small"] * 3
    areas = {(each["model"], each["confidence"]): each["risk_coverage"]["area"] for each in found["entries"]}
    for model in ("small", "large"):
        assert max(areas[model, "tokens"], areas[model, "agreement"]) < areas[model, "said"]
    better = [each for each in found["differences"] if (each["first"], each["second"]) == ("said", "tokens")]
    assert all(each["log_loss_interval"][0] > 0 for each in better)
    for words in ("Abstaining", "Agreement among samples", "Two confidences in the same answers", "remedy"):
        assert words in printed


@pytest.mark.slow
def test_order_of_rows_does_not_matter_but_for_equal_confidences(rng):
    n = 300
    p, model = rng.random(n), np.where(np.arange(n) % 2, "a", "b")
    grade = (rng.random(n) < p**2).astype(float)

    def of(order):
        return leaderboard(GradedAnswers({"g": grade[order]}, {"p": p[order]}, order // 4, model[order].tolist()))

    one, two = of(np.arange(n)), of(rng.permutation(n))
    for a, b in zip(one.entries, two.entries, strict=True):
        assert (a.model, a.n) == (b.model, b.n)
        assert (a.auc, a.risk_coverage.area, a.recalibrated) == pytest.approx(
            (b.auc, b.risk_coverage.area, b.recalibrated)
        )


def test_the_map_of_a_leaderboard_is_the_one_that_is_fitted_again(rng):
    p, model = rng.random(480), np.where(np.arange(480) % 2, "a", "b")
    grade = (rng.random(480) < p**2).astype(float)
    grade[:9], p[9:20] = 0.5, np.nan
    answers = GradedAnswers({"g": grade}, {"p": p}, 700 - np.arange(480) // 4, model.tolist())
    for each in leaderboard(answers, seed=3).entries:
        assert answers.recalibrator("p", each.model, seed=3).gain_.after == each.recalibrated


def test_empty_cells_are_a_value_of_their_own(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("part,q,m,g\na,,x,Correct\n,a,,Wrong\na,,x,Wrong\n")
    found = read_answers(path, ["g"], question=["part", "q"], model=["m"])
    assert found.question[0] == found.question[2] != found.question[1]
    assert found.model == ["x", "(missing)", "x"]


@pytest.mark.slow
def test_confidences_that_rank_nothing_are_no_case_for_a_map(rng):
    grade = (rng.random(2000) < 0.3).astype(float)
    kinds = {
        "noise": rng.random(2000),
        "constant": np.full(2000, 0.9),
        "doubt": 0.5 - 0.1 * grade + 0.2 * rng.random(2000),
    }
    found = leaderboard(GradedAnswers({"g": grade}, kinds, np.arange(2000), [""] * 2000))
    of = {each.confidence: each for each in found.entries}
    for name in ("noise", "constant"):
        assert not of[name].beats
        assert of[name].gain_interval.high < 0.002
        assert of[name].finding.startswith("No evidence that right answers have higher confidences")
        assert f"Forecast the share of right answers, {grade.mean():.1%}" in of[name].remedy
    assert of["doubt"].auc_interval.high < 0.5
    assert "uncertainty" in of["doubt"].remedy
    printed = " ".join(str(found).split())
    assert (
        f"no higher confidences than wrong ones: {', '.join(_with_auc(of[name]) for name in ('noise', 'constant'))}"
        in printed
    )
    assert "swapped" not in printed


def _with_auc(each):
    low, high = each.auc_interval
    limits = "" if each.confidence == "constant" else f", 95% CI {low:.3f} to {high:.3f}"
    return f"{each.confidence} (AUC {each.auc:.3f}{limits})"


def test_a_log_of_few_samples_with_several_graders(rng):
    """24 answers in 8 questions: no recalibration, but agreement, and graders that are split over some answers."""
    q = np.repeat(np.arange(8), 3)
    one = (rng.random(24) < 0.5).astype(float)
    two = np.where(np.arange(24) < 5, 1 - one, one)  # they differ on the first five answers
    said = np.linspace(0.2, 0.9, 24)
    texts = [f"{x:g}" for x in one]
    answers = [
        Answer(f"q{q[k]}", grade, said[k], grader, k % 3, texts[k], "m")
        for k in range(24)
        for grader, grade in (("one", one[k]), ("two", two[k]))
    ]
    found = leaderboard(epoch_answers(answers))
    assert {each.confidence: each.n for each in found.entries} == {"stated": 19, "agreement": 19}
    assert found.remarks == ("5 answers left out: as many graders call the answer right as wrong",)
    of = {each.confidence: each for each in found.entries}
    agreement = answer_agreement(q, texts)
    assert of["agreement"].mean_confidence == pytest.approx(agreement.probability[5:].mean())
    assert found.agreement == (("m", 3.0, agreement.reliability, pytest.approx(agreement.standard_error.mean())),)
    assert of["stated"].risk_coverage == risk_coverage(one[5:], said[5:], q[5:])
    [(first, second, same, kappa, n)] = found.graders
    p, r = one.mean(), two.mean()
    chance = p * r + (1 - p) * (1 - r)
    assert (first, second, n) == ("one", "two", 24)
    assert (same, kappa) == pytest.approx((19 / 24, (19 / 24 - chance) / (1 - chance)))
    assert found.differences == ()
    assert all(np.isnan(each.gain) and each.remedy == "" for each in found.entries)
    printed = " ".join(str(found).split())
    assert printed.startswith("Too few answers to recalibrate their confidences.")
    assert "Agreement among samples" in printed
    assert "Cohen's kappa" in printed
    assert "No gain is to be expected" not in printed


def test_equal_confidences_differ_by_nothing_and_what_is_not_recalibrated_is_counted(rng):
    n = 320
    said = rng.integers(50, 100, n) / 100
    text = said * 3 / 3 + np.where(rng.random(n) < 0.5, 1e-16, 0)  # another way of writing the same
    assert (said != text).any()
    grade = (rng.random(n) < said).astype(float)
    model = np.where(np.arange(n) < 60, "a", np.where(np.arange(n) < 200, "b", "c")).tolist()
    found = leaderboard(GradedAnswers({"g": grade}, {"said": said, "text": text}, np.arange(n), model))
    assert {each.area for each in found.differences} == {0}
    printed = " ".join(str(found).split())
    assert "of 4 confidences of 2 models beat the base rate on held-out answers (2 of 6 have fewer than 100" in printed


def test_graders_without_common_answers_are_not_compared():
    nan = np.nan
    found = grader_agreement({"a": np.array([1, 1, nan]), "b": np.array([nan, nan, 0]), "c": np.array([1, 1, 0])})
    assert [each[:3] for each in found] == [("a", "c", 1.0), ("b", "c", 1.0)]
    assert all(np.isnan(each[3]) for each in found)  # kappa: graders of one opinion agree by chance


def test_answers_that_cannot_be_ranked_are_refused():
    def ranked(grades, confidences):
        return leaderboard(GradedAnswers(grades, confidences, np.arange(2), ["m", "m"]))

    split = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}
    with pytest.raises(InputError, match="answers: none is right or wrong"):
        ranked(split, {"said": np.array([0.5, 0.5])})
    with pytest.raises(InputError, match="none that is right or wrong has a confidence"):
        ranked({"a": np.array([1.0, 0.5])}, {"said": np.array([np.nan, 0.5])})
    for arguments, message in (
        (([1, 0], [0.5]), "expected one of each for every answer, got 2 and 1"),
        (([], []), "got 0 and 0"),
        (([[1, 0]], [0.5, 0.5]), "right: expected one dimension, got 2"),
        (
            ([1, 0, 1], [0.5, np.nan, np.nan]),
            r"confidence: NaN in 2 rows \(1, 2; counted from 0\); leave these answers out",
        ),
    ):
        with pytest.raises(InputError, match=message):
            risk_coverage(*arguments)
    with pytest.raises(InputError, match="one of each for every sample, got 2 and 3"):
        answer_agreement([1, 1], ["x", "x", "y"])


def test_one_answer_has_an_area_and_no_interval():
    found = risk_coverage([0], [0.3])
    assert (found.area, found.area_by_chance, found.area_at_best) == (1.0, 1.0, 1.0)
    assert np.isnan([*found.interval, *found.points[-1].interval]).all()


def test_a_table_without_rows_is_refused(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("g,said\n")
    with pytest.raises(InputError, match="answers: no rows"):
        read_answers(path, ["g"], {"said": "said"})
    path.write_text("g,said\nCorrect,0.5\nWrong,25%\n")
    remarks = Remarks()
    assert read_answers(path, ["g"], {"said": "said"}, remarks=remarks).confidences["said"].tolist() == [0.5, 0.25]
    assert remarks.sentences() == ()
