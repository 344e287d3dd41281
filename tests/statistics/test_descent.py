"""Minima whose place is known."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from unperplexed.statistics.descent import minimized


def test_a_quadratic_function_is_solved():
    rng = np.random.default_rng(1)
    root = np.eye(30) + 0.1 * rng.normal(size=(30, 30))
    bend, place = root @ root.T, rng.normal(size=30)

    def objective(x):
        return 0.5 * float((x - place) @ bend @ (x - place)) - 7, bend @ (x - place)

    np.testing.assert_allclose(minimized(objective, np.zeros(30), gain=0, slope=1e-9), place, atol=1e-8)
    assert minimized(objective, place, gain=0, slope=1e-9) is place


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
def test_a_curved_valley_is_followed_whatever_the_scale(scale):
    """Rosenbrock's function of four numbers has its minimum at ones."""
    found = minimized(lambda x: (scale * rosen(x), scale * rosen_der(x)), np.zeros(4), gain=0, slope=1e-6, steps=400)
    np.testing.assert_allclose(found, 1, atol=1e-3)


def test_it_turns_back_where_nothing_is_defined():
    """The minimum of x - ln x is at 1; the first full step from 100 leads far below 0."""

    def objective(x):
        return (float(x[0] - np.log(x[0])), 1 - 1 / x) if x[0] > 0 else (np.inf, x)

    assert minimized(objective, np.array([0.05]), gain=0, slope=1e-9) == pytest.approx([1], abs=1e-8)


def test_it_takes_no_more_steps_than_asked_and_none_from_where_nothing_is_known():
    """The first step is that of steepest descent; from a value that is no number there is none that descends."""
    found = minimized(lambda x: (rosen(x), rosen_der(x)), np.zeros(4), gain=0, slope=1e-6, steps=1)
    away = found / -rosen_der(np.zeros(4))[0]
    assert rosen(found) < rosen(np.zeros(4))
    assert away == pytest.approx(np.where(rosen_der(np.zeros(4)) < 0, away[0], 0))
    start = np.array([1.0, 2.0])
    assert minimized(lambda x: (np.nan, np.full(2, np.nan)), start, gain=0, slope=1e-6) is start
