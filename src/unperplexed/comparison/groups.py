"""Paired differences group by group, judged together for all groups and pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .._lib.typing import Floats, Ints
from ..forecasts.group_keys import Key
from .result import GroupDifferences, PairDifferences
from .samples import Pair, Tested, judged


def group_differences(
    groups: Iterator[tuple[Key, Ints]],
    weights: Floats,
    of_rows: Callable[[Ints], Mapping[str, Mapping[Pair, Tested]]],
    confidence: float,
) -> tuple[GroupDifferences, ...]:
    """Compare within each group, by what gives the differences in some rows by rule and pair."""
    keys, rows = zip(*found, strict=True) if (found := [*groups]) else ((), ())
    differences = judged([of_rows(each) for each in rows], confidence)
    return tuple(
        GroupDifferences(
            key,
            each.size,
            float(weights[each].sum() / weights.sum()),
            tuple(
                PairDifferences(*pair, {rule: of_pair[pair] for rule, of_pair in by_rule.items()})
                for pair in next(iter(by_rule.values()))
            ),
        )
        for key, each, by_rule in zip(keys, rows, differences, strict=True)
    )
