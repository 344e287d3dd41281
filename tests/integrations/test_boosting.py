"""Evaluation functions of LightGBM and XGBoost: the figures of what the models then predict, margins told apart."""

import pickle

import joblib
import lightgbm
import numpy as np
import pytest
import xgboost
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_iris

import unperplexed
from unperplexed import InputError
from unperplexed.integrations.boosting import (
    lightgbm_classifier_metric,
    lightgbm_metric,
    xgboost_classifier_metric,
    xgboost_metric,
)
from unperplexed.integrations.metrics import LARGER, METRICS

pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
NAMES = ["geometric_accuracy", "penalized_brier_score", "log_loss", "expected_calibration_error"]


@pytest.fixture(params=[load_breast_cancer, load_iris], ids=["two", "three"])
def data(request, rng):
    x, y = request.param(return_X_y=True)
    w = rng.integers(1, 4, len(y)).astype(float)
    return (x[::2], y[::2]), (x[1::2], y[1::2], w[1::2]), len(np.unique(y))


def expected(name, y, p, w, classes):
    packages = (unperplexed, unperplexed.scores)
    home = next(package for package in packages if hasattr(package, name))
    return getattr(home, name)(y, p, sample_weight=w, labels=range(classes))


@pytest.mark.parametrize("name", NAMES)
class TestFigures:
    def test_lightgbm(self, data, name):
        (x, y), (x_test, y_test, w), classes = data
        train = lightgbm.Dataset(x, y)
        test = lightgbm.Dataset(x_test, y_test, weight=w, reference=train)
        objective = {"objective": "binary"} if classes == 2 else {"objective": "multiclass", "num_class": classes}
        found = {}
        model = lightgbm.train(
            {**objective, "verbose": -1, "num_threads": 1},
            train,
            4,
            valid_sets=[test],
            feval=lightgbm_metric(name),
            callbacks=[lightgbm.record_evaluation(found)],
        )
        told = expected(name, y_test, model.predict(x_test), w, classes)
        assert found["valid_0"][name][-1] == pytest.approx(told, rel=1e-5)

    def test_lightgbm_classifier(self, data, name):
        (x, y), (x_test, y_test, w), classes = data
        model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1).fit(
            x,
            y,
            eval_set=[(x_test, y_test)],
            eval_sample_weight=[w],
            eval_metric=lightgbm_classifier_metric(name),
        )
        told = expected(name, y_test, model.predict_proba(x_test), w, classes)
        assert model.evals_result_["valid_0"][name][-1] == pytest.approx(told, rel=1e-5)

    def test_xgboost(self, data, name):
        (x, y), (x_test, y_test, w), classes = data
        objective = {"objective": "binary:logistic"}
        if classes > 2:
            objective = {"objective": "multi:softprob", "num_class": classes}
        test, found = xgboost.DMatrix(x_test, y_test, weight=w), {}
        model = xgboost.train(
            {**objective, "nthread": 1},
            xgboost.DMatrix(x, y),
            4,
            evals=[(test, "test")],
            custom_metric=xgboost_metric(name),
            evals_result=found,
            verbose_eval=False,
        )
        told = expected(name, y_test, model.predict(test), w, classes)
        assert found["test"][name][-1] == pytest.approx(told, rel=1e-5)

    def test_xgboost_classifier(self, data, name):
        (x, y), (x_test, y_test, w), classes = data
        metric = xgboost_classifier_metric(name)
        model = xgboost.XGBClassifier(n_estimators=4, eval_metric=metric, n_jobs=1)
        model.fit(x, y, eval_set=[(x_test, y_test)], sample_weight_eval_set=[w], verbose=False)
        told = expected(name, y_test, model.predict_proba(x_test), w, classes)
        assert model.evals_result()["validation_0"][name][-1] == pytest.approx(told, rel=1e-5)


class TestMargins:
    """With an objective of one's own the libraries hand over margins."""

    def test_lightgbm(self):
        x, y = load_breast_cancer(return_X_y=True)
        train, found = lightgbm.Dataset(x, y), {}

        def objective(margin, data):
            p = expit(margin)
            return p - data.get_label(), p * (1 - p)

        model = lightgbm.train(
            {"objective": objective, "verbose": -1, "num_threads": 1},
            train,
            4,
            valid_sets=[train],
            feval=lightgbm_metric("log_loss", scale="logits"),
            callbacks=[lightgbm.record_evaluation(found)],
        )
        told = unperplexed.scores.log_loss(y, expit(model.predict(x)))
        assert found["training"]["log_loss"][-1] == pytest.approx(told, rel=1e-9)

    def test_xgboost(self):
        x, y = load_breast_cancer(return_X_y=True)
        train, found = xgboost.DMatrix(x, y), {}

        def objective(margin, data):
            p = expit(margin)
            return p - data.get_label(), p * (1 - p)

        model = xgboost.train(
            {"nthread": 1},
            train,
            4,
            obj=objective,
            evals=[(train, "train")],
            custom_metric=xgboost_metric("log_loss", scale="logits"),
            evals_result=found,
            verbose_eval=False,
        )
        told = unperplexed.scores.log_loss(y, expit(model.predict(train, output_margin=True)))
        assert found["train"]["log_loss"][-1] == pytest.approx(told, rel=1e-5)

    def test_of_many_classes_and_far_out(self, rng):
        z, y = 5 * rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
        _, found, _ = lightgbm_classifier_metric("log_loss", scale="logits")(y, z, None)
        assert found == pytest.approx(unperplexed.scores.log_loss(y, softmax(z, axis=1), labels=range(4)), rel=1e-12)
        _, far, _ = lightgbm_classifier_metric("log_loss", scale="logits")([0, 1], [700.0, -700.0], None)
        assert far == pytest.approx(700)

    def test_without_the_word_they_are_refused(self):
        with pytest.raises(InputError, match="logits"):
            lightgbm_classifier_metric("log_loss")([0, 1], [3.2, -1.5], None)


def test_early_stopping_knows_the_direction():
    x, y = load_breast_cancer(return_X_y=True)
    train = lightgbm.Dataset(x[::2], y[::2])
    test = lightgbm.Dataset(x[1::2], y[1::2], reference=train)
    model = lightgbm.train(
        {"objective": "binary", "metric": "none", "verbose": -1, "num_threads": 1, "learning_rate": 0.5},
        train,
        200,
        valid_sets=[test],
        feval=lightgbm_metric("geometric_accuracy"),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    assert 1 < model.best_iteration < 200
    for name in METRICS:
        settings = {"r": 1} if name in ("power_score", "generalized_surprisal") else {}
        assert lightgbm_classifier_metric(name, **settings)([0, 1], [0.2, 0.7], None)[2] == (name in LARGER)


@pytest.mark.parametrize(
    "make", [lightgbm_metric, lightgbm_classifier_metric, xgboost_metric, xgboost_classifier_metric]
)
def test_unknown_figure(make):
    with pytest.raises(InputError, match="metric: no metric 'accuracy'. Known: geometric_accuracy, "):
        make("accuracy")


@pytest.mark.parametrize(
    "make", [lightgbm_metric, lightgbm_classifier_metric, xgboost_metric, xgboost_classifier_metric]
)
def test_they_can_be_sent(make):
    metric = pickle.loads(pickle.dumps(make("power_score", r=0.5)))
    assert (metric.metric, metric.settings) == ("power_score", {"r": 0.5})


def test_a_classifier_can_be_kept_with_its_metric(tmp_path):
    x, y = load_breast_cancer(return_X_y=True)
    metric = xgboost_classifier_metric("neg_geometric_accuracy")
    model = xgboost.XGBClassifier(n_estimators=40, eval_metric=metric, n_jobs=1, early_stopping_rounds=3)
    model.fit(x[::2], y[::2], eval_set=[(x[1::2], y[1::2])], verbose=False)
    assert model.best_iteration > 0
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))


def test_negative_figures_are_smaller_where_they_are_better():
    value, larger = lightgbm_classifier_metric("neg_decisiveness")([0, 1], [0.2, 0.7], None)[1:]
    assert (value, larger) == (pytest.approx(-0.75), False)


@pytest.mark.parametrize("labels", [[0.2, 1.0], [np.nan, 1.0], [np.inf, 0.0]])
def test_labels_that_are_no_classes(labels):
    with pytest.raises(InputError, match="labels: expected numbers of classes, got"):
        lightgbm_classifier_metric("log_loss")(labels, [0.2, 0.7], None)


def test_settings_are_checked_when_it_is_made():
    for make in (lambda: lightgbm_metric("log_loss", flor=1), lambda: xgboost_metric("power_score")):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize("made", [lightgbm_metric, lightgbm_classifier_metric, xgboost_metric])
def test_former_names_are_refused_with_those_of_today(made):
    with pytest.raises(TypeError, match='from_logits.*did you mean scale="logits"'):
        made("log_loss", from_logits=True)


class Given:
    """What the libraries hand over beside predictions."""

    def __init__(self, label, weight):
        self.get_label, self.get_weight = lambda: label, lambda: weight


@pytest.mark.parametrize(
    "name", ["brier_score", "neg_geometric_accuracy", "robustness", "log_loss", "smooth_calibration_error"]
)
def test_each_library_is_handed_the_same_figure(name):
    y, p, w = np.array([0.0, 1, 1, 0]), np.array([0.3, 0.8, 0.4, 0.1]), np.array([1.0, 2, 0, 1])
    bare = name.removeprefix("neg_")
    known = expected(bare, y.astype(int), p, w, 2) * (-1 if name != bare else 1)
    larger = bare in LARGER and name == bare
    alike = pytest.approx(known, rel=1e-12)
    assert lightgbm_metric(name)(p, Given(y, w)) == (name, alike, larger)
    assert lightgbm_classifier_metric(name)(y, p, w) == (name, alike, larger)
    if not larger:
        assert xgboost_metric(name)(p, Given(y, w)) == (name, alike)
        assert xgboost_classifier_metric(name)(y, p, sample_weight=w) == alike
    margins = np.log(p) - np.log1p(-p)
    assert lightgbm_metric(name, scale="logits")(margins, Given(y, w))[1] == pytest.approx(known, rel=1e-9)
    three = softmax(np.arange(12.0).reshape(4, 3) % 5, axis=1)
    of_three = expected(bare, y.astype(int), three, None, 3) * (-1 if name != bare else 1)
    for weights in (None, np.zeros(0)):
        assert lightgbm_metric(name)(three, Given(y, weights))[1] == pytest.approx(of_three)
    assert lightgbm_metric(name, scale="logits")(np.log(three), Given(y, None))[1] == pytest.approx(of_three)


@pytest.mark.parametrize("label", [0.5, np.nan, np.inf, -np.inf])
def test_outcomes_are_numbers_of_classes(label):
    with pytest.raises(InputError, match="labels: expected numbers of classes, got"):
        lightgbm_metric("brier_score")(np.array([0.5, 0.5]), Given(np.array([label, 1.0]), None))
