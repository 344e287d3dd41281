"""The forms of logs: each module of this folder lists those that it reads in ``FORMS``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from ..._lib.dataclasses import Frozen, dataclass, field
from ..items import Item, Remarks

Record = dict[str, Any]


@dataclass
class RightAnswers:
    """The options and the right answer of each question, by name, and what was found of them."""

    options: dict[str, tuple[str, ...]]
    right: dict[str, str]
    outside: dict[str, float] = field(default_factory=dict)
    """Probability outside the options of each question that was answered; NaN where none is named."""


@dataclass
class Log:
    """The file that is read, and what is found in it."""

    path: Path
    remarks: Remarks = field(default_factory=Remarks)
    stated: str = ""
    """Where a stated confidence is, such as ``metadata.confidence``; "" for nowhere."""
    scale: float | None = None
    """Highest value of a stated confidence that is a bare number."""
    answer: str = ""
    """Where the answer itself is, such as ``answer`` or ``output.completion``; "" where it is not asked for."""
    truth: RightAnswers | None = None
    """Right answers, by which answers of a server are questions with options."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What a form keeps from one record to the next."""


class Form(Frozen):
    """A form of logs: how its records are recognised, and the items that each has."""

    name: str
    what: str
    recognizes: Callable[[Record], bool]
    items: Callable[[Record, str, Log], Iterator[Item]]
    """Of a record, with a name for it: its place in the file."""
    rank: int = 1


@cache
def forms() -> dict[str, Form]:
    """Find the forms by name, those that are recognised by more first."""
    modules = (import_module(f".{module.name}", __name__) for module in iter_modules([str(Path(__file__).parent)]))
    found: list[Form] = [each for module in modules for each in getattr(module, "FORMS", ())]
    return {each.name: each for each in sorted(found, key=lambda each: (each.rank, each.name))}
