"""Bounds from the most probable tokens contain the figures of the full distributions."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unperplexed import InputError
from unperplexed.language_models import top_k_bounds
from unperplexed.scores import brier_score, log_loss
from unperplexed.statistics import generalized_mean


def full_figures(p, y):
    own = p[np.arange(y.size), y]
    entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1).mean()
    return {
        "geometric_accuracy": generalized_mean(own, 0),
        "decisiveness": generalized_mean(own, 1),
        "robustness": generalized_mean(own, -2 / 3),
        "log_loss": log_loss(y, p, labels=range(p.shape[1])),
        "brier_score": brier_score(y, p, labels=range(p.shape[1])),
        "entropy": entropy,
    }


def tops_of(p, y, k):
    order = np.argsort(-p, axis=1, kind="stable")[:, :k]
    hit = order == y[:, None]
    with np.errstate(divide="ignore"):
        return np.log(np.take_along_axis(p, order, 1)), np.where(hit.any(axis=1), hit.argmax(axis=1), -1)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 30),
    st.integers(1, 30),
    st.floats(0.05, 3),
    st.booleans(),
    st.booleans(),
)
@example(1, 2, 1, 2.0, False, False)  # 1e-10 is left of 1, known up to rounding
@pytest.mark.slow
def test_bounds_contain_the_figures_of_full_logits(seed, size, k, scale, with_size, observed_known):
    rng = np.random.default_rng(seed)
    logits = scale * rng.standard_t(3, size=(6, size))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    y = rng.integers(size, size=6)
    tops, at = tops_of(p, y, min(k, size))
    own = np.log(p[np.arange(6), y]) if observed_known else None
    found = top_k_bounds(tops, at, own, vocabulary=size if with_size else None)
    for name, value in full_figures(p, y).items():
        low, high = getattr(found, name)
        assert low - 1e-9 <= value <= high + 1e-9, name
    assert found.top_accuracy == (p.argmax(axis=1) == y).mean()
    assert found.top_probability == pytest.approx(p.max(axis=1).mean())
    if k >= size:
        assert found.unknown == 0
        assert found.brier_score.low == pytest.approx(found.brier_score.high)


def test_bounds_are_reached():
    """All or nothing of what is left to the observed token, and the rest on few tokens or many."""
    found = top_k_bounds(np.log([[0.5, 0.2]]), [-1])
    assert found.decisiveness == pytest.approx((0, 0.2))
    assert found.log_loss == pytest.approx((-math.log(0.2), math.inf))
    # 0.2 to the observed token and the rest spread; none to it, and 0.2 and 0.1 to two others.
    assert found.brier_score == pytest.approx((1 - 0.4 + 0.25 + 0.04 + 0.04, 1 + 0.25 + 0.04 + 0.04 + 0.01))
    assert found.entropy.high == math.inf
    small = top_k_bounds(np.log([[0.5, 0.2]]), [-1], vocabulary=4)
    assert small.brier_score.low == pytest.approx(0.64 + 0.25 + 0.04 + 0.01)
    assert small.entropy.high == pytest.approx(-(0.5 * math.log(0.5) + 0.2 * math.log(0.2) + 0.3 * math.log(0.15)))
    known = top_k_bounds(np.log([[0.5, 0.2]]), [-1], np.log([0.1]))
    assert known.log_loss == pytest.approx((-math.log(0.1), -math.log(0.1)))
    assert (known.unknown, found.unknown) == (0, 1)


@pytest.mark.parametrize(
    ("tops", "observed", "more", "message"),
    [
        ([[-0.1, -0.1]], [0], {}, r"sum to more than 1, or none, in 1 row \(0; counted from 0\)"),
        ([[math.nan, math.nan]], [-1], {}, "or none"),
        ([[-1.0, -2.0]], [2], {}, "observed: not a column from 0 to 1, or -1"),
        ([-1.0], [0], {}, "expected shapes"),
        ([[-1.0]], [0.0], {}, "expected shapes"),
        ([[-1.0]], [0], {"observed_log_probs": [-1.0, -2.0]}, r"expected shape \(1,\)"),
        ([[-1.0, -2.0]], [0], {"vocabulary": 1}, "1 tokens are fewer than the 2"),
        ([[-1.0, -2.0]], [0], {"vocabulary": 1.5}, "vocabulary"),
    ],
)
def test_bad_input_is_refused(tops, observed, more, message):
    with pytest.raises(InputError, match=message):
        top_k_bounds(tops, observed, **more)
