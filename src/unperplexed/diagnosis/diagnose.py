"""diagnose(): forecasts and outcomes in, a frozen Diagnosis out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._keys import group_numbers
from .._typing import Floats
from .._views import refuse_rows
from ..errors import InputError
from ..forecasts import Forecasts
from ..labels import Label
from ..tally import Tally
from .binary import diagnose_binary
from .binary_data import BinaryRowsInMemory, data_of_tally
from .result import Diagnosis
from .words import not_made


def diagnose(
    y_true: Any,
    y_prob: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    ignore_label: Label | Sequence[Label] | None = None,
    renormalize: bool = False,
    drop_invalid: bool = False,
    percent: bool = False,
    from_logits: bool = False,
    from_log_probs: bool = False,
) -> Diagnosis:
    """Find out what is wrong with probability forecasts: biased, overconfident, certain and wrong, or nothing.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        Outcomes: class labels (ints, bools, strings) or one-hot rows. Or a `Tally` of two classes, with nothing beside.
    y_prob : array_like of shape (n,) or (n, C), or a data frame
        Predicted probabilities: of the positive class, or of each class.
    sample_weight : array_like of shape (n,), optional
        Non-negative importance weights; only their ratios matter.
    groups : array_like of shape (n,) or (n, k), mapping from name to such, or data frame, optional
        Clusters: rows with the same values (of a match, a document) may depend on one another.
    labels, pos_label, ignore_label, renormalize, drop_invalid, percent, from_logits, from_log_probs : optional
        As in `assess`.

    Returns
    -------
    Diagnosis
        ``verdict`` (one sentence), ``findings`` (costliest first; each with ``error``, ``parameter``, ``interval``,
        ``p_value``, ``gain``, ``remedy``), ``alternatives``, ``p_value``, ``detectable``.

    Raises
    ------
    InputError
        As `assess`.

    Notes
    -----
    Two classes: a score test of eight components with known variances decides whether anything is wrong, at 5%. The
    set of at most three errors with the largest likelihood ratio minus its cost names it: ``t = s + a + c s + d |s| +
    k h(s)`` in log-odds (bias, confidence, asymmetry, tail) and a share of outcomes at random (noise). A cost is
    ``max(3.84, ln(4 sum p (1 - p)))``, and 2 more for the last three. Nothing is drawn at random, binned or floored.
    Gains are ``(LR - 2 k) / 2n`` nats a row, which is what cross-validation shows. Classes beyond two have one bias
    each, tested jointly.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import diagnose
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0, 2, 5000)
    >>> rain = rng.random(5000) < 1 / (1 + np.exp(-truth))
    >>> diagnose(rain, 1 / (1 + np.exp(-2 * truth))).errors
    ('confidence',)
    >>> diagnose(rain, 1 / (1 + np.exp(-truth))).miscalibrated
    False
    """
    reading: dict[str, Any] = {
        "sample_weight": sample_weight,
        "groups": groups,
        "labels": labels,
        "pos_label": pos_label,
        "ignore_label": ignore_label,
        "renormalize": renormalize,
        "drop_invalid": drop_invalid,
        "percent": percent,
        "from_logits": from_logits,
        "from_log_probs": from_log_probs,
    }
    if isinstance(y_true, Tally):
        refuse_rows({"y_prob": y_prob, **{name: value or None for name, value in reading.items()}})
        return diagnosis_of_tally(y_true)
    if y_prob is None:
        raise InputError("y_prob: missing; diagnose takes outcomes and probabilities, or a Tally.")
    return diagnosis_of_rows(Forecasts(y_true, y_prob, **reading), groups)


Chunks = Callable[[], Iterable[Forecasts]]
"""Reads all rows, each time from the beginning."""


def diagnosis_of_chunks(chunks: Chunks) -> Diagnosis:
    """Diagnose rows of more than two classes, which are read several times."""
    first = next(iter(chunks()))
    return not_made(_CLASSES, 0, first.labels)


def diagnosis_of_rows(forecasts: Forecasts, groups: Any = None) -> Diagnosis:
    """Diagnose rows in memory."""
    if forecasts.n_classes > 2:
        return diagnosis_of_chunks(lambda: [forecasts])
    n = forecasts.n_rows
    numbers = None if groups is None else group_numbers(groups, n)
    s, truth, weights, index, sums = [], [], [], [], [0.0, 0.0]
    for block in forecasts.blocks():
        p = np.asarray(block.reported, dtype=np.float64)
        w = np.ones(len(block)) if block.weights is None else block.weights
        s.append(_log_odds(p, forecasts.both_sides))
        truth.append(block.truth)
        weights.append(w)
        index.append(block.index)
        sums[0] += float((w * p[:, 1]).sum())
        sums[1] += float(w.sum())
    if not sums[1] > 0:
        raise InputError("y_true: no rows of positive weight to diagnose.")
    at = np.concatenate(index)
    w = np.concatenate(weights)
    rows = BinaryRowsInMemory(
        np.concatenate(s),
        np.concatenate(truth) == 1,
        w if np.ptp(w) else None,
        None if numbers is None else numbers[at - forecasts.first_row],
        at,
    )
    return diagnose_binary(rows.data(forecasts.labels, sums[0] / sums[1]))


def _log_odds(p: Floats, both_sides: bool) -> Floats:
    """Return log-odds of the second class, from both columns where both were reported."""
    with np.errstate(divide="ignore"):
        other = np.log(p[:, 0]) if both_sides else np.log1p(-p[:, 1])
        return np.asarray(np.log(p[:, 1]) - other)


def diagnosis_of_tally(tally: Tally) -> Diagnosis:
    """Diagnose what a tally counted."""
    if not tally.weight > 0:
        raise InputError("no rows of positive weight to diagnose.")
    if tally.n_classes > 2:
        return not_made(_CLASSES, tally.n_rows, tally.labels)
    data = data_of_tally(tally)
    return not_made(_EARLIER, tally.n_rows, tally.labels) if data is None else diagnose_binary(data)


_CLASSES = "a tally of more than two classes does not keep how the probabilities of a row go together; give the rows"
_EARLIER = "the tally was counted by an earlier version, which did not keep the positive class apart; count it anew"
