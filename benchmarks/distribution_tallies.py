"""Tallies of predictive distributions: how near their assessments are to those of the rows, and what counting takes.

    python benchmarks/distribution_tallies.py [--sets 3] [--rows 30000]
    python benchmarks/distribution_tallies.py --count 10000000

The first assesses random sets of eight forms, half of them with weights too, from rows and from their tally: levels
about 0, far from 0, log-normal or heavy-tailed, spreads constant or not, with random biases, spreads, errors that rise
with level and spread, and tails. It prints each pair of p-values and the largest differences. The second counts
forecasts in parts of 100,000, by densities and by 23 quantiles: processor seconds of one core for a million rows,
cells, bytes of the file, and the most memory of the process.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

import unperplexed as up
from unperplexed.results import DistributionAssessment

Floats = NDArray[np.float64]
Set = tuple[str, Any, Any]
LEVELS = np.array([0.01, 0.025, *np.arange(0.05, 0.951, 0.05), 0.975, 0.99])
FEW = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
FITTED = ("bias", "spread", "skew", "tail", "level", "follow")
PART = 100_000


def drawn(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
    """Draw outcomes, and centres and spreads of forecasts with random errors."""
    which = rng.integers(4)
    centre = (
        rng.normal(0, 1, n),
        rng.normal(285, 10, n),
        np.exp(rng.normal(3, 1.2, n)),
        50 * rng.standard_t(4, n),
    )[which]
    spread = np.array([1.0, 2.0, 1.0, 30.0])[which] * np.exp(rng.choice([0, 0.2, 0.5]) * rng.normal(size=n))
    spread = spread * np.sqrt(centre) if which == 2 else spread
    low, wide, rising, following = rng.normal(0, [0.05, 0.05, 0.05, 0.1]) * (rng.random(4) < 0.5)
    z = rng.standard_t(6, n) if rng.random() < 0.25 else rng.normal(size=n)
    log = np.log(spread) - np.log(spread).mean()
    level = (centre - centre.mean()) / centre.std()
    return centre + spread * (low + rising * level + np.exp(wide + following * log) * z), centre, spread


def sets(rng: np.random.Generator, n: int) -> Iterator[Set]:
    """Draw a set of each form."""
    y, centre, spread = drawn(rng, n)
    yield "normal", y, up.Distribution("normal", mean=centre, sd=spread)
    for levels in (LEVELS, FEW):
        y, centre, spread = drawn(rng, n)
        yield f"{levels.size} quantiles", y, up.Quantiles(levels, centre[:, None] + np.outer(spread, ndtri(levels)))
    y, centre, spread = drawn(rng, n)
    yield "20 members", y, up.Samples(centre[:, None] + spread[:, None] * rng.normal(size=(n, 20)))
    mean = np.exp(rng.normal(rng.uniform(0, 4), rng.uniform(0.1, 1), n))
    yield "poisson", rng.poisson(mean * rng.choice([1, 1.02])), up.Distribution("poisson", mean=mean)
    size = rng.uniform(2, 8)
    law = up.Distribution("negative-binomial", mean=mean * rng.choice([1, 0.97]), size=size)
    yield "negative-binomial", rng.negative_binomial(size, size / (size + mean)), law
    zero = rng.uniform(0.1, 0.5, n)
    law = up.Distribution("gamma", shape=2.0, scale=mean * rng.choice([1, 1.03]), zero=zero)
    yield "gamma with zeros", np.where(rng.random(n) < zero, 0, rng.gamma(2, mean)), law
    yield "PIT", None, up.PIT(rng.beta(rng.choice([1, 1.03]), rng.choice([1, 0.97]), n))


def named(found: DistributionAssessment) -> dict[str, float]:
    """Return the errors that have a size."""
    return {each.error: each.parameter for each in found.diagnosis.findings if each.error in FITTED}


def differences(rows: DistributionAssessment, tally: DistributionAssessment) -> dict[str, float]:
    """Return how far two assessments are apart."""
    one, other = named(rows), named(tally)
    p, q = (max(each.diagnosis.p_value, 1e-300) for each in (rows, tally))
    return {
        "other names": float({*one} != {*other}),
        "ratio of p-values above 1e-4": max(p / q, q / p) if p > 1e-4 else 1.0,
        "size of an error": max((abs(one[name] - other[name]) for name in one if name in other), default=0.0),
        "bias": abs(rows.bias.value - tally.bias.value),
        "width": abs(rows.width.value - tally.width.value),
        "cost": abs(rows.cost - tally.cost),
        "coverage": max(abs(a.held.value - b.held.value) for a, b in zip(rows.coverage, tally.coverage, strict=True)),
    }


def compare(number: int, n: int) -> None:
    """Print how far assessments are apart, set by set, and the largest differences."""
    rng = np.random.default_rng(1)
    found: list[dict[str, float]] = []
    for k in range(number):
        for name, y, forecast in sets(rng, n):
            for weight in [None, rng.gamma(4, 0.25, size=n)][: 1 + k % 2]:
                rows = up.assess(y, forecast, clusters=None, sample_weight=weight)
                tally = up.assess(up.Tally.of(y, forecast, sample_weight=weight))
                found.append(differences(rows, tally))
                values = ", ".join(f"{each:.2g}" for each in found[-1].values())
                p = f"{rows.diagnosis.p_value:.3g} {tally.diagnosis.p_value:.3g}"
                print(f"{name}{', weighted' * (weight is not None)}: {p}, {[*named(rows)]}: {values}", flush=True)
    print(f"{len(found)} sets; sum of other names: {sum(each['other names'] for each in found):g}; largest of others:")
    for name in list(found[0])[1:]:
        print(f"  {name}: {max(each[name] for each in found):.3g}")


def count(n: int) -> None:
    """Print what counting takes."""
    rng = np.random.default_rng(0)
    for form in ("normal distributions", "23 quantiles"):
        tally, spent = up.Tally(), 0.0
        for _ in range(n // PART):
            centre, spread = rng.normal(285, 10, PART), 2 * np.exp(0.4 * rng.normal(size=PART))
            y = centre + spread * rng.normal(size=PART)
            values = centre[:, None] + np.outer(spread, ndtri(LEVELS)) if form == "23 quantiles" else None
            law = up.Distribution("normal", mean=centre, sd=spread)
            start = time.process_time()
            tally = tally + up.Tally.of(y, law if values is None else up.Quantiles(LEVELS, values))
            spent += time.process_time() - start
        start = time.process_time()
        up.assess(tally)
        took, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        cells, size = tally.cells.keys.shape[1], len(tally.to_bytes())
        print(
            f"{tally.n_rows:,} forecasts by {form}: {spent / n * 1e6:.2f} s a million, {cells:,} cells, {size:,} bytes,"
            f" assessed in {took:.2f} s, {memory} MB"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=3)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--count", type=int)
    given = parser.parse_args()
    if given.count:
        count(given.count)
    else:
        compare(given.sets, given.rows)
