"""diagnose(): forecasts and outcomes in, a frozen Diagnosis out.

`gate` decides whether anything is wrong, `binary_search` and `class_search` which errors, `words` how they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Unpack

from ..._lib.errors import InputError
from ...forecasts.forecasts import Forecasts
from ...forecasts.labels import Label
from ...forecasts.reading import SEARCHED, SearchedReading, reads
from ...tally.class_sums import MOST_CLASSES
from ...tally.tally import Tally, refuse_rows
from .binary import diagnose_binary, p_value_alone
from .binary_data import data_of_rows, data_of_tally, line_of_top_class
from .class_rows import CERTAIN, PreparedRows, RowBlock, RowCounts, Rows, count
from .result import Diagnosis, Finding
from .words import not_made, permuted_finding


@reads(SearchedReading, SEARCHED)
def diagnose(y_true: Any, y_prob: Any = None, **reading: Unpack[SearchedReading]) -> Diagnosis:
    """Find out what is wrong with forecasts: biased, overconfident, or nothing.

    Returns a `Diagnosis`. Print it, or read its ``verdict`` (one sentence) and
    its ``findings``, the costliest first; smaller costs are better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        Outcomes: class labels (ints, bools, strings) or one-hot rows. Or a
        `Tally`, with nothing beside.
    y_prob : array_like of shape (n,) or (n, C), or a data frame
        Predicted probabilities: of the positive class, or of each class.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
        ``pos_label``, ``ignore_label``, ``scale``, ``invalid``, and
        ``clusters``, the clusters of rows that may depend on one another. By
        default they are looked for, also in ``columns``, as in `assess`; None
        declines.

    Returns
    -------
    Diagnosis
        ``verdict`` (one sentence), ``findings`` (costliest first; each with
        ``error``, ``parameter``, ``interval``, ``p_value``, ``cost``,
        ``remedy``), ``alternatives``, ``p_value``, ``detectable``.

    Raises
    ------
    InputError
        As `assess`.

    Notes
    -----
    Two classes: a score test of eight components with known variances decides
    whether anything is wrong, at 5%. The set of at most three errors with the
    largest likelihood ratio minus its cost names it: ``t = s + a + c (s - m) +
    d |s| + k h(s)`` in log-odds, m their mean weighted by p (1 - p) (bias,
    confidence, asymmetry, tail), and a share of outcomes at random (noise). A
    cost is ``max(3.84, ln(4 sum p (1 - p)))``, and 2 more for the last three.
    Errors surely below 0.02 in log-odds are none. Nothing is drawn at random,
    binned or floored. Gains are ``(LR - 2 k) / 2n`` nats a row, which is what
    cross-validation shows. Classes beyond two have one bias each, tested
    jointly. A tally of more than two classes needs its part "diagnosis", which
    those of 3 to 20 classes keep unasked.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import diagnose
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0, 2, 5000)
    >>> rain = rng.random(5000) < 1 / (1 + np.exp(-truth))
    >>> print(diagnose(rain, 1 / (1 + np.exp(-2 * truth))).verdict)
    Overconfident (calibration slope 0.51, 95% CI 0.48 to 0.53).
    >>> diagnose(rain, 1 / (1 + np.exp(-truth))).miscalibrated
    False
    """
    if isinstance(y_true, Tally):
        refuse_rows({"y_prob": y_prob, **reading})
        return diagnosis_of_tally(y_true)
    if y_prob is None:
        raise InputError("y_prob: missing; diagnose takes outcomes and probabilities, or a Tally.")
    from ..undeclared import read_rows  # which tests by clusters, as this does

    forecasts, _, dependence = read_rows(y_true, y_prob, reading)
    return replace(diagnosis_of_rows(rows_of(lambda: [forecasts]), forecasts.labels), dependence=dependence)


Chunks = Callable[[], Iterable[Forecasts]]
"""Reads all rows, each time from the beginning."""


def rows_of(chunks: Chunks, numbered: bool = True) -> Rows:
    """Return the rows of forecasts, of positive weight, as a diagnosis reads them.

    Findings name rows by their numbers where these are from one source.
    """

    def rows() -> Iterator[RowBlock]:
        for forecasts in chunks():
            for block in forecasts.blocks():
                some = block if block.weights is None else block[block.weights > 0]
                index = some.index if numbered else None
                if len(some):
                    cluster = forecasts.clusters(some.index)
                    yield RowBlock(some.probabilities, some.truth, some.weights, cluster, index, some.given)

    return rows


def diagnosis_of_rows(rows: Rows, labels: tuple[Label | None, ...], tally: Tally | None = None) -> Diagnosis:
    """Diagnose rows. With more than two classes they are counted, unless a tally did, and read.

    They are read again with clusters, and where columns were permuted or a certain row was wrong.
    """
    if len(labels) > 2:
        from .multiclass import diagnose_classes

        counts = None
        if tally is not None and not tally.clustered:
            counts = RowCounts(tally.n_weighing, tally.n_classes, float(tally.weight))
        found = diagnose_classes(rows, labels, counts=counts)
        return found if found.n_clusters is None else replace(found, line=line_of_top_class(rows()))
    data = data_of_rows(rows(), labels)
    if data is None:
        raise InputError("y_true: no rows of positive weight to diagnose.")
    return diagnose_binary(data)


def p_value_of_rows(rows: Rows, labels: tuple[Label | None, ...]) -> float:
    """Test rows, of which there are some, as `diagnosis_of_rows` does; of two classes no errors are named."""
    data = data_of_rows(rows(), labels) if len(labels) == 2 else None
    return diagnosis_of_rows(rows, labels).p_value if data is None else p_value_alone(data)


def diagnosis_of_tally(tally: Tally) -> Diagnosis:
    """Diagnose what a tally counted."""
    if not tally.weight > 0:
        raise InputError("no rows of positive weight to diagnose.")
    if tally.n_classes > 2:
        return _of_classes(tally)
    data = data_of_tally(tally)
    return not_made(_EARLIER, tally.n_rows, tally.labels) if data is None else diagnose_binary(data)


def _of_classes(tally: Tally) -> Diagnosis:
    if tally.diagnosis is None:
        return not_made(_CLASSES, tally.n_rows, tally.labels)
    if tally.clustered and not tally.diagnosis.clustered:
        return not_made(_CLUSTERS, tally.n_rows, tally.labels)
    from .multiclass import diagnose_class_sums

    points, some = tally.points(), tally.row_sample
    likely = points.p > CERTAIN / (tally.n_weighing * tally.n_classes)
    observed = points.p[likely], points.weight[likely] * (tally.n_weighing / tally.weight)
    return diagnose_class_sums(tally.diagnosis, some, observed, tally.labels, clustered=tally.clustered)


def permuted_columns(rows: Rows, labels: tuple[Label | None, ...]) -> Finding | None:
    """Look only whether columns of more than two classes are permuted; None where they look right."""
    if not 2 < len(labels) <= MOST_CLASSES:
        return None
    from .permutations import OutcomeSums, permutation_of_rows

    sums = OutcomeSums.none(len(labels))
    moved = permutation_of_rows(PreparedRows(rows, count(rows), every=[sums.read]), sums, labels)
    return None if moved is None else permuted_finding(moved, labels, alone=False)


_CLUSTERS = "the tally does not keep its clusters of dependent rows class by class; count it anew, or assess the rows"
_CLASSES = (
    'with more than two classes a tally needs the part "diagnosis"; count the rows with it (--parts diagnosis, or'
    " classes= of a ForecastMetric), or assess them, or the files that hold them"
)
_EARLIER = "the tally does not keep the positive class apart, as those of earlier versions do not; count it anew"
