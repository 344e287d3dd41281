"""Assessments as the command line's words ask for them: of all rows together, and of each group."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from .._lib.errors import InputError
from .._lib.formatting import printable
from ..forecasts.forecasts import Forecasts
from ..sources.map_reduce import as_tallies
from ..sources.readers.formats import matching
from ..tally.class_sums import MOST_CLASSES
from ..tally.counter import jobs_of
from ..tally.tallies import Tallies
from .advice import remedy_command
from .counting import (
    counted_by,
    file_chunks,
    grouped_chunks,
    naming_files,
    parts_of,
    refuse_outcomes,
    tally_names,
    tally_of,
)
from .options import first_given
from .outputs import sayer

if TYPE_CHECKING:
    from ..assessment.breakdown import Breakdown, GroupAssessment
    from ..assessment.result import Assessment
    from ..assessment.settings import AssessmentSettings
    from ..forecasts.group_keys import Key
    from ..recalibration.group_rows import GroupRows


_MOST_CLASSES_ONE_BY_ONE = 200
"""Up to so many classes a report counts each of them by itself, unasked."""

_MOST_CLASSES_BY_GROUP = 200
"""Up to so many classes groups of files are diagnosed: each group takes some megabytes then."""


def assessment_of(arguments: argparse.Namespace) -> Assessment:
    """Assess all rows together."""
    from ..assessment.assess import assess_tally

    settings = _checked_settings(arguments)
    names = matching(arguments.files)
    once = bool(tally_names(names, arguments)) or "-" in names or arguments.engine != "local"
    change = recalibration_of(arguments, names)
    counted = tally_of(arguments, parts_of(arguments), MOST_CLASSES if once else 0, change)
    try:
        found = assess_tally(counted, settings)
    except InputError as error:
        raise naming_files(arguments.files, error) from None
    found = found.advising(remedy_command(arguments))
    if once:
        return found
    chunks = file_chunks(arguments, change)
    if counted.n_classes == 2 and not counted.clustered and counted.tells_log_odds(chunks):
        return found.with_rows(chunks)
    if 2 < counted.n_classes <= _MOST_CLASSES_ONE_BY_ONE and found.view != "each-class":
        found = found.with_classes(partial(_each_class, arguments, settings, change))
    return _diagnosed(found, chunks, numbered=len(counted.sources) <= 1)


def _each_class(
    arguments: argparse.Namespace, settings: AssessmentSettings, change: Callable[[Forecasts], Forecasts] | None
) -> Assessment:
    """Assess each class of the files, which a report shows: they are counted again, with the parts that takes."""
    from ..assessment.assess import assess_tally, parts_for

    again = argparse.Namespace(**{**vars(arguments), "quiet": True})
    parts = parts_for("each-class", getattr(arguments, "cluster_columns", None) or None, arguments.weight)
    return assess_tally(tally_of(again, parts, 0, change), replace(settings, view="each-class"))


def _diagnosed(found: Assessment, chunks: Callable[[], Iterable[Forecasts]], numbered: bool) -> Assessment:
    """Let an assessment be diagnosed and mended by its rows, which are read several times then."""
    from ..calibration.diagnosis.diagnose import diagnosis_of_rows, rows_of

    return found.diagnosed_by(lambda: diagnosis_of_rows(rows_of(chunks, numbered), found.labels), chunks)


def breakdown_of(arguments: argparse.Namespace) -> Breakdown:
    """Assess all rows together, and each group by itself."""
    from ..assessment.breakdown import broken_down

    settings = _checked_settings(arguments)
    counting = {"parts": parts_of(arguments), "diagnosed": _MOST_CLASSES_BY_GROUP}
    names = matching(arguments.files)
    change = recalibration_of(arguments, names)
    counted = tallies_of(arguments, counting, change)
    try:
        found = broken_down(counted, arguments.sort, False, settings)
    except InputError as error:
        raise naming_files(arguments.files, error) from None
    whole = found.whole.advising(remedy_command(arguments))
    tally = whole.source.tally
    if "-" not in names and arguments.engine == "local":
        chunks = file_chunks(arguments, change)
        if tally.n_classes == 2 and not tally.clustered and tally.tells_log_odds(chunks):
            return replace(found, total=replace(found.total, assessment=whole))
        whole = _diagnosed(whole, chunks, numbered=len(tally.sources) <= 1)
        found = replace(found, groups=tuple(_groups_with_rows(arguments, found)))
    return replace(found, total=replace(found.total, assessment=whole))


def _groups_with_rows(arguments: argparse.Namespace, found: Breakdown) -> Iterator[GroupAssessment]:
    """Let groups be diagnosed and mended by their rows, up to so many as fit in memory and take seconds."""
    from ..assessment.remedy import MOST_PROBABILITIES

    tally = found.whole.source.tally
    if arguments.apply is not None or tally.n_rows * tally.n_classes > MOST_PROBABILITIES:
        yield from found.groups
        return

    @cache
    def rows() -> GroupRows:
        from ..recalibration.group_rows import gathered_groups

        return gathered_groups(grouped_chunks(arguments)())

    for group in found.groups:

        def chunks(key: Key = group.key) -> list[Forecasts]:
            return [rows().of(key).named_forecasts()]

        yield replace(group, assessment=_diagnosed(group.assessment, chunks, numbered=False))


def tallies_of(
    arguments: argparse.Namespace, counting: dict[str, Any], change: Callable[[Forecasts], Forecasts] | None = None
) -> Tallies:
    """Count each group of rows by itself."""
    refuse_outcomes(arguments, "--view each-class assesses the classes.")
    names = matching(arguments.files)
    tallies = tally_names(names, arguments)
    if tallies:
        raise InputError(
            f"{tallies[0]}: --by needs rows, and those of a tally are counted without groups; give the file that they"
            " came from."
        )
    if jobs_of(arguments.jobs) != 1:
        raise InputError("--jobs: groups are counted by one thread, and so are periods (--time); leave out --jobs.")
    try:
        return counted_by(arguments, names, as_tallies, counting, change)
    except InputError as error:
        raise naming_files(arguments.files, error) from None


def refuse_without_groups(arguments: argparse.Namespace) -> None:
    """What is for groups alone would be ignored."""
    if option := first_given(arguments, ["sort"]):
        raise InputError(f"{option} is for groups; name their column with --by.")


def _checked_settings(arguments: argparse.Namespace) -> AssessmentSettings:
    """Settings of the assessment, refused before anything is counted."""
    from ..assessment.settings import AssessmentSettings

    return AssessmentSettings(**settings_of(arguments), asked=getattr(arguments, "metric", ()))


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Settings of an assessment, as its options say."""
    return {
        "floor": arguments.floor,
        "measured": arguments.measured,
        "view": arguments.view,
        "orders": arguments.show.orders if hasattr(arguments, "show") else None,
        "confidence": arguments.confidence,
        "resamples": getattr(arguments, "resamples", 0),
        "seed": getattr(arguments, "seed", 0),
    }


def recalibration_of(arguments: argparse.Namespace, names: Sequence[str]) -> Callable[[Forecasts], Forecasts] | None:
    """Give what recalibrates the forecasts before they are assessed, if that is asked for."""
    if getattr(arguments, "apply", None) is None:
        return None
    if tallies := tally_names(names, arguments):
        raise InputError(f"{tallies[0]}: --apply needs rows; give the file that the tally was counted from.")
    if arguments.engine != "local":
        raise InputError(f"--engine {arguments.engine}: --apply is by the engine local; leave one of them out.")
    from .recalibrate import recalibrated_by

    recalibrated = recalibrated_by(arguments.apply)
    sayer(arguments)(
        f"recalibrated by {printable(str(arguments.apply))}; if the map was fitted to these rows, they"
        " look better calibrated than new rows will"
    )
    return recalibrated


_OTHERS = (
    *("by", "sort", "show", "metric", "reference", "apply", "floor", "measured", "view", "resamples", "seed"),
    *("engine", "jobs", "style"),
)
"""Options of assess that ordered classes have no use for."""


def ordered(arguments: argparse.Namespace) -> None:
    """Assess forecasts of ordered classes in files."""
    from .._lib.errors import InputError
    from ..assessment.ordered import ordered_of
    from ..forecasts.gathered import gathered_chunks
    from ..sources.derived_columns import derived
    from ..sources.readers.formats import matching
    from .counting import file_chunks, naming_files, tally_names
    from .outputs import check_outputs, picture_bytes, report_bytes, text_of, write_outputs

    a = arguments
    if option := first_given(a, _OTHERS):
        one = " AND ".join(f"{each.column} = {'...' if each.how else 1}" for each in map(derived, a.by))
        instead = f"assess one group at a time, such as --where '{one}'" if option == "--by" else "leave it out"
        raise InputError(f"{option} does not go with --ordered, which assesses thresholds of the classes; {instead}.")
    check_outputs(a)
    if tallies := tally_names(matching(a.files), a):
        raise InputError(f"{tallies[0]}: thresholds are counted from rows; give the file that the tally came from.")
    try:
        found = ordered_of(gathered_chunks(file_chunks(a)(), "forecasts"), a.confidence)
    except InputError as error:
        raise naming_files(a.files, error) from None
    pictures = picture_bytes(a.plot, found) | report_bytes(a, found)
    write_outputs(a, found.to_json, text_of(a, found), pictures)
