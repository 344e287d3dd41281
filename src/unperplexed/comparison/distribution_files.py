"""Predictive distributions of several forecasters in files, side by side: the same forecasts of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from .._lib.dataclasses import replace
from .._lib.errors import InputError, rows_text
from .._lib.formatting import number_of
from ..sources.predictive import ReadDistributions
from .files import ROW, check_heights, joined_ids, same_types


def paired_distributions(
    read: Mapping[str, ReadDistributions], on: Sequence[str], common: bool
) -> dict[str, ReadDistributions]:
    """Choose the forecasts that all forecasters have, in the order of the first.

    Parameters
    ----------
    read : mapping from str to ReadDistributions
        Forecasts by the forecaster's name.
    on : sequence of str
        Columns that identify a forecast; without any, all have the same forecasts in the same order.
    common : bool
        Whether forecasts that not all forecasters have are left out, and noted.

    Raises
    ------
    InputError
        For other forecasts of one forecaster than of another, and for outcomes that differ.
    """
    if len(read) < 2:
        raise InputError(f"a comparison takes at least two forecasters, here is {', '.join(read)}.")
    ids = [str(at) for at in range(len(on))]
    keys = same_types({name: [_keys(each, on, ids)] for name, each in read.items()})
    if on:
        rows = joined_ids(keys, ids, common)
        out = {name: len(each.y) - rows.height for name, each in read.items() if len(each.y) > rows.height}
        each_out = ", ".join(f"{number_of(n, 'forecast')} of {name}" for name, n in out.items())
        notes = [(sum(out.values()), f"Left out since not all forecasters have them: {each_out}.")] * bool(out)
        places = (rows[f"{ROW} of {at}"].to_numpy() for at in range(len(read)))
        read = {
            name: replace(each.only(place), notes=[*each.notes, *notes])
            for (name, each), place in zip(read.items(), places, strict=True)
        }
    else:
        check_heights(keys)
    (first, one), *others = read.items()
    for name, each in others:
        differ = np.flatnonzero(each.y != one.y)
        if differ.size:
            raise InputError(f"{name}: other outcomes than {first} in {rows_text(differ)} of those that both have.")
    return dict(read)


def _keys(read: ReadDistributions, on: Sequence[str], ids: Sequence[str]) -> pl.DataFrame:
    return read.frame.select(pl.col(name).alias(of) for name, of in zip(on, ids, strict=True)).with_columns(
        pl.Series(ROW, np.arange(len(read.y)))
    )
