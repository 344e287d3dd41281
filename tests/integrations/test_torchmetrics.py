"""The metric of PyTorch: figures of `assess`, whatever the batches, shapes and processes; counts that stay exact."""

import pickle
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributed
from torchmetrics import MetricCollection, MetricTracker
from torchmetrics.classification import MulticlassAccuracy

from kept import same_as_kept
from unperplexed import SCORES, InputError, Tally, assess, diagnose, refinement_loss
from unperplexed.integrations.metrics import HEADLINE
from unperplexed.integrations.torchmetrics import ForecastMetric

KEPT = Path(__file__).with_name("torchmetrics.json")


def forecasts(n, classes, seed=1, dtype=torch.float64):
    """Logits that are too sure, and what happened."""
    generator = torch.Generator().manual_seed(seed)
    z = 2 * torch.randn(n, classes, generator=generator, dtype=torch.float64)
    y = torch.multinomial(torch.softmax(0.7 * z, dim=1), 1, generator=generator).squeeze(1)
    return z.to(dtype), y


def in_batches(metric, *columns, size=300):
    for batch in zip(*(column.split(size) for column in columns), strict=True):
        metric.update(*batch)
    return metric


def assert_same(metric, expected, **tolerance):
    found = metric.assessment(resamples=0).metrics()
    assert found == pytest.approx(expected.metrics(), nan_ok=True, **({"rel": 1e-12} | tolerance))


def assert_tables(found, expected):
    """All columns of the tables of both views, and of two classes by outcome, are the same, and in the same cells."""
    tables = [(tally._table("all-classes"), tally._table("top-label")) for tally in (found, expected)]
    assert (found.binary is not None) == (expected.n_classes == 2)
    if found.binary is not None:
        binary = [(tally.binary.negative, tally.binary.positive) for tally in (found, expected)]
        tables = [here + rows for here, rows in zip(tables, binary, strict=True)]
    for one, other in zip(*tables, strict=True):
        np.testing.assert_array_equal(one.key, other.key)
        for column in fields(one)[1:]:
            np.testing.assert_allclose(getattr(one, column.name), getattr(other, column.name), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 10, 300])
@pytest.mark.parametrize("view", ["all-classes", "top-label"])
class TestFigures:
    def test_those_of_the_tally_in_cells(self, classes, view):
        z, y = forecasts(2000, classes)
        p = torch.softmax(z, dim=1)
        p[:40] = 1 / classes
        p[40:60] = 0
        p[40:60, :2] = 0.5
        p[60:70] = torch.nn.functional.one_hot(y[60:70], classes).double()
        metric = in_batches(ForecastMetric(view=view), p, y)
        tally = Tally.of(y.numpy(), p.numpy(), labels=range(classes), exact_limit=0)
        near = 1e-9 if classes == 2 else 1e-12  # of two classes the other's scores are read off cells
        assert_same(metric, assess(tally, view=view, resamples=0), rel=near)
        assert_tables(metric.tally(), tally)
        mine = metric.tally()
        for name in SCORES:
            expected = tally.score_standard_error(name)
            assert mine.score_standard_error(name) == pytest.approx(expected, rel=1e-9, nan_ok=True)

    def test_those_of_the_rows(self, classes, view):
        """Reported figures and scores to 1e-6; measured ones as closely as cells tell."""
        z, y = forecasts(2000, classes, dtype=torch.float32)
        metric = in_batches(ForecastMetric(view=view, scale="logits"), z, y)
        exact = assess(y.numpy(), z.double().softmax(dim=1).numpy(), labels=range(classes), view=view, resamples=0)
        found = metric.assessment(resamples=0).metrics()
        for name, value in exact.metrics().items():
            near = 1e-6 if not name.startswith(("measured", "averages_slope", "orient", "diverg")) else 0.02
            assert found[name] == pytest.approx(value, rel=near, nan_ok=True), name


class TestShapes:
    def test_one_column_is_the_second_class(self):
        z, y = forecasts(500, 2)
        difference = z[:, 1] - z[:, 0]
        both = in_batches(ForecastMetric(scale="logits"), z, y)
        for one in (difference, difference.unsqueeze(1)):
            assert_same(in_batches(ForecastMetric(scale="logits"), one, y), both.assessment(resamples=0), rel=1e-6)
            assert_same(in_batches(ForecastMetric(), torch.sigmoid(one), y), both.assessment(resamples=0), rel=1e-6)

    def test_classes_in_the_second_place(self):
        z, y = forecasts(600, 5)
        images = z.reshape(10, 6, 10, 5).movedim(-1, 1)
        metric = ForecastMetric(scale="logits")
        metric.update(images, y.reshape(10, 6, 10))
        assert_same(metric, in_batches(ForecastMetric(scale="logits"), z, y).assessment(resamples=0))

    def test_one_column_of_an_image(self):
        z, y = forecasts(600, 2)
        metric = ForecastMetric(scale="logits")
        metric.update((z[:, 1] - z[:, 0]).reshape(10, 1, 6, 10), y.reshape(10, 6, 10))
        both = in_batches(ForecastMetric(scale="logits"), z, y)
        assert_same(metric, both.assessment(resamples=0), rel=1e-6)

    def test_infinite_logits_of_one_column_are_certain(self):
        metric = ForecastMetric("prediction_accuracy", scale="logits")
        metric.update(torch.tensor([np.inf, -np.inf, 0.0]), torch.tensor([1, 1, 0]))
        assert metric.compute().item() == 0.5
        assert metric.tally().score("brier_score") == pytest.approx((0 + 2 + 0.5) / 3)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_one_column_in_half_precision(self, dtype):
        """As `assess` takes the same numbers: what is left to the other class is not rounded once more."""
        p = torch.linspace(0.001, 0.999, 500).to(dtype)
        y = (torch.arange(500) % 3 == 0).long()
        metric = ForecastMetric()
        metric.update(p, y)
        assert_same(metric, assess(Tally.of(y.numpy(), p.float().numpy(), exact_limit=0), resamples=0), rel=1e-9)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    def test_half_precision(self, dtype):
        """Rows are taken as they are: cells, and what 1 - p of them is, do not depend on a wider type."""
        p, y = torch.tensor([[0.75, 0.25], [0.125, 0.875], [0.5, 0.5]]), torch.tensor([0, 0, 1])
        metric = ForecastMetric()
        metric.update(p.to(dtype), y)
        assert_same(metric, assess(Tally.of(y.numpy(), p.numpy(), exact_limit=0), resamples=0))


class TestCounts:
    def test_weights_and_what_is_ignored(self):
        z, y = forecasts(900, 4)
        y[::7] = -1
        w = torch.rand(900, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        w[::5] = 0
        metric = in_batches(ForecastMetric(scale="logits", ignore_index=-1), z, y, w)
        kept = (y >= 0).numpy()
        p = torch.softmax(z, dim=1).numpy()[kept]
        tally = Tally.of(y.numpy()[kept], p, sample_weight=w.numpy()[kept], labels=range(4), exact_limit=0)
        assert_same(metric, assess(tally, resamples=0))
        assert_tables(metric.tally(), tally)
        assert metric.tally().notes.ignored == int((~kept).sum())
        assert metric.tally().effective_rows == pytest.approx(tally.effective_rows)

    @pytest.mark.parametrize("w", [-1.0, np.nan, np.inf])
    def test_weights_that_are_none(self, w):
        metric = ForecastMetric()
        metric.update(torch.tensor([[0.5, 0.5], [0.25, 0.75]]), torch.tensor([0, 1]), torch.tensor([1.0, w]))
        with pytest.raises(InputError, match="1 of 2 rows .* weight out of range"):
            metric.compute()

    @pytest.mark.parametrize("at_once", [1, 7, 64])
    def test_large_batches_are_counted_piece_by_piece(self, monkeypatch, at_once):
        z, y = forecasts(100, 3)
        whole = in_batches(ForecastMetric(scale="logits"), z, y)
        monkeypatch.setattr("unperplexed.integrations.torchmetrics._AT_ONCE", at_once)
        assert_same(in_batches(ForecastMetric(scale="logits"), z, y), whole.assessment(resamples=0))

    def test_cells_at_the_edges(self):
        """Of 0, 1, 1/2, subnormal numbers and what is next to them."""
        ends = [0.0, 1e-310, 1e-45, 1e-38, 2.0**-20, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 0.75]
        p = np.array([*ends, np.nextafter(1, 0), 1.0])
        p = np.stack([p, 1 - p], axis=1)
        y = np.arange(len(p)) % 2
        metric = ForecastMetric()
        metric.update(torch.tensor(p), torch.tensor(y))
        assert_tables(metric.tally(), Tally.of(y, p, exact_limit=0))

    @pytest.mark.slow
    def test_many_equal_rows_stay_exact(self):
        """In float32 counts would stop at 2**24."""
        metric = ForecastMetric(("prediction_accuracy", "measured_decisiveness", "log_loss"), measured="isotonic")
        p = torch.tensor([[0.05, 0.95]]).expand(1000, 2)
        y = (torch.arange(1000) % 10 > 0).long()
        metric.update(p, y)
        for name in ("counts", "sums", "weights", "rows"):  # as after 20 million rows
            getattr(metric, name).mul_(20_000)
        metric.update(p, y)
        found = metric.compute()
        assert metric.tally().n_rows == 20_001_000
        assert found["prediction_accuracy"].item() == 0.9
        assert found["measured_decisiveness"].item() == pytest.approx(0.9**2 + 0.1**2, rel=1e-12)
        told = assess(y.numpy(), p.numpy(), resamples=0)
        assert found["log_loss"].item() == pytest.approx(told.scores["log_loss"], rel=1e-12)

    def test_tallies_add_up_with_others(self):
        z, y = forecasts(800, 3)
        p = torch.softmax(z, dim=1)
        first = in_batches(ForecastMetric(), p[:500], y[:500]).tally()
        second = Tally.of(y[500:].numpy(), p[500:].numpy(), labels=range(3), exact_limit=0)
        whole = Tally.of(y.numpy(), p.numpy(), labels=range(3), exact_limit=0)
        assert assess(first + second, resamples=0).metrics() == pytest.approx(
            assess(whole, resamples=0).metrics(), rel=1e-12
        )


class TestTwoClasses:
    """Rows are counted by their outcome too: the each-class view and the diagnosis are those of a tally in cells."""

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("one_column", [False, True])
    def test_rows_by_outcome(self, weighted, one_column):
        z, y = forecasts(3000, 2)
        p = torch.sigmoid(z[:, 0] + 1)
        p[:30], p[30:40], p[40:50] = 0.5, 0, 1
        p = p if one_column else torch.stack([1 - p, p], dim=1)
        y[::11] = -1
        w = torch.rand(3000, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        w[::5] = 0
        metric = in_batches(ForecastMetric(ignore_index=-1), p, y, *([w] if weighted else []))
        kept = (y >= 0).numpy()
        weights = w.numpy()[kept] if weighted else None
        tally = Tally.of(y.numpy()[kept], p.numpy()[kept], labels=(0, 1), sample_weight=weights, exact_limit=0)
        assert_tables(metric.tally(), tally)
        found, expected = metric.assessment(resamples=0), assess(tally, resamples=0)
        assert found.view == expected.view == "each-class"
        assert found.metrics() == pytest.approx(expected.metrics(), rel=1e-9)  # the other's scores are read off cells
        assert found.diagnosis.errors == expected.diagnosis.errors != ()
        assert found.verdict == expected.verdict
        assert found.diagnosis.p_value == pytest.approx(expected.diagnosis.p_value, rel=1e-9)
        np.testing.assert_allclose(found.curve.measured, expected.curve.measured, rtol=1e-9)

    def test_the_verdict_is_that_of_the_rows(self):
        z, y = forecasts(4000, 2)
        found = in_batches(ForecastMetric(scale="logits"), z, y).assessment(resamples=0)
        rows = diagnose(y.numpy(), z.softmax(dim=1).numpy())
        assert found.diagnosis.errors == rows.errors == ("confidence",)
        assert found.diagnosis.findings[0].parameter == pytest.approx(rows.findings[0].parameter, rel=0.01)

    def test_merged_saved_and_loaded(self):
        z, y = forecasts(1000, 2)
        whole = in_batches(ForecastMetric(scale="logits"), z, y)
        first, second = (in_batches(ForecastMetric(scale="logits"), z[s], y[s]) for s in (slice(700), slice(700, None)))
        first.merge_state(second)
        assert_tables(first.tally(), whole.tally())
        assert first.assessment(resamples=0).verdict == whole.assessment(resamples=0).verdict
        tally = whole.tally()
        assert_tables(Tally.from_bytes(tally.to_bytes()), tally)
        assert_tables(pickle.loads(pickle.dumps(whole)).tally(), tally)

    def test_each_class_figures_are_logged(self):
        z, y = forecasts(1000, 2)
        names = ("measured_geometric_accuracy", "averages_slope")
        found = {}
        for view in ("auto", "each-class", "all-classes"):
            metric = in_batches(ForecastMetric(names, scale="logits", view=view), z, y)
            found[view] = {name: value.item() for name, value in metric.compute().items()}
        assert found["auto"] == found["each-class"] != found["all-classes"]

    def test_of_more_classes_the_rows_are_needed(self):
        metric = in_batches(ForecastMetric(scale="logits"), *forecasts(300, 3))
        assert metric.tally().binary is None
        assert not metric.counts[2:].any()
        found = metric.assessment(resamples=0)
        assert (found.view, found.diagnosis.made) == ("all-classes", False)
        assert 'needs the part "diagnosis"' in found.verdict
        with pytest.raises(InputError, match="view: counts of each of 3 classes are not kept"):
            metric.assessment(view="each-class")

    @pytest.mark.parametrize("weighted", [False, True])
    def test_more_classes_are_diagnosed_as_by_a_tally(self, weighted):
        z, y = forecasts(3000, 5)
        p, w = torch.softmax(z, dim=1), torch.linspace(0, 2, 3000).double()
        given = (w,) if weighted else ()
        metric = in_batches(ForecastMetric(classes=5), p, y, *given)
        whole = Tally.of(y.numpy(), p.numpy(), sample_weight=w.numpy() if weighted else None, parts=["diagnosis"])
        found, expected = metric.assessment(resamples=0).diagnosis, diagnose(whole)
        assert found.made
        assert (found.errors, found.headline) == (expected.errors, expected.headline)
        assert found.p_value == pytest.approx(expected.p_value, rel=1e-6)
        two = [in_batches(ForecastMetric(classes=5), p[here], y[here], *(x[here] for x in given))
               for here in (slice(0, 900), slice(900, None))]  # fmt: skip
        two[0].merge_state(two[1])
        for name in ("high", "low"):
            np.testing.assert_array_equal(*(getattr(m.tally().diagnosis, name) for m in (metric, two[0])))
        for name in ("key", "count", "cells"):
            np.testing.assert_array_equal(*(getattr(m.tally().row_sample, name) for m in (metric, two[0])))
        stepped = ForecastMetric(classes=5)
        for step in range(3):
            here = slice(1000 * step, 1000 * step + 1000)
            stepped(p[here], y[here], *(x[here] for x in given))
        np.testing.assert_array_equal(stepped.tally().row_sample.key, metric.tally().row_sample.key)
        assert not in_batches(ForecastMetric(classes=5), p, y).tally().diagnosis.rest.any()
        metric.reset()
        assert not metric.class_sums.any()

    @pytest.mark.parametrize(("bits", "megabytes"), [(7, 8), (9, 33)])
    def test_memory(self, bits, megabytes):
        state = ForecastMetric(fraction_bits=bits).metric_state.values()
        assert sum(x.numel() * x.element_size() for x in state) == pytest.approx(megabytes * 1e6, rel=0.05)


class TestContract:
    def test_merged_states_are_the_whole(self):
        z, y = forecasts(1000, 4)
        whole = in_batches(ForecastMetric(scale="logits"), z, y)
        first, second = (in_batches(ForecastMetric(scale="logits"), z[s], y[s]) for s in (slice(600), slice(600, None)))
        first.merge_state(second)
        assert torch.equal(first.counts[:, :2], whole.counts[:, :2])
        assert_same(first, whole.assessment(resamples=0))

    def test_of_other_classes_or_cells_none_is_merged(self):
        first, second = (in_batches(ForecastMetric(scale="logits"), *forecasts(20, c)) for c in (3, 4))
        first.merge_state(second)
        with pytest.raises(InputError, match="preds: of 4 classes and of 3; they do not add up"):
            first.compute()
        with pytest.raises(InputError, match="fraction_bits: 7 and 9 do not add up"):
            ForecastMetric().merge_state(ForecastMetric(fraction_bits=7))

    def test_forward_gives_the_batch_and_keeps_the_whole(self):
        z, y = forecasts(400, 3)
        metric = ForecastMetric("log_loss", scale="logits")
        parts = [metric(z[s], y[s]).item() for s in (slice(100), slice(100, 400))]
        assert parts[0] == pytest.approx(torch.nn.functional.cross_entropy(z[:100], y[:100]).item(), rel=1e-12)
        assert metric.compute().item() == pytest.approx((parts[0] + 3 * parts[1]) / 4, rel=1e-12)
        metric.reset()
        assert metric.rows.sum() == 0

    def test_in_a_collection(self):
        z, y = forecasts(300, 3)
        metrics = MetricCollection({"forecasts": ForecastMetric(), "accuracy": MulticlassAccuracy(3, average="micro")})
        metrics.update(torch.softmax(z, dim=1), y)
        found = metrics.compute()
        assert {*HEADLINE, "accuracy"} == {*found}
        assert found["prediction_accuracy"].item() == pytest.approx(found["accuracy"].item())
        assert all(found[name].dtype == torch.float64 for name in HEADLINE)

    def test_states_keep_their_precision(self):
        metric = in_batches(ForecastMetric(scale="logits"), *forecasts(100, 3)).half().bfloat16().float()
        torch.nn.ModuleList([metric]).to(torch.bfloat16)
        metric.set_dtype(torch.float32)
        assert {state.dtype for state in metric.metric_state.values()} == {torch.float64, torch.int64}
        copy = pickle.loads(pickle.dumps(metric))
        assert_same(copy, metric.assessment(resamples=0))
        metric.persistent(mode=True)
        other = ForecastMetric(scale="logits")
        other.load_state_dict(metric.state_dict())
        assert_same(other, metric.assessment(resamples=0))

    def test_which_values_are_better(self):
        better = {"log_loss": False, "measured_robustness": True, "prediction_accuracy": True, "averages_slope": None}
        assert {name: ForecastMetric(name).higher_is_better for name in better} == better
        assert ForecastMetric(["log_loss"]).higher_is_better is None
        tracker = MetricTracker(ForecastMetric("log_loss", scale="logits"))
        for n in (50, 100, 150):
            tracker.increment()
            tracker.update(*forecasts(n, 3))
        assert tracker.best_metric() == min(tracker.compute_all())

    def test_the_assessment_is_that_of_the_latest_computation(self):
        z, y = forecasts(300, 3)
        metric = in_batches(ForecastMetric(scale="logits"), z[:200], y[:200])
        metric.compute()
        metric.whole += Tally.of(y[200:].numpy(), z[200:].softmax(dim=1).numpy(), labels=range(3), exact_limit=0)
        assert metric.assessment().n_rows == 300  # what other processes counted as well
        metric.update(z[:50], y[:50])
        assert metric.assessment().n_rows == 250

    def test_picture(self):
        figure, ax = in_batches(ForecastMetric(scale="logits"), *forecasts(200, 3)).plot()
        assert ax.figure is figure


def diagnosed(classes):
    """A metric that diagnoses so many classes."""
    return ForecastMetric(scale="logits", classes=classes if classes > 2 else None)


def of_a_process(rank, folder):
    """One of two processes that count a part of the rows each; the second has a few rows only."""
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    mine = slice(0, 900) if rank == 0 else slice(900, 1000)
    for classes in (2, 4):
        z, y = forecasts(1000, classes)
        metric = in_batches(diagnosed(classes), z[mine], y[mine])
        found = {name: value.item() for name, value in metric.compute().items()}
        verdict = metric.assessment(resamples=0).verdict
        torch.save((found, metric.counts, verdict), f"{folder}/{rank}-{classes}.pt")
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_two_processes_are_the_whole(tmp_path):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a fork has none of the threads of the process, and would wait for them
    try:
        torch.multiprocessing.start_processes(of_a_process, (str(tmp_path),), nprocs=2, start_method="fork")
    finally:
        torch.set_num_threads(threads)
    for classes in (2, 4):
        whole = in_batches(diagnosed(classes), *forecasts(1000, classes))
        assert whole.assessment(resamples=0).diagnosis.made
        expected = {name: value.item() for name, value in whole.compute().items()}
        for rank in (0, 1):
            found, own, verdict = torch.load(tmp_path / f"{rank}-{classes}.pt")
            assert found == pytest.approx(expected, rel=1e-12)
            assert own.sum() < whole.counts.sum()  # its own counts again after the sum was taken
            assert verdict == whole.assessment(resamples=0).verdict


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([[0.5, 0.6]], [0]),
        ([[-0.1, 1.1]], [0]),
        ([[0.5, 0.5]], [2]),
        ([[3.0, -1.0]], [0]),
    ],
)
def test_invalid_rows_are_refused_when_asked_for_figures(p, y):
    metric = ForecastMetric()
    metric.update(torch.tensor([[0.5, 0.5]]), torch.tensor([1]))
    metric.update(torch.tensor(p), torch.tensor(y))
    with pytest.raises(InputError, match="1 of 2 rows hold what is no probability"):
        metric.compute()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForecastMetric("accuracy"), "metrics: no metric 'accuracy'. Known: auc, averages_slope, brier_score"),
        (lambda: ForecastMetric(view="each"), "view"),
        (lambda: ForecastMetric(floor=2), "floor"),
        (lambda: ForecastMetric(measured="magic"), "magic"),
        (lambda: ForecastMetric(fraction_bits=2), "fraction_bits"),
        (lambda: ForecastMetric(classes=2), "classes: more than two classes"),
        (
            lambda: ForecastMetric(classes=4).update(torch.ones(2, 3) / 3, torch.tensor([0, 1])),
            "preds: 3 classes, where the metric has classes=4",
        ),
        (lambda: ForecastMetric().update(torch.zeros(3, 2), torch.zeros(4, dtype=torch.int64)), "preds, target"),
        (lambda: ForecastMetric().update(torch.zeros(3, 2), torch.zeros(3)), "preds, target"),
        (
            lambda: ForecastMetric().update(torch.ones(2, 2) / 2, torch.tensor([0, 1]), torch.ones(3)),
            "sample_weight: expected one for each of 2 targets, got 3",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_of_a_model_that_has_diverged_figures_are_nan():
    metric = ForecastMetric("log_loss", scale="logits")
    metric.update(torch.tensor([[0.5, 0.5], [np.nan, 0.5]]), torch.tensor([0, 1]))
    with pytest.warns(UserWarning, match="1 rows of predictions are NaN"):
        assert metric.compute().isnan()
    with pytest.raises(InputError, match="1 of 2 rows have a NaN or infinite logit"):
        metric.assessment()
    metric.reset()
    assert in_batches(metric, *forecasts(10, 3)).compute().isfinite()


def test_of_batches_without_rows_figures_are_nan():
    metric = ForecastMetric("log_loss", scale="logits", ignore_index=-1)
    assert metric(torch.zeros(2, 3), torch.tensor([-1, -1])).isnan()
    assert metric(torch.zeros(2, 3), torch.tensor([-1, 1])).item() == pytest.approx(np.log(3))


def test_other_numbers_of_classes_are_refused_until_reset():
    metric = ForecastMetric(scale="logits")
    metric.update(*forecasts(10, 3))
    metric.update(*forecasts(10, 4))
    with pytest.raises(InputError, match="preds: of 4 classes and of 3; they do not add up"):
        metric.compute()
    metric.reset()
    metric.update(*forecasts(10, 4))
    assert metric.tally().n_classes == 4


def test_nothing_counted():
    with pytest.raises(InputError):
        ForecastMetric().assessment()


@pytest.mark.parametrize("classes", [2, 5])
def test_refinement_is_the_loss_after_the_best_temperature(classes):
    z, y = forecasts(1000, classes)
    w = torch.rand(1000, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for given, scale in ((z, "logits"), (torch.softmax(z, dim=1), "probability")):
        metric = in_batches(ForecastMetric("refinement_loss", scale=scale), given, y, w)
        expected = refinement_loss(y.numpy(), torch.softmax(z, dim=1).numpy(), sample_weight=w.numpy())
        assert metric.compute().item() == pytest.approx(expected, abs=1e-5)
    assert metric.higher_is_better is False
    metric.merge_state(in_batches(ForecastMetric("refinement_loss"), given, y, w))
    assert metric.compute().item() == pytest.approx(expected, abs=1e-5)


def test_refinement_of_one_column_zeros_and_invalid_rows():
    z, y = forecasts(400, 2)
    one = ForecastMetric(["refinement_loss", "log_loss"], scale="logits")
    one.update(z[:, 1] - z[:, 0], y)
    expected = refinement_loss(y.numpy(), torch.softmax(z, dim=1).numpy())
    assert one.compute()["refinement_loss"].item() == pytest.approx(expected, abs=1e-5)
    zeros = ForecastMetric("refinement_loss")
    zeros.update(torch.tensor([[1.0, 0.0], [0.4, 0.6], [0.7, 0.3]]), torch.tensor([1, 1, 0]))
    assert np.isfinite(zeros.compute().item())
    nan = ForecastMetric("refinement_loss")
    nan.update(torch.tensor([[torch.nan, 0.5]]), torch.tensor([0]))
    with pytest.warns(UserWarning, match="NaN"):
        assert np.isnan(nan.compute().item())


def test_two_classes_in_any_shape():
    """As the binary metrics of torchmetrics take them: predictions of the shape of the targets."""
    p, y = torch.rand(6, 5, generator=torch.Generator().manual_seed(3)), torch.arange(30).reshape(6, 5) % 2
    flat, shaped = ForecastMetric("log_loss"), ForecastMetric("log_loss")
    flat.update(p.reshape(-1), y.reshape(-1))
    shaped.update(p, y)
    assert shaped.compute() == flat.compute()
    weighted = ForecastMetric("log_loss")
    weighted.update(p, y, sample_weight=torch.ones(6, 5))
    assert weighted.compute() == flat.compute()


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of scripts
def test_a_module_that_holds_it_is_scripted_and_saved(tmp_path):
    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.metric = torch.nn.Linear(4, 3), ForecastMetric(classes=3)

        def forward(self, x):
            return self.layer(x)

    model, x = Classifier(), torch.rand(5, 4)
    torch.jit.script(model).save(tmp_path / "model.pt")
    assert torch.equal(torch.jit.load(tmp_path / "model.pt")(x), model(x))
    model.metric.update(model(x).softmax(dim=1), torch.tensor([0, 1, 2, 0, 1]))
    assert model.metric.assessment().n_rows == 5


def test_metrics_of_calibration_are_those_of_the_assessment():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 400)
    y = rng.random(400) < p**2
    metric = ForecastMetric(["slope", "intercept", "ece", "auc", "log_loss"])
    metric.update(torch.tensor(p), torch.tensor(y.astype(int)))
    found, expected = metric.compute(), assess(y.astype(int), p, resamples=0)
    for name in ("slope", "intercept", "ece", "auc"):
        assert found[name].item() == pytest.approx(getattr(expected, name).value, rel=1e-3)


@pytest.mark.parametrize(("former", "now"), [("from_logits", 'scale="logits"'), ("figures", "metrics=")])
def test_former_names_are_refused_with_those_of_today(former, now):
    with pytest.raises(TypeError, match=f"{former}.*did you mean {now}"):
        ForecastMetric(**{former: True})


def test_other_scales_are_refused():
    with pytest.raises(InputError, match="scale: expected one of 'probability', 'logits', got 'percent'"):
        ForecastMetric(scale="percent")


COUNTED = {
    "two": (2, {}),
    "three": (3, {}),
    "three by class": (3, {"classes": 3}),
    "coarse": (3, {"fraction_bits": 4}),
    "logits": (3, {"scale": "logits"}),
    "ignored": (3, {"ignore_index": 1}),
    "other view": (3, {"view": "all-classes"}),
    "two in all": (2, {"view": "all-classes", "floor": 0.01}),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("weighted", [False, True])
def test_all_that_is_counted(name, weighted):
    """Beside what is kept."""
    classes, settings = COUNTED[name]
    z, y = forecasts(90, classes)
    x = z if "scale" in settings else torch.softmax(z, dim=1)
    if not settings:
        x[0], x[1] = 1 / classes, torch.nn.functional.one_hot(y[1], classes).double()
    names = [*HEADLINE, "slope", "intercept", "ece", "refinement_loss", "prediction_accuracy", "brier_score"]
    metric = ForecastMetric(names, **settings)
    w = torch.arange(90, dtype=torch.float64) / 9 if weighted else None
    for here in (slice(0, 50), slice(50, 90)):
        metric.update(x[here], y[here], None if w is None else w[here])
    other = ForecastMetric(names, **settings)
    other.update(x[:20], y[:20])
    values = {key: float(value) for key, value in metric.compute().items()}
    tally = metric.tally()
    metric.merge_state(other)
    both = {key: float(value) for key, value in metric.compute().items()}
    beside = (
        tally.n_rows,
        tally.n_weighing,
        tally.weight,
        tally.weight_squared,
        tally.weighted,
        tally.notes,
        tally.pairs_table,
    )
    same_as_kept(KEPT, f"torchmetrics {name} {weighted}", (values, both, beside))


def refused(of, *given):
    with pytest.raises(InputError) as found:
        of(*given)
    return str(found.value)


def test_what_cannot_be_counted():
    p, y = torch.full((4, 3), 1 / 3), torch.tensor([0, 1, 2, 0])
    found = [
        refused(ForecastMetric().update, p, y[:3]),
        refused(ForecastMetric().update, p.long(), y),
        refused(ForecastMetric().update, p, y.double()),
        refused(ForecastMetric().update, torch.tensor(0.5), torch.tensor(1)),
        refused(ForecastMetric().update, p, y, torch.ones(3)),
        refused(ForecastMetric(classes=4).update, p, y),
        refused(ForecastMetric, "accuracy"),
        refused(lambda: ForecastMetric(scale="odds")),
    ]
    for wrong in (p * 1.01, p * -1, p):
        metric = ForecastMetric()
        metric.update(wrong, y if wrong is not p else y + 2)
        metric.update(p, y, torch.tensor([1.0, -1.0, float("nan"), 0.0]))
        found.append(refused(metric.compute))
    mixed = ForecastMetric()
    mixed.update(p, y)
    mixed.update(torch.full((2, 4), 0.25), y[:2])
    found.append(refused(mixed.compute))
    near = ForecastMetric()
    near.update(p * 1.0009, y)
    assert near.tally().n_rows == 4
    same_as_kept(KEPT, "torchmetrics refused", found)


def test_a_model_that_has_diverged_is_named_to_who_computes():
    metric = ForecastMetric("brier_score")
    metric.update(torch.full((3, 2), float("nan")), torch.tensor([0, 1, 1]))
    with pytest.warns(UserWarning, match="3 rows of predictions are NaN") as heard:
        assert torch.isnan(metric.compute())
    assert {Path(each.filename).stem for each in heard} <= {"metric", "test_torchmetrics"}  # who called, not the metric
