"""Requirements as they are written: ``log_loss < 0.4``, ``verdict not in (overconfident, biased)``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from operator import ge, gt, le, lt
from typing import Any

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from ..assessment.flat import NUMBER_WORDS, WORDS
from ..scores.rules import SCORES, score_named

VERDICT = "verdict"
_ENDS = ("lower", "upper")
_FORM = re.compile(r"\s*([A-Za-z_][\w .()-]*?)\s*(<=|>=|<|>|not\s+in\b|in\b)\s*(.+?)\s*")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_HOW = (
    "write NAME < NUMBER, NAME > NUMBER (or <=, >=), such as 'log_loss < 0.4' or 'skill.lower > 0', or"
    " 'verdict not in (overconfident, biased)'"
)


class Requirement(Frozen):
    """One requirement. Made by `Requirement.parse`.

    Examples
    --------
    >>> Requirement.parse("skill.lower >= 0")
    Requirement(text='skill.lower >= 0', name='skill', end='lower', operator='>=', limit=0.0, words=())
    """

    text: str
    name: str
    """The metric, as `Assessment.to_flat` calls it, or "verdict"."""
    end: str
    """"lower" or "upper" for an end of the metric's confidence interval; "" for the metric itself."""
    operator: str
    """"<", "<=", ">" or ">="; "in" or "not in" for the verdict."""
    limit: float
    """NaN for the verdict."""
    words: tuple[str, ...] = ()
    """The words of the verdict that are allowed, or forbidden."""

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Read a requirement.

        Raises
        ------
        InputError
            For what is none, which names the form.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise InputError(f"require (--require): {text!r} is not a requirement; {_HOW}.")
        name, operator, value = _known_as(found[1]), " ".join(found[2].split()), found[3]
        verdict = name.partition(".")[0] == VERDICT
        if verdict and name != VERDICT:
            raise InputError(
                f"require (--require): {text!r}: a verdict has no interval, so no .lower or .upper; {_HOW}."
            )
        if verdict != operator.endswith("in"):
            raise InputError(f"require (--require): {text!r}: words are for the verdict, numbers for metrics; {_HOW}.")
        if verdict:
            return cls(text.strip(), name, "", operator, math.nan, _words(text, value))
        name, dot, end = name.rpartition(".") if name.endswith(tuple(f".{each}" for each in _ENDS)) else (name, "", "")
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise InputError(f"require (--require): {text!r}: {value!r} is not a number; {_HOW}.")
        if name.startswith("coverage") and not 0 <= limit <= 1:
            raise InputError(f"require (--require): {text!r}: a coverage is between 0 and 1, such as 0.8 for 80%.")
        return cls(text.strip(), name, end if dot else "", operator, limit)

    @property
    def upward(self) -> bool:
        """Whether larger metrics meet it."""
        return self.operator.startswith(">")

    def met_by(self, value: float) -> bool:
        """Whether a number meets it."""
        return bool(_OPERATORS[self.operator](value, self.limit))

    def refuted_by(self, low: float, high: float) -> bool:
        """Whether no number of an interval meets it."""
        return not self.met_by(high if self.upward else low)


_PRINTED = {"calibration_error": "ece", "calibration_slope": "slope", "calibration_intercept": "intercept"}
"""Names of metrics as they are printed, where it is not they that are required."""


def _known_as(printed: str) -> str:
    """Name a metric that was named as it is printed: "Brier score (both classes)" is brier_score."""
    name = "_".join(re.sub(r" \(.*\)", "", printed).lower().split())
    metric, dot, end = name.partition(".")
    return _PRINTED.get(metric, metric) + dot + end


def _words(text: str, value: str) -> tuple[str, ...]:
    words = tuple(re.sub(r"[\s_]+", "-", word.strip(" '\"")).lower() for word in value.strip("()[]").split(","))
    known = dict.fromkeys(["none", *WORDS, *NUMBER_WORDS])
    for word in words:
        if word not in known:
            raise InputError(
                f"require (--require): {text!r}: no verdict is called {word!r}; there are {', '.join(known)}."
            )
    return words


def scoring_rules(requirements: Iterable[Requirement], *, of_classes: bool = True) -> list[str]:
    """Name the scoring rules that are required and that no assessment has unasked."""
    named: Callable[[str], Any] = score_named
    unasked: Collection[str] = SCORES
    if not of_classes:
        from ..scores.distributions.rules import distribution_score_named

        named, unasked = distribution_score_named, ()
    found = []
    for each in requirements:
        with suppress(InputError):
            found.append(named(each.name.removeprefix("change.")).name)
    return [name for name in dict.fromkeys(found) if name not in unasked]
