"""Groups of rows in which predictive distributions are wrong: planted ones, none, dependence, and bad input."""

import json
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

import unperplexed as up
from unperplexed import Distribution, InputError, Ordered, Quantiles, Samples
from unperplexed.calibration.diagnosis.row_groups import Windows
from unperplexed.calibration.where.conditions import columns_of_values
from unperplexed.calibration.where.naming import Search
from unperplexed.calibration.where.pit import PitModel, PitScores
from unperplexed.cli.parser import main

LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


@cache
def planted(n=2000, seed=0):
    """Region c is 0.6 spreads above its forecasts, leads of 6 and 7 vary 1.6 times as much; the mean, and outcomes."""
    rng = np.random.default_rng(seed)
    table = {
        "region": rng.choice(list("abcdef"), n),
        "lead": rng.integers(1, 8, n),
        "fips": rng.choice(["01", "06"], n),
    }
    mean, sd = rng.normal(50, 3, n), 2 * np.exp(rng.normal(0, 0.2, n))
    wide = np.where(table["lead"] >= 6, 1.6, 1.0)
    return mean, sd, mean + sd * (wide * rng.normal(size=n) + 0.6 * (table["region"] == "c")), table


@cache
def found():
    mean, sd, y, table = planted()
    return up.find_groups(y, quantiles(mean, sd), among=table)


def quantiles(mean, sd):
    return Quantiles(LEVELS, mean[:, None] + sd[:, None] * ndtri(LEVELS))


def test_a_bias_and_a_width_are_named_with_what_was_seen():
    mean, sd, y, table = planted()
    by_error = {item.error: item for item in found().items}
    bias, width = by_error["bias"], by_error["width"]
    assert {item.rule for item in found().items} == {"region = c", "lead >= 6"}
    assert bias.effect_interval[0] < 0.6 < bias.effect_interval[1]
    assert width.effect_interval[0] < 1.6 < width.effect_interval[1]
    c, late = table["region"] == "c", table["lead"] >= 6
    assert (bias.rows, width.rows) == (c.sum(), late.sum())
    assert bias.observed == pytest.approx(np.mean(y[c] > mean[c]))
    assert width.observed == pytest.approx(np.mean(np.abs(y - mean)[late] < sd[late] * ndtri(0.9)))
    assert (bias.mean_predicted, round(width.mean_predicted, 12)) == (0.5, 0.8)
    assert found().median_spread == pytest.approx(np.median(sd), rel=0.02)


def test_text_and_json_say_it_and_no_map_is_promised():
    text, plain = str(found()), json.loads(found().to_json())
    assert "spreads too low" in text
    assert "times too narrow" in text
    assert "2,000 forecasts by 7 quantiles" in text
    assert "gain above" not in text
    assert [item["error"] for item in plain["items"]] == [item.error for item in found().items]
    assert plain["gain"] is None
    assert "<svg" in found().to_html()
    assert "in 80% intervals" in found().to_html()
    with pytest.raises(InputError, match="no map corrects groups of distributions"):
        found().recalibrator()


def test_other_forms_name_the_same_groups():
    mean, sd, y, table = planted()
    members = Samples(mean[:, None] + sd[:, None] * np.random.default_rng(1).normal(size=(len(y), 20)))
    for forecast in (Distribution("normal", mean=mean, sd=sd), members):
        items = up.find_groups(y, forecast, among={"region": table["region"], "lead": table["lead"]}).items
        assert {item.rule for item in items} == {"region = c", "lead >= 6"}


def test_ordered_classes_and_a_single_quantile_can_be_biased():
    rng = np.random.default_rng(0)
    c, shift = rng.random(1500) < 0.2, rng.normal(size=1500)
    ends = 1 / (1 + np.exp(shift[:, None] - np.array([-1.0, 0.0, 1.0])))
    p = np.diff(np.column_stack([np.zeros(1500), ends, np.ones(1500)]), axis=1)
    y = (rng.random(1500)[:, None] > ends).sum(axis=1)
    y = np.where(c, np.minimum(y + (rng.random(1500) < 0.6), 3), y)
    [item] = up.find_groups(y, Ordered(p, [0, 1, 2, 3]), among={"c": c}, clusters=None).items
    assert (item.error, item.effect > 0) == ("bias", True)
    mean, _, y, table = planted()
    [item] = up.find_groups(y, Quantiles([0.5], mean[:, None]), among={"region": table["region"]}).items
    assert (item.rule, item.error) == ("region = c", "bias")


def test_none_is_named_where_all_rows_err_alike():
    mean, sd, y, table = planted()
    rng = np.random.default_rng(2)
    y = mean + sd * (0.5 + 1.5 * rng.normal(size=len(y)))
    groups = up.find_groups(y, quantiles(mean, sd), among=table)
    assert not groups
    assert groups.miscalibrated
    assert "spreads in a tenth of the rows would be found" in str(groups)


def test_false_alarms_are_rare():
    """Of 30 samples at most 5 have a group: more come with a probability of .003 at a true rate of 5%."""
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        columns = [*columns_of_values("x", rng.normal(size=300)), *columns_of_values("c", rng.choice(list("ab"), 300))]
        forecast = Samples(rng.normal(size=(300, 20)))
        rows = forecast.rows_of(0.3 + 1.3 * rng.normal(size=300), None, None)
        alarms += bool(Search(columns, seed=seed).found(PitModel(rows)).groups)
    assert alarms <= 5


def test_scores_are_those_of_the_likelihood():
    """Unprojected they would be sums of z and of (z^2 - 1) / sqrt 2; projected they sum to 0, and vary as z does."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=800)
    rows = Distribution("normal", mean=np.zeros(800), sd=1).rows_of(z, None, None)
    columns = [*columns_of_values("x", rng.normal(size=800)), *columns_of_values("c", rng.choice(list("ab"), 800))]
    model = PitModel(rows)
    scores, mended = PitScores(columns, model), model.mended.low
    np.testing.assert_allclose(scores.scored[:, 0], mended - mended.mean(), atol=1e-9)
    np.testing.assert_allclose(scores.scored[:, 1], (mended**2 - np.mean(mended**2)) / np.sqrt(2), atol=1e-9)
    half = scores.of[0, 1].kinds[0]
    share = np.mean(columns[1].codes == columns[1].codes[0])
    expected = 800 * share * (1 - share) * np.mean(mended**2)
    assert any(np.isclose(half.variance[half.fine], expected, rtol=1e-6))


def test_weights_count_by_their_ratios():
    mean, sd, y, table = planted()
    w = np.random.default_rng(3).exponential(size=len(y))
    one, other = (
        up.find_groups(y, quantiles(mean, sd), among={"region": table["region"]}, sample_weight=x * w) for x in (1, 8)
    )
    assert [item.rule for item in one.items] == ["region = c"]
    assert one.items[0].effect == pytest.approx(other.items[0].effect, rel=1e-6)
    plain = up.find_groups(y, quantiles(mean, sd), among={"region": table["region"]})
    [wide, narrow] = (np.ptp(each.items[0].effect_interval) for each in (one, plain))
    assert 1.2 < wide / narrow < 1.7  # such weights halve what rows tell


def test_windows_are_clusters_by_stretches_of_time():
    issued = np.repeat(np.arange(60), 4)
    target = issued + np.tile(np.arange(1, 5), 60)
    block = Windows(issued, target).blocks()
    apart = block[:, None] > block + 1
    assert not (apart & (issued[:, None] < target)).any()
    assert block.max() + 1 == 15
    y = np.random.default_rng(0).normal(size=240)
    forecast = Distribution("normal", mean=np.zeros(240), sd=1)
    groups = up.find_groups(y, forecast, among={"lead": target - issued}, issued=issued, target_date=target)
    assert groups.n_clusters == 15
    assert "few clusters (15)" in groups.warnings[-1]


def test_assess_searches_too():
    mean, sd, y, table = planted()
    assessed = up.assess(y, quantiles(mean, sd), among=table)
    assert assessed.groups_found.items == found().items
    assert "Wrong in 2 groups of rows" in str(assessed)
    assert "Groups of rows in which they are wrong" in assessed.to_html()
    p = 1 / (1 + np.exp(-np.random.default_rng(0).normal(size=600)))
    happened, column = np.random.default_rng(1).random(600) < p, {"x": np.arange(600) % 7}
    groups = up.assess(happened, p, among=column).groups_found
    assert groups.p_value == up.find_groups(happened, p, among=column).p_value
    with pytest.raises(InputError, match="among: groups are searched in rows; a tally has none"):
        up.assess(up.Tally.of(happened, p), among=column)


def test_bad_input_is_refused():
    mean, sd, y, table = planted()
    with pytest.raises(InputError, match="column 'x' has shape"):
        up.find_groups(y, quantiles(mean, sd), among={"x": [1, 2]})
    with pytest.raises(InputError, match="labels: is for class probabilities"):
        up.find_groups(y, quantiles(mean, sd), among=table, labels=[0, 1])
    with pytest.raises(InputError, match="issued: is for predictive distributions"):
        up.find_groups([0, 1], [0.2, 0.8], among={"x": [1, 2]}, issued=[1, 2])


def test_the_command_searches_columns_and_keeps_leading_zeros(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mean, sd, y, table = planted()
    ends = {f"q{level}": values for level, values in zip(LEVELS, quantiles(mean, sd).values.T, strict=True)}
    pl.DataFrame({**ends, "y": y, **table, "sex": "f"}).write_csv("f.csv")
    words = ["f.csv", "--truth", "y", "--quantiles", "q*", "--clusters", "none", "--among", "all", "-q"]
    assert main(["where", *words, "--json", "where.json", "--report", "page.html"]) == 0
    plain = json.loads((tmp_path / "where.json").read_text())
    assert plain["columns"] == ["region", "lead", "fips"]
    assert {item["rule"] for item in plain["items"]} == {"region = c", "lead >= 6"}
    assert any("protected columns" in each and "sex" in each for each in plain["warnings"])
    assert main(["assess", *words, "--json", "assess.json"]) == 0
    assert json.loads((tmp_path / "assess.json").read_text())["groups_found"]["items"] == plain["items"]
    assert main(["where", *words, "-o", "groups.json"]) == 2
    assert "no map corrects groups of distributions" in capsys.readouterr().err
    [column] = columns_of_values("fips", np.array(["01", "06", "12"]))
    assert column.categories == ("01", "06", "12")
    assert next(columns_of_values("x", np.array(["0.5", "0", "-1"]))).categories is None


def test_the_order_of_groups_hardly_matters_to_what_they_gain():
    mean, sd, y, table = planted()
    model = PitModel(Distribution("normal", mean=mean, sd=sd).rows_of(y, None, None))
    c, late = table["region"] == "c", table["lead"] >= 6
    one, other = model.with_group(c, False).with_group(late, True), model.with_group(late, True).with_group(c, False)
    assert one.loss == pytest.approx(other.loss, rel=0.02)
    assert model.loss - one.loss > 60
    assert model.with_group(late, False).with_rows(0, c).loss == model.with_group(c, False).loss
    wide = {True: one.effect(1), False: other.effect(0)}
    assert wide[True][1] == pytest.approx(wide[False][1], abs=0.02)
