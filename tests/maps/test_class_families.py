"""Recalibration maps for more than two classes."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_softmax, logit, softmax

from unperplexed import InputError
from unperplexed.maps.class_families import fitted_classes
from unperplexed.maps.parameters import MANY_CLASSES
from unperplexed.maps.saved import class_map_of
from unperplexed.maps.two import tail


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
    return fitted_classes(MANY_CLASSES, *biased)


def test_parameters_of_the_true_map_are_found(maps):
    found = maps["logistic-lapse"].parameters()
    assert found["slope"] == pytest.approx(1.5, rel=0.1)
    assert found["lapse"] == pytest.approx(0.05, abs=0.015)
    biases = np.array(found["shifts"])
    np.testing.assert_allclose(biases - biases.mean(), [0.8, -0.4, 0, -0.4], atol=0.15)


@pytest.mark.parametrize("C", [3, 10, 100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sd", [1.5, 40.0])
def test_temperature_maximizes_the_penalized_likelihood(C, sd):
    """Of logits of any size; and at 3,000 rows the prior hardly matters."""
    rng = np.random.default_rng(C)
    logits = sd * rng.normal(size=(3000, C))
    slope = 0.7 if sd < 2 else 0.1
    truth = (slope * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    log_p = log_softmax(logits, axis=1)

    def bend(g, prior=0.25):
        q = softmax((1 + g) * log_p, axis=1)
        return log_p[np.arange(truth.size), truth].sum() - (q * log_p).sum() - prior * g

    found = fitted_classes(["temperature"], log_p, truth)["temperature"]
    best, unpenalized = (1 + brentq(bend, -0.99, 1, args=(prior,), xtol=1e-13) for prior in (0.25, 0.0))
    assert 1 / found.slope == pytest.approx(1 / best, rel=1e-7)
    assert found.parameters()["temperature"] == pytest.approx(1 / unpenalized, rel=1e-3)
    q = found.probabilities(log_p)
    ranked = [np.sort(x, axis=1) for x in (log_p, q)]
    assert ((np.diff(ranked[1]) == 0) <= ((np.diff(ranked[0]) == 0) | (ranked[1][:, 1:] < 1e-300))).all()


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
        again = class_map_of(json.loads(json.dumps(each.to_dict())), 4)
        assert np.array_equal(again.probabilities(biased[0]), each.probabilities(biased[0]))
        assert again.parameters() == each.parameters()


def test_weight_two_is_the_row_twice():
    log_p, truth = simulated(n=800, slope=0.7)
    weights = 1.0 + (np.arange(800) % 3 == 0)
    twice = np.repeat(np.arange(800), weights.astype(int))
    weighted = fitted_classes(MANY_CLASSES, log_p, truth, weights)
    repeated = fitted_classes(MANY_CLASSES, log_p[twice], truth[twice])
    for name in MANY_CLASSES:
        np.testing.assert_allclose(
            weighted[name].probabilities(log_p), repeated[name].probabilities(log_p), atol=1e-6, err_msg=name
        )


def test_information_of_other_rows_does_not_matter(maps, biased):
    known = {}
    fitted_classes(MANY_CLASSES, *biased, known=known)
    log_p, truth = biased[0][1000:], biased[1][1000:]
    fresh, helped = (fitted_classes(MANY_CLASSES, log_p, truth, known=given) for given in (None, known))
    for name in MANY_CLASSES:
        assert loss(helped[name], log_p, truth) == pytest.approx(loss(fresh[name], log_p, truth), abs=3e-5), name


@pytest.mark.slow
def test_calibrated_forecasts_have_small_biases():
    log_p, truth = simulated(n=2000, C=20)
    fitted = fitted_classes(["logistic", "vector"], log_p, truth)
    assert np.abs(fitted["logistic"].biases).max() < 0.15
    assert np.abs(fitted["vector"].slopes).max() < 0.1
    assert fitted["logistic"].slope == pytest.approx(1, abs=0.1)


def test_zeros_are_left_to_the_lapse():
    log_p, truth = simulated(n=3000, lapse=0.1)
    rounded = np.round(np.exp(log_p), 1)
    with np.errstate(divide="ignore"):
        fitted = fitted_classes(["temperature", "temperature-lapse"], np.log(rounded / rounded.sum(1)[:, None]), truth)
    assert fitted["temperature-lapse"].lapse > 0.04
    assert fitted["temperature-lapse"].slope > fitted["temperature"].slope


def test_classes_that_never_occur_keep_positive_probabilities():
    log_p, truth = simulated(n=500, C=5)
    truth = np.minimum(truth, 2)
    for name, each in fitted_classes(MANY_CLASSES, log_p, truth).items():
        q = each.probabilities(log_p)
        assert np.isfinite(q).all(), name
        assert (q > 0).all(), name


def test_a_matrix_needs_more_rows_than_parameters():
    few = simulated(n=19)
    assert fitted_classes(["matrix"], *few)["matrix"].matrix is None
    enough = simulated(n=400)
    assert fitted_classes(["matrix"], *enough)["matrix"].matrix is not None


def test_a_matrix_finds_which_classes_are_confused():
    rng = np.random.default_rng(1)
    log_p = log_softmax(1.5 * rng.normal(size=(4000, 3)), axis=1)
    mixing = np.array([[1, 0.6, 0], [0, 1, 0], [0, 0, 1]])
    truth = (log_p @ mixing.T + rng.gumbel(size=log_p.shape)).argmax(axis=1)
    fitted = fitted_classes(["vector", "matrix"], log_p, truth)
    assert loss(fitted["matrix"], log_p, truth) < loss(fitted["vector"], log_p, truth) - 0.01


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="method"):
        fitted_classes(["beta"], *simulated(n=50))


def test_shared_curves_never_reverse_a_class():
    rng = np.random.default_rng(3)
    log_p = log_softmax(2.5 * rng.normal(size=(3000, 3)), axis=1)
    s = log_p - np.log1p(-np.exp(log_p))
    # Middle probabilities are reversed: no increasing curve is the best fit.
    truth = (
        0.3 * log_p + 0.3 * np.sign(s) * np.maximum(np.abs(s) - 2, 0) - np.tanh(s) + rng.gumbel(size=s.shape)
    ).argmax(1)
    fitted = fitted_classes(["tail", "logistic-lapse"], log_p, truth)
    assert fitted["tail"].shared["tail"]
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
    fitted = fitted_classes(["tail", "logistic-lapse", "temperature"], log_p, truth)
    assert loss(fitted["tail"], log_p, truth) < loss(fitted["logistic-lapse"], log_p, truth) - 0.002
