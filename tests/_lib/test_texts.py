"""Texts and choices at the places where they turn: counts, shares, p-values, cut names, quoted words, errors."""

import json
import math

import numpy as np
import pytest
from scipy import special

from unperplexed import InputError
from unperplexed._lib import elementary, errors, formatting, public_names
from unperplexed._lib.serialize import SCHEMA, json_text, plain_values, result_json

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("of", "given", "text"),
    [
        (
            formatting.number_of,
            (
                0,
                "row",
            ),
            "0 rows",
        ),
        (
            formatting.number_of,
            (
                1,
                "row",
            ),
            "1 row",
        ),
        (
            formatting.number_of,
            (
                2,
                "row",
            ),
            "2 rows",
        ),
        (
            formatting.number_of,
            (
                1234,
                "row",
            ),
            "1,234 rows",
        ),
        (formatting.capital, ("ab cd",), "Ab cd"),
        (formatting.capital, ("",), ""),
        (formatting.percent, (0.9999999,), "99.99999%"),
        (formatting.percent, (0.29,), "29%"),
        (formatting.three_digits, (0.012,), "1.20%"),
        (formatting.three_digits, (0.12,), "12.0%"),
        (formatting.three_digits, (0.99949,), "99.9%"),
        (formatting.three_digits, (0.9995,), "99.950%"),
        (formatting.three_digits, (0.99,), "99.0%"),
        (formatting.three_digits, (1.0,), "100.0%"),
        (formatting.three_digits, (2.5,), "250.0%"),
        (formatting.three_digits, (-0.012,), "-1.20%"),
        (formatting.three_digits, (1.2e-07,), "0.0000120%"),
        (formatting.three_digits, (1.2e-08,), "1.20e-06%"),
        (formatting.three_digits, (INF,), "inf%"),
        (formatting.three_digits, (NAN,), "nan%"),
        (formatting.confidence_interval, (0.95,), "95% CI"),
        (formatting.confidence_interval, (0.999,), "99.9% CI"),
        (
            formatting.confidence_interval,
            (
                0.9,
                2,
            ),
            "simultaneous 90% CI",
        ),
        (
            formatting.confidence_interval,
            (
                0.9,
                1,
            ),
            "90% CI",
        ),
        (formatting.p_values, (), "p-value"),
        (formatting.p_values, (1,), "p-value"),
        (formatting.p_values, (2,), "adjusted p-value"),
        (formatting.at_floor_text, (0.0,), "without a floor"),
        (formatting.at_floor_text, (0.00512,), "at the floor 0.00512"),
        (formatting.p_value_text, (0.001,), "p = 0.001"),
        (formatting.p_value_text, (0.00099,), "p < 0.001"),
        (
            formatting.p_value_text,
            (
                0.0456,
                "≥",
            ),
            "p ≥ 0.046",
        ),
        (formatting.p_value_text, (NAN,), "no p-value"),
        (formatting.p_value_cell, (0.001,), "0.001"),
        (formatting.p_value_cell, (0.00099,), "< 0.001"),
        (formatting.p_value_cell, (NAN,), "–"),
        (formatting.rule_text, ("penalized_brier_score",), "penalized Brier score"),
        (formatting.printable, ("a b",), "a b"),
        (formatting.printable, ("a\n\x1bé\ud800",), "a\\n\\x1bé\\ud800"),
        (formatting.shell_word, ("a b",), "'a b'"),
        (formatting.shell_word, ("it's",), '"it\'s"'),
        (formatting.shell_word, ("it's $5",), "'it'\"'\"'s $5'"),
        (formatting.shell_word, ("plain",), "plain"),
        (formatting.shell_word, ("a\n'\\",), "$'a\\n\\'\\\\'"),
        (formatting.shell_word, ("\x7f",), "$'\\x7f'"),
        (formatting.shell_word, ("\x80",), "$'\\U00000080'"),
        (formatting.shell_word, ("\u2028",), "$'\\U00002028'"),
        (formatting.command_line, (["a", "b c"],), "a 'b c'"),
        (
            formatting.short_name,
            (
                "abcdefghij",
                10,
            ),
            "abcdefghij",
        ),
        (
            formatting.short_name,
            (
                "abcdefghijk",
                10,
            ),
            "abc...hijk",
        ),
        (
            formatting.short_name,
            (
                "abcdefghijkl",
                11,
            ),
            "abc...ijkl",
        ),
        (formatting.short_name, ("x" * 100,), "x" * 100),
        (formatting.short_name, ("x" * 101,), f"{'x' * 48}...{'x' * 49}"),
    ],
)
def test_words_of_numbers_and_names(of, given, text):
    assert of(*given) == text


def test_names_are_cut_less_until_they_differ():
    names = [f"{'a' * 20}{at}{'b' * 20}" for at in (1, 2)]
    assert formatting.short_names([*names, "c" * 30]) == [*names, f"{'c' * 10}...{'c' * 11}"]
    assert formatting.short_names(["x" * 25] * 2) == [f"{'x' * 10}...{'x' * 11}"] * 2
    assert formatting.short_names(["x" * 24]) == ["x" * 24]
    assert formatting.short_names([]) == []


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (1, "1 row (0; counted from 0)"),
        (8, "8 rows (0, 1, 2, 3, 4, 5, 6, 7; counted from 0)"),
        (9, "9 rows (0, 1, 2, 3, 4, 5, 6, 7, ...; counted from 0)"),
    ],
)
def test_the_first_eight_rows_are_named(n, text):
    assert errors.rows_text(np.arange(n)) == text


def test_the_first_values_are_listed():
    assert errors.listed(["a", 1]) == "'a', 1"
    assert errors.listed(range(10)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert errors.listed(range(1100), 2) == "0, 1, ... (1,100 in all)"
    assert errors.place_text(()) == ""
    assert errors.place_text((3,)) == " at index 3 (counted from 0)"
    assert errors.place_text((3, 1), "row") == " at row (3, 1) (counted from 0)"


def test_reworded_errors_keep_what_they_are_about():
    first = InputError("one")
    first.missing_outcomes = True
    second = first.reworded("two")
    assert (str(second), second.missing_outcomes, second.no_outcomes) == ("two", True, False)
    assert not InputError("x").missing_outcomes


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("brier", "", ()), "; did you mean brier_score?"),
        (("p_value", "Assessment", ()), "; did you mean diagnosis.p_value?"),
        (("slpoe", "", ("slope", "bias")), "; did you mean slope?"),
        (
            ("score_xyzabc", "", ("one_score", "two_score", "score_3", "score_4")),
            "; did you mean one_score or two_score or score_3?",
        ),
        (("zzz", "", ("a", "b")), "; it has a, b"),
        (("zzz", "", ()), ""),
    ],
)
def test_names_that_are_meant(given, says):
    assert errors.called(*given) == says


def test_choices():
    errors.check_choice("kind", "a", ("a", "b"))
    for value, said in (("c", "kind: expected one of 'a', 'b', got 'c'; it has"), (1, "got 1.")):
        with pytest.raises(InputError) as found:
            errors.check_choice("kind", value, ("a", "b"))
        assert said.removesuffix("; it has") in str(found.value)
    with pytest.raises(InputError, match=r"got 'save'; did you mean report\(path\), or to_json\(\)\?$"):
        errors.check_choice("kind", "save", ("a", "b"))


@pytest.mark.parametrize(
    ("value", "number", "whole"),
    [
        (1, True, True),
        (0, True, True),
        (3, True, True),
        (4, False, False),
        (-1, False, False),
        (1.5, True, False),
        (True, False, False),
        (NAN, False, False),
        ("1", False, False),
        (np.float64(2), True, False),
        (np.int8(2), True, True),
        (None, False, False),
    ],
)
def test_numbers_between_limits(value, number, whole):
    assert errors.is_number(value, 0, 3) == number
    assert errors.is_whole(value, 0, 3) == whole


def test_whole_numbers_and_seeds():
    assert errors.check_whole("n", 1) == errors.check_whole("n", np.int64(1)) == 1
    assert errors.check_whole("n", 2**53 - 1) == 2**53 - 1
    for value in (0, 2**53, 1.0, True):
        with pytest.raises(InputError, match="n: expected a whole number of at least 1, got"):
            errors.check_whole("n", value)
    assert errors.check_seed(0) == 0
    assert errors.check_seed(2**80) == 2**80
    with pytest.raises(InputError, match="seed: expected a whole number of at least 0, got -1"):
        errors.check_seed(-1)


def test_three_quarters_of_a_name_alike_are_near():
    assert errors.nearest("slope", ["slops", "sloop"]) == ["slops"]
    assert errors.nearest("slope", ["slops", "sloope", "x"], 2) == ["sloope", "slops"]
    assert errors.nearest("abcd", ["abce"]) == ["abce"]  # 0.75 exactly
    assert errors.nearest("abc", ["abd"]) == []


def test_more_arguments_without_a_name_are_refused():
    errors.refuse_more("assess", 2, 2)
    with pytest.raises(
        TypeError, match=r"assess\(\) takes 2 arguments without a name, 3 were given; the others are named"
    ):
        errors.refuse_more("assess", 3, 2)
    with pytest.raises(TypeError, match=r"drift\(\) takes 1 argument without .* predictions alone"):
        errors.refuse_more("drift", 2, 1)


@pytest.mark.parametrize(
    ("name", "known", "says"),
    [
        ("groups", ("by", "clusters"), r"did you mean by= \(of groups; clusters= of dependent rows\)\?"),
        ("groups", ("by",), r"did you mean by=\?"),
        ("groups", ("clusters",), r"did you mean clusters= \(for groups"),
        ("max_ece", ("require",), r'did you mean require="ece < ..."\?'),
        ("min_auc", ("require",), r'require="auc > ..."'),
        ("eps", ("floor", "seed"), r"did you mean floor=\?"),
        ("eps", ("seed",), "it takes seed[.]"),
        ("eps", (), r"did you mean floor=\?"),
        ("sead", ("seed",), r"did you mean 'seed'\?"),
        ("rest", ("one", "two"), "it takes one, two[.]"),
        ("rest", (), "argument 'rest'$"),
    ],
)
def test_unknown_options_are_refused(name, known, says):
    errors.refuse_unknown("f", known, known)
    with pytest.raises(
        TypeError, match=rf"f\(\) got an unexpected keyword argument '{name}'.*{says}" if "$" not in says else says
    ):
        errors.refuse_unknown("f", [name], known)


def test_former_options_alone_are_refused():
    errors.refuse_former("f", ["other", "units_of"])
    with pytest.raises(TypeError, match=r"did you mean floor=\?"):
        errors.refuse_former("f", ["other", "eps"])
    with pytest.raises(TypeError, match="earlier="):
        errors.refuse_former("check", ["against"])
    errors.refuse_former("f", ["against"])


def test_what_is_missing_is_said_how_to_install():
    with (
        pytest.raises(ImportError, match=r"charts needs x: pip install 'unperplexed\[y\]'"),
        errors.needed("charts", "x", "y"),
    ):
        raise ImportError
    with errors.needed("charts", "x", "y"):
        pass


def test_results_as_json():
    assert plain_values({"a": (1, np.array([1.5, NAN]))})["a"][0] == 1
    found = json.loads(json_text({"a": (NAN, INF, -INF, 1.5), "b": ({"c": np.array([NAN])},), "d": "é"}))
    assert found == {"a": ["NaN", "Infinity", "-Infinity", 1.5], "b": [{"c": ["NaN"]}], "d": "é"}
    assert json_text({"a": 1}) == '{\n  "a": 1\n}'
    assert result_json({"a": 1}, None) == '{"schema": 2, "a": 1}'
    assert SCHEMA == 2


X = np.array([-800.0, -40.0, -1.5, 0.0, 0.3, 40.0, 800.0, INF, -INF, NAN])
P = np.array([0.0, 1e-300, 0.2, 0.3, 0.300001, 0.5, 0.5 + 1e-12, 0.69999, 0.7, 0.9, 1.0, NAN])


@pytest.mark.parametrize("name", ["expit", "log_expit"])
def test_functions_of_log_odds_are_those_of_scipy(name):
    np.testing.assert_allclose(getattr(elementary, name)(X), getattr(special, name)(X), rtol=2e-15, atol=1e-300)


def test_log_odds_are_exact_near_a_half():
    np.testing.assert_allclose(elementary.logit(P), special.logit(P), rtol=4e-15)
    assert elementary.logit(0.5 + 1e-12) == pytest.approx(4 * ((0.5 + 1e-12) - 0.5), rel=1e-12)  # no digit is lost
    assert np.ndim(elementary.logit(0.25)) == 0


def test_products_with_logarithms_are_0_at_0():
    x = np.array([0.0, 0.0, 2.0, 2.0, 0.0, 1.5])
    y = np.array([0.0, 3.0, 0.0, 3.0, NAN, NAN])
    np.testing.assert_array_equal(elementary.xlogy(x, y), special.xlogy(x, y))
    np.testing.assert_allclose(elementary.xlog1py(x, y - 0.5), special.xlog1py(x, y - 0.5), rtol=1e-15)
    np.testing.assert_array_equal(elementary.xlog1py(0.0, -1.0), 0.0)
    np.testing.assert_allclose(
        elementary.log_gamma(np.array([0.5, 3.0, 40.0])), special.gammaln([0.5, 3.0, 40.0]), rtol=1e-14
    )


@pytest.mark.parametrize("columns", [0, 1, 2, 32, 33])
def test_rows_are_reduced_to_a_column(columns):
    x = np.random.default_rng(columns).uniform(size=(4, columns))
    found = elementary.of_rows(np.add, x)
    assert found.shape == (4, 1)
    np.testing.assert_allclose(found[:, 0], x.sum(axis=1), rtol=1e-14)


def test_public_names_are_loaded_on_first_use():
    load, names, listed = public_names.public_names("unperplexed")
    assert load("InputError") is InputError
    assert load("assess").__module__ == "unperplexed.assessment.assess"
    assert load("scores").__name__ == "unperplexed.scores"
    assert {"assess", "InputError"} <= {*names()}
    assert {*listed} <= {*names()}
    with pytest.raises(
        AttributeError, match="module 'unperplexed' has no attribute 'brier_score'; did you mean unperplexed.scores"
    ):
        load("brier_score")
    with pytest.raises(AttributeError, match="no attribute '_x'$"):
        load("_x")
