"""Confused classes: their losses are parts of the log loss, in memory and from files."""

import numpy as np
import pytest

from helpers import softmax_forecasts
from unperplexed import Tally, assess

N = 400


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_the_rows(rng, weighted):
    y, p = softmax_forecasts(rng, N, 4)
    p[:3] = np.eye(4)[(y[:3] + 1) % 4]  # outcomes that were assigned 0 count at the floor
    w = rng.integers(0, 4, N).astype(float) if weighted else None
    names = np.array(["a", "b", "c", "d"])
    found = assess(names[y], p, labels=[*names], sample_weight=w, resamples=0, floor=0.01).confusions
    w = np.ones(N) if w is None else w
    loss = w * -np.log(np.maximum(p[np.arange(N), y], 0.01))
    top = p.argmax(axis=1)
    assert [*found.loss] == sorted(found.loss, reverse=True)
    for predicted, observed, *figures in zip(
        found.predicted, found.observed, found.weight, found.loss, found.share, found.probability, strict=True
    ):
        some = (names[top] == predicted) & (names[y] == observed)
        expected = [w[some].sum(), loss[some].sum() / w.sum(), loss[some].sum() / loss.sum()]
        assert figures == pytest.approx([*expected, np.exp(-loss[some].sum() / w[some].sum())])
    wrong = top != y
    assert found.share.sum() == pytest.approx(loss[wrong].sum() / loss.sum())


def test_pages_and_frames_have_them_where_rows_are_at_hand(rng):
    y, p = softmax_forecasts(rng, N, 3)
    found = assess(y, p, resamples=0)
    assert found.frame("confusions").columns == ["predicted", "observed", "weight", "probability", "loss", "share"]
    assert "Confused classes" in found.to_html()
    assert assess(Tally.of(y, p), resamples=0).confusions is None
    assert assess(y == 1, p[:, 1], resamples=0).confusions is None
