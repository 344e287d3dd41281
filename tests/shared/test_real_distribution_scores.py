"""Scores of predictive distributions on the example data of scoringutils, beside what its authors publish."""

import polars as pl
import pytest

from real_data import DATA
from unperplexed.forecasts.distributions.partitions import Quantiles, Samples
from unperplexed.scores import crps, weighted_interval_score

EXAMPLES = DATA / "scoringutils_examples"


def rows(name, number):
    """One row a forecast, and one column for each level or draw."""
    frame = pl.read_parquet(EXAMPLES / f"example_{name}.parquet").drop_nulls(["observed", "predicted"])
    keys = [column for column in frame.columns if column not in (number, "predicted")]
    wide = frame.pivot(number, index=keys, values="predicted")
    return wide, [column for column in wide.columns if column not in keys]


@pytest.mark.parametrize(
    ("model", "target", "published"),
    [
        ("EuroCOVIDhub-ensemble", "Cases", 17943.82),
        ("EuroCOVIDhub-ensemble", "Deaths", 41.42),
        ("EuroCOVIDhub-baseline", "Cases", 28483.57),
    ],
)
def test_weighted_interval_scores_are_those_of_scoringutils(model, target, published):
    wide, levels = rows("quantile", "quantile_level")
    wide = wide.filter(pl.col("model") == model, pl.col("target_type") == target)
    forecast = Quantiles([float(level) for level in levels], wide.select(levels).to_numpy())
    assert weighted_interval_score(wide["observed"], forecast) == pytest.approx(published, abs=0.005)


@pytest.mark.parametrize("name", ["sample_continuous", "sample_discrete"])
def test_draws_score_about_as_their_quantiles(name):
    wide, draws = rows(name, "sample_id")
    forecast = Samples(wide.select(draws).to_numpy())
    fair, plain = (crps(wide["observed"], forecast, fair=fair) for fair in (True, False))
    assert fair < plain < fair * 40 / 39
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    assert crps(wide["observed"], Quantiles(levels, forecast.quantile(levels))) == pytest.approx(fair, rel=0.05)
