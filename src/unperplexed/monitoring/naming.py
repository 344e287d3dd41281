"""What broke: the diagnosis of the rows since it began, from their cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._lib.elementary import expit
from .._lib.typing import Ints
from ..calibration.diagnosis.binary import PARAMETERS, BinaryData, diagnose_binary
from ..calibration.diagnosis.binary_data import sums_over_clusters
from ..calibration.diagnosis.gate import FEWEST_CLUSTERS
from ..calibration.diagnosis.result import Diagnosis, Finding
from ..forecasts.labels import Label
from ..maps.parameters import LAPSE
from .pit_counts import PitCounts

TOP = "most probable class"


def event_labels(labels: tuple[Label | None, ...], event: int) -> tuple[Label | None, ...]:
    """Give the labels of an event as of two classes, its own behind that of its opposite."""
    if len(labels) == 2:
        return labels
    return ("not", TOP if event == 0 else labels[event - 1])


def event_name(labels: tuple[Label | None, ...], event: int) -> str:
    """Name the event that broke; "" for two classes, which have only one."""
    return "" if len(labels) in (0, 2) else str(event_labels(labels, event)[1])


def named_error(periods: Sequence[Any], labels: tuple[Label | None, ...], event: int, shared: bool) -> Diagnosis | None:
    """Diagnose an event in some periods together, each as a cluster where its rows share a shock; None for no rows.

    Rows that do not determine a set of errors name one of them.

    Parameters
    ----------
    periods : sequence of EventCounts
        Counts of the event in each period.
    labels : tuple of labels
        The classes.
    event : int
        With two classes 0; else 0 for the most probable class, and k for the class of number k - 1.
    shared : bool
        Whether the rows of a period share a shock.
    """
    counts = periods[0].together(periods) if periods else None
    if counts is None or not counts.total.size:
        return None
    if isinstance(counts, PitCounts):
        return _of_numbers(counts, np.repeat(np.arange(len(periods)), [each.total.size for each in periods]), shared)
    apart, at = counts.at, counts.at.pooled()
    period = np.repeat(
        np.arange(len(periods)), [(each.p if counts.nodes is None else each.at.s).size for each in periods]
    )
    residual = apart.positive - apart.total * expit(apart.s)
    data = BinaryData(
        at.scored(),
        counts=at.total,
        counts_positive=at.positive,
        n=at.rows,
        labels=event_labels(labels, event),
        event=f"the {TOP}" if len(labels) > 2 and event == 0 else "",
        mean=at.mean,
        frequency=at.frequency,
        clusters=sums_over_clusters(np.searchsorted(at.s, apart.s), apart.total, residual, period) if shared else None,
        by="cells",
    )
    found = diagnose_binary(data)
    if any(map(_undetermined, found.findings)):
        found = diagnose_binary(replace(data, most_errors=1))
    findings = (replace(each, parameter=math.nan) if _undetermined(each) else each for each in found.findings)
    return replace(found, findings=tuple(findings))


def _of_numbers(counts: PitCounts, period: Ints, shared: bool) -> Diagnosis:
    """Diagnose predictive distributions; a few periods are no clusters, and the alarm tells that there is an error."""
    from ..calibration.diagnosis.distributions import diagnose_distributions

    found = diagnose_distributions(counts.pit_rows(), period if shared and period[-1] >= FEWEST_CLUSTERS else None)
    return replace(found, findings=tuple(replace(each, rows=()) for each in found.findings))


def _undetermined(finding: Finding) -> bool:
    """Whether a few rows do not bound the coefficient of an error: it is then as large as the fit lets it be."""
    return PARAMETERS.get(finding.error, LAPSE) != LAPSE and math.isnan(finding.interval[0])
