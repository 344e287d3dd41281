"""Ordered classes: laws of thresholds and of the PIT histogram, the level of its tests, real forecasts, refusals."""

import json

import numpy as np
import polars as pl
import pytest

from helpers import softmax_forecasts
from unperplexed import InputError, assess, assess_ordered
from unperplexed.assessment.ordered import _moments, _pit
from unperplexed.cli.parser import main
from unperplexed.describe.ordered import ordered_document
from unperplexed.report.result import Naming
from unperplexed.scores import ranked_probability_score
from unperplexed.statistics.intervals import Dependence

N = 300


def normal_bins(centre, width, classes=9):
    """Probabilities of bins one wide, the outer ones open."""
    from scipy.stats import norm

    edges = np.concatenate([[-np.inf], np.arange(classes - 1) - (classes - 2) / 2, [np.inf]])
    return np.diff(norm.cdf((edges - centre[:, None]) / width), axis=1)


@pytest.fixture
def data(rng):
    return softmax_forecasts(rng, N, 4)


def test_a_threshold_is_the_event_and_the_ranked_score_is_their_sum(data):
    y, p = data
    groups, w = np.arange(N) // 3, np.arange(N) % 3 + 1.0
    found = assess_ordered(y, p, labels=range(4), clusters=groups, sample_weight=w)
    assert [each.label for each in found.thresholds] == [1, 2, 3]
    total = 0.0
    for k, each in enumerate(found.thresholds, start=1):
        q = p[:, k:].sum(axis=1)
        assert each.mean_prediction == pytest.approx(np.average(q, weights=w))
        assert each.excess == pytest.approx(np.average((y >= k) - q, weights=w))
        own = assess(y >= k, q, clusters=groups, sample_weight=w, resamples=0)
        assert each.assessment.scores == pytest.approx(own.scores)
        total += each.assessment.scores["brier_score"] / 2  # which counts both classes of an event
    rule = "ranked_probability_score"
    assert total == pytest.approx(ranked_probability_score(y, p, labels=range(4), sample_weight=w))
    assert found.skill.whole.scores["forecasts"][rule].score == pytest.approx(total)


def test_verdicts_of_thresholds_are_adjusted_for_their_number():
    """One of eight calibrated thresholds has p < .05 here: alone it would be a finding, among eight it is none."""
    rng = np.random.default_rng(4)
    p = normal_bins(2 * rng.normal(size=N), 1.0)
    y = (p.cumsum(axis=1) < rng.uniform(size=(N, 1))).sum(axis=1)
    found = assess_ordered(y, p, labels=range(9))
    rows = json.loads(found.to_json())["thresholds"]
    [alone] = [row for row in rows if not row["unadjusted_verdict"].startswith("No evidence")]
    assert alone["adjusted_p_value"] > 0.05
    assert alone["verdict"] == "No evidence of miscalibration after adjustment for 8 thresholds"
    assert found.frame()["verdict"].str.starts_with("No evidence").all()
    narrow = assess_ordered(y, normal_bins(2 * rng.normal(size=N), 0.5), labels=range(9))
    assert all(narrow.verdict_at(each) == each.assessment.verdict for each in narrow.thresholds if narrow.found(each))
    assert any(map(narrow.found, narrow.thresholds))


def test_the_histogram_is_the_mean_of_random_ones(data, rng):
    y, p = data
    below = np.hstack([np.zeros((N, 1)), p.cumsum(axis=1)])
    low, high = below[np.arange(N), y], below[np.arange(N), y + 1]
    found = assess_ordered(y, p, labels=range(4))
    drawn = low + (high - low) * rng.random((4000, N))
    share = np.histogram(drawn, bins=10, range=(0, 1))[0] / drawn.size
    assert found.pit.share == pytest.approx(share, abs=0.002)
    assert found.pit.share.sum() == pytest.approx(1)
    assert found.location.value == pytest.approx(drawn.mean(), abs=0.002)
    assert found.spread.value == pytest.approx(12 * ((drawn - 0.5) ** 2).mean(), abs=0.01)


def test_text_and_page_show_every_threshold_and_bin(data):
    y, p = data
    labels = ["none", "some", "much", "flood"]
    found = assess_ordered(np.array(labels)[y], p, labels=labels)
    text, page = str(found), found.to_html()
    assert " ".join(text.split()).startswith(found.verdict)
    for each, name in zip(found.thresholds, ("some or above", "much or above", "flood"), strict=True):
        row = next(line for line in text.splitlines() if line.startswith(name))
        assert f"{100 * each.mean_prediction:.1f}%" in row
        assert name in page
    for k, share in enumerate(found.pit.share):
        row = next(line for line in text.splitlines() if line.startswith(f"{k / 10:.1f} to {(k + 1) / 10:.1f}"))
        assert float(row.split()[3].rstrip("%")) == pytest.approx(100 * share, abs=0.06)


def test_outcomes_that_were_assigned_zero_are_at_one_place():
    p = [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]
    found = assess_ordered([1, 0, 2, 2], p, labels=range(3))
    assert found.pit.share == pytest.approx([0.25, 0, 0, 0, 0.05, 0.05 + 0.25 - 0.05, 0.05, 0.05, 0.05, 0.3], abs=0.051)
    assert found.pit.share.sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "width", "words"),
    [
        (0.0, 0.5, "forecasts are too narrow"),
        (0.0, 2.0, "forecasts are too wide"),
        (0.8, 1.0, "outcomes are higher than predicted"),
        (-0.8, 1.0, "outcomes are lower than predicted"),
        (0.0, 1.0, "no evidence of miscalibration"),
    ],
)
def test_what_is_wrong_is_named(shift, width, words):
    rng = np.random.default_rng(6)
    centre = rng.normal(size=500)
    y = np.clip(np.floor(centre + shift + rng.normal(size=500) + 4.5), 0, 8).astype(int)
    found = assess_ordered(y, normal_bins(centre, width), labels=range(9))
    assert found.verdict.lower().startswith(words)


@pytest.mark.slow
def test_the_level_of_both_tests_is_theirs():
    rng, rejected, runs = np.random.default_rng(1), np.zeros(3), 1000
    for _ in range(runs):
        p = rng.dirichlet(np.full(6, 0.7), size=100)
        below = np.hstack([np.zeros((100, 1)), p.cumsum(axis=1)])
        y = (rng.random(100)[:, None] > below[:, 1:-1]).sum(axis=1)
        low, high = below[np.arange(100), y], below[np.arange(100), y + 1]
        sample, w = Dependence(), np.ones(100)
        location, spread = _moments(low, high, w, sample, 0.95)
        bins = _pit(low, high, w, sample, 0.95)
        outside = (bins.lower > 0.1) | (bins.upper < 0.1)
        rejected += [not location.interval.low < 0.5 < location.interval.high,
                     not spread.interval.low < 1 < spread.interval.high, outside.mean()]  # fmt: skip
    # Those of location and spread are simultaneous; standard errors .005 and .007.
    assert rejected / runs == pytest.approx([0.025, 0.025, 0.05], abs=0.02)


@pytest.mark.slow
def test_files_give_what_arrays_give(data, tmp_path, capsys):
    y, p = data
    frame = pl.DataFrame({"y": y, **{str(k): p[:, k] for k in range(4)}, "week": np.arange(N) // 5})
    frame.write_parquet(tmp_path / "f.parquet")
    columns = [str(tmp_path / "f.parquet"), "--truth", "y", "--prob", "0", "1", "2", "3", "--clusters", "week"]
    outputs = ["--json", "-", "--plot", str(tmp_path / "p.svg"), "--report", str(tmp_path / "r.html")]
    assert main(["assess", *columns, "--ordered", *outputs]) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    own = assess_ordered(y, p, clusters=frame["week"])
    assert found["pit"]["share"] == pytest.approx(own.pit.share.tolist())
    assert [each["excess"] for each in found["thresholds"]] == pytest.approx(own.frame()["excess"].to_list())
    assert "Where outcomes fall in their forecasts" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("observed", "verdict"),
    [
        ([20, 80, 80, 20], "Forecasts are too wide: outcomes lie in their middle too often."),
        ([80, 20, 20, 80], "Forecasts are too narrow: outcomes lie in their tails too often."),
        (
            [10, 20, 30, 140],
            "Outcomes are higher than predicted; outcomes lie in the tails of the forecasts too often.",
        ),
        ([80, 60, 40, 20], "Outcomes are lower than predicted."),
        # Neither mean nor spread of the PIT is off, for errors at the ends and in the middle cancel.
        ([210, 370, 130, 290], "3 of 3 thresholds are miscalibrated."),
        ([50, 50, 50, 50], "No evidence of miscalibration (n = 200)."),
    ],
)
def test_frequencies_that_differ_from_a_quarter_each_are_named(observed, verdict):
    y = np.repeat(np.arange(4), observed)
    found = assess_ordered(y, np.full((y.size, 4), 0.25), labels=range(4))
    assert found.verdict.startswith(f"{verdict} Mean of the PIT")
    low, high = np.arange(4) / 4, np.arange(1, 5) / 4
    assert found.location.value == pytest.approx(np.average((low + high) / 2, weights=observed))


def test_thresholds_that_are_never_or_always_exceeded_have_no_diagram(data):
    p = data[1]
    found = assess_ordered(np.full(N, 1), p, labels=range(4), sample_weight=np.arange(N) + 0.1)
    assert [each.frequency for each in found.thresholds] == [1, 0, 0]
    ids = [section.id for section in ordered_document(found, Naming(), brief=True).sections]
    assert "pit" in ids
    assert "curves" not in ids


def test_the_command_is_the_function(data, tmp_path, capsys):
    y, p = (each[:60] for each in data)
    path = tmp_path / "f.csv"
    pl.DataFrame({"y": y, **{str(k): p[:, k] for k in range(4)}}).write_csv(path)
    assert main(["assess", str(path), "--truth", "y", "--prob", "0", "1", "2", "3", "--ordered", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = assess_ordered(y, p, labels=range(4))
    assert found["pit"]["share"] == pytest.approx(own.pit.share.tolist())
    assert found["location"]["value"] == pytest.approx(own.location.value)


def test_rows_that_share_an_outcome_are_judged_by_it_in_python_and_in_files(tmp_path, capsys):
    rng = np.random.default_rng(5)
    place = rng.permutation(np.repeat(np.arange(100), 10))
    q = rng.dirichlet(np.ones(4), 100)
    y = (q.cumsum(axis=1) < rng.random((100, 1))).sum(axis=1)[place]
    p = q[place] * rng.uniform(0.9, 1.1, (1000, 4))
    p /= p.sum(axis=1, keepdims=True)
    found = assess_ordered(y, p, columns={"place": place})
    declared = assess_ordered(y, p, clusters=place)
    assert found.dependence.found.columns == ("place",)
    assert (found.n_clusters, found.location) == (declared.n_clusters, declared.location)
    assert "Rows of the same 'place' (100) err alike" in " ".join(str(found).split())
    assert assess_ordered(y, p, clusters=None).dependence.reason == "declined"
    frame = pl.DataFrame({"place": place, "y": y, **{str(k): p[:, k] for k in range(4)}})
    frame.write_csv(tmp_path / "f.csv")
    main(["assess", str(tmp_path / "f.csv"), "--ordered", "--truth", "y", "--prob", "0", "1", "2", "3"])
    assert "Rows of the same 'place' (100) err alike" in " ".join(capsys.readouterr().out.split())


def test_what_is_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="at least three, here 2"):
        assess_ordered([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match=r"a sum of 0\.8"):
        assess_ordered([0, 1], [[0.2, 0.3, 0.3], [0.1, 0.1, 0.8]], labels=range(3))
    (tmp_path / "t.tally").write_bytes(b"")
    assert main(["assess", str(tmp_path / "t.tally"), "--ordered"]) == 2
    assert "give the file that the tally came from" in capsys.readouterr().err
    assert main(["assess", "f.csv", "--ordered", "--by", "lead"]) == 2
    assert "--by does not go with --ordered" in capsys.readouterr().err
