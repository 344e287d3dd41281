import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import ncx2, norm, skew

from unperplexed import InputError, Tally, assess, check, compare
from unperplexed.assessment.flat import cost_interval
from unperplexed.comparison.sequential import changes_of_pairs, changes_of_samples
from unperplexed.monitoring.gate import checked

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")


def forecasts(n, slope=1.0, bias=0.0, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.normal(0, 1.5, n)
    return (rng.random(n) < expit(s)).astype(int), expit(slope * s + bias)


@pytest.fixture(scope="module")
def overconfident():
    return assess(*forecasts(3000, slope=2), confidence=0.9, resamples=0, reference="base-rate")


TRUE_LOSS = 0.5274144
"""Expected log loss of calibrated forecasts whose log-odds are normal with a standard deviation of 1.5."""


def test_the_true_loss_is_right():
    s = np.linspace(-12, 12, 200_001)
    p = expit(s)
    loss = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    assert (norm.pdf(s, scale=1.5) * loss).sum() * (s[1] - s[0]) == pytest.approx(TRUE_LOSS, abs=1e-6)


@pytest.mark.slow
def test_a_figure_at_its_limit_fails_in_one_sample_of_twenty():
    """Binomial: 5 expected of 100; 1 to 11 hold 99%."""
    failed = 0
    for seed in range(100):
        found = assess(*forecasts(200, seed=seed), confidence=0.9, resamples=0)
        failed += not check(found, require=f"log_loss < {TRUE_LOSS}")
    assert 1 <= failed <= 11


@pytest.mark.slow
def test_a_change_of_nothing_fails_in_one_pair_of_samples_of_twenty():
    failed = 0
    for seed in range(80):
        now, before = (
            assess(*forecasts(n, seed=10_000 + 2 * seed + at), confidence=0.9, resamples=0)
            for at, n in enumerate((150, 400))
        )
        failed += not checked(now, ["change.log_loss <= 0"], changes=changes_of_samples(now, before))
    assert 1 <= failed <= 10


def test_what_is_clearly_missed_fails_and_what_holds_passes(overconfident):
    found = check(overconfident, require=["log_loss < 0.5", "accuracy > 0.6", "slope > 0.9", "rows >= 3000"])
    assert [each.passed for each in found.outcomes] == [False, True, False, True]
    assert not found
    assert [each.requirement for each in found.failed] == ["log_loss < 0.5", "slope > 0.9"]


def test_ends_of_intervals_are_compared_as_they_are(overconfident):
    interval = overconfident.intervals["log_loss"]
    limit = (interval.low + interval.high) / 2
    tests = ["log_loss < {}", "log_loss > {}", "log_loss.upper < {}", "log_loss.lower < {}"]
    found = check(overconfident, require=[each.format(limit) for each in tests])
    assert [each.passed for each in found.outcomes] == [True, True, False, True]


def test_with_point_chance_is_left_out(overconfident):
    above = overconfident.scores["log_loss"] - 1e-6
    assert check(overconfident, require=f"log_loss < {above}")
    assert not checked(overconfident, [f"log_loss < {above}"], point=True)


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("verdict not in (overconfident)", False),
        ("verdict not in (biased, underconfident)", True),
        ("verdict not in (miscalibrated)", False),
        ("verdict in (none)", False),
        ("verdict in (none, overconfident)", True),
        ("verdict in (miscalibrated)", True),
        ("verdict not in (none)", True),
    ],
)
def test_verdicts(overconfident, text, passed):
    found = check(overconfident, require=text)
    assert bool(found) is passed
    assert found.outcomes[0].words == "overconfident"


def test_calibrated_forecasts_have_no_verdict():
    found = check(assess(*forecasts(2000), resamples=0), require="verdict in (none)")
    assert found
    assert found.outcomes[0].words == "none"
    assert not check(assess(*forecasts(2000), resamples=0), require="verdict not in (none)")
    assert not check(assess(*forecasts(2000), resamples=0), require="verdict in (miscalibrated)")


def test_skill_is_against_the_reference(overconfident):
    skill = overconfident.skill.whole.scores["forecasts"]["log_loss"]
    found = check(overconfident, require="skill > 0.5")
    assert not found
    assert found.outcomes[0].value == skill.skill
    assert found.outcomes[0].interval == skill.interval


def test_infinite_log_loss_fails():
    found = check(assess([1, 0, 1], [0.0, 0.2, 0.9], floor=0, resamples=0), require="log_loss < 5")
    assert not found
    assert assess([1, 0, 1], [0.0, 0.2, 0.9], floor=0, resamples=0).to_flat()["log_loss"] is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("logloss < 1", "did you mean log_loss?"),
        ("loss < 1", "verdict; with rows and a reference also skill"),
        ("auc > 0.5", "there is no metric 'auc' here"),
        ("skill > 0", "skill needs a reference"),
    ],
)
def test_figures_that_there_are_not(text, says):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    with pytest.raises(InputError) as caught:
        check(assess(np.arange(200) % 3, p, resamples=0), require=text)
    assert says in str(caught.value)


def test_without_an_interval_nothing_is_judged():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    found = assess(np.arange(200) % 3, p, clusters=np.arange(200) // 4, resamples=0)
    with pytest.raises(
        InputError,
        match=r"ece has no confidence interval .* confidence=None \(--confidence none\) compares",
    ):
        check(found, require="ece < 0.1")
    assert not checked(found, ["ece < 0.1"], point=True)


def test_nothing_required_is_refused(overconfident):
    with pytest.raises(InputError, match="name at least one"):
        check(overconfident, require=[])


def test_figures_are_flat_numbers_and_those_of_the_assessment(overconfident):
    flat = overconfident.to_flat()
    assert all(value is None or (type(value) is float and math.isfinite(value)) for value in flat.values())
    assert flat["log_loss"] == overconfident.scores["log_loss"]
    assert (flat["auc.lower"], flat["auc.upper"]) == overconfident.auc.interval
    assert (flat["overconfident"], flat["biased"], flat["miscalibrated"]) == (1, 0, 1)
    assert flat["skill"] == overconfident.skill.whole.scores["forecasts"]["log_loss"].skill


def test_the_bias_of_clusters_has_the_interval_of_their_sums():
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(150), 8)
    s = rng.normal(0, 1.5, cluster.size)
    y = (rng.random(cluster.size) < expit(s + rng.normal(0, 1, 150)[cluster])).astype(int)
    a = assess(y, expit(s), clusters=cluster, resamples=0)
    means = (expit(s) - y).reshape(150, 8).mean(axis=1)
    flat = a.to_flat()
    assert flat["bias"] == pytest.approx(means.mean())
    assert (flat["bias.upper"] - flat["bias.lower"]) / 2 == pytest.approx(1.97 * means.std(ddof=1) / 150**0.5, rel=0.1)
    assert not check(a, require="bias < 0.2").failed


def test_a_tally_has_the_figures_of_its_rows():
    y, p = forecasts(500)
    rows, tally = assess(y, p, resamples=0).to_flat(), assess(Tally.of(y, p), resamples=0).to_flat()
    assert rows == pytest.approx(tally)


def test_json_has_the_requirements_and_all_figures(overconfident):
    found = check(overconfident, require=["log_loss < 0.5"])
    plain = json.loads(found.to_json())
    assert plain["passed"] is False
    assert plain["outcomes"][0]["requirement"] == "log_loss < 0.5"
    assert plain["metrics"] == overconfident.to_flat()
    assert found.to_flat() == {"passed": 0, "failed_requirements": 1, "design_effect": 1.0, **overconfident.to_flat()}


def test_text_markdown_and_junit_say_the_same(overconfident):
    found = check(overconfident, require=["log_loss < 0.5", "accuracy > 0.6", "verdict in (none)"])
    text, markdown, junit = str(found), found.to_markdown(), ElementTree.fromstring(found.to_junit())
    assert text.startswith("Failed: 2 of 3 requirements.")
    assert "**Failed: 2 of 3 requirements**" in markdown
    assert (junit.get("tests"), junit.get("failures")) == ("3", "2")
    names = [case.get("name") for case in junit if len(case)]
    assert names == ["log_loss < 0.5", "verdict in (none)"] == [each.requirement for each in found.failed]
    assert re.findall(r"^\| `([^`]+)` .* \| (pass|FAIL) \|$", markdown, re.MULTILINE) == [
        ("log_loss < 0.5", "FAIL"),
        ("accuracy > 0.6", "pass"),
        ("verdict in (none)", "FAIL"),
    ]
    assert "fails in about 5% of samples" in markdown
    assert "The verdict is that of the diagnosis" in markdown
    assert "as they are" not in markdown


@pytest.fixture(scope="module")
def worse():
    """An assessment at 90% and its paired changes from calibrated forecasts, with the differences in log loss."""
    y, p = forecasts(3000, slope=1.2, bias=0.3, seed=3)
    best = forecasts(3000, seed=3)[1]
    changes = changes_of_pairs(compare(y, {"now": p, "before": best}), "now")
    d = np.log(np.where(y, best, 1 - best)) - np.log(np.where(y, p, 1 - p))
    return assess(y, p, confidence=0.9, resamples=0), changes, d


@pytest.mark.parametrize(("operator", "sign"), [("<=", 1), (">=", -1)])
def test_many_looks_bet_on_the_sum_beyond_the_limit(worse, operator, sign):
    """The formula of the notes, with Hall's correction; for 3,000 rows Student's t is as good as normal."""
    now, changes, d = worse
    found = checked(now, [f"change.log_loss {operator} 0.001"], anytime=True, changes=changes).outcomes[0]
    n, prior, g = d.size, 1000, sign * skew(d) / math.sqrt(d.size)
    z = sign * (d - 0.001).sum() / d.std(ddof=1) / math.sqrt(n)
    u = (z + g / 6 + g * z**2 / 3 + g**2 * z**3 / 27) * math.sqrt(n / (n + prior))
    log_evidence = math.log(2) - math.log1p(n / prior) / 2 + u * u / 2 + norm.logcdf(u)
    assert found.log_evidence == pytest.approx(log_evidence, abs=0.03)
    assert found.passed is (sign < 0)


def test_at_many_looks_a_change_fails_where_its_evidence_reaches_20(worse):
    now, changes, _ = worse
    one = checked(now, ["change.log_loss <= 0"], changes=changes)
    low, high = checked(now, ["change.log_loss <= 0"], anytime=True, changes=changes).outcomes[0].interval
    assert low < one.outcomes[0].interval.low < one.outcomes[0].interval.high < high
    for limit, passed in (
        (f"<= {low - 1e-9!r}", False),
        (f"<= {low + 1e-9!r}", True),
        (f">= {high + 1e-9!r}", False),
        (f">= {high - 1e-9!r}", True),
    ):
        found = checked(now, [f"change.log_loss {limit}"], anytime=True, changes=changes)
        assert bool(found) is passed
        assert (found.outcomes[0].log_evidence < math.log(20)) is passed


def test_many_looks_are_in_all_outputs(worse):
    now, changes, _ = worse
    wanted = ["change.log_loss <= -0.01", "change.log_loss <= 9", "change.brier_score.upper < 1", "rows >= 10"]
    found = checked(now, wanted, anytime=True, changes=changes)
    assert [each.judged for each in found.outcomes] == ["evidence", "evidence", "value", "value"]
    strongest = found.outcomes[0].log_evidence
    assert found.to_flat()["change.log_loss.log_evidence"] == strongest > math.log(20)
    assert json.loads(found.to_json())["outcomes"][0]["log_evidence"] == strongest
    evidence = f"{math.exp(strongest):,.0f}, limit 20" if strongest < math.log(1e6) else "> 1,000,000, limit 20"
    failure = ElementTree.fromstring(found.to_junit()).find(".//failure").get("message")
    assert f"(evidence {evidence})" in failure
    assert f"| {evidence} | FAIL |" in found.to_markdown()
    assert "90% confidence sequence | evidence | result |" in found.to_markdown()
    assert "looked at once" not in found.to_markdown()
    assert "however often you look" in " ".join(str(found).split())


def test_forecasts_that_score_the_same_are_within_a_limit_of_0_at_each_look():
    y, p = forecasts(200)
    changes = changes_of_pairs(compare(y, {"now": p, "before": p}), "now")
    found = checked(assess(y, p, confidence=0.9, resamples=0), ["change.log_loss <= 0"], anytime=True, changes=changes)
    assert found
    assert found.outcomes[0].interval == (0, 0)


@pytest.mark.parametrize(
    ("text", "settings", "says"),
    [
        ("log_loss < 0.4", {}, "'log_loss < 0.4': with anytime=True .* only changes .* monitor --require"),
        ("verdict in (none)", {}, "only changes of mean scores"),
        ("change.log_loss <= 0", {"point": True}, r"confidence=None \(--confidence none\) ignores chance"),
    ],
)
def test_what_cannot_be_tested_at_many_looks_is_refused(worse, text, settings, says):
    now, changes, _ = worse
    with pytest.raises(InputError, match=says):
        checked(now, [text], **{"anytime": True, "changes": changes, **settings})


def test_one_cluster_is_too_few_to_look_at():
    y, p = forecasts(50)
    changes = changes_of_pairs(compare(y, {"now": p, "before": p[::-1]}, clusters=np.zeros(50)), "now")
    with pytest.raises(InputError, match="has no confidence interval .* Or wait for more rows or clusters"):
        checked(assess(y, p, resamples=0), ["change.log_loss <= 0"], anytime=True, changes=changes)


@pytest.mark.slow
def test_rows_are_tested_like_their_assessment():
    y, p = forecasts(2_000, slope=2)
    wanted = ["log_loss < 0.5", "skill > 0", "verdict not in (overconfident)"]
    of_assessment = check(assess(y, p, confidence=0.9, reference="base-rate"), require=wanted)
    assert check(y, p, require=wanted).to_json() == of_assessment.to_json()
    assert check(y, p, require="log_loss < 0.5", confidence=None).point
    assert check(y, p, require="spherical_score > 0.6")
    with pytest.raises(TypeError, match="did you mean 'sample_weight'"):
        check(y, p, require=wanted, sample_wieght=p)


@pytest.mark.slow
def test_earlier_forecasts_are_of_the_same_rows_or_of_others():
    y, p = forecasts(2_000, slope=2)
    better = expit(np.log(p / (1 - p)) / 2)
    pairs = changes_of_pairs(compare(y, {"now": p, "earlier": better}, confidence=0.9), "now")
    found = check(y, p, require="change.log_loss <= 0", earlier=better)
    assert found.outcomes[0].interval == pairs["change.log_loss"].interval
    assert not found
    assert "of the same 2,000 rows" in found.against
    before = assess(*forecasts(2_000, seed=1), confidence=0.9)
    found = check(y, p, require="change.log_loss <= 0", earlier=before)
    samples = changes_of_samples(assess(y, p, confidence=0.9), before)
    assert found.outcomes[0].interval == samples["change.log_loss"].interval
    assert "as two independent samples" in found.against
    assert check(y, p, require="change.log_loss <= 0", earlier=better, anytime=True).looks == "many"
    with pytest.raises(InputError, match="earlier: forecasts of the same rows go with y_true and y_prob"):
        check(assess(y, p), require="change.log_loss <= 0", earlier=better)


@pytest.mark.slow
def test_what_was_counted_or_assessed_is_given_alone():
    y, p = forecasts(2_000)
    tally, before = Tally.of(y, p), Tally.of(*forecasts(2_000, slope=2, seed=1))
    found = check(tally, require=["log_loss < 1", "change.log_loss <= 0"], earlier=before)
    assert found
    assert check(y, p, require="change.log_loss <= 0", earlier=before, sample_weight=np.ones(y.size)).against
    for counted in (tally, assess(tally)):
        for more in ({"y_prob": p}, {"sample_weight": p}):
            with pytest.raises(InputError, match=rf"{next(iter(more))}: a tally's rows are already counted"):
                check(counted, require="log_loss < 1", **more)


def test_the_cost_has_an_interval_of_the_noncentral_chi_squared_distribution(overconfident):
    low, high = cost_interval(overconfident)
    ratio, found = 2 * overconfident.n_rows * overconfident.cost, len(overconfident.diagnosis.findings)
    for limit, share in ((low, 0.95), (high, 0.05)):
        assert ncx2.cdf(ratio, found, 2 * overconfident.n_rows * limit) == pytest.approx(share, abs=1e-9)
    assert not check(overconfident, require=f"cost < {0.9 * low}")
    assert check(overconfident, require=f"cost < {1.1 * low}")


def test_calibrated_forecasts_may_cost_nothing():
    calibrated = assess(*forecasts(3000), confidence=0.9, resamples=0)
    low, high = cost_interval(calibrated)
    assert low == calibrated.cost == 0 < high < 0.005


def test_an_error_that_costs_nothing_that_matters_fails_no_gate_that_says_so(overconfident):
    """Expected cost of a slope of 1.03: half its information about 0.03^2 times E[s^2 p (1 - p)], 1.1e-4 nats."""
    small = assess(*forecasts(400_000, slope=1.03), confidence=0.9, resamples=0, clusters=None)
    assert not check(small, require="verdict in (none)")
    found = check(small, require="verdict in (none)", min_effect=0.001)
    assert found
    assert found.outcomes[0].words == "none (small: overconfident)"
    assert not check(small, require="verdict in (none)", min_effect=0.00001)
    assert not check(overconfident, require="verdict not in (overconfident)", min_effect=0.001)


@pytest.mark.parametrize(
    ("require", "least"),
    [("cost < 1", 0.1), ("verdict in (none)", -1), ("verdict in (none)", "1"), ("verdict in (none)", np.inf)],
)
def test_a_smallest_effect_is_for_the_verdict_and_not_negative(overconfident, require, least):
    with pytest.raises(InputError, match="--min-effect"):
        check(overconfident, require=require, min_effect=least)
