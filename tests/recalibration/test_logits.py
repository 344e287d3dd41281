"""Logits as they came, however large: the temperature is SciPy's, no values are tied, every way out is the same."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.special import expit, log_softmax, softmax

from unperplexed import Recalibrator, refinement_loss
from unperplexed.cli.parser import main


def logits(classes, sd, n=3000, seed=0):
    """Logits of which a temperature of sd / 4 makes calibrated ones."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, sd, (n, classes))
    return (4 * x / sd + rng.gumbel(size=x.shape)).argmax(axis=1), x


def best_slope(x, y, sd=np.inf):
    """Where the penalised log-likelihood of the slope of logits, with a N(1, sd^2) prior, is level."""
    z, each = x - x.max(axis=1, keepdims=True), np.arange(len(y))

    def rise(slope):
        return (z[each, y] - (softmax(slope * z, axis=1) * z).sum(axis=1)).sum() - (slope - 1) / sd**2

    return brentq(rise, 0, 10, xtol=1e-15, rtol=1e-14)


CLASSES = [2, 10, 100, pytest.param(1000, marks=pytest.mark.slow)]


@pytest.mark.parametrize(
    ("classes", "sd"), [(2, 2), (2, 40), (10, 40), (100, 40), pytest.param(1000, 40, marks=pytest.mark.slow)]
)
def test_temperature_is_scipys(classes, sd):
    y, x = logits(classes, sd)
    found = Recalibrator("temperature", folds=2).fit(y, x, scale="logits").parameters_["temperature"]
    prior = 1 if classes == 2 else 2
    assert found == pytest.approx(1 / best_slope(x, y, prior), rel=1e-6)
    if sd > 10:
        assert found == pytest.approx(1 / best_slope(x, y), rel=1e-3)


@pytest.mark.parametrize("classes", CLASSES)
def test_values_are_tied_only_where_they_were(classes):
    y, x = logits(classes, 40)
    x[:40], x[100, 0] = x[40:80], x[100, 1]
    fitted = Recalibrator("temperature", folds=2).fit(y, x, scale="logits")
    q = fitted.transform(x, scale="logits")
    assert all(np.unique(q[:, at]).size == 2960 for at in range(classes))
    np.testing.assert_array_equal(q[:40], q[40:80])
    in_row = (np.diff(np.sort(q, axis=1), axis=1) == 0).sum(axis=1)
    np.testing.assert_array_equal(in_row, (np.diff(np.sort(x, axis=1), axis=1) == 0).sum(axis=1))


def test_refinement_is_that_of_scipys_temperature():
    for classes in (2, 10):
        y, x = logits(classes, 40)
        slope = best_slope(x, y)
        expected = -log_softmax(slope * x, axis=1)[np.arange(y.size), y].mean()
        assert refinement_loss(y, x, scale="logits") == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("classes", [1, 2, 10])
def test_every_way_out_is_the_same(classes, tmp_path, monkeypatch):
    """A module of each form, a saved map, transform of each form, and the file that the command line writes."""
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    y, x = logits(max(classes, 2), 40, n=400)
    x = x[:, 1] - x[:, 0] if classes == 1 else x
    fitted = Recalibrator(folds=2).fit(y, x, scale="logits")
    expected = fitted.transform(x, scale="logits")
    both = np.stack([-x, x], axis=1) / 2 if classes == 1 else x
    log_p = -np.logaddexp(0, -x) if classes == 1 else log_softmax(x, axis=1)
    fitted.save("map.json")
    loaded = Recalibrator.load("map.json")
    for found in (
        fitted.transform(log_p, scale="log-probs"),
        loaded.transform(x, scale="logits"),
        fitted.to_torch("logits")(torch.tensor(x)).numpy(),
        loaded.to_torch("log_probabilities")(torch.tensor(log_p)).numpy(),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    small = np.abs(both).max(axis=1) < 8  # others are not told by their probabilities
    of_probabilities = fitted.transform(np.exp(log_p[small]))
    np.testing.assert_allclose(of_probabilities, expected[small], rtol=0, atol=1e-9)
    module = fitted.to_torch("probabilities")(torch.tensor(np.exp(log_p[small]))).numpy()
    np.testing.assert_allclose(module, of_probabilities, rtol=0, atol=1e-12)
    columns = {f"c{at}": column for at, column in enumerate(np.atleast_2d(x.T))}
    pl.DataFrame({"y": y} | columns).write_parquet("rows.parquet")
    given = ["rows.parquet", "--prob", *columns, "--scale", "logits", "-q"]
    assert main(["recalibrate", *given, "--truth", "y", "--folds", "2", "-o", "own.json"]) == 0
    np.testing.assert_allclose(Recalibrator.load("own.json").transform(x, scale="logits"), expected, rtol=0, atol=1e-12)
    assert main(["recalibrate", *given, "--apply", "map.json", "-o", "new.parquet"]) == 0
    new = pl.read_parquet("new.parquet").select(*columns).to_numpy()
    new = expit(new[:, 0]) if classes == 1 else softmax(new, axis=1)
    np.testing.assert_allclose(new, expected, rtol=0, atol=1e-12)
