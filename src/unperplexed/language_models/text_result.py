"""How probable a model finds texts: a frozen TextAssessment. `assess_texts` makes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._lib.dataclasses import dataclass
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.serialize import plain_values
from .._lib.typing import ByValue
from .._version import __version__
from ..report.result import JsonResult, frame_like_input
from ..statistics.intervals import Interval, checked_sampling
from . import text_tally as counts
from .clustered_ratios import Mean, RatioSums, UncertainRatio, columns_of, mean_of_sums
from .items import Item, Remarks, Text
from .reading import read_items

_OVERFLOW = 709
"""Largest whole number of which exp is a float."""

FEW_DOCUMENTS = 20
"""Documents below which intervals are said to be uncertain."""


@dataclass(frozen=True)
class Rate(ByValue):
    """Log-probability per unit of text: per token, byte, word or document."""

    unit: str
    total: float
    """Number of units."""
    log_probability: float
    """Mean natural logarithm of the probability per unit. Larger is better."""
    interval: Interval
    """Confidence interval of ``log_probability``, with documents as clusters."""
    geometric_accuracy: float
    """exp of it: geometric mean of the probability per unit. Larger is better."""
    geometric_accuracy_interval: Interval
    perplexity: float
    """1 divided by the geometric accuracy. Smaller is better."""
    perplexity_interval: Interval
    bits: float
    """Minus the binary logarithm: for bytes the bits per byte. Smaller is better."""
    bits_interval: Interval


@dataclass(frozen=True)
class ProfilePoint(ByValue):
    """Generalized mean of one order, over tokens or over documents. Larger is better."""

    order: float
    mean: float
    interval: Interval


@dataclass(frozen=True)
class PositionLoss(ByValue):
    """Mean loss of the tokens at some positions of their documents."""

    first: int
    last: int | None
    """Positions, counted from 1; None for all that follow."""
    tokens: int
    documents: int
    bits_per_token: float
    interval: Interval
    share: float
    """Share of the total loss."""


@dataclass(frozen=True)
class TextAssessment(JsonResult):
    """How probable a model finds texts, with confidence intervals that take documents as clusters.

    ``print`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``. Made by
    `assess_texts`; all fields are final.
    """

    n_documents: int
    rates: dict[str, Rate]
    """By unit: ``"token"``, ``"byte"``, ``"word"`` and ``"document"``, as far as the logs contain their numbers."""
    greedy: Mean | None
    """Share of texts of which every token was the most probable one; None where unknown. Larger is better."""
    token_profile: tuple[ProfilePoint, ...]
    """Generalized means of the probabilities of the tokens."""
    document_profile: tuple[ProfilePoint, ...]
    """Generalized means of the geometric accuracies per byte of the documents with bytes; per token if none has."""
    positions: tuple[PositionLoss, ...]
    frequencies: tuple[counts.FrequencyLoss, ...]
    """Loss of rare and of frequent tokens, where the logs have the tokens."""
    documents: tuple[counts.WorstDocument, ...]
    """The documents with the most bits per byte, among those with bytes; per token if none has."""
    tokens: tuple[counts.SurprisingToken, ...]
    """The most surprising tokens."""
    confidence: float
    remarks: tuple[str, ...]
    """What was found in the logs: texts left out, and what makes figures incomparable."""
    version: str = __version__

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte; NaN where bytes are unknown. Smaller is better."""
        return self.rates["byte"].bits if "byte" in self.rates else math.nan

    @property
    def perplexity(self) -> float:
        """Perplexity per token; NaN where the logs have no tokens. Smaller is better."""
        return self.rates["token"].perplexity if "token" in self.rates else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        found: dict[str, Any] = plain_values(self)
        for name in ("documents", "tokens"):
            found[name] = [each._asdict() for each in getattr(self, name)]
        return found

    def frame(self) -> Any:
        """Give a polars DataFrame with one row for each unit.

        Returns
        -------
        polars.DataFrame
            The columns ``unit``, ``total``, then each figure with ``_lower`` and ``_upper``.
        """
        figures = ("geometric_accuracy", "perplexity", "bits")
        names = ("unit", "total", *(name for each in figures for name in (each, f"{each}_interval")))
        return frame_like_input(self, [columns_of(each, *names) for each in self.rates.values()])

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<TextAssessment of {number_of(self.n_documents, 'document')}>"


def assess_texts(
    texts: str | Path | counts.TextTally | Iterable[Item | str | Path],
    *,
    form: str | None = None,
    confidence: float = 0.95,
    remarks: Remarks | None = None,
) -> TextAssessment:
    """Assess the probability that a model assigns to texts: geometric accuracy, perplexity and bits per byte.

    Parameters
    ----------
    texts : file, sequence of files, TextTally, or iterable of Text
        Logs of a language model, as `read_items` reads them, or the texts or their counts.
    form : str, optional
        Form of the logs; by default it is recognised.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1). Documents are the clusters.
    remarks : Remarks, optional
        Remarks of logs that were read before.

    Returns
    -------
    TextAssessment

    Raises
    ------
    InputError
        For a log that cannot be read, or one without texts.

    Notes
    -----
    With L the total log-probability and B the bytes, ``bits per byte = -L / B / ln 2`` and ``geometric accuracy per
    byte = exp(L / B)``: ratios of sums over documents, never means of ratios. Their standard error is that of a ratio
    estimator with documents as clusters, with Student's t at the effective number of documents minus one.

    Examples
    --------
    >>> from unperplexed.language_models import Text, assess_texts
    >>> found = assess_texts([Text.of("a", "Hello", [-1.5, -0.25]), Text.of("b", "Good day", [-2.5])])
    >>> round(found.bits_per_byte, 3), round(found.perplexity, 3)
    (0.472, 4.123)
    """
    confidence = checked_sampling(confidence, 0, 0).confidence
    remarks = Remarks() if remarks is None else remarks
    tally = texts if isinstance(texts, counts.TextTally) else counts.TextTally.count(_texts(texts, form, remarks))
    if not tally.n_documents:
        raise InputError(
            "; ".join(["texts: no text with a log-probability", *remarks.sentences()])
            + ". Questions have assess_questions, and answers assess_answers."
        )
    return _assessed(tally, confidence, remarks)


def _texts(given: Any, form: str | None, remarks: Remarks) -> Iterable[Text]:
    items = [given] if isinstance(given, str | Path | Text) else given
    for each in items:
        if isinstance(each, str | Path):
            yield from (item for item in read_items(each, form=form, remarks=remarks) if isinstance(item, Text))
        elif isinstance(each, Text):
            yield each


def _assessed(tally: counts.TextTally, confidence: float, remarks: Remarks) -> TextAssessment:
    sums = tally.sums
    greedy = sums.get("greedy")
    shown = next((unit for unit in counts.DOCUMENT_UNITS if unit in sums), counts.DOCUMENT_UNITS[0])
    sized = [each for each in tally.documents if each.n_bytes]
    return TextAssessment(
        tally.n_documents,
        {unit: _rate(unit, sums[unit], confidence) for unit in counts.UNITS if unit in sums},
        None if greedy is None else mean_of_sums(greedy, confidence, True),
        _profile("token", sums, confidence),
        _profile(f"document {shown}", sums, confidence),
        _positions(sums, confidence),
        tally.distinct.losses(confidence),
        tuple(sized or [each for each in tally.documents if each.tokens]),
        tuple(tally.tokens),
        confidence,
        (*remarks.sentences(), *_without(tally)),
    )


def _without(tally: counts.TextTally) -> Iterator[str]:
    """Say of which documents the figures per byte are, and that there are too many tokens for the loss by frequency."""
    known = tally.sums["byte"].n if "byte" in tally.sums else 0
    unknown = tally.n_documents - known
    if known and unknown:
        have = "has" if unknown == 1 else "have"
        of = f"{unknown:,} of {tally.n_documents:,} documents"
        yield f"{of} {have} no bytes: figures per byte are of the other {known:,}"
    if tally.distinct.too_many:
        many = f"more than {counts.MOST_TOKENS:,} distinct texts"
        yield f"the tokens have {many}; the loss by token frequency was left out"


def _mapped(interval: Interval, function: Any) -> Interval:
    low, high = map(function, interval)
    return Interval(high, low) if high < low else Interval(low, high)


def _exp(x: float) -> float:
    return math.inf if x >= _OVERFLOW else math.exp(x)


def _rate(unit: str, sums: RatioSums, confidence: float) -> Rate:
    found = sums.estimate()
    low, high = found.interval(confidence)
    interval, rate = Interval(low, high if math.isnan(high) else min(high, 0.0)), found.ratio
    return Rate(
        unit,
        float(sums.y),
        rate,
        interval,
        _exp(rate),
        _mapped(interval, _exp),
        _exp(-rate),
        _mapped(interval, lambda x: _exp(-x)),
        -rate / math.log(2) + 0.0,
        _mapped(interval, lambda x: -x / math.log(2) + 0.0),
    )


def _profile(unit: str, sums: dict[str, RatioSums], confidence: float) -> tuple[ProfilePoint, ...]:
    """Means of order r: the r-th root of the mean of r-th powers, with limits on the log scale."""
    found = []
    for r in counts.ORDERS:
        name = ("token" if unit == "token" else f"{unit} rate") if r == 0 else f"{unit} {r:.6f}"
        if name not in sums or (unit == "token" and "token 1.000000" not in sums):
            continue
        mean, error, degrees = sums[name].estimate()
        with np.errstate(all="ignore"):
            log_mean = mean if r == 0 else float(np.log(mean) / r)
            log_error = error if r == 0 else float(np.float64(error) / mean / abs(r))
        low, high = map(_exp, UncertainRatio(log_mean, log_error, degrees).interval(confidence))
        found.append(ProfilePoint(r, _exp(log_mean), Interval(low, high if math.isnan(high) else min(high, 1.0))))
    return tuple(found)


def _positions(sums: dict[str, RatioSums], confidence: float) -> tuple[PositionLoss, ...]:
    found = []
    whole = float(sums["token"].x) if "token" in sums else math.nan
    for name, each in sums.items():
        if name.startswith("position"):
            at = int(name.split()[1])
            first = 1 if at == 0 else 2 ** (at - 1) + 1
            last = max(2**at, 1) if at < counts.POSITIONS - 1 else None
            bits, limits = each.estimate().bits(confidence)
            share = float(each.x) / whole if whole else math.nan
            found.append(PositionLoss(first, last, round(float(each.y)), each.n, bits, limits, share))
    return tuple(found)


def rate_of(found: TextAssessment, units: Sequence[str] = ("byte", "token", "document")) -> Rate:
    """Return the rate of the first unit that the logs have."""
    return next(found.rates[unit] for unit in units if unit in found.rates)
