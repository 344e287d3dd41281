"""Dask: partitions of a user's data frame, or files, counted by its workers and added up in a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

import pyarrow as pa

from ..._lib.errors import InputError, needed
from ...forecasts.reading import reads
from ...tally.tallies import MOST_GROUPS, Tallies
from ...tally.tally import Tally
from ..files import Opener
from ..map_reduce import (
    ASKED,
    FAN_IN,
    Accumulator,
    Columns,
    Found,
    Made,
    Result,
    Run,
    Work,
    as_tallies,
    as_tally,
    counted,
    counting_of,
    rows_of_frame,
)
from ..readers import Source
from ..records import records_source

with needed("The engine 'dask'", "Dask", "dask"):
    import dask
    from dask.dataframe import DataFrame
    from dask.delayed import Delayed, delayed
    from distributed import Client, KilledWorker, LocalCluster, default_client
    from distributed.comm import get_address_host_port


@reads(Columns, ASKED)
def tally_dask(frame: DataFrame, **options: Unpack[Columns]) -> Tally:
    """Count the forecasts in a Dask data frame: its workers count partitions, and add them up in a tree.

    It is computed where Dask computes: by the client if there is one, or else the scheduler that is set. The tally is
    the same however the frame is partitioned, and that of its rows in memory. What the outcomes are is settled by all
    of them first, which reads these columns once by themselves, unless they are numbers and ``labels`` are given.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Rows of forecasts. Partitions may be empty.
    **options
        What is counted, as in `Tally.of`: metrics, parts (of which "shards" take ``clusters``, by which rows go into
        them), exact_limit, fraction_bits. What holds what, and how it is read, as in `tally_files`: truth, prob, pairs,
        weight, clusters, where, labels, pos_label, ignore_label, scale, invalid.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        For rows that cannot be assessed, naming partition, row in it, column and remedy: those of the first partition
        that has any.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from unperplexed import assess, tally_dask
    >>> rain = pd.DataFrame({"rained": [1, 0, 1], "p_rain": [0.9, 0.4, 0.6]})
    >>> tally = tally_dask(dd.from_pandas(rain, npartitions=2), truth="rained", prob="p_rain")
    >>> assess(tally).prediction_accuracy
    1.0
    """
    return _counted_frame(frame, as_tally(**counting_of(options)), options)


@reads(Columns, ASKED)
def tally_dask_by(
    frame: DataFrame, *, by: str | Sequence[str], most_groups: int = MOST_GROUPS, **options: Unpack[Columns]
) -> Tallies:
    """Count the forecasts in a Dask data frame group by group, in one pass: one tally for each group.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Rows of forecasts.
    by : str or sequence of str
        Columns that say which group a row is in, as in `tally_files_by`.
    most_groups : int, default 200,000
        More groups than this are refused.
    **options
        As in `tally_dask`.

    Returns
    -------
    Tallies

    Raises
    ------
    InputError
        As `tally_dask`, and for too many groups.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from unperplexed import tally_dask_by
    >>> rain = pd.DataFrame({"town": ["Rome", "Oslo", "Rome"], "rained": [1, 0, 1], "p_rain": [0.9, 0.4, 0.6]})
    >>> tallies = tally_dask_by(dd.from_pandas(rain, npartitions=2), truth="rained", prob="p_rain", by="town")
    >>> {town: tally.n_rows for (town,), tally in tallies.items()}
    {'Oslo': 1, 'Rome': 2}
    """
    return _counted_frame(frame, as_tallies(most_groups, **counting_of(options)), options, by)


def _counted_frame(
    frame: DataFrame, accumulator: Accumulator[Result], options: Columns, by: str | Sequence[str] = ()
) -> Result:
    if not isinstance(frame, DataFrame):
        raise InputError(f"frame: expected a Dask DataFrame, got {type(frame).__name__}; for what is here: Tally.of.")
    numbers = [name for name, dtype in frame.dtypes.items() if dtype.kind in "iufb"]
    rows = rows_of_frame([*frame.columns], numbers, options, by)

    def run(work: Work[Made], names: Sequence[str]) -> Sequence[Found[Made]]:
        sent = delayed(work, traverse=False)
        partitions = enumerate(frame[[*names]].to_delayed())
        found = [sent.done(f"partition {at}", "", _source, part) for at, part in partitions]
        sums: Sequence[Found[Made]] = dask.compute(*_tree(sent, found))
        return sums

    return counted(rows, accumulator, run)


def _source(frame: Any) -> Source:
    """Columns of a partition, a pandas data frame."""
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"a column holds values of several kinds, or of one that Arrow does not know: {error}"
        ) from None
    return records_source(table.schema, table.to_batches())


@contextmanager
def running(names: Sequence[str], openers: Sequence[Opener], address: str | None) -> Iterator[Run]:
    """Give what works on files, each a task of its own."""
    with _client(address) as client:

        def run(work: Work[Made], _: Sequence[str]) -> Sequence[Found[Made]]:
            sent = delayed(work, traverse=False)
            found = [sent.done(name, name, opener) for name, opener in zip(names, openers, strict=True)]
            try:
                sums: Sequence[Found[Made]] = client.gather(client.compute(_tree(sent, found)))
            except KilledWorker as error:
                raise InputError(f"Dask gave up, perhaps for want of memory: {error}") from None
            return sums

        yield run


def _tree(work: Delayed, found: Sequence[Delayed]) -> Sequence[Delayed]:
    """Add up neighbours, and their sums, until one is left."""
    while len(found) > 1:
        found = [work.merged(found[start : start + FAN_IN]) for start in range(0, len(found), FAN_IN)]
    return found


@contextmanager
def _client(scheduler: str | None) -> Iterator[Client]:
    """Find the client of a scheduler, or the one there is, or start a cluster on this machine."""
    if scheduler is not None:
        try:
            get_address_host_port(scheduler, strict=True)
            client = Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"engine (--engine dask:ADDRESS): no Dask scheduler answers at {scheduler}: {error}."
            ) from None
        with client:
            yield client
        return
    try:
        found = default_client()
    except ValueError:
        here = LocalCluster(dashboard_address="127.0.0.1:0")  # the usual port may be taken
        with here, Client(here, set_as_default=False) as client:
            yield client
    else:
        yield found
