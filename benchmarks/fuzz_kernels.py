"""Matrices made to break it, counted by the compiled kernel and by NumPy: both must give the same to the last digit.

Random, tied and adversarial rows of any layout: -0.0, denormals, 1 and 1/2 give or take a last place, NaNs with
payloads, two values above one half, all zeros.

    python benchmarks/fuzz_kernels.py --matrices 1000000
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from adversarial import adversarial, counted, layouts
from unperplexed.kernels import rows as _kernels

SEED = 20_261_122


def main() -> None:
    """Count matrices in both ways until they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    kernel = _kernels._kernel
    if kernel is None:
        sys.exit("fuzz: the kernel was not built; there is nothing to compare.")
    rng = np.random.default_rng(arguments.seed)
    values = 0
    for number in tqdm(range(arguments.matrices)):
        classes = int(rng.choice([2, 3, 7, 8, 9, 31, 32, 33, 40, 129, 137]))
        p = adversarial(rng, int(rng.integers(1, 12)), classes, rng.choice([np.float64, np.float32, np.float16]))
        given = layouts(p, rng)[rng.integers(5)]
        truth, bits = (
            rng.integers(0, classes, len(p)),
            int(rng.choice([3, 4, 5, 9], p=[0.4, 0.3, 0.25, 0.05])),
        )  # wide cells are quick to compare
        compiled = counted(given, truth, None, bits)
        _kernels._kernel = None
        plain = counted(given, truth, None, bits)
        _kernels._kernel = kernel
        for one, other in zip(compiled, plain, strict=True):
            if not np.array_equal(one, other, equal_nan=True):
                sys.exit(f"fuzz: matrix {number} of seed {arguments.seed} differs:\n{given!r}\n{one!r}\n{other!r}")
        values += p.size
    print(f"{arguments.matrices:,} matrices of {values:,} values: the same to the last digit.")


if __name__ == "__main__":
    main()
