"""Scoring rules of predictive distributions: one value for each row, and each rule by its name.

Below are mean scores, a function for each rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..._lib.arrays import one_number
from ..._lib.dataclasses import Frozen, replace
from ..._lib.errors import InputError, nearest
from ..._lib.typing import AnyFloats, Floats
from ...forecasts.distributions.arrays import refuse_rows
from ...forecasts.distributions.distribution import Distribution
from ...forecasts.distributions.ordered import Ordered
from ...forecasts.distributions.partitions import Partition, Quantiles, Samples
from ...forecasts.distributions.pit import PIT
from ...forecasts.distributions.predictive import Predictive
from ...kernels.compiled import kernel as _kernel
from ...statistics.means import checked_weights, mean_of_rows
from ...statistics.normal_scores import probability_between
from ..rules import ranked_distances
from .closed_forms import closed_crps, integrated_crps, summed_crps

_BLOCK = 2_048
"""Rows at a time, which stay in cache."""


def quantile_losses(y: Floats, values: AnyFloats, levels: Floats) -> Floats:
    """Return the sums over levels of the quantile losses of values of shape (n, k), which are float32 or float64."""
    total = np.zeros(len(y))
    if _kernel is not None:
        _kernel.quantile_losses(np.ascontiguousarray(y), np.ascontiguousarray(values), levels, total)
        return total
    for at in range(0, len(y), _BLOCK):
        distances = y[at : at + _BLOCK] - np.ascontiguousarray(values[at : at + _BLOCK].T, dtype=np.float64)
        for level, distance in zip(levels, distances, strict=True):
            total[at : at + _BLOCK] += np.maximum(level * distance, (level - 1) * distance)
    return total


_MANY = 1_000.0
"""Spread of counts from which they are not added up one by one."""

_SAME_LEVEL = 1e-9
"""Levels that differ by less are the same, as 0.1 and 1 - 0.9 are."""


def ensemble_crps(y: Floats, members: AnyFloats, fair: bool = True) -> Floats:
    """Return the CRPS of ensembles, shape (n, M): the mean distance to the outcome, less that of pairs of members.

    The fair score divides the sum over pairs by M (M - 1) instead of M^2 (Ferro 2014). Of members that are draws, its
    expectation is the score of the distribution from which they come.
    """
    size = members.shape[1]
    pairs = size * (size - 1 if fair else size)
    weights = (2 * np.arange(size) - (size - 1)) / pairs
    scores = np.empty(len(y))
    for at in range(0, len(y), _BLOCK):
        distances = members[at : at + _BLOCK] - y[at : at + _BLOCK, None]
        distances.sort(axis=1)
        scores[at : at + _BLOCK] = np.abs(distances).mean(axis=1) - np.einsum("ij,j->i", distances, weights)
    return scores


def mean_quantile_loss(y: Floats, levels: Floats, values: AnyFloats) -> Floats:
    """Return the mean over levels of the quantile loss of values of shape (n, k)."""
    return quantile_losses(y, values, levels) / len(levels)


def crps_rows(y: Floats, forecast: Predictive, fair: bool = True) -> Floats:
    """Return the CRPS of each row; by quantiles, twice the mean quantile loss."""
    if isinstance(forecast, Samples):
        return ensemble_crps(y, forecast.members, fair)
    if isinstance(forecast, Quantiles):
        return 2 * mean_quantile_loss(y, forecast.levels, forecast.values)
    if isinstance(forecast, Distribution):
        return _distribution_crps(y, forecast)
    if isinstance(forecast, Ordered):
        return ranked_distances(forecast.probabilities, y)
    raise _untold("crps", forecast)


def ranked_probability_score_rows(y: Floats, forecast: Predictive) -> Floats:
    """Return the ranked probability score of each row: the CRPS of the numbers of ordered classes."""
    if not isinstance(forecast, Ordered):
        raise InputError("ranked_probability_score: it is a score of Ordered. Take the CRPS of other forecasts.")
    return crps_rows(y, forecast)


def _untold(score: str, forecast: Predictive) -> InputError:
    forms = "Give the forecasts as Quantiles, Samples, Distribution or Ordered."
    return InputError(f"{score}: it is not known of forecasts by {forecast.form}. {forms}")


def _distribution_crps(y: Floats, forecast: Distribution) -> Floats:
    scores = np.full(len(y), np.nan)
    if forecast.family is not None:
        scores = closed_crps(forecast.family, y, forecast.canonical, forecast.parameters.get("zero"))
    left = np.flatnonzero(np.isnan(scores))
    if left.size:
        ends = np.full(left.size, np.inf)
        scores[left] = _between(y[left], forecast.subset(left), -ends, ends)
    return scores


def threshold_weighted_crps_rows(
    y: Floats, forecast: Predictive, *, above: Any = -np.inf, below: Any = np.inf, fair: bool = True
) -> Floats:
    """Return the CRPS of each row over the numbers between two thresholds, beyond which all are equal."""
    above, below = (np.broadcast_to(np.asarray(each, dtype=np.float64), len(y)) for each in (above, below))
    if isinstance(forecast, Distribution):
        return _between(y, forecast, above, below)
    if not isinstance(forecast, Partition):
        raise _untold("threshold_weighted_crps", forecast)
    clip = partial(np.clip, a_min=above[:, None], a_max=below[:, None])
    return crps_rows(np.clip(y, above, below), forecast.at(clip(forecast.numbers)), fair)


def _between(y: Floats, forecast: Distribution, above: Floats, below: Floats) -> Floats:
    """Add up over counts, unless there are so many that their distribution is all but continuous; else integrate."""
    few = forecast.spread() < _MANY if forecast.discrete else np.zeros(len(y), dtype=bool)
    scores = np.empty(len(y))
    for rows, crps in ((few, summed_crps), (~few, integrated_crps)):
        if rows.any():
            scores[rows] = crps(forecast.subset(rows), y[rows], above[rows], below[rows])
    return scores


def quantile_loss_rows(y: Floats, forecast: Predictive, level: float) -> Floats:
    """Return the quantile loss of each row at a level."""
    return mean_quantile_loss(y, np.array([level]), _quantile(forecast, level, "quantile_loss")[:, None])


def interval_score_rows(y: Floats, forecast: Predictive, coverage: float) -> Floats:
    """Return the interval score of each row: twice the quantile losses at both ends, divided by 1 - coverage."""
    levels = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
    ends = np.stack([_quantile(forecast, level, "interval_score") for level in levels], axis=1)
    return 4 / (1 - coverage) * mean_quantile_loss(y, levels, ends)


def _quantile(forecast: Predictive, level: float, score: str) -> Floats:
    """Return the predicted quantile of each row, which predicted quantiles have or have not."""
    if isinstance(forecast, Quantiles):
        at = np.flatnonzero(np.abs(forecast.levels - level) < _SAME_LEVEL)
        if not at.size:
            raise InputError(f"{score}: no quantile at {level:g}. The forecasts have {_levels_text(forecast)}.")
        return np.asarray(forecast.values[:, at[0]])
    if isinstance(forecast, PIT):
        raise _untold(score, forecast)
    return forecast.quantile([level])[:, 0]


def _levels_text(forecast: Quantiles) -> str:
    return ", ".join(f"{level:g}" for level in forecast.levels)


def weighted_interval_score_rows(y: Floats, forecast: Predictive) -> Floats:
    """Return the weighted interval score of each row: the CRPS by quantiles, whose levels come in pairs."""
    if not isinstance(forecast, Quantiles):
        raise InputError("weighted_interval_score: it is a score of Quantiles. Take the CRPS of other forecasts.")
    if not _paired(forecast):
        expected = "the ends of central intervals, such as 0.1 and 0.9. The CRPS takes any levels."
        raise InputError(f"weighted_interval_score: the levels {_levels_text(forecast)} are not {expected}")
    return crps_rows(y, forecast)


def _paired(forecast: Quantiles) -> bool:
    """Say whether levels are the ends of central intervals, and the median."""
    return bool(np.abs(forecast.levels + forecast.levels[::-1] - 1).max() < _SAME_LEVEL)


def log_score_rows(y: Floats, forecast: Predictive) -> Floats:
    """Return minus the log density of each outcome; by quantiles and members, of the probability of its cell."""
    if isinstance(forecast, Distribution):
        return 0.0 - forecast.logpdf(y)  # no negative zero
    if isinstance(forecast, PIT):
        raise _untold("log_score", forecast)
    if isinstance(forecast, Ordered):
        with np.errstate(divide="ignore"):
            return 0.0 - np.log(forecast.of_class(y))
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(probability_between(*forecast.scores_at(y))))


def log1p_crps_rows(y: Floats, forecast: Predictive, fair: bool = True) -> Floats:
    """Return the CRPS of each row on the scale log(1 + y), by quantiles or members that are not negative."""
    if not isinstance(forecast, Partition):
        raise InputError("log1p_crps: it is a score of Quantiles and Samples.")
    if min(y.min(), forecast.numbers.min()) < 0:
        raise InputError("log1p_crps: there are numbers below 0. It is for counts and amounts.")
    return crps_rows(np.log1p(y), forecast.at(np.log1p(forecast.numbers)), fair)


class DistributionScore(Frozen):
    """A scoring rule of predictive distributions: one value for each row, and what is to be known about it."""

    name: str
    rows: Callable[[Floats, Predictive], Floats]
    """Values of the rows, of outcomes and forecasts; infinite where the rule is, never NaN."""
    title: str
    """What tables call it."""
    note: str = ""
    """A few words for tables."""
    better: str = "smaller"
    """Which values are better."""
    proper: bool = True
    """Whether no forecast can be expected to score better than one's belief."""


_RULES = (
    DistributionScore("crps", crps_rows, "CRPS", "in the unit of the outcomes"),
    DistributionScore("plain_crps", partial(crps_rows, fair=False), "Plain CRPS", "of the members as they are"),
    DistributionScore("weighted_interval_score", weighted_interval_score_rows, "WIS", "CRPS by quantiles"),
    DistributionScore("ranked_probability_score", ranked_probability_score_rows, "RPS", "CRPS of class numbers"),
    DistributionScore("log_score", log_score_rows, "Log score", "nats"),
    DistributionScore("log1p_crps", log1p_crps_rows, "CRPS of log(1 + y)", "of relative errors"),
)
DISTRIBUTION_SCORES: Mapping[str, DistributionScore] = MappingProxyType({score.name: score for score in _RULES})
"""Scoring rules of predictive distributions by name."""

_PARAMETRIC: Mapping[str, tuple[Callable[..., Floats], str, str, str]] = {
    "quantile_loss": (quantile_loss_rows, "level", "Quantile loss at {:g}", "of one quantile"),
    "interval_score": (interval_score_rows, "coverage", "Score of {:.4g} intervals", "width and misses"),
}
"""Rules with a share: their rows, what they call it, title and note."""

_SHORT = {"wis": "weighted_interval_score", "rps": "ranked_probability_score"}
"""What some call a rule."""


def distribution_score_named(name: str) -> DistributionScore:
    """Find a scoring rule of predictive distributions by its name, with a share in brackets if it has one.

    Parameters
    ----------
    name : str
        A name in `DISTRIBUTION_SCORES`, ``"wis"``, ``"quantile_loss(level)"`` or ``"interval_score(coverage)"``.

    Returns
    -------
    DistributionScore
        The rule; its name has the share in its shortest form.

    Raises
    ------
    InputError
        For an unknown name, with the list of names; for a level or coverage that is no share between 0 and 1.
    """
    found = DISTRIBUTION_SCORES.get(_SHORT.get(str(name), str(name)))
    if found is not None:
        return found
    parts = re.fullmatch(r"(\w+)\((.*)\)", str(name))
    if parts and parts[1] in _PARAMETRIC:
        share, (rows, of, title, note) = checked_share(parts[2], parts[1]), _PARAMETRIC[parts[1]]
        return DistributionScore(f"{parts[1]}({share!r})", partial(rows, **{of: share}), title.format(share), note)
    known = [*DISTRIBUTION_SCORES, *(f"{rule}(0.8)" for rule in _PARAMETRIC)]
    near = nearest(str(name), known)
    also = f"; did you mean {near[0]!r}?" if near else "."
    raise InputError(f"metrics: no scoring rule {name!r} of predictive distributions{also} Known: {', '.join(known)}.")


def scores_that_apply(forecast: Predictive, y: Floats) -> tuple[DistributionScore, ...]:
    """Return the rules that an assessment of forecasts shows unasked."""
    if isinstance(forecast, PIT):
        return ()
    paired = isinstance(forecast, Quantiles) and _paired(forecast)
    of_classes = isinstance(forecast, Ordered)
    names = ["weighted_interval_score" if paired else "ranked_probability_score" if of_classes else "crps"]
    if isinstance(forecast, Partition) and (y == np.floor(y)).all() and min(y.min(), forecast.numbers.min()) >= 0:
        names.append("log1p_crps")
    if not isinstance(forecast, Samples):  # the ranks of members have all the same probability
        names.append("log_score")
    return tuple(replace(DISTRIBUTION_SCORES[name], title=title_beside(name, names)) for name in names)


def title_beside(name: str, others: Container[str], form: str = "") -> str:
    """Give the title of a rule: beside the WIS, which is the CRPS by quantiles, that of log(1 + y) is a WIS too.

    Of forecasts by members the CRPS is the fair one. Of these and of quantiles the log score is that of the cells that
    they make, which differ between forecasters.
    """
    title = distribution_score_named(name).title
    title = f"Fair {title}" if name == "crps" and form.endswith("members") else title
    title = f"{title} of own cells" if name == "log_score" and form.endswith(("members", "quantiles")) else title
    return title.replace("CRPS", "WIS") if "weighted_interval_score" in others else title


def checked_share(share: Any, name: str) -> float:
    """Raise an error for what is no number between 0 and 1."""
    value = one_number(share)
    if not 0 < value < 1:
        raise InputError(f"{name}: expected a share between 0 and 1, such as 0.8, got {share!r}.")
    return value


Rows = Callable[[Floats, Predictive], Floats]


def crps(y_true: Any, forecast: Any, *, fair: bool = True, sample_weight: Any = None) -> float:
    """Mean continuous ranked probability score, in the unit of the outcomes. Smaller is better.

    It is the mean absolute error of forecasts without spread, and rewards those
    that are sharp and calibrated.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        Outcomes.
    forecast : Quantiles, Samples, Distribution, Ordered, or array_like of shape (n, M)
        Predictive distributions, one a row; an array holds members, as of
        `Samples`.
    fair : bool, default True
        Whether members count as exchangeable draws from a distribution, whose
        score is estimated without bias. False scores the ensemble itself, for
        members that differ in kind, such as several models.
    sample_weight : array_like of shape (n,), optional
        Importance weights, 0 or more; a row of weight 2 counts as two rows.

    Returns
    -------
    float
        From 0 (certain and right); the fair score of single rows may be below
        0. Infinite where a forecast's tails are heavier than those of Student's
        t with 1/2 degree of freedom.

    Raises
    ------
    InputError
        If shapes differ, numbers are missing, or the forecasts are PIT values.

    Notes
    -----
    The integral of ``(F(x) - [y <= x])^2``, which is
    ``E|X - y| - E|X - X'| / 2`` (Gneiting and Raftery 2007). Families have
    closed forms, other distributions are integrated. Of members the pairs' mean
    distance divides by M (M - 1) if fair (Ferro 2014), else by M^2. Of
    quantiles it is twice the mean quantile loss: the weighted interval score,
    where levels are the ends of central intervals. Of ordered classes it is the
    ranked probability score, in numbers of classes. Strictly proper. Scores of
    forecasts by few members or quantiles are those of what is given, so compare
    within one form only.

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
    return _mean(partial(crps_rows, fair=fair), y_true, forecast, sample_weight)


def weighted_interval_score(y_true: Any, forecast: Any, *, sample_weight: Any = None) -> float:
    """Mean weighted interval score of predicted quantiles (WIS), in the unit of the outcomes. Smaller is better.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        Outcomes.
    forecast : Quantiles
        Predicted quantiles at levels that are the ends of central intervals:
        0.1 with 0.9, and so on.
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
    Twice the mean quantile loss (Bracher, Ray, Gneiting and Reich 2021):
    interval scores weighted by ``(1 - coverage) / 2`` and half of the median's
    absolute error, divided by their number with the median as one half.

    Examples
    --------
    >>> from unperplexed import Quantiles
    >>> from unperplexed.scores import weighted_interval_score
    >>> round(weighted_interval_score([3.0], Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0]])), 4)
    0.5333
    """
    return _mean(weighted_interval_score_rows, y_true, forecast, sample_weight)


def quantile_loss(y_true: Any, forecast: Any, level: float, *, sample_weight: Any = None) -> float:
    """Mean quantile loss at one level, in the unit of the outcomes (pinball loss). Smaller is better.

    Parameters
    ----------
    y_true, forecast, sample_weight
        As in `crps`.
    level : float
        Level of the quantile, between 0 and 1. Forecasts by quantiles need to
        have it.

    Returns
    -------
    float
        From 0; half of the median's absolute error at level 0.5.

    Raises
    ------
    InputError
        As `crps`; for a level that is no share, or that the forecasts do not
        have.

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
    rows = partial(quantile_loss_rows, level=checked_share(level, "level"))
    return _mean(rows, y_true, forecast, sample_weight)


def interval_score(y_true: Any, forecast: Any, coverage: float = 0.9, *, sample_weight: Any = None) -> float:
    """Mean interval score of central intervals: their width and a penalty for outcomes outside. Smaller is better.

    Parameters
    ----------
    y_true, forecast, sample_weight
        As in `crps`.
    coverage : float, default 0.9
        Probability that the interval should hold. Forecasts by quantiles need
        to have its ends.

    Returns
    -------
    float
        From 0, in the unit of the outcomes.

    Raises
    ------
    InputError
        As `crps`; for a coverage that is no share, or whose ends the forecasts
        do not have.

    Notes
    -----
    The width, plus the distance of an outcome outside times
    ``2 / (1 - coverage)`` (Winkler 1972). Proper.

    Examples
    --------
    >>> from unperplexed import Quantiles
    >>> from unperplexed.scores import interval_score
    >>> forecast = Quantiles([0.1, 0.9], [[1.0, 4.0], [2.0, 5.0]])
    >>> round(interval_score([3.0, 6.0], forecast, 0.8), 4)
    8.0
    """
    rows = partial(interval_score_rows, coverage=checked_share(coverage, "coverage"))
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
        Of densities any number, which depends on the unit of the outcomes.
        Infinite where an outcome was impossible.

    Raises
    ------
    InputError
        As `crps`.

    Notes
    -----
    Of counts and classes, and at an atom, the log of a probability. Of
    quantiles, the log of the probability between the two neighbours of the
    outcome; of M members without ties this is 1/(M + 1) wherever it falls, so
    that it says nothing of them until they are recalibrated. Compare within one
    form only. Local and proper (Good 1952).

    Examples
    --------
    >>> from unperplexed import Distribution
    >>> from unperplexed.scores import log_score
    >>> round(log_score([21.0], Distribution("normal", mean=[20.0], sd=2.0)), 4)
    1.7371
    """
    return _mean(log_score_rows, y_true, forecast, sample_weight)


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
        Thresholds. With ``above=30`` forecasts are judged by what they say of
        numbers above 30.

    Returns
    -------
    float
        From 0, in the unit of the outcomes. The scores below and above a
        threshold add up to the CRPS.

    Raises
    ------
    InputError
        As `crps`; if a threshold is missing, or ``above`` is not less than
        ``below``.

    Notes
    -----
    The integral of the CRPS from ``above`` to ``below`` (Gneiting and Ranjan
    2011): the CRPS after outcomes and forecasts that are beyond a threshold
    were moved to it. Proper. Do not score the rows with extreme outcomes only
    instead: that rewards whoever always predicts extremes.

    Examples
    --------
    >>> from unperplexed.scores import crps, threshold_weighted_crps
    >>> y, members = [3.0], [[1.0, 2.0, 4.0]]
    >>> parts = [threshold_weighted_crps(y, members, **part) for part in ({"below": 2.5}, {"above": 2.5})]
    >>> [round(part, 4) for part in parts], round(crps(y, members), 4)
    ([0.1667, 0.1667], 0.3333)
    """
    above, below = (np.asarray(each, dtype=np.float64) for each in (above, below))
    wrong = np.atleast_1d(~(above < below))
    refuse_rows(wrong, "above", "a threshold that is not less than the one below", "Swap them.")
    rows = partial(threshold_weighted_crps_rows, above=above, below=below, fair=fair)
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
