"""What would mend each forecaster that is compared, and who would be ahead after it (cross-fitted)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, field
from .._lib.errors import InputError
from .._lib.formatting import command_line, confidence_interval, number_of, short_name
from .._lib.typing import ByValue, Floats
from ..assessment.remedy import PythonLine, Remedy, gain_text
from ..assessment.result import Assessment
from ..pairing.rows import Chunk, ScoredRows
from ..recalibration.gain import FEWEST_CLUSTERS, FEWEST_ROWS
from ..report.document import Python
from ..report.numbers import estimate, number
from ..scores.rules import LOG_LOSS, rule_at_floor
from ..statistics.intervals import Dependence, Interval, uncertain_mean
from ..statistics.matrices import product
from ..statistics.means import apply_limit, t_quantile

_POWER = 0.8416
"""Standard errors beyond the limit of a test at which it detects a difference with 80% power."""

_MOST_NAMED = 4
"""Forecasters whose gain is in the sentences; those of the others are in JSON."""


class MapCommands(Frozen):
    """Command lines that fit a map to the files of each forecaster, and that compare again by the maps."""

    fit: Mapping[str, str]
    """By forecaster, without the file of the map; empty where a forecaster's rows cannot be chosen."""
    later: Mapping[str, str]
    """The same behind another such command, which may have kept how files are read."""
    maps: Mapping[str, str]
    """Files of the maps, by forecaster."""
    again: str
    scale: str = "probability"
    """What the columns hold."""

    def text(self, mended: Mapping[str, Remedy]) -> str:
        """Give the commands for these forecasters, each in a line; "" for none."""
        if not mended or not self.fit:
            return ""
        lines = [
            f"{fit[name]} -o {self.maps[name]}"
            for fit, name in zip(chain([self.fit], repeat(self.later)), mended, strict=False)
        ]
        maps = command_line(f"{name}={self.maps[name]}" for name in mended)
        return "\n".join([*lines, f"{self.again} --apply {maps}"])


_BREAK = ",\n    "
"""Between names in a list, so that long ones fit a terminal."""


class PythonLines(Frozen):
    """Lines of Python that do the same with arrays in memory, read as they were compared."""

    fit: PythonLine = field(default_factory=PythonLine)
    """How one forecaster's rows are read."""
    scale: str = "probability"
    """What the forecasts are; recalibrated ones are probabilities."""

    @classmethod
    def reading(cls, options: Mapping[str, Any]) -> PythonLines:
        """Carry the options by which rows are read."""
        return cls(PythonLine.reading(options), options.get("scale", "probability"))

    def text(self, mended: Mapping[str, Remedy]) -> Python:
        """Give the lines for these forecasters; "" for none, and for percentages or logits.

        Those cannot be compared with recalibrated forecasts, which are probabilities, in one call.
        """
        if not mended or self.scale != "probability":
            return Python()
        return Python(
            f"for name in [{_BREAK.join(map(repr, mended))}]:\n"
            f"    fitted = Recalibrator().fit(y_true, forecasts[name]{self.fit.arguments()})\n"
            "    new[name] = fitted.transform(new[name])\n"
            f"compare(new_y_true, new{self.fit.arguments('new_{}')})"
        )


class LossDifference(ByValue):
    """Mean difference of two log losses on the same rows, in nats, with its confidence interval."""

    difference: float
    interval: Interval

    @property
    def significant(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.interval.low > 0 or self.interval.high < 0


class NextStep(ByValue):
    """What to do after a comparison. Made as ``Comparison.next_step``.

    A forecaster is recalibrated if it is among the first twenty, its diagnosis finds an error that recalibration mends,
    and its gain is significant. All others count as they are.
    """

    mended: dict[str, Remedy]
    """Remedies of the forecasters that recalibration would improve, the best first; empty where none would be."""
    log_losses: dict[str, float]
    """Log loss of each forecaster, those in ``mended`` after recalibration. The best is first."""
    rival: str
    """The forecaster ranked first before, or the second one where the first stays first."""
    lead: LossDifference
    """Log loss of the rival minus that of the forecaster that is first now; its interval, like those of the
    comparison, holds for all pairs together."""
    confidence: float
    """Confidence level."""
    before: tuple[str, ...]
    """Ranking by log loss before recalibration."""
    floor: float = 0.0
    """Floor of the log losses, those of remedies apart; 0 for none."""
    code: str = field(default="", compare=False)
    """Commands or lines of Python that fit the maps and compare again; "" for none."""

    @property
    def first(self) -> str:
        """The forecaster with the smallest log loss after recalibration."""
        return next(iter(self.log_losses))

    @property
    def ranking_changes(self) -> bool:
        """Whether another forecaster is first."""
        return self.first != self.before[0]

    @cached_property
    def words(self) -> str:
        """What recalibration would bring whom, and who would then be first, in sentences."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if not self.mended:
            yield from self._nothing_to_mend()
            return
        yield self._ranking(confidence_interval(self.confidence, self._pairs))
        for name, each in list(self.mended.items())[:_MOST_NAMED]:
            who, baseline = short_name(name), each.recalibrator.baseline
            if baseline is not None and (zeros := baseline.zeros_text(who)):
                yield zeros
            yield f"Recalibration ({each.map}) would reduce the log loss of {who} {gain_text(each.gain)}."
        more = len(self.mended) - _MOST_NAMED
        if more > 0:
            yield f"{number_of(more, 'other forecaster')} would gain too."

    def _nothing_to_mend(self) -> Iterator[str]:
        yield "No forecaster is shown to gain by recalibration."
        half = (self.lead.interval.high - self.lead.interval.low) / 2
        if self.lead.significant:
            yield "The ranking by log loss stands."
        elif 0 < half < math.inf:
            errors = float(t_quantile(1 - (1 - self.confidence) / self._pairs, math.inf))
            yield (
                f"So many rows would show a true difference in log loss of {number(half * (1 + _POWER / errors))} nats"
                " or more (80% power). If a smaller one matters, compare more rows; if not, choose by other criteria."
            )

    @property
    def _pairs(self) -> int:
        return math.comb(len(self.before), 2)

    def _ranking(self, level: str) -> str:
        first, rival = short_name(self.first), short_name(self.rival)
        would = "would be first instead of" if self.ranking_changes else "would stay first, ahead of"
        value, limits = estimate(self.lead.difference, self.lead.interval)
        score = rule_at_floor(LOG_LOSS, self.floor)
        if not self.lead.significant:
            known = f", {level} {limits}" if limits else ""
            return (
                f"There is no evidence that {first} and {rival} differ after recalibration ({score} of"
                f" {rival} − {first}: {value}{known})."
            )
        return (
            f"After recalibration {first} {would} {rival}: {score} {number(self.log_losses[self.first])} against"
            f" {number(self.log_losses[self.rival])} ({level} of the difference {limits})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the commands as plain Python values."""
        return {
            "words": self.words,
            "mended": {name: each.to_dict() for name, each in self.mended.items()},
            "log_losses": dict(self.log_losses),
            "first": self.first,
            "ranking_changes": self.ranking_changes,
            "rival": self.rival,
            "lead": self.lead.difference,
            "interval": list(self.lead.interval),
        }


_MOST_FORECASTERS = 20
"""As many as are diagnosed for the text."""


ChosenChunks = Callable[[], Iterator[Chunk]]
"""Reads the paired rows of a forecaster anew, each time from the beginning, in the order of its input."""


class PairedForecasters(NamedTuple):
    """Rows that were compared, the best forecaster first."""

    rows: Mapping[str, ScoredRows]
    assessments: Mapping[str, Assessment]
    weights: Floats
    dependence: Dependence
    confidence: float
    chunks: Mapping[str, ChosenChunks]
    floor: float
    """Floor of the log losses; 0 for none."""


def next_step(paired: PairedForecasters) -> NextStep | None:
    """Find what would mend each forecaster, and who would be first after it.

    None where nothing was diagnosed, under 100 rows or 10 clusters, with infinite log losses, where a remedy takes too
    long to be tried unasked, and where the rows cannot be read any more.
    """
    some = [paired.assessments[name] for name in [*paired.rows][:_MOST_FORECASTERS]]
    if not (_enough(paired) and any(each.diagnosis.made for each in some)):
        return None
    if any(each.untried_remedy is not None for each in some):
        return None
    losses, mended = {name: each.scores[LOG_LOSS] for name, each in paired.rows.items()}, {}
    for name, each in zip(paired.rows, some, strict=False):
        if each.remedy is not None and each.remedy.significant:
            try:
                losses[name] = _held_out(each.remedy, name, paired)
            except InputError:  # rows that cannot be read any more
                return None
            mended[name] = each.remedy
    means = {name: float(product(paired.weights, each) / paired.weights.sum()) for name, each in losses.items()}
    if not paired.floor:
        means |= {name: each.gain.after for name, each in mended.items()}
    ranked = dict(sorted(means.items(), key=lambda each: each[1]))
    before, (first, second, *_) = tuple(paired.rows), ranked
    rival = second if first == before[0] else before[0]
    level = 1 - (1 - paired.confidence) / math.comb(len(before), 2)  # that of the verdict (Bonferroni)
    lead = _difference(losses[rival], losses[first], paired, level)
    return NextStep(mended, ranked, rival, lead, paired.confidence, before, paired.floor)


def _enough(paired: PairedForecasters) -> bool:
    units = paired.dependence.independent_units(paired.weights.size)
    few = FEWEST_ROWS if paired.dependence.clusters is None else FEWEST_CLUSTERS
    finite = all(np.isfinite(each.scores[LOG_LOSS]).all() for each in paired.rows.values())
    return paired.weights.size >= FEWEST_ROWS and units >= few and finite


def _held_out(remedy: Remedy, name: str, paired: PairedForecasters) -> Floats:
    """Return the log loss of each row by the maps that were fitted to the rows of other folds."""
    assert remedy.recalibrator.held_out is not None  # a fit of more rows than it keeps takes long
    blocks = (block for chunk in paired.chunks[name]() for block in chunk.forecasts.blocks())
    q, truth = remedy.recalibrator.held_out.recalibrated(blocks)
    losses = np.empty(truth.size)
    correct = apply_limit(q[np.arange(truth.size), truth], paired.floor)
    losses[np.argsort(paired.rows[name].position)] = -np.log(correct)
    return losses


def _difference(a: Floats, b: Floats, paired: PairedForecasters, level: float) -> LossDifference:
    found = uncertain_mean(a - b, paired.weights, paired.dependence)
    half = found.half_width(level)
    return LossDifference(found.mean, Interval(found.mean - half, found.mean + half))
