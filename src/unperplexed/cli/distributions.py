"""Predictive distributions of numbers as the command line's words name them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from .._lib.formatting import number_of
from ..forecasts.reading import AUTO
from ..pairing.distribution_skill import REFERENCES, DistributionSettings, ScoreSkill
from ..sources.hub import hub_files
from ..sources.predictive import ReadDistributions, count_distributions, models_of, read_distributions, several
from ..sources.predictive_columns import ISSUED, MODEL, PredictiveSelection
from ..sources.row_filter import RowFilter
from ..tally.tally import Tally
from .input import Input
from .meaning import pairs
from .options import PREDICTIVE, first_given, predicts_numbers, refuse_given
from .outputs import recalibrated_of, sayer

if TYPE_CHECKING:
    import polars as pl

    from ..assessment.distribution_result import DistributionAssessment, DistributionBreakdown
    from ..comparison.distributions import DistributionComparison
    from ..forecasts.distributions.predictive import Predictive
    from ..recalibration.distribution_pools import DistributionPool
    from ..recalibration.recalibrator import Recalibrator
    from ..tally.distributions import DistributionTally

_SOME = 0.05
"""Share of the fit's forecasts among others that is no chance."""

_PROBABILITIES = ("prob", "ordered", "forecast")
"""Options that name probabilities of classes."""

_OF_TALLIES = ("clusters", "parts", "cells")
"""Options of tallies of classes."""

_OF_ORDERED = ("ordered", "labels")
"""Options of classes that say how categories of a hub are read."""


def assessment_of_distributions(a: argparse.Namespace) -> DistributionAssessment | DistributionBreakdown:
    """Assess the predictive distributions that the options name, and each group; or forecasts of ordered classes."""
    from ..assessment.distributions import assess_distributions, assess_distributions_by

    ordered = a.ordered and not predicts_numbers(a)
    if not ordered and (not predicts_numbers(a) or a.engine != "local"):
        return _of_tallies(a)
    read, known = _ordered(a) if ordered else (distributions_of(a), {})
    asked, notes = _asked(a, read), [*read.notes, *several(read.frame)]
    if not a.by:
        return replace(_noted(assess_distributions(read.y, read.forecast, asked), notes, read.frame), **known)
    sort: Any = a.sort if "sort" in a.given else "group"
    found = assess_distributions_by(read.y, read.forecast, read.frame.select(a.by), sort, asked)
    return replace(found, whole=replace(_noted(found.whole, notes, read.frame), **known))


def comparison_of_distributions(a: argparse.Namespace) -> DistributionComparison:
    """Compare the forecasters whose predictive distributions the options name."""
    refuse_given(a, ["by"], ": compare does not group distributions; choose one group at a time with --where.")
    return compared_forecasters(a, _forecasters_of(a))


def compared_forecasters(a: argparse.Namespace, read: Mapping[str, ReadDistributions]) -> DistributionComparison:
    """Compare forecasters whose predictive distributions were read."""
    from ..comparison.distributions import compared_distributions

    one = next(iter(read.values()))
    found = compared_distributions(one.y, {name: each.forecast for name, each in read.items()}, _asked(a, one))
    notes = dict.fromkeys(note for each in read.values() for note in each.notes)
    return replace(found, notes=(*notes, *found.notes))


def skill_of_distributions(a: argparse.Namespace) -> ScoreSkill:
    """Compare the predictive distributions that the options name with a reference."""
    from ..pairing.skill import skill

    refuse_given(a, ["by"], ": skill of distributions is of all rows; choose one group at a time with --where.")
    of_one = ": skill of distributions is that of one forecaster in all rows. Leave it out."
    refuse_given(a, ("plot", "forecaster", "in_order", "common"), of_one)
    read = distributions_of(a)
    if several(read.frame):
        raise InputError("several forecasters: compare --reference NAME gives the skill of each.")
    asked, say = _asked(a, read)._asdict(), sayer(a)
    for note in (*read.notes, *read.forecast.notes):
        say(note)
    found: ScoreSkill = skill(read.y, read.forecast, **asked.pop("reading"), **asked)
    return found


def _forecasters_of(a: argparse.Namespace) -> dict[str, ReadDistributions]:
    """Read and pair predictive distributions: of a hub, of a table with a column of forecasters, or of a file each."""
    from ..comparison.files import PairingOptions, named_files, paired_distributions

    if not (a.hub or a.forecaster):
        PairingOptions(a.on, a.in_order, a.common)  # which refuses files that nothing matches
        return paired_files(a, named_files(a.files), a.common)
    read = distributions_of(a)
    column = a.forecaster or next(name for name in MODEL if name in read.frame.columns)
    return paired_distributions(read.by(column), _identifying(a, read.frame, column), a.common)


def _identifying(a: argparse.Namespace, frame: pl.DataFrame, *models: str) -> Sequence[str]:
    """Name the columns that identify a forecast of a forecaster, whom others name: all that vary, if none is named."""
    beside = {*models, *a.cluster_columns, *(name for name in _reference(a)[1] if ":" in name)}
    return a.on or [each.name for each in frame if each.name not in beside and each.n_unique() > 1]


def of_files(a: argparse.Namespace, files: Sequence[str]) -> argparse.Namespace:
    """Return the same options for other files."""
    return argparse.Namespace(**{**vars(a), "files": files})


def paired_files(
    a: argparse.Namespace, files: Mapping[str, Sequence[str]], common: bool
) -> dict[str, ReadDistributions]:
    """Read the files of each forecaster, and choose the forecasts that all have."""
    from ..comparison.files import paired_distributions

    read = {name: distributions_of(of_files(a, each)) for name, each in files.items()}
    on = _identifying(a, next(iter(read.values())).frame, *MODEL) if a.hub else a.on
    return paired_distributions(read, on, common)


def _asked(a: argparse.Namespace, read: ReadDistributions) -> DistributionSettings:
    """Say how forecasts are assessed, and what is known of each row."""
    name, columns = _reference(a)
    reference = {name: read.frame.select(columns)} if columns else a.reference
    return DistributionSettings(reading_of(a, read), reference, a.metric, a.confidence)


def reading_of(a: argparse.Namespace, read: ReadDistributions) -> dict[str, Any]:
    """Give what stands beside the forecasts, under the names of Python's options."""
    reading: dict[str, Any] = {"sample_weight": read.weight, "censored": read.censored or None}
    reading |= {"issued": read.issued, "target_date": read.target}
    searched = a.searched and predicts_numbers(a)  # ordered classes are searched as they are read
    reading["clusters"] = read.clusters if read.clusters is not None else AUTO if searched else None
    if read.issued is None and searched and read.clusters is None:
        reading["columns"] = _of_file(a, read)
    return reading


def _of_file(a: argparse.Namespace, read: ReadDistributions) -> pl.DataFrame | None:
    """Give the columns by which rows may depend, whatever groups are asked for; None if there are no others."""
    asked = {*getattr(a, "by", ()), *getattr(a, "among", ()), *_reference(a)[1]}
    names = read.frame.columns
    others = [name for name in names if name not in asked]
    return read.frame.select(name for name in names if name in others or ":" not in name) if others else None


def fit_of_distributions(a: argparse.Namespace) -> tuple[Recalibrator, list[str]]:
    """Fit a map to the predictive distributions that the options name; also name their forecasters, as far as known."""
    from ..recalibration.recalibrator import Recalibrator

    refuse_given(a, ["by"], " is for probabilities of classes; map one group at a time with --where.")
    refuse_given(a, ["method", "report", "prevalence"], " is for probabilities of classes; leave it out.")
    read = distributions_of(a)
    for sentence in (*read.notes, *read.forecast.notes):
        Input.of(a).say(sentence)
    made = Recalibrator(folds=a.folds, seed=a.seed)
    return made.fit(read.y, read.forecast, **reading_of(a, read)), models_of(read.frame)


def write_distributions(a: argparse.Namespace, made: Recalibrator, fitted_to: Sequence[str]) -> str:
    """Write a file of predictive distributions, mended by a map of some forecasters; say what was written."""
    from ..sources.mended_files import write_mended

    rows, selection = Input.of(a), selection_of(a)
    [name, *others] = hub_files(rows.files) if a.hub else rows.files
    if others:
        raise InputError("--apply writes the rows of one file to another; name one FILE.")
    beyond = [0.0]

    def mend(forecast: Predictive) -> Predictive:
        if made.distributions is None:
            return made.transform(forecast)
        if (known := made.distributions.known(forecast)) > _SOME:
            better = "better than new ones will; assess the map by its own gain, or on other rows"
            among = f"about {known:.0%} of the forecasts that the map was fitted to are among these"
            rows.say(f"{among}. Mended, they look {better}")
        new, share = made.distributions.mended(forecast)
        beyond.append(share)
        return new

    lines, changed = write_mended(name, a.output, selection, rows.reading, mend, rows.say, a.named or "*", fitted_to)
    share = max(beyond)
    outside = f"; {share:.0%} of the new numbers lie above or below all old ones of their row, and are extrapolated"
    return f"{a.output}: {recalibrated_of(changed, lines)}{outside * bool(share)}"


_POOL = "the pool"
"""Name of a pool beside its forecasters."""


def pooled_forecasters(
    a: argparse.Namespace, settings: Mapping[str, Any]
) -> tuple[DistributionPool, DistributionComparison]:
    """Pool the forecasters whose predictive distributions the options name, and compare the pool with each."""
    from ..comparison.distributions import compared_distributions
    from ..forecasts.distributions.partitions import Quantiles
    from ..recalibration.pools import pool

    read = _forecasters_of(a)
    one, forecasts = next(iter(read.values())), {name: each.forecast for name, each in read.items()}
    if _POOL in read:
        raise InputError(f"{_POOL}: two forecasters of that name; give another with NAME=FILE.")
    reading = reading_of(a, one)
    fits = isinstance(one.forecast, Quantiles) and settings.get("method") != "median"
    options = {**settings, "folds": a.folds, "seed": a.seed, **reading}
    found: DistributionPool = pool(one.y if fits else None, forecasts, **options)
    beside = compared_distributions(one.y, forecasts | {_POOL: found.forecast}, DistributionSettings(reading))
    return found, beside


def write_pooled(a: argparse.Namespace, files: Mapping[str, str]) -> str:
    """Write the file of the first forecaster with pooled distributions in place of its own; say what was written."""
    from ..recalibration.distribution_pools import DistributionPool
    from ..sources.mended_files import write_mended
    from ..sources.predictive import read_forecasts

    if not a.in_order or a.hub:
        raise InputError("--apply takes a file of each forecaster, with the same rows in the same order: --in-order.")
    made, rows, selection = DistributionPool.load(a.apply), Input.of(a), selection_of(a)
    (first, path), *more = files.items()
    others = {name: read_forecasts([each], selection, rows.reading, rows.say) for name, each in more}

    def mend(forecast: Predictive) -> Predictive:
        pooled = made.transform({first: forecast, **others})
        if pooled.form != forecast.form:
            raise InputError(f"--apply: {pooled.form} have no room in a file of {forecast.form}. Pool them in Python.")
        return pooled

    lines, _ = write_mended(path, a.output, selection, rows.reading, mend, rows.say, a.named or "*")
    return f"{a.output}: {number_of(lines, 'row')} pooled"


def _reference(a: argparse.Namespace) -> tuple[str, list[str]]:
    """Name the reference, and the columns of a climatology by season, or of the series of persistence."""
    name, _, columns = (getattr(a, "reference", None) or "").partition(":")
    return name, columns.split(",") if name in REFERENCES and columns else []


_UNORDERED = (
    *("among", "show", "reference", "apply", "floor", "measured", "view", "resamples", "seed"),
    *("engine", "jobs", "style"),
)
"""Options of assess that ordered classes have no use for."""


def _ordered(a: argparse.Namespace) -> tuple[ReadDistributions, dict[str, Any]]:
    """Read forecasts of ordered classes as those of classes are, and say which of them were found to be dependent."""
    from ..describe.tally import notes_lines
    from ..forecasts.distributions.ordered import Ordered
    from ..forecasts.labels import Coded

    refuse_given(a, _UNORDERED, " does not go with --ordered, which assesses classes that have an order; leave it out.")
    rows = Input.of(a).settled()
    if rows.tallies:
        remedy = "give the file that the tally came from."
        raise InputError(f"{rows.tallies[0]}: thresholds are counted from rows; {remedy}")
    with rows:
        found, columns = rows.gathered("forecasts")
        [p], [notes] = found.values.values(), found.notes.values()
        y, forecast = Coded([*found.labels], found.truth), Ordered(p, found.labels)
    weights = found.weights if found.weighted else None
    read = ReadDistributions(y, forecast, columns, weights, clusters=found.clusters, notes=[*notes_lines(notes)])
    return read, {"dependence": rows.dependence}


def _of_tallies(a: argparse.Namespace) -> DistributionAssessment:
    """Assess tallies, or what an engine counts, which know no groups, references or rows."""
    others = () if predicts_numbers(a) else ("metric", *_PROBABILITIES, *a.of_classes)
    said = " is not for tallies of predictive distributions, nor for what --engine counts"
    refuse_given(a, ("by", "sort", "reference", "clusters", *others), f"{said}. Leave it out, or assess the rows.")
    from ..assessment.distributions import assess_distribution_tally

    return assess_distribution_tally(tally_of_distributions(a), a.confidence)


_MOST_BESIDE = 3
"""Columns that are shown of surprising rows."""


def _noted(found: DistributionAssessment, notes: Sequence[str], frame: Any = None) -> DistributionAssessment:
    """Say what was left out on the way in, and which date and location surprising rows have."""
    if frame is not None and found.surprises is not None:
        varied = [each for each in frame if ":" not in each.name and each.n_unique() > 1]
        shown = sorted(varied, key=lambda each: each.name in ISSUED)[:_MOST_BESIDE]
        beside = {each.name: tuple(map(str, each[found.surprises.row])) for each in shown}
        found = replace(found, surprises=replace(found.surprises, beside=beside))
    return replace(found, notes=(*notes, *found.notes))


def tally_of_distributions(a: argparse.Namespace) -> DistributionTally:
    """Count the predictive distributions that the options name, file by file, and add up tallies of them."""
    rows = Input.of(a)
    refuse_given(a, _OF_TALLIES, " is not for tallies of predictive distributions, whose rows count as independent.")
    others = [name for name in rows.names if name not in rows.tallies]
    if not others:
        rows.refuse_reading()
    selection = selection_of(a) if others else None
    with rows:
        counted = selection and count_distributions(others, selection, rows.reading, a.metric, rows.engine, rows.say)
        tallies = chain(map(Tally.load, rows.tallies), filter(None, [counted]))
        found: DistributionTally = Tally.merged(tallies, mixed=rows.mixed)
    return found


def distributions_of(a: argparse.Namespace) -> ReadDistributions:
    """Read the predictive distributions that the options name."""
    rows, selection = Input.of(a), selection_of(a)
    with rows:
        return read_distributions(rows.files, selection, rows.reading, rows.say)


def _searched(a: argparse.Namespace) -> list[str]:
    """Name the columns that are searched for groups; those of a hub are known once it is read."""
    among = getattr(a, "among", [])
    return among if among != ["all"] else [] if a.hub else others_of(a, Input.of(a).columns)


def others_of(a: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Return the columns that hold neither outcomes, weights nor forecasts, as far as options name these."""
    words = [*chain(*(getattr(a, form) for form in PREDICTIVE)), *a.censored, *a.truth, a.weight or ""]
    used = {part for word in words for part in (word, *re.split("[=,]", word))}
    return [name for name in names if not any(fnmatchcase(name, each) for each in used)]


def selection_of(a: argparse.Namespace) -> PredictiveSelection:
    """Read which columns hold what; options that are for other forecasts are refused."""
    [form, *others] = [form for form in PREDICTIVE if getattr(a, form)]
    if others:
        raise InputError(f"--{form} and --{others[0]} each name the forecasts; leave one of them out.")
    known = _OF_ORDERED if a.command != "recalibrate" and a.hub and a.ordered else ()
    if option := first_given(a, [name for name in (*_PROBABILITIES, *a.of_classes) if name not in known]):
        remedies = {"--show": "The report (--report PAGE.html) has all sections."}
        instead = remedies.get(option, "Leave one of them out.")
        raise InputError(f"{option} is for probabilities of classes, not for --{form}. {instead}")
    if "rescale" in a.invalid:
        raise InputError("--invalid rescale is for probabilities; drop leaves rows out in which a number is missing.")
    if a.truth[1:]:
        raise InputError(f"--truth {' '.join(a.truth)}: the outcome is a number, in one column.")
    as_named = {name: getattr(a, name) for name in ("target_data", "weight", "issued", "target_date", "ordered")}
    return PredictiveSelection(
        form,
        getattr(a, form),
        next(iter(a.truth), None),
        on=[*a.on, *filter(None, [getattr(a, "forecaster", None)])],
        censored=pairs("--censored", a.censored, ("above", "below")),
        clusters=a.cluster_columns,
        keys=[*getattr(a, "by", ()), *_searched(a), *_reference(a)[1]],
        where=RowFilter(a.where or ""),
        **as_named,
    )
