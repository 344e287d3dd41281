"""A callback for Lightning: metrics and picture of the validation forecasts, logged each epoch."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from .._lib.errors import InputError, needed, refuse_former
from .._lib.output_files import write_whole
from ..report.axes import SIZES
from .metrics import HEADLINE

with needed(__name__, "Lightning", "lightning"):
    from lightning.pytorch import Callback, LightningModule, Trainer

from .torchmetrics import ForecastMetric  # after Lightning, which brings PyTorch

Taken = str | Callable[[Any, Any], Any]
"""A key of what ``validation_step`` returned, or a function of that and the batch."""


class AssessmentCallback(Callback):
    """Assesses the forecasts of each validation epoch, and logs metrics for checkpoints and early stopping to monitor.

    Parameters
    ----------
    preds, target : str or callable, default "preds" and "target"
        Where predictions and outcomes are: keys of the mapping that ``validation_step`` returns, or functions of what
        it returns and of the batch, such as ``lambda outputs, batch: batch[1]``.
    prefix : str, default "val_"
        What the names of the metrics are logged with: ``val_reported_geometric_accuracy``.
    metrics : str or sequence of str, default the headline metrics
        Which metrics, as in `ForecastMetric`.
    picture : bool, default True
        Whether to draw each assessment: to the loggers that take pictures (``experiment.add_figure`` of TensorBoard,
        ``log_image`` of Weights & Biases), else into a file in the logger's folder.
    **settings
        Options of the metric of torchmetrics: ``scale``, ``ignore_index``, ``floor``, ``measured``, ``view``.

    Attributes
    ----------
    metrics : list of unperplexed.integrations.torchmetrics.ForecastMetric
        Counts of the latest validation epoch, one for each data loader.

    Notes
    -----
    The sanity check before training is not logged, and ``trainer.test`` is not assessed. With several validation
    loaders each is assessed by itself; names end in ``/dataloader_idx_0`` and so on, as Lightning has it. Metrics of a
    model that has diverged are NaN, with a warning.

    With several processes the counts of all are added up, and the first draws the picture. Lightning deals the rows so
    that all processes get equally many, which repeats some unless their number divides; with
    ``Trainer(use_distributed_sampler=False)`` and a sampler of one's own they stay as they are.

    Examples
    --------
    >>> from unperplexed.integrations.lightning import AssessmentCallback
    >>> callback = AssessmentCallback("logits", scale="logits", metrics=["slope"])
    >>> callback.metric.metrics
    ('slope',)
    """

    def __init__(
        self,
        preds: Taken = "preds",
        target: Taken = "target",
        *,
        prefix: str = "val_",
        metrics: str | Sequence[str] = HEADLINE,
        picture: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__()
        refuse_former("AssessmentCallback", settings)
        self.preds, self.target, self.prefix, self.picture = preds, target, prefix, picture
        names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
        self._make = partial(ForecastMetric, names, **settings)
        self.metrics = [self._make()]

    @property
    def metric(self) -> ForecastMetric:
        """Counts of the first validation loader; ``metric.assessment()`` is its assessment."""
        return self.metrics[0]

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin anew, on the module's device."""
        loaders = trainer.val_dataloaders
        n = len(loaders) if isinstance(loaders, list | tuple) else 1
        self.metrics = [*self.metrics[:n], *(self._make() for _ in range(n - len(self.metrics)))]
        for metric in self.metrics:
            metric.to(pl_module.device).reset()

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Count a batch.

        Parameters
        ----------
        trainer, pl_module, batch_idx
            What Lightning hands over; not used.
        outputs, batch : Any
            What ``validation_step`` returned, and the batch.
        dataloader_idx : int, default 0
            Number of the validation loader.
        """
        preds, target = _taken("preds", self.preds, outputs, batch), _taken("target", self.target, outputs, batch)
        self.metrics[dataloader_idx].update(preds, target)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log what was counted."""
        if trainer.sanity_checking:
            return
        for at, metric in enumerate(self.metrics):
            suffix = f"/dataloader_idx_{at}" if len(self.metrics) > 1 else ""
            found = metric.compute()
            assert isinstance(found, dict)
            # All processes have the same metrics; the mean of them is what Lightning expects to be asked for.
            logged = {f"{self.prefix}{name}{suffix}": value.float() for name, value in found.items()}
            pl_module.log_dict(logged, sync_dist=True, add_dataloader_idx=False)
            if self.picture and trainer.loggers and trainer.is_global_zero and metric.whole:
                figure = Figure(figsize=SIZES["reported"], layout="tight")
                metric.assessment().plot(figure.subplots())
                for logger in trainer.loggers:
                    _log_picture(logger, f"{self.prefix}assessment{suffix}", figure, trainer)


def _taken(name: str, how: Taken, outputs: Any, batch: Any) -> Any:
    """What the callback takes."""
    if not isinstance(how, str):
        return how(outputs, batch)
    if not isinstance(outputs, Mapping) or how not in outputs:
        there = f"the keys {', '.join(map(repr, outputs))}" if isinstance(outputs, Mapping) else type(outputs).__name__
        raise InputError(
            f"{name}: validation_step returned {there}, not a mapping with {how!r}; return one, or give the callback a"
            " function of what it returns and the batch."
        )
    return outputs[how]


_DOTS = 150
"""Of a picture per inch."""


def _log_picture(logger: Any, name: str, figure: Figure, trainer: Trainer) -> None:
    """Hand a picture to a logger, or put it into its folder if it takes none."""
    if hasattr(logger, "log_image"):
        logger.log_image(key=name, images=[figure], step=trainer.global_step)
    elif hasattr(logger.experiment, "add_figure"):
        logger.experiment.add_figure(name, figure, trainer.global_step)
    elif folder := logger.log_dir or logger.save_dir:
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=_DOTS)
        Path(folder).mkdir(parents=True, exist_ok=True)
        file = f"{name.replace('/', '_')}-epoch={trainer.current_epoch}.png"
        write_whole(Path(folder) / file, picture.getvalue())
