"""What is known of a kind of error beside its fit: the record that each module of `kinds` has one of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from ..._lib.dataclasses import Frozen
from ..._lib.formatting import short_name, three_digits
from ..._lib.typing import Bools, Floats
from ...forecasts.labels import Label
from .result import Advice, Clause

Said: TypeAlias = tuple[Clause, Advice]
"""What is said of an error, and what mends it."""


class Kind(Frozen):
    """A kind of error: what it is called, what is said of it, what mends it, and its place among the others."""

    error: str
    """Its name in results: ``Finding.error``."""
    names: tuple[str, ...]
    """What users call it: for a parameter below 0 and above 0, or one name for both."""
    terms: tuple[str, ...]
    """Words by which `explain` knows it, likewise."""
    place: int
    """Where it stands among the others: in the search, in lists, in charts."""
    heading: str = ""
    """Heading of its column in a chart, where that is not its name in results."""
    noun: str = ""
    """Names it among other explanations: "a bias"."""
    parameter: str = ""
    """Parameter of the map that mends it; "" for an error that no map describes."""
    of_each: str = ""
    """Parameter with more than two classes, where each class has its own: "biases"."""
    brief: str = ""
    """What a narrow column calls it, where that is not its name."""
    required: bool = True
    """Whether requirements of a gate know its name."""
    plain: bool = False
    """Whether it is among the errors that are looked for first."""
    unlike: str = ""
    """An error that means much the same, so that both are never named together."""
    low_above: bool = False
    """Whether a parameter above 0 says that probabilities are too low, or too close to one another."""
    shown_in: Literal["bias", "slope", "loss", ""] = ""
    """The number over time in which it shows."""
    applied: int = -1
    """When its remedy is applied among those of other errors; -1 for one that changes no probabilities."""
    step: str = ""
    """What its remedy does, where another comes after it: "adding to the log-odds"."""
    regressor: str = ""
    """What a regression on the log-odds needs beside them to mend it."""
    rows_that: str = ""
    """What the rows did that it is about, where it is about single rows: "were certain and wrong"."""
    two: Callable[[OfTwo], Said] | None = None
    """What is said of it with two classes, as part of a map; None for an error that no map describes."""
    classes: Callable[[OfClasses], Said] | None = None
    """The same with more classes; None for an error that is not looked for there."""
    distributions: Callable[[OfDistributions], Said] | None = None
    """The same of predictive distributions of a number."""

    def name(self, parameter: float) -> str:
        """Give the name for a value of the parameter."""
        return self.names[-(parameter > 0)]

    def clause(self, parameter: float = math.nan, more: str = "", instead: str = "", detail: str = "") -> Clause:
        """Say something of the error by its name for a value of the parameter.

        Parameters
        ----------
        parameter : float, optional
            Size of the error, whose sign chooses the name.
        more, instead, detail : str, default ""
            As in `Clause`.
        """
        return Clause(self.name(parameter), "", more, instead, detail, self.terms[-(parameter > 0)])


class OfTwo(Frozen):
    """An error of two classes, fitted beside others."""

    value: float
    interval: tuple[float, float]
    together: Sequence[Kind]
    """All errors of the map."""
    separated: bool
    event: str
    """What the positive class is called."""
    mean: float
    """Mean prediction of the positive class, and its observed frequency."""
    frequency: float
    slope: float
    """Calibration slope: beside a tail the slope of the map may turn."""
    temperature: float
    """Fitted alone, to all rows."""
    all_rows: bool = False
    """Whether value and interval are those of the calibration line, of all rows."""
    gap: float = 0.0
    """Mean prediction minus observed frequency, in standard errors."""
    constant: float = 0.0
    """What is added to the log-odds, once they are multiplied."""
    away: bool = False
    """Whether the interval of the calibration slope is below 0."""

    @property
    def sizes_tell(self) -> bool:
        """Whether the sizes of errors, one by one, tell what the map does."""
        return sizes_tell([kind.error for kind in self.together])

    @property
    def plain(self) -> bool:
        """Whether no error is fitted beside those that are looked for first."""
        return all(kind.plain for kind in self.together)

    @property
    def digits(self) -> int:
        """How many decimals tell the error from none."""
        return decimals(self.value)

    @property
    def size(self) -> str:
        """The parameter with its interval; "" where sizes, one by one, tell nothing."""
        if not self.sizes_tell:
            return ""
        if self.separated:
            return "its size is not determined"
        value, low, high = (self.signed(each) for each in (self.value, *self.interval))
        return f"{value}, 95% CI {low} to {high}"

    def signed(self, x: float) -> str:
        """Write a number with its sign."""
        return f"{x:+z.{self.digits}f}".replace("-", "−")

    def after(self, this: str) -> str:
        """Say after which remedy that of this error, which is one of the last, is applied."""
        steps = [kind.step for kind in self.together if kind.step and kind.error != this]
        return f", after {steps[0]}" if steps else ""


class OfClasses(Frozen):
    """An error of more than two classes, fitted beside others."""

    value: float
    interval: tuple[float, float]
    together: Sequence[str]
    """All errors of the map."""
    means: ClassMeans
    biased: Sequence[int] = ()
    """Classes with a bias."""
    fitted: Literal["beside", "all rows", "opposed"] = "beside"
    """How the value is fitted: beside the other errors, or to all rows; "opposed" if there it is the opposite."""
    lapse: float = 0.0
    """Share of a uniform forecast that is fitted to all rows with it."""


CURVED = Advice("Fit a curved map of the normal scores.", fitted=True)
"""What mends the shape of predictive distributions."""


class OfDistributions(Frozen):
    """An error of predictive distributions, fitted beside others."""

    value: float
    interval: tuple[float, float]
    together: Sequence[str]
    """All errors of the map."""
    determined: bool
    """Whether the outcomes bound the size."""
    held: float
    """Share of the outcomes in the central intervals of 80%."""
    beyond: tuple[float, float]
    """Number of outcomes beyond the 1% and 99% points, and how many were expected there."""
    ends: tuple[float, float]
    """Bias at the 10th and 90th percentile of the predicted level."""

    @property
    def sizes_tell(self) -> bool:
        """Whether the sizes of errors, one by one, tell what the map does."""
        return self.determined and sizes_tell(self.together)

    def between(self, low: str, high: str, *more: str) -> str:
        """Give an interval and what else is known; without the interval where sizes tell nothing."""
        size = "its size is not determined" if not self.determined else f"95% CI {low} to {high}" * self.sizes_tell
        return "; ".join(each for each in (size, *more) if each)

    def size(self) -> str:
        """Give the parameter with its interval."""
        value, low, high = (self.signed(x) for x in (self.value, *self.interval))
        return f"{value}, {self.between(low, high)}" if self.sizes_tell else self.between(low, high)

    def signed(self, x: float) -> str:
        """Write a number with its sign."""
        return f"{x:+.2f}".replace("-", "−")


class ClassMeans(Frozen, eq=False):
    """Labels of the classes with their mean predictions and observed frequencies over all rows."""

    labels: tuple[Label | None, ...]
    predicted: Floats
    observed: Floats
    apart: Bools | None = None
    """Which of them differ beyond chance; None where this is not asked."""

    def over(self, at: int) -> bool:
        """Whether a class is predicted more often than it is observed."""
        return bool(self.predicted[at] > self.observed[at])

    def name(self, at: int) -> str:
        """Quote the label of a class."""
        return quoted(self.labels[at], f"column {at}")

    def text(self, at: int) -> str:
        """Give mean prediction and observed frequency of a class."""
        return means_text(float(self.predicted[at]), float(self.observed[at]))

    def told(self, at: int) -> bool:
        """Whether both differ beyond chance, and as they are shown."""
        known = self.apart is None or bool(self.apart[at])
        return known and three_digits(self.predicted[at]) != three_digits(self.observed[at])


def decimals(error: float) -> int:
    """How many decimals tell an error from none."""
    x = abs(error)
    return 2 if not 0 < x < 0.01 else min(1 - math.floor(math.log10(x)), 9)


def sizes_tell(errors: Sequence[str]) -> bool:
    """Whether the sizes of errors, one by one, tell what the map of all of them does."""
    return not ({"confidence", "tail"} <= {*errors} or len(errors) >= 3)


def quoted(label: Label | None, unnamed: str) -> str:
    """Quote a label, if there is one."""
    return unnamed if label is None else f"'{short_name(str(label))}'"


def means_text(predicted: float, observed: float) -> str:
    """Give a mean prediction and an observed frequency in words."""
    return f"mean prediction {three_digits(predicted)}, observed frequency {three_digits(observed)}"
