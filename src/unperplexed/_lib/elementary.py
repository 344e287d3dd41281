"""Elementary functions of arrays as SciPy has them, without loading it: that takes longer than most assessments.

No warnings are given where a result is infinite or NaN.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from .typing import Floats


def expit(x: Any) -> Any:
    """Probability of log-odds."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-np.asarray(x)))


def log_expit(x: Any) -> Any:
    """Logarithm of the probability of log-odds."""
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


def of_rows(of: np.ufunc, x: Any) -> Any:
    """Reduce each row to one number, a column: few columns one by one, as NumPy takes long over short rows."""
    return (reduce(of, x.T) if 0 < x.shape[1] <= _FEW else of.reduce(x, axis=1))[:, None]


_FEW = 32
"""Columns."""


def logit(p: Any) -> Any:
    """Log-odds of probabilities, to the last digits near 1/2 as well."""
    p = np.asarray(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(p - 0.5) < 0.2, 2 * np.arctanh(2 * p - 1), np.log(p / (1 - p)))[()]


def log_gamma(x: Floats) -> Floats:
    """Logarithm of the gamma function of a few positive numbers."""
    return np.array([math.lgamma(each) for each in x.tolist()])


def xlogy(x: Any, y: Any) -> Any:
    """Give x ln y, and 0 where x is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((np.asarray(x) == 0) & ~np.isnan(y), 0.0, x * np.log(y))[()]


def xlog1py(x: Any, y: Any) -> Any:
    """Give x ln(1 + y), and 0 where x is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((np.asarray(x) == 0) & ~np.isnan(y), 0.0, x * np.log1p(y))[()]
