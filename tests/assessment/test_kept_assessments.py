"""Assessments, decisions and groups, figure by figure, beside those that are kept."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtri

from helpers import softmax_forecasts
from kept import same_as_kept
from opened import opened, told
from unperplexed import (
    PIT,
    Distribution,
    Ordered,
    Quantiles,
    Samples,
    Tally,
    assess,
    assess_by,
    decide,
    decision_curve,
    decisiveness,
    find_groups,
    floor_sensitivity,
    geometric_accuracy,
    plan,
    risk_profile,
    robustness,
)

KEPT = Path(__file__).with_name("assessments.json")

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")


def two(seed=1, n=240, digits=2):
    """Overconfident forecasts of two classes, some of them certain."""
    rng = np.random.default_rng(seed)
    s = rng.normal(0, 1.8, n)
    p = np.round(expit(s), digits)
    p[:3], p[3:6] = 0.0, 1.0
    return (rng.random(n) < expit(0.6 * s + 0.4)).astype(int), p, rng


def three(seed=2, n=200, classes=3):
    y, p = softmax_forecasts(np.random.default_rng(seed), n, classes, temperature=1.6)
    return y, np.round(p, 3) / np.round(p, 3).sum(axis=1, keepdims=True)


def rows(kind):
    """Rows, and options of a reading."""
    y, p, _ = two()
    cluster = np.arange(240) // 5
    of = {
        "two": ((y, p), {"resamples": 40, "reference": "base-rate", "confidence": 0.9}),
        "clusters": ((y, p), {"clusters": cluster, "resamples": 40}),
        "weights": ((y, p), {"sample_weight": np.arange(240) % 4 + 1, "resamples": 0, "measured": "equal-width"}),
        "three": (three(), {"resamples": 40, "metrics": ["ranked_probability_score"]}),
        "three in clusters": (three(), {"clusters": np.arange(200) // 4, "resamples": 40, "view": "each-class"}),
        "top label": (three(classes=4), {"view": "top-label", "resamples": 0, "floor": (0.01, 0.99)}),
        "few": ((y[:9], p[:9]), {"resamples": 40, "floor": 0.05}),
        "one outcome": ((np.ones(30, int), p[:30]), {"resamples": 0, "labels": [0, 1]}),
    }  # fmt: skip
    given, settings = of[kind]
    return given, {"clusters": None, **settings}


KINDS = ["two", "clusters", "weights", "three", "three in clusters", "top label", "few", "one outcome"]


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_an_assessment_tells(kind):
    given, settings = rows(kind)
    found = assess(*given, **settings)
    beside = ("diagnosis", "skill", "dependence", "risk_coverage", "surprises", "distribution", "findings", "short")
    told_by = opened(found, () if kind == "two" else beside, 4)
    flat = opened(found.to_flat()) if kind in ("two", "one outcome") else None
    same_as_kept(KEPT, f"assessment {kind}", {"told": told_by, "flat": flat})


@pytest.mark.parametrize("kind", ["two", "clusters"])
def test_groups_of_rows(kind):
    given, settings = rows(kind)
    n = len(given[0])
    site = np.array(list("aaabcd"))[np.arange(n) % 6]
    season = np.array(["warm", ""])[np.arange(n) // 37 % 2]
    more, beside = {"clusters": settings["clusters"], "resamples": 0, "confidence": 0.9}, ("assessment", "diagnosis")
    by = assess_by(*given, by={"site": site, "season": season}, sort="cost", **more)
    shrunk = assess_by(*given, by=site, shrink=True, **more)
    found = {"of two": opened(by, (*beside, "whole", "total")), "shrunk": opened(shrunk.groups, beside)}
    if kind == "two":
        for each in ("prediction_accuracy", "rows", "group"):
            found[each] = [group.key for group in assess_by(*given, by=site, sort=each, **more).groups]
    if kind == "clusters":
        found["values"] = opened(by.to_dict()["groups"][0], beside)
    same_as_kept(KEPT, f"groups {kind}", found)


COSTS = {
    "plain": {"cost_fp": 1, "cost_fn": 4},
    "benefits": {"cost_fp": 1, "cost_fn": 2, "cost_tp": -0.5, "cost_tn": -0.25, "confidence": 0.8},
    "of rows": {"cost_fp": 1, "cost_fn": np.arange(240) % 7 + 1.0},
    "clusters": {"cost_fp": 2, "cost_fn": 1, "clusters": np.arange(240) // 5},
    "weights": {"cost_fp": 2, "cost_fn": 1, "sample_weight": np.arange(240) % 3 + 1},
    "capacity": {"cost_fp": 1, "cost_fn": 4, "capacity": 25},
    "capacity of days": {"cost_fp": 1, "cost_fn": 4, "capacity": 2, "period": np.arange(240) // 8},
    "given": {"cost_fp": 1, "cost_fn": 4, "recalibrated": np.linspace(0.02, 0.98, 240)},
    "alone": {"cost_fp": 3, "cost_fn": 4, "recalibrated": None},
}  # fmt: skip


@pytest.mark.parametrize("kind", COSTS)
def test_decisions_and_their_costs(kind):
    y, p, _ = two()
    settings = {"clusters": None, **COSTS[kind]}
    found = {"decision": opened(decide(y, p, **settings))}
    if kind in ("plain", "clusters", "weights", "given"):
        curve = {name: each for name, each in settings.items() if not name.startswith("cost")}
        found["curve"] = opened(decision_curve(y, p, thresholds=[0.05, 0.2, 0.5, 0.9], **curve))
    if kind == "plain":
        tally = Tally.of(y, p)
        found["tally"] = opened(decide(tally, cost_fp=1, cost_fn=4)), opened(decision_curve(tally))
        found["few"] = opened(decide(y[:12], p[:12], clusters=None, cost_fp=1, cost_fn=1))
        found["refused"] = [
            told(decide, y, p, cost_fp=a, cost_fn=b, cost_tp=c, **more)
            for a, b, c, more in (
                (0, 0, 0, {}),
                (1, 1, 2, {}),
                (1, np.nan, 0, {}),
                (1, [1, 2], 0, {}),
                (1, 1, 0, {"capacity": 0}),
                (1, 1, 0, {"period": y}),
                (1, 1, 0, {"confidence": 1}),
            )
        ]
        found["thresholds"] = [
            told(decision_curve, y, p, thresholds=t) for t in ([0, 0.1], [0.1, 1], [], [0.2, 0.1], "x")
        ]
    same_as_kept(KEPT, f"decision {kind}", found)


PLANS = [
    {"rate": 0.2},
    {"rate": 0.2, "auc": 0.75},
    {"rate": 0.03, "auc": 0.9, "bias": 0.01, "slope": 0.8, "power": 0.9, "design_effect": 1.7},
    {"rate": 0.5, "auc": 0.6, "precision": {"oe": 0.3, "auc": 0.05, "net_benefit": 0.1}, "thresholds": [0.2, 0.6]},
    {"rate": 0.2, "slope": 0.8},
    {"rate": 0.2, "auc": 0.5},
    {"rate": 0},
    {"rate": 0.2, "auc": 0.75, "power": 1},
    {"rate": 0.2, "bias": 0.9},
    {"rate": 0.2, "auc": 0.7, "slope": 1},
    {"rate": 0.2, "auc": 0.7, "design_effect": 0.9},
]


def test_plans_and_profiles():
    y, p, rng = two()
    y3, p3 = three()
    w = rng.integers(1, 4, 240)
    orders = [-3, -0.5, 0, 0.5, 2, 7]
    found = {
        "plans": [opened(told(plan, **each)) for each in PLANS],
        "profiles": [
            opened(told(risk_profile, *given, **more))
            for given, more in (
                ((y, p), {}),
                ((y, p), {"orders": orders, "sample_weight": w, "floor": 0.02}),
                ((y3, p3), {"orders": orders, "floor": 0.0}),
                ((y[:3], p[:3]), {"floor": (0.1, 0.9)}),
                ((y, p), {"orders": [np.nan]}),
                ((y, p), {"floor": 0.6}),
            )
        ],
        "averages": [
            [of(*given, **more) for of in (geometric_accuracy, decisiveness, robustness)]
            for given, more in (((y, p), {}), ((y3, p3), {"floor": 0.05}), ((y, p), {"sample_weight": w}))
        ],
        "floors": [opened(floor_sensitivity(y, p)), opened(floor_sensitivity(y3, p3))],
    }
    found["intervals"] = risk_profile(y, p).interval(0.8), risk_profile(y[:3], p[:3]).interval()
    same_as_kept(KEPT, "plans and profiles", found)


@pytest.mark.parametrize("kind", ["two", "clusters", "three", "number"])
def test_groups_that_are_found(kind):
    rng = np.random.default_rng(3)
    n = 300
    kinds, x = np.array(list("abcd"))[np.arange(n) % 4], np.round(rng.normal(size=n), 1)
    s = rng.normal(0, 1.2, n)
    wrong = 2.0 * (kinds == "b") + 0.0 * x
    more = {"clusters": np.arange(n) // 3 if kind == "clusters" else None}
    if kind == "number":
        given = s + wrong + rng.normal(size=n), Distribution("normal", mean=s, sd=1.0)
    elif kind == "three":
        y, p = three(n=n)
        given = np.where((kinds == "b") & (rng.random(n) < 0.5), 2, y), p
    else:
        given = (rng.random(n) < expit(s + wrong)).astype(int), np.round(expit(s), 3)
    found = find_groups(*given, among={"kind": kinds, "x": x}, max_groups=2, **more)
    same_as_kept(KEPT, f"found {kind}", opened(found, ("residuals", "dependence") if kind != "two" else ()))


FORECASTS = ["normal", "quantiles", "samples", "pit", "ordered", "few"]


@pytest.mark.parametrize("form", FORECASTS)
def test_assessments_of_numbers(form):
    rng = np.random.default_rng(5)
    n = 9 if form == "few" else 260
    mean, sd = np.round(rng.normal(10, 3, n), 1), np.round(0.5 + rng.random(n), 2)
    y = np.round(mean + 0.3 * sd + 1.5 * sd * rng.normal(size=n), 2)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    forecast = Distribution("normal", mean=mean, sd=sd)
    if form == "quantiles":
        forecast = Quantiles(levels, mean[:, None] + sd[:, None] * ndtri(levels))
    if form == "samples":
        forecast = Samples(np.round(mean[:, None] + sd[:, None] * rng.normal(size=(n, 11)), 1))
    if form == "pit":
        forecast, y = PIT(np.round(rng.beta(2, 1.4, n), 3)), None
    if form == "ordered":
        y, p = three(n=n, classes=4)
        forecast = Ordered(p, [0, 1, 2, 3])
    more = {"clusters": np.arange(n) // 4} if form == "quantiles" else {"clusters": None}
    beside = ("diagnosis", "skill", "dependence", "search", "shrinkage_text")
    found = {"all": opened(assess(y, forecast, **more), beside, 5)}
    if form in ("normal", "quantiles"):
        site = np.array(list("abc"))[np.arange(n) % 3]
        found["by"] = opened(
            assess_by(y, forecast, by={"site": site}, sort="score", **more), (*beside, "whole", "assessment"), 5
        )
    same_as_kept(KEPT, f"numbers {form}", found)
