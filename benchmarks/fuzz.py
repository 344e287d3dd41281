"""Files, tallies, maps, pools and logs spoiled at random, and commands killed at random: what comes of them.

Whatever is read is read, or refused with an InputError; nothing crashes, warns, takes longer than 20 seconds or more
than the memory allowed. Killed commands leave all outputs old or all new. What is found is kept in a folder.

    python benchmarks/fuzz.py files tallies maps --number 100000
    python benchmarks/fuzz.py signals --number 300
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

from mutations import GOOD, Spoiling, outcome_of

SEED = 20_261_124
BATCH = 2_000
"""Spoiled inputs of one process; a new one starts where it was killed."""

KINDS = tuple(GOOD)


def main() -> None:
    """Spoil and read, or start and kill, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=(*KINDS, "signals"))
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
        wrong += sum(number for name, number in count.items() if name not in ("read", "refused", "old", "new"))
        shown = ", ".join(f"{number:,} {name}" for name, number in count.most_common())
        seconds = time.perf_counter() - start
        print(f"{kind}: {count.total():,} in {seconds:,.0f} s, peak {peak >> 10} MB: {shown}", flush=True)
    sys.exit(wrong > 0)


Counts = collections.Counter[str]


def _in_process(kind: str, number: int, seed: tuple[int, int], arguments: argparse.Namespace) -> tuple[Counts, int]:
    """Do one batch in a process of its own, which may be ended by what it reads."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        if kind != "signals":
            resource.setrlimit(resource.RLIMIT_AS, (arguments.memory << 20,) * 2)
        with os.fdopen(write, "w", buffering=1) as said, tempfile.TemporaryDirectory() as folder:
            rng = np.random.default_rng([*seed, *kind.encode()])
            if kind == "signals":
                lines = _killed(number, Path(folder), rng)
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


def _killed(number: int, folder: Path, rng: np.random.Generator) -> Iterator[str]:
    """Start a command with two outputs and end it at a random moment, by one of three signals."""
    (folder / "f.csv").write_text("y,p\n" + "1,0.75\n0,0.25\n1,0.5\n" * 40)
    a, b = outputs = [folder / name for name in ("a.json", "b.html")]
    words = ["assess", f"{folder}/f.csv", "--resamples", "0", "--json", str(a), "--report", str(b)]
    whole = 3.0
    for _ in range(number):
        for path in outputs:
            path.write_bytes(b"old")
        which = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL][int(rng.integers(3))]
        command = [sys.executable, "-m", "unperplexed", *words]
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait((0.5 + 0.6 * rng.random()) * whole)
                whole = 0.5 * (whole + time.perf_counter() - start)
            except subprocess.TimeoutExpired:
                whole *= 1.05
                process.send_signal(which)
        code = process.returncode
        old = [path.read_bytes() == b"old" for path in outputs]
        left = list(folder.glob(".unperplexed-*"))
        for path in left:
            path.unlink()
        if any(old) != all(old) or (left and which != signal.SIGKILL) or (not code and any(old)):
            yield f"mixed after {which.name}, code {code}, {len(left)} left"
        else:
            yield "old" if all(old) else "new"


if __name__ == "__main__":
    main()
