"""Whether intervals of skill scores cover, where the true skill is known.

    python benchmarks/skill.py [--runs R]

A table in Markdown, that of docs/evidence/studies.md; some minutes on one core. Each figure is the share
of R samples (2000) whose 95 % interval holds the true skill score. The population is 100,000 rows whose true
probabilities are softmax(z) of normal z, which also has a level for each of five months; the forecaster reports
softmax(1.3 z). A sample draws rows with replacement, and the outcome of each. The true skill is 1 - S/B with the
expected scores over the population, where the baseline knows the population's frequencies; the interval's baseline is
estimated from each sample.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from unperplexed import Forecasts, skill
from unperplexed.scores import score_named
from unperplexed.scores.rules import scores_by_outcome

Array = NDArray[np.float64]

POPULATION, MONTHS = 100_000, 5
RULES = ("log_loss", "brier_score", "ranked_probability_score")


def softmax(z: Array) -> Array:
    """Probabilities of rows of logits."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def expected(truth: Array, p: Array) -> dict[str, float]:
    """Mean score over the population, and over the outcomes of each row."""
    forecasts = Forecasts(np.zeros(len(p), dtype=int), p, labels=range(p.shape[1]))
    found = {}
    for name in RULES:
        scores = np.concatenate([scores_by_outcome(score_named(name), block) for block in forecasts.blocks()])
        found[name] = float((truth * scores).sum(axis=1).mean())
    return found


def held(classes: int, n: int, runs: int, by_month: bool, clusters: int) -> dict[str, float]:
    """Share of samples whose intervals hold the true skill."""
    rng = np.random.default_rng([20261123, classes, n, by_month, clusters])
    month = rng.integers(MONTHS, size=POPULATION)
    z = rng.normal(size=(POPULATION, classes)) + np.linspace(-1, 1, MONTHS)[month, None] * np.linspace(0, 1, classes)
    truth, p = softmax(z), softmax(1.3 * z)
    place = month if by_month else np.zeros(POPULATION, dtype=int)
    frequency = np.stack([truth[place == at].mean(axis=0) for at in range(place.max() + 1)])[place]
    scores, baseline, up_to = expected(truth, p), expected(truth, frequency), truth.cumsum(axis=1)
    found = dict.fromkeys(RULES, 0)
    for _ in range(runs):
        # With clusters each row is there several times, with one outcome: they depend on one another wholly.
        rows = rng.integers(POPULATION, size=n)
        y = np.minimum((up_to[rows] < rng.uniform(size=(n, 1))).sum(axis=1), classes - 1)
        cluster = np.repeat(np.arange(n), clusters)
        result = skill(
            y[cluster],
            p[rows][cluster],
            labels=range(classes),
            metrics=RULES,
            reference={"climatology": month[rows][cluster]} if by_month else "base-rate",
            clusters=cluster if clusters > 1 else None,
        )
        for name in RULES:
            low, high = result.whole.scores["forecast"][name].interval
            found[name] += low <= 1 - scores[name] / baseline[name] <= high
    return {name: count / runs for name, count in found.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print("| classes | rows | baseline | log loss | Brier score | ranked probability score |")
    print("|---|---|---|---|---|---|")
    for classes, n, by_month, clusters in (
        (2, 50, False, 1),
        (2, 200, False, 1),
        (2, 1000, False, 1),
        (5, 200, False, 1),
        (5, 1000, False, 1),
        (2, 1000, True, 1),
        (5, 1000, True, 1),
        (5, 200, False, 4),
    ):
        shares = held(classes, n, runs, by_month, clusters)
        what = "climatology of 5 months" if by_month else "base rate"
        rows = f"{n:,}" if clusters == 1 else f"{n:,} clusters of {clusters}"
        print(f"| {classes} | {rows} | {what} |{''.join(f' {100 * share:.1f}% |' for share in shares.values())}")


if __name__ == "__main__":
    main()
