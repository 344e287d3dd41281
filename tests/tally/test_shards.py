"""Opt-in parts of a tally: counts of each class and each predicted class, and shards of the rows."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import softmax_forecasts
from unperplexed import SCORES, InputError, Tally
from unperplexed.forecasts.group_keys import N_SHARDS, hashes_of_clusters, shard_of, shards_of_rows
from unperplexed.kernels.exact_sum import UNIT_BITS, exact_sum
from unperplexed.kernels.rows import COARSE, COARSE_CELLS
from unperplexed.scores import row_scores
from unperplexed.statistics import generalized_mean
from unperplexed.tally.class_tables import ClassCounter, ClassPairCells, ClassPairCounter, ClassPairTable, paired
from unperplexed.tally.tables import points_of

PARTS = ("classes", "predictions", "shards")
BY_CLASS = ("classes", "predictions")


def shards_of_clusters(clusters):
    return shard_of(hashes_of_clusters(clusters))


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


@pytest.mark.slow
def test_coarse_cells():
    """Monotone, mirrored, of relative width 1/8, with exactly 0, 1/2 and 1 at their places."""
    u = np.geomspace(2.0**-17 * 1.375, 0.5, 20_000)
    code, place = COARSE.places(u)
    assert code.min() == 2
    assert code.max() == 127
    assert (np.diff(code) >= 0).all()
    mirrored = COARSE_CELLS - 1 - COARSE.places(1 - (1 - u[u < 0.499]))[0]
    assert (COARSE.places(1 - u[u < 0.499])[0] == mirrored).all()
    for c in range(2, 127):
        inside = u[code == c]
        assert inside.max() / inside.min() < 1.126
    for p in (u, 1 - u):
        code, place = COARSE.places(p)
        within = COARSE.within(code, place)
        assert ((within >= 0) & (within <= 2**16)).all()
        value, step = COARSE.values(code, within)
        assert value == pytest.approx(p, rel=1.1e-6)
        assert (np.abs(value - p) <= step).all()
        assert COARSE.means(code, np.ones(p.size), place) == pytest.approx(p, rel=1.1e-6)
    assert COARSE.places(np.array([0.0, 1e-300, 0.5, 1.0]))[0].tolist() == [0, 1, 127, 255]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308])
def test_sums_that_are_not_finite_have_no_standard_error(rng, value):
    shards = Tally.of(rng.integers(0, 2, 50), rng.uniform(0.1, 0.9, 50), parts=("shards",)).shards
    sums = shards.scores["log_loss"].sums
    assert 0 < shards.standard_error(sums) < 0.3
    sums[:2] = value
    assert not np.isfinite(shards.standard_error(sums))


def pairs_by_hand(reported, happened, w):
    """Distinct reported probabilities, the weight of those that happened and of all."""
    values, at = np.unique(reported[w > 0], return_inverse=True)
    return values, np.bincount(at, (w * happened)[w > 0]), np.bincount(at, w[w > 0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [3, 4, 40])
def test_class_pairs_are_the_pairs_of_the_class(rng, weighted, classes):
    y, p = softmax_forecasts(rng, 500, classes)
    w = rng.integers(0, 4, y.size) if weighted else np.ones(y.size)
    tally = Tally.of(y, p, sample_weight=w if weighted else None, parts=BY_CLASS)
    assert tally.parts[:2] == BY_CLASS
    assert isinstance(tally.classes, ClassPairTable)
    table, each = tally.by_class(), tally.each_class()
    assert (
        each.first.tolist()
        == np.concatenate(
            ([0], np.cumsum([pairs.total.size for pairs in map(tally.class_pairs, range(classes))]))
        ).tolist()
    )
    for label in range(classes):
        pairs, points = tally.class_pairs(label), tally.class_points(label)
        values, happened, total = pairs_by_hand(p[:, label], y == label, w)
        assert pairs.reported == pytest.approx(values, abs=1e-12)
        assert pairs.happened.tolist() == happened.tolist()
        assert pairs.total.tolist() == total.tolist()
        assert points.p.tolist() == values[happened > 0].tolist()
        assert points.entry.tolist() == np.flatnonzero(happened).tolist()
        assert points.weight.tolist() == happened[happened > 0].tolist()
        assert points.weight_squared.sum() == (w * w)[y == label].sum()
        here = slice(each.first[label], each.first[label + 1])
        assert all((a[here] == b).all() for a, b in zip(each.pairs, pairs, strict=True))
        assert table["happened"][label] == w[y == label].sum()
        assert table["mean_reported"][label] == pytest.approx(np.average(p[:, label], weights=w), rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_coarse_class_pairs(rng, weighted):
    y, p = softmax_forecasts(rng, 3000, 4)
    p[:50] = np.eye(4)[rng.integers(0, 4, 50)]
    p[50:60] = [1e-13, 1 - 1e-13, 0, 0]
    w = rng.integers(0, 4, y.size) if weighted else None
    tally = Tally.of(y, p, sample_weight=w, parts=BY_CLASS, exact_limit=1000)
    assert isinstance(tally.classes, ClassPairCells)
    ones = np.ones(y.size) if w is None else w
    table = tally.by_class()
    for label in range(4):
        pairs, here = tally.class_pairs(label), y == label
        assert (np.diff(pairs.reported) > 0).all()
        assert pairs.total.sum() == ones.sum()
        assert pairs.happened.sum() == ones[here].sum() == table["happened"][label]
        assert pairs.total @ pairs.reported == pytest.approx(ones @ p[:, label], rel=1e-6)
        assert table["mean_reported"][label] == pytest.approx(np.average(p[:, label], weights=ones), rel=1e-6)
        code = COARSE.places(p[:, label])[0]
        assert pairs.happened.tolist() == [ones[(code == c) & here].sum() for c in np.unique(code[ones > 0])]


@pytest.mark.parametrize("spread", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_points_of_coarse_cells_have_the_means_of_what_happened(rng, spread, weighted):
    y, p = softmax_forecasts(rng, 4000, 3, spread=spread)
    w = rng.exponential(size=y.size) if weighted else None
    tally = Tally.of(y, p, sample_weight=w, parts=BY_CLASS, exact_limit=0)
    top, hit = p.argmax(axis=1), p.argmax(axis=1) == y
    for label in range(3):
        for part, here in (("classes", y == label), ("predictions", (top == label) & hit)):
            points = tally.class_points(label, part)
            each, pairs = p[here, label], tally.class_pairs(label, part)
            assert points.weight_squared.sum() == pytest.approx((w[here] ** 2).sum() if weighted else here.sum())
            assert np.bincount(points.entry, points.weight, pairs.total.size) == pytest.approx(pairs.happened)
            for order in (-3, -2 / 3, 0, 1, 3):
                for floor in (0.0, 0.005):
                    exact = generalized_mean(each, order, None if w is None else w[here], floor=floor)
                    found = generalized_mean(points.p, order, points.weight, floor=floor)
                    assert found == pytest.approx(exact, rel=2e-5 if order >= 0 or floor else 2e-3)


def test_top_classes_by_hand():
    p = np.array([[0.5, 0.5, 0.0], [0.4, 0.2, 0.4], [1 / 3] * 3, [0.7, 0.2, 0.1], [0.5, 0.25, 0.25]])
    tally = Tally.of([0, 1, 2, 0, 1], p, parts=["predictions"])
    for label, (reported, happened, total) in {
        0: ([1 / 3, 0.4, 0.5, 0.7], [0, 0, 0.5, 1], [1 / 3, 0.5, 1.5, 1]),
        1: ([1 / 3, 0.5], [0, 0], [1 / 3, 0.5]),
        2: ([1 / 3, 0.4], [1 / 3, 0], [1 / 3, 0.5]),
    }.items():
        pairs = tally.class_pairs(label, "predictions")
        assert pairs.reported == pytest.approx(reported)
        assert pairs.happened == pytest.approx(happened, abs=1e-7)
        assert pairs.total == pytest.approx(total, abs=1e-7)
    assert sum(tally.class_pairs(label, "predictions").total.sum() for label in range(3)) == 5  # to the last digit


@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_predictions_of_all_classes_are_the_top_label_pairs(rng, exact_limit):
    p = rng.multinomial(6, np.full(4, 0.25), 1000) / 6
    y, w = rng.integers(0, 4, 1000), rng.exponential(size=1000)
    tally = Tally.of(y, p, sample_weight=w, parts=["predictions"], exact_limit=exact_limit)
    each, top = tally.each_class("predictions").pairs, tally.pairs("top-label")
    assert each.total.sum() == pytest.approx(tally.weight, rel=1e-12)
    assert each.happened.sum() == pytest.approx(tally.prediction_accuracy * tally.weight, rel=1e-6)
    if tally.exact:
        values, at = np.unique(each.reported, return_inverse=True)
        assert values == pytest.approx(top.reported)
        assert np.bincount(at, each.total) == pytest.approx(top.total, rel=1e-6)
        assert np.bincount(at, each.happened) == pytest.approx(top.happened, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("exact_limit", [0, 40, 1 << 16])
@pytest.mark.parametrize("kind", ["ties", "continuous", "float32", "hard", "binary"])
def test_any_split_in_any_order_is_the_whole(rng, kind, exact_limit):
    y, p = softmax_forecasts(rng, 600, 2 if kind == "binary" else 4, dtype=np.float32 if kind == "float32" else float)
    if kind == "ties":
        p = rng.multinomial(6, np.full(4, 0.25), 600) / 6
    elif kind == "hard":
        p = -np.eye(4)[y] * -1.0  # with zeros of both signs
    elif kind == "binary":
        p = p[:, 1].round(2)
    whole = Tally.of(y, p, parts=BY_CLASS, exact_limit=exact_limit)
    for pieces in (2, 7):
        parts = [
            Tally.of(y[i], p[i], parts=BY_CLASS, exact_limit=exact_limit)
            for i in np.array_split(rng.permutation(600), pieces)
        ]
        assert sum(parts, Tally()).to_bytes() == whole.to_bytes()
        assert (parts[0] + sum(parts[:0:-1], Tally())).to_bytes() == whole.to_bytes()


@pytest.mark.slow
@given(st.lists(st.integers(0, 2), max_size=30), st.integers(0, 40), st.integers(0, 30), st.integers(1, 3))
def test_exact_or_coarse_depends_on_the_union_alone(truth, exact_limit, cut, digits):
    rng = np.random.default_rng(len(truth) * 1000 + exact_limit)
    p = rng.dirichlet(np.ones(3), len(truth)).round(digits)
    p[:, 2] = np.abs(1 - p[:, 0] - p[:, 1])
    y = np.array(truth, dtype=int)
    settings = {"parts": BY_CLASS, "exact_limit": exact_limit}
    whole = Tally.of(y, p, **settings)
    distinct = sum(np.unique(column).size for column in p.T)
    assert isinstance(whole.classes, ClassPairTable) == (distinct <= exact_limit)
    tops = np.where(p == p.max(axis=1, keepdims=True, initial=0), p, -1)
    distinct = sum(np.unique(column[column >= 0]).size for column in tops.T)
    assert isinstance(whole.predictions, ClassPairTable) == (distinct <= exact_limit)
    parts = [Tally.of(y[s], p[s], **settings) for s in (slice(cut, None), slice(0, cut))]
    assert (parts[0] + parts[1]).to_bytes() == whole.to_bytes()


def test_weight_two_is_the_row_twice(rng):
    y, p = softmax_forecasts(rng, 300, 3)
    w = rng.integers(0, 3, 300)
    for exact_limit in (0, 1 << 16):
        weighted = Tally.of(y, p, sample_weight=w, parts=BY_CLASS, exact_limit=exact_limit)
        repeated = Tally.of(np.repeat(y, w), np.repeat(p, w, axis=0), parts=BY_CLASS, exact_limit=exact_limit)
        for part in BY_CLASS:
            mine, theirs = weighted.each_class(part), repeated.each_class(part)
            assert all(a == pytest.approx(b, rel=1e-12) for a, b in zip(mine.pairs, theirs.pairs, strict=True))
            for a, b in ((mine.points.p, theirs.points.p), (mine.points.weight, theirs.points.weight)):
                assert a == pytest.approx(b, rel=1e-9)


SPELLED = [
    0.1,
    1 - 0.9,
    0.3,
    1 - 0.7,
    0.9,
    0.7,
    0.5,
    0.0,
    1.0,
    0.0004,
    1 - 0.9996,
    np.float32(0.2),
    1 - np.float32(0.8),
]


@given(st.lists(st.tuples(st.sampled_from(SPELLED), st.booleans()), min_size=1, max_size=40))
def test_the_pairs_of_two_classes_mirror_each_other(rows):
    """However a probability was spelled: 0.1 and 1 - 0.9 are one, for the one class and for the other."""
    p, y = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    tally = Tally.of(y.astype(int), p, labels=[0, 1], parts=BY_CLASS)
    no, yes = tally.class_pairs(0), tally.class_pairs(1)
    assert yes.reported == pytest.approx(1 - no.reported[::-1], abs=1e-7)
    assert yes.total.tolist() == no.total[::-1].tolist()
    assert yes.happened.tolist() == (no.total - no.happened)[::-1].tolist()
    assert set(np.round(yes.reported, 6)) == set(np.round(p, 6))
    assert (np.diff(yes.reported) > 0).all()


def test_the_coarse_pairs_of_two_classes_mirror_each_other(rng):
    p = rng.beta(0.3, 0.3, 2000)
    y = (rng.uniform(size=2000) < p).astype(int)
    tally = Tally.of(y, p, parts=["classes"], exact_limit=0)
    no, yes = tally.class_pairs(0), tally.class_pairs(1)
    assert yes.reported == pytest.approx(1 - no.reported[::-1], abs=1e-6)
    assert yes.total.tolist() == no.total[::-1].tolist()
    assert yes.happened.tolist() == (no.total - no.happened)[::-1].tolist()


@pytest.mark.parametrize("grid", [False, True])
def test_what_is_held_while_counting_is_bounded(rng, grid):
    """About exact_limit entries and a block, however many blocks come."""
    counter, limit = ClassPairCounter(5000), 5000
    for _ in range(200):
        group, value = rng.integers(0, 4, 2000), rng.uniform(size=2000)
        key = paired(group, value.round(2) if grid else value)
        counter.add(ClassPairTable(key, np.ones(2000), np.zeros(2000), np.zeros(2000)))
        assert counter.counted.key.size <= limit
        assert counter._n_waiting <= (1 << 15) + 2000
    assert isinstance(counter.table(), ClassPairTable) == grid
    assert counter.table().total.sum() == 400_000


def test_blocks_before_and_after_the_cells_took_over(rng):
    """The first block is counted by value, the others in dense cells; together they are what one block would be."""
    y, p = softmax_forecasts(rng, 20_000, 3)
    counter, correct = ClassCounter(3, 1000), p[np.arange(20_000), y]
    for rows in np.array_split(np.arange(20_000), 4):
        counter.add(p[rows], y[rows], correct[rows], None)
    assert 0 < counter._dense.total[counter._dense.total > 0].size < 3 * COARSE_CELLS
    whole = Tally.of(y, p, parts=["classes"], exact_limit=1000)
    for name, column in vars(counter.table()).items():
        assert (column == getattr(whole.classes, name)).all(), name
    assert points_of(whole.classes, COARSE).weight.sum() == pytest.approx(20_000)


def test_class_pairs_go_by_label():
    frame = pl.DataFrame({"cat": [0.2, 0.9], "dog": [0.8, 0.1]})
    tally = Tally.of(["dog", "cat"], frame, parts=["classes"])
    assert tally.class_pairs("dog").happened.tolist() == [0, 1]
    assert tally.by_class()["label"].to_list() == ["cat", "dog"]
    with pytest.raises(InputError, match="'cow' is not one"):
        tally.class_pairs("cow")
    with pytest.raises(InputError, match="expected one of 'classes', 'predictions', got 'shards'"):
        tally.class_pairs("cat", "shards")
    with pytest.raises(InputError, match="expected one of 'classes', 'predictions', got 'shards'"):
        tally.each_class("shards")
    with pytest.raises(InputError, match="expected one of 'classes', 'predictions', got 'shards'"):
        Tally.of([1], [[0.2, 0.3, 0.5]], labels=range(3)).each_class("shards")
    of_two = Tally.of(["dog", "cat"], frame)  # which needs no part
    for part in ("classes", "predictions"):
        for label in ("cat", "dog"):
            for one, other in zip(of_two.class_pairs(label, part), tally.class_pairs(label, part), strict=True):
                assert one.tolist() == other.tolist()
    without = Tally.of([1], [[0.2, 0.3, 0.5]], labels=range(3), parts=["predictions"])
    for ask in (without.each_class, without.by_class, lambda: without.class_pairs(1), lambda: without.class_points(1)):
        with pytest.raises(InputError, match=r"without the part 'classes'; count it with parts=\['classes'\]"):
            ask()


@pytest.mark.slow
def test_shards_with_ties_of_every_size_are_the_same_to_the_last_digit(rng):
    p = rng.multinomial(6, np.full(4, 0.25), 2000) / 6
    y, groups = rng.integers(0, 4, 2000), rng.integers(0, 50, 2000)
    whole = Tally.of(y, p, clusters=groups, parts=PARTS)
    assert set(whole.top_tables) >= {1, 2, 3}
    assert whole.shards.rows.hits.sum() / 2000 == pytest.approx(whole.prediction_accuracy, rel=1e-8)
    for _ in range(5):
        pieces = np.array_split(rng.permutation(2000), 9)
        parts = [Tally.of(y[i], p[i], clusters=groups[i], parts=PARTS) for i in pieces]
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
    whole = Tally.of(y, p, clusters=groups, parts=PARTS)
    pieces = np.array_split(rng.permutation(y.size), 7)
    parts = [Tally.of(y[i], p[i], clusters=groups[i], parts=PARTS) for i in pieces]
    assert sum(parts, Tally()).to_bytes() == whole.to_bytes()
    assert whole.shards.rows.key.size == np.unique(shards_of_clusters(groups)).size <= 200
    shard = shards_of_clusters(groups)
    first = whole.shards.rows.key[0]
    here = shard == first
    assert whole.shards.rows.rows[0] == here.sum()
    expected = row_scores(y[here], p[here], "log_loss").sum()
    found = whole.shards.scores["log_loss"]
    assert found.coarse[0] * 2.0**-16 + found.fine[0] * 2.0**-42 == pytest.approx(expected, rel=1e-11)


def test_infinite_scores_in_shards():
    tally = Tally.of([1, 0, 1], [0.0, 0.5, 0.5], clusters=[1, 2, 3], parts=["shards"])
    sums = tally.shards.scores["log_loss"]
    assert sorted(sums.coarse * 2.0**-16 + sums.fine * 2.0**-42) == pytest.approx([np.log(2), np.log(2), np.inf])


def test_shards_are_stable_and_even():
    """Written down once: a tally made today must add up with one made by any later version."""
    assert shards_of_rows("a.csv", np.arange(5)).tolist() == [294, 861, 375, 801, 6]
    assert shards_of_clusters([0, 1, -1, 2**62]).tolist() == [535, 465, 936, 75]
    assert shards_of_clusters(["a", "b", "ü"]).tolist() == [350, 564, 705]
    assert shards_of_clusters([0.5, 1e300]).tolist() == [863, 92]
    for shards in (shards_of_rows("", np.arange(100_000)), shards_of_clusters(np.arange(100_000))):
        counts = np.bincount(shards, minlength=N_SHARDS)
        assert counts.size == N_SHARDS
        assert ((counts - 100) ** 2 / 100).sum() == pytest.approx(N_SHARDS, rel=0.2)  # chi-squared


def test_a_group_is_the_same_however_it_is_written():
    kinds = [
        np.array([3, 17]),
        np.array([3.0, 17.0]),
        np.array(["3", "17"]),
        np.array(["3.0", "17.0"]),
        ["3", "17"],
        [3, "17"],
        pd.Series([3, 17]),
        pl.Series(["3", "17"]),
        np.array([3, 17], dtype=np.uint8),
    ]
    for groups in kinds:
        assert shards_of_clusters(groups).tolist() == shards_of_clusters([3, 17]).tolist()


def test_groups_of_any_text_and_of_moments():
    """Text that only looks like a number is text; a moment is the same in any unit, and as text."""
    odd = ["--5", "-", "007", "-0", "9" * 5000, "٣"]
    assert len(set(shards_of_clusters(odd).tolist())) > 3
    seconds = np.array(["2020-01-01T12:00:00", "2021-01-01"], dtype="M8[s]")
    for groups in (seconds.astype("M8[ns]"), seconds.astype("M8[us]"), seconds.astype(str)):
        assert shards_of_clusters(groups).tolist() == shards_of_clusters(seconds).tolist()


def test_groups_by_several_columns(rng):
    """Rows with the same values in all columns are one group, however the columns come; one column is the column."""
    season, team = rng.integers(2020, 2024, 500), rng.choice(["a", "b", "c"], 500)
    shards = shards_of_clusters({"season": season, "team": team})
    for groups in (
        np.column_stack([season, team]),
        np.column_stack([season.astype(object), team]),
        pl.DataFrame({"season": season, "team": team}),
        pl.DataFrame({"season": season, "team": team}).to_pandas(),
        {"season": season.astype(float), "team": list(team)},
    ):
        assert shards_of_clusters(groups).tolist() == shards.tolist()
    keys = set(zip(season.tolist(), team.tolist(), shards.tolist(), strict=True))
    assert len(keys) == 12
    assert len({shard for *_, shard in keys}) >= 10  # of 1000: two or three in one shard are the rarest of chances
    assert shards_of_clusters({"team": team, "season": season}).tolist() != shards.tolist()
    for one in ({"team": team}, team[:, None], pl.DataFrame({"team": team})):
        assert shards_of_clusters(one).tolist() == shards_of_clusters(team).tolist()


def test_shards_of_several_columns_are_stable_and_even():
    """Written down once, as those of one column."""
    assert shards_of_clusters({"a": [0, 1, 1], "b": ["x", "x", "y"]}).tolist() == [404, 510, 668]
    at = np.arange(100_000)
    counts = np.bincount(shards_of_clusters(np.column_stack([at // 300, at % 300])), minlength=N_SHARDS)
    assert ((counts - 100) ** 2 / 100).sum() == pytest.approx(N_SHARDS, rel=0.2)  # chi-squared


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"clusters": [1, 2]}, "a tally keeps them only in its shards"),
        ({"clusters": [1, None]}, r"clusters: none in 1 row \(1;"),
        ({"clusters": {"h": [1, None]}}, r"""1 row \(1; .*leave out rows without one: --where '"h" IS NOT NULL'"""),
        ({"clusters": [1.0, np.nan]}, r"clusters: none in 1 row \(1;"),
        ({"clusters": [1]}, "clusters has 1 row, y_prob 2"),
        ({"clusters": [[[1], [2]]]}, r"one a row, got shape \(1, 2, 1\)"),
        ({"clusters": np.empty((2, 0))}, r"one a row, got shape \(2, 0\)"),
        ({"clusters": [[1, 2]]}, "clusters has 1 row, y_prob 2"),
        ({"clusters": {}}, "clusters: no column"),
        ({"clusters": {"a": [1, 2], "b": [1]}}, "clusters: columns of 1, 2 rows"),
        ({"clusters": {"a": [1, 2], "b": [1, None]}}, r"clusters: none in 1 row \(1;"),
        ({"parts": ["class"]}, "parts: expected a list of some of 'classes', 'predictions', 'shards'"),
        ({"parts": "shards"}, "parts: expected a list"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        Tally.of([1, 0], [0.5, 0.5], **arguments)


def test_unlike_parts_do_not_add_up():
    with pytest.raises(InputError, match="different parts do not add up: classes, predictions, shards and none"):
        Tally.of([1], [0.5], parts=PARTS) + Tally.of([1], [0.5])


@pytest.mark.slow
def test_sources_are_kept_and_bounded():
    parts = [Tally.of([1], [0.5], source=f"part {i:03}.csv") for i in range(150)]
    merged = sum(parts, Tally())
    assert list(merged.sources.values()) == [1] * 100 + [50]
    assert list(merged.sources)[-2:] == ["part 099.csv", "..."]
    halves = sum(parts[::2], Tally()) + sum(parts[1::2], Tally())
    assert halves.sources == merged.sources
    assert halves.to_bytes() == merged.to_bytes()


@pytest.mark.slow
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
