"""Mean scores of predictive distributions, a function for each rule; the formulas are in `rules`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._lib.errors import InputError
from ..._lib.typing import Floats
from ...forecasts.distributions.arrays import refuse_rows
from ...forecasts.distributions.partitions import Samples
from ...forecasts.distributions.predictive import Predictive
from ...statistics.means import checked_weights, mean_of_rows
from . import rules
from .rules import checked_share

Rows = Callable[[Floats, Predictive], Floats]


def crps(y_true: Any, forecast: Any, *, fair: bool = True, sample_weight: Any = None) -> float:
    """Mean continuous ranked probability score, in the unit of the outcomes. Smaller is better.

    It is the mean absolute error of forecasts without spread, and rewards those that are sharp and calibrated.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        Outcomes.
    forecast : Quantiles, Samples, Distribution, Ordered, or array_like of shape (n, M)
        Predictive distributions, one a row; an array holds members, as of `Samples`.
    fair : bool, default True
        Whether members count as exchangeable draws from a distribution, whose score is estimated without bias. False
        scores the ensemble itself, for members that differ in kind, such as several models.
    sample_weight : array_like of shape (n,), optional
        Importance weights, 0 or more; a row of weight 2 counts as two rows.

    Returns
    -------
    float
        From 0 (certain and right); the fair score of single rows may be below 0. Infinite where a forecast's tails are
        heavier than those of Student's t with 1/2 degree of freedom.

    Raises
    ------
    InputError
        If shapes differ, numbers are missing, or the forecasts are PIT values.

    Notes
    -----
    The integral of ``(F(x) - [y <= x])^2``, which is ``E|X - y| - E|X - X'| / 2`` (Gneiting and Raftery 2007).
    Families have closed forms, other distributions are integrated. Of members the pairs' mean distance divides by
    M (M - 1) if fair (Ferro 2014), else by M^2. Of quantiles it is twice the mean quantile loss: the weighted interval
    score, where levels are the ends of central intervals. Of ordered classes it is the ranked probability score, in
    numbers of classes. Strictly proper. Scores of forecasts by few members or
    quantiles are those of what is given, so compare within one form only.

    Examples
    --------
    >>> from unperplexed import Distribution, Quantiles
    >>> from unperplexed.scores import crps
    >>> round(crps([21.0], Distribution("normal", mean=[20.0], sd=2.0)), 4)
    0.6628
    >>> [round(crps([3.0], [[1.0, 2.0, 4.0]], fair=fair), 4) for fair in (True, False)]
    [0.3333, 0.6667]
    >>> round(crps([3.0], Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0]])), 4)
    0.5333
    """
    return _mean(partial(rules.crps_rows, fair=fair), y_true, forecast, sample_weight)


def weighted_interval_score(y_true: Any, forecast: Any, *, sample_weight: Any = None) -> float:
    """Mean weighted interval score of predicted quantiles (WIS), in the unit of the outcomes. Smaller is better.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        Outcomes.
    forecast : Quantiles
        Predicted quantiles at levels that are the ends of central intervals: 0.1 with 0.9, and so on.
    sample_weight : array_like of shape (n,), optional
        As in `crps`.

    Returns
    -------
    float
        From 0 (certain and right).

    Raises
    ------
    InputError
        For other forecasts, and for levels without a counterpart.

    Notes
    -----
    Twice the mean quantile loss (Bracher, Ray, Gneiting and Reich 2021): interval scores weighted by
    ``(1 - coverage) / 2`` and half of the median's absolute error, divided by their number with the median as one half.

    Examples
    --------
    >>> from unperplexed import Quantiles
    >>> from unperplexed.scores import weighted_interval_score
    >>> round(weighted_interval_score([3.0], Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0]])), 4)
    0.5333
    """
    return _mean(rules.weighted_interval_score_rows, y_true, forecast, sample_weight)


def quantile_loss(y_true: Any, forecast: Any, level: float, *, sample_weight: Any = None) -> float:
    """Mean quantile loss at one level, in the unit of the outcomes (pinball loss). Smaller is better.

    Parameters
    ----------
    y_true, forecast, sample_weight
        As in `crps`.
    level : float
        Level of the quantile, between 0 and 1. Forecasts by quantiles need to have it.

    Returns
    -------
    float
        From 0; half of the median's absolute error at level 0.5.

    Raises
    ------
    InputError
        As `crps`; for a level that is no share, or that the forecasts do not have.

    Notes
    -----
    ``(level - [y < q]) (y - q)`` (Koenker and Bassett 1978).

    Examples
    --------
    >>> from unperplexed import Quantiles
    >>> from unperplexed.scores import quantile_loss
    >>> forecast = Quantiles([0.1, 0.9], [[1.0, 4.0], [2.0, 5.0]])
    >>> round(quantile_loss([3.0, 6.0], forecast, 0.9), 4)
    0.5
    """
    rows = partial(rules.quantile_loss_rows, level=checked_share(level, "level"))
    return _mean(rows, y_true, forecast, sample_weight)


def interval_score(y_true: Any, forecast: Any, coverage: float = 0.9, *, sample_weight: Any = None) -> float:
    """Mean interval score of central intervals: their width and a penalty for outcomes outside. Smaller is better.

    Parameters
    ----------
    y_true, forecast, sample_weight
        As in `crps`.
    coverage : float, default 0.9
        Probability that the interval should hold. Forecasts by quantiles need to have its ends.

    Returns
    -------
    float
        From 0, in the unit of the outcomes.

    Raises
    ------
    InputError
        As `crps`; for a coverage that is no share, or whose ends the forecasts do not have.

    Notes
    -----
    The width, plus the distance of an outcome outside times ``2 / (1 - coverage)`` (Winkler 1972). Proper.

    Examples
    --------
    >>> from unperplexed import Quantiles
    >>> from unperplexed.scores import interval_score
    >>> forecast = Quantiles([0.1, 0.9], [[1.0, 4.0], [2.0, 5.0]])
    >>> round(interval_score([3.0, 6.0], forecast, 0.8), 4)
    8.0
    """
    rows = partial(rules.interval_score_rows, coverage=checked_share(coverage, "coverage"))
    return _mean(rows, y_true, forecast, sample_weight)


def log_score(y_true: Any, forecast: Any, *, sample_weight: Any = None) -> float:
    """Mean of minus the log density of the outcomes, in nats. Smaller is better.

    Parameters
    ----------
    y_true, forecast, sample_weight
        As in `crps`.

    Returns
    -------
    float
        Of densities any number, which depends on the unit of the outcomes. Infinite where an outcome was impossible.

    Raises
    ------
    InputError
        As `crps`.

    Notes
    -----
    Of counts and classes, and at an atom, the log of a probability. Of quantiles, the log of the probability between
    the two neighbours of the outcome; of M members without ties this is 1/(M + 1) wherever it falls, so that it says
    nothing of them until they are recalibrated. Compare within one form only. Local and proper (Good 1952).

    Examples
    --------
    >>> from unperplexed import Distribution
    >>> from unperplexed.scores import log_score
    >>> round(log_score([21.0], Distribution("normal", mean=[20.0], sd=2.0)), 4)
    1.7371
    """
    return _mean(rules.log_score_rows, y_true, forecast, sample_weight)


def threshold_weighted_crps(
    y_true: Any,
    forecast: Any,
    *,
    above: Any = -np.inf,
    below: Any = np.inf,
    fair: bool = True,
    sample_weight: Any = None,
) -> float:
    """Mean CRPS of the numbers between two thresholds, for outcomes of which some matter most. Smaller is better.

    Parameters
    ----------
    y_true, forecast, fair, sample_weight
        As in `crps`.
    above, below : float or array_like of shape (n,), optional
        Thresholds. With ``above=30`` forecasts are judged by what they say of numbers above 30.

    Returns
    -------
    float
        From 0, in the unit of the outcomes. The scores below and above a threshold add up to the CRPS.

    Raises
    ------
    InputError
        As `crps`; if a threshold is missing, or ``above`` is not less than ``below``.

    Notes
    -----
    The integral of the CRPS from ``above`` to ``below`` (Gneiting and Ranjan 2011): the CRPS after outcomes and
    forecasts that are beyond a threshold were moved to it. Proper. Do not score the rows with
    extreme outcomes only instead: that rewards whoever always predicts extremes.

    Examples
    --------
    >>> from unperplexed.scores import crps, threshold_weighted_crps
    >>> y, members = [3.0], [[1.0, 2.0, 4.0]]
    >>> parts = [threshold_weighted_crps(y, members, **part) for part in ({"below": 2.5}, {"above": 2.5})]
    >>> [round(part, 4) for part in parts], round(crps(y, members), 4)
    ([0.1667, 0.1667], 0.3333)
    """
    above, below = (np.asarray(each, dtype=np.float64) for each in (above, below))
    refuse_rows(
        np.atleast_1d(~(above < below)), "above", "a threshold that is not less than the one below", "Swap them."
    )
    rows = partial(rules.threshold_weighted_crps_rows, above=above, below=below, fair=fair)
    return _mean(rows, y_true, forecast, sample_weight)


def distribution_row_scores(y_true: Any, forecast: Any, rows: Rows) -> Floats:
    """Score of each row, by a rule on checked outcomes and forecasts."""
    if isinstance(y_true, Predictive):
        raise InputError("y_true: got forecasts. Outcomes come first, then forecasts.")
    forecast = forecast if isinstance(forecast, Predictive) else Samples(forecast)
    y = forecast.outcomes(y_true)
    refuse_rows(~forecast.complete, forecast.form, "something missing", "Leave them out with subset(complete).")
    return rows(y, forecast)


def _mean(rows: Rows, y_true: Any, forecast: Any, sample_weight: Any) -> float:
    values = distribution_row_scores(y_true, forecast, rows)
    return mean_of_rows(values, None if sample_weight is None else checked_weights(sample_weight, len(values)))
