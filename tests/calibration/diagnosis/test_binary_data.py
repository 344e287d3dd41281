"""What the diagnosis of two classes reads: the same from rows, from their counts and from any blocks of them."""

import numpy as np
import pytest
from scipy.special import expit, logit

from spoiled_tallies import older
from unperplexed import Forecasts, InputError, Tally
from unperplexed.calibration.diagnosis.binary_data import data_of_rows, data_of_tally
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.diagnose import diagnosis_of_rows, diagnosis_of_tally, rows_of
from unperplexed.calibration.resampling import positive_pairs

P = np.array([0.05, 0.2, 0.5, 0.7, 0.9, 1.0])
"""Far enough apart to be in cells of their own."""


def rows(rng, n=120, weighted=False):
    p = rng.choice(P, n)
    y = (rng.random(n) < p).astype(int)
    w = rng.uniform(0.5, 3, n) if weighted else None
    return y, p, w, rng.integers(0, 9, n)


def block(y, p, w=None, cluster=None, number=None):
    return RowBlock(np.stack([1 - p, p], axis=1), y, w, cluster, number)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_the_same_probability_are_counted_together(rng, weighted):
    y, p, w, cluster = rows(rng, weighted=weighted)
    found = data_of_rows([block(y, p, w, cluster, np.arange(500, 620))], (0, 1))
    unit = np.ones(120) if w is None else w / w.mean()
    here = p[:, None] == P
    np.testing.assert_allclose(found.rows.s, logit(P), rtol=1e-12)
    for name, each in (
        ("total", unit),
        ("positive", unit * y),
        ("squared", unit**2),
        ("squared_positive", unit**2 * y),
        ("cubed", unit**3),
    ):
        np.testing.assert_allclose(getattr(found.rows, name), each @ here, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(found.counts, here.sum(axis=0))
    np.testing.assert_allclose(found.counts_positive, y @ here)
    assert (found.n, found.labels) == (120, (0, 1))
    assert found.mean == pytest.approx(np.average(p, weights=unit), rel=1e-12)
    assert found.frequency == pytest.approx(np.average(y, weights=unit), rel=1e-12)
    at = np.array([1, 3])
    expected = 500 + np.flatnonzero(here[:, at].any(axis=1) & (y == 1))
    assert found.rows_at(at, True) == tuple(expected[:20])
    assert len(found.rows_at(np.arange(6), True)) == 20


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_clusters(rng, weighted):
    """Of a function of the log-odds of the entries that are kept: times the residual, and times the weight."""
    y, p, w, cluster = rows(rng, weighted=weighted)
    found = data_of_rows([block(y, p, w, cluster)], (0, 1))
    kept = np.isin(P, [0.2, 0.5, 0.9])
    sums, f = found.clusters(kept), np.array([[1.0, 2.0, 4.0], [-1.0, 0.5, 0.0]])
    unit = np.ones(120) if w is None else w / w.mean()
    of_row = np.zeros((2, 120))
    for value, column in zip(P[kept], f.T, strict=True):
        of_row[:, p == value] = column[:, None]
    here = cluster == np.arange(9)[:, None]
    np.testing.assert_allclose(sums.scores(f), here @ (unit * (y - p) * of_row).T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sums.totals(f), here @ (unit * of_row).T, rtol=1e-9, atol=1e-12)


def test_without_all_clusters_or_numbers_there_are_no_sums_and_no_names(rng):
    y, p, _, cluster = rows(rng)
    found = data_of_rows([block(y, p)], (0, 1))
    assert found.clusters is None
    assert found.rows_at is None
    assert data_of_rows([block(y, p, cluster=np.where(cluster == 3, -1, cluster))], (0, 1)).clusters is None
    assert data_of_rows([], (0, 1)) is None


def test_blocks_are_one_table(rng):
    y, p, w, cluster = rows(rng, weighted=True)
    whole = data_of_rows([block(y, p, w, cluster)], (0, 1))
    parts = data_of_rows([block(y[i], p[i], w[i], cluster[i]) for i in np.array_split(np.arange(120), 5)], (0, 1))
    for one, other in zip(whole.rows, parts.rows, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(whole.counts, parts.counts)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tally_tells_what_rows_do(rng, weighted):
    y, p, w, cluster = rows(rng, weighted=weighted)
    tally = Tally.of(y, p, sample_weight=w, clusters=cluster, parts=["shards"])
    of_rows, of_tally = data_of_rows([block(y, p, w, cluster)], (0, 1)), data_of_tally(tally)
    assert (of_tally.by, of_tally.n, of_tally.labels) == ("values", 120, (0, 1))
    assert of_tally.weighted_counts == weighted
    for name in ("s", "total", "positive", "squared", "squared_positive"):
        np.testing.assert_allclose(getattr(of_tally.rows, name), getattr(of_rows.rows, name), rtol=1e-9, err_msg=name)
    assert (of_tally.mean, of_tally.frequency) == pytest.approx((of_rows.mean, of_rows.frequency), rel=1e-12)
    if not weighted:
        np.testing.assert_allclose(of_tally.rows.cubed, of_rows.rows.cubed)
        np.testing.assert_allclose(of_tally.counts, of_rows.counts)
        np.testing.assert_allclose(of_tally.counts_positive, of_rows.counts_positive)
    else:  # as many rows of one weight as would have these sums of weights and of their squares
        kish = of_rows.rows.total**2 / of_rows.rows.squared
        np.testing.assert_allclose(of_tally.counts, kish, rtol=1e-9)
        np.testing.assert_allclose(of_tally.rows.cubed, kish * (of_rows.rows.squared / of_rows.rows.total) ** 3)
        some = of_rows.rows.positive > 0
        kish = of_rows.rows.positive[some] ** 2 / of_rows.rows.squared_positive[some]
        np.testing.assert_allclose(of_tally.counts_positive[some], kish, rtol=1e-9)
        assert not of_tally.counts_positive[~some].any()
    f = np.array([expit(of_rows.rows.s), np.clip(of_rows.rows.s, -9, 9)])[:, [0, 2, 3, 4]]
    kept = np.array([True, False, True, True, True, False])
    mine, theirs = (
        np.array(sorted(np.hstack([sums.scores(f), sums.totals(f)]).tolist()))
        for sums in (of_tally.clusters(kept), of_rows.clusters(kept))
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def test_a_tally_in_cells_says_so(rng):
    y, p, _, _ = rows(rng)
    found = data_of_tally(Tally.of(y, p, exact_limit=2))
    assert found.by == "cells"
    np.testing.assert_allclose(found.rows.total.sum(), 120)


def test_a_light_row_is_a_row():
    found = data_of_tally(Tally.of([1, 0, 1], [0.3, 0.5, 0.5], sample_weight=[0.2, 1.4, 1.4]))
    np.testing.assert_allclose(found.counts, [1, 2], rtol=1e-12)
    np.testing.assert_allclose(found.counts_positive, [1, 1], rtol=1e-12)


def test_rows_are_numbered_from_0():
    found = data_of_rows([block(np.array([1, 0, 1]), np.array([0.2, 0.2, 0.7]), number=np.arange(3))], (0, 1))
    assert found.rows_at(np.array([0]), True) == (0,)
    assert found.rows_at(np.array([0, 1]), True) == (0, 2)


@pytest.mark.parametrize("weight", [1.0, 0.2])
def test_a_function_is_constant_in_a_cell_whatever_is_not_kept_of_it(weight):
    """Its mean over what is kept; here of one light row beside another value of the same cell, and of one alone."""
    p, y, w = np.array([0.3, 0.3001, 0.7, 0.9]), np.array([1, 0, 1, 0]), np.array([weight, 1.0, 1.0, 2.0])
    found = data_of_tally(Tally.of(y, p, sample_weight=w, clusters=[0, 1, 2, 3], parts=["shards"]))
    sums = found.clusters(np.array([True, False, True, False]))
    f, scale = np.array([[2.0, 5.0]]), 4 / w.sum()
    expected = scale * w * np.array([2, 2, 5, 0])
    np.testing.assert_allclose(np.sort(sums.totals(f)[:, 0]), np.sort(expected), rtol=1e-6)
    np.testing.assert_allclose(np.sort(sums.scores(f)[:, 0]), np.sort(expected * (y - p)), rtol=1e-3)


def test_rows_whose_squared_weights_are_nothing_beside_the_others_count_nothing():
    """Not as 0 / 0."""
    found = data_of_tally(Tally.of([1, 0, 1, 1], [0.3, 0.5, 0.5, 0.7], sample_weight=[1e-98, 1e98, 1e98, 1e98]))
    np.testing.assert_allclose(found.counts, [0, 2, 1], rtol=1e-12)
    np.testing.assert_allclose(found.counts_positive, [0, 1, 1], rtol=1e-12)


@pytest.mark.parametrize(("wrong", "told"), [(0, None), (1, 1), (19, 19), (20, None), (23, None)])
def test_weighted_rows_that_were_certain_and_wrong_are_counted_where_all_of_them_are_kept(rng, wrong, told):
    """Among the 20 most surprising rows others are seen; else there may be more. Without them weights tell."""
    p = np.full(200, 0.7)
    p[:wrong] = 1 - 1e-9
    y = (np.arange(200) >= wrong).astype(int)
    w = rng.uniform(0.5, 3, 200)
    assert data_of_tally(Tally.of(y, p, labels=(0, 1), sample_weight=w, parts=["surprises"])).wrong_rows == told
    assert data_of_tally(Tally.of(y, p, labels=(0, 1), sample_weight=w)).wrong_rows is None
    assert data_of_tally(Tally.of(y, p, labels=(0, 1), parts=["surprises"])).wrong_rows is None


@pytest.mark.parametrize("version", [2, 3, 5])
def test_tallies_of_earlier_versions_have_no_verdict_and_say_why(rng, version):
    """They do not keep the positive class apart; its pairs are those of the part that counts each class."""
    y, p = rng.integers(0, 2, 60), rng.random(60)
    content = Tally.of(y, p, parts=["classes"]).to_bytes()
    tally = Tally.from_bytes(older(content, lambda header, body, _: (header, body, version)))
    found = diagnosis_of_tally(tally)
    assert not found.made
    assert found.verdict.startswith("No verdict: the tally does not keep the positive class apart")
    assert found.to_text(columns=1000).splitlines() == [found.verdict, "", "60 forecasts of 2 classes"]
    pairs, expected = positive_pairs(tally, "each-class"), Tally.of(y, p).positive_pairs()
    for name in ("reported", "happened", "total"):
        assert getattr(pairs, name) == pytest.approx(getattr(expected, name))


def test_rows_without_weight_are_none_to_diagnose():
    """Blocks of rows of weight 0 are passed."""
    parts = [Forecasts([0, 1], [0.2, 0.7], sample_weight=w, whole=False) for w in ([0.0, 0.0], [1.0, 1.0])]
    assert [len(block.truth) for block in rows_of(lambda: parts)()] == [2]
    with pytest.raises(InputError, match="y_true: no rows of positive weight to diagnose"):
        diagnosis_of_rows(rows_of(lambda: parts[:1]), (0, 1))
