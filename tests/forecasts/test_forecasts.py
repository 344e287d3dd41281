import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unperplexed import Forecasts, InputError, Tally, assess
from unperplexed._lib.arrays import as_columns
from unperplexed.forecasts.forecasts import Notes
from unperplexed.forecasts.unobserved import unobserved

Y = [1, 0, 1, 1]
P = [0.9, 0.2, 0.4, 0.7]
CORRECT = [0.9, 0.8, 0.4, 0.7]


def correct(*arguments, **settings):
    return Forecasts(*arguments, **settings).correct_class_probabilities()[0]


VECTORS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "pandas": pd.Series,
    "polars": lambda v: pl.Series("p", v),
    "pyarrow": pa.array,
    "pyarrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
    "column matrix": lambda v: np.array(v)[:, None],
}


@pytest.mark.parametrize("truth", VECTORS)
@pytest.mark.parametrize("prob", VECTORS)
def test_binary_containers(truth, prob):
    assert correct(VECTORS[truth](Y), VECTORS[prob](P)) == pytest.approx(CORRECT, abs=1e-15)


NAMES = ["win", "draw", "loss"]
MATRIX = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]
FRAMES = {
    "pandas": lambda m: pd.DataFrame(m, columns=NAMES),
    "polars": lambda m: pl.DataFrame(m, schema=NAMES, orient="row"),
    "pyarrow": lambda m: pa.table(dict(zip(NAMES, np.array(m).T.copy(), strict=True))),
    "pandas nullable": lambda m: pd.DataFrame(m, columns=NAMES).convert_dtypes(),
    "pandas mixed": lambda m: pd.DataFrame(m, columns=NAMES).astype({"win": np.float32}),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_name_their_classes(frame):
    forecasts = Forecasts(["loss", "win"], FRAMES[frame](MATRIX))
    assert forecasts.labels == ("win", "draw", "loss")
    assert forecasts.correct_class_probabilities()[0] == pytest.approx([0.2, 0.1], abs=1e-7)


def test_integer_column_names_are_labels_whatever_their_order():
    frame = pl.DataFrame(MATRIX, schema=["2", "0", "1"], orient="row")
    assert correct([1, 2], frame) == pytest.approx([0.2, 0.1])


@pytest.mark.parametrize(
    ("y_true", "settings"),
    [
        ([2, 0], {}),
        (np.array([2, 0], dtype=np.uint8), {}),
        ([2.0, 0.0], {}),
        ([[0, 0, 1], [1, 0, 0]], {}),
        (np.array([[False, False, True], [True, False, False]]), {}),
        (["c", "a"], {"labels": ["a", "b", "c"]}),
        (np.array(["c", "a"], dtype=object), {"labels": np.array(["a", "b", "c"])}),
        ([30, 10], {"labels": [10, 20, 30]}),
    ],
)
def test_labels_of_classes(y_true, settings):
    assert correct(y_true, MATRIX, **settings) == pytest.approx([0.2, 0.1])


@pytest.mark.parametrize(
    ("y_true", "settings", "labels"),
    [
        ([1, 0], {}, (0, 1)),
        ([True, False], {}, (False, True)),
        ([1.0, 0.0], {}, (0, 1)),
        ([1, -1], {}, (-1, 1)),
        (["True", "False"], {}, ("False", "True")),
        (["true", "false"], {}, ("false", "true")),
        (["rain", "dry"], {"pos_label": "rain"}, ("dry", "rain")),
        (["rain", "dry"], {"labels": ["dry", "rain"]}, ("dry", "rain")),
        (["rain", "dry"], {"labels": ["rain", "dry"], "pos_label": "rain"}, ("dry", "rain")),
        ([2, 1], {"pos_label": 2}, (1, 2)),
        ([[0, 1], [1, 0]], {}, (0, 1)),
    ],
)
def test_labels_of_two_classes(y_true, settings, labels):
    forecasts = Forecasts(y_true, [0.9, 0.2], **settings)
    assert forecasts.labels == labels
    assert forecasts.correct_class_probabilities()[0] == pytest.approx([0.9, 0.8])


def test_one_hot_frames_go_by_name():
    truth = pl.DataFrame({"b": [0, 1], "a": [1, 0]})
    assert correct(truth, pl.DataFrame({"a": [0.9, 0.3], "b": [0.1, 0.7]})) == pytest.approx([0.9, 0.7])
    assert correct(pd.DataFrame({"x": [0, 1], "y": [1, 0]}), np.array([[0.1, 0.9], [0.7, 0.3]])) == pytest.approx(
        [0.9, 0.7]
    )
    assert Forecasts([[1, 0], [0, 1]], pl.Series("p", [0.2, 0.7])).labels == (0, 1)


def test_merely_numbered_columns_name_nothing():
    p = [0.9, 0.2]
    for unnamed in (pd.DataFrame(p), pd.DataFrame(p)[0], pd.Series(p, name=1)):
        assert correct([1, 0], unnamed) == pytest.approx([0.9, 0.8])
    assert correct([0, 2], pd.DataFrame(MATRIX)) == pytest.approx([0.5, 0.3])
    assert correct([0, 2], pd.DataFrame(MATRIX, columns=[2, 0, 1])) == pytest.approx([0.3, 0.1])


def test_masked_values_are_missing():
    masked = np.ma.masked_array([0.9, 0.2], mask=[False, True])
    with pytest.raises(InputError, match=r"NaN in 1 row \(1;"):
        assess([1, 0], masked)
    with pytest.raises(InputError, match=r"no label in 1 row \(1;"):
        assess(np.ma.masked_array([1, 0], mask=[False, True]), [0.9, 0.2])
    with pytest.raises(InputError, match=r"no weight in 1 row \(1;"):
        assess([1, 0], [0.9, 0.2], sample_weight=masked)
    assert correct([1, 0], np.ma.masked_array([0.9, 0.2])) == pytest.approx([0.9, 0.8])


def test_one_hot_and_a_column_named_after_one_of_its_classes():
    truth = pl.DataFrame({"a": [1, 0], "b": [0, 1]})
    assert correct(truth, pl.Series("a", [0.9, 0.1])) == pytest.approx([0.9, 0.9])
    assert correct(truth, pl.Series("b", [0.9, 0.1])) == pytest.approx([0.1, 0.1])


def test_numbered_columns_in_order_are_class_numbers():
    frame = pl.DataFrame(MATRIX, schema=["p_0", "p_1", "p_2"], orient="row")
    assert correct([2, 0], frame) == pytest.approx([0.2, 0.1])


def test_missing_and_mixed_labels_in_lists_stay_what_they_are():
    with pytest.raises(InputError, match="no label in 1 row"):
        correct(["a", float("nan"), "b"], [0.5, 0.2, 0.1], pos_label="a")
    assert Forecasts(["a", 1, "a"], [0.5, 0.2, 0.1], pos_label="a").labels == (1, "a")


def test_pyarrow_strings_booleans_and_nulls():
    assert correct(pa.array(["x", "y"]), pa.array([0.9, 0.2]), pos_label="x") == pytest.approx([0.9, 0.8])
    assert correct(pa.array([True, False]), pa.array([0.9, 0.2])) == pytest.approx([0.9, 0.8])
    with pytest.raises(InputError, match="NaN in 1 row"):
        assess([1, 0], pa.array([0.9, None]))
    with pytest.raises(InputError, match="no label in 1 row"):
        assess(pa.array([1, None]), [0.9, 0.1])


def test_column_named_after_the_positive_class():
    assert Forecasts(["rain", "dry"], pl.Series("rain", [0.9, 0.2])).labels == ("dry", "rain")


@pytest.mark.parametrize("one", [[1, 1], [0, 0], [True, True], ["true", "true"]])
def test_one_class_alone_where_it_can_be_told(one):
    forecasts = Forecasts(one, [0.9, 0.8])
    expected = [0.9, 0.8] if forecasts.labels[1] == one[0] else [0.1, 0.2]
    assert forecasts.correct_class_probabilities()[0] == pytest.approx(expected)


def test_sorted_labels_only_of_the_whole():
    assert correct(["c", "a", "b"], [*MATRIX, MATRIX[0]]) == pytest.approx([0.2, 0.1, 0.3])
    with pytest.raises(InputError, match="labels"):
        Forecasts(["c", "a", "b"], [*MATRIX, MATRIX[0]], whole=False)
    with pytest.raises(InputError, match="labels"):
        Tally.of(["c", "a", "b"], [*MATRIX, MATRIX[0]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_types(dtype):
    p = np.array(P, dtype=dtype)
    exact = np.where(np.array(Y) == 1, p.astype(float), 1 - p.astype(float))
    assert correct(Y, p) == pytest.approx(exact, abs=1e-7 if dtype == np.float64 else 6e-8)


def test_logits_and_log_probabilities():
    logits = np.array([2.0, -1.0, -800.0, 800.0])
    p = 1 / (1 + np.exp(-logits[:2]))
    got = correct([1, 1, 1, 1], logits, scale="logits")
    assert got[:2] == pytest.approx(p, rel=1e-15)
    assert got[2:].tolist() == [0.0, 1.0]
    # The small side keeps its digits: 1 - sigmoid(40) would be 0.
    assert correct([0], [40.0], scale="logits")[0] == pytest.approx(np.exp(-40), rel=1e-12)
    assert correct([0], [np.log1p(-1e-18)], scale="log-probs")[0] == pytest.approx(1e-18, rel=1e-12)
    matrix = np.log(MATRIX)
    assert correct([2, 0], matrix, scale="log-probs") == pytest.approx([0.2, 0.1])
    assert correct([2, 0], matrix + 700.0, scale="logits") == pytest.approx([0.2, 0.1])
    assert correct([0, 1], [[0.0, -np.inf], [0.0, -np.inf]], scale="logits").tolist() == [1.0, 0.0]
    assert correct([1, 0], [90, 20], scale="percent") == pytest.approx([0.9, 0.8])


def test_ignored_dropped_and_rescaled_rows_are_counted():
    y = [0, 1, 2, 0, 1, None]
    p = [[0.5, 0.5], [np.nan, 0.5], [np.nan, np.nan], [0.2, 0.6], [0.1, 0.9], [0.5, 0.5]]
    forecasts = Forecasts(y, p, ignore_label=2, invalid=["drop", "rescale"])
    (block,) = forecasts.blocks()
    assert block.notes == Notes(1, {"NaN": 1, "no label": 1}, 1, pytest.approx(0.2))
    assert block.rows.correct == pytest.approx([0.5, 0.25, 0.9])


def test_notes_add_up():
    a = Notes(1, {"NaN": 2}, 3, 0.5)
    b = Notes(10, {"NaN": 20, "negative": 1}, 30, 0.1)
    assert a + b == b + a == Notes(11, {"NaN": 22, "negative": 1}, 33, 0.5)
    assert a + Notes() == a


BAD = {
    "NaN": ([1, 0], [0.5, np.nan], {}, r"NaN in 1 row \(1;.*invalid=.drop."),
    "infinite": ([1, 0], [0.5, np.inf], {}, r"infinite in 1 row \(1;"),
    "negative": ([1, 0, 1], [0.5, -0.1, 0.2], {}, r"negative in 1 row \(1;"),
    "percent": ([1, 0], [0.5, 50.0], {}, r"above 1 in 1 row \(1;.*look like percentages: scale=.percent."),
    "logits": ([1, 0], [4.5, -3.0], {}, "look like logits: scale=.logits."),
    "log-probabilities": ([1, 0], [-0.5, -3.0], {}, "look like log-probabilities: scale=.log-probs."),
    "rounding": ([1, 0], [np.nextafter(1, 2), 0.5], {}, "above 1.*rounding"),
    "members": ([0, 1], pl.DataFrame({"m0": [14.0, 15.5], "m1": [13.0, 12.0]}), {}, "above 1.*members.*--samples"),
    "members below 1": ([0, 1], pl.DataFrame({f"m{k}": [0.9, 0.7] for k in range(3)}), {}, "sum not 1.*--samples"),
    "members of numbers": ([1.5, 2.25], pl.DataFrame({"m1": [1.0, 2.0], "m2": [2.0, 2.0]}), {}, "--samples"),
    "members of counts": ([*range(9)], pl.DataFrame({"m1": [1.0] * 9, "m2": [0.0] * 9}), {}, "--samples"),
    "sum": ([0, 1], [[0.5, 0.5], [0.5, 0.4]], {}, r"sum not 1 in 1 row \(1;.*sum of 0.9.*invalid=.rescale."),
    "column": (["a"], pl.DataFrame({"a": [1.5], "b": [-0.5]}), {}, "column 'b'"),
    "two faults": ([0, 0], [[np.nan, 1], [2.0, 0]], {}, r"NaN in 1 row \(0;.*above 1 in 1 row \(1;"),
    "missing labels": ([1, None, 0], P[:3], {}, r"no label in 1 row \(1;.*invalid=.drop."),
    "NaN labels": ([1, np.nan, 0], P[:3], {}, "no label"),
    "no column": (["a", "b", "q"], [[0.5, 0.5]] * 3, {"labels": ["a", "b"]}, r"no class: 1 × 'q', in 1 row \(2;"),
    "half": ([1, 0, 0.5], P[:3], {}, "1 × 0.5, in 1 row .2;.*ignore_label=0.5"),
    "lengths": ([1, 0, 1], P, {}, "3 rows.*4"),
    "weights length": (Y, P, {"sample_weight": [1, 1]}, "sample_weight"),
    "weights negative": (Y, P, {"sample_weight": [1, 1, 1, -1]}, r"negative weight in 1 row \(3;"),
    "weights zero": (Y, P, {"sample_weight": [0, 0, 0, 0]}, "total weight is 0"),
    "positive unknown": (["a", "b"], P[:2], {}, "pos_label"),
    "one class": (["a", "a"], P[:2], {}, "pos_label"),
    "pos_label absent": (["a", "b"], P[:2], {"pos_label": "A"}, "'A' does not occur"),
    "three for one column": (["a", "b", "c"], P[:3], {"pos_label": "a"}, "'b', 'c'.*ignore_label"),
    "pos_label of many": ([0, 1], MATRIX, {"pos_label": 1}, "3 probability columns"),
    "label twice": ([0, 1], MATRIX, {"labels": ["a", "a", "b"]}, "twice"),
    "labels too few": ([0, 1], MATRIX, {"labels": ["a", "b"]}, "2 labels for forecasts of 3 classes"),
    "labels untold": (["x", "y"], MATRIX, {}, "labels"),
    "one-hot bad": ([[1, 1, 0], [0, 0, 1]], MATRIX, {}, r"1 row \(0;"),
    "one-hot shape": ([[1, 0], [0, 1]], MATRIX, {}, "2 classes"),
    "text": ([1, 0], ["0.5", "50%"], {}, "row 1.*'50%'"),
    "ragged": ([1, 0], [[0.5, 0.5], [1.0]], {}, "lengths"),
    "cube": ([1], np.zeros((1, 1, 1)), {}, "shape"),
    "scalar": ([1], 0.5, {}, "shape"),
    "scale": ([1], [0.5], {"scale": "odds"}, "scale: expected one of"),
    "labels that are no column": (
        ["win", "tie"],
        pl.DataFrame({"win": [0.5, 0.5], "loss": [0.5, 0.5]}),
        {},
        r"1 × 'tie', in 1 row \(1;",
    ),
    "columns of other names": (
        ["c", "a", "b"],
        pl.DataFrame([MATRIX[0]] * 3, schema=["p_a", "q_b", "r_c"], orient="row"),
        {},
        "'p_a'",
    ),
    "numbers of other names": ([0, 1], pl.DataFrame(MATRIX, schema=["a_0", "b_1", "c_2"], orient="row"), {}, "'a_0'"),
    "names for numbers": ([0, 1], pl.DataFrame(MATRIX, schema=NAMES, orient="row"), {}, "'win'"),
    "labels against numbers": ([0, 1], pl.DataFrame({"1": [0.5], "0": [0.5]}), {"labels": [0, 1]}, "columns are named"),
    "labels against one column": (["a", "b"], pl.Series("b", [0.5, 0.5]), {"labels": ["b", "a"]}, "columns are named"),
    "pos_label against a name": (
        ["a", "b"],
        pl.Series("b", [0.5, 0.5]),
        {"pos_label": "a"},
        "named after the class 'b'",
    ),
    "labels against one-hot": (
        pl.DataFrame({"a": [1], "b": [0]}),
        pl.DataFrame({"b": [0.5], "a": [0.5]}),
        {"labels": ["a", "b"]},
        "columns are named",
    ),
    "lists as probabilities": ([1, 0], pl.Series([[0.5], [0.5, 0.1]]), {}, "the list in row 1"),
    "complex labels": (np.array([1j, 0]), P[:2], {}, "complex"),
    "estimator in a list": (Y, P, {"measured": ["isotonic"]}, "measured"),
    "weights a text": (Y, P, {"sample_weight": "abcd"}, "sample_weight"),
    "markers": ([0, 1, -100], [MATRIX[0]] * 3, {}, "labels"),
    "labels out of order": (
        ["a", "b"],
        pl.DataFrame({"b": [0.5, 0.5], "a": [0.5, 0.5]}),
        {"labels": ["a", "b"]},
        "order",
    ),
    "labels unordered": ([0, 1], P[:2], {"labels": {0, 1}}, "a list of labels"),
    "labels a text": ([0, 1], P[:2], {"labels": "01"}, "a list of labels"),
    "column twice": ([0], pd.DataFrame([[0.5, 0.5]], columns=["a", "a"]), {}, "'a' 2 times"),
    "durations": ([1], np.array([1], dtype="m8[s]"), {}, "timedelta64"),
    "generator": ([1], (x for x in [0.5]), {}, "generator"),
    "labels of lists": (np.array([[], None], dtype=object)[:1], [0.5], {}, "numbers or texts"),
    "no estimator": (Y, P, {"measured": None}, "measured"),
    "floor a text": (Y, P, {"floor": "0.1"}, "floor"),
    "weights of text": (Y, P, {"sample_weight": ["a", 1, 1, 1]}, "not a number at row 0"),
    "complex": ([1], np.array([0.5 + 0j]), {}, "complex"),
    "infinite logit": ([0], [[np.inf, 0.0]], {"scale": "logits"}, r"infinite in 1 row \(0;"),
    "too large a log-probability": ([1], [1000.0], {"scale": "log-probs"}, "1 row"),
    "weight out of scale": (Y, P, {"sample_weight": [1, 1, 1, 1e-200]}, r"out of scale in 1 row \(3;"),
    "all zero row": ([0], [[0.0, 0.0]], {"invalid": "rescale"}, "sum not 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_rows_and_remedy(case):
    y, p, settings, message = BAD[case]
    with pytest.raises(InputError, match=message):
        assess(y, p, **settings)


def test_all_bad_rows_are_named_across_blocks():
    n = 300_000
    p = np.full(n, 0.5)
    p[[7, 150_000, 299_999]] = np.nan
    with pytest.raises(InputError, match=r"NaN in 3 rows \(7, 150000, 299999; counted from 0\)"):
        assess(np.zeros(n, dtype=int), p)


def test_many_bad_rows_are_counted_not_listed():
    with pytest.raises(InputError, match=r"NaN in 1,000 rows \(0, 1, 2, 3, 4, 5, 6, 7, \.\.\.; counted from 0\)"):
        assess(np.zeros(1000, dtype=int), np.full(1000, np.nan))


def test_pandas_indexes_are_never_aligned():
    y, p = pd.Series(Y, index=[3, 2, 1, 0]), pd.Series(P)
    with pytest.raises(InputError, match="indexes differ"):
        Forecasts(y, p)
    with pytest.raises(InputError, match="indexes differ"):
        Forecasts(pd.Series(Y), p, sample_weight=pd.Series([1, 1, 1, 1], index=list("abcd")))
    assert correct(y.to_numpy(), p) == pytest.approx(CORRECT)


def test_nulls_in_frames_are_missing_values():
    for frame in (pl.DataFrame({"a": [0.5, None], "b": [0.5, 1.0]}), pd.DataFrame({"a": [0.5, None], "b": [0.5, 1.0]})):
        with pytest.raises(InputError, match=r"NaN in 1 row \(1;.*column 'a'"):
            assess(["a", "b"], frame)


def test_sums_within_tolerance_pass_unchanged():
    p = [[0.5004, 0.5004], [0.4995, 0.4996]]
    assert correct([0, 1], p).tolist() == [0.5004, 0.4996]


def test_input_is_not_copied_or_changed():
    p = np.random.default_rng(0).dirichlet(np.ones(5), 1000)
    before = p.copy()
    p.setflags(write=False)
    Forecasts(np.zeros(1000, dtype=int), p, invalid="rescale").correct_class_probabilities()
    assert (p == before).all()


def test_strided_and_reversed_input():
    p = np.random.default_rng(0).dirichlet(np.ones(6), 2000)
    y = np.arange(1000) % 6
    assert (correct(y, p[::-2]) == correct(y, p[::-2].copy())).all()
    assert (correct(y, np.asfortranarray(p[:1000])) == correct(y, p[:1000])).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**63 + 5, 2**63 + 2], dtype=np.uint64),
        np.array([-(2**63), -(2**63) + 7]),
        np.array([-128, 127], dtype=np.int8),
        np.array([0, 2**17]),
        np.array([5, 2**40]),
    ],
)
def test_integer_labels_near_and_far(labels):
    forecasts = Forecasts(labels[[0, 1, 1, 0]], [0.9, 0.2, 0.4, 0.5], pos_label=int(labels[0]))
    assert forecasts.labels == (int(labels[1]), int(labels[0]))
    assert forecasts.correct_class_probabilities()[0] == pytest.approx([0.9, 0.8, 0.6, 0.5])


def test_texts_that_read_as_numbers_are_not_sorted_as_words(rng):
    """ "10" comes before "2" as a word: which column it has must be said."""
    p = rng.dirichlet(np.ones(11), 50)
    y = np.r_[np.arange(11), rng.integers(0, 11, 39)]
    with pytest.raises(InputError, match="do not say which of the 11 probability columns"):
        Forecasts(y.astype(str), p)
    labels = [str(j) for j in range(11)]
    assert Forecasts(y.astype(str), p, labels=labels).correct_class_probabilities()[0] == pytest.approx(p[range(50), y])
    assert Forecasts(y.astype(str)[y < 3], p[y < 3][:, :3], invalid="rescale").labels == ("0", "1", "2")


@pytest.mark.parametrize("labels", [[np.nan, 1], [None, 1]])
def test_a_missing_value_is_no_label(labels):
    with pytest.raises(InputError, match="a missing value is no class"):
        Forecasts([1], [0.5], labels=labels)


@pytest.mark.parametrize("binary", [False, True])
def test_only_some_rows_are_as_if_there_were_no_others(rng, binary):
    y = rng.integers(0, 2, 60)
    p = rng.uniform(size=60)
    p[[5, 6, 30]] = np.nan
    labels = [9 if at in (7, 8) else int(label) for at, label in enumerate(y)]
    probabilities = p if binary else np.stack([1 - p, p], axis=1)
    settings = {"ignore_label": 9, "invalid": "drop", "labels": [0, 1]}
    chosen = np.arange(60) % 5 != 0
    some = Forecasts(labels, probabilities, first_row=100, **settings)[np.flatnonzero(chosen)]
    alone = Forecasts(
        [label for label, use in zip(labels, chosen, strict=True) if use], probabilities[chosen], **settings
    )
    blocks, expected = list(some.blocks()), list(alone.blocks())
    np.testing.assert_array_equal(blocks[0].rows.correct, expected[0].rows.correct)
    assert blocks[0].notes == expected[0].notes
    assert blocks[0].notes.dropped == {"NaN": 1}
    kept = np.flatnonzero(chosen & ~np.isnan(p) & ~np.isin(np.arange(60), [7, 8]))
    assert blocks[0].index.tolist() == (100 + kept).tolist()


def test_rows_that_are_not_chosen_may_be_invalid():
    forecasts = Forecasts([1, 0, 1], [0.5, 3.0, 0.25])
    assert forecasts[np.array([0, 2])].correct_class_probabilities()[0].tolist() == [0.5, 0.25]
    with pytest.raises(InputError, match="above 1 in 1 row"):
        forecasts.correct_class_probabilities()


@pytest.mark.parametrize(
    "rows", [[[1.00002, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0009]], [[0.5, 0.499], [0.4, 0.59]]]
)
def test_sums_off_by_rounding_are_remedied_by_renormalizing(rows):
    with pytest.raises(InputError, match="invalid=.rescale.") as caught:
        assess([0, 1], rows)
    assert "Repair" not in str(caught.value)
    assert assess([0, 1], rows, invalid="rescale").notes.rescaled > 0


def test_all_columns_at_fault_are_named():
    """Of each reason the columns of all rows, not those of the first row alone."""
    rows = np.full((300, 4), 0.25)
    rows[7, 1] = rows[290, 3] = rows[290, 1] = np.nan
    rows[8, 0], rows[9, 2] = -0.5, -0.5
    with pytest.raises(InputError, match=r"NaN in 2 rows .* columns 'b', 'd',.*negative in 2 rows .* columns 'a', 'c'"):
        assess(["a"] * 300, pl.DataFrame(dict(zip("abcd", rows.T, strict=True))))


def test_other_probabilities_leave_invalid_rows_invalid():
    forecasts = Forecasts([0, 1, 1], [np.nan, 0.25, 0.5], invalid="drop")
    halved = forecasts.with_probabilities(lambda block: block.probabilities @ [[1, 0], [0.5, 0.5]])
    assert halved.correct_class_probabilities()[0] == pytest.approx([0.125, 0.25])
    nothing = Forecasts([0, 1], [np.nan, np.nan], invalid="drop")
    assert nothing.with_probabilities(lambda block: 1 / 0).correct_class_probabilities()[0].size == 0


def test_chosen_rows_are_cut_into_the_same_rows(rng, monkeypatch):
    monkeypatch.setattr("unperplexed.forecasts.forecasts.BLOCK_ELEMENTS", 16)
    y, p = rng.integers(0, 2, 60), rng.random(60)
    some = Forecasts(y, p)[np.arange(0, 60, 2)]
    parts = some.split(3)
    assert len(parts) == 3
    found = [part.correct_class_probabilities()[0] for part in parts]
    assert np.concatenate(found).tolist() == some.correct_class_probabilities()[0].tolist()


def test_outcomes_that_do_not_fit_are_refused():
    for y, settings, message in (
        (np.zeros((2, 2, 2)), {}, r"y_true: expected one label a row, or one-hot rows, got shape \(2, 2, 2\)"),
        (np.eye(2), {"pos_label": 1}, "one-hot rows already name the observed class; leave out pos_label"),
    ):
        with pytest.raises(InputError, match=message):
            Forecasts(y, [[0.5, 0.5], [0.2, 0.8]], **settings)
    with pytest.raises(InputError, match="pos_label: 'c' is not one of the labels 'a', 'b'"):
        Forecasts(["a", "b"], [0.5, 0.2], labels=["a", "b"], pos_label="c")
    assert correct(["a", "b"], [0.75, 0.25], labels=["a", "b"], pos_label="a").tolist() == [0.75, 0.75]


def test_a_part_without_outcomes_says_nothing_of_the_classes():
    """Whole data of no outcomes are taken for those of 0 and 1; parts leave that to the others."""
    assert Forecasts([None, None], [0.5, 0.25], ignore_label=None, invalid="drop", whole=False).labels == (
        None,
        None,
    )
    assert Forecasts([0, 1], [0.5, 0.25], whole=False).labels == (0, 1)
    with pytest.raises(
        InputError,
        match="the positive class does not follow from the labels 'rain'. Name the one that is predicted with pos",
    ):
        Forecasts(["rain"], [0.5], whole=False)


def test_rows_without_outcomes_have_classes_by_name():
    def classes(p, labels=None, pos_label=None):
        return unobserved(as_columns(np.asarray(p), "p", 0), labels, pos_label)["known_labels"]

    assert classes([0.5, 0.2]) == (0, 1)
    assert classes([0.5, 0.2], None, "rain") == ("not rain", "rain")
    with pytest.raises(InputError, match=r"labels \(--labels\): some are the same. Give each class a name of its own"):
        classes([[0.5, 0.5]], ["a", "a"])
    with pytest.raises(InputError, match="3, but there are 2 classes. Name each once"):
        classes([[0.5, 0.5]], ["a", "b", "c"])


def test_an_array_that_is_changed_after_it_was_checked_is_named():
    given = np.array([0, 1, 1])
    forecasts = Forecasts(given, [0.2, 0.3, 0.6])
    given[1] = 7
    with pytest.raises(InputError, match="y_true: the array was changed after it was checked"):
        forecasts.correct_class_probabilities()


@pytest.mark.parametrize(
    ("options", "told"),
    [({}, True), ({"invalid": "rescale"}, False), ({"scale": "logits"}, False), ({"scale": "log-probs"}, False)],
)
def test_counts_tell_scores_of_two_columns_that_are_counted_as_they_are_given(options, told):
    p = np.array([[0.4, 0.6], [0.9, 0.1]])
    forecasts = Forecasts([1, 0], np.log(p) if "scale" in options else p, **options)
    assert (forecasts.counts_tell, forecasts.plain_column) == (told, told)
