"""An assessment as a document: verdict, evidence, cost, remedy, then figures, then settings, then warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .._lib.errors import InputError, check_choice
from .._lib.formatting import p_value_text
from ..assessment.result import Assessment
from ..calibration.dependence_search import UNSEEN, looked_at_words
from ..calibration.diagnosis.kinds import KINDS
from ..calibration.diagnosis.result import HELD_OUT, joined
from ..calibration.diagnosis.words import terms
from ..report.document import Action, Block, Code, Document, Prose, Section, SmallCharts, lookup
from ..report.numbers import count, number, share
from ..report.result import Axes, Naming, document, picture
from ..report.tables import aside, ci, reproduce
from . import assessment_charts as charts
from . import assessment_metrics as metrics
from . import assessment_tables as tables
from . import assessment_words as words
from .diagnosis import diagnosis_parts, remedies_text, seen, unnamed_error
from .tally import counted, notes_lines

_ONE_OUTCOME = (
    "All rows have the same outcome, so that neither skill nor a recalibration can be judged. Assess rows with other"
    " outcomes too."
)
_FEW_ROWS = 1000
_SHORT_CLASSES = 10
"""Classes, the most miscalibrated, that a short form shows."""

_LONG_VERDICT = 160
"""Characters of a verdict that the first lines have no room for."""


@document.register(Assessment)
def assessment_document(
    a: Assessment, naming: Naming, *, brief: bool, groups: str = "", group_map: str = ""
) -> Document:
    """Describe an assessment, in full or in brief; that of all rows with its miscalibrated groups, and their remedy.

    Parameters
    ----------
    a : Assessment
        What is described.
    naming : Naming
        Name of the forecasts, and commands that are known.
    brief : bool
        Whether charts and sections are left out, for text and cards.
    groups : str, default ""
        Groups of its rows that are miscalibrated, counted, with their verb: "3 of 12 groups by season are".
    group_map : str, default ""
        What mends these groups, in a sentence.

    Returns
    -------
    Document
    """
    described = Described(a, groups, group_map)
    return described.summary(naming) if brief else described.document(naming)


class Described:
    """Makes the document of an assessment."""

    def __init__(self, assessment: Assessment, groups: str = "", group_map: str = "") -> None:
        """Take the assessment, and words for groups of its rows that are miscalibrated and for what mends them."""
        self.a = assessment
        self.groups, self.group_map = groups, group_map
        self.event = charts.Event(assessment)
        self.parts = diagnosis_parts(assessment.diagnosis, assessment.scores.get("log_loss", math.nan))

    def document(self, naming: Naming) -> Document:
        """Describe it, under a name and with the commands that are known."""
        a = self.a
        what = counted(a.n_rows, a.n_classes, a.labels)
        return Document(
            title=naming.titled(f"{self.headline}: {what}"),
            facts=naming.facts(*self._facts()),
            headline=self.headline,
            lead=" ".join(filter(None, [self._lead(), words.dependence_sentence(a)])),
            calm=not (a.diagnosis.findings or self.groups),
            actions=list(self._actions()),
            command=self._remedy_command(naming.recalibrate),
            figure=charts.reliability_chart(self.event),
            figure_table=tables.diagram_table(self.event),
            metrics=list(metrics.key_metrics(self.event)),
            intervals=words.level_of(a),
            first=self._findings(),
            sections=list(self._sections(naming.command)),
        )

    def summary(self, naming: Naming) -> Document:
        """Describe it in short, without charts: for text and cards."""
        a = self.a
        return Document(
            title=self.headline,
            facts=": ".join(filter(None, [naming.called, ", ".join(self._facts())])),
            headline=self._verdict() if self._short else self.headline,
            lead=" ".join(filter(None, [self._evidence(), words.dependence_sentence(a)])),
            calm=not (a.diagnosis.findings or self.groups),
            actions=list(self._actions()),
            command=self._remedy_command(naming.recalibrate),
            further=lookup(words.terms_of(a)),
            metrics=[*metrics.key_metrics(self.event), *metrics.further_scores(a), *metrics.means_of_event(self.event)],
            intervals=words.level_of(a),
            summary=list(self._short_blocks()),
            settings=", ".join(self._short_settings()),
            more=f"{naming.continued}: diagram, averages, risk profile, surprising forecasts",
            warnings=[*words.remarks(a), *notes_lines(a.notes)],
        )

    def _facts(self) -> Iterator[str]:
        """Count forecasts and classes, and the events of two classes; say how rows depend on one another."""
        a = self.a
        yield counted(a.n_rows, a.n_classes, a.labels)
        if self.event.two and a.bias is not None and not a.weighted:
            yield f"{a.bias.frequency * a.n_rows:,.0f} with {self.event.name}"
        yield words.dependence_text(a)

    def _short_blocks(self) -> Iterator[Block]:
        """The findings of a long verdict, and the most miscalibrated classes where they were counted."""
        a = self.a
        if not self._short:
            yield tables.short_findings_table(a.diagnosis)
            yield from map(Prose, filter(None, [unnamed_error(a.diagnosis)]))
        others = self.parts.others if a.diagnosis.findings else ()
        rows_and_advice = " ".join([*words.rows_text(a), *self._advice_on_rows()])
        yield from map(Prose, filter(None, [rows_and_advice, *others]))
        if a.skill is not None:
            from .skill import skill_blocks

            yield from skill_blocks(a.skill)
        yield from tables.groups_found(self.a.groups_found, brief=True)
        if a.n_classes > 2 and a.classes is not None:
            table = tables.class_table(a)
            if table is not None:
                yield replace(table, brief=_SHORT_CLASSES)
                yield from self._class_average()

    def _short_settings(self) -> Iterator[str]:
        a, d = self.a, self.a.diagnosis
        if d.made and not math.isnan(d.p_value):
            yield f"test of miscalibration {p_value_text(d.p_value)}"
        yield from words.named_by(d)
        yield f"calibration curve {a.estimator}{words.settings_text(a)}"
        yield f"view {a.view}"
        if a.dependence.reason in UNSEEN:
            yield looked_at_words(a.dependence)
        if a.uncertainty.resamples:
            yield f"{a.uncertainty.resamples:,} bootstrap replicates, seed {a.uncertainty.seed}"

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        a = self.a
        if not a.diagnosis.made:
            return f"Geometric accuracy {number(a.reported.geometric_accuracy)}"
        if self._in_groups:
            return f"{a.diagnosis.headline} over all rows, but in groups"
        few = f", but only {a.n_rows:,} rows" if self._few else ""
        return f"{a.diagnosis.headline}{few}"

    @property
    def _in_groups(self) -> bool:
        """Whether nothing was found over all rows, but in groups of them."""
        return bool(self.groups) and self.a.diagnosis.made and not self.a.diagnosis.findings

    @property
    def _few(self) -> bool:
        """Whether nothing was found, in few rows."""
        d = self.a.diagnosis
        return d.made and not d.findings and self.a.n_rows < _FEW_ROWS

    def _verdict(self) -> str:
        """Give the verdict, which on few rows is no approval."""
        if self._in_groups:
            return joined(self.a.diagnosis.clauses, f" over all rows, but {self.groups} miscalibrated")
        return joined(self.a.diagnosis.clauses, ", but so few rows can show only large errors" if self._few else "")

    def _lead(self) -> str:
        """Give the verdict with its evidence; a long verdict stands above the findings instead."""
        d, evidence = self.a.diagnosis, self._evidence()
        if d.made and self.a.bias is not None and words.evidence_is_of_all_rows(self.event):
            return words.means(self.a)
        return " ".join(filter(None, [d.verdict if self._short or not evidence else "", evidence]))

    @property
    def _short(self) -> bool:
        """Whether the verdict has room in the first lines; else a table of the findings says it."""
        return len(self.a.diagnosis.verdict) <= _LONG_VERDICT

    def _evidence(self) -> str:
        """Give two familiar numbers with a confidence interval."""
        a, event = self.a, self.event
        if a.bias is not None and words.evidence_is_of_all_rows(event):
            means_are_said = any(clause.subject for clause in a.diagnosis.clauses)
            if not (means_are_said and self._short):
                return words.means(a)
            limits = words.frequency_interval(a)
            p_value = a.diagnosis.p_value
            tested = "" if math.isnan(p_value) else f"The test of miscalibration has {p_value_text(p_value)}."
            return f"The {words.level_of(a)} of the observed frequency is {limits}." if limits else tested
        if not event.two and a.n_classes > 2:
            p, happened, total = event.pairs
            mean, right = float(p @ total / total.sum()), float(happened.sum() / total.sum())
            limits = aside(ci(words.level_of(a), a.intervals["prediction_accuracy"], share))
            return (
                f"The mean probability of the most probable class is {share(mean)}. It is the observed class in"
                f" {share(right)} of the rows{limits}."
            )
        return words.evidence(a)

    def _actions(self) -> Iterator[Action]:
        d = self.a.diagnosis
        if d.findings:
            advised = self.a.remedy is not None and self.a.remedy.significant  # which names the base rate itself
            against = "" if advised or self.a.one_outcome else words.against_reference(self.event)
            found = [self.parts.cost, words.unnamed_cost(self.a), against, words.wrong_predictions(self.event)]
            cost = " ".join(filter(None, found))
            if cost:
                yield Action("What it costs", cost, "Cost")
            yield Action("What to do", self._what_to_do(), "Remedy")
        elif d.made:
            shown = seen(d, words.bias_in_points(self.event)) if self.event.two else self.parts.others
            of_groups = f" over all rows, but {self.groups} miscalibrated: errors of groups may cancel"
            detected = "The errors are too small to matter" if d.negligible >= 0 else "No cost was detected"
            none = f"{detected}{of_groups * self._in_groups}."
            cost = " ".join(filter(None, [none, words.alone(self.a), *shown, words.against_reference(self.event)]))
            yield Action("What it costs", cost, "Cost")
            if self._in_groups:
                yield Action("What to do", f"{self.group_map} {HELD_OUT}", "Next")
                return
            smaller = " and ".join(words.rows_needed(self.event))
            more = f" To detect smaller errors assess more rows{f': {smaller}' if smaller else ''}."
            why = ": recalibrating on them would fit noise"
            if self.a.dependence.differing is not None:
                why = " of all groups together, but errors of groups may cancel"
            if d.negligible >= 0:
                why = more = ""
            better = "" if self._few else " For better scores look for better predictors."
            yield Action(
                "What to do", f"These rows give no reason to change the probabilities{why}.{better}{more}", "Next"
            )

    def _what_to_do(self) -> str:
        """Give the remedy with its gain, or without one those of the findings."""
        if self.a.one_outcome:
            return " ".join([*self._advice_on_rows(), _ONE_OUTCOME])
        remedy, untried = self.a.remedy, self.a.untried_remedy
        if untried is not None:
            return f"{untried.words} {HELD_OUT}"
        if remedy is None:
            return remedies_text(self.parts.remedies)
        gain, *rest = remedy.sentences()
        advice = [
            gain,
            HELD_OUT if remedy.significant else f"For the errors found: {remedies_text(self.parts.remedies)}",
        ]
        if remedy.significant and "uninformative" in terms(self.a.diagnosis):
            rest.append("Look at the predictors first: a calibration slope of 0 is possible, that is, no information.")
        return " ".join([*advice, *rest])

    def _remedy_command(self, recalibrate: str) -> Code | None:
        if not self.a.diagnosis.findings or self.a.one_outcome:
            return None
        if recalibrate:
            return Code(recalibrate, "Command that fits the recalibration")
        if right := next((f.column_labels for f in self.a.diagnosis.findings if f.column_labels), ()):
            code = self.a.source.commands.naming(self.a.labels, right)
            return Code(code, "Command or line of Python that names the columns rightly") if code else None
        remedy, untried = self.a.remedy, self.a.untried_remedy
        code = untried.code if untried else remedy.code if remedy and remedy.significant else ""
        return Code(code, "Command or lines of Python that recalibrate") if code else None

    def _advice_on_rows(self) -> Iterable[str]:
        return dict.fromkeys(f.remedy for f in self.a.diagnosis.findings if KINDS[f.error].rows_that)

    def _findings(self) -> Section | None:
        d = self.a.diagnosis
        if not d.made:
            return None
        if d.findings:
            blocks: list[Block] = [tables.findings_table(d)]
            others = (unnamed_error(d), *words.rows_text(self.a), *self.parts.others)
            blocks += [Prose(line, quiet=True) for line in others if line]
            from ..report.explanations import folded

            blocks += folded(words.terms_of(self.a))
            return Section("findings", "Findings, costliest first", blocks, "Findings")
        tested = f"The test of miscalibration has {p_value_text(d.p_value)}." if not math.isnan(d.p_value) else ""
        table = tables.detectable_table(d, words.bias_in_points(self.event))
        shown: list[Block] = [] if table is None else [table]
        shown += [Prose(tested)] if tested else []
        return Section("findings", f"What {d.n_rows:,} rows can show", shown, "Findings") if shown else None

    def _sections(self, command: str) -> Iterator[Section]:
        a = self.a
        if a.skill is not None:
            from .skill import skill_blocks

            yield Section("skill", f"Skill against {a.skill.reference}", skill_blocks(a.skill), "Skill")
        yield from tables.groups_sections(a.groups_found)
        yield from self._classes()
        title = "By predicted probability" if self.event.two else "By probability of the most probable class"
        yield Section("groups", title, [tables.groups_table(self.event), metrics.bins_table(a)], "By probability", 7)
        if (table := tables.precision_table(a)) and (curve := a.precision_recall):
            chart = charts.precision_chart(self.event, curve)
            yield Section("precision", "Precision and recall", [chart, table], "Precision and recall")
        yield Section(
            "risk",
            "Risk profile",
            [
                Prose(f"Low orders weigh the worst forecasts most, high orders the best.{self._gap()}", quiet=True),
                charts.profile_chart(a),
                metrics.averages_table(a),
                *map(Prose, filter(None, [words.two_costs(a)])),
                metrics.profile_table(a),
                metrics.floors_table(a),
            ],
            "Risk profile",
            5,
        )
        surprises = tables.surprises_table(a)
        width = 12 if surprises is None else 7
        yield Section("scores", "Scores", list(self._scores()), "Scores", width)
        if surprises is not None:
            yield Section("rows", "The most surprising forecasts", [surprises], "Rows", 5)
        warnings = {"Warnings": [*words.remarks(a), *notes_lines(a.notes)]}
        yield reproduce(command, words.assess_call(a), metrics.settings_of(a), warnings)

    def _scores(self) -> Iterator[Block]:
        """Every metric and score of all rows, and those of the papers."""
        event, certain = self.event, self.a.certain_rows
        found = [*metrics.key_metrics(event), *metrics.means_of_event(event), *metrics.papers_scores(self.a)]
        yield metrics.scores_table(self.a, found)
        if certain:
            what = f"{count(certain)} row{'s' * (certain != 1)}"
            yield Prose(f"Calibration slope and intercept leave out {what} predicted as exactly 0 or 1.", quiet=True)

    def _gap(self) -> str:
        """Say what the gap between the profiles is, where the forecasts were diagnosed."""
        d = self.a.diagnosis
        if not d.made:
            return ""
        apart = "Where the lines differ, the forecasts are miscalibrated."
        return f" {apart if d.findings else 'The lines do not differ significantly.'}"

    def _classes(self) -> Iterator[Section]:
        a = self.a
        if a.n_classes <= 2:
            return
        table = tables.class_table(a)
        blocks: list[Block]
        if table is not None:
            more = [] if a.by_class is None else [tables.more_of_classes(a.by_class)]
            blocks = [table, *more, *self._class_average()]
            if a.by_class is None:
                blocks.append(
                    Prose("For each class's own curve, accuracy, precision and recall assess with view='each-class'"
                          " (--view each-class).", quiet=True)
                )  # fmt: skip
            yield Section("classes", "Classes", blocks, "Classes")
        confused = tables.confusions_table(a)
        if confused is not None:
            yield Section("confusions", "Confused classes", [confused], "Confusions")
        if a.risk_coverage is not None:
            from .risk_coverage import risk_coverage_chart, risk_coverage_table

            blocks = [risk_coverage_chart(a.risk_coverage), risk_coverage_table(a.risk_coverage)]
            yield Section("abstaining", "Risk and coverage", blocks, "Abstaining")
        curves = charts.class_charts(a)
        if curves:
            shown = f" The {charts.MOST_CURVES} most miscalibrated classes." if a.n_classes > charts.MOST_CURVES else ""
            words = f"Observed frequency (up) by predicted probability (right), both from 0 to 1, with bands.{shown}"
            blocks = [Prose(words, quiet=True), SmallCharts(curves)]
            yield Section("curves", "Each class's own curve", blocks, "Curves")

    def _class_average(self) -> Iterator[Block]:
        mean = None if self.a.by_class is None else self.a.by_class.class_average
        if mean is not None:
            yield Prose(
                f"Plain mean over the {mean.n_classes:,} classes that occur: predicted geometric accuracy"
                f" {number(mean.reported.geometric_accuracy)}, calibrated {number(mean.measured.geometric_accuracy)},"
                f" slope of the averages {number(mean.averages_slope)}, calibration error"
                f" {number(mean.calibration_error)}.",
                quiet=True,
            )


@picture.register(Assessment)
def _draw(a: Assessment, ax: Axes | None, kind: str | None, *, axes: str, name: str | None, **keywords: Any) -> Axes:
    if kind is None:
        kind = "reliability" if a.n_classes == 2 and axes == "reported" else "averages"
    check_choice("kind", kind, ("reliability", "averages", "bars"))
    if kind != "reliability" and (name is not None or keywords):
        raise InputError(f"{next(iter(keywords), 'name')}: needs kind='reliability'.")
    if kind == "averages":
        from .pictures import plot_assessment

        return plot_assessment(a, ax, axes)
    if axes != "reported":
        raise InputError(f"axes: {axes!r} needs kind='averages'.")
    if kind == "bars":
        from ..report.matplotlib_draw import draw

        return draw(charts.bars_chart(a), ax)
    from ..report.matplotlib_chart import draw_reliability

    return draw_reliability(charts.reliability_chart(charts.Event(a), after_remedy=False), ax, name=name, **keywords)
