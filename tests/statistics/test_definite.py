"""Positive definite matrices against SciPy's."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from unperplexed.statistics.matrices import Factored, definite


@pytest.mark.parametrize("n", [1, 2, 97, 250])
def test_systems_and_inverses(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n + 3))
    matrix, right = root @ root.T + 0.1 * np.eye(n), rng.normal(size=(n, 2))
    factored, other = Factored(matrix), cho_factor(matrix)
    np.testing.assert_allclose(factored.solve(right), cho_solve(other, right), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(factored.solve(right[:, 0]), cho_solve(other, right[:, 0]), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(factored.diagonal_of_inverse(), np.diag(cho_solve(other, np.eye(n))), rtol=1e-9)
    assert not np.triu(factored.back, 1).any()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_what_rounding_alone_makes_definite_can_be_solved(scale):
    """Two variables of which one is a multiple of the other, such as log-odds that all rows share."""
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(500, 3)):
        rows = scale * np.outer(x, [1.0, -3.21])
        assert np.isfinite(np.linalg.solve(definite(rows.T @ rows), np.ones(2))).all()


def test_what_is_not_definite_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        Factored(np.array([[1.0, 2.0], [2.0, 1.0]])).solve(np.ones(2))
