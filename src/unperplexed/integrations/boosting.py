"""Metrics of probabilities while LightGBM and XGBoost train: for evaluation sets and early stopping.

None of the two libraries is imported: these are functions for them to call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax

from .._lib.errors import InputError
from .metrics import LARGER, METRICS, Scale, check_scale, check_settings

_Triple = tuple[str, float, bool]


def lightgbm_metric(metric: str, *, scale: Scale = "probability", **settings: Any) -> Callable[[Any, Any], _Triple]:
    """Make an evaluation function for ``lightgbm.train(feval=...)`` and ``lightgbm.cv``.

    Parameters
    ----------
    metric : str
        One of ``geometric_accuracy``, ``decisiveness``, ``robustness``, ``spherical_score`` (larger is better, which
        LightGBM is told), ``log_loss``, ``brier_score``, ``penalized_brier_score``, ``penalized_log_loss``,
        ``ranked_probability_score``, ``power_score``, ``generalized_surprisal``, ``expected_calibration_error``,
        ``smooth_calibration_error``, ``refinement_loss`` (smaller is better); or ``neg_`` and one of the first four, of
        which smaller is better again.
    scale : {"probability", "logits"}, default "probability"
        What LightGBM hands over: with an objective of one's own margins, which are logits.
    **settings
        Those of the function of that name: ``floor``, ``r``, ``bins`` ...

    Returns
    -------
    callable
        Function of predictions and data set; gives name, value and whether larger is better. Weights of the data set
        count.

    Raises
    ------
    InputError
        For a metric that is none; when called, for predictions that are no probabilities and labels that are no
        numbers of classes.
    TypeError
        For settings that the metric does not have, or lacks.

    Notes
    -----
    Margins of two classes that all lie between 0 and 1 look like probabilities: say ``scale="logits"``.

    Examples
    --------
    >>> from unperplexed.integrations.boosting import lightgbm_metric
    >>> class Data:
    ...     get_label = staticmethod(lambda: [1, 0])
    ...     get_weight = staticmethod(lambda: None)
    >>> lightgbm_metric("geometric_accuracy")([0.8, 0.5], Data)
    ('geometric_accuracy', 0.6324555320336759, True)
    """
    return _OfDataset(metric, scale, settings)


def lightgbm_classifier_metric(
    metric: str, *, scale: Scale = "probability", **settings: Any
) -> Callable[[Any, Any, Any], _Triple]:
    """Make an evaluation function for ``LGBMClassifier.fit(eval_metric=...)``.

    Parameters
    ----------
    metric, scale, **settings
        As in `lightgbm_metric`.

    Returns
    -------
    callable
        Function of outcomes, predictions and weights; gives name, value and whether larger is better.

    Raises
    ------
    InputError
        As `lightgbm_metric`.

    Examples
    --------
    >>> from unperplexed.integrations.boosting import lightgbm_classifier_metric
    >>> lightgbm_classifier_metric("brier_score")([1, 0], [0.8, 0.5], None)
    ('brier_score', 0.29000000000000004, False)
    """
    return _OfArrays(metric, scale, settings)


def xgboost_metric(
    metric: str, *, scale: Scale = "probability", **settings: Any
) -> Callable[[Any, Any], tuple[str, float]]:
    """Make an evaluation function for ``xgboost.train(custom_metric=...)`` and ``xgboost.cv``.

    XGBoost takes smaller values for better ones by default: stop by ``neg_geometric_accuracy``, or by
    ``geometric_accuracy`` with ``xgboost.callback.EarlyStopping(..., maximize=True)``; and so of ``decisiveness``,
    ``robustness`` and ``spherical_score``.

    Parameters
    ----------
    metric, scale, **settings
        As in `lightgbm_metric`. XGBoost hands over margins with an objective of one's own.

    Returns
    -------
    callable
        Function of predictions and `DMatrix`; gives name and value. Weights of the matrix count.

    Raises
    ------
    InputError
        As `lightgbm_metric`.

    Examples
    --------
    >>> from unperplexed.integrations.boosting import xgboost_metric
    >>> class Data:
    ...     get_label = staticmethod(lambda: [1, 0])
    ...     get_weight = staticmethod(lambda: [])
    >>> xgboost_metric("brier_score")([0.8, 0.5], Data)
    ('brier_score', 0.29000000000000004)
    """
    return _OfMatrix(metric, scale, settings)


def xgboost_classifier_metric(metric: str, *, scale: Scale = "probability", **settings: Any) -> Callable[..., float]:
    """Make an evaluation function for ``XGBClassifier(eval_metric=...)``.

    Parameters
    ----------
    metric, scale, **settings
        As in `xgboost_metric`.

    Returns
    -------
    callable
        Function of outcomes and predictions, and ``sample_weight``; gives the value, of which XGBoost takes smaller
        ones for better, as `xgboost_metric` says.

    Raises
    ------
    InputError
        As `lightgbm_metric`.

    Examples
    --------
    >>> from unperplexed.integrations.boosting import xgboost_classifier_metric
    >>> metric = xgboost_classifier_metric("brier_score")
    >>> metric.__name__, metric([1, 0], [0.8, 0.5])
    ('brier_score', 0.29000000000000004)
    """
    return _Alone(metric, scale, settings)


class _Metric:
    """A metric of outcomes, of predictions as the libraries hand them over, and of weights, if any."""

    def __init__(self, metric: str, scale: Scale, settings: dict[str, Any]) -> None:
        names = (*METRICS, *(f"neg_{name}" for name in LARGER))
        if metric not in names:
            raise InputError(f"metric: no metric {metric!r}. Known: {', '.join(names)}.")
        self.metric, self.scale, self.settings = metric, check_scale(scale), settings
        self._sign, self._name = (-1, metric.removeprefix("neg_")) if metric not in METRICS else (1, metric)
        self.larger_is_better = metric in LARGER
        check_settings(self._name, **settings)

    def value(self, y_true: Any, predictions: Any, weights: Any) -> float:
        given, p = np.asarray(y_true, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
        y = np.nan_to_num(given, nan=-1, posinf=-1, neginf=-1).astype(np.int64)
        if (y != given).any():
            raise InputError(f"labels: expected numbers of classes, got {given[y != given][0]:g}.")
        if self.scale == "logits":  # of one column with 0 for the other class, so that neither side loses what is small
            p = softmax(np.stack([np.zeros_like(p), p], axis=1) if p.ndim == 1 else p, axis=1)
        w = None if weights is None or len(weights) == 0 else np.asarray(weights, dtype=np.float64)
        labels = range(2 if p.ndim == 1 else p.shape[1])
        try:
            return self._sign * METRICS[self._name](y, p, sample_weight=w, labels=labels, **self.settings)
        except InputError as error:
            raise InputError(
                f"{self.metric}: predictions or labels are not what it takes; margins, as of an objective of one's own,"
                f' take scale="logits", and an objective that gives classes or rows that do not sum to 1 is none for'
                f" it. {error}"
            ) from None


# Each is called in its library's way, which is told by the number and the names of its arguments.
class _OfDataset(_Metric):
    def __call__(self, predictions: Any, data: Any) -> _Triple:
        value = self.value(data.get_label(), predictions, data.get_weight())
        return self.metric, value, self.larger_is_better


class _OfArrays(_Metric):
    def __call__(self, y_true: Any, y_pred: Any, weight: Any) -> _Triple:
        return self.metric, self.value(y_true, y_pred, weight), self.larger_is_better


class _OfMatrix(_Metric):
    def __call__(self, predictions: Any, data: Any) -> tuple[str, float]:
        return self.metric, self.value(data.get_label(), predictions, data.get_weight())


class _Alone(_Metric):
    def __init__(self, metric: str, scale: Scale, settings: dict[str, Any]) -> None:
        super().__init__(metric, scale, settings)
        self.__name__ = metric  # by which XGBoost calls it

    def __call__(self, y_true: Any, y_score: Any, sample_weight: Any = None) -> float:
        return self.value(y_true, y_score, sample_weight)
