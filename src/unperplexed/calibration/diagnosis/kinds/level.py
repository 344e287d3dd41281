"""Level: predictive distributions are too low or too high the more, the higher what they predict."""

from __future__ import annotations

from ..kind import Kind, OfDistributions, Said
from ..result import Advice


def _distributions(e: OfDistributions) -> Said:
    verb = "rises" if e.value > 0 else "falls"
    low, high = (e.signed(x) for x in e.ends)
    more = (
        f" with the predicted level: {low} spreads at its 10th percentile, {high} at its 90th" if e.sizes_tell else ""
    )
    clause = KIND.clause(e.value, instead=f"the bias {verb}{more or ' with the predicted level'}", detail=e.size())
    return clause, Advice("Shift the distributions by a line in the predicted level.", fitted=True)


KIND = Kind(
    "level",
    names=("biased by level",),
    terms=("level",),
    place=11,
    noun="a bias that depends on the predicted level",
    required=False,
    distributions=_distributions,
)
