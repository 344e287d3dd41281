"""Skill scores of every kind of rows, figure by figure, beside those that are kept."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from helpers import softmax_forecasts
from kept import same_as_kept
from opened import opened, told
from unperplexed import Distribution, Samples, compare, skill

KEPT = Path(__file__).with_name("skill.json")
N = 180
DAY = np.arange(N) // 6
SITE = np.array(list("abc"))[np.arange(N) % 3]


def two():
    rng = np.random.default_rng(1)
    s = rng.normal(0, 1.5, N)
    y = (rng.random(N) < expit(s)).astype(int)
    return y, {"a": np.round(expit(s), 3), "b": np.round(expit(0.5 * s + 0.3), 3), "c": np.full(N, 0.4)}


SETTINGS = {
    "plain": {},
    "climatology": {"reference": {"climatology": SITE}, "by": {"site": SITE}, "confidence": 0.9},
    "rival": {"reference": "b", "metrics": ["half_brier_score"], "by": {"site": SITE, "half": DAY % 2}},
    "given": {"reference": np.linspace(0.2, 0.7, N), "sample_weight": np.arange(N) % 4 + 1, "floor": 0.05},
    "clusters": {"clusters": DAY, "by": {"site": SITE}},
    "either": {"clusters": [DAY, SITE]},
    "lag": {"lag": 3},
    "lag within": {"lag": 20, "within": SITE},
    "few clusters": {"clusters": DAY // 10},
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_skill_of_probabilities(kind):
    y, p = two()
    dependence = {} if {"clusters", "lag"} & {*SETTINGS[kind]} else {"clusters": None}
    found = {"all": opened(skill(y, p, **dependence, **SETTINGS[kind]), (), 6)}
    if kind == "plain":
        y3, p3 = softmax_forecasts(np.random.default_rng(3), N, 3)
        found["three"] = opened(skill(y3, p3, clusters=None, metrics=["ranked_probability_score"]), (), 6)
        p["a"][np.flatnonzero(y)[:2]] = 0
        found["zeros"] = opened(skill(y, p["a"], clusters=None), (), 6)
    same_as_kept(KEPT, f"skill {kind}", found)


REFUSED = [
    {"reference": "nobody"},
    {"reference": {"climatology": SITE[:3]}},
    {"reference": [0.5]},
    {"lag": 0},
    {"lag": -1},
    {"lag": 2.5},
    {"within": SITE},
    {"lag": 2, "clusters": DAY},
    {"clusters": [DAY, SITE, DAY]},
    {"lag": N},
    {"clusters": np.zeros(N)},
    {"floor": 0.6},
    {"confidence": 0},
    {"metrics": ["nothing"]},
    {"by": {"site": SITE[:5]}},
]


def test_what_is_refused():
    y, p = two()
    found = [told(skill, y, p, **each) for each in REFUSED]
    rivals = [
        told(skill, y, {"a": p["a"], "b": p["b"][:5]}),
        told(compare, y, {"a": p["a"], "b": np.where(np.arange(N) < 3, np.nan, p["b"])}, clusters=None),
        told(skill, y, {"a": p["a"], "b": np.where(np.arange(N) < 3, np.nan, p["b"])}, invalid="drop", clusters=None),
        told(skill, np.where(np.arange(N) < 9, 7, y), p["a"], ignore_label=7, clusters=None),
    ]
    words = [opened(each, ("dependence",)) for each in (*found, *rivals)]
    same_as_kept(KEPT, "refused", words)


@pytest.mark.parametrize("form", ["normal", "samples"])
def test_skill_of_distributions(form):
    rng = np.random.default_rng(5)
    mean, sd = np.round(rng.normal(10, 3, N), 1), np.round(0.5 + rng.random(N), 2)
    y = np.round(mean + 1.3 * sd * rng.normal(size=N), 2)
    of = Distribution("normal", mean=mean, sd=sd)
    if form == "samples":
        of = Samples(np.round(mean[:, None] + sd[:, None] * rng.normal(size=(N, 9)), 1))
    other = Distribution("normal", mean=10.0 + 0 * mean, sd=3.0 + 0 * sd)
    found = {
        str(at): opened(told(skill, y, of, **more), ("dependence",), 5)
        for at, more in enumerate(
            (
                {"clusters": None},
                {"clusters": DAY, "reference": other, "confidence": 0.8},
                {"clusters": None, "reference": {"climatology": SITE}},
                {"clusters": None, "reference": {"persistence": SITE}},
                {"clusters": None, "metrics": ["interval_score(0.8)"]},
                {"clusters": None, "reference": "base-rate"},
                {"clusters": None, "reference": of},
                {"clusters": None, "sample_weight": np.arange(N) % 3 + 1},
            )
        )
    }
    same_as_kept(KEPT, f"numbers {form}", found)
