"""Figures of watches, gates and drifts as a whole, beside what is stored; and what histories and gates refuse."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from kept import same_as_kept, written
from unperplexed import Distribution, InputError, Quantiles, Tallies, Tally, assess, check, drift, monitor
from unperplexed.monitoring.alarms import last_alarm, named_groups, together
from unperplexed.monitoring.event_counts import EventCounts, Scores, kept
from unperplexed.monitoring.gate import checked
from unperplexed.monitoring.measures import as_of_first_size
from unperplexed.monitoring.requirements import Requirement, scoring_rules
from unperplexed.results import History, Predictions
from unperplexed.tally.tables import Pairs

KEPT = Path(__file__).with_name("results.json")


def rows(seed, periods=14, n=60, broke=7, bias=0.0, slope=1.0, over=99, certain=False):
    """Outcomes, probabilities and periods; an error begins in one period and is over in another."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(periods), n)
    z = np.round(rng.normal(0, 1.3, day.size), 2)
    wrong = (day >= broke) & (day < over)
    y = (rng.random(day.size) < expit(np.where(wrong, slope * z + bias, z))).astype(int)
    p = expit(z)
    if certain:
        p[3 :: n + 1] = 1.0
    return y, p, day


def classes(seed, periods=10, n=60, sharp=2.5):
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(periods), n)
    z = np.round(rng.normal(0, 1.2, (day.size, 3)), 2)
    y = (softmax(z, axis=1).cumsum(axis=1) < rng.random((day.size, 1))).sum(axis=1).clip(max=2)
    return y, softmax(np.where((day >= periods // 2)[:, None], sharp, 1.0) * z, axis=1), day


def numbers(seed, periods=14, n=30, bias=0.0, width=1.0):
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(periods), n)
    mean = np.round(rng.normal(0, 2, day.size), 2)
    wrong = day >= periods // 2
    y = np.round(mean + np.where(wrong, bias + width * rng.normal(0, 1, day.size), rng.normal(0, 1, day.size)), 3)
    return y, mean, day


def by_day(found, **options):
    y, p, day = found
    return monitor(y, p, time=day, **options)


def of_numbers(found, form="normal", **options):
    y, mean, day = found
    if form == "quantiles":
        given = Quantiles([0.1, 0.5, 0.9], mean[:, None] + np.array([-1.28, 0.0, 1.28]))
    else:
        given = Distribution("normal", mean=mean, sd=np.ones(mean.size))
    return monitor(y, given, time=day, **options)


def steps_ahead(seed):
    y, mean, day = numbers(seed, periods=20, n=6, bias=1.5)
    given = Distribution("normal", mean=mean, sd=np.ones(mean.size))
    return monitor(y, given, time=day, issued=day, target_date=day + 1 + np.arange(day.size) % 3)


SITE = {"site": np.arange(840) % 3}
WATCHES = {
    "calm": lambda: by_day(rows(1)),
    "calm, by rows": lambda: by_day(rows(1), clusters="none"),
    "bias": lambda: by_day(rows(2, bias=1.0)),
    "bias, by rows": lambda: by_day(rows(2, bias=0.8), clusters="none", confidence=0.99),
    "slope": lambda: by_day(rows(3, slope=0.2, bias=0.1)),
    "over": lambda: by_day(rows(4, periods=24, bias=-1.3, broke=6, over=12), clusters="none"),
    "twice": lambda: by_day(rows(5, periods=30, bias=1.5, broke=4, over=8), restart="2"),
    "from the first on": lambda: by_day(rows(6, bias=0.9, broke=0), require=["log_loss < 0.5", "accuracy > 0.3"]),
    "certain": lambda: by_day(rows(7, certain=True), require="brier_score <= 0.3"),
    "groups": lambda: by_day(rows(8, bias=1.2), by=SITE),
    "group": lambda: monitor(
        np.where(SITE["site"] == 1, rows(9, bias=2.0)[0], rows(9)[0]), rows(9)[1], time=rows(9)[2], by=SITE
    ),
    "many periods": lambda: by_day(rows(10, periods=41, n=8, bias=1.0, broke=30)),
    "three classes": lambda: by_day(classes(11), require="accuracy > 0.7"),
    "three classes, by rows": lambda: by_day(classes(12, sharp=0.3), clusters="none"),
    "numbers": lambda: of_numbers(numbers(13, bias=1.0)),
    "numbers, wide": lambda: of_numbers(numbers(14, width=0.4), clusters="none"),
    "numbers, calm": lambda: of_numbers(numbers(15), by={"site": np.arange(420) % 2}),
    "quantiles": lambda: of_numbers(numbers(16, width=2.5), "quantiles"),
    "steps ahead": lambda: steps_ahead(17),
}


@pytest.mark.parametrize("name", WATCHES)
def test_watches(name):
    found = WATCHES[name]()
    parts = [
        replace(found, named={}),
        _columns(found.control),
        {name: _columns(of.control) for name, of in found.named.items()},
    ]
    same_as_kept(KEPT, f"watch-{name}", "\n".join([*map(written, parts), ""]))


def _columns(control):
    """Control points as columns."""
    return {each.name: np.array([getattr(point, each.name) for point in control]) for each in fields(control[0])}


def predictions(seed, move=0.0, spread=1.0, sure=0, periods=16, n=80, sizes=None):
    rng = np.random.default_rng(seed)
    found = {}
    for at in range(periods):
        size = n if sizes is None else sizes[at % len(sizes)]
        late = at >= periods // 2
        q = expit(np.round(rng.normal(move * late, spread if late else 1.0, size), 2))
        q[: sure * late] = 1.0
        found[f"d{at:02}"] = Predictions.of(q)
    return found


def grouped_predictions():
    rng = np.random.default_rng(31)
    site, day = np.arange(1600) % 2, np.arange(1600) // 100
    return drift(expit(rng.normal(1.2 * ((day > 8) & (site == 0)), 1, 1600)), time=day, by={"site": site})


DRIFTS = {
    "none": lambda: drift(predictions(21)),
    "mean": lambda: drift(predictions(22, move=0.8)),
    "spread": lambda: drift(predictions(23, spread=2.5)),
    "sure": lambda: drift(predictions(24, sure=25)),
    "few": lambda: drift(predictions(25, periods=4)),
    "sizes": lambda: drift(predictions(26, move=0.8, sizes=(50, 120, 80))),
    "restart": lambda: drift(predictions(27, move=-1.0), restart="d03", confidence=0.9),
    "groups": grouped_predictions,
    "classes": lambda: drift(classes(28, periods=12)[1], time=classes(28, periods=12)[2]),
}


def test_drifts():
    shown = [f"# {name}\n{written(make())}" for name, make in DRIFTS.items()]
    same_as_kept(KEPT, "drift-figures", "\n\n".join([*shown, ""]))


def few(seed, n=120, **more):
    y, p, _ = rows(seed, periods=1, n=n, broke=0, **more)
    return y, p


def three(seed):
    y, p, _ = classes(seed, periods=2, n=120)
    return y, p


METRICS = ("log_loss", "brier_score", "half_brier_score", "auc", "slope", "intercept", "ece", "accuracy")
ENDS = [f"{name} > 0.5" for name in METRICS] + [f"{name}.upper < 0.5" for name in METRICS]
GATES = {
    "all": lambda: check(
        *few(41), require=[*ENDS, "rows >= 120", "bias.lower < 0", "cost < 0.1", "effective_rows > 120"]
    ),
    "points": lambda: check(*few(42), require=[*ENDS[:8], "verdict in (none, biased)"], confidence=None),
    "level": lambda: check(*few(43, bias=0.8), require=["verdict in (none)", "intercept < 0.2"], confidence=0.99),
    "small": lambda: check(*few(44, n=600, bias=0.4), require=["verdict not in (biased)", "rows > 1"], min_effect=0.1),
    "not small": lambda: check(*few(44, n=600, bias=0.4), require="verdict in (none)", min_effect=0.001),
    "two errors": lambda: check(
        *few(45, slope=0.3, bias=1.0), require=["verdict in (biased)", "verdict in (overconfident, biased)"]
    ),
    "three": lambda: check(
        *three(46), require=["verdict not in (overconfident)", "accuracy > 0.4", "geometric_accuracy > 0.3"]
    ),
    "earlier": lambda: check(
        *few(47), earlier=few(47)[1] ** 1.1, require=["change.log_loss <= 0", "change.brier_score < -0.1"]
    ),
    "at any time": lambda: check(
        *few(48),
        earlier=few(48)[1] ** 2,
        require=["change.log_loss > 0.2", "change.brier_score < 0.1", "rows > 130"],
        anytime=True,
    ),
    "samples": lambda: check(
        assess(*few(49), resamples=0), earlier=Tally.of(*few(50)), require="change.log_loss < 0.01"
    ),
    "samples at any time": lambda: check(
        Tally.of(*few(51)),
        earlier=Tally.of(*few(52, bias=2.0)),
        require=["change.log_loss >= 0", "change.log_loss <= -1"],
        anytime=True,
    ),
    "numbers": lambda: check(
        numbers(53)[0],
        Distribution("normal", mean=numbers(53)[1], sd=np.full(420, 0.5)),
        require=[
            "coverage_80 > 0.75",
            "width < 1.2",
            "crps < 2",
            "verdict not in (too narrow)",
            "verdict in (none, too wide)",
        ],
    ),
    "skill": lambda: check(*few(54), require=["skill > 0", "skill.lower > 0.9"]),
    "certain": lambda: check(
        np.array([0, 1] * 30), np.array([1.0, 0.8] * 30), require=["log_loss < 9", "accuracy > 0.1"]
    ),
    "clusters": lambda: check(*few(55), clusters=np.arange(120) // 8, require=["log_loss < 0.5", "verdict in (none)"]),
    "weights": lambda: check(
        *few(56), sample_weight=np.arange(120) % 3 + 1.0, require=["log_loss < 0.5", "effective_rows > 102.85"]
    ),
}


@pytest.mark.parametrize("part", range(2))
def test_gates(part):
    shown = []
    for name in list(GATES)[part::2]:
        found = GATES[name]()
        shown += [
            f"# {name}",
            written(found),
            found.to_markdown(),
            found.to_junit(),
            written(found.to_flat()),
            str(found),
        ]
    same_as_kept(KEPT, f"gates-{part}", "\n\n".join([*shown, ""]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"require": []}, r"require \(--require\): none; name at least one"),
        ({"require": "log_loss"}, "'log_loss' is not a requirement; write NAME < NUMBER"),
        ({"require": "log_loss < x"}, "'x' is not a number"),
        ({"require": "log_loss < inf"}, "'inf' is not a number"),
        ({"require": "log_loss in (none)"}, "words are for the verdict, numbers for metrics"),
        ({"require": "verdict < 1"}, "words are for the verdict"),
        ({"require": "verdict.lower in (none)"}, "a verdict has no interval"),
        ({"require": "verdict in (sad)"}, "no verdict is called 'sad'; there are none"),
        ({"require": "verdict in (too-narrow)"}, "no verdict here is called 'too-narrow'"),
        ({"require": "coverage_80 > 80"}, "a coverage is between 0 and 1"),
        ({"require": "coverage_80 > 1.01"}, "a coverage is"),
        ({"require": "log_los < 1"}, "there is no metric 'log_los' here; did you mean log_loss"),
        ({"require": "zzzzzz < 1"}, "there is no metric 'zzzzzz' here; known: rows, "),
        ({"require": "worst_group < 1"}, "no metric 'worst_group' here"),
        ({"require": "change.log_loss < 1"}, "there is no metric"),
        ({"require": "rows > 1", "min_effect": 0.1}, "min_effect .* expected nats a row, 0 or more, beside"),
        ({"require": "verdict in (none)", "min_effect": -1}, "got -1"),
        ({"require": "rows > 1", "anytime": True, "confidence": None}, "anytime=True .* leave out one of them"),
        ({"require": "log_loss < 1", "anytime": True}, "only changes of mean scores"),
        ({"require": "rows.lower > 1"}, "rows has no confidence interval for these forecasts"),
        ({"require": "coverage_80 > 0.5"}, "no metric 'coverage_80'"),
    ],
)
def test_gates_that_cannot_be_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        check(*few(57, n=40), **options)


def test_gates_of_counts_take_no_rows():
    with pytest.raises(InputError, match="y_prob"):
        check(Tally.of(*few(57)), few(57)[1], require="rows > 1")
    with pytest.raises(InputError, match="forecasts of the same rows go with y_true and y_prob"):
        check(Tally.of(*few(57)), earlier=few(57)[1], require="rows > 1")
    with pytest.raises(InputError, match="skill needs a reference"):
        check(Tally.of(*few(57)), require="skill > 0")
    with pytest.raises(InputError, match="'earlier' is no predictive distribution"):
        check(
            numbers(58)[0], Distribution("normal", mean=numbers(58)[1], sd=np.ones(420)), earlier=3, require="rows > 1"
        )
    with pytest.raises(InputError, match="none; name at least one"):
        checked(assess(*few(57), resamples=0), [])
    assert checked(assess(*few(57), resamples=0), ["verdict in (none)"], min_effect=0).min_effect == 0


def test_costs_of_0_may_be_required_without_a_verdict():
    assert check(*few(57, n=40), require="rows > 39", min_effect=0)
    assert not check(*few(57, n=40), require="rows > 40")
    assert not check(*few(57, n=40), require="rows < 40")
    assert check(*few(57, n=40), require=["rows <= 40", "rows >= 40"])


@pytest.mark.parametrize(
    ("text", "name", "end", "operator", "limit", "words"),
    [
        ("log_loss<0.4", "log_loss", "", "<", 0.4, ()),
        ("Brier score (both classes) >= -1e-3", "brier_score", "", ">=", -0.001, ()),
        ("Calibration slope.upper <= 1", "slope", "upper", "<=", 1.0, ()),
        ("calibration_error > 0", "ece", "", ">", 0.0, ()),
        ("coverage_80 >= 0", "coverage_80", "", ">=", 0.0, ()),
        ("coverage_80 <= 1", "coverage_80", "", "<=", 1.0, ()),
        (" verdict  not   in (Too narrow, 'biased') ", "verdict", "", "not in", None, ("too-narrow", "biased")),
        ("verdict in none", "verdict", "", "in", None, ("none",)),
    ],
)
def test_requirements_are_read(text, name, end, operator, limit, words):
    found = Requirement.parse(text)
    assert (found.text, found.name, found.end, found.operator, found.words) == (
        text.strip(),
        name,
        end,
        operator,
        words,
    )
    assert math.isnan(found.limit) if limit is None else found.limit == limit


@pytest.mark.parametrize(
    ("operator", "below", "at", "above"), [("<", 1, 0, 0), ("<=", 1, 1, 0), (">", 0, 0, 1), (">=", 0, 1, 1)]
)
def test_requirements_are_met_up_to_their_limits(operator, below, at, above):
    found = Requirement.parse(f"ece {operator} 0.5")
    assert [found.met_by(x) for x in (0.4, 0.5, 0.6)] == [bool(x) for x in (below, at, above)]
    assert found.upward == (operator[0] == ">")
    assert found.refuted_by(0.6, 0.7) == (operator[0] == "<")
    assert found.refuted_by(0.3, 0.4) == (operator[0] == ">")
    assert not found.refuted_by(0.4, 0.6)


def test_rules_that_are_required_are_counted():
    wanted = [
        Requirement.parse(f"{name} < 1") for name in ("change.power_score(3)", "log_loss", "power_score(3)", "rows")
    ]
    assert scoring_rules(wanted) == ["power_score(3)"]
    assert scoring_rules([Requirement.parse("crps < 1")], of_classes=False) == ["crps"]


def tally(seed=61, n=240, **tags):
    y, p = few(seed, n=n)
    found = Tally.of(y, p)
    return found.tagged(**tags) if tags else found


def test_histories_are_kept_whole():
    y, p, day = rows(62, periods=3, n=20, certain=True)
    plain = History.of({f"2026-03-0{at + 1}": Tally.of(y[day == at], p[day == at]) for at in range(3)})
    three_classes = History.of({"a": Tally.of(*three(63), parts=["classes"])})
    same_as_kept(KEPT, "histories", "\n\n".join(f"{written(each.to_dict())}" for each in (plain, three_classes)) + "\n")
    for found in (plain, three_classes, plain.without_outcomes()):
        again = json.loads(found.to_bytes())
        assert again["version"] == 2
        assert found.to_bytes().endswith(b"}\n")
        assert found.n_rows == sum(round(each.rows) for each in found.periods)
    assert plain.since("2026-03-02").names == ("2026-03-02", "2026-03-03")
    assert plain.n_rows == 60


DAMAGED = {
    "keys": lambda d: d.pop("clustered"),
    "labels": lambda d: d.update(labels=3),
    "periods": lambda d: d.update(clustered=1),
    "names of periods": lambda d: d.update(periods=d["periods"] * 2),
    "tags": lambda d: d.update(tags=[]),
    "groups": lambda d: d["periods"][0].update(groups={}),
    "events": lambda d: d["periods"][0]["groups"].update({"": []}),
    "counts": lambda d: d["periods"][0]["groups"][""][0].update(p=[0.5]),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_histories_are_refused(tmp_path, what):
    found = json.loads(History.of({"a": tally()}).to_bytes())
    DAMAGED[what](found)
    (tmp_path / "h.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match=f"the history is damaged: {what} cannot be right"):
        History.load(tmp_path / "h.json")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("p", 0.0),
        ("p", 1.0),
        ("total", 0.0),
        ("positive", 99.0),
        ("positive", -1.0),
        ("certain", -1.0),
        ("certain", "NaN"),
        ("certain_and_wrong", 1.0),
        ("p", True),
        ("total", 1e300),
    ],
)
def test_counts_that_cannot_be_are_refused(tmp_path, name, values):
    found = json.loads(History.of({"a": tally()}).to_bytes())
    (tmp_path / "h.json").write_text(json.dumps(found))
    assert History.load(tmp_path / "h.json") == History.of({"a": tally()})
    of = found["periods"][0]["groups"][""][0]
    if isinstance(of[name], list):
        of[name][0] = values
    else:
        of[name] = values
    (tmp_path / "h.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match="the history is damaged: counts"):
        History.load(tmp_path / "h.json")


def test_histories_that_do_not_go_on_are_refused():
    one = History.of({"2026-03-02": tally(64)})
    assert one.after("2026-03-02", tally(64)) == one
    for name, given, says in (
        ("2026-03-02", tally(65), "this period is in the history with other forecasts"),
        ("2026-03-01", tally(65), "it is before 2026-03-02"),
        ("2026-W10", tally(65), "it has days of 2026-03-02"),
        ("2026-03-01/2026-03-02", tally(65), "it has days of 2026-03-02"),
        ("03/04/2026", tally(65), "the order of day and month is ambiguous"),
        ("b", tally(64), "the same forecasts and outcomes as those"),
        ("b", {"s": tally(65)}, "some periods have groups and others have none"),
        ("b", {}, "b: no rows"),
        ("b", Tally.of([1, 0], [0.5, 0.5], sample_weight=[1.0, 2.0]), "rows have weights"),
        ("b", Predictions.of([0.5, 0.2]), "some periods have outcomes, others have none"),
        (
            "b",
            Tally.of([0, 1], Distribution("normal", mean=[0.0, 1.0], sd=1.0)),
            "predictive distributions is not watched",
        ),
        ("b", {"s": tally(65), "t": Predictions.of([0.5])}, "some periods have outcomes"),
    ):
        with pytest.raises(InputError, match=says):
            one.after(name, given)
    with pytest.raises(InputError, match="there is no period 'x'; they go from 2026-03-02 to 2026-03-02"):
        one.since("x")
    with pytest.raises(InputError, match="nothing to nothing"):
        History().since("x")
    model = History.of({"a": tally(64, model="v1")})
    with pytest.raises(InputError, match="its model is 'v2', and in the periods before 'v1'|its model is v2"):
        model.after("b", tally(65, model="v2"))
    assert one.after("2026-03-03", tally(65)).names == ("2026-03-02", "2026-03-03")
    assert one.after("b", tally(65)).names == ("2026-03-02", "b")


def test_histories_are_joined_in_their_order():
    a, b, c = (History.of({f"2026-03-0{at}": tally(65 + at)}) for at in (1, 2, 3))
    assert a.then(b).then(c).names == ("2026-03-01", "2026-03-02", "2026-03-03")
    assert History().then(a) == a == a.then(History())
    with pytest.raises(InputError, match="it is before"):
        a.then(c).then(b)
    rebuilt = a.then(c).then(b, rebuild=True)
    assert rebuilt == a.then(b).then(c)
    other = History.of({"2026-03-02": tally(70)})
    assert rebuilt.then(other, rebuild=True).periods[1] == other.periods[0]
    with pytest.raises(InputError, match="others have none"):
        a.then(b.without_outcomes())


def test_periods_and_groups_are_read_from_rows():
    y, p, day = rows(71, periods=4, n=10)
    found = monitor(y, p, time=day, by={"site": np.where(np.arange(40) % 2, "s", "")})
    assert set(found.groups) == {"(none)", "s"}
    for options, says in (
        ({}, "time: missing; give the period of each row"),
        ({"time": day, "confidence": 1.0}, "confidence: 1.0 is not between 0 and 1"),
        ({"time": day, "confidence": 0.0}, "confidence: 0.0 is not between"),
        ({"time": np.where(day > 1, "11 April 2026", "12 May 2026")}, "the order of periods such as"),
        ({"time": day, "restart": "9"}, "there is no period '9'"),
        ({"time": day, "require": "slope > 1"}, "over time, requirements are on log_loss, brier_score, accuracy"),
    ):
        with pytest.raises(InputError, match=says):
            monitor(y, p, **options)
    with pytest.raises(InputError, match="time: it is for rows; periods that were counted are given alone"):
        monitor({"a": tally()}, time=[1])
    with pytest.raises(InputError, match="there are no periods to monitor"):
        monitor(History())
    counted = Tallies.of(y, p, by={"day": day}, parts=["classes"])
    assert monitor(counted).periods == ("0", "1", "2", "3")


def test_half_of_the_bet_is_on_all_rows_and_half_on_the_groups_that_are_there():
    """Two groups from the first period on share what a third one joins."""
    whole, one, two, three = np.log([[2.0, 3, 5, 4], [1, 2, 4, 8], [3, 1, 0.5, 2], [1, 1, 1.5, 6]])
    found = np.exp(together(whole, [one, two, three], [0, 0, 2]))
    worth = np.array([(1 + 3) / 2, (2 + 1) / 2])
    third = worth[1] / 3  # a third of what both are worth by then
    left = np.array([2, 1]) / 2 * 2 / 3
    later = [left * [2, 0.5], left * [4, 2]]
    assert found[:2] == pytest.approx((np.exp(whole[:2]) + worth) / 2)
    assert found[2] == pytest.approx((5 + later[0].sum() + third * 1.5) / 2)
    assert found[3] == pytest.approx((4 + later[1].sum() + third * 6) / 2)
    assert together(whole, [], []) is whole


def test_the_last_alarm_is_another_one_if_the_evidence_was_gone_between():
    assert last_alarm(np.array([0.0, 2.9, 1.0]), 3.0) is None
    assert last_alarm(np.array([0.0, 3.0, 5.0, 4.0]), 3.0) == (1, 1, 2)
    assert last_alarm(np.array([4.0, 0.0, 3.5, 6.0, 1.0]), 3.0) == (1, 0, 3)
    assert last_alarm(np.array([4.0, -0.1, 3.5, 6.0, 1.0]), 3.0) == (2, 2, 3)


def test_each_further_group_needs_less_evidence():
    three_groups = {
        "a": np.array([0.0, 3.0 + math.log(3)]),
        "b": np.array([3.0 + math.log(2) + 1e-9]),
        "c": np.array([2.9]),
    }
    assert [*named_groups(three_groups, 3.0)] == ["a", "b"]
    assert named_groups(three_groups, 3.0)["b"] == pytest.approx(3 + math.log(2))
    assert named_groups({"a": np.array([3.0])}, 3.0) == {"a": 3.0}
    assert named_groups({"a": np.array([3.0]), "b": np.array([1.0])}, 3.0) == {}


def counts(p, total, positive, scores=None):
    return EventCounts.of(Pairs(np.array(p), np.array(positive, float), np.array(total, float)), scores)


def test_events_are_counted_in_cells_and_certain_ones_apart():
    found = counts([0.0, 0.3, 0.301, 0.9, 1.0], [5, 10, 30, 20, 4], [2, 4, 9, 15, 3])
    assert (found.certain, found.certain_and_wrong, found.rows) == (9, 3, 69)
    assert found.p == pytest.approx([(3 + 0.301 * 30) / 40, 0.9])
    assert found.total.tolist() == [40, 20]
    assert found.positive.tolist() == [13, 15]
    assert found.log_odds == pytest.approx(logit(found.p))
    both = EventCounts.together([found, counts([0.2], [8], [3])])
    assert (both.rows, both.certain, both.p.size) == (77, 9, 3)
    assert EventCounts.together([found]) is found
    hidden = found.unobserved()
    assert np.isnan(hidden.positive).all()
    assert (hidden.certain, hidden.certain_and_wrong, hidden.nodes) == (9, 0, None)
    assert hidden.log_chance_of_same() == 0
    v = found.total * found.p * (1 - found.p)
    assert found.log_chance_of_same() == pytest.approx(-0.5 * np.log(1 + 4 * v).sum())
    assert found.same(found)
    assert not found.same(hidden)
    assert not found.same(found._replace(certain=8))
    assert math.isnan(found.log_loss)
    assert math.isnan(found.skill)


def test_scores_of_periods_add_up():
    one, two = Scores(10.0, 4.0, 30.0, (10.0, 20.0)), Scores(5.0, 2.0, 6.0, (8.0, 2.0))
    assert one.plus(two) == Scores(15.0, 6.0, 36.0, (18.0, 22.0))
    found = counts([0.5], [40], [22], one.plus(two))
    assert found.log_loss == pytest.approx(15 / 40)
    entropy = -(0.45 * math.log(0.45) + 0.55 * math.log(0.55))
    assert found.skill == pytest.approx(1 - 15 / 40 / entropy)
    assert math.isnan(found._replace(scores=Scores(1.0, 1.0, 1.0, (40.0, 0.0))).skill)
    assert math.isnan(found._replace(scores=Scores(math.nan, 1.0, 1.0, (20.0, 20.0))).skill)
    of = Scores.of(Tally.of([1, 0, 1], [0.8, 0.3, 0.4]))
    assert of.log_loss == pytest.approx(-math.log(0.8 * 0.7 * 0.4))
    assert of.brier_score == pytest.approx(2 * (0.04 + 0.09 + 0.36))
    assert (of.accuracy, of.classes) == (pytest.approx(2), (1.0, 2.0))


RATES = 0.9 * 2.0 ** -np.arange(13)


@pytest.mark.parametrize(
    ("text", "losses", "slack"),
    [
        ("log_loss < 0.4", lambda p: (-np.log(p), -np.log(1 - p)), lambda u: u / (512 * (1 - u))),
        ("brier_score <= 0.3", lambda p: (2 * (1 - p) ** 2, 2 * p**2), lambda u: u**2 / 128),
        ("accuracy > 0.8", lambda p: (float(p < 0.5), float(p > 0.5)), lambda u: 0.0),
    ],
)
def test_bets_on_requirements_are_those_of_the_losses(text, losses, slack):
    """Two cells of one period, and a certain prediction that was right."""
    found = counts([0.2, 0.7, 1.0], [30, 50, 1], [10, 30, 1], Scores(9.0, 8.0, 60.0, (40.0, 41.0)))
    wanted = Requirement.parse(text)
    limit = 1 - wanted.limit if wanted.upward else wanted.limit
    log = np.zeros(13)
    for p, n, k in ((0.2, 30, 10), (0.7, 50, 30)):
        for loss, times in zip(losses(p), (k, n - k), strict=True):
            log += times * np.log1p(RATES * ((loss - slack(min(p, 1 - p))) / limit - 1))
    log += np.log1p(-RATES)
    expected = float(np.log(np.exp(log - log.max()).mean()) + log.max())
    result = kept(text, ["a"], [found], 2, 3.0)
    assert result.log_evidence == pytest.approx(expected, rel=1e-9)
    assert result.passed == (expected < 3)
    assert result.failed == (None if expected < 3 else "a")
    assert result.value == pytest.approx({"log_loss": 9, "brier_score": 8, "accuracy": 60}[wanted.name] / 81)


def test_numbers_of_periods_of_one_size_stay():
    x = np.array([0.3, np.nan, 0.5, 0.1])
    same = as_of_first_size(x, np.ones(4), np.full(4, 50.0))
    np.testing.assert_array_equal(same, x)
    larger = as_of_first_size(np.array([0.0, 1.0]), np.array([4.0, 4.0]), np.array([100.0, 400.0]))
    weight = np.array([25.0, 100.0])
    left = weight - weight**2 / 125
    centre = 100 / 125
    beyond = max(0.0, (weight @ (np.array([0, 1]) - centre) ** 2 - left @ [0.04, 0.01]) / left.sum())
    moved = (1 - centre) * (math.sqrt((beyond + 0.04) / (beyond + 0.01)) - 1)
    assert larger == pytest.approx([0.0, 1 + moved])
    assert as_of_first_size(np.array([0.0, 1.0]), np.array([4.0, 0.0]), np.array([100.0, 400.0])).tolist() == [0, 1]
