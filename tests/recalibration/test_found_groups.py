"""Corrections of groups that were found: what they add, to which rows, on fresh rows, and files that are refused."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit, softmax

from unperplexed import InputError, Recalibrator, find_groups
from unperplexed.calibration.where.conditions import Condition, columns_of_values
from unperplexed.calibration.where.naming import Correction, Search
from unperplexed.calibration.where.rules import SearchedRows
from unperplexed.forecasts.labels import label_array
from unperplexed.results import FoundGroupRecalibrator


def planted(seed, n=2000):
    """Rows of which those with ``x >= 0.5`` are biased and those of kind d have too steep forecasts."""
    rng = np.random.default_rng(seed)
    table = {"x": rng.normal(size=n), "kind": rng.choice(list("abcd"), n)}
    s = rng.normal(0, 1.5, n)
    y = rng.random(n) < expit(0.3 + np.where(table["kind"] == "d", 0.4, 1) * s + (table["x"] >= 0.5))
    return y, expit(s), table


@pytest.fixture(scope="module")
def corrected():
    y, p, table = planted(20)
    found = find_groups(y, p, among=table)
    return found, found.recalibrator()


def test_shrunken_effects_are_added_between_two_maps(corrected):
    found, made = corrected
    assert {item.error for item in found.items} == {"bias", "confidence"}
    _, p, table = planted(1, 400)
    s, added = logit(p), np.zeros(400)
    for item, group in zip(found.items, made.groups, strict=True):
        inside = table["x"] >= item.conditions[0].low if item.error == "bias" else table["kind"] == "d"
        slope = item.effect_shrunken * (item.error == "confidence")
        bias = group.bias if slope else item.effect_shrunken
        added += inside * (bias + slope * (s - group.about))
    expected = made.after_.transform(expit(logit(made.shared_.transform(p)) + added))
    np.testing.assert_allclose(made.transform(p, among=table), expected, rtol=1e-9)
    two = made.transform(np.stack([1 - p, p], axis=1), among=pl.DataFrame(table))
    np.testing.assert_allclose(two, np.stack([1 - expected, expected], axis=1), rtol=1e-9)


@pytest.mark.slow
def test_groups_are_not_found_again_on_fresh_rows(corrected):
    """In most of 4 samples; without the correction they are found in all, and the log loss falls."""
    again, gains = 0, []
    for seed in range(2, 6):
        y, p, table = planted(seed)
        q = corrected[1].transform(p, among=table)
        gains.append(np.mean(np.log(np.where(y, q, 1 - q)) - np.log(np.where(y, p, 1 - p))))
        columns = [column for name, values in table.items() for column in columns_of_values(name, values)]
        again += bool(Search(columns).found(SearchedRows.of(logit(q), y.astype(float))).groups)
    assert again <= 1
    assert min(gains) > 0


@pytest.mark.slow
def test_without_groups_there_is_one_map():
    rng = np.random.default_rng(1)
    p, x = rng.uniform(0.1, 0.9, 400), rng.normal(size=400)
    y = rng.random(400) < p
    found = find_groups(y, p, among={"x": x})
    assert not found
    made = found.recalibrator()
    np.testing.assert_allclose(made.transform(p, among={}), Recalibrator().fit(y, p).transform(p), rtol=1e-12)
    assert made.gain_ is None


@pytest.mark.slow
def test_conditions_hold_in_new_rows_as_in_the_rows_searched():
    rng = np.random.default_rng(2)
    n = 300
    day = np.datetime64("2023-01-01") + rng.integers(0, 730, n)
    table = {
        "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "text": rng.choice(["a", "b", "c", "d", ""], n),
        "true": rng.random(n) < 0.3,
        "day": day,
        "written": [None if gap else str(each) for gap, each in zip(rng.random(n) < 0.1, day, strict=True)],
    }
    asked = 0
    for name, values in table.items():
        given = label_array(values)
        for column in columns_of_values(name, given):
            for condition in column.conditions[1:]:
                np.testing.assert_array_equal(condition.met_by(given), column.holds(condition), err_msg=condition.text)
                np.testing.assert_array_equal(condition.met_by(given[:7]), column.holds(condition)[:7])
                asked += 1
    assert asked > 200


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        (Condition("k", values=("a", "b")), [True, False, False]),
        (Condition("k", values=("a",), negated=True), [False, True, True]),
        (Condition("k", missing=True), [False, False, True]),
    ],
)
def test_unseen_and_missing_categories_meet_no_condition_but_is_not_and_missing(condition, met):
    assert condition.met_by(np.array(["a", "new", None], dtype=object)).tolist() == met
    assert Condition("k", values=("true",)).met_by(np.array(["True", "false", "true"])).tolist() == [True, False, True]
    assert Condition("x", low=1.0).met_by(np.array([1.0, np.nan, -np.inf])).tolist() == [True, False, False]


def test_the_most_probable_class_is_corrected_where_it_is_asked_for():
    log_p = np.log(softmax(np.random.default_rng(3).normal(size=(50, 3)), axis=1))
    y = log_p.argmax(axis=1)
    group = Correction((Condition("predicted class", values=("2",)),), None, 1.0, 0.0, 0.0)
    same = Recalibrator("identity").fit(y, np.exp(log_p))
    made = FoundGroupRecalibrator([group], same, same)
    assert made.among_ == ()
    expected = softmax(log_p + np.eye(3)[2] * (y == 2)[:, None], axis=1)
    np.testing.assert_allclose(made.transform(np.exp(log_p), among={}), expected, rtol=1e-9)


def test_saved_and_loaded_they_are_the_same(corrected, tmp_path):
    _, made = corrected
    made.save(tmp_path / "groups.json")
    loaded = FoundGroupRecalibrator.load(tmp_path / "groups.json")
    _, p, table = planted(1, 100)
    np.testing.assert_array_equal(loaded.transform(p, among=table), made.transform(p, among=table))
    assert (str(loaded), loaded.rules_, loaded.gain_) == (str(made), made.rules_, made.gain_)


DAMAGE = [
    (lambda d: d["groups"][0].pop("bias"), "groups"),
    (lambda d: d["groups"][0].update(label="x"), "the class of a group"),
    (lambda d: d["groups"][0].update(about="0"), "about"),
    (lambda d: d["groups"][0]["conditions"][0].update(values="d"), "values"),
    (lambda d: d["groups"][0]["conditions"][0].update(part="moon"), "conditions"),
    (lambda d: d["groups"][0]["conditions"][0].update(low=None, high=None, values=[], missing=False), "conditions"),
    (lambda d: d.pop("gain"), "missing or unknown keys: gain"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGE)
def test_damaged_files_are_refused(corrected, damage, said):
    data = json.loads(json.dumps(corrected[1].to_dict()))
    damage(data)
    with pytest.raises(InputError, match=said):
        FoundGroupRecalibrator.from_dict(data)


def test_columns_that_do_not_fit_are_refused(corrected):
    _, p, table = planted(1, 100)
    for among, said in (
        ({"y": p}, "among: no column '(x', 'kind|kind', 'x)', which the groups found ask for"),
        ({**table, "x": table["x"][1:]}, r"column 'x' has shape \(99,\), the forecasts 100 rows"),
        ({**table, "x": ["much"] * 100}, "column 'x' holds 'much', where the groups found ask for numbers"),
    ):
        with pytest.raises(InputError, match=said):
            corrected[1].transform(p, among=among)
