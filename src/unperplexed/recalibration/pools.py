"""pool(): several forecasters of the same outcomes combined into one.

The `Pool` that it makes can be saved, loaded and applied to new forecasts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack, get_args, overload

import numpy as np

from .._lib.arrays import as_columns, by_forecaster
from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, check_choice, is_number, is_whole, listed, rows_text
from .._lib.formatting import number_of
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats, Ints, ReadOnlyArrays
from .._version import __version__
from ..forecasts.gathered import LOG_PROBABILITIES, GatheredRows, gathered
from ..forecasts.labels import Label
from ..forecasts.reading import AssessedReading, RowReading, any_predictive, reads, refuse_beside_predictive
from ..forecasts.unobserved import new_forecasts
from ..kernels.devices import Scale, device_columns
from ..maps.two import zero_of
from ..report.result import Result
from ..statistics.intervals import UNKNOWN, Dependence, Interval, uncertain_mean
from ..statistics.matrices import product
from ..statistics.means import effective_number
from .files import Form, SavedFit
from .fitting import checked_settings, state_of_forecasts
from .folds import held_out
from .pool_models import Free, PoolModel, PoolRows, fit_pool

if TYPE_CHECKING:
    from ..forecasts.distributions.predictive import Predictive
    from .distribution_pools import DistributionPool

Method = Literal["linear", "logarithmic", "mean"]


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


Recalibration = Literal["auto", "power", "beta", "none"]
_ORDERS = {"linear": 1.0, "logarithmic": 0.0}
_FOLDS = 5
"""Folds by default, in which a pool is compared with its members."""
_START_ORDER = 0.5
"""Between the linear and the logarithmic pool."""


@overload
def pool(
    y_true: Any,
    forecasts: Mapping[str, Predictive],
    *,
    method: Literal["quantiles", "median", "linear"] | None = None,
    weights: Mapping[str, float] | Sequence[float] | Literal["equal"] | None = None,
    folds: int | None = None,
    **reading: Unpack[AssessedReading],
) -> DistributionPool: ...
@overload
def pool(
    y_true: Any,
    forecasts: Mapping[str, Any],
    *,
    method: Method | None = None,
    order: float | None = None,
    weights: Mapping[str, float] | Sequence[float] | Literal["equal"] | None = None,
    power: float | None = None,
    map: Recalibration = "auto",
    folds: int | None = None,
    seed: int = 0,
    **reading: Unpack[RowReading],
) -> Pool: ...
@reads(AssessedReading)
def pool(
    y_true: Any,
    forecasts: Mapping[str, Any],
    *,
    method: Any = None,
    order: float | None = None,
    weights: Mapping[str, float] | Sequence[float] | Literal["equal"] | None = None,
    power: float | None = None,
    map: Recalibration = "auto",
    folds: int | None = None,
    seed: int = 0,
    **reading: Unpack[AssessedReading],
) -> Any:
    """Combine several forecasters of the same outcomes into one (opinion pool).

    Returns a `Pool`. With outcomes, weights and recalibration are fitted, and
    its ``held_out`` compares the pool with its best member by log loss on
    held-out rows; smaller is better. Without outcomes, weights are equal unless
    you give them. ``transform`` combines new forecasts.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or None
        Outcomes: class labels or one-hot rows; None for a pool that is not
        fitted.
    forecasts : mapping from name to array_like of shape (n,) or (n, C)
        Predicted probabilities, of the positive class or of each class. Or of a
        number: `Quantiles` at the same levels, or `Samples`; then only
        ``method``, ``weights``, ``folds`` and the reading of `assess` are
        options.
    method : {"linear", "logarithmic", "mean"}, optional
        Weighted arithmetic mean of the probabilities (default), geometric mean,
        or generalized mean of order ``order``; the last two are renormalized.
        Of quantiles: "quantiles" (default), their weighted mean level by level;
        "median", their median; or "linear", quantiles of the weighted mean of
        the distribution functions, which is wider than its members. Of
        `Samples` "linear": the members of all.
    order : float, optional
        Order of the generalized mean, for ``method="mean"`` alone; fitted by
        default.
    weights : mapping, sequence or "equal", optional
        Non-negative weights of the forecasters, in their order or by name;
        fitted by default where there are outcomes, those of quantiles by their
        CRPS.
    power : float, optional
        Power to which pooled probabilities are raised before they are
        renormalized; above 1 they are extremized.
    map : {"auto", "power", "beta", "none"}, default "auto"
        What is fitted besides: a power (Baron et al. 2014), or for two classes
        and a linear pool the two parameters of a beta map (Ranjan and Gneiting
        2010). ``"auto"`` is ``"beta"`` where it applies, else ``"power"``.
    folds : int, optional
        Number of cross-validation folds, 2 to 100. By default 5 for the pool,
        and those of `Recalibrator` for a forecaster recalibrated alone. Rows of
        one cluster (``clusters``) share a fold.
    seed : int, default 0
        Random seed of the folds.
    **reading
        How rows are read, as in `Forecasts`; without outcomes ``labels`` and
        ``scale``.

    Returns
    -------
    Pool
        ``weights``, ``order``, ``power``, ``probabilities`` (cross-fitted),
        ``held_out`` (log loss of the pool and of each forecaster);
        ``transform`` for new forecasts, ``save``. For predictive distributions,
        a `DistributionPool` with ``forecast``, ``weights`` and ``transform``.

    Raises
    ------
    InputError
        As `Forecasts`; for forecasters of different classes; for settings that
        contradict one another.

    Notes
    -----
    ``q_c ~ (sum_k w_k p_kc^r)^(a/r)``, with order r = 1 for the linear and r ->
    0 for the logarithmic pool, and power a. For two classes and r -> 0 this is
    ``logit q = a sum_k w_k logit p_k``. The beta-transformed linear pool is
    ``q = F(sum_k w_k p_k)`` with the distribution function F of Beta(alpha,
    beta).

    Each calibrated forecaster knows a part of the evidence, so that a linear or
    logarithmic pool of them is underconfident (Ranjan and Gneiting 2010): pools
    of independent forecasters need a power above 1. Parameters are fitted by
    maximum likelihood with a N(0, 1) prior on the logits of the weights and on
    the logarithms of the power and of the beta parameters, so that few rows
    leave weights nearly equal.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import pool
    >>> rng = np.random.default_rng(0)
    >>> evidence = rng.normal(0, 1.5, (2, 4000))  # each is calibrated by itself
    >>> y = rng.random(4000) < 0.5
    >>> log_odds = 1.5**2 * np.where(y, 1, -1) / 2 + evidence
    >>> a, b = 1 / (1 + np.exp(-log_odds))
    >>> found = pool(y, {"a": a, "b": b}, method="logarithmic")
    >>> print(found.to_text().splitlines()[0])
    The pool is better than its best forecaster, 'b'.
    >>> round(found.power, 1)
    2.0
    >>> pool(None, {"a": [0.9, 0.2], "b": [0.7, 0.4]}).probabilities
    array([0.8, 0.3])
    """
    if any_predictive(forecasts):
        from .distribution_pools import pooled_distributions

        after = {"map": None if map == "auto" else map, "seed": seed or None}
        refuse_beside_predictive({"order": order, "power": power, **after})
        given = None if weights is None else _weights([*forecasts], weights)
        return pooled_distributions(y_true, forecasts, given, method=method, folds=folds, reading=reading)
    method = method or "linear"
    check_choice("method", method, get_args(Method))
    check_choice("map", map, get_args(Recalibration))
    forecasts = by_forecaster(y_true, forecasts)
    if not isinstance(forecasts, Mapping) or not forecasts:
        raise InputError("forecasts: expected a mapping from names to probabilities, such as {'a': p, 'b': q}.")
    settings = PoolSettings(method, order, weights, power, map, folds, seed)
    start = settings.start([*forecasts])
    if y_true is None:
        return _unfitted(forecasts, start, settings, reading)
    return pool_of_rows(gathered(forecasts, y_true, reading, next(iter(forecasts)), LOG_PROBABILITIES), settings)


class PoolSettings(Frozen):
    """Arguments of `pool`, which describes them."""

    method: Method
    order: float | None
    weights: Mapping[str, float] | Sequence[float] | Literal["equal"] | None
    power: float | None
    map: Recalibration
    folds: int | None
    seed: int

    def start(self, names: list[str]) -> PoolModel:
        """Pool that fits start from, with what the user gives."""
        if self.method != "mean" and self.order is not None:
            raise InputError(
                f"order: the {self.method} pool has order {_ORDERS[self.method]:g}; use method='mean' for another."
            )
        for name, value, low in (("order", self.order, -100.0), ("power", self.power, 1e-6)):
            if value is not None and not is_number(value, low, 100):
                raise InputError(f"{name}: expected a number from {low:g} to 100, got {value!r}.")
        order = _ORDERS.get(self.method, _START_ORDER) if self.order is None else float(self.order)
        return PoolModel(_weights(names, self.weights), order, 1.0 if self.power is None else float(self.power))

    def beta(self, classes: int) -> bool:
        """Whether the pool has a beta map."""
        able = self.method == "linear" and classes == 2 and self.power is None
        if self.map == "beta" and not able:
            raise InputError("map: a beta map is for two classes and method='linear', without a power.")
        return able and self.map in ("auto", "beta")


def pool_of_rows(rows: GatheredRows, asked: PoolSettings) -> Pool:
    """Fit a pool to gathered rows."""
    start, beta = asked.start([*rows.values]), asked.beta(rows.n_classes)
    free = Free(
        weights=asked.weights is None,
        order=asked.method == "mean" and asked.order is None,
        power=asked.power is None and not beta and asked.map != "none",
        beta=beta,
    )
    fitting = _Fitting(rows, replace(start, beta=(1.0, 1.0) if beta else None), free)
    return fitting.pool(asked.method, asked.folds, asked.seed)


def _weights(names: list[str], given: Any) -> Floats:
    """Weights that sum to 1."""
    if given is None or (isinstance(given, str) and given == "equal"):
        return np.full(len(names), 1 / len(names))
    values = given
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise InputError(f"weights: expected one for each of {', '.join(map(repr, names))}.")
        values = [given[name] for name in names]
    try:
        w = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    if w.shape != (len(names),) or not (np.isfinite(w) & (w >= 0)).all() or not w.sum() > 0:
        raise InputError(f"weights: expected {len(names)} non-negative numbers, not all 0, got {given!r}.")
    return np.asarray(w / w.sum())


def _unfitted(
    forecasters: Mapping[str, Any], start: PoolModel, asked: PoolSettings, reading: Mapping[str, Any]
) -> Pool:
    if asked.map not in ("auto", "none"):
        raise InputError("map: nothing can be fitted without outcomes; pass y_true, or a power.")
    if asked.method == "mean" and asked.order is None:
        raise InputError("order: without outcomes it cannot be fitted; pass one.")
    if unknown := [name for name in reading if name not in ("labels", "scale")]:
        raise InputError(f"{unknown[0]}: has no use without outcomes; pass y_true.")
    first = np.shape(next(iter(forecasters.values())))
    classes = first[1] if len(first) == 2 else 2
    labels = reading.get("labels")
    if labels is not None and len(labels) != classes:
        raise InputError(f"labels: {len(labels)} for forecasts of {classes} classes.")
    weights = dict(zip(forecasters, start.weights.tolist(), strict=True))
    classes_of = tuple(labels) if labels else (None,) * classes
    made = Pool(asked.method, weights, start.order, start.power, None, classes_of, 0.0, 0)
    return replace(made, probabilities=made.transform(forecasters, scale=reading.get("scale", "probability")))


class _Fitting:
    """A pool fitted to gathered rows."""

    def __init__(self, rows: GatheredRows, start: PoolModel, free: Free) -> None:
        self.rows, self.start, self.free = rows, start, free
        self.names = [*rows.values]
        self.floor = 0.01 / (rows.n_classes * rows.n_rows)
        """So low that it matters to logarithms of 0 alone."""
        log_p = at_floor([np.asarray(each, dtype=np.float64) for each in rows.values.values()], self.floor)
        scale = effective_number(rows.weights) / float(rows.weights.sum())
        self.fitted_to = PoolRows(log_p, rows.truth, rows.weights * scale)

    def pool(self, method: Method, folds: int | None, seed: int) -> Pool:
        """Fit on all rows, and on each row's other folds."""
        outs = [*held_out(self.rows, _FOLDS if folds is None else folds, seed)]
        model, place = fit_pool(self.start, self.free, self.fitted_to)
        q = np.empty(self.fitted_to.log_p.shape[1:])
        for out in outs:
            without = fit_pool(self.start, self.free, self.fitted_to[~out], place)[0]
            q[out] = without.probabilities(self.fitted_to.log_p[:, out])
        return Pool(
            method=method,
            weights=dict(zip(self.names, model.weights.tolist(), strict=True)),
            order=model.order,
            power=model.power,
            beta=model.beta,
            labels=self.rows.labels,
            floor=self.floor,
            n_rows=self.rows.n_rows,
            held_out=self.compared(q, self.recalibrated(folds, seed), len(outs)),
            probabilities=q[:, 1].copy() if self.rows.one_column else q,
            warnings=tuple(self.zeros()),
        )

    def recalibrated(self, folds: int | None, seed: int) -> dict[str, Floats]:
        """Log loss of each row by each forecaster recalibrated alone, cross-fitted; empty where rows are too many."""
        found, settings = {}, checked_settings("auto", False, folds, seed)
        for name in self.names:
            forecasts = self.rows.forecasts(name)
            alone = state_of_forecasts(forecasts, settings).held_out
            if alone is None or alone.dealt is None:
                return {}
            q, truth = alone.recalibrated(forecasts.blocks())
            found[name] = -np.log(q[np.arange(truth.size), truth])
        return found

    def losses(self, q: Floats) -> Floats:
        """Log loss of each row."""
        correct = q[np.arange(self.rows.n_rows), self.rows.truth]
        return np.asarray(-np.log(np.where(correct > 0, correct, self.floor)))

    def mean(self, losses: Floats) -> float:
        """Mean of the rows by their weights."""
        return float(product(self.rows.weights, losses) / self.rows.weights.sum())

    def compared(self, q: Floats, recalibrated: dict[str, Floats], folds: int) -> HeldOut:
        """Compare the cross-fitted pool with the best forecaster, as it is and recalibrated alone."""
        loss = self.losses(q)
        raw = self.beside_best(loss, {name: -self.observed(name) for name in self.names})
        return HeldOut(self.mean(loss), *raw, folds, *(self.beside_best(loss, recalibrated) if recalibrated else ()))

    def beside_best(self, loss: Floats, members: Mapping[str, Floats]) -> tuple[dict[str, float], str, float, Interval]:
        """Mean losses of the forecasters, the best of them, and the gain over it with its 95% confidence interval."""
        means = {name: self.mean(each) for name, each in members.items()}
        best = min(means, key=means.__getitem__)
        gain = uncertain_mean(members[best] - loss, self.rows.weights, Dependence(self.rows.clusters))
        return means, best, gain.mean, gain.interval(0.95)

    def observed(self, name: str) -> Floats:
        """Logarithm of the probability of each observed class; an exact zero counts as in a recalibration."""
        log_p = np.asarray(self.rows.values[name], dtype=np.float64)
        zero = zero_of(log_p, self.rows.n_classes, self.rows.n_rows)
        found = log_p[np.arange(self.rows.n_rows), self.rows.truth]
        return np.where(np.isneginf(found), math.log(zero), found)

    def zeros(self) -> Iterator[str]:
        """Name forecasters that assigned 0 to an outcome."""
        for name, log_p in self.rows.values.items():
            zeros = np.isneginf(log_p[np.arange(self.rows.n_rows), self.rows.truth])
            if count := np.count_nonzero(zeros):
                yield (
                    f"{name} assigned probability 0 to the observed class in {count:,} of {self.rows.n_rows:,} rows,"
                    f" which count as {math.exp(self.observed(name)[zeros][0]):.2g}"
                )
