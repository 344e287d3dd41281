"""What calibrated forecasters would have seen: samples whose outcomes are drawn from the predicted probabilities."""

from __future__ import annotations

import math
from typing import Any, Literal, Unpack, get_args

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, check_choice
from .._lib.typing import ByValue, Floats
from ..forecasts.reading import RowReading, reads
from ..report.result import Result
from ..statistics.intervals import Sampling, checked_sampling
from ..statistics.matrices import product
from ..statistics.means import DEFAULT_FLOOR, floor_for
from ..tally.tally import EXACT_LIMIT, Tally, counted_for
from .clustered_test import score_test
from .diagnosis.diagnose import diagnose
from .estimators import Estimator, measured_of_samples, named_estimator
from .resampling import CellCounts, Sample, coarse_counts
from .world_samples import ClassRows

_AT_ONCE = 1 << 22
"""Probabilities that are drawn from at once, for the memory."""

_SMOOTH = 25.0
"""A count of at least this variance, if pairs are independent, is drawn as a normal one corrected for its skewness."""


_BEYOND = 12
"""Standard deviations above its mean that a binomial count does not reach."""


def calibrated(tally: Tally, counts: CellCounts, n: int, rng: np.random.Generator) -> tuple[Sample, bool]:
    """Draw samples, and say whether one class happens in each row of them; else pairs are drawn each by itself.

    For two classes a cell determines the outcomes in its mirror image. For more, few rows are drawn one by one; of
    many, cells are drawn together, with the correlations that they have in the rows that the tally kept.

    Parameters
    ----------
    tally : Tally
    counts : CellCounts
        Its pairs in cells.
    n : int
        How many samples.
    rng : numpy.random.Generator
    """
    if counts.mirrored:
        return _mirrored(counts, n, rng), True
    kept = ClassRows.of(tally, counts.codes)
    if kept is None or tally.uneven:
        total = np.rint(counts.counted.total).astype(np.int64)
        happened = rng.binomial(total, counts.reported, size=(n, total.size)).astype(np.float64)
        return Sample(happened, np.broadcast_to(total.astype(np.float64), happened.shape)), False
    p = counts.reported[kept.at]
    rows = _CellRows(kept, p / p.sum(axis=1, keepdims=True))
    return (rows.drawn(n, rng) if kept.complete else rows.correlated_samples(counts, n, rng)), True


def _mirrored(counts: CellCounts, n: int, rng: np.random.Generator) -> Sample:
    total = np.rint(counts.counted.total).astype(np.int64)
    low, middle, high = counts.halves()
    happened = np.zeros((n, total.size))
    happened[:, low] = rng.binomial(total[low], counts.reported[low], size=(n, low.size))
    happened[:, high] = total[low] - happened[:, low]
    happened[:, middle] = total[middle] / 2
    return Sample(happened, np.broadcast_to(total.astype(np.float64), happened.shape))


class _CellRows(Frozen):
    """Rows whose probabilities are the means of the cells that they are in."""

    rows: ClassRows
    p: Floats
    """Probabilities, which sum to 1, one row a row."""

    def drawn(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw a class for each row."""
        n_cells = self.rows.size
        cell, p = (np.repeat(x, self.rows.count.astype(np.int64), axis=0) for x in (self.rows.at, self.p))
        up_to, each = np.cumsum(p, axis=1)[:, :-1], np.arange(len(cell))
        happened = np.empty((n, n_cells))
        for some in np.array_split(np.arange(n), -(-n * cell.size // _AT_ONCE)):
            which = np.count_nonzero(up_to <= rng.random((some.size, len(cell), 1)), axis=2)
            at = cell[each, which] + n_cells * np.arange(some.size)[:, None]
            happened[some] = np.bincount(at.reshape(-1), minlength=n_cells * some.size).reshape(-1, n_cells)
        total = np.bincount(cell.reshape(-1), minlength=n_cells).astype(np.float64)
        return Sample(happened, np.broadcast_to(total, happened.shape))

    def correlated_samples(self, counts: CellCounts, n: int, rng: np.random.Generator) -> Sample:
        """Draw counts of the cells that are correlated as they are in these rows: a Gaussian copula."""
        from scipy.special import ndtr

        variance, correlation = self._moments()
        total, p = counts.counted.total, counts.reported
        # Cell by cell, since one row that was often said is kept all times or none.
        apart = total * p * (1 - p)
        variance = np.where(self.rows.kept > 0, variance * total / np.maximum(self.rows.kept, 1.0), apart)
        values, vectors = np.linalg.eigh(correlation)
        z = product(rng.standard_normal((n, total.size)), (vectors * np.sqrt(np.maximum(values, 0.0))).T)
        happened = np.empty_like(z)
        smooth = apart >= _SMOOTH
        happened[:, smooth] = (total * p)[smooth] + np.sqrt(variance[smooth]) * z[:, smooth]
        # By the skewness of a count of such a variance, (1 - 2p) / deviation (Cornish and Fisher 1938).
        happened[:, smooth] += np.where(variance >= 1, 1 - 2 * p, 0.0)[smooth] * (z[:, smooth] ** 2 - 1) / 6
        for at in np.flatnonzero(~smooth):
            happened[:, at] = _quantiles(float(total[at]), float(p[at]), ndtr(z[:, at]))
        return Sample(np.clip(happened, 0.0, total), np.broadcast_to(total, happened.shape))

    def _moments(self) -> tuple[Floats, Floats]:
        """Variances and correlations of how many pairs of each cell happen in these rows."""
        p, count = self.rows.by_cell(self.p), self.rows.count
        covariance = np.diag(product(count, p)) - product((p * count[:, None]).T, p)
        variance = np.maximum(np.diag(covariance).copy(), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = covariance / np.sqrt(np.outer(variance, variance))
        correlation[~np.isfinite(correlation)] = 0.0
        np.fill_diagonal(correlation, 1.0)
        return variance, correlation


def _quantiles(total: float, p: float, share: Floats) -> Floats:
    """Quantiles of a binomial count that varies little."""
    from scipy.special import bdtr

    n = round(total)
    flip = p > 0.5
    q = 1 - p if flip else p
    most = min(n, int(n * q + _BEYOND * np.sqrt(n * q + 1) + 20))
    found = np.searchsorted(bdtr(np.arange(most), n, q), 1 - share if flip else share, side="left")
    return np.asarray(n - found if flip else found, dtype=np.float64)


TestedBy = Literal["rows", "values", "cells", "sums", "pairs", "shards"]
TestKind = Literal["score", "resampled"]


class CalibrationTest(ByValue, Result):
    """Whether calibrated forecasts would look as miscalibrated as these. A small p-value says that they would not."""

    statistic: float
    """W, the weighted sum of squared score components; for the resampled test the sum of o ln(f/p) - o + p over all
    pairs (o the outcome, f the measured and p the predicted probability), or with clusters or weights the t of the sums
    of (o - p) logit(p) over shards."""
    p_value: float
    by: TestedBy
    """What was read: rows, or the values, cells or sums of a tally. For the resampled test what its samples keep to:
    one class occurs in each row; each pair is by itself, in tallies that kept no rows; or shards of the rows."""


@reads(RowReading)
def calibration_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    test: TestKind = "score",
    measured: str | Estimator = "shrunk-isotonic",
    resamples: int = 1000,
    seed: int = 0,
    **reading: Unpack[RowReading],
) -> CalibrationTest:
    """Test whether forecasts are calibrated. A small p-value says that they are
    not.

    Returns a `CalibrationTest` with ``statistic`` and ``p_value``. A large
    p-value shows nothing: `diagnose` also says which errors so few rows could
    hide.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        Outcomes: labels or one-hot rows. Or a `Tally`, with nothing beside it.
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities of the positive class, or of each class.
    test : {"score", "resampled"}, default "score"
        "score" is the test behind every verdict: closed form, no random
        numbers, clusters and weights by the robust form. "resampled" compares
        the measured curve with those of calibrated samples.
    measured : str or Estimator, default "shrunk-isotonic"
        For the resampled test, the estimator of the measured probability: a key
        of `ESTIMATORS`.
    resamples : int, default 1000
        For the resampled test, how many calibrated samples are drawn. The
        smallest p-value is 1 / (1 + resamples), and twice that with clusters or
        weights.
    seed : int, default 0
        For the resampled test, the random seed.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
        ``pos_label``, ``scale`` ..., and ``clusters``, the clusters of rows
        that may depend on one another. The resampled test then sees over- and
        underconfidence only, and needs six shards.

    Returns
    -------
    CalibrationTest
        ``statistic``, ``p_value`` and what they were read from (``by``).

    Raises
    ------
    InputError
        As `Forecasts`; for clusters or weights beside a tally, which has its
        own; for a tally of more than two classes, of which "score" needs the
        part "diagnosis"; for "resampled" and a tally with weights but without
        the part "shards".

    Notes
    -----
    The score test is that of `diagnose`; where rows predicted as certain erred,
    the p-value of that is combined with it (Bonferroni). With two classes
    ``W = sum w_k Z_k^2`` with Z_k the components for bias, confidence, tails,
    asymmetry and four further shapes, orthonormal under the variances p (1 -
    p), corrected for skewness; its p-value is the saddlepoint approximation of
    the weighted chi-squared distribution (Kuonen 1999).

    Examples
    --------
    >>> from unperplexed import calibration_test
    >>> calibration_test([1, 0] * 200, [0.9, 0.4] * 200).p_value < 0.01
    True
    """
    check_choice("test", test, get_args(TestKind))
    measure, sampling = named_estimator(measured), checked_sampling(0.95, resamples, seed)
    if test == "score":
        found = diagnose(y_true, y_prob, **reading)
        if not found.made:
            raise InputError(f"test: {found.reason}. Or choose test='resampled'.")
        return CalibrationTest(found.statistic, found.overall_p_value, found.by)  # type: ignore[arg-type]
    if not sampling.resamples:
        raise InputError("resamples: a test takes samples, got 0.")
    plain = reading.get("sample_weight") is None and reading.get("clusters") is None
    tally = counted_for(["all-classes"], y_true, y_prob, reading, [] if plain else ["shards"], EXACT_LIMIT)
    return _resampled(tally, measure, sampling)


def _resampled(tally: Tally, measure: Estimator, sampling: Sampling) -> CalibrationTest:
    """Compare with calibrated samples: of rows, or where these are in clusters or have weights of shards."""
    counts, rng = coarse_counts(tally), np.random.default_rng((sampling.seed, 1))
    if not tally.exchangeable:
        if counts.shards is None:
            raise InputError("weights: a test needs the tally's part 'shards'; count it with parts=['shards'].")
        return CalibrationTest(*score_test(counts, tally.clustered, sampling.resamples, rng), "shards")
    floor = floor_for(DEFAULT_FLOOR, tally.n_classes)
    null, by_row = calibrated(tally, counts, sampling.resamples, rng)
    observed = Sample(counts.counted.happened[None], counts.counted.total[None])
    statistic, others = (
        _statistic(counts, sample, measured_of_samples(measure, counts.reported, *sample, floor))
        for sample in (observed, null)
    )
    p_value = _share_as_far(float(statistic[0]), others, counts.rows)
    return CalibrationTest(float(statistic[0]), p_value, "rows" if by_row else "pairs")


def _share_as_far(observed: float, null: Floats, rows: float) -> float:
    """p-value by samples. Equal ones count, and where nothing can vary all are equal."""
    rounding = 1e-9 * abs(observed) + 1e-12 * rows if math.isfinite(observed) else 0.0
    return (1 + int(np.count_nonzero(null >= observed - rounding))) / (1 + null.size)


def _statistic(counts: CellCounts, sample: Sample, measured: Floats) -> Floats:
    """Statistic of the calibration test, of each sample."""
    with np.errstate(divide="ignore", invalid="ignore"):
        surplus = np.log(measured) - np.log(counts.reported)
        gain = np.where(sample.happened > 0, sample.happened * surplus, 0.0)
    return np.asarray((gain - sample.happened + sample.total * counts.reported).sum(axis=-1))
