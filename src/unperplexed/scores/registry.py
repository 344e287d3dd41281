"""Scoring rules by name: one value for each row of a block.

`SCORES` has the rules that need only the per-row primitives; tallies, metrics, the command line and reports compute
them. The other rules read the whole row, or take a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import at_floor_text, rule_text
from .._lib.typing import Floats
from ..forecasts.forecasts import Block, Forecasts
from ..statistics.means import apply_limit
from .rules import RULES, Score, generalized_surprisal, power_score, ranked_probability_score

SCORES: Mapping[str, Score] = MappingProxyType({score.name: score for score in RULES})
"""Scoring rules by name that are functions of the per-row primitives; every tally keeps their sums."""

LOG_LOSS, BRIER_SCORE = "log_loss", "brier_score"
"""Rules that every verdict on differences goes by; both proper, and better when smaller."""


_RANKED = Score("ranked_probability_score", ranked_probability_score, note="for ordered classes")

_PARAMETRIC: Mapping[str, Callable[[float, str], Score]] = {
    "generalized_surprisal": lambda r, name: Score(
        name, partial(generalized_surprisal, r=r), proper=r == 0, note="proper only of order 0", surprisal=True
    ),
    "power_score": lambda r, name: Score(name, partial(power_score, r=r), note="proper at every order"),
}


_PRINTED = {
    "accuracy": "accuracy > 0.8",
    "auc": "auc > 0.8",
    "averages_slope": "averages_slope > 0.5",
    "bias": "bias < 0.01",
    "cost": "cost < 0.01",
    "ece": "ece < 0.02",
    "intercept": "intercept < 0.1",
    "slope": "slope > 0.8",
}
"""Metrics that are no means of scores over rows, each with a requirement."""


def score_named(name: str) -> Score:
    """Find a scoring rule by its name, with an order in brackets if it has one. `Score` states the better direction.

    Parameters
    ----------
    name : str
        A name in `SCORES`, ``"ranked_probability_score"``, ``"power_score(r)"`` or
        ``"generalized_surprisal(r)"`` with a number r above -1.

    Returns
    -------
    Score
        The rule; its name has the order in its shortest form.

    Raises
    ------
    InputError
        For an unknown name, with the list of names; for an order that is not a finite number above -1.

    Examples
    --------
    >>> from unperplexed.scores import score_named
    >>> score_named("power_score(.50)").name
    'power_score(0.5)'
    >>> score_named("spherical_score").larger_is_better
    True
    """
    plain = {**SCORES, _RANKED.name: _RANKED}
    if isinstance(name, str) and name in plain:
        return plain[name]
    parts = re.fullmatch(r"(\w+)\((.*)\)", str(name))
    if parts and parts[1] in _PARAMETRIC:
        r = checked_order(parts[2])
        return _PARAMETRIC[parts[1]](r, f"{parts[1]}({repr(r).removesuffix('.0')})")
    if isinstance(name, str) and name in _PRINTED:
        raise InputError(
            f"metrics (--metric): {name!r} is no scoring rule: assessments print it where it is known, and a gate"
            f" takes it, such as check --require '{_PRINTED[name]}'."
        )
    known = [*plain, *(f"{rule}(r)" for rule in _PARAMETRIC)]
    near = get_close_matches(str(name), known, n=1)
    raise InputError(
        f"metrics: no scoring rule {name!r}{f'; did you mean {near[0]!r}?' if near else '.'} Known: {', '.join(known)}."
    )


def is_printed(rule: str, asked: Sequence[str]) -> bool:
    """Whether text has a rule: one that it has unasked, or that was asked for by name."""
    return rule not in SCORES or SCORES[rule].headline or rule in asked


def scores_kept(names: Sequence[str]) -> tuple[Score, ...]:
    """Rules of `SCORES`, followed by the other named ones, in an order that does not depend on that of the names."""
    if isinstance(names, str):
        raise InputError(f"metrics: expected a list of names, got {names!r}; one is [{names!r}].")
    others = {score.name: score for score in map(score_named, names) if score.name not in SCORES}
    return (*SCORES.values(), *(others[name] for name in sorted(others)))


def scores_at_floor(score: Score, block: Block, floor: float) -> Floats:
    """Score of each row; surprisals clip the correct-class probability to the floor, so that they are finite."""
    if score.surprisal:
        block = replace(block, rows=replace(block.rows, correct=apply_limit(block.rows.correct, floor)))
    return score.rows(block)


def rule_at_floor(rule: str, floor: float) -> str:
    """Name a scoring rule in words, a surprisal with its floor: "log loss at the floor 0.005"; 0 for none."""
    return f"{rule_text(rule)} {at_floor_text(floor)}" if floor and score_named(rule).surprisal else rule_text(rule)


def scores_by_outcome(score: Score, block: Block, floor: float = 0.0) -> Floats:
    """Score that each row would have for each possible outcome: (rows, classes). Surprisals are at the floor."""
    columns = []
    for code in range(block.rows.n_classes):
        columns.append(scores_at_floor(score, block.if_true(code), floor))
    return np.stack(columns, axis=1)


def score_reach(score: Score, n_classes: int, floor: float = 0.0) -> tuple[float, float]:
    """Smallest and largest score of a row; surprisals are at the floor.

    Both occur for a forecast that is certain of the first class: if it is observed, and if another class (for ordered
    classes the last) is.
    """
    certain, truth = np.zeros((2, n_classes)), np.array([0, n_classes - 1])
    certain[:, 0] = 1
    block = next(Forecasts(truth, certain, known_labels=tuple(range(n_classes))).blocks())
    values = scores_at_floor(score, block, floor)
    return float(values.min()), float(values.max())


def checked_order(r: Any) -> float:
    """Raise an error for an order that is not a finite number above -1."""
    try:
        order = float(r)
    except (TypeError, ValueError):
        order = np.nan
    if not -1 < order < np.inf:
        raise InputError(f"r: the order must be a finite number above -1, got {r!r}.")
    return order + 0.0  # no negative zero
