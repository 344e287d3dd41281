"""Tallies of every kind, whole, added up, tagged and read back, figure by figure, beside those that are kept."""

from dataclasses import fields
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtri

from helpers import softmax_forecasts
from kept import same_as_kept
from opened import opened, told
from unperplexed import Distribution, Forecasts, Quantiles, Samples, Tallies, Tally
from unperplexed.results import Predictions
from unperplexed.tally import periods
from unperplexed.tally.counter import jobs_of
from unperplexed.tally.surprises import Surprise, least
from unperplexed.tally.tables import same_probability, without_last_digits
from unperplexed.tally.tally import pairs_by_class

KEPT = Path(__file__).with_name("tallies.json")
PARTS = ("classes", "predictions", "shards", "surprises", "diagnosis")


def rows(kind):
    rng = np.random.default_rng(len(kind))
    n = 120
    s = rng.normal(0, 2, n)
    p = np.round(expit(s), 2)
    p[:4], p[4:7] = 0, 1
    y = (rng.random(n) < p).astype(int)
    y[0] = 1
    y3, p3 = softmax_forecasts(rng, n, 4)
    tenths = np.round(p3, 1)
    return {
        "two": ((y, p), {"parts": PARTS[:4]}),
        "two in cells": ((y, expit(s)), {"exact_limit": 9, "fraction_bits": 3, "parts": PARTS[:2]}),
        "two weighted": ((y, p), {"sample_weight": np.arange(n) % 4 / 2, "metrics": ["power_score(1.5)"]}),
        "two in clusters": (
            (y, p),
            {"clusters": np.arange(n) // 7, "parts": PARTS[2:3], "sample_weight": np.arange(n) % 3},
        ),
        "classes": ((y3, p3), {"parts": PARTS, "metrics": ["ranked_probability_score"]}),
        "classes in cells": ((y3, p3), {"exact_limit": 0, "fraction_bits": 5, "parts": PARTS[:3]}),
        "classes weighted": (
            (y3, tenths / tenths.sum(axis=1, keepdims=True)),
            {"sample_weight": np.arange(n) % 5 + 0.5, "parts": PARTS[:1]},
        ),
        "classes in clusters": ((y3, p3), {"clusters": np.arange(n) // 5, "parts": PARTS[2:]}),
        "notes": (
            (np.where(y == 1, 1, np.arange(n) % 3), np.where(s > 2, np.nan, p)),
            {"ignore_label": 2, "invalid": "drop"},
        ),
        "none": (([], []), {}),
    }[kind]


KINDS = [
    *("two", "two in cells", "two weighted", "two in clusters", "classes", "classes in cells", "classes weighted"),
    *("classes in clusters", "notes", "none"),
]


def facts(tally):
    """All fields, and all that is computed of them."""
    labels = [label for label in tally.labels if label is not None]
    of = {
        "pairs": [told(tally.pairs, view) for view in ("all-classes", "top-label")],
        "points": [told(tally.points, view) for view in ("all-classes", "top-label")],
        "each": [told(tally.each_class, part) for part in ("classes", "predictions")],
        "class": [told(tally.class_pairs, label) for label in [*labels[:2], "none"]],
        "by class": [pairs_by_class(tally, view) for view in ("all-classes", "each-class") if tally.knows_classes],
        "scores": [(tally.score(name), tally.score_standard_error(name)) for name in tally.scores],
        "summary": told(tally.summary),
    }
    return opened(tally, ("score_sums", "scores", "surprises"), 4), opened(of, (), 6)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_tallies_and_sums(kind):
    given, more = rows(kind)
    whole = told(Tally.of, *given, **more)
    n = len(given[0])
    found = {"facts": facts(whole)}
    parts = []
    for part in (slice(0, 3), slice(3, 50), slice(50, n)):
        some = {name: each[part] if isinstance(each, np.ndarray) else each for name, each in more.items()}
        labels = {} if kind == "none" else {"labels": [*whole.labels]}
        parts.append(
            Tally.of(
                *(each[part] for each in given), **some, **labels, source=f"{part.start}.csv", first_row=part.start
            )
        )
    total = Tally.merged(parts)
    if not total.weighted:
        assert total == parts[0] + (parts[1] + parts[2])
    assert Tally.from_bytes(total.to_bytes()) == total
    assert total.n_rows == whole.n_rows
    for name in whole.scores:
        assert total.score(name) == pytest.approx(whole.score(name), rel=1e-12, nan_ok=True)
    found["surprises"] = opened(total.surprises[-3:] if total.surprises else None)
    same_as_kept(KEPT, kind, found)


def test_groups_and_predictions():
    (y, p), _ = rows("two")
    site = np.array(list("abca"))[np.arange(120) % 4]
    counted = Tallies.of(y, p, by={"site": site, "half": np.arange(120) // 60})
    stream = [
        (Forecasts(y[at : at + 40], p[at : at + 40], labels=[0, 1], whole=False), site[at : at + 40])
        for at in (0, 40, 80)
    ]
    some = Tallies.count(stream)
    (y3, p3), _ = rows("classes")
    predictions = [Predictions.of(p), Predictions.of(p3, labels=list("abcd")), Predictions.of(p[:9])]
    found = {
        "groups": {str(key): opened(each.summary()) for key, each in counted.items()},
        "whole": opened(counted.whole().summary()),
        "stream": {str(key): (each.n_rows, each.score("log_loss")) for key, each in some.items()},
        "predictions": [opened(each.summary()) for each in predictions],
        "sum": opened((predictions[0] + predictions[2]).summary()) if hasattr(Predictions, "__add__") else None,
        "refused": [
            told(Tallies.of, y, p, by=site[:3]),
            told(Tallies.of, y, p, by=site, most_groups=2),
            told(Predictions.merged, [predictions[0], predictions[1]]),
            told(Tally.merged, [Tally.of(y, p), Tally.of(y3, p3)]),
            told(Tally.merged, [Tally.of(y, p), Tally.of(y, p, exact_limit=5)]),
            told(Tally.merged, [Tally.of(y, p), Tally.of(y, p, sample_weight=y + 1)]),
            told(Tally.of, y, p, parts=["none"]),
            told(Tally.of, y, p, exact_limit=-1),
            told(Tally.of, y, p, fraction_bits=99),
            told(Tally.of, y, p, fraction_bits=0),
        ],
        "counts": [
            opened(told(Tally.from_counts, *each))
            if isinstance(told(Tally.from_counts, *each), str)
            else facts(Tally.from_counts(*each))
            for each in (
                ([0.2, 0.7, 0.2], [1, 3, 0], [4, 3, 2]),
                ([0.2], [3], [2]),
                ([1.2], [1], [2]),
                ([0.2], [-1], [2]),
                ([0.2], [0.5], [2]),
            )
        ],
    }
    same_as_kept(KEPT, "groups", found)


DATES = [
    "2026-03-01",
    "2026-W10",
    "2026-W53",
    "2025-W01",
    "2026-03",
    "2026-Q1",
    "2026-Q5",
    "2026",
    "2026-02-30",
    "2026-13",
    "2024-02-29/2024-03-01",
    "2026-03/2026-01",
    "x",
    "",
    "2026-W00",
    "0999",
    "2026-03-01/x",
    "2026-03-01/2026-03-31",
    "2026-01/2026-03",
]


def test_periods_and_tags():
    (y, p), _ = rows("two")
    tally = Tally.of(y, p)
    tags = [
        {},
        {"name": "rain", "model": "a 1"},
        {"name": "rain", "model": "b"},
        {"period": "2026-03"},
        {"period": "2026-W10"},
        {"name": "snow"},
        {"period": ["2026-01", "2026-02"]},
        {"name": "x" * 300},
        {"name": "a\nb"},
    ]
    tagged = [told(tally.tagged, **each) for each in tags]
    good = [each for each in tagged if not isinstance(each, str)]
    found = {
        "spans": [str(periods.span_of(each)) for each in DATES],
        "checked": [told(periods.check_period, each) for each in DATES],
        "at": [periods.at(each) for each in DATES if periods.span_of(each)],
        "joined": [
            periods.joined(each)
            for each in (
                DATES[:1] + DATES[4:5],
                ["2026-01", "2026-02", "2026-04"],
                ["b", "a"],
                ["2026-Q1", "2026-02"],
                ["2026-03-01", "2026-03-02"],
                [],
            )
        ],
        "shared": [
            periods.shared(*each) for each in product((["2026-03"], ["2026-W10"], ["x"], ["2026-03-31", "y"]), repeat=2)
        ],
        "tagged": [each if isinstance(each, str) else opened(each.tags) for each in tagged],
        "sums": [
            opened(each if isinstance(each, str) else each.tags)
            for a, b in pairwise(good)
            for mixed in (False, True)
            for each in [told(Tally.merged, [a, b], mixed=mixed)]
        ],
    }
    same_as_kept(KEPT, "tags", found)


@pytest.mark.parametrize("form", ["normal", "quantiles", "samples", "weighted", "censored"])
def test_tallies_of_distributions(form):
    rng = np.random.default_rng(5)
    n = 150
    mean, sd = np.round(rng.normal(10, 3, n), 1), np.round(0.5 + rng.random(n), 2)
    y = np.round(mean + 1.5 * sd * rng.normal(size=n), 2)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    forecast = Distribution("normal", mean=mean, sd=sd)
    more = {"weighted": {"sample_weight": np.arange(n) % 3 + 1.0}, "censored": {"censored": {"above": mean + 2}}}.get(
        form, {}
    )
    if form == "quantiles":
        forecast = Quantiles(levels, mean[:, None] + sd[:, None] * ndtri(levels))
    if form == "samples":
        forecast = Samples(np.round(mean[:, None] + sd[:, None] * rng.normal(size=(n, 9)), 1))
    if form == "censored":
        y = np.minimum(y, mean + 2)
    whole = Tally.of(y, forecast, **more)
    halves = []
    for part in (np.arange(70), np.arange(70, n)):
        some = {"weighted": {"sample_weight": part % 3 + 1.0}, "censored": {"censored": {"above": mean[part] + 2}}}.get(
            form, {}
        )
        halves.append(Tally.of(y[part], forecast.subset(part), **some))
    total = Tally.merged(halves)
    assert Tally.from_bytes(total.to_bytes()) == total
    assert opened(total.summary()) == opened(whole.summary())
    found = {
        "all": opened({each.name: getattr(whole, each.name) for each in fields(whole)}, ("sums", "score_sums"), 4),
        "rows": opened(whole.rows, (), 3),
        "summary": opened(whole.summary()),
        "refused": [
            told(Tally.of, y, forecast, clusters=y, **more),
            told(Tally.merged, [whole, Tally.of([1, 0], [0.5, 0.2])]),
        ],
    }
    same_as_kept(KEPT, f"numbers {form}", found)


def test_small_rules():
    p = np.array([0.001, 0.0011, 0.1 + 0.2, 0.3, 0.5, 1 - 1e-13, 0.9991, 1e-300, 0.0, 1.0])
    rows_of = (
        [
            Surprise(0.3, 2, "a", 0, 1, 0.6, 1.0),
            Surprise(0.1, 5, "a", 0, 1, 0.6, 1.0),
            Surprise(0.1, 3, "b", 0, 1, 0.6, 1.0),
        ]
        if len(Surprise._fields) == 7
        else []
    )
    found = {
        "digits": without_last_digits(p),
        "same": same_probability(np.sort(p)),
        "jobs": [told(jobs_of, each) for each in (None, 1, 3, 0, 2.5, -100)],
        "least": list(least(rows_of * 30)),
    }
    same_as_kept(KEPT, "rules", found)
