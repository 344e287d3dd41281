"""Level: predictive distributions are too low or too high the more, the higher what they predict."""

from __future__ import annotations

from ..kind import Kind, OfDistributions, Said
from ..result import Advice


def _distributions(e: OfDistributions) -> Said:
    verb = "rises" if e.value > 0 else "falls"
    low, high = (f"too {'low' if x > 0 else 'high'} by {abs(x):.2f}" for x in e.ends)
    sizes = f": {low} spreads at its 10th percentile, {high} at its 90th" if e.sizes_tell else ""
    clause = KIND.clause(e.value, instead=f"the bias {verb} with the predicted level{sizes}", detail=e.size())
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
