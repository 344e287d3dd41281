"""Histories of predictive distributions in their files, and what tells groups apart."""

import json
import math

import numpy as np
import pytest

from unperplexed import Distribution, InputError
from unperplexed.monitoring.distribution_history import history_of_distributions
from unperplexed.monitoring.history import History, by_period, in_periods, in_time
from unperplexed.monitoring.pit_counts import PitCounts
from unperplexed.monitoring.watch import _impossible, _wrong


@pytest.fixture(scope="module")
def history():
    rng = np.random.default_rng(3)
    mean = np.round(rng.normal(0, 2, 60), 2)
    given = Distribution("normal", mean=mean, sd=np.ones(60))
    return history_of_distributions(np.round(mean + rng.normal(0, 1, 60), 3), given, np.arange(60) // 20, None, {})


def test_histories_of_distributions_are_kept_whole(history, tmp_path):
    history.save(tmp_path / "h.json")
    assert History.load(tmp_path / "h.json") == history
    assert history.names == ("0", "1", "2")
    assert history.n_rows == 60
    assert history.labels == ()
    assert history.clustered
    with pytest.raises(InputError, match="it is for probabilities of classes"):
        history.without_outcomes()


def _first(found):
    return found["periods"][0]["groups"][""][0]


SPOILED = {
    "low above high": (lambda d: _first(d)["low"].__setitem__(0, 9.0), "counts"),
    "nothing counted": (lambda d: _first(d)["total"].__setitem__(0, 0.0), "counts"),
    "another column": (lambda d: _first(d).update(x=1), "counts"),
    "shorter": (lambda d: _first(d)["high"].pop(), "counts"),
    "information of three": (lambda d: _first(d)["information"].pop(), "information"),
    "information in rows of three": (lambda d: _first(d)["information"][1].pop(), "information"),
    "no information": (lambda d: _first(d).update(information=3), "counts"),
    "ahead by 0": (lambda d: _first(d).update(ahead=0), "ahead"),
    "ahead by a half": (lambda d: _first(d).update(ahead=1.5), "ahead"),
    "labels": (lambda d: d.update(labels=[0, 1]), "counts"),
    "events of two": (lambda d: d["periods"][0]["groups"][""].append(_first(d)), "events"),
    "names twice": (lambda d: d["periods"][1].update(name="0"), "names of periods"),
    "no text": (lambda d: d["periods"][1].update(name=3), "periods"),
    "more of a period": (lambda d: d["periods"][1].update(x=3), "periods"),
    "groups": (lambda d: d["periods"][1].update(groups=[]), "groups"),
    "no counts": (lambda d: d["periods"][1]["groups"].update({"": [3]}), "counts"),
    "a group and none": (lambda d: d["periods"][1].update(groups={"s": d["periods"][1]["groups"][""]}), "events"),
    "version": (lambda d: d.update(version=3), "has version 3; this version of unperplexed reads 1 and 2"),
    "format": (lambda d: d.update(format="x"), "not a history: it has no"),
    "outcomes": (lambda d: d.update(outcomes=1), "periods"),
    "tags": (lambda d: d.update(tags={"names": 3}), "tags"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_spoiled_histories_are_refused(history, tmp_path, what):
    spoil, says = SPOILED[what]
    found = json.loads(history.to_bytes())
    spoil(found)
    (tmp_path / "h.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match=says):
        History.load(tmp_path / "h.json")


def test_periods_are_put_in_the_order_of_time():
    assert [name for (name,) in in_time([("2026-10",), ("2026-9",), ("2026-2",)])] == ["2026-2", "2026-9", "2026-10"]
    assert [name for (name,) in in_time([("10",), ("9",)])] == ["9", "10"]
    assert in_time([("March",)]) == [("March",)]
    with pytest.raises(InputError, match="the order of periods such as 'March' is not known"):
        in_time([("March",), ("April",)])
    found = by_period({("a", "x", None): 1, ("a", "y", ""): 2, ("b", "x", 3): 4})
    assert found == {"a": {"x, (none)": 1, "y, (none)": 2}, "b": {"x, 3": 4}}
    assert by_period({"a": 1, "b": 2}) == {"a": {"": 1}, "b": {"": 2}}
    with pytest.raises(InputError, match="two groups have the same name, 'x, [(]none[)]'"):
        by_period({("a", "x", None): 1, ("a", "x", ""): 2})
    with pytest.raises(InputError, match="time: some rows have no period"):
        by_period({(None, "x"): 1})
    with pytest.raises(InputError, match="time: missing"):
        in_periods(None, None)
    assert [*in_periods([1], None)] == ["time"]


def pit(low, high, total, wrong=0.0, ahead=1):
    return PitCounts(np.array(low), np.array(high), np.array(total, float), np.eye(4) * sum(total), wrong, ahead)


def test_counts_of_distributions_add_up():
    one, two = pit([-1.0, 0.0], [0.0, 1.0], [3, 4], 2.0), pit([-0.5], [0.5], [5], 1.0, 3)
    both = PitCounts.together([one, two])
    assert (both.rows, both.certain_and_wrong, both.ahead) == (15, 3, 3)
    assert both.low.tolist() == [-1.0, 0.0, -0.5]
    np.testing.assert_array_equal(both.information, np.eye(4) * 12)
    assert one.same(one)
    assert not one.same(two)
    assert not one.same(one._replace(certain_and_wrong=1.0))
    middle = one.log_chance_of_same()
    p = 0.3413447460685429  # of one cell: the other has the rest
    assert middle == pytest.approx(-0.5 * math.log1p(4 * 9 * p * (1 - p)))


def test_impossible_outcomes_are_counted_by_period_and_group():
    right, wrong = pit([0.0], [1.0], [5]), pit([0.0], [1.0], [5], 2.0)
    assert _wrong([None, (right,), (wrong, right)]) == [0.0, 0.0, 2.0]
    groups = [
        type("S", (), {"group": "s", "events": [(right,), (wrong,), (wrong,)]}),
        type("S", (), {"group": "t", "events": [None, (wrong._replace(certain_and_wrong=7.0),), None]}),
        type("S", (), {"group": "u", "events": [(right,), None, None]}),
    ]
    found = _impossible(("a", "b", "c"), [(right,), (wrong,), (wrong,)], groups)
    assert (found.period, found.rows, found.groups) == ("b", 4, ("t", "s"))
    assert _impossible(("a",), [(right,)], groups[2:]) is None
    assert not math.isnan(found.rows)
