"""Drift of the predictions alone: whether their distribution changed, before outcomes are known."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy.special import logsumexp

from .._lib.typing import Floats
from ..forecasts.reading import Reading, reads
from ..statistics.intervals import alpha_of
from ..statistics.rank_evidence import Beginning, beginning_of, rank_evidence
from ..statistics.tails import normal_cdf
from . import alarms
from .drifted import Drift, DriftPoint, Shift
from .event_counts import EventCounts
from .history import Events, History, predictions_of
from .measures import FIRST, MEASURE_WEIGHTS, MEASURES, measured, summaries, summary_of, usual_shares
from .naming import event_name

_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, less whole numbers, are spread evenly and in no order."""
_START = 16
"""Periods with which the search for enough of them begins; they are doubled."""
_AS_CLEAR = 3.0
"""Logarithms of evidence by which changes differ that are equally clear."""


@reads(Reading)
def drift(
    y_prob: Any,
    *,
    time: Any = None,
    by: Any = None,
    restart: str | None = None,
    confidence: float = 0.95,
    **reading: Unpack[Reading],
) -> Drift:
    """Test whether the predictions changed, before outcomes are known.

    Returns a `Drift`. Its ``alarm`` is None while no change is seen. This says
    less than `monitor`: predictions may change while calibration stays, and
    calibration may break while they stay. You may look after every period: the
    probability of ever a false alarm is at most 1 - ``confidence``.

    Parameters
    ----------
    y_prob : array_like (n,) or (n, C); or History, mapping of Predictions or Tally
        Predicted probabilities of the positive class, or of each class. Or all
        predictions of successive periods, such as days, in chronological order,
        alone; outcomes are not used.
    time : array_like of shape (n,), optional
        The period of each row, such as its date: dates, numbers or texts that
        sort in time.
    by : array_like (n,), mapping from name to such, or data frame, optional
        Groups that are also watched by themselves, such as the station.
    restart : str, optional
        Name of the period at which to begin, such as the first after an
        intended change.
    confidence : float, default 0.95
        1 minus the largest probability of ever a false alarm, in (0, 1). There
        is an alarm if the evidence reaches 1 / (1 - confidence).
    **reading
        How rows are read, as in `Predictions.of`.

    Returns
    -------
    Drift
        ``alarm`` (None, or the last one with ``period``, ``began``,
        ``probable``, ``measure``, ``groups``), ``too_few`` (no alarm says
        nothing: a change is seen from ``enough_periods`` on), ``log_evidence``
        after each period, ``points`` (mean and spread over time), ``plot()``,
        ``report()``.

    Raises
    ------
    InputError
        For rows without ``time``, no periods, weighted rows, predictions of
        different classes, and settings out of range.

    Notes
    -----
    Periods are the units: they may vary by any amount, but must be
    exchangeable, as independent periods of one distribution are. Then the rank
    of a period's number among the earlier ones is uniform (Vovk, Gammerman &
    Shafer 2005). The numbers are the mean and the standard deviation of the
    log-odds, and the distance of their shares in bins from those of the first 7
    periods, each as it would be with as many predictions as the first period
    has. The level is exact for periods of equal size, approximate for others.
    With more than two classes half of the bet is on the most probable class,
    half on all classes. Periods are not exchangeable if there are seasons, or
    if days resemble the day before.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import drift
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(1, 51), 500)
    >>> s = rng.normal(0.5 * (day > 40), 2)
    >>> found = drift(1 / (1 + np.exp(-s)), time=day)
    >>> print(found.to_text().splitlines()[0])
    The predictions changed: most probably in 41.
    >>> found.alarm.period, found.alarm.began, found.alarm.measure
    ('44', '41', 'mean')
    """
    level = alpha_of(confidence)
    watched = alarms.watched_periods(predictions_of(y_prob, time, by, reading), confidence, restart)
    whole: list[Events | None] = [period.events() for period in watched.periods]
    series = {name: [period.groups.get(name) for period in watched.periods] for name in watched.groups}
    of_groups = {name: _weighed(each).log_evidence for name, each in series.items()}
    evidence = alarms.together(_weighed(whole).log_evidence, list(of_groups.values()), alarms.entered(series.values()))
    limit, first = -math.log(level), [events[0] for events in whole if events is not None]
    alarm = _alarm(watched, evidence, of_groups, whole, limit)
    breaks = [] if alarm is None else [watched.names.index(alarm.began), watched.names.index(alarm.until) + 1]
    points = summaries(first)
    enough = enough_periods(level, by_mean=any(not math.isnan(each.mean) for each in points))
    return Drift(
        periods=watched.names,
        log_evidence=evidence,
        alarm=alarm,
        confidence=confidence,
        points=tuple(DriftPoint(name, *each) for name, each in zip(watched.names, points, strict=True)),
        groups={name: float(each.max()) for name, each in of_groups.items()},
        resemblance=_resemblance(np.array([each.log_odds for each in points]), breaks),
        enough_periods=enough,
        too_few=alarm is None and len(watched.periods) < enough,
        n_rows=watched.n_rows,
        labels=watched.labels,
    )


@cache
def enough_periods(level: float, *, by_mean: bool = True) -> int:
    """Count the periods after which a clear change halfway raises an alarm.

    The change is one of the mean alone (else of the shares in bins alone): all numbers since are above all before.
    """
    measure = 0 if by_mean else -1

    def evidence(periods: int) -> float:
        at = np.arange(float(periods))
        values = at * _GOLDEN % 1 + (at >= periods // 2)  # in no order, before and since
        if not by_mean:
            values[:FIRST] = np.nan
        found = rank_evidence(values[None], upward_only=not by_mean).log_evidence[0, -1]
        return float(found) + math.log(MEASURE_WEIGHTS[measure])

    limit, most = -math.log(level), _START
    while evidence(most) < limit:
        most *= 2
    return bisect_left(range(most), limit, lo=1, key=evidence)


class _Weighed(NamedTuple):
    log_evidence: Floats
    log_worth: Floats
    """Worth of the bets that began in each period, of shape (events, measures, periods)."""
    values: Floats
    """What was measured, of the same shape."""


def _weighed(series: Sequence[Events | None]) -> _Weighed:
    """Weigh the evidence of all events and measures together: half for the most probable class, half for all."""
    of_event = alarms.event_shares(series)
    n = of_event.size
    shares = np.log(np.outer(of_event, MEASURE_WEIGHTS))[:, :, None]
    values = np.stack([measured([None if each is None else each[event] for each in series]) for event in range(n)])
    two_sided = rank_evidence(values[:, :-1].reshape(-1, len(series)))
    one_sided = rank_evidence(values[:, -1], upward_only=True)
    evidence, worth = (
        np.concatenate([both.reshape(n, -1, len(series)), one[:, None]], axis=1) + shares
        for both, one in zip(two_sided, one_sided, strict=True)
    )
    return _Weighed(np.asarray(logsumexp(evidence, axis=(0, 1))), worth, values)


def _clearest(found: _Weighed, began: int) -> tuple[int, int]:
    """Choose the measure with the strongest evidence, and the event for which it changed most.

    That is in standard deviations of the periods before: ranks of clear changes are alike, and so is their evidence.
    """
    worth = logsumexp(found.log_worth, axis=2)
    measure = int(np.argmax(logsumexp(worth, axis=0)))
    values, worth = found.values[:, measure], worth[:, measure]
    before, since = values[:, :began], values[:, began:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numbers of no period
        change = np.abs(np.nanmean(since, axis=1) - np.nanmean(before, axis=1)) / np.nanstd(before, axis=1)
    clear = worth >= worth.max() - _AS_CLEAR
    return int(np.argmax(np.where(clear, np.nan_to_num(change, nan=0.0, posinf=np.inf), -1.0))), measure


def _alarm(
    watched: History, evidence: Floats, of_groups: Mapping[str, Floats], whole: Sequence[Events | None], limit: float
) -> Shift | None:
    """Say what changed, from the periods up to the strongest evidence."""
    last = alarms.last_alarm(evidence, limit)
    if last is None:
        return None
    number, first, until = last
    groups = tuple(alarms.named_groups({name: each[first : until + 1] for name, each in of_groups.items()}, limit))
    series = [alarms.of_groups_together(period.groups, groups) for period in watched.periods] if groups else whole
    found = _weighed(series[: until + 1])

    def beginning(last: int) -> Beginning:
        weighed = found if last == until else _weighed(series[: last + 1])
        return beginning_of(np.asarray(logsumexp(weighed.log_worth, axis=(0, 1))))

    dates, further = beginning(until), ""
    if dates.most_probable > first:  # what came after the alarm did not raise it
        further, dates = watched.names[dates.most_probable], beginning(first)
    began = dates.most_probable
    event, measure = _clearest(found, began)
    counts = [None if events is None else events[event] for events in series[: until + 1]]
    before, after = (_there(some) for some in (counts[:began], counts[began:]))
    return Shift(
        number=number,
        period=watched.names[first],
        began=watched.names[began],
        probable=tuple(watched.names[at] for at in dates.probable),
        further=further,
        until=watched.names[until],
        log_evidence=float(evidence[until]),
        groups=groups,
        event=event_name(watched.labels, event),
        measure=MEASURES[measure],
        before=summary_of(before),
        since=summary_of(after),
        moved=usual_shares(counts)[0].moved(before, after),
    )


def _there(series: Sequence[EventCounts | None]) -> list[EventCounts]:
    return [each for each in series if each is not None and each.rows]


def _resemblance(values: Floats, breaks: Sequence[int]) -> tuple[float, float]:
    """Correlate the ranks of successive periods, without the change itself, with the p-value of independent ones."""
    products = squares = 0.0
    pairs = 0
    for start, end in pairwise([0, *breaks, len(values)]):
        some = values[start:end][~np.isnan(values[start:end])]
        if some.size > 2:
            _, which, ties = np.unique(some, return_inverse=True, return_counts=True)
            centred = (np.cumsum(ties) - (ties - 1) / 2)[which] - (some.size + 1) / 2
            products += float(centred[:-1] @ centred[1:]) / some.size**2
            squares += float(centred @ centred) / some.size**2
            pairs += some.size
    if not squares:
        return math.nan, math.nan
    return products / squares, normal_cdf(-products / squares * math.sqrt(pairs))
