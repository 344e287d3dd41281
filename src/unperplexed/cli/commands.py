"""What each command does: read, count or assess, then write every output. One public function a command."""

from __future__ import annotations

import argparse
import io
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .._lib.errors import InputError, check_whole
from .._lib.output import REPORTS, check_output, write_whole
from .._lib.serialize import json_text
from ..forecasts.forecasts import Forecasts
from ..report.text import (
    calibration_text,
    profile_orders,
    profile_text,
    scores_text,
    tally_text,
)
from ..sources.arguments import Engine
from ..sources.files import FileReading, ForecastFiles, Selection
from ..sources.local import counted_files
from ..sources.map_reduce import (
    Counting,
    Result,
    as_tallies,
    as_tally,
)
from ..sources.readers.formats import matching
from ..tally.tallies import MOST_GROUPS
from ..tally.tally import Tally, View
from .terminal import coloured, shows_colour

# What computes on SciPy is loaded by the commands that do: counting needs none of it.
if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..assessment.breakdown import Breakdown
    from ..assessment.result import Assessment
    from ..assessment.settings import AssessmentSettings
    from ..calibration.diagnosis.result import Diagnosis
    from ..comparison.pairing import Pair, Parts
    from ..comparison.result import Comparison as Compared
    from ..comparison.sequential import SequentialComparison


_PICTURES = (".png", ".svg", ".pdf")
_TALLY = ".tally"
_READING = ("renormalize", "drop_invalid", "percent", "from_logits", "from_log_probs")
_ROWS: dict[str, Any] = {
    **{name: [] for name in ("truth", "prob", "pair", "scores", "parts", "groups")},
    **dict.fromkeys(("weight", "labels", "pos_label", "ignore_label", "exact_limit", "fraction_bits")),
    **dict.fromkeys((*_READING, "decimal_comma"), False),
    "separator": ",",
    "engine": "local",
    **dict.fromkeys(("jobs", "scheduler", "master")),
}
"""What says how rows are read and counted, and its defaults."""
_NOT_SEQUENTIAL: dict[str, tuple[Any, str]] = {
    "lag": (None, "its limits hold however rows depend on one another"),
    "groups": ([], "its limits hold however rows depend on one another"),
    "weight": (None, "its rows count the same"),
    "scores": ([], "it is by one score, named with --score"),
    "confidence": (0.95, "say with --level how probable a false alarm may be"),
    "resamples": (400, "it draws no samples"),
    "seed": (0, "it draws no samples"),
    "report": (None, "its picture (--plot) shows all there is"),
}
"""Options of other comparisons, their defaults, and why they have no place in one row after another."""


def assess(arguments: argparse.Namespace) -> None:
    """Assess forecasts and outcomes, or tallies of them: all together and, if asked for, each group."""
    _check_outputs(arguments)
    found: Assessment | Breakdown
    if arguments.by:
        found = _breakdown(arguments)
        whole = found.whole
    else:
        _refuse_without_groups(arguments)
        found = whole = _assessment(arguments)
    outputs = _picture(arguments.plot, whole.plot, arguments.axes) | _report(arguments, found)
    _write(arguments, found.to_json, str(found), outputs)


def profile(arguments: argparse.Namespace) -> None:
    """Give the risk profile."""
    _check_outputs(arguments)
    assessment = _assessment(arguments)
    text = profile_text(assessment, arguments.orders or profile_orders(assessment.profile))
    _write(arguments, assessment.to_json, text, _picture(arguments.plot, assessment.profile.plot))


def scores(arguments: argparse.Namespace) -> None:
    """Give the mean of every scoring rule."""
    _check_outputs(arguments)
    counted = _tally(arguments)
    if not counted.weight > 0:
        raise InputError(f"{', '.join(arguments.files)}: no rows to score.")
    summary = {name: value for name, value in counted.summary().items() if name != "sources"}
    _write(arguments, partial(json_text, summary), scores_text(counted), {})


def calibration(arguments: argparse.Namespace) -> None:
    """Give the calibration errors, and the Brier score and the log loss in their parts."""
    from ..calibration.decomposition import decompose
    from ..calibration.errors import calibration_errors

    _check_outputs(arguments)
    check_whole("bins", arguments.bins)
    counted = _tally(arguments, parts=["classes"])
    try:
        errors = calibration_errors(counted, bins=arguments.bins)
        view: View | None = None if counted.knows_classes else "all-classes"
        decompositions = [decompose(counted, score=score, view=view) for score in ("brier_score", "log_loss")]
    except InputError as error:
        raise InputError(_named(arguments.files, error)) from None
    summary = counted.summary()
    result = {name: summary[name] for name in ("n_rows", "n_classes", "labels", "weighted", "weight", "exact", "notes")}
    result |= {"bins": arguments.bins, "errors": errors, "decompositions": {d.rule: d for d in decompositions}}
    text = calibration_text(counted, arguments.bins, errors, decompositions)
    _write(arguments, partial(json_text, result), text, {})


def compare(arguments: argparse.Namespace) -> None:
    """Compare forecasters on the same rows, all at once or one after another."""
    from ..comparison.files import Together, compared_files, named_files

    files = named_files(arguments.files)
    arguments.files = [path for paths in files.values() for path in paths]
    _check_outputs(arguments)
    a = arguments
    together = Together(a.on, a.in_order, a.common, _rivals(a.forecast), a.forecaster, a.groups)
    how = _in_sequence(a) if a.sequential else _at_once(a)
    found = compared_files(files, together, _selection(a), _reading(a), how, _sayer(a), progress=not a.quiet)
    outputs = _picture(a.plot, found.plot, comparison=found) | _report(a, found)
    _write(a, found.to_json, str(found), outputs)


_Compared: TypeAlias = "Callable[[Parts, Pair], Compared | SequentialComparison]"


def _at_once(arguments: argparse.Namespace) -> _Compared:
    """Compare all rows together."""
    from ..comparison.compare import Settings, compared

    a = arguments
    for name in ("score", "level"):
        if getattr(a, name) is not None:
            raise InputError(f"--{name} is for comparisons with --sequential.")
    settings = Settings(a.scores, a.floor, a.confidence, a.lag, bool(a.groups), a.resamples, a.seed)
    return partial(compared, settings=settings)


def _in_sequence(arguments: argparse.Namespace) -> _Compared:
    """Compare one row after another."""
    from ..comparison.sequential import SequentialSettings, compared_sequentially

    for name, (default, reason) in _NOT_SEQUENTIAL.items():
        if getattr(arguments, name) != default:
            raise InputError(f"--{name} does not go with --sequential: {reason}.")
    given = {name: getattr(arguments, name) for name in ("score", "level") if getattr(arguments, name) is not None}
    return partial(compared_sequentially, settings=SequentialSettings(**given, floor=arguments.floor))


def _rivals(texts: Sequence[str]) -> dict[str, list[str]]:
    """Read NAME=COLUMN,COLUMN,..."""
    rivals: dict[str, list[str]] = {}
    for text in texts:
        name, _, columns = text.partition("=")
        if not name or not columns or name in rivals:
            raise InputError(f"--forecast {text}: expected NAME=COLUMN[,COLUMN...], each name once.")
        rivals[name] = columns.split(",")
    return rivals


def tally(arguments: argparse.Namespace) -> None:
    """Count into a tally file."""
    _check_outputs(arguments)
    counted = _tally(arguments)
    write_whole(arguments.output, counted.to_bytes())
    _print(arguments, tally_text(counted))


def merge(arguments: argparse.Namespace) -> None:
    """Add up tally files."""
    _check_outputs(arguments)
    names = matching(arguments.files)
    without: list[str] = []
    merged = _merged(names, without=without)
    if merged.n_classes > 2 and 0 < len(without) < len(names):
        _sayer(arguments)(
            f"the part diagnosis is not in {', '.join(without)}, and so not in the sum, which has no verdict"
        )
    write_whole(arguments.output, merged.to_bytes())
    _print(arguments, tally_text(merged))


def show(arguments: argparse.Namespace) -> None:
    """Say what a tally file holds."""
    _check_outputs(arguments)
    names = matching(arguments.files)
    if len(names) > 1:
        raise InputError(f"{arguments.files[0]}: {len(names)} files match; show says what one holds.")
    found = Tally.load(names[0])
    _write(arguments, partial(json_text, found.summary()), tally_text(found), {})


def demo(arguments: argparse.Namespace) -> None:
    """Assess a classifier of handwritten digits."""
    from ..assessment.assess import assess
    from .demo import digits_forecasts

    _check_outputs(arguments)
    digit, probability, source = digits_forecasts()
    _sayer(arguments)(source)
    assessment = assess(digit, probability, scores=arguments.scores, **_settings(arguments))
    outputs = _picture(arguments.plot, assessment.plot, arguments.axes) | _report(arguments, assessment)
    _write(arguments, assessment.to_json, str(assessment), outputs)


def _assessment(arguments: argparse.Namespace) -> Assessment:
    from ..assessment.assess import assess_tally

    settings = _checked_settings(arguments)
    names = matching(arguments.files)
    once = bool(_tallies(names, arguments)) or "-" in names or arguments.engine != "local"
    counted = _tally(arguments, parts=_parts(arguments), diagnosed=once)
    try:
        found = assess_tally(counted, settings)
    except InputError as error:
        raise InputError(_named(arguments.files, error)) from None
    enough = counted.n_classes == 2 and not counted.grouped
    return found if enough or once else found.diagnosed_by(partial(_diagnosed, arguments, counted))


def _diagnosed(arguments: argparse.Namespace, counted: Tally) -> Diagnosis:
    """Diagnose the rows of files of more than two classes, which takes several passes over them."""
    from ..calibration.diagnosis.diagnose import diagnosis_of_rows, rows_of

    def chunks() -> Iterator[Forecasts]:
        for batch in ForecastFiles(matching(arguments.files), _selection(arguments), _reading(arguments)):
            yield from batch.forecasts

    return diagnosis_of_rows(rows_of(chunks, numbered=len(counted.sources) <= 1), counted.labels)


def _breakdown(arguments: argparse.Namespace) -> Breakdown:
    from ..assessment.breakdown import assess_by

    _refuse_outcomes(arguments)
    _checked_settings(arguments)
    names = matching(arguments.files)
    tallies = _tallies(names, arguments)
    if tallies:
        raise InputError(
            f"{tallies[0]}: --by needs rows, and those of a tally are counted without groups; give the file that they"
            " came from."
        )
    if arguments.jobs is not None:
        raise InputError("--jobs: groups are counted by one thread; leave it out, or leave out --by.")
    counting = {"parts": _parts(arguments), "most_groups": arguments.most_groups}
    try:
        counted = _counted(arguments, names, as_tallies, counting)
        return assess_by(counted, sort=arguments.sort, shrink=arguments.shrink, **_settings(arguments))
    except InputError as error:
        raise InputError(_named(arguments.files, error)) from None


def _refuse_outcomes(arguments: argparse.Namespace) -> None:
    """Of rows with one outcome no forecasts are calibrated, so that their slope and cost would say nothing."""
    for name in arguments.by:
        if name in arguments.truth or any(pair.endswith(f"={name}") for pair in arguments.pair):
            raise InputError(
                f"--by: column {name!r} holds the outcomes. Among rows of one outcome even the best forecasts look"
                " miscalibrated; --view each-class assesses the classes."
            )


def _refuse_without_groups(arguments: argparse.Namespace) -> None:
    """What is for groups alone would be ignored."""
    for name, default in {"sort": "geometric_accuracy", "shrink": False, "most_groups": MOST_GROUPS}.items():
        if getattr(arguments, name) != default:
            raise InputError(f"--{name.replace('_', '-')} is for groups; say of which with --by COLUMN.")


def _parts(arguments: argparse.Namespace) -> Sequence[str]:
    """Parts of a tally that the assessment is made from."""
    from ..assessment.assess import parts_for

    return parts_for(arguments.view, getattr(arguments, "groups", None) or None, arguments.weight)


def _checked_settings(arguments: argparse.Namespace) -> AssessmentSettings:
    """Settings of the assessment, refused before anything is counted."""
    from ..assessment.settings import AssessmentSettings

    return AssessmentSettings(**_settings(arguments))


def _named(given: Sequence[str], error: InputError) -> str:
    """Name the files as they were given, unless the error names one."""
    text, files = str(error), ", ".join(given)
    return text if any(text.startswith(f"{name}:") for name in matching(given)) else f"{files}: {text}"


def _tally(arguments: argparse.Namespace, parts: Sequence[str] = (), diagnosed: bool | None = None) -> Tally:
    """Add up the tally files that are given, and count the others, with parts that the command needs.

    ``diagnosed`` is as in `Tally.count`.
    """
    names = matching(arguments.files)
    tallies = _tallies(names, arguments)
    others = [name for name in names if name not in tallies]
    if not others:
        _refuse_reading(arguments, tallies[0])
        return _merged(tallies)
    counted = _counted(arguments, others, as_tally, {"parts": parts, "diagnosed": diagnosed})
    return _merged(tallies, counted) if tallies else counted


def _tallies(names: Sequence[str], arguments: argparse.Namespace) -> list[str]:
    return [name for name in names if name.lower().endswith(_TALLY) and arguments.format is None]


def _refuse_reading(arguments: argparse.Namespace, name: str) -> None:
    """A tally's rows are counted: what says how to read or count them would be ignored."""
    given = [name for name, default in _ROWS.items() if getattr(arguments, name, default) != default]
    if given:
        option = given[0].replace("_", "-")
        raise InputError(f"{name}: --{option} is for the reading of rows; those of a tally are already counted.")


def _merged(names: Sequence[str], start: Tally | None = None, without: list[str] | None = None) -> Tally:
    """Add up tally files; ``without`` collects the names of those that lack the part "diagnosis"."""
    merged = Tally() if start is None else start
    for name in names:
        loaded = Tally.load(name)
        if without is not None and loaded.diagnosis is None:
            without.append(name)
        try:
            merged = merged + loaded
        except InputError as error:
            raise InputError(f"{name}: does not add up with those before it: {error}") from None
    return merged


def _counted(
    arguments: argparse.Namespace,
    names: Sequence[str],
    counting: Callable[..., Counting[Result]],
    defaults: dict[str, Any],
) -> Result:
    """Count files; what the user does not say of it, defaults do."""
    say = _sayer(arguments)
    said = {name: getattr(arguments, name, None) for name in ("scores", "parts", "exact_limit", "fraction_bits")}
    said["n_jobs"] = arguments.jobs
    given = defaults | {name: value for name, value in said.items() if value is not None}
    if len(getattr(arguments, "pair", None) or ()) > 1 and not getattr(arguments, "groups", ()):
        say(f"the {len(arguments.pair)} forecasts of a row are taken to be independent; --groups says what is not")
    engine = Engine(arguments.engine, arguments.scheduler, arguments.master)
    return counted_files(
        names, _selection(arguments), _reading(arguments), counting(**given), say, not arguments.quiet, engine
    )


def _selection(arguments: argparse.Namespace) -> Selection:
    shards_by = () if arguments.command == "compare" else getattr(arguments, "groups", ())
    keys = getattr(arguments, "by", ())
    return Selection(arguments.truth, arguments.prob, arguments.pair, arguments.weight, shards_by, keys)


def _reading(arguments: argparse.Namespace) -> FileReading:
    return FileReading(
        arguments.labels,
        arguments.pos_label,
        arguments.ignore_label,
        {"\\t": "\t", "tab": "\t"}.get(arguments.separator, arguments.separator),
        {name: getattr(arguments, name) for name in _READING},
        arguments.decimal_comma,
        arguments.format,
        whole=arguments.command != "tally",
    )


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "floor": arguments.floor,
        "limit": arguments.limit,
        "measured": arguments.measured,
        "view": arguments.view,
        "orders": getattr(arguments, "orders", None),
        "confidence": arguments.confidence,
        "resamples": getattr(arguments, "resamples", 0),
        "seed": getattr(arguments, "seed", 0),
    }


def _sayer(arguments: argparse.Namespace) -> Callable[[str], None]:
    """Give what says a sentence to the user, who may want to hear none."""

    def say(sentence: str) -> None:
        if not arguments.quiet:
            print(f"unperplexed: {sentence}", file=sys.stderr)

    return say


def _print(arguments: argparse.Namespace, text: str) -> None:
    """Print the text, if it is wanted."""
    if not arguments.quiet:
        print(coloured(text) if shows_colour(sys.stdout) else text)


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse outputs that cannot be written, or that would overwrite an input or each other."""
    outputs = []
    if getattr(arguments, "plot", None) is not None:
        outputs.append(check_output(arguments.plot, _PICTURES))
    if getattr(arguments, "report", None) is not None:
        outputs.append(check_output(arguments.report, REPORTS))
    if getattr(arguments, "output", None) is not None:
        outputs.append(check_output(arguments.output, (_TALLY,)))
    if getattr(arguments, "json", None) not in (None, "-"):
        outputs.append(check_output(Path(arguments.json)))
    places = [path.resolve() for path in (*outputs, *map(Path, matching(getattr(arguments, "files", []))))]
    if len(set(places)) < len(places):
        raise InputError(f"{outputs[0]}: would overwrite the input or the other output; name another file.")


def _write(arguments: argparse.Namespace, as_json: Callable[[], str], text: str, pictures: dict[Path, bytes]) -> None:
    """Make the JSON if it is asked for, for it may take samples; write outputs when all of them have been made."""
    outputs = dict(pictures)
    printed = as_json() if arguments.json == "-" else None
    if arguments.json not in (None, "-"):
        outputs[Path(arguments.json)] = (as_json() + "\n").encode()
    for path, content in outputs.items():
        write_whole(path, content)
    if printed is None:
        _print(arguments, text)
    else:
        print(printed)


def _report(arguments: argparse.Namespace, found: Any) -> dict[Path, bytes]:
    """Give the report's bytes by its path: with the names of the files and the command as it was typed."""
    if arguments.report is None:
        return {}
    name = _called(getattr(arguments, "files", ["handwritten digits"]))
    return {arguments.report: found.to_html(name=name, command=shlex.join(["unperplexed", *arguments.words])).encode()}


_MOST_CALLED = 3


def _called(files: Sequence[str]) -> str:
    """Name files in a few words: without their folders, but patterns as they are."""
    names = ["standard input" if file == "-" else Path(file).name if Path(file).is_file() else file for file in files]
    more = len(names) - _MOST_CALLED
    return ", ".join(names[:_MOST_CALLED]) + (f" and {more:,} more" if more > 0 else "")


def _picture(
    path: Path | None, draw: Callable[..., Axes], kind: str = "profile", comparison: object = None
) -> dict[Path, bytes]:
    """Draw on a figure of the right size and give the picture's bytes by its path."""
    if path is None:
        return {}
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ..comparison.result import Comparison
    from ..report.plots import SIZES, comparison_size

    size = comparison_size(comparison) if isinstance(comparison, Comparison) else SIZES[kind]
    figure = Figure(figsize=size, layout="tight")
    draw(figure.subplots(), **({"axes": kind} if kind in ("reported", "nelson") else {}))
    stream = io.BytesIO()
    form = path.suffix.lower()[1:]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same picture has the same bytes
    with rc_context({"svg.hashsalt": "unperplexed"}):
        figure.savefig(stream, format=form, dpi=150, bbox_inches="tight", metadata=undated.get(form))
    return {path: stream.getvalue()}
