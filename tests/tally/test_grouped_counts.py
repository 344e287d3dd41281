"""Tallies of grouped counts: the same as those of the rows."""

import numpy as np
import pytest

from unperplexed import InputError, Tally


@pytest.mark.parametrize("exact_limit", [65_536, 0])
def test_it_is_the_tally_of_the_rows_to_the_last_byte(exact_limit):
    rng = np.random.default_rng(0)
    p = np.array([0.0, 1e-12, 0.2, 0.5, 0.5, 0.7, 1 - 1e-9, 1.0, 0.9])
    total = rng.integers(0, 50, p.size)
    happened = rng.binomial(total, np.where(p == 1, 0.9, p))
    rows = np.repeat(p, total)
    outcomes = np.concatenate([np.arange(n) < k for n, k in zip(total, happened, strict=True)]).astype(int)
    grouped = Tally.from_counts(p, happened, total, exact_limit=exact_limit)
    assert grouped.to_bytes() == Tally.of(outcomes, rows, exact_limit=exact_limit).to_bytes()


def test_billions_of_rows_are_counted_from_their_groups():
    found = Tally.from_counts([0.1, 0.9], [10**11, 9 * 10**11], [10**12, 10**12], labels=["no", "yes"])
    assert found.n_rows == 2 * 10**12
    assert found.labels == ("no", "yes")
    assert found.prediction_accuracy == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("happened", "total", "said"),
    [
        ([3, 1], [2, 1], r"happened: is above total in 1 row \(0;"),
        ([0.5, 1], [2, 1], "happened: is no whole number"),
        ([1, 1], [2, -1], "total: is no whole number"),
        ([1], [2, 1], "1 counts for 2 predictions"),
        ([0, 0], [2**51, 2**52], "total: "),
        (
            [0, 0],
            [3 * 2**50, 3 * 2**50],
            "total: 6,755,399,441,055,744 rows; a tally of two classes counts up to 4,503",
        ),
    ],
)
def test_counts_that_cannot_be_are_refused_with_their_rows(happened, total, said):
    with pytest.raises(InputError, match=said):
        Tally.from_counts([0.2, 0.4], happened, total)
    with pytest.raises(InputError, match="expected two"):
        Tally.from_counts([0.2], [1], [1], labels=[1])
