"""What an engine does with each part of the rows, a file or a partition, and how what comes of them adds up.

An engine is a function `Run`: it lets a `Work` be done for each part, wherever that lies, and adds up what is found
in a tree, of `FAN_IN` neighbours at a time. Errors are found like anything else, so that no engine tries bad rows
again, and the one a user sees is the first in the order of the rows, whichever part was done first.

Files, counted batch by batch on this machine, or handed to an engine that counts them elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import partial, reduce
from operator import add
from os import PathLike, fspath
from typing import Any, Generic, Protocol, TypeVar, Unpack, cast

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.progress import ahead, progress_bar
from ..forecasts.forecasts import Forecasts
from ..forecasts.reading import DEFAULTS, Reading, reads
from ..tally.counter import jobs_of
from ..tally.tallies import MOST_GROUPS, Tallies
from ..tally.tally import EXACT_LIMIT, FRACTION_BITS, Counted, Counting, Tally
from .columns import Selection, plans
from .engines import Engine
from .file_reading import FileReading, Partition, named
from .files import ForecastBatch, ForecastFiles, ForecastRows, settle
from .outcomes import Seen, Settled, Spelling
from .readers import Source
from .readers.formats import File
from .row_filter import RowFilter

Result = TypeVar("Result")
Made = TypeVar("Made")

FAN_IN = 32
"""So many neighbours are added up at a time: the same sums, and the same rounding of weights, on every run."""


class Found(Generic[Result], Frozen):
    """What was found in a part, or in successive ones, which are named after the first."""

    name: str
    result: Result | InputError


class Work(Generic[Result], Frozen):
    """What is to be done with each part, and how two results add up. It can be pickled."""

    of: Callable[[Partition], Result]
    add: Callable[[Result, Result], Result]

    def done(self, name: str, origin: str, opened: Callable[..., Source], *arguments: Any) -> Found[Result]:
        """Do it for the part of this name, which is opened with these arguments."""
        try:
            with named(name):
                source = opened(*arguments)
            return Found(name, self.of(Partition(name, source, origin)))
        except InputError as error:
            return Found(name, error)

    def merged(self, found: Iterable[Found[Result]]) -> Found[Result]:
        """Add up what was found in successive parts."""
        return reduce(self._added, found)

    def _added(self, first: Found[Result], other: Found[Result]) -> Found[Result]:
        if isinstance(first.result, InputError):
            return first
        if isinstance(other.result, InputError):
            return other
        try:
            return Found(first.name, self.add(first.result, other.result))
        except InputError as error:
            return Found(first.name, error.reworded(f"{other.name}: {error}"))


class Run(Protocol):
    """An engine at work on parts that it knows."""

    def __call__(self, work: Work[Made], columns: Sequence[str], /) -> Sequence[Found[Made]]:
        """Do work that needs these columns; give what was found, added up to a few in the order of the parts."""


class Accumulator(Generic[Result], Frozen):
    """What rows are counted into, one tally or one for each group, and how two such results add up."""

    of: Callable[[Iterable[ForecastBatch]], Result]
    add: Callable[[Result, Result], Result]
    jobs: int = 1
    """How many threads it counts with."""


def as_tally(**counting: Unpack[Counting]) -> Accumulator[Tally]:
    """Count all rows together, with settings of `Tally.count`."""
    return Accumulator(partial(_tally, counting), add, jobs_of(counting.get("n_jobs")))


def as_tallies(most_groups: int = MOST_GROUPS, **counting: Unpack[Counting]) -> Accumulator[Tallies]:
    """Count rows group by group, with settings of `Tallies.count`."""
    settings = {**counting, "most_groups": most_groups}
    return Accumulator(partial(_tallies, settings), partial(_groups_added, most_groups))


def _tally(settings: Mapping[str, Any], batches: Iterable[ForecastBatch]) -> Tally:
    return Tally.count((forecasts for batch in batches for forecasts in batch.forecasts), **settings)


def _tallies(settings: Mapping[str, Any], batches: Iterable[ForecastBatch]) -> Tallies:
    return Tallies.count(((forecasts, batch.keys) for batch in batches for forecasts in batch.forecasts), **settings)


def _groups_added(most_groups: int, first: Tallies, other: Tallies) -> Tallies:
    return (first + other).within(most_groups)


def counted(
    rows: ForecastRows,
    accumulator: Accumulator[Result],
    run: Run,
    one: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Count parts of the rows that an engine runs over; where one part is all there is, it settles its own outcomes.

    What was read off the names of columns is said once.
    """
    nothing = accumulator.of([])  # which also refuses settings before anything is read
    for key in rows.plans.made:
        if key.needs_all:
            raise InputError(f"{key.name}: quantiles are found by the engine local only; choose it, or name a column.")
    settled: dict[str, Settled] | None = None if one else {}
    if rows.unsettled and not one:
        settled = settle(_run(run, Work(partial(_seen, rows), _seen_added), rows.unsettled, rows.seen([])))
    work = Work(partial(_counted, rows, accumulator, settled), partial(counts_added, accumulator.add))
    found = _run(run, work, rows.plans.wanted.names, (nothing, []))
    for sentence in dict.fromkeys(found[1]):
        say(sentence)
    result: Result = found[0]
    return result


def _run(run: Run, work: Work[Result], columns: Sequence[str], nothing: Result) -> Result:
    return total(work, [Found("", nothing), *run(work, columns)])


def total(work: Work[Result], each: Iterable[Found[Result]]) -> Result:
    """Add up what was found, or raise the first error."""
    found = work.merged(each).result
    if isinstance(found, InputError):
        raise found
    return found


def _seen(rows: ForecastRows, part: Partition) -> dict[str, Seen]:
    return rows.seen([part])


def _seen_added(first: Mapping[str, Seen], other: Mapping[str, Seen]) -> dict[str, Seen]:
    return {name: first[name] + other[name] for name in first}


def _counted(
    rows: ForecastRows, accumulator: Accumulator[Result], settled: Mapping[str, Settled] | None, part: Partition
) -> tuple[Result, list[str]]:
    said: list[str] = []
    return accumulator.of(rows.batches([part], settled, say=said.append)), said


def counts_added(
    add: Callable[[Result, Result], Result], first: tuple[Result, list[str]], other: tuple[Result, list[str]]
) -> tuple[Result, list[str]]:
    """Add up counts, and give sentences on what was read once."""
    return add(first[0], other[0]), [*dict.fromkeys([*first[1], *other[1]])]


def rows_of_frame(
    names: Sequence[str], numbers: Iterable[str], options: Columns, by: str | Sequence[str]
) -> ForecastRows:
    """Settle how rows of a frame are read that has these columns, some of which hold numbers."""
    for name in names:
        if not isinstance(name, str) or names.count(name) > 1:
            raise InputError(f"the frame's columns need names of their own, as texts; {name!r} is not. Rename them.")
    (selection, reading), parts = described(options, by), options.get("parts", ())
    if "surprises" in parts:
        raise InputError("parts: rows of a frame have no numbers by which surprises could be found; leave them out.")
    if "shards" in parts and not selection.clusters:
        raise InputError(
            "parts: rows of a frame have no numbers by which they could go into shards, whatever its partitions. Name"
            " columns that make their ids differ, or their clusters: clusters=."
        )
    found, _ = plans(selection, Source([*names], lambda _: iter(()), 0), reading.labels is not None)
    return ForecastRows(found, reading, Spelling(missing=reading.cells.missing), frozenset(numbers))


class Columns(Counted, Reading, total=False):
    """Options of counting a frame: what is counted, which columns hold what, and how they are read."""

    truth: str | Sequence[str]
    prob: str | Sequence[str]
    pairs: Sequence[tuple[str, str]]
    weight: str | None
    clusters: str | Sequence[str] | None
    where: str


class FileColumns(Columns, total=False):
    """Options of counting files: the same, and how they are written and who reads them."""

    format: str | None
    separator: str | None
    decimal_comma: bool
    encoding: str
    na: str | Sequence[str] | None
    sheet: str | None
    progress: bool
    engine: str


ASKED: dict[str, Any] = {**DEFAULTS, "truth": (), "prob": (), "pairs": (), "where": "", "metrics": (), "parts": ()}
ASKED |= {"exact_limit": EXACT_LIMIT, "fraction_bits": FRACTION_BITS}
ASKED |= {"decimal_comma": False, "encoding": "utf-8", "progress": False, "engine": "local"}
"""Of options that are None unless they are given, but for these."""


def described(asked: Mapping[str, Any], by: str | Sequence[str] = ()) -> tuple[Selection, FileReading]:
    """Put into words of the readers what a caller says of columns and rows."""

    def said(name: str) -> Any:
        return asked.get(name, ASKED.get(name))

    if bool(said("pairs")) == bool(said("truth") and said("prob")) or bool(said("truth")) != bool(said("prob")):
        raise InputError("truth and prob: name the columns of both, or pairs of (probability, outcome) columns.")
    paired = [f"{p}={t}" for p, t in said("pairs")]
    columns = names(said("truth")), names(said("prob")), paired, said("weight"), names(said("clusters") or ())
    written = {name: said(name) for name in ("format", "separator", "decimal_comma", "encoding", "sheet")}
    labels, na, pos_label, ignore_label = (said(name) for name in ("labels", "na", "pos_label", "ignore_label"))
    reading = FileReading(
        None if labels is None else names(labels),
        None if pos_label is None else str(pos_label),
        None if ignore_label is None else names(ignore_label),
        options={name: said(name) for name in ("scale", "invalid")},
        na=None if na is None else names(na),
        **written,
    )
    return Selection(*columns, names(by), where=RowFilter(said("where"))), reading


def counting_of(asked: Mapping[str, Any]) -> Counted:
    """Give the options of what is counted."""
    return cast("Counted", {name: asked[name] for name in Counted.__annotations__ if name in asked})


def names(value: Any) -> list[str]:
    """Give one name or several as texts."""
    several = hasattr(value, "__iter__") and not isinstance(value, str)
    return [str(each) for each in (value if several else [value])]


Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


@reads(FileColumns, ASKED)
def tally_files(paths: Paths, *, n_jobs: int | None = None, **options: Unpack[FileColumns]) -> Tally:
    """Count the forecasts of files, however large: they are read batch by batch.

    Parameters
    ----------
    paths : path or sequence of paths
        CSV, JSON Lines, Parquet, Arrow, NPZ, NPY or spreadsheet; patterns such
        as ``"data/*.parquet"``, and folders, of which those named as
        ``dt=2026-10-09`` are columns.
    truth, prob : str or sequence of str
        The outcome's column, or one-hot columns; the column of the positive
        class's probability, or one for each class. A column may hold lists.
    pairs : sequence of (str, str), optional
        Instead of these: probability and outcome columns of several binary
        forecasts a row; ``("*", "*_outcome")`` finds all whose ``*`` stands for
        the same. In ``by`` and ``where`` "pair" is then a column, in ``where``
        also "prob" and "outcome" of each pair.
    weight : str, optional
        Column of importance weights.
    where : str, default ""
        SQL expression of columns, such as ``"season >= 2016 AND round =
        'final'"``: only rows for which it is true are counted.
    clusters : str or sequence of str, optional
        Columns of the clusters: rows with the same values in all of them (for
        the part "shards"). Parts of a date are named as in ``by`` of
        `tally_files_by`, such as "day:iso-week".
    format : str, optional
        "csv", "tsv", "jsonl", "parquet", "arrow", "npz", "npy", "pt" or
        "spreadsheet", whatever the files are called.
    separator : str, optional
        Between the fields of a text file. By default a comma; a tab for
        ``.tsv``; a semicolon with decimal commas.
    decimal_comma : bool, default False
        Whether numbers in a text file are written like 0,5.
    encoding : str, default "utf-8"
        Encoding of a text file, such as "cp1252", "latin-1" or "utf-16".
    na : str or sequence of str, optional
        Texts that mark a missing value, in outcomes too; an empty list stands
        for the usual ones, such as "NA", "#N/A", "-" and "?".
    sheet : str, optional
        Name of the sheet to read of a spreadsheet that has several.
    metrics, parts, exact_limit, fraction_bits, n_jobs : optional
        As in `Tally.of`. Half as many threads read, of Parquet files several
        row groups at the same time.
    progress : bool, default False
        Show a bar on a terminal if it takes over a second, for the engine
        "local".
    engine : str, default "local"
        What counts them: this process; or an engine such as "dask", a file at a
        time on each of its workers. "dask:tcp://10.0.0.1:8786" names a
        scheduler, "spark:yarn" a Spark master; without an address Dask's client
        or Spark's session counts them if there is one, or else one that is
        started on this machine.
    labels, pos_label, ignore_label, scale, invalid : optional
        How rows are read, as in `Forecasts`. The classes are read off all files
        together where these do not say them.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        For files that cannot be read and rows that cannot be assessed, naming
        file, row, column and remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unperplexed import assess, tally_files
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "forecasts.csv"
    >>> size = path.write_text("rained,p_rain\\n1,0.9\\n0,0.4\\n")
    >>> assess(tally_files(path, truth="rained", prob="p_rain")).prediction_accuracy
    1.0
    """
    return _counted_paths(paths, options, as_tally(**counting_of(options), n_jobs=n_jobs))


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
        Columns that say which group a row is in. Rows with the same values in
        all of them are a group; empty fields are a value of their own, None.
        "date:month" (year, quarter, weekday, hour; date, iso-week, year-month,
        year-quarter) and "age:quartiles" (halves, thirds, quintiles, deciles)
        make groups of a column.
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
    return _counted_paths(paths, options, as_tallies(most_groups, **counting_of(options)), by)


def _counted_paths(
    paths: Paths, options: FileColumns, accumulator: Accumulator[Result], by: str | Sequence[str] = ()
) -> Result:
    engine, progress = Engine.named(options.get("engine", "local")), options.get("progress", False)
    given = [fspath(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths)]
    return counted_files(given, *described(options, by), accumulator, lambda _: None, progress, engine)


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
