"""Files on this machine, counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from os import PathLike, fspath
from typing import Any

from ..errors import InputError
from ..files import ForecastFiles, Reading, Selection
from ..forecasts import Forecasts
from ..labels import Label
from ..progress import ahead, progress_bar
from ..tally import EXACT_LIMIT, FRACTION_BITS, Tally


def tally_files(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
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
    groups: str | None = None,
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
    weight, groups : str, optional
        Columns of importance weights, and of what rows belong together (for the part "shards").
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
    if bool(pairs) == bool(truth and prob) or bool(truth) != bool(prob):
        raise InputError("truth and prob: name the columns of both, or pairs of (probability, outcome) columns.")
    selection = Selection(_names(truth), _names(prob), [f"{p}={t}" for p, t in pairs], weight, groups)
    reading = Reading(
        None if labels is None else _names(labels),
        None if pos_label is None else str(pos_label),
        None if ignore_label is None else _names(ignore_label),
        separator,
        {
            "renormalize": renormalize,
            "drop_invalid": drop_invalid,
            "percent": percent,
            "from_logits": from_logits,
            "from_log_probs": from_log_probs,
        },
        decimal_comma,
        format,
    )
    several = [paths] if isinstance(paths, str | PathLike) else paths
    counting = {"scores": scores, "parts": parts, "exact_limit": exact_limit, "fraction_bits": fraction_bits}
    return counted_files([fspath(path) for path in several], selection, reading, counting, lambda _: None, progress)


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
    with progress_bar() if progress else nullcontext() as report:
        files = ForecastFiles(paths, selection, reading, report)
        for sentence in files.said:
            say(sentence)

        def forecasts() -> Iterator[Forecasts]:
            for batch in ahead(files):
                yield from batch.forecasts

        return Tally.count(forecasts(), **counting)
