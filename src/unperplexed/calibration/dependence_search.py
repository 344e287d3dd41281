"""What a result says of dependence that nobody declared: what was looked at, and what was found."""

from __future__ import annotations

import math

from .._lib.dataclasses import replace
from .._lib.formatting import number_of, p_value_text
from .._lib.typing import ByValue
from .dependence import Dependence, DifferingGroups

DECLARED, DECLINED = "clusters are declared", "declined"
OF_TALLY = "a tally has no columns and no order"
OF_ENGINE = "the rows are counted elsewhere; the engine local looks for it"
UNREAD = "the rows cannot be read"
OF_ROW = "the forecasts of a row are a cluster"
"""Why dependence was not looked for."""

UNSEEN = (OF_TALLY, OF_ENGINE, UNREAD)
"""Reasons that nobody gave."""


class DependenceSearch(ByValue):
    """Whether rows that nobody declared dependent err alike: what was looked at, and what was found."""

    looked_at: tuple[str, ...] = ()
    """Columns, beside those of outcomes and probabilities, whose equal values may make rows dependent."""
    order: bool = False
    """Whether the order of the rows was looked at: not where they are sorted by outcome."""
    found: Dependence | None = None
    """What was found; None where nothing speaks against independent rows, or it was not looked for."""
    differing: DifferingGroups | None = None
    """Groups too few to be clusters whose biases differ; not looked for where rows err alike, or are copies."""
    p_value: float = math.nan
    """Of the test by the clusters that were found: of calibration (two classes), in a comparison of the first
    difference in log loss, of skill in log loss; NaN where none was made."""
    independent_p_value: float = math.nan
    """Of the same test of independent rows."""
    copies: int = 0
    """Rows with the same prediction and outcome as another, where that is no chance."""
    reason: str = ""
    """Why dependence was not looked for; "" where it was."""

    def tested(self, p_value: float, independent: float) -> DependenceSearch:
        """Return it with the p-values of a test by clusters that were taken over, and of independent rows."""
        return replace(self, p_value=p_value, independent_p_value=independent) if self.taken else self

    @property
    def taken(self) -> bool:
        """Whether the rows are judged in the clusters that were found."""
        return self.found is not None and self.found.taken


OF_A_TALLY = DependenceSearch(reason=OF_TALLY)


def dependence_words(search: DependenceSearch, tested: str = "") -> str:
    """Say which rows err alike, and what comes of it; "" where nothing speaks against independent rows.

    Parameters
    ----------
    search : DependenceSearch
        What was found.
    tested : str, default ""
        What has the p-values, if it is not the verdict.
    """
    found, copies = search.found, ""
    if search.copies:
        copies = (
            f"{search.copies:,} rows have prediction and outcome in common with another: if they are copies, keep one"
            " of each."
        )
    if found is None:
        return copies or ("" if search.differing is None else differing_words(search.differing))
    alike = alike_words(found)
    also = f" Rows of the same {' or '.join(map(repr, found.also))} err alike too." if found.also else ""
    if not found.taken:
        worth = f"They are worth about {found.n_rows / found.design_effect:,.0f} independent rows."
        by = ", ".join(found.columns) or "blocks"
        p = "" if math.isnan(search.p_value) else f" Judged by {by}, {p_value_text(search.p_value)}."
        return f"{alike}. {EITHER} {worth}{p}{also} {copies}".rstrip()
    judged = f"{alike}, so they are judged in these clusters"
    if math.isnan(search.p_value + search.independent_p_value):
        return f"{judged}.{also}"
    by_clusters, independent = map(p_value_text, (search.p_value, search.independent_p_value))
    what = f"{tested}: " if tested else ""
    without = "as" if by_clusters == independent else f"but {independent}"
    return f"{judged} ({what}{by_clusters}, {without} if rows were independent).{also}"


def independent_words(search: DependenceSearch) -> str:
    """Call rows independent, and say what speaks for or against it."""
    if search.found is not None or search.copies or search.differing is not None:
        return "judged as independent rows"
    return f"independent rows{' (nothing speaks against it)' if search.looked_at or search.order else ''}"


def differing_words(groups: DifferingGroups) -> str:
    """Say which groups have biases that differ, and what shows them."""
    differ = f"differ in bias by more than chance (adjusted {p_value_text(groups.p_value)})"
    remedy = f"too few to be clusters. Assess each: --by {groups.column}, in Python assess_by."
    return f"The {groups.n_groups:,} groups of {groups.column!r} {differ}, and are {remedy}"


EITHER = "Either each group has a bias of its own, or its rows depend on one another."


def alike_words(found: Dependence) -> str:
    """Say which rows err alike."""
    names = ", ".join(found.columns if len(found.columns) > 1 else map(repr, found.columns))
    which = f"Rows of the same {names} ({found.n_clusters:,})"
    if found.block is not None:
        which = f"Rows near one another, in {found.n_clusters:,} blocks of {found.block:,},"
    return f"{which} err alike"


def looked_at_words(search: DependenceSearch) -> str:
    """Say what was looked at, or why nothing was."""
    if search.reason:
        return f"dependence not looked for: {search.reason}"
    columns = [number_of(len(search.looked_at), "column")] if search.looked_at else []
    among = [*columns, *(["the order of the rows"] if search.order else [])]
    if not among:
        return "dependence looked for in no column, as none has groups of rows"
    found = "nothing speaks for it" if search.found is None and search.differing is None else "found"
    copies = ", but for copies of rows" if search.found is None and search.copies else ""
    return f"dependence looked for in {' and '.join(among)}: {found}{copies}"
