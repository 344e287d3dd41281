"""Every result: text that fits, a card for notebooks and a page, all with the figures it has as attributes."""

import re
from html import unescape

import numpy as np
import pytest

from unperplexed import (
    InputError,
    Tally,
    assess,
    assess_by,
    assess_ordered,
    calibration_errors,
    calibration_test,
    compare,
    compare_sequentially,
    decompose,
    diagnose,
    risk_profile,
    skill,
)
from unperplexed.monitoring import Predictions, drift

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


RESULTS = {
    "assess": (lambda y, p: assess(labelled(y), p, pos_label=HOSTILE, resamples=0), "observed frequency"),
    "assess_by": (lambda y, p: assess_by(y, p, by=labelled(y), resamples=0), "miscalibration"),
    "compare": (lambda y, p: compare({HOSTILE: p, "b": p**2}, y, resamples=0), "Paired differences"),
    "compare_sequentially": (lambda y, p: compare_sequentially({HOSTILE: p, "b": p**2}, y), "e-value"),
    "assess_ordered": (lambda y, p: assess_ordered(y, ordered(p), labels=range(3)), "PIT"),
    "skill": (lambda y, p: skill({HOSTILE: p}, y, by=labelled(y)), "skill score"),
    "Tally": (lambda y, p: Tally.of(labelled(y), p, pos_label=HOSTILE, source=HOSTILE), "distinct probabilities"),
    "calibration_errors": (lambda y, p: calibration_errors(y, p)["each-class"], "smooth ECE"),
    "decompose": (lambda y, p: decompose(y, p, score="log_loss"), "discrimination"),
    "calibration_test": (calibration_test, "Evidence of miscalibration (p < 0.001)"),
    "diagnose": (lambda y, p: diagnose(labelled(y), p, pos_label=HOSTILE), "Remedy"),
    "risk_profile": (risk_profile, "robustness"),
    "drift": (lambda y, p: drift({f"{at}{HOSTILE}": Predictions.of(q) for at, q in enumerate((p, p**2))}), "evidence"),
}


CODE = re.compile(r" +(recalibrated = |Recalibrator\(|methods = |for name, method |fitted = |new\[|compare\()")


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
