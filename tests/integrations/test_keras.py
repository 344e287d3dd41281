"""Keras losses and the callback, on the backend that KERAS_BACKEND names; one test runs the others on JAX."""

import os
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import keras
import numpy as np
import pytest
import torch
from keras import ops

from kept import same_as_kept
from unperplexed import InputError, assess, decisiveness, geometric_accuracy, refinement_loss, robustness
from unperplexed.integrations.keras import (
    AssessmentCallback,
    BrierLoss,
    ForecastMetric,
    GeneralizedSurprisalLoss,
    PenalizedBrierLoss,
    PenalizedLogLoss,
    PowerLoss,
    RiskLoss,
)
from unperplexed.integrations.metrics import HEADLINE
from unperplexed.scores import brier_score, log_loss, penalized_brier_score, penalized_log_loss, row_scores

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras' own, of torch
KEPT = Path(__file__).with_name("keras.json")
LOSSES = {
    "brier_score": BrierLoss,
    "penalized_brier_score": PenalizedBrierLoss,
    "penalized_log_loss": PenalizedLogLoss,
    **{f"power_score({r})": lambda r=r, **o: PowerLoss(r, **o) for r in (-0.9, -0.5, 0, 1, 5)},
    **{f"generalized_surprisal({r})": lambda r=r, **o: GeneralizedSurprisalLoss(r, **o) for r in (-0.5, 0, 1)},
}
EVERY = LOSSES | {"mixed": lambda **o: RiskLoss(robustness=2, **o)}


@pytest.fixture
def rows(rng):
    z = rng.normal(0, 2, (60, 4)).astype(np.float32)
    z[::5] = 0
    z[::7, 0] = z[::7, 1] = 9
    return z, rng.integers(0, 4, 60)


def softmax(z):
    e = np.exp(z.astype(float) - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", LOSSES)
class TestValues:
    def test_those_of_the_numpy_rules(self, rows, name):
        z, y = rows
        expected = row_scores(y, softmax(z), name, labels=range(4))
        each = LOSSES[name](from_logits=True, reduction=None)(y, z)
        np.testing.assert_allclose(ops.convert_to_numpy(each), expected, rtol=2e-5, atol=2e-6)
        assert float(LOSSES[name](from_logits=True)(y, z)) == pytest.approx(expected.mean(), rel=1e-5)

    def test_kinds_of_targets_and_predictions(self, rows, name):
        z, y = rows
        p, loss = softmax(z).astype(np.float32), float(LOSSES[name](from_logits=True)(y, z))
        for y_true in (y, y[:, None], np.eye(4)[y]):
            assert float(LOSSES[name]()(y_true, p)) == pytest.approx(loss, rel=1e-4)
        first = LOSSES[name](from_logits=True, axis=1)(y.reshape(10, 6), z.reshape(10, 6, 4).transpose(0, 2, 1))
        assert float(first) == pytest.approx(loss, rel=1e-5)

    def test_one_column_is_the_second_class(self, rows, name):
        z, y = rows[0][:, :1], rows[1] % 2
        both = np.concatenate([np.zeros_like(z), z], axis=1)
        expected = float(LOSSES[name](from_logits=True)(y, both))
        assert float(LOSSES[name](from_logits=True)(y[:, None], z)) == pytest.approx(expected, rel=1e-6)
        assert float(LOSSES[name]()(y[:, None], 1 / (1 + np.exp(-z)))) == pytest.approx(expected, rel=1e-3)

    def test_weights_and_smoothing(self, rows, rng, name):
        z, y = rows
        w = rng.uniform(size=60).astype(np.float32)
        each = row_scores(y, softmax(z), name, labels=range(4))
        found = LOSSES[name](from_logits=True, reduction="sum")(y, z, sample_weight=w)
        assert float(found) == pytest.approx((w * each).sum(), rel=1e-5)
        by_class = np.stack([row_scores(np.full(60, c), softmax(z), name, labels=range(4)) for c in range(4)], axis=1)
        smoothed = 0.8 * each + 0.2 * by_class.mean(axis=1)
        found = LOSSES[name](from_logits=True, label_smoothing=0.2)(y, z)
        assert float(found) == pytest.approx(smoothed.mean(), rel=1e-5)


@pytest.mark.parametrize("name", EVERY)
class TestTraining:
    def test_far_out_it_still_trains(self, name):
        """Logits of +-1e4, right and wrong; and probabilities of exactly 0 and 1."""
        z = np.array([[1e4, -1e4, 0], [0, 1e4, -1e4], [-1e4, 0, 1e4]], dtype=np.float32)
        layer = keras.layers.Dense(3, use_bias=False, kernel_initializer="identity")
        model = keras.Sequential([keras.Input((3,)), layer])
        for y in ([0, 1, 2], [1, 2, 0]):
            layer.set_weights([np.eye(3, dtype=np.float32)])
            model.compile(keras.optimizers.SGD(1e-30), EVERY[name](from_logits=True))
            assert np.isfinite(model.train_on_batch(z, np.array(y)))
            assert np.isfinite(layer.get_weights()[0]).all()
        assert np.isfinite(float(EVERY[name]()(np.array([0, 1]), np.array([[1.0, 0, 0], [1, 0, 0]]))))

    def test_it_is_saved_with_its_settings(self, rows, tmp_path, name):
        z, y = rows
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
        model.compile("adam", EVERY[name](from_logits=True, label_smoothing=0.1))
        model.fit(z, y, verbose=0)
        model.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
        assert again.loss.get_config() == model.loss.get_config()
        named = type(model.loss).from_config({**model.loss.get_config(), "name": "mine"})
        assert named.name == "mine"
        assert float(again.loss(y, z)) == pytest.approx(float(model.loss(y, z)), rel=1e-6)


def test_shares_of_one_column():
    p, y = np.float32([[0.6], [0.9]]), np.float32([[0.7], [1.0]])
    both = np.concatenate([1 - p, p], axis=1), np.concatenate([1 - y, y], axis=1)
    assert float(BrierLoss()(y, p)) == pytest.approx(float(BrierLoss()(both[1], both[0])), rel=1e-6)


def test_predictions_in_half_precision_are_scored_in_single():
    p, y = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 0])
    metric = ForecastMetric("brier_score")
    metric.update_state(y, p.astype(np.float16))
    assert float(metric.result()) == brier_score(y, p)


def test_weights_of_rows_may_be_a_column(rows):
    z, y = rows
    w = np.arange(60, dtype=np.float32)
    for given in (w, w[:, None]):
        metric = ForecastMetric("log_loss", scale="logits")
        metric.update_state(y, z, sample_weight=given)
        assert float(metric.result()) == pytest.approx(log_loss(y, softmax(z), sample_weight=w), rel=1e-5)


def test_gradients_have_room_in_half_precision():
    z = np.float32([[1, 0, 0]])
    layer = keras.layers.Dense(3, use_bias=False, dtype="mixed_float16")
    model = keras.Sequential([keras.Input((3,)), layer])
    layer.set_weights([60 * np.eye(3)])
    model.compile(keras.optimizers.SGD(1e-5), PowerLoss(-2 / 3, from_logits=True), auto_scale_loss=False)
    assert np.isfinite(model.train_on_batch(z, np.array([1])))
    assert np.isfinite(layer.get_weights()[0]).all()


@pytest.mark.parametrize("name", [*(each for each in LOSSES if not each.startswith("generalized")), "mixed"])
def test_the_minimum_is_the_truth(name):
    """The loss is larger around it; a step down its slope stays there, and comes nearer from elsewhere."""
    truth, loss = np.array([[0.5, 0.3, 0.15, 0.05]], dtype=np.float32), EVERY[name](from_logits=True)
    around = np.random.default_rng(0).normal(0, 0.3, (100, 4)).astype(np.float32) + np.log(truth)
    least = float(loss(truth, np.log(truth)))
    assert all(float(loss(truth, z[None])) > least for z in around)
    layer = keras.layers.Dense(4, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), layer])
    model.compile(keras.optimizers.SGD(0.01), loss)
    trained = []
    for start in (np.log(truth), around[:1]):
        layer.set_weights([start])
        model.train_on_batch(np.ones((1, 1)), truth)
        trained += layer.get_weights()
    np.testing.assert_allclose(trained[0], np.log(truth), atol=1e-6)
    assert least < float(loss(truth, trained[1])) <= float(loss(truth, around[:1]))


FIGURES = {
    "decisiveness": decisiveness,
    "geometric_accuracy": geometric_accuracy,
    "robustness": robustness,
    "log_loss": log_loss,
    "brier_score": brier_score,
    "penalized_brier_score": penalized_brier_score,
    "penalized_log_loss": penalized_log_loss,
}


class TestMetric:
    @pytest.mark.parametrize("name", FIGURES)
    @pytest.mark.parametrize("scale", ["probability", "logits"])
    def test_those_of_the_functions(self, rows, rng, name, scale):
        z, y = rows
        given, w = z if scale == "logits" else softmax(z).astype(np.float32), rng.integers(0, 3, 60).astype(np.float32)
        metric = ForecastMetric(name, scale=scale)
        for weights in (None, w):
            metric.reset_state()
            for at in range(0, 60, 25):
                here = slice(at, at + 25)
                metric.update_state(y[here], given[here], None if weights is None else weights[here])
            expected = FIGURES[name](y, softmax(z), sample_weight=weights, labels=range(4))
            assert float(metric.result()) == pytest.approx(expected, rel=1e-6)
        again = ForecastMetric.from_config(metric.get_config())
        assert again.get_config() == metric.get_config()

    @pytest.mark.parametrize("scale", ["probability", "logits"])
    @pytest.mark.parametrize("rule", [penalized_brier_score, penalized_log_loss])
    def test_penalized_scores_of_old_histories(self, rows, rule, scale):
        z, y = rows
        metric = ForecastMetric(rule.__name__, variant="published-code", scale=scale)
        metric.update_state(y, z if scale == "logits" else softmax(z).astype(np.float32))
        expected = rule(y, softmax(z.astype(float)), labels=range(4), variant="published-code")
        assert float(metric.result()) == pytest.approx(expected, rel=1e-5)
        assert ForecastMetric.from_config(metric.get_config()).variant == "published-code"

    def test_prediction_accuracy_shares_ties(self, rows):
        z, y = rows
        metric = ForecastMetric("prediction_accuracy")
        metric.update_state(np.eye(4)[y], softmax(z).astype(np.float32))
        assert float(metric.result()) == pytest.approx(assess(y, softmax(z), resamples=0).prediction_accuracy, rel=1e-6)

    def test_many_rows_stay_exact(self):
        """A float32 count stops at 2**24; nor does what it rounds off stop there."""
        metric = ForecastMetric("prediction_accuracy")
        p, y = np.float32([[0.05, 0.95]] * 33), (np.arange(33) % 11 > 0).astype(int)
        for begun in (2**24, 2**30, 2**40):
            metric.sums.assign(np.float32([[begun, begun], [0, 0]]))
            for _ in range(40):
                metric.update_state(y, p)
            kept = ops.convert_to_numpy(metric.sums).astype(float).sum(axis=0)
            assert kept.tolist() == [begun + 40 * 30, begun + 40 * 33]
            # What is rounded off does not fill up in its turn: it goes where there is room.
            whole, rounded = ops.convert_to_numpy(metric.sums)
            assert (np.abs(rounded) <= np.spacing(whole) / 2).all()

    def test_weights_of_rows_of_many_steps(self, rng):
        z, y, w = rng.normal(size=(3, 3, 4)).astype(np.float32), rng.integers(0, 4, (3, 3)), np.float32([1, 0, 2])
        each = row_scores(y.ravel(), softmax(z.reshape(-1, 4)), "log_loss", labels=range(4)).reshape(3, 3)
        expected = (w[:, None] * each).sum() / (3 * w.sum())
        for given in (w, w[:, None], np.tile(w[:, None], 3)):
            metric = ForecastMetric("log_loss", scale="logits")
            metric.update_state(y, z, given)
            assert float(metric.result()) == pytest.approx(expected, rel=1e-6)

    def test_masked_steps_count_nothing(self, rng):
        x, y = rng.normal(size=(20, 6, 3)).astype(np.float32), rng.integers(0, 4, (20, 6))
        x[:, 3:] = 0
        layers = [keras.Input((6, 3)), keras.layers.Masking(), keras.layers.TimeDistributed(keras.layers.Dense(4))]
        model = keras.Sequential(layers)
        model.compile("adam", PowerLoss(0, from_logits=True), metrics=[ForecastMetric("log_loss", scale="logits")])
        found = model.evaluate(x, y, verbose=0, return_dict=True)
        kept = softmax(model.predict(x, verbose=0)[:, :3].reshape(-1, 4))
        expected = row_scores(y[:, :3].ravel(), kept, "log_loss", labels=range(4)).mean()
        assert found["log_loss"] == pytest.approx(expected, rel=1e-5)
        assert found["loss"] == pytest.approx(expected, rel=1e-5)

    def test_outcomes_that_are_no_class_are_seen(self):
        p = np.float32([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
        for y in ([0, -1], [0, 3], [0.0, 0.5]):
            metric = ForecastMetric("geometric_accuracy")
            metric.update_state(np.array(y), p)
            assert np.isnan(float(metric.result()))
            assert np.isnan(float(BrierLoss()(np.array(y), p)))
        assert np.isnan(float(BrierLoss()(np.array([0, 2]), p[:, :1])))

    def test_zero_is_zero(self):
        metric = ForecastMetric("log_loss")
        metric.update_state(np.array([0, 1]), np.array([[0.5, 0.5], [1, 0]]))
        assert float(metric.result()) == np.inf
        metric.update_state(np.array([0]), np.array([[0.5, 0.5]]))
        assert float(metric.result()) == np.inf

    def test_in_training(self, rows, tmp_path):
        z, y = rows
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
        metrics = [ForecastMetric(name, scale="logits") for name in ("robustness", "penalized_brier_score")]
        model.compile("adam", BrierLoss(from_logits=True), metrics=metrics)
        history = model.fit(z, y, validation_data=(z, y), verbose=0, epochs=2).history
        p = softmax(model.predict(z, verbose=0))
        assert history["val_robustness"][-1] == pytest.approx(robustness(y, p, labels=range(4)), rel=1e-5)
        model.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
        found = again.evaluate(z, y, verbose=0, return_dict=True)
        assert found["robustness"] == pytest.approx(history["val_robustness"][-1], rel=1e-5)

    def test_what_was_given_nothing(self):
        metric = ForecastMetric("geometric_accuracy", floor=0)
        metric.update_state(np.array([1, 0]), np.array([[1.0, 0.0], [0.5, 0.5]], dtype=np.float32))
        assert float(metric.result()) == 0
        floored = ForecastMetric("geometric_accuracy")
        floored.update_state(np.array([1]), np.array([[1.0, 0.0]], dtype=np.float32))
        assert float(floored.result()) == pytest.approx(0.005)


class TestCallback:
    @pytest.fixture
    def data(self, rng):
        x = rng.normal(size=(300, 5)).astype(np.float32)
        y = (x @ rng.normal(size=(5, 3)) + rng.normal(size=(300, 3))).argmax(axis=1)
        return x, y

    def fitted(self, data, callbacks, classes=3, **settings):
        keras.utils.set_random_seed(1)
        activation = "sigmoid" if classes == 1 else "softmax"
        model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(classes, activation=activation)])
        model.compile(keras.optimizers.Adam(0.05), PowerLoss(0.5))
        return model, model.fit(*data, verbose=0, callbacks=callbacks, **settings)

    def test_it_logs_the_assessment(self, data):
        x, y = data
        callback = AssessmentCallback(x, y, resamples=40)
        model, history = self.fitted((x[:150], y[:150]), [callback], epochs=3)
        expected = assess(y, model.predict(x, verbose=0), resamples=0).metrics()
        for name in (*HEADLINE, "penalized_brier_score", "penalized_log_loss"):
            assert len(history.history[f"val_{name}"]) == 3
            assert history.history[f"val_{name}"][-1] == pytest.approx(expected[name], rel=1e-6)
        assert callback.assessment.intervals["averages_slope"].low < callback.assessment.averages_slope
        assert callback.assessment.diagnosis.made  # of three classes too: the rows of the epoch are there
        assert callback.assessment.verdict == assess(y, model.predict(x, verbose=0), resamples=0).verdict

    def test_checkpoints_and_early_stopping_go_by_it(self, data, tmp_path):
        x, y = data
        callbacks = [
            AssessmentCallback(x[150:], y[150:], metrics=["reported_geometric_accuracy"], resamples=0),
            keras.callbacks.EarlyStopping("val_reported_geometric_accuracy", mode="max", patience=2),
            keras.callbacks.ModelCheckpoint(
                tmp_path / "best.keras", "val_reported_geometric_accuracy", mode="max", save_best_only=True
            ),
        ]
        _, history = self.fitted((x[:20], y[:20]), callbacks, epochs=300)
        found = history.history["val_reported_geometric_accuracy"]
        assert len(found) < 300
        best = keras.saving.load_model(tmp_path / "best.keras")
        told = assess(y[150:], best.predict(x[150:], verbose=0), resamples=0).reported.geometric_accuracy
        assert told == pytest.approx(max(found), rel=1e-6)

    def test_early_stopping_goes_by_the_loss_after_the_best_temperature(self, data):
        x, y = data
        callback = AssessmentCallback(x, y, metrics=["refinement_loss"], resamples=0, sample_weight=np.arange(300))
        stopping = keras.callbacks.EarlyStopping("val_refinement_loss", mode="min", patience=2)
        model, history = self.fitted((x[:150], y[:150]), [callback, stopping], epochs=3)
        expected = refinement_loss(y, model.predict(x, verbose=0), sample_weight=np.arange(300))
        assert history.history["val_refinement_loss"][-1] == pytest.approx(expected, abs=1e-6)

    def test_batches_and_two_classes(self, data):
        x, y = data[0], data[1] % 2
        batches = [(x[at : at + 50], y[at : at + 50]) for at in range(0, 300, 50)]
        for given in ((x, y), (x, y[:, None]), (batches,)):
            callback = AssessmentCallback(*given, metrics=["log_loss"], resamples=0)
            model, history = self.fitted((x, y), [callback], classes=1)
            p = model.predict(x, verbose=0)[:, 0].astype(float)
            assert history.history["val_log_loss"][-1] == pytest.approx(row_scores(y, p, "log_loss").mean(), rel=1e-5)

    def test_weights_of_batches(self, data, rng):
        x, y = data
        w = rng.uniform(size=300)
        batches = [(x[at : at + 50], y[at : at + 50], w[at : at + 50]) for at in range(0, 300, 50)]
        for callback in (
            AssessmentCallback(batches, metrics="log_loss", resamples=0),
            AssessmentCallback(x, y, sample_weight=w, metrics="log_loss", resamples=0),
        ):
            model, history = self.fitted(data, [callback])
            expected = log_loss(y, model.predict(x, verbose=0), sample_weight=w, labels=range(3))
            assert history.history["val_log_loss"][-1] == pytest.approx(expected, rel=1e-5)

    def test_data_sets_of_other_kinds(self, data):
        class Halves(keras.utils.PyDataset):
            def __len__(self):
                return 2

            def __getitem__(self, at):
                return data[0][at::2], data[1][at::2]

        tensors = torch.utils.data.TensorDataset(*(torch.tensor(part) for part in data))
        for given in (Halves(), torch.utils.data.DataLoader(tensors, batch_size=90)):
            callback = AssessmentCallback(given, metrics="log_loss", resamples=0)
            model, history = self.fitted(data, [callback])
            expected = log_loss(data[1], model.predict(data[0], verbose=0), labels=range(3))
            assert history.history["val_log_loss"][-1] == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
    def test_half_precision(self, data, dtype):
        x, y = data
        dense = keras.layers.Dense(1, activation="sigmoid", dtype=dtype)
        model = keras.Sequential([keras.Input((5,)), dense])
        model.compile("adam", BrierLoss())
        callback = AssessmentCallback(x, y % 2, metrics="log_loss", resamples=0)
        found = model.fit(x, y % 2, verbose=0, callbacks=[callback]).history["val_log_loss"][-1]
        assert 0.1 < found < 3

    def test_of_a_model_that_has_diverged_figures_are_nan(self, data):
        x, y = data
        callback = AssessmentCallback(x, y, metrics=["log_loss", "averages_slope"], resamples=0)
        model, _ = self.fitted(data, [callback])
        model.layers[0].set_weights([np.full((5, 3), np.nan), np.zeros(3)])
        logs = {}
        with pytest.warns(UserWarning, match="some predictions are NaN"):
            callback.on_epoch_end(0, logs)
        assert np.isnan([logs["val_log_loss"], logs["val_averages_slope"]]).all()
        assert callback.assessment is None

    def test_what_cannot_be_assessed_is_said_at_once(self, data):
        for given in (iter([data]), data, lambda: iter([data])):
            with pytest.raises(InputError, match="x: without y, expected batches that can be gone through again"):
                AssessmentCallback(given)
        with pytest.raises(InputError, match="metrics: no metric 'brier'"):
            AssessmentCallback(*data, metrics=["brier"])
        with pytest.raises(InputError, match="magic"):
            AssessmentCallback(*data, measured="magic")
        inputs = keras.Input((5,))
        model = keras.Model(inputs, [keras.layers.Dense(3)(inputs), keras.layers.Dense(3)(inputs)])
        callback = AssessmentCallback(*data)
        callback.set_model(model)
        with pytest.raises(InputError, match="the model has several outputs"):
            callback.on_epoch_end(0)

    def test_batches_that_do_not_fit_together_are_refused(self, data):
        x, y = data
        inputs = keras.Input((5,))
        one, two = keras.layers.Dense(3, activation="softmax")(inputs), keras.layers.Dense(3)(inputs)
        parts = [(x[:50], y[:50]), (x[50:], y[50:])]
        for batches, model, message in (
            ([], keras.Model(inputs, one), "x: no batches"),
            (
                [(*parts[0], np.ones(50)), parts[1]],
                keras.Model(inputs, one),
                "x: some batches have weights, others none",
            ),
            (parts, keras.Model(inputs, [one, two]), "the model has several outputs"),
        ):
            callback = AssessmentCallback(batches)
            callback.set_model(model)
            with pytest.raises(InputError, match=message):
                callback.on_epoch_end(0)

    def test_predictions_for_many_places(self, rng):
        x, y = rng.normal(size=(20, 6, 5)).astype(np.float32), rng.integers(0, 3, (20, 6))
        model = keras.Sequential([keras.Input((6, 5)), keras.layers.Dense(3, activation="softmax")])
        callback = AssessmentCallback(x, y, resamples=0)
        callback.set_model(model)
        callback.on_epoch_end(0)
        assert callback.assessment.n_rows == 120


@pytest.mark.parametrize(("figure", "better"), [("geometric_accuracy", np.greater), ("penalized_log_loss", np.less)])
def test_callbacks_need_no_mode(figure, better):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, activation="softmax")])
    model.compile("sgd", BrierLoss(), metrics=[ForecastMetric(figure)])
    model.fit(np.ones((4, 2)), np.array([0, 1, 0, 1]), verbose=0)
    stopping = keras.callbacks.EarlyStopping(f"val_{figure}")
    stopping.set_model(model)
    stopping._set_monitor_op()
    assert bool(stopping.monitor_op(2, 1)) == bool(better(2, 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PowerLoss(-1), "r: the order must be a finite number above -1"),
        (lambda: ForecastMetric("slope"), "metric: no metric 'slope'. Known: decisiveness, "),
        (lambda: ForecastMetric(floor=2), "floor: expected a probability"),
        (lambda: ForecastMetric("log_loss", variant="published-code"), "variant: 'log_loss' has one variant"),
        (lambda: ForecastMetric("penalized_log_loss", variant="old"), "variant: "),
        (lambda: RiskLoss(robustness=-1), "robustness: expected a weight of at least 0"),
        (lambda: BrierLoss(label_smoothing=2), "label_smoothing: expected a share"),
        (lambda: BrierLoss()(np.zeros((4, 2, 2)), np.ones((4, 3)) / 3), "y_true: expected numbers of classes"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


if keras.backend.backend() != "jax" and find_spec("jax"):

    @pytest.mark.slow
    def test_all_of_it_on_jax():
        environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
        # But for the descents, whose gradients the others compare, for what is the same for each loss or is refused
        # before there are tensors, and for what the callback makes of probabilities that have left the backend.
        others = "not minimum and not far_out and not saved and not kinds_of_targets and not early_stopping"
        others += " and not other_kinds and not weights_of_batches and not diverged and not bad_input"
        others += " and not (those_of_the_functions and False) and not bfloat16 and not said_at_once"
        others += " and not batches_and_two_classes"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", others]
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert run.returncode == 0, run.stdout[-3000:]


@pytest.mark.parametrize(("former", "now"), [("from_logits", 'scale="logits"'), ("figures", "metrics=")])
@pytest.mark.parametrize("made", [ForecastMetric, partial(AssessmentCallback, [])])
def test_former_names_are_refused_with_those_of_today(made, former, now):
    with pytest.raises(TypeError, match=f"{former}.*did you mean {now}"):
        made(**{former: True})


def outcome(of, *given, **named):
    """What a call gives, or what it is refused with."""
    try:
        found = of(*given, **named)
    except InputError as error:
        return f"refused: {error}"
    return ops.convert_to_numpy(found) if keras.ops.is_tensor(found) else found


def case(z, y):
    p = softmax(z).astype(np.float32)
    shares = softmax(np.roll(z, 1, axis=0)).astype(np.float32)
    return {
        "logits": (y, z, {"from_logits": True}, {}),
        "probabilities": (y, p, {}, {}),
        "each": (y, p, {"reduction": None}, {}),
        "sum": (y, p, {"reduction": "sum"}, {}),
        "smoothed": (y, p, {"label_smoothing": 0.2}, {}),
        "one hot": (np.eye(4, dtype=np.float32)[y], p, {}, {}),
        "shares": (shares, p, {}, {}),
        "a column": (y[:, None], p, {}, {}),
        "weights": (y, p, {}, {"sample_weight": np.arange(len(y), dtype=np.float32)}),
        "half": (y, p.astype(np.float16), {}, {}),
        "half logits": (y, 20 * z.astype(np.float16), {"from_logits": True}, {}),
        "zeros": (y, np.eye(4, dtype=np.float32)[(y + 1) % 4], {"reduction": None}, {}),
        "two": (y % 2, p[:, :1], {"reduction": None}, {}),
        "two as shares": (p[:, 1:2], p[:, :1], {"reduction": None}, {}),
        "two logits": (y % 2, z[:, :1], {"from_logits": True}, {}),
        "first axis": (np.stack([y, y], 1), np.stack([p, p], 2), {"axis": 1, "reduction": None}, {}),
        "out of range": (y + 3, p, {"reduction": None}, {}),
        "shape": (np.zeros((len(y), 3, 2)), p, {}, {}),
        "smoothing": (y, p, {"label_smoothing": -0.1}, {}),
    }


@pytest.mark.parametrize("name", EVERY)
def test_losses_with_every_option(rows, name):
    """Beside those that are kept."""
    z, y = (each[:12] for each in rows)
    found = {}
    for key, (y_true, y_pred, settings, given) in case(z, y).items():
        found[key] = outcome(
            lambda s=settings, y_true=y_true, y_pred=y_pred, g=given: EVERY[name](**s)(y_true, y_pred, **g)
        )
    config = {key: value for key, value in EVERY[name]().get_config().items() if key != "dtype"}
    same_as_kept(KEPT, f"keras {name}", (found, config))


def test_metrics_with_every_option(rows):
    z, y = (each[:12] for each in rows)
    p, found = softmax(z).astype(np.float32), {}
    names = (
        "geometric_accuracy",
        "decisiveness",
        "robustness",
        "prediction_accuracy",
        "brier_score",
        "log_loss",
        "penalized_brier_score",
    )
    for name in names:
        for key, settings in {
            "plain": {},
            "floor": {"floor": 0.2},
            "no floor": {"floor": 0},
            "published": {"variant": "published"},
        }.items():

            def counted(name=name, settings=settings):
                metric = ForecastMetric(name, **settings)
                before = float(metric.result())
                metric.update_state(y, p)
                metric.update_state(y[:5], p[:5], np.array([0, 1, 2, 0.5, 3], np.float32))
                return before, float(metric.result()), metric.get_config()["metric"]

            found[f"{name} {key}"] = outcome(counted)
    found["unknown"] = outcome(ForecastMetric, "accuracy")
    found["way"] = outcome(ForecastMetric, variant="other")
    logits = ForecastMetric(scale="logits")
    logits.update_state(y, z)
    logits.update_state(np.stack([y, y], 1), np.stack([z, z], 1), np.arange(12, dtype=np.float32)[:, None])
    found["logits"] = float(logits.result())
    many = ForecastMetric("brier_score")
    for _ in range(300):
        many.update_state(y, p, np.full(12, 1e6 / 3, np.float32))
    known = np.mean(brier_score(y, p.astype(float), labels=range(4)))
    assert float(many.result()) == pytest.approx(known, rel=3e-7)  # what each sum rounds off is kept
    same_as_kept(KEPT, "keras metrics", found)
