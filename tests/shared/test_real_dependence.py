"""Dependence that nobody declared, beside an independent implementation, and in real forecasts."""

import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from unperplexed.calibration.dependence import find_dependence

DATA = Path(os.environ["UNPERPLEXED_DATA"])


@pytest.fixture(scope="module")
def decide():
    folder = DATA.parent / "reference"
    sys.path.insert(0, str(folder))
    try:
        return runpy.run_path(str(folder / "real_data_reference.py"))["decide"]
    finally:
        sys.path.remove(str(folder))


def columns_of_all_kinds(rng, n, group):
    """The group, as it is, coarser, crossed of two, and beside columns that have nothing to do with it."""
    size = int(rng.integers(3, 12))
    return {
        "digit": rng.integers(0, 10, n),
        "event": group,
        "half": group // 2,
        "left": group // size,
        "right": group % size,
        "many": rng.integers(0, n // 2, n),
        "two": rng.integers(0, 2, n),
        "identifier": np.arange(n),
        "skewed": rng.geometric(0.1, n),
    }


def simulated(seed):
    """Forecasts of several designs, with columns of all kinds; a third of them miscalibrated."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([400, 1000, 2500]))
    count = int(rng.choice([20, 60, 200]))
    group = rng.integers(0, count, n) if rng.random() < 0.6 else np.sort(rng.integers(0, count, n))
    told = rng.normal(rng.choice([0, -2]), rng.choice([0.7, 2]), n)
    level, design, s = rng.random(n), seed % 7, told
    if design == 0:  # repeated events
        level = rng.random(count)[group]
    elif design == 1:  # shocks
        s = told + rng.normal(0, rng.choice([0.4, 0.8, 1.5]), count)[group]
    elif design == 2:  # serial dependence
        state, keep = np.zeros(n), rng.choice([0.5, 0.8, 0.95])
        for at in range(1, n):
            state[at] = keep * state[at - 1] + rng.normal(0, np.sqrt(1 - keep**2))
        s = told + 1.5 * state
    elif design == 3:  # predictions that end at the outcome of the group
        walk = np.cumsum(rng.normal(size=(count, 10)), axis=1)
        step = rng.integers(0, 9, n)
        s = told = logit(np.clip(norm.cdf(walk[group, step] / np.sqrt(9 - step)), 1e-6, 1 - 1e-6))
        level = (walk[group, -1] < 0).astype(float)
    elif design == 4:  # slopes of groups
        s = told * (rng.normal(1, 1, count))[group]
    elif design == 5:  # rows that exclude each other
        side, level = rng.choice([-1, 1], n), rng.random(count)[group]
        s, level = side * rng.random(count)[group] * 3, np.where(side < 0, 1 - level, level)
        told = s
    y = level < expit(s)
    if seed % 3 == 0:
        told = 0.3 + 1.3 * told
    return y.astype(int), expit(told), columns_of_all_kinds(rng, n, group)


def check_same(decide, y, p, columns, order=True):
    expected = decide(y, p, columns, order=order)
    found = find_dependence(y, logit(p), None, columns, order=order)
    if expected["choice"] is None:
        assert found is None
        return None
    ordered = expected["block"] is not None
    assert found.columns[:1] == (() if ordered else expected["choice"][:1])
    if found.columns[1:] != expected["choice"][1:]:  # names of one partition, which the last digit decides between
        crossed = [
            np.unique([columns[name] for name in names], axis=1, return_inverse=True)[1].ravel()
            for names in (found.columns, expected["choice"])
        ]
        assert np.unique(crossed, axis=1).shape[1] == crossed[0].max() + 1 == crossed[1].max() + 1
    assert found.block == expected["block"]
    assert found.taken == expected["take"]
    assert found.design_effect == pytest.approx(expected["D"], rel=0.01)
    assert {*found.also} == {name for name, *_ in expected["left"] if not name.startswith("order")}
    if not ordered:
        assert found.correlation == pytest.approx(expected["rho"], rel=0.02)
        assert found.n_clusters == expected["G"]
        assert found.effective_clusters == pytest.approx(expected["Geff"], rel=0.01)
    return found


@pytest.mark.parametrize("start", [0, *(pytest.param(x, marks=pytest.mark.slow) for x in range(40, 200, 40))])
def test_simulated_forecasts(decide, start):
    for seed in range(start, start + 40):
        check_same(decide, *simulated(seed))
