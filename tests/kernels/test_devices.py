"""Arrays of other libraries are counted where they are, as NumPy counts; here on the host, by the code for devices."""

import contextlib
import subprocess
import sys
from dataclasses import fields

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from adversarial import edge_values
from helpers import softmax_forecasts
from unperplexed import Forecasts, Tally, assess
from unperplexed._lib import array_libraries as _libraries
from unperplexed._lib.array_libraries import library_of
from unperplexed._lib.errors import InputError
from unperplexed.forecasts import forecasts
from unperplexed.kernels import devices as _devices
from unperplexed.kernels.devices import DeviceColumns, device_columns, places
from unperplexed.kernels.rows import Grid
from unperplexed.tally import counter


class CuPyArray(np.ndarray):
    """What CuPy's arrays have beside what NumPy's have."""

    device = property(lambda self: np.errstate(all="ignore"))

    def get(self):
        return np.asarray(self)

    def astype(self, dtype, copy=True):
        return np.ndarray.astype(self, dtype, copy=copy)


class CuPy:
    """NumPy in the place of CuPy, which has the same functions."""

    ndarray = CuPyArray

    def __getattr__(self, name):
        found = getattr(np, name)
        return found if isinstance(found, type) else lambda *given, **how: cupy_arrays(found(*given, **how))


def cupy_arrays(x):
    return tuple(map(cupy_arrays, x)) if isinstance(x, tuple) else np.asarray(x).view(CuPyArray)


MAKE = {"torch": torch.tensor, "cupy": lambda x: cupy_arrays(np.array(x))}


@pytest.fixture(params=["torch", "cupy"])
def make(request, monkeypatch):
    """An array of each library, said to be on a device that computes."""
    monkeypatch.setitem(sys.modules, "cupy", CuPy())

    def there(x):
        array = MAKE[request.param](x)
        return DeviceColumns(array, library_of(array), computes=True)

    return there


@pytest.fixture
def make_jax():
    def there(x):
        with jax.enable_x64(True):
            array = jnp.asarray(x)
        return DeviceColumns(array, library_of(array), computes=True)

    return there


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for name in ("BLOCK_ELEMENTS", "COUNTED_ELEMENTS"):
        monkeypatch.setattr(_devices, name, 1 << 12)


def same(a, b, rtol=1e-12):
    """Hold two tallies to the same counts, and sums but for their last digits."""
    assert (a.exact, a.n_rows, a.n_classes, a.notes) == (b.exact, b.n_rows, b.n_classes, b.notes)
    assert a.top_tables.keys() == b.top_tables.keys()
    for one, other in [(a.pairs_table, b.pairs_table), *((a.top_tables[k], b.top_tables[k]) for k in a.top_tables)]:
        for f in fields(one):
            x, y = getattr(one, f.name), getattr(other, f.name)
            np.testing.assert_allclose(x, y, rtol=1e-12 if a.weighted else 0)
    for name, sums in a._sums.items():
        assert [float(x) for x in b._sums[name]] == pytest.approx([float(x) for x in sums], rel=rtol)


@pytest.mark.parametrize("exact_limit", [1 << 16, 50])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("classes", "dtype"), [(2, "f4"), (5, "f8"), (5, "f2"), (70, "f4")])
def test_counts_are_those_of_numpy(make, rng, classes, dtype, weighted, exact_limit):
    y, p = softmax_forecasts(rng, 464, classes, dtype=dtype)
    if dtype == "f2":
        p = (rng.multinomial(256, [0.1, 0.2, 0.3, 0.4, 0], 464) / 256).astype(dtype)
    if classes == 2:
        p[:4] = [[0, 1], [1, 0], [0.5, 0.5], [-0.0, 1]]
    w = rng.choice([0, 0.5, 2], 464) if weighted else None
    settings = {"sample_weight": w, "exact_limit": exact_limit}
    same(Tally.of(y, p, **settings), Tally.of(y, make(p), **settings))


FORMS = {
    "probability": {},
    **{scale: {"scale": scale} for scale in ("percent", "logits", "log-probs")},
    "rescale": {"invalid": "rescale"},
}


@pytest.mark.parametrize("form", ["percent", "log-probs", "rescale"])
def test_forms(make, rng, form):
    y, p = softmax_forecasts(rng, 300, 4)
    given = {"percent": 100 * p, "log-probs": np.log(p), "rescale": 0.7 * p}[form]
    # Whether they are the same to the last digit is up to the libraries' exponentials.
    a, b = (Forecasts(y, x, **FORMS[form]).correct_class_probabilities()[0] for x in (given, make(given)))
    np.testing.assert_allclose(a, b, rtol=1e-14)
    host, there = (next(Forecasts(y, x, **FORMS[form]).blocks())[y > 0] for x in (given, make(given)))
    np.testing.assert_allclose(host.log_probabilities, there.log_probabilities, rtol=1e-14, atol=1e-15)
    figures = (assess(y, x, resamples=0, **FORMS[form]).reported.geometric_accuracy for x in (given, make(given)))
    assert next(figures) == pytest.approx(next(figures), rel=1e-13)


@pytest.mark.parametrize("form", [*FORMS])
@pytest.mark.parametrize(("dtype", "exact_limit"), [("f2", 1 << 16), ("f4", 50), ("f8", 1 << 16)])
def test_one_column_is_counted_as_on_the_host(make, rng, monkeypatch, dtype, exact_limit, form):
    """To the last digit, by the same code: of each row its one number comes to the host."""
    y, p = softmax_forecasts(rng, 500, 2)
    given = {"percent": 100 * p[:, 1], "log-probs": np.log(p[:, 1]), "logits": np.log(p[:, 1] / p[:, 0])}
    x = given.get(form, p[:, 1]).astype(dtype)
    settings = {"exact_limit": exact_limit, **FORMS[form]}
    for column in (x, x[:, None]):
        there, moved = make(column), []
        assert not there.there
        to_host = there.library.to_host
        monkeypatch.setattr(there.library, "to_host", lambda x, f=to_host, moved=moved: moved.append(len(x)) or f(x))
        found = Tally.of(y, there, **settings)
        assert found.to_bytes() == Tally.of(y, x, **settings).to_bytes()
        assert sum(moved) == 500
    w = rng.choice([0, 0.5, 2], 500)
    same(*(Tally.of(y, column, sample_weight=w, **settings) for column in (x, make(x))), rtol=0)
    some = rng.permutation(500)[:200]
    same(*(Tally.count(Forecasts(y, column)[some], exact_limit=exact_limit) for column in (p[:, 1], make(p[:, 1]))))


@pytest.mark.parametrize("exact_limit", [1 << 16, 50])
@pytest.mark.parametrize("classes", [1, 60])
def test_threads_make_no_difference(make, rng, monkeypatch, classes, exact_limit):
    monkeypatch.setattr(forecasts, "BLOCK_ELEMENTS", 1 << 10)
    y, p = softmax_forecasts(rng, 3000, max(2, classes), dtype="f4")
    p = p[:, 1] if classes == 1 else p
    there = make(p)
    assert len(Forecasts(y, there).split(3)) == (3 if classes == 1 else 1)
    alone = Tally.of(y, there, exact_limit=exact_limit).to_bytes()
    assert Tally.of(y, there, exact_limit=exact_limit, n_jobs=3).to_bytes() == alone
    cuts = [slice(start, start + 500) for start in range(0, 3000, 500)]
    stream = (Forecasts(y[rows], make(p[rows]), whole=False) for rows in cuts)
    assert Tally.count(stream, exact_limit=exact_limit, n_jobs=2).to_bytes() == alone


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("classes", [2, 6, 40])
def test_logits(make, rng, dtype, classes):
    z = 4 * rng.normal(size=(200, classes)).astype(dtype)
    z[:6] = 1e4 * np.eye(6, classes, dtype=dtype)
    y = rng.integers(classes, size=200)
    both = [Forecasts(y, x, scale="logits") for x in (z, make(z))]
    a, b = (rows.correct_class_probabilities()[0] for rows in both)
    np.testing.assert_allclose(a, b, rtol={"f4": 1e-6, "f8": 1e-14}[dtype], atol=1e-37)
    # What it lacks to 1 is not lost.
    a, b = (rows.per_row(lambda block: 1 - block.rows.highest)[0] for rows in both)
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-15)


@pytest.mark.parametrize("bits", [3, 9, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places_are_those_of_the_grid(make, rng, dtype, bits):
    p = edge_values(rng, dtype)
    assert_places(make(p), p, bits)


def assert_places(there, p, bits):
    with there.library.scope(there.array):
        found = [there.library.to_host(x) for x in places(there.array, there.library, Grid(bits))]
    for a, b in zip(found, Grid(bits).places(p), strict=True):
        assert np.array_equal(a, b)


BAD = {
    "NaN": [0.2, np.nan, 0.3],
    "infinite": [0.2, np.inf, 0.3],
    "negative": [0.7, -0.2, 0.5],
    "above 1": [0.0, 1.5, 0.0],
    "sum": [0.2, 0.2, 0.2],
}


@pytest.mark.parametrize("one_column", [False, True])
@pytest.mark.parametrize("exact_limit", [1 << 16, 5])
@pytest.mark.parametrize("kind", BAD)
def test_what_is_refused_and_how(make, rng, kind, exact_limit, one_column):
    y, p = softmax_forecasts(rng, 3000, 3)
    p[[7, 2999]] = BAD[kind]
    if one_column:
        p, y = p[:, 1], y == 1
    messages = []
    for given in (p, make(p)):
        with pytest.raises(InputError) if not one_column or kind != "sum" else contextlib.nullcontext() as error:
            Tally.of(y, given, exact_limit=exact_limit)
        messages.append(str(error and error.value))
    assert messages[0] == messages[1]
    same(*(Tally.of(y, x, exact_limit=exact_limit, invalid="drop") for x in (p, make(p))))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_logits_that_are_none(make, rng, bad, dtype):
    z = rng.normal(size=(50, 3)).astype(dtype)
    z[4] = bad
    z[9, 1] = -np.inf  # a class that cannot be
    messages = []
    for given in (z, make(z)):
        with pytest.raises(InputError) as error:
            Tally.of(np.zeros(50), given, scale="logits")
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    kept, wanted = (Tally.of(np.zeros(50), x, scale="logits", invalid="drop") for x in (make(z), z))
    assert kept.n_rows == 49
    assert kept.notes == wanted.notes
    a, b = (assess(tally, resamples=0).scores["brier_score"] for tally in (kept, wanted))
    assert a == pytest.approx(b, rel={"f4": 1e-6, "f8": 1e-12}[dtype])


def test_other_parts_and_scores(make, rng):
    y, p = softmax_forecasts(rng, 500, 7, dtype="f4")
    asked = {"parts": ["classes", "predictions", "shards"], "metrics": ["ranked_probability_score"], "exact_limit": 90}
    host, there = Tally.of(y, p, **asked), Tally.of(y, make(p), **asked)
    same(host, there)
    for name in ("classes", "predictions"):
        for f in fields(getattr(host, name)):
            assert np.array_equal(getattr(getattr(host, name), f.name), getattr(getattr(there, name), f.name))
    assert np.array_equal(host.shards.pairs.total, there.shards.pairs.total)


@pytest.mark.parametrize("exact_limit", [1 << 16, 50])
def test_parts_add_up_to_the_last_digit(make, rng, exact_limit):
    y, p = softmax_forecasts(rng, 600, 11, dtype="f4")
    whole = Tally.of(y, make(p), exact_limit=exact_limit)
    parts = np.split(rng.permutation(600), [0, 7, 300])
    total = sum((Tally.of(y[i], make(p[i]), exact_limit=exact_limit) for i in parts), Tally(exact_limit=exact_limit))
    assert total.to_bytes() == whole.to_bytes()


def test_selected_rows(make, rng):
    y, p = softmax_forecasts(rng, 100, 4)
    some = rng.permutation(100)[:30]
    chosen = Forecasts(y, make(p))[some].correct_class_probabilities()[0]
    assert np.array_equal(chosen, p[some, y[some]])


@pytest.mark.parametrize("values", [None, 64])
def test_what_comes_to_the_host(make, rng, monkeypatch, values):
    """Six numbers a row, the cells or distinct values of each block, and rows for the sample: not the probabilities."""
    monkeypatch.setattr(_devices, "COUNTED_ELEMENTS", 1 << 17)
    monkeypatch.setattr(_devices, "BLOCK_ELEMENTS", 1 << 17 if values else 1 << 12)
    monkeypatch.setattr(counter, "ROOM", 3000)
    y, p = softmax_forecasts(rng, 2620, 300, dtype="f4")
    if values:
        p = rng.multinomial(values, p / p.sum(axis=1, keepdims=True)).astype("f4") / np.float32(values)
    columns, moved = make(p), []
    to_host = columns.library.to_host
    monkeypatch.setattr(columns.library, "to_host", lambda x: moved.append(int(np.prod(x.shape))) or to_host(x))
    tally = Tally.of(y, columns, exact_limit=100, fraction_bits=3)
    assert tally.exact == (values is not None)
    assert sum(moved) < 6 * 2620 + 7 * Grid(3).size + 10 * 3000 + 2 * 4096
    assert sum(moved) < p.size / 10


def test_what_numpy_reads_in_place_it_reads():
    for array in (torch.zeros(3, 2), torch.zeros(3, dtype=torch.float16), jnp.zeros(3), np.zeros(3), [0.5], None):
        assert device_columns(array, "y_prob") is None
    tensor = torch.rand(50, requires_grad=True)
    column, array = Forecasts(np.zeros(50), tensor), tensor.detach().numpy()
    assert np.shares_memory(column._columns.parts[0], array)
    assert Tally.of(np.zeros(50), tensor).to_bytes() == Tally.of(np.zeros(50), array).to_bytes()


@pytest.mark.parametrize(
    "make_half", [lambda x: torch.tensor(x, dtype=torch.bfloat16), lambda x: jnp.asarray(x, "bfloat16")]
)
@pytest.mark.parametrize("classes", [1, 3])
def test_bfloat16_on_the_host(rng, make_half, classes):
    y, p = softmax_forecasts(rng, 400, max(2, classes))
    half = make_half(p[:, 1] if classes == 1 else p)
    assert not device_columns(half, "y_prob").there
    single = library_of(half).to_host(half)
    assert single.dtype == np.float32
    settings = {"invalid": "rescale"}
    assert Tally.of(y, half, **settings).to_bytes() == Tally.of(y, single, **settings).to_bytes()
    outcomes = make_half(y)
    assert Tally.of(outcomes, half, **settings).to_bytes() == Tally.of(y, half, **settings).to_bytes()


def test_without_float64_a_block_at_a_time_is_read(rng, monkeypatch):
    monkeypatch.setattr(_libraries.Torch, "here", lambda self, x: False)
    monkeypatch.setattr(torch.Tensor, "new_zeros", _no_float64)
    y, p = softmax_forecasts(rng, 300, 3, dtype="f4")
    columns = device_columns(torch.tensor(p), "y_prob")
    assert not columns.there
    assert Tally.of(y, columns).to_bytes() == Tally.of(y, p).to_bytes()


def _no_float64(*args, dtype):
    raise TypeError(f"Cannot convert a MPS Tensor to {dtype}")


def test_tensors_with_gradients(make, rng):
    y, p = softmax_forecasts(rng, 50, 3)
    there = make(p)
    if isinstance(there.array, torch.Tensor):
        there.array.requires_grad_()
    same(Tally.of(y, there), Tally.of(y, p))


@pytest.mark.parametrize("shape", [(), (2, 2, 2, 2), (3, 0)])
def test_shapes_that_are_none(shape):
    with pytest.raises(InputError, match=r"expected an array of shape \(n,\) or \(n, classes\)"):
        Forecasts([0, 1], torch.zeros(shape, dtype=torch.bfloat16))


def test_jax_counts_as_numpy_does(make_jax, rng):
    y, p = softmax_forecasts(rng, 200, 5, dtype="f4")
    for settings in ({}, {"sample_weight": rng.choice([0, 0.5, 2], 200), "exact_limit": 50, "invalid": "drop"}):
        if "invalid" in settings:
            p[[3, 4]] = [[np.nan, 0, 0, 1, 0], [0.5, 0.6, 0.1, 0, 0]]
        same(Tally.of(y, p, **settings), Tally.of(y, make_jax(p), **settings))


def test_jax_makes_probabilities_as_numpy_does(make_jax, rng):
    z, y = 4 * rng.normal(size=(100, 6)), rng.integers(6, size=100)
    for given, forms in (
        (z, {"scale": "logits"}),
        (z[:, 0], {"scale": "logits"}),
        (100 * np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), {"scale": "percent"}),
    ):
        of = y == 0 if given.ndim == 1 else y
        a, b = (Forecasts(of, x, **forms).correct_class_probabilities()[0] for x in (given, make_jax(given)))
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5])
def test_jax_refuses_what_numpy_refuses(make_jax, bad):
    messages = []
    for given in ([0.5, bad, 0.25], make_jax(np.array([0.5, bad, 0.25]))):
        with pytest.raises(InputError) as error:
            Tally.of([0, 1, 1], given)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_jax_has_the_places_of_the_grid(make_jax, rng):
    p = edge_values(rng, np.float32)
    p = p[(p == 0) | (p >= 2.0**-126)]  # on a host it takes what is smaller for 0
    assert_places(make_jax(p), p, 9)


def test_no_library_is_imported_for_others():
    code = (
        "import sys, numpy, unperplexed; unperplexed.assess([0, 1], numpy.array([0.2, 0.9]), resamples=0);"
        "print([name for name in ('torch', 'jax', 'cupy', 'triton') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"
