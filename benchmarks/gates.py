"""How often gates fail where a figure is exactly at its limit, and where it is beyond it.

    python benchmarks/gates.py [--runs R] [--looks one | many]

The tables of docs/do/gate.md; some minutes on one core. Forecasters know log-odds s, normal with standard
deviation of 1.5. The limit is the figure of a calibrated forecaster, exactly; the forecaster reports s, which is at the
limit, or 1.3 s + 0.2, which is beyond it. Rows in clusters are ten copies of one row: a tenth of them are independent.

With many looks the new version reports s + 0.4, and the old one s. The change of the log loss is tested after each of
500 days, on all rows so far. The limit is the expected change, exactly, or 0, which it is beyond: there it counts
whether the gate fails within 30 days. Rows are drawn from a large finite population, whose mean is known. Where days
have a shock, the true log-odds of a day's rows are s + u, u normal with a standard deviation of 0.2. Where events are
rare, s has a mean of -5 and a standard deviation of 1. Days that are minus a skewed variable are tested as units.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri, stdtr

from unperplexed import assess, compare
from unperplexed.comparison.sequential import changes_of_pairs, changes_of_samples
from unperplexed.monitoring.gate import checked
from unperplexed.results import Assessment
from unperplexed.statistics.many_looks import PRIOR_CLUSTERS, PRIOR_ROWS, log_evidence

SPREAD = 1.5
BIAS, SHOCK = 0.4, 0.2
DAYS, SOON = 500, 30
LEVEL = 0.05
HEAD = ("design", "runs", "failed_at_limit", "failed_beyond", "t_test_failed_at_limit")
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
    return assess(y, p, clusters=groups, confidence=0.9, resamples=0)


def designs() -> Iterator[tuple[str, Callable[[np.random.Generator, bool], bool]]]:
    """Name each design, with what tells whether the gate passes."""
    loss, brier = expected()

    def one(rule: str, limit: float, n: int, copies: int = 1) -> Callable[[np.random.Generator, bool], bool]:
        return lambda rng, worse: bool(checked(assessed(rng, n, worse, copies), [f"{rule} <= {limit!r}"]))

    for n in (100, 1000):
        yield f"log loss, {n:,} rows", one("log_loss", loss, n)
        yield f"Brier score, {n:,} rows", one("brier_score", brier, n)
    yield "log loss, 1,000 rows in 100 clusters", one("log_loss", loss, 1000, 10)

    def two_samples(rng: np.random.Generator, worse: bool) -> bool:
        now, before = assessed(rng, 1000, worse), assessed(rng, 1000, False)
        return bool(checked(now, ["change.log_loss <= 0"], changes=changes_of_samples(now, before)))

    def pairs(rng: np.random.Generator, worse: bool) -> bool:
        """At the limit both add noise of their own to the log-odds, so that neither is better."""
        y, p, best = sample(rng, 1000, worse)
        noise = rng.normal(0, 0.3, (2, y.size))
        now, before = (expit(np.log(each / (1 - each)) + e) for each, e in zip((p, best), noise, strict=True))
        compared = compare(y, {"now": now, "before": before}, confidence=0.9)
        found = changes_of_pairs(compared, "now")
        return bool(checked(assess(y, now, confidence=0.9, resamples=0), ["change.log_loss <= 0"], changes=found))

    yield "change of the log loss, two samples of 1,000 rows", two_samples
    yield "change of the log loss, 1,000 pairs", pairs


def population(
    rng: np.random.Generator, shocks: int, size: int = 1 << 17, mean: float = 0.0, sd: float = SPREAD
) -> tuple[np.ndarray, np.ndarray]:
    """Log losses of the old version and of the new one; a line for each of so many shocks, equally probable."""
    shock = SHOCK * ndtri((np.arange(shocks) + 0.5) / shocks)[:, None]  # one is 0
    s = rng.normal(mean, sd, (shocks, size // shocks))
    sign = np.where(rng.random(s.shape) < expit(s + shock), 1, -1)
    old, new = (np.logaddexp(0, -sign * (s + bias)) for bias in (0.0, BIAS))
    return old, new


class Means(NamedTuple):
    """Means over all rows so far, a line for each run, a column for each day."""

    mean: np.ndarray
    error: np.ndarray
    units: np.ndarray
    """Rows, or days where they are the units."""
    rows: np.ndarray
    skewness: np.ndarray
    """Of the means."""

    def last(self) -> Means:
        """Those after the last day alone."""
        return Means(*(each[..., -1:] for each in self))


def means(rng: np.random.Generator, values: np.ndarray, runs: int, days: int, per_day: int) -> Means:
    """Draw rows, and take days as units where there are shocks."""
    sums, squares, cubes = np.zeros((3, runs, days))
    for day in range(days):
        shock = rng.integers(len(values), size=(runs, 1))
        x = values[shock, rng.integers(values.shape[1], size=(runs, per_day))]
        sums[:, day] = x.sum(axis=1)
        unit = x if len(values) == 1 else sums[:, day : day + 1]
        squares[:, day], cubes[:, day] = (unit * unit).sum(axis=1), (unit * unit * unit).sum(axis=1)
    size = per_day if len(values) > 1 else 1
    rows = np.arange(1, days + 1) * per_day
    n = rows // size
    total, squared, cubed = (np.cumsum(each, axis=1) for each in (sums, squares, cubes))
    middle = total / n
    with np.errstate(divide="ignore", invalid="ignore"):
        within = squared - total * middle
        error = np.sqrt(within / (n - 1) / n) / size
        skewness = (cubed - 3 * middle * squared + 2 * total * middle**2) / within**1.5
    return Means(total / rows, error, n, rows, skewness)


def failures(
    t: np.ndarray,
    degrees: np.ndarray,
    units: np.ndarray,
    prior: float,
    skewness: np.ndarray | float,
    days: slice = slice(DAYS),
) -> tuple[float, float]:
    """Share of the runs in which the gate fails on some of the days, and a one-sided t-test at 5% rejects."""
    t, degrees, units, skewness = (np.broadcast_to(each, t.shape)[:, days] for each in (t, degrees, units, skewness))
    with np.errstate(invalid="ignore"):  # one day has no error
        found = log_evidence(t, degrees, units, prior, skewness) >= -math.log(LEVEL), stdtr(degrees, -t) <= LEVEL
    return tuple(float(each.any(axis=1).mean()) for each in found)


def paired(change: Means, prior: float) -> tuple[np.ndarray, ...]:
    """Mean, error, degrees of freedom, units, prior and skewness, as `changes_of_pairs` has them."""
    return change.mean, change.error, change.units - 1, change.units, prior, change.skewness


def two_samples(now: Means, before: Means) -> tuple[np.ndarray, ...]:
    """Change between samples, as `changes_of_samples` has it: its skewness is not known."""
    error = np.hypot(now.error, before.error)
    degrees = error**4 / sum(each.error**4 / (each.units - 1) for each in (now, before))
    return now.mean - before.mean, error, degrees, now.rows * (now.error / error) ** 2, PRIOR_ROWS, 0.0


def judged(
    limit: float, mean: np.ndarray, error: np.ndarray, *how: np.ndarray, first: int = 0
) -> tuple[float, float, float]:
    """Share of the runs in which the gate fails at the limit, soon beyond it, and a daily t-test at the limit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        at_limit, t_test = failures((mean - limit) / error, *how, days=slice(first, DAYS))
        beyond, _ = failures(mean / error, *how, days=slice(first, SOON))
    return at_limit, beyond, t_test


def many_looks(runs: int) -> Iterator[tuple[str, float, float | str, float]]:
    """Name each design, with how often gates fail at the limit, beyond it, and daily t-tests at the limit."""
    for at, (rows, shocks) in enumerate([(100, 1), (1000, 1), (100, 64), (1000, 64)]):
        rng = np.random.default_rng([17, at])
        old, new = population(rng, shocks)
        change = float(new.mean() - old.mean())
        pairs, now, before = (means(rng, values, runs, DAYS, rows) for values in (new - old, new, old))
        released = means(rng, old, runs, 10_000 // rows, rows).last()
        prior = PRIOR_ROWS if shocks == 1 else PRIOR_CLUSTERS
        tested = {
            "pairs": paired(pairs, prior),
            "two samples": two_samples(now, before),
            "two samples, 10,000 old rows": two_samples(now, released),
        }
        for name, found in tested.items():
            days = "days as units, " if shocks > 1 else ""
            yield f"{DAYS} looks: {name}, {days}{rows:,} rows a day", *judged(change, *found)
    yield from rare_events(runs)
    yield from skewed_days(runs)


def rare_events(runs: int) -> Iterator[tuple[str, float, float, float]]:
    """Pairs with few events: the more of them are known at the first look, the fewer gates fail."""
    for at, (rows, first) in enumerate([(1000, 1), (100, 1), (100, 5), (100, 10)]):
        rng = np.random.default_rng([17, 5, at])
        old, new = population(rng, 1, mean=-5, sd=1)
        found = paired(means(rng, new - old, runs, DAYS, rows), PRIOR_ROWS)
        name = f"{DAYS} looks: pairs, 1.1% events, {rows:,} rows a day, first look after day {first}"
        yield name, *judged(float(new.mean() - old.mean()), *found, first=first - 1)


def skewed_days(runs: int) -> Iterator[tuple[str, float, str, float]]:
    """Days whose changes are skewed: for the most part a little above the limit, now and then far below it."""
    drawn = {
        "an exponential variable": lambda rng, size: rng.exponential(size=size),
        "the exponential of half a normal variable": lambda rng, size: np.exp(0.5 * rng.normal(size=size)),
        "the exponential of a normal variable": lambda rng, size: np.exp(rng.normal(size=size)),
    }
    for at, (name, draw) in enumerate(drawn.items()):
        rng = np.random.default_rng([17, 4, at])
        values = -draw(rng, (1 << 17, 1))
        found = paired(means(rng, values, runs, DAYS, 1), PRIOR_CLUSTERS)
        at_limit, _, t_test = judged(float(values.mean()), *found)
        yield f"{DAYS} looks: days as units, minus {name} each", at_limit, "", t_test


def one_look(runs: int) -> Iterator[tuple[str, float, float, str]]:
    """Name each design, with how often gates fail at the limit and beyond it."""
    for at, (name, passes) in enumerate(designs()):
        failed = [
            sum(not passes(np.random.default_rng([at, worse, run]), bool(worse)) for run in range(runs)) / runs
            for worse in (0, 1)
        ]
        yield name, *failed, ""


def main() -> None:
    """Write results and print them; those of the other looks stay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--looks", choices=["one", "many"], help="default: both")
    asked = parser.parse_args()
    with RESULTS.open(newline="") as file:
        [_, *earlier] = csv.reader(file)
    rows = {name: cells for name, *cells in earlier}
    for looks, simulated in {"one": one_look, "many": many_looks}.items():
        for name, *shares in simulated(asked.runs) if asked.looks in (None, looks) else ():
            rows[name] = [asked.runs, *shares]
            print(f"| {name} | {' | '.join(f'{100 * each:.1f}%' for each in shares if each != '')} |", flush=True)
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *([name, *cells] for name, cells in rows.items())])


if __name__ == "__main__":
    main()
