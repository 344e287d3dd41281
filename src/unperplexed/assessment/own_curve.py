"""The calibration curve of some rows by themselves, such as a class or the most probable one, with its band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._lib.typing import Floats, ReadOnlyArrays
from ..calibration.estimators import Estimator, measured_of_samples
from ..calibration.worlds import Counts, drawn_rows, two_curves
from ..kernels.rows import COARSE
from ..tally.tables import Pairs


@dataclass(frozen=True)
class OwnCurve(ReadOnlyArrays):
    """Estimated frequency of the event at predicted probabilities, with a band; NaN limits where there is none."""

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats


def own_curve(
    pairs: Pairs,
    estimator: Estimator,
    *,
    scale: float = 1.0,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
    floor: float = 0.0,
) -> OwnCurve:
    """Estimate the calibration curve of pairs, in at most 256 cells, and a band for each point by itself.

    Parameters
    ----------
    pairs : Pairs
        Predicted probabilities in increasing order, weights of events and of all rows.
    estimator : Estimator
        Estimator of the measured (calibrated) probability.
    scale : float, default 1
        Number of rows of equal weight to a unit of weight.
    confidence : float, default 0.95
        Confidence level of the band, in (0, 1).
    resamples : int, default 200
        Bootstrap replicates; 0 for no band.
    seed : int, default 0
        Random seed.
    floor : float, default 0
        Passed to the estimator.

    Returns
    -------
    OwnCurve

    Notes
    -----
    Replicates are drawn from the shrunk-isotonic and from the isotonic curve, as for the intervals of an assessment.
    The band holds the quantiles of both. It assumes independent rows.

    Examples
    --------
    >>> from unperplexed import ESTIMATORS, Tally
    >>> pairs = Tally.of([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]).positive_pairs()
    >>> own_curve(pairs, ESTIMATORS["isotonic"], resamples=0).observed.tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    cell = COARSE.places(pairs.reported)[0]
    cell = np.cumsum(np.diff(cell, prepend=cell[:1]) != 0)
    total, happened, forecast_sum = (
        np.bincount(cell, x).astype(np.float64) * scale
        for x in (pairs.total, pairs.happened, pairs.total * pairs.reported)
    )
    p = forecast_sum / total
    observed = measured_of_samples(estimator, p, happened[None], total[None], floor)[0]
    low, high = np.full((2, p.size), np.nan)
    if resamples:
        rng = np.random.default_rng((seed, 2))
        ends = np.array([1 - confidence, 1 + confidence]) / 2
        limits = []
        for curve in two_curves(p, happened, total):
            drawn = drawn_rows(Counts(total * curve, total * (1 - curve)), float(total.sum()), resamples, rng)
            samples = measured_of_samples(estimator, p, drawn.happened, drawn.happened + drawn.missed, floor)
            limits.append(np.nanquantile(samples, ends, axis=0))
        low, high = np.min([x[0] for x in limits], axis=0), np.max([x[1] for x in limits], axis=0)
        low, high = np.fmin(low, observed), np.fmax(high, observed)
    return OwnCurve(p, observed, low, high)
