import copy
import dataclasses
import inspect
import json
import math
import pickle
import re
from html import escape

import numpy as np
import polars as pl
import pytest

import unperplexed
from helpers import averages_text, softmax_forecasts, without_dependence
from unperplexed import (
    ESTIMATORS,
    Forecasts,
    InputError,
    Tally,
    assess,
    assess_by,
    calibration_test,
    compare,
    compare_sequentially,
    diagnose,
)
from unperplexed.calibration.estimators import isotonic
from unperplexed.forecasts.reading import Reading, RowReading
from unperplexed.results import Assessment

HOSTILE = "</pre><b>"


@pytest.fixture
def forecasts(rng):
    return softmax_forecasts(rng, 1000, 3, temperature=1.5)


@pytest.fixture
def result(forecasts):
    return assess(*forecasts, resamples=40)


def test_headline_figures_by_hand():
    p = np.array([0.9, 0.9, 0.9, 0.9, 0.2])
    y = np.array([1, 1, 1, 0, 0])
    result = assess(y, p, measured="equal-width:bins=10")
    correct = np.array([0.9, 0.9, 0.9, 0.1, 0.8])
    # Pairs: .9 x4 (3 happened), .1 x4 (1), .2 (0), .8 (1); width-.1 bins hold one value each.
    measured = np.array([0.75, 0.75, 0.75, 0.25, 1.0])
    for values, means in ((correct, result.reported), (measured, result.measured)):
        assert means.decisiveness == pytest.approx(values.mean(), rel=1e-14)
        assert means.geometric_accuracy == pytest.approx(np.exp(np.log(values).mean()), rel=1e-14)
        assert means.robustness == pytest.approx(np.mean(values ** (-2 / 3)) ** -1.5, rel=1e-14)
    assert result.prediction_accuracy == 0.8
    assert result.averages_slope == pytest.approx(result.measured.spread / result.reported.spread, rel=1e-15)
    assert math.tan(math.radians(result.orientation)) == pytest.approx(1 / result.averages_slope, rel=1e-12)
    assert result.divergence_probability == pytest.approx(
        result.reported.geometric_accuracy / result.measured.geometric_accuracy, rel=1e-15
    )


def test_bin_table_by_hand():
    result = assess([1, 1, 0, 0], [0.8, 0.6, 0.7, 0.1], view="all-classes", measured="equal-width:bins=2")
    bins = result.bins
    # Pairs below 1/2: .2 .4 .3* .1 ; above: .8* .6* .7 .9* (* happened).
    assert bins.lowest == pytest.approx([0.1, 0.6])
    assert bins.highest == pytest.approx([0.4, 0.9])
    assert bins.mean_reported == pytest.approx([0.25, 0.75])
    assert bins.happened.tolist() == [1, 3]
    assert bins.total.tolist() == [4, 4]
    assert bins.measured.tolist() == [0.25, 0.75]
    assert bins.decisiveness == pytest.approx([0.3, (0.8 + 0.6 + 0.9) / 3])
    assert bins.geometric_accuracy == pytest.approx([0.3, (0.8 * 0.6 * 0.9) ** (1 / 3)])
    for mean in ("decisiveness", "geometric_accuracy", "robustness"):  # each bin is one step
        assert getattr(bins, f"measured_{mean}") == pytest.approx(bins.measured)
    assert bins.contribution == pytest.approx([np.log(0.3) / 4, np.log(0.8 * 0.6 * 0.9) / 4])


@pytest.mark.parametrize("estimator", ["kernel", "nearest-neighbors", "isotonic"])
def test_measured_means_of_the_bins_make_those_of_the_whole(rng, estimator):
    """The mean of order 1 by events, and of order 0 by their logarithms."""
    p = rng.random(300)
    result = assess(rng.random(300) < p**1.5, p, view="all-classes", measured=estimator, resamples=0)
    share, there = result.bins.happened / result.bins.happened.sum(), result.bins.happened > 0
    decisive, geometric = (getattr(result.bins, f"measured_{name}") for name in ("decisiveness", "geometric_accuracy"))
    assert share[there] @ decisive[there] == pytest.approx(result.measured.decisiveness)
    assert np.exp(share[there] @ np.log(geometric[there])) == pytest.approx(result.measured.geometric_accuracy)
    assert (result.bins.measured_robustness[there] <= geometric[there]).all()


def test_bins_of_two_classes_by_hand():
    """They are those of the positive class; only the contributions are of both."""
    bins = assess([1, 1, 0, 0], [0.8, 0.6, 0.7, 0.1], measured="equal-width:bins=2").bins
    # Pairs of the positive class: .1 ; .8* .6* .7 (* happened). Those of the other: .2 .4 .3* ; .9*.
    assert bins.label == ()
    assert bins.lowest == pytest.approx([0.1, 0.6])
    assert bins.highest == pytest.approx([0.1, 0.8])
    assert bins.mean_reported == pytest.approx([0.1, 0.7])
    assert bins.happened.tolist() == [0, 2]
    assert bins.total.tolist() == [1, 3]
    assert bins.measured == pytest.approx([0, 2 / 3])
    assert bins.decisiveness == pytest.approx([np.nan, 0.7], nan_ok=True)
    assert bins.geometric_accuracy == pytest.approx([np.nan, 0.48**0.5], nan_ok=True)
    assert bins.contribution == pytest.approx([np.log(0.9) / 4, np.log(0.8 * 0.6 * 0.3) / 4])


@pytest.mark.parametrize("measured", sorted(ESTIMATORS))
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_contributions_of_two_classes_sum_to_the_log_of_the_accuracy(rng, measured, exact_limit):
    y, p = softmax_forecasts(rng, 2000, 2)
    result = assess(Tally.of(y, p, exact_limit=exact_limit), measured=measured)
    assert result.view == "each-class"
    # Cells of both classes, and of the positive class alone, have means that differ in their last digits.
    rel = 1e-12 if exact_limit else 1e-9
    assert result.bins.contribution.sum() == pytest.approx(np.log(result.reported.geometric_accuracy), rel=rel)
    assert result.bins.happened.sum() == y.sum()
    assert result.bins.total.sum() == 2000
    assert (result.bins.lowest[1:] > result.bins.highest[:-1]).all()


@pytest.mark.parametrize("measured", sorted(ESTIMATORS))
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_contributions_sum_to_the_log_of_the_accuracy(rng, measured, exact_limit):
    y, p = softmax_forecasts(rng, 2000, 5)
    result = assess(Tally.of(y, p, exact_limit=exact_limit), measured=measured)
    assert result.bins.contribution.sum() == pytest.approx(np.log(result.reported.geometric_accuracy), rel=1e-12)
    assert result.bins.happened.sum() == 2000
    assert result.bins.total.sum() == 10_000
    assert (result.bins.lowest[1:] > result.bins.highest[:-1]).all()
    assert result.distribution.share.sum() == pytest.approx(1)


@pytest.mark.slow
def test_rows_and_tally_give_the_same(rng):
    y, p = softmax_forecasts(rng, 500, 2, temperature=1.5)
    assert assess(y, p).diagnosis.errors == ("confidence",)
    counted, whole = assess(Tally.of(y, p), resamples=40), assess(y, p, resamples=40)
    assert without_dependence(counted) == without_dependence(whole)


@pytest.mark.slow
def test_rows_and_a_tally_of_three_classes_give_the_same_but_for_the_verdict(rng):
    """With more than two classes that of a tally is made from sums; it says what these do not tell."""
    y, p = softmax_forecasts(rng, 500, 3)
    counted, whole = assess(Tally.of(y, p), resamples=40), assess(y, p, resamples=40)
    assert whole.diagnosis.made
    assert (whole.diagnosis.by, counted.diagnosis.by) == ("rows", "sums")
    assert counted.diagnosis.headline == whole.diagnosis.headline
    assert counted.diagnosis.p_value == pytest.approx(whole.diagnosis.p_value, abs=2e-3)
    assert "From counts: " in " ".join(str(counted).split())
    assert "From counts: " not in " ".join(str(whole).split())
    plain = [without_dependence(each) for each in (counted, whole)]
    for each in plain:
        del each["verdict"], each["diagnosis"]
    assert plain[0] == plain[1]


def test_a_tally_takes_no_arguments_for_rows():
    tally = Tally.of([1, 0], [0.6, 0.3])
    for arguments in (
        {"y_prob": [0.5, 0.5]},
        {"sample_weight": [1, 1]},
        {"labels": [0, 1]},
        {"invalid": "rescale"},
        {"reference": "base-rate"},
        {"n_jobs": 2},
    ):
        name = next(iter(arguments))
        with pytest.raises(InputError, match=f"{name}: a tally's rows"):
            assess(tally, **arguments)


def test_top_label_view(rng):
    y, p = softmax_forecasts(rng, 2000, 4)
    result = assess(y, p, view="top-label", measured="equal-width:bins=10")
    top, hit = p.max(axis=1), p.argmax(axis=1) == y
    index = np.minimum((top * 10).astype(int), 9)
    expected = [hit[index == b].mean() for b in np.unique(index)]
    assert result.bins.measured == pytest.approx(expected)
    assert result.bins.total.sum() == 2000
    for value in (
        result.averages_slope,
        result.divergence_probability,
        result.orientation,
        result.measured.decisiveness,
    ):
        assert math.isnan(value)
    assert result.reported == assess(y, p).reported
    assert "none in this view" in averages_text(result)
    assert result.diagnosis == assess(y, p).diagnosis  # it does not depend on the view
    assert str(result).startswith("No evidence of miscalibration (n = 2,000, p = ")


def test_isotonic_top_label_uses_the_rows_top_class():
    result = assess([0, 1], [[0.7, 0.3], [0.6, 0.4]], view="top-label")
    expected = isotonic.measure(np.array([0.6, 0.7]), np.array([0.0, 1]), np.array([1.0, 1]))
    assert result.bins.measured.tolist() == expected.measured.tolist()


def test_slope_is_nan_when_all_reported_are_equal():
    result = assess([1, 0], [0.5, 0.5])
    assert math.isnan(result.averages_slope)
    assert math.isnan(result.orientation)
    assert "reported means are all equal" in averages_text(result)


def test_rounding_is_no_spread():
    """Every correct-class probability is 0.1, once as given and once as 1 - 0.9: nothing to draw a slope through."""
    result = assess([1, 0] * 50, [0.1, 0.9] * 50)
    assert math.isnan(result.averages_slope)
    assert math.isnan(assess([1, 0], [0.5, 0.5]).orientation)


def test_equal_measured_means_are_no_overconfidence():
    result = assess([1, 1], [0.8, 0.7], measured="isotonic")
    assert "measured means are all equal" in averages_text(result)
    assert "overconf" not in str(result)


def test_assessments_can_be_compared_and_hashed(result):
    assert result == result  # noqa: PLR0124
    assert result != assess([1, 0], [0.6, 0.3])
    assert len({result, result}) == 1


def test_limit_both():
    result = assess([1, 0], [1.0, 1.0], floor=(0.1, 0.9))
    assert result.reported.decisiveness == pytest.approx((0.9 + 0.1) / 2)
    assert "below 0.1 are raised to it, those above 0.9 lowered to it" in averages_text(result)


def test_infinite_log_loss_is_explained():
    result = assess([1, 1], [0.0, 0.5])
    assert result.scores["log_loss"] == np.inf
    assert result.zero_given == 1
    assert "1 row assigned 0" in str(result)
    assert json.loads(result.to_json())["scores"]["log_loss"] == "Infinity"


def test_it_is_frozen(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.averages_slope = 1.0
    for array in (result.bins.measured, result.profile.values, result.profile.orders, result.distribution.share):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.slow
def test_it_can_be_pickled_and_copied(result):
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert again.to_json() == result.to_json()


@pytest.mark.slow
def test_a_copy_keeps_the_verdict_of_the_rows_it_leaves_behind(rng):
    """Also of an assessment that nobody has asked for its verdict before."""
    y, p = softmax_forecasts(rng, 1000, 3, temperature=1.5)
    verdict = assess(y, p).verdict
    assert verdict.startswith("Overconfident (temperature 1.")
    for again in (pickle.loads(pickle.dumps(assess(y, p))), copy.deepcopy(assess(y, p))):
        assert again.verdict == verdict
        assert again.diagnosis.findings[0].error == "confidence"
        assert pickle.loads(pickle.dumps(again)).verdict == verdict


SETTINGS = [
    {"floor": 0.05},
    {"measured": "equal-width:bins=4"},
    {"seed": 3, "resamples": 0},
    {"floor": (0.005, 0.995)},
    {"view": "top-label"},
    {"view": "all-classes"},
    {"confidence": 0.5},
]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_verdict_does_not_depend_on_settings(rng, classes, settings):
    y, p = softmax_forecasts(rng, 1000, classes, temperature=1.5)
    first = assess(y, p).diagnosis
    assert first.errors == ("confidence",)
    assert assess(y, p, **settings).diagnosis == first


@pytest.mark.slow
@pytest.mark.parametrize(("temperature", "word"), [(1.6, "Overconfident"), (0.6, "Underconfident")])
@pytest.mark.parametrize("classes", [2, 3])
def test_text_and_card_begin_with_the_verdict_its_cost_and_its_remedy(rng, temperature, word, classes):
    result = assess(*softmax_forecasts(rng, 3000, classes, temperature=temperature), resamples=0)
    verdict, actions = (" ".join(part.split()) for part in str(result).split("\n\n")[:2])
    cost, _, remedy = actions.partition("Remedy ")
    slope = 1 + result.diagnosis.findings[0].parameter
    assert slope == pytest.approx(1 / temperature, rel=0.12)
    named = f"temperature {1 / slope:.2f} alone" if classes > 2 else f"calibration slope {slope:.2f}"
    assert verdict.startswith(f"{word} ({named}, 95% CI ")
    assert re.match(rf"Cost Miscalibration causes [\d.]+% of the log loss: {result.diagnosis.cost:.3f} of ", cost)
    assert remedy.startswith("Recalibration (")
    name, factor = re.search(r"mainly .*?(temperature|slope) ([\d.]+)", remedy).groups()
    assert float(factor) == pytest.approx(1 / slope if name == "temperature" else slope, rel=0.02)
    card = result._repr_html_()
    assert (
        card.index(result.verdict)
        < card.index("Miscalibration causes")
        < card.index("What to do")
        < card.index("<thead>")
    )


def test_every_way_of_reading_rows_is_an_argument_that_tallies_refuse():
    """assess takes what Forecasts takes; a tally, whose rows are counted, takes none of it."""
    of_parts = {
        "whole",
        "first_row",
        "known_labels",
        "clusters",
        "source",
        "names",
    }  # a reader of files says these, not a user
    reading = set(inspect.signature(Forecasts.__init__).parameters) - {"self", "y_true"} - of_parts
    of_files = {"y_prob", "sample_weight"}  # which files have in columns: prob and weight
    assert reading - of_files == set(Reading.__annotations__)
    assert set(RowReading.__annotations__) == reading - {"y_prob"} | {"clusters"}
    assert set(RowReading.__annotations__) <= set(inspect.signature(assess).parameters)
    for name in reading:
        with pytest.raises(InputError, match=f"{name}: a tally's rows"):
            assess(Tally.of([1, 0], [0.6, 0.3]), **{name: True})


@pytest.mark.slow
def test_dictionary_and_json_have_the_attributes_names(result, forecasts):
    names = {field.name for field in dataclasses.fields(Assessment)} - {"_source", "surprises"}
    names |= {"uncertainty", "profile", "measured_profile", "divergence_profile"}
    names |= {"verdict", "cost", "diagnosis", "remedy", "classes", "class_average", "predicted"}
    names |= {
        "slope",
        "intercept",
        "ece",
        "auc",
        "average_precision",
        "ece_by_chance",
        "reference_scores",
        "certain_rows",
    }
    parsed = json.loads(result.to_json())
    assert {"schema", *result.to_dict()} == {"schema", *names} == set(parsed)
    assert parsed["reported"]["robustness"] == result.reported.robustness
    assert parsed["averages_slope"] == result.averages_slope
    assert parsed["verdict"] == parsed["diagnosis"]["verdict"] == result.verdict
    assert parsed["diagnosis"]["findings"][0]["error"] == "confidence"
    assert parsed["profile"]["values"] == result.profile.values.tolist()
    assert parsed["floor"] == pytest.approx(0.01 / 3, rel=1e-15)
    assert parsed["floor_sensitivity"][2]["floor"] == 0.005
    at_that = json.loads(assess(*forecasts, floor=0.005, resamples=0).to_json())
    assert parsed["floor_sensitivity"][2] == {"floor": 0.005, **at_that["reported"]}
    assert json.loads(assess([1, 0], [0.5, 0.5]).to_json())["averages_slope"] == "NaN"


def test_numpy_scalars_as_settings():
    result = assess(
        [1, 0], [0.6, 0.3], floor=np.float32(0.01), measured=ESTIMATORS["equal-population"](bins=np.int64(2))
    )
    assert json.loads(result.to_json())["estimator_settings"] == {"bins": 2}


@pytest.mark.slow
def test_frames(result):
    assert result.frame().to_dicts() == [result.metrics()]
    assert result.frame("bins").height == len(result.bins)
    assert result.frame("profile").height == 121
    assert result.frame("floors")["floor"].to_list() == [0.05, 0.01, 0.005, 0.001, 0]
    assert pl.concat([result.frame(), result.frame()]).height == 2
    with pytest.raises(InputError, match="what:"):
        result.frame("everything")


@pytest.mark.slow
def test_narrow_intervals_have_four_decimals():
    """Three would say that the truth is known to 0.001."""
    rows = 500_000
    p = np.repeat([0.3, 0.8], rows // 2)
    text = str(assess(np.random.default_rng(1).random(rows) < p, p, resamples=0))
    value, low, high = re.search(r"Accuracy +(\S+) +(\S+) to (\S+)", text).groups()
    assert [len(each) for each in (value, low, high)] == [6, 6, 6]  # in percent, with its sign
    assert low < value < high
    assert max(map(len, text.splitlines())) <= 80


def test_text_fits_a_terminal(rng):
    y, p = softmax_forecasts(rng, 300, 3)
    for settings in ({}, {"view": "top-label"}, {"measured": "equal-population:bins=7", "floor": (0.01, 0.99)}):
        text = str(assess(y, p, sample_weight=rng.uniform(size=300), resamples=40, **settings))
        assert max(map(len, text.splitlines())) <= 80
        assert "\n\n\n" not in text


def test_notes_are_printed():
    result = assess([1, 0, 2, 1], [0.5, np.nan, 0.4, 0.7], ignore_label=2, invalid="drop")
    assert "1 row left out: outcome to be ignored" in str(result)
    assert "1 row dropped: no probability (empty or NaN)" in str(result)
    assert "1 row dropped: no probability (empty or NaN)" in result._repr_html_()
    assert result.to_dict()["notes"]["dropped"] == {"NaN": 1}


def test_results_name_themselves_in_a_line(rng):
    """In angle brackets, as what cannot be typed back in; a console would be flooded by all that is in them."""
    y, p = softmax_forecasts(rng, 1234, 3)
    result = assess(y, p, resamples=40)
    accuracy = f"{result.reported.geometric_accuracy:.3f}"
    assert repr(result) == f"<Assessment of 1,234 forecasts of 3 classes: geometric accuracy {accuracy}>"
    by = assess_by(y, p, by={"team": [HOSTILE] * 600 + ["b"] * 634}, resamples=0)
    assert repr(by) == "<Breakdown of 1,234 forecasts into 2 groups by team>"
    tally = Tally.of(y, p)
    assert repr(tally) == "<Tally of 1,234 forecasts of 3 classes>"
    comparison = compare(y, {"x" * 1000: p, "flat\n": np.full_like(p, 1 / 3)})
    sequential = compare_sequentially(y, {"x" * 1000: p, "flat\n": np.full_like(p, 1 / 3)})
    for each in (
        result, by, tally, comparison, sequential, result.profile, result.bins, result.curve, result.uncertainty,
        by.groups[0],
    ):  # fmt: skip
        assert len(repr(each)) < 200
        assert "\n" not in repr(each)


def test_the_card_of_groups_escapes_their_names():
    card = assess_by([1, 0, 1], [0.5, 0.6, 0.7], by=[HOSTILE, "a", "a"], resamples=0)._repr_html_()
    assert HOSTILE not in card
    assert escape(HOSTILE) in card


@pytest.mark.slow
def test_notebook_card_escapes_what_it_shows(result):
    card = dataclasses.replace(result, estimator="<script>alert(1)</script>")._repr_html_()
    assert "<script" not in card
    assert "Brier score" in card


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measured": "histogram"}, "measured: expected one of equal-population"),
        ({"view": "each"}, "view: expected one of"),
        ({"floor": -0.1}, "floor"),
        ({"floor": 1.1}, "floor"),
        ({"floor": (0.01, 0.9)}, "floor: expected one number, or two of which the second is 1 minus the first"),
        ({"floor": (0.6, 0.4)}, "floor: expected a probability from 0 to 0.5"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        assess([1, 0], [0.6, 0.3], **settings)


@pytest.mark.parametrize("orders", [[], [[0, 1]], [np.nan]])
def test_orders_of_no_profile_are_refused(result, orders):
    with pytest.raises(InputError, match="orders: expected at least one order"):
        result.risk_profile(orders)


def test_the_profile_at_other_orders_is_that_of_the_rows(rng):
    y, p = softmax_forecasts(rng, 300, 2)
    for floor in (0.005, 0.0, (0.01, 0.99)):
        found, expected = (make.risk_profile for make in (assess(y, p, floor=floor, resamples=0), unperplexed))
        mine, theirs = found([-2, 0, 1.5]), expected(y, p, orders=[-2, 0, 1.5], floor=floor)
        assert mine.orders.tolist() == theirs.orders.tolist() == [-2, 0, 1.5]
        np.testing.assert_allclose(mine.values, theirs.values, rtol=1e-12)
        np.testing.assert_allclose(mine.standard_errors, theirs.standard_errors, rtol=1e-9)


def test_rows_that_share_either_of_two_columns_are_for_other_functions():
    y, p, match, day = [1, 0, 1, 0], [0.6, 0.3, 0.8, 0.2], [1, 1, 2, 2], ["a", "b", "a", "b"]
    told = "rows that share either of two columns are for compare and skill; rows that share all: a mapping or a data"
    for function in (assess, calibration_test, diagnose, Tally.of):
        with pytest.raises(InputError, match=told):
            function(y, p, clusters=[match, day])
    together = assess(y, p, clusters={"match": match, "day": day}, resamples=0)
    assert together.metrics() == assess(y, p, clusters=list(zip(match, day, strict=True)), resamples=0).metrics()
    assert "independent rows, as each is a cluster of its own" in " ".join(str(together).split())


def test_nothing_to_assess():
    for arguments in (([], []), ([], np.empty((0, 3)))):
        with pytest.raises(InputError, match="no rows to assess"):
            assess(*arguments)
    with pytest.raises(InputError, match="no rows to assess"):
        assess(Tally())
    with pytest.raises(InputError, match="all 2 were left out"):
        assess([1, 0], [np.nan, np.nan], invalid="drop")
    with pytest.raises(InputError, match="y_prob: missing"):
        assess([1, 0])


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="flor"):
        assess([1, 0], [0.6, 0.3], flor=0.01)
    with pytest.raises(TypeError, match="flor"):
        Tally.of([1, 0], [0.6, 0.3], flor=0.01)


@pytest.mark.parametrize("view", ["all-classes", "each-class"])
def test_weights_as_far_apart_as_they_may_be(view):
    result = assess([1, 0, 1], [0.3, 0.6, 0.8], sample_weight=[1e-99, 1e99, 1], view=view)
    assert result.reported.geometric_accuracy == pytest.approx(0.4)


@pytest.mark.parametrize("low", [-320, -60, -45])
def test_averages_of_outcomes_that_share_the_lowest_cell_come_with_a_warning(rng, low):
    p = 10.0 ** rng.uniform(low, low + 1, 1000)
    cells, exact = (Tally.of(np.ones(p.size, int), p, exact_limit=limit) for limit in (0, 1 << 16))
    (said,) = [text for text in assess(cells, floor=0.0, resamples=0).uncertainty.warnings if "share a cell" in text]
    assert f"from {p.min():.2g} to {p.max():.2g} occurred" in said
    for tally, floor in ((exact, 0.0), (cells, float(p.max()))):
        assert "share a cell" not in str(assess(tally, floor=floor, resamples=0).uncertainty.warnings)
    logs = np.log(p)
    assert assess(exact, floor=0.0, resamples=0).reported.geometric_accuracy == pytest.approx(
        np.exp(logs.mean()), rel=1e-3
    )
    assert cells.score("log_loss") == pytest.approx(-logs.mean(), rel=1e-12)


def test_a_value_that_comes_often_counts_as_often_between_two_probabilities():
    found = assess([1, 0, 1, 1, 0], [0.6, 0.6, 0.6, 0.8, 0.1], resamples=0).observed(0.5, 0.9)
    assert found[:5] == pytest.approx((4, 0.6, 0.8, 0.65, 0.75))
