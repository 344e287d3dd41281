"""Fitted maps of groups as a document: whether groups need maps of their own, the gain, and the groups."""

from __future__ import annotations

from ..forecasts.group_keys import key_text
from ..report.document import Column, Document, Table
from ..report.numbers import MINUS
from .describe_recalibrator import map_text
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS
from .saved_groups import Saved
from .state import State


def group_recalibrator_document(saved: Saved) -> Document:
    """Describe fitted maps of groups."""
    by, facts = ", ".join(saved.by), saved.maps.shared.facts
    return Document(
        title="Recalibration by group",
        facts=f"fitted to {facts.n_rows:,} rows of {len(facts.labels):,} classes",
        headline=f"Recalibrate with a map for each group by {by}" if saved.maps.own else f"Use one map for all {by}",
        lead=_lead(saved),
        calm=not saved.maps.own,
        summary=[] if saved.compared is None else [_groups_table(saved)],
    )


def _lead(saved: Saved) -> str:
    if saved.compared is None:
        return (
            f"Groups are not compared with one map in fewer than {FEWEST_ROWS} rows or {FEWEST_CLUSTERS} clusters of"
            " dependent rows."
        )
    gain = saved.compared.gain
    low, high = (f"{x:.2g}".replace("-", MINUS) for x in gain.interval)
    before, after = gain.losses
    figures = f"cross-fitted on {gain.n_rows:,} rows: {before} with one map, {after} with maps of groups"
    interval = f"gain {gain.value:.2g}, 95% CI {low} to {high}".replace("-", MINUS)
    if saved.maps.own:
        return f"Log loss, {figures} ({interval})"
    return (
        f"Maps of their own are not shown to reduce the log loss, {figures} ({interval}). The saved file applies the"
        " one map to every group"
    )


def _groups_table(saved: Saved) -> Table:
    """List the groups, those that gain most first."""
    assert saved.compared is not None
    own = saved.maps.own
    rows = sorted(saved.compared.groups.items(), key=lambda each: (each[1].own - each[1].shared) * each[1].n_rows)
    columns = [
        Column("group", [key_text(key) for key, _ in rows]),
        Column("rows", [f"{each.n_rows:,}" for _, each in rows]),
        Column("one map", [f"{each.shared:.4f}" for _, each in rows], meaning="Log loss, cross-fitted."),
        Column("own map", [f"{each.own:.4f}" for _, each in rows], meaning="Log loss, cross-fitted."),
    ]
    if own:
        weights = [f"{1 - own[key].identity:.2f}" if key in own else "0" for key, _ in rows]
        columns.append(Column("own weight", weights, meaning="Weight of the group's own maps in the average."))
        columns.append(Column("change", [_change(own.get(key)) for key, _ in rows], words=True))
    return Table("Groups by what they gain. Log losses are cross-fitted; smaller is better.", columns)


def _change(state: State | None) -> str:
    """Name what the map of a group changes of what the one map gives."""
    if state is None or state.identity > 0.5:
        return ""
    return map_text(state)
