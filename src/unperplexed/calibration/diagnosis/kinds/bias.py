"""Bias: predictions are too high or too low on the whole, or those of some classes are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...._lib.formatting import three_digits
from ..kind import ClassMeans, Kind, OfClasses, OfDistributions, OfTwo, Said, decimals, means_text
from ..result import Advice, Clause

_MOST_NAMED = 3
"""So many biased classes are named; the others are counted."""
_BETWEEN = "biased-between-classes"
"""What to look up about the biases of several classes."""

SURE_GAP, _SEEN_GAP = 2.58, 1.96
"""Standard errors by which mean prediction and observed frequency differ where that is said first, and where at all."""

MISSHAPED = "misshaped"
"""Names a bias that is none on average, where no other error has a name."""


def _two(e: OfTwo) -> Said:
    """Say which of mean prediction and observed frequency is larger, where they differ."""
    constant = "a constant" if e.separated else f"{e.constant:+z.{decimals(e.constant)}f}".replace("-", "−")
    advice = Advice(f"Add {constant} to the log-odds{e.after('bias')}.", fitted=True)
    if abs(e.gap) >= _SEEN_GAP and means_differ(e.mean, e.frequency):
        return over_or_under(e.event, e.mean, e.frequency), advice
    return replace(over_or_under("", e.mean, e.frequency), name=MISSHAPED), advice


def means_differ(mean: float, frequency: float) -> bool:
    """Whether a mean prediction and an observed frequency are different numbers as they are shown."""
    return three_digits(mean) != three_digits(frequency)


def over_or_under(event: str, mean: float, frequency: float) -> Clause:
    """Say that an event is over- or underpredicted."""
    verb = _verb(mean > frequency)
    return Clause(verb, event, detail=means_text(mean, frequency), term=verb)


def _verb(over: bool) -> str:
    return "overpredicts" if over else "underpredicts"


def _classes(e: OfClasses) -> Said:
    advice = Advice("Add one shift for each class to the log-probabilities.", fitted=True)
    return biased_classes(e.means, e.biased), advice


def biased_classes(means: ClassMeans, classes: Sequence[int]) -> Clause:
    """Name the biased classes, those furthest off on average first, and at least one in each direction.

    A class that is biased beside the other errors need not be so on average: it is then not named.
    """
    if not len(classes):
        return biased_between(detail="no single class stands out")
    apart = [at for at in classes if means.told(at)]
    if not apart:
        return Clause("class biases that cancel", term=_BETWEEN)
    verbs = {at: _verb(means.over(at)) for at in apart}
    if len(apart) == 1:
        return Clause(verbs[apart[0]], means.name(apart[0]), detail=means.text(apart[0]), term=verbs[apart[0]])
    apart.sort(key=lambda at: -abs(means.predicted[at] - means.observed[at]))
    shown, named = _in_both_directions(apart, means), []
    for verb in dict.fromkeys(verbs[at] for at in shown):
        here = [f"{means.name(at)} ({means.text(at)})" for at in shown if verbs[at] == verb]
        named.append(f"{verb} {' and '.join(here)}")
    more = len(apart) - len(shown)
    others = f"; {more} more class{'es are' if more > 1 else ' is'} biased" if more else ""
    return biased_between(instead=f"{', '.join(named)}{others}")


def biased_between(instead: str = "", detail: str = "") -> Clause:
    """Say that it is not one class alone."""
    return Clause(f"{KIND.names[0]} between classes", "", "", instead, detail, _BETWEEN)


def _in_both_directions(apart: Sequence[int], means: ClassMeans) -> list[int]:
    """Take the first few classes, the last of which gives way to the first that is biased the other way."""
    shown = list(apart[:_MOST_NAMED])
    other = [at for at in apart[_MOST_NAMED:] if means.over(at) != means.over(shown[0])]
    if other and all(means.over(at) == means.over(shown[0]) for at in shown):
        shown[-1] = other[0]
    return shown


def _distributions(e: OfDistributions) -> Said:
    name, other = ("too low", "too high") if e.value > 0 else ("too high", "too low")
    by = f" by {abs(e.value):.2f} of their spread" if e.sizes_tell else ""
    low, high = sorted(math.copysign(1, e.value) * x for x in e.interval)
    ends = (f"{low:.2f}", f"{high:.2f}") if low >= 0 else (f"{-low:.2f} {other}", f"{high:.2f} {name}")
    advice = Advice(
        f"Shift the distributions {'up' if e.value > 0 else 'down'} by {abs(e.value):.2f} spreads.", fitted=True
    )
    return Clause(name, more=by, detail=e.between(*ends), term=name.replace(" ", "-")), advice


KIND = Kind(
    "bias",
    names=("biased",),
    terms=("biased",),
    place=0,
    noun="a bias",
    parameter="bias",
    of_each="biases",
    brief="biased",
    plain=True,
    low_above=True,
    shown_in="bias",
    applied=1,
    step="adding to the log-odds",
    two=_two,
    classes=_classes,
    distributions=_distributions,
)
