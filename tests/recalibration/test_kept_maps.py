"""Maps, pools and what is held out of their fits, figure by figure, beside those that are kept."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

from fitted import NEW_THREE, NEW_TWO, fit, three, two
from helpers import softmax_forecasts
from kept import same_as_kept
from opened import opened, told
from unperplexed import (
    Distribution,
    Ordered,
    Quantiles,
    Samples,
    Tally,
    find_groups,
    pool,
)
from unperplexed.recalibration import folds, gain
from unperplexed.recalibration.averaging import shares_of
from unperplexed.recalibration.recalibrator import GroupRecalibrator, Recalibrator

KEPT = Path(__file__).with_name("maps.json")


@pytest.mark.parametrize("kind", ["rows", "weights", "clusters", "few", "tally"])
def test_averages_of_maps_of_two_and_three_classes(kind):
    found = {}
    for name, (y, p), new in (("two", two(), NEW_TWO), ("three", three(), NEW_THREE)):
        given, n = (y, p), len(y)
        more = {"weights": {"sample_weight": np.arange(n) % 4 + 1.0}, "clusters": {"clusters": np.arange(n) // 5}}
        if kind == "tally":
            tenths = np.round(p, 1)
            given = (Tally.of(y, p), None) if name == "two" else (y, tenths / tenths.sum(axis=1, keepdims=True))
        if kind == "few":
            given = y[6:26], p[6:26]
        found[name] = fit(*given, new, "auto", **more.get(kind, {}))
    same_as_kept(KEPT, f"of {kind}", found)


def test_averages_of_maps_and_a_shift_of_the_prior():
    y, p = two()
    made = Recalibrator(seed=3, folds=5).fit(y, p, clusters=np.arange(240) // 4)
    found = {
        "of": opened(made.to_dict()),
        "attributes": opened(
            {name: getattr(made, name) for name in dir(made) if name.endswith("_") and name[0] != "_"}
        ),
        "q": made.transform(NEW_TWO),
        "prevalence": [str(told(made.for_prevalence, each)) for each in (0, 1, 0.3)],
        "shifted": made.for_prevalence(0.1).transform(NEW_TWO),
        "logits": made.transform(np.array([-40.0, -2, 0, 3, 40]), scale="logits"),
        "percent": told(made.transform, 100 * NEW_TWO, scale="percent"),
        "refused": [
            told(made.transform, each) for each in ([1.2], [np.nan], [[0.5, 0.2, 0.3]], [["a"]], np.zeros((0,)))
        ],
        "settings": [
            told(Recalibrator(**each).fit, y, p, clusters=None)
            for each in ({"method": "none"}, {"folds": 1}, {"folds": 999}, {"seed": -1}, {"method": "vector"})
        ],
    }
    same_as_kept(KEPT, "average", found)


def test_maps_of_groups():
    y, p = two(n=400)
    site = np.array(list("abcd"))[np.arange(400) % 4]
    y = np.where((site == "b") & (np.arange(400) % 3 > 0), 1, y)
    made = GroupRecalibrator(folds=2, seed=1).fit(y, p, by={"site": site}, clusters=None)
    found = {
        "of": opened(made.to_dict(), ("map", "candidates", "held_out")),
        "says": str(made),
        "q": made.transform(NEW_TWO, by={"site": np.array(list("abcdabcx"))}),
        "refused": told(made.transform, NEW_TWO, by={"town": site[:8]}),
    }
    groups = find_groups(y, p, among={"site": site}, clusters=None)
    of_groups = groups.recalibrator()
    found["found"] = (
        opened(of_groups.to_dict(), ("map", "candidates")),
        of_groups.transform(NEW_TWO, among={"site": site[:8]}),
    )
    found["few groups"] = told(GroupRecalibrator(folds=3).fit, y[:30], p[:30], by=site[:30], clusters=None)
    same_as_kept(
        KEPT, "groups", {name: each if not hasattr(each, "to_dict") else str(each) for name, each in found.items()}
    )


POOLS = [
    {},
    {"method": "logarithmic"},
    {"method": "logarithmic", "weights": "equal", "map": "none"},
    {"method": "mean"},
    {"method": "mean", "order": -1.0, "weights": {"a": 0.2, "b": 0.8}},
    {"method": "linear", "power": 1.7},
    {"method": "linear", "map": "beta"},
    {"method": "linear", "map": "power", "folds": 3},
    {"weights": {"a": 0.2, "c": 0.8}},
    {"weights": {"a": 0.2, "b": 0.2}},
    {"method": "mean", "order": 2000.0},
    {"map": "beta", "power": 2.0},
    {"order": 1.0},
    {"folds": 1},
]


def members(y, p):
    return {
        "a": p,
        "b": np.clip(0.5 * p + 0.3, 0, 1) if p.ndim == 1 else (p + 0.3) / (p + 0.3).sum(axis=1, keepdims=True),
    }


@pytest.mark.parametrize("at", range(len(POOLS)))
def test_pools(at):
    found = {}
    for name, (y, p), new in (("two", two(), NEW_TWO), ("three", three(), NEW_THREE)):
        if name == "three" and at not in (0, 3, 4):
            continue
        made = told(pool, y, members(y, p), clusters=None, seed=1, **POOLS[at])
        found[name] = (
            made
            if isinstance(made, str)
            else [opened(made, ("probabilities",)), made.transform(members(y, new)), str(made)]
        )
    if at == 0:
        y, p = two()
        found["clusters"] = opened(pool(y, members(y, p), clusters=np.arange(240) // 4), ("probabilities",))
        found["weights"] = opened(
            pool(y, members(y, p), sample_weight=np.arange(240) % 3 + 1, clusters=None), ("probabilities",)
        )
        found["unfitted"] = opened(pool(None, members(y, p)))
    same_as_kept(KEPT, f"pool {at}", found)


@pytest.mark.parametrize("form", ["normal", "quantiles", "samples", "ordered"])
def test_maps_and_pools_of_distributions(form):
    rng = np.random.default_rng(5)
    n = 200
    mean, sd = np.round(rng.normal(10, 3, n), 1), np.round(0.5 + rng.random(n), 2)
    y = np.round(mean + 0.3 * sd + 1.6 * sd * rng.normal(size=n), 2)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    of = {
        "normal": lambda m, s: Distribution("normal", mean=m, sd=s),
        "quantiles": lambda m, s: Quantiles(levels, m[:, None] + s[:, None] * ndtri(levels)),
        "samples": lambda m, s: Samples(np.round(m[:, None] + s[:, None] * ndtri(np.arange(1, 10) / 10), 2)),
        "ordered": None,
    }[form]
    if form == "ordered":
        y, p = softmax_forecasts(rng, n, 4, temperature=1.5)
        forecast, found = Ordered(p, [0, 1, 2, 3]), {}
    else:
        forecast = of(mean, sd)
        both = {"a": forecast, "b": of(mean + 1, 2 * sd)}
        found = {
            str(more): opened(told(pool, y, both, clusters=None, **more), (), 4)
            for more in (
                {},
                {"method": "linear", "folds": 3},
                {"weights": "equal"},
                {"method": "median"},
                {"order": 1.0},
            )
        }
    more = {"clusters": np.arange(n) // 5} if form == "quantiles" else {"clusters": None}
    made = Recalibrator(seed=2).fit(y, forecast, **more)
    new = made.transform(forecast.subset(np.arange(7)))
    found |= {"map": opened(made.to_dict()), "new": opened(new, ("rows",), 3), "says": str(made)}
    found["gain"] = opened(made.gain_)
    same_as_kept(KEPT, f"distributions {form}", found)


def test_folds_and_gains():
    counts = np.array([[3, 0], [1, 4], [20, 7], [0, 2]])
    cluster = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 6])
    found = {
        "number": [
            told(folds.number_of_folds, asked, n) for asked in (None, 2, 7, 1) for n in (1, 2, 5, 999, 1000, 1001)
        ],
        "counts": [folds.folds_of_counts(counts.sum(axis=1), k, s) for k in (2, 5) for s in (0, 1)],
        "places": [folds.folds_of_places(n, k, s) for n in (1, 5, 23) for k in (2, 5) for s in (0, 3)],
        "gains": [
            opened(gain.gain_of(0.6, 0.02 * k, 0.01, 0.03, 400, c)) for k in (-1, 0, 1, 3) for c in (None, 3, 40)
        ],
        "limits": [gain.errors_to_limit(c, level) for c in (None, 2, 3, 50) for level in (0.8, 0.95)],
        "shares": [
            shares_of(["a", "b", "c"], np.array(w)) for w in ([0.5, 0.495, 0.005], [1, 0, 0], [0.34, 0.33, 0.33])
        ],
        "at": [gain.gain_of(0.6, 0.02, 0.01, 0.03, 400, 9).interval_at(level) for level in (0.5, 0.9, 0.99)],
        "clusters": folds.folds_of_clusters(cluster, np.arange(10, dtype=np.uint64), 3, 1),
    }
    same_as_kept(KEPT, "folds", found)
