"""Make the example data of the project from scikit-learn's bundled sets; run from the project's root.

Writes ``examples/breast_cancer.csv`` and ``src/unperplexed/example/digits.npz``. The same versions of scikit-learn
and NumPy give the same bytes.
"""

from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unperplexed.demo import train_digits

ROOT = Path(__file__).resolve().parent.parent


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


if __name__ == "__main__":
    breast_cancer().write_csv(ROOT / "examples" / "breast_cancer.csv")
    digit, probability = train_digits()
    target = ROOT / "src" / "unperplexed" / "example" / "digits.npz"
    target.parent.mkdir(exist_ok=True)
    np.savez_compressed(target, digit=digit.astype(np.int8), probability=probability)
