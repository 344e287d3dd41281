import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from unperplexed import InputError, decision_curve
from unperplexed.describe.decisions import benefits_chart

# dcurves 1.1.7 (Python): dca(data, "y", ["a", "b"], thresholds) on the 40 rows of `small`.
THRESHOLDS = [0.05, 0.2, 0.35, 0.5, 0.8]
NET_BENEFIT = {
    "a": [0.4776315789473684, 0.39999999999999997, 0.3173076923076923, 0.17500000000000002, 0.175],
    "b": [0.475, 0.3875, 0.27307692307692305, 0.22499999999999998, 0.325],
    "all": [0.47368421052631576, 0.375, 0.23076923076923078, 0.0, -1.5000000000000004],
}
AVOIDED = {
    "a": [0.07500000000000023, 0.09999999999999987, 0.16071428571428567, 0.17500000000000002, 0.41875],
    "b": [0.025000000000000074, 0.050000000000000044, 0.0785714285714285, 0.22499999999999998, 0.45625],
}


@pytest.fixture
def small():
    i = np.arange(40)
    p = ((7 * i + 3) % 41) / 41.0
    return (((11 * i) % 17) / 17.0 < p).astype(int), p


def calibrated(rng, n):
    p = rng.beta(1, 3, n)
    return (rng.random(n) < p).astype(int), p


def test_equal_to_dcurves(small):
    y, p = small
    curve = decision_curve(y, {"a": p, "b": np.sqrt(p)}, thresholds=THRESHOLDS)
    for name, expected in NET_BENEFIT.items():
        assert curve.rules[name].net_benefit == pytest.approx(expected, abs=1e-12)
    for name, expected in AVOIDED.items():
        assert curve.models[name].avoided == pytest.approx(expected, abs=1e-12)
    assert (curve.none.net_benefit == 0).all()
    assert (curve.all.avoided == 0).all()


# The example of R's dcurves, dca(cancer ~ famhistory, df_binary), as its results are kept with the Python package
# (github.com/MSKCC-Epi-Bio/dcurves, dcurves/data/r_dca_famhistory.csv and dca_tutorial_interventions_vals.csv): 750
# patients, 105 with cancer; 24 of these and 91 others have a family history, which is taken as a probability of 1.
PUBLISHED = {
    0.05: (0.025614035087719297, 0.09473684210526317, -180.00000000000003),
    0.1: (0.018518518518518517, 0.04444444444444445, -40),
    0.13: (0.01386973180076628, 0.011494252873563232, -7.692307692307701),
    0.2: (0.0016666666666666635, -0.07499999999999998, 29.999999999999993),
    0.3: (-0.02000000000000001, -0.2285714285714286, 53.333333333333336),
    0.35: (-0.033333333333333354, -0.32307692307692315, 60),
}


def test_equal_to_the_published_example_of_dcurves():
    cancer, history = np.repeat([1, 1, 0, 0], [24, 81, 91, 554]), np.repeat([1, 0, 1, 0], [24, 81, 91, 554])
    curve = decision_curve(cancer, history, thresholds=[*PUBLISHED])
    model, everyone, avoided = (np.array(column) for column in zip(*PUBLISHED.values(), strict=True))
    assert curve.models["model"].net_benefit == pytest.approx(model, abs=1e-15)
    assert curve.all.net_benefit == pytest.approx(everyone, abs=1e-15)
    assert 100 * curve.none.avoided == pytest.approx(avoided, abs=1e-12)
    assert curve.models["model"].true_positives == pytest.approx(np.full(6, 0.032), abs=1e-15)


def test_perfect_forecasts_have_the_largest_net_benefit(rng):
    y = rng.integers(0, 2, 50)
    perfect = decision_curve(y, y.astype(float)).models["model"]
    assert perfect.net_benefit == pytest.approx(np.full(99, y.mean()))
    assert perfect.standardized == pytest.approx(np.ones(99))
    assert perfect.avoided == pytest.approx(np.full(99, 1 - y.mean()))


def test_calibrated_forecasts_are_never_worse_than_all_or_none(rng):
    y, p = calibrated(rng, 200_000)
    curve = decision_curve(y, p)
    model = curve.models["model"]
    assert (model.high >= np.maximum(curve.all.net_benefit, 0)).all()
    assert model.useful[9:50].all()
    biased = decision_curve(y, np.sqrt(p)).models["model"]
    assert (biased.net_benefit[:60] <= model.high[:60]).all()
    assert (biased.net_benefit[19:50] < model.low[19:50]).all()


def test_intervals_contain_the_truth_about_as_often_as_they_claim(rng):
    at = np.array([0.05, 0.2, 0.6])
    odds, p = at / (1 - at), rng.beta(1, 3, 200_000)
    acted = p[:, None] >= at
    benefit = (p[:, None] * acted).mean(axis=0) - odds * ((1 - p)[:, None] * acted).mean(axis=0)
    avoided = ((1 - p)[:, None] * ~acted).mean(axis=0) - (p[:, None] * ~acted).mean(axis=0) / odds
    hits = np.zeros((2, 3))
    for _ in range(100):
        found = decision_curve(*calibrated(rng, 300), thresholds=at).models["model"]
        hits[0] += (found.low <= benefit) & (benefit <= found.high)
        hits[1] += (found.avoided_low <= avoided) & (avoided <= found.avoided_high)
    assert (hits / 100 >= 0.87).all()
    assert (hits / 100 <= 0.999).all()


def test_no_false_positive_is_no_proof_of_none(rng):
    y, p = np.r_[np.ones(20, int), np.zeros(980, int)], np.r_[np.full(20, 0.97), np.full(980, 0.01)]
    model = decision_curve(y, p, thresholds=[0.95]).models["model"]
    assert model.net_benefit[0] == pytest.approx(0.02)
    assert model.low[0] < 0 < model.high[0]  # 3 false positives in 1000 rows would cost 0.057
    assert not model.useful[0]


def test_weights_are_numbers_of_rows_and_clusters_of_copies_are_single_rows(small):
    y, p = small
    weight = np.arange(40) % 3 + 1
    found = decision_curve(y, p, sample_weight=weight, thresholds=THRESHOLDS).models["model"]
    twice = decision_curve(np.repeat(y, weight), np.repeat(p, weight), thresholds=THRESHOLDS).models["model"]
    assert found.net_benefit == pytest.approx(twice.net_benefit)
    assert found.standardized == pytest.approx(twice.standardized)
    single = decision_curve(y, p, clusters=np.arange(40), thresholds=THRESHOLDS).models["model"]
    copies = decision_curve(
        *(np.repeat(x, 3) for x in (y, p)), clusters=np.repeat(np.arange(40), 3), thresholds=THRESHOLDS
    )
    assert copies.n_clusters == 40
    for end in ("low", "high", "standardized_low", "avoided_low", "avoided_high"):
        assert getattr(copies.models["model"], end) == pytest.approx(getattr(single, end), rel=1e-9)


def test_recalibrated_probabilities_stand_beside(small):
    y, p = small
    curve = decision_curve(y, np.sqrt(p), recalibrated=p, thresholds=THRESHOLDS)
    assert list(curve.models) == ["model", "recalibrated"]
    assert curve.models["recalibrated"].net_benefit == pytest.approx(NET_BENEFIT["a"])
    both = decision_curve(y, {"a": p, "b": np.sqrt(p)}, recalibrated={"b": p}, thresholds=THRESHOLDS)
    assert list(both.models) == ["a", "b", "b recalibrated"]
    with pytest.raises(InputError, match=r"recalibrated: expected no 'c'; they are 'a', 'b'"):
        decision_curve(y, {"a": p, "b": p}, recalibrated={"c": p})
    with pytest.raises(InputError, match="recalibrated: expected a mapping"):
        decision_curve(y, {"a": p, "b": p}, recalibrated=p)


def test_every_form_has_the_same_figures(small):
    y, p = small
    curve = decision_curve(y, p, thresholds=THRESHOLDS)
    model = curve.models["model"]
    frame = curve.frame().filter(rule="model")
    assert frame["net_benefit"].to_list() == model.net_benefit.tolist()
    read = json.loads(curve.to_json())
    assert read["models"]["model"]["low"] == model.low.tolist()
    assert "0.400" in str(curve)
    ax = curve.plot(Figure().subplots())
    assert model.net_benefit.tolist() in [list(line.get_ydata()) for line in ax.lines]
    assert curve.plot(Figure().subplots(), standardized=True).get_ylabel().startswith("Standardized net benefit")
    assert repr(curve) == "<DecisionCurve of model at 5 thresholds>"


def test_text_names_the_useful_thresholds(rng):
    y, p = calibrated(rng, 20_000)
    first = str(decision_curve(y, p, thresholds=[0.1, 0.2, 0.3])).splitlines()[0]
    assert first == "The model is significantly better than acting on all rows and on none at"
    noise = str(decision_curve(y, rng.random(20_000), thresholds=[0.5]))
    assert noise.startswith("The model is at no threshold significantly better than both")


@pytest.mark.parametrize("thresholds", [[0], [1.0], [0.5, np.nan], "x", []])
def test_thresholds_are_inside_0_and_1(thresholds):
    with pytest.raises(InputError, match="thresholds: expected probabilities between 0 and 1"):
        decision_curve([0, 1], [0.2, 0.6], thresholds=thresholds)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="needs two classes, got 3"):
        decision_curve([0, 1, 2], np.eye(3))
    with pytest.raises(InputError, match="'all' names the rule"):
        decision_curve([0, 1], {"all": [0.2, 0.6], "b": [0.2, 0.6]})
    with pytest.raises(InputError, match="above 1"):
        decision_curve([0, 1], [0.2, 6])


def test_bands_of_many_models_are_left_out_of_the_picture(small):
    """More than three on one another cannot be told apart; each line keeps its name."""
    y, p = small
    curve = decision_curve(y, {name: p**power for name, power in zip("abcde", (1, 1.2, 1.4, 0.8, 0.6), strict=True)})
    ax = curve.plot(Figure().subplots())
    assert len(ax.collections) == 3
    assert {*"abcde"} <= {text.get_text() for text in ax.texts}


def test_bands_end_where_nobody_is_acted_on(small):
    y, p = small
    curve = decision_curve(y, p * 0.5, thresholds=[0.2, 0.6, 0.7])
    rule = curve.models["model"]
    assert rule.acted_on[1] == 0
    low, high = rule.band(rule.low, rule.high)
    assert np.isfinite(low[0])
    assert np.isnan([low[1:], high[1:]]).all()


def test_a_range_of_thresholds_is_drawn_alone(small):
    y, p = small
    part = decision_curve(y, p, thresholds=np.linspace(0.05, 0.3, 11))
    assert part.plot(Figure().subplots()).get_xlim() == pytest.approx((0, 0.3))
    chart = benefits_chart(part)
    assert chart.x.high == pytest.approx(0.3)
    assert benefits_chart(decision_curve(y, p)).x.high == 1


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize("thresholds", [[0.01, 0.3, 0.8], [0.05, 0.1], [0.9, 0.95]])
def test_acting_on_all_is_drawn_down_to_the_frame(small, thresholds, standardized):
    curve = decision_curve(*small, thresholds=thresholds)
    chart = benefits_chart(curve, standardized=standardized)
    lines = [line for line in chart.lines if line.name == "all"]
    assert len(lines) == (thresholds[0] < 0.9)
    rate, scale = curve.frequency, curve.frequency if standardized else 1
    for line in lines:
        assert line.x.size > 1
        assert line.y == pytest.approx((rate - (1 - rate) * line.x / (1 - line.x)) / scale)
        assert line.y[-1] == pytest.approx(chart.y.low) or line.x[-1] == thresholds[-1]
        assert line.x.max() <= thresholds[-1]
