"""Size, naming and claimed gains of the diagnosis of two classes, on simulated forecasts.

    python benchmarks/diagnosis.py [--only size|samples|naming|shared|surprise] [--factor F] [--seed S] [--out FILE.csv]

Each run draws predicted log-odds and, from the map of a known error, outcomes. A line of the result counts how often
the gate rejected, how often anything was found (rows predicted as certain included), how often the right errors were
named or at least among the alternatives, and how often the 95% intervals of the rightly named ones held the truth. Its
last columns compare the gain that a diagnosis claims with what its own remedy brings on other rows. The last whole run
is results/diagnosis.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from scipy.stats import norm

from unperplexed.calibration.diagnosis.binary import PARAMETERS, diagnose_binary
from unperplexed.calibration.diagnosis.binary_data import data_of_rows
from unperplexed.calibration.diagnosis.choice import BOUNDS
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.result import Diagnosis
from unperplexed.maps.cells import NO_PRIOR, Cells, Counts, fitted_cells, map_of
from unperplexed.maps.fit import Prior
from unperplexed.maps.parameters import LAPSE
from unperplexed.maps.two import BinaryMap

Values = NDArray[np.float64]
CERTAIN = math.log(1e-12)
LEVEL = 0.05


def half_certain(rng: np.random.Generator, n: int) -> Values:
    """Log-odds of which half are those of 1e-12."""
    return np.where(rng.random(n) < 0.5, CERTAIN, rng.normal(0, 2, n))


DESIGNS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "usual": lambda rng, n: rng.normal(0, 2, n),
    "narrow": lambda rng, n: rng.normal(0, 0.3, n),
    "sharp": lambda rng, n: rng.normal(0, 5, n),
    "rare": lambda rng, n: rng.normal(-4, 1, n),
    "very rare": lambda rng, n: rng.normal(-6, 1.5, n),
    "one side": lambda rng, n: rng.gamma(2, 1, n),
    "grid of 0.1": lambda rng, n: np.round(rng.normal(0, 4, n), 1),
    "three values": lambda rng, n: rng.choice([-3.0, 0.3, 1.0], n),
    "half at 1e-12": half_certain,
    "two groups": lambda rng, n: rng.choice([-4.0, 2.0], n) + rng.normal(0, 0.5, n),
}
"""Predicted log-odds."""

ERRORS: dict[str, dict[str, float]] = {
    "none": {},
    "bias 0.5": {"bias": 0.5},
    "bias 0.2": {"bias": 0.2},
    "slope e^0.4": {"confidence": math.exp(0.4) - 1},
    "slope e^-0.4": {"confidence": math.exp(-0.4) - 1},
    "slope e^0.15": {"confidence": math.exp(0.15) - 1},
    "asymmetry 0.4": {"asymmetry": 0.4},
    "tail -0.3": {"tail": -0.3},
    "noise 10%": {"noise": 0.1},
    "bias and slope 0.4": {"bias": 0.4, "confidence": math.exp(0.4) - 1},
    "bias and slope 0.2": {"bias": 0.2, "confidence": math.exp(0.2) - 1},
    "bias 0.4 and noise 10%": {"bias": 0.4, "noise": 0.1},
}
"""Parameters of the map from predicted to true log-odds."""


class Sample(NamedTuple):
    """How rows are drawn: with exponential weights or not, in clusters or not."""

    weighted: bool = False
    clusters: int = 0
    correlation: float = 0.0
    """Of the normal values behind the outcomes of a cluster; that of its predictions is 0.5, or 0."""
    alike: bool = True
    unequal: bool = False
    """Whether sizes of clusters are lognormal, with standard deviation 1."""
    shared: Literal["", "beta", "event"] = ""
    """Rows of a cluster have one prediction, and one outcome ("event") or outcomes of one beta probability ("beta")."""

    def __str__(self) -> str:
        """Return a description for the table."""
        if self.shared:
            of = "that share an event" if self.shared == "event" else f"of beta-binomial outcomes, {self.correlation:g}"
            return f"{self.clusters} clusters {of}"
        alike = "" if self.alike else ", predictions unlike"
        unequal = " unequal" if self.unequal else ""
        clusters = (
            f"{self.clusters}{unequal} clusters of correlation {self.correlation:g}{alike}" if self.clusters else ""
        )
        return " and ".join(filter(None, ("weights" * self.weighted, clusters))) or "rows"


class Case(NamedTuple):
    """One line of the result."""

    study: str
    design: str
    error: str
    sample: Sample
    n: int
    runs: int


def mended(s: Values, parameters: dict[str, float]) -> Values:
    """Return calibrated probabilities, given the parameters of errors."""
    coefficients = {PARAMETERS[name]: x for name, x in parameters.items() if name != "noise"}
    return np.asarray(BinaryMap("", coefficients, parameters.get("noise", 0.0)).probabilities(s, level=False)[:, 1])


def draw(rng: np.random.Generator, case: Case) -> RowBlock:
    """Draw predictions and outcomes."""
    n, sample = case.n, case.sample
    s, cluster = DESIGNS[case.design](rng, n), None
    level = rng.random(n)
    if sample.shared:
        cluster = np.arange(n) % sample.clusters
        s = s[: sample.clusters]
        p = mended(s, ERRORS[case.error])
        if sample.shared == "event":
            level = rng.random(sample.clusters)[cluster]
        else:
            precision = 1 / sample.correlation - 1
            once = rng.beta(p * precision, (1 - p) * precision)[cluster]
            level = np.where(level < once, 0.0, 1.0)
        s = s[cluster]
    elif sample.clusters:
        cluster = np.arange(n) % sample.clusters
        if sample.unequal:
            share = rng.lognormal(size=sample.clusters)
            cluster = rng.choice(sample.clusters, n, p=share / share.sum())

        def dependent(correlation: float) -> Values:
            common = rng.normal(size=sample.clusters)[cluster]
            return np.asarray(math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.normal(size=n))

        s = np.sort(s)[np.argsort(np.argsort(dependent(0.5 * sample.alike)))]
        level = norm.cdf(dependent(sample.correlation))
    truth = (level < mended(s, ERRORS[case.error])).astype(np.int64)
    weights = rng.exponential(size=n) if sample.weighted else None
    return RowBlock(np.stack([expit(-s), expit(s)], axis=1), truth, weights, cluster, np.arange(n))


def diagnosed(block: RowBlock) -> Diagnosis:
    """Diagnose rows."""
    data = data_of_rows([block], (0, 1))
    assert data is not None
    return diagnose_binary(data)


def gain_on_other_rows(diagnosis: Diagnosis, block: RowBlock, error: str, s: Values) -> float:
    """Return the expected reduction of the log loss by the named errors' map, over true probabilities of other rows.

    The map is fitted again: the size of an error that a finding shows is that of the calibration line, with intercept.
    """
    named = [parameter for name, parameter in PARAMETERS.items() if name in diagnosis.errors]
    if not (diagnosis.cost > 0 and named):
        return 0.0
    weights = np.ones(block.truth.size) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    counts = Counts(block.log_odds(), weights, weights * block.truth)
    found = map_of(fitted_cells(Cells(counts, named), Prior(BOUNDS) if LAPSE in named else NO_PRIOR))
    q, p = mended(s, ERRORS[error]), np.clip(found.probabilities(s, level=False)[:, 1], 1e-300, 1 - 1e-16)
    return float(np.mean(q * (np.log(p) - log_expit(s)) + (1 - q) * (np.log1p(-p) - log_expit(-s))))


def run(case: Case, seed: int) -> dict[str, Any]:
    """Count what is found in the runs of a case."""
    rng = np.random.default_rng(seed)
    fresh = DESIGNS[case.design](np.random.default_rng(0), 20_000)
    expected = set(ERRORS[case.error])
    found, rejected, anything, right, offered = Counter[str](), 0, 0, 0, 0
    claimed, brought, covered = [], [], []
    start = time.perf_counter()
    for _ in range(case.runs):
        block = draw(rng, case)
        d = diagnosed(block)
        names = set(d.errors)
        rejected += d.p_value < LEVEL
        anything += d.miscalibrated
        found[" + ".join(sorted(names)) or "nothing"] += 1
        right += names == expected
        offered += names == expected or expected in [set(each) for each in d.alternatives]
        claimed.append(d.cost)
        brought.append(gain_on_other_rows(d, block, case.error, fresh))
        if names == expected:
            covered += [
                x.interval[0] < ERRORS[case.error][x.error] < x.interval[1]
                for x in d.findings
                if not math.isnan(x.interval[0])
            ]
    share, more = rejected / case.runs, np.array(claimed) - np.array(brought)
    return {
        "study": case.study,
        "design": case.design,
        "error": case.error,
        "sample": str(case.sample),
        "n": case.n,
        "runs": case.runs,
        "rejected": f"{share:.4g}",
        "standard_error": f"{math.sqrt(share * (1 - share) / case.runs):.2g}",
        "anything": f"{anything / case.runs:.4g}",
        "named_rightly": right,
        "offered": offered,
        "found": "; ".join(f"{name} {times}" for name, times in found.most_common(3)),
        "covered": f"{np.mean(covered):.3g}" if covered else "",
        "intervals": len(covered),
        "gain_claimed": f"{np.mean(claimed):.4g}",
        "gain_brought": f"{np.mean(brought):.4g}",
        "gain_standard_error": f"{np.std(more) / math.sqrt(case.runs):.2g}",
        "seconds": f"{(time.perf_counter() - start) / case.runs:.3f}",
    }


SAMPLES = (
    Sample(weighted=True),
    *(Sample(clusters=clusters, correlation=rho) for clusters in (50, 500) for rho in (0.0, 0.3)),
    Sample(clusters=50, correlation=0.3, alike=False),
    Sample(weighted=True, clusters=50, correlation=0.3),
    Sample(weighted=True, clusters=500, correlation=0.3),
)


def cases(factor: float) -> list[Case]:
    """Return all cases, with so many times the runs."""

    def of(runs: int) -> int:
        return max(1, round(runs * factor))

    sizes = ((100, 400), (200, 400), (1000, 300), (5000, 200), (50_000, 100))
    size = [Case("size", design, "none", Sample(), n, of(runs)) for n, runs in sizes for design in DESIGNS]
    samples = [
        Case("samples", design, "none", sample, n, of(runs))
        for n, runs in ((1000, 300), (5000, 100))
        for sample in SAMPLES
        for design in ("usual", "rare", "half at 1e-12")
        if n > sample.clusters
    ]
    naming = [
        Case("naming", "usual", error, Sample(), n, of(runs))
        for n, runs in ((1000, 100), (5000, 60), (50_000, 20))
        for error in ERRORS
    ]
    others = [Case("naming", "rare", error, Sample(), 5000, of(50)) for error in ("bias 0.5", "bias and slope 0.4")]
    dependent = [
        Case("naming", "usual", error, sample, 5000, of(50))
        for sample in (SAMPLES[0], SAMPLES[2], SAMPLES[4], SAMPLES[5])
        for error in ("bias 0.5", "slope e^0.4")
    ]
    more = [
        Case("samples", design, "none", Sample(clusters=clusters, correlation=rho, unequal=unequal), n, of(200))
        for n, clusters, unequal in ((2000, 20, False), (600, 300, False), (5000, 50, True), (5000, 500, True))
        for rho in (0.0, 0.3)
        for design in ("usual", "rare")
    ]
    shared = [
        Case("shared", "rare", error, sample, n, of(1000 if error == "none" else 300))
        for n, sample in (
            (600, Sample(clusters=12, shared="event")),
            (1500, Sample(clusters=30, shared="event")),
            (2000, Sample(clusters=20, correlation=0.3, shared="beta")),
            (600, Sample(clusters=12, correlation=0.6)),
            (2500, Sample(clusters=50, correlation=0.6)),
        )
        for error in ("none", "bias 0.5")
    ]
    shared += [
        Case("shared", "rare", "none", sample, n, of(1000))
        for n, sample in (
            (600, Sample(clusters=60, shared="event")),
            (1000, Sample(clusters=100, shared="event")),
            (3000, Sample(clusters=300, shared="event")),
            (10_000, Sample(clusters=1000, shared="event")),
            (10_000, Sample(clusters=100, correlation=0.3, shared="beta")),
            (15_000, Sample(clusters=300, correlation=0.6)),
        )
    ]
    shared += [
        Case("shared", "rare", "bias 0.5", sample, n, of(300))
        for n, sample in (
            (3000, Sample(clusters=300, shared="event")),
            (2000, Sample(clusters=20, correlation=0.1)),
            (5000, Sample(clusters=50, correlation=0.1)),
        )
    ]
    return size + samples + naming + others + dependent + more + shared


def surprise(runs: int, seed: int) -> dict[str, Any]:
    """Count what is found in 500 calibrated rows beside one that was given 1e-12 and occurred."""
    case, found = Case("surprise", "usual", "none", Sample(), 500, runs), Counter[str]()
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        block = draw(rng, case)
        block.p[0], block.truth[0] = (1 - 1e-12, 1e-12), 1
        found[" + ".join(diagnosed(block).errors)] += 1
    words = "; ".join(f"{name} {times}" for name, times in found.most_common(3))
    return {"study": "surprise", "design": "usual", "error": "none", "sample": "rows", "n": 500, "runs": runs,
            "named_rightly": found["certainty"],
            "offered": sum(times for name, times in found.items() if "certainty" in name), "found": words}  # fmt: skip


def earlier(file: Path, fields: Sequence[str]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the lines of an earlier run, by their cases, which have these fields."""
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        return {tuple(line[name] for name in fields): line for line in csv.DictReader(lines)}


def main(arguments: list[str] | None = None) -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/diagnosis.csv"))
    parser.add_argument("--factor", type=float, default=1.0, help="so many times the default runs (default: 1)")
    parser.add_argument(
        "--only", default="", help="one study: size, samples, naming, shared or surprise; the file keeps the others"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    options = parser.parse_args(arguments)
    kept = earlier(options.out, Case._fields) if options.only else {}
    partial = options.out.with_suffix(".partial")
    with partial.open("w", newline="") as file:
        fields = list(run(Case("size", "usual", "none", Sample(), 100, 1), 0))
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        if options.only in ("", "surprise"):
            writer.writerow(surprise(max(1, round(100 * options.factor)), options.seed))
        else:
            writer.writerows(line for case, line in kept.items() if case[0] == "surprise")
        for at, case in enumerate(cases(options.factor)):
            if options.only in ("", case.study):
                writer.writerow(line := run(case, 1000 * options.seed + at))
                print(*line.values(), sep=" | ", file=sys.stderr, flush=True)
            elif (line := kept.get(tuple(map(str, case)))) is not None:
                writer.writerow(line)
            file.flush()
    partial.replace(options.out)


if __name__ == "__main__":
    main()
