"""Files on this machine, counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from os import PathLike, fspath
from typing import Any

from ..errors import InputError
from ..files import ForecastBatch, ForecastFiles, Reading, Selection
from ..labels import Label
from ..progress import ahead, progress_bar
from ..tallies import MOST_GROUPS, Tallies
from ..tally import EXACT_LIMIT, FRACTION_BITS, Tally

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


def tally_files(
    paths: Paths,
    *,
    truth: str | Sequence[str] = (),
    prob: str | Sequence[str] = (),
    pairs: Sequence[tuple[str, str]] = (),
    weight: str | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    ignore_label: Label | Sequence[Label] | None = None,
    renormalize: bool = False,
    drop_invalid: bool = False,
    percent: bool = False,
    from_logits: bool = False,
    from_log_probs: bool = False,
    format: str | None = None,
    separator: str = ",",
    decimal_comma: bool = False,
    scores: Sequence[str] = (),
    parts: Sequence[str] = (),
    groups: str | Sequence[str] | None = None,
    exact_limit: int = EXACT_LIMIT,
    fraction_bits: int = FRACTION_BITS,
    progress: bool = False,
) -> Tally:
    """Count the forecasts of files, however large: they are read batch by batch.

    Parameters
    ----------
    paths : path or sequence of paths
        CSV, JSON Lines, Parquet, Arrow, NPZ or NPY; patterns such as ``"data/*.parquet"``.
    truth, prob : str or sequence of str
        The outcome's column, or one-hot columns; the column of the positive class's probability, or one for each
        class. A column may hold lists.
    pairs : sequence of (str, str), optional
        Instead of these: probability and outcome columns of several binary forecasts a row.
    weight : str, optional
        Column of importance weights.
    groups : str or sequence of str, optional
        Columns that say which rows belong together: those with the same values in all of them (for the part "shards").
    labels, pos_label, ignore_label, renormalize, drop_invalid, percent, from_logits, from_log_probs : optional
        As in `Forecasts`. The classes are read off all files together where these do not say them.
    format : str, optional
        "csv", "tsv", "jsonl", "parquet", "arrow", "npz" or "npy", whatever the files are called.
    separator : str, default ","
        Between the fields of a text file.
    decimal_comma : bool, default False
        Whether numbers in a text file are written like 0,5.
    scores, parts, exact_limit, fraction_bits : optional
        As in `Tally.of`.
    progress : bool, default False
        Show a bar on a terminal if it takes over a second.

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
    >>> size = path.write_text("rained,said\\n1,0.9\\n0,0.4\\n")
    >>> assess(tally_files(path, truth="rained", prob="said")).prediction_accuracy
    1.0
    """
    selection, reading = _described(
        truth=truth,
        prob=prob,
        pairs=pairs,
        weight=weight,
        labels=labels,
        pos_label=pos_label,
        ignore_label=ignore_label,
        renormalize=renormalize,
        drop_invalid=drop_invalid,
        percent=percent,
        from_logits=from_logits,
        from_log_probs=from_log_probs,
        format=format,
        separator=separator,
        decimal_comma=decimal_comma,
        groups=groups,
    )
    counting = {"scores": scores, "parts": parts, "exact_limit": exact_limit, "fraction_bits": fraction_bits}
    return counted_files(_paths(paths), selection, reading, counting, _silent, progress)


def tally_files_by(
    paths: Paths,
    *,
    by: str | Sequence[str],
    most_groups: int = MOST_GROUPS,
    scores: Sequence[str] = (),
    parts: Sequence[str] = (),
    exact_limit: int = EXACT_LIMIT,
    fraction_bits: int = FRACTION_BITS,
    progress: bool = False,
    **columns: Any,
) -> Tallies:
    """Count the forecasts of files group by group, in one pass: one tally for each group.

    Parameters
    ----------
    paths : path or sequence of paths
        As in `tally_files`.
    by : str or sequence of str
        Columns that say which group a row is in. Rows with the same values in all of them are a group; empty fields
        are a value of their own, None.
    most_groups : int, default 1000
        More groups than this are refused: each takes the memory of a tally.
    scores, parts, exact_limit, fraction_bits : optional
        As in `Tally.of`; they hold for each group by itself.
    progress : bool, default False
        Show a bar on a terminal if it takes over a second.
    columns
        Everything else that `tally_files` takes: truth, prob, weight, labels, separator, ...

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
    >>> size = path.write_text("town,rained,said\\nRome,1,0.9\\nOslo,0,0.4\\nRome,0,0.2\\n")
    >>> tallies = tally_files_by(path, truth="rained", prob="said", by="town")
    >>> {town: tally.n_rows for (town,), tally in tallies.items()}
    {'Oslo': 1, 'Rome': 2}
    """
    selection, reading = _described(**columns, by=_names(by))
    counting = {"scores": scores, "parts": parts, "exact_limit": exact_limit, "fraction_bits": fraction_bits}
    counting |= {"most_groups": most_groups}
    return grouped_files(_paths(paths), selection, reading, counting, _silent, progress)


def _described(
    *,
    truth: str | Sequence[str] = (),
    prob: str | Sequence[str] = (),
    pairs: Sequence[tuple[str, str]] = (),
    weight: str | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    ignore_label: Label | Sequence[Label] | None = None,
    format: str | None = None,
    separator: str = ",",
    decimal_comma: bool = False,
    groups: str | Sequence[str] | None = None,
    by: Sequence[str] = (),
    **options: bool,
) -> tuple[Selection, Reading]:
    """Put into words of the files' reader what a caller says of columns and rows."""
    if bool(pairs) == bool(truth and prob) or bool(truth) != bool(prob):
        raise InputError("truth and prob: name the columns of both, or pairs of (probability, outcome) columns.")
    paired = [f"{p}={t}" for p, t in pairs]
    selection = Selection(_names(truth), _names(prob), paired, weight, _names(groups or ()), by)
    return selection, Reading(
        None if labels is None else _names(labels),
        None if pos_label is None else str(pos_label),
        None if ignore_label is None else _names(ignore_label),
        separator,
        options,
        decimal_comma,
        format,
    )


def _paths(paths: Paths) -> list[str]:
    return [fspath(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths)]


def _names(value: Any) -> list[str]:
    several = hasattr(value, "__iter__") and not isinstance(value, str)
    return [str(each) for each in (value if several else [value])]


def counted_files(
    paths: Sequence[str],
    selection: Selection,
    reading: Reading,
    counting: dict[str, Any],
    say: Callable[[str], None],
    progress: bool,
) -> Tally:
    """Count files while a thread reads the next batch; say which columns were chosen unasked."""
    with _batches(paths, selection, reading, say, progress) as batches:
        return Tally.count((forecasts for batch in batches for forecasts in batch.forecasts), **counting)


def grouped_files(
    paths: Sequence[str],
    selection: Selection,
    reading: Reading,
    counting: dict[str, Any],
    say: Callable[[str], None],
    progress: bool,
) -> Tallies:
    """Count files group by group, in the same way."""
    with _batches(paths, selection, reading, say, progress) as batches:
        return Tallies.count(
            ((forecasts, batch.keys) for batch in batches for forecasts in batch.forecasts), **counting
        )


@contextmanager
def _batches(
    paths: Sequence[str], selection: Selection, reading: Reading, say: Callable[[str], None], progress: bool
) -> Iterator[Generator[ForecastBatch]]:
    """Open files to be read one batch ahead."""
    with progress_bar() if progress else nullcontext() as report:
        files = ForecastFiles(paths, selection, reading, report)
        for sentence in files.said:
            say(sentence)
        with closing(ahead(files)) as batches:
            yield batches


def _silent(_: str) -> None:
    """Say nothing of columns chosen unasked: none are."""
