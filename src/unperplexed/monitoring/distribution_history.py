"""Predictive distributions of a number in periods, as monitoring reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..calibration.diagnosis.row_groups import Groups, Windows
from ..calibration.distribution_rows import read_distributions
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.group_keys import row_keys
from .history import History, Period, by_period, in_periods, in_time
from .pit_counts import PitCounts


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
        As `assess`; for rows without ``time``, and for weighted rows.
    """
    rows = read_distributions(y_true, forecast, {**reading, "columns": None})
    if rows.rows.weight is not None:
        raise InputError("sample_weight (--weight): monitoring counts rows. Leave it out.")
    columns = {name: np.asarray(each)[rows.kept] for name, each in in_periods(time, by).items()}
    ahead = _Ahead.of(row_keys({"time": columns["time"]}, rows.rows.n).group, rows.groups)
    keys = row_keys(columns, rows.rows.n).groups()
    counted = {key: PitCounts.of(rows.rows.subset(some), ahead.periods(some)) for key, some in keys}
    found = History(clustered=True)
    for name, groups in by_period({key: counted[key] for key in in_time([*counted])}).items():
        found = found.with_period(Period(name, {group: (each,) for group, each in groups.items()}))
    return found


class _Ahead(NamedTuple):
    """From when forecasts were issued to the times that they are about, and when those of each period were first."""

    issued: Floats
    target: Floats
    starts: Floats

    @classmethod
    def of(cls, period: Ints, groups: Groups | None) -> _Ahead:
        """Take the windows; where there are none, no forecast reaches into the next period."""
        windows = groups if isinstance(groups, Windows) else Windows(period, period + 1)
        issued, target = windows.numbers()
        starts = np.full(period.max() + 1, np.inf)
        np.minimum.at(starts, period, issued)
        return cls(issued, target, np.sort(starts))

    def periods(self, some: Ints) -> int:
        """Count the periods that begin while the windows of some rows are open."""
        ends = (self.issued[some].min(), self.target[some].max())
        return max(1, int(np.diff(np.searchsorted(self.starts, ends))[0]))
