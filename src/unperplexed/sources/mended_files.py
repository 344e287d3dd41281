"""Files of predictive distributions, written anew with mended numbers: all else stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Floats
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.distributions.quantiles import Quantiles
from ..forecasts.distributions.samples import Samples
from .columns import Plan
from .file_reading import FileReading, named
from .hub import hub_lines
from .lines import LineRows
from .predictive import long_table
from .predictive_columns import Long, PredictiveSelection, Wide, form_of
from .predictive_rows import missing, opened
from .readers import Batch
from .readers.formats import format_of, found_files
from .rewriting import ForecastFile
from .row_filter import RowFilter

Mend = Callable[[Predictive], Predictive]
"""Gives forecasts mended, in the same form."""


def write_mended(
    name: str,
    path: Path,
    selection: PredictiveSelection,
    reading: FileReading,
    mend: Mend,
    say: Callable[[str], None] = lambda _: None,
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
        raise InputError(
            "--distribution: a mended distribution is of no family, so that parameters cannot hold it. Apply the map in"
            " Python, or to quantiles."
        )
    [file, *others] = found_files([name])
    if others:
        raise InputError(f"{name}: {len(others) + 1} files match; name one, whose rows are written to one file.")
    parts = opened([file], selection, reading, say)
    source = parts[0].source
    with named(file.name):
        form = Long("", "") if selection.form == "hub" else form_of(selection, source)
    if isinstance(form, Wide):
        columns = form.columns
        change: _Wide | _Lines = _Wide(form, selection.where, mend)
    else:
        if selection.form == "hub":
            found = hub_lines(parts, selection, reading)
            table, keys, form, kind = found.table, found.keys, found.form, found.output_type
        else:
            table, keys = long_table(parts, form, selection, reading)
            kind = selection.form
        lines, place = LineRows.of(table.frame, keys), table.numbers.get(form.place)
        new = np.full(int(table.row.max()) + 1, np.nan)
        new[table.row] = _of_lines(table.numbers[form.value], place, lines, kind, mend)
        as_text = path.suffix.lower() in (".csv", ".tsv") and not reading.decimal_comma
        columns = [form.value]
        change = _Lines(form.value, new, as_text)
    plan = Plan((), tuple(columns))
    written = ForecastFile(
        file, reading.format or format_of(file), source, plan, reading, also=tuple(selection.where.columns)
    )
    return written.write(path, change, columns), change.mended


class _Wide:
    """Mends forecasts whose numbers stand side by side."""

    def __init__(self, form: Wide, where: RowFilter, mend: Mend) -> None:
        self._form, self._where, self._mend, self.mended = form, where, mend, 0

    def __call__(self, batch: Batch) -> Floats:
        """Give the numbers of a batch, (n, k)."""
        values = batch.probabilities[0].rows(slice(None)).astype(np.float64)
        there = ~missing(values)
        if (places := self._where.places(batch.raw)) is not None:
            there &= np.isin(np.arange(len(values)), places)
        self.mended += int(there.sum())
        if there.any():
            new = _numbers(self._mend(self._form.make(values[there])), values.shape[1], values[there])
            values[there] = new[:, np.argsort(np.argsort(self._form.levels))] if self._form.levels else new
        return values


class _Lines:
    """Gives lines their new values, those without one as they were."""

    def __init__(self, column: str, new: Floats, as_text: bool) -> None:
        self._column, self._new, self._text = column, new, as_text
        self.mended = int(np.count_nonzero(~np.isnan(new)))

    def __call__(self, batch: Batch) -> Any:
        """Give the values of a batch, (n, 1): as text where a file is text, so that others stay to the letter."""
        old = batch.probabilities[0].rows(slice(None)).astype(np.float64)[:, 0]
        new = self._new[batch.first_row : batch.first_row + len(old)]
        new = np.concatenate([new, np.full(len(old) - len(new), np.nan)])
        if not self._text:
            return np.where(np.isnan(new), old, new)[:, None]
        was = pl.Series(self._column, batch.raw[self._column]).cast(pl.String).fill_null("").to_list()
        texts = [x if np.isnan(y) else f"{y:.10g}" for x, y in zip(was, new.tolist(), strict=True)]
        return np.array(texts, dtype=object)[:, None]


def _of_lines(value: Floats, place: Floats | None, lines: LineRows, kind: str, mend: Mend) -> Floats:
    """Give the new value of each line; NaN where its forecast is not complete."""
    new = np.full(len(value), np.nan)
    if kind == "cdf":
        there = ~np.isnan(value)
        new[there] = _numbers(mend(PIT(value[there])), 1, value[there])[:, 0]
        return new
    if place is None:
        matrix, _ = lines.by_member(pl.Series(lines.place), value)
        levels, at = None, lines.place
    else:
        levels, matrix, _ = lines.by_level(place, value)
        at = np.searchsorted(levels, place)
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
