"""Are networks that are trained with the Brier score overconfident, more than those trained with log loss?

Sets, models, splits and seeds are those of training.py. Each network is stopped at the best epoch by its own loss. The
test rows of all seeds then have one calibration slope, the factor on the log-probabilities with the smallest log loss,
fitted together with a bias for each class: below 1 the networks are overconfident. Intervals of the slopes, and of
their ratio, are 95% and from a jackknife over seeds, on the log scale; they allow for seeds that split the same rows
(Nadeau and Bengio 2003). Prints a table in Markdown; the last whole run is results/brier_trained.csv.

    python benchmarks/brier_trained.py
    python benchmarks/brier_trained.py --seeds 5 --epochs 20 --sets iris --csv few.csv
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training import LOSSES, MODELS, SETS, Best, epochs_of, interval, load

Values = NDArray[np.float64]
RIVALS = ("log loss", "Brier score")


def log_slopes(logits: Values, y: NDArray[np.int64]) -> Values:
    """Return jackknife pseudo-values of the log of the calibration slope, one a seed; logits (seed, row, class)."""
    classes = logits.shape[2]
    x = np.zeros((*logits.shape, classes))  # of each class: its logit, and the biases of all classes but the first
    x[..., 0] = logits - logits.mean(axis=2, keepdims=True)
    x[..., 1:] = np.eye(classes)[:, 1:]
    observed = np.eye(classes)[y]

    def loss(at: Values) -> float:
        z = x @ at
        return float((np.logaddexp.reduce(z, axis=2) - (z * observed).sum(axis=2)).sum())

    def derivatives(at: Values) -> tuple[Values, Values]:
        z = x @ at
        q = np.exp(z - np.logaddexp.reduce(z, axis=2)[..., None])
        mean = np.einsum("src,srcp->srp", q, x)
        gradient = mean.sum(axis=1) - np.einsum("src,srcp->sp", observed, x)
        return gradient, np.einsum("src,srcp,srcq->spq", q, x, x) - np.einsum("srp,srq->spq", mean, mean)

    at = np.eye(classes)[0]
    for _ in range(100):
        gradient, hessian = derivatives(at)
        step = np.linalg.solve(hessian.sum(axis=0), gradient.sum(axis=0))
        while loss(at - step) > loss(at) + 1e-9:
            step /= 2
        at = at - step
        if np.abs(step).max() < 1e-10:
            break
    gradient, hessian = derivatives(at)
    without = at + np.linalg.solve(hessian.sum(axis=0) - hessian, gradient[..., None])[..., 0]  # a Newton step
    n = len(y)
    return np.asarray(n * math.log(at[0]) - (n - 1) * np.log(without[:, 0]))


def study(name: str, model: str, seeds: int, epochs: int) -> dict[str, Any]:
    """Train with both losses, and give a line of the result."""
    torch.set_num_threads(1)
    data = load(name, seeds)
    y = data.test[1].numpy()
    slopes, losses = {}, {}
    for loss in RIVALS:
        best = Best.of(data, LOSSES[loss], math.inf)
        for epoch, (valid, test) in enumerate(epochs_of(data, model, LOSSES[loss], epochs), 1):
            best.see(epoch, valid, data.valid[1], test)
        log_p = best.test.double().log_softmax(dim=2).numpy()
        slopes[loss] = log_slopes(log_p, y)
        losses[loss] = -np.take_along_axis(log_p, y[..., None], axis=2).mean(axis=(1, 2))
    line: dict[str, Any] = {"set": name, "model": model, "seeds": seeds}
    for label, each in (*slopes.items(), ("ratio", slopes["Brier score"] - slopes["log loss"])):
        ends = np.exp(interval(each, data.overlap))
        line |= {f"{label}{end}": round(float(x), 4) for end, x in zip(("", " low", " high"), ends, strict=True)}
    difference = interval(losses["Brier score"] - losses["log loss"], data.overlap)
    return line | {
        f"loss difference{end}": round(x, 5) for end, x in zip(("", " low", " high"), difference, strict=True)
    }


def row(line: dict[str, Any]) -> str:
    """Lay out a line of the table."""
    cells = [line["set"].replace(" %", "%"), line["model"]]
    for label, digits in (("log loss", 2), ("Brier score", 2), ("ratio", 2), ("loss difference", 3)):
        value, low, high = (f"{line[label + end]:.{digits}f}".replace("-", "−") for end in ("", " low", " high"))
        cells.append(f"{value} ({low} to {high})")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Train, write the results and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--csv", type=Path, default=Path("benchmarks/results/brier_trained.csv"))
    options = parser.parse_args()
    lines = []
    print("| set | model | slope, log loss | slope, Brier score | ratio | log loss, difference |\n" + "|---" * 6 + "|")
    for name in options.sets:
        for model in options.models:
            lines.append(study(name, model, options.seeds, options.epochs))
            print(row(lines[-1]), flush=True)
    with options.csv.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    for model in options.models:
        ratios = np.log([line["ratio"] for line in lines if line["model"] == model])
        error = ratios.std(ddof=1) / math.sqrt(ratios.size) if ratios.size > 1 else math.nan
        print(f"\n{model}: mean ratio {math.exp(ratios.mean()):.3f}, standard error of its logarithm {error:.3f}")


if __name__ == "__main__":
    main()
