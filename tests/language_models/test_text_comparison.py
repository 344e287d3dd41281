"""Two models on the same texts: the difference in bits per byte, its interval, and what is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from unperplexed import InputError
from unperplexed.language_models import Text, assess_texts, compare_texts
from unperplexed.language_models.items import Remarks


def two_models(rng, n=40):
    """Texts that two models cut into tokens of their own."""
    first, second = [], []
    for at in range(n):
        text = "".join(rng.choice(list("abc é東"), size=rng.integers(5, 200)))
        hard = rng.normal()
        for log, pieces, mean in ((first, rng.integers(2, 30), 1.2), (second, rng.integers(2, 30), 1.0)):
            total = -len(text.encode()) * math.exp(0.2 * hard + 0.05 * rng.normal()) * mean
            log.append(Text.of(f"d{at}", text, np.full(pieces, total / pieces)))
    return first, second


def test_the_difference_is_that_of_the_models(rng):
    first, second = two_models(rng)
    found = compare_texts(first, second, names=("small", "large"))
    n_bytes = sum(each.n_bytes for each in first)
    bits = [-sum(each.log_probability for each in log) / n_bytes / math.log(2) for log in (first, second)]
    assert found.bits_per_byte == pytest.approx(bits, rel=1e-12)
    assert found.difference == pytest.approx(bits[0] - bits[1], rel=1e-12)
    assert found.geometric_accuracy_ratio == pytest.approx(2 ** (bits[1] - bits[0]))
    assert found.significant
    assert found.verdict.startswith("large needs 0.")
    assert found.interval.low < found.difference < found.interval.high
    assert found.p_value < 0.001
    reverse = compare_texts(second[::-1], first, names=("large", "small"))
    assert reverse.difference == pytest.approx(-found.difference, rel=1e-12)
    assert reverse.interval == pytest.approx((-found.interval.high, -found.interval.low), rel=1e-9)
    assert reverse.verdict == found.verdict


def test_logs_made_differently_or_with_few_documents_have_no_test(rng):
    first, second = two_models(rng)
    logs = Remarks(contexts={64}, beginning=True), Remarks(contexts={32})
    found = compare_texts(first, second, names=("a", "b"), remarks=logs)
    unequal = "contexts of 64 and 32 tokens; a beginning-of-sequence token may be counted for a alone"
    assert found.verdict.startswith(f"Not comparable as logged: {unequal}. In these logs b needs 0.")
    assert "p =" not in found.verdict
    same = Remarks(contexts={64}), Remarks(contexts={64})
    assert not compare_texts(first, second, remarks=same).reservation
    few = compare_texts(first[:8], second[:8], names=("a", "b"))
    assert few.verdict.startswith("8 documents are too few for a test (effective sample size ")
    assert " ".join(str(few).split()).startswith(few.verdict)


def test_pairing_narrows_the_interval(rng):
    """Documents are hard for both models, so that their difference varies less than either."""
    from unperplexed.language_models import assess_texts

    first, second = two_models(rng)
    width = np.diff(compare_texts(first, second).interval)[0]
    alone = assess_texts(first).rates["byte"].bits_interval
    assert width < 0.5 * (alone.high - alone.low)


def test_the_standard_error_is_that_of_the_delete_one_jackknife(rng):
    first, second = two_models(rng, 12)
    found = compare_texts(first, second, confidence=0.9)

    def difference(kept):
        return compare_texts([first[k] for k in kept], [second[k] for k in kept]).difference

    without = np.array([difference([k for k in range(12) if k != out]) for out in range(12)])
    error = math.sqrt(11 / 12 * ((without - without.mean()) ** 2).sum())
    from scipy.stats import t

    half = error * t.ppf(0.95, found.effective_documents - 1)
    assert found.interval == pytest.approx((found.difference - half, found.difference + half), rel=1e-9)


def test_documents_are_paired_by_text_where_names_differ(rng):
    first, second = two_models(rng)
    renamed = [Text.of(f"other {k}", None, each.log_probs, n_bytes=each.n_bytes) for k, each in enumerate(second)]
    with pytest.raises(InputError, match="80 documents occur in one of the logs only"):
        compare_texts(first, renamed)
    by_text = [type(each)(f"other {k}", *list(vars(each).values())[1:]) for k, each in enumerate(second)]
    assert compare_texts(first, by_text).difference == compare_texts(first, second).difference


def test_a_text_that_occurs_twice_needs_names(rng):
    """Pairing by text would lose one of the two without a word."""
    first, second = two_models(rng)
    same = [Text.of("again", "a text", [-3.0]), Text.of("twice", "a text", [-4.0])]
    first, second = [*first, *same], [*second, *same]
    assert compare_texts(first, second).n_documents == 42
    renamed = [replace(each, name=f"other {each.name}") for each in second]
    for logs in ((first, renamed), (renamed, first)):
        with pytest.raises(InputError, match=r"^first: the text of '(other )?twice' occurs twice; name"):
            compare_texts(*logs)
    with pytest.raises(InputError, match=r"^second: the text of 'other twice' occurs twice"):
        compare_texts(first[:-1], renamed, common=True)


def test_documents_of_one_name_in_several_files_are_paired_by_file_and_name(rng, tmp_path):
    """Each task of a folder counts its documents from 0; without the files in both logs nothing is paired."""
    first, second = two_models(rng)
    for model, texts in (("one", first), ("two", second)):
        for task, some in (("code", slice(0, 20)), ("wiki", slice(20, 40))):
            path = tmp_path / model / f"run of {model}" / f"{task}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [
                {"doc": int(each.name[1:]) % 20, "bytes": each.n_bytes, "logprobs": each.log_probs.tolist()}
                for each in texts[some]
            ]
            path.write_text("\n".join(map(json.dumps, lines)))
    folders = [tmp_path / "one", tmp_path / "two"]
    found, expected = compare_texts(*folders), compare_texts(first, second)
    assert (found.n_documents, found.difference) == (40, pytest.approx(expected.difference))
    assert {each.name.partition("/")[0] for each in found.documents} == {"code", "wiki"}
    tasks = assess_texts(folders[0]).tasks
    assert {task: rate.total for task, rate in tasks.items()} == {
        "code": sum(each.n_bytes for each in first[:20]),
        "wiki": sum(each.n_bytes for each in first[20:]),
    }
    log = tmp_path / "one" / "run of one" / "wiki.jsonl"
    log.write_text(log.read_text() + "\n" + log.read_text())
    with pytest.raises(InputError, match="'0' occurs twice in the file wiki; .* name each once there"):
        compare_texts(*folders)


def test_other_texts_are_refused_with_the_reason(rng):
    first, second = two_models(rng)
    other = [*second[:-1], Text.of("d39", "another text", [-3.0])]
    with pytest.raises(InputError, match=r"the texts differ in 1 document, for example 'd39' \(\d+ and 12 bytes\)"):
        compare_texts(first, other)
    same_size = [*second[:-1], Text.of("d39", "x" * first[-1].n_bytes, [-3.0])]
    with pytest.raises(InputError, match="the texts differ in 1 document"):
        compare_texts(first, same_size)
    with pytest.raises(InputError, match=r"1 document occur.*'d39'.*--common"):
        compare_texts(first, second[:-1])
    common = compare_texts(first, second[:-1], common=True)
    assert (common.n_documents, common.left_out) == (39, 1)
    assert common.difference == compare_texts(first[:-1], second[:-1]).difference
    with pytest.raises(InputError, match="'d0' occurs twice"):
        compare_texts([*first, first[0]], second)
    unknown = [Text(each.name, each.log_probability) for each in first]
    with pytest.raises(InputError, match="neither log has the bytes of 40 documents"):
        compare_texts(unknown, unknown)
    with pytest.raises(InputError, match="a probability of 0 in 1 document"):
        compare_texts([Text.of("d0", "ab", [-math.inf])], [Text.of("d0", "ab", [-1.0])])
    with pytest.raises(InputError, match="at least two documents"):
        compare_texts(first[:1], second[:1])
    with pytest.raises(InputError, match="names"):
        compare_texts(first, second, names=("a", "a"))


@pytest.mark.slow
def test_the_interval_covers_the_difference_where_that_of_tokens_does_not(rng):
    """500 corpora of 40 documents of uneven length; both models' tokens depend on one another within a document."""
    from unperplexed.language_models.text_comparison import jackknife
    from unperplexed.statistics.means import t_quantile

    runs, n, truth, covered, by_token = 500, 40, -0.02, 0, 0
    for _ in range(runs):
        n_bytes = np.exp(rng.normal(7, 0.8, n)).round()
        noise = 0.8
        bits = n_bytes * (truth + 0.05 * rng.normal(size=n)) + noise * np.sqrt(n_bytes) * rng.normal(size=n)
        difference, error, degrees = jackknife(bits, n_bytes)
        covered += abs(difference - truth) <= error * t_quantile(0.95, degrees)
        by_token += abs(difference - truth) <= 1.96 * noise / math.sqrt(n_bytes.sum())
    assert 0.93 * runs <= covered <= 0.975 * runs
    assert by_token < 0.7 * runs


def test_models_that_differ_by_chance_alone_have_a_verdict_that_says_so(rng):
    first, _ = two_models(rng)
    second = [replace(each, log_probability=each.log_probability * (1 + 0.05 * rng.normal())) for each in first]
    found = compare_texts(first, second, names=("a", "b"))
    assert found.interval.low < 0 < found.interval.high
    assert found.verdict.startswith("no evidence that a and b differ in bits per byte (95% CI of the difference ")
    assert str(found).startswith("No evidence that a and b differ")


def test_documents_that_leave_nothing_to_compare_by():
    text = Text("a", -1.0, n_bytes=5)
    with pytest.raises(InputError, match="first: no text with a log-probability"):
        compare_texts([], [text])
    with pytest.raises(InputError, match="second: no text with a log-probability"):
        compare_texts([text], [])
    found = compare_texts(*([Text("a", -x, n_bytes=1), Text("b", -x, n_bytes=1 << 53)] for x in (1.0, 2.0)))
    assert np.isnan(found.interval).all()  # one document has all the bytes that doubles can tell apart
    assert found.reservation.startswith("2 documents are too few for a test (effective sample size 1)")
