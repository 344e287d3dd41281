"""How often the second of two classes was said and happened: sums that add up."""

from fractions import Fraction

import numpy as np
import pytest

from conftest import softmax_forecasts
from unperplexed import InputError, Tally
from unperplexed._tally_file import tally_bytes


def layouts(rng):
    p = rng.beta(0.5, 2, 3000)
    p[:30] = np.repeat([0.0, 1.0, 0.5], 10)
    y = (rng.random(3000) < p).astype(np.int64)
    yield y, p
    yield y, p.astype(np.float32)
    yield y, np.stack([1 - p, p], axis=1)
    yield y, np.stack([1 - p, p], axis=1).astype(np.float32)


def test_sums_are_those_of_the_rows_in_any_split(rng):
    for y, p in layouts(rng):
        positive = p if p.ndim == 1 else p[:, 1]
        exact = sum(Fraction(float(x)) for x in positive)
        for limit in (1 << 16, 10):  # counted by value, and in cells
            whole = Tally.of(y, p, labels=(0, 1), exact_limit=limit)
            assert whole.second.happened == y.sum()
            assert float(whole.second.reported) == pytest.approx(float(exact), abs=3000 * 2.0**-34)
            pieces = np.array_split(rng.permutation(3000), 7)
            parts = [Tally.of(y[i], p[i], labels=(0, 1), exact_limit=limit) for i in pieces]
            assert sum(parts, Tally()).second == whole.second == Tally.of(y, p, exact_limit=limit, n_jobs=3).second


def test_one_column_and_two_say_the_same(rng):
    (y, column), _, (_, matrix), _ = layouts(rng)
    assert Tally.of(y, column).second == Tally.of(y, matrix, labels=(0, 1)).second


def test_rows_left_out_are_not_in_it():
    tally = Tally.of([1, 0, 1, 1], [0.9, 0.2, np.nan, 0.6], drop_invalid=True)
    assert tally.second.happened == 2
    assert float(tally.second.reported) == pytest.approx(1.7, abs=1e-9)
    ignored = Tally.of([1, 0, 0.5], [0.9, 0.2, 0.6], ignore_label=0.5)
    assert float(ignored.second.reported) == pytest.approx(1.1, abs=1e-9)


def test_of_more_classes_there_is_none(rng):
    y, p = softmax_forecasts(rng, 100, 3)
    assert Tally.of(y, p, labels=range(3)).second is None


def test_it_is_saved_and_checked(rng):
    y, p = next(layouts(rng))
    tally = Tally.of(y, p)
    assert Tally.from_bytes(tally.to_bytes()).second == tally.second
    for happened, units in ((3001.0, 0), (-1.0, 0), (True, 0), (1.0, -5 << 124), (1.0, 3001 << 124)):
        wrong = type(tally.second)(happened, type(tally.second.reported)(units))
        with pytest.raises(InputError, match="do not fit together"):
            Tally.from_bytes(tally_bytes(vars(tally) | {"second": wrong}))
    three = Tally.of([0], [[0.2, 0.3, 0.5]], labels=range(3))
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(tally_bytes(vars(three) | {"second": tally.second}))
