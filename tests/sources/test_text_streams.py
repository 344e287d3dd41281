"""Text files, however they are compressed and encoded: the same rows give the same, and errors name the remedy."""

import bz2
import gzip
import lzma
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from unperplexed import InputError, tally_files
from unperplexed.sources.readers import text_streams
from unperplexed.sources.readers import text_streams as chunks

ROWS = 400  # 12 chunks of the tiny ones and more
WORDS = np.array(["grün", "weiß"])[np.random.default_rng(4).integers(0, 2, ROWS)]
TEXT = "Größe,p\r\n" + "".join(f"{word},0.{i % 9 + 1}\r\n" for i, word in enumerate(WORDS))
OBJECTS = "".join(f'{{"Größe": "{word}", "p": 0.{i % 9 + 1}}}\n' for i, word in enumerate(WORDS))
PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.fixture(params=["whole", "tiny"])
def either(request, monkeypatch):
    if request.param == "tiny":
        monkeypatch.setattr(chunks, "CHUNK_BYTES", 401)


def counted(path, **options):
    tally = tally_files(path, truth="Größe", prob="p", pos_label="grün", **options)
    return replace(tally, sources={}).to_bytes()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "plain.csv"
    path.write_bytes(TEXT.encode())
    return counted(path)


def test_every_compression_is_known():
    assert {each.suffix for each in text_streams.COMPRESSIONS} == PACK.keys()


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("parts", [1, 2])
def test_compressed_text_gives_the_same(tmp_path, either, plain, suffix, parts):
    data = TEXT.encode()
    middle = len(data) // parts
    path = tmp_path / f"f.csv{suffix}"  # some writers end and begin a stream in the middle
    path.write_bytes(b"".join(PACK[suffix](part) for part in (data[:middle], data[middle:]) if part))
    assert counted(path) == plain


@pytest.mark.parametrize("suffix", PACK)
def test_a_truncated_file_is_refused(tmp_path, suffix):
    path = tmp_path / f"f.csv{suffix}"
    path.write_bytes(PACK[suffix](TEXT.encode())[:-9])
    with pytest.raises(InputError, match="not a readable .* file, perhaps truncated"):
        counted(path)


@pytest.mark.parametrize("suffix", PACK)
def test_what_is_no_stream_behind_one_does_not_end_it_silently(tmp_path, either, plain, suffix):
    first, second = PACK[suffix](TEXT.encode()), PACK[suffix](TEXT.partition("\n")[2].encode())
    path = tmp_path / f"f.csv{suffix}"
    for behind in (bytes([second[0] ^ 1]) + second[1:], second[4:], second[:2], b"x"):
        path.write_bytes(first + behind)
        with pytest.raises(InputError, match="not a readable .* file, perhaps truncated"):
            counted(path)
    if suffix != ".zst":  # zeros fill up blocks, such as those of tapes
        path.write_bytes(first + bytes(70_000) + second + bytes(512))
        both = tally_files(path, truth="Größe", prob="p", pos_label="grün")
        assert both.n_rows == 2 * ROWS
        path.write_bytes(first + bytes(4))
        assert counted(path) == plain


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "UTF8"])
@pytest.mark.parametrize(("text", "suffix"), [("csv", ""), ("jsonl", ".gz")])
def test_text_of_any_encoding_gives_the_same(tmp_path, either, plain, encoding, text, suffix):
    data = (TEXT if text == "csv" else OBJECTS).encode(encoding)
    path = tmp_path / f"f.{text}{suffix}"
    path.write_bytes(gzip.compress(data) if suffix else data)
    assert counted(path, encoding=encoding) == plain


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["csv", "jsonl"])
def test_the_error_names_the_encoding_that_reads_it(tmp_path, plain, encoding, text):
    path = tmp_path / f"f.{text}"
    path.write_bytes((TEXT if text == "csv" else OBJECTS).encode(encoding))
    with pytest.raises(InputError, match=f"--encoding {encoding}\\)"):
        counted(path)
    assert counted(path, encoding=encoding) == plain


def test_bytes_that_cp1252_does_not_have_are_latin_1(tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes(b"y,p,note\n1,0.5,\x81\n")
    with pytest.raises(InputError, match="line 2 is not UTF-8.*--encoding latin-1"):
        tally_files(path, truth="y", prob="p")


@pytest.mark.parametrize("rows", [0, 1, 100])
def test_text_that_is_not_of_the_encoding_is_named_by_line(tmp_path, either, rows):
    path = tmp_path / "f.csv"
    path.write_text("y,p\n" + "1,0.5\n" * rows + "é,0.5\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"line {rows + 2} is not ascii"):
        tally_files(path, truth="y", prob="p", encoding="ascii")


@pytest.mark.parametrize("name", ["cp125x", "hex", "rot13"])
def test_unknown_encodings(tmp_path, name):
    path = tmp_path / "f.csv"
    path.write_text("y,p\n1,0.5\n")
    with pytest.raises(InputError, match="is not known"):
        tally_files(path, truth="y", prob="p", encoding=name)


def test_files_that_are_no_text_have_no_encoding(tmp_path):
    np.savez(tmp_path / "f.npz", y=[1], p=[0.5])
    with pytest.raises(InputError, match="only text files have one"):
        tally_files(tmp_path / "f.npz", truth="y", prob="p", encoding="cp1252")
