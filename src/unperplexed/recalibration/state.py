"""What a fit leaves behind: the maps with their weights, and the facts of the data. It is what a saved map holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Block
from ..forecasts.labels import Label
from ..maps.classes import inside
from .averaging import IDENTITY, LEAST_WEIGHT, Average, Part
from .cross_fitted import CrossFitted, Dealt
from .gain import Baseline, Gain


@dataclass(frozen=True)
class Candidate:
    """A map that was tried."""

    name: str
    weight: float
    """Weight in the average."""
    log_loss: float
    """Held-out log loss in nats a row. Smaller is better."""
    complexity: float
    """Effective number of parameters."""


@dataclass(frozen=True)
class Facts:
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


@dataclass(frozen=True)
class State:
    """A fitted recalibration."""

    facts: Facts
    candidates: tuple[Candidate, ...]
    maps: Mapping[str, Any]
    """Fitted maps by name: those that have weight."""
    gain: Gain | None
    baseline: Baseline | None = None
    """None where the gain is, and for maps that were saved without it."""
    cross_fitted: CrossFitted | None = None
    """Not saved."""
    raised_to: float = 0.0
    """What smaller probabilities are raised to first, by maps that version 1 saved; 0 for none."""
    held_out: HeldOut | None = None
    """Not saved; None too where a sample of the rows was fitted to."""

    @classmethod
    def of(cls, facts: Facts, found: Average[Any]) -> State:
        """Keep what an average needs."""
        candidates = tuple(
            Candidate(name, weight, found.losses[name], found.maps[name].complexity)
            for name, weight in found.weights.items()
        )
        maps = {name: each for name, each in found.maps.items() if found.weights[name] >= LEAST_WEIGHT}
        held_out = None if found.dealt is None else HeldOut.of(facts, found.without, found.dealt)
        return cls(facts, candidates, maps, found.gain, found.baseline, found.cross_fitted, held_out=held_out)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each map in the average."""
        return {each.name: each.weight for each in self.candidates}

    @property
    def shares(self) -> list[float]:
        """Weight of each stored map; they sum to 1."""
        kept = [self.weights[name] for name in self.maps]
        return [weight / sum(kept) for weight in kept]

    @property
    def heaviest(self) -> str:
        """Name of the map with the largest weight."""
        return max(self.candidates, key=lambda each: each.weight).name

    @property
    def identity(self) -> float:
        """Weight of the identity."""
        return self.weights.get(IDENTITY, 0.0)

    @property
    def limits(self) -> tuple[float, float]:
        """What raised probabilities limit log-odds of two classes to, or log-probabilities of more."""
        low = math.log(self.raised_to)
        return (low - math.log1p(-self.raised_to), math.log1p(-self.raised_to) - low) if self.two else (low, 0.0)

    def of_block(self, block: Block) -> Floats:
        """Recalibrate checked rows: (n, C)."""
        return self._averaged(block.log_odds if self.two else block.log_probabilities)

    def of_log_probabilities(self, log_p: Floats) -> Floats:
        """Recalibrate rows of log-probabilities: (n, C)."""
        return self._averaged(log_p[:, 1] - log_p[:, 0] if self.two else log_p)

    @property
    def two(self) -> bool:
        """Whether there are two classes."""
        return len(self.facts.labels) == 2

    def _averaged(self, at: Floats) -> Floats:
        """Average the maps at log-odds of two classes, or at log-probabilities of more."""
        if self.raised_to:
            at = np.clip(at, *self.limits)
        each = (x.both(at).T if self.two else x.probabilities(at) for x in self.maps.values())
        return np.asarray(inside(sum(share * q for share, q in zip(self.shares, each, strict=True))))


@dataclass(frozen=True)
class HeldOut:
    """The average without each fold, by which the rows of that fold are recalibrated (cross-fitted)."""

    states: tuple[State, ...]
    dealt: Dealt

    @classmethod
    def of(cls, facts: Facts, without: Sequence[Part[Any]], dealt: Dealt) -> HeldOut:
        """Keep the maps that have any weight."""
        return cls(tuple(State(facts, _candidates(each), each.maps, None) for each in without), dealt)

    def recalibrated(self, blocks: Iterable[Block]) -> tuple[Floats, Ints]:
        """Recalibrate the rows of the fit, (n, C), in the order in which they came; with their outcomes."""
        weighing = [block if block.weights is None else block[block.weights > 0] for block in blocks]
        log_p = np.concatenate([block.log_probabilities for block in weighing])
        truth = np.concatenate([block.truth.astype(np.int64) for block in weighing])
        fold, q = self.dealt.folds_of(log_p, truth), np.empty(log_p.shape)
        for at, state in enumerate(self.states):
            q[fold == at] = state.of_log_probabilities(log_p[fold == at])
        return q, truth


def _candidates(part: Part[Any]) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, share, math.nan, part.maps[name].complexity) for name, share in part.weights.items())
