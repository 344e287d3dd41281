"""The picture of the classifier-metrics paper as a chart: bars of measured probability, and the three averages."""

from __future__ import annotations

import math

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Floats
from ..report.chart import Axis, Bars, Chart, Line, Points, Reference
from ..report.numbers import between, count, number
from .result import Assessment

_MEANS = ("robustness", "geometric_accuracy", "decisiveness")


def bars_chart(a: Assessment) -> Chart:
    """Make the bars of the bins' measured probabilities, the identity line, and the averages with their line.

    Parameters
    ----------
    a : Assessment
        What is drawn, with the classes pooled or with one curve.

    Returns
    -------
    Chart

    Raises
    ------
    InputError
        For bins of each class, which lie over one another.
    """
    if a.bins.label:
        raise InputError("kind: 'bars' draws the bins of one curve; assess with view='all-classes'.")
    x, y = (np.array([getattr(means, name) for name in _MEANS]) for means in (a.reported, a.measured))
    there = bool(np.isfinite(y).all())
    names = [name.replace("_", " ").capitalize() for name in _MEANS]
    texts = [
        f"{name}: reported {number(p)}, measured {number(q)}"
        for name, p, q in zip(names, x.tolist(), y.tolist(), strict=True)
    ]
    slope = "" if math.isnan(a.averages_slope) else f"Slope {number(a.averages_slope, 2)}"
    interval = a.intervals["averages_slope"]
    limits = between(*interval, lambda value: number(value, 2))
    about = f"{number_of(len(a.bins), 'bin')} of {a.estimator}"
    return Chart(
        title=_title(a, slope, limits),
        subtitle=f"Bars are measured probabilities of {about}; R, G, D are robustness, geometric accuracy and"
        f" decisiveness of the probabilities assigned to the outcomes, at the floor {a.floor:.3g}",
        label=f"Measured by reported probability, {about}. {'; '.join(texts) if there else 'No averages in this view'}."
        f" {slope}".rstrip(),
        x=_axis("Reported probability"),
        y=_axis("Measured probability"),
        bars=(_bars(a),),
        lines=(Line(x[[0, 2]], y[[0, 2]], "second", label=slope),) if there else (),
        points=(Points(x, y, role="second", labels=("R", "G", "D"), texts=texts),) if there else (),
        references=(Reference((0.0, 1.0), (0.0, 1.0), "Identity line"),),
        percent=False,
    )


def _title(a: Assessment, slope: str, limits: str) -> str:
    """State slope and interval, which are what the picture is for."""
    if not slope:
        return "Measured by reported probability"
    return f"{slope} of the averages" + (f", {100 * a.uncertainty.confidence:.10g}% CI {limits}" if limits else "")


def _axis(label: str) -> Axis:
    return Axis(0.0, 1.0, [(at / 5, f"{at / 5:g}") for at in range(6)], label)


def _bars(a: Assessment) -> Bars:
    """Bars as wide as the bins, and no narrower than can be seen."""
    bins, least = a.bins, 0.004
    middle, half = (bins.highest + bins.lowest) / 2, np.maximum(bins.highest - bins.lowest, least) / 2
    left: Floats = np.clip(middle - half, 0, 1 - least)
    right = np.clip(middle + half, least, 1)
    texts = [
        f"Reported {number(low)} to {number(high)}: measured {number(height)}, {count(total)} pairs"
        for low, high, height, total in zip(bins.lowest, bins.highest, bins.measured, bins.total, strict=True)
    ]
    return Bars(left, right, bins.measured, texts)
