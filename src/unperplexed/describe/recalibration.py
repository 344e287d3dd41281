"""A fitted recalibration as a document: what to do, the gain on held-out rows, and the maps with their weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .._lib.formatting import capital, number_of, short_name, short_names
from ..forecasts.group_keys import key_text
from ..maps.parameters import MANY_CLASSES
from ..recalibration.gain import FEWEST_CLUSTERS, FEWEST_ROWS
from ..recalibration.group_recalibrator import GroupRecalibrator
from ..recalibration.pool_result import HeldOut, Pool
from ..recalibration.recalibrator import Recalibrator
from ..recalibration.saved import Saved
from ..recalibration.state import Facts, State, conclusion, map_text
from ..report.document import LONGEST_NAME, Action, Block, Column, Document, Metric, Prose, Section, Table
from ..report.numbers import MINUS, between, figure
from ..report.result import Naming, document
from ..report.tables import how


@document.register(Recalibrator)
def recalibrator_document(r: Recalibrator, naming: Naming, *, brief: bool) -> Document:
    """Describe a fit; before one, the settings."""
    if not r.fitted:
        return Document("Recalibration", "", repr(r), "It is not fitted.")
    state = r.state
    facts = state.facts
    sample = f"a random sample of {facts.sampled:,} of " if facts.sampled else ""
    return Document(
        title="Recalibration",
        facts=f"fitted to {sample}{facts.n_rows:,} rows of {len(facts.labels):,} classes",
        headline=conclusion(state),
        lead=_gain_line(state),
        calm=state.identity > 0.5 or (state.gain is not None and not state.gain.significant),
        summary=[maps_table(state), *_terms(state, facts)],
    )


def maps_table(state: State) -> Table:
    """Return the maps that were tried, the heaviest first."""
    rows = sorted(state.candidates, key=lambda each: -each.weight)
    return Table.of(
        "Smaller held-out log loss is better.",
        Column("map", [each.name for each in rows]),
        Column("weight", [f"{each.weight:.3f}" for each in rows], meaning="Weight in the average; they sum to 1."),
        Column(
            "held-out log loss",
            [f"{each.log_loss:.4f}" for each in rows],
            meaning="Nats a row, cross-fitted. Smaller is better.",
        ),
        Column("parameters", [f"{each.parameters:g}" for each in rows], meaning="Effective number of parameters."),
    )


def _terms(state: State, facts: Facts) -> Iterator[Block]:
    """Name the maps that the rows do not support, say what a tally does not know, and explain the word lapse."""
    if facts.certain:
        yield Prose(
            f"In {facts.certain:,} of {number_of(facts.n_rows, 'row')} the tally has a probability of exactly 0 or"
            f" 1, which counts as {facts.zero:.2g} away from it. Log-odds beyond ±36 are not kept in a tally: if"
            " there were such logits, fit to the rows."
        )
    tried, C = {each.name for each in state.candidates}, len(state.facts.labels)
    untried = [name for name in MANY_CLASSES if name not in tried] if C > 2 and len(tried) > 1 else []
    if untried:
        yield Prose(f"Not tried with {state.facts.n_rows:,} rows of {C:,} classes: {', '.join(untried)}.")
    if any("lapse" in name for name in tried):
        yield Prose(_LAPSE, quiet=True)


_LAPSE = (
    "Lapse: the share of rows whose outcome is as good as random. A map with a lapse mixes this share of equal"
    " probabilities into the recalibrated ones, so that none is near 0 or 1."
)


def _gain_line(state: State) -> str:
    if state.gain is None and state.facts.n_rows >= FEWEST_ROWS:
        return f"No gain is estimated from fewer than {FEWEST_CLUSTERS} clusters of dependent rows."
    if state.gain is None:
        return f"No gain is estimated from fewer than {FEWEST_ROWS} rows (n = {state.facts.n_rows})."
    return str(state.gain)


@document.register(GroupRecalibrator)
def group_recalibrator_document(r: GroupRecalibrator, naming: Naming, *, brief: bool) -> Document:
    """Describe fitted maps of groups; before a fit, that there is none."""
    if not r.fitted:
        return Document("Recalibration by group", "", repr(r), "It is not fitted.")
    saved = r.state
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


@document.register(Pool)
def pool_document(p: Pool, naming: Naming, *, brief: bool) -> Document:
    """Describe a pool."""
    headline, lead = _conclusion(p)
    table = members_table(p)
    fitted = f"; fitted to {number_of(p.n_rows, 'row')}" if p.n_rows else ""
    return Document(
        title=naming.titled(f"pool of {number_of(len(p.weights), 'forecaster')}"),
        facts=f"{_parameters(p)}{fitted}",
        headline=headline,
        lead=lead,
        calm=p.held_out is not None and p.held_out.significant,
        actions=_advice(p.held_out),
        metrics=_metrics(p.held_out),
        first=Section("members", "Forecasters", [table], "Forecasters"),
        sections=[how(f"Parameters: {_parameters(p)}.", {"Warnings": p.warnings}, naming.command)],
        summary=[table],
        warnings=p.warnings,
    )


def members_table(p: Pool) -> Table:
    """Return the weight and the log loss of each forecaster."""
    names = short_names(p.weights, LONGEST_NAME)
    columns = [
        Column("forecaster", names),
        Column("weight", [f"{w:.3f}" for w in p.weights.values()], meaning="Share in the mean; all weights sum to 1."),
    ]
    if p.held_out is not None:
        losses = [figure(p.held_out.members[each], 4) for each in p.weights]
        columns.append(Column("log loss", losses, meaning="Nats a row on the same rows. Smaller is better."))
        if p.held_out.recalibrated:
            alone = [figure(p.held_out.recalibrated[each], 4) for each in p.weights]
            meaning = "Log loss once recalibrated alone, cross-fitted. Smaller is better."
            columns.append(Column("recalibrated alone", alone, meaning=meaning))
    return Table("", columns, sortable=len(names) > 2)


def _conclusion(p: Pool) -> tuple[str, str]:
    h = p.held_out
    if h is None:
        kind = f"{p.method} pool of {number_of(len(p.weights), 'forecaster')}"
        return capital(kind), "Its parameters were chosen, not fitted."
    best, size = short_name(h.best), figure(abs(h.gain))
    interval = f" (95% CI of the gain {between(*h.interval)})" if not math.isnan(h.interval.low) else ""
    change = f"{size} nats a row {'lower' if h.gain > 0 else 'higher'} than that of {best!r}{interval}"
    loss = f"Its log loss, cross-fitted on these {number_of(p.n_rows, 'row')}, is {figure(h.log_loss)}, {change}."
    if h.recalibrated:
        name = short_name(h.best_recalibrated)
        alone = f"{name!r} recalibrated alone ({figure(h.recalibrated[h.best_recalibrated])})"
        if h.by_recalibration:
            source = f"The gain over {best!r} as it is ({size}) comes from recalibration."
            return f"No evidence that the pool is better than {alone}", f"{source} {loss}"
        if h.significant:
            loss += f" It is {figure(h.gain_recalibrated)} lower than that of {alone}."
    if h.significant:
        return f"The pool is better than its best forecaster, {best!r}", loss
    return f"No evidence that the pool is better than its best forecaster, {best!r}", loss


def _advice(h: HeldOut | None) -> list[Action]:
    """Say what to use where the pool is not better."""
    if h is None or h.significant:
        return []
    if h.by_recalibration:
        alone = short_name(h.best_recalibrated)
        return [Action("What to do", f"Recalibrate {alone!r} alone: use `recalibrate`.", "Advice")]
    return [Action("What to do", f"Use {short_name(h.best)!r} alone.", "Advice")]


def _metrics(h: HeldOut | None) -> list[Metric]:
    if h is None:
        return []
    best = f"best forecaster {figure(h.members[h.best])}"
    gain = f"{MINUS}{figure(-h.gain)}" if h.gain < 0 else figure(h.gain)
    return [
        Metric(
            "log loss",
            "Mean of minus the logarithm of the probability assigned to the observed class, cross-fitted.",
            figure(h.log_loss),
            reference=best,
            better="smaller",
        ),
        Metric(
            "gain",
            "Log loss of the best forecaster minus the cross-fitted log loss of the pool, in nats a row.",
            gain,
            between(*h.interval),
            better="larger",
        ),
    ]


def _parameters(p: Pool) -> str:
    """Say in words how probabilities are combined, step by step."""
    mean = {1.0: "arithmetic", 0.0: "geometric"}.get(p.order, "generalized")
    words = f"{p.method} pool: the weighted {mean} mean of the probabilities (order {p.order:.3g})"
    if abs(p.power - 1) > 0.005:
        words += f", raised to the power {p.power:.3g} ({'extremized' if p.power > 1 else 'moderated'})"
    if p.beta is not None:
        parameters = f"parameters {p.beta[0]:.3g} and {p.beta[1]:.3g}"
        words += f", then sent through the beta distribution function with {parameters} (beta map)"
    return words
