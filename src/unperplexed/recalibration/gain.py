"""The gain of a recalibration in log loss, measured on held-out rows."""

from __future__ import annotations

import math

from .._lib.formatting import number_of
from .._lib.typing import ByValue
from ..report.numbers import MINUS
from ..statistics.means import t_quantile

FEWEST_ROWS = 100
"""With fewer rows no gain is reported: its interval covers too seldom."""

FEWEST_CLUSTERS = 10
"""With fewer clusters of dependent rows no gain is reported either."""


class Gain(ByValue):
    """Decrease of the log loss by recalibration, cross-fitted (on rows held out of the fit). Larger is better.

    The interval goes from ``value + m - z SE`` to ``value + d + z SE``, with the standard error SE of the mean
    difference between rows (or clusters), and d, by how much the gain in-sample is larger. z is the 0.975 quantile of
    the normal distribution for rows, and for k clusters that of Student's t distribution with k - 1 degrees of freedom.

    The gain in-sample is larger than the true one by chance: for one parameter by SE times a standard normal number.
    Held-out rows take off what is expected of all parameters, d, but z SE has the share of one of them already. So m
    gives that share back: SE squared divided by twice the gain in-sample, about one nat in all rows, and at most d.
    Without m the interval holds 0 for many gains that are certain.

    Examples
    --------
    >>> from unperplexed.recalibration.gain import Gain
    >>> print(Gain(0.61, 0.58, 0.03, (0.01, 0.05), 400))
    Log loss 0.610 to 0.580 (gain 0.03, 95% CI 0.01 to 0.05, cross-fitted on 400 rows)
    """

    before: float
    """Mean log loss of the forecasts before recalibration, in nats. Smaller is better."""
    after: float
    """Mean log loss after recalibration, on held-out rows."""
    value: float
    """Difference of the two, in nats a row."""
    interval: tuple[float, float]
    """95% confidence interval of the gain."""
    n_rows: int
    """Number of rows of positive weight."""
    n_clusters: int | None = None
    """Number of clusters of dependent rows; None for independent rows, and in maps saved by earlier versions."""

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the gain, by the standard errors in which the interval ends below it."""
        from scipy.special import ndtr, stdtr

        error = (self.value - self.interval[0]) / errors_to_limit(self.n_clusters)
        if error <= 0:
            return 1.0
        away = -abs(self.value) / error
        return 2 * float(ndtr(away) if self.n_clusters is None else stdtr(self.n_clusters - 1, away))

    def interval_at(self, confidence: float) -> tuple[float, float]:
        """Return the interval at another confidence level."""
        low, high = self.interval
        half = self.value - low
        more = half * (errors_to_limit(self.n_clusters, confidence) / errors_to_limit(self.n_clusters) - 1)
        return low - more, high + more

    @property
    def significant(self) -> bool:
        """Whether the confidence interval lies above 0."""
        return self.interval[0] > 0

    @property
    def losses(self) -> tuple[str, str]:
        """Log loss before and after, with as many decimals as show the difference: at least three, at most seven."""
        decimals = min(max(3, -math.floor(math.log10(abs(self.value) or 1))), 7)
        return f"{self.before:.{decimals}f}", f"{self.after:.{decimals}f}"

    def __str__(self) -> str:
        """Give log loss before and after, and the gain with its interval."""
        return self.of("Log loss")

    def of(self, score: str) -> str:
        """Give the score before and after, by its name, and the gain with its interval."""
        low, high = self.interval
        before, after = self.losses
        among = "" if self.n_clusters is None else f" in {number_of(self.n_clusters, 'cluster')}"
        return (
            f"{score} {before} to {after} (gain {self.value:.2g}, 95% CI {low:.2g} to"
            f" {high:.2g}, cross-fitted on {number_of(self.n_rows, 'row')}{among})"
        ).replace("-0", f"{MINUS}0")


def gain_of(log_loss: float, mean: float, error: float, in_sample: float, n_rows: int, n_clusters: int | None) -> Gain:
    """Give the gain, and its interval by the standard error of its mean and by the gain in-sample.

    Parameters
    ----------
    log_loss : float
        Before recalibration, in nats a row.
    mean : float
        Cross-fitted gain, in nats a row.
    error : float
        Its standard error.
    in_sample : float
        Gain on the rows of the fit.
    n_rows : int
        Number of rows of positive weight.
    n_clusters : int or None
        Number of clusters; None for independent rows.
    """
    half = errors_to_limit(n_clusters) * error
    excess = max(0.0, in_sample - mean)
    one = min(excess, error**2 / (2 * in_sample)) if in_sample > 0 else 0.0
    interval = (mean + min(one - half, 0.0), mean + excess + half)
    return Gain(log_loss, log_loss - mean, mean, interval, n_rows, n_clusters)


def errors_to_limit(n_clusters: int | None, confidence: float = 0.95) -> float:
    """Return the number of standard errors in half a confidence interval."""
    return float(t_quantile(confidence, math.inf if n_clusters is None else n_clusters - 1))


class Baseline(ByValue):
    """A constant forecast of the base rate, fitted to the same folds and compared on the rows held out."""

    log_loss: float
    """Its mean log loss on held-out rows, in nats. Smaller is better."""
    interval: tuple[float, float]
    """95% confidence interval of its log loss minus that of the recalibrated forecasts."""
    zeros: int
    """Number of rows whose observed class had probability 0 before recalibration."""
    zeros_as: float
    """Probability that such a zero counts as."""

    def zeros_text(self, name: str = "the forecasts") -> str:
        """Say why the log loss is infinite, and what zeros count as in the gain; "" where it is finite."""
        if not self.zeros:
            return ""
        return (
            f"The log loss of {name} is infinite: the observed class had probability 0 in"
            f" {number_of(self.zeros, 'row')}. These zeros count as {self.zeros_as:.3g} in the gain."
        )
