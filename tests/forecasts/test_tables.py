"""Tables as libraries hand them over: columns of lists, streams, lazy frames, and tokens of sequences."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unperplexed import InputError, Tally, assess

RNG = np.random.default_rng(17)
P = RNG.dirichlet(np.ones(3), 40)
Y = (P.cumsum(axis=1) < RNG.uniform(size=(40, 1))).sum(axis=1)
WHOLE = Tally.of(Y, P).to_bytes()
LISTS = pa.array(P.tolist())

COLUMNS = {
    "polars list": pl.Series("p", P.tolist()),
    "polars array": pl.Series("p", P.tolist(), dtype=pl.Array(pl.Float64, 3)),
    "polars frame": pl.DataFrame({"p": P.tolist()}),
    "polars lazy frame": pl.LazyFrame({"p": P.tolist()}),
    "pandas lists": pd.Series(P.tolist()),
    "pandas arrays": pd.Series(list(P)),
    "pandas frame": pd.DataFrame({"p": P.tolist()}),
    "pandas arrow": pd.Series(LISTS, dtype=pd.ArrowDtype(LISTS.type)),
    "pyarrow": LISTS,
    "pyarrow sliced": pa.array([[1.0, 2.0, 3.0], *P.tolist()]).slice(1),
    "pyarrow large": LISTS.cast(pa.large_list(pa.float64())),
    "pyarrow fixed": LISTS.cast(pa.list_(pa.float64(), 3)),
    "pyarrow chunks": pa.chunked_array([LISTS[:7], LISTS[7:]]),
    "pyarrow table": pa.table({"p": LISTS}),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_of_lists_is_a_matrix(column):
    assert Tally.of(Y, COLUMNS[column]).to_bytes() == WHOLE


def test_lists_keep_their_precision():
    half = pl.Series(P.astype(np.float32).tolist(), dtype=pl.List(pl.Float32))
    assert Tally.of(Y, half).to_bytes() == Tally.of(Y, P.astype(np.float32)).to_bytes()


@pytest.mark.parametrize("make", [pl.Series, pd.Series, pa.array])
def test_missing_lists_and_values_are_nan(make):
    lists = [None, [0.5, 0.5], [None, 1.0], [0.25, 0.75]]
    assert assess([0, 0, 1, 1], make(lists), invalid="drop").notes.dropped == {"NaN": 2}


@pytest.mark.parametrize("make", [pl.Series, pd.Series, pa.array])
def test_lists_of_other_lengths_are_named_by_row(make):
    with pytest.raises(InputError, match=r"y_prob: the list in row 2 .* has 1 values, those before it have 2"):
        assess([0, 0, 1], make([None, [0.5, 0.5], [0.5]]))


@pytest.mark.parametrize("column", [pl.Series([["a"], ["b"]]), pa.array([["a"], ["b"]]), pd.Series([[0.5], ["b"]])])
def test_lists_of_text(column):
    with pytest.raises(InputError, match="y_prob: holds lists of .*not of numbers"):
        assess([0, 1], column)


class Stream:
    """What any library gives that knows the Arrow C stream and nothing else of ours."""

    def __init__(self, data):
        self._data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self._data.__arrow_c_stream__(requested_schema)


FRAME = pa.table({"0": P[:, 0], "1": P[:, 1], "2": P[:, 2]})


@pytest.mark.parametrize(
    "hand",
    [
        lambda table: pl.from_arrow(table).lazy(),
        lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=9)),
        Stream,
    ],
)
def test_tables_still_to_be_read(hand):
    assert Tally.of(Y, hand(FRAME), labels=[0, 1, 2]).to_bytes() == WHOLE
    assert (
        Tally.of(hand(pa.table({"y": Y})), P, labels=[0, 1, 2]).to_bytes()
        == Tally.of(Y, P, labels=[0, 1, 2]).to_bytes()
    )


def test_a_stream_of_one_column():
    assert Tally.of(Y, Stream(pa.chunked_array([LISTS]))).to_bytes() == WHOLE


def test_relations_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    table = FRAME.append_column("y", pa.array(Y))
    relation = duckdb.from_arrow(table)
    with_lists = duckdb.sql('select ["0", "1", "2"] as p from relation')
    assert Tally.of(Y, with_lists).to_bytes() == WHOLE
    assert Tally.of(relation.project("y"), with_lists).to_bytes() == WHOLE


SEQUENCES = P.reshape(8, 5, 3), Y.reshape(8, 5)


@pytest.mark.parametrize("weighted", [False, True])
def test_tokens_are_rows(weighted):
    p, y = SEQUENCES
    weights = RNG.uniform(size=Y.size) if weighted else None
    together = None if weights is None else weights.reshape(8, 5)
    assert Tally.of(y, p, sample_weight=together).to_bytes() == Tally.of(Y, P, sample_weight=weights).to_bytes()


def test_padding_is_left_out_by_its_label():
    p, y = SEQUENCES
    padded = np.where(np.arange(5) < 4, y, -100)
    assert assess(padded, p, ignore_label=-100).notes.ignored == 8
    assert assess(padded, p, ignore_label=-100).n_rows == 32


def test_each_token_is_of_the_group_of_its_sequence():
    p, y = SEQUENCES
    ids = np.arange(8)
    one = Tally.of(y, p, parts=["shards"], clusters=ids).to_bytes()
    assert one == Tally.of(Y, P, parts=["shards"], clusters=np.repeat(ids, 5)).to_bytes()
    assert one == Tally.of(y, p, parts=["shards"], clusters=np.repeat(ids, 5).reshape(8, 5)).to_bytes()


def test_tokens_of_other_shapes():
    p, y = SEQUENCES
    with pytest.raises(InputError, match=r"classes are the second axis.*swapaxes\(1, 2\)"):
        assess(y, p.swapaxes(1, 2))
    assert assess(y, p.swapaxes(1, 2).swapaxes(1, 2)).n_rows == 40
    with pytest.raises(InputError, match=r"need outcomes of shape \(8, 5\), one for each token; got \(40,\)"):
        assess(Y, p)


def test_tokens_of_torch():
    torch = pytest.importorskip("torch")
    p, y = map(torch.as_tensor, SEQUENCES)
    assert Tally.of(y, p).to_bytes() == WHOLE
    assert Tally.of(y, p.log(), scale="logits").n_rows == 40


def test_grids_of_xarray_are_stacked_first():
    xarray = pytest.importorskip("xarray")
    p = xarray.DataArray(P[:, 0].reshape(8, 5), dims=("time", "station"), coords={"station": list("abcde")})
    y = xarray.DataArray((Y == 0).reshape(8, 5) * 1, dims=("time", "station"), coords={"station": list("abcde")})
    with pytest.raises(InputError, match=r"stack\(row=\('time', 'station'\)\).*by=\{'station': ") as caught:
        assess(y, p)
    assert "y_prob['station'].values" in str(caught.value)
    p, y = (x.stack(row=("time", "station")) for x in (p, y))
    assert assess(y, p).n_rows == 40
    dataset = xarray.Dataset({"rain": ("row", P[:, 0])})
    assert Tally.of(Y == 0, dataset).to_bytes() == Tally.of(Y == 0, P[:, 0]).to_bytes()
    with pytest.raises(InputError, match=r"2 variables \('rain', 'snow'\): pass one of them, .*dataset\['rain'\]"):
        assess(Y == 0, dataset.assign(snow=dataset["rain"]))
    classes = xarray.DataArray(P.reshape(8, 5, 3), dims=("time", "station", "class"))
    labels = xarray.DataArray(Y.reshape(8, 5), dims=("time", "station"))
    assert Tally.of(labels, classes).to_bytes() == WHOLE
