"""Decisions at the command line: the threshold that follows from costs, and what decisions there cost."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from .._lib.typing import Floats
from ..assessment.counted_rows import CountedRows, recalibrated_beside, rows_of_tally, rows_one_by_one
from ..assessment.decision_curve import MODEL, DecisionCurve, checked_thresholds, curve_of, refuse_classes
from ..assessment.decisions import Costs, Deciding, Decision, at_capacity, checked_costs
from ..forecasts.group_keys import row_keys
from ..sources.derived_columns import Derived
from ..statistics.intervals import checked_sampling
from .advice import decision_commands
from .input import Input
from .meaning import COSTS
from .outputs import Outputs


def decide(arguments: argparse.Namespace) -> None:
    """Decide by the forecasts of files, or by tallies of them."""
    a, outputs = arguments, Outputs(arguments)
    checked_sampling(a.confidence, 0, a.seed)
    keys = [*dict.fromkeys(x for x in (*a.costs.values(), a.period) if x and isinstance(x, str))]
    rows = Input.of(a)
    with rows:
        counted, costs = _rows(replace(rows, selection=replace(rows.selection, keys=keys)), a.costs, a.period)
        columns = {MODEL: counted}
        beside, warnings = recalibrated_beside(True, columns, seed=a.seed)
        at = checked_thresholds(a.thresholds or None)
        at = np.linspace(at[0], at[-1], 51) if len(a.thresholds) == 2 else at
        curve = partial(curve_of, columns, beside, at, a.confidence, warnings)
        found: DecisionCurve | Decision
        if costs is not None:
            found = Deciding(counted, costs, a.confidence).decision(beside.get(MODEL), a.seed, warnings, a.capacity)
            found = found.advising(decision_commands(a))
        else:
            most = None if a.capacity is None else at_capacity(counted, a.capacity, a.confidence)
            found = replace(curve(), capacity=most)
    pictures = {} if a.plot is None else outputs.picture(curve())
    outputs.write(found.to_json, found.__str__, pictures | outputs.page(found))


def _costs(costs: Mapping[str, float | str], column: Callable[[str], Floats]) -> tuple[Costs, Floats | None]:
    """Check the costs of false positives and negatives, and of true ones; those of a column are of each row."""
    if missing := [f"{key}=" for key in ("fp", "fn") if key not in costs]:
        raise InputError(f"--costs: {' and '.join(missing)} missing; name both, such as --costs fp=1 fn=9.")
    values = (costs.get(key, 0.0) for key in COSTS)
    return checked_costs(*(column(value) if isinstance(value, str) else value for value in values))


def _rows(rows: Input, costs: Mapping[str, float | str], period: str) -> tuple[CountedRows, Costs | None]:
    """Read rows, with their costs and their periods, or take those of tallies."""
    if not rows.tallies:
        gathered, columns = rows.gathered(MODEL)
        refuse_classes(gathered)

        def numbers(name: str) -> Floats:
            return Derived(name).numbers(columns[name], gathered.index).to_numpy()

        whole, prices = _costs(costs, numbers) if costs else (None, None)
        number = row_keys(columns[period], gathered.n_rows).group if period else None
        return rows_one_by_one(gathered, MODEL, prices, number), whole
    if others := [name for name in rows.names if name not in rows.tallies]:
        raise InputError(f"{others[0]}: holds rows, beside tallies; count them first (unperplexed tally).")
    if rows.selection.keys:
        raise InputError(f"{rows.tallies[0]}: counts rows and has no columns; name the file of the rows.")
    rows.refuse_reading()
    return rows_of_tally(rows.merged()), _costs(costs, np.array)[0] if costs else None
