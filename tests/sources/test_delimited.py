"""Lines, quotes and words of delimited text, in chunks of any size, with the compiled kernel and without."""

import numpy as np
import pytest

from unperplexed import InputError, Tally
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.readers import delimited
from unperplexed.sources.readers import text_streams as chunks


def tally(path, prob=("p",), **reading):
    files = ForecastFiles([str(path)], Selection(["y"], list(prob)), FileReading(**reading))
    return sum((Tally.count(forecasts) for batch in files for forecasts in batch.forecasts), Tally())


def refusal(path, **reading):
    with pytest.raises(InputError) as caught:
        tally(path, **reading)
    return str(caught.value).removeprefix(f"{path}: ")


def without_kernel(monkeypatch):
    """Lines are looked at by NumPy, in slices that may hold no end of a line."""
    monkeypatch.setattr(delimited, "_kernel", None)
    monkeypatch.setattr(delimited, "_SLICE", 7)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1,0.5,a\n0,0.25\n", "line 3 has 2 fields, the header 3. Repair the line"),
        ("1,0.5,a\n0,0.25,b,c\n1,0.5\n", "line 3 has 4 fields, the header 3. Quote fields that contain the separator"),
        ("1,0.5,a long text in it\n0", "line 3 has 1 field, the header 3"),
        ('1,0.5,"a, b"\n0,0.25,"c"\n0\n', "line 4 has 1 field, the header 3"),
    ],
)
def test_lines_of_another_width_are_named_alike_by_both_ways(tmp_path, monkeypatch, lines, message):
    path = tmp_path / "f.csv"
    path.write_text("y,p,t\n" + lines)
    said = refusal(path)
    assert message in said
    without_kernel(monkeypatch)
    assert refusal(path) == said


def test_whole_files_are_counted_alike_by_both_ways(tmp_path, monkeypatch, rng):
    path = tmp_path / "f.csv"
    path.write_text("y,p,t\n" + "".join(f"{k % 2},{p},text {k}\n" for k, p in enumerate(rng.random(50))))
    expected = tally(path).to_bytes()
    without_kernel(monkeypatch)
    assert tally(path).to_bytes() == expected


def test_a_last_line_without_end_in_a_file_of_one_column(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text('p\n"0.5"\n0,25')
    with pytest.raises(InputError, match="line 3 has 2 fields, the header 1. Quote fields that contain the separator"):
        [*ForecastFiles([str(path)], Selection(prob=["p"], outcomes=False), FileReading())]


def test_true_and_false_are_numbers_in_whole_columns_alone(tmp_path, monkeypatch):
    """A column whose words come late, or are followed by numbers, is neither; small chunks see that too."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 40)
    path = tmp_path / "f.csv"
    path.write_text("y,p\n" + "1,true\n0,false\n" * 20)
    assert tally(path).to_bytes() == Tally.of([1, 0] * 20, [1.0, 0.0] * 20, source=str(path)).to_bytes()
    path.write_text("y,p\n" + "1,0.5\n" * 20 + "0,true\n" * 20)
    assert (
        "p: not a number in 6 rows (20, 21, 22, 23, 24, 25; counted from 0), column 'p', for example 'true'"
        in refusal(path)
    )
    path.write_text("y,p\n" + "1,true\n" * 20 + "0,0.5\n" * 20)
    assert "column 'p' is not a number at row 0 (counted from 0): 'true'" in refusal(path)


def test_quotes_that_are_read_in_two_ways_are_named_before_the_file_ends(tmp_path, monkeypatch):
    """A quote amid a field and one that opens a field: one reader sees a pair, the other a field that never closes."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 200)
    path = tmp_path / "f.csv"
    path.write_text('y,p,t\n1,0.8,5" pipe\n0,0.5,"b\n' + "1,0.5,c\n" * 100)
    assert "line 3 begins a record whose quotes can be read in two ways. Quote whole fields only" in refusal(path)


def test_a_record_of_too_many_values_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 64)
    monkeypatch.setattr(chunks, "_MOST_VALUES", 100)
    path = tmp_path / "f.jsonl"
    path.write_text('{"y": 1, "p": 0.5}\n{"y": 0, "p": 0.25, "x": [' + "1," * 150 + "1]}\n")
    assert "line 2 begins a record of more than 100 values" in refusal(path)


def test_labels_of_columns_that_are_not_there(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,a=b\n1,0.5\n0,0.25\n")
    assert np.isclose(tally(path, ["1=a=b"]).weight, 2)
    with pytest.raises(InputError, match="no column 'b=c'"):
        tally(path, ["1=b=c"])


def test_text_is_named_in_columns_of_rows_that_count_alone(tmp_path):
    """Text in a row whose label is one to ignore is no error, and no example of one."""
    path = tmp_path / "f.csv"
    path.write_text("y,a,b\na,x,0.5\nc,0.5,z\nb,0.5,0.5\n")
    with pytest.raises(InputError) as caught:
        tally(path, ["a", "b"], ignore_label="c")
    assert "not a number in 1 row (0; counted from 0), column 'a', for example 'x'" in str(caught.value)
    assert "'z'" not in str(caught.value)
