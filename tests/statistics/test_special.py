"""Special functions against SciPy, and against 40 digits where SciPy has fewer."""

import mpmath
import numpy as np
import pytest
import scipy.special

from unperplexed.statistics import special

PROBABILITIES = np.array([1e-300, 1e-20, 1e-5, 0.01, 0.3, 0.4999, 0.5, 0.7, 0.99, 1 - 1e-12])
FREEDOMS = np.array([1, 1.5, 2, 2.5, 3, 7.3, 20, 100, 1000, 1001, 1e5, 1e9])
LINE = np.linspace(-30, 30, 61)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("expit", (np.linspace(-750, 750, 301),)),
        ("log_expit", (np.linspace(-750, 750, 301),)),
        ("logit", (np.array([0, *PROBABILITIES, 1]),)),
        ("xlogy", (np.array([0, 0, 0.5, 2]), np.array([0, 3, 0.1, 5]))),
        ("xlog1py", (np.array([0, 0, 0.5, 2]), np.array([-1, 3, -0.1, 5]))),
        ("ndtr", (LINE,)),
        ("ndtri", (np.array([0, *PROBABILITIES, 1]),)),
        ("gammaln", (np.geomspace(0.1, 1e6, 40),)),
        ("gammainc", (np.array([[0.1], [0.5], [1], [3], [50], [999]]), np.geomspace(1e-4, 2000, 16))),
        ("gammaincc", (np.array([[0.1], [0.5], [1], [3], [50], [999]]), np.geomspace(1e-4, 2000, 16))),
        ("stdtr", (FREEDOMS[:, None], np.array([-20, -1.96, -0.5, 0, 1e-3, 1, 3, np.inf]))),
        ("stdtrit", (FREEDOMS[:, None], np.array([0.01, 0.3, 0.5, 0.6, 0.9, 0.975, 0.9999]))),
        ("chdtrc", (np.arange(1, 9)[:, None], np.array([0, 0.1, 1, 3.84, 10, 60]))),
        ("pdtrc", (np.arange(9)[:, None], np.array([0.01, 0.1, 1, 5, 20]))),
    ],
)
def test_special_functions_are_those_of_scipy(name, arguments):
    assert max(map(np.size, arguments)) <= 100 or name in ("expit", "log_expit")  # with more they are SciPy's own
    found, expected = getattr(special, name)(*arguments), getattr(scipy.special, name)(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-8 if name == "stdtr" else 1e-11, atol=1e-14)


@pytest.mark.parametrize(("shape", "z"), [(1001, -8), (1001, 2), (1e4, -3), (1e5, 5), (1e6, -4.6)])
def test_incomplete_gamma_functions_of_large_shapes(shape, z):
    x = shape + z * shape**0.5
    with mpmath.workdps(40):
        lower = mpmath.gammainc(shape, 0, x, regularized=True)
        np.testing.assert_allclose(special.gammainc(shape, x), float(lower), rtol=1e-8)
        np.testing.assert_allclose(special.gammaincc(shape, x), float(1 - lower), rtol=1e-8)


def test_many_values_and_small_degrees_of_freedom_are_scipys():
    many = np.linspace(0.001, 0.999, 500)
    np.testing.assert_array_equal(special.ndtri(many), scipy.special.ndtri(many))
    assert special.stdtrit(0.2, 0.9) == scipy.special.stdtrit(0.2, 0.9)
    assert np.isnan(special.stdtr(np.nan, 1.0))
