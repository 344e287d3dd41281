"""A document: what a result says, in words, tables and charts, whatever shows it. It knows no result.

A result's `describe` module makes a `Document`; `html` makes a page of one. All texts are plain: names from outside are
escaped by what shows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack, overload

from .._lib.dataclasses import Frozen, replace
from .._lib.formatting import capital
from .chart import Chart, Role

LONGEST_NAME = 200
"""Characters of a name from outside in a title or a table; longer ones are cut in their middle."""


class Strip(NamedTuple):
    """Two values and an interval on one line, as places from 0 to 1: predicted, observed and its confidence limits."""

    predicted: float
    observed: float
    low: float
    high: float


class Column(Frozen):
    """A column of a table. The first column of a table names its rows."""

    heading: str
    values: Sequence[str]
    notes: Sequence[str] = ()
    """Stands in small type behind each value, such as a confidence interval."""
    words: bool = False
    """Whether values are words, which are set to the left."""
    meaning: str = ""
    """Definition of the heading, shown on demand."""
    meanings: Sequence[str] = ()
    """Definition of each value of the first column."""
    strips: Sequence[Strip] = ()
    """Drawn instead of the values."""
    detail: bool = False
    """Whether it is left out of a short form, such as text or a card."""


class Lazily(Sequence[str]):
    """Values of a column that are made when they are shown."""

    def __init__(self, of: Sequence[Any], value: Callable[[Any], str]) -> None:
        self._of, self._value = of, value

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """Make a value, or some."""
        return list(map(self._value, self._of[at])) if isinstance(at, slice) else self._value(self._of[at])

    def __len__(self) -> int:
        """Count the values."""
        return len(self._of)


class TableOptions(TypedDict, total=False):
    """Attributes of a `Table` other than its caption and columns."""

    sortable: bool
    folded: bool
    brief: int
    notes: str


class Table(Frozen):
    """A table: columns of equal length."""

    caption: str
    columns: Sequence[Column]
    sortable: bool = False
    folded: bool = False
    """Whether it is shown on demand, under its caption."""
    brief: int = 20
    """Rows that a short form shows; it says how many more there are."""
    notes: str = ""
    """What the notes behind its values are, such as "95% CI"."""

    @classmethod
    def of(cls, caption: str, *columns: Column, **options: Unpack[TableOptions]) -> Table:
        """Make a table of its columns, with the other attributes by their names."""
        return cls(caption, columns, **options)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)

    def short(self) -> Table:
        """Return what a short form shows of it."""
        return replace(self, columns=[each for each in self.columns if not each.detail], sortable=False, folded=False)


class Prose(Frozen):
    """A paragraph."""

    text: str
    quiet: bool = False


class Code(Frozen):
    """A command or lines of Python, to copy."""

    text: str
    label: str


class Settings(Frozen):
    """Names and values, one pair a line."""

    items: Sequence[tuple[str, str]]
    title: str = "Settings"


class Notes(Frozen):
    """A list of remarks under a title of its own, such as warnings."""

    title: str
    lines: Sequence[str]


class Folded(Frozen):
    """Blocks that are shown on demand, under a title; short forms leave them out."""

    title: str
    blocks: Sequence[Block]


class SmallCharts(Frozen):
    """Charts without ticks beside one another, each with its title."""

    charts: Sequence[Chart]


Block = Table | Prose | Code | Settings | Notes | Folded | Chart | SmallCharts


class Section(Frozen):
    """A part of a document under a title."""

    id: str
    title: str
    blocks: Sequence[Block]
    link: str = ""
    """What the section is called in the list of sections; "" for a section that is not listed."""
    width: int = 12
    """Columns out of twelve that it takes on a wide screen."""
    halved: bool = False
    """Whether its code stands beside everything else on a wide screen."""


class Reading(Frozen):
    """A value of one forecaster, for a metric that compares several."""

    name: str
    value: str
    interval: str
    role: Role | None = None
    """Role of the forecaster's curve, whose colour its name then has."""


class Metric(Frozen):
    """A key figure: its value with a confidence interval and what to compare it with, or one value a forecaster."""

    name: str
    meaning: str
    value: str = ""
    interval: str = ""
    after: str = ""
    """Its value after the remedy."""
    reference: str = ""
    better: str = ""
    """Which values are better: "larger" or "smaller"."""
    best: str = ""
    """The value that is best, where neither is: "1"."""
    readings: Sequence[Reading] = ()


def metrics_table(metrics: Sequence[Metric], intervals: str = "95% CI") -> Table:
    """Give key figures as a table, one a row; where they compare forecasters, one a column."""
    notes = ""
    if metrics[0].readings:
        names = [each.name for each in metrics[0].readings]
        found = [{each.name: each.value for each in metric.readings} for metric in metrics]
        values = [[of.get(name, "") for name in names] for of in found]
        columns = [Column(metric.name, column) for metric, column in zip(metrics, values, strict=True)]
    else:
        names = [each.name for each in metrics]
        columns = [
            Column("value", [each.value for each in metrics], [each.interval for each in metrics]),
            Column("after remedy", [each.after for each in metrics]),
            Column("reference", [each.reference for each in metrics], words=True),
        ]
        notes = intervals if any(each.interval for each in metrics) else ""
    shown = [Column("", names), *(column for column in columns if any(column.values))]
    return Table(_better(metrics), shown, notes=notes)


def _better(metrics: Sequence[Metric]) -> str:
    """Say which values are better: "Smaller is better; for AUC and accuracy, larger."."""
    by_direction: dict[str, list[str]] = {}
    for each in metrics:
        if each.better:
            by_direction.setdefault(each.better, []).append(inside(each.name))
    first, *others = sorted(by_direction, key=lambda way: -len(by_direction[way])) or [""]
    apart = "".join(f"; for {listed(by_direction[way])}, {way}" for way in others)
    return f"{capital(first)} is better{apart}." if first else ""


def inside(name: str) -> str:
    """Write a name as inside a sentence: "Accuracy" as "accuracy", but "AUC" and "Brier score" as they are."""
    return name if name[1:2].isupper() or name.startswith("Brier") else f"{name[:1].lower()}{name[1:]}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """List names, with a word before the last one: "AUC, accuracy and gain"."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class Action(Frozen):
    """A consequence, or what to do about it."""

    title: str
    text: str
    label: str = ""
    """Title in one word of at most seven letters."""


class Document(Frozen):
    """What a result says. The conclusion comes first, then cost and remedy, the chart and the key figures, details."""

    title: str
    """Title of the page, in one line."""
    facts: str = ""
    """What was assessed, in one line."""
    headline: str = ""
    lead: str = ""
    calm: bool = False
    """Whether nothing was found that calls for action."""
    actions: Sequence[Action] = ()
    command: Code | None = None
    """What applies the remedy."""
    further: Action | None = None
    """Where to read more about the conclusion and its remedy."""
    figure: Chart | None = None
    figure_table: Table | None = None
    """The same as numbers."""
    metrics: Sequence[Metric] = ()
    intervals: str = "95% CI"
    """What the intervals of the key figures are."""
    first: Section | None = None
    """The section that belongs to the conclusion, such as the findings."""
    sections: Sequence[Section] = ()
    summary: Sequence[Block] = ()
    """The little that a short form, such as text or a card, shows behind the key figures."""
    remarks: Sequence[str] = ()
    """What else is known about the conclusion."""
    settings: str = ""
    """How the figures were computed, in one sentence."""
    more: str = ""
    """Where a short form is continued."""
    warnings: Sequence[str] = ()


class Python(str):
    """Lines of Python; other code is commands for a shell."""

    __slots__ = ()


def command_lines(code: str, columns: int, indent: str = "") -> Iterator[str]:
    """Give commands in lines of so many columns, long ones continued by a backslash; lines of `Python` as they are.

    Examples
    --------
    >>> print(*command_lines("unperplexed recalibrate rain.csv --prob p_rain -o map.json", 40), sep="\\n")
    unperplexed recalibrate rain.csv \\
        --prob p_rain -o map.json
    """
    for line in code.split("\n"):
        if isinstance(code, Python) or len(indent + line) <= columns:
            yield f"{indent}{line}"
            continue
        shown = ""
        for phrase in _phrases(line, columns - len(indent) - 6):
            if shown and len(f"{indent}{shown} {phrase} \\") > columns:
                yield f"{indent}{shown} \\"
                shown = f"    {phrase}"
            else:
                shown = f"{shown} {phrase}" if shown else phrase
        yield f"{indent}{shown}"


def lookup(terms: Iterable[str]) -> Action | None:
    """Name the command that explains terms; None without any.

    Examples
    --------
    >>> lookup(["overconfident", "biased", "biased"]).text
    'unperplexed explain overconfident biased'
    """
    named = " ".join(dict.fromkeys(terms))
    return Action("More", f"unperplexed explain {named}", "More") if named else None


_WORD = re.compile(r"""(?:\$'(?:[^'\\]|\\.)*'|'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\]|['"\\])+""")
"""A word of a command as it is quoted."""


def _phrases(command: str, longest: int) -> Iterator[str]:
    """Split a command before its options, so that each stays with its values, unless that is too long."""
    phrase: list[str] = []
    for word in _WORD.findall(command):
        option = word.startswith("-") and len(word) > 1
        if phrase and (option or len(" ".join([*phrase, word])) > longest):
            yield " ".join(phrase)
            phrase = []
        phrase.append(word)
    yield " ".join(phrase)
