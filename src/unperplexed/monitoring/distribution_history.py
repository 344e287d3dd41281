"""Predictive distributions of a number in periods, as monitoring reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Ints
from ..calibration.diagnosis.row_groups import Groups, Windows
from ..calibration.distribution_rows import read_distributions
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.group_keys import RowKeys, row_keys
from ..forecasts.reading import AUTO
from .history import History, Period, by_period, in_periods, in_time
from .pit_counts import PitCounts

_MOST = 4_000
"""More periods take minutes."""


def history_of_distributions(
    y_true: Any, forecast: Predictive, time: Any, by: Any, reading: Mapping[str, Any]
) -> History:
    """Return forecasts and outcomes in periods.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        Outcomes.
    forecast : Quantiles, Samples, Distribution or PIT
        Forecasts of them.
    time : array_like of shape (n,)
        Period of each row.
    by : array_like, mapping, data frame or None
        Groups of the rows.
    reading : mapping
        How rows are read, as in `assess`: ``issued`` and ``target_date`` say how far ahead forecasts reach.

    Raises
    ------
    InputError
        As `assess`; for rows without ``time``, for weighted rows, and for thousands of periods.
    """
    rows = read_distributions(y_true, forecast, {**reading, "clusters": AUTO, "columns": None})
    if rows.rows.weight is not None:
        raise InputError("sample_weight (--weight): monitoring counts rows. Leave it out.")
    columns = {name: np.asarray(each)[rows.kept] for name, each in in_periods(time, by).items()}
    periods = row_keys({"time": columns["time"]}, rows.rows.n)
    if (n := len(periods.keys)) > _MOST:
        many = f"{n:,} periods of {number_of(round(rows.rows.n / n), 'forecast')} are too many to watch"
        remedy = "Take longer periods, such as days (--time COLUMN:day) or weeks (COLUMN:week)."
        raise InputError(f"time (--time): {many}; {_MOST:,} are the most. {remedy}")
    ahead = _ahead(periods, rows.groups)
    keys = row_keys(columns, rows.rows.n).groups()
    counted = {key: PitCounts.of(rows.rows.subset(some), ahead(some)) for key, some in keys}
    found = History(clustered=True)
    for name, groups in by_period({key: counted[key] for key in in_time([*counted])}).items():
        found = found.with_period(Period(name, {group: (each,) for group, each in groups.items()}))
    return found


def _ahead(periods: RowKeys, groups: Groups | None) -> Callable[[Ints], int]:
    """Return what counts the periods that begin while the windows of some rows are open, from issue to target."""
    windows = groups if isinstance(groups, Windows) else Windows(periods.group, periods.group + 1)
    issued, target = windows.numbers()
    starts = np.sort([issued[some].min() for _, some in periods.groups()])

    def found(some: Ints) -> int:
        first, last = np.searchsorted(starts, [issued[some].min(), target[some].max()]).tolist()
        return int(max(1, last - first))

    return found
