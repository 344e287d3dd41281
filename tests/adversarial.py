"""Probabilities and matrices made to break the counting: edges, ties, zeros, NaN, any layout."""

import dataclasses

import numpy as np

from unperplexed.kernels.rows import CellTotals, Grid, row_primitives

ADVERSARIAL = np.array(
    [
        *(0.0, -0.0, 1.0, 0.5, 0.25, 0.75, 0.1, 0.9),
        *(np.nextafter(0.5, 0), np.nextafter(0.5, 1), np.nextafter(1, 0), 0.5 + 2.0**-26, 0.5 - 2.0**-26),
        *(5e-324, 1e-46, 1e-45, 1e-38, 2.0**-126, 2.0**-149, 1 - 2.0**-24, 1 - 2.0**-25),
    ]
)


def edge_values(rng, dtype):
    magnitudes = 10.0 ** rng.uniform(-320, 0, 5000)
    return np.concatenate([rng.uniform(0, 1, 5000), magnitudes, 1 - magnitudes, ADVERSARIAL]).astype(dtype)


EDGES = [
    0.0,
    -0.0,
    5e-324,
    1e-310,
    1e-45,
    1e-38,
    2.0**-24,
    0.25,
    np.nextafter(0.5, 0),
    0.5,
    np.nextafter(0.5, 1),
    0.5004,
    1 - 2.0**-24,
    np.nextafter(1, 0),
    1.0,
    np.nextafter(1, 2),
    1.0004,
    -1e-9,
    2.0,
    np.inf,
    -np.inf,
    np.nan,
    np.frombuffer(np.uint64(0xFFF8000000000001).tobytes())[0],  # a NaN with its sign and a payload
]


def adversarial(rng, n, classes, dtype):
    """Rows of which some are distributions, some nearly so, and some of edges, ties and zeros."""
    p = rng.dirichlet(np.full(classes, rng.choice([0.05, 0.5, 5])), n)
    kind = rng.integers(0, 8, n)
    p[kind == 1] = 1 / classes
    p[kind == 2] = rng.choice(EDGES, p[kind == 2].shape)
    p[kind == 3] = 0
    p[kind == 3, rng.integers(classes)] = 1
    p[kind == 4] *= rng.choice([1 - 1e-3, 1 + 1e-3, 1.002, 1 + 1e-7])
    p[kind == 5] = 0
    p[kind == 5, :2] = [0.5004, 0.5003]
    p[kind == 6, rng.integers(classes)] = rng.choice(EDGES)
    with np.errstate(over="ignore"):
        return p.astype(dtype)


def layouts(p, rng):
    """The same matrix in several layouts."""
    wide = np.zeros((2 * len(p), p.shape[1] + 3), dtype=p.dtype)
    wide[::2, 1:-2] = p
    backwards = np.ascontiguousarray(p[:, ::-1])[:, ::-1]
    fixed = p.copy()
    fixed.flags.writeable = False
    return [p, np.asfortranarray(p), wide[::2, 1:-2], backwards, fixed]


def counted(p, truth, weights, bits):
    grid = Grid(bits)
    total = np.zeros(grid.size)
    with np.errstate(all="ignore"):
        rows = row_primitives(p, truth, weights, CellTotals(grid, total))
    return [*(getattr(rows, f.name) for f in dataclasses.fields(rows)), total]
