"""Files of predictive distributions, written anew with mended numbers: all else stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Floats
from ..forecasts.distributions.partitions import Quantiles, Samples
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.predictive import Predictive
from .columns import Plan
from .file_reading import FileReading, named
from .hub import hub_lines
from .predictive import ahead, long_lines, models_of
from .predictive_columns import PredictiveSelection, Wide, form_of
from .predictive_rows import LineRows, Lines, missing, opened
from .readers import Batch, Wanted
from .readers.formats import format_of, found_files
from .rewriting import ForecastFile

Mend = Callable[[Predictive], Predictive]
"""Gives forecasts mended, in the same form."""


def write_mended(
    name: str,
    path: Path,
    selection: PredictiveSelection,
    reading: FileReading,
    mend: Mend,
    say: Callable[[str], None] = lambda _: None,
    named_as: str = "*",
    fitted_to: Sequence[str] = (),
) -> tuple[int, int]:
    """Write a file of forecasts with mended ones; those in which a number is missing stay as they are.

    Parameters
    ----------
    name : str
        The file, without outcomes: a wide or a long table, or a file of a hub.
    path : Path
        The new file, in the format that its suffix names.
    selection : PredictiveSelection
        Which columns hold what.
    reading : FileReading
        How the file is to be read.
    mend : callable
        Gives forecasts mended.
    say : callable, optional
        Called with each sentence that says what was read off names.
    named_as : str, default "*"
        Names of the new columns, with * for that of the old one; the same ones replace these.
    fitted_to : sequence of str, default ()
        Forecasters of the fit, if they are known; others are said.

    Returns
    -------
    tuple of int
        Number of lines of the file, and of those with mended numbers.

    Raises
    ------
    InputError
        For several files, for families, whose mended distributions are of no family, and for what cannot be read.
    """
    if selection.form == "distribution":
        why = "a mended distribution is of no family, so that parameters cannot hold it"
        raise InputError(f"--distribution: {why}. Apply the map in Python, or to quantiles.")
    [file, *others] = found_files([name])
    if others:
        raise InputError(f"{name}: {len(others) + 1} files match; name one, whose rows are written to one file.")
    of, lines = opened([file], selection, reading, say).dated(), None
    source, selection = of.source, of.selection
    with named(file.name):
        form = None if selection.form == "hub" else form_of(selection, source)
    if isinstance(form, Wide):
        table = of.table(Wanted([form.columns], [], selection.beside(source)), drop=True)
        columns, found = form.columns, _of_rows(table.matrix, form, mend)
    else:
        lines = hub_lines(of) if form is None else long_lines(of, form)
        table, columns, found = lines.table, [lines.form.value], _of_lines(lines, mend)[:, None]
    if fitted_to and (unlike := [each for each in models_of(table.frame) if each not in fitted_to]):
        say(f"the map was fitted to {listed(fitted_to)}, and these are forecasts of {listed(unlike)}: fit one to them")
    early = np.flatnonzero(~ahead(table.frame, selection))
    found[early] = np.nan
    if early.size:
        say(f"{number_of(early.size, 'row')} about a time before they were issued: left as they were")
    if lines is not None and lines.others:
        left = ", ".join(f"{n:,} of {each}" for each, n in lines.others.items())
        kept = f"left as they were, and no longer in agreement with it: {left}"
        say(f"only output type {lines.kind} was recalibrated; {kept}")
    new = np.full((int(table.row.max()) + 1, found.shape[1]), np.nan)
    new[table.row] = found
    as_text = path.suffix.lower() in (".csv", ".tsv") and not reading.decimal_comma and len(columns) == new.shape[1]
    written = ForecastFile(file, reading.format or format_of(file), source, Plan((), tuple(columns)), reading)
    n = written.write(path, partial(_changed, columns, new, as_text), [named_as.replace("*", each) for each in columns])
    return n, int(np.count_nonzero(~np.isnan(new[:, 0])))


def _changed(columns: Sequence[str], new: Floats, as_text: bool, batch: Batch) -> Any:
    """Give the numbers of a batch; as text where a file is text, so that those that stay do so to the letter."""
    old = batch.probabilities[0].rows(slice(None)).astype(np.float64)
    some = new[batch.first_row : batch.first_row + len(old)]
    some = np.concatenate([some, np.full((len(old) - len(some), old.shape[1]), np.nan)])
    if not as_text:
        return np.where(np.isnan(some), old, some)
    was = [pl.Series(name, batch.raw[name]).cast(pl.String).fill_null("").to_numpy() for name in columns]
    texts = np.array([f"{each:.12g}" for each in some.ravel().tolist()], dtype=object).reshape(some.shape)
    return np.where(np.isnan(some), np.stack(was, axis=1), texts)


def _of_rows(matrix: AnyFloats, form: Wide, mend: Mend) -> Floats:
    """Give the new numbers of rows; NaN where one is missing."""
    new, whole = np.full(matrix.shape, np.nan), ~missing(matrix)
    if whole.any():
        found = _numbers(mend(form.make(matrix[whole])), matrix.shape[1], matrix[whole])
        new[whole] = found[:, np.argsort(np.argsort(form.levels))] if form.levels else found
    return new


def _of_lines(of: Lines, mend: Mend) -> Floats:
    """Give the new value of each line; NaN where its forecast is not complete."""
    value, place = of.table.numbers[of.form.value], of.table.numbers.get(of.form.place)
    new = np.full(len(value), np.nan)
    if of.kind == "cdf":
        there = ~np.isnan(value)
        new[there] = _numbers(mend(PIT(value[there])), 1, value[there])[:, 0]
        return new
    lines = LineRows.of(of.table.frame, of.keys)
    if place is None:
        matrix, again = lines.by_member(pl.Series(lines.place), value)
        levels, at = None, lines.place
    else:
        levels, matrix, again = lines.by_level(place, value)
        at = np.searchsorted(levels, place)
    if again.any():
        remedy = "Name columns that tell forecasts apart (--on)."
        raise InputError(f"a level of a forecast is there for the second time. {remedy}")
    whole = ~missing(matrix)
    mended = np.full(matrix.shape, np.nan)
    forecast = Samples(matrix[whole]) if levels is None else Quantiles(levels, matrix[whole])
    mended[whole] = _numbers(mend(forecast), matrix.shape[1], matrix[whole])
    inside = at < matrix.shape[1]
    new[inside] = mended[lines.of_line[inside], at[inside]]
    return new


def _numbers(forecast: Predictive, columns: int, old: AnyFloats) -> AnyFloats:
    """Give the numbers of forecasts; members that were whole numbers stay so."""
    if isinstance(forecast, PIT):
        return np.stack([forecast.low, forecast.high], axis=1)[:, -columns:]
    if isinstance(forecast, Quantiles):
        return forecast.values
    assert isinstance(forecast, Samples)
    return np.rint(forecast.members) if (old == np.rint(old)).all() else forecast.members
