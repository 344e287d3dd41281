"""Ordered classes: they are counts, their scores and thresholds, the level of the test, files, and what is refused."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scoringrules
from scipy import stats

from helpers import softmax_forecasts
from unperplexed import Distribution, InputError, Ordered, Recalibrator, assess, assess_by
from unperplexed.calibration.diagnosis.distributions import Tested as Judged
from unperplexed.cli.parser import main
from unperplexed.scores import crps, log_loss, log_score, ranked_probability_score
from unperplexed.scores.distributions.rules import DISTRIBUTION_SCORES
from unperplexed.statistics.intervals import holm

N = 300
NAMES = ["none", "some", "much", "flood"]


def normal_bins(centre, width, classes=9):
    """Probabilities of bins one wide, the outer ones open."""
    edges = np.concatenate([[-np.inf], np.arange(classes - 1) - (classes - 2) / 2, [np.inf]])
    return np.diff(stats.norm.cdf((edges - centre[:, None]) / width), axis=1)


def drawn(p, rng):
    return np.minimum((p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1), p.shape[1] - 1)


@pytest.fixture
def data(rng):
    return softmax_forecasts(rng, N, 4)


def test_classes_that_are_counts_are_judged_as_counts(rng):
    mean = rng.gamma(2, 1.5, N)
    y = rng.poisson(mean)
    counts = Distribution("poisson", mean=mean)
    p = stats.poisson.pmf(np.arange(60), mean[:, None])
    classes = Ordered(p, scale="probability", invalid="rescale")
    one, other = classes.pit_rows(y), counts.pit_rows(y)
    for name in ("low", "high"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.information[one.pattern], other.information[other.pattern], atol=1e-6)
    np.testing.assert_allclose(classes.quantile([0.1, 0.5, 0.99]), counts.quantile([0.1, 0.5, 0.99]))
    np.testing.assert_allclose(classes.spread(), np.sqrt(mean), rtol=1e-6)
    assert crps(y, classes) == pytest.approx(crps(y, counts), rel=1e-9)
    assert log_score(y, classes) == pytest.approx(log_score(y, counts), rel=1e-9)


def test_scores_are_those_of_classes(data):
    y, p = data
    forecast, known = Ordered(p, NAMES), {"labels": NAMES}
    happened = np.array(NAMES)[y]
    assert crps(happened, forecast) == pytest.approx(ranked_probability_score(happened, p, **known), rel=1e-12)
    assert log_score(happened, forecast) == pytest.approx(log_loss(happened, p, **known), rel=1e-12)
    ours = DISTRIBUTION_SCORES["ranked_probability_score"].rows(y.astype(float), forecast)
    np.testing.assert_allclose(ours, scoringrules.rps_score(y + 1, p), atol=1e-12)
    found = assess(happened, forecast, metrics=["rps"])
    assert list(found.scores) == ["ranked_probability_score", "log_score"]
    one_hot = np.eye(4)[y]
    others = (one_hot.sum(axis=0) - one_hot) / (N - 1)
    assert found.skill.reference_score == pytest.approx(ranked_probability_score(y, others, labels=range(4)))


def test_a_threshold_is_an_event_with_its_own_test(data):
    y, p = data
    groups, w = np.arange(N) // 3, np.arange(N) % 3 + 1.0
    found = assess(np.array(NAMES)[y], Ordered(p, NAMES), clusters=groups, sample_weight=w).thresholds
    assert [each.name for each in found] == ["some or above", "much or above", "flood"]
    plain = []
    for k, each in enumerate(found, start=1):
        q = p[:, k:].sum(axis=1)
        sums = np.bincount(groups, w * ((y >= k) - q - each.excess)) / w.sum()
        t = each.excess / np.sqrt((sums**2).sum() * 100 / 99)
        plain.append(2 * stats.t.sf(abs(t), 99))
        assert each.mean_prediction == pytest.approx(np.average(q, weights=w))
        assert each.frequency == pytest.approx(np.average(y >= k, weights=w))
        assert each.excess == pytest.approx(each.frequency - each.mean_prediction)
        half = stats.t.isf(0.025 / 3, 99) * abs(each.excess / t)
        assert each.interval == pytest.approx((each.excess - half, each.excess + half), rel=1e-6)
    assert [each.adjusted_p_value for each in found] == pytest.approx(holm(np.array(plain)).tolist(), rel=1e-6)


@pytest.mark.parametrize(
    ("shift", "width", "words", "fell"),
    [
        (0.0, 0.5, "Too narrow", "no more"),
        (0.8, 1.0, "Too low", "more"),
        (0.0, 1.0, "No evidence of miscalibration", "no more"),
        pytest.param(0.0, 2.0, "Too wide", "no more", marks=pytest.mark.slow),
        pytest.param(-0.8, 1.0, "Too high", "fewer", marks=pytest.mark.slow),
    ],
)
def test_what_is_wrong_is_named(shift, width, words, fell):
    rng = np.random.default_rng(6)
    centre = rng.normal(size=500)
    y = np.clip(np.floor(centre + shift + rng.normal(size=500) + 4.5), 0, 8).astype(int)
    found = assess(y, Ordered(normal_bins(centre, width)))
    assert found.verdict.startswith(words)
    assert found.width.interval.low < 1 / width < found.width.interval.high
    assert {"no more": 0, "more": 1, "fewer": -1}[fell] == (found.above_median.interval.low > 0.5) - (
        found.above_median.interval.high < 0.5
    )
    assert "of the outcomes fell in higher classes than predicted" in " ".join(str(found).split())


@pytest.mark.slow
def test_a_map_mends_probabilities_of_classes():
    rng = np.random.default_rng(6)
    centre = rng.normal(size=1000)
    y = np.clip(np.floor(centre + 0.5 + rng.normal(size=1000) + 4.5), 0, 8).astype(int)
    earlier, later = np.arange(600), np.arange(600, 1000)
    narrow = Ordered(normal_bins(centre, 0.5))
    mend = Recalibrator().fit(y[earlier], narrow.subset(earlier))
    mended = mend.transform(narrow.subset(later))
    assert mend.gain_.significant
    np.testing.assert_allclose(mended.probabilities.sum(axis=1), 1)
    assert log_score(y[later], mended) < log_score(y[later], narrow.subset(later)) - 0.5 * mend.gain_.value
    assert not assess(y[later], mended).diagnosis.findings


@pytest.mark.slow
def test_the_level_of_the_test_is_its_own():
    rng, runs = np.random.default_rng(1), 400
    rejected = 0
    for _ in range(runs):
        p = rng.dirichlet(np.full(6, 0.7), size=200)
        rejected += Judged.of(Ordered(p).pit_rows(drawn(p, rng))).gate.p_value < 0.05
    assert rejected / runs == pytest.approx(0.05, abs=0.033)  # three standard errors


def test_what_was_held_impossible_is_told_and_costs_all():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4), size=50)
    y = drawn(p, rng)
    p[7, y[7]] = 0
    found = assess(y, Ordered(p / p.sum(axis=1, keepdims=True)))
    assert found.diagnosis.findings[0].error == "certainty"
    assert found.diagnosis.findings[0].rows == (7,)
    assert found.scores["log_score"].value == np.inf


def test_outcomes_are_labels_numbers_or_one_hot_rows_in_any_library(data):
    y, p = data
    expected = assess(y, Ordered(p)).scores
    for of, outcomes in (
        (Ordered(p, NAMES), np.array(NAMES)[y].tolist()),
        (Ordered(pl.DataFrame(dict(zip(NAMES, p.T, strict=True)))), pl.Series(np.array(NAMES)[y])),
        (Ordered(pd.DataFrame(p, columns=NAMES)), pd.Series(np.array(NAMES)[y])),
        (Ordered(p, [10, 20, 30, 40]), 10 * y + 10),
        (Ordered(100 * p, scale="percent"), np.eye(4)[y]),
    ):
        assert assess(outcomes, of).scores["log_score"].value == pytest.approx(expected["log_score"].value)


def test_rows_that_are_no_distribution_are_rescaled_or_left_out_on_request(data):
    y, p = data
    off = p.copy()
    off[3] *= 0.9
    np.testing.assert_allclose(Ordered(off, invalid="rescale").probabilities, p)
    off[5] = np.nan
    found = assess(y, Ordered(off, invalid=["drop"]))
    rest = np.delete(np.arange(N), [3, 5])
    assert found.n_rows == N - 2
    assert found.scores == assess(y[rest], Ordered(p[rest])).scores
    assert found.notes == ("2 forecasts that are no distribution: left out.",)
    happened = np.array(NAMES, dtype=object)[y]
    happened[4] = None
    assert assess(happened, Ordered(p, NAMES), invalid="drop").n_rows == N - 1


def test_parts_copies_groups_and_references(data):
    y, p = data
    forecast = Ordered(p, NAMES)
    happened, some = np.array(NAMES)[y], np.arange(N) % 2 == 0
    for other in (pickle.loads(pickle.dumps(forecast)), copy.deepcopy(forecast)):
        np.testing.assert_array_equal(other.pit_rows(happened).low, forecast.pit_rows(happened).low)
    by = assess_by(happened, forecast, by={"half": some})
    assert by[True].thresholds == assess(happened[some], forecast.subset(some), clusters=None).thresholds
    assert assess(happened, forecast, reference=forecast).skill.value.value == 0


@pytest.mark.slow
def test_files_give_what_arrays_give(data, tmp_path, capsys):
    y, p = data
    frame = pl.DataFrame({"y": np.array(NAMES)[y], **dict(zip(NAMES, p.T, strict=True)), "week": np.arange(N) // 5})
    frame.write_parquet(tmp_path / "f.parquet")
    columns = [str(tmp_path / "f.parquet"), "--truth", "y", "--prob", *NAMES, "--clusters", "week"]
    outputs = ["--json", "-", "--plot", str(tmp_path / "p.svg"), "--report", str(tmp_path / "r.html")]
    assert main(["assess", *columns, "--ordered", *outputs]) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    own = assess(frame["y"], Ordered(p, NAMES), clusters=frame["week"])
    assert found["verdict"] == own.verdict
    assert [each["excess"] for each in found["thresholds"]] == pytest.approx([each.excess for each in own.thresholds])
    page = (tmp_path / "r.html").read_text("utf-8")
    assert all(each.name in page and each.name in str(own) for each in own.thresholds)
    assert set(own.surprises.outcome) | set(own.surprises.median) <= {*NAMES}


def test_rows_that_share_an_outcome_are_judged_by_it_in_python_and_in_files(tmp_path, capsys):
    rng = np.random.default_rng(5)
    place = rng.permutation(np.repeat(np.arange(100), 10))
    q = rng.dirichlet(np.ones(4), 100)
    y = drawn(q, rng)[place]
    p = q[place] * rng.uniform(0.9, 1.1, (1000, 4))
    p /= p.sum(axis=1, keepdims=True)
    found = assess(y, Ordered(p), columns={"place": place})
    assert found.dependence.found.columns == ("place",)
    declared = assess(y, Ordered(p), clusters=place)
    assert found.n_clusters == declared.n_clusters == 100
    assert found.diagnosis.p_value == pytest.approx(declared.diagnosis.p_value)
    frame = pl.DataFrame({"place": place, "y": y, **{str(k): p[:, k] for k in range(4)}})
    frame.write_csv(tmp_path / "f.csv")
    main(["assess", str(tmp_path / "f.csv"), "--ordered", "--truth", "y", "--prob", "0", "1", "2", "3"])
    assert "Rows of the same 'place' (100) err alike" in " ".join(capsys.readouterr().out.split())


P = [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
BAD = {
    "two classes": (lambda: Ordered([[0.2, 0.8]]), "at least three, here 2"),
    "one column": (lambda: Ordered([0.2, 0.8]), "at least three, here 1"),
    "a wrong sum": (lambda: Ordered([[0.2, 0.3, 0.3], [0.1, 0.1, 0.8]]), r"a sum of 0\.8"),
    "a negative": (lambda: Ordered([[-0.2, 0.9, 0.3]]), "negative in 1 row"),
    "percentages": (lambda: Ordered([[20, 50, 30]]), "percent"),
    "NaN": (lambda: Ordered([[np.nan, 0.5, 0.5]]), "NaN in 1 row"),
    "few labels": (lambda: Ordered(P, ["a", "b"]), "2 labels for forecasts of 3 classes"),
    "labels twice": (lambda: Ordered(P, ["a", "b", "b"]), "'b' is given twice"),
    "labels without order": (lambda: Ordered(P, {"a", "b", "c"}), "a list of labels"),
    "labels against columns": (lambda: Ordered(pl.DataFrame(P, schema=["a", "b", "c"], orient="row"), ["c", "b", "a"]),
                               "the probability columns are named"),
    "texts without labels": (lambda: assess(["low", "high"], Ordered(P)), "Name the columns' classes in column order"),
    "an unknown label": (lambda: assess(["a", "d"], Ordered(P, ["a", "b", "c"])), "no class: 1 × .d."),
    "numbers for names": (lambda: assess([0, 1, 2], Ordered([*P, P[0]], ["a", "b", "c"])), "the outcomes are numbers"),
    "a missing label": (lambda: assess(["a", None], Ordered(P, ["a", "b", "c"])), "no label in 1 row"),
    "too few outcomes": (lambda: assess([0], Ordered(P)), "y_true has 1 rows, the forecasts 2"),
    "swapped": (lambda: assess(Ordered(P), Ordered(P)), "Outcomes come first"),
    "censored": (lambda: assess([0, 1], Ordered(P), censored={"above": 1}), "not of ordered classes"),
    "another reference": (lambda: assess([0, 1], Ordered(P), reference=Ordered(P, ["a", "b", "c"])), "its classes are"),
    "a score of others": (lambda: assess([0, 1], Ordered(P), metrics=["wis"]), "it is a score of Quantiles"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_a_sentence(name):
    make, words = BAD[name]
    with pytest.raises(InputError, match=words):
        make()


def test_what_the_command_line_refuses(tmp_path, capsys):
    (tmp_path / "t.tally").write_bytes(b"")
    assert main(["assess", str(tmp_path / "t.tally"), "--ordered"]) == 2
    assert "give the file that the tally came from" in capsys.readouterr().err
