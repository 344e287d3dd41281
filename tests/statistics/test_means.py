import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unperplexed import InputError
from unperplexed.statistics import (
    coupling_from_order,
    generalized_mean,
    log_std_factor,
    order_from_coupling,
    suggested_floor,
)
from unperplexed.statistics.means import (
    DECISIVE,
    DEFAULT_ORDERS,
    GEOMETRIC,
    ROBUST,
    Averages,
    effective_number,
    floor_for,
    means_of_points,
    means_of_runs,
    orientation,
)

SMALLEST_NORMAL = np.finfo(float).tiny
ORDERS = [0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 2 / 3, 1, 3, 50, 1e3, 1e6]
SIGNED_ORDERS = [sign * r for r in ORDERS for sign in (1, -1)]


def reference(p, w, r):
    """Generalized mean in 50-digit arithmetic."""
    with mpmath.workdps(50 + 30):  # the spare digits cover the division by r near 0
        p, w, r = [mpmath.mpf(float(x)) for x in p], [mpmath.mpf(float(x)) for x in w], mpmath.mpf(r)
        total = mpmath.fsum(w)
        logs = [mpmath.log(x) for x in p]
        if r == 0:
            return mpmath.exp(mpmath.fsum(a * b for a, b in zip(w, logs, strict=True)) / total)
        largest = max(r * x for x in logs)
        moment = mpmath.fsum(a * mpmath.exp(r * b - largest) for a, b in zip(w, logs, strict=True)) / total
        return mpmath.exp((largest + mpmath.log(moment)) / r)


KINDS = {
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "all magnitudes": lambda rng, n: 10.0 ** rng.uniform(-307.6, 0, n),
    "next to 1": lambda rng, n: 1 - 10.0 ** rng.uniform(-16, -1, n),
    "1 and next to nothing": lambda rng, n: np.where(rng.uniform(size=n) < 0.5, 1, 10.0 ** rng.uniform(-307, -290)),
    "one value": lambda rng, n: np.full(n, rng.uniform()),
    "densities": lambda rng, n: rng.lognormal(0, 3, n),
}
WEIGHTS = {
    "none": lambda rng, n: np.ones(n),
    "mild": lambda rng, n: rng.uniform(0.01, 1, n),
    "wild": lambda rng, n: 10.0 ** rng.uniform(-12, 12, n),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("r", SIGNED_ORDERS)
def test_against_50_digits(rng, kind, weighting, r):
    for n in (1, 2, 7, 30):
        p = np.clip(KINDS[kind](rng, n), SMALLEST_NORMAL, 1)
        w = WEIGHTS[weighting](rng, n)
        expected = reference(p, w, r)
        assert expected >= SMALLEST_NORMAL
        got = generalized_mean(p, r, sample_weight=w)
        assert abs(mpmath.mpf(got) - expected) / expected <= 2e-13


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n"), [*((kind, 7) for kind in KINDS), *((kind, 1000) for kind in [*KINDS][:2])])
def test_many_orders_at_once_against_50_digits(rng, kind, n):
    """A thousand points are more than are taken with all orders at once."""
    p = np.clip(KINDS[kind](rng, n), SMALLEST_NORMAL, 1)
    w = WEIGHTS["mild"](rng, n)
    orders = np.array([*SIGNED_ORDERS, np.inf, -np.inf])
    got = means_of_points(p, w, orders)
    assert (got[-2], got[-1]) == (p.max(), p.min())
    for r, mean in zip(SIGNED_ORDERS, got, strict=False):
        expected = reference(p, w, r)
        assert abs(mpmath.mpf(mean) - expected) / expected <= 2e-13


@pytest.mark.parametrize("r", [1e-12, 1e-9, 1e-3, 0.5, 1, 40])
def test_zeros_at_positive_orders_against_50_digits(rng, r):
    p = rng.uniform(0.1, 1, 20)
    w = np.ones(21)
    w[20] = 1e-11  # a zero of little weight, so that small orders do not underflow
    with mpmath.workdps(50):
        share = mpmath.mpf(20) / (mpmath.mpf(20) + mpmath.mpf(1e-11))
        expected = reference(p, w[:20], r) * share ** (1 / mpmath.mpf(r))
    got = generalized_mean([*p, 0.0], r, sample_weight=w)
    assert abs(mpmath.mpf(got) - expected) / expected <= 2e-13


def test_named_orders():
    p = [0.2, 0.4, 0.9]
    assert generalized_mean(p, 1) == pytest.approx(0.5, abs=1e-15)
    assert generalized_mean(p, 0) == pytest.approx((0.2 * 0.4 * 0.9) ** (1 / 3), rel=1e-15)
    assert generalized_mean(p, -1) == pytest.approx(3 / (1 / 0.2 + 1 / 0.4 + 1 / 0.9), rel=1e-15)
    assert generalized_mean(p, np.inf) == 0.9
    assert generalized_mean(p, -np.inf) == 0.2
    assert generalized_mean([0.3, 1.0], np.inf, sample_weight=[1, 0]) == 0.3


probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=30)
orders = st.floats(-1e6, 1e6)


@given(probabilities, orders, orders)
def test_it_grows_with_the_order_and_stays_in_range(p, r, s):
    low, high = sorted((r, s))
    a, b = generalized_mean(p, low), generalized_mean(p, high)
    assert min(p) <= a <= b * (1 + 4e-13) <= max(p) * (1 + 4e-13)


@pytest.mark.slow
@given(probabilities, orders, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(p, r, random):
    shuffled = random.sample(p, len(p))
    assert generalized_mean(shuffled, r) == pytest.approx(generalized_mean(p, r), rel=4e-13, abs=1e-300)


@given(probabilities, st.floats(-50, 50))
def test_weight_2_is_the_row_twice_and_weight_0_is_no_row(p, r):
    doubled = generalized_mean([*p, p[0]], r)
    assert generalized_mean([*p, 0.0], r, sample_weight=[2] + [1] * (len(p) - 1) + [0]) == pytest.approx(
        doubled, rel=4e-13, abs=1e-300
    )


@pytest.mark.slow
@given(probabilities.filter(lambda p: min(p) > 1e-100), st.floats(-20, 20), st.floats(1e-100, 1))
def test_homogeneous(p, r, scale):
    scaled = generalized_mean([x * scale for x in p], r)
    assert scaled == pytest.approx(scale * generalized_mean(p, r), rel=4e-13)


@pytest.mark.slow
@given(probabilities.filter(lambda p: min(p) > 1e-12), st.floats(0.01, 8))
def test_escort_duality(p, r):
    """M_r weighted by the escort p^(1-r)/sum p^(1-r) equals M_-r weighted by p (SPEC section 4)."""
    q = np.array(p) / np.sum(p)
    escorted = generalized_mean(q, r, sample_weight=q ** (1 - r))
    assert escorted == pytest.approx(generalized_mean(q, -r, sample_weight=q), rel=1e-9)


@pytest.mark.parametrize("r", [-np.inf, -5, -1e-9, 0])
def test_a_zero_makes_nonpositive_orders_zero(r):
    assert generalized_mean([0.0, 1.0, 0.5], r) == 0.0


def test_floor_and_limit():
    assert generalized_mean([0.0, 1.0], 1, floor=0.1) == pytest.approx(0.55)
    assert generalized_mean([0.0, 1.0], 1, floor=(0.1, 0.9)) == pytest.approx(0.5)
    assert generalized_mean([0.0, 1.0], 0, floor=0.01) == pytest.approx(0.1, rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([0.5, np.nan], 1), "row 1"),
        (([0.5, np.inf], 1), "row 1"),
        (([-0.1], 1), "row 0"),
        (([[0.5]], 1), "shape"),
        (([0.5], np.nan), "r:"),
        (([0.5], 1, [0.0]), "total weight"),
        (([0.5], 1, [-1.0]), "negative"),
        (([0.5], 1, [np.inf]), "out of scale"),
        (([0.5], 1, [1e-120]), "out of scale .* 1e-120. Weights are 0 or from 1e-100 to 1e\\+100"),
        (([0.5], 1, [1.0, 1.0]), "shape"),
        (([], 1), "total weight"),
        ((["a"], 1), "not a number at row 0"),
        (([0.5], 1, None, 1.5), "floor"),
        (([0.5], 1, None, (0.6, 0.4)), "floor"),
        (([0.5], 1, None, (0.1, 0.8)), "floor: expected one number, or two of which the second is 1 minus the first"),
    ],
)
def test_bad_arguments(arguments, named):
    with pytest.raises(InputError, match=named):
        generalized_mean(*arguments)


@pytest.mark.parametrize(("r", "coupling"), [(1, -1 / 3), (-2 / 3, 1 / 2), (0, 0)])
def test_orders_and_couplings_of_the_papers(r, coupling):
    assert order_from_coupling(coupling) == pytest.approx(r, abs=1e-15)
    assert coupling_from_order(r) == pytest.approx(coupling, abs=1e-15)


@given(st.floats(-0.13, 5), st.integers(1, 7), st.floats(0.5, 3))
def test_order_and_coupling_are_inverse(coupling, d, alpha):
    assert coupling_from_order(order_from_coupling(coupling, d=d, alpha=alpha), d=d, alpha=alpha) == pytest.approx(
        coupling, abs=1e-9
    )


def test_effective_number_of_weights():
    """Kish (1965): that of equal ones is theirs, whatever their scale; one that outweighs all others is alone."""
    assert effective_number(np.full(7, 1e-90)) == pytest.approx(7)
    assert effective_number(np.array([1.0, 2.0, 3.0])) == pytest.approx(36 / 14)
    assert effective_number(np.array([1.0, 1e90])) == pytest.approx(1)
    assert effective_number(np.zeros(3)) == effective_number(np.zeros(0)) == 0


def test_conjugate_orders():
    """Decisiveness and robustness are conjugate under kappa -> -kappa/(1 + kappa)."""
    kappa = coupling_from_order(1.0)
    assert order_from_coupling(-kappa / (1 + kappa)) == pytest.approx(-2 / 3)


def test_no_coupling_beyond_the_bounds():
    with pytest.raises(InputError, match="r:"):
        coupling_from_order(-2.0)
    for coupling in (-1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="coupling"):
            order_from_coupling(coupling)
    with pytest.raises(InputError, match="d must"):
        order_from_coupling(1.0, d=0)


@pytest.mark.parametrize(("d", "alpha"), [(1, 2.0), (2, 1.0), (4, 3.0)])
def test_orders_and_couplings_are_bounded_by_the_dimension(d, alpha):
    order, coupling = -alpha / d, -1 / d
    assert coupling_from_order(order + 1e-6, d=d, alpha=alpha) > 1e4
    assert order_from_coupling(coupling + 1e-6, d=d, alpha=alpha) > 1e4
    with pytest.raises(InputError, match=f"above -alpha/d = {order:g}, got {order}"):
        coupling_from_order(order, d=d, alpha=alpha)
    with pytest.raises(InputError, match=f"above -1/d = {coupling:g}, got {coupling}"):
        order_from_coupling(coupling, d=d, alpha=alpha)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=20))
def test_log_std_factor_is_the_population_deviation(p):
    assert log_std_factor(p) == pytest.approx(np.exp(-np.std(np.log(p))), rel=1e-9)


def test_log_std_factor_at_the_ends():
    assert log_std_factor([0.0, 0.5]) == 0.0
    assert log_std_factor([0.3, 0.3]) == 1.0
    assert log_std_factor([0.2, 0.8], [1, 0]) == 1.0


def test_suggested_floor():
    assert [suggested_floor(n) for n in (1, 4, 1000)] == [0.5, 0.125, 0.0005]
    with pytest.raises(InputError):
        suggested_floor(0)


def test_default_orders_hold_the_named_ones():
    assert DEFAULT_ORDERS.size == 121
    assert {-3.0, -2 / 3, 0.0, 1.0, 3.0} <= set(DEFAULT_ORDERS)
    assert (np.diff(DEFAULT_ORDERS) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", WEIGHTS)
def test_means_of_runs_against_50_digits(rng, kind, weighting):
    lengths = np.array([1, 2, 7, 30, 1])
    first = np.cumsum(lengths) - lengths
    p = np.clip(KINDS[kind](rng, lengths.sum()), SMALLEST_NORMAL, 1)
    w = WEIGHTS[weighting](rng, lengths.sum())
    found = means_of_runs(p, w, first)
    for run, (start, length) in enumerate(zip(first, lengths, strict=True)):
        here = slice(start, start + length)
        for mean, r in zip(found[:, run], (DECISIVE, GEOMETRIC, ROBUST), strict=True):
            expected = reference(p[here], w[here], r)
            assert abs(mpmath.mpf(float(mean)) - expected) / expected <= 2e-13
            assert p[here].min() <= mean <= p[here].max()


def test_means_of_runs_with_zeros():
    means = means_of_runs(np.array([0.0, 0.5, 0.0, 0.5, 0.5]), np.ones(5), np.array([0, 2, 3]))
    assert means.tolist() == [[0.25, 0, 0.5], [0, 0, 0.5], [0, 0, 0.5]]


def test_the_floor_of_many_classes_and_the_couplings_of_many_dimensions():
    assert [floor_for("auto", n) for n in (2, 4, 1000)] == [0.005, 0.0025, 0.00001]
    assert floor_for(0.1, 4) == 0.1
    for d in (1, 2, 5):
        with pytest.raises(InputError, match=rf"above -1/d = {-1 / d:g}, got"):
            order_from_coupling(-1 / d, d=d)
        assert order_from_coupling(-0.999 / d, d=d) > 0


def test_the_orientation_of_averages_that_are_equal_on_one_side():
    level, steep = Averages(0.5, 0.5, 0.5), Averages(0.6, 0.5, 0.4)
    assert (orientation(steep, steep), orientation(level, steep), orientation(steep, level)) == (45, 0, 90)
    assert np.isnan(orientation(level, level))
