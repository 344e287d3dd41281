import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from helpers import softmax_forecasts
from unperplexed import ESTIMATORS, InputError, Tally, assess
from unperplexed.calibration.estimators import (
    bayesian,
    cluster,
    equal_population,
    equal_width,
    isotonic,
    kernel,
    logistic,
    named_estimator,
    nearest_neighbors,
    shrunk_isotonic,
)
from unperplexed.statistics.means import averages
from unperplexed.tally.tally import VIEWS

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")


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


IN_BINS = ("isotonic", "equal-population", "equal-width", "cluster")
"""Estimators whose measured probability is the frequency of the bin."""

SETTINGS = {
    "bins": ("equal-population", "equal-width", "cluster", "bayesian"),
    "neighbors": ("nearest-neighbors",),
    "bandwidth": ("kernel",),
    "prior": ("bayesian",),
}


@pytest.mark.slow
@given(any_pairs(), st.sampled_from(sorted(ESTIMATORS)), st.sampled_from([0.0, 0.005, 0.1]))
def test_laws_of_every_estimator(counts, name, floor):
    reported, happened, total = counts
    measured, bin_, _ = ESTIMATORS[name].measure(reported, happened, total, floor=floor)
    assert measured.shape == bin_.shape == reported.shape
    assert ((measured >= 0) & (measured <= 1)).all()
    # Bins are runs of entries numbered from 0, and no pair is in two of them.
    assert bin_[0] == 0
    assert set(np.diff(bin_)) <= {0, 1}
    if name in IN_BINS:
        for b in range(bin_[-1] + 1):
            here = bin_ == b
            assert measured[here] == pytest.approx(happened[here].sum() / total[here].sum(), abs=1e-14)
        # So what is measured sums to what happened.
        assert measured @ total == pytest.approx(happened.sum(), rel=1e-12)


@given(any_pairs(), st.sampled_from(sorted(ESTIMATORS)))
def test_what_never_happened_is_measured_at_0(counts, name):
    reported, _, total = counts
    measured = ESTIMATORS[name].measure(reported, np.zeros_like(total), total, floor=0.005).measured
    assert (measured >= 0).all()
    if name in ("logistic", "shrunk-isotonic"):  # they cannot know how rare what never happened is
        return
    assert measured.max() <= reported.max()
    if name != "bayesian":
        assert (measured == 0).all()


@given(any_pairs(), st.sampled_from(["isotonic", "shrunk-isotonic", "logistic"]))
def test_mirrored_pairs_are_measured_alike(counts, name):
    """Whether a thing is forecast or its contrary does not matter."""
    reported, happened, total = counts
    reported = np.round(reported * 64) / 64  # so that 1 - p is exact
    reported, inverse = np.unique(reported, return_inverse=True)
    happened, total = np.bincount(inverse, happened), np.bincount(inverse, total)
    there = ESTIMATORS[name].measure(reported, happened, total).measured
    back = ESTIMATORS[name].measure((1 - reported)[::-1], (total - happened)[::-1], total[::-1]).measured
    assert back[::-1] == pytest.approx(1 - there, abs=1e-6)


@given(any_pairs())
def test_isotonic_is_scikit_learns_regression(counts):
    reported, happened, total = counts
    expected = (
        IsotonicRegression()
        .fit(np.arange(reported.size), happened / total, sample_weight=total)
        .predict(np.arange(reported.size))
    )
    got = isotonic.measure(reported, happened, total).measured
    assert got == pytest.approx(expected, abs=1e-12)
    assert (np.diff(got) >= 0).all()


def test_isotonic_blocks_by_hand():
    estimate = isotonic.measure(*pairs((0.1, 1, 2), (0.2, 0, 2), (0.3, 1, 1), (0.4, 1, 1), (0.9, 1, 2)))
    assert estimate.measured.tolist() == [0.25, 0.25, 0.75, 0.75, 0.75]
    assert estimate.bin.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_that_an_estimator_does_not_have_are_refused(name, setting):
    if name in SETTINGS[setting]:
        assert assess([1, 0], [0.5, 0.4], measured=f"{name}:{setting}=2").estimator_settings[setting] == 2
        return
    with pytest.raises(InputError, match=f"{name} has no setting '{setting}'"):
        assess([1, 0], [0.5, 0.4], measured=f"{name}:{setting}=2")


def test_an_unknown_estimator_is_refused():
    for name in ("isotonc", None, 3, []):
        with pytest.raises(InputError, match="measured: expected one of equal-population, equal-width, cluster"):
            assess([1, 0], [0.5, 0.4], measured=name)


def test_equal_population_cuts_midway_between_correct_values():
    counts = pairs((0.10, 1, 1), (0.20, 0, 1), (0.30, 1, 1), (0.44, 0, 1), (0.46, 0, 1), (0.60, 1, 1), (0.70, 1, 1))
    estimate = equal_population(bins=2).measure(*counts)
    # Correct values .1 .3 | .6 .7: the edge is .45, so .44 goes left and .46 right.
    assert estimate.bin.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert estimate.measured.tolist() == [0.5] * 4 + [2 / 3] * 3


def test_equal_population_sets_the_floor_apart():
    counts = pairs((0.0, 1, 90), (0.004, 0, 10), (0.005, 1, 10), (0.006, 1, 1), (0.5, 2, 4), (0.8, 2, 2))
    assert equal_population(bins=1).measure(*counts, floor=0.005).bin.tolist() == [0, 0, 0, 1, 1, 1]
    assert equal_population(bins=1).measure(*counts, floor=0.0).bin.tolist() == [0, 1, 1, 1, 1, 1]


def test_equal_population_sets_singular_values_apart():
    # 20 rows, 4 bins, so more than 5 at one value is too many for a bin: .5 is, with width .1 around it.
    counts = pairs((0.1, 1, 9), (0.44, 2, 5), (0.46, 2, 5), (0.5, 9, 12), (0.54, 1, 2), (0.56, 1, 2), (0.7, 4, 5))
    estimate = equal_population(bins=4).measure(*counts, floor=0.1)
    # 0.1 is at the floor; .46 to .54 lie around .5; round(7 / 5) = 1 group of the rest, cut in two by them.
    assert estimate.bin.tolist() == [0, 1, 2, 2, 2, 3, 3]


def test_equal_population_sets_the_top_apart_only_when_full():
    many = pairs((0.2, 2, 9), (0.6, 2, 4), (0.996, 2, 2), (1.0, 2, 3))
    assert equal_population(bins=4).measure(*many, floor=0.005).bin.tolist()[-2:] == [2, 2]
    few = pairs((0.2, 3, 9), (0.6, 3, 4), (0.994, 1, 2), (1.0, 1, 1))
    assert equal_population(bins=2).measure(*few, floor=0.005).bin.tolist() == [0, 1, 1, 1]


def test_equal_population_stretch_with_no_correct_value_is_a_bin():
    counts = pairs((0.0, 1, 10), (0.3, 0, 4), (0.6, 0, 2), (1.0, 9, 10))
    estimate = equal_population(bins=2).measure(*counts, floor=0.005)
    assert estimate.bin.tolist() == [0, 1, 1, 2]
    assert estimate.measured.tolist() == [0.1, 0, 0, 0.9]


@given(any_pairs(), st.integers(1, 30))
def test_equal_population_bins_are_even(counts, bins):
    """No group of the remaining correct-class weight exceeds its share by more than one value's weight."""
    reported, happened, total = counts
    n, floor = happened.sum(), 0.005
    bin_ = equal_population(bins=bins).measure(reported, happened, total, floor=floor).bin
    apart = (reported <= floor) | (happened > n / bins)
    for b in np.unique(bin_):
        here = bin_ == b
        if not apart[here].any() and not (reported[here] >= 1 - floor).any():
            assert happened[here].sum() <= 1.5 * n / bins * (1 + 1e-12) + happened[here].max()


def test_equal_width_edges_belong_to_the_upper_bin():
    counts = pairs(*((k / 100, 1, 2) for k in range(101)))
    bin_ = equal_width(bins=100).measure(*counts).bin
    assert bin_.tolist() == [*range(100), 99]


@pytest.mark.parametrize("measured", [*sorted(ESTIMATORS), *(f"{name}:bins=12" for name in SETTINGS["bins"])])
def test_only_the_ratios_of_weights_matter(rng, measured):
    y, p = softmax_forecasts(rng, 800, 3)
    p = (p * 20).round() / 20
    p /= p.sum(axis=1, keepdims=True)
    expected = assess(y, p, measured=measured).metrics()
    for weight in (0.1, 1e-6, 1e6):
        weighted = assess(y, p, sample_weight=np.full(800, weight), measured=measured)
        # Curves that are found step by step stop where nothing is gained any more.
        assert weighted.metrics() == pytest.approx(expected, rel=1e-11 if measured.split(":")[0] in IN_BINS else 1e-6)


@pytest.mark.parametrize("name", SETTINGS["bins"])
@pytest.mark.parametrize("bins", [0, -3, 2.5, True, "10", np.nan])
def test_bad_bins(name, bins):
    with pytest.raises(InputError, match="bins: expected a whole number of at least 1, got"):
        ESTIMATORS[name](bins=bins)


@pytest.mark.parametrize("neighbors", [0, -3, 2.5, True])
def test_bad_neighbors(neighbors):
    with pytest.raises(InputError, match="neighbors: expected a whole number of at least 1, got"):
        ESTIMATORS["nearest-neighbors"](neighbors=neighbors)


@pytest.mark.parametrize(("name", "setting"), [("kernel", "bandwidth"), ("bayesian", "prior")])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, True, "wide"])
def test_bad_bandwidth_and_prior(name, setting, value):
    with pytest.raises(InputError, match=f"{setting}: expected a finite number above 0, got"):
        ESTIMATORS[name](**{setting: value})


@pytest.mark.slow
@given(st.integers(2, 5), st.integers(1, 60), st.integers(0, 2**32 - 1), st.booleans())
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
        result = assess(Tally.of(y, p, labels=range(classes), exact_limit=exact_limit), measured="isotonic", floor=0.0)
        if result.reported.geometric_accuracy > 0:
            assert result.divergence_probability <= 1 + (1e-9 if exact_limit else 1e-4)


def test_divergence_of_rows_that_do_not_sum_to_1(rng):
    p = rng.dirichlet(np.ones(3), 200) * rng.uniform(0.9992, 1.0008, (200, 1))
    y = rng.integers(0, 3, 200)
    result = assess(y, p, measured="isotonic", floor=0.0)
    assert np.log(result.divergence_probability) <= p.sum(axis=1).mean() - 1 + 1e-12


@pytest.fixture(scope="module")
def counted():
    """Counts of forecasts that `softmax_forecasts` makes, each counted once for all estimators."""
    return cache(lambda seed, *made: Tally.of(*softmax_forecasts(np.random.default_rng(seed), *made)))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_perfect_forecasts_approach_divergence_and_slope_1(counted, name):
    errors = []
    for n in (2_000, 200_000):
        result = assess(counted(5, n, 3, 1.5), measured=name)
        errors.append(max(abs(result.averages_slope - 1), abs(result.divergence_probability - 1)))
    assert errors[1] < 0.02
    assert errors[1] < errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.parametrize(("temperature", "below"), [(1.6, True), (0.6, False)])
def test_direction_of_over_and_underconfidence(counted, name, temperature, below):
    result = assess(counted(6, 20_000, 3, 2.0, temperature), measured=name)
    assert (result.averages_slope < 1) == below
    assert (result.orientation > 45) == below


# SPEC section 6's table, N = 2000, floor .005: mean and standard deviation of 20 runs of the slope. By number of
# bins, isotonic regression at 0 bins, and -20 for 20 bins without the one of [0, floor].
SPEC_SLOPES = {
    (10, 6, 1.0): {0: (0.98, 0.05), 10: (1.06, 0.05), 20: (1.04, 0.05), 50: (1.01, 0.05), -20: (1.69, 0.11)},
    (10, 6, 1.6): {0: (0.61, 0.02), 10: (0.76, 0.03), 20: (0.75, 0.03), 50: (0.76, 0.03), -20: (1.05, 0.04)},
    (2, 1.5, 1.0): {0: (1.02, 0.07), 10: (1.06, 0.1), 20: (1.07, 0.1), 50: (1.04, 0.1), -20: (1.09, 0.09)},
    (100, 3, 1.1): {0: (0.91, 0.01), 10: (0.89, 0.02), 20: (0.91, 0.02), 50: (0.92, 0.02), -20: (0.90, 0.01)},
}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SPEC_SLOPES)
def test_slopes_of_the_specification(scenario):
    slopes = {bins: [] for bins in SPEC_SLOPES[scenario]}
    for seed in range(20):
        y, p = softmax_forecasts(np.random.default_rng(seed), 2000, *scenario)
        tally = Tally.of(y, p)
        reported = assess(tally, floor=0.005).reported
        counts, seen = tally.pairs(), tally.pairs().happened > 0
        for bins, found in slopes.items():
            if bins == 0:
                measured = isotonic.measure(*counts).measured
            else:
                measured = equal_population(bins=abs(bins)).measure(*counts, floor=0.005 if bins > 0 else 0.0).measured
            spread = averages(np.maximum(measured[seen], 0.005), counts.happened[seen]).spread
            found.append(spread / reported.spread)
    for bins, (mean, sd) in SPEC_SLOPES[scenario].items():
        # The mean of 20 runs against another mean of 20 runs, each rounded to two digits.
        assert np.mean(slopes[bins]) == pytest.approx(mean, abs=3 * sd * np.sqrt(2 / 20) + 0.01)


CORNERS = {
    "one row": ([1], [0.7]),
    "two rows": ([1, 0], [0.7, 0.4]),
    "constant": ([1, 0, 1, 1], [0.6] * 4),
    "all right": ([1, 0], [1.0, 0.0]),
    "all wrong": ([1, 0], [0.0, 1.0]),
    "atoms": ([1, 0, 1, 0], [0.0, 0.0, 1.0, 1.0]),
    "tie": ([1, 0], [0.5, 0.5]),
}


@pytest.mark.slow
@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize(
    ("name", "floor", "exact_limit"),
    [
        *product(sorted(ESTIMATORS), [0.0], [1 << 16]),
        *product(sorted(ESTIMATORS), [0.005], [0]),
        ("shrunk-isotonic", 1.0, 1 << 16),
    ],
)
def test_corners_answer_without_a_warning(corner, name, floor, exact_limit):
    y, p = CORNERS[corner]
    resamples = 40 if floor == 0.005 else 0
    tally = Tally.of(y, p, labels=[0, 1], parts=["classes", "predictions"], exact_limit=exact_limit)
    found = {
        view: assess(tally, measured=name, floor=floor, view=view, resamples=resamples)
        for view in VIEWS
        if view != "top-label"
    }
    for result in found.values():
        for mean in ("decisiveness", "geometric_accuracy", "robustness"):
            assert floor <= getattr(result.reported, mean) <= 1
            assert floor <= getattr(result.measured, mean) <= 1
        assert str(result)
        assert result.to_json()
    pooled, positive = (found[view].bins for view in ("all-classes", "each-class"))
    assert (pooled.happened.sum(), pooled.total.sum()) == (len(y), 2 * len(y))
    assert (positive.happened.sum(), positive.total.sum()) == (sum(y), len(y))


@pytest.mark.parametrize(
    ("reported", "told"),
    [((3.5e-172, 0.75), False), ((3.5e-172, 0.5), False), ((0.01, np.nextafter(0.01, 1)), False), ((0.4, 0.6), True)],
)
def test_a_line_is_told_by_what_is_measured_between_0_and_1(reported, told):
    """And by two values whose log-odds differ."""
    found = logistic.measure(*pairs(*((p, 1, 1) for p in reported)))
    assert set(found.settings) == ({"line_intercept", "line_slope"} if told else set())
    assert all(np.isfinite(value) for value in found.settings.values())


@pytest.mark.slow
def test_row_order_never_matters(rng):
    y, p = softmax_forecasts(rng, 2000, 4)
    order = rng.permutation(2000)
    for name in ESTIMATORS:
        for exact_limit in (0, 1 << 16):
            a = Tally.of(y, p, exact_limit=exact_limit)
            b = Tally.of(y[order], p[order], exact_limit=exact_limit)
            assert assess(a, measured=name).averages_slope == pytest.approx(
                assess(b, measured=name).averages_slope, rel=1e-11
            )


def log_odds(p):
    return np.log(p) - np.log1p(-p)


@pytest.mark.parametrize(("highest", "level", "steepness"), [(0.999, -0.4, 0.6), (0.05, 2.5, 0.4), (0.05, 4.5, 1.2)])
def test_logistic_is_the_likelihoods_own_maximum(rng, highest, level, steepness):
    """At the maximum, with the two added pairs, both score equations hold; far from the forecasts as well."""
    p = np.sort(rng.uniform(1e-3, highest, 300))
    total = rng.integers(1, 400, 300).astype(float)
    happened = rng.binomial(total.astype(int), expit(level + steepness * log_odds(p))).astype(float)
    measured = logistic.measure(p, happened, total).measured
    line = np.polynomial.Polynomial.fit(log_odds(p), log_odds(measured), 1)
    assert line(log_odds(p)) == pytest.approx(log_odds(measured), abs=1e-9)
    x = log_odds(p)
    information = total * p * (1 - p)
    place = x - np.average(x, weights=information)
    leverage = information / information.sum() + information * place**2 / (information @ place**2)
    assert leverage.sum() == pytest.approx(2)
    residual = (happened + leverage * p) - (total + leverage) * measured
    assert residual.sum() == pytest.approx(0, abs=1e-7)
    assert residual @ x == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(("level", "steepness"), [(0.0, 1.0), (0.4, 0.6), (-1.0, 1.7), (0.2, -0.5)])
def test_logistic_gives_intercept_and_slope(level, steepness):
    p = np.linspace(0.05, 0.95, 19)
    truth, n = expit(level + steepness * logit(p)), np.full(19, 1e6)
    settings = logistic.measure(p, n * truth, n).settings
    assert settings["line_intercept"] == pytest.approx(level, abs=1e-5)
    assert settings["line_slope"] == pytest.approx(steepness, abs=1e-5)
    assert logistic.measure(p[:1], truth[:1], n[:1]).settings == {}
    ends = np.r_[0, p, 1], np.r_[0, n * truth, 1e6], np.full(21, 1e6)
    assert logistic.measure(*ends).settings == pytest.approx(settings)


def test_logistic_of_exactly_recalibrated_counts():
    """Where frequencies lie on a line, more rows bring the estimate to it."""
    p = np.linspace(0.05, 0.95, 19)
    truth = 1 / (1 + np.exp(-0.3 - 0.5 * log_odds(p)))
    for n, within in ((1e3, 1e-3), (1e7, 1e-7)):
        assert logistic.measure(p, n * truth, np.full(19, n)).measured == pytest.approx(truth, abs=within)


def test_shrunk_isotonic_lies_between_the_line_and_the_blocks(rng):
    p = np.sort(rng.uniform(0.01, 0.99, 500))
    happened, total = rng.binomial(1, p**3).astype(float), np.ones(500)
    line, blocks = logistic.measure(p, happened, total).measured, isotonic.measure(p, happened, total).measured
    shrunk = shrunk_isotonic.measure(p, happened, total).measured
    assert (shrunk >= np.minimum(line, blocks) - 1e-12).all()
    assert (shrunk <= np.maximum(line, blocks) + 1e-12).all()


def test_shrunk_isotonic_of_certain_forecasts_is_the_curve_alone():
    found = shrunk_isotonic.measure(np.array([0.0, 1.0]), np.array([1.0, 7.0]), np.array([10.0, 10.0]))
    assert found.measured.tolist() == [0.1, 0.7]
    assert found.settings == {"share_of_isotonic": 1.0}


def test_shrunk_isotonic_is_the_line_with_few_rows_and_the_curve_with_many(rng):
    """Of forecasts whose truth is no line in log-odds."""

    def share(n, truth):
        p = np.sort(rng.uniform(0.01, 0.99, n))
        return shrunk_isotonic.measure(p, rng.binomial(1, truth(p)).astype(float), np.ones(n)).settings[
            "share_of_isotonic"
        ]

    def steps(p):
        return 0.1 + 0.4 * (p > 0.4) + 0.4 * (p > 0.6)

    assert np.mean([share(50, steps) for _ in range(10)]) < 0.7
    assert share(20_000, steps) > 0.98
    assert np.mean([share(20_000, lambda p: p) for _ in range(10)]) < 0.6


def test_shrunk_isotonic_does_not_believe_what_few_rows_never_saw():
    """A hundred of a hundred at .95: isotonic measures 1, which would be no surprise from .95 either."""
    counts = pairs((0.05, 0, 40), (0.5, 20, 40), (0.95, 40, 40))
    assert isotonic.measure(*counts).measured[2] == 1
    assert 0.95 < shrunk_isotonic.measure(*counts).measured[2] < 0.9995


def test_nearest_neighbors_by_hand(rng):
    """Every entry against its definition: the smallest distance that holds so many correct-class probabilities."""
    p = np.unique(rng.uniform(0.001, 0.999, 80).round(3))
    total = rng.integers(1, 5, p.size).astype(float)
    happened = np.floor(rng.uniform(size=p.size) * (total + 1))
    for k in (1, 4, 17, int(happened.sum()), 10_000):
        measured = nearest_neighbors(neighbors=k).measure(p, happened, total).measured
        distance = np.abs(log_odds(p)[:, None] - log_odds(p))
        for i in range(p.size):
            reach = next((d for d in np.sort(distance[i]) if happened[distance[i] <= d].sum() >= k), np.inf)
            here = distance[i] <= reach + 1e-9
            assert measured[i] == pytest.approx(happened[here].sum() / total[here].sum(), rel=1e-12)


@pytest.mark.parametrize("bandwidth", [0.05, 0.4, 3.0])
def test_kernel_is_the_weighted_share_of_what_happened(rng, bandwidth):
    """The grid against the sum over all pairs of entries."""
    p = np.unique(rng.beta(0.5, 0.5, 300))
    p = p[(p > 1e-6) & (p < 1 - 1e-6)]
    total = rng.integers(1, 50, p.size).astype(float)
    happened = rng.binomial(total.astype(int), p).astype(float)
    weight = np.exp(-0.5 * ((log_odds(p)[:, None] - log_odds(p)) / bandwidth) ** 2)
    expected = (weight @ happened) / (weight @ total)
    assert kernel(bandwidth=bandwidth).measure(p, happened, total).measured == pytest.approx(expected, abs=5e-3)


def test_bandwidth_is_silvermans_rule(rng):
    x = np.sort(rng.normal(size=4000))
    p = 1 / (1 + np.exp(-x))
    found = kernel.measure(p, np.ones(4000), np.full(4000, 2.0)).settings["bandwidth"]
    assert found == pytest.approx(0.9 * 4000**-0.2, rel=0.05)


def test_cluster_finds_groups_and_keeps_the_ends_apart():
    counts = pairs(
        (0.0, 0, 9), (0.001, 1, 9), (0.0012, 1, 9), (0.3, 2, 5), (0.31, 2, 5), (0.33, 1, 5), (0.9, 3, 3), (1.0, 4, 4)
    )
    assert cluster(bins=3).measure(*counts).bin.tolist() == [0, 1, 1, 2, 2, 2, 3, 4]
    assert cluster(bins=1).measure(*counts).bin.tolist() == [0, 1, 1, 1, 1, 1, 1, 2]


@pytest.mark.slow
@given(any_pairs(), st.integers(1, 12))
def test_clusters_are_nearest_to_their_own_centres(counts, bins):
    reported, happened, total = counts
    between = (reported > 0) & (reported < 1)
    bin_ = cluster(bins=bins).measure(reported, happened, total).bin[between]
    x, w = log_odds(reported[between]), happened[between]
    occupied = [b for b in np.unique(bin_) if w[bin_ == b].sum() > 0]
    assert np.unique(bin_).size <= bins
    if not occupied:
        return
    centres = np.array([np.average(x[bin_ == b], weights=w[bin_ == b]) for b in occupied])
    distance = np.abs(x[:, None] - centres)
    own = distance[np.arange(x.size), np.searchsorted(occupied, bin_)]
    assert own == pytest.approx(distance.min(axis=1), abs=1e-6 * (1 + np.abs(x).max()))


def test_bayesian_is_the_posterior_mean():
    counts = pairs((0.1, 0, 4), (0.2, 3, 4), (0.7, 3, 4), (0.8, 2, 4))
    plain, shrunk = equal_population(bins=2).measure(*counts), bayesian(bins=2, prior=3.0).measure(*counts)
    assert plain.bin.tolist() == shrunk.bin.tolist() == [0, 0, 1, 1]
    assert shrunk.measured.tolist() == pytest.approx([(3 + 3 * 0.15) / 11] * 2 + [(5 + 3 * 0.75) / 11] * 2)
    assert bayesian(bins=2, prior=1e-9).measure(*counts).measured == pytest.approx(plain.measured)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classes", "spread", "temperature"), [(2, 2.5, 2.0), (10, 6.0, 1.6), (10, 6.0, 0.7), (50, 4.0, 1.4)]
)
def test_the_default_is_right_about_the_direction_with_a_hundred_rows(classes, spread, temperature):
    """A few of the study's kind, in benchmarks/measured_probability.py, which is the evidence."""
    right = 0
    for seed in range(60):
        y, p = softmax_forecasts(np.random.default_rng(seed), 100, classes, spread, temperature)
        right += (assess(y, p).averages_slope < 1) == (temperature > 1)
    assert right >= 57


@pytest.mark.slow
@given(
    st.lists(st.floats(0.001, 0.999), min_size=2, max_size=12, unique=True),
    st.lists(st.sampled_from([0.0, 0.01, 0.2, 0.5, 0.9, 1.0]), min_size=12, max_size=12),
)
def test_shrunk_isotonic_finds_any_truth_that_rises(reported, truth):
    """Also one that is 0 or 1, where only one outcome is ever seen."""
    reported, truth = np.sort(reported), np.sort(truth[: len(reported)])
    measured = [shrunk_isotonic.measure(reported, n * truth, np.full(truth.size, n)).measured for n in (1e4, 1e10)]
    assert measured[1] == pytest.approx(truth, abs=1e-6)
    assert np.abs(measured[1] - truth).max() <= np.abs(measured[0] - truth).max() + 1e-9


def test_forecasts_turned_upside_down_are_measured_as_level(rng):
    """A line that falls is not followed: a swapped label must not read as a fair slope."""
    q = rng.beta(0.5, 0.5, 2000).round(2).clip(0.01, 0.99)
    y = (rng.uniform(size=2000) < q).astype(int)
    assert assess(y, 1 - q, view="all-classes").averages_slope == pytest.approx(0, abs=1e-6)
    of_positive = assess(y, 1 - q)
    level = of_positive.curve.measured[0]
    assert of_positive.curve.measured == pytest.approx(np.full(of_positive.curve.measured.size, level), abs=1e-12)
    assert level == pytest.approx(y.mean(), abs=1e-5)  # but for the two pairs that the prior is worth
    # Nothing is measured apart but the levels of the two classes.
    level = averages(np.array([level, 1 - level]), np.array([y.mean(), 1 - y.mean()])).spread
    assert of_positive.averages_slope == pytest.approx(level / of_positive.reported.spread, abs=1e-6)
    assert (
        assess(y, 1 - q, measured="logistic").averages_slope > 0.5
    )  # which reads them the other way round, as documented


def test_one_row_at_an_exact_end_is_no_curve_of_its_own(rng):
    q = rng.uniform(0.05, 0.95, 1000)
    y = (rng.uniform(size=1000) < q).astype(int)
    q[0], y[0] = 0.0, 1
    measured = assess(y, q).curve.measured
    assert measured[0] < 0.2
    assert measured[-1] > 0.8


@pytest.mark.parametrize("bandwidth", [1e3, 1e7, 1e300])
def test_a_wide_kernel_measures_the_common_frequency(bandwidth):
    counts = pairs((0.2, 1, 4), (0.25, 1, 6), (0.8, 3, 4))
    assert kernel(bandwidth=bandwidth).measure(*counts).measured == pytest.approx(5 / 14, abs=1e-4)
    near = pairs((0.5, 1, 4), (0.5 + 1e-10, 1, 6), (0.5 + 3e-10, 3, 4))
    assert kernel(bandwidth=0.5).measure(*near).measured == pytest.approx(5 / 14)


@pytest.mark.slow
@given(any_pairs(), st.integers(1, 2000), st.sampled_from([0.0, 0.005, 0.1]))
def test_many_bins_of_equal_population_are_apart_from_few_values(counts, bins, floor):
    """Every value with more than its share of what happened is in a bin of its own, floor wide."""
    reported, happened, total = counts
    bin_ = equal_population(bins=bins).measure(reported, happened, total, floor=floor).bin
    for at in np.flatnonzero(
        (happened > happened.sum() / bins * 1.001) & (reported > 2 * floor) & (reported < 1 - 2 * floor)
    ):
        near = np.abs(reported - reported[at]) <= floor / 2
        assert np.unique(bin_[near]).size == 1


def test_settings_are_refused_before_anything_is_counted():
    with pytest.raises(InputError, match="isotonic has no setting 'bins'"):
        assess("no outcomes at all", object(), measured="isotonic:bins=3")


def test_values_that_only_last_digits_tell_apart_are_one():
    y, p = [0, 1, 1, 2], [[0.1 + 0.2, 0.3, 0.4], [0.3, 0.1 + 0.2, 0.4], [0.3, 0.3, 0.4], [0.2, 0.4, 0.4]]
    for counted in (
        Tally.of(y, p, labels=range(3)).pairs(),
        Tally.of(y, p, labels=range(3), parts=["classes"]).class_pairs(1),
    ):
        assert (np.diff(counted.reported) > 0).all()
        assert counted.reported.tolist() in ([0.2, 0.3, 0.4], [0.3, 0.4])


@pytest.mark.slow
@given(any_pairs(), st.sampled_from(["isotonic", "shrunk-isotonic"]))
def test_curves_that_never_fall(counts, name):
    assert (np.diff(ESTIMATORS[name].measure(*counts).measured) >= -1e-12).all()


def test_estimators_are_values():
    """Equal by name and settings, also after a pickle; their settings cannot be changed by the way."""
    tens = ESTIMATORS["equal-width"](bins=10)
    assert tens == ESTIMATORS["equal-width"](bins=10) == pickle.loads(pickle.dumps(tens))
    assert tens != ESTIMATORS["equal-width"]
    assert len({tens, ESTIMATORS["equal-width"](bins=10)}) == 1
    with pytest.raises(TypeError):
        ESTIMATORS["equal-width"].settings["bins"] = 5
    assert tens(bins="auto") == ESTIMATORS["equal-width"]


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        ("equal_width", "did you mean 'equal-width'"),
        ("Isotonic", "did you mean 'isotonic'"),
        ("equal-width:bins=20,bins=30", "bins is set twice"),
        ("equal-width:", "expected a setting as in bins=20"),
        ("equal-width:bins", "expected a setting as in bins=20"),
    ],
)
def test_misspelt_estimators_say_what_is_meant(measured, message):
    with pytest.raises(InputError, match=message):
        assess([1, 0], [0.5, 0.4], measured=measured)


def test_settings_are_spelled_as_name_and_value():
    assert named_estimator("equal-width:bins=auto") == named_estimator("equal-width")
    assert named_estimator("equal-width:bins=20").settings == {"bins": 20}
    for text in ("equal-width:bins", "equal-width:bins=many"):
        with pytest.raises(InputError, match="measured: expected a setting as in bins=20, got 'bins"):
            named_estimator(text)
