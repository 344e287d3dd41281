"""What an estimator gives, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from ..._lib.errors import InputError, check_whole
from ..._lib.typing import Floats, Ints


class Estimate(NamedTuple):
    """Measured probability of each entry of the pairs, and the bin it is read in."""

    measured: Floats
    bin: Ints
    """Index of each entry's bin, from 0, non-decreasing. Estimators without bins give some to read the result in."""
    settings: Mapping[str, float]
    """What was set or found by the estimator's rule, such as the number of bins."""


def frequencies(happened: Floats, total: Floats, bin_: Ints) -> Floats:
    """How often what each entry's bin speaks of happened."""
    found: Floats = (np.bincount(bin_, happened) / np.bincount(bin_, total))[bin_]
    return found


def with_ends_apart(
    reported: Floats, happened: Floats, total: Floats, curve: Callable[[Floats, Floats, Floats], Floats]
) -> Floats:
    """Measure by a curve over the log-odds of what lies between 0 and 1; exact 0 and 1 are groups of their own."""
    measured = happened / total
    between = (reported > 0) & (reported < 1)
    if between.any():
        measured[between] = curve(logit(reported[between]), happened[between], total[between])
    return measured


def ends_apart(reported: Floats, bin_of: Callable[[Ints], Ints]) -> Ints:
    """Bins of what lies between 0 and 1, and exact 0 and 1 in bins of their own."""
    between = (reported > 0) & (reported < 1)
    bin_ = np.zeros(reported.size, dtype=np.int64)
    if between.any():
        bin_[between] = bin_of(np.flatnonzero(between)) + 1
    bin_[reported == 1] = bin_.max(initial=0) + 1
    return np.cumsum(np.diff(bin_, prepend=bin_[:1]) != 0)


def number_of_bins(bins: int | None, happened: Floats) -> int:
    """Give the number asked for, or (2N)^(1/3) rounded up (Terrell and Scott 1985), N the weight of what happened."""
    if bins is None:
        return max(int(np.ceil(round((2 * float(happened.sum())) ** (1 / 3), 9))), 1)
    return check_whole("bins", bins)


def checked_positive(name: str, value: float) -> float:
    """Refuse what is no finite number above 0."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < value < np.inf:
        raise InputError(f"{name}: expected a finite number above 0, got {value!r}.")
    return float(value)
