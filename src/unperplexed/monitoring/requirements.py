"""Requirements as they are written: ``log_loss < 0.4``, ``verdict not in (overconfident, biased)``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._lib.errors import InputError
from .._lib.typing import Floats
from ..assessment.flat import WORDS
from ..scores.registry import SCORES, score_named
from .event_counts import EventCounts

VERDICT = "verdict"
_ENDS = ("lower", "upper")
_FORM = re.compile(r"\s*([A-Za-z_][\w.()-]*)\s*(<=|>=|<|>|not\s+in\b|in\b)\s*(.+?)\s*")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_HOW = (
    "write NAME < NUMBER, NAME > NUMBER (or <=, >=), such as 'log_loss < 0.4' or 'skill.lower > 0', or"
    " 'verdict not in (overconfident, biased)'"
)


@dataclass(frozen=True)
class Requirement:
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
        name, operator, value = found[1], " ".join(found[2].split()), found[3]
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


def _words(text: str, value: str) -> tuple[str, ...]:
    words = tuple(re.sub(r"[\s_]+", "-", word.strip(" '\"")).lower() for word in value.strip("()[]").split(","))
    for word in words:
        if word not in WORDS and word != "none":
            raise InputError(
                f"require (--require): {text!r}: no verdict is called {word!r}; there are none, {', '.join(WORDS)}."
            )
    return words


def scoring_rules(requirements: Iterable[Requirement]) -> list[str]:
    """Name the scoring rules that are required and that no assessment has unasked."""
    found = []
    for each in requirements:
        with suppress(InputError):
            found.append(score_named(each.name.removeprefix("change.")).name)
    return [name for name in dict.fromkeys(found) if name not in SCORES]


_RATES: Floats = np.asarray(0.9 * 2.0 ** -np.arange(13), dtype=np.float64)
"""Shares of the most that can be bet: with more a loss of 0 would take all."""


class _Score(NamedTuple):
    """A score as a loss from 0 up: that of an event predicted with p that occurs; a right 0 or 1 costs nothing."""

    loss: Callable[[Floats], Floats]
    of_cell: Callable[[Floats], Floats]
    """Largest excess of the loss of a cell's mean over the mean of its losses, by the distance u of that mean from the
    nearer of 0 and 1, if forecasts are calibrated. In a cell from a <= u to 9/8 a they have a variance of at most
    (a/16)^2, and the second derivative of the expected loss is at most 1/(a (1 - a)), or 4 for the Brier score."""
    of_wrong: float
    """Loss of a prediction of exactly 0 or 1 that is wrong."""


_SCORES = {
    "log_loss": _Score(lambda p: -np.log(p), lambda u: u / (512 * (1 - u)), math.inf),
    "brier_score": _Score(lambda p: 2 * (1 - p) ** 2, lambda u: u * u / 128, 2.0),
    "accuracy": _Score(lambda p: np.where(p == 0.5, 0.5, p < 0.5), np.zeros_like, 1.0),
}


class Kept(NamedTuple):
    """Whether a requirement was kept. Larger evidence is stronger evidence that it was not."""

    requirement: str
    passed: bool
    value: float
    """The mean score over all periods, as `assess` gives it; NaN with periods of a history of version 1."""
    log_evidence: float
    """Natural logarithm of the evidence that the limit is not kept, after all periods."""
    failed: str | None
    """The period after which the evidence reached the limit of the alarm."""


def kept(text: str, names: Sequence[str], series: Sequence[EventCounts], n_classes: int, log_limit: float) -> Kept:
    """Test a requirement on the mean of a score, from cells of the event: "log_loss < 0.4".

    The means of all bets' factors are at most 1 if the expected score of each row is within the limit. Scores of a
    cell are those of its mean prediction, reduced by what calibrated forecasts may at most lose by being counted in it.

    Parameters
    ----------
    text : str
        The requirement, such as ``"log_loss < 0.4"``.
    names : sequence of str
        Names of the periods.
    series : sequence of EventCounts
        Counts of each period: of the positive class, or of the most probable one.
    n_classes : int
        Number of classes.
    log_limit : float
        Natural logarithm of the evidence at which the requirement has failed.
    """
    wanted = Requirement.parse(text)
    score, limit = _checked(wanted, n_classes)
    top = wanted.name == "accuracy" and n_classes > 2
    factors = []
    for counts in series:
        losses, of_cells, weights = _losses(counts, score, top)
        factors.append(np.log1p(np.outer(_RATES, (losses - of_cells) / limit - 1)) @ weights)
    evidence = logsumexp(np.cumsum(factors, axis=0), axis=1) - math.log(_RATES.size)
    above = np.flatnonzero(evidence >= log_limit)
    counts = EventCounts.together(series)
    value = math.nan if counts.scores is None else float(getattr(counts.scores, wanted.name)) / counts.rows
    return Kept(wanted.text, not above.size, value, float(evidence[-1]), names[above[0]] if above.size else None)


def _losses(counts: EventCounts, score: _Score, top: bool) -> tuple[Floats, Floats, Floats]:
    """Give the losses that occurred, what may be due to cells, and how often each occurred.

    For the most probable class any that is missed costs 1.
    """
    right, wrong = counts.certain - counts.certain_and_wrong, counts.certain_and_wrong
    if_true, if_false = score.loss(counts.p), score.loss(1 - counts.p)
    if top:
        if_true, if_false = np.zeros_like(counts.p), np.ones_like(counts.p)
    of_cell = score.of_cell(np.minimum(counts.p, 1 - counts.p))
    losses = np.concatenate([if_true, if_false, [0.0, score.of_wrong]])
    of_cells = np.concatenate([of_cell, of_cell, [0.0, 0.0]])
    weights = np.concatenate([counts.positive, counts.total - counts.positive, [right, wrong]])
    there = weights > 0
    return losses[there], of_cells[there], weights[there]


def _checked(wanted: Requirement, n_classes: int) -> tuple[_Score, float]:
    allowed = _SCORES if n_classes == 2 else {"accuracy": _SCORES["accuracy"]}
    if wanted.name not in allowed or wanted.end:
        raise InputError(
            f"require (--require): {wanted.text!r}: over time, requirements are on {', '.join(allowed)}"
            f"{' for two classes' if n_classes == 2 else ' for more than two classes'}."
        )
    if wanted.upward != (wanted.name == "accuracy"):
        raise InputError(f"require (--require): {wanted.text!r}: the better side of the limit is the other one.")
    limit = 1 - wanted.limit if wanted.name == "accuracy" else wanted.limit
    if not limit > 0:
        raise InputError(f"require (--require): {wanted.text!r}: only perfect forecasts are within this limit.")
    return _SCORES[wanted.name], limit
