"""Every result: text that fits, a card for notebooks and a page, all with the figures it has as attributes."""

import copy
import pickle
import re
from dataclasses import fields, is_dataclass
from html import unescape

import numpy as np
import pytest

from unperplexed import (
    Distribution,
    InputError,
    Ordered,
    Tally,
    assess,
    assess_by,
    calibration_errors,
    calibration_test,
    check,
    compare,
    compare_sequentially,
    decide,
    decision_curve,
    decompose,
    diagnose,
    drift,
    explain,
    find_groups,
    monitor,
    plan,
    pool,
    risk_profile,
    skill,
)
from unperplexed._lib.typing import ByValue
from unperplexed.language_models import (
    GradedAnswers,
    Question,
    Text,
    assess_questions,
    assess_texts,
    compare_questions,
    compare_texts,
    leaderboard,
)
from unperplexed.report.result import Result
from unperplexed.results import Predictions

HOSTILE = "<script>alert('\x1b[31m')</script>" * 3


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    p = rng.uniform(size=400)
    return (rng.uniform(size=400) < p**2).astype(int), p


def labelled(y):
    return np.where(y == 1, HOSTILE, "b")


def ordered(p):
    return np.stack([1 - p, p * 0.9, p * 0.1], axis=1)


def numbers(p):
    return Distribution("normal", mean=np.full(p.size, 0.4), sd=0.2)


RESULTS = {
    "assess": (lambda y, p: assess(labelled(y), p, pos_label=HOSTILE, resamples=0), "observed frequency"),
    "assess_by": (lambda y, p: assess_by(y, p, by=labelled(y), resamples=0), "miscalibration"),
    "compare": (lambda y, p: compare(y, {HOSTILE: p, "b": p**2}), "Paired differences"),
    "compare numbers": (lambda y, p: compare(p, {HOSTILE: numbers(p), "b": numbers(p**2)}), "miscalibration"),
    "skill of numbers": (lambda y, p: skill(p, numbers(p)), "1 is perfect"),
    "compare_sequentially": (lambda y, p: compare_sequentially(y, {HOSTILE: p, "b": p**2}), "e-value"),
    "assess ordered classes": (
        lambda y, p: assess(labelled(y), Ordered(ordered(p), [*labelled(np.arange(2)), "c"])),
        "outcome is",
    ),
    "assess distributions": (lambda y, p: assess(p, numbers(p)), "Width factor needed"),
    "assess_by distributions": (
        lambda y, p: assess_by(p, numbers(p), by={HOSTILE: labelled(y)}),
        "Width factor needed",
    ),
    "skill": (lambda y, p: skill(y, {HOSTILE: p}, by=labelled(y)), "skill score"),
    "DistributionTally": (
        lambda y, p: Tally.of(p, numbers(p)).tagged(name="x" * 150, model=HOSTILE.replace("\x1b", "")),
        "cells of like rows",
    ),
    "Tally": (lambda y, p: Tally.of(labelled(y), p, pos_label=HOSTILE, source=HOSTILE), "distinct probabilities"),
    "calibration_errors": (lambda y, p: calibration_errors(y, p)["each-class"], "smooth ECE"),
    "decompose": (lambda y, p: decompose(y, p, score="log_loss"), "discrimination"),
    "calibration_test": (calibration_test, "Evidence of miscalibration (p < 0.001)"),
    "diagnose": (lambda y, p: diagnose(labelled(y), p, pos_label=HOSTILE), "Remedy"),
    "risk_profile": (risk_profile, "robustness"),
    "risk_coverage": (lambda y, p: assess(y, p, resamples=0).risk_coverage, "confidence said nothing"),
    "find_groups": (
        lambda y, p: find_groups(y, p, among={HOSTILE: labelled(y * (np.arange(len(y)) % 4 > 0))}),
        "Wrong in 1 group",
    ),
    "drift": (lambda y, p: drift({f"{at}{HOSTILE}": Predictions.of(q) for at, q in enumerate((p, p**2))}), "evidence"),
}


CODE = re.compile(r" +(recalibrated = |Recalibrator\(|for name in \[|fitted = |fitted\.fit\(|new\[|compare\()")


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.slow
def test_text_card_and_page(rows, name, tmp_path):
    make, word = RESULTS[name]
    result = make(*rows)
    words = []
    for columns in (80, 60, 40):
        text = result.to_text(columns=columns)
        code = [line for line in text.splitlines() if CODE.match(line)]
        assert max(len(line) for line in text.splitlines() if line not in code) <= columns
        assert word in re.sub(r"\s+", " ", text)
        assert text.replace("\n", "").isprintable()
        words.append(sorted(re.findall(r"\d\.\d+", text)))
    assert words[0] == words[1] == words[2]  # nothing is cut
    card = result._repr_html_()
    result.report(tmp_path / "r.html", name=HOSTILE)
    page = (tmp_path / "r.html").read_text("utf-8")
    for html in (card, page):
        assert "<script>alert" not in html
        assert "\x1b" not in html
    assert word in unescape(card).replace("What to do:", "Remedy")
    with pytest.raises(InputError, match="known: .html, .htm"):
        result.report(tmp_path / "r.txt")


def test_a_document_without_sections_is_a_page_of_its_summary(rows):
    result = decompose(*rows, score="brier_score")
    page = result.to_html()
    for value in (result.score, result.miscalibration, result.discrimination, result.uncertainty):
        assert f"<td>{value:.3f}</td>" in page


def test_a_test_states_what_it_found(rows):
    y, p = rows
    found = calibration_test(y, p)
    assert str(found).startswith("Evidence of miscalibration (p < 0.001).")
    assert f"statistic {found.statistic:.3f}" in str(found)
    right = calibration_test((np.random.default_rng(1).uniform(size=400) < p).astype(int), p)
    assert right.p_value > 0.05
    assert str(right).startswith(f"No evidence of miscalibration (p = {right.p_value:.3f}).")


def texts(loss):
    return [Text.of(each, each, [-loss * len(each)]) for each in ("Hello", "Good day", "How do you do")]


def questions(*p):
    return [Question(f"{at}", ("a", "b"), np.log([each, 1 - each]), (at % 2,)) for at, each in enumerate(p)]


OTHERS = (
    lambda y, p: monitor({each: Tally.of(y[at::2], p[at::2]) for at, each in enumerate("ab")}),
    lambda y, p: check(assess(y, p, resamples=0), require=["log_loss < 1", "log_loss.lower > 2", "verdict in (none)"]),
    lambda y, p: decide(y, p, cost_fp=1, cost_fn=4, recalibrated=None),
    decision_curve,
    lambda y, p: Predictions.of(p),
    lambda y, p: plan(rate=0.1, bias=0.02),
    lambda y, p: assess_by(y, p, by=y.cumsum() % 3, resamples=0).validation,
    lambda y, p: pool(None, {"a": p, "b": p**2}),
    lambda y, p: explain("slope"),
    lambda y, p: assess_texts(texts(0.5)),
    lambda y, p: compare_texts(texts(0.5), texts(0.6)),
    lambda y, p: assess_questions(questions(0.6, 0.3, 0.7), resamples=0),
    lambda y, p: compare_questions(questions(0.6, 0.3, 0.7, 0.2), questions(0.5, 0.3, 0.8, 0.1)),
    lambda y, p: leaderboard(GradedAnswers({"judge": y * 1.0}, {"stated": p}, np.arange(90), ["m"] * 90)),
)


@pytest.fixture(scope="module")
def results(rows):
    y, p = (each[:90] for each in rows)  # too few for remedies, which would take seconds
    return [make(y, p) for make in (*(make for make, _ in RESULTS.values()), *OTHERS)]


def kinds(of):
    for each in of.__subclasses__():
        yield from kinds(each)
        if is_dataclass(each) and fields(each) and each.__module__.startswith("unperplexed."):
            yield each


def with_parts(value):
    if isinstance(value, Tally):
        yield value
    elif is_dataclass(value):
        yield value
        for each in (name for name in fields(value) if name.compare):
            yield from with_parts(getattr(value, each.name))
        for name in ("uncertainty", "metrics", "diagnosis"):
            yield from with_parts(getattr(value, name, None))
    elif isinstance(value, dict | tuple | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from with_parts(each)


@pytest.mark.slow
def test_copies_of_every_result_and_of_its_parts_equal_them(results):
    assert set(kinds(Result)) == {*map(type, results)}  # one of each kind
    by_kind = {}
    for each in (part for result in results for part in with_parts(result)):
        if isinstance(each, ByValue):
            by_kind.setdefault(type(each), []).append(each)
    assert len(by_kind) > 50
    for each in (part for parts in by_kind.values() for part in parts[:2]):
        for again in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each)):
            assert again == each, type(each)
            assert hash(again) == hash(each)


def test_other_values_are_not_equal(rows, results):
    y, p = rows
    assert all(a is b or a != b for a in results for b in results)
    assert diagnose(y, p) == diagnose(y, p) != diagnose(y, p**2)
    assert Tally.of(y, p) == Tally.of(y[::-1], p[::-1]) != Tally.of(y[1:], p[1:])
    assert assess(y, p, seed=1) != assess(y, p, seed=2)
