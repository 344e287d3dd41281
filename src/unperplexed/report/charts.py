"""Charts of the report, as what Plotly draws: plain dictionaries. Nothing is computed here.

A colour that begins with "@" stands for a property of the page's style, which has one value in light and one in dark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lib.formatting import (
    at_floor_text,
    confidence_interval,
    number_of,
    percent,
    short_name,
)
from .._lib.typing import Floats
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST
from .text import figure

if TYPE_CHECKING:
    from ..assessment.measured_profile import MeasuredProfile
    from ..assessment.result import Assessment
    from ..assessment.risk_profile import RiskProfile
    from ..comparison.result import Comparison
    from ..statistics.intervals import Band

Chart = dict[str, Any]
"""``data`` and ``layout``, and ``label``: what it shows, for those who do not see it."""

_COLOURS = ("@blue", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8A7F00", "#888888")
"""Okabe and Ito's, told apart by the colour-blind, and on light and dark grounds."""

_MARKS = (
    ("robustness", ROBUST, "triangle-down"),
    ("geometric_accuracy", GEOMETRIC, "circle"),
    ("decisiveness", DECISIVE, "triangle-up"),
)
_MOST_BUBBLES, _MOST_PROFILES, _MOST_CURVES, _MOST_RATIOS = 150, 8, 8, 30


def calibration_chart(a: Assessment) -> Chart:
    """Measured over reported probability: bands, curve, bins as bubbles, the three means and the line of the slope."""
    traces = [
        _line([0, 1], [0, 1], "reported = measured", "@soft", dash="dash"),
        *_band(a.uncertainty.consistent, f"calibrated, {percent(a.uncertainty.confidence)} band", "@soft"),
        *_band(a.uncertainty.curve, f"measured, {percent(a.uncertainty.confidence)} band", _COLOURS[0]),
        *_curves(a),
        _bubbles(a),
        *_means(a),
        _histogram(a),
    ]
    one = a.n_classes == 2 and a.view == "each-class" and a.labels[1] is not None
    of = f" of '{_shown(str(a.labels[1]), 24)}'" if one else ""
    layout = {
        "xaxis": {"range": [-0.02, 1.02], "title": {"text": f"reported probability{of}"}, "anchor": "y2"},
        "yaxis": {"range": [-0.02, 1.02], "title": {"text": f"measured probability{of}"}, "domain": [0.24, 1]},
        "yaxis2": {"domain": [0, 0.16], "title": {"text": "share"}, "rangemode": "tozero", "nticks": 3},
        "height": 640,
    }
    label = (
        f"Measured over reported probability. Reported decisiveness {figure(a.reported.decisiveness)}, geometric"
        f" accuracy {figure(a.reported.geometric_accuracy)}, robustness {figure(a.reported.robustness)}; measured"
        f" {figure(a.measured.decisiveness)}, {figure(a.measured.geometric_accuracy)}, {figure(a.measured.robustness)}."
        f" Slope {figure(a.slope)}."
    )
    return {"data": [trace for trace in traces if trace], "layout": layout, "label": label}


def profile_chart(
    profiles: Mapping[str, RiskProfile], bands: bool = True, measured: MeasuredProfile | None = None
) -> Chart:
    """Risk profiles by name, the three named means marked; beside one of them the measured profile."""
    traces = [] if measured is None else _measured_profile(measured)
    shown = list(profiles.items())[:_MOST_PROFILES]
    for (name, profile), colour in zip(shown, _COLOURS, strict=False):
        finite = np.isfinite(profile.orders)
        orders, values = profile.orders[finite], profile.values[finite]
        if bands:
            low, high = (limit[finite] for limit in profile.interval())
            traces += _between(orders, low, high, f"{_shown(name)}, 95 % interval", colour, legend=len(shown) == 1)
        traces.append(_line(orders, values, _shown(name), colour))
        points = [(order, float(np.interp(order, orders, values)), mean, mark) for mean, order, mark in _MARKS]
        x, y, means, marks = zip(*points, strict=True)
        traces.append(
            {
                "x": x,
                "y": y,
                "mode": "markers",
                "marker": {"symbol": marks, "size": 11, "color": colour},
                "text": [mean.replace("_", " ") for mean in means],
                "hovertemplate": f"{_shown(name)}<br>%{{text}}: %{{y:.4f}}<extra></extra>",
                "showlegend": False,
            }
        )
    layout = {
        "xaxis": {"title": {"text": "order of the mean: risk-averse to risk-seeking"}},
        "yaxis": {"range": [0, 1.02], "title": {"text": "generalized mean"}},
        "height": 420,
    }
    label = (
        "Risk profile: the generalized mean of the probabilities given to what happened, over its order. "
        + "; ".join(
            f"{short_name(name)} {figure(float(np.interp(-3, p.orders, p.values)))} at order -3 to"
            f" {figure(float(np.interp(3, p.orders, p.values)))} at order 3"
            for name, p in shown
        )
    )
    return {"data": traces, "layout": layout, "label": label}


def _measured_profile(measured: MeasuredProfile) -> list[dict[str, Any]]:
    finite = np.isfinite(measured.orders) & np.isfinite(measured.values)
    if not finite.any():
        return []
    orders, values, low, high = (x[finite] for x in (measured.orders, measured.values, measured.low, measured.high))
    band = _between(orders, low, high, "measured, confidence interval", _COLOURS[4], legend=True)
    return [*band, _line(orders, values, "measured", _COLOURS[4], dash="dash")]


def ratio_chart(c: Comparison) -> Chart:
    """Ratios of geometric accuracies with their confidence intervals, the best pair on top."""
    pairs = c.pairs[:_MOST_RATIOS]
    ratios = [pair.accuracy_ratio for pair in pairs]
    names = [f"{_shown(pair.first, 18)} to {_shown(pair.second, 18)}" for pair in pairs]
    below, above = (
        [abs(pair.accuracy_ratio_interval[side] - pair.accuracy_ratio) for pair in pairs] for side in (0, 1)
    )
    trace = {
        "x": _plain(ratios),
        "y": list(range(len(pairs))),
        "mode": "markers",
        "error_x": {"type": "data", "array": _plain(above), "arrayminus": _plain(below), "color": _COLOURS[0]},
        "marker": {"size": 10, "color": _COLOURS[0]},
        "text": names,
        "hovertemplate": "%{text}: %{x:.4f}<extra></extra>",
        "showlegend": False,
    }
    layout = {
        "xaxis": {"title": {"text": f"ratio {at_floor_text(c.scored_floor)}, {confidence_interval(c.confidence)}"}},
        "yaxis": {
            "tickvals": list(range(len(pairs))),
            "ticktext": names,
            "autorange": "reversed",
            "automargin": True,
        },
        "shapes": [
            {
                "type": "line",
                "x0": 1,
                "x1": 1,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"dash": "dash", "color": "@soft"},
            }
        ],
        "height": 140 + 32 * len(pairs),
    }
    label = f"Ratios of geometric accuracies {at_floor_text(c.scored_floor)}: " + "; ".join(
        f"{short_name(pair.first)} to {short_name(pair.second)} {figure(pair.accuracy_ratio)}" for pair in pairs
    )
    return {"data": [trace], "layout": layout, "label": label}


def _bubbles(a: Assessment) -> dict[str, Any]:
    bins = a.bins
    part = np.where(np.isfinite(bins.contribution), np.abs(bins.contribution), 0.0)
    largest = np.sort(np.argsort(-part, kind="stable")[:_MOST_BUBBLES])
    reported = np.where(bins.happened > 0, bins.geometric_accuracy, bins.mean_reported)
    text = [
        (f"{_shown(str(bins.label[at]))}<br>" if bins.label else "")
        + f"reported {figure(bins.lowest[at])} to {figure(bins.highest[at])}, mean {figure(bins.mean_reported[at])}"
        f"<br>measured {figure(bins.measured[at])}"
        f"<br>{bins.happened[at]:,.6g} of {bins.total[at]:,.6g} happened"
        f"<br>{figure(bins.contribution[at])} of the log of the geometric accuracy"
        for at in largest.tolist()
    ]
    name = number_of(len(bins), "bin")
    if largest.size < len(bins):
        name = f"{largest.size} of {name}"
    size = 7 + 33 * np.sqrt(part[largest] / max(part.max(initial=0.0), 1e-300))
    return {
        "x": _plain(reported[largest]),
        "y": _plain(bins.measured[largest]),
        "mode": "markers",
        "marker": {
            "size": _plain(size),
            "color": _COLOURS[5],
            "opacity": 0.55,
            "line": {"color": _COLOURS[0], "width": 1},
        },
        "text": text,
        "hovertemplate": "%{text}<extra></extra>",
        "name": f"{name}, by contribution",
    }


def draws_curves(a: Assessment) -> bool:
    """Say whether measured probability is drawn as lines, which those of many classes would not be told apart."""
    return len(set(a.curve.label)) <= _MOST_CURVES


def _curves(a: Assessment) -> list[dict[str, Any]]:
    curve = a.curve
    if not curve.label:
        return [_line(curve.reported, curve.measured, "measured", _COLOURS[0], width=1.5)]
    if not draws_curves(a):
        return []
    found = []
    for label, colour in zip(a.labels, _COLOURS, strict=False):
        here = np.array([each == label for each in curve.label])
        found.append(_line(curve.reported[here], curve.measured[here], _shown(str(label)), colour, width=1.5))
    return found


def _means(a: Assessment) -> list[dict[str, Any]]:
    if math.isnan(a.measured.decisiveness):
        return []
    names = [name for name, _, _ in _MARKS]
    x, y = ([getattr(means, name) for name in names] for means in (a.reported, a.measured))
    line = _line([x[0], x[2]], [y[0], y[2]], f"slope {figure(a.slope)}", _COLOURS[4], width=2)
    marks = {
        "x": _plain(x),
        "y": _plain(y),
        "mode": "markers",
        "marker": {"symbol": [mark for _, _, mark in _MARKS], "size": 13, "color": _COLOURS[4]},
        "text": [name.replace("_", " ") for name in names],
        "hovertemplate": "%{text}<br>reported %{x:.4f}<br>measured %{y:.4f}<extra></extra>",
        "name": "robustness, geometric accuracy, decisiveness",
    }
    return [line, marks]


def _histogram(a: Assessment) -> dict[str, Any]:
    edges, share = a.distribution.edges, a.distribution.share
    return {
        "type": "bar",
        "x": _plain((edges[:-1] + edges[1:]) / 2),
        "y": _plain(share),
        "width": _plain(np.diff(edges)),
        "yaxis": "y2",
        "marker": {"color": "@soft"},
        "text": [f"{figure(low)} to {figure(high)}" for low, high in pairwise(edges.tolist())],
        "textposition": "none",
        "hovertemplate": "given to what happened: %{text}<br>share %{y:.4f}<extra></extra>",
        "name": "probabilities given to what happened",
    }


def _band(band: Band | None, name: str, colour: str) -> list[dict[str, Any]]:
    return [] if band is None else _between(band.reported, band.low, band.high, name, colour, legend=True)


def _between(x: Floats, low: Floats, high: Floats, name: str, colour: str, legend: bool) -> list[dict[str, Any]]:
    there = np.isfinite(low) & np.isfinite(high)
    return [
        {
            "x": [*_plain(x[there]), *_plain(x[there][::-1])],
            "y": [*_plain(high[there]), *_plain(low[there][::-1])],
            "fill": "toself",
            "mode": "lines",
            "line": {"width": 0, "color": colour},
            "fillcolor": colour,
            "opacity": 0.22,
            "hoverinfo": "skip",
            "name": name,
            "showlegend": legend,
        }
    ]


def _line(
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    name: str,
    colour: str,
    dash: str = "solid",
    width: float = 2,
) -> dict[str, Any]:
    return {
        "x": _plain(x),
        "y": _plain(y),
        "mode": "lines",
        "line": {"color": colour, "width": width, "dash": dash},
        "name": name,
        "hovertemplate": f"{name}<br>%{{x:.4f}}, %{{y:.4f}}<extra></extra>",
    }


def _plain(values: Sequence[float] | Floats) -> list[float | None]:
    """Give numbers as JSON has them; what is no finite number is not drawn."""
    return [x if math.isfinite(x) else None for x in np.asarray(values, dtype=np.float64).tolist()]


def _shown(name: str, most: int = 40) -> str:
    """Give a name from outside as Plotly shows it as it is: it would take tags, templates and formulas for these."""
    return escape(short_name(name, most), quote=False).replace("{", "&#123;").replace("$", "&#36;")
