"""Loss by token frequency: against counts of whole texts, exact in any split, and coverage of the intervals."""

import json
import math
from collections import Counter

import numpy as np
import pytest

from unperplexed.cli import main
from unperplexed.language_models import Text, TextTally, assess_texts
from unperplexed.language_models import text_tally as token_frequency

VOCABULARY = [f" w{k}" for k in range(400)]


def zipf_texts(rng, n=60, spread=0.3):
    """Texts whose rare tokens lose more, and expected losses of their tokens: those of a document share a factor."""
    share = 1 / np.arange(1, len(VOCABULARY) + 1) ** 1.3
    texts, expected = [], []
    for at in range(n):
        of = rng.choice(len(VOCABULARY), size=rng.integers(5, 120), p=share / share.sum())
        mean = 1 + np.log1p(of)
        x = -mean * rng.exponential(size=of.size) * np.exp(spread * rng.normal() - spread**2 / 2)
        texts.append(Text.of(f"d{at}", None, x, pieces=[VOCABULARY[k] for k in of]))
        expected.append(mean)
    return texts, np.concatenate(expected)


def test_groups_hold_the_tokens_that_occur_so_often(rng):
    texts, _ = zipf_texts(rng)
    found = assess_texts(texts)
    pieces = [each for text in texts for each in text.pieces]
    bits = -np.concatenate([text.log_probs for text in texts]) / math.log(2)
    occurrences = Counter(pieces)
    of = np.array([occurrences[each] for each in pieces])
    assert [(each.first, each.last) for each in found.frequencies] == [(1, 1), (2, 9), (10, 99), (100, 999)]
    for each in found.frequencies:
        some = (each.first <= of) & (of <= each.last)
        assert each.tokens == some.sum()
        assert each.distinct == len({piece for piece, k in occurrences.items() if each.first <= k <= each.last})
        assert each.bits_per_token == pytest.approx(bits[some].mean(), rel=1e-6)
        assert each.share == pytest.approx(bits[some].sum() / bits.sum(), rel=1e-6)
        assert each.interval.low < each.bits_per_token < each.interval.high
    assert [each.bits_per_token for each in found.frequencies] == sorted(
        (each.bits_per_token for each in found.frequencies), reverse=True
    )


def test_any_split_and_order_gives_the_same(rng):
    texts, _ = zipf_texts(rng, 30)
    whole = TextTally.count(texts)
    parts = [TextTally.count(texts[at::3]) for at in range(3)]
    assert parts[2] + parts[0] + parts[1] == whole
    assert assess_texts(parts[2] + parts[0] + parts[1]).frequencies == assess_texts(whole).frequencies
    assert (parts[0] + parts[1]).distinct != whole.distinct
    assert whole.distinct != whole.distinct.sums.tolist()


def test_nothing_is_kept_of_more_tokens_than_a_vocabulary_has(rng, monkeypatch):
    texts, _ = zipf_texts(rng, 30)
    monkeypatch.setattr(token_frequency, "MOST_TOKENS", 50)
    parts = TextTally.count(texts[:1]), TextTally.count(texts[1:])
    assert not parts[0].distinct.too_many
    alone = [Text.of(f"d{k}", None, [-1.0] * 30, pieces=VOCABULARY[30 * k : 30 * k + 30]) for k in range(2)]
    small = [TextTally.count([each]) for each in alone]
    assert not any(each.distinct.too_many for each in small)
    assert sum(small, TextTally()) == TextTally.count(alone)
    assert sum(small, TextTally()).distinct.too_many
    for tally in (TextTally.count(texts), sum(parts, TextTally()), parts[1] + parts[0]):
        assert tally == TextTally.count(texts)
        assert tally.distinct.sums.size == 0
        found = assess_texts(tally)
        assert found.frequencies == ()
        assert "the loss by token frequency was left out" in " ".join(found.remarks)


def test_an_impossible_token_has_an_infinite_loss(rng):
    texts, _ = zipf_texts(rng, 10)
    texts.append(Text.of("z", None, [-math.inf], pieces=["once"]))
    first, *others = assess_texts(texts).frequencies
    assert first.bits_per_token == math.inf
    assert all(math.isfinite(each.bits_per_token) for each in others)


@pytest.mark.slow
def test_texts_without_tokens_have_no_frequencies_and_reports_have_them(rng, tmp_path, capsys):
    texts, _ = zipf_texts(rng, 20)
    lines = [{"doc": each.name, "bytes": 5, "logprobs": each.log_probs.tolist()} for each in texts]
    (tmp_path / "bare.jsonl").write_text("\n".join(map(json.dumps, lines)))
    lines = [line | {"tokens": each.pieces} for line, each in zip(lines, texts, strict=True)]
    (tmp_path / "full.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["lm", str(tmp_path / "bare.jsonl")]) == 0
    assert "frequency" not in capsys.readouterr().out
    outputs = [f"--json={tmp_path / 'json'}", f"--report={tmp_path / 'page.html'}"]
    assert main(["lm", str(tmp_path / "full.jsonl"), *outputs]) == 0
    assert "Loss by token frequency" in capsys.readouterr().out
    assert "Loss by token frequency" in (tmp_path / "page.html").read_text("utf-8")
    frequencies = json.loads((tmp_path / "json").read_text("utf-8"))["frequencies"]
    assert sum(each["tokens"] for each in frequencies) == sum(each.tokens for each in texts)


@pytest.mark.slow
def test_intervals_cover_the_expected_loss(rng):
    """Documents are dealt into groups, which are the clusters."""
    covered, runs = np.zeros(2), 120
    for _ in range(runs):
        texts, mean = zipf_texts(rng, 80)
        pieces = [each for text in texts for each in text.pieces]
        occurrences = Counter(pieces)
        of = np.array([occurrences[each] for each in pieces])
        found = {each.first: each for each in assess_texts(texts).frequencies}
        for at, first in enumerate((10, 100)):
            each = found[first]
            truth = mean[(of >= first) & (of <= each.last)].mean() / math.log(2)
            covered[at] += each.interval.low <= truth <= each.interval.high
    assert (0.89 * runs <= covered).all(), covered / runs
    assert (covered <= 0.995 * runs).all(), covered / runs
