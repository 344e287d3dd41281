"""Paired differences group by group, corrected for how many groups and pairs are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .._lib.typing import Floats, Ints
from ..forecasts.group_keys import Key
from ..statistics.standard_errors import holm
from .result import Difference, GroupDifferences, PairDifferences

Pair = tuple[str, str]


def group_differences(
    groups: Iterator[tuple[Key, Ints]],
    weights: Floats,
    of_rows: Callable[[Ints], Mapping[str, Mapping[Pair, Difference]]],
) -> tuple[GroupDifferences, ...]:
    """Compare within each group, by what gives the differences in some rows by rule and pair; adjust p-values."""
    keys, rows = zip(*found, strict=True) if (found := [*groups]) else ((), ())
    differences = _adjusted([of_rows(each) for each in rows])
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


def _adjusted(
    groups: Sequence[Mapping[str, Mapping[Pair, Difference]]],
) -> list[dict[str, dict[Pair, Difference]]]:
    """Adjust the p-values of a rule for all groups and pairs."""
    adjusted: list[dict[str, dict[Pair, Difference]]] = [{} for _ in groups]
    for rule in groups[0] if groups else ():
        p = holm(np.array([each.p_value for group in groups for each in group[rule].values()]))
        values = iter(p.tolist())
        for of_group, group in zip(adjusted, groups, strict=True):
            of_group[rule] = {pair: replace(each, adjusted_p_value=next(values)) for pair, each in group[rule].items()}
    return adjusted
