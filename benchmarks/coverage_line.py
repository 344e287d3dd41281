"""How often the 95 % intervals of calibration slope, intercept and gain hold the truth, where the truth is known.

    python benchmarks/coverage_line.py [--output FILE.csv] [--only WORD] [--runs R] [--gains G]
    python benchmarks/coverage_line.py --show FILE.csv

Predicted log-odds are normal, and outcomes are drawn from a map of them. The true slope and intercept are those of the
line that comes closest to the map (Kullback and Leibler), found by quadrature; where the map is no line the model's own
variance is wrong, and `covered by the model` says how often intervals from it alone hold the truth. Rows of a cluster
have predictions and outcomes that depend on one another, and the same true probabilities. The true gain is that of the
fitted recalibration on new rows, by quadrature too. Of R samples slope and intercept are made, and of the first G the
gain. The last run is results/coverage_line.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from unperplexed import Recalibrator
from unperplexed.calibration.diagnosis.binary_data import data_of_rows
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.line import calibration_line
from unperplexed.maps.cells import NO_PRIOR, Cells, Counts, fitted_cells

Floats = NDArray[np.float64]
SEED = 20261126
LINES = (("bias", "slope"), ("bias",))
"""Parameters of the fits whose last ones are slope and intercept."""


@dataclass(frozen=True)
class Design:
    """Predicted log-odds, normal, with the true probability of each."""

    name: str
    n: int
    truth: Callable[[Floats], Floats]
    middle: float = 0.0
    spread: float = 2.0
    clusters: int = 0
    """Number of clusters of equal size; 0 for independent rows."""


def scaled(s: Floats, temperature: float = 1.0) -> Floats:
    """Log-odds to be divided by a temperature."""
    return np.asarray(expit(s / temperature))


def wave(s: Floats) -> Floats:
    """A curve that goes up and down about the diagonal."""
    return np.asarray(expit(s + np.sin(2 * s)))


def steps(s: Floats) -> Floats:
    """A curve of a few levels, as isotonic regression finds it."""
    return np.array([0.02, 0.2, 0.35, 0.8, 0.9])[np.digitize(s, [-2.5, -1.0, 0.5, 2.0])]


def lapse(s: Floats, share: float = 0.1) -> Floats:
    """A share of the outcomes is drawn at random."""
    return (1 - share) * np.asarray(expit(s)) + share / 2


DESIGNS = [
    *(
        Design(f"temperature {t:g}", n, partial(scaled, temperature=t))
        for t, n in ((1.5, 500), (1.5, 1000), (2, 500), (2, 1000))
    ),
    *(Design("rare, 1 %", n, scaled, -5.1, 1.0) for n in (1000, 3000)),
    Design("wave", 1000, wave),
    Design("steps", 1000, steps),
    Design("lapse", 1000, lapse),
    *(Design(f"{g} clusters of {1000 // g}", 1000, partial(scaled, temperature=1.5), clusters=g) for g in (50, 100)),
]

ALIKE, SHARED = 0.7, 0.3
"""Correlation of the predictions of a cluster, and of its outcomes given these."""


def draw(design: Design, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64] | None]:
    """Return outcomes, predictions and the clusters of rows, if there are any."""
    n = design.n
    cluster = np.arange(n) % design.clusters if design.clusters else None

    def normal(share: float) -> Floats:
        own = rng.normal(size=n)
        return own if cluster is None else math.sqrt(share) * rng.normal(size=n)[cluster] + math.sqrt(1 - share) * own

    s = design.middle + design.spread * normal(ALIKE)
    return (ndtr(normal(SHARED)) < design.truth(s)).astype(np.int64), expit(s), cluster


def population(design: Design) -> tuple[Floats, Floats, Floats]:
    """Return log-odds, their weights, which sum to 1, and true probabilities."""
    z = np.linspace(-6, 6, 24_001)
    weight = np.exp(-(z**2) / 2)
    s = design.middle + design.spread * z
    return s, weight / weight.sum(), design.truth(s)


def true_line(design: Design) -> tuple[float, float]:
    """Return slope and intercept of the line that comes closest to the truth."""
    s, weight, q = population(design)
    n = 1e6
    counts = Counts(s, n * weight, n * weight * q)
    slope, intercept = (fitted_cells(Cells(counts, names), NO_PRIOR).theta[-1] for names in LINES)
    return 1 + float(slope), float(intercept)


def model_errors(y: NDArray[np.int64], p: Floats) -> tuple[float, float]:
    """Return the standard errors of slope and intercept by the Fisher information of independent rows."""
    s = np.log(p) - np.log1p(-p)
    counts = Counts(s, np.ones(s.size), y.astype(np.float64))
    slope, intercept = (fitted_cells(Cells(counts, names), NO_PRIOR).covariance[-1, -1] for names in LINES)
    return math.sqrt(slope), math.sqrt(intercept)


def gain_holds(
    y: NDArray[np.int64], p: Floats, cluster: NDArray[np.int64] | None, design: Design
) -> tuple[bool, float]:
    """Say whether the interval of the gain holds the true one of the recalibration fitted, and how wide it is."""
    recalibrator = Recalibrator().fit(y, p, clusters=cluster)
    s, weight, q = population(design)
    inner = np.abs(s - design.middle) < 5 * design.spread
    s, weight, q = s[inner][::20], weight[inner][::20], q[inner][::20]
    before, after = expit(s), recalibrator.transform(expit(s))
    better = q * np.log(after / before) + (1 - q) * np.log((1 - after) / (1 - before))
    low, high = recalibrator.gain_.interval
    return low <= float(weight @ better / weight.sum()) <= high, high - low


def study(design: Design, runs: int, gains: int) -> list[dict[str, Any]]:
    """Return the coverage of each of the three, with its standard error."""
    rng = np.random.default_rng([SEED, *map(ord, design.name), design.n])
    truth = true_line(design)
    held: dict[str, list[bool]] = {name: [] for name in ("slope", "intercept", "gain")}
    by_model: dict[str, list[bool]] = {name: [] for name in ("slope", "intercept")}
    widths: dict[str, list[float]] = {name: [] for name in held}
    events = 0
    for run in range(runs):
        y, p, cluster = draw(design, rng)
        events += int(y.sum())
        data = data_of_rows([RowBlock(np.stack([1 - p, p], axis=1), y, None, cluster)], (0, 1))
        assert data is not None
        line = calibration_line(data.rows, data.clusters)
        metrics = {"slope": line.slope.metric(), "intercept": line.intercept.metric()}
        for (name, metric), true, error in zip(metrics.items(), truth, model_errors(y, p), strict=True):
            low, high = metric.interval
            held[name].append(low <= true <= high)
            by_model[name].append(abs(metric.value - true) <= 1.96 * error)
            widths[name].append(high - low)
        if run < gains:
            holds, width = gain_holds(y, p, cluster, design)
            held["gain"].append(holds)
            widths["gain"].append(width)
    print(f"{design.name}, N = {design.n:,}", file=sys.stderr, flush=True)
    return [
        {
            "design": design.name,
            "n": design.n,
            "events": round(events / runs, 1),
            "figure": name,
            "runs": len(holds),
            "covered": round(share := float(np.mean(holds)), 4),
            "standard_error": round(math.sqrt(share * (1 - share) / len(holds)), 4),
            "by_model": round(float(np.mean(by_model[name])), 4) if name in by_model else None,
            "width": round(float(np.median(widths[name])), 5),
        }
        for name, holds in held.items()
        if holds
    ]


def show(table: pl.DataFrame) -> None:
    """Print coverage in per cent: a row for each design."""
    print("| design | N | events | slope | intercept | gain | slope, model | intercept, model |")
    print("|---" * 8 + "|")
    for (name, n, events), rows in table.group_by(["design", "n", "events"], maintain_order=True):
        of = {row["figure"]: row for row in rows.iter_rows(named=True)}
        cells = [
            f"{100 * of[figure]['covered']:.1f} ± {100 * of[figure]['standard_error']:.1f}" if figure in of else "-"
            for figure in ("slope", "intercept", "gain")
        ]
        cells += [f"{100 * of[figure]['by_model']:.1f}" for figure in ("slope", "intercept")]
        print(f"| {name} | {n:,} | {events:,.0f} | {' | '.join(cells)} |")


def main() -> None:
    """Run the study, or show one that was run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--gains", type=int, default=500)
    arguments = parser.parse_args()
    if arguments.show:
        show(pl.read_csv(arguments.show))
        return
    records: list[dict[str, Any]] = []
    for design in DESIGNS:
        if arguments.only in design.name:
            records += study(design, arguments.runs, arguments.gains)
            if arguments.output:  # after each, so that a study that is stopped leaves what it found
                pl.DataFrame(records).write_csv(arguments.output)
    show(pl.DataFrame(records))


if __name__ == "__main__":
    main()
