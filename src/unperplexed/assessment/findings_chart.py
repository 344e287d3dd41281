"""What was found in each group, as a chart: a cell for each group and kind of error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..calibration.diagnosis.kinds import KINDS
from ..calibration.diagnosis.result import Finding
from ..forecasts.group_keys import key_texts
from ..report.chart import Axis, Cells, Chart
from ..report.numbers import count, number
from .breakdown import Breakdown

MOST_DRAWN = 30
"""Groups that the chart shows."""

LEAST = 0.15
"""Strength of a finding whose cost is not known, or small."""


_OVER, _UNDER = KINDS["confidence"].names
SCALE = (f"overpredicted, {_OVER}, other", f"underpredicted, {_UNDER}")
"""What the two colours stand for, the darkest at either end."""


def findings_chart(b: Breakdown) -> Chart:
    """Make a heat map of the first groups' findings: the costlier an error in a group, the darker its cell."""
    groups = b.groups[:MOST_DRAWN]
    found = [(row, each) for row, group in enumerate(groups) for each in group.assessment.diagnosis.findings]
    seen = {finding.error for _, finding in found}
    kinds = [kind for kind in KINDS.values() if kind.plain or kind.error in seen]
    errors = [kind.error for kind in kinds]
    headings = [(float(at), kind.heading or kind.error) for at, kind in enumerate(kinds)]
    cells: dict[tuple[int, int], list[Finding]] = {}
    for row, finding in found:
        cells.setdefault((row, errors.index(finding.error)), []).append(finding)
    costs = np.array([_cost(each) for each in cells.values()])
    most = float(costs.max(initial=0)) or 1.0
    strength = np.array([sign_of(each) for each in cells.values()]) * np.maximum(costs / most, LEAST)
    places = np.array([*cells], dtype=np.float64).reshape(-1, 2)
    names = key_texts(group.key for group in groups)
    texts = [f"{names[row]}: {', '.join(f.words for f in each)}" for (row, _), each in cells.items()]
    miscalibrated = len({row for row, _ in found})
    rows = [
        (float(len(groups) - at), f"{name} ({count(group.assessment.n_rows)})")
        for at, (name, group) in enumerate(zip(names, groups, strict=True))
    ]
    more = f"; the first {len(groups)} of {len(b):,} groups" if len(b) > len(groups) else ""
    return Chart(
        title=f"Evidence of miscalibration in {miscalibrated:,} of {len(groups):,} groups",
        subtitle="Cost of each finding in nats a row; blank: no evidence, each group tested at 5%. Number of rows in"
        f" brackets{more}",
        label=f"Findings by group. {'; '.join(texts) if texts else 'No evidence of miscalibration in any group'}.",
        x=Axis(
            -0.5,
            len(errors) - 0.5,
            headings,
            "Finding",
        ),
        y=Axis(0.5, len(groups) + 0.5, rows),
        cells=Cells(
            places[:, 1],
            len(groups) - places[:, 0],
            strength,
            [number(cost) if cost > 0 else "found" for cost in costs.tolist()],
            texts,
            scale=SCALE if found else (),
        ),
        shape="forest",
        percent=False,
    )


def _cost(findings: list[Finding]) -> float:
    """Nats a row that findings of one kind cost; 0 where it is not known."""
    return sum(each.cost for each in findings if math.isfinite(each.cost))


def sign_of(findings: Sequence[Finding]) -> float:
    """Give 1 where probabilities are too low or too close to one another, and -1 for all else."""
    low = len(findings) == 1 and KINDS[findings[0].error].low_above and findings[0].parameter > 0
    return 1.0 if low else -1.0
