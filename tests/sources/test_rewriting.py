import json
from datetime import date
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from unperplexed import InputError, assess, tally_files
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.mended_files import _changed
from unperplexed.sources.rewriting import TextKinds, forecast_file

ROWS = 500


@pytest.fixture
def frame(rng):
    return pl.DataFrame(
        {
            "id": np.arange(ROWS) * 10,
            "name": ['plain, "quoted"' if i % 7 == 0 else f"n{i}" if i % 5 else None for i in range(ROWS)],
            "p": rng.uniform(0.01, 0.99, ROWS),
            "code": [f"{i:05d}" for i in range(ROWS)],
            "amount": rng.normal(0, 1e6, ROWS).round(2),
            "flag": rng.random(ROWS) < 0.5,
            "empty": pl.Series([None] * ROWS, dtype=pl.String),
        }
    )


def halved(batch):
    return batch.probabilities[0].rows(slice(None)).astype(float) / 2


def rewritten(path, out, prob=("p",), suffix="", change=halved, **reading):
    file = forecast_file(str(path), prob, FileReading(**reading))
    return file.write(out, change, [name + suffix for name in file.plan.prob])


def written(frame, path):
    form = path.suffix[1:]
    if form == "npz":
        np.savez(path, **{name: np.array(frame[name].to_list()) for name in ("id", "p", "code", "amount", "flag")})
    else:
        getattr(
            frame, {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet", "arrow": "write_ipc"}[form]
        )(path)
    return path


@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet", "arrow", "npz"])
@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet"])
def test_other_columns_and_order_are_kept_in_every_format(frame, tmp_path, source, target):
    out = tmp_path / f"out.{target}"
    assert rewritten(written(frame, tmp_path / f"in.{source}"), out) == ROWS
    codes = {"schema_overrides": {"code": pl.String}} if target == "csv" else {}
    found = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[target](out, **codes)
    expected = frame.with_columns(frame["p"] / 2)
    if source == "npz":
        expected = expected.drop("name", "empty")
    assert found.columns == expected.columns
    for name in expected.columns:
        if name == "empty":
            assert found[name].null_count() == ROWS
        else:
            np.testing.assert_array_equal(found[name].to_list(), expected[name].to_list(), err_msg=name)


def test_suffix_adds_columns_behind(frame, tmp_path):
    for source in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"out_{source}.parquet"
        rewritten(written(frame, tmp_path / f"in.{source}"), out, suffix="_new")
        found = pl.read_parquet(out)
        assert found.columns == [*frame.columns, "p_new"]
        np.testing.assert_array_equal(found["p"], frame["p"])
        np.testing.assert_array_equal(found["p_new"], frame["p"] / 2)
    clash = written(frame.with_columns(p_new=1), tmp_path / "clash.csv")
    with pytest.raises(InputError, match="column 'p_new' already"):
        rewritten(clash, tmp_path / "never.csv", suffix="_new")


def test_text_stays_as_it_is_spelled(tmp_path):
    (tmp_path / "in.csv").write_text('when,p,money,"the ""x"""\n2026-01-02,0.50,1.10,""\n,1e-3,007,y\n')
    rewritten(tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == 'when,p,money,"the ""x"""\n2026-01-02,0.25,1.10,""\n,0.0005,007,y\n'


def test_separator_and_decimal_comma(tmp_path):
    (tmp_path / "in.csv").write_text("a;p\n1,5;0,5\n2;0,25\n")
    rewritten(tmp_path / "in.csv", tmp_path / "out.csv", separator=";", decimal_comma=True)
    assert (tmp_path / "out.csv").read_text() == "a;p\n1,5;0,25\n2;0,125\n"


@pytest.mark.parametrize("separator", [None, ",", ";", "\t"])
@pytest.mark.parametrize("target", ["csv", "tsv"])
def test_decimal_commas_are_read_again_by_the_same_options(tmp_path, separator, target):
    pl.DataFrame({"y": [0, 1], "p": [0.5, 0.25]}).write_csv(
        tmp_path / "in.csv", separator=separator or ";", decimal_comma=True
    )
    options = {"separator": separator, "decimal_comma": True}
    rewritten(tmp_path / "in.csv", tmp_path / f"out.{target}", **options)
    if target == "tsv":
        options["separator"] = None
    again = tally_files(tmp_path / f"out.{target}", truth="y", prob="p", **options)
    assert assess(again).reported.geometric_accuracy == pytest.approx((0.75 * 0.125) ** 0.5, rel=1e-12)
    if target == "csv" and separator in (None, ";"):
        assert (tmp_path / "out.csv").read_text() == "y;p\n0;0,25\n1;0,125\n"


def test_decimal_commas_of_tsv_are_kept_in_csv(tmp_path):
    (tmp_path / "in.tsv").write_text("a\tp\n1,5\t0,5\n")
    rewritten(tmp_path / "in.tsv", tmp_path / "out.csv", decimal_comma=True)
    assert (tmp_path / "out.csv").read_text() == "a;p\n1,5;0,25\n"


def test_types_of_parquet_are_kept(tmp_path):
    table = pa.table(
        {
            "p": pa.array([0.5, 0.25], pa.float32()),
            "small": pa.array([1, None], pa.int8()),
            "day": pa.array([date(2026, 1, 2), None]),
            "kind": pa.array(["a", "b"]).dictionary_encode(),
            "many": pa.array([[1, 2], None], pa.list_(pa.int16())),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    rewritten(tmp_path / "in.parquet", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    for name in ("small", "day", "kind", "many"):
        assert found.schema.field(name).type == table.schema.field(name).type
        assert found[name].to_pylist() == table[name].to_pylist()
    assert found["p"].to_pylist() == [0.25, 0.125]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("prob", ["p", "s.q"])
def test_a_column_of_structs_stays_one_column(tmp_path, suffix, prob):
    table = pa.table({"p": [0.5, 0.25], "s": [{"q": 0.5, "b": [1]}, {"q": 0.25, "b": None}], "s.c": ["a", "b"]})
    path = tmp_path / f"in.{suffix}"
    (pq.write_table if suffix == "parquet" else pyarrow.feather.write_feather)(table, path)
    rewritten(path, tmp_path / "out.parquet", prob=(prob,))
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column_names == [*table.column_names, *([prob] if prob not in table.column_names else [])]
    for name in {*table.column_names} - {prob}:
        assert found[name].to_pylist() == table[name].to_pylist()
    assert found[prob].to_pylist() == [0.25, 0.125]


@pytest.mark.parametrize("target", ["csv", "parquet"])
def test_whole_numbers_among_others_keep_their_digits(tmp_path, target):
    large = 2**53 + 1
    (tmp_path / "in.jsonl").write_text(
        f'{{"p": 0.5, "a": {large}, "b": {large}, "c": 1}}\n{{"p": 0.25, "a": 1.5, "b": 2, "c": 0.5}}\n'
    )
    rewritten(tmp_path / "in.jsonl", tmp_path / f"out.{target}")
    found = (
        pl.read_parquet(tmp_path / "out.parquet")
        if target == "parquet"
        else pl.read_csv(tmp_path / "out.csv", schema_overrides={"a": pl.String})
    )
    assert found["a"].to_list() == [str(large), "1.5"]
    assert found["b"].to_list() == [large, 2]
    assert found["c"].to_list() == [1, 0.5]


def test_lists_of_probabilities(tmp_path):
    rows = [{"id": i, "probs": [0.5, 0.25, 0.25], "tags": [{"a": 1}]} for i in range(3)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rewritten(tmp_path / "in.jsonl", tmp_path / "out.jsonl", prob=("probs",))
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [{**row, "probs": [0.25, 0.125, 0.125]} for row in rows]
    with pytest.raises(InputError, match="'tags' holds lists or objects"):
        rewritten(tmp_path / "in.jsonl", tmp_path / "out.parquet", prob=("probs",))
    (tmp_path / "flat.jsonl").write_text("".join(json.dumps({"probs": row["probs"]}) + "\n" for row in rows))
    rewritten(tmp_path / "flat.jsonl", tmp_path / "out.parquet", prob=("probs",))
    assert pl.read_parquet(tmp_path / "out.parquet")["probs"].to_list() == [[0.25, 0.125, 0.125]] * 3
    with pytest.raises(InputError, match="'probs' holds lists, which CSV cannot hold"):
        rewritten(tmp_path / "flat.jsonl", tmp_path / "out.csv", prob=("probs",))
    assert not (tmp_path / "out.csv").exists()


def test_names_that_come_late_in_json_are_kept(tmp_path):
    rows = [{"p": 0.5, **({"late": i} if i > 150 else {})} for i in range(200)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rewritten(tmp_path / "in.jsonl", tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv", infer_schema_length=None)["late"].drop_nulls().to_list() == list(
        range(151, 200)
    )


def test_an_error_leaves_the_old_file(frame, tmp_path):
    def broken(batch):
        raise InputError("y_prob: bad.")

    out = tmp_path / "out.csv"
    out.write_text("old")
    with pytest.raises(InputError, match=r"in\.csv: y_prob: bad"):
        rewritten(written(frame, tmp_path / "in.csv"), out, change=broken)
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]


def test_columns_are_named_or_plain(frame, tmp_path):
    path = written(frame, tmp_path / "in.csv")
    assert rewritten(path, tmp_path / "out.csv", prob=()) == ROWS  # "p" is a usual name
    with pytest.raises(InputError, match=r"in\.csv: no column 'q'"):
        rewritten(path, tmp_path / "out.csv", prob=("q",))
    written(frame, tmp_path / "io.csv")
    with pytest.raises(InputError, match="2 files match"):
        rewritten(tmp_path / "i*.csv", tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-20", None], pl.Int64),
        (["1", "0.5", "1e-3", ".5", "2."], pl.Float64),
        (["true", "False"], pl.Boolean),
        (["007"], pl.String),
        (["1234567890123456"], pl.String),
        (["1", "NA"], pl.String),
        (["."], pl.String),
        ([None], pl.String),
        (["", "1"], pl.String),
    ],
)
def test_kinds_of_text(texts, kind):
    kinds = TextKinds(["x"])
    for text in texts:
        kinds.add({"x": pl.Series("x", [text], dtype=pl.String)})
    assert kinds.of("x") == kind
    assert kinds.typed(pl.Series("x", texts, dtype=pl.String)).null_count() == texts.count(None)


@pytest.mark.parametrize("suffix", ["", "_new"])
def test_a_pandas_index_is_an_index_again(tmp_path, suffix):
    pd = pytest.importorskip("pandas")
    index = pd.Index(["a", "b", "c"], name="case")
    whole = pd.DataFrame({"p": pd.array([10, 55, 80], dtype="Int64"), "x": pd.Categorical(["u", "v", "u"])}, index)
    whole.to_parquet(tmp_path / "in.parquet")
    rewritten(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        suffix=suffix,
        change=lambda batch: halved(batch) + 0.25,
    )
    found = pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_index_equal(found.index, index)
    assert list(found.columns) == list(dict.fromkeys(["p", "x", "p" + suffix]))
    assert found["x"].dtype == "category"
    assert found["p" + suffix].tolist() == [5.25, 27.75, 40.25]


def test_metadata_of_parquet_are_kept(tmp_path):
    table = pa.table({"p": [0.5, 0.25]}).replace_schema_metadata({"station": "Kew"})
    pq.write_table(table, tmp_path / "in.parquet")
    rewritten(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").metadata[b"station"] == b"Kew"


def test_batches_follow_one_another_in_parquet_and_progress_ends_at_the_file_s_size(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 200)
    path, out, seen = written(frame, tmp_path / "in.parquet"), tmp_path / "out.parquet", []
    file = forecast_file(str(path), ["p"], FileReading())
    file.write(out, halved, ["p"], progress=lambda *each: seen.append(each))
    assert pl.read_parquet(out)["p"].to_list() == (frame["p"] / 2).to_list()
    rows, read, sizes = zip(*seen, strict=True)
    assert len(rows) > 1
    assert [*rows] == sorted(rows)
    assert (rows[-1], read[-1], {*sizes}) == (ROWS, path.stat().st_size, {path.stat().st_size})


def test_labels_are_named_once(frame, tmp_path):
    path = written(frame, tmp_path / "in.csv")
    assert forecast_file(str(path), ["rain=p"], FileReading()).plan.prob == ("p",)
    with pytest.raises(InputError, match="the labels are already named"):
        forecast_file(str(path), ["rain=p"], FileReading(labels=["dry", "rain"]))


@pytest.mark.parametrize("as_text", [False, True])
def test_rows_behind_the_last_that_is_mended_stay_as_they_are(as_text):
    old = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = SimpleNamespace(rows=lambda here: old)
    batch = SimpleNamespace(probabilities=[rows], first_row=0, raw={"a": [1, 3, 5], "b": [2, 4, 6]})
    found = _changed(["a", "b"], np.array([[9.0, 8.0]]), as_text, batch)
    assert np.asarray(found, float).tolist() == [[9, 8], [3, 4], [5, 6]]
