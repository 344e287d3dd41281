import math

import pytest

from unperplexed import InputError
from unperplexed.results import Requirement


@pytest.mark.parametrize(
    ("text", "name", "end", "operator", "limit"),
    [
        ("log_loss < 0.4", "log_loss", "", "<", 0.4),
        (" log_loss<=.4 ", "log_loss", "", "<=", 0.4),
        ("skill.lower > -1e-3", "skill", "lower", ">", -0.001),
        ("change.log_loss <= 0", "change.log_loss", "", "<=", 0),
        ("change.log_loss.upper <= 0", "change.log_loss", "upper", "<=", 0),
        ("power_score(0.5) < 1", "power_score(0.5)", "", "<", 1),
    ],
)
def test_figures(text, name, end, operator, limit):
    found = Requirement.parse(text)
    assert (found.name, found.end, found.operator, found.limit) == (name, end, operator, limit)


@pytest.mark.parametrize(
    ("text", "operator", "words"),
    [
        ("verdict not in (overconfident, biased)", "not in", ("overconfident", "biased")),
        ("verdict in none", "in", ("none",)),
        ("verdict not   in ['Certain and wrong']", "not in", ("certain-and-wrong",)),
    ],
)
def test_verdicts(text, operator, words):
    found = Requirement.parse(text)
    assert (found.name, found.operator, found.words) == ("verdict", operator, words)
    assert math.isnan(found.limit)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("log_loss", "is not a requirement; write NAME < NUMBER"),
        ("log_loss == 1", "is not a requirement"),
        ("log_loss < 1 or True", "'1 or True' is not a number"),
        ("log_loss < nan", "'nan' is not a number"),
        ("log_loss < inf", "'inf' is not a number"),
        ("verdict < 1", "words are for the verdict"),
        ("verdict.lower > 0", "a verdict has no interval"),
        ("verdict.upper in (biased)", "a verdict has no interval"),
        ("log_loss in (1, 2)", "words are for the verdict"),
        ("verdict not in (wrong)", "no verdict is called 'wrong'; there are none, biased"),
        ("__import__('os') < 1", "is not a requirement"),
    ],
)
def test_what_is_none_is_refused_by_name(text, says):
    with pytest.raises(InputError) as caught:
        Requirement.parse(text)
    assert says in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("text", "low", "high", "refuted"),
    [
        ("x < 0.4", 0.39, 0.6, False),
        ("x < 0.4", 0.4, 0.6, True),
        ("x <= 0.4", 0.4, 0.6, False),
        ("x > 0.4", 0.1, 0.41, False),
        ("x > 0.4", 0.1, 0.4, True),
        ("x >= 0.4", 0.1, 0.4, False),
    ],
)
def test_an_interval_refutes_what_none_of_it_meets(text, low, high, refuted):
    assert Requirement.parse(text).refuted_by(low, high) is refuted


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("Log loss", "log_loss"),
        ("Brier score (both classes)", "brier_score"),
        ("AUC", "auc"),
        ("Calibration error (ECE)", "ece"),
        ("Calibration slope", "slope"),
        ("Calibration intercept", "intercept"),
        ("Geometric accuracy", "geometric_accuracy"),
        ("power_score(2)", "power_score(2)"),
    ],
)
def test_metrics_go_by_the_names_that_reports_print(printed, name):
    assert Requirement.parse(f"{printed} < 0.4").name == name
    ended = Requirement.parse(f"{printed}.upper < 0.4")
    assert (ended.name, ended.end) == (name, "upper")
