"""How often 95 % intervals hold the truth, where the truth is known, and how often the calibration test is wrong.

    python benchmarks/coverage.py [--output FILE.csv] [--only WORD] [--n N] [--runs R] [--sampled S] [--profiles P]
        [--gains G]
    python benchmarks/coverage.py --more ...
    python benchmarks/coverage.py --test [--output FILE.csv] [--runs R]
    python benchmarks/coverage.py --show FILE.csv [--summary FILE.csv]

The forecasters are the twelve of `coverage_designs.py`; with --more the others of that page. Of R samples of each size
every interval is made that `assess` prints in text or JSON: those in closed form of all samples, those from replicates
(measured means, slope of the averages, divergence) of the first S, their profiles of the first P, and the gain
of recalibration of the first G. The truth is that of the population; of the curve and what is made of it, that of the
rising curve that comes closest; of slope, intercept and temperature, that of the closest such map; of the gain, that
of the map that was fitted. Recorded are how often an interval holds the truth, how often it lies above and below, how
wide it is on median, and how many samples carried a warning that concerns it. With --test, only how often the
resampled calibration test rejects calibrated forecasters, of 100, 1000 and 10,000 rows, as they are and counted in
cells. The last runs are results/coverage.csv (with S from 60 to 200, P from 20 to 100 and G from 40 to 60),
results/coverage_more.csv (of --more, by an earlier version) and results/calibration_test.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coverage_designs import CURVE, DESIGNS, MORE, ORDERS, SIZES, Floats, Population, population, sample
from unperplexed import Recalibrator, Tally, assess, calibration_test
from unperplexed.assessment.flat import named_metrics
from unperplexed.assessment.intervals import SAMPLED, profiles_of
from unperplexed.assessment.result import Assessment
from unperplexed.statistics.means import t_quantile

TEST_SIZES = (100, 1_000, 10_000)
RANGES = ((0.85, 0.95), (0.75, 0.85), (0.65, 0.75), (0.55, 0.65), (0.95, 0.995), (0.995, 1.0), (0.45, 0.55))
"""Ranges of predictions that the evidence quotes: the first with `FEWEST` forecasts."""
FEWEST = 20
"""Coverage in fewer samples is not summed up."""
TAILS = ("robustness", "averages_slope", "orientation")
"""Words of the figures that few rows decide."""


class Found(NamedTuple):
    """An interval, the truth, and whether a warning concerns it."""

    low: float
    high: float
    truth: float
    warned: bool


def closed(a: Assessment, whole: Population) -> Iterator[tuple[str, Found]]:
    """Give the intervals in closed form."""
    truth = whole.truth
    pairs = {name: limits for name, limits in a.intervals.items() if name not in SAMPLED and name != "orientation"}
    pairs |= {name: getattr(a, name).interval for name in ("auc", "slope", "intercept", "ece") if getattr(a, name)}
    if a.bias is not None:
        pairs["bias"] = named_metrics(a, None)["bias"]().interval
    if a.diagnosis.temperature is not None:
        pairs["temperature"] = a.diagnosis.temperature.interval
    if a.classes is not None:
        at = a.classes.label.index(1)
        half = float(t_quantile(0.95, math.inf)) * a.classes.gap_standard_error[at]
        pairs["class gap"] = (a.classes.gap[at] - half, a.classes.gap[at] + half)
    for name, (low, high) in pairs.items():
        yield name, Found(low, high, truth[name], concerns(a, name))
    for order, low, high in zip(ORDERS, *a.risk_profile(ORDERS).interval(), strict=True):
        yield f"profile {order:g}", Found(low, high, truth[f"profile {order:g}"], concerns(a, ""))
    for limits in RANGES:
        seen = a.observed(*limits)
        if seen.total >= FEWEST:
            p, q = (x[:, 1] if a.n_classes == 2 else x for x in (whole.p, whole.q))
            inside = (limits[0] <= p) & (p <= limits[1])
            yield "evidence", Found(*seen.interval, float(q[inside].mean()), concerns(a, ""))
            break
    curve = a.uncertainty.curve
    at = np.quantile(whole.p[:, 1] if a.n_classes == 2 else whole.p, CURVE)
    ends = (np.interp(at, curve.reported, limit) for limit in (curve.low, curve.high))
    for quantile, low, high, true in zip(CURVE, *ends, np.interp(at, whole.reported, whole.measured), strict=True):
        yield f"curve at quantile {quantile:g}", Found(low, high, true, concerns(a, ""))


def concerns(a: Assessment, name: str) -> bool:
    """Say whether a warning that intervals may be too narrow concerns a metric: that of a few rows names which."""
    tail = any(word in name for word in TAILS)
    said = [each for each in a.uncertainty.warnings if "too narrow" in each]
    return any(tail or "few rows decide" not in each for each in said)


def resampled(a: Assessment, whole: Population) -> Iterator[tuple[str, Found]]:
    """Give the intervals from replicates."""
    for name in (*SAMPLED, "orientation"):
        yield name, Found(*a.intervals[name], whole.truth[name], concerns(a, name))


def profiles(a: Assessment, whole: Population) -> Iterator[tuple[str, Found]]:
    """Give the intervals of the profiles from replicates."""
    reported = a.risk_profile(ORDERS)
    for kind, found in zip(("measured", "divergence"), profiles_of(a.source, reported), strict=True):
        for order, low, high in zip(ORDERS, found.low, found.high, strict=True):
            name = f"{kind} profile {order:g}"
            yield name, Found(low, high, whole.truth[name], concerns(a, ""))


def gain(
    y: NDArray[np.int64], p: Floats, reading: dict[str, Any], whole: Population, warned: bool
) -> Iterator[tuple[str, Found]]:
    """Give the interval of the gain of a recalibration, whose truth is that of the map fitted."""
    if len(np.unique(y)) < len(reading["labels"]):
        return
    fitted = Recalibrator().fit(y, p, **reading)
    if fitted.gain_ is None:
        return
    few = whole.p[:: max(len(whole.p) // 10_000, 1)], whole.q[:: max(len(whole.q) // 10_000, 1)]
    after = fitted.transform(few[0][:, 1] if p.ndim == 1 else few[0])
    after = np.stack([1 - after, after], axis=1) if p.ndim == 1 else after
    better = float((few[1] * np.log(after / few[0])).sum(axis=1).mean())
    yield "gain", Found(*fitted.gain_.interval, better, warned)


def study(task: tuple[int, ...]) -> list[dict[str, Any]]:
    """All samples of one size of one design."""
    index, n, runs, sampled, profiled, gains = task
    design, whole = DESIGNS[index], population(index)
    floor = "auto" if design.floor is None else design.floor
    found: dict[str, list[Found]] = defaultdict(list)
    errors = 0.0
    for run in range(runs):
        y, p, reading = sample(index, n, np.random.default_rng([20261123, index, n, run]))
        drawn = 400 if run < sampled else 0
        a = assess(y, p, view=design.view, floor=floor, resamples=drawn, seed=run, **reading)
        errors += (1 - a.prediction_accuracy) * n
        parts = [closed(a, whole)]
        parts += [resampled(a, whole)] if drawn else []
        parts += [profiles(a, whole)] if run < min(profiled, sampled) else []
        parts += [gain(y, p, reading, whole, concerns(a, ""))] if run < gains else []
        for name, each in (pair for part in parts for pair in part):
            found[name].append(each)
    print(f"{design.name}, floor {floor}, N = {n:,}", file=sys.stderr, flush=True)
    head = {"forecaster": design.name, "floor": str(floor), "n": n, "errors": round(errors / runs, 1)}
    shares = ((name, _shares(np.array(each))) for name, each in found.items())
    return [head | {"figure": name, **share} for name, share in shares if share["runs"]]


def _shares(found: Floats) -> dict[str, Any]:
    """Give shares among the samples that have an interval."""
    low, high, truth, warned = found[~np.isnan(found[:, :2]).any(axis=1)].T
    if not low.size:
        return {"runs": 0}
    slack = 1e-9 * np.abs(truth)  # an interval may end at the truth
    above, below = low > truth + slack, high < truth - slack
    return {
        "runs": len(low),
        "covered": round(float(1 - (above | below).mean()), 4),
        "too_high": round(float(above.mean()), 4),
        "too_low": round(float(below.mean()), 4),
        "width": float(np.median(high - low)),
        "warned": round(float(warned.mean()), 4),
    }


def sizes(task: tuple[int, int, int]) -> list[dict[str, Any]]:
    """How often the resampled calibration test rejects a calibrated forecaster, at level 5 %."""
    index, n, runs = task
    rejected = {"rows": 0, "tally in cells": 0}
    for run in range(runs):
        y, p, reading = sample(index, n, np.random.default_rng([20261122, index, n, run, 1]))
        tally = Tally.of(y, p, **reading)
        for source, each in zip(rejected, (tally, tally.in_cells()), strict=True):
            found = calibration_test(each, test="resampled", resamples=99, seed=run)
            rejected[source] += found.p_value <= 0.05
    name = DESIGNS[index].name
    print(f"{name}, N = {n:,}", file=sys.stderr, flush=True)
    return [
        {"forecaster": name, "n": n, "source": source, "runs": runs, "rejected": times / runs}
        for source, times in rejected.items()
    ]


def main() -> None:
    """Run the study, or show one that was run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--summary", type=Path, help="where --show writes the least coverage of each interval")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--more", action="store_true", help="the designs of floors, weights and many classes")
    parser.add_argument("--only", default="")
    parser.add_argument("--n", type=int, nargs="*", default=[], help="of these sizes alone")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--sampled", type=int, default=400, help="samples of which replicates are drawn")
    parser.add_argument("--profiles", type=int, default=400, help="samples of these whose profiles are looked at")
    parser.add_argument("--gains", type=int, default=400, help="samples that are recalibrated")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.show:
        table = pl.read_csv(arguments.show, schema_overrides={"floor": pl.String}, infer_schema_length=None)
        show(table, arguments.summary)
        return
    chosen = [i for i, each in enumerate(DESIGNS) if arguments.only in each.name and (each in MORE) == arguments.more]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        if arguments.test:
            calibrated = [i for i, each in enumerate(DESIGNS) if each.name in TESTED]
            parts = pool.map(sizes, [(i, n, arguments.runs) for i in calibrated for n in TEST_SIZES])
        else:
            of = arguments.runs, arguments.sampled, arguments.profiles, arguments.gains
            sizes_of = {i: [n for n in DESIGNS[i].sizes if not arguments.n or n in arguments.n] for i in chosen}
            parts = pool.map(study, [(i, n, *of) for i in chosen for n in sizes_of[i]])
        records = []
        for part in parts:
            records += part
            if arguments.output:  # after each, so that a study that is stopped leaves what it found
                pl.DataFrame(records, infer_schema_length=None).write_csv(arguments.output)
    table = pl.DataFrame(records, infer_schema_length=None)
    if arguments.test:
        print(table.pivot("n", index=["forecaster", "source"], values="rejected"))
    else:
        show(table)


TESTED = [
    "2 classes, hard, calibrated",
    "2 classes, sharp, calibrated",
    "10 classes, hard, calibrated",
    "10 classes, easy, calibrated",
]


ASKED = 0.93
"""Coverage that is asked for."""

GROUPS = {
    "predicted decisiveness and geometric accuracy": (
        "reported_decisiveness",
        "reported_geometric_accuracy",
        "profile 3",
    ),
    "predicted robustness": ("reported_robustness",),
    "predicted profile, order -1": ("profile -1",),
    "predicted profile, order -3": ("profile -3",),
    "scores": ("log_loss", "brier_score", "spherical_score", "penalized_brier_score", "penalized_log_loss"),
    "accuracy": ("prediction_accuracy",),
    "AUC": ("auc",),
    "calibration slope": ("slope",),
    "calibration intercept": ("intercept",),
    "temperature": ("temperature",),
    "ECE": ("ece",),
    "bias and difference of a class": ("bias", "class gap"),
    "observed frequency in a range": ("evidence",),
    "calibrated averages": tuple(name for name in SAMPLED if name.startswith("measured")),
    "slope of the averages, orientation": ("averages_slope", "orientation"),
    "divergence probability": ("divergence_probability",),
    "calibration curve": tuple(f"curve at quantile {at:g}" for at in CURVE),
    "calibrated and divergence profile": ("measured profile 3", "divergence profile 3"),
    "gain of recalibration": ("gain",),
}


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Give the least coverage of each interval at each size, in per cent, and where most samples have a warning."""
    lines = []
    for name, figures in GROUPS.items():
        of = table.filter(pl.col("figure").is_in(figures), pl.col("runs") >= FEWEST)
        warned = pl.col("warned") > 0.5
        some = {f"{n:,} rows": of.filter(~warned & (pl.col("n") == n)) for n in SIZES} | {"warned": of.filter(warned)}
        least = {key: f"{100 * rows['covered'].min():.0f}" if len(rows) else "" for key, rows in some.items()}
        lines.append({"interval": name} | least)
    return pl.DataFrame(lines)


def show(table: pl.DataFrame, summarised: Path | None = None) -> None:
    """Print all coverage below 93 % by more than two standard errors; print or write the least of each interval."""
    for row in table.iter_rows(named=True):
        share = row["covered"]
        if share + 2 * math.sqrt(share * (1 - share) / row["runs"]) < ASKED:
            where = f"{row['figure']}, {row['forecaster']}, N = {row['n']:,}"
            print(f"{where}: {100 * share:.1f} % of {row['runs']} samples, {100 * row['warned']:.0f} % warned")
    found = summary(table)
    if summarised is None:
        with pl.Config(tbl_rows=-1, fmt_str_lengths=60, tbl_width_chars=200):
            print(found)
    else:
        found.write_csv(summarised)


if __name__ == "__main__":
    main()
