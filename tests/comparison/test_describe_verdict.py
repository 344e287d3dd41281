"""The verdict on several forecasters, one of which is first by both rules, from the tests of its pairs."""

import math
from types import SimpleNamespace

import pytest

from unperplexed.comparison.result import Difference
from unperplexed.comparison.verdict import verdict_clauses
from unperplexed.statistics.intervals import Interval

SMALL, LARGE = 0.002, 0.4


def verdict(log_loss, brier_score):
    """Of a, b and c by rising scores, given the p-values of a and b, a and c, b and c by each rule."""

    def between(first, second):
        at = ["ab", "ac", "bc"].index("".join(sorted((first, second))))
        return SimpleNamespace(
            differences={
                rule: Difference(-0.1 if first < second else 0.1, 0.05, Interval(-0.2, 0.0), p[at], p[at], 50.0, 0.0)
                for rule, p in (("log_loss", log_loss), ("brier_score", brier_score))
            }
        )

    means = {"a": 0.1, "b": 0.2, "c": 0.3}
    forecasters = {
        name: SimpleNamespace(zero_rows=0, scores={"brier_score": SimpleNamespace(mean=mean)})
        for name, mean in means.items()
    }
    compared = SimpleNamespace(forecasters=forecasters, between=between, scored_floor=0.0, confidence=0.95, skill=None)
    return "; ".join(each.words for each in verdict_clauses(compared))


@pytest.mark.parametrize(
    ("log_loss", "brier_score", "expected"),
    [
        ((SMALL, SMALL, LARGE), (SMALL, SMALL, LARGE), "a is best"),
        ((LARGE, SMALL, LARGE), (LARGE, SMALL, LARGE), "a is first by log loss, but not distinguishable from b"),
        (
            (LARGE, SMALL, LARGE),
            (SMALL, SMALL, LARGE),
            "a is best by Brier score (p <= 0.002), but not distinguishable from b (p = 0.400) by log loss",
        ),
        (
            (LARGE, SMALL, LARGE),
            (SMALL, LARGE, LARGE),
            "a is first by both scoring rules, but not distinguishable from b (p = 0.400) by log loss or from c"
            " (p = 0.400) by Brier score",
        ),
        ((math.nan,) * 3, (math.nan,) * 3, "a is first by log loss, but no p-value can be computed"),
    ],
)
def test_the_first_of_three_is_told_by_the_rules_that_show_it(log_loss, brier_score, expected):
    assert verdict(log_loss, brier_score).startswith(expected)
