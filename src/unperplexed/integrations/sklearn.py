"""Scorers, displays and recalibration for scikit-learn: select models, look at them, recalibrate them.

Displays draw a classifier's assessment and its risk profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, nearest, needed
from ..assessment.assess import assess
from ..assessment.result import Assessment
from ..assessment.risk_profile import RiskProfile, risk_profile
from ..forecasts.labels import Label
from ..report.result import Axes, Figure
from .metrics import LARGER, METRICS, SMALLER, check_settings
from .sklearn_recalibration import RecalibratedClassifier  # noqa: F401  (a name of this module too)

with needed(__name__, "scikit-learn 1.6 or later", "sklearn"):
    from sklearn.metrics import make_scorer
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _num_samples, check_is_fitted


SCORERS = (*LARGER, *(f"neg_{name}" for name in SMALLER))
"""Names that `scorer` and `scorers` know. For losses it is minus the loss, so that larger is always better."""


class _Metric(Frozen):
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


class AssessmentDisplay:
    """Measured against reported probability of a classifier, drawn.

    Made by `from_estimator`, `from_predictions` or `from_cv_results`, which draw; ``plot`` draws again.

    Parameters
    ----------
    assessment : Assessment
        What is drawn.
    name : str, optional
        Title of the picture.

    Attributes
    ----------
    assessment : Assessment
        All metrics, with intervals, and the diagnosis of the rows.
    ax_ : matplotlib Axes
        The main Axes.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from unperplexed.integrations.sklearn import AssessmentDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = AssessmentDisplay.from_estimator(GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> display.assessment.diagnosis.headline
    'Certain and wrong, overconfident'
    """

    def __init__(self, assessment: Assessment, *, name: str | None = None) -> None:
        self.assessment = assessment
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        axes: Literal["reported", "nelson"] = "reported",
        kind: Literal["reliability", "averages"] | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Assess a fitted classifier on data, which it should not have seen, and draw.

        Parameters
        ----------
        estimator : classifier with ``predict_proba``
            Fitted.
        X, y : array_like
            Features, and the classes that happened.
        sample_weight : array_like of shape (n,), optional
            Non-negative importance weights.
        pos_label : label, optional
            The positive one of two classes.
        name : str, optional
            Name of the curve; by default that of the class.
        ax, axes, kind
            As in `plot`.
        curve_kwargs : dict, optional
            Properties of the curve of a reliability diagram, as matplotlib's ``Axes.plot`` takes them.
        **settings
            Options of `assess`: ``floor``, ``measured``, ``view``, ``clusters``, ``confidence``, ``resamples`` ...

        Returns
        -------
        AssessmentDisplay
        """
        _refuse_others(settings)
        name = type(estimator).__name__ if name is None else name
        parts: dict[str, Any] = {**_probabilities(estimator, X, pos_label), "sample_weight": sample_weight, **settings}
        return cls(assess(y, **parts), name=name).plot(ax, axes=axes, kind=kind, **(curve_kwargs or {}))

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: ArrayLike | None = None,
        labels: Sequence[Label] | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        axes: Literal["reported", "nelson"] = "reported",
        kind: Literal["reliability", "averages"] | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Assess probabilities, and draw.

        Parameters
        ----------
        y_true : array_like of shape (n,)
            The classes that happened.
        y_proba : array_like of shape (n,) or (n, C)
            Probabilities of the positive class, or of each.
        sample_weight, labels, pos_label
            As in `assess`.
        name, ax, axes, kind, curve_kwargs, **settings
            As in `from_estimator`.

        Returns
        -------
        AssessmentDisplay
        """
        _refuse_others(settings)
        known: dict[str, Any] = {"sample_weight": sample_weight, "labels": labels, "pos_label": pos_label}
        found = cls(assess(y_true, y_proba, **known, **settings), name=name)
        return found.plot(ax, axes=axes, kind=kind, **(curve_kwargs or {}))

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        clusters: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        axes: Literal["reported", "nelson"] = "reported",
        kind: Literal["reliability", "averages"] | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Assess what `cross_validate` left out of each fold, all folds together, and draw.

        Parameters
        ----------
        cv_results : dict
            From `cross_validate` with ``return_estimator=True`` and ``return_indices=True``.
        X, y, sample_weight
            What was given to it.
        clusters : array_like of shape (n,) or (n, k), mapping or data frame, optional
            Clusters of the rows of X. Where rows are in several folds, as of a repeated cross-validation, by
            default the row itself: it was forecast several times, but happened once.
        name, ax, axes, kind, curve_kwargs, **settings
            As in `from_estimator`.

        Returns
        -------
        AssessmentDisplay

        Raises
        ------
        InputError
            For results without estimators or indices, or of other data.

        Notes
        -----
        A class that a fold did not see has probability 0 there.
        """
        _refuse_others(settings)
        folds = _folds(cv_results, X, y, sample_weight)
        at = np.concatenate([fold.at for fold in folds])
        weights = None if sample_weight is None else np.concatenate([fold.weights for fold in folds])
        if clusters is not None:
            clusters = _rows_of(clusters, at)
        elif len(np.unique(at)) < len(at):
            clusters = at
        name = type(cv_results["estimator"][0]).__name__ if name is None else name
        parts = {"labels": _all_classes(cv_results), "sample_weight": weights, "clusters": clusters, **settings}
        y_true, y_proba = (np.concatenate([getattr(fold, part) for fold in folds]) for part in ("y_true", "y_proba"))
        return cls(assess(y_true, y_proba, **parts), name=name).plot(ax, axes=axes, kind=kind, **(curve_kwargs or {}))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        axes: Literal["reported", "nelson"] = "reported",
        kind: Literal["reliability", "averages"] | None = None,
        name: str | None = None,
        **keywords: Any,
    ) -> Self:
        """Draw; returns the display. A reliability diagram on Axes that have one adds its curve and a legend.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        axes : {"reported", "nelson"}, default "reported"
            Which axis the reported probability goes on: x, or y.
        kind : {"reliability", "averages"}, optional
            Which diagram, as in `Assessment.plot`; by default "reliability" for two classes.
        name : str, optional
            Name of the curve of a reliability diagram, and title of a new figure with the averages, instead of the
            display's own.
        **keywords
            Properties of the curve of a reliability diagram, as matplotlib's ``Axes.plot`` takes them.
        """
        name = self.name if name is None else name
        two = self.assessment.n_classes == 2 and axes == "reported"
        diagram = kind == "reliability" or (kind is None and two)
        chosen = {"kind": "reliability", "name": name} if diagram else {"kind": kind}
        self.ax_: Axes = self.assessment.plot(ax, axes=axes, **chosen, **keywords)
        self.figure_: Figure = self.ax_.figure  # type: ignore[assignment]
        if ax is None and name and not diagram:
            self.figure_.suptitle(name)
        return self


class RiskProfileDisplay:
    """Generalized means of the probabilities assigned to the outcomes, over the orders, drawn.

    Made by `from_estimator`, `from_predictions` or `from_cv_results`, which draw; ``plot`` draws again.

    Parameters
    ----------
    profiles : sequence of RiskProfile
        What is drawn: one, or one for each fold.
    names : sequence of str
        What the legend calls them.

    Attributes
    ----------
    profiles, names
        As given.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from unperplexed.integrations.sklearn import RiskProfileDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = RiskProfileDisplay.from_estimator(GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> display.names
    ['GaussianNB']
    """

    def __init__(self, profiles: Sequence[RiskProfile], names: Sequence[str]) -> None:
        self.profiles, self.names = list(profiles), list(names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Take the profile of a fitted classifier on data, which it should not have seen, and draw.

        Parameters
        ----------
        estimator, X, y, sample_weight, pos_label, name, ax
            As in `AssessmentDisplay.from_estimator`.
        **settings
            Options of `risk_profile`: ``orders``, ``floor``, ``limit``.

        Returns
        -------
        RiskProfileDisplay
        """
        parts: dict[str, Any] = {**_probabilities(estimator, X, pos_label), "sample_weight": sample_weight, **settings}
        name = type(estimator).__name__ if name is None else name
        return cls([risk_profile(y, **parts)], [name]).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: ArrayLike | None = None,
        labels: Sequence[Label] | None = None,
        pos_label: Label | None = None,
        name: str = "classifier",
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Take the profile of probabilities, and draw.

        Parameters
        ----------
        y_true, y_proba, sample_weight, labels, pos_label
            As in `AssessmentDisplay.from_predictions`.
        name, ax, **settings
            As in `from_estimator`.

        Returns
        -------
        RiskProfileDisplay
        """
        known: dict[str, Any] = {"sample_weight": sample_weight, "labels": labels, "pos_label": pos_label}
        return cls([risk_profile(y_true, y_proba, **known, **settings)], [name]).plot(ax)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Take a profile of what `cross_validate` left out of each fold, and draw all.

        Parameters
        ----------
        cv_results, X, y, sample_weight
            As in `AssessmentDisplay.from_cv_results`.
        ax, **settings
            As in `from_estimator`.

        Returns
        -------
        RiskProfileDisplay
        """
        folds = _folds(cv_results, X, y, sample_weight)
        parts: dict[str, Any] = {"labels": _all_classes(cv_results), **settings}
        profiles = [risk_profile(fold.y_true, fold.y_proba, sample_weight=fold.weights, **parts) for fold in folds]
        return cls(profiles, [f"fold {at}" for at in range(len(profiles))]).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; returns the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        from ..describe.pictures import plot_profiles

        self.ax_: Axes = plot_profiles(dict(zip(self.names, self.profiles, strict=True)), ax)
        self.figure_: Figure = self.ax_.figure  # type: ignore[assignment]
        return self


_ELSEWHERE = {
    "n_bins": 'the curve needs no bins; measured="equal-width:bins=5", kind="averages" draws bins',
    "strategy": 'measured="equal-population:bins=5", kind="averages" draws quantiles; "equal-width:bins=5" widths',
    "ref_line": "the identity line is part of the diagram",
    **dict.fromkeys(
        ("color", "c", "linestyle", "ls", "linewidth", "lw", "marker", "alpha"),
        'name properties of the curve in curve_kwargs, such as curve_kwargs={"color": "red"}',
    ),
}
"""Keywords of scikit-learn's `CalibrationDisplay`, and what stands in their place."""


def _refuse_others(settings: Mapping[str, Any]) -> None:
    for name in settings:
        if name in _ELSEWHERE:
            raise InputError(f"{name}: {_ELSEWHERE[name]}.")


class _Fold(NamedTuple):
    """What was left out of a fold."""

    at: Any
    """Which rows of all."""
    y_true: Any
    y_proba: Any
    weights: Any


def _probabilities(estimator: Any, X: Any, pos_label: Label | None) -> dict[str, Any]:
    """Probabilities and classes of a classifier, of two the positive one last."""
    if not hasattr(estimator, "predict_proba"):
        check_is_fitted(estimator)
        raise InputError(f"estimator: {type(estimator).__name__} has no predict_proba.")
    y_proba = np.asarray(estimator.predict_proba(X))
    classes: list[Label] = np.asarray(estimator.classes_).tolist()
    if pos_label is None:
        return {"y_prob": y_proba, "labels": classes}
    if len(classes) != 2 or pos_label not in classes:
        raise InputError(f"pos_label: {pos_label!r} is none of two classes; these are {classes!r}.")
    first = slice(None, None, 1 if pos_label == classes[1] else -1)
    return {"y_prob": y_proba[:, first], "labels": classes[first]}


def _all_classes(cv_results: Mapping[str, Any]) -> list[Label]:
    """Classes that any fold saw, in order."""
    found: list[Label] = np.unique(np.concatenate([each.classes_ for each in cv_results["estimator"]])).tolist()
    return found


def _folds(cv_results: Mapping[str, Any], X: Any, y: Any, sample_weight: ArrayLike | None) -> list[_Fold]:
    """Outcomes, probabilities and weights of what was left out of each fold."""
    if not {"estimator", "indices"} <= set(cv_results):
        raise InputError(
            "cv_results: has no estimators or indices; cross_validate(..., return_estimator=True, return_indices=True)"
            " gives them."
        )
    left_out = cv_results["indices"]["test"]
    n_rows = _num_samples(y)
    if _num_samples(X) != n_rows or max(at.max(initial=-1) for at in left_out) >= n_rows:
        raise InputError(f"X, y: expected the rows that were cross-validated, got {_num_samples(X):,} and {n_rows:,}.")
    classes, folds = _all_classes(cv_results), []
    for estimator, at in zip(cv_results["estimator"], left_out, strict=True):
        y_proba = np.zeros((len(at), len(classes)))
        y_proba[:, np.searchsorted(classes, estimator.classes_)] = estimator.predict_proba(_safe_indexing(X, at))
        weights = None if sample_weight is None else np.asarray(sample_weight)[at]
        folds.append(_Fold(at, np.asarray(_safe_indexing(y, at)), y_proba, weights))
    return folds


def _rows_of(clusters: Any, at: Any) -> Any:
    """Groups of some rows, of one column or of several."""
    if isinstance(clusters, Mapping):
        return {name: _safe_indexing(column, at) for name, column in clusters.items()}
    return _safe_indexing(clusters, at)
