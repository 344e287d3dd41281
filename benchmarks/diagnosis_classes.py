"""Size and naming of the diagnosis for more than two classes, on simulated forecasts.

Each run draws forecasts and, from the map of a known error, their outcomes. A line of the result counts how often
the gate rejected and what was named. Run `python benchmarks/diagnosis_classes.py --out FILE`.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diagnosis import earlier
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.multiclass import diagnose_classes
from unperplexed.maps.two import tail


class Case(NamedTuple):
    """One design."""

    name: str
    classes: int
    rows: int
    runs: int
    error: str = "none"
    size: float = 0.0
    sample: str = "rows"
    """"rows", "weights", or the number of clusters."""
    spread: float = 2.0
    """Standard deviation of the logits as predicted."""


def simulate(rng: np.random.Generator, case: Case) -> tuple[Any, ...]:
    """Draw forecasts, outcomes with the error, weights and clusters; which classes are biased."""
    z = case.spread * rng.normal(size=(case.rows, case.classes)) + 0.5 * rng.normal(size=case.classes)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    p, biases = np.exp(log_p), np.zeros(case.classes)
    f, noise = log_p.copy(), 0.0
    if case.error in ("confidence", "both"):
        f *= 1 + case.size
    if case.error in ("classes", "both"):
        biases = (
            0.3 * rng.normal(size=case.classes) if case.error == "both" else case.size * rng.normal(size=case.classes)
        )
    if case.error == "few":
        biases[:3] = case.size * np.array([1, -1, 1])
    if case.error == "tail":
        f += case.size * tail(log_p - np.log1p(-p))
    if case.error == "noise":
        noise = case.size
    f = np.exp(f + biases - f.max(axis=1, keepdims=True))
    q = (1 - noise) * f / f.sum(axis=1, keepdims=True) + noise / case.classes
    u, weights, cluster = rng.uniform(size=case.rows), None, None
    if case.sample == "weights":
        weights = rng.exponential(size=case.rows)
    elif case.sample != "rows":  # rows of a cluster share a uniform number with probability 0.55
        cluster = np.arange(case.rows) % int(case.sample)
        u = np.where(rng.uniform(size=case.rows) < 0.55, rng.uniform(size=int(case.sample))[cluster], u)
    truth = (q.cumsum(axis=1) < u[:, None]).sum(axis=1).clip(max=case.classes - 1)
    return p, truth, weights, cluster


EXPECTED = {
    "none": set(),
    "confidence": {"confidence"},
    "classes": {"bias"},
    "both": {"confidence", "bias"},
    "few": {"bias"},
    "tail": {"tail"},
    "noise": {"noise"},
}


def run(case: Case, seed: int) -> dict[str, Any]:
    """Count what is found in the runs of a case."""
    rng, found, rejected, right, offered = np.random.default_rng(seed), Counter[str](), 0, 0, 0
    innocent = 0
    start = time.perf_counter()
    for _ in range(case.runs):
        block = RowBlock(*simulate(rng, case))
        diagnosis = diagnose_classes(lambda block=block: iter([block]), tuple(range(case.classes)))  # type: ignore[misc]
        rejected += diagnosis.p_value < 0.05
        names, expected = set(diagnosis.errors), EXPECTED[case.error]
        found["+".join(sorted(names)) or "nothing"] += 1
        right += names == expected
        offered += names == expected or expected in [set(each) for each in diagnosis.alternatives]
        innocent += case.error == "few" and _blames_innocent(diagnosis)
    seconds = (time.perf_counter() - start) / case.runs
    named = "; ".join(f"{name} {n}" for name, n in found.most_common(4))
    return {
        **case._asdict(),
        "rejected": rejected / case.runs,
        "named_rightly": right,
        "offered": offered,
        "innocent_class_named": innocent if case.error == "few" else "",
        "found": named,
        "seconds": f"{seconds:.2f}",
    }


def _blames_innocent(diagnosis: Any) -> bool:
    """Whether a class without an error is named: only classes 0, 1 and 2 have one."""
    words = " ".join(finding.words for finding in diagnosis.findings if finding.error == "bias")
    return any(f"class '{at}'" in words for at in range(3, 1000)) or " more" in words


def cases(factor: float) -> list[Case]:
    """All designs, with so many times the runs."""

    def of(count: int) -> int:
        return max(1, round(count * factor))

    size = [
        Case("size", classes, rows, of(runs), sample=sample)
        for classes, rows, runs, sample in (
            (3, 1000, 1000, "rows"),
            (10, 1000, 1000, "rows"),
            (10, 10000, 300, "rows"),
            (100, 1000, 500, "rows"),
            (100, 10000, 100, "rows"),
            (1000, 1000, 60, "rows"),
            (1000, 10000, 15, "rows"),
            (10, 1000, 500, "weights"),
            (100, 2000, 200, "weights"),
            (3, 2000, 500, "50"),
            (10, 2000, 500, "50"),
            (10, 2000, 500, "500"),
            (100, 2000, 200, "200"),
        )
    ]
    errors = [("none", 0.0), ("confidence", -0.2), ("classes", 0.3), ("both", -0.2)]
    errors += [("few", 0.4), ("noise", 0.1), ("tail", -0.2)]
    naming = [
        Case("naming", 10, rows, of(runs), error, value)
        for rows, runs in ((2000, 100), (10000, 40))
        for error, value in errors
    ]
    dependent = [
        Case("naming", 10, 2000, of(100), error, -0.3 if error == "confidence" else 0.4, sample)
        for sample in ("weights", "200")
        for error in ("confidence", "classes")
    ]
    large = [
        Case("naming", 100, 10000, of(20), "few", 0.4),
        Case("naming", 100, 10000, of(10), "both", -0.2),
        Case("naming", 100, 10000, of(10), "classes", 0.15),
        Case("naming", 100, 10000, of(10), "tail", -0.2),
        Case("naming", 100, 10000, of(10), "noise", 0.1),
        Case("naming", 1000, 10000, of(3), "confidence", -0.2),
        Case("naming", 1000, 10000, of(3), "few", 0.8),
        *(Case("naming", 100, rows, of(40), "confidence", -0.5, spread=6.0) for rows in (200, 1000)),
    ]
    extremes = [
        Case("size", classes, rows, of(runs), sample=sample)
        for classes, rows, runs, sample in (
            (3, 200, 1000, "rows"),
            (10, 200, 1000, "rows"),
            (100, 200, 500, "rows"),
            (1000, 200, 60, "rows"),
            (10, 50_000, 100, "rows"),
            (3, 10_000, 500, "rows"),
            (3, 50_000, 200, "rows"),
            (3, 1000, 500, "weights"),
            (100, 2000, 200, "50"),
        )
    ]
    return size + naming + dependent + large + extremes


def main(arguments: list[str] | None = None) -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/diagnosis_classes.csv"))
    parser.add_argument("--factor", type=float, default=1.0, help="so many times the default runs (default: 1)")
    parser.add_argument("--only", default="", help="only cases of this name: size or naming; the file keeps the others")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    options = parser.parse_args(arguments)
    kept = earlier(options.out, Case._fields) if options.only else {}
    lines = []
    for number, case in enumerate(cases(options.factor)):
        if options.only in ("", case.name):
            lines.append(run(case, 1000 * options.seed + number))
            print(*lines[-1].values(), sep=" | ", file=sys.stderr, flush=True)
        elif (line := kept.get(tuple(map(str, case)))) is not None:
            lines.append(line)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
