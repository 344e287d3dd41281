"""Figures of probabilities while LightGBM and XGBoost train: for evaluation sets and early stopping.

None of the two libraries is imported: these are functions for them to call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax

from ..errors import InputError
from ._figures import FIGURES, LARGER

_Triple = tuple[str, float, bool]


def lightgbm_metric(figure: str, *, from_logits: bool = False, **settings: Any) -> Callable[[Any, Any], _Triple]:
    """Make an evaluation function for ``lightgbm.train(feval=...)`` and ``lightgbm.cv``.

    Parameters
    ----------
    figure : str
        One of ``geometric_accuracy``, ``decisiveness``, ``robustness``, ``spherical_score`` (larger is better, which
        LightGBM is told), ``log_loss``, ``brier_score``, ``penalized_brier_score``, ``penalized_log_loss``,
        ``ranked_probability_score``, ``power_score``, ``generalized_surprisal``, ``expected_calibration_error``,
        ``smooth_calibration_error`` (smaller is better).
    from_logits : bool, default False
        Whether LightGBM hands over margins, as it does with an objective of one's own, instead of probabilities.
    **settings
        Those of the function of that name: ``floor``, ``r``, ``bins`` ...

    Returns
    -------
    callable
        Of predictions and data set; gives name, value and whether larger is better. Weights of the data set count.

    Raises
    ------
    InputError
        For a figure that is none; when called, for predictions that are no probabilities.

    Examples
    --------
    >>> from unperplexed.integrations.boosting import lightgbm_metric
    >>> class Data:
    ...     get_label = staticmethod(lambda: [1, 0])
    ...     get_weight = staticmethod(lambda: None)
    >>> lightgbm_metric("geometric_accuracy")([0.8, 0.5], Data)
    ('geometric_accuracy', 0.6324555320336759, True)
    """
    value = _value(figure, from_logits, settings)

    def metric(predictions: Any, data: Any) -> _Triple:
        return figure, value(data.get_label(), predictions, data.get_weight()), figure in LARGER

    return metric


def lightgbm_classifier_metric(
    figure: str, *, from_logits: bool = False, **settings: Any
) -> Callable[[Any, Any, Any], _Triple]:
    """Make an evaluation function for ``LGBMClassifier.fit(eval_metric=...)``.

    Parameters
    ----------
    figure, from_logits, **settings
        As in `lightgbm_metric`.

    Returns
    -------
    callable
        Of outcomes, predictions and weights; gives name, value and whether larger is better.

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
    value = _value(figure, from_logits, settings)

    def metric(y_true: Any, y_pred: Any, weight: Any) -> _Triple:
        return figure, value(y_true, y_pred, weight), figure in LARGER

    return metric


def xgboost_metric(
    figure: str, *, from_logits: bool = False, **settings: Any
) -> Callable[[Any, Any], tuple[str, float]]:
    """Make an evaluation function for ``xgboost.train(custom_metric=...)`` and ``xgboost.cv``.

    XGBoost takes smaller values for better ones unless told otherwise: of ``geometric_accuracy``, ``decisiveness``,
    ``robustness`` and ``spherical_score`` stop by ``xgboost.callback.EarlyStopping(..., maximize=True)``.

    Parameters
    ----------
    figure, from_logits, **settings
        As in `lightgbm_metric`. XGBoost hands over margins with an objective of one's own.

    Returns
    -------
    callable
        Of predictions and `DMatrix`; gives name and value. Weights of the matrix count.

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
    value = _value(figure, from_logits, settings)

    def metric(predictions: Any, data: Any) -> tuple[str, float]:
        return figure, value(data.get_label(), predictions, data.get_weight())

    return metric


def xgboost_classifier_metric(figure: str, *, from_logits: bool = False, **settings: Any) -> Callable[..., float]:
    """Make an evaluation function for ``XGBClassifier(eval_metric=...)``.

    Parameters
    ----------
    figure, from_logits, **settings
        As in `xgboost_metric`.

    Returns
    -------
    callable
        Of outcomes and predictions, and ``sample_weight``; gives the value, of which XGBoost takes smaller ones for
        better, as `xgboost_metric` says.

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
    value = _value(figure, from_logits, settings)

    def metric(y_true: Any, y_score: Any, sample_weight: Any = None) -> float:
        return value(y_true, y_score, sample_weight)

    metric.__name__ = figure  # by which XGBoost calls it
    return metric


def _value(figure: str, from_logits: bool, settings: dict[str, Any]) -> Callable[[Any, Any, Any], float]:
    """Figure of outcomes, predictions as the libraries hand them over, and weights, if any."""
    if figure not in FIGURES:
        raise InputError(f"figure: no figure {figure!r}. Known: {', '.join(FIGURES)}.")

    def value(y_true: Any, predictions: Any, weights: Any) -> float:
        y, p = np.asarray(y_true).astype(np.int64), np.asarray(predictions, dtype=np.float64)
        if from_logits:  # of one column with 0 for the other class, so that neither side loses what is small
            p = softmax(np.stack([np.zeros_like(p), p], axis=1) if p.ndim == 1 else p, axis=1)
        w = None if weights is None or len(weights) == 0 else np.asarray(weights, dtype=np.float64)
        labels = range(2 if p.ndim == 1 else p.shape[1])
        return FIGURES[figure](y, p, sample_weight=w, labels=labels, **settings)

    return value
