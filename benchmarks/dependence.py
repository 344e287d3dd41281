"""How often dependence that nobody declared is found, and the gate's size if the clusters found give the verdict.

    python benchmarks/dependence.py [--runs R] [--only WORD] [--out FILE.csv]

Each run draws forecasts of a design, with columns that have nothing to do with it. A line of the result counts how
often dependence was flagged and taken, how often it would be taken if of several classes the most probable one alone
were looked at, how often the cluster that was drawn was among the chosen columns (or, where no column has it, the
order), and how often the gate rejected at 5%: of independent rows, and as the search decides. The last whole run is
results/dependence.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import expit, logit, softmax
from scipy.stats import norm

from unperplexed import diagnose
from unperplexed.calibration.dependence import Dependence, events_of_classes, find_dependence, largest

Rng = np.random.Generator


class Drawn(NamedTuple):
    """Forecasts with their outcomes."""

    y: np.ndarray
    p: np.ndarray
    """Of the positive of two classes, or of all classes."""
    columns: dict[str, np.ndarray]
    right: str = ""
    """Column that the drawn clusters have; empty for the order."""
    weight: np.ndarray | None = None


def noise(rng: Rng, n: int) -> dict[str, np.ndarray]:
    """Columns of several kinds, which rows do not depend on."""
    sizes = {"three": 3, "ten": 10, "fifty": 50, "tenth": n // 10, "half": n // 2}
    found = {name: rng.integers(0, size, n) for name, size in sizes.items()}
    return found | {"skewed": rng.geometric(0.1, n)}


def events(
    rng: Rng, count: int, each: int, level: float = 0.0, bias: float = 0.0, *, named: bool = True, weights: str = ""
) -> Drawn:
    """Outcomes that rows share: an event is predicted several times, each time a little differently."""
    event = np.repeat(np.arange(count), each)
    s = rng.normal(level, 1, count)[event] + rng.normal(0, 0.3, event.size)
    y = rng.random(count)[event] < expit(s + bias)
    weight = {"rows": rng.exponential(size=event.size), "events": rng.exponential(size=count)[event]}.get(weights)
    at = rng.permutation(event.size) if named else np.arange(event.size)
    columns = noise(rng, event.size) | ({"event": event[at]} if named else {})
    return Drawn(y[at], expit(s[at]), columns, "event" if named else "", weight if weight is None else weight[at])


def martingale(rng: Rng, teams: int = 20, seasons: int = 5, each: int = 50) -> Drawn:
    """Win probabilities during games: a walk, of which the end decides."""
    count = teams * seasons
    walk = np.cumsum(rng.normal(size=(count, each + 1)), axis=1)
    left = np.sqrt(each - np.arange(each))
    p = norm.cdf(walk[:, :-1] / left).ravel()
    game = np.repeat(np.arange(count), each)
    columns = noise(rng, game.size) | {"team": game % teams, "season": game // teams}
    return Drawn((walk[:, -1] > 0)[game], np.clip(p, 1e-4, 1 - 1e-4), columns, "team")


def shocks(rng: Rng, groups: int = 100, each: int = 20, sd: float = 0.7) -> Drawn:
    """Shocks to the log-odds of a group, which no forecast knows; those are calibrated on average."""
    group, n = np.repeat(np.arange(groups), each), groups * each
    s = rng.normal(0, 1, n)
    y = rng.random(n) < expit(s + rng.normal(0, sd, groups)[group])
    z = np.linspace(-5, 5, 201)
    weights = norm.pdf(z) / norm.pdf(z).sum()
    at = rng.permutation(n)
    return Drawn(y[at], (expit(s[:, None] + sd * z) @ weights)[at], noise(rng, n) | {"group": group[at]}, "group")


def serial(rng: Rng, correlation: float, n: int = 2000) -> Drawn:
    """Outcomes of which the normal values follow an AR(1) process."""
    steps = rng.normal(size=n) * math.sqrt(1 - correlation**2)
    steps[0] = rng.normal()
    s = rng.normal(0, 1, n)
    return Drawn(norm.cdf(lfilter([1], [1, -correlation], steps)) < expit(s), expit(s), noise(rng, n))


def independent(rng: Rng, n: int = 2000, level: float = 0.0, bias: float = 0.0, *, weighted: bool = False) -> Drawn:
    """Independent rows."""
    s = rng.normal(level, 1.5, n)
    weight = rng.exponential(size=n) if weighted else None
    return Drawn(rng.random(n) < expit(s + bias), expit(s), noise(rng, n), "none", weight)


def classes(rng: Rng, k: int, count: int, each: int, temperature: float = 1.0, sd: float = 1.5) -> Drawn:
    """Several classes, of which rows share the outcome."""
    event = rng.permutation(np.repeat(np.arange(count), each))
    logits = rng.normal(0, sd, (count, k))[event] + rng.normal(0, 0.3, (event.size, k))
    q = softmax(logits, axis=1)
    y = (rng.random(count)[event, None] > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)
    right = "event" if each > 1 else "none"
    return Drawn(y, softmax(logits / temperature, axis=1), noise(rng, event.size) | {"event": event}, right)


def signals(rng: Rng, k: int, count: int = 200, each: int = 10, strength: float = 1.0) -> Drawn:
    """Rows that share an outcome, each predicted by the posterior of a signal of its own."""
    event = rng.permutation(np.repeat(np.arange(count), each))
    y = rng.integers(0, k, count)[event]
    seen = strength * (np.arange(k) == y[:, None]) + rng.normal(size=(event.size, k))
    return Drawn(y, softmax(strength * seen, axis=1), noise(rng, event.size) | {"event": event}, "event")


DESIGNS: dict[str, Callable[[Rng], Drawn]] = {
    "200 events x 10": partial(events, count=200, each=10),
    "40 events x 50": partial(events, count=40, each=50),
    "200 rare events x 10": partial(events, count=200, each=10, level=-3.5),
    "in-game martingale": martingale,
    "shocks by group": shocks,
    "200 events x 10 in order, no column": partial(events, count=200, each=10, named=False),
    "60 events x 50 in order, no column": partial(events, count=60, each=50, named=False),
    "AR(1) 0.5": partial(serial, correlation=0.5),
    "AR(1) 0.8": partial(serial, correlation=0.8),
    "AR(1) 0.95": partial(serial, correlation=0.95),
    "independent": independent,
    "independent, 400 rows": partial(independent, n=400),
    "independent, rare": partial(independent, level=-4),
    "independent, bias 0.5": partial(independent, bias=0.5),
    "independent, weights": partial(independent, weighted=True),
    "200 events x 10, weights of rows": partial(events, count=200, each=10, weights="rows"),
    "200 events x 10, weights of events": partial(events, count=200, each=10, weights="events"),
    "200 events x 10, bias 0.5": partial(events, count=200, each=10, bias=0.5),
    "group biases of sd 0.3": partial(shocks, groups=10, each=1500, sd=0.3),
    "group biases of sd 0.5": partial(shocks, groups=10, each=1500, sd=0.5),
    "group biases of sd 1": partial(shocks, groups=20, each=1000, sd=1.0),
    "3 classes, 200 events x 10": partial(classes, k=3, count=200, each=10),
    "10 classes, 200 events x 10": partial(classes, k=10, count=200, each=10),
    "3 classes, 200 events x 3": partial(classes, k=3, count=200, each=3),
    "10 classes, 200 events x 3": partial(classes, k=10, count=200, each=3),
    "10 classes, nearly sure, 200 events x 10": partial(classes, k=10, count=200, each=10, sd=5.0),
    "3 classes, 200 outcomes x 10 signals": partial(signals, k=3),
    "10 classes, 200 outcomes x 10 signals": partial(signals, k=10),
    "100 classes, 200 outcomes x 10 signals": partial(signals, k=100),
    "3 classes, temperature 0.5, 200 events x 10": partial(classes, k=3, count=200, each=10, temperature=0.5),
    "10 classes, temperature 0.5, 200 events x 10": partial(classes, k=10, count=200, each=10, temperature=0.5),
    "10 classes, temperature 2, 200 events x 10": partial(classes, k=10, count=200, each=10, temperature=2.0),
    "3 classes, independent": partial(classes, k=3, count=2000, each=1),
    "10 classes, independent, temperature 0.5": partial(classes, k=10, count=2000, each=1, temperature=0.5),
}


def searched(drawn: Drawn, *, top: bool = False) -> Dependence | None:
    """Search rows of two classes, or two events of more; of these only that the most probable class is observed."""
    if drawn.p.ndim == 1:
        return find_dependence(drawn.y, logit(drawn.p), drawn.weight, drawn.columns)
    events = events_of_classes(drawn.y, drawn.p)[: 1 if top else 2]
    return largest(find_dependence(y, s, drawn.weight, drawn.columns) for y, s in events)


def judged_by(found: Dependence, columns: dict[str, np.ndarray], n: int) -> np.ndarray:
    """Return the clusters."""
    if found.block is not None:
        return np.arange(n) // found.block
    values = np.column_stack([columns[name] for name in found.columns])
    return np.unique(values, axis=0, return_inverse=True)[1].ravel()


def run(design: str, runs: int, seed: int) -> dict[str, str | int]:
    """Count what is found in the runs of a design."""
    rng, start = np.random.default_rng(seed), time.perf_counter()
    counts = dict.fromkeys(("flagged", "taken", "taken_by_top", "right", "rejected_of_independent_rows", "rejected"), 0)
    for _ in range(runs):
        drawn = DESIGNS[design](rng)
        found, n = searched(drawn), drawn.y.size
        labels = (0, 1) if drawn.p.ndim == 1 else tuple(range(drawn.p.shape[1]))
        y = drawn.y.astype(int)
        plain = diagnose(y, drawn.p, sample_weight=drawn.weight, labels=labels).p_value < 0.05
        counts["rejected_of_independent_rows"] += plain
        if found is None:
            counts["rejected"] += plain
            continue
        counts["flagged"] += 1
        counts["taken"] += found.taken
        by_top = searched(drawn, top=True)
        counts["taken_by_top"] += by_top is not None and by_top.taken
        counts["right"] += drawn.right in found.columns or not (drawn.right or found.columns)
        if found.taken:
            clusters = judged_by(found, drawn.columns, n)
            p = diagnose(y, drawn.p, sample_weight=drawn.weight, labels=labels, clusters=clusters).p_value
            counts["rejected"] += p < 0.05
        else:
            counts["rejected"] += plain
    seconds = f"{(time.perf_counter() - start) / runs:.3f}"
    return {"design": design, "runs": runs, **{name: int(x) for name, x in counts.items()}, "seconds": seconds}


def study(
    name: str,
    about: str,
    designs: Iterable[str],
    run: Callable[[str, int, int], dict[str, Any]],
    runs: int,
    arguments: list[str] | None = None,
) -> None:
    """Run each design so many times, and write the table of a study."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(f"benchmarks/results/{name}.csv"))
    parser.add_argument("--runs", type=int, default=runs, help=f"samples of each design (default: {runs})")
    parser.add_argument("--only", default="", help="designs whose names have this word; prints alone")
    options = parser.parse_args(arguments)
    lines = []
    for at, design in enumerate(designs):
        if options.only in design:
            lines.append(run(design, options.runs, at))
            print(*lines[-1].values(), sep=" | ", flush=True)
    if not options.only:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    study("dependence", __doc__, DESIGNS, run, 100)
