"""Agreement among sampled answers to a question as a probability, with the error that so few samples have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats, Ints

_LARGEST = 12.0
"""Logarithm of the largest parameter of the beta distribution that is fitted."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How often other samples give the same answer. Made by `answer_agreement`."""

    raw: Floats
    """Share of the other samples of the question with the same answer; NaN where there is no other."""
    probability: Floats
    """The same, moved towards the mean as far as chance makes it vary: mean of the beta-binomial posterior."""
    standard_error: Floats
    """Standard deviation of that posterior: what so few samples leave unknown."""
    samples: Ints
    """Number of samples of the question."""
    a: float
    b: float
    """Parameters of the beta distribution of the probability that another sample gives the same answer."""

    @property
    def reliability(self) -> float:
        """Share of the variance of ``raw`` that is not chance, at the mean number of other samples."""
        n = float((self.samples[self.samples > 1] - 1).mean())
        return n / (n + self.a + self.b)


def answer_agreement(question: Any, answer: Any) -> Agreement:
    """Turn repeated samples into a confidence: the probability that another sample gives the same answer.

    Parameters
    ----------
    question : array_like of shape (n,)
        Question of each sample.
    answer : array_like of shape (n,)
        Its answer, as text or number; None and "" agree with nothing.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        For arrays of unequal length, and where no question has two samples.

    Notes
    -----
    Of k samples m of the *other* k - 1 agree with an answer. Counting the answer itself, or that of the majority, would
    overstate the agreement. Over all answers m has a beta-binomial distribution with parameters a and b, which are
    fitted by maximum likelihood. The posterior mean ``(m + a) / (k - 1 + a + b)`` is the probability, its variance
    ``p (1 - p) / (k + a + b)`` the error of so few samples. It is never 0 or 1.

    Examples
    --------
    >>> from unperplexed.language_models import answer_agreement
    >>> found = answer_agreement([1, 1, 1, 2, 2, 2], ["Paris", "Paris", "Rome", "5", "5", "5"])
    >>> found.raw
    array([0.5, 0.5, 0. , 1. , 1. , 1. ])
    """
    of = np.unique(np.asarray(question).astype(str), return_inverse=True)[1].reshape(-1)
    texts = ["" if each is None else str(each).strip() for each in np.asarray(answer, dtype=object).reshape(-1)]
    if len(texts) != of.size:
        raise InputError(f"question, answer: expected one of each for every sample, got {of.size} and {len(texts)}.")
    said = np.unique(np.array(texts, dtype=object), return_inverse=True)[1].reshape(-1)
    samples = np.bincount(of)[of] if of.size else of
    if not (samples > 1).any():
        raise InputError("question, answer: no question has two samples, so that there is no agreement.")
    both = np.unique(of * (int(said.max()) + 1) + said, return_inverse=True)[1].reshape(-1)
    empty = np.array([not each for each in texts])
    alike = np.where(empty, 0, np.bincount(both)[both] - 1)
    others = samples - 1
    some = others > 0
    a, b = beta_binomial(alike[some], others[some])
    with np.errstate(invalid="ignore"):
        raw = np.where(some, alike / np.maximum(others, 1), np.nan)
    p = np.where(some, (alike + a) / (others + a + b), np.nan)
    return Agreement(raw, p, np.sqrt(p * (1 - p) / (others + a + b + 1)), samples, a, b)


def beta_binomial(m: Ints, n: Ints) -> tuple[float, float]:
    """Fit the parameters of a beta-binomial distribution of m of n by maximum likelihood."""
    from scipy.optimize import minimize
    from scipy.special import betaln

    (m, n), times = np.unique(np.stack([m, n]), axis=1, return_counts=True)

    def loss(x: Floats) -> float:
        a, b = np.exp(x)
        return -float((times * (betaln(m + a, n - m + b) - betaln(a, b))).sum()) / float(times.sum())

    mean = min(max(float((times * m).sum() / (times * n).sum()), 0.01), 0.99)
    start = np.log([2 * mean, 2 * (1 - mean)])
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(-_LARGEST / 2, _LARGEST)] * 2)
    a, b = (math.exp(float(each)) for each in found.x)
    return a, b
