"""Monitoring of predictive distributions of a number: false alarms and delays by simulation, and alarms on real data.

Run: python benchmarks/monitoring_distributions.py [part ...]; the results are in results/monitoring_distributions.csv.
Parts: false, delay, ahead, real. Outcomes are normal scores, known exactly. In the part `ahead` five random walks,
whose steps share half of their variance, are forecast 1 to 4 steps ahead at each step. The part `real` needs the data
that UNPERPLEXED_DATA names: FluSight's forecasts by week, and German and French prices by week.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import unperplexed as up
from unperplexed.monitoring.distribution_history import history_of_distributions
from unperplexed.monitoring.hypotheses import PIT_DIRECTIONS, Weights, row_factors, standardised
from unperplexed.monitoring.pit_counts import PitCounts
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.predictive import read_distributions
from unperplexed.sources.predictive_columns import PredictiveSelection
from unperplexed.sources.row_filter import RowFilter
from unperplexed.statistics.normal_scores import directions
from unperplexed.statistics.rank_evidence import log_evidence

Floats = NDArray[np.float64]
Draw = Callable[[int], Floats]

RESULTS = Path(__file__).parent / "results" / "monitoring_distributions.csv"
LIMIT, START, AT_ONCE, RUNS, HORIZONS = np.log(20), 100, 20, 400, 4
SHOCK = 0.2
"""Standard deviation of what the rows of a period share."""

EDGE = 8
"""Cells reach so far in normal scores."""
CELLS = np.arange(-32 * EDGE, 32 * EDGE) / 32
ONE = [PitCounts(CELLS[[k]], CELLS[[k]] + 1 / 32, np.ones(1), np.eye(4)) for k in range(CELLS.size)]
FACTORS, WEIGHTS = np.array([row_factors(each) for each in ONE]), Weights.of(ONE[0])


def of_rows(z: Floats) -> Floats:
    """Give the factors of independent rows, of shape (periods, rows)."""
    return FACTORS[np.clip(np.floor(32 * (z + EDGE)), 0, CELLS.size - 1).astype(int)].sum(axis=1)


def of_periods(z: Floats, phases: int = 1) -> Floats:
    """Give the factors of whole periods, in phases of which each has its own."""
    sums = directions(z)[..., :2].sum(axis=1) @ PIT_DIRECTIONS.T
    variance = np.tile(z.shape[1] * (PIT_DIRECTIONS**2).sum(axis=1), (len(z), 1))
    found = np.zeros((len(z), phases, WEIGHTS.periods.size))
    for phase in range(phases):
        found[phase::phases, phase] = standardised(sums[phase::phases], variance[phase::phases])
    return found.reshape(len(z), -1)


def alarms(draw: Draw, periods: int, units: str, phases: int = 1, runs: int = RUNS) -> Floats:
    """Period of the first alarm of each run, from 1; infinite for none."""
    found, weights = [], np.tile(WEIGHTS.periods, phases) / phases if units == "periods" else WEIGHTS.rows
    for _ in range(0, runs, AT_ONCE):
        drawn = [draw(periods) for _ in range(AT_ONCE)]
        factors = [of_periods(z, phases) if units == "periods" else of_rows(z) for z in drawn]
        above = log_evidence(np.stack(factors, axis=1), weights) >= LIMIT
        found.append(np.where(above.any(axis=0), above.argmax(axis=0) + 1.0, np.inf))
    return np.concatenate(found)


def independent(rng: np.random.Generator, rows: int) -> Draw:
    """Draw independent rows."""
    return lambda periods: rng.normal(size=(periods, rows))


def shocked(rng: np.random.Generator, rows: int) -> Draw:
    """Draw rows of which those of a period share a shock; they are calibrated."""
    root = np.sqrt(1 + SHOCK**2)
    return lambda periods: (rng.normal(size=(periods, rows)) + SHOCK * rng.normal(size=(periods, 1))) / root


def volatile(rng: np.random.Generator, rows: int) -> Draw:
    """Draw rows of periods that are more and less volatile; of mean 0 and variance 1."""

    def draw(periods: int) -> Floats:
        return rng.normal(size=(periods, rows)) * np.exp(SHOCK * rng.normal(size=(periods, 1)) - SHOCK**2)

    return draw


def broken(draw: Draw, low: float = 0.0, narrow: float = 1.0) -> Draw:
    """Let forecasts be too low, by so many spreads, or too narrow, from a period on."""

    def drawn(periods: int) -> Floats:
        z = draw(periods)
        z[START:] = (narrow * z + low)[START:]
        return z

    return drawn


def steps_ahead(rng: np.random.Generator, series: int = 5, shared: float = 0.5) -> Draw:
    """Draw the errors of perfect forecasts of random walks."""

    def draw(periods: int) -> Floats:
        steps = np.sqrt(1 - shared) * rng.normal(size=(periods + HORIZONS, series))
        steps += np.sqrt(shared) * rng.normal(size=(periods + HORIZONS, 1))
        sums = [sum(steps[k : k + periods] for k in range(h)) / np.sqrt(h) for h in range(1, HORIZONS + 1)]
        return np.concatenate(sums, axis=1)

    return draw


def _share(found: Floats) -> float:
    return float(np.isfinite(found).mean())


def false(rng: np.random.Generator) -> Iterator[tuple]:
    """False alarms within 1,000 periods."""
    what = "false alarms in 1,000 periods"
    for rows in (1, 10, 100):
        yield what, f"{rows} rows", "rows", _share(alarms(independent(rng, rows), 1000, "rows"))
    for rows in (10, 100):
        yield what, f"{rows} rows, shocks of sd 0.2", "rows", _share(alarms(shocked(rng, rows), 1000, "rows", runs=100))
        for kind, draw in (("shocks", shocked), ("log volatility", volatile)):
            yield what, f"{rows} rows, {kind} of sd 0.2", "periods", _share(alarms(draw(rng, rows), 1000, "periods"))


ERRORS = {"bias 0.3": {"low": 0.3}, "spreads 0.7": {"narrow": 1 / 0.7}, "spreads 1.3": {"narrow": 1 / 1.3}}
"""Biases in predicted spreads, and predicted spreads as a part of the true ones."""


def delay(rng: np.random.Generator) -> Iterator[tuple]:
    """Periods until the alarm, median and 90%, of a change after 100 periods."""
    for units, some in (("rows", (1, 10, 100)), ("periods", (10, 100))):
        for rows in some:
            for name, error in ERRORS.items():
                draw = broken((independent if units == "rows" else shocked)(rng, rows), **error)
                found = alarms(draw, 500 if rows == 1 else 250, units, runs=200)
                late = found[found > START] - START
                yield "delay, median", f"{rows} rows, {name}", units, float(np.median(late))
                yield "delay, 90%", f"{rows} rows, {name}", units, float(np.quantile(late, 0.9, method="lower"))


def ahead(rng: np.random.Generator) -> Iterator[tuple]:
    """False alarms of forecasts of 1 to 4 steps, watched together and in four phases; and delays."""
    for phases in (1, HORIZONS):
        units = f"periods, {phases} phase{'s' * (phases > 1)}"
        for periods in (60, 400):
            found = alarms(steps_ahead(rng), periods, "periods", phases)
            yield f"false alarms in {periods} periods", "1 to 4 steps ahead", units, _share(found)
    for name, error in (("bias 0.5", {"low": 0.5}), ("spreads 0.7", {"narrow": 1 / 0.7})):
        found = alarms(broken(steps_ahead(rng), **error), 400, "periods", HORIZONS, 200)
        late = found[found > START] - START
        yield "delay, median", f"1 to 4 steps ahead, {name}", f"periods, {HORIZONS} phases", float(np.median(late))


def real(rng: np.random.Generator) -> Iterator[tuple]:
    """Number of the period of the alarm; infinite for none."""
    data = Path(os.environ["UNPERPLEXED_DATA"])
    hub = data / "flusight_hub"
    for path in sorted(hub.glob("*.parquet")):
        for where in ("", "horizon = 0"):
            selection = PredictiveSelection(
                "hub", target_data=str(hub / "target-hospital-admissions.csv"), keys=["reference_date"],
                where=RowFilter(where),
            )  # fmt: skip
            read = read_distributions([str(path)], selection, FileReading())
            windows = {"issued": read.issued, "target_date": read.target}
            week = read.frame["reference_date"]
            found = up.monitor(read.y, read.forecast, time=week, **windows)
            yield "alarm", f"{path.stem}, {where or 'all horizons'}", "periods", _first(found)
    for market in ("DE", "FR"):
        prices = pl.read_parquet(data / "epf_prices" / f"{market}.parquet")
        members = [name for name in prices.columns[2:] if "Ensemble" not in name]
        week = prices["hour"].str.to_datetime().dt.strftime("%G-W%V")
        forecast = up.Samples(prices.select(members).to_numpy())
        history = history_of_distributions(prices["Real price"].to_numpy(), forecast, week, None, {})
        yield "alarm", f"prices {market}, 8 members, weeks", "periods", _first(up.monitor(history))


def _first(found: up.results.Monitored) -> float:
    return np.inf if found.alarm is None else found.periods.index(found.alarm.period) + 1


PARTS = (false, delay, ahead, real)


def main(names: list[str]) -> None:
    """Run the parts, and write their results."""
    rows = [line.split(";") for line in RESULTS.read_text().splitlines()[1:]] if RESULTS.exists() else []
    order = [each.__name__ for each in PARTS]
    for part in PARTS:
        if names and part.__name__ not in names:
            continue
        began = time.perf_counter()
        rows = [row for row in rows if row[0] != part.__name__]
        for what, setting, units, value in part(np.random.default_rng(20261129)):
            rows.append([part.__name__, what, setting, units, f"{value:.4g}"])
            print(*rows[-1], sep="; ", flush=True)
        print(f"# {part.__name__}: {time.perf_counter() - began:.0f} s", flush=True)
        rows.sort(key=lambda row: order.index(row[0]))
        text = "\n".join(";".join(row) for row in [["part", "what", "setting", "units", "value"], *rows])
        RESULTS.write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
