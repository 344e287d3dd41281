"""Threads: the same tally whatever their number, and the same errors."""

import threading

import numpy as np
import polars as pl
import pytest

from unperplexed import Forecasts, InputError, Tally, assess, tally_files
from unperplexed.cli.parser import main


def matrix(rng, n=4000, classes=200):
    p = rng.dirichlet(np.full(classes, 0.2), n).astype(np.float32)
    return rng.integers(0, classes, n), p


@pytest.mark.slow
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_same_tally(rng, exact_limit, n_jobs):
    y, p = matrix(rng)
    counting = {"exact_limit": exact_limit, "labels": range(200), "source": "a", "parts": ["shards", "classes"]}
    assert Tally.of(y, p, n_jobs=n_jobs, **counting).to_bytes() == Tally.of(y, p, **counting).to_bytes()
    y, p = rng.integers(0, 2, 600_000), rng.integers(0, 9000, 600_000) / 9000
    alone = Tally.of(y, p, exact_limit=exact_limit)
    assert Tally.of(y, p, exact_limit=exact_limit, n_jobs=n_jobs).to_bytes() == alone.to_bytes()


def test_parts_of_a_stream(rng):
    y, p = matrix(rng, 300)
    stream = [Forecasts(y[at : at + 7], p[at : at + 7], whole=False, labels=range(200)) for at in range(0, 300, 7)]
    assert Tally.count(iter(stream), n_jobs=4).to_bytes() == Tally.count(stream).to_bytes()
    assert Tally.count(iter([]), n_jobs=4).n_rows == 0


@pytest.mark.slow
def test_weights_and_selections(rng):
    """Sums of weights by themselves differ in their last digits."""
    y, p = matrix(rng)
    w = rng.uniform(size=len(y))
    found = [assess(y, p, sample_weight=w, labels=range(200), resamples=0, n_jobs=jobs) for jobs in (None, 2)]
    assert found[1].reported.decisiveness == pytest.approx(found[0].reported.decisiveness, rel=1e-12)
    again = Tally.of(y, p, sample_weight=w, labels=range(200), n_jobs=2).to_bytes()
    assert again == Tally.of(y, p, sample_weight=w, labels=range(200), n_jobs=2).to_bytes()
    some = Forecasts(y, p, labels=range(200))[rng.permutation(len(y))[:3000]]
    assert Tally.count(some, n_jobs=2).to_bytes() == Tally.count(some).to_bytes()


def test_errors_name_all_rows(rng):
    y, p = matrix(rng)
    p[[5, 3990]] = np.nan
    messages = []
    for n_jobs in (None, 2):
        with pytest.raises(InputError, match=r"NaN in 2 rows \(5, 3990") as refused:
            Tally.of(y, p, labels=range(200), n_jobs=n_jobs)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    with pytest.raises(InputError, match="n_jobs .--jobs.: expected how many threads"):
        Tally.of(y, p, n_jobs=0)
    with pytest.raises(InputError, match="n_jobs"):
        assess(Tally.of([1], [0.5]), n_jobs=2)


def test_what_is_wrong_first_is_named_first(rng):
    """Also where a later part of a stream cannot be made at all, or is found wrong sooner."""
    y, p = matrix(rng, 60)

    def stream(size, bad, end):
        for at in range(0, size, 10):
            part = p[at : at + 10].copy()
            part[[row - at for row in bad if at <= row < at + 10]] = np.nan
            yield Forecasts(y[at : at + 10], part, whole=False, labels=range(200), first_row=at)
        if end:
            raise InputError("the stream is cut.")

    for n_jobs in (1, 2, 3, 5):
        with pytest.raises(InputError, match=r"1 row \(34;"):
            Tally.count(stream(60, [34, 41, 52], True), n_jobs=n_jobs)
        with pytest.raises(InputError, match=r"1 row \(19;"):
            Tally.count(stream(20, [19], True), n_jobs=n_jobs)
        with pytest.raises(InputError, match="is cut"):
            Tally.count(stream(60, [], True), n_jobs=n_jobs)


@pytest.fixture
def stretches(rng, tmp_path, monkeypatch):
    """Files of several stretches of several small batches."""
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 60)
    frame = pl.DataFrame(
        {"y": rng.integers(0, 3, 900), **{f"p{k}": p for k, p in enumerate(rng.dirichlet([1.0, 2.0, 0.5], 900).T)}}
    )
    for k, size in enumerate((300, 10, 590)):
        frame[300 * (k > 0) + 10 * (k > 1) :][:size].write_parquet(tmp_path / f"{k}.parquet", row_group_size=25)
    return tmp_path, frame


@pytest.mark.slow
def test_stretches_of_files_are_read_side_by_side(stretches):
    """The tally, the numbers of its rows and their shards included, is that of one thread, and no thread is left."""
    folder, frame = stretches
    how = {"truth": "y", "prob": ["p0", "p1", "p2"], "parts": ["shards", "surprises"]}
    alone = tally_files(folder / "*.parquet", **how)
    assert list(alone.sources.values()) == [300, 10, 590]
    least = frame.filter(pl.Series(range(900)) >= 310).with_row_index()
    of_truth = least.select(pl.concat_list("p0", "p1", "p2").list.get(pl.col("y")), "index").sort("p0")
    rows = [each.row for each in alone.surprises if each.source.endswith("2.parquet")]
    assert rows == of_truth["index"][: len(rows)].to_list()
    for n_jobs in (2, 4, 16):
        assert tally_files(folder / "*.parquet", **how, n_jobs=n_jobs).to_bytes() == alone.to_bytes()
    assert not [thread for thread in threading.enumerate() if "unperplexed" in thread.name]


def test_what_is_wrong_in_a_file_is_named_as_by_one_thread(stretches):
    """An invalid row comes before one of a later stretch, and before a later file that cannot be read."""
    folder, frame = stretches
    bad = frame[:300].with_columns(p1=pl.when(pl.Series(range(300)).is_in([170, 171, 290])).then(7.0).otherwise("p1"))
    bad.write_parquet(folder / "0.parquet", row_group_size=25)
    cut = (folder / "2.parquet").read_bytes()
    (folder / "2.parquet").write_bytes(cut[:5000] + bytes(3000) + cut[8000:])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        tally_files(folder / "2.parquet", truth="y", prob=["p0", "p1", "p2"], labels=["0", "1", "2"], n_jobs=2)
    messages = set()
    for n_jobs in (1, 2, 3, 8):
        with pytest.raises(InputError, match=r"0\.parquet.*\(170, 171;") as refused:
            tally_files(folder / "*.parquet", truth="y", prob=["p0", "p1", "p2"], labels=["0", "1", "2"], n_jobs=n_jobs)
        messages.add(str(refused.value))
    assert len(messages) == 1
    assert not [thread for thread in threading.enumerate() if "unperplexed" in thread.name]


@pytest.mark.slow
def test_files(rng, tmp_path, capsys):
    """Batches of a file go to threads in turn."""
    y, p = rng.integers(0, 2, 400_000), rng.uniform(size=400_000).round(5)
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"y": y, "p": p}).write_parquet(path, row_group_size=30_000)
    alone = tally_files(path, truth="y", prob="p")
    assert alone.n_rows == 400_000
    assert tally_files(path, truth="y", prob="p", n_jobs=3).to_bytes() == alone.to_bytes()
    columns = ["--truth", "y", "--prob", "p", "--resamples", "0", "--json", "-"]
    printed = []
    for more in ([], ["--jobs", "2"]):
        assert main(["assess", str(path), *columns, *more]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_not_with_groups(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("y,p,town\n1,0.9,Rome\n0,0.4,Oslo\n")
    assert main(["assess", str(path), "--truth", "y", "--prob", "p", "--by", "town", "--jobs", "2"]) == 2
    assert "--jobs: groups are counted by one thread" in capsys.readouterr().err


def test_entries_of_classes_become_cells_wherever_a_block_ends(rng, monkeypatch):
    """The first rows have few probabilities of their own, later ones more than are counted exactly."""
    p = np.concatenate([np.tile([[0.5, 0.3, 0.2]], (30, 1)), rng.dirichlet(np.ones(3), 60)])
    y = rng.integers(0, 3, 90)
    expected = Tally.of(y, p, parts=["classes"], exact_limit=16).to_bytes()
    monkeypatch.setattr("unperplexed.tally.class_tables._GATHERED", 8)
    monkeypatch.setattr("unperplexed.forecasts.forecasts.BLOCK_ELEMENTS", 30)
    assert Tally.of(y, p, parts=["classes"], exact_limit=16).to_bytes() == expected


def test_ties_that_are_no_complements_are_scored_as_their_rounded_rows(rng):
    y, p = [0, 1, 0], np.array([[0.4999999, 0.4999999], [0.2, 0.8], [0.3, 0.7]])
    tally, exact = (Tally.of(y, each) for each in (p, p / p.sum(axis=1, keepdims=True)))
    for name in tally.scores:
        assert tally.score(name) == pytest.approx(exact.score(name), abs=2e-6), name
