"""The kernel for logits by Triton's interpreter, which needs no card: TRITON_INTERPRET=1 pytest tests/interpreted"""

import numpy as np
import pytest
import torch

from unperplexed import Forecasts, Tally, assess
from unperplexed._lib.array_libraries import Torch
from unperplexed._lib.errors import InputError
from unperplexed.kernels import devices as _devices
from unperplexed.kernels import triton as _triton
from unperplexed.kernels.devices import DeviceColumns, DeviceRows
from unperplexed.kernels.rows import PRIMITIVES, CellTotals, Grid, row_primitives

DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def there(x):
    return DeviceColumns(x, Torch(torch), computes=True)


def logits(n, classes, dtype=torch.float32, spread=3.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = (spread * torch.randn(n, classes, generator=generator)).to(dtype)
    return x, torch.randint(classes, (n,), generator=generator).numpy()


def computed(x, y, weights=None, bits=9):
    """Primitives, counts and probabilities of logits."""
    cells = CellTotals(Grid(bits), np.zeros(Grid(bits).size))
    rows = DeviceRows(x, Torch(torch), "logits")
    assert rows._kernel is _triton
    return rows.primitives(y, weights, cells), cells, np.asarray(rows)


def special(classes):
    """Rows that are certain, undecided, tied, masked, far apart, nearly tied."""
    x = torch.randn(8, classes, generator=torch.Generator().manual_seed(1))
    x[0, 1], x[1], x[2, :2], x[3, 2:] = 1e4, 0, 20.0, -torch.inf
    x[4] = torch.linspace(-300, 0, classes)
    x[5, 0], x[6], x[7] = -1e4, -1e4, -88.0
    x[6, :2] = torch.tensor([1e-3, np.nextafter(np.float32(1e-3), np.float32(0))])
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "classes"), [(150, 2), (70, 10), (9, 1000), (2, 17_000)])
def test_rows_are_those_of_the_softmax(dtype, n, classes):
    x, y = logits(n, classes, dtype)
    rows, _, _ = computed(x, y)
    wanted = row_primitives(torch.softmax(x.double(), dim=1).numpy(), y)
    for name in PRIMITIVES:
        np.testing.assert_allclose(getattr(rows, name), getattr(wanted, name), rtol=3e-6, err_msg=name)
    # What the highest lacks to 1 is not lost.
    np.testing.assert_allclose(1 - rows.highest, 1 - wanted.highest, rtol=1e-6, atol=1e-16)


@pytest.mark.parametrize("chunk", [32, 1 << 14])
@pytest.mark.parametrize(
    ("dtype", "bits"), [(torch.float32, 9), (torch.float32, 14), (torch.bfloat16, 9), (torch.float16, 3)]
)
def test_counts_and_rows_are_those_of_its_probabilities(monkeypatch, chunk, dtype, bits):
    """Of rows in one chunk and in several: what is counted is what is reported."""
    monkeypatch.setattr(_triton, "_LONGEST", chunk)
    x = torch.cat([special(75), *(logits(6, 75, spread=s, seed=int(s))[0] for s in (1.0, 30.0))]).to(dtype)
    y = np.arange(len(x)) % 5
    rows, cells, p = computed(x, y, bits=bits)
    assert np.array_equal(cells.total, np.bincount(cells.grid.codes(p.reshape(-1)), minlength=cells.grid.size))
    wanted = row_primitives(p, y)
    for name in ("correct", "highest", "ties", "hit", "lowest"):
        assert np.array_equal(getattr(rows, name), getattr(wanted, name)), name
    for name in ("total", "squares"):
        np.testing.assert_allclose(getattr(rows, name), getattr(wanted, name), rtol=1e-6, err_msg=name)
    exact = torch.softmax(x.double(), dim=1).numpy()
    np.testing.assert_allclose(p, exact, rtol=2e-5, atol=1e-37)  # exponents near -88 have lost some digits
    assert (1 - 2 * rows.correct + rows.squares >= 0).all()
    assert (rows.correct / np.sqrt(rows.squares) <= 1).all()


def test_layout_and_place_of_a_row_do_not_matter():
    x, y = logits(20, 40)
    wide = torch.zeros(45, 50)
    wide[2:42:2, 3:43] = x
    columns = x.T.contiguous().T
    whole = computed(x, y)
    for same in (wide[2:42:2, 3:43], columns):
        found = computed(same, y)
        assert np.array_equal(found[1].total, whole[1].total)
        assert np.array_equal(found[2], whole[2])
    order = torch.randperm(20, generator=torch.Generator().manual_seed(2))
    moved, _, _ = computed(x[order][:7], y[order[:7]])
    for name in PRIMITIVES:
        assert np.array_equal(getattr(moved, name), getattr(whole[0], name)[order[:7]])


def test_weights():
    x, y = logits(30, 12)
    w = np.arange(30) % 4.0
    _, weighted, _ = computed(x, y, w)
    _, repeated, _ = computed(x.repeat_interleave(torch.tensor(w).long(), dim=0), y.repeat(w.astype(int)))
    assert np.array_equal(weighted.total, repeated.total)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning:triton")  # what the interpreter computes with
@pytest.mark.parametrize("chunk", [8, 1 << 14])
@pytest.mark.parametrize("exact_limit", [1 << 16, 20])
def test_rows_that_are_none_are_refused_as_numpy_refuses_them(monkeypatch, chunk, exact_limit):
    monkeypatch.setattr(_triton, "_LONGEST", chunk)
    x, y = logits(400, 20)
    x[301, 9], x[310, 15], x[311], x[312, :2] = torch.nan, torch.inf, -torch.inf, torch.tensor([torch.nan, torch.inf])
    messages = []
    for given in (x, there(x)):
        with pytest.raises(InputError) as error:
            Tally.of(y, given, scale="logits", exact_limit=exact_limit)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "(301, 311, 312; counted from 0)" in messages[0]
    settings = {"scale": "logits", "invalid": ["drop", "rescale"], "exact_limit": exact_limit}
    host, kept = (Tally.of(y, given, **settings) for given in (x, there(x)))
    assert kept.n_rows == 396
    assert kept.notes.dropped == host.notes.dropped
    clean = np.delete(np.arange(400), [301, 310, 311, 312])
    without = Tally.of(y[clean], there(x[clean]), **settings)
    assert np.array_equal(without.pairs_table.total, kept.pairs_table.total)


@pytest.mark.parametrize("exact_limit", [1 << 16, 100])
def test_a_tally(monkeypatch, exact_limit):
    for name in ("BLOCK_ELEMENTS", "FUSED_ELEMENTS"):
        monkeypatch.setattr(_devices, name, 1 << 11)
    x, y = logits(300, 30)
    x[:, 7] = x[:, 8]
    settings = {"scale": "logits", "exact_limit": exact_limit, "parts": ["classes"]}
    whole = Tally.of(y, there(x), **settings)
    parts = np.split(np.random.default_rng(0).permutation(300), [1, 100])
    total = sum((Tally.of(y[i], there(x[i]), **settings) for i in parts), Tally(exact_limit=exact_limit))
    assert total.to_bytes() == whole.to_bytes()
    table = whole.pairs_table
    assert (table.total >= table.happened).all()
    assert table.total.sum() == 300 * 30
    host = assess(Tally.of(y, x, **settings), resamples=0).metrics()
    found = assess(whole, resamples=0).metrics()
    for name in ("reported_geometric_accuracy", "prediction_accuracy", "brier_score", "log_loss"):
        assert found[name] == pytest.approx(host[name], rel=1e-6), name


def test_no_rows():
    rows, cells, p = computed(torch.zeros(0, 3), np.zeros(0, dtype=int))
    assert rows.correct.shape == (0,)
    assert p.shape == (0, 3)
    assert not cells.total.any()


def test_float64_and_one_column_are_not_for_it():
    assert DeviceRows(torch.zeros(3, 2, dtype=torch.float64), Torch(torch), "logits")._kernel is None
    assert DeviceRows(torch.zeros(3, 2), Torch(torch))._kernel is None
    assert Forecasts([0], there(torch.zeros(1)), scale="logits").correct_class_probabilities()[0] == 0.5
