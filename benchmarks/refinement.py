"""Does it help to stop networks by refinement instead of log loss, where a temperature is fitted afterwards?

Networks, sets, seeds and splits are those of training.py. Each network is trained with log loss. After each epoch the
validation rows are scored by log loss and by `refinement_loss`. At the best epoch of each a temperature is fitted to
the validation rows, and the test rows are scored by the log loss after it. Differences, refinement minus log loss, are
paired by seed: negative ones favour refinement. The standard error of a set's mean allows for seeds that split the
same rows (Nadeau and Bengio 2003). The last whole run is results/refinement.csv.

    python benchmarks/refinement.py
    python benchmarks/refinement.py --seeds 5 --epochs 50 --sets digits --csv few.csv
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from training import MODELS, PATIENCE, SETS, Data, epochs_of, load
from unperplexed import Recalibrator, refinement_loss
from unperplexed.scores import log_loss

Values = NDArray[np.float64]
CRITERIA: dict[str, Callable[..., float]] = {"log loss": log_loss, "refinement": refinement_loss}
WAYS = {"best of all": math.inf, f"patience {PATIENCE}": PATIENCE}


def probabilities(logits: torch.Tensor) -> Values:
    """Give the probabilities of each seed's rows."""
    return np.asarray(logits.double().softmax(dim=2).numpy())


def best_epochs(scores: Values, patience: float) -> NDArray[np.int64]:
    """Return the best epoch of each seed, the first of equals; by patience until there was none better for so long."""
    best = np.zeros(scores.shape[1], dtype=np.int64)
    for epoch, values in enumerate(scores):
        better = (values < scores[best, np.arange(values.size)]) & (epoch - best <= patience)
        best[better] = epoch
    return best


def after_temperature(data: Data, seed: int, valid: Values, test: Values) -> tuple[float, float]:
    """Fit a temperature to validation rows; return the log loss of the test rows after it, and their accuracy."""
    labels, y, new = range(data.classes), data.valid[1][seed].numpy(), data.test[1][seed].numpy()
    q = Recalibrator("temperature").fit(y, valid, labels=labels).transform(test)
    return log_loss(new, q, labels=labels), float((q.argmax(axis=1) == new).mean())


def study(name: str, model: str, seeds: int, epochs: int) -> list[dict[str, Any]]:
    """Give a line of the result for each way to stop."""
    torch.set_num_threads(1)
    data = load(name, seeds)
    labels = range(data.classes)
    kept = [
        (probabilities(valid), probabilities(test)) for valid, test in epochs_of(data, model, cross_entropy, epochs)
    ]
    scores = {
        by: np.array([[score(data.valid[1][k].numpy(), p[k], labels=labels) for k in range(seeds)] for p, _ in kept])
        for by, score in CRITERIA.items()
    }
    lines = []
    for way, patience in WAYS.items():
        epoch = {by: best_epochs(each, patience) for by, each in scores.items()}
        found = {
            by: np.array([after_temperature(data, k, *(p[k] for p in kept[at])) for k, at in enumerate(each)])
            for by, each in epoch.items()
        }
        loss, accuracy = (found["refinement"] - found["log loss"]).T
        lines.append(
            {
                "set": name,
                "model": model,
                "way": way,
                "seeds": seeds,
                **{f"epoch_{by.replace(' ', '_')}": float(np.median(each)) + 1 for by, each in epoch.items()},
                "log_loss": round(float(found["log loss"][:, 0].mean()), 5),
                "difference": round(float(loss.mean()), 5),
                "standard_error": round(math.sqrt(loss.var(ddof=1) * (1 / seeds + data.overlap)), 5),
                "accuracy_difference": round(float(accuracy.mean()), 5),
                "same_epoch": int(np.count_nonzero(epoch["refinement"] == epoch["log loss"])),
            }
        )
    return lines


def main() -> None:
    """Train, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--models", nargs="+", default=["network"], choices=list(MODELS))
    parser.add_argument("--csv", type=Path, default=Path("benchmarks/results/refinement.csv"))
    options = parser.parse_args()
    with options.csv.open("w", newline="") as file:
        writer = None
        for name in options.sets:
            for model in options.models:
                for line in study(name, model, options.seeds, options.epochs):
                    if writer is None:
                        writer = csv.DictWriter(file, list(line), lineterminator="\n")
                        writer.writeheader()
                    writer.writerow(line)
                    file.flush()
                    print(*line.values(), sep=" | ", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
