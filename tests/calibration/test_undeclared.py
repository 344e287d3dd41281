"""Forecasts in memory whose dependence nobody declared: it is found, said and taken over, or declined."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import chi2

from unperplexed import InputError, Recalibrator, assess, assess_by, check, compare, diagnose, monitor, skill
from unperplexed.calibration.dependence import differing_groups
from unperplexed.results import GroupRecalibrator

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")

N = 1000


def repeated(seed=0, count=100):
    """Outcomes that are predicted ten times each, in any order, with columns of all kinds."""
    rng = np.random.default_rng(seed)
    question = rng.permutation(np.repeat(np.arange(count), N // count))
    s = rng.normal(size=N)
    columns = {
        "question": np.array([f"q{each}" for each in question]),
        "digit": rng.integers(0, 10, N),
        "number": np.arange(N),
        "share": rng.random(N),
        "tags": [["a"]] * N,
    }
    return rng.random(count)[question] < expit(s), expit(s), columns


Y, P, COLUMNS = repeated()


def words(result):
    return " ".join(str(result).split())


def test_repeated_outcomes_are_judged_as_if_their_clusters_were_declared():
    found = assess(Y, P, columns=COLUMNS, resamples=0)
    declared = assess(Y, P, clusters=COLUMNS["question"], resamples=0)
    assert found.dependence.found.columns == ("question",)
    assert found.dependence.looked_at == ("question", "digit", "number")  # neither fractions nor lists
    assert (found.verdict, found.slope.interval) == (declared.verdict, pytest.approx(declared.slope.interval))
    assert declared.dependence.reason == "clusters are declared"


def test_both_p_values_are_in_the_first_lines():
    found = assess(Y, P, columns=COLUMNS, resamples=0)
    first = words(found)[:400]
    alone = assess(Y, P, clusters=None, resamples=0)
    assert found.diagnosis.independent_p_value == pytest.approx(alone.diagnosis.p_value, rel=1e-9)
    assert "Rows of the same 'question' (100) err alike, so" in first
    assert f"judged in these clusters (p = {found.diagnosis.p_value:.3f}, but p" in first


@pytest.mark.slow
def test_it_may_be_declined():
    declined = assess(Y, P, clusters=None, resamples=0)
    assert (declined.dependence.reason, declined.clustered) == ("declined", False)
    assert "err alike" not in words(declined)
    with pytest.raises(InputError, match="columns: dependence is looked for in them where no clusters are declared"):
        assess(Y, P, clusters=None, columns=COLUMNS)
    with pytest.raises(InputError, match="column 'digit' has 999 rows, the forecasts 1,000"):
        assess(Y, P, columns={"digit": COLUMNS["digit"][1:]})


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_independent_rows_are_not_taken_as_dependent(classes):
    """At 1 % for all columns: of 40 samples more than 3 have a probability of .0007 if it is 1 %."""
    flagged = noted = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.ones(classes), 600)
        y = (p.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
        columns = {str(size): rng.integers(0, size, 600) for size in (3, 20, 100)}
        found = assess(y, p, columns=columns, labels=range(classes), resamples=0)
        flagged += found.dependence.found is not None
        noted += found.dependence.differing is not None
        known = (found.dependence.found, found.dependence.differing)
        assert ("independent rows (nothing speaks against it)" in words(found)) == (known == (None, None))
    assert flagged <= 3
    assert noted <= 3


def hospitals(bias, n=3000, seed=0):
    """Patients of six hospitals, whose risks are too low or too high by so much, turn by turn."""
    rng = np.random.default_rng(seed)
    hospital, s = rng.integers(0, 6, n), rng.normal(-1, 1.2, n)
    return rng.random(n) < expit(s + bias * (-1.0) ** hospital), s, hospital


def test_groups_too_few_to_be_clusters_are_said_if_their_biases_differ():
    y, s, hospital = hospitals(0.6)
    columns = {"hospital": hospital, "other": np.random.default_rng(9).integers(0, 4, y.size)}
    found, alone = (assess(y, expit(s), columns=each, resamples=0) for each in (columns, None))
    differing = found.dependence.differing
    assert (differing.column, differing.n_groups, found.dependence.found) == ("hospital", 6, None)
    sums, v = (np.bincount(hospital, x) for x in (y - expit(s), expit(s) * expit(-s)))
    assert np.log(differing.p_value) == pytest.approx(np.log(2 * chi2.sf((sums**2 / v).sum(), 5)), rel=0.1)
    assert found.diagnosis.p_value == alone.diagnosis.p_value
    assert "The 6 groups of 'hospital' differ in bias by more than chance (adjusted p < 0.001)" in words(found)
    assert "--by hospital" in words(found)
    assert "would fit noise" in words(alone)
    assert "would fit noise" not in words(found)
    assert "but errors of groups may cancel" in words(found)
    assert "nothing speaks" not in words(found)


@pytest.mark.parametrize("map", [lambda s: s, lambda s: 0.6 * s + 0.5, lambda s: s + 0.5 * np.sin(2 * s)])
def test_errors_that_all_groups_share_are_no_difference(map):
    """At 1%: of 400 samples more than 12 have a probability of .0002."""
    noted = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        s = rng.normal(0, 1.5, 600)
        columns = {str(k): rng.choice(k, 600, p=rng.dirichlet(np.full(k, 2.0))) for k in (3, 5, 9)}
        noted += differing_groups(rng.random(600) < expit(map(s)), s, None, columns) is not None
    assert noted <= 12


def test_copies_and_dependent_rows_are_no_differing_groups():
    y, s, hospital = hospitals(0.0, 300)
    p, columns = np.repeat(expit(s), 8), {"hospital": np.repeat(hospital, 8)}
    copied = assess(np.repeat(y, 8), p, columns=columns, resamples=0).dependence
    assert copied.copies or copied.found
    assert copied.differing is None


@pytest.mark.slow
def test_one_surprising_outcome_is_no_dependence():
    rng, flagged = np.random.default_rng(1), 0
    for _ in range(40):
        p = rng.uniform(0.3, 0.7, 500)
        y = rng.random(500) < p
        p[100], y[100] = 0.0012, True
        flagged += assess(y, p, columns={"g": rng.integers(0, 50, 500)}, resamples=0).dependence.found is not None
    assert flagged <= 3


def test_copies_of_the_outcome_and_weights_of_0_tell_nothing():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(12), 600)
    y = (p.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    rounded = y + (rng.random(600) < 0.1)  # otherwise in a tenth of the rows
    columns = {"copy": y + 5, "other": y // 2, "rounded": np.minimum(rounded, 11)}
    found = assess(y, p, columns=columns, labels=range(12), resamples=0)
    assert found.dependence.looked_at == ("other",)
    weight = np.ones(N)
    weight[:500] = 0
    rows, kept = weight > 0, {name: COLUMNS[name] for name in ("question", "digit")}
    both = [
        assess(Y, P, columns=kept, sample_weight=weight, resamples=0),
        assess(Y[rows], P[rows], columns={name: each[rows] for name, each in kept.items()}, resamples=0),
    ]
    assert both[0].dependence.found.design_effect == pytest.approx(both[1].dependence.found.design_effect, rel=1e-6)


@pytest.mark.parametrize("classes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_copies_of_rows_are_warned_of_in_the_first_lines(classes):
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(classes), 200)
    y = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    at = rng.permutation(np.tile(np.arange(200), 3))
    found = assess(y[at], p[at], labels=range(classes), resamples=0)
    assert (found.dependence.copies, found.dependence.found) == (600, None)
    said = "600 rows have prediction and outcome in common with another: if they are copies, keep one of each."
    assert said in words(found)[:600]
    assert "judged as independent rows" in words(found)
    assert said in words(check(y[at], p[at], labels=range(classes), require="log_loss < 9"))
    assert "in common" not in words(assess(y, p, labels=range(classes), resamples=0))


def games(seed=0, n=600):
    """Games of 30 teams, whose margin decides, and with it the score."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    margin = np.rint(6 * (s + rng.logistic(size=n))).astype(int)
    draw = np.abs(margin) < 2
    result = np.where(draw, "draw", np.where(margin > 0, "home", "away"))
    columns = {"margin": margin, "score": (rng.integers(180, 220, n) + margin) // 2, "result": result}
    return margin > 0, expit(s), columns | {"team": rng.integers(0, 30, n)}


@pytest.mark.parametrize("written", [lambda column: column, lambda column: [str(each) for each in column]])
def test_columns_that_follow_from_the_outcome_are_no_clusters(written):
    """Residuals rise along them; where their numbers are in no order, the same columns are clusters."""
    y, p, columns = games()
    found = assess(y, p, columns={name: written(each) for name, each in columns.items()}, resamples=0).dependence
    assert (found.found, found.looked_at) == (None, ("margin", "score", "team"))
    shuffled = np.random.default_rng(1).permutation(1000)[columns["margin"] + 500]
    assert assess(y, p, columns={"id": shuffled}, resamples=0).dependence.found.columns == ("id",)


@pytest.mark.parametrize("seed", range(5))
def test_whole_numbers_of_events_are_clusters_beside_their_margin(seed):
    game = np.repeat(np.arange(200), 10)
    y, p, columns = games(seed, 200)
    p = expit(np.log(p / (1 - p))[game] + np.random.default_rng(seed).normal(0, 0.3, game.size))
    columns = {"margin": columns["margin"][game], "game": game}
    assert assess(y[game], p, columns=columns, resamples=0).dependence.found.columns == ("game",)


def test_a_missing_value_is_a_value_and_frames_tell_what_mappings_do():
    column = np.where(COLUMNS["question"] == "q3", None, COLUMNS["question"])
    frame = pl.DataFrame({"question": pl.Series(column, dtype=pl.String), "digit": COLUMNS["digit"]})
    found = assess(Y, P, columns=frame, resamples=0).dependence
    other = assess(Y, P, columns=frame.to_pandas(), resamples=0).dependence
    assert found.found.design_effect == pytest.approx(other.found.design_effect, rel=1e-9)
    assert found.found.n_clusters == other.found.n_clusters == 100


def test_small_biases_of_groups_are_said_and_the_verdict_stays():
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(30), 400)
    s = rng.normal(size=group.size)
    y = rng.random(s.size) < expit(s + rng.normal(0, 0.3, 30)[group])
    found = assess(y, expit(s), columns={"region": group}, resamples=0)
    assert (found.dependence.taken, found.clustered) == (False, False)
    assert found.dependence.p_value == pytest.approx(diagnose(y, expit(s), clusters=group).p_value, rel=1e-6)
    text = words(found)
    assert "a bias of its own, or its rows depend on one another" in text
    assert "Judged by region, p" in text
    assert "judged as independent rows" in text


@pytest.mark.slow
def test_both_p_values_are_those_of_the_test_that_each_function_makes():
    declared = {"clusters": COLUMNS["question"]}
    known = {"columns": COLUMNS}
    two = {"a": P, "b": expit(0.5 + np.log(P / (1 - P)))}
    by_clusters, alone = (compare(Y, two, **each).pairs[0].differences["log_loss"] for each in (declared, {}))
    found = compare(Y, two, **known)
    p_values = (found.dependence.p_value, found.dependence.independent_p_value)
    assert p_values == pytest.approx((by_clusters.p_value, alone.p_value))
    assert "judged in these clusters (difference in log loss: p" in words(found)
    scores = [skill(Y, {"a": P}, **each).whole.scores["a"]["log_loss"] for each in (declared, {"clusters": None})]
    found = skill(Y, {"a": P}, **known)
    p_values = (found.dependence.p_value, found.dependence.independent_p_value)
    assert p_values == pytest.approx(tuple(each.p_value for each in scores))
    assert "judged in these clusters (skill in log loss: p" in words(found)
    tests = [diagnose(Y, P, **each).p_value for each in (declared, {"clusters": None})]
    fitted = Recalibrator("bias").fit(Y, P, **known)
    assert fitted.dependence_.p_value == pytest.approx(tests[0])
    assert f"judged in these clusters (calibration: p = {tests[0]:.3f}, but p" in words(fitted)
    gate = check(Y, P, require="log_loss < 0.6", **known)
    assert gate.to_dict()["dependence"]["independent_p_value"] == pytest.approx(tests[1])
    assert gate.to_flat()["design_effect"] == pytest.approx(gate.dependence.found.design_effect)
    assert check(Y, P, require="log_loss < 0.6", clusters=None).to_flat()["design_effect"] is None


@pytest.mark.slow
def test_every_function_takes_the_same_clusters():
    question, columns = COLUMNS["question"], {"question": COLUMNS["question"], "digit": COLUMNS["digit"]}
    searched, declared = {"columns": columns}, {"clusters": question}
    half = np.arange(N) % 2

    def both(function):
        return function(**searched), function(**declared)

    def told(result):
        return result.dependence.found.columns == ("question",)

    found, other = both(lambda **known: diagnose(Y, P, **known))
    assert told(found)
    assert (found.p_value, found.n_clusters) == (pytest.approx(other.p_value), 100)
    found, other = both(lambda **known: compare(Y, {"a": P, "b": np.sqrt(P)}, **known))
    assert told(found)
    assert words(found.pairs) == words(other.pairs)
    found, other = both(lambda **known: skill(Y, P, **known))
    assert told(found)
    assert found.groups == other.groups
    found, other = both(lambda **known: check(Y, P, require="log_loss < 0.6", **known))
    assert told(found)
    assert found.outcomes[0].interval == pytest.approx(other.outcomes[0].interval, rel=0.01)  # whose shards differ
    found, other = both(lambda **known: assess_by(Y, P, by=half, resamples=0, **known))
    assert all(each.assessment.dependence.found.columns == ("question",) for each in (found.total, *found.groups))
    assert found.total.assessment.verdict == other.total.assessment.verdict
    assert "Rows of the same 'question' (100) err alike" in words(compare(Y, {"a": P, "b": np.sqrt(P)}, **searched))


@pytest.mark.parametrize(
    ("fitted", "by"),
    [(Recalibrator, {}), pytest.param(GroupRecalibrator, {"by": np.arange(N) % 2}, marks=pytest.mark.slow)],
)
def test_recalibration_takes_them_too(fitted, by):
    columns = {"question": COLUMNS["question"], "digit": COLUMNS["digit"]}
    found = fitted().fit(Y, P, columns=columns, **by)
    assert found.dependence_.found.columns == ("question",)
    assert found.gain_ is not None
    assert "Rows of the same 'question' (100) err alike" in words(found)


@pytest.mark.slow
def test_a_break_is_no_dependence_but_shocks_of_a_cluster_are():
    rng = np.random.default_rng(5)
    time = np.repeat(np.arange(20), 100)
    s = rng.normal(size=time.size)
    broke = rng.random(s.size) < expit(s + 1.5 * (time >= 15))
    found = monitor(broke, expit(s), time=time)
    assert (found.dependence.found, found.clusters, found.alarm.began) == (None, "none", "15")
    event = rng.permutation(np.repeat(np.arange(200), 10))
    shared = rng.random(200)[event] < expit(s)
    found = monitor(shared, expit(s), time=time, columns={"event": event})
    assert (found.dependence.found.columns, found.clusters) == (("event",), "period")
    assert "periods are taken as the units" in words(found)
    assert monitor(shared, expit(s), time=time, clusters=None).clusters == "none"


@pytest.mark.parametrize(("bias", "began"), [(0.5, 0.7), (1, 0.66), (2, 0.5)])
def test_calibration_that_changed_is_no_dependence(bias, began):
    rng = np.random.default_rng(6)
    s = rng.normal(size=6000)
    y = rng.random(6000) < expit(s + bias * (np.arange(6000) > 6000 * began))
    assert assess(y, expit(s), resamples=0).dependence.found is None


@pytest.mark.slow
def test_an_error_of_one_of_few_groups_is_no_dependence():
    rng = np.random.default_rng(7)
    station = np.repeat(np.arange(5), [2000, 1200, 800, 600, 400])
    s = rng.normal(0, 2, station.size)
    y = rng.random(s.size) < expit(s)
    p = expit(np.where(station == 1, 2 * s, s))
    alone = assess(y, p, clusters=None, resamples=0)
    for columns in (None, {"station": station}):
        assert assess(y, p, columns=columns, resamples=0).verdict == alone.verdict
    by = assess_by(y, p, by={"station": station}, resamples=0)
    assert by.total.assessment.dependence.found is None
    assert by[1].diagnosis.errors == ("confidence",)


def test_dependence_in_the_order_of_rows_is_found():
    rng = np.random.default_rng(8)
    s = rng.normal(size=2000)
    y = np.repeat(rng.random(200), 10) < expit(s)
    found = assess(y, expit(s), resamples=0)
    assert found.dependence.taken
    assert found.diagnosis.n_clusters == -(-2000 // found.dependence.found.block)
    assert "Rows near one another, in" in words(found)
    assert assess(y, expit(s), clusters=None, resamples=0).diagnosis.n_clusters is None


def test_groups_whose_rows_share_a_shock_are_said_to_err_alike():
    rng = np.random.default_rng(8)
    match = rng.permutation(np.repeat(np.arange(100), 15))
    s = rng.normal(0, 1.2, 100)[match]
    y = rng.random(1500) < expit(s + rng.normal(0, 1.5, 100)[match])
    text = words(assess_by(y, expit(s), by=match, resamples=0).whole)
    assert "Rows of the same 'group' (100) err alike" in text
    assert "Judged by group, p = " in text
    assert "nothing speaks against it" not in text


def test_groups_that_err_alike_too_little_to_be_clusters_are_said_to():
    rng = np.random.default_rng(3)
    centre = rng.permutation(np.repeat(np.arange(12), 250))
    s = rng.normal(-1.5, 1, 3000)
    y = rng.random(3000) < expit(s + rng.normal(0, 0.4, 12)[centre])
    by, searched = {"centre": centre}, {"resamples": 0, "columns": {"centre": centre}}
    alone, whole = assess(y, expit(s), **searched), assess_by(y, expit(s), by=by, resamples=0).whole
    assert not alone.dependence.taken
    assert whole.dependence.found.design_effect == pytest.approx(alone.dependence.found.design_effect)
    assert "Rows of the same 'centre' (12) err alike. Either" in words(whole)
    assert "nothing speaks against it" not in words(whole)


@pytest.mark.slow
def test_periods_of_one_row_hide_no_dependence():
    rng = np.random.default_rng(9)
    shock = np.repeat(rng.normal(0, 2, 40), 10)
    s = rng.normal(size=400)
    found = monitor(rng.random(400) < expit(s + shock), expit(s), time=np.arange(400))
    assert found.dependence.taken
    assert found.dependence.found.block > 1


def test_a_cluster_of_one_shared_outcome_is_as_one_row_whatever_the_weights():
    rng = np.random.default_rng(10)
    weight, certain = rng.exponential(size=N), np.arange(N) % 10 == 0
    p = np.where(certain, np.where(Y, 1 - 1e-9, 1e-9), P)
    found = assess(Y, p, columns={"question": COLUMNS["question"]}, sample_weight=weight, resamples=0).dependence.found
    equal = weight.sum() ** 2 / (weight @ weight)
    assert (found.n_clusters, found.n_rows) == (100, round(equal))
    assert 50 < found.n_rows / found.design_effect < 200  # of 1,000 rows that weigh the same it were 287
