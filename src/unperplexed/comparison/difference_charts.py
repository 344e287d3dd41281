"""Charts of differences between forecasters, as marks: a forest of the pairs, and a difference after each row."""

from __future__ import annotations

import math

import numpy as np

from .._lib.errors import InputError, check_choice
from .._lib.formatting import (
    at_floor_text,
    confidence_interval,
    p_value_text,
    percent,
    rule_text,
    short_name,
    short_names,
)
from ..report.chart import Axis, Chart, Line, Points, Reference, value_axis
from ..report.numbers import between, count, number
from ..scores.registry import rule_at_floor, score_named
from .result import Comparison, Difference, PairedComparison
from .sequential import SequentialComparison

MOST_PAIRS = 30
"""Pairs that a forest shows."""

_MOST_ROWS = 300
"""Places along the rows at which a sequential difference is drawn."""


def differences_chart(c: Comparison, score: str = "log_loss") -> Chart:
    """Make a forest of the paired differences by a score with their confidence intervals, the best pair on top.

    Parameters
    ----------
    c : Comparison
        What is drawn.
    score : str, default "log_loss"
        Name of a score of the comparison.

    Returns
    -------
    Chart

    Raises
    ------
    InputError
        For a score that the comparison does not have, and where no difference is finite.
    """
    check_choice("score", score, [*c.pairs[0].differences])
    pairs = [pair for pair in c.pairs if math.isfinite(pair.differences[score].difference)][:MOST_PAIRS]
    if not pairs:
        raise InputError(f"score: no difference by {rule_text(score)} is finite; choose another score.")
    larger = score_named(score).larger_is_better
    found = [pair.differences[score] for pair in pairs]
    values = np.array([d.difference for d in found])
    low, high = (np.array([d.interval[end] for d in found]) for end in (0, 1))
    finite = np.concatenate([x[np.isfinite(x)] for x in (values, low, high)] + [np.zeros(1)])
    short = dict(zip(c.forecasters, short_names(c.forecasters, 18), strict=True))
    names = [f"{short[pair.first]} − {short[pair.second]}" for pair in pairs]
    rows = np.arange(len(pairs), 0, -1).astype(np.float64)
    texts = [f"{name}: {_estimate(c, d)}" for name, d in zip(names, found, strict=True)]
    rule = rule_text(score) + (f" {at_floor_text(c.scored_floor)}" if score_named(score).surprisal else "")
    more = f"; the first {len(pairs)} of {len(c.pairs):,} pairs" if len(pairs) < len(c.pairs) else ""
    return Chart(
        title=_found(c, score, larger),
        subtitle=f"Points with {confidence_interval(c.confidence, len(c.pairs))};"
        f" {'above' if larger else 'below'} 0 the first forecaster is better{more}",
        label=f"Paired differences in {rule}. {'; '.join(texts)}",
        x=value_axis(float(finite.min()), float(finite.max()), f"Difference in {rule}"),
        y=Axis(0.5, len(pairs) + 0.5, list(zip(rows.tolist(), names, strict=True))),
        points=(Points(values, rows, low, high, texts=texts),),
        references=(Reference((0.0, 0.0), (0.5, len(pairs) + 0.5)),),
        shape="forest",
        percent=False,
    )


def _estimate(c: Comparison, d: Difference) -> str:
    """Give a difference with interval and p-value, as far as there are any."""
    limits = between(*d.interval)
    about = [f"{confidence_interval(c.confidence, len(c.pairs))} {limits}"] if limits else []
    about += [] if math.isnan(d.adjusted_p_value) else [p_value_text(d.adjusted_p_value)]
    return number(d.difference) + (f" ({', '.join(about)})" if about else "")


def _found(c: Comparison, score: str, larger: bool) -> str:
    """State which pairs differ, as far as it was tested."""
    rule, level = rule_text(score), 1 - c.confidence
    apart: list[PairedComparison] = [pair for pair in c.pairs if pair.differences[score].adjusted_p_value < level]
    if len(c.pairs) > 1:
        return f"{len(apart):,} of {len(c.pairs):,} pairs differ significantly by {rule}"
    if not apart:
        return f"No significant difference by {rule}"
    [pair] = apart
    ahead = pair.first if (pair.differences[score].difference > 0) == larger else pair.second
    return f"{short_name(ahead)} is better by {rule}"


def sequential_chart(c: SequentialComparison) -> Chart:
    """Make the mean difference over the rows with its confidence sequence, and where it was decided.

    The difference is the score of the forecaster that is ahead over all rows minus that of the other. The first
    intervals are wide, so the axis ends at those after a tenth of the rows, or of the rows until the decision.
    """
    sides = [(c.first, c.difference, c.low, c.high), (c.second, -c.difference, -c.high, -c.low)]
    (first, difference, below, above), (second, *_) = sides[::-1] if c.second_ahead else sides
    rows = np.unique(np.linspace(1, c.n_rows, _MOST_ROWS).astype(np.int64))
    start = max(1, (c.decided_after or c.n_rows) // 10) - 1
    rule = rule_at_floor(c.score, c.floor or 0.0)
    y = value_axis(
        min(0.0, float(below[start:].min())),
        max(0.0, float(above[start:].max())),
        f"Difference in {rule}, {' − '.join(short_names((first, second)))}",
    )
    mean, low, high = (np.clip(column[rows - 1], y.low, y.high) for column in (difference, below, above))
    side = "larger" if c.larger_is_better else "smaller"
    title = f"Not decided after {c.n_rows:,} rows"
    points: tuple[Points, ...] = ()
    if c.decided_after is not None:
        title = f"{short_name(str(c.better))} has the {side} {rule} (decided after {c.decided_after:,} rows)"
        if c.better_now != c.better:
            after = f"after {c.decided_after:,} rows, but not over all rows"
            title = f"{short_name(str(c.better))} had the {side} {rule} {after}"
        at = (np.array([float(c.decided_after)]), difference[[c.decided_after - 1]])
        points = (Points(*at, role="second", labels=(f"Decided after {c.decided_after:,}",)),)
    level = percent(c.confidence)
    last = f"{number(float(difference[-1]))} ({between(float(below[-1]), float(above[-1]))})"
    return Chart(
        title=title,
        subtitle=f"Mean so far, with its {level} confidence sequence, valid at all rows together;"
        f" {'above' if c.larger_is_better else 'below'} 0 {short_name(first)} is better",
        label=f"Mean difference in {rule} between {short_name(first)} and {short_name(second)} over the rows. {title}."
        f" After all rows: {last}.",
        x=value_axis(0.0, float(c.n_rows), "Rows", lambda value, _: count(value)),
        y=y,
        lines=(Line(rows.astype(np.float64), mean, "observed", "Mean so far", low, high),),
        points=points,
        references=(Reference((0.0, float(c.n_rows)), (0.0, 0.0)),),
        shape="wide",
        percent=False,
    )
