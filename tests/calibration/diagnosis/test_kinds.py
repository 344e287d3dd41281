"""The records of the kinds of errors: complete, explained, and all that is known of a kind."""

import json
import math

import numpy as np
import pytest

from many_classes import prepared, statistics_of
from unperplexed import Tally, assess, assess_by, check, diagnose, explain
from unperplexed.assessment.flat import WORDS, verdict_words
from unperplexed.assessment.group_figures import GroupAssessment
from unperplexed.calibration.diagnosis.class_scores import PARAMETERS, RowLikelihoods
from unperplexed.calibration.diagnosis.class_search import Search
from unperplexed.calibration.diagnosis.class_tests import gate
from unperplexed.calibration.diagnosis.kind import ClassMeans, Kind, OfClasses, OfTwo
from unperplexed.calibration.diagnosis.kinds import KINDS
from unperplexed.calibration.diagnosis.result import Advice, Clause, Diagnosis, Finding, joined
from unperplexed.calibration.diagnosis.words import finding_of_two, in_words
from unperplexed.describe.diagnosis import short_verdict

OF_TWO = [kind for kind in KINDS.values() if kind.two is not None]
OF_CLASSES = [kind for kind in KINDS.values() if kind.classes is not None]
MEANS = ClassMeans(("cat", None, "cow"), np.array([0.5, 0.2, 0.3]), np.array([0.4, 0.3, 0.3]))


def of_two(kind, value, together=(), separated=False):
    means = (0.4, 0.3) if value < 0 else (0.3, 0.4)
    return OfTwo(
        value,
        (value - 0.1, value + 0.1),
        [kind, *together],
        separated,
        "'rain'",
        *means,
        1 + value,
        1 / (1 + value),
        True,
    )


def test_they_are_in_the_order_of_their_places():
    of_classes = ["bias", "confidence", "asymmetry", "tail", "noise", "certainty", "rows", "shape", "permuted"]
    assert list(KINDS) == [*of_classes, "spread", "skew", "level", "follow"]
    assert len({kind.place for kind in KINDS.values()}) == len(KINDS)
    assert len({kind.heading or kind.error for kind in KINDS.values()}) == len(KINDS)
    assert (
        *("biased", "overconfident", "underconfident", "asymmetric", "extremes-overstated", "extremes-understated"),
        *("certain-and-wrong", "miscalibrated", "columns-permuted", "pointing-away"),
    ) == WORDS


@pytest.mark.parametrize("kind", OF_TWO, ids=lambda kind: kind.error)
@pytest.mark.parametrize("value", [-0.2, 0.2])
def test_what_is_said_of_two_classes_is_explained_and_mended(kind, value):
    assert kind.parameter
    assert kind.noun
    for separated in (False, True):
        finding = finding_of_two(kind.error, of_two(kind, value, separated=separated), 0.01, 0.02, "rain")
        assert finding.words == finding.clause.words
        assert finding.remedy == finding.advice.words
        assert finding.explanation == explain(finding.clause.term)
        assert "nan" not in finding.words
        assert finding.label == ("rain" if kind.error == "bias" else None)
    others = [other for other in OF_TWO if other is not kind][:2]
    together = finding_of_two(kind.error, of_two(kind, value, others), 0.01, 0.02, "rain")
    assert together.advice.text.startswith("Mend these errors together: ")
    assert "95% CI" not in together.words
    assert together.clause.short == finding.clause.short


@pytest.mark.parametrize("kind", OF_CLASSES, ids=lambda kind: kind.error)
@pytest.mark.parametrize("value", [-0.2, 0.2])
def test_what_is_said_of_more_classes_is_explained_and_mended(kind, value):
    for classes in ([], [0], [1], [2], [0, 1, 2]):
        e = OfClasses(value, (value - 0.1, value + 0.1), (kind.error,), MEANS, classes)
        finding = Finding(kind.error, *kind.classes(e), value)
        assert finding.explanation.term
        assert finding.advice.fitted
        assert finding.words.count("'cat'") == (kind.error == "bias" and 0 in classes)


def test_a_sentence_has_the_parts_of_its_clauses():
    clauses = [
        Clause("overpredicts", "'a; (b)'", detail="mean prediction 1%"),
        Clause("certain and wrong", more=" twice", detail="0.1 expected"),
        Clause("asymmetric", instead="too bold above 50%"),
        Clause("", instead="the rest"),
    ]
    assert joined(clauses, ", but") == (
        "Overpredicts 'a; (b)' (mean prediction 1%); certain and wrong twice (0.1 expected); too bold above 50%;"
        " the rest, but"
    )
    assert [each.beside for each in clauses] == [
        *("mean prediction 1%", "twice (0.1 expected)", "too bold above 50%", "the rest"),
    ]
    assert [each.short for each in clauses] == ["overpredicts 'a; (b)'", "certain and wrong", "asymmetric", ""]


@pytest.mark.slow
def test_a_further_kind_is_shown_wherever_findings_are(monkeypatch):
    wave = Kind(
        "wave",
        names=("wavy",),
        terms=("asymmetric",),
        place=9,
        noun="a wave",
        parameter="wave",
        shown_in="loss",
        regressor="a sine",
        step="taking out the wave",
        two=lambda e: (
            wave.clause(e.value, instead="predictions swing about the frequencies", detail=e.size),
            Advice("Fit a sine.", fitted=True),
        ),
    )
    monkeypatch.setitem(KINDS, "wave", wave)
    rng = np.random.default_rng(1)
    s = rng.normal(0, 2, 3000)
    y, p = rng.random(3000) < 1 / (1 + np.exp(-s)), 1 / (1 + np.exp(-1.5 * s))
    finding = finding_of_two("wave", of_two(wave, 0.8), 0.001, 0.02, None)
    about = Diagnosis((), p_value=1e-9, cost=0.02, alternatives=(("wave", "bias"),), n_rows=3000, n_classes=2)
    d = in_words(about, [finding])
    assert d.verdict == "Predictions swing about the frequencies (+0.80, 95% CI +0.70 to +0.90)."
    assert (d.headline, short_verdict(d), verdict_words(d)) == ("Wavy", "wavy", {"miscalibrated", "wavy"})
    assert "Another explanation fits these rows about as well: a wave alone and a bias" not in d.to_text()
    assert "a wave and a bias" in d.to_text()
    found = assess_by(y, p, by={"half": s > 0}, resamples=0)
    for one in (found.whole, *(group.assessment for group in found.groups)):
        vars(one)["diagnosis"] = d
    monkeypatch.setattr(GroupAssessment, "diagnosis", d)
    for result in (found, found.whole):
        assert "redictions swing about the frequencies (+0.80" in str(result)
        assert json.loads(result.to_json())
        assert "Wavy" in result.to_html()
    assert ">wave<" in found.to_html()
    assert not check(found.whole, require="verdict not in (biased, miscalibrated)")
    assert check(found.whole, require="verdict not in (biased)")
    assert math.isfinite(assess(y, p, resamples=0).diagnosis.cost)


@pytest.mark.slow
def test_a_further_kind_is_looked_for_and_found_among_several_classes(monkeypatch):
    """By its record alone: its map is fitted by itself, in pairs and with biases; counts know no such map."""
    wave = Kind(
        "wave",
        names=("wavy",),
        terms=("asymmetric",),
        place=9,
        noun="a wave",
        parameter="rest",
        shown_in="loss",
        classes=lambda e: (wave.clause(e.value, detail=f"{e.value:.1f}"), Advice("Fit a sine.", fitted=True)),
    )
    monkeypatch.setitem(KINDS, "wave", wave)
    monkeypatch.setitem(PARAMETERS, "wave", wave.parameter)
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (8000, 4))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    q = p / np.sqrt(1 - p)
    y = (q.cumsum(axis=1) < q.sum(axis=1, keepdims=True) * rng.random((8000, 1))).sum(axis=1)
    found = diagnose(y, p, labels=range(4))
    assert found.verdict == "Wavy (-0.5)."
    [finding] = found.findings
    assert finding.parameter == pytest.approx(-0.5, abs=0.1)
    assert finding.interval[0] < -0.5 < finding.interval[1] < 0
    assert finding.p_value < 1e-9
    rows = prepared(p, y)
    statistics = statistics_of(rows)
    search = Search(RowLikelihoods(rows, statistics), statistics, gate(statistics), 0.05)
    assert search.run() == ("wave",)
    assert {("confidence", "wave"), ("tail", "wave"), ("noise", "wave")} <= set(search.found)
    assert diagnose(Tally.of(y, p, parts=["diagnosis"])).errors == ("confidence",)
