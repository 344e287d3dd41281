import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from unperplexed import InputError, Tally, plan
from unperplexed.calibration.diagnosis.binary_data import line_of_tally
from unperplexed.cli.parser import main


def rows(**asked):
    return [*plan(**asked).needs.values()]


def test_as_pmvalsampsize():
    """Of Riley et al. (2021), by version 0.2.1 of their Python package: its O/E is solved in steps of 0.0001, its slope
    and net benefit are simulated with a million rows."""
    widths = {"oe": 0.2, "slope": 0.3, "auc": 0.1, "net_benefit": 0.2}
    found = rows(rate=0.1, auc=0.75, precision=widths, thresholds=[0.15])
    assert found == pytest.approx([3461, 2549, 1008, 1416], rel=0.0025)
    assert found[2:] == [1008, 1416]
    assert rows(rate=0.018, auc=0.8, precision={"oe": 1, "auc": 0.1}) == pytest.approx([905, 4252], abs=1)


def test_bias_of_equal_predictions_is_the_textbook_number_for_a_proportion():
    for rate, bias in ((0.1, 0.02), (0.5, 0.1), (0.03, 0.01)):
        other = max(rate + bias, rate - bias, key=lambda p: p * (1 - p))
        reach = norm.ppf(0.975) * np.sqrt(rate * (1 - rate)) + norm.ppf(0.9) * np.sqrt(other * (1 - other))
        assert rows(rate=rate, bias=bias, power=0.9) == [np.ceil((reach / bias) ** 2)]


def test_power_is_what_was_asked_for(rng):
    """Of a Wald test of the slope, which is 0.75; 0.8 within four standard errors."""
    asked, seen = plan(rate=0.3, auc=0.75, slope=0.75), 0
    spread = np.sqrt(2) * norm.ppf(0.75)
    for _ in range(150):
        y = rng.uniform(size=asked.rows) < 0.3
        s = rng.normal(logit(0.3) + np.where(y, 0.5, -0.5) * spread**2, spread)
        tally = Tally.of((rng.uniform(size=s.size) < expit(0.75 * s)).astype(int), expit(s))
        slope = line_of_tally(tally).slope
        seen += abs(slope.value - 1) > norm.ppf(0.975) * slope.standard_error
    assert seen / 150 == pytest.approx(0.8, abs=0.12)


def test_laws():
    few, many = plan(rate=0.2, auc=0.7, slope=0.8), plan(rate=0.2, auc=0.7, slope=0.9)
    assert many.rows > 3 * few.rows  # a quarter of the variance
    assert plan(rate=0.2, auc=0.8, slope=0.8).rows < few.rows  # predictions that differ more tell more
    doubled = plan(rate=0.2, auc=0.7, slope=0.8, design_effect=2)
    assert 2 * few.rows - 2 <= doubled.rows <= 2 * few.rows
    whole = plan(rate=0.2, auc=0.7, thresholds=[0.1, 0.2])
    assert whole.rows == max(whole.needs.values())
    assert len(whole.needs) == 5
    benefit = {question: rows for question, rows in whole.needs.items() if question.startswith("net benefit")}
    beside = plan(rate=0.2, auc=0.7, thresholds=[0.1, 0.2], bias=0.05)
    assert {question: beside.needs.get(question) for question in benefit} == benefit
    assert plan(rate=0.1, auc=0.9999999, precision={"auc": 0.1}).rows == 20  # with two events


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rate": 1.0}, "rate: expected a number between 0 and 1, got 1.0"),
        ({"rate": 0.1, "auc": 0.4}, "auc: expected a number between 0.5 and 1"),
        ({"rate": 0.1, "slope": 0.8}, "auc: missing; slope, AUC and net benefit depend on it"),
        ({"rate": 0.1, "precision": {"slope": 0.2}}, "auc: missing; slope, AUC and net benefit depend on it"),
        ({"rate": 0.1, "auc": 0.7, "slope": 1.0}, "slope is to differ from 1"),
        ({"rate": 0.1, "bias": 0.0}, "bias: expected a share of 1"),
        ({"rate": 0.1, "bias": 2}, "bias: expected a share of 1"),
        ({"rate": 0.1, "precision": {"brier": 0.1}}, "precision: expected one of 'oe', 'slope'"),
        ({"rate": 0.1, "auc": 0.7, "precision": {"net_benefit": 0.1}}, "thresholds: missing"),
        ({"rate": 0.1, "design_effect": 0.5}, "design_effect to be 1 or more"),
        ({"rate": 0.1, "design_effect": "2"}, "design_effect to be 1 or more"),
        ({"rate": "0.1"}, "rate: expected a number between 0 and 1, got '0.1'"),
        ({"rate": 0.1, "bias": "x"}, "bias: expected a share of 1"),
        ({"rate": 0.1, "bias": 1e-200}, "plan: more rows than can be counted"),
        ({"rate": 1e-310, "auc": 0.7, "precision": {"net_benefit": 0.2}, "thresholds": 0.2}, "plan: more rows"),
        ({"rate": 1e-300, "auc": 0.7}, "plan: more rows than can be counted"),
        ({"rate": 0.1, "precision": {"oe": 1e-200}}, "plan: more rows than can be counted"),
        ({"rate": 0.1, "precision": {}}, "precision: expected widths by metric, such as {'oe': 0.2}, got {}"),
        ({"rate": 0.1, "precision": ["oe"]}, "precision: expected widths by metric"),
        ({"rate": 0.1, "precision": {"oe": "x"}}, "precision: the width of oe must be above 0, got 'x'"),
        ({"rate": 0.1, "auc": 0.7, "thresholds": ["a"]}, "thresholds: expected probabilities between 0 and 1"),
        ({"rate": 0.1, "thresholds": 0.2}, "auc: missing; slope, AUC and net benefit depend on it"),
    ],
)
def test_bad_input(asked, said):
    with pytest.raises(InputError, match=said):
        plan(**asked)


def test_command_line(capsys):
    assert main(["plan", "--rate", "0.1", "--bias", "0.02"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("You need 1,856 rows, with about 186 events among them.")
    words = ["plan", "--rate", "0.1", "--auc", "0.75", "--precision", "oe=0.2", "slope=0.3", "--json", "-"]
    assert main(words) == 0
    assert '"rows": 3469' in capsys.readouterr().out
    assert main(["plan", "--rate", "0.1", "--design-effect", "0.5"]) == 2
    assert capsys.readouterr().err.endswith("design_effect to be 1 or more; got None and 0.5.\n")


def test_a_plan_of_few_events_is_warned_of():
    """At a rate of 0.1 and a bias of 20 points 24 rows do by the formula, but have a power of 61% (binomial)."""
    found = plan(rate=0.1, bias=0.2)
    assert found.rows < 100
    assert "take at least 100 rows" in " ".join(str(found).split())
    assert "take at least" not in str(plan(rate=0.1, bias=0.02))
