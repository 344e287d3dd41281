"""Where the processor time of whole commands goes, beside other packages that read the same file and compute less.

Each bar is a process of its own, the least of several runs. The command is asked every millisecond of processor time
what it is at; what passed since the last answer counts for that. Peers are measured where they are installed.

    python benchmarks/time_spent.py --picture docs/pictures/time_spent.svg --csv benchmarks/results/time_spent.csv
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

STEPS = ("loading", "reading", "counting", "diagnosis", "intervals", "remedy", "text and the rest")
COLOURS = ("#c9c9c9", "#8fb8de", "#1b6ca8", "#e0a030", "#5aa469", "#b5547a", "#4a4a4a")

WITHIN = (
    ("uncertainty", "/assessment/", "intervals"),
    ("remedy", "/assessment/", "remedy"),
    ("untried_remedy", "/assessment/", "remedy"),
    ("diagnosis", "/assessment/", "diagnosis"),
)
"""Functions of files, and the step that begins with them."""


def step_of(frame: FrameType | None) -> str:
    """Tell what a stack of frames is at: the step that it went into last, but loading and reading wherever they are."""
    found, names = STEPS[-1], []
    while frame is not None:
        names.append((frame.f_code.co_name, frame.f_code.co_filename))
        frame = frame.f_back
    for name, file in reversed(names):
        if "importlib._bootstrap" in file:
            return "loading"
        if "/sources/readers/" in file or "/polars/" in file:
            return "reading"
        if name == "_counted" and file.endswith("cli/input.py"):
            found = "counting"
        for function, folder, step in WITHIN:
            if name == function and folder in file and found != "remedy":
                found = step
    return found


def run_here(arguments: list[str]) -> dict[str, float]:
    """Run a command, and give the processor time of each step."""
    spent: dict[str, float] = defaultdict(float)
    last = 0.0  # the process began with loading

    def asked(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.process_time()
        spent[step_of(frame)] += now - last
        last = now

    spent["loading"] = last = time.process_time()
    signal.signal(signal.SIGPROF, asked)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    from unperplexed.cli import main

    with contextlib.redirect_stdout(io.StringIO()):
        main(arguments)
    signal.setitimer(signal.ITIMER_PROF, 0)
    spent[STEPS[-1]] += time.process_time() - last
    return spent


PEERS = {
    "scikit-learn: log loss, Brier score": """
from sklearn.metrics import brier_score_loss, log_loss
log_loss(y, p), brier_score_loss(y, p)""",
    "torchmetrics: calibration error": """
import torch
from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error
p, y = torch.from_numpy(p), torch.from_numpy(y)
binary_calibration_error(p, y) if p.ndim == 1 else multiclass_calibration_error(p, y, num_classes=p.shape[1])""",
    "netcal: calibration error": """
from netcal.metrics import ECE
ECE(15).measure(p, y)""",
    "model-diagnostics: bias, log loss in parts": """
from model_diagnostics.calibration import compute_bias
from model_diagnostics.scoring import LogLoss, decompose
assert p.ndim == 1
compute_bias(y, p), decompose(y, p, scoring_function=LogLoss())""",
}
"""What others compute of outcomes ``y`` and probabilities ``p``."""

READING = """
import numpy as np, polars as pl
frame = pl.read_{kind}({path!r})
y = (frame[{truth!r}] == {positive!r}).cast(pl.Int64).to_numpy() if {positive!r} else frame[{truth!r}].to_numpy()
p = frame.select({columns!r}).to_numpy()
p = np.ascontiguousarray(p[:, 0] if p.shape[1] == 1 else p)"""


def cases(folder: Path) -> Iterator[tuple[str, list[str], str]]:
    """Yield name, arguments of `unperplexed assess`, and Python code that reads the same."""
    import polars as pl

    from speed import binary, multiclass

    examples = Path(__file__).parents[1] / "examples"
    path = examples / "breast_cancer.csv"
    reading = {
        "kind": "csv",
        "path": str(path),
        "truth": "diagnosis",
        "positive": "malignant",
        "columns": ["malignant"],
    }
    yield "569 rows of CSV", [str(path), "--truth", "diagnosis", "--prob", "malignant"], READING.format(**reading)
    path = folder / "classes.csv"
    y, p = multiclass(10_000, 10)
    names = [f"p{k}" for k in range(10)]
    pl.DataFrame({"y": y, **dict(zip(names, p.T, strict=True))}).write_csv(path, float_precision=6)
    reading = {"kind": "csv", "path": str(path), "truth": "y", "positive": "", "columns": names}
    yield "10,000 rows of 10 classes, CSV", [str(path), "--truth", "y", "--prob", "p*"], READING.format(**reading)
    path = folder / "column.parquet"
    y, p = binary(10_000_000)
    pl.DataFrame({"y": y, "p": p}).write_parquet(path)
    reading = {"kind": "parquet", "path": str(path), "truth": "y", "positive": "", "columns": ["p"]}
    yield "10,000,000 rows of Parquet", [str(path), "--truth", "y", "--prob", "p"], READING.format(**reading)


def processor_time(*arguments: str) -> float | None:
    """Processor time of a process of its own; None if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return None if done.returncode else after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(runs: int) -> Iterator[tuple[str, str, str, float]]:
    """Yield case, process, step and processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        for case, arguments, reading in cases(Path(folder)):
            found = []
            for _ in range(runs):
                run = [sys.executable, __file__, "--here", json.dumps(["assess", *arguments])]
                found.append(json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout))
            least = min(found, key=lambda spent: sum(spent.values()))
            for step in STEPS:
                yield case, "unperplexed assess", step, least.get(step, 0.0)
            whole = [processor_time("-c", reading) for _ in range(runs)]
            yield case, "polars: reading alone", "all", min(time for time in whole if time is not None)
            for peer, code in PEERS.items():
                times = [processor_time("-c", reading + code) for _ in range(runs)]
                if None not in times:
                    yield case, peer, "all", min(time for time in times if time is not None)


def drawn(rows: list[tuple[str, str, str, float]], path: Path) -> None:
    """Draw a panel for each case, a bar for each process."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "time_spent"
    names = list(dict.fromkeys(case for case, *_ in rows))
    processes = {name: list(dict.fromkeys(row[1] for row in rows if row[0] == name)) for name in names}
    heights = [len(processes[name]) + 1.2 for name in names]
    figure, panels = plt.subplots(
        len(names), figsize=(8, 0.34 * sum(heights) + 0.7), layout="constrained", height_ratios=heights
    )
    for axes, name in zip(panels, names, strict=True):
        for place, process in enumerate(processes[name]):
            start = 0.0
            for _, _, step, seconds in (row for row in rows if row[:2] == (name, process)):
                ours = step in STEPS
                colour = COLOURS[STEPS.index(step)] if ours else "#efe3d0"
                axes.barh(place, seconds, left=start, color=colour, label=step if ours else None)
                start += seconds
            axes.text(start, place, f" {start:.2f}", va="center", fontsize=8)
        axes.set_yticks(range(len(processes[name])), processes[name], fontsize=8)
        axes.invert_yaxis()
        axes.set_title(name, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.08)
    panels[-1].set_xlabel("seconds of processor time")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the table; write it as CSV and as a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--here", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        print(json.dumps(run_here(json.loads(arguments.here))))
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # so that processes find bytecode, as in an installed package
    rows = []
    print("| case | process | step | seconds |\n|---|---|---|---|")
    for case, process, step, seconds in measured(arguments.runs):
        print(f"| {case} | {process} | {step} | {seconds:.3f} |", flush=True)
        rows.append((case, process, step, round(seconds, 4)))
    if arguments.csv:
        with arguments.csv.open("w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([("case", "process", "step", "seconds"), *rows])
    if arguments.picture:
        drawn(rows, arguments.picture)


if __name__ == "__main__":
    main()
