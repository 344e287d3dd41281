"""Words for the findings about more than two classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .._typing import Floats
from ..labels import Label

MOST_NAMED = 4
"""So many biased classes are named; the others are counted."""

REMEDIES = {
    "bias": "fit one bias per class on held-out data",
    "confidence": "fit a temperature on held-out data",
    "tail": "fit a curved map of the log-odds on held-out data",
    "noise": "mix the probabilities with a uniform forecast, with a weight fitted on held-out data",
    "certainty": "look at these rows, which the other findings leave out; avoid probabilities of 0 and 1",
    "rows": "look at these rows: are the outcomes and the probabilities correct?",
    "shape": "draw the reliability diagram; recalibrate on held-out data",
}


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Labels of the classes with their mean predictions and observed frequencies over all rows."""

    labels: tuple[Label | None, ...]
    predicted: Floats
    observed: Floats

    def words(self, at: int) -> str:
        """Name a class with the direction of its bias."""
        said, seen = float(self.predicted[at]), float(self.observed[at])
        direction = "overpredicts" if said > seen else "underpredicts"
        return f"{direction} {self.name(at)} (mean prediction {number(said)}, observed frequency {number(seen)})"

    def name(self, at: int) -> str:
        """Quote the label of a class."""
        label = self.labels[at]
        if label is None:
            return f"column {at}"
        return repr(label) if isinstance(label, str) else f"class '{label}'"


def number(value: float) -> str:
    """Three significant digits."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}" if digits < 7 else f"{value:.2e}"


def p_words(value: float) -> str:
    """A p-value: "p = 0.24", "p < 0.001"."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def bias_words(means: ClassMeans, classes: Sequence[int]) -> str:
    """Name the biased classes, the clearest first."""
    if not len(classes):
        return "biased between classes (no single class stands out)"
    named = [means.words(at) for at in classes[:MOST_NAMED]]
    more = len(classes) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def confidence_words(slope: float, low: float, high: float) -> str:
    """The calibration slope with its interval, and the temperature."""
    name = "overconfident" if slope < 1 else "underconfident"
    if slope > 10:
        return f"{name} (calibration slope above 10: the most probable class nearly always occurs)"
    temperature = f"; temperature {1 / slope:.2f}" if slope > 0.05 else ""
    return f"{name} (calibration slope {slope:.2f}, 95% CI {low:.2f} to {high:.2f}{temperature})"


def tail_words(parameter: float) -> str:
    """Extremes over- or understated."""
    return f"extremes {'overstated' if parameter < 0 else 'understated'}"


def noise_words(share: float) -> str:
    """Outcomes as if drawn at random."""
    return f"extremes overstated, as if {100 * share:.2g}% of the outcomes were drawn at random"


def certainty_words(count: int, expected: float) -> str:
    """Outcomes that the forecasts were certain would not occur."""
    times = {1: "once", 2: "twice"}.get(count, f"{count:,} times")
    return f"certain and wrong {times} (expected {expected:.2g})"


def rows_words(probabilities: Sequence[float]) -> str:
    """A few surprising outcomes that carry all the evidence."""
    many = len(probabilities) > 1
    given = ", ".join(f"{p:.2g}" for p in probabilities)
    what = f"{len(probabilities)} surprising outcomes" if many else "one surprising outcome"
    return f"{what} (assigned {given}) {'carry' if many else 'carries'} all the evidence of miscalibration"


def headline_words(error: str, parameter: float) -> str:
    """A finding in two or three words."""
    return {
        "bias": "biased between classes",
        "confidence": "overconfident" if parameter < 0 else "underconfident",
        "tail": tail_words(parameter),
        "noise": "extremes overstated",
        "certainty": "certain and wrong",
        "rows": "a few surprising outcomes",
        "shape": "miscalibrated in another way",
    }[error]


def alternatives_words(sets: Sequence[Sequence[str]]) -> str:
    """Other sets of errors: "biased classes, or over- or underconfidence with random outcomes"."""
    kinds = {
        "bias": "biased classes",
        "confidence": "over- or underconfidence",
        "tail": "overstated or understated extremes",
        "noise": "random outcomes",
    }
    return ", or ".join(" with ".join(kinds[error] for error in errors) for errors in sets)


def joined(parts: Sequence[str], between: str = ", ", last: str = ", and ") -> str:
    """A sentence's beginning: "Overconfident, and biased between classes"."""
    text = parts[0] if len(parts) == 1 else between.join(parts[:-1]) + last + parts[-1]
    return text[:1].upper() + text[1:]
