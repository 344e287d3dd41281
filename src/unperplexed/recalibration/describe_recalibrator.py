"""A fitted recalibration as a document: what to do, the gain on held-out rows, and the maps with their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._lib.formatting import number_of, short_name
from ..forecasts.labels import Label
from ..maps.parameters import MANY_CLASSES
from ..report.document import Block, Column, Document, Prose, Table
from ..report.numbers import MINUS
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS
from .state import Facts, State


def recalibrator_document(state: State) -> Document:
    """Describe a fitted recalibration.

    Parameters
    ----------
    state : State
        The fitted maps, and the facts of the data.

    Returns
    -------
    Document
    """
    facts = state.facts
    sample = f"a random sample of {facts.sampled:,} of " if facts.sampled else ""
    return Document(
        title="Recalibration",
        facts=f"fitted to {sample}{facts.n_rows:,} rows of {len(facts.labels):,} classes",
        headline=_conclusion(state),
        lead=_gain_line(state),
        calm=state.identity > 0.5 or (state.gain is not None and not state.gain.significant),
        summary=[maps_table(state), *_terms(state, facts)],
    )


def maps_table(state: State) -> Table:
    """Return the maps that were tried, the heaviest first."""
    rows = sorted(state.candidates, key=lambda each: -each.weight)
    return Table(
        "Smaller held-out log loss is better.",
        [
            Column("map", [each.name for each in rows]),
            Column("weight", [f"{each.weight:.3f}" for each in rows], meaning="Weight in the average; they sum to 1."),
            Column(
                "held-out log loss",
                [f"{each.log_loss:.4f}" for each in rows],
                meaning="Nats a row, cross-fitted. Smaller is better.",
            ),
            Column("parameters", [f"{each.parameters:g}" for each in rows], meaning="Effective number of parameters."),
        ],
    )


def _terms(state: State, facts: Facts) -> list[Block]:
    """Name the maps that the rows do not support, say what a tally does not know, and explain the word lapse."""
    found: list[Block] = []
    if facts.certain:
        found.append(
            Prose(
                f"In {facts.certain:,} of {number_of(facts.n_rows, 'row')} the tally has a probability of exactly 0 or"
                f" 1, which counts as {facts.zero:.2g} away from it. Log-odds beyond ±36 are not kept in a tally: if"
                " there were such logits, fit to the rows."
            )
        )
    tried, C = {each.name for each in state.candidates}, len(state.facts.labels)
    untried = [name for name in MANY_CLASSES if name not in tried] if C > 2 and len(tried) > 1 else []
    if untried:
        found.append(Prose(f"Not tried with {state.facts.n_rows:,} rows of {C:,} classes: {', '.join(untried)}."))
    if any("lapse" in name for name in tried):
        found.append(Prose(_LAPSE, quiet=True))
    return found


_LAPSE = (
    "Lapse: the share of rows whose outcome is as good as random. A map with a lapse mixes this share of equal"
    " probabilities into the recalibrated ones, so that none is near 0 or 1."
)


def _conclusion(state: State) -> str:
    if state.identity > 0.5:
        return "Leave the forecasts as they are: no recalibration map improves the held-out log loss reliably"
    if state.gain is not None and not state.gain.significant:
        return "There is no evidence that recalibration reduces the log loss"
    return f"Recalibrate with {map_text(state)}"


def map_text(state: State) -> str:
    """Name the map, of an average the one with the largest weight, with its parameters.

    Once where both have one name, as a temperature has.
    """
    name = state.heaviest
    parameters = state.maps[name].parameters()
    shown = _parameters_text(parameters, state.facts.labels)
    named = shown if [*_numbers(parameters)] == [name] else f"{name}: {shown}" if shown else name
    return f"an average of maps, mainly {named}" if len(state.maps) > 1 else named


def _parameters_text(parameters: Mapping[str, Any], labels: Sequence[Label | None]) -> str:
    """Give the parameters of a map: numbers, and of shifts and slopes of the classes the lowest and the highest."""
    several = [
        _range(what, sign, parameters[name], labels)
        for name, what, sign in (("shifts", "a shift", "+"), ("slopes", "a slope", ""))
        if len(labels) > 2 and name in parameters
    ]
    return " and ".join(filter(None, [", ".join(_numbers(parameters).values()), *several]))


def _numbers(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Give the parameters that are one number each, as far as they change anything, with their names."""
    return {
        name: f"a curve of {value} points" if name == "points" else f"{name} {value:.3g}".replace("-", MINUS)
        for name, value in parameters.items()
        if isinstance(value, int | float) and abs(value) >= _NOTHING
    }


def _range(what: str, sign: str, values: Sequence[float], labels: Sequence[Label | None]) -> str:
    ends = (min(range(len(values)), key=values.__getitem__), max(range(len(values)), key=values.__getitem__))
    low, high = (f"{values[at]:{sign}.2g}".replace("-", MINUS) + f" for '{short_name(str(labels[at]))}'" for at in ends)
    return f"{what} for each class, {low} to {high}"


_NOTHING = 1e-6
"""A smaller parameter changes nothing that is printed."""


def _gain_line(state: State) -> str:
    if state.gain is None and state.facts.n_rows >= FEWEST_ROWS:
        return f"No gain is estimated from fewer than {FEWEST_CLUSTERS} clusters of dependent rows."
    if state.gain is None:
        return f"No gain is estimated from fewer than {FEWEST_ROWS} rows (n = {state.facts.n_rows})."
    return str(state.gain)
