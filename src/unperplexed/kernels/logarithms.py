"""Logarithms of probabilities, and their log-odds, of values as they came: not of the probabilities made of them.

Probabilities saturate: beyond log-odds of 37 the larger one is 1, and below logarithms of -745 one is 0. Logits and
log-probabilities do not, so that their logarithms are taken from them directly. Only an exact zero has an infinite one.
"""

from __future__ import annotations

import numpy as np

from .._lib.elementary import log_expit, of_rows
from .._lib.typing import AnyFloats, Floats
from .devices import Scale


def log_probabilities(x: AnyFloats, scale: Scale) -> Floats:
    """Log-probabilities of rows, one column a class, in double precision.

    Parameters
    ----------
    x : array of shape (n, C), or (n, 1) for the positive of two classes
        Valid rows: each is a distribution.
    scale : {"probability", "percent", "logits", "log-probs"}
        What ``x`` holds.

    Returns
    -------
    array of shape (n, C), or (n, 2)
        -inf for a probability of exactly 0.
    """
    z: Floats = np.asarray(x, dtype=np.float64)
    if z.shape[1] == 1:
        return np.concatenate([_of_rest(z, scale), _of_given(z, scale)], axis=1)
    if scale != "logits":
        return _of_given(z, scale)
    shifted = z - of_rows(np.maximum, z)
    return np.asarray(shifted - np.log(of_rows(np.add, np.exp(shifted))))


def log_odds(x: AnyFloats, scale: Scale) -> Floats:
    """Log-odds of the second of two classes, of rows as `log_probabilities` takes them: -inf and inf for 0 and 1."""
    z: Floats = np.asarray(x, dtype=np.float64)
    given = z if scale == "logits" else _of_given(z, scale)
    if z.shape[1] == 2:
        return np.asarray(given[:, 1] - given[:, 0])
    return np.asarray(given if scale == "logits" else given - _of_rest(z, scale))[:, 0]


def _of_given(x: Floats, scale: Scale) -> Floats:
    if scale == "log-probs":
        return x
    if scale == "logits":
        return np.asarray(log_expit(x))
    with np.errstate(divide="ignore"):
        return np.log(x / 100 if scale == "percent" else x)


def _of_rest(x: Floats, scale: Scale) -> Floats:
    """Logarithms of what single values leave to the other class."""
    with np.errstate(divide="ignore"):
        if scale == "logits":
            return np.asarray(log_expit(-x))
        if scale == "percent":
            return np.log((100 - x) / 100)
        if scale == "log-probs":  # expm1 is exact next to 1, log1p for the others (Maechler 2012)
            return np.where(x > -np.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))
        return np.log1p(-x)
