"""A scikit-learn classifier whose probabilities are recalibrated by `Recalibrator`."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._lib.errors import InputError, listed, needed
from .._lib.typing import Floats
from ..kernels.devices import Scale
from ..recalibration.gain import Gain
from ..recalibration.recalibrator import Recalibrator

with needed("unperplexed.integrations.sklearn", "scikit-learn 1.6 or later", "sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import StratifiedGroupKFold, check_cv, cross_val_predict
    from sklearn.utils import get_tags, indexable
    from sklearn.utils import metadata_routing as routing
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, has_fit_parameter


class _Outputs(NamedTuple):
    """What a classifier says of rows that it was not fitted to."""

    values: Any
    scale: Scale


class RecalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier with recalibrated probabilities, after the manner of `sklearn.calibration.CalibratedClassifierCV`.

    Cross-validation predicts the probabilities of each row, by a copy of the classifier that was not fitted to it. A
    `Recalibrator` is fitted to these, and the classifier is fitted to all rows. With a `sklearn.frozen.FrozenEstimator`
    nothing is fitted but the recalibrator: fit it on rows that the classifier was not trained on.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; or with ``decision_function``, whose values are then taken as logits.
    method : str, default "auto"
        Recalibration map, as in `Recalibrator`: an average of several, or one by name.
    cv : int, splitter or iterable, default 5
        Cross-validation of the classifier, as in scikit-learn. A number means stratified folds, which keep ``groups``
        together where there are any. Not used with a frozen classifier.
    single : bool, default False
        Choose one map instead of averaging, as in `Recalibrator`.
    folds : int, optional
        Number of folds of the recalibrator's own cross-validation; by default as in `Recalibrator`.
    random_state : int, default 0
        Random seed of these folds.
    n_jobs : int, optional
        Number of jobs of the cross-validation of the classifier.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows.
    recalibrator_ : Recalibrator
        Fitted to the cross-validated probabilities; ``print`` it, save it, or take it to another program.
    gain_ : Gain or None
        What recalibration gains on held-out rows, in nats a row, with a 95% confidence interval.
    classes_ : array of shape (C,)
        Class labels, in the order of the columns of ``predict_proba``.

    Raises
    ------
    InputError
        When fitted: for one class only, for classes that a frozen classifier does not know, for an unknown method.

    Notes
    -----
    ``predict`` returns the class with the largest recalibrated probability. For other costs of errors put the
    classifier into `sklearn.model_selection.TunedThresholdClassifierCV`.

    With metadata routing (``sklearn.set_config(enable_metadata_routing=True)``) the classifier gets what it requests by
    ``set_fit_request``, the splitter what it requests, and the recalibrator ``sample_weight`` and ``groups`` as
    ``set_fit_request`` of this estimator says. Without routing a classifier that takes weights gets them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from unperplexed.integrations.sklearn import RecalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = GaussianNB().fit(X[::2], y[::2])
    >>> recalibrated = RecalibratedClassifier(GaussianNB()).fit(X[::2], y[::2])
    >>> for model in (plain, recalibrated):
    ...     print(f"{log_loss(y[1::2], model.predict_proba(X[1::2])):.2f}")
    0.62
    0.16
    """

    estimator_: Any
    recalibrator_: Recalibrator
    gain_: Gain | None

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        cv: Any = 5,
        single: bool = False,
        folds: int | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.single = single
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: Any = None, **fit_params: Any
    ) -> RecalibratedClassifier:
        """Fit the classifier and the recalibrator.

        Parameters
        ----------
        X, y : array_like
            Features, and the observed class of each row.
        sample_weight : array_like of shape (n,), optional
            Non-negative weights of the rows, for the recalibrator and for a classifier that takes weights (with
            metadata routing: that requests them).
        groups : array_like of shape (n,), optional
            Clusters of rows that may depend on one another. No fold divides them.
        **fit_params
            Passed to the ``fit`` of the classifier; with metadata routing to the classifier and the splitter, as they
            request.

        Returns
        -------
        RecalibratedClassifier
            Itself, fitted.
        """
        check_classification_targets(y)
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        y = column_or_1d(y, warn=True)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        frozen = isinstance(self.estimator, FrozenEstimator)
        given = fit_params | {"sample_weight": weight, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        routed = routing.process_routing(self, "fit", **given) if routing._routing_enabled() else None
        params = self._unrouted(weight, fit_params) if routed is None else dict(routed.estimator.fit)
        self.estimator_ = self.estimator if frozen else clone(self.estimator)
        found = self._frozen_outputs(X, y) if frozen else self._held_out_outputs(X, y, given, params)
        recalibrator = Recalibrator(self.method, single=self.single, folds=self.folds, seed=self.random_state)
        reading: dict[str, Any] = {"sample_weight": weight, "clusters": groups, "labels": self.classes_.tolist()}
        self.recalibrator_ = recalibrator.fit(y, found.values, scale=found.scale, **reading)
        self.gain_ = self.recalibrator_.gain_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _unrouted(self, weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Give what the classifier is fitted with where nothing is routed: weights too, if it takes any."""
        if weight is None or isinstance(self.estimator, FrozenEstimator):
            return fit_params
        if has_fit_parameter(self.estimator, "sample_weight"):
            return fit_params | {"sample_weight": weight}
        name = type(self.estimator).__name__
        warnings.warn(f"{name} takes no sample_weight; only its recalibration is weighted.", stacklevel=3)
        return fit_params

    def _frozen_outputs(self, X: Any, y: Any) -> _Outputs:
        check_is_fitted(self.estimator)
        self.classes_ = np.asarray(self.estimator.classes_)
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise InputError(f"y: the fitted classifier does not know {listed(unknown.tolist())}.")
        response = _response(self.estimator)
        return _Outputs(getattr(self.estimator, response)(X), _scale_of(response))

    def _held_out_outputs(self, X: Any, y: Any, given: dict[str, Any], params: dict[str, Any]) -> _Outputs:
        """Predict each row by a classifier that was not fitted to it, and fit the classifier to all rows.

        ``given`` is what `fit` was given beside X and y, ``params`` what the classifier is fitted with.
        """
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise InputError(f"y: a classifier needs two classes or more, got one class: {self.classes_.tolist()!r}.")
        cv = 5 if self.cv is None else self.cv
        if "groups" in given and isinstance(cv, int | np.integer):
            cv = StratifiedGroupKFold(int(cv))
        cv = check_cv(cv, y, classifier=True)
        response = _response(self.estimator)
        keywords: dict[str, Any] = {"params": params, "groups": given.get("groups")}
        if routing._routing_enabled():  # cross_val_predict routes once more, and refuses what nobody requests
            wanted = routing.get_routing_for_object(self.estimator).consumes("fit", given)
            wanted |= routing.get_routing_for_object(cv).consumes("split", given)
            keywords = {"params": {name: given[name] for name in wanted}}
        values = cross_val_predict(self.estimator, X, y, cv=cv, method=response, n_jobs=self.n_jobs, **keywords)
        self.estimator_.fit(X, y, **params)
        return _Outputs(values, _scale_of(response))

    def predict_proba(self, X: Any) -> Floats:
        """Return recalibrated probabilities, (n, C), in the order of ``classes_``."""
        check_is_fitted(self)
        response = _response(self.estimator_)
        values = getattr(self.estimator_, response)(X)
        q = self.recalibrator_.transform(values, scale=_scale_of(response))
        q = q.reshape(len(q), -1)
        return np.hstack([1 - q, q]) if q.shape[1] == 1 else q

    def predict(self, X: Any) -> Any:
        """Return the class with the largest recalibrated probability for each row."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def get_metadata_routing(self) -> Any:
        """Return what this estimator, its classifier and its splitter request of the metadata of a fit.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
        """
        fits, splits = (routing.MethodMapping().add(caller="fit", callee=callee) for callee in ("fit", "split"))
        router = routing.MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=fits).add(splitter=self.cv, method_mapping=splits)

    def __sklearn_tags__(self) -> Any:
        """Take from the classifier what input it takes."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags


def _response(estimator: Any) -> str:
    """Name the method that has a classifier's probabilities, or its logits."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(estimator, name):
            return name
    raise InputError(f"estimator: {type(estimator).__name__} has neither predict_proba nor decision_function.")


def _scale_of(response: str) -> Scale:
    """Return what a method of a classifier gives."""
    return "logits" if response == "decision_function" else "probability"
