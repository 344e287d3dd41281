"""Forecasts of one column: counted by the kernel as the matrix of both classes would be, and scored by their counts."""

import numpy as np
import pytest

from unperplexed import Forecasts, InputError, Tally, _columns, _kernels
from unperplexed.scores import SCORES

EDGES = [
    0.0,
    1.0,
    0.5,
    *(0.5 + sign * 2.0**-power for sign in (-1, 1) for power in (22, 23, 24, 25, 26, 30, 53)),
    *(2.0**-power for power in (20, 24, 53, 60, 125, 126, 127, 149, 160, 1074)),
    *(1 - 2.0**-power for power in (9, 20, 24, 25, 53)),
    0.1,
    1 - 0.9,
    0.9,
]
LIMITS = [0, 60, 1 << 16]


def rows(rng, dtype, n=5000):
    """Some calibrated, some of few values, some of edges."""
    p = rng.uniform(size=n)
    p[::3] = rng.choice(EDGES, p[::3].size)
    p[1::7] = np.round(p[1::7], 1)
    p[2::11] = 2.0 ** rng.uniform(-140, 0, p[2::11].size)
    return (rng.uniform(size=n) < p).astype(int), p.astype(dtype)


def without_kernel(monkeypatch, compute):
    with monkeypatch.context() as without:
        without.setattr(_kernels, "_kernel", None)
        without.setattr(_columns, "_kernel", None)
        return compute()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exact_limit", LIMITS)
@pytest.mark.parametrize("fraction_bits", [3, 9, 12])
def test_same_tally_as_of_numpy(monkeypatch, rng, dtype, exact_limit, fraction_bits):
    y, p = rows(rng, dtype)

    def counted():
        return Tally.of(y, p, exact_limit=exact_limit, fraction_bits=fraction_bits).to_bytes()

    assert counted() == without_kernel(monkeypatch, counted)


@pytest.mark.parametrize("exact_limit", LIMITS)
def test_same_table_as_of_both_columns(rng, exact_limit):
    """Scores apart, which of a matrix are summed row by row."""
    y, p = rows(rng, np.float64)
    one = Tally.of(y, p, exact_limit=exact_limit)
    both = Tally.of(y, np.stack([1 - p, p], axis=1), exact_limit=exact_limit)
    assert both.exact is one.exact is (exact_limit == LIMITS[-1])
    for a, b in zip(
        [one.pairs_table, *one.top_tables.values()], [both.pairs_table, *both.top_tables.values()], strict=True
    ):
        for name in vars(a):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("exact_limit", LIMITS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_split_and_order(rng, exact_limit, dtype):
    y, p = rows(rng, dtype)
    whole = Tally.of(y, p, exact_limit=exact_limit)
    order = rng.permutation(p.size)
    parts = [Tally.of(y[at], p[at], exact_limit=exact_limit) for at in np.split(order, [1, 2, 70, 3000])]
    assert sum(parts).to_bytes() == whole.to_bytes()
    stream = (Forecasts(y[at], p[at], whole=False) for at in np.array_split(order, 40))
    assert Tally.count(stream, exact_limit=exact_limit).to_bytes() == whole.to_bytes()


def test_both_precisions_in_a_stream(monkeypatch, rng):
    """1 - p is rounded as p came, so that each precision is counted by itself."""
    (y, p), (z, q) = rows(rng, np.float64, 900), rows(rng, np.float32, 900)
    for exact_limit in LIMITS:

        def counted(exact_limit=exact_limit):
            stream = [Forecasts(y, p, whole=False), Forecasts(z, q, whole=False)]
            return Tally.count(stream, exact_limit=exact_limit).to_bytes()

        whole = Tally.of(y, p, exact_limit=exact_limit) + Tally.of(z, q, exact_limit=exact_limit)
        assert counted() == without_kernel(monkeypatch, counted) == whole.to_bytes()


@pytest.mark.parametrize("exact_limit", LIMITS)
@pytest.mark.parametrize("layout", [lambda x: x[::-1], lambda x: np.repeat(x, 3)[::3], lambda x: x.astype(object)])
def test_any_layout(rng, exact_limit, layout):
    y, p = rows(rng, np.float64, 700)
    found = Tally.of(layout(y), layout(p), exact_limit=exact_limit)
    expected = Tally.of(layout(y).copy(), np.ascontiguousarray(layout(p), dtype=float), exact_limit=exact_limit)
    assert found.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("exact_limit", LIMITS)
def test_scores_are_means_over_rows(rng, exact_limit):
    """By value to rounding; in cells to third order of their width, 2^-9."""
    y, p = rows(rng, np.float64, 20_000)
    p = np.clip(p, 1e-9, 1 - 1e-9)
    names = ["power_score(3)", "generalized_surprisal(-0.5)", "ranked_probability_score"]
    tally = Tally.of(y, p, exact_limit=exact_limit, scores=names)
    both = Tally.of(y, np.stack([1 - p, p], axis=1), scores=names)
    assert tally.scores == both.scores == (*SCORES, *names[1:2], *names[:1], *names[2:])
    for name in tally.scores:
        rtol = 1e-12 if tally.exact else 1e-7
        assert tally.score(name) == pytest.approx(both.score(name), rel=rtol)
        assert tally.score_standard_error(name) == pytest.approx(both.score_standard_error(name), rel=rtol)


def test_weights_count_as_repeated_rows(rng):
    y, p = rows(rng, np.float64, 2000)
    times = rng.integers(0, 4, p.size)
    for exact_limit in LIMITS:
        weighted = Tally.of(y, p, sample_weight=times, exact_limit=exact_limit)
        repeated = Tally.of(np.repeat(y, times), np.repeat(p, times), exact_limit=exact_limit)
        np.testing.assert_array_equal(weighted.pairs_table.total, repeated.pairs_table.total)
        for name in SCORES:
            assert weighted.score(name) == pytest.approx(repeated.score(name), rel=1e-9)


def test_mixed_with_a_matrix(rng):
    """Then sums are kept: of the column what its counts say."""
    (y, p), (z, q) = rows(rng, np.float64, 3000), rows(rng, np.float64, 2000)
    p, q = np.clip([*p, *q], 1e-9, 1 - 1e-9)[:3000], np.clip([*p, *q], 1e-9, 1 - 1e-9)[3000:]
    matrix = np.stack([1 - q, q], axis=1)
    added = Tally.of(y, p) + Tally.of(z, matrix)
    counted = Tally.count([Forecasts(y, p, whole=False), Forecasts(z, matrix, whole=False)])
    both = Tally.of([*y, *z], np.stack([1 - np.array([*p, *q]), [*p, *q]], axis=1))
    for tally in (added, counted, Tally.of(z, matrix) + Tally.of(y, p), Tally.from_bytes(added.to_bytes())):
        assert tally.n_rows == 5000
        for name in SCORES:
            assert tally.score(name) == pytest.approx(both.score(name), rel=1e-12)
            assert tally.score_standard_error(name) == pytest.approx(both.score_standard_error(name), rel=1e-9)


@pytest.mark.parametrize("exact_limit", LIMITS)
def test_bad_rows(monkeypatch, rng, exact_limit):
    """They are refused, or left out and reported, as ever."""
    y, p = rows(rng, np.float64, 3000)
    y = y.astype(object)
    y[5], y[17] = None, -1
    p[[7, 1400, 2999]] = np.nan, -0.25, 1.5

    def counted():
        settings = {"labels": (0, 1), "ignore_label": -1, "drop_invalid": True, "exact_limit": exact_limit}
        return Tally.of(y, p, **settings)

    found = counted()
    assert found.n_rows == 2995
    assert found.notes.ignored == 1
    assert found.notes.dropped == {"no label": 1, "NaN": 1, "negative": 1, "above 1": 1}
    assert found.to_bytes() == without_kernel(monkeypatch, lambda: counted().to_bytes())
    with pytest.raises(InputError) as refused:
        Tally.of(np.ones(3000), p, exact_limit=exact_limit)
    assert refused.match(r"y_prob: NaN in 1 row \(7;.*negative in 1 row \(1400;.*above 1 in 1 row \(2999;")


def test_no_rows():
    empty = Tally.of([], [])
    assert empty.n_rows == 0
    assert np.isnan(empty.score("log_loss"))
    assert (empty + Tally.of([1], [0.5])).to_bytes() == Tally.of([1], [0.5]).to_bytes()
    assert Tally.of([1, 0], [0.5, 0.5]).prediction_accuracy == 0.5
