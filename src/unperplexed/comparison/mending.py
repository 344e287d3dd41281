"""Recalibrates the forecasters of a comparison, each row by a map fitted to the rows of other folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Floats, Ints
from ..assessment.remedy import MOST_PROBABILITIES, map_text, mendable, method_for
from ..assessment.result import Assessment
from ..forecasts.forecasts import Block
from ..pairing.rows import Chunks, ScoredRows
from ..recalibration.gain import FEWEST_CLUSTERS, FEWEST_ROWS
from ..recalibration.recalibrated_rows import clusters_in_order, order_of_rows, recalibrated_rows
from ..recalibration.recalibrator import Recalibrator
from ..statistics.intervals import Interval
from ..statistics.standard_errors import Dependence, uncertain_mean
from .next_step import LossDifference, Mended, NextStep

FOLDS = 5

_MOST_FORECASTERS = 20
"""As many as are diagnosed for the text."""

_MOST_BINARY = 5_000_000
"""Rows of two classes up to which forecasters are recalibrated unasked; more classes: `MOST_PROBABILITIES`."""


class PairedForecasters(NamedTuple):
    """Rows that were compared, the best forecaster first, and how they are read anew."""

    rows: Mapping[str, ScoredRows]
    losses: Mapping[str, Floats]
    """Log loss of each row, by forecaster."""
    assessments: Mapping[str, Assessment]
    weights: Floats
    weighted: bool
    dependence: Dependence
    confidence: float
    seed: int
    parts: Chunks


def next_step(paired: PairedForecasters) -> NextStep | None:
    """Find what would mend each forecaster, and who would be first after it.

    None where nothing was diagnosed, under 100 rows or 10 clusters, with a lag, with infinite log losses, for too many
    probabilities, and where the rows cannot be read any more.
    """
    if not _enough(paired):
        return None
    diagnoses = {name: paired.assessments[name].diagnosis for name in [*paired.rows][:_MOST_FORECASTERS]}
    if not any(each.made for each in diagnoses.values()):
        return None
    wanted = [name for name, each in diagnoses.items() if each.made and mendable(each.findings)]
    try:
        probabilities = _probabilities(paired, wanted) if wanted else {}
    except InputError:  # rows that cannot be read any more
        return None
    losses, mended = dict(paired.losses), {}
    for name in wanted:
        found, loss = _mended(name, probabilities[name], paired)
        if found is not None:
            mended[name], losses[name] = found, loss
    means = {name: float(paired.weights @ each / paired.weights.sum()) for name, each in losses.items()}
    ranked = dict(sorted(means.items(), key=lambda each: each[1]))
    before, (first, second, *_) = tuple(paired.losses), ranked
    rival = second if first == before[0] else before[0]
    lead = _difference(losses[rival], losses[first], paired)
    return NextStep(mended, ranked, rival, lead, paired.confidence, before)


def _enough(paired: PairedForecasters) -> bool:
    some = next(iter(paired.rows.values()))
    n, classes = some.position.size, len(some.labels)
    by = paired.dependence
    units = by.independent_units(n)
    if by.lag or by.two_way or n < FEWEST_ROWS or (by.groups is not None and units < FEWEST_CLUSTERS):
        return False
    few = n <= _MOST_BINARY if classes == 2 else n * classes <= MOST_PROBABILITIES
    finite = all(np.isfinite(each).all() for each in paired.losses.values())
    return few and finite


def paired_blocks(parts: Chunks, rows: Mapping[str, ScoredRows]) -> Iterator[tuple[str, Block, Ints, Ints]]:
    """Read forecasters again: name, rows of a block that were paired, their numbers, and their places in ``rows``."""
    order = {name: np.argsort(each.position) for name, each in rows.items()}
    position = {name: each.position[order[name]] for name, each in rows.items()}
    for part in parts():
        if part.name not in rows:
            continue
        known = position[part.name]
        for block in part.forecasts.blocks():
            numbers = part.positions(block)
            place = np.searchsorted(known, numbers)
            here = np.append(known, -1)[place] == numbers
            if here.any():
                yield part.name, block[here], numbers[here], order[part.name][place[here]]


def _probabilities(paired: PairedForecasters, wanted: Sequence[str]) -> dict[str, AnyFloats]:
    """Read the probabilities again: (n,) of the positive class, or (n, C)."""
    some = {name: paired.rows[name] for name in wanted}
    found: dict[str, AnyFloats] = {}
    for name, block, _, place in paired_blocks(paired.parts, some):
        p = block.probabilities[:, 1] if len(some[name].labels) == 2 else block.probabilities
        if name not in found:
            found[name] = np.empty((paired.weights.size, *p.shape[1:]))
        found[name][place] = p
    return found


def _mended(name: str, p: AnyFloats, paired: PairedForecasters) -> tuple[Mended | None, Floats]:
    """Recalibrate a forecaster; None where that is not shown to improve it."""
    rows, before = paired.rows[name], paired.losses[name]
    method = method_for(paired.assessments[name].diagnosis, len(rows.labels))
    weight = paired.weights if paired.weighted else None
    groups = paired.dependence.groups
    if groups is not None:
        groups = clusters_in_order(groups, order_of_rows(p, rows.truth, weight))

    def make(folds: int | None = FOLDS) -> Recalibrator:
        return Recalibrator(method, folds=folds, seed=paired.seed)

    known: dict[str, Any] = {"labels": list(range(len(rows.labels))), "sample_weight": weight, "groups": groups}
    whole = make(None).fit(rows.truth, p, **known)
    if whole.leave_as_it_is:
        return None, before
    q = recalibrated_rows(p, rows.truth, weight, groups, FOLDS, make)
    seen = np.where(rows.truth == 1, q, 1 - q) if q.ndim == 1 else q[np.arange(q.shape[0]), rows.truth]
    after = -np.log(seen)
    gain = _difference(before, after, paired)
    if not gain.interval.low > 0:
        return None, before
    loss, recalibrated = (float(paired.weights @ x / paired.weights.sum()) for x in (before, after))
    return Mended(map_text(whole), method, loss, recalibrated, gain, whole), after


def _difference(a: Floats, b: Floats, paired: PairedForecasters) -> LossDifference:
    found = uncertain_mean(a - b, paired.weights, paired.dependence)
    half = found.half_width(paired.confidence)
    return LossDifference(found.mean, Interval(found.mean - half, found.mean + half))
