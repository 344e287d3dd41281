"""What an exhibit is: one figure or table of a paper, made anew, and what its print says beside what comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

EXACT = "exact integral"
FORMULA = "formula"
DEFINITION = "definition"

Report = Callable[[], object]
"""Called after each step of what takes long."""


@dataclass(frozen=True)
class Line:
    """One figure or several of a kind: what the print says, what comes out here, and how."""

    what: str
    printed: str | Sequence[str]
    """As printed; empty where the print has no figure."""
    ours: str | float | Sequence[float | str]
    """Empty where the print's figures are shown alone."""
    how: str
    error: float | Sequence[float] = ()
    """Standard errors of a simulation."""
    digits: int = 4
    value: float | Sequence[float] = ()
    """Where a formula or a claim in words is printed, what that comes to."""
    again: bool = False
    """Another reading of a number that a line before has, or no reading of it: the overview does not count it."""

    @property
    def differences(self) -> list[float | None]:
        """Ours less the printed ones; None where either is no number."""
        n = len(self.values)
        if self.ours == "":
            return []
        printed: Sequence[str | float] = [self.printed] * n if isinstance(self.printed, str) else self.printed
        if self.expected:
            printed = self.expected
        return [_less(*each) for each in zip(self.values, printed, strict=True)]

    @property
    def expected(self) -> list[float]:
        """What a printed formula comes to, as a list."""
        return [float(self.value)] if isinstance(self.value, float | int) else [float(x) for x in self.value]

    @property
    def values(self) -> list[float | str]:
        """Ours, as a list."""
        return [self.ours] if isinstance(self.ours, str | float) else list(self.ours)

    @property
    def errors(self) -> list[float]:
        """Standard errors, as a list."""
        return [self.error] if isinstance(self.error, float) else list(self.error)


def _less(ours: float | str, printed: str | float) -> float | None:
    try:
        return ours - float(str(printed).replace("−", "-"))  # type: ignore[operator]
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True)
class Made:
    """What an exhibit shows."""

    lines: Sequence[Line]
    picture: Figure | Path | None = None
    """Drawn anew, or the file of one that is published."""
    remarks: Sequence[str] = field(default_factory=tuple)
    """What differs from the print, and what the print leaves open."""
    old: bool = False
    """Whether the figures are those published before, since the data are not there."""


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table of a paper."""

    name: str
    """For the command line, and of its picture's file."""
    title: str
    shows: str
    """What the print shows, in words of our own, and what the picture here is."""
    make: Callable[[Report], Made]
    steps: int = 0
    """How often it reports, if what it takes has not been done for another."""
    why: str = ""
    """Why some of its numbers are not as printed."""
