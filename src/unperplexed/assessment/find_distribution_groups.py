"""Where predictive distributions are wrong: groups of rows that are biased, too narrow or too wide beside all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._lib.dataclasses import replace
from .._lib.errors import InputError, check_seed, check_whole
from .._lib.typing import Bools, Floats
from ..calibration.diagnosis.distributions import Tested
from ..calibration.diagnosis.row_groups import Windows
from ..calibration.distribution_rows import DistributionRows, read_distributions
from ..calibration.where.naming import MOST, FoundGroup, rows_of
from ..calibration.where.pit import SearchedPit
from ..forecasts.distributions.ordered import Ordered
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.forecasts import Notes
from .find_groups import columns_among, named_groups, searched, searched_columns
from .groups_found import Groups


def find_distribution_groups(
    y_true: Any,
    forecast: Predictive,
    among: Any,
    max_groups: int,
    seed: int,
    reading: Mapping[str, Any],
    named: bool = True,
) -> Groups:
    """Search predictive distributions; `find_groups` describes it."""
    rows = read_distributions(y_true, forecast, reading)
    return groups_of_distributions(rows, columns_among(among, len(forecast)), max_groups, seed, named)


def groups_of_distributions(
    rows: DistributionRows, among: Mapping[str, NDArray[Any]], max_groups: int = MOST, seed: int = 0, named: bool = True
) -> Groups:
    """Search rows that were read; `groups_of_rows` describes the arguments."""
    most, seed, form = check_whole("max_groups", max_groups), check_seed(seed), rows.forecast.form
    weighted = True if rows.rows.weight is None else rows.rows.weight > 0
    rows = rows.only(np.flatnonzero(~rows.rows.impossible & weighted))
    given = {name: values[rows.kept] for name, values in among.items()}
    columns, warnings = searched_columns(given, (rows.rows.low + rows.rows.high > 0).astype(np.int64), named)
    cluster = rows.groups.blocks() if isinstance(rows.groups, Windows) else rows.groups
    event = {None: SearchedPit.of(rows.rows, cluster)}
    _, [found] = searched(columns, event, most, seed)
    groups = named_groups(
        columns,
        event,
        [found],
        [*warnings, *rows.notes],
        gain=None,
        p_value_all=Tested.of(rows.rows, rows.groups).gate.p_value,
        labels=(),
        dependence=rows.search,
        notes=Notes(),
        seed=seed,
        _fit=_no_recalibrator,
        form=form,
    )
    spread = None if isinstance(rows.forecast, Ordered) else rows.rows.log_spread
    inside = [rows_of(columns, rule) for rule in found.rules]
    return replace(
        groups, items=tuple(_of_numbers(of, here, spread) for of, here in zip(groups.items, inside, strict=True))
    )


def _of_numbers(group: FoundGroup, inside: Bools, log_spread: Floats | None) -> FoundGroup:
    """Give a width as a factor, and the spread that a bias is told in."""
    spread = math.nan if log_spread is None else math.exp(float(np.median(log_spread[inside])))
    if group.error == "bias":
        return replace(group, median_spread=spread)
    low, high = map(math.exp, group.effect_interval)
    effect, shrunken = math.exp(group.effect), math.exp(group.effect_shrunken)
    return replace(
        group, error="width", effect=effect, effect_interval=(low, high), effect_shrunken=shrunken, median_spread=spread
    )


def _no_recalibrator() -> NoReturn:
    raise InputError(
        "groups of predictive distributions are not corrected together. Fit a Recalibrator to the rows of each group."
    )
