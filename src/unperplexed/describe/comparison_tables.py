"""Tables of a comparison: forecasters, paired differences, scores, averages and the rows behind a difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._lib.formatting import (
    at_floor_text,
    confidence_interval,
    p_value_cell,
    p_value_text,
    p_values,
    printable,
    short_name,
    short_names,
)
from ..comparison.result import Comparison, Difference, Forecaster, PairDifferences, PairedComparison
from ..forecasts.group_keys import key_texts
from ..report.document import LONGEST_NAME, Column, Table
from ..report.numbers import MINUS, count, estimate, number, share
from ..report.tables import aside, estimates, noted
from ..scores.rules import LOG_LOSS, is_printed, rule_at_floor, score_named
from .diagnosis import short_verdict

MOST_COLUMNS = 6
"""Forecasters beside one another in a table."""


def pair_name(pair: PairDifferences) -> str:
    """Name a pair by what is subtracted from what."""
    return f"{short_name(pair.first)} − {short_name(pair.second)}"


def long_name(name: str) -> str:
    """Give a name as where it has a line of its own."""
    return short_name(name, LONGEST_NAME)


def _estimates(found: Sequence[Difference]) -> Column:
    return noted("difference", (estimate(each.difference, each.interval) for each in found))


def p_value_column(found: Sequence[Difference], together: int) -> Column:
    """Make a column of p-values, which are adjusted for so many tests."""
    return Column(p_values(together), [p_value_cell(each.adjusted_p_value) for each in found])


def differences_table(c: Comparison, *, headline: bool) -> Table:
    """Return the differences of all pairs: by the scores of the verdict, or by all others, shown on demand."""
    rows = [
        (pair, rule, d)
        for pair in c.pairs
        for rule, d in pair.differences.items()
        if (rule in ("log_loss", "brier_score")) == headline
    ]
    found = [d for *_, d in rows]
    level = 1 - c.confidence

    def conclusion(pair: PairedComparison, rule: str) -> str:
        d = pair.differences[rule]
        if d.equal:
            return "equal in every row"
        if math.isnan(d.adjusted_p_value):
            return "not tested"
        if d.adjusted_p_value >= level:
            return "not distinguishable"
        first = (d.difference > 0) == score_named(rule).larger_is_better
        return f"{short_name(pair.first if first else pair.second)} is better"

    columns = [
        Column("pair", [pair_name(pair) for pair, _, _ in rows]),
        Column("score", [rule_at_floor(rule, c.scored_floor) for _, rule, _ in rows], words=True),
        _estimates(found),
        Column("standard error", [number(d.standard_error) for d in found]),
        p_value_column(found, len(c.pairs)),
        Column("conclusion", [conclusion(pair, rule) for pair, rule, _ in rows], words=True),
    ]
    several = len(c.pairs) > 1
    adjusted = " p-values and intervals are adjusted for all pairs of a score (Bonferroni)." if several else ""
    caption = (
        f"Differences of mean scores on the same rows, left − right, with {_level(c)}.{adjusted} All are in"
        ' frame("differences") and --json.'
    )
    return Table(
        caption if headline else "Differences by the other scores", columns, sortable=True, folded=not headline
    )


def _level(c: Comparison) -> str:
    return confidence_interval(c.confidence, len(c.pairs))


def short_differences_table(c: Comparison, pairs: Sequence[PairedComparison]) -> Table:
    """Return the differences of some pairs by the scores that are printed, with the p-values of the verdict."""
    rows = [
        (f"{pair_name(pair)}, {rule_at_floor(rule, c.scored_floor)}", d)
        for pair in pairs
        for rule, d in pair.differences.items()
        if is_printed(rule, asked_scores(c))
    ]
    return Table.of(
        "Paired differences (left − right)",
        Column("", [name for name, _ in rows]),
        _estimates([d for _, d in rows]),
        p_value_column([d for _, d in rows], len(c.pairs)),
        notes=_level(c),
    )


def group_differences_table(c: Comparison, rule: str) -> Table:
    """Return the differences by a rule in each group, pair by pair."""
    found = [(group, pair) for group in c.groups for pair in group.pairs]
    differences = [pair.differences[rule] for _, pair in found]
    pairs = Column("pair", [pair_name(pair) for _, pair in found])
    several = len(c.pairs) > 1
    what = "left − right" if several else pair_name(c.pairs[0])
    return Table.of(
        f"Differences in {rule_at_floor(rule, c.scored_floor)} by group ({what}), adjusted for {len(found):,} tests.",
        Column(", ".join(map(printable, c.by)), key_texts((group.key for group, _ in found), LONGEST_NAME, c.by)),
        *([pairs] if several else []),
        Column("rows", [count(group.n_rows) for group, _ in found]),
        _estimates(differences),
        p_value_column(differences, len(found)),
        sortable=True,
        notes=confidence_interval(c.confidence, len(found)),
    )


def asked_scores(c: Comparison) -> Sequence[str]:
    """Scoring rules that were asked for by name."""
    asked: Sequence[str] = next(iter(c.forecasters.values())).assessment.source.asked
    return asked


def about_difference(c: Comparison, d: Difference, limits: str) -> str:
    """Give interval and p-value of a difference in brackets, as far as there are any."""
    p_value = "" if math.isnan(d.adjusted_p_value) else p_value_text(d.adjusted_p_value)
    return aside(f"{_level(c)} {limits}" if limits else "", p_value)


MOST_FAMILIAR = 20
"""Forecasters whose ECE and calibration slope a table has."""


def forecasters_table(c: Comparison, most: int | None = None) -> Table:
    """Return the forecasters, the best first, with the verdict on each, or on so many of them."""
    names, found = short_names(c.forecasters, LONGEST_NAME), list(c.forecasters.values())
    of = [each.assessment for each in found]
    accuracies = [estimate(each.geometric_accuracy, each.geometric_accuracy_interval) for each in found]
    first = of[:MOST_FAMILIAR]
    others = [""] * len(of[MOST_FAMILIAR:])
    of_top = " Of the most probable class." if c.n_classes > 2 else ""
    verdicts = [short_verdict(a.diagnosis) for a in of[:most]] + [""] * len(of[len(of) if most is None else most :])
    columns = [
        Column("forecaster", names),
        Column(rule_at_floor(LOG_LOSS, c.scored_floor), [number(each.scores[LOG_LOSS].mean) for each in found]),
        Column("Brier score", [number(each.scores["brier_score"].mean) for each in found]),
        Column("accuracy", [share(a.prediction_accuracy) for a in of]),
        Column("ECE", [*(number(a.ece.value) for a in first), *others], meaning=f"Smaller is better.{of_top}"),
        Column("calibration slope", [*(number(a.slope.value) for a in first), *others], meaning=f"1 is best.{of_top}"),
        Column("geometric accuracy", [value for value, _ in accuracies]),
        Column("its 95% CI" if c.confidence == 0.95 else "its CI", [limits for _, limits in accuracies], detail=True),
        Column("slope of the averages", [number(a.averages_slope) for a in of], meaning="1 is best.", detail=True),
        Column("miscalibration", verdicts, words=True, detail=not any(verdicts)),
    ]
    caption = (
        "Ordered by log loss. Smaller log loss, Brier score and ECE are better, larger accuracies; a calibration slope"
        " of 1 is best."
    )
    if c.n_classes == 2:
        caption += " The Brier score is the sum over both classes."
    if any(each.zero_rows for each in found):
        columns.insert(
            -1,
            Column("rows assigned 0", [f"{each.zero_rows:,}" for each in found], meaning="Rows whose observed class the"
                   " forecaster assigned probability 0."),
        )  # fmt: skip
    return Table(caption, columns, sortable=True)


def _shown(c: Comparison) -> list[tuple[str, Forecaster]]:
    """Give the first forecasters, by names for narrow columns."""
    return [*zip(short_names(c.forecasters), c.forecasters.values(), strict=True)][:MOST_COLUMNS]


def scores_table(c: Comparison) -> Table:
    """Return the mean of every score, a column for each of the first forecasters."""
    rules = list(_shown(c)[0][1].scores)
    more = f" The first {MOST_COLUMNS} forecasters." if len(c.forecasters) > MOST_COLUMNS else ""
    return Table.of(
        f"Each forecaster by itself, with {confidence_interval(c.confidence)}.{more}",
        Column("score", [rule_at_floor(rule, c.scored_floor) for rule in rules]),
        *(
            estimates(name, ((each.scores[rule].mean, each.scores[rule].interval) for rule in rules))
            for name, each in _shown(c)
        ),
        Column("better", [score_named(rule).better for rule in rules], words=True),
    )


def averages_table(c: Comparison) -> Table:
    """Return the three averages, a column for each of the first forecasters."""
    names = ("decisiveness", "geometric_accuracy", "robustness")
    return Table.of(
        f"Averages of the probabilities assigned to the observed classes, {at_floor_text(c.floor)}. Larger is better.",
        Column("average", [name.replace("_", " ").capitalize() for name in names]),
        *(
            Column(name, [number(getattr(each.assessment.reported, mean)) for mean in names])
            for name, each in _shown(c)
        ),
    )


def _probability(p: float) -> str:
    return f"{p:g}" if p in (0, 1) else number(p)


def _share(x: float) -> str:
    if abs(x) >= 10:  # the difference is next to nothing
        return f"{f'< {MINUS}' if x < 0 else '> '}1000%"
    return f"{MINUS if x < 0 else ''}{share(abs(x))}"


def contributions_table(pair: PairedComparison) -> Table:
    """Return the rows from which most of a difference comes."""
    c = pair.contributions
    rows = [f"{row:,}" for row in c.row.tolist()]
    names = short_names((pair.first, pair.second))
    return Table.of(
        "The largest first. A share below 0 is a difference in the other direction."
        f"{'' if c.id else ' Rows are counted from 0.'}",
        Column("id", short_names(map(str, c.id), LONGEST_NAME))
        if c.id
        else Column("row", rows, meaning="Number of the row, from 0."),
        Column("outcome", short_names(map(str, c.outcome), LONGEST_NAME), words=True),
        Column(f"probability by {names[0]}", [_probability(p) for p in c.first.tolist()]),
        Column(f"probability by {names[1]}", [_probability(p) for p in c.second.tolist()]),
        Column("share of the difference", [_share(x) for x in c.share.tolist()]),
        sortable=True,
    )
