"""How often groups of rows are named where none is wrong, and how often planted ones are found.

    python benchmarks/where.py [--runs R] [--output FILE.csv]

Size: forecasts with at most an error that all rows share, such as a bias, an overconfidence or a wave; rare events; and
clusters that share an outcome. The figure is the share of samples in which any group is named, at 5%. Samples of
outcomes that tell what chance does are drawn for each data set.

Power: one group is wrong, by a bias or a slope. "named" is the share of samples in which a group is, and "jaccard" the
mean overlap of the first one with the true rows, of those samples.

Each sample is written as a line as soon as it is made, and those that are in the file are not made again, so that
a run may be ended and taken up. The table is that of all lines. results/where.csv has 25 samples of each design, which
show gross faults only: of the calibrated ones 12 of 278 had a group.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unperplexed.calibration.where.conditions import columns_of_values
from unperplexed.calibration.where.naming import Search, rows_of
from unperplexed.calibration.where.rules import SearchedRows

Floats = NDArray[np.float64]


class Design(NamedTuple):
    """How samples are made."""

    rows: int
    error: Callable[[Floats], Floats] = lambda s: s
    """From reported to true log-odds, in all rows."""
    centre: float = 0.0
    columns: int = 6
    clusters: int = 0
    """That share one outcome each; 0 for independent rows."""
    effect: float = 0.0
    """Bias of the group, or what is added to its slope."""
    slope: bool = False
    share: float = 0.1
    two: bool = False
    """Whether the group has two conditions."""


SIZE = {
    "300 rows": Design(300),
    "1000 rows": Design(1000),
    "3000 rows, 10 columns": Design(3000, columns=10),
    "20,000 rows": Design(20_000),
    "rare events": Design(1000, centre=-4.2),
    "bias": Design(2000, lambda s: s + 0.5),
    "slope": Design(2000, lambda s: 0.6 * s),
    "wave": Design(2000, lambda s: s + 0.5 * np.sin(2 * s)),
    "tail": Design(2000, lambda s: s + 0.3 * np.sign(s) * np.maximum(np.abs(s) - 1, 0)),
    "300 clusters": Design(3000, clusters=300),
    "80 clusters": Design(1600, clusters=80),
}
POWER = {
    "bias 1 in 11%": Design(3000, effect=1.0, share=0.11, columns=10),
    "bias 0.5 in 22%": Design(3000, effect=0.5, share=0.22, columns=10),
    "slope 0.5 in 22%": Design(3000, effect=-0.5, slope=True, share=0.22, columns=10),
    "two conditions, bias 1 in 11%": Design(3000, effect=1.0, share=0.11, columns=10, two=True),
    "two conditions, bias 1 in 11%, 10,000 rows": Design(10_000, effect=1.0, share=0.11, columns=10, two=True),
}


def sample(design: Design, seed: int) -> tuple[bool, float]:
    """Make a sample; return whether a group is named, and the overlap of the first one with the true rows."""
    rng, n = np.random.default_rng(seed), design.rows
    units = design.clusters or n
    unit = np.arange(n) % units
    x = rng.normal(size=(units, design.columns))[unit]
    kind = rng.choice(list("abcde"), units)[unit]
    s = rng.normal(design.centre, 1.2, units)[unit]
    if design.two:
        edge = math.sqrt(design.share)
        inside = (x[:, 0] > np.quantile(x[:, 0], 1 - edge)) & (x[:, 1] < np.quantile(x[:, 1], edge))
    else:
        inside = x[:, 0] > np.quantile(x[:, 0], 1 - design.share)
    true = design.error(s) + design.effect * inside * (s if design.slope else 1.0)
    y = (rng.random(units)[unit] < 1 / (1 + np.exp(-true))).astype(np.float64)
    columns = [column for at in range(design.columns) for column in columns_of_values(f"x{at}", x[:, at])]
    columns += columns_of_values("kind", kind)
    cluster = unit if design.clusters else None
    found = Search(columns, seed=seed).found(SearchedRows.of(s, y, cluster=cluster))
    if not found.groups:
        return False, math.nan
    places = {column.name: at for at, column in enumerate(columns)}
    named = rows_of(columns, {places[each.column]: each for each in found.groups[0].conditions})
    return True, float((named & inside).sum() / (named | inside).sum())


def main() -> None:
    """Make the samples that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "where.csv")
    options = parser.parse_args()
    designs, path = SIZE | POWER, options.output
    if not path.exists():
        path.write_text("design,seed,named,jaccard\n")
    known = {(row["design"], row["seed"]) for row in pl.read_csv(path).iter_rows(named=True)}
    with path.open("a") as lines:
        for seed in range(options.runs):
            for name, design in designs.items():
                if (name, seed) not in known:
                    named, jaccard = sample(design, seed)
                    lines.write(f'"{name}",{seed},{int(named)},{"" if math.isnan(jaccard) else round(jaccard, 4)}\n')
                    lines.flush()
    found = pl.read_csv(path)
    print("| design | samples | named | standard error | Jaccard |\n|---|---|---|---|---|")
    for name in designs:
        here = found.filter(pl.col("design") == name)
        share, n = here["named"].mean(), len(here)
        overlap = here["jaccard"].mean() if name in POWER else None
        error = math.sqrt(share * (1 - share) / n)
        print(f"| {name} | {n} | {share:.1%} | {error:.1%} | {'' if overlap is None else f'{overlap:.2f}'} |")


if __name__ == "__main__":
    main()
