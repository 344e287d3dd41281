"""Pictures of comparisons on matplotlib Axes: the charts that the report shows."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes

from .._lib.errors import InputError, check_choice
from ..assessment.describe_charts import Event
from ..report.chart import Chart
from ..report.matplotlib_draw import draw
from .describe_charts import profiles_chart, ratio_chart, reliability_chart
from .difference_charts import differences_chart
from .result import Comparison

Kind = Literal["differences", "ratios", "profiles", "reliability"]

MOST_CURVES = 6
"""Forecasters whose curves can be told apart."""


def plot_comparison(comparison: Comparison, ax: Axes | None, kind: Kind, score: str | None) -> Axes:
    """Draw a chart of a comparison, as `Comparison.plot` describes it."""
    return draw(comparison_chart(comparison, kind, score), ax)


def comparison_chart(c: Comparison, kind: Kind = "differences", score: str | None = None) -> Chart:
    """Make the chart of a kind."""
    check_choice("kind", kind, ("differences", "ratios", "profiles", "reliability"))
    if kind == "differences":
        return differences_chart(c, score or "log_loss")
    if score is not None:
        raise InputError(f"score: {score!r} needs kind='differences'.")
    if kind == "ratios":
        return ratio_chart(c)
    if kind == "profiles":
        return profiles_chart(c, MOST_CURVES)
    return reliability_chart({name: Event(each.assessment) for name, each in c.forecasters.items()}, MOST_CURVES)
