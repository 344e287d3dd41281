"""Isotonic regression and its shrunk form by the compiled kernel, against SciPy and NumPy."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from unperplexed import InputError
from unperplexed.calibration.estimators import shrunk_isotonic
from unperplexed.kernels import compiled, curves
from unperplexed.kernels import curves as isotonic

SHAPES = {
    "calibrated": lambda p: p,
    "convex": lambda p: p**2,
    "falling": lambda p: 1 - p,
    "level": lambda p: np.full_like(p, 0.3),
    "certain": lambda p: (p > 0.5).astype(float),
}


def samples(rng, truth, most=200, entries=60, n=25):
    """Entries by predicted probability, exact 0 and 1 among them, and samples with empty entries."""
    p = np.unique(np.concatenate([[0, 1], rng.beta(0.3, 0.3, entries)]))
    total = rng.integers(0, most, size=(n, p.size)).astype(float)
    happened = rng.binomial(total.astype(int), truth(p)).astype(float)
    total[0] = happened[0] = 0
    return p, happened, total


@pytest.mark.parametrize("truth", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("most", [2, 20, 5000])
@pytest.mark.parametrize("scale", [1.0, 0.37, 1e-6, 1e6])
def test_samples_are_measured_as_numpy_does(rng, truth, most, scale):
    p, happened, total = samples(rng, truth, most)
    counts = happened * scale, total * scale
    found = curves.shrunk_isotonic_of_samples(p, *counts)
    expected = curves._shrunk_isotonic_of_samples(p, *counts)
    # Both stop where the loss no longer changes in 13 digits, which is earlier where a line separates many pairs.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 if scale <= 1 else 1e-8)
    assert np.isnan(found[0]).all()


@pytest.mark.parametrize(("most", "scale"), [(2, 1.0), (6, 0.6), (12, 1.0), (200, 1.0)])
@pytest.mark.parametrize("truth", SHAPES.values(), ids=SHAPES)
def test_a_sample_alone_is_what_the_estimator_gives(rng, truth, most, scale):
    p, happened, total = samples(rng, truth, most, entries=12, n=30)
    for h, t in zip(scale * happened[1:], scale * total[1:], strict=True):
        some = t > 0
        one = curves.shrunk_isotonic_of_samples(p, h[None], t[None])[0, some]
        np.testing.assert_allclose(one, shrunk_isotonic.measure(p[some], h[some], t[some]).measured, atol=1e-10)


@pytest.mark.parametrize("p", [1e-9, 0.03, 0.5, 0.98])
def test_a_single_probability_has_one_row_more_as_predicted(p):
    """The line has no slope there, so that all that is added is one row."""
    happened, total = np.array([0.0, 2, 40]), np.array([3.0, 9, 40])
    odds = np.log(p) - np.log1p(-p)
    found = curves.logistic_line(np.array([odds]), happened[:, None], total[:, None])
    np.testing.assert_allclose(found[:, 0], (happened + p) / (total + 1), rtol=1e-9)
    rising = curves.logistic_line(np.array([odds]), happened[:, None], total[:, None], rising=True)
    np.testing.assert_allclose(rising, found, rtol=1e-9)


@pytest.mark.parametrize("kernel", [compiled.kernel, None], ids=["kernel", "scipy"])
def test_isotonic_means_are_those_of_scipy(monkeypatch, rng, kernel):
    monkeypatch.setattr(isotonic, "_kernel", kernel)
    for size in (1, 2, 3, 50, 400):
        values = rng.choice([rng.uniform(size=size), np.sort(rng.uniform(size=size)), rng.integers(0, 3, size) / 2])
        weights = rng.uniform(0.1, 9, size)
        expected = isotonic_regression(values, weights=weights).x
        means = isotonic.isotonic_means(values, weights)
        np.testing.assert_allclose(means, expected, rtol=1e-12, atol=1e-15)
        assert (np.diff(means) >= 0).all()


def test_probabilities_whose_product_with_their_complement_is_0(rng):
    p = np.array([0, 1e-320, 5e-200, 1 - 2**-53, 1])
    total = rng.integers(0, 30, size=(9, p.size)).astype(float)
    happened = rng.binomial(total.astype(int), 0.4).astype(float)
    found = curves.shrunk_isotonic_of_samples(p, happened, total)
    with np.errstate(all="ignore"):
        expected = curves._shrunk_isotonic_of_samples(p, happened, total)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_samples_by_themselves_are_those_of_many(rng):
    p, happened, total = samples(rng, np.sqrt, most=4, n=9)
    found = isotonic.isotonic_of_samples(happened, total)
    for h, t, together in zip(happened, total, found, strict=True):
        some = t > 0
        assert np.isnan(together[~some]).all()
        alone = isotonic_regression(h[some] / t[some], weights=t[some]).x if some.any() else []
        np.testing.assert_allclose(together[some], alone, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kernel", [compiled.kernel, None], ids=["kernel", "scipy"])
def test_frequencies_that_differ_by_rounding_are_in_one_block(monkeypatch, kernel):
    monkeypatch.setattr(isotonic, "_kernel", kernel)
    happened, total = np.array([0.3, 0.3 * (1 + 8e-15), 0.3 * (1 + 1e-9), 0.9]), np.ones(4)
    assert happened[0] < happened[1]
    assert isotonic.isotonic_bins(happened, total).tolist() == [0, 0, 1, 2]
    twice = isotonic.isotonic_bins(np.tile(happened, 2), np.tile(total, 2), np.repeat([0, 1], 4))
    assert twice.tolist() == [0, 0, 1, 2, 3, 3, 4, 5]


def test_nothing_is_one_of_no_blocks_and_numpy_measures_without_the_kernel(rng, monkeypatch):
    assert isotonic.isotonic_bins(np.zeros(0), np.zeros(0)).size == 0
    p, happened, total = samples(rng, lambda p: p**2)
    expected = curves.shrunk_isotonic_of_samples(p, happened, total)
    monkeypatch.setattr(curves, "_kernel", None)
    np.testing.assert_allclose(curves.shrunk_isotonic_of_samples(p, happened, total), expected, atol=1e-10)


def test_the_kernel_is_chosen_by_name(monkeypatch):
    monkeypatch.setenv("UNPERPLEXED_KERNEL", "numpy")
    assert compiled._found() is None
    monkeypatch.setenv("UNPERPLEXED_KERNEL", "fortran")
    with pytest.raises(
        InputError, match="UNPERPLEXED_KERNEL: expected 'numpy', or nothing for the compiled kernel, got"
    ):
        compiled._found()
