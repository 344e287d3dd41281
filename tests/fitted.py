"""Maps fitted to forecasts that are made up, and all that they tell."""

import numpy as np
from scipy.special import expit

from helpers import softmax_forecasts
from opened import opened, told
from unperplexed.recalibration.recalibrator import Recalibrator


def two(seed=1, n=240):
    """Overconfident forecasts of two classes, some of them certain."""
    rng = np.random.default_rng(seed)
    s = rng.normal(0, 1.8, n)
    p = np.round(expit(s), 2)
    p[:3], p[3:6] = 0.0, 1.0
    return (rng.random(n) < expit(0.6 * s + 0.4)).astype(int), p


def three(seed=2, n=210):
    return softmax_forecasts(np.random.default_rng(seed), n, 3, temperature=1.6)


NEW_TWO = np.array([0.0, 1e-9, 0.02, 0.3, 0.5, 0.77, 0.999, 1.0])
NEW_THREE = np.array([[1.0, 0, 0], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.9, 0.09, 0.01], [1e-7, 0.5, 0.5 - 1e-7]])


def fit(y, p, new, method, **more):
    single = {"single": True} if method == "auto" else {}
    made = told(
        Recalibrator(method, folds=4, seed=1, **single).fit,
        y,
        p,
        **{**({} if p is None else {"clusters": None}), **more},
    )
    if isinstance(made, str):
        return made
    beside = ("held_out", "rows", "facts", "labels", "average", "" if method in ("auto", "lapse") else "candidates")
    return {"q": made.transform(new), "state": opened(made.state, beside, 4), "says": str(made)}
