"""Every public function of numbers against 50-digit arithmetic: the worst error over random points of its domain.

    python benchmarks/references.py [--points 400]

A table in Markdown; some minutes on one core. Errors are relative to the value; where a value may be a difference
of nearly equal numbers, relative to the value or 1, whichever is more. `benchmarks/accuracy.py` does the same for
coupled distributions.
Needs mpmath.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

from unperplexed import scores, statistics, theory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import fifty_digits  # noqa: F401  # which sets the digits

mp.mp.dps = 60
SEED = 20_261_125
SMALLEST, LARGEST = mp.mpf("1e-290"), mp.mpf("1e290")
Points = Iterator[tuple[float, Any]]
Rng = np.random.Generator


def wide(rng: Rng, low: float, high: float) -> float:
    """A number whose logarithm to base 10 is uniform."""
    return float(10 ** rng.uniform(low, high))


def order(rng: Rng) -> float:
    """An order from next to 0 to far from it, of either sign."""
    return float(rng.choice([-1, 1])) * wide(rng, *([-12, 2] if rng.random() < 0.7 else [-0.5, 0.5]))


def coupling(rng: Rng, d: int) -> float:
    """A coupling above -1/d."""
    return wide(rng, -12, 2) if rng.random() < 0.5 else -wide(rng, -12, 0) * 0.99 / d


def distribution(rng: Rng) -> np.ndarray:
    """Probabilities of 2 to 12 outcomes, from even to nearly certain."""
    p = rng.dirichlet(np.full(int(rng.integers(2, 13)), wide(rng, -1.3, 1.3))) + 1e-30
    return p / p.sum()


def exact(p: np.ndarray) -> list[Any]:
    """The same in many digits, divided by its sum as the functions do."""
    values = [mp.mpf(float(x)) for x in p]
    total = mp.fsum(values)
    return [x / total for x in values]


def mean_of(weights: list[Any], values: list[Any], r: float) -> Any:
    """Generalized mean."""
    if r == 0:
        return mp.exp(mp.fsum(w * mp.log(x) for w, x in zip(weights, values, strict=True)))
    r = mp.mpf(r)
    return mp.fsum(w * x**r for w, x in zip(weights, values, strict=True)) ** (1 / r)


def powers(k: float, y: Any) -> Any:
    """(exp(k y) - 1)/k."""
    return mp.expm1(mp.mpf(k) * y) / mp.mpf(k) if k else y


def numbers(function: Callable[..., Any], rng: Rng) -> tuple[Any, Any]:
    """A random call of a function of single numbers, and the exact value."""
    name, d = function.__name__, int(rng.integers(1, 5))
    k = coupling(rng, d)
    slope = 1 + d * mp.mpf(k)
    if name == "coupled_log":
        x = wide(rng, -300, 300) if rng.random() < 0.5 else 1 + order(rng) / 200
        return function(x, k, d), powers(k, mp.log(x) / slope)
    if name == "coupled_exp":
        x = order(rng)
        base = 1 + mp.mpf(k) * mp.mpf(x)
        return function(x, k, d), mp.exp(slope * mp.log(base) / mp.mpf(k)) if base > 1e-3 else None
    r = wide(rng, -12, 2) if rng.random() < 0.5 else -wide(rng, -12, 0) * 0.99
    if name == "risk_log":
        x = wide(rng, -300, 0)
        return function(x, r), (1 + mp.mpf(r)) * powers(r, mp.log(x))
    if name == "risk_exp":
        x = -wide(rng, -10, 2)
        base = 1 + mp.mpf(r) / (1 + mp.mpf(r)) * mp.mpf(x)
        return function(x, r), mp.exp(mp.log(base) / mp.mpf(r)) if base > 1e-3 else None
    if name == "order_from_coupling":
        return function(k, d=d), -2 * mp.mpf(k) / slope
    r = max(r, -1.98 / d)
    return function(r, d=d), -mp.mpf(r) / (2 + d * mp.mpf(r))


def of_distributions(function: Callable[..., Any], rng: Rng) -> tuple[Any, Any]:
    """A random call of a function of distributions, and the exact value."""
    name, p, r = function.__name__, distribution(rng), order(rng)
    e = exact(p)
    if name == "average_probability":
        return function(p, r), mean_of(e, e, -r)
    nats = -mp.log(mean_of(e, e, -r))
    if name == "renyi_entropy":
        return function(p, r), nats
    if name == "tsallis_entropy":
        return function(p, r), powers(r, nats)
    if name == "normalized_tsallis_entropy":
        return function(p, r), powers(-r, nats)
    if name == "coupled_entropy":
        k = coupling(rng, 1)
        s = -2 * mp.mpf(k) / (1 + mp.mpf(k))
        return function(p, k), powers(k, -2 * mp.log(mean_of(e, e, -s)) / (1 + mp.mpf(k)))
    if name == "entropy":
        return function(p, order=r), -mp.log(mean_of(e, e, r))
    if name == "escort":
        least = [x ** (1 - mp.mpf(r)) for x in e]
        at = int(rng.integers(len(p)))
        return function(p, r)[at], least[at] / mp.fsum(least)
    q = np.resize(distribution(rng), p.shape)
    q /= q.sum()
    f = exact(q)
    if name == "cross_entropy":
        return function(p, q, order=r), -mp.log(mean_of(e, f, r))
    r = min(r, 0.9)
    return function(p, q, order=r), -mp.log(mean_of(e, [b / a for a, b in zip(e, f, strict=True)], r))


def of_points(function: Callable[..., Any], rng: Rng) -> tuple[Any, Any]:
    """A random call of a mean of probabilities with weights, and the exact value."""
    n = int(rng.integers(1, 30))
    p, w = 10 ** -rng.uniform(0, wide(rng, -3, 2.2), n), 10 ** rng.uniform(-3, 3, n)
    values, weights = [mp.mpf(float(x)) for x in p], [mp.mpf(float(x)) for x in w]
    if function.__name__ == "total_probability":
        return function(p, sample_weight=w, log=True), mp.fsum(
            a * mp.log(x) for a, x in zip(weights, values, strict=True)
        )
    total = mp.fsum(weights)
    weights = [a / total for a in weights]
    if function.__name__ == "generalized_mean":
        r = order(rng)
        return function(p, r, w), mean_of(weights, values, r)
    logs = [mp.log(x) for x in values]
    middle = mp.fsum(a * x for a, x in zip(weights, logs, strict=True))
    return function(p, w), mp.exp(-mp.sqrt(mp.fsum(a * (x - middle) ** 2 for a, x in zip(weights, logs, strict=True))))


def of_rows(function: Callable[..., Any], rng: Rng) -> tuple[Any, Any]:
    """A random call of a scoring rule, and the exact value: the mean over rows."""
    classes, n = int(rng.integers(2, 8)), int(rng.integers(1, 20))
    p = rng.dirichlet(np.full(classes, wide(rng, -1, 1)), n) + 1e-30
    p /= p.sum(axis=1, keepdims=True)
    y = rng.integers(0, classes, n)
    name, r = function.__name__, wide(rng, -8, 1) if rng.random() < 0.5 else -wide(rng, -8, 0) * 0.9
    rows = [[mp.mpf(float(x)) for x in row] for row in p]
    found = []
    for row, at in zip(rows, y.tolist(), strict=True):
        top = at == max(range(classes), key=row.__getitem__)
        brier = mp.fsum((x - (k == at)) ** 2 for k, x in enumerate(row))
        surprisal = -(1 + mp.mpf(r)) * powers(r, mp.log(row[at]))
        squares = mp.fsum(x * x for x in row)
        penalty = 0 if top else mp.mpf(classes - 1) / classes
        sums = [mp.fsum(row[: k + 1]) - (at <= k) for k in range(classes - 1)]
        rules = {
            "log_loss": lambda row=row, at=at: -mp.log(row[at]),
            "brier_score": lambda brier=brier: brier,
            "spherical_score": lambda row=row, at=at, squares=squares: row[at] / mp.sqrt(squares),
            "ranked_probability_score": lambda sums=sums: mp.fsum(x * x for x in sums),
            "generalized_surprisal": lambda surprisal=surprisal: surprisal,
            "power_score": lambda s=surprisal, row=row: s + mp.fsum(x ** (1 + mp.mpf(r)) for x in row) - 1,
            "penalized_brier_score": lambda brier=brier, penalty=penalty: brier + penalty,
            "penalized_log_loss": lambda row=row, at=at, top=top: -mp.log(row[at]) + (0 if top else mp.log(classes)),
        }
        found.append(rules[name]())
    arguments = [r] if name in ("generalized_surprisal", "power_score") else []
    return function(y, p, *arguments, labels=list(range(classes))), mp.fsum(found) / n


ENTROPIES = ["entropy", "renyi_entropy", "tsallis_entropy", "normalized_tsallis_entropy", "coupled_entropy"]
SCORES = ["log_loss", "brier_score", "spherical_score", "ranked_probability_score", "generalized_surprisal"]
SCORES += ["power_score", "penalized_brier_score", "penalized_log_loss"]
ABSOLUTE = {*ENTROPIES, "divergence", "brier_score", "ranked_probability_score", "power_score"}
GROUPS: list[tuple[Any, Callable[..., Any], list[str]]] = [
    (theory, numbers, ["coupled_log", "coupled_exp", "risk_log", "risk_exp"]),
    (statistics, numbers, ["order_from_coupling", "coupling_from_order"]),
    (statistics, of_points, ["generalized_mean", "log_std_factor"]),
    (theory, of_points, ["total_probability"]),
    (theory, of_distributions, [*ENTROPIES, "cross_entropy", "divergence", "average_probability", "escort"]),
    (scores, of_rows, SCORES),
]


def worst(function: Callable[..., Any], call: Callable[..., Any], points: int) -> tuple[float, float, int]:
    """Return the worst error, the median and the number of points within the range of floats."""
    rng = np.random.default_rng([SEED, *function.__name__.encode()])
    errors = []
    for _ in range(points):
        got, expected = call(function, rng)
        if expected is None or not SMALLEST < abs(expected) < LARGEST:
            continue
        scale = max(abs(expected), 1 if function.__name__ in ABSOLUTE else 0)
        errors.append(float(abs(mp.mpf(float(got)) - expected) / scale))
    return max(errors), float(np.median(errors)), len(errors)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=400)
    points = parser.parse_args().points
    print("| function | worst error | median | points |\n|---|---|---|---|")
    for module, call, names in GROUPS:
        for name in names:
            most, middle, n = worst(getattr(module, name), call, points)
            shown = f"`{name}`" + ("*" if name in ABSOLUTE else "")
            print(f"| {shown} | {most:.0e} | {middle:.0e} | {n} |", flush=True)


if __name__ == "__main__":
    main()
