"""find_groups(): where are forecasts wrong, beyond the error that all rows share?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from .._lib.arrays import check_indexes
from .._lib.dataclasses import dataclass
from .._lib.elementary import expit, logit
from .._lib.errors import InputError, check_choice, check_seed, check_whole
from .._lib.typing import Bools, Floats, Ints
from ..calibration.dependence_search import DependenceSearch
from ..calibration.diagnosis.diagnose import diagnosis_of_rows, rows_of
from ..calibration.undeclared import read_rows
from ..calibration.where.chance import SAMPLES, Chance
from ..calibration.where.conditions import Column, columns_of_values
from ..calibration.where.model import SearchedRows
from ..calibration.where.naming import LEVEL, MOST, Found, NamedGroup, find
from ..calibration.where.rules import searched
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Label
from ..forecasts.reading import SEARCHED, RowReading, is_predictive, reads
from ..recalibration.fitting import FitSettings
from ..recalibration.folds import FOLDS_OF_MANY, folds_of_places
from ..recalibration.gain import FEWEST_CLUSTERS, FEWEST_ROWS, Gain, gain_of
from ..recalibration.group_rows import GroupRows
from ..report.result import frames_as_input
from ..statistics.intervals import Dependence, uncertain_mean
from ..tally.tally import Tally
from .among import gathered_among, names_of, searched_columns
from .groups_found import FoundGroup, Groups

_CLASSES_SEARCHED = 10
"""Classes of which each is searched; of more, whether the most probable one is right."""

_CLUSTERS_KNOWN = 30
"""Clusters with fewer of which their dependence is hardly known."""

PREDICTED = "predicted class"
"""Column that is added where the most probable class is searched."""


@dataclass(frozen=True)
class GroupSettings:
    """How groups are searched: the arguments of `find_groups` that concern it."""

    max_groups: int = MOST
    view: str = "each-class"
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no search can be made with, before any row is read."""
        check_whole("max_groups", self.max_groups)
        check_choice("view", self.view, ("each-class", "top-label"))
        check_seed(self.seed)


@frames_as_input
@reads(RowReading, SEARCHED)
def find_groups(
    y_true: Any,
    y_prob: Any = None,
    *,
    among: Any,
    max_groups: int = MOST,
    view: str = "each-class",
    seed: int = 0,
    **reading: Unpack[RowReading],
) -> Groups:
    """Find groups of rows in which forecasts are wrong, beyond the error that all rows share.

    All rules of one condition, or of two on different columns, are tested at once: such as ``age >= 34 and sex = f``.
    Those that stand out are named one after another, each beside those before it. The probability of naming any group
    of forecasts that err alike everywhere is about 5%. A column in a rule need not be the cause of the error.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: class labels (ints, bools, strings) or one-hot rows. Also `Forecasts`, without ``y_prob``.
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities, of rows that did not train the model.
    among : mapping from str to array_like of shape (n,), or data frame
        Columns among which to search: numbers, dates or categories, at most 60. Of dates month and weekday are searched
        too. A missing value is a condition.
    max_groups : int, default 6
        Groups to name at most, of each class.
    view : {"each-class", "top-label"}, default "each-class"
        With more than two classes, whether each class is searched or whether the most probable class is right, with
        the predicted class as a further column. More than ten classes are always searched the second way.
    seed : int, default 0
        Random seed of the samples and of the folds.
    **reading
        How rows are read, as in `assess`: ``sample_weight``, ``clusters``, ``labels``, ``pos_label``,
        ``ignore_label``, ``scale``, ``invalid``.

    Returns
    -------
    Groups
        ``items``, each with its ``rule``, ``rows``, ``effect`` in log-odds and its ``cost`` (larger is worse);
        ``p_value`` (is any group wrong?); ``gain`` of correcting the groups, cross-fitted (larger is better);
        ``detectable_bias`` in log-odds (smaller is better).

    Raises
    ------
    InputError
        For invalid input, with the rows (counted from 0) and the remedy; for a column that holds the outcomes, one of
        another length, and too many columns.

    Notes
    -----
    The curve that all rows share, q, is a logistic regression on functions of the log-odds s. With v = q (1 - q) and g
    the rows of a rule, its scores are ::

        S = sum_g (y - q),   S' = sum_g s (y - q), less its regression on S

    whose variances V after projection on the curve's functions are known. Evidence is -ln of the p-value of the signed
    root of the deviance of a scaled Poisson variable that has this variance and third moment. 199 samples of outcomes
    from q, on at most 20,000 rows, tell how large the largest evidence gets by chance: a Gumbel distribution for rules
    of one and of two conditions, by bias and by slope, and one for the largest of these (Westfall and Young 1993). A
    rule needs 20 rows, 1% of the rows, an information sum_g v of 5 and at most half of all of it.

    The interval of an effect is the estimate plus or minus its standard error times the |z| that the largest of all
    rules exceeds by chance with a probability of 5%. With clusters standard errors are those of independent rows times
    the root of the rule's variance factor. The shrunken effect is the most likely one given that |z| exceeded that
    limit. Costs are log-likelihood ratios of successive groups, divided by the number of rows, times
    (shrunken / effect)^2. For the gain the whole search is repeated without each of five folds; the shrunken effects
    are added to the log-odds, and `Recalibrator` maps what comes out, compared with `Recalibrator` alone.

    Examples
    --------
    >>> import numpy as np
    >>> import unperplexed as up
    >>> rng = np.random.default_rng(0)
    >>> age, log_odds = rng.integers(18, 80, 2000), rng.normal(size=2000)
    >>> ill = rng.random(2000) < 1 / (1 + np.exp(-log_odds - np.where(age >= 60, 1.2, 0)))
    >>> found = up.find_groups(ill, 1 / (1 + np.exp(-log_odds)), among={"age": age, "height": rng.normal(170, 9, 2000)})
    >>> [(item.rule, item.rows) for item in found.items]
    [('age >= 60', 667)]
    """
    settings = GroupSettings(max_groups, view, seed)
    if is_predictive(y_prob):
        raise InputError("y_prob: groups are searched for class probabilities, not for predictive distributions.")
    if isinstance(y_true, Tally):
        raise InputError("y_true: groups are searched in rows, and a tally has none; give the rows that it counted.")
    check_indexes(y_true=y_true, y_prob=y_prob, among=among)
    forecasts, _, dependence = read_rows(y_true, y_prob, reading, among)
    return groups_of_rows([(forecasts, among)], settings, dependence)


class _Event(NamedTuple):
    """What is searched: whether a class happens, or the most probable one."""

    label: Label | None
    rows: SearchedRows
    places: Ints
    """Class of each row that the event is about."""


def groups_of_rows(
    stream: Iterable[tuple[Forecasts, Any]], settings: GroupSettings, dependence: DependenceSearch
) -> Groups:
    """Search rows, which come part by part with their columns.

    Parameters
    ----------
    stream : iterable of (Forecasts, mapping of columns)
    settings : GroupSettings
    dependence : DependenceSearch
        What was found of the rows' dependence.
    """
    rows, values, notes = gathered_among(stream)
    columns, warnings = searched_columns(values, rows.truth)
    if len(rows.labels) > _CLASSES_SEARCHED:
        settings = GroupSettings(settings.max_groups, "top-label", settings.seed)
    events = _events(rows, settings.view)
    if settings.view == "top-label":
        predicted = np.array([str(label) for label in rows.labels], dtype=object)[events[0].places]
        columns += columns_of_values(PREDICTED, predicted)
    if not columns:
        raise InputError(f"among: no column can be searched: {'; '.join(warnings)}.")
    names = names_of(columns)
    columns += [_bare(len(rows.truth))] * (len(columns) == 1)
    search = _Search(columns, settings, LEVEL / len(events))
    found = [search.found(event.rows) for event in events]
    diagnosis = diagnosis_of_rows(rows_of(lambda: [rows.forecasts()]), rows.labels)
    first, w = events[0].rows, np.ones(len(rows.truth)) if rows.weight is None else rows.weight
    one = len(events) == 1
    p = expit(first.s)
    items = [
        _item(group, event, of, len(events)) for event, of in zip(events, found, strict=True) for group in of.groups
    ]
    clusters = None if rows.cluster is None else int(rows.cluster.max()) + 1
    if clusters is not None and clusters < _CLUSTERS_KNOWN:
        warnings.append(f"{clusters} clusters hardly show how their rows depend; p-values and intervals need 30")
    return Groups(
        items=tuple(items),
        p_value=min(1.0, len(events) * min(of.p_value for of in found)),
        rules_searched=found[0].chance.rules * len(events),
        columns=names,
        gain=search.gain(rows, events, found) if items else None,
        detectable_bias=max(of.detectable for of in found),
        p_value_all=diagnosis.p_value,
        mean_predicted=float(np.average(p, weights=w)) if one else float("nan"),
        observed=float(np.average(first.y, weights=w)) if one else float("nan"),
        n_rows=len(rows.truth),
        n_classes=len(rows.labels),
        labels=rows.labels,
        view=settings.view,
        dependence=dependence,
        n_clusters=clusters,
        notes=notes,
        warnings=tuple(warnings),
        samples=SAMPLES,
        seed=settings.seed,
    )


def _events(rows: GroupRows, view: str) -> list[_Event]:
    """Return the second of two classes, each of more, or the most probable one."""
    log_p, n = np.asarray(rows.log_p, dtype=np.float64), len(rows.truth)
    if len(rows.labels) == 2:  # noqa: PLR2004
        s, code = log_p[:, 1] - log_p[:, 0], np.ones(n, dtype=np.int64)
        return [_Event(rows.labels[1], _searched(s, rows.truth == 1, rows), code)]
    if view == "top-label":
        top = log_p.argmax(axis=1)
        return [_Event(None, _searched(_log_odds(log_p, top), rows.truth == top, rows), top)]
    codes = [np.full(n, at) for at in range(len(rows.labels))]
    return [
        _Event(label, _searched(_log_odds(log_p, code), rows.truth == code, rows), code)
        for label, code in zip(rows.labels, codes, strict=True)
    ]


def _log_odds(log_p: Floats, code: Ints) -> Floats:
    """Return the log-odds of a class of each row."""
    each = np.arange(len(code))
    others = log_p.copy()
    others[each, code] = -np.inf
    return np.asarray(log_p[each, code] - np.logaddexp.reduce(others, axis=1))


def _searched(s: Floats, happened: Bools, rows: GroupRows) -> SearchedRows:
    """Return rows with log-odds that are finite: those of certain predictions are as large as n rows may tell."""
    farthest = -float(logit(0.01 / len(s)))
    return searched(np.clip(s, -farthest, farthest), happened.astype(np.float64), rows.weight, rows.cluster)


def _bare(n: int) -> Column:
    """Return a column that is no condition, beside which a single one makes a pair."""
    return Column("", np.zeros(n), np.zeros(n, dtype=np.int64), (None,), np.ones((1, 1), dtype=np.float32))


def _item(group: NamedGroup, event: _Event, found: Found, events: int) -> FoundGroup:
    """Describe a group that was named, by weighted means of its rows."""
    rows, inside = event.rows, group.inside

    def mean(values: Floats) -> float:
        return float(np.average(values[inside], weights=rows.w[inside]))

    conditions = tuple(group.rule.values())
    return FoundGroup(
        rule=" and ".join(condition.text for condition in conditions),
        conditions=conditions,
        error="confidence" if group.slope else "bias",
        label=event.label,
        rows=int(np.count_nonzero(inside)),
        mean_predicted=mean(expit(rows.s)),
        mean_recalibrated=mean(expit(found.common)),
        observed=mean(rows.y),
        effect=group.effect,
        effect_interval=group.interval,
        effect_shrunken=group.effect * group.shrunk,
        cost=group.cost,
        p_adjusted=min(1.0, events * group.p_adjusted),
    )


class _Search(NamedTuple):
    """How each event is searched, of all rows or of some."""

    columns: Sequence[Column]
    settings: GroupSettings
    level: float

    def found(self, rows: SearchedRows, some: Bools | None = None, chance: Chance | None = None) -> Found:
        """Search an event's rows, or some of them by what chance does in all."""
        columns = self.columns if some is None else [column.at(some) for column in self.columns]
        rows = rows if some is None else rows.at(some)
        rng = np.random.default_rng(self.settings.seed)
        return find(columns, rows, rng, self.settings.max_groups, self.level, chance)

    def gain(self, rows: GroupRows, events: Sequence[_Event], found: Sequence[Found]) -> Gain | None:
        """Measure the gain of correcting the groups, by searches without each fold."""
        n = len(rows.truth)
        clusters = None if rows.cluster is None else int(rows.cluster.max()) + 1
        if n < FEWEST_ROWS or (clusters is not None and clusters < FEWEST_CLUSTERS):
            return None
        fold = folds_of_places(clusters or n, FOLDS_OF_MANY, self.settings.seed)
        fold = fold if rows.cluster is None else fold[rows.cluster]
        losses = np.empty((2, n))
        for each in range(FOLDS_OF_MANY):
            out = fold == each
            without = [self.found(event.rows, ~out, of.chance) for event, of in zip(events, found, strict=True)]
            losses[:, out] = self._losses(rows, events, without, ~out, out)
        w = np.ones(n) if rows.weight is None else rows.weight
        whole, every = np.ones(n, dtype=np.bool_), self._losses
        one, own = every(rows, events, found, whole, whole)
        gained = uncertain_mean(losses[0] - losses[1], w, Dependence(rows.cluster))
        in_sample, before = (float(np.average(x, weights=w)) for x in (one - own, losses[0]))
        return gain_of(before, gained.mean, gained.standard_error, in_sample, n, clusters)

    def _losses(
        self, rows: GroupRows, events: Sequence[_Event], found: Sequence[Found], fitted: Bools, held_out: Bools
    ) -> Floats:
        """Return log losses of rows by one map of all, and with the groups corrected before it, fitted to others."""
        columns = self.columns
        moved = np.array(rows.log_p, dtype=np.float64)
        for event, of in zip(events, found, strict=True):
            moved[np.arange(len(moved)), event.places] += of.offsets(columns, event.rows.s)
        moved -= np.logaddexp.reduce(moved, axis=1)[:, None]
        settings, losses = FitSettings("auto", False, None, self.settings.seed), []
        for log_p in (rows.log_p, moved):
            each = GroupRows(rows.labels, (), ((),), rows.group, log_p, rows.truth, rows.weight, rows.cluster)
            q = each.some(fitted).state(settings).of_log_probabilities(log_p[held_out])
            losses.append(-np.log(q[np.arange(len(q)), rows.truth[held_out]]))
        return np.stack(losses)
