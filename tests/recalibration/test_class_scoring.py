"""Fisher scoring with estimated variances, on a likelihood whose maximum is known."""

import numpy as np
import pytest

from unperplexed.recalibration.class_scoring import FEWEST, FIXED, Ascent, Prior, maximized


class Normal:
    """Means theta seen with unit precision times n; it counts how often its information is asked for."""

    def __init__(self, seen, n):
        self.seen, self.n, self.asked = seen, n, 0

    def ascent(self, theta):
        return Ascent(-0.5 * self.n * float((self.seen - theta) @ (self.seen - theta)), self.n * (self.seen - theta))

    def information(self, theta):
        self.asked += 1
        return self.n * np.eye(theta.size)

    def within(self, theta):
        return theta


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_variances_are_those_of_empirical_bayes(spread):
    """A normal mean seen with variance 1/n: the most likely variance of the means is mean(seen^2) - 1/n, or 0."""
    n, seen = 4.0, np.random.default_rng(3).normal(0, np.hypot(spread, 0.45), 400)
    of = Normal(seen, n)
    theta, _ = maximized(of, np.zeros(400), Prior(np.zeros(400, int), np.zeros(400), np.ones(1)), 1e-6)
    variance = max(float(seen @ seen) / 400 - 1 / n, 0.0)
    np.testing.assert_allclose(theta, seen * n / (n + 1 / max(variance, FEWEST)), atol=2e-2 if spread else 1e-4)
    assert of.asked <= 2


def test_wrong_information_is_taken_anew():
    of = Normal(np.array([1.0, -2.0, 3.0]), 10.0)
    prior = Prior(np.full(3, FIXED), np.ones(3), np.empty(0))
    for wrong in (0.05, 20.0):
        theta, used = maximized(of, np.zeros(3), prior, 1e-9, wrong * of.information(np.zeros(3)))
        np.testing.assert_allclose(theta, of.seen * 10 / 11, atol=1e-6)
        np.testing.assert_allclose(used, 10 * np.eye(3))
