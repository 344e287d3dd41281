"""Make the example data of the project from scikit-learn's bundled sets; run from the project's root.

Writes ``examples/breast_cancer.csv``, ``examples/gallery/`` and ``src/unperplexed/cli/example/digits.npz``. Every
probability is by a model that had not seen the case. The same versions of scikit-learn and NumPy give the same figures,
to the last digits that a processor may round otherwise.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from unperplexed.cli.commands import train_digits

ROOT = Path(__file__).resolve().parent.parent
LEVELS = 0.05, 0.25, 0.5, 0.75, 0.95
"""Levels of predicted quantiles."""
EPOCHS = 10, 30, 300
"""After how many passes over its images the network's logits are taken."""


def breast_cancer() -> pl.DataFrame:
    """Probability of malignancy of each of 569 tumours, by a model that has not seen it, and the diagnosis."""
    data = load_breast_cancer()
    model = make_pipeline(StandardScaler(), LogisticRegression())
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    probability = cross_val_predict(model, data.data, data.target, cv=folds, method="predict_proba")
    return pl.DataFrame(
        {
            "patient": np.arange(1, data.target.size + 1),
            "diagnosis": data.target_names[data.target],
            "malignant": probability[:, 0].round(6),
        }
    )


def diabetes() -> pl.DataFrame:
    """442 patients with diabetes: whether the disease progressed by more than 140 units in a year, by three models.

    ``without_bmi`` knows age, sex and blood pressure alone.
    """
    data = load_diabetes(scaled=False)
    progressed = np.where(data.target > 140, "yes", "no")
    line = make_pipeline(StandardScaler(), _logistic())
    few = [data.feature_names.index(name) for name in ("age", "sex", "bp")]
    bmi = data.data[:, data.feature_names.index("bmi")]
    return pl.DataFrame(
        {
            "patient": np.arange(1, progressed.size + 1),
            "progressed": progressed,
            "bmi": np.array(["under 25", "25 to 30", "30 or more"])[np.digitize(bmi, [25, 30])],
            "logistic": _unseen(line, data.data, progressed)[:, 1].round(6),
            "boosted": _unseen(GradientBoostingClassifier(random_state=0), data.data, progressed)[:, 1].round(6),
            "without_bmi": _unseen(line, data.data[:, few], progressed)[:, 1].round(6),
        }
    )


def measurements(patients: pl.DataFrame) -> pl.DataFrame:
    """The ten measurements of the patients, beside the outcome and the model that knows three of the ten."""
    data = load_diabetes(scaled=False)
    names = ["age", "sex", "bmi", "bp", "tc", "ldl", "hdl", "tch", "ltg", "glu"]
    return patients.select("progressed", "without_bmi").hstack(pl.DataFrame(data.data, schema=names))


def progress() -> pl.DataFrame:
    """How far the disease of the 442 patients progressed in a year, and five quantiles of it by boosted trees."""
    x, y = load_diabetes(return_X_y=True)
    models = {level: GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0) for level in LEVELS}
    folds = KFold(10, shuffle=True, random_state=0)
    found = {f"q{level}": cross_val_predict(model, x, y, cv=folds).round(1) for level, model in models.items()}
    return pl.DataFrame({"patient": np.arange(1, y.size + 1), "progress": y, **found})


def digits() -> dict[str, NDArray[Any]]:
    """1,797 handwritten digits, and the probabilities of ten classes by four models."""
    x, digit = load_digits(return_X_y=True)
    models = {
        "naive_bayes": GaussianNB(),
        "logistic": make_pipeline(StandardScaler(), _logistic()),
        "forest": RandomForestClassifier(50, random_state=0),
        "neighbors": KNeighborsClassifier(5),
    }
    found = {name: _unseen(model, x, digit).astype(np.float32) for name, model in models.items()}
    return {"digit": digit.astype(np.int8), **found}


def network() -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Logits of a network while it learns 200 digits: of 798 other digits, and of 799 more."""
    x, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(digit.size)
    learned, *unseen = np.split(order, [200, 998])
    files: list[dict[str, NDArray[Any]]] = [{"digit": digit[rows].astype(np.int8)} for rows in unseen]
    model = MLPClassifier(64, alpha=0, batch_size=50, learning_rate_init=0.01, random_state=0)
    for epoch in range(1, max(EPOCHS) + 1):
        model.partial_fit(x[learned] / 16, digit[learned], classes=np.arange(10))
        if epoch in EPOCHS:
            for file, rows in zip(files, unseen, strict=True):
                hidden = np.maximum(x[rows] / 16 @ model.coefs_[0] + model.intercepts_[0], 0)
                file[f"epoch_{epoch}"] = (hidden @ model.coefs_[1] + model.intercepts_[1]).astype(np.float32)
    return files[0], files[1]


def _logistic() -> LogisticRegression:
    """Logistic regression, fitted until nothing moves, so that every machine finds the same."""
    return LogisticRegression(solver="newton-cg", tol=1e-9)


def _unseen(model: Any, x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Give the probabilities of each case by a model that learned from the other nine tenths, on one thread."""
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    with threadpool_limits(1):  # such small matrices take threads ten times as long where others share the cores
        found: NDArray[np.float64] = cross_val_predict(model, x, y, cv=folds, method="predict_proba")
    return found


if __name__ == "__main__":
    breast_cancer().write_csv(ROOT / "examples" / "breast_cancer.csv")
    gallery = ROOT / "examples" / "gallery"
    gallery.mkdir(exist_ok=True)
    patients = diabetes()
    patients.write_csv(gallery / "diabetes.csv")
    measurements(patients).write_csv(gallery / "measurements.csv")
    progress().write_csv(gallery / "progress.csv")
    np.savez_compressed(gallery / "digits.npz", allow_pickle=False, **digits())
    for name, logits in zip(("network_validation", "network_test"), network(), strict=True):
        np.savez_compressed(gallery / f"{name}.npz", allow_pickle=False, **logits)
    digit, probability = train_digits()
    target = ROOT / "src" / "unperplexed" / "cli" / "example" / "digits.npz"
    target.parent.mkdir(exist_ok=True)
    np.savez_compressed(target, digit=digit.astype(np.int8), probability=probability)
