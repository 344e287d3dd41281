"""What engines do with parts, done here in this process: the tally of one pass, and the first error in the order."""

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, Tally, tally_files, tally_files_by
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.map_reduce import Found, Work, as_tallies, as_tally, counted, rows_of_frame
from unperplexed.sources.records import records_source


@pytest.fixture
def folder(tmp_path, rng):
    """Five files, one of them without rows; text outcomes that only all rows together settle."""
    for k, n in enumerate((7, 0, 3, 11, 1)):
        y = rng.choice(["1", "0"], n) if k < 4 else ["x"] * n
        rows = {
            "y": pl.Series(y, dtype=pl.String),
            "p": rng.random(n),
            "town": pl.Series(["ab"[k % 2]] * n),
            "day": range(n),
        }
        pl.DataFrame(rows, schema_overrides={"town": pl.String, "day": pl.Int64}).write_parquet(
            tmp_path / f"{k}.parquet"
        )
    return tmp_path


def by_two(work, found):
    """Add up neighbours, and their sums, until one is left."""
    while len(found) > 1:
        found = [work.merged(found[start : start + 2]) for start in range(0, len(found), 2)]
    return found


def run_over(files):
    def run(work, _):
        opened = zip(files.files, files.openers(), strict=True)
        return by_two(work, [work.done(file.name, file.name, opener) for file, opener in opened])

    return run


def files_of(folder, **reading):
    return ForecastFiles([str(folder / "*.parquet")], Selection(["y"], ["p"]), FileReading(**reading))


def test_parts_give_the_tally_of_one_pass(folder):
    settings = {"pos_label": "x", "ignore_label": "0"}
    files = files_of(folder, **settings)
    expected = tally_files(folder / "*", truth="y", prob="p", **settings)
    assert expected.labels == ("1", "x")
    assert counted(files.rows, as_tally(), run_over(files)).to_bytes() == expected.to_bytes()
    one = ForecastFiles([str(folder / "3.parquet")], Selection(["y"], ["p"]), FileReading())
    alone = counted(one.rows, as_tally(), run_over(one), one=True)
    assert alone.to_bytes() == tally_files(folder / "3.parquet", truth="y", prob="p").to_bytes()


def test_groups_of_parts_are_those_of_one_pass_and_limited(folder):
    files = ForecastFiles(
        [str(folder / f"{k}.parquet") for k in (0, 2, 3)], Selection(["y"], ["p"], keys=["town"]), FileReading()
    )
    found = counted(files.rows, as_tallies(), run_over(files))
    paths = [folder / f"{k}.parquet" for k in (0, 2, 3)]
    expected = tally_files_by(paths, truth="y", prob="p", by="town")
    assert {key: each.to_bytes() for key, each in found.items()} == {
        key: each.to_bytes() for key, each in expected.items()
    }
    with pytest.raises(InputError, match="by: more than 1 group in town"):
        counted(files.rows, as_tallies(most_groups=1), run_over(files))


def test_the_error_is_that_of_the_first_part_that_has_any(folder):
    """Whichever part is done first, and in whatever tree they are added up."""
    for k, p in ((2, 1.5), (3, 1.5), (4, None)):
        rows = pl.read_parquet(folder / f"{k}.parquet")
        rows.with_columns(p=pl.lit(p, dtype=pl.Float64)).write_parquet(folder / f"{k}.parquet")
    files = files_of(folder, pos_label="x", ignore_label="0")
    with pytest.raises(InputError, match=r"^\S*2\.parquet: p: above 1 in \d rows"):
        counted(files.rows, as_tally(), run_over(files))
    (folder / "0.parquet").unlink()
    with pytest.raises(InputError, match=r"0\.parquet: no such file on .* Workers open files by name: put it where"):
        counted(files.rows, as_tally(), run_over(files))


def test_parts_that_do_not_add_up_are_named():
    work = Work(lambda part: part, lambda one, other: one + other)
    two, three = (Tally.of([0, 1, 0], np.full((3, k), 1 / k), labels=range(k)) for k in (2, 3))
    parts = [Found("a", two), Found("b", two), Found("c", three)]
    assert work.merged(parts[:2]).result.n_rows == 6
    assert str(work.merged(parts).result).startswith("c: ")
    first = work.merged(parts[1:])
    assert work.merged([first, parts[0]]).result is first.result


def frame_parts(rows, sizes):
    """Partitions of a table, as record batches that can be gone through only once."""
    table = rows.to_arrow()
    ends = np.cumsum([0, *sizes])
    return [table.slice(start, stop - start) for start, stop in pairwise(ends)]


def counted_frame(rows, sizes, parts, **columns):
    numbers = [name for name, kind in rows.schema.items() if kind.is_numeric()]

    def run(work, names):
        opened = [(part.select(names), f"partition {at}") for at, part in enumerate(frame_parts(rows, sizes))]
        found = [
            work.done(name, "", lambda part: records_source(part.schema, part.to_batches(max_chunksize=2)), part)
            for part, name in opened
        ]
        return by_two(work, found)

    return counted(rows_of_frame(rows.columns, numbers, {"parts": parts, **columns}, ()), as_tally(parts=parts), run)


def test_partitions_give_the_tally_of_the_rows(rng):
    """Lists, which are long as the first of them says, may be missing in the first rows; partitions may be empty."""
    p = rng.dirichlet(np.ones(3), 12)
    y, cluster = rng.integers(0, 3, 12), rng.integers(0, 4, 12)
    lists = [[math.nan] * 3] * 3 + p[3:].tolist()
    settings = {"labels": [0, 1, 2], "invalid": "drop"}
    expected = Tally.of(y, lists, clusters=cluster, parts=["shards"], **settings)
    assert (expected.n_rows, sum(expected.notes.dropped.values())) == (9, 3)
    rows = pl.DataFrame({"y": y, "p": [None] * 3 + lists[3:], "id": cluster})
    for sizes in ([12], [0, 5, 0, 7], [12, 0]):
        found = counted_frame(rows, sizes, ["shards"], truth="y", prob="p", clusters="id", **settings)
        assert found.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize(
    ("names", "parts", "columns", "message"),
    [
        (["y", "p", "p"], (), {}, "the frame's columns need names of their own, as texts; 'p' is not. Rename them"),
        (["y", 1], (), {}, "as texts; 1 is not"),
        (["y", "p"], ["surprises"], {}, "no numbers by which surprises could be found; leave them out"),
        (["y", "p"], ["shards"], {}, r"Name columns that make their ids differ, or their clusters: clusters="),
    ],
)
def test_frames_that_cannot_be_counted(names, parts, columns, message):
    with pytest.raises(InputError, match=message):
        rows_of_frame(names, ["p"], {"parts": parts, "truth": "y", "prob": "p", **columns}, ())


def test_quantiles_are_no_groups_of_parts(folder):
    files = ForecastFiles([str(folder / "0.parquet")], Selection(["y"], ["p"], keys=["day:halves"]), FileReading())
    with pytest.raises(InputError, match="quantiles are found by the engine local only; choose it, or name a column"):
        counted(files.rows, as_tallies(), run_over(files))
