"""Maps of two classes: laws of directions and of maps, log-odds of any size, exact zeros."""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import expit, log_expit

from unperplexed import InputError
from unperplexed.maps.saved import binary_map_of
from unperplexed.maps.two import TWO, BinaryMap, columns, tail

S = np.linspace(-12, 12, 97)


def test_directions():
    np.testing.assert_allclose(columns(["low", "high"], S), [log_expit(S), -log_expit(-S)], rtol=1e-14)
    np.testing.assert_array_equal(columns(["bias", "slope", "asymmetry"], S), [np.ones(97), S, np.abs(S)])
    assert columns([], S).shape == (0, 97)
    for x in (1e-3, 0.5, 7.0, 300.0):
        with mpmath.workdps(40):
            exact = mpmath.quad(mpmath.log1p, [0, x])  # its slope is ln(1 + |s|)
        assert tail(np.array([x, -x])) == pytest.approx([float(exact), -float(exact)], rel=1e-9)


@pytest.mark.parametrize("name", TWO)
def test_tensors_take_the_same_directions(name):
    torch = pytest.importorskip("torch")
    found = TWO[name](torch.tensor(S), torch).numpy()
    np.testing.assert_allclose(found, TWO[name](S, np), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("name", TWO)
def test_a_parameter_of_0_changes_nothing(name):
    np.testing.assert_allclose(BinaryMap("", {name: 0.0}).probabilities(S)[:, 1], expit(S), rtol=1e-14)


def test_probabilities_are_those_of_the_formula():
    found = BinaryMap("", {"bias": 0.3, "slope": -0.4, "tail": 0.1}, 0.1)
    t = 0.3 + 0.6 * S + 0.1 * tail(S)
    np.testing.assert_allclose(found.probabilities(S)[:, 1], 0.9 * expit(t) + 0.05, rtol=1e-14)
    np.testing.assert_allclose(found.probabilities(S).sum(axis=1), 1, rtol=1e-15)


def test_swapping_the_classes_mirrors_a_map():
    one = BinaryMap("", {"bias": 0.3, "slope": 0.2, "asymmetry": 0.1, "tail": -0.05, "low": 0.1, "high": 0.3}, 0.05)
    other = {**one.coefficients, "bias": -0.3, "asymmetry": -0.1, "low": 0.3, "high": 0.1}
    np.testing.assert_allclose(BinaryMap("", other, 0.05).probabilities(-S), one.probabilities(S)[:, ::-1], rtol=1e-13)


def test_logits_of_any_size_keep_their_order_and_their_digits():
    s = np.linspace(-600, 600, 2001)
    found = BinaryMap("temperature", {"slope": -0.5})
    negative, positive = found.probabilities(s).T
    assert (np.diff(positive[s < 0]) > 0).all()
    assert (np.diff(negative[s > 0]) < 0).all()
    assert min(positive.min(), negative.min()) > 0
    assert max(positive.max(), negative.max()) < 1
    np.testing.assert_allclose(np.log(positive), log_expit(s / 2), rtol=1e-13, atol=1e-15)


def test_only_exact_zeros_are_replaced():
    s = np.array([-np.inf, -50.0, 0.0, 50.0, np.inf])
    found = BinaryMap("temperature", {"slope": -0.5}, zero=1e-4)
    far = math.log(1e-4 / (1 - 1e-4))
    np.testing.assert_allclose(found.log_odds(s), np.array([far, -50, 0, 50, -far]) / 2, rtol=1e-14)
    assert np.isfinite(np.log(BinaryMap().probabilities(s))).all()


def test_a_tail_that_draws_log_odds_in_never_lets_them_fall():
    found = BinaryMap("tail", {"bias": 0.2, "slope": 0.5, "tail": -0.4})
    s = np.linspace(-1000, 1000, 4001)
    assert (np.diff(found.log_odds(s)) >= 0).all()
    turn = math.expm1(1.5 / 0.4)
    assert found.rises(0.99 * turn)
    assert not found.rises(1.01 * turn)
    inner = np.linspace(-turn, turn, 99)
    np.testing.assert_allclose(found.log_odds(inner), 0.2 + 1.5 * inner - 0.4 * tail(inner), rtol=1e-12)


@pytest.mark.parametrize(
    ("coefficients", "rises"),
    [({"slope": -1.0}, True), ({"slope": -1.01}, False), ({"low": -1.1, "high": 0.0}, False),
     ({"asymmetry": 1.1}, False), ({"slope": 0.2, "asymmetry": -1.1}, True)],
)  # fmt: skip
def test_maps_that_rise_are_known_to(coefficients, rises):
    found = BinaryMap("", coefficients)
    assert found.rises() == rises
    assert (np.diff(found.log_odds(S)) >= -1e-12).all() == rises


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (BinaryMap("temperature", {"slope": -0.5}), {"temperature": 2.0}),
        (BinaryMap("temperature", {"slope": -1.0}), {"slope": 0.0}),
        (BinaryMap("logistic", {"bias": 0.5, "slope": 0.25}), {"shift": 0.5, "slope": 1.25}),
        (BinaryMap("beta", {"bias": 0.0, "low": 0.5, "high": -0.5}), {"shift": 0.0, "low": 1.5, "high": 0.5}),
        (BinaryMap("lapse", {"bias": 0.1, "slope": 0.0}, 0.02), {"shift": 0.1, "slope": 1.0, "lapse": 0.02}),
        (BinaryMap("lapse", {"bias": 0.1, "slope": 0.0}), {"shift": 0.1, "slope": 1.0, "lapse": 0.0}),
        (BinaryMap("identity"), {}),
    ],
)
def test_users_see_slopes_as_factors(found, shown):
    assert found.parameters() == pytest.approx(shown)


@pytest.mark.parametrize("point", [[0.0, 1.0, 2.0], [0.0], "01"])
def test_a_saved_curve_has_two_numbers_a_point(point):
    saved = {"name": "isotonic", "points": [[-1.0, -2.0], [0.0, 0.5]]}
    assert binary_map_of(saved, 1e-9).to_dict()["points"] == saved["points"]
    with pytest.raises(InputError, match="points"):
        binary_map_of(saved | {"points": [*saved["points"], point]}, 1e-9)
