"""Noise: a share of the outcomes is as if drawn at random."""

from __future__ import annotations

from ..kind import Kind, OfClasses, OfTwo
from ..result import Advice, Clause


def _said(share: str) -> Clause:
    instead = f"extreme probabilities are overstated, as if {share} of the outcomes were drawn at random"
    return KIND.clause(instead=instead)


def _two(e: OfTwo) -> Clause:
    return _said(f"{e.value:.1%}")


def _mends_two(e: OfTwo) -> Advice:
    mix = f"Mix the predictions with a {e.value:.1%} share of even odds (as if a share of the outcomes were random)"
    return Advice(f"{mix}{e.after('noise')}.", fitted=True)


def _classes(e: OfClasses) -> Clause:
    return _said(f"{100 * e.value:.2g}%")


def _mends_classes(e: OfClasses) -> Advice:
    return Advice(f"Mix the predictions with a {e.value:.2g} share of a uniform forecast.", fitted=True)


KIND = Kind(
    "noise",
    names=("extremes overstated",),
    terms=("extremes",),
    place=4,
    heading="noise",
    noun="random outcomes (some occur whatever was predicted)",
    parameter="lapse",
    shown_in="loss",
    applied=2,
    regressor="a lapse",
    asks_for=("lapse",),
    two=_two,
    mends_two=_mends_two,
    classes=_classes,
    mends_classes=_mends_classes,
)
