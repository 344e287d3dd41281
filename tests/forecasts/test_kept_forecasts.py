"""What is read of forecasts in all their forms, and all that is refused, beside what is kept."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from kept import same_as_kept
from unperplexed import PIT, Distribution, Forecasts, InputError, Ordered, Quantiles, Samples
from unperplexed.forecasts import outcomes
from unperplexed.forecasts.distributions.predictive import observed
from unperplexed.forecasts.gathered import LOG_PROBABILITIES, gathered, gathered_chunks
from unperplexed.forecasts.labels import distinct_labels, label_array, plain
from unperplexed.forecasts.problems import Values, refuse_mixed

KEPT = Path(__file__).with_name("forecasts.json")


def outcome(of, *given, **named):
    """What a call gives, or what it is refused with."""
    try:
        return of(*given, **named)
    except InputError as error:
        return f"refused: {error}"


# ---- rows of classes


def read(y, p, **settings):
    """All that is read of rows, in blocks and row by row."""
    found = Forecasts(y, p, **settings)
    blocks = [
        (b.probabilities, b.truth, b.weights, b.index, b.rows, b.notes, b.log_probabilities)
        + ((b.log_odds,) if found.n_classes == 2 else ())
        for b in found.blocks()
    ]
    said, values = [], {}
    found.show(values)
    for each in values.values():
        each.check(said.append)
    index = np.concatenate([b.index for b in found.blocks()] or [np.empty(0, np.int64)])
    about = found.labels, found.n_rows, found.n_classes, found.one_column, found.counts_tell, found.plain_column
    return about, blocks, said, found.shards(index), found.hashes(index), found.correct_class_probabilities()


P = [0.25, 0.5, 1.0, 0.0, 0.75]
Y = [0, 1, 1, 0, 1]
THREE = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4], [1 / 3, 1 / 3, 1 / 3]])
OF_THREE = [0, 2, 1, 2, 0]
NAN = float("nan")
ROWS = {
    "plain": (Y, P, {}),
    "weights": (Y, P, {"sample_weight": [1, 0, 2.5, 1, 0.25]}),
    "two columns": (Y, np.column_stack([1 - np.array(P), P]), {}),
    "three": (OF_THREE, THREE, {}),
    "one hot": (np.eye(3)[OF_THREE], THREE, {}),
    "one hot texts": ([["1", "0"], ["0", "1"]], [[0.5, 0.5], [0.25, 0.75]], {}),
    "float32": (OF_THREE, THREE.astype(np.float32), {}),
    "float16": (Y, np.array(P, np.float16), {}),
    "texts": (["rain", "dry", "rain", "dry", "dry"], P, {"pos_label": "rain"}),
    "no positive": (["rain", "dry", "rain", "dry", "dry"], P, {}),
    "minus one": ([-1, 1, 1, -1, 1], P, {}),
    "true": ([True, False, True, False, True], P, {}),
    "ignored": ([0, 1, 2, 0, 1], P, {"ignore_label": 2}),
    "ignored two": ([0, 1, 2, 3, 1], P, {"ignore_label": [2, 3]}),
    "missing": ([0, None, 1, NAN, 1], P, {}),
    "missing dropped": ([0, None, 1, NAN, 1], P, {"invalid": "drop"}),
    "percent": (Y, [25, 50, 100, 0, 75.0], {"scale": "percent"}),
    "percent columns": (Y, [[75, 25], [50, 50], [0, 100], [100, 0], [25, 75]], {"scale": "percent"}),
    "logits": (Y, [-1.5, 0.0, 40.0, -1e9, 2.0], {"scale": "logits"}),
    "logits of three": (OF_THREE, 3 * THREE, {"scale": "logits"}),
    "log-probs": (OF_THREE, np.log(np.maximum(THREE, 1e-300)), {"scale": "log-probs"}),
    "log-probs of one": (Y, [-0.5, -1e-12, -0.0, -800.0, -2.0], {"scale": "log-probs"}),
    "negative": (Y, [0.25, -0.5, 1.0, -1e-9, 0.75], {}),
    "above 1": (Y, [0.25, 0.5, 1.5, 1.0000001, 0.75], {}),
    "as percent": (Y, [25, 50, 100, 0, 75.0], {}),
    "as logits": (Y, [-3.0, 2.0, 0.5, 4.0, -1.0], {}),
    "NaN": (Y, [0.25, NAN, 1.0, NAN, 0.75], {}),
    "infinite": (Y, [0.25, np.inf, 1.0, -np.inf, 0.75], {}),
    "NaN dropped": (Y, [0.25, NAN, 1.0, 0.2, 0.75], {"invalid": "drop"}),
    "most dropped": (Y, [25, 50, 100, 0.5, 75.0], {"invalid": "drop"}),
    "sums": (OF_THREE, THREE * np.array([[1], [1.1], [1], [1.00011], [1]]), {}),
    "sums rescaled": (OF_THREE, THREE * np.array([[1], [1.1], [1], [0.5], [2]]), {"invalid": "rescale"}),
    "sums of 0": (OF_THREE, THREE * np.array([[1], [0], [1], [0.5], [2]]), {"invalid": "rescale"}),
    "sums dropped": (OF_THREE, THREE * np.array([[1], [0], [1], [0.5], [2]]), {"invalid": ["rescale", "drop"]}),
    "all wrong": ([0, None, 1, 2, 0], THREE * np.array([[-1], [0], [NAN], [0.5], [2]]), {}),
    "members": (OF_THREE, THREE * 7 + 3, {}),
    "text": (Y, ["0.25", "0.5", "1", "zero", "0.75"], {}),
    "text with commas": (Y, ["0,25", "0.5", "1", "NA", "0.75"], {}),
    "text with percents": (Y, ["25%", "50%", "1", "-", "?"], {}),
    "clusters": (Y, P, {"clusters": [3, 3, 5, 5, 3]}),
    "clusters of two": (Y, P, {"clusters": {"a": ["x", "y", "x", "y", "x"], "b": [1, 1, 2, 2, 1]}}),
    "even logits": (Y, [0.5, -0.5, 0.0, 1.0, -1.0], {"scale": "logits"}),
    "missing clusters": (Y, P, {"clusters": ["a", None, "b", "b", "a"]}),
    "clusters of another length": (Y, P, {"clusters": [1, 2]}),
    "negative weight": (Y, P, {"sample_weight": [1, -1, 1, 1, 1]}),
    "few weights": (Y, P, {"sample_weight": [1, 1]}),
    "later rows": (Y, [0.25, 2.0, 1.0, 0.2, 0.75], {"first_row": 100, "source": "file.csv"}),
    "another length": (Y, P[:3], {}),
    "labels": (["b", "a", "b", "c", "a"], THREE, {"labels": ["a", "b", "c"]}),
    "labels twice": (["b", "a", "b", "c", "a"], THREE, {"labels": ["a", "b", "b"]}),
    "labels few": (["b", "a", "b", "c", "a"], THREE, {"labels": ["a", "b"]}),
    "labels missing": (["b", "a", "b", "c", "a"], THREE, {"labels": ["a", "b", None]}),
    "labels of lists": (["b", "a", "b", "c", "a"], THREE, {"labels": [["a"], "b", "c"]}),
    "labels as text": (["b", "a", "b", "c", "a"], THREE, {"labels": "abc"}),
    "unknown label": (["b", "a", "d", "c", "a"], THREE, {"labels": ["a", "b", "c"]}),
    "absent label": (["b", "a", "b", "a", "a"], THREE, {"labels": ["a", "b", "c"]}),
    "too many": ([0, 1, 2, 3, 4], THREE, {}),
    "counted from 1": ([1, 2, 3, 1, 2], THREE, {}),
    "three for one": (OF_THREE, P, {}),
    "one value": ([1, 1, 1, 1, 1], P, {}),
    "one text": (["x"] * 5, P, {}),
    "positive not there": (Y, P, {"pos_label": 7}),
    "positive of three": (OF_THREE, THREE, {"pos_label": 1}),
    "known": (["b", "a", "b", "b", "a"], P, {"known_labels": ("a", "b")}),
    "part": (["b", "a", "b", "b", "a"], P, {"whole": False}),
    "nothing": ([], [], {}),
    "wrong scale": (Y, P, {"scale": "odds"}),
    "wrong way": (Y, P, {"invalid": "leave"}),
    "tokens": ([[0, 1], [1, 0]], np.array([[[0.5, 0.5], [0.2, 0.8]], [[1, 0], [0.9, 0.1]]]), {}),
    "tokens turned": ([[0, 1, 2], [1, 0, 1]], np.full((2, 3, 3), 1 / 3).swapaxes(1, 2)[:, :, :2], {}),
    "tokens odd": ([0, 1], np.full((2, 3, 4), 0.25), {}),
    "tokens in clusters": (
        [[0, 1], [1, 0]],
        np.full((2, 2, 2), 0.5),
        {"clusters": [7, 8], "sample_weight": [[1, 2], [3, 4]]},
    ),
    "frame": (Y, {"no": [0.75, 0.5, 0, 1, 0.25], "yes": P}, {}),
    "four axes": (Y, np.zeros((5, 1, 1, 2)), {}),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_classes(name):
    y, p, settings = ROWS[name]
    p = pl.DataFrame(p) if isinstance(p, dict) else p
    same_as_kept(KEPT, f"rows {name}", outcome(read, y, p, **settings))


FRAMES = {
    "names": (["b", "a", "b"], {"a": [0.5, 0.1, 0.2], "b": [0.5, 0.9, 0.8]}),
    "prefixed": (["b", "a", "b"], {"p_a": [0.5, 0.1, 0.2], "p_b": [0.5, 0.9, 0.8]}),
    "ended": (["b", "a", "b"], {"a_prob": [0.5, 0.1, 0.2], "b_prob": [0.5, 0.9, 0.8]}),
    "camel": (["b", "a", "b"], {"probA": [0.5, 0.1, 0.2], "probB": [0.5, 0.9, 0.8]}),
    "numbers": ([1, 0, 1], {"p0": [0.5, 0.1, 0.2], "p1": [0.5, 0.9, 0.8]}),
    "from 1": ([1, 2, 1], {"p0": [0.5, 0.1, 0.2], "p1": [0.5, 0.9, 0.8]}),
    "from 0": ([1, 0, 1], {"p1": [0.5, 0.1, 0.2], "p2": [0.5, 0.9, 0.8]}),
    "case": (["B", "A", "B"], {"a": [0.5, 0.1, 0.2], "b": [0.5, 0.9, 0.8]}),
    "truths": ([True, False, True], {"False": [0.5, 0.1, 0.2], "True": [0.5, 0.9, 0.8]}),
    "two others": (["b", "c", "b"], {"a": [0.5, 0.1, 0.2], "b": [0.5, 0.9, 0.8]}),
    "none": (["x", "y", "x"], {"a": [0.5, 0.1, 0.2], "b": [0.5, 0.9, 0.8]}),
    "one": (["dry", "rain", "dry"], {"p_rain": [0.5, 0.1, 0.2]}),
    "not": (["dry", "rain", "dry"], {"p_not_rain": [0.5, 0.1, 0.2]}),
    "other": (["dry", "rain", "dry"], {"rain_dry": [0.5, 0.1, 0.2]}),
    "itself": (["dry", "rain", "dry"], {"rain": [0.5, 0.1, 0.2]}),
    "of 0 and 1": ([0, 1, 1], {"p0": [0.5, 0.1, 0.2]}),
    "missing values": (["b", None, "b"], {"a": [0.5, None, 0.2], "b": [0.5, 0.9, 0.8]}),
    "text": (["b", "a", "b"], {"a": ["0.5", "0,1", "n/a"], "b": ["50%", "0.9", "0.8"]}),
    "lists": ([0, 1, 1], {"p": [[0.5, 0.5], [0.1, 0.9], [0.2, 0.8]]}),
    "lists of two lengths": ([0, 1, 1], {"p": [[0.5, 0.5], [0.1], [0.2, 0.8]]}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name):
    y, p = FRAMES[name]
    every = [
        outcome(read, y, pl.DataFrame(p), **each) for each in ({}, {"labels": sorted(set(filter(None, map(str, y))))})
    ]
    same_as_kept(KEPT, f"frame {name}", every)


def test_names_of_columns_as_labels():
    names = (
        ["p_yes", "p_no"],
        ["prob.1.5", "prob.2.5"],
        ["class 0 p", "class 1 p"],
        ["aX1b", "aX2b"],
        ["x", "x"],
        ["cat", "car"],
    )
    found = {}
    for each in names:
        found[" ".join(each)] = (
            outcomes.readings(each),
            outcomes.readings(each, ["1", "2"]),
            outcomes.fitting(each, (), ["yes", "no"]),
            outcomes.fitting(each, ("no", "yes"), ["yes", "no"]),
            outcomes.nearest(each, (), ["yes", 1, "t"]),
            outcomes.nearest(each, (), ["none"]),
            [
                outcomes.differently_named(each, (), given)
                for given in (["YES", "NO"], [1, 2], [0, 1], ["CAT", "CAR"], [2])
            ],
        )
    found["one"] = [
        outcomes.positives([name], star, given)
        for name in ("p_true", "rain", "p_rain", "no_rain", "dry_rain", "p1", "isRain")
        for star in ((), ("rain",)) for given in (["dry", "rain"], [False, True], [0, 1], ["Dry", "Rain"])
    ]  # fmt: skip
    found["said"] = [
        outcomes.said_of_column("rain", "rain"),
        outcomes.said_of_column("rain", "p_rain"),
        outcomes.said_of_columns(["a", "b"], ["a", "b"]),
        outcomes.said_of_columns(["a", "b"], ["p_a", "p_b"]),
        outcomes.said_of_columns([*"abcdef"], [*"ghijkl"]),
        outcomes.said_of_columns([*"abcdefg"], [*"ghijklm"]),
        outcomes.said_of_absent([0, 1], [0, 1]),
        outcomes.said_of_absent([0, 1], [0]),
        outcomes.said_of_absent([0, 1, 2], [0]),
        outcomes.said_of_absent([0, 1, 2, 3], [0]),
        outcomes.said_of_absent([0, 1, 2, 5], [0]),
        outcomes.said_of_absent([*"abcd"], "a"),
    ]
    same_as_kept(KEPT, "names", found)


def test_labels_as_plain_values():
    given = [
        True,
        np.bool_(False),
        3,
        np.int8(3),
        3.0,
        3.5,
        np.float32(0.5),
        "a",
        b"a\xff",
        None,
        NAN,
        np.datetime64("NaT"),
        Decimal("2"),
        Decimal("2.5"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Fraction(4, 2),
        Fraction(1, 2),
        np.datetime64("2024-01-02"),
        np.datetime64("2024-01-02T03"),
        np.datetime64("2024-01-02T03:04:05.500"),
        float("inf"),
    ]
    arrays = [
        np.array([3, 5, 3]),
        np.array([0, 1, 1]),
        np.array([0, 2, 1], np.uint8),
        np.array([-1, 1]),
        np.array([0, 1 << 20]),
        np.array([True, False]),
        np.array([0.5, 1.0, np.nan]),
        np.array(["b", "a"]),
        np.array(["2024-01-02", "NaT"], "M8[D]"),
        np.array([], int),
        np.array([2**63, 2**63 + 2], np.uint64),
        np.array([1, None, "x"], object),
        np.array([0, 131071]),
    ]
    found = [repr(plain(each)) for each in given], [distinct_labels(each) for each in arrays]
    refused = [
        outcome(distinct_labels, each) for each in (np.array([1j]), label_array([[1, 2], [3, 4]]).astype(object))
    ]
    same_as_kept(KEPT, "labels", (found, refused))


def test_values_on_a_wrong_scale():
    def said(scale, binary, drops, x, text=False):
        values, heard = Values("p", scale, binary, drops), []
        values.add(np.atleast_2d(x).T, np.full(len(x), text))
        return outcome(values.check, heard.append), heard, values.fractions

    x = np.linspace(0, 1, 50)
    found = [
        said("percent", True, False, x),
        said("percent", True, False, x[1:]),
        said("percent", False, False, x),
        said("percent", True, False, 100 * x),
        said("probability", True, True, 100 * x),
        said("probability", True, True, 1.9 * x),
        said("probability", True, True, 4 * x - 2),
        said("probability", True, True, x, True),
        said("logits", True, True, x),
        said("probability", True, False, 100 * x),
        said("log-probs", True, True, x + 1e-9),
    ]
    both = {}
    for name, times in {"a": 1, "b": 100}.items():
        both[name] = Values(name, "percent", True, False)
        both[name].add(times * x[:, None], np.zeros(50, bool))
    mixed = (
        outcome(refuse_mixed, both),
        outcome(refuse_mixed, {"a": both["a"]}),
        outcome(refuse_mixed, {"b": both["b"]}),
    )
    same_as_kept(KEPT, "scales", (found, mixed))


def test_rows_of_several_forecasters():
    y, w = [0, 1, 1, 0, 1, 0], [1, 1, 0, 2, 1, 1]
    one, other = [0.2, 0.5, 0.9, 0.1, 0.7, NAN], [0.2, NAN, 0.9, 0.1, 0.6, 0.4]
    reading = {"invalid": "drop", "sample_weight": w, "clusters": [1, 1, 2, 3, 3, 2]}
    both = gathered({"one": one, "other": other}, y, reading)
    logs = gathered({"one": np.log([[0.5, 0.5], [0.1, 0.9]])}, [0, 1], {"scale": "log-probs"}, of=LOG_PROBABILITIES)
    chunks = [Forecasts(y[:3], one[:3]), Forecasts(y[3:5], one[3:5], first_row=3)]
    found = {
        "both": both,
        "part": both.only(both.index[1:]),
        "logs": (logs, logs.forecasts("one").correct_class_probabilities()),
        "chunks": gathered_chunks(chunks, "p"),
        "counts": (both.n_rows, both.n_classes),
        "refused": [
            outcome(gathered, {}, y, {}),
            outcome(gathered, {"a": one[:2], "b": THREE[:2]}, [0, 1], {}),
            outcome(gathered, {"a": [0.5, 0.5], "b": [0.5, 0.5]}, [0, 1], {"sample_weight": [0, 0]}),
            outcome(gathered_chunks, [], "p"),
            outcome(gathered_chunks, [Forecasts([0, 1], [0.5, 0.5], sample_weight=[0, 1])[np.arange(1)]], "p"),
        ],
    }
    same_as_kept(KEPT, "gathered", found)


# ---- distributions of numbers


RNG = np.random.default_rng(0)
MEAN, SD, OUTCOME = (
    np.round(RNG.normal(5, 2, 12), 2),
    np.round(RNG.random(12) + 0.5, 2),
    np.round(RNG.normal(5, 2, 12), 1),
)
SHARES = RNG.dirichlet(np.ones(4), 12)
COUNTS = RNG.poisson(3, 12).astype(float)
MEMBERS = np.round(MEAN[:, None] + SD[:, None] * RNG.normal(size=(12, 7)), 1)
LEVELS = np.array([0.1, 0.3, 0.5, 0.9])
VALUES = MEAN[:, None] + SD[:, None] * stats.norm.ppf(LEVELS)
RAIN = np.maximum(OUTCOME - 5, 0)
FORMS = {
    "normal": (lambda: Distribution("normal", mean=MEAN, sd=SD), OUTCOME),
    "t": (lambda: Distribution("t", location=MEAN, scale=SD, df=4), OUTCOME),
    "coupled": (lambda: Distribution("coupled-gaussian", mean=MEAN, scale=SD, coupling=0.25), OUTCOME),
    "mixed tails": (lambda: Distribution("coupled-gaussian", mean=MEAN, scale=SD, coupling=SD - 0.9), OUTCOME),
    "lognormal": (lambda: Distribution("lognormal", log_mean=np.log(SD + 2), log_sd=0.4), np.abs(OUTCOME) + 0.1),
    "gamma": (lambda: Distribution("gamma", shape=SD + 1, scale=2.0), np.abs(OUTCOME) + 0.1),
    "gamma by rate": (lambda: Distribution("gamma", shape=SD + 1, rate=0.5), np.abs(OUTCOME) + 0.1),
    "gamma by mean": (lambda: Distribution("gamma", mean=SD + 1, sd=0.5), np.abs(OUTCOME) + 0.1),
    "gamma with rain": (lambda: Distribution("gamma", shape=SD + 1, scale=2.0, zero=0.4), RAIN),
    "poisson": (lambda: Distribution("poisson", mean=SD * 3), COUNTS),
    "negative binomial": (lambda: Distribution("negative-binomial", mean=SD * 3, size=2.5), COUNTS),
    "negative binomial by p": (lambda: Distribution("negative-binomial", size=SD * 3, probability=0.4), COUNTS),
    "poisson with zeros": (lambda: Distribution("poisson", mean=SD * 3, zero=0.2), COUNTS),
    "of scipy": (lambda: Distribution(stats.gumbel_r(MEAN, SD)), OUTCOME),
    "counts of scipy": (lambda: Distribution(stats.poisson(SD * 3)), COUNTS),
    "samples": (lambda: Samples(MEMBERS), OUTCOME),
    "copied samples": (lambda: Samples(np.column_stack([MEMBERS, MEMBERS[:, 0], 9 * MEMBERS[:, 1]])), OUTCOME),
    "samples with their mean": (lambda: Samples(np.column_stack([MEMBERS, MEMBERS.mean(axis=1)])), OUTCOME),
    "two samples": (lambda: Samples(MEMBERS[:, :2].astype(np.float32)), OUTCOME),
    "quantiles": (lambda: Quantiles(LEVELS, VALUES), OUTCOME),
    "quantiles in another order": (lambda: Quantiles(LEVELS[::-1], VALUES[:, ::-1]), OUTCOME),
    "one quantile": (lambda: Quantiles([0.5], MEAN[:, None]), OUTCOME),
    "crossed quantiles": (
        lambda: Quantiles(LEVELS, np.where(np.arange(12)[:, None] < 3, VALUES[:, ::-1], VALUES)),
        OUTCOME,
    ),
    "tied quantiles": (lambda: Quantiles([*LEVELS, 0.95], np.round(np.column_stack([VALUES, VALUES[:, -1]]))), OUTCOME),
    "missing quantiles": (lambda: Quantiles(LEVELS, np.where(np.eye(12, 4) == 1, np.nan, VALUES)), OUTCOME),
    "ordered": (
        lambda: Ordered(SHARES, [*"abcd"]),
        np.array([*"abcdabcdabcd"]),
    ),
    "pit": (lambda: PIT(np.linspace(0, 1, 12).round(3)), None),
    "pit of cells": (lambda: PIT(np.linspace(0, 0.9, 12), np.linspace(0.1, 1, 12)), None),
}


@pytest.mark.parametrize("name", FORMS)
def test_distributions(name):
    make, y = FORMS[name]
    forecast = outcome(make)
    if isinstance(forecast, str):
        same_as_kept(KEPT, f"form {name}", forecast)
        return
    complete = forecast.subset(forecast.complete)
    kept_y = None if y is None else y[forecast.complete]
    found = {
        "said": (repr(forecast), forecast.form, forecast.notes, len(forecast)),
        "rows": outcome(forecast.pit_rows, y),
        "complete": outcome(complete.pit_rows, kept_y, sample_weight=np.arange(len(complete)) / 4),
        "part": complete.subset(np.arange(3)).pit_rows(None if y is None else kept_y[:3]),
    }
    if y is not None:
        reading = {"invalid": "drop", "sample_weight": np.arange(1.0, 13)}
        found["observed"] = outcome(
            lambda: [observed(y, forecast, reading).kept, observed(y, forecast, reading).weight]
        )
    if not isinstance(forecast, PIT) and name != "ordered":
        found["quantiles"] = complete.quantile([0.02, 0.1, 0.37, 0.5, 0.9, 0.99]), complete.median(), complete.spread()
        limits = {"above": 6.0}, {"below": np.full(len(complete), 3.0), "above": np.full(len(complete), 7.0)}
        found["censored"] = [outcome(complete.pit_rows, kept_y, censored=each) for each in limits]
    if isinstance(forecast, Distribution):
        x = np.where(np.arange(12) % 4 == 0, 0, y)
        found["functions"] = [getattr(forecast, each)(x) for each in ("cdf", "sf", "logpdf")], forecast.ppf(0.3)
        found["at many"] = (
            forecast.cdf(np.array([[1.0], [2.0]])),
            forecast.canonical,
            forecast.discrete,
            forecast.has_atom,
        )
        found["row by row"] = forecast.row_by_row().pit_rows(y)
    same_as_kept(KEPT, f"form {name}", found)


@pytest.mark.parametrize(
    ("family", "known"),
    [
        ("normal", stats.norm(MEAN, SD)),
        ("t", stats.t(4, MEAN, SD)),
        ("coupled", stats.t(4, MEAN, SD)),
        ("poisson", stats.poisson(SD * 3)),
        ("of scipy", stats.gumbel_r(MEAN, SD)),
        ("gamma", stats.gamma(SD + 1, scale=2)),
        ("gamma by rate", stats.gamma(SD + 1, scale=2)),
        ("lognormal", stats.lognorm(0.4, scale=SD + 2)),
        ("gamma by mean", stats.gamma((SD + 1) ** 2 / 0.25, scale=0.25 / (SD + 1))),
        ("negative binomial", stats.nbinom(2.5, 2.5 / (2.5 + SD * 3))),
        ("negative binomial by p", stats.nbinom(SD * 3, 0.4)),
    ],
)
def test_families_are_those_of_scipy(family, known):
    make, y = FORMS[family]
    found = make()
    if isinstance(found, str):
        pytest.fail(found)
    assert found.cdf(y) == pytest.approx(known.cdf(y), rel=1e-9)
    assert found.sf(y) == pytest.approx(known.sf(y), rel=1e-8, abs=1e-14)
    density = known.logpmf(y) if found.discrete else known.logpdf(y)
    assert found.logpdf(y) == pytest.approx(density, rel=1e-8)
    for share in (0.03, 0.5, 0.99):
        assert found.ppf(share) == pytest.approx(known.ppf(share), rel=1e-7)


REFUSED = {
    "family": lambda: Distribution("norma", mean=MEAN, sd=SD),
    "parameter": lambda: Distribution("normal", mean=MEAN, sigma=SD),
    "too few": lambda: Distribution("normal", mean=MEAN),
    "none": lambda: Distribution("normal"),
    "all numbers": lambda: Distribution("normal", mean=1.0, sd=2.0),
    "lengths": lambda: Distribution("normal", mean=MEAN, sd=SD[:3]),
    "sd of 0": lambda: Distribution("normal", mean=MEAN, sd=SD * (np.arange(12) > 1)),
    "negative mean": lambda: Distribution("poisson", mean=MEAN * 0 - 1e-9),
    "mean of 0": lambda: Distribution("poisson", mean=MEAN * 0).pit_rows(COUNTS * 0),
    "large mean": lambda: Distribution("poisson", mean=MEAN * 0 + 1.0000001e10),
    "gamma of mean 0": lambda: Distribution("gamma", mean=MEAN * 0, sd=SD),
    "probability": lambda: Distribution("negative-binomial", size=SD, probability=SD * 0),
    "probability of 1": lambda: len(Distribution("negative-binomial", size=SD, probability=SD * 0 + 1)),
    "probability above 1": lambda: Distribution("negative-binomial", size=SD, probability=SD * 0 + 1.01),
    "atom of 1": lambda: Distribution("gamma", shape=SD, scale=SD, zero=1.0),
    "atom of 0": lambda: len(Distribution("gamma", shape=SD, scale=SD, zero=0.0)),
    "atom below": lambda: Distribution("gamma", shape=SD, scale=SD, zero=-0.1),
    "NaN": lambda: Distribution("normal", mean=np.where(MEAN > 5, np.nan, MEAN), sd=SD),
    "no count": lambda: Distribution("poisson", mean=SD).pit_rows(OUTCOME),
    "class": lambda: Distribution(stats.norm),
    "no functions": lambda: Distribution(3.0),
    "single": lambda: Distribution(stats.norm(0, 1)),
    "one member": lambda: Samples(MEMBERS[:, :1]),
    "missing member": lambda: Samples(np.where(MEMBERS > 8, np.nan, MEMBERS)),
    "infinite member": lambda: Samples(np.where(MEMBERS > 8, np.inf, MEMBERS)),
    "text": lambda: Samples([["a", "b"]]),
    "one axis": lambda: Samples(MEAN),
    "no levels": lambda: Quantiles(None, VALUES),
    "percent": lambda: Quantiles([10, 30, 50, 90], VALUES),
    "level 0": lambda: Quantiles([0, 0.3, 0.5, 0.9], VALUES),
    "level 1": lambda: Quantiles([0.1, 0.3, 0.5, 1], VALUES),
    "same levels": lambda: Quantiles([0.1, 0.3, 0.3, 0.9], VALUES),
    "turned": lambda: Quantiles(LEVELS, VALUES.T),
    "other shape": lambda: Quantiles(LEVELS, VALUES[:, :3]),
    "levels of two axes": lambda: Quantiles(VALUES, LEVELS),
    "infinite quantile": lambda: Quantiles(LEVELS, np.where(VALUES > 8, np.inf, VALUES)),
    "pit below 0": lambda: PIT([-0.1, 0.5]),
    "pit above 1": lambda: PIT([0.1, 1.5]),
    "pit turned": lambda: PIT([0.5, 0.6], [0.4, 0.7]),
    "ordered sum": lambda: Ordered([[0.5, 0.6], [0.5, 0.5]], ["a", "b"]),
    "ordered labels": lambda: Ordered([[0.5, 0.5], [0.5, 0.5]], ["a"]),
    "forecasts as outcomes": lambda: Samples(MEMBERS).pit_rows(Samples(MEMBERS)),
    "outcomes of another length": lambda: Samples(MEMBERS).pit_rows(OUTCOME[:5]),
    "missing outcome": lambda: Samples(MEMBERS).pit_rows(np.where(OUTCOME > 5, np.nan, OUTCOME)),
    "censored side": lambda: Samples(MEMBERS).pit_rows(OUTCOME, censored={"over": 3}),
    "censored number": lambda: Samples(MEMBERS).pit_rows(OUTCOME, censored=3.0),
    "censored length": lambda: Samples(MEMBERS).pit_rows(OUTCOME, censored={"above": [1, 2]}),
    "censored NaN": lambda: Samples(MEMBERS).pit_rows(OUTCOME, censored={"below": np.full(12, np.nan)}),
    "way": lambda: observed(OUTCOME, Samples(MEMBERS), {"invalid": "rescale"}),
    "weights": lambda: Samples(MEMBERS).pit_rows(OUTCOME, sample_weight=[1, 2]),
    "incomplete": lambda: FORMS["missing quantiles"][0]().pit_rows(OUTCOME),
}


@pytest.mark.parametrize("name", REFUSED)
def test_distributions_that_are_refused(name):
    same_as_kept(KEPT, f"refused {name}", outcome(REFUSED[name]))


def test_rows_as_if_another_class_had_happened():
    p = np.array([[0.25, 0.25, 0.5], [0.4, 0.4, 0.2], [0.0, 1.0, 0.0]])
    [block] = Forecasts([2, 0, 1], p).blocks()
    for code in range(3):
        changed = block.if_true(code)
        assert changed.truth.tolist() == [code] * 3
        assert changed.rows.correct.tolist() == p[:, code].tolist()
        assert changed.rows.hit.tolist() == [[0, 0.5, 0], [0, 0.5, 1], [1, 0, 0]][code]


def test_an_outcome_lies_between_the_quantiles_that_bound_its_cell():
    values = np.tile([1.0, 2.0, 4.0, 8.0], (6, 1)) + np.arange(6)[:, None]
    forecast, y = Quantiles(LEVELS, values), np.array([0.5, 2.5, 3.5, 10.0, 14.0, 12.9])
    low, high = forecast.cell_ends(forecast.pit_rows(y))
    assert low.tolist() == [-np.inf, 2.0, 3.0, 7.0, 12.0, 9.0]
    assert high.tolist() == [1.0, 3.0, 4.0, 11.0, np.inf, 13.0]
