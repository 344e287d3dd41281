"""Charts that many results have: forests, heat maps, curves with bands and their axes. It knows no result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .chart import Axis, Cells, Chart, Points, Reference, Role, value_axis


class Row(NamedTuple):
    """A row of a forest."""

    name: str
    value: float
    interval: tuple[float, float]
    """Its ends are NaN where there is none."""
    text: str = ""
    """What is read off at the point."""
    role: Role = "observed"


CUT = " \u2190"
"""Marks a row that goes on beyond the end of the axis."""


def forest(
    rows: Sequence[Row],
    *,
    title: str,
    subtitle: str,
    label: str,
    axis: str,
    at: float | None = None,
    within: Sequence[float] = (),
    least: float = -math.inf,
) -> Chart:
    """Make a forest: a point with its interval for each of some rows, the first on top.

    Parameters
    ----------
    rows : sequence of Row
        What is drawn.
    title, subtitle : str
        What is seen, and what is drawn.
    label : str
        The same for those who do not see it; the texts of the rows follow.
    axis : str
        What the axis shows.
    at : float, optional
        Value of a dashed line.
    within : sequence of float, optional
        Values that the axis includes.
    least : float, default -inf
        The axis is cut there; rows that go on beyond it have a mark behind their names.

    Returns
    -------
    Chart
    """
    values, low, high = (
        np.array(column) for column in zip(*((each.value, *each.interval) for each in rows), strict=True)
    )
    beyond = np.fmin(values, low) < least
    values, low, high = (np.where(each < least, least, each) for each in (values, low, high))
    shown = np.concatenate([values, low, high, within])
    shown = shown[np.isfinite(shown)]
    names = [each.name + CUT * cut for each, cut in zip(rows, beyond.tolist(), strict=True)]
    places = np.arange(len(rows), 0, -1).astype(np.float64)
    texts = [each.text for each in rows if each.text]
    points = []
    for role in dict.fromkeys(each.role for each in rows):
        here = [k for k, each in enumerate(rows) if each.role == role]
        of_role = [rows[k].text for k in here] if texts else ()
        points.append(Points(values[here], places[here], low[here], high[here], role, texts=of_role))
    ends = (0.5, len(rows) + 0.5)
    return Chart(
        title=title,
        subtitle=subtitle,
        label=f"{label}. {'; '.join(texts)}" if texts else label,
        x=value_axis(float(shown.min()), float(shown.max()), axis),
        y=Axis(*ends, [*zip(places.tolist(), names, strict=True)]),
        points=points,
        references=() if at is None else (Reference((at, at), ends),),
        shape="forest",
    )


def heat_map(
    cells: Cells, rows: Sequence[str], columns: Sequence[str], *, title: str, subtitle: str, label: str, axis: str
) -> Chart:
    """Make a heat map: a coloured cell in some rows and columns, the first row on top.

    Parameters
    ----------
    cells : Cells
        Cells; the first column is at 0, and the last row at 1.
    rows, columns : sequence of str
        Names of the rows, from above, and of the columns.
    title, subtitle, label : str
        What is seen, what is drawn, and both for those who do not see it.
    axis : str
        What the columns are of.

    Returns
    -------
    Chart
    """
    return Chart(
        title=title,
        subtitle=subtitle,
        label=label,
        x=Axis(-0.5, len(columns) - 0.5, [(float(at), name) for at, name in enumerate(columns)], axis),
        y=Axis(0.5, len(rows) + 0.5, [(float(len(rows) - at), name) for at, name in enumerate(rows)]),
        cells=cells,
        shape="forest",
    )


def unit_axis(label: str) -> Axis:
    """Make an axis from 0 to 1 with a tick each 0.2."""
    return Axis(0.0, 1.0, [(at / 5, f"{at / 5:g}") for at in range(6)], label)


def identity(end: float = 1.0, label: str = "Identity line") -> Reference:
    """Make the line on which both axes have the same value."""
    return Reference((0.0, end), (0.0, end), label)
