"""Skew: outcomes have a longer tail on one side than predicted."""

from __future__ import annotations

from ..kind import CURVED, Kind, OfDistributions, Said


def _distributions(e: OfDistributions) -> Said:
    side = "upper" if e.value > 0 else "lower"
    return KIND.clause(e.value, instead=f"outcomes have a longer {side} tail than predicted", detail=e.size()), CURVED


KIND = Kind(
    "skew",
    names=("lower tail too short", "upper tail too short"),
    terms=("skew",),
    place=10,
    noun="a skew",
    required=False,
    distributions=_distributions,
)
