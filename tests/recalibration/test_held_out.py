"""Rows recalibrated by the maps that the fit gave without them: their log loss is that of the gain, in any order."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import norm
from scipy.stats import t as student_t

from unperplexed import Forecasts, Recalibrator
from unperplexed.recalibration.averaging import HeldOut
from unperplexed.recalibration.gain import Gain


def two_classes(rng, n=400):
    s = rng.normal(0, 1.5, n)
    p = expit(1.8 * s)
    return (rng.random(n) < expit(s)).astype(int), np.stack([1 - p, p], axis=1)


def three_classes(rng, n=400):
    z = rng.normal(0, 1.5, (n, 3))
    return (z + rng.gumbel(size=z.shape)).argmax(axis=1), softmax(1.8 * z, axis=1)


def grid(rng, n=400):
    y, p = two_classes(rng, n)
    high = np.round(p[:, 1], 1)
    return y, np.stack([1 - high, high], axis=1)


def held_out_loss(made, y, p, w):
    q, truth = made.held_out.recalibrated(Forecasts(y, p, sample_weight=w).blocks())
    np.testing.assert_array_equal(truth, y)
    np.testing.assert_allclose(q.sum(axis=1), 1, rtol=1e-12)
    return -np.average(np.log(q[np.arange(y.size), y]), weights=w)


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
@pytest.mark.parametrize("design", [two_classes, three_classes, grid])
def test_the_log_loss_of_the_rows_is_that_after_the_gain(rng, design, clustered):
    y, p = design(rng)
    groups = rng.integers(0, 80, y.size) if clustered else None
    made = Recalibrator("temperature").fit(y, p, clusters=groups)
    assert held_out_loss(made, y, p, None) == pytest.approx(made.gain_.after, rel=1e-12)
    order = rng.permutation(y.size)
    mixed = Recalibrator("temperature").fit(y[order], p[order], clusters=None if groups is None else groups[order])
    assert mixed.gain_.after == pytest.approx(made.gain_.after, rel=1e-9)
    assert mixed.gain_.interval == pytest.approx(made.gain_.interval, rel=1e-6)
    np.testing.assert_allclose(held_out_loss(mixed, y[order], p[order], None), made.gain_.after, rtol=1e-9)


@pytest.mark.parametrize("design", [two_classes, three_classes])
def test_weighted_rows(rng, design):
    y, p = design(rng)
    w = rng.choice([0.5, 1.0, 4.0], y.size)
    made = Recalibrator().fit(y, p, sample_weight=w)
    assert held_out_loss(made, y, p, w) == pytest.approx(made.gain_.after, rel=1e-9)


def test_a_row_is_recalibrated_by_maps_that_do_not_know_it(rng):
    """The forecasts of a fold change with the outcomes of other folds, and not with its own."""
    y, p = two_classes(rng)
    made = Recalibrator("temperature", folds=4).fit(y, p)
    fold = made.held_out.dealt.folds_of(np.log(p[:, 1] / p[:, 0]), y)
    assert np.bincount(fold).tolist() == [100] * 4
    q, _ = made.held_out.recalibrated(Forecasts(y, p).blocks())
    for at in range(4):
        other = Recalibrator("temperature").fit(y[fold != at], p[fold != at])
        np.testing.assert_allclose(q[fold == at], other.transform(p[fold == at]), rtol=1e-6)


@pytest.mark.parametrize("design", [grid, three_classes])
def test_what_clusters_are_called_does_not_matter(rng, design):
    y, p = design(rng)
    groups = rng.integers(0, 60, y.size)
    gains = [
        Recalibrator("temperature").fit(y, p, clusters=named).gain_
        for named in (groups, 7 * groups[::-1][::-1] + 3, np.array([f"match {each}" for each in groups]))
    ]
    for gain in gains[1:]:
        assert gain.value == pytest.approx(gains[0].value, rel=1e-9)
        assert gain.interval == pytest.approx(gains[0].interval, rel=1e-9)
        assert gain.n_clusters == np.unique(groups).size


def test_a_saved_map_and_a_sample_know_no_rows(rng, monkeypatch):
    y, p = three_classes(rng)
    made = Recalibrator("temperature").fit(y, p)
    assert Recalibrator.from_dict(made.to_dict()).held_out is None
    assert Recalibrator.from_dict(made.to_dict()).gain_ == made.gain_
    monkeypatch.setattr("unperplexed.recalibration.fitting.rows_of_chunks.__defaults__", (600,))
    forecasts = Forecasts(y, p)
    sampled = Recalibrator("temperature").fit_chunks(lambda: [forecasts])
    assert sampled.held_out.dealt is None


@pytest.mark.parametrize("clusters", [None, 12])
def test_the_p_value_is_of_the_standard_errors_below_the_gain(clusters):
    reach = norm.ppf(0.975) if clusters is None else student_t.ppf(0.975, clusters - 1)
    gain = Gain(0.6, 0.58, 0.02, (0.02 - reach * 0.008, 0.05), 500, clusters)
    tail = norm.sf(2.5) if clusters is None else student_t.sf(2.5, clusters - 1)
    assert gain.p_value == pytest.approx(2 * tail, rel=1e-9)
    assert Gain(0.6, 0.6, 0.0, (0.0, 0.0), 500, clusters).p_value == 1
    assert Gain(0.6, 0.61, -0.01, (-0.02, 0.03), 500).p_value < 0.06


def test_squares_are_those_of_all_classes():
    """The Brier score of each row, from 0 to 2."""
    q, truth, weight = np.array([[0.5, 0.3, 0.2], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]), np.array([1, 1, 0]), np.ones(3)
    rows = SimpleNamespace(here=lambda fold: slice(None), predicted=q, truth=truth, weight=weight, n_classes=3)
    same = SimpleNamespace(probabilities=lambda p: p)
    *_, squares = HeldOut._of_fold(rows, 0, same)
    assert squares == pytest.approx(((q - np.eye(3)[truth]) ** 2).sum())
    assert HeldOut._of_fold(rows, 0, SimpleNamespace(probabilities=lambda p: np.eye(3)[truth]))[3] == 0
