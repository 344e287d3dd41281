"""The rows in which what happened had been given least."""

import json
import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from helpers import softmax_forecasts
from unperplexed import InputError, Tally, assess, assess_by, tally_files
from unperplexed.tally.serialization import tally_bytes
from unperplexed.tally.surprises import MOST

PART = ["surprises"]


def by_sorting(y, p, weights=None, source=""):
    """The same from all rows at once, as (given, source, row, happened, predicted, highest, weight)."""
    p = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
    w = np.ones(len(y)) if weights is None else weights
    rows = [
        (float(p[i, c]), source, i, int(c), int(p[i].argmax()), float(p[i].max()), float(w[i])) for i, c in enumerate(y)
    ]
    return tuple(sorted(row for row in rows if row[-1] > 0)[:MOST])


def cases(rng):
    p = rng.beta(0.4, 0.4, 5000)
    y = (rng.random(5000) < p).astype(np.int64)
    yield "one column", y, p
    yield "one column, single precision", y, p.astype(np.float32)
    yield "one column of few values", y, np.round(p, 1)
    yield "one value", y, np.full(5000, 0.3)
    yield "next to 0, 1/2 and 1", y, np.where(rng.random(5000) < 0.5, 1e-300, np.nextafter(0.5, 1))
    yield "few rows", y[:7], p[:7]
    many = np.linspace(0.001, 0.999, 40_000)
    yield "rising, in many runs", np.ones(many.size, dtype=int), many
    yield "falling, in many runs", np.ones(many.size, dtype=int), many[::-1].copy()
    yield "falling, single precision", np.zeros(many.size, dtype=int), many[::-1].astype(np.float32)
    ones, last = np.ones(many.size, dtype=int), np.arange(many.size) % 16_384 == 16_383
    yield "lowest at the ends of runs", ones, np.where(last, 0.01, 0.5)
    yield "falling by little", ones, 0.3 - 1e-9 * np.arange(many.size)
    yield "ten classes", *softmax_forecasts(rng, 3000, 10)
    yield "ten classes, ties", rng.integers(0, 10, 300), np.full((300, 10), 0.1)


@pytest.mark.slow
def test_they_are_those_that_sorting_finds_however_the_rows_are_split(rng):
    for name, y, p in cases(rng):
        expected = by_sorting(y, p)
        labels = range(2 if p.ndim == 1 else p.shape[1])
        assert Tally.of(y, p, labels=labels, parts=PART).surprises == expected, name
        assert Tally.of(y, p, labels=labels, parts=PART, n_jobs=3).surprises == expected, name
        cuts = np.sort(rng.choice(len(y), 4))
        ends = [0, *cuts.tolist(), len(y)]
        pieces = [Tally.of(y[a:b], p[a:b], labels=labels, parts=PART, first_row=a) for a, b in pairwise(ends)]
        assert sum((pieces[i] for i in rng.permutation(5)), Tally()).surprises == expected, name


def test_weights_and_sources_go_along(rng):
    y, p = softmax_forecasts(rng, 500, 3)
    weights = rng.integers(0, 3, 500).astype(float)
    tally = Tally.of(y, p, sample_weight=weights, labels=range(3), parts=PART, source="a.csv")
    assert tally.surprises == by_sorting(y, p, weights, "a.csv")
    other = Tally.of(y, p, labels=range(3), parts=PART, source="0.csv")
    both = tally + other
    assert both.surprises == tuple(sorted([*tally.surprises, *other.surprises])[:MOST])
    assert both.surprises == (other + tally).surprises


def test_a_negative_zero_is_zero():
    for p in (np.array([-0.0, 0.5]), np.array([[1.0, -0.0], [0.5, 0.5]])):
        assert math.copysign(1, Tally.of([1, 1], p, labels=(0, 1), parts=PART).surprises[0].probability) == 1


def test_many_rows_left_out_hide_none(rng):
    p = np.full(100, np.nan)
    p[::10] = np.linspace(0.1, 0.9, 10)
    found = Tally.of(np.ones(100, dtype=int), p, parts=PART, invalid="drop").surprises
    assert [(row.row, row.probability) for row in found] == [(at, p[at]) for at in range(0, 100, 10)]


def test_ignored_rows_hide_none():
    y = np.array([0.5] * 50 + [0, 1])
    found = Tally.of(y, np.array([0.999] * 25 + [0.001] * 25 + [0.3, 0.6]), parts=PART, ignore_label=0.5).surprises
    assert [(row.row, row.probability) for row in found] == [(51, 0.6), (50, 0.7)]


def test_rows_left_out_are_none(rng):
    p = np.array([0.9, np.nan, 0.4, 0.2])
    tally = Tally.of([0, 1, 1, 1], p, parts=PART, invalid="drop")
    assert [(row.row, row.probability) for row in tally.surprises] == [(0, 1 - 0.9), (3, 0.2), (2, 0.4)]


@pytest.mark.slow
def test_the_table_of_an_assessment(rng):
    y, p = softmax_forecasts(rng, 400, 4)
    labels = ["a", "b", "c", "d"]
    result = assess(np.array(labels)[y], p, labels=labels, floor=0.01)
    table = result.surprises
    assert len(table) == MOST
    assert [labels.index(label) for label in table.happened] == y[table.row].tolist()
    assert table.probability.tolist() == p[table.row, y[table.row]].tolist()
    assert [labels.index(label) for label in table.predicted] == p[table.row].argmax(axis=1).tolist()
    losses = -np.log(np.maximum(p[np.arange(400), y], 0.01))
    np.testing.assert_allclose(table.share, losses[table.row] / losses.sum(), rtol=1e-12)
    frame = result.frame("surprises")
    assert frame.columns == ["source", "row", "happened", "probability", "predicted", "highest", "share"]
    assert frame["happened"].to_list() == list(table.happened)
    assert "surprises" not in json.loads(result.to_json())


def test_shares_of_few_rows_add_up_to_all():
    result = assess([1, 0, 1], [0.9, 0.3, 0.0], sample_weight=[1, 2, 3])
    assert result.surprises.share.sum() == pytest.approx(1, rel=1e-12)
    assert result.surprises.row.tolist() == [2, 1, 0]


@pytest.mark.parametrize(("y", "p"), [([1, 0, 1], [0.9, 0.3, 0.0]), ([1, 0], [1.0, 0.0])])
def test_shares_of_a_log_loss_that_is_infinite_or_0(y, p):
    result = assess(y, p, floor=0, resamples=0)
    assert np.isnan(result.surprises.share).any()
    page = result.to_html()
    assert "nan %" not in page
    assert "Rows whose outcome was assigned the lowest probability." in page


def test_a_tally_without_them():
    result = assess(Tally.of([1, 0], [0.8, 0.3]))
    assert result.surprises is None
    with pytest.raises(InputError, match="parts=\\['surprises'\\] \\(--parts surprises\\)"):
        result.frame("surprises")
    without, with_them = Tally.of([1], [0.5]), Tally.of([1], [0.5], parts=PART)
    for both in (without + with_them, with_them + without):
        assert both.surprises is None
        assert both.n_rows == 2
    assert (Tally() + with_them + Tally()).surprises == with_them.surprises


def test_files_say_where_rows_are(rng, tmp_path):
    y, p = (np.arange(3000) % 3 == 0).astype(int), rng.random(3000)
    for name, here in (("one.csv", slice(0, 1000)), ("two.parquet", slice(1000, 3000))):
        frame = pl.DataFrame({"y": y[here], "p": p[here]})
        (frame.write_csv if name.endswith("csv") else frame.write_parquet)(tmp_path / name)
    paths = [str(tmp_path / name) for name in ("one.csv", "two.parquet")]
    found = tally_files(paths, truth="y", prob="p", parts=PART).surprises
    ends = {"one.csv": 0, "two.parquet": 1000}
    given = np.where(y == 1, p, 1 - p)
    for row in found:
        [end] = (end for name, end in ends.items() if row.source.endswith(name))
        assert given[end + row.row] == row.probability
    assert [row.probability for row in found] == np.sort(given)[:MOST].tolist()


def test_groups_have_those_of_all_rows(rng):
    y, p = softmax_forecasts(rng, 600, 3)
    found = assess_by(y, p, by=rng.integers(0, 4, 600), labels=range(3), resamples=0).whole
    np.testing.assert_array_equal(found.surprises.row, assess(y, p, labels=range(3)).surprises.row)


def test_they_are_saved_and_checked(rng):
    y, p = softmax_forecasts(rng, 300, 3)
    tally = Tally.of(y, p, labels=range(3), parts=["classes", *PART], source="x\ud800.csv")
    again = Tally.from_bytes(tally.to_bytes())
    assert again.surprises == tally.surprises
    assert again.to_bytes() == tally.to_bytes()
    for change in (
        lambda rows: rows[1:],
        lambda rows: rows[::-1],
        lambda rows: [rows[0]._replace(probability=-0.1), *rows[1:]],
        lambda rows: [rows[0]._replace(happened=3), *rows[1:]],
        lambda rows: [rows[0]._replace(source=1), *rows[1:]],
        lambda rows: [rows[0][:6], *rows[1:]],
        lambda rows: [rows[0]._replace(weight=2.0), *rows[1:]],
        lambda rows: [rows[0]._replace(highest=rows[0].probability / 2), *rows[1:]],
        lambda rows: [rows[0]._replace(probability=False), *rows[1:]],
        lambda rows: [rows[0]._replace(row=True), *rows[1:]],
    ):
        state = vars(tally) | {"surprises": tuple(change(list(tally.surprises)))}
        with pytest.raises(InputError, match="do not fit together"):
            Tally.from_bytes(tally_bytes(state))
