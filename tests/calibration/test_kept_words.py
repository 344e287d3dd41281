"""What is said of dependence and of settings, what is refused, and rows read in other ways, beside what is kept."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri

from helpers import softmax_forecasts
from kept import same_as_kept
from many_classes import simulate
from unperplexed import Distribution, Forecasts, InputError, Samples, Tally, calibration_test, diagnose
from unperplexed.calibration import dependence_search, null_samples, undeclared
from unperplexed.calibration.dependence import Dependence, copied_rows, events_of_classes
from unperplexed.calibration.diagnosis import diagnose as diagnosing
from unperplexed.calibration.diagnosis import distributions
from unperplexed.calibration.diagnosis.binary_data import line_of_tally, rows_of_values
from unperplexed.calibration.distribution_rows import check_alike, read_distributions
from unperplexed.calibration.estimators import ESTIMATORS, named_estimator
from unperplexed.calibration.null_samples import calibrated
from unperplexed.calibration.resampling import coarse_counts
from unperplexed.calibration.undeclared import SearchedRows, read_rows, searched
from unperplexed.calibration.where import rules
from unperplexed.calibration.where.rules import SearchedRows as Searched
from unperplexed.calibration.worlds import log_means

KEPT = Path(__file__).with_name("words.json")


def outcome(of, *given, **named):
    """What a call gives, or what it is refused with."""
    try:
        return of(*given, **named)
    except InputError as error:
        return f"refused: {error}"


def test_what_is_said_of_dependence():
    def found(columns=("question",), block=None, taken=True, also=()):
        return Dependence(columns, block, taken, 1200, 80.5, 2.5, 0.3, also, ("question", "day"), True, 1.0, 6000)

    searches = [
        dependence_search.DependenceSearch(),
        dependence_search.DependenceSearch(reason="declined"),
        dependence_search.DependenceSearch(("a",), False),
        dependence_search.DependenceSearch(("a", "b"), True, copies=1234),
        dependence_search.DependenceSearch((), True),
    ]
    for each, (p, alone) in product(
        (
            found(),
            found(("a", "b")),
            found((), 100),
            found(taken=False),
            found((), 100, taken=False, also=("x",)),
            found(also=("x", "y")),
        ),
        ((np.nan, np.nan), (0.03, 0.03), (0.2, 0.0001)),
    ):
        searches.append(dependence_search.DependenceSearch(("a", "b"), True, each, p, alone, 5))
    said = []
    for each in searches:
        words = [dependence_search.dependence_words(each, tested) for tested in ("", "skill")]
        more = dependence_search.independent_words(each), dependence_search.looked_at_words(each)
        said.append((words, more, each.taken, each.tested(0.5, 0.25).p_value))
    same_as_kept(KEPT, "dependence", said)


def test_estimators_by_their_names():
    names = [
        *ESTIMATORS,
        "equal-width:bins=20",
        "bayesian:bins=20,prior=0.5",
        "kernel:bandwidth=auto",
        "Equal_Width",
        "splines",
        "equal-width:bins",
        "equal-width:bins=x",
        "equal-width:bins=2,bins=3",
        "equal-width:width=2",
        "equal-width:bins=0",
        "equal-width:bins=2.5",
        "kernel:bandwidth=0",
        "kernel:bandwidth=-1",
        "kernel:bandwidth=inf",
        "nearest-neighbors:neighbors=0",
        3,
        "isotonic:bins=3",
        "equal-width:",
    ]
    found = [outcome(lambda each=each: str(named_estimator(each))) for each in names]
    one, same, other = (named_estimator(f"equal-width:bins={n}") for n in (3, 3, 4))
    assert (one == same, one == other, one == 3, hash(one) == hash(same)) == (True, False, False, True)
    same_as_kept(KEPT, "estimators", found)


def test_logarithms_of_means_of_all_orders():
    weight, value = np.array([[0.25, 0.25, 0.5, 0.0]]), np.array([[0.2, 0.5, 1.0, 0.0]])
    share, x = weight[0, :3], value[0, :3]
    orders = np.array([-np.inf, -40.0, -1.0, -0.04, 0.0, 1e-9, 0.04, 0.06, 1.0, 2.0, 3.0, np.inf])
    known = [0.2, *((share @ x**r) ** (1 / r) for r in (-40, -1, -0.04)), np.exp(share @ np.log(x))]
    known += [known[4], *((share @ x**r) ** (1 / r) for r in (0.04, 0.06, 1, 2, 3)), 1.0]
    assert np.exp(log_means(orders, weight, value))[0] == pytest.approx(known, rel=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["rows", "weights", "clusters", "many"])
def test_tests_by_samples(classes, kind, monkeypatch):
    rng = np.random.default_rng(classes)
    y, p = softmax_forecasts(rng, 240, classes, temperature=1.4)
    more = {"weights": {"sample_weight": rng.exponential(size=240)}, "clusters": {"clusters": np.arange(240) // 6}}.get(
        kind, {}
    )
    if kind == "many":  # of which a part is kept
        monkeypatch.setattr("unperplexed.calibration.world_samples.ROOM", 60)
    found = {}
    for measured in ("isotonic", "equal-width:bins=5"):
        found[measured] = calibration_test(y, p, test="resampled", measured=measured, resamples=40, seed=1, **more)
    tally = Tally.of(y, p, parts=["diagnosis"] if classes > 2 else [])
    found["samples"] = calibrated(tally, coarse_counts(tally), 6, np.random.default_rng(2))
    found["refused"] = [outcome(calibration_test, y, p, test="resampled", resamples=n) for n in (0, 39)]
    found["refused"] += [
        outcome(calibration_test, y, p, test="scores"),
        outcome(calibration_test, y[:8], p[:8], clusters=np.arange(8) // 4),
    ]
    same_as_kept(KEPT, f"sampled {classes} {kind}", found)


@pytest.mark.parametrize("total", [0.4, 5.0, 60.0, 4000.0])
def test_quantiles_of_rare_counts_are_those_of_the_binomial_distribution(total):
    from scipy.stats import binom

    for p in (0.002, 0.3, 0.5, 0.7, 0.999):
        if total * p * (1 - p) < 25:
            share = np.array([0.001, 0.2, 0.5, 0.9, 0.9999])
            assert null_samples._quantiles(total, p, share).tolist() == binom.ppf(share, round(total), p).tolist()


def test_rows_that_are_searched_for_dependence(monkeypatch):
    rng = np.random.default_rng(3)
    question = np.arange(600) // 6
    s = np.round(rng.normal(size=600), 1)
    y = (rng.random(600) < expit(s + 1.5 * rng.normal(size=100)[question])).astype(int)
    y3, p3 = softmax_forecasts(rng, 600, 4)
    columns = {"question": question, "part": np.arange(600) % 5, "copy": y + (rng.random(600) < 0.05)}
    p = expit(s)
    found = {
        "undeclared": read_rows(y, p, {"columns": columns}).dependence,
        "groups": read_rows(y, p, {"columns": columns}, {"part": columns["part"]}).dependence,
        "declined": read_rows(y, p, {"clusters": None}).dependence,
        "declared": read_rows(y, p, {"clusters": question}).forecasts.clusters(np.arange(9)),
        "classes": read_rows(y3, p3, {"columns": {"question": question}}).dependence,
        "dropped": read_rows(
            np.where(y + question == 1, None, y), p, {"columns": columns, "invalid": "drop"}
        ).dependence,
        "events": events_of_classes(y3[:9], p3[:9]),
        "copies": [copied_rows(y == 1, s, y, np.round(10 * s).astype(int) % n) for n in (1, 3, 500)],
        "copied": copied_rows(np.repeat(y == 1, 2), np.repeat(s, 2), np.repeat(y, 2), np.repeat(np.arange(600), 2)),
        "refused": [
            outcome(read_rows, y, p, {"columns": {"a": [1, 2]}}),
            outcome(read_rows, y, p, {"columns": columns, "clusters": question}),
            outcome(read_rows, y, p, {"issued": [1]}),
            outcome(read_rows, y, p, {}, {"a": [1]}, "time"),
        ],
    }
    monkeypatch.setattr("unperplexed.calibration.dependence._SEARCHED", 400)
    monkeypatch.setattr("unperplexed.calibration.dependence._SAMPLED", 16)
    rows = SearchedRows.joined([SearchedRows.of(block) for block in Forecasts(y, p).blocks()])
    found["sampled"] = [
        searched(rows, {name: columns[name] for name in some}) for some in (["question", "part"], ["part"], [])
    ]
    found["in a sample"] = rows.sampled(0.4)
    in_order = SearchedRows.joined([SearchedRows.of(block) for block in Forecasts(np.sort(y), p).blocks()])
    found["sorted"] = searched(in_order, {"part": columns["part"]})
    found["copies of outcomes"] = [
        undeclared._copies(each, y) for each in (y, 1 - y, columns["copy"], columns["part"], question)
    ]
    same_as_kept(KEPT, "searched", found)


def test_other_ways_to_a_diagnosis():
    rng = np.random.default_rng(4)
    p, y = simulate(rng, 400, 4, confidence=-0.5)
    s = np.round(rng.normal(0, 1.5, 300), 2)
    of_two = (rng.random(300) < expit(0.5 * s)).astype(int)
    chunks = diagnosing.rows_of(lambda: [Forecasts(y, p)])
    turned = diagnosing.rows_of(lambda: [Forecasts(y, p[:, [1, 0, 2, 3]])])
    two = diagnosing.rows_of(lambda: [Forecasts(of_two, expit(s))])
    tally = Tally.of(y, p, parts=["diagnosis"])
    found = {
        "lines": [
            line_of_tally(each)
            for each in (tally, Tally.of(of_two, expit(s)), Tally.of(y, p, sample_weight=1.0 + np.arange(400) % 3))
        ],
        "values": rows_of_values(expit(s), of_two),
        "p": [diagnosing.p_value_of_rows(chunks, (0, 1, 2, 3)), diagnosing.p_value_of_rows(two, (0, 1))],
        "columns": [diagnosing.permuted_columns(each, tuple("abcd")) for each in (chunks, turned)],
        "of two": diagnosing.permuted_columns(two, (0, 1)),
        "kept": diagnosing.diagnosis_of_rows(chunks, (0, 1, 2, 3), tally),
        "without": [
            outcome(diagnosing.diagnosis_of_tally, each)
            for each in (
                Tally.of(y, p, parts=["shards"]),
                Tally.of(y, p, clusters=np.arange(400) // 4, parts=["shards"]),
            )
        ],
        "refused": [
            outcome(diagnose, of_two),
            outcome(diagnose, of_two, expit(s), sample_weight=np.zeros(300)),
            outcome(diagnose, tally, p),
        ],
    }
    made = diagnose(of_two, expit(s), clusters=None)
    names = (
        "headline",
        "short",
        "temperature",
        "temperature_label",
        "slope",
        "intercept",
        "overall_p_value",
        "miscalibrated",
        "errors",
    )
    found["told"] = {name: getattr(made, name, "") for name in names}, made.to_dict(), str(made)
    found["logits"] = (
        diagnose(y, np.log(p) + 3, scale="logits", clusters=None),
        diagnose(y, np.log(p), scale="log-probs", clusters=None),
    )
    wide, of_wide = simulate(rng, 300, 60, confidence=-0.4)
    found["wide"] = diagnose(of_wide, wide, clusters=None)
    same_as_kept(KEPT, "ways", found)


def test_groups_in_cells_of_many_rows(monkeypatch):
    monkeypatch.setattr(rules, "_CELL_ROWS", 100)
    rng = np.random.default_rng(5)
    s = rng.normal(0, 1.5, 500)
    y, w = (rng.random(500) < expit(s + 0.7 * (s > 1))).astype(float), rng.exponential(size=500)
    inside, found = rng.random(500) < 0.3, {}
    for name, rows in {
        "plain": Searched.of(s, y),
        "weights": Searched.of(s, y, w),
        "clusters": Searched.of(s, y, None, np.arange(500) // 5),
    }.items():
        model = rows.model
        part = model.at(np.arange(400))
        group = part.with_group(inside[:400], slope=True).with_group(~inside[:400] & (s[:400] > 0), slope=False)
        other = group.with_rows(1, s[:400] > 0.5)
        found[name] = (
            model.fit.theta,
            part.fit.theta,
            group.effect(0),
            group.effect(1),
            other.effect(1),
            group.loss,
            other.errors,
            rows.error,
        )
    same_as_kept(KEPT, "cells", found)


def test_many_rows_of_distributions():
    """What is left over is tested from 500 rows on."""
    rng = np.random.default_rng(6)
    mean, sd = np.round(rng.normal(5, 2, 700), 1), np.round(rng.random(700) + 0.5, 2)
    z = ndtri(np.clip(ndtr(rng.normal(size=700)) ** 1.6 + 0.05 * np.sin(40 * mean), 1e-9, 1 - 1e-9))
    y, found = mean + sd * z, {}
    far = np.where(np.arange(700) < 2, mean + 30 * sd, mean + sd * rng.normal(size=700))
    members = np.round(mean[:, None] + sd[:, None] * rng.normal(size=(700, 9)), 1)
    for name, (values, forecast) in {
        "bent": (y, Distribution("normal", mean=mean, sd=sd)),
        "members": (np.round(y, 1), Samples(members)),
        "far": (far, Distribution("normal", mean=mean, sd=sd)),
        "counts": (rng.poisson(3.0, 700), Distribution("poisson", mean=2.0 + sd)),
    }.items():
        read = read_distributions(values, forecast, {"clusters": None})
        found[name] = distributions.diagnose_distributions(read.rows, read.groups)
    read = read_distributions(
        y, Distribution("normal", mean=mean, sd=sd), {"clusters": np.arange(700) // 3, "columns": None}
    )
    found["clusters"] = distributions.diagnose_distributions(read.rows, read.groups), read.notes
    normal = Distribution("normal", mean=mean, sd=sd)
    found["refused"] = [
        outcome(read_distributions, y, normal, {"labels": [0, 1]}),
        outcome(read_distributions, y[:1], normal.subset(np.arange(1)), {}),
        outcome(read_distributions, np.where(np.arange(700) > 1, np.nan, y), normal, {"invalid": "drop"}).n_given,
        outcome(read_distributions, y, normal, {"issued": np.arange(700)}),
        outcome(read_distributions, y, normal, {"issued": np.full(700, np.nan), "target_date": np.arange(700)}),
        outcome(read_distributions, -np.ones(700), Distribution("gamma", shape=sd, scale=1.0), {}),
        outcome(check_alike, {"a": normal, "b": 3}),
        outcome(check_alike, {"a": normal, "b": normal.subset(np.arange(4))}),
    ]
    same_as_kept(KEPT, "many numbers", found)


def test_log_odds_of_values_are_exact():
    p = np.array([0.25, 0.5, 0.25, 0.75])
    rows = rows_of_values(p, np.array([1, 0, 0, 1]))
    assert rows.s == pytest.approx(logit([0.25, 0.5, 0.75]))
    assert (rows.total.tolist(), rows.positive.tolist()) == ([2, 1, 1], [1, 0, 1])
