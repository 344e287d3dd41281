"""How often gates fail where a figure is exactly at its limit, and where it is beyond it.

    python benchmarks/gates.py [--runs R]

The table of docs/how-to/gates.md; some minutes on one core. Forecasters know log-odds s, normal with standard
deviation of 1.5. The limit is the figure of a calibrated forecaster, exactly; the forecaster reports s, which is at the
limit, or 1.3 s + 0.2, which is beyond it. Rows in clusters are ten copies of one row: a tenth of them are independent.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import expit

from unperplexed import assess, compare
from unperplexed.assessment import Assessment
from unperplexed.comparison import changes_of_pairs, changes_of_samples
from unperplexed.monitoring import check

SPREAD = 1.5
RESULTS = Path(__file__).resolve().parent / "results" / "gates.csv"


def expected() -> tuple[float, float]:
    """Log loss and Brier score of the calibrated forecaster, by quadrature."""
    s = np.linspace(-15, 15, 300_001)
    weight = np.exp(-(s**2) / (2 * SPREAD**2))
    p = expit(s)
    loss = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    return tuple(float(weight @ each / weight.sum()) for each in (loss, 2 * p * (1 - p)))


def sample(rng: np.random.Generator, n: int, worse: bool, copies: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes, probabilities, and those of the calibrated forecaster of the same rows."""
    s = rng.normal(0, SPREAD, n // copies)
    y = rng.random(s.size) < expit(s)
    p = expit(1.3 * s + 0.2) if worse else expit(s)
    return tuple(np.repeat(each, copies) for each in (y.astype(int), p, expit(s)))


def assessed(rng: np.random.Generator, n: int, worse: bool, copies: int = 1) -> Assessment:
    """Assess a sample at the level of a gate."""
    y, p, _ = sample(rng, n, worse, copies)
    groups = np.arange(n) // copies if copies > 1 else None
    return assess(y, p, groups=groups, confidence=0.9, resamples=0)


def designs() -> Iterator[tuple[str, Callable[[np.random.Generator, bool], bool]]]:
    """Name each design, with what tells whether the gate passes."""
    loss, brier = expected()

    def one(rule: str, limit: float, n: int, copies: int = 1) -> Callable[[np.random.Generator, bool], bool]:
        return lambda rng, worse: bool(check(assessed(rng, n, worse, copies), f"{rule} <= {limit!r}"))

    for n in (100, 1000):
        yield f"log loss, {n:,} rows", one("log_loss", loss, n)
        yield f"Brier score, {n:,} rows", one("brier_score", brier, n)
    yield "log loss, 1,000 rows in 100 clusters", one("log_loss", loss, 1000, 10)

    def two_samples(rng: np.random.Generator, worse: bool) -> bool:
        now, before = assessed(rng, 1000, worse), assessed(rng, 1000, False)
        return bool(check(now, "change.log_loss <= 0", changes=changes_of_samples(now, before)))

    def pairs(rng: np.random.Generator, worse: bool) -> bool:
        """At the limit both add noise of their own to the log-odds, so that neither is better."""
        y, p, best = sample(rng, 1000, worse)
        noise = rng.normal(0, 0.3, (2, y.size))
        now, before = (expit(np.log(each / (1 - each)) + e) for each, e in zip((p, best), noise, strict=True))
        compared = compare({"now": now, "before": before}, y, confidence=0.9, resamples=0)
        found = changes_of_pairs(compared, "now")
        return bool(check(assess(y, now, confidence=0.9, resamples=0), "change.log_loss <= 0", changes=found))

    yield "change of the log loss, two samples of 1,000 rows", two_samples
    yield "change of the log loss, 1,000 pairs", pairs


def main() -> None:
    """Write results and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    rows = []
    for at, (name, passes) in enumerate(designs()):
        failed = [
            sum(not passes(np.random.default_rng([at, worse, run]), bool(worse)) for run in range(runs)) / runs
            for worse in (0, 1)
        ]
        rows.append((name, runs, *failed))
        print(f"| {name} | {100 * failed[0]:.1f}% | {100 * failed[1]:.0f}% |", flush=True)
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("design", "runs", "failed_at_limit", "failed_beyond"), *rows])


if __name__ == "__main__":
    main()
