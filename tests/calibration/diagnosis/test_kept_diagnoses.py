"""Diagnoses of rows with planted errors, figure by figure, beside those that are kept."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, softmax

from kept import same_as_kept
from many_classes import simulate
from unperplexed import Tally, diagnose
from unperplexed.calibration.diagnosis import binary, gate, line
from unperplexed.calibration.diagnosis.binary_data import data_of_rows, data_of_tally
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.diagnose import diagnosis_of_tally

KEPT = Path(__file__).with_name("diagnoses.json")


def two(seed, n=400, mean=0.0, sd=1.5, bias=0.0, slope=1.0, asymmetry=0.0, tail=0.0, noise=0.0, digits=2, clusters=0):
    """Log-odds, and outcomes of an error; rows of a cluster share a normal part of their log-odds."""
    rng = np.random.default_rng(seed)
    s = np.round(rng.normal(mean, sd, n), digits)
    cluster = rng.integers(0, clusters, n) if clusters else None
    t = bias + slope * s + asymmetry * np.abs(s) + tail * np.sign(s) * s**2
    t = t + rng.normal(0, 0.9, clusters)[cluster] if clusters else t
    q = (1 - noise) * expit(t) + noise / 2
    return s, (rng.random(n) < q).astype(int), cluster


TWO = {
    "calibrated": {},
    "biased": {"bias": 0.9},
    "slightly biased": {"bias": 0.25, "n": 900},
    "low": {"bias": -0.8, "mean": 2.0, "sd": 0.5},
    "overconfident": {"slope": 0.4},
    "underconfident": {"slope": 2.5},
    "biased and overconfident": {"bias": -1.0, "slope": 0.5, "n": 600},
    "away": {"slope": -0.6},
    "away and biased": {"slope": -0.7, "bias": 0.9},
    "asymmetric": {"asymmetry": 0.9, "n": 700},
    "tails": {"tail": 0.8, "slope": 0.3, "n": 700},
    "noise": {"noise": 0.3, "sd": 3.0, "n": 700},
    "one value": {"sd": 0.0, "mean": 0.5, "bias": 0.7},
    "two values": {"sd": 1.0, "digits": 0, "bias": 0.5, "slope": 0.5},
    "few": {"n": 12, "bias": 2.0},
    "clusters": {"clusters": 40, "bias": 0.7, "n": 600},
    "clusters calibrated": {"clusters": 60, "n": 500},
    "clusters overconfident": {"clusters": 80, "slope": 0.4, "n": 600},
    "few clusters": {"clusters": 7},
}


@pytest.mark.parametrize("name", TWO)
def test_two_classes(name):
    s, y, cluster = two(len(name), **TWO[name])
    same_as_kept(KEPT, name, diagnose(y, expit(s), clusters=cluster))


@pytest.mark.parametrize("error", ["bias", "slope"])
@pytest.mark.parametrize("clusters", [None, 50])
def test_weighted_rows(error, clusters):
    s, y, _ = two(5, 500, **{error: 0.6})
    rng = np.random.default_rng(6)
    cluster = None if clusters is None else rng.integers(0, clusters, s.size)
    found = diagnose(y, expit(s), sample_weight=np.round(rng.exponential(size=s.size), 2), clusters=cluster)
    same_as_kept(KEPT, f"weighted {error} {clusters}", found)


def surprised(rows, probability=0.9999, n=300, certain=0):
    """Calibrated rows, of which some end otherwise than nearly all that were predicted so."""
    s, y, _ = two(3, n)
    p = expit(s)
    p[:rows], y[:rows] = probability, 0
    p[50 : 50 + certain], y[50 : 50 + certain] = 1.0, 1
    p[100], y[100] = 1e-9, 0
    return y, p


SURPRISES = {
    "one surprise": {"rows": 1, "probability": 1 - 1e-5},
    "two surprises": {"rows": 2, "probability": 0.9999},
    "three surprises": {"rows": 3},
    "four surprises": {"rows": 4},
    "one certain and wrong": {"rows": 1, "probability": 1.0},
    "certain and wrong among others": {"rows": 3, "probability": 1.0, "certain": 30},
    "certain and right": {"rows": 0, "certain": 20},
}


@pytest.mark.parametrize("name", SURPRISES)
def test_surprises(name):
    y, p = surprised(**SURPRISES[name])
    same_as_kept(KEPT, name, diagnose(y, p, clusters=None))


@pytest.mark.parametrize("name", ["no events", "all events", "separated", "all certain", "nearly certain", "one row"])
def test_at_the_edge(name):
    s, y, _ = two(8, 120)
    y = {"no events": 0 * y, "all events": 0 * y + 1, "separated": (s > 0.3).astype(int)}.get(name, y)
    p = expit(s)
    if "certain" in name:
        p = np.where(y == 1, 1.0, 0.0) if name == "all certain" else np.where(y == 1, 1 - 1e-5, 1e-5)
    some = slice(0, 1 if name == "one row" else None)
    same_as_kept(KEPT, name, diagnose(y[some], p[some], labels=[0, 1], clusters=None))


@cache
def of_two(name):
    s, y, cluster = two(len(name), **TWO[name])
    p = expit(s)
    return data_of_rows([RowBlock(np.stack([1 - p, p], 1), y, None, cluster, np.arange(s.size))], ("no", "yes"))


@pytest.mark.parametrize("name", ["biased and overconfident", "asymmetric", "noise", "low", "clusters"])
def test_all_candidates_and_what_they_are_judged_by(name):
    data = of_two(name)
    every = np.ones(data.rows.s.size, dtype=bool)
    clusters = data.clusters and data.clusters(every)
    tested = gate.gate(data.rows, clusters)
    search = binary.Search(data.rows, tested, 3)
    candidates = {
        " ".join(errors): (each.fit.theta, each.fit.value, each.ratio, each.worth, each.held, each.mapping)
        for errors, each in search.found.items()
    }
    mapping = search.widest.mapping
    found = {
        "gate": tested,
        "alone": binary.p_value_alone(data),
        "candidates": candidates,
        "best": [" ".join(search.best(error)) for error in ("", "bias", "tail")],
        "errors": binary.standard_errors(data.rows, clusters, mapping),
        "rest": binary._rest(data.rows, search.found[("confidence",)].mapping, tested),
        "gaps": [data.gap(effect) for effect in (1.0, 2.5)],
        "line": line.calibration_line(data.rows, data.clusters),
        "power": line.power_alone(data.rows, data.n, data.clusters),
        "effects": binary.effects_alone(data.rows, clusters) if clusters else (),
        "informations": binary._informations(data.rows, tested, clusters),
    }
    same_as_kept(KEPT, f"candidates {name}", found)


@pytest.mark.parametrize("name", ["biased", "overconfident", "calibrated", "clusters"])
def test_tallies_of_two_classes(name):
    s, y, cluster = two(len(name), **TWO[name])
    tally = Tally.of(y, expit(s), clusters=cluster, parts=[] if cluster is None else ["shards"])
    data = data_of_tally(tally)
    parts = data.rows, data.counts, data.counts_positive, data.mean, data.frequency, data.weighted_counts
    same_as_kept(KEPT, f"tally {name}", (diagnosis_of_tally(tally), parts))


# ---- more than two classes


def many(seed, n=500, classes=4, clusters=0, **errors):
    p, y = simulate(np.random.default_rng(seed), n, classes, **errors)
    rng = np.random.default_rng(seed + 1)
    cluster = rng.integers(0, clusters, n) if clusters else None
    if clusters:  # rows of a cluster end alike
        first = np.unique(cluster, return_index=True)[1][cluster]
        y = np.where(rng.random(n) < 0.3, y[first], y)
    return y, p, cluster


BIASES = np.array([1.0, 0.0, 0.0, -0.4])
MANY = {
    "calibrated": {},
    "overconfident": {"confidence": -0.5},
    "underconfident": {"confidence": 0.8},
    "biases": {"biases": BIASES},
    "one class": {"biases": np.array([0.0, 1.2, 0.0, 0.0])},
    "noise": {"noise": 0.3},
    "tails": {"tails": 0.8},
    "tails of seven": {"tails": 1.0, "classes": 7, "n": 700},
    "three classes": {"classes": 3, "confidence": -0.5, "biases": np.array([0.8, 0.0, 0.0])},
    "twenty classes": {"classes": 20, "confidence": -0.4},
    "clusters": {"clusters": 60},
    "clusters and biases": {"clusters": 60, "biases": BIASES},
    "few clusters": {"clusters": 6},
    "noise and temperature": {"noise": 0.2, "confidence": 0.7, "n": 900},
}


@pytest.mark.parametrize("name", MANY)
def test_many_classes(name):
    y, p, cluster = many(len(name), **MANY[name])
    same_as_kept(KEPT, f"many {name}", diagnose(y, p, clusters=cluster))


@pytest.mark.parametrize("name", ["overconfident", "biases", "clusters and biases"])
def test_tallies_and_weights_of_many_classes(name):
    y, p, cluster = many(len(name), **MANY[name])
    weight = np.round(np.random.default_rng(0).exponential(size=y.size), 2)
    tally = Tally.of(y, p, clusters=cluster, parts=[] if cluster is None else ["shards"])
    found = diagnosis_of_tally(tally), diagnose(y, p, clusters=cluster, sample_weight=weight)
    same_as_kept(KEPT, f"tally of many {name}", found)


@pytest.mark.parametrize(
    "name", ["permuted", "reversed", "zeros", "certain and wrong", "surprises", "class never there"]
)
def test_odd_rows_of_many_classes(name):
    y, p, _ = many(9, 400)
    if name in ("permuted", "reversed"):
        p = p[:, [1, 0, 2, 3] if name == "permuted" else [3, 2, 1, 0]]
    if name == "zeros":
        p = np.where(p < 0.02, 0, p)
        p /= p.sum(axis=1, keepdims=True)
    if name == "class never there":
        y = np.where(y == 3, p[:, :3].argmax(axis=1), y)
    if name in ("certain and wrong", "surprises"):
        rows = np.arange(3)
        p[rows] = softmax([0.0, 0, 0, 400 if name == "certain and wrong" else 11])
        y[rows] = [0, 1, 0]
    same_as_kept(KEPT, f"many {name}", diagnose(np.array(list("abcd"))[y], p, labels=list("abcd"), clusters=None))
