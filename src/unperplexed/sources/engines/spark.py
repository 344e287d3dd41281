"""Spark: partitions of a user's data frame, or files, counted by its workers and added up in a tree."""

from __future__ import annotations

import os
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
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
from ..records import records_source

with needed("The engine 'spark'", "PySpark", "spark"):
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import TaskContext
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.functions import col, floor
    from pyspark.sql.types import BooleanType, NumericType

_FOUND = "number long, found binary"
"""What mapInArrow gives: the number of a part, or of a group of them, and what was found in it."""

_MANY = FAN_IN**3
"""So many parts a frame is taken to have: how many it has, Spark cannot tell without making it."""


@reads(Columns, ASKED)
def tally_spark(frame: DataFrame, **options: Unpack[Columns]) -> Tally:
    """Count the forecasts in a Spark data frame: its workers count partitions, and add them up in a tree.

    The tally is the same however the frame is partitioned, and that of its rows in memory. What the outcomes are is
    settled by all of them first, which reads these columns once by themselves, unless they are numbers and ``labels``
    are given; a frame that is costly to make is therefore better cached.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Rows of forecasts. Partitions may be empty.
    **options
        As in `tally_dask`.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        As `tally_dask`.
    """
    return _counted_frame(frame, as_tally(**counting_of(options)), options)


@reads(Columns, ASKED)
def tally_spark_by(
    frame: DataFrame, *, by: str | Sequence[str], most_groups: int = MOST_GROUPS, **options: Unpack[Columns]
) -> Tallies:
    """Count the forecasts in a Spark data frame group by group, in one pass: one tally for each group.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Rows of forecasts.
    by, most_groups, **options
        As in `tally_dask_by`.

    Returns
    -------
    Tallies

    Raises
    ------
    InputError
        As `tally_dask_by`.
    """
    return _counted_frame(frame, as_tallies(most_groups, **counting_of(options)), options, by)


def _counted_frame(
    frame: DataFrame, accumulator: Accumulator[Result], options: Columns, by: str | Sequence[str] = ()
) -> Result:
    if not isinstance(frame, DataFrame):
        raise InputError(f"frame: expected a Spark DataFrame, got {type(frame).__name__}; for what is here: Tally.of.")
    numbers = [field.name for field in frame.schema if isinstance(field.dataType, NumericType | BooleanType)]
    rows = rows_of_frame(frame.columns, numbers, options, by)

    def run(work: Work[Made], names: Sequence[str]) -> Sequence[Found[Made]]:
        def done(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Found[Made]]]:
            first = next(batches, None)
            if first is not None:  # which it is in an empty partition
                at = TaskContext.get().partitionId()
                yield at, work.done(f"partition {at}", "", records_source, first.schema, chain([first], batches))

        quoted = [f"`{name.replace('`', '``')}`" for name in names]
        return _tree(work, frame.select(*quoted), done)

    return counted(rows, accumulator, run)


@contextmanager
def running(names: Sequence[str], openers: Sequence[Opener], address: str | None) -> Iterator[Run]:
    """Give what works on files, each a task of its own."""
    with _session(address) as session:

        def run(work: Work[Made], _: Sequence[str]) -> Sequence[Found[Made]]:
            def done(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Found[Made]]]:
                for batch in batches:
                    for at in batch.column(0).to_pylist():
                        yield at, work.done(names[at], names[at], openers[at])

            try:
                return _tree(work, session.range(0, len(names), 1, len(names)), done, len(names))
            except Py4JJavaError as error:
                reason = error.java_exception.getMessage().splitlines()[0]
                raise InputError(f"Spark gave up, perhaps for want of memory: {reason}") from None

        yield run


def _tree(
    work: Work[Made],
    frame: DataFrame,
    done: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, Found[Made]]]],
    n_parts: int = _MANY,
) -> Sequence[Found[Made]]:
    """Do work in each partition, and add up neighbours, and their sums, until few are left."""

    def parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, found in done(batches):
            yield _record(number, found)

    def neighbours(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups = defaultdict(list)
        for batch in batches:
            for number, found in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                groups[number // FAN_IN].append((number, found))
        for group, several in groups.items():
            yield _record(group, work.merged(pickle.loads(found) for _, found in sorted(several)))

    found = frame.mapInArrow(parts, _FOUND)
    while n_parts > FAN_IN:
        n_parts = -(-n_parts // FAN_IN)
        found = found.repartition(floor(col("number") / FAN_IN)).mapInArrow(neighbours, _FOUND)
    return [pickle.loads(row.found) for row in sorted(found.collect())]


def _record(number: int, found: Found[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"number": [number], "found": [pickle.dumps(found)]})


def _there() -> SparkSession | None:
    """The session of this thread, or else the one of the process."""
    try:
        return SparkSession.active()
    except PySparkException:
        return None


@contextmanager
def _session(master: str | None) -> Iterator[SparkSession]:
    """Find the session there is, or start one, on this machine unless a master is named."""
    found = _there()
    if found is not None:
        if master is not None:
            raise InputError(
                "engine (--engine spark:URL): a Spark session is there already; leave it out to use that, or stop it."
            )
        yield found
        return
    builder = SparkSession.builder.appName("unperplexed")
    if master is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or another Python might count
        master = "local[*,4]"  # all cores; four attempts for each task
        builder = builder.config("spark.ui.enabled", "false")
    try:
        session = builder.master(master).getOrCreate()
    except (PySparkException, Py4JError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"Spark does not start at {master} (--engine spark:URL); what it logs says why. {reason}"
        ) from None
    try:
        yield session
    finally:
        session.stop()
