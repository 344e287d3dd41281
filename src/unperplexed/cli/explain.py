"""Explanations of metrics and findings at the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._lib.errors import InputError

if TYPE_CHECKING:
    from ..report.explanations import Explanation


def add_explain(command: argparse.ArgumentParser) -> None:
    """Add the terms."""
    text = "metrics or findings, such as overconfident, log-loss or slope (default: list all terms)"
    command.add_argument("terms", nargs="*", metavar="TERM", help=text)


def explain(arguments: argparse.Namespace) -> None:
    """Explain terms, or list all."""
    from ..report import terminal
    from ..report.explanations import terms_document
    from .outputs import Outputs

    found = [each.to_text() for each in _explained(arguments.terms)]
    Outputs(arguments).print("\n\n".join(found) or terminal.text(terms_document()))


def _explained(words: Sequence[str]) -> list[Explanation]:
    """Take words for one term together, and if there is no such term for a term each."""
    from ..report.explanations import explain

    words = [word.strip() for word in words]
    if not words:
        return []
    try:
        return [explain(" ".join(words))]
    except InputError:
        try:
            return list({each.term: each for each in map(explain, words)}.values())
        except InputError:
            pass
        raise
