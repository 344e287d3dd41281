"""Losses and metrics for Keras 3 on any backend, and a callback that assesses a whole data set each epoch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, get_args

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, check_choice, refuse_former, refuse_unknown
from ..assessment.assess import assess
from ..forecasts.reading import RowReading
from ..recalibration.refinement import refinement_loss
from ..scores import differentiable as _rules
from ..scores.differentiable import Array, Rule
from ..scores.functions import Variant
from ..statistics.means import DEFAULT_FLOOR, ROBUST, Floor, check_floor, floor_for
from .metrics import HEADLINE, REFINEMENT, Scale, check_metrics, check_scale, named

try:
    import keras
    from keras import ops
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError(
        f"unperplexed.integrations.keras: Keras finds no backend ({error}). Install PyTorch or JAX, and say which"
        " before Keras is imported: KERAS_BACKEND=torch or KERAS_BACKEND=jax in the environment."
        if find_spec("keras")
        else "unperplexed.integrations.keras needs Keras 3 and a backend: pip install 'unperplexed[keras]'"
    ) from error

try:  # JAX's arrays take no attributes: Keras keeps their masks elsewhere, where nothing public reads them
    from keras.src.backend import get_keras_mask as _mask_of
except ImportError:  # pragma: no cover - depends on the version

    def _mask_of(x: Array) -> Array | None:
        return getattr(x, "_keras_mask", None)


class _RuleLoss(keras.losses.Loss):  # type: ignore[misc]
    """A rule, and the options that all have in common."""

    _settings: tuple[str, ...] = ()

    def __init__(
        self,
        rule: Rule,
        name: str,
        *,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        if not 0 <= label_smoothing <= 1:
            raise InputError(f"label_smoothing: expected a share from 0 to 1, got {label_smoothing!r}.")
        self._rule = rule
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis
        self._half = False

    def __call__(self, y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> Array:
        """Score the rows, and reduce."""
        # Keras makes float32 of what it hands on, but gradients go back to float16, which has little room.
        self._half = keras.backend.standardize_dtype(ops.convert_to_tensor(y_pred).dtype) == "float16"
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true: Array, y_pred: Array) -> Array:
        """Score each row."""
        rows = _Predictions.of(y_true, y_pred, self.from_logits, self.axis, least=_LEAST)
        shares = rows.shares * (1 - self.label_smoothing) + self.label_smoothing / rows.n_classes
        # Gradients of float64 pass through optimizers in float32.
        largest = _LARGEST_HALF if self._half or rows.half else float(np.finfo("float32").max)
        return rows.expected(rows.scores(self._rule, _rules.linearize_below(largest)), shares)

    def get_config(self) -> dict[str, Any]:
        """Give the settings, by which a saved model makes the loss again."""
        names = (*self._settings, "from_logits", "label_smoothing", "axis")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


_LARGEST_HALF = 65504.0
"""Largest number of float16."""

_LEAST = float(np.finfo("float32").tiny)
"""Probabilities below it are taken as that by losses, whose gradients are to be finite."""


class _Predictions(Frozen):
    """Predictions with the classes in the last place, and what share of the outcome each class has."""

    given: Array
    """Probabilities or logits, in float32 or float64."""
    log_p: Array
    shares: Array
    half: bool
    """Whether predictions came in float16."""

    @property
    def n_classes(self) -> int:
        return int(self.given.shape[-1])

    @classmethod
    def of(cls, y_true: Array, y_pred: Array, from_logits: bool, axis: int, least: float = 0.0) -> _Predictions:
        y_pred = ops.convert_to_tensor(y_pred)
        half = keras.backend.standardize_dtype(y_pred.dtype) == "float16"
        given = _last(y_pred, axis)
        if keras.backend.standardize_dtype(given.dtype) in ("float16", "bfloat16"):
            given = ops.cast(given, "float32")
        shares = ops.cast(_shares(y_true, y_pred, max(given.shape[-1], 2), axis), given.dtype)
        if given.shape[-1] == 1:  # of two classes the second
            other = ops.zeros_like(given) if from_logits else 1 - given
            given = ops.concatenate([other, given], axis=-1)
        if from_logits:
            return cls(given, ops.log_softmax(given, axis=-1), shares, half)
        return cls(given, ops.log(ops.maximum(given, ops.full_like(given, least)) if least else given), shares, half)

    def scores(self, rule: Rule, bend: float) -> Array:
        """What each row scores for each class."""
        each = rule.score(self.log_p, self.log_p, ops, bend)
        if rule.penalty is not None:
            each = each + rule.penalty(self.n_classes) * _rules.wrong(self.given, self.given, ops)
        return each

    def expected(self, each: Array, shares: Array) -> Array:
        """Weigh what each class has by shares; what has none counts nothing, also where it is infinite."""
        return ops.sum(ops.where(shares == 0, ops.zeros_like(each), shares * each), axis=-1)


def _last(x: Array, axis: int) -> Array:
    """Put the classes into the last place."""
    x = ops.convert_to_tensor(x)
    return x if axis in (-1, len(x.shape) - 1) else ops.moveaxis(x, axis, -1)


def _shares(y_true: Array, y_pred: Array, n_classes: int, axis: int) -> Array:
    """Share of each class: as given, or all of the one whose number is given; NaN where that is none."""
    y = ops.convert_to_tensor(y_true)
    same_rank = len(y.shape) == len(y_pred.shape)
    if same_rank and y.shape[axis] == n_classes:
        return _last(y, axis)
    if same_rank and y.shape[axis] == 1:
        y = _last(y, axis)
    elif len(y.shape) == len(y_pred.shape) - 1:
        y = ops.expand_dims(y, -1)
    else:
        raise InputError(
            f"y_true: expected numbers of classes, or what share each of {n_classes} classes has, for predictions of"
            f" shape {tuple(y_pred.shape)}; got shape {tuple(y.shape)}."
        )
    y = y if "float" in keras.backend.standardize_dtype(y.dtype) else ops.cast(y, "int32")
    if n_classes == 2:  # of two classes the share of the second, of which numbers of classes are a special case
        first = ops.cast(1 - y, "float32")
        shares, known = ops.concatenate([first, ops.cast(y, "float32")], axis=-1), (y >= 0) & (y <= 1)
    else:
        shares = ops.cast(y == ops.arange(n_classes, dtype=y.dtype), "float32")
        known = ops.any(shares > 0, axis=-1, keepdims=True)
    return ops.where(known, shares, ops.full_like(shares, math.nan))


@keras.saving.register_keras_serializable(package="unperplexed")
class BrierLoss(_RuleLoss):
    """Brier score, summed over classes. Smaller is better; strictly proper.

    Parameters
    ----------
    from_logits : bool, default False
        Whether predictions are logits instead of probabilities. With logits it is stable however far out they are.
    label_smoothing : float, default 0
        Share of each target that is dealt evenly to all classes.
    axis : int, default -1
        Where the classes are. One column alone is the second of two classes.
    reduction, dtype
        As of any Keras loss.

    Raises
    ------
    InputError
        For settings out of range; when called, for targets whose shape does not go with the predictions.

    Notes
    -----
    ``1 - 2 p_c + sum_j p_j^2`` with c the observed class (Brier 1950). Targets are numbers of classes, or the share
    that each class has, as one-hot rows are; of shares it is the expectation. For targets that are no class it is NaN.
    Where it has logarithms, probabilities below the smallest normal number of float32, 1.2e-38, are taken as that.

    Examples
    --------
    >>> from unperplexed.integrations.keras import BrierLoss
    >>> round(float(BrierLoss()([1, 1], [[0.33, 0.34, 0.33], [0.51, 0.49, 0.0]])), 4)
    0.5868
    """

    def __init__(self, name: str = "brier_score", **options: Any) -> None:
        super().__init__(_rules.BRIER, name, **options)


@keras.saving.register_keras_serializable(package="unperplexed")
class PenalizedBrierLoss(_RuleLoss):
    """Brier score plus a penalty for a wrong top class. Smaller is better; strictly proper.

    The penalty is constant wherever it is smooth, so that the gradient is that of the Brier score: it is for stopping
    and choosing more than for descending. Parameters are those of `BrierLoss`; the formula is that of
    `unperplexed.scores.penalized_brier_score`.

    Examples
    --------
    >>> from unperplexed.integrations.keras import PenalizedBrierLoss
    >>> round(float(PenalizedBrierLoss()([1], [[0.51, 0.49, 0.0]])), 4)
    1.1869
    """

    def __init__(self, name: str = "penalized_brier_score", **options: Any) -> None:
        super().__init__(_rules.PENALIZED_BRIER, name, **options)


@keras.saving.register_keras_serializable(package="unperplexed")
class PenalizedLogLoss(_RuleLoss):
    """Cross-entropy plus a penalty for a wrong top class. Smaller is better; strictly proper.

    As of `PenalizedBrierLoss` the gradient is that without the penalty. Parameters are those of `BrierLoss`; the
    formula is that of `unperplexed.scores.penalized_log_loss`.

    Examples
    --------
    >>> from unperplexed.integrations.keras import PenalizedLogLoss
    >>> round(float(PenalizedLogLoss()([1], [[0.51, 0.49, 0.0]])), 4)
    1.812
    """

    def __init__(self, name: str = "penalized_log_loss", **options: Any) -> None:
        super().__init__(_rules.PENALIZED_LOG, name, **options)


@keras.saving.register_keras_serializable(package="unperplexed")
class GeneralizedSurprisalLoss(_RuleLoss):
    """Generalized surprisal of order r: risk-averse below 0, risk-seeking above. Smaller is better; proper at 0 alone.

    ``r`` is an order above -1; the other parameters are those of `BrierLoss`, the formula that of
    `unperplexed.scores.generalized_surprisal`. Below order 0 it goes on in a straight line where powers would overflow.

    Examples
    --------
    >>> from unperplexed.integrations.keras import GeneralizedSurprisalLoss
    >>> round(float(GeneralizedSurprisalLoss(-0.5)([1, 0], [[0.2, 0.8], [0.5, 0.5]])), 4)
    0.2661
    """

    _settings = ("r",)

    def __init__(self, r: float, name: str = "generalized_surprisal", **options: Any) -> None:
        super().__init__(_rules.surprisal_rule(r), name, **options)
        self.r = float(r)


@keras.saving.register_keras_serializable(package="unperplexed")
class PowerLoss(_RuleLoss):
    """Power score of order r: cross-entropy at 0, the Brier score at 1. Smaller is better; strictly proper.

    ``r`` is an order above -1: the lower it is, the more improbable classes that happen weigh. The other parameters are
    those of `BrierLoss`, the formula that of `unperplexed.scores.power_score`.

    Examples
    --------
    >>> from unperplexed.integrations.keras import PowerLoss
    >>> round(float(PowerLoss(-0.5)([1, 0], [[0.2, 0.8], [0.5, 0.5]])), 4)
    0.6441
    """

    _settings = ("r",)

    def __init__(self, r: float, name: str = "power_score", **options: Any) -> None:
        super().__init__(_rules.power_rule(r), name, **options)
        self.r = float(r)


@keras.saving.register_keras_serializable(package="unperplexed")
class RiskLoss(_RuleLoss):
    """Weigh decisiveness, geometric accuracy and robustness in one loss. Smaller is better; proper by default.

    ``decisiveness``, ``accuracy`` and ``robustness`` are the weights of the rules of order 1, 0 and -2/3: of power
    scores, or with ``proper=False`` of generalized surprisals. The other parameters are those of `BrierLoss`.

    Examples
    --------
    >>> from unperplexed.integrations.keras import RiskLoss
    >>> round(float(RiskLoss(robustness=0)([1, 0], [[0.2, 0.8], [0.5, 0.5]])), 4)
    0.3741
    """

    _settings = ("decisiveness", "accuracy", "robustness", "proper")

    def __init__(
        self,
        decisiveness: float = 1.0,
        accuracy: float = 1.0,
        robustness: float = 1.0,
        proper: bool = True,
        name: str = "risk",
        **options: Any,
    ) -> None:
        super().__init__(_rules.risk_rule(decisiveness, accuracy, robustness, proper), name, **options)
        self.decisiveness, self.accuracy, self.robustness = decisiveness, accuracy, robustness
        self.proper = proper


_REPORTED: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "decisiveness": (ops.exp, lambda mean: mean),
    "geometric_accuracy": (lambda log_p: log_p, ops.exp),
    "robustness": (lambda log_p: ops.exp(ROBUST * log_p), lambda mean: mean ** (1 / ROBUST)),
}
"""For each mean what it is the mean of, by the logarithms of floored probabilities, and what makes it of that."""

_SCORES = {
    "log_loss": _rules.LOG,
    "brier_score": _rules.BRIER,
    "penalized_brier_score": _rules.PENALIZED_BRIER,
    "penalized_log_loss": _rules.PENALIZED_LOG,
}


_PUBLISHED = {"penalized_brier_score": _rules.published_brier_score, "penalized_log_loss": _rules.published_log_loss}
"""The penalized scores as the code of Ahmadian et al. (2025) has them."""


@keras.saving.register_keras_serializable(package="unperplexed")
class ForecastMetric(keras.metrics.Metric):  # type: ignore[misc]
    """A metric of the probabilities assigned to the outcomes, over all batches of an epoch.

    Those that take a measured probability cannot be had inside a compiled step; `AssessmentCallback` has them.

    Parameters
    ----------
    metric : str
        ``decisiveness``, ``geometric_accuracy``, ``robustness`` or ``prediction_accuracy``, of which larger is better;
        ``log_loss``, ``brier_score``, ``penalized_brier_score`` or ``penalized_log_loss``, of which smaller is.
    floor : float or "auto", default "auto"
        Probabilities below it are raised to it in the first three; "auto" as in `assess`.
    scale : {"probability", "logits"}, default "probability"
        What predictions are.
    axis
        As in `BrierLoss`.
    variant : {"proper", "published-code"}, default "proper"
        "published-code" computes the penalized scores as the package superior-scoring-rules does (``pbs``, ``pll``),
        for training histories that go on: the mean over classes, and no penalty for ties, so that they are not proper.
    name, dtype
        As of any Keras metric; by default the metric's name.

    Raises
    ------
    InputError
        For a metric that is none, a floor that is none; when called, as `BrierLoss`.

    Notes
    -----
    Sums are kept in two float32 numbers each, of which the second holds what the first rounds off: counts are exact up
    to 2**48 rows, on backends without float64 too. Masked steps count nothing. Targets that are no class make it NaN.
    `EarlyStopping` and `ModelCheckpoint` need no ``mode``: the metric tells them its direction.

    Examples
    --------
    >>> from unperplexed.integrations.keras import ForecastMetric
    >>> metric = ForecastMetric("geometric_accuracy")
    >>> metric.update_state([0, 1], [[0.8, 0.2], [0.5, 0.5]])
    >>> round(float(metric.result()), 4)
    0.6325
    """

    def __init__(
        self,
        metric: str = "geometric_accuracy",
        *,
        floor: Floor = DEFAULT_FLOOR,
        scale: Scale = "probability",
        axis: int = -1,
        variant: Variant = "proper",
        name: str | None = None,
        dtype: Any = None,
        **former: Any,
    ) -> None:
        refuse_unknown("ForecastMetric", former, ())
        super().__init__(name=name or metric, dtype=dtype)
        known = (*_REPORTED, "prediction_accuracy", *_SCORES)
        if metric not in known:
            raise InputError(f"metric: no metric {metric!r}. Known: {', '.join(known)}.")
        check_floor(floor)
        check_choice("variant", variant, get_args(Variant))
        if variant != "proper" and metric not in _PUBLISHED:
            raise InputError(f"variant: {metric!r} has one variant; {' and '.join(_PUBLISHED)} have others.")
        self.metric, self.floor, self.scale, self.axis = metric, floor, check_scale(scale), axis
        self.variant = variant
        self._direction = "down" if metric in _SCORES else "up"  # which callbacks that stop or save read
        # Sum and weight, each as what is kept and what that has rounded off.
        self.sums = self.add_variable(shape=(2, 2), initializer="zeros", dtype="float32", name="sums")

    def update_state(self, y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> None:
        """Count a batch."""
        mask = _mask_of(y_pred)
        rows = _Predictions.of(y_true, y_pred, self.scale == "logits", self.axis)
        x = ops.cast(rows.expected(self._each(rows), rows.shares), "float32")
        w = ops.ones_like(x)
        for given in (sample_weight, mask):
            if given is not None:
                w = w * _beside(ops.cast(ops.convert_to_tensor(given), "float32"), x)
        found = ops.stack([ops.sum(ops.where(w == 0, ops.zeros_like(x), w * x)), ops.sum(w)])
        total, rounded = _two_sum(self.sums[0], found)
        rounded = ops.where(ops.isfinite(total), self.sums[1] + rounded, ops.zeros_like(rounded))
        self.sums.assign(ops.stack(_two_sum(total, rounded)))

    def _each(self, rows: _Predictions) -> Array:
        if self.variant != "proper":
            return _PUBLISHED[self.metric](ops.exp(rows.log_p), ops)
        if self.metric in _SCORES:
            return rows.scores(_SCORES[self.metric], math.inf)
        if self.metric == "prediction_accuracy":
            return 1 - _rules.wrong(rows.given, rows.given, ops)
        floor = floor_for(self.floor, rows.n_classes)
        least = math.log(floor) if floor else -math.inf
        return _REPORTED[self.metric][0](ops.maximum(rows.log_p, least))

    def result(self) -> Array:
        """Give the metric; NaN before anything was counted."""
        total = self.sums[0] + ops.where(ops.isfinite(self.sums[0]), self.sums[1], ops.zeros_like(self.sums[1]))
        mean = total[0] / total[1]
        return _REPORTED[self.metric][1](mean) if self.metric in _REPORTED else mean

    def get_config(self) -> dict[str, Any]:
        """Give the settings, by which a saved model makes the metric again."""
        names = ("metric", "floor", "scale", "axis", "variant")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _beside(w: Array, x: Array) -> Array:
    """Weights with as many axes as what they weigh: of rows, the same for all that a row has."""
    if len(w.shape) > len(x.shape):
        w = ops.squeeze(w, -1)
    for _ in range(len(x.shape) - len(w.shape)):
        w = ops.expand_dims(w, -1)
    return w


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Sum, and what it has rounded off (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


DEFAULT_METRICS = (*HEADLINE, "penalized_brier_score", "penalized_log_loss")
"""What the callback logs: the penalized scores too, by which Keras models of their authors' package are stopped."""


class AssessmentCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Assesses forecasts of a whole data set after each epoch, for checkpoints and early stopping to monitor.

    Parameters
    ----------
    x : array_like, or iterable of batches
        Inputs of the validation set; without ``y`` batches of inputs and outcomes, and weights if there are three,
        which can be gone through again: a list, a `keras.utils.PyDataset`, a data loader.
    y : array_like, optional
        Outcomes: numbers of classes, or one-hot rows.
    prefix : str, default "val_"
        What the names of the metrics are logged with: ``val_reported_geometric_accuracy``.
    metrics : sequence of str, default the headline metrics and the penalized scores
        Which metrics, by their names in ``Assessment.metrics()``; also ``slope``, ``intercept``, ``ece``,
        ``auc`` and ``refinement_loss``.
    batch_size : int, optional
        Rows in a batch of predictions.
    **settings
        Options of `unperplexed.assess`: ``scale``, ``floor``, ``measured``, ``view``, ``sample_weight`` ...

    Attributes
    ----------
    assessment : Assessment
        The latest, with intervals and the diagnosis of its rows; None before the first epoch has ended, and after one
        of NaN.

    Raises
    ------
    InputError
        For a metric that is none, and as `unperplexed.assess`.

    Notes
    -----
    Callbacks run in the order of the list: this one comes before those that monitor what it logs. What a compiled
    metric of the same name logs of ``validation_data`` is overwritten; another ``prefix`` keeps both. Where predictions
    are NaN the metrics are, with a warning.

    Examples
    --------
    >>> import keras
    >>> import numpy as np
    >>> from unperplexed.integrations.keras import AssessmentCallback
    >>> x, y = np.random.default_rng(1).normal(size=(60, 4)), np.arange(60) % 3
    >>> model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
    >>> model.compile(loss="sparse_categorical_crossentropy")
    >>> history = model.fit(x, y, verbose=0, callbacks=[AssessmentCallback(x, y, metrics=["slope"])])
    >>> [*history.history]
    ['loss', 'val_slope']
    """

    def __init__(
        self,
        x: Any,
        y: Any = None,
        *,
        prefix: str = "val_",
        metrics: Sequence[str] = DEFAULT_METRICS,
        batch_size: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        refuse_former("AssessmentCallback", settings)
        self.metrics = (metrics,) if isinstance(metrics, str) else tuple(metrics)
        check_metrics(self.metrics, **{name: value for name, value in settings.items() if name not in _OF_ROWS})
        if y is None and (callable(x) or isinstance(x, tuple) or iter(x) is x):
            raise InputError(
                "x: without y, expected batches that can be gone through again, as a list, a PyDataset and a data"
                f" loader can; got {type(x).__name__}."
            )
        self.x, self.y, self.prefix = x, y, prefix
        self.batch_size, self.settings = batch_size, settings
        self.assessment: Any = None

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Assess, and log."""
        weights: dict[str, Any] = {}
        if self.y is None:
            y, predicted, weights = _of_batches(self.model, self.x)
        else:
            y, predicted = np.asarray(self.y), self.model.predict(self.x, batch_size=self.batch_size, verbose=0)
        if not hasattr(predicted, "ndim"):
            raise InputError(
                "x: the model has several outputs; the callback assesses one. Give it a model of that one."
            )
        p = np.asarray(predicted, dtype=np.float32 if predicted.dtype.itemsize < 4 else None)
        n_classes = 1 if p.ndim == 1 else p.shape[-1]
        y = y.reshape(-1, n_classes) if y.ndim == p.ndim and y.shape[-1] == n_classes > 1 else y.reshape(-1)
        p = p.reshape(-1) if n_classes == 1 else p.reshape(-1, n_classes)
        found = dict.fromkeys(self.metrics, math.nan)
        if np.isnan(p).any():
            self.assessment = None
            warnings.warn("AssessmentCallback: some predictions are NaN, and so are the metrics.", stacklevel=2)
        else:
            settings = {"labels": range(max(n_classes, 2))} | weights | self.settings
            self.assessment = assess(y, p, **settings)
            found = named(self.assessment, self.metrics)
            if REFINEMENT in self.metrics:
                reading = {key: value for key, value in settings.items() if key in RowReading.__annotations__}
                found[REFINEMENT] = refinement_loss(y, p, **reading)
        if logs is not None:
            logs.update({self.prefix + name: found[name] for name in self.metrics})


_OF_ROWS = ("labels", "pos_label", "ignore_label", "sample_weight", "clusters")
"""Settings of `assess` that go with data."""


def _of_batches(model: Any, batches: Any) -> tuple[np.ndarray[Any, Any], Any, dict[str, Any]]:
    """Outcomes and predictions of batches of inputs and outcomes, and the weights of their rows if they have some."""
    outcomes, predicted, weights = [], [], []
    # Data sets of Keras have a length and no end.
    whole = (batches[at] for at in range(len(batches))) if hasattr(batches, "__getitem__") else batches
    for batch in whole:
        x, y, *w = keras.tree.map_structure(_numpy, batch)
        outcomes.append(np.asarray(y))
        predicted.append(model.predict_on_batch(x))
        weights += [np.asarray(each) for each in w]
    if not predicted:
        raise InputError("x: no batches.")
    if not hasattr(predicted[0], "ndim"):
        return np.concatenate(outcomes), predicted, {}
    if weights and len(weights) != len(predicted):
        raise InputError("x: some batches have weights, others none.")
    of_rows = {"sample_weight": np.concatenate(weights).reshape(-1)} if weights else {}
    return np.concatenate(outcomes), np.concatenate([np.asarray(each) for each in predicted]), of_rows


def _numpy(x: Any) -> Any:
    """Arrays of any library as NumPy's."""
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)
