"""Commands that write every kind of output, and faults of the system or signals at every step of writing them."""

import errno
import io
import os
import resource
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unperplexed.cli import outputs
from unperplexed.cli.parser import main

NEVER = 10**9
_ROWS = "f.csv --truth y --prob p"
_GATE = "--confidence none --json a.json --summary b.md --junit c.xml"
COMMANDS = {
    "assess": f"assess {_ROWS} --resamples 0 --json a.json --plot b.svg --report c.html",
    "check, met": f"check {_ROWS} --require 'log_loss < 9' {_GATE}",
    "check, not met": f"check {_ROWS} --require 'log_loss < 0.01' {_GATE}",
    "monitor": f"monitor {_ROWS} --time day --json a.json --plot b.svg --report c.html --history h.json",
    "tally": f"tally {_ROWS} -o a.tally",
    "tally of tallies": "tally t.tally t2.tally -o a.tally",
    "tally shown": "tally t.tally --json a.json",
    "recalibrate": f"recalibrate {_ROWS} --method bias -o a.json --force --json b.json",
    "recalibrate --apply": "recalibrate f.csv --prob p --apply m.json -o a.csv",
    "recalibrate --apply, Parquet": "recalibrate f.csv --prob p --apply m.json -o a.parquet",
    "pool": "pool f.csv --truth y --forecaster a=p b=q --method linear:equal -o a.json --force --json b.json",
    "pool --apply": "pool f.csv --forecaster a=p b=q --apply pool.json -o a.csv",
}
"""Command lines; inputs are `f.csv`, `t.tally`, `t2.tally`, `m.json` and `pool.json`, and all else is written."""

OUTPUTS, HISTORY = ("a", "b", "c", "h"), "h.json"
INPUTS = ("f.csv", "t.tally", "t2.tally", "m.json", "pool.json")
ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EPIPE")}
SIGNALS = {name: getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
KINDS = (*ERRORS, *SIGNALS, "size")
"""A limit of the size of files stops writes in the middle, those of other languages too."""

_STEPS = ("os.rename", "os.link", "os.chmod")


def make_inputs(folder: Path) -> None:
    """Write what the commands read."""
    rng = np.random.default_rng(3)
    p = rng.random(60).round(3)
    rows = zip(rng.random(60) < p, p, rng.random(60).round(3), np.arange(60) // 20, strict=True)
    (folder / "f.csv").write_text("y,p,q,day\n" + "".join(f"{y:d},{p},{q},d{day}\n" for y, p, q, day in rows))
    with inside(folder):
        for words in (
            f"tally {_ROWS} -o t.tally",
            f"recalibrate {_ROWS} --method bias -o m.json",
            "pool f.csv --truth y --forecaster a=p b=q --method linear:equal -o pool.json",
        ):
            assert not (done := called(words, Fault("none", NEVER))).code, done
        shutil.copy("t.tally", "t2.tally")


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@dataclass
class Fault:
    """A fault of one kind at one step: a file opened for writing, a rename, a write to standard output and so on."""

    kind: str
    at: int
    on: bool = False
    steps: list[str] = field(default_factory=list)
    struck: bool = False

    def step(self, name: str) -> None:
        """Count a step, and fail where it is the one."""
        if not self.on or (self.kind == "EPIPE" and name != "print"):
            return
        self.steps.append(name)
        if len(self.steps) == self.at:
            self.struck, self.on = True, False
            if self.kind in ERRORS:
                raise OSError(ERRORS[self.kind], os.strerror(ERRORS[self.kind]))
            if self.kind in SIGNALS:
                signal.raise_signal(SIGNALS[self.kind])


class Printed(io.RawIOBase):
    """A standard output whose writes are steps."""

    def __init__(self, fault: Fault) -> None:
        self._fault, self._null = fault, os.open(os.devnull, os.O_WRONLY)
        self.dropped = False

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:
        self._fault.step("print")
        return len(data)

    def fileno(self) -> int:
        return self._null

    def close(self) -> None:
        if not self.closed:
            os.close(self._null)
        super().close()


@dataclass(frozen=True)
class Called:
    """What a command did."""

    code: int
    said: str


_now: list[Fault] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    """Python tells what it is about to do; what raises here, it does not do."""
    if not _now or not _now[-1].on:
        return
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        if not str(arguments[0]).startswith("/dev"):
            _now[-1].step("open")
    elif event in _STEPS:
        _now[-1].step(event)


sys.addaudithook(_audit)


@contextmanager
def striking(fault: Fault) -> Iterator[Printed]:
    """Let the fault strike at its step, and put all back behind it."""
    handlers = {each: signal.getsignal(each) for each in SIGNALS.values()}
    fsync, out, limit = os.fsync, sys.stdout, resource.getrlimit(resource.RLIMIT_FSIZE)

    def synced(handle: int) -> None:
        fault.step("fsync")
        fsync(handle)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # all may be ignored where the tests run
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    printed = Printed(fault)
    os.fsync, sys.stdout = synced, io.TextIOWrapper(io.BufferedWriter(printed, 64), encoding="utf-8")
    _now.append(fault)
    fault.on = True
    if fault.kind == "size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.at, limit[1]))
    try:
        yield printed
    finally:
        fault.on = False
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        _now.pop()
        stream, sys.stdout, os.fsync = sys.stdout, out, fsync
        stream.detach().detach().close()
        for each, handler in handlers.items():
            signal.signal(each, handler)


def called(words: str, fault: Fault) -> Called:
    """Run a command in this process, with a fault."""
    said = io.StringIO()
    with redirect_stderr(said), striking(fault):
        try:
            code = main(shlex.split(words))
        except SystemExit as end:
            code = int(end.code or 0)
    return Called(code, said.getvalue())


def files(folder: Path) -> dict[str, bytes]:
    """All files but the inputs."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in INPUTS}


@dataclass(frozen=True)
class Clean:
    """What a command does without a fault."""

    code: int
    written: dict[str, bytes]
    steps: int
    prints: int


class Machine:
    """A folder in which commands are run with faults, one after another, beside a model of what it must hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._drawn: dict[tuple[str, str], object] = {}
        make_inputs(folder)
        self.clean: dict[tuple[object, ...], Clean] = {}

    def run(self, name: str, kind: str, choose: Callable[[int], int]) -> str:
        """Run a command that a fault strikes; return what was found: "old", "new", or what is wrong.

        `choose` takes a number of steps, and gives the one where the fault strikes.
        """
        with inside(self.folder), self._drawing_once(name):
            clean = self._without_fault(name)
            before = files(self.folder)
            top = max(map(len, clean.written.values())) if kind == "size" else clean.steps
            fault = Fault(kind, 1 + choose(clean.prints if kind == "EPIPE" else top))
            done = called(COMMANDS[name], fault)
            after = files(self.folder)
        where = f"{name}, {kind} at {fault.at} {fault.steps[-1:]}, code {done.code}"
        if after not in (before, before | clean.written):
            return f"mixed: {where}: {sorted(set(after) - set(clean.written) - set(before))} left"
        state = "old" if after == before else "new"
        if kind in SIGNALS and fault.struck:
            good = done.code == 128 + SIGNALS[kind]
        else:  # a reader who goes is no error
            good = done.code == (2 if state == "old" else clean.code) and (state == "new" or kind != "EPIPE")
        if not good or (done.code == 2 and not done.said.startswith("unperplexed: cannot write")):
            return f"wrong: {where}, {state}: {done.said}"
        return state

    def _without_fault(self, name: str) -> "Clean":
        """Give what the command does without a fault; outputs that are there have other contents afterwards."""
        there = files(self.folder)
        written = [word for word in COMMANDS[name].split() if word.partition(".")[0] in OUTPUTS]
        key = name, *(word in there for word in written)
        if key not in self.clean:
            self._set(name, {word: b"" for word in written if word in there})
            fault = Fault("none", NEVER)
            done = called(COMMANDS[name], fault)
            after = files(self.folder)
            assert done.code in (0, 1), (name, done)
            assert after.keys() == there.keys() | set(written), name
            made = {word: after[word] for word in written}
            self.clean[key] = Clean(done.code, made, len(fault.steps), fault.steps.count("print"))
            for word in after.keys() - there.keys():
                (self.folder / word).unlink()
        self._set(name, {word: made for word, made in self.clean[key].written.items() if word in there})
        return self.clean[key]

    def _set(self, name: str, made: dict[str, bytes]) -> None:
        """Give files that are there other contents than a command writes."""
        for word, content in made.items():
            old = b"old"
            if word == HISTORY:
                old = content + b" " if content else (self.folder / word).read_bytes()
            (self.folder / word).write_bytes(old)

    @contextmanager
    def _drawing_once(self, name: str) -> Iterator[None]:
        """Draw the pictures and make the page of a command when it is first run only: they take seconds."""

        def once(made: Callable[..., object]) -> Callable[..., object]:
            def drawn(*arguments: object, **settings: object) -> object:
                key = name, made.__name__
                if key not in self._drawn:
                    self._drawn[key] = made(*arguments, **settings)
                return self._drawn[key]

            return drawn

        places = [(outputs.Outputs, name) for name in ("picture", "page")]
        before = [getattr(place, function) for place, function in places]
        try:
            for (place, function), made in zip(places, before, strict=True):
                setattr(place, function, once(made))
            yield
        finally:
            for (place, function), made in zip(places, before, strict=True):
                setattr(place, function, made)

    def forget(self) -> None:
        """Remove all outputs, so that the next ones are new files."""
        for path in files(self.folder):
            (self.folder / path).unlink()
