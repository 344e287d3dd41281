"""Decisions from tallies: equal to those from rows where a tally counts by value, within a bound where in cells."""

import json

import numpy as np
import pytest

from unperplexed import InputError, Recalibrator, Tally, decide, decision_curve

COSTS = {"cost_fp": 1, "cost_fn": 4}
AT = [0.05, 0.2, 0.5, 0.7]


def forecasts(rng, n=400, dtype=np.float64, digits=2):
    truth = rng.beta(1, 3, n)
    return (rng.random(n) < truth).astype(int), (truth**0.7).round(digits).astype(dtype)


def figures(result):
    """All numbers of a result, by their place."""

    def walk(value, name):
        if isinstance(value, dict):
            for key, each in value.items():
                yield from walk(each, f"{name}.{key}")
        elif isinstance(value, list):
            for at, each in enumerate(value):
                yield from walk(each, f"{name}[{at}]")
        else:
            yield name, float("nan") if value == "NaN" else value

    found = dict(walk(json.loads(result.to_json()), ""))
    return {k: v for k, v in found.items() if isinstance(v, int | float)}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_tally_and_merged_parts_give_what_the_rows_give(rng, dtype):
    y, p = forecasts(rng, dtype=dtype)
    parts = [Tally.of(y[here], p[here]) for here in (slice(300, None), slice(0, 100), slice(100, 300))]
    assert (p == dtype(0.7)).any()  # in single precision less than the threshold 0.7, but no less than its 0.7
    for make in (
        lambda *rows: decide(*rows, **COSTS),
        lambda *rows: decision_curve(*rows, thresholds=AT, recalibrated=True),
    ):
        expected = figures(make(y, p))
        for tally in (Tally.of(y, p), sum(parts, Tally())):
            found = figures(make(tally))
            assert found.keys() == expected.keys()
            for name, value in expected.items():
                assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True), name


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(rng):
    y, p = forecasts(rng)
    other = rng.permutation(y.size)
    one, two = figures(decide(y, p, **COSTS)), figures(decide(y[other], p[other], **COSTS))
    assert one == pytest.approx(two, rel=1e-9, nan_ok=True)


@pytest.mark.slow
def test_weights_are_counted(rng):
    y, p = forecasts(rng)
    w = rng.integers(0, 4, y.size).astype(float)
    options = {"thresholds": AT}
    rows = decision_curve(y, p, sample_weight=w, **options)
    counted = decision_curve(Tally.of(y, p, sample_weight=w), **options)
    assert figures(counted) == pytest.approx(figures(rows), rel=1e-9, abs=1e-12, nan_ok=True)
    by_rows, by_tally = decide(y, p, sample_weight=w, **COSTS), decide(Tally.of(y, p, sample_weight=w), **COSTS)
    assert by_tally.weighted
    assert figures(by_tally) == pytest.approx(figures(by_rows), rel=1e-9, abs=1e-12, nan_ok=True)


def test_without_recalibration_a_tally_gives_what_the_rows_give(rng):
    y, p = forecasts(rng, dtype=np.float32)
    expected = decide(y, p, recalibrated=None, **COSTS)
    found = decide(Tally.of(y[:150], p[:150]) + Tally.of(y[150:], p[150:]), recalibrated=None, **COSTS)
    assert figures(found) == pytest.approx(figures(expected), rel=1e-9, nan_ok=True)


@pytest.mark.slow
def test_cells_are_within_their_bound(rng):
    y, p = forecasts(rng, 20_000, digits=9)
    tally = Tally.of(y, p, exact_limit=50)
    assert not tally.exact
    bounds = []
    for threshold in rng.uniform(0.05, 0.9, 10):
        costs = {"cost_fp": threshold, "cost_fn": 1 - threshold, "recalibrated": None}
        found, rows = decide(tally, **costs), decide(y, p, **costs)
        assert rows.bound == 0
        assert abs(found.cost.value - rows.cost.value) <= found.bound + 1e-12
        bounds.append(found.bound)
    assert 0 < max(bounds) < 1e-3
    assert any("cells" in warning for warning in decide(tally, **COSTS).warnings)
    curve, expected = decision_curve(tally), decision_curve(y, p)
    off = np.abs(curve.models["model"].net_benefit - expected.models["model"].net_benefit)
    assert (off <= curve.bounds + 1e-12).all()
    assert (off > 0).any()
    assert not expected.bounds.any()


def test_thresholds_between_cells_are_exact(rng):
    y, p = forecasts(rng, 5000, digits=9)
    found = decide(Tally.of(y, p, exact_limit=50), cost_fp=1, cost_fn=1, recalibrated=None)
    rows = decide(y, p, cost_fp=1, cost_fn=1, recalibrated=None)
    assert found.threshold == 0.5  # a power of two: no cell contains it
    assert found.bound == 0
    assert found.warnings == ()
    assert found.cost.value == pytest.approx(rows.cost.value, rel=1e-12)


def test_a_recalibrator_is_applied_to_a_tally(rng):
    y, p = forecasts(rng)
    fitted = Recalibrator("temperature").fit(y[:200], p[:200])
    found = decide(Tally.of(y[200:], p[200:]), recalibrated=fitted, **COSTS)
    assert found.recalibrated.value == pytest.approx(
        decide(y[200:], p[200:], recalibrated=fitted, **COSTS).recalibrated.value
    )


def test_tallies_that_keep_too_little_are_refused(rng):
    y, p = forecasts(rng)
    tally = Tally.of(y, p)
    with pytest.raises(InputError, match="y_prob: a tally's rows are already counted"):
        decide(tally, p, **COSTS)
    with pytest.raises(InputError, match="recalibrated: a tally has no rows to pass probabilities of"):
        decide(tally, recalibrated=p, **COSTS)
    grouped = Tally.of(y, p, clusters=np.arange(400) // 4, parts=["shards"])
    for make in (decision_curve, lambda tally: decide(tally, **COSTS)):
        with pytest.raises(
            InputError, match="does not keep the decisions of each cluster of dependent rows; decide by"
        ):
            make(grouped)
        with pytest.raises(InputError, match="no rows of positive weight"):
            make(Tally())
        with pytest.raises(InputError, match="two classes, and the tally has 3"):
            make(Tally.of([0, 2], [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]))
