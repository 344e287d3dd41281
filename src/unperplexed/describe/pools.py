"""A pool of forecasters as a document: whether it is better than its best one, with weights and log losses."""

from __future__ import annotations

import math

from .._lib.formatting import capital, number_of, short_name, short_names
from ..recalibration.pools import HeldOut, Pool
from ..report.document import LONGEST_NAME, Action, Column, Document, Metric, Section, Table
from ..report.numbers import MINUS, between, figure
from ..report.result import Naming, document
from ..report.tables import how


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
