"""RecalibratedClassifier: scikit-learn's checks, pipelines, frozen classifiers, weights, groups."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, TunedThresholdClassifierCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tests.metadata_routing_common import ConsumingClassifier, ConsumingSplitter, _Registry
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from unperplexed import InputError, Recalibrator
from unperplexed.integrations.sklearn import RecalibratedClassifier

BY_FOLDS = "Folds are of rows: leaving a row out differs from a weight of 0, as for CalibratedClassifierCV."
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": BY_FOLDS for kind in ("dense", "sparse")}


def checks():
    model = RecalibratedClassifier(LogisticRegression(), method="logistic", cv=3)
    return list(estimator_checks_generator(model, expected_failed_checks=EXPECTED, mark="skip"))


def data(n=900, classes=2, seed=0):
    X, y = make_classification(
        n, 8, n_informative=5, n_redundant=3, n_classes=classes, flip_y=0.15, random_state=seed, class_sep=0.8
    )
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_checks_of_scikit_learn():
    failed = []
    for estimator, check in checks():
        try:
            check(estimator)
        except Exception as error:
            if type(error).__name__ not in ("SkipTest", "Skipped"):
                failed.append(f"{check}: {error!r:.200}")
    assert not failed


@pytest.mark.parametrize("classes", [2, 3])
def test_recalibration_lowers_the_log_loss_of_naive_bayes(classes):
    X, y, X_new, y_new = data(1600, classes)
    plain = GaussianNB().fit(X, y)
    model = RecalibratedClassifier(GaussianNB(), method="logistic").fit(X, y)
    q = model.predict_proba(X_new)
    np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-12)
    assert log_loss(y_new, q) < log_loss(y_new, plain.predict_proba(X_new)) - 0.02
    assert model.gain_.significant
    assert (model.predict(X_new) == model.classes_[q.argmax(axis=1)]).all()


def test_its_recalibrator_is_that_of_the_cross_validated_probabilities():
    X, y, X_new, _ = data()
    model = RecalibratedClassifier(GaussianNB(), method="beta", cv=4).fit(X, y)
    by_hand = Recalibrator("beta").fit(y, cross_val_predict(GaussianNB(), X, y, cv=4, method="predict_proba"))
    raw = GaussianNB().fit(X, y).predict_proba(X_new)
    np.testing.assert_allclose(model.predict_proba(X_new), by_hand.transform(raw), atol=1e-12)


def test_a_frozen_classifier_is_only_recalibrated():
    X, y, X_new, y_new = data(1200, 3)
    fitted = GaussianNB().fit(X, y)
    model = RecalibratedClassifier(FrozenEstimator(fitted), method="temperature").fit(X_new, y_new)
    by_hand = Recalibrator("temperature").fit(y_new, fitted.predict_proba(X_new))
    assert np.array_equal(model.predict_proba(X_new), by_hand.transform(fitted.predict_proba(X_new)))
    other = CalibratedClassifierCV(FrozenEstimator(fitted), method="sigmoid").fit(X_new, y_new)
    assert (model.classes_ == other.classes_).all()
    with pytest.raises(InputError, match="does not know 7"):
        model.fit(X_new, np.where(y_new == 2, 7, y_new))


def test_a_frozen_classifier_may_know_classes_that_the_rows_lack():
    X, y, X_new, y_new = data(1200, 3)
    some = y_new < 2
    model = RecalibratedClassifier(FrozenEstimator(GaussianNB().fit(X, y)), method="bias").fit(X_new[some], y_new[some])
    q = model.predict_proba(X_new)
    assert q.shape[1] == 3
    assert (q > 0).all()
    assert q[:, 2].mean() < 0.1


@pytest.mark.slow
def test_pipelines_text_labels_and_thresholds():
    X, y, X_new, y_new = data()
    names = np.array(["good", "bad"])
    model = make_pipeline(StandardScaler(), RecalibratedClassifier(GaussianNB(), method="logistic"))
    model.fit(X, names[y])
    assert model.classes_.tolist() == ["bad", "good"]
    assert (model.predict(X_new) == names[y_new]).mean() > 0.7
    inside = RecalibratedClassifier(make_pipeline(StandardScaler(), GaussianNB()), method="logistic").fit(X, y)
    assert inside.predict_proba(X_new).shape == (len(X_new), 2)
    tuned = TunedThresholdClassifierCV(inside, scoring="f1", cv=2).fit(X, y)
    assert 0 < tuned.best_threshold_ < 1


@pytest.mark.parametrize("classes", [2, 3])
def test_decision_values_count_as_logits(classes):
    X, y, X_new, y_new = data(900, classes)
    model = RecalibratedClassifier(LinearSVC(), method="logistic").fit(X, y)
    q = model.predict_proba(X_new)
    assert q.shape == (len(X_new), classes)
    base = np.bincount(y) / len(y)
    assert log_loss(y_new, q) < -(base * np.log(base)).sum() - 0.05


def test_groups_share_a_fold():
    X, y, _, _ = data(400)
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), 3))
    X, y = X[groups], y[groups]
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    divided = RecalibratedClassifier(tree, method="temperature").fit(X, y)
    together = RecalibratedClassifier(tree, method="temperature").fit(X, y, groups=groups)
    # Copies of a row in other folds make the tree look better than it is.
    assert together.gain_.before > divided.gain_.before + 0.3
    explicit = RecalibratedClassifier(tree, method="temperature", cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert explicit.gain_.before > divided.gain_.before + 0.3


def test_weights_reach_classifier_and_recalibrator():
    X, y, X_new, _ = data(700)
    weight = np.where(y == 1, 3.0, 1.0)
    plain, weighted = (
        RecalibratedClassifier(LogisticRegression(), method="bias").fit(X, y, sample_weight=w) for w in (None, weight)
    )
    assert weighted.predict_proba(X_new)[:, 1].mean() > plain.predict_proba(X_new)[:, 1].mean() + 0.1
    assert not np.allclose(weighted.estimator_.intercept_, plain.estimator_.intercept_)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.warns(UserWarning, match="Pipeline takes no sample_weight"):
        RecalibratedClassifier(pipeline, method="bias").fit(X, y, sample_weight=weight)


def test_bad_input_is_refused():
    X, y, _, _ = data(200)
    with pytest.raises(InputError, match="two classes or more"):
        RecalibratedClassifier(GaussianNB()).fit(X, np.zeros(len(y)))
    with pytest.raises(InputError, match="method"):
        RecalibratedClassifier(GaussianNB(), method="platt").fit(X, y)
    with pytest.raises(InputError, match="neither"):
        RecalibratedClassifier(StandardScaler()).fit(X, y)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


ROUTED = np.arange(60)
WEIGHT, METADATA = 1.0 + ROUTED, ROUTED % 7


def routed_fit(classifier, cv=3, **given):
    """Fit to few rows, by a classifier that records what it is given."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    return RecalibratedClassifier(classifier, method="bias", cv=cv).fit(X, ROUTED % 2, **given)


@pytest.mark.parametrize("name", ["sample_weight", "metadata"])
def test_metadata_that_the_classifier_neither_requests_nor_refuses_is_an_error(routing, name):
    with pytest.raises(UnsetMetadataPassedError, match=name):
        routed_fit(ConsumingClassifier(), **{name: WEIGHT})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample_weight", "metadata"])
def test_requested_metadata_reach_the_classifier_in_every_fit(routing, name):
    seen = _Registry()
    classifier = ConsumingClassifier(registry=seen).set_fit_request(**{name: True})
    routed_fit(classifier, **{name: WEIGHT})
    sizes = sorted(len(each._records["fit"]["fit"][-1][name]) for each in seen)
    assert sizes == [40, 40, 40, 60]  # three folds, and all rows


@pytest.mark.slow
def test_refused_weights_reach_the_recalibrator_alone(routing):
    seen = _Registry()
    classifier = ConsumingClassifier(registry=seen).set_fit_request(sample_weight=False)
    weight = np.where(ROUTED % 2, 9.0, 1.0)
    routed_fit(classifier, sample_weight=weight)
    assert all(each._records["fit"]["fit"][-1].get("sample_weight") is None for each in seen)
    naive = GaussianNB().set_fit_request(sample_weight=False)
    weighted, plain = routed_fit(naive, sample_weight=weight), routed_fit(naive)
    X = np.zeros((3, 2))
    assert np.array_equal(weighted.estimator_.predict_proba(X), plain.estimator_.predict_proba(X))
    assert (weighted.predict_proba(X)[:, 1] > plain.predict_proba(X)[:, 1] + 0.1).all()


@pytest.mark.slow
def test_metadata_may_have_an_alias(routing):
    seen = _Registry()
    classifier = ConsumingClassifier(registry=seen).set_fit_request(sample_weight="importance")
    routed_fit(classifier, importance=WEIGHT)
    sizes = sorted(len(each._records["fit"]["fit"][-1]["sample_weight"]) for each in seen)
    assert sizes == [40, 40, 40, 60]


@pytest.mark.slow
def test_the_splitter_gets_what_it_requests(routing):
    seen = _Registry()
    splitter = ConsumingSplitter(registry=seen).set_split_request(metadata=True)
    classifier = ConsumingClassifier().set_fit_request(metadata=False)
    routed_fit(classifier, cv=splitter, metadata=METADATA)
    records = [record for each in seen for calls in each._records["split"].values() for record in calls]
    assert records
    assert all((record["metadata"] == METADATA).all() for record in records)


def test_groups_are_kept_together_with_routing_too(routing):
    X, y, _, _ = data(400)
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), 3))
    X, y = X[groups], y[groups]
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    divided = RecalibratedClassifier(tree, method="temperature").fit(X, y)
    for cv in (5, GroupKFold(3)):
        together = RecalibratedClassifier(tree, method="temperature", cv=cv).fit(X, y, groups=groups)
        assert together.gain_.before > divided.gain_.before + 0.3


@pytest.mark.slow
def test_a_pipeline_routes_weights_and_groups(routing):
    X, y, X_new, _ = data(600)
    weight, groups = np.where(y == 1, 3.0, 1.0), np.arange(len(y)) // 2
    inner = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False), LogisticRegression().set_fit_request(sample_weight=True)
    )
    model = RecalibratedClassifier(inner, method="bias")
    with pytest.raises(UnsetMetadataPassedError):
        make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model).fit(X, y, sample_weight=weight)
    model = model.set_fit_request(sample_weight=True, groups=True)
    outer = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    weighted = outer.fit(X, y, sample_weight=weight, groups=groups)
    alone = clone(model).fit(StandardScaler().fit_transform(X), y, sample_weight=weight, groups=groups)
    q = weighted.predict_proba(X_new)
    np.testing.assert_allclose(q, alone.predict_proba(weighted[0].transform(X_new)), atol=1e-12)
    assert q[:, 1].mean() > clone(outer).fit(X, y).predict_proba(X_new)[:, 1].mean() + 0.1


def test_what_nobody_requests_is_refused(routing):
    with pytest.raises(TypeError, match="unexpected argument.*other"):
        routed_fit(ConsumingClassifier(), other=WEIGHT)
    frozen = FrozenEstimator(GaussianNB().fit(*data(200)[:2]))
    X, y, _, _ = data(200)
    assert RecalibratedClassifier(frozen, method="bias").fit(X, y, sample_weight=np.ones(len(y))).gain_ is not None
    with pytest.raises(TypeError, match="unexpected argument.*other"):
        RecalibratedClassifier(frozen, method="bias").fit(X, y, other=np.ones(len(y)))


def test_it_can_be_frozen_itself():
    X, y, X_new, _ = data(400)
    model = RecalibratedClassifier(GaussianNB(), method="bias").fit(X, y)
    frozen = clone(FrozenEstimator(model)).fit(X_new, np.zeros(len(X_new)))
    assert np.array_equal(frozen.predict_proba(X_new), model.predict_proba(X_new))
    tuned = TunedThresholdClassifierCV(frozen, cv="prefit", refit=False).fit(X, y)
    assert np.array_equal(tuned.predict_proba(X_new), model.predict_proba(X_new))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_checks_of_scikit_learn_hold_with_routing(routing):
    model = RecalibratedClassifier(LogisticRegression().set_fit_request(sample_weight=True), method="logistic", cv=3)
    failed = []
    for estimator, check in estimator_checks_generator(model, expected_failed_checks=EXPECTED, mark="skip"):
        try:
            check(estimator)
        except Exception as error:
            if type(error).__name__ not in ("SkipTest", "Skipped"):
                failed.append(f"{check}: {error!r:.200}")
    assert not failed
