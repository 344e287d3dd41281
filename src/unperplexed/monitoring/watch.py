"""Watch forecasts period after period: whether calibration broke, since when, in which way and for which group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np
from scipy.special import chdtrc

from .._lib.errors import InputError
from .._lib.typing import Floats
from ..calibration.dependence_search import DECLARED, DECLINED, OF_A_TALLY, DependenceSearch
from ..calibration.undeclared import read_rows, undeclared_of
from ..forecasts.group_keys import columns_of
from ..forecasts.reading import AUTO, SEARCHED, AssessedReading, is_predictive, reads
from ..statistics.intervals import alpha_of
from .alarms import entered, named_groups, together, watched_periods
from .breaks import Series, alarms_of
from .control import NORMAL, control_points, dispersion, point_of
from .event_counts import kept
from .history import WHOLE, Events, History, history_of
from .hypotheses import fewest_periods
from .monitored import Alarm, Impossible, Monitored, OfGroup
from .pit_counts import PitPoint

_SHARED = {"none": False, "period": True}
"""Words for clusters: whether the rows of a period share a shock."""


@reads(AssessedReading, SEARCHED)
def monitor(
    y_true: Any,
    y_prob: Any = None,
    *,
    time: Any = None,
    by: Any = None,
    require: str | Sequence[str] = (),
    restart: str | None = None,
    confidence: float = 0.95,
    **reading: Unpack[AssessedReading],
) -> Monitored:
    """Watch calibration over time: alarm when it broke, and say when and how.

    Returns a `Monitored`. Its ``alarm`` is None while all is well; otherwise it
    has ``period``, ``began`` and a ``verdict``. Larger ``log_evidence`` speaks
    more against calibration. You may look after every period, as long as you
    like: the probability of ever a false alarm is at most 1 - ``confidence``.

    Parameters
    ----------
    y_true : array_like (n,) or (n, C); or History, mapping of Tally, Tallies
        Outcomes: class labels or one-hot rows. Or all forecasts of successive
        periods, such as days, in chronological order, as `History.of` takes
        them; without ``y_prob``, ``time`` and ``by``.
    y_prob : array_like (n,) or (n, C), or predictive distributions, optional
        Predicted probabilities of the positive class, or of each class. Or
        `Quantiles`, `Samples`, `Distribution` or `PIT` of a number: periods are
        the units then, unless ``clusters`` is "none"; ``issued`` and
        ``target_date`` say how far ahead forecasts reach, and there are no
        requirements.
    time : array_like of shape (n,), optional
        The period of each row, such as its date: dates, numbers or texts that
        sort in time.
    by : array_like (n,), mapping from name to such, or data frame, optional
        Groups that are also watched by themselves, such as the station.
    require : str or sequence of str, optional
        Limits to be kept over time, such as "log_loss < 0.4": log_loss and
        brier_score of two classes, accuracy of any. One that is kept exactly
        ever fails with a probability of at most 1 - ``confidence``, for
        independent rows.
    restart : str, optional
        Name of the period at which to begin, such as the first after a repair:
        a new watch.
    confidence : float, default 0.95
        1 minus the largest probability of ever a false alarm, in (0, 1). The
        alarm is at an evidence of 1 / (1 - confidence).
    **reading
        How rows are read, as in `assess`: ``labels``, ``pos_label``, ``scale``,
        ``invalid``, ...

        ``clusters`` says which rows are dependent: "none", which is exact if
        rows are independent; "period", each period being one observation, for
        rows that share a shock, such as the weather of a day or an election
        night, which is approximate, and slower; or the cluster of each row.
        Clusters, of rows or of tallies, are taken as "period". By default,
        "auto", they are looked for in ``columns``, a data frame or mapping of
        what else is known of each row; a bias that changes with time is no
        dependence. None declines, and is "none".

    Returns
    -------
    Monitored
        ``alarm`` (None, or the strongest that goes on, with ``period``,
        ``began``, ``probable``, ``verdict``, ``groups``, ``over``), ``others``,
        ``log_evidence`` after each period, ``control`` (bias, calibration
        slope, log loss and skill over time; of distributions coverage, bias and
        width), ``plot()``, ``report()``.

    Raises
    ------
    InputError
        As `assess`; for rows without ``time``, no periods, weighted rows,
        tallies of different classes, and settings out of range.

    Notes
    -----
    For independent rows a period multiplies the bet on each of 64 maps from
    predicted to calibrated log-odds by its likelihood ratio, whose mean is at
    most 1 for calibrated forecasts. Shares of the bet begin in each period. The
    bet is expected never to grow, so that it ever reaches 1/level, with level =
    1 - confidence, with a probability of at most the level (Ville 1939).
    Forecasts must not react to outcomes of their own period. Half of the bet is
    on groups; of G of them, the one with the j-th largest evidence is named at
    (G - j + 1)/level, and dated and diagnosed by itself. An error is over when
    the inverse bet, against the error and for calibrated forecasts, reaches
    1/level; then a new watch begins, with a level of its own. With more than
    two classes the events are whether the most probable class is observed and,
    for tallies with the part "classes", each class. In the evidence rows with a
    prediction of exactly 0 or 1 are apart: one that is wrong refutes
    calibration. Evidence is from cells of probability; log loss, skill, slope,
    intercept and what is wrong are those of the rows, as `assess` gives them.
    Of predictive distributions the bets are on 45 shifts and widths of normal
    scores. Forecasts that reach H periods ahead depend: each of H phases, of
    every H-th period, has an equal part of the bet. Where periods are the
    units, an error gains about half a nat in a period of its phase, however
    large it is, so that an alarm takes ``earliest`` periods: no alarm in fewer
    than twice as many says little, and `assess` tests all forecasts at once
    (``whole``).

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import monitor
    >>> rng = np.random.default_rng(0)
    >>> day, s = np.repeat(np.arange(1, 31), 500), rng.normal(0, 2, 15_000)
    >>> rain = rng.random(s.size) < 1 / (1 + np.exp(-s - 0.5 * (day > 20)))
    >>> found = monitor(rain, 1 / (1 + np.exp(-s)), time=day)
    >>> print(found.to_text().splitlines()[0])
    Calibration broke: most probably in 21.
    >>> found.alarm.period, found.alarm.began
    ('22', '21')
    """
    if is_predictive(y_prob):
        from .distribution_history import history_of_distributions

        clusters = reading.get("clusters", AUTO)
        declined = clusters is None or (isinstance(clusters, str) and clusters == "none")
        search = DependenceSearch(reason=DECLINED if declined else DECLARED)
        counted = history_of_distributions(y_true, y_prob, time, by, reading)
        return watch(counted, confidence, restart, require, "none" if declined else "period", search, by)
    said, rows = _read_clusters(reading)
    options, clusters, columns = undeclared_of(rows)
    options |= {} if clusters is AUTO else {"clusters": clusters}
    if isinstance(y_true, History | Mapping) or time is None:
        options["columns"], dependence = columns, OF_A_TALLY
    else:
        groups = {"time": time} if by is None else {"time": time, **columns_of(by)}
        dependence = read_rows(y_true, y_prob, rows, groups).dependence
    history = history_of(y_true, y_prob, time, by, options)
    return watch(history, confidence, restart, require, said, dependence, by)


def watch(
    history: History,
    confidence: float,
    restart: str | None,
    require: str | Sequence[str],
    said: str | None,
    dependence: DependenceSearch,
    by: Any = None,
) -> Monitored:
    """Watch periods that were counted, with what is said of the dependence of their rows, or was found."""
    watched = watched_periods(history, confidence, restart)
    if not watched.outcomes:
        raise InputError(
            "y_true: a history of predictions; it has no outcomes. Test whether they changed: drift (--drift)."
        )
    require = [require] if isinstance(require, str) else require
    if require and not watched.labels:
        raise InputError("require (--require): not for predictive distributions over time; test them by check.")
    found = dependence.taken and not require  # whose limits are for independent rows
    shared = watched.clustered or found if said is None else _SHARED[said]
    if shared and require:
        raise InputError(
            "require (--require): limits over time are for independent rows; test them with clusters='none' (--clusters"
            " none) if rows are, or leave them out."
        )
    names, limit = watched.names, -math.log(alpha_of(confidence))
    by_period = [period.events() for period in watched.periods]
    groups = [Series.of(name, [each.groups.get(name) for each in watched.periods], shared) for name in watched.groups]
    whole = Series.of(WHOLE, by_period, shared)
    phases, shares = min(each.phases for each in (whole, *groups)), 2 if groups else 1
    evidence = together(whole.evidence, [each.evidence for each in groups], entered(each.events for each in groups))
    alarms = _alarms(watched, whole, evidence, groups, limit, shared)
    breaks = [at for each in alarms for at in (names.index(each.began), names.index(each.until) + 1)]
    named, first = {name for each in alarms for name in each.groups}, [events[0] for events in by_period]
    return Monitored(
        periods=names,
        log_evidence=evidence,
        alarm=alarms[0] if alarms else None,
        others=tuple(alarms[1:]),
        impossible=_impossible(names, by_period, groups),
        clusters="period" if shared else "none",
        confidence=confidence,
        _control=partial(control_points, names, first, limits=not shared),
        groups={each.group: float(each.evidence.max()) for each in groups},
        named={each.group: _over_time(each, names, shared) for each in groups if each.group in named},
        dispersion=dispersion(first, breaks),
        rows=tuple(round(each.rows) for each in first),
        n_rows=watched.n_rows,
        labels=watched.labels,
        kept=tuple(kept(text, names, first, len(watched.labels), limit) for text in require),
        phases=whole.phases,
        whole=None if watched.labels else point_of(names, first, limits=not shared),
        earliest=fewest_periods(limit + math.log(shares), phases) if shared and not watched.labels else 0,
        by=() if by is None else tuple(columns_of(by)),
        dependence=dependence,
    )


def _read_clusters(reading: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """Give the word that says what is dependent, if there is one, and how rows are read."""
    clusters = reading.get("clusters")
    if not isinstance(clusters, str) or clusters == AUTO:
        return None, reading
    if clusters not in _SHARED:
        raise InputError(f"clusters: expected 'none', 'period', or the cluster of each row, got {clusters!r}.")
    return clusters, {**reading, "clusters": None}


def _alarms(
    watched: History, whole: Series, evidence: Floats, groups: Sequence[Series], limit: float, shared: bool
) -> list[Alarm]:
    """Describe the alarms of each group that is named, or those of all rows if there is none or groups are alike.

    Errors that go on come first, the strongest of them at the front, and then those that are over, the last first.
    """
    above = np.flatnonzero(evidence >= limit)
    if not above.size:
        return []
    first, names = int(above[0]), watched.names
    named = named_groups({each.group: each.evidence[first:] for each in groups}, limit)
    clearest = max((float(each.evidence.max()) for each in groups), default=-math.inf)
    found: list[Alarm] = []
    if not named or whole.evidence.max() > clearest:
        every = whole._replace(evidence=evidence)
        found = alarms_of(every, names, watched.labels, limit, first, shared)
    if named and not (found and all(_alike(groups, each, names) for each in found)):
        found = [
            alarm
            for each in groups
            if each.group in named
            for alarm in alarms_of(each, names, watched.labels, named[each.group], first, shared)
        ]
    return sorted(found, key=lambda e: (e.over is not None, -names.index(e.until) if e.over else -e.log_evidence))


_ALIKE = 0.05
"""p-value from which groups do not differ."""


def _alike(groups: Sequence[Series], alarm: Alarm, names: tuple[str, ...]) -> bool:
    """Whether bias and slope of the groups during an error do not differ beyond chance (Cochran's Q)."""
    during = slice(names.index(alarm.began), names.index(alarm.until) + 1)
    counts = [[events[0] for events in each.events[during] if events is not None] for each in groups]
    points = [point_of([""], each, limits=True) for each in counts if each]
    for value in ("bias", "width" if isinstance(points[0], PitPoint) else "slope"):
        x, ends = (np.array([getattr(each, name) for each in points]) for name in (value, f"{value}_interval"))
        own = (2 * NORMAL / (ends[:, 1] - ends[:, 0])) ** 2
        x, own = x[np.isfinite(own)], own[np.isfinite(own)]
        if x.size > 1 and chdtrc(x.size - 1, own @ (x - np.average(x, weights=own)) ** 2) < _ALIKE / 2:
            return False
    return True


def _over_time(series: Series, names: tuple[str, ...], shared: bool) -> OfGroup:
    there = [(name, events[0]) for name, events in zip(names, series.events, strict=True) if events is not None]
    points = control_points([name for name, _ in there], [counts for _, counts in there], limits=not shared)
    return OfGroup(tuple(series.evidence.tolist()), points)


def _impossible(names: tuple[str, ...], whole: Sequence[Events], groups: Sequence[Series]) -> Impossible | None:
    """Count the predictions of exactly 0 or 1 that were wrong, and name their groups."""
    wrong = _wrong(whole)
    first = next((at for at, each in enumerate(wrong) if each), None)
    of_groups = {each.group: sum(_wrong(each.events)) for each in groups}
    named = sorted((name for name, rows in of_groups.items() if rows), key=lambda name: -of_groups[name])
    return None if first is None else Impossible(names[first], round(sum(wrong)), tuple(named))


def _wrong(periods: Sequence[Events | None]) -> list[float]:
    return [max((each.certain_and_wrong for each in events or ()), default=0.0) for events in periods]
