"""Rows at a few log-odds: sums over them are those over the rows, and figures are those of `assess`."""

import json
import re

import numpy as np
import pytest
from scipy.special import expit, log_expit

from unperplexed import InputError, Tally, assess, monitor
from unperplexed.monitoring.nodes import Nodes
from unperplexed.results import History


def rows(seed, n, slope=1.5, centre=0.0):
    rng = np.random.default_rng(seed)
    s = rng.normal(centre, 1.5, n)
    return (rng.random(n) < expit(s)).astype(int), expit(slope * s + 0.3)


def log_loss_of(nodes):
    with np.errstate(invalid="ignore"):
        against = (nodes.positive, nodes.s), (nodes.total - nodes.positive, -nodes.s)
        return -sum(np.nansum(x * log_expit(s)) for x, s in against) / nodes.rows


def nodes_of(y, p):
    return Nodes.of(np.log(p) - np.log1p(-p), np.ones(y.size), y.astype(float))


def test_few_rows_are_kept_as_they_are_with_those_of_exactly_0_and_1():
    found = Nodes.of(np.array([-np.inf, 0.3, 0.3, np.inf]), np.ones(4), np.array([0.0, 1, 0, 1]))
    np.testing.assert_array_equal(found.s, [-np.inf, 0.3, np.inf])
    np.testing.assert_array_equal(found.total, [1, 2, 1])
    np.testing.assert_array_equal(found.positive, [0, 1, 1])
    assert log_loss_of(found) == pytest.approx((np.log1p(np.exp(-0.3)) + np.log1p(np.exp(0.3))) / 4)
    assert found.frequency == 0.5


@pytest.mark.parametrize("centre", [0.0, -4.0, 6.0])
def test_sums_of_polynomials_and_smooth_functions_are_those_of_the_rows(centre):
    y, p = rows(1, 20_000, centre=centre)
    s, found = np.log(p) - np.log1p(-p), nodes_of(y, p)
    assert found.s.size < 250
    for degree in range(8):
        assert found.total @ found.s**degree == pytest.approx(np.sum(s**degree), rel=1e-7)
    for degree in range(4):
        assert found.positive @ found.s**degree == pytest.approx(y @ s**degree, rel=1e-7)
    assert log_loss_of(found) == pytest.approx(assess(y, p).scores["log_loss"], rel=1e-7)
    assert found.mean == pytest.approx(p.mean(), rel=1e-7)


def test_parts_are_the_whole():
    y, p = rows(2, 4_000)
    parts = Nodes.together([nodes_of(y[at : at + 500], p[at : at + 500]) for at in range(0, 4_000, 500)])
    again = Nodes.of(*parts)
    assert again.s.size < parts.s.size / 4
    for degree in range(4):
        assert again.positive @ again.s**degree == pytest.approx(nodes_of(y, p).positive @ nodes_of(y, p).s ** degree)


def test_values_that_hardly_differ_do_not_spoil_a_cell():
    s = np.concatenate([0.2 + 2e-9 * np.arange(60), np.linspace(0.01, 0.49, 60)])
    found = Nodes.of(s, np.ones(120), np.tile([0.0, 1], 60))
    assert np.isfinite(found.s).all()
    assert found.total.sum() == pytest.approx(120)
    assert found.positive @ found.s == pytest.approx(s[1::2].sum())


@pytest.mark.slow
@pytest.mark.parametrize("n", [90, 400, 5_000])
def test_an_alarm_has_the_figures_that_assess_gives_of_the_rows_since(n):
    y, p = rows(3, 12 * n)
    time = np.repeat(np.arange(12), n)
    history = History.of({f"d{at}": Tally.of(y[time == at], p[time == at]) for at in range(12)})
    alarm = monitor(history).alarm
    some = (time >= int(alarm.began[1:])) & (time <= int(alarm.until[1:]))
    whole = assess(y[some], p[some], reference="base-rate")
    d, since = whole.diagnosis, alarm.since
    [skill] = whole.skill.whole.scores.values()
    assert since.log_loss == pytest.approx(whole.scores["log_loss"], rel=1e-7)
    assert since.skill == pytest.approx(skill["log_loss"].skill, rel=1e-7)
    assert since.slope == pytest.approx(d.slope.value, rel=1e-6)
    assert since.bias == pytest.approx(d.intercept.value, abs=1e-6)
    assert since.slope_interval == pytest.approx(d.slope.interval, abs=1e-4)
    assert alarm.diagnosis.cost == pytest.approx(d.cost, rel=1e-3)
    assert [each.error for each in alarm.diagnosis.findings] == [each.error for each in d.findings]


def as_of_version_1(history, periods):
    """The plain values that an earlier version wrote of the first periods."""
    data = history.to_dict() | {"version": 1}
    data["periods"] = data["periods"][:periods]
    for period in data["periods"]:
        for event in (event for events in period["groups"].values() for event in events):
            event.pop("nodes")
            event.pop("scores", None)
    return data


@pytest.mark.parametrize("classes", [2, 3])
def test_an_old_history_is_read_and_its_figures_are_called_approximate(tmp_path, classes):
    rng, tallies = np.random.default_rng(5), {}
    for at in range(6):
        p = rng.dirichlet(np.ones(classes), 300)
        y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
        tallies[f"d{at}"] = Tally.of(y, p, parts=["classes"])
    new = History.of(tallies)
    (tmp_path / "old.json").write_text(json.dumps(as_of_version_1(new, 3)))
    mixed = History.load(tmp_path / "old.json").then(new)
    mixed.save(tmp_path / "mixed.json")
    assert History.load(tmp_path / "mixed.json") == mixed
    exact, found = monitor(new), monitor(mixed)
    assert [each.by for each in found.control] == ["cells"] * 3 + ["rows"] * 3
    assert found.control[3:] == exact.control[3:]
    np.testing.assert_array_equal(found.log_evidence, exact.log_evidence)
    for one, other in zip(found.control, exact.control, strict=True):
        assert one.slope == pytest.approx(other.slope, abs=0.05)
    assert [np.isnan([each.log_loss, each.skill]).all() for each in found.control] == [True] * 3 + [False] * 3
    [warning] = found.to_dict()["warnings"]
    assert "figures are from cells, approximate" in warning
    assert "log loss and skill are not known" in warning
    for shown in (str(found), re.sub("<[^>]+>", "", found.to_html())):
        assert warning[1:] in " ".join(shown.split())
    assert exact.to_dict()["warnings"] == []
    assert "approximate" not in str(exact)


@pytest.mark.parametrize("classes", [2, 3])
def test_no_figure_of_an_old_history_differs_from_that_of_the_rows_under_the_same_name(tmp_path, classes):
    rng, tallies = np.random.default_rng(7), {}
    for at in range(8):
        p = rng.dirichlet(np.ones(classes), 300)
        y = np.where(rng.random(300) < 0.6 * (at > 3), 0, (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1))
        tallies[f"d{at}"] = Tally.of(y, p, parts=["classes"])
    (tmp_path / "old.json").write_text(json.dumps(as_of_version_1(History.of(tallies), 8)))
    found = monitor(History.load(tmp_path / "old.json"), require="accuracy > 0.1")
    points = [*found.control, found.alarm.before, found.alarm.since]
    assert np.isnan([[each.log_loss, each.skill] for each in points]).all()
    assert np.isnan(found.kept[0].value)
    assert "log loss" not in found.to_text().split("Over time")[0].lower()
    assert np.isnan(found.frame()["log_loss"].to_numpy()).all()
    assert "Skill" in found.to_html()


@pytest.mark.parametrize(
    "change", [{"total": [-1.0]}, {"s": ["NaN"]}, {"s": "text"}, {"positive": []}, {"total": [7.0]}]
)
def test_damaged_nodes_are_refused(tmp_path, change):
    data = History.of({"d": Tally.of([1], [0.3])}).to_dict()
    [event] = data["periods"][0]["groups"][""]
    event["nodes"] |= change
    (tmp_path / "h.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="(nodes|counts) cannot be right"):
        History.load(tmp_path / "h.json")


def test_a_period_takes_some_kilobytes_however_many_rows_it_had():
    for n in (100, 10_000, 100_000):
        assert len(History.of({"d": Tally.of(*rows(6, n))}).to_bytes()) < 20_000
