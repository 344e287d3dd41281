"""What the base install must do by itself: run with no extra, and with pytest alone beside it."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import unperplexed
from unperplexed.cli.parser import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "breast_cancer.csv"


def test_the_main_job(tmp_path, capsys):
    numbers, picture, report = tmp_path / "a.json", tmp_path / "a.png", tmp_path / "a.html"
    columns = ["--truth", "diagnosis", "--prob", "malignant"]
    outputs = "--json", str(numbers), "--plot", str(picture), "--report", str(report)
    assert main(["assess", str(EXAMPLE), *columns, *outputs]) == 0
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert "569 forecasts of 2 classes (benign, malignant)" in capsys.readouterr().out
    assert json.loads(numbers.read_text())["prediction_accuracy"] > 0.9
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_every_format(tmp_path, capsys):
    import polars as pl

    frame = pl.read_csv(EXAMPLE)
    frame.write_parquet(tmp_path / "b.parquet")
    np.savez(tmp_path / "b.npz", diagnosis=frame["diagnosis"].to_numpy().astype(str), malignant=frame["malignant"])
    frame.write_ndjson(tmp_path / "b.jsonl")
    frame.write_ipc(tmp_path / "b.arrow")
    printed = set()
    for path in (EXAMPLE, *(tmp_path / f"b.{suffix}" for suffix in ("parquet", "npz", "jsonl", "arrow"))):
        assert main(["assess", str(path), "--truth", "diagnosis", "--prob", "malignant=malignant"]) == 0
        printed.add(" ".join(capsys.readouterr().out.replace(path.name, "FILE").split()))
    assert len(printed) == 1


@pytest.mark.slow
def test_the_demo(capsys):
    assert main(["demo", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["n_classes"] == 10


def test_the_profile(capsys):
    assert main(["assess", str(EXAMPLE), "--truth", "diagnosis", "--prob", "malignant", "--show", "profile"]) == 0
    assert "\norder " in capsys.readouterr().out


if find_spec("sklearn") is None:  # elsewhere test_public_names.py takes it away first

    def test_what_needs_an_extra_says_which():
        exec("from unperplexed import *", {})
        assert "CoupledDiscriminantAnalysis" not in dir(unperplexed)
        with pytest.raises(ImportError, match=r"pip install 'unperplexed\[sklearn\]'"):
            unperplexed.theory.CoupledDiscriminantAnalysis
