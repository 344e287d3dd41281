"""Pool: forecasters combined into one. `pool` makes it; it can be saved, loaded and applied to new forecasts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from .._lib.arrays import as_columns
from .._lib.dataclasses import dataclass, field
from .._lib.errors import InputError, is_number, is_whole, listed, rows_text
from .._lib.formatting import number_of
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats, Ints, ReadOnlyArrays
from .._version import __version__
from ..forecasts.labels import Label
from ..forecasts.unobserved import new_forecasts
from ..kernels.devices import Scale, device_columns
from ..report.result import Result
from ..statistics.intervals import UNKNOWN, Interval
from .files import Form, SavedFit
from .pool_models import PoolModel

Method = Literal["linear", "logarithmic", "mean"]


@dataclass(frozen=True)
class HeldOut(ByValue):
    """How well a fitted pool does on rows that its parameters were not fitted to. Smaller log loss is better."""

    log_loss: float
    """Cross-fitted: each row is predicted with parameters fitted on the other folds."""
    members: dict[str, float]
    """Log loss of each forecaster on the same rows."""
    best: str
    """The forecaster with the smallest log loss on these rows."""
    gain: float
    """Log loss of the best forecaster minus that of the pool, in nats a row. Larger is better."""
    interval: Interval
    """95% confidence interval of the gain; NaN where it cannot be computed."""
    folds: int
    recalibrated: dict[str, float] = field(default_factory=dict)
    """Cross-fitted log loss of each forecaster recalibrated alone, as `Recalibrator` gives it.

    Empty, as are the fields below, in a pool that an earlier version saved, and for more rows than a recalibration
    keeps.
    """
    best_recalibrated: str = ""
    """The forecaster with the smallest log loss once it is recalibrated alone."""
    gain_recalibrated: float = math.nan
    """Log loss of that forecaster, recalibrated alone, minus that of the pool, in nats a row. Larger is better."""
    interval_recalibrated: Interval = UNKNOWN
    """95% confidence interval of that gain; NaN where it cannot be computed."""

    @property
    def significant(self) -> bool:
        """Whether the pool is better than each forecaster: the intervals of both gains lie above 0."""
        return self.interval.low > 0 and (not self.recalibrated or self.interval_recalibrated.low > 0)

    @property
    def by_recalibration(self) -> bool:
        """Whether the pool is better than the best forecaster as it is, but not significantly if recalibrated."""
        return self.interval.low > 0 and not self.significant


@dataclass(frozen=True)
class Pool(SavedFit, ReadOnlyArrays, Result):
    """Forecasters combined into one. Made by `pool`; all fields are final.

    ``transform`` applies it to new forecasts, ``save`` and `Pool.load` keep it.
    """

    saved_as: ClassVar[str] = "pool"

    method: Method
    weights: dict[str, float]
    """By forecaster; they sum to 1."""
    order: float
    """Order of the generalized mean over the forecasters: 1 for the linear pool, 0 for the logarithmic."""
    power: float
    """Power to which the pooled probabilities are raised before they are renormalized; above 1 they are extremized."""
    beta: tuple[float, float] | None
    """Parameters of the beta distribution function that the pooled probability goes through; None without one."""
    labels: tuple[Label | None, ...]
    floor: float
    """Probabilities below it count as this much, so that logarithms stay finite; 0 for a pool that was not fitted."""
    n_rows: int
    """Number of rows that the pool was fitted to; 0 if it was not fitted."""
    held_out: HeldOut | None = None
    """Cross-fitted log loss and that of each forecaster, raw and recalibrated; None for a pool that was not fitted."""
    probabilities: Floats = field(default_factory=lambda: np.empty(0))
    """(n,) or (n, C): pooled probabilities of the rows at hand, cross-fitted where there are outcomes. Not saved."""
    warnings: tuple[str, ...] = ()
    version: str = __version__

    @property
    def model(self) -> PoolModel:
        """Its parameters."""
        return PoolModel(np.array([*self.weights.values()]), self.order, self.power, self.beta)

    def transform(self, forecasters: Mapping[str, Any], *, scale: Scale = "probability") -> Floats:
        """Combine forecasts of new rows.

        Parameters
        ----------
        forecasters : mapping from name to array_like of shape (n,) or (n, C)
            Predicted probabilities by the same names: of the positive class, or of each class in the order of
            ``labels``.
        scale : {"probability", "percent", "logits", "log-probs"}, default "probability"
            What the forecasts hold.

        Returns
        -------
        array of shape (n,) or (n, C)
            Pooled probabilities, in the shape of the first forecaster's.

        Raises
        ------
        InputError
            As `Forecasts`; for other names, classes or numbers of rows; for columns of frames that are named
            after other classes, or in another order.
        """
        if set(forecasters) != set(self.weights):
            raise InputError(
                f"forecasters: the pool is of {', '.join(map(repr, self.weights))}; got"
                f" {', '.join(map(repr, forecasters)) or 'none'}."
            )
        columns = _columns(forecasters, self.weights)
        read = {name: _log_probabilities(name, each, self.labels, scale) for name, each in columns.items()}
        first = next(iter(self.weights))
        for name, log_p in read.items():
            if len(log_p) != len(read[first]):
                raise InputError(f"{name}: {len(log_p):,} rows, and {first} has {len(read[first]):,}.")
        q = pooled(self.model, at_floor([*read.values()], self.floor))
        return q[:, 1] if columns[first].n_columns == 1 else q

    def to_dict(self) -> dict[str, Any]:
        """Return what `save` writes, as plain Python values."""
        left_out = ("probabilities", "warnings", "version")
        plain = {key: value for key, value in plain_values(self).items() if key not in left_out}
        return {**FORM.head, **plain}

    @classmethod
    def from_dict(cls, data: Any) -> Pool:
        """Make a pool of what `to_dict` gave; anything else is refused with the reason."""
        state = pool_state(data)
        held_out = state.pop("held_out")
        return cls(**state, held_out=None if held_out is None else HeldOut(**held_out))

    def __repr__(self) -> str:
        """Name it in one line."""
        fitted = f", fitted to {number_of(self.n_rows, 'row')}" if self.n_rows else ""
        return f"<Pool ({self.method}) of {number_of(len(self.weights), 'forecaster')}{fitted}>"


def at_floor(log_p: Sequence[Floats], floor: float) -> Floats:
    """Log-probabilities (n, C) of each member, clipped from below at that of the floor: (members, n, C)."""
    return np.maximum(np.stack(log_p), math.log(floor) if floor else -math.inf)


def pooled(model: PoolModel, log_p: Floats, number: Ints | None = None) -> Floats:
    """Combine; rows in which every class has probability 0 are refused by their number."""
    with np.errstate(invalid="ignore"):
        q = model.probabilities(log_p)
    if (nothing := np.isnan(q).any(axis=1)).any():
        rows = np.flatnonzero(nothing) if number is None else number[nothing]
        raise InputError(
            f"forecasters: in {rows_text(rows)} every class has probability 0 from one of them, so"
            " that their product is 0. Use method='linear', or clip the probabilities from below."
        )
    return q


def _columns(forecasters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Read the columns of each forecaster; their names, where they have any, are the same in the same order."""
    read: dict[str, Any] = {
        name: device_columns(forecasters[name], name) or as_columns(forecasters[name], name) for name in names
    }
    named = {name: each.names for name, each in read.items() if each.names is not None and each.n_columns > 1}
    for name, columns in named.items():
        if columns != (expected := next(iter(named.values()))):
            raise InputError(
                f"{name}: the probability columns are named {listed(columns)}, those of {next(iter(named))}"
                f" {listed(expected)}. Put them in the same order under the same names, or pass arrays (.to_numpy())."
            )
    return read


def _log_probabilities(name: str, read: Any, labels: Sequence[Label | None], scale: Scale) -> Floats:
    """Check probabilities, and the names of their columns, as `Recalibrator.transform` does."""
    if (classes := max(2, read.n_columns)) != len(labels):
        raise InputError(f"{name}: {classes} classes, and the pool is of {len(labels)}.")
    blocks = [block.log_probabilities for block in new_forecasts(read, labels, scale, name).blocks()]
    return np.concatenate(blocks or [np.empty((0, classes))])


FORM = Form("unperplexed pool", "a pool", "the pool has")
_KEYS = {"method", "weights", "order", "power", "beta", "labels", "floor", "n_rows", "held_out"}
_RAW = ("members", "best", "gain", "interval")
_RECALIBRATED = ("recalibrated", "best_recalibrated", "gain_recalibrated", "interval_recalibrated")
"""Values of ``held_out`` that earlier versions did not save."""

_LARGEST = 1e6
"""Nats: no log loss of a saved pool is larger."""


def pool_state(data: Any) -> dict[str, Any]:
    """Read the fields of a `Pool` from what its ``to_dict`` gave, and check all of it."""
    FORM.check(data, _KEYS)
    _require(data["method"] in get_args(Method), "method")
    weights = _named(data["weights"], "weights", 0.0, 1.0)
    _require(bool(weights) and abs(sum(weights.values()) - 1) < 1e-9, "weights")
    beta, labels, n_rows = data["beta"], data["labels"], data["n_rows"]
    _require(beta is None or (isinstance(beta, list) and len(beta) == 2), "beta")
    _require(isinstance(labels, list) and len(labels) > 1 and (beta is None or len(labels) == 2), "labels")
    _require(all(label is None or isinstance(label, bool | int | float | str) for label in labels), "labels")
    _require(is_whole(n_rows, 0), "n_rows")
    return {
        "method": data["method"],
        "weights": weights,
        "order": _number(data["order"], "order", -1e3, 1e3),
        "power": _number(data["power"], "power", 1e-9, 1e9),
        "beta": None if beta is None else (_number(beta[0], "beta", 1e-9, 1e9), _number(beta[1], "beta", 1e-9, 1e9)),
        "labels": tuple(labels),
        "floor": _number(data["floor"], "floor", 0.0, 1 / len(labels)),
        "n_rows": n_rows,
        "held_out": None if data["held_out"] is None else _held_out(data["held_out"], set(weights)),
    }


def _held_out(data: Any, names: set[str]) -> dict[str, Any]:
    keys = {"log_loss", "folds", *_RAW}
    _require(isinstance(data, Mapping) and set(data) in (keys, {*keys, *_RECALIBRATED}), "held_out")
    _require(isinstance(data["folds"], int), "held_out")
    found = {"log_loss": _number(data["log_loss"], "held_out", 0.0, _LARGEST), "folds": data["folds"]}
    found |= _beside_best(data, _RAW, names)
    return found | (_beside_best(data, _RECALIBRATED, names) if data.get("recalibrated") else {})


def _beside_best(data: Mapping[str, Any], keys: tuple[str, str, str, str], names: set[str]) -> dict[str, Any]:
    """Read the losses of the forecasters, the best of them, and the gain over it."""
    members, best, gain, interval = keys
    losses = _named(data[members], "held_out", 0.0, _LARGEST)
    _require(isinstance(data[best], str) and data[best] in names and set(losses) == names, "held_out")
    ends = data[interval]
    _require(isinstance(ends, list) and len(ends) == 2, "held_out")
    low, high = (math.nan if end == "NaN" else _number(end, "held_out", -_LARGEST, _LARGEST) for end in ends)
    value = _number(data[gain], "held_out", -_LARGEST, _LARGEST)
    return {members: losses, best: data[best], gain: value, interval: Interval(low, high)}


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise InputError(f"the pool is damaged: {what} cannot be right. Fit it anew.")


def _number(value: Any, what: str, low: float, high: float) -> float:
    _require(is_number(value, low, high), what)
    return float(value)


def _named(values: Any, what: str, low: float, high: float) -> dict[str, float]:
    _require(isinstance(values, Mapping) and all(isinstance(name, str) for name in values), what)
    return {name: _number(value, what, low, high) for name, value in values.items()}
