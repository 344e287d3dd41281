"""How sure an assessment is: its intervals, the verdict in words, and where both are not to be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._dependence import LEAST_WORTH
from ._resampling import coarse_counts
from ._views import counted_for
from ._wording import number_of, percent
from .errors import InputError
from .intervals import (
    Band,
    CalibrationTest,
    Interval,
    Sampled,
    Sampling,
    closed_intervals,
    rows_of_hits,
    sampled,
    tested_calibration,
    tested_shards,
)
from .labels import Label
from .means import DEFAULT_FLOOR, floor_for
from .measured import Estimator
from .measured import estimator as estimator_named
from .profile import RiskProfile
from .tally import EXACT_LIMIT, Tally, View

FEW_ERRORS, FEW_GROUPS = 50, 30
"""With fewer rows whose top class did not happen, or fewer groups, intervals have been seen to be too narrow."""

_FEW_DEGREES = 20
"""Of freedom of the standard error: it is as uncertain as that of eleven normal values."""

_SMALL_FLOOR = 0.005
"""At smaller floors few rows decide the robustness and the slope; it takes twice as many degrees of freedom."""

_FEWEST, _MOST = 40, 20_000
"""Samples: with fewer there is none beyond 95 % limits on either side; more need gigabytes."""

Verdict = Literal["overconfident", "underconfident", "miscalibrated", "not distinguishable from calibrated"]

_NOT: Verdict = "not distinguishable from calibrated"


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How sure an assessment is. Made when first asked for; the same settings give the same numbers."""

    intervals: dict[str, Interval]
    """Lower and upper limit of each figure, by the names of ``Assessment.figures()``."""
    verdict: Verdict | None
    """Over- or underconfident if the calibration test says that something is wrong and the slope's interval excludes 1;
    "miscalibrated" if it does not, or on the other side than the test. None if nothing was tested, or if it takes more
    samples or groups to tell with such confidence."""
    rows_needed: float
    """With about how many rows like these the interval of a slope like this one would exclude 1; NaN where it does, or
    where the verdict is another."""
    calibration_test: CalibrationTest | None
    """None if nothing was sampled, or a tally has weights and no shards."""
    curve: Band | None
    """Where the measured probability may lie."""
    consistent: Band | None
    """Where it would be measured if the forecasts were calibrated; None of rows in groups or with weights."""
    corrected: dict[str, float]
    """Measured metrics minus the bias of the estimator; empty for the default estimator, whose own are nearer."""
    warnings: tuple[str, ...]
    """Why intervals may be too narrow, if they may."""
    confidence: float
    resamples: int
    """How many samples intervals of measured figures, bands and test are made from."""
    seed: int
    """Of the random numbers by which these are drawn."""

    def __repr__(self) -> str:
        """Name it in one line."""
        how = f"{percent(self.confidence)} intervals, {number_of(self.resamples, 'sample')}, seed {self.seed}"
        return f"<Uncertainty: {self.verdict or 'no verdict'}; {how}>"


def checked_sampling(confidence: float, resamples: int, seed: int) -> Sampling:
    """Refuse a confidence that is none, and numbers of samples and seeds that are no whole numbers."""
    if not isinstance(confidence, float | np.floating) or not 0 < confidence < 1:
        raise InputError(f"confidence: expected a number between 0 and 1, such as 0.95, got {confidence!r}.")
    whole = isinstance(resamples, int | np.integer) and not isinstance(resamples, bool)
    if not whole or (resamples != 0 and not _FEWEST <= resamples <= _MOST):
        raise InputError(f"resamples: expected 0, or a whole number from {_FEWEST} to {_MOST:,}, got {resamples!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed: expected a whole number of at least 0, got {seed!r}.")
    return Sampling(float(confidence), int(resamples), int(seed))


def uncertainty(
    tally: Tally,
    figures: dict[str, float],
    headline: RiskProfile,
    estimator: Estimator,
    view: View,
    sampling: Sampling,
) -> Uncertainty:
    """Find out how sure figures are that were read from a tally.

    ``headline`` is the profile at the orders of decisiveness, geometric accuracy and robustness.
    """
    intervals = closed_intervals(tally, headline, sampling.confidence)
    found = Sampled()
    pooled = view == "all-classes" or (view == "each-class" and tally.n_classes == 2)
    if pooled and sampling.resamples and tally.independent_rows >= LEAST_WORTH:
        found = sampled(tally, figures, estimator, view, headline.floor, headline.limit, sampling)
        low, high = found.intervals["slope"]
        turned = Interval(*(math.degrees(math.atan2(1, end)) for end in (high, low)))  # tan(orientation) = 1 / slope
        intervals |= found.intervals | {"orientation": turned}
    ordered = {name: intervals.get(name, Interval(math.nan, math.nan)) for name in figures}
    verdict = None if found.test is None else _verdict(ordered["slope"], found.test, sampling)
    return Uncertainty(
        intervals=ordered,
        verdict=verdict,
        rows_needed=tally.n_rows * _times_the_rows(figures["slope"], ordered["slope"]) if verdict == _NOT else math.nan,
        calibration_test=found.test,
        curve=found.curve,
        consistent=found.consistent,
        corrected=found.corrected,
        warnings=(*_warnings(tally, headline), *_warnings_of_samples(found)),
        confidence=sampling.confidence,
        resamples=sampling.resamples if found.intervals else 0,
        seed=sampling.seed,
    )


def calibration_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    measured: str = "shrunk-isotonic",
    resamples: int = 1000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
) -> CalibrationTest:
    """Test whether forecasts are calibrated. A small p-value says that they are not.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        What happened: labels or one-hot rows. Or a `Tally`, with nothing beside it.
    y_prob : array_like of shape (n,) or (n, C)
        Reported probabilities of the positive class, or of each class.
    measured : str, default "shrunk-isotonic"
        Estimator of the measured probability: a key of `ESTIMATORS`. It decides which deviations the test sees best,
        not how often it is wrong about the calibrated.
    resamples : int, default 1000
        How many calibrated samples what was counted is compared with. The smallest p-value is 1 / (1 + resamples), and
        twice that of rows in groups or with weights.
    seed : int, default 0
        Of the random numbers that draw them.
    sample_weight : array_like of shape (n,), optional
        Non-negative importance weights.
    groups : array_like of shape (n,) or (n, k), mapping from name to such, or data frame, optional
        Which rows depend on one another: those with the same values. With groups or weights the test is one of sums of
        (o - p) logit(p) over shards of the rows, which see over- and underconfidence only. It takes six shards.
    labels, pos_label : optional
        As in `Forecasts`.

    Returns
    -------
    CalibrationTest
        ``statistic``, ``p_value`` and what the samples draw (``by``): that of `assess` with the same settings, which
        makes none of rows worth fewer than two independent ones.

    Raises
    ------
    InputError
        As `Forecasts`; for groups or weights beside a tally, which has its own, and for a tally with weights that was
        made without the part "shards".

    Notes
    -----
    The statistic is the sum of o ln(f/p) - o + p over all pairs, o being 1 for what happened, else 0, p the reported
    and f the measured probability. Calibrated samples draw what happens from p, in at most 256 cells: once for each row
    of two classes and of rows with at most 65,536 probabilities; of more in cells that are correlated as in as many of
    the rows; and for each pair by itself in a tally that kept no rows.

    Examples
    --------
    >>> from unperplexed import calibration_test
    >>> calibration_test([1, 0] * 200, [0.9, 0.4] * 200).p_value < 0.01
    True
    """
    measure = estimator_named(measured)
    sampling = checked_sampling(0.95, resamples, seed)
    if not sampling.resamples:
        raise InputError("resamples: a test takes samples, got 0.")
    parts = [] if sample_weight is None and groups is None else ["shards"]
    counting: dict[str, Any] = {"groups": groups, "parts": parts, "exact_limit": EXACT_LIMIT}
    tally = counted_for(["all-classes"], y_true, y_prob, sample_weight, labels, pos_label, **counting)
    counts = coarse_counts(tally)
    if tally.grouped or tally.uneven:
        if counts.shards is None:
            raise InputError("weights: a test needs the tally's part 'shards'; count it with parts=['shards'].")
        return tested_shards(counts, tally.grouped, sampling)
    floor = floor_for(DEFAULT_FLOOR, tally.n_classes)
    return tested_calibration(tally, counts, measure, floor, sampling, lambda _: None)[1]


def _verdict(slope: Interval, test: CalibrationTest, sampling: Sampling) -> Verdict | None:
    """Give the verdict, in which the test has a say: it is right with any number of rows.

    None where the p-value cannot be as small as it must, because of too few samples or shards.
    """
    if math.isnan(test.p_value) or test.sides / (1 + sampling.resamples) > 1 - sampling.confidence + 1e-12:
        return None
    if not test.p_value <= 1 - sampling.confidence:
        return _NOT
    if slope.high < 1 and not (test.sides == 2 and test.statistic > 0):
        return "overconfident"
    if slope.low > 1 and not (test.sides == 2 and test.statistic < 0):
        return "underconfident"
    return "miscalibrated"


def _times_the_rows(slope: float, interval: Interval) -> float:
    """With how many times the rows such a slope's interval would exclude 1: its half-width goes with their root."""
    low, high = interval
    if not 0 < low <= 1 <= high < math.inf:
        return math.nan
    return (math.log(high / low) / 2 / math.log(slope)) ** 2 if slope not in (0.0, 1.0) else math.inf


def _warnings(tally: Tally, headline: RiskProfile) -> Iterator[str]:
    errors = (1 - tally.prediction_accuracy) * rows_of_hits(tally)
    if errors < FEW_ERRORS - 0.5:
        what = "groups' worth of errors" if tally.grouped else "errors"
        yield f"few {what} ({errors:.0f}, {FEW_ERRORS} are wanted): intervals may be too narrow"
    elif (headline.degrees_of_freedom < _FEW_DEGREES * (2 if headline.floor < _SMALL_FLOOR else 1)).any():
        and_slope = " and slope" if headline.floor < _SMALL_FLOOR else ""
        yield f"few rows decide the robustness{and_slope}: intervals may be too narrow"
    if headline.values[1] == 0:
        yield (
            "an outcome predicted with probability 0 occurred: geometric accuracy, robustness and divergence are 0 and"
            " have no interval; choose a floor above 0"
        )
    if tally.uneven and tally.shards is None:
        yield "weights, and no shards (tally --parts shards): measured intervals are rough"
    if tally.grouped and tally.independent_rows < FEW_GROUPS - 0.5:
        yield f"few groups ({tally.independent_rows:.0f}, {FEW_GROUPS} are wanted): intervals may be too narrow"


def _warnings_of_samples(found: Sampled) -> Iterator[str]:
    if found.doubtful:
        names = " and ".join(name.replace("_", " ") for name in found.doubtful)
        plural = len(found.doubtful) > 1
        yield (
            f"no errors were seen among the most extreme predictions, so that their rate is unknown: the"
            f" interval{'s' if plural else ''} of {names} cover{'' if plural else 's'} both none and as many as the"
            " trend suggests"
        )
