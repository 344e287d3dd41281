"""Gain and harm of recalibrating two classes from few rows, and coverage of the reported gain, on simulated forecasts.

    python benchmarks/recalibration.py [--only STUDY] [--factor F] [--seed S] [--out FILE.csv]

Each run draws predicted log-odds and, from the map of a known error, outcomes; fits recalibration maps; and takes their
expected log loss on fresh forecasts (5,000; for coverage 100,000), whose true probabilities are known. The study
"small" averages the gain over the unchanged forecasts (negative: harm) and counts how often the identity has most of
the weight. The study "coverage" counts how often the reported 95% interval holds the true gain of the default average
of maps fitted to independent rows. Those of its kind are "clusters" (of five rows with one prediction and dependent
outcomes), "weights" (log-normal, so that n rows are worth about 0.37 n), "single" (one map chosen) and "logistic" (one
map by name). The studies "halves" and "halves in clusters" also count in how many samples the test rejects calibration;
the gain is significant then; maps fitted to half of the rows improve the other half in each of six splits; they do and
the interval still holds 0; and the true gain is below 0 although the test rejects. The seed differs from those by which
weights, folds and interval were chosen. The last whole run is results/recalibration.csv.
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
from scipy.special import expit, ndtr, softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from unperplexed import Recalibrator, Tally, diagnose
from unperplexed.maps.families import MapOfTwo
from unperplexed.maps.parameters import TWO_CLASSES
from unperplexed.maps.two import BinaryMap
from unperplexed.recalibration.averaging import Average, average
from unperplexed.recalibration.binary_rows import BinaryRows, rows_of_tally
from unperplexed.recalibration.fitting import BINARY_METHODS
from unperplexed.scores import log_loss

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

MILD_ERRORS = {"bias of 3 points": {"bias": 0.135}, "bias of 7 points": {"bias": 0.32}, "slope 0.82": {"slope": -0.18}}
"""Those whose gain is in doubt; the points are of the narrow design."""

THREE_CLASSES = "three classes"
"""Design of standard normal scores; a bias raises the last class and lowers the first."""


class Case(NamedTuple):
    """One line of the result."""

    study: str
    design: str
    error: str
    n: int
    runs: int


def truth(s: Values, error: str) -> Values:
    """Return true probabilities."""
    coefficients = dict((ERRORS | MILD_ERRORS)[error])
    if s.ndim == 2:
        shifts = coefficients.get("bias", 0.0) * np.array([-1, 0, 1])
        return np.asarray(softmax((1 + coefficients.get("slope", 0.0)) * s + shifts, axis=1))
    lapse = coefficients.pop("lapse", 0.0)
    return np.asarray(BinaryMap("", coefficients, lapse).probabilities(s)[:, 1])


def loss(q: Values, true: Values) -> float:
    """Return the expected log loss of probabilities."""
    if q.ndim == 2:
        return -float((true * np.log(q)).sum(axis=1).mean())
    return -float((true * np.log(q) + (1 - true) * np.log1p(-q)).mean())


def predicted(design: str, rng: np.random.Generator, n: int) -> Values:
    """Draw predicted log-odds, or scores of the classes."""
    return rng.normal(size=(n, 3)) if design == THREE_CLASSES else DESIGNS[design](rng, n)


def probabilities(s: Values) -> Values:
    """Return the probabilities of log-odds, or of scores."""
    return np.asarray(expit(s) if s.ndim == 1 else softmax(s, axis=1))


def drawn(true: Values, rng: np.random.Generator) -> NDArray[Any]:
    """Draw outcomes."""
    u = rng.random(len(true))
    return u < true if true.ndim == 1 else (true.cumsum(axis=1) > u[:, None]).argmax(axis=1)


class Fresh:
    """Forecasts to judge by."""

    def __init__(self, design: str, error: str, n: int) -> None:
        s = predicted(design, np.random.default_rng(999), n)
        self.p, self.true = probabilities(s), truth(s, error)
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
        if "clusters" in case.study:
            yield cluster_sample(case, rng)
            continue
        s = predicted(case.design, rng, case.n)
        y = drawn(truth(s, case.error), rng)
        yield y, probabilities(s), {"sample_weight": rng.lognormal(0, 1, case.n)} if case.study == "weights" else {}


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
    fitted = rows.fits(names)[1:]
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


def halves(case: Case, seed: int) -> dict[str, Any]:
    """Count also the gains that are significant, and those that every random half shows."""
    fresh, rng = Fresh(case.design, case.error, 30_000), np.random.default_rng(seed)
    counts = dict.fromkeys(("covered", "rejected", "significant", "every_half", "lost", "harmful"), 0)
    for y, p, reading in samples(case, seed):
        made = Recalibrator().fit(y, p, **reading)
        assert made.gain_ is not None
        true, rejected = fresh.gain(made.transform(fresh.p)), diagnose(y, p, **reading).p_value < 0.05
        counts["covered"] += made.gain_.interval[0] <= true <= made.gain_.interval[1]
        if rejected:
            every = all(half_gains(y, p, reading.get("clusters", np.arange(len(y))), rng) for _ in range(SPLITS))
            counts["rejected"] += 1
            counts["significant"] += made.gain_.significant
            counts["every_half"] += every
            counts["lost"] += every and not made.gain_.significant
            counts["harmful"] += true < 0
    return case._asdict() | counts


SPLITS = 6


def half_gains(y: NDArray[Any], p: Values, clusters: NDArray[Any], rng: np.random.Generator) -> bool:
    """Say whether maps fitted to a random half of the clusters improve the other half."""
    fit = rng.permutation(clusters.max() + 1)[clusters] % 2 == 0
    made = Recalibrator().fit(y[fit], p[fit], clusters=clusters[fit])
    return log_loss(y[~fit], made.transform(p[~fit])) < log_loss(y[~fit], p[~fit])


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
    return found + [Case(*each, many(100)) for each in HALVES]


COVERAGE = [("coverage", 100), ("coverage", 300), ("coverage", 1000)]
COVERAGE += [("clusters", 500), ("weights", 300), ("single", 300), ("logistic", 300)]
HALVES = [("halves", "narrow", "bias of 3 points", n) for n in (1000, 5000)]
HALVES += [("halves", "narrow", "bias of 7 points", n) for n in (200, 1000)]
HALVES += [("halves", "usual", "slope 0.82", 1000), ("halves", "rare", "bias", 1000)]
HALVES += [("halves in clusters", "usual", "slope 0.82", 1000)]
HALVES += [("halves", THREE_CLASSES, error, 1000) for error in ("bias of 7 points", "slope 0.82")]


FIELDS = [*Case._fields, *(f"gain_{name}" for name in WAYS), "identity"]
FIELDS += ["reported", "true", "covered", "rejected", "significant", "every_half", "lost", "harmful"]


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
                study = halves if case.study.startswith("halves") else small if case.study == "small" else coverage
                line = study(case, options.seed)
                writer.writerow(line)
                file.flush()
                print(*line.values(), sep=" | ", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
