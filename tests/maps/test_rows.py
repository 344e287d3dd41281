"""Gradient and Fisher information of maps of C classes over rows, against differences of probabilities."""

import math

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from unperplexed.maps import rows as map_rows
from unperplexed.maps.class_families import Matrix
from unperplexed.maps.classes import ClassMap, log_rest
from unperplexed.maps.parameters import MANY_CLASSES
from unperplexed.maps.rows import Chunk, Rows, chunks_of

RNG = np.random.default_rng(8)
Z = log_softmax(1.5 * RNG.normal(size=(30, 4)), axis=1)
TRUTH, WEIGHTS = RNG.integers(4, size=30), RNG.exponential(size=30)
FITTED = [name for name, family in MANY_CLASSES.items() if family.parameters and name != "matrix"]


def rows(parameters):
    """The rows in three chunks."""
    at = (slice(0, 7), slice(7, 8), slice(8, 30))
    return Rows([Chunk(Z[here], TRUTH[here], WEIGHTS[here]) for here in at], 4, parameters)


def by_differences(probabilities, theta, step=1e-5):
    """Gradient of the log-likelihood, and the expected square of each row's gradient."""
    q, each = probabilities(theta), np.arange(TRUTH.size)
    slopes = np.stack(
        [(probabilities(theta + step * d) - probabilities(theta - step * d)) / (2 * step) for d in np.eye(theta.size)]
    )
    gradient = (slopes[:, each, TRUTH] * (WEIGHTS / q[each, TRUTH])).sum(axis=1)
    return gradient, np.einsum("jnc,knc,nc->jk", slopes, slopes, WEIGHTS[:, None] / q)


DIAGNOSED = [("slope", "tail", "biases", "lapse"), ("biases", "tail"), ("tail", "lapse"), ("lapse",)]


@pytest.mark.parametrize("parameters", [*(MANY_CLASSES[name].parameters for name in FITTED), *DIAGNOSED])
def test_derivatives(parameters):
    of = rows(parameters)
    theta = 0.3 * np.random.default_rng(9).normal(size=of.size)
    if "lapse" in parameters:
        theta[-1] = -2.0
    if "tail" in parameters:  # a tail that draws in stays level beyond its turn
        theta[of.places["tail"]] = 0.2
    gradient, information = by_differences(lambda x: of.map_of(x).probabilities(Z), theta)
    value, slopes = of.ascent(theta)
    q = of.map_of(theta).probabilities(Z)[np.arange(30), TRUTH]
    assert value == pytest.approx(WEIGHTS @ np.log(q))
    np.testing.assert_allclose(slopes, gradient, atol=1e-6)
    np.testing.assert_allclose(of.information(theta), information, atol=1e-6)


@pytest.mark.parametrize("base", ["logistic", "tail"])
def test_derivatives_of_the_matrix(base):
    start = rows(MANY_CLASSES[base].parameters)
    theta = 0.2 * np.random.default_rng(10).normal(size=start.size)
    if base == "tail":
        theta[start.places["tail"]], theta[-1] = 0.1, -2.0
    of = Matrix(start.chunks, start.map_of(theta, base))
    theta = 0.2 * np.random.default_rng(11).normal(size=20)
    gradient, information = by_differences(lambda x: of.with_matrix(x).probabilities(Z), theta)
    np.testing.assert_allclose(of.ascent(theta)[1], gradient, atol=1e-6)
    np.testing.assert_allclose(of.information(theta), information, atol=1e-6)


@pytest.mark.parametrize("name", FITTED)
def test_coefficients_are_those_of_the_map_whatever_the_order_of_names(name):
    of, other = rows(MANY_CLASSES[name].parameters), rows(MANY_CLASSES[name].parameters[::-1])
    theta = np.random.default_rng(12).normal(size=of.size)
    np.testing.assert_allclose(of.theta_of(of.map_of(theta)), theta, rtol=1e-12)
    assert of.places == other.places
    assert np.isneginf(rows(["lapse"]).theta_of(ClassMap())).all()


@pytest.mark.parametrize("parameters", [("slope",), ("slope", "biases", "tail", "lapse")])
def test_single_precision_is_that_of_its_digits(parameters):
    of = rows(parameters)
    theta = np.full(of.size, 0.1)
    low = Rows(
        [Chunk(chunk.log_p.astype(np.float32), chunk.truth, chunk.weights) for chunk in of.chunks], 4, parameters
    )
    assert low.ascent(theta)[0] == pytest.approx(of.ascent(theta)[0], rel=1e-6)
    np.testing.assert_allclose(low.ascent(theta)[1], of.ascent(theta)[1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(low.information(theta), of.information(theta), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [50.0, 2000.0])
def test_logits_of_any_size_have_a_likelihood(size):
    """The probability of an observed class may be 0 to the last digit; its logarithm is a number."""
    z = np.array([[0.0, -size, -2 * size]])
    of = Rows(chunks_of(z, np.array([2]), np.ones(1)), 3, ("slope",))
    value, slope = of.ascent(np.zeros(1))
    assert value == pytest.approx(-2 * size)
    assert slope == pytest.approx([-2 * size])


def test_a_lapse_begins_where_its_score_is_positive():
    none = Rows(chunks_of(np.log(np.array([[0.5, 0.3, 0.2]])), np.array([0]), np.ones(1)), 3, ("slope", "lapse"))
    assert none.begun(np.array([0.0, -math.inf])) is None
    far = Rows(chunks_of(np.array([[0.0, -900.0, -900.0]]), np.array([1]), np.ones(1)), 3, ("slope", "lapse"))
    begun = far.begun(np.array([0.0, -math.inf]))
    assert begun[0] == 0
    assert expit(begun[1]) == pytest.approx(expit(0.5))


def test_increasing_is_what_probabilities_show():
    rng, seen = np.random.default_rng(12), set()
    log_p = np.linspace(-15, -1e-4, 300)
    for _ in range(60):
        (slope, (rest, tail)) = rng.uniform(0.1, 1.5), rng.normal(0, 0.4, 2)
        fitted = ClassMap("tail", {"slope": slope - 1, "rest": rest, "tail": tail})
        falls = False
        for share in np.append(np.logspace(-6, -0.5, 8), 0.5):
            others = np.log(-np.expm1(log_p))
            z = np.stack([log_p, others + np.log(share), others + np.log1p(-share)], axis=1)
            falls |= bool((np.diff(fitted.probabilities(z)[:, 0]) < -1e-9).any())
        assert not (falls and fitted.increasing()), (slope, rest, tail)
        seen.add((falls, fitted.increasing()))
    assert len(seen) > 1


def test_a_tail_that_draws_in_never_reverses_classes_far_out():
    fitted = ClassMap("tail", {"slope": -0.4, "rest": -0.7, "tail": -0.15})
    assert fitted.increasing()
    z = np.linspace(-900, -1, 2000)[:, None] * [0, 1, 2] / 2
    t = fitted.scores(log_softmax(z, axis=1))
    assert (t[:, 0] > t[:, 1]).all()
    assert (t[:, 1] > t[:, 2]).all()
    assert (np.diff(t[:, 2] - t[:, 0]) >= -1e-9).all()


def test_rests_stay_exact_near_one():
    p = np.array([[1 - 3e-14, 1e-14, 2e-14], [0.5, 0.25, 0.25]])
    z = np.log(p)
    z[0, 0] = np.log1p(-3e-14)
    np.testing.assert_allclose(log_rest(z), [[np.log(3e-14), -1e-14, -2e-14], np.log([0.5, 0.75, 0.75])], rtol=1e-12)
    np.testing.assert_allclose(log_rest(np.array([[0.0, -800.0, -801.0]]))[0, 0], -800 + np.log1p(np.exp(-1)))


@pytest.mark.parametrize("parameters", [("biases",), ("slope", "biases", "lapse"), ("biases", "slopes")])
def test_information_of_many_classes_has_all_variances_and_the_correlations_of_some_rows(monkeypatch, parameters):
    rng = np.random.default_rng(3)
    log_p = log_softmax(1.5 * rng.normal(size=(40_000, 6)), axis=1)
    truth, chunks = rng.integers(6, size=40_000), None
    whole = Rows(chunks := chunks_of(log_p, truth, np.ones(40_000)), 6, parameters)
    monkeypatch.setattr(map_rows, "_PRODUCTS", 40_000 * 36 / 4)
    some = Rows(chunks, 6, parameters, rows=40_000)
    assert (whole.every, some.every) == (1, 4)
    theta = np.full(whole.size, 0.1)
    exact, found = whole.information(theta), some.information(theta)
    np.testing.assert_allclose(np.diag(found), np.diag(exact), rtol=1e-9)
    scale = np.sqrt(np.diag(exact))
    np.testing.assert_allclose(found / np.outer(scale, scale), exact / np.outer(scale, scale), atol=0.03)
    assert np.linalg.eigvalsh(found).min() > -1e-6 * np.diag(exact).max()
