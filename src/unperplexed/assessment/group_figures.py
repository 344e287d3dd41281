"""Figures of many groups, computed for all at once; the assessment of a group is made when somebody asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import dataclass
from .._lib.typing import Floats, Ints
from ..calibration.diagnosis.binary import screened
from ..calibration.diagnosis.binary_data import rows_of_values
from ..statistics.intervals import LEAST_WORTH
from ..statistics.means import apply_limit, floor_for, means_of_runs
from ..tally.tally import Tally
from ..tally.waiting import RowsOfGroups
from .result import Assessment
from .settings import AssessmentSettings


def unscreened(_: int) -> None:
    """Say that there may be something wrong with a group."""


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """What a breakdown has of its groups, one after the other."""

    n_rows: Ints
    weight: Floats
    effective_rows: Floats
    geometric_accuracy: Floats
    """As reported."""
    standard_error: Floats | None
    """Of the geometric accuracy; None where it takes the assessment, for clusters of dependent rows."""
    prediction_accuracy: Floats
    assessment: Callable[[int], Assessment]
    """Gives the assessment of a group."""
    screened: Callable[[int], float | None] = unscreened
    """Gives the p-value of a diagnosis that finds nothing wrong with a group; None if there may be something."""

    @classmethod
    def of(cls, found: Sequence[Assessment], weights: Sequence[float]) -> GroupFigures:
        """Take the figures of assessments that are there."""
        return cls(
            np.array([a.n_rows for a in found], dtype=np.int64),
            np.array(weights, dtype=np.float64),
            np.array([a.effective_rows for a in found], dtype=np.float64),
            np.array([a.reported.geometric_accuracy for a in found], dtype=np.float64),
            np.array([a.geometric_accuracy_standard_error for a in found], dtype=np.float64),
            np.array([a.prediction_accuracy for a in found], dtype=np.float64),
            found.__getitem__,
        )

    @classmethod
    def of_rows(
        cls, rows: RowsOfGroups, whole: Tally, settings: AssessmentSettings, assessment: Callable[[int], Assessment]
    ) -> GroupFigures:
        """Compute the figures of groups of rows.

        Parameters
        ----------
        rows : RowsOfGroups
            Rows of groups of positive weight.
        whole : Tally
            All rows.
        settings : AssessmentSettings
            How they are assessed.
        assessment : callable
            Gives the assessment of a group, counted from 0 among those of the rows.
        """
        low, limit = settings.limits
        floor = floor_for(low, whole.n_classes)
        first = run_starts(rows.group)
        n = np.diff(first, append=rows.group.size)
        p, w = np.where(rows.weight > 0, apply_limit(rows.correct, floor, limit), 1.0), rows.weight
        mean = means_of_runs(p, w, first)[1]
        weight, hits = (np.add.reduceat(x, first) for x in (w, w * rows.hit))
        effective = weight**2 / np.add.reduceat(w * w, first)
        error = None
        if not whole.clustered:
            with np.errstate(divide="ignore", invalid="ignore"):
                share = w / np.repeat(weight, n)
                squares = np.add.reduceat((share * np.log(p / np.repeat(mean, n))) ** 2, first)
                error = mean * np.sqrt(squares * effective / (effective - 1))
            error[(effective < LEAST_WORTH) | (mean == 0)] = math.nan

        def screen(at: int) -> float | None:
            here = slice(first[at], first[at] + n[at])
            return screened(rows_of_values(rows.second[here], rows.truth[here]), float(n[at]))

        apart = whole.n_classes > 2 or whole.weighted or whole.clustered
        screens = unscreened if apart else screen
        return cls(n, weight, effective, mean, error, hits / weight, assessment, screens)
