"""A comparison of two models on the same texts as a document."""

from __future__ import annotations

from .._lib.formatting import capital, confidence_interval, number_of, p_value_text, short_name, short_names
from ..report.document import Block, Code, Column, Document, Notes, Prose, Section, Table
from ..report.numbers import count, estimate, number, signed
from .text_comparison import TextComparison
from .text_result import FEW_DOCUMENTS


def verdict(c: TextComparison) -> str:
    """Say which model assigns the texts the higher probability, and whether the difference is significant."""
    first, second = (short_name(name) for name in c.names)
    level = confidence_interval(c.confidence)
    if c.reservation:
        fewer, more = (second, first) if c.difference > 0 else (first, second)
        return (
            f"{c.reservation}. In these logs {fewer} needs {number(abs(c.difference))} fewer bits per byte than {more}"
        )
    if not c.significant:
        _, limits = estimate(c.difference, c.interval)
        return (
            f"no evidence that {first} and {second} differ in bits per byte"
            f" ({level} of the difference {limits}, {p_value_text(c.p_value)})"
        )
    if c.difference > 0:
        first, second = second, first
    low, high = sorted((abs(c.interval.low), abs(c.interval.high)))
    value, limits = estimate(abs(c.difference), (low, high))
    return f"{first} needs {value} fewer bits per byte than {second} ({level} {limits}, {p_value_text(c.p_value)})"


def comparison_document(c: TextComparison, *, command: str = "") -> Document:
    """Describe a comparison of two models on the same texts."""
    text = verdict(c)
    notes: list[Block] = [Prose(f"Settings: {_settings(c)}.", quiet=True)]
    notes += [Notes("What was found in the logs", c.remarks)] if c.remarks else []
    notes += [Code(command, "Make this report again")] if command else []
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
            Section("how", "How this was computed", notes, "Settings"),
        ],
        summary=[model_table(c), decisive_table(c, 5)],
        settings=_settings(c),
        warnings=[*warnings, *c.remarks],
    )


def _settings(c: TextComparison) -> str:
    return "paired by document, jackknife over documents; bytes are those of the same texts for both models"


def model_table(c: TextComparison) -> Table:
    """Return the bits per byte of both models and their difference."""
    value, limits = estimate(c.difference, c.interval)
    return Table(
        "Smaller is better.",
        [
            Column("model", [*short_names(c.names), "difference"]),
            Column(
                "bits per byte",
                [*(number(each) for each in c.bits_per_byte), value if c.difference < 0 else f"+{value}"],
                ["", "", limits],
            ),
        ],
        notes=confidence_interval(c.confidence),
    )


def decisive_table(c: TextComparison, most: int = 20) -> Table:
    """Return the documents that contribute most to the difference."""
    rows = c.documents[:most]
    return Table(
        "Documents with the largest difference in bits.",
        [
            Column("document", short_names((each.name for each in rows), 200)),
            Column("bytes", [count(each.n_bytes) for each in rows]),
            Column("difference in bits", [signed(each.difference, 1) for each in rows]),
            Column("per byte", [signed(each.difference / each.n_bytes) for each in rows]),
        ],
    )
