import csv
import re
import runpy
import shlex
from importlib.resources import files

import numpy as np
import pytest

import unperplexed
from pages import DOCS, text_of
from unperplexed import InputError, Tally, assess, assess_by, compare, explain, monitor
from unperplexed.calibration.diagnosis.kind import ClassMeans, OfTwo
from unperplexed.calibration.diagnosis.kinds import KINDS, certainty, rows, shape
from unperplexed.calibration.diagnosis.kinds.bias import biased_classes
from unperplexed.cli.parser import main
from unperplexed.language_models import GradedAnswers, leaderboard
from unperplexed.recalibration.fitting import METHODS
from unperplexed.report.explanations import _groups, terms_document
from unperplexed.report.terminal import text
from unperplexed.results import Finding

EXPLAINED = [each for group in _groups().values() for each in group.values()]


def binary(factor, n=2000, seed=1):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), 1 / (1 + np.exp(-factor * odds))


def two(error, value):
    """What is said of an error of two classes, which is alone."""
    mean, frequency = (0.4, 0.3) if value < 0 else (0.3, 0.4)
    interval = (value - 0.1, value + 0.1)
    line = {"slope": 1 + value, "temperature": 1.0, "all_rows": True}
    return KINDS[error].two(OfTwo(value, interval, [KINDS[error]], False, "'rain'", mean, frequency, **line))[0]


MEANS = ClassMeans(("cat", "dog", "cow"), np.array([0.5, 0.2, 0.3]), np.array([0.4, 0.3, 0.3]))


def test_the_documentation_shows_the_text_that_the_package_has():
    packaged = files("unperplexed.report") / "assets" / "if_it_is_bad.md"
    page = text_of("if-it-is-bad")
    assert page == packaged.read_text("utf-8"), "copy docs/reference/if-it-is-bad.md there"
    assert ":file: ../../src/unperplexed/report/assets/terms.csv\n" in page


UNNAMED = "Miscalibrated, but none of the named errors explains how"


@pytest.mark.parametrize(
    ("error", "clause", "term"),
    [
        ("bias", two("bias", -0.4), "Overpredicts or underpredicts"),
        ("bias", two("bias", 0.4), "Overpredicts or underpredicts"),
        ("bias", biased_classes(MEANS, [0, 1]), "Biased between classes"),
        ("bias", biased_classes(MEANS, [2]), "Biased between classes"),
        ("bias", biased_classes(MEANS, []), "Biased between classes"),
        ("confidence", two("confidence", -0.4), "Overconfident"),
        ("confidence", two("confidence", 0.6), "Underconfident"),
        ("confidence", two("confidence", -2.0), "Pointing away from the outcomes"),
        ("tail", two("tail", -0.1), "Extremes overstated or understated"),
        ("tail", two("tail", 0.1), "Extremes overstated or understated"),
        ("noise", two("noise", 0.02), "Extremes overstated or understated"),
        ("asymmetry", two("asymmetry", -0.1), "Asymmetric"),
        ("certainty", certainty.said(1, 0.01, 3)[0], "Certain and wrong"),
        ("rows", rows.said([1e-4, 1e-3])[0], "A few surprising outcomes"),
        ("shape", shape.said(0.01, two=True)[0], UNNAMED),
    ],
)
def test_a_finding_has_its_explanation(error, clause, term):
    assert Finding(error, clause).explanation.term == term


def test_each_kind_of_error_is_known_by_its_name_in_results():
    for error in KINDS:
        meant = [each.term for each in EXPLAINED if error in each.also] or [explain(error).term]
        assert meant
        if len(meant) > 1:
            with pytest.raises(InputError, match=f"ambiguous term '{error}'"):
                explain(error)


@pytest.mark.slow
def test_an_assessment_names_the_explanation_of_its_findings_and_the_report_has_it():
    found = assess(*binary(2.0), resamples=0)
    assert found.diagnosis.errors == ("confidence",)
    assert str(found).count("\nMore    unperplexed explain overconfident\n") == 1
    page = found.to_html()
    assert page.count("<summary>Overconfident: why, what to try and how to check</summary>") == 1
    assert "Overfitting, long training" in page
    assert "unperplexed explain" not in page
    assert "<b>More:</b> unperplexed explain overconfident" in found._repr_html_()


def test_forecasts_without_a_finding_name_none():
    found = assess(*binary(1.0, seed=3), resamples=0)
    assert found.diagnosis.findings == ()
    assert "unperplexed explain" not in str(found)
    assert "how to check" not in found.to_html()


def test_several_findings_are_named_in_one_command():
    y, p = binary(2.0)
    found = assess(y, np.clip(p, 1e-9, 1) ** 1.5, resamples=0)
    assert len(found.diagnosis.findings) > 1
    [line] = re.findall(r"^More    unperplexed explain (.+)$", str(found.diagnosis.to_text()), re.MULTILINE)
    assert [explain(term) for term in line.split()] == [each.explanation for each in found.diagnosis.findings]


def compared():
    y, sharp = binary(2.0)
    return compare(y, {"sharp": sharp, "biased": 1 / (1 + (1 - sharp) / sharp * 4)})


def monitored():
    periods = {f"d{at}": Tally.of(*binary(0.5, 600, at)) for at in range(8)}
    return monitor(periods | {"d8": Tally.of([1, 0], [0.0, 0.3])})


def models():
    y, p = binary(2.0)
    question = np.arange(2 * y.size)
    both = np.concatenate([p, np.random.default_rng(0).random(y.size)])
    model = ["one"] * y.size + ["other"] * y.size
    return leaderboard(GradedAnswers({"judge": np.tile(y, 2).astype(float)}, {"stated": both}, question, model))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "terms"),
    [
        (compared, ["Overconfident", "Overpredicts or underpredicts"]),
        (monitored, ["Underconfident", "Certain and wrong"]),
        (models, ["Overconfident", "Uninformative predictions"]),
    ],
)
def test_other_results_explain_what_they_find_by_the_same_line(result, terms):
    found = result()
    [line] = re.findall(r"^More    unperplexed explain (.+)$", str(found), re.MULTILINE)
    assert sorted(explain(term).term for term in line.split()) == sorted(terms)
    assert "<b>More:</b> unperplexed explain" in found._repr_html_()


@pytest.mark.slow
def test_what_the_named_errors_leave_is_explained():
    y, p = binary(1.0, n=20000)
    found = assess(y, np.where((p > 0.2) & (p < 0.3), p + 0.3, 0.9 * p), resamples=0)
    assert found.diagnosis.findings
    assert found.diagnosis.rest_p_value < 0.01
    assert re.search(r"^More    unperplexed explain .*\bmiscalibrated\b", str(found), re.MULTILINE)
    assert re.search(r"^More    unperplexed explain .*\bmiscalibrated\b", found.diagnosis.to_text(), re.MULTILINE)
    assert f"<summary>{UNNAMED}:" in found.to_html()


@pytest.mark.slow
@pytest.mark.parametrize("signal", [0, 1])
def test_predictions_without_information_are_not_only_overconfident(signal):
    rng = np.random.default_rng(2)
    odds = rng.normal(0, 2, 2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-0.5 * signal * odds))
    found = assess(y, 1 / (1 + np.exp(-odds)), resamples=0)
    assert found.diagnosis.errors == ("confidence",)
    more = "overconfident" if signal else "overconfident uninformative"
    assert f"\nMore    unperplexed explain {more}\n" in str(found)
    assert ("Look at the predictors first" in " ".join(str(found).split())) == (not signal)
    assert ("<summary>Uninformative predictions:" in found.to_html()) == (not signal)


def test_groups_whose_errors_cancel_are_explained():
    half = np.arange(2000) % 2
    y = np.random.default_rng(0).permutation(half)
    p = np.where(half, 0.62, 0.38)  # in neither group does the prediction matter
    found = assess_by(y, p, by={"region": np.where(half, "north", "south")}, resamples=0)
    assert str(found).count("\nMore    unperplexed explain ") == 1
    assert re.search("^More    unperplexed explain .*groups$", str(found), re.MULTILINE)


@pytest.mark.slow
def test_where_only_groups_are_miscalibrated_nothing_says_to_leave_the_probabilities_alone():
    rng = np.random.default_rng(0)
    half, odds = np.arange(4000) % 2, rng.normal(0, 0.5, 4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-odds))
    p = 1 / (1 + np.exp(-(odds * 0.5 + np.where(half, 0.25, -0.25))))
    found = assess_by(y, p, by={"region": np.where(half, "north", "south")}, resamples=0)
    assert not found.whole.diagnosis.findings
    shown, page = " ".join(str(found).split()), found.to_html()
    assert "over all rows, but 2 of 2 groups by region are miscalibrated" in shown.partition("Next")[0]
    assert "Next Fit a map for each group" in shown
    assert "no reason to change" not in shown + page
    assert page.count("<summary>Groups with errors of their own:") == 1
    calibrated = assess_by(y, 1 / (1 + np.exp(-odds)), by={"region": half}, resamples=0)
    assert "no reason to change" in str(calibrated)
    assert "Groups with errors of their own" not in calibrated.to_html()


def test_texts_are_plain_sentences():
    assert len(EXPLAINED) > 20
    for each in EXPLAINED:
        shown = str(each)
        assert not re.search(r"[*`\[\]]|\]\(", shown)
        assert all(words[-1] in ".!?" and not words[0].islower() for _, words in each.advice)
        assert max(map(len, shown.splitlines())) <= 80
        assert each.meaning.endswith(".")


def test_commands_and_methods_that_are_advised_exist():
    for each in EXPLAINED:
        assert all(line.startswith("unperplexed ") for line in each.commands.splitlines())
        named = re.findall(r"--method (\w+)", re.sub("Without --method", "", str(each)))
        assert {*named} <= {*METHODS}
        assert all(explain(term) for term in each.see)


@pytest.mark.slow
def test_commands_run(tmp_path, monkeypatch, capsys):
    runpy.run_path(str(DOCS / "files.py"))["make"](tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = [line for each in EXPLAINED for line in each.commands.splitlines()]
    assert len(commands) > 10
    assert [line for line in commands if main(shlex.split(line)[1:])] == [], capsys.readouterr().err


def test_a_term_is_found_by_its_name_or_by_a_word_that_no_other_has():
    assert explain("Log loss") == explain("log-loss") == explain("LOG_LOSS")
    assert explain("slope").term == "Calibration slope"
    assert explain("ece").term == "Calibration error (ECE)"
    assert explain("out-of-distribution") == explain("OOD")
    assert "AUROC of detecting rows out of distribution" in explain("OOD").meaning
    assert explain("accuracy").term == "Accuracy"


@pytest.mark.parametrize(
    ("word", "term"),
    [
        ("group", "Groups with errors of their own"),
        ("extreme", "Extremes overstated or understated"),
        ("overconfidence", "Overconfident"),
        ("asymmetry", "Asymmetric"),
        ("skills", "Skill"),
        ("remedy", "Recalibration map"),
        ("temperature", "Calibration slope"),
        ("certainty", "Certain and wrong"),
    ],
)
def test_a_term_is_found_by_another_form_of_it_and_by_a_synonym(word, term):
    assert explain(word).term == term


@pytest.mark.parametrize(
    ("words", "term"),
    [
        ("IPA", "Skill"),
        ("index of prediction accuracy", "Skill"),
        ("scaled Brier", "Skill"),
        ("Brier skill score", "Skill"),
        ("clusters", "Clusters"),
        ("dependent rows", "Clusters"),
        ("how many rows", "Sample size"),
        ("rows", "A few surprising outcomes"),
        ("number of rows", "Sample size"),
        ("crps", "CRPS, fair CRPS and WIS"),
        ("fair CRPS", "CRPS, fair CRPS and WIS"),
        ("weighted_interval_score", "CRPS, fair CRPS and WIS"),
        ("ranked_probability_score", "CRPS, fair CRPS and WIS"),
        ("coverage", "Coverage and width factor"),
        ("width factor", "Coverage and width factor"),
        ("climatology", "Skill"),
        ("effective_rows", "Clusters"),
        ("design effect", "Clusters"),
        ("evidence", "Monitoring alarm"),
        ("imbalanced", "Prior shift"),
        ("sample size", "Sample size"),
        ("cross-fitted", "Recalibration map"),
        ("Platt", "Recalibration map"),
        ("by chance", "Calibration error (ECE)"),
        ("net benefit", "Net benefit"),
        ("decision curve", "Net benefit"),
        ("Gini", "AUC"),
        ("KS", "AUC"),
        ("capacity", "Average precision"),
        ("cost", "Log loss"),
        ("agreement", "Answers of a language model"),
        ("multiple choice", "Answers of a language model"),
        ("early stopping", "Overconfident"),
        ("p-value", "No evidence of miscalibration"),
        ("reliability diagram", "Calibration error (ECE)"),
        ("false positives", "Net benefit"),
        ("partition", "Tally"),
        ("log odds", "Calibration intercept"),
        ("out of distribution", "Drift of predictions"),
        ("drift", "Drift of predictions"),
        ("perplexity", "Geometric accuracy"),
        ("biased", "Overpredicts or underpredicts"),
        ("class bias", "Biased between classes"),
        ("few rows", "Sample size"),
        ("simultaneous", "Sample size"),
        ("misshaped", UNNAMED),
        ("effective number", "Clusters"),
        ("floor", "Certain and wrong"),
        ("shrunk-isotonic", "Geometric accuracy"),
    ],
)
def test_words_of_other_fields_find_their_explanation(words, term):
    assert explain(words).term == term


def test_synonyms_mean_terms_and_are_none_themselves():
    listed = (files("unperplexed.report") / "assets" / "terms.csv").read_text("utf-8").splitlines()
    names = {each.term for each in EXPLAINED}
    assert {term for term, *_ in csv.reader(listed[1:])} <= names
    words = {word for each in EXPLAINED for word in each.also}
    assert len(words) > 15
    assert not words & {name.casefold() for name in names}


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("overconfidnt", "unknown term 'overconfidnt'; did you mean 'overconfident'"),
        ("confidence", "ambiguous term 'confidence'; did you mean 'overconfident' or 'underconfident'"),
        ("calibration", "ambiguous term 'calibration'; did you mean 'calibration error (ECE)', 'calibration slope'"),
        ("index of nothing", "unknown term 'index of nothing'. unperplexed explain, without a term, lists all."),
        ("xyzzy", "unknown term 'xyzzy'. unperplexed explain, without a term, lists all."),
        ("", "unknown term ''"),
    ],
)
def test_another_term_is_refused_with_the_nearest(term, message):
    with pytest.raises(InputError, match=re.escape(message)):
        explain(term)


def test_the_command_line_explains_terms_and_lists_them(capsys):
    assert main(["explain", "log", "loss"]) == 0
    assert capsys.readouterr().out == f"{explain('log loss')}\n"
    assert main(["explain", "slope", "certain-and-wrong", "slope"]) == 0
    assert capsys.readouterr().out == f"{explain('slope')}\n\n{explain('certain and wrong')}\n"
    assert main(["explain"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert listed == " ".join(text(terms_document()).split())
    assert all(each.term.casefold() in listed.casefold() for each in EXPLAINED)


@pytest.mark.parametrize("words", [["slopp"], ["slope", "nonsense"], [""]])
def test_the_command_line_refuses_other_terms_in_one_line(capsys, words):
    assert main(["explain", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"unperplexed: unknown term {' '.join(words)!r}")
    assert len(err.splitlines()) == 1


def test_an_explanation_is_a_result():
    assert unperplexed.explain("overconfident").to_html().count("<h1>Overconfident</h1>") == 1
