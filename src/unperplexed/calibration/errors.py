"""Calibration errors: how far reported probabilities are, on average, from how often what they speak of happened.

`decompose` takes a score apart into miscalibration, discrimination and uncertainty, by isotonic recalibration (CORP).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Unpack

import numpy as np

from .._lib.elementary import xlogy
from .._lib.errors import InputError, check_choice, check_whole
from .._lib.typing import ByValue, Floats, Ints
from ..forecasts.reading import RowReading, reads
from ..report.result import Result
from ..statistics.matrices import product
from ..tally.binary import mirror
from ..tally.tables import Pairs
from ..tally.tally import PAIR_VIEWS, Tally, View, counted_for, pairs_by_class, view_or
from .estimators import equal_width, isotonic

Binning = Literal["equal-width", "equal-population"]

DEFAULT_BINS = 15
"""As Guo et al. 2017 and most that came after."""

_GRID = 1 << 14
"""Points that stand for [0, 1] when residuals are smoothed."""


def _width_bins(pairs: Pairs, bins: int) -> Ints:
    return equal_width(bins=bins).measure(*pairs).bin


def _population_bins(pairs: Pairs, bins: int) -> Ints:
    middle = np.cumsum(pairs.total) - pairs.total / 2
    # Equal weights need not be so to the last digit; where such a middle meets a multiple of the share, it goes up.
    share = np.floor(middle * (bins / pairs.total.sum()) * (1 + 1e-9))
    return np.unique(np.minimum(share, bins - 1), return_inverse=True)[1]


_BINNINGS: Mapping[str, Callable[[Pairs, int], Ints]] = MappingProxyType(
    {"equal-width": _width_bins, "equal-population": _population_bins}
)


class CalibrationErrors(ByValue, Result):
    """Calibration errors of one view. Smaller is better; 0 is best and 1 the largest there is."""

    ece: float
    """Expected calibration error, in bins of equal width."""
    ece_equal_population: float
    """The same in bins that hold equal numbers of pairs."""
    rmsce: float
    """Root mean square calibration error, in bins of equal width."""
    mce: float
    """Maximum calibration error: the largest of a bin of equal width, however few its pairs."""
    smooth_ece: float
    """Smooth calibration error, which has no bins."""


@reads(RowReading)
def expected_calibration_error(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int = DEFAULT_BINS,
    binning: Binning = "equal-width",
    norm: float = 1,
    view: View | None = None,
    **reading: Unpack[RowReading],
) -> float:
    """Mean distance, over bins, from predicted probability to observed frequency (ECE and others). Smaller is better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        Outcomes: labels or one-hot rows. Or a `Tally`, which needs no more; the
        each-class view takes one that has the part "classes".
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities of the positive class, or of each class.
    bins : int, default 15
        How many bins divide [0, 1], or the pairs. Empty ones do not count.
    binning : {"equal-width", "equal-population"}, default "equal-width"
        Bins of equal width hold their lower edge, the last one both. Those of
        equal population hold equal numbers of pairs; a value's pairs are never
        split but all go to the bin in which the middle one of them lies, so
        that bins can be uneven, and fewer.
    norm : {1, 2, inf}, default 1
        How the bins' distances are averaged: 1 the mean (ECE), 2 the root mean
        square (RMSCE), inf the largest (MCE).
    view : {"top-label", "each-class", "all-classes"}, optional
        Which pairs: those of the most probable class; of each class in bins of
        its own, averaged over classes, but of two classes the positive one
        alone; or of all classes in the same bins. By default each-class for two
        classes, top-label for more.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
        ``pos_label``, ``scale``, ``invalid`` ...

    Returns
    -------
    float
        From 0 (every bin's frequency is its mean reported probability) to 1.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for other bins, binning, norm or view; for
        a tally without what the view needs.

    Notes
    -----
    ``(sum_k n_k/n |mean reported_k - frequency_k|^norm)^(1/norm)`` over bins k
    of n_k pairs, in the each-class view over the bins of all classes.
    Top-label, norm 1: ECE (Naeini et al. 2015; Guo et al. 2017). Each-class:
    class-wise ECE (Kull et al. 2019), with equal population ACE (Nixon et al.
    2019), with norm 2 the marginal calibration error (Kumar et al. 2019).
    Biased upwards: bins of few pairs are off by chance.

    Examples
    --------
    >>> from unperplexed import expected_calibration_error
    >>> observed, predicted = [1, 1, 1, 0], [0.875, 0.875, 0.875, 0.25]
    >>> expected_calibration_error(observed, predicted)
    0.15625
    >>> expected_calibration_error(observed, predicted, norm=float("inf"))
    0.25
    """
    check_choice("binning", binning, _BINNINGS)
    if isinstance(norm, bool) or norm not in (1, 2, math.inf):
        raise InputError(f"norm: expected 1, 2 or inf, got {norm!r}.")
    check_whole("bins", bins)
    tally = counted_for([view], y_true, y_prob, reading)
    groups = pairs_by_class(tally, view_or(view, "top-label", tally.n_classes))
    return binned_error(groups, bins, binning, norm)


@reads(RowReading)
def smooth_calibration_error(
    y_true: Any, y_prob: Any = None, *, view: View | None = None, **reading: Unpack[RowReading]
) -> float:
    """Calibration error with a kernel instead of bins, which chooses its own width. Smaller is better.

    A small change of the probabilities changes it little, while they can cross
    the edge of a bin and change the ECE at once.

    Parameters
    ----------
    y_true, y_prob, view, **reading
        As in `expected_calibration_error`.

    Returns
    -------
    float
        From 0 to 1; also the width of the kernel, as a standard deviation.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another view; for a tally without what
        the view needs.

    Notes
    -----
    smECE (Błasiok and Nakkiran 2024): the integral over [0, 1] of ``|sum_i w_i
    (p_i - y_i) K(t, p_i)| / sum w``, K the Gaussian kernel reflected at 0 and 1
    whose standard deviation equals the result. The reflected kernel damps
    cosine waves; residuals are shared out to 2**14 points, so that its cost
    does not grow with their number and the result is right to about 1e-6. In
    the each-class view the mean over classes.

    Examples
    --------
    >>> from unperplexed import smooth_calibration_error
    >>> round(smooth_calibration_error([1, 1, 1, 0], [0.5, 0.5, 0.5, 0.5]), 4)
    0.25
    """
    tally = counted_for([view], y_true, y_prob, reading)
    return smooth_error(pairs_by_class(tally, view_or(view, "top-label", tally.n_classes)))


@reads(RowReading)
def calibration_errors(
    y_true: Any, y_prob: Any = None, *, bins: int = DEFAULT_BINS, **reading: Unpack[RowReading]
) -> dict[View, CalibrationErrors]:
    """All calibration errors in use, by view. Smaller is better.

    Parameters
    ----------
    y_true, y_prob, bins, **reading
        As in `expected_calibration_error`. For a tally without the part
        "classes" there is no each-class view.

    Returns
    -------
    dict of str to CalibrationErrors
        By view: ``"top-label"``, whose ``ece`` is what is called ECE where
        there are many classes; ``"each-class"``, whose ``ece`` is the
        class-wise ECE (of two classes the one of binary forecasts) and
        ``ece_equal_population`` the ACE; and ``"all-classes"``.

    Raises
    ------
    InputError
        As `expected_calibration_error`.

    Notes
    -----
    See `expected_calibration_error` and `smooth_calibration_error`.

    Examples
    --------
    >>> from unperplexed import calibration_errors
    >>> errors = calibration_errors([1, 1, 1, 0], [0.875, 0.875, 0.75, 0.25])
    >>> errors["each-class"].ece, errors["top-label"].ece
    (0.1875, 0.1875)
    >>> round(errors["each-class"].smooth_ece, 4)
    0.1687
    """
    check_whole("bins", bins)
    tally = counted_for(PAIR_VIEWS, y_true, y_prob, reading)
    views = [view for view in PAIR_VIEWS if view != "each-class" or tally.knows_classes]
    return {view: _errors(pairs_by_class(tally, view), bins) for view in views}


def _errors(groups: Sequence[Pairs], bins: int) -> CalibrationErrors:
    return CalibrationErrors(
        ece=binned_error(groups, bins),
        ece_equal_population=binned_error(groups, bins, "equal-population"),
        rmsce=binned_error(groups, bins, norm=2),
        mce=binned_error(groups, bins, norm=math.inf),
        smooth_ece=smooth_error(groups),
    )


def binned_error(groups: Sequence[Pairs], bins: int, binning: str = "equal-width", norm: float = 1) -> float:
    """Calibration error over the bins of all groups of pairs, each of which is binned by itself.

    Parameters
    ----------
    groups : sequence of Pairs
        Pairs of one view, by class where each has bins of its own.
    bins : int
        Number of bins of each group.
    binning : {"equal-width", "equal-population"}, default "equal-width"
    norm : {1, 2, inf}, default 1
        As in `expected_calibration_error`.
    """
    weights, gaps = zip(*(_gaps(pairs, _BINNINGS[binning](pairs, bins)) for pairs in groups), strict=True)
    share, gap = np.concatenate(weights), np.concatenate(gaps)
    if norm == math.inf:
        return float(gap.max())
    return float((share @ gap**norm / share.sum()) ** (1 / norm))


def _gaps(pairs: Pairs, bin_: Ints) -> tuple[Floats, Floats]:
    """Weight of each bin, and the distance from its mean reported probability to its frequency."""
    weight, off = (np.bincount(bin_, x) for x in (pairs.total, pairs.reported * pairs.total - pairs.happened))
    return np.asarray(weight), np.abs(off) / weight


def smooth_error(groups: Sequence[Pairs]) -> float:
    """Smooth calibration error, averaged over groups of pairs."""
    return float(np.mean([_smooth_error(pairs) for pairs in groups]))


def _smooth_error(pairs: Pairs) -> float:
    from scipy.fft import dct, idct
    from scipy.optimize import brentq

    waves = dct(_on_grid(pairs.reported, (pairs.reported * pairs.total - pairs.happened) / pairs.total.sum()))

    def smoothed(width: float) -> float:
        return float(np.abs(idct(waves * np.exp(-((np.pi * width * np.arange(_GRID)) ** 2) / 2))).sum())

    # It falls as the kernel widens, from at most 1. Below the width of a cell it says no more than there.
    if smoothed(1 / _GRID) <= 1 / _GRID:
        return smoothed(1 / _GRID)
    return float(brentq(lambda width: smoothed(width) - width, 1 / _GRID, 2.0, xtol=1e-12))


def _on_grid(position: Floats, amount: Floats) -> Floats:
    """Share amounts out between the middles of the two cells next to their positions, which keeps their mean place."""
    place = position * _GRID - 0.5
    left = np.floor(place).astype(np.int64)
    right_share = place - left
    # What lies beyond the outermost middles is reflected onto them.
    cell = np.append(np.maximum(left, 0), np.minimum(left + 1, _GRID - 1))
    return np.asarray(np.bincount(cell, np.append(amount * (1 - right_share), amount * right_share), _GRID))


Divergence = Callable[[Any, Any], Floats]


def _squared(x: Any, q: Any) -> Floats:
    return np.asarray((x - q) ** 2)


def _poisson(x: Any, q: Any) -> Floats:
    return np.asarray(xlogy(x, x) - xlogy(x, q) - x + q)  # kl_div overflows where q is subnormal


# The score of a pair is the divergence from what happened, 1 or 0, to the reported probability: (p - o)^2, and
# -o ln p + p - o, which adds up to the log loss over rows that sum to 1. Both are least at the frequency.
_DIVERGENCES: Mapping[str, Divergence] = MappingProxyType({"brier_score": _squared, "log_loss": _poisson})


class Decomposition(ByValue, Result):
    """A mean score in three parts: ``score = miscalibration - discrimination + uncertainty``. Made by `decompose`."""

    score: float
    """Smaller is better."""
    miscalibration: float
    """MCB, what the best recalibration that keeps the order would save. Smaller is better; never below 0."""
    discrimination: float
    """DSC, what the recalibrated forecasts save over the reference. Larger is better."""
    uncertainty: float
    """UNC, the score of the reference: a constant forecast of the base rates."""
    rule: str
    """Name of the score."""
    view: View

    @property
    def factors(self) -> dict[str, float]:
        """Parts of the log loss as probabilities and factors between them, exp of minus each.

        ``geometric_accuracy = reference * gain * divergence_probability``: the geometric accuracy of a constant
        forecast of the base rates, the factor of at least 1 by which discrimination raises it, and the factor of at
        most 1 by which miscalibration lowers it.
        """
        if self.rule != "log_loss":
            raise InputError(f"factors: only a log loss has them, not a {self.rule.replace('_', ' ')}.")
        return {
            "geometric_accuracy": math.exp(-self.score),
            "reference": math.exp(-self.uncertainty),
            "gain": math.exp(self.discrimination),
            "divergence_probability": math.exp(-self.miscalibration),
        }


@reads(RowReading)
def decompose(
    y_true: Any,
    y_prob: Any = None,
    *,
    score: Literal["brier_score", "log_loss"] = "brier_score",
    view: View | None = None,
    **reading: Unpack[RowReading],
) -> Decomposition:
    """Decompose a score into miscalibration, discrimination and uncertainty. Larger discrimination is better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        Outcomes: labels or one-hot rows. Or a `Tally`, which needs no more; the
        each-class view takes one that has the part "classes".
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities of the positive class, or of each class.
    score : {"brier_score", "log_loss"}, default "brier_score"
        The Brier score summed over classes: halve all four figures of two
        classes for the scale on which CORP prints them.
    view : {"each-class", "all-classes", "top-label"}, optional
        How forecasts are recalibrated, and the reference. Each-class: each
        class by a curve of its own, to its base rate; for two classes this is
        CORP. All-classes: one curve for all, to 1/C. Top-label: only whether
        the top class happens, as a forecast of two classes, right and wrong. By
        default each-class for two classes, all-classes for more.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
        ``pos_label``, ``scale``, ``invalid`` ...

    Returns
    -------
    Decomposition
        ``score``, ``miscalibration``, ``discrimination``, ``uncertainty``.
        Where 0 was assigned to an outcome, log loss and its miscalibration are
        infinite.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another score or view; for a tally
        without what the view needs.

    Notes
    -----
    CORP (Dimitriadis, Gneiting and Jordan 2021): MCB = S(p) - S(f), DSC = S(b)
    - S(f), UNC = S(b), with f isotonic regression and b the base rate of the
    pairs. In the all-classes view exp(-MCB) of the log loss is the divergence
    probability at floor 0. What row sums exceed 1 by is added to the log loss,
    which makes it proper for rows of any sum, and MCB >= 0.

    Examples
    --------
    >>> from unperplexed import decompose
    >>> parts = decompose([0, 1, 0, 1], [0.25, 0.5, 0.5, 0.75])
    >>> parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty
    (0.3125, 0.0625, 0.25, 0.5)
    """
    check_choice("score", score, _DIVERGENCES)
    tally = counted_for([view], y_true, y_prob, reading)
    return _decomposed(tally, score, view_or(view, "all-classes", tally.n_classes))


def _decomposed(tally: Tally, rule: str, view: View) -> Decomposition:
    groups = pairs_by_class(tally, view)
    if view != "all-classes" and len(groups) == 1:  # one event: with its opposite, two classes
        groups = [*groups, mirror(groups[0])]
    divergence = _DIVERGENCES[rule]
    parts = np.sum([_parts(divergence, pairs) for pairs in groups], axis=0) / tally.weight
    apparent, miscalibration, discrimination, uncertainty = parts.tolist()
    score = apparent if view == "top-label" else _exact_score(tally, rule, groups)
    # In cells the score tells apart what the pairs do not: that is discrimination too.
    if not math.isclose(score, apparent, rel_tol=1e-12, abs_tol=1e-15):
        discrimination = max(discrimination + apparent - score, 0.0)
    return Decomposition(score, miscalibration, discrimination, uncertainty, rule, view)


def _parts(divergence: Divergence, pairs: Pairs) -> tuple[float, float, float, float]:
    """Score, miscalibration, discrimination and uncertainty of pairs, summed over their weight."""
    reported, happened, total = pairs
    measured = isotonic.measure(*pairs).measured
    all_happened, all_total = happened.sum(keepdims=True), total.sum(keepdims=True)
    base = all_happened / all_total
    score, recalibrated = (_cost(divergence, q, happened, total) for q in (reported, measured))
    # On a level stretch of the curve frequency and curve agree, so that scores differ by the divergence between curves.
    discrimination = float((total * divergence(measured, base)).sum())
    return (
        score,
        max(score - recalibrated, 0.0),
        max(discrimination, 0.0),
        _cost(divergence, base, all_happened, all_total),
    )


def _cost(divergence: Divergence, q: Floats, happened: Floats, total: Floats) -> float:
    """Score of saying q, summed over pairs; infinite only where something happened."""
    some = happened > 0
    hits, misses = happened[some] * divergence(1.0, q[some]), (total - happened) * divergence(0.0, q)
    return float(hits.sum() + misses.sum())


def _exact_score(tally: Tally, rule: str, groups: Sequence[Pairs]) -> float:
    """Score from the tally's own sums; of the log loss, with what row sums exceed 1 by."""
    excess = sum(float(product(pairs.reported, pairs.total)) for pairs in groups) / tally.weight - 1
    return tally.score(rule) + (excess if rule == "log_loss" else 0.0)
