"""Frames of results are of the package that the input came from."""

import numpy as np
import polars as pl
import pytest

from unperplexed import assess, assess_by, compare, compare_sequentially, decision_curve, skill

pd = pytest.importorskip("pandas")
N = 90


@pytest.fixture
def data(rng):
    y = rng.integers(2, size=N)
    p = np.clip(0.3 + 0.4 * y + 0.2 * rng.normal(size=N), 0.05, 0.95)
    return {"y": y, "p": p, "q": 0.5 * p + 0.25, "by": np.arange(N) % 3, "z": np.arange(N) % 3}


MADE = {
    "assess": lambda d: assess(d["y"], d["p"], resamples=0).frame(),
    "bins": lambda d: assess(d["y"], d["p"], resamples=0).frame("bins"),
    "a group": lambda d: assess_by(d["y"], d["p"], by=d["by"], resamples=0)[0].frame(),
    "assess_by": lambda d: assess_by(d["y"], d["p"], by=d["by"], resamples=0).frame(),
    "compare": lambda d: compare(d["y"], {"p": d["p"], "q": d["q"]}).frame("differences"),
    "a forecaster": lambda d: compare(d["y"], {"p": d["p"], "q": d["q"]}).forecasters["p"].assessment.frame(),
    "compare_sequentially": lambda d: compare_sequentially(d["y"], {"p": d["p"], "q": d["q"]}).frame(),
    "decision_curve": lambda d: decision_curve(d["y"], d["p"]).frame(),
    "skill": lambda d: skill(d["y"], d["p"]).frame(),
}


@pytest.mark.parametrize("name", MADE)
def test_pandas_in_pandas_out_and_polars_for_all_else(data, name):
    from_pandas, from_polars = (MADE[name](frame(data)) for frame in (pd.DataFrame, pl.DataFrame))
    assert type(from_pandas) is pd.DataFrame
    assert type(from_polars) is pl.DataFrame
    assert list(from_pandas.columns) == from_polars.columns
    for column in from_polars.columns:
        pd.testing.assert_series_equal(from_pandas[column], pd.Series(from_polars[column].to_list(), name=column))


def test_arrays_give_polars_and_results_stay_the_same(data):
    of_arrays = assess(data["y"], data["p"], resamples=0)
    of_pandas = assess(pd.Series(data["y"]), pd.Series(data["p"], name="p"), resamples=0)
    assert type(of_arrays.frame()) is pl.DataFrame
    assert of_pandas.to_json() == of_arrays.to_json()
