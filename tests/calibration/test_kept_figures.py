"""Figures of calibration, one by one, beside those that are kept: curves, worlds, tests, dependence, distributions."""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtri

from helpers import sixteenths, softmax_forecasts
from kept import same_as_kept
from unperplexed import (
    ESTIMATORS,
    PIT,
    Distribution,
    Ordered,
    Quantiles,
    Samples,
    Tally,
    calibration_errors,
    calibration_test,
    decompose,
    expected_calibration_error,
    smooth_calibration_error,
)
from unperplexed.calibration.clustered_test import independent_rows, score_test
from unperplexed.calibration.curve_band import rising_band
from unperplexed.calibration.dependence import Sample, copied_rows, find_dependence
from unperplexed.calibration.diagnosis import distributions
from unperplexed.calibration.diagnosis.row_groups import Windows
from unperplexed.calibration.distribution_rows import read_distributions
from unperplexed.calibration.null_samples import calibrated
from unperplexed.calibration.resampling import coarse_counts, shown_counts
from unperplexed.calibration.undeclared import SearchedRows, searched
from unperplexed.calibration.world_samples import growth, influences, world_cells, world_samples
from unperplexed.calibration.worlds import bias_beyond_chance, hull

KEPT = Path(__file__).with_name("figures.json")


# ---- curves and errors


def pairs(seed, n=300, digits=2):
    """Reported probabilities, some of them certain, and outcomes of a bent curve."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.8, 1.2, n), digits)
    p[:12], p[12:20] = 0.0, 1.0
    return p, (rng.random(n) < np.clip(0.7 * p + 0.1, 0, 1) * (p > 0)).astype(int)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_measured_curves(name):
    settings = {
        "equal-population": {"bins": 7}, "equal-width": {"bins": 6}, "cluster": {"bins": 4},
        "bayesian": {"bins": 5, "prior": 2.5}, "nearest-neighbors": {"neighbors": 17}, "kernel": {"bandwidth": 0.4},
    }  # fmt: skip
    found = {}
    for n, digits in ((300, 2), (40, 1), (2000, 4)):
        p, y = pairs(n, n, digits)
        tally = Tally.of(y, p)
        grouped = tally.positive_pairs()
        for of in (ESTIMATORS[name], ESTIMATORS[name](**settings.get(name, {}))):
            found[f"{of} {n}"] = of.measure(*grouped, floor=0.01)
    same_as_kept(KEPT, f"curve {name}", found)


def test_binned_and_smooth_errors_and_decompositions():
    p, y = pairs(1)
    of_three = softmax_forecasts(np.random.default_rng(2), 300, 3, temperature=1.7)
    found = {}
    for name, rows in {"two": (y, p), "three": of_three}.items():
        found[f"{name} all"] = calibration_errors(*rows)
        found[f"{name} smooth"] = smooth_calibration_error(*rows)
        for binning in ("equal-width", "equal-population"):
            for norm in (1, 2, float("inf")):
                for view in ("each-class", "all-classes", "top-label"):
                    settings = {"binning": binning, "norm": norm, "view": view, "bins": 8}
                    found[f"{name} {binning} {norm} {view}"] = expected_calibration_error(*rows, **settings)
        for score in ("brier_score", "log_loss"):
            p = np.clip(rows[1], 1e-3, 1 - 1e-3) if name == "two" else rows[1]
            found[f"{name} {score}"] = decompose(rows[0], p, score=score)
    same_as_kept(KEPT, "errors", found)


def test_bands_of_rising_curves():
    rng = np.random.default_rng(4)
    total = rng.integers(1, 30, 25).astype(float)
    happened = rng.binomial(total.astype(int), np.linspace(0.02, 0.97, 25)).astype(float)
    same_as_kept(KEPT, "bands", [rising_band(happened, total, reach) for reach in (0.5, 1.96, 3.0)])


# ---- two worlds


@cache
def counted(name):
    rng = np.random.default_rng(len(name))
    if name in ("two", "clusters", "weights"):
        p, y = pairs(5, 500, 3)
        weight = np.round(rng.exponential(size=500), 2) if name == "weights" else None
        cluster = np.arange(500) // 5 if name == "clusters" else None
        parts = ["shards"] if name != "two" else []
        return Tally.of(y, p, sample_weight=weight, clusters=cluster, parts=parts)
    classes = {"three": 3, "four in clusters": 4, "twenty": 20, "three of few values": 3}[name]
    y, p = sixteenths(rng, 400, 3) if "values" in name else softmax_forecasts(rng, 400, classes, temperature=1.5)
    cluster = np.arange(400) // 4 if "clusters" in name else None
    return Tally.of(y, p, clusters=cluster, parts=["diagnosis"] if cluster is None else ["diagnosis", "shards"])


WORLDS = {
    "two": ["each-class", "all-classes"],
    "clusters": ["each-class", "all-classes"],
    "weights": ["each-class"],
    "three": ["all-classes"],
    "four in clusters": ["all-classes"],
    "twenty": ["all-classes"],
    "three of few values": ["all-classes"],
}
ORDERS = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])


@pytest.mark.parametrize("name", WORLDS)
def test_samples_of_both_worlds(name):
    tally, found = counted(name), {}
    for view in WORLDS[name]:
        for limit in ("floor", "both"):
            cells = world_cells(tally, view, 0.01, limit, 0.8)
            steps = []
            samples = world_samples(
                tally, cells, ESTIMATORS["shrunk-isotonic"], ORDERS, 12, np.random.default_rng(0), steps.append
            )
            off = [each.deviation(lambda logs: logs.measured - logs.reported) for each in samples]
            figure = samples[0].truth.measured[0] - samples[0].truth.reported[0]
            ends = hull(figure, off, 1.96, np.ones(5)), bias_beyond_chance(off, 1.96, np.ones(5))
            found[f"{view} {limit}"] = cells, steps, samples, off, ends
    same_as_kept(KEPT, f"worlds {name}", found)


@pytest.mark.parametrize("name", ["two", "clusters", "weights", "four in clusters"])
def test_influences_of_pairs(name):
    tally, found = counted(name), {}
    for view in WORLDS[name]:
        counts = shown_counts(tally, view)
        found[view] = counts, independent_rows(tally, view)
        for limit in ("floor", "both"):
            each = influences(counts, ORDERS, 0.02, limit)
            found[f"{view} {limit}"] = each
            if counts.shards is not None:
                shape = (5, counts.reported.size)
                of = [np.broadcast_to(x, shape) for x in each.measured]
                found[f"{view} {limit} growth"] = growth(tally, counts, *of, 0.7)
    same_as_kept(KEPT, f"influences {name}", found)


@pytest.mark.parametrize("name", WORLDS)
def test_calibrated_samples_and_tests(name):
    tally = counted(name)
    counts = coarse_counts(tally)
    found = {"sample": calibrated(tally, counts, 9, np.random.default_rng(1))}
    if counts.shards is not None:
        found["test"] = score_test(counts, tally.clustered, 60, np.random.default_rng(2))
    for measured in ("isotonic", "equal-width"):
        found[measured] = calibration_test(tally, measured=measured, resamples=40, seed=3)
    same_as_kept(KEPT, f"null {name}", found)


# ---- dependence


def repeated(seed, count=60, each=8, effect=1.2):
    """Rows whose outcomes share a level of their event, beside other columns; weights too."""
    rng = np.random.default_rng(seed)
    event = np.repeat(np.arange(count), each)
    s = np.round(rng.normal(0, 1, event.size), 2)
    y = rng.random(event.size) < expit(s + effect * rng.normal(size=count)[event])
    columns = {
        "other": rng.integers(0, 30, event.size),
        "event": event,
        "part": event * 3 + rng.integers(0, 3, event.size),
        "team": event % 10,
        "season": event // 10,
        "half": rng.integers(0, 2, event.size),
    }
    return y, s, columns, rng.exponential(size=event.size)


DEPENDENT = {
    "event": (["other", "event"], {}),
    "crossed": (["team", "season"], {}),
    "finer": (["event", "part"], {}),
    "weak": (["event", "other"], {"effect": 0.5}),
    "large": (["event", "team"], {"count": 12, "each": 50}),
    "two rows": (["event"], {"count": 400, "each": 2, "effect": 3.0}),
    "none": (["other", "half"], {}),
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependence_of_rows(name):
    of, settings = DEPENDENT[name]
    y, s, columns, weight = repeated(len(name), **settings)
    columns = {each: columns[each] for each in of}
    spread = np.arange(y.size) // 4
    order = np.random.default_rng(1).permutation(y.size)
    mixed = {each: code[order] for each, code in columns.items()}
    found = {
        "in order": find_dependence(y, s, None, columns),
        "mixed": find_dependence(y[order], s[order], None, mixed, order=False),
        "weighted": find_dependence(y, s, weight, columns, events=2),
        "order alone": find_dependence(y, s, None, {}),
        "sampled": find_dependence(y, s, None, columns, sample=Sample(spread, 0.3)),
        "mirrored": find_dependence(y ^ (s > 0), np.abs(s), None, columns),
        "copies": [copied_rows(y, np.round(s, d), y.astype(int), np.round(10 * s).astype(int) + 50) for d in (0, 1)],
    }
    rows = SearchedRows([(y, s)], weight, y.astype(np.int64), np.arange(y.size))
    groups = {"half": (s > 0).astype(np.int64)}
    for key, each in {"searched": rows, "copied": rows._replace(weight=np.ones(y.size))}.items():
        found[key] = searched(each, columns, groups), searched(each, columns, order=False)
    same_as_kept(KEPT, f"dependence {name}", found)


# ---- distributions


def outcomes(seed, n=240, bias=0.0, width=1.0, skew=0.0, heavy=False):
    rng = np.random.default_rng(seed)
    mean, sd = np.round(rng.normal(20, 3, n), 1), np.round(np.exp(rng.normal(0.3, 0.3, n)), 2)
    z = rng.standard_t(2.5, n) if heavy else rng.normal(size=n)
    return mean, sd, np.round(mean + sd * (bias + width * (z + skew * (z**2 - 1))), 2), rng


NUMBERS = {
    "calibrated": {},
    "biased": {"bias": 0.6},
    "narrow": {"width": 1.7},
    "wide": {"width": 0.5},
    "skewed": {"skew": 0.45},
    "heavy": {"heavy": True},
    "biased and narrow": {"bias": -0.5, "width": 1.5},
    "few": {"n": 9},
}
LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


def forecasts_of(form, mean, sd, rng):
    if form == "quantiles":
        return Quantiles(LEVELS, mean[:, None] + sd[:, None] * ndtri(LEVELS))
    if form == "samples":
        return Samples(np.round(mean[:, None] + sd[:, None] * rng.normal(size=(mean.size, 19)), 1))
    return Distribution("normal", mean=mean, sd=sd)


OF_SAMPLES = [(each, "samples") for each in ("heavy", "few", "wide")]


@pytest.mark.parametrize(("name", "form"), [*product(NUMBERS, ["normal", "quantiles"]), *OF_SAMPLES])
def test_diagnoses_of_distributions(name, form):
    mean, sd, y, rng = outcomes(len(name), **NUMBERS[name])
    read = read_distributions(y, forecasts_of(form, mean, sd, rng), {"clusters": None})
    found = {
        "diagnosis": distributions.diagnose_distributions(read.rows, read.groups),
        "widths": read.widths([(0.1, 0.9)]),
    }
    if name in ("biased and narrow", "heavy", "skewed"):
        search = distributions.Tested.of(read.rows).search()
        found["all"] = {" ".join(key): (each.fit.theta, each.ratio, each.worth) for key, each in search.found.items()}
    same_as_kept(KEPT, f"numbers {name} {form}", found)


@pytest.mark.parametrize(
    "kind", ["clusters", "windows", "weights", "weights in clusters", "undeclared", "ordered", "pit"]
)
def test_dependent_and_weighted_distributions(kind):
    mean, sd, y, rng = outcomes(3, 300, bias=0.4)
    common = np.arange(300) // 6
    y = y + sd * rng.normal(size=50)[common]
    reading = {"clusters": common if "clusters" in kind else None}
    if "weights" in kind:
        reading["sample_weight"] = np.round(rng.exponential(size=300), 2)
    if kind == "undeclared":
        reading = {"columns": {"common": common, "other": np.arange(300) % 7}}
    if kind == "windows":
        reading = {"issued": np.arange(300) / 2, "target_date": np.arange(300) / 2 + 1 + np.arange(300) % 3}
    forecast = Distribution("normal", mean=mean, sd=sd)
    if kind == "ordered":
        p = rng.dirichlet(np.ones(4), 300)
        forecast, y = Ordered(p, [0, 1, 2, 3]), (p.cumsum(axis=1) < rng.random((300, 1)) ** 1.5).sum(axis=1).clip(max=3)
    if kind == "pit":
        forecast, y = PIT(np.round(rng.beta(2, 1.4, 300), 4)), None
    read = read_distributions(y, forecast, reading)
    values = np.cos(np.arange(read.rows.n))
    means = read.means
    found = {
        "diagnosis": distributions.diagnose_distributions(read.rows, read.groups),
        "search": read.search,
        "notes": read.notes,
        "mean": means.mean(values),
        "uncertain": means.uncertain(values),
        "cells": means.uncertain(np.arange(7.0) ** 2, np.arange(values.size) % 7),
        "metric": means.metric(values, 0.9),
        "ratio": means.ratio(values + 2, values**2 + 1),
        "part": read.only(np.arange(100)).means.uncertain(values[:100]),
    }
    same_as_kept(KEPT, f"of numbers {kind}", found)


def test_windows_that_overlap():
    issued = np.array([0.0, 1, 1, 2, 5, 5, 7, 11, 12, 12.5])
    windows = Windows(issued, issued + np.array([1.0, 3, 0.5, 2, 2, 4, 1, 1, 2, 3]))
    found = windows.unknown(), windows.times(), windows.numbers(), windows.blocks()
    same_as_kept(KEPT, "windows", found)
