import numpy as np
import pytest

from adversarial import edge_values
from unperplexed.kernels.rows import Grid, row_primitives


def cell_by_definition(p, bits):
    """The cell of one probability from its written definition: side, and leading bits of float32(min(p, 1 - p))."""
    p = float(p)
    if p in (0.0, 1.0):
        return p, None
    u = np.float32(p if p <= 0.5 else 1 - p)
    return (0.25 if p <= 0.5 else 0.75), int(u.view(np.uint32)) >> (23 - bits)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bits", [1, 7, 9, 20])
def test_codes_are_the_definition(rng, dtype, bits):
    p, grid = edge_values(rng, dtype), Grid(bits)
    codes = grid.codes(p)
    assert codes.min() >= 0
    assert codes.max() == grid.size - 1
    name_of = {}
    for value, code in zip(p, codes.tolist(), strict=True):
        assert name_of.setdefault(code, cell_by_definition(value, bits)) == cell_by_definition(value, bits)
    assert len(set(name_of.values())) == len(name_of)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_codes_grow_with_p_and_mirror(rng, dtype):
    p, grid = np.sort(edge_values(rng, dtype)), Grid(9)
    assert (np.diff(grid.codes(p)) >= 0).all()
    low = p[p > 2.0**-20].astype(np.float32)
    low = low[low < 0.5]  # 1 - p is exact for these in float64
    assert (grid.codes(low) + grid.codes(1 - low.astype(np.float64)) == grid.size - 1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fast_count_is_the_count_of_codes(rng, dtype):
    grid = Grid(9)
    for _ in range(20):
        p = rng.permutation(edge_values(rng, dtype))[:12_000].reshape(-1, 4)
        counts = np.zeros(grid.size)
        grid.count(p, counts)
        assert (counts == np.bincount(grid.codes(p.ravel()), minlength=grid.size)).all()
        weights = rng.uniform(0.5, 2, p.shape[0])
        weighted = np.zeros(grid.size)
        grid.count(p, weighted, weights)
        np.testing.assert_allclose(weighted.sum(), 4 * weights.sum())


def test_width_of_cells_relative_to_the_nearer_end(rng):
    grid = Grid(9)
    p = rng.uniform(1e-30, 1, 10_000)
    middle = grid.centres(grid.codes(p))
    assert (np.abs(p - middle) <= np.minimum(p, 1 - p) * 2.0**-10 * (1 + 1e-6) + 1.2e-16).all()


def test_precision_of_input_does_not_move_a_value():
    """A float32 and its float64 copy lie in the same cell: 1 - p is exact in both."""
    p = np.random.default_rng(3).uniform(0, 1, 10_000).astype(np.float32)
    grid = Grid(9)
    assert (grid.codes(p) == grid.codes(p.astype(np.float64))).all()


@pytest.mark.parametrize("classes", [2, 3, 10, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_primitives_by_hand(rng, classes, dtype):
    p = rng.integers(0, 4, (200, classes)).astype(dtype) / 8
    truth = rng.integers(0, classes, 200)
    rows = row_primitives(p, truth)
    for i, row in enumerate(p.astype(float)):
        winners = np.flatnonzero(row == row.max())
        assert rows.correct[i] == row[truth[i]]
        assert rows.highest[i] == row.max()
        assert rows.lowest[i] == min(row.min(), 0)
        assert rows.ties[i] == winners.size
        assert rows.hit[i] == (1 / winners.size if truth[i] in winners else 0)
        assert rows.total[i] == pytest.approx(row.sum(), abs=1e-15)
        assert rows.squares[i] == pytest.approx((row**2).sum(), abs=1e-15)


def test_float32_rows_are_summed_in_float64():
    p = np.full((1, 100_000), 1e-5, dtype=np.float32)
    assert row_primitives(p, np.array([0])).total[0] == pytest.approx(float(np.float32(1e-5)) * 1e5, rel=1e-12)
