"""Bias: predictions are too high or too low on the whole, or those of some classes are."""

from __future__ import annotations

from collections.abc import Sequence

from ...._lib.formatting import three_digits
from ..kind import ClassMeans, Kind, OfClasses, OfTwo, Said, means_text
from ..result import Advice, Clause

_MOST_NAMED = 3
"""So many biased classes are named; the others are counted."""

_EQUAL = "mean prediction and observed frequency are equal"


def _two(e: OfTwo) -> Said:
    """Name the class; a bias that other errors offset on average is one at even odds."""
    constant = "a constant" if e.separated else e.signed(e.value)
    advice = Advice(f"Add {constant} to the log-odds{e.after('bias')}.", fitted=True)
    predicted, observed = three_digits(e.mean), three_digits(e.frequency)
    if (e.mean > e.frequency) == (e.value < 0) and predicted != observed:
        verb = _verb(e.value < 0)
        return Clause(verb, e.event, detail=means_text(e.mean, e.frequency), term=verb), advice
    near = f"log-odds of {e.event} {abs(e.value):.2f} too {'high' if e.value < 0 else 'low'} near 50%"
    offset = f"{near}; the other errors offset it: mean {predicted}, observed {observed}"
    return KIND.clause(e.value, more=" at even odds", detail=offset), advice


def _verb(over: bool) -> str:
    return "overpredicts" if over else "underpredicts"


def _classes(e: OfClasses) -> Said:
    advice = Advice("Add one shift for each class to the log-probabilities.", fitted=True)
    return biased_classes(e.means, e.biased), advice


def biased_classes(means: ClassMeans, classes: Sequence[int]) -> Clause:
    """Name the biased classes, those furthest off on average first, and at least one in each direction.

    A class that is biased beside the other errors need not be so on average: they may offset its bias.
    """
    if not len(classes):
        return biased_between(detail="no single class stands out")
    apart = [at for at in classes if not means.shown_equal(at)]
    if not apart:
        names = _listed([means.name(at) for at in classes])
        offset = f" for {names} once the other errors are corrected, which offset it: {_EQUAL}"
        return KIND.clause(more=offset) if len(classes) == 1 else biased_between(instead=f"{KIND.names[0]}{offset}")
    verbs = {at: _verb(means.over(at)) for at in apart}
    if len(classes) == 1:
        return Clause(verbs[apart[0]], means.name(apart[0]), detail=means.text(apart[0]), term=verbs[apart[0]])
    apart.sort(key=lambda at: -abs(means.predicted[at] - means.observed[at]))
    shown, named = _in_both_directions(apart, means), []
    for verb in dict.fromkeys(verbs[at] for at in shown):
        here = [f"{means.name(at)} ({means.text(at)})" for at in shown if verbs[at] == verb]
        named.append(f"{verb} {' and '.join(here)}")
    others = _others(len(classes) - len(shown), len(classes) - len(apart))
    return biased_between(instead="; ".join(filter(None, [", ".join(named), others])))


def biased_between(instead: str = "", detail: str = "") -> Clause:
    """Say that it is not one class alone."""
    return Clause(f"{KIND.names[0]} between classes", "", "", instead, detail, KIND.terms[0])


def _others(more: int, offset: int) -> str:
    """Count the biased classes that are not named, and those among them whose bias other errors offset."""
    others = f"{more} more class{'es are' if more > 1 else ' is'} biased" if more > 0 else ""
    if offset:
        others += f", {f'{offset} of them' if offset < more else 'but'} offset on average by the other errors"
    return others


def _in_both_directions(apart: Sequence[int], means: ClassMeans) -> list[int]:
    """Take the first few classes, the last of which gives way to the first that is biased the other way."""
    shown = list(apart[:_MOST_NAMED])
    other = [at for at in apart[_MOST_NAMED:] if means.over(at) != means.over(shown[0])]
    if other and all(means.over(at) == means.over(shown[0]) for at in shown):
        shown[-1] = other[0]
    return shown


def _listed(names: Sequence[str]) -> str:
    """Name the first three: "'a', 'b' and 4 more classes"."""
    more = len(names) - _MOST_NAMED
    if more > 0:
        names = [*names[:_MOST_NAMED], f"{more} more class{'es' if more > 1 else ''}"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


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
)
