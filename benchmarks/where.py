"""How often groups of rows are named where none is wrong, how often planted ones are found, and how true figures are.

    python benchmarks/where.py [--runs R] [--only TEXT] [--samples FILE.csv] [--output TABLE.csv]

Size: forecasts with at most an error that all rows share. "named" is the share of samples in which any group is named,
at 5%. Power: some groups are wrong. "named" is then the share of samples in which at least as many groups are named as
are wrong, and "jaccard" the mean overlap of the first group named with the true one that is nearest to it. "covered" is
the share of samples with a named group in which the interval of the first one's effect holds what the same regression
gives with the true probabilities, and "all_covered" that in which those of all named do. Gain: "covered" is the share
of intervals of the cross-fitted gain that hold the gain of the corrections on 200,000 fresh rows, and "gain" the mean
of the latter, in nats a row. Outcomes that tell what chance does are drawn for each data set.

Each sample is written as a line of FILE as soon as it is made, and those that are there are not made again, so that a
run may be ended and taken up. results/where.csv is the table of all.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, ndtri

import unperplexed as up
from unperplexed.calibration.where.conditions import columns_of_values
from unperplexed.calibration.where.naming import Found, Search, rows_of
from unperplexed.calibration.where.rules import Model, SearchedRows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
HERE = Path(__file__).parent / "results" / "where.csv"
_FRESH = 200_000


class Group(NamedTuple):
    """A group that is wrong, by a bias or a slope."""

    effect: float
    """Added to the true log-odds, or to their slope."""
    share: float
    slope: bool = False
    two: bool = False
    """Whether it has two conditions."""
    first: int = 0
    """Number of its first column."""

    def inside(self, x: Floats) -> Bools:
        """Which rows it holds."""
        high = ndtri(1 - (math.sqrt(self.share) if self.two else self.share))
        return np.asarray((x[:, self.first] > high) & (not self.two or x[:, self.first + 1] < -high))


class Design(NamedTuple):
    """How samples are made."""

    rows: int
    error: Callable[[Floats], Floats] = lambda s: s
    """From reported to true log-odds, in all rows."""
    centre: float = 0.0
    spread: float = 1.2
    columns: int = 6
    clusters: int = 0
    """Whose rows share their columns; 0 for independent rows."""
    shock: float = math.inf
    """Standard deviation of what a cluster adds to the log-odds; infinite where its rows share one outcome."""
    classes: int = 2
    categories: int = 0
    """Of three further columns."""
    weighted: bool = False
    gaps: bool = False
    """Whether a fifth of the first column is missing, and there are dates."""
    groups: tuple[Group, ...] = ()
    gain: bool = False
    """Whether the gain is what is looked at."""


class Sample(NamedTuple):
    """Rows of a design."""

    s: Floats
    p: Floats
    """True probabilities."""
    y: Floats
    x: Floats
    among: dict[str, NDArray[Any]]
    cluster: NDArray[np.int64] | None
    weight: Floats | None


def _wave(s: Floats) -> Floats:
    return s + 0.5 * np.sin(2 * s)


SIZE = {
    "300 rows": Design(300),
    "1000 rows": Design(1000),
    "3000 rows, 10 columns": Design(3000, columns=10),
    "3000 rows, 30 columns": Design(3000, columns=30),
    "20,000 rows": Design(20_000),
    "rare events": Design(1000, centre=-4.2),
    "bias": Design(2000, lambda s: s + 0.5),
    "slope": Design(2000, lambda s: 0.6 * s),
    "wave": Design(2000, _wave),
    "wave, 20,000 rows": Design(20_000, _wave),
    "tail": Design(2000, lambda s: s + 0.3 * np.sign(s) * np.maximum(np.abs(s) - 1, 0)),
    "equal forecasts": Design(1000, centre=0.4, spread=0.0),
    "three columns of 300 categories": Design(3000, categories=300),
    "dates and missing values": Design(2000, gaps=True),
    "weights": Design(2000, weighted=True),
    "weights, wave": Design(3000, _wave, weighted=True),
    "three classes": Design(2000, classes=3),
    "300 clusters with one outcome each": Design(3000, clusters=300),
    "80 clusters with one outcome each": Design(1600, clusters=80),
    "300 clusters with shocks": Design(3000, clusters=300, shock=0.7),
    "80 clusters with shocks": Design(1600, clusters=80, shock=0.7),
    "300 clusters, independent": Design(3000, clusters=300, shock=0.0),
}
_THREE = (Group(0.8, 0.1), Group(-0.8, 0.15, first=1), Group(0.5, 0.24, two=True, first=2))
POWER = {
    "bias 1 in 6%": Design(3000, columns=10, groups=(Group(1, 0.06),)),
    "bias 1 in 11%": Design(3000, columns=10, groups=(Group(1, 0.11),)),
    "bias 0.5 in 11%": Design(3000, columns=10, groups=(Group(0.5, 0.11),)),
    "bias 0.5 in 22%": Design(3000, columns=10, groups=(Group(0.5, 0.22),)),
    "slope 0.5 in 22%": Design(3000, columns=10, groups=(Group(-0.5, 0.22, slope=True),)),
    "slope 2 in 22%": Design(3000, columns=10, groups=(Group(1, 0.22, slope=True),)),
    "bias 0.5 in 11%, 10,000 rows": Design(10_000, columns=10, groups=(Group(0.5, 0.11),)),
    "bias 0.3 in 22%, 10,000 rows": Design(10_000, columns=10, groups=(Group(0.3, 0.22),)),
    "two conditions, bias 1 in 6%": Design(3000, columns=10, groups=(Group(1, 0.06, two=True),)),
    "two conditions, bias 1 in 11%": Design(3000, columns=10, groups=(Group(1, 0.11, two=True),)),
    "two conditions, bias 0.5 in 22%": Design(3000, columns=10, groups=(Group(0.5, 0.22, two=True),)),
    "two conditions, bias 1 in 6%, 10,000 rows": Design(10_000, columns=10, groups=(Group(1, 0.06, two=True),)),
    "two conditions, bias 0.5 in 11%, 10,000 rows": Design(10_000, columns=10, groups=(Group(0.5, 0.11, two=True),)),
    "two conditions, bias 0.3 in 22%, 10,000 rows": Design(10_000, columns=10, groups=(Group(0.3, 0.22, two=True),)),
    "three groups, 10,000 rows": Design(10_000, columns=10, groups=_THREE),
    "200 clusters, bias 1 in 22%": Design(3000, clusters=200, shock=0.5, groups=(Group(1, 0.22),)),
}
GAIN = {
    "gain, 300 rows, calibrated": Design(300, gain=True),
    "gain, 2000 rows, overconfident": Design(2000, lambda s: 0.6 * s, gain=True),
    "gain, bias 1 in 11%": Design(3000, groups=(Group(1, 0.11),), gain=True),
    "gain, bias 0.5 in 22%": Design(3000, groups=(Group(0.5, 0.22),), gain=True),
    "gain, two conditions, bias 1 in 11%": Design(3000, groups=(Group(1, 0.11, two=True),), gain=True),
}
DESIGNS = SIZE | POWER | GAIN
SHARES = {**dict.fromkeys(SIZE, 1.0), **dict.fromkeys(POWER, 1 / 3), **dict.fromkeys(GAIN, 1 / 3)}
"""Of the runs."""


def drawn(design: Design, rng: np.random.Generator) -> Sample:
    """Draw rows of two classes."""
    n, units = design.rows, design.clusters or design.rows
    unit = np.arange(n) % units
    x = rng.normal(size=(units, design.columns))[unit]
    of = units if math.isinf(design.shock) else n  # whose rows share a forecast
    s = rng.normal(design.centre, design.spread, of)[np.arange(n) % of]
    true = design.error(s) + sum(g.effect * g.inside(x) * (s if g.slope else 1.0) for g in design.groups)
    shock = design.shock if design.clusters and math.isfinite(design.shock) else 0.0
    happens = expit(true + rng.normal(0, 1, units)[unit] * shock)
    y = (rng.random(of)[np.arange(n) % of] < happens).astype(np.float64)
    p = expit(true / math.sqrt(1 + (0.588 * shock) ** 2))  # about the mean over shocks
    among: dict[str, NDArray[Any]] = {f"x{at}": x[:, at] for at in range(design.columns)}
    among["kind"] = rng.choice(list("abcde"), units)[unit]
    for at in range(3 if design.categories else 0):
        among[f"town {at}"] = np.array([f"t{k}" for k in rng.integers(0, design.categories, n)])
    if design.gaps:
        among["x0"] = np.where(rng.random(n) < 0.2, np.nan, x[:, 0])
        among["day"] = np.datetime64("2024-01-01") + rng.integers(0, 700, n)
    weight = rng.lognormal(0, 0.7, n) if design.weighted else None
    return Sample(s, p, y, x, among, unit if design.clusters else None, weight)


def overlap(a: Bools, b: Bools) -> float:
    """Rows in both, of those in any (Jaccard)."""
    return float((a & b).sum() / (a | b).sum())


def searched(design: Design, rows: Sample, seed: int) -> dict[str, Any]:
    """Search; compare the groups named with the true ones, and the effects with those of the true probabilities."""
    columns = [column for name, values in rows.among.items() for column in columns_of_values(name, values)]
    event = SearchedRows.of(rows.s, rows.y, rows.weight, rows.cluster)
    found = Search(columns, seed=seed).found(event)
    places = {column.name: at for at, column in enumerate(columns)}
    named = [rows_of(columns, {places[c.column]: c for c in each.conditions}) for each in found.groups]
    true = [group.inside(rows.x) for group in design.groups]
    held = covered(found, named, event._replace(y=rows.p))
    return {
        "named": len(named),
        "jaccard": max(overlap(named[0], each) for each in true) if named and true else math.nan,
        **({"covered": int(held[0]), "all_covered": int(all(held))} if held else {}),
    }


def covered(found: Found, named: Sequence[Bools], true: SearchedRows) -> list[bool]:
    """Whether the interval of each effect holds what the regression gives with the true probabilities as outcomes."""
    model = Model.of(true)
    at = [model.common - 1]
    for each, inside in zip(found.groups, named, strict=True):
        model = model.with_group(inside, each.error == "confidence")
        at.append(len(model.basis) - 1)
    effects = model.fit.theta[at[1:]]
    return [low <= e <= high for (low, high), e in zip((g.effect_interval for g in found.groups), effects, strict=True)]


def gained(design: Design, rows: Sample, seed: int) -> dict[str, Any]:
    """Correct the groups found, and take the gain on fresh rows."""
    groups = up.find_groups(rows.y, expit(rows.s), among=rows.among, seed=seed)
    if not groups.items:
        return {"named": 0}
    fresh = drawn(design._replace(rows=_FRESH), np.random.default_rng([seed, 1]))
    p = np.stack([expit(-fresh.s), expit(fresh.s)], 1)
    truth = np.stack([1 - fresh.p, fresh.p], 1)
    corrected = groups.recalibrator().transform(p, among=fresh.among)
    alone = up.Recalibrator(seed=seed).fit(rows.y, expit(rows.s)).transform(p)
    gain = float((truth * np.log(corrected / alone)).sum(axis=1).mean())
    low, high = groups.gain_interval or (math.nan, math.nan)
    return {"named": len(groups.items), "gain": gain, "covered": int(low <= gain <= high), "low": low}


def classes(design: Design, rng: np.random.Generator, seed: int) -> dict[str, Any]:
    """Search several classes, all calibrated."""
    logits, n = rng.normal(size=(design.rows, design.classes)), design.rows
    p = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    y = (rng.random(n)[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    among = {f"x{at}": rng.normal(size=n) for at in range(design.columns)}
    return {"named": len(up.find_groups(y, p, among=among, seed=seed).items)}


def sample(design: Design, seed: int) -> dict[str, Any]:
    """Make a sample and search it."""
    rng = np.random.default_rng([seed, [*DESIGNS.values()].index(design)])
    if design.classes > 2:
        return classes(design, rng, seed)
    return (gained if design.gain else searched)(design, drawn(design, rng), seed)


def summary(lines: pl.DataFrame) -> pl.DataFrame:
    """Return a line for each design."""
    table = []
    for name, design in DESIGNS.items():
        here = lines.filter(pl.col("design") == name)
        if len(here):
            named, gain = _numbers(here, "named"), _numbers(here, "gain")
            share = float((named >= max(1, len(design.groups))).mean())
            told = ("covered", "all_covered") if design.groups or design.gain else ()
            table.append(
                {
                    "design": name,
                    "samples": len(here),
                    "named": round(share, 4),
                    "error": round(math.sqrt(share * (1 - share) / len(here)), 4),
                    "groups": int(named.sum()),
                    "jaccard": _mean(_numbers(here, "jaccard")),
                    **{key: _mean(_numbers(here, key)) if told else None for key in ("covered", "all_covered")},
                    "gain": _mean(gain),
                    "smallest_gain": None if np.isnan(gain).all() else round(float(np.nanmin(gain)), 5),
                }
            )
    return pl.DataFrame(table)


def _numbers(lines: pl.DataFrame, key: str) -> Floats:
    return np.asarray(lines[key].cast(pl.Float64).fill_null(math.nan), dtype=np.float64)


def _mean(values: Floats) -> float | None:
    return None if np.isnan(values).all() else round(float(np.nanmean(values)), 4)


_COLUMNS = ("design", "seed", "named", "jaccard", "covered", "all_covered", "gain", "low")


def main() -> None:
    """Make the samples that are missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=Path, default=Path("where_samples.csv"))
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    path, schema = options.samples, {"design": pl.String, "seed": pl.Int64, "named": pl.Int64}
    if not path.exists():
        path.write_text(",".join(_COLUMNS) + "\n")
    read = {name: schema.get(name, pl.Float64) for name in _COLUMNS}
    known = set(pl.read_csv(path, schema=read).select("design", "seed").iter_rows())
    with path.open("a") as lines:
        for seed in range(options.runs):
            for name, design in DESIGNS.items():
                if (name, seed) not in known and seed < options.runs * SHARES[name] and options.only in name:
                    made = {"design": f'"{name}"', "seed": seed, **sample(design, seed)}
                    lines.write(",".join(str(made.get(key, "")) for key in _COLUMNS) + "\n")
                    lines.flush()
    table = summary(pl.read_csv(path, schema=read))
    table.write_csv(options.output)
    with pl.Config(tbl_rows=-1, fmt_str_lengths=60, tbl_cols=-1):
        print(table)


if __name__ == "__main__":
    main()
