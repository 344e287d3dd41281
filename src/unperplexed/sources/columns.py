"""Which columns hold what: as named, or as only one choice is possible."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, listed
from .derived_columns import HOW, Derived, derived
from .readers import Source, Wanted
from .row_filter import ALL_ROWS, RowFilter

_TRUTH_NAMES = ("truth", "y_true", "y", "outcome", "label", "labels", "target", "ground_truth", "happened")
_PROB_NAMES = (
    "prob",
    "y_prob",
    "probability",
    "probs",
    "probabilities",
    "p",
    "predictions",
    "y_proba",
    "forecast",
)


class Selection(Frozen):
    """Which columns (of an NPZ file: arrays) hold what. Empty where the file may tell."""

    truth: Sequence[str] = ()
    """The outcome's column, or one-hot columns."""
    prob: Sequence[str] = ()
    """Probability columns, each plain or as label=column; p_* stands for several."""
    pairs: Sequence[str] = ()
    """Several binary forecasts a row, each as probability=outcome; * in both stands for the same."""
    weight: str | None = None
    clusters: Sequence[str] = ()
    """Columns of the clusters, also as COLUMN:HOW: rows with the same values in all of them."""
    keys: Sequence[str] = ()
    """Columns to be given along with the forecasts: ids, or what rows are counted apart by, also as COLUMN:HOW."""
    rivals: Sequence[Sequence[str]] = ()
    """Instead of one forecast a row several of the same outcome: the probability columns of each."""
    named: str | None = None
    """One of the keys that may be empty in no row, since it names the forecaster."""
    where: RowFilter = ALL_ROWS
    """Which rows are read."""
    outcomes: bool = True
    """Whether rows have outcomes; else only predictions are read, and each row counts as one of the first class."""
    found: bool = False
    """Whether clusters were found, not declared: rows without a value are then one."""
    block: int | None = None
    """How many successive rows are a cluster, where the order of the rows says so."""

    @property
    def clustered(self) -> bool:
        """Whether rows are in clusters."""
        return bool(self.clusters) or self.block is not None


BLOCK = "\nblock"
"""Name of the column of blocks, which no file has."""

PAIR, PROB, OUTCOME = OF_PAIRS = ("pair", "prob", "outcome")
"""What groups and conditions call each of several binary forecasts of a row, its probability and its outcome."""

ROW = "row of the file"
"""What several forecasts of a row have in common."""


class Plan(Frozen):
    """One forecast of each row: its columns, and the labels they were given."""

    truth: tuple[str, ...]
    prob: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    pos_label: str | None = None
    at_star: tuple[str, ...] = ()
    """What * stood for in the name of each probability column, where patterns found them."""


class Plans(Frozen):
    """Every forecast of a row, and what goes with all of them."""

    forecasts: list[Plan]
    weight: str | None
    clusters: Sequence[Derived]
    keys: Sequence[Derived] = ()
    where: RowFilter = ALL_ROWS
    found: bool = False
    block: int | None = None
    named: str | None = None
    """As in the selection."""
    paired: bool = False
    """Whether they are binary forecasts, each with an outcome of its own."""

    @property
    def made(self) -> list[Derived]:
        """The clusters and the keys."""
        return [*self.clusters, *self.keys]

    @property
    def wanted(self) -> Wanted:
        """The columns to read."""
        one_hot = [name for plan in self.forecasts if len(plan.truth) > 1 for name in plan.truth]
        raw = [*self.outcomes, *(each.column for each in self.made), *self.where.columns]
        return Wanted(
            [plan.prob for plan in self.forecasts],
            one_hot + ([] if self.weight is None else [self.weight]),
            [name for name in raw if not (self.paired and name in (*OF_PAIRS, ROW))],
        )

    @property
    def outcomes(self) -> list[str]:
        """Outcome columns that hold labels."""
        return list(dict.fromkeys(plan.truth[0] for plan in self.forecasts if len(plan.truth) == 1))


def plans(selection: Selection, file: Source, labelled: bool) -> tuple[Plans, list[str]]:
    """Settle the columns; also give the sentences that say which were chosen unasked.

    labelled: whether class labels are given besides, so that they cannot be given with the columns.
    """
    clusters, keys = _made(selection.clusters, file), _made(selection.keys, file)
    beside = (selection.weight, clusters, keys, selection.where, selection.found, selection.block, selection.named)
    used = dict.fromkeys([selection.weight, *(each.column for each in (*clusters, *keys))])
    _refuse_joined([key.column for key in keys], file)
    own = _own_of_pairs(selection, [*used], file) if selection.pairs else ()
    for quoted in selection.where.columns:
        if f'"{quoted}"' in selection.where.text and quoted not in [*file.names, *OF_PAIRS]:
            raise InputError(f"--where: no column {quoted!r}; a text takes single quotes, '{quoted}'.")
    for name in [*used, *selection.where.columns]:
        if name is not None and name not in own:
            check_column(name, file)
    _refuse_twice(selection.clusters)
    _refuse_twice(selection.keys)
    if not selection.outcomes:
        plan, messages = probability_columns(selection.prob, file, labelled)
        return _checked(Plans([plan], *beside)), messages
    if selection.pairs:
        if selection.truth or selection.prob:
            raise InputError("--pair names both columns; leave out --truth and --prob.")
        pairs, messages = _pairs(selection.pairs, file)
        if own and len({plan.prob for plan in pairs}) < len(pairs):
            raise InputError("--pair: name each probability column once.")
        return _checked(Plans(pairs, *beside, paired=True)), messages
    truth, prob, messages = list(selection.truth), _matched(selection.prob, file), []
    rivals = [_matched(columns, file) for columns in selection.rivals]
    named = [*prob, *(each for rival in rivals for each in rival)]
    taken = {*truth, *(each.name for each in named), *used}
    if not truth:
        truth = [_only_choice("truth", "outcome", file, taken, _TRUTH_NAMES, _may_be_truth)]
        messages.append(f"outcomes from {truth[0]!r}")
    if not named:
        chosen = _only_choice("prob", "probability", file, {*taken, *truth}, _PROB_NAMES, _may_be_prob)
        prob = [_Column(chosen)]
        messages.append(f"probabilities from {chosen!r}")
    if rivals:
        forecasts = [_rival(truth, columns, file, labelled) for columns in rivals]
    else:
        forecasts = [_plan(truth, prob, file, labelled)]
    return _checked(Plans(forecasts, *beside)), messages


def _made(texts: Sequence[str], file: Source) -> tuple[Derived, ...]:
    """Read COLUMN or COLUMN:HOW; a column of the very name comes first."""
    return tuple(Derived(text) if text in file.names else derived(text) for text in texts)


def probability_columns(prob: Sequence[str], file: Source, labelled: bool) -> tuple[Plan, list[str]]:
    """Settle the probability columns of rows without outcomes; also give the sentences that say which were chosen."""
    if prob:
        return _plan((), _matched(prob, file), file, labelled), []
    chosen = _only_choice("prob", "probability", file, set(), _PROB_NAMES, _may_be_prob)
    return _plan((), [_Column(chosen)], file, labelled), [f"probabilities from {chosen!r}"]


class _Column(NamedTuple):
    """A probability column: its name, the label it was given, and what * stood for in the pattern that found it."""

    name: str
    label: str | None = None
    at_star: str | None = None


def _matched(prob: Sequence[str], file: Source) -> list[_Column]:
    """Put the columns that a pattern such as ``p_*`` matches in its place, in the file's order."""
    found = []
    for text in prob:
        if text in file.names or text.count("*") != 1:
            found.append(_labelled(text, file))
            continue
        names = _like(text, file)
        if not names:
            raise InputError(f"no column matches {text!r}; columns: {listed(file.names, 20)}.")
        found += names
    return found


def _like(pattern: str, file: Source) -> list[_Column]:
    """Find the columns that a pattern with one * matches."""
    before, after = pattern.split("*")
    length = len(before) + len(after)
    names = [each for each in file.names if each.startswith(before) and each.endswith(after) and len(each) > length]
    return [_Column(name, at_star=name[len(before) : len(name) - len(after)]) for name in names]


def _checked(found: Plans) -> Plans:
    """Refuse keys that are read as numbers: each probability would be one."""
    wanted = found.wanted
    numbers = {*wanted.numbers, *(name for names in wanted.probabilities for name in names)}
    both = [key.column for key in found.keys if key.column in numbers]
    if both:
        raise InputError(f"column {both[0]!r} is read as probabilities, weights or one-hot outcomes; it can be no key.")
    return found


def _rival(truth: Sequence[str], columns: Sequence[_Column], file: Source, labelled: bool) -> Plan:
    """One of several forecasts of an outcome: one-hot columns name its classes, as probability columns cannot."""
    plan = _plan(truth, columns, file, labelled)
    return replace(plan, labels=tuple(truth)) if len(truth) > 1 and not labelled else plan


def _plan(truth: Sequence[str], prob: Sequence[_Column], file: Source, labelled: bool) -> Plan:
    columns = [check_column(each.name, file) for each in prob]
    for names in (columns, [check_column(name, file) for name in truth]):
        _refuse_twice(names)
    both = set(truth) & set(columns)
    if both:
        raise InputError(f"column {min(both)!r} is named as outcome and as probability.")
    given = tuple(each.label for each in prob if each.label is not None)
    at_star = tuple(each.at_star for each in prob if each.at_star is not None)
    if given and len(given) < len(columns):
        raise InputError("--prob: give each column a label (label=column), or none.")
    if given and labelled:
        raise InputError("--labels: the labels are already named with --prob label=column.")
    if len(columns) == 1 and given:
        return Plan(tuple(truth), tuple(columns), None, given[0])
    return Plan(tuple(truth), tuple(columns), given or None, at_star=at_star if len(at_star) == len(columns) else ())


def _refuse_twice(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"column {twice[0]!r} is named twice.")


def _refuse_joined(names: Sequence[str], file: Source) -> None:
    """Refuse keys that are several columns with commas between."""
    for name in names:
        several = _made(name.split(","), file)
        if name not in file.names and several[1:] and all(each.column in file.names for each in several):
            raise InputError(
                f"no column {name!r}; for groups by {'both' if len(several) == 2 else 'all'} name them apart:"
                f" --by {name.replace(',', ' ')}."
            )


def _own_of_pairs(selection: Selection, used: Sequence[str | None], file: Source) -> list[str]:
    """Find the names in use that each pair has a column of its own for, which the file may not have too."""
    where = selection.where.columns
    own = [name for name in (PAIR, ROW) if name in used] + [name for name in OF_PAIRS if name in where]
    if both := [name for name in own if name in file.names]:
        raise InputError(f"column {both[0]!r}: with --pair this names what each pair has. Rename the file's column.")
    return own


def _pairs(texts: Sequence[str], file: Source) -> tuple[list[Plan], list[str]]:
    """Several binary forecasts a row; also give the sentences that say which were found by a pattern."""
    pairs, messages = [], []
    for text in texts:
        splits = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "="]
        if not splits:
            raise InputError(f"--pair {text}: expected PROBABILITY=OUTCOME, two column names.")
        known = [(prob, truth) for prob, truth in splits if prob in file.names and truth in file.names]
        found = known[:1] or [each for prob, truth in splits for each in _pairs_like(prob, truth, file)]
        if "*" in text and not found:
            raise InputError(f"--pair {text}: matches no two columns; columns: {listed(file.names, 20)}.")
        if found != known[:1]:
            messages.append(f"pairs by {text!r}: {listed([prob for prob, _ in found], 20)}")
        pairs += [(check_column(prob, file), check_column(truth, file)) for prob, truth in found or splits[:1]]
    if len(set(pairs)) < len(pairs) or any(prob == truth for prob, truth in pairs):
        raise InputError("--pair: a pair is named twice, or a column as both probability and outcome.")
    return [Plan((truth,), (prob,)) for prob, truth in pairs], messages


def _pairs_like(prob: str, truth: str, file: Source) -> list[tuple[str, str]]:
    """Find the pairs of columns in whose names * stands for the same."""
    if prob.count("*") != 1 or truth.count("*") != 1:
        return []
    pairs = [(each.name, truth.replace("*", str(each.at_star))) for each in _like(prob, file)]
    return [(name, outcome) for name, outcome in pairs if outcome in file.names]


def _may_be_truth(shape: tuple[int, ...], kind: str) -> bool:
    return len(shape) == 1 and kind in "iubUS"


def _may_be_prob(shape: tuple[int, ...], kind: str) -> bool:
    return len(shape) == 2 and kind == "f"


def _only_choice(
    option: str,
    what: str,
    file: Source,
    taken: set[str | None],
    usual: Sequence[str],
    possible: Callable[[tuple[int, ...], str], bool],
) -> str:
    """Name the one column that can be meant: by its array's shape where the file tells shapes, by a usual name else."""
    if file.shapes:
        choices = [name for name, (shape, kind) in file.shapes.items() if name not in taken and possible(shape, kind)]
    else:
        choices = [name for name in file.names if name not in taken and name.lower() in usual]
    named = [name for name in choices if name.lower() in usual]
    if len(choices) == 1 or len(named) == 1:
        return (named or choices)[0]
    found = f"could be {', '.join(map(repr, choices))}" if choices else "none of them is plainly it"
    other = "a hub's file: --hub" if "output_type" in file.names else "--samples, --quantiles or --distribution"
    numbers = f" (distributions of a number: {other})" if option == "prob" else ""
    if file.shapes and option == "truth":
        numbers = ", also a file of its own: --truth labels.npy"
    error = InputError(
        f"which column holds the {what}? Say so with --{option}{numbers}; {found}. Columns: {listed(file.names, 20)}."
    )
    error.no_outcomes = option == "truth" and not choices
    raise error


def check_column(name: str, file: Source) -> str:
    """Refuse a column that the file does not have."""
    if name in file.names:
        return name
    near = _near(name, file)
    hint = f"did you mean {' or '.join(map(repr, near))}? Columns" if near else "columns"
    raise InputError(f"no column {name!r}; {hint}: {listed(file.names, 20)}.")


def _near(name: str, file: Source) -> list[str]:
    """Give what a name that the file does not have may be meant for."""
    column, _, how = name.rpartition(":")
    if column in file.names:
        return [f"{column}:{each}" for each in difflib.get_close_matches(how, HOW, 3)]
    if name in HOW:
        dates = [] if Derived("", name).needs_all else [each for each in file.names if "date" in each.lower()]
        return [f"{each}:{name}" for each in dates or ["COLUMN"]]
    lower = {other.lower(): other for other in file.names}
    return [lower[match] for match in difflib.get_close_matches(name.lower(), lower, 3)]


def _labelled(text: str, file: Source) -> _Column:
    """Read "label=column", or a plain column; a column's own name may contain the sign."""
    if text in file.names or "=" not in text:
        return _Column(text)
    for at, sign in enumerate(text):
        if sign == "=" and text[at + 1 :] in file.names:
            return _Column(text[at + 1 :], text[:at])
    label, _, column = text.partition("=")
    return _Column(column, label)
