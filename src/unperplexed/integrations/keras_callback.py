"""A callback for Keras 3 that assesses a whole data set each epoch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from .._lib.errors import InputError, refuse_former
from ..assessment.assess import assess
from ..forecasts.reading import RowReading
from ..recalibration.refinement import refinement_loss
from .metrics import HEADLINE, REFINEMENT, check_metrics, named

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
