"""An assessment of texts as a document."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._lib.formatting import capital, confidence_interval, number_of, short_name, short_names
from ..language_models.text_comparison import FEW_DOCUMENTS, PositionLoss, Rate, TextAssessment, TextComparison, rate_of
from ..language_models.text_tally import FrequencyLoss
from ..report.chart import Axis, Chart, Points, value_axis
from ..report.document import LONGEST_NAME, Block, Column, Document, Section, Table
from ..report.numbers import MINUS, count, estimate, number, share, signed
from ..report.result import Naming, document
from ..report.tables import aside, ci, estimates, how
from ..statistics.means import ROBUST

_CALLED = {"token": "per token", "byte": "per byte", "word": "per word", "document": "per document"}
_MEANS = {0.0: "geometric accuracy", 1.0: "decisiveness", ROBUST: "robustness"}

_TEXTS = "ratios of sums over documents, which are the clusters of the intervals"
_PAIRED = "paired by document, jackknife over documents; bytes are those of the same texts for both models"
"""How figures of one model, and of two, are computed."""

_IN_LOGS = "What was found in the logs"


@document.register(TextAssessment)
def text_document(found: TextAssessment, naming: Naming, *, brief: bool) -> Document:
    """Describe an assessment of texts."""
    rate = rate_of(found)
    level = confidence_interval(found.confidence)
    if rate.unit == "byte":
        headline = f"{number(rate.bits)} bits per byte{aside(ci(level, rate.bits_interval))}"
    else:
        headline = f"Perplexity {number(rate.perplexity)} {_CALLED[rate.unit]}"
        headline += aside(ci(level, rate.perplexity_interval))
    called = "geometric mean of the probability " + _CALLED[rate.unit]
    lead = f"The {called} is {number(rate.geometric_accuracy)} (geometric accuracy; larger is better)."
    if found.greedy is not None:
        lead += f" All tokens were the most probable ones in {share(found.greedy.value)} of the texts."
    totals = [number_of(found.n_documents, "document")]
    totals += [number_of(round(each.total), unit) for unit, each in found.rates.items() if unit != "document"]
    where: list[Block] = [position_table(found)] if found.positions else []
    where += [frequency_table(found)] if found.frequencies else []
    where += [document_table(found)] if found.documents else []
    where += [token_table(found)] if found.tokens else []
    profiles: list[Block] = [profile_table(found)] if found.document_profile else []
    return Document(
        title=naming.titled("language model on texts"),
        facts=", ".join(totals),
        headline=headline,
        lead=lead,
        calm=True,
        figure=position_chart(found),
        first=Section("rates", "Probability per unit of text", [rate_table(found)], "Rates"),
        sections=[
            Section("profile", "Risk profile", profiles, "Profile"),
            Section("where", "Where the loss is", where, "Where"),
            how(f"Settings: {_TEXTS}.", {_IN_LOGS: found.remarks}, naming.command),
        ],
        summary=[
            rate_table(found),
            *([task_table(found)] if len(found.tasks) > 1 else []),
            *([profile_table(found, (ROBUST, 0.0, 1.0))] if profiles else []),
            *([position_table(found)] if len(found.positions) > 1 else []),
            *([frequency_table(found)] if len(found.frequencies) > 1 else []),
            *([token_table(found, 5)] if found.tokens else []),
        ],
        settings=_TEXTS,
        warnings=[*_warnings(found), *found.remarks],
    )


def _warnings(found: TextAssessment) -> list[str]:
    if found.n_documents < 2:
        return ["one document has no interval: documents are the clusters"]
    if found.n_documents < FEW_DOCUMENTS:
        return [f"{found.n_documents} documents are few, so that intervals are too narrow"]
    return []


def rate_table(found: TextAssessment) -> Table:
    """Return geometric accuracy, perplexity and bits of each unit."""
    rates: list[Rate] = list(found.rates.values())
    return Table.of(
        "Smaller perplexity and fewer bits are better. Only figures per byte and per word of the same texts are"
        " comparable between models with different tokens.",
        Column("", [_CALLED[each.unit] for each in rates]),
        Column("geometric accuracy", [number(each.geometric_accuracy) for each in rates]),
        Column("perplexity", [number(each.perplexity) for each in rates]),
        estimates("bits", ((each.bits, each.bits_interval) for each in rates)),
        notes=f"{confidence_interval(found.confidence)} of bits",
    )


def task_table(found: TextAssessment) -> Table:
    """Return the bits of each task."""
    rates = list(found.tasks.values())
    return Table.of(
        f"By task, bits {_CALLED[rates[0].unit]}.",
        Column("task", short_names(found.tasks, LONGEST_NAME)),
        Column(f"{rates[0].unit}s", [count(each.total) for each in rates]),
        estimates("bits", ((each.bits, each.bits_interval) for each in rates)),
        notes=confidence_interval(found.confidence),
    )


def profile_table(found: TextAssessment, orders: tuple[float, ...] | None = None) -> Table:
    """Return generalized means over tokens and documents; of some orders only, if named."""
    tokens = {each.order: each for each in found.token_profile}
    documents = {each.order: each for each in found.document_profile}
    shown = [each for each in documents if orders is None or each in orders]
    columns = [
        Column(
            "order",
            [f"{MINUS}2/3 {_MEANS[r]}" if r == ROBUST else f"{number(r)} {_MEANS.get(r, '')}".strip() for r in shown],
        )
    ]
    for title, profile in (("over tokens", tokens), ("over documents", documents)):
        if profile:
            columns.append(estimates(title, ((profile[r].mean, profile[r].interval) for r in shown)))
    per = "byte" if "byte" in found.rates else "token"
    return Table(
        f"Generalized mean of the probability of a token, and of the documents' geometric accuracies per {per}. Larger"
        " is better; low orders are moved by the least probable ones.",
        columns,
        notes=confidence_interval(found.confidence),
    )


def _loss_table(
    caption: str, found: TextAssessment, rows: Sequence[PositionLoss | FrequencyLoss], *columns: Column
) -> Table:
    """Return the loss of each class of tokens, with its share."""
    return Table.of(
        caption,
        *columns,
        Column("tokens", [count(each.tokens) for each in rows]),
        estimates("bits per token", ((each.bits_per_token, each.interval) for each in rows)),
        Column("share of the loss", [share(each.share) for each in rows]),
        notes=confidence_interval(found.confidence),
    )


def position_table(found: TextAssessment) -> Table:
    """Return the loss by position within the document."""
    position = Column("position", [position_text(each) for each in found.positions])
    return _loss_table("Loss by position in the document.", found, found.positions, position)


def position_text(each: PositionLoss) -> str:
    """Name positions: "1", "5 to 8", "4,194,305 and later"."""
    if each.last is None:
        return f"{each.first:,} and later"
    return _range_text(each.first, each.last)


def _range_text(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def frequency_table(found: TextAssessment) -> Table:
    """Return the loss of rare and of frequent tokens."""
    rows = found.frequencies
    occurrences = Column("occurrences", [_range_text(each.first, each.last) for each in rows])
    distinct = Column("distinct tokens", [count(each.distinct) for each in rows])
    caption = "Loss by token frequency: how often the distinct token occurs in these texts."
    return _loss_table(caption, found, rows, occurrences, distinct)


def document_table(found: TextAssessment) -> Table:
    """Return the documents with the most bits per byte, or per token."""
    per = "byte" if "byte" in found.rates else "token"
    rows = found.documents
    sizes = [(each.n_bytes if per == "byte" else each.tokens) or 0 for each in rows]
    return Table.of(
        f"Documents with the most bits per {per}.",
        Column("document", short_names((each.name for each in rows), LONGEST_NAME)),
        Column(f"{per}s", [count(size) for size in sizes]),
        Column(f"bits per {per}", [number(each.bits / (size or 1)) for each, size in zip(rows, sizes, strict=True)]),
        Column("bits", [number(each.bits, 1) for each in rows]),
    )


def token_table(found: TextAssessment, most: int = 20) -> Table:
    """Return the most surprising tokens after what comes before them."""
    rows = found.tokens[:most]
    return Table.of(
        "Most surprising tokens.",
        Column("token", [short_name(repr(each.token), 24) for each in rows]),
        Column("bits", [number(each.bits, 1) for each in rows]),
        Column("document", short_names((each.document for each in rows), LONGEST_NAME), words=True),
        Column("after", [short_name(each.context[-24:], 24) for each in rows], words=True),
    )


def position_chart(found: TextAssessment) -> Chart | None:
    """Draw the loss by position; None with fewer than three groups of positions."""
    rows = [each for each in found.positions if math.isfinite(each.bits_per_token)]
    if len(rows) < 3:
        return None
    x = np.arange(len(rows), dtype=np.float64)
    y, low, high = np.array([(each.bits_per_token, *each.interval) for each in rows]).T
    top = float(max(y.max(), np.max(high[np.isfinite(high)], initial=0.0)))
    return Chart(
        title="Bits per token by position in the document",
        subtitle=f"Points with {confidence_interval(found.confidence)}; positions double from one point to the next",
        label="Bits per token by position: "
        + ", ".join(f"{position_text(each)} {number(each.bits_per_token)}" for each in rows),
        x=Axis(-0.5, len(rows) - 0.5, [(float(at), f"{row.first:,}") for at, row in enumerate(rows)], "Position"),
        y=value_axis(0.0, top, "Bits per token. Smaller is better"),
        points=(Points(x, y, np.where(np.isfinite(low), low, y), np.where(np.isfinite(high), high, y)),),
    )


@document.register(TextComparison)
def comparison_document(c: TextComparison, naming: Naming, *, brief: bool) -> Document:
    """Describe a comparison of two models on the same texts."""
    text = c.verdict
    few = [f"{c.n_documents} documents are few, so that the interval is too narrow"]
    warnings = few if c.n_documents < FEW_DOCUMENTS else []
    if c.left_out:
        warnings.append(f"{number_of(c.left_out, 'document')} left out: in one of the logs only")
    ratio = number(c.geometric_accuracy_ratio)
    return Document(
        title=f"{' and '.join(c.names)} on the same texts",
        facts=f"{number_of(c.n_documents, 'document')}, {number_of(c.n_bytes, 'byte')}; effective sample"
        f" size {number_of(round(c.effective_documents), 'document')}",
        headline=text if c.significant and not c.reservation else capital(text),  # names keep their case
        lead=f"The geometric accuracy per byte of {c.names[0]} is {ratio} times that of {c.names[1]}."
        f" {c.names[0]} needs fewer bits in {c.first_better:,} of {number_of(c.n_documents, 'document')}.",
        calm=not c.significant or bool(c.reservation),
        first=Section("models", "Bits per byte", [model_table(c)], "Models"),
        sections=[
            Section("documents", "Documents that decide it", [decisive_table(c)], "Documents"),
            how(f"Settings: {_PAIRED}.", {_IN_LOGS: c.remarks}, naming.command),
        ],
        summary=[model_table(c), decisive_table(c, 5)],
        settings=_PAIRED,
        warnings=[*warnings, *c.remarks],
    )


def model_table(c: TextComparison) -> Table:
    """Return the bits per byte of both models and their difference."""
    value, limits = estimate(c.difference, c.interval)
    return Table.of(
        "Smaller is better.",
        Column("model", [*short_names(c.names), "difference"]),
        Column(
            "bits per byte",
            [*(number(each) for each in c.bits_per_byte), value if c.difference < 0 else f"+{value}"],
            ["", "", limits],
        ),
        notes=confidence_interval(c.confidence),
    )


def decisive_table(c: TextComparison, most: int = 20) -> Table:
    """Return the documents that contribute most to the difference."""
    rows = c.documents[:most]
    return Table.of(
        "Documents with the largest difference in bits.",
        Column("document", short_names((each.name for each in rows), LONGEST_NAME)),
        Column("bytes", [count(each.n_bytes) for each in rows]),
        Column("difference in bits", [signed(each.difference, 1) for each in rows]),
        Column("per byte", [signed(each.difference / each.n_bytes) for each in rows]),
    )
