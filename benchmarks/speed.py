"""How long an assessment takes, as ratios measured in one process, and how much memory beside its input.

The yardstick is one pass over the same array, ``P.sum()``, the best of several, measured before and after each figure
since times of one machine drift. Forecasts are made like those for ImageNet's validation set: 50,000 rows of 1000
classes in float32, most of them right and many nearly certain. Peers are measured where they are installed.

    python benchmarks/speed.py                                       # all of it, some minutes
    python benchmarks/speed.py --only starting growth
    python benchmarks/speed.py --large --json speed.json --picture speed.svg
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unperplexed import Tally, assess, tally_files
from unperplexed.kernels.compiled import KERNEL

SEED = 20_261_122


class Figure(NamedTuple):
    """One line of the table."""

    group: str
    name: str
    measured: float
    unit: str
    target: float | None = None
    """At most this, where there is a target."""


def multiclass(n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Softmax of logits among which the true class is ahead in most rows."""
    rng = np.random.default_rng(SEED)
    p, y = np.empty((n, classes), dtype=np.float32), rng.integers(0, classes, n)
    for start in range(0, n, 10_000):  # in parts, so that making them takes no more memory than they do
        part = p[start : start + 10_000]
        part[:] = logits(y[start : start + 10_000], classes, rng)
        part -= part.max(axis=1, keepdims=True)
        np.exp(part, out=part)
        part /= part.sum(axis=1, keepdims=True)
    return y, p


def logits(y: np.ndarray, classes: int, rng: np.random.Generator) -> np.ndarray:
    """Before the softmax."""
    z = 2.2 * rng.standard_normal((len(y), classes), dtype=np.float32)
    z[np.arange(len(y)), y] += 8 * rng.uniform(size=len(y)).astype(np.float32) + 3
    return z


def binary(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated probabilities of one class."""
    rng = np.random.default_rng(SEED)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p).astype(np.int64), p


def best(run: Callable[[], object], times: int = 5) -> float:
    """Shortest time of several."""
    found = []
    gc.collect()
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def in_passes(run: Callable[[], object], one_pass: Callable[[], object], times: int = 5) -> float:
    """Time over that of one pass."""
    before = best(one_pass)
    measured = best(run, times)
    return measured / min(before, best(one_pass))


def of_many_classes(n: int, name: str) -> Iterator[Figure]:
    """Figures of 1000 classes."""
    y, p = multiclass(n, 1000)
    labels = range(1000)

    def passing() -> object:
        return p.sum()

    def counted(**settings: Any) -> float:
        return in_passes(lambda: Tally.of(y, p, labels=labels, **settings), passing)

    def assessed(**settings: Any) -> float:
        return in_passes(lambda: assess(y, p, labels=labels, resamples=0, **settings), passing)

    ours = counted()
    yield Figure(name, "counted", ours, "passes")
    yield Figure(name, "counted, 2 threads", counted(n_jobs=2), "passes", 1.2 if n > 100_000 else None)
    yield Figure(name, "whole assessment", assessed(), "passes", 3 if KERNEL == "compiled kernel" else 10)
    if n > 100_000 or KERNEL != "compiled kernel":
        return
    for dtype in (np.float64, np.float16):
        other = p.astype(dtype)

        def counting(other: np.ndarray = other) -> object:
            return Tally.of(y, other, labels=labels, invalid="rescale" if other.dtype == np.float16 else "refuse")

        yield Figure(name, f"counted, {other.dtype}", in_passes(counting, passing), "passes of float32")
    z = logits(y, 1000, np.random.default_rng(SEED))
    counting_logits = in_passes(lambda: Tally.of(y, z, labels=labels, scale="logits"), passing)
    yield Figure(name, "counted, from logits", counting_logits, "passes")
    yield Figure(name, "NumPy's softmax alone", in_passes(lambda: softmax(z), passing), "passes")
    for parts in (["classes"], ["shards"]):
        yield Figure(name, f"counted, with {parts[0]}", counted(parts=parts), "passes")
    tally = Tally.of(y, p, labels=labels)
    for measured, target in (("isotonic", 0.5), ("shrunk-isotonic", None)):
        assessment = assess(tally, measured=measured)
        drawing = best(lambda assessment=assessment: assessment.intervals, 1)
        yield Figure(name, f"intervals from 400 replicates, {measured}", drawing, "seconds", target)
    for peer, run in peers(y, p):
        found = in_passes(run, passing, 1)
        yield Figure(name, peer, found, "passes")
        if peer == "scikit-learn's log_loss":
            yield Figure(name, "counted, of " + peer, ours / found, "", 1 / 50)


def softmax(z: np.ndarray) -> np.ndarray:
    """As one writes it."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def peers(y: np.ndarray, p: np.ndarray) -> Iterator[tuple[str, Callable[[], object]]]:
    """What others compute one figure with, where they are installed."""
    if installed("sklearn"):
        from sklearn.metrics import brier_score_loss, log_loss, top_k_accuracy_score

        labels = range(p.shape[1])
        yield "scikit-learn's log_loss", lambda: log_loss(y, p, labels=labels)
        yield "scikit-learn's brier_score_loss", lambda: brier_score_loss(y, p, labels=labels)
        yield "scikit-learn's top_k_accuracy_score", lambda: top_k_accuracy_score(y, p, k=5, labels=labels)
    if installed("torchmetrics"):
        import torch
        from torchmetrics.functional.classification import multiclass_calibration_error

        found = torch.from_numpy(p), torch.from_numpy(y)
        yield (
            "torchmetrics' calibration error",
            lambda: multiclass_calibration_error(*found, num_classes=p.shape[1], n_bins=15),
        )
    if installed("netcal"):
        from netcal.metrics import ECE

        yield "netcal's calibration error", lambda: ECE(15).measure(p, y)


def installed(name: str) -> bool:
    """Whether a package can be imported."""
    return importlib.util.find_spec(name) is not None


def of_two_classes(n: int) -> Iterator[Figure]:
    """Figures of one column."""
    y, p = binary(n)
    name = f"{n:,} binary rows"

    def passing() -> object:
        return p.sum(), y.sum()

    ours = in_passes(lambda: Tally.of(y, p), passing, 2)
    yield Figure(name, "counted", ours, "passes of both columns", 2)
    yield Figure(name, "counted, 2 threads", in_passes(lambda: Tally.of(y, p, n_jobs=2), passing, 2), "passes")
    rounded = p.round(2)
    yield Figure(name, "counted, 101 probabilities", in_passes(lambda: Tally.of(y, rounded), passing, 2), "passes", 2)
    if installed("sklearn") and KERNEL == "compiled kernel":
        from sklearn.metrics import log_loss

        peer = in_passes(lambda: log_loss(y, p), passing, 1)
        yield Figure(name, "scikit-learn's log_loss", peer, "passes")
        yield Figure(name, "counted, of scikit-learn's log_loss", ours / peer, "", 1 / 150)


def of_few_classes() -> Iterator[Figure]:
    """Processor time of ten classes and of one column, which others on the machine disturb less."""
    y, p = multiclass(1_000_000, 10)
    name, passing = "1,000,000 x 10", spent(p.sum)
    ours = spent(lambda: assess(y, p, labels=range(10), resamples=0))
    yield Figure(name, "whole assessment", ours * 1e3, "ns a row", 60)
    yield Figure(name, "whole assessment", ours / passing, "passes", 35)
    for peer, run in peers(y, p):
        if peer == "torchmetrics' calibration error":
            yield Figure(name, f"whole assessment, of {peer}", ours / spent(run), "", 1)
    y, p = binary(10_000_000)
    for outcomes, reported, target in ((y, p, 6), (y.astype(np.int8), p.astype(np.float32), 4)):
        found = spent(lambda y=outcomes, p=reported: assess(y, p, resamples=0)) * 100
        yield Figure("10,000,000 binary rows", f"whole assessment, {reported.dtype}", found, "ns a row", target)
    for n, classes in ((32_000, 2), (20_000, 3)):
        y, p = binary(n) if classes == 2 else multiclass(n, classes)
        by_value, cells = (
            spent(lambda y=y, p=p, k=classes, limit=limit: Tally.of(y, p, labels=range(k), exact_limit=limit))
            for limit in (65_536, 0)
        )
        yield Figure(f"{n:,} rows of {classes} classes", "counted by value, of cells", by_value / cells, "", 1)


def of_text() -> Iterator[Figure]:
    """Processor time of intervals and text, from a tally of 50,000 rows, and of 1000 replicates alone."""
    for classes in (2, 10, 1000):
        y, p = binary(50_000) if classes == 2 else multiclass(50_000, classes)
        tally, name = Tally.of(y, p, labels=range(classes)), f"50,000 rows of {classes:,} classes"
        yield Figure(name, "intervals and text", spent(lambda tally=tally: str(assess(tally))), "seconds", 0.15)
        drawing = spent(lambda tally=tally: assess(tally, resamples=1000).intervals)
        yield Figure(name, "intervals from 1000 replicates", drawing, "seconds", 0.05)


def spent(run: Callable[[], object], times: int = 3) -> float:
    """Shortest processor time of several, after one that loads what is needed."""
    found = []
    for _ in range(times + 1):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found[1:])


def of_files(n: int) -> Iterator[Figure]:
    """Rows of Parquet, from the shell and in a process that has loaded everything."""
    import polars as pl

    name = f"{n:,} binary rows of Parquet"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forecasts.parquet"
        y, p = binary(n)
        pl.DataFrame({"y": y.astype(np.int8), "p": p.astype(np.float32)}).write_parquet(path, row_group_size=1 << 20)
        del y, p
        command = ["-m", "unperplexed", "tally", str(path), "--truth", "y", "--prob", "p", "-o", f"{folder}/a.tally"]
        reading = best(path.read_bytes)
        yield Figure(name, "counted from the shell, of reading the bytes", started(*command, times=2) / reading, "", 5)
        here = best(lambda: tally_files(path, truth="y", prob="p"), 2)
        yield Figure(name, "counted in a warm process, of reading the bytes", here / reading, "")
        yield Figure(name, "counted in a warm process, nanoseconds a row", here / n * 1e9, "")
        both = best(lambda: tally_files(path, truth="y", prob="p", n_jobs=2), 2)
        yield Figure(name, "counted in a warm process, 2 threads, of reading the bytes", both / reading, "", 5)
        yield Figure(name, "memory of the shell's process", peak_of(*command), "MiB", 150)
        y, p = multiclass(10_000, 1000)
        pl.DataFrame({"y": y, **{f"p{k}": p[:, k] for k in range(1000)}}).write_parquet(path, row_group_size=5_000)
        wide = best(lambda: tally_files(path, truth="y", prob="p*"), 2) / best(lambda: pl.read_parquet(path), 2)
        yield Figure("10,000 x 1000 of Parquet, a column each", "counted", wide, "readings by polars")


def of_memory() -> Iterator[Figure]:
    """Memory beside the input, in processes of their own."""
    for kind, target in (("multiclass", 8.0), ("binary", 8.0)):
        found = float(run_here("--memory-of", kind))
        yield Figure("memory beside the input", kind, found, "MiB", target)


def of_growth(large: bool) -> Iterator[Figure]:
    """Exponents: slope of the logarithm of time over that of the size, where fixed costs of some 10 ms are small."""
    rows = [int(10**power) for power in np.arange(3, 8.1 if large else 7.1, 0.25)]
    classes = [2**power for power in range(1, 14)]
    makes: dict[str, tuple[list[int], Callable[[int], tuple[np.ndarray, np.ndarray]]]] = {
        "rows of one column": (rows, binary),
        "rows of 10 classes": ([n for n in rows if n <= (3e7 if large else 4e6)], lambda n: multiclass(n, 10)),
        "classes of 20,000 rows": (classes, lambda c: multiclass(20_000, c)),
    }
    for name, (sizes, make) in makes.items():
        times = []
        for size in sizes:
            y, p = make(size)
            labels = range(2 if p.ndim == 1 else p.shape[1])
            times.append(best(lambda y=y, p=p, labels=labels: Tally.of(y, p, labels=labels, exact_limit=0), 3))
        for k, (size, seconds) in enumerate(zip(sizes, times, strict=True)):
            if k % 8 == 0 and "classes of" not in name:
                yield Figure("growth", f"{name}: {size:,}", seconds * 1e9 / size, "ns a row")
        upper = [k for k, size in enumerate(sizes) if size * 10 >= sizes[-1]]
        exponent = float(np.polyfit(np.log([sizes[k] for k in upper]), np.log([times[k] for k in upper]), 1)[0])
        yield Figure("growth", f"{name}: exponent from {sizes[upper[0]]:,} to {sizes[-1]:,}", exponent, "", 1.05)


def of_starting() -> Iterator[Figure]:
    """Times of processes that do next to nothing."""
    nothing, of_numpy, ours = (started("-c", code) for code in ("pass", "import numpy", "import unperplexed"))
    version = started("-m", "unperplexed", "--version")
    loaded = started("-c", "from unperplexed import assess")
    yield Figure("starting", "import unperplexed, of import numpy", ours / of_numpy, "", 1.2)
    yield Figure("starting", "--version, of 2.5 x python -c pass + 0.1 s", version / (2.5 * nothing + 0.1), "", 1)
    yield Figure("starting", "from unperplexed import assess, of import numpy", loaded / of_numpy, "")


def of_commands() -> Iterator[Figure]:
    """Processor time of whole commands, intervals and diagnosis included, beside processes that only read the file."""
    import polars as pl

    examples = Path(__file__).parents[1] / "examples"
    loading = ["-c", "import numpy, polars"]
    with tempfile.TemporaryDirectory() as folder:
        classes, column = Path(folder) / "classes.csv", Path(folder) / "column.csv"
        y, p = multiclass(10_000, 10)
        pl.DataFrame({"y": y, **{f"p{k}": p[:, k] for k in range(10)}}).write_csv(classes, float_precision=6)
        y, p = binary(1_000_000)
        pl.DataFrame({"y": y, "p": p}).write_csv(column, float_precision=6)
        cases = {
            "569 rows": (examples / "breast_cancer.csv", "--truth diagnosis --prob malignant", loading),
            "442 rows, overconfident": (
                examples / "gallery" / "diabetes.csv",
                "--truth progressed --prob yes=boosted",
                loading,
            ),
            "10,000 x 10": (classes, "--truth y --prob p*", reading(classes)),
            "1,000,000 binary rows": (column, "--truth y --prob p", reading(column)),
        }
        for name, (path, options, beside) in cases.items():
            command = ["-m", "unperplexed", "assess", str(path), *options.split()]
            pairs = [(processor_time(*command), processor_time(*beside)) for _ in range(6)][1:]
            ours, others = (min(times) for times in zip(*pairs, strict=True))
            unit = "starts with NumPy and polars" if beside is loading else "readings by polars"
            yield Figure("assess, whole command", name, ours / others, unit, 2.5 if beside is loading else 2)


def reading(path: Path) -> list[str]:
    """Arguments of a process that reads a file."""
    return ["-c", f"import polars; polars.read_csv({str(path)!r})"]


def processor_time(*arguments: str) -> float:
    """Processor time of a process of its own, which others on the machine disturb less than the time on the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def started(*arguments: str, times: int = 7) -> float:
    """Shortest time of a process of its own."""
    return best(lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True), times)


def peak_of(*arguments: str) -> float:
    """Largest resident memory of a process of its own, in MiB."""
    code = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True,"
        " stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    run = [sys.executable, "-c", code, *arguments]
    return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def run_here(*arguments: str, **environment: str) -> str:
    """Output of this script in a process of its own."""
    run = [sys.executable, __file__, *arguments]
    return subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}).stdout


def memory_here(kind: str) -> float:
    """Largest resident memory of this process beside the input while that is counted, in MiB. On Linux."""
    y, p = binary(10_000_000) if kind == "binary" else multiclass(50_000, 1000)
    labels = range(1 + int(y.max()))
    some = slice(1_000_000 // p[0].size)
    Tally.of(y[some], p[some], labels=labels)  # what is loaded and kept once
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_in("VmRSS")
    Tally.of(y, p, labels=labels)
    return memory_in("VmHWM") - before


def memory_in(field: str) -> float:
    """Memory of this process, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def of_numpy() -> Iterator[Figure]:
    """The same figures without the compiled kernel."""
    found = json.loads(run_here("--only", "classes", "columns", "--lines", UNPERPLEXED_KERNEL="numpy"))
    for figure in map(Figure._make, found):
        yield figure._replace(group=f"{figure.group}, NumPy")


GROUPS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "classes": lambda _: of_many_classes(50_000, "50,000 x 1000"),
    "large": lambda _: of_many_classes(600_000, "600,000 x 1000"),
    "columns": lambda _: of_two_classes(10_000_000),
    "few": lambda _: of_few_classes(),
    "text": lambda _: of_text(),
    "files": lambda large: of_files(100_000_000 if large else 10_000_000),
    "memory": lambda _: of_memory(),
    "growth": of_growth,
    "starting": lambda _: of_starting(),
    "commands": lambda _: of_commands(),
    "numpy": lambda _: of_numpy(),
}
"""By name; more rows if a large run is asked for."""


def figures(only: list[str], large: bool) -> Iterator[Figure]:
    """All figures that are asked for."""
    for name in only or [name for name in GROUPS if large or name != "large"]:
        yield from GROUPS[name](large)


def about() -> dict[str, Any]:
    """Machine and versions."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    names = [name for name in ("unperplexed", "numpy", "sklearn", "torchmetrics", "netcal") if installed(name)]
    versions = {name: importlib.import_module(name).__version__ for name in names}
    processor = model[0].partition(": ")[2] if model else platform.processor()
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "kernel": KERNEL,
        "python": platform.python_version(),
        **versions,
    }


def drawn(found: list[Figure], path: Path) -> None:
    """Bars of what is measured in passes, on a logarithmic axis."""
    import matplotlib.pyplot as plt

    bars = [figure for figure in found if figure.unit.startswith("passes")][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.26 * len(bars)), layout="constrained")
    ours = ["#1b6ca8" if not any(peer in bar.name for peer in ("'s ", "s' ")) else "#b0b0b0" for bar in bars]
    shown = axes.barh([f"{bar.group}: {bar.name}" for bar in bars], [bar.measured for bar in bars], color=ours)
    axes.bar_label(shown, [f"{bar.measured:.3g}" for bar in bars], padding=3)
    for place, bar in enumerate(bars):
        if bar.target is not None:
            axes.plot([bar.target] * 2, [place - 0.4, place + 0.4], color="black")
    axes.set(xscale="log", xlabel="passes over the same array (targets: black lines)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main() -> None:
    """Print the table in Markdown; write it as JSON and as a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], choices=GROUPS, help="some groups of figures")
    parser.add_argument("--large", action="store_true", help="also 2.4 GB of forecasts, and more rows")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--memory-of", choices=["multiclass", "binary"], help=argparse.SUPPRESS)
    parser.add_argument("--lines", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # so that processes find bytecode, as in an installed package
    if arguments.memory_of:
        print(memory_here(arguments.memory_of))
        return
    if arguments.lines:
        print(json.dumps(list(figures(arguments.only, arguments.large))))
        return
    print(", ".join(f"{name} {value}" for name, value in about().items()) + "\n")
    print("| forecasts | figure | measured | target |\n|---|---|---|---|")
    found = []
    for figure in figures(arguments.only, arguments.large):
        target = "" if figure.target is None else f"{figure.target:.2g}"
        print(f"| {figure.group} | {figure.name} | {figure.measured:.3g} {figure.unit} | {target} |", flush=True)
        found.append(figure)
    if arguments.json:
        contents = {"about": about(), "figures": [figure._asdict() for figure in found]}
        arguments.json.write_text(json.dumps(contents, indent=1) + "\n")
    if arguments.picture:
        drawn(found, arguments.picture)


if __name__ == "__main__":
    main()
