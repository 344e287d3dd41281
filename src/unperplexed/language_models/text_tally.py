"""The mergeable state of scored texts: sums over documents and tokens, of a size that does not grow with them."""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from .._lib.arrays import distinct
from .._lib.dataclasses import dataclass, field, replace
from .._lib.typing import ByValue, Floats, Ints
from ..statistics.intervals import Interval
from ..statistics.means import ROBUST
from .clustered_ratios import RatioSums
from .items import Text, utf8

ORDERS = (-2.0, -1.0, ROBUST, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0, 2.0)
"""Orders of the risk profiles."""

UNITS = ("token", "byte", "word", "document")
DOCUMENT_UNITS = ("byte", "token")
"""Units of the documents' rates, which are never mixed: the first that any document has is shown."""

POSITIONS = 24
"""Groups of positions: the first token, the second, 3 to 4, 5 to 8 ..., all beyond 2^22 together."""

KEPT = 20
"""Documents and tokens that are kept as examples."""

_BATCH = 2048
"""Documents that are counted at once."""
_CONTEXT = 60
"""Tokens, and characters, before a surprising token that are kept."""


class WorstDocument(NamedTuple):
    """A document to which the model assigned few bits of probability; the first field sorts."""

    bits: float
    """Bits in all: minus the logarithm of its probability."""
    name: str
    tokens: int | None
    n_bytes: int | None


class SurprisingToken(NamedTuple):
    """A token with a low probability, after what comes before it."""

    bits: float
    document: str
    position: int
    """Counted from 0."""
    token: str
    context: str


class TokenRows(dict[str, int]):
    """Row of each distinct token; one that is looked up for the first time has the next row."""

    def __missing__(self, token: str) -> int:
        """Give it the next row."""
        self[token] = row = len(self)
        return row


@dataclass(eq=False)
class TokenSums:
    """Occurrences and log-probability of each distinct token, in each group of documents.

    Its size does not grow beyond `MOST_TOKENS` distinct tokens; with more of them nothing is kept.
    """

    index: TokenRows = field(default_factory=TokenRows)
    sums: Floats = field(default_factory=lambda: np.zeros((64, GROUPS, 2)))
    """By row and group: occurrences and log-probability."""
    too_many: bool = False

    def add(self, text: Text) -> None:
        """Count the tokens of a text, if it has them."""
        if text.pieces is None or text.log_probs is None or self.too_many:
            return
        group = zlib.crc32(utf8(text.name)) % GROUPS
        rows = self._rows(text.pieces)
        if not self.too_many:
            np.add.at(self.sums[:, group, 0], rows, 1.0)
            np.add.at(self.sums[:, group, 1], rows, np.rint(text.log_probs * _STEPS) / _STEPS)

    def __add__(self, other: TokenSums) -> TokenSums:
        """Add the sums of other texts."""
        found = TokenSums(TokenRows(self.index), self.sums.copy(), self.too_many)
        if not found.too_many:
            rows = found._rows(other.index)
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
        occurrences = sums[..., 0].sum(1)
        whole = float(sums[..., 1].sum())
        starts = np.array([1, 2, *(10**k for k in range(1, 16))])
        of = np.searchsorted(starts, occurrences, side="right") - 1
        found = []
        for at in distinct(of).tolist():
            counts, log_probs = sums[of == at].sum(0).T
            some = counts > 0
            bits, limits = RatioSums.of(log_probs[some], counts[some]).estimate().bits(confidence)
            found.append(
                FrequencyLoss(
                    int(starts[at]),
                    int(starts[at + 1]) - 1,
                    int((of == at).sum()),
                    round(float(counts.sum())),
                    bits,
                    limits,
                    float(log_probs.sum()) / whole if whole else math.nan,
                )
            )
        return tuple(found)

    def _rows(self, pieces: Collection[str]) -> Ints:
        """Return the rows of tokens; new ones are added."""
        index = self.index
        rows = np.fromiter(map(index.__getitem__, pieces), np.int64, len(pieces))
        if len(index) > MOST_TOKENS:
            self._give_up()
        elif len(index) > len(self.sums):
            grown = np.zeros((min(2 * len(index), MOST_TOKENS), GROUPS, 2))
            grown[: len(self.sums)] = self.sums
            self.sums = grown
        return rows

    def _give_up(self) -> None:
        self.index, self.sums, self.too_many = TokenRows(), np.zeros((0, GROUPS, 2)), True


@dataclass
class TextTally:
    """Counts of scored texts, which add up: ``a + b`` is the tally of both, to the last digit in any order and split.

    Its size does not grow with the number of documents or tokens, only with the vocabulary where tokens are known.

    Examples
    --------
    >>> from unperplexed.language_models import Text, TextTally
    >>> texts = [Text.of("a", "Hello", [-1.5, -0.25]), Text.of("b", "Good day", [-2.5])]
    >>> whole = TextTally.count(texts)
    >>> whole.n_documents, whole.total("byte")
    (2, 13.0)
    >>> TextTally.count(texts[:1]) + TextTally.count(texts[1:]) == whole
    True
    """

    n_documents: int = 0
    sums: dict[str, RatioSums] = field(default_factory=dict)
    """By name: what is summed per unit."""
    documents: list[WorstDocument] = field(default_factory=list)
    """Those with the most bits per byte; documents without bytes come after these, by bits per token."""
    tokens: list[SurprisingToken] = field(default_factory=list)
    distinct: TokenSums = field(default_factory=TokenSums)
    """Sums of each distinct token."""

    @staticmethod
    def count(texts: Iterable[Text]) -> TextTally:
        """Count texts, in parts, so that only few are in memory.

        Parameters
        ----------
        texts : iterable of Text
            The texts of one model.

        Returns
        -------
        TextTally
        """
        tally, rows, distinct = TextTally(), _Rows(), TokenSums()
        for text in texts:
            rows.add(text)
            distinct.add(text)
            if rows.n == _BATCH:
                tally, rows = tally + rows.tally(), _Rows()
        return replace(tally + rows.tally(), distinct=distinct)

    def __add__(self, other: TextTally) -> TextTally:
        """Add the counts of other texts."""
        sums = dict(self.sums)
        for name, each in other.sums.items():
            sums[name] = sums.get(name, RatioSums()) + each
        return TextTally(
            self.n_documents + other.n_documents,
            {name: sums[name] for name in sorted(sums)},
            heapq.nlargest(KEPT, [*self.documents, *other.documents], key=_density),
            heapq.nlargest(KEPT, [*self.tokens, *other.tokens]),
            self.distinct + other.distinct,
        )

    def total(self, unit: str) -> float:
        """Return the number of tokens, bytes, words or documents."""
        return float(self.sums[unit].y) if unit in self.sums else 0.0


def _density(document: WorstDocument) -> tuple[bool, float, str]:
    """Rank by bits per byte; bits per token, which are more, never stand among them."""
    size = document.n_bytes or document.tokens or 1
    return bool(document.n_bytes), document.bits / size, document.name


class _Rows:
    """Figures of some documents, one row each."""

    def __init__(self) -> None:
        self.n = 0
        self._figures: list[list[float]] = []
        self._powers: list[Floats] = []
        self._positions: list[tuple[Floats, Floats]] = []
        self._documents: list[WorstDocument] = []
        self._tokens: list[SurprisingToken] = []
        self._highest = np.inf
        """Log-probability above which a token is not among the most surprising ones."""

    def add(self, text: Text) -> None:
        """Take a text's figures."""
        self.n += 1
        unknown = np.nan
        own = [unknown if each is None else float(each) for each in (text.tokens, text.n_bytes, text.words)]
        own = [each if each > 0 else unknown for each in own]
        greedy = unknown if text.greedy is None else float(text.greedy)
        self._figures.append([text.log_probability, *own, 1.0, greedy])
        bits = -text.log_probability / np.log(2)
        self._documents.append(WorstDocument(bits, text.name, text.tokens, text.n_bytes))
        if text.log_probs is None:
            self._powers.append(np.full(len(ORDERS), unknown))
            self._positions.append(_NO_POSITIONS)
            return
        x = np.asarray(text.log_probs, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            self._powers.append(np.array([float(np.exp(r * x).sum()) if r else 0.0 for r in ORDERS]))
        starts = _STARTS[: np.searchsorted(_STARTS, x.size)]
        lost, counted = np.full(POSITIONS, unknown), np.full(POSITIONS, unknown)
        lost[: starts.size] = np.add.reduceat(x, starts)
        counted[: starts.size] = np.diff(np.append(starts, x.size))
        self._positions.append((lost, counted))
        if text.pieces is not None and (x <= self._highest).any():
            self._surprising(text, x)

    def _surprising(self, text: Text, x: Floats) -> None:
        pieces = text.pieces or ()
        least = np.argpartition(x, KEPT)[:KEPT] if x.size > KEPT else np.arange(x.size)
        for at in least[x[least] <= self._highest].tolist():
            before = "".join(pieces[max(at - _CONTEXT, 0) : at])[-_CONTEXT:]
            self._tokens.append(SurprisingToken(float(-x[at] / np.log(2)), text.name, at, pieces[at], before))
        if len(self._tokens) > 4 * KEPT:
            self._tokens = heapq.nlargest(KEPT, self._tokens)
            self._highest = -self._tokens[-1].bits * np.log(2) * (1 - 1e-12)

    def tally(self) -> TextTally:
        """Sum over the documents."""
        if not self.n:
            return TextTally()
        log_prob, *units, greedy = np.array(self._figures).T
        sums = {unit: RatioSums.of(log_prob, each) for unit, each in zip(UNITS, units, strict=True)}
        sums["greedy"] = RatioSums.of(greedy, units[-1])
        powers = np.array(self._powers)
        rates = {unit: log_prob / of for unit, of in zip(DOCUMENT_UNITS, (units[1], units[0]), strict=True)}
        for at, r in enumerate(ORDERS):
            if r:
                with np.errstate(over="ignore", invalid="ignore"):
                    sums[f"token {r:.6f}"] = RatioSums.of(powers[:, at], units[0])
                    for unit, rate in rates.items():
                        sums[f"document {unit} {r:.6f}"] = RatioSums.of(np.exp(r * rate), units[-1])
        for unit, rate in rates.items():
            sums[f"document {unit} rate"] = RatioSums.of(rate, units[-1])
        lost, counted = (np.array(each) for each in zip(*self._positions, strict=True))
        for at in range(POSITIONS):
            if not np.isnan(counted[:, at]).all():
                sums[f"position {at:02}"] = RatioSums.of(lost[:, at], counted[:, at])
        sums = {name: sums[name] for name in sorted(sums) if sums[name].n}
        return TextTally(
            self.n, sums, heapq.nlargest(KEPT, self._documents, key=_density), heapq.nlargest(KEPT, self._tokens)
        )


_NO_POSITIONS = (np.full(POSITIONS, np.nan), np.full(POSITIONS, np.nan))
_STARTS = np.array([0, *(2**k for k in range(POSITIONS - 1))])
"""First position of each group, from 0: 0, 1, 2, 4, 8 ..."""


GROUPS = 16
"""Groups into which documents are dealt by their names: the clusters of the intervals."""

MOST_TOKENS = 1 << 18
"""Distinct tokens of which sums are kept, as many as large vocabularies have."""

_STEPS = 2.0**20
"""Log-probabilities are summed as multiples of 1 / this, so that no order of adding changes a digit."""


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
