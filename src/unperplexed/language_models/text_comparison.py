"""Two models on the same texts, whatever their tokens: the difference in bits per byte, paired by document.

How probable a model finds texts: a frozen TextAssessment. `assess_texts` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import field
from .._lib.errors import InputError
from .._lib.formatting import confidence_interval, number_of, p_value_text, short_name
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats
from .._version import __version__
from ..report.numbers import estimate, number
from ..report.result import JsonResult, frame_like_input
from ..statistics.intervals import Interval, checked_sampling
from ..statistics.means import t_quantile
from . import text_tally as counts
from .clustered_ratios import Mean, RatioSums, UncertainRatio, columns_of, mean_of_sums
from .items import Item, Remarks, Text, shown, two_logs, unlike
from .reading import read_items

_OVERFLOW = 709
"""Largest whole number of which exp is a float."""

FEW_DOCUMENTS = 20
"""Documents below which intervals are said to be uncertain."""


Sizes = dict[str, list[tuple[float, ...]]]
"""By task: of each text the log-probability, and the numbers of units in their order; NaN where unknown."""


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


class ProfilePoint(ByValue):
    """Generalized mean of one order, over tokens or over documents. Larger is better."""

    order: float
    mean: float
    interval: Interval


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
    tasks: dict[str, Rate] = field(default_factory=dict)
    """The rate per byte, or per token, of each task, which the names of its documents begin with, or else of each file;
    none where tasks have fewer than two documents on average."""
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
    sizes: Sizes = {}
    given = _sized(_texts(texts, form, remarks), sizes)
    tally = texts if isinstance(texts, counts.TextTally) else counts.TextTally.count(given)
    if not tally.n_documents:
        raise InputError(
            "; ".join(["texts: no text with a log-probability", *remarks.sentences()])
            + ". Questions have assess_questions, and answers assess_answers."
        )
    return _assessed(tally, sizes, confidence, remarks)


def _sized(texts: Iterable[Text], sizes: Sizes) -> Iterator[Text]:
    """Pass on texts, and take up the log-probability and size of each by its task, with which names begin, or file."""
    for each in texts:
        size = (each.tokens or math.nan, each.n_bytes or math.nan, each.words or math.nan, 1.0)
        sizes.setdefault(each.name.rpartition("/")[0] or each.file, []).append((each.log_probability, *size))
        yield each


def _texts(given: Any, form: str | None, remarks: Remarks) -> Iterable[Text]:
    items = [given] if isinstance(given, str | Path | Text) else given
    for each in items:
        if isinstance(each, str | Path):
            yield from (item for item in read_items(each, form=form, remarks=remarks) if isinstance(item, Text))
        elif isinstance(each, Text):
            yield each


def _assessed(tally: counts.TextTally, sizes: Sizes, confidence: float, remarks: Remarks) -> TextAssessment:
    sums = tally.sums
    greedy = sums.get("greedy")
    shown = next(unit for unit in (*counts.DOCUMENT_UNITS, "document") if unit in sums)
    at = [0, counts.UNITS.index(shown) + 1]
    of_tasks = sizes if 2 * len(sizes) <= tally.n_documents else {}  # others are no tasks, such as the paths of files
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
        {task: _rate(shown, RatioSums.of(*np.array(of)[:, at].T), confidence) for task, of in of_tasks.items()},
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


FEWEST_DOCUMENTS = 10
"""Effective number of documents below which two models are not compared by a test."""
MOST_SHOWN = 20
"""Documents that a comparison keeps."""

ALONE = (
    "{count} occur in one of the logs only, for example {example}. Only the same texts are comparable: score all of"
    " them with both models, or leave these out with common=True (--common)."
)
OTHER = (
    "the texts differ in {count}, for example {example} ({sizes} bytes). Bits per byte are comparable only on the same"
    " bytes: check normalization, truncation and prompts, and score the same texts."
)
UNSIZED = "neither log has the bytes of {count}, for example {example}. Add the text or its bytes to the logs."
IMPOSSIBLE = "a probability of 0 in {count}, for example {example}: the difference in bits is infinite."


class PairedDocument(NamedTuple):
    """A document and the bits that each model needs for it."""

    name: str
    n_bytes: int
    first_bits: float
    second_bits: float

    @property
    def difference(self) -> float:
        """Bits of the first model minus those of the second."""
        return self.first_bits - self.second_bits


class TextComparison(JsonResult):
    """Difference between two models in bits per byte on the same texts, paired by document.

    ``print`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``. Made by
    `compare_texts`; all fields are final.
    """

    names: tuple[str, str]
    n_documents: int
    n_bytes: int
    bits_per_byte: tuple[float, float]
    """Bits per byte of each model. Smaller is better."""
    difference: float
    """Bits per byte of the first model minus those of the second: below 0 the first is better."""
    interval: Interval
    """Confidence interval of ``difference``, with documents as clusters."""
    p_value: float
    """Probability of a difference at least as large if the expected difference is 0 (two-sided)."""
    geometric_accuracy_ratio: float
    """Geometric accuracy per byte of the first model divided by that of the second. Above 1 the first is better."""
    effective_documents: float
    """Effective sample size: the number of documents of equal length that would be as informative."""
    first_better: int
    """Number of documents for which the first model needs fewer bits."""
    documents: tuple[PairedDocument, ...]
    """The documents that contribute most to the difference, in either direction."""
    left_out: int
    """Documents that only one of the logs has, with ``common``."""
    confidence: float
    remarks: tuple[str, ...]
    """What was found in the logs of either model."""
    unequal: tuple[str, ...] = ()
    """How the two logs were made differently, so that their figures are not comparable."""
    version: str = __version__

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval.low > 0 or self.interval.high < 0

    @property
    def reservation(self) -> str:
        """Why the models are not compared by a test; "" where they are."""
        if self.unequal:
            return f"Not comparable as logged: {'; '.join(self.unequal)}"
        if self.effective_documents < FEWEST_DOCUMENTS:
            size = f"{self.effective_documents:.3g}"
            return f"{number_of(self.n_documents, 'document')} are too few for a test (effective sample size {size})"
        return ""

    @property
    def verdict(self) -> str:
        """Which model assigns the texts the higher probability, by how much, and whether that is significant."""
        first, second = (short_name(name) for name in self.names)
        level = confidence_interval(self.confidence)
        if self.reservation:
            fewer, more = (second, first) if self.difference > 0 else (first, second)
            size = number(abs(self.difference))
            return f"{self.reservation}. In these logs {fewer} needs {size} fewer bits per byte than {more}"
        if not self.significant:
            _, limits = estimate(self.difference, self.interval)
            return (
                f"no evidence that {first} and {second} differ in bits per byte"
                f" ({level} of the difference {limits}, {p_value_text(self.p_value)})"
            )
        if self.difference > 0:
            first, second = second, first
        low, high = sorted((abs(self.interval.low), abs(self.interval.high)))
        value, limits = estimate(abs(self.difference), (low, high))
        return (
            f"{first} needs {value} fewer bits per byte than {second} ({level} {limits}, {p_value_text(self.p_value)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        documents = [each._asdict() | {"difference": each.difference} for each in self.documents]
        return {"verdict": self.verdict, **plain_values(self), "documents": documents}

    def frame(self) -> Any:
        """Give a polars DataFrame of the documents that decide the difference.

        Returns
        -------
        polars.DataFrame
            The columns ``document``, ``bytes``, and the bits of each model and their ``difference``.
        """
        first, second = self.names
        names = {"document": "name", "bytes": "n_bytes", first: "first_bits", second: "second_bits"}
        columns = {shown: [getattr(each, name) for each in self.documents] for shown, name in names.items()}
        return frame_like_input(self, columns | {"difference": [each.difference for each in self.documents]})

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<TextComparison of {' and '.join(self.names)} in {number_of(self.n_documents, 'document')}>"


def compare_texts(
    first: str | Path | Iterable[Item | str | Path],
    second: str | Path | Iterable[Item | str | Path],
    *,
    names: Sequence[str] = ("first", "second"),
    common: bool = False,
    form: str | None = None,
    confidence: float = 0.95,
    remarks: tuple[Remarks, Remarks] | None = None,
) -> TextComparison:
    """Compare two models on the same texts by bits per byte, whatever their tokens.

    Parameters
    ----------
    first, second : file, sequence of files, or iterable of Text
        Logs of the two models, as `read_items` reads them, or their texts.
    names : two str
        What the models are called.
    common : bool, default False
        Leave out documents that only one of the logs has, and count them, instead of refusing them.
    form : str, optional
        Form of the logs; by default it is recognised.
    confidence : float, default 0.95
        Confidence level of the interval, in (0, 1).
    remarks : two Remarks, optional
        Remarks of either model's logs, which reading adds to.

    Returns
    -------
    TextComparison

    Raises
    ------
    InputError
        For texts that differ, bytes that are unknown, fewer than two documents, a document that occurs twice in a file,
        or a text that occurs twice in a log while no document has the same name in both.

    Notes
    -----
    Documents are paired by name, or by file and name where a name occurs in several files of a log.

    With D the difference in bits and B the bytes of a document, the difference is ``sum D / sum B``. Its standard error
    is that of the delete-one jackknife over documents, its limits are those of Student's t at the effective number of
    documents minus one.

    Examples
    --------
    >>> from unperplexed.language_models import Text, compare_texts
    >>> texts = ["Hello", "Good day", "How do you do"]
    >>> small = [Text.of(t, t, [-0.5 * len(t)]) for t in texts]
    >>> large = [Text.of(t, t, [-0.4 * len(t) - 0.1, -0.3]) for t in texts]
    >>> round(compare_texts(small, large).difference, 3)
    0.078
    """
    confidence = checked_sampling(confidence, 0, 0).confidence
    both, of_logs = two_logs(names, remarks)
    logs = zip((first, second), of_logs, both, strict=True)
    tables = [_table(_texts(each, form, found), name) for each, found, name in logs]
    pairs, left_out = _paired(_by_name(tables), both, common)
    return _compared(pairs, left_out, both, confidence, of_logs)


class _Row(NamedTuple):
    bits: float
    n_bytes: int | None
    digest: str


def _table(texts: Iterable[Text], model: str) -> dict[tuple[str, str], _Row]:
    """Keep a few numbers of each document, by its file and name."""
    found: dict[tuple[str, str], _Row] = {}
    for each in texts:
        at = each.file, each.name
        if at in found:
            where = f" in the file {each.file}" if each.file else ""
            raise InputError(
                f"{model}: the document {shown(each.name)!r} occurs twice{where}; documents are paired by name, so"
                " name each once there, or leave out the log of a repeated run."
            )
        found[at] = _Row(-each.log_probability / math.log(2), each.n_bytes, each.digest)
    if not found:
        raise InputError(f"{model}: no text with a log-probability.")
    return found


def _by_name(tables: Sequence[dict[tuple[str, str], _Row]]) -> list[dict[str, _Row]]:
    """Name documents by their file too where several files of a log have documents of one name."""
    alone = all(len({name for _, name in table}) == len(table) for table in tables)
    return [{name if alone else f"{file}/{name}": row for (file, name), row in table.items()} for table in tables]


def _paired(tables: Sequence[dict[str, _Row]], names: Sequence[str], common: bool) -> tuple[list[PairedDocument], int]:
    """Pair the documents by name, or by their text where no name occurs in both; refuse those that differ."""
    one, two = tables
    if not one.keys() & two.keys():
        one, two = (_by_text(table, model) for table, model in zip(tables, names, strict=True))
    both = [name for name in one if name in two]
    alone = len(one) + len(two) - 2 * len(both)
    if not both or (alone and not common):
        raise unlike(names, ALONE, [name for name in (*one, *two) if (name in one) != (name in two)])
    pairs, other, unknown, infinite = [], [], [], []
    for name in both:
        a, b = one[name], two[name]
        sizes = {each.n_bytes for each in (a, b) if each.n_bytes is not None}
        if not sizes:
            unknown.append(name)
        elif len(sizes) > 1 or (a.digest and b.digest and a.digest != b.digest):
            other.append(name)
        elif not (math.isfinite(a.bits) and math.isfinite(b.bits)):
            infinite.append(name)
        else:
            pairs.append(PairedDocument(name, sizes.pop(), a.bits, b.bits))
    if other:
        raise unlike(names, OTHER.replace("{sizes}", f"{one[other[0]].n_bytes} and {two[other[0]].n_bytes}"), other)
    for text, some in ((UNSIZED, unknown), (IMPOSSIBLE, infinite)):
        if some:
            raise unlike(names, text, some)
    return pairs, alone


def _by_text(table: dict[str, _Row], model: str) -> dict[str, _Row]:
    found: dict[str, _Row] = {}
    for name, each in table.items():
        key = each.digest or name
        if key in found:
            raise InputError(
                f"{model}: the text of {shown(name)!r} occurs twice; name documents alike in both logs, so"
                " that they can be paired."
            )
        found[key] = each
    return found


def jackknife(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Ratio of sums over documents, its delete-one standard error, and the degrees of freedom by Kish's size of y."""
    of_x, of_y = float(x.sum()), float(y.sum())
    ratio, degrees = of_x / of_y, of_y**2 / float((y * y).sum()) - 1
    if (y >= of_y).any():  # nothing is left without it
        return ratio, math.nan, degrees
    without = (of_x - x) / (of_y - y)
    error = math.sqrt((x.size - 1) / x.size * float(((without - without.mean()) ** 2).sum()))
    return ratio, error, degrees


def _compared(
    pairs: Sequence[PairedDocument],
    left_out: int,
    names: tuple[str, str],
    confidence: float,
    remarks: Sequence[Remarks],
) -> TextComparison:
    from scipy.special import stdtr

    pairs = [each for each in pairs if each.n_bytes]
    if len(pairs) < 2:
        raise InputError(
            "texts: at least two documents with bytes are needed to compare models; documents are the rows."
        )
    a, b, n_bytes = (np.array(each, dtype=np.float64) for each in zip(*((*p[2:], p[1]) for p in pairs), strict=True))
    difference, error, degrees = jackknife(a - b, n_bytes)
    half = error * float(t_quantile(confidence, degrees))
    p_value = 2 * float(stdtr(degrees, -abs(difference) / error)) if error > 0 else math.nan
    largest = sorted(pairs, key=lambda each: (-abs(each.difference), each.name))[:MOST_SHOWN]
    total = float(n_bytes.sum())
    return TextComparison(
        names,
        len(pairs),
        int(total),
        (float(a.sum()) / total, float(b.sum()) / total),
        difference,
        Interval(difference - half, difference + half),
        p_value,
        2.0**-difference,
        degrees + 1,
        int((a < b).sum()),
        tuple(largest),
        left_out,
        confidence,
        tuple(said for found, name in zip(remarks, names, strict=True) for said in found.of_model(name)),
        tuple(_unequal(names, *remarks)),
    )


def _unequal(names: tuple[str, str], first: Remarks, second: Remarks) -> Iterator[str]:
    """Say how the logs of two models were made differently."""
    if first.contexts and second.contexts and first.contexts != second.contexts:
        one, two = (", ".join(f"{each:,}" for each in sorted(log.contexts)) for log in (first, second))
        yield f"contexts of {one} and {two} tokens"
    if first.beginning != second.beginning:
        name = shown(names[0] if first.beginning else names[1])
        yield f"a beginning-of-sequence token may be counted for {name} alone"
