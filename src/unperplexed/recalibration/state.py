"""What a fit leaves behind: the maps with their weights, and the facts of the data. It is what a saved map holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, field
from .._lib.elementary import logit
from .._lib.formatting import short_name
from .._lib.typing import Floats
from ..forecasts.forecasts import Block
from ..forecasts.labels import Label
from ..maps.classes import inside
from ..maps.parameters import family_of
from ..report.numbers import MINUS
from .averaging import IDENTITY, LEAST_WEIGHT, Average, HeldOut, Weighted, predicted_by
from .gain import Baseline, Gain


class Candidate(Frozen):
    """A map that was tried."""

    name: str
    weight: float
    """Weight in the average."""
    log_loss: float
    """Held-out log loss in nats a row. Smaller is better."""
    parameters: float
    """Effective number of parameters."""


class Weighed:
    """An average of maps that were tried."""

    candidates: tuple[Candidate, ...]

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each map in the average."""
        return {each.name: each.weight for each in self.candidates}

    @property
    def heaviest(self) -> str:
        """Name of the map with the largest weight."""
        return max(self.candidates, key=lambda each: each.weight).name

    @property
    def identity(self) -> float:
        """Weight of the identity."""
        return self.weights.get(IDENTITY, 0.0)


class Facts(Frozen):
    """The data of the fit."""

    labels: tuple[Label | None, ...]
    """Class labels in column order."""
    n_rows: int
    """Number of rows of positive weight."""
    observed: tuple[float, ...]
    """Observed frequency of each class."""
    zero: float
    """Two classes: what a probability of exactly 0 counts as; else 0 (see the maps)."""
    sampled: int = 0
    """Number of rows of the random sample that the fit used; 0 where it used all rows."""
    certain: int = field(default=0, compare=False)
    """Number of rows of a tally with a probability of exactly 0 or 1, whose log-odds it does not know. Not saved."""


LEAST_PREVALENCE = 1e-9
"""Smallest frequency of the positive class that a map can be for; 1 minus it is the largest."""


class State(Weighed, Frozen):
    """A fitted recalibration."""

    facts: Facts
    candidates: tuple[Candidate, ...]
    maps: Mapping[str, Any]
    """Fitted maps by name: those that have weight."""
    gain: Gain | None
    baseline: Baseline | None = None
    """None where the gain is, and for maps that were saved without it."""
    raised_to: float = 0.0
    """What smaller probabilities are raised to first, by maps that version 1 saved; 0 for none."""
    prevalence: float | None = None
    """Frequency of the positive class where the map is to be used, if it differs from the observed one."""
    held_out: HeldOut | None = None
    """Not saved."""

    @classmethod
    def of(cls, facts: Facts, found: Average[Any]) -> State:
        """Keep what an average needs."""
        candidates = tuple(
            Candidate(name, weight, found.losses[name], family_of(name, len(facts.labels)).rank)
            for name, weight in found.weights.items()
        )
        maps = {name: each for name, each in found.maps.items() if found.weights[name] >= LEAST_WEIGHT}
        return cls(facts, candidates, maps, found.gain, found.baseline, held_out=found.held_out)

    @cached_property
    def average(self) -> Weighted:
        """The stored maps, whose shares sum to 1."""
        whole = sum(self.weights[name] for name in self.maps)
        return Weighted(dict(self.maps), {name: self.weights[name] / whole for name in self.maps})

    @property
    def limits(self) -> tuple[float, float]:
        """What raised probabilities limit log-odds of two classes to, or log-probabilities of more."""
        low = float(logit(self.raised_to))
        return (low, -low) if self.two else (math.log(self.raised_to), 0.0)

    def of_block(self, block: Block) -> Floats:
        """Recalibrate checked rows: (n, C)."""
        return self._averaged(block.log_odds if self.two else block.log_probabilities)

    def of_log_probabilities(self, log_p: Floats) -> Floats:
        """Recalibrate rows of log-probabilities: (n, C)."""
        return self._averaged(predicted_by(log_p))

    @property
    def two(self) -> bool:
        """Whether there are two classes."""
        return len(self.facts.labels) == 2

    def _averaged(self, predicted: Floats) -> Floats:
        found = self.average.probabilities(np.clip(predicted, *self.limits) if self.raised_to else predicted)
        if self.prevalence is None:
            return found
        odds = found * [1.0, self.odds_ratio]
        return np.asarray(inside(odds / odds.sum(axis=1, keepdims=True)))

    @property
    def odds_ratio(self) -> float:
        """Odds of the positive class where the map is to be used, over those in the fit."""
        now = self.facts.observed[1]
        return 1.0 if self.prevalence is None else math.exp(float(logit(self.prevalence) - logit(now)))


def conclusion(state: State) -> str:
    """Say what to do: leave the forecasts as they are, or recalibrate by which map."""
    if state.prevalence is not None:
        return f"Recalibrate for the prevalence, after {map_text(state)}"
    return concluded(state.identity, state.gain, "log loss", f"Recalibrate with {map_text(state)}")


def concluded(identity: float, gain: Gain | None, score: str, advice: str) -> str:
    """Give the advice, unless the identity has more than half of the weight, or the gain in a score is uncertain."""
    if identity > 0.5:
        return f"Leave the forecasts as they are: no recalibration map improves the held-out {score} reliably"
    if gain is not None and not gain.significant:
        return f"There is no evidence that recalibration reduces the {score}"
    return advice


def map_text(state: State) -> str:
    """Name the map, of an average the one with the largest weight, with its parameters.

    Once where both have one name, as a temperature has.
    """
    name = state.heaviest
    parameters = state.maps[name].parameters()
    shown = _parameters_text(parameters, state.facts.labels)
    named = shown if [*_numbers(parameters)] == [name] else f"{name}: {shown}" if shown else name
    return f"an average of maps, mainly {named}" if len(state.maps) > 1 else named


def _parameters_text(parameters: Mapping[str, Any], labels: Sequence[Label | None]) -> str:
    """Give the parameters of a map: numbers, and of shifts and slopes of the classes the lowest and the highest.

    Those of a map with many say little, so that it is only named.
    """
    several = [
        _range(what, sign, parameters[name], labels)
        for name, what, sign in (("shifts", "a shift", "+"), ("slopes", "a slope", ""))
        if len(labels) > 2 and name in parameters
    ]
    numbers = [*_numbers(parameters).values()]
    return "" if len(numbers + several) > _MOST_SHOWN else " and ".join(filter(None, [", ".join(numbers), *several]))


_MOST_SHOWN = 3
"""Parameters that are shown of a map."""


def _numbers(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Give the parameters that are one number each, as far as they change anything, with their names."""
    return {
        name: f"a curve of {value} points" if name == "points" else f"{name} {value:.3g}".replace("-", MINUS)
        for name, value in parameters.items()
        if isinstance(value, int | float) and abs(value) >= _NOTHING
    }


def _range(what: str, sign: str, values: Sequence[float], labels: Sequence[Label | None]) -> str:
    ends = (min(range(len(values)), key=values.__getitem__), max(range(len(values)), key=values.__getitem__))
    low, high = (f"{values[at]:{sign}.2g}".replace("-", MINUS) + f" for '{short_name(str(labels[at]))}'" for at in ends)
    return f"{what} for each class, {low} to {high}"


_NOTHING = 1e-6
"""A smaller parameter changes nothing that is printed."""
