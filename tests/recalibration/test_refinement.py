import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, logit, softmax

from unperplexed import InputError, refinement_loss
from unperplexed.recalibration.refinement import POWERS, best_power, least_of_grid, row_losses
from unperplexed.scores import log_loss


def classes(rng, n=400, c=4, temperature=1.0):
    z = rng.normal(0, 1.5, (n, c))
    y = (softmax(z, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=c - 1)
    return y, softmax(z / temperature, axis=1)


def test_equal_to_the_least_log_loss_over_temperatures(rng):
    y, p = classes(rng, temperature=0.4)

    def loss(a):
        return -log_softmax(a * np.log(p), axis=1)[np.arange(400), y].mean()

    scipys = minimize_scalar(loss, bounds=(0.01, 10), method="bounded", options={"xatol": 1e-9})
    assert refinement_loss(y, p) == pytest.approx(scipys.fun, abs=1e-9)


def test_temperatures_of_the_forecasts_do_not_matter_and_their_ranking_does(rng):
    y, p = classes(rng)
    for temperature in (0.3, 1.0, 4.0):
        q = softmax(np.log(p) / temperature, axis=1)
        assert refinement_loss(y, q) == pytest.approx(refinement_loss(y, p), abs=1e-6)
    assert refinement_loss(y, p) <= log_loss(y, p)
    noisy = softmax(np.log(p) + rng.normal(0, 1, p.shape), axis=1)
    assert refinement_loss(y, noisy) > refinement_loss(y, p) + 0.02


def test_one_column_is_two_and_weights_are_copies(rng):
    p, y = rng.random(200), rng.integers(0, 2, 200)
    w = rng.integers(0, 4, 200)
    two = np.stack([1 - p, p], axis=1)
    assert refinement_loss(y, p) == pytest.approx(refinement_loss(y, two), rel=1e-9)
    copies = refinement_loss(np.repeat(y, w), np.repeat(p, w))
    assert refinement_loss(y, p, sample_weight=w) == pytest.approx(copies, rel=1e-9)


def test_forecasts_worse_than_none_are_those_of_a_uniform_one(rng):
    p = rng.uniform(0.05, 0.95, 300)
    y = (rng.random(300) < 1 - p).astype(int)
    assert refinement_loss(y, p) == pytest.approx(np.log(2), rel=1e-12)


def test_separated_outcomes_and_zeros_are_finite():
    assert 0 <= refinement_loss([0, 1, 0, 1], [0.1, 0.9, 0.4, 0.6]) < 1e-9
    assert np.isfinite(refinement_loss([0, 1, 1], [1.0, 0.9, 0.0]))


@pytest.mark.slow
def test_cross_fitted_losses_are_larger_on_average(rng):
    gaps = []
    for _ in range(30):
        y, p = classes(rng, n=60)
        gaps.append(refinement_loss(y, p, folds=5) - refinement_loss(y, p))
    assert 0 < np.mean(gaps) < 0.05
    y, p = (np.repeat(x, 4, axis=0) for x in classes(rng, n=60))
    groups = np.repeat(np.arange(60), 4)
    assert refinement_loss(y, p, folds=5, clusters=groups) != refinement_loss(y, p, folds=5)


def test_the_grid_has_the_same_least(rng):
    for temperature in (0.2, 1.0, 3.0):
        y, p = classes(rng, temperature=temperature)
        log_p = np.log(p)
        at_grid = np.array([row_losses(log_p, y, power).mean() for power in POWERS])
        exact = row_losses(log_p, y, best_power(log_p, y, np.ones(400))).mean()
        assert least_of_grid(at_grid) == pytest.approx(exact, abs=1e-5)
    worse = np.array([row_losses(-log_p, y, power).mean() for power in POWERS])
    assert least_of_grid(worse) == worse[0]


def test_stopping_by_it_ignores_overconfidence(rng):
    """Later epochs discriminate better and are more overconfident: raw log loss stops early, refinement does not."""
    y = rng.integers(0, 2, 2000)
    epochs = [expit(sharp * (skill * (2 * y - 1) + rng.normal(size=2000))) for skill, sharp in ((0.8, 2), (1.2, 9))]
    raw, refined = [log_loss(y, p) for p in epochs], [refinement_loss(y, p) for p in epochs]
    assert raw[1] > raw[0]
    assert refined[1] < refined[0]


def test_bad_input_is_refused(rng):
    for floor in (0, 0.5, "low", np.nan):
        with pytest.raises(InputError, match="floor: expected 'auto'"):
            refinement_loss([0, 1], [0.2, 0.6], floor=floor)
    with pytest.raises(InputError, match="5 folds need as many rows, and there are 2"):
        refinement_loss([0, 1], [0.2, 0.6], folds=5)
    with pytest.raises(InputError, match="above 1"):
        refinement_loss([0, 1], [0.2, 6])
    assert refinement_loss([0, 1, 1], logit([0.2, 0.6, 0.4]), scale="logits") == pytest.approx(
        refinement_loss([0, 1, 1], [0.2, 0.6, 0.4])
    )


def test_a_floor_is_what_zeros_count_as(rng):
    y, p = classes(rng, n=60)
    p[0, y[0]] = 0
    p /= p.sum(axis=1, keepdims=True)
    raised = np.where(p > 0, p, 1e-3)
    expected = refinement_loss(y, raised / raised.sum(axis=1, keepdims=True))
    assert refinement_loss(y, p, floor=1e-3) == pytest.approx(expected, rel=1e-9)
    assert refinement_loss(y, p) > expected + 0.01  # the automatic floor is lower
