"""The Lightning callback: what it logs is the assessment of the validation forecasts, and a checkpoint can go by it."""

from types import SimpleNamespace

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger, Logger
from matplotlib.figure import Figure
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

from unperplexed import InputError, Tally, assess, refinement_loss
from unperplexed.integrations.lightning import AssessmentCallback, _log_picture
from unperplexed.integrations.metrics import HEADLINE

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Lightning's advice on workers, and what it deprecates of its own
]


class Linear(pl.LightningModule):
    def __init__(self, returned="mapping"):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.returned = returned

    def training_step(self, batch, batch_idx):
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        z = self.layer(batch[0])
        return {"logits": z, "target": batch[1]} if self.returned == "mapping" else z

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(400, 4, generator=generator)
    y = (x @ torch.randn(4, 3, generator=generator) + torch.randn(400, 3, generator=generator)).argmax(dim=1)
    return TensorDataset(x[:200], y[:200]), TensorDataset(x[200:], y[200:])


def fitted(data, callbacks, tmp_path, model=None, logger=False, epochs=2):
    torch.manual_seed(2)
    model = model or Linear()
    trainer = pl.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        callbacks=callbacks,
        logger=logger,
        default_root_dir=tmp_path,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=any(isinstance(each, ModelCheckpoint) for each in callbacks),
    )
    train, test = (DataLoader(part, batch_size=64) for part in data)
    trainer.fit(model, train, test)
    return trainer, model


def test_it_logs_the_assessment(data, tmp_path):
    callback = AssessmentCallback("logits", scale="logits")
    trainer, model = fitted(data, [callback], tmp_path)
    x, y = data[1].tensors
    p = torch.softmax(model.layer(x).double(), dim=1).detach().numpy()
    expected = assess(Tally.of(y.numpy(), p, exact_limit=0), resamples=0).metrics()
    for name in HEADLINE:
        assert trainer.callback_metrics[f"val_{name}"].item() == pytest.approx(expected[name], rel=1e-5)
    assert callback.metric.whole.n_rows == 200
    assert not callback.metric.assessment().diagnosis.made  # of three classes the rows are needed


def test_checkpoints_and_early_stopping_go_by_it(data, tmp_path):
    checkpoint = ModelCheckpoint(tmp_path, monitor="val_reported_geometric_accuracy", mode="max")
    stopping = EarlyStopping("val_penalized_brier_score", mode="min", patience=3)
    figures = ("reported_geometric_accuracy", "penalized_brier_score")
    callback = AssessmentCallback("logits", scale="logits", metrics=figures)
    trainer, _ = fitted(data, [callback, checkpoint, stopping], tmp_path, epochs=40)
    assert checkpoint.best_model_score.item() >= trainer.callback_metrics["val_reported_geometric_accuracy"].item()
    assert stopping.best_score.item() <= trainer.callback_metrics["val_penalized_brier_score"].item()


def test_early_stopping_goes_by_the_loss_after_the_best_temperature(data, tmp_path):
    callback = AssessmentCallback("logits", scale="logits", metrics=["refinement_loss"], picture=False)
    stopping = EarlyStopping("val_refinement_loss", mode="min", patience=3)
    trainer, model = fitted(data, [callback, stopping], tmp_path, epochs=3)
    x, y = data[1].tensors
    expected = refinement_loss(y.numpy(), model.layer(x).double().detach().numpy(), scale="logits")
    assert trainer.callback_metrics["val_refinement_loss"].item() == pytest.approx(expected, abs=1e-5)
    assert stopping.best_score.item() >= expected - 1e-5


def test_functions_say_where_things_are(data, tmp_path):
    callback = AssessmentCallback(
        lambda outputs, batch: torch.softmax(outputs, dim=1),
        lambda outputs, batch: batch[1],
        metrics=["averages_slope"],
    )
    trainer, _ = fitted(data, [callback], tmp_path, Linear("tensor"))
    assert np.isfinite(trainer.callback_metrics["val_averages_slope"].item())


def test_each_loader_is_assessed_by_itself(data, tmp_path):
    class Two(Linear):
        def validation_step(self, batch, batch_idx, dataloader_idx=0):
            return super().validation_step(batch, batch_idx)

    logger = CSVLogger(tmp_path)
    callback = AssessmentCallback("logits", scale="logits", metrics="log_loss", prefix="val/")
    trainer = pl.Trainer(
        max_epochs=1, accelerator="cpu", callbacks=[callback], logger=logger, enable_progress_bar=False
    )
    model = Two()
    loaders = [DataLoader(part, batch_size=64) for part in (data[1], torch.utils.data.Subset(data[1], range(80)))]
    trainer.fit(model, DataLoader(data[0], batch_size=64), loaders)
    x, y = data[1].tensors
    for at, n in enumerate((200, 80)):
        assert callback.metrics[at].assessment().n_rows == n
        expected = torch.nn.functional.cross_entropy(model.layer(x[:n]).double(), y[:n]).item()
        found = trainer.callback_metrics[f"val/log_loss/dataloader_idx_{at}"].item()
        assert found == pytest.approx(expected, rel=1e-5)
    pictures = sorted(path.name for path in tmp_path.rglob("*.png"))
    assert pictures == [f"val_assessment_dataloader_idx_{at}-epoch=0.png" for at in (0, 1)]
    trainer.validate(model, loaders[0])
    assert len(callback.metrics) == 1


@pytest.mark.filterwarnings("default")
def test_a_model_that_has_diverged_does_not_end_the_run(data, tmp_path):
    model = Linear()
    torch.nn.init.constant_(model.layer.weight, np.nan)
    callback = AssessmentCallback("logits", scale="logits", metrics=["averages_slope", "log_loss"])
    with pytest.warns(UserWarning, match="200 rows of predictions are NaN"):
        trainer, _ = fitted(data, [callback], tmp_path, model, logger=CSVLogger(tmp_path))
    assert trainer.callback_metrics["val_log_loss"].isnan()
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize("returned", ["mapping", "tensor"])
def test_what_is_not_there_is_named(data, tmp_path, returned):
    with pytest.raises(InputError, match="preds: validation_step returned .*not a mapping with 'preds'"):
        fitted(data, [AssessmentCallback()], tmp_path, Linear(returned))


class Taking(Logger):
    """A logger that takes pictures, in one of the ways that there are."""

    name, version, save_dir = "taking", 0, None

    def __init__(self, way):
        super().__init__()
        self.taken = []
        if way == "image":
            self.log_image = lambda key, images, step: self.taken.append((key, step, *images))
        self.board = type("Board", (), {"add_figure": lambda _, *a: self.taken.append((a[0], a[2], a[1]))})()

    @property
    def experiment(self):
        return self.board

    def log_metrics(self, metrics, step=None):
        pass

    def log_hyperparams(self, *_, **__):
        pass


@pytest.mark.parametrize("way", ["image", "figure"])
def test_loggers_take_the_picture(data, tmp_path, way):
    logger = Taking(way)
    fitted(data, [AssessmentCallback("logits", scale="logits")], tmp_path, logger=logger)
    assert [(name, step) for name, step, _ in logger.taken] == [("val_assessment", 4), ("val_assessment", 8)]
    assert all(figure.axes for *_, figure in logger.taken)


def test_a_logger_without_pictures_or_a_folder_has_none(data, tmp_path):
    logger = Taking("figure")
    logger.board = None
    trainer, _ = fitted(data, [AssessmentCallback("logits", scale="logits")], tmp_path, logger=logger, epochs=1)
    assert "val_reported_geometric_accuracy" in trainer.callback_metrics
    assert not list(tmp_path.rglob("*.png"))


def test_else_it_lies_in_the_folder(data, tmp_path):
    logger = CSVLogger(tmp_path)
    fitted(data, [AssessmentCallback("logits", scale="logits")], tmp_path, logger=logger)
    pictures = sorted(path.name for path in (tmp_path / "lightning_logs").rglob("*.png"))
    assert pictures == ["val_assessment-epoch=0.png", "val_assessment-epoch=1.png"]
    fitted(data, [AssessmentCallback("logits", scale="logits", picture=False)], tmp_path / "none", logger=logger)
    assert not list((tmp_path / "none").rglob("*.png"))


def test_processes_log_the_assessment_of_all_rows(data, tmp_path):
    """Under DistributedDataParallel, on two processes."""
    logger = CSVLogger(tmp_path)
    callback = AssessmentCallback("logits", scale="logits")
    trainer = pl.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=2,
        strategy="ddp_fork",
        callbacks=[callback, ModelCheckpoint(tmp_path, monitor="val_reported_geometric_accuracy", mode="max")],
        logger=logger,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    model, threads = Linear(), torch.get_num_threads()
    torch.set_num_threads(1)  # a fork has none of the threads of the process, and would wait for them
    try:
        trainer.fit(model, *(DataLoader(part, batch_size=32) for part in data))
    finally:
        torch.set_num_threads(threads)
    x, y = data[1].tensors
    p = torch.softmax(model.layer(x).double(), dim=1).detach().numpy()
    expected = assess(Tally.of(y.numpy(), p, exact_limit=0), resamples=0).metrics()
    for name in HEADLINE:
        assert trainer.callback_metrics[f"val_{name}"].item() == pytest.approx(expected[name], rel=1e-5)
    pictures = sorted(path.name for path in (tmp_path / "lightning_logs").rglob("*.png"))
    assert pictures == ["val_assessment-epoch=0.png", "val_assessment-epoch=1.png"]


@pytest.mark.parametrize(("former", "now"), [("from_logits", 'scale="logits"'), ("figures", "metrics=")])
def test_former_names_are_refused_with_those_of_today(former, now):
    with pytest.raises(TypeError, match=f"AssessmentCallback.*{former}.*did you mean {now}"):
        AssessmentCallback(**{former: True})


def test_a_picture_in_a_folder_has_150_dots_an_inch(tmp_path):
    logger = SimpleNamespace(experiment=None, log_dir=None, save_dir=str(tmp_path))
    _log_picture(logger, "val/of", Figure(figsize=(2, 1)), SimpleNamespace(current_epoch=3))
    with Image.open(tmp_path / "val_of-epoch=3.png") as picture:
        assert picture.size == (300, 150)
