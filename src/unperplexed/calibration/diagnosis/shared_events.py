"""A test for rare events in few clusters, where the sample does not show how strongly rows of a cluster depend.

If whole clusters share an event, a sample may hold none of these clusters. Then the covariance estimated from it is too
small, and calibrated forecasts are rejected too often. A likelihood ratio does not have this defect: it compares biased
forecasts with calibrated ones of *any* correlation, so that missing events count little if one cluster would have had
them all.

The outcome of a row is positive if sqrt(rho) u + sqrt(1 - rho) e is below the normal quantile of its probability; u is
standard normal and the same in a cluster, e is each row's own. Whatever rho is, each row's probability is as predicted
(the one-factor model of Vasicek 2002, "The distribution of loan portfolio value", Risk 15(12)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats
from ...statistics.log_odds_maps import features
from ...statistics.tails import chi2_sf
from .clusters import ClusterSums
from .scored import Scored, information_time

_CELLS = 40
"""Log-odds are put together into so many cells of equal information at most."""

_NODES, _masses = np.polynomial.hermite_e.hermegauss(21)
_LOG_MASSES = np.log(_masses / _masses.sum())

_CORRELATIONS = (0.01, 0.2, 0.8)
"""The likelihood may have several maxima; searches begin at each of these."""

_BOUNDS = {"rho": (-7.0, 4.0), "bias": (-6.0, 6.0), "confidence": (-0.95, 3.0)}
"""Bounds of the log-odds of rho, and of the parameters of an error."""


def shared_events_p_value(rows: Scored, clusters: ClusterSums, errors: Sequence[str]) -> float:
    """Test whether forecasts have any of the errors, against calibrated ones of any correlation within clusters.

    Twice the log of the likelihood ratio, divided by the design effect of weights, has the chi-squared distribution
    with as many degrees of freedom as there are errors.
    """
    from scipy.special import ndtri

    probability, share = expit(rows.s), information_time(rows.s, rows.total * rows.variance)
    cell = np.minimum((share * _CELLS).astype(np.intp), _CELLS - 1)
    members = (np.unique(cell)[:, None] == cell).astype(np.float64)
    total, predicted = clusters.totals(members), clusters.totals(members * probability)
    positive = np.clip(clusters.scores(members) + predicted, 0, total)
    mean = predicted.sum(axis=0) / total.sum(axis=0)
    centre = np.log(mean) - np.log1p(-mean)
    directions = features(errors, centre)

    def loss(at: Floats) -> float:
        moved = centre + directions[:, : at.size - 1] @ at[1:]
        return -one_factor_log_likelihood(ndtri(expit(moved)), float(expit(at[0])), positive, total - positive)

    starts = [np.log([rho / (1 - rho)]) for rho in _CORRELATIONS]
    calibrated = _least(loss, starts, ())
    wrong = _least(loss, [np.append(x, np.zeros(len(errors))) for x in [calibrated[0], *starts]], errors)
    ratio = 2 * (calibrated[1] - wrong[1]) / rows.design_effect
    return chi2_sf(len(errors), max(ratio, 0.0))


def one_factor_log_likelihood(quantile: Floats, rho: float, positive: Floats, negative: Floats) -> float:
    """Return the log-likelihood of outcomes, one cluster a row and one cell a column, integrated over u.

    ``quantile`` is the normal quantile of each cell's probability.
    """
    from scipy.special import log_ndtr, logsumexp

    z = (quantile[:, None] - np.sqrt(rho) * _NODES) / np.sqrt(1 - rho)
    return float(logsumexp(positive @ log_ndtr(z) + negative @ log_ndtr(-z) + _LOG_MASSES, axis=1).sum())


def _least(loss: Callable[[Floats], float], starts: Sequence[Floats], errors: Sequence[str]) -> tuple[Floats, float]:
    from scipy.optimize import minimize

    bounds = [_BOUNDS[name] for name in ("rho", *errors)]
    found = [minimize(loss, x, method="L-BFGS-B", bounds=bounds) for x in starts]
    best = min(found, key=lambda each: float(each.fun))
    return np.asarray(best.x), float(best.fun)
