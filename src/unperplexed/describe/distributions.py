"""Predictive distributions of a number as a document: verdict and cost, where outcomes fell, and scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from .._lib.formatting import (
    capital,
    confidence_interval,
    number_of,
    p_value_cell,
    p_value_text,
    p_values,
    short_name,
    short_names,
)
from ..assessment.distribution_result import (
    DistributionAssessment,
    DistributionBreakdown,
    DistributionRemedy,
    SurprisingForecasts,
)
from ..calibration.dependence_search import dependence_words, independent_words
from ..calibration.diagnosis.result import HELD_OUT, joined
from ..calibration.diagnosis.words import terms
from ..forecasts.group_keys import key_text, key_texts
from ..report.document import (
    LONGEST_NAME,
    Action,
    Block,
    Code,
    Column,
    Document,
    Metric,
    Prose,
    Python,
    Section,
    Settings,
    Table,
    lookup,
)
from ..report.numbers import amount, between, count, expected, level_text, number, share
from ..report.result import Naming, document, drawn_as
from ..report.tables import Form, aside, ci, curve_estimates, estimates, how
from ..scores.distributions.rules import distribution_score_named, title_beside
from ..statistics.intervals import UNKNOWN, Interval
from ..statistics.intervals import Metric as Estimate
from ..tally.distributions import DistributionTally
from . import distribution_charts as charts
from .assessment_tables import findings_table, groups_found, groups_sections

_MOST_SURPRISING = 5
"""Surprising outcomes that a short form shows."""

_HOURS = 25
"""Groups that a short form shows: those of a day, and all rows."""

_SHORT = 20
"""Characters of the name of a group in a short form."""


@document.register(DistributionAssessment)
def distribution_document(a: DistributionAssessment, naming: Naming, *, brief: bool) -> Document:
    """Describe predictive distributions beside their outcomes."""
    level = confidence_interval(a.confidence)
    sections = [] if brief else [*_sections(a, level, naming)]
    return Document(
        title=naming.titled(a.headline),
        facts=(": " if brief else " · ").join(filter(None, [naming.called, f"{a.n_rows:,} forecasts by {a.form}"])),
        headline=headline(a),
        lead=" ".join(filter(None, [*evidence(a, level), dependence_words(a.dependence)])),
        calm=not a.diagnosis.findings,
        actions=[*_actions(a)],
        command=_command(a, naming),
        further=lookup(terms(a.diagnosis)) if a.diagnosis.findings else None,
        figure=None if brief else charts.pit_chart(a),
        figure_table=None if brief else pit_table(a),
        metrics=[*_metrics(a)],
        intervals=level,
        first=Section("findings", "What is wrong", [findings_table(a.diagnosis, "cost in nats")], "Findings")
        if a.diagnosis.findings
        else None,
        sections=sections,
        summary=[
            *([thresholds_table(a)] * bool(a.thresholds)),
            *map(surprises_table, filter(None, [a.surprises])),
            *groups_found(a.groups_found, brief=True),
        ],
        settings=settings(a),
        more=f"{naming.continued}: histogram, quantiles, coverage, surprising forecasts",
        warnings=a.notes,
    )


def headline(a: DistributionAssessment) -> str:
    """Give the verdict in a few words, with the p-value of the test."""
    if not a.diagnosis.findings:
        return joined(a.diagnosis.clauses)
    return f"{a.headline}{aside(p_value_text(a.diagnosis.p_value))}"


def evidence(a: DistributionAssessment, level: str) -> Iterator[str]:
    """Say how many outcomes were above the median, and how many an interval held."""
    limits = aside(ci(level, a.above_median.interval, share))
    above, place = share(a.above_median.value), "exceeded the predicted median"
    if a.thresholds:
        place = "fell in higher classes than predicted, those in the median's class in part"
    yield f"{above} of the outcomes {place}{limits}."
    if told := a.told:
        held, expected = between(*told.held.interval, share), f"{level_text(told.expected)} expected"
        about = aside(held, *([] if told.of_level else [expected]))
        yield f"{capital(told.subject)} held {share(told.held.value)} of the outcomes{about}."


def _actions(a: DistributionAssessment) -> Iterator[Action]:
    if not a.diagnosis.findings:
        return
    beyond = f"{count(a.beyond.count)} of {a.n_rows:,} outcomes were {a.beyond.where}; {expected(a.beyond.expected)}"
    lost = (
        f" Miscalibration loses at least {number(a.cost)} nats a forecast, at the resolution of {a.form} (divergence"
        f" probability {number(a.divergence_probability)})."
    )
    yield Action("What it costs", f"{beyond} were expected.{lost}", "Cost")
    advice = dict.fromkeys(each.advice.text for each in a.diagnosis.findings if each.advice.text)
    fitted = any(each.advice.fitted for each in a.diagnosis.findings)
    done = [*_remedy(a.remedy)] if fitted and a.remedy is not None else advice
    yield Action("What to do", " ".join([*done, *([HELD_OUT] if fitted else [])]), "Remedy")


def _remedy(found: DistributionRemedy) -> Iterator[str]:
    """Say what the remedy does and what it brings, or that this is uncertain."""
    gain, limits = found.gain, f"cross-fitted, {ci('95% CI', found.gain.interval)}"
    score = ""
    if found.score:
        title = distribution_score_named(found.score).title.replace("Plain", "plain")
        score = f"the {title} from {amount(found.before)} to {amount(found.after)}"
    if not found.advised:
        would = f" It would bring {score}." if score else ""
        yield f"What recalibration gains is uncertain: {number(gain.value)} nats in log score ({limits}).{would}"
        return
    lowered = f"the log score by {number(gain.value)} nats ({limits})"
    if score:
        lowered = f"{lowered}, but raises {score}" if found.after > found.before else f"{score} and {lowered}"
    yield f"{capital(found.words)}. That lowers {lowered}."


def _command(a: DistributionAssessment, naming: Naming) -> Code | None:
    if a.remedy is None or not a.remedy.advised:
        return None
    code = naming.recalibrate or Python("recalibrated = Recalibrator().fit(y_true, forecast).transform(new_forecast)")
    return Code(code, "Command or line of Python that recalibrates")


def _metrics(a: DistributionAssessment) -> Iterator[Metric]:
    mended = a.remedy if a.remedy is not None and a.remedy.score and a.remedy.advised else None
    of_members = {} if mended is None or mended.score in a.scores else {mended.score: Estimate(mended.before)}
    for name, found in {**a.scores, **of_members}.items():
        score = distribution_score_named(name)
        skill = a.skill if a.skill is not None and a.skill.score == name else None
        reference = "" if skill is None else f"{skill.reference} {amount(skill.reference_score)}"
        after = amount(mended.after) if mended is not None and name == mended.score else ""
        title, meaning = title_beside(name, a.scores, a.form), f"{capital(score.note)}."
        yield replace(_metric(title, meaning, found, amount, reference, score.better), after=after)
    if a.skill is not None:
        title, of = title_beside(a.skill.score, a.scores, a.form), a.skill.reference
        meaning = f"1 − {title} / {title} of {of}."
        yield _metric(f"Skill against {of}", meaning, a.skill.value, number, "0 is no better", "larger")
    if a.density_ratio is not None:
        meaning = "Geometric mean of the density at the outcomes / climatology's density; of quantiles, by their cells."
        yield _metric("Density / climatology's", meaning, a.density_ratio, number, "1 is no better", "larger")
    for each in a.usual_intervals:
        meaning, expected = "Share of the outcomes in this central interval.", f"{level_text(each.expected)} expected"
        yield _metric(f"Held by {each.name}", meaning, each.held, share, expected)
    title, sign = ("Too low by", 1) if a.bias.value >= 0 else ("Too high by", -1)
    meaning = "Bias in predicted spreads (interquartile range / 1.349)."
    yield _metric(f"{title} (spreads)", meaning, _times(a.bias, sign), number, "0 is best", best="0")
    if math.isfinite(a.median_spread):
        meaning, spread = "The same for the median predicted spread.", f"at spread {amount(a.median_spread)}"
        yield _metric(f"{title} (units)", meaning, _times(a.bias, sign * a.median_spread), amount, spread, best="0")
    meaning = "By how much intervals are to be widened, the bias being mended."
    yield _metric("Width factor needed", meaning, a.width, number, "1 is best", best="1")


def _times(found: Estimate, factor: float) -> Estimate:
    low, high = sorted(factor * end for end in found.interval)
    return Estimate(factor * found.value, interval=Interval(low, high))


def _metric(
    title: str, meaning: str, found: Estimate, form: Form, reference: str, better: str = "", best: str = ""
) -> Metric:
    limits = between(*found.interval, form)
    return Metric(title, meaning, form(found.value), limits, reference=reference, better=better, best=best)


def worth_text(degrees: float) -> str:
    """Say how many independent rows tell as much, as tests count them."""
    return f"worth {number(degrees + 1, 0)} independent rows ({number(degrees, 0)} degrees of freedom)"


def settings(a: DistributionAssessment, carried: str = "") -> str:
    """Say how rows depend on one another, how many independent ones they are worth, and what a spread is."""
    if a.n_clusters is None:
        rows = independent_words(a.dependence)
    else:
        of = "times of issue, forecasts of times that overlap may depend" if a.windows else "clusters of dependent rows"
        rows = f"{a.n_clusters:,} {of}, {carried or f'effective sample size {count(round(a.effective_rows))}'}"
    spread = "" if a.thresholds else "; spread = interquartile range / 1.349"
    return f"{rows}{', weighted' * a.weighted}{spread}; confidence {a.confidence:g}"


def _sections(a: DistributionAssessment, level: str, naming: Naming) -> Iterator[Section]:
    yield from groups_sections(a.groups_found)
    if a.thresholds:
        events: list[Block] = [charts.thresholds_chart(a), thresholds_table(a)]
        yield Section("thresholds", "Each threshold as an event", events, "Thresholds")
    quantiles: list[Block] = [charts.reliability_chart(a), quantiles_table(a)]
    yield Section("quantiles", "Reliability of each quantile", quantiles, "Quantiles", 6)
    if a.coverage:
        shown: list[Block] = [charts.coverage_chart(a), coverage_table(a, level)]
        yield Section("coverage", "Coverage of the intervals", shown, "Coverage", 6)
        if known_widths(a):
            yield Section("width", "Coverage and width", [charts.width_chart(a)], "Width", 6)
    if (s := a.surprises) is not None:
        wide = s.outcome.dtype.kind in "iuf" and (s.high > s.low).any()
        drawn = [charts.surprises_chart(s)] if wide else []
        yield Section("surprising", "The most surprising forecasts", [*drawn, surprises_table(s)], "Surprising", 6)
    yield how(f"Settings: {settings(a)}.", {"Notes": a.notes}, naming.command)


def pit_table(a: DistributionAssessment) -> Table:
    """Return the PIT histogram as numbers."""
    edges = [*map(level_text, a.pit.edges)]
    return Table.of(
        "Where the outcomes were in the forecast distributions",
        Column("between the quantiles of", [f"{low} and {high}" for low, high in pairwise(edges)]),
        Column("outcomes", [*map(share, a.pit.share)]),
        Column("expected", [*map(level_text, a.pit.expected)]),
        Column("band if calibrated", [between(x, y, share) for x, y in zip(a.pit.low, a.pit.high, strict=True)]),
        folded=True,
    )


def quantiles_table(a: DistributionAssessment) -> Table:
    """Return the share of the outcomes at or below each quantile."""
    q = a.quantiles
    return Table.of(
        "Share of the outcomes at or below each quantile",
        Column("quantile", [*map(level_text, q.level)]),
        curve_estimates("outcomes at or below", q.share, q.low, q.high, share),
        folded=True,
        notes=confidence_interval(a.confidence),
    )


def coverage_table(a: DistributionAssessment, level: str) -> Table:
    """Return how many outcomes each central interval held."""
    return Table.of(
        "Central intervals",
        Column("interval", [each.name for each in a.coverage]),
        Column("expected", [level_text(each.expected) for each in a.coverage]),
        estimates("held", ((each.held.value, each.held.interval) for each in a.coverage), share),
        *([Column("mean width", [amount(each.mean_width) for each in a.coverage])] * known_widths(a)),
        notes=level,
    )


def known_widths(a: DistributionAssessment) -> bool:
    """Say whether all intervals have a finite mean width that is not 0: PIT values and classes have none."""
    return not a.thresholds and all(0 < each.mean_width < math.inf for each in a.coverage)


def thresholds_table(a: DistributionAssessment) -> Table:
    """Return each threshold of ordered classes with its mean prediction and observed frequency."""
    found = a.thresholds
    return Table.of(
        "Each threshold as an event. Excess: observed frequency − mean prediction.",
        Column("outcome is", short_names((each.name for each in found), LONGEST_NAME)),
        Column("mean prediction", [share(each.mean_prediction) for each in found]),
        Column("observed frequency", [share(each.frequency) for each in found]),
        estimates("excess", ((each.excess, each.interval) for each in found)),
        Column(p_values(len(found)), [p_value_cell(each.adjusted_p_value) for each in found]),
        sortable=True,
        notes=confidence_interval(a.confidence, len(found)),
    )


def surprises_table(s: SurprisingForecasts) -> Table:
    """Return the rows with the largest losses."""
    numeric, found = s.outcome.dtype.kind in "iuf", (s.outcome, s.median, s.low, s.high)
    outcomes, medians, low, high = ([*map(amount, x)] if numeric else short_names(map(str, x), _SHORT) for x in found)
    rows = [*map(", ".join, zip(*s.beside.values(), strict=True))]
    return Table.of(
        f"The most surprising outcomes, by {distribution_score_named(s.score).title}; rows are counted from 0.",
        Column("row", [f"{row:,}" for row in s.row]),
        *([Column(short_name(", ".join(s.beside)), rows)] if rows else []),
        Column("outcome", outcomes),
        Column("predicted median", medians),
        Column("80% interval", [f"{x} to {y}" for x, y in zip(low, high, strict=True)]),
        Column("loss", [*map(amount, s.loss)]),
        brief=_MOST_SURPRISING,
    )


@document.register(DistributionBreakdown)
def breakdown_document(b: DistributionBreakdown, naming: Naming, *, brief: bool) -> Document:
    """Describe predictive distributions of all rows, and of each group."""
    whole, told = distribution_document(b.whole, naming, brief=brief), [Prose(worst(b))] * (len(b.groups) > 1)
    if brief:
        thresholds = whole.summary[: len(b.whole.thresholds)][:1]
        return replace(whole, summary=[*thresholds, groups_table(b, limits=False), *told])
    blocks: list[Block] = [*told, charts.groups_chart(b), groups_table(b)]
    section = Section("groups", f"By {short_name(', '.join(b.by))}", blocks, "Groups")
    return replace(whole, sections=[section, *whole.sections])


@document.register(DistributionTally)
def tally_document(tally: DistributionTally, naming: Naming, *, brief: bool) -> Document:
    """Describe what a tally holds."""
    what = f"Tally of {number_of(tally.n_rows, 'forecast')} by {tally.form}"
    cells = tally.cells.keys.shape[1]
    held = {**tally.tags.words(), "counts": f"{number_of(cells, 'cell')} of like rows, independent"}
    means = ((distribution_score_named(name), tally.score(name)) for name in tally.scores)
    for score, found in means:
        limits = confidence_interval(0.95), found.interval(0.95)
        held[title_beside(score.name, tally.scores, tally.form)] = f"{amount(found.mean)}{aside(ci(*limits, amount))}"
    return Document(
        title=naming.titled(what),
        facts=naming.called,
        headline=what,
        calm=True,
        summary=[Settings([*held.items()], "Contents")],
        warnings=tally.notes,
    )


def groups_table(b: DistributionBreakdown, *, limits: bool = True) -> Table:
    """Return the groups: what an interval held, cost, bias, width factor, first score, skill, verdict; with limits."""

    def column(heading: str, found: Iterable[Estimate], form: Form, *, noted: bool = limits) -> Column:
        return estimates(heading, ((x.value, x.interval if noted else UNKNOWN) for x in found), form)

    found, most = [each.assessment for each in b.groups], LONGEST_NAME if limits else _SHORT
    columns = [
        Column(short_name(", ".join(b.by), most), key_texts((each.key for each in b.groups), most)),
        Column("rows", [f"{each.n_rows:,}" for each in found]),
    ]
    if told := b.whole.told:
        at, heading = b.whole.coverage.index(told), f"held, {level_text(told.expected)} expected"
        columns.append(column(heading, (each.coverage[at].held for each in found), share))
    shown = (each.cost if each.diagnosis.findings else math.nan for each in found)  # 0 would say that none is lost
    costs = (Estimate(cost, interval=each.cost_interval) for cost, each in zip(shown, found, strict=True))
    columns += [
        column("cost in nats", costs, number, noted=True),
        column("bias", (each.bias for each in found), two_decimals),
        column("width factor", (each.width for each in found), two_decimals),
    ]
    if b.whole.skill is not None:
        name = b.whole.skill.score
        columns.append(column(title_beside(name, (), b.whole.form), (each.scores[name] for each in found), amount))
        columns.append(column("skill", (each.skill.value for each in found if each.skill is not None), two_decimals))
    columns += [
        Column(p_values(len(found)), [p_value_cell(each.adjusted_p_value) for each in b.groups], detail=True),
        Column("finding", [headline(each) for each in found], words=True, detail=True),
    ]
    order = {"group": "in order", "rows": "the most rows first"}.get(b.sort, f"the worst {b.sort} first")
    by = f"{number_of(len(found), 'group')} by {short_name(', '.join(b.by))}"
    caption = f"{by}, {order}. Bias in spreads: above 0 too low."
    notes = confidence_interval(b.whole.confidence)
    return Table.of(caption, *columns, sortable=True, notes=notes, brief=_HOURS)


def worst(b: DistributionBreakdown) -> str:
    """Say which group is the worst calibrated, and whether that is sure.

    Intervals that do not overlap differ beyond chance, however the groups depend on one another.
    """
    adjusted, found = f"adjusted for {number_of(len(b.groups), 'group')}", b.worst
    if found is None:
        least = p_value_text(min(each.adjusted_p_value for each in b.groups))
        alone = f"No group by itself is shown to be miscalibrated (smallest {least}, {adjusted})"
        few = "all rows together are. Groups of few clusters tell little: name smaller clusters (--clusters) if you can"
        costs = (each.assessment.cost_interval.low for each in b.groups if each.assessment.diagnosis.findings)
        unlike = " Intervals of the cost are of one group each, without this adjustment." * any(x > 0 for x in costs)
        return f"{alone}{f'; {few}' if b.whole.diagnosis.findings else ''}.{unlike}"
    a, name = found.assessment, f"{short_name(', '.join(b.by))} {short_name(key_text(found.key))}"
    near = sum(not each.assessment.cost_interval.high < a.cost_interval.low for each in b.groups) - 1  # itself
    limits = ci(confidence_interval(a.confidence), a.cost_interval)
    known = aside(limits, f"{p_value_text(found.adjusted_p_value)} {adjusted}")
    cost = f" This costs {number(a.cost)} nats a forecast{known}." if a.cost else ""
    doubt = f"Another may be worse: its interval overlaps with {near:,} of {len(b.groups) - 1:,} others."
    sure = doubt if near else "This is sure: all other intervals lie below."
    return f"Worst by cost: {name}, {a.diagnosis.in_brief}.{cost} {sure}"


def two_decimals(value: float) -> str:
    """Give a number to two decimals."""
    return number(value, 2)


drawn_as(DistributionAssessment, charts.pit_chart)
drawn_as(DistributionBreakdown, lambda b: charts.pit_chart(b.whole))
