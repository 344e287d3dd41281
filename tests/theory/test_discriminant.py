import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import estimator_checks_generator

from unperplexed import InputError, assess, geometric_accuracy, robustness
from unperplexed.theory import CoupledDiscriminantAnalysis

PLAIN = {"shrinkage": None, "variance_floor": 0}
COUPLINGS = [0.0, 0.3, 2.0, -0.05]


def blobs(rng, n=60, d=3, classes=3):
    """Overlapping classes of different shapes, in shuffled order."""
    y = rng.permutation(np.arange(n) % classes)
    mixing = rng.normal(size=(classes, d, d)) + 2 * np.eye(d)
    return np.einsum("nij,nj->ni", mixing[y], rng.normal(size=(n, d))) + y[:, None], y


@pytest.fixture
def data(rng):
    return blobs(rng)


ESTIMATORS = [
    CoupledDiscriminantAnalysis(),
    CoupledDiscriminantAnalysis(coupling=-0.01, pooled=True, shrinkage=1),
]
CHECKS = [
    pytest.param(estimator, check, id=f"{number}-{check.func.__name__}-{i}")
    for number, model in enumerate(ESTIMATORS)
    for i, (estimator, check) in enumerate(estimator_checks_generator(model))
    if check.func.__name__ != "check_array_api_input"  # it takes a switch that SciPy reads when loaded: see below
]


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learns_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_scikit_learns_array_api_check():
    code = """from sklearn.utils.estimator_checks import estimator_checks_generator
from unperplexed.theory import CoupledDiscriminantAnalysis
for estimator, check in estimator_checks_generator(CoupledDiscriminantAnalysis()):
    if check.func.__name__ == "check_array_api_input":
        check(estimator)
        print("passed")"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "passed\n"


# SPEC's table: 10-dimensional Gaussians with covariances from 25 samples (Nelson 2017, Fig. 1), 30 trials of 2 x 2000.
OVERFITTED = {
    0.0: ([0.75, 0.81, 0.83, 0.84, 0.84], [0.58, 0.63, 0.61, 0.56, 0.41], [0.44, 0.29, 0.08, 0.00, 0.00]),
    0.162: ([0.75, 0.81, 0.83, 0.85, 0.84], [0.59, 0.65, 0.66, 0.67, 0.63], [0.53, 0.48, 0.41, 0.31, 0.14]),
    -0.095: ([0.74, 0.78, 0.75, 0.69, 0.61], [0.0] * 5, [0.0] * 5),
}


def trial(rng, coupling, n_test=500):
    """Prediction accuracy, geometric accuracy and robustness for 2, 4, ..., 10 of the dimensions."""
    y = np.repeat([0, 1], 25)
    x = rng.normal(size=(50, 10)) + y[:, None]
    truth = np.repeat([0, 1], n_test)
    new = rng.normal(size=(2 * n_test, 10)) + truth[:, None]
    figures = []
    for d in (2, 4, 6, 8, 10):
        model = CoupledDiscriminantAnalysis(coupling=coupling, **PLAIN).fit(x[:, :d], y)
        p = model.predict_proba(new[:, :d])
        figures.append(
            (
                assess(truth, p, floor=0).prediction_accuracy,
                geometric_accuracy(truth, p, floor=0),
                robustness(truth, p, floor=0),
            )
        )
    return np.transpose(figures)


@pytest.mark.slow
@pytest.mark.parametrize("coupling", OVERFITTED)
def test_heavy_tails_temper_overfitted_covariances_as_published(coupling):
    trials = 12
    rng = np.random.default_rng(42)
    figures = np.array([trial(rng, coupling) for _ in range(trials)])
    deviation = figures.std(axis=0, ddof=1) * np.sqrt(1 / trials + 1 / 30)
    # 4 standard errors of the difference of two averages over trials, and a print of two digits.
    np.testing.assert_array_less(np.abs(figures.mean(axis=0) - OVERFITTED[coupling]), 4 * deviation + 0.0051)
    if coupling < 0:  # a probability of 0 for what happened
        assert (figures[:, 1:, 1:] == 0).all()


def test_at_coupling_0_it_is_quadratic_and_linear_discriminant_analysis_and_naive_bayes(data):
    x, y = data
    for ours, theirs in [
        ({"shrinkage": None}, QuadraticDiscriminantAnalysis()),
        ({"shrinkage": "auto"}, QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto")),
        ({"shrinkage": 1}, GaussianNB(var_smoothing=0)),
        ({"shrinkage": None, "pooled": True}, LinearDiscriminantAnalysis(solver="lsqr")),
    ]:
        model = CoupledDiscriminantAnalysis(coupling=0, variance_floor=0, **ours).fit(x, y)
        expected = theirs.fit(x, y)
        np.testing.assert_allclose(model.predict_log_proba(x), np.log(expected.predict_proba(x)), atol=1e-9)
        assert (model.predict(x) == expected.predict(x)).all()
        assert model.score(x, y) == expected.score(x, y)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_posterior_follows_from_scipys_densities(data, coupling):
    x, y = data
    model = CoupledDiscriminantAnalysis(coupling=coupling, priors=[0.2, 0.5, 0.3], **PLAIN).fit(x, y)
    for k in range(3):
        np.testing.assert_allclose(model.locations_[k], x[y == k].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.shape_matrices_[k], np.cov(x[y == k].T, ddof=0), rtol=1e-11)
    if coupling < 0:  # scipy has no compact support: the kernel, its normalization the same for all classes but for |S|
        delta = [np.sum((x - m) @ np.linalg.inv(s) * (x - m), axis=1) for m, s in classes_of(model)]
        roots = [np.sqrt(np.linalg.det(s)) for _, s in classes_of(model)]
        kernel = [np.maximum(1 + coupling * q, 0) ** (-(1 / coupling + 3) / 2) for q in delta]
        density = np.transpose(kernel) / roots
    elif coupling == 0:
        density = np.transpose([multivariate_normal(m, s).pdf(x) for m, s in classes_of(model)])
    else:
        density = np.transpose([multivariate_t(m, s, df=1 / coupling).pdf(x) for m, s in classes_of(model)])
    joint = density * [0.2, 0.5, 0.3]
    assert joint.any(axis=1).all()
    np.testing.assert_allclose(model.predict_proba(x), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    assert (model.predict(x) == joint.argmax(axis=1)).all()


def classes_of(model):
    return zip(model.locations_, model.shape_matrices_, strict=True)


def test_pooled_shrinkage_is_that_of_all_rows_about_their_class_means(data):
    x, y = data
    model = CoupledDiscriminantAnalysis(coupling=0.1, pooled=True).fit(x, y)
    deviations = x - np.array([x[y == k].mean(axis=0) for k in range(3)])[y]
    scale = deviations.std(axis=0)
    expected = ledoit_wolf(deviations / scale, assume_centered=True)[0] * np.outer(scale, scale)
    for shape in model.shape_matrices_:
        np.testing.assert_allclose(shape, expected, rtol=1e-10)


def test_shrinkage_multiplies_correlations_and_leaves_variances(data):
    x, y = data
    whole = CoupledDiscriminantAnalysis(coupling=0, shrinkage=None).fit(x, y).shape_matrices_
    shrunk = CoupledDiscriminantAnalysis(coupling=0, shrinkage=0.3).fit(x, y).shape_matrices_
    diagonal = np.eye(3, dtype=bool)
    np.testing.assert_allclose(shrunk[:, diagonal], whole[:, diagonal], rtol=1e-12)
    np.testing.assert_allclose(shrunk[:, ~diagonal], 0.7 * whole[:, ~diagonal], rtol=1e-12)


MODELS = [
    CoupledDiscriminantAnalysis(coupling=0.2),
    CoupledDiscriminantAnalysis(coupling=-0.05, shrinkage=0.5),
    CoupledDiscriminantAnalysis(coupling=0.5, pooled=True),
    CoupledDiscriminantAnalysis(coupling=0.3, estimate="likelihood"),
    CoupledDiscriminantAnalysis(estimate="likelihood", couplings=[0, 0.2]),
    CoupledDiscriminantAnalysis(),
]
AT_A_COUPLING = [model for model in MODELS if model.coupling != "cv"]
TOLERANCE = {"rtol": 1e-6, "atol": 1e-9}  # likelihoods are maximized by iteration


@pytest.mark.parametrize("model", AT_A_COUPLING, ids=str)
def test_weight_2_is_the_row_twice_and_weight_0_is_no_row(data, rng, model):
    x, y = data
    weights = rng.integers(0, 3, len(y))
    weights[y == 2] *= np.arange((y == 2).sum()) < 15
    repeated = np.repeat(np.arange(len(y)), weights)
    expected = clone(model).fit(x[repeated], y[repeated]).decision_function(x)
    np.testing.assert_allclose(clone(model).fit(x, y, weights).decision_function(x), expected, **TOLERANCE)


def test_a_class_of_weight_0_is_no_class(data):
    x, y = data
    model = CoupledDiscriminantAnalysis().fit(x, y, sample_weight=y < 2)
    assert model.classes_.tolist() == [0, 1]
    expected = CoupledDiscriminantAnalysis().fit(x[y < 2], y[y < 2])
    assert model.coupling_ == expected.coupling_
    np.testing.assert_allclose(model.predict_proba(x), expected.predict_proba(x), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_orders_of_rows_and_classes_do_not_matter(data, rng, model):
    x, y = data
    fitted = clone(model).fit(x, y)
    order = rng.permutation(len(y))
    shuffled = clone(model).fit(x[order], y[order])
    np.testing.assert_allclose(shuffled.predict_proba(x), fitted.predict_proba(x), **TOLERANCE)
    names = np.array(["z", "a", "m"])
    renamed = clone(model).fit(x, names[y])
    assert renamed.classes_.tolist() == ["a", "m", "z"]
    np.testing.assert_allclose(renamed.predict_proba(x)[:, [2, 0, 1]], fitted.predict_proba(x), **TOLERANCE)
    assert (renamed.predict(x) == names[fitted.predict(x)]).all()
    assert shuffled.coupling_ == renamed.coupling_ == fitted.coupling_


@pytest.mark.slow
@pytest.mark.parametrize("pooled", [False, True])
@given(coupling=st.sampled_from(COUPLINGS), seed=st.integers(0, 10**6))
def test_affine_maps_of_the_features_do_not_matter_without_shrinkage(pooled, coupling, seed):
    rng = np.random.default_rng(seed)
    x, y = blobs(rng)
    a = np.linalg.qr(rng.normal(size=(3, 3)))[0] * 10.0 ** rng.uniform(-2, 2, 3)
    model = CoupledDiscriminantAnalysis(coupling=coupling, pooled=pooled, **PLAIN)
    expected = clone(model).fit(x, y).predict_proba(x)
    mapped = x @ a + rng.normal(size=3)
    np.testing.assert_allclose(clone(model).fit(mapped, y).predict_proba(mapped), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_units_do_not_matter(data, model):
    x, y = data
    units = np.array([1e-6, 1.0, 1e8])
    expected = clone(model).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(clone(model).fit(x * units, y).predict_proba(x * units), expected, **TOLERANCE)


def test_couplings_without_a_fit_are_passed_over():
    """Where a few rows have a share too large for its tails, a coupling has no fit of largest likelihood."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(16, 6)), rng.normal(size=(16, 6)) + 1])
    model = CoupledDiscriminantAnalysis(estimate="likelihood", couplings=[5.0, 0.0, 0.2])
    model.fit(x, np.repeat([0, 1], 16))
    assert np.isnan(model.cv_geometric_accuracy_[0])
    assert model.coupling_ in (0.0, 0.2)
    with pytest.raises(InputError, match="has no maximum at coupling 5"):
        model.set_params(couplings=[5.0]).fit(x, np.repeat([0, 1], 16))


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("prior", [0.5, 0.9, 1e-9])
def test_priors_shift_the_log_odds(data, coupling, prior):
    x, y = data
    x, y = x[y < 2], y[y < 2]
    even = CoupledDiscriminantAnalysis(coupling=coupling, priors=[0.5, 0.5]).fit(x, y)
    uneven = CoupledDiscriminantAnalysis(coupling=coupling, priors=[1 - prior, prior]).fit(x, y)
    shift = np.log(prior / (1 - prior))
    np.testing.assert_allclose(uneven.decision_function(x), even.decision_function(x) + shift, atol=1e-9)
    by_share = CoupledDiscriminantAnalysis(coupling=coupling).fit(x, y, sample_weight=1 + 2 * y)
    assert by_share.priors_.tolist() == [0.25, 0.75]


def test_decision_function_is_the_log_odds_of_two_classes_and_the_log_posterior_of_more(data):
    x, y = data
    three = CoupledDiscriminantAnalysis(coupling=0.1).fit(x, y)
    np.testing.assert_array_equal(three.decision_function(x), three.predict_log_proba(x))
    two = CoupledDiscriminantAnalysis(coupling=0.1).fit(x, y > 0)
    log_p = two.predict_log_proba(x)
    assert two.decision_function(x).shape == y.shape
    np.testing.assert_allclose(two.decision_function(x), log_p[:, 1] - log_p[:, 0], rtol=1e-9)
    assert (two.predict(x) == (two.decision_function(x) > 0)).all()


@pytest.mark.parametrize("coupling", [0.0, 0.01, 0.5, 5.0])
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("distance", [1e3, 1e30, 1e100, 1e150])
def test_nothing_overflows_far_out(data, rng, coupling, pooled, distance):
    x, y = data
    model = CoupledDiscriminantAnalysis(coupling=coupling, pooled=pooled).fit(x, y)
    direction = rng.normal(size=(20, 3))
    log_p = model.predict_log_proba(distance * direction)
    assert not np.isnan(log_p).any()
    assert (log_p > -np.inf).all()
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=1e-12)
    if coupling > 0 and distance > 1e20:  # Student's t in every direction: the odds tend to constants
        np.testing.assert_allclose(model.predict_log_proba(1e20 * direction), log_p, rtol=1e-9, atol=1e-9)


def test_further_out_than_squares_go(data):
    x, y = data
    normal = CoupledDiscriminantAnalysis(coupling=0.0).fit(x, y)
    with pytest.raises(InputError, match=r"1 row \(1; counted from 0\).*so far out"):
        normal.predict([x[0], [1e200, 0, 0]])
    heavy = CoupledDiscriminantAnalysis(coupling=0.3).fit(x, y)  # its logarithms do not overflow
    out = heavy.predict_proba([[1e200, 0, 0], [1e90, 0, 0]])
    np.testing.assert_allclose(out[0], out[1], rtol=1e-9)
    with pytest.raises(InputError, match="class 0: the variance of feature 1 overflows"):
        CoupledDiscriminantAnalysis(coupling=0).fit(x * [1, 1e200, 1], y)


def test_where_compact_supports_end_the_posterior_is_the_prior():
    x = np.array([[-1.0], [1.0], [9.0], [11.0]])
    model = CoupledDiscriminantAnalysis(coupling=-0.25, priors=[0.3, 0.7]).fit(x, ["a", "a", "b", "b"])
    # Supports end 2 standard deviations of 1 from the means 0 and 10.
    p = model.predict_proba([[1.999], [2.001], [5.0], [1e9], [8.001]])
    np.testing.assert_allclose(p, [[1, 0], [0.3, 0.7], [0.3, 0.7], [0.3, 0.7], [0, 1]], rtol=1e-15)
    assert model.decision_function([[0.0], [10.0]]).tolist() == [-np.inf, np.inf]
    np.testing.assert_allclose(model.decision_function([[5.0]]), np.log(0.7 / 0.3))
    assert model.predict([[5.0], [0.0]]).tolist() == ["b", "a"]


def test_likelihood_agrees_with_moments_at_coupling_0_and_beats_them_elsewhere(rng):
    y = np.repeat([0, 1], 100)
    x = multivariate_t([0, 0], [[2, 1], [1, 3]], df=3).rvs(200, random_state=rng) + y[:, None]
    for coupling in (0.0, 1 / 3, 1.0):
        moments = CoupledDiscriminantAnalysis(coupling=coupling, **PLAIN).fit(x, y)
        likely = clone(moments).set_params(estimate="likelihood").fit(x, y)
        if coupling == 0:
            np.testing.assert_allclose(likely.shape_matrices_, moments.shape_matrices_, rtol=1e-7)
            np.testing.assert_allclose(likely.locations_, moments.locations_, atol=1e-9)
        else:
            density = {
                model: sum(
                    multivariate_t(m, s, df=1 / coupling).logpdf(x[y == k]).sum()
                    for k, (m, s) in enumerate(classes_of(model))
                )
                for model in (moments, likely)
            }
            assert density[likely] > density[moments] + 5


def test_cross_validation_scores_held_out_rows(data, rng):
    x, y = data
    folds = KFold(4, shuffle=True, random_state=3)
    couplings = (-0.01, 0.0, 0.1, 1.0)
    weights = rng.integers(1, 4, len(y)).astype(float)
    model = CoupledDiscriminantAnalysis(couplings=couplings, cv=folds).fit(x, y, weights)
    for coupling, figure in zip(couplings, model.cv_geometric_accuracy_, strict=True):
        log_p = np.empty((len(y), 3))
        for train, test in folds.split(x):
            fitted = CoupledDiscriminantAnalysis(coupling=coupling).fit(x[train], y[train], weights[train])
            log_p[test] = fitted.predict_log_proba(x[test])
        assert figure == pytest.approx(np.exp(np.average(log_p[np.arange(len(y)), y], weights=weights)), rel=1e-10)
    assert model.coupling_ == couplings[model.cv_geometric_accuracy_.argmax()]
    given = clone(model).set_params(cv=list(folds.split(x))).fit(x, y, weights)
    np.testing.assert_array_equal(given.cv_geometric_accuracy_, model.cv_geometric_accuracy_)
    assert CoupledDiscriminantAnalysis(coupling=0.1).fit(x, y).cv_geometric_accuracy_ is None


@pytest.mark.slow
@pytest.mark.parametrize("estimate", ["moments", "likelihood"])
@pytest.mark.parametrize(
    ("truth", "low", "high"), [(multivariate_t([0, 0], df=2), 0.2, 1.0), (multivariate_normal([0, 0]), 0.0, 0.05)]
)
def test_cross_validation_finds_heavy_tails_and_normal_ones(estimate, truth, low, high):
    y = np.arange(800) % 2
    x = truth.rvs(800, random_state=8) * (1 + y[:, None]) + y[:, None]
    model = CoupledDiscriminantAnalysis(estimate=estimate, couplings=[0, 0.05, 0.2, 0.5, 1], cv=3).fit(x, y)
    assert low <= model.coupling_ <= high


def test_cross_validation_finds_heavy_tails_where_covariances_are_overfitted(rng):
    y = np.repeat([0, 1], 25)
    x = rng.normal(size=(50, 10)) + y[:, None]
    assert CoupledDiscriminantAnalysis(shrinkage=None).fit(x, y).coupling_ >= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_cross_validation_beats_normal_densities_on_real_data(load):
    x, y = load(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    figures = {}
    for coupling in (0, "cv"):
        model = CoupledDiscriminantAnalysis(coupling=coupling, shrinkage=None)
        p = cross_val_predict(model, x, y, cv=folds, method="predict_proba")
        figures[coupling] = geometric_accuracy(y, p, floor=0)
    assert figures["cv"] > figures[0]


def test_pickles_clones_and_refits_alike(data):
    x, y = data
    model = CoupledDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]).fit(x, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_proba(x), model.predict_proba(x))
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(clone(model).fit(x, y).predict_proba(x), model.predict_proba(x))


def test_frames_and_labels_of_any_kind(data):
    x, y = data
    frame = pd.DataFrame(x, columns=["width", "height", "depth"])
    model = CoupledDiscriminantAnalysis().fit(frame, pd.Series(np.array(["x", "y", "zz"], dtype=object)[y]))
    assert model.feature_names_in_.tolist() == ["width", "height", "depth"]
    assert model.n_features_in_ == 3
    assert set(model.predict(frame)) <= {"x", "y", "zz"}
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["height", "width", "depth"]])
    by_bool = CoupledDiscriminantAnalysis(coupling=0.1).fit(x, y == 0)
    assert by_bool.predict(x).dtype == bool


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"coupling": -1 / 3}, r"coupling: expected a finite number above -1/d = -0.333333 for 3 features, got -0.333"),
        ({"coupling": np.nan}, "coupling: expected a finite number"),
        ({"coupling": np.inf}, "coupling: expected a finite number"),
        ({"coupling": None}, "coupling: expected a finite number"),
        ({"coupling": "auto"}, "coupling: expected a number or 'cv', got 'auto'"),
        ({"couplings": []}, "couplings: expected one or more to try, got none"),
        ({"couplings": [0, -1]}, "couplings: expected a finite number above -1/d"),
        ({"couplings": ["cv"]}, "couplings: expected a finite number"),
        (
            {"couplings": [-0.33, -0.32], "shrinkage": None},
            "couplings: each gives some held-out row's class probability 0",
        ),
        ({"cv": 1}, "cv: expected 2 folds or more, got 1"),
        ({"cv": 0.5}, "Expected `cv` as an integer"),
        ({"cv": []}, "cv: its folds hold no rows out"),
        ({"pooled": "full"}, "pooled: expected True or False, got 'full'"),
        ({"shrinkage": "oas"}, "shrinkage: expected None, 'auto' or a number from 0 to 1, got 'oas'"),
        ({"shrinkage": 1.5}, "shrinkage: expected"),
        ({"shrinkage": True}, "shrinkage: expected"),
        ({"estimate": "mle"}, "estimate: expected 'moments' or 'likelihood', got 'mle'"),
        (
            {"estimate": "likelihood", "pooled": True},
            "estimate: 'likelihood' is there for a shape matrix of each class",
        ),
        ({"variance_floor": -1}, "variance_floor: expected a number from 0 to 1"),
        ({"priors": [0.5, 0.5]}, r"priors: expected one for each of 3 classes, got shape \(2,\)"),
        ({"priors": [0.5, 0.5, 0.5]}, "priors: expected positive probabilities that sum to 1, .* sum 1.5"),
        ({"priors": [1.5, -0.5, 0]}, "priors: expected positive probabilities"),
        ({"priors": ["a", "b", "c"]}, "priors: not a number"),
    ],
)
def test_bad_settings(data, settings, message):
    with pytest.raises(ValueError, match=message):
        CoupledDiscriminantAnalysis(**settings).fit(*data)


def test_bad_rows(data):
    x, y = data
    model = CoupledDiscriminantAnalysis()
    with pytest.raises(InputError, match="y: expected two classes or more, got 1 class"):
        model.fit(x, np.zeros(len(y)))
    with pytest.raises(InputError, match="sample_weight: every weight is zero"):
        model.fit(x, y, np.zeros(len(y)))
    with pytest.raises(InputError, match="sample_weight: a negative weight in 1 row"):
        model.fit(x, y, np.r_[-1, np.ones(len(y) - 1)])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(x > x.max() - 1e-9, np.nan, x), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(x, x[:, 0])
    with pytest.raises(InputError, match="X: feature 1 .* is constant"):
        model.fit(x * [1, 0, 1], y)


def test_singular_shapes_name_the_class_and_the_remedy(rng):
    labels = np.repeat(["plenty", "few"], [40, 5])
    x = rng.normal(size=(45, 8))
    for estimate in ("moments", "likelihood"):
        model = CoupledDiscriminantAnalysis(coupling=0.1, shrinkage=None, estimate=estimate)
        with pytest.raises(InputError, match=r"class 'few': (?s:.*)shrinkage"):
            model.fit(x, labels)
    with pytest.raises(InputError, match=r"without the rows of fold 0: class 'few': .*shrinkage"):
        CoupledDiscriminantAnalysis(shrinkage=None).fit(x, labels)
    for remedy in ({"shrinkage": "auto"}, {"shrinkage": 1}, {"shrinkage": None, "pooled": True}):
        p = CoupledDiscriminantAnalysis(coupling=0.1, **remedy).fit(x, labels).predict_proba(x)
        assert np.isfinite(p).all()
    x[:, 3] = (x[:, 1] + x[:, 2]).astype(np.float32)
    with pytest.raises(InputError, match="class 'few': the shape matrix is singular"):
        CoupledDiscriminantAnalysis(coupling=0.1, shrinkage=None).fit(x, labels)
    with pytest.raises(InputError, match="the classes pooled: the shape matrix is singular: 45 rows of 8 features"):
        CoupledDiscriminantAnalysis(coupling=0.1, shrinkage=None, pooled=True).fit(x.astype(np.float32), labels)


def test_one_row_is_no_shape(rng):
    x, y = rng.normal(size=(21, 3)), np.arange(21) // 20
    with pytest.raises(InputError, match=r"class 1: its rows \(1\) are all the same.*pooled=True"):
        CoupledDiscriminantAnalysis(coupling=0).fit(x, y)
    with pytest.raises(InputError, match="without the rows of fold 0: class 1: has no rows.*coupling as a number"):
        CoupledDiscriminantAnalysis(pooled=True).fit(x, y)
    p = CoupledDiscriminantAnalysis(coupling=0.1, pooled=True).fit(x, y).predict_proba(x)
    assert p[20, 1] > 1 / 21  # more than the prior


def test_a_feature_constant_within_a_class_has_the_floor_for_a_variance(rng):
    y = np.arange(40) % 2
    x = rng.normal(size=(40, 3))
    x[y == 1, 2] = 0.1
    model = CoupledDiscriminantAnalysis(coupling=0.1, variance_floor=1e-4).fit(x, y)
    assert model.shape_matrices_[1, 2, 2] == pytest.approx(1e-4 * x[:, 2].var(), rel=1e-12)
    np.testing.assert_allclose(model.shape_matrices_[1, 2, :2], 0, atol=1e-15)
    assert (model.predict(x) == y).all()
    with pytest.raises(InputError, match=r"class 1: feature 2 .* is constant. Leave it out, or set variance_floor"):
        model.set_params(variance_floor=0).fit(x, y)
