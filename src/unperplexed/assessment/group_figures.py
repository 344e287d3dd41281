"""Figures of many groups, computed for all at once; the assessment of a group is made when somebody asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._lib.arrays import run_starts
from ..calibration.diagnosis.binary import screened
from ..calibration.diagnosis.binary_data import rows_of_values
from ..calibration.diagnosis.result import Diagnosis
from ..forecasts.group_keys import Key
from ..statistics.intervals import LEAST_WORTH
from ..statistics.means import apply_limit, floor_for, means_of_runs
from ..tally.tally import Tally
from ..tally.waiting import GroupedRows
from .groups import GroupAssessment
from .result import Assessment
from .settings import AssessmentSettings


def groups_of_rows(
    keys: Sequence[Key],
    rows: GroupedRows,
    whole: Tally,
    settings: AssessmentSettings,
    assess: Callable[[Key], Assessment],
    diagnose: Callable[[Key], Diagnosis] | None,
) -> list[GroupAssessment]:
    """Compute the figures of groups from their rows.

    Parameters
    ----------
    keys : sequence of Key
        All groups.
    rows : GroupedRows
        Rows of some of them, each of positive weight.
    whole : Tally
        All rows.
    settings : AssessmentSettings
        How they are assessed.
    assess : callable
        Makes the assessment of a group.
    diagnose : callable or None
        Makes the diagnosis of a group from its tally, so that of most groups the test alone is made; None if rows are
        diagnosed.
    """
    low, limit = settings.limits
    first = run_starts(rows.key)
    n = np.diff(first, append=rows.key.size)
    floored = apply_limit(rows.correct, floor_for(low, whole.n_classes), limit)
    p, w = np.where(rows.weight > 0, floored, 1.0), rows.weight
    mean = means_of_runs(p, w, first)[1]
    weight, hits = (np.add.reduceat(x, first) for x in (w, w * rows.hit))
    effective = weight**2 / np.add.reduceat(w * w, first)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = w / np.repeat(weight, n) * np.log(p / np.repeat(mean, n))
        error = mean * np.sqrt(np.add.reduceat(distances**2, first) * effective / (effective - 1))
    error[(effective < LEAST_WORTH) | (mean == 0)] = math.nan

    second, truth = rows.second, rows.truth  # all that is kept
    closely = whole.n_classes > 2 or whole.weighted or whole.clustered or diagnose is None

    def screen(at: int) -> float | None:
        if closely:
            return None
        here = slice(first[at], first[at] + n[at])
        return screened(rows_of_values(second[here], truth[here]), float(n[at]))

    of = [keys[number] for number in rows.key[first].tolist()]
    columns: list[Sequence[Any]] = [of, *(x.tolist() for x in (n, weight, effective, mean, hits / weight))]
    columns.append([None] * n.size if whole.clustered else error.tolist())
    columns += [partial(assess, key) for key in of], [partial(screen, at) for at in range(n.size)]
    columns += [[None if diagnose is None else partial(diagnose, key) for key in of]]
    return list(map(GroupAssessment, *columns))
