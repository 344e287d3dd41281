"""Parameters of maps and the families that have them. A parameter of 0 changes nothing.

Users see a slope, or one of its parts, as the factor of the log-odds: 1 plus the parameter. Alone it is a temperature,
by which log-odds are divided. A lapse is the share of the outcomes that come as if drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

LAPSE = "lapse"
"""Inside the fitter its log-odds, of which minus infinity is no lapse."""

LEAST_LAPSE, MOST_LAPSE = -16.0, 4.0
"""Its log-odds at the least and at most: shares of 1e-7 and .98."""

LAPSES = np.linspace(-9, 0.5, 20)
"""Log-odds of a lapse at which its fit may begin."""

FACTORS = ("slope", "slopes", "low", "high")
"""Parameters that users see plus 1."""


class Family(NamedTuple):
    """Maps of the same form."""

    parameters: tuple[str, ...]
    rank: float
    """Effective number of parameters."""


TWO_CLASSES = {
    "identity": Family((), 0),
    "bias": Family(("bias",), 1),
    "temperature": Family(("slope",), 1),
    "logistic": Family(("bias", "slope"), 2),
    "beta": Family(("bias", "low", "high"), 3),
    "tail": Family(("bias", "slope", "tail"), 3),
    "lapse": Family(("bias", "slope", LAPSE), 3),
    "shrunk-isotonic": Family((), 4),
    "isotonic": Family((), 6),
}
"""Families of two classes, the plainest first. Where beta, tail or lapse would fall they are the logistic map."""

MANY_CLASSES = {
    "identity": Family((), 0),
    "temperature": Family(("slope",), 1),
    "bias": Family(("biases",), 2),
    "logistic": Family(("slope", "biases"), 2),
    "temperature-lapse": Family(("slope", LAPSE), 2),
    "logistic-lapse": Family(("slope", "biases", LAPSE), 3),
    "vector": Family(("slope", "biases", "slopes", LAPSE), 4),
    "tail": Family(("slope", "rest", "tail", "biases", LAPSE), 5),
    "isotonic": Family((), 6),
    "matrix": Family(("slope", "rest", "tail", "biases", "slopes", "matrix", LAPSE), 6),
}
"""Families of more than two classes, the plainest first."""


def family_of(name: str, n_classes: int) -> Family:
    """Return the family of this name."""
    return (TWO_CLASSES if n_classes == 2 else MANY_CLASSES)[name]


NAMES = {"bias": "shift", "biases": "shifts"}
"""What users call a parameter, where that is another word; a bias is the error that a shift of the log-odds mends."""


def shown(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Give parameters as users see them: a slope, but for a lapse alone, as a temperature."""
    found: dict[str, Any] = {NAMES.get(name, name): value + (name in FACTORS) for name, value in parameters.items()}
    if set(found) - {LAPSE} == {"slope"} and found["slope"] > 0:
        return {"temperature": 1 / found.pop("slope"), **found}
    return found
