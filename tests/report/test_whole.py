"""What documents say as a whole, beside what is stored: text, page, tables and charts of results of every kind.

`whole.stored` tells how the files are written anew. Each file holds the text for a terminal, and all of the document
of a page.
"""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import expit, softmax

from kept import drawn, same_as_kept, written
from unperplexed import (
    Distribution,
    Ordered,
    Quantiles,
    Samples,
    Tally,
    assess,
    assess_by,
    calibration_errors,
    calibration_test,
    check,
    compare,
    compare_sequentially,
    decide,
    decision_curve,
    decompose,
    diagnose,
    drift,
    find_groups,
    monitor,
    plan,
    pool,
    risk_profile,
    skill,
)
from unperplexed.language_models import (
    Answer,
    GradedAnswers,
    Question,
    Text,
    assess_answers,
    assess_questions,
    assess_texts,
    compare_questions,
    compare_texts,
    leaderboard,
)
from unperplexed.report.result import Naming, document
from unperplexed.report.terminal import text
from unperplexed.results import History, Predictions

KEPT = Path(__file__).with_name("documents.json")
NAMING = Naming("rain.csv", "unperplexed report rain.csv", "unperplexed recalibrate rain.csv -o map.json", "rain.html")


def whole(found, naming=NAMING):
    """Write the text of a result and the document of its page."""
    shown = text(document(found, naming, brief=True), 100)
    return f"{shown}\n\n{written(document(found, naming, brief=False))}\n"


def holds(name, found, naming=NAMING):
    """Compare the text and the whole document of a result with what is stored."""
    same_as_kept(KEPT, name, whole(found, naming))


def two(seed, n=300, slope=1.0, bias=0.0, mean=0.0):
    """Outcomes of two classes, and what was predicted: log-odds times a slope, and a bias."""
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(mean, 1.4, n), 2)
    return (rng.random(n) < expit(z)).astype(int), expit(slope * z + bias)


def three(seed, n=150, sharp=1.0, classes=3):
    """Outcomes of more classes, and their probabilities, too sure by a factor."""
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(0, 1.2, (n, classes)), 2)
    y = (softmax(z, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=classes - 1)
    return y, softmax(sharp * z, axis=1)


def few(*given, **options):
    return assess(*given, **{"resamples": 40} | options)


def _certain():
    y, p = two(5, 300)
    p[:3] = [1.0, 0.0, 1.0]
    y[:3] = [0, 1, 0]
    return few(y, p)


def _named(y):
    return np.where(y == 1, "rain", "dry")


def _many_classes():
    y, p = three(12, 130, 2.5, 11)
    return few(y, p, resamples=0)


ASSESSMENTS = {
    "calm-many": lambda: few(*two(2, 1000), resamples=0),
    "too-high": lambda: few(*two(4, bias=1.0), measured="isotonic"),
    "too-low-named": lambda: few(_named(two(6)[0]), two(6, bias=-1.2)[1], pos_label="rain", metrics=["power_score(2)"]),
    "certain": _certain,
    "rare": lambda: few(*two(7, mean=-4)),
    "reversed": lambda: few(two(8)[0], 1 - two(8)[1]),
    "one-outcome": lambda: few(np.zeros(60, dtype=int), two(9, 60)[1]),
    "weighted": lambda: few(*two(10, slope=1.7), sample_weight=np.arange(300) % 3 + 1, confidence=0.9),
    "clusters": lambda: few(*two(11, bias=0.6), clusters=np.arange(300) // 8),
    "skill": lambda: few(*two(13), reference="base-rate", floor=0.02, measured="logistic"),
    "top-label": lambda: few(*three(14, sharp=2), view="top-label"),
    "three": lambda: few(*three(15, sharp=2.2)),
    "three-calm": lambda: few(
        np.array(["a", "b", "c"])[three(16)[0]], three(16)[1], measured="equal-population:bins=7"
    ),
    "eleven": _many_classes,
    "tally": lambda: few(
        Tally.of(*two(17, slope=0.5), source="rain.csv", clusters=np.arange(300) // 2, parts=["shards"])
    ),
}


def _sites(seed):
    """Rows of four sites in turn, of which the last is predicted much too high."""
    y, p = two(seed)
    return y, np.where(np.arange(300) % 4 == 3, expit(np.log(p / (1 - p)) + 1.8), p)


@pytest.mark.parametrize("name", ASSESSMENTS)
def test_assessments(name):
    holds(f"assessment-{name}", ASSESSMENTS[name]())


def test_an_assessment_without_a_name():
    holds("assessment-unnamed", few(*two(3, slope=2.0)), Naming())


GROUPS = {
    "sites": lambda: assess_by(*_sites(20), by={"site": np.arange(300) % 4}, resamples=0),
    "shrunken": lambda: assess_by(*_sites(21), by={"site": np.arange(300) % 4}, shrink=True, resamples=40),
    "calm": lambda: assess_by(*two(22), by={"site": np.arange(300) % 2, "half": np.arange(300) // 150}, resamples=0),
    "many": lambda: assess_by(*two(24, 198), by={"day": np.arange(198) // 9}, resamples=0, reference="base-rate"),
    "two-of-one": lambda: assess_by(*two(26, 60), by=np.minimum(np.arange(60), 2), resamples=0),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name):
    holds(f"groups-{name}", GROUPS[name]())


def models(seed, n=300, **slopes):
    y, _ = two(seed, n)
    return y, {name: two(seed, n, slope)[1] for name, slope in slopes.items()}


COMPARISONS = {
    "three": lambda: compare(*models(32, a=1.0, b=3.0, c=0.3), reference="b"),
    "groups": lambda: compare(*models(33, a=1.0, b=2.5), by={"site": np.arange(300) % 3}, reference="base-rate"),
    "clusters": lambda: compare(*models(35, a=1.0, b=2.5), clusters=np.arange(300) // 6, confidence=0.9),
    "sequential": lambda: compare_sequentially(*models(37, a=1.0, b=3.0)),
    "sequential-early": lambda: compare_sequentially(*models(38, 12, a=1.0, b=1.1), metric="log_loss", floor=0.01),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name):
    holds(f"comparison-{name}", COMPARISONS[name]())


def normal(seed, n=200, bias=0.0, width=1.0):
    rng = np.random.default_rng(seed)
    mean = np.round(rng.normal(0, 2, n), 2)
    return np.round(mean + rng.normal(0, 1, n), 3), Distribution("normal", mean=mean + bias, sd=np.full(n, width))


def members(seed, n=200, spread=0.6):
    rng = np.random.default_rng(seed)
    centre = rng.normal(0, 2, (n, 1))
    return np.round(centre[:, 0] + rng.normal(0, 1, n), 3), Samples(
        np.round(centre + spread * rng.normal(0, 1, (n, 9)), 3)
    )


def quantiles(seed, n=200, spread=1.5):
    y, found = normal(seed, n)
    middle = found.parameters["mean"] if hasattr(found, "parameters") else np.zeros(n)
    z = np.array([-1.28, -0.67, 0.0, 0.67, 1.28])
    return y, Quantiles([0.1, 0.25, 0.5, 0.75, 0.9], np.asarray(middle)[:, None] + spread * z)


def levels(seed, sharp=1.0):
    y, p = three(seed, sharp=sharp, classes=4)
    return y, Ordered(p, [0, 1, 2, 3])


DISTRIBUTIONS = {
    "calm": lambda: assess(*normal(40)),
    "members": lambda: assess(*members(44)),
    "quantiles": lambda: assess(*quantiles(45)),
    "ordered": lambda: assess(*levels(46, 2.0)),
    "few": lambda: assess(*normal(47, n=12)),
    "groups": lambda: assess_by(normal(48, 90)[0], normal(48, 90, 0.6)[1], by={"site": np.arange(90) % 3}),
    "groups-calm": lambda: assess_by(*normal(49), by={"site": np.arange(200) % 2}),
    "skill": lambda: skill(*normal(50)),
    "compared": lambda: compare(normal(51)[0], {"a": normal(51)[1], "b": normal(51, width=3.0)[1]}),
    "compared-two": lambda: compare(normal(52)[0], {"a": normal(52)[1], "b": normal(52, bias=1.0)[1]}),
    "tally": lambda: Tally.of(*normal(54)).tagged(name="rain", period="2026-03"),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    holds(f"distributions-{name}", DISTRIBUTIONS[name]())


def day(rng, rows, bias=0.0, slope=1.0):
    s = np.round(rng.normal(0, 1.5, rows), 2)
    return Tally.of(rng.random(rows) < expit(slope * s + bias), expit(s))


def watched(seed, errors, rows=120, periods=20, **settings):
    """Watch groups, or all rows where errors are a function of the day."""
    rng, history = np.random.default_rng(seed), History()
    for at in range(periods):
        here = {"": errors} if callable(errors) else errors
        found = {name: day(rng, rows, **error) for name, f in here.items() if (error := f(at)) is not None}
        history = history.after(f"d{at}", found if not callable(errors) else found[""])
    return monitor(history, **settings)


def _calm(at):
    return {}


WATCHES = {
    "broke": lambda: watched(63, lambda at: {"bias": 1.0 * (at >= 10)}),
    "require": lambda: watched(69, lambda at: {"bias": 0.4}, periods=5, require=["log_loss < 0.4", "accuracy > 0.5"]),
}


@pytest.mark.parametrize("name", WATCHES)
def test_watches(name):
    holds(f"monitoring-{name}", WATCHES[name]())


def _certain_days():
    y, p = two(70, 90)
    p[:2], y[:2] = [0.0, 1.0], [1, 0]
    return monitor({name: Tally.of(y[at::3], p[at::3]) for at, name in enumerate("abc")})


def _classes_by_day(sharp):
    return {f"2026-03-{at + 1:02}": Tally.of(*three(71 + at, 150, sharp if at > 4 else 1.0)) for at in range(10)}


def _numbers_by_day(bias=0.0, width=1.0, **options):
    """Ten days of forecasts that are wrong from the sixth on."""
    y, right = normal(80, 600)
    wrong, day = np.arange(600) >= 300, np.arange(600) // 60
    mean, sd = right.parameters["mean"] + bias * wrong, np.where(wrong, width, 1.0)
    return monitor(y, Distribution("normal", mean=mean, sd=sd), time=day, **options)


def _predictions_by_day(move, groups=False):
    rng = np.random.default_rng(75)
    found = {}
    for at in range(10):
        q = expit(rng.normal(move * (at > 5), 1, 80))
        found[f"d{at}"] = Predictions.of(q)
    return found


MORE_WATCHES = {
    "certain": _certain_days,
    "classes": lambda: monitor(_classes_by_day(3.0)),
    "numbers": lambda: _numbers_by_day(bias=1.0),
    "drift": lambda: drift(_predictions_by_day(1.5)),
    "drift-none": lambda: drift(_predictions_by_day(0.0)),
    "check": lambda: check(
        few(*two(72)), require=["log_loss < 1", "log_loss.lower > 2", "verdict in (none)", "brier_score < 0.2"]
    ),
    "check-met": lambda: check(*two(73), require=["log_loss < 1"]),
    "check-rows": lambda: check(*two(74, slope=2), require=["cost < 0.01", "slope.lower > 0.8", "rows > 500"]),
}


@pytest.mark.parametrize("name", MORE_WATCHES)
def test_more_watches(name):
    holds(f"monitoring-{name}", MORE_WATCHES[name]())


def texts(loss, n=6):
    words = ["Hello", "Good day", "How do you do", "It rains", "Snow", "What a long sentence that is"]
    return [
        Text.of(f"{at}", each, [-loss * (1 + at / 10) * len(part) for part in each.split()])
        for at, each in enumerate(words[:n])
    ]


def questions(*p):
    return [Question(f"{at}", ("a", "b"), np.log([each, 1 - each]), (at % 2,)) for at, each in enumerate(p)]


def _answers(seed, n=60):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.3, 1, n), 2)
    return [
        Answer(f"q{at}", float(rng.random() < c**2), float(c), grader="judge", model="m")
        for at, c in enumerate(confidence)
    ]


def _board():
    rng = np.random.default_rng(92)
    n = 60
    p = np.round(rng.uniform(0.3, 1, 3 * n), 2)
    right = (rng.random(3 * n) < p**1.5).astype(float)
    names = ["m"] * n + ["k"] * n + ["l"] * n
    other = np.where(rng.random(3 * n) < 0.9, right, 1 - right)
    return leaderboard(
        GradedAnswers({"judge": right, "other": other}, {"stated": p, "likely": p**2}, np.tile(np.arange(n), 3), names)
    )


REST = {
    "decision": lambda: decide(*two(90), cost_fp=1, cost_fn=4, recalibrated=None),
    "decision-capacity": lambda: decide(
        *two(91), cost_fp=1, cost_fn=2, capacity=5, period=np.arange(300) // 40, recalibrated=None
    ),
    "decision-curve": lambda: decision_curve(*two(92)),
    "decision-curves": lambda: decision_curve(*models(93, a=1.0, b=0.4, c=-1.0), thresholds=[0.1, 0.2, 0.5]),
    "plan": lambda: plan(rate=0.1, bias=0.02),
    "plan-slope": lambda: plan(rate=0.2, auc=0.8, slope=0.8, precision={"slope": 0.1}, thresholds=[0.2]),
    "validation": lambda: assess_by(*two(94), by=np.arange(300) % 3, resamples=0).validation,
    "pool": lambda: pool(None, {"a": two(95)[1], "b": two(95, slope=2)[1]}),
    "pool-weights": lambda: pool(None, {"a": two(95)[1], "b": two(95, slope=2)[1]}, weights=[0.3, 0.7]),
    "errors": lambda: calibration_errors(*two(96, slope=2))["each-class"],
    "decomposition": lambda: decompose(*two(97), score="log_loss"),
    "decomposition-brier": lambda: decompose(*three(97)),
    "test": lambda: calibration_test(*two(98, slope=1.5)),
    "diagnosis": lambda: diagnose(*two(99, slope=2, bias=1)),
    "diagnosis-classes": lambda: diagnose(*three(101, sharp=3)),
    "profile": lambda: risk_profile(*two(102)),
    "coverage": lambda: few(*two(103)).risk_coverage,
    "where": lambda: find_groups(*_sites(104), among={"site": np.arange(300) % 4, "half": np.arange(300) // 150}),
    "where-none": lambda: find_groups(*two(105), among={"site": np.arange(300) % 4}),
    "skill": lambda: skill(*models(106, a=1.0, b=3.0), by={"site": np.arange(300) % 2}),
    "skill-of-one": lambda: skill(*two(107), metrics=["brier_score"]),
    "counts": lambda: Tally.of(*two(108), source="rain.csv").tagged(name="v1", model="m", period="2026-03"),
    "predictions": lambda: Predictions.of(two(109)[1]),
    "texts": lambda: assess_texts(texts(0.5)),
    "texts-two": lambda: compare_texts(texts(0.5), texts(0.6), names=["new", "old"]),
    "texts-one": lambda: assess_texts(texts(0.5, 1)),
    "questions": lambda: assess_questions(questions(0.6, 0.3, 0.7, 0.9, 0.4), resamples=40),
    "questions-two": lambda: compare_questions(questions(0.6, 0.3, 0.7, 0.2), questions(0.5, 0.3, 0.8, 0.1)),
    "answers": lambda: assess_answers(_answers(110), resamples=40),
    "answers-two": lambda: compare_questions(_answers(111), _answers(112)),
    "board": _board,
}


@pytest.mark.parametrize("name", REST)
def test_the_rest(name):
    holds(name, REST[name]())


PICTURES = {
    "reliability": lambda: few(*two(3, slope=2.0)).plot(Figure(figsize=(5.2, 6.4)).subplots()),
    "averages": lambda: few(*two(3, slope=2.0)).plot(Figure().subplots(), kind="averages"),
    "nelson": lambda: few(*two(4, bias=1.0)).plot(Figure().subplots(), axes="nelson"),
    "bars": lambda: few(*two(4, bias=1.0), measured="equal-population:bins=7").plot(Figure().subplots(), kind="bars"),
    "bars-calm": lambda: few(*two(1), resamples=0, view="top-label").plot(Figure().subplots(), kind="bars"),
    "classes": lambda: few(*three(15, sharp=2.2), view="each-class").plot(Figure().subplots()),
    "classes-nelson": lambda: few(*three(16), view="each-class").plot(Figure().subplots(), axes="nelson"),
    "many-classes": lambda: few(*three(12, 200, 1.5, 8), view="each-class", resamples=0).plot(Figure().subplots()),
    "profile": lambda: risk_profile(*two(102)).plot(Figure().subplots(), label="mine"),
    "profile-measured": lambda: few(*two(102)).profile.plot(
        Figure().subplots(), measured=few(*two(102)).measured_profile
    ),
    "coverage": lambda: few(*two(103)).risk_coverage.plot(Figure().subplots()),
    "decision-curve": lambda: decision_curve(*two(92)).plot(Figure().subplots(), standardized=True),
    "comparison-ratios": lambda: compare(*models(32, a=1.0, b=3.0, c=0.3)).plot(Figure().subplots(), kind="ratios"),
    "comparison-brier": lambda: compare(*models(32, a=1.0, b=3.0)).plot(Figure().subplots(), score="brier_score"),
    "comparison-profiles": lambda: compare(*models(32, a=1.0, b=3.0)).plot(Figure().subplots(), kind="profiles"),
    "comparison-reliability": lambda: compare(*models(32, a=1.0, b=3.0)).plot(Figure().subplots(), kind="reliability"),
    "sequential": lambda: compare_sequentially(*models(37, a=1.0, b=3.0)).plot(Figure().subplots()),
    "skill": lambda: skill(*models(106, a=1.0, b=3.0)).plot(Figure().subplots(), rule="brier_score"),
    "numbers": lambda: assess(*normal(42, width=0.5)).plot(Figure().subplots()),
    "groups": lambda: GROUPS["sites"]().plot(Figure(), most=3),
    "groups-findings": lambda: GROUPS["sites"]().plot(Figure(), kind="findings"),
    "where": lambda: REST["where"]().plot(Figure()),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name):
    found = PICTURES[name]()
    same_as_kept(KEPT, f"picture-{name}", f"{drawn(getattr(found, 'figure', found))}\n")
