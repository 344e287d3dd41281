"""Arrays on a device are counted there, with the host's counts.

Run on request, by a device's name: UNPERPLEXED_DEVICE=cuda pytest tests/gpu. CuPy and JAX where they are installed.
"""

import os
from dataclasses import fields
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from helpers import softmax_forecasts
from unperplexed import Tally
from unperplexed._lib import array_libraries as _libraries
from unperplexed._lib.array_libraries import Torch
from unperplexed._lib.errors import InputError
from unperplexed.kernels.devices import DeviceRows, device_columns
from unperplexed.kernels.rows import CellTotals, Grid, row_primitives

DEVICE = torch.device(os.environ["UNPERPLEXED_DEVICE"])


def with_cupy(x):
    import cupy

    return cupy.asarray(x)


def with_jax(x):
    import jax

    return jax.device_put(x, jax.devices("gpu")[0])


MAKE = {"torch": lambda x: torch.tensor(x, device=DEVICE)}
if DEVICE.type == "cuda":
    MAKE |= {name: make for name, make in (("cupy", with_cupy), ("jax", with_jax)) if find_spec(name)}


@pytest.fixture(autouse=True)
def on_a_device(monkeypatch):
    """Of a host's tensors, to try these tests themselves, say that they are elsewhere."""
    if DEVICE.type == "cpu":
        monkeypatch.setattr(_libraries.Torch, "here", lambda self, x: False)


@pytest.fixture(params=MAKE)
def make(request):
    return MAKE[request.param]


def assert_same_counts(a, b):
    tables = [(a.pairs_table, b.pairs_table), *((a.top_tables[k], b.top_tables[k]) for k in a.top_tables)]
    for one, other in tables:
        for f in fields(one):
            np.testing.assert_allclose(getattr(one, f.name), getattr(other, f.name), rtol=1e-12 if a.weighted else 0)
    for name, sums in a.score_sums.items():
        assert [float(x) for x in b.score_sums[name]] == pytest.approx([float(x) for x in sums], rel=1e-12)


@pytest.mark.parametrize("exact_limit", [1 << 16, 100])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("classes", "dtype"), [(2, "f4"), (10, "f2"), (300, "f4")])
def test_counts_are_those_of_the_host(make, rng, classes, dtype, weighted, exact_limit):
    y, p = softmax_forecasts(rng, 5000, classes)
    if dtype == "f2":
        p = rng.multinomial(512, p / p.sum(axis=1, keepdims=True)) / 512
    p, w = p.astype(dtype), rng.choice([0, 0.5, 2], 5000) if weighted else None
    there = make(p)
    assert device_columns(there, "y_prob").there == (DEVICE.type != "mps")  # which has no float64
    settings = {"sample_weight": w, "exact_limit": exact_limit}
    assert_same_counts(Tally.of(y, p, **settings), Tally.of(make(y), there, **settings))


@pytest.mark.parametrize("exact_limit", [1 << 16, 100])
def test_one_column_is_that_of_the_host(make, rng, exact_limit):
    y, p = softmax_forecasts(rng, 5000, 2, dtype="f4")
    found = Tally.of(make(y), make(p[:, 1]), exact_limit=exact_limit, n_jobs=2)
    assert found.to_bytes() == Tally.of(y, p[:, 1], exact_limit=exact_limit).to_bytes()


def test_what_is_refused_and_how(make, rng):
    y, p = softmax_forecasts(rng, 100_000, 3, dtype="f4")
    p[[5, 99_999]] = [[np.nan, 0, 1], [0.7, 0.7, 0.7]]
    messages = []
    for given in (p, make(p)):
        with pytest.raises(InputError) as error:
            Tally.of(y, given)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_little_comes_to_the_host(rng, monkeypatch):
    moved = []
    to_host = _libraries.Torch.to_host
    monkeypatch.setattr(_libraries.Torch, "to_host", lambda self, x: moved.append(x.numel()) or to_host(self, x))
    p = torch.softmax(3 * torch.randn(20_000, 1000, device=DEVICE), dim=1)
    Tally.of(rng.integers(1000, size=20_000), p)
    assert sum(moved) < p.numel() / 5  # the most of it a first block of distinct values, in float64 with their counts


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("n", "classes"), [(5000, 2), (3000, 10), (2000, 1000), (300, 20_000), (50, 128_000)])
def test_logits(dtype, n, classes):
    """Counts are those of the probabilities the kernel has, and these are those of the softmax."""
    generator = torch.Generator().manual_seed(classes)
    x = (3 * torch.randn(n, classes, generator=generator)).to(dtype)
    x[0], x[1, :2], x[2, 1:] = 0, 30, -torch.inf
    y = torch.randint(classes, (n,), generator=generator).numpy()
    rows = DeviceRows(x.to(DEVICE), Torch(torch), "logits")
    assert (rows._kernel is None) == (DEVICE.type != "cuda")
    cells = CellTotals(Grid(9), np.zeros(Grid(9).size))
    found, p = rows.primitives(y, None, cells), np.asarray(rows)
    assert np.array_equal(cells.total, np.bincount(cells.grid.codes(p.reshape(-1)), minlength=cells.grid.size))
    for wanted, rtol in ((row_primitives(p, y), 1e-6), (row_primitives(torch.softmax(x.double(), 1).numpy(), y), 1e-5)):
        for name in ("correct", "highest", "ties", "hit", "total", "squares"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=rtol, err_msg=name)
    weights = np.full(n, 0.5)
    half = CellTotals(Grid(9), np.zeros(Grid(9).size))
    rows.primitives(y, weights, half)
    assert np.array_equal(2 * half.total, cells.total)


def test_parts_of_logits_add_up_to_the_last_digit():
    x = 3 * torch.randn(30_000, 50, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    y = torch.randint(50, (30_000,), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    whole = Tally.of(y, x, scale="logits")
    parts = (Tally.of(a, b, scale="logits") for a, b in zip(y.split(7000), x.split(7000), strict=True))
    assert sum(parts, Tally()).to_bytes() == whole.to_bytes()
