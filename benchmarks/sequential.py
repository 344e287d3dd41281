"""How often the sequential comparison raises a false alarm while watched, and how many rows it takes to decide.

    python benchmarks/sequential.py [--output FILE.csv] [--runs N]
    python benchmarks/sequential.py --show FILE.csv

False alarms: two forecasters of whom neither is better, by several ways of not being better, watched at each of 10,000
rows in 1000 runs. "missed" is the share of runs in which the limits at any row miss the average of the differences to
be expected, "wrong" the share in which at any row somebody is called better who by that average is not, and "test"
the same for a paired test at the same level that is made again at each row from the 30th on.

Rows: one forecaster is better. "fixed" is how many rows the paired test made once needs for a power of 80 %; the others
say how many times as many the sequential comparison takes, in the median and in 80 % of the runs: as it is; with the
range of the score in place of what each row's forecasts allow; and by the empirical Bernstein bound with a
gamma-exponential mixture (Howard et al. 2021; Choe and Ramdas 2024).

The whole takes ten minutes of one core; --runs makes it smaller. The last whole run is results/sequential.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import gammainc, gammaln, hyp1f1

from unperplexed.statistics.many_looks import RATES, bets, log_wealth

LEVEL = 0.05
LOG_LIMIT = math.log(2 / LEVEL)
FLOOR = 0.005
STEPS = 10_000
RANGES = {"brier_score": 2.0, "log_loss": -math.log(FLOOR)}
ROUNDING = 1e-9
LONGEST = 8
"""Times the rows of the fixed test, after which a run is given up."""

METHODS = ("sequential", "fixed_range", "bernstein")

Array = np.ndarray


class Rows(NamedTuple):
    """Differences in score, how small and large they could have been, and their means."""

    value: Array
    lowest: Array
    highest: Array
    mean: Array


def scores(p: Array, score: str) -> Array:
    """Score of each row for each class."""
    if score == "log_loss":
        return -np.log(np.maximum(p, FLOOR))
    return 1 - 2 * p + (p * p).sum(axis=1, keepdims=True)


def rows(first: Array, second: Array, truth: Array | None, score: str, rng: np.random.Generator) -> Rows:
    """Draw what happens; without a truth, from the mixture of both under which neither is expected to be better."""
    by_class = scores(first, score) - scores(second, score)
    if truth is None:
        a, b = ((p * by_class).sum(axis=1, keepdims=True) for p in (first, second))
        share = b / np.where(b == a, 1, b - a)
        truth = share * first + (1 - share) * second
    happened = np.minimum((truth.cumsum(axis=1) < rng.random((len(truth), 1))).sum(axis=1), truth.shape[1] - 1)
    value = by_class[np.arange(len(truth)), happened]
    return Rows(value, by_class.min(axis=1), by_class.max(axis=1), (truth * by_class).sum(axis=1))


def softmax(z: Array) -> Array:
    """Probabilities of logits."""
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def logits(n: int, classes: int, rng: np.random.Generator, spread: float = 1.5) -> Array:
    """Logits whose log odds spread the same for any number of classes."""
    return spread / math.sqrt(2) * rng.normal(size=(n, classes))


def equal_in_every_row(n: int, classes: int, score: str, rng: np.random.Generator) -> Rows:
    """Neither is better in any row."""
    return rows(softmax(logits(n, classes, rng)), softmax(logits(n, classes, rng)), None, score, rng)


def unequal_spread(n: int, classes: int, score: str, rng: np.random.Generator) -> Rows:
    """One cautious, one all but certain, neither better in any row."""
    cautious, certain = softmax(logits(n, classes, rng, 0.3)), softmax(logits(n, classes, rng, 9))
    return rows(cautious, certain, None, score, rng)


def rare_events(n: int, classes: int, score: str, rng: np.random.Generator) -> Rows:
    """Both nearly always right about what hardly ever happens, neither better in any row."""
    usual = np.r_[6.0, np.zeros(classes - 1)]
    first, second = (softmax(usual + logits(n, classes, rng, 1.0)) for _ in range(2))
    return rows(first, second, None, score, rng)


def stakes_follow(n: int, classes: int, score: str, rng: np.random.Generator) -> Rows:
    """They disagree widely as long as the first is ahead, hardly when it is not; neither is better in any row."""
    calm = softmax(logits(n, classes, rng, 0.3)), softmax(logits(n, classes, rng, 0.3))
    kinds = rows(*calm, None, score, rng), equal_in_every_row(n, classes, score, rng)
    total, wild = 0.0, np.zeros(n, dtype=bool)
    for row, (a, b) in enumerate(zip(kinds[0].value.tolist(), kinds[1].value.tolist(), strict=True)):
        wild[row] = total < 0
        total += b if wild[row] else a
    return Rows(*(np.where(wild, b, a) for a, b in zip(*kinds, strict=True)))


def in_turn(n: int, classes: int, score: str, rng: np.random.Generator, length: int = 500) -> Rows:
    """One is better for 500 rows, then the other is by as much, and so on: equal on average only."""
    z = logits(n // 2, classes, rng).reshape(-1, length, classes)
    z = np.concatenate([z, z], axis=1).reshape(-1, classes)
    second_knows = (np.arange(len(z)) // length % 2 == 1)[:, None]
    truth, other = softmax(z), softmax(1.5 * z)
    first, second = np.where(second_knows, other, truth), np.where(second_knows, truth, other)
    return rows(first, second, truth, score, rng)


def equal_skill(n: int, classes: int, score: str, rng: np.random.Generator) -> Rows:
    """Both know the truth but for errors of the same size: equal before their forecasts are known, not in each row."""
    z = logits(n, classes, rng)
    first, second = (softmax(z + logits(n, classes, rng, 0.5)) for _ in range(2))
    return rows(first, second, softmax(z), score, rng)


NULLS = (equal_in_every_row, unequal_spread, rare_events, stakes_follow, in_turn, equal_skill)


def false_alarms(null: Callable[..., Rows], classes: int, score: str, runs: int) -> dict[str, Any]:
    """Share of runs in which an alarm is false at any row."""
    seen = np.zeros(3)
    for run in range(runs):
        d = null(STEPS, classes, score, np.random.default_rng([20261204, NULLS.index(null), classes, len(score), run]))
        total = np.cumsum(d.mean)
        missed = wrong = False
        for sign in (1, -1):
            for here, wealth in one_side(d, sign):
                so_far = sign * total[here]
                missed |= over(wealth - RATES * so_far[:, None]).any()
                wrong |= (over(wealth) & (so_far <= ROUNDING)).any()
        seen += [missed, wrong, repeated_test(d.value, total)]
    figures = dict(zip(("missed", "wrong", "test"), (seen / runs).tolist(), strict=True))
    return {"study": "false alarms", "case": name_of(null), "classes": classes, "score": score, "runs": runs, **figures}


def over(wealth: Array) -> Array:
    """Whether all bets together are over the limit, row by row."""
    if wealth.max() + math.log(wealth.shape[1]) < LOG_LIMIT:  # saves most of the time
        return np.zeros(len(wealth), dtype=bool)
    return log_wealth(wealth) > LOG_LIMIT


def name_of(case: Callable[..., Any]) -> str:
    """Name of a case in tables."""
    return case.__name__.replace("_", " ")


def one_side(d: Rows, sign: int) -> Iterator[tuple[slice, Array]]:
    """Bets that the average is above a number, or below it."""
    return bets(d.value, d.lowest, d.highest) if sign > 0 else bets(-d.value, -d.highest, -d.lowest)


def repeated_test(value: Array, total: Array, start: int = 30) -> bool:
    """Whether a paired test at each row from the 30th on ever calls one better who is not."""
    n = np.arange(1, value.size + 1)
    mean = np.cumsum(value) / n
    variance = np.maximum(np.cumsum(value * value) / n - mean**2, 0) / np.maximum(n - 1, 1)
    rejects = np.abs(mean) > 1.959963984540054 * np.sqrt(variance)
    return bool((rejects & (np.sign(mean) * total <= ROUNDING))[start - 1 :].any())


def distorted(factor: float) -> Callable[..., tuple[Array, Array, Array]]:
    """Make forecasts of one who knows the truth, and of one who multiplies its log odds."""

    def forecasts(n: int, classes: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        z = logits(n, classes, rng)
        return softmax(z), softmax(factor * z), softmax(z)

    forecasts.__name__ = f"log_odds_times_{factor:g}"
    return forecasts


def noisy(less: float, more: float) -> Callable[..., tuple[Array, Array, Array]]:
    """Make forecasts of two who know the truth but for errors, independent of one another."""

    def forecasts(n: int, classes: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        z = logits(n, classes, rng)
        return softmax(z + logits(n, classes, rng, less)), softmax(z + logits(n, classes, rng, more)), softmax(z)

    forecasts.__name__ = f"errors_of_{less:g}_and_{more:g}"
    return forecasts


EFFECTS = (distorted(1.2), distorted(1.5), distorted(2), noisy(0.3, 0.6), noisy(1, 1.3), noisy(1, 1.6), noisy(2, 2.6))


def rows_needed(case: Callable[..., Any], classes: int, score: str, runs: int) -> dict[str, Any]:
    """Rows that the sequential comparison takes, over those of a test of fixed size."""
    seed = [20261205, EFFECTS.index(case), classes, len(score)]
    population = np.random.default_rng([*seed, runs])
    first, second, truth = case(400_000 // classes * 2, classes, population)
    by_class = scores(first, score) - scores(second, score)
    mean = float((truth * by_class).sum(axis=1).mean())
    variance = float((truth * by_class**2).sum(axis=1).mean()) - mean**2
    fixed = math.ceil((1.959963984540054 + 0.8416212335729143) ** 2 * variance / mean**2)
    taken = []
    for run in range(runs):
        rng = np.random.default_rng([*seed, run])
        first, second, truth = case(LONGEST * fixed, classes, rng)
        d = rows(first, second, truth, score, rng)
        wide = np.full(d.value.size, RANGES[score])
        taken.append([decided_after(d), decided_after(d._replace(lowest=-wide, highest=wide)), bernstein(d, score)])
    median, most = np.quantile(np.array(taken) / fixed, [0.5, 0.8], axis=0, method="higher")
    record = {"study": "rows", "case": name_of(case), "classes": classes, "score": score, "runs": runs, "fixed": fixed}
    for at, method in enumerate(METHODS):
        record |= {f"{method}_median": float(median[at]), f"{method}_most": float(most[at])}
    return record


def decided_after(d: Rows) -> float:
    """Row at which it is decided; infinite if it is not."""
    first = math.inf
    for sign in (1, -1):
        for here, wealth in one_side(d, sign):
            if over(wealth).any():
                first = min(first, here.start + int(over(wealth).argmax()) + 1)
            if here.stop >= first:
                break
    return first


def bernstein(d: Rows, score: str) -> float:
    """The same by the empirical Bernstein bound, which knows the range of the score only."""
    x = d.value / (2 * RANGES[score])
    n = np.arange(1, x.size + 1)
    total = np.cumsum(x)
    centre = np.r_[0.0, total[:-1]] / np.maximum(n - 1, 1)
    outside = np.abs(total) > np.interp(np.cumsum((x - centre) ** 2), *BOUNDARY)
    return float(outside.argmax() + 1) if outside.any() else math.inf


def boundary(rho: float = 1.0) -> tuple[Array, Array]:
    """Sum at which the gamma-exponential mixture is at its limit, by intrinsic time; in units of the range.

    Of the rho tried, from .001 to 10, 1 needs the fewest rows over all these cases.
    """
    time = np.r_[0.0, np.geomspace(1e-6, 1e5, 3000)]
    low, high = np.zeros_like(time), 100 + 10 * np.sqrt(20 * (time + rho))
    for _ in range(60):
        middle = (low + high) / 2
        below = log_gamma_exponential(middle, time, rho) < LOG_LIMIT
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return time, high


def log_gamma_exponential(total: Array, time: Array, rho: float) -> Array:
    """Logarithm of the mixture (Howard et al. 2021, Proposition 9), through M(1, a + 1, x) of Kummer."""
    log_m = log_kummer(time + rho, total + time + rho) - log_kummer(np.array([rho]), np.array([rho]))
    return np.log(rho / (time + rho)) + log_m


def log_kummer(a: Array, x: Array) -> Array:
    """ln M(1, a + 1, x); by the incomplete gamma function where M itself may overflow."""
    small = x <= a
    with np.errstate(over="ignore"):
        return np.where(
            small,
            np.log(hyp1f1(1, a + 1, np.minimum(x, a))),
            gammaln(a + 1) + x - a * np.log(x) + np.log(gammainc(a, np.maximum(x, a))),
        )


BOUNDARY = boundary()


def study(runs: int) -> list[dict[str, Any]]:
    """Every case of both."""
    cases = [(false_alarms, null, runs) for null in NULLS]
    cases += [(rows_needed, effect, max(1, runs // 4)) for effect in EFFECTS]
    records = []
    for make, case, times in cases:
        for classes in (2, 10):
            for score in RANGES:
                records.append(make(case, classes, score, times))
                print(records[-1], file=sys.stderr, flush=True)
    return records


def show(records: list[dict[str, Any]]) -> None:
    """Print a table of each study."""
    alarms = [r for r in records if r["study"] == "false alarms"]
    print("| neither is better | 2 classes, Brier | 2, log loss | 10, Brier | 10, log loss | wrong | repeated test |")
    print("|---|---|---|---|---|---|---|")
    for case in dict.fromkeys(r["case"] for r in alarms):
        own = [r for r in alarms if r["case"] == case]
        missed = " | ".join(f"{r['missed']:.1%}" for r in own)
        wrong, test = ([of(r[name] for r in own) for of in (min, max)] for name in ("wrong", "test"))
        print(f"| {case} | {missed} | {wrong[0]:.1%} to {wrong[1]:.1%} | {test[0]:.0%} to {test[1]:.0%} |")
    print("\n| one is better | classes | score | fixed size | sequential | score's range | empirical Bernstein |")
    print("|---|---|---|---|---|---|---|")
    for r in (r for r in records if r["study"] == "rows"):
        times = [f"{ratio(r[f'{m}_median'])}, {ratio(r[f'{m}_most'])}" for m in METHODS]
        score = r["score"].replace("_", " ")
        print(f"| {r['case']} | {r['classes']} | {score} | {r['fixed']:,} | {' | '.join(times)} |")


def ratio(times: float) -> str:
    """Times as many rows."""
    return f"{times:.1f}" if math.isfinite(times) else f"> {LONGEST}"


def main() -> None:
    """Run the study, or show one that was run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--runs", type=int, default=1000, help="of the false alarms; a quarter as many of the rows")
    arguments = parser.parse_args()
    if arguments.show:
        show(pl.read_csv(arguments.show).to_dicts())
        return
    records = study(arguments.runs)
    if arguments.output:
        pl.DataFrame(records, infer_schema_length=None).write_csv(arguments.output)
    show(records)


if __name__ == "__main__":
    main()
