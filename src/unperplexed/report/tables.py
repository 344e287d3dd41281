"""Parts of documents that many results have: estimates with intervals, and how figures came about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .._lib.typing import Floats
from .document import Block, Code, Column, Notes, Prose, Python, Section, Settings
from .numbers import between, number, share

Form = Callable[[float], str]
"""How a number is written."""


def ci(level: str, interval: tuple[float, float], form: Form = number) -> str:
    """Give an interval with its name: "95% CI 0.51 to 0.54"; "" where it has no limits."""
    limits = between(*interval, form)
    return f"{level} {limits}" if limits else ""


def aside(*parts: str) -> str:
    """Give what is known in brackets, behind a blank: " (95% CI 0.51 to 0.54, p = 0.012)"; "" without any."""
    known = ", ".join(filter(None, parts))
    return f" ({known})" if known else ""


def noted(heading: str, shown: Iterable[tuple[str, str]], *, meaning: str = "", detail: bool = False) -> Column:
    """Make a column of values, each with what stands in small type behind it.

    Parameters
    ----------
    heading : str
        Heading of the column.
    shown : iterable of (str, str)
        Each value, and what stands behind it.
    meaning : str, default ""
        Definition of the heading.
    detail : bool, default False
        Whether short forms leave the column out.

    Returns
    -------
    Column
    """
    pairs = [*shown]
    return Column(heading, [value for value, _ in pairs], [note for _, note in pairs], meaning=meaning, detail=detail)


def estimates(
    heading: str,
    found: Iterable[tuple[float, tuple[float, float]]],
    form: Form = number,
    *,
    meaning: str = "",
    detail: bool = False,
) -> Column:
    """Make a column of estimates with their intervals.

    Parameters
    ----------
    heading : str
        Heading of the column.
    found : iterable of (float, (float, float))
        Each value with its interval, whose ends are NaN where it has none.
    form : callable from float to str, default `number`
        How values are written. Limits are written so too if it is `share`, else as numbers.
    meaning : str, default ""
        Definition of the heading.
    detail : bool, default False
        Whether short forms leave the column out.

    Returns
    -------
    Column
    """
    limits = share if form is share else number
    shown = [(form(value), between(*interval, limits)) for value, interval in found]
    return noted(heading, shown, meaning=meaning, detail=detail)


def curve_estimates(heading: str, values: Floats, low: Floats, high: Floats, form: Form = number) -> Column:
    """Make a column of estimates from arrays, those of the values and of both ends of their intervals.

    Parameters
    ----------
    heading : str
        Heading of the column.
    values, low, high : array of shape (n,)
        Values, and lower and upper ends of their intervals; NaN where there are none.
    form : callable from float to str, default `number`
        As in `estimates`.

    Returns
    -------
    Column
    """
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return estimates(heading, zip(values.tolist(), ends, strict=True), form)


def how(settings: str, notes: Mapping[str, Sequence[str]], command: str) -> Section:
    """Return the section of a page that says how its figures were computed.

    Parameters
    ----------
    settings : str
        Settings, in a sentence.
    notes : mapping from str to sequence of str
        Remarks by their titles, such as "Warnings"; a title without remarks is left out.
    command : str
        Command that makes the same report; "" where it is not known.

    Returns
    -------
    Section
    """
    again = [Code(command, "Make this report again")] if command else []
    blocks: list[Block] = [Prose(settings, quiet=True), *_titled(notes), *again]
    return Section("how", "How this was computed", blocks, "Settings")


def reproduce(
    command: str,
    python: Python,
    settings: Iterable[tuple[str, str]],
    notes: Mapping[str, Sequence[str]],
    *,
    halved: bool = True,
) -> Section:
    """Return the section of a page that says how the same result is made again.

    Parameters
    ----------
    command : str
        Command that makes the same report; "" where it is not known.
    python : Python
        The same in Python.
    settings : iterable of (str, str)
        Names and values of the settings.
    notes : mapping from str to sequence of str
        Remarks by their titles, such as "Warnings"; a title without remarks is left out.
    halved : bool, default True
        Whether code stands beside everything else on a wide screen.

    Returns
    -------
    Section
    """
    commands = [Code(command, "Command")] if command else []
    blocks: list[Block] = [*commands, Code(python, "From Python"), Settings([*settings]), *_titled(notes)]
    return Section("reproduce", "Reproduce", blocks, "Reproduce", halved=halved)


def _titled(notes: Mapping[str, Sequence[str]]) -> list[Notes]:
    return [Notes(title, lines) for title, lines in notes.items() if lines]
