import io
import threading

import numpy as np
import polars as pl
import pytest

from helpers import without_dependence
from unperplexed import InputError, Tally, assess, tally_files


@pytest.fixture
def table(tmp_path, rng):
    p = rng.uniform(size=300).round(3)
    frame = pl.DataFrame(
        {
            "y": np.where(rng.uniform(size=300) < p, "rain", "dry"),
            "p": p,
            "q": 1 - p,
            "z": rng.integers(0, 2, 300),
            "w": rng.integers(1, 4, 300),
            "match": rng.integers(0, 40, 300),
        }
    )
    frame[:100].write_csv(tmp_path / "a.csv")
    frame[100:].write_csv(tmp_path / "b.csv")
    return tmp_path, frame


@pytest.mark.slow
def test_files_are_counted_like_arrays(table):
    folder, frame = table
    expected = without_dependence(assess(frame["y"], frame["p"], pos_label="rain", resamples=0))
    for paths in (folder / "*.csv", [folder / "a.csv", str(folder / "b.csv")], str(folder / "*.csv")):
        tally = tally_files(paths, truth="y", prob="p", pos_label="rain")
        assert without_dependence(assess(tally, resamples=0)) == expected
    assert sorted(tally.sources.values()) == [100, 200]
    assert not [thread for thread in threading.enumerate() if "unperplexed" in thread.name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"truth": "y", "prob": ["q", "p"], "labels": ["dry", "rain"], "weight": "w"},
            lambda f: Tally.of(f["y"], f.select("q", "p").to_numpy(), labels=["dry", "rain"], sample_weight=f["w"]),
        ),
        (
            {"pairs": [("p", "z"), ("q", "z")]},
            lambda f: Tally.of(f["z"], f["p"]) + Tally.of(f["z"], f["q"]),
        ),
        (
            {
                "truth": "z",
                "prob": "p",
                "parts": ["shards", "classes"],
                "clusters": "match",
                "metrics": ["power_score(2)"],
            },
            lambda f: Tally.of(
                f["z"], f["p"], parts=["classes", "shards"], clusters=f["match"], metrics=["power_score(2)"]
            ),
        ),
        (
            {"truth": "z", "prob": "p", "parts": ["shards"], "clusters": ["match", "z"]},
            lambda f: Tally.of(f["z"], f["p"], parts=["shards"], clusters=f.select("match", "z")),
        ),
        ({"truth": "y", "prob": "p", "pos_label": "rain", "ignore_label": "dry"}, None),
        (
            {"truth": "z", "prob": "p", "pos_label": 0, "exact_limit": 10, "fraction_bits": 5},
            lambda f: Tally.of(f["z"], f["p"], labels=[1, 0], exact_limit=10, fraction_bits=5),
        ),
    ],
)
def test_settings_reach_the_tally(table, settings, expected):
    folder, frame = table
    tally = tally_files(folder / "*.csv", **settings)
    if expected is None:
        assert tally.notes.ignored == (frame["y"] == "dry").sum()
        return
    other = expected(frame)
    if other.weighted:  # weighted sums depend on their order, by rounding
        assert assess(tally).metrics() == pytest.approx(assess(other).metrics(), rel=1e-12)
        return
    assert assess(tally, resamples=0).to_json() == assess(other, resamples=0).to_json()
    if other.shards is not None:
        assert (tally.shards.pairs.place == other.shards.pairs.place).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "name the columns of both"),
        ({"truth": "y"}, "name the columns of both"),
        ({"truth": "y", "prob": "p", "pairs": [("p", "z")]}, "name the columns of both"),
        ({"truth": "y", "prob": "p"}, "positive class does not follow"),
        ({"truth": "y", "prob": "pp"}, "no column 'pp'; did you mean 'p'"),
        ({"truth": "z", "prob": "p", "clusters": "match"}, "a tally keeps them only in its shards"),
        ({"truth": "z", "prob": "p", "separator": "ab"}, "one character"),
        ({"truth": "z", "prob": "p", "format": "xls"}, "--format xls: known are"),
    ],
)
def test_what_cannot_be_counted(table, settings, message):
    folder, _ = table
    with pytest.raises(InputError, match=message):
        tally_files(folder / "*.csv", **settings)


def test_a_bar_only_on_a_terminal(table, monkeypatch):
    folder, _ = table

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr("tqdm.tqdm", lambda *_, delay, **settings: _bar(settings))
        tally_files(folder / "*.csv", truth="z", prob="p", progress=True)
        assert ("300 rows" in stream.getvalue()) == shown


def _bar(settings):
    from tqdm.std import tqdm

    return tqdm(**settings, mininterval=0, ncols=80)
