"""Many tallies added up a few at a time are the sum of any two at a time, to the last byte."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from helpers import softmax_forecasts
from unperplexed import Forecasts, InputError, Tally
from unperplexed.results import Predictions
from unperplexed.scores import score_named
from unperplexed.tally import state

ALL = ("classes", "predictions", "shards", "surprises", "diagnosis")


def some_tallies(rng, classes):
    """Tallies of few rows and of many, by value and in cells, one without rows and one of nothing."""
    sizes = [int(n) for n in rng.integers(1, 120, 12)] + [0]
    parts = ALL if classes > 2 else ("shards", "classes")
    found = [Tally(exact_limit=150)]
    for at, n in enumerate(sizes):
        y, p = softmax_forecasts(rng, max(n, 1), classes)
        y, p = (y[:n], p[:n, 1] if classes == 2 else p[:n])
        labels = range(classes)
        found.append(Tally.of(y, p, parts=parts, source=f"{at}.csv", labels=labels, exact_limit=150))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("few", [2, 3, 100])
def test_a_few_at_a_time(monkeypatch, rng, classes, few):
    tallies = some_tallies(rng, classes)
    assert {tally.exact for tally in tallies} == {True, False}
    expected = reduce(add, tallies).to_bytes()
    monkeypatch.setattr(state, "_AT_ONCE", few)
    order = rng.permutation(len(tallies))
    assert Tally.merged(tallies[at] for at in order).to_bytes() == expected


def mixed_columns(rng, dtype):
    """Two columns of which some are no complements, ties, certain and very small probabilities among them."""
    y, p = softmax_forecasts(rng, 2000, 2)
    x = np.stack([1 - p[:, 1], p[:, 1]], axis=1).astype(dtype)
    x[:, 0] = np.where(rng.random(2000) < 0.7, 1 - x[:, 1], x[:, 0] * dtype(1 - 3e-4))
    x[:7] = [[0.5, 0.5], [0.4999, 0.4999], [1, 0], [1e-20, 1], [0, 0.9995], [1, 1e-42], [1 - 1e-8, 1e-8]]
    return y, x


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("certain_and_wrong", [False, True])
def test_parts_of_two_columns_are_the_whole_whether_counted_by_value_or_in_cells(rng, dtype, certain_and_wrong):
    y, x = mixed_columns(rng, dtype)
    y[2:5] = [1, 0, 0] if certain_and_wrong else [0, 1, 1]
    for exact_limit in (0, 100, 1000, 1 << 16):
        whole = Tally.of(y, x, exact_limit=exact_limit)
        parts = [Tally.of(y[at::7], x[at::7], exact_limit=exact_limit) for at in range(7)]
        assert Tally.merged(parts).to_bytes() == whole.to_bytes()
        for name in whole.scores:
            rows, _ = Forecasts(y, x).per_row(score_named(name).rows)
            near = 1e-12 if whole.exact and dtype is np.float64 else 1e-8  # of 1 - p in single precision
            assert whole.score(name) == pytest.approx(rows.mean(), rel=near)
            if np.isfinite(rows).all():
                error = rows.std(ddof=1) / np.sqrt(rows.size)
                assert whole.score_standard_error(name) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_complements_are_counted_as_one_column(rng, exact_limit, weighted):
    y, p = softmax_forecasts(rng, 500, 2)
    settings = {
        "exact_limit": exact_limit,
        "parts": ["surprises"],
        "sample_weight": np.arange(500) if weighted else None,
    }
    two = Tally.of(y, np.stack([1 - p[:, 1], p[:, 1]], axis=1), **settings)
    assert two.to_bytes() == Tally.of(y, p[:, 1], **settings).to_bytes()


def test_one_column_beside_several(rng):
    """Where one column's scores are read off its counts, and the others were summed over rows, all are in the sum."""
    y, p = softmax_forecasts(rng, 300, 2)
    one = [Tally.of(y[at::6], p[at::6, 1]) for at in range(4)]
    two = [Tally.of(y[at::6], np.log(p[at::6]), scale="log-probs") for at in (4, 5)]
    found, whole = Tally.merged([*one, *two]), Tally.of(y, p)
    assert not found.one_column
    assert found.pairs_table.total.sum() == 600
    for name in whole.scores:
        assert found.score(name) == pytest.approx(whole.score(name), rel=1e-12)


def test_any_of_many_that_does_not_belong_is_refused(rng):
    tallies = [Tally.of([1, 0], [0.8, 0.3]).tagged(period=f"2026-03-0{day}") for day in range(1, 8)]
    assert Tally.merged(tallies).tags.periods == ("2026-03-01/2026-03-07",)
    with pytest.raises(InputError, match="both have 2026-03-05"):
        Tally.merged([*tallies, tallies[4]])
    with pytest.raises(InputError, match="different fraction_bits"):
        Tally.merged([*tallies, Tally.of([1], [0.5], fraction_bits=7)])
    with pytest.raises(InputError, match="different classes"):
        Tally.merged([*tallies, Tally.of([1, 2], np.eye(3)[[0, 1]])])


def test_large_ones_are_added_up_fewer_at_a_time(monkeypatch, rng):
    tallies = [Tally.of([1, 0], [0.8, 0.3])] * 7  # of four entries
    monkeypatch.setattr(state, "_AT_ONCE", 3)
    assert [len(some) for some in state.batches(tallies)] == [3, 3, 1]
    monkeypatch.setattr(state, "_ENTRIES", 7)
    assert [len(some) for some in state.batches(tallies)] == [2, 2, 2, 1]


@pytest.mark.parametrize(("p", "q"), [([0.60001, 0.2], [0.60002, 0.2]), ([1.0, 0.0], [1.0, 0.0])])
def test_tallies_from_files_add_up_as_those_that_were_counted(p, q):
    """Also where each cell has one value, whose least and greatest a file keeps once."""
    counted = [Tally.of([1, 0], each, exact_limit=0) for each in (p, q)]
    read = [Tally.from_bytes(each.to_bytes()) for each in counted]
    both = Tally.merged(read).to_bytes()
    assert both == Tally.merged(counted).to_bytes()
    assert Tally.from_bytes(both).to_bytes() == both


def test_predictions_and_tallies_of_outcomes_do_not_add_up(tmp_path):
    tally, predictions = Tally.of([1, 0], [0.8, 0.3]), Predictions.of([0.6, 0.2])
    for sum_of in (
        lambda: tally + predictions,
        lambda: predictions + tally,
        lambda: Tally.merged([tally, predictions]),
        lambda: Tally.merged([predictions, tally]),
    ):
        with pytest.raises(InputError, match="predictions without outcomes and tallies of forecasts with outcomes"):
            sum_of()
    predictions.save(tmp_path / "day.tally")
    assert Tally.load(tmp_path / "day.tally") == predictions
