"""What each command does: read, count or assess, then write every output. One public function a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError
from .._lib.serialize import result_json
from .._lib.typing import Ints
from ..sources.readers.formats import matching
from .assessing import assessment_of, breakdown_of, refuse_without_groups
from .counting import (
    reading_of,
    rivals_of,
    selection_of,
    tagged,
    tally_names,
    tally_of,
)
from .options import first_given
from .outputs import (
    called,
    check_outputs,
    picture_bytes,
    report_bytes,
    sayer,
    text_of,
    write_outputs,
)
from .sections import Sections
from .skill import reference_of, skill_beside

if TYPE_CHECKING:
    from ..assessment.breakdown import Breakdown
    from ..assessment.result import Assessment
    from ..comparison.result import Comparison as Compared
    from ..comparison.sequential import SequentialComparison
    from ..pairing.rows import Chunks, Pair


_NOT_SEQUENTIAL = {
    "by": "it has no groups",
    "reference": "skill scores are of all rows together",
    "lag": "its limits hold however rows depend on one another",
    "clusters": "its limits hold however rows depend on one another",
    "weight": "its rows have equal weight",
}
"""Options of other comparisons, and why they have no place in one row after another."""


def assess(arguments: argparse.Namespace) -> None:
    """Assess forecasts and outcomes, or tallies of them: all together and, if asked for, each group."""
    if arguments.ordered:
        from .assessing import ordered

        ordered(arguments)
        return
    check_outputs(arguments)
    found: Assessment | Breakdown
    full: Assessment | Breakdown
    arguments.show = sections = Sections(arguments.show)
    skill = skill_beside(arguments)
    if arguments.by:
        from ..assessment.breakdown import with_shrinkage

        found = replace(breakdown_of(arguments), skill=skill)
        whole, full = found.whole, with_shrinkage(found) if arguments.json or arguments.report else found
    else:
        refuse_without_groups(arguments)
        found = full = whole = replace(assessment_of(arguments), skill=skill)
    outputs = picture_bytes(arguments.plot, whole, _axes(arguments)) | report_bytes(arguments, full)
    text = text_of(arguments, found, lambda document: sections.added(document, found))
    write_outputs(arguments, partial(sections.json, full), text, outputs)


def _axes(arguments: argparse.Namespace) -> str:
    return arguments.style[-1] if arguments.style else "reported"


def compare(arguments: argparse.Namespace) -> None:
    """Compare forecasters on the same rows, all at once or one after another."""
    from ..comparison.files import PairingOptions, compared_files, named_files
    from ..comparison.result import Comparison as Compared
    from .advice import comparison_commands
    from .comparing import recalibrating

    files = named_files(arguments.files)
    arguments.files = [path for paths in files.values() for path in paths]
    check_outputs(arguments)
    a = arguments
    options = PairingOptions(
        a.on,
        a.in_order,
        a.common,
        rivals_of(a.forecast),
        a.forecaster,
        a.ways,
        where=a.where or "",
        by=a.by,
        climatology=() if a.reference is None else reference_of(a.reference)[1],
        within=a.within,
    )
    how = recalibrating(a, _in_sequence(a) if a.anytime else _at_once(a))
    found = compared_files(files, options, selection_of(a), reading_of(a), how, sayer(a), progress=not a.quiet)
    if isinstance(found, Compared):
        found = found.advising(comparison_commands(a, {name: [name] for name in options.rivals} or files))
    outputs = picture_bytes(a.plot, found) | report_bytes(a, found)
    write_outputs(a, found.to_json, text_of(a, found), outputs)


_Compared: TypeAlias = "Callable[[Chunks, Pair], Compared | SequentialComparison]"


def _at_once(arguments: argparse.Namespace) -> _Compared:
    """Compare all rows together."""
    from ..comparison.compare import ComparisonSettings, compared
    from ..pairing.skill import SkillSettings, skill_rules

    a = arguments
    against = None
    if a.reference is not None:
        reference, _ = reference_of(a.reference)
        against = SkillSettings(reference, skill_rules(a.metric), a.floor, a.confidence)
    settings = ComparisonSettings(a.metric, a.floor, a.confidence, a.lag, bool(a.ways), bool(a.within), against)
    return partial(compared, settings=settings)


def _in_sequence(arguments: argparse.Namespace) -> _Compared:
    """Compare one row after another."""
    from ..comparison.sequential import SequentialSettings, compared_sequentially

    if option := first_given(arguments, _NOT_SEQUENTIAL):
        raise InputError(f"{option} does not go with --anytime: {_NOT_SEQUENTIAL[option[2:]]}.")
    if arguments.metric[1:]:
        raise InputError(f"--metric {' '.join(arguments.metric)}: --anytime compares by one metric; name one.")
    score = arguments.metric[0] if arguments.metric else SequentialSettings.score
    settings = SequentialSettings(score, arguments.confidence, arguments.floor)
    return partial(compared_sequentially, settings=settings)


def recalibrate(arguments: argparse.Namespace) -> None:
    """Fit a recalibration map, or apply one."""
    from .recalibrate import recalibrate

    recalibrate(arguments)


def decide(arguments: argparse.Namespace) -> None:
    """Decide by forecasts at the threshold that follows from costs."""
    from .decide import decide

    decide(arguments)


def check(arguments: argparse.Namespace) -> int:
    """Test requirements; returns the exit code."""
    from .check import check

    return check(arguments)


def lm(arguments: argparse.Namespace) -> None:
    """Assess logs of language models."""
    from .lm import lm

    lm(arguments)


def pool(arguments: argparse.Namespace) -> None:
    """Fit a pool of several forecasters, or apply one."""
    from .pool import pool

    pool(arguments)


def skill(arguments: argparse.Namespace) -> None:
    """Give skill scores against a reference."""
    from .skill import skill

    skill(arguments)


def monitor(arguments: argparse.Namespace) -> int:
    """Watch calibration over time; returns the exit code."""
    from .monitor import monitor

    return monitor(arguments)


def tally(arguments: argparse.Namespace) -> None:
    """Count rows into a tally file, add tallies up, or show them."""
    check_outputs(arguments)
    names = matching(arguments.files)
    tallies = tally_names(names, arguments)
    if arguments.output is None and len(tallies) < len(names):
        raise InputError("-o: missing; name the tally file to write, such as -o counts.tally.")
    without: list[str] = []
    found = tagged(arguments, tally_of(arguments, without=without))
    if found.n_classes > 2 and 0 < len(without) < len(names):
        sayer(arguments)(
            f"the part diagnosis is not in {', '.join(without)}, and so not in the sum, which has no verdict"
        )
    outputs = {} if arguments.output is None else {arguments.output: found.to_bytes()}
    name = called(arguments.files) if arguments.output is None else arguments.output.name
    write_outputs(arguments, partial(result_json, found.summary()), found.to_text(name=name), outputs)


def explain(arguments: argparse.Namespace) -> None:
    """Explain metrics and findings."""
    from .explain import explain

    explain(arguments)


def demo(arguments: argparse.Namespace) -> None:
    """Assess a classifier of handwritten digits."""
    from ..assessment.assess import assess

    check_outputs(arguments)
    digit, probability, source = digits_forecasts()
    sayer(arguments)(source)
    assessment = assess(digit, probability)
    outputs = picture_bytes(arguments.plot, assessment, "reported") | report_bytes(arguments, assessment)
    write_outputs(arguments, assessment.to_json, text_of(arguments, assessment), outputs)


def digits_forecasts() -> tuple[Ints, NDArray[np.float32], str]:
    """Outcomes, forecasts and a sentence on where they are from.

    Trained now if scikit-learn is installed, else the predictions of the same classifier that come with the
    package, made by ``examples/make.py``.
    """
    what = "naive Bayes on scikit-learn's 1,797 handwritten digits, each predicted by a model that has not seen it"
    if find_spec("sklearn") is not None:
        return *train_digits(), f"{what}; trained just now"
    with (files(__package__) / "example" / "digits.npz").open("rb") as stream, np.load(stream) as archive:
        return archive["digit"], archive["probability"], f"{what}; predictions that come with the package"


def train_digits() -> tuple[Ints, NDArray[np.float32]]:
    """Predict each digit by Gaussian naive Bayes trained on the other folds; needs scikit-learn."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    x, digit = load_digits(return_X_y=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    probability: Any = cross_val_predict(GaussianNB(), x, digit, cv=folds, method="predict_proba")
    return digit, probability.astype(np.float32)
