import numpy as np
import pytest

from unperplexed.statistics.matrices import product


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *[((70_001,), (70_001,)), ((3,), (3, 20_000)), ((3, 20_000), (20_000,)), ((20_000, 3), (3,))],
        *[((7, 30_000), (30_000, 7)), ((30_000, 7), (7, 9)), ((7, 9), (9, 30_000)), ((300, 300), (300, 300))],
        *[((900, 800), (800, 700)), ((131, 1000), (1000,)), ((131,), (131, 1000))],
        *[((0,), (0,)), ((2, 0), (0, 3)), ((0, 3), (3,))],
    ],
)
def test_parts_add_up_to_the_product(a, b):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=a), rng.normal(size=b)
    np.testing.assert_allclose(product(x, y), x @ y, rtol=1e-12, atol=1e-10)
