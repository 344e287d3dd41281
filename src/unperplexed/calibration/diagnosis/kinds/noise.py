"""Noise: a share of the outcomes is as if drawn at random."""

from __future__ import annotations

from ..kind import Kind, OfClasses, OfTwo, Said
from ..result import Advice


def _said(share: str, mixed: str) -> Said:
    instead = f"extreme probabilities are overstated, as if {share} of the outcomes were drawn at random"
    return KIND.clause(instead=instead), Advice(f"Mix the predictions with a {mixed}.", fitted=True)


def _two(e: OfTwo) -> Said:
    share = f"{e.value:.1%}"
    return _said(share, f"{share} share of even odds (as if a share of the outcomes were random){e.after('noise')}")


def _classes(e: OfClasses) -> Said:
    return _said(f"{100 * e.value:.2g}%", f"{e.value:.2g} share of a uniform forecast")


KIND = Kind(
    "noise",
    names=("extremes overstated",),
    terms=("extremes",),
    place=4,
    noun="random outcomes (some occur whatever was predicted)",
    parameter="lapse",
    unlike="tail",
    shown_in="loss",
    applied=2,
    regressor="a lapse",
    two=_two,
    classes=_classes,
)
