"""Minima that are known, from starts where Newton's step alone would fail."""

import numpy as np
import pytest

from unperplexed.theory.distributions.fitting import minimize


def valley(x):
    """Rosenbrock's, whose Hessian is not definite everywhere."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def slope(x):
    return np.array([2 * x[0] - 2 - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)])


def bend(x, p):
    return np.array([[2 - 400 * x[1] + 1200 * x[0] ** 2, -400 * x[0]], [-400 * x[0], 200.0]]) @ p


@pytest.mark.parametrize("start", [(-1.2, 1.0), (0.0, 3.0), (2.0, -1.0), (1.0, 1.0)])
def test_the_bottom_of_a_curved_valley(start):
    found, converged = minimize(valley, slope, bend, np.array(start))
    assert converged
    np.testing.assert_allclose(found, 1, atol=1e-6)


def test_steps_keep_to_the_inside():
    """Of x > 0, where -ln x + x is infinite outside."""
    found, converged = minimize(
        lambda x: x[0] - np.log(x[0]) if x[0] > 0 else np.inf,
        lambda x: 1 - 1 / x,
        lambda x, p: p / x**2,
        np.array([50.0]),
    )
    assert converged
    assert found[0] == pytest.approx(1, rel=1e-6)


def test_where_no_step_descends_it_has_not_converged():
    """A corner has no slope that leads down."""
    start = np.array([0.0])
    found, converged = minimize(lambda x: abs(x[0]), lambda _: np.array([1.0]), lambda _, p: p, start)
    assert not converged
    assert found[0] == 0
