"""Does it help to stop by penalized scores, or to train with losses of other orders than the logarithmic one?

Softmax regression and a network with one hidden layer are trained on scikit-learn's bundled data and on made data, each
from as many seeds as ``--seeds``, which decide split (or sample), first weights and batches. After each epoch the
validation rows are scored by each criterion; where it is best the test rows are assessed. Differences are paired by
seed, with 95 % intervals. Splits of the same rows are not independent: Nadeau and Bengio's (2003) corrected variance.

    python benchmarks/training.py                     # an hour on two cores
    python benchmarks/training.py --seeds 5 --epochs 50 --csv few.csv
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np
import pandas as pd
import torch
from scipy import stats
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch.nn.functional import cross_entropy

from unperplexed import assess
from unperplexed.integrations.torch import (
    brier_loss,
    generalized_surprisal_loss,
    penalized_brier_loss,
    penalized_log_loss,
    power_loss,
    risk_loss,
)

Rows = tuple[np.ndarray, np.ndarray]
Loss = Callable[..., Tensor]

BATCH, PATIENCE = 32, 10
MODELS = {"softmax regression": (0, 0.02), "network": (100, 0.002)}
"""Number of hidden units, and learning rate."""

FIGURES = {
    "prediction accuracy": lambda a: a.prediction_accuracy,
    "A": lambda a: a.reported.geometric_accuracy,
    "D": lambda a: a.reported.decisiveness,
    "R": lambda a: a.reported.robustness,
}


def of_bundle(load: Callable[..., Rows], parts: int = 0, noise: float = 0.0) -> Callable[[int], Rows]:
    """Give the rows of a bundled set: of a regression in equal parts, or with a share of the labels drawn anew."""

    def rows(seed: int) -> Rows:
        x, y = load(return_X_y=True)
        if parts:
            y = np.searchsorted(np.quantile(y, np.arange(1, parts) / parts), y)
        if noise:
            rng = np.random.default_rng(20_261_122)
            y = np.where(rng.uniform(size=len(y)) < noise, rng.permutation(y), y)
        return x, y

    return rows


def of_maker(**how: object) -> Callable[[int], Rows]:
    """Give a new sample of a made problem, and a new problem, for each seed."""
    return lambda seed: datasets.make_classification(random_state=seed, **how)


BUNDLED = {
    "iris": of_bundle(datasets.load_iris),
    "wine": of_bundle(datasets.load_wine),
    "breast cancer": of_bundle(datasets.load_breast_cancer),
    "digits": of_bundle(datasets.load_digits),
    "digits, 20 % of labels at random": of_bundle(datasets.load_digits, noise=0.2),
    "diabetes, halves": of_bundle(datasets.load_diabetes, parts=2),
    "diabetes, thirds": of_bundle(datasets.load_diabetes, parts=3),
}
_MADE = {"n_samples": 2750, "n_features": 20, "n_informative": 10}
MADE = {
    "made, five classes": of_maker(n_classes=5, class_sep=0.8, flip_y=0.1, **_MADE),
    "made, one class of 5 %": of_maker(weights=[0.95], class_sep=0.8, flip_y=0.02, **_MADE),
}
SETS = BUNDLED | MADE

LOSSES: dict[str, Loss] = {
    "log loss": cross_entropy,
    "Brier score": brier_loss,
    "penalized log loss": penalized_log_loss,
    "penalized Brier score": penalized_brier_loss,
    "power score, order -2/3": partial(power_loss, r=-2 / 3),
    "power score, order 2": partial(power_loss, r=2.0),
    "D, A and R (proper)": risk_loss,
    "D, A and R (surprisals)": partial(risk_loss, proper=False),
    "surprisal, order -2/3": partial(generalized_surprisal_loss, r=-2 / 3),
    "surprisal, order 1/2": partial(generalized_surprisal_loss, r=0.5),
    "surprisal, order 1": partial(generalized_surprisal_loss, r=1.0),
}
UNDONE = {"surprisal, order -2/3": 5 / 3, "surprisal, order 1/2": 1 / 2}
"""What logits are to be multiplied by where the odds that a loss leads to are the true ones to a power."""


def _wrong(logits: Tensor, y: Tensor, reduction: str) -> Tensor:
    return penalized_log_loss(logits, y, reduction=reduction) - cross_entropy(logits, y, reduction=reduction)


CRITERIA: dict[str, Loss] = {
    "log loss": cross_entropy,
    "Brier score": brier_loss,
    "penalized log loss": penalized_log_loss,
    "penalized Brier score": penalized_brier_loss,
    "prediction accuracy": _wrong,
}


@dataclass(frozen=True)
class Data:
    """Rows of all seeds: the first axis of each is the seed."""

    train: tuple[Tensor, Tensor]
    valid: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    classes: int
    overlap: float
    """Test rows over training rows where the seeds split the same rows, 0 where each has its own."""


def load(name: str, seeds: int) -> Data:
    """Split into a half to train, a quarter to stop by and a quarter to test; of made rows 500, 250 and 2000."""
    sizes = (500, 250) if name in MADE else (0.5, 0.5)
    parts: list[list[Rows]] = [[], [], []]
    for seed in range(seeds):
        x, y = SETS[name](seed)
        train, rest, y_train, y_rest = train_test_split(x, y, train_size=sizes[0], stratify=y, random_state=seed)
        valid, test, y_valid, y_test = train_test_split(
            rest, y_rest, train_size=sizes[1], stratify=y_rest, random_state=seed
        )
        scale = StandardScaler().fit(train)
        for part, rows, outcomes in zip(parts, (train, valid, test), (y_train, y_valid, y_test), strict=True):
            part.append((scale.transform(rows), outcomes))
    train_rows, valid_rows, test_rows = (
        (
            torch.tensor(np.stack([x for x, _ in part]), dtype=torch.float32),
            torch.tensor(np.stack([y for _, y in part])),
        )
        for part in parts
    )
    overlap = 0.0 if name in MADE else test_rows[1].shape[1] / train_rows[1].shape[1]
    return Data(train_rows, valid_rows, test_rows, int(train_rows[1].max()) + 1, overlap)


def each_seed(score: Loss, logits: Tensor, y: Tensor) -> Tensor:
    """Mean of each seed."""
    return score(logits.flatten(0, 1), y.flatten(), reduction="none").view(y.shape).mean(dim=1)


def epochs_of(data: Data, model: str, loss: Loss, epochs: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Train one model for each seed, all at once, and give the logits of validation and test rows after each epoch."""
    (x, y), (hidden, rate) = data.train, MODELS[model]
    seeds, rows, features = x.shape
    rng = torch.Generator().manual_seed(20_261_122)
    sizes = [features, hidden, data.classes] if hidden else [features, data.classes]
    layers = []
    for before, after in itertools.pairwise(sizes):
        bound = 1 / math.sqrt(before)
        layers.append((torch.rand(seeds, before, after, generator=rng) * 2 - 1) * bound)
        layers.append((torch.rand(seeds, 1, after, generator=rng) * 2 - 1) * bound)
    for layer in layers:
        layer.requires_grad_()

    def logits(x: Tensor) -> Tensor:
        z = torch.baddbmm(layers[1], x, layers[0])
        return torch.baddbmm(layers[3], z.relu(), layers[2]) if hidden else z

    optimizer = torch.optim.Adam(layers, lr=rate)
    for _ in range(epochs):
        order = torch.rand(seeds, rows, generator=rng).argsort(dim=1)
        for batch in order.split(BATCH, dim=1):
            optimizer.zero_grad()
            some = x.gather(1, batch[:, :, None].expand(-1, -1, features))
            each_seed(loss, logits(some), y.gather(1, batch)).sum().backward()
            optimizer.step()
        with torch.no_grad():
            yield logits(data.valid[0]), logits(data.test[0])


@dataclass
class Best:
    """Test logits of each seed's epoch whose validation score was least, the first of equals; by patience the local."""

    score: Loss
    patience: float
    least: Tensor
    epoch: Tensor
    test: Tensor

    @classmethod
    def of(cls, data: Data, score: Loss, patience: float) -> Best:
        """Begin with none."""
        seeds, rows = data.test[1].shape
        none = torch.zeros(seeds, rows, data.classes)
        return cls(score, patience, torch.full((seeds,), math.inf), torch.zeros(seeds), none)

    def see(self, epoch: int, valid: Tensor, y: Tensor, test: Tensor) -> None:
        """Look at one more epoch."""
        value = each_seed(self.score, valid, y)
        better = (value < self.least) & (epoch - self.epoch <= self.patience)
        self.least[better], self.epoch[better], self.test[better] = value[better], epoch, test[better]


def chosen(data: Data, model: str, name: str, epochs: int) -> dict[tuple[str, str], Best]:
    """Train with a loss, and keep what each criterion would have kept."""
    ways = {"best of all": math.inf, f"patience {PATIENCE}": PATIENCE}
    if name == "log loss":
        criteria = {(by, way): Best.of(data, CRITERIA[by], wait) for by in CRITERIA for way, wait in ways.items()}
    else:
        criteria = {
            (by, "best of all"): Best.of(data, LOSSES[by], math.inf) for by in dict.fromkeys([name, "log loss"])
        }
    for epoch, (valid, test) in enumerate(epochs_of(data, model, LOSSES[name], epochs), 1):
        for best in criteria.values():
            best.see(epoch, valid, data.valid[1], test)
    return criteria


def figures(data: Data, logits: Tensor) -> dict[str, np.ndarray]:
    """Assess the test rows of each seed; and, for the slope, of all together."""
    p, y = logits.double().softmax(dim=2).numpy(), data.test[1].numpy()
    assessed = [assess(y[k], p[k], labels=range(data.classes), resamples=0) for k in range(len(y))]
    found = {name: np.array([of(each) for each in assessed]) for name, of in FIGURES.items()}
    pooled = assess(y.ravel(), p.reshape(-1, data.classes), labels=range(data.classes), resamples=0)
    return found | {"slope": np.array([pooled.slope])}


def interval(differences: np.ndarray, overlap: float) -> tuple[float, float, float]:
    """Mean over seeds and its 95 % interval."""
    n = len(differences)
    error = math.sqrt(differences.var(ddof=1) * (1 / n + overlap))
    half = float(stats.t.ppf(0.975, n - 1)) * error
    return float(differences.mean()), float(differences.mean()) - half, float(differences.mean()) + half


def study(name: str, model: str, seeds: int, epochs: int) -> list[dict[str, object]]:
    """Give a row of the results for each loss, criterion and figure."""
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    data = load(name, seeds)
    reference: dict[str, dict[str, np.ndarray]] = {}
    for loss in LOSSES:
        for (by, way), best in chosen(data, model, loss, epochs).items():
            scaled = {loss: best.test}
            if loss in UNDONE and by == loss:
                scaled[f"{loss}, undone"] = best.test * UNDONE[loss]
            for label, logits in scaled.items():
                found = figures(data, logits)
                if loss == by == "log loss":
                    reference[way] = found
                for figure, values in found.items():
                    mean, low, high = (
                        (float(values[0] - reference[way][figure][0]), math.nan, math.nan)
                        if figure == "slope"
                        else interval(values - reference[way][figure], data.overlap)
                    )
                    about = {"set": name, "model": model, "loss": label, "chosen by": by, "way": way, "figure": figure}
                    told = {"value": float(values.mean()), "difference": mean, "low": low, "high": high}
                    rows.append(about | {"epoch": float(best.epoch.median())} | told)
    return rows


def cell(rows: pd.DataFrame) -> str:
    """Mean difference over the sets in points, and in how many of them the interval is above and below nothing."""
    above, below = int((rows["low"] > 0).sum()), int((rows["high"] < 0).sum())
    told = " ".join(f"{sign}{count}" for sign, count in (("+", above), ("−", below)) if count)
    mean = 100 * rows["difference"].mean()
    return f"{mean:+.1f}".replace("-", "−") + (f" ({told})" if told else "")


def table(results: pd.DataFrame, by: list[str]) -> str:
    """Lay out a table in Markdown, a row for each combination of some columns."""
    lines = ["| " + " | ".join([*by, "epoch", *FIGURES, "slope"]) + " |", "|---" * (len(by) + 6) + "|"]
    for key, rows in results.groupby(by, sort=False):
        cells = [cell(rows[rows["figure"] == figure]) for figure in FIGURES]
        slope = rows[rows["figure"] == "slope"]["value"].median()
        lines.append("| " + " | ".join([*key, f"{rows['epoch'].median():.0f}", *cells, f"{slope:.2f}"]) + " |")
    return "\n".join(lines)


def values(results: pd.DataFrame) -> str:
    """Lay out what the reference came to in each set."""
    lines = ["| set | model | epoch | " + " | ".join(FIGURES) + " | slope |", "|---" * 8 + "|"]
    for key, rows in results.groupby(["set", "model"], sort=False):
        cells = [f"{rows[rows['figure'] == figure]['value'].iloc[0]:.3f}" for figure in [*FIGURES, "slope"]]
        lines.append("| " + " | ".join([*key, f"{rows['epoch'].iloc[0]:.0f}", *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Train, write the results and print tables in Markdown, one of which docs/evidence/studies.md has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--csv", default="benchmarks/results/training.csv")
    arguments = parser.parse_args()
    of_each = partial(study, seeds=arguments.seeds, epochs=arguments.epochs)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as workers:
        found = workers.map(of_each, *zip(*itertools.product(SETS, MODELS), strict=True))
        results = pd.DataFrame([row for rows in found for row in rows])
    results.round(5).to_csv(arguments.csv, index=False)
    plain = results["loss"] == "log loss"
    own = results["chosen by"] == results["loss"].str.removesuffix(", undone")
    of_all = results["way"] == "best of all"
    print("\n" + values(results[plain & own & of_all]))
    print("\n" + table(results[plain], ["way", "chosen by", "model"]))
    print("\n" + table(results[of_all & own], ["loss", "model"]))
    print("\n" + table(results[of_all & ~own & ~plain], ["loss", "chosen by", "model"]))


if __name__ == "__main__":
    main()
