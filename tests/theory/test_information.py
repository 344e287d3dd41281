import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import rel_entr

from unperplexed import InputError, risk_profile
from unperplexed.scores import brier_score, log_loss
from unperplexed.statistics import generalized_mean, order_from_coupling
from unperplexed.theory import (
    average_probability,
    coupled_entropy,
    coupled_exp,
    coupled_log,
    cross_entropy,
    divergence,
    entropy,
    escort,
    normalized_tsallis_entropy,
    renyi_entropy,
    total_probability,
    tsallis_entropy,
)

ORDERS = [0, 5e-324, 1e-300, 1e-16, 1e-12, 1e-7, 1e-6, 1e-3, 0.5, 1, 3, 50, 1e3, 1e6, 1e9, 1e20, 1e300]
SIGNED_ORDERS = sorted({sign * r for r in ORDERS for sign in (1, -1)})
MEASURES = [entropy, divergence, cross_entropy]
SCALES = ["nats", "bits", "perplexity", "probability"]


def normalized(values):
    return np.asarray(values) / np.sum(values)


def with_rest(rest):
    return np.append(1 - rest.sum(), rest)


def reference(w, values, r):
    """Logarithm of the generalized mean with weights w, in 50-digit arithmetic."""
    with mpmath.workdps(400 if 0 < abs(r) < 1e-30 else 80):  # the spare digits cover the division by r near 0
        total = mpmath.fsum(w)
        points = [(a, mpmath.log(b)) for a, b in zip(w, values, strict=True) if a > 0 and b > 0]
        lost = any(a > 0 and b == 0 for a, b in zip(w, values, strict=True))
        if not points or (r <= 0 and lost):
            return -mpmath.inf
        if r == 0:
            return mpmath.fsum(a * x for a, x in points) / total
        r = mpmath.mpf(r)
        largest = max(r * x for _, x in points)
        return (largest + mpmath.log(mpmath.fsum(a * mpmath.exp(r * x - largest) for a, x in points) / total)) / r


def exact(p):
    """A distribution in 50-digit arithmetic, divided by its sum as the functions do."""
    with mpmath.workdps(400):
        p = [mpmath.mpf(float(x)) for x in p]
        total = mpmath.fsum(p)
        return [x / total for x in p]


KINDS = {
    "flat": lambda rng, n: rng.dirichlet(np.ones(n)),
    "all magnitudes": lambda rng, n: normalized(10.0 ** rng.uniform(-300, 0, n)),
    "next to certain": lambda rng, n: with_rest(10.0 ** rng.uniform(-18, -3, n - 1)),
    "uniform": lambda rng, n: np.full(n, 1 / n),
    "some impossible": lambda rng, n: normalized(
        np.append(rng.uniform(size=n - 1) * (rng.uniform(size=n - 1) < 0.5), 0.3)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_against_50_digits(rng, kind, other):
    for r in SIGNED_ORDERS:
        p, q = KINDS[kind](rng, 5), KINDS[other](rng, 5)
        w, v = exact(p), exact(q)
        ratios = [b / a if a > 0 else mpmath.mpf(1) for a, b in zip(w, v, strict=True)]
        for measure, given_, values in (
            (entropy, (p,), w),
            (cross_entropy, (p, q), v),
            (divergence, (p, q), ratios),
        ):
            expected = reference(w, values, r)
            nats, average = (measure(*given_, order=r, scale=scale) for scale in ("nats", "probability"))
            if expected < -1e307:
                assert nats == np.inf
                assert average == 0
                continue
            # Ratios of all magnitudes may average to 1; probabilities below 1 do not cancel.
            assert abs(nats + expected) <= (1e-13 if measure is divergence else 1e-15) + 1e-14 * abs(expected)
            if expected > -690:
                assert abs(average / mpmath.exp(expected) - 1) <= 2e-13


def test_values_by_hand():
    """Powers of 2: every figure is exact."""
    p, q = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    assert [entropy(p, scale=s) for s in SCALES[1:]] == pytest.approx([1.5, 2**1.5, 2**-1.5], rel=1e-15)
    assert [divergence(p, q, scale=s) for s in SCALES[1:]] == pytest.approx([0.25, 2**0.25, 2**-0.25], rel=1e-15)
    assert [cross_entropy(p, q, scale=s) for s in SCALES[1:]] == pytest.approx([1.75, 2**1.75, 2**-1.75], rel=1e-15)
    assert entropy(p, order=1, scale="probability") == pytest.approx(6 / 16, rel=1e-15)
    assert entropy(p, order=-1, scale="probability") == pytest.approx(1 / 3, rel=1e-15)
    assert cross_entropy(p, q, order=1, scale="probability") == pytest.approx(5 / 16, rel=1e-15)
    assert divergence(p, q, order=-1, scale="probability") == pytest.approx(1 / (1 + 0.25 + 0.125), rel=1e-15)
    assert escort(p, -1) == pytest.approx(np.array([4, 1, 1]) / 6, rel=1e-15)


@st.composite
def distributions(draw, size=None, zeros=False):
    size = size or draw(st.integers(2, 8))
    values = st.one_of(st.floats(1e-12, 1), st.floats(0.1, 1), *([st.just(0.0)] if zeros else []))
    parts = draw(st.lists(values, min_size=size, max_size=size))
    assume(sum(parts) > 0.01)
    return normalized(parts)


pairs = st.integers(2, 8).flatmap(lambda n: st.tuples(distributions(n, zeros=True), distributions(n, zeros=True)))
orders = st.one_of(st.floats(-20, 20), st.sampled_from([0.0, 1e-300, -1e-12, 1e-9, -1e3, 1e3]))


@pytest.mark.slow
@given(distributions(zeros=True))
def test_shannon_against_scipy(p):
    assert entropy(p) == pytest.approx(stats.entropy(p), rel=1e-13, abs=1e-15)
    assert entropy(p, scale="bits") == pytest.approx(stats.entropy(p, base=2), rel=1e-13, abs=1e-15)


@pytest.mark.slow
@given(pairs)
def test_divergence_against_scipy(pair):
    p, q = pair
    assert divergence(p, q) == pytest.approx(stats.entropy(p, q), rel=1e-13, abs=1e-14)
    assert divergence(p, q) == pytest.approx(rel_entr(p, q).sum(), rel=1e-13, abs=1e-14)


@pytest.mark.slow
@given(pairs, orders)
def test_the_scales_are_of_one_average(pair, r):
    for measure, given_ in zip(MEASURES, (pair[:1], pair, pair), strict=True):
        nats, bits, perplexity, probability = (measure(*given_, order=r, scale=scale) for scale in SCALES)
        assert bits == pytest.approx(nats / np.log(2), rel=1e-15)
        assert probability == pytest.approx(np.exp(-nats), rel=1e-15)
        if nats < 700:
            assert perplexity == pytest.approx(1 / probability, rel=1e-13)


@pytest.mark.slow
@given(pairs)
def test_chain_at_order_0(pair):
    """P_cross = P_entropy P_divergence ([RP] eq. 2.5)."""
    p, q = pair
    assert cross_entropy(p, q) == pytest.approx(entropy(p) + divergence(p, q), rel=1e-13, abs=1e-14)
    product = entropy(p, scale="probability") * divergence(p, q, scale="probability")
    assert cross_entropy(p, q, scale="probability") == pytest.approx(product, rel=1e-12)


def test_the_chain_is_broken_at_other_orders():
    p, q = [0.7, 0.3], [0.4, 0.6]
    for r in (-2 / 3, 1.0):
        assert abs(cross_entropy(p, q, order=r) - entropy(p, order=r) - divergence(p, q, order=r)) > 0.01


@pytest.mark.slow
@given(pairs, st.floats(-20, 0.99))
def test_divergence_is_0_for_equals_and_positive_for_others(pair, r):
    p, q = pair
    apart = np.abs(p - q).max()
    got = divergence(p, q, order=r)
    assert got >= 0
    if apart > 1e-6:
        assert got > 1e-15 * (1 - r)
    assert divergence(p, p, order=r) == 0
    assert divergence(q, q, order=r, scale="probability") == 1


def test_divergence_is_not_negative_by_rounding(rng):
    for _ in range(100):
        p = rng.dirichlet(np.ones(20))
        q = normalized(p * (1 + 1e-9 * rng.normal(size=20)))
        for r in (-1, 0, 0.5, 1):
            assert divergence(p, q, order=r) >= 0
            assert divergence(p, q, order=r, scale="probability") <= 1


@pytest.mark.slow
@given(pairs)
def test_named_divergences(pair):
    """At order 1/2, twice Bhattacharyya's; at -1, ln(1 + chi squared); at 1, the mass of q where p has some."""
    p, q = pair
    assert divergence(p, q, order=0.5, scale="probability") == pytest.approx(
        np.sqrt(p * q).sum() ** 2, rel=1e-12, abs=1e-15
    )
    if (q[p > 0] > 1e-100).all():
        chi2 = ((p[p > 0] ** 2) / q[p > 0]).sum() - 1
        assert divergence(p, q, order=-1) == pytest.approx(np.log1p(chi2), rel=1e-12, abs=1e-14)
    assert divergence(p, q, order=1, scale="probability") == pytest.approx(q[p > 0].sum(), rel=1e-13, abs=1e-15)


@pytest.mark.slow
@given(pairs, orders, orders)
def test_all_means_grow_with_the_order(pair, r, s):
    low, high = sorted((r, s))
    for measure, given_ in zip(MEASURES, (pair[:1], pair, pair), strict=True):
        below, above = (measure(*given_, order=order, scale="probability") for order in (low, high))
        assert below <= above * (1 + 1e-12)


@pytest.mark.slow
@given(distributions(zeros=True), st.floats(-1, 50), st.floats(-0.9, 0.99))
def test_uniform_is_maximum_entropy_and_minimum_mean(p, order, r):
    n = len(p)
    uniform = np.full(n, 1 / n)
    assert entropy(uniform, order=order) == pytest.approx(np.log(n), rel=1e-14)
    assert entropy(p, order=order) <= np.log(n) * (1 + 1e-14)
    assert entropy(p, order=order, scale="probability") >= 1 / n * (1 - 1e-14)
    for measure in (renyi_entropy, tsallis_entropy, normalized_tsallis_entropy):
        assert measure(p, r) <= measure(uniform, r) * (1 + 1e-13)
    kappa = -r / (2 + r)
    assert coupled_entropy(p, kappa) <= coupled_entropy(uniform, kappa) * (1 + 1e-13)
    assert coupled_entropy(uniform, kappa) == pytest.approx(coupled_log(n**2, kappa), rel=1e-12)


@pytest.mark.parametrize("r", [-20, -2 / 3, -1e-12, 0, 1e-9, 1, 2.5, np.inf, -np.inf])
def test_cross_entropy_is_where_risk_profiles_go(r):
    """The mean of forecasts q over 100 outcomes that come exactly as often as p says."""
    counts, q = np.array([55, 30, 15]), np.array([0.7, 0.2, 0.1])
    outcomes = np.repeat([0, 1, 2], counts)
    profile = risk_profile(outcomes, np.tile(q, (100, 1)), orders=[r], floor=0)
    assert cross_entropy(counts / 100, q, order=r, scale="probability") == pytest.approx(profile.values[0], rel=1e-13)
    assert cross_entropy(counts / 100, q) == pytest.approx(log_loss(outcomes, np.tile(q, (100, 1))), rel=1e-13)


def test_drawn_outcomes_come_near_the_cross_entropy(rng):
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.4, 0.2, 0.3, 0.1])
    profile = risk_profile(rng.choice(4, size=20_000, p=p), np.tile(q, (20_000, 1)), floor=0, labels=range(4))
    limit = np.array([cross_entropy(p, q, order=r, scale="probability") for r in profile.orders])
    assert (np.abs(profile.values - limit) < 4 * profile.standard_errors).all()
    assert (np.abs(profile.values - entropy(p, scale="probability")) > 4 * profile.standard_errors).mean() > 0.5


@pytest.mark.slow
@given(pairs, st.floats(-1e-6, 1e-6))
def test_no_jump_at_order_0(pair, r):
    """Half the variance of the logarithms is the slope of nats over the order."""
    p, q = (normalized(x + 1e-6) for x in pair)
    for measure, given_, x in (
        (entropy, (p,), np.log(p)),
        (cross_entropy, (p, q), np.log(q)),
        (divergence, (p, q), np.log(q) - np.log(p)),
    ):
        variance = np.average((x - np.average(x, weights=p)) ** 2, weights=p)
        expected = measure(*given_) - r * variance / 2
        assert measure(*given_, order=r) == pytest.approx(expected, abs=r**2 * 15**3 + 1e-15, rel=2e-15)


# Escort and generalized entropies


@pytest.mark.slow
@given(distributions(zeros=True), st.floats(-15, 15))
def test_escort_turns_the_order_round(p, r):
    """M_r weighted by the escort is M_-r weighted by p ([RP] eq. 2.8)."""
    weights = escort(p, r)
    assert weights.sum() == pytest.approx(1, rel=1e-14)
    assert ((weights == 0) | (p > 0)).all()
    assume(weights[p > 0].min() > 1e-100)  # smaller ones are no sample weights
    by_escort = generalized_mean(p, r, sample_weight=weights)
    assert by_escort == pytest.approx(generalized_mean(p, -r, sample_weight=p), rel=1e-11)
    assert average_probability(p, r) == pytest.approx(by_escort, rel=1e-11)
    assert entropy(p, order=-r, scale="probability") == pytest.approx(by_escort, rel=1e-11)


def test_escort_at_named_orders():
    p = np.array([0.6, 0.3, 0.1, 0.0])
    assert escort(p, 0) == pytest.approx(p)
    assert escort(p, 1) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert escort(p, 2) == pytest.approx(np.array([1, 2, 6, 0]) / 9)
    assert escort(p, 1e3).tolist() == [0, 0, 1, 0] or escort(p, 1e3)[2] == 1
    assert escort(p, -1e3)[0] == 1
    assert escort([0.5, 0.5 - 1e-9, 1e-9], 1e-300) == pytest.approx([0.5, 0.5 - 1e-9, 1e-9], rel=1e-15)


def test_escort_of_rows(rng):
    p = rng.dirichlet(np.ones(4), size=(2, 3))
    got = escort(p, 0.7)
    assert got.shape == p.shape
    for place in np.ndindex(2, 3):
        assert got[place] == pytest.approx(p[place] ** 0.3 / (p[place] ** 0.3).sum(), rel=1e-14)
    assert escort(np.moveaxis(p, -1, 0), 0.7, axis=0) == pytest.approx(np.moveaxis(got, -1, 0), rel=1e-15)


def power_sum(p, r):
    with mpmath.workdps(400):
        return mpmath.fsum(x ** (1 - mpmath.mpf(r)) for x in exact(p) if x > 0)


@pytest.mark.slow
@given(distributions(zeros=True), st.one_of(st.floats(-20, 20), st.sampled_from([1e-300, -1e-12, 1e-9])))
def test_definitions(p, r):
    """The definitions as they are printed, in 50-digit arithmetic."""
    assume(r != 0)
    with mpmath.workdps(400):
        total, order = power_sum(p, r), mpmath.mpf(r)
        printed = {
            renyi_entropy: mpmath.log(total) / order,
            tsallis_entropy: (total - 1) / order,
            normalized_tsallis_entropy: (1 - 1 / total) / order,
            average_probability: total ** (-1 / order),
        }
    for function, expected in printed.items():
        assert function(p, r) == pytest.approx(float(expected), rel=1e-12, abs=1e-14)


@pytest.mark.slow
@given(
    distributions(zeros=True),
    st.one_of(st.floats(-0.3, 20), st.sampled_from([1e-300, -1e-300, 1e-12, -1e-9])),
    st.integers(1, 3),
    st.floats(0.5, 3),
)
def test_definition_of_the_coupled_entropy(p, kappa, d, alpha):
    assume(kappa != 0)
    with mpmath.workdps(400):
        k, a = mpmath.mpf(kappa), mpmath.mpf(alpha)
        expected = (1 / power_sum(p, -a * k / (1 + d * k)) - 1) / k
    assert coupled_entropy(p, kappa, d, alpha) == pytest.approx(float(expected), rel=1e-11, abs=1e-13)
    r = order_from_coupling(kappa, d=d, alpha=alpha)
    bent = coupled_log(p[p > 0] ** -alpha, kappa, d)
    by_escort = np.sum(escort(p, r)[p > 0] * bent)
    assert by_escort == pytest.approx(float(expected), rel=1e-9, abs=1e-11)


ALL_FOUR = {
    "renyi": (renyi_entropy, lambda h, r: np.exp(-h)),
    "tsallis": (tsallis_entropy, lambda h, r: (1 + r * h) ** (-1 / r) if r else np.exp(-h)),
    "normalized": (normalized_tsallis_entropy, lambda h, r: (1 - r * h) ** (1 / r) if r else np.exp(-h)),
    "coupled": (
        lambda p, r, **scale: coupled_entropy(p, -r / (2 + r), **scale),
        lambda h, r: coupled_exp(h, -r / (2 + r)) ** -0.5,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_FOUR)
@given(distributions(zeros=True), st.one_of(st.floats(0.1, 3), st.floats(-1.5, -0.1), st.just(0.0)))
def test_all_four_map_back_to_the_same_average_by_their_own_inverse(name, p, r):
    function, inverse = ALL_FOUR[name]
    average = average_probability(p, r)
    assume(average > 1e-3)  # where an entropy nears its bound, floats cannot undo it
    assert inverse(function(p, r), r) == pytest.approx(average, rel=1e-10 / min(1.0, average ** abs(r)))
    assert function(p, r, scale="probability") == pytest.approx(average, rel=1e-13)
    assert function(p, r, scale="perplexity") == pytest.approx(1 / average, rel=1e-13)


@pytest.mark.slow
@given(distributions(zeros=True), st.sampled_from([5e-324, 1e-300, 1e-16, 1e-12, 1e-9]), st.sampled_from([1, -1]))
def test_limits_at_0(p, size, sign):
    """All are Shannon's there, the coupled one alpha times it, and within size * (ln^2 p) of it nearby."""
    shannon, near = stats.entropy(p), sign * size
    spread = size * 2 * 30**2
    for function in (renyi_entropy, tsallis_entropy, normalized_tsallis_entropy):
        assert function(p, 0.0) == pytest.approx(shannon, rel=1e-13, abs=1e-15)
        assert function(p, near) == pytest.approx(function(p, 0.0), abs=spread, rel=1e-15)
    for alpha in (0.5, 1, 2):
        for d in (1, 3):
            assert coupled_entropy(p, 0.0, d, alpha) == pytest.approx(alpha * shannon, rel=1e-13, abs=1e-15)
            assert coupled_entropy(p, near, d, alpha) == pytest.approx(alpha * shannon, rel=1e-13, abs=10 * spread)


@pytest.mark.slow
@given(
    distributions(zeros=True),
    distributions(zeros=True),
    st.one_of(st.floats(-0.3, 3), st.just(1e-9)),
    st.integers(1, 3),
)
def test_pseudo_additivity(a, b, kappa, d):
    """H(A, B) = H(A) + H(B) + kappa H(A) H(B) for independent A and B ([RP] eq. A.2), and its kin."""
    joint = np.outer(a, b).ravel()
    assume(((joint > 0) == np.outer(a > 0, b > 0).ravel()).all())
    for function, factor in (
        (lambda p: coupled_entropy(p, kappa, d, 1.5), kappa),
        (lambda p: tsallis_entropy(p, kappa), kappa),
        (lambda p: normalized_tsallis_entropy(p, kappa), -kappa),
        (lambda p: renyi_entropy(p, kappa), 0),
        (lambda p: entropy(p, order=-kappa), 0),
    ):
        x, y = function(a), function(b)
        assert function(joint) == pytest.approx(x + y + factor * x * y, rel=1e-11, abs=1e-13)


@pytest.mark.slow
@given(distributions(zeros=True))
def test_named_entropies(p):
    """Hartley, collision and min-entropy; Gini-Simpson, which is the Brier score to be expected of p."""
    possible = np.count_nonzero(p)
    assert renyi_entropy(p, 1) == pytest.approx(np.log(possible), rel=1e-13, abs=1e-15)
    assert renyi_entropy(p, -1) == pytest.approx(-np.log((p**2).sum()), rel=1e-13, abs=1e-15)
    assert renyi_entropy(p, -np.inf) == pytest.approx(-np.log(p.max()), rel=1e-15)
    assert renyi_entropy(p, np.inf) == pytest.approx(-np.log(p[p > 0].min()), rel=1e-15)
    assert entropy(p, order=np.inf) == renyi_entropy(p, -np.inf)
    expected = brier_score(np.arange(len(p)), np.tile(p, (len(p), 1)), sample_weight=np.where(p > 1e-100, p, 0))
    assert tsallis_entropy(p, -1) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_subnormal_probabilities():
    """They count as outcomes, and no power of them overflows."""
    p = [1.0, 5e-324, 3e-310]
    assert renyi_entropy(p, 1) == pytest.approx(np.log(3), rel=1e-13)
    assert renyi_entropy(p, np.inf) == pytest.approx(-np.log(5e-324), rel=1e-15)
    for r in (-1e3, -3, -1, -0.5, 0, 0.5, 1, 1e3):
        expected = reference(exact(p), exact(p), r)
        assert entropy(p, order=r) == pytest.approx(-float(expected), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("r", [-50, -2, -0.7, -1e-9, 0, 1e-9, 0.7, 2, 50, 1e3, 1e5, 1e9])
@pytest.mark.parametrize("rest", [2.0**-20, 2.0**-40, 2.0**-52])
def test_entropies_of_what_is_all_but_certain_keep_their_digits(r, rest):
    p = [1 - rest, rest / 2, rest / 2]
    assert entropy(p, order=r) == pytest.approx(-float(reference(exact(p), exact(p), r)), rel=1e-13)


def test_a_certain_outcome():
    certain = [0.0, 1.0, 0.0]
    for r in (-1e3, -1, 0, 1e-300, 0.5, 1e3):
        for scale, expected in (("nats", 0.0), ("perplexity", 1.0), ("probability", 1.0)):
            got = entropy(certain, order=r, scale=scale)
            assert got == expected
            assert not np.signbit(got)
        assert [f(certain, r) for f in (renyi_entropy, tsallis_entropy, normalized_tsallis_entropy)] == [0.0] * 3
        assert escort(certain, r).tolist() == certain
    assert coupled_entropy(certain, 0.5) == 0


@pytest.mark.parametrize("r", [-np.inf, -2, -1e-300, 0, 1e-12, 0.5, 2, np.inf])
def test_outcomes_that_were_said_to_be_impossible(r):
    p, q = [0.5, 0.25, 0.25], [0.5, 0.5, 0.0]
    for measure in (cross_entropy, divergence):
        got = measure(p, q, order=r, scale="probability")
        assert (got == 0) == (r <= 1e-12)  # at 1e-12, it is 0.75^(1e12)
        assert measure(p, q, order=r) == (
            np.inf if r <= 0 else pytest.approx(-np.log(got) if got else 1e12 * np.log(4 / 3))
        )
    assert cross_entropy([1, 0], [0, 1], order=r) == np.inf
    assert divergence([1, 0], [0, 1], order=r, scale="perplexity") == np.inf
    assert divergence(q, p) == pytest.approx(np.log(2) / 2)


def test_rows_and_axes(rng):
    p, q = rng.dirichlet(np.ones(4), size=(3, 5)), rng.dirichlet(np.ones(4))
    p[0, 0] = [0, 1, 0, 0]
    for r in (0, -1.5, 2):
        for measure in (divergence, cross_entropy):
            got = measure(p, q, order=r)
            assert got.shape == (3, 5)
            for place in np.ndindex(3, 5):
                assert got[place] == pytest.approx(measure(p[place], q, order=r), rel=1e-14)
        assert entropy(np.moveaxis(p, -1, 0), order=r, axis=0) == pytest.approx(entropy(p, order=r), rel=1e-14)
        assert tsallis_entropy(p, r).shape == average_probability(p, r).shape == (3, 5)
    assert divergence(p.T, q, axis=0) == pytest.approx(divergence(p, q).T, rel=1e-14)
    assert entropy(np.empty((0, 3)) + 1).shape == (0,)
    for value in (
        entropy(q),
        divergence(q, q),
        cross_entropy(q, q, scale="bits"),
        renyi_entropy(q, 1),
        coupled_entropy(q, 1),
    ):
        assert type(value) is float


def test_what_rounding_leaves_in_a_sum_is_divided_out(rng):
    p = rng.dirichlet(np.ones(1000))
    off = p * (1 + 9e-7)
    for r in (-2, 0, 1e-12, 0.5):
        assert entropy(off, order=r) == pytest.approx(entropy(p, order=r), rel=1e-13)
        assert divergence(p, off, order=r) == pytest.approx(0, abs=1e-15)
    single = p.astype(np.float32)
    assert single.astype(float).sum() != 1
    assert entropy(single) == pytest.approx(entropy(p), rel=1e-6)
    assert entropy(single, order=1e-12) == pytest.approx(entropy(single), rel=1e-9)
    assert divergence(single, p, order=-1e-12) >= 0


@given(st.lists(st.floats(1e-3, 1), min_size=1, max_size=30), st.integers(1, 4))
def test_total_probability(p, times):
    """Its N-th root is the geometric mean ([N17] Theorem 1)."""
    assert total_probability(p) == pytest.approx(np.prod(p), rel=1e-12)
    assert total_probability(p) ** (1 / len(p)) == pytest.approx(generalized_mean(p, 0), rel=1e-12)
    assert total_probability(p * times, log=True) == pytest.approx(times * np.log(p).sum(), rel=1e-12, abs=1e-15)
    weights = np.full(len(p), float(times))
    assert total_probability(p, sample_weight=weights) == pytest.approx(total_probability(p * times), rel=1e-11)


def test_total_probability_at_the_ends():
    assert total_probability([0.5, 0.0]) == 0
    assert total_probability([0.5, 0.0], log=True) == -np.inf
    assert total_probability([0.5, 0.0], sample_weight=[2, 0]) == 0.25
    assert total_probability([0.5] * 5000) == 0
    assert total_probability([0.5] * 5000, log=True) == pytest.approx(-5000 * np.log(2))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: entropy([0.5, 0.6]), r"p: the probabilities sum to 1.1, not 1"),
        (lambda: entropy([[0.5, 0.5], [0.333, 0.666]]), r"p: the probabilities at row 1 \(.*\) sum to 0.999"),
        (lambda: entropy([[[0.5, 0.5], [0.5, 0.4]]]), r"row \(0, 1\)"),
        (lambda: entropy([0.5, 0.500002]), "sum to 1.000002"),
        (lambda: entropy([]), "sum to 0"),
        (lambda: entropy([1.5, -0.5]), "p: not a probability .* index 0 .*: 1.5"),
        (lambda: entropy([[0.5, 0.5], [np.nan, 1]]), r"index \(1, 0\)"),
        (lambda: entropy(1.0), "p: expected an array"),
        (lambda: entropy(["a", "b"]), "not a number"),
        (lambda: entropy([0.5, 0.5], axis=1), "axis: .* no axis 1"),
        (lambda: entropy([0.5, 0.5], scale="dits"), "scale: expected one of 'nats', 'bits', .* got 'dits'"),
        (lambda: entropy([0.5, 0.5], order=np.nan), "order: .* nan"),
        (lambda: entropy([0.5, 0.5], order=[0, 1]), "order: .* one number"),
        (lambda: divergence([0.5, 0.5], [0.5, 0.4]), "q: .* sum to 0.9"),
        (lambda: divergence([0.5, 0.5], [0.5, 0.25, 0.25]), "same outcomes, got 2 and 3"),
        (lambda: cross_entropy(np.full((2, 2), 0.5), np.full((3, 2), 0.5)), "do not broadcast"),
        (lambda: cross_entropy([0.5, 0.5], [1, 0], scale=None), "scale"),
        (lambda: escort([0.5, 0.5], np.inf), "r: .* finite"),
        (lambda: escort([0.5, 0.6], 1), "sum to 1.1"),
        (lambda: renyi_entropy([0.5, 0.5], np.nan), "r: .* nan"),
        (lambda: renyi_entropy([0.5, 0.5], 1, scale="nats"), "scale: expected one of 'entropy', 'perplexity'"),
        (lambda: tsallis_entropy([0.5, 0.5], -np.inf), "r: .* finite"),
        (lambda: normalized_tsallis_entropy([0.5, 0.5], "x"), "r: .* 'x'"),
        (lambda: coupled_entropy([0.5, 0.5], -1), "coupling"),
        (lambda: coupled_entropy([0.5, 0.5], -0.4, d=3), "coupling"),
        (lambda: coupled_entropy([0.5, 0.5], 1, alpha=0), "alpha"),
        (lambda: total_probability([0.5, 1.5]), "row 1"),
    ],
)
def test_bad_arguments(call, named):
    with pytest.raises(InputError, match=named):
        call()


def test_pandas_indexes_are_not_ignored():
    import pandas as pd

    p, q = pd.Series([0.7, 0.3], index=["rain", "dry"]), pd.Series([0.4, 0.6], index=["dry", "rain"])
    with pytest.raises(InputError, match="indexes differ"):
        divergence(p, q)
    assert divergence(p, q.loc[p.index]) == divergence([0.7, 0.3], [0.6, 0.4])


@pytest.mark.parametrize("coupling", [-0.2, 0.0, 1.0])
def test_deformed_entropies_are_one_on_the_scales_of_perplexity(coupling):
    """The inverse of the deformed logarithm takes the deformation back: what is left is Renyi's of the same order."""
    p, r = np.array([0.5, 0.3, 0.2]), order_from_coupling(coupling)
    for scale in ("perplexity", "probability"):
        assert coupled_entropy(p, coupling, scale=scale) == pytest.approx(renyi_entropy(p, r, scale=scale), rel=1e-14)
    deformed = coupled_exp(coupled_entropy(p, coupling), coupling) ** -0.5
    assert deformed == pytest.approx(coupled_entropy(p, coupling, scale="probability"), rel=1e-12)
