import dataclasses
import inspect
import json
import math
import re
from typing import get_args

import numpy as np
import polars as pl
import pytest

from helpers import softmax_forecasts, without_dependence
from printed import without_code
from unperplexed import InputError, Tallies, Tally, assess, assess_by, risk_profile, tally_files_by
from unperplexed.assessment import breakdown
from unperplexed.assessment.breakdown import Sort, with_shrinkage
from unperplexed.assessment.distributions import DistributionSort
from unperplexed.assessment.settings import AssessmentSettings
from unperplexed.cli.parser import _parser, main
from unperplexed.describe.groups import groups_table
from unperplexed.forecasts.reading import AssessedReading
from unperplexed.report.numbers import share
from unperplexed.statistics.empirical_bayes import pooled_variance, shrunk

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")


@pytest.fixture
def rows(rng):
    """Five groups of 30 to 2000 rows: the larger its number, the less a group's forecasts know."""
    group = np.repeat([1, 2, 3, 4, 5], [1000, 600, 30, 2000, 400])
    z = rng.normal(size=group.size) * (3.0 / group)
    p = (1 / (1 + np.exp(-z))).round(3)
    y = (rng.uniform(size=group.size) < p).astype(int)
    order = rng.permutation(group.size)
    return y[order], p[order], group[order]


@pytest.fixture
def result(rows):
    y, p, group = rows
    return assess_by(y, p, by=group, resamples=0)


@pytest.mark.slow
def test_each_group_is_assessed_as_if_it_were_alone(rows, result):
    y, p, group = rows
    assert len(result) == 5
    for number in range(1, 6):
        here = group == number
        assert result[number].to_json() == assess(y[here], p[here], resamples=0).to_json()
        assert result[(number,)] is result[str(number)]
    assert result.whole.to_json() == assess(y, p, resamples=0).to_json()
    with pytest.raises(KeyError):
        result[6]


def test_small_costs_of_rare_events_are_printed():
    """Four events in 40,000 rows, predicted three times as often: ln L of a bias is 8 - 4 ln 3, less 1 for it."""
    y = np.tile(np.arange(10_000) == 0, 8).astype(int)
    group = np.repeat(["calibrated", "overpredicted"], 40_000)
    p = np.where(group == "calibrated", 0.0001, 0.0003)
    result = assess_by(y, p, by=group, resamples=0)
    assert result["overpredicted"].reported.geometric_accuracy < result["calibrated"].reported.geometric_accuracy
    assert re.search(r"overpredicted.* 40,000 +\S+ +0\.000065 ", str(result))
    assert re.search(r"\ncalibrated.* 40,000 +\S+ +0\.000 ", str(result))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"floor": (0.05, 0.95), "view": "each-class", "metrics": ["power_score(2)"]},
        {"measured": "equal-population:bins=4", "view": "top-label"},
        {"pos_label": 0, "confidence": 0.8, "seed": 5},
    ],
)
def test_options_reach_every_assessment(rows, options):
    y, p, group = rows
    options = {"resamples": 40 if "confidence" in options else 0, **options}
    result = assess_by(y, p, by=group, **options)
    assert result.whole.to_json() == assess(y, p, **options).to_json()
    assert result[4].to_json() == assess(y[group == 4], p[group == 4], **options).to_json()
    assert str(result)
    assert len(result.frame()) == 5


def test_options_are_those_of_assess():
    options = set(inspect.signature(assess).parameters) - {"y_true", "y_prob"}
    own = {"by", "sort", "shrink", "most_groups"}
    assert set(inspect.signature(assess_by).parameters) - {"y_true", "y_prob"} == options - {"n_jobs", "among"} | own
    of_counts = {field.name for field in dataclasses.fields(AssessmentSettings)} - {"asked", "orders"}
    assert options == of_counts | {*AssessedReading.__annotations__} | {"metrics", "reference", "n_jobs", "among"}
    assert not of_counts & {*AssessedReading.__annotations__}
    with pytest.raises(TypeError, match="flor"):
        assess_by([1, 0], [0.8, 0.3], by=[1, 2], flor=0.01)


def test_the_standard_error_is_that_of_the_profile(rows):
    y, p, group = rows
    result = assess_by(y, p, by=group, floor=0.1)
    for each in (result.total, *result.groups):
        here = np.isin(group, each.key or group)
        profile = risk_profile(y[here], p[here], orders=[0], floor=0.1)
        assert each.standard_error == pytest.approx(profile.standard_errors[0], rel=1e-12)


def keys(result):
    return [group.key[0] for group in result.groups]


@pytest.mark.slow
def test_the_worst_come_first(rows):
    y, p, group = rows
    by_sort = {sort: assess_by(y, p, by=group, sort=sort) for sort in get_args(Sort)}
    assert keys(by_sort["group"]) == [1, 2, 3, 4, 5]
    assert keys(by_sort["rows"]) == [4, 1, 2, 5, 3]
    for sort, figure in (("geometric_accuracy", "reported_geometric_accuracy"), ("prediction_accuracy",) * 2):
        values = by_sort[sort].frame().filter(~pl.col("small"))[figure].to_numpy()
        assert (np.diff(values) >= 0).all()
        assert keys(by_sort[sort])[-1] == 3
    costs = by_sort["cost"].frame().filter(~pl.col("small"))["cost"].to_numpy()
    assert (np.diff(costs) <= 0).all()
    assert keys(by_sort["cost"])[-1] == 3  # the small one, whatever its cost
    assert by_sort["cost"].groups[-1].cost == max(group.cost for group in by_sort["cost"].groups)


def test_cost_is_that_of_the_errors_found(result):
    for group in result.groups:
        assert group.cost == group.assessment.diagnosis.cost == sum(x.cost for x in group.assessment.diagnosis.findings)


@pytest.mark.parametrize(("hits", "misses", "small"), [(100, 100, False), (99, 500, True), (500, 99, True)])
def test_small_is_fewer_than_a_hundred_of_either_kind(hits, misses, small):
    y = np.repeat([1, 0], [hits, misses])
    for copies, weight in ((1, None), (1, 7.0), (2, None)):
        n = copies * y.size
        weights = None if weight is None else np.full(n, weight)
        result = assess_by(np.tile(y, copies), np.full(n, 0.7), by=np.zeros(n), sample_weight=weights)
        assert result.groups[0].small == (small and copies == 1)


@pytest.mark.slow
def test_the_order_of_rows_and_the_scale_of_weights_do_not_matter(rows, rng):
    y, p, group = rows
    result = assess_by(y, p, by=group, shrink=True, resamples=0)
    order = rng.permutation(y.size)
    assert assess_by(y[order], p[order], by=group[order], shrink=True, resamples=0).to_json() == result.to_json()
    weighted = assess_by(y, p, by=group, shrink=True, sample_weight=np.full(y.size, 3.0))
    for one, other in zip(result.groups, weighted.groups, strict=True):
        assert vars(one.shrunken) == pytest.approx(vars(other.shrunken), rel=1e-9)


def test_weight_two_is_the_row_twice(rows):
    y, p, group = rows
    weight = np.where(np.arange(y.size) % 3, 1.0, 2.0)
    weighted = assess_by(y, p, by=group, sample_weight=weight, measured="isotonic")
    y, p, group = (np.repeat(x, weight.astype(int)) for x in rows)
    twice = assess_by(y, p, by=group, measured="isotonic")
    assert keys(weighted) == keys(twice)
    for number in range(1, 6):
        assert weighted[number].metrics() == pytest.approx(twice[number].metrics(), rel=1e-12)


def test_shrunken_accuracies_from_the_rows_themselves(rows):
    y, p, group = rows
    result = assess_by(y, p, by=group, shrink=True, sort="group")
    scores = [np.log(np.maximum(np.where(y == 1, p, 1 - p), 0.005))[group == number] for number in range(1, 6)]
    mean, size = np.array([x.mean() for x in scores]), np.array([float(x.size) for x in scores])
    error = np.array([x.std(ddof=1) for x in scores]) / np.sqrt(size)
    found = shrunk(mean, error, size, pooled_variance(error, size))
    frame = result.frame()
    assert frame["shrunken_geometric_accuracy"].to_numpy() == pytest.approx(np.exp(found.mean), rel=1e-9)
    assert frame["shrunken_own_share"].to_numpy() == pytest.approx(found.own_share, rel=1e-9)
    for name, side in (("low", -1), ("high", 1)):
        limit = np.exp(found.mean + side * 1.959963984540054 * found.standard_error)
        assert frame[f"shrunken_{name}"].to_numpy() == pytest.approx(limit, rel=1e-9)
    assert result.shrinkage.centre == pytest.approx(math.exp(found.centre), rel=1e-9)
    assert result.shrinkage.between == pytest.approx(math.sqrt(found.between), rel=1e-9)
    assert result.shrinkage.within**2 == pytest.approx(pooled_variance(error, size), rel=1e-9)


@pytest.mark.slow
def test_rows_that_depend_on_one_another_say_less(rows):
    """Each row ten times: to groups of rows, errors are those of the rows once; to rows alone, a third of them."""
    y, p, group = (np.repeat(x, 10) for x in rows)
    copies = np.repeat(np.arange(y.size // 10), 10)
    once, alone, together = (
        assess_by(*x[:2], by=x[2], shrink=True, sort="group", **settings)
        for x, settings in ((rows, {}), ((y, p, group), {"clusters": None}), ((y, p, group), {"clusters": copies}))
    )
    for one, all_alone, whole in zip(once.groups, alone.groups, together.groups, strict=True):
        assert all_alone.standard_error == pytest.approx(one.standard_error / math.sqrt(10), rel=0.03)  # n - 1
        assert whole.standard_error == pytest.approx(one.standard_error, rel=0.25)
        assert whole.shrunken.own_share == pytest.approx(one.shrunken.own_share, abs=0.1)


def test_where_all_rows_depend_on_one_another_errors_come_from_the_other_groups(rows):
    y, p, group = rows
    rng = np.random.default_rng(1)
    matches = np.where(group == 2, 0, rng.integers(1, 300, y.size))
    result = assess_by(y, p, by=group, clusters=matches, shrink=True, resamples=0, sort="group")
    lone = result.groups[1]
    assert math.isnan(lone.standard_error)
    assert 0 < lone.shrunken.low < lone.shrunken.geometric_accuracy < lone.shrunken.high < 1
    with pytest.raises(InputError, match="of one row each; how much .* is unknown"):
        assess_by(y, p, by=group, clusters=group, shrink=True)


@pytest.mark.slow
def test_groups_that_differ_by_chance_alone_are_all_at_the_whole():
    """Each group has the same rows, so that between them there is less than chance would make."""
    p = np.tile([0.9, 0.9, 0.6, 0.3], 50)
    y = np.tile([1, 0, 1, 1], 50)
    result = assess_by(y, p, by=np.arange(200) // 4 % 5, shrink=True)
    whole = result.whole.reported.geometric_accuracy
    assert result.shrinkage.between == 0
    assert result.shrinkage.centre == pytest.approx(whole, rel=1e-12)
    for group in result.groups:
        assert group.shrunken.geometric_accuracy == pytest.approx(whole, rel=1e-12)
        assert group.shrunken.own_share == 0
        assert group.shrunken.low < whole < group.shrunken.high
    assert "no more than chance" in str(result)


def test_a_lone_bad_row_is_not_the_worst_group_once_shrunken(rng):
    sizes = {"bad": 1000, "fair": 1000, "good": 1000, "fine": 1000, "lone": 1}
    share = {"bad": 0.55, "fair": 0.7, "good": 0.8, "fine": 0.85, "lone": 0.0}
    by = np.repeat(list(sizes), list(sizes.values()))
    y = np.concatenate([np.arange(n) < share[name] * n for name, n in sizes.items()]).astype(int)
    p = np.concatenate([np.full(n, max(share[name], 0.8)) for name, n in sizes.items()])
    alone = assess_by(y, p, by=by)
    assert min(alone.groups, key=lambda group: group.assessment.reported.geometric_accuracy).key == ("lone",)
    assert keys(alone)[-1] == "lone"
    result = assess_by(y, p, by=by, shrink=True)
    assert keys(result)[0] == "bad"
    lone = result.groups[keys(result).index("lone")]
    assert lone.shrunken.own_share < 0.2
    assert math.isnan(lone.standard_error)
    assert lone.shrunken.high - lone.shrunken.low > 0.05


@pytest.mark.slow
def test_small_groups_stand_behind_the_others_unless_shrunk(rng):
    """Thirty stations of one row and ten of 500, all calibrated: by chance the lone rows are the worst ten."""
    by = np.concatenate([np.arange(30), 100 + np.repeat(np.arange(10), 500)])
    p = rng.uniform(0.1, 0.9, by.size)
    y = (rng.uniform(size=by.size) < p).astype(int)
    alone, shrunk = (assess_by(y, p, by=by, shrink=shrink, resamples=0) for shrink in (False, True))
    assert [group.small for group in alone.groups] == [False] * 10 + [True] * 30
    assert (alone.small_last, shrunk.small_last) == (True, False)
    assert "first, small ones last" in " ".join(str(alone).split())
    assert "small ones last" not in str(shrunk)
    printed = str(assess_by(y[:30], p[:30], by=by[:30], resamples=0)).splitlines()
    lone = [line.partition("few rows ")[2].split() for line in printed if re.match(r"\d+, few rows ", line)]
    assert len(lone) == 19  # and all rows
    assert {words[0] for words in lone} == {"1"}
    for group in (*alone.groups, *shrunk.groups):
        assert math.isnan(group.standard_error) == (group.key[0] < 100)


def test_groups_that_do_not_differ_go_by_their_own_value(rng):
    """Their shares are 0, so that shrunken values are equal."""
    p = np.tile([0.9, 0.9, 0.6, 0.3], 250) + np.repeat([0, -3e-4, 2e-4, -1e-4, 3e-4], 200)
    y = np.tile([1, 0, 1, 1], 250)
    result = assess_by(y, p, by=np.repeat(np.arange(5), 200), shrink=True, resamples=0)
    assert {group.shrunken.own_share for group in result.groups} == {0.0}
    own = [group.assessment.reported.geometric_accuracy for group in result.groups]
    assert own == sorted(own)
    assert keys(result) != sorted(keys(result))


@pytest.mark.slow
def test_shrinking_brings_accuracies_nearer_to_the_true_ones(rng):
    """Calibrated forecasters of different sharpness, whose true log accuracy is known; groups of 5 to 200 rows."""
    raw, better, covered = [], [], []
    grid = np.linspace(-6, 6, 2001)
    for _ in range(6):
        sizes = np.exp(rng.uniform(np.log(5), np.log(200), 12)).astype(int)
        sharpness = 1.2 * np.exp(0.2 * rng.normal(size=12))
        truth = {}
        for key, width in enumerate(sharpness):
            q = 1 / (1 + np.exp(-width * grid))
            truth[key] = np.average(q * np.log(q) + (1 - q) * np.log1p(-q), weights=np.exp(-(grid**2) / 2))
        by = np.repeat(np.arange(12), sizes)
        p = 1 / (1 + np.exp(-sharpness[by] * rng.normal(size=by.size)))
        y = (rng.uniform(size=by.size) < p).astype(int)
        for group in assess_by(y, p, by=by, shrink=True, measured="isotonic", resamples=0).groups:
            true, s = truth[group.key[0]], group.shrunken
            raw.append((math.log(group.assessment.reported.geometric_accuracy) - true) ** 2)
            better.append((math.log(s.geometric_accuracy) - true) ** 2)
            covered.append(s.low < math.exp(true) < s.high)
    assert np.mean(better) < 0.3 * np.mean(raw)
    assert np.mean(covered) > 0.85


@pytest.mark.parametrize(
    ("y", "p", "by", "settings", "expected"),
    [
        ([1, 0, 1], [0.7] * 3, [1, 2, 3], {}, "takes at least 4 groups, here 3"),
        ([1, 0, 1, 0], [0.7] * 4, [1, 2, 3, 4], {}, "all groups are of one row each"),
        ([1, 0, 1, 0, 1], [0.7, 0.2, 0.0, 0.1, 0.6], [1, 2, 3, 4, 4], {"floor": 0}, "accuracy of 0; give a floor"),
    ],
)
def test_what_cannot_be_shrunk(y, p, by, settings, expected):
    with pytest.raises(InputError, match=expected):
        assess_by(y, p, by=by, shrink=True, **settings)


def test_groups_of_one_row_and_of_one_class_are_assessed_and_marked():
    result = assess_by([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.4], by=["sure", "sure", "lone", None])
    assert result["sure"].labels == (0, 1)
    assert result["lone"].n_rows == 1
    assert result[None].reported.geometric_accuracy == pytest.approx(0.6)
    assert all(group.small for group in result.groups)
    text = str(result)
    assert "lone, few rows" in text
    assert "(missing), few rows" in text
    assert "Few rows: the most probable class was right in fewer than 100 rows" in " ".join(text.split())


def test_groups_without_rows_are_named():
    result = assess_by([1, None, 0, 2], [0.9, 0.8, 0.3, 0.5], by=list("abac"), invalid="drop", ignore_label=2)
    assert keys(result) == ["a"]
    assert result.empty == (("b",), ("c",))
    assert "2 groups without rows to assess, left out: b, c." in str(result)
    assert "1 row dropped: no label" in str(result)
    assert result.to_dict()["empty"] == [{"group": "b"}, {"group": "c"}]
    with pytest.raises(InputError, match="no rows to assess"):
        assess_by([], [], by=[])


@pytest.mark.parametrize(
    ("arguments", "settings", "expected"),
    [
        (([1, 0], [0.7, 0.2]), {}, "by=, what to group them by"),
        (([1, 0],), {"by": [1, 2]}, "takes outcomes, probabilities and by="),
        ((Tally.of([1, 0], [0.7, 0.2]),), {"by": [1, 2]}, "or Tallies"),
        ((Tallies.of([1, 0], [0.7, 0.2], by=[1, 2]),), {"by": [1, 2]}, "by: a tally's rows are already counted"),
        ((Tallies.of([1, 0], [0.7, 0.2], by=[1, 2]),), {"labels": [0, 1]}, "labels: a tally's rows"),
        (([1, 0], [0.7, 0.2]), {"by": [1, 2], "sort": "averages_slope"}, "sort: expected one of 'geometric_accuracy'"),
        (([1, 0], [0.7, 0.2]), {"by": [1]}, "has 1 row, the forecasts 2"),
        (([1, 0], [0.7, 0.2]), {"by": [1, 2], "most_groups": 1}, "more than 1 group in"),
        (([1, 0], [0.7, 0.2]), {"by": [1, 2], "floor": 2}, "floor"),
    ],
)
def test_bad_input(arguments, settings, expected):
    with pytest.raises(InputError, match=expected):
        assess_by(*arguments, **settings)


def test_the_class_set_is_read_off_all_rows():
    result = assess_by(["yes", "no", "yes"], [[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]], by=[1, 1, 2])
    assert result[2].labels == ("no", "yes")


@pytest.mark.slow
def test_tallies_give_what_rows_give(rows):
    y, p, group = rows
    parts = [slice(0, 700), slice(700, 701), slice(701, None)]
    tallies = sum((Tallies.of(y[part], p[part], by=group[part]) for part in parts), Tallies())
    settings = {"seed": 1, "resamples": 0}
    assert without_dependence(assess_by(tallies, **settings)) == without_dependence(
        assess_by(y, p, by=group, **settings)
    )


def test_json_and_frame_hold_the_same(rows):
    y, p, group = rows
    by = {"size": group, "averages_slope": np.where(group > 2, 0.5, None)}
    result = assess_by(y, p, by=by, shrink=True, resamples=0)
    found = json.loads(result.to_json())
    assert found["by"] == ["size", "averages_slope"]
    assert {"schema": 2, **found["whole"]} == json.loads(result.whole.to_json())
    assert found["sort"] == "geometric_accuracy"
    assert set(found["shrinkage"]) == {"centre", "between", "within", "confidence"}
    frame = result.frame()
    assert frame.columns[:2] == ["size", "by_averages_slope"]  # what is measured keeps its name
    assert frame["by_averages_slope"].to_list() == [group.key[1] for group in result.groups]
    for row, group in zip(frame.to_dicts(), found["groups"], strict=True):
        assert group["key"] == {"size": row["size"], "averages_slope": row["by_averages_slope"]}
        for name, value in group.items():
            assert name == "key" or value == row[name] or (value == "NaN" and math.isnan(row[name]))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2, None], pl.Int64),
        ([1, 2.5, None], pl.Float64),
        ([True, False, None], pl.Boolean),
        (["a", 2, 2.5], pl.String),
        ([2**70, 1, 2], pl.String),
    ],
)
def test_keys_in_frames(values, dtype):
    frame = assess_by([1, 0, 1], [0.7, 0.2, 0.6], by={"key": np.array(values, dtype=object)}).frame()
    assert frame["key"].dtype == dtype
    assert frame["key"].null_count() == values.count(None)


@pytest.mark.slow
def test_text_fits_a_terminal(rng):
    y, p = softmax_forecasts(rng, 3000, 3)
    teams = np.array([f"team {i} " + "x" * (3 * i) for i in range(25)])
    names = {"the name of a column that is long": teams[np.arange(3000) % 25], "half": np.arange(3000) % 2}
    for settings in ({}, {"shrink": True}, {"sort": "cost"}, {"sample_weight": rng.uniform(size=3000)}):
        text = str(assess_by(y, p, by=names, **settings, resamples=40))
        assert max(map(len, text.splitlines())) <= 80
        assert "\n... and 31 more" in text  # 50 groups, and all rows
        first = re.sub(r"\n  (?=x)", "", text[text.index("\nall rows") :]).partition("\nteam ")[2]
        number, xs = re.match(r"(\d+) (x*), [01]", first).groups()
        assert len(xs) == 3 * int(number)  # names are folded, not cut
    result = assess_by([1, 0], [0.7, 0.2], by={"a\x1bb": ["\n", "\x1b[2J"]})
    assert "a\\x1bb" in str(result)
    assert "\\x1b[2J" in str(result)
    assert "\x1b" not in str(result)


def test_names_that_would_mislead_are_quoted():
    """A blank one, and those that the table itself uses."""
    names = [" ", "all rows", "(missing)", "plain words", None]
    lines = str(assess_by([1, 0] * 5, [0.7, 0.2] * 5, by=names * 2)).splitlines()
    first = [line.partition(", few rows")[0] for line in lines if ", few rows" in line]
    assert first == ["all rows", '" "', '"(missing)"', '"all rows"', "plain words", "(missing)"]
    two = str(assess_by([1, 0], [0.7, 0.2], by={"a": ["all rows", "x"], "b": ["x ", "x"]}))
    assert '"all rows", "x ", few rows' in two


def printed_groups(result):
    """Cells of the printed table, split at two spaces; a verdict may stand below its row."""
    text = str(result)
    lines = text[text.index("\nall rows") :].partition("\n\n")[0].replace("\n  miscalibration: ", "  ").splitlines()
    cells = [re.split(r"  +", line.replace(", few rows", "")) for line in lines if line]
    return {first: others for first, *others in cells}


@pytest.mark.slow
def test_the_printed_table(rows):
    y, p, group = rows
    result = assess_by(y, p, by={"knows": group}, resamples=0)
    conclusion, _, header, table, *_ = str(result).split("\n\n")
    assert " ".join(conclusion.split()).startswith(result.whole.verdict)
    alone = "independent rows (nothing speaks against it)"
    assert " ".join(header.split()) == f"4,030 forecasts of 2 classes (0, 1), {y.sum():,} with '1', {alone}"
    caption = "5 groups by knows, the lowest predicted geometric accuracy first, small ones last."
    assert " ".join(table.split()).startswith(f"{caption} ")
    printed = printed_groups(result)
    assert next(iter(printed)) == "all rows"
    assert len(printed) == 6
    for name, a in {"all rows": result.whole, **{str(number): result[number] for number in range(1, 6)}}.items():
        assert printed[name][:2] == [f"{a.n_rows:,}", f"{a.reported.geometric_accuracy:.3f}"]
        assert printed[name][-1] == "none detected"
        assert a.verdict.startswith("No evidence of miscalibration (n = ")
        assert printed[name][-2] == share(a.prediction_accuracy)
    p = p.clip(1e-9, 1 - 1e-9)
    odds = np.log(p) - np.log1p(-p)
    bold = assess_by(y, 1 / (1 + np.exp(-2.5 * odds)), by={"knows": group}, resamples=0)
    cells = {name: values[-1] for name, values in printed_groups(bold).items()}
    assert "overconfident" in cells["all rows"].split(", ")
    assert "confidence" in bold.whole.diagnosis.errors
    for number in range(1, 6):
        assert (cells[str(number)] == "none detected") == (not bold[number].diagnosis.miscalibrated)
    shrunken = str(assess_by(*rows[:2], by=group, shrink=True, resamples=0))
    assert "the lowest shrunken geometric accuracy first" in shrunken
    assert re.search(r"groups\s+differ\s+by\s+a\s+factor\s+of\s+1\.", shrunken)


@pytest.fixture
def csv(tmp_path, rows):
    y, p, group = rows
    frame = pl.DataFrame({"y": y, "p": p, "group": group, "half": np.where(np.arange(y.size) % 2, "odd", "even")})
    frame.write_csv(tmp_path / "rows.csv")
    return tmp_path / "rows.csv", frame


def run(*arguments):
    return main([str(argument) for argument in arguments])


COLUMNS = ("--truth", "y", "--prob", "p")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (("--sort", "rows", "--metric", "power_score(2)"), {"sort": "rows", "metrics": ["power_score(2)"]}),
        (("--floor", "0.05", "--measured", "isotonic"), {"floor": 0.05, "measured": "isotonic"}),
        (("--weight", "heft"), {"sample_weight": "heft"}),
        (
            ("--view", "each-class", "--sort", "cost", "--confidence", "0.8"),
            {"view": "each-class", "sort": "cost", "confidence": 0.8},
        ),
        (("--clusters", "half,heft", "--seed", "3"), {"clusters": ["half", "heft"], "seed": 3}),
    ],
)
def test_the_command_line_gives_what_python_gives(csv, capsys, tmp_path, words, settings):
    path, frame = csv
    heavy = frame.with_columns(heft=pl.col("y") + 1)
    heavy.write_csv(path)
    if "sample_weight" in settings:
        settings = {"sample_weight": heavy["heft"]}
    if "clusters" in settings:
        settings = settings | {"clusters": heavy.select(settings["clusters"])}
    numbers, picture = tmp_path / "out.json", tmp_path / "out.png"
    resamples = 40 if "--confidence" in words else 0
    pictures = ("--plot", picture) if "--sort" in words else ()
    outputs = ("--json", numbers, *pictures, "--resamples", resamples)
    assert run("assess", path, *COLUMNS, "--by", "group", "half", *words, *outputs) == 0
    expected = assess_by(frame["y"], frame["p"], by=frame.select("group", "half"), resamples=resamples, **settings)
    assert without_code(capsys.readouterr().out) == without_code(expected.to_text(name="rows.csv") + "\n")
    assert json.loads(numbers.read_text()) == json.loads(with_shrinkage(expected).to_json())
    if pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_files_in_parts_give_what_one_gives(csv, capsys, tmp_path):
    path, frame = csv
    frame[:1500].write_parquet(tmp_path / "a.parquet")
    frame[1500:].write_parquet(tmp_path / "b.parquet")
    printed = []
    for names in ([path], [tmp_path / "a.parquet", tmp_path / "b.parquet"], [f"{tmp_path}/[ba].parquet"]):
        assert run("assess", *names, *COLUMNS, "--by", "half", "--resamples", 0, "--json", "-") == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
    tallies = tally_files_by(path, truth="y", prob="p", by="half")
    assert without_dependence(printed[0]) == without_dependence(assess_by(tallies, resamples=0))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--by", "grup"), "no column 'grup'; did you mean 'group'"),
        (("--by", "p"), "column 'p' is read as probabilities"),
        (("--by", "y"), "column 'y' holds the outcomes. Among rows of one outcome"),
        (("--by", "half", "y"), "column 'y' holds the outcomes"),
        (("--by", "half", "--measured", "isotonic:bins=4"), "isotonic has no setting 'bins'"),
        (("--sort", "rows"), "--sort is for groups; name their column with --by"),
    ],
)
def test_what_the_command_line_refuses(csv, capsys, words, expected):
    assert run("assess", csv[0], *COLUMNS, *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err


def test_tallies_on_file_have_no_groups(csv, capsys, tmp_path):
    path, _ = csv
    tally = tmp_path / "rows.tally"
    assert run("tally", path, *COLUMNS, "-o", tally) == 0
    capsys.readouterr()
    for words in ((tally, "--by", "half"), (path, tally, *COLUMNS, "--by", "half")):
        assert run("assess", *words) == 2
        err = capsys.readouterr().err
        assert f"{tally}: --by needs rows" in err
        assert "give the file that they came from" in err


def test_the_command_line_offers_what_python_does():
    parsed = _parser().parse_args(["assess", "x.csv"])
    assert parsed.sort == inspect.signature(assess_by).parameters["sort"].default
    for sort in {*get_args(Sort), *get_args(DistributionSort)}:
        assert _parser().parse_args(["assess", "x.csv", "--sort", sort]).sort == sort


@pytest.mark.slow
def test_small_groups_are_shrunk_by_what_their_rows_vary():
    """Through `assess_by`, groups of five: variances as in the analysis of variance, on the log scale."""
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(100), 5)
    p = np.clip(rng.beta(8, 2, 500) - 0.3 * rng.random(100)[group], 0.01, 0.99)
    result = assess_by(np.ones(500, dtype=int), p, by=group, labels=[0, 1], shrink=True, floor=0, resamples=0)
    logs = np.log(p).reshape(100, 5)
    within = logs.var(axis=1, ddof=1).mean()
    between = logs.mean(axis=1).var(ddof=1) - within / 5
    assert result.shrinkage.within == pytest.approx(np.sqrt(within), rel=1e-6)
    assert result.shrinkage.between == pytest.approx(np.sqrt(between), rel=1e-6)


def test_groups_are_counted_by_one_thread():
    with pytest.raises(TypeError, match=r"assess_by\(\) got an unexpected keyword argument 'n_jobs'"):
        assess_by([0, 1], [0.2, 0.7], by=["a", "b"], n_jobs=2)


def test_json_has_remedies_up_to_a_number_of_groups(rng, monkeypatch):
    s = rng.normal(0, 2, 300)
    y, p = (rng.random(300) < 1 / (1 + np.exp(-s / 3))).astype(int), 1 / (1 + np.exp(-s))
    found = assess_by(y, p, by=np.arange(300) >= 200, resamples=0)
    for most, remedies in ((2, found.remedies), (1, {})):
        monkeypatch.setattr(breakdown, "REMEDIED", most)
        assert [each["key"]["group"] for each in found.to_dict()["remedies"]] == [key for [key] in remedies]
    assert found.remedies


def test_the_table_names_errors_that_are_significant_among_all_groups():
    """Of twenty calibrated groups and a biased one, all but that one are without a name."""
    rng = np.random.default_rng(0)
    group, p = np.repeat(np.arange(21), 400), rng.uniform(0.2, 0.8, 8400)
    q = np.where(group == 7, p - 0.15, p)
    found = assess_by(rng.uniform(size=p.size) < q, p, by={"unit": group}, resamples=0)
    alone = {key for key in keys(found) if found[key].diagnosis.findings}
    adjusted = {key for key, each in found.cost_shares.items() if each.significant}
    assert adjusted == {(7,)}
    assert len(alone) == 4
    names, *_, verdicts = (list(column.values) for column in groups_table(found).columns)
    cells = dict(zip(names, verdicts, strict=True))
    assert "biased" in cells["7"]
    assert {cells[str(key)] for key in alone - {7}} == {"not significant"}
    assert {cells[str(key)] for key in range(21) if key not in alone} == {"none detected"}
    assert "Where the adjusted p-value is below 0.05." in found.to_html()
    assert "small ones last" not in str(found)
