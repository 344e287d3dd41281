"""Files, tallies, maps, pools, histories and logs spoiled at random, and commands struck at random: what comes of them.

Whatever is read is read, or refused with an InputError; nothing crashes, warns, takes longer than 20 seconds or more
than the memory allowed. Commands leave all outputs old or all new, with the exit code that goes with it: in this
process with faults of the system and signals at every step of writing (`outputs`), and real ones that are sent a signal
at random times (`signals`), or SIGINT while the program starts (`starts`). What is found is kept in a folder.

    python benchmarks/fuzz.py files tallies maps pools histories logs --number 100000
    python benchmarks/fuzz.py outputs --number 2000
    python benchmarks/fuzz.py signals --number 300
    python benchmarks/fuzz.py starts --number 200
"""

from __future__ import annotations

import argparse
import collections
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from faults import COMMANDS, Machine
from faults import KINDS as FAULTS
from mutations import GOOD, Spoiling, outcome_of

SEED = 20_261_124
BATCH = 2_000
"""Spoiled inputs of one process; a new one starts where it was killed."""

KINDS = (*GOOD, "outputs", "signals", "starts")

FINE = ("read", "refused", "old", "new")


def main() -> None:
    """Spoil and read, or start and kill, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    parser.add_argument("--number", type=int, default=10_000, help="how many of each kind (default: 10000)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--memory", type=int, default=16384, metavar="MB", help="address space (default: 16384)")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "unperplexed-fuzz", metavar="FOLDER")
    arguments = parser.parse_args()
    wrong = 0
    for kind in arguments.kinds:
        count, peak, start = collections.Counter[str](), 0, time.perf_counter()
        for first in range(0, arguments.number, BATCH):
            number = min(BATCH, arguments.number - first)
            found, batch_peak = _in_process(kind, number, (arguments.seed, first), arguments)
            count += found
            peak = max(peak, batch_peak)
            print(f"{kind}: {count.total():,} ...", end="\r", file=sys.stderr, flush=True)
        wrong += sum(number for name, number in count.items() if not name.startswith(FINE) or "with our lines" in name)
        shown = "".join(f"\n  {number:9,}  {name}" for name, number in sorted(count.items()))
        seconds = time.perf_counter() - start
        print(f"{kind}: {count.total():,} in {seconds:,.0f} s, peak {peak >> 10} MB{shown}", flush=True)
    sys.exit(wrong > 0)


Counts = collections.Counter[str]


def _in_process(kind: str, number: int, seed: tuple[int, int], arguments: argparse.Namespace) -> tuple[Counts, int]:
    """Do one batch in a process of its own, which may be ended by what it reads."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        if kind not in ("signals", "starts"):
            resource.setrlimit(resource.RLIMIT_AS, (arguments.memory << 20,) * 2)
        with os.fdopen(write, "w", buffering=1) as said, tempfile.TemporaryDirectory() as folder:
            rng = np.random.default_rng([*seed, *kind.encode()])
            if kind == "signals":
                lines = _killed(number, Path(folder), rng, arguments.keep)
            elif kind == "starts":
                lines = _interrupted(number, rng)
            elif kind == "outputs":
                lines = _struck(number, Path(folder), rng)
            else:
                lines = _read(kind, number, Path(folder), rng, arguments.keep)
            for line in lines:
                said.write(f"{line}\n")
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        count = collections.Counter(line.strip() for line in said)
    _, status, used = os.wait4(child, 0)
    if status:
        count[f"ended by {os.waitstatus_to_exitcode(status)}"] += 1
    return count, used.ru_maxrss


def _read(kind: str, number: int, folder: Path, rng: np.random.Generator, keep: Path) -> Iterator[str]:
    spoiling = Spoiling(kind, folder, rng)
    keep.mkdir(exist_ok=True)
    for _ in range(number):
        name, content, reading = spoiling.next()
        last = keep / f"last-{os.getpid()}.{name}"
        last.write_bytes(content)  # what ends the process is there afterwards
        found = outcome_of(reading)
        if found.kind not in ("read", "refused"):
            last.replace(keep / f"{found.kind}-{abs(hash(found.text[:40])) % 10**6}.{name}")
            with (keep / "said").open("a") as said:
                said.write(f"{name} {found}\n")
        last.unlink(missing_ok=True)
        yield found.kind


def _struck(number: int, folder: Path, rng: np.random.Generator) -> Iterator[str]:
    """Run commands of every kind of output one after another, each with a fault at a random step."""
    machine, names = Machine(folder), list(COMMANDS)
    for _ in range(number):
        if rng.random() < 0.3:
            machine.forget()
        name, kind = names[int(rng.integers(len(names)))], FAULTS[int(rng.integers(len(FAULTS)))]
        yield machine.run(name, kind, lambda steps: int(rng.integers(steps)))


SCRIPT = "import sys\nfrom unperplexed.cli import main\nsys.exit(main())"
"""What the installed script `unperplexed` does."""


def _killed(number: int, folder: Path, rng: np.random.Generator, keep: Path) -> Iterator[str]:
    """Start a command with three outputs and end it by one of three signals: early, late or at any time."""
    keep.mkdir(exist_ok=True)
    (folder / "f.csv").write_text("y,p\n" + "1,0.75\n0,0.25\n1,0.5\n" * 40)
    outputs = [folder / name for name in ("a.json", "b.md", "c.xml")]
    words = ["check", f"{folder}/f.csv", "--require", "log_loss < 9", "--confidence", "none"]
    words += ["--json", str(outputs[0]), "--summary", str(outputs[1]), "--junit", str(outputs[2])]
    whole = 2.0
    for each in range(number):
        for path in outputs:
            path.write_bytes(b"old")
        which = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL][int(rng.integers(3))]
        begin, end = [(0, 0.1), (0, 1), (0.7, 1)][int(rng.integers(3))]
        if each % 8 == 0:  # to know how long it takes
            begin = end = 100.0
        wait, start = (begin + (end - begin) * rng.random()) * whole, time.perf_counter()
        command = [sys.executable, "-c", SCRIPT, *words]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                _, said = process.communicate(timeout=wait)
                whole, sent = 0.5 * (whole + time.perf_counter() - start), "no signal, ended before"
            except subprocess.TimeoutExpired:
                process.send_signal(which)
                _, said = process.communicate()
                sent = which.name
        old = [path.read_bytes().startswith(b"old") and len(path.read_bytes()) == 3 for path in outputs]
        left = list(folder.glob(".unperplexed-*"))
        for path in left:
            path.unlink()
        state = "mixed" if any(old) != all(old) else "old" if all(old) else "new"
        if (left and which != signal.SIGKILL) or (not process.returncode and any(old)):
            state = f"wrong, {len(left)} left, {state}"
        where = ""
        if b"Traceback" in said or b"Exception ignored" in said:
            ours = b"unperplexed" in said.split(b"\n", 3)[-1]
            where = f", traceback {'with' if ours else 'without'} our lines"
            with (keep / "said").open("ab") as file:
                file.write(said)
        temporary = f", {len(left)} temporary" if left else ""
        yield f"{state} ({sent}, code {process.returncode}{temporary}{where})"


def _interrupted(number: int, rng: np.random.Generator) -> Iterator[str]:
    """Start a command that writes nothing, and interrupt it before it is done."""
    command = [sys.executable, "-c", SCRIPT, "explain", "slope"]
    start = time.perf_counter()
    for _ in range(5):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    whole = (time.perf_counter() - start) / 5
    for _ in range(number):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep(whole * rng.random())
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
        if b"Traceback" in said or b"KeyboardInterrupt" in said:
            where = "the package" if b"unperplexed" in said.partition(b"<string>")[-1] else "Python"
            yield f"old (Python's traceback, {where} starts)"
        else:
            yield f"old ({'a sentence' if said else 'silence'}, code {process.returncode})"


if __name__ == "__main__":
    main()
