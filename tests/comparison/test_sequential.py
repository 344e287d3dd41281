"""What a comparison promises to one who watches it: checked exactly over all that can happen, and in simulation."""

import json
import math
import re
from itertools import product

import mpmath as mp
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import fifty_digits  # noqa: F401  (sets the digits)
from helpers import softmax_forecasts
from unperplexed import InputError, compare_sequentially
from unperplexed.forecasts.forecasts import Forecasts
from unperplexed.scores import row_scores, score_named
from unperplexed.scores.rules import scores_by_outcome
from unperplexed.statistics.many_looks import LOG_WEIGHTS, RATES, bets, evidence, log_wealth

COLUMNS = ("difference", "low", "high", "e_first", "e_second")
SCORES = (
    "brier_score",
    "log_loss",
    "spherical_score",
    "penalized_brier_score",
    "penalized_log_loss",
    "ranked_probability_score",
    "power_score(0.5)",
    "generalized_surprisal(-0.5)",
)

every_score = pytest.mark.parametrize("score", SCORES)
probability = st.floats(0, 1)


def two(rng, n, classes=3, temperature=2.2):
    """Outcomes, a calibrated forecaster, and one who is too sure."""
    y, p = softmax_forecasts(rng, n, classes)
    q = p**temperature
    return y, {"calibrated": p, "sure": q / q.sum(axis=1, keepdims=True)}


def by_outcome(score, p):
    """What a forecaster scores for each class of each row, by the public function."""
    columns = [row_scores(np.full(len(p), c), p, score) for c in range(p.shape[1])]
    return np.stack(columns, axis=1)


def truth_between(p, q, score):
    """Probability of the second class at which neither of two binary forecasts is expected to be better."""
    d = by_outcome(score, np.array([[1 - p, p]])) - by_outcome(score, np.array([[1 - q, q]]))
    low, high = d[0]
    return 0.5 if low == high else float(np.clip(low / (low - high), 0, 1))


def best_stop(evidence_at, chance):
    """Largest mean e-value that any rule for stopping reaches, by going back from the last row.

    evidence_at[t] holds the e-value after t rows for each of the 2^t courses; chance[t] the probability, after each of
    them, that the next row's second class happens.
    """
    value = evidence_at[-1]
    for t in range(len(chance) - 1, -1, -1):
        to_come = value.reshape(-1, 2)
        value = np.maximum(evidence_at[t], to_come[:, 0] * (1 - chance[t]) + to_come[:, 1] * chance[t])
    return float(value[0])


def courses(first, second, score):
    """e-values of both forecasters after each row, for every course of binary events."""
    n = len(first)
    results = [compare_sequentially(y, {"a": first, "b": second}, metric=score) for y in product([0, 1], repeat=n)]
    found = []
    for name in ("e_first", "e_second"):
        e = np.array([getattr(result, name) for result in results])
        found.append([np.ones(1), *(e[:: 2 ** (n - t), t - 1] for t in range(1, n + 1))])
    return found


class TestPromise:
    """No rule for stopping makes the e-value of one who is not better larger than 1 in the mean."""

    @pytest.mark.slow
    @given(
        st.lists(st.tuples(probability, probability), min_size=4, max_size=4),
        st.sampled_from(["brier_score", "spherical_score", "penalized_brier_score", "power_score(2)"]),
    )
    def test_where_neither_is_better_in_any_row(self, pairs, score):
        first, second = zip(*pairs, strict=True)
        chance = [np.full(2**t, truth_between(p, q, score)) for t, (p, q) in enumerate(pairs)]
        for e in courses(first, second, score):
            assert best_stop(e, chance) <= 1 + 1e-9

    @pytest.mark.slow
    @settings(max_examples=15)
    @given(st.lists(st.tuples(probability, probability), min_size=2, max_size=2))
    def test_where_the_second_only_ever_catches_up(self, pairs):
        """On average over the rows so far the second is never better, though in half of the rows it is."""
        first = [x for p, q in pairs for x in (p, q)]
        second = [x for p, q in pairs for x in (q, p)]
        chance = [np.full(2**t, pairs[t // 2][0]) for t in range(4)]  # as the first says, then as the second says
        assert best_stop(courses(first, second, "brier_score")[1], chance) <= 1 + 1e-9

    @pytest.mark.slow
    @given(st.lists(st.tuples(probability, probability, probability), min_size=6, max_size=6), st.integers(0, 2**6 - 1))
    def test_limits_whatever_the_truth_and_whatever_it_depends_on(self, rows, swaps):
        """Wealth at the true sum of means, where the order of the two and the truth turn on what happened before."""
        evidence_at = [np.ones(1)] + [np.empty(2**t) for t in range(1, 7)]
        chance = [np.empty(2**t) for t in range(6)]
        for course in product([0, 1], repeat=6):
            scored, means = [], []
            for t, (p, q, r) in enumerate(rows):
                swapped = (swaps >> t & 1) and sum(course[:t]) % 2
                p, q, r = (q, p, r * r) if swapped else (p, q, r)  # noqa: PLW2901
                d = np.array([p**2 - q**2, (1 - p) ** 2 - (1 - q) ** 2]) * 2
                scored.append((d[course[t]], d.min(), d.max()))
                means.append(d @ [1 - r, r])
                chance[t][int("0" + "".join(map(str, course[:t])), 2)] = r
            [(_, wealth)] = bets(*map(np.array, zip(*scored, strict=True)))
            e = np.exp(log_wealth(wealth, np.cumsum(means)))
            for t in range(1, 7):
                evidence_at[t][int("".join(map(str, course[:t])), 2)] = e[t - 1]
        assert best_stop(evidence_at, chance) <= 1 + 1e-9

    @pytest.mark.slow
    @pytest.mark.parametrize("score", ["brier_score", "log_loss"])
    def test_false_alarms_of_one_who_watches(self, score):
        """At level .2, neither better in any row, 100 runs of 600 rows."""
        rng = np.random.default_rng(1)
        alarms = 0
        for _ in range(100):
            p, q = rng.beta(0.5, 2, (2, 600))
            d = by_outcome(score, np.stack([1 - p, p], axis=1)) - by_outcome(score, np.stack([1 - q, q], axis=1))
            y = rng.uniform(size=600) < d[:, 0] / (d[:, 0] - d[:, 1])
            alarms += (
                compare_sequentially(y, {"a": p, "b": q}, metric=score, confidence=0.8, floor=0).better is not None
            )
        assert 0 < alarms / 100 < 0.2


class TestReference:
    @pytest.mark.slow
    def test_limits_and_e_values_in_fifty_digits(self, rng):
        """The formula of the docstring as it stands, and its root, by mpmath."""
        y, (p, q) = [1, 0, 1, 1, 0, 1, 1], rng.uniform(size=(2, 7))
        result = compare_sequentially(y, {"a": p, "b": q}, confidence=0.9)
        one, other = (2 * np.stack([x**2, (1 - x) ** 2], axis=1) for x in (p, q))
        d = [[mp.mpf(float(x)) for x in row] for row in one - other]
        weights = [1 / (1 + mp.mpf(abs(k + 2))) for k in range(-14, 9)]
        for t in range(1, 8):

            def wealth(total, sign, t=t):
                """Bets for sign times the mean difference being above total, if the means add up to it."""
                sums = []
                for k, weight in zip(range(-14, 9), weights, strict=True):
                    rate, product_, earlier = mp.mpf(2) ** k, weight / mp.fsum(weights), mp.mpf(0)
                    for i in range(t):
                        values = [sign * x for x in d[i]]
                        centre = max(min(earlier / (i + 1), max(values), min(values) + 1 / (2 * rate)), min(values))
                        product_ *= (1 + rate * (values[y[i]] - centre)) * mp.exp(rate * centre)
                        earlier += values[y[i]]
                    sums.append(product_ * mp.exp(-rate * total))
                return mp.fsum(sums)

            low = mp.findroot(lambda s: mp.log(wealth(s, 1)) - mp.log(20), mp.mpf(float(result.low[t - 1] * t)))
            high = -mp.findroot(lambda s: mp.log(wealth(s, -1)) - mp.log(20), mp.mpf(float(-result.high[t - 1] * t)))
            assert result.low[t - 1] == pytest.approx(float(low / t), rel=1e-12)
            assert result.high[t - 1] == pytest.approx(float(high / t), rel=1e-12)
            assert result.e_second[t - 1] == pytest.approx(float(wealth(0, 1)), rel=1e-13)  # smaller is better
            assert result.e_first[t - 1] == pytest.approx(float(wealth(0, -1)), rel=1e-13)

    def test_difference_is_that_of_the_scores(self, rng):
        y, forecasts = two(rng, 300)
        result = compare_sequentially(y, forecasts, metric="log_loss", floor=0)
        d = row_scores(y, forecasts["calibrated"]) - row_scores(y, forecasts["sure"])
        np.testing.assert_allclose(result.difference, np.cumsum(d) / np.arange(1, 301), rtol=1e-12)

    def test_rates_and_weights(self):
        assert np.exp(LOG_WEIGHTS).sum() == pytest.approx(1, rel=1e-14)
        assert RATES[LOG_WEIGHTS.argmax()] == 0.25

    @pytest.mark.parametrize("size", [1e-6, 1.0, 1e4])
    def test_roots_are_roots_for_differences_of_any_size(self, rng, size):
        value = size * rng.uniform(-1, 1.2, 30_000)  # more than a block
        d = value, np.full(30_000, -size), np.full(30_000, 1.2 * size)
        logs, low = evidence(*d, math.log(40))
        total = low * np.arange(1, 30_001)
        at_limit = [log_wealth(wealth, total[here]) for here, wealth in bets(*d)]
        np.testing.assert_allclose(np.concatenate(at_limit), math.log(40), rtol=1e-9)
        assert ((low > 0) == (logs > math.log(40))).all()


class TestLaws:
    @every_score
    def test_what_is_known_after_some_rows_does_not_change_later(self, rng, score):
        y, forecasts = two(rng, 400)
        whole = compare_sequentially(y, forecasts, metric=score)
        for n in (1, 2, 57, 399):
            part = compare_sequentially(y[:n], {k: p[:n] for k, p in forecasts.items()}, metric=score, labels=range(3))
            for column in COLUMNS:
                assert (getattr(part, column) == getattr(whole, column)[:n]).all()

    @every_score
    def test_swapping_the_forecasters_mirrors_everything(self, rng, score):
        y, forecasts = two(rng, 1500)
        a = compare_sequentially(y, forecasts, metric=score)
        b = compare_sequentially(y, dict(reversed(forecasts.items())), metric=score)
        assert (a.difference == -b.difference).all()
        assert (a.low == -b.high).all()
        assert (a.high == -b.low).all()
        assert (a.e_first == b.e_second).all()
        assert (a.e_second == b.e_first).all()
        assert (a.better, a.decided_after) == (b.better, b.decided_after) == ("calibrated", a.decided_after)

    @every_score
    @pytest.mark.parametrize("level", [0.5, 0.05, 1e-6])
    def test_zero_is_outside_the_limits_where_an_e_value_passes_two_over_level(self, rng, score, level):
        y, forecasts = two(rng, 1500)
        result = compare_sequentially(y, forecasts, metric=score, confidence=1 - level)
        first, second = result.e_first > 2 / level, result.e_second > 2 / level
        above, below = (first, second) if score_named(score).larger_is_better else (second, first)
        assert (above == (result.low > 0)).all()
        assert (below == (result.high < 0)).all()
        decided = np.flatnonzero(first | second)
        assert result.decided_after == (decided[0] + 1 if decided.size else None)

    @every_score
    def test_mean_is_within_limits_that_a_smaller_level_widens(self, rng, score):
        y, forecasts = two(rng, 500)
        wide, narrow = (compare_sequentially(y, forecasts, metric=score, confidence=1 - level) for level in (0.01, 0.2))
        assert (wide.low < narrow.low).all()
        assert (narrow.low < narrow.difference).all()
        assert (narrow.difference < narrow.high).all()
        assert (narrow.high < wide.high).all()

    @every_score
    def test_the_order_of_classes_that_have_none_does_not_matter(self, rng, score):
        if score == "ranked_probability_score":
            return
        y, forecasts = two(rng, 300, classes=4)
        order = [2, 0, 3, 1]
        a = compare_sequentially(y, forecasts, metric=score)
        b = compare_sequentially(np.argsort(order)[y], {k: p[:, order] for k, p in forecasts.items()}, metric=score)
        for column in COLUMNS:
            np.testing.assert_allclose(getattr(a, column), getattr(b, column), rtol=1e-9, atol=1e-12)

    def test_identical_forecasters_are_never_decided(self, rng):
        y, p = softmax_forecasts(rng, 1000, 3)
        result = compare_sequentially(y, {"a": p, "b": p.copy()}, metric="log_loss")
        assert result.decided_after is result.better is result.better_now is None
        assert (result.difference == 0).all()
        np.testing.assert_allclose([result.e_first, result.e_second], 1, rtol=1e-12)
        assert (result.low < 0).all()
        assert (result.high > 0).all()

    def test_rows_in_which_both_say_the_same_say_nothing(self, rng):
        y, forecasts = two(rng, 200)
        same = rng.dirichlet([1, 1, 1], 200)
        both = {name: np.concatenate([p, same]) for name, p in forecasts.items()}
        result = compare_sequentially(np.concatenate([y, y]), both)
        np.testing.assert_allclose(result.e_first[200:], result.e_first[199], rtol=1e-12)
        np.testing.assert_allclose(result.e_second[200:], result.e_second[199], rtol=1e-12)

    @pytest.mark.slow
    def test_limits_close_on_the_truth(self):
        """Where it happens with .6, saying .7 is no better than .5, and saying .6 is better by .02 in Brier score."""
        y = np.random.default_rng(3).uniform(size=60_000) < 0.6
        for said, expected in ((0.7, 0.0), (0.6, -0.02)):
            result = compare_sequentially(y, {"a": np.full(60_000, said), "b": np.full(60_000, 0.5)})
            low, high = result.interval
            assert low < expected < high
            spread = 4 * (said - 0.5) * math.sqrt(0.24)  # of a row's difference, 2 (2 (q - p) y + p^2 - q^2)
            assert 2 < (high - low) / (2 * spread / math.sqrt(60_000)) < 4.5  # 1.96 for one look

    def test_one_extreme_row_does_not_end_it(self):
        """Where all but the lowest rates could lose everything: they are hedged in this row, and bet on in the next."""
        rng = np.random.default_rng(4)
        p, q = np.full(1000, 0.8), np.full(1000, 0.5)
        y = rng.uniform(size=1000) < 0.8
        p[500], q[500], y[500] = 1e-300, 1 - 1e-12, True  # a difference of 690 to come back from
        result = compare_sequentially(y, {"a": p, "b": q}, metric="log_loss", floor=0)
        assert result.better == "a"
        assert result.decided_after < 500
        assert result.better_now is None
        assert result.high[-1] - result.low[-1] < 1.5 * 690 / 1000

    @pytest.mark.slow
    def test_rows_needed_are_not_many_more_than_those_of_a_fixed_test(self):
        """Log odds doubled: the paired test needs 472 rows for a power of 80 % (benchmarks/sequential.py)."""
        taken = []
        for run in range(60):
            rng = np.random.default_rng(run)
            y, p = softmax_forecasts(rng, 2500, 2, spread=1.5 / math.sqrt(2))
            q = 1 / (1 + (p[:, 0] / p[:, 1]) ** 2)
            taken.append(compare_sequentially(y, {"a": p[:, 1], "b": q}).decided_after or math.inf)
        assert np.median(taken) < 1.7 * 472
        assert np.quantile(taken, 0.8, method="higher") < 2.6 * 472


class TestScores:
    @every_score
    @pytest.mark.parametrize("classes", [2, 5])
    def test_by_outcome_is_what_each_outcome_would_score(self, rng, score, classes):
        p = rng.multinomial(4, np.full(classes, 1 / classes), 200) / 4  # with ties and zeros
        [block] = Forecasts(rng.integers(0, classes, 200), p, labels=range(classes)).blocks()
        np.testing.assert_array_equal(scores_by_outcome(score_named(score), block), by_outcome(score, p))

    def test_only_surprisals_are_floored(self, rng):
        [block] = Forecasts([0, 1], [[0.0, 1.0], [0.3, 0.7]]).blocks()
        assert scores_by_outcome(score_named("log_loss"), block, 0.1)[0, 0] == -math.log(0.1)
        for score in ("brier_score", "spherical_score", "ranked_probability_score", "power_score(0.5)"):
            rule = score_named(score)
            assert (scores_by_outcome(rule, block, 0.1) == scores_by_outcome(rule, block)).all()

    def test_floor_is_kept_where_it_acts(self, rng):
        y, forecasts = two(rng, 50)
        assert compare_sequentially(y, forecasts, metric="log_loss").floor == 0.01 / 3
        assert compare_sequentially(y, forecasts).floor is None

    def test_larger_is_better(self, rng):
        y, forecasts = two(rng, 2000)
        spherical = compare_sequentially(y, forecasts, metric="spherical_score")
        brier = compare_sequentially(y, forecasts)
        assert spherical.better == brier.better == spherical.better_now == brier.better_now == "calibrated"
        assert spherical.difference[-1] > 0 > brier.difference[-1]


class TestInput:
    def test_other_than_two(self):
        p, q = [0.5], [0.4]
        for forecasts in ({"a": p}, {"a": p, "b": q, "c": q}, [p, q], {}, {1: p, "1": q}):
            with pytest.raises(InputError, match="expected two forecasters"):
                compare_sequentially([1], forecasts)
        with pytest.raises(InputError, match="each at a confidence of 1 minus 0.05 / number of pairs"):
            compare_sequentially([1], {"a": [0.5], "b": [0.4], "c": [0.3]})

    def test_unpaired_lengths(self):
        with pytest.raises(InputError, match="y_true has 2 rows, b 3"):
            compare_sequentially([1, 0], {"a": [0.5, 0.4], "b": [0.5, 0.4, 0.3]})

    def test_rows_that_are_no_forecasts(self):
        with pytest.raises(InputError, match=r"b: NaN in 1 row \(1; .*invalid=.drop."):
            compare_sequentially([1, 0], {"a": [0.5, 0.4], "b": [0.5, np.nan]})

    def test_other_classes(self):
        with pytest.raises(InputError, match="b: its classes are 0, 1, 2, those of a 0, 1"):
            compare_sequentially([1], {"a": [[0.5, 0.5]], "b": [[0.5, 0.3, 0.2]]})

    def test_classes_in_another_order(self, rng):
        y, forecasts = two(rng, 200)
        names = np.array(["dry", "rain", "snow"])
        a, b = (pl.DataFrame(p, schema=names.tolist()) for p in forecasts.values())
        expected = compare_sequentially(names[y], {"a": a, "b": b})
        result = compare_sequentially(names[y], {"a": a, "b": b.select("snow", "dry", "rain")})
        for column in COLUMNS:
            np.testing.assert_allclose(getattr(result, column), getattr(expected, column), rtol=1e-12)
        with pytest.raises(InputError, match="another order .* on which ranked_probability_score depends"):
            compare_sequentially(names[y], {"a": a, "b": b[:, ::-1]}, metric="ranked_probability_score")

    def test_what_is_left_out_of_one_is_left_out_of_both_and_reported(self, rng):
        y, forecasts = two(rng, 300)
        holes = {name: p.copy() for name, p in forecasts.items()}
        holes["calibrated"][[0, 7]], holes["sure"][[7, 250]] = np.nan, 2.0
        outcomes = np.where(np.arange(300) % 9 == 4, 9, y)
        with pytest.raises(InputError, match="calibrated: NaN in 2 rows"):
            compare_sequentially(outcomes, holes, ignore_label=9)
        result = compare_sequentially(outcomes, holes, ignore_label=9, invalid="drop")
        kept = np.setdiff1d(np.flatnonzero(outcomes != 9), [0, 7, 250])
        expected = compare_sequentially(y[kept], {name: p[kept] for name, p in forecasts.items()})
        for column in COLUMNS:
            assert (getattr(result, column) == getattr(expected, column)).all()
        assert result.n_rows == kept.size
        assert {name: (notes.ignored, notes.dropped) for name, notes in result.notes.items()} == {
            "calibrated": (33, {"NaN": 2, "no valid counterpart": 1}),
            "sure": (33, {"above 1": 2, "no valid counterpart": 1}),
        }
        assert "sure: 1 row dropped: no valid counterpart" in str(result)
        with pytest.raises(InputError, match="of each at least one forecast is missing or invalid"):
            compare_sequentially([0, 1], {"a": [math.nan, 0.5], "b": [0.5, math.nan]}, invalid="drop")

    def test_no_rows(self):
        with pytest.raises(InputError, match="no rows"):
            compare_sequentially([], {"a": [], "b": []})

    @pytest.mark.parametrize("score", ["log_loss", "penalized_log_loss", "generalized_surprisal(-0.5)"])
    def test_infinite_scores_need_a_floor(self, score):
        forecasts = {"a": [0.5, 0.4, 0.3], "b": [0.5, 1.0, 0.0]}
        with pytest.raises(InputError, match=r"infinite .* in 2 rows \(1, 2; counted from 0\); take a floor above 0"):
            compare_sequentially([1, 1, 0], forecasts, metric=score, floor=0)  # although neither zero happened
        assert compare_sequentially([1, 1, 0], forecasts, metric=score, floor=0.01).n_rows == 3
        forecasts["b"] = [0.5, 0.9, 0.1]
        assert compare_sequentially([1, 1, 0], forecasts, metric=score, floor=0).n_rows == 3

    def test_infinite_scores_that_no_floor_helps(self):
        with pytest.raises(InputError, match="take a score without infinity"):
            compare_sequentially([1, 0], {"a": [0.5, 0.4], "b": [0.5, 0.0]}, metric="power_score(-0.5)")

    @pytest.mark.parametrize("confidence", [1, 0, 1.1, math.nan, "95%", True, None])
    def test_confidence(self, confidence):
        with pytest.raises(InputError, match="confidence: expected a number between 0 and 1"):
            compare_sequentially([1], {"a": [0.5], "b": [0.4]}, confidence=confidence)

    @pytest.mark.parametrize("floor", [-1, 2, None])
    def test_floor(self, floor):
        with pytest.raises(InputError, match="floor"):
            compare_sequentially([1], {"a": [0.5], "b": [0.4]}, floor=floor)

    def test_score(self):
        with pytest.raises(InputError, match="did you mean 'brier_score'"):
            compare_sequentially([1], {"a": [0.5], "b": [0.4]}, metric="brier")

    def test_forms_of_input(self, rng):
        y, forecasts = two(rng, 40)
        expected = compare_sequentially(y, forecasts)
        logs = {name: np.log(p) for name, p in forecasts.items()}
        for form, given_ in (
            ({"scale": "percent"}, {name: 100 * p for name, p in forecasts.items()}),
            ({"scale": "logits"}, logs),
            ({"scale": "log-probs"}, logs),
            ({"invalid": "rescale"}, {name: 0.7 * p for name, p in forecasts.items()}),
        ):
            result = compare_sequentially(y, given_, **form)
            np.testing.assert_allclose(result.low, expected.low, rtol=1e-9)
        names = np.array(["lost", "drawn", "won"])
        result = compare_sequentially(names[y], forecasts, labels=names)
        assert (result.low == expected.low).all()
        assert result.labels == ("lost", "drawn", "won")


class TestResult:
    @pytest.fixture
    def result(self, rng):
        return compare_sequentially(*two(rng, 1200))

    def test_json_and_frame(self, result):
        plain = json.loads(result.to_json())
        assert plain["better"] == "calibrated"
        assert plain["decided_after"] == result.decided_after
        frame = result.frame()
        assert frame.columns == ["rows", *COLUMNS]
        assert frame["rows"].to_list() == list(range(1, 1201))
        for column in COLUMNS:
            assert frame[column].to_list() == plain[column] == getattr(result, column).tolist()

    def test_nothing_can_be_written_to(self, result):
        with pytest.raises(ValueError, match="read-only"):
            result.low[0] = 0

    def test_text(self, result):
        text = " ".join(str(result).split())
        assert f"calibrated has the smaller Brier score (decided after {result.decided_after:,} rows)" in text
        words = text
        assert "95% confidence sequence" in words
        assert "limits" not in words
        assert "ever deciding for the worse forecaster is at most 0.05, however often you look" in words
        assert max(map(len, str(result).splitlines())) <= 80

    def test_the_one_that_is_ahead_comes_first_in_the_text(self, rng):
        for score in ("brier_score", "spherical_score"):
            y, forecasts = two(rng, 1200)
            swapped = compare_sequentially(y, dict(reversed(forecasts.items())), metric=score)
            given = compare_sequentially(y, forecasts, metric=score)
            assert str(given) == str(swapped)
            sign = "" if given.larger_is_better else "−"
            assert f", calibrated − sure: {sign}{abs(given.difference[-1]):.3f} (" in " ".join(str(given).split())

    def test_text_where_later_rows_say_otherwise(self):
        """Decided for one, then the other is better for long enough to turn the limits."""
        y = np.ones(3000, dtype=int)
        a, b = np.full(3000, 0.8), np.full(3000, 0.6)
        a[300:], b[300:] = 0.5, 0.9
        later = (
            (450, "over all rows there is no evidence of a difference"),
            (3000, "over all rows b has the smaller Brier score"),
        )
        for n, words in ((300, "a has the smaller Brier score (decided after"), *later):
            result = compare_sequentially(y[:n], {"a": a[:n], "b": b[:n]}, pos_label=1)
            assert result.better == "a"
            assert words in " ".join(str(result).split())
        assert result.better_now == "b"

    def test_text_of_the_undecided(self):
        result = compare_sequentially([1], {"a" * 60: [0.5], "b\n\x1b": [0.4]}, metric="log_loss")
        text = str(result)
        assert text.startswith("Not decided: the confidence sequence contained 0 after every row.\n")
        assert "log loss at the floor 0.005" in text
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80

    def test_overwhelming_evidence_is_infinite_not_an_error(self):
        n = 4000
        result = compare_sequentially(np.ones(n), {"a": np.full(n, 0.99), "b": np.full(n, 0.01)}, pos_label=1)
        assert result.e_first[-1] == math.inf
        assert re.search(r"\na +∞\nb +0\.\d+\n", str(result))
        assert json.loads(result.to_json())["e_first"][-1] == "Infinity"

    def test_picture(self, result):
        ax = Figure().subplots()
        assert result.plot(ax) is ax
        zero, mean, mark = ax.lines
        assert mark.get_xydata().tolist() == [[result.decided_after, result.difference[result.decided_after - 1]]]
        low, high = ax.get_ylim()
        rows = mean.get_xdata().astype(int)
        np.testing.assert_array_equal(mean.get_ydata(), np.clip(result.difference[rows - 1], low, high))
        late = result.decided_after // 10
        assert low < result.low[late:].min()
        assert high > max(0, result.high[late:].max())
        title = ax.get_title("left").replace("\n", " ")
        assert title == f"calibrated has the smaller Brier score (decided after {result.decided_after:,} rows)"

    def test_picture_and_text_take_the_same_side(self, rng):
        y, p = two(rng, 1200)
        for forecasts in (p, dict(reversed(p.items()))):
            result = compare_sequentially(y, forecasts)
            ax = result.plot(Figure().subplots())
            assert ax.get_ylabel() == "Difference in Brier score, calibrated − sure"
            assert ax.lines[1].get_ydata()[-1] < 0
            assert ax.lines[2].get_ydata()[0] < 0
            assert ", calibrated − sure: −" in " ".join(str(result).split())

    @pytest.mark.slow
    def test_picture_of_many_rows_and_of_one(self, rng):
        p = rng.uniform(size=50_000)
        result = compare_sequentially(rng.integers(0, 2, 50_000), {"a": p, "b": rng.permutation(p)})
        x = result.plot(Figure().subplots()).lines[1].get_xdata()
        assert (x[0], x[-1]) == (1, 50_000)
        assert x.size <= 2000
        single = compare_sequentially([1], {"a": [0.5], "b": [0.4]}).plot(Figure().subplots())
        assert len(single.lines) == 2


def test_the_page_and_the_card_have_the_text_of_the_decision(tmp_path, rng):
    y, forecasts = two(rng, 1200)
    result = compare_sequentially(y, {"<b>": forecasts["calibrated"], "sure": forecasts["sure"]})
    result.report(tmp_path / "s.html", name="rain.csv", command="unperplexed compare rain.csv --anytime")
    page = (tmp_path / "s.html").read_text("utf-8")
    decided = f"&lt;b&gt; has the smaller Brier score (decided after {result.decided_after:,} rows)"
    assert f"<title>rain.csv: {decided}</title>" in page
    assert f"<h1>{decided}</h1>" in page
    assert f'<th scope="row">{result.decided_after:,}</th>' in page
    assert "unperplexed compare rain.csv --anytime" in page
    [line] = re.findall(r'<path class="cv[^"]*" d="M([^"]*)"', page)
    ends = [float(pair.split()[0]) for pair in line.split("L")]
    assert (ends[0] < 2, ends[-1]) == (True, 1000)
    assert decided in result._repr_html_()
