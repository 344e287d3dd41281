"""Opt-in parts of a tally: coarse counts of each class, and shards of the rows."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from conftest import softmax_forecasts
from unperplexed import SCORES, InputError, Tally, row_scores
from unperplexed._kernels import COARSE_CELLS, coarse_places, coarse_sums
from unperplexed._shards import N_SHARDS, shards_of_groups, shards_of_rows
from unperplexed._sums import UNIT_BITS, exact_sum

PARTS = ("classes", "shards")


def test_exact_sums_are_exact_and_know_no_order(rng):
    x = np.concatenate([rng.exponential(size=2000), 10.0 ** rng.uniform(-9, 3, 500), [700.0, 0.0, -1e-17]])
    exact = sum(Fraction(v) for v in x.tolist())
    total = exact_sum(x)
    assert abs(Fraction(total.units, 1 << UNIT_BITS) - exact) < Fraction(1, 1 << 80)
    assert float(total) == pytest.approx(float(exact), rel=1e-15)
    assert exact_sum(rng.permutation(x)) == total
    assert exact_sum(x[:777]) + exact_sum(x[777:]) == total


def test_exact_sums_of_large_and_infinite_values():
    assert float(exact_sum(np.array([1e300, 1.0, -1e300, 2.0]))) == 3
    assert float(exact_sum(np.array([1e308, 1e308]))) == np.inf
    assert float(exact_sum(np.array([1.0, np.inf])) + exact_sum(np.array([2.0]))) == np.inf
    assert float(exact_sum(np.array([]))) == 0


def test_coarse_cells():
    """Monotone, mirrored, of relative width 1/8, with exactly 0, 1/2 and 1 at their places."""
    u = np.geomspace(2.0**-17 * 1.375, 0.5, 20_000)
    code, place = coarse_places(u)
    assert code.min() == 2
    assert code.max() == 127
    assert (np.diff(code) >= 0).all()
    assert (coarse_places(1 - u[u < 0.499])[0] == COARSE_CELLS - 1 - coarse_places(1 - (1 - u[u < 0.499]))[0]).all()
    for c in range(2, 127):
        inside = u[code == c]
        assert inside.max() / inside.min() < 1.126
    for p in (u, 1 - u):
        code, place = coarse_places(p)
        assert coarse_sums(code, np.ones(p.size), place) == pytest.approx(p, rel=1.1e-6)
    assert coarse_places(np.array([0.0, 1e-300, 0.5, 1.0]))[0].tolist() == [0, 1, 127, 255]


@pytest.mark.parametrize("weighted", [False, True])
def test_class_pairs_are_the_pairs_of_the_class(rng, weighted):
    y, p = softmax_forecasts(rng, 3000, 4)
    w = rng.integers(0, 4, y.size) if weighted else None
    tally = Tally.of(y, p, sample_weight=w, parts=["classes"])
    assert tally.parts == ("classes",)
    ones = np.ones(y.size) if w is None else w
    table = tally.by_class()
    for label in range(4):
        pairs = tally.class_pairs(label)
        assert (np.diff(pairs.reported) > 0).all()
        assert pairs.total.sum() == ones.sum()
        assert pairs.happened.sum() == ones[y == label].sum() == table["happened"][label]
        assert pairs.total @ pairs.reported == pytest.approx(ones @ p[:, label], rel=1e-6)
        assert table["mean_reported"][label] == pytest.approx(np.average(p[:, label], weights=ones), rel=1e-6)
        code = coarse_places(p[:, label])[0]
        assert pairs.happened.tolist() == [ones[(code == c) & (y == label)].sum() for c in np.unique(code[ones > 0])]


def test_class_pairs_go_by_label():
    frame = pl.DataFrame({"cat": [0.2, 0.9], "dog": [0.8, 0.1]})
    tally = Tally.of(["dog", "cat"], frame, parts=["classes"])
    assert tally.class_pairs("dog").happened.tolist() == [0, 1]
    assert tally.by_class()["label"].to_list() == ["cat", "dog"]
    with pytest.raises(InputError, match="'cow' is not one"):
        tally.class_pairs("cow")
    with pytest.raises(InputError, match="without the part 'classes'"):
        Tally.of([1], [0.5]).class_pairs(1)
    with pytest.raises(InputError, match="without the part 'classes'"):
        Tally.of([1], [0.5]).by_class()


def test_shards_with_ties_of_every_size_are_the_same_to_the_last_digit(rng):
    p = rng.multinomial(6, np.full(4, 0.25), 2000) / 6
    y, groups = rng.integers(0, 4, 2000), rng.integers(0, 50, 2000)
    whole = Tally.of(y, p, groups=groups, parts=PARTS)
    assert set(whole.top_tables) >= {1, 2, 3}
    assert whole.shards.rows.hits.sum() / 2000 == pytest.approx(whole.prediction_accuracy, rel=1e-8)
    for _ in range(5):
        pieces = np.array_split(rng.permutation(2000), 9)
        parts = [Tally.of(y[i], p[i], groups=groups[i], parts=PARTS) for i in pieces]
        assert sum(parts, Tally()).to_bytes() == whole.to_bytes()


def test_shards_of_parts_by_row_number():
    """Parts that know their first row fill the shards as the whole does; without it they would share a few."""
    p = np.linspace(0.01, 0.99, 500)
    y = np.arange(500) % 2
    whole = Tally.of(y, p, source="a", parts=["shards"])
    parts = [
        Tally.of(y[i : i + 10], p[i : i + 10], source="a", first_row=i, parts=["shards"]) for i in range(0, 500, 10)
    ]
    assert sum(parts, Tally()).to_bytes() == whole.to_bytes()
    assert whole.shards.rows.key.size > 350


@pytest.mark.parametrize("weighted", [False, True])
def test_shards_add_up_to_the_whole(rng, weighted):
    y, p = softmax_forecasts(rng, 5000, 3)
    w = rng.exponential(size=y.size) if weighted else None
    tally = Tally.of(y, p, sample_weight=w, parts=["shards"])
    shards = tally.shards
    assert shards.rows.rows.sum() == y.size
    assert shards.rows.weight.sum() == pytest.approx(tally.weight)
    assert shards.rows.hits.sum() / tally.weight == pytest.approx(tally.prediction_accuracy)
    assert shards.pairs.total.sum() == pytest.approx(3 * tally.weight)
    assert shards.pairs.happened.sum() == pytest.approx(tally.weight)
    for name in SCORES:
        sums = shards.scores[name]
        mean = (sums.coarse.sum() * 2.0**-16 + sums.fine.sum() * 2.0**-42) / tally.weight
        assert mean == pytest.approx(tally.score(name), rel=1e-10)


def test_groups_keep_together_and_splits_do_not_matter(rng):
    y, p = softmax_forecasts(rng, 3000, 3)
    groups = rng.integers(0, 200, y.size)
    whole = Tally.of(y, p, groups=groups, parts=PARTS)
    pieces = np.array_split(rng.permutation(y.size), 7)
    parts = [Tally.of(y[i], p[i], groups=groups[i], parts=PARTS) for i in pieces]
    assert sum(parts, Tally()).to_bytes() == whole.to_bytes()
    assert whole.shards.rows.key.size == np.unique(shards_of_groups(groups)).size <= 200
    shard = shards_of_groups(groups)
    first = whole.shards.rows.key[0]
    here = shard == first
    assert whole.shards.rows.rows[0] == here.sum()
    expected = row_scores(y[here], p[here], "log_loss").sum()
    found = whole.shards.scores["log_loss"]
    assert found.coarse[0] * 2.0**-16 + found.fine[0] * 2.0**-42 == pytest.approx(expected, rel=1e-11)


def test_infinite_scores_in_shards():
    tally = Tally.of([1, 0, 1], [0.0, 0.5, 0.5], groups=[1, 2, 3], parts=["shards"])
    sums = tally.shards.scores["log_loss"]
    assert sorted(sums.coarse * 2.0**-16 + sums.fine * 2.0**-42) == pytest.approx([np.log(2), np.log(2), np.inf])


def test_shards_are_stable_and_even():
    """Written down once: a tally made today must add up with one made by any later version."""
    assert shards_of_rows("a.csv", np.arange(5)).tolist() == [294, 861, 375, 801, 6]
    assert shards_of_groups([0, 1, -1, 2**62]).tolist() == [535, 465, 936, 75]
    assert shards_of_groups(["a", "b", "ü"]).tolist() == [350, 564, 705]
    assert shards_of_groups([0.5, 1e300]).tolist() == [863, 92]
    for shards in (shards_of_rows("", np.arange(100_000)), shards_of_groups(np.arange(100_000))):
        counts = np.bincount(shards, minlength=N_SHARDS)
        assert counts.size == N_SHARDS
        assert ((counts - 100) ** 2 / 100).sum() == pytest.approx(N_SHARDS, rel=0.2)  # chi-squared


def test_a_group_is_the_same_however_it_is_written():
    kinds = [
        np.array([3, 17]),
        np.array([3.0, 17.0]),
        np.array(["3", "17"]),
        ["3", "17"],
        [3, "17"],
        pd.Series([3, 17]),
        pl.Series(["3", "17"]),
        np.array([3, 17], dtype=np.uint8),
    ]
    for groups in kinds:
        assert shards_of_groups(groups).tolist() == shards_of_groups([3, 17]).tolist()


def test_groups_of_any_text_and_of_moments():
    """Text that only looks like a number is text; a moment is the same in any unit, and as text."""
    odd = ["--5", "-", "007", "-0", "9" * 5000, "٣"]
    assert len(set(shards_of_groups(odd).tolist())) > 3
    seconds = np.array(["2020-01-01T12:00:00", "2021-01-01"], dtype="M8[s]")
    for groups in (seconds.astype("M8[ns]"), seconds.astype("M8[us]"), seconds.astype(str)):
        assert shards_of_groups(groups).tolist() == shards_of_groups(seconds).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": [1, 2]}, "only shards go by them"),
        ({"groups": [1, None]}, r"groups: no group in 1 row \(1;"),
        ({"groups": [1.0, np.nan]}, r"groups: no group in 1 row \(1;"),
        ({"groups": [1]}, "groups has 1 rows"),
        ({"groups": [[1, 2]]}, "one group a row"),
        ({"parts": ["class"]}, "parts: expected a list of 'classes' and 'shards'"),
        ({"parts": "shards"}, "parts: expected a list"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        Tally.of([1, 0], [0.5, 0.5], **arguments)


def test_unlike_parts_do_not_add_up():
    with pytest.raises(InputError, match="different parts do not add up: classes, shards and none"):
        Tally.of([1], [0.5], parts=PARTS) + Tally.of([1], [0.5])


def test_sources_are_kept_and_bounded():
    parts = [Tally.of([1], [0.5], source=f"part {i:03}.csv") for i in range(150)]
    merged = sum(parts, Tally())
    assert list(merged.sources.values()) == [1] * 100 + [50]
    assert list(merged.sources)[-2:] == ["part 099.csv", "..."]
    halves = sum(parts[::2], Tally()) + sum(parts[1::2], Tally())
    assert halves.sources == merged.sources
    assert halves.to_bytes() == merged.to_bytes()


def test_many_classes_in_little_memory(rng):
    """A hundred thousand classes: counting them takes what their cells take, however many rows there are."""
    classes = 100_000
    p = rng.exponential(size=(4, classes)) ** 4
    p /= p.sum(axis=1, keepdims=True)
    y = rng.integers(0, classes, 4)
    tally = Tally.of(y, p, parts=["classes"])
    table = tally.by_class()
    assert table.height == classes
    assert table["mean_reported"].to_numpy() == pytest.approx(p.mean(axis=0), rel=1e-4, abs=1e-10)
    assert table["happened"].sum() == 4
    assert len(tally.to_bytes()) < 16 * classes
