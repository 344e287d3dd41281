"""Every kind of output: all old or all new, whatever the system, the reader or a signal does at any step."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from faults import COMMANDS, KINDS, Machine, files
from unperplexed._lib import output_files
from unperplexed._lib.output_files import whole_files
from unperplexed.cli.parser import main

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")

SLOW = ("assess", "monitor", "pool")


def struck(folder, names, kinds):
    machine, rng = Machine(folder), np.random.default_rng(7)
    for kind in kinds:
        for name in rng.permutation(names):
            if rng.random() < 0.4:
                machine.forget()
            yield machine.run(str(name), kind, lambda steps: int(rng.integers(steps)))


@pytest.mark.slow
def test_commands_struck_one_after_another_leave_all_outputs_old_or_all_new(tmp_path):
    assert {*struck(tmp_path, sorted(COMMANDS.keys() - {*SLOW}), KINDS)} == {"old", "new"}


@pytest.mark.slow
def test_pictures_pages_and_histories_are_written_with_the_rest_or_not_at_all(tmp_path):
    assert {*struck(tmp_path, SLOW, ("EIO", "SIGTERM", "EPIPE"))} == {"old", "new"}


class Traced:
    """Sends a signal before the n-th line that is run of the module that writes files."""

    def __init__(self, at, number):
        self.at, self.number, self.lines = at, number, 0

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename != output_files.__file__:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                signal.raise_signal(self.number)
        return self


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_any_line_leaves_no_part_and_no_temporary_file(tmp_path, number, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # which takes most of the time

    def ended(*_):
        raise SystemExit

    before = {each: signal.signal(each, ended) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    old, new = {"a": b"old"}, {"a": b"new", "b": b"new"}
    at, found, trace = 0, [], sys.gettrace()
    try:
        while True:
            at += 1
            (tmp_path / "b").unlink(missing_ok=True)
            (tmp_path / "a").write_bytes(b"old")
            traced = Traced(at, number)
            sys.settrace(traced)
            try:
                with whole_files({tmp_path / name: content for name, content in new.items()}):
                    pass
            except SystemExit:
                pass
            finally:
                sys.settrace(trace)
            assert files(tmp_path) in (old, new), at
            assert all(signal.getsignal(each) is ended for each in before), at
            found.append(files(tmp_path) == new)
            if traced.lines < at:
                break
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert found == sorted(found)  # from some line on all are new
    assert len(found) > 50
    assert not found[0]


KILLED = """
import os, pathlib, signal, sys
import unperplexed._lib.output_files as module
at, folder = 0, pathlib.Path(sys.argv[1])
os.fsync = lambda _: None
while True:
    at += 1
    for path in folder.iterdir():
        path.unlink()
    for name in "ab":
        (folder / name).write_bytes(b"old")
    child = os.fork()
    if not child:
        lines = 0
        def trace(frame, event, _):
            global lines
            if frame.f_code.co_filename != module.__file__:
                return None
            lines += event == "line"
            if lines == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace
        sys.settrace(trace)
        with module.whole_files({folder / name: b"new" * 9 for name in "ab"}):
            pass
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(*((folder / name).read_bytes().decode() for name in "ab"))
    if not status:
        break
"""


@pytest.mark.slow
def test_a_kill_at_any_line_leaves_each_file_whole(tmp_path):
    """Between two renames nothing can be done: then one file is new and the other is old."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=True)
    found = list(dict.fromkeys(done.stdout.splitlines()))
    assert found == ["old old", f"{'new' * 9} old", f"{'new' * 9} {'new' * 9}"]
    assert len(done.stdout.splitlines()) > 50


@pytest.mark.parametrize("option", ["--summary", "--junit"])
def test_no_output_takes_the_place_of_another_or_of_the_input(tmp_path, monkeypatch, option, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("y,p\n1,0.5\n0,0.5\n")
    words = ["check", "f.csv", "--require", "log_loss < 9", "--confidence", "none", "--json", "a.json", option]
    for name in ("f.csv", "./a.json"):
        before = files(tmp_path)
        assert main([*words, name]) == 2
        assert "would overwrite" in capsys.readouterr().err
        assert files(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where"), [("input", "- < kept"), ("output", "kept > out"), ("error", "kept 2> out")])
def test_no_output_takes_the_place_of_a_standard_stream(tmp_path, name, where):
    (tmp_path / "kept").write_text("y,p\n1,0.5\n0,0.5\n")
    out = "kept" if name == "input" else "out"
    words = f"-m unperplexed assess {where} --format csv --truth y --prob p --json {out}"
    done = subprocess.run(["bash", "-c", f"{sys.executable} {words}"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2
    said = done.stderr if name != "error" else (tmp_path / "out").read_bytes()
    assert f"{out}: would overwrite this command's standard {name}; name another file".encode() in said
    assert (tmp_path / "kept").read_text() == "y,p\n1,0.5\n0,0.5\n"


OTHERS_READ = {
    "map": "assess f.csv --truth y --prob p --apply kept --json kept",
    "map of a forecaster": "compare a=f.csv b=g.csv --in-order --truth y --prob p --apply a=kept --json ./kept",
    "map whose name has marks": "compare a=f.csv b=g.csv --truth y --prob p --apply a=m,=kept --json m,=kept",
    "earlier": "check f.csv --truth y --prob p --earlier kept --junit kept",
    "labels": "assess f.csv --truth y --prob p --labels @kept --json kept",
    "array": "assess p.npy --truth kept.npy --prob p --json kept.npy",
    "map that is applied": "recalibrate f.csv --prob p --apply kept.csv -o kept.csv",
    "pool that is applied": "pool f.csv --forecaster a=p b=p --apply kept.csv -o kept.csv",
    "phrases": "lm f.jsonl --words kept --stated p --truth y --json kept",
}


@pytest.mark.parametrize("case", OTHERS_READ)
def test_no_output_takes_the_place_of_another_file_that_is_read(tmp_path, monkeypatch, case, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("f.csv", "g.csv", "p.npy", "f.jsonl", "kept", "m,=kept", "kept.csv", "kept.npy"):
        (tmp_path / name).write_text("y,p\n1,0.5\n0,0.5\n")
    assert main(OTHERS_READ[case].split()) == 2
    assert re.search(r"would overwrite (\./|m,=)?kept(\.csv|\.npy)?, which this command reads", capsys.readouterr().err)


def test_a_word_that_is_no_file_is_none_that_an_output_replaces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("y,p\n" + "1,0.75\n0,0.25\n1,0.5\n" * 5)
    assert (
        main(
            ["assess", "f.csv", "--truth", "y", "--prob", "p", "--reference", "base-rate", "--json", "base-rate", "-q"]
        )
        == 0
    )
    assert (tmp_path / "base-rate").stat().st_size > 1000
