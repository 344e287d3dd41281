"""The covariance that sums over clusters have if forecasts are calibrated, estimated so that missing events do no harm.

If whole clusters may share a rare event, a sample that happens to hold few of these clusters shows little covariance
and many rows without an event. A variance from this sample alone is too small just when the events are too few, and
calibrated forecasts are rejected too often. But the number of events that calibrated forecasts expect is known. So the
covariance is estimated for each event that was seen, and holds for as many events as are expected. Where hardly any
was seen, a part of an event that its whole cluster shares is added to the estimate.
"""

from __future__ import annotations

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats
from .clusters import ClusterSums, between_rows, bounded
from .scored import Scored

_SHARED_EVENTS = 0.25
"""Number of events shared by a whole cluster that are taken to have been seen beside those of the sample."""


def null_covariance(rows: Scored, clusters: ClusterSums, q: Floats, shares: Floats, events: float) -> Floats:
    """Return the covariance of the scores ``q``, one a row, which is 1 for independent rows of calibrated forecasts.

    ``events`` were seen for each expected one, as `events_seen` counts them.
    """
    v, information = rows.variance, rows.information
    sums = clusters.scores(q)
    seen = between_rows(sums, _own_squares(rows, q, sums.sum(axis=0)), shares)
    # If all rows of a cluster are as far from their predictions, in standard deviations.
    whole = clusters.totals(q * np.sqrt(v))
    shared = whole.T @ whole - np.eye(len(q))
    prior = _SHARED_EVENTS * rows.design_effect / information
    return bounded(np.eye(len(q)) + (seen + prior * shared) / (events + prior))


def events_seen(rows: Scored, clusters: ClusterSums) -> float:
    """Return how many of the less probable outcomes there are for each that is expected.

    A cluster counts by the number of rows that one of its events may be shared with. From 1/4 to 3/4 a row counts the
    less, the nearer it is to 1/2, where no outcome is rare, so that it makes no difference which class comes first.
    """
    p, v = expit(rows.s), rows.variance
    sd, expected = clusters.totals(np.stack([np.sqrt(v), v])).T
    rare = np.minimum(1, 2 * np.abs(1 - 2 * p))
    surplus = clusters.scores((rare * np.where(p < 0.5, 1 - p, -p))[None])[:, 0]
    return 1 + float(sd @ surplus) / float(sd @ expected)


def _own_squares(rows: Scored, q: Floats, total: Floats) -> Floats:
    """Sum the products of single rows' scores, each without its part in the totals, as those of clusters are taken."""
    p, part = expit(rows.s), rows.variance / rows.information
    residual = rows.squared_positive * (1 - p) - (rows.squared - rows.squared_positive) * p
    mixed = np.outer(q @ (residual * part), total)
    products = (q * rows.own_squares(p)) @ q.T
    return np.asarray(products - mixed - mixed.T + np.outer(total, total) * float(rows.squared @ part**2))
