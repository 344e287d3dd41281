"""Forecasters whose true metrics are known: what the study of coverage runs on.

Each design is a finite population of rows, with predicted and true probabilities. A sample draws rows with replacement
and, for each, an outcome. So the truth is that of the population, with no error of sampling. `TWELVE` are the designs
in which every printed interval is studied, at three sizes; `MORE` are those of floors, weights and many classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtr, ndtri

from scenarios import softmax
from unperplexed.assessment.familiar import ECE_GROUPS, expected_error, probability_groups
from unperplexed.calibration.estimators import isotonic
from unperplexed.maps.cells import NO_PRIOR, Cells, Counts, fitted_cells
from unperplexed.statistics.means import HEADLINE_ORDERS
from unperplexed.tally.tables import Pairs

Floats = NDArray[np.float64]
Make = Callable[[np.random.Generator, int], tuple[Floats, Floats]]

ORDERS = (-3.0, -1.0, 3.0)
"""Orders at which the profiles are looked at."""
CURVE = (0.1, 0.5, 0.9)
"""Quantiles of the predictions at which the measured curve is looked at."""
ALIKE, SHARED = 0.7, 0.3
"""Correlation of the predictions of a cluster, and of its outcomes given these."""
LINES = (("bias", "slope"), ("bias",))
"""Parameters of the fits whose last ones are slope and intercept."""
AVERAGES = ("decisiveness", "geometric_accuracy", "robustness")


@dataclass(frozen=True)
class Design:
    """A forecaster, the sizes of samples that are drawn of it, and how the rows depend on one another."""

    name: str
    classes: int
    make: Make
    """(random generator, rows) -> predicted and true probabilities: of the positive class, or one row a forecast."""
    sizes: tuple[int, ...] = (500, 2_000, 10_000)
    floor: float | None = None
    dependence: str = ""
    """"groups" of 1 to 39 rows that are alike, "weights" from exponential distributions, or ""."""
    clusters: int = 0
    """Number of clusters of equal size; 0 for independent rows."""
    view: str = "auto"

    @property
    def rows(self) -> int:
        """Size of the population."""
        return {2: 200_000, 3: 100_000, 10: 100_000, 100: 20_000, 1000: 2_000}[self.classes]


def curve_of(
    rng: np.random.Generator, rows: int, truth: Callable[[Floats], Floats], middle: float = 0.0, spread: float = 2.0
) -> tuple[Floats, Floats]:
    """Predicted log-odds are normal, evenly over its quantiles; the true probability is a function of them."""
    del rng
    s = middle + spread * ndtri((np.arange(rows) + 0.5) / rows)
    return expit(s), truth(s)


def scaled(s: Floats, temperature: float = 1.0) -> Floats:
    """Log-odds to be divided by a temperature."""
    return np.asarray(expit(s / temperature))


def wave(s: Floats) -> Floats:
    """A curve that goes up and down about the diagonal."""
    return np.asarray(expit(s + np.sin(2 * s)))


def steps(s: Floats) -> Floats:
    """A curve of a few levels, as isotonic regression finds it."""
    return np.array([0.02, 0.2, 0.35, 0.8, 0.9])[np.digitize(s, [-2.5, -1.0, 0.5, 2.0])]


def lapse(s: Floats, share: float = 0.1) -> Floats:
    """A share of the outcomes is drawn at random."""
    return (1 - share) * np.asarray(expit(s)) + share / 2


def odds_of(
    rng: np.random.Generator,
    rows: int,
    spread: float,
    middle: float = 0.0,
    sharpness: float = 1.0,
    lapse: float = 0.0,
    bias: float = 0.0,
) -> tuple[Floats, Floats]:
    """True log-odds are normal, reported ones so many times as large, and biased; some outcomes are drawn at random."""
    odds = rng.normal(middle, spread, rows)
    return expit(sharpness * odds + bias), (1 - lapse) * expit(odds) + lapse / 2


def flat_then_steep(rng: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
    """Between log-odds of -2 and 2 the prediction says little, beyond it is underconfident."""
    odds = rng.normal(0, 2.0, rows)
    beyond = np.sign(odds) * np.maximum(np.abs(odds) - 2, 0)
    return expit(odds), expit(0.2 * (odds - beyond) + 2.5 * beyond)


def atoms(rng: np.random.Generator, rows: int, wrong: float) -> tuple[Floats, Floats]:
    """A fifth of the rows each is predicted with exactly 0 and 1, which is wrong so often."""
    p, q = odds_of(rng, rows, 2.0)
    which = rng.random(rows)
    for value, at in ((0.0, which < 0.2), (1.0, which > 0.8)):
        p[at], q[at] = value, abs(value - wrong)
    return p, q


def network(
    rng: np.random.Generator, rows: int, classes: int, spread: float, margin: float = 0.0, sharpness: float = 1.0
) -> tuple[Floats, Floats]:
    """A softmax of normal logits, with a margin for one class of each row."""
    z = rng.normal(0, spread, (rows, classes))
    if margin:
        z[np.arange(rows), rng.integers(0, classes, rows)] += rng.normal(margin, 2.3, rows)
    return softmax(sharpness * z), softmax(z)


def binary(
    name: str,
    floors: tuple[float, ...] = (0.005,),
    sizes: tuple[int, ...] = (500, 2_000, 10_000),
    view: str = "auto",
    **how: float,
) -> Iterator[Design]:
    """Designs of two classes with normal log-odds, one a floor."""
    for floor in floors:
        yield Design(f"2 classes, {name}", 2, partial(odds_of, **how), sizes, floor, view=view)


SIZES = (200, 500, 2_000)

_HOT = partial(scaled, temperature=1.5)

TWELVE = [
    *(
        Design(name, 2, partial(curve_of, truth=truth), SIZES)
        for name, truth in (
            ("calibrated", scaled),
            ("temperature 1.5", _HOT),
            ("temperature 2", partial(scaled, temperature=2.0)),
            ("steps", steps),
            ("wave", wave),
            ("lapse", lapse),
        )
    ),
    Design("rare, 1%", 2, partial(curve_of, truth=scaled, middle=-5.1, spread=1.0), SIZES),
    *(Design(f"{g} clusters", 2, partial(curve_of, truth=_HOT), SIZES, clusters=g) for g in (12, 30, 100)),
    *(Design(f"{c} classes", c, partial(network, classes=c, spread=2.0, sharpness=1.5), SIZES) for c in (3, 10)),
]

SHARP = 5.93
"""With this standard deviation half of the log-odds lie beyond 4."""

MORE = [
    *binary("hard, calibrated", spread=1.5),
    *binary("hard, overconfident", spread=1.5, sharpness=1.5),
    *binary("hard, underconfident", spread=1.5, sharpness=0.7),
    *binary("hard, calibrated, all-classes", view="all-classes", spread=1.5),
    *binary("sharp, calibrated", (0.005, 1e-4, 0.0), spread=SHARP),
    *binary("sharp, overconfident", (0.005, 1e-4), spread=SHARP, sharpness=1.5),
    *binary("sharp, underconfident", (0.005, 1e-4, 0.0), (500, 2_000, 10_000, 50_000), spread=SHARP, sharpness=0.7),
    *binary("rare, calibrated", (0.005, 0.0), (2_000, 10_000), spread=1.5, middle=-4.0),
    *binary("rare, biased", (0.005,), (2_000, 10_000), spread=1.0, middle=-4.0, sharpness=0.7),
    *binary("lapses .005", (0.005, 0.0), spread=3.0, lapse=0.005),
    *(Design("2 classes, flat then steep", 2, flat_then_steep, floor=floor) for floor in (0.005, 0.0)),
    *(
        Design(f"2 classes, atoms, wrong {wrong:g}", 2, partial(atoms, wrong=wrong), floor=floor)
        for wrong, floor in ((0.0, 0.005), (0.0, 0.0), (0.01, 0.005))
    ),
    *(
        Design(f"10 classes, {name}", 10, partial(network, classes=10, **how), (500, 2_000))
        for name, how in (
            ("hard, calibrated", {"spread": 2.0}),
            ("hard, overconfident", {"spread": 2.0, "sharpness": 1.5}),
            ("hard, underconfident", {"spread": 2.0, "sharpness": 0.7}),
            ("easy, calibrated", {"spread": 1.0, "margin": 8.0}),
            ("easy, overconfident", {"spread": 1.0, "margin": 8.0, "sharpness": 1.5}),
            ("easy, underconfident", {"spread": 1.0, "margin": 8.0, "sharpness": 0.7}),
        )
    ),
    Design("100 classes, calibrated", 100, partial(network, classes=100, spread=3.0), (500, 2_000)),
    Design("100 classes, overconfident", 100, partial(network, classes=100, spread=3.0, sharpness=1.3), (500, 2_000)),
    Design("1000 classes, calibrated", 1000, partial(network, classes=1000, spread=4.0), (500, 2_000)),
    Design(
        "1000 classes, overconfident", 1000, partial(network, classes=1000, spread=4.0, sharpness=1.3), (500, 2_000)
    ),
    *(
        Design(f"{classes} classes, {name}, {how}", classes, make, (2_000, 10_000), dependence=how)
        for how in ("groups", "weights")
        for classes, name, make in (
            (2, "hard, calibrated", partial(odds_of, spread=1.5)),
            (2, "hard, overconfident", partial(odds_of, spread=1.5, sharpness=1.5)),
            (2, "sharp, underconfident", partial(odds_of, spread=SHARP, sharpness=0.7)),
            (10, "hard, overconfident", partial(network, classes=10, spread=2.0, sharpness=1.5)),
        )
    ),
    *(
        Design(f"2 classes, {name}, groups", 2, make, (2_000, 10_000), dependence="groups")
        for name, make in (
            ("hard, biased", partial(odds_of, spread=1.5, bias=1.5)),
            ("rare, overpredicted", partial(odds_of, spread=1.3, middle=-4.0, bias=3.3)),
        )
    ),
]


DESIGNS = [*TWELVE, *MORE]


class Population(NamedTuple):
    """Rows, sorted so that neighbours are alike."""

    p: Floats
    """(n, C): predicted probabilities."""
    q: Floats
    """(n, C): true ones."""
    reported: Floats
    """Sorted predictions of the pairs that are measured, and what the true curve, which never falls, has there."""
    measured: Floats
    truth: dict[str, float]
    """True values of the metrics."""

    @property
    def event(self) -> tuple[Floats, Floats]:
        """Predicted and true probabilities of the event: the positive of two classes, or that the top class occurs."""
        if self.p.shape[1] == 2:
            return self.p[:, 1], self.q[:, 1]
        at = np.arange(len(self.p)), self.p.argmax(axis=1)
        return self.p[at], self.q[at]


@lru_cache(maxsize=1)
def population(index: int) -> Population:
    """Return the rows of a design and the truth about them."""
    design = DESIGNS[index]
    p, q = design.make(np.random.default_rng([20261123, index]), design.rows)
    order = np.argsort(p if p.ndim == 1 else p.max(axis=1), kind="stable")
    p, q = (np.stack([1 - x, x], axis=1) if x.ndim == 1 else x for x in (p[order], q[order]))
    one = design.classes == 2 and design.view == "auto"
    reported, entry = np.unique(p[:, 1] if one else p, return_inverse=True)
    happened, total = (
        np.bincount(entry.ravel(), x).astype(np.float64) for x in ((q[:, 1] if one else q).ravel(), None)
    )
    curve = isotonic.measure(reported, happened, total).measured
    whole = Population(p, q, reported, curve, {})
    f = np.interp(p, reported, curve)
    f[:, 0] = np.where(one, 1 - f[:, 1], f[:, 0])
    floor = 0.01 / design.classes if design.floor is None else design.floor
    whole.truth.update(_averages(p, f, q, floor), **_scores(p, q), **_familiar(whole))
    return whole


def _mean(x: Floats, share: Floats, order: float) -> float:
    """Generalized mean of the values that occur."""
    with np.errstate(divide="ignore"):
        logs = np.log(x)
        return float(np.exp(share @ logs) if order == 0 else np.exp(np.log(share @ np.exp(order * logs)) / order))


def _averages(p: Floats, f: Floats, q: Floats, floor: float) -> dict[str, float]:
    """Averages of predicted and measured probabilities, raised to a floor, and what is made of them."""
    occurs = q.ravel() > 0
    share = q.ravel()[occurs] / q.sum()
    x, y = (np.maximum(each.ravel()[occurs], floor) for each in (p, f))
    (d, a, r), (e, b, s) = ([_mean(z, share, order) for order in HEADLINE_ORDERS] for z in (x, y))
    found = {f"reported_{name}": value for name, value in zip(AVERAGES, (d, a, r), strict=True)}
    found |= {f"measured_{name}": value for name, value in zip(AVERAGES, (e, b, s), strict=True)}
    for order in ORDERS:
        at = f"{order:g}"
        found[f"profile {at}"], found[f"measured profile {at}"] = (_mean(z, share, order) for z in (x, y))
        found[f"divergence profile {at}"] = math.log(found[f"profile {at}"] / found[f"measured profile {at}"])
    slope = (e - s) / (d - r)
    return found | {
        "averages_slope": slope,
        "orientation": math.degrees(math.atan2(1, slope)),
        "divergence_probability": a / b,
    }


def _scores(p: Floats, q: Floats) -> dict[str, float]:
    """Expected scores, and the expected share of rows whose top class occurs."""
    c, occurs = p.shape[1], q > 0
    right = float(q[np.arange(len(p)), p.argmax(axis=1)].mean())
    log_loss = -float((q[occurs] * np.log(p[occurs])).sum()) / len(p)
    brier = float((p**2).sum(axis=1).mean() - 2 * (q * p).sum(axis=1).mean() + 1)
    return {
        "log_loss": log_loss,
        "brier_score": brier,
        "spherical_score": float(((q * p).sum(axis=1) / np.linalg.norm(p, axis=1)).mean()),
        "penalized_brier_score": brier + (c - 1) / c * (1 - right),
        "penalized_log_loss": log_loss + math.log(c) * (1 - right),
        "prediction_accuracy": right,
    }


def _familiar(whole: Population) -> dict[str, float]:
    """The line that comes closest to the truth (Kullback and Leibler), and the other familiar metrics."""
    x, q = whole.event
    order = np.argsort(x, kind="stable")
    x, q = x[order], q[order]
    inner = (x > 0) & (x < 1)
    s, n = np.log(x[inner]) - np.log1p(-x[inner]), 1e6 / len(x)
    counts = Counts(s, np.full(s.size, n), n * q[inner])
    slope, intercept = (float(fitted_cells(Cells(counts, names), NO_PRIOR).theta[-1]) for names in LINES)
    groups = probability_groups(Pairs(x, q, np.ones_like(x)), ECE_GROUPS)
    found = {"slope": 1 + slope, "intercept": intercept, "ece": expected_error(groups)}
    found["temperature"] = _temperature(whole.p, whole.q)
    found["class gap"] = float((whole.p[:, 1] - whole.q[:, 1]).mean())
    if whole.p.shape[1] == 2:
        below = np.cumsum(1 - q) - (1 - q) / 2
        found["auc"] = float(q @ below / (q.sum() * (1 - q).sum()))
        found["bias"] = found["class gap"]
    return found


def _temperature(p: Floats, q: Floats) -> float:
    """The temperature alone that comes closest to the truth."""
    z = np.log(np.maximum(p, 1e-12))

    def loss(power: float) -> float:
        highest = power * z.max(axis=1)
        return float(
            np.mean(np.log(np.exp(power * z - highest[:, None]).sum(axis=1)) + highest - power * (q * z).sum(1))
        )

    return 1 / float(minimize_scalar(loss, bounds=(0.05, 5), method="bounded").x)


def sample(index: int, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats, dict[str, Any]]:
    """Draw rows and their outcomes; also the labels, clusters and weights to read them with."""
    design = DESIGNS[index]
    p, q, *_ = population(index)
    at, level, group = rng.integers(0, len(p), n), rng.random(n), None
    if design.clusters:
        group = np.arange(n) % design.clusters
        alike, level = (
            ndtr(math.sqrt(r) * rng.normal(size=design.clusters)[group] + math.sqrt(1 - r) * rng.normal(size=n))
            for r in (ALIKE, SHARED)
        )
        at = np.minimum((alike * len(p)).astype(np.int64), len(p) - 1)
    if design.dependence == "groups":
        group = np.repeat(np.arange(n), rng.integers(1, 40, n))[:n]
        at = at[group] + rng.integers(-len(p) // 20, len(p) // 20, n)
        at = np.where(at < 0, -1 - at, np.minimum(at, 2 * len(p) - 1 - at))  # as likely to be any row as before
        level = level[group]
    weights = rng.exponential(size=n) if design.dependence == "weights" else None
    up_to = np.cumsum(q[at], axis=1)
    y = np.minimum((up_to <= (level * up_to[:, -1])[:, None]).sum(axis=1), design.classes - 1)
    x = p[at, 1] if design.classes == 2 else p[at]
    return y, x, {"labels": range(design.classes), "clusters": group, "sample_weight": weights}
