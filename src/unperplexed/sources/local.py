"""Files, counted batch by batch on this machine, or handed to an engine that counts them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from os import PathLike, fspath
from typing import Unpack

from .._lib.progress import ahead, progress_bar
from ..forecasts.forecasts import Forecasts
from ..forecasts.reading import reads
from ..tally.tallies import MOST_GROUPS, Tallies
from ..tally.tally import Tally
from .columns import Selection
from .engines import Engine
from .file_reading import FileReading
from .files import ForecastBatch, ForecastFiles
from .map_reduce import ASKED, Accumulator, FileColumns, Result, as_tallies, as_tally, counted, counting_of, described
from .readers.formats import File

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


@reads(FileColumns, ASKED)
def tally_files(paths: Paths, *, n_jobs: int | None = None, **options: Unpack[FileColumns]) -> Tally:
    """Count the forecasts of files, however large: they are read batch by batch.

    Parameters
    ----------
    paths : path or sequence of paths
        CSV, JSON Lines, Parquet, Arrow, NPZ, NPY or spreadsheet; patterns such as ``"data/*.parquet"``.
    truth, prob : str or sequence of str
        The outcome's column, or one-hot columns; the column of the positive class's probability, or one for each
        class. A column may hold lists.
    pairs : sequence of (str, str), optional
        Instead of these: probability and outcome columns of several binary forecasts a row.
    weight : str, optional
        Column of importance weights.
    where : str, default ""
        SQL expression of columns, such as ``"season >= 2016 AND round = 'final'"``: only rows for which it is true are
        counted.
    clusters : str or sequence of str, optional
        Columns of the clusters: rows with the same values in all of them (for the part "shards"). Parts of a date are
        named as in ``by`` of `tally_files_by`, such as "day:iso-week".
    format : str, optional
        "csv", "tsv", "jsonl", "parquet", "arrow", "npz", "npy" or "spreadsheet", whatever the files are called.
    separator : str, optional
        Between the fields of a text file. By default a comma; a tab for ``.tsv``; a semicolon with decimal commas.
    decimal_comma : bool, default False
        Whether numbers in a text file are written like 0,5.
    encoding : str, default "utf-8"
        Encoding of a text file, such as "cp1252", "latin-1" or "utf-16".
    na : str or sequence of str, optional
        Texts that mark a missing value, in outcomes too; an empty list stands for the usual ones, such as "NA", "#N/A",
        "-" and "?".
    sheet : str, optional
        Name of the sheet to read of a spreadsheet that has several.
    metrics, parts, exact_limit, fraction_bits, n_jobs : optional
        As in `Tally.of`. Half as many threads read, of Parquet files several row groups at the same time.
    progress : bool, default False
        Show a bar on a terminal if it takes over a second, for the engine "local".
    engine : str, default "local"
        What counts them: this process; or an engine such as "dask", a file at a time on each of its workers.
        "dask:tcp://10.0.0.1:8786" names a scheduler, "spark:yarn" a Spark master; without an address Dask's client or
        Spark's session counts them if there is one, or else one that is started on this machine.
    labels, pos_label, ignore_label, scale, invalid : optional
        How rows are read, as in `Forecasts`. The classes are read off all files together where these do not say them.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        For files that cannot be read and rows that cannot be assessed, naming file, row, column and remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unperplexed import assess, tally_files
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "forecasts.csv"
    >>> size = path.write_text("rained,p_rain\\n1,0.9\\n0,0.4\\n")
    >>> assess(tally_files(path, truth="rained", prob="p_rain")).prediction_accuracy
    1.0
    """
    return _counted(paths, options, as_tally(**counting_of(options), n_jobs=n_jobs))


@reads(FileColumns, ASKED)
def tally_files_by(
    paths: Paths, *, by: str | Sequence[str], most_groups: int = MOST_GROUPS, **options: Unpack[FileColumns]
) -> Tallies:
    """Count the forecasts of files group by group, in one pass: one tally for each group.

    Parameters
    ----------
    paths : path or sequence of paths
        As in `tally_files`.
    by : str or sequence of str
        Columns that say which group a row is in. Rows with the same values in all of them are a group; empty fields
        are a value of their own, None. "date:month" (year, quarter, weekday, hour; date, iso-week, year-month,
        year-quarter) and "age:quartiles" (halves, thirds, quintiles, deciles) make groups of a column.
    most_groups : int, default 200,000
        More groups than this are refused.
    **options
        Everything else that `tally_files` takes, but ``n_jobs``.

    Returns
    -------
    Tallies

    Raises
    ------
    InputError
        As `tally_files`, and for too many groups.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unperplexed import tally_files_by
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "forecasts.csv"
    >>> size = path.write_text("town,rained,p_rain\\nRome,1,0.9\\nOslo,0,0.4\\nRome,0,0.2\\n")
    >>> tallies = tally_files_by(path, truth="rained", prob="p_rain", by="town")
    >>> {town: tally.n_rows for (town,), tally in tallies.items()}
    {'Oslo': 1, 'Rome': 2}
    """
    return _counted(paths, options, as_tallies(most_groups, **counting_of(options)), by)


def _counted(
    paths: Paths, options: FileColumns, accumulator: Accumulator[Result], by: str | Sequence[str] = ()
) -> Result:
    engine, progress = Engine.named(options.get("engine", "local")), options.get("progress", False)
    return counted_files(_paths(paths), *described(options, by), accumulator, _silent, progress, engine)


def _paths(paths: Paths) -> list[str]:
    return [fspath(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths)]


def counted_files(
    paths: Sequence[str] | Sequence[File] | ForecastFiles,
    selection: Selection,
    reading: FileReading,
    accumulator: Accumulator[Result],
    say: Callable[[str], None],
    progress: bool,
    engine: Engine,
    change: Callable[[Forecasts], Forecasts] | None = None,
) -> Result:
    """Count files; say which columns were chosen unasked, and what was read off their names.

    Here a thread reads the next batch meanwhile.

    ``change`` makes other forecasts of those that are read, before they are counted.
    """
    here = engine.name == "local"
    with progress_bar() if progress and here else nullcontext() as report:
        # Decoding Parquet takes about as long as counting it; more threads than processors would only share them.
        files = ForecastFiles(paths, selection, reading, report, max(1, accumulator.jobs // 2), say)
        if here:
            with closing(ahead(files)) as batches:
                return accumulator.of(batches if change is None else _changed(batches, change))
    with engine.running(files.files, files.openers()) as run:
        return counted(files.rows, accumulator, run, one=len(files.files) == 1, say=files.say)


def _changed(
    batches: Iterable[ForecastBatch], change: Callable[[Forecasts], Forecasts]
) -> Generator[ForecastBatch, None, None]:
    for batch in batches:
        yield replace(batch, forecasts=[change(forecasts) for forecasts in batch.forecasts])


def _silent(_: str) -> None:
    """Say nothing of columns chosen unasked: none are."""
