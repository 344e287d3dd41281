"""Held-out log loss of recalibration maps on the logged forecasts of four neural networks.

    python -P benchmarks/recalibration_networks.py [--splits N] [--seed S] [--network NAME ...] [--out FILE.csv]

Each split draws half of the 10,000 test rows at random, fits all maps to them, and scores the other half. A line of the
result is the mean log loss of one map over the splits, in nats a row (smaller is better), and the mean time of its fit.
"auto" is `Recalibrator()`, whose fit includes all other maps and five folds. Beside our maps are those of scikit-learn
(`CalibratedClassifierCV` of a frozen classifier) and, where they are installed, temperature scaling of netcal and
three maps of probmetrics. The data are in the folder that UNPERPLEXED_DATA names. The last run is
results/recalibration_networks.csv.

Python's option -P keeps coverage.py of this folder from hiding the package of that name, which numba looks for.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from unperplexed import Recalibrator
from unperplexed.maps.class_families import fitted_classes
from unperplexed.maps.parameters import MANY_CLASSES

NETWORKS = {
    "wideresnet-16-4-cifar-10": ("netcal_cifar/wideresnet-16-4-cifar-10.npz", "predictions", "ground_truth"),
    "vgg16-cifar-10": ("vgg16_cifar10/vgg16_cifar10.npz", "probs", "labels"),
    "lenet-5-cifar-100": ("netcal_cifar/lenet-5-cifar-100.npz", "predictions", "ground_truth"),
    "densenet-bc-100-cifar-100": ("netcal_cifar/densenet-bc-100-cifar-100.npz", "predictions", "ground_truth"),
}
FOREIGN_FLOOR = 1e-12
"""Zeros are raised to it for the maps of other packages, before and after."""

PROBMETRICS = ("SVSCalibrator", "SMSCalibrator", "TemperatureScalingCalibrator")
MOST_CLASSES_OF_MATRIX = 30


class Split(NamedTuple):
    """Rows to fit to, and rows to score."""

    p: Any
    truth: Any
    p_new: Any
    truth_new: Any


class Logged(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose features are its probabilities."""

    def __init__(self, n_classes: int = 2) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: Any, y: Any) -> Logged:
        """Do nothing: all is fitted."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Say that it is fitted."""
        return True

    def predict_proba(self, X: Any) -> Any:
        """Give the probabilities."""
        return X

    def predict(self, X: Any) -> Any:
        """Give the class of the largest probability."""
        return X.argmax(axis=1)

    def decision_function(self, X: Any) -> Any:
        """Give log-probabilities, as scikit-learn's temperature scaling takes them."""
        return np.log(X)


def splits_of(name: str, n: int, seed: int) -> Iterator[Split]:
    """Draw halves."""
    path, prob, truth = NETWORKS[name]
    with np.load(Path(os.environ["UNPERPLEXED_DATA"]) / path) as archive:
        p, y = archive[prob].astype(float), archive[truth]
    p /= p.sum(axis=1, keepdims=True)
    for at in range(n):
        order = np.random.default_rng(seed + at).permutation(len(y))
        half = len(y) // 2
        yield Split(p[order[:half]], y[order[:half]], p[order[half:]], y[order[half:]])


def raised(p: Any) -> Any:
    """Raise zeros."""
    p = np.maximum(p, FOREIGN_FLOOR)
    return p / p.sum(axis=1, keepdims=True)


def foreign(n_classes: int) -> dict[str, Callable[[Split], Any]]:
    """Maps of other packages, those that are there."""
    found: dict[str, Callable[[Split], Any]] = {}

    def of_sklearn(method: str) -> Callable[[Split], Any]:
        def run(split: Split) -> Any:
            model = CalibratedClassifierCV(FrozenEstimator(Logged(n_classes)), method=method)
            return model.fit(raised(split.p), split.truth).predict_proba(raised(split.p_new))

        return run

    def of_class(made: Callable[[], Any], apply: str) -> Callable[[Split], Any]:
        def run(split: Split) -> Any:
            model = made()
            model.fit(raised(split.p), split.truth)
            return getattr(model, apply)(raised(split.p_new))

        return run

    for method in ("temperature", "sigmoid", "isotonic"):
        found[f"scikit-learn {method}"] = of_sklearn(method)
    for package, module, names, apply in (
        ("netcal", "netcal.scaling", ("TemperatureScaling",), "transform"),
        ("probmetrics", "probmetrics.calibrators", PROBMETRICS, "predict_proba"),
    ):
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            print(f"{package} is not installed: left out", file=sys.stderr)
            continue
        for name in names:
            if name != "SMSCalibrator" or n_classes <= MOST_CLASSES_OF_MATRIX:
                found[f"{package} {name}"] = of_class(getattr(loaded, name), apply)
    return found


def log_loss(q: Any, truth: Any) -> float:
    """Score rows."""
    return float(-np.log(q[np.arange(truth.size), truth]).mean())


def losses(split: Split) -> Iterator[tuple[str, float, float]]:
    """Fit all maps to one half; yield name, log loss on the other, and seconds."""
    with np.errstate(divide="ignore"):
        log_p, log_new = np.log(split.p), np.log(split.p_new)
    started = time.process_time()
    maps = fitted_classes(MANY_CLASSES, log_p, split.truth)
    seconds = time.process_time() - started
    for name, fitted in maps.items():
        yield name, log_loss(fitted.probabilities(log_new), split.truth_new), seconds / len(maps)
    started = time.process_time()
    auto = Recalibrator().fit(split.truth, split.p)
    seconds = time.process_time() - started
    yield "auto", log_loss(auto.transform(split.p_new), split.truth_new), seconds
    for name, run in foreign(split.p.shape[1]).items():
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            q = raised(np.asarray(run(split), dtype=float))
        yield name, log_loss(q, split.truth_new), time.process_time() - started


def main() -> None:
    """Run the networks asked for; write a line for each map."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10, help="number of random halves (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the first split (default: 0)")
    parser.add_argument("--network", nargs="*", default=list(NETWORKS), choices=list(NETWORKS), help="which networks")
    parser.add_argument("--out", type=Path, help="file of the results (default: standard output)")
    arguments = parser.parse_args()
    with arguments.out.open("w") if arguments.out else sys.stdout as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(["network", "map", "splits", "log_loss", "seconds"])
        for network in arguments.network:
            found: dict[str, list[tuple[float, float]]] = {}
            for split in splits_of(network, arguments.splits, arguments.seed):
                for name, loss, seconds in losses(split):
                    found.setdefault(name, []).append((loss, seconds))
            for name, values in found.items():
                loss, seconds = np.mean(values, axis=0)
                out.writerow([network, name, len(values), f"{loss:.4f}", f"{seconds:.2f}"])
            stream.flush()


if __name__ == "__main__":
    main()
