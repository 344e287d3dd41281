"""Gates at the command line: requirements, and the exit code that says whether they are met."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from .._lib.errors import InputError
from .._lib.output_files import taking_turns
from .._lib.serialize import result_json
from ..assessment.flat import NamedMetric
from ..assessment.result import Assessment
from ..comparison.sequential import PREFIX, changes_of_pairs, changes_of_samples
from ..monitoring.gate import checked, refuse_for_numbers
from ..monitoring.requirements import Requirement, scoring_rules
from ..sources.readers.formats import place_of, with_folders
from .assessing import Asked, assessment_of, with_asked
from .input import Input
from .options import first_given, predicts_numbers
from .outputs import Outputs
from .own_options import CONFIDENCE

if TYPE_CHECKING:
    from ..comparison.result import Comparison

FAILED = 1
"""Exit code where a requirement is not met."""

_DEFAULT = ("change.log_loss", "change.brier_score")
"""Changes from earlier forecasts that are required not to be above 0, where nothing else is required."""

_FILES = "FILE"
"""What several files are called together, as in the help."""


def check(arguments: argparse.Namespace) -> int:
    """Test the requirements; returns the exit code."""
    a, outputs = arguments, Outputs(arguments)
    numbers = predicts_numbers(a)
    point, a.confidence = a.confidence is None, CONFIDENCE if a.confidence is None else a.confidence
    parsed = [Requirement.parse(text) for text in a.require]
    if not (parsed or a.earlier):
        raise InputError("--require: no requirement; name at least one, such as --require 'log_loss < 0.4'.")
    refuse_for_numbers(first_given(a, ["anytime"]) if numbers else "")
    if a.on and not a.earlier and not numbers:
        raise InputError("--on: pairs rows with earlier forecasts; name their file with --earlier.")
    if not a.earlier and any(each.name.startswith("change.") for each in parsed):
        raise InputError("--require: a change compares FILE with earlier forecasts; name their file with --earlier.")
    if a.earlier and {*map(place_of, with_folders(a.files))} & {*map(place_of, with_folders([a.earlier]))}:
        raise InputError(f"--earlier {a.earlier}: these are the forecasts of FILE itself; name earlier forecasts.")
    a.metric = scoring_rules(parsed, of_classes=not numbers)
    assessed, changes, against = _of_numbers(a) if numbers else _of_classes(a, parsed)
    unasked = [f"{PREFIX}{name}" for name in assessed.scores][:1] if numbers else _DEFAULT
    finite = [name for name in unasked if name in changes and math.isfinite(changes[name].value)]
    wanted = [*a.require] or [f"{name} <= 0" for name in finite]  # two infinite log losses have no difference
    gate = partial(checked, point=point, anytime=a.anytime, min_effect=a.min_effect)
    found = gate(assessed, wanted, changes=changes, against=against)
    written = {} if a.junit is None else {a.junit: found.to_junit().encode()}
    with nullcontext() if a.summary is None else taking_turns(a.summary):
        if a.summary is not None:
            earlier = a.summary.read_bytes() if a.summary.is_file() else b""
            written[a.summary] = earlier + found.to_markdown().encode()
        outputs.write(lambda: result_json(found.to_flat()), partial(outputs.text, found), written)
    return 0 if found else FAILED


Changes = Mapping[str, NamedMetric]


def _of_numbers(a: argparse.Namespace) -> tuple[Any, Changes, str]:
    """Assess predictive distributions; also give their changes from earlier ones, and how these were found."""
    from .distributions import assessment_of_distributions, compared_forecasters, of_files, paired_files

    now, before = assessment_of_distributions(a), partial(assessment_of_distributions, of_files(a, [a.earlier]))
    return now, *_changes(a, now, before, lambda files: compared_forecasters(a, paired_files(a, files, common=True)))


def _of_classes(a: argparse.Namespace, parsed: Sequence[Requirement]) -> tuple[Assessment, Changes, str]:
    """Assess forecasts of classes; also give their changes from earlier ones, and how these were found."""
    rows = Input.of(a).settled()
    asked = Asked.of(a, rows)
    a.reference = "base-rate" if any(each.name.endswith("skill") for each in parsed) else None
    assessed = with_asked(a, asked, assessment_of)
    rows.say_dropped([assessed])

    def before() -> Assessment:
        return assessment_of(Asked.of(a, rows.of_file(a.earlier).settled()))

    return assessed, *_changes(a, assessed, before, partial(_compared, a, rows))


def _changes(
    a: argparse.Namespace, now: Any, assessed: Callable[[], Any], compared: Callable[[Mapping[str, list[str]]], Any]
) -> tuple[Changes, str]:
    """Give the change of every score from earlier forecasts, assessed or compared, and how it was found."""
    if not a.earlier:
        return {}, ""
    if not (a.on or a.hub):  # whose columns identify forecasts
        before = assessed()
        known = {} if predicts_numbers(a) else before.source.tally.tags.words()
        tags = "".join(f"{kind} {text}, " for kind, text in known.items())
        shared = ", although clusters may be in both" if a.ways else ""
        samples = f"as two independent samples{shared}; --on pairs rows"
        how = f"change from {a.earlier} ({tags}{before.n_rows:,} forecasts), {samples}"
        return changes_of_samples(now, before), how
    name = str(a.files[0]) if len(a.files) == 1 else _FILES
    found = compared({name: list(a.files), a.earlier: [a.earlier]})
    how = f"change from {a.earlier}, paired by {', '.join(a.on) or 'forecast'} ({found.n_rows:,} rows)"
    return changes_of_pairs(found, name), how


def _compared(a: argparse.Namespace, rows: Input, files: Mapping[str, Sequence[str]]) -> Comparison:
    from ..comparison.compare import ComparisonSettings, compared
    from ..comparison.files import PairingOptions, compared_files

    options = PairingOptions(a.on, common=True, clusters=a.ways, where=a.where or "", searched=a.searched)
    how = partial(
        compared, settings=ComparisonSettings(a.metric, a.floor, a.confidence, None, bool(a.ways), searched=a.searched)
    )
    return compared_files(files, options, rows.paired.selection, rows.reading, how, rows.say, progress=False)
