"""Intervals and bands, and the settings they are made by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._lib.by_value import ByValue
from .._lib.errors import InputError, check_seed, is_whole
from .._lib.typing import Floats, ReadOnlyArrays


class Interval(NamedTuple):
    """Lower and upper limit of a figure, NaN where it has none."""

    low: float
    high: float


class Metric(NamedTuple):
    """A metric with its standard error and confidence interval; NaN where there is none."""

    value: float = math.nan
    standard_error: float = math.nan
    interval: Interval = Interval(math.nan, math.nan)


Metric.__getattr__ = ByValue.__getattr__  # type: ignore[attr-defined]  # other names are told ours


@dataclass(frozen=True)
class Band(ReadOnlyArrays):
    """Limits of a curve of measured over reported probability, each point by itself."""

    reported: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Sampling:
    """Confidence level and bootstrap settings."""

    confidence: float = 0.95
    resamples: int = 400
    seed: int = 0


def wilson(share: float, rows: float, reach: float) -> Interval:
    """Interval of a share of so many rows that reaches so many standard errors (Wilson 1927)."""
    z2 = reach * reach
    centre = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = math.sqrt(z2 * max(share * (1 - share), 0.0) / rows + (z2 / (2 * rows)) ** 2) / (1 + z2 / rows)
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0))


_FEWEST, _MOST = 40, 20_000
"""Samples: with fewer there is none beyond 95 % limits on either side; more need gigabytes."""


def alpha_of(confidence: float) -> float:
    """Return the probability of an error that a confidence level leaves: .05 for .95, where 1 - .95 is above it."""
    return round(1 - confidence, 12)


def checked_sampling(confidence: float, resamples: int, seed: int) -> Sampling:
    """Refuse a confidence that is none, and numbers of samples and seeds that are no whole numbers."""
    if not isinstance(confidence, float | np.floating) or not 0 < confidence < 1:
        raise InputError(f"confidence: expected a number between 0 and 1, such as 0.95, got {confidence!r}.")
    if not (is_whole(resamples, _FEWEST, _MOST) or is_whole(resamples, 0, 0)):
        raise InputError(f"resamples: expected 0, or a whole number from {_FEWEST} to {_MOST:,}, got {resamples!r}.")
    return Sampling(float(confidence), int(resamples), check_seed(seed))
