"""Scorers, displays and recalibration for scikit-learn: select models, look at them, recalibrate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._lib.dataclasses import dataclass
from .._lib.errors import InputError, missing, nearest
from ..forecasts.labels import Label
from .metrics import LARGER, METRICS, SMALLER, check_settings
from .sklearn_recalibration import RecalibratedClassifier  # noqa: F401  (a name of this module too)

try:
    from sklearn.metrics import make_scorer
except ImportError as error:  # pragma: no cover - depends on the installation
    raise missing(__name__, "scikit-learn 1.6 or later", "sklearn") from error

from .sklearn_displays import AssessmentDisplay, RiskProfileDisplay  # noqa: F401  (names of this module too)

SCORERS = (*LARGER, *(f"neg_{name}" for name in SMALLER))
"""Names that `scorer` and `scorers` know. For losses it is minus the loss, so that larger is always better."""


@dataclass(frozen=True)
class _Metric:
    """A metric of forecasts as scikit-learn calls it, when only the outcomes name the classes."""

    __name__: str

    def __call__(
        self,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: ArrayLike | None = None,
        labels: Sequence[Label] | None = None,
        pos_label: Label | None = None,
        **settings: Any,
    ) -> float:
        given = np.asarray(y_proba)
        known = np.unique(np.asarray(y_true)).tolist() if labels is None else list(labels)
        if given.ndim == 1 and len(known) == 2 and np.isin(given, known).all():
            # Thresholds make classes of probabilities: these are certain of one.
            value = self.of_classes(y_true, (given == known[1]).astype(float), known, None, sample_weight, settings)
            if not np.isfinite(value):
                raise InputError(f"{self.__name__}: of classes instead of probabilities it is infinite; give a floor.")
            return value
        return self.of_classes(y_true, given, known, pos_label, sample_weight, settings)

    def of_classes(
        self,
        y_true: Any,
        y_proba: Any,
        classes: list[Label],
        pos_label: Label | None,
        sample_weight: ArrayLike | None,
        settings: Mapping[str, Any],
    ) -> float:
        """Give the metric of probabilities of these classes, or of two classes of one, by default the second."""
        n_columns = 2 if y_proba.ndim == 1 else y_proba.shape[1]
        if len(classes) != n_columns or (pos_label is not None and pos_label not in classes):
            raise InputError(
                f"labels: probabilities of {n_columns} classes, and these are {classes!r}"
                + ("" if pos_label is None else f" with pos_label {pos_label!r}")
                + "; give those of the classifier, as in labels=classifier.classes_."
            )
        if y_proba.ndim == 1 and pos_label is not None and pos_label == classes[0]:
            classes = classes[::-1]
        return METRICS[self.__name__](y_true, y_proba, sample_weight=sample_weight, labels=classes, **settings)


class _Scorer(type(make_scorer(len))):  # type: ignore[misc]
    """One of scikit-learn's, that asks the classifier which class each column is."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any) -> float:
        settings = {**self._kwargs, **kwargs}
        pos_label, weight = settings.pop("pos_label", None), settings.pop("sample_weight", None)
        y_proba = method_caller(estimator, "predict_proba", X, pos_label=pos_label)
        classes = np.asarray(estimator.classes_).tolist()
        labels = settings.pop("labels", None)
        if labels is not None and np.asarray(labels).tolist() != classes:
            raise InputError(f"labels: the classifier's are, in this order, {classes!r}; got {list(labels)!r}.")
        value: float = self._score_func.of_classes(y_true, np.asarray(y_proba), classes, pos_label, weight, settings)
        return float(self._sign * value)


def scorer(name: str, **settings: Any) -> Callable[..., float]:
    """Make a scorer for scikit-learn's model selection. Larger is better: losses are taken with a minus.

    Parameters
    ----------
    name : str
        One of `SCORERS`, such as ``"neg_penalized_brier_score"`` or ``"geometric_accuracy"``.
    **settings
        Those of the function of that name: ``floor``, ``r``, ``bins``, ``view``; or ``labels``, the classifier's
        ``classes_``, which it takes where it scores classes that a fold may lack; or ``pos_label``.

    Returns
    -------
    callable
        ``scorer(classifier, X, y, sample_weight=None)``, one of those that `sklearn.metrics.make_scorer` makes, of
        ``predict_proba``: for ``scoring`` of `cross_validate`, `GridSearchCV` and their kin, and with metadata routing.

    Raises
    ------
    InputError
        For a name that is none; when called, for outcomes that the classifier has not seen.
    TypeError
        For settings that the function does not have, or lacks.

    Notes
    -----
    Which class each column is, the classifier says, so that a fold may lack some. In `TunedThresholdClassifierCV`,
    which scores classes instead of probabilities, each counts as certain: scores that are then infinite take a
    ``floor``.

    For two classes scikit-learn hands over the probabilities of one; what is left to the other is rounded to multiples
    of 1e-16, at worst to 0, for which the log loss is infinite. A ``floor`` keeps it finite: ``scorer("neg_log_loss",
    floor=0.005)``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from unperplexed.integrations.sklearn import scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> found = cross_val_score(LogisticRegression(max_iter=1000), X, y, scoring=scorer("geometric_accuracy"))
    >>> found.round(2)
    array([0.86, 0.9 , 0.83, 0.86, 0.9 ])
    """
    if name not in SCORERS:
        raise InputError(f"scorer: no scorer {name!r}{_today(str(name))} Known: {', '.join(SCORERS)}.")
    larger = name in LARGER
    metric = _Metric(name if larger else name.removeprefix("neg_"))
    check_settings(metric.__name__, **{key: value for key, value in settings.items() if key not in _OF_DATA})
    made: Callable[..., float] = _Scorer(metric, 1 if larger else -1, settings, "predict_proba")
    return made


_OF_DATA = ("labels", "pos_label", "sample_weight")

_PRINTED = {
    "ece": "; it is 'neg_expected_calibration_error'.",
    "auc": "; scikit-learn has it as 'roc_auc'.",
    **dict.fromkeys(("slope", "intercept"), ", of which neither larger nor smaller is better; read it from assess()."),
}
"""What to take for metrics that assessments name otherwise, or that are no scorers here."""


def _today(name: str) -> str:
    """Say what to take instead of a name that is no scorer: the negative of a loss, or one spelled nearly so."""
    bare = name.removeprefix("neg_").removeprefix("reported_")
    meant = [each for each in (f"neg_{bare}", bare) if each in SCORERS] or nearest(name, SCORERS)
    return _PRINTED.get(bare) or (f"; did you mean {meant[0]!r}?" if meant else ".")


def scorers(*names: str, **settings: Any) -> dict[str, Callable[..., float]]:
    """Make several scorers by name, for the ``scoring`` of `cross_validate` and `GridSearchCV`.

    Parameters
    ----------
    *names : str
        As in `scorer`; by default all that take no order.
    **settings
        ``labels`` and ``pos_label``, for all of them.

    Returns
    -------
    dict
        Scorers by name.

    Raises
    ------
    InputError
        As `scorer`.

    Examples
    --------
    >>> from unperplexed.integrations.sklearn import scorers
    >>> list(scorers("geometric_accuracy", "neg_brier_score"))
    ['geometric_accuracy', 'neg_brier_score']
    """
    if unknown := set(settings) - {"labels", "pos_label"}:
        raise InputError(f"scorers: {', '.join(sorted(unknown))} are not for all; make such a one with scorer().")
    with_order = ("neg_power_score", "neg_generalized_surprisal")
    return {name: scorer(name, **settings) for name in names or [name for name in SCORERS if name not in with_order]}
