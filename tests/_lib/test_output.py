"""Outputs are refused before any work, written by any thread, and their progress is shown on a terminal."""

import io
import os
import sys
import threading

import numpy as np
import pandas as pd
import pytest

from unperplexed import InputError
from unperplexed._lib import json_files
from unperplexed._lib.arrays import as_array, by_forecaster
from unperplexed._lib.formatting import three_digits
from unperplexed._lib.output_files import check_output, sole_run, taking_turns, write_whole
from unperplexed._lib.progress import _shown, at_once, in_turn, later, progress_bar, showing, steps


def test_places_that_may_not_be_written_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    monkeypatch.setattr(os, "access", lambda place, _: place != tmp_path)
    with pytest.raises(InputError, match=r"a\.json: no permission to write in "):
        check_output(path)
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda place, _: place != path)
    with pytest.raises(InputError, match=r"a\.json: no permission to write it"):
        check_output(path)
    assert path.read_text() == "old"


def test_a_thread_writes_files_whole(tmp_path):
    """Signals come to the main thread alone, so that others do not hold them off."""
    path = tmp_path / "a.txt"

    def write():
        write_whole(path, b"new")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_is_too_large_to_be_one_of_ours_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("[1, 2, 3]")
    assert json_files.made_of_file(path, "map", list) == [1, 2, 3]
    monkeypatch.setattr(json_files, "LARGEST_FILE", 8)
    with pytest.raises(InputError, match=r"a\.json: not a map: the file is too large"):
        json_files.made_of_file(path, "map", list)


def test_streams_ahead_may_be_of_any_kind():
    """Lists have nothing to close, as generators have."""
    assert [*in_turn([lambda: [1, 2], lambda: iter([3]), lambda: (k for k in (4, 5))], 2, 2)] == [1, 2, 3, 4, 5]


def test_other_threads_heed_what_is_set_for_this_one(monkeypatch):
    shown = []

    def work(item):
        with steps(1, "work"), np.errstate(divide="raise"):
            shown.append(_shown.get())
        return float(np.log(np.float64(item)))

    with showing("nowhere"), np.errstate(divide="ignore"):
        assert at_once(work, [0, 0, 1], 3) == [-np.inf, -np.inf, 0.0]
    assert shown == ["nowhere"] * 3


def test_a_thread_that_has_done_with_an_item_takes_the_next_one():
    """While one thread is held by the first item the other does all that are left."""
    others = threading.Semaphore(0)

    def work(item):
        if item == 0:
            assert all(others.acquire(timeout=10) for _ in range(4))
        else:
            others.release()
        return item**2

    assert at_once(work, range(5), 2) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_done_later_is_done_once_and_raises_where_it_is_asked_for(threads):
    done = []
    found = later(lambda: done.append(_shown.get()) or len(done), threads)
    assert (found(), found(), done) == (1, 1, ["terminal"])
    failed = later(lambda: 1 / 0, threads)
    with pytest.raises(ZeroDivisionError):
        failed()


def test_steps_are_shown_on_a_terminal_alone(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        with steps(3, "folds") as done:
            for _ in range(3):
                done(1)
        assert stream.getvalue().strip() == ""  # it takes less than a second


def test_a_line_a_minute_is_shown_elsewhere(monkeypatch):
    clock, stream = iter([0, 30, 61, 100, 130]), io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("unperplexed._lib.progress.monotonic", lambda: next(clock))
    with showing("anywhere"), steps(8, "fitting maps") as done:
        for _ in range(4):
            done(1)
    assert stream.getvalue().splitlines() == [
        "unperplexed: fitting maps: 25% done after 1.0 minutes, about 3.0 left",
        "unperplexed: fitting maps: 50% done after 2.2 minutes, about 2.2 left",
    ]
    for where in ("nowhere", "terminal"):
        with showing(where), steps(8, "fitting maps") as done:
            done(8)
        with showing(where), progress_bar() as read:
            assert read is None
    with showing("anywhere"), pytest.raises(ZeroDivisionError):
        raise ZeroDivisionError
    with progress_bar() as read:
        assert read is None  # as before


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.366, "36.6%"), (0.0355, "3.55%"), (0.99993, "99.9930%"), (0.9996, "99.960%"), (1.0, "100.0%"), (0.0, "0%")],
)
def test_shares_close_to_1_have_digits_of_what_they_lack(value, text):
    assert three_digits(value) == text


def test_missing_numbers_and_columns_of_frames():
    assert as_array(pd.Series([0.5, pd.NA], dtype="Float64")) == pytest.approx([0.5, np.nan], nan_ok=True)
    assert as_array(pd.Series([1, 2], dtype="Int8")).dtype == np.int8
    frame = pd.DataFrame({"town": ["a", "b"], "day": [1, 2]})
    assert {name: column.tolist() for name, column in by_forecaster([0, 1], frame).items()} == {
        "town": ["a", "b"],
        "day": [1, 2],
    }
    rows = [1, 2]
    assert by_forecaster([0, 1], rows) is rows


def test_of_two_first_runs_one_is_refused(tmp_path):
    path = tmp_path / "history.json"
    with sole_run(path) as first, sole_run(path) as second:
        with first():
            write_whole(path, b"first")
        with pytest.raises(InputError, match="another run has changed this file"), second():
            pytest.fail("it was let in")
    assert path.read_bytes() == b"first"


def test_runs_write_in_turn(tmp_path):
    """Each adds a line to what it has read; without turns most lines are lost."""
    path = tmp_path / "summary.md"

    def add(line):
        for _ in range(20):
            with taking_turns(path):
                before = path.read_bytes() if path.exists() else b""
                write_whole(path, before + line)

    others = [threading.Thread(target=add, args=(line,)) for line in (b"a", b"b", b"c")]
    for each in others:
        each.start()
    for each in others:
        each.join()
    assert sorted(path.read_bytes()) == sorted(b"abc" * 20)
