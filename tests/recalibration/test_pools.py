import json

import numpy as np
import polars as pl
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, logit
from scipy.stats import beta as beta_distribution
from scipy.stats import gmean, pmean

from unperplexed import InputError, compare, pool
from unperplexed.recalibration.pool_models import Free, PoolModel, PoolRows, _beta_slope, _Shape, _slope, fit_pool
from unperplexed.results import Pool


def experts(rng, n, spread=(1.5, 1.0)):
    """Outcomes of even prior and calibrated forecasters with independent evidence."""
    y = rng.integers(0, 2, n)
    s = np.array(spread)[:, None]
    return y, *expit(s**2 * (2 * y - 1) / 2 + s * rng.normal(size=(len(spread), n)))


def classes(rng, n, c=4):
    """Outcomes of c classes and two calibrated forecasters, each of whom knows half of the evidence."""
    y = rng.integers(0, c, n)
    scores = rng.normal(size=(2, n, c)) * 1.2 + 1.2**2 * (np.arange(c) == y[:, None])
    p = np.exp(scores)
    return y, *(p / p.sum(axis=2, keepdims=True))


def test_unfitted_pools_are_the_means_of_their_order(rng):
    p = rng.dirichlet(np.ones(3), (3, 20))
    names, w = dict(zip("abc", p, strict=True)), np.array([0.5, 0.3, 0.2])
    expected = {
        "linear": np.average(p, axis=0, weights=w),
        "logarithmic": gmean(p, axis=0, weights=w[:, None, None] * np.ones_like(p)),
    }
    for method, mean in expected.items():
        found = pool(None, names, method=method, weights=w).probabilities
        assert found == pytest.approx(mean / mean.sum(axis=1, keepdims=True), rel=1e-12)
    for order in (-2.0, -2 / 3, 0.5, 2.0):
        mean = pmean(p, order, axis=0, weights=w[:, None, None] * np.ones_like(p))
        found = pool(None, names, method="mean", order=order, weights=dict(zip("abc", w, strict=True))).probabilities
        assert found == pytest.approx(mean / mean.sum(axis=1, keepdims=True), rel=1e-12)
    assert pool(None, names, method="mean", order=1.0).probabilities == pytest.approx(pool(None, names).probabilities)
    assert pool(None, names, method="mean", order=1e-9).probabilities == pytest.approx(
        pool(None, names, method="logarithmic").probabilities, rel=1e-6
    )


def test_a_power_multiplies_the_log_odds():
    a, b = np.array([0.2, 0.7]), np.array([0.4, 0.6])
    found = pool(None, {"a": a, "b": b}, method="logarithmic", power=2.0).probabilities
    assert logit(found) == pytest.approx(logit(a) + logit(b), rel=1e-12)


@pytest.mark.slow
def test_calibrated_independent_forecasters_need_a_power_of_2_and_get_it(rng):
    y, a, b = experts(rng, 6000)
    found = pool(y, {"a": a, "b": b}, method="logarithmic")
    assert found.power * np.array([*found.weights.values()]) == pytest.approx([1, 1], abs=0.12)
    assert found.held_out.significant
    y, *many = experts(rng, 4000, (1.0, 1.0, 1.0))
    assert pool(y, dict(zip("abc", many, strict=True)), method="logarithmic").power == pytest.approx(3, abs=0.35)


@pytest.mark.slow
def test_more_than_two_classes_are_extremized_too(rng):
    y, a, b = classes(rng, 6000)
    found = pool(y, {"a": a, "b": b}, method="logarithmic")
    assert found.power == pytest.approx(2, abs=0.15)
    assert found.probabilities.shape == (6000, 4)
    assert found.probabilities.sum(axis=1) == pytest.approx(np.ones(6000), abs=1e-12)
    assert found.held_out.log_loss < 0.9 * found.held_out.members["a"]


def test_copies_of_a_forecaster_are_no_evidence(rng):
    y, a = experts(rng, 1500, (1.5,))
    found = pool(y, {"a": a, "copy": a}, method="logarithmic")
    assert found.power == pytest.approx(1, abs=0.1)
    assert not found.held_out.significant
    assert abs(found.held_out.gain) < 1e-3


@pytest.mark.slow
def test_a_useless_forecaster_gets_little_weight(rng):
    y, a = experts(rng, 800, (1.5,))
    found = pool(y, {"a": a, "noise": rng.uniform(0.05, 0.95, 800)}, method="linear", map="none")
    assert found.weights["a"] > 0.95


@pytest.mark.slow
def test_the_linear_pool_of_calibrated_forecasters_is_underconfident_and_the_beta_map_mends_it(rng):
    y, a, b = experts(rng, 600)
    plain = pool(y, {"a": a, "b": b}, map="none")
    mended = pool(y, {"a": a, "b": b})
    assert mended.beta[0] > 1.5
    assert mended.beta[1] > 1.5
    assert mended.held_out.log_loss < plain.held_out.log_loss - 0.02
    linear = mended.weights["a"] * a + mended.weights["b"] * b
    assert mended.transform({"a": a, "b": b}) == pytest.approx(beta_distribution.cdf(linear, *mended.beta), rel=1e-6)


@pytest.mark.parametrize("order", [0.0, 1.0, -0.7])
def test_gradients_are_exact(rng, order):
    p = rng.dirichlet(np.ones(3), (2, 50))
    rows = PoolRows(np.log(p), rng.integers(0, 3, 50), rng.uniform(0.5, 2, 50))
    shape = _Shape(PoolModel(np.array([0.3, 0.7]), order, 1.3), Free(True, order != 0, True, False))
    x = rng.normal(size=shape.size) / 10
    expected = approx_fprime(x, lambda x: _slope(shape.model(x), shape, rows)[0], 1e-7)
    assert _slope(shape.model(x), shape, rows)[1] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("n", [50, 1000])
def test_gradients_of_the_beta_map_are_exact(rng, n):
    second = rng.uniform(0.01, 0.99, (2, n))
    rows = PoolRows(np.log(np.stack([1 - second, second], axis=2)), rng.integers(0, 2, n), np.ones(n))
    shape = _Shape(PoolModel(np.array([0.3, 0.7]), 1.0, 1.0, (1.4, 0.8)), Free(True, False, False, True))
    x = rng.normal(size=shape.size) / 10
    value, slope = _beta_slope(shape.model(x), shape, rows)
    exact = lambda x: float(rows.losses(shape.model(x)).sum())  # noqa: E731
    assert value == pytest.approx(exact(x), rel=1e-7)
    assert slope == pytest.approx(approx_fprime(x, exact, 1e-6), rel=1e-3, abs=1e-2)


def test_a_fit_is_the_maximum_of_the_penalized_likelihood(rng):
    y, a, b = experts(rng, 300)
    log_p = np.log(np.stack([np.stack([1 - p, p], axis=1) for p in (a, b)]))
    rows, start = PoolRows(log_p, y, np.ones(300)), PoolModel(np.array([0.5, 0.5]), 0.0)
    _, x = fit_pool(start, Free(True, False, True, False), rows)
    shape = _Shape(start, Free(True, False, True, False))
    cost = lambda x: float(rows.losses(shape.model(x)).sum() + x @ x / 2)  # noqa: E731
    assert all(cost(x) <= cost(x + rng.normal(size=3) / 20) for _ in range(50))


@pytest.mark.slow
def test_held_out_figures_are_those_of_compare(rng):
    y, a, b = experts(rng, 300)
    found = pool(y, {"a": a, "b": b}, method="logarithmic")
    rivals = compare(y, {"pool": found.probabilities, "a": a, "b": b})
    assert found.held_out.best == "a"
    [pair] = compare(y, {"pool": found.probabilities, "a": a}).pairs  # of three the intervals would be simultaneous
    pair = pair.differences["log_loss"]
    assert found.held_out.gain == pytest.approx(-pair.difference, rel=1e-9)
    assert found.held_out.interval == pytest.approx((-pair.interval.high, -pair.interval.low), rel=1e-9)
    assert found.held_out.members["b"] == pytest.approx(rivals.forecasters["b"].scores["log_loss"].mean)


@pytest.mark.slow
def test_held_out_rows_do_not_know_their_own_outcome(rng):
    y = rng.integers(0, 2, 400)
    noise = {name: rng.uniform(0.3, 0.7, 400) for name in "abcdefgh"}
    found = pool(y, noise, method="logarithmic")
    in_sample = -np.log(np.where(y == 1, found.transform(noise), 1 - found.transform(noise))).mean()
    assert found.held_out.log_loss > in_sample


@pytest.mark.slow
def test_clusters_share_a_fold_and_weights_are_effective(rng):
    y, a, b = experts(rng, 200)
    groups = np.repeat(np.arange(200), 3)
    copies = pool(
        np.repeat(y, 3), {"a": np.repeat(a, 3), "b": np.repeat(b, 3)}, clusters=groups, method="logarithmic", power=1.5
    )
    q = copies.probabilities.reshape(200, 3)
    assert (q == q[:, :1]).all()
    heavy = pool(y, {"a": a, "b": b}, sample_weight=np.full(200, 7.0), method="logarithmic")
    light = pool(y, {"a": a, "b": b}, method="logarithmic")
    assert heavy.power == pytest.approx(light.power, rel=1e-6)


@pytest.mark.slow
def test_the_order_is_fitted(rng):
    y, a, b = experts(rng, 2000)
    found = pool(y, {"a": a, "b": b}, method="mean")
    assert abs(found.order) < 0.4  # independent evidence: the logarithmic pool
    assert found.power > 1.7


@pytest.mark.slow
def test_saved_pools_are_the_same(rng, tmp_path):
    y, a, b = experts(rng, 60)
    for settings in ({"method": "logarithmic"}, {}, {"method": "mean", "order": -0.5}):
        found = pool(y, {"a": a, "b": b}, **settings)
        found.save(tmp_path / "pool.json")
        loaded = Pool.load(tmp_path / "pool.json")
        assert loaded.to_dict() == found.to_dict()
        assert (loaded.transform({"b": b, "a": a}) == found.transform({"a": a, "b": b})).all()


@pytest.fixture(scope="module")
def saved():
    y, a, b = experts(np.random.default_rng(0), 50)
    return json.loads(json.dumps(pool(y, {"a": a, "b": b}).to_dict()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a pool"),
        ({"version": 2}, "has version 2; this version of unperplexed reads version 1"),
        ({"extra": 1}, "missing or unknown keys: extra"),
        ({"weights": {"a": 0.4, "b": 0.4}}, "weights cannot be right"),
        ({"power": -1}, "power cannot be right"),
        ({"labels": [0]}, "labels cannot be right"),
        ({"beta": [1, "x"]}, "beta cannot be right"),
        ({"held_out": {}}, "held_out cannot be right"),
        ({"power": 10**400}, "power cannot be right"),
        ({"floor": True}, "floor cannot be right"),
    ],
)
def test_damaged_pools_are_refused(saved, tmp_path, change, message):
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(saved | change))
    with pytest.raises(InputError, match=rf"pool\.json: .*{message}"):
        Pool.load(path)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(InputError, match="no valid JSON"):
        Pool.load(tmp_path / "x.json")
    with pytest.raises(InputError, match="cannot be read"):
        Pool.load(tmp_path / "absent.json")


def test_new_forecasts_are_checked(rng):
    found = pool(None, {"a": [0.9, 0.2], "b": [0.7, 0.4]})
    for given, message in [
        ({"a": [0.5]}, "the pool is of 'a', 'b'; got 'a'"),
        ({"a": [0.5], "b": [1.5]}, "b: above 1"),
        ({"a": [0.5], "b": [0.5, 0.5]}, "b: 2 rows, and a has 1"),
        ({"a": [0.5], "b": [[0.2, 0.3, 0.5]]}, "b: 3 classes, and the pool is of 2"),
    ]:
        with pytest.raises(InputError, match=message):
            found.transform(given)
    assert found.transform({"a": [90, 20], "b": [70, 40]}, scale="percent") == pytest.approx([0.8, 0.3])


@pytest.mark.slow
def test_columns_of_frames_go_by_name(rng):
    y, p, q = classes(rng, 300, 3)
    names = ["cat", "dog", "eel"]
    a, b = (pl.DataFrame(dict(zip(names, each.T, strict=True))) for each in (p, q))
    turned = a.select("eel", "cat", "dog")
    found = pool(np.array(names)[y], {"a": a, "b": b})
    assert found.transform({"a": a, "b": b}) == pytest.approx(found.transform({"a": p, "b": q}))
    for other in (turned, a.rename(dict(zip(names, "xyz", strict=True)))):
        with pytest.raises(InputError, match="the probability columns are named"):
            found.transform({"a": other, "b": b})
        with pytest.raises(InputError, match="the classes are 'cat', 'dog', 'eel'"):
            found.transform({"a": other, "b": other})
        with pytest.raises(InputError, match="the probability columns are named"):
            pool(None, {"a": a, "b": other})
    assert pool(None, {"a": a, "b": b}).probabilities == pytest.approx((p + q) / 2)


@pytest.mark.slow
def test_zeros_stay_finite_where_pools_are_fitted_and_are_refused_where_nothing_is_left(rng):
    y, a, b = experts(rng, 200)
    a[:5], y[:5] = 0.0, 1
    found = pool(y, {"a": a, "b": b}, method="logarithmic")
    assert np.isfinite(found.held_out.log_loss)
    assert "a assigned probability 0 to the observed class in 5 of 200 rows" in found.warnings[0]
    assert pool(None, {"a": [0.0, 0.5], "b": [0.4, 0.5]}, method="logarithmic").probabilities.tolist() == [0, 0.5]
    with pytest.raises(InputError, match=r"in 1 row \(0; counted from 0\) every class has probability 0"):
        pool(None, {"a": [0.0], "b": [1.0]}, method="logarithmic")
    assert pool(None, {"a": [0.0], "b": [1.0]}).probabilities.tolist() == [0.5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "median"}, "method: expected one of"),
        ({"order": 2.0}, "the linear pool has order 1"),
        ({"method": "mean", "order": float("nan")}, "order: expected a number"),
        ({"power": 0}, "power: expected a number"),
        ({"weights": [1, -1]}, "weights: expected 2 non-negative numbers"),
        ({"weights": {"a": 1}}, "weights: expected one for each of 'a', 'b'"),
        ({"map": "beta", "method": "logarithmic"}, "a beta map is for two classes"),
        ({"folds": 1}, "folds: expected a whole number of at least 2"),
        ({"folds": 9}, "9 folds need as many rows"),
    ],
)
def test_settings_that_contradict_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        pool([0, 1, 1], {"a": [0.2, 0.7, 0.4], "b": [0.3, 0.6, 0.2]}, **settings)


def test_what_needs_outcomes_is_refused_without():
    members = {"a": [0.2, 0.7], "b": [0.3, 0.6]}
    for settings, message in [
        ({"map": "power"}, "nothing can be fitted without outcomes"),
        ({"method": "mean"}, "order: without outcomes it cannot be fitted"),
        ({"sample_weight": [1, 2]}, "sample_weight: has no use without outcomes"),
        ({"labels": [1, 2, 3]}, "labels: 3 for forecasts of 2 classes"),
    ]:
        with pytest.raises(InputError, match=message):
            pool(None, members, **settings)
    with pytest.raises(InputError, match="expected a mapping"):
        pool(None, [0.2, 0.7])


@pytest.mark.parametrize(
    ("seed", "method", "recalibrate"),
    [
        (0, "logarithmic", "auto"),
        (1, "logarithmic", "none"),
        *(pytest.param(seed, "linear", each, marks=pytest.mark.slow) for seed, each in ((1, "none"), (2, "auto"))),
    ],
)
def test_what_recalibration_gains_is_not_credited_to_noise(seed, method, recalibrate):
    rng = np.random.default_rng(seed)
    y, a = experts(rng, 1000, (1.5,))
    overconfident = expit(2 * logit(a))
    noise = rng.uniform(0.02, 0.98, 1000)
    found = pool(y, {"a": overconfident, "noise": noise}, method=method, map=recalibrate)
    h = found.held_out
    assert h.interval.low > 0  # better than the forecaster as it is
    assert h.by_recalibration
    assert not h.significant
    assert h.best_recalibrated == "a"
    text = " ".join(str(found).split())
    assert text.startswith("No evidence that the pool is better than 'a' recalibrated alone (")
    assert "The gain over 'a' as it is (" in text
    assert "comes from recalibration." in text
    assert "use `recalibrate`" in text


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_independent_calibrated_forecasters_are_better_together_than_recalibrated(seed):
    y, a, b = experts(np.random.default_rng(seed), 1000)
    h = pool(y, {"a": a, "b": b}, method="logarithmic").held_out
    assert h.significant
    assert not h.by_recalibration
    assert h.recalibrated["a"] == pytest.approx(h.members["a"], abs=0.01)
    assert h.gain_recalibrated == pytest.approx(h.recalibrated["a"] - h.log_loss, abs=1e-12)


def test_a_constant_is_no_evidence_either(rng):
    s = rng.normal(0, 1.5, 2000)
    y = rng.random(2000) < expit(s - 1)  # a bias, which a constant in a logarithmic pool corrects
    h = pool(y, {"a": expit(s), "constant": np.full(2000, 0.1)}, method="logarithmic").held_out
    assert h.by_recalibration


@pytest.mark.slow
def test_pools_saved_without_recalibrated_members_are_read(rng):
    y, a, b = experts(rng, 200)
    plain = json.loads(json.dumps(pool(y, {"a": a, "b": b}, method="logarithmic").to_dict()))
    new = ("recalibrated", "best_recalibrated", "gain_recalibrated", "interval_recalibrated")
    plain["held_out"] = {key: value for key, value in plain["held_out"].items() if key not in new}
    loaded = Pool.from_dict(plain)
    assert loaded.held_out.recalibrated == {}
    assert "recalibrated alone" not in str(loaded)
    assert Pool.from_dict(json.loads(json.dumps(loaded.to_dict()))).to_dict() == loaded.to_dict()


@pytest.mark.slow
def test_text_says_what_was_gained(rng):
    y, a, b = experts(rng, 2000)
    text = str(pool(y, {"a": a, "b": b}, method="logarithmic"))
    assert text.startswith(
        "The pool is better than its best forecaster, 'a'.\nIts log loss, cross-fitted on these 2,000 rows, is"
    )
    assert "(extremized)" in text
    same = str(pool(y, {"a": a, "copy": a}, method="logarithmic"))
    assert same.startswith("No evidence that the pool is better than its best forecaster, 'a'.")
    assert "Use 'a' alone." in same


def test_a_pool_of_chosen_weights_has_nothing_held_out():
    found = pool(None, {"a": [0.2, 0.7], "b": [0.3, 0.6]}, weights=[3, 1])
    text = str(found)
    assert text.startswith("Linear pool of 2 forecasters.\nIts parameters were chosen, not fitted.")
    assert "0.750" in text
    assert "log loss" not in text
    assert "Its parameters were chosen, not fitted." in found.to_html()
