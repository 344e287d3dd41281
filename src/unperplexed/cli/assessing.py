"""Assessments as the command line's words ask for them: of all rows together, and of each group."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.formatting import printable
from ..assessment.assess import assess_tally, parts_for
from ..assessment.remedy import MOST_PROBABILITIES, Commands
from ..assessment.settings import AssessmentSettings
from ..forecasts.forecasts import Forecasts
from ..tally.class_sums import MOST_CLASSES
from .advice import remedy_command
from .input import Change, Input
from .own_options import PERIODS

if TYPE_CHECKING:
    from ..assessment.breakdown import Breakdown
    from ..assessment.group_figures import RowsOfGroups
    from ..assessment.result import Assessment
    from ..calibration.diagnosis.result import Diagnosis
    from ..recalibration.fitting import GroupRows
    from ..tally.tally import Tally


_MOST_CLASSES_ONE_BY_ONE = 200
"""Up to so many classes a report counts each of them by itself, unasked."""

_MOST_CLASSES_BY_GROUP = 200
"""Up to so many classes groups of files are diagnosed: each group takes some megabytes then."""


class Asked(Frozen):
    """What is asked of an assessment."""

    rows: Input
    settings: AssessmentSettings
    parts: Sequence[str]
    """Parts of a tally that it is made from."""
    commands: Commands
    """What recalibrates the same forecasts."""
    change: Change | None
    """What recalibrates them before they are assessed, if that is asked for."""
    sort: Any = "geometric_accuracy"

    @classmethod
    def of(cls, a: argparse.Namespace, rows: Input) -> Asked:
        """Read the options, which are refused before anything is counted."""
        sections = a.show if hasattr(a, "show") else None
        settings = AssessmentSettings(
            floor=a.floor,
            measured=a.measured,
            view=a.view,
            orders=None if sections is None else sections.orders,
            confidence=a.confidence,
            resamples=getattr(a, "resamples", 0),
            seed=getattr(a, "seed", 0),
            asked=getattr(a, "metric", ()),
        )
        parts = [*([] if sections is None else sections.parts), *_parts(rows, a.view)]
        change = None if getattr(a, "apply", None) is None else _recalibrated(a, rows)
        return cls(rows, settings, [*dict.fromkeys(parts)], remedy_command(a), change, getattr(a, "sort", cls.sort))

    @property
    def once(self) -> bool:
        """Whether the rows cannot be read again here."""
        return bool(self.rows.once) or self.rows.engine.name != "local"


def _parts(rows: Input, view: str) -> Sequence[str]:
    """Parts of a tally that an assessment in a view is made from."""
    return parts_for(view, rows.selection.clustered or None, rows.selection.weight)


def _recalibrated(a: argparse.Namespace, rows: Input) -> Change:
    """Give what recalibrates the forecasts before they are assessed."""
    if rows.tallies:
        raise InputError(f"{rows.tallies[0]}: --apply needs rows; give the file that the tally was counted from.")
    if rows.engine.name != "local":
        raise InputError(f"--engine {rows.engine.name}: --apply is by the engine local; leave one of them out.")
    from .classes import recalibrated_by

    recalibrated = recalibrated_by(a.apply)
    rows.say(
        f"recalibrated by {printable(str(a.apply))}; if the map was fitted to these rows, they"
        " look better calibrated than new rows will"
    )
    return recalibrated


def assessment_of(asked: Asked) -> Assessment:
    """Assess all rows together."""
    rows, settings, change = asked.rows, asked.settings, asked.change
    counted = rows.tally(asked.parts, MOST_CLASSES if asked.once else 0, change)
    with rows:
        found = assess_tally(counted, settings)
    found = replace(found.advising(asked.commands), dependence=rows.dependence)
    if asked.once:
        return found
    chunks = rows.chunks(change)
    if counted.n_classes == 2 and not counted.clustered and counted.tells_log_odds(chunks):
        return found.with_rows(chunks)
    if 2 < counted.n_classes <= _MOST_CLASSES_ONE_BY_ONE and found.view != "each-class":
        found = found.with_classes(partial(_each_class, asked))
    return _diagnosed(found, chunks, numbered=len(counted.sources) <= 1)


def with_asked(a: argparse.Namespace, asked: Asked, assessed: Callable[[Asked], Any]) -> Any:
    """Assess, with what else is asked for: skill against a reference, and groups in which forecasts are wrong."""
    beside: dict[str, Any] = {}
    if a.reference is not None:
        from .skill import skill_beside

        beside["skill"] = skill_beside(a, asked.rows)
    if a.among:
        from .where import groups_among

        beside["groups_found"] = groups_among(a, asked.rows, asked.change)
    return replace(assessed(asked), **beside)


def _each_class(asked: Asked) -> Assessment:
    """Assess each class of the files, which a report shows: they are counted again, with the parts that takes."""
    counted = asked.rows.quietly().tally(_parts(asked.rows, "each-class"), 0, asked.change)
    return assess_tally(counted, replace(asked.settings, view="each-class"))


def _diagnosed(found: Assessment, chunks: Callable[[], Iterable[Forecasts]], numbered: bool) -> Assessment:
    """Let an assessment be diagnosed and mended by its rows, which are read again then."""
    from ..calibration.diagnosis.diagnose import diagnosis_of_rows, rows_of

    rows, tally = rows_of(chunks, numbered), found.source.tally
    return found.diagnosed_by(lambda: diagnosis_of_rows(rows, found.labels, tally), chunks)


def breakdown_of(asked: Asked) -> Breakdown:
    """Assess all rows together, and each group by itself."""
    from ..assessment.breakdown import broken_down

    counted = asked.rows.groups({"parts": asked.parts, "diagnosed": _MOST_CLASSES_BY_GROUP}, asked.change)
    tally, chunks = counted.whole(), None if asked.once else asked.rows.chunks(asked.change)
    if chunks is not None and tally.n_classes == 2 and not tally.clustered and tally.tells_log_odds(chunks):
        chunks = None  # counts suffice
    rows = None if chunks is None else _rows_of_groups(asked, tally)
    with asked.rows:
        found = broken_down(counted, asked.sort, False, asked.settings, asked.rows.dependence, rows)
    whole = found.whole.advising(asked.commands)
    if chunks is not None:
        whole = _diagnosed(whole, chunks, numbered=len(tally.sources) <= 1)
    return found.with_whole(whole)


def _rows_of_groups(asked: Asked, tally: Tally) -> RowsOfGroups | None:
    """Read the rows of groups, which diagnose and mend them, up to so many as fit in memory and take seconds."""
    from ..assessment.group_figures import RowsOfGroups
    from ..calibration.diagnosis.diagnose import diagnosis_of_rows, rows_of

    if asked.change is not None or tally.n_rows * tally.n_classes > MOST_PROBABILITIES:
        return None

    @cache
    def rows() -> GroupRows:
        from ..recalibration.fitting import gathered_groups

        return gathered_groups(asked.rows.grouped_chunks()())

    def diagnose(forecasts: Forecasts, tally: Tally) -> Diagnosis:
        return diagnosis_of_rows(rows_of(lambda: [forecasts], numbered=False), tally.labels, tally)

    return RowsOfGroups(lambda key: rows().of(key).named_forecasts(), diagnose)


_DATES = re.compile(r"date|timestamp|^(time|day)$", re.IGNORECASE)
"""Names of columns that hold dates."""

_FEWEST_PERIODS = 6
"""Months of the dates, or else weeks, in which a change is looked for."""


def change_of(asked: Asked, found: Assessment) -> str:
    """Say when calibration changed, if the files have one column of dates; "" if it did not, or that is not known.

    A false change has a probability of at most 5% if rows are independent, as all alarms of `monitor` together.
    """
    rows, tally = asked.rows.quietly(), found.source.tally
    if asked.once or found.diagnosis.n_clusters is not None or tally.n_rows * tally.n_classes > MOST_PROBABILITIES:
        return ""
    try:
        names = [name for name in rows.columns if _DATES.search(name)]
        return _change_by(names[0], rows, asked.change) if len(names) == 1 else ""
    except InputError:  # the column holds something else, or rows have weights
        return ""


def _change_by(column: str, rows: Input, change: Change | None) -> str:
    from ..describe.alarm import changed_text
    from ..monitoring.history import History
    from ..monitoring.watch import monitor

    for length in ("month", "week"):
        keys = [f"{column}:{PERIODS[length]}"]
        counted = replace(rows, selection=replace(rows.selection, keys=keys)).groups({"parts": ["classes"]}, change)
        if len(counted) >= _FEWEST_PERIODS:
            return changed_text(monitor(History.of(counted)), column)
    return ""
