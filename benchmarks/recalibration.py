"""Gain and harm of recalibrating two classes from few rows, and coverage of the reported gain, on simulated forecasts.

    python benchmarks/recalibration.py [--only STUDY] [--factor F] [--seed S] [--out FILE.csv]

Each run draws predicted log-odds and, from the map of a known error, outcomes; fits recalibration maps; and takes their
expected log loss on fresh forecasts (5,000; for coverage 100,000), whose true probabilities are known. The study
"small" averages the gain over the unchanged forecasts (negative: harm) and counts how often the identity has most of
the weight. The study "coverage" counts how often the reported 95% interval holds the true gain of the default average
of maps fitted to independent rows. Those of its kind are "clusters" (of five rows with one prediction and dependent
outcomes), "weights" (log-normal, so that n rows are worth about 0.37 n), "single" (one map chosen) and "logistic" (one
map by name). The seed differs from those by which weights, folds and interval were chosen. The last whole run is
results/recalibration.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from unperplexed import Recalibrator, Tally
from unperplexed.maps.families import MapOfTwo
from unperplexed.maps.parameters import TWO_CLASSES
from unperplexed.maps.two import BinaryMap
from unperplexed.recalibration.averaging import Average, average
from unperplexed.recalibration.binary_rows import BinaryRows, rows_of_tally
from unperplexed.recalibration.fitting import BINARY_METHODS

Values = NDArray[np.float64]

DESIGNS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "usual": lambda rng, n: rng.normal(0, 2, n),
    "narrow": lambda rng, n: rng.normal(0, 0.7, n),
    "sharp": lambda rng, n: rng.normal(0, 4, n),
    "rare": lambda rng, n: rng.normal(-3, 1.5, n),
}
"""Predicted log-odds."""

ERRORS: dict[str, dict[str, float]] = {
    "none": {},
    "bias": {"bias": 0.5},
    "overconfident": {"slope": math.exp(-0.4) - 1},
    "underconfident": {"slope": math.exp(0.4) - 1},
    "biased and overconfident": {"bias": -0.4, "slope": math.exp(-0.4) - 1},
    "noise": {"lapse": 0.1},
}
"""Parameters of the map from predicted to true probabilities."""


class Case(NamedTuple):
    """One line of the result."""

    study: str
    design: str
    error: str
    n: int
    runs: int


def truth(s: Values, error: str) -> Values:
    """Return true probabilities."""
    coefficients = dict(ERRORS[error])
    lapse = coefficients.pop("lapse", 0.0)
    return np.asarray(BinaryMap("", coefficients, lapse).probabilities(s)[:, 1])


def loss(q: Values, true: Values) -> float:
    """Return the expected log loss of probabilities."""
    return -float((true * np.log(q) + (1 - true) * np.log1p(-q)).mean())


class Fresh:
    """Forecasts to judge by."""

    def __init__(self, design: str, error: str, n: int) -> None:
        self.p = expit(DESIGNS[design](np.random.default_rng(999), n))
        self.true = truth(np.log(self.p) - np.log1p(-self.p), error)
        self.before = loss(self.p, self.true)

    def gain(self, q: Values) -> float:
        """Return the expected decrease of the log loss."""
        return self.before - loss(q, self.true)


def generator(case: Case, seed: int) -> np.random.Generator:
    """Return the random numbers of a case."""
    return np.random.default_rng([seed, *map(ord, "".join(map(str, case[:4])))])


def samples(case: Case, seed: int) -> Iterator[tuple[NDArray[np.bool_], Values, dict[str, Any]]]:
    """Yield outcomes, predictions and how they are read, of each run."""
    rng = generator(case, seed)
    for _ in range(case.runs):
        if case.study == "clusters":
            yield cluster_sample(case, rng)
            continue
        s = DESIGNS[case.design](rng, case.n)
        y = rng.random(case.n) < truth(s, case.error)
        yield y, expit(s), {"sample_weight": rng.lognormal(0, 1, case.n)} if case.study == "weights" else {}


CLUSTER_SIZE, CLUSTER_CORRELATION = 5, 0.5


def cluster_sample(case: Case, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Values, dict[str, Any]]:
    """Draw clusters of rows with one prediction; their outcomes share a normal variable (a Gaussian copula)."""
    shape = (case.n // CLUSTER_SIZE, CLUSTER_SIZE)
    s, shared, own = DESIGNS[case.design](rng, shape[0]), rng.normal(size=(shape[0], 1)), rng.normal(size=shape)
    u = ndtr(math.sqrt(CLUSTER_CORRELATION) * shared + math.sqrt(1 - CLUSTER_CORRELATION) * own)
    y, cluster = u < truth(s, case.error)[:, None], np.arange(shape[0])
    return y.ravel(), np.repeat(expit(s), CLUSTER_SIZE), {"clusters": np.repeat(cluster, CLUSTER_SIZE)}


SCIKIT_LEARN = ("sigmoid", "isotonic")
WAYS = (
    "auto",
    "single",
    "one standard error",
    "logistic",
    "isotonic",
    *(f"scikit-learn {way}" for way in SCIKIT_LEARN),
)
"""Those of scikit-learn see log-odds; its isotonic regression is clipped at .005 / n for a finite loss."""


def of_scikit_learn(way: str, y: NDArray[np.bool_], s: Values, fresh: Values) -> Values:
    """Recalibrate log-odds as `CalibratedClassifierCV` does, which refuses outcomes of one class only."""
    if way == "sigmoid":
        return np.asarray(_SigmoidCalibration().fit(s, y).predict(fresh))
    curve = IsotonicRegression(out_of_bounds="clip").fit(s, y)
    return np.clip(curve.predict(fresh), 0.005 / len(y), 1 - 0.005 / len(y))


def one_standard_error(rows: BinaryRows, found: Average[MapOfTwo]) -> str:
    """Name the map with the fewest parameters whose held-out log loss is within a standard error of the least.

    The standard error is that of the difference between the two maps on the same rows.
    """
    names = list(found.maps)
    fitted = [rows.fit(names, fold, found.maps) for fold in range(rows.folds)]
    held_out = {
        name: np.concatenate([np.log(rows.likelihoods(each[name], fold)) for fold, each in enumerate(fitted)])
        for name in names
    }
    best = min(names, key=lambda name: found.losses[name])

    def near(name: str) -> bool:
        more, error = rows.mean(held_out[best] - held_out[name])
        return more <= error

    return min(filter(near, names), key=lambda name: (TWO_CLASSES[name].rank, found.losses[name]))


def recalibrated(y: NDArray[np.bool_], p: Values, fresh: Values) -> tuple[dict[str, Values], bool]:
    """Return fresh probabilities recalibrated in each way, and whether the identity has most of the weight."""
    rows = rows_of_tally(Tally.of(y, p), None, 0)
    found = average(rows, BINARY_METHODS)
    s = np.clip(np.log(fresh) - np.log1p(-fresh), -rows.largest, rows.largest)
    cost = {name: len(y) * loss + TWO_CLASSES[name].rank / 2 for name, loss in found.losses.items()}
    cost["identity"] -= 1
    chosen = {"single": min(cost, key=lambda name: cost[name]), "one standard error": one_standard_error(rows, found)}
    chosen |= {name: name for name in WAYS if name in found.maps}
    average_of = [
        weight * found.maps[name].probabilities(s)[:, 1] for name, weight in found.weights.items() if weight > 1e-6
    ]
    of_each = {"auto": np.sum(average_of, axis=0)}
    of_each |= {way: found.maps[name].probabilities(s)[:, 1] for way, name in chosen.items()}
    known = np.log(p) - np.log1p(-p)
    of_each |= {f"scikit-learn {way}": of_scikit_learn(way, y, known, s) for way in SCIKIT_LEARN}
    return of_each, found.weights["identity"] > 0.5


def small(case: Case, seed: int) -> dict[str, Any]:
    """Average the true gain of each way to recalibrate."""
    fresh, gains, kept = Fresh(case.design, case.error, 5000), dict.fromkeys(WAYS, 0.0), 0
    for y, p, _ in samples(case, seed):
        found, left = recalibrated(y, p, fresh.p)
        kept += left
        for name, q in found.items():
            gains[name] += fresh.gain(q) / case.runs
    return case._asdict() | {f"gain_{name}": round(gain, 6) for name, gain in gains.items()} | {"identity": kept}


def coverage(case: Case, seed: int) -> dict[str, Any]:
    """Count the intervals that hold the true gain."""
    fresh, held, claimed, brought = Fresh(case.design, case.error, 100_000), 0, [], []
    method, single = ("logistic" if case.study == "logistic" else "auto"), case.study == "single"
    for y, p, reading in samples(case, seed):
        fitted = Recalibrator(method, single=single).fit(y, p, **reading)
        found = fitted.gain_
        assert found is not None
        brought.append(fresh.gain(fitted.transform(fresh.p)))
        claimed.append(found.value)
        held += found.interval[0] <= brought[-1] <= found.interval[1]
    means = {"reported": round(float(np.mean(claimed)), 6), "true": round(float(np.mean(brought)), 6)}
    return case._asdict() | means | {"covered": held}


def cases(factor: float) -> list[Case]:
    """List the cases: by default 500 calibrated and 200 miscalibrated samples of each size, and 312 for coverage."""

    def many(runs: float) -> int:
        return max(1, math.ceil(runs * factor))

    found = []
    for n in (50, 100, 300):
        for design in DESIGNS:
            found += [Case("small", design, error, n, many(125 if error == "none" else 10)) for error in ERRORS]
    found += [Case("small", design, "none", 3000, many(50)) for design in DESIGNS]
    for study, n in COVERAGE:
        found += [Case(study, design, error, n, many(12.5)) for error in ERRORS for design in DESIGNS]
    return found


COVERAGE = [("coverage", 100), ("coverage", 300), ("coverage", 1000)]
COVERAGE += [("clusters", 500), ("weights", 300), ("single", 300), ("logistic", 300)]


FIELDS = [*Case._fields, *(f"gain_{name}" for name in WAYS), "identity"]
FIELDS += ["reported", "true", "covered"]


def main(arguments: list[str] | None = None) -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/recalibration.csv"))
    parser.add_argument("--factor", type=float, default=1.0, help="so many times the default runs (default: 1)")
    parser.add_argument("--only", default="", help="one study, such as small or coverage")
    parser.add_argument("--seed", type=int, default=2611, help="random seed (default: 2611)")
    options = parser.parse_args(arguments)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for case in cases(options.factor):
            if options.only in ("", case.study):
                line = (small if case.study == "small" else coverage)(case, options.seed)
                writer.writerow(line)
                file.flush()
                print(*line.values(), sep=" | ", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
