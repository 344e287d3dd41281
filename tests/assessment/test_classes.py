"""The each-class view: its figures, its tables of classes, and their laws."""

import dataclasses
import json
import math
import re
from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import softmax_forecasts, without_dependence
from unperplexed import ESTIMATORS, Forecasts, InputError, Tally, assess
from unperplexed.statistics import generalized_mean
from unperplexed.tally.tally import EXACT_LIMIT
from unperplexed.theory import ClassParameters, TwoClassModel

EACH = {"view": "each-class"}
PARTS = ("classes", "predictions")


def by_label(table):
    """Columns of a table in the order of the classes."""
    order = np.argsort(table.index)
    return {f.name: np.asarray(getattr(table, f.name))[order] for f in fields(table) if f.name != "label"}


def assert_same_tables(a, b, rel):
    for name, column in by_label(a).items():
        assert by_label(b)[name] == pytest.approx(column, rel=rel, abs=1e-12, nan_ok=True), name


@pytest.fixture
def result(rng):
    return assess(*softmax_forecasts(rng, 1000, 5, temperature=1.5), measured="isotonic", **EACH)


def test_figures_by_hand():
    """Two probabilities for each class; every bin of width 1/2 holds one of them."""
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    p = np.array([[0.8, 0.2]] * 4 + [[0.3, 0.7]] * 4)
    result = assess(y, p, measured="equal-width:bins=2", floor=0, **EACH)
    reported = np.array([0.8] * 3 + [0.2] + [0.7] * 3 + [0.3])
    measured = np.array([0.75] * 3 + [0.25] + [0.75] * 3 + [0.25])
    for values, means in ((reported, result.reported), (measured, result.measured)):
        assert means.decisiveness == pytest.approx(values.mean())
        assert means.geometric_accuracy == pytest.approx(np.exp(np.log(values).mean()))
        assert means.robustness == pytest.approx(np.mean(values ** (-2 / 3)) ** -1.5)
    assert result.averages_slope == pytest.approx(result.measured.spread / result.reported.spread)
    table = by_label(result.classes)
    assert table["happened"].tolist() == [4, 4]
    assert table["frequency"].tolist() == [0.5, 0.5]
    assert table["mean_reported"] == pytest.approx([0.55, 0.45])
    assert table["gap"] == pytest.approx([0.05, -0.05])
    assert table["reported_decisiveness"] == pytest.approx([0.675, 0.575])
    assert table["reported_geometric_accuracy"] == pytest.approx([(0.8**3 * 0.3) ** 0.25, (0.7**3 * 0.2) ** 0.25])
    assert table["measured_decisiveness"] == pytest.approx([0.625, 0.625])
    assert table["measured_geometric_accuracy"] == pytest.approx([(0.75**3 * 0.25) ** 0.25] * 2)
    assert table["calibration_error"] == pytest.approx([0.05, 0.05])
    assert table["loss"] == pytest.approx(
        [np.log(0.75**3 * 0.25 / (a**3 * b)) / 8 for a, b in ((0.8, 0.3), (0.7, 0.2))]
    )
    assert result.classes.label == (1, 0)
    predicted = by_label(result.predicted)
    assert predicted["predicted"].tolist() == [4, 4]
    assert predicted["mean_confidence"] == pytest.approx([0.8, 0.7])
    assert predicted["right"] == pytest.approx([0.75, 0.75])
    assert predicted["gap"] == pytest.approx([0.05, -0.05])
    assert predicted["calibration_error"] == pytest.approx([0.05, 0.05])
    assert result.class_average.n_classes == 2
    assert result.class_average.reported.decisiveness == pytest.approx((0.675 + 0.575) / 2)


GREEN, ORANGE = ClassParameters(coupling=0.5), ClassParameters(mean=2, coupling=0.5)
MODELS = {
    "perfect": ORANGE,
    "mean 1": replace(ORANGE, mean=1),
    "mean 3": replace(ORANGE, mean=3),
    "coupling 0, orange": replace(ORANGE, coupling=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("exact_limit", [0, 1 << 20])
@pytest.mark.parametrize("case", MODELS)
def test_two_classes_approach_the_exact_theory(case, exact_limit):
    """What the each-class view measures of many rows is what `TwoClassModel` computes by integrals."""
    model = TwoClassModel((GREEN, ORANGE), (GREEN, MODELS[case]), limit=0.01)
    exact = model.averages("each-class")
    y, _, p = model.sample(100_000, random_state=7)
    tally = Tally.of(y, p, parts=PARTS, exact_limit=exact_limit)
    found = assess(tally, measured="isotonic", floor=(0.01, 0.99), **EACH)
    for f in fields(exact.measured):
        assert getattr(found.reported, f.name) == pytest.approx(getattr(exact.reported, f.name), abs=0.004)
        assert getattr(found.measured, f.name) == pytest.approx(getattr(exact.measured, f.name), abs=0.004)
    assert found.divergence_probability == pytest.approx(exact.divergence_probability, abs=0.004)
    assert found.averages_slope == pytest.approx(exact.slope, abs=0.02)
    assert found.prediction_accuracy == pytest.approx(exact.prediction_accuracy, abs=0.004)


@pytest.mark.parametrize("measured", sorted(ESTIMATORS))
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_pair_is_counted_once_and_parts_add_up(rng, measured, exact_limit, weighted):
    y, p = softmax_forecasts(rng, 1000, 6, temperature=1.4)
    w = rng.exponential(size=1000) if weighted else np.ones(1000)
    weight = w if weighted else None
    result = assess(
        Tally.of(y, p, sample_weight=weight, parts=PARTS, exact_limit=exact_limit), measured=measured, **EACH
    )
    total = pytest.approx(w.sum(), rel=1e-9)
    assert result.bins.happened.sum() == total
    assert result.bins.total.sum() / 6 == total
    assert result.classes.happened.sum() == total
    assert result.predicted.predicted.sum() == total
    assert result.predicted.predicted @ result.predicted.right / w.sum() == pytest.approx(result.prediction_accuracy)
    assert (result.classes.frequency.sum(), result.predicted.share.sum()) == pytest.approx((1, 1))
    assert result.classes.mean_reported.sum() == pytest.approx(1, rel=1e-6)
    # In cells, those of one class are wider than those of all: the sums agree as far as both are right.
    rel = 1e-11 if result.exact else 1e-4
    assert result.bins.contribution.sum() == pytest.approx(np.log(result.reported.geometric_accuracy), rel=rel)
    assert result.classes.loss.sum() == pytest.approx(-np.log(result.divergence_probability), rel=rel, abs=rel)
    assert (np.diff(result.classes.miscalibration) <= 0).all()
    assert result.classes.miscalibration.sum() == pytest.approx(result.classes.loss.sum(), abs=1e-6)
    assert (np.diff(result.predicted.share * np.abs(result.predicted.gap)) <= 0).all()


def test_bins_go_by_class(result):
    starts = [at for at in range(len(result.bins)) if at == 0 or result.bins.label[at] != result.bins.label[at - 1]]
    assert [result.bins.label[at] for at in starts] == [0, 1, 2, 3, 4]
    for start, stop in zip(starts, [*starts[1:], len(result.bins)], strict=True):
        assert (result.bins.lowest[start + 1 : stop] > result.bins.highest[start : stop - 1]).all()
        assert (np.diff(result.bins.measured[start:stop]) > 0).all()
        assert result.bins.total[start:stop].sum() == 1000


def test_curves_go_by_class(rng):
    y, p = softmax_forecasts(rng, 1000, 3, temperature=1.5)
    curve = assess(y, p, measured="kernel", **EACH).curve
    label = np.array(curve.label)
    assert (np.diff(label) >= 0).all()
    assert label.size == curve.reported.size == curve.measured.size
    for each in range(3):
        reported = curve.reported[label == each]
        assert (np.diff(reported) > 0).all()
        assert 100 < reported.size <= 167
        assert reported[-1] == pytest.approx(p[:, each].max())
    assert assess(y, p).curve.label == ()


def test_settings_are_those_of_all_classes(rng):
    y, p = softmax_forecasts(rng, 300, 3)
    told = assess(y, p, measured="bayesian:bins=7,prior=2", **EACH)
    assert told.estimator_settings == {"bins": 7, "prior": 2}
    assert "7 bins, prior 2, view each-class" in " ".join(str(told).split())
    assert assess(y, p, measured="kernel", **EACH).estimator_settings == {}  # each class has a bandwidth of its own


def test_a_class_is_measured_as_if_alone(rng):
    """Class by class the curve is that of the two-class question "this class or not", from its side."""
    y, p = softmax_forecasts(rng, 400, 3, temperature=1.5)
    result = assess(y, p, floor=0, measured="isotonic", **EACH)
    table = by_label(result.classes)
    for label in range(3):
        here = np.flatnonzero(np.array(result.bins.label) == label)
        f = result.bins.measured[here]
        assert table["happened"][label] == result.bins.happened[here].sum() == (y == label).sum()
        for order, name in ((1, "decisiveness"), (0, "geometric_accuracy"), (-2 / 3, "robustness")):
            said = generalized_mean(p[y == label, label], order)
            held = generalized_mean(f, order, sample_weight=result.bins.happened[here])
            assert table[f"reported_{name}"][label] == pytest.approx(said, rel=1e-12)
            assert table[f"measured_{name}"][label] == pytest.approx(held, rel=1e-12)
        bin_of = np.searchsorted(result.bins.highest[here], p[:, label] - 1e-9)  # some digits are rounded away
        off = np.abs(f[bin_of] - p[:, label]).sum()
        assert table["calibration_error"][label] == pytest.approx(off / 400, rel=1e-9)


@pytest.mark.parametrize("measured", sorted(ESTIMATORS))
def test_permuted_classes_permute_the_tables(rng, measured):
    y, p = softmax_forecasts(rng, 500, 5, temperature=1.5)
    order = rng.permutation(5)
    a = assess(y, p, measured=measured, **EACH)
    b = assess(np.argsort(order)[y], p[:, order], measured=measured, **EACH)
    for f in fields(a.measured):
        assert getattr(b.measured, f.name) == pytest.approx(getattr(a.measured, f.name), rel=1e-12)
    assert b.averages_slope == pytest.approx(a.averages_slope, rel=1e-10)
    for one, other in ((a.classes, b.classes), (a.predicted, b.predicted)):
        for name, column in by_label(one).items():
            if name != "index":
                assert by_label(other)[name] == pytest.approx(column[order], rel=1e-11, abs=1e-14, nan_ok=True), name


def counted(y, p, exact_limit):
    """Rows, which are counted as tallies are by default, or with another limit a tally of all of them."""
    return (y, p) if exact_limit == EXACT_LIMIT else (Tally.of(y, p, parts=PARTS, exact_limit=exact_limit),)


@pytest.mark.parametrize("exact_limit", [0, 100, 1 << 16])
def test_merged_is_whole(rng, exact_limit):
    y, p = softmax_forecasts(rng, 600, 4)
    whole = assess(*counted(y, p, exact_limit), resamples=0, **EACH)
    parts = [
        Tally.of(y[i], p[i], parts=PARTS, exact_limit=exact_limit) for i in np.array_split(rng.permutation(600), 5)
    ]
    plain = [without_dependence(each) for each in (assess(sum(parts, Tally()), resamples=0, **EACH), whole)]
    for each in plain:
        del each["verdict"]  # whose p-values differ in the third digit
    by = [each.pop("diagnosis")["by"] for each in plain]
    assert plain[0] == plain[1]
    assert by == ["sums", "rows" if exact_limit == EXACT_LIMIT else "sums"]


@pytest.mark.slow
@pytest.mark.parametrize("exact_limit", [0, 100, 1 << 16])
@pytest.mark.parametrize("temperature", [1, 2])
def test_merged_is_whole_for_two_classes_and_their_verdict(rng, exact_limit, temperature):
    y, p = softmax_forecasts(rng, 600, 2, temperature=temperature)
    whole = assess(*counted(y, p, exact_limit), resamples=0)
    parts = [
        Tally.of(y[i], p[i], parts=PARTS, exact_limit=exact_limit) for i in np.array_split(rng.permutation(600), 5)
    ]
    merged = assess(sum(parts, Tally()), resamples=0)
    plain = [without_dependence(each) for each in (merged, whole)]
    slopes = [each.diagnosis.slope for each in (merged, whole)]
    assert slopes[0].value == pytest.approx(slopes[1].value, rel=1e-5)
    assert slopes[0].interval == pytest.approx(slopes[1].interval, rel=1e-5)
    remedies = [each.pop("remedy") for each in plain]
    if merged.source.tally.tells_log_odds(lambda: [Forecasts(y, p)]):
        assert remedies[0] == remedies[1]
    else:  # rows tell more of what is next to 1
        assert temperature > 1
        assert remedies[0]["gain"]["value"] == pytest.approx(remedies[1]["gain"]["value"], rel=0.02)
        for each in plain:
            for key in ("slope", "intercept", "cost", "diagnosis", "verdict"):
                del each[key]
    assert plain[0] == plain[1]
    assert merged.diagnosis.made
    assert merged.diagnosis.errors == (("confidence",) if temperature > 1 else ())


def test_weight_two_is_the_row_twice(rng):
    y, p = softmax_forecasts(rng, 400, 3)
    twice = np.r_[0:400, 0:150]
    w = np.where(np.arange(400) < 150, 2, 1)
    # By an estimator that does not ask how many rows there are: weights say what rows are worth, not how many they are.
    a, b = (assess(y[i], p[i], sample_weight=x, measured="isotonic", **EACH) for i, x in ((..., w), (twice, None)))
    unknown = np.full(3, np.nan)  # weights do not say how much is chance
    assert_same_tables(a.classes, replace(b.classes, gap_standard_error=unknown, gap_p_value=unknown), 1e-11)
    assert_same_tables(a.predicted, b.predicted, 1e-11)
    scaled = assess(y, p, sample_weight=1e5 * w, measured="isotonic", **EACH)
    assert scaled.measured.robustness == pytest.approx(a.measured.robustness, rel=1e-12)
    assert scaled.classes.loss == pytest.approx(a.classes.loss, rel=1e-11)


def test_cells_are_close_to_exact_counts(rng):
    y, p = softmax_forecasts(rng, 5000, 4, temperature=1.5)
    tallies = (Tally.of(y, p, parts=PARTS, exact_limit=limit) for limit in (1 << 16, 0))
    exact, cells = (assess(tally, measured="equal-population", **EACH) for tally in tallies)
    assert exact.reported.robustness == pytest.approx(cells.reported.robustness, rel=1e-6)
    for f in fields(exact.measured):
        assert getattr(cells.measured, f.name) == pytest.approx(getattr(exact.measured, f.name), abs=3e-3)
    for kind in ("decisiveness", "geometric_accuracy", "robustness"):
        mine, theirs = (by_label(result.classes)[f"reported_{kind}"] for result in (exact, cells))
        assert theirs == pytest.approx(mine, rel=2e-5)
    assert cells.averages_slope == pytest.approx(exact.averages_slope, abs=0.02)


@pytest.mark.slow
@given(
    st.integers(2, 5), st.integers(1, 60), st.integers(0, 10**6), st.sampled_from([1, 2, 16]), st.sampled_from([1, 1.5])
)
def test_isotonic_divergence_of_all_classes_together_is_at_most_1(classes, n, seed, digits, temperature):
    """SPEC section 6, each-class: at floor 0, ln(divergence) <= mean(row sum) - 1."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes) / 2, n) ** temperature
    p = (p / p.sum(axis=1, keepdims=True)).round(digits)
    result = assess(rng.integers(0, classes, n), p, measured="isotonic", floor=0, invalid="rescale", **EACH)
    if result.reported.geometric_accuracy:
        assert np.log(result.divergence_probability) <= 1e-9


def test_rows_that_do_not_sum_to_1(rng):
    p = rng.dirichlet(np.ones(3), 500) * 1.0009
    p = np.minimum(p, 1)
    result = assess(rng.integers(0, 3, 500), p, measured="isotonic", floor=0, **EACH)
    assert np.log(result.divergence_probability) <= p.sum(axis=1).mean() - 1 + 1e-12


def test_one_class_alone_may_exceed_1():
    """0.9 said of what happens 60 times in 100: that class gains by saying too much, and the other pays for it."""
    result = assess([0] * 60 + [1] * 40, [[0.9, 0.1]] * 100, measured="isotonic", floor=0, **EACH)
    table = by_label(result.classes)
    assert table["divergence_probability"] == pytest.approx([0.9 / 0.6, 0.1 / 0.4])
    assert table["loss"] == pytest.approx([0.6 * np.log(0.6 / 0.9), 0.4 * np.log(0.4 / 0.1)])
    assert result.divergence_probability < 1
    assert result.classes.label == (1, 0)
    assert np.isnan(table["averages_slope"]).all()
    assert math.isnan(result.class_average.averages_slope)


@pytest.mark.slow
def test_classes_that_never_happened_or_were_never_predicted():
    p = [[0.6, 0.3, 0.1, 0.0], [0.2, 0.7, 0.1, 0.0], [0.5, 0.4, 0.1, 0.0]]
    for measured in ESTIMATORS:
        for exact_limit in (0, 1 << 16):
            tally = Tally.of([0, 1, 1], p, parts=PARTS, exact_limit=exact_limit)
            result = assess(tally, measured=measured, resamples=0, **EACH)
            table, predicted = by_label(result.classes), by_label(result.predicted)
            for name in table:
                never = table[name][2:]
                if name in ("happened", "frequency", "loss"):
                    assert never.tolist() == [0, 0]
                elif name.startswith(("reported", "measured", "averages_slope", "divergence")):
                    assert np.isnan(never).all()
            assert table["mean_reported"][2:] == pytest.approx([0.1, 0])
            assert table["gap"][2:] == pytest.approx([0.1, 0])
            error = table["calibration_error"][2:]  # some estimators hold that it may happen yet
            assert (error >= 0).all()
            assert (error <= [0.1 + 1e-6, 0]).all()
            if measured in ("isotonic", "equal-population", "equal-width", "cluster"):
                assert error == pytest.approx([0.1, 0])
            assert predicted["predicted"].tolist() == [2, 1, 0, 0]
            assert np.isnan(predicted["right"][2:]).all()
            assert np.isnan(predicted["mean_confidence"][2:]).all()
            assert result.predicted.label[2:] == (2, 3)
            assert result.class_average.n_classes == 2
            assert result.bins.happened.sum() == 3
            assert result.bins.total.sum() == 12
            assert str(result)
            assert json.loads(result.to_json())["classes"]["averages_slope"].count("NaN") >= 2


def test_what_was_given_0_is_the_worst_class():
    result = assess(
        [0, 1, 2], [[0.8, 0.1, 0.1], [0.5, 0.0, 0.5], [0.1, 0.1, 0.8]], measured="isotonic", floor=0, **EACH
    )
    assert result.classes.label[0] == 1
    assert result.classes.loss[0] == np.inf
    assert json.loads(result.to_json())["classes"]["loss"][0] == "Infinity"


@pytest.mark.parametrize(
    ("y", "p"), [([1], [0.5]), ([1, 0], [0.2, 0.9]), ([0, 0], [[1, 0], [1, 0]]), ([1, 0], [[1, 0], [0, 1]])]
)
@pytest.mark.parametrize("measured", sorted(ESTIMATORS))
def test_corners_answer_without_a_warning(y, p, measured):
    result = assess(y, p, measured=measured, resamples=0, **EACH)
    assert 0.005 <= result.measured.robustness <= 1
    assert result.classes.happened.sum() == len(y)
    assert str(result)
    assert result._repr_html_()


@pytest.mark.slow
def test_a_thousand_classes(rng):
    y, p = softmax_forecasts(rng, 1600, 1000, spread=4, dtype=np.float32)
    result = assess(y, p, resamples=0, **EACH)
    assert len(result.classes) == len(result.predicted) == 1000
    assert result.classes.loss.sum() == pytest.approx(-np.log(result.divergence_probability), rel=1e-4)
    text = str(result).splitlines()
    assert text.count("... and 990 more") == 1
    assert max(len(line) for line in text if not line.startswith("  recalibrat")) <= 80  # lines to copy are whole
    assert text[0].startswith("No evidence of miscalibration (n = 1,600, p = ")
    assert "above 1." not in str(result).split("\n\n")[0].split()  # a calibration slope of 1 is no error
    beyond_the_verdict = text[text.index("") :]
    assert len(beyond_the_verdict) < 70


def test_a_tally_needs_the_parts():
    y, p = [0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
    with pytest.raises(InputError, match=r"view: 'each-class' is made from the part 'classes'.*--parts classes predic"):
        assess(Tally.of(y, p), **EACH)
    result = assess(Tally.of(y, p, parts=["classes"]), **EACH)
    assert result.predicted is None
    assert result.classes.loss.tolist() == assess(y, p, **EACH).classes.loss.tolist()
    with pytest.raises(InputError, match=r"what: 'predicted' is a table of the each-class view.*parts="):
        result.frame("predicted")
    with pytest.raises(InputError, match="what: 'classes' is a table of the each-class view"):
        assess(y, p).frame("classes")
    with pytest.raises(InputError, match="no rows to assess"):
        assess(Tally(), **EACH)
    with pytest.raises(InputError, match="'all-classes', 'top-label', got 'each-class'"):
        Tally.of(y, p).pairs("each-class")


def test_other_views_have_no_tables_of_classes(rng):
    y, p = softmax_forecasts(rng, 50, 3)
    for view in ("all-classes", "top-label"):
        result = assess(y, p, view=view)
        assert result.classes is result.class_average is result.predicted is None
        assert result.bins.label == ()
        assert "label" not in result.frame("bins").columns
        assert "each class" not in str(result)


def test_what_does_not_depend_on_the_view(rng):
    y, p = softmax_forecasts(rng, 300, 3)
    each, all_ = assess(y, p, **EACH), assess(y, p)
    assert each.reported == all_.reported
    assert each.scores == all_.scores
    assert each.prediction_accuracy == all_.prediction_accuracy


@pytest.mark.slow
def test_frames_and_json(result):
    classes, predicted, bins = (result.frame(name) for name in ("classes", "predicted", "bins"))
    assert classes.columns == [f.name for f in fields(result.classes)]
    assert predicted.columns == [f.name for f in fields(result.predicted)]
    assert classes["label"].to_list() == [str(label) for label in result.classes.label]
    assert classes["label"].dtype == pl.String
    assert bins.columns[0] == "label"
    assert bins.height == len(result.bins)
    parsed = json.loads(result.to_json())
    assert parsed["classes"]["label"] == list(result.classes.label)
    assert parsed["classes"]["loss"] == result.classes.loss.tolist()
    assert parsed["predicted"]["right"] == result.predicted.right.tolist()
    assert parsed["class_average"]["reported"] == dataclasses.asdict(result.class_average.reported)
    for array in (result.classes.loss, result.predicted.gap):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_class_average_counts_each_class_once(rng):
    """However often a class happens; a class that never happened does not count."""
    y, p = softmax_forecasts(rng, 500, 4)
    p[:, 3], y = 0, np.where(y == 3, 0, y)
    p /= p.sum(axis=1, keepdims=True)
    result = assess(y, p, **EACH)
    table, mean = by_label(result.classes), result.class_average
    assert mean.n_classes == 3
    for f in fields(mean.reported):
        assert getattr(mean.reported, f.name) == pytest.approx(table[f"reported_{f.name}"][:3].mean())
        assert getattr(mean.measured, f.name) == pytest.approx(table[f"measured_{f.name}"][:3].mean())
    assert mean.averages_slope == pytest.approx(mean.measured.spread / mean.reported.spread)
    assert mean.divergence_probability == pytest.approx(
        mean.reported.geometric_accuracy / mean.measured.geometric_accuracy
    )
    assert mean.calibration_error == pytest.approx(table["calibration_error"][:3].mean())


def test_text_and_card_name_the_classes_in_one_line(rng):
    y, p = softmax_forecasts(rng, 300, 3)
    names = np.array(["a\nb\u202e", "<script>", "a very long name of a class"])
    result = assess(names[y], p, labels=list(names), sample_weight=rng.exponential(size=300), **EACH)
    text = str(result)
    assert max(map(len, text.splitlines())) <= 80
    assert "\n\n\n" not in text
    assert "a\\nb\\u202e" in text
    assert "a very long name of a class" in text
    assert "Plain mean over the 3 classes" in text
    assert "<script" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()


class TestGaps:
    """How many times too often a class was said, against the exact distribution of a sum of independent coins."""

    @staticmethod
    def exact(p, happened):
        """Smaller tail doubled, from the distribution by convolution, each tail with the half-step of a correction."""
        density = np.ones(1)
        for one in p:
            density = np.convolve(density, [1 - one, one])
        return min(1.0, 2 * min(density[: happened + 1].sum(), density[happened:].sum()))

    @pytest.mark.parametrize(("a", "b", "n"), [(1, 9, 300), (2, 2, 300), (0.3, 3, 600), (9, 1, 120), (0.05, 0.05, 100)])
    def test_p_values_are_near_the_exact_ones(self, rng, a, b, n):
        p = rng.beta(a, b, n)
        mean, sd = p.sum(), np.sqrt((p * (1 - p)).sum())
        for off in (-3.2, -2, -1, 0, 1, 2, 3.2):
            count = round(float(mean + off * sd))
            y = np.arange(n) < count  # which rows they are makes no difference to the count
            table = assess(y, p, view="each-class", resamples=0).classes
            expected = self.exact(p, count)
            assert (table.gap_p_value > 0.8 * expected).all(), off
            assert (table.gap_p_value < (1.2 if abs(off) < 3 else 2) * expected).all(), off
            seen = n * np.var(y - p)
            assert table.gap_standard_error == pytest.approx(np.sqrt(max(sd**2, seen)) / n)

    @pytest.mark.slow
    def test_calibrated_forecasts_are_hardly_ever_called_biased(self, rng):
        found = 0
        for _ in range(100):
            y, p = softmax_forecasts(rng, 300, 4)
            found += bool((assess(y, p, view="each-class", resamples=0).classes.gap_p_value < 0.05 / 4).any())
        assert found <= 12  # 5 are expected at most; 13 or more happen once in 500 times

    @pytest.mark.slow
    @pytest.mark.parametrize(("shift", "verb"), [(-0.1, "overpredicts"), (0.1, "underpredicts")])
    def test_a_bias_that_the_pooled_view_cannot_see_is_seen(self, rng, shift, verb):
        p = rng.uniform(0.25, 0.75, 5000)
        y = np.where(rng.uniform(size=5000) < p + shift, "yes", "no")
        pooled, each = (assess(y, p, pos_label="yes", view=view, resamples=0) for view in ("all-classes", "each-class"))
        assert pooled.averages_slope == pytest.approx(1, abs=0.3)  # where a bias cancels
        mean, frequency = f"{p.mean():.1%}", f"{(y == 'yes').mean():.1%}"
        says = f"{verb.capitalize()} 'yes' (mean prediction {mean}, observed frequency {frequency})."
        for result in (pooled, each):
            assert result.verdict == says
            assert result.diagnosis.errors == ("bias",)
            finding = result.diagnosis.findings[0]
            assert finding.label == "yes"
            low, high = finding.interval
            assert low < finding.parameter < high < 0 if shift < 0 else 0 < low < finding.parameter < high
            assert str(result).startswith(says)
            assert " ".join(str(result).split()).count("Mean prediction") == 0  # the verdict has it
            assert f"<h1>{verb.capitalize()} &#39;yes&#39;</h1>" in result.to_html()

    def test_biased_classes_of_more_than_two_are_named(self, rng):
        y, p = softmax_forecasts(rng, 4000, 4)
        skewed = p * [1, 1, 2, 1]
        skewed /= skewed.sum(axis=1, keepdims=True)
        result = assess(np.array(list("abcd"))[y], skewed, labels=list("abcd"), view="each-class", resamples=0)
        assert result.diagnosis.errors == ("bias",)
        assert result.verdict.startswith("Overpredicts 'c' (mean prediction ")
        assert result.classes.gap_p_value[result.classes.label.index("c")] < 1e-9

    def test_without_a_bias_it_says_so(self, rng):
        y, p = softmax_forecasts(rng, 500, 3)
        result = assess(y, p, view="each-class", resamples=0)
        assert re.match(
            r"No evidence of miscalibration \(n = 500, p = 0\.\d{3}\), but so few rows can show only large errors\. "
            r".* 500 rows detect only a bias of .* \(80% power\)\.",
            " ".join(str(result).split()),
        )
        assert result.diagnosis.findings == ()
        assert "overpredicts" not in str(result) + result._repr_html_() + result.to_html()

    @pytest.mark.parametrize(
        ("a", "b", "n"), [(1, 9, 300), (2, 2, 300), (9, 1, 120), (0.05, 0.05, 100), (1e9, 1e9, 50)]
    )
    @pytest.mark.parametrize("view", ["all-classes", "each-class", "top-label"])
    def test_the_bias_of_two_classes_is_that_of_the_rows_in_every_view(self, rng, a, b, n, view):
        p = rng.beta(a, b, n)
        mean, sd = p.sum(), np.sqrt((p * (1 - p)).sum())
        for off in (-3, -2, 0, 2, 3):
            y = np.arange(n) < round(float(mean + off * sd))
            bias = assess(y, p, resamples=0, view=view).bias
            assert (bias.label, bias.gap) == (True, pytest.approx(p.mean() - y.mean(), abs=1e-9))
            assert (bias.mean_reported, bias.frequency) == (pytest.approx(p.mean(), abs=1e-9), y.mean())
            assert bias.standard_error == pytest.approx(sd / n)

    def test_the_diagnosis_of_a_constant_forecast_is_the_test_of_its_bias(self, rng):
        """No other error can show, so that its p-value must be near the exact one of the count."""
        for p, n in ((0.5, 50), (0.3, 200), (0.1, 400)):
            for off in (-3, -2, 0, 2, 3):
                count = round(float(n * p + off * np.sqrt(n * p * (1 - p))))
                found = assess(np.arange(n) < count, np.full(n, p), labels=(False, True), resamples=0).diagnosis
                exact = self.exact(np.full(n, p), count)
                assert 0.5 * exact <= found.p_value <= 2 * exact
                assert found.miscalibrated == (found.p_value < 0.05)
                assert set(found.errors) <= {"bias"}

    def test_a_forecaster_of_one_half_is_biased_where_all_happens(self):
        for y in ([1] * 100, [0] * 100, [1] * 10 + [0] * 90):
            result = assess(y, [0.5] * 100, labels=(0, 1), resamples=0)
            assert result.diagnosis.p_value < 1e-9
            assert result.diagnosis.errors == ("bias",)
            verb = "Under" if sum(y) > 50 else "Over"
            assert result.verdict.startswith(f"{verb}predicts '1' (mean prediction 50.0%, observed frequency ")

    def test_they_are_told_of_independent_rows_of_one_weight_with_enough_errors(self, rng):
        y, p = softmax_forecasts(rng, 200, 3)
        two = assess([1, 0, 1], [0.9, 0.1, 0.4], sample_weight=[1, 2, 3], resamples=0).bias
        assert (two.mean_reported, two.frequency) == (pytest.approx(2.3 / 6), pytest.approx(4 / 6))
        assert two.standard_error == pytest.approx(np.sqrt((1 + 4) * 0.09 + 9 * 0.24) / 6)
        clustered = assess([1, 0, 1], [0.9, 0.1, 0.4], clusters=[1, 1, 2], resamples=0).bias
        assert np.isnan(clustered.standard_error)
        for more in ({"sample_weight": np.full(200, 2.0)}, {"clusters": np.arange(200) // 2}):
            table = assess(y, p, view="each-class", resamples=0, **more).classes
            assert np.isnan([table.gap_standard_error, table.gap_p_value]).all()
            result = assess(y, p, view="each-class", resamples=0, **more)
            assert result.verdict.startswith("No evidence of miscalibration (n = 200")
            assert (", p " in result.verdict, "in 100 clusters" in result.verdict) == (True, "clusters" in more)

    def test_impossible_events_are_beyond_chance_and_certain_ones_are_not(self):
        right, wrong = (
            assess(y, [1.0, 0.0, 1.0], view="each-class", resamples=0).classes for y in ([1, 0, 1], [0, 0, 1])
        )
        assert right.gap_p_value.tolist() == [1, 1]
        assert wrong.gap_p_value.tolist() == [0, 0]
