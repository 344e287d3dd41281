"""Tables add up as a dictionary of their keys would, by the compiled kernel and without it."""

from dataclasses import fields

import numpy as np
import pytest

from unperplexed.tally import tables
from unperplexed.tally.class_tables import ClassPairCells, ClassPairTable, paired
from unperplexed.tally.shards import ShardRows, ShardScores
from unperplexed.tally.tables import Cells, PairTable

KINDS = (PairTable, Cells, ClassPairTable, ClassPairCells, ShardRows, ShardScores)


def table(rng, kind, size):
    values = rng.choice(3 * size + 1, size, replace=False) / (3 * size + 1)
    if kind is ClassPairTable:
        key = np.unique(paired(rng.integers(0, 3, size), values))
    else:
        key = np.unique(values if kind is PairTable else (values * 997).astype(np.int64))
    columns = [rng.integers(0, 1 << 20, key.size).astype(float) for _ in fields(kind)[1:]]
    return kind(key, *columns)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("one", "other"), [(0, 0), (0, 5), (1, 1), (40, 300), (300, 300)])
def test_entries_with_the_same_key_become_one(monkeypatch, rng, kind, one, other):
    a, b = table(rng, kind, one), table(rng, kind, other)
    expected = {}
    for each in (a, b):
        for key, *row in zip(*(getattr(each, f.name) for f in fields(kind)), strict=True):
            before = expected.get(key)
            kept = [{"low": min, "high": max}.get(f.name, lambda x, y: x + y) for f in fields(kind)[1:]]
            expected[key] = row if before is None else [f(x, y) for f, x, y in zip(kept, before, row, strict=True)]
    keys = sorted(expected, key=lambda key: (key.real, key.imag))
    for kernel in (tables._kernel, None):
        monkeypatch.setattr(tables, "_kernel", kernel)
        for both in (a + b, b + a):
            assert both.key.tolist() == keys
            assert both.key.dtype == kind.key_type
            for at, field in enumerate(fields(kind)[1:]):
                assert getattr(both, field.name).tolist() == [expected[key][at] for key in keys]


def test_equal_columns_stay_one():
    """The weights of rows that all weigh 1 are their squares: they are added once."""
    if tables._kernel is None:
        pytest.skip("the compiled kernel was not built")
    n = np.ones(3)
    a, b = (PairTable(np.array(key), n + 1, n, n) for key in ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]))
    both = a + b
    assert both.happened is both.squared
    assert both.squared.tolist() == [1, 2, 2, 1]
    assert both.total.tolist() == [2, 4, 4, 2]


@pytest.mark.parametrize("kernel", [tables._kernel, None])
def test_equal_columns_are_kept_each_in_its_own_way(monkeypatch, kernel):
    """As files give them: of cells with one value each the least and the greatest are one array, and may be counts."""
    monkeypatch.setattr(tables, "_kernel", kernel)
    key, none = np.array([5]), np.zeros(1)
    a, b = (Cells(key, *[np.ones(1)] * 3, *[none] * 3, x, x) for x in (np.array([0.25]), np.array([0.75])))
    assert [float(x[0]) for x in ((a + b).total, (a + b).low, (a + b).high)] == [2, 0.25, 0.75]
    one = np.ones(1)
    same = Cells(key, *[one] * 3, *[none] * 3, one, one)
    assert [float(x[0]) for x in ((same + same).total, (same + same).low, (same + same).high)] == [2, 1, 1]


def test_what_rounds_to_one_half_as_its_complement_does_is_one_half():
    value = np.array([0.25, np.nextafter(0.5, 0), 0.5, 0.75])
    assert (1 - value[1], tables.same_probability(value).tolist()) == (0.5, [0, 1, 1, 2])
