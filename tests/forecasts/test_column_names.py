"""Labels read off the names of columns: one way in which they hold every outcome, or none."""

import pandas as pd
import polars as pl
import pytest

from unperplexed import Forecasts, InputError, Tally


def labels(names, outcomes, **settings):
    frame = pl.DataFrame([[1 / len(names)] * len(names)] * len(outcomes), schema=names, orient="row")
    return Forecasts(outcomes, frame, **settings).labels


@pytest.mark.parametrize(
    ("names", "outcomes", "expected"),
    [
        (["b", "a"], ["a", "b"], ("b", "a")),
        (["p_2", "p_1", "p_0"], [0, 1], (2, 1, 0)),
        (["p-a", "p-b"], ["a"], ("a", "b")),
        (["p.a", "p.b"], ["a"], ("a", "b")),
        (["p:a", "p:b"], ["a"], ("a", "b")),
        (["p/a", "p/b"], ["a"], ("a", "b")),
        (["p a", "p b"], ["a"], ("a", "b")),
        (["pA", "pB"], ["A"], ("A", "B")),
        (["a_prob", "b_prob"], ["a"], ("a", "b")),
        (["m1_a_prob", "m1_b_prob"], ["a"], ("a", "b")),
        (["aProb", "bProb"], ["b", "a"], ("a", "b")),
        (["p_a_b", "p_c_d"], ["a_b", "c_d"], ("a_b", "c_d")),
        (["p_-1", "p_1"], [-1, 1], (-1, 1)),
        (["q0.25", "q0.75"], [0.25, 0.75], (0.25, 0.75)),
        (["p_01", "p_02"], ["01", "02"], ("01", "02")),
        (["p_01", "p_02"], [1, 2], (1, 2)),
        (["p_true", "p_false"], [True, False], (True, False)),
        (["p_true", "p_false"], ["true", "false"], ("true", "false")),
        (["1", "0"], [True, False], (1, 0)),
        (["p_90071992547409931", "p_90071992547409932"], [90071992547409931], (90071992547409931, 90071992547409932)),
    ],
)
def test_the_part_that_holds_the_outcomes_is_the_label(names, outcomes, expected):
    assert labels(names, outcomes) == expected
    pandas = pd.DataFrame([[1 / len(names)] * len(names)] * len(outcomes), columns=names)
    assert Forecasts(outcomes, pandas).labels == expected


@pytest.mark.parametrize("settings", [{"pos_label": "W"}, {"labels": ["L", "W"]}, {}])
def test_labels_that_differ_by_blanks_only_are_not_to_be_left_out(settings):
    with pytest.raises(InputError, match="'L' and 'L ' differ by blanks only: remove these in the data") as told:
        Forecasts(["L", "W", "L ", "W "], [0.2, 0.8, 0.2, 0.8], **settings)
    assert "ignore" not in str(told.value)


@pytest.mark.parametrize(
    ("names", "outcomes", "message"),
    [
        (["pa", "pb"], ["a", "b"], "named 'pa', 'pb', which does not say"),  # no boundary
        (["p_a", "q_b"], ["a", "b"], "does not say"),  # no beginning that all share
        (["a_0", "b_1"], [0, 1], "does not say"),
        (["y", "z"], ["a", "b"], "does not say"),  # not by order
        (["p_1", "p_2"], ["01", "02"], "does not say"),  # text is no number
        (["p_1_0", "p_1_1"], [10, 11], "does not say"),  # 1_0 is no number, though it is one in Python's source
        (["p_a_b", "p_a_a_b"], ["a_b"], "both of which hold every outcome"),
        (["p_Win", "p_Loss"], ["win", "loss"], "case only"),
        (["c0", "c1"], [1, 2], "columns count from 0, outcomes from 1"),
        (["p_1", "p_1.0"], [1], "does not say"),
    ],
)
def test_no_way_and_two_ways_are_refused(names, outcomes, message):
    with pytest.raises(InputError, match=message):
        labels(names, outcomes)


def positive(name, outcomes, **settings):
    return Forecasts(outcomes, pl.Series(name, [0.5] * len(outcomes)), **settings).labels[1]


@pytest.mark.parametrize(
    ("name", "outcomes", "expected"),
    [
        ("malignant", ["benign", "malignant"], "malignant"),
        ("p_malignant", ["benign", "malignant"], "malignant"),
        ("model.b/malignant", ["benign", "malignant"], "malignant"),
        ("p_no_show", ["show", "no_show"], "no_show"),
        ("p_2", [1, 2], 2),
        ("p_false", [True, False], False),
        ("p_0", [0, 1], 1),  # the first of several forecasts, as p_1 may be the second
        ("p_0", [False, True], True),
        ("p_false", [0, 1], 0),
        ("0", [0, 1], 0),
    ],
)
def test_one_column_is_of_the_outcome_that_it_names(name, outcomes, expected):
    assert positive(name, outcomes) == expected


@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("p_not_rain", ["rain", "not rain"]),
        ("p_no_rain", ["rain", "dry"]),
        ("win_loss", ["win", "loss"]),
        ("p_a_b", ["b", "a_b"]),
        ("p_Rain", ["rain", "dry"]),
        ("p_rain", ["rain", "dry", "snow"]),
        ("p_rain", ["rain"]),
    ],
)
def test_one_column_that_may_be_of_another_outcome_is_refused(name, outcomes):
    with pytest.raises(InputError, match="pos_label"):
        positive(name, outcomes)


def test_labels_against_the_names_are_refused():
    for names, given in ((["p_a", "p_b"], ["b", "a"]), (["p_1", "p_0"], [0, 1])):
        with pytest.raises(InputError, match="columns are named"):
            labels(names, given, labels=given)
        assert labels(names, given, labels=given[::-1]) == tuple(given[::-1])
    assert labels(["prob1", "prob2"], [0, 1], labels=[0, 1]) == (0, 1)
    with pytest.raises(InputError, match="named after the class 'no'"):
        positive("p_no", ["yes", "no"], pos_label="yes")
    with pytest.raises(InputError, match="columns are named"):
        positive("p_no", ["yes", "no"], labels=["no", "yes"])
    assert positive("p_not_yes", ["yes", "no"], pos_label="no") == "no"


def test_parts_of_the_data_read_names_alike_and_do_not_say_that_classes_never_occur():
    frame = pl.DataFrame({"p_a": [0.5, 0.5], "p_b": [0.5, 0.5]})
    parts = [Tally.of([each, each], frame) for each in "ab"]
    assert sum(parts, Tally()).labels == ("a", "b")
    assert Forecasts(["a", "a"], frame, whole=False).said == "classes by column name: a = p_a, b = p_b"
    assert Forecasts(["a", "a"], frame).said.endswith("; class 'b' never occurs")


def test_one_hot_outcomes_and_probabilities_go_by_the_labels_that_their_names_share():
    seen = pl.DataFrame({"y_b": [1, 0], "y_a": [0, 1]})
    p = pl.DataFrame({"p_a": [0.25, 0.75], "p_b": [0.75, 0.25]})
    forecasts = Forecasts(seen, p)
    assert forecasts.labels == ("a", "b")
    assert forecasts.correct_class_probabilities()[0].tolist() == [0.75, 0.75]
