"""Real predictions to try the program on: of handwritten digits, by an overconfident classifier."""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.typing import Ints


def digits_forecasts() -> tuple[Ints, NDArray[np.float32], str]:
    """Outcomes, forecasts and a sentence on where they are from.

    Trained now if scikit-learn is installed, else the predictions of the same classifier that come with the
    package, made by ``examples/make.py``.
    """
    what = "naive Bayes on scikit-learn's 1,797 handwritten digits, each predicted by a model that has not seen it"
    if find_spec("sklearn") is not None:
        return *train_digits(), f"{what}; trained just now"
    with (files(__package__) / "example" / "digits.npz").open("rb") as stream, np.load(stream) as archive:
        return archive["digit"], archive["probability"], f"{what}; predictions that come with the package"


def train_digits() -> tuple[Ints, NDArray[np.float32]]:
    """Predict each digit by Gaussian naive Bayes trained on the other folds; needs scikit-learn."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    x, digit = load_digits(return_X_y=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    probability: Any = cross_val_predict(GaussianNB(), x, digit, cv=folds, method="predict_proba")
    return digit, probability.astype(np.float32)
