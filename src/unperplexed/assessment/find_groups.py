"""find_groups(): where are forecasts wrong, beyond the error that all rows share?"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import check_indexes, distinct
from .._lib.dataclasses import replace
from .._lib.errors import InputError, check_choice, check_seed, check_whole
from .._lib.progress import at_once, later, threads_for
from .._lib.typing import Bools, Floats, Ints
from ..calibration.dependence_search import DependenceSearch
from ..calibration.diagnosis.diagnose import p_value_of_rows, rows_of
from ..calibration.undeclared import ReadRows, checked_codes, read_rows
from ..calibration.where.conditions import CATEGORIES, Column, columns_of_values
from ..calibration.where.naming import MOST, Found, FoundGroup, Residuals, Search
from ..calibration.where.rules import LEAST_ROWS, LEAST_SHARE, SearchedRows
from ..forecasts.forecasts import Forecasts, Notes
from ..forecasts.group_keys import columns_of
from ..forecasts.labels import Label
from ..forecasts.reading import SEARCHED, NumberReading, is_predictive, reads
from ..recalibration.fitting import FitSettings, GroupRows, cross_fitted, gathered_groups
from ..recalibration.found_groups import PREDICTED, FoundGroupRecalibrator, arrays_among, class_texts, event_of
from ..recalibration.gain import Gain
from ..recalibration.recalibrator import Recalibrator
from ..recalibration.state import State
from ..report.result import frames_as_input
from ..statistics.intervals import Dependence, uncertain_mean
from .groups_found import Groups

if TYPE_CHECKING:
    from ..calibration.distribution_rows import DistributionRows
    from ..calibration.where.naming import AnyModel

MOST_COLUMNS, _CLASSES_SEARCHED, _CLUSTERS_KNOWN, _TELLS = 60, 10, 30, 0.99
"""Columns at most, as more make millions of rules, among which a group has to stand out; classes of which each is
searched, of more whether the most probable one is right; clusters with fewer of which their dependence is hardly known;
and the AUC of a column alone from which on it looks like another form of the outcome."""

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{2}")
"""How texts begin that look like dates."""


@frames_as_input
@reads(NumberReading, SEARCHED)
def find_groups(
    y_true: Any,
    y_prob: Any = None,
    *,
    among: Any,
    max_groups: int = MOST,
    view: str = "each-class",
    seed: int = 0,
    **reading: Unpack[NumberReading],
) -> Groups:
    """Find groups of rows in which forecasts are wrong.

    Returns `Groups`: ``items`` lists the groups, the costliest first (smaller
    cost is better), and is empty if nothing stands out from the error that all
    rows share. All rules of one condition, or of two on different columns, are
    tested at once, such as ``age >= 34 and sex = f``. If forecasts err alike
    everywhere, one is named with a probability of about 5%. A column in a
    rule need not be the cause of the error.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: class labels (ints, bools, strings) or one-hot rows.
    y_prob : array_like of shape (n,) or (n, C), or predictive distributions
        Predicted probabilities, of rows that did not train the model. Or
        `Quantiles`, `Samples`, `Distribution` or `PIT` of a number, or
        `Ordered` classes, as in `assess`.
    among : mapping from str to array_like of shape (n,), or data frame
        Columns among which to search: numbers, dates or categories, at most 60.
        Of dates month and weekday are searched too. A missing value is a
        condition.
    max_groups : int, default 6
        Groups to name at most, of each class.
    view : {"each-class", "top-label"}, default "each-class"
        With more than two classes, whether each class is searched or whether
        the most probable class is right, with the predicted class as a further
        column. More than ten classes are always searched the second way.
    seed : int, default 0
        Random seed of the samples and of the folds.
    **reading
        How rows are read, as in `assess`: ``sample_weight``, ``clusters``,
        ``labels``, ``pos_label``, ``ignore_label``, ``scale``, ``invalid``; of
        distributions ``censored``, ``issued`` and ``target_date``. Windows that
        overlap are in clusters by stretches of the time of issue, as long as
        the longest.

    Returns
    -------
    Groups
        ``items``, each with its ``rule``, ``rows``, ``effect`` in log-odds and
        its ``cost`` (larger is worse); ``p_value`` (is any group wrong?);
        ``gain`` of correcting the groups, cross-fitted (larger is better);
        ``detectable_bias`` in log-odds (smaller is better).

    Raises
    ------
    InputError
        For invalid input, with the rows (counted from 0) and the remedy; for a
        column that holds the outcomes, one of another length, and too many
        columns.

    Notes
    -----
    The curve that all rows share, q, is a logistic regression on functions of
    the log-odds s. With v = q (1 - q) and g the rows of a rule, its scores are
    ::

        S = sum_g (y - q),   S' = sum_g s (y - q), less its regression on S

    whose variances V after projection on the curve's functions are known (of
    more than 100,000 rows from a random sample). Evidence is -ln of the p-value
    of the signed root of the deviance of a scaled Poisson variable that has
    this variance and third moment. 199 samples of outcomes from q, on at most
    20,000 rows, tell how large the largest evidence gets by chance: a Gumbel
    distribution for rules of one and of two conditions, by bias and by slope,
    and one for the largest of these (Westfall and Young 1993). A rule needs 20
    rows, 1% of the rows, an information sum_g v of 5 and at most half of all of
    it.

    The interval of an effect is the estimate plus or minus its standard error
    times the ``|z|`` that the largest of all rules exceeds by chance with a
    probability of 5%. With clusters standard errors are those of independent
    rows times the root of the rule's variance factor. The shrunken effect is
    the most likely one given that ``|z|`` exceeded that limit. Costs are
    log-likelihood ratios of successive groups, divided by the number of rows,
    times (shrunken / effect)^2. For the gain the whole search is repeated
    without each of five folds, of more than 20,000 rows in cells of the
    log-odds that are 1/128 wide; `Recalibrator` maps the forecasts, the
    shrunken effects are added to the log-odds, and a second map mends what
    comes out, compared with the first map alone. Maps are fitted without the
    fold, and weigh what they do on all rows. With more than two classes they
    are `Recalibrator`'s ``"logistic"`` ones.

    Of predictive distributions S is the sum of the first direction of the
    normal scores, and S' of the second less its regression on S, both mended by
    a shift, scale, skew and tail that all rows share: outcomes above the
    median, and far from it. Their variances are those seen of mended scores,
    which samples are drawn from. A group has a shift, in predicted spreads
    (error "bias"), or a factor of the width (error "width"), fitted one after
    another. There is no gain.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import find_groups
    >>> rng = np.random.default_rng(0)
    >>> age, height = rng.integers(18, 80, 2000), rng.normal(170, 9, 2000)
    >>> s = rng.normal(size=2000)
    >>> ill = rng.random(2000) < 1 / (1 + np.exp(-s - 1.2 * (age >= 60)))
    >>> risk = 1 / (1 + np.exp(-s))
    >>> found = find_groups(ill, risk, among={"age": age, "height": height})
    >>> print(found.to_text().splitlines()[0])
    Wrong in 1 group of rows, beyond the error that all rows share (p < 0.001).
    >>> [(item.rule, item.rows) for item in found.items]
    [('age >= 60', 667)]
    """
    if is_predictive(y_prob):
        from ..calibration.distribution_rows import read_distributions

        check_indexes(y_true=y_true, among=among)
        rows = read_distributions(y_true, y_prob, reading)
        return groups_of_distributions(rows, columns_among(among, len(y_prob)), max_groups, seed)
    if y_prob is None:
        raise InputError("y_prob: missing; groups are searched in rows of outcomes and probabilities, not in a tally.")
    check_indexes(y_true=y_true, y_prob=y_prob, among=among)
    forecasts, _, dependence = read_searched(y_true, y_prob, reading, among)
    return groups_of_rows([(forecasts, among)], dependence, max_groups, view, seed)


def read_searched(y_true: Any, y_prob: Any, reading: Mapping[str, Any], among: Any) -> ReadRows:
    """Read rows that are searched for groups: columns of few values are groups, by others rows may depend."""
    codes = checked_codes(among, len(y_true), "among")
    few = {name: code for name, code in codes.items() if len(distinct(code)) <= CATEGORIES}  # rules ask for each value
    many = {name: code for name, code in codes.items() if name not in few}
    if many and "clusters" not in reading:
        given = reading.get("columns")
        reading = {**reading, "columns": many if given is None else {**columns_of(given, "columns"), **many}}
    return read_rows(y_true, y_prob, reading, few or None, "among")


_Rows = Iterable[tuple[Forecasts, Any]]
"""Forecasts part by part, with their columns."""


class _Event(NamedTuple):
    """What is searched: whether a class happens, or the most probable one."""

    label: Label | None
    rows: SearchedRows
    places: Ints
    """Class of each row that the event is about."""


def groups_of_rows(
    stream: _Rows,
    dependence: DependenceSearch,
    max_groups: int = MOST,
    view: str = "each-class",
    seed: int = 0,
    named: bool = True,
) -> Groups:
    """Search rows, which come part by part with their columns.

    Parameters
    ----------
    stream : iterable of (Forecasts, mapping of columns)
    dependence : DependenceSearch
        What was found of the rows' dependence.
    max_groups, view, seed
        As in `find_groups`.
    named : bool, default True
        Whether the columns were named; of others those that tell too little or too much are left out.
    """
    check_choice("view", view, ("each-class", "top-label"))
    most, seed = check_whole("max_groups", max_groups), check_seed(seed)
    rows, parts, notes = _gathered(stream)
    threads = threads_for(len(rows.truth))
    events = _events(rows, "top-label" if len(rows.labels) > _CLASSES_SEARCHED else view)
    whole = later(lambda: (p_value_of_rows(rows_of(lambda: [rows.forecasts()]), rows.labels), _curves(events)), threads)
    columns, warnings = _columns(parts, rows.truth, named)
    if events[0].label is None:
        columns += columns_of_values(PREDICTED, class_texts(rows.labels, events[0].places))

    def more(search: Search, found: Sequence[Found]) -> Mapping[str, Any]:
        settings, named = _settings(rows, search.seed), [each for of in found for each in of.corrections]
        if not named:
            return {"gain": None, "notes": notes, "_fit": partial(_without_groups, rows, settings)}
        maps = later(lambda: _maps(rows, settings, events, found, search.columns), threads)
        gain = _gain(rows, maps, events, found, search)
        proven = gain is not None and gain.significant
        shared, after, _ = maps()
        known = (named, shared, after, gain) if proven else ([], shared)
        return {"gain": gain, "notes": notes, "_fit": partial(FoundGroupRecalibrator, *known)}

    p_value, curves = whole()
    common = {"p_value_all": p_value, "labels": rows.labels, "dependence": dependence, "warnings": warnings}
    return _groups(columns, curves, most, seed, common, more)


def groups_of_distributions(
    rows: DistributionRows, among: Mapping[str, NDArray[Any]], max_groups: int = MOST, seed: int = 0, named: bool = True
) -> Groups:
    """Search rows that were read for groups; `find_groups` describes it, and `groups_of_rows` the arguments."""
    from scipy.special import ndtr

    from ..calibration.diagnosis.distributions import Tested
    from ..calibration.diagnosis.row_groups import Windows
    from ..calibration.where.pit import PitModel
    from ..forecasts.distributions.ordered import Ordered

    most, seed = check_whole("max_groups", max_groups), check_seed(seed)
    weighted = True if rows.rows.weight is None else rows.rows.weight > 0
    rows = rows.only(np.flatnonzero(~rows.rows.impossible & weighted))
    above = ndtr(rows.rows.low) + ndtr(rows.rows.high) > 1
    columns, warnings = _columns([({**among}, rows.kept)], above.astype(np.int64), named)
    groups = rows.groups.blocks() if isinstance(rows.groups, Windows) else rows.groups
    cluster = None if groups is None else np.unique(groups, return_inverse=True)[1]
    spread = None if isinstance(rows.forecast, Ordered) else rows.rows.log_spread
    common = {
        "p_value_all": Tested.of(rows.rows, rows.groups).gate.p_value,
        "dependence": rows.search,
        "warnings": [*warnings, *rows.notes],
        "form": rows.forecast.form,
        "median_spread": math.nan if spread is None else math.exp(float(np.median(spread))),
        **{"gain": None, "labels": (), "notes": Notes(), "_fit": None},
    }
    found = _groups(columns, [(None, PitModel(rows.rows, cluster))], most, seed, common)
    return replace(found, items=tuple(map(_of_numbers, found.items)))


def _of_numbers(group: FoundGroup) -> FoundGroup:
    """Give a width as a factor."""
    if group.error == "bias":
        return group
    effect, shrunken, *ends = np.exp([group.effect, group.effect_shrunken, *group.effect_interval]).tolist()
    return replace(group, error="width", effect=effect, effect_shrunken=shrunken, effect_interval=tuple(ends))


def _columns(parts: _Parts, truth: Ints, named: bool) -> tuple[list[Column], list[str]]:
    """Bin columns, which are let go of, and say what is to be known of them."""
    columns, warnings = list[Column](), list[str]()

    def read(name: str) -> tuple[list[Column], str]:
        made = [*columns_of_values(name, _taken(parts, name))]
        return made, _remark(made[0], truth, named)

    for made, remark in at_once(read, [*parts[0][0]], threads_for(len(truth))):
        columns += made if named or not remark else ()
        warnings += [f"column {made[0].name!r} {'' if named else 'is left out, as it '}{remark}"] if remark else []
    if not columns:
        raise InputError("among: no column is left to search; name some.")
    return columns, warnings


def _groups(
    columns: Sequence[Column],
    events: Sequence[tuple[Label | None, AnyModel]],
    most: int,
    seed: int,
    common: Mapping[str, Any],
    more: Callable[[Search, Sequence[Found]], Mapping[str, Any]] = lambda *_: {},
) -> Groups:
    """Search the rows of each event, by its class, beside a curve that all share.

    Parameters
    ----------
    columns, events, most, seed
        What is searched, and how.
    common : mapping
        What is known of the rows, by fields of `Groups`.
    more : callable
        Gives what else there is to say of what was found.
    """
    n, warnings = len(columns[0].codes), [*common["warnings"]]
    bare = [Column("", np.zeros(n), codes=np.zeros(n, np.uint8))] * (len(columns) == 1)
    search = Search([*columns, *bare], most, len(events), seed)
    found = [search.beside(curve, label, None) for label, curve in events]
    first, one = events[0][1].rows, len(events) == 1
    clusters = None if first.cluster is None else int(first.cluster.max()) + 1
    if clusters is not None and clusters < _CLUSTERS_KNOWN:
        warnings.append(f"few clusters ({clusters}) hardly show how their rows depend; p-values and intervals need 30")
    of_events = [
        (group, rule, label, of.common)
        for of, (label, _) in zip(found, events, strict=True)
        for group, rule in zip(of.groups, of.rules, strict=True)
    ]
    biased = [of for of in of_events if of[0].error == "bias"]  # a slope has no mean residual
    predicted, observed, interval = _of_all(found[0].common) if one else (math.nan, math.nan, (math.nan, math.nan))
    known = {
        "items": tuple(group for group, *_ in of_events),
        "p_value": min(of.p_value for of in found),
        "rules_searched": sum(of.chance.rules for of in found),
        "columns": tuple(column.name for column in columns),
        "detectable_bias": max(of.detectable for of in found),
        "mean_predicted": predicted,
        "observed": observed,
        "observed_interval": interval,
        "residuals": Residuals.of(columns, *max(biased, key=lambda of: of[0].cost)[1:]) if biased else None,
        "n_rows": n,
        "n_clusters": clusters,
        "seed": seed,
    }
    return Groups(**{**common, **known, "warnings": tuple(warnings), **more(search, found)})


def _of_all(common: AnyModel) -> tuple[float, float, tuple[float, float]]:
    """Return mean prediction and observed frequency of all rows, and the interval of the latter."""
    rows, (predicted, _, observed) = common.rows, common.means(False)
    interval = uncertain_mean(observed, rows.w, Dependence(rows.cluster)).interval(0.95)
    mean, frequency = (float(np.average(x, weights=rows.w)) for x in (predicted, observed))
    return mean, frequency, (max(interval.low, 0.0), min(interval.high, 1.0))


def _events(rows: GroupRows, view: str) -> list[_Event]:
    """Return the second of two classes, each of more, or the most probable one."""
    log_p, classes = np.asarray(rows.log_p, dtype=np.float64), len(rows.labels)
    top = classes > 2 and view == "top-label"
    return [
        _event(rows, log_p, label) for label in ([None] if top else rows.labels[-1:] if classes == 2 else rows.labels)
    ]


def _event(rows: GroupRows, log_p: Floats, label: Label | None) -> _Event:
    places, s = event_of(rows.labels, label, log_p, len(log_p))
    happened = (rows.truth == places).astype(np.float64)
    return _Event(label, SearchedRows.of(s, happened, rows.weight, rows.cluster), places)


def _curves(events: Sequence[_Event]) -> list[tuple[Label | None, AnyModel]]:
    """Give the curve that all rows of each event share, by its class."""
    return [(event.label, event.rows.model) for event in events]


def _corrected(
    rows: GroupRows, shared: State, events: Sequence[_Event], found: Sequence[Found], columns: Sequence[Column]
) -> GroupRows:
    """Map the rows by the map that all share, and correct the groups."""
    moved = shared.of_log_probabilities(rows.log_p)
    np.log(moved, out=moved)
    for event, of in zip(events, found, strict=True):
        moved[np.arange(len(moved)), event.places] += of.corrected(columns, event.rows.s)
    moved -= reduce(np.logaddexp, moved.T)[:, None]
    return replace(rows, log_p=moved)


def _settings(rows: GroupRows, seed: int) -> FitSettings:
    return FitSettings("auto" if len(rows.labels) == 2 else "logistic", False, None, seed)


def _map(rows: GroupRows, settings: FitSettings) -> Recalibrator:
    return Recalibrator(settings.method, seed=settings.seed).with_state(rows.state(settings))


_Maps = tuple[Recalibrator, Recalibrator, Floats]
"""The map that all rows share, that of rows of which groups were corrected, and the losses by both."""


def _maps(
    rows: GroupRows,
    settings: FitSettings,
    events: Sequence[_Event],
    found: Sequence[Found],
    columns: Sequence[Column],
) -> _Maps:
    shared = _map(rows, settings)
    corrected = _corrected(rows, shared.state, events, found, columns)
    after = _map(corrected, settings)
    return shared, after, _losses([rows, corrected], [shared.state, after.state])


def _without_groups(rows: GroupRows, settings: FitSettings) -> FoundGroupRecalibrator:
    return FoundGroupRecalibrator([], _map(rows, settings))


def _gain(
    rows: GroupRows, maps: Callable[[], _Maps], events: Sequence[_Event], found: Sequence[Found], search: Search
) -> Gain | None:
    """Measure the gain of correcting the groups, by searches without each fold."""

    def held_out(out: Bools) -> Floats:
        here, others = np.flatnonzero(out), np.flatnonzero(~out)
        of_events = _found_again(search, found, others)
        of_all, after, _ = maps()
        shared = rows.some(others).refitted(of_all.state)
        moved = _corrected(rows, shared, events, of_events, search.columns)
        return _losses([rows.some(here), moved.some(here)], [shared, moved.some(others).refitted(after.state)])

    gained = cross_fitted(rows, search.seed, held_out, lambda: maps()[2])
    return None if gained is None else gained[0]


def _found_again(search: Search, found: Sequence[Found], rows: Ints) -> list[Found]:
    """Search some of the rows, of which nothing is kept."""
    some = replace(search, columns=[column.at(rows) for column in search.columns])
    return [some.beside(of.common.at(rows), None, of.chance)._replace(common=of.common) for of in found]


def _losses(each: Sequence[GroupRows], states: Sequence[State]) -> Floats:
    """Return losses of rows by the shared map, and of the same rows with the groups corrected by theirs."""
    at, both = (np.arange(each[0].truth.size), each[0].truth), zip(each, states, strict=True)
    return -np.log([state.of_log_probabilities(rows.log_p)[at] for rows, state in both])


_Parts = list[tuple[dict[str, NDArray[Any]], Ints]]
"""Columns of parts of the rows, and which of them are kept."""


def _gathered(stream: _Rows) -> tuple[GroupRows, _Parts, Notes]:
    """Read rows of positive weight, all of one group, and the columns among which groups are searched."""
    parts: _Parts = []
    notes = [Notes()]

    def without_columns() -> Iterator[tuple[Forecasts, Any]]:
        for forecasts, among in stream:
            given, blocks = columns_among(among, forecasts.n_rows), _places(forecasts, notes)
            parts.append((given, np.concatenate([np.zeros(0, np.int64), *blocks])))
            yield forecasts, np.zeros(forecasts.n_rows, np.int64)

    return gathered_groups(without_columns()), parts, sum(notes, start=Notes())


def _places(forecasts: Forecasts, notes: list[Notes]) -> Iterator[Ints]:
    """Yield places of the rows of positive weight, and note what is to be known of them."""
    for block in forecasts.blocks():
        notes.append(block.notes)
        yield np.searchsorted(forecasts.index, block.weighing.index)


def _taken(parts: _Parts, name: str) -> NDArray[Any]:
    """Take a column of all rows out of its parts, which let go of it."""
    both = ((given.pop(name), places) for given, places in parts)
    kept = [values if len(places) == len(values) else values[places] for values, places in both]
    return kept[0] if len(kept) == 1 else np.concatenate(kept)


def columns_among(among: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return columns as arrays, by name: each has a value for every row."""
    columns = arrays_among(among, n_rows)
    if len(columns) > MOST_COLUMNS:
        raise InputError(f"among: {len(columns)} columns; at most {MOST_COLUMNS} are searched. Choose among them.")
    return columns


def _remark(column: Column, truth: Ints, named: bool) -> str:
    """Say what is to be known of a column: that no rule asks for it, or that it tells the outcome; "" for nothing.

    Parameters
    ----------
    column : Column
    truth : array of int, shape (n,)
        Class of each row.
    named : bool
        Whether the column was named.

    Raises
    ------
    InputError
        For a column that was named and holds the outcomes.
    """
    there, tells = ~np.isnan(column.values), "alone orders the outcomes (AUC above 0.99)"
    if not there.all() and _auc(there.astype(np.int64), truth == truth.max(), ordered=True) > _TELLS:
        return f"{tells} by where it is missing. A column that is known only afterwards names useless groups"
    values, observed = column.values[there], truth[there]
    if not values.size:
        return "is missing in all rows, so that no rule asks for it"
    numbers, happened, most = column.categories is None, observed == truth.max(), int(truth.max()) + 1
    bins = column.codes[there]
    fractional = numbers and np.count_nonzero(np.bincount(bins)) > most and (values != np.floor(values)).any()
    if fractional and _auc(bins, happened, ordered=True, ties=1.0) <= _TELLS:
        return ""
    distinct, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    if distinct.size <= most and np.unique(number * most + observed).size == distinct.size == np.unique(truth).size > 1:
        if not named:
            return "holds the outcomes"
        raise InputError(f"among: column {column.name!r} holds the outcomes. Leave it out.")
    if not numbers and counts.max() < max(LEAST_ROWS, LEAST_SHARE * truth.size):
        many = f"holds {distinct.size:,} different values, each in fewer than {LEAST_ROWS} rows or 1% of them"
        dates = all(map(_DATE.match, column.categories or [""]))
        periods, words = f"periods (--among {column.name}:quarter)", "groups of them, such as by a word that they hold"
        return f"{many}, so that no rule asks for one. Make {periods if dates else words}"
    if (numbers or distinct.size * LEAST_ROWS < truth.size) and _auc(number, happened, ordered=numbers) > _TELLS:
        return f"{tells}. A column that is known only afterwards names useless groups"
    if numbers and not column.date and distinct.size == truth.size and (distinct == np.floor(distinct)).all():
        return "has another number in each row, as identifiers have; a rule can only ask for ranges of them"
    return "has the same value in all rows, so that no rule asks for it" if distinct.size == 1 and there.all() else ""


def _auc(number: NDArray[Any], happened: Bools, *, ordered: bool, ties: float = 0.5) -> float:
    """Return the AUC of numbered values, in their order or, unless they are ordered, by how often it happened.

    Where each pair of equal ones counts as a whole one (``ties=1``) it is at least what it would be without any.
    """
    positive = np.bincount(number, happened)
    negative = np.bincount(number) - positive
    order = np.arange(positive.size) if ordered else np.argsort(positive / (positive + negative))
    below, pairs = np.cumsum(negative[order]) - negative[order] / 2, max(float(positive.sum() * negative.sum()), 1.0)
    auc, tied = float(positive[order] @ below) / pairs, float(positive @ negative) / pairs
    return max(auc, 1 - auc) + (ties - 0.5) * tied if positive.any() and negative.any() else 0.0
