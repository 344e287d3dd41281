"""Figures that are computed for all groups at once are those of each group by itself, however strange it is."""

import copy
import pickle

import numpy as np
import pytest

from unperplexed import Forecasts, InputError, Tallies, Tally, assess_by
from unperplexed.assessment import group_figures
from unperplexed.assessment.assess import assess_tally
from unperplexed.assessment.breakdown import broken_down
from unperplexed.assessment.group_figures import MOST_DIAGNOSED, AssessedGroups, GroupAssessment
from unperplexed.assessment.settings import AssessmentSettings
from unperplexed.tally import tallies as waiting

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")

PARTS = ("shards", "surprises")


def strange_groups(rng):
    """Probabilities and outcomes of groups of one row, of one value, separated, certain, wrong, tied, biased."""
    p = [rng.uniform(size=n) for n in (1, 2, 3, 30, 300, 900)]
    found = [(each, rng.uniform(size=each.size) < each) for each in p]
    found += [(np.full(n, 0.3), np.arange(n) % 3 == 0) for n in (1, 2, 60)]
    found += [(x := rng.uniform(size=80), x > 0.5), (x, x < 0.5), (x, np.ones(80)), (x, np.zeros(80))]
    found += [(np.repeat([0.0, 1.0], 20), np.repeat([0, 1], 20)), (np.repeat([0.0, 0.5, 1.0], 9), np.arange(27) % 2)]
    found += [(np.full(40, 0.5), rng.uniform(size=40) < 0.5), (np.full(50, 1e-9), np.zeros(50))]
    x = rng.uniform(0.05, 0.95, 600)
    found += [
        (x, rng.uniform(size=600) < x**2),
        (x.round(1), rng.uniform(size=600) < x),
        (x, rng.uniform(size=600) < 0.5),
    ]
    return [np.asarray(p) for p, _ in found], [np.asarray(y).astype(int) for _, y in found]


def same_as_each_alone(stream, alone, settings=None):
    """Compare a breakdown with the assessment of the tally of each group."""
    settings = settings or AssessmentSettings(resamples=0)
    result = broken_down(Tallies.count(stream, parts=PARTS), "group", False, settings)
    assert [group.key for group in result.groups] == [(key,) for key in alone]
    for group, tally in zip(result.groups, alone.values(), strict=True):
        a = assess_tally(tally, settings)
        single = GroupAssessment.of(group.key, tally, a.floor, a.limit, AssessedGroups({group.key: a}))
        names = ("weight", "effective_rows", "geometric_accuracy", "standard_error", "prediction_accuracy")
        for name in (*names, "n_rows", "small", "cost", "p_value"):
            exact = {"rel": 1e-12, "abs": 1e-15, "nan_ok": True}
            assert getattr(group, name) == pytest.approx(getattr(single, name), **exact), (group.key, name)
        assert group.assessment.diagnosis == single.assessment.diagnosis
    return result


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["weighted", "in parts", "clustered", "single precision"])
def test_figures_of_all_groups_at_once_are_those_of_each(kind, rng):
    p, y = strange_groups(rng)
    by = np.repeat(np.arange(len(p)), [x.size for x in p])
    p, y = np.concatenate(p), np.concatenate(y)
    p = p.astype(np.float32) if kind == "single precision" else p
    options = {"labels": [0, 1], "whole": False}
    order = rng.permutation(by.size)
    if kind == "weighted":
        options["sample_weight"] = rng.integers(0, 3, by.size) * 0.3
    if kind == "clustered":
        options["clusters"] = rng.integers(0, 60, by.size)

    def some(rows):
        own = {name: x[rows] if isinstance(x, np.ndarray) else x for name, x in options.items()}
        return Forecasts(y[rows], p[rows], **own)

    groups = [order[by[order] == group] for group in range(by.max() + 1)]
    alone = {group: Tally.count(some(rows), parts=PARTS) for group, rows in enumerate(groups)}
    alone = {group: tally for group, tally in alone.items() if tally.weight > 0}
    parts = np.array_split(order, 5 if kind == "in parts" else 1)
    same_as_each_alone([(some(rows), by[rows]) for rows in parts], alone)


@pytest.mark.slow
def test_rows_that_are_in_several_groups_count_in_each(rng):
    y, p, by = rng.integers(0, 2, 50), rng.uniform(size=50), rng.integers(0, 4, 300)
    p[3] = np.nan
    resampled = Forecasts(y, p, labels=[0, 1], invalid="drop", whole=False)[rng.integers(0, 50, 300)]
    alone = {g: Tally.count(resampled[np.flatnonzero(by == g)], parts=PARTS) for g in range(4)}
    same_as_each_alone([(resampled, by)], alone)


@pytest.mark.slow
def test_figures_with_more_classes_and_a_ceiling(rng):
    p = rng.dirichlet([1, 1, 1], 400).round(1)
    p /= p.sum(axis=1, keepdims=True)
    y, by = rng.integers(0, 3, 400), rng.integers(0, 9, 400)
    alone = {g: Tally.of(y[by == g], p[by == g], parts=PARTS) for g in range(9)}
    settings = AssessmentSettings(floor=(0.02, 0.98), resamples=0)
    same_as_each_alone([(Forecasts(y, p, whole=False), by)], alone, settings)


def test_a_group_with_an_outcome_of_probability_zero_has_an_accuracy_of_zero():
    result = assess_by([1, 0, 1, 0], [0.0, 0.2, 0.7, 0.3], by=[1, 1, 2, 2], floor=0, labels=[0, 1])
    assert [group.geometric_accuracy for group in result.groups] == pytest.approx([0.0, 0.7])
    assert np.isnan(result.groups[0].standard_error)


@pytest.mark.slow
def test_rows_wait_or_are_counted_and_the_tallies_are_the_same(rng, monkeypatch):
    """Groups that are counted at once, whose rows wait to the end, and that are counted in between."""
    y, p, by = rng.integers(0, 2, 600), rng.uniform(size=600).round(2), (rng.pareto(1, 600) * 3).astype(int) % 40
    p[7], at = np.nan, np.arange(600)
    settings = {"labels": [0, 1], "invalid": "drop", "source": "a", "whole": False}
    parts = ["surprises", "shards"]

    def read(rows):  # keeps the numbers of the rows
        return Forecasts(y, p, **settings)[rows]

    expected = {(group,): Tally.count(read(at[by == group]), parts=parts) for group in np.unique(by).tolist()}
    for at_once, rows_waiting in ((4096, 1 << 22), (20, 1 << 22), (20, 40), (1, 40)):
        monkeypatch.setattr(waiting, "AT_ONCE", at_once)
        monkeypatch.setattr(waiting, "_WAITING", rows_waiting)
        monkeypatch.setattr(waiting, "_WAITING_EACH", 1)
        found = Tallies.count(((read(rows), by[rows]) for rows in np.array_split(at, 6)), parts=parts)
        assert found.whole() == Tally.count(read(at), parts=parts)
        assert dict(found) == expected


@pytest.mark.slow
def test_copies_and_unpickled_groups_are_not_assessed_and_say_the_same(rng, monkeypatch):
    p, by = rng.uniform(size=900), np.arange(900) % 3
    y = rng.uniform(size=900) < np.where(by == 1, p**3, p)
    result = assess_by(y, p, by=by, resamples=0, clusters=None)
    pickle.dumps(result.whole)  # all rows are diagnosed
    with monkeypatch.context() as patch:
        patch.setattr(group_figures, "assess_tally", None)
        patch.setattr(group_figures, "diagnosis_of_tally", None)
        again = pickle.loads(pickle.dumps(result))
        assert again == result == copy.deepcopy(result)
    assert again != assess_by(y, np.where(by == 2, 0.5, p), by=by, resamples=0, clusters=None)
    assert again.frame().equals(result.frame())
    unpickled = assess_by(pickle.loads(pickle.dumps(Tallies.of(y, p, by=by, parts=["surprises"]))), resamples=0)
    assert unpickled.groups == result.groups
    for one, other in zip(unpickled.groups, result.groups, strict=True):
        assert (one.cost, one.p_value) == pytest.approx((other.cost, other.p_value), rel=1e-12)


@pytest.mark.slow
def test_rows_are_left_behind_once_they_have_told_the_diagnosis(rng):
    p = rng.dirichlet(np.ones(3), 600)
    result = assess_by(rng.integers(0, 3, 600), p, by=np.arange(600) % 2, resamples=0)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    p[:] = 1 / 3
    assert [group.diagnosis.errors for group in again.groups] == [("confidence",)] * 2
    assert again.remedies.keys() == {(0,), (1,)}


def test_arrays_that_change_later_do_not_change_groups(rng):
    y, p, by = rng.integers(0, 2, 90), rng.uniform(size=90), np.repeat([1, 2], 45)
    expected = assess_by(y, p.copy(), by=by, resamples=0)[1]
    result = assess_by(y, p, by=by, resamples=0)
    p[:] = 0.5
    assert result[1] == expected


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(5)
    p = rng.uniform(size=60_000)
    return assess_by((rng.uniform(size=p.size) < p).astype(int), p, by=np.arange(p.size) % 20_000, clusters=None)


@pytest.mark.slow
def test_twenty_thousand_groups_are_answered_without_a_diagnosis_of_each(many):
    assert len(many) == 20_000
    text = many.to_text()
    assert "No group is diagnosed by itself, as there are more than 1,000" in " ".join(text.split())
    assert "... and 19,981 more" in text
    assert "cost" not in text.split("all rows")[0].split("20,000 groups")[1]
    accuracies = [(group.small, group.geometric_accuracy) for group in many.groups]
    assert accuracies == sorted(accuracies)
    assert many.drivers == ""
    assert many.cost_shares == {}
    assert many[17].diagnosis.made


@pytest.mark.slow
def test_json_and_frame_of_so_many_groups_have_their_headline(many):
    plain, frame = many.to_dict(), many.frame()
    assert len(plain["groups"]) == frame.height == 20_000
    assert plain["groups"][0] == {
        "key": {"group": many.groups[0].key[0]},
        "n_rows": 3,
        "effective_rows": 3.0,
        "small": True,
        "geometric_accuracy_standard_error": many.groups[0].standard_error,
        "reported_geometric_accuracy": many.groups[0].geometric_accuracy,
        "prediction_accuracy": many.groups[0].prediction_accuracy,
    }


def test_so_many_groups_are_not_sorted_by_a_cost_that_is_not_found():
    n = MOST_DIAGNOSED + 1
    with pytest.raises(InputError, match=r"sort \(--sort\): the cost is found for up to 1,000 groups, here 1,001"):
        assess_by(np.arange(n) % 2, np.full(n, 0.4), by=np.arange(n), sort="cost")


def test_rows_that_changed_after_they_were_counted_are_refused():
    rng = np.random.default_rng(70)
    p = rng.dirichlet(np.ones(3), 200)
    found = assess_by(rng.integers(0, 3, 200), p, by=np.arange(200) % 2, resamples=0)
    p[:] = 1 / 3
    with pytest.raises(InputError, match="the array was changed after it was assessed"):
        str(found)
