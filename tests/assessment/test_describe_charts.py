"""Words of the reliability diagram: directions only where they are significant, and rows rather than weights."""

import numpy as np
import pytest

from unperplexed import assess
from unperplexed.describe.assessment_charts import Event, reliability_chart


def forecasts(temperature, shift=0.0, n=2000):
    rng = np.random.default_rng(3)
    z = rng.normal(0, 1.5, (n, 3))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    told = np.exp(temperature * z + shift * np.arange(3))
    return y, told / told.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_a_direction_is_named_only_beyond_chance():
    y, p = forecasts(1.6)
    assert reliability_chart(Event(assess(y, p, resamples=0))).title.endswith("observed less often than predicted")
    # Predictions of 0.5 are too low and those of 0.7 too high, so that the top class is right on average.
    rng = np.random.default_rng(0)
    top = np.repeat([0.5, 0.7], 1000)
    hit = np.concatenate([rng.permutation(np.arange(1000) < 602), rng.permutation(np.arange(1000) < 600)])
    p = np.column_stack([top, (1 - top) / 2, (1 - top) / 2])
    found = assess(np.where(hit, 0, rng.integers(1, 3, 2000)), p, resamples=0)
    assert found.diagnosis.miscalibrated
    title = reliability_chart(Event(found)).title
    assert title == "Observed frequency of the most probable class by predicted probability"


@pytest.mark.parametrize("weight", [None, 0.002, 500.0])
def test_weights_that_are_equal_are_counted_as_rows(weight):
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    weights = None if weight is None else np.full(2000, weight)
    found = assess(rng.random(2000) < p, p, sample_weight=weights, resamples=0)
    chart = reliability_chart(Event(found))
    assert "15 groups of about 133 rows" in chart.subtitle


@pytest.mark.parametrize("largest", [0.004, 0.09, 0.12, 0.35, 0.6, 0.9])
def test_a_diagram_of_small_probabilities_ends_where_they_do(largest):
    """Nothing that is drawn lies beyond it, at most half of it is empty, and the identity line is its diagonal."""
    p = np.linspace(0, largest, 3000)
    result = assess((np.random.default_rng(0).random(p.size) < p).astype(int), p, resamples=40)
    chart = reliability_chart(Event(result))
    end = chart.x.high
    assert chart.y.high == end == chart.x.ticks[-1][0]
    assert chart.references[0].x == chart.references[0].y == (0, end)
    drawn = [chart.lines[0].x, chart.lines[0].y, chart.lines[0].high, chart.points[0].x, chart.points[0].high]
    assert end / 2 < max(float(np.nanmax(each)) for each in drawn) <= end
    assert chart.mirror.edges[-1] == end
    assert chart.mirror.up.sum() == pytest.approx(1)
    assert end < 1 or largest > 0.3
