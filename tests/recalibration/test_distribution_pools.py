"""Pools of predictive distributions: formulas, fitted weights, and bad input."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import unperplexed as up

LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


def quantiles(mean, sd=1.0):
    return up.Quantiles(LEVELS, np.asarray(mean)[:, None] + sd * norm.ppf(LEVELS))


@pytest.fixture
def forecasts(rng):
    """Outcomes whose mean each of two forecasters knows a part of, and a third that knows nothing."""
    a, b = rng.normal(size=(2, 400))
    return 2 * a + b + rng.normal(size=400), {
        "a": quantiles(3 * a, 2),
        "b": quantiles(3 * b, 2),
        "none": quantiles(0 * a, 3),
    }


def test_quantiles_are_averaged_level_by_level(forecasts):
    _, each = forecasts
    stacked = np.stack([each[name].values for name in each])
    equal = up.pool(None, each)
    assert equal.weights == dict.fromkeys(each, pytest.approx(1 / 3))
    assert equal.forecast.values == pytest.approx(stacked.mean(axis=0))
    weighted = up.pool(None, each, weights={"none": 0, "a": 3, "b": 1})
    assert weighted.forecast.values == pytest.approx(0.75 * stacked[0] + 0.25 * stacked[1])
    assert up.pool(None, each, method="median").forecast.values == pytest.approx(np.median(stacked, axis=0))
    new = {name: quantiles([1.0, 2.0]) for name in reversed(each)}
    assert weighted.transform(new).values == pytest.approx(quantiles([1.0, 2.0]).values)


def test_the_linear_pool_has_the_quantiles_of_the_mixture():
    means, sds, weights = np.array([0.0, 3.0]), np.array([1.0, 0.5]), np.array([0.3, 0.7])
    found = up.pool(None, {"a": quantiles(means[:1], sds[0]), "b": quantiles(means[1:], sds[1])}, method="linear",
                    weights=weights)  # fmt: skip
    for level, value in zip(LEVELS, found.forecast.values[0], strict=True):
        exact = brentq(lambda x, level=level: weights @ norm.cdf(x, means, sds) - level, -9, 9)
        assert value == pytest.approx(exact, abs=0.05)
    members = up.pool(None, {"a": up.Samples([[1.0, 2.0]]), "b": up.Samples([[3.0, 4.0]])})
    assert members.forecast.members.tolist() == [[1, 2, 3, 4]]


def test_fitted_weights_have_the_smallest_score_and_are_cross_fitted(forecasts):
    y, each = forecasts
    found = up.pool(y, each, clusters=None)
    assert sum(found.weights.values()) == pytest.approx(1)

    def score(weights):
        pooled = up.pool(None, each, weights=weights).forecast
        return up.scores.weighted_interval_score(y, pooled)

    best = score(found.weights)
    for away in np.random.default_rng(1).dirichlet(np.ones(3), 50):
        assert best <= score(dict(zip(each, away, strict=True))) * (1 + 1e-4)
    assert best < min(up.scores.weighted_interval_score(y, one) for one in each.values())
    held_out = up.scores.weighted_interval_score(y, found.forecast)
    assert best < held_out < score("equal")
    here, day = np.arange(400) * 5 // 400 == 2, np.arange(400)
    timed = up.pool(y, each, issued=day, target_date=day + 1)  # in folds that are stretches of time
    rest = up.pool(y[~here], {name: one.subset(~here) for name, one in each.items()}, clusters=None)
    alone = up.pool(None, {name: one.subset(here) for name, one in each.items()}, weights=rest.weights)
    assert timed.forecast.values[here] == pytest.approx(alone.forecast.values, abs=1e-4)


def test_weights_of_a_linear_pool_are_those_of_a_mixture(rng):
    """Outcomes of two kinds, each of which one forecaster expects; the third is always vague."""
    n = 600
    y = np.where(rng.random(n) < 0.3, rng.normal(-2, 0.7, n), rng.normal(2, 1, n))
    each = {"a": quantiles(np.full(n, -2), 0.7), "b": quantiles(np.full(n, 2)), "vague": quantiles(np.zeros(n), 5)}
    found = up.pool(y, each, method="linear", clusters=None)
    assert found.weights["a"] == pytest.approx(0.3, abs=0.04)

    def score(weights):
        return up.scores.crps(y, up.pool(None, each, method="linear", weights=weights).forecast)

    away = np.random.default_rng(1).dirichlet([3, 7, 0.5], 5)
    assert score(found.weights) < min(score(dict(zip(each, weights, strict=True))) for weights in away) * (1 + 1e-3)
    assert score(found.weights) < up.scores.crps(y, found.forecast) < score("equal")


def test_the_order_of_rows_does_not_matter(forecasts, rng):
    """Nor does a trend: folds of rows without times are random, as those of maps are."""
    y, each = forecasts
    order = rng.permutation(400)
    found, other = (
        up.pool(y[rows], {name: one.subset(rows) for name, one in each.items()}, clusters=None).forecast.values
        for rows in (np.arange(400), order)
    )
    assert other == pytest.approx(found[order], abs=1e-4)


def test_rows_without_an_outcome_are_pooled_too(forecasts):
    y, each = forecasts
    known = np.arange(400) < 350
    found = up.pool(np.where(known, y, np.nan), each, clusters=None, invalid="drop")
    rest = up.pool(y[known], {name: one.subset(known) for name, one in each.items()}, clusters=None)
    assert found.weights == rest.weights
    assert found.forecast.values[known] == pytest.approx(rest.forecast.values)
    assert found.forecast.values[~known] == pytest.approx(found.transform(each).values[~known])


def test_a_cluster_is_held_out_as_a_whole(forecasts):
    y, each = forecasts
    match = np.arange(400) % 40
    order = np.argsort(match, kind="stable")
    found = up.pool(y, each, clusters=match)
    sorted_rows = up.pool(y[order], {name: one.subset(order) for name, one in each.items()}, clusters=np.sort(match))
    assert found.forecast.values[order] == pytest.approx(sorted_rows.forecast.values, abs=1e-4)


REFUSED = {
    "other levels": ({"a": quantiles([1.0]), "b": up.Quantiles([0.5], [[1.0]])}, {}, "at the same levels"),
    "families": ({"a": up.Distribution("normal", mean=[1.0], sd=1)} | {"b": quantiles([1.0])}, {}, "forecast.quantile"),
    "other rows": ({"a": quantiles([1.0]), "b": quantiles([1.0, 2.0])}, {}, "the same rows"),
    "probabilities": ({"a": quantiles([1.0]), "b": [0.5]}, {}, "'b' is no predictive distribution"),
    "weights of a median": (
        {"a": quantiles([1.0]), "b": quantiles([2.0])}, {"method": "median", "weights": [1, 2]}, "the median",
    ),
    "an unknown method": ({"a": quantiles([1.0]), "b": quantiles([2.0])}, {"method": "logarithmic"}, "median"),
    "an order": ({"a": quantiles([1.0]), "b": quantiles([2.0])}, {"order": 1.0}, "order: is for class"),
    "a map": ({"a": quantiles([1.0]), "b": quantiles([2.0])}, {"map": "beta"}, "map: is for class"),
    "a seed": ({"a": quantiles([1.0]), "b": quantiles([2.0])}, {"seed": 3}, "seed: is for class"),
    "members": ({"a": up.Samples([[1.0, 2.0]]), "b": up.Samples([[1.0, 2.0, 3.0]])}, {}, "members of equal numbers"),
    "another name": ({"a": quantiles([1.0]), "b": quantiles([2.0])}, {"weights": {"a": 1}}, "weights: expected one"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused(case):
    forecasts, options, message = REFUSED[case]
    with pytest.raises(up.InputError, match=message):
        up.pool(None, forecasts, **options)


def test_outcomes_that_nothing_is_fitted_to_are_refused(forecasts):
    y, each = forecasts
    members = {name: up.Samples(one.values) for name, one in each.items()}
    for of, method in ((each, "median"), (members, "linear")):
        with pytest.raises(up.InputError, match="are not fitted"):
            up.pool(y, of, method=method)
    with pytest.raises(up.InputError, match="need as many rows"):
        up.pool(y[:3], {name: one.subset(np.arange(3)) for name, one in each.items()}, clusters=None)
    with pytest.raises(up.InputError, match="expected those of a, b, none"):
        up.pool(None, each).transform({"a": each["a"]})
