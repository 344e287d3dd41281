"""Groups of rows in which forecasts are wrong, with all figures of the search, beside those that are kept."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtri

from kept import same_as_kept
from unperplexed import Distribution, Quantiles
from unperplexed.calibration.where.conditions import Condition, columns_of_values
from unperplexed.calibration.where.naming import Residuals, Search, shrunk
from unperplexed.calibration.where.pit import PitModel
from unperplexed.calibration.where.rules import Scores, SearchedRows

KEPT = Path(__file__).with_name("groups.json")
DAYS = np.datetime64("2024-01-01") + np.arange(600)


def table(seed, n=600):
    """Columns of all kinds, some with missing values."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=n), 2)
    x[rng.random(n) < 0.1] = np.nan
    kind = rng.choice(list("abcde"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05]).astype(object)
    kind[rng.random(n) < 0.05] = None
    return {"x": x, "kind": kind, "few": rng.integers(0, 4, n), "day": DAYS[rng.permutation(n)], "flag": x > 0.5}


def read(columns):
    return [column for name, each in columns.items() for column in columns_of_values(name, np.asarray(each))]


def rows_of(s, y, weight=None, cluster=None):
    return SearchedRows.of(s, y.astype(float), weight, cluster)


CASES = {
    "none": lambda t, s: s,
    "bias of one": lambda t, s: s + 1.5 * (t["few"] == 2),
    "bias of two": lambda t, s: s + 2.0 * ((t["x"] >= 0.1) & (t["few"] < 2)),
    "slope": lambda t, s: np.where(np.isin(t["kind"], ["a"]), 0.0, s),
    "two groups": lambda t, s: s + 1.6 * (t["few"] == 1) - 1.8 * (t["x"] < -0.8),
    "missing": lambda t, s: s + 2.5 * np.isnan(t["x"]),
    "all alike": lambda t, s: 0.6 * s + 0.8,
    "month": lambda t, s: s + 2.0 * (t["day"].astype("M8[M]").astype(int) % 12 == 3),
}


OTHERS = [(each, kind) for each in ("bias of one", "two groups") for kind in ("weights", "clusters")]


@pytest.mark.parametrize(("name", "kind"), [*((each, "plain") for each in CASES), *OTHERS])
def test_groups(name, kind):
    rng = np.random.default_rng(len(name))
    t = table(len(name))
    s = np.round(rng.normal(0, 1.6, 600), 2)
    y = rng.random(600) < expit(CASES[name](t, s))
    weight = np.round(rng.exponential(size=600), 2) if kind == "weights" else None
    rows = rows_of(s, y, weight, np.arange(600) // 3 if kind == "clusters" else None)
    columns = read(t)
    found = Search(columns, seed=1).found(rows, "yes")
    tables = [Residuals.of(columns, rule, "yes", found.common) for rule in found.rules]
    same_as_kept(KEPT, f"{name} {kind}", (found._replace(common=None), tables, found.corrected(columns, s)))


def test_scores_of_all_rules():
    t, rng = table(3, 300), np.random.default_rng(4)
    s = rng.normal(0, 1.5, 300)
    y, weight = rng.random(300) < expit(s + (t["few"] == 1)), rng.exponential(size=300)
    columns = read({each: t[each][:300] for each in ("x", "kind", "few")})
    found = {}
    for name, w in {"plain": None, "weights": weight}.items():
        model = rows_of(s, y, w).model
        group = model.with_group(t["few"] == 1, slope=False).with_group(t["x"] > 0, slope=True)
        found[f"{name} fit"] = group.fit.theta, group.errors, group.effect(0), group.effect(1), group.loss, model.loss
        for key, each in {"alone": model, "beside": group}.items():
            scores = Scores(columns, each)
            found[f"{name} {key}"] = scores.n_rules, scores.of, [*scores.scores(scores.scored)]
    same_as_kept(KEPT, "scores", found)


@pytest.mark.parametrize("form", ["normal", "quantiles"])
@pytest.mark.parametrize("error", ["bias", "width", "none"])
def test_groups_of_distributions(form, error):
    t, rng = table(5, 400), np.random.default_rng(6)
    mean, sd, inside = rng.normal(5, 2, 400), np.exp(rng.normal(0, 0.2, 400)), t["few"] == 2
    z = rng.normal(size=400) * np.where(inside & (error == "width"), 2.0, 1.0) + 0.9 * (inside & (error == "bias"))
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    forecast = Quantiles(levels, mean[:, None] + sd[:, None] * ndtri(levels))
    forecast = Distribution("normal", mean=mean, sd=sd) if form == "normal" else forecast
    model = PitModel(forecast.rows_of(mean + sd * z, None, None))
    columns = read({each: t[each] for each in ("few", "kind", "x")})
    found = Search(columns, seed=1).beside(model, None, None)
    tables = [Residuals.of(columns, rule, None, found.common) for rule in found.rules]
    same_as_kept(KEPT, f"{error} {form}", (found._replace(common=None), tables))


COLUMNS = {
    "numbers": np.array([3.25, 1.5, 2.0, 2.0, np.nan, 1e301, -np.inf, 7.125]),
    "many numbers": np.round(np.random.default_rng(1).exponential(size=200), 3),
    "tiny numbers": np.random.default_rng(1).exponential(size=60) * 1e-9,
    "categories": np.random.default_rng(2).choice(list("abcdefghijklmnopqrstuvwxyz"), 300),
    "three": np.array(["a", "b", "c", "a", "", "a"] * 5),
    "five": np.array(list("aaaabbbccd")),
    "codes": np.array(["01", "02", "10", "01"]),
    "texts of numbers": np.array(["1", "2.5", "", "3"]),
    "texts of dates": np.array(["2024-02-01", "2024-03-05", "", "2025-12-31"]),
    "texts of times": np.array(["2024-02-01 10:30:00", "2024-03-05 23:59:59"]),
    "dates": DAYS[::40],
    "lengths of time": DAYS[:5] - DAYS[2],
    "truths": np.array([True, False, True, None], dtype=object),
    "one value": np.full(5, 2.0),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_in_bins(name):
    found = {}
    for column in columns_of_values("c", COLUMNS[name]):
        asked = [each for each in column.conditions if each]
        some = [each for each in asked if column.holds(each).any()]
        parts = [column.parts(each) for each in some[:: max(len(some) // 12, 1)]]
        near = [column.cuts_near(end, 5) for each in asked[:9] for end in each.ends if end is not None]
        held = [column.holds(each) for each in asked]
        met = [each.met_by(COLUMNS[name]) for each in asked]
        assert all(np.array_equal(*both) for both in zip(held, met, strict=True))
        texts = [each.text for each in asked]
        found[column.name] = column.codes, texts[:60], len(texts), column.sets, np.array(held), parts, near
    same_as_kept(KEPT, f"column {name}", found)


def test_what_a_condition_says():
    found = [
        Condition("x", 1.0).text,
        Condition("x", None, 2.5).text,
        Condition("x", 1.0, 2.5).text,
        Condition("day", 86400.0, 90000.0, date=True).text,
        Condition("x", missing=True).text,
        Condition("k", values=("a", "b")).text,
        Condition("k", values=("a",), negated=True).text,
        Condition("day", values=("May",), part="month").text,
        Condition("x", 1.0, 2.5).moved(0, None).text,
        Condition("x", 1.0, 2.5).moved(1, 7.0).text,
    ]
    assert found == [
        "x >= 1", "x < 2.5", "1 <= x < 2.5", "1970-01-02 <= day < 1970-01-02 01:00:00", "x is missing", "k = a or b",
        "k is not a", "month of day = May", "x < 2.5", "1 <= x < 7",
    ]  # fmt: skip


def test_the_shrunken_share_of_an_effect():
    same_as_kept(
        KEPT, "shrunk", [shrunk(z, critical) for z in (0.0, 1.0, -3.9, 4.1, 5.0, 12.0) for critical in (2.0, 4.0)]
    )
