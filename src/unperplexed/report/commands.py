"""Commands in lines that can be copied into a shell, as text and pages show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .document import Action


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
