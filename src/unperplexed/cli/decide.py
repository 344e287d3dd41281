"""Decisions at the command line: the threshold that follows from costs, and what decisions there cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial

import numpy as np

from .._lib.errors import InputError
from ..assessment.counted_rows import CountedRows, recalibrated_beside, rows_of_tally, rows_one_by_one
from ..assessment.decision_curve import MODEL, DecisionCurve, checked_thresholds, curve_of, refuse_classes
from ..assessment.decisions import Deciding, Decision, checked_costs
from ..forecasts.gathered import gathered_chunks
from ..statistics.intervals import checked_sampling
from .advice import decision_commands
from .input import Input
from .outputs import Outputs


def decide(arguments: argparse.Namespace) -> None:
    """Decide by the forecasts of files, or by tallies of them."""
    a, outputs = arguments, Outputs(arguments)
    checked_sampling(a.confidence, 0, a.seed)
    costs = checked_costs(*_costs(a.costs)) if a.costs else None
    rows = Input.of(a)
    with rows:
        columns = {MODEL: _rows(rows)}
        beside, warnings = recalibrated_beside(True, columns, seed=a.seed)
        at = checked_thresholds(a.thresholds or None)
        at = np.linspace(at[0], at[-1], 51) if len(a.thresholds) == 2 else at
        curve = partial(curve_of, columns, beside, at, a.confidence, warnings)
        found: DecisionCurve | Decision
        if costs is None:
            found = curve()
        else:
            found = Deciding(columns[MODEL], costs, a.confidence).decision(beside.get(MODEL), a.seed, warnings)
            found = found.advising(decision_commands(a))
    pictures = {} if a.plot is None else outputs.picture(curve())
    outputs.write(found.to_json, found.__str__, pictures | outputs.page(found))


def _costs(costs: Mapping[str, float]) -> tuple[float, float, float, float]:
    """Give the costs of false positives and negatives, and the benefits of true ones."""
    if missing := [f"{key}=" for key in ("fp", "fn") if key not in costs]:
        raise InputError(f"--costs: {' and '.join(missing)} missing; name both, such as --costs fp=1 fn=9.")
    return costs["fp"], costs["fn"], costs.get("tp", 0.0), costs.get("tn", 0.0)


def _rows(rows: Input) -> CountedRows:
    """Read rows, or take those of tallies."""
    if not rows.tallies:
        gathered = gathered_chunks(rows.chunks()(), MODEL)
        refuse_classes(gathered)
        return rows_one_by_one(gathered, MODEL)
    if others := [name for name in rows.names if name not in rows.tallies]:
        raise InputError(f"{others[0]}: holds rows, beside tallies; count them first (unperplexed tally).")
    rows.refuse_reading()
    return rows_of_tally(rows.merged())
