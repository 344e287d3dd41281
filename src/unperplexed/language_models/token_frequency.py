"""Where the loss is by token frequency: occurrences and loss of each distinct token, which add up."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field

import numpy as np

from .._lib.by_value import ByValue
from .._lib.typing import Floats
from ..statistics.intervals import Interval
from .clustered_ratios import RatioSums
from .items import Text, utf8

GROUPS = 16
"""Groups into which documents are dealt by their names: the clusters of the intervals."""

MOST_TOKENS = 1 << 18
"""Distinct tokens of which sums are kept, as many as large vocabularies have."""

_STEPS = 2.0**20
"""Log-probabilities are summed as multiples of 1 / this, so that no order of adding changes a digit."""


@dataclass(frozen=True)
class FrequencyLoss(ByValue):
    """Mean loss of the tokens that occur about as often in the texts."""

    first: int
    last: int
    """Occurrences of the distinct token in all texts."""
    distinct: int
    """Number of distinct tokens."""
    tokens: int
    bits_per_token: float
    interval: Interval
    share: float
    """Share of the total loss."""


@dataclass(eq=False)
class TokenSums:
    """Occurrences and log-probability of each distinct token, in each group of documents.

    Its size does not grow beyond `MOST_TOKENS` distinct tokens; with more of them nothing is kept.
    """

    index: dict[str, int] = field(default_factory=dict)
    """Row of each distinct token."""
    sums: Floats = field(default_factory=lambda: np.zeros((64, 2, GROUPS)))
    """By row: occurrences and log-probability in each group."""
    too_many: bool = False

    def add(self, text: Text) -> None:
        """Count the tokens of a text, if it has them."""
        if text.pieces is None or text.log_probs is None or self.too_many:
            return
        group = zlib.crc32(utf8(text.name)) % GROUPS
        rows = self._rows([*text.pieces])
        if not self.too_many:
            np.add.at(self.sums[:, 0, group], rows, 1.0)
            np.add.at(self.sums[:, 1, group], rows, np.rint(text.log_probs * _STEPS) / _STEPS)

    def __add__(self, other: TokenSums) -> TokenSums:
        """Add the sums of other texts."""
        found = TokenSums(dict(self.index), self.sums.copy(), self.too_many)
        if not found.too_many:
            rows = found._rows([*other.index])
            if other.too_many:
                found._give_up()
            elif not found.too_many:
                found.sums[rows] += other.sums[: len(rows)]
        return found

    def __eq__(self, other: object) -> bool:
        """Whether the same tokens have the same sums, in whatever order they came."""
        if not isinstance(other, TokenSums):
            return NotImplemented
        if self.too_many or other.too_many or self.index.keys() != other.index.keys():
            return self.too_many and other.too_many
        return all(np.array_equal(self.sums[at], other.sums[other.index[each]]) for each, at in self.index.items())

    __hash__ = None  # type: ignore[assignment]

    def losses(self, confidence: float) -> tuple[FrequencyLoss, ...]:
        """Return the loss of the tokens that occur once, 2 to 9 times, 10 to 99 times and so on."""
        sums = self.sums[: len(self.index)]
        occurrences = sums[:, 0].sum(1)
        whole = float(sums[:, 1].sum())
        starts = np.array([1, 2, *(10**k for k in range(1, 16))])
        of = np.searchsorted(starts, occurrences, side="right") - 1
        found = []
        for at in np.unique(of).tolist():
            counts, log_probs = sums[of == at].sum(0)
            some = counts > 0
            ratio = RatioSums.of(log_probs[some], counts[some]).estimate()
            low, high = ratio.interval(confidence)
            found.append(
                FrequencyLoss(
                    int(starts[at]),
                    int(starts[at + 1]) - 1,
                    int((of == at).sum()),
                    round(float(counts.sum())),
                    -ratio.ratio / math.log(2) + 0.0,
                    Interval(-high / math.log(2), -low / math.log(2)),
                    float(log_probs.sum()) / whole if whole else math.nan,
                )
            )
        return tuple(found)

    def _rows(self, pieces: list[str]) -> list[int]:
        """Return the rows of tokens; new ones are added."""
        index = self.index
        rows = [index.setdefault(each, len(index)) for each in pieces]
        if len(index) > MOST_TOKENS:
            self._give_up()
        elif len(index) > len(self.sums):
            grown = np.zeros((min(2 * len(index), MOST_TOKENS), 2, GROUPS))
            grown[: len(self.sums)] = self.sums
            self.sums = grown
        return rows

    def _give_up(self) -> None:
        self.index, self.sums, self.too_many = {}, np.zeros((0, 2, GROUPS)), True
