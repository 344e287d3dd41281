"""Distributions whose normal scores were moved by a map: what a remedy makes of those of families and objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..._lib.typing import Bools, Floats, Ints
from ...statistics.normal_scores import normal_scores
from .distribution import Distribution
from .objects import Adapted


class Mended(Adapted):
    """Distributions and the maps of their normal scores, one a row."""

    def __init__(self, of: Distribution, curve: Any) -> None:
        """Take both; the maps have scores, inverse, gains and subset, as `PitCurve` has."""
        super().__init__(of, len(of), of.discrete)
        self._curve = curve

    def cdf(self, x: Any) -> Floats:
        """Return the probability up to x."""
        return np.asarray(ndtr(self._mended(x)))

    def sf(self, x: Any) -> Floats:
        """Return the probability of more than x, exact in the upper tail."""
        return np.asarray(ndtr(-self._mended(x)))

    def ppf(self, q: Any) -> Floats:
        """Return quantiles."""
        return np.asarray(self._of.ppf(ndtr(self._curve.inverse(ndtri(q)))))

    def logpdf(self, x: Any) -> Floats:
        """Return the log density; the log probability of counts, and of an atom."""
        before = self._of.logpdf(x)
        return np.asarray(before + np.where(np.isfinite(before), self._curve.gains(*self._of.scores_at(x)), 0.0))

    def subset(self, rows: Bools | Ints) -> Mended:
        """Return some of the rows."""
        return type(self)(self._of.subset(rows), self._curve.subset(rows))

    def _mended(self, x: Any) -> Floats:
        return np.asarray(self._curve.scores(normal_scores(self._of.cdf(x), self._of.sf(x))))


class MendedWithAtom(Mended):
    """Distributions in which 0 has a probability of its own."""

    def below_zero(self) -> tuple[Floats, Floats]:
        """Return the probability of less than 0, and its complement."""
        mended = self._curve.scores(self._of.scores_at(np.zeros(len(self)))[0])
        return ndtr(mended), ndtr(-mended)


def mended(of: Distribution, curve: Any) -> Distribution:
    """Return distributions whose normal scores are mended by a map."""
    return Distribution((MendedWithAtom if of.has_atom else Mended)(of, curve))
