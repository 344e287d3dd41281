"""A classifier whose classes are multivariate coupled Gaussians: discriminant analysis with a choice of tails."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from .._lib.arrays import floats
from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, is_number, needed, rows_text
from .._lib.typing import Bools, Floats, Ints
from ..statistics.means import checked_weights
from .distributions.gaussian import MultivariateCoupledGaussian
from .information import SUM_TOLERANCE

with needed("CoupledDiscriminantAnalysis", "scikit-learn 1.6 or later", "sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import check_cv
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data

COUPLINGS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Default couplings of ``coupling="cv"``: from the normal to half a degree of freedom."""


class CoupledDiscriminantAnalysis(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Discriminant analysis with coupled Gaussians: quadratic or linear, with tails of any weight.

    Each class has a location and a shape matrix; the posterior follows from the class densities and priors by
    Bayes' rule. At coupling 0 the densities are normal, above 0 they are multivariate Student's t, below 0 they
    have compact support. Shape matrices estimated from few rows are over-fitted, and normal densities then report
    overconfident probabilities; heavier tails temper them.

    Parameters
    ----------
    coupling : float or "cv", default "cv"
        Coupling of all class densities, above -1/d for d features; above 0 it is 1/(degrees of freedom).
        ``"cv"`` takes the one of `couplings` with the highest cross-validated geometric accuracy.
    pooled : bool, default False
        One shape matrix for all classes instead of one for each. At coupling 0 that makes the boundaries linear.
    shrinkage : "auto", None or float, default "auto"
        The correlations in a shape matrix are multiplied by 1 minus this. None or 0 leaves them, 1 makes the matrix
        diagonal, ``"auto"`` takes the Ledoit-Wolf amount for standardized features. Variances are not touched.
    estimate : {"moments", "likelihood"}, default "moments"
        ``"moments"``: mean and covariance (divided by n, not n - 1) serve as location and shape matrix at any
        coupling. ``"likelihood"``: location and shape matrix of greatest likelihood at the coupling; not with
        `pooled`. The two agree at coupling 0.
    variance_floor : float, default 1e-6
        Smallest variance of a feature within a class, as a share of its variance over all rows. It concerns features
        that are (nearly) constant within a class, which would otherwise decide every case. At 0 a constant feature is
        an error.
    priors : array_like of shape (C,), optional
        Prior probabilities of the classes, in the order of ``classes_``. By default their shares of the weight.
    couplings : sequence of float
        What ``coupling="cv"`` tries; the first of several equally good ones is taken.
    cv : int, scikit-learn splitter or iterable of (train, test), default 5
        Folds for ``coupling="cv"``. A number deals the rows of each class to so many folds, by a fixed shuffle
        that does not depend on the order of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        Class labels, sorted.
    priors_ : ndarray of shape (C,)
        Prior probabilities used.
    locations_ : ndarray of shape (C, d)
        Locations: with ``estimate="moments"`` the class means.
    shape_matrices_ : ndarray of shape (C, d, d)
        Shape matrices; all the same when pooled.
    coupling_ : float
        Coupling used.
    cv_geometric_accuracy_ : ndarray of shape (len(couplings),), or None
        For each of `couplings` the geometric mean of the probabilities assigned to the true classes of held-out rows
        (larger is better); 0 if the true class of a row has probability 0, NaN if a coupling has no fit of maximum
        likelihood (too few rows for such tails). None if the coupling is fixed.
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    Raises
    ------
    InputError
        From `fit`, for settings out of range, fewer than two classes, a constant feature or a singular shape matrix,
        naming the class and the remedy. From the predictions, for rows so far out that squared distances
        overflow, at a coupling of 0 or above.

    Notes
    -----
    Density of a class: ``(1 + kappa delta)_+^(-(1/kappa + d)/2) / Z`` with delta the squared Mahalanobis distance
    ([N17] Fig. 1, [RP] section 4). Where the compact-support densities of all classes are 0 the posterior is the
    prior. Weights count as repetitions: weight 2 is the row twice, weight 0 no row; with ``shrinkage="auto"`` their
    sum is the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.theory import CoupledDiscriminantAnalysis
    >>> rng = np.random.default_rng(1)
    >>> X = np.concatenate([rng.normal(0, 1, (20, 3)), rng.normal(1, 1, (20, 3))])
    >>> y = np.repeat(["a", "b"], 20)
    >>> model = CoupledDiscriminantAnalysis(coupling=0.2, pooled=True).fit(X, y)
    >>> model.predict_proba([[0.5, 0.5, 0.5], [1.5, 2, 2]]).round(2)
    array([[0.46, 0.54],
           [0.04, 0.96]])
    """

    def __init__(
        self,
        *,
        coupling: float | str = "cv",
        pooled: bool = False,
        shrinkage: float | str | None = "auto",
        estimate: str = "moments",
        variance_floor: float = 1e-6,
        priors: ArrayLike | None = None,
        couplings: ArrayLike = COUPLINGS,
        cv: Any = 5,
    ) -> None:
        self.coupling = coupling
        self.pooled = pooled
        self.shrinkage = shrinkage
        self.estimate = estimate
        self.variance_floor = variance_floor
        self.priors = priors
        self.couplings = couplings
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate locations and shape matrices, and with ``coupling="cv"`` choose the coupling.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features: finite numbers.
        y : array_like of shape (n,)
            Class labels.
        sample_weight : array_like of shape (n,), optional
            Non-negative weights, as repetitions.

        Returns
        -------
        CoupledDiscriminantAnalysis
            Itself.

        Raises
        ------
        InputError
            As above.
        """
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = np.ones(len(X)) if sample_weight is None else checked_weights(sample_weight, len(X))
        kept = weights > 0
        if not kept.any():
            raise InputError("sample_weight: every weight is zero; no rows are left to fit.")
        self.classes_, codes = np.unique(y[kept], return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y: expected two classes or more, got {len(self.classes_)} class of positive weight.")
        rows = FeatureRows(X[kept], codes, weights[kept])
        shapes = self._shape_estimator(rows)
        self.priors_ = self._class_priors(rows)
        self.cv_geometric_accuracy_: Floats | None = None
        if isinstance(self.coupling, str):
            folds = self._folds(X, y, kept, rows)
            self.coupling_, self.cv_geometric_accuracy_ = self._cross_validated(rows, folds, shapes)
        else:
            self.coupling_ = _checked_coupling(self.coupling, X.shape[1], "coupling")
        self.locations_, matrices = shapes.estimate(rows, self.coupling_)
        self.shape_matrices_ = np.repeat(matrices, len(self.classes_) if self.pooled else 1, axis=0)
        self._densities = _densities(matrices, self.coupling_, len(self.classes_))
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log posterior odds of the second class, shape (n,); with three classes or more, log posteriors (n, C)."""
        joint = self._log_joint(X)
        return np.asarray(joint[:, 1] - joint[:, 0]) if joint.shape[1] == 2 else _normalized(joint)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of highest posterior for each row; the first of several."""
        winners = self._log_joint(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Posterior probabilities, shape (n, C), columns in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Logarithms of the posterior probabilities, right also where these are too small to hold."""
        return _normalized(self._log_joint(X))

    def _log_joint(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return _log_joint(x, self.locations_, self._densities, self.priors_)

    def _check_settings(self) -> None:
        if isinstance(self.coupling, str) and self.coupling != "cv":
            raise InputError(f"coupling: expected a number or 'cv', got {self.coupling!r}.")
        if not isinstance(self.pooled, bool | np.bool_):
            raise InputError(f"pooled: expected True or False, got {self.pooled!r}.")
        if self.estimate not in ("moments", "likelihood"):
            raise InputError(f"estimate: expected 'moments' or 'likelihood', got {self.estimate!r}.")
        if self.estimate == "likelihood" and self.pooled:
            raise InputError("estimate: 'likelihood' is there for a shape matrix of each class; set pooled=False.")
        if not (self.shrinkage is None or self.shrinkage == "auto" or is_number(self.shrinkage, 0, 1)):
            raise InputError(f"shrinkage: expected None, 'auto' or a number from 0 to 1, got {self.shrinkage!r}.")
        if not is_number(self.variance_floor, 0, 1):
            raise InputError(f"variance_floor: expected a number from 0 to 1, got {self.variance_floor!r}.")

    def _class_priors(self, rows: FeatureRows) -> Floats:
        n = len(self.classes_)
        if self.priors is None:
            return np.asarray(np.bincount(rows.codes, rows.weights, minlength=n) / rows.weights.sum())
        priors = floats(self.priors, "priors")
        if priors.shape != (n,):
            raise InputError(f"priors: expected one for each of {n} classes, got shape {priors.shape}.")
        if not (priors > 0).all() or abs(priors.sum() - 1) > SUM_TOLERANCE:
            raise InputError(
                f"priors: expected positive probabilities that sum to 1, got {priors.tolist()} with sum"
                f" {priors.sum():g}."
            )
        return priors

    def _shape_estimator(self, rows: FeatureRows) -> ShapeEstimator:
        variances = np.diag(moments(rows)[1])
        if not variances.all():
            raise InputError(
                f"X: feature {variances.argmin()} (counted from 0) is constant, or so small that its variance vanishes."
                " Leave it out, or give it in other units."
            )
        least = self.variance_floor * variances
        likelihood = self.estimate == "likelihood"
        return ShapeEstimator(self.classes_.tolist(), likelihood, self.pooled, self.shrinkage, least)

    def _folds(self, X: Floats, y: NDArray[Any], kept: Bools, rows: FeatureRows) -> Iterator[tuple[Bools, Bools]]:
        """Which of the rows kept to train on and which to hold out; a splitter sees those of weight 0, too."""
        if isinstance(self.cv, Integral):
            fold = _dealt(rows, int(self.cv))
            yield from ((fold != k, fold == k) for k in range(fold.max() + 1))
        else:
            for train, test in check_cv(self.cv, y, classifier=True).split(X, y):
                yield _mask(train, len(y))[kept], _mask(test, len(y))[kept]

    def _cross_validated(
        self, rows: FeatureRows, folds: Iterator[tuple[Bools, Bools]], shapes: ShapeEstimator
    ) -> tuple[float, Floats]:
        """Coupling of the highest log score of held-out rows, and the geometric accuracies of all."""
        given: Any = [self.couplings] if np.ndim(self.couplings) == 0 else self.couplings
        couplings = [_checked_coupling(c, rows.x.shape[1], "couplings") for c in given]
        if not couplings:
            raise InputError("couplings: expected one or more to try, got none.")
        log_scores, held_out = np.zeros(len(couplings)), 0.0
        for number, (train, test) in enumerate(folds):
            try:
                log_scores += self._fold_scores(rows.of(train), rows.of(test), couplings, shapes)
            except InputError as error:
                raise InputError(
                    f"coupling='cv', without the rows of fold {number}: {error} Or give the coupling as a number."
                ) from None
            held_out += rows.weights[test].sum()
        if not held_out:
            raise InputError("cv: its folds hold no rows out.")
        if not (log_scores > -np.inf).any():  # NaN neither
            raise InputError(
                "couplings: each gives some held-out row's class probability 0. Add couplings of 0 or above."
            )
        return couplings[int(np.nanargmax(log_scores))], np.exp(log_scores / held_out)

    def _fold_scores(
        self, train: FeatureRows, test: FeatureRows, couplings: list[float], shapes: ShapeEstimator
    ) -> Floats:
        """Sum over held-out rows of the log posterior of the true class, for each coupling; NaN where it has no fit."""
        priors = self._class_priors(train)
        scores = np.full(len(couplings), np.nan)
        estimates = None if shapes.likelihood else shapes.estimate(train, couplings[0])  # the same at any coupling
        for i, coupling in enumerate(couplings):
            try:
                locations, matrices = estimates or shapes.estimate(train, coupling)
            except InputError:
                if i == len(couplings) - 1 and np.isnan(scores).all():
                    raise  # none has a fit
                continue
            densities = _densities(matrices, coupling, len(priors))
            log_posterior = _normalized(_log_joint(test.x, locations, densities, priors))
            true_class = log_posterior[np.arange(len(test.codes)), test.codes]
            scores[i] = test.weights @ true_class if (true_class > -np.inf).all() else -np.inf
        return scores


def _densities(matrices: Floats, coupling: float, n_classes: int) -> list[MultivariateCoupledGaussian]:
    """Densities of the classes about their locations; one for all where there is one shape matrix."""
    origin = np.zeros(matrices.shape[-1])
    densities = [MultivariateCoupledGaussian(origin, matrix, coupling) for matrix in matrices]
    return densities * (n_classes // len(densities))


def _log_joint(x: Floats, locations: Floats, densities: list[MultivariateCoupledGaussian], priors: Floats) -> Floats:
    """Logarithms of prior times density, (n, C); of the prior where all of these are 0."""
    log_density = np.stack([f.logpdf(x - loc) for f, loc in zip(densities, locations, strict=True)], axis=1)
    vanishing = np.isneginf(log_density)
    if densities[0].coupling >= 0 and vanishing.any():
        rows = np.flatnonzero(vanishing.any(axis=1))
        raise InputError(f"X: in {rows_text(rows)} the values are so far out that squared distances overflow.")
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    log_joint = log_density + log_priors
    log_joint[np.isneginf(log_joint).all(axis=1)] = log_priors
    return np.asarray(log_joint)


def _normalized(log_joint: Floats) -> Floats:
    # Less the largest first: beside 1e20, the logarithm of a sum would be lost.
    log_joint = log_joint - log_joint.max(axis=1, keepdims=True)
    return np.asarray(log_joint - logsumexp(log_joint, axis=1, keepdims=True))


def _dealt(rows: FeatureRows, n_folds: int) -> Ints:
    """Fold of each row: sorted, shuffled and dealt class by class, so that the order of rows has no say."""
    if n_folds < 2:
        raise InputError(f"cv: expected 2 folds or more, got {n_folds}.")
    order = np.random.default_rng(0).permutation(np.lexsort((rows.weights, rows.codes, *rows.x.T)))
    fold = np.empty(len(order), dtype=np.int64)
    for code in range(rows.codes.max() + 1):
        members = order[rows.codes[order] == code]
        fold[members] = np.arange(len(members)) % n_folds
    return fold


def _mask(which: Any, n: int) -> Bools:
    mask = np.zeros(n, dtype=bool)
    mask[which] = True
    return mask


def _checked_coupling(value: Any, d: int, name: str) -> float:
    if not is_number(value) or not -1 / d < value < np.inf:
        raise InputError(f"{name}: expected a finite number above -1/d = {-1 / d:g} for {d} features, got {value!r}.")
    return float(value)


_SINGULAR = 1e-10
"""Smallest eigenvalue of a correlation matrix that counts as positive: a column held in float32 that is the sum of
others leaves about 1e-14."""


class FeatureRows(Frozen):
    """Features, class numbers and positive weights."""

    x: Floats
    codes: Ints
    weights: Floats

    def of(self, which: Any) -> FeatureRows:
        """Some of the rows."""
        return FeatureRows(self.x[which], self.codes[which], self.weights[which])


class ShapeEstimator(Frozen):
    """How the locations and shape matrices of classes follow from their rows."""

    labels: list[Any]
    likelihood: bool
    pooled: bool
    shrinkage: float | str | None
    least_variances: Floats

    def estimate(self, rows: FeatureRows, coupling: float) -> tuple[Floats, Floats]:
        """Location of each class, and a shape matrix for each, or one for all if pooled.

        The coupling matters to the likelihood alone.
        """
        classes = [rows.of(rows.codes == k) for k in range(len(self.labels))]
        for label, members in zip(self.labels, classes, strict=True):
            if len(members.x) == 0:
                raise InputError(f"class {label!r}: has no rows.")
        if self.pooled:
            locations = np.array([moments(members)[0] for members in classes])
            deviations = rows.x - locations[rows.codes]
            scatter = scatter_matrix(deviations, rows.weights)
            return locations, self._shape_matrix(scatter, deviations, rows.weights, "the classes pooled")[None]
        each = [self._of_class(f"class {k!r}", m, coupling) for k, m in zip(self.labels, classes, strict=True)]
        return np.array([location for location, _ in each]), np.array([matrix for _, matrix in each])

    def _of_class(self, whose: str, rows: FeatureRows, coupling: float) -> tuple[Floats, Floats]:
        location, scatter = moments(rows)
        if not scatter.any():
            raise InputError(
                f"{whose}: its rows ({len(rows.x)}) are all the same; a shape matrix takes different ones. Set"
                " pooled=True."
            )
        deviations = rows.x - location
        if self.likelihood:
            location, scatter = most_likely(rows, coupling, whose)
        return location, self._shape_matrix(scatter, deviations, rows.weights, whose)

    def _shape_matrix(self, scatter: Floats, deviations: Floats, weights: Floats, whose: str) -> Floats:
        """A positive definite matrix, or an InputError that says whose it would have been and what helps."""
        variances = np.maximum(np.diag(scatter), self.least_variances)
        if not np.isfinite(variances).all():
            raise InputError(
                f"{whose}: the variance of feature {variances.argmax()} overflows. Give X in larger units."
            )
        if not variances.all():
            raise InputError(
                f"{whose}: feature {variances.argmin()} (counted from 0) is constant. Leave it out, or set"
                " variance_floor above 0."
            )
        scales = np.sqrt(variances)
        amount = ledoit_wolf(deviations, weights) if self.shrinkage == "auto" else float(self.shrinkage or 0)
        correlations = (1 - amount) * (scatter / np.outer(scales, scales))
        np.fill_diagonal(correlations, 1.0)
        if not np.linalg.eigvalsh(correlations)[0] > _SINGULAR:
            raise InputError(
                f"{whose}: the shape matrix is singular: {len(deviations)} rows of {len(scales)} features are too few,"
                " or a feature follows from others. Set shrinkage='auto' or above 0 (1 makes the matrix diagonal), or"
                " pooled=True, or leave features out."
            )
        return np.asarray(correlations * np.outer(scales, scales))


def most_likely(rows: FeatureRows, coupling: float, whose: str) -> tuple[Floats, Floats]:
    """Location and shape matrix of greatest likelihood at a coupling."""
    try:
        fit = MultivariateCoupledGaussian.fit(rows.x, sample_weight=rows.weights, fcoupling=coupling)
    except InputError as error:
        raise InputError(
            f"{whose}: the likelihood of its {len(rows.x)} rows of {rows.x.shape[1]} features has no maximum at"
            f" coupling {coupling:g}. Set a smaller coupling, or estimate='moments' and shrinkage='auto', or leave"
            " features out."
        ) from error
    return fit.distribution.loc, fit.distribution.shape_matrix


def ledoit_wolf(deviations: Floats, weights: Floats) -> float:
    """Ledoit and Wolf's amount of shrinkage of the correlations towards 0; weights count as repetitions."""
    n = weights.sum()
    scales = np.sqrt(weights @ deviations**2 / n)
    z = deviations / np.where(scales > 0, scales, 1.0)
    correlations = scatter_matrix(z, weights)
    squares = np.sum(correlations**2)
    off_diagonal = squares - np.sum(np.diag(correlations) ** 2)
    sampling_error = (weights @ np.sum(z**2, axis=1) ** 2 / n - squares) / n
    return float(np.clip(sampling_error / off_diagonal, 0, 1)) if off_diagonal > 0 else 0.0


def moments(rows: FeatureRows) -> tuple[Floats, Floats]:
    """Weighted mean and covariance (divided by the total weight) of the rows."""
    # Counted from the first row on, so that a constant feature has variance 0 to the last bit.
    from_first = rows.x - rows.x[0]
    mean = rows.weights @ from_first / rows.weights.sum()
    return rows.x[0] + mean, scatter_matrix(from_first - mean, rows.weights)


def scatter_matrix(deviations: Floats, weights: Floats) -> Floats:
    """Weighted mean of the outer products of the rows."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused with the feature's number
        return np.asarray((deviations.T * weights) @ deviations / weights.sum())
