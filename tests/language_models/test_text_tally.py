"""Figures of texts: against formulas written out, whatever the order and the split, and coverage of the intervals."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unperplexed import InputError
from unperplexed.describe.texts import position_chart, position_text, profile_table
from unperplexed.language_models import Question, Text, TextTally, assess_texts, text_tally
from unperplexed.language_models.clustered_ratios import RatioSums
from unperplexed.language_models.text_comparison import PositionLoss
from unperplexed.statistics import generalized_mean
from unperplexed.statistics.intervals import Dependence, Interval, uncertain_mean


def some_texts(rng, n=30, longest=40):
    found = []
    for at in range(n):
        x = np.log(rng.beta(2, 3, size=rng.integers(1, longest)))
        found.append(Text.of(f"d{at}", "x y" * x.size, x, pieces=[f"t{k}" for k in range(x.size)]))
    return found


def test_rates_are_their_formulas(rng):
    texts = some_texts(rng)
    found = assess_texts(texts)
    total = sum(each.log_probability for each in texts)
    counts = {
        "token": sum(each.log_probs.size for each in texts),
        "byte": sum(each.n_bytes for each in texts),
        "word": sum(each.words for each in texts),
        "document": len(texts),
    }
    assert found.rates.keys() == counts.keys()
    for unit, n in counts.items():
        rate = found.rates[unit]
        assert rate.total == n
        assert rate.log_probability == pytest.approx(total / n, rel=1e-13)
        assert rate.geometric_accuracy == pytest.approx(math.exp(total / n), rel=1e-12)
        assert rate.perplexity == pytest.approx(math.exp(-total / n), rel=1e-12)
        assert rate.bits == pytest.approx(-total / n / math.log(2), rel=1e-13)
        for value, (low, high) in (
            (rate.geometric_accuracy, rate.geometric_accuracy_interval),
            (rate.perplexity, rate.perplexity_interval),
            (rate.bits, rate.bits_interval),
        ):
            assert low < value < high


def test_standard_errors_are_those_of_clustered_means(rng):
    """The mean of all tokens with documents as clusters."""
    texts = some_texts(rng)
    x = np.concatenate([each.log_probs for each in texts])
    document = np.repeat(np.arange(len(texts)), [each.log_probs.size for each in texts])
    mean = uncertain_mean(x, np.ones(x.size), Dependence(document))
    own = assess_texts(texts).rates["token"]
    assert own.log_probability == pytest.approx(mean.mean, rel=1e-12)
    half = (own.interval.high - own.interval.low) / 2
    assert half == pytest.approx(mean.half_width(0.95), rel=1e-9)


def test_profiles_are_generalized_means(rng):
    texts = some_texts(rng)
    found = assess_texts(texts)
    p = np.exp(np.concatenate([each.log_probs for each in texts]))
    rates = np.array([math.exp(each.log_probability / each.n_bytes) for each in texts])
    for profile, values in ((found.token_profile, p), (found.document_profile, rates)):
        assert [point.mean for point in profile] == pytest.approx(
            [generalized_mean(values, point.order) for point in profile], rel=1e-12
        )
        assert all(point.interval.low <= point.mean <= point.interval.high for point in profile)


def test_rates_per_byte_and_per_token_are_not_mixed(rng):
    texts = some_texts(rng, 10)
    bare = [Text.of(f"bare {k}", None, each.log_probs) for k, each in enumerate(some_texts(rng, 25))]
    alone, mixed = assess_texts(texts), assess_texts([*bare, *texts])
    assert mixed.rates["byte"] == alone.rates["byte"]
    assert mixed.document_profile == alone.document_profile
    assert mixed.documents == alone.documents
    assert mixed.remarks == ("25 of 35 documents have no bytes: figures per byte are of the other 10",)
    assert alone.remarks == ()
    assert assess_texts([*texts, bare[0]]).remarks[0].startswith("1 of 11 documents has no bytes")
    assert TextTally.count(bare) + TextTally.count(texts) == TextTally.count([*texts, *bare])
    by_token = assess_texts(bare)
    rates = np.array([math.exp(each.log_probability / each.tokens) for each in bare])
    assert by_token.remarks == ()
    assert [point.mean for point in by_token.document_profile] == pytest.approx(
        [generalized_mean(rates, point.order) for point in by_token.document_profile], rel=1e-12
    )
    assert len(by_token.documents) == 20


def test_the_loss_by_position_adds_up(rng):
    texts = some_texts(rng)
    found = assess_texts(texts)
    assert sum(each.tokens for each in found.positions) == found.rates["token"].total
    assert sum(each.share for each in found.positions) == pytest.approx(1)
    third = next(each for each in found.positions if each.first == 3)
    own = np.concatenate([each.log_probs[2:4] for each in texts])
    assert (third.last, third.tokens) == (4, own.size)
    assert third.bits_per_token == pytest.approx(-own.mean() / math.log(2))


def test_the_chart_of_the_loss_by_position_has_round_ticks_that_hold_it(rng):
    found = assess_texts(some_texts(rng))
    y = position_chart(found).y
    steps = np.diff([at for at, _ in y.ticks])
    assert steps == pytest.approx(steps[0])
    assert steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9) in (1, 2, 5)
    assert [float(text) for _, text in y.ticks] == pytest.approx([at for at, _ in y.ticks])
    ends = [each.interval.high for each in found.positions if math.isfinite(each.interval.high)]
    assert y.low == 0
    assert y.high >= max(each.bits_per_token for each in found.positions)
    assert y.high >= max(ends)


def test_the_most_surprising_tokens_and_documents_are_found(rng):
    texts = some_texts(rng, 200)
    found = TextTally.count(texts)
    tokens = sorted(((-x / math.log(2), t.name, k) for t in texts for k, x in enumerate(t.log_probs)), reverse=True)
    assert [(each.document, each.position) for each in found.tokens] == [each[1:] for each in tokens[:20]]
    first = found.tokens[0]
    assert first.token == f"t{first.position}"
    assert first.context.endswith(f"t{first.position - 1}" if first.position else "")
    worst = sorted(texts, key=lambda each: (each.log_probability / each.n_bytes, each.name))[:5]
    assert [each.name for each in found.documents[:5]] == [each.name for each in worst]


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_tallies_add_up_in_any_order_and_split(seed, cut):
    rng = np.random.default_rng(seed)
    texts = some_texts(rng, 31, 5)
    whole = TextTally.count(texts)
    parts = [texts[cut:], texts[:cut]]
    assert TextTally.count(parts[0]) + TextTally.count(parts[1]) == whole
    assert TextTally.count([texts[at] for at in rng.permutation(31)]) == whole
    assert whole + TextTally() == whole == TextTally() + whole


def test_impossible_tokens_make_the_figures_infinite_and_no_error():
    found = assess_texts([Text.of("a", "ab", [-1.0, -math.inf]), Text.of("b", "cd", [-1.0])])
    assert found.perplexity == math.inf
    assert found.rates["token"].geometric_accuracy == 0
    assert math.isnan(found.rates["token"].interval.low)
    assert {point.mean for point in found.token_profile if point.order <= 0} == {0.0}
    assert next(point.mean for point in found.token_profile if point.order == 1) == pytest.approx(2 / 3 * math.exp(-1))
    assert "∞ bits per byte" in str(found)


def test_one_document_has_no_interval():
    found = assess_texts([Text.of("a", "ab", [-1.0, -2.0])])
    assert math.isnan(found.rates["byte"].interval.low)
    assert "one document has no interval" in str(found)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([-1.0, 0.5], r"document 'a': token 1 \(counted from 0\) has the log-probability 0.5"),
        ([math.nan], "token 0"),
        ([], "expected a list of log-probabilities"),
        ([[-1.0]], "expected a list of log-probabilities"),
        (["x"], "log-probabilities are numbers"),
    ],
)
def test_what_is_no_log_probability_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        Text.of("a", "text", values)


def test_nothing_to_assess_is_refused():
    with pytest.raises(InputError, match="no text with a log-probability"):
        assess_texts([])
    with pytest.raises(InputError, match="confidence"):
        assess_texts([Text.of("a", "ab", [-1.0])], confidence=95)


def test_equal_documents_have_no_spread():
    """Terms of the variance cancel: sums are exact, so that only the rounding of squares is left of them."""
    sums = RatioSums.of(np.full(1000, -0.1), np.full(1000, 0.3))
    assert sums.estimate().standard_error < 1e-9


@pytest.mark.slow
def test_intervals_cover_the_bits_per_byte(rng):
    """Documents of uneven length, tokens that share the difficulty of their document."""
    n, covered, runs = 60, 0, 400
    for _ in range(runs):
        sizes = np.exp(rng.normal(6, 0.8, n)).round() + 5
        rate = 0.6 + 0.1 * rng.normal(size=n)
        sums = RatioSums.of(sizes * rate, sizes)
        low, high = sums.estimate().interval(0.95)
        covered += low <= 0.6 <= high
    assert 0.92 * runs <= covered <= 0.98 * runs


def test_texts_known_by_their_totals_alone():
    """Log-probabilities of whole texts have figures per document; with bytes, a profile over documents as well."""
    texts = [Text(f"d{k}", -1.0 - k, greedy=k < 3) for k in range(4)]
    found = assess_texts([*texts, Question("q", ("a",), np.zeros(1), (0,))])  # questions are no texts
    assert (found.n_documents, [*found.rates], found.greedy.value) == (4, ["document"], 0.75)
    assert found.documents == ()  # which need sizes to be compared
    printed = " ".join(str(found).split())
    assert printed.startswith("Perplexity 12.182 per document (95% CI ")  # exp(2.5)
    assert "All tokens were the most probable ones in 75.0% of the texts" in printed
    assert "Generalized mean" not in printed
    sized = assess_texts([replace(each, n_bytes=7) for each in texts])
    assert [each.heading for each in profile_table(sized).columns] == ["order", "over documents"]
    assert json.loads(sized.to_json())["documents"][0] == {"bits": sized.documents[0].bits, "name": "d3"} | {
        "tokens": None,
        "n_bytes": 7,
    }
    assert np.isnan(RatioSums.of(np.ones(2), np.zeros(2)).estimate()).all()  # bytes of empty texts


def test_counting_in_parts_changes_nothing(rng, monkeypatch):
    texts = some_texts(rng, 11, 5)
    whole = TextTally.count(texts)
    monkeypatch.setattr(text_tally, "_BATCH", 4)
    assert TextTally.count(texts) == whole


def test_late_positions_are_named_together():
    late = PositionLoss((1 << 22) + 1, None, 1, 1, 1.0, Interval(math.nan, math.nan), 1.0)
    assert position_text(late) == "4,194,305 and later"
    assert position_text(replace(late, first=5, last=8)) == "5 to 8"


def test_a_profile_rises_with_its_order_from_as_far_below_0_as_above(rng):
    profile = assess_texts(some_texts(rng)).token_profile
    orders, means = zip(*((point.order, point.mean) for point in profile), strict=True)
    assert orders[0] == -orders[-1] == -2
    assert (np.diff(orders) > 0).all()
    assert (np.diff(means) > 0).all()
