import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm as normal

from helpers import pairs_by_rows, sixteenths, softmax_forecasts
from unperplexed import InputError, Tally, calibration_errors, expected_calibration_error, smooth_calibration_error
from unperplexed.calibration.errors import binned_error, smooth_error
from unperplexed.tally.binary import mirror
from unperplexed.tally.tables import Pairs
from unperplexed.tally.tally import PAIR_VIEWS

BINNINGS = ["equal-width", "equal-population"]
NORMS = [1, 2, np.inf]


def error_by_rows(groups, bins, norm):
    """Calibration error in bins [k, k + 1)/bins, the last one closed, written out."""
    terms = []
    for p, o, w in groups:
        for k in range(bins):
            here = (p >= k / bins) & ((p < (k + 1) / bins) | (k == bins - 1))
            if here.any():
                gap = abs(np.average(p[here], weights=w[here]) - np.average(o[here], weights=w[here]))
                terms.append((w[here].sum(), gap))
    weight, gap = np.array(terms).T
    return gap.max() if norm == np.inf else np.average(gap**norm, weights=weight) ** (1 / norm)


@pytest.mark.parametrize("view", PAIR_VIEWS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_errors_are_those_of_the_definition_by_rows(rng, view, norm, classes):
    y, p = sixteenths(rng, 500, classes)
    for bins in (1, 3, 8, 15, 16, 200):
        expected = error_by_rows(pairs_by_rows(y, p, view), bins, norm)
        got = expected_calibration_error(y, p, bins=bins, norm=norm, view=view)
        assert got == pytest.approx(expected, rel=1e-12), bins


def test_default_view_is_that_of_the_peers(rng):
    for classes, view in ((2, "each-class"), (3, "top-label")):
        y, p = sixteenths(rng, 200, classes)
        assert expected_calibration_error(y, p) == expected_calibration_error(y, p, view=view)
        assert smooth_calibration_error(y, p) == smooth_calibration_error(y, p, view=view)


def test_each_class_of_two_is_the_error_of_the_positive_class(rng):
    y, p = sixteenths(rng, 300, 2)
    expected = error_by_rows([(p[:, 1], y.astype(float), np.ones(300))], 15, 1)
    assert expected_calibration_error(y, p[:, 1]) == pytest.approx(expected, rel=1e-12)


def test_edges_belong_to_the_upper_bin():
    pairs = Pairs(np.array([0.1, 0.3, 0.7, 1.0]), np.array([1.0, 0, 1, 1]), np.ones(4))
    # Bins [.1, .2), [.3, .4), [.7, .8) and [.9, 1]: each value by itself, though 0.7 * 10 and 3 * 0.1 are not whole.
    assert binned_error([pairs], 10) == pytest.approx((0.9 + 0.3 + 0.3 + 0) / 4)
    two = Pairs(np.array([0.25, 0.5, 1.0]), np.array([1.0, 0, 1]), np.ones(3))
    assert binned_error([two], 2) == pytest.approx((0.75 + abs(1.5 - 1)) / 3)


def equal_population_by_rows(p, o, bins):
    """Calibration error in bins of equal numbers of rows, for distinct probabilities and a number that divides."""
    order = np.argsort(p)
    parts = np.split(order, bins)
    return np.mean([abs(p[part].mean() - o[part].mean()) for part in parts])


@pytest.mark.parametrize("bins", [1, 4, 10, 25])
def test_equal_population_without_ties(rng, bins):
    p = rng.uniform(size=100)
    o = (rng.uniform(size=100) < p**2).astype(float)
    order = np.argsort(p)
    pairs = Pairs(p[order], o[order], np.ones(100))
    assert binned_error([pairs], bins, "equal-population") == pytest.approx(equal_population_by_rows(p, o, bins))
    weighted = Pairs(p[order], o[order] * 1e-3, np.full(100, 1e-3))
    assert binned_error([weighted], bins, "equal-population") == pytest.approx(
        equal_population_by_rows(p, o, bins), rel=1e-11
    )


def test_equal_population_never_splits_a_value():
    # Shares of 3 of 9 pairs; the middle pairs of the values lie at 2.5, 6 and 8: shares 0, 2 and 2.
    pairs = Pairs(np.array([0.2, 0.5, 0.9]), np.array([2.0, 1, 1]), np.array([5.0, 2, 2]))
    assert binned_error([pairs], 3, "equal-population") == pytest.approx((abs(1 - 2) + abs(2.8 - 2)) / 9)


def reflected_kernel(t, p, width):
    """Gaussian density with all its mirror images at 0 and 1 that count."""
    images = [2 * k + side * p for k in range(-4, 5) for side in (-1, 1)]
    return sum(normal.pdf(t - image, scale=width) for image in images)


def smooth_by_definition(p, o, w, points=1000):
    t = (np.arange(points) + 0.5) / points

    def smoothed(width):
        residual = (w * (p - o)) @ reflected_kernel(t[None, :], p[:, None], width)
        return np.abs(residual).mean() / w.sum()

    return brentq(lambda width: smoothed(width) - width, 0.002, 3, xtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spread", "atoms at the ends", "few values", "close to the ends"])
def test_smooth_error_is_that_of_the_definition(rng, kind):
    p = np.unique(
        {
            "spread": rng.uniform(size=40),
            "atoms at the ends": np.append(rng.uniform(size=6), [0.0, 1.0]),
            "few values": np.array([0.1, 0.2, 0.5, 0.9]),
            "close to the ends": rng.beta(0.1, 0.1, 40),
        }[kind]
    )
    w = rng.integers(1, 30, p.size).astype(float)
    happened = rng.binomial(w.astype(int), 0.8 * p + 0.1).astype(float)
    expected = smooth_by_definition(p, happened / w, w)
    assert smooth_error([Pairs(p, happened, w)]) == pytest.approx(expected, rel=2e-4)


def test_smooth_error_of_one_sign_is_the_mean_residual():
    """A kernel moves residuals but loses none, so that what is never cancelled keeps its sum."""
    p = np.array([0.0, 0.3, 0.9, 1.0])
    pairs = Pairs(p, np.array([0.0, 1, 3, 5]), np.array([4.0, 8, 5, 9]))
    expected = (pairs.reported @ pairs.total - 9) / 26
    assert smooth_error([pairs]) == pytest.approx(expected, rel=1e-9)


def test_smooth_error_is_continuous_where_bins_are_not():
    y = np.tile([0, 1], 50)
    for epsilon in (1e-3, 1e-4, 1e-5):
        p = 0.5 + epsilon * (2 * y - 1)
        pairs = Pairs(np.array([0.5 - epsilon, 0.5 + epsilon]), np.array([0.0, 50.0]), np.array([50.0, 50.0]))
        assert binned_error([pairs], 10) == pytest.approx(0.5, abs=2 * epsilon)
        assert smooth_error([pairs]) < 1.1 * np.sqrt(epsilon)
        assert smooth_calibration_error(y, p, view="all-classes") < 1.1 * np.sqrt(epsilon)


def test_errors_of_many_rows():
    """Reported p where p^2 is true: |p - p^2| is 1/6 on average, and always on one side."""
    rng = np.random.default_rng(8)
    p = np.sort(rng.uniform(size=200_000))
    pairs = Pairs(p, (rng.uniform(size=p.size) < p * p).astype(float), np.ones(p.size))
    for binning in BINNINGS:
        assert binned_error([pairs], 50, binning) == pytest.approx(1 / 6, abs=2e-3)
    assert smooth_error([pairs]) == pytest.approx(1 / 6, abs=2e-3)
    assert binned_error([pairs], 50, norm=2) == pytest.approx(np.sqrt(1 / 30), abs=2e-3)
    assert binned_error([pairs], 50, norm=np.inf) == pytest.approx(1 / 4, abs=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("view", PAIR_VIEWS)
def test_errors_of_calibrated_forecasts_vanish_as_they_grow_many(view):
    found = []
    for n in (500, 50_000):
        y, p = softmax_forecasts(np.random.default_rng(9), n, 3, 1.5)
        errors = vars(calibration_errors(y, p)[view])
        found.append([errors[name] for name in ("ece", "ece_equal_population", "rmsce", "smooth_ece")])
    assert (np.array(found[1]) < 0.012).all()
    assert (np.array(found[1]) < 0.5 * np.array(found[0])).all()


@st.composite
def forecasts(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return (*sixteenths(rng, draw(st.integers(1, 60)), draw(st.integers(2, 5))), rng)


def everything(*arguments, **keywords):
    errors = calibration_errors(*arguments, **keywords)
    return np.array([list(vars(of_view).values()) for of_view in errors.values()])


@pytest.mark.slow
@given(forecasts(), st.integers(1, 20))
def test_laws_of_every_error(case, bins):
    y, p, rng = case
    n, classes = p.shape
    expected = everything(y, p, bins=bins, labels=range(classes))
    assert ((expected >= 0) & (expected <= 1 + 1e-12)).all()
    order = rng.permutation(n)
    assert everything(y[order], p[order], bins=bins, labels=range(classes)) == pytest.approx(expected, abs=1e-12)
    twice = np.append(np.arange(n), 0)
    weights = np.ones(n)
    weights[0] = 2
    assert everything(y, p, bins=bins, labels=range(classes), sample_weight=weights) == pytest.approx(
        everything(y[twice], p[twice], bins=bins, labels=range(classes)), abs=1e-9
    )
    assert everything(y, p, bins=bins, labels=range(classes), sample_weight=weights * 0.1) == pytest.approx(
        everything(y, p, bins=bins, labels=range(classes), sample_weight=weights), abs=1e-9
    )
    columns = rng.permutation(classes)
    permuted = everything(np.argsort(columns)[y], p[:, columns], bins=bins, labels=range(classes))
    if classes == 2:  # bins of the class by itself are the positive one's, and edges are not mirrored
        permuted[1, :-1] = expected[1, :-1]
    assert permuted == pytest.approx(expected, abs=1e-9)
    cut = rng.integers(0, n + 1)
    parts = [Tally.of(y[part], p[part], parts=["classes"]) for part in (slice(cut), slice(cut, n))]
    assert everything(sum(parts, Tally()), bins=bins) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@given(forecasts(), st.integers(1, 20))
def test_errors_by_size(case, bins):
    """The mean is at most the root mean square, and that at most the largest; a smoothed error lies between the bias
    and the mean distance of single values."""
    y, p, _ = case
    for view, errors in calibration_errors(y, p, bins=bins, labels=range(p.shape[1])).items():
        assert errors.ece <= errors.rmsce + 1e-12 <= errors.mce + 2e-12
        smooth, by_value = [], []
        for reported, happened, weight in pairs_by_rows(y, p, view):
            smooth.append(abs(np.average(reported - happened, weights=weight)))
            off = np.bincount((reported * 16).astype(int), (reported - happened) * weight)
            by_value.append(np.abs(off).sum() / weight.sum())
        assert np.mean(smooth) - 1e-9 <= errors.smooth_ece <= np.mean(by_value) + 1e-9


def test_forecasts_whose_frequencies_are_their_probabilities_have_no_error():
    p = np.repeat(np.arange(17) / 16, 16)
    y = np.concatenate([np.arange(16) < k for k in range(17)]).astype(int)
    assert everything(y, p) == pytest.approx(0, abs=1e-12)


# Rows, and their largest error in each view: top-label, each-class, all-classes.
CORNERS = {
    "one row": ([1], [0.75], [0.25, 0.25, 0.25]),
    "two rows": ([1, 0], [0.75, 0.5], [0.25, 0.5, 0.25]),
    "constant": ([1, 0, 1, 1], [0.625] * 4, [0.125, 0.125, 0.125]),
    "all right": ([1, 0], [1.0, 0.0], [0, 0, 0]),
    "all wrong": ([1, 0], [0.0, 1.0], [1, 1, 1]),
    "atoms": ([1, 0, 1, 0], [0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 0.5]),
    "tie": ([1, 0], [0.5, 0.5], [0, 0, 0]),
}


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_corners(corner, exact_limit):
    y, p, largest = CORNERS[corner]
    tally = Tally.of(y, p, parts=["classes"], exact_limit=exact_limit)
    errors = calibration_errors(tally)
    tolerance = 1e-12 if tally.exact else 1e-3  # the middle of a cell stands for what did not happen in it
    assert [errors[view].mce for view in PAIR_VIEWS] == pytest.approx(largest, abs=tolerance)
    for of_view, most in zip(errors.values(), largest, strict=True):
        assert all(0 <= error <= most + tolerance for error in vars(of_view).values())


def test_errors_are_what_the_functions_say(rng):
    y, p = sixteenths(rng, 200, 4)
    for view, errors in calibration_errors(y, p, bins=7).items():
        arguments = {"bins": 7, "view": view}
        assert errors.ece == expected_calibration_error(y, p, **arguments)
        assert errors.ece_equal_population == expected_calibration_error(y, p, binning=BINNINGS[1], **arguments)
        assert errors.rmsce == expected_calibration_error(y, p, norm=2, **arguments)
        assert errors.mce == expected_calibration_error(y, p, norm=np.inf, **arguments)
        assert errors.smooth_ece == smooth_calibration_error(y, p, view=view)


@pytest.mark.parametrize("view", ["top-label", "all-classes"])
def test_cells_are_close(view):
    y, p = softmax_forecasts(np.random.default_rng(10), 20_000, 5, 2.0, 1.4)
    exact, cells = (Tally.of(y, p, exact_limit=limit) for limit in (1 << 20, 0))
    for binning, norm in itertools.product(BINNINGS, [1, 2]):
        arguments = {"binning": binning, "norm": norm, "view": view}
        expected = expected_calibration_error(exact, **arguments)
        assert expected_calibration_error(cells, **arguments) == pytest.approx(expected, abs=2e-4)
    assert smooth_calibration_error(cells, view=view) == pytest.approx(
        smooth_calibration_error(exact, view=view), abs=2e-5
    )


def test_pairs_of_the_opposite():
    pairs = mirror(Pairs(np.array([0.1, 0.7]), np.array([1.0, 2]), np.array([4.0, 3])))
    assert pairs.reported.tolist() == [0.3, 0.9]
    assert pairs.happened.tolist() == [1, 3]
    assert pairs.total.tolist() == [3, 4]


def test_a_part_that_knows_one_class_only():
    tally = Tally.of(["rain", "rain"], [0.75, 0.5], pos_label="rain", parts=["classes"])
    assert tally.labels == (None, "rain")
    assert expected_calibration_error(tally) == pytest.approx(0.375)


@pytest.mark.parametrize("bins", [0, -1, 2.5, True, "15"])
@pytest.mark.parametrize("call", [expected_calibration_error, calibration_errors])
def test_bad_bins(call, bins):
    with pytest.raises(InputError, match="bins: expected a whole number"):
        call([1, 0], [0.5, 0.4], bins=bins)


BAD = {
    "binning": ({"binning": "quantile"}, "binning: expected one of 'equal-width', 'equal-population'"),
    "norm": ({"norm": 3}, "norm: expected 1, 2 or inf, got 3"),
    "norm as text": ({"norm": "l1"}, "norm: expected 1, 2 or inf"),
    "norm true": ({"norm": True}, "norm"),
    "view": ({"view": "every-class"}, "view: expected one of 'top-label', 'each-class', 'all-classes'"),
    "weights": ({"sample_weight": [0.0, 0.0]}, "total weight is 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case):
    arguments, message = BAD[case]
    with pytest.raises(InputError, match=message):
        expected_calibration_error([1, 0], [0.5, 0.4], **arguments)


def test_a_tally_must_have_what_the_view_needs():
    two = Tally.of([1, 0], [0.5, 0.4])  # whose rows are counted by outcome
    assert list(calibration_errors(two)) == ["top-label", "each-class", "all-classes"]
    for call in (expected_calibration_error, smooth_calibration_error):
        assert call(two) == call([1, 0], [0.5, 0.4])
    tally = Tally.of([1, 0, 2], np.full((3, 3), 1 / 3))
    assert list(calibration_errors(tally)) == ["top-label", "all-classes"]
    for call in (expected_calibration_error, smooth_calibration_error):
        with pytest.raises(InputError, match=r"parts=\['classes'\] \(--parts classes\)"):
            call(tally, view="each-class")
    for call in (expected_calibration_error, smooth_calibration_error, calibration_errors):
        with pytest.raises(InputError, match="sample_weight: a tally's rows are already counted"):
            call(tally, sample_weight=[1, 1])
        with pytest.raises(InputError, match="y_prob: missing"):
            call([1, 0])
        with pytest.raises(InputError, match="no rows"):
            call(Tally())
    assert expected_calibration_error(two, view="top-label") == pytest.approx(0.2)
