"""Permuted columns of more than two classes: found where they are planted, and nowhere else; said first, and mended."""

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import module_of
from many_classes import diagnose, prepared, simulate
from unperplexed import Tally, assess, explain
from unperplexed import diagnose as diagnose_rows
from unperplexed.calibration.diagnosis.permutations import OutcomeSums, permutation_of_rows
from unperplexed.cli import parser as cli
from unperplexed.describe.diagnosis import UNORDERED, diagnosis_parts
from unperplexed.tally.class_sums import ClassSums, length

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")

REFERENCE = Path(os.environ.get("UNPERPLEXED_DATA", "")).parent / "reference" / "real_data_reference.py"
KINDS = ["exchange", "two exchanges", "three-cycle", "shift", "back", "reverse", "text"]


def permutation_of(p, y, labels, **kinds):
    sums = OutcomeSums.none(p.shape[1])
    return permutation_of_rows(prepared(p, y, every=[sums.read], **kinds), sums, labels)


def order_of(rng, classes, kind):
    """Which class each column holds."""
    at = np.arange(classes)
    if kind in ("exchange", "two exchanges", "three-cycle"):
        some = rng.permutation(classes)[: {"exchange": 2, "two exchanges": 4, "three-cycle": 3}[kind]]
        at[some] = some[[1, 0, 3, 2][: len(some)] if kind != "three-cycle" else [1, 2, 0]]
        return at
    orders = {"shift": np.roll(at, 1), "back": np.roll(at, -1), "reverse": at[::-1], "nothing": at}
    return orders[kind] if kind in orders else np.array(sorted(at, key=str))


def found(p, y, labels=None):
    return permutation_of(p, y, labels or range(p.shape[1]))


# ---- found where it is planted


@pytest.mark.parametrize("kind", KINDS)
def test_planted_orders_are_found_exactly(rng, kind):
    p, y = simulate(rng, 700, 12)
    holds = order_of(rng, 12, kind)
    moved = found(p[:, holds], y)
    assert moved.right(range(12)) == tuple(holds)
    np.testing.assert_array_equal(p[:, holds][:, moved.columns], p)
    mine = np.arange(700), y
    before, after = (-np.log(np.maximum(x[mine], 1e-4 / 12)).mean() for x in (p[:, holds], p))
    assert moved.log_loss == pytest.approx(before)
    assert moved.gain == pytest.approx(before - after)
    assert bool(moved.order) == (kind in ("shift", "back", "reverse", "text"))


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ([1, 0, 2, 3, 4], "columns 'a' and 'b' look exchanged: log loss "),
        ([1, 2, 0, 3, 4], "columns 'a', 'b' and 'c' look permuted: log loss "),
        ([1, 2, 3, 4, 0], "columns look shifted by one: log loss "),
        ([4, 3, 2, 1, 0], "columns look in reversed order: log loss "),
        ([1, 0, 3, 4, 2], "5 of 5 columns look permuted: log loss "),
    ],
)
def test_what_is_said(rng, holds, said):
    p, y = simulate(rng, 500, 5)
    finding = diagnose(p[:, holds], y, labels=tuple("abcde")).findings[0]
    assert finding.words.startswith(said)
    assert ", exchanged " in finding.words if "exchanged:" in said else ", in the right order " in finding.words
    assert finding.column_labels == tuple("abcde"[at] for at in holds)
    assert f"in their order they look like {', '.join(repr(x) for x in finding.column_labels)}." in finding.remedy
    assert finding.parameter == sum(at != held for at, held in enumerate(holds))
    assert finding.explanation == explain("columns permuted")


def test_columns_sorted_by_number_under_labels_sorted_as_text(rng):
    p, y = simulate(rng, 1000, 12)
    labels = tuple(sorted(map(str, range(12))))  # column j holds class j, and is called labels[j]
    at = np.array([labels.index(str(k)) for k in y])
    moved = found(p, at, labels)
    assert moved.order == "sorted as numbers"
    assert moved.right(labels) == tuple(map(str, range(12)))


def test_other_errors_are_those_of_the_columns_named_rightly(rng):
    p, y = simulate(rng, 3000, 6, confidence=-0.35)
    holds = np.array([0, 3, 2, 1, 4, 5])
    right, wrong = diagnose(p, y), diagnose(p[:, holds], y)
    assert right.errors == ("confidence",)
    assert wrong.errors == ("permuted", "confidence")
    assert wrong.findings[1] == right.findings[0]
    assert "; once they are named rightly, overconfident (temperature " in wrong.verdict
    assert wrong.headline == "Columns permuted, overconfident"
    assert wrong.cost == pytest.approx(wrong.findings[0].cost + right.cost)
    assert wrong.p_value < 1e-6
    assert "pointing" not in wrong.verdict


def test_logits_are_reordered_as_they_came(rng):
    p, y = simulate(rng, 1500, 4, confidence=-0.4)
    logits = 300 * np.log(p)  # whose probabilities are 0 in many places
    holds = [1, 0, 2, 3]
    right = diagnose_rows(y, logits, scale="logits", labels=range(4))
    wrong = diagnose_rows(y, logits[:, holds], scale="logits", labels=range(4))
    assert wrong.errors == ("permuted", *right.errors)
    assert wrong.temperature == right.temperature
    assert ", with probabilities of at least 2.5e-05" in wrong.verdict


def test_hard_forecasts(rng):
    y = rng.integers(0, 4, 300)
    holds = np.array([2, 1, 0, 3])
    p = np.eye(4)[y][:, holds]
    wrong = diagnose(p, y)
    assert wrong.errors == ("permuted",)
    assert wrong.findings[0].column_labels == (2, 1, 0, 3)
    assert not diagnose(np.eye(4)[y], y).miscalibrated


def test_weights_count_as_rows(rng):
    p, y = simulate(rng, 400, 4)
    p = p[:, [1, 0, 2, 3]]
    twice, weighted = diagnose(np.repeat(p, 2, 0), np.repeat(y, 2)), diagnose(p, y, np.full(400, 3.0))
    assert weighted.findings[0].cost == pytest.approx(twice.findings[0].cost)
    assert weighted.findings[0].words == twice.findings[0].words


@pytest.mark.parametrize(("clusters", "size"), [(15, 100), (40, 50), (128, 20)])
def test_repeated_rows_in_clusters_are_no_evidence(rng, clusters, size):
    """Few rows without skill that happen to look permuted are as little evidence if each is there many times."""
    as_rows, as_clusters = 0, 0
    for _ in range(20):
        p, y = simulate(rng, clusters, 3, confidence=-1)
        p, y, cluster = (np.repeat(x, size, axis=0) for x in (p, y, np.arange(clusters)))
        as_rows += found(p, y) is not None
        as_clusters += permutation_of(p, y, range(3), cluster=cluster) is not None
    assert as_rows > 2
    assert not as_clusters


def test_clusters_of_a_row_are_rows(rng):
    p, y = simulate(rng, 400, 4)
    p = p[:, [1, 0, 2, 3]]
    rows, clusters = (permutation_of(p, y, range(4), cluster=c) for c in (None, np.arange(400)))
    assert clusters.p_value == pytest.approx(rows.p_value)
    assert clusters.columns == rows.columns


# ---- and nowhere else

CALIBRATED, TEMPERED, NO_SKILL = {}, {"confidence": 2.0}, {"confidence": -1.0}


def designs(rng, classes, n):
    """Forecasts with every error but a permutation: calibrated, tempered, without skill, with biased classes."""
    for errors in (CALIBRATED, TEMPERED, NO_SKILL):
        yield simulate(rng, n, classes, **errors)
    p, y = simulate(rng, n, classes)
    sharp = p**3
    yield sharp / sharp.sum(axis=1, keepdims=True), rng.permutation(y)
    for spread in (1, 2):
        biased = p * np.exp(spread * rng.normal(size=classes))
        yield biased / biased.sum(axis=1, keepdims=True), y


@pytest.mark.parametrize(
    ("classes", "n", "times"),
    [
        (3, 300, 8),
        (10, 500, 4),
        pytest.param(3, 300, 150, marks=pytest.mark.slow),
        pytest.param(10, 500, 80, marks=pytest.mark.slow),
        pytest.param(100, 2000, 5, marks=pytest.mark.slow),
        pytest.param(1000, 3000, 1, marks=pytest.mark.slow),
    ],
)
def test_no_false_alarm(rng, classes, n, times):
    alarms = [found(p, y) for _ in range(times) for p, y in designs(rng, classes, n)]
    assert alarms == [None] * 6 * times


# ---- the oracle


@pytest.fixture(scope="module")
def reference():
    if not REFERENCE.exists():
        pytest.skip("there is no reference")
    return module_of(REFERENCE)


@pytest.mark.parametrize("sets", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_choices_are_those_of_the_oracle(rng, reference, sets):
    """Several cycles of the assignment are said together: they exclude each other in no way."""
    chosen = 0
    for _ in range(sets):
        classes, n = int(rng.choice([3, 5, 10, 12, 30])), int(rng.choice([100, 300, 1000, 3000]))
        p, y = simulate(rng, n, classes, confidence=float(rng.choice([-1, -0.5, 0, 1])))
        p = p[:, order_of(rng, classes, str(rng.choice([*KINDS[: 1 if classes < 4 else 7], "nothing"])))]
        oracle, mine = reference.swaps(y, p), found(p, y)
        named = [gain for name, _, _, gain in oracle if isinstance(name, str)]
        cycles = [gain for name, _, _, gain in oracle if not isinstance(name, str)]
        expected = max([*named, sum(cycles)], default=0)
        assert (0.0 if mine is None else mine.gain) == pytest.approx(expected, abs=1e-5)  # logarithms are rounded
        chosen += mine is not None
    assert 0.2 * sets < chosen < 0.95 * sets


# ---- from tallies


@pytest.mark.parametrize("kind", ["exchange", "shift", "text"])
def test_a_tally_says_the_same_in_any_split(rng, kind):
    p, y = simulate(rng, 900, 12)
    p = p[:, order_of(rng, 12, kind)]
    order = rng.permutation(900)
    whole = Tally.of(y, p, labels=range(12))
    parts = [Tally.of(y[some], p[some], labels=range(12)) for some in np.split(order, [1, 300, 555])]
    merged = sum(parts[1:], start=parts[0])
    assert merged.to_bytes() == whole.to_bytes()
    rows, counts = diagnose(p, y), diagnose_rows(Tally.from_bytes(merged.to_bytes()))
    assert counts.errors == ("permuted",)
    assert counts.findings[0].column_labels == rows.findings[0].column_labels
    assert counts.findings[0].words == rows.findings[0].words
    assert "count the rows anew" in counts.findings[0].remedy


def test_a_tally_with_weights(rng):
    p, y = simulate(rng, 900, 5)
    p, w = p[:, [1, 0, 2, 3, 4]], rng.uniform(0.5, 1.5, 900)
    rows = diagnose(p, y, w).findings[0]
    counts = diagnose_rows(Tally.of(y, p, labels=range(5), sample_weight=w)).findings[0]
    assert counts.cost == pytest.approx(rows.cost, rel=1e-3)
    assert counts.column_labels == rows.column_labels


def test_parts_without_these_sums_say_that_they_were_not_looked_for(rng):
    p, y = simulate(rng, 900, 5)
    now = Tally.of(y, p[:, [1, 0, 2, 3, 4]], labels=range(5))
    size = length(5, by_outcome=False)
    nothing = ClassSums(5, *np.zeros((2, size), dtype=np.int64), np.zeros(size), by_outcome=False)
    earlier = replace(now, diagnosis=now.diagnosis + nothing)
    for tally in (earlier, Tally.from_bytes(earlier.to_bytes()), now + earlier):
        found = diagnose_rows(tally)
        assert "permuted" not in found.errors
        assert UNORDERED in diagnosis_parts(found).others
    assert UNORDERED not in diagnosis_parts(diagnose_rows(now)).others


# ---- what mends it


@pytest.fixture
def exchanged(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    p, y = simulate(rng, 600, 3)
    names = np.array(["cat", "dog", "fox"])
    columns = {"y": names[y], "p_cat": p[:, 1], "p_dog": p[:, 0], "p_fox": p[:, 2]}
    pl.DataFrame(columns).write_csv("named.csv")
    pl.DataFrame({"y": y, "p": p[:, [1, 0, 2]].tolist()}).write_parquet("lists.parquet")
    return p, y


READ = [
    "named.csv --truth y --prob p_cat p_dog p_fox",
    "lists.parquet --truth y --prob p",
    "named.csv --truth y --prob p_*",
    "named.csv --truth y --prob cat=p_cat dog=p_dog fox=p_fox",
    "lists.parquet --truth y --prob p --labels 0 1 2",
]


@pytest.mark.parametrize(
    ("command", "read"),
    [
        *(("assess", read) for read in READ[:2]),
        *(pytest.param("assess", read, marks=pytest.mark.slow) for read in READ[2:]),
        *(pytest.param("recalibrate", read, marks=pytest.mark.slow) for read in (READ[0], READ[4])),
    ],
)
def test_the_printed_command_names_the_columns_rightly(exchanged, capsys, read, command):
    p, y = exchanged
    options = ["-o", "map.json"] if command == "recalibrate" else ["--resamples", "0"]
    assert cli.main([command, *shlex.split(read), *options]) in (0, None)
    shown = capsys.readouterr()
    text = shown.out if command == "assess" else shown.err
    assert "look exchanged" in text.lower()
    again = text[text.index(f"unperplexed {command} ") :].replace("\\\n", " ")
    words = shlex.split(again[: again.index("\nMore")] if command == "assess" else again)
    assert cli.main([*words[1:], "--json", "after.json"]) in (0, None)
    shown = capsys.readouterr()
    assert "look exchanged" not in (shown.out + shown.err).lower()
    if command == "assess":
        loss = -np.log(p[np.arange(600), y]).mean()
        after = pl.read_json("after.json")
        assert after["scores"][0]["log_loss"] == pytest.approx(loss)


@pytest.mark.slow
def test_the_line_of_python_names_the_columns_rightly(exchanged):
    p, y = exchanged
    y_true, y_prob = np.array(["cat", "dog", "fox"])[y], pl.read_csv("named.csv")[["p_cat", "p_dog", "p_fox"]]
    assessment = assess(y_true, y_prob)
    assert assessment.remedy is None
    assert assessment.untried_remedy is None
    line = next(line.strip() for line in str(assessment).splitlines() if line.strip().startswith("assess(y_true"))
    after = eval(line, {"assess": assess, "np": np, "y_true": y_true, "y_prob": y_prob})
    assert after.scores["log_loss"] == pytest.approx(-np.log(p[np.arange(600), y]).mean())
    assert "permuted" not in after.diagnosis.errors
    assert assessment.to_flat()["columns-permuted"] == 1.0
    assert assessment.to_flat()["pointing-away"] == after.to_flat()["columns-permuted"] == 0.0


def test_a_gate_fails_for_permuted_columns(exchanged, capsys):
    read = "named.csv --truth y --prob p_cat p_dog p_fox"
    assert cli.main(["check", *read.split(), "--require", "verdict not in (columns-permuted)"]) == 1
    assert "columns-permuted" in capsys.readouterr().out


@pytest.mark.slow
def test_scipy_is_loaded_only_where_a_permutation_may_be(tmp_path):
    code = """
import sys, numpy as np
from unperplexed import diagnose
rng = np.random.default_rng(0)
z = rng.normal(size=(600, 4))
p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
y = (p.cumsum(axis=1) < rng.uniform(size=(600, 1))).sum(axis=1).clip(max=3)
sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
assert diagnose(y, sharp, labels=range(4)).errors == ("confidence",)
assert "scipy.optimize" not in sys.modules
assert diagnose(y, p[:, [1, 0, 2, 3]], labels=range(4)).errors == ("permuted",)
assert "scipy.optimize" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
