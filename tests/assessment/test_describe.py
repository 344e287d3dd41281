"""What is shown where something is missing: no verdict, one outcome, one group, one order, classes without parts."""

import math
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from helpers import averages_text, softmax_forecasts
from unperplexed import InputError, Tally, assess, assess_by, compare
from unperplexed.assessment.assess import assess_tally
from unperplexed.assessment.flat import cost_interval, flat_metrics
from unperplexed.assessment.settings import AssessmentSettings
from unperplexed.describe.assessment import assessment_document
from unperplexed.describe.assessment_tables import surprises_table
from unperplexed.describe.comparison import comparison_document
from unperplexed.report.numbers import number
from unperplexed.report.result import Naming

N = 120


@pytest.fixture
def binary(rng):
    p = rng.uniform(0.05, 0.95, N)
    return (rng.random(N) < p).astype(int), p


@pytest.fixture
def three(rng):
    return softmax_forecasts(rng, N, 3)


def shown(result):
    """Words of the page as a browser shows them."""
    return " ".join(
        unescape(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", result.to_html(), flags=re.DOTALL)).split()
    )


def printed(result):
    return " ".join(str(result).split())


def test_without_a_verdict_nothing_is_called_a_finding_or_a_loss(binary):
    """Two clusters are too few for a test."""
    y, p = binary
    found = assess(y, p, clusters=np.arange(N) % 2, resamples=0)
    assert found.verdict == (
        "No verdict: the test and some intervals take six clusters of dependent rows or more, here 2; assess more."
    )
    assert printed(found).startswith(found.verdict)
    page = shown(found)
    assert found.verdict in page
    assert f"Geometric accuracy {found.reported.geometric_accuracy:.3f}" in page
    assert "Observed frequency of '1' by predicted probability" in page
    for words in ("Findings, costliest first", f"What {N} rows can show", "loss due to miscalibration", "What to do"):
        assert words not in page
    flat = flat_metrics(found)
    assert flat["log_loss"] == found.scores["log_loss"]
    assert not {"overconfident", "biased", "miscalibrated"} & set(flat)
    both = compare(y, {"a": p, "b": p / 2}, clusters=np.arange(N) % 2)
    assert both.next_step is None
    assert comparison_document(both, Naming(), brief=False).figure.title == "Calibration curve of each forecaster"


def test_groups_without_a_verdict_are_not_tested(binary):
    y, p = binary
    found = assess_by(y, p, by={"site": np.arange(N) % 2}, clusters=np.arange(N) // 30, resamples=0)
    assert all(np.isnan([each.p_value, each.adjusted_p_value]).all() for each in found.cost_shares.values())
    assert found.remedies == {}
    with pytest.raises(KeyError, match="moon"):
        found["moon"]


def test_a_single_group_has_no_charts_beside_others(binary):
    y, p = binary
    page = shown(assess_by(y, p, by={"site": np.zeros(N, int)}, resamples=0))
    assert "Groups by site" in page
    for title in ("Accuracy by group", "Findings by group", "Reliability diagram of each group"):
        assert title not in page


def test_one_outcome_has_no_remedy_and_none_that_is_untried(binary):
    found = assess(np.ones(N, int), binary[1], labels=[0, 1], resamples=0)
    assert found.remedy is None
    assert found.untried_remedy is None
    assert "All rows have the same outcome" in printed(found)


def test_one_order_has_a_profile(binary):
    found = assess_tally(Tally.of(*binary), AssessmentSettings(orders=[0], resamples=0))
    assert found.profile.orders.tolist() == [0]
    assert "Risk profile" in shown(found)


def test_skill_is_a_section_of_the_page(binary):
    y, p = binary
    found = assess(y, p, reference="base-rate", resamples=0)
    for result, titles in ((found, ["Skill against the base rate"]), (replace(found, skill=None), [])):
        sections = assessment_document(result, Naming(), brief=False).sections
        assert [section.title for section in sections if section.id == "skill"] == titles


def test_classes_without_the_part_of_predictions(three):
    """Their table is made of the sums of the diagnosis; without these there is none."""
    y, p = three
    found = assess(Tally.of(y, p, parts=["classes"]), view="each-class", resamples=0)
    assert "All rows; the largest difference first." in printed(found)
    page = shown(found)
    assert "Averages and calibration errors of each class" in page
    assert "difference of confidence and precision" not in page
    tally = Tally.of(y, p, parts=["classes"])
    bare = assess(replace(tally, diagnosis=None), view="each-class", resamples=0)
    assert "All rows; the largest difference first." not in printed(bare)
    assert bare.classes.miscalibration == pytest.approx(found.classes.miscalibration)


def test_a_floor_that_uniform_forecasts_do_not_reach_is_remarked(three):
    assert "the floor is not below 1/3, what a uniform forecast assigns" in printed(
        assess(*three, floor=0.4, resamples=0)
    )
    assert "the floor is not below" not in printed(assess(*three, floor=0.3, resamples=0))


def test_zeros_without_a_floor_are_what_the_slope_comes_from(binary):
    y, p = binary
    p[np.flatnonzero(y)[0]] = 0
    found = assess(y, p, floor=0, resamples=0)
    assert f"Slope of the averages {found.averages_slope:.3f} (0 assigned to 1 observed)" in averages_text(found)


def test_rows_that_carry_the_evidence_are_listed_by_number():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.3, 0.7, 500)
    y = rng.random(500) < p
    p[:1], y[:1] = 1.2e-3, True
    assert "Rows that carry the evidence, the worst first, counted from 0: 0 (assigned 0.0012)." in printed(
        assess(y, p, resamples=0, clusters=None)
    )


@pytest.mark.slow
def test_rows_of_several_classes_that_a_tally_only_counted_are_not_listed(three):
    y, p = three
    p[:3], y[:3] = [1 - 2e-9, 1e-9, 1e-9], [1, 2, 1]
    found = assess(Tally.of(y, p, parts=["surprises"]), resamples=0)
    assert "Certain and wrong 3 times" in printed(found)
    assert "Rows that were certain and wrong" not in printed(found)
    assert "Rows that were certain and wrong, the worst first, counted from 0: 0 (assigned 1e-09)" in printed(
        assess(y, p, resamples=0)
    )


def test_surprising_rows_of_several_files_are_shown_with_their_file(binary):
    y, p = binary
    one, other = (Tally.of(y, each, parts=["surprises"], source=name) for each, name in ((p, "a.csv"), (p**2, "b.csv")))
    for tally, several in ((other, False), (one + other, True)):
        columns = {column.heading: column.values for column in surprises_table(assess(tally, resamples=0)).columns}
        assert set(columns.get("source", ())) == ({"a.csv", "b.csv"} if several else set())


def test_a_constant_forecast_shows_a_bias_of_some_size_but_no_slope():
    page = shown(assess(np.arange(N) % 2, np.full(N, 0.5), resamples=0))
    [table] = re.findall("Smallest errors that 120 rows with these predictions show with 80% power.{90}", page)
    assert "Bias" in table
    assert "slope" not in table


def test_tables_that_a_tally_has_not_are_refused_with_what_has_them(binary, three):
    found = assess(*binary, resamples=0)
    floors = found.frame("floors")
    assert floors["floor"].to_list() == list(found.floor_sensitivity)
    assert floors["decisiveness"].to_list() == [each.decisiveness for each in found.floor_sensitivity.values()]
    with pytest.raises(InputError, match="'confusions' takes rows of more than two classes to assess, not a tally"):
        assess(Tally.of(*three), resamples=0).frame("confusions")


def test_a_tally_without_weight_is_refused():
    with pytest.raises(InputError, match="the total weight is 0; nothing is left to assess"):
        assess(Tally.of([0, 1], [0.2, 0.7], sample_weight=[0.0, 0.0]))


def test_rows_changed_after_they_were_assessed_are_not_diagnosed(three):
    y, p = three
    found = assess(y, p, resamples=0)
    p[:] = 1 / 3
    with pytest.raises(
        InputError, match="the array was changed after it was assessed. Pass a copy, or ask for .verdict"
    ):
        _ = found.verdict


def test_clusters_of_an_undiagnosed_tally_are_not_counted(three):
    y, p = three
    tally = Tally.of(y, p, clusters=np.arange(N) // 4, parts=["shards"])
    assert "at least 30 clusters (a tally tells at most 1,000 clusters apart), effective number" in printed(
        assess(tally, resamples=0)
    )
    bare = printed(assess(replace(tally, diagnosis=None), resamples=0))
    assert "120 forecasts of 3 classes (0, 1, 2), clusters, effective number at least 30" in bare


@pytest.mark.slow
def test_one_sentence_joins_the_cost_and_the_divergence_probability(rng):
    s = rng.normal(0, 2, 2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-s))).astype(int)
    found = assess(y, 1 / (1 + np.exp(-1.8 * s)), resamples=0)
    cost, divergence = found.diagnosis.cost, found.divergence_probability
    sentence = (
        f"The cost of the named errors is a factor of {np.exp(-cost):.3f} (exp of minus the cost). The divergence"
        f" probability, {divergence:.3f}, compares with the calibration curve instead, at the floor 0.005."
    )
    assert sentence in averages_text(found)
    assert sentence in unescape(found.to_html())
    calibrated = assess(y, 1 / (1 + np.exp(-s)), resamples=0)
    assert "exp of minus the cost" not in averages_text(calibrated) + calibrated.to_html()
    y, p = softmax_forecasts(rng, 2000, 3, temperature=2.0)
    assert "with the calibration curve instead, pooled over the classes, at the floor" in averages_text(assess(y, p))


@pytest.mark.slow
def test_every_interval_has_the_level_that_its_label_says(rng):
    s = rng.normal(0, 2, 1200)
    a = assess(rng.random(1200) < 1 / (1 + np.exp(-s / 2)), 1 / (1 + np.exp(-s)), confidence=0.9, resamples=0)
    shown = str(a)
    assert "90% CI" in re.search(r"\n\s+value.*\n", shown).group()
    assert re.search(r"observed in \d+% \(90%\s+CI", shown)
    reach = 1.6448536269514722 * math.sqrt(a.bias.frequency * (1 - a.bias.frequency) / 1200)
    limits = re.search(r"\nObserved frequency .*?([\d.]+)% to ([\d.]+)%", shown).groups()
    expected = [100 * (a.bias.frequency - reach), 100 * (a.bias.frequency + reach)]
    assert [float(x) for x in limits] == pytest.approx(expected, abs=0.1)
    line = a.diagnosis.line
    for name, coefficient in (("slope", line.slope), ("intercept", line.intercept)):
        low, high = coefficient.metric(0.9).interval
        row = re.search(rf"\nCalibration {name} .*", shown).group().replace("\u2212", "-")
        assert f"{low:.3f} to {high:.3f}" in row
    page = re.findall(r"The small type is the (?:Wilson )?(\d+)% CI", a.to_html())
    assert len(page) > 3
    assert {*page} == {"90"}
    assert f"slope {line.slope.value:.2f}, 95% CI" in " ".join(shown.split())


def test_weighted_evidence_is_no_number_of_forecasts(rng):
    s, w = rng.normal(0, 2, 2000), rng.exponential(1, 2000)
    y, p = rng.random(2000) < 1 / (1 + np.exp(-s / 2)), 1 / (1 + np.exp(-s))
    assert re.search(r"in \d+% of forecasts of weight [\d,.]+\d\.", printed(assess(y, p, sample_weight=w, resamples=0)))


def test_a_gain_beyond_the_cost_of_the_named_errors_is_explained(rng):
    """Classes have slopes of their own, which no name is for; of one slope the cost is all that there is to gain."""
    y, n = rng.integers(0, 4, 1500), 1500
    logits = rng.normal(size=(n, 4))
    logits[np.arange(n), y] += 2
    found = []
    for factor in (np.exp([0.9, -0.9, 0.9, -0.9]), 2.0):
        p = np.exp(logits * factor)
        found.append(assess(y, p / p.sum(1, keepdims=True), resamples=0))
    own, same = (" ".join(str(each).split()) for each in found)
    assert found[0].remedy.gain.interval[0] > cost_interval(found[0]).high
    gain = number(found[0].remedy.gain.value)
    assert f"Recalibration gains more, {gain} nats, as errors that have no name here cost too." in own
    assert "gains more" not in same
