"""A score's decomposition into miscalibration, discrimination and uncertainty, by isotonic recalibration (CORP)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Unpack

import numpy as np

from .._lib.by_value import ByValue
from .._lib.elementary import xlogy
from .._lib.errors import InputError, check_choice
from .._lib.typing import Floats
from ..forecasts.reading import RowReading, reads
from ..report.result import Result
from ..statistics.products import product
from ..tally.binary import mirror
from ..tally.tables import Pairs
from ..tally.tally import Tally, View
from ..tally.views import counted_for, pairs_by_class, view_or
from .estimators import isotonic

Divergence = Callable[[Any, Any], Floats]


def _squared(x: Any, q: Any) -> Floats:
    return np.asarray((x - q) ** 2)


def _poisson(x: Any, q: Any) -> Floats:
    return np.asarray(xlogy(x, x) - xlogy(x, q) - x + q)  # kl_div overflows where q is subnormal


# The score of a pair is the divergence from what happened, 1 or 0, to the reported probability: (p - o)^2, and
# -o ln p + p - o, which adds up to the log loss over rows that sum to 1. Both are least at the frequency.
_DIVERGENCES: Mapping[str, Divergence] = MappingProxyType({"brier_score": _squared, "log_loss": _poisson})


@dataclass(frozen=True)
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
        Outcomes: labels or one-hot rows. Or a `Tally`, which needs no more; the each-class view takes one that
        has the part "classes".
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities of the positive class, or of each class.
    score : {"brier_score", "log_loss"}, default "brier_score"
        The Brier score summed over classes: halve all four figures of two classes for the scale on which CORP
        prints them.
    view : {"each-class", "all-classes", "top-label"}, optional
        How forecasts are recalibrated, and the reference. Each-class: each class by a curve of its own, to its base
        rate; for two classes this is CORP. All-classes: one curve for all, to 1/C. Top-label: only whether the top
        class happens, as a forecast of two classes, right and wrong. By default each-class for two classes,
        all-classes for more.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``, ``pos_label``, ``scale``, ``invalid`` ...

    Returns
    -------
    Decomposition
        ``score``, ``miscalibration``, ``discrimination``, ``uncertainty``. Where 0 was assigned to an outcome, log
        loss and its miscalibration are infinite.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another score or view; for a tally without what the view needs.

    Notes
    -----
    CORP (Dimitriadis, Gneiting and Jordan 2021): MCB = S(p) - S(f), DSC = S(b) - S(f), UNC = S(b), with f isotonic
    regression and b the base rate of the pairs. In the all-classes view exp(-MCB) of the log loss is the divergence
    probability at floor 0. What row sums exceed 1 by is added to the log loss, which makes it proper for rows of any
    sum, and MCB >= 0.

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
