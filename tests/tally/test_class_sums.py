"""A diagnosis of more than two classes from a tally: laws of its sums, and the same findings as from the rows."""

import io
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from many_classes import blocks, diagnose, prepared, simulate, statistics_of
from unperplexed import InputError, Tallies, Tally, assess, assess_by
from unperplexed import diagnose as diagnose_tally
from unperplexed.calibration.diagnosis.class_scores import Curvature
from unperplexed.calibration.diagnosis.class_statistics import information_of, statistics_of_sums
from unperplexed.calibration.diagnosis.class_tests import gate
from unperplexed.cli import parser as cli
from unperplexed.describe.diagnosis import UNTOLD
from unperplexed.tally import class_sums as _class_sums
from unperplexed.tally.class_sums import ClassSums, ClassSumsCounter, add_by_class, layout, length

MORE = ["diagnosis"]


def counted(p, y, weights=None):
    counter = ClassSumsCounter(p.shape[1])
    counter.add(p, y, weights)
    return counter.sums()


def same(a, b):
    assert (a.high == b.high).all()
    assert (a.low == b.low).all()
    assert (a.rest == b.rest).all()


def tally(p, y, **kinds):
    return Tally.of(y, p, labels=range(p.shape[1]), parts=MORE, **kinds)


# ---- laws


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["compiled", "numpy"])
@pytest.mark.parametrize(("classes", "n"), [(3, 9000), (10, 5001), (64, 1500), (300, 90)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_split_in_any_order_is_the_whole(monkeypatch, rng, kernel, classes, n, dtype):
    if kernel == "numpy":
        monkeypatch.setattr(_class_sums, "_kernel", None)
    p, y = simulate(rng, n, classes)
    p = p.astype(dtype)
    p[:4], y[:4] = 0, 0
    p[:4, 0], p[2:4, 0], p[2:4, 1] = 1, 0, 1
    whole, order = counted(p, y), rng.permutation(n)
    cuts = [0, 1, 3, *np.sort(rng.integers(3, n, 5)).tolist(), n]
    parts = [counted(p[order[i:j]], y[order[i:j]]) for i, j in pairwise(cuts)]
    rng.shuffle(parts)
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    same(found, whole)
    assert not whole.rest.any()
    assert (whole.low >= 0).all()


@pytest.mark.skipif(_class_sums._kernel is None, reason="there is no compiled kernel")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [3, 8, 9, 64, 301])
def test_the_compiled_kernel_gives_the_same(monkeypatch, rng, classes, dtype):
    p = rng.dirichlet(np.full(classes, 0.1), 700)
    p[1::5], p[2::7] = 1 / classes, np.eye(classes)[rng.integers(0, classes, 100)]
    p[3::11] = 0
    p[3::11, :2] = 0.5
    y, p = rng.integers(0, classes, 700), p.astype(dtype)
    for layout_ in (p, np.asfortranarray(p), p[::-3]):
        compiled = counted(layout_, y[: len(layout_)])
        with monkeypatch.context() as patch:
            patch.setattr(_class_sums, "_kernel", None)
            same(counted(layout_, y[: len(layout_)]), compiled)


def test_weight_2_is_the_row_twice(rng):
    p, y = simulate(rng, 500, 5)
    twice, weighted = counted(np.repeat(p, 2, axis=0), np.repeat(y, 2)), counted(p, y, np.full(500, 2.0))
    for name in ("observed", "predicted", "information", "shape_score", "shape_information", "wrong_residual"):
        np.testing.assert_allclose(weighted[name], twice[name], rtol=1e-9, atol=1e-5, err_msg=name)
    for name in ("products", "shape_covariance", "shape_classes", "squared_predicted"):
        np.testing.assert_allclose(weighted[name], 2 * twice[name], rtol=1e-5, atol=1e-3, err_msg=name)
    assert diagnose_tally(tally(p, y, sample_weight=np.full(500, 2.0))).p_value == pytest.approx(
        diagnose_tally(tally(p, y)).p_value, abs=1e-6
    )


def test_weighted_and_unweighted_rows_add_up(rng):
    p, y = simulate(rng, 400, 4)
    w = rng.exponential(size=400)
    a, b = counted(p[:200], y[:200]), counted(p[200:], y[200:], w[200:])
    whole = counted(p, y, np.append(np.ones(200), w[200:]))
    for name in layout(4):
        np.testing.assert_allclose((a + b)[name], whole[name], rtol=1e-5, atol=1e-3, err_msg=name)


def test_sums_beyond_2_to_the_53_are_exact():
    one = ClassSums(3, *np.full((2, length(3)), (1 << 32) - 1, dtype=np.int64), np.zeros(length(3)))
    found = one
    for _ in range(5):
        found = found + found
    whole = (int(one.high[0]) << 32) + int(one.low[0])
    assert (int(found.high[0]) << 32) + int(found.low[0]) == 32 * whole


# ---- the same as from the rows


@pytest.mark.parametrize(("classes", "n"), [(3, 1000), (10, 2000), (100, 1000)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gate_is_that_of_the_rows(rng, classes, n, weighted):
    for _ in range(5):
        p, y = simulate(rng, n, classes)
        w = rng.exponential(size=n) if weighted else None
        a = gate(statistics_of(prepared(p, y, weights=w)))
        statistics, _ = statistics_of_sums(counted(p, y, w))
        b = gate(statistics)
        for name in ("p_value", "spread", "single", "shape"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), abs=2e-3), name
        assert a.effect == pytest.approx(b.effect, rel=1e-4)


ERRORS = {
    "confidence": {"confidence": -0.3},
    "tail": {"tails": -0.3},
    "noise": {"noise": 0.15},
    "bias": {"biases": 0.6 * np.eye(10)[2]},
    "biases": {"biases": np.linspace(-0.6, 0.6, 10)},
    "both": {"confidence": -0.3, "biases": np.linspace(-0.6, 0.6, 10)},
    "nothing": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
def test_findings_are_those_of_the_rows(rng, error):
    alike = 0
    for _ in range(3):
        p, y = simulate(rng, 3000, 10, **ERRORS[error])
        rows, counts = diagnose(p, y), diagnose_tally(tally(p, y))
        assert counts.made
        assert counts.n_rows == 3000
        alike += rows.errors == counts.errors
        if rows.errors != counts.errors:
            continue
        assert counts.cost == pytest.approx(rows.cost, rel=0.2, abs=1e-3)
        for one, other in zip(rows.findings, counts.findings, strict=True):
            assert one.label == other.label
            if one.error in ("confidence", "tail", "noise"):
                assert one.parameter == pytest.approx(other.parameter, abs=0.03)
                assert one.interval == pytest.approx(other.interval, abs=0.05, nan_ok=True)
    assert alike >= 2


@pytest.mark.parametrize("times", [1, 2, 30])
def test_certain_and_wrong(rng, times):
    p, y = simulate(rng, 2000, 5)
    p[:times], y[:times] = [1 - 4e-12, 1e-12, 1e-12, 1e-12, 1e-12], 3
    p[50:60], y[50:60] = np.eye(5)[0], 0
    rows, counts = diagnose(p, y), diagnose_tally(tally(p, y))
    assert rows.errors == counts.errors == ("certainty",)
    assert counts.findings[0].parameter == times
    said = {each.findings[0].words for each in (rows, counts)}
    assert len(said) == 1
    assert said.pop().endswith(" (fewer than 0.01 expected)")  # by all entries, of which no number of rows is the whole
    assert counts.findings[0].p_value < 0.011
    assert rows.p_value == pytest.approx(counts.p_value, abs=2e-3)


def test_a_few_surprising_rows(rng):
    p, y = simulate(rng, 4000, 4, confidence=0.02)
    p[:2], y[:2] = [0.5, 0.5 - 1e-5, 5e-6, 5e-6], 3
    found = [diagnose(p, y), diagnose_tally(tally(p, y))]
    assert found[0].errors == found[1].errors


def test_the_likelihood_bends_as_that_of_all_rows(rng):
    p, y = simulate(rng, 3000, 30)
    kept = tally(p, y)
    statistics, _ = statistics_of_sums(kept.diagnosis)
    curve = Curvature(kept.row_sample, statistics, information_of(statistics)[:2, :2])
    centred = np.log(p) - (p * np.log(p)).sum(axis=1, keepdims=True)
    for confidence in (-0.5, -0.2, 0.3):
        exact = np.log((p * np.exp(confidence * centred)).sum(axis=1)).sum()
        value, slope, bend = curve(np.array([confidence, 0.0]))
        assert value == pytest.approx(exact, rel=0.02)
        near = [curve(np.array([confidence + step, 0.0]))[0] for step in (-1e-4, 1e-4)]
        assert slope[0] == pytest.approx((near[1] - near[0]) / 2e-4, rel=1e-5)
        assert bend[0, 0] == pytest.approx((near[1] - 2 * value + near[0]) / 1e-8, rel=1e-3)


def test_rare_and_absent_classes(rng):
    p, y = simulate(rng, 500, 6)
    p[:, 5] = 0
    p /= p.sum(axis=1, keepdims=True)
    found = diagnose_tally(Tally.of(np.minimum(y, 4), p, labels=range(6)))
    assert found.made
    assert diagnose_tally(Tally.of([0, 1, 2], np.eye(3))).findings == ()
    assert diagnose_tally(Tally.of([0], [[0.4, 0.3, 0.3]])).made


# ---- in the tally


def test_kept_unasked_for_few_classes(rng):
    for classes, kept in ((2, False), (3, True), (20, True), (21, False)):
        p, y = simulate(rng, 30, classes)
        assert ("diagnosis" in Tally.of(y, p, labels=range(classes)).parts) == kept
        assert ("diagnosis" in tally(p, y).parts) == (classes > 2)
    with pytest.raises(InputError, match=r"parts: 'diagnosis' takes at most 2,000 classes, here 2,001"):
        tally(np.full((2, 2001), 1 / 2001), np.zeros(2, dtype=int))


def test_without_the_part(rng):
    p, y = simulate(rng, 100, 30)
    found = diagnose_tally(Tally.of(y, p, labels=range(30)))
    assert not found.made
    assert found.verdict.startswith('No verdict: with more than two classes a tally needs the part "diagnosis"; count')
    both = Tally.of(y, p, labels=range(30)) + tally(p, y)
    assert both.parts == ()
    assert both.n_rows == 200


def test_dependent_rows(rng):
    p, y = simulate(rng, 3000, 4, biases=0.3 * np.eye(4)[1])
    groups = rng.permutation(np.arange(3000) // 30)
    y[groups < 20], p[groups < 20] = groups[groups < 20] % 4, 0.25  # all rows of a group have one outcome
    for rows in (p, p[:100]):
        n = len(rows)
        kept = Tally.of(y[:n], rows, clusters=groups[:n], parts=["shards"], labels=range(4))
        counts, whole = diagnose_tally(kept), diagnose(rows, y[:n], cluster=groups[:n])
        assert counts.p_value == pytest.approx(whole.p_value, rel=0.2, abs=2e-3)
        assert counts.errors == whole.errors
        assert diagnose_tally(Tally.from_bytes(kept.to_bytes())).to_json() == counts.to_json()
        halves = [slice(n // 3), slice(n // 3, n)]
        parts = [Tally.of(y[:n][h], rows[h], clusters=groups[:n][h], parts=["shards"], labels=range(4)) for h in halves]
        same((parts[1] + parts[0]).diagnosis, kept.diagnosis)
    few = Tally.of(y, p, clusters=groups % 3, parts=["shards"], labels=range(4))
    assert diagnose_tally(few).verdict.startswith(
        "No verdict: the test and some intervals take six clusters of dependent rows or more, here 3"
    )


def test_sums_by_shard_are_kept_where_both_have_them(rng):
    p, y = simulate(rng, 90, 3)
    with_shards, without = ClassSumsCounter(3, True), counted(p, y)
    with_shards.add(p, y, None, np.arange(90) % 7)
    both = with_shards.sums() + without
    assert not both.clustered
    same(both, without + without)


def test_a_file_keeps_it(rng, tmp_path):
    p, y = simulate(rng, 2000, 6, confidence=-0.3)
    halves = [tally(p[here], y[here]) for here in (slice(700), slice(700, None))]
    for at, each in enumerate(halves):
        each.save(tmp_path / f"{at}.tally")
    merged = Tally.load(tmp_path / "0.tally") + Tally.load(tmp_path / "1.tally")
    same(merged.diagnosis, tally(p, y).diagnosis)
    assert diagnose_tally(merged).errors == ("confidence",)


def test_the_text_says_what_is_not_told(rng):
    p, y = simulate(rng, 2000, 6, confidence=-0.3)
    assert UNTOLD in diagnose_tally(tally(p, y)).to_text(columns=1000)
    assert UNTOLD not in diagnose(p, y).to_text(columns=1000)
    assert UNTOLD.split(";")[0].split(":")[0] in str(assess(tally(p, y), resamples=0))


@pytest.mark.slow
def test_groups_have_verdicts(rng):
    p, y = simulate(rng, 4000, 4)
    over, z = simulate(rng, 4000, 4, confidence=-0.4)
    by = np.repeat(["a", "b"], 4000)
    tallies = Tallies.of(np.append(y, z), np.concatenate([p, over]), by=by)
    found = assess_by(tallies, resamples=0)
    assert found["a"].diagnosis.errors == ()
    assert found["b"].diagnosis.errors == ("confidence",)
    verdicts = dict(found.frame().select("group", "verdict").iter_rows())
    assert verdicts == {"a": found["a"].verdict, "b": found["b"].verdict}
    rows = assess_by(np.append(y, z), np.concatenate([p, over]), by=by, resamples=0)
    assert rows["b"].diagnosis.by == "rows"
    assert rows["b"].diagnosis.errors == ("confidence",)


# ---- the command line


@pytest.fixture
def table(rng, tmp_path):
    p, y = simulate(rng, 2000, 3, confidence=-0.4)
    path = tmp_path / "forecasts.csv"
    columns = {"y": y, **{f"p{at}": p[:, at] for at in range(3)}, "half": np.arange(2000) % 2}
    pl.DataFrame(columns).write_csv(path)
    return path


COLUMNS = ("--truth", "y", "--prob", "0=p0", "1=p1", "2=p2")


def test_tally_merge_assess(table, tmp_path, capsys):
    for name in "ab":
        assert cli.main(["tally", str(table), *COLUMNS, "-o", str(tmp_path / f"{name}.tally"), "-q"]) == 0
    parts = [str(tmp_path / f"{name}.tally") for name in "ab"]
    assert cli.main(["tally", *parts, "-o", str(tmp_path / "both.tally"), "-q"]) == 0
    assert cli.main(["assess", str(tmp_path / "both.tally"), "--resamples", "0"]) == 0
    assert capsys.readouterr().out.startswith("Overconfident (temperature 1.")


def test_standard_input(table, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    assert cli.main(["assess", "-", *COLUMNS, "--resamples", "0"]) == 0
    assert capsys.readouterr().out.startswith("Overconfident (temperature 1.")


@pytest.mark.slow
def test_groups_of_files(table, capsys):
    assert cli.main(["assess", str(table), *COLUMNS, "--by", "half", "--resamples", "0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Overconfident (temperature 1.")
    assert out.count(" overconfident") >= 3


def test_blocks_of_rows_are_as_one(rng):
    p, y = simulate(rng, 900, 4)
    whole = ClassSumsCounter(4)
    for block in blocks(p, y, size=101)():
        whole.add(block.p, block.truth, None)
    same(whole.sums(), counted(p, y))


@pytest.mark.slow
def test_small_and_odd_data_have_a_bounded_diagnosis():
    """Of few rows the differences that are solved with need not be positive definite; nothing may overflow."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        classes, n = int(rng.integers(3, 8)), int(rng.integers(1, 60))
        p = rng.dirichlet(np.full(classes, rng.choice([0.05, 0.3, 1, 10])), n)
        if rng.random() < 0.2:
            p = np.eye(classes)[rng.integers(0, classes, n)]
        y = rng.integers(0, classes, n) if rng.random() < 0.5 else p.argmax(axis=1)
        weights = rng.exponential(size=n) + 0.01 if rng.random() < 0.3 else None
        found = assess(Tally.of(y, p, labels=range(classes), sample_weight=weights), resamples=0).diagnosis
        assert found.made
        assert "nan" not in found.verdict
        assert "inf" not in found.verdict.replace("in f", "")


@pytest.mark.slow
def test_errors_too_large_for_counts_have_no_size_and_no_cost():
    """One step from forecasts that are far off ends anywhere: it once cost 2e4 nats a row."""
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(1000, 4))
    q = np.exp(logits)
    q /= q.sum(axis=1, keepdims=True)
    y = (q.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    p = q * np.exp([3.0, 0, 0, 0])
    p /= p.sum(axis=1, keepdims=True)
    found = diagnose_tally(Tally.of(y, p, labels=range(4)))
    assert found.verdict.startswith("Overpredicts '0' (mean prediction")
    assert "too large to be told apart or priced from counts" in found.verdict
    assert not found.cost > 0
    assert diagnose_tally(y, p).cost > 0.3  # of the rows


def test_forecasts_that_never_change_are_biased_and_not_overconfident():
    """A slope that the classes' biases explain altogether cannot be seen."""
    rng = np.random.default_rng(6)
    y, p = rng.choice(3, 500, p=[0.5, 0.3, 0.2]), np.tile([0.2, 0.3, 0.5], (500, 1))
    for found in (diagnose_tally(y, p), diagnose_tally(Tally.of(y, p, labels=range(3)))):
        assert found.errors == ("bias",)
        assert "'2'" in found.verdict


@pytest.mark.parametrize("rows", [0, 3, 40])
def test_rows_are_added_to_their_classes_few_or_many(rng, rows):
    x, truth = rng.normal(size=(rows, 6)), rng.integers(0, 6, rows)
    found = np.ones((6, 6))
    add_by_class(found, x, truth)
    expected = [1 + x[truth == each].sum(axis=0) for each in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
