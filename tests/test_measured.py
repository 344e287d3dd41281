import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from conftest import softmax_forecasts
from unperplexed import ESTIMATORS, InputError, Tally, assess
from unperplexed.measured import equal_population, equal_width, isotonic


def pairs(*entries):
    """Pairs from (reported, happened, total)."""
    return tuple(np.array(column, dtype=float) for column in zip(*entries, strict=True))


@st.composite
def any_pairs(draw):
    reported = sorted(draw(st.sets(st.floats(0, 1), min_size=1, max_size=40)))
    totals = draw(st.lists(st.integers(1, 50), min_size=len(reported), max_size=len(reported)))
    happened = [draw(st.integers(0, total)) for total in totals]
    happened[0] = max(happened[0], 1)
    return tuple(np.array(column, dtype=float) for column in (reported, happened, totals))


@given(any_pairs(), st.sampled_from(sorted(ESTIMATORS)), st.sampled_from([0.0, 0.005, 0.1]))
@settings(max_examples=300, deadline=None)
def test_laws_of_every_estimator(counts, name, floor):
    reported, happened, total = counts
    measured, bin_ = ESTIMATORS[name](reported, happened, total, None, floor)
    assert measured.shape == bin_.shape == reported.shape
    assert ((measured >= 0) & (measured <= 1)).all()
    # Bins are runs of entries numbered from 0, and each measures its own frequency.
    assert bin_[0] == 0
    assert set(np.diff(bin_)) <= {0, 1}
    for b in range(bin_[-1] + 1):
        here = bin_ == b
        assert measured[here] == pytest.approx(happened[here].sum() / total[here].sum(), abs=1e-14)
    # So what is measured sums to what happened.
    assert measured @ total == pytest.approx(happened.sum(), rel=1e-12)


@given(any_pairs())
@settings(max_examples=200, deadline=None)
def test_isotonic_is_scikit_learns_regression(counts):
    reported, happened, total = counts
    expected = (
        IsotonicRegression()
        .fit(np.arange(reported.size), happened / total, sample_weight=total)
        .predict(np.arange(reported.size))
    )
    got = isotonic(reported, happened, total).measured
    assert got == pytest.approx(expected, abs=1e-12)
    assert (np.diff(got) >= 0).all()


def test_isotonic_blocks_by_hand():
    estimate = isotonic(*pairs((0.1, 1, 2), (0.2, 0, 2), (0.3, 1, 1), (0.4, 1, 1), (0.9, 1, 2)))
    assert estimate.measured.tolist() == [0.25, 0.25, 0.75, 0.75, 0.75]
    assert estimate.bin.tolist() == [0, 0, 1, 1, 1]


def test_isotonic_has_no_bins_to_set():
    with pytest.raises(InputError, match="equal-population"):
        assess([1, 0], [0.5, 0.4], bins=5)


def test_equal_population_cuts_midway_between_correct_values():
    counts = pairs((0.10, 1, 1), (0.20, 0, 1), (0.30, 1, 1), (0.44, 0, 1), (0.46, 0, 1), (0.60, 1, 1), (0.70, 1, 1))
    estimate = equal_population(*counts, bins=2)
    # Correct values .1 .3 | .6 .7: the edge is .45, so .44 goes left and .46 right.
    assert estimate.bin.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert estimate.measured.tolist() == [0.5] * 4 + [2 / 3] * 3


def test_equal_population_sets_the_floor_apart():
    counts = pairs((0.0, 1, 90), (0.004, 0, 10), (0.005, 1, 10), (0.006, 1, 1), (0.5, 2, 4), (0.8, 2, 2))
    assert equal_population(*counts, bins=1, floor=0.005).bin.tolist() == [0, 0, 0, 1, 1, 1]
    assert equal_population(*counts, bins=1, floor=0.0).bin.tolist() == [0, 1, 1, 1, 1, 1]


def test_equal_population_sets_singular_values_apart():
    # 20 rows, 4 bins, so more than 5 at one value is too many for a bin: .5 is, with width .1 around it.
    counts = pairs((0.1, 1, 9), (0.44, 2, 5), (0.46, 2, 5), (0.5, 9, 12), (0.54, 1, 2), (0.56, 1, 2), (0.7, 4, 5))
    estimate = equal_population(*counts, bins=4, floor=0.1)
    # 0.1 is at the floor; .46 to .54 lie around .5; round(7 / 5) = 1 group of the rest, cut in two by them.
    assert estimate.bin.tolist() == [0, 1, 2, 2, 2, 3, 3]


def test_equal_population_sets_the_top_apart_only_when_full():
    many = pairs((0.2, 2, 9), (0.6, 2, 4), (0.996, 2, 2), (1.0, 2, 3))
    assert equal_population(*many, bins=4, floor=0.005).bin.tolist()[-2:] == [2, 2]
    few = pairs((0.2, 3, 9), (0.6, 3, 4), (0.994, 1, 2), (1.0, 1, 1))
    assert equal_population(*few, bins=2, floor=0.005).bin.tolist() == [0, 1, 1, 1]


def test_equal_population_stretch_with_no_correct_value_is_a_bin():
    counts = pairs((0.0, 1, 10), (0.3, 0, 4), (0.6, 0, 2), (1.0, 9, 10))
    estimate = equal_population(*counts, bins=2, floor=0.005)
    assert estimate.bin.tolist() == [0, 1, 1, 2]
    assert estimate.measured.tolist() == [0.1, 0, 0, 0.9]


@given(any_pairs(), st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_equal_population_bins_are_even(counts, bins):
    """No group of the remaining correct-class weight exceeds its share by more than one value's weight."""
    reported, happened, total = counts
    n, floor = happened.sum(), 0.005
    bin_ = equal_population(reported, happened, total, bins, floor).bin
    apart = (reported <= floor) | (happened > n / bins)
    for b in np.unique(bin_):
        here = bin_ == b
        if not apart[here].any() and not (reported[here] >= 1 - floor).any():
            assert happened[here].sum() <= 1.5 * n / bins * (1 + 1e-12) + happened[here].max()


def test_equal_width_edges_belong_to_the_upper_bin():
    counts = pairs(*((k / 100, 1, 2) for k in range(101)))
    bin_ = equal_width(*counts, bins=100).bin
    assert bin_.tolist() == [*range(100), 99]


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.parametrize("bins", ["auto", 12])
def test_only_the_ratios_of_weights_matter(rng, name, bins):
    if name == "isotonic" and bins != "auto":
        return
    y, p = softmax_forecasts(rng, 2000, 3)
    p = (p * 20).round() / 20
    p /= p.sum(axis=1, keepdims=True)
    expected = assess(y, p, measured=name, bins=bins).figures()
    for weight in (0.1, 1e-6, 1 / 2000, 1e6):
        weighted = assess(y, p, sample_weight=np.full(2000, weight), measured=name, bins=bins)
        assert weighted.figures() == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", ["equal-population", "equal-width"])
@pytest.mark.parametrize("bins", [0, -3, 2.5, True])
def test_bad_bins(name, bins):
    with pytest.raises(InputError, match="bins"):
        assess([1, 0], [0.5, 0.4], measured=name, bins=bins)


@given(st.integers(2, 5), st.integers(1, 60), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=200, deadline=None)
def test_isotonic_divergence_is_at_most_1(classes, n, seed, ties):
    """SPEC section 6: at floor 0, ln(divergence) <= mean(row sum) - 1, whatever the forecasts and outcomes."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.5), n)
    if ties:
        p = np.round(p * 4) / 4
        p[:, 0] += 1 - p.sum(axis=1)
        p = np.abs(p) / np.abs(p).sum(axis=1, keepdims=True)
    y = rng.integers(0, classes, n)
    for exact_limit in (1 << 16, 0):
        result = assess(y, p, floor=0.0, exact_limit=exact_limit)
        if result.reported.geometric_accuracy > 0:
            assert result.divergence_probability <= 1 + (1e-9 if exact_limit else 1e-4)


def test_divergence_of_rows_that_do_not_sum_to_1(rng):
    p = rng.dirichlet(np.ones(3), 200) * rng.uniform(0.9992, 1.0008, (200, 1))
    y = rng.integers(0, 3, 200)
    result = assess(y, p, floor=0.0)
    assert np.log(result.divergence_probability) <= p.sum(axis=1).mean() - 1 + 1e-12


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_perfect_forecasts_approach_divergence_and_slope_1(name):
    errors = []
    for n in (2_000, 200_000):
        y, p = softmax_forecasts(np.random.default_rng(5), n, 3, 1.5)
        result = assess(y, p, measured=name)
        errors.append(max(abs(result.slope - 1), abs(result.divergence_probability - 1)))
    assert errors[1] < 0.02
    assert errors[1] < errors[0]


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.parametrize(("temperature", "below"), [(1.6, True), (0.6, False)])
def test_direction_of_over_and_underconfidence(name, temperature, below):
    y, p = softmax_forecasts(np.random.default_rng(6), 20_000, 3, 2.0, temperature)
    result = assess(y, p, measured=name)
    assert (result.slope < 1) == below
    assert (result.orientation > 45) == below


# SPEC section 6's table: ten classes, s = 6, N = 2000, floor .005: mean and standard deviation of 20 runs.
SPEC_ROWS = [
    (10, 6, 1.0, "isotonic", None, 0.98, 0.05),
    (10, 6, 1.0, "equal-population", 10, 1.06, 0.05),
    (10, 6, 1.0, "equal-population", 20, 1.04, 0.05),
    (10, 6, 1.0, "equal-population", 50, 1.01, 0.05),
    (10, 6, 1.6, "isotonic", None, 0.61, 0.02),
    (10, 6, 1.6, "equal-population", 20, 0.75, 0.03),
    (2, 1.5, 1.0, "isotonic", None, 1.02, 0.07),
    (2, 1.5, 1.0, "equal-population", 20, 1.07, 0.1),
    (100, 3, 1.1, "isotonic", None, 0.91, 0.01),
    (100, 3, 1.1, "equal-population", 20, 0.91, 0.02),
]


@pytest.mark.parametrize(("classes", "s", "temperature", "name", "bins", "mean", "sd"), SPEC_ROWS)
def test_slopes_of_the_specification(classes, s, temperature, name, bins, mean, sd):
    slopes = []
    for seed in range(20):
        y, p = softmax_forecasts(np.random.default_rng(seed), 2000, classes, s, temperature)
        slopes.append(assess(y, p, measured=name, bins="auto" if bins is None else bins, orders=[0]).slope)
    # The mean of 20 runs against another mean of 20 runs, each rounded to two digits.
    assert np.mean(slopes) == pytest.approx(mean, abs=3 * sd * np.sqrt(2 / 20) + 0.01)


CORNERS = {
    "one row": ([1], [0.7]),
    "two rows": ([1, 0], [0.7, 0.4]),
    "constant": ([1, 0, 1, 1], [0.6] * 4),
    "all right": ([1, 0], [1.0, 0.0]),
    "all wrong": ([1, 0], [0.0, 1.0]),
    "atoms": ([1, 0, 1, 0], [0.0, 0.0, 1.0, 1.0]),
    "tie": ([1, 0], [0.5, 0.5]),
}


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("floor", [0.0, 0.005, 0.5, 1.0])
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_corners_answer_without_a_warning(name, corner, floor, exact_limit):
    y, p = CORNERS[corner]
    result = assess(y, p, measured=name, floor=floor, exact_limit=exact_limit)
    for mean in ("decisiveness", "geometric_accuracy", "robustness"):
        assert floor <= getattr(result.reported, mean) <= 1
        assert floor <= getattr(result.measured, mean) <= 1
    assert result.bins.happened.sum() == len(y)
    assert result.bins.total.sum() == 2 * len(y)
    assert str(result)
    assert result.to_json()


def test_row_order_never_matters(rng):
    y, p = softmax_forecasts(rng, 2000, 4)
    order = rng.permutation(2000)
    for name in ESTIMATORS:
        for exact_limit in (0, 1 << 16):
            a = Tally.of(y, p, exact_limit=exact_limit)
            b = Tally.of(y[order], p[order], exact_limit=exact_limit)
            assert assess(a, measured=name).slope == pytest.approx(assess(b, measured=name).slope, rel=1e-11)
