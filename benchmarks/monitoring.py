"""Monitoring by simulation: false alarms over many periods, delays, dates, names and groups.

Run: python benchmarks/monitoring.py [part ...]; the results are in results/monitoring.csv. Parts: false, delay,
tallies, shared, drift, late, classes, groups, dates, restarts, over, limits, prediction_delays, resembling,
predictions, shaken_predictions, unequal_periods. Forecasters predict log-odds that are normal with a mean of 0 and a
standard deviation of 1.5, unless a setting says otherwise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import expit, logsumexp, roots_hermite

from unperplexed import Tally, monitor
from unperplexed.monitoring.breaks import Series, alarms_of
from unperplexed.monitoring.event_counts import EventCounts, kept
from unperplexed.monitoring.history import WHOLE, History, Period
from unperplexed.monitoring.hypotheses import (
    PERIOD_WEIGHTS,
    ROW_WEIGHTS,
    period_factors,
    row_factors,
)
from unperplexed.monitoring.measures import MEASURE_WEIGHTS, MEASURES, measured
from unperplexed.results import Alarm
from unperplexed.statistics.rank_evidence import log_evidence, rank_evidence

RESULTS = Path(__file__).parent / "results" / "monitoring.csv"
LIMIT = np.log(20)
CELLS = 41
"""Distinct predictions of a simulated forecaster, so that periods are drawn as counts."""

START = 100

ERRORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "bias 0.2": lambda s: s + 0.2,
    "bias 0.5": lambda s: s + 0.5,
    "bias 1": lambda s: s + 1,
    "slope 0.67": lambda s: 0.67 * s,
    "slope 1.5": lambda s: 1.5 * s,
}


class Forecaster:
    """Log-odds on a grid, with the share of rows at each."""

    def __init__(self, mean: float = 0.0, sd: float = 1.5, shock: float = 0.0) -> None:
        """Place the predictions; with a shock they are calibrated on average over it."""
        true = np.linspace(mean - 3 * sd, mean + 3 * sd, CELLS)
        self.share = np.exp(-(((true - mean) / sd) ** 2) / 2)
        self.share /= self.share.sum()
        self.true, self.shock = true, shock
        x, w = roots_hermite(40)
        self.p = expit(true[:, None] + shock * np.sqrt(2) * x) @ w / np.sqrt(np.pi)
        self.s = np.log(self.p) - np.log1p(-self.p)
        one = [EventCounts(self.p[[i]], np.ones(1), np.full(1, y)) for i in range(CELLS) for y in (0.0, 1.0)]
        gains = np.array([row_factors(each) for each in one]).reshape(CELLS, 2, -1)
        self.missed, self.happened = gains[:, 0], gains[:, 1]

    def periods(
        self, rng: np.random.Generator, periods: int, rows: int, error: Callable | None = None, start: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw counts and positive outcomes, of shape (periods, cells)."""
        n = rng.multinomial(rows, self.share, periods)
        odds = np.tile(self.true, (periods, 1))
        if error is not None:
            odds[start:] = error(odds[start:])
        return n, rng.binomial(n, expit(odds + self.shock * rng.normal(size=(periods, 1))))

    def factors(self, n: np.ndarray, o: np.ndarray) -> np.ndarray:
        """Give the factors of periods for independent rows."""
        return o @ self.happened + (n - o) @ self.missed

    def counts(self, n: np.ndarray, o: np.ndarray) -> list[EventCounts]:
        """Give the counts of periods."""
        return [
            EventCounts(self.p[a > 0], a[a > 0].astype(float), b[a > 0].astype(float))
            for a, b in zip(n, o, strict=True)
        ]


def alarms(evidence: np.ndarray) -> np.ndarray:
    """Period of the first alarm of each run, from 1; infinite for none."""
    above = evidence >= LIMIT
    return np.where(above.any(axis=0), above.argmax(axis=0) + 1.0, np.inf)


def runs(f: Forecaster, rng: np.random.Generator, count: int, periods: int, rows: int, *error: object) -> np.ndarray:
    """First alarms by the evidence of rows."""
    found = []
    for _ in range(0, count, 50):
        drawn = [f.factors(*f.periods(rng, periods, rows, *error)) for _ in range(50)]
        found.append(alarms(log_evidence(np.stack(drawn, axis=1), ROW_WEIGHTS)))
    return np.concatenate(found)


def shared_runs(
    f: Forecaster, rng: np.random.Generator, count: int, periods: int, rows: int, *error: object
) -> np.ndarray:
    """First alarms by the evidence of periods."""
    drawn = [period_factors(f.counts(*f.periods(rng, periods, rows, *error))) for _ in range(count)]
    return alarms(log_evidence(np.stack(drawn, axis=1), PERIOD_WEIGHTS))


def false(rng: np.random.Generator) -> Iterator[tuple]:
    """False alarms within 1,000 periods, 1,000 runs."""
    for name, f, rows in (
        ("100 rows", Forecaster(), 100),
        ("1,000 rows", Forecaster(), 1000),
        ("1,000 rows, rare events", Forecaster(-4, 1), 1000),
    ):
        yield "false alarms in 1,000 periods", name, "rows", np.isfinite(runs(f, rng, 1000, 1000, rows)).mean()


def _delay(found: np.ndarray) -> tuple[float, float]:
    late = found[found > START] - START
    return float(np.median(late)), float(np.nan_to_num(np.quantile(late, 0.9), nan=np.inf))


def delay(rng: np.random.Generator) -> Iterator[tuple]:
    """Periods until the alarm, median and 90%, of a change after 100 periods; 1,000 runs."""
    for sd in (1.5, 2.0):
        f, spread = Forecaster(sd=sd), "" if sd == 1.5 else f"log-odds of sd {sd:g}, "
        for rows in (100, 1000):
            for name, error in ERRORS.items():
                median, most = _delay(runs(f, rng, 1000, 220, rows, error, START))
                yield "delay, median", f"{rows:,} rows, {spread}{name}", "rows", median
                yield "delay, 90%", f"{rows:,} rows, {spread}{name}", "rows", most


def tallies(rng: np.random.Generator) -> Iterator[tuple]:
    """The same by the evidence of tallies of 100 rows, and of the rows themselves; 200 runs."""
    found = []
    for _ in range(200):
        s = rng.normal(0, 1.5, (START + 100, 100))
        true = np.concatenate([s[:START], ERRORS["bias 0.2"](s[START:])])
        p, y = expit(s), rng.random(s.shape) < expit(true)
        history = History.of({f"{day}": Tally.of(y[day], p[day]) for day in range(len(s))})
        of_rows = [row_factors(EventCounts(a, np.ones(a.size), b * 1.0)) for a, b in zip(p, y, strict=True)]
        evidence = monitor(history).log_evidence, log_evidence(np.array(of_rows), ROW_WEIGHTS)
        found.append([alarms(each[:, None])[0] for each in evidence])
    for what, first in zip(("tallies", "rows one by one"), np.array(found).T, strict=True):
        median, most = _delay(first)
        yield "delay, median", f"100 rows, bias 0.2, from {what}", "rows", median
        yield "delay, 90%", f"100 rows, bias 0.2, from {what}", "rows", most


def shared(rng: np.random.Generator) -> Iterator[tuple]:
    """Periods that share a shock: false alarms in 300 periods, 300 runs, and delays, 200 runs."""
    for rows in (100, 1000):
        for shock in (0.2, 0.5):
            f = Forecaster(shock=shock)
            name = f"{rows:,} rows, shocks of sd {shock}"
            yield "false alarms in 300 periods", name, "rows", np.isfinite(runs(f, rng, 300, 300, rows)).mean()
            yield (
                "false alarms in 300 periods",
                name,
                "periods",
                np.isfinite(shared_runs(f, rng, 300, 300, rows)).mean(),
            )
        for name in ("bias 0.2", "bias 0.5", "slope 0.67"):
            median, most = _delay(shared_runs(Forecaster(), rng, 200, 220, rows, ERRORS[name], START))
            yield "delay, median", f"{rows:,} rows, {name}", "periods", median
            yield "delay, 90%", f"{rows:,} rows, {name}", "periods", most


def drift(rng: np.random.Generator) -> Iterator[tuple]:
    """A bias that grows to 0.5 over 100 periods, 400 runs."""
    f = Forecaster()
    ramp = np.clip(np.arange(1, 221)[:, None] / 100, 0, 1) * 0.5
    for rows in (100, 1000):
        found = runs(f, rng, 400, 320, rows, lambda s: s + ramp[: len(s)], START)
        median, most = _delay(found)
        yield "delay, median", f"{rows:,} rows, bias growing to 0.5 in 100 periods", "rows", median
        yield "delay, 90%", f"{rows:,} rows, bias growing to 0.5 in 100 periods", "rows", most


def late(rng: np.random.Generator) -> Iterator[tuple]:
    """Outcomes that come late, counted into the period in which they come; 500 runs of 300 periods."""
    f = Forecaster()
    for name, of_positive, of_negative in (("alike", 5.0, 5.0), ("events sooner", 2.0, 8.0)):
        found = []
        for _ in range(500):
            n, o = f.periods(rng, 300, 100)
            came, positive = np.zeros((330, CELLS)), np.zeros((330, CELLS))
            for day in range(300):
                for counts, mean, where in ((o[day], of_positive, True), (n[day] - o[day], of_negative, False)):
                    cell = np.repeat(np.arange(CELLS), counts)
                    at = np.minimum(day + rng.geometric(1 / mean, cell.size) - 1, 329)
                    np.add.at(came, (at, cell), 1)
                    if where:
                        np.add.at(positive, (at, cell), 1)
            found.append(f.factors(came[:300], positive[:300]))
        share = np.isfinite(alarms(log_evidence(np.stack(found, axis=1), ROW_WEIGHTS))).mean()
        yield "false alarms in 300 periods", f"100 rows, outcomes up to days late, {name}", "rows", share


def classes(rng: np.random.Generator) -> Iterator[tuple]:
    """Ten classes, counted from rows; 100 runs of 100 periods of 200 rows, and a temperature of 1.3 after 50."""
    for name, temperature in (("calibrated", 1.0), ("temperature 1.3 after 50", 1.3)):
        found, what = [], []
        for _ in range(100):
            history = History(labels=tuple(range(10)))
            periods = []
            for day in range(100):
                z = rng.normal(0, 2, (200, 10))
                p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
                true = np.exp(z / (temperature if day >= 50 else 1))
                true /= true.sum(axis=1, keepdims=True)
                y = (true.cumsum(axis=1) > rng.random((200, 1))).argmax(axis=1)
                top = p.argmax(axis=1)
                events = [(p.max(axis=1), top == y), *((p[:, c], y == c) for c in range(10))]
                periods.append(Period(f"{day}", {WHOLE: tuple(_counts(q, hit) for q, hit in events)}))
            result = monitor(History(history.labels, tuple(periods)))
            found.append(np.inf if result.alarm is None else int(result.alarm.period) + 1.0)
            what.append("" if result.alarm is None else result.alarm.event)
        first = np.array(found)
        if temperature == 1:
            yield "false alarms in 100 periods", "10 classes, 200 rows", "rows", np.isfinite(first).mean()
        else:
            late = first[first > 50] - 50
            yield "delay, median", f"10 classes, 200 rows, {name}", "rows", float(np.median(late))
            yield (
                "names the most probable class",
                f"10 classes, 200 rows, {name}",
                "rows",
                what.count("most probable class") / 100,
            )


def _counts(p: np.ndarray, hit: np.ndarray) -> EventCounts:
    from unperplexed.tally.tables import Pairs

    return EventCounts.of(Pairs(p, hit.astype(float), np.ones(p.size)))


def groups(rng: np.random.Generator) -> Iterator[tuple]:
    """Ten groups of 100 rows, one of them biased by 0.5 after 30 of 60 periods; 100 runs."""
    f, late, named, innocent = Forecaster(), [], 0, 0
    for _ in range(100):
        drawn = [f.counts(*f.periods(rng, 60, 100, ERRORS["bias 0.5"] if g == 0 else None, 30)) for g in range(10)]
        periods = tuple(Period(f"{d}", {f"g{g}": (drawn[g][d],) for g in range(10)}) for d in range(60))
        result = monitor(History((0, 1), periods))
        if result.alarm is not None:
            late.append(int(result.alarm.period) - 29)
            found = {name for each in result.alarms for name in each.groups}
            named += "g0" in found
            innocent += bool(found - {"g0"})
    yield "delay, median", "10 groups of 100 rows, one with bias 0.5", "rows", float(np.median(late))
    yield "delay, 90%", "10 groups of 100 rows, one with bias 0.5", "rows", float(np.quantile(late, 0.9))
    yield "names the group", "10 groups of 100 rows, one with bias 0.5", "rows", named / 100
    yield "names another group", "10 groups of 100 rows, one with bias 0.5", "rows", innocent / 100


def dates(rng: np.random.Generator) -> Iterator[tuple]:
    """Dates and names 20 periods after a change, or 60 of the smallest one by 100 rows; 200 runs."""
    f = Forecaster()
    wanted = {
        "bias 0.2": "bias",
        "bias 0.5": "bias",
        "bias 1": "bias",
        "slope 0.67": "confidence",
        "slope 1.5": "confidence",
    }
    for rows in (100, 1000):
        for name, error in wanted.items():
            covered, width, right, made = 0, [], 0, 0
            after = 60 if (rows, name) == (100, "bias 0.2") else 20
            for _ in range(200):
                counts = f.counts(*f.periods(rng, 60 + after, rows, ERRORS[name], 60))
                periods = tuple(Period(f"{d}", {WHOLE: (each,)}) for d, each in enumerate(counts))
                alarm = monitor(History((0, 1), periods)).alarm
                if alarm is not None:
                    made += 1
                    covered += "60" in alarm.probable
                    width.append(len(alarm.probable))
                    right += alarm.diagnosis is not None and alarm.diagnosis.errors[:1] == (error,)
            setting = f"{rows:,} rows, {name}"
            yield "the true period is among the probable ones", setting, "rows", covered / made
            yield "probable periods, mean", setting, "rows", float(np.mean(width))
            yield "names the error", setting, "rows", right / made


def restarts(rng: np.random.Generator) -> Iterator[tuple]:
    """Watches that begin anew after each alarm: how many periods a false alarm takes; 100 runs of 5,000 periods."""
    f, made = Forecaster(), 0
    for _ in range(100):
        factors, start = f.factors(*f.periods(rng, 5000, 100)), 0
        while start < 5000:
            first = alarms(log_evidence(factors[start:][:, None], ROW_WEIGHTS))[0]
            if not np.isfinite(first):
                break
            made, start = made + 1, start + int(first)
    yield "false alarms a run", "100 rows, 5,000 periods, begun anew after each alarm", "rows", made / 100


def over(rng: np.random.Generator) -> Iterator[tuple]:
    """Errors that go on from period 50 to 149, and errors of 30 periods; 100 runs."""
    f = Forecaster()
    for units, rows in (("rows", 100), ("periods", 1000)):
        source = f if units == "rows" else Forecaster(shock=0.3)
        for name in ("bias 0.2", "bias 0.5", "slope 0.67"):
            ended, grew, made = 0, 0, 0
            for _ in range(100):
                alarms = _first(source, source.periods(rng, 150, rows, ERRORS[name], 50), units)
                made += bool(alarms)
                ended += any(each.over is not None for each in alarms)
                grew += any(each.halves is not None for each in alarms)
            setting = f"{rows:,} rows, {name}"
            yield "called over while it goes on", setting, units, ended / made
            yield "said to grow or fall while constant", setting, units, grew / made
    for name in ("bias 0.5", "slope 0.67"):
        late, again = [], 0
        for _ in range(100):
            n, o = f.periods(rng, 150, 100, ERRORS[name], 50)
            n[80:], o[80:] = f.periods(rng, 70, 100)
            alarms = _first(f, (n, o), "rows")
            known = next((int(each.over.period) - 79 for each in alarms if each.over is not None), np.inf)
            late.append(known)
            again += len(alarms) > 1
        setting = f"100 rows, {name} for 30 periods"
        yield "known to be over, periods, median", setting, "rows", float(np.median(late))
        yield "known to be over, periods, 90%", setting, "rows", float(np.quantile(late, 0.9))
        yield "another alarm", setting, "rows", again / 100


def _first(f: Forecaster, drawn: tuple[np.ndarray, np.ndarray], units: str) -> tuple[Alarm, ...]:
    """Give the alarms, in order of time, if the first of them is after the error began."""
    events = [(each,) for each in f.counts(*drawn)]
    if units == "rows":
        factors = f.factors(*drawn)
        series = Series(WHOLE, events, factors, ROW_WEIGHTS, log_evidence(factors, ROW_WEIGHTS), factors, ROW_WEIGHTS)
    else:
        series = Series.of(WHOLE, events, True)
    found = alarms_of(series, tuple(map(str, range(len(events)))), (0, 1), LIMIT, 0, units == "periods")
    return tuple(found) if found and int(found[0].period) >= 50 else ()


def limits(rng: np.random.Generator) -> Iterator[tuple]:
    """Requirements exactly at their limit, 1,000 runs of 500 periods, and with biases, 200 runs."""
    f = Forecaster()
    loss, brier = -f.share @ (f.p * np.log(f.p) + (1 - f.p) * np.log1p(-f.p)), f.share @ (2 * f.p * (1 - f.p))
    accuracy = f.share @ np.maximum(f.p, 1 - f.p)
    wanted = {
        "log loss": f"log_loss < {loss}",
        "Brier score": f"brier_score < {brier}",
        "accuracy": f"accuracy > {accuracy}",
    }
    for name, text in wanted.items():
        for bias, count in ((0.0, 1000), (0.4, 200), (0.8, 200)):
            first = []
            for _ in range(count):
                counts = f.counts(*f.periods(rng, 500, 100, lambda s, bias=bias: s + bias))
                failed = kept(text, range(500), counts, 2, LIMIT).failed
                first.append(np.inf if failed is None else failed + 1)
            setting = f"100 rows, {name}, bias {bias:g}" if bias else f"100 rows, {name} at its limit"
            yield "fails within 500 periods", setting, "rows", np.isfinite(first).mean()
            if bias:
                yield "periods until it fails, median", setting, "rows", float(np.median(first))


LOG_ODDS = np.linspace(-10, 10, 101)
"""Of predictions without outcomes."""


def normal_shares(mean: float = 0.0, sd: float = 2.0) -> np.ndarray:
    """Shares of predictions whose log-odds are normal."""
    share = np.exp(-(((LOG_ODDS - mean) / sd) ** 2) / 2)
    return share / share.sum()


def drifting(rng: np.random.Generator, shares: np.ndarray, rows: int | np.ndarray, shocks: np.ndarray) -> np.ndarray:
    """Draw predictions of periods whose log-odds share a shock each; give the first alarm of each run, or infinity.

    Shares are of shape (periods, log-odds), shocks of shape (runs, periods), rows are those of all periods or of each.
    Evidence is that of `drift`, many runs at once.
    """
    found = []
    for some in np.array_split(shocks, -(-len(shocks) // 50)):
        measures = []
        for shock in some:
            n = rng.multinomial(rows, shares)
            p, none = expit(LOG_ODDS + shock[:, None]), np.array([])
            measures.append(measured([EventCounts(q[k > 0], k[k > 0] * 1.0, none) for q, k in zip(p, n, strict=True)]))
        values = np.array(measures)
        evidence = [
            np.log(weight) + rank_evidence(values[:, at], upward_only=name == "shares").log_evidence
            for at, (name, weight) in enumerate(zip(MEASURES, MEASURE_WEIGHTS, strict=True))
        ]
        found.append(alarms(logsumexp(evidence, axis=0).T))
    return np.concatenate(found)


def prediction_delays(rng: np.random.Generator) -> Iterator[tuple]:
    """Drift of the predictions alone: periods from a change after 100 periods to the alarm; 100 runs."""
    same = normal_shares()
    changes = {f"mean log-odds +{each}": normal_shares(each) for each in (0.2, 0.5, 1)}
    changes |= {f"standard deviation 2 to {each}": normal_shares(0, each) for each in (1.6, 2.5)}
    changes["5% become 0.5"] = 0.95 * same + 0.05 * (LOG_ODDS == 0)
    for rows, shock in ((100, 0.0), (1000, 0.0), (1000, 0.5)):
        for name, since in changes.items():
            shares = np.concatenate([np.tile(same, (START, 1)), np.tile(since, (100, 1))])
            median, most = _delay(drifting(rng, shares, rows, shock * rng.normal(size=(100, 200))))
            setting = f"{rows:,} rows" + (f", shocks of sd {shock}" if shock else "") + f", {name}"
            yield "delay, median", setting, "periods", median
            yield "delay, 90%", setting, "periods", most


def resembling(rng: np.random.Generator) -> Iterator[tuple]:
    """Predictions whose mean resembles that of the day before: false alarms in a year, 200 runs, by days and weeks."""
    for rho in (0.2, 0.5, 0.8):
        shocks = rng.normal(size=(200, 364))
        for at in range(1, 364):
            shocks[:, at] = rho * shocks[:, at - 1] + np.sqrt(1 - rho**2) * shocks[:, at]
        by_week = shocks.reshape(200, 52, 7).mean(axis=2)
        days = drifting(rng, np.tile(normal_shares(), (364, 1)), 100, 0.5 * shocks)
        weeks = drifting(rng, np.tile(normal_shares(), (52, 1)), 700, 0.5 * by_week)
        for name, found in (("days", days), ("weeks", weeks)):
            setting = f"100 rows a day, shocks of sd 0.5, correlation {rho} with the day before, {name}"
            yield "false alarms in 364 days", setting, "periods", np.isfinite(found).mean()


def predictions(rng: np.random.Generator) -> Iterator[tuple]:
    """Drift of the predictions alone: false alarms in 1,000 periods of one distribution, 1,000 runs."""
    yield _unchanged(rng, "100 rows", 100, 0.0, 1000)


def shaken_predictions(rng: np.random.Generator) -> Iterator[tuple]:
    """The same for periods that share shocks, 300 runs."""
    yield _unchanged(rng, "1,000 rows, shocks of sd 0.5", 1000, 0.5, 300)


def _unchanged(rng: np.random.Generator, name: str, rows: int, shock: float, count: int) -> tuple:
    found = drifting(rng, np.tile(normal_shares(), (1000, 1)), rows, shock * rng.normal(size=(count, 1000)))
    return "false alarms in 1,000 periods", name, "periods", np.isfinite(found).mean()


def unequal_periods(rng: np.random.Generator) -> Iterator[tuple]:
    """Drift of the predictions alone, with periods of 100 and of 1,000 rows: 300 runs of 300 periods, and delays.

    The change comes with the 101st period, at which the number of rows changes too.
    """
    at, same = np.arange(300), np.tile(normal_shares(), (300, 1))
    designs = {
        "1,000 rows, then 100": np.where(at < 150, 1000, 100),
        "100 rows, then 1,000": np.where(at < 150, 100, 1000),
        "1,000 rows, 100 on 2 of 7 days": np.where(at % 7 < 5, 1000, 100),
        "100 rows growing to 1,000": np.rint(100 * 10 ** (at / 299)).astype(int),
    }
    for name, rows in designs.items():
        for shock in (0.0, 0.2, 0.5):
            found = drifting(rng, same, rows, shock * rng.normal(size=(300, 300)))
            yield "false alarms in 300 periods", f"{name}, shocks of sd {shock}", "periods", np.isfinite(found).mean()
    shares = np.concatenate([same[:START], np.tile(normal_shares(0.5), (100, 1))])
    for name, before, since in (("1,000 rows, then 100", 1000, 100), ("100 rows, then 1,000", 100, 1000)):
        rows = np.where(np.arange(200) < START, before, since)
        median, most = _delay(drifting(rng, shares, rows, np.zeros((100, 200))))
        yield "delay, median", f"{name}, mean log-odds +0.5", "periods", median
        yield "delay, 90%", f"{name}, mean log-odds +0.5", "periods", most


PARTS = (
    false,
    delay,
    tallies,
    shared,
    drift,
    late,
    classes,
    groups,
    dates,
    restarts,
    over,
    limits,
    prediction_delays,
    resembling,
    predictions,
    shaken_predictions,
    unequal_periods,
)


def main(names: list[str]) -> None:
    """Run the parts, and write their results."""
    rows = [line.split(";") for line in RESULTS.read_text().splitlines()[1:]] if RESULTS.exists() else []
    for part in PARTS:
        if names and part.__name__ not in names:
            continue
        began = time.perf_counter()
        rows = [row for row in rows if row[0] != part.__name__]
        for what, setting, units, value in part(np.random.default_rng(20261125)):
            rows.append([part.__name__, what, setting, units, f"{value:.4g}"])
            print(*rows[-1], sep="; ", flush=True)
        print(f"# {part.__name__}: {time.perf_counter() - began:.0f} s", flush=True)
        order = [each.__name__ for each in PARTS]
        rows.sort(key=lambda row: order.index(row[0]))
        text = "\n".join(";".join(row) for row in [["part", "what", "setting", "units", "value"], *rows])
        RESULTS.write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
