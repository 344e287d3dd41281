"""Rows of more than two classes: the same folds in any order, samples, clusters, and the recalibrator on them."""

import json
from functools import cache

import numpy as np
import polars as pl
import pytest

from unperplexed import Forecasts, InputError, Recalibrator, Tally
from unperplexed.maps.parameters import MANY_CLASSES
from unperplexed.recalibration.fitting import rows_of_chunks
from unperplexed.recalibration.folded_rows import Kept, canonical_order
from unperplexed.scores import log_loss


def forecasts(n, classes=3, temperature=0.6, seed=0):
    rng = np.random.default_rng(seed)
    z = 2 * rng.normal(size=(n, classes))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = np.exp(z / temperature)
    return y, p / p.sum(axis=1, keepdims=True)


Y, P = forecasts(600)
LABELS = np.array(["dry", "rain", "snow"])
TEMPERATURE = Recalibrator("temperature").fit(Y, P)


@cache
def class_fit(method):
    return Recalibrator(method, folds=2).fit(Y, P)


def test_temperature_is_found_and_improves_fresh_rows():
    assert TEMPERATURE.parameters_["temperature"] == pytest.approx(1 / 0.6, rel=0.1)
    y, p = forecasts(5000, seed=1)
    assert log_loss(y, TEMPERATURE.transform(p)) < log_loss(y, p) - 0.05
    assert TEMPERATURE.gain_.significant


def test_rows_sum_to_1_and_are_never_0_or_1():
    p = np.array([[1.0, 0, 0], [0, 0.5, 0.5], [1e-300, 1e-12, 1 - 1e-12]])
    q = TEMPERATURE.transform(p)
    np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-12)
    assert ((q > 0) & (q < 1)).all()


def test_same_from_any_order_and_from_parts():
    order = np.random.default_rng(2).permutation(600)
    parts = np.array_split(order, 5)
    others = [
        Recalibrator("temperature").fit(Y[order], P[order]),
        Recalibrator("temperature").fit(LABELS[Y], pl.DataFrame(dict(zip(LABELS, P.T, strict=True)))),
        Recalibrator("temperature").fit_chunks(lambda: (Forecasts(Y[at], P[at], whole=False) for at in parts)),
        Recalibrator("temperature").fit(Y, np.log(P), scale="log-probs"),
    ]
    for other in others:
        np.testing.assert_allclose(other.transform(P), TEMPERATURE.transform(P), atol=1e-12)
        assert other.gain_.interval == pytest.approx(TEMPERATURE.gain_.interval, abs=1e-11)


def test_order_is_canonical():
    kept = Kept(P, Y, np.ones(600), np.zeros(600, dtype=np.int64))
    order = np.random.default_rng(3).permutation(600)
    np.testing.assert_array_equal(P[canonical_order(kept)], P[order][canonical_order(kept.at(order))])


def test_folds_hold_all_rows_once():
    rows = rows_of_chunks([Forecasts(Y, P)], 5, 0, False)
    assert rows.sampled == 0
    assert rows.folds == 5
    np.testing.assert_array_equal(np.diff(rows.first), 120)
    assert rows.weight.sum() == pytest.approx(600)
    np.testing.assert_allclose(rows.observed, np.bincount(Y) / 600)


def test_too_many_rows_are_sampled():
    parts = [Forecasts(Y[at], P[at], whole=False) for at in np.array_split(np.arange(600), 6)]
    rows = rows_of_chunks(parts, 5, 0, False, most=450)
    assert rows.sampled == rows.truth.size == 150
    assert rows.n_rows == 600
    again = rows_of_chunks(parts, 5, 0, False, most=450)
    np.testing.assert_array_equal(again.predicted, rows.predicted)
    other = rows_of_chunks(parts, 5, 1, False, most=450)
    assert (other.predicted != rows.predicted).any()
    # Each row is as likely as any other to be in the sample.
    weight = [rows_of_chunks(parts, 2, seed, False, most=450).predicted[:, 0].mean() for seed in range(40)]
    assert np.mean(weight) == pytest.approx(np.log(P[:, 0]).mean(), abs=4 * np.log(P[:, 0]).std() / np.sqrt(40 * 150))


def test_clusters_share_a_fold_and_widen_the_interval():
    cluster = np.arange(600)
    rows = rows_of_chunks([Forecasts(np.tile(Y, 3), np.tile(P, (3, 1)), clusters=np.tile(cluster, 3))], 5, 0, True)
    fold = np.repeat(np.arange(5), np.diff(rows.first))
    assert all(np.ptp(fold[rows.cluster == each]) == 0 for each in np.unique(rows.cluster))
    differences = np.random.default_rng(0).normal(size=1800)
    of_clusters = [rows.cluster, differences - differences.mean()]
    sums = pl.DataFrame(of_clusters, schema=["c", "d"]).group_by("c").agg(pl.col("d").sum())["d"].to_numpy()
    expected = np.sqrt(600 / 599 * (sums**2).sum()) / 1800
    assert rows.mean(differences) == pytest.approx((differences.mean(), expected))
    with pytest.raises(InputError, match="one cluster"):
        Recalibrator().fit(Y, P, clusters=np.zeros(600))


def test_weights_count_and_rows_of_weight_0_are_no_rows():
    y, p = np.append(Y, (Y[:100] + 1) % 3), np.concatenate([P, P[:100]])
    some = Recalibrator("temperature").fit(y, p, sample_weight=np.append(np.full(600, 3.0), np.zeros(100)))
    assert some.n_rows_ == 600
    np.testing.assert_allclose(some.transform(P), TEMPERATURE.transform(P), atol=1e-9)


def test_the_same_after_reading(tmp_path):
    fitted = Recalibrator().fit(LABELS[Y[:200]], pl.DataFrame(dict(zip(LABELS, P[:200].T, strict=True))))
    assert sum(fitted.weights_.values()) == pytest.approx(1)
    fitted.save(tmp_path / "map.json")
    loaded = Recalibrator.load(tmp_path / "map.json")
    assert loaded.labels_ == tuple(LABELS)
    np.testing.assert_array_equal(loaded.transform(P), fitted.transform(P))
    with pytest.raises(InputError, match="fitted to 3 classes"):
        loaded.transform(P[:, 0])
    with pytest.raises(InputError, match="columns are named"):
        loaded.transform(pl.DataFrame({"rain": [0.2], "dry": [0.3], "snow": [0.5]}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("biases", [0.0, 0.0]),
        ("biases", [0.0, 0.0, 1e999]),
        ("biases", ["0", "0", "0"]),
        ("shared", {"slope": "1"}),
        ("shared", [1.0]),
        ("name", "beta"),
        ("name", []),
        ("lapse", 2.0),
        ("matrix", [[1.0]]),
        ("code", "import os"),
    ],
)
def test_hostile_maps_are_refused(key, value):
    data = TEMPERATURE.to_dict()
    data["maps"][0][key] = value
    with pytest.raises(InputError):
        Recalibrator.from_dict(data)


@pytest.mark.parametrize("method", ["temperature", "bias", "logistic-lapse", "vector", "isotonic", "matrix"])
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("shared", {"slope": -2.0}, "which falls|those of another map"),
        ("shared", {"rests": 0.1}, "those of another map"),
        ("zero", 5.0, "zero"),
        ("lapse", 1.0, "lapse"),
    ],
)
def test_parameters_that_no_fit_has_are_refused(method, key, value, message):
    data = class_fit(method).to_dict()
    assert Recalibrator.from_dict(data).to_dict() == data
    changed = json.loads(json.dumps(data))
    linear = changed["maps"][0]
    (linear["base"] if method == "isotonic" else linear)[key] = value
    with pytest.raises(InputError, match=message):
        Recalibrator.from_dict(changed)


@pytest.mark.parametrize(
    "change",
    [
        lambda knots: knots["y"].reverse(),
        lambda knots: knots["x"].reverse(),
        lambda knots: knots.update(y=[1000 * y for y in knots["y"]]),
        lambda knots: knots.update(x=[], y=[]),
    ],
)
def test_isotonic_curves_that_fall_are_refused(change):
    data = json.loads(json.dumps(class_fit("isotonic").to_dict()))
    change(data["maps"][0]["knots"][0])
    with pytest.raises(InputError, match="curves fall|from 0 to 1"):
        Recalibrator.from_dict(data)


def test_fit_refuses():
    with pytest.raises(InputError, match="'beta' is no map for more than two classes"):
        Recalibrator("beta").fit(Y, P)
    with pytest.raises(InputError, match="'vector' is no map for two classes"):
        Recalibrator("vector").fit([0, 1], [0.5, 0.5])
    with pytest.raises(InputError, match="more than two classes"):
        Recalibrator().fit(Tally.of(Y, P))
    with pytest.raises(InputError, match="two rows"):
        Recalibrator().fit(Y[:1], P[:1])


def test_slopes_and_curves_of_classes_are_tried_where_rows_suffice():
    rng = np.random.default_rng(4)
    for n, untried in ((800, {"vector", "isotonic", "matrix"}), (1100, {"matrix"})):
        p = rng.dirichlet(np.ones(40), n)
        truth = (np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1)
        fitted = Recalibrator(folds=2).fit(truth, p, labels=range(40))
        assert set(MANY_CLASSES) - set(fitted.weights_) == untried
        assert f"Not tried with {n:,} rows of 40 classes: " in fitted.to_text().replace("\n", " ")


def test_parts_of_weight_zero_change_nothing():
    rows = np.arange(250)
    whole = Forecasts(Y[:250], P[:250], sample_weight=(rows >= 50).astype(float))
    parts = [whole[rows[50:]], whole[rows[:50]]]
    found = Recalibrator("temperature", folds=2).fit_chunks(lambda: parts)
    own = Recalibrator("temperature", folds=2).fit(Y[50:250], P[50:250])
    assert found.n_rows_ == 200
    np.testing.assert_allclose(found.transform(P), own.transform(P), rtol=1e-9)
