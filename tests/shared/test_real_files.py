"""Real forecasts through every format, in batches, and through tallies of processes of their own."""

import gzip
import itertools
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from real_data import SETS
from unperplexed import Tally, assess
from unperplexed.cli.parser import main
from unperplexed.scores import row_scores

pytestmark = pytest.mark.slow

NAMES = ["nba", "wideresnet"]


MOST = 800
"""Rows that are written; several batches of them."""


def table(name):
    """Outcomes as class numbers and probabilities in float64, as a text file would hold them."""
    y, p = SETS[name]()
    y = y.argmax(axis=1) if y.ndim == 2 else y.astype(int)
    return y[:MOST], p[:MOST].astype(np.float64)


def frame_of(y, p):
    columns = {"p": p} if p.ndim == 1 else {f"p_{j}": p[:, j] for j in range(p.shape[1])}
    return pl.DataFrame({"y": y, **columns})


def lists_of(y, p):
    return pl.DataFrame({"y": y, "p": p.tolist()})


def write_gzipped(frame, path):
    with gzip.open(path, "wb") as stream:
        frame.write_csv(stream)


def write_stream(frame, path):
    with path.open("wb") as stream, pa.ipc.new_stream(stream, frame.to_arrow().schema) as writer:
        writer.write_table(frame.to_arrow(), max_chunksize=399)


WIDE = {
    "csv": (".csv", pl.DataFrame.write_csv),
    "csv.gz": (".csv.gz", write_gzipped),
    "jsonl": (".jsonl", pl.DataFrame.write_ndjson),
    "parquet": (".parquet", lambda frame, path: frame.write_parquet(path, row_group_size=277)),
    "arrow": (".arrow", pl.DataFrame.write_ipc),
    "arrow stream": (".arrow", write_stream),
}
LISTS = {name: WIDE[name] for name in ("jsonl", "parquet", "arrow")}


def same(printed, expected, what):
    """The same JSON; the diagnosis of several classes is fitted over the rows in blocks, whose order rounds."""
    found, wanted = json.loads(printed), json.loads(expected)
    mine, theirs = (each.pop("diagnosis") for each in (found, wanted))
    assert found.pop("cost") == pytest.approx(wanted.pop("cost"), abs=1e-6), what
    assert found == wanted, what
    assert [f["error"] for f in mine["findings"]] == [f["error"] for f in theirs["findings"]], what
    assert mine["p_value"] == pytest.approx(theirs["p_value"], rel=1e-6), what
    assert mine["cost"] == pytest.approx(theirs["cost"], abs=1e-6), what


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_json(tmp_path, capsys, monkeypatch, name):
    y, p = table(name)
    expected = assess(y, p, resamples=0).to_json() + "\n"
    options = ["--resamples", "0", "--json", "-"]
    prob = list(frame_of(y, p).columns[1:])
    files = []
    for (kind, (suffix, write)), form in itertools.chain(
        zip(WIDE.items(), itertools.repeat("wide")), zip(LISTS.items(), itertools.repeat("lists"))
    ):
        path = tmp_path / f"{kind.replace('.', ' ')} {form}{suffix}"
        write(frame_of(y, p) if form == "wide" else lists_of(y, p), path)
        files.append((path, prob if form == "wide" else ["p"]))
    np.savez_compressed(tmp_path / "a.npz", y=y, p=p)
    np.save(tmp_path / "p.npy", np.asfortranarray(p))
    np.save(tmp_path / "y.npy", y)
    files.append((tmp_path / "a.npz", ["p"]))
    batch = 300 * max(p.shape[1:], default=1)
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", batch)
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 8 * batch)
    for path, columns in files:
        assert main(["assess", str(path), "--truth", "y", "--prob", *columns, *options]) == 0
        same(capsys.readouterr().out, expected, path)
    arrays = [str(tmp_path / "p.npy"), "--truth", str(tmp_path / "y.npy"), "--prob", "p"]
    assert main(["assess", *arrays, *options]) == 0
    same(capsys.readouterr().out, expected, arrays)


def test_tallies_of_processes_are_the_whole(tmp_path, capsys):
    y, p = (x[:3000] for x in SETS["wideresnet"]())
    rng = np.random.default_rng(7)
    pieces = np.split(rng.permutation(len(y)), np.sort(rng.integers(0, len(y), 3)))
    counting = [
        "--parts",
        "classes",
        "predictions",
        "shards",
        "--clusters",
        "id",
        "--metric",
        "ranked_probability_score",
    ]
    paths = []
    for at, piece in enumerate(pieces):
        np.savez(tmp_path / f"{at}.npz", y=y[piece].astype(int), p=p[piece], id=piece)
        paths.append(tmp_path / f"{at}.tally")
        command = [sys.executable, "-m", "unperplexed", "tally", tmp_path / f"{at}.npz", "--truth", "y", "--prob", "p"]
        subprocess.run([*command, *counting, "-o", paths[-1]], check=True, capture_output=True)
    whole = Tally.of(
        y.astype(int),
        p,
        parts=["classes", "predictions", "shards"],
        clusters=np.arange(len(y)),
        metrics=["ranked_probability_score"],
    )
    expected = assess(whole, resamples=40).to_json() + "\n"
    for order in itertools.islice(itertools.permutations(paths), 0, None, 13):
        assert main(["tally", *map(str, order), "-o", str(tmp_path / "all.tally")]) == 0
        merged = Tally.load(tmp_path / "all.tally")
        assert sum(merged.sources.values()) == len(y)
        assert main(["assess", str(tmp_path / "all.tally"), "--resamples", "40", "--json", "-"]) == 0
        assert capsys.readouterr().out.endswith(expected)
        (tmp_path / "all.tally").unlink()
    tables = ("classes", "predictions")
    for mine, theirs in (
        *((getattr(merged, t), getattr(whole, t)) for t in tables),
        (merged.shards.pairs, whole.shards.pairs),
    ):
        assert all((column == getattr(theirs, name)).all() for name, column in vars(mine).items())
    assert merged.score("ranked_probability_score") == whole.score("ranked_probability_score")
    rows = row_scores(y.astype(int), p, "ranked_probability_score")
    assert merged.score("ranked_probability_score") == pytest.approx(rows.mean(), rel=1e-13)
