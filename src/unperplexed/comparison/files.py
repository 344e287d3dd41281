"""Forecasters in files: how their rows are matched, by id, in order or in one row; and the comparison."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, listed, rows_text
from .._lib.formatting import number_of
from .._lib.progress import ahead, progress_bar
from .._lib.typing import Bools
from ..forecasts.group_keys import ColumnCodes, RowKeys, row_keys
from ..forecasts.labels import Label
from ..forecasts.problems import Values, refuse_mixed
from ..pairing.dependence import Dependent, dependent_rows
from ..pairing.rows import Chunk, Chunks, Pair, Pairing, ScoredRows
from ..sources.columns import PAIR, Selection
from ..sources.columns import ROW as ROW_OF_FILE
from ..sources.derived_columns import derived
from ..sources.file_reading import FileReading, named
from ..sources.files import ForecastBatch, ForecastFiles, places_of_each
from ..sources.predictive import ReadDistributions
from ..sources.readers.formats import with_folders
from ..sources.row_filter import RowFilter, condition_column, key_column, refuse_empty

Result = TypeVar("Result")

ROW, _FORECASTER, _CLUSTER, _WITHIN = "row", "forecaster", "cluster", "within"
_LINE = "line"
_BY, _CLIMATOLOGY, _WHERE = "by", "climatology", "where"
"""Names of columns beside those of an id, which are called "0", "1", ... whatever their names in the files."""


class PairingOptions(Frozen):
    """How rows of several forecasters are matched."""

    on: Sequence[str] = ()
    """Columns that make a row's id."""
    in_order: bool = False
    """Whether files have the same rows in the same order."""
    common: bool = False
    """Whether ids that not all forecasters have are left out."""
    rivals: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Where the forecasters stand in one row: the probability columns of each."""
    forecaster: str | None = None
    """Where each has rows of its own in one table: the column that names it."""
    clusters: Sequence[Sequence[str]] = ()
    """The columns of each way in which rows may depend on one another; of several files those of the first."""
    where: str = ""
    """An SQL expression of columns of the first file: only rows for which it is true are compared."""
    by: Sequence[str] = ()
    """Columns that make the groups whose skill is asked for, each COLUMN or COLUMN:HOW."""
    climatology: Sequence[str] = ()
    """Columns that make the groups of a climatology, likewise."""
    least: int = 2
    """Fewest forecasters."""
    within: Sequence[str] = ()
    """Columns that make a series: only rows of the same series, up to a lag apart in their order, are dependent."""
    searched: bool = False
    """Whether dependence is looked for in the further columns of the first file."""
    pairs: bool = False
    """Whether a row has several binary forecasts: they are groups by themselves, and those of a row are a cluster."""

    def __post_init__(self) -> None:
        """Refuse what leaves it open, or says it twice."""
        if (self.rivals and (self.on or self.in_order or self.forecaster)) or (self.on and self.in_order):
            raise InputError("--forecaster, --on and --in-order: each is a way to match rows; name one.")
        if self.rivals and len(self.rivals) < self.least:
            raise InputError(
                "--forecaster: a comparison takes at least two forecasters, each as NAME=COLUMN[,COLUMN...]."
            )
        if self.forecaster and not self.on:
            raise InputError("--forecaster: how are rows matched? Name the columns of their id with --on.")
        if self.clusters[1:] and self.pairs:
            raise InputError("--clusters and --pair: each says which rows may depend on one another; leave one out.")
        if self.common and not self.on:
            raise InputError("--common: ids that all have in common are those of the columns named with --on.")
        if not (self.on or self.in_order or self.rivals):
            raise InputError(
                "how are rows matched? In one file, name the columns of each forecaster: --forecaster ours=p theirs=q."
                " In several, name the columns of their id with --on, or take --in-order if all files have the same"
                " rows in the same order."
            )

    @property
    def keys(self) -> dict[str, str]:
        """Columns beside the forecasts, by what they are called here; the groups, which not all files need, last."""
        named = {str(at): column for at, column in enumerate(self.on)}
        named |= {} if self.forecaster is None else {_FORECASTER: self.forecaster}
        return named | self.keys_of_first

    @property
    def keys_of_first(self) -> dict[str, str]:
        """Columns that only the first of several files needs."""
        made = {_BY: self.by, _CLIMATOLOGY: self.climatology}
        ways = enumerate(self.clusters)
        named = {f"{_CLUSTER} {way} {at}": column for way, columns in ways for at, column in enumerate(columns)}
        named |= {f"{_WITHIN} {at}": column for at, column in enumerate(self.within)}
        columns = {
            f"{kind} {at}": derived(text).column for kind, texts in made.items() for at, text in enumerate(texts)
        }
        named |= {name: column for name, column in columns.items() if not (self.pairs and column == PAIR)}
        named |= {PAIR: PAIR, _LINE: ROW_OF_FILE} if self.pairs else {}
        return named | {f"{_WHERE} {at}": column for at, column in enumerate(self.filter.columns)}

    @property
    def filter(self) -> RowFilter:
        """Which rows are compared."""
        return RowFilter(self.where)

    @property
    def keys_of_others(self) -> dict[str, str]:
        """The same of all files but the first, which tells the groups."""
        return {name: column for name, column in self.keys.items() if name not in self.keys_of_first}

    @property
    def one_table(self) -> bool:
        """Whether all forecasters stand in one table."""
        return bool(self.rivals or self.forecaster)


def unnamed(text: str) -> str:
    """Take the forecaster's name off NAME=PATTERN."""
    name, sign, pattern = text.partition("=")
    found = Path(text).exists() or any(glob.iglob(text, recursive=True))  # noqa: PTH207  # as dt=2026-10-01/*.csv
    return pattern if sign and "/" not in name and not found else text


def named_files(texts: Sequence[str]) -> dict[str, list[str]]:
    """Files by the forecaster's name: NAME=PATTERN, or else each file by its own name."""
    given: list[tuple[str, list[str]]] = []
    for text in texts:
        if (pattern := unnamed(text)) != text:
            given.append((text.partition("=")[0], with_folders([pattern])))
        elif Path(text).is_dir():
            given.append((Path(text).name, with_folders([text])))
        else:
            given += [("", [path]) for path in with_folders([text])]
    tallies = [path for path in with_folders([path for _, paths in given for path in paths]) if path.endswith(".tally")]
    if tallies:
        raise InputError(
            f"{tallies[0]}: a tally has no rows left to pair; compare the files it was counted from. As samples of"
            " different rows, two tallies are compared by: unperplexed check NEW --earlier OLD."
        )
    short = [name or Path(paths[0].removesuffix(".gz")).stem for name, paths in given]
    files: dict[str, list[str]] = {}
    for (name, paths), stem in zip(given, short, strict=True):
        own = name or (stem if short.count(stem) == 1 else paths[0])
        if own in files:
            raise InputError(f"{own}: two forecasters of that name; give another with NAME=FILE.")
        files[own] = paths
    return files


def compared_files(
    files: Mapping[str, Sequence[str]],
    options: PairingOptions,
    selection: Selection,
    reading: FileReading,
    compared: Callable[[Chunks, Pair], Result],
    say: Callable[[str], None],
    progress: bool,
) -> Result:
    """Compare forecasters in files, read batch by batch; say which columns were chosen unasked.

    Parameters
    ----------
    files : mapping of str to sequence of str
        Paths of each forecaster, unless all of them stand in one table.
    options : PairingOptions
        How rows are matched.
    selection : Selection
        Which columns are read.
    reading : FileReading
        How files are read.
    compared : callable
        Finds out something about what reads the rows and what pairs them.
    say : callable
        Is told which columns were chosen unasked.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Result
        What `compared` returns.

    Raises
    ------
    InputError
        For files that cannot be read or matched.
    """
    if options.rivals and selection.prob:
        raise InputError(
            "--forecaster names the probability columns of each forecaster; leave out --prob. Classes are named with"
            " --labels NEGATIVE POSITIVE."
        )
    if options.one_table:
        files = {"": [*chain(*files.values())]}
    elif len(files) < options.least:
        raise InputError("a comparison takes two files, or --forecaster to tell forecasters in one apart.")
    if len(files) == 1 or options.pairs:  # nothing else tells which rows there are: chosen as they are read
        selection, options = replace(selection, where=options.filter), replace(options, where="")
    with progress_bar() if progress else nullcontext() as report:
        opened = {}
        for at, (name, paths) in enumerate(files.items()):
            keys = options.keys if at == 0 else options.keys_of_others
            chosen = replace(selection, keys=[*dict.fromkeys(keys.values())], rivals=[*options.rivals.values()])
            own = say if len(files) == 1 else lambda sentence, name=name: say(f"{name}: {sentence}")
            opened[name] = ForecastFiles(paths, chosen, reading, report, say=own)
        first = next(iter(opened))
        further = opened[first].further if options.searched else []
        opened[first] = opened[first].with_keys(further)
        rows = _FileRows(opened, options, further)
        return compared(rows.parts, rows.pairing)


class _FileRows:
    """Rows of the forecasters as the files give them, and what is needed of each to find its counterparts."""

    def __init__(self, files: Mapping[str, ForecastFiles], options: PairingOptions, further: Sequence[str]) -> None:
        self._files, self._options, self._further = files, options, further
        self._keys: dict[str, list[pl.DataFrame]] = {}
        self._codes = ColumnCodes(further)
        """Of further columns of the first file, row by row."""

    def parts(self) -> Iterator[Chunk]:
        """Read all files, each from its beginning."""
        self._keys, self._codes = {}, ColumnCodes(self._further)
        values: dict[str, Values] = {}
        for name, files in self._files.items():
            line, after, wanted = 0, 0, self._options.keys_of_others if self._keys else self._options.keys
            leading = not self._keys
            for batch in ahead(files):
                if leading:
                    self._codes.add(batch.keys)
                rows = batch.forecasts[0]
                # Each of several pairs has the same rows.
                origin = after - rows.first_row if self._options.pairs else batch.before
                numbers = pl.DataFrame({ROW: origin + rows.index, _LINE: np.arange(line, line + rows.n_rows)})
                keys = self._key_frame(batch, wanted, numbers)
                for chunk, of_chunk in self._split(name, batch, keys, origin + rows.first_row):
                    chunk.forecasts.show(values, chunk.name)
                    self._keys.setdefault(chunk.name, []).append(of_chunk)
                    yield chunk
                line, after = line + rows.n_rows, origin + int(rows.index.max(initial=-1)) + 1

        refuse_mixed(values)

    def _key_frame(self, batch: ForecastBatch, wanted: Mapping[str, str], frame: pl.DataFrame) -> pl.DataFrame:
        places = self._options.filter.places(batch.keys) if f"{_WHERE} 0" in wanted else None
        rows = slice(None) if places is None else places
        for name, column in wanted.items():
            read = condition_column if name.startswith(_WHERE) else key_column
            key = read(batch.keys[column], column)
            if not name.startswith(_WHERE):
                with named(batch.source):
                    refuse_empty(key[rows], column, batch.forecasts[0].index[rows])
            frame = frame.with_columns(key.alias(name))
        return frame

    def _split(
        self, name: str, batch: ForecastBatch, keys: pl.DataFrame, first: int
    ) -> Iterator[tuple[Chunk, pl.DataFrame]]:
        """Rows of each forecaster in a batch, which begins at a line, and what is needed of them."""
        options = self._options
        if options.rivals:
            yield from ((Chunk(of, f, first), keys) for of, f in zip(options.rivals, batch.forecasts, strict=True))
        elif options.forecaster is None:
            yield Chunk(name, batch.forecasts[0], first), keys
        else:
            for forecaster, places in places_of_each(keys[_FORECASTER]):
                yield Chunk(forecaster, batch.forecasts[0][places], first), keys[places]

    def pairing(self, found: Mapping[str, ScoredRows]) -> Pairing:
        """Find the rows that belong together, in the order of the first forecaster's."""
        options, on = self._options, [str(at) for at in range(len(self._options.on))]
        keys = same_types({name: self._keys[name] for name in found})
        first = next(iter(keys.values()))
        conditions = {column: first[f"{_WHERE} {at}"] for at, column in enumerate(options.filter.columns)}
        wanted = options.filter.rows(pl.DataFrame(conditions)) if conditions else np.ones(first.height, dtype=bool)
        if on:  # a row of the frame stands for a position of each forecaster
            keys = _of_ids(keys, on, wanted)
            frame = joined_ids(keys, on, options.common)
            positions = {name: frame[f"{ROW} of {at}"].to_numpy() for at, name in enumerate(keys)}
        else:
            check_heights(keys)
            frame = first.filter(wanted)
            positions = {name: each[ROW].to_numpy()[wanted] for name, each in keys.items()}
        ids = frame.select(on)
        return Pairing(
            positions,
            ids=(lambda at: _id_texts(ids[at])) if on else None,
            **_dependent(frame),
            columns={name: code[frame[_LINE].to_numpy()] for name, code in self._codes.joined().items()},
            ordered=not options.pairs,
            by=_made(frame, _BY, options.by),
            climatology=_made(frame, _CLIMATOLOGY, options.climatology),
            chosen=bool(options.where),
        )


def _of_ids(keys: Mapping[str, pl.DataFrame], on: Sequence[str], wanted: Bools) -> dict[str, pl.DataFrame]:
    """Keep the wanted rows of the first forecaster, and of the others the rows without the ids of its other rows."""
    (name, first), *others = keys.items()
    kept = first.filter(wanted)
    left = first.filter(~wanted).join(kept, on=on, how="anti")
    return {name: kept} | {name: frame.join(left, on=on, how="anti", maintain_order="left") for name, frame in others}


def _made(frame: pl.DataFrame, kind: str, texts: Sequence[str]) -> RowKeys | None:
    """Groups of rows by columns, or by what is made of them; several forecasts a row are groups unasked."""
    pairs = PAIR in frame.columns
    rows = frame[_LINE if pairs or ROW not in frame.columns else ROW].to_numpy()
    columns = {PAIR: frame[PAIR]} if pairs and (kind == _BY or PAIR in texts) else {}
    for at, text in enumerate(texts):
        if not (pairs and text == PAIR):
            columns[text] = derived(text).groups(frame[f"{kind} {at}"], rows)
    return row_keys(columns, frame.height) if columns else None


def same_types(keys: Mapping[str, Sequence[pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """Join the frames of each forecaster; a column that is text in one of all is text in every one."""
    frames = [*chain(*keys.values())]
    names = dict.fromkeys(name for frame in frames for name in frame.columns)
    texts = [name for name in names if any(frame.schema.get(name) == pl.String for frame in frames)]
    return {
        name: pl.concat([frame.cast({text: pl.String for text in texts if text in frame.columns}) for frame in of_name])
        for name, of_name in keys.items()
    }


def check_heights(keys: Mapping[str, pl.DataFrame]) -> None:
    """Refuse forecasters of other numbers of rows."""
    (first, frame), *others = keys.items()
    for name, other in others:
        if other.height != frame.height:
            raise InputError(
                f"{first} has {frame.height:,} rows, {name} {other.height:,}: they are not the same rows in the same"
                " order. Name the columns of their id with --on."
            )


def joined_ids(keys: Mapping[str, pl.DataFrame], on: Sequence[str], common: bool) -> pl.DataFrame:
    """Find the rows of equal ids; refuse ids that are not each in every forecaster once."""
    for name, frame in keys.items():
        twice = frame.filter(frame.select(on).is_duplicated())
        if twice.height:
            ids = _listed(twice.unique(on, maintain_order=True).select(on))
            raise InputError(
                f"{name}: more than one row has the id {ids}; see {rows_text(twice[ROW].to_numpy())}. Name more"
                " columns with --on, or leave out rows."
            )
    (first, found), *others = keys.items()
    found = found.rename({ROW: f"{ROW} of 0"})
    for at, (name, frame) in enumerate(others, start=1):
        if not common:
            _check_missing(name, frame, first, keys[first], on)
            _check_missing(first, keys[first], name, frame, on)
        own = frame.select([*on, pl.col(ROW).alias(f"{ROW} of {at}")])
        found = found.join(own, on=on, how="inner", maintain_order="left")
    if not found.height:
        raise InputError(f"no id is in all of {listed([*keys])}. Do the columns of --on hold the same ids in all?")
    return found


def _check_missing(name: str, frame: pl.DataFrame, of: str, wanted: pl.DataFrame, on: Sequence[str]) -> None:
    missing = wanted.select(on).join(frame, on=on, how="anti", maintain_order="left")
    if missing.height:
        others = frame.select(on).join(wanted, on=on, how="anti", maintain_order="left")
        own = f" Only {name} has {_listed(others)}: are they written alike in both?" if others.height else ""
        raise InputError(
            f"{name}: has no row for {missing.height:,} of the {wanted.height:,} ids of {of}: {_listed(missing)}.{own}"
            " Add them, or compare only the ids that all have with --common."
        )


def _dependent(frame: pl.DataFrame) -> Dependent:
    """Read which rows may depend on one another; several forecasts of a row do, unless other clusters are named."""

    def columns_of(kind: str) -> list[str]:
        return [name for name in frame.columns if name.startswith(f"{kind} ")]

    ways = [frame.select(columns) for way in range(len(frame.columns)) if (columns := columns_of(f"{_CLUSTER} {way}"))]
    ways = ways or [frame.select(_LINE)] * (PAIR in frame.columns)
    series = columns_of(_WITHIN)
    return dependent_rows(frame.height, ways or None, frame.select(series) if series else None)


def _id_texts(ids: pl.DataFrame) -> list[Label]:
    return [", ".join(map(str, row)) for row in ids.iter_rows()]


def _listed(ids: pl.DataFrame) -> str:
    return listed(_id_texts(ids[:8])) + ", ..." * (ids.height > 8)


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
    keys = same_types(
        {name: [each.frame.select(*on, pl.Series(ROW, np.arange(len(each.y))))] for name, each in read.items()}
    )
    if on:
        rows = joined_ids(keys, on, common)
        out = {name: len(each.y) - rows.height for name, each in read.items() if len(each.y) > rows.height}
        each_out = ", ".join(f"{number_of(n, 'forecast')} of {name}" for name, n in out.items())
        notes = [f"Left out since not all forecasters have them: {each_out}."] * bool(out)
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
