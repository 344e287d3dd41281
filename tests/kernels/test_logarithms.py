"""Logarithms of probabilities and log-odds, of values as they came, against 50 digits."""

import mpmath as mp
import numpy as np
import pytest

from unperplexed import Forecasts
from unperplexed.kernels.logarithms import log_odds, log_probabilities

mp.mp.dps = 50

LOGITS = [-800.0, -745.5, -40.0, -36.8, -1.0, -1e-9, 0.0, 1e-20, 0.7, 36.8, 37.5, 300.0, 800.0]
PROBABILITIES = [5e-324, 1e-300, 1e-17, 1e-9, 0.1, 0.3, 0.5, 0.7, 1 - 1e-9, 1 - 2**-53]
PERCENT = [1e-300, 1e-9, 10.0, 30.0, 50.0, 99.9, 100 - 2**-46]
LOG_PROBABILITIES = [-800.0, -36.8, -1.0, -np.log(2), -0.3, -1e-9, -1e-300]


def both(x, scale):
    """Logarithms of 1 - p and of p."""
    x = mp.mpf(x)
    if scale == "logits":
        return -mp.log1p(mp.exp(x)), -mp.log1p(mp.exp(-x))
    if scale == "log-probs":
        return mp.log(-mp.expm1(x)), x
    p = x / 100 if scale == "percent" else x
    return mp.log1p(-p), mp.log(p)


@pytest.mark.parametrize(
    ("scale", "values"),
    [
        ("logits", LOGITS),
        ("probability", PROBABILITIES),
        ("percent", PERCENT),
        ("log-probs", LOG_PROBABILITIES),
    ],
)
def test_one_column(scale, values):
    expected = [both(x, scale) for x in values]
    column = np.array(values)[:, None]
    np.testing.assert_allclose(log_odds(column, scale), [float(b - a) for a, b in expected], rtol=1e-14, atol=1e-15)
    # 100 - x is rounded where x is near 0, which changes logarithms near 0 by a last digit of 1.
    atol = 1e-16 if scale == "percent" else 0
    found = log_probabilities(column, scale)
    np.testing.assert_allclose(found, [[float(a), float(b)] for a, b in expected], rtol=1e-15, atol=atol)


def test_logits_of_several_columns(rng):
    x = rng.normal(0, 40, (50, 7))
    x[0] = [0, -np.inf, 1, 700, -700, 3, 2]
    found = log_probabilities(x, "logits")
    for row, given in zip(found, x, strict=True):
        whole = mp.log(mp.fsum(mp.exp(mp.mpf(v)) for v in given))
        np.testing.assert_allclose(row, [float(mp.mpf(v) - whole) for v in given], rtol=1e-14, atol=1e-14)
    two = x[1:, :2]
    np.testing.assert_array_equal(log_odds(two, "logits"), two[:, 1] - two[:, 0])
    assert log_odds(np.array([[0, -np.inf], [-np.inf, 0]]), "logits").tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize(
    ("form", "zero", "one"),
    [
        ({}, 0.0, 1.0),
        ({"scale": "percent"}, 0, 100),
        ({"scale": "logits"}, -np.inf, np.inf),
        ({"scale": "log-probs"}, -np.inf, 0),
    ],
)
def test_exact_zeros_alone_are_infinite(form, zero, one):
    (block,) = Forecasts([0, 1, 1], [zero, one, zero], **form).blocks()
    assert block.log_odds.tolist() == [-np.inf, np.inf, -np.inf]
    assert block.log_probabilities.tolist() == [[0, -np.inf], [-np.inf, 0], [0, -np.inf]]


def test_every_way_in_gives_them(rng):
    x = rng.normal(0, 3, (40, 4))
    log_p = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    p, y, w = np.exp(log_p), rng.integers(0, 4, 40), rng.exponential(size=40)
    forms = [
        (x, {"scale": "logits"}),
        (log_p, {"scale": "log-probs"}),
        (p, {}),
        (100 * p, {"scale": "percent"}),
        (p * (1 + 4e-4 * rng.random((40, 1))), {"invalid": "rescale"}),
        (log_p + 4e-4 * rng.random((40, 1)), {"scale": "log-probs", "invalid": "rescale"}),
    ]
    for given, form in forms:
        forecasts = Forecasts(y, given, sample_weight=w, **form)
        (block,) = forecasts.blocks()
        np.testing.assert_allclose(block.log_probabilities, log_p, rtol=0, atol=1e-13)
        keep = w > 1
        some = block[keep]
        np.testing.assert_array_equal(some.log_probabilities, block.log_probabilities[keep])
        np.testing.assert_array_equal(some[2:5].log_probabilities, block.log_probabilities[keep][2:5])
        (chosen,) = forecasts.chosen(np.array([7, 3])).blocks()
        np.testing.assert_array_equal(chosen.log_probabilities, block.log_probabilities[[7, 3]])
        spoiled = given.copy()
        spoiled[5, 1] = np.nan
        ways = [*([form["invalid"]] if "invalid" in form else []), "drop"]
        (rest,) = Forecasts(y, spoiled, **{**form, "invalid": ways}).blocks()
        np.testing.assert_array_equal(rest.log_probabilities, np.delete(block.log_probabilities, 5, axis=0))


def test_single_precision_is_taken_as_it_is():
    x = np.array([[0.1, 0.9], [0.25, 0.75]], dtype=np.float32)
    (block,) = Forecasts([0, 1], x).blocks()
    np.testing.assert_array_equal(block.log_probabilities, np.log(x.astype(np.float64)))
    (block,) = Forecasts([0, 1], 50 * x - 25, scale="logits").blocks()
    np.testing.assert_array_equal(block.log_odds, np.diff((50 * x - 25).astype(np.float64))[:, 0])
