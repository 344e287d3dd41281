"""Rows of two classes by their outcome, counted at the probability of the positive class."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest

from helpers import softmax_forecasts
from unperplexed import InputError, Tally
from unperplexed.tally.binary import BinaryRows, mirror
from unperplexed.tally.serialization import tally_bytes
from unperplexed.tally.tables import PairTable

LIMITS = {"by value": 1 << 16, "in cells": 10}
N = 3000


def layouts():
    rng = np.random.default_rng(7)
    p = rng.beta(0.5, 2, N)
    p[:40] = np.repeat([0.0, 1.0, 0.5, -0.0], 10)
    y = (rng.random(N) < p).astype(np.int64)
    return {
        "column": (y, p),
        "single column": (y, p.astype(np.float32)),
        "two columns": (y, np.stack([1 - p, p], axis=1)),
        "two single columns": (y, np.stack([1 - p, p], axis=1).astype(np.float32)),
    }


def positive_of(p):
    return (p if p.ndim == 1 else p[:, 1]).astype(np.float64)


def assert_same(found, expected, rtol=1e-12):
    for name in ("negative", "positive"):
        one, other = getattr(found, name), getattr(expected, name)
        assert type(one) is type(other)
        np.testing.assert_array_equal(one.key, other.key)
        for column in fields(one)[1:]:
            np.testing.assert_allclose(getattr(one, column.name), getattr(other, column.name), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("layout", layouts())
@pytest.mark.parametrize("weighted", [False, True])
class TestCounts:
    @pytest.mark.slow
    @pytest.mark.parametrize("limit", LIMITS)
    def test_sum_of_parts_is_the_whole(self, layout, weighted, limit):
        (y, p), rng = layouts()[layout], np.random.default_rng(3)
        w = rng.integers(0, 5, N) / 4 if weighted else None  # whose sums are exact
        settings = {"labels": (0, 1), "exact_limit": LIMITS[limit]}
        whole = Tally.of(y, p, sample_weight=w, **settings)
        for _ in range(2):
            pieces = np.array_split(rng.permutation(N), 7)
            parts = [Tally.of(y[i], p[i], sample_weight=None if w is None else w[i], **settings) for i in pieces]
            total = sum(parts, Tally())
            assert_same(total.binary, whole.binary, rtol=0)
            if not weighted:
                assert total.to_bytes() == whole.to_bytes()
        assert_same(Tally.of(y, p, sample_weight=w, n_jobs=3, **settings).binary, whole.binary, rtol=0)

    def test_values_are_those_of_the_rows(self, layout, weighted):
        y, p = layouts()[layout]
        w = np.random.default_rng(3).random(N) * (np.arange(N) % 9 > 0) if weighted else np.ones(N)
        tally = Tally.of(y, p, labels=(0, 1), sample_weight=w if weighted else None)
        for outcome, table in enumerate((tally.binary.negative, tally.binary.positive)):
            here = (y == outcome) & (w > 0)
            value, entry = np.unique(positive_of(p)[here] + 0.0, return_inverse=True)
            np.testing.assert_array_equal(table.key, value)
            for column in (table.total, table.happened):
                np.testing.assert_allclose(column, np.bincount(entry, w[here]), rtol=1e-12)
            np.testing.assert_allclose(table.squared, np.bincount(entry, w[here] ** 2), rtol=1e-12)

    def test_cells_are_those_of_the_values(self, layout, weighted):
        """However the rows came to be in cells."""
        y, p = layouts()[layout]
        w = np.random.default_rng(3).random(N) if weighted else None
        whole = Tally.of(y, p, labels=(0, 1), sample_weight=w)
        for limit in (0, 10, 300):
            cells = Tally.of(y, p, labels=(0, 1), sample_weight=w, exact_limit=limit)
            assert not cells.exact
            assert_same(cells.binary, whole.in_cells().binary)

    def test_mean_and_frequency(self, layout, weighted):
        y, p = layouts()[layout]
        w = np.random.default_rng(3).random(N) if weighted else np.ones(N)
        exact = sum(Fraction(float(x)) * Fraction(float(v)) for x, v in zip(positive_of(p), w, strict=True))
        for limit, near in ((1 << 16, 1e-12), (10, 1e-9)):
            tally = Tally.of(y, p, labels=(0, 1), sample_weight=w if weighted else None, exact_limit=limit)
            assert tally.positive.mean == pytest.approx(float(exact) / w.sum(), rel=near)
            assert tally.positive.frequency == pytest.approx(w[y == 1].sum() / w.sum(), rel=1e-12)


@pytest.mark.parametrize("limit", LIMITS)
class TestPairs:
    def test_with_their_mirror_images_they_are_the_pooled_pairs(self, limit):
        rng = np.random.default_rng(5)
        p = rng.integers(0, 65, N) / 64  # of which 1 - p is exact
        y = (rng.random(N) < p).astype(int)
        tally = Tally.of(y, p, exact_limit=LIMITS[limit])
        own, pooled = tally.positive_pairs(), tally.pairs()
        both = [np.concatenate(columns) for columns in zip(own, mirror(own), strict=True)]
        value, entry = np.unique(both[0], return_inverse=True)
        np.testing.assert_array_equal(value, pooled.reported)
        np.testing.assert_array_equal(np.bincount(entry, both[1]), pooled.happened)
        np.testing.assert_array_equal(np.bincount(entry, both[2]), pooled.total)

    def test_each_class_and_each_prediction(self, limit):
        """Against counting row by row, with ties and weights; values are in cells of their own."""
        rng = np.random.default_rng(6)
        p = rng.integers(0, 33, N) / 32
        y, w = (rng.random(N) < p).astype(int), rng.integers(1, 4, N) * 1.0
        tally = Tally.of(y, p, sample_weight=w, exact_limit=LIMITS[limit])
        for part in ("classes", "predictions"):
            each = tally.each_class(part)
            for of in (0, 1):
                q, happened, share = (p if of else 1 - p), y == of, np.ones(N)
                if part == "predictions":
                    share = np.where(q > 0.5, 1, np.where(q == 0.5, 0.5, 0.0))
                run = slice(int(each.first[of]), int(each.first[of + 1]))
                some = share > 0
                value, entry = np.unique(q[some], return_inverse=True)
                np.testing.assert_array_equal(each.pairs.reported[run], value)
                for found, weight in ((each.pairs.total, w * share), (each.pairs.happened, w * share * happened)):
                    np.testing.assert_allclose(found[run], np.bincount(entry, weight[some]), rtol=1e-12)
                here = (each.points.entry >= run.start) & (each.points.entry < run.stop)
                assert each.points.weight[here].sum() == pytest.approx((w * share)[happened].sum())
                assert each.points.weight_squared[here].sum() <= ((w * share) ** 2)[happened].sum() * (1 + 1e-12)
            np.testing.assert_allclose(each.points.p, each.pairs.reported[each.points.entry], rtol=1e-12)


def test_last_digits_do_not_tell_values_apart():
    tally = Tally.of([1, 0, 1], [0.3, 1 - 0.7, 0.1 + 0.2])
    assert tally.positive_pairs().reported.tolist() == [0.3]
    assert tally.positive_pairs().total.tolist() == [3]


@pytest.mark.parametrize("limit", LIMITS)
def test_layouts_and_logits_say_the_same(limit):
    y, p = layouts()["column"]
    column, matrix = (
        Tally.of(*layouts()[name], labels=(0, 1), exact_limit=LIMITS[limit]) for name in ("column", "two columns")
    )
    assert_same(column.binary, matrix.binary)
    z = np.random.default_rng(1).normal(0, 2, (N, 2))
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    of_logits, of_shares = (
        Tally.of(y, x, labels=(0, 1), scale=scale).positive_pairs()
        for x, scale in ((z, "logits"), (shares, "probability"))
    )
    for one, other in zip(of_logits, of_shares, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.slow
def test_without_the_compiled_kernel_it_is_the_same(tmp_path):
    code = (
        "import sys; sys.path[:0] = ['tests', 'tests/tally']\n"
        "from test_binary import layouts, LIMITS\n"
        "from pathlib import Path\n"
        "from unperplexed import Tally\n"
        "for i, (y, p) in enumerate(layouts().values()):\n"
        "    for j, limit in enumerate(LIMITS.values()):\n"
        f"        Tally.of(y, p, labels=(0, 1), exact_limit=limit).save(Path({str(tmp_path)!r}) / f'{{i}}{{j}}')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"UNPERPLEXED_KERNEL": "numpy"})
    for i, (y, p) in enumerate(layouts().values()):
        for j, limit in enumerate(LIMITS.values()):
            mine = Tally.of(y, p, labels=(0, 1), exact_limit=limit)
            assert_same(Tally.load(tmp_path / f"{i}{j}").binary, mine.binary)


def test_rows_left_out_are_not_in_it():
    tally = Tally.of([1, 0, 1, 1], [0.9, 0.2, np.nan, 0.6], invalid="drop")
    assert tally.binary.positive.key.tolist() == [0.6, 0.9]
    ignored = Tally.of([1, 0, 0.5], [0.9, 0.2, 0.6], ignore_label=0.5)
    assert (ignored.binary.negative.key.tolist(), ignored.binary.positive.key.tolist()) == ([0.2], [0.9])


def test_of_more_classes_there_is_none(rng):
    y, p = softmax_forecasts(rng, 100, 3)
    tally = Tally.of(y, p, labels=range(3))
    assert tally.binary is None
    assert tally.positive is None
    assert tally.positive_pairs() is None
    assert not tally.knows_classes


@pytest.mark.parametrize("limit", LIMITS)
def test_it_is_saved_and_checked(limit):
    y, p = layouts()["column"]
    tally = Tally.of(y, p, exact_limit=LIMITS[limit])
    assert_same(Tally.from_bytes(tally.to_bytes()).binary, tally.binary, rtol=0)
    negative, positive = tally.binary.negative, tally.binary.positive

    def with_column(name, change):
        column = getattr(positive, name).copy()
        column[0] = change(column)
        return BinaryRows(negative, replace(positive, **{name: column}))

    wrong = [
        BinaryRows(negative, negative),  # other rows than were counted
        BinaryRows(negative, positive.only(slice(1, None))),
        BinaryRows(negative, positive.only(slice(None, None, -1))),  # out of order
        with_column("key", lambda key: -1),
        with_column("key", lambda key: key[1]),  # twice the same
        with_column("happened", lambda x: np.nan),
        with_column("happened", lambda x: -x[0]),
        with_column("squared", lambda x: np.inf),
        with_column("total", lambda x: x[0] / 2),  # more than all happened
        with_column("total", lambda x: x[0] + 5),
    ]
    for binary in wrong:
        with pytest.raises(InputError, match="do not fit together"):
            Tally.from_bytes(tally_bytes(vars(tally) | {"binary": binary}))
    three = Tally.of([0], [[0.2, 0.3, 0.5]], labels=range(3))
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(tally_bytes(vars(three) | {"binary": BinaryRows(PairTable.empty(), PairTable.empty())}))


def test_what_does_not_know_it_takes_it_from_the_sum():
    """As a tally that an earlier version has saved."""
    y, p = layouts()["column"]
    tally = Tally.of(y, p)
    earlier = replace(tally, binary=None)
    assert (earlier + tally).binary is None
    assert (tally + earlier).positive_pairs() is None
    assert not earlier.knows_classes
    with pytest.raises(InputError, match="without the part 'classes'"):
        earlier.each_class()
