"""Permuted: columns are named after other classes than those whose probabilities they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....forecasts.labels import Label
from ..kind import Kind, Said, quoted
from ..result import Advice

if TYPE_CHECKING:
    from ..permutations import Permutation

_MOST_NAMED = 4
_MOST_LABELS = 10


def said(found: Permutation, labels: Sequence[Label | None], *, alone: bool) -> Said:
    """Say which columns look permuted, what that costs, and how they are to be named.

    Parameters
    ----------
    found : Permutation
        What looks permuted.
    labels : sequence
        Labels that the columns have.
    alone : bool
        Whether other errors are not looked for.
    """
    names, moved = [quoted(label, str(at)) for at, label in enumerate(labels)], found.moved
    *first, last = [names[at] for at in moved]
    which, how, right = f"columns {', '.join(first)} and {last}", "permuted", "in the right order"
    if len(moved) == 2:
        how = right = "exchanged"
    elif found.order:
        which, how = "columns", found.order
    elif len(moved) > _MOST_NAMED:
        which = f"{len(moved)} of {len(labels)} columns"
    floor = f", with probabilities of at least {found.least:.2g}" * (found.least > 0)
    losses = f": log loss {found.log_loss:.3g}, {right} {found.log_loss - found.gain:.3g}{floor}"
    in_order = ", ".join(found.right(names))
    few = len(labels) <= _MOST_LABELS
    order = f": in their order they look like {in_order}" if few else ": the finding's column_labels, in --json too"
    others = " Then count the rows anew: counts of permuted columns do not tell other errors." * alone
    advice = Advice(f"Name the columns rightly before you recalibrate{order}.{others}")
    return KIND.clause(instead=f"{which} look {how}", more=losses), advice


KIND = Kind(
    "permuted",
    names=("columns permuted",),
    terms=("permuted",),
    place=8,
    noun="permuted columns",
    brief="permuted",
    shown_in="loss",
)
