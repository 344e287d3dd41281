"""10^9 rows counted in 1,000 parts and added up in random trees: the same bytes as when one tally counts all of them.

    python benchmarks/merging.py [--parts 1000] [--rows 1000000] [--trees 5]

Some minutes on one core. Parts differ in their generator's seed, precision, form and calibration. Then counts are
doubled as often as a tally allows, up to the refusal that names the limit, which is 2^53 rows times classes.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Iterator

import numpy as np

from unperplexed import Forecasts, InputError, Tally

SEED = 20_261_125
Tree = list[Tally]


def part(number: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Make the rows of a part: outcomes, and probabilities of one of four forms."""
    rng = np.random.default_rng([SEED, number])
    p = rng.random(rows, dtype=np.float32)
    y = rng.random(rows, dtype=np.float32) < p ** (1 + number % 3 / 4)
    form = number % 4
    if form == 1:
        return y, p.astype(np.float64) ** 9  # many next to 0
    if form == 2:
        return y, p.round(2)
    if form == 3:
        p[:: 1 + rows // 100] = number % 8 == 3  # certain, and some of them wrong
    return y, p


def added(parts: Tree, rng: np.random.Generator) -> Tally:
    """Add two parts at random, or neighbours, or many one after another, until one is left."""
    left = list(parts)
    while len(left) > 1:
        at = int(rng.integers(len(left)))
        first = left.pop(at)
        other = int(rng.integers(len(left)))
        left[other] = first + left[other] if rng.random() < 0.5 else left[other] + first
    return left[0]


def doubled(tally: Tally) -> tuple[int, Tally, str]:
    """Add a tally to itself until it is refused: how often it went, the last one, and the refusal."""
    for times in range(80):
        try:
            more = tally + tally
        except InputError as error:
            return times, tally, str(error)
        assert more.n_rows == 2 * tally.n_rows
        assert Tally.from_bytes(more.to_bytes()).to_bytes() == more.to_bytes()
        tally = more
    raise AssertionError("nothing was refused")


def main() -> None:
    """Count, add up, and compare bytes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a part (default: 1000000)")
    parser.add_argument("--trees", type=int, default=5)
    text = "cells in an octave are 2 to this power (default: 6; those of tallies are 9: sums take five times as long)"
    parser.add_argument("--fraction-bits", type=int, default=6, metavar="BITS", help=text)
    arguments = parser.parse_args()
    start, parts, how = time.perf_counter(), list[Tally](), {"fraction_bits": arguments.fraction_bits}

    def chunks() -> Iterator[Forecasts]:
        for number in range(arguments.parts):
            y, p = part(number, arguments.rows)
            parts.append(Tally.of(y, p, **how))
            third = arguments.rows // 3
            yield Forecasts(y[:third], p[:third], whole=False)
            yield Forecasts(y[third:], p[third:], whole=False)

    whole = Tally.count(chunks(), n_jobs=1, **how)
    seconds = time.perf_counter() - start
    print(f"{whole.n_rows:,} rows, counted twice in {seconds:,.0f} s; a tally takes {len(whole.to_bytes()):,} bytes")
    expected = hashlib.sha256(whole.to_bytes()).hexdigest()
    print(f"one tally of all, cut elsewhere: {expected[:16]}", flush=True)
    for tree in range(arguments.trees):
        start = time.perf_counter()
        found = hashlib.sha256(added(parts, np.random.default_rng([SEED, tree])).to_bytes()).hexdigest()
        print(f"tree {tree}: {found[:16]}, {'equal' if found == expected else 'OTHER'} bytes", end="")
        print(f", {len(parts) - 1:,} sums in {time.perf_counter() - start:.1f} s")
        assert found == expected
    times, last, refusal = doubled(whole)
    print(f"doubled {times} times, to {last.n_rows:,} rows; then: {refusal}")


if __name__ == "__main__":
    main()
