"""Groups of rows in which forecasts are wrong: planted ones, none, bad columns, and laws of the result."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from scipy.special import expit

import unperplexed as up
from unperplexed.calibration.where import naming
from unperplexed.calibration.where.conditions import Condition, columns_of_values
from unperplexed.calibration.where.naming import Search, shrunk
from unperplexed.calibration.where.rules import Model, Scores, SearchedRows
from unperplexed.forecasts.labels import label_array


def planted(n=3000, seed=0, effect=1.0):
    """Rows, and which of them are in the group ``x >= 0.3 and kind = b``."""
    rng = np.random.default_rng(seed)
    table = {"x": rng.normal(size=n), "kind": rng.choice(list("abc"), n), "noise": rng.exponential(size=n)}
    s = rng.normal(0, 1.2, n)
    inside = (table["x"] >= 0.3) & (table["kind"] == "b")
    return (rng.random(n) < expit(s + effect * inside)).astype(int), expit(s), table, inside


def rules(y, s, **columns):
    """Name the groups, without their gain, which takes most of the time."""
    read = [column for name, values in columns.items() for column in columns_of_values(name, label_array(values))]
    return [group.rule for group in Search(read).found(SearchedRows.of(s, np.asarray(y, float))).groups]


@pytest.mark.slow
def test_a_group_of_two_conditions_is_named_with_its_effect_and_gain():
    y, p, table, inside = planted(10_000)
    found = up.find_groups(y, p, among=table)
    [item] = found.items
    number, kind = sorted(item.conditions, key=lambda c: -len(c.column) + 9 * bool(c.values))
    mine = (table["x"] >= number.low) & (table["kind"] == "b")
    assert (kind.values, number.high) == (("b",), None)
    assert (mine & inside).sum() / (mine | inside).sum() >= 0.9
    assert item.rows == mine.sum()
    assert item.observed == pytest.approx(y[mine].mean())
    assert item.effect_interval[0] < 1 < item.effect_interval[1]
    assert 0 < item.effect_shrunken <= item.effect
    # The true correction gains so much on these rows, beyond one map for all.
    true, one = expit(np.log(p / (1 - p)) + inside), up.Recalibrator().fit(y, p).transform(p)
    gain = np.mean(np.log(np.where(y, true, 1 - true)) - np.log(np.where(y, one, 1 - one)))
    assert found.gain_interval[0] < gain < found.gain_interval[1]
    assert found.gain.value == pytest.approx(gain, abs=0.001)
    assert found.found
    assert json.loads(found.to_json())["items"][0]["rule"] == item.rule


def test_none_is_named_where_all_rows_are_biased_alike():
    y, p, table, _ = planted(seed=1, effect=0)
    found = up.find_groups(y, expit(np.log(p / (1 - p)) + 0.8), among=table)
    assert not found
    assert found.p_value > 0.05
    assert "No group shown (3,000 rows, 3 columns" in str(found)
    assert "`recalibrate` to mend it" in str(found)
    assert found.gain is None


@pytest.mark.slow
def test_false_alarms_are_rare():
    """Of 60 calibrated samples at most 7 have a group: more come with a probability below .02 at a true rate of 5%."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        s = rng.normal(-1, 1, 400)
        columns = [*columns_of_values("x", rng.normal(size=400)), *columns_of_values("c", rng.choice(list("ab"), 400))]
        rows = SearchedRows.of(s, (rng.random(400) < expit(s)).astype(float))
        alarms += bool(Search(columns, seed=seed).found(rows).groups)
    assert alarms <= 7


@pytest.mark.slow
def test_equal_forecasts_and_one_column_give_no_more_false_alarms():
    """No rule asks for a slope, nor for two columns. More than 11 of 100 have a chance of .004 at a rate of 5%."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y, x = (rng.random(300) < 0.3) * 1, rng.normal(size=300)
        alarms += up.find_groups(y, np.full(300, 0.3), among={"x": x}).p_value < 0.05
    assert alarms <= 11


@pytest.mark.slow
def test_missing_values_of_text_durations_and_leaks_by_absence(rng):
    y = (rng.random(600) < 0.3) * 1
    wait = np.where(y == 1, np.timedelta64(5, "s"), np.timedelta64(9, "m")) + rng.integers(0, 99, 600).astype("m8[s]")
    text = np.where(np.arange(600) % 3 == 0, np.nan, rng.choice(list("ab"), 600).astype(object))
    death = np.where(y == 1, rng.integers(1, 9, 600), np.nan)
    found = up.find_groups(y, np.full(600, 0.3), among={"wait": wait, "text": text, "death": death}, max_groups=1)
    assert "NaN" not in str(found)
    assert "column 'death' alone orders the outcomes (AUC above 0.99) by where it is missing" in str(found.warnings)


def test_a_slope_is_found_as_confidence():
    rng = np.random.default_rng(2)
    s, kind = rng.normal(0, 1.5, 6000), rng.choice(list("abcd"), 6000)
    y = rng.random(6000) < expit(np.where(kind == "d", 0.3, 1) * s)
    columns = [*columns_of_values("kind", kind), *columns_of_values("x", rng.normal(size=6000))]
    [item] = Search(columns).found(SearchedRows.of(s, y.astype(float))).groups
    assert (item.rule, item.error) == ("kind = d", "confidence")
    assert item.effect_interval[0] < -0.7 < item.effect_interval[1]


@pytest.mark.slow
def test_clusters_with_one_outcome_are_no_groups():
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(80), 20)
    s = np.repeat(rng.normal(size=80), 20)
    y = np.repeat(rng.random(80) < expit(s[::20]), 20)
    table = {"age": np.repeat(rng.integers(20, 90, 80), 20), "sex": np.repeat(rng.choice(["f", "m"], 80), 20)}
    assert not up.find_groups(y, expit(s), among=table, clusters=patient)
    assert rules(y, s, **table)  # as if each row told as much
    few = up.find_groups(y, expit(s), among={"sex": table["sex"]}, clusters=patient // 4)
    assert any("few clusters (20) hardly show" in said for said in few.warnings)


def test_equal_weights_change_nothing_and_weights_count():
    y, p, table, inside = planted(2000, seed=4, effect=1.5)
    columns = [column for name, values in table.items() for column in columns_of_values(name, values)]
    s = np.log(p / (1 - p))
    plain, twice, light = (
        Search(columns).found(SearchedRows.of(s, y.astype(float), w))
        for w in (None, np.full(2000, 2.0), np.where(inside, 0.02, 1.0))
    )
    assert [g.rule for g in twice.groups] == [g.rule for g in plain.groups]
    assert twice.p_value == pytest.approx(plain.p_value, rel=1e-3)
    assert twice.groups[0].effect_interval == pytest.approx(plain.groups[0].effect_interval, rel=1e-2)
    assert light.p_value > plain.p_value
    assert up.find_groups(y, p, among=table, sample_weight=np.where(inside, 0.02, 1.0)).p_value == pytest.approx(
        light.p_value
    )


@pytest.mark.slow
def test_known_variances_hold_with_weights():
    """Over samples of outcomes, scores against the fitted curve have the variances that are known beforehand."""
    rng = np.random.default_rng(5)
    n = 1500
    s, w = rng.normal(size=n), rng.choice([0.2, 1.0, 5.0], n)
    columns = [*columns_of_values("x", rng.normal(size=n)), *columns_of_values("k", rng.choice(list("abc"), n))]
    squares = []
    for _ in range(150):
        scores = Scores(columns, Model.of(SearchedRows.of(s, (rng.random(n) < expit(s)).astype(float), w)))
        [(pair, both)] = scores.scores(scores.scored)
        z = [each[0] ** 2 / of.variance for each, of in zip(both, scores.of[pair].kinds, strict=True)]
        squares.append([z2[of.fine].mean() for z2, of in zip(z, scores.of[pair].kinds, strict=True)])
    np.testing.assert_allclose(np.mean(squares, axis=0), 1, atol=0.12)


@pytest.mark.slow
def test_each_class_is_searched_and_of_many_the_most_probable_one():
    rng = np.random.default_rng(6)
    n = 3000
    logits, kind = rng.normal(size=(n, 3)), rng.choice(list("ab"), n)
    true = logits + 1.2 * np.outer(kind == "b", [0, 0, 1])
    y = np.array(["u", "v", "w"])[(true + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    table = {"kind": kind, "x": rng.normal(size=n)}
    found = up.find_groups(y, p, among=table, labels=["u", "v", "w"])
    assert ("w", "kind = b") in {(item.label, item.rule) for item in found.items if item.effect > 0}
    assert found.gain_interval[0] > 0
    top = up.find_groups(y, p, among=table, labels=["u", "v", "w"], view="top-label")
    assert top.columns == ("kind", "x", "predicted class")
    assert all(item.label is None for item in top.items)


@pytest.mark.slow
def test_dates_and_missing_values_are_conditions():
    rng = np.random.default_rng(7)
    n = 4000
    day = np.datetime64("2023-01-01") + rng.integers(0, 730, n)
    s, summer = rng.normal(size=n), np.isin(day.astype("M8[M]").astype(int) % 12, [6])
    y = rng.random(n) < expit(s + 1.8 * summer)
    lab = np.where(rng.random(n) < 0.2, None, rng.choice(["low", "high"], n))
    known = [*columns_of_values("day", day)]
    for column in ([str(each) for each in day], pd.Series(day), pl.Series(day), day.astype(object)):
        read = [*columns_of_values("day", label_array(column))]
        assert [each.name for each in read] == ["day", "month of day", "weekday of day"]
        for mine, other in zip(read, known, strict=True):
            np.testing.assert_array_equal(mine.codes, other.codes)
            assert mine.conditions == other.conditions
    assert rules(y, s, day=day, lab=lab) == ["month of day = July"]
    later = rng.random(n) < expit(s + 1.2 * (day >= np.datetime64("2024-06-01")))
    [rule] = rules(later, s, day=day, lab=lab)
    assert rule.startswith("day >= 2024-0")
    unknown = rng.random(n) < expit(s + 1.2 * np.equal(lab, None))
    assert rules(unknown, s, lab=lab, x=rng.normal(size=n)) == ["lab is missing"]


SAID = {
    "order": (lambda y, rng: y + 0.1 * rng.random(y.size), "alone orders the outcomes"),
    "row": (lambda y, rng: np.arange(y.size), "has another number in each row"),
    "note": (lambda y, rng: [f"note {at}" for at in range(y.size)], "holds 500 different values"),
    "day": (lambda y, rng: [f"{1 + at % 28}/{1 + at % 12}/{2000 + at}" for at in range(y.size)], "holds 500 different"),
    "empty": (lambda y, rng: np.full(y.size, np.nan), "is missing in all rows"),
    "same": (lambda y, rng: ["a"] * y.size, "has the same value in all rows"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAID)
def test_columns_that_tell_too_little_or_too_much_are_remarked_on(name):
    y, p, table, _ = planted(500, seed=8, effect=0)
    made, said = SAID[name]
    found = up.find_groups(y, p, among={**table, name: made(y, np.random.default_rng(0))}, max_groups=1)
    [warning] = found.warnings
    assert warning.startswith(f"column '{name}' {said}")
    assert ("periods (--among day:quarter)" in warning) == (name == "day")


@pytest.mark.parametrize(
    ("among", "said"),
    [
        (lambda y: {"outcome": np.where(y, "yes", "no")}, "among: column 'outcome' holds the outcomes. Leave it out."),
        (lambda y: {str(at): y * at for at in range(200)}, "among: 200 columns; at most 60 are searched"),
        (lambda y: {"x": y[:-1]}, "among: column 'x' has 499 rows, the forecasts 500"),
        (lambda y: {}, "among: no column"),
    ],
)
def test_columns_that_cannot_be_searched_are_refused(among, said):
    y, p, _, _ = planted(500, seed=8, effect=0)
    with pytest.raises(up.InputError, match=said):
        up.find_groups(y, p, among=among(y))


def test_other_input_is_refused():
    y, p, table, _ = planted(500, seed=8, effect=0)
    with pytest.raises(up.InputError, match="not in a tally"):
        up.find_groups(up.Tally.of(y, p), among=table)
    with pytest.raises(up.InputError, match="view"):
        up.find_groups(y, p, among=table, view="all-classes")
    with pytest.raises(up.InputError, match="max_groups"):
        up.find_groups(y, p, among=table, max_groups=0)


def test_one_seed_gives_one_result_and_rows_that_are_dropped_change_nothing():
    y, p, table, _ = planted(1500, seed=9)
    found = up.find_groups(y, p, among=table)
    assert found == up.find_groups(y, p, among=table)
    longer = {name: np.append(values[:1], values) for name, values in table.items()}
    dropped = up.find_groups(np.append(y[0], y), np.append(np.nan, p), among=longer, invalid="drop")
    assert dropped.items == found.items


def test_unusual_rows_and_columns_are_searched():
    """Predictions of 0 and 1, infinite numbers, one column, columns of truth values, and outcomes that never vary."""
    rng = np.random.default_rng(10)
    p, x = rng.uniform(size=400).round(1), rng.normal(size=400)
    y = (rng.random(400) < p).astype(int)
    table = {"x": np.where(x > 1, np.inf, np.where(x < -1, -np.inf, x)), "late": x > 0}
    assert up.find_groups(y, p, among=table).rules_searched > 40
    assert up.find_groups(y, p, among=x).columns == ("group",)
    none = up.find_groups(np.zeros(400, int), p, among=table, labels=[0, 1])
    assert (none.rules_searched, none.p_value) == (0, 1.0)


@pytest.mark.slow
def test_pairs_of_columns_that_are_looked_at_closely_hold_the_clearest_rules(monkeypatch):
    """Of 28 pairs ten have their moments taken anew beside named groups, and in a part of the rows: as if all had."""
    rng, n = np.random.default_rng(11), 3000
    x, s, kind = rng.normal(size=(7, n)), rng.normal(size=n), rng.choice(list("abc"), n)
    error = 1.3 * ((x[0] > 0.5) & (kind == "a")) - 1.2 * (x[3] < -0.8) - 0.8 * s * (x[5] > 0.6)
    rows = SearchedRows.of(s, (rng.random(n) < expit(s + error)).astype(float))
    columns = [
        *columns_of_values("kind", kind),
        *(c for k, each in enumerate(x) for c in columns_of_values(f"x{k}", each)),
    ]
    part = rng.random(n) < 0.8
    first = Search(columns).found(rows)

    def both():
        of_part = Search([column.at(part) for column in columns]).found(rows.at(part), chance=first.chance)
        return [(*Search(columns).found(rows, chance=first.chance).groups, *of_part.groups)]

    few = both()
    monkeypatch.setattr(naming, "_PAIRS", 28)
    assert few == both()
    assert len(first.groups) >= 3


def test_shrunken_effects_are_most_likely_given_the_selection():
    """Far above the limit nothing is taken off; at it nearly all."""
    assert shrunk(12.0, 4.0) == pytest.approx(1, abs=0.01)
    assert shrunk(4.01, 4.0) < 0.2
    assert shrunk(-5.0, 4.0) == shrunk(5.0, 4.0)


@pytest.fixture(scope="module")
def drawn():
    """Rows with a planted group, and what is found in them."""
    y, p, table, _ = planted(seed=3)
    table["kind"] = np.where(np.arange(y.size) % 50 == 0, None, table["kind"])
    return y, p, up.find_groups(y, p, among=table, clusters=None)


@pytest.mark.slow
def test_residuals_add_up_to_the_rows_and_box_the_costliest_group(drawn):
    y, _, found = drawn
    [item], table_of = found.items, found.residuals
    n, mean = np.array(table_of.rows), np.array(table_of.means)
    assert n.sum() == y.size
    assert np.nansum(n * mean) == pytest.approx(0, abs=0.05 * y.size**0.5)  # a curve with a constant leaves none
    (left, right), (first, after) = table_of.group
    assert n[first:after, left:right].sum() == item.rows
    inside = np.average(mean[first:after, left:right], weights=n[first:after, left:right])
    assert inside == pytest.approx(item.observed - item.mean_recalibrated)
    assert item.observed_interval[0] < item.observed < item.observed_interval[1]
    sure = np.diff(item.observed_interval)[0], 2 * 1.96 * np.sqrt(item.observed * (1 - item.observed) / item.rows)
    assert sure[0] > 1.5 * sure[1]  # of all rules at once


@pytest.mark.parametrize(
    ("condition", "names", "own"),
    [
        (Condition("x", low=4.0), [*(f"from {at}" for at in range(5)), "missing"], (4, 5)),
        (Condition("x", missing=True), [*(f"from {at}" for at in range(5)), "missing"], (5, 6)),
        (Condition("k", values=("d", "b")), ["d", "b", "a", "c", "missing"], (0, 2)),
        (Condition("k", values=("a",), negated=True), ["missing", "b", "c", "d", "a"], (0, 4)),
    ],
)
def test_parts_of_a_condition_lie_side_by_side(condition, names, own):
    x = np.repeat([0.0, 1, 2, 3, 4, np.nan], 20)
    k = np.repeat(["a", "d", "c", "b", "a", None], 20)
    [column] = columns_of_values(condition.column, x if condition.column == "x" else label_array(k))
    found, part, group = column.parts(condition)
    assert (sorted(found), group) == (sorted(names), own)
    np.testing.assert_array_equal((part >= group[0]) & (part < group[1]), column.holds(condition))


def test_the_picture_and_the_page_show_what_was_predicted_and_observed(drawn):
    y, p, found = drawn
    forest, heat = found.plot(Figure()).axes
    rings, dots = (line for line in forest.lines if line.get_marker() == "o")
    np.testing.assert_allclose(rings.get_xdata(), [p.mean(), found.items[0].mean_predicted])
    np.testing.assert_allclose(dots.get_xdata(), [y.mean(), found.items[0].observed])
    assert [text.get_text() for text in forest.texts][:1] == ["all rows"]
    [box] = [patch for patch in heat.patches if not patch.get_fill()]
    (left, right), (first, after) = found.residuals.group
    assert (round(box.get_width()), round(box.get_height())) == (right - left, after - first)
    page = found.to_html()
    assert found.residuals.label == 1
    assert page.count('class="pt in"') == page.count('class="ol"') == 1
    noise = {"noise": np.random.default_rng(0).exponential(size=300)}
    none = up.find_groups(y[:300], p[:300], among=noise, clusters=None)
    assert not none
    assert len(none.plot(Figure()).axes) == 1
    thirds = np.arange(300) % 3
    with pytest.raises(up.InputError, match="nothing to draw"):
        up.find_groups(thirds, np.full((300, 3), 1 / 3), among=noise).plot(Figure())


def test_the_study_holds_size_power_and_coverage():
    """Its figures, each within three standard errors."""
    table = pl.read_csv(Path(__file__).parents[2] / "benchmarks" / "results" / "where.csv")
    size = table.filter(pl.col("jaccard").is_null() & ~pl.col("design").str.starts_with("gain"))
    assert (len(size), size["samples"].min()) == (22, 300)
    assert size["named"].mean() <= 0.055
    assert (size["named"] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / size["samples"])).all()
    found = table.filter(pl.col("jaccard").is_not_null())
    named = (found["named"] * found["samples"]).to_numpy()
    assert (found["covered"] >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / np.maximum(named, 1))).all()
    assert table.filter(pl.col("design") == "three groups, 10,000 rows")["named"].item() >= 11 / 12
    gain = table.filter(pl.col("design").str.starts_with("gain"))
    assert gain["smallest_gain"].min() > -0.001
    assert gain.filter(pl.col("groups") > 50)["covered"].min() >= 0.93


def test_columns_of_many_values_may_number_clusters_in_every_call():
    rng = np.random.default_rng(0)
    patient, log_odds = rng.integers(0, 150, 3000), rng.normal(size=3000)
    y = rng.random(3000) < expit(log_odds + 0.9 * rng.normal(size=150)[patient])
    among = {"patient": patient, "ward": patient // 15}
    found, assessed = up.find_groups(y, expit(log_odds), among=among), up.assess(y, expit(log_odds), among=among)
    assert found.n_clusters == assessed.groups_found.n_clusters == 150
    assert found.p_value == assessed.groups_found.p_value
    assert assessed.dependence.found.columns == ("patient",)
