"""Naming: significant rules one after another, each the clearest beside those named before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..._lib.dataclasses import dataclass, replace
from ..._lib.typing import Bools, Floats
from .chance import Chance, evidence, simulated
from .conditions import Column, Condition
from .model import Model, SearchedRows, raw_error
from .rules import MOST_SHARE, Scores, root

LEVEL, MOST = 0.05, 6
"""Level of all rules together, and groups at most."""

_STEPS, _BETTER, _TRIM, _NEEDED = 16, 0.02, 0.3, 1.0
"""Places to which a bound may move; standard errors by which a bound is better there, and that one must add; and the
log-likelihood that a condition must add."""

Rule = Mapping[int, Condition]
"""A condition on each of one or two columns, by their places."""


class Candidate(NamedTuple):
    """A significant rule of the dictionary."""

    surplus: float
    """Evidence beyond what the largest of its class has by chance."""
    rule: dict[int, Condition]
    two: int
    slope: int
    evidence: float
    width: float
    """Factor of its variance for dependence."""


@dataclass(frozen=True, eq=False)
class NamedGroup:
    """A group of rows that was named."""

    rule: Rule
    inside: Bools
    slope: bool
    p_adjusted: float
    critical: float
    """|z| that the largest of all rules exceeds by chance at the level."""
    width: float
    cost: float
    """What it gained as it was named, in nats a row of all."""
    effect: float = 0.0
    """In log-odds, or the slope's difference."""
    error: float = 0.0
    """Its standard error."""
    offset: tuple[float, ...] = ()
    """Shrunken bias, of a slope also the log-odds about which it turns and its difference."""

    @property
    def shrunk(self) -> float:
        """Part of the effect that is left once one allows for having chosen the largest."""
        z = abs(self.effect) / self.error
        return selected(z, self.critical) / z if z > 0 else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the effect that holds for all rules at once."""
        half = self.critical * self.error
        return self.effect - half, self.effect + half


class Found(NamedTuple):
    """What a search found."""

    groups: tuple[NamedGroup, ...]
    chance: Chance
    p_value: float
    """Of the clearest rule: is any group wrong?"""
    common: Floats
    """Log-odds after the common curve."""
    detectable: float
    """Bias in a tenth of the rows that is found with a probability of 80%."""

    def offsets(self, columns: Sequence[Column], s: Floats) -> Floats:
        """Return what the groups add to log-odds."""
        total = np.zeros_like(s)
        for group in self.groups:
            inside = rows_of(columns, group.rule)
            bias, *slope = group.offset
            total += inside * (bias + (slope[1] * (s - slope[0]) if slope else 0.0))
        return total


def find(
    columns: Sequence[Column],
    rows: SearchedRows,
    rng: np.random.Generator,
    most: int = MOST,
    level: float = LEVEL,
    chance: Chance | None = None,
) -> Found:
    """Name groups of rows in which forecasts are wrong beyond the error that all rows share.

    Parameters
    ----------
    columns : sequence of Column
        At least two; a bin alone is a column without conditions.
    rows : SearchedRows
    rng : Generator
    most : int
        Groups at most.
    level : float
        Of all rules together.
    chance : Chance, optional
        As an earlier search of these columns simulated it.
    """
    model = Model.of(rows)
    common, p_value = model, 1.0
    groups: list[NamedGroup] = []
    while True:
        scores = Scores(columns, model)
        chance = chance or simulated(scores, rng)
        candidate, p = _clearest(scores, chance, level)
        p_value = p_value if groups else p
        if candidate is None:
            break
        rule = _sharpened(scores, _worse_side(columns, candidate.rule, rows), bool(candidate.slope))
        inside, before = rows_of(columns, rule), model.loss
        model = model.with_group(inside, bool(candidate.slope))
        groups.append(
            NamedGroup(
                rule,
                inside,
                bool(candidate.slope),
                float(chance.adjusted(np.array(candidate.evidence), candidate.two, candidate.slope)),
                chance.critical(candidate.two, candidate.slope, level),
                candidate.width,
                (before - model.loss) / len(rows.s),
            )
        )
        if len(groups) == most:
            break
    model, groups = _without_needless(columns, model, groups)
    information = float(Scores([], common).variance.sum()) / chance.design_effect
    detectable = (chance.critical(0, 0, level) + 0.84) / np.sqrt(0.09 * max(information, 1e-300))
    return Found(tuple(_estimated(model, groups)), chance, p_value, common.log_odds, float(detectable))


def rows_of(columns: Sequence[Column], rule: Rule) -> Bools:
    """Which rows fulfil all conditions."""
    return np.asarray(np.logical_and.reduce([columns[at].holds(condition) for at, condition in rule.items()]))


def _clearest(scores: Scores, chance: Chance, level: float) -> tuple[Candidate | None, float]:
    """Return the rule that is clearest for its class, if any is significant, and the smallest adjusted p-value."""
    best, least = None, 1.0
    for pair, each in scores.observed():
        for slope, (score, moments) in enumerate(zip(each, scores.of[pair], strict=False)):
            wide = chance.widths[pair][slope] if chance.widths else np.ones(score.shape)
            known = moments.times(wide)
            z = np.where(moments.fine, root(score, known.variance, known.third), 0.0)
            x, two = evidence(z), np.ones(z.shape, dtype=np.int64)
            two[0], two[:, 0] = 0, 0
            adjusted = chance.adjusted(x, two, slope)
            least = min(least, float(adjusted.min()))
            surplus = np.where(adjusted < level, np.maximum(x - chance.each.location[two, slope], 1e-9), 0.0)
            at = np.unravel_index(int(np.argmax(surplus)), surplus.shape)
            if surplus[at] > (0.0 if best is None else best.surplus):
                rule = {c: of for c, k in zip(pair, at, strict=True) if (of := scores.columns[c].conditions[k])}
                best = Candidate(float(surplus[at]), rule, int(two[at]), slope, float(x[at]), float(wide[at]))
    return best, least


def _worse_side(columns: Sequence[Column], rule: dict[int, Condition], rows: SearchedRows) -> dict[int, Condition]:
    """Of a condition and its complement, which have the same score, take the one that is further off a row."""
    if len(rule) > 1:
        return rule
    [(at, condition)], column = rule.items(), columns[next(iter(rule))]
    there = np.bincount(column.codes, minlength=column.size) > 0
    own = column.sets[column.conditions.index(condition)]
    opposite = ((column.sets + own == 1) | ~there).all(axis=1)
    sides = [condition, *(c for c, other in zip(column.conditions, opposite, strict=True) if other and c)]
    return {at: max(sides, key=lambda c: raw_error(rows.at(column.holds(c)))) if len(sides) > 1 else condition}


def _sharpened(scores: Scores, rule: dict[int, Condition], slope: bool) -> dict[int, Condition]:
    """Move each bound of a number within the neighbouring bins to the largest score; drop bounds that add little."""

    def strength(rule: Rule) -> float:
        return float(scores.strengths(scores.sums_of(rows_of(scores.columns, rule)), slope))

    best = strength(rule)
    ends = [(at, end) for at, c in rule.items() for end in (0, 1) if not (c.values or c.missing)]
    for at, end in ends * 2:
        here = (rule[at].low, rule[at].high)[end]
        if here is not None:
            cuts, found = _moved(scores, rule, (at, end), here, slope)
            for cut, z in zip(cuts.tolist(), found.tolist(), strict=True):
                if z > best + _BETTER:
                    best, rule = z, {**rule, at: rule[at].moved(end, cut)}
    for at, end in ends:
        if at in rule:
            wider = rule[at].moved(end, None)
            new = {k: c for k, c in {**rule, at: wider}.items() if not c.empty}
            if new and wider != rule[at] and strength(new) > best - _TRIM:
                rule = new
    return rule


def _moved(scores: Scores, rule: Rule, which: tuple[int, int], here: float, slope: bool) -> tuple[Floats, Floats]:
    """Return places to which an end of a condition may be moved, and the strength of the rule with each."""
    at, end = which
    column = scores.columns[at]
    cuts = column.cuts_near(here, _STEPS)
    other = rule[at].low if end else rule[at].high
    if other is not None:
        cuts = cuts[cuts > other] if end else cuts[cuts < other]
    opened = {k: c for k, c in {**rule, at: rule[at].moved(end, None)}.items() if not c.empty}
    inside = ~np.isnan(column.values) & (rows_of(scores.columns, opened) if opened else True)
    sums = scores.sums_by(inside, np.searchsorted(cuts, column.values, side="right"), len(cuts) + 1)
    below = np.cumsum(sums, axis=0)
    return cuts, scores.strengths(below[:-1] if end else below[-1] - below[:-1], slope)


def _without_needless(
    columns: Sequence[Column], model: Model, groups: Sequence[NamedGroup]
) -> tuple[Model, list[NamedGroup]]:
    """Leave out conditions of biases that the other groups have made needless."""
    place, found = model.common, []
    for group in groups:
        for at in group.rule if len(group.rule) > 1 and not group.slope else ():
            rule = {k: c for k, c in group.rule.items() if k != at}
            inside = rows_of(columns, rule)
            other = model.with_other(place, inside)
            if inside.mean() < MOST_SHARE and other.loss < model.loss + _NEEDED:
                model, group = other, replace(group, rule=rule, inside=inside)  # noqa: PLW2901
                break
        found.append(group)
        place += 1 + group.slope
    return model, found


def _estimated(model: Model, groups: Sequence[NamedGroup]) -> list[NamedGroup]:
    """Add effects, of the bias or of the slope, and what is applied to new rows."""
    place, found, theta, s = model.common, [], model.fit.theta, model.rows.s
    errors = np.sqrt(np.diag(model.covariance)) if groups else theta
    for group in groups:
        last = place + group.slope
        error = float(errors[last]) * np.sqrt(group.width)
        known = replace(group, effect=float(theta[last]), error=error)
        about = (float(s[group.inside].mean()), known.shrunk * float(theta[last])) if group.slope else ()
        offset = (known.shrunk * float(theta[place]), *about)
        found.append(replace(known, offset=offset, cost=group.cost * known.shrunk**2))
        place = last + 1
    return found


def selected(z: float, critical: float) -> float:
    """Return the mean that is most likely given that |z| exceeded a limit: it allows for the choice of the largest."""
    from scipy.special import log_ndtr

    mean = np.linspace(0, z, 400)
    chosen = np.logaddexp(log_ndtr(mean - critical), log_ndtr(-critical - mean))
    return float(mean[np.argmax(-((z - mean) ** 2) / 2 - chosen)])
