"""Outputs of the command line: all of them, or with an error, a fault of the system or a signal none."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from unperplexed._lib import output_files
from unperplexed._lib.output_files import whole_files, write_whole
from unperplexed.cli import commands, terminal
from unperplexed.cli import main as unperplexed_main
from unperplexed.cli.outputs import Outputs
from unperplexed.cli.parser import main

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")

ROWS = "y,p\n" + "1,0.75\n0,0.25\n1,0.5\n" * 5


@pytest.fixture
def forecasts(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(ROWS)
    return path


def run(*words, **settings):
    command = [sys.executable, "-m", "unperplexed", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **settings)


NAMES = ("a.json", "b.png", "c.html")


@pytest.fixture
def writing(tmp_path, monkeypatch):
    """A command that writes three outputs, of which the second is new."""
    places = [tmp_path / name for name in NAMES]

    def command(arguments):
        outputs = Outputs(Namespace(json=str(places[0]), quiet=False, words=[]))
        outputs.write(lambda: "new", lambda: "text\n" * 20_000, dict.fromkeys(places[1:], b"new\n"))

    monkeypatch.setattr(commands, "assess", command)
    return places


def state(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OLD = {"a.json": b"old\n", "c.html": b"old\n"}
NEW = dict.fromkeys(NAMES, b"new\n")

STEPS = [
    (os, "open"),
    (Path, "write_bytes"),
    (os, "fsync"),
    (Path, "chmod"),
    (os, "link"),
    (Path, "replace"),
]


def fails(number):
    def fail():
        raise OSError(number, os.strerror(number))

    return fail


FAULTS = {
    "ENOSPC": fails(errno.ENOSPC),
    "EIO": fails(errno.EIO),
    "EDQUOT": fails(errno.EDQUOT),
    "memory": lambda: (_ for _ in ()).throw(MemoryError()),
    "SIGINT": lambda: signal.raise_signal(signal.SIGINT),
    "SIGTERM": lambda: signal.raise_signal(signal.SIGTERM),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_step_leaves_all_outputs_old_or_all_new(tmp_path, monkeypatch, writing, fault, capfd):
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    steps = codes = 0
    count = [0, -1]

    def faulty(made):
        def step(*arguments, **settings):
            count[0] += 1
            if count[0] == count[1]:
                FAULTS[fault]()
            return made(*arguments, **settings)

        return step

    patches = pytest.MonkeyPatch()
    try:
        while True:
            for path in tmp_path.iterdir():
                path.unlink()
            for name, content in OLD.items():
                (tmp_path / name).write_bytes(content)
            steps += 1
            count[:] = [0, steps]
            for place, name in STEPS:
                patches.setattr(place, name, faulty(getattr(place, name)))
            try:
                code = main(["assess", "-"])
            except SystemExit as end:
                code = end.code
            patches.undo()
            found = state(tmp_path)
            if count[0] < steps:  # nothing was left to fail
                assert code == 0
                assert found == NEW
                break
            assert found in (OLD, NEW), (steps, code)
            assert found == NEW if code == 0 else found == OLD or fault.startswith("SIG") or code == 2, (steps, code)
            if code == 2:
                assert found == OLD, steps
            codes += code != 0
    finally:
        patches.undo()
        for each, handler in before.items():
            signal.signal(each, handler)
    assert steps > 15
    assert codes > 8


@pytest.mark.slow
@pytest.mark.parametrize(("where", "code"), [("/dev/full", 2), ("closed pipe", 0)])
def test_what_cannot_be_printed(tmp_path, forecasts, where, code):
    """With exit code 2 nothing was written; a reader such as head that has seen enough is no error."""
    new = tmp_path / "new.json"
    command = [sys.executable, "-m", "unperplexed", "assess", str(forecasts), "--json", str(new)]
    if where == "/dev/full":
        with Path(where).open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
        assert b"cannot write the output: No space left" in done.stderr
    else:
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        assert b"cannot" not in done.stderr
        assert b"Broken" not in done.stderr
    assert done.returncode == code
    assert new.exists() == (code == 0)
    assert {path.name for path in tmp_path.iterdir()} == {"f.csv", "new.json"} - ({"new.json"} if code else set())


@pytest.mark.parametrize("command", ["tally", "recalibrate", "apply"])
@pytest.mark.slow
def test_other_commands_write_nothing_that_they_cannot_report(tmp_path, forecasts, command):
    words = {
        "tally": ["tally", str(forecasts), "-o", str(tmp_path / "x.tally")],
        "recalibrate": ["recalibrate", str(forecasts), "-o", str(tmp_path / "x.json")],
        "apply": ["recalibrate", str(forecasts), "--prob", "p", "--apply", str(tmp_path / "m.json"), "-o"],
    }[command]
    if command == "apply":
        assert main(["recalibrate", str(forecasts), "-o", str(tmp_path / "m.json")]) == 0
        words.append(str(tmp_path / "x.csv"))
    before = state(tmp_path)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "unperplexed", *words], stdout=full, stderr=-1, check=False)
    assert (done.returncode, state(tmp_path)) == (2, before)
    assert main(words) == 0
    assert len(state(tmp_path)) == len(before) + 1


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 1>&- 2>&-", "1>&-"])
@pytest.mark.slow
def test_streams_that_the_caller_closed(tmp_path, forecasts, closed):
    """As cron and daemons do."""
    words = f"{sys.executable} -m unperplexed assess {forecasts} --json {tmp_path / 'x.json'} --resamples 0 {closed}"
    done = subprocess.run(words, shell=True, stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0
    assert (done.stdout == b"") == ("1>&-" in closed)
    assert (tmp_path / "x.json").read_text().startswith("{")
    bad = subprocess.run(f"{sys.executable} -m unperplexed assess none.csv {closed}", shell=True, check=False)
    assert bad.returncode == 2


def test_permissions_stay_as_they_were(tmp_path):
    mask = os.umask(0o022)
    try:
        for mode in (0o600, 0o640, 0o755):
            path = tmp_path / f"{mode:o}"
            path.write_text("old")
            path.chmod(mode)
            write_whole(path, b"new")
            assert stat.S_IMODE(path.stat().st_mode) == mode
            assert path.read_bytes() == b"new"
        write_whole(tmp_path / "new", b"new")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644
    finally:
        os.umask(mask)


def test_what_killed_programs_left_is_cleared(tmp_path):
    """Temporary files that a living program holds stay, and young ones, whose program may be about to hold them."""
    old, young = tmp_path / ".unperplexed-dead", tmp_path / ".unperplexed-young"
    for path in (old, young):
        path.write_text("part")
    code = (
        "import pathlib, sys, time\n"
        "from unperplexed._lib.output_files import whole_files\n"
        "with whole_files({pathlib.Path(sys.argv[1]): b'new'}):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        (held,) = set(tmp_path.glob(".unperplexed-*")) - {old, young}
        for path in (old, held):
            os.utime(path, (time.time() - 1000,) * 2)
        write_whole(tmp_path / "other", b"x")
        assert {*tmp_path.glob(".unperplexed-*")} == {held, young}
        process.kill()
    write_whole(tmp_path / "other", b"x")
    assert {*tmp_path.glob(".unperplexed-*")} == {young}


def test_what_others_put_there_is_not_waited_for_nor_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("old")
    os.utime(kept, (0, 0))
    os.mkfifo(tmp_path / ".unperplexed-pipe")
    (tmp_path / ".unperplexed-link").symlink_to(kept)
    (tmp_path / ".unperplexed-folder").mkdir()
    before = {*tmp_path.iterdir()}
    write_whole(tmp_path / "new", b"new")
    assert {*tmp_path.iterdir()} == before | {tmp_path / "new"}


def test_a_file_system_without_permissions_takes_files_all_the_same(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(errno.EPERM, "no permissions here")

    monkeypatch.setattr(Path, "chmod", refused)
    write_whole(tmp_path / "new", b"new")
    assert (tmp_path / "new").read_bytes() == b"new"


def test_a_rename_that_fails_gives_back_what_was_there(tmp_path, monkeypatch):
    first, second, third = (tmp_path / name for name in "abc")
    first.write_text("old")
    replace, calls = Path.replace, []

    def third_fails(path, target):
        calls.append(target)
        if len(calls) == 3:
            raise OSError(errno.EXDEV, "elsewhere")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", third_fails)
    with pytest.raises(OSError, match="elsewhere"), whole_files({first: b"1", second: b"2", third: b"3"}):
        pass
    assert state(tmp_path) == {"a": b"old"}
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links here")))
    calls.clear()
    with pytest.raises(OSError, match="elsewhere"), whole_files({first: b"1", second: b"2", third: b"3"}):
        pass
    assert state(tmp_path) == {"a": b"old"}


def test_no_file_is_open_where_open_files_cannot_be_renamed(tmp_path, monkeypatch):
    replace, renamed = Path.replace, []

    def unless_open(path, target):
        assert not any(os.path.realpath(each) == str(path) for each in Path("/proc/self/fd").iterdir())
        renamed.append(target)
        return replace(path, target)

    monkeypatch.setattr(output_files, "_RENAMES_OPEN", False)
    monkeypatch.setattr(Path, "replace", unless_open)
    with whole_files({tmp_path / "a": b"1", tmp_path / "b": b"2"}):
        pass
    assert len(renamed) == 2
    assert state(tmp_path) == {"a": b"1", "b": b"2"}


def test_an_interrupt_while_arguments_are_parsed(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("unperplexed.cli.parser._parser", interrupted)
    assert main(["assess", "f.csv"]) == 130
    assert capsys.readouterr().err == "unperplexed: interrupted\n"


def test_an_interrupt_while_modules_are_loaded():
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'argparse':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "import unperplexed.__main__\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "unperplexed: interrupted\n")


@pytest.mark.parametrize("module", ["numpy", "unperplexed.assessment.assess"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.slow
def test_a_signal_of_which_a_module_makes_an_error_of_its_own(forecasts, module, name):
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run in the background
        "class Failing:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            try:\n"
        f"                signal.raise_signal(signal.{name})\n"
        "            except BaseException:\n"
        "                raise ImportError('cannot be imported') from None\n"
        "sys.meta_path.insert(0, Failing())\n"
        "from unperplexed.cli import main\n"
        f"sys.exit(main(['assess', {str(forecasts)!r}, '--resamples', '0']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + getattr(signal, name), "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_error_after_a_signal_is_that_signal_and_others_are_raised(monkeypatch, number):
    def failed(_):
        raise ImportError

    monkeypatch.setattr("unperplexed.cli.parser.main", failed)
    with pytest.raises(ImportError):
        unperplexed_main([])

    def interrupted(_):
        terminal.came.append(number)
        raise ImportError

    monkeypatch.setattr("unperplexed.cli.parser.main", interrupted)
    assert unperplexed_main([]) == 128 + number


def test_without_streams_files_are_written_and_errors_are_exit_codes(tmp_path, forecasts, monkeypatch):
    """As where the program is called from one without a console."""

    def full(_):
        raise OSError(errno.ENOSPC, "No space left")

    with monkeypatch.context() as without:
        without.setattr(sys, "stdout", None)
        without.setattr(sys, "stderr", None)
        assert main(["assess", str(forecasts), "--json", str(tmp_path / "x.json")]) == 0
        assert main(["assess", str(tmp_path / "none.csv")]) == 2
        without.setattr(os, "fsync", full)
        assert main(["assess", str(forecasts), "--json", str(tmp_path / "y.json")]) == 2
        assert sys.stderr.name == os.devnull
        sys.stderr.close()
    assert (tmp_path / "x.json").read_text().startswith("{")
    assert not (tmp_path / "y.json").exists()


def test_names_move_no_cursor(tmp_path, capsys):
    path = tmp_path / "a\x1b[31mb.csv"
    assert main(["assess", str(path)]) == 2
    path.write_text("y,p\n1,7\n")
    assert main(["assess", str(path)]) == 2
    assert main(["assess", str(path), "--\x1b[31m"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_names_under_which_nothing_can_be_written(tmp_path, forecasts, capsys):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, reason in (("x" * 300, "File name too long"), ("loop", os.strerror(errno.ELOOP))):
        assert main(["assess", str(forecasts), "--json", str(tmp_path / name)]) == 2
        assert f"cannot be written: {reason}." in capsys.readouterr().err


@pytest.mark.slow
def test_a_kernel_that_is_not_known(forecasts):
    done = run("assess", forecasts, env=os.environ | {"UNPERPLEXED_KERNEL": "numyp"})
    assert done.returncode == 2
    assert done.stderr == (
        "unperplexed: UNPERPLEXED_KERNEL: expected 'numpy', or nothing for the compiled kernel, got 'numyp'.\n"
    )
    for known in ("", "numpy"):
        assert run("--version", env=os.environ | {"UNPERPLEXED_KERNEL": known}).returncode == 0


def test_a_report_of_several_classes_has_each_class_and_its_curve(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 400)
    y = np.array([rng.choice(3, p=row) for row in p])
    np.savez(tmp_path / "three.npz", p=p, y=y)
    page = tmp_path / "three.html"
    options = ["--truth", "y", "--prob", "p", "--resamples", "0", "--report", str(page)]
    assert main(["assess", str(tmp_path / "three.npz"), *options]) == 0
    assert "three.html: diagram" in " ".join(capsys.readouterr().out.split())
    html = page.read_text()
    assert "Each class&#39;s own curve" in html
    assert ">recall<" in html
