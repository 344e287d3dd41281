"""Cells as people write them: percent signs, decimal commas, marks of missing values, and text among the numbers."""

import json
import re

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, Tally, assess, tally_files
from unperplexed.cli.parser import main
from unperplexed.forecasts.labels import USUAL_MARKS
from unperplexed.sources.readers import text_streams as chunks

ROWS = [("1", "90%"), ("0", " 10 % "), ("#N/A", "50%"), ("1", "-"), ("1", "soon"), ("0", "20\u00a0%"), ("1", "70")]
"""Outcome and probability; rows 2, 3 and 4 hold no forecast."""
KEPT = [1, 0, 0, 1], [0.9, 0.1, 0.2, 0.7]
ALL = {"scale": "percent", "na": [], "invalid": "drop"}


def csv(path, rows):
    path.write_text("y,p\n" + "".join(f"{y},{p}\n" for y, p in rows))


def jsonl(path, rows):
    path.write_text("".join(json.dumps({"y": y, "p": p}) + "\n" for y, p in rows))


def parquet(path, rows):
    pl.DataFrame(rows, schema=["y", "p"], orient="row").write_parquet(path)


WRITE = {"csv": csv, "jsonl": jsonl, "parquet": parquet}


@pytest.fixture(params=WRITE)
def written(request, tmp_path):
    def write(rows):
        path = tmp_path / f"f.{request.param}"
        WRITE[request.param](path, rows)
        return path

    return write


@pytest.fixture(params=["whole", "tiny"])
def either(request, monkeypatch):
    if request.param == "tiny":
        monkeypatch.setattr(chunks, "CHUNK_BYTES", 20)
        monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 4)


def accuracy(*rows):
    return assess(*rows).reported.geometric_accuracy


def counted(path, **options):
    return tally_files(path, truth="y", prob="p", **options)


def test_rows_are_left_out_by_kind(written, either):
    tally = counted(written(ROWS), **ALL)
    assert tally.notes.dropped == {"NaN": 1, "no label": 1, "not a number": 1}
    assert assess(tally).reported.geometric_accuracy == pytest.approx(
        assess(*KEPT).reported.geometric_accuracy, abs=1e-15
    )


def test_the_kinds_of_several_columns_are_of_rows(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,a,b\na,0.5,0.5\na,x,y\nb,,0.5\nb,z,\nb,0.9,0.1\na,1.5,-0.5\n")
    tally = tally_files(path, truth="y", prob=["a", "b"], invalid="drop")
    assert tally.notes.dropped == {"NaN": 1, "negative": 1, "not a number": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"add --na .*6 rows \(0, 1, .*'90%'.*All of it takes .*\(--scale percent --na --invalid drop\)"),
        ({"scale": "percent"}, r"2 rows \(3, 4; .*'-'.*All of it takes .*\(--na --invalid drop\)"),
        (
            {"scale": "percent", "na": []},
            r"no label in 1 row \(2;.* 1 row \(4; .*'soon'.*NaN in 1 row \(3;.*--invalid drop",
        ),
    ],
)
def test_each_error_names_all_remedies(written, options, message):
    with pytest.raises(InputError, match=message):
        counted(written(ROWS), **options)


def test_a_mark_among_outcomes_is_named(written):
    with pytest.raises(InputError, match=r"'#N/A' marks a missing outcome, add --na .*--invalid drop"):
        counted(written([("1", 0.5), ("0", 0.5), ("#N/A", 0.5)]))


def test_usual_marks(written, either):
    rows = [*[("yes", "0.5")] * 3, *((mark, "0.5") for mark in USUAL_MARKS), ("no", "0.25")]
    rows += [("yes", mark) for mark in USUAL_MARKS]
    tally = counted(written(rows), na=[], invalid="drop", pos_label="yes")
    assert tally.notes.dropped == {"NaN": len(USUAL_MARKS), "no label": len(USUAL_MARKS)}


def test_named_marks_are_the_only_ones_of_outcomes(written):
    rows = [("NA", "0.5"), ("yes", "0.5"), ("later", "later")]
    tally = counted(written(rows), na="later", invalid="drop", pos_label="yes")
    assert tally.labels == ("NA", "yes")
    assert tally.notes.dropped == {"no label": 1}


def test_a_weight_that_is_no_number_is_an_error(tmp_path):
    (tmp_path / "f.csv").write_text("y,p,w\n1,0.5,1\n0,0.5,heavy\n")
    with pytest.raises(InputError, match="column 'w' is not a number at row 1"):
        counted(tmp_path / "f.csv", weight="w", invalid="drop")


def test_percent_signs_do_not_set_the_scale(written):
    with pytest.raises(InputError, match="--scale percent"):
        counted(written([("1", "90%"), ("0", "10%")]), invalid="refuse")


@pytest.mark.parametrize("separator", [None, ";"])
def test_german_excel(tmp_path, either, separator):
    """With decimal commas fields are separated by semicolons unless it is said otherwise."""
    rng = np.random.default_rng(8)
    p = rng.uniform(size=60).round(3)
    y = rng.uniform(size=60) < p
    path = tmp_path / "f.csv"
    text = "".join(
        f"{'WAHR' if a else 'FALSCH'};{b * 100:.1f} %\n".replace(".", ",") for a, b in zip(y, p, strict=True)
    )
    path.write_bytes(("Wolkig größer;Chance\r\n" + text.replace("\n", "\r\n")).encode("cp1252"))
    columns = {"truth": "Wolkig größer", "prob": "Chance", "pos_label": "WAHR"}
    spelled = {"decimal_comma": True, "encoding": "cp1252", "scale": "percent", "separator": separator}
    tally = tally_files(path, **columns, **spelled)
    assert assess(tally).reported.geometric_accuracy == pytest.approx(
        assess(y, p).reported.geometric_accuracy, rel=1e-12
    )


def test_a_file_with_semicolons_names_both_remedies(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y;p\n1;0,5\n0;0,25\n")
    with pytest.raises(InputError, match="--separator ';' reads it so, or --decimal-comma"):
        counted(path)
    assert counted(path, decimal_comma=True).to_bytes() == counted(path, decimal_comma=True, separator=";").to_bytes()


@pytest.mark.parametrize("form", WRITE)
def test_three_problems_are_one_message_with_one_remedy(tmp_path, capsys, form):
    rows = [(0, "0.5", "0.5"), (1, "soon", "0.3"), (None, "0.5", "0.5"), (1, "0.3", "0.6"), (1, "0.9", "0.1")]
    path, table = tmp_path / f"f.{form}", pl.DataFrame(rows, schema=["y", "p_0", "p_1"], orient="row")
    {"csv": table.write_csv, "jsonl": table.write_ndjson, "parquet": table.write_parquet}[form](path)
    assert main(["assess", str(path), "--prob=p_*"]) == 2
    said = capsys.readouterr().err
    assert "y: no label in 1 row (2; counted from 0). " in said
    assert "probabilities: not a number in 1 row (1; counted from 0), column 'p_0', for example 'soon'. " in said
    assert "sum not 1 in 1 row (3; counted from 0), for example a sum of 0.9." in said
    (options,) = re.findall(r"All of it takes .* \((--.*)\)\.", said)
    assert options == "--invalid rescale drop"
    assert main(["tally", str(path), "--prob=p_*", *options.split(), "--output", str(tmp_path / "t.tally")]) == 0
    tally = Tally.load(tmp_path / "t.tally")
    assert (tally.n_rows, tally.notes.rescaled) == (3, 1)
    assert tally.notes.dropped == {"no label": 1, "not a number": 1}


def test_lists_with_text_are_left_out_as_rows(tmp_path):
    path = tmp_path / "f.jsonl"
    rows = [(0, [0.5, 0.5]), (1, ["10%", "90 %"]), (1, [0.2, "soon"]), (0, None), (0, ["-", 1])]
    jsonl(path, rows)
    with pytest.raises(
        InputError, match=r"p: not a number in 3 rows \(1, 2, 4; .*'10%'.*--scale percent --na --invalid drop"
    ):
        counted(path)
    path.write_text(path.read_text().replace("0.5", "50").replace("0.2", "20"))
    tally = counted(path, **ALL)
    assert tally.notes.dropped == {"NaN": 2, "not a number": 1}
    assert tally.n_rows == 2
