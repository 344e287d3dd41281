"""The command, or the line of Python, that names the columns of classes rightly."""

from __future__ import annotations

from collections.abc import Sequence

from .._lib.dataclasses import Frozen
from .._lib.formatting import command_line
from ..forecasts.labels import Label

MOST_SPELLED = 30
"""Labels beyond which no command spells them all."""


class ColumnNames(Frozen):
    """Words of a command that reads the same rows, without those that say what the columns are called."""

    words: tuple[str, ...]
    prob: tuple[str, ...] = ()
    """The columns of probabilities, as the command in use names them."""
    labelled: bool = False
    """Whether it has labels beside them."""

    def command(self, labels: Sequence[Label | None], right: Sequence[Label | None]) -> str:
        """Give the command that names each column rightly; "" where it would be too long, or cannot be told.

        Parameters
        ----------
        labels : sequence
            Labels of the columns as they are.
        right : sequence
            The right ones.
        """
        if None in right or len(right) > MOST_SPELLED:
            return ""
        names = [str(label) for label in right]
        columns = self._columns([str(label) for label in labels])
        if columns:
            named = [f"{name}={column}" for name, column in zip(names, columns, strict=True)]
            return command_line([*self.words, "--prob", *named])
        return command_line([*self.words, *(["--prob", *self.prob] if self.prob else []), "--labels", *names])

    def _columns(self, labels: Sequence[str]) -> list[str]:
        """Name the column of each class, where these are several; none if a pattern does not tell them."""
        if len(self.prob) == len(labels) and not any("*" in text for text in self.prob):
            return [text.removeprefix(f"{label}=") for text, label in zip(self.prob, labels, strict=True)]
        if len(self.prob) == 1 and "*" in self.prob[0] and not self.labelled:
            return [self.prob[0].replace("*", label) for label in labels]
        return []
