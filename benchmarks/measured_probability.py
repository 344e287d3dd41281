"""How wrong each estimator of the measured probability is where the truth is known.

    python benchmarks/measured_probability.py [--output FILE.csv] [--only WORD] [--largest N] [--jobs J]
    python benchmarks/measured_probability.py --show FILE.csv

Scenarios, sizes, what is recorded and the rule by which the default is chosen are in scenarios.py, which was written
down first. The whole takes half an hour on two cores; --only and --largest make it smaller. The last whole run is
results/measured_probability.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from scenarios import FLOORS, SCENARIOS, SIZES, Scenario, runs
from unperplexed import ESTIMATORS, Forecasts, Tally
from unperplexed.statistics.means import apply_limit, averages, slope

ROWS_AT_A_TIME = 10_000
MEANS = ("decisiveness", "geometric_accuracy", "robustness")


class Population:
    """The rows of a scenario, and the truth about them at every floor."""

    def __init__(self, scenario: Scenario) -> None:
        """Make the rows of a scenario."""
        self.scenario = scenario
        seed = np.random.SeedSequence([20261121, SCENARIOS.index(scenario)])
        self.reported, self.true = scenario.make(np.random.default_rng(seed), scenario.rows)
        value, weight, measured = self._truth()
        self.truth = {
            floor: (averages(np.maximum(value, floor), weight), averages(np.maximum(measured, floor), weight))
            for floor in FLOORS
        }

    def _truth(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reported value, how much of it happens, and measured probability, of each cell of the population."""
        grid = Tally().grid
        happens, total, moment = np.zeros((3, grid.size))
        for p, q in zip(*(np.array_split(x, 100) for x in (self.reported, self.true)), strict=True):
            code, p, q = grid.codes(p.ravel()), p.ravel().astype(float), q.ravel().astype(float)  # noqa: PLW2901
            happens += np.bincount(code, q, grid.size)
            total += np.bincount(code, minlength=grid.size)
            moment += np.bincount(code, p * q, grid.size)
        some = happens > 0
        return moment[some] / happens[some], happens[some], happens[some] / total[some]

    def sample(self, n: int, rng: np.random.Generator) -> Tally:
        """Draw rows, and what happens in each, and count them."""
        return Tally.count(self._forecasts(n, rng))

    def _forecasts(self, n: int, rng: np.random.Generator) -> Iterator[Forecasts]:
        for start in range(0, n, ROWS_AT_A_TIME):
            rows = rng.integers(0, len(self.reported), min(ROWS_AT_A_TIME, n - start))
            up_to = np.cumsum(self.true[rows], axis=1)
            drawn = rng.random((rows.size, 1)) * up_to[:, -1:]
            y = np.minimum((up_to <= drawn).sum(axis=1), self.scenario.classes - 1)
            yield Forecasts(y, self.reported[rows], labels=range(self.scenario.classes), whole=False)


def figures(tally: Tally) -> dict[tuple[str, float], list[float]]:
    """Measured averages, slope and logarithm of the divergence probability by estimator and floor."""
    pairs, points = tally.pairs(), tally.points()
    seen = pairs.happened > 0
    found = {}
    for floor in FLOORS:
        reported = averages(apply_limit(points.p, floor, "floor"), points.weight)
        for name, estimator in ESTIMATORS.items():
            estimate = estimator.measure(*pairs, floor=floor)
            measured = averages(np.maximum(estimate.measured[seen], floor), pairs.happened[seen])
            with np.errstate(divide="ignore"):
                divergence = np.log(reported.geometric_accuracy) - np.log(measured.geometric_accuracy)
            found[name, floor] = [getattr(measured, m) for m in MEANS] + [slope(reported, measured), float(divergence)]
    return found


def study(index: int, largest: int) -> list[dict[str, Any]]:
    """Every size, floor and estimator of one scenario."""
    scenario = SCENARIOS[index]
    population = Population(scenario)
    records = []
    for n in (n for n in SIZES if n <= largest):
        samples = [
            figures(population.sample(n, np.random.default_rng([20261121, index, n, run])))
            for run in range(runs(n, scenario.classes))
        ]
        for name, floor in samples[0]:
            values = np.array([sample[name, floor] for sample in samples])
            records.append(record(population, n, floor, name, values))
        print(f"{scenario.name}, N = {n:,}", file=sys.stderr, flush=True)
    return records


def record(population: Population, n: int, floor: float, name: str, values: np.ndarray) -> dict[str, Any]:
    """Errors of one estimator at one size and floor."""
    reported, measured = population.truth[floor]
    true_slope = slope(reported, measured)
    true_divergence = (
        math.log(reported.geometric_accuracy / measured.geometric_accuracy)
        if reported.geometric_accuracy
        else -math.inf
    )
    truth = np.array([getattr(measured, m) for m in MEANS])
    slopes, divergences = values[:, 3], values[:, 4]
    finite = np.isfinite(divergences) & math.isfinite(true_divergence)
    return {
        "scenario": population.scenario.name,
        "group": population.scenario.group,
        "n": n,
        "floor": floor,
        "estimator": name,
        "runs": len(values),
        **named("bias", values[:, :3].mean(axis=0) - truth),
        **named("rmse", np.sqrt(((values[:, :3] - truth) ** 2).mean(axis=0))),
        "true_slope": round(true_slope, 5),
        "slope_bias": round(float(np.nanmean(slopes)) - true_slope, 5),
        "slope_sd": round(float(np.nanstd(slopes)), 5),
        "right": round(float(((slopes < 1) == (true_slope < 1))[~np.isnan(slopes)].sum() / len(slopes)), 5),
        "true_log_divergence": round(true_divergence, 5),
        "divergence_bias": round(float(divergences[finite].mean()) - true_divergence, 5) if finite.any() else None,
        "divergence_sd": round(float(divergences[finite].std()), 5) if finite.any() else None,
    }


def named(what: str, values: np.ndarray) -> dict[str, float]:
    """Figures of the three means by name."""
    return {f"{what}_{mean}": round(float(value), 5) for mean, value in zip(MEANS, values, strict=True)}


def decidable(r: dict[str, Any]) -> bool:
    """Whether the true slope is further from 1 than two standard deviations of the estimate."""
    return abs(r["true_slope"] - 1) > 2 * r["slope_sd"]


def rmse(r: dict[str, Any]) -> float:
    """Root mean square error of the slope."""
    return math.hypot(r["slope_bias"], r["slope_sd"])


HEAD = """\
| estimator | decidable | right | wrong elsewhere | slope: bias | slope: rmse | D | A | R | ln divergence |
|---|---|---|---|---|---|---|---|---|---|"""


def show(records: list[dict[str, Any]]) -> None:
    """Print tables: of all cases, by N, floor and group, and where the direction is wrong too often."""
    names = list(dict.fromkeys(r["estimator"] for r in records))
    parts: list[tuple[str, list[dict[str, Any]]]] = [("all", records)]
    for key in ("n", "floor", "group"):
        values = dict.fromkeys(r[key] for r in records)
        parts += [(f"{key} {value}", [r for r in records if r[key] == value]) for value in values]
    for title, part in parts:
        print(f"\n{title}\n\n{HEAD}")
        for name in names:
            print(f"| {name} | {line([r for r in part if r['estimator'] == name])} |")
    print("\ndecidable, but right in less than 95 % of the runs\n")
    print("| estimator | scenario | N | floor | true slope | bias | sd | right |\n|---|---|---|---|---|---|---|---|")
    for r in records:
        if decidable(r) and r["right"] < 0.95:
            figures = f"{r['true_slope']:.3f} | {r['slope_bias']:+.3f} | {r['slope_sd']:.3f} | {r['right']:.3f}"
            print(f"| {r['estimator']} | {r['scenario']} | {r['n']} | {r['floor']} | {figures} |")


def line(own: list[dict[str, Any]]) -> str:
    """Figures of one estimator over some cases: counts, rates and medians."""
    clear = [r for r in own if decidable(r)]
    good = sum(r["right"] >= 0.95 for r in clear)
    elsewhere = [1 - r["right"] for r in own if not decidable(r) and abs(r["true_slope"] - 1) > 1e-3]
    divergence = [math.hypot(r["divergence_bias"], r["divergence_sd"]) for r in own if r["divergence_sd"] is not None]
    medians = [np.median([abs(r["slope_bias"]) for r in own]), np.median([rmse(r) for r in own])]
    medians += [np.median([r[f"rmse_{mean}"] for r in own]) for mean in MEANS]
    figures = [f"{len(clear)} of {len(own)}", f"{good / max(len(clear), 1):.1%}"]
    figures.append(f"{np.mean(elsewhere):.2f}" if elsewhere else "-")
    figures += [f"{median:.3f}" for median in medians]
    return " | ".join([*figures, f"{np.median(divergence):.3f}" if divergence else "-"])


def main() -> None:
    """Run the study, or show one that was run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--largest", type=int, default=max(SIZES))
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.show:
        show(pl.read_csv(arguments.show).to_dicts())
        return
    chosen = [i for i, scenario in enumerate(SCENARIOS) if arguments.only in scenario.name + scenario.group]
    chosen.sort(key=lambda i: -SCENARIOS[i].classes)  # the longest first
    with ProcessPoolExecutor(arguments.jobs) as pool:
        parts = list(pool.map(study, chosen, [arguments.largest] * len(chosen)))
    records = [r for _, part in sorted(zip(chosen, parts, strict=True)) for r in part]
    if arguments.output:
        pl.DataFrame(records, infer_schema_length=None).write_csv(arguments.output)
    show(records)


if __name__ == "__main__":
    main()
