"""JSON Lines: fields within fields, labels spelled alike on both paths of the reader, and halves of characters."""

import json

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, Tally, assess, tally_files, tally_files_by
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.readers import text_streams as chunks

ROWS = 250
RNG = np.random.default_rng(12)
P = RNG.dirichlet(np.ones(3), ROWS)
Y = (P.cumsum(axis=1) < RNG.uniform(size=(ROWS, 1))).sum(axis=1)
RESULTS = [
    {"doc": {"id": at, "gold": {"label": int(y)}}, "resps": [[[str(p[0]), "False"]], [p[1]], p.tolist()], "a.b": 7}
    for at, (y, p) in enumerate(zip(Y, P, strict=True))
]


@pytest.fixture(params=["whole", "tiny"])
def either(request, monkeypatch):
    if request.param == "tiny":
        monkeypatch.setattr(chunks, "CHUNK_BYTES", 700)


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in RESULTS))
    return path


def accuracy(tally):
    return assess(tally).reported.geometric_accuracy


def test_paths_lead_into_objects_and_lists(results, either):
    columns = tally_files(
        results, truth="doc.gold.label", prob=["resps.0.0.0", "resps.1.0", "resps.2.2"], labels=["0", "1", "2"]
    )
    lists = tally_files(results, truth="doc.gold.label", prob="resps.2")
    assert accuracy(columns) == accuracy(lists) == accuracy(Tally.of(Y, P))


def test_a_pattern_matches_paths(results):
    tally = tally_files(results, truth="doc.gold.label", prob="resps.2.*", labels=["0", "1", "2"])
    assert accuracy(tally) == accuracy(Tally.of(Y, P))


def test_groups_by_path(results):
    tallies = tally_files_by(results, truth="doc.gold.label", prob="resps.2", by="a.b")
    assert list(tallies) == [(7,)]


def test_a_field_with_a_point_in_its_name_comes_first(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"y": 1, "p.q": 0.75, "p": {"q": 0.25}}\n{"y": 0, "p": {"q": 0.5}}\n')
    with pytest.raises(InputError, match="NaN in 1 row"):
        tally_files(path, truth="y", prob="p.q")


def test_rows_without_the_path_have_no_value(tmp_path):
    path = tmp_path / "f.jsonl"
    rows = ['{"y": {"a": 1}, "p": [[0.5]]}', '{"y": 3, "p": [[0.5]]}', '{"y": {"a": 0}, "p": []}']
    path.write_text("\n".join(rows))
    tally = tally_files(path, truth="y.a", prob="p.0.0", invalid="drop")
    assert tally.notes.dropped == {"NaN": 1, "no label": 1}


def test_unknown_paths_name_those_near(results):
    with pytest.raises(InputError, match=r"no column 'doc.gold.labels'; did you mean 'doc.gold.label'"):
        tally_files(results, truth="doc.gold.labels", prob="resps.2")


@pytest.mark.parametrize("late", [0, 120])
def test_lists_of_one_value(tmp_path, late):
    path = tmp_path / "f.jsonl"
    path.write_text('{"y": null, "p": [0.5]}\n' * late + '{"y": [1], "p": [0.75]}\n{"y": [0], "p": [0.5]}\n')
    with pytest.raises(InputError, match=r"not .*labels?\. Name one of their values by its place, as in y\.0\."):
        tally_files(path, truth="y", prob="p")
    if not late:
        assert accuracy(tally_files(path, truth="y.0", prob="p")) == pytest.approx((0.75 * 0.5) ** 0.5)


LABELS = [1.0, 1, 1.5, -0.0, 0, 1e5, 1e16, 1e22, 1e-7, 5e-324, 123456789.12345678, True, "1.0", "é", 2**70, None]


def keys_of(path):
    files = ForecastFiles([str(path)], Selection(["y"], ["p"], keys=["k"]), FileReading())
    return [key for batch in files for key in batch.keys["k"].to_list()]


def test_labels_are_spelled_the_same_whatever_is_beside_them(tmp_path, either):
    """NaN elsewhere in a row, which is no JSON, takes the whole chunk to the line-by-line reader."""
    rows = [{"y": 1, "p": 0.5, "k": label, "q": 0.5} for label in LABELS * 5]
    fast, slow = tmp_path / "fast.jsonl", tmp_path / "slow.jsonl"
    fast.write_text("".join(json.dumps(row) + "\n" for row in rows))
    slow.write_text("".join(json.dumps(row | {"q": float("nan")}) + "\n" for row in rows))
    assert keys_of(fast) == keys_of(slow)
    assert keys_of(fast)[:3] == ["1", "1", "1.5"]


def test_random_numbers_are_spelled_the_same_by_both_readers(tmp_path):
    rng = np.random.default_rng(21)
    numbers = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    rows = [f'{{"y": 1, "p": 0.5, "k": {number!r}, "q": %s}}\n' for number in numbers[np.isfinite(numbers)].tolist()]
    for name, q in (("fast", "0.5"), ("slow", "NaN")):
        (tmp_path / f"{name}.jsonl").write_text("".join(row % q for row in rows))
    assert keys_of(tmp_path / "fast.jsonl") == keys_of(tmp_path / "slow.jsonl")


@pytest.mark.parametrize("text", [r"\ud83d", r"\ude00", r"\uD83D\u0041", r"\ud83d\ude00\ude00", r"\ude00\ud83d"])
@pytest.mark.parametrize("beside", ["0.5", "NaN"])
def test_halves_of_characters_are_refused(tmp_path, either, text, beside):
    path = tmp_path / "f.jsonl"
    row = f'{{"y": "a", "p": 0.5, "q": {beside}}}\n'
    path.write_text(row * 40 + f'{{"y": "b{text}", "p": 0.5}}\n')
    with pytest.raises(InputError, match="column 'y' holds half a character, .* at row 40 "):
        tally_files(path, truth="y", prob="p", pos_label="a")


def test_whole_characters_and_escaped_backslashes_are_read(tmp_path):
    path = tmp_path / "f.jsonl"
    texts = ["\N{GRINNING FACE}", r"\ud83d"]
    path.write_text("".join(json.dumps({"y": text, "p": 0.5}) + "\n" for text in texts))
    assert set(tally_files(path, truth="y", prob="p", labels=texts).labels) == set(texts)


def test_recalibrated_objects_keep_what_is_in_them(tmp_path, results):
    """Paths are no columns of a table written anew."""
    from unperplexed.sources.rewriting import forecast_file

    flat = tmp_path / "flat.jsonl"
    rows = ({"y": int(Y[at]), "p": P[at, 0], "id": at} for at in range(ROWS))
    flat.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = forecast_file(str(flat), ["p"], FileReading())
    file.write(tmp_path / "new.parquet", lambda batch: batch.probabilities[0].rows(slice(None)), ["p"])
    assert pl.read_parquet(tmp_path / "new.parquet").columns == ["y", "p", "id"]
    with pytest.raises(InputError, match=r"holds lists or objects\. Write \.jsonl"):
        forecast_file(str(results), ["resps.2"], FileReading()).write(
            tmp_path / "other.parquet", lambda batch: batch.probabilities[0].rows(slice(None)), ["resps.2"]
        )
