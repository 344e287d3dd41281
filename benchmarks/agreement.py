"""Agreement with independent implementations on all shared data sets: the largest difference of each figure.

    UNPERPLEXED_DATA=FOLDER python benchmarks/agreement.py

A table in Markdown; a minute on one core. Needs scikit-learn, SciPy, torchmetrics and scoringrules; relplot, netcal and
model-diagnostics are compared where they are installed. Sets where a score is infinite are left out of it: peers clip.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scoringrules
import torch
from scipy import stats
from sklearn import metrics
from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

from unperplexed import Tally, expected_calibration_error, scores, smooth_calibration_error
from unperplexed.assessment.familiar import familiar_metrics
from unperplexed.calibration.errors import decompose
from unperplexed.statistics import generalized_mean
from unperplexed.theory import cross_entropy, divergence, entropy

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from real_data import SETS

Figure = tuple[str, str, float, float]
"""Name, package, ours, theirs."""


def scored(y: np.ndarray, p: np.ndarray) -> Iterator[Figure]:
    """Scores, averages and entropies; `p` has a column for each class."""
    rows, classes = np.arange(y.size), p.shape[1]
    correct = p[rows, y]
    labels, hot = list(range(classes)), np.eye(classes)[y]
    if correct.min() > 0:
        ours = scores.log_loss(y, p, labels=labels)
        yield "log loss", "scikit-learn", ours, metrics.log_loss(y, p / p.sum(axis=1, keepdims=True), labels=labels)
        yield "log loss", "SciPy", ours, -np.log(stats.gmean(correct))
        for r in (1, -2 / 3):
            yield "generalized mean", "SciPy", generalized_mean(correct, r), stats.pmean(correct, r)
    brier = scores.brier_score(y, p, labels=labels)
    yield "Brier score", "scikit-learn", brier, metrics.brier_score_loss(y, p, labels=labels, scale_by_half=False)
    yield "Brier score", "scoringrules", brier, float(scoringrules.brier_score(hot, p).sum(axis=1).mean())
    ranked = scores.ranked_probability_score(y, p, labels=labels)
    yield "ranked probability score", "scoringrules", ranked, float(scoringrules.rps_score(y + 1, p).mean())
    some, other = p[:500], np.roll(p[:500], 1, axis=0)
    yield "entropy", "SciPy", float(entropy(some).mean()), float(stats.entropy(some, axis=1).mean())
    apart = divergence(some, other)
    if np.isfinite(apart).all():
        yield "divergence", "SciPy", float(apart.mean()), float(stats.entropy(some, other, axis=1).mean())
        both = stats.entropy(some, axis=1) + stats.entropy(some, other, axis=1)
        yield "cross-entropy", "SciPy", float(cross_entropy(some, other).mean()), float(both.mean())


def calibrated(y: np.ndarray, p: np.ndarray) -> Iterator[Figure]:
    """Calibration errors: of one column, or of the top class."""
    binary = p.ndim == 1
    ece = expected_calibration_error(y, p, view=None if binary else "top-label")
    target = torch.from_numpy(y.astype(np.int64))
    function = binary_calibration_error if binary else multiclass_calibration_error
    more = {} if binary else {"num_classes": p.shape[1]}
    found = function(torch.from_numpy(p.astype(np.float64)), target, n_bins=15, **more)
    yield "ECE, 15 bins", "torchmetrics", ece, float(found)
    top, hit = (p, y) if binary else (p.max(axis=1), (p.argmax(axis=1) == y).astype(int))
    if find_spec("netcal"):
        from netcal.metrics import ECE

        yield "ECE, 15 bins", "netcal", ece, float(ECE(15).measure(top.astype(np.float64), hit))
    if find_spec("relplot"):
        from relplot import smECE

        ours = smooth_calibration_error(hit, top)
        yield "smooth calibration error", "relplot", ours, float(smECE(top.astype(np.float64), hit.astype(float)))
    if find_spec("model_diagnostics"):
        from model_diagnostics.scoring import SquaredError
        from model_diagnostics.scoring import decompose as parts

        theirs = parts(hit.astype(float), top.astype(np.float64), scoring_function=SquaredError())
        for name in ("miscalibration", "discrimination", "uncertainty"):
            mine = getattr(decompose(hit, top), name)
            yield f"Brier score, {name}", "model-diagnostics", mine, 2 * float(theirs[name][0])
    if binary and 0 < y.mean() < 1:
        auc = familiar_metrics(Tally.of(y, p)).auc
        assert auc is not None
        yield "area under the ROC curve", "scikit-learn", auc.value, float(metrics.roc_auc_score(y, p))


def figures_of(name: str) -> Iterator[Figure]:
    """All figures of a data set."""
    y, p = SETS[name]()
    y = (y.argmax(axis=1) if y.ndim == 2 else y).astype(int)
    if p.ndim == 2:
        p = p.astype(np.float64)
        p /= p.sum(axis=1, keepdims=True)
    wide = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    yield from scored(y, wide.astype(np.float64))
    yield from calibrated(y, p)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    worst: dict[tuple[str, str], list[Any]] = {}
    for name in SETS:
        for figure, package, ours, theirs in figures_of(name):
            entry = worst.setdefault((figure, package), [0.0, "", 0])
            entry[2] += 1
            if abs(ours - theirs) >= entry[0]:
                entry[:2] = [abs(ours - theirs), name]
    packages = ["scikit-learn", "scipy", "torchmetrics", "scoringrules", "relplot", "netcal", "model-diagnostics"]
    modules = {"scikit-learn": "sklearn", "model-diagnostics": "model_diagnostics"}
    print(", ".join(f"{each} {version(each)}" for each in packages if find_spec(modules.get(each, each))))
    print("\n| figure | package | largest difference | data set | sets |\n|---|---|---|---|---|")
    for (figure, package), (difference, name, number) in worst.items():
        print(f"| {figure} | {package} | {difference:.0e} | {name} | {number} |")


if __name__ == "__main__":
    main()
