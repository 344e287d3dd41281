"""Coverage of the 95% confidence intervals of average precision, and of precision and recall at a capacity.

    python benchmarks/precision.py

Samples of calibrated forecasts with normal log-odds. The true values are those of 2,000,000 rows, of which a capacity
takes the same share. Prints a table of the appendix; about a minute.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from unperplexed import Tally
from unperplexed.assessment.decision_curve import MODEL, rows_for_decisions
from unperplexed.assessment.decisions import at_capacity
from unperplexed.assessment.familiar import familiar_metrics

SAMPLES, MANY = 1000, 2_000_000
DESIGNS = {
    "rare": (-4, 1.5, 2000, 100),
    "frequent, few rows": (0, 1, 300, 60),
    "sharp": (-2, 2, 800, 80),
    "very rare, weak": (-5, 1, 3000, 100),
}
"""Mean and standard deviation of the log-odds, rows, and capacity."""


def drawn(rng: np.random.Generator, mean: float, sd: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw outcomes and calibrated forecasts of them."""
    p = expit(rng.normal(mean, sd, n))
    return (rng.random(n) < p).astype(int), p


def truth(y: np.ndarray, p: np.ndarray, share: float) -> tuple[float, float, float]:
    """Average precision, and precision and recall of acting on the highest probabilities."""
    found = y[np.argsort(-p)]
    precision = np.cumsum(found) / np.arange(1, y.size + 1)
    acted = int(share * y.size)
    return float(precision[found == 1].mean()), float(precision[acted - 1]), float(found[:acted].sum() / y.sum())


def main() -> None:
    """Print the share of samples whose intervals contain the true values."""
    print("design,events,average_precision,precision,recall")
    for at, (name, (mean, sd, n, capacity)) in enumerate(DESIGNS.items()):
        rng = np.random.default_rng(at)
        expected, contained, events = truth(*drawn(rng, mean, sd, MANY), capacity / n), np.zeros(3), 0
        for _ in range(SAMPLES):
            y, p = drawn(rng, mean, sd, n)
            events += int(y.sum())
            average = familiar_metrics(Tally.of(y, p)).average_precision
            rows, _ = rows_for_decisions(y, p, {MODEL: p}, {})
            best = at_capacity(rows[MODEL], capacity, 0.95)
            limits = (average.interval, best.precision.interval, best.recall.interval)
            contained += [low <= true <= high for true, (low, high) in zip(expected, limits, strict=True)]
        print(name, round(events / SAMPLES), *(f"{100 * x / SAMPLES:.1f}" for x in contained), sep=",")


if __name__ == "__main__":
    main()
