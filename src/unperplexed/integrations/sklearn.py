"""Scorers and displays for scikit-learn: selecting models by the rules of this package, and seeing what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ..assessment import Assessment, assess
from ..errors import InputError
from ..labels import Label
from ..profile import RiskProfile, risk_profile
from ._figures import FIGURES, LARGER, SMALLER

try:
    from sklearn.metrics import make_scorer
    from sklearn.utils import _safe_indexing
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError(
        "unperplexed.integrations.sklearn needs scikit-learn 1.6 or later: pip install 'unperplexed[sklearn]'"
    ) from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCORERS = (*LARGER, *(f"neg_{name}" for name in SMALLER))
"""Names that `scorer` and `scorers` know. Of losses it is minus the loss, so that larger is always better."""


@dataclass(frozen=True)
class _Metric:
    """A figure of forecasts as scikit-learn calls it: of two classes with the probabilities of one of them."""

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
        figure = FIGURES[self.__name__]
        given = np.asarray(y_proba)
        if given.ndim == 1:
            negative, positive = _two_classes(y_true, labels, pos_label)
            # Thresholds make classes of probabilities: these are certain of one.
            given = given if given.dtype.kind == "f" else (given == positive).astype(float)
            labels, pos_label = [negative, positive], None
        return figure(y_true, given, sample_weight=sample_weight, labels=labels, pos_label=pos_label, **settings)


def _two_classes(y_true: Any, labels: Sequence[Label] | None, pos_label: Label | None) -> tuple[Label, Label]:
    """Negative and positive class: as given, or in the order that scikit-learn has them in ``classes_``."""
    known = np.unique(np.asarray(y_true)).tolist() if labels is None else list(labels)
    if len(known) != 2 or (pos_label is not None and pos_label not in known):
        raise InputError(
            f"labels: probabilities of one of two classes, and these are {known!r} with pos_label {pos_label!r}; give"
            " both, as in scorer(..., labels=classifier.classes_)."
        )
    first, second = known
    return (second, first) if pos_label is not None and pos_label == first else (first, second)


def scorer(name: str, **settings: Any) -> Callable[..., float]:
    """Make a scorer for scikit-learn's model selection. Larger is better: losses are taken with a minus.

    Parameters
    ----------
    name : str
        One of `SCORERS`, such as ``"neg_penalized_brier_score"`` or ``"geometric_accuracy"``.
    **settings
        Those of the function of that name: ``floor``, ``r``, ``bins``, ``view``; and ``labels``, the classifier's
        ``classes_``, which it takes where a fold may lack a class; or ``pos_label``.

    Returns
    -------
    callable
        ``scorer(classifier, X, y, sample_weight=None)``, made by `sklearn.metrics.make_scorer` of ``predict_proba``:
        for ``scoring`` of `cross_validate`, `GridSearchCV` and their kin, and with metadata routing.

    Raises
    ------
    InputError
        For a name that is none.

    Notes
    -----
    In `TunedThresholdClassifierCV`, which scores classes instead of probabilities, each counts as certain.

    Of two classes scikit-learn hands over the probabilities of one; what is left to the other is rounded to multiples
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
        raise InputError(f"scorer: no scorer {name!r}. Known: {', '.join(SCORERS)}.")
    larger = name in LARGER
    metric = _Metric(name if larger else name.removeprefix("neg_"))
    made: Callable[..., float] = make_scorer(
        metric, response_method="predict_proba", greater_is_better=larger, **settings
    )
    return made


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
        All figures, with intervals and the verdict.
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
    >>> display.assessment.verdict
    'overconfident'
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
        name: str | None = None,
        ax: Axes | None = None,
        axes: Literal["reported", "nelson"] = "reported",
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
        name : str, optional
            Title; by default that of the class.
        ax, axes
            As in `plot`.
        **settings
            Of `assess`: ``floor``, ``measured``, ``view``, ``groups``, ``confidence``, ``resamples``, ``seed`` ...

        Returns
        -------
        AssessmentDisplay
        """
        name = type(estimator).__name__ if name is None else name
        parts: dict[str, Any] = {"labels": list(estimator.classes_), "sample_weight": sample_weight, **settings}
        return cls(assess(y, estimator.predict_proba(X), **parts), name=name).plot(ax, axes=axes)

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
        name, ax, axes, **settings
            As in `from_estimator`.

        Returns
        -------
        AssessmentDisplay
        """
        known: dict[str, Any] = {"sample_weight": sample_weight, "labels": labels, "pos_label": pos_label}
        return cls(assess(y_true, y_proba, **known, **settings), name=name).plot(ax, axes=axes)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        axes: Literal["reported", "nelson"] = "reported",
        **settings: Any,
    ) -> Self:
        """Assess what `cross_validate` left out of each fold, all folds together, and draw.

        Parameters
        ----------
        cv_results : dict
            From `cross_validate` with ``return_estimator=True`` and ``return_indices=True``.
        X, y, sample_weight
            What was given to it.
        name, ax, axes, **settings
            As in `from_estimator`.

        Returns
        -------
        AssessmentDisplay

        Raises
        ------
        InputError
            For results without estimators or indices.

        Notes
        -----
        A class that a fold did not see has probability 0 there.
        """
        folds = _folds(cv_results, X, y, sample_weight)
        y_true, y_proba = (np.concatenate(column) for column in list(zip(*folds, strict=True))[:2])
        weights = None if sample_weight is None else np.concatenate([fold[2] for fold in folds])
        name = type(cv_results["estimator"][0]).__name__ if name is None else name
        parts: dict[str, Any] = {"labels": _all_classes(cv_results), "sample_weight": weights, **settings}
        return cls(assess(y_true, y_proba, **parts), name=name).plot(ax, axes=axes)

    def plot(
        self, ax: Axes | None = None, *, axes: Literal["reported", "nelson"] = "reported", name: str | None = None
    ) -> Self:
        """Draw; returns the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        axes : {"reported", "nelson"}, default "reported"
            Which axis the reported probability goes on: x, or y.
        name : str, optional
            Title of a new figure, instead of the display's own.
        """
        self.ax_: Axes = self.assessment.plot(ax, axes=axes)
        self.figure_: Figure = self.ax_.figure  # type: ignore[assignment]
        if ax is None and (title := self.name if name is None else name):
            self.figure_.suptitle(title)
        return self


class RiskProfileDisplay:
    """Generalized means of the probabilities given to what happened, over the orders, drawn.

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
        name: str | None = None,
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Take the profile of a fitted classifier on data, which it should not have seen, and draw.

        Parameters
        ----------
        estimator, X, y, sample_weight, name, ax
            As in `AssessmentDisplay.from_estimator`.
        **settings
            Of `risk_profile`: ``orders``, ``floor``, ``limit``.

        Returns
        -------
        RiskProfileDisplay
        """
        parts: dict[str, Any] = {"labels": list(estimator.classes_), "sample_weight": sample_weight, **settings}
        name = type(estimator).__name__ if name is None else name
        return cls([risk_profile(y, estimator.predict_proba(X), **parts)], [name]).plot(ax)

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
        profiles = [risk_profile(y_true, y_proba, sample_weight=w, **parts) for y_true, y_proba, w in folds]
        return cls(profiles, [f"fold {at}" for at in range(len(profiles))]).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; returns the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        from ..plots import plot_profiles

        self.ax_: Axes = plot_profiles(dict(zip(self.names, self.profiles, strict=True)), ax)
        self.figure_: Figure = self.ax_.figure  # type: ignore[assignment]
        return self


_Fold = tuple[Any, Any, Any]


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
    classes, folds = _all_classes(cv_results), []
    for estimator, at in zip(cv_results["estimator"], cv_results["indices"]["test"], strict=True):
        said = estimator.predict_proba(_safe_indexing(X, at))
        y_proba = np.zeros((len(at), len(classes)))
        y_proba[:, np.searchsorted(classes, estimator.classes_)] = said
        weights = None if sample_weight is None else np.asarray(sample_weight)[at]
        folds.append((np.asarray(_safe_indexing(y, at)), y_proba, weights))
    return folds
