import itertools
import os

import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import softmax_forecasts
from unperplexed import SCORES, Forecasts, InputError, Tally, assess
from unperplexed.scores import brier_score, log_loss, row_scores
from unperplexed.statistics import generalized_mean
from unperplexed.statistics.means import averages
from unperplexed.tally.counter import BlockCounter, jobs_of
from unperplexed.tally.tables import Cells, same_probability


def assert_same(a, b):
    """Equal to the last digit in all they hold, and so in every figure that is read from them."""
    assert a.to_bytes() == b.to_bytes()
    if a.weight:
        assert assess(a, resamples=0).to_json() == assess(b, resamples=0).to_json()


def assert_same_figures(a, b, rel=1e-12):
    one, other = (assess(tally, resamples=0).metrics() for tally in (a, b))
    for name, value in one.items():
        assert other[name] == pytest.approx(value, rel=rel, nan_ok=True), name


def data(rng, kind):
    if kind == "continuous":
        return softmax_forecasts(rng, 1000, 5)
    if kind == "binary":
        y, p = softmax_forecasts(rng, 1000, 2)
        return y, p[:, 1]
    if kind == "float32":
        return softmax_forecasts(rng, 500, 30, dtype=np.float32)
    if kind == "grid with ties":
        y, p = softmax_forecasts(rng, 1000, 3)
        tenths = np.floor(p * 10)
        tenths[:, 0] += 10 - tenths.sum(axis=1)
        return y, tenths / 10
    if kind == "hard":
        y, p = softmax_forecasts(rng, 500, 4)
        return y, np.eye(4)[p.argmax(axis=1)]
    raise AssertionError(kind)


KINDS = ["continuous", "binary", "float32", "grid with ties", "hard"]


@pytest.mark.slow
@pytest.mark.parametrize("exact_limit", [0, 300, 1 << 16])
@pytest.mark.parametrize("kind", KINDS)
def test_any_split_in_any_order_is_the_whole(rng, kind, exact_limit):
    y, p = data(rng, kind)
    whole = Tally.of(y, p, exact_limit=exact_limit)
    for parts in (2, 9):
        cuts = np.sort(rng.integers(0, y.size + 1, parts - 1))  # repeated cuts make empty parts
        pieces = np.split(rng.permutation(y.size), cuts)
        tallies = [Tally.of(y[piece], p[piece], exact_limit=exact_limit) for piece in pieces]
        tallies = [tallies[i] for i in rng.permutation(parts)]
        merged = sum(tallies, Tally())
        assert_same(merged, whole)
        if parts >= 3:  # another bracketing
            other = tallies[0] + (sum(tallies[2:], Tally()) + tallies[1])
            assert_same(other, whole)


@pytest.mark.slow
@given(st.lists(st.integers(0, 2), max_size=40), st.integers(0, 60), st.integers(0, 40))
def test_exact_or_cells_depends_on_the_union_alone(codes, exact_limit, cut):
    rng = np.random.default_rng(len(codes) * 1000 + exact_limit)
    p = rng.dirichlet(np.ones(3), len(codes)).round(1 + len(codes) % 3)
    p[:, 2] = np.abs(1 - p[:, 0] - p[:, 1])
    y = np.array(codes, dtype=int)
    whole = Tally.of(y, p, exact_limit=exact_limit)
    assert whole.exact == (np.unique(p + 0.0).size <= exact_limit)
    parts = [Tally.of(y[s], p[s], exact_limit=exact_limit) for s in (slice(cut, None), slice(0, cut))]
    assert_same(parts[0] + parts[1], whole)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 32])
@pytest.mark.parametrize("reading", [{"invalid": "rescale"}, {"scale": "logits"}])
@pytest.mark.parametrize(("order", "dtype"), [("C", np.float32), ("F", np.float64)])
def test_parts_that_are_computed_with_are_the_whole(rng, classes, reading, order, dtype):
    """A row divided by its sum gives the same values alone, in a block, and in whatever layout it comes."""
    y = rng.integers(0, classes, 60)
    x = rng.uniform(0.1, 1, (60, classes)) if "invalid" in reading else 3 * rng.normal(size=(60, classes))
    x = np.asarray(x, dtype=dtype, order=order)
    whole = Tally.of(y, x, **reading)
    by_row = [Tally.of(y[i : i + 1], x[i : i + 1], **reading) for i in range(60)]
    assert_same(sum(by_row, Tally()), whole)
    by_seven = [Tally.of(y[i : i + 7], np.ascontiguousarray(x[i : i + 7]), **reading) for i in range(0, 60, 7)]
    assert_same(sum(by_seven, Tally()), whole)


FURTHER = ("ranked_probability_score", "power_score(-0.5)", "power_score(2)", "generalized_surprisal(-0.9)")


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [(2, np.float64), (3, np.float32), (31, np.float64), (33, np.float32), (100, np.float64)],
)
@pytest.mark.slow
def test_score_sums_are_the_same_to_the_last_digit(rng, classes, dtype):
    y, p = softmax_forecasts(rng, 100, classes, dtype=dtype)
    p[::7] = np.eye(classes)[rng.integers(0, classes, p[::7].shape[0])]  # with infinite scores and huge ones
    whole = Tally.of(y, p, metrics=FURTHER)
    for layout in (np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1][::-1]):
        assert_same(Tally.of(y, layout(p), metrics=FURTHER), whole)
    by_row = [Tally.of(y[i : i + 1], p[i : i + 1], metrics=FURTHER) for i in rng.permutation(100)]
    assert_same(sum(by_row, Tally()), whole)
    finite = np.isfinite([whole.score(name) for name in whole.scores])
    assert finite.any()
    assert not finite.all()


def test_further_scores_in_any_order_of_their_names(rng):
    y, p = softmax_forecasts(rng, 50, 3)
    tally = Tally.of(y, p, metrics=["power_score(.5)", "ranked_probability_score", "log_loss", "power_score(0.50)"])
    assert tally.scores[-2:] == ("power_score(0.5)", "ranked_probability_score")
    assert len(tally.scores) == len(SCORES) + 2
    again = Tally.of(y, p, metrics=["ranked_probability_score", "power_score(0.5)"])
    assert_same(tally, again)
    for name in tally.scores:
        rows = row_scores(y, p, name)
        assert tally.score(name) == pytest.approx(rows.mean(), rel=1e-13)
        assert tally.score_standard_error(name) == pytest.approx(rows.std(ddof=1) / np.sqrt(50), rel=1e-9)
    with pytest.raises(InputError, match="different scores do not add up"):
        tally + Tally.of(y, p)
    with pytest.raises(InputError, match="did you mean 'power_score"):
        Tally.of(y, p, metrics=["power_scores(1)"])
    with pytest.raises(InputError, match="expected a list of names"):
        Tally.of(y, p, metrics="log_loss")


@pytest.mark.parametrize("name", SCORES)
def test_weighted_standard_errors_are_those_of_the_sandwich(rng, name):
    y, p = softmax_forecasts(rng, 200, 3)
    w = rng.exponential(size=200)
    rows = row_scores(y, p, name)
    mean = np.average(rows, weights=w)
    worth = w.sum() ** 2 / (w * w).sum()
    expected = np.sqrt(np.sum((w * (rows - mean)) ** 2) * worth / (worth - 1)) / w.sum()
    assert Tally.of(y, p, sample_weight=w).score_standard_error(name) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("e", [1e-3, 3e-8, 1e-9, 1e-12])
def test_standard_errors_of_very_accurate_forecasters(rng, e):
    p = 1 - e * rng.uniform(0.5, 2, 1000)
    rows = [-mpmath.log(mpmath.mpf(float(x))) for x in p]
    mean = mpmath.fsum(rows) / 1000
    expected = mpmath.sqrt(mpmath.fsum((x - mean) ** 2 for x in rows) / 999 / 1000)
    for weights in (None, np.ones(1000)):
        tally = Tally.of(np.ones(1000, dtype=int), p, sample_weight=weights)
        assert tally.score("log_loss") == pytest.approx(float(mean), rel=1e-12)
        assert tally.score_standard_error("log_loss") == pytest.approx(float(expected), rel=1e-4)


def test_standard_errors_of_constant_scores_are_0():
    for p in (0.3, 1e-5, 1 - 1e-9, 1.0):
        tally = Tally.of(np.ones(1000, dtype=int), np.full(1000, p))
        assert [tally.score_standard_error(name) for name in tally.scores] == [0.0] * len(tally.scores)


def test_minus_zero_is_zero():
    for exact_limit in (0, 9):
        a, b = (Tally.of([1, 1], [zero, -zero], exact_limit=exact_limit) for zero in (0.0, -0.0))
        assert_same(a, b)


def test_distinct_values_of_many_classes_are_never_pooled(rng):
    y, p = softmax_forecasts(rng, 3000, 8, 5, dtype=np.float32)
    tally = Tally.of(y, p, exact_limit=1 << 20)
    assert tally.pairs().total.size == np.unique(p).size


@pytest.mark.parametrize(
    ("y", "p", "reading"),
    [
        (["cat", "dog"], pl.DataFrame({"cat": [0.6, 0.3], "dog": [0.4, 0.7]}), {}),
        ([1, 0], [0.6, 0.3], {"ignore_label": 0}),
        ([1, 0], [0.6, np.nan], {"invalid": "drop"}),
        ([1, -1, 1], [0.6, 0.3, 0.1], {}),
        (["True", "False"], [0.6, 0.3], {}),
        (["yes", "no"], [0.6, 0.3], {"pos_label": "yes"}),
        ([True, False], [0.6, 0.3], {}),
    ],
)
def test_parts_know_no_more_than_they_hold_and_still_add_up(y, p, reading):
    rows = [slice(i, i + 1) for i in range(len(y))]
    parts = [Tally.of(y[row], p[row], **reading) for row in [slice(0, 0), *rows, slice(0, 0)]]
    merged, whole = sum(parts), Tally.of(y, p, **reading)
    assert_same(merged, whole)
    assert merged.labels == whole.labels


@pytest.mark.slow
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_identity_element(rng, exact_limit):
    y, p = data(rng, "continuous")
    tally = Tally.of(y, p, exact_limit=exact_limit)
    empty = Tally.of(y[:0], p[:0], exact_limit=exact_limit)
    for same in (tally + Tally(), Tally() + tally, tally + empty, empty + tally):
        assert_same(same, tally)


@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
@pytest.mark.parametrize("kind", KINDS)
def test_weight_2_is_the_row_twice(rng, kind, exact_limit):
    y, p = data(rng, kind)
    w = rng.integers(0, 4, y.size)
    weighted = Tally.of(y, p, sample_weight=w, exact_limit=exact_limit)
    repeated = Tally.of(np.repeat(y, w), np.repeat(p, w, axis=0), exact_limit=exact_limit)
    for measured in ("isotonic", "equal-population:bins=15", "equal-width"):
        a, b = (assess(tally, measured=measured, resamples=0) for tally in (weighted, repeated))
        for name, value in a.metrics().items():
            assert b.metrics()[name] == pytest.approx(value, rel=1e-11), (measured, name)
        assert a.bins.total == pytest.approx(b.bins.total)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_without_weights_add_up_as_rows_of_weight_1(rng, classes):
    y, p = softmax_forecasts(rng, 60, classes)
    w = np.r_[np.ones(30), 2.0 ** rng.integers(-2, 3, 30)]  # whose sums are exact
    parts = ["classes", "predictions", "shards"]
    first, second = Tally.of(y[:30], p[:30], parts=parts), Tally.of(y[30:], p[30:], sample_weight=w[30:], parts=parts)
    whole = Tally.of(y, p, sample_weight=w, parts=parts)
    for mixed in (first + second, second + first):
        assert mixed.weighted
        assert (mixed.weight, mixed.weight_squared) == (whole.weight, whole.weight_squared)
        for column, values in vars(whole.pairs_table).items():
            assert np.array_equal(getattr(mixed.pairs_table, column), values), column
        assert_same_figures(mixed, whole, rel=1e-12)
        assert mixed.score("log_loss") == pytest.approx(np.average(-np.log(p[range(60), y]), weights=w), rel=1e-12)


def test_weighted_parts_agree_to_1e_12(rng):
    y, p = data(rng, "continuous")
    w = rng.exponential(size=y.size)
    for exact_limit in (0, 1 << 16):
        whole = Tally.of(y, p, sample_weight=w, exact_limit=exact_limit)
        parts = [Tally.of(y[i::7], p[i::7], sample_weight=w[i::7], exact_limit=exact_limit) for i in range(7)]
        assert_same_figures(sum(parts, Tally()), whole, rel=1e-11)
        np.testing.assert_allclose(sum(parts, Tally()).pairs_table.total, whole.pairs_table.total, rtol=1e-12)


def test_permutation_of_classes_changes_nothing(rng):
    y, p = data(rng, "grid with ties")
    order = rng.permutation(3)
    a, b = Tally.of(y, p), Tally.of(np.argsort(order)[y], p[:, order])
    for table in ("key", "happened", "total"):
        assert np.array_equal(getattr(a.pairs_table, table), getattr(b.pairs_table, table))
    assert_same_figures(a, b)  # sums over a row's classes are in their order


def test_every_pair_is_counted_once(rng):
    for kind in KINDS:
        y, p = data(rng, kind)
        classes = 2 if p.ndim == 1 else p.shape[1]
        for exact_limit in (0, 1 << 16):
            tally = Tally.of(y, p, exact_limit=exact_limit)
            assert tally.pairs().happened.sum() == y.size
            assert tally.pairs().total.sum() == y.size * classes
            top = tally.pairs("top-label")
            assert top.total.sum() == y.size
            assert top.happened.sum() / y.size == pytest.approx(tally.prediction_accuracy, rel=1e-14)


def test_an_empty_tally_has_no_figures():
    assert np.isnan(Tally().prediction_accuracy)
    empty = Tally.of([], [])
    assert np.isnan(empty.score("log_loss"))


def test_prediction_accuracy_splits_ties():
    p = [[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.5, 0.3]]
    assert Tally.of([0, 2, 1, 1], p).prediction_accuracy == pytest.approx((1 / 2 + 0 + 1 / 3 + 1) / 4)
    assert Tally.of([0, 2, 1, 1], p, exact_limit=0).prediction_accuracy == pytest.approx((1 / 2 + 1 / 3 + 1) / 4)


@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_scores_are_those_of_the_rows(rng, exact_limit):
    y, p = data(rng, "continuous")
    w = rng.exponential(size=y.size)
    tally = Tally.of(y, p, sample_weight=w, exact_limit=exact_limit)
    assert tally.score("log_loss") == pytest.approx(log_loss(y, p, sample_weight=w), rel=1e-12)
    assert tally.score("brier_score") == pytest.approx(brier_score(y, p, sample_weight=w), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("classes", "spread"), [(2, 1.5), (10, 6), (100, 3)])
def test_cells_against_exact(rng, classes, spread, dtype):
    y, p = softmax_forecasts(rng, 4000, classes, spread, temperature=1.3, dtype=dtype)
    exact = Tally.of(y, p, exact_limit=1 << 20)
    cells = Tally.of(y, p, exact_limit=0)
    assert exact.exact
    assert not cells.exact
    correct = p[np.arange(y.size), y].astype(float)
    for r in (-3, -2, -2 / 3, 0, 1, 3):
        expected = generalized_mean(correct, r, floor=0.005)
        points = cells.points()
        assert generalized_mean(points.p, r, points.weight, floor=0.005) == pytest.approx(expected, abs=1e-5)
    for measured in ("isotonic", "equal-population"):
        a, b = (assess(t, measured=measured).measured for t in (exact, cells))
        assert a.geometric_accuracy == pytest.approx(b.geometric_accuracy, abs=4e-4)


def test_the_rounding_of_1_minus_p_does_not_split_ties():
    """0.1 and 1 - 0.9 are one probability; what lies apart stays apart, next to 0 and 1 as well."""
    tenths = np.arange(1, 10) / 10
    for dtype in (np.float64, np.float32):
        p = tenths.astype(dtype)
        tally = Tally.of([0] * 9, p)
        assert tally.pairs_table.key.size > 9
        pairs = tally.pairs()
        assert pairs.reported == pytest.approx(tenths, abs=1e-7)
        assert pairs.total.tolist() == [2] * 9
        points = tally.points()
        assert (np.bincount(points.entry, points.weight) == pairs.happened).all()
    near = [1e-18, 2e-18, 1e-17, 0.5, 0.5 + 1e-11, 1 - 1e-15, 1 - 2e-15, 1.0, 0.0]
    assert Tally.of([[1, 0]] * 9, np.stack([near, 1 - np.array(near)], axis=1)).pairs().reported.size >= 12


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.7, 1.0, 0.0])
def test_a_row_by_itself(p):
    """The complement of 0.1 is above every value there is."""
    assert same_probability(np.array([p])).tolist() == [0]
    pairs = Tally.of([0], [p]).pairs()
    assert pairs.reported == pytest.approx(sorted({p, 1 - p}))
    assert (pairs.total.sum(), pairs.happened.sum()) == (2, 1)


def test_points_of_cells_keep_mean_variance_weight_and_range(rng):
    y, p = softmax_forecasts(rng, 5000, 4, dtype=np.float32)
    tally = Tally.of(y, p, exact_limit=0)
    points, table = tally.points(), tally.pairs_table
    p_happened = p[np.arange(y.size), y].astype(float)
    assert points.weight.sum() == pytest.approx(5000)
    assert points.p @ points.weight == pytest.approx(p_happened.sum(), rel=1e-13)
    assert points.p**2 @ points.weight == pytest.approx((p_happened**2).sum(), rel=1e-12)
    assert (points.p >= table.low[points.entry]).all()
    assert (points.p <= table.high[points.entry]).all()
    assert (np.diff(points.entry) >= 0).all()
    assert averages(points.p, points.weight).decisiveness == pytest.approx(p_happened.mean(), rel=1e-13)
    w = rng.integers(1, 5, y.size)
    weighted = Tally.of(y, p, sample_weight=w, exact_limit=0).points()  # two points of a cell share its squares too
    assert weighted.weight_squared.sum() == pytest.approx((w**2).sum())


def test_a_constant_forecast_stays_exact_at_any_size():
    """Float32 counters stop at 2^24; ours must not. Merging doubles the count without touching the rows."""
    tally = Tally.of([1, 1, 1, 0], [0.75] * 4)
    for _ in range(40):
        tally = tally + tally
    assert tally.n_rows == 4 * 2**40
    assert tally.pairs().happened.tolist() == [2**40, 3 * 2**40]
    assert tally.prediction_accuracy == 0.75


def test_size_does_not_grow_with_rows(rng):
    sizes = []
    for n in (20_000, 200_000):
        y, p = softmax_forecasts(rng, n, 2)
        sizes.append(Tally.of(y, p[:, 1]).pairs_table.key.size)
    assert sizes[1] < 3 * sizes[0]
    assert sizes[1] < 129_028


REFUSED = {
    "classes": ({"y_true": [0], "y_prob": [[0.2, 0.3, 0.5]]}, "2 classes and 3"),
    "limit": ({"y_true": [0], "y_prob": [0.5], "exact_limit": 5}, "exact_limit"),
    "bits": ({"y_true": [0], "y_prob": [0.5], "fraction_bits": 7}, "fraction_bits"),
    "labels": ({"y_true": ["a"], "y_prob": [0.5], "labels": ["b", "a"]}, "different classes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unlike_tallies_do_not_add_up(case):
    arguments, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        Tally.of([1], [0.5]) + Tally.of(arguments.pop("y_true"), arguments.pop("y_prob"), **arguments)


def test_true_and_1_are_one_label_in_any_order():
    numbers, words, empty = Tally.of([1, 0], [0.5, 0.5]), Tally.of([True, False], [0.5, 0.5]), Tally.of([], [])
    for parts in itertools.permutations((numbers, words, empty)):
        merged = sum(parts, Tally())
        assert [type(label) for label in merged.labels] == [int, int]
        assert_same(merged, numbers + words)
    assert [type(label) for label in (words + words).labels] == [bool, bool]


def test_a_third_label_in_a_later_part_is_noticed():
    first = Tally.of(["no", "yes"], [0.1, 0.8], pos_label="yes")
    only_positive = Tally.of(["yes"], [0.8], pos_label="yes")
    assert (only_positive + first).labels == ("no", "yes")
    with pytest.raises(InputError, match="'no' in one and 'maybe' in another"):
        first + only_positive + Tally.of(["maybe"], [0.5], pos_label="yes")


@pytest.mark.parametrize(
    "settings",
    [{"exact_limit": -1}, {"exact_limit": 1.5}, {"fraction_bits": 2}, {"fraction_bits": 21}, {"fraction_bits": True}],
)
def test_bad_settings(settings):
    with pytest.raises(InputError, match="exact_limit must be"):
        Tally.of([1], [0.5], **settings)


def test_ties_of_many_values_take_no_more_room_than_cells(rng):
    """Rows in which two classes share the top, each with a probability of its own."""
    counter = BlockCounter(3, False, 0, 3, [], [])
    for _ in range(3):
        top = rng.uniform(0.34, 0.5, 20_000)
        p = np.stack([top, top, 1 - 2 * top], axis=1)
        counter.add(Forecasts(rng.integers(0, 3, len(p)), p, labels=range(3), whole=False))
    table = counter.tables()[1][2]
    assert table.total.sum() == 60_000
    assert isinstance(counter.top[2], Cells)
    assert table.key.size < 20


def test_complements_in_single_precision_are_one_value():
    low, high = np.float32(0.1), np.float32(1) - np.float32(0.1)
    p = np.sort(np.array([np.float32(1) - high, low, high], dtype=np.float64))
    assert same_probability(p).tolist() == [0, 0, 1]
    assert same_probability(np.array([0.25, 0.5, 0.75])).tolist() == [0, 1, 2]
    both = np.sort(np.concatenate([p[:2], 1 - p[:2]]))  # in double precision, of what came in single
    assert same_probability(both).tolist() == [0, 0, 1, 1]
    assert same_probability(np.array([0, 1e-300, 1e-20, 0.5, 1])).tolist() == [0, 1, 2, 3, 4]  # possible is not 0
    double = np.sort(np.array([float(low) - 1e-9, float(np.float32(1) - high)]))  # no complement of what is there
    assert same_probability(double).tolist() == [0, 1]


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_are_counted_by_their_source(rng, classes):
    """Each once, whatever came before; those without a source, and those left out, are of none."""
    parts = [(4, "a"), (7, "b"), (5, None), (2, "a")]
    made = (Forecasts(*softmax_forecasts(rng, n, classes), source=name, labels=range(classes)) for n, name in parts)
    tally = Tally.count(made)
    assert (tally.sources, tally.n_rows) == ({"a": 6, "b": 7}, 18)


@pytest.mark.parametrize("weight", [None, 0.01])
def test_values_that_became_cells_are_those_that_were_counted_in_cells(rng, weight):
    """However light the rows: the first ones are counted by value, and put into cells by the later ones."""
    parts = [softmax_forecasts(rng, n, 3) for n in (20, 400)]
    settings = [{} if weight is None else {"sample_weight": weight * rng.uniform(0.5, 1, len(y))} for y, _ in parts]
    found, cells = (
        Tally.count((Forecasts(*part, **s) for part, s in zip(parts, settings, strict=True)), exact_limit=limit)
        for limit in (100, 0)
    )
    for one, other in ((found.pairs_table, cells.pairs_table), (found.top_tables[1], cells.top_tables[1])):
        for name, column in vars(other).items():
            np.testing.assert_allclose(getattr(one, name), column, rtol=1e-12, err_msg=name)


def test_what_is_no_tally_or_not_kept_is_named():
    tally = Tally.of([0, 1], [0.2, 0.7], sample_weight=[1.5, 2])
    with pytest.raises(InputError, match="score: this tally does not keep 'power_score.3.'; it has log_loss, "):
        tally.score("power_score(3)")
    with pytest.raises(InputError, match="from_bytes: expected bytes, got str"):
        Tally.from_bytes("a tally")
    assert "total weight" in " ".join(str(tally).split())
    assert "3.5" in str(tally)


def test_threads_are_numbered_from_the_last_processor():
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert [jobs_of(n) for n in (None, 3, -1, -2, -10_000)] == [1, 3, usable, max(1, usable - 1), 1]
