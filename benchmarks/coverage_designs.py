"""Forecasters whose true figures are known: what the study of coverage runs on.

Each design is a finite population of rows, with reported and true probabilities. A sample draws rows with replacement
and, for each, an outcome. So the truth is that of the population, with no error of sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from scenarios import softmax
from unperplexed import Forecasts, Tally, assess
from unperplexed.statistics.means import ROBUST

Floats = NDArray[np.float64]
Make = Callable[[np.random.Generator, int], tuple[Floats, Floats]]

MEASURED = ("measured_decisiveness", "measured_geometric_accuracy", "measured_robustness")
CURVE = (0.1, 0.3, 0.7, 0.9)
"""Where the interval of the measured curve is looked at."""


@dataclass(frozen=True)
class Design:
    """A forecaster, the sizes of samples that are drawn of it, and how the rows depend on one another."""

    name: str
    classes: int
    make: Make
    """(random generator, rows) -> reported and true probabilities: of the positive class, or one row a forecast."""
    sizes: tuple[int, ...] = (500, 2_000, 10_000)
    floor: float | None = None
    dependence: str = ""
    """"groups" of 1 to 39 rows that are alike, "weights" from exponential distributions, or ""."""

    @property
    def rows(self) -> int:
        """Size of the population."""
        return {2: 200_000, 10: 100_000, 100: 20_000, 1000: 2_000}[self.classes]


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
    name: str, floors: tuple[float, ...] = (0.005,), sizes: tuple[int, ...] = (500, 2_000, 10_000), **how: float
) -> Iterator[Design]:
    """Designs of two classes with normal log-odds, one a floor."""
    for floor in floors:
        yield Design(f"2 classes, {name}", 2, partial(odds_of, **how), sizes, floor)


SHARP = 5.93
"""With this standard deviation half of the log-odds lie beyond 4."""

DESIGNS = [
    *binary("hard, calibrated", spread=1.5),
    *binary("hard, overconfident", spread=1.5, sharpness=1.5),
    *binary("hard, underconfident", spread=1.5, sharpness=0.7),
    *binary("hard, calibrated, all-classes", spread=1.5),
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


@lru_cache(maxsize=2)
def population(index: int) -> tuple[Floats, Floats, dict[str, float], Floats]:
    """Rows of a design, sorted so that neighbours are alike, its true figures, and the true curve."""
    design = DESIGNS[index]
    p, q = design.make(np.random.default_rng([20261123, index]), design.rows)
    order = np.argsort(p if p.ndim == 1 else p.max(axis=1), kind="stable")
    p, q = p[order], q[order]
    return (p, q, *(_truth_of_two if p.ndim == 1 else _truth_of_many)(p, q, design.floor))


def _truth_of_two(p: Floats, q: Floats, floor: float | None) -> tuple[dict[str, float], Floats]:
    """True figures of the positive class and its mirror image; the true curve never falls."""
    _, entry = np.unique(p, return_inverse=True)
    f = (np.bincount(entry, q) / np.bincount(entry))[entry]
    weight = np.concatenate([q, 1 - q])
    floor = 0.005 if floor is None else floor
    means = []
    for x in (p, f):
        both = np.maximum(np.concatenate([x, 1 - x]), floor)
        both = np.where(weight > 0, both, 1.0)
        share = weight / weight.sum()
        with np.errstate(divide="ignore"):
            means.append([share @ both, np.exp(share @ np.log(both)), (share @ both**ROBUST) ** (1 / ROBUST)])
    (d, a, r), (md, ma, mr) = means
    figures = dict(zip(MEASURED, (md, ma, mr), strict=True))
    return figures | {"slope": (md - mr) / (d - r), "divergence_probability": a / ma}, np.interp(CURVE, p, f)


def _truth_of_many(p: Floats, q: Floats, floor: float | None) -> tuple[dict[str, float], Floats]:
    """True figures of all classes together: every class of each row occurs with its true weight."""
    labels = range(p.shape[1])

    def outcomes() -> Iterator[Forecasts]:
        for label in labels:
            for at in np.array_split(np.arange(len(p)), max(p.size // 2_000_000, 1)):
                w = q[at, label]
                yield Forecasts(np.full(at.size, label), p[at], sample_weight=w, labels=labels, whole=False)

    if p.shape[1] <= 10:
        truth = assess(Tally.count(outcomes()), measured="isotonic", resamples=0)
        return truth.metrics(), np.interp(CURVE, truth.curve.reported, truth.curve.measured)
    flat, weight = p.reshape(-1), q.reshape(-1)  # in cells of relative width 2**-9
    code = np.round(np.log2(np.maximum(flat, 1e-300) / (1 - np.minimum(flat, 1 - 1e-16))) * 512).astype(np.int64)
    _, entry = np.unique(code, return_inverse=True)
    n, h, s = np.bincount(entry), np.bincount(entry, weight), np.bincount(entry, flat)
    from unperplexed.calibration.estimators import isotonic

    f = np.maximum(isotonic.measure(s / n, h, n.astype(float)).measured, 0.01 / p.shape[1])
    share, w = h / h.sum(), weight / weight.sum()
    c = np.maximum(flat, 0.01 / p.shape[1])
    d, a, r = w @ c, np.exp(w @ np.log(c)), (w @ c**ROBUST) ** (1 / ROBUST)
    md, ma, mr = share @ f, np.exp(share @ np.log(f)), (share @ f**ROBUST) ** (1 / ROBUST)
    figures = dict(zip(MEASURED, (md, ma, mr), strict=True))
    return figures | {"slope": (md - mr) / (d - r), "divergence_probability": a / ma}, np.interp(CURVE, s / n, f)


def sample(index: int, n: int, rng: np.random.Generator) -> Tally:
    """Draw rows and their outcomes, and count them."""
    design = DESIGNS[index]
    p, q, *_ = population(index)
    at, level, group = rng.integers(0, len(p), n), rng.random(n), None
    if design.dependence == "groups":
        group = np.repeat(np.arange(n), rng.integers(1, 40, n))[:n]
        at = at[group] + rng.integers(-len(p) // 20, len(p) // 20, n)
        at = np.where(at < 0, -1 - at, np.minimum(at, 2 * len(p) - 1 - at))  # as likely to be any row as before
        level = level[group]
    weights = rng.exponential(size=n) if design.dependence == "weights" else None
    if q.ndim == 1:
        y = (level < q[at]).astype(int)
    else:
        up_to = np.cumsum(q[at], axis=1)
        y = np.minimum((up_to <= (level * up_to[:, -1])[:, None]).sum(axis=1), q.shape[1] - 1)
    parts = (["classes"] if q.ndim == 1 else []) + (["shards"] if design.dependence else [])
    return Tally.of(y, p[at], labels=range(design.classes), parts=parts, clusters=group, sample_weight=weights)
