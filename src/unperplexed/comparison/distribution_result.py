"""DistributionComparison: predictive distributions of several forecasters on the same rows, and who is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .._lib.errors import InputError
from .._lib.formatting import number_of, p_value_text, short_name
from .._lib.serialize import plain_values
from .._lib.typing import ByValue
from .._version import __version__
from ..assessment.distribution_result import DistributionAssessment
from ..report.document import inside, listed
from ..report.result import JsonResult, picture
from ..scores.distributions.rules import title_beside
from .result import Difference, PairDifferences
from .verdict import first_names

if TYPE_CHECKING:
    from typing import Any

    from matplotlib.axes import Axes

    from ..pairing.distribution_skill import ScoreSkill


class DistributionComparison(JsonResult, ByValue):
    """Predictive distributions of a number by several forecasters on the same rows. Made by `compare`; all is final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()`` or ``.to_json()``.
    """

    forecasters: Mapping[str, DistributionAssessment]
    """Assessment of each on the rows compared, the best by the first score first."""
    pairs: tuple[PairDifferences, ...]
    """Differences of mean scores, the better one by the first score minus the other; smaller scores are better. With a
    forecaster as the reference, those of others from it alone."""
    n_rows: int
    confidence: float
    skill: Mapping[str, ScoreSkill]
    """Skill of each against climatology or the reference; intervals hold together for all that are compared with it."""
    reference: str = ""
    """Name of the forecaster that the others are compared with; "" where all are compared with one another."""
    notes: tuple[str, ...] = ()
    """What was seen or left out on the way in."""
    version: str = __version__

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores by which all are compared; forecasters come in the order of the first."""
        return tuple(self.pairs[0].differences)

    def title(self, score: str) -> str:
        """Call a score as tables do: the CRPS by quantiles is the WIS."""
        return title_beside(score, self.scores)

    def between(self, first: str, second: str) -> Mapping[str, Difference]:
        """Give the differences of the first forecaster's mean scores minus the second's, by the score's name."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair.differences
            if (pair.second, pair.first) == (first, second):
                return {score: each.mirrored() for score, each in pair.differences.items()}
        with_one = f", each compared with {self.reference!r} alone" * bool(self.reference)
        known = f"forecasters are {listed([*map(repr, self.forecasters)])}{with_one}"
        raise InputError(f"no pair {first!r} and {second!r}; {known}.")

    @property
    def verdict(self) -> str:
        """Who is better, in sentences."""
        return " ".join(f"{each}." for each in self.clauses())

    def clauses(self) -> Iterator[str]:
        """Say who is first by the first score, who is not told apart from it, and whether other scores disagree.

        With a forecaster as the reference, say by each score who is better, worse or not told apart from it.
        """
        if self.reference:
            yield from self._against_reference()
            return
        score, first = self.scores[0], next(iter(self.forecasters))
        others, title = [*self.forecasters][1:], self.title(self.scores[0])
        found = {name: self.between(first, name)[score] for name in others}
        close = [name for name, each in found.items() if not self.significant(each)]
        if close:
            told = first_names([f"{short_name(name)} ({p_value_text(found[name].adjusted_p_value)})" for name in close])
            yield f"{short_name(first)} is first by {title}, but not distinguishable from {told}"
        else:
            least = max(each.adjusted_p_value for each in found.values())
            yield f"{short_name(first)} is best by {title} ({p_value_text(least, '=' if len(others) == 1 else '<=')})"
        if len(others) > len(close) > 0:
            yield f"It is better than {first_names([short_name(name) for name in others if name not in close])}"
        yield from self._others(first)

    def _against_reference(self) -> Iterator[str]:
        others, reference = [name for name in self.forecasters if name != self.reference], short_name(self.reference)
        for score in self.scores:
            found, said = {name: self.between(name, self.reference)[score] for name in others}, dict[str, list[str]]()
            for name in sorted(found, key=lambda name: not self.significant(found[name])):
                known = "better than" if found[name].difference < 0 else "worse than"
                how = known if self.significant(found[name]) else "not distinguishable from"
                said.setdefault(how, []).append(f"{short_name(name)} ({p_value_text(found[name].adjusted_p_value)})")
            told = [
                f"{first_names(of)} {'is' if len(of) == 1 else 'are'} {how} {reference}" for how, of in said.items()
            ]
            yield f"By {inside(self.title(score))}, {'; '.join(told)}"
        yield f"{short_name(next(iter(self.forecasters)))} is first by {self.title(self.scores[0])}"

    def _others(self, first: str) -> Iterator[str]:
        """Say by which other scores another forecaster is first."""
        for score in self.scores[1:]:
            best = min(self.forecasters, key=lambda name: self.forecasters[name].scores[score].value)
            if best == first:
                known = [name for name in self.forecasters if name != first and self._better(first, name, score)]
                more = [short_name(name) for name in known if not self._better(first, name, self.scores[0])]
                if more:
                    also = "also " * (len(more) < len(known))
                    yield f"By {inside(self.title(score))} it is {also}better than {first_names(more)}"
            else:
                found, title = self.between(first, best)[score], inside(self.title(score))
                better = "better than" if self.significant(found) else "but not distinguishable from"
                p = p_value_text(found.adjusted_p_value)
                yield f"The scores disagree: by {title} {short_name(best)} is first, {better} {short_name(first)} ({p})"

    def _better(self, first: str, second: str, score: str) -> bool:
        found = self.between(first, second)[score]
        return found.difference < 0 and self.significant(found)

    def significant(self, each: Difference) -> bool:
        """Whether a difference is significant, after adjustment for the number of pairs that are compared."""
        return bool(each.adjusted_p_value < 1 - self.confidence)

    def plot(self, ax: Axes | None = None, *, score: str | None = None) -> Axes:
        """Draw the paired differences with their confidence intervals (a forest plot).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        score : str, optional
            Name in ``scores``; by default the first.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return picture(self, ax, score)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        each = {name: assessment.to_dict() for name, assessment in self.forecasters.items()}
        return {"verdict": self.verdict, **plain_values(self), "forecasters": each}

    def __repr__(self) -> str:
        """Name it in one line."""
        first, on = short_name(next(iter(self.forecasters))), number_of(self.n_rows, "row")
        return f"<DistributionComparison of {len(self.forecasters)} forecasters on {on}: {first} first>"
