"""The verdict of a comparison: which forecaster is better, by which scoring rules, in a sentence or two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .._lib.dataclasses import Frozen
from .._lib.formatting import number_of, p_value_text
from ..pairing.skill_result import conclusion_about
from ..scores.rules import BRIER_SCORE, LOG_LOSS, rule_at_floor

_RULES = {LOG_LOSS: "log loss", BRIER_SCORE: "Brier score"}
"""The rules of the verdict, both proper and both better when smaller."""


Compared = Any
"""A `Comparison`, which has its verdict from here."""


class Said(NamedTuple):
    """A clause of the verdict."""

    words: str
    by_name: bool = True
    """Whether it begins with the name of a forecaster, which keeps its case."""


def verdict_clauses(c: Compared, *, p_values: bool = True) -> tuple[Said, ...]:
    """State who is better by log loss and by Brier score, and who assigned 0 to observed outcomes.

    Of three forecasters or more, one of whom is the reference, say first which of the others beat it. Forecasters
    come by rising log loss. A difference counts where its adjusted p-value is below 1 minus the confidence.
    Without ``p_values`` those that stand alone in brackets are left out.
    """
    zeros = [name for name, each in c.forecasters.items() if each.zero_rows]
    assigned = [_assigned(name, c.forecasters[name].zero_rows, at) for at, name in enumerate(zeros)]
    of_zeros = [Said(first_names(assigned, ", "))] * bool(zeros)
    finite = [name for name in c.forecasters if c.scored_floor or name not in zeros]  # or no floor was asked for
    against = _against_reference(c, p_values)
    if len(finite) > 1:
        return (*against, *_Tests(c, p_values).clauses(finite), *of_zeros)
    first = Said(f"{finite[0]} is first by log loss") if finite else Said("no forecaster is first", by_name=False)
    return (*against, first, *of_zeros)


def _against_reference(c: Compared, p_values: bool) -> Iterator[Said]:
    """Say who beats the forecaster that is the reference, by the tests of skill; of two the verdict says it already."""
    one = c.skill is not None and len(c.forecasters) > 2 and c.skill.reference in c.forecasters
    for name, each in c.skill.whole.scores.items() if one else ():
        p = f" (log loss {p_value_text(each[LOG_LOSS].adjusted_p_value)})" * p_values
        yield Said(f"{conclusion_about(c.skill, name)[0]}{p}", by_name=False)


def _assigned(name: str, rows: int, at: int) -> str:
    return f"{name}{' assigned 0 to observed outcomes' * (at == 0)} in {number_of(rows, 'row')}"


MOST_NAMED = 5
"""Names that a sentence has at most."""


def first_names(names: Sequence[str], between: str = " and ") -> str:
    """Name all of up to five, of more the first three."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return between.join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


class _Tests(Frozen):
    """Tests of all pairs by both rules, and what follows from them in words."""

    c: Compared
    p_values: bool

    def clauses(self, ranked: Sequence[str]) -> list[Said]:
        """State what the tests show for these forecasters, the smallest log loss first."""
        first = ranked[0]
        tied = [name for name in ranked if name == first or all(self.of(rule, first, name).equal for rule in _RULES)]
        others = [name for name in ranked if name not in tied]
        if not others:
            same = all(each.equal for name in tied[1:] for each in self.c.between(first, name).differences.values())
            what = "score the same" if same else "have the same log loss and Brier score"
            return [Said(f"{first_names(tied)} {what} in every row")]
        brier_first = min(ranked, key=lambda name: self.c.forecasters[name].scores[BRIER_SCORE].mean)
        if len(ranked) == 2:
            return self._two(*ranked)
        if brier_first in tied:
            return [Said(self._one_first(tied, others))]
        return self._two(first, brier_first) + self._rest(first, brier_first, others)

    def of(self, rule: str, a: str, b: str) -> Any:
        """Compare a to b."""
        return self.c.between(a, b).differences[rule]

    def better(self, rule: str, a: str, b: str) -> bool:
        """Whether a has the smaller score, significantly."""
        found = self.of(rule, a, b)
        return bool(found.difference < 0 and found.adjusted_p_value < 1 - self.c.confidence)

    def p(self, rule: str, a: str, b: str) -> str:
        """Adjusted p-value in words."""
        return p_value_text(self.of(rule, a, b).adjusted_p_value)

    def in_brackets(self, p: str) -> str:
        """Give a p-value behind what it is about."""
        return f" ({p})" if self.p_values else ""

    def rule(self, name: str) -> str:
        """Name a rule; the log loss with its floor, if it has one."""
        return rule_at_floor(name, self.c.scored_floor)

    def _two(self, first: str, second: str) -> list[Said]:
        """Compare two, of which the first has the smaller log loss, or the same."""
        by = {rule: self._better_of(rule, first, second) for rule in _RULES}
        p = {rule: self.p(rule, first, second) for rule in _RULES}
        p_of = {rule: f"{self.rule(rule)}{self.in_brackets(p[rule])}" for rule in _RULES}
        log_loss, brier = by[LOG_LOSS], by[BRIER_SCORE]
        if log_loss and log_loss == brier:
            return [Said(f"{log_loss} beats {second} by {p_of[LOG_LOSS]} and {p_of[BRIER_SCORE]}")]
        if log_loss and brier:
            better = f"{log_loss} is better by {p_of[LOG_LOSS]}, {brier} by {p_of[BRIER_SCORE]}"
            return [Said(f"the scoring rules disagree: {better}", by_name=False)]
        if self.of(LOG_LOSS, first, second).equal:
            outcome = f"{brier} is better" if brier else "they are not distinguishable"
            same = Said(f"{first} and {second} have the same log loss in every row")
            return [same, Said(f"{outcome} by {p_of[BRIER_SCORE]}", by_name=bool(brier))]
        for rule, other in ((LOG_LOSS, BRIER_SCORE), (BRIER_SCORE, LOG_LOSS)):
            if better := by[rule]:
                worse = second if better == first else first
                return [Said(f"{better} is better than {worse} by {p_of[rule]}, not by {p_of[other]}")]
        both = ", ".join(f"{_RULES[rule]} {p[rule]}" for rule in _RULES)
        if not self._tested(first, [second]):
            return [Said(f"{first} is first by {self.rule(LOG_LOSS)}, but no p-value can be computed")]
        return [Said(f"{first} is first by {self.rule(LOG_LOSS)}, but not distinguishable from {second} ({both})")]

    def _better_of(self, rule: str, a: str, b: str) -> str:
        return a if self.better(rule, a, b) else b if self.better(rule, b, a) else ""

    def _tested(self, first: str, others: Sequence[str]) -> bool:
        """Whether there is any p-value."""
        return not all(math.isnan(self.of(rule, first, name).adjusted_p_value) for rule in _RULES for name in others)

    def _one_first(self, tied: Sequence[str], others: Sequence[str]) -> str:
        """Compare one, or several that are alike, who have the smallest score by both rules, to the others."""
        first, who = tied[0], f"{first_names(tied)} {'is' if len(tied) == 1 else 'are'}"
        close = {rule: [name for name in others if not self.better(rule, first, name)] for rule in _RULES}
        if not any(close.values()):
            return f"{who} best {self._best_by(first, others)}"
        if not self._tested(first, others):
            return f"{who} first by {self.rule(LOG_LOSS)}, but no p-value can be computed"
        if close[LOG_LOSS] == close[BRIER_SCORE]:
            rivals = [self._with_both(first, name) for name in close[LOG_LOSS]]
            return f"{who} first by {self.rule(LOG_LOSS)}, but not distinguishable from {first_names(rivals)}"
        unclear = [
            f"from {self._rivals(rule, first, names)} by {self.rule(rule)}" for rule, names in close.items() if names
        ]
        best = [rule for rule, names in close.items() if not names]
        if best:
            place = f"best by {self.rule(best[0])}{self.in_brackets(self._largest(best[0], first, others))}"
        else:
            place = "first by both scoring rules"
        return f"{who} {place}, but not distinguishable {' or '.join(unclear)}"

    def _rivals(self, rule: str, a: str, names: Sequence[str]) -> str:
        """Name those that are not distinguishable from a."""
        return first_names([f"{name}{self.in_brackets(self.p(rule, a, name))}" for name in names])

    def _best_by(self, first: str, others: Sequence[str]) -> str:
        """Give both rules with the largest p-values: "(log loss and Brier score, p < 0.001)"."""
        p = {rule: self._largest(rule, first, others) for rule in _RULES}
        if p[LOG_LOSS] == p[BRIER_SCORE]:
            return f"({self.rule(LOG_LOSS)} and Brier score, {p[LOG_LOSS]})"
        return f"by {' and '.join(f'{self.rule(rule)}{self.in_brackets(p[rule])}' for rule in _RULES)}"

    def _largest(self, rule: str, first: str, others: Sequence[str]) -> str:
        """Give the p-value of the others closest to the first."""
        p = max(self.of(rule, first, name).adjusted_p_value for name in others)
        return p_value_text(p, "=" if len(others) == 1 else "<=")

    def _with_both(self, first: str, name: str) -> str:
        return f"{name} ({', '.join(f'{_RULES[rule]} {self.p(rule, first, name)}' for rule in _RULES)})"

    def _rest(self, first: str, brier_first: str, others: Sequence[str]) -> list[Said]:
        """Compare the first by either rule to those that are first by none."""
        rest = [name for name in others if name != brier_first]
        if all(self.better(rule, a, name) for rule in _RULES for a in (first, brier_first) for name in rest):
            return [Said(f"both beat {first_names(rest)} by both rules", by_name=False)]
        unclear = []
        for rule, a in ((LOG_LOSS, first), (BRIER_SCORE, brier_first)):
            close = [name for name in rest if not self.better(rule, a, name)]
            if close:
                unclear.append(f"from {a} by {_RULES[rule]}: {self._rivals(rule, a, close)}")
        return [Said(f"not distinguishable {'; nor '.join(unclear)}", by_name=False)] * bool(unclear)
