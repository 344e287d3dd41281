"""Forecasts of one column: counted by the kernel as the matrix of both classes would be, and scored by their counts."""

import subprocess
import sys

import numpy as np
import pytest

from unperplexed import Forecasts, InputError, Tally
from unperplexed.kernels import exact_sum as _exact_sum
from unperplexed.kernels import rows as _kernels
from unperplexed.scores.rules import SCORES
from unperplexed.tally import surprises as _columns

EDGES = [
    0.0,
    1.0,
    0.5,
    *(0.5 + sign * 2.0**-power for sign in (-1, 1) for power in (22, 23, 24, 25, 26, 30, 53, 54)),
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
        for module in (_kernels, _columns, _exact_sum):
            without.setattr(module, "_kernel", None)
        return compute()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exact_limit", LIMITS)
@pytest.mark.parametrize("fraction_bits", [3, 9, 12])
def test_same_tally_as_of_numpy(monkeypatch, rng, dtype, exact_limit, fraction_bits):
    y, p = rows(rng, dtype)

    def counted():
        return Tally.of(y, p, exact_limit=exact_limit, fraction_bits=fraction_bits).to_bytes()

    assert counted() == without_kernel(monkeypatch, counted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("fraction_bits", "n"), [(3, 9000), pytest.param(9, 280_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("exact_limit", [0, 5])
def test_cells_that_are_full(monkeypatch, rng, dtype, fraction_bits, n, exact_limit):
    """A cell gets more values than its words have room for, from rows or from a table of values."""
    p, few = rng.choice(np.array([0.3, 0.30001], dtype=dtype), n), rng.uniform(size=99).astype(dtype)
    y = (rng.uniform(size=n) < p).astype(int)

    def counted():
        stream = [Forecasts(y, p, whole=False), Forecasts(y[:99], few, whole=False), Forecasts(y, p, whole=False)]
        return Tally.count(stream, exact_limit=exact_limit, fraction_bits=fraction_bits).to_bytes()

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
    p = np.where((p == 0) | (p == 1), 0.25, p)  # whose surprisals are infinite
    names = ["power_score(3)", "generalized_surprisal(-0.5)", "ranked_probability_score"]
    tally = Tally.of(y, p, exact_limit=exact_limit, metrics=names)
    both = Tally.of(y, np.stack([1 - p, p], axis=1), metrics=names)
    assert tally.scores == both.scores == (*SCORES, *names[1:2], *names[:1], *names[2:])
    for name in tally.scores:
        rtol = 1e-12 if tally.exact else 1e-7
        assert tally.score(name) == pytest.approx(both.score(name), rel=rtol)
        assert tally.score_standard_error(name) == pytest.approx(both.score_standard_error(name), rel=rtol)


@pytest.mark.parametrize("exact_limit", LIMITS)
@pytest.mark.parametrize(
    "p",
    [
        np.exp(-650 * np.random.default_rng(1).uniform(size=4000)),
        0.5 - 2.0 ** -np.random.default_rng(2).integers(22, 56, 400),
        np.repeat([0.5 - 2.0**-54, 0.5], 100),
        np.repeat(np.float32([0.5 - 2.0**-25, 0.5, 0.3]), 100),
    ],
)
def test_scores_where_cells_do_not_tell_them(rng, exact_limit, p):
    """Next to 0, where cells have no relative width, and at 1/2, where the top class is not told by them."""
    for y in (np.ones(p.size, dtype=int), rng.integers(0, 2, p.size)):
        one, both = Tally.of(y, p, exact_limit=exact_limit), Tally.of(y, np.stack([1 - p, p], axis=1))
        assert one.prediction_accuracy == both.prediction_accuracy
        for name in SCORES:
            assert one.score(name) == pytest.approx(both.score(name), rel=1e-8, abs=1e-8), name
            assert one.score_standard_error(name) == pytest.approx(both.score_standard_error(name), rel=1e-6, abs=1e-9)


def test_rows_left_out_say_nothing_of_the_others(monkeypatch, rng):
    """Nor in which order they come: counts by value stay such, however many values are ignored or invalid."""
    y, p = np.repeat([0, 1, 9], [5000, 5000, 90_000]), np.full(100_000, 0.25)
    p[10_000:] = rng.uniform(size=90_000)
    for order in (slice(None), slice(None, None, -1)):

        def counted(order=order):
            return Tally.of(y[order], p[order], labels=(0, 1), ignore_label=9)

        assert counted().exact
        assert counted().to_bytes() == without_kernel(monkeypatch, counted).to_bytes()
    p[10_000:] += 1
    assert Tally.of(y % 9 % 2, p, invalid="drop").exact


def test_room_by_the_data_not_by_the_limit():
    assert Tally.of([1, 0], [0.8, 0.3], exact_limit=(1 << 40) - 1).exact


def test_packed_records(rng):
    """Whose fields lie where no processor reads floats at once."""
    y, p = rows(rng, np.float64, 500)
    records = np.zeros(500, dtype=[("p", "f8"), ("y", "i4"), ("w", "f8"), ("q", "f8", 2)])
    records["y"], records["p"], records["w"], records["q"] = y, p, 1 + y, np.stack([1 - p, p], axis=1)
    weights = {"sample_weight": records["w"]}
    assert Tally.of(records["y"], records["p"]).to_bytes() == Tally.of(y, p).to_bytes()
    assert Tally.of(records["y"], records["q"], **weights).score("brier_score") == pytest.approx(
        Tally.of(y, p, sample_weight=1.0 + y).score("brier_score"), rel=1e-12
    )
    shifted = np.frombuffer(b"?" + p.tobytes(), dtype=float, offset=1)
    codes = np.frombuffer(b"?" + y.tobytes(), dtype=np.int64, offset=1)
    assert Tally.of(codes, shifted).to_bytes() == Tally.of(y, p).to_bytes()


def test_an_array_that_is_changed_after_it_was_checked(rng):
    y = np.array([0, 1, 2])
    for p in (np.eye(3), [0.1, 0.2, 0.3]):
        given = y % 2 if np.ndim(p) == 1 else y.copy()
        forecasts = Forecasts(given, p)
        for value in (300, -1):
            given[:] = value
            with pytest.raises(InputError, match="y_true: the array was changed after it was checked"):
                Tally.count(forecasts)


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
    p, q = (np.where((x == 0) | (x == 1), 0.25, x) for x in (p, q))
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
        settings = {"labels": (0, 1), "ignore_label": -1, "invalid": "drop", "exact_limit": exact_limit}
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


LITTLE_MEMORY = """
import resource
import numpy as np
from unperplexed.kernels.rows import Grid
from unperplexed.tally.surprises import ColumnCounter

p = np.random.default_rng(0).random(10_000)
y = (p > 0.5).astype(np.int8)
counter, other = (ColumnCounter(10, Grid(12)) for _ in range(2))
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
_, most = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (held + 150_000_000, most))
try:
    counter.add(p, y)
except MemoryError:
    print("refused")
print(*counter.add(np.array([np.nan]), y[:1])[0])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
counter.add(p, y)
other.add(p, y)
[(pairs, _, _)], [(others, _, _)] = counter.tables(), other.tables()
print(np.array_equal(pairs.total, others.total))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or _kernels._kernel is None, reason="limits memory as Linux does")
def test_too_little_memory_for_cells_leaves_the_counter_as_it_was():
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["refused", "0", "True"]), done.stderr
