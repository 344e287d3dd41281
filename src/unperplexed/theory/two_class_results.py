"""Classes of the exact model, and what it gives: averages and operating characteristic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._lib.by_value import ByValue
from .._lib.errors import InputError
from .._lib.typing import Floats, ReadOnlyArrays
from ..statistics.averages import Averages, divergence_probability, orientation, slope

ExactView = Literal["all-classes", "each-class"]


@dataclass(frozen=True)
class ClassParameters(ByValue):
    """One class of a `TwoClassModel`: a coupled Gaussian likelihood and a factor on it.

    Parameters
    ----------
    mean : float, default 0
        Location. The mean where there is one (coupling below 1).
    variance : float, default 1
        Square of the scale, above 0. It is the variance at coupling 0 only; heavy tails have a larger variance or none.
    coupling : float, default 0
        Above -1: heavy tails above 0 (Student's t with 1/coupling degrees of freedom), normal at 0, compact support
        below.
    amplitude : float, default 1
        Factor on the likelihood, above 0. It acts as a factor on the class's prior does.

    Raises
    ------
    InputError
        For a parameter out of its range.

    Examples
    --------
    >>> from unperplexed.theory import ClassParameters
    >>> ClassParameters(mean=2, coupling=0.5)
    ClassParameters(mean=2, variance=1.0, coupling=0.5, amplitude=1.0)
    """

    mean: float = 0.0
    variance: float = 1.0
    coupling: float = 0.0
    amplitude: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, lowest in (("mean", -math.inf), ("variance", 0.0), ("coupling", -1.0), ("amplitude", 0.0)):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number or not lowest < value < math.inf:
                rule = f"finite and above {lowest:g}" if lowest > -math.inf else "finite"
                raise InputError(f"{name}: must be {rule}, got {value!r}.")


@dataclass(frozen=True)
class TwoClassAverages(ByValue):
    """Exact averages of a `TwoClassModel`. Larger is better.

    All probabilities are limited as reported ones are before they are averaged.
    """

    reported: Averages
    """Means of the reported probabilities of the observed class."""
    source: Averages
    """Means of the true posterior probabilities of the observed class."""
    measured: Averages
    """Means of the measured (recalibrated) probabilities of the observed class."""
    prediction_accuracy: float
    """Probability that the more probable class is observed; a tie counts 1/2. Larger is better."""
    view: ExactView

    @property
    def divergence_probability(self) -> float:
        """Reported / measured geometric accuracy, at most 1; 1 is best."""
        return divergence_probability(self.reported, self.measured)

    @property
    def source_divergence_probability(self) -> float:
        """Reported / source geometric accuracy, at most 1; exp of minus the divergence of the posteriors."""
        return divergence_probability(self.reported, self.source)

    @property
    def slope(self) -> float:
        """(measured D - R) / (reported D - R): 1 is best, below 1 overconfident, above 1 underconfident."""
        return slope(self.reported, self.measured)

    @property
    def orientation(self) -> float:
        """Angle of the D-R line in degrees: 45 is best, above it overconfident, below it underconfident."""
        return orientation(self.reported, self.measured)


@dataclass(frozen=True)
class TwoClassROC(ReadOnlyArrays):
    """Receiver operating characteristic of a `TwoClassModel`; class 1 is the positive one.

    One array entry for each threshold, from (0, 0) to (1, 1); between neighbours the curve is straight where thresholds
    tie, and otherwise so nearly.
    """

    threshold: Floats
    """Reported probabilities of class 1: those above it are called positive. Infinite at (0, 0)."""
    false_positive_rate: Floats
    true_positive_rate: Floats
    area: float
    """Area under the exact curve. Larger is better."""
    maximum_posterior: tuple[float, float]
    """False and true positive rate when the class reported as more probable is called, ties for either in half."""
