"""Follow: the predicted spread differs more between forecasts than the errors do, or less."""

from __future__ import annotations

from ..kind import Kind, OfDistributions, Said
from ..result import Advice


def _distributions(e: OfDistributions) -> Said:
    verb = "exaggerates" if e.value < 0 else "understates"
    power, low, high = (f"{1 + x:.2f}".replace("-", "−") for x in (e.value, *e.interval))
    goes = f": the true spread goes as its power {power}" if e.sizes_tell else ""
    says = f"the predicted spread {verb} the differences{goes}"
    clause = KIND.clause(e.value, instead=says, detail=e.between(low, high, "1 is right, 0 says nothing"))
    return clause, Advice(f"Take the spread to the power {power}.", fitted=True)


KIND = Kind(
    "follow",
    names=("spread differences overstated", "spread differences understated"),
    terms=("follow",),
    place=12,
    noun="a spread whose differences mislead",
    required=False,
    distributions=_distributions,
)
