"""A comparison as a document: the verdict first, then the differences, each forecaster, and how it was found out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from .._lib.dataclasses import Frozen, replace
from .._lib.formatting import at_floor_text, capital, number_of, percent, printable, short_name
from ..assessment.remedy import mendable
from ..assessment.result import Assessment
from ..calibration.dependence_search import dependence_words, looked_at_words
from ..calibration.diagnosis.result import Diagnosis
from ..comparison.result import Comparison, PairedComparison
from ..comparison.verdict import MOST_NAMED, Said, verdict_clauses
from ..pairing.dependence import dependent_text
from ..report.document import Action, Block, Code, Document, Metric, Prose, Python, Reading, Section, Table, lookup
from ..report.numbers import between, estimate, number, share
from ..report.result import Naming, document, drawn_as
from ..report.tables import Form, reproduce
from ..scores.rules import BRIER_SCORE, LOG_LOSS, SCORES, rule_at_floor
from ..statistics.intervals import Interval
from ..statistics.means import DEFAULT_FLOOR, floor_for
from . import comparison_charts as charts
from . import comparison_tables as tables
from .assessment_words import MEANING, TITLES, terms_of
from .skill import skill_blocks
from .tally import counted, notes_by_name

MOST_READINGS, MOST_PAIRS = 4, 10
"""Forecasters beside one another among the key figures, and pairs whose largest contributions are shown."""

SHORT_FORECASTERS, SHORT_PAIRS = 20, 6
"""Forecasters and pairs that a short form shows."""


@document.register(Comparison)
def comparison_document(c: Comparison, naming: Naming, *, brief: bool) -> Document:
    """Describe a comparison, in full or in brief."""
    return Described(c).summary(naming) if brief else Described(c).document(naming)


def costs(diagnoses: Mapping[str, Diagnosis], amount: str) -> Iterator[Action]:
    """Say what is wrong with forecasters, and what it costs each, if that is any such amount."""
    found = []
    for name, d in diagnoses.items():
        if d.findings:
            cost = f", {amount.format(number(d.cost))}" if d.cost > 0 else ""
            found.append(f"{short_name(name)}: {d.in_brief}{cost}.")
    if found:
        more = f"{len(found) - MOST_NAMED} more are miscalibrated." if len(found) > MOST_NAMED else ""
        yield Action("What miscalibration costs", " ".join(filter(None, [*found[:MOST_NAMED], more])), "Cost")


def dependence_text(c: Comparison) -> str:
    """Name the assumption about rows on which intervals and p-values rest."""
    return dependent_text(c.n_clusters, c.n_crossed_clusters, c.lag, c.n_series, c.dependence)


class Described(Frozen):
    """Makes the document of a comparison."""

    c: Comparison

    @cached_property
    def first(self) -> dict[str, Assessment]:
        """Assessments of the first forecasters."""
        return {name: each.assessment for name, each in list(self.c.forecasters.items())[:MOST_READINGS]}

    def document(self, naming: Naming) -> Document:
        """Describe it, under a name and with the command where they are known."""
        c = self.c
        best = tables.long_name(next(iter(c.forecasters)))
        figure = charts.reliability_chart(c)
        headline, *rest = verdict_clauses(c, p_values=False)  # the lines below have them
        return Document(
            title=naming.titled(f"{len(c.forecasters)} forecasters, {best} first by log loss"),
            facts=naming.facts(self._counted(), f"paired by row, {dependence_text(c)}"),
            headline=headline.words,
            lead=" ".join([*map(_sentence, rest), *self._pair(), *self._dependence()]),
            calm=self._calm,
            actions=list(self._actions(naming.recalibrate)),
            command=self._commands(naming.recalibrate),
            further=self._to_look_up(),
            figure=figure,
            figure_table=charts.curves_table(figure),
            metrics=list(self._metrics()),
            first=Section(
                "differences",
                "Which is better? Paired differences",
                [
                    Prose(self._significance(), quiet=True),
                    tables.differences_table(c, headline=True),
                    *self._forests(),
                    tables.differences_table(c, headline=False),
                ],
                "Differences",
            ),
            sections=list(self._sections(naming.command)),
        )

    def summary(self, naming: Naming) -> Document:
        """Describe it in short, without charts: for text and cards."""
        c = self.c
        return Document(
            title=c.verdict,
            facts=": ".join(filter(None, [naming.called, f"{self._counted()}, {dependence_text(c)}"])),
            headline=c.verdict,
            lead=" ".join([*self._pair(), *self._dependence()]),
            calm=self._calm,
            actions=list(self._actions()),
            command=self._commands(),
            further=self._to_look_up(),
            summary=list(self._short_blocks()),
            settings=self._short_settings(),
            more=f"{naming.continued}: curves, risk profiles, all scores, largest contributions; frame() and --json:"
            " everything",
            warnings=[*c.warnings, *self._notes()],
        )

    def _dependence(self) -> Iterator[str]:
        yield from filter(None, [dependence_words(self.c.dependence, "difference in log loss")])

    def _counted(self) -> str:
        c = self.c
        return f"{len(c.forecasters)} forecasters, {counted(c.n_rows, c.n_classes, c.labels)} each"

    def _short_blocks(self) -> Iterator[Block]:
        """Yield forecasters, the differences of the first pairs, and how many rows decide the first."""
        c, pair = self.c, self.c.pairs[0]
        table = tables.forecasters_table(c, SHORT_FORECASTERS)
        yield table
        first = next(iter(c.forecasters.values())).assessment.diagnosis
        if not first.made:
            yield Prose(first.verdict)
        yield tables.short_differences_table(c, c.pairs[:SHORT_PAIRS])
        if len(c.pairs) > SHORT_PAIRS:
            yield Prose(f"... and {number_of(len(c.pairs) - SHORT_PAIRS, 'further pair')}")
        yield from map(Table.short, self._by_group())
        if c.skill is not None:
            yield from skill_blocks(c.skill)
        if len(pair.contributions):
            yield from _turning(pair, c.n_rows)
        else:
            same = all(each.equal for each in pair.differences.values())
            what = "score the same" if same else "have the same log loss"
            yield Prose(f"{short_name(pair.first)} and {short_name(pair.second)} {what} in every row.")

    def _short_settings(self) -> str:
        c = self.c
        of_skill = f", of skill for {len(c.skill.whole.scores)} with {c.skill.reference}" if c.skill else ""
        several = f"; p-values and intervals adjusted for {len(c.pairs):,} pairs{of_skill}" * (len(c.pairs) > 1)
        return (
            f"paired by row, {dependence_text(c)}{', weighted' * c.weighted}; log loss and geometric accuracy"
            f" {at_floor_text(c.scored_floor)}; slope of the averages and calibration curve"
            f" {at_floor_text(c.floor)}{several}"
        )

    def _notes(self) -> list[str]:
        """Return what was left out or rescaled, by forecaster."""
        return notes_by_name({name: each.assessment.notes for name, each in self.c.forecasters.items()})

    def _by_group(self) -> Iterator[Table]:
        asked = [
            rule for rule in self.c.pairs[0].differences if rule in tables.asked_scores(self.c) or rule not in SCORES
        ]
        for rule in dict.fromkeys((LOG_LOSS, BRIER_SCORE, *asked)) if self.c.groups else ():
            yield tables.group_differences_table(self.c, rule)

    def _forests(self) -> Iterator[Block]:
        for rule in ("log_loss", "brier_score"):
            if any(math.isfinite(pair.differences[rule].difference) for pair in self.c.pairs):
                yield charts.differences_chart(self.c, rule)

    @property
    def _calm(self) -> bool:
        """Whether no difference is significant."""
        found = (d.adjusted_p_value for pair in self.c.pairs for d in pair.differences.values())
        return not any(p < 1 - self.c.confidence for p in found)

    def _significance(self) -> str:
        c = self.c
        pairs = f", adjusted for {len(c.pairs):,} pairs (Bonferroni)" if len(c.pairs) > 1 else ""
        level = f"significant below {1 - c.confidence:.3g}"
        return f"The p-values are those of paired differences{pairs}, {dependence_text(c)}; {level}."

    def _pair(self) -> Iterator[str]:
        """Give the differences of the first pair."""
        pair = self.c.pairs[0]
        for rule in ("log_loss", "brier_score"):
            d = pair.differences.get(rule)
            if d is not None and math.isfinite(d.difference):
                value, limits = estimate(d.difference, d.interval)
                about = tables.about_difference(self.c, d, limits)
                first, second = short_name(pair.first), short_name(pair.second)
                yield f"{capital(rule_at_floor(rule, self.c.scored_floor))} of {first} − {second}: {value}{about}."

    def _commands(self, recalibrate: str = "") -> Code | None:
        if recalibrate:
            return Code(recalibrate, "Command that recalibrates new forecasts")
        code = "" if self.c.next_step is None else self.c.next_step.code
        return Code(code, "Commands or lines of Python that recalibrate, and compare again") if code else None

    def _actions(self, recalibrate: str = "") -> Iterator[Action]:
        """Say which forecasters are miscalibrated, and what recalibration would bring; a map may be at hand."""
        yield from costs({name: each.diagnosis for name, each in self.first.items()}, "about {} nats a row")
        if self.c.next_step is not None:
            again = " Compare again on other rows before you choose." if self.c.next_step.mended else ""
            yield Action("What to do", f"{self.c.next_step.words}{again}", "Next")
        elif recalibrate:
            words = (
                "Each row here is recalibrated by a map that was fitted to other rows (cross-fitted). Apply the saved"
                " map to new forecasts, and assess these when their outcomes are known."
            )
            yield Action("What to do", words, "Next")
        elif any(mendable(each.assessment.diagnosis.findings) for each in self.c.forecasters.values()):
            yield Action(
                "What to do",
                "Recalibrate these forecasters on rows that they were not trained on, and compare again on others.",
                "Remedy",
            )

    def _to_look_up(self) -> Action | None:
        """Name the command that explains the findings about the forecasters whose verdicts are shown."""
        shown = list(self.c.forecasters.values())[:SHORT_FORECASTERS]
        return lookup(term for each in shown for term in terms_of(each.assessment))

    def _metrics(self) -> Iterator[Metric]:
        """Key figures, a value for each of the first forecasters."""
        c, first = self.c, self.first.values()
        for rule in (LOG_LOSS, BRIER_SCORE):
            scores = [each.scores[rule] for each in list(c.forecasters.values())[:MOST_READINGS]]
            found = [(each.mean, each.interval) for each in scores]
            yield self._metric(capital(rule_at_floor(rule, c.scored_floor)), MEANING[rule], found)
        none = Interval(math.nan, math.nan)
        found = [(a.prediction_accuracy, a.intervals.get("prediction_accuracy", none)) for a in first]
        yield self._metric(TITLES["accuracy"], MEANING["accuracy"], found, share)
        found = [(a.ece.value, a.ece.interval) for a in first]
        yield self._metric(TITLES["ece"], f"{MEANING['ece']}.", found)
        meaning = f"{MEANING['calibration slope']}. {MEANING['slope sides']}"
        yield self._metric(TITLES["slope"], meaning, [(a.slope.value, a.slope.interval) for a in first])

    def _metric(
        self,
        name: str,
        meaning: str,
        found: Sequence[tuple[float, tuple[float, float]]],
        form: Form = number,
    ) -> Metric:
        """Make a key figure of the value and interval of each forecaster; none is marked as best, as none is tested."""
        readings = [
            Reading(key, form(value), between(*interval, form), role)
            for key, (value, interval), role in zip(self.first, found, _ROLES, strict=False)
        ]
        return Metric(name, meaning, readings=readings)

    def _sections(self, command: str) -> Iterator[Section]:
        c = self.c
        yield Section("forecasters", "Forecasters", [tables.forecasters_table(c), charts.ratio_chart(c)], "Forecasters")
        if c.groups:
            yield Section("by", f"Differences by {', '.join(map(printable, c.by))}", [*self._by_group()], "By group")
        if c.skill is not None:
            yield Section("skill", f"Skill against {c.skill.reference}", skill_blocks(c.skill), "Skill")
        words = "Low orders weigh the worst forecasts most, high orders the best."
        blocks: list[Block] = [Prose(words, quiet=True), charts.profiles_chart(c), tables.averages_table(c)]
        yield Section("risk", "Risk profiles", blocks, "Risk profile", 5)
        yield Section("scores", "Scores", [tables.scores_table(c)], "Scores", 7)
        for at, pair in enumerate(each for each in c.pairs[:MOST_PAIRS] if len(each.contributions)):
            names = f"{tables.long_name(pair.first)} − {tables.long_name(pair.second)}"
            title = f"Largest contributions to {names}, {rule_at_floor(LOG_LOSS, c.scored_floor)}"
            table = tables.contributions_table(pair)
            folded = replace(table, folded=True, caption="The ten rows") if at else table
            blocks = [folded, *_turning(pair, c.n_rows)]
            yield Section(f"rows{at}", title, blocks, "" if at else "Rows", 6 if len(c.pairs) > 1 else 12)
        notes = self._notes()
        yield reproduce(command, compare_call(c), self._settings(notes), {"Warnings": [*c.warnings, *notes]})

    def _settings(self, notes: list[str]) -> Iterator[tuple[str, str]]:
        c = self.c
        a = next(iter(c.forecasters.values())).assessment
        yield "forecasts", f"{c.n_rows:,} of each"
        yield "classes", f"{c.n_classes:,}"
        yield "weights", "yes" if c.weighted else "none"
        yield "rows", dependence_text(c)
        yield "dependence", looked_at_words(c.dependence)
        yield "floor", f"{c.floor:g}"
        yield "log loss and geometric accuracy", at_floor_text(c.scored_floor)
        yield "calibration curve", a.estimator
        yield "view", a.view
        yield "confidence", percent(c.confidence)
        yield "bootstrap replicates", f"{a.uncertainty.resamples:,}" if c.assessed_for_sure else "none"
        yield "left out, dropped, rescaled", "; ".join(notes) or "none"
        yield "version", c.version


def _sentence(clause: Said) -> str:
    """Make a clause of the verdict a sentence of its own."""
    return f"{clause.words if clause.by_name else capital(clause.words)}."


def compare_call(c: Comparison) -> Python:
    """Give the import and the call of `compare` with the options that differ from their defaults."""
    names = [f"{name!r}: {chr(ord('p') + at)}" for at, name in enumerate(c.forecasters)]
    forecasts = f"{{{', '.join(names)}}}" if len(names) <= _MOST_SPELLED else "forecasts"
    positive = c.labels[1] if c.n_classes == 2 else None
    default = f"{float(floor_for(DEFAULT_FLOOR, c.n_classes)):g}"
    options = {
        "sample_weight=sample_weight": c.weighted,
        f"pos_label={positive!r}": positive not in (None, 1, "1"),
        f"scale={c.scale!r}": c.scale != "probability",
        f"floor={c.floor:g}": f"{c.floor:g}" != default,
        "clusters=clusters": c.n_clusters is not None,
        "within=within": c.n_series is not None,
        "by=by": bool(c.by),
        f"lag={c.lag}": bool(c.lag),
        f"confidence={c.confidence:g}": c.confidence != 0.95,
    }
    used = "".join(f", {option}" for option, differs in options.items() if differs)
    return Python(f"from unperplexed import compare\n\ncompare(y, {forecasts}{used}).verdict")


_MOST_SPELLED = 4


_ROLES = (*charts.ROLES[: charts.MOST_LINES], *[None] * MOST_READINGS)
"""Colours of the first forecasters' names: those of their curves, if they have one."""


def _turning(pair: PairedComparison, n_rows: int) -> Iterator[Prose]:
    """Say on how many rows a significant lead rests; a lead that may be chance rests on any."""
    low, high = pair.differences[LOG_LOSS].interval
    if 0 < pair.turning_rows < n_rows and (low > 0 or high < 0):
        rows = number_of(pair.turning_rows, "row")
        yield Prose(
            f"Without the {rows} most in its favour ({share(pair.turning_rows / n_rows)} of the rows),"
            f" {short_name(pair.first)} would not be ahead by log loss. A small share means that few rows decide the"
            " comparison.",
            quiet=True,
        )


drawn_as(Comparison, charts.comparison_chart, charts.comparison_chart)
