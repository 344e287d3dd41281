"""Files whose dependence nobody declared."""

import io
import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from unperplexed.cli import main
from unperplexed.sources import dependence
from unperplexed.sources.columns import Selection
from unperplexed.sources.dependence import search_files
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.readers.formats import found_files

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")

N = 1000


@pytest.fixture(scope="module")
def frame():
    """Outcomes that are predicted ten times each, in any order; one question has no name."""
    rng = np.random.default_rng(0)
    question = rng.permutation(np.arange(N) // 10)
    s = rng.normal(size=N)
    names = [f"q{each}" if each else None for each in question]
    share, day = rng.random(N).round(3), np.datetime64("2026-01-01") + rng.integers(0, 60, N)
    y = (rng.random(100)[question] < expit(s)).astype(int)
    return pl.DataFrame({"y": y, "p": expit(s), "question": names, "share": share, "day": day, "row": np.arange(N)})


@pytest.fixture(scope="module", params=["csv", "parquet"])
def path(frame, request, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / f"f.{request.param}"
    getattr(frame, f"write_{request.param}")(path)
    return str(path)


def run(capsys, *words):
    code = main([*words])
    return code, capsys.readouterr().out


def found(capsys, *words):
    return json.loads(run(capsys, *words, "--json", "-")[1])


FORECASTS = ("--truth", "y", "--prob", "p", "--resamples", "0")


def test_further_columns_tell_and_rows_without_a_value_are_one_cluster(path, capsys):
    code, text = run(capsys, "assess", path, *FORECASTS)
    text = " ".join(text.split())
    assert code in (None, 0)
    assert "100 clusters, effective number" in text
    assert "Rows of the same 'question' (100) err alike" in text
    assert "if rows were independent)" in text
    search = found(capsys, "assess", path, *FORECASTS)["dependence"]
    assert search["looked_at"] == ["question", "day", "row"]
    assert search["found"]["columns"] == ["question"]


@pytest.mark.parametrize(
    "command",
    [
        "assess {} --truth y --prob p --reference base-rate",
        "recalibrate {} --truth y --prob p -o {}.map",
        "check {} --truth y --prob p --require log_loss<0.7",
        *(
            pytest.param(command, marks=pytest.mark.slow)
            for command in (
                "skill {} --truth y --prob p --reference base-rate",
                "compare {} --truth y --forecaster a=p --forecaster b=share",
                "recalibrate {} --truth y --prob p --by day:month -o {}.map",
                "monitor {} --truth y --prob p --time day:iso-week",
            )
        ),
    ],
)
def test_every_command_says_it(frame, command, capsys, tmp_path):
    frame.write_parquet(tmp_path / "f.parquet")
    words = command.replace("{}", str(tmp_path / "f.parquet")).replace(".parquet.map", ".json").split()
    assert "Rows of the same 'question' (100) err alike" in " ".join(run(capsys, *words)[1].split())
    (tmp_path / "f.json").unlink(missing_ok=True)
    assert "err alike" not in run(capsys, *words, "--clusters", "none")[1]


@pytest.mark.slow
def test_a_reading_may_decline(path, capsys, tmp_path):
    kept = str(tmp_path / "reading.toml")
    first = found(capsys, "assess", path, *FORECASTS, "--clusters", "none", "--save-reading", kept)
    assert first["dependence"]["reason"] == "declined"
    for reading in (kept, "clusters=none"):
        again = found(capsys, "assess", path, *FORECASTS, "--reading", reading)
        assert again["dependence"]["reason"] == "declined"
        assert again["diagnosis"] == first["diagnosis"]


def test_standard_input_is_searched_too(frame, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(frame.write_csv().encode())))
    text = run(capsys, "assess", "-", *FORECASTS)[1]
    assert "Rows of the same 'question' (100) err alike" in " ".join(text.split())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(frame.write_csv().encode())))
    assert main(["assess", "-", "--truth", "nothing", "--prob", "p"]) == 2
    assert "'nothing'" in capsys.readouterr().err


def test_several_forecasts_of_a_row_are_one_cluster_if_they_err_alike(tmp_path, capsys):
    rng = np.random.default_rng(1)
    s = rng.normal(size=(600, 3))
    shared = rng.random(600)[:, None] < expit(s)
    frame = pl.DataFrame({f"{kind}{k}": x[:, k] for k in range(3) for kind, x in (("y", shared * 1), ("p", expit(s)))})
    frame.write_csv(tmp_path / "f.csv")
    pairs = [f"p{k}=y{k}" for k in range(3)]
    search = found(capsys, "assess", str(tmp_path / "f.csv"), "--pair", *pairs)
    assert search["dependence"]["found"]["columns"] == ["row of the file"]
    assert search["diagnosis"]["n_clusters"] == 600


def test_a_part_of_a_large_file_tells_the_same(path, monkeypatch):
    asked = found_files([path]), Selection(["y"], ["p"]), FileReading()
    whole = search_files(*asked)[0].found
    monkeypatch.setattr(dependence, "MOST_CODES", 2500)  # some 500 rows of 4 columns
    monkeypatch.setattr(dependence, "STRETCH", 5)
    part = search_files(*asked)[0].found
    assert (part.columns, part.taken, part.sampled) == (("question",), True, 0.5)
    assert part.design_effect == pytest.approx(whole.design_effect, rel=0.25)
    assert (part.n_rows, part.n_clusters) == (whole.n_rows, whole.n_clusters)


def test_stretches_of_a_file_that_is_read_whole_are_no_limit_to_blocks(tmp_path, monkeypatch):
    rng = np.random.default_rng(4)
    shift = np.repeat(rng.normal(0, 0.7, 40), 150)
    s = rng.normal(size=6000)
    frame = pl.DataFrame({"y": (rng.random(6000) < expit(s + shift)).astype(int), "p": expit(s)})
    frame.write_csv(tmp_path / "f.csv")
    asked = found_files([str(tmp_path / "f.csv")]), Selection(["y"], ["p"]), FileReading()
    whole = search_files(*asked)[0].found
    monkeypatch.setattr(dependence, "STRETCH", 50)
    assert whole.block is not None
    assert search_files(*asked)[0].found == whole


@pytest.fixture
def large(monkeypatch):
    """Files of more than 5,000 rows are large, chunks, places and stretches of them small."""
    monkeypatch.setattr("unperplexed.calibration.dependence._SEARCHED", 5000)
    monkeypatch.setattr("unperplexed.calibration.dependence._SAMPLED", 20)
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 1 << 14)
    monkeypatch.setattr("unperplexed.sources.readers.parquet._PLACE", 2000)
    monkeypatch.setattr("unperplexed.sources.readers.parquet._STRETCH", 60)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("shock", [0.5, 3])  # a warning; clusters
def test_of_a_large_file_a_sample_is_searched_and_the_clusters_of_all_rows_are_counted(
    form, shock, large, monkeypatch, tmp_path
):
    rng, n = np.random.default_rng(6), 10_000
    town, s = rng.integers(0, 40, n), rng.normal(size=n)
    y = (rng.random(n) < expit(s + shock * rng.normal(size=40)[town])).astype(int)
    day, price, noise = np.arange(n) // 50, rng.random(n), rng.integers(0, 300, n)
    frame = pl.DataFrame({"y": y, "p": expit(s), "day": day, "town": town, "price": price, "noise": noise})
    getattr(frame, f"write_{form}")(tmp_path / f"f.{form}")
    asked = found_files([str(tmp_path / f"f.{form}")]), Selection(["y"], ["p"]), FileReading()
    part = search_files(*asked)[0]
    monkeypatch.setattr("unperplexed.calibration.dependence._SEARCHED", n)
    whole = search_files(*asked)[0]
    assert (part.found.columns, part.looked_at) == (("town",), whole.looked_at)
    assert (part.found.n_clusters, part.found.n_rows, part.found.taken) == (40, n, shock > 1)
    assert part.found.sampled == pytest.approx(0.2, rel=0.02)
    assert part.found.design_effect == pytest.approx(whole.found.design_effect, rel=1e-9)
    assert part.p_value == pytest.approx(whole.p_value, rel=1e-9, nan_ok=True)


def test_blocks_of_rows_are_counted_as_they_were_found(capsys, tmp_path):
    rng = np.random.default_rng(2)
    s = rng.normal(size=4000)
    y = (np.repeat(rng.random(400), 10) < expit(s)).astype(int)
    pl.DataFrame({"y": y, "p": expit(s)}).write_csv(tmp_path / "f.csv")
    search = found(capsys, "assess", str(tmp_path / "f.csv"), *FORECASTS)
    block = search["dependence"]["found"]["block"]
    assert search["diagnosis"]["n_clusters"] == -(-4000 // block)


def test_a_file_that_cannot_be_read_says_what_counting_says(tmp_path, capsys):
    (tmp_path / "f.csv").write_text("y,p\n1,0.5\n0,x\n")
    assert main(["assess", str(tmp_path / "f.csv"), *FORECASTS]) == 2
    assert "'x'" in capsys.readouterr().err


def test_arrays_with_a_value_for_each_row_are_columns(capsys, tmp_path):
    rng = np.random.default_rng(4)
    match = rng.permutation(np.repeat(np.arange(60), 10))
    p = rng.dirichlet(np.ones(3), 60)[match]
    y = (p[:, 0] < rng.random(60)[match]).astype(int)
    path = tmp_path / "net.npz"
    np.savez(path, labels=y, probs=p, match=match, edges=np.arange(4), pairs=np.zeros((600, 2)))
    assert main(["assess", str(path), "--truth", "labels", "--prob", "probs", "--resamples", "0"]) == 0
    assert "Rows of the same 'match' (60) err alike" in " ".join(capsys.readouterr().out.split())
