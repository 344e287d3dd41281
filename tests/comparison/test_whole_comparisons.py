"""Comparisons as a whole beside what is stored, every verdict, and their figures computed by hand."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, softmax

from kept import same_as_kept, written
from unperplexed import (
    Distribution,
    InputError,
    Quantiles,
    Samples,
    Tally,
    assess,
    compare,
    compare_sequentially,
    pool,
)
from unperplexed.comparison.compare import _largest, _turning_rows
from unperplexed.comparison.next_step import LossDifference, MapCommands, NextStep, PythonLines
from unperplexed.comparison.result import Difference
from unperplexed.comparison.samples import row_differences
from unperplexed.comparison.sequential import changes_of_pairs, changes_of_samples
from unperplexed.comparison.verdict import first_names, verdict_clauses
from unperplexed.statistics.intervals import Interval

KEPT = Path(__file__).with_name("comparisons.json")


def two(seed, n=150, **slopes):
    """Outcomes, and forecasters whose log-odds are times a slope."""
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(0, 1.4, n), 2)
    return (rng.random(n) < expit(z)).astype(int), {name: expit(slope * z) for name, slope in slopes.items()}


def three(seed, n=150, **sharp):
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(0, 1.2, (n, 3)), 2)
    y = (softmax(z, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=2)
    return y, {name: softmax(by * z, axis=1) for name, by in sharp.items()}


def zeros(seed):
    y, p = two(seed, a=1.0, b=2.0)
    p["b"][[2, 5]] = 1 - y[[2, 5]]
    return y, p


N = np.arange(150)
CASES = {
    "plain": lambda: compare(*two(1, a=1.0, b=3.0)),
    "many": lambda: compare(*two(2, a=1.0, b=3.0, c=0.2), metrics=["power_score(3)"], confidence=0.9),
    "weights": lambda: compare(*two(3, a=1.0, b=2.0), sample_weight=N % 3 + 1.0),
    "clusters": lambda: compare(*two(4, a=1.0, b=2.0), clusters=N // 6),
    "two ways": lambda: compare(*two(5, a=1.0, b=2.0), clusters=[N // 10, N % 12]),
    "lag": lambda: compare(*two(6, a=1.0, b=2.0), lag=2),
    "lag within": lambda: compare(*two(7, a=1.0, b=2.0), lag=1, within=N % 5),
    "groups": lambda: compare(*two(8, a=1.0, b=3.0), by={"site": N % 3}, ids=[f"r{at}" for at in N]),
    "reference": lambda: compare(*two(9, a=1.0, b=3.0, c=0.3), reference="b"),
    "climatology": lambda: compare(*two(10, a=1.0, b=2.0), reference={"climatology": N % 2}, by={"half": N // 75}),
    "zeros": lambda: compare(*zeros(11)),
    "zeros, no floor": lambda: compare(*zeros(11), floor=0),
    "same": lambda: compare(*two(12, a=1.0, b=1.0)),
    "three classes": lambda: compare(*three(13, a=1.0, b=3.0)),
    "few": lambda: compare(*two(14, n=9, a=1.0, b=3.0)),
    "numbers": lambda: _numbers(15),
    "numbers, reference": lambda: _numbers(16, reference="wide"),
    "numbers, persistence": lambda: _numbers(
        17, metrics=["interval_score(0.5)"], confidence=0.9, reference="climatology"
    ),
    "quantiles": lambda: _forms(18),
}


def _numbers(seed, n=80, **options):
    rng = np.random.default_rng(seed)
    mean = np.round(rng.normal(0, 2, n), 2)
    y = np.round(mean + rng.normal(0, 1, n), 3)
    widths = {"good": 1.0, "wide": 2.0, "narrow": 0.5}
    return compare(
        y, {name: Distribution("normal", mean=mean, sd=np.full(n, w)) for name, w in widths.items()}, **options
    )


def _forms(seed, n=80):
    rng = np.random.default_rng(seed)
    mean = np.round(rng.normal(0, 2, n), 2)
    y = np.round(mean + rng.normal(0, 1, n), 3)
    z = np.array([-1.2816, 0.0, 1.2816])
    members = np.round(mean[:, None] + 1.5 * rng.normal(0, 1, (n, 11)), 3)
    return compare(y, {"q": Quantiles([0.1, 0.5, 0.9], mean[:, None] + z), "m": Samples(members)})


@pytest.mark.parametrize("name", CASES)
def test_comparisons(name):
    found = CASES[name]()
    said = [f"{found!r}", found.verdict, *map(written, found.pairs)]
    if hasattr(found, "frame"):
        plain = {each.name: each for each in found.frame("forecasters")}
        said += [written({key: column.to_numpy() for key, column in plain.items()}), written(found.next_step)]
        fields = {key: getattr(found, key) for key in _OF_RESULT}
        said += [written(fields), written(found.groups), written(found.skill)]
    else:
        said += [written(found.skill), written({"notes": found.notes, "reference": found.reference})]
    same_as_kept(KEPT, name, "\n".join([*said, ""]))


_OF_RESULT = (
    "n_rows",
    "n_classes",
    "labels",
    "weighted",
    "independent_rows",
    "n_clusters",
    "n_crossed_clusters",
    "lag",
    "n_series",
    "floor",
    "scored_floor",
    "confidence",
    "warnings",
    "by",
    "dependence",
)

SEQUENCES = {
    "early": lambda: compare_sequentially(*two(21, n=40, a=1.0, b=1.1)),
    "decided": lambda: compare_sequentially(*two(22, n=300, a=1.0, b=-1.0), confidence=0.9),
    "second": lambda: compare_sequentially(*two(23, n=300, a=-1.0, b=1.0), metric="spherical_score"),
    "log loss": lambda: compare_sequentially(*two(24, n=200, a=3.0, b=1.0), metric="log_loss", floor=0.02),
    "three": lambda: compare_sequentially(*three(25, n=200, a=1.0, b=3.0), metric="power_score(2)"),
}


def test_sequences():
    shown = []
    for name, make in SEQUENCES.items():
        found = make()
        more = {"interval": found.interval, "second ahead": found.second_ahead, "better now": found.better_now}
        frame = {each.name: each.to_numpy() for each in found.frame()}
        shown += [f"# {name} {found!r}", written(found), written(more), written(frame)]
    same_as_kept(KEPT, "sequences", "\n".join([*shown, ""]))


def test_pools():
    shown = []
    for weights in ("equal", [0.2, 0.8]):
        _, p = two(26, a=1.0, b=3.0)
        shown.append(written(pool(None, p, weights=weights).to_dict()))
    same_as_kept(KEPT, "pools", "\n".join([*shown, ""]))


def test_differences_are_those_of_a_paired_t_test():
    y, p = two(27, n=60, a=1.0, b=3.0)
    found = compare(y, p, clusters=None).between("a", "b").differences["brier_score"]
    scores = {name: 2 * (y - each) ** 2 for name, each in p.items()}
    expected = stats.ttest_rel(scores["a"], scores["b"])
    low, high = expected.confidence_interval()
    assert found.difference == pytest.approx(scores["a"].mean() - scores["b"].mean())
    assert found.p_value == found.adjusted_p_value == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx((low, high))
    pair = compare(y, p, clusters=None).between("a", "b")
    assert pair.accuracy_ratio == pytest.approx(math.exp(-pair.differences["log_loss"].difference))
    mirrored = pair.mirrored()
    assert (mirrored.first, mirrored.second) == ("b", "a")
    assert mirrored.differences["brier_score"].interval == pytest.approx((-high, -low))
    assert mirrored.accuracy_ratio == pytest.approx(1 / pair.accuracy_ratio)
    assert mirrored.differences["log_loss"].skewness == -pair.differences["log_loss"].skewness
    with pytest.raises(InputError, match="no such pair: 'a', 'x'; compared were 'a', 'b'"):
        compare(y, p).between("a", "x")


@pytest.mark.parametrize(
    ("parts", "turning"),
    [
        ([1.0, 2.0, -1.0], 1),
        ([1.0, 1.0, -1.0], 1),
        ([1.0, 1.0, 1.0, -1.0], 2),
        ([-3.0, 1.0, 1.0], 1),
        ([-1.0, -1.0, 1.0], 1),
        ([0.5, -0.5], 0),
        ([], 0),
        ([math.inf, 1.0], 0),
        ([1.0, 0.0, 0.0], 1),
        ([0.1] * 10, 10),
        ([2.0, 2.0, 2.0, -2.0], 2),
    ],
)
def test_turning_rows_are_those_without_which_the_lead_is_gone(parts, turning):
    parts = np.array(parts)
    assert _turning_rows(parts) == turning
    if turning:
        left = np.sort(parts * np.sign(parts.sum()))[: parts.size - turning]
        assert left.sum() <= 1e-12


def test_the_largest_ten_parts_come_first():
    assert _largest(np.array([0.0, 3.0, np.nan, 3.0, 5.0])).tolist() == [4, 1, 3]
    sizes = np.array([*range(1, 13), 3.0])
    assert _largest(sizes).tolist() == [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]
    assert _largest(np.ones(20)).tolist() == [*range(10)]
    assert _largest(np.array([np.inf, 1.0])).tolist() == [0, 1]


def test_rounding_is_no_difference():
    a = np.array([1.0, 1024.0, 0.0, 1.0])
    d = row_differences(a, a + np.array([2.0**-50, 2.0**-40, 2.0**-50, 2.0**-49]))
    assert (d != 0).tolist() == [False, False, False, True]


def test_names_are_five_at_most():
    assert first_names([]) == ""
    assert first_names(["a"]) == "a"
    assert first_names(["a", "b"]) == "a and b"
    assert first_names([*"abcde"]) == "a, b, c, d and e"
    assert first_names([*"abcdef"]) == "a, b, c and 3 more"
    assert first_names(["a", "b"], ", ") == "a, b"


def compared(p_values, names="abc", brier=None, zero=(), floor=0.0, **more):
    """Forecasters by rising log loss, given the p-values of all pairs by each rule; 1 is for equal scores."""
    means = dict(zip(names, brier or range(len(names)), strict=True))
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]

    def difference(rule, first, second):
        at = pairs.index(tuple(sorted((first, second))))
        p = p_values[rule][at]
        ahead = first < second if rule == "log_loss" else means[first] < means[second]
        size = 0.0 if p == 1 else -0.1 if ahead else 0.1
        return Difference(size, 0.0 if p == 1 else 0.05, Interval(-0.2, 0.0), p, p, 50.0, 0.0)

    def between(first, second):
        return SimpleNamespace(differences={rule: difference(rule, first, second) for rule in p_values})

    forecasters = {
        name: SimpleNamespace(zero_rows=zero.count(name), scores={"brier_score": SimpleNamespace(mean=means[name])})
        for name in names
    }
    return SimpleNamespace(
        forecasters=forecasters, between=between, scored_floor=floor, confidence=0.75, skill=None, **more
    )


LEVELS = (0.002, 0.25, 1.0, math.nan)


def _said(found, **options):
    return "; ".join(f"{each.words}{'' if each.by_name else ' *'}" for each in verdict_clauses(found, **options))


def test_every_verdict_of_two():
    lines = []
    for log_loss, score, brier in product(LEVELS, LEVELS, ((0, 1), (1, 0), (0, 0))):
        found = compared({"log_loss": [log_loss], "brier_score": [score]}, "ab", brier)
        lines.append(f"{log_loss} {score} {brier}: {_said(found)}")
    same_as_kept(KEPT, "verdicts-of-two", "\n".join([*lines, ""]))


def test_every_verdict_of_three():
    lines = []
    for brier in ((0, 1, 2), (1, 0, 2), (2, 1, 0)):
        by_score = product((0.002, 0.4), (0.03, 0.4), (0.002, 0.25))
        for log_loss, score in product(product((0.002, 0.25, 1.0), (0.03, 0.4), (0.01,)), [*by_score]):
            found = compared({"log_loss": log_loss, "brier_score": score}, "abc", brier)
            lines.append(f"{log_loss} {score} {brier}: {_said(found)}")
    lines.append(_said(compared({"log_loss": [math.nan] * 3, "brier_score": [math.nan] * 3})))
    lines.append(_said(compared({"log_loss": [0.001] * 3, "brier_score": [0.002] * 3}), p_values=False))
    lines.append(_said(compared({"log_loss": [0.2] * 3, "brier_score": [0.2] * 3}, zero=["b", "b", "c"])))
    lines.append(_said(compared({"log_loss": [0.2] * 3, "brier_score": [0.2] * 3}, zero=["b", "b", "c"], floor=0.01)))
    lines.append(_said(compared({"log_loss": [0.2] * 3, "brier_score": [0.2] * 3}, zero=["a", "b", "c"])))
    same_as_kept(KEPT, "verdicts-of-three", "\n".join([*lines, ""]))


def change(seed, n=100, **more):
    y, p = two(seed, n=n, a=1.0)
    return assess(y, p["a"], resamples=0, clusters=None, **more)


def test_changes_of_two_samples_are_those_of_welch():
    now, before = change(31, n=120), change(32, n=80, confidence=0.9)
    found = changes_of_samples(now, before)["change.log_loss"]
    losses = [-np.log(np.where(y == 1, p["a"], 1 - p["a"])) for y, p in (two(31, n=120, a=1.0), two(32, n=80, a=1.0))]
    expected = stats.ttest_ind(*losses, equal_var=False)
    assert found.value == pytest.approx(losses[0].mean() - losses[1].mean())
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-6)
    errors = [each.std(ddof=1) ** 2 / each.size for each in losses]
    assert found.spread.units == pytest.approx(120 * errors[0] / sum(errors), rel=1e-6)
    assert [*changes_of_samples(now, before)] == sorted(changes_of_samples(now, before))
    equal = changes_of_samples(
        assess([1, 0] * 9, [0.8, 0.2] * 9, resamples=0), assess([1, 0] * 9, [0.8, 0.2] * 9, resamples=0)
    )
    assert equal["change.log_loss"].value == 0
    assert equal["change.log_loss"].spread is None
    with pytest.raises(InputError, match=r"its classes are \[0, 1\], not \['a', 'b'\]"):
        changes_of_samples(assess(["a", "b"] * 9, [0.8, 0.2] * 9, pos_label="b", resamples=0), now)


def test_changes_of_pairs_are_those_of_the_pair():
    y, p = two(33, a=1.0, b=2.0)
    compared_two = compare(y, p, clusters=None)
    one, other = (changes_of_pairs(compared_two, name)["change.brier_score"] for name in "ab")
    assert one.value == -other.value == compared_two.between("a", "b").differences["brier_score"].difference
    assert one.spread.units == 150
    assert one.spread.degrees == 149
    clustered = changes_of_pairs(compare(y, p, clusters=N // 10), "a")["change.brier_score"].spread
    assert (clustered.units, clustered.prior_units) == (15, 20)
    assert one.spread.prior_units == 1000
    same = changes_of_pairs(compare(y, {"a": p["a"], "b": p["a"]}), "a")["change.brier_score"]
    assert same.spread is None
    with pytest.raises(InputError, match="expected two forecasters, one of them 'x', got"):
        changes_of_pairs(compared_two, "x")
    with pytest.raises(InputError, match="expected two forecasters"):
        changes_of_pairs(compare(*two(34, a=1.0, b=2.0, c=3.0)), "a")


@pytest.mark.parametrize(
    ("low", "high", "significant"),
    [(0.0, 0.1, False), (1e-9, 0.1, True), (-0.1, 0.0, False), (-0.1, -1e-9, True), (-0.1, 0.1, False)],
)
def test_differences_are_significant_beside_0(low, high, significant):
    assert LossDifference(0.0, Interval(low, high)).significant == significant


def step(mended=0, lead=0.05, low=0.01, high=0.09, before="ab", rival="b", ranked=None, floor=0.0):
    """What follows a comparison in which the last forecasters gain by recalibration."""
    remedy = SimpleNamespace(
        map="temperature 2", recalibrator=SimpleNamespace(baseline=None),
        gain=SimpleNamespace(losses=("0.600", "0.500"), interval=Interval(0.05, 0.15)),
    )  # fmt: skip
    names = before[len(before) - mended :] if mended else ""
    losses = {name: 0.4 + at / 10 for at, name in enumerate(ranked or before)}
    return NextStep(
        dict.fromkeys(names, remedy),
        losses,
        rival,
        LossDifference(lead, Interval(low, high)),
        0.95,
        tuple(before),
        floor,
    )


STEPS = {
    "nothing, stands": step,
    "nothing, open": lambda: step(low=-0.01),
    "nothing, of four": lambda: step(low=-0.01, before="abcd"),
    "nothing, unknown": lambda: step(low=-math.inf, high=math.inf),
    "nothing, no width": lambda: step(low=0.0, high=0.0),
    "one": lambda: step(1),
    "one, first now": lambda: step(1, ranked="ba", rival="a"),
    "two, open": lambda: step(2, low=-0.02, before="abc"),
    "five": lambda: step(5, before="abcdef", floor=0.01),
    "six": lambda: step(6, before="abcdef"),
    "unknown": lambda: step(1, low=math.nan, high=math.nan),
}


def test_next_steps():
    shown = [f"{name}: {make().words} | {make().ranking_changes} | {make().first}" for name, make in STEPS.items()]
    commands = MapCommands(
        {"a": "fit a", "b": "fit b"}, {"a": "later a", "b": "later b"}, {"a": "a.json", "b": "b b.json"}, "again"
    )
    shown += [commands.text({"a": 1, "b": 2}), commands.text({"b": 1}), repr(commands.text({}))]
    shown += [repr(MapCommands({}, {}, {}, "x").text({"a": 1}))]
    shown += [
        PythonLines().text({"a": 1, "b": 2}),
        repr(PythonLines(scale="percent").text({"a": 1})),
        repr(PythonLines().text({})),
    ]
    shown += [PythonLines.reading({"clusters": [1], "scale": "probability"}).text({"a": 1})]
    same_as_kept(KEPT, "next-steps", "\n".join([*shown, ""]))


@pytest.mark.parametrize(
    ("forecasts", "options", "says"),
    [
        ([0.5] * 4, {}, "expected a mapping of names to probabilities, got list"),
        ({"a": [0.5] * 4}, {}, "at least two forecasters"),
        ({"a": [0.5] * 4, 1: [0.5] * 4}, {}, "a forecaster's name is a text"),
        ({"a": [0.5] * 4, "": [0.5] * 4}, {}, "name is a text"),
        ({"a": [0.5] * 4, "b": [0.5] * 3}, {}, "rows"),
        ({"a": [0.5] * 4, "b": [0.4] * 4}, {"lag": 3}, "choose a smaller lag"),
        ({"a": [0.5] * 4, "b": [0.4] * 4}, {"reference": "x"}, "x"),
    ],
)
def test_what_is_no_comparison_is_refused(forecasts, options, says):
    with pytest.raises(InputError, match=says):
        compare([0, 1, 0, 1], forecasts, **options)


@pytest.mark.parametrize(
    ("forecasts", "options", "says"),
    [
        ([0.5] * 4, {}, "expected two forecasters as .*, got list"),
        ({"a": [0.5] * 4}, {}, "got 1 names"),
        ({"a": [0.5] * 4, "b": [0.5] * 4, "c": [0.5] * 4}, {}, "got 3 names. Compare more of them two by two"),
        (
            {"a": [0.5] * 4, "b": [1.0] * 4},
            {"metric": "log_loss", "floor": 0},
            "can become infinite .* take a floor above 0",
        ),
        ({"a": [0.5] * 4, "b": [0.4] * 4}, {"confidence": 1.0}, "confidence"),
        ({"a": [0.5] * 4, "b": [0.4] * 4}, {"metric": "x"}, "x"),
    ],
)
def test_what_is_no_sequence_is_refused(forecasts, options, says):
    with pytest.raises(InputError, match=says):
        compare_sequentially([0, 1, 0, 1], forecasts, **options)


def test_distributions_that_do_not_compare_are_refused():
    y = np.zeros(6)
    q = Quantiles([0.1, 0.5, 0.9], np.tile([-1.0, 0, 1], (6, 1)))
    other = Quantiles([0.2, 0.5, 0.8], np.tile([-1.0, 0, 1], (6, 1)))
    with pytest.raises(InputError, match="'a' has 3 levels, 'b' 3 that differ"):
        compare(y, {"a": q, "b": other})
    with pytest.raises(InputError, match="at least two forecasters"):
        compare(y, {"a": q})
    normal = Distribution("normal", mean=y, sd=1.0)
    with pytest.raises(InputError, match="'x' is none of the forecasters 'a', 'b'"):
        compare(y, {"a": normal, "b": normal}, reference="x")
    found = compare(y + 0.1, {"a": normal, "b": Distribution("normal", mean=y, sd=2.0)})
    with pytest.raises(InputError, match="no pair 'a' and 'x'; forecasters are 'a' and 'b'"):
        found.between("a", "x")
    assert found.between("a", "b")["crps"].difference == -found.between("b", "a")["crps"].difference


@pytest.mark.parametrize(
    ("adjusted", "expected"),
    [
        (0.249, "a is best by CRPS (p = 0.249)."),
        (0.25, "a is first by CRPS, but not distinguishable from b (p = 0.250)."),
    ],
)
def test_verdicts_on_distributions_turn_at_their_level(adjusted, expected):
    y = np.zeros(6)
    found = compare(y + 0.1, {"a": Distribution("normal", mean=y, sd=1.0), "b": Distribution("normal", mean=y, sd=2.0)})
    [pair] = found.pairs
    crps = {"crps": replace(pair.differences["crps"], adjusted_p_value=adjusted)}
    assert replace(found, confidence=0.75, pairs=(replace(pair, differences=crps),)).verdict == expected


def test_rows_are_counted_where_they_are_few():
    y, p = two(35, n=29, a=1.0, b=2.0)
    warned = {
        n: compare(y[:n], {name: each[:n] for name, each in p.items()}, clusters=None).warnings for n in (1, 2, 29)
    }
    assert "there is only one row" in warned[1][0]
    assert "few rows: 29 (effective sample size 29)" in warned[29][0]
    y, p = two(36, n=30, a=1.0, b=2.0)
    assert not [each for each in compare(y, p, clusters=None).warnings if each.startswith("few rows: ")]
    assert "all rows are in one cluster" in compare(y, p, clusters=np.zeros(30)).warnings[0]
    assert compare(y, p, clusters=np.arange(30)).warnings[0].startswith("every cluster has one row")
    heavy = compare(y, p, sample_weight=np.where(np.arange(30) == 3, 1e6, 1.0), clusters=None).warnings
    assert "most of the weight is in one of the 30 rows (effective sample size 1)" in " ".join(heavy)
    one = compare([1] * 40, {"a": [0.6] * 40, "b": [0.5] * 40}, clusters=None)
    assert "the difference in log loss between a and b is the same in every row" in " ".join(one.warnings)
    tilted = {"a": np.full(60, 0.5), "b": np.where(np.arange(60) < 3, 0.9, 0.5)}
    assert "few rows decide between" in " ".join(compare(np.arange(60) % 2, tilted, clusters=None).warnings)
    assert Tally.of(y, p["a"]).n_rows == 30
