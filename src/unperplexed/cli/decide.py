"""Decisions at the command line: the threshold that follows from costs, and what decisions there cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import options

if TYPE_CHECKING:
    from ..assessment.counted_rows import CountedRows
    from ..assessment.decision_curve import DecisionCurve
    from ..assessment.decision_result import Decision


def add_decide(command: argparse.ArgumentParser) -> None:
    """Add input, costs and outputs of the command."""
    options.add_input(command, engine=False)
    options.add_where(command)
    add = options.about("question", command)
    text = (
        "cost of a false positive and a false negative, and of true ones (tp=, tn=: below 0 for a benefit; default: 0)"
    )
    add(
        "--costs", nargs="+", action="extend", default=[], metavar="fp=COST fn=COST", help=f"{text}; without: the curve"
    )
    options.add_clusters(command)
    options.add_confidence(command)
    options.about("numbers", command)(
        "--seed", type=int, default=0, metavar="N", help="random seed of the folds (default: 0)"
    )
    options.add_json(command)
    text = "write the decision curve, also of recalibrated probabilities: .png, .svg or .pdf"
    options.about("work", command)("--plot", type=Path, metavar="PATH", help=text)
    options.add_report(command)


def decide(arguments: argparse.Namespace) -> None:
    """Decide by the forecasts of files, or by tallies of them."""
    from .._lib.errors import InputError
    from ..assessment.decision_curve import MODEL, checked_thresholds, curve_of
    from ..assessment.decisions import checked_costs, decided
    from ..assessment.recalibrated import recalibrated_beside
    from ..statistics.intervals import checked_sampling
    from .advice import decision_commands
    from .counting import naming_files
    from .outputs import check_outputs, picture_bytes, report_bytes, write_outputs

    a = arguments
    check_outputs(a)
    checked_sampling(a.confidence, 0, a.seed)
    costs = checked_costs(*_costs(a.costs)) if a.costs else None
    try:
        columns = {MODEL: _rows(a)}
        beside, warnings = recalibrated_beside(True, columns, seed=a.seed)
        curve = partial(curve_of, columns, beside, checked_thresholds(None), a.confidence, warnings)
        found: DecisionCurve | Decision
        if costs is None:
            found = curve()
        else:
            found = decided(columns[MODEL], costs, beside.get(MODEL), a.confidence, a.seed, warnings)
            found = found.advising(decision_commands(a))
    except InputError as error:
        raise naming_files(a.files, error) from None
    pictures = {} if a.plot is None else picture_bytes(a.plot, curve())
    write_outputs(a, found.to_json, str(found), pictures | report_bytes(a, found))


def _costs(costs: Mapping[str, float]) -> tuple[float, float, float, float]:
    """Give the costs of false positives and negatives, and the benefits of true ones."""
    from .._lib.errors import InputError

    if missing := [f"{key}=" for key in ("fp", "fn") if key not in costs]:
        raise InputError(f"--costs: {' and '.join(missing)} missing; name both, such as --costs fp=1 fn=9.")
    return costs["fp"], costs["fn"], costs.get("tp", 0.0), costs.get("tn", 0.0)


def _rows(a: argparse.Namespace) -> CountedRows:
    """Read rows, or take those of tallies."""
    from .._lib.errors import InputError
    from ..assessment.counted_rows import rows_of_tally, rows_one_by_one
    from ..assessment.decision_curve import MODEL, refuse_classes
    from ..forecasts.gathered import gathered_chunks
    from ..sources.readers.formats import matching
    from .counting import file_chunks, merged_tallies, refuse_reading, tally_names

    names = matching(a.files)
    tallies = tally_names(names, a)
    if not tallies:
        rows = gathered_chunks(file_chunks(a)(), MODEL)
        refuse_classes(rows)
        return rows_one_by_one(rows, MODEL)
    if others := [name for name in names if name not in tallies]:
        raise InputError(f"{others[0]}: holds rows, beside tallies; count them first (unperplexed tally).")
    refuse_reading(a, tallies[0])
    return rows_of_tally(merged_tallies(tallies))
