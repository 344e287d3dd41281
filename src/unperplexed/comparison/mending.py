"""Recalibrates the forecasters of a comparison, each row by the map that was fitted to the rows of other folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats
from ..assessment.remedy import Remedy
from ..assessment.result import Assessment
from ..pairing.rows import Chunk, ScoredRows
from ..recalibration.gain import FEWEST_CLUSTERS, FEWEST_ROWS
from ..statistics.intervals import Interval
from ..statistics.means import apply_limit
from ..statistics.standard_errors import Dependence, uncertain_mean
from .next_step import LossDifference, NextStep

_MOST_FORECASTERS = 20
"""As many as are diagnosed for the text."""


ChosenChunks = Callable[[], Iterator[Chunk]]
"""Reads the paired rows of a forecaster anew, each time from the beginning, in the order of its input."""


class PairedForecasters(NamedTuple):
    """Rows that were compared, the best forecaster first."""

    rows: Mapping[str, ScoredRows]
    losses: Mapping[str, Floats]
    """Log loss of each row, by forecaster."""
    assessments: Mapping[str, Assessment]
    weights: Floats
    dependence: Dependence
    confidence: float
    chunks: Mapping[str, ChosenChunks]
    floor: float
    """Floor of the log losses; 0 for none."""


def next_step(paired: PairedForecasters) -> NextStep | None:
    """Find what would mend each forecaster, and who would be first after it.

    None where nothing was diagnosed, under 100 rows or 10 clusters, with infinite log losses, where a remedy takes too
    long to be tried unasked, and where the rows cannot be read any more.
    """
    some = [paired.assessments[name] for name in [*paired.rows][:_MOST_FORECASTERS]]
    if not (_enough(paired) and any(each.diagnosis.made for each in some)):
        return None
    if any(each.untried_remedy is not None for each in some):
        return None
    losses, mended = dict(paired.losses), {}
    for name, each in zip(paired.rows, some, strict=False):
        if each.remedy is not None and each.remedy.significant:
            try:
                losses[name] = _held_out(each.remedy, name, paired)
            except InputError:  # rows that cannot be read any more
                return None
            mended[name] = each.remedy
    means = {name: float(paired.weights @ each / paired.weights.sum()) for name, each in losses.items()}
    if not paired.floor:
        means |= {name: each.gain.after for name, each in mended.items()}
    ranked = dict(sorted(means.items(), key=lambda each: each[1]))
    before, (first, second, *_) = tuple(paired.losses), ranked
    rival = second if first == before[0] else before[0]
    level = 1 - (1 - paired.confidence) / math.comb(len(before), 2)  # that of the verdict (Bonferroni)
    lead = _difference(losses[rival], losses[first], paired, level)
    return NextStep(mended, ranked, rival, lead, paired.confidence, before, paired.floor)


def _enough(paired: PairedForecasters) -> bool:
    units = paired.dependence.independent_units(paired.weights.size)
    few = FEWEST_ROWS if paired.dependence.clusters is None else FEWEST_CLUSTERS
    finite = all(np.isfinite(each).all() for each in paired.losses.values())
    return paired.weights.size >= FEWEST_ROWS and units >= few and finite


def _held_out(remedy: Remedy, name: str, paired: PairedForecasters) -> Floats:
    """Return the log loss of each row by the maps that were fitted to the rows of other folds."""
    assert remedy.recalibrator.held_out is not None  # a fit of more rows than it keeps takes long
    blocks = (block for chunk in paired.chunks[name]() for block in chunk.forecasts.blocks())
    q, truth = remedy.recalibrator.held_out.recalibrated(blocks)
    losses = np.empty(truth.size)
    correct = apply_limit(q[np.arange(truth.size), truth], paired.floor)
    losses[np.argsort(paired.rows[name].position)] = -np.log(correct)
    return losses


def _difference(a: Floats, b: Floats, paired: PairedForecasters, level: float) -> LossDifference:
    found = uncertain_mean(a - b, paired.weights, paired.dependence)
    half = found.half_width(level)
    return LossDifference(found.mean, Interval(found.mean - half, found.mean + half))
