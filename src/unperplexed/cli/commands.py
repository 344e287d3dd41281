"""What each command does: read, count or assess, then write every output. One public function a command.

Sections that ``assess --show`` adds to the text and to the JSON, of all rows and of each group.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError, check_whole
from .._lib.serialize import plain_values, result_json
from .._lib.typing import Ints
from ..report.document import Block, Document, Prose, Table
from ..report.result import Naming
from ..tally.tally import Predictions, Tally
from .input import Input, of_numbers
from .meaning import as_number, pairs
from .options import first_given
from .outputs import Outputs, called, sayer

if TYPE_CHECKING:
    from ..assessment.breakdown import Breakdown
    from ..assessment.result import Assessment
    from ..report.explanations import Explanation

Found = tuple[Sequence[Block], Any]
"""What text has of a section, and what JSON has of it."""


class Section(NamedTuple):
    """A section: what it has of an assessment, given the value of its setting, and what rows are counted for it."""

    of: Callable[[Any, Any], Found]
    setting: str = ""
    read: Callable[[str], Any] = str
    default: Any = None
    parts: Sequence[str] = ()
    together: bool = False
    """Whether it is of a breakdown as a whole, and not of each group."""


class Sections:
    """The sections that are asked for, such as ``calibration:bins=20``."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Read SECTION or SECTION:SETTING=VALUE."""
        self._settings = dict(map(_named, texts))
        self._made: dict[int, dict[str, Found]] = {}

    @property
    def parts(self) -> list[str]:
        """Parts of a tally that the sections are made from."""
        return [part for name in self._settings for part in SECTIONS[name].parts]

    @property
    def orders(self) -> list[float] | None:
        """Orders of the risk profile, where they are named."""
        return self._settings.get("profile")

    def _of(self, found: Any, inside: bool = False) -> dict[str, Found]:
        """Make each section of an assessment or a breakdown, or of a group inside of one, once for text and JSON."""
        if id(found) not in self._made:
            self._made[id(found)] = {
                name: SECTIONS[name].of(found if SECTIONS[name].together else _all_rows(found), value)
                for name, value in self._settings.items()
                if not (inside and SECTIONS[name].together)
            }
        return self._made[id(found)]

    def added(self, document: Document, found: Assessment | Breakdown) -> Document:
        """Add the sections to what text shows: those of all rows, then those of each group under its name."""
        groups = _groups(found) if self._settings else ()
        blocks = self._blocks(self._of(found), "All rows:" if groups else "")
        for group in groups:
            named = zip(found.by, group.key, strict=True)  # type: ignore[union-attr]
            blocks += self._blocks(
                self._of(group.assessment, inside=True), f"{', '.join(f'{name} {value}' for name, value in named)}:"
            )
        if self._settings and not getattr(found, "diagnosed", True):
            blocks.append(Prose("With so many groups, sections are those of all rows.", quiet=True))
        return replace(document, summary=[*document.summary, *blocks])

    def _blocks(self, made: dict[str, Found], head: str) -> list[Block]:
        found = [block for blocks, _ in made.values() for block in blocks]
        return [Prose(head), *found] if head and found else found

    def json(self, found: Assessment | Breakdown) -> str:
        """Give a result as JSON, with the sections under "shown"."""
        plain = found.to_dict()
        if self._settings:
            plain["shown"] = {name: value for name, (_, value) in self._of(found).items()}
            groups = _groups(found)
            for group, named in zip(groups, plain["groups"] if groups else (), strict=True):
                made = self._of(group.assessment, inside=True)
                named["shown"] = {name: value for name, (_, value) in made.items()}
        return result_json(plain)


def _all_rows(found: Any) -> Assessment:
    """Give the assessment of all rows, which a breakdown has beside its groups."""
    whole: Assessment = getattr(found, "whole", found)
    return whole


def _groups(found: Any) -> Sequence[Any]:
    """Give the groups of a breakdown that have sections of their own: of very many none has."""
    return found.groups if getattr(found, "diagnosed", False) else ()


def _named(text: str) -> tuple[str, Any]:
    """Read a section and the value of its setting."""
    name, _, words = text.partition(":")
    if name not in SECTIONS:
        raise InputError(f"--show {text}: no section {name!r}; they are {', '.join(SECTIONS)}.")
    section = SECTIONS[name]
    if not words:
        return name, section.default
    setting, _, value = words.partition("=")
    if not section.setting or setting != section.setting:
        known = f"its setting is {name}:{section.setting}=..." if section.setting else "it has no settings"
        raise InputError(f"--show {text}: the section {name} has no setting {setting!r}; {known}.")
    try:
        return name, section.read(value)
    except ValueError as error:
        reason = str(error) if isinstance(error, InputError) else f"{value!r} cannot be read."
        raise InputError(f"--show {text}: {reason}") from None


def _averages(a: Assessment, _: None) -> Found:
    from ..describe.assessment_metrics import averages_blocks

    return averages_blocks(a), plain_values({"reported": a.reported, "measured": a.measured})


def _profile(a: Assessment, orders: list[float] | None) -> Found:
    from ..describe.assessment_metrics import floors_table
    from ..describe.profile import profile_document

    document, (low, high) = profile_document(a.profile, Naming(), brief=True, orders=orders or ()), a.profile.interval()
    values = plain_values({**vars(a.profile), "lower": low, "upper": high})
    return [Prose(document.lead), *document.summary, *map(Prose, document.warnings), floors_table(a)], values


def _scores(a: Assessment, _: None) -> Found:
    from ..describe.tally import scores_table

    tally = a.source.tally
    return [scores_table(tally)], tally.summary()["scores"]


def _calibration(a: Assessment, bins: int) -> Found:
    from ..calibration.errors import calibration_errors, decompose
    from ..describe.calibration import calibration_blocks

    tally = a.source.tally
    errors = calibration_errors(tally, bins=bins)
    view: Any = None if tally.knows_classes else "all-classes"
    parts = [decompose(tally, score=score, view=view) for score in ("brier_score", "log_loss")]
    values = {"bins": bins, "errors": errors, "decompositions": {each.rule: each for each in parts}}
    return calibration_blocks(tally, bins, errors, parts), plain_values(values)


def _abstaining(a: Assessment, _: None) -> Found:
    if a.risk_coverage is None:
        return [Prose("Not shown: risk-coverage takes rows without weights.")], None
    from ..report.result import document

    of = document(a.risk_coverage, Naming(), brief=True)
    return [Prose(f"{of.headline}. {of.lead}"), *of.summary], a.risk_coverage.to_dict()


def _classes(a: Assessment, _: None) -> Found:
    from ..describe.assessment_tables import class_table

    tally = a.source.tally
    values = None if tally.classes is None else tally.by_class().to_dicts()
    return _table(class_table(a), "classes one by one take rows, or a tally with --parts classes predictions"), values


def _precision(a: Assessment, _: None) -> Found:
    from ..describe.assessment_tables import precision_table

    values = {"average_precision": a.average_precision, "curve": a.precision_recall}
    return _table(precision_table(a), "precision and recall take two classes that both occurred"), plain_values(values)


def _confusion(a: Assessment, _: None) -> Found:
    from ..describe.assessment_tables import confusions_table

    reason = "confused classes take rows of more than two classes"
    return _table(confusions_table(a), reason), plain_values(a.confusions)


def _surprises(a: Assessment, _: None) -> Found:
    from ..describe.assessment_tables import surprises_table

    return _table(surprises_table(a), "these take rows, or a tally with --parts surprises"), plain_values(a.surprises)


def _table(table: Table | None, reason: str) -> list[Block]:
    """Show all rows of a table, or say why there is none."""
    return [Prose(f"Not shown: {reason}.") if table is None else replace(table, brief=table.n_rows)]


def _tripod(found: Any, _: None) -> Found:
    from ..describe.calibration import tables_of, tripod_text

    if _all_rows(found).bias is None:
        return [Prose("Not shown: tripod takes forecasts of two classes.")], None
    return [Prose(tripod_text(found.validation)), *tables_of(found.validation)], plain_values(found.validation)


SECTIONS = {
    "averages": Section(_averages),
    "profile": Section(_profile, "orders", lambda text: [*map(float, text.split(","))]),
    "scores": Section(_scores),
    "calibration": Section(_calibration, "bins", lambda text: check_whole("bins", int(text)), 15, ("classes",)),
    "classes": Section(_classes, parts=("classes", "predictions")),
    "precision-recall": Section(_precision),
    "confusion": Section(_confusion),
    "surprises": Section(_surprises),
    "risk-coverage": Section(_abstaining),
    "tripod": Section(_tripod, parts=("classes",), together=True),
}
"""The sections by name. The names stand in the help, and so does the default of bins, which is that of the library."""


def assess(arguments: argparse.Namespace) -> None:
    """Assess forecasts and outcomes, or tallies of them: all together and, if asked for, each group."""
    from .assessing import Asked, assessment_of, breakdown_of, change_of, with_asked

    a = arguments
    if not a.by and (option := first_given(a, ["sort"])):  # it would be ignored
        raise InputError(f"{option} is for groups; name their column with --by.")
    if a.by and a.among:
        raise InputError("--among: searches all rows for groups, --by names groups; leave one of them out.")
    if of_numbers(a) or a.ordered:
        _distributions(a)
        return
    outputs, rows = Outputs(a), Input.of(a).settled()
    a.show = sections = Sections(a.show)
    asked, change = Asked.of(a, rows), ""
    if a.by:
        from ..assessment.breakdown import with_shrinkage

        found = with_asked(a, asked, breakdown_of)
        whole, full = found.whole, with_shrinkage(found) if a.json or a.report else found
    else:
        found = full = whole = with_asked(a, asked, assessment_of)
        change = change_of(asked, whole)
    written = outputs.picture(found) | outputs.page(full)

    def added(document: Document) -> Document:
        return sections.added(replace(document, lead=f"{document.lead} {change}".strip()), found)

    outputs.write(partial(sections.json, full), partial(outputs.text, found, added), written)


def _distributions(a: argparse.Namespace) -> None:
    """Assess predictive distributions of a number, or of ordered classes."""
    from .advice import distribution_command
    from .distributions import assessment_of_distributions

    outputs = Outputs(a)
    found: Any = assessment_of_distributions(a)
    command = distribution_command(a)
    if a.among:
        from .where import groups_in_distributions

        found = replace(found, groups_found=groups_in_distributions(a))
    outputs.naming = outputs.naming._replace(recalibrate=command)
    outputs.show(found, recalibrate=command)


def tally(arguments: argparse.Namespace) -> None:
    """Count rows into a tally file, add tallies up, or show them."""
    a = arguments
    outputs, rows = Outputs(a), Input.of(a)
    if a.output is None and len(rows.tallies) < len(rows.names):
        raise InputError("-o: missing; name the tally file to write, such as -o counts.tally.")
    without: list[str] = []
    if of_numbers(a):
        from .distributions import tally_of_distributions

        found: Any = tally_of_distributions(a)
    else:
        found = _tally_of_classes(a, rows, without)
    try:
        found = found.tagged(**a.tag)
    except InputError as error:
        raise InputError(f"--tag {error}") from None
    if isinstance(found, Tally) and found.n_classes > 2 and 0 < len(without) < len(rows.names):
        rows.say(f"the part diagnosis is not in {', '.join(without)}, and so not in the sum, which has no verdict")
    name = called(a.files) if a.output is None else a.output.name
    written = {} if a.output is None else {a.output: found.to_bytes()}
    outputs.write(partial(result_json, found.summary()), partial(found.to_text, name=name), written)


def _tally_of_classes(a: argparse.Namespace, rows: Input, without: list[str]) -> Tally | Predictions:
    """Count rows and add tallies up; predictions alone where there is no column of outcomes."""
    loaded = map(Tally.load, rows.tallies)
    first = next(loaded, None)
    if isinstance(first, Predictions) and len(rows.tallies) == len(rows.names):
        rows.refuse_reading()
        return Predictions.merged(map(rows.part, [first, *loaded]), mixed=rows.mixed)
    try:
        return rows.tally(without=without)
    except InputError as error:
        if not error.no_outcomes or not a.prob:
            raise
    rows.say("no column of outcomes (--truth): predictions alone are counted, for monitor --drift")
    alone = replace(rows, selection=replace(rows.selection, outcomes=False))
    return Predictions(alone.tally(["classes"], diagnosed=0))


def plan(arguments: argparse.Namespace) -> None:
    """Say how many rows a study needs."""
    from ..assessment import plan as planning

    a = arguments
    widths = pairs("--precision", a.precision, [*planning.WIDTHS])
    a.precision = {name: as_number("--precision", width) for name, width in widths.items()} or None
    names = "rate", "auc", "bias", "slope", "precision", "thresholds", "power", "design_effect"
    found = planning.plan(**{name: getattr(a, name) for name in names})
    outputs = Outputs(a)
    outputs.write(found.to_json, partial(outputs.text, found), {})


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
    outputs.show(found)


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
