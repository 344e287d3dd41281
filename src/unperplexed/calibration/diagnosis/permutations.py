"""Columns of classes that were permuted: each row's log-probabilities tell it, added up by the observed class.

With a the observed class and p at least 1e-4/C, M[a, c] sums ln p_c, Q[a, c] sums (ln p_c - ln p_a)^2, and n_a counts.
Class a gains M[a, c] - M[a, a] with column c. Biases of classes gain too, so what is tested is the gain beyond n_a d,
where d is the difference of the columns' means: z is its sum over the classes that are moved, over the root of the sum
of Q[a, c] - 2 d (M[a, c] - M[a, a]) + n_a d^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from ..._lib.dataclasses import dataclass, replace
from ..._lib.typing import ByValue, Floats, Ints
from ...forecasts.labels import Label
from ...tally.class_sums import RAISED, ClassSums, add_by_class, least_log
from .class_rows import Chunk, PreparedRows

T = TypeVar("T")

_NAMED = 5.0
"""Standard deviations beyond which an order that has a name is said."""

_UNLIKELY = 10.0
"""Nats against any permutation at all, beside ln C for each class that is moved: it stands for how many there are."""


@dataclass(slots=True, eq=False)
class OutcomeSums:
    """Log-probabilities of all classes by the observed class."""

    logs: Floats
    """M, (C, C)."""
    squares: Floats
    """Q, (C, C)."""
    observed: Floats
    """n, (C,)."""
    raised: float
    """Rows whose observed class had less than the least probability, and counts as that."""

    @property
    def mean(self) -> Floats:
        """Mean log-probability of each class."""
        return np.asarray(self.logs.sum(axis=0) / self.observed.sum())

    @classmethod
    def none(cls, size: int) -> OutcomeSums:
        """Sums of no rows, for so many classes."""
        return cls(np.zeros((size, size)), np.zeros((size, size)), np.zeros(size), 0.0)

    def read(self, chunk: Chunk) -> None:
        """Add rows, those that were certain too."""
        least, w = least_log(self.observed.size), chunk.weights
        x, each = np.maximum(chunk.log_p, least, dtype=chunk.log_p.dtype), w[:, None].astype(chunk.log_p.dtype)
        off = x - chunk.pick(x)[:, None].astype(x.dtype)
        add_by_class(self.logs, x * each, chunk.truth)
        add_by_class(self.squares, off * off * each, chunk.truth)
        self.observed += np.bincount(chunk.truth, w, self.observed.size)
        self.raised += float(w @ (chunk.pick(chunk.log_p) < least))

    @classmethod
    def of_tally(cls, sums: ClassSums) -> OutcomeSums | None:
        """Take those of a tally, weights having a mean of 1; None for files of versions that lack them."""
        if not sums.by_outcome:
            return None
        scale = float(sums["rows"][0]) / float(sums["observed"].sum())
        logs, squares, observed, raised = (scale * sums[name] for name in ("logs", "squares", "observed", "raised"))
        return cls(logs, squares, observed, float(raised[0]))


class Permutation(ByValue):
    """Columns that look permuted."""

    columns: tuple[int, ...]
    """The column that holds each class."""
    order: str
    """What the order of the columns is called; "" for one without a name."""
    gain: float
    """Nats a row that the right order gains."""
    log_loss: float
    """Of the columns as they are, probabilities being 1e-4/C at least."""
    p_value: float
    """Bound for the probability that any permutation of as many columns looks so likely by chance."""
    least: float = 0.0
    """What lower probabilities count as; 0 where no observed class had a lower one."""

    @property
    def moved(self) -> list[int]:
        """Classes that are in another column."""
        return [at for at, column in enumerate(self.columns) if at != column]

    def right(self, names: Sequence[T]) -> tuple[T, ...]:
        """Give each column the name of the class that it holds."""
        return tuple(names[at] for at in np.argsort(self.columns).tolist())


class _Gains:
    """What each class would gain with each column, in nats: raw, and beyond biases with its variance."""

    def __init__(self, sums: OutcomeSums, effect: float) -> None:
        self.raw = sums.logs - np.diag(sums.logs)[:, None]
        mean, n = sums.mean, sums.observed[:, None]
        apart = mean - mean[:, None]
        self.beyond = self.raw - n * apart
        self.variance = effect * np.maximum(sums.squares - 2 * apart * self.raw + n * apart**2, 0)

    def tested(self, columns: Ints, moved: Ints) -> tuple[float, float]:
        """Return z and the raw gain of some classes in other columns."""
        here = moved, columns[moved]
        variance = max(float(self.variance[here].sum()), 1e-12)  # of no class, for an order that is the present one
        return float(self.beyond[here].sum()) / math.sqrt(variance), float(self.raw[here].sum())

    def any_column_fits(self) -> bool:
        """Whether a cycle can be found: by Cauchy and Schwarz its squared z is at most the sum of its classes'."""
        likely = self.beyond**2 > 2 * math.log(len(self.raw)) * self.variance
        return bool((likely & (self.beyond > 0)).any())


def permutation_of(sums: OutcomeSums, labels: Sequence[Label | None], effect: float = 1.0) -> Permutation | None:
    """Find the permutation of columns that gains most, among orders with a name and all that are likely enough.

    Parameters
    ----------
    sums : OutcomeSums
        Of all rows.
    labels : sequence
        Labels of the columns.
    effect : float, default 1
        Design effect of weights and clusters.

    Returns
    -------
    Permutation or None
        None where the columns look right.
    """
    gains, found = _Gains(sums, effect), dict[tuple[int, ...], Permutation]()
    n, least = float(sums.observed.sum()), RAISED / len(labels) if sums.raised else 0.0
    for order, columns, p_value, gain in (*_named(gains, labels), *_assigned(gains)):
        held, loss = tuple(columns.tolist()), -float(np.trace(sums.logs)) / n
        found.setdefault(held, Permutation(held, order, gain / n, loss, p_value, least))  # by its name, if it has one
    return max(found.values(), key=lambda each: each.gain, default=None)


def permutation_of_rows(
    rows: PreparedRows, sums: OutcomeSums, labels: Sequence[Label | None], effect: float = 1.0
) -> Permutation | None:
    """Find the permutation of the columns of rows with these sums; of rows in clusters each cluster counts as one.

    ``effect`` is the design effect of weights.
    """
    if rows.counts.clusters is None:
        return permutation_of(sums, labels, effect)
    found = permutation_of(sums, labels)
    if found is None:
        return None
    columns, mean, by_cluster = np.array(found.columns), sums.mean, np.zeros(len(rows.counts.clusters))
    for chunk in rows.everything():
        assert chunk.cluster is not None
        x = np.maximum(chunk.log_p, least_log(len(columns)), dtype=np.float64) - mean
        gain = x[np.arange(len(x)), columns[chunk.truth]] - chunk.pick(x)
        by_cluster += np.bincount(chunk.cluster, gain * chunk.weights, by_cluster.size)
    z = float(by_cluster.sum() / np.sqrt(by_cluster @ by_cluster))
    p_value = _chance(z, len(found.moved), len(columns), found.order)
    return None if p_value is None else replace(found, p_value=p_value)


def permutation_of_sums(sums: ClassSums, labels: Sequence[Label | None], effect: float = 1.0) -> Permutation | None:
    """Find the permutation of the columns that a tally counted; ``effect`` is that of weights and clusters."""
    found = OutcomeSums.of_tally(sums)
    return None if found is None else permutation_of(found, labels, effect)


def _chance(z: float, moved: int, classes: int, order: str) -> float | None:
    """Bound the probability of such a z for any permutation of so many classes; None where it is too likely."""
    if order:
        return min(1.0, _ORDERS * math.erfc(z / math.sqrt(2)) / 2) if z > _NAMED else None
    likely = z**2 / 2 - moved * math.log(classes)
    return math.exp(-likely) if z > 0 and likely > _UNLIKELY else None


_Found = tuple[str, Ints, float, float]
"""Name of an order, column of each class, p-value and gain."""


def _named(gains: _Gains, labels: Sequence[Label | None]) -> Iterator[_Found]:
    """Test the orders that have a name."""
    for name, columns in _orders(labels):
        moved = np.flatnonzero(columns != np.arange(len(labels)))
        z, gain = gains.tested(columns, moved)
        p_value = _chance(z, len(moved), len(labels), name)
        if p_value is not None and gain > 0:
            yield name, columns, p_value, gain


_ORDERS = 7
"""Orders that have a name, at most."""


def _orders(labels: Sequence[Label | None]) -> Iterator[tuple[str, Ints]]:
    """Name orders that columns come in by mistake, each with the column of each class."""
    at = np.arange(len(labels))
    yield "shifted by one", np.roll(at, -1)
    yield "shifted by one", np.roll(at, 1)
    yield "in reversed order", at[::-1]
    texts = [str(number if label is None else label) for number, label in enumerate(labels)]
    sorts = {"text": np.array(sorted(at, key=texts.__getitem__))}
    if all(text.removeprefix("-").isdecimal() for text in texts):
        sorts["numbers"] = np.array(sorted(at, key=[int(text) for text in texts].__getitem__))
    for how, order in sorts.items():
        yield f"sorted as {how}", np.argsort(order)
        yield f"in an order that sorting the labels as {how} undoes", order


def _assigned(gains: _Gains) -> Iterator[_Found]:
    """Assign the columns so that the gain beyond biases is largest, and keep the cycles that are likely enough."""
    if not gains.any_column_fits():
        return
    from scipy.optimize import linear_sum_assignment  # which takes a while to load

    _, best = linear_sum_assignment(-gains.beyond)
    columns, p_value, total = np.arange(len(best)), 0.0, 0.0
    for cycle in _cycles(best):
        z, gain = gains.tested(best, cycle)
        chance = _chance(z, len(cycle), len(best), "")
        if chance is not None and gain > 0:
            columns[cycle], p_value, total = best[cycle], max(p_value, chance), total + gain
    if total > 0:
        yield "", columns, p_value, total


def _cycles(columns: Ints) -> Iterator[Ints]:
    """Split a permutation into the cycles that move."""
    left = set(np.flatnonzero(columns != np.arange(len(columns))).tolist())
    while left:
        cycle, at = [], min(left)
        while at in left:
            left.remove(at)
            cycle.append(at)
            at = int(columns[at])
        yield np.array(cycle)
