"""Input made to break it, counted by the compiled kernel and by NumPy: both must give the same to the last digit.

Random, tied and adversarial rows of any layout: -0.0, denormals, 1 and 1/2 give or take a last place, NaNs with
payloads, two values above one half, all zeros. Each case has a seed of its own, so that any batch can be run alone.

    python benchmarks/fuzz_kernels.py --cases 1000000
    python benchmarks/fuzz_kernels.py --kind columns --first 50000 --cases 10000    # or logits, or coarse
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from adversarial import EDGES, adversarial, counted, edge_values, layouts
from unperplexed import Tally
from unperplexed.kernels import exact_sum as _exact_sum
from unperplexed.kernels import rows as _kernels
from unperplexed.kernels import softmax as _softmax
from unperplexed.tally import surprises as _columns

SEED = 20_261_122

_MODULES = (_kernels, _softmax, _exact_sum, _columns)


@contextmanager
def numpy_alone() -> Iterator[None]:
    """Leave the compiled kernel out."""
    kernel = _kernels._kernel
    for module in _MODULES:
        module._kernel = None
    try:
        yield
    finally:
        for module in _MODULES:
            module._kernel = kernel


def matrix(rng: np.random.Generator) -> tuple[int, Callable[[], list[np.ndarray]]]:
    """Make a matrix, and what gives its primitives of rows and its cells."""
    classes = int(rng.choice([2, 3, 7, 8, 9, 31, 32, 33, 40, 129, 137]))
    p = adversarial(rng, int(rng.integers(1, 12)), classes, rng.choice([np.float64, np.float32, np.float16]))
    given = layouts(p, rng)[rng.integers(5)]
    truth = rng.integers(0, classes, len(p))
    bits = int(rng.choice([3, 4, 5, 9], p=[0.4, 0.3, 0.25, 0.05]))  # wide cells are quick to compare
    return p.size, lambda: counted(given, truth, None, bits)


def column(rng: np.random.Generator) -> tuple[int, Callable[[], list[np.ndarray]]]:
    """Make a column of probabilities with outcomes, and what gives its tally."""
    n = int(rng.choice([1, 5, 127, 128, 129, 300, 700]))
    p, dtype = rng.uniform(size=n), rng.choice([np.float64, np.float32])
    for values in (EDGES, edge_values(rng, dtype), 2.0 ** -rng.uniform(0, 140, 99), np.arange(11) / 10):
        here = rng.uniform(size=n) < rng.choice([0, 0.1, 0.5])
        p[here] = rng.choice(values, int(here.sum()))
    y = (rng.uniform(size=n) < rng.choice([0.01, 0.5, 0.9])).astype(rng.choice([np.int8, np.int64]))
    y[rng.uniform(size=n) < rng.choice([0, 0.1])] = 9
    with np.errstate(over="ignore"):
        p = p.astype(dtype)
    limit, bits = int(rng.choice([0, 30, 1 << 16])), int(rng.choice([3, 4, 5, 9, 12], p=[0.3, 0.3, 0.2, 0.15, 0.05]))

    def tally() -> list[np.ndarray]:
        reading = {"labels": (0, 1), "ignore_label": 9, "invalid": "drop"}
        found = Tally.of(y, p, exact_limit=limit, fraction_bits=bits, parts=["surprises"], **reading)
        return [np.frombuffer(found.to_bytes(), dtype=np.uint8)]

    return n, tally


def logits(rng: np.random.Generator) -> tuple[int, Callable[[], list[np.ndarray]]]:
    """Make a matrix of logits, and what gives the primitives and the cells of its probabilities."""
    classes = int(rng.choice([2, 3, 7, 8, 9, 31, 32, 33, 40, 129, 137]))
    x = rng.normal(size=(int(rng.integers(1, 12)), classes)) * rng.choice([0.1, 3, 30, 200])
    odd = rng.uniform(size=x.shape) < rng.choice([0, 0.02, 0.5])
    x[odd] = rng.choice([-np.inf, np.inf, np.nan, 3e38, -3e38, 0, -0.0, 90, 1e-40], int(odd.sum()))
    given = layouts(x.astype(np.float32), rng)[rng.integers(5)]
    truth, bits = rng.integers(0, classes, len(x)), int(rng.choice([3, 4, 5], p=[0.4, 0.3, 0.3]))
    return x.size, lambda: counted(_softmax.logit_rows(given), truth, None, bits)


def coarse(rng: np.random.Generator) -> tuple[int, Callable[[], list[np.ndarray]]]:
    """Make a matrix of probabilities with groups of its rows or columns, and what counts them in coarse cells."""
    n, columns = ((3100, 1), (350, 9), (9, 350), (2, 1600), (5, 40))[rng.integers(5)]
    dtype, groups, of_rows = rng.choice([np.float64, np.float32]), int(rng.integers(1, 4)), bool(rng.integers(2))
    with np.errstate(over="ignore"):
        p = rng.choice(np.concatenate([edge_values(rng, dtype)[::10], 2.0 ** -rng.uniform(0, 60, 999)]), (n, columns))
        p = np.clip(p.astype(dtype), 0, 1)
    group = rng.integers(0, groups, n if of_rows else columns)

    def count() -> list[np.ndarray]:
        total, places = np.zeros((2, 256 * groups))
        _kernels.COARSE.count(p, group, of_rows, None, total, places)
        return [total, places]

    return p.size, count


KINDS = {"matrices": matrix, "columns": column, "logits": logits, "coarse": coarse}


def compared(kind: str, number: int, seed: int = SEED) -> tuple[int, bool]:
    """Count a case in both ways: its values, and whether what they give is the same."""
    size, compute = KINDS[kind](np.random.default_rng([seed, number]))
    compiled = compute()
    with numpy_alone():
        plain = compute()
    return size, all(
        np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
        for one, other in zip(compiled, plain, strict=True)
    )


def main() -> None:
    """Count cases in both ways until they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, default="matrices")
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    if _kernels._kernel is None:
        sys.exit("fuzz: the kernel was not built; there is nothing to compare.")
    values = 0
    for number in tqdm(range(arguments.first, arguments.first + arguments.cases), mininterval=10):
        size, same = compared(arguments.kind, number, arguments.seed)
        if not same:
            sys.exit(f"fuzz: case {number} of the {arguments.kind} of seed {arguments.seed} differs.")
        values += size
    print(f"{arguments.cases:,} {arguments.kind} of {values:,} values: the same to the last digit.")


if __name__ == "__main__":
    main()
