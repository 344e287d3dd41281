"""Spread: predictive distributions are too narrow or too wide."""

from __future__ import annotations

import math

from ..kind import Kind, OfDistributions, Said
from ..result import Advice


def _distributions(e: OfDistributions) -> Said:
    factor, low, high = (f"{math.exp(x):#.3g}" for x in (e.value, *e.interval))
    size = f": intervals should be {factor} times as wide" if e.sizes_tell else ""
    clause = KIND.clause(e.value, more=size, detail=e.between(low, high, f"80% intervals held {e.held:.1%}"))
    return clause, Advice(f"Make the distributions {factor} times as wide.", fitted=True)


KIND = Kind(
    "spread",
    names=("too wide", "too narrow"),
    terms=("too-wide", "too-narrow"),
    place=9,
    noun="a wrong spread",
    required=False,
    plain=True,
    distributions=_distributions,
)
