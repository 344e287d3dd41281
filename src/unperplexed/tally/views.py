"""The three views as lists of pairs, from rows or a tally: what calibration errors and decompositions are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .._lib.errors import InputError, check_choice
from ..forecasts.forecasts import Forecasts
from ..forecasts.reading import DEFAULTS
from .tables import Pairs
from .tally import EXACT_LIMIT, FRACTION_BITS, Tally, View

PAIR_VIEWS: tuple[View, ...] = ("top-label", "each-class", "all-classes")
"""In the order in which they are shown."""

_UNSAID = {"exact_limit": EXACT_LIMIT, "fraction_bits": FRACTION_BITS, **DEFAULTS}

_EXACT_LIMIT = 1 << 21
"""Rows in memory are counted exactly while they can be: cells of one class are coarse, and bins are cut from them."""


def counted_for(
    views: Sequence[View | None],
    y_true: Any,
    y_prob: Any,
    reading: Mapping[str, Any],
    parts: Sequence[str] = (),
    exact_limit: int = _EXACT_LIMIT,
) -> Tally:
    """Count rows with what the views need, None being a default view, or take a tally as it is.

    Parameters
    ----------
    views : sequence of {"top-label", "each-class", "all-classes"} or None
        Views that will be read.
    y_true : array_like or Tally
        Outcomes, or what was counted.
    y_prob : array_like of shape (n,) or (n, C), or None
        Predicted probabilities; None for a tally.
    reading : mapping
        Options of `Forecasts`; none for a tally.
    parts : sequence of str, default ()
        Parts of the tally to keep besides, as in `Tally.of`.
    exact_limit : int, default 2**21
        As in `Tally.of`.

    Raises
    ------
    InputError
        For unknown views, options of rows beside a tally, and where no row has a positive weight.
    """
    for view in views:
        if view is not None:
            check_choice("view", view, PAIR_VIEWS)
    if isinstance(y_true, Tally):
        refuse_rows({"y_prob": y_prob, **reading})
        tally = y_true
    elif y_prob is None:
        raise InputError("y_prob: missing; expected outcomes and probabilities, or a Tally.")
    else:
        forecasts = Forecasts(y_true, y_prob, **reading)
        each = any(view_or(view, "all-classes", forecasts.n_classes) == "each-class" for view in views)
        tally = Tally.count(
            forecasts, parts=[*parts, *(["classes"] if each else [])], exact_limit=exact_limit, diagnosed=0
        )
    if not tally.weight > 0:
        raise InputError("no rows of positive weight.")
    return tally


def refuse_rows(given: Mapping[str, Any]) -> None:
    """Refuse, beside a tally, what is for the reading or counting of rows and is not left at its default."""
    for name, value in given.items():
        left_out = value is None or value is False or (isinstance(value, list | tuple) and not value)
        if not left_out and not (name in _UNSAID and value == _UNSAID[name]):
            raise InputError(f"{name}: a tally's rows are already counted; give it to Tally.of instead.")


def view_or(view: View | None, otherwise: View, n_classes: int) -> View:
    """Give the view that is meant: by default each class for two classes, for more the other one."""
    return view or ("each-class" if n_classes == 2 else otherwise)


def pairs_by_class(tally: Tally, view: View) -> list[Pairs]:
    """Pairs of a view: one group, or one for each class; of two classes those of the positive one, which say all."""
    if view != "each-class":
        return [tally.pairs(view)]
    if not tally.knows_classes:
        raise InputError(
            "view: this tally was made without the part 'classes', which the each-class view needs; count it again with"
            " parts=['classes'] (--parts classes)."
        )
    pairs, _, first = tally.each_class()
    groups = [Pairs(*(column[slice(*ends)] for column in pairs)) for ends in pairwise(first.tolist())]
    return groups if tally.n_classes > 2 else groups[1:]
