"""Words for the findings about more than two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._lib.formatting import short_name, three_digits
from ..._lib.typing import Floats
from ...forecasts.labels import Label

MOST_NAMED = 3
"""So many biased classes are named; the others are counted."""


FLEXIBLE = "Recalibrate with a flexible curve fitted on held-out rows."
"""What mends an error that has no name."""

HELD_OUT = "Fit it to these rows only if the forecaster was not trained on them, and assess it on other rows."
"""Stands behind each remedy that is fitted."""


TOGETHER = f"Fit a temperature together with what mends the other errors. {HELD_OUT}"
"""What mends confidence whose direction shows beside other errors alone."""


def remedy(error: str, value: float) -> str:
    """Say what mends an error, whose parameter has a value."""
    return {
        "bias": f"Add one bias for each class to the log-probabilities. {HELD_OUT}",
        "confidence": f"Divide the log-probabilities by {1 / (1 + value):.2f} (temperature scaling). {HELD_OUT}"
        if 1 + value > 0.02
        else "No temperature mends this. Look whether classes were mixed up; if not, predict the base rates.",
        "tail": f"Fit the tails apart (a curved map of the log-odds). {HELD_OUT}",
        "noise": f"Mix the predictions with a {value:.2g} share of a uniform forecast. {HELD_OUT}",
        "certainty": "Look at these rows, which the other findings leave out. If they are not data errors, mix the"
        " predictions with a small share of a uniform forecast.",
        "rows": "Look at these rows first; without them no single kind of error is significant.",
        "shape": FLEXIBLE,
    }[error]


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Labels of the classes with their mean predictions and observed frequencies over all rows."""

    labels: tuple[Label | None, ...]
    predicted: Floats
    observed: Floats

    def over(self, at: int) -> bool:
        """Whether a class is predicted more often than it is observed."""
        return bool(self.predicted[at] > self.observed[at])

    def words(self, at: int) -> str:
        """Name a class with its mean prediction and observed frequency."""
        predicted, observed = float(self.predicted[at]), float(self.observed[at])
        return (
            f"{self.name(at)} (mean prediction {three_digits(predicted)}, observed frequency {three_digits(observed)})"
        )

    def name(self, at: int) -> str:
        """Quote the label of a class."""
        label = self.labels[at]
        return f"column {at}" if label is None else f"'{short_name(str(label), 40)}'"


def bias_words(means: ClassMeans, classes: Sequence[int]) -> str:
    """Name the biased classes, those furthest off on average first, and at least one in each direction.

    A class that is biased beside the other errors need not be so on average: they may offset its bias.
    """
    if not len(classes):
        return "biased between classes (no single class stands out)"
    apart = [at for at in classes if three_digits(means.predicted[at]) != three_digits(means.observed[at])]
    if not apart:
        names = _listed([means.name(at) for at in classes])
        return f"biased for {names} once the other errors are corrected, which offset it: {_EQUAL}"
    apart.sort(key=lambda at: -abs(means.predicted[at] - means.observed[at]))
    shown, named = _in_both_directions(apart, means), []
    first = means.over(shown[0])
    for over in (first, not first):
        verb = "overpredicts" if over else "underpredicts"
        here = [means.words(at) for at in shown if means.over(at) == over]
        named += [f"{verb} {' and '.join(here)}"] if here else []
    more = len(classes) - len(shown)
    others = f"{more} more class{'es are' if more > 1 else ' is'} biased" if more > 0 else ""
    offset = len(classes) - len(apart)
    if offset:
        others += f", {f'{offset} of them' if offset < more else 'but'} offset on average by the other errors"
    return "; ".join(filter(None, [", ".join(named), others]))


def _in_both_directions(apart: Sequence[int], means: ClassMeans) -> list[int]:
    """Take the first few classes, the last of which gives way to the first that is biased the other way."""
    shown = list(apart[:MOST_NAMED])
    other = [at for at in apart[MOST_NAMED:] if means.over(at) != means.over(shown[0])]
    if other and all(means.over(at) == means.over(shown[0]) for at in shown):
        shown[-1] = other[0]
    return shown


_EQUAL = "mean prediction and observed frequency are equal"


def _listed(names: Sequence[str]) -> str:
    """Name the first three: "'a', 'b' and 4 more classes"."""
    more = len(names) - MOST_NAMED
    if more > 0:
        names = [*names[:MOST_NAMED], f"{more} more class{'es' if more > 1 else ''}"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def confidence_words(slope: float, low: float, high: float, *, alone: bool = False) -> str:
    """The temperature with its interval, or where that has no bounds the slope of the log-probabilities.

    It is called no calibration slope, which is that of the top class in the metrics. ``alone`` tells that it is fitted
    to all rows, with nothing beside it.
    """
    name = f"{'perhaps ' if low <= 1 <= high else ''}{'over' if slope < 1 else 'under'}confident"
    if slope <= 0:
        name = "pointing away from the outcomes"
    if slope > 10:
        return f"{name} (temperature below 0.1: the most probable class nearly always occurs)"
    if low > _LEAST_SLOPE:
        return (
            f"{name} (temperature {1 / slope:.2f}{' alone' if alone else ''}, 95% CI {1 / high:.2f} to {1 / low:.2f})"
        )
    numbers = f"{slope:.2f}, 95% CI {low:.2f} to {high:.2f}".replace("-", "−")
    return f"{name} (slope of the log-probabilities {numbers})"


_LEAST_SLOPE = 0.05


def tail_words(parameter: float) -> str:
    """Extremes over- or understated."""
    return f"extreme probabilities are {'overstated' if parameter < 0 else 'understated'}"


def noise_words(share: float) -> str:
    """Outcomes as if drawn at random."""
    return f"extreme probabilities are overstated, as if {100 * share:.2g}% of the outcomes were drawn at random"
