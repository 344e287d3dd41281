"""Coverage of the intervals of O/E, scaled Brier score, ICI, E50 and E90, and of means over hospitals.

``python benchmarks/validation.py`` prints the share of samples whose 95% interval holds the truth, in three designs,
and of 20 hospitals that truly differ. A few minutes on one core.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

import unperplexed as up
from unperplexed.statistics.empirical_bayes import random_effects

METRICS = ("oe", "scaled_brier", "brier", "ici", "e50", "e90")
DESIGNS: dict[str, tuple[int, float, Callable[[np.ndarray], np.ndarray]]] = {
    "calibrated, 1,000 rows, 38% events": (1000, -0.6, lambda s: s),
    "slope 0.7, 500 rows, 38% events": (500, -0.6, lambda s: -0.2 + 0.7 * s),
    "bias 0.4 in log-odds, 2,000 rows, 9% events": (2000, -2.8, lambda s: s + 0.4),
}
SAMPLES = 200


def drawn(n: int, mean: float, true: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    """Predicted and true probabilities, and outcomes."""
    s = rng.normal(mean, 1.0, n)
    q = expit(true(s))
    return [expit(s), q, (rng.uniform(size=n) < q).astype(int)]


def truth(p: np.ndarray, q: np.ndarray) -> dict[str, float]:
    """Metrics of all rows there are."""
    brier = float(np.mean(q * (1 - p) ** 2 + (1 - q) * p**2))
    off = np.abs(p - q)
    found = [
        q.mean() / p.mean(),
        1 - brier / (q.mean() * (1 - q.mean())),
        brier,
        off.mean(),
        *np.quantile(off, [0.5, 0.9]),
    ]
    return dict(zip(METRICS, map(float, found), strict=True))


def covered(samples: int = SAMPLES, seed: int = 0) -> dict[str, dict[str, float]]:
    """Share of samples whose intervals hold the truth, by design and metric."""
    rng, shares = np.random.default_rng(seed), {}
    for name, (n, mean, true) in DESIGNS.items():
        known = truth(*drawn(1_000_000, mean, true, rng)[:2])
        hits = dict.fromkeys(METRICS, 0)
        for _ in range(samples):
            p, _, y = drawn(n, mean, true, rng)
            found = up.assess(y, p, clusters=None, resamples=0).validation
            for metric in METRICS:
                low, high = found.metrics[metric].interval
                hits[metric] += low <= known[metric] <= high
        shares[name] = {metric: hit / samples for metric, hit in hits.items()}
    return shares


def hospitals(samples: int = 1000, seed: int = 1) -> dict[str, float]:
    """The same of the mean over hospitals by random effects, and of a new hospital."""
    rng, shares = np.random.default_rng(seed), {}
    for k, between in ((8, 0.0), (8, 0.2), (20, 0.2)):
        held = new = 0
        for _ in range(samples):
            error = rng.uniform(0.05, 0.3, k)
            effect = rng.normal(0, between, k) + rng.normal(0, error)
            found = random_effects(effect, error)
            held += found.interval.low <= 0 <= found.interval.high
            new += found.prediction.low <= rng.normal(0, between) <= found.prediction.high
        shares[f"{k} hospitals, spread {between}: mean"] = held / samples
        shares[f"{k} hospitals, spread {between}: a new one"] = new / samples
    return shares


if __name__ == "__main__":
    for name, shares in covered().items():
        print(f"{name}: {', '.join(f'{metric} {share:.1%}' for metric, share in shares.items())}")
    for name, share in hospitals().items():
        print(f"{name} {share:.1%}")
