"""Naming: significant rules one after another, each the clearest beside those named before."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ..._lib.dataclasses import Frozen
from ..._lib.typing import Bools, ByValue, Floats
from ...forecasts.labels import Label
from ...statistics.intervals import wilson
from ...statistics.means import effective_number
from .chance import Chance, evidence, simulated
from .conditions import Column, Condition, bins_of
from .rules import MOST_SHARE, Model, Pair, Scores, SearchedRows, root

if TYPE_CHECKING:
    from .pit import PitModel

    AnyRows: TypeAlias = SearchedRows | PitModel
    AnyModel: TypeAlias = Model | PitModel

LEVEL, MOST = 0.05, 6
"""Level of all rules together, and groups at most."""

_PAIRS, _STEPS, _BETTER, _TRIM, _NEEDED = 10, 16, 0.02, 0.3, 1.0
"""Pairs of columns whose moments are taken anew once those of the common curve are known; places to which a bound may
move; standard errors by which a bound is better there, and that one must add; and the log-likelihood that a condition
must add."""

Rule = Mapping[int, Condition]
"""A condition on each of one or two columns, by their places."""


class FoundGroup(ByValue):
    """A group of rows in which forecasts are wrong, as a rule describes it. Made by `find_groups`."""

    rule: str
    """The conditions as text, such as "age >= 34 and priors < 7"."""
    conditions: tuple[Condition, ...]
    """One or two; those of both columns hold in all rows of the group."""
    error: str
    """What is wrong beyond the error that all rows share: "bias", or "confidence" for a slope; of predictive
    distributions "bias" or "width"."""
    label: Label | None
    """Class that the forecasts are about: the second of two; None for the most probable class."""
    rows: int
    mean_predicted: float
    """Mean prediction as it came. Of distributions the share that calibrated ones have above the median, or for a width
    in 80% intervals."""
    mean_recalibrated: float
    """Mean prediction after the curve that all rows share."""
    observed: float
    """Observed frequency."""
    observed_interval: tuple[float, float]
    """95% confidence interval of the observed frequency, valid for all rules at once and so after the search."""
    effect: float
    """How far the log-odds are to be raised, or the slope; 0 is no error. The largest of many, and so too large. Of
    distributions how many spreads they are too low, or how many times as wide they should be; 1 is no error then."""
    effect_interval: tuple[float, float]
    """95% confidence interval of the effect, valid for all rules at once and so after the search."""
    effect_shrunken: float
    """The effect that is most likely given that the rule was significant."""
    cost: float
    """What the shrunken effect gains on the rows searched after the groups before it, in nats a row of all. Larger is
    worse."""
    p_adjusted: float
    """p-value, adjusted for all rules that were searched."""


class Residuals(ByValue):
    """How far outcomes are from the curve that all rows share, in a table by the one or two columns of a rule."""

    label: Label | None
    """Class that the outcomes and predictions are about, as in `FoundGroup`."""
    columns: tuple[str, ...]
    """The rows of the table are parts of the last; its columns of the first of two, or all rows."""
    parts: tuple[tuple[str, ...], tuple[str, ...]]
    """Names of the table's columns, and of its rows."""
    group: tuple[tuple[int, int], tuple[int, int]]
    """First part of the rule, and the one after its last, of each."""
    rows: tuple[tuple[int, ...], ...]
    """Rows in each cell."""
    means: tuple[tuple[float, ...], ...]
    """Observed frequency less mean prediction after the common curve; NaN in a cell without rows."""

    @classmethod
    def of(cls, columns: Sequence[Column], rule: Rule, label: Label | None, common: AnyModel) -> Residuals:
        """Take the mean residuals by the columns of a rule."""
        found = [(columns[at].name, *columns[at].parts(condition)) for at, condition in rule.items()]
        found.sort(key=lambda each: max(map(len, each[1])))  # long names stand at rows
        every = ["all rows"], np.zeros(len(columns[0].codes), np.int64), (0, 1)
        names, part, own = zip(*([every] * (len(found) == 1)), *(each[1:] for each in found), strict=True)
        shape = len(names[1]), len(names[0])
        w, (_, q, y) = common.rows.w, common.means(False)
        cell = part[1] * shape[1] + part[0]
        n, weight, total = (np.bincount(cell, x, shape[0] * shape[1]) for x in (None, w, w * (y - q)))
        means = np.where(n > 0, total / np.maximum(weight, 1e-300), np.nan)
        tables = (tuple(map(tuple, x.reshape(shape).tolist())) for x in (n, means))
        return cls(label, tuple(name for name, *_ in found), (tuple(names[0]), tuple(names[1])), own, *tables)


class _Named(NamedTuple):
    """A rule that was named."""

    rule: Rule
    slope: int
    two: int
    """Whether the rule of the dictionary had two conditions."""
    evidence: float
    width: float
    """Factor of its variance for dependence."""
    gained: float = 0.0
    """In log-likelihood, as it was named."""


class Correction(ByValue):
    """What is added to the log-odds of a group's rows."""

    conditions: tuple[Condition, ...]
    label: Label | None
    """Class whose log-odds they are: the second of two; None for the most probable class."""
    bias: float
    slope: float
    about: float
    """Log-odds about which the slope turns."""

    def of(self, inside: Bools, s: Floats) -> Floats:
        """Return what is added to log-odds, given which rows are in the group."""
        return np.asarray(inside * (self.bias + self.slope * (s - self.about)))


class Found(NamedTuple):
    """What a search found."""

    groups: tuple[FoundGroup, ...]
    corrections: tuple[Correction, ...]
    """Of the groups, shrunken."""
    rules: tuple[Rule, ...]
    chance: Chance
    p_value: float
    """Of the clearest rule: is any group wrong?"""
    detectable: float
    """Bias in a tenth of the rows that is found with a probability of 80%."""
    common: AnyModel
    """The curve that all rows share."""

    def corrected(self, columns: Sequence[Column], s: Floats) -> Floats:
        """Return what the groups add to log-odds."""
        both = zip(self.corrections, self.rules, strict=True)
        return sum((each.of(rows_of(columns, rule), s) for each, rule in both), start=np.zeros_like(s))


class Search(Frozen, eq=False):
    """How an event's rows are searched.

    Parameters
    ----------
    columns : sequence of Column
        At least two; a bin alone is a column without conditions.
    most : int
        Groups at most.
    events : int
        How many are searched, which share the level.
    seed : int
    """

    columns: Sequence[Column]
    most: int = MOST
    events: int = 1
    seed: int = 0

    def found(self, rows: AnyRows, label: Label | None = None, chance: Chance | None = None) -> Found:
        """Name groups in which forecasts are wrong beyond the error that all rows share; chance may be known."""
        return self.beside(rows.model, label, chance)

    def beside(self, common: AnyModel, label: Label | None, chance: Chance | None) -> Found:
        """Name groups in which forecasts are wrong beyond an error that all rows share."""
        model, level, p_value, named = common, LEVEL / self.events, 1.0, list[_Named]()
        information = 0.0
        while True:
            scores = model.scores(self.columns)
            information = information or float(scores.variance.sum())
            chance = chance or simulated(scores, np.random.default_rng(self.seed))
            if len(scores.pairs) > _PAIRS:
                scores.pairs = _promising(scores, chance)
            clearest, p = _clearest(scores, chance, level)
            p_value = p_value if named else p
            rule = _sharpened(scores, _worse_side(scores, clearest.rule), bool(clearest.slope)) if clearest else {}
            del scores  # as large as what the fits to come take
            if clearest is None:
                break
            larger = model.with_group(rows_of(self.columns, rule), bool(clearest.slope))
            gained, again = model.loss - larger.loss, any(each.rule == rule for each in named)
            if named and (again or gained < _NEEDED):  # where the map of all rows hides two kinds of outcomes
                break
            named.append(clearest._replace(rule=rule, gained=max(gained, 0.0)))
            model = larger
            if len(named) == self.most:
                break
        rules = [each.rule for each in named]
        model, named = _without_needless(self.columns, model, named)
        if rules != [each.rule for each in named]:
            model, named = self._again(common, named, chance)
        described = [*self._groups(common, model, named, chance, label)]
        wide = np.concatenate([each[7][each[2] > 0] for each in chance.known.values()])  # for dependence
        effect = float(wide.mean()) if wide.size else 1.0
        detectable = (chance.critical(0, 0, level) + 0.84) / np.sqrt(0.09 * max(information / effect, 1e-300))
        detectable = detectable if chance.rules else math.nan
        groups, corrections = tuple(group for group, _ in described), tuple(each for _, each in described)
        p_value = min(1.0, self.events * p_value) if chance.rules else 1.0
        return Found(
            groups, corrections, tuple(each.rule for each in named), chance, p_value, float(detectable), common
        )

    def _again(self, common: AnyModel, named: Sequence[_Named], chance: Chance) -> tuple[AnyModel, list[_Named]]:
        """Take the gains of groups anew, without parts of other groups that are no longer clear beside these."""
        model, found, inside = common, list[_Named](), [rows_of(self.columns, each.rule) for each in named]
        for each, rows in zip(named, inside, strict=True):
            larger = model.with_group(rows, bool(each.slope))
            found.append(each._replace(gained=model.loss - larger.loss))
            model = larger
        for at, each in enumerate(found):
            part = any((inside[at] <= other).all() for k, other in enumerate(inside) if k != at)
            bias, slope, _, error = model.effect(at)
            z = abs(slope if each.slope else bias) / (error * math.sqrt(each.width))
            if part and z < chance.critical(each.two, each.slope, LEVEL / self.events):
                return self._again(common, [*found[:at], *found[at + 1 :]], chance)
            if part:
                found[at] = each._replace(evidence=float(evidence(np.array(z))))
        return model, found

    def _groups(
        self, common: AnyModel, model: AnyModel, named: Sequence[_Named], chance: Chance, label: Label | None
    ) -> Iterator[tuple[FoundGroup, Correction]]:
        """Describe groups by weighted means of their rows and by their effects."""
        for at, each in enumerate(named):
            inside = rows_of(self.columns, each.rule)
            critical = chance.critical(each.two, each.slope, LEVEL / self.events)
            weights, (bias, slope, about, error) = model.rows.w[inside], model.effect(at)
            effect, error = slope if each.slope else bias, error * math.sqrt(each.width)
            kept = shrunk(effect / error, critical)
            predicted, recalibrated, observed = (
                float(np.average(x[inside], weights=weights)) for x in common.means(bool(each.slope))
            )
            conditions, n = tuple(each.rule.values()), int(np.count_nonzero(inside))
            rule, kind = " and ".join(one.text for one in conditions), "confidence" if each.slope else "bias"
            interval = effect - critical * error, effect + critical * error
            low, high = wilson(observed, effective_number(weights) / each.width, critical)
            cost = each.gained / len(inside) * kept**2
            p = min(1.0, self.events * float(chance.adjusted(np.array(each.evidence), each.two, each.slope)))
            found = predicted, recalibrated, observed, (low, high), effect, interval, effect * kept, cost, p
            added = Correction(conditions, label, bias * kept, slope * kept, about)
            yield FoundGroup(rule, conditions, kind, label, n, *found), added


def rows_of(columns: Sequence[Column], rule: Rule) -> Bools:
    """Which rows fulfil all conditions."""
    every = np.ones(len(columns[0].codes), dtype=np.bool_)
    return np.asarray(np.logical_and.reduce([every, *(columns[at].holds(condition) for at, condition in rule.items())]))


def _clearest(scores: Scores, chance: Chance, level: float) -> tuple[_Named | None, float]:
    """Return the rule that is clearest for its class, if any is significant, and the smallest adjusted p-value."""
    best, most, least = None, 0.0, 1.0
    for pair, slope, two, at, wide, z in _largest(scores, chance):
        x = float(evidence(np.array(z)))
        adjusted = float(chance.adjusted(np.array(x), two, slope))
        surplus = max(x - float(chance.each.location[two, slope]), 1e-9)
        least = min(least, adjusted)
        if adjusted < level and surplus > most:
            rule = {c: of for c, k in zip(pair, at, strict=True) if (of := scores.columns[c].conditions[k])}
            most, best = surplus, _Named(rule, slope, two, x, wide)
    return best, least


def _promising(scores: Scores, chance: Chance) -> list[Pair]:
    """Return the pairs of columns whose rules are the clearest by about the moments that they have."""
    pairs, z = zip(*scores.strongest(chance.known, len(scores.variance) / chance.n_rows), strict=True)
    surplus = evidence(np.array(z)) - chance.each.location.T
    order, least = surplus.max(axis=(1, 2)).argsort(), (surplus / chance.each.scale.T).max(axis=(1, 2)).argmax()
    return sorted(pairs[at] for at in {*order[-_PAIRS:].tolist(), int(least)})


def _largest(scores: Scores, chance: Chance) -> Iterator[tuple[Pair, int, int, tuple[int, int], float, float]]:
    """Yield the largest |root| of each pair of columns, by bias or slope and by one or two conditions.

    With the place of its rule, and the factor of the variance for dependence.
    """
    for pair, both in scores.scores(scores.scored):
        for slope, (score, moments) in enumerate(zip(both, scores.of[pair].kinds, strict=True)):
            wide = chance.widths[pair][slope] if chance.widths else np.ones(score.shape[1:])
            z = np.abs(root(score[0], moments.times(wide)))
            for two, part in ((0, np.s_[:1, :]), (0, np.s_[:, :1]), (1, np.s_[1:, 1:])):
                if z[part].size:
                    row, column = divmod(int(np.argmax(z[part])), z[part].shape[1])
                    at = row + two, column + two
                    yield pair, slope, two, at, float(wide[at]), float(z[at])


def _worse_side(scores: Scores, rule: Rule) -> Rule:
    """Of a condition and its complement, which have the same score, take the one that is further off a row."""
    if len(rule) > 1:
        return rule
    [(at, condition)], column = rule.items(), scores.columns[next(iter(rule))]
    empty = np.bincount(column.codes, minlength=column.sets.shape[1]) == 0
    own = column.sets[column.conditions.index(condition)]
    opposite = ((column.sets + own == 1) | empty).all(axis=1)
    sides = [condition, *(c for c, other in zip(column.conditions, opposite, strict=True) if other and c)]
    return {at: max(sides, key=lambda c: scores.rows.at(column.holds(c)).error) if len(sides) > 1 else condition}


def _sharpened(scores: Scores, rule: Rule, slope: bool) -> Rule:
    """Move each bound of a number within the neighbouring bins to the largest score; drop bounds that add little."""

    def strength(rule: Rule) -> float:
        outside = ~rows_of(scores.columns, rule)
        return float(scores.strength(scores.sums(outside.view(np.uint8), 1)[0], slope))

    best = strength(rule)
    ends = [(at, end) for at, c in rule.items() for end in (0, 1) if c.ends != (None, None)]
    for at, end in ends * 2:
        for cut, z in _moved(scores, rule, at, end, slope):
            if z > best + _BETTER:
                best, rule = z, {**rule, at: rule[at].moved(end, cut)}
    for at, end in ends:
        if at in rule and rule[at].ends[end] is not None:
            new = _opened(rule, at, end)
            if new and strength(new) > best - _TRIM:
                rule = new
    return rule


def _opened(rule: Rule, at: int, end: int) -> Rule:
    """Return the rule without an end of a condition, and without the condition if that was its only one."""
    wider = rule[at].moved(end, None)
    return {k: c for k, c in {**rule, at: wider}.items() if k != at or c.ends != (None, None)}


def _moved(scores: Scores, rule: Rule, at: int, end: int, slope: bool) -> Iterator[tuple[float, float]]:
    """Yield places to which an end of a condition may be moved, and the strength of the rule with each."""
    column, here, other = scores.columns[at], rule[at].ends[end], rule[at].ends[1 - end]
    if here is None:
        return
    cuts = column.cuts_near(here, _STEPS)
    if other is not None:
        cuts = cuts[cuts > other] if end else cuts[cuts < other]
    inside = ~np.isnan(column.values) & rows_of(scores.columns, _opened(rule, at, end))
    code = np.where(inside, bins_of(column.values, cuts), np.uint8(len(cuts) + 1))
    below = np.cumsum(scores.sums(code, len(cuts) + 1), axis=0)
    found = scores.strength(below[:-1] if end else below[-1] - below[:-1], slope)
    yield from zip(cuts.tolist(), found.tolist(), strict=True)


def _without_needless(
    columns: Sequence[Column], model: AnyModel, named: Sequence[_Named]
) -> tuple[AnyModel, list[_Named]]:
    """Leave out conditions of biases that the other groups have made needless."""
    found = []
    for place, group in enumerate(named):
        for at in group.rule if len(group.rule) > 1 and not group.slope else ():
            rule = {k: c for k, c in group.rule.items() if k != at}
            inside = rows_of(columns, rule)
            other = model.with_rows(place, inside)
            if inside.mean() < MOST_SHARE and other.loss < model.loss + _NEEDED:
                model, group = other, group._replace(rule=rule)  # noqa: PLW2901
                break
        found.append(group)
    return model, found


def shrunk(z: float, critical: float) -> float:
    """Return the share of z that is most likely its mean given that |z|, the largest of many, exceeded a limit."""
    from scipy.special import log_ndtr

    if not z:
        return 0.0
    mean = np.linspace(0, abs(z), 400)
    chosen = np.logaddexp(log_ndtr(mean - critical), log_ndtr(-critical - mean))
    return float(mean[np.argmax(-((abs(z) - mean) ** 2) / 2 - chosen)] / abs(z))
