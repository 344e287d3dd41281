import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, softmax

from helpers import maps_of_groups
from unperplexed import InputError, Recalibrator
from unperplexed.cli.parser import main
from unperplexed.results import GroupRecalibrator
from unperplexed.scores import log_loss

SLOPES = {"coast": 1.0, "hills": 0.5, "valley": 1.3}


def sample(rng, n, slopes=SLOPES):
    station = rng.choice(list(slopes), n)
    s = rng.normal(-0.5, 2, n)
    y = rng.random(n) < expit(s * np.array([slopes[name] for name in station]))
    return y, expit(s), station


@pytest.fixture(scope="module")
def fitted():
    y, p, station = sample(np.random.default_rng(1), 1500)
    return GroupRecalibrator(folds=5).fit(y, p, by={"station": station})


@pytest.mark.slow
def test_maps_of_groups_that_differ_gain_on_fresh_rows(fitted):
    assert fitted.gain_.significant
    assert not fitted.one_map
    assert fitted.to_text().startswith("Recalibrate with a map for each group by station.")
    y, p, station = sample(np.random.default_rng(2), 100_000)
    held = 0
    for seed in range(101, 105):
        rows = sample(np.random.default_rng(seed), 1500)
        found = GroupRecalibrator(folds=5).fit(*rows[:2], by={"station": rows[2]})
        own, one = found.transform(p, by={"station": station}), found.shared_.transform(p)
        assert log_loss(y, own) < log_loss(y, one)
        low, high = found.gain_.interval
        held += low <= log_loss(y, one) - log_loss(y, own) <= high
    assert held >= 3  # of 4 intervals of 95%


@pytest.mark.slow
def test_groups_alike_have_the_one_map():
    y, p, station = sample(np.random.default_rng(3), 900, dict.fromkeys(SLOPES, 0.6))
    found = GroupRecalibrator(folds=5).fit(y, p, by=station)
    assert found.one_map
    grid, by = np.linspace(0, 1, 101), np.resize(["coast", "hills"], 101)
    np.testing.assert_array_equal(found.transform(grid, by=by), Recalibrator(folds=5).fit(y, p).transform(grid))
    assert GroupRecalibrator.from_dict(found.to_dict()).one_map


@pytest.mark.slow
def test_maps_rise_and_new_groups_have_the_one_map(fitted):
    grid = np.linspace(0, 1, 201)
    for name in SLOPES:
        q = fitted.transform(grid, by=[name] * 201)
        assert (np.diff(q) >= 0).all()
        assert 0 < q.min() < q.max() < 1
    np.testing.assert_array_equal(fitted.transform(grid, by=["moon"] * 201), fitted.shared_.transform(grid))


@pytest.mark.slow
def test_rows_of_several_classes_sum_to_one_in_any_order():
    rng = np.random.default_rng(4)
    z, group = rng.normal(0, 2, (300, 3)), rng.integers(0, 2, 300)
    y = (z * np.where(group, 1, 0.4)[:, None] + rng.gumbel(size=z.shape)).argmax(axis=1)
    p, order = softmax(z, axis=1), rng.permutation(300)
    found = GroupRecalibrator(folds=5).fit(y, p, by=group)
    q = found.transform(p, by=group)
    assert not found.one_map
    np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-12)
    again = GroupRecalibrator(folds=5).fit(y[order], p[order], by=group[order])
    np.testing.assert_allclose(again.transform(p, by=group), q, rtol=1e-9)
    assert again.gain_.value == pytest.approx(found.gain_.value, rel=1e-9)


@pytest.mark.slow
def test_few_clusters_or_rows_have_the_one_map():
    y, p, station = sample(np.random.default_rng(5), 60)
    found = GroupRecalibrator().fit(y, p, by=station)
    assert found.one_map
    assert found.gain_ is None
    assert "fewer than 100 rows" in found.to_text().replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data.update(version=2), "version 2"),
        (lambda data: data.update(extra=1), "unknown keys: extra"),
        (lambda data: data.update(by=["station", "year"]), "key cannot be right"),
        (lambda data: data["groups"].append(data["groups"][0]), "occurs twice"),
        (lambda data: data["gain"].update(interval=[-1, 1]), "maps without a gain"),
        (lambda data: data["groups"][0]["map"].update(labels=["a", "b"]), "classes of a group"),
        (lambda data: data["groups"][0]["map"].update(version=9), "version 9"),
    ],
)
def test_spoiled_maps_are_refused(fitted, spoil, message):
    data = json.loads(json.dumps(fitted.to_dict()))
    spoil(data)
    with pytest.raises(InputError, match=message):
        GroupRecalibrator.from_dict(data)


@pytest.fixture(scope="module")
def plain():
    y, p, site = sample(np.random.default_rng(6), 300)
    return maps_of_groups(y, p, site)


def changed(data, **changes):
    return {**json.loads(json.dumps(data)), **changes}


def test_a_saved_map_is_one_temperature_after_another(plain):
    made = GroupRecalibrator.from_dict(plain)
    shared, own = (Recalibrator.from_dict(each["map"]) for each in (plain, plain["groups"][0]))
    grid = np.linspace(0.01, 0.99, 21)
    by = ["coast"] * 20 + ["moon"]
    expected = np.append(own.transform(shared.transform(grid))[:20], shared.transform(grid)[20])
    for p, column in ((grid, slice(None)), (np.stack([1 - grid, grid], axis=1), (slice(None), 1))):
        np.testing.assert_allclose(made.transform(p, by=by)[column], expected, rtol=1e-12)
        np.testing.assert_allclose(made.transform(p, by={"site": by})[column], expected, rtol=1e-12)
    assert made.transform(grid[:0], by=[]).size == 0
    for wrong in ({"station": by}, {"site": by, "year": by}):
        with pytest.raises(InputError, match="by: expected the columns site, got "):
            made.transform(grid, by=wrong)


def test_the_text_says_which_groups_have_maps_and_what_these_change(plain):
    text = str(GroupRecalibrator.from_dict(plain))
    assert text.startswith("Recalibrate with a map for each group by site.")
    [coast] = [line for line in text.splitlines() if "coast" in line]
    temperature = Recalibrator.from_dict(plain["groups"][0]["map"]).parameters_["temperature"]
    assert f"temperature {temperature:.3g}" in coast
    few = changed(plain)
    few["groups"][0]["map"] = None
    [coast] = [line for line in str(GroupRecalibrator.from_dict(few)).splitlines() if "coast" in line]
    assert "temperature" not in coast
    for each in few["groups"]:
        each["map"] = None
    few["gain"]["interval"] = [-0.05, 0.15]
    text = " ".join(str(GroupRecalibrator.from_dict(few)).split())
    assert text.startswith("Use one map for all site. Maps of their own are not shown to reduce the log loss")
    assert "own weight" not in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "unperplexed recalibration map"}, 'no "format": "unperplexed recalibration maps of groups"'),
        ({"version": 2}, "the maps of groups have version 2; this version of unperplexed reads version 1. Fit them"),
        ({"extra": 1}, "missing or unknown keys: extra"),
    ],
)
def test_other_files_are_no_maps_of_groups(plain, changes, message):
    with pytest.raises(InputError, match=message):
        GroupRecalibrator.from_dict(changed(plain, **changes))
    with pytest.raises(InputError, match="these are maps of groups, which need each row's group: apply them with"):
        Recalibrator.from_dict(plain)


def test_before_a_fit_there_is_nothing_to_apply_or_to_tell():
    none = GroupRecalibrator()
    with pytest.raises(InputError, match="the recalibrator is not fitted; call fit first, or load one"):
        none.transform([0.2], by=["a"])
    assert str(none) == repr(none) == "GroupRecalibrator()"
    assert "It is not fitted." in none.to_html()
    with pytest.raises(InputError, match="no rows of positive weight to fit to"):
        none.fit_chunks(lambda: [])


@pytest.mark.slow
def test_the_command_fits_and_applies_maps_of_groups(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y, p, station = sample(np.random.default_rng(6), 1200)
    frame = pl.DataFrame({"station": station, "p": p, "rain": y.astype(int)})
    frame.write_csv("fit.csv")
    columns = ("--truth", "rain", "--prob", "p")
    assert main(["recalibrate", "fit.csv", *columns, "--by", "station", "--folds", "5", "-o", "map.json"]) == 0
    own = GroupRecalibrator(folds=5).fit(y, p, by={"station": station})
    assert capsys.readouterr().out.startswith(str(own))
    new = frame.select("station", "p").with_columns(id=pl.Series(range(1200)))
    new.write_parquet("new.parquet")
    assert main(["recalibrate", "--apply", "map.json", "new.parquet", "--prob", "p", "-o", "out.csv"]) == 0
    out = pl.read_csv("out.csv")
    assert out.columns == ["station", "p", "id"]
    np.testing.assert_allclose(out["p"], own.transform(p, by={"station": station}), rtol=1e-12)
    np.testing.assert_array_equal(GroupRecalibrator.load("map.json").transform(p, by=new.select("station")), out["p"])
    assert main(["assess", "fit.csv", *columns, "--apply", "map.json"]) == 2
    assert "maps of groups" in capsys.readouterr().err
    new.drop("station").write_csv("without.csv")
    assert main(["recalibrate", "--apply", "map.json", "without.csv", "--prob", "p", "-o", "out.csv"]) == 2
    assert "station" in capsys.readouterr().err
    assert main(["recalibrate", "fit.csv", *columns, "--by", "p:thirds", "-o", "m.json"]) == 2
    assert "other files have other thirds" in capsys.readouterr().err
    assert main(["recalibrate", "fit.csv", *columns, "--by", "rain", "-o", "m.json"]) == 2
    assert "holds the outcomes" in capsys.readouterr().err


def test_groups_that_err_alike_have_one_map(rng):
    s, group = rng.normal(0, 1.5, 200), np.arange(200) % 2
    y, p = (rng.random(200) < expit(s)).astype(int), expit(2 * s)
    found = GroupRecalibrator().fit(y, p, by=group)
    assert found.gain_ is not None
    assert not found.gain_.significant
    assert found.one_map
