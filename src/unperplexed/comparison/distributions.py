"""Compare predictive distributions of several forecasters: outcomes and forecasts in, a DistributionComparison out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lib.dataclasses import replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of, p_value_text, short_name
from .._lib.serialize import plain_values
from .._lib.typing import Bools, ByValue, Floats
from .._version import __version__
from ..assessment.distribution_result import DistributionAssessment
from ..assessment.distributions import Scored, assessed
from ..calibration.distribution_rows import DistributionRows, RowMeans, check_alike, read_distributions
from ..calibration.undeclared import largest_of
from ..forecasts.distributions.distribution import Distribution
from ..forecasts.distributions.partitions import Quantiles
from ..forecasts.distributions.predictive import Predictive
from ..pairing.distribution_skill import REFERENCES, Against, DistributionSettings, reference_scores, skill_against
from ..report.document import inside
from ..report.document import listed as in_words
from ..report.result import JsonResult, picture
from ..scores.distributions.rules import DistributionScore, scores_that_apply, title_beside
from ..statistics.intervals import Interval, checked_sampling, simultaneous
from .result import Difference, PairDifferences
from .samples import Tested, judged, row_differences
from .verdict import first_names

if TYPE_CHECKING:
    from typing import Any

    from matplotlib.axes import Axes

    from ..pairing.distribution_skill import ScoreSkill


def compared_distributions(
    y_true: Any, forecasts: Mapping[str, Predictive], settings: DistributionSettings
) -> DistributionComparison:
    """Compare predictive distributions; `compare` describes it."""
    confidence = settings.confidence
    checked_sampling(confidence, 0, 0)
    rows = _read(y_true, forecasts, settings.reading)
    first = next(iter(rows.values()))
    rules, scores = _scored(rows, settings)
    against = _against(first, rules[0], scores, settings.reference)
    found = {name: assessed(each, Scored(scores[name], against), confidence) for name, each in rows.items()}
    ranked = sorted(found, key=lambda name: found[name].scores[rules[0].name].value)
    of = against.name if against.name in rows else ""
    pairs = [pair for pair in combinations(ranked, 2) if not of or of in pair]
    level = simultaneous(np.zeros(len(rows) - bool(of)), confidence)[1]
    by, means = rules[0].name, first.means
    skill = {name: skill_against(first, by, scores[name][by], against, level) for name in ranked}
    notes = tuple(f"{name}: {note}" for name in ranked for note in found[name].notes)
    best_first, differences = {name: found[name] for name in ranked}, _differences(pairs, scores, means, confidence)
    return DistributionComparison(best_first, differences, first.rows.n, confidence, skill, of, notes)


def _read(y_true: Any, forecasts: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, DistributionRows]:
    """Read the rows that all forecasters have, in the clusters of the largest dependence that is found in any."""
    if len(forecasts) < 2:
        raise InputError("forecasts: a comparison takes at least two forecasters.")
    check_alike(forecasts)
    there = _complete(forecasts, reading)
    rows = {name: read_distributions(y_true, each, reading, there) for name, each in forecasts.items()}
    search = largest_of([each.search for each in rows.values()])
    groups = next(each.groups for each in rows.values() if each.search is search)
    return {name: replace(each, groups=groups, search=search) for name, each in rows.items()}


def _complete(forecasts: Mapping[str, Predictive], reading: Mapping[str, Any]) -> Bools:
    """Say in which rows all forecasts are complete; others are left out only if that is asked for."""
    there = np.logical_and.reduce([each.complete for each in forecasts.values()])
    if reading.get("invalid") != "drop":
        for name, each in forecasts.items():
            if lost := int(np.count_nonzero(each.complete & ~there)):
                gone = f"{lost:,} rows of {name!r} have no complete forecast of another forecaster"
                remedy = 'invalid="drop" (--invalid drop) leaves these rows out for all.'
                raise InputError(f"forecasts: {gone}. {remedy}")
    return np.asarray(there)


def _scored(
    rows: Mapping[str, DistributionRows], settings: DistributionSettings
) -> tuple[list[DistributionScore], dict[str, dict[str, Floats]]]:
    """Score all rows by the rules that apply to all forms, and by those that are named."""
    alike = _alike({name: each.forecast for name, each in rows.items()})
    y = next(iter(rows.values())).y
    measures = {_measure(each) for each in alike.values()}
    unlike = ("log_score",) if None in measures or len(measures) > 1 else ()
    first, *others = ({rule.name: rule for rule in scores_that_apply(each, y)} for each in alike.values())
    rules = {name: rule for name, rule in first.items() if name not in unlike and all(name in x for x in others)}
    rules |= {rule.name: rule for rule in settings.rules()}
    if not rules:
        forms = ", ".join(dict.fromkeys(each.form for each in alike.values()))
        raise InputError(f"forecasts: {forms} have no scores in common. Give Quantiles, Samples or Distribution.")
    found = {name: {of: rule.rows(y, each) for of, rule in rules.items()} for name, each in alike.items()}
    return [*rules.values()], found


def _alike(forecasts: Mapping[str, Predictive]) -> Mapping[str, Predictive]:
    """Take all forecasts by the levels of those that are quantiles, if there are any: only these scores are alike."""
    known = {name: each.levels for name, each in forecasts.items() if isinstance(each, Quantiles)}
    if not known:
        return forecasts
    (first, levels), *others = known.items()
    for name, own in others:
        if own.shape != levels.shape or not np.allclose(own, levels, atol=1e-9, rtol=0):
            differ = f"{first!r} has {len(levels)} levels, {name!r} {len(own)} that differ"
            remedy = "scores by other levels do not compare. Give all the levels that both have."
            raise InputError(f"forecasts: {differ}: {remedy}")
    return {
        name: each if name in known else Quantiles(levels, each.quantile(levels)) for name, each in forecasts.items()
    }


def _measure(forecast: Predictive) -> tuple[bool, bool] | None:
    """Say what densities are of, which compare within one kind; cells are each forecaster's own, and never do."""
    if not isinstance(forecast, Distribution):
        return None
    return forecast.discrete, "zero" in forecast.parameters


def _against(
    rows: DistributionRows, rule: DistributionScore, scores: Mapping[str, Mapping[str, Floats]], reference: Any
) -> Against:
    if isinstance(reference, str) and reference in scores:
        return Against(reference, scores[reference][rule.name])
    if isinstance(reference, str) and reference not in REFERENCES:
        named = f"{listed([*scores])}; {' and '.join(REFERENCES)} are other references"
        raise InputError(f"reference: {reference!r} is none of the forecasters {named}.")
    return reference_scores(rows, rule, reference)


def _differences(
    pairs: Sequence[tuple[str, str]], scores: Mapping[str, Mapping[str, Floats]], means: RowMeans, confidence: float
) -> tuple[PairDifferences, ...]:
    """Test the differences of pairs, by each rule together."""

    def tested(first: str, second: str, rule: str) -> Tested:
        each = row_differences(scores[first][rule], scores[second][rule])
        return Tested(means.uncertain(each), Interval(-np.inf, np.inf), not each.any())

    found = {pair: {rule: tested(*pair, rule) for rule in scores[pair[0]]} for pair in pairs}
    return tuple(PairDifferences(*pair, each) for pair, each in judged([found], confidence)[0].items())


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
        """Call a score as tables do: the CRPS by quantiles is the WIS, by members alone the fair CRPS."""
        of_members = all(each.form.endswith("members") for each in self.forecasters.values())
        return title_beside(score, self.scores, "members" * of_members)

    def between(self, first: str, second: str) -> Mapping[str, Difference]:
        """Give the differences of the first forecaster's mean scores minus the second's, by the score's name."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair.differences
            if (pair.second, pair.first) == (first, second):
                return {score: each.mirrored() for score, each in pair.differences.items()}
        with_one = f", each compared with {self.reference!r} alone" * bool(self.reference)
        known = f"forecasters are {in_words([*map(repr, self.forecasters)])}{with_one}"
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
        others, title = [*self.forecasters][1:], inside(self.title(self.scores[0]))
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
        yield f"{short_name(next(iter(self.forecasters)))} is first by {inside(self.title(self.scores[0]))}"

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
