"""Rows of more than two classes with known errors, and their diagnosis."""

import numpy as np

from unperplexed.calibration.diagnosis.class_rows import PreparedRows, RowBlock, count
from unperplexed.calibration.diagnosis.class_statistics import SummedStatistics
from unperplexed.calibration.diagnosis.multiclass import diagnose_classes
from unperplexed.maps.two import tail


def simulate(rng, n, classes, confidence=0.0, biases=0.0, tails=0.0, noise=0.0):
    """Forecasts, and outcomes drawn from the map of these errors."""
    z = 2 * rng.normal(size=(n, classes))
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    p = np.exp(log_p)
    f = (1 + confidence) * log_p + biases + tails * tail(log_p - np.log1p(-p))
    q = np.exp(f - f.max(axis=1, keepdims=True))
    q = (1 - noise) * q / q.sum(axis=1, keepdims=True) + noise / classes
    y = (q.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=classes - 1)
    return p, y


def blocks(p, y, weights=None, cluster=None, size=10**9):
    """All rows in blocks of a size."""

    def part(values, here):
        return None if values is None else values[here]

    def rows():
        for first in range(0, len(y), size):
            here = slice(first, first + size)
            yield RowBlock(p[here], y[here], part(weights, here), part(cluster, here), np.arange(len(y))[here])

    return rows


def diagnose(p, y, weights=None, cluster=None, size=10**9, labels=None):
    with np.errstate(all="raise"):
        return diagnose_classes(blocks(p, y, weights, cluster, size), labels or tuple(range(p.shape[1])))


def bent(likelihoods, mapping, parameters=("slope", "tail", "biases")):
    """Slope of a log-likelihood by the biases, and the information on some parameters, at a map."""
    of = likelihoods.of(parameters, mapping)
    theta = of.theta_of(mapping)
    return of.ascent(theta)[1][of.places.get("biases", slice(0))], of.information(theta)


def prepared(p, y, every=(), **kinds):
    rows = blocks(p, y, **kinds)
    return PreparedRows(rows, count(rows), every=every)


def statistics_of(rows):
    found = SummedStatistics(rows.counts.classes)
    for chunk in rows:
        found.read(chunk)
    return found.total()
