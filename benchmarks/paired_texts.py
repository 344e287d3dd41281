"""Whether the interval of a difference in bits per byte covers, where the true difference is known.

    python benchmarks/paired_texts.py [--runs R] [--csv FILE]

A table in Markdown, also in results/paired_texts.csv; about a minute on one core. Each figure is the share of R corpora
(500) whose 95% interval contains the true difference. A corpus has documents of lognormal length. Two models cut them
into tokens of 4 and of 3 bytes; a token's log-probability is exponential. Its mean is 0.80 and 0.77 nats a byte for the
two models, times the document's difficulty, which is common to both, times a factor of the document for each model.

"Tokens" is the interval that takes the tokens of each model for independent, "bootstrap" the percentile interval of
1,000 resamples of whole documents.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unperplexed.language_models import Text, compare_texts

Array = NDArray[np.float64]

RATES, TOKEN_BYTES = (0.80, 0.77), (4, 3)
TRUTH = (RATES[0] - RATES[1]) / math.log(2)


def lognormal(rng: np.random.Generator, spread: float, n: int) -> Array:
    """Factors with a mean of 1."""
    return np.exp(spread * rng.normal(size=n) - spread**2 / 2)


def corpus(rng: np.random.Generator, n: int, spread: float) -> tuple[Array, list[list[Array]]]:
    """Bytes of the documents, and of each model the log-probabilities of each document's tokens."""
    n_bytes = 12 * np.ceil(np.exp(rng.normal(6.5, spread, n)) / 12)
    hard = lognormal(rng, 0.25, n)
    logs = []
    for rate, size in zip(RATES, TOKEN_BYTES, strict=True):
        mean = rate * size * hard * lognormal(rng, 0.08, n)
        logs.append([-m * rng.exponential(size=int(b) // size) for m, b in zip(mean, n_bytes, strict=True)])
    return n_bytes, logs


def held(n: int, spread: float, runs: int) -> tuple[float, float, float]:
    """Share of corpora whose intervals contain the truth: by document, bootstrap, and by token."""
    rng = np.random.default_rng([20261124, n, round(10 * spread)])
    found = np.zeros(3)
    for _ in range(runs):
        n_bytes, logs = corpus(rng, n, spread)
        texts = [
            [Text.of(str(k), None, x, n_bytes=int(b)) for k, (x, b) in enumerate(zip(log, n_bytes, strict=True))]
            for log in logs
        ]
        own = compare_texts(*texts)
        found[0] += own.interval.low <= TRUTH <= own.interval.high
        bits = [np.array([-x.sum() / math.log(2) for x in log]) for log in logs]
        weight = rng.multinomial(n, np.full(n, 1 / n), 1000)
        low, high = np.quantile((weight @ (bits[0] - bits[1])) / (weight @ n_bytes), [0.025, 0.975])
        found[1] += low <= TRUTH <= high
        tokens = [np.concatenate(log) / math.log(2) for log in logs]
        half = 1.96 * math.sqrt(sum(x.size * x.var(ddof=1) for x in tokens)) / n_bytes.sum()
        found[2] += abs(own.difference - TRUTH) <= half
    return tuple((found / runs).tolist())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--csv", type=Path, help="write the shares to this file too")
    given = parser.parse_args()
    names, rows = ("jackknife", "bootstrap", "tokens"), []
    print("| documents | spread of log length | jackknife over documents | bootstrap over documents | tokens |")
    print("|---|---|---|---|---|")
    for n, spread in ((12, 0.5), (12, 1.0), (40, 0.5), (40, 1.0), (40, 1.5), (200, 1.0)):
        shares = held(n, spread, given.runs)
        rows.append([n, spread, given.runs, *shares])
        print(f"| {n} | {spread} |{''.join(f' {100 * share:.1f}% |' for share in shares)}", flush=True)
    if given.csv:
        with given.csv.open("w", newline="") as file:
            csv.writer(file).writerows([["documents", "spread", "corpora", *names], *rows])


if __name__ == "__main__":
    main()
