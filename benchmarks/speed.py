"""What commands and functions cost in processor time, as ratios to a named contestant in the same run.

    python benchmarks/speed.py [WORD ...] [--turns T] [--out FILE.csv]
    python benchmarks/speed.py --growth [WORD ...] [--out FILE.csv]

Both sides take turns, and the least processor time of each counts, so that other work on the machine moves the ratio
little. Threads of libraries are as people have them. Commands are processes of their own. Words choose the lines that
have one of them. With --growth, processor time and the peak of memory of a command are given from few to many rows,
classes, groups, files and clusters. The last runs are speed.csv and growth.csv in docs/evidence/studies.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from unperplexed import Tally, assess, find_groups
from unperplexed.calibration.where.conditions import columns_of_values
from unperplexed.calibration.where.naming import FoundGroup, Search
from unperplexed.calibration.where.rules import SearchedRows
from unperplexed.kernels.compiled import KERNEL

SEED = 20_261_129
EXAMPLES = Path(__file__).parents[1] / "examples"
LOADING = [sys.executable, "-c", "import numpy, polars"]
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


Word = str | Path | Callable[[], Path]


class Contest(NamedTuple):
    """A line of the table: what we do, beside what."""

    what: str
    contestant: str
    ours: Callable[[], float]
    """Does it and returns its processor time."""
    theirs: Callable[[], float]
    target: float | None = None
    """At most this ratio."""


def multiclass(n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Softmax of logits like those of ImageNet's validation set: the true class is ahead in most rows."""
    rng = np.random.default_rng(SEED)
    p, y = np.empty((n, classes), dtype=np.float32), rng.integers(0, classes, n)
    for start in range(0, n, 10_000):  # in parts, so that making them takes little memory
        part, at = p[start : start + 10_000], y[start : start + 10_000]
        part[:] = 2.2 * rng.standard_normal(part.shape, dtype=np.float32)
        part[np.arange(len(at)), at] += 8 * rng.uniform(size=len(at)).astype(np.float32) + 3
        np.exp(part - part.max(axis=1, keepdims=True), out=part)
        part /= part.sum(axis=1, keepdims=True)
    return y, p


def overconfident(n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Softmax of 1.5 times the logits that outcomes are drawn from, so that there is an error to find and to mend."""
    rng = np.random.default_rng(SEED)
    z = 2 * rng.standard_normal((n, classes))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    e = np.exp(1.5 * (z - z.max(axis=1, keepdims=True)))
    return y, e / e.sum(axis=1, keepdims=True)


def binary(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated probabilities of one class."""
    rng = np.random.default_rng(SEED)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p).astype(np.int64), p


def process(*command: str, **environment: str) -> tuple[float, float]:
    """Processor time of a command in seconds, and its peak of memory in MiB."""
    code = (
        "import json, resource, subprocess, sys; r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL,"
        " stderr=subprocess.PIPE); u = resource.getrusage(resource.RUSAGE_CHILDREN); assert r.returncode < 2, r.stderr;"
        " print(json.dumps([u.ru_utime + u.ru_stime, u.ru_maxrss / 1024]))"
    )
    run = [sys.executable, "-c", code, *command]
    done = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    seconds, memory = json.loads(done.stdout)
    return seconds, memory


def command(*words: Word, **environment: str) -> Callable[[], float]:
    """A command of the program as a process of its own."""
    return lambda: process(sys.executable, "-m", "unperplexed", *map(text_of, words), **environment)[0]


def script(code: str, *words: Word) -> Callable[[], float]:
    """A line of Python as a process of its own."""
    return lambda: process(sys.executable, "-c", code, *map(text_of, words))[0]


def text_of(word: Word) -> str:
    """Word of a command; a file is written when it is asked for."""
    return str(word() if callable(word) else word)


def here(run: Callable[[], object]) -> Callable[[], float]:
    """Do it in this process."""

    def spent() -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    return spent


READ_CSV = "import sys, polars; polars.read_csv(sys.argv[1])"
SKLEARN = (
    "import sys, numpy as np, polars as pl; from sklearn.metrics import brier_score_loss, log_loss;"
    " f = getattr(pl, 'read_' + sys.argv[1].rpartition('.')[2])(sys.argv[1]); y = f['y'].to_numpy();"
    " p = f.drop('y').to_numpy(); log_loss(y, p); brier_score_loss(y, p)"
)
JSON = "import sys, json; [json.loads(line) for line in open(sys.argv[1], 'rb')]"
SCORES = "scikit-learn's log loss and Brier score"
START = "import numpy, polars"


class Tables(NamedTuple):
    """Files that are written once, when they are asked for."""

    folder: Path

    def __call__(self, name: str, table: Callable[[], pl.DataFrame]) -> Callable[[], Path]:
        """Name a file and what is in it."""
        return partial(self.path, self.folder / name, table)

    def path(self, path: Path, table: Callable[[], pl.DataFrame]) -> Path:
        """Write the file if it is not there."""
        if not path.exists():
            frame = table()
            frame.write_csv(path, float_precision=6) if path.suffix == ".csv" else frame.write_parquet(path)
        return path


def of_rows(n: int, groups: int = 0) -> pl.DataFrame:
    """A table of outcomes and probabilities of two classes, in groups of equal size if asked for."""
    y, p = binary(n)
    columns = {"y": y, "p": p} | ({"g": np.random.default_rng(0).permutation(n) % groups} if groups else {})
    return pl.DataFrame(columns)


def of_classes(y: np.ndarray, p: np.ndarray) -> pl.DataFrame:
    """A table of outcomes and a column for each class."""
    return pl.DataFrame({"y": y, **{f"p{k}": p[:, k] for k in range(p.shape[1])}})


def of_days() -> pl.DataFrame:
    """A year of 200 forecasts a day."""
    return of_rows(73_000).with_columns(day=pl.date(2025, 1, 1) + pl.duration(days=pl.int_range(pl.len()) // 200))


def logs(path: Path, size: int) -> Path:
    """Write lines of a completions log of so many bytes, five probable tokens each."""
    if path.exists():
        return path
    rng = np.random.default_rng(SEED)
    with path.open("w") as file:
        while file.tell() < size:
            content = []
            for word in rng.integers(0, 50_000, 100):
                values = np.sort(-rng.exponential(2, 5))[::-1].round(6).tolist()
                top = [{"token": f" w{word + k}", "logprob": v, "bytes": None} for k, v in enumerate(values)]
                content.append({**top[0], "top_logprobs": top})
            file.write(json.dumps({"choices": [{"logprobs": {"content": content}}]}) + "\n")
    return path


def contests(folder: Path) -> Iterator[Contest]:
    """All lines; tables are written when a line comes up."""
    write, starting = Tables(folder), script(START)
    usual = ("--truth", "y", "--prob", "p")
    yield Contest(
        "`assess`, 569 rows",
        START,
        command("assess", EXAMPLES / "breast_cancer.csv", "--truth", "diagnosis", "--prob", "malignant"),
        starting,
        1.5,
    )
    ten = write("ten.csv", lambda: of_classes(*multiclass(10_000, 10)))
    classes = ("--truth", "y", "--prob", "p*")
    yield Contest("`assess`, 10,000 x 10, CSV", SCORES, command("assess", ten, *classes), script(SKLEARN, ten), 0.5)
    many = write("many.csv", lambda: of_rows(1_000_000))
    yield Contest(
        "`assess`, 1,000,000 rows, CSV",
        "polars' reading of the file",
        command("assess", many, *usual),
        script(READ_CSV, many),
        2.5,
    )
    for form, target in (("csv", 0.3), ("parquet", 0.2)):
        path = write(f"most.{form}", lambda: of_rows(10_000_000))
        name = f"`assess`, 10,000,000 rows, {'CSV' if form == 'csv' else 'Parquet'}"
        yield Contest(name, SCORES, command("assess", path, *usual), script(SKLEARN, path), target)
    grouped = write("grouped.parquet", lambda: of_rows(1_000_000, 1_000))
    yield Contest(
        "`assess --by`, 1,000,000 rows in 1,000 groups",
        START,
        command("assess", grouped, *usual, "--by", "g"),
        starting,
        12,
    )
    wrong = write("wrong.csv", lambda: of_classes(*overconfident(10_000, 10)))
    mended = ("recalibrate", wrong, *classes, "-o", folder / "map.json")
    yield Contest("`recalibrate`, 10,000 x 10", START, command(*mended), starting, 6)
    yield Contest(
        "`recalibrate`, 10,000 x 10", "the same with one thread", command(*mended), command(*mended, **ONE_THREAD), 1.3
    )
    hundred = write("hundred.parquet", lambda: of_classes(*overconfident(20_000, 100)))
    yield Contest(
        "`recalibrate`, 20,000 x 100",
        START,
        command("recalibrate", hundred, *classes, "-o", folder / "hundred-map.json"),
        starting,
        7,
    )
    two = write("two.csv", lambda: of_rows(10_000).with_columns(q=(pl.col("p") * 0.8 + 0.1).round(6)))
    pair = ("compare", two, "--truth", "y", "--forecaster", "p=p", "--forecaster", "q=q")
    yield Contest("`compare`, 10,000 rows", START, command(*pair), starting)
    yield Contest("`compare`, 10,000 rows", "the same with one thread", command(*pair), command(*pair, **ONE_THREAD), 1)
    year = write("year.parquet", of_days)
    yield Contest("`monitor`, 365 days", START, command("monitor", year, *usual, "--time", "day"), starting, 4.1)
    yield Contest(
        "`decide`, 30,000 rows",
        START,
        command("decide", write("d.csv", lambda: of_rows(30_000)), *usual),
        starting,
        3.4,
    )
    log = partial(logs, folder / "log.jsonl", 50 << 20)
    yield Contest("`lm`, 50 MiB", "`json.loads`", command("lm", log), script(JSON, log), 2.2)
    yield from in_process()


def in_process() -> Iterator[Contest]:
    """Lines of functions."""
    from sklearn.metrics import brier_score_loss, log_loss

    peer = "scikit-learn's log loss"
    y, p = binary(10_000_000)
    yield Contest(
        "`Tally.of`, 10,000,000 rows", peer, here(lambda: Tally.of(y, p)), here(lambda: log_loss(y, p)), 0.035
    )
    y, p = y[:1_000_000], np.stack([1 - p, p], axis=1)[:1_000_000]
    yield Contest(
        "`Tally.of`, 1,000,000 rows of two columns",
        peer,
        here(lambda y=y, p=p: Tally.of(y, p)),
        here(lambda y=y, p=p: log_loss(y, p)),
        0.1,
    )
    few, many = multiclass(1_000_000, 10), multiclass(10_000, 1000)
    for (y, p), name, run, targets in (
        (few, SCORES, lambda y, p, c: (log_loss(y, p, labels=c), brier_score_loss(y, p, labels=c)), (1, 1)),
        (many, "scikit-learn's Brier score", lambda y, p, c: brier_score_loss(y, p, labels=c), (0.24, 0.38)),
    ):
        n, classes = p.shape
        theirs = here(partial(run, y, p, range(classes)))
        yield Contest(
            f"`Tally.of`, {n:,} x {classes}",
            name,
            here(partial(Tally.of, y, p, labels=range(classes))),
            theirs,
            targets[0],
        )
        yield Contest(
            f"`assess(resamples=0)`, {n:,} x {classes}",
            name,
            here(partial(assess, y, p, labels=range(classes), resamples=0)),
            theirs,
            targets[1],
        )
    y, p = multiclass(50_000, 1000)
    yield Contest(
        "`print(assess(y, p))`, 50,000 x 1000",
        peer,
        here(lambda: str(assess(y, p, labels=range(1000)))),
        here(lambda: log_loss(y, p, labels=range(1000))),
        1.5,
    )
    if data := os.environ.get("UNPERPLEXED_DATA"):
        yield from searches(Path(data).parent / "reference")


def searches(folder: Path) -> Iterator[Contest]:
    """Searches for groups, without the gain, beside the executable reference of the search in a folder."""
    sys.path.insert(0, str(folder))
    reference = importlib.import_module("where_reference")
    rng = np.random.default_rng(SEED)
    for n, columns, target in ((6000, 9, 0.5), (6000, 20, 0.5)):
        table = {f"x{at}": rng.normal(size=n) for at in range(columns - 1)} | {"kind": rng.choice(list("abcdefg"), n)}
        s = rng.normal(-0.5, 1.2, n)
        q = 1 / (1 + np.exp(-s - ((table["x1"] > 1) & (table["x2"] < 0))))
        y, p = (rng.random(n) < q).astype(float), 1 / (1 + np.exp(-s))

        def ours(y: np.ndarray = y, s: np.ndarray = s, table: dict[str, np.ndarray] = table) -> tuple[FoundGroup, ...]:
            columns = [column for name, values in table.items() for column in columns_of_values(name, values)]
            return Search(columns).found(SearchedRows.of(s, y)).groups

        theirs = partial(reference.find_groups, y, p, table)
        yield Contest(f"`find_groups`, {n:,} x {columns}", "its reference", here(ours), here(theirs), target)
        cross_fitted = partial(find_groups, y, p, among=table)
        name = f"`find_groups` with its gain, {n:,} x {columns}"
        yield Contest(name, "its reference without", here(cross_fitted), here(theirs))


def ratio(contest: Contest, turns: int) -> dict[str, Any]:
    """Take turns, after one each that loads what is needed, and compare the least times."""
    times = [(contest.ours(), contest.theirs()) for _ in range(turns + 1)][1:]
    ours, theirs = (min(each) for each in zip(*times, strict=True))
    target = "" if contest.target is None else f"{contest.target:g}"
    return {
        "what": contest.what,
        "compared with": contest.contestant,
        "ratio": f"{ours / theirs:.2g}",
        "target": target,
        "seconds": f"{ours:.2g}",
    }


def growth(folder: Path) -> Iterator[tuple[str, str, Callable[[], list[Word]]]]:
    """What grows, how large it is, and the words of the command."""
    write, usual = Tables(folder), ("--truth", "y", "--prob", "p")

    def of_n(n: int) -> list[Word]:
        return ["assess", write(f"{n}.parquet", partial(of_rows, n)), *usual]

    def of_c(c: int, n: int) -> list[Word]:
        y, p = multiclass(n, c)
        np.savez(folder / "classes.npz", y=y, p=p)
        return ["assess", folder / "classes.npz", *usual]

    def of_g(g: int, option: str) -> list[Word]:
        return ["assess", write(f"g{g}.parquet", partial(of_rows, 1_000_000, g)), *usual, option, "g"]

    def of_f(files: int) -> list[Word]:
        inside, size = folder / f"files{files}", 1_000_000 // files
        inside.mkdir()
        for k, part in enumerate(of_rows(1_000_000).iter_slices(size)):
            part.write_parquet(inside / f"{k:05}.parquet")
        return ["assess", *sorted(inside.iterdir()), *usual]

    for n in (10_000, 100_000, 1_000_000, 10_000_000, 30_000_000):
        yield "rows", f"{n:,}", partial(of_n, n)
    for c in (2, 10, 100, 1000, 10_000):
        n = min(20_000_000 // c, 20_000)
        yield f"classes, {n:,} rows", f"{c:,}", partial(of_c, c, n)
    for g in (1, 10, 100, 1_000, 10_000, 100_000):
        yield "groups, 1,000,000 rows", f"{g:,}", partial(of_g, g, "--by")
    for g in (100, 10_000, 1_000_000):
        yield "clusters, 1,000,000 rows", f"{g:,}", partial(of_g, g, "--clusters")
    for files in (1, 20, 200, 2_000):
        yield "files, 1,000,000 rows", f"{files:,}", partial(of_f, files)


def grown(what: str, size: str, words: Callable[[], list[Word]]) -> dict[str, Any]:
    """Processor time and peak of memory of a command, the least of two runs."""
    arguments = list(map(text_of, words()))
    runs = [process(sys.executable, "-m", "unperplexed", *arguments) for _ in range(2)]
    seconds, memory = map(min, zip(*runs, strict=True))
    return {"what grows": what, "size": size, "seconds": f"{seconds:.2f}", "MiB": f"{memory:.0f}"}


def about() -> str:
    """Machine and versions."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "polars", "scikit-learn")]
    processor = model[0].partition(": ")[2] if model else platform.processor()
    return ", ".join([processor, f"{os.cpu_count()} cores", KERNEL, f"Python {platform.python_version()}", *versions])


def main() -> None:
    """Print the table as it grows, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # so that processes find bytecode, as in an installed package
    print(about(), flush=True)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        lines = growth(Path(folder)) if arguments.growth else contests(Path(folder))
        for line in lines:
            if arguments.words and not any(word in f"{line[0]} {line[1]}" for word in arguments.words):
                continue
            found.append(grown(*line) if arguments.growth else ratio(line, arguments.turns))
            print(" | ".join(found[-1].values()), flush=True)
            if arguments.out:
                pl.DataFrame(found).write_csv(arguments.out)


if __name__ == "__main__":
    main()
