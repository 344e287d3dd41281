"""The compiled kernel gives what NumPy gives, to the last digit: random, tied and adversarial input of any layout."""

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from adversarial import EDGES, adversarial, counted, layouts
from helpers import module_of
from unperplexed import Tally
from unperplexed.calibration.where.conditions import columns_of_values
from unperplexed.calibration.where.rules import Model, Scores, SearchedRows
from unperplexed.kernels import exact_sum as _exact_sum
from unperplexed.kernels import pair_tables as _pair_tables
from unperplexed.kernels import rows as _kernels
from unperplexed.kernels import softmax as _softmax
from unperplexed.kernels.exact_sum import exact_sum, exact_sums_of_powers, limb_sums
from unperplexed.kernels.rows import (
    COARSE,
    CellTotals,
    DistinctValues,
    Grid,
    crowded,
    row_hashes,
    row_primitives,
)
from unperplexed.kernels.softmax import logit_rows, softmax

ROOT = Path(__file__).parents[2]


def both(monkeypatch, compute):
    """What the kernel gives, and what NumPy does."""
    compiled = compute()
    with monkeypatch.context() as without:
        for module in (_kernels, _softmax, _exact_sum, _pair_tables):
            without.setattr(module, "_kernel", None)
        return compiled, compute()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("classes", [2, 3, 7, 8, 9, 31, 32, 33, 100, 127, 128, 129, 136, 137, 300, 1003])
def test_rows_and_cells(monkeypatch, rng, dtype, classes):
    for _ in range(2 if classes < 100 else 1):
        p = adversarial(rng, 40, classes, dtype)
        truth = rng.integers(0, classes, len(p))
        weights = rng.choice([0, 1, 0.3, 7], len(p)).astype(float)
        bits = int(rng.choice([3, 7, 9, 12]))
        for given, w in itertools.product(layouts(p, rng), (None, weights)):
            compiled, plain = both(monkeypatch, partial(counted, given, truth, w, bits))
            exact = len(plain) if w is None else len(plain) - 1
            for one, other in zip(compiled[:exact], plain[:exact], strict=True):
                assert np.array_equal(one, other, equal_nan=True)
            np.testing.assert_allclose(compiled[exact:], plain[exact:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 1 << 12, 1 << 16, (1 << 16) + 5])
def test_counts_of_many_equal_values_do_not_overflow(rng, classes):
    n = 1 + (1 << 19) // classes
    p, truth = np.full((n, classes), 1 / classes, dtype=np.float32), np.zeros(n, dtype=int)
    grid = Grid(9)
    total = np.zeros(grid.size)
    row_primitives(p, truth, None, CellTotals(grid, total))
    assert total.sum() == total.max() == n * classes


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cells_of_values(monkeypatch, rng, dtype):
    edges = np.concatenate([EDGES[:15], 2.0 ** np.arange(-149.0, 0), [np.nextafter(0.5, 0), np.nextafter(0.5, 1)]])
    values = np.concatenate([edges, 1 - edges, rng.uniform(size=500), 2.0 ** rng.uniform(-40, 0, 500)]).astype(dtype)
    for bits in (3, 9, 20):
        for each in (values, values[::2], values[:0]):
            compiled, plain = both(monkeypatch, partial(Grid(bits).places, each))
            np.testing.assert_array_equal(compiled, plain)


def test_cells_of_what_happened(monkeypatch, rng):
    values = np.concatenate([EDGES[:15], rng.uniform(size=500), 2.0 ** rng.uniform(-40, 0, 500)])
    for weights in (None, rng.uniform(size=values.size)):
        for bits in (3, 9, 12):

            def table(w=weights, bits=bits):
                grid = Grid(bits)
                columns, total = grid.happened_columns(), np.zeros(grid.size)
                columns[-2:] = [[np.inf], [-np.inf]]
                grid.count_happened(values, w, columns)
                grid.count(values, total, w)
                return [columns, total]

            for one, other in zip(*both(monkeypatch, table), strict=True):
                np.testing.assert_allclose(one, other, rtol=0 if weights is None else 1e-12)


@pytest.mark.parametrize("classes", [2, 3, 40])
def test_what_is_counted_of_rows(monkeypatch, rng, classes):
    """What happened and the pairs of the top in cells, and hashes."""
    p = np.concatenate([adversarial(rng, 200, classes, np.float64), np.full((9, classes), 1 / classes)])
    p = p[row_primitives(p, np.zeros(len(p), dtype=int)).usual]
    rows = row_primitives(p, rng.integers(0, classes, len(p)))

    def counted():
        grid = Grid(9)
        happened, top, total = grid.happened_columns(), grid.happened_columns(), np.zeros(grid.size)
        several = grid.count_rows(rows, happened, total, top)
        return [several, happened[:, happened[0] > 0], top[:, top[0] > 0], total, *row_hashes(rows, 1 << 62)]

    for one, other in zip(*both(monkeypatch, counted), strict=True):
        np.testing.assert_array_equal(one, other)
    several, *_, total, _, _ = counted()
    assert total.sum() + several.size == len(p)


def test_sums_of_values_and_of_their_squares(rng):
    """At once, or where a value is large step by step."""
    x = np.concatenate([rng.normal(size=3000), 2.0 ** rng.uniform(-120, 10, 500), [-1023.9, 5e-324, 0.0]])
    for given in (x, x[:1], x[:0], np.append(x, 1024.0), np.append(x, np.inf)):
        with np.errstate(over="ignore"):
            assert exact_sums_of_powers(given) == (exact_sum(given), exact_sum(given * given, bits=20, limbs=4))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_coarse_cells(monkeypatch, rng, dtype):
    ends = 2.0 ** np.arange(-30.0, 0)
    edges = np.concatenate([ends, 1 - ends, 1.125 * ends, 1 - 1.125 * ends, EDGES[:15]])
    p = np.concatenate([edges, np.nextafter(edges, 0), rng.uniform(size=999), 2.0 ** rng.uniform(-40, 0, 999)])
    for one, other in zip(*both(monkeypatch, lambda: COARSE.places(p.astype(dtype))), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "columns"), [(0, 3), (700, 1), (40, 7), (9, 300), (900, 7), (5, 1100)])
@pytest.mark.parametrize("weighted", [False, True])
def test_coarse_cells_of_groups(monkeypatch, rng, dtype, n, columns, weighted):
    """Each probability is counted under the group of its row, or of its column."""
    p = np.where(
        rng.uniform(size=(n, columns)) < 0.2, rng.choice(EDGES[:15], (n, columns)), rng.uniform(size=(n, columns))
    )
    p, w = p.astype(dtype), rng.integers(0, 9, n).astype(float) if weighted else None
    for of_rows in (False, True):
        group = rng.integers(0, 5, n if of_rows else columns)

        def counted(group=group, of_rows=of_rows):
            total, places = np.zeros((2, 5 * 256))
            COARSE.count(p, group, of_rows, w, total, places)
            return total, places

        for one, other in zip(*both(monkeypatch, counted), strict=True):
            np.testing.assert_array_equal(one, other)
        total = counted()[0].reshape(256, 5).sum(axis=0)
        each = np.ones(n) if w is None else w
        expected = np.bincount(group, each if of_rows else np.full(columns, each.sum()), 5)
        np.testing.assert_array_equal(total, expected * (columns if of_rows else 1))


@pytest.mark.parametrize("of_rows", [False, True])
def test_coarse_cells_of_many_equal_values_do_not_overflow(of_rows):
    highest = np.nextafter(np.float32(0.5), np.float32(0))  # whose place is the highest
    p, (total, places) = np.full((4200, 1001), highest), np.zeros((2, 256))
    COARSE.count(p, np.zeros(4200 if of_rows else 1001, dtype=int), of_rows, None, total, places)
    assert total.sum() == total.max() == p.size
    assert places.sum() == p.size * 2.0**20


@pytest.mark.parametrize("group", [[0, 10_000, 1], [0, -10_000, 1], [0, 1]])
def test_groups_that_are_not_there_are_refused(group):
    """Nothing is written beyond the room there is."""
    with pytest.raises((ValueError, IndexError)):
        COARSE.count(np.full((2, 3), 0.3), np.array(group), False, None, *np.zeros((2, 5 * 256)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("most", [0, 1, 100, 5000])
def test_crowded(monkeypatch, rng, dtype, most):
    """Never of as many distinct values as there is room for, whatever zeros are among them; surely of thrice that."""
    values = np.concatenate([[0.0, -0.0], rng.uniform(size=3 * most + 8)]).astype(dtype)
    few = rng.choice(values[: most + 1], (4000, 5))
    assert both(monkeypatch, lambda: crowded(few, most)) == (False, False)
    assert both(monkeypatch, lambda: crowded(values.reshape(-1, 1), most)) == (True, True)


@pytest.mark.parametrize("classes", [2, 7, 8, 31, 33, 300])
def test_softmax(monkeypatch, rng, classes):
    """Its exponentials are within two last digits, those of subnormal results too."""
    x = (rng.normal(size=(200, classes)) * rng.choice([0.1, 3, 30, 200], (200, 1))).astype(np.float32)
    x[:8, 0] = -np.inf, np.inf, np.nan, 3e38, -3e38, 0, 90, 200
    x[0] = -np.inf
    x[-1, -1] = np.nan
    x[-2, :2] = np.inf, np.nan
    x[-3, :2] = np.nan, np.inf
    for given in layouts(x, rng):
        compiled, plain = both(monkeypatch, lambda given=given: softmax(given))
        np.testing.assert_array_equal(compiled, plain)
    steps = np.concatenate([-rng.uniform(0, 104, 5000), [0.0, -0.0, -1e-40]]).astype(np.float32)
    found = softmax(np.stack([np.zeros_like(steps), steps], axis=1))
    exact = np.exp(steps.astype(np.float64))
    np.testing.assert_allclose(found[:, 1] / found[:, 0], exact, rtol=2.0**-22, atol=2.0**-149)
    assert np.isnan(compiled[[0, 2, -1]]).all()
    assert np.isinf(compiled[1]).all()


@pytest.mark.parametrize("classes", [2, 5, 31, 40, 300])
def test_logits_that_are_counted_as_they_are(monkeypatch, rng, classes):
    """As their probabilities are, whatever the layout and the weights; NumPy makes these first."""
    x = (rng.normal(size=(42, classes)) * rng.choice([0.1, 3, 30, 200], (42, 1))).astype(np.float32)
    x[:7, 0] = -np.inf, np.inf, np.nan, 3e38, -3e38, 0, 90
    truth = rng.integers(0, classes, len(x))
    weights = rng.choice([0, 1, 0.3, 7], len(x))
    for given, w in itertools.product(layouts(x, rng), (None, weights)):
        compiled, plain = both(monkeypatch, lambda given=given, w=w: counted(logit_rows(given), truth, w, 5))
        for found in (plain, counted(softmax(given), truth, w, 5)):
            for one, other in zip(compiled[:-1], found[:-1], strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_allclose(compiled[-1], found[-1], rtol=0 if w is None else 1e-12)
    np.testing.assert_array_equal(np.asarray(logit_rows(x)[truth > 0]), softmax(x[truth > 0]))


@pytest.mark.parametrize("limbs", [3, 4, 5])
def test_limbs(monkeypatch, rng, limbs):
    x = np.concatenate([rng.normal(size=999), 2.0 ** rng.uniform(-120, 10, 500), -(2.0 ** rng.uniform(-120, 10, 500))])
    x = np.concatenate([x, (rng.integers(-9, 9, 99) + 0.5) * 2.0 ** (10 - 36)])  # halves of the lowest place, to even
    x = np.concatenate([x, rng.uniform(1000, 1024, 70_000)])  # whose sums take most digits
    for n in (0, 1, 7, 8, 9, 15, 16, 17, 1597, x.size):
        compiled, plain = both(monkeypatch, lambda n=n: limb_sums(x[:n], 10, limbs))
        assert compiled == plain


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_distinct_values(monkeypatch, rng, dtype):
    p = rng.choice(np.concatenate([[-0.0, 5e-324], np.arange(300) / 300]), (400, 5)).astype(dtype)

    def found(most, weights):
        distinct = DistinctValues(most)
        taken = [
            distinct.add(np.asfortranarray(part), w)
            for part, w in zip(np.split(p, 4), np.split(weights, 4), strict=True)
        ]
        return taken, distinct.columns()

    for weights in (np.ones(400), rng.integers(0, 4, 400).astype(float)):
        (taken, compiled), (_, plain) = both(monkeypatch, lambda w=weights: found(1000, w))
        assert taken == [500] * 4
        for one, other in zip(compiled, plain, strict=True):
            np.testing.assert_array_equal(one, other)
    (taken, columns), _ = both(monkeypatch, lambda: found(50, np.ones(400)))
    assert 50 <= taken[0] < 500
    assert columns[0].size == 50
    assert columns[1].sum() == sum(taken)


@pytest.mark.parametrize("most", [40, 1 << 16])
def test_distinct_values_that_came_in_half_precision(monkeypatch, rng, most):
    """They are counted by their bits, beside others and after and before such as are found by a search."""
    halves = rng.choice(np.array([0, -0.0, 6e-8, 1e-5, 0.5, 1, *rng.uniform(size=60)], dtype=np.float16), (4000, 10))
    p = halves.astype(np.float32)
    p[7::9, 3] = 0.1
    parts = [p[:3], p, p[:2000].astype(np.float64), p]

    def found():
        distinct = DistinctValues(most)
        return sum(distinct.add(part) for part in parts), distinct.columns()

    (taken, compiled), (_, plain) = both(monkeypatch, found)
    if most == 1 << 16:
        assert taken == sum(part.size for part in parts)
        for one, other in zip(compiled, plain, strict=True):
            np.testing.assert_array_equal(one, other)
    assert compiled[0].size == min(most, np.unique(p + 0.0).size)
    assert compiled[1].sum() == compiled[2].sum() == taken


@pytest.mark.parametrize("classes", [2, 3, 40])
@pytest.mark.parametrize("exact_limit", [0, 100, 1 << 16])
def test_tallies(monkeypatch, rng, classes, exact_limit):
    """Whole tallies with all their parts, as bytes."""
    p = rng.dirichlet(np.full(classes, 0.5), 3000)
    p[::5] = 1 / classes
    p[1::7] = np.round(p[1::7], 1)
    y = rng.integers(0, classes, 3000)
    if classes == 2:
        p = p[:, 1]
    counting = {"parts": ["classes", "predictions", "shards"], "exact_limit": exact_limit}
    counting |= {"labels": range(classes), "invalid": ["rescale", "drop"]}
    compiled, plain = both(monkeypatch, lambda: Tally.of(y, p, **counting).to_bytes())
    assert compiled == plain


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [-np.inf, -1e300, -1.0, 1.5, 2.0, 5e300, np.inf, np.nan])
def test_what_is_no_probability_is_counted_nowhere_else(rng, dtype, value):
    """Another thread may write it after it was checked: it must not be counted outside the cells."""
    with np.errstate(all="ignore"):
        p = np.where(rng.uniform(size=(50, 3)) < 0.5, value, rng.uniform(size=(50, 3))).astype(dtype)
    for bits in (3, 9, 12):
        grid = Grid(bits)
        room = np.zeros(3 * grid.size)
        total = room[grid.size : 2 * grid.size]
        kernel = _kernels._kernel
        kernel.count(p, None, bits, total)
        kernel.count(p, np.ones(50), bits, total)
        columns = np.zeros((3 * 7, grid.size))
        kernel.happened(p[:, 0].astype(np.float64), None, bits, columns[7:14])
        assert not room[: grid.size].any()
        assert not room[2 * grid.size :].any()
        assert total.sum() == 2 * p.size
        assert not columns[:7].any()
        assert not columns[14:].any()


@pytest.mark.skipif(_kernels._kernel is None, reason="built without a compiler")
def test_lines_of_another_width(rng):
    """The first line whose fields are not as many as the header's, as plain splitting finds it."""
    for _ in range(300):
        width = int(rng.integers(1, 4))
        lines = [b",".join([b"x"] * width)] * int(rng.integers(0, 6))
        lines += [b"".join(rng.choice([b"x", b","], int(rng.integers(0, 5)))) for _ in range(int(rng.integers(0, 3)))]
        text = b"\n".join(lines) + rng.choice([b"", b"\n"])
        counts = [line.count(b",") + 1 for line in text.removesuffix(b"\n").split(b"\n")] if text else []
        other = [(at, fields) for at, fields in enumerate(counts) if fields != width]
        found = _kernels._kernel.line_of_other_width(text, ",", width)
        assert found == other[0] if other else found[0] == -1


def fuzz_kernels():
    return module_of(ROOT / "benchmarks" / "fuzz_kernels.py")


@pytest.mark.parametrize("kind", ["matrices", "columns", "logits", "coarse"])
def test_a_short_run_of_the_fuzzer(kind):
    fuzzer = fuzz_kernels()
    assert set(fuzzer.KINDS) == {"matrices", "columns", "logits", "coarse"}
    assert [number for number in range(40) if not fuzzer.compared(kind, number)[1]] == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 7, 16, 37])
def test_tables_of_two_and_three_columns(monkeypatch, rng, dtype, width):
    for rows, sizes in ((0, [3, 2]), (1, [1, 4, 2]), (3_000, [11, 1, 21, 3])):
        codes = np.array([rng.integers(0, size, rows) for size in sizes], dtype=np.uint8)
        values = (rng.normal(size=(rows, width)) * 10.0 ** rng.integers(-6, 6, (rows, 1))).astype(dtype)
        sets = [*itertools.permutations(range(len(sizes)), 2), *itertools.permutations(range(len(sizes)), 3)]
        for some in (sets, sets[::-1]):  # tables of three columns are filled in other parts
            compiled, plain = both(monkeypatch, partial(_pair_tables.pair_tables, codes, sizes, some, values))
            for each, one, other in zip(some, compiled, plain, strict=True):
                np.testing.assert_array_equal(one, other)
                expected = np.zeros((*(sizes[at] for at in each), width), dtype)
                np.add.at(expected, tuple(codes[at] for at in each), values)
                np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("columns", range(2, 9))
def test_each_pair_of_columns_has_one_table(rng, columns):
    sizes = rng.integers(1, 8, columns).tolist()
    codes, values = (rng.integers(0, sizes, (500, columns)).T.astype(np.uint8), rng.normal(size=(500, 3)))
    found = [*itertools.chain(*_pair_tables.all_pair_tables(codes, sizes, values))]
    pairs = sorted(pair for pair, _ in found)
    assert pairs == sorted(itertools.combinations(range(columns), 2))
    for pair, table in zip(pairs, _pair_tables.pair_tables(codes, sizes, pairs, values), strict=True):
        np.testing.assert_allclose(dict(found)[pair], table, atol=1e-12)


def conditions(rng, bins):
    """All bins, and some that come of one another as ranges do, and some that do not."""
    ranges = [[a <= k < b for k in range(bins)] for b in range(bins) for a in range(b)]
    return np.array([[True] * bins, *ranges, *(rng.random((4, bins)) < 0.5)], dtype=np.float32)


@pytest.mark.parametrize("samples", [1, 8, 21])
def test_scores_that_may_be_the_largest(monkeypatch, rng, samples):
    """Of bias, and of slopes less their regression on it: both find the largest roots, wherever these lie."""
    a, b = conditions(rng, 6), conditions(rng, 3)
    rules = len(a) * len(b)
    table = rng.normal(size=(6, 3, 2 * samples)).astype(np.float32)
    tilt, limit = rng.normal(size=rules).astype(np.float32), rng.random((2, 2, samples)).astype(np.float32)
    most = (rng.random((2, rules)) * (rng.random((2, rules)) < 0.8)).astype(np.float32)
    least = most * np.float32(0.8)
    bias, raw = np.split(np.einsum("ia,jb,abk->ijk", a, b, table).reshape(rules, -1), 2, axis=1)
    scores = np.abs([bias, raw - tilt[:, None] * bias])
    two = (np.arange(rules) // len(b) > 0) & (np.arange(rules) % len(b) > 0)
    roots = scores * (most * rng.uniform(0.8, 1, most.shape))[..., None]
    given = table, a, b, tilt, most, least, limit, 100.0
    for places, level, other in both(monkeypatch, partial(_pair_tables.beyond, *given)):
        slope, rule, sample = np.unravel_index(places, scores.shape)
        np.testing.assert_allclose(level, bias[rule, sample], atol=1e-5)
        np.testing.assert_allclose(other, raw[rule, sample], atol=1e-5)
        found = limit.astype(np.float64)
        np.maximum.at(found, (two[rule].astype(int), slope, sample), roots[slope, rule, sample])
        expected = [np.maximum(limit[kind], roots[:, two == kind].max(axis=1)) for kind in (0, 1)]
        np.testing.assert_allclose(found, expected)
    compiled, plain = both(monkeypatch, partial(_pair_tables.beyond, *given))
    assert set(compiled[0].tolist()) <= set(plain[0].tolist())


@pytest.mark.parametrize("columns", ["two", "one"])
def test_the_strongest_rules_of_two_columns(monkeypatch, rng, columns):
    """By about the moments that they have beside new functions: the kernel and NumPy find the same."""
    n = 4000
    x, s = rng.normal(size=(2, n)), rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-s - (x[0] > 1) + 0.6 * s * (x[1] < -0.5)))).astype(float)
    made = [
        *columns_of_values("a", x[0] if columns == "two" else x[0] > 1),
        *columns_of_values("b", np.array(["u", "v", "w", "z"])[np.digitize(x[1], [-1, 0, 1])]),
        *columns_of_values("c", np.where(rng.random(n) < 0.1, np.nan, x[1])),
    ]
    model = Model.of(SearchedRows.of(s, y))
    known = {pair: of.packed(None) for pair, of in Scores(made, model).of.items()}
    larger = model.with_group(x[0] > 1, True)
    compiled, plain = both(monkeypatch, lambda: dict(Scores(made, larger).strongest(known, 0.9)))
    assert compiled.keys() == plain.keys() == known.keys()
    for pair, found in compiled.items():
        np.testing.assert_allclose(found, plain[pair], rtol=1e-6)
        assert found.max() > 3
