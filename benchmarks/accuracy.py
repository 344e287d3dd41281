"""How far the coupled distributions, and SciPy's counterparts, are from 50-digit arithmetic.

    python benchmarks/accuracy.py [--json FILE]

For each method the worst relative deviation over a grid of points from the middle far into the tails (values down to
1e-290, quantiles of probabilities down to 1e-250), and the point where it is. Needs mpmath.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import scipy
from scipy import stats

from unperplexed import __version__
from unperplexed.theory import CoupledExponential, CoupledGaussian, MultivariateCoupledGaussian

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fifty_digits import exponential_pdf, exponential_sf, gaussian_pdf, gaussian_sf, multivariate_pdf, relative

SMALLEST = mp.mpf("1e-290")
LEVELS = [0.499999, 0.49, 0.4, 0.2, 1e-2, 1e-6, 1e-15, 1e-40, 1e-120, 1e-250]


def beta(k: float) -> Any:
    """SciPy's beta on the support of the compact coupled Gaussian."""
    a, end = (1 + 1 / abs(k)) / 2, 1 / np.sqrt(abs(k))
    return stats.beta(a, a, -end, 2 * end)


FAMILIES: dict[str, tuple[list[float], Any, Callable[[float], Any], Any, Any]] = {
    "t": (
        [1e-3, 0.01, 0.05, 0.162, 0.5, 1.0, 2.0, 10.0],
        CoupledGaussian, lambda k: stats.t(1 / k), gaussian_pdf, gaussian_sf,
    ),
    "t, coupling 1e-12 to 1e-4": (
        [1e-12, 1e-9, 1e-6, 1e-4], CoupledGaussian, lambda k: stats.t(1 / k), gaussian_pdf, gaussian_sf,
    ),
    "norm": ([0.0], CoupledGaussian, lambda k: stats.norm(), gaussian_pdf, gaussian_sf),
    "beta": ([-1e-3, -0.01, -0.095, -1 / 3, -0.5, -0.9, -0.999], CoupledGaussian, beta, gaussian_pdf, gaussian_sf),
    "genpareto": (
        [-0.9, -0.5, -0.1, -1e-6, 1e-12, 1e-6, 0.1, 0.5, 2.0, 10.0],
        CoupledExponential, stats.genpareto, exponential_pdf, exponential_sf,
    ),
}  # fmt: skip


def points(k: float, pareto: bool) -> list[float]:
    """From next to the centre far into the tail, or next to the end of the support."""
    if k < -1e-5:
        return [float(u / (-k if pareto else np.sqrt(-k))) for u in (1e-8, 0.01, 0.1, 0.5, 0.9, 0.999, 1 - 1e-7)]
    return [1e-8, 0.01, 0.3, 1.0, 3.0, 8.0, 20.0, 36.0] + ([1e3, 1e8] if k >= 0.1 else [])


def deviation_of_quantile(sf: Any, pdf: Any, k: float, x: float, q: float) -> float:
    """Relative deviation of x from the upper quantile of q, by a Newton step in 50 digits."""
    if np.isnan(x):
        return np.nan
    if np.isinf(x):
        return 0.0 if sf(1.7e308, k) > q else np.inf
    if x == 0 or pdf(x, k) == 0:
        return np.inf if sf(x, k) > 2 * q else 0.0
    return float(abs((sf(x, k) - mp.mpf(q)) / pdf(x, k) / mp.mpf(x)))


def deviations(name: str) -> Iterator[tuple[str, float, float, float, float]]:
    """Method, coupling, point, our deviation, SciPy's."""
    couplings, ours, theirs, pdf, sf = FAMILIES[name]
    for k in couplings:
        one, other = ours(coupling=k), theirs(k)
        for x in points(k, ours is CoupledExponential):
            density, tail = pdf(x, k), sf(x, k)
            if density > SMALLEST:
                yield "pdf", k, x, relative(one.pdf(x), density), relative(other.pdf(x), density)
            if tail > SMALLEST:
                yield "sf", k, x, relative(one.sf(x), tail), relative(other.sf(x), tail)
                if ours is CoupledGaussian:
                    yield "cdf", k, -x, relative(one.cdf(-x), tail), relative(other.cdf(-x), tail)
            yield "cdf", k, x, relative(one.cdf(x), 1 - tail), relative(other.cdf(x), 1 - tail)
        for q in LEVELS:
            yield "isf", k, q, *(deviation_of_quantile(sf, pdf, k, float(d.isf(q)), q) for d in (one, other))


def multivariate() -> Iterator[tuple[str, float, float, float, float]]:
    """Densities in three dimensions, along a line that leaves the centre."""
    shape = [[2.25, 0.9, -0.6], [0.9, 1.17, 0.03], [-0.6, 0.03, 4.25]]
    for k in (1e-12, 1e-6, 1e-3, 0.162, 1.0, 10.0):
        ours, theirs = (
            MultivariateCoupledGaussian(np.zeros(3), shape, k),
            stats.multivariate_t(np.zeros(3), shape, 1 / k),
        )
        for size in (0.01, 1.0, 10.0):
            x = [size, -size, 0.5 * size]
            density = multivariate_pdf(x, [0, 0, 0], shape, k)
            if density > SMALLEST:
                yield "pdf", k, size, relative(ours.pdf(x), density), relative(theirs.pdf(x), density)


def worst(rows: Iterator[tuple[str, float, float, float, float]]) -> dict[str, dict[str, Any]]:
    """Largest deviations by method, and where SciPy's is."""
    table: dict[str, dict[str, Any]] = {}
    for method, k, at, ours, theirs in rows:
        entry = table.setdefault(method, {"ours": 0.0, "scipy": 0.0, "coupling": k, "at": at})
        entry["ours"] = max(entry["ours"], ours)
        if not theirs <= entry["scipy"] and not np.isnan(entry["scipy"]):
            entry |= {"scipy": theirs, "coupling": k, "at": at}
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    arguments = parser.parse_args()
    np.seterr(all="ignore")
    results = {name: worst(deviations(name)) for name in FAMILIES} | {"multivariate_t": worst(multivariate())}
    print(f"unperplexed {__version__}, SciPy {scipy.__version__}, NumPy {np.__version__}; worst relative deviation\n")
    print(f"{'family':26} {'method':6} {'ours':>8} {'SciPy':>8}   SciPy's worst is at")
    for name, table in results.items():
        for method, entry in table.items():
            where = f"coupling {entry['coupling']:g}, {entry['at']:g}"
            print(f"{name:26} {method:6} {entry['ours']:8.0e} {entry['scipy']:8.0e}   {where}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
