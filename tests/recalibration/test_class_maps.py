"""Recalibration maps for more than two classes."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logit, logsumexp

from unperplexed import InputError
from unperplexed.maps.directions import tail
from unperplexed.recalibration.class_maps import CLASS_METHODS, class_map_from_dict, fit_class_maps


def simulated(n=2000, C=4, slope=1.0, biases=0.0, lapse=0.0, seed=0):
    """Log-probabilities, and outcomes drawn from the map with these parameters."""
    rng = np.random.default_rng(seed)
    log_p = log_softmax(1.5 * rng.normal(size=(n, C)), axis=1)
    q = np.exp(log_softmax(slope * log_p + biases, axis=1))
    q = (1 - lapse) * q + lapse / C
    return log_p, (rng.uniform(size=(n, 1)) > q.cumsum(axis=1)).sum(axis=1).clip(max=C - 1)


def loss(fitted, log_p, truth):
    return -np.log(fitted.probabilities(log_p)[np.arange(truth.size), truth]).mean()


@pytest.fixture(scope="module")
def biased():
    return simulated(slope=1.5, biases=np.array([0.8, -0.4, 0, -0.4]), lapse=0.05, n=4000)


@pytest.fixture(scope="module")
def maps(biased):
    return fit_class_maps(CLASS_METHODS, *biased)


def test_parameters_of_the_true_map_are_found(maps):
    found = maps["logistic-lapse"].parameters()
    assert found["temperature"] == pytest.approx(1 / 1.5, rel=0.1)
    assert found["lapse"] == pytest.approx(0.05, abs=0.015)
    biases = np.array(found["biases"])
    np.testing.assert_allclose(biases - biases.mean(), [0.8, -0.4, 0, -0.4], atol=0.15)


def test_temperature_maximizes_the_penalized_likelihood():
    log_p, truth = simulated(slope=0.5)

    def objective(g):
        t = (1 + g[0]) * log_p
        return -(t[np.arange(truth.size), truth] - logsumexp(t, axis=1)).sum() + g[0] ** 2 / (2 * 4.0)

    best = minimize(objective, [0.0], tol=1e-12).x[0]
    assert fit_class_maps(["temperature"], log_p, truth)["temperature"].slope == pytest.approx(1 + best, abs=1e-4)


def test_every_map_of_more_parameters_fits_better(maps, biased):
    at = {name: loss(each, *biased) for name, each in maps.items()}
    for simple, rich in [
        ("identity", "temperature"),
        ("identity", "bias"),
        ("temperature", "logistic"),
        ("logistic", "logistic-lapse"),
        ("logistic-lapse", "isotonic"),
        ("vector", "matrix"),
    ]:
        assert at[rich] < at[simple] + 1e-6, (simple, rich)


def test_rows_sum_to_one_and_no_probability_is_certain(maps):
    extreme = np.array([[0, -800, -np.inf, -1e-3], [-np.inf, -np.inf, 0, -np.inf], [-1.4, -1.4, -1.4, -1.4]])
    for name, each in maps.items():
        q = each.probabilities(extreme)
        np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-12, err_msg=name)
        assert (q > 0).all(), name
        assert (q < 1).all(), name


def test_maps_survive_json(maps, biased):
    for each in maps.values():
        again = class_map_from_dict(json.loads(json.dumps(each.to_dict())))
        assert np.array_equal(again.probabilities(biased[0]), each.probabilities(biased[0]))
        assert again.parameters() == each.parameters()


def test_weight_two_is_the_row_twice():
    log_p, truth = simulated(n=800, slope=0.7)
    weights = 1.0 + (np.arange(800) % 3 == 0)
    twice = np.repeat(np.arange(800), weights.astype(int))
    weighted = fit_class_maps(CLASS_METHODS, log_p, truth, weights)
    repeated = fit_class_maps(CLASS_METHODS, log_p[twice], truth[twice])
    for name in CLASS_METHODS:
        np.testing.assert_allclose(
            weighted[name].probabilities(log_p), repeated[name].probabilities(log_p), atol=1e-6, err_msg=name
        )


def test_information_of_other_rows_does_not_matter(maps, biased):
    known = {}
    fit_class_maps(CLASS_METHODS, *biased, known=known)
    log_p, truth = biased[0][1000:], biased[1][1000:]
    fresh, helped = (fit_class_maps(CLASS_METHODS, log_p, truth, known=given) for given in (None, known))
    for name in CLASS_METHODS:
        assert loss(helped[name], log_p, truth) == pytest.approx(loss(fresh[name], log_p, truth), abs=1e-5), name


@pytest.mark.slow
def test_calibrated_forecasts_have_small_biases():
    log_p, truth = simulated(n=2000, C=20)
    fitted = fit_class_maps(["logistic", "vector"], log_p, truth)
    assert np.abs(fitted["logistic"].biases).max() < 0.15
    assert np.abs(fitted["vector"].slopes).max() < 0.1
    assert fitted["logistic"].slope == pytest.approx(1, abs=0.1)


def test_zeros_are_left_to_the_lapse():
    log_p, truth = simulated(n=3000, lapse=0.1)
    rounded = np.round(np.exp(log_p), 1)
    with np.errstate(divide="ignore"):
        fitted = fit_class_maps(["temperature", "temperature-lapse"], np.log(rounded / rounded.sum(1)[:, None]), truth)
    assert fitted["temperature-lapse"].lapse > 0.04
    assert fitted["temperature-lapse"].slope > fitted["temperature"].slope


def test_classes_that_never_occur_keep_positive_probabilities():
    log_p, truth = simulated(n=500, C=5)
    truth = np.minimum(truth, 2)
    for name, each in fit_class_maps(CLASS_METHODS, log_p, truth).items():
        q = each.probabilities(log_p)
        assert np.isfinite(q).all(), name
        assert (q > 0).all(), name


def test_a_matrix_needs_more_rows_than_parameters():
    few = simulated(n=19)
    assert fit_class_maps(["matrix"], *few)["matrix"].matrix is None
    enough = simulated(n=400)
    assert fit_class_maps(["matrix"], *enough)["matrix"].matrix is not None


def test_a_matrix_finds_which_classes_are_confused():
    rng = np.random.default_rng(1)
    log_p = log_softmax(1.5 * rng.normal(size=(4000, 3)), axis=1)
    mixing = np.array([[1, 0.6, 0], [0, 1, 0], [0, 0, 1]])
    truth = (log_p @ mixing.T + rng.gumbel(size=log_p.shape)).argmax(axis=1)
    fitted = fit_class_maps(["vector", "matrix"], log_p, truth)
    assert loss(fitted["matrix"], log_p, truth) < loss(fitted["vector"], log_p, truth) - 0.01


@pytest.mark.parametrize("broken", [{}, {"name": "logistic"}, {"name": "isotonic", "base": {}, "knots": []}])
def test_broken_maps_are_refused(broken):
    with pytest.raises(InputError, match="not a recalibration map"):
        class_map_from_dict(broken)


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="method"):
        fit_class_maps(["beta"], *simulated(n=50))


def test_shared_curves_never_reverse_a_class():
    rng = np.random.default_rng(3)
    log_p = log_softmax(2.5 * rng.normal(size=(3000, 3)), axis=1)
    s = log_p - np.log1p(-np.exp(log_p))
    # Middle probabilities are reversed: no increasing curve is the best fit.
    truth = (
        0.3 * log_p + 0.3 * np.sign(s) * np.maximum(np.abs(s) - 2, 0) - np.tanh(s) + rng.gumbel(size=s.shape)
    ).argmax(1)
    fitted = fit_class_maps(["tail", "logistic-lapse"], log_p, truth)
    assert fitted["tail"].curves.any()
    assert loss(fitted["tail"], log_p, truth) <= loss(fitted["logistic-lapse"], log_p, truth)
    p = np.linspace(1e-4, 1 - 1e-4, 400)
    for share in (0.02, 0.3, 0.5):
        for at in range(3):
            rows = np.stack([p, share * (1 - p), (1 - share) * (1 - p)], axis=1)[:, [(at + i) % 3 for i in range(3)]]
            q = fitted["tail"].probabilities(np.log(rows))[:, (3 - at) % 3]
            assert (np.diff(q) >= -1e-12).all(), (share, at)


def test_tail_is_found_where_there_is_one():
    rng = np.random.default_rng(4)
    log_p = log_softmax(2 * rng.normal(size=(6000, 5)), axis=1)
    truth = (0.4 * log_p + 0.2 * tail(logit(np.exp(log_p))) + rng.gumbel(size=log_p.shape)).argmax(axis=1)
    fitted = fit_class_maps(["tail", "logistic-lapse", "temperature"], log_p, truth)
    assert loss(fitted["tail"], log_p, truth) < loss(fitted["logistic-lapse"], log_p, truth) - 0.002
