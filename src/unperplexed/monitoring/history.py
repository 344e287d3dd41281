"""What monitoring remembers: the forecasts of each period, in cells, and the small JSON file that keeps them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._lib.dataclasses import field, replace
from .._lib.errors import InputError
from .._lib.json_files import made_of_file
from .._lib.output_files import write_whole
from .._lib.serialize import json_text, plain_values
from .._lib.typing import ByValue, Floats
from ..forecasts.group_keys import Key, columns_of, in_order
from ..forecasts.labels import Label
from ..tally.periods import span_of
from ..tally.tags import UNKNOWN, Tags, different
from ..tally.tallies import Tallies
from ..tally.tally import Predictions, Tally, common_labels, counts_distributions, pairs_by_class, predicted
from .event_counts import EventCounts, Scores
from .nodes import Nodes
from .pit_counts import PitCounts

FORMAT, VERSION, EARLIER = "unperplexed monitoring history", 2, 1

WHOLE = ""
"""Name of the only group where rows are not grouped."""

MOST_CLASSES = 100
"""With more classes each of them is no longer an event by itself, only the most probable one is."""

Events = tuple[Any, ...]
"""Counts of the positive class; or of the most probable class, and then of each class: `EventCounts`. Or the
`PitCounts` of predictive distributions."""


class Period(ByValue):
    """The forecasts of one period."""

    name: str
    groups: Mapping[str, Events]

    @property
    def rows(self) -> float:
        """Number of forecasts."""
        return float(sum(events[0].rows for events in self.groups.values()))

    def same(self, other: Period) -> bool:
        """Whether both counted the same."""
        pairs = [(events, other.groups.get(group, ())) for group, events in self.groups.items()]
        return self.groups.keys() == other.groups.keys() and all(
            len(one) == len(two) and all(a.same(b) for a, b in zip(one, two, strict=True)) for one, two in pairs
        )

    def events(self) -> Events:
        """Count all groups together; cells stay apart."""
        return tuple(parts[0].together(parts) for parts in zip(*self.groups.values(), strict=True))

    @property
    def tells(self) -> bool:
        """Whether another period with the same counts has surely the same rows: outcomes would hardly coincide.

        Predictions may well be the same again, such as those of a climatology.
        """
        return bool(self.events()[0].log_chance_of_same() < math.log(_CHANCE))


MOST_PERIODS, _MOST_IN_TURN = 100_000, 5_000
"""More periods of groups, and more successive periods, are refused: any may be the one in which an error began."""


class History(ByValue):
    """The forecasts of successive periods, such as days, in cells of the predicted probability. Made by `History.of`.

    A period takes some kilobytes, and with more classes as much for each, however many rows it had. Histories are kept
    in a file from one day to the next, so that no tally is read twice.

    Examples
    --------
    >>> from unperplexed import Tally
    >>> from unperplexed.results import History
    >>> history = History.of({"2026-03-01": Tally.of([1, 0], [0.8, 0.3])})
    >>> history = history.after("2026-03-02", Tally.of([1, 1], [0.6, 0.9]))
    >>> history.names
    ('2026-03-01', '2026-03-02')
    """

    labels: tuple[Label | None, ...] = ()
    """The classes; () of predictive distributions of a number."""
    periods: tuple[Period, ...] = ()
    clustered: bool = False
    """Whether rows were counted in clusters of dependent rows."""
    tags: Tags = field(default_factory=Tags)
    """Data set and model, where tallies name them; they are the same in all periods."""
    outcomes: bool = True
    """Whether outcomes are known; else they are predictions alone, which `drift` reads."""

    @classmethod
    def of(cls, tallies: Mapping[Any, Tally | Predictions]) -> History:
        """Take the tallies of successive periods.

        Parameters
        ----------
        tallies : mapping from period to Tally or Predictions, or Tallies
            In chronological order. A `Tallies` by several columns has the period in the first one, whose values are
            put in order; the others name the group.

        Returns
        -------
        History

        Raises
        ------
        InputError
            For weighted rows, for tallies of other classes, for tallies among predictions without outcomes, and for
            more than 5,000 periods.
        """
        keys = in_time(list(tallies)) if isinstance(tallies, Tallies) else list(tallies)
        periods = by_period({key: tallies[key] for key in keys if tallies[key].n_rows})
        if len(periods) > _MOST_IN_TURN:
            raise InputError(
                f"time (--time): {len(periods):,} periods, more than {_MOST_IN_TURN:,}. Name longer ones, such as the"
                " date of a time of day (--time COLUMN:date)."
            )
        found, of_rows = cls(), isinstance(tallies, Tallies)  # rows that were read once are not counted twice
        for name, groups in periods.items():
            found = found._after(name, groups, () if of_rows else found.periods)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the periods, in order."""
        return tuple(each.name for each in self.periods)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, in order; none where rows are not grouped."""
        names = dict.fromkeys(name for period in self.periods for name in period.groups)
        return tuple(key[0] for key in in_order([(name,) for name in names if name != WHOLE]))  # type: ignore[misc]

    @property
    def n_rows(self) -> int:
        """Number of forecasts in all periods."""
        return round(sum(period.rows for period in self.periods))

    def after(self, name: str, tally: Tally | Predictions | Mapping[str, Tally | Predictions]) -> History:
        """Add the next period.

        Parameters
        ----------
        name : str
            Its name, such as a date; a new one.
        tally : Tally, Predictions, or mapping from group to either
            Its forecasts.

        Returns
        -------
        History
            With one period more.

        Raises
        ------
        InputError
            For a period that is there already and was counted differently or has days of another one, for weighted
            rows, and for other classes, data or models.
        """
        return self._after(name, tally if isinstance(tally, Mapping) else {WHOLE: tally}, self.periods)

    def _after(self, name: str, given: Mapping[str, Tally | Predictions], apart: tuple[Period, ...]) -> History:
        """Add the next period, which was counted apart from some of those before."""
        kept = {group: each for group, each in given.items() if each.n_rows}
        if not kept:
            raise InputError(f"{name}: no rows.")
        if any(map(counts_distributions, kept.values())):
            raise InputError(
                f"{name}: a tally of predictive distributions is not watched. Give the forecasts themselves."
            )
        [outcomes, *more] = {isinstance(each, Tally) for each in kept.values()}
        if more or (self.periods and outcomes != self.outcomes):
            raise InputError(f"{name}: {_MIXED}")
        groups = {group: each.tally if isinstance(each, Predictions) else each for group, each in kept.items()}
        if any(each.weighted for each in groups.values()):
            raise InputError(f"{name}: rows have weights, and monitoring counts rows. Count them without weights.")
        labels, tags = self.labels, self.tags
        for each in groups.values():
            labels = common_labels(labels, each.labels) if labels else each.labels
            tags = _common_tags(str(name), tags, replace(each.tags, periods=UNKNOWN))
        period = Period(str(name), {group: _events(each, outcomes) for group, each in groups.items()})
        if len({len(events) for events in period.groups.values()}) > 1:
            raise InputError(f"{name}: some tallies have the part 'classes' and others have not. Count all alike.")
        return replace(self, labels=labels, tags=tags, outcomes=outcomes).with_period(
            period, any(each.clustered for each in groups.values()), apart
        )

    def with_period(self, period: Period, clustered: bool = True, apart: tuple[Period, ...] = ()) -> History:
        """Add the next period, which was counted before.

        Parameters
        ----------
        period : Period
            Its counts.
        clustered : bool, default True
            Whether its rows were counted in clusters of dependent rows.
        apart : tuple of Period, default ()
            Periods that were counted apart from it: one of them with the same counts has the same rows.

        Returns
        -------
        History
            With one period more.

        Raises
        ------
        InputError
            As `after`.
        """
        name = period.name
        at = self._place(name)
        if at is not None and self.periods[at].same(period):
            return self
        if at is not None:
            raise InputError(
                f"{name}: this period is in the history with other forecasts. Monitoring a period closes it."
                " Add a period only when it is over, and count late outcomes in the period in which they arrive; or"
                f" count all of it anew, and replace it: {_REBUILD}"
            )
        _check_order(self.names, name)
        twin = next((each for each in apart if period.same(each)), None)
        if twin is not None and period.tells:
            raise InputError(
                f"{name}: the same forecasts and outcomes as those of {twin.name}. Leave out the one that was counted"
                " under a wrong name."
            )
        if self.periods and (WHOLE in period.groups) != (WHOLE in self.periods[0].groups):
            raise InputError(f"{name}: some periods have groups and others have none. Count all of them alike.")
        if self.periods and len(self.periods[0].events()) != len(period.events()):
            raise InputError(f"{name}: some tallies have the part 'classes' and others have not. Count all alike.")
        return replace(self, periods=(*self.periods, period), clustered=self.clustered or clustered)

    def _place(self, name: str) -> int | None:
        """Find a period by its name or its days, which may be written otherwise: "2026-W11" as their first and last."""
        days = span_of(name)
        known = (at for at, each in enumerate(self.names) if each == name or (days and span_of(each) == days))
        return next(known, None)

    def then(self, other: History, *, rebuild: bool = False) -> History:
        """Add the periods of another history; those that are here already must be the same there.

        With ``rebuild`` its periods take their places in time instead: those that were missed come between others, and
        those that are here already are replaced. Rebuild for reasons that do not depend on outcomes, or an alarm may be
        false.
        """
        if not self.periods:
            return other
        if not other.periods:
            return self
        if bool(self.labels) != bool(other.labels):
            raise InputError(
                f"{other.names[0]}: some periods have forecasts of classes, others have distributions of a number. Keep"
                " a history for each."
            )
        if self.outcomes != other.outcomes:
            raise InputError(f"{other.names[0]}: {_MIXED}")
        tags = _common_tags(other.names[0], self.tags, other.tags)
        labels = common_labels(self.labels, other.labels) if self.labels else ()
        found = replace(self, labels=labels, tags=tags)
        if not rebuild:
            for period in other.periods:
                found = found.with_period(period, other.clustered, self.periods)
            return found
        kept = [each for each in self.periods if other._place(each.name) is None]
        named = {each.name: each for each in (*kept, *other.periods)}
        order = [str(name) for [name] in in_time([(name,) for name in named])]
        if [name for name in order if name in self.names] != [name for name in self.names if name in named]:
            raise InputError(f"{other.names[0]}: its place is not known: periods are not in the order of their names.")
        found = replace(found, periods=())
        for name in order:
            found = found.with_period(named[name], other.clustered, found.periods)
        return found

    def without_outcomes(self) -> History:
        """Keep the predictions alone, which `drift` reads."""
        if self.periods and not self.labels:
            raise InputError("drift (--drift): it is for probabilities of classes, not for predictive distributions.")
        periods = (
            replace(each, groups={name: tuple(e.unobserved() for e in of) for name, of in each.groups.items()})
            for each in self.periods
        )
        return replace(self, periods=tuple(periods), outcomes=False)

    def since(self, name: str) -> History:
        """Leave out the periods before one of them: a new watch begins there."""
        at = self._place(name)
        if at is None:
            ends = f"{self.names[0]} to {self.names[-1]}" if self.names else "nothing to nothing"
            raise InputError(f"restart (--restart): there is no period {name!r}; they go from {ends}.")
        return replace(self, periods=self.periods[at:])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "labels": list(self.labels),
            "clustered": self.clustered,
            **({} if self.outcomes else {"outcomes": False}),
            "tags": {"names": list(self.tags.names), "models": list(self.tags.models)},
            "periods": [
                {"name": each.name, "groups": {name: _plain(of, self.outcomes) for name, of in each.groups.items()}}
                for each in self.periods
            ],
        }

    def to_bytes(self) -> bytes:
        """Give it as the bytes of its file."""
        return (json_text(self.to_dict(), None) + "\n").encode()

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, whole or not at all: JSON."""
        write_whole(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> History:
        """Read a file that `save` wrote.

        Raises
        ------
        InputError
            For a file that is none, or whose values cannot be right.
        """
        return made_of_file(path, "history", _history_of)


def by_period(counted: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """Put what was counted of periods, and groups, by the name of the period."""
    periods: dict[str, dict[str, Any]] = {}
    for key, each in counted.items():
        period, *group = key if isinstance(key, tuple) else (key,)
        if period is None:
            raise InputError("time: some rows have no period. Repair them, or leave them out with --where.")
        named = WHOLE if not group else ", ".join("(none)" if x in (None, "") else str(x) for x in group)
        groups = periods.setdefault(str(period), {})
        if named in groups:
            raise InputError(f"by (--by): two groups have the same name, {named!r}. Rename one of them.")
        groups[named] = each
    return periods


_CHANCE = 1e-6
"""Probability of equal outcomes, given the predictions, below which two periods are one that was counted twice."""

_REBUILD = "monitor --rebuild, in Python history.then(other, rebuild=True)."

_MIXED = (
    "some periods have outcomes, others have none, and monitor needs them. To test the predictions of all of them, take"
    " drift (--drift) and leave the outcomes out (without_outcomes() in Python)."
)

_COUNTS = EventCounts._fields[:5]
"""Counts of an event that every file has."""
_ROUNDING, _SAME_ROWS = 1e-12, 1e-6
"""Relative differences by rounding: of sums of observed events, and of the rows that nodes of few digits stand for."""
_MOST = 2**53
"""Largest number of rows that a float holds exactly."""
_UNKNOWN = ("positive", "certain_and_wrong")
"""Counts that need outcomes."""

_DAY_FIRST = r"\d{1,2}[./]\d{1,2}[./]\d{2,4}"

_MONTH = re.compile(
    r"(?<![^\W\d_])(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?"
    r"|dec(ember)?|(mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun)(?![^\W\d_])",
    re.IGNORECASE,
)
"""A month or a weekday between other signs than letters: the alphabet puts none in chronological order."""

_YEAR_FIRST = re.compile(r"\d{4}-\d{2}")


def in_time(keys: list[Key]) -> list[Key]:
    """Put keys, each of which begins with a period, in chronological order: dates, numbers, and names in natural order.

    Raises
    ------
    InputError
        For names with months or weekdays, which the alphabet puts in another order.
    """
    names = dict.fromkeys(str(key[0]) for key in keys)
    named = next((name for name in names if _MONTH.search(name) and not _YEAR_FIRST.match(name)), None)
    if named is not None and len(names) > 1:
        raise InputError(
            f"time: the order of periods such as {named!r} is not known. Write dates as year-month-day (2026-04-11) or"
            " year-month (2026-04)."
        )
    return in_order(keys)


def _check_order(earlier: Sequence[str], name: str) -> None:
    """Refuse a date that is out of order, and one of which the order is not known."""
    if re.fullmatch(_DAY_FIRST, name):
        raise InputError(f"{name}: the order of day and month is ambiguous. Write year-month-day, or name COLUMN:day.")
    last, before = next(((each, span) for each in reversed(earlier) if (span := span_of(each))), ("", None))
    now = span_of(name)
    if before and now and now[0] <= before[1]:
        how = "it is before" if now[1] < before[0] else "it has days of"
        where = f"{name}: {how} {last}, which is in the history."
        raise InputError(f"{where} Add periods in chronological order, or put a missed one in its place: {_REBUILD}")


def _common_tags(name: str, before: Tags, now: Tags) -> Tags:
    """Give the data set and the model, which do not change while they are watched."""
    found = different(before, now)
    if found:
        raise InputError(
            f"{name}: its {found[0]} {'is' if found[0] == 'model' else 'are'} {found[2]}, and in the periods before"
            f" {found[1]}. Begin another history for it, or take the tags away (--mixed)."
        )
    return before.plus(now, mixed=False) if before else now


def _events(tally: Tally, outcomes: bool) -> Events:
    if tally.n_classes == 2:
        pairs = [pairs_by_class(tally, "each-class")[0]]
    else:
        single = pairs_by_class(tally, "each-class") if tally.knows_classes and tally.n_classes <= MOST_CLASSES else []
        pairs = [tally.pairs("top-label"), *single]
    scores = Scores.of(tally)
    counts = tuple(EventCounts.of(each, scores) for each in pairs)
    return counts if outcomes else tuple(each.unobserved() for each in counts)


def _plain(events: Events, outcomes: bool) -> list[dict[str, Any]]:
    """Give an event's counts as plain values; scores, which are of all classes, are beside the first."""
    found: list[dict[str, Any]] = []
    if isinstance(events[0], PitCounts):
        return [plain_values(each._asdict()) for each in events]
    for each in events:
        known = {name: getattr(each, name) for name in _COUNTS if outcomes or name not in _UNKNOWN}
        nodes = {} if each.nodes is None else {"nodes": each.nodes._asdict()}
        scores = {} if each.scores is None or found else {"scores": each.scores._asdict()}
        found.append(plain_values({**known, **nodes, **scores}))
    return found


def _history_of(data: Any) -> History:
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError(f'not a history: it has no "format": "{FORMAT}".')
    if data.get("version") not in (EARLIER, VERSION):
        known = f"this version of unperplexed reads {EARLIER} and {VERSION}"
        raise InputError(f"the history has version {data.get('version')!r}; {known}.")
    _need(set(data) - {"tags", "outcomes"} == {"format", "version", "labels", "clustered", "periods"}, "keys")
    labels, periods, outcomes = data["labels"], data["periods"], data.get("outcomes", True)
    _need(isinstance(labels, list) and all(isinstance(x, bool | int | float | str | None) for x in labels), "labels")
    _need(isinstance(data["clustered"], bool) and isinstance(outcomes, bool) and isinstance(periods, list), "periods")
    read = tuple(_period_of(each, outcomes) for each in periods)
    _need(len({each.name for each in read}) == len(read), "names of periods")
    _need(len({(len(each.events()), WHOLE in each.groups) for each in read}) < 2, "events")
    _need(not read or len(read[0].events()) in ((1,) if len(labels) == 2 else (1, 1 + len(labels))), "labels")
    pit = {isinstance(event, PitCounts) for each in read for events in each.groups.values() for event in events}
    _need(pit <= {not labels}, "counts")
    scored = [e.scores for each in read for events in each.groups.values() for e in events if labels]
    _need(all(each is None or len(each.classes) in (0, len(labels)) for each in scored), "scores")
    return History(tuple(labels), read, data["clustered"], _tags_of(data.get("tags", {})), outcomes)


def _tags_of(data: Any) -> Tags:
    """Read the tags, which files of earlier versions of unperplexed do not have."""
    _need(isinstance(data, Mapping), "tags")
    try:
        return Tags.of_file({**{kind: [*UNKNOWN] for kind in ("names", "models", "periods")}, **data})
    except ValueError:
        raise InputError(_DAMAGED.format("tags")) from None


def _period_of(data: Any, outcomes: bool) -> Period:
    _need(isinstance(data, Mapping) and set(data) == {"name", "groups"} and isinstance(data["name"], str), "periods")
    groups = data["groups"]
    _need(isinstance(groups, Mapping) and bool(groups), "groups")
    _need(all(isinstance(events, list) and events for events in groups.values()), "events")
    _need(len({len(events) for events in groups.values()}) == 1, "events")
    return Period(data["name"], {name: _events_of(events, outcomes) for name, events in groups.items()})


def _events_of(data: list[Any], outcomes: bool) -> Events:
    _need(all(isinstance(each, Mapping) for each in data), "counts")
    if "low" in data[0]:
        return tuple(map(_pit_of, data))
    [first, *others] = data
    scores = _scores_of(first["scores"]) if "scores" in first else None
    counts = ({name: each[name] for name in each if name != "scores"} for each in (first, *others))
    return tuple(_counts_of(each, outcomes)._replace(scores=scores) for each in counts)


def _pit_of(data: Mapping[str, Any]) -> PitCounts:
    _need(set(data) == {*PitCounts._fields} and isinstance(data["information"], list), "counts")
    low, high, total = (_column(data[name], signed=True, infinite=True) for name in PitCounts._fields[:3])
    information = [_column(each, signed=True) for each in data["information"]]
    _need({each.size for each in information} == {4} and len(information) == 4, "information")
    _need(low.shape == high.shape == total.shape and bool(((low < high) & (total > 0)).all()), "counts")
    wrong, ahead = (_number(data[name]) for name in PitCounts._fields[4:])
    _need(ahead >= 1 and ahead == int(ahead), "ahead")
    return PitCounts(low, high, total, np.array(information), wrong, int(ahead))


def _scores_of(data: Any) -> Scores:
    _need(isinstance(data, Mapping) and set(data) == {*Scores._fields}, "scores")
    log_loss, brier, accuracy = (_number(data[name], infinite=True) for name in Scores._fields[:3])
    return Scores(log_loss, brier, accuracy, tuple(_column(data["classes"]).tolist()))


def _counts_of(data: Any, outcomes: bool) -> EventCounts:
    fields = {name for name in _COUNTS if outcomes or name not in _UNKNOWN}
    _need(set(data) - {"nodes"} == fields, "counts")
    if not outcomes:
        known = {**data, "positive": [0] * len(_column(data["p"])), "certain_and_wrong": 0}
        return _counts_of(known, outcomes=True).unobserved()
    p, total, positive = (_column(data[name]) for name in ("p", "total", "positive"))
    _need(p.shape == total.shape == positive.shape, "counts")
    _need(bool(((p > 0) & (p < 1) & (total > 0)).all() and (positive <= total * (1 + _ROUNDING)).all()), "counts")
    certain, wrong = (_number(data[name]) for name in ("certain", "certain_and_wrong"))
    _need(wrong <= certain and bool(p.size or certain), "counts")
    counts = EventCounts(p, total, positive, certain, wrong)
    return counts._replace(nodes=_nodes_of(data["nodes"], counts.rows)) if "nodes" in data else counts


def _nodes_of(data: Any, rows: float) -> Nodes:
    """Read the nodes of an event, which stand for as many rows as its cells have."""
    _need(isinstance(data, Mapping) and set(data) == {*Nodes._fields}, "nodes")
    nodes = Nodes(*(_column(data[name], signed=True, infinite=name == "s") for name in Nodes._fields))
    _need(nodes.s.shape == nodes.total.shape == nodes.positive.shape, "nodes")
    _need(bool((nodes.total > 0).all()) and not np.isnan(nodes.s).any(), "nodes")
    _need(math.isclose(nodes.rows, rows, rel_tol=_SAME_ROWS), "nodes")
    return nodes


def _column(data: Any, **allowed: bool) -> Floats:
    _need(isinstance(data, list), "counts")
    return np.array([_number(each, **allowed) for each in data], dtype=np.float64)


_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""Numbers that JSON has as texts."""


def _number(value: Any, *, signed: bool = False, infinite: bool = False) -> float:
    if infinite and value in _NOT_FINITE:
        return float(value)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    _need(good and -_MOST * signed <= value < _MOST, "counts")
    return float(value)


_DAMAGED = "the history is damaged: {} cannot be right. Make it anew from the tallies."


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise InputError(_DAMAGED.format(what))


def history_of(y_true: Any, y_prob: Any, time: Any, by: Any, reading: Mapping[str, Any]) -> History:
    """Return forecasts and outcomes in periods: a history or tallies of them as they are, or rows, each with its time.

    Rows in clusters are counted so that clusters are known.

    Parameters
    ----------
    y_true : array_like, History, or mapping from period to Tally
        Outcomes of rows, or periods that were counted.
    y_prob : array_like or None
        Predicted probabilities of the rows; None for counted periods.
    time : array_like of shape (n,) or None
        Period of each row; None for counted periods.
    by : array_like, mapping, data frame or None
        Groups of the rows.
    reading : mapping
        How rows are read, as options of `Forecasts`.

    Raises
    ------
    InputError
        For rows without ``time``, and for counted periods with what is said of rows.
    """
    if isinstance(y_true, History | Mapping):
        return _counted(y_true, {"y_prob": y_prob, "time": time, "by": by, **reading})
    parts = ["classes", *(["shards"] if reading.get("clusters") is not None else [])]
    counting: dict[str, Any] = {"most_groups": MOST_PERIODS, "parts": parts, "diagnosed": 0}
    return History.of(Tallies.of(y_true, y_prob, by=in_periods(time, by), **counting, **reading))


def predictions_of(y_prob: Any, time: Any, by: Any, reading: Mapping[str, Any]) -> History:
    """Return predictions in periods, likewise.

    Parameters
    ----------
    y_prob : array_like, History, or mapping from period to Predictions or Tally
        Predicted probabilities of rows, or periods that were counted.
    time, by, reading
        As in `history_of`.
    """
    if isinstance(y_prob, History | Mapping):
        return _counted(y_prob, {"time": time, "by": by, **reading})
    read = predicted(y_prob, **reading)
    return History.of(
        Tallies.count([(read, in_periods(time, by))], most_groups=MOST_PERIODS, parts=["classes"], diagnosed=0)
    ).without_outcomes()


def _counted(periods: History | Mapping[Any, Tally | Predictions], given: Mapping[str, Any]) -> History:
    """Return periods that were counted; refuses what is said of rows."""
    for name, each in given.items():
        if each is not None:
            raise InputError(f"{name}: it is for rows; periods that were counted are given alone.")
    return periods if isinstance(periods, History) else History.of(periods)


def in_periods(time: Any, by: Any) -> dict[str, Any]:
    """Return the columns of which a period and a group have a value each."""
    if time is None:
        raise InputError("time: missing; give the period of each row, such as its date, or tallies by period.")
    return {"time": time, **({} if by is None else columns_of(by))}
