"""What each command does: read, count or assess, then write every output. One public function a command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError
from .._lib.serialize import result_json
from .._lib.typing import Ints
from ..tally.tally import Tally
from .input import Input, of_numbers
from .options import first_given
from .outputs import Outputs, called, sayer
from .sections import Sections

if TYPE_CHECKING:
    from ..assessment.breakdown import Breakdown
    from ..assessment.result import Assessment
    from ..pairing.skill_result import Skill
    from ..report.document import Document
    from ..report.explanations import Explanation
    from ..tally.distributions import DistributionTally


def assess(arguments: argparse.Namespace) -> None:
    """Assess forecasts and outcomes, or tallies of them: all together and, if asked for, each group."""
    from .assessing import Asked, assessment_of, breakdown_of, change_of

    a = arguments
    if not a.by and (option := first_given(a, ["sort"])):  # it would be ignored
        raise InputError(f"{option} is for groups; name their column with --by.")
    if of_numbers(a) or a.ordered:
        _distributions(a)
        return
    outputs, rows = Outputs(a), Input.of(a).settled()
    found: Assessment | Breakdown
    full: Assessment | Breakdown
    a.show = sections = Sections(a.show)
    skill, change = _skill(a, rows), ""
    if a.by:
        from ..assessment.breakdown import with_shrinkage

        found = replace(breakdown_of(Asked.of(a, rows)), skill=skill)
        whole, full = found.whole, with_shrinkage(found) if a.json or a.report else found
    else:
        asked = Asked.of(a, rows)
        found = full = whole = replace(assessment_of(asked), skill=skill)
        change = change_of(asked, whole)
    written = outputs.picture(whole, a.style[-1] if a.style else "reported") | outputs.page(full)

    def added(document: Document) -> Document:
        return sections.added(replace(document, lead=f"{document.lead} {change}".strip()), found)

    outputs.write(partial(sections.json, full), partial(outputs.text, found, added), written)


def _skill(a: argparse.Namespace, rows: Input) -> Skill | None:
    """Give the skill against the reference that is named."""
    if a.reference is None:
        return None
    from .skill import skill_beside

    return skill_beside(a, rows)


def _distributions(a: argparse.Namespace) -> None:
    """Assess predictive distributions of a number, or of ordered classes."""
    from .advice import distribution_command
    from .distributions import assessment_of_distributions

    outputs = Outputs(a)
    found, command = assessment_of_distributions(a), distribution_command(a)
    outputs.naming = outputs.naming._replace(recalibrate=command)
    written = outputs.picture(found) | outputs.page(found, command)
    outputs.write(found.to_json, partial(outputs.text, found), written)


def tally(arguments: argparse.Namespace) -> None:
    """Count rows into a tally file, add tallies up, or show them."""
    a = arguments
    outputs, rows = Outputs(a), Input.of(a)
    if a.output is None and len(rows.tallies) < len(rows.names):
        raise InputError("-o: missing; name the tally file to write, such as -o counts.tally.")
    without: list[str] = []
    found = _tally_of_distributions(a) if of_numbers(a) else rows.tally(without=without)
    try:
        found = found.tagged(**a.tag)
    except InputError as error:
        raise InputError(f"--tag {error}") from None
    if isinstance(found, Tally) and found.n_classes > 2 and 0 < len(without) < len(rows.names):
        rows.say(f"the part diagnosis is not in {', '.join(without)}, and so not in the sum, which has no verdict")
    name = called(a.files) if a.output is None else a.output.name
    written = {} if a.output is None else {a.output: found.to_bytes()}
    outputs.write(partial(result_json, found.summary()), partial(found.to_text, name=name), written)


def _tally_of_distributions(a: argparse.Namespace) -> DistributionTally:
    from .distributions import tally_of_distributions

    return tally_of_distributions(a)


def explain(arguments: argparse.Namespace) -> None:
    """Explain terms, or list all."""
    from ..report import terminal
    from ..report.explanations import terms_document

    found = [each.to_text() for each in _explained(arguments.terms)]
    Outputs(arguments).print("\n\n".join(found) or terminal.text(terms_document()))


def _explained(words: Sequence[str]) -> list[Explanation]:
    """Take words for one term together, and if there is no such term for a term each."""
    from ..report.explanations import explain

    words = [word.strip() for word in words]
    if not words:
        return []
    try:
        return [explain(" ".join(words))]
    except InputError:
        try:
            return list({each.term: each for each in map(explain, words)}.values())
        except InputError:
            pass
        raise


def demo(arguments: argparse.Namespace) -> None:
    """Assess a classifier of handwritten digits."""
    from ..assessment.assess import assess

    outputs = Outputs(arguments)
    digit, probability, source = digits_forecasts()
    sayer(arguments)(source)
    found = assess(digit, probability)
    outputs.write(found.to_json, partial(outputs.text, found), outputs.picture(found, "reported") | outputs.page(found))


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
