"""A fitted recalibration as a document: what to do, the gain on held-out rows, and the maps with their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._lib.formatting import number_of
from ..calibration.dependence_search import dependence_words
from ..forecasts.group_keys import key_text
from ..maps.parameters import MANY_CLASSES
from ..recalibration.found_groups import FoundGroupRecalibrator
from ..recalibration.gain import FEWEST_CLUSTERS, FEWEST_ROWS
from ..recalibration.recalibrator import GroupRecalibrator, Recalibrator
from ..recalibration.saved import Saved
from ..recalibration.state import Candidate, Facts, State, concluded, conclusion, map_text
from ..report.document import Block, Column, Document, Prose, Table
from ..report.numbers import MINUS, share
from ..report.result import Naming, document


@document.register(Recalibrator)
def recalibrator_document(r: Recalibrator, naming: Naming, *, brief: bool) -> Document:
    """Describe a fit; before one, the settings."""
    if not r.fitted:
        return Document("Recalibration", "", repr(r), "It is not fitted.")
    clusters, found = r.n_rows_ >= FEWEST_ROWS, r.distributions
    few = f"{FEWEST_CLUSTERS} clusters of dependent rows" if clusters else f"{FEWEST_ROWS} rows (n = {r.n_rows_})"
    no_gain = f"No gain is estimated from fewer than {few}."
    if found is not None:
        facts = f"fitted to {found.n_rows:,} forecasts by {found.form}"
        headline = concluded(found.identity, found.gain, "log score", f"Recalibrate: {found.words}")
        gain = no_gain if found.gain is None else found.gain.of("Log score")
        summary: list[Block] = [maps_table(found.candidates, "log score")]
    else:
        of, sampled = r.state.facts, r.state.facts.sampled
        sample = f"a random sample of {sampled:,} of " if sampled else ""
        facts = f"fitted to {sample}{of.n_rows:,} rows of {len(of.labels):,} classes"
        zeros = "" if r.state.baseline is None else r.state.baseline.zeros_text()
        headline, gain = conclusion(r.state), no_gain if r.gain_ is None else f"{zeros} {r.gain_}".lstrip()
        summary = [maps_table(r.state.candidates, "log loss"), *_terms(r.state, of)]
    others = f"{1 - (found or r.state).identity:.0%}"
    changed = [_CHANGES.format(others)] * (r.leave_as_it_is and others != "0%")
    return Document(
        title="Recalibration",
        facts=facts,
        headline=headline,
        lead=". ".join([*changed, gain, *_dependence(r), *([] if found else _prior_shift(r.state))]),
        calm=r.leave_as_it_is or (r.gain_ is not None and not r.gain_.significant),
        summary=summary,
    )


def _prior_shift(state: State) -> Iterator[str]:
    """State what a change of the prevalence assumes, and how to test it."""
    if state.prevalence is not None:
        old, new = share(state.facts.observed[1]), share(state.prevalence)
        yield f"The map is for a prevalence of {new} instead of {old}"
        yield "It assumes that only the shares of the classes differ, and the rows of each are alike (prior shift)"
        yield "Test this on new rows with outcomes: unperplexed assess NEW --apply MAP should find no error"


_CHANGES = "The saved map changes them all the same, as other maps have {} of the weight"


def maps_table(candidates: Sequence[Candidate], score: str) -> Table:
    """Return the maps that were tried, the heaviest first."""
    rows = sorted(candidates, key=lambda each: -each.weight)
    return Table.of(
        f"Smaller held-out {score} is better. Weights also fall with the number of parameters, and for any map but the"
        f" identity: in few independent rows a map with the best {score} may weigh little.",
        Column("map", [each.name for each in rows]),
        Column("weight", [f"{each.weight:.3f}" for each in rows], meaning="Weight in the average; they sum to 1."),
        Column(
            f"held-out {score}",
            [f"{each.log_loss:.4f}".replace("-", MINUS) for each in rows],
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


def _dependence(r: Recalibrator | GroupRecalibrator) -> Iterator[str]:
    """Say which rows err alike though nobody declared it."""
    if r.dependence_ is not None:
        yield from filter(None, [dependence_words(r.dependence_, "calibration")])


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
        lead=". ".join([_lead(saved), *_dependence(r)]),
        calm=not saved.maps.own,
        summary=[] if saved.compared is None else [_groups_table(saved)],
    )


@document.register(FoundGroupRecalibrator)
def found_groups_document(r: FoundGroupRecalibrator, naming: Naming, *, brief: bool) -> Document:
    """Describe corrections of groups that were found."""
    return Document(
        title="Recalibration of groups that were found",
        facts=f"fitted to {r.shared_.n_rows_:,} rows of {len(r.labels_):,} classes",
        headline=f"Recalibrate all rows by one map, and correct {number_of(len(r.rules_), 'group')} of rows",
        lead="" if r.gain_ is None else f"Correcting the groups: {r.gain_.of('log loss')}.",
        calm=not r.rules_,
        summary=[Table("Groups that are corrected", [Column("group", r.rules_)])] if r.rules_ else [],
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
