"""Watch forecasts period after period: whether calibration broke, since when, in which way and for which group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._lib.errors import InputError, check_choice
from .._lib.typing import Floats
from ..statistics.evidence_of_change import beginning, log_evidence
from ..tally.tally import Tally
from .alarms import entered, event_shares, last_episode, named_groups, of_groups_together, together, watched_periods
from .control import control_points, dispersion
from .history import Events, History
from .hypotheses import PERIOD_WEIGHTS, ROW_WEIGHTS, period_factors, row_factors
from .limits import kept
from .monitored import Alarm, Impossible, Means, Monitored
from .naming import event_labels, event_name, named_error

UNITS = ("auto", "rows", "periods")


def monitor(
    history: History | Mapping[Any, Tally],
    *,
    units: str = "auto",
    level: float = 0.05,
    since: str | None = None,
    require: Sequence[str] = (),
) -> Monitored:
    """Watch the calibration of forecasts over time: raise an alarm when it broke, and say when and how.

    The result may be looked at after every period, for as long as one likes: the probability of ever a false alarm is
    at most ``level``.

    Parameters
    ----------
    history : History, or mapping from period to Tally, or Tallies
        The forecasts of successive periods, such as days, in chronological order; as `History.of` takes them.
    units : {"auto", "rows", "periods"}, default "auto"
        What is independent. "rows" is exact if rows are. "periods" takes each period as one observation, for rows that
        share a shock, such as the weather of a day or an election night; it is approximate, and slower. "auto" is
        "periods" for tallies with clusters of dependent rows, else "rows".
    level : float, default 0.05
        Largest probability of ever a false alarm, in (0, 1). The alarm is at an evidence of 1/level.
    since : str, optional
        Name of the period at which to begin, such as the first after a repair; a new watch has its own level.
    require : sequence of str, optional
        Limits to be kept over time, such as "log_loss < 0.4": log_loss and brier_score of two classes, accuracy of any.
        One that is kept exactly ever fails with a probability of at most ``level``, for independent rows.

    Returns
    -------
    Monitored
        ``alarm`` (None, or the last one with ``period``, ``began``, ``probable``, ``verdict``, ``groups``),
        ``log_evidence`` after each period, ``control`` (bias, calibration slope, log loss and skill over time),
        ``plot()``, ``report()``.

    Raises
    ------
    InputError
        For no periods, weighted rows, tallies of different classes, and settings out of range.

    Notes
    -----
    With "rows" a period multiplies the bet on each of 64 maps from predicted to calibrated log-odds by its likelihood
    ratio, whose mean is at most 1 for calibrated forecasts. Shares of the bet begin in each period. The bet is expected
    never to grow, so that it ever reaches 1/level with a probability of at most ``level`` (Ville 1939). Forecasts must
    not react to outcomes of their own period. Half of the bet is on groups; of G of them, the one with the j-th largest
    evidence is named at (G - j + 1)/level. With more than two classes the events are whether the most probable class
    is observed and, for tallies with the part "classes", each class. Rows with a prediction of exactly 0 or 1 are
    apart: one that is wrong refutes calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import Tally
    >>> from unperplexed.monitoring import monitor
    >>> rng, days = np.random.default_rng(0), {}
    >>> for day in range(1, 31):
    ...     s = rng.normal(0, 2, 500)
    ...     rain = rng.random(500) < 1 / (1 + np.exp(-s - 0.5 * (day > 20)))
    ...     days[f"day {day}"] = Tally.of(rain, 1 / (1 + np.exp(-s)))
    >>> found = monitor(days)
    >>> found.alarm.period, found.alarm.began
    ('day 22', 'day 21')
    """
    check_choice("units", units, UNITS)
    watched = watched_periods(history, level, since)
    if not watched.outcomes:
        raise InputError("history: it has no outcomes. Test whether its predictions changed: drift (--drift).")
    shared = units == "periods" or (units == "auto" and watched.clustered)
    if shared and require:
        raise InputError(
            "require (--require): limits over time are for independent rows; test them with units='rows' (--units rows)"
            " if rows are, or leave them out."
        )
    whole = [period.events() for period in watched.periods]
    series = {name: [period.groups.get(name) for period in watched.periods] for name in watched.groups}
    factors, weights = _factors(whole, shared)
    of_groups = {name: log_evidence(*_factors(each, shared)) for name, each in series.items()}
    evidence = together(log_evidence(factors, weights), list(of_groups.values()), entered(series.values()))
    limit, first = -math.log(level), [events[0] for events in whole]
    alarm = _alarm(watched, evidence, of_groups, (factors, weights), limit, shared)
    breaks = [] if alarm is None else [watched.names.index(alarm.began), watched.names.index(alarm.until) + 1]
    return Monitored(
        periods=watched.names,
        log_evidence=evidence,
        alarm=alarm,
        impossible=_impossible(watched.names, whole),
        units="periods" if shared else "rows",
        level=level,
        control=control_points(watched.names, first, limits=not shared),
        groups={name: float(each.max()) for name, each in of_groups.items()},
        dispersion=dispersion(first, breaks),
        n_rows=watched.n_rows,
        labels=watched.labels,
        kept=tuple(kept(text, watched.names, first, len(watched.labels), limit) for text in require),
    )


def _factors(series: Sequence[Events | None], shared: bool) -> tuple[Floats, Floats]:
    """Give the factors of all events' hypotheses, and their shares: half for the most probable class, half for all."""
    of_event = event_shares(series)
    n = of_event.size
    weights = PERIOD_WEIGHTS if shared else ROW_WEIGHTS
    found = np.zeros((len(series), n, weights.size))
    for event in range(n):
        there = [at for at, events in enumerate(series) if events is not None and events[event].total.size]
        counts = [series[at][event] for at in there]  # type: ignore[index]
        if there:
            found[there, event] = period_factors(counts) if shared else [row_factors(each) for each in counts]
    return found.reshape(len(series), -1), np.outer(of_event, weights).ravel()


def _alarm(
    watched: History,
    evidence: Floats,
    of_groups: Mapping[str, Floats],
    whole: tuple[Floats, Floats],
    limit: float,
    shared: bool,
) -> Alarm | None:
    """Say what broke, from the periods up to the strongest evidence: those after it speak against the error."""
    episode = last_episode(evidence, limit)
    if episode is None:
        return None
    first, until = episode
    groups = named_groups({name: each[first : until + 1] for name, each in of_groups.items()}, limit)
    series: list[Events | None] = [period.events() for period in watched.periods]
    if groups:
        series = [of_groups_together(period.groups, groups) for period in watched.periods]
        whole = _factors(series, shared)
    factors, weights = whole[0][: until + 1], whole[1]
    began = beginning(factors, weights)
    event = _leading_event(factors[began.most_probable :].sum(axis=0), weights, len(watched.periods[0].events()))
    before, after = (
        [events[event] for events in some if events is not None]
        for some in (series[: began.most_probable], series[began.most_probable : until + 1])
    )
    return Alarm(
        period=watched.names[first],
        began=watched.names[began.most_probable],
        probable=tuple(watched.names[at] for at in began.probable.tolist()),
        until=watched.names[until],
        log_evidence=float(evidence[until]),
        groups=groups,
        event=event_name(watched.labels, event),
        diagnosis=named_error(after, event_labels(watched.labels, event), shared),
        before=Means.of(before),
        since=Means.of(after),
    )


def _leading_event(factors: Floats, weights: Floats, n: int) -> int:
    return int(np.argmax(logsumexp((factors + np.log(weights)).reshape(n, -1), axis=1)))


def _impossible(names: tuple[str, ...], whole: Sequence[Events]) -> Impossible | None:
    """Count the predictions of exactly 0 or 1 that were wrong."""
    wrong = [max(each.certain_and_wrong for each in events) for events in whole]
    first = next((at for at, each in enumerate(wrong) if each), None)
    return None if first is None else Impossible(names[first], round(sum(wrong)))
