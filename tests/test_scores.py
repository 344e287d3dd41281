import mpmath
import numpy as np
import pytest
import sklearn.metrics as skm

from conftest import softmax_forecasts
from unperplexed import SCORES, Tally, brier_score, log_loss
from unperplexed._kernels import row_primitives

FUNCTIONS = {"log_loss": log_loss, "brier_score": brier_score}


def test_every_score_has_a_function():
    assert FUNCTIONS.keys() == SCORES.keys()


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_equal_scikit_learn(rng, classes):
    y, p = softmax_forecasts(rng, 500, classes)
    w = rng.exponential(size=500)
    labels = list(range(classes))
    assert log_loss(y, p, sample_weight=w) == pytest.approx(
        skm.log_loss(y, p, sample_weight=w, labels=labels), rel=1e-12
    )
    squares = np.sum((p - np.eye(classes)[y]) ** 2, axis=1)
    assert brier_score(y, p, sample_weight=w) == pytest.approx(np.average(squares, weights=w), rel=1e-12)
    if classes == 2:  # scikit-learn halves the sum for two classes
        assert brier_score(y, p[:, 1]) / 2 == pytest.approx(skm.brier_score_loss(y, p[:, 1]), rel=1e-12)


def test_values_of_the_specification():
    assert brier_score([1], [[0.33, 0.34, 0.33]]) == pytest.approx(0.6534, abs=1e-12)
    assert log_loss([1], [[0.33, 0.34, 0.33]]) / np.log(10) == pytest.approx(0.4685, abs=5e-5)
    assert brier_score([1], [[0.51, 0.49, 0.0]]) == pytest.approx(0.5202, abs=1e-12)
    assert log_loss([1], [[0.51, 0.49, 0.0]]) / np.log(10) == pytest.approx(0.3098, abs=5e-5)


def test_log_loss_against_50_digits(rng):
    p = 10.0 ** rng.uniform(-300, 0, 40)
    with mpmath.workdps(50):
        expected = -mpmath.fsum(mpmath.log(mpmath.mpf(float(x))) for x in p) / 40
    assert log_loss(np.ones(40, dtype=int), p) == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_propriety(rng, name, classes):
    """No forecast does better in expectation than the truth, ties and zeros included."""
    for _ in range(200):
        truth = (
            np.round(rng.dirichlet(np.ones(classes)) * 4) / 4
            if rng.uniform() < 0.5
            else rng.dirichlet(np.ones(classes))
        )
        if abs(truth.sum() - 1) > 1e-9:
            continue

        def expected(q, truth=truth):
            possible = np.flatnonzero(truth > 0)
            rows = row_primitives(np.tile(q, (possible.size, 1)), possible)
            return float(truth[possible] @ SCORES[name](rows))

        others = [*rng.dirichlet(np.ones(classes), 20), *np.eye(classes), np.full(classes, 1 / classes)]
        for q in others:
            assert expected(truth) <= expected(np.asarray(q)) + 1e-12


@pytest.mark.parametrize("name", SCORES)
class TestLaws:
    def test_weight_2_is_the_row_twice(self, rng, name):
        y, p = softmax_forecasts(rng, 50, 3)
        w = rng.integers(0, 3, 50)
        expected = FUNCTIONS[name](np.repeat(y, w), np.repeat(p, w, axis=0))
        assert FUNCTIONS[name](y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)

    def test_permutations(self, rng, name):
        y, p = softmax_forecasts(rng, 50, 4)
        rows, classes = rng.permutation(50), rng.permutation(4)
        expected = FUNCTIONS[name](y, p)
        assert FUNCTIONS[name](y[rows], p[rows]) == pytest.approx(expected, rel=1e-12)
        assert FUNCTIONS[name](np.argsort(classes)[y], p[:, classes]) == pytest.approx(expected, rel=1e-12)

    def test_perfect_and_hopeless(self, name):
        assert FUNCTIONS[name]([0, 1], np.eye(2)) == 0
        hopeless = FUNCTIONS[name]([1, 0], np.eye(2))
        assert hopeless == (np.inf if name == "log_loss" else 2)

    def test_row_of_weight_0_is_absent_even_where_its_score_is_infinite(self, name):
        value = FUNCTIONS[name]([1, 1], [0.5, 0.0], sample_weight=[1, 0])
        assert value == FUNCTIONS[name]([1], [0.5])
        assert Tally.of([1, 1], [0.5, 0.0], sample_weight=[1, 0]).score(name) == pytest.approx(value)

    def test_float32_against_float64(self, rng, name):
        y, p = softmax_forecasts(rng, 500, 5, dtype=np.float32)
        assert FUNCTIONS[name](y, p) == pytest.approx(FUNCTIONS[name](y, p.astype(float)), rel=1e-13)


def test_log_loss_floor():
    assert log_loss([1, 1], [0.0, 1.0], floor=0.01) == pytest.approx(-np.log(0.01) / 2)
