"""How often the test, the names and the intervals of predictive distributions of a number are right.

    python benchmarks/distributions.py [--output FILE.csv] [--only size|names|coverage] [--share S] [--jobs J]
    python benchmarks/distributions.py --show FILE.csv

Outcomes are a predicted median plus a predicted spread times a normal score, which is planted: standard normal of
calibrated forecasts. Recorded are how often the test rejects calibrated forecasts at 5 % (`size`), of each form and of
dependent rows; how often it rejects planted errors, and how often the first name is the planted one (`names`); and
how often 95 % intervals of what `assess` prints hold the truth, and all bars of the PIT histogram its band
(`coverage`). Clusters are 20 rows that share a shock of correlation .3; windows are forecasts of 1 to 4 steps, issued
at each step. With --share, only that share of the runs. The last run is results/distributions.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import unperplexed as up
from unperplexed.calibration.diagnosis.distributions import Tested, diagnose_distributions
from unperplexed.calibration.diagnosis.row_groups import Groups, Windows
from unperplexed.scores import crps

Floats = NDArray[np.float64]

FEW = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])
HUB = np.array([0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99])
"""Levels of the quantiles that hubs ask for."""
LOG_SPREAD = 0.5
"""Standard deviation of the logarithm of predicted spreads."""
IN_CLUSTER, SHARED, HORIZONS = 20, 0.3, 4
BIAS, NARROW = 0.5, 0.7
"""Planted where coverage is studied: a bias, in predicted spreads, and predicted spreads as a part of the true ones."""
LARGE = 200_000
"""Rows by which the true skill is taken."""
LEVEL, COVERED = 0.05, 0.95
RUNS = {"size": 2000, "names": 200, "coverage": 1000, "coverage of errors": 300}


class Sample(NamedTuple):
    """Predicted medians and spreads, normal scores of the outcomes, and what depends."""

    median: Floats
    spread: Floats
    z: Floats
    groups: Groups | None = None

    @property
    def y(self) -> Floats:
        """Outcomes."""
        return self.median + self.spread * self.z


def independent(rng: np.random.Generator, n: int) -> Sample:
    """Draw independent rows."""
    return Sample(rng.normal(0, 2, n), np.exp(rng.normal(0, LOG_SPREAD, n)), rng.normal(size=n))


def clusters(rng: np.random.Generator, number: int) -> Sample:
    """Draw clusters of rows that share a shock."""
    one = independent(rng, number * IN_CLUSTER)
    code = np.repeat(np.arange(number), IN_CLUSTER)
    z = math.sqrt(SHARED) * rng.normal(size=number)[code] + math.sqrt(1 - SHARED) * one.z
    return one._replace(z=z, groups=code)


def windows(rng: np.random.Generator, dates: int) -> Sample:
    """Draw dates at each of which the next steps are forecast: a sum of four shocks, of which some are known."""
    issued, ahead = (each.ravel() for each in np.mgrid[0:dates, 1 : HORIZONS + 1])
    target = issued + ahead
    shock, known = rng.normal(size=dates + 2 * HORIZONS), rng.normal(0, 2, dates + HORIZONS + 1)
    back = [shock[target + HORIZONS - k] for k in range(HORIZONS)]
    unknown = sum(np.where(k < ahead, each, 0.0) for k, each in enumerate(back))
    spread = np.sqrt(ahead)
    return Sample(known[target] + sum(back) - unknown, spread, unknown / spread, Windows(issued, target))


def misstated(one: Sample, low: float, narrow: float) -> Sample:
    """Give the same outcomes, with forecasts that are too low and too narrow."""
    spread = one.spread * narrow
    return one._replace(median=one.median - low * spread, spread=spread, z=one.z / narrow + low)


DRAWN: dict[str, tuple[Callable[[np.random.Generator, int], Sample], tuple[int, ...]]] = {
    "independent": (independent, (200, 1000)),
    "clusters": (clusters, (20, 50)),
    "windows": (windows, (30, 85)),
}
"""How rows are drawn, and how many: rows, clusters, dates."""

Form = Callable[[Sample, np.random.Generator], tuple[Floats, Any, dict[str, Any]]]


def _normal(one: Sample, rng: np.random.Generator) -> tuple[Floats, Any, dict[str, Any]]:
    return one.y, up.Distribution("normal", mean=one.median, sd=one.spread), {}


def _members(number: int) -> Form:
    def of(one: Sample, rng: np.random.Generator) -> tuple[Floats, Any, dict[str, Any]]:
        drawn = rng.normal(size=(len(one.z), number))
        return one.y, up.Samples(one.median[:, None] + one.spread[:, None] * drawn), {}

    return of


def _quantiles(levels: Floats) -> Form:
    return lambda one, rng: (one.y, up.Quantiles(levels, one.median[:, None] + np.outer(one.spread, ndtri(levels))), {})


def _poisson(one: Sample, rng: np.random.Generator) -> tuple[Floats, Any, dict[str, Any]]:
    rate = np.exp(1 + one.median / 2)
    return rng.poisson(rate).astype(np.float64), up.Distribution("poisson", mean=rate), {}


def _zeros(one: Sample, rng: np.random.Generator) -> tuple[Floats, Any, dict[str, Any]]:
    """Make 30 % zeros, and logarithms of the others normal."""
    law = up.Distribution("lognormal", log_mean=one.median / 2, log_sd=one.spread, zero=np.full(len(one.z), 0.3))
    return np.where(rng.random(len(one.z)) < 0.3, 0.0, np.exp(one.median / 2 + one.spread * one.z)), law, {}


def _censored(one: Sample, rng: np.random.Generator) -> tuple[Floats, Any, dict[str, Any]]:
    """Censor each outcome above its own limit, 30 % of them."""
    limit = one.median + one.spread * rng.normal(ndtri(0.7) * math.sqrt(1.25), 0.5, len(one.z))
    return np.minimum(one.y, limit), _normal(one, rng)[1], {"censored": {"above": limit}}


FORMS: dict[str, Form] = {
    "continuous": _normal,
    "10 members": _members(10),
    "50 members": _members(50),
    "7 quantiles": _quantiles(FEW),
    "23 quantiles": _quantiles(HUB),
    "Poisson": _poisson,
    "30% zeros": _zeros,
    "30% censored": _censored,
}


def _skewed(one: Sample, rng: np.random.Generator) -> Floats:
    """Draw skew normal scores of shape 4, with mean 0 and standard deviation 1."""
    delta = 4 / math.sqrt(17)
    drawn = delta * np.abs(rng.normal(size=len(one.z))) + math.sqrt(1 - delta**2) * one.z
    return np.asarray((drawn - delta * math.sqrt(2 / math.pi)) / math.sqrt(1 - 2 * delta**2 / math.pi))


ERRORS: dict[str, Callable[[Sample, np.random.Generator], Floats]] = {
    "bias": lambda one, rng: one.z + 0.2,
    "spread": lambda one, rng: one.z / 0.85,
    "skew": _skewed,
    "tail": lambda one, rng: rng.standard_t(4, len(one.z)) / math.sqrt(2),
    "level": lambda one, rng: one.z + 0.25 * one.median / 2,
    "follow": lambda one, rng: one.z / one.spread,
}
"""Normal scores with a planted error."""

ACROSS = [("continuous", "independent"), ("23 quantiles", "independent"), ("continuous", "clusters"),
          ("23 quantiles", "clusters"), ("continuous", "windows"), ("23 quantiles", "windows")]  # fmt: skip
"""Forms and dependence whose intervals are studied."""


class Task(NamedTuple):
    """A design, and how many samples of it are drawn."""

    study: str
    form: str
    rows: str
    number: int
    error: str
    runs: int

    def sample(self, run: int) -> tuple[Sample, np.random.Generator]:
        """Draw a sample."""
        rng = np.random.default_rng([20261129, *"/".join(map(str, self[:5])).encode(), run])
        return DRAWN[self.rows][0](rng, self.number), rng

    def records(self, found: dict[str, list[bool]], target: float) -> list[dict[str, Any]]:
        """Give shares with their standard errors."""
        head = dict(zip(self._fields[:5], self, strict=False))
        return [
            {**head, "figure": name, "runs": len(each), "share": float(np.mean(each)), "target": target,
             "standard_error": math.sqrt(target * (1 - target) / len(each))}
            for name, each in found.items()
        ]  # fmt: skip


def size(task: Task) -> list[dict[str, Any]]:
    """How often the test rejects calibrated forecasts."""
    rejected = []
    for run in range(task.runs):
        one, rng = task.sample(run)
        y, forecast, more = FORMS[task.form](one, rng)
        rejected.append(Tested.of(forecast.pit_rows(y, **more), one.groups).gate.p_value < LEVEL)
    return task.records({"rejected": rejected}, LEVEL)


def names(task: Task) -> list[dict[str, Any]]:
    """How often a planted error is detected, and named first."""
    found: dict[str, list[bool]] = defaultdict(list)
    for run in range(task.runs):
        one, rng = task.sample(run)
        y, forecast, _ = FORMS[task.form](one._replace(z=ERRORS[task.error](one, rng)), rng)
        errors = diagnose_distributions(forecast.pit_rows(y)).errors
        found["detected"].append(bool(errors))
        found["named first"].append(errors[:1] == (task.error,))
    return task.records(found, 0.5)  # the largest standard error


def coverage(task: Task) -> list[dict[str, Any]]:
    """How often intervals hold the truth, and all bars are in their band, if forecasts are calibrated."""
    low, narrow = (0.0, 1.0) if task.error == "none" else (BIAS, NARROW)
    end = ndtri(0.9)
    truth = {
        "bias": low,
        "width": 1 / narrow,
        "share above the median": float(ndtr(low * narrow)),
        "coverage at 80%": float(ndtr((end - low) * narrow) - ndtr((-end - low) * narrow)),
        "skill": _skill(task, low, narrow),
    }
    found: dict[str, list[bool]] = defaultdict(list)
    for run in range(task.runs):
        one, rng = task.sample(run)
        y, forecast, _ = FORMS[task.form](misstated(one, low, narrow), rng)
        depends: dict[str, Any] = {"clusters": one.groups}
        if isinstance(one.groups, Windows):
            depends = {"issued": one.groups.issued, "target_date": one.groups.target}
        a = up.assess(y, forecast, **depends)
        held = next(each.held for each in a.coverage if abs(each.expected - 0.8) < 1e-6)
        assert a.skill is not None
        for (name, true), each in zip(
            truth.items(), (a.bias, a.width, a.above_median, held, a.skill.value), strict=True
        ):
            found[name].append(bool(each.interval.low <= true <= each.interval.high))
        if task.error == "none":
            found["band of the PIT histogram"].append(not a.pit.outside.any())
    return task.records(found, COVERED)


def _skill(task: Task, low: float, narrow: float) -> float:
    """Take the skill of very many rows, against outcomes of all of them."""
    per = {"independent": 1, "clusters": IN_CLUSTER, "windows": HORIZONS}[task.rows]
    rng = np.random.default_rng(1)
    one = DRAWN[task.rows][0](rng, LARGE // per)
    y, forecast, _ = FORMS[task.form](misstated(one, low, narrow), rng)
    score, levels = crps(y, forecast), np.arange(1, LARGE) / LARGE
    if task.form != "continuous":
        same = up.Quantiles(HUB, np.tile(np.quantile(y, HUB), (len(y), 1)))
        return 1 - float(score / crps(y, same))
    ordered = np.sort(y)
    return 1 - float(score / (levels * (1 - levels) @ np.diff(ordered)))


def tasks(share: float) -> list[Task]:
    """List all designs."""
    runs = {name: max(1, round(share * number)) for name, number in RUNS.items()}
    sizes = [(form, "independent") for form in FORMS] + [
        (form, rows) for rows in ("clusters", "windows") for form in ("continuous", "23 quantiles")
    ]
    return [
        *(Task("size", form, rows, n, "none", runs["size"]) for form, rows in sizes for n in DRAWN[rows][1]),
        *(Task("names", form, "independent", n, error, runs["names"])
          for form in ("continuous", "23 quantiles") for error in ERRORS for n in DRAWN["independent"][1]),
        *(Task("coverage", form, rows, n, error, runs[of])
          for form, rows in ACROSS for n in DRAWN[rows][1]
          for error, of in (("none", "coverage"), ("bias and spread", "coverage of errors"))),
    ]  # fmt: skip


def study(task: Task) -> list[dict[str, Any]]:
    """All samples of a design."""
    print(*task, file=sys.stderr, flush=True)
    return {"size": size, "names": names, "coverage": coverage}[task.study](task)


LARGEST = {"independent": LEVEL, "clusters": 0.09, "windows": 0.09}
"""Size of the test that is allowed."""
ASKED = 0.92
"""Coverage that is asked for."""


def short(table: pl.DataFrame) -> pl.DataFrame:
    """Give what falls short by more than three standard errors of its size, or two of its coverage."""
    share, error = pl.col("share"), pl.col("standard_error")
    largest = pl.col("rows").replace_strict(LARGEST)
    too_often = (pl.col("study") == "size") & (share > largest + 3 * error)
    return table.filter(too_often | ((pl.col("study") == "coverage") & (share + 2 * error < ASKED)))


def main() -> None:
    """Run the study, or show one that was run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.show:
        table = pl.read_csv(arguments.show)
    else:
        chosen = [each for each in tasks(arguments.share) if arguments.only in each.study]
        with ProcessPoolExecutor(arguments.jobs) as pool:
            table = pl.DataFrame([record for part in pool.map(study, chosen) for record in part])
        if arguments.output:
            table.write_csv(arguments.output, float_precision=4)
    with pl.Config(tbl_rows=-1, tbl_width_chars=160):
        print(table, "Falls short:", short(table), sep="\n")


if __name__ == "__main__":
    main()
